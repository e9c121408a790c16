from libc.stdint cimport int64_t, uint32_t
from pybtf.core.show.show_types cimport Facts, MemberLayout, Show

cdef uint32_t behind(Show *s, uint32_t id) noexcept nogil
cdef uint32_t elements(Show *s, uint32_t id) noexcept nogil
cdef int64_t size_of(Show *s, uint32_t id) noexcept nogil
cdef uint32_t natural_of(Show *s, uint32_t id) noexcept nogil
cdef Facts *facts_of(Show *s, uint32_t id) noexcept nogil
cdef void study(Show *s, uint32_t id, Facts *f, MemberLayout *layouts) noexcept nogil
cdef void mark_packed(Show *s, uint32_t id) noexcept nogil
cdef bint is_packed(Show *s, uint32_t id) noexcept nogil
