from libc.stdint cimport uint32_t
from pybtf.core.accept.accept cimport Layer

cdef void check_records(Layer *y, uint32_t *offs, uint32_t room) noexcept nogil
