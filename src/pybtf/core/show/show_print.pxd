from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Show

cdef void put_definition(Show *s, uint32_t id, const char *typedef) noexcept nogil
