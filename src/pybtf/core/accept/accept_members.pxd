from libc.stdint cimport uint32_t
from pybtf.core.accept.accept cimport Layer

cdef void check_offset(Layer *y, uint32_t id, uint32_t at) noexcept nogil
