from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Called, Level, Show

cdef void put_composite(Show *s, uint32_t id, Level *frame) noexcept nogil
cdef void put_tail(Show *s, uint32_t id, const char *name) noexcept nogil
cdef void put_array(Show *s, Level *frame, uint32_t id, const Called *c) noexcept nogil
cdef uint32_t put_dimensions(Show *s, uint32_t id, bint flexible) noexcept nogil
cdef uint32_t element_of(Show *s, uint32_t id) noexcept nogil
