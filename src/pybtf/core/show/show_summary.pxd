from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Facts, Show
from pybtf.core.dump.text_buffer cimport Text

cdef void put_count(Text *t, uint32_t count, const char *what) noexcept nogil
cdef void put_packed(Show *s) noexcept nogil
cdef void put_align(Show *s, uint32_t align) noexcept nogil
cdef bint put_after(Show *s, uint32_t type, uint32_t level) noexcept nogil
cdef void put_summary(Show *s, const uint32_t *r, Facts *f, uint32_t level, uint32_t base) noexcept nogil
cdef void put_no_sums(Text *t, uint32_t level) noexcept nogil
