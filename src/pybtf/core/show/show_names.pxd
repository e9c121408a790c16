from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.show.show_types cimport Show
from pybtf.core.dump.text_buffer cimport Text

cdef void put_type(Show *s, uint32_t id) noexcept nogil
cdef void put_parameters(Show *s, uint32_t id) noexcept nogil
cdef void put_tagged_parameters(Show *s, uint32_t id, const uint32_t *tags, uint32_t n_tags) noexcept nogil
cdef void put_enum(Show *s, uint32_t id, uint32_t level) noexcept nogil
cdef uint32_t put_array_qualifiers(Show *s, uint32_t id) noexcept nogil
cdef uint32_t behind_tags(Show *s, uint32_t id) noexcept nogil
cdef void put_outermost(Show *s, uint32_t id) noexcept nogil
cdef uint32_t put_typedefs(Show *s, uint32_t id) noexcept nogil
cdef void put_hex(Text *t, uint64_t value, int width) noexcept nogil
