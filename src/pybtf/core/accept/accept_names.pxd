from libc.stdint cimport uint32_t
from pybtf.core.accept.accept cimport Layer

cdef bint is_identifier(const Layer *y, uint32_t offset, bint dots) noexcept nogil
cdef bint is_printable(const Layer *y, uint32_t offset) noexcept nogil
