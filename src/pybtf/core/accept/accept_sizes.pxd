from libc.stdint cimport uint32_t
from pybtf.core.accept.accept cimport Layer

cdef enum:                      # what `sized` says
    UNSIZED = 0
    SIZED = 1
    UNKNOWN = 2                 # something is wrong with the type, which has been said

cdef int sized(const Layer *y, uint32_t id, uint32_t *end, uint32_t *size) noexcept nogil
cdef bint is_regular(const Layer *y, const uint32_t *r) noexcept nogil
