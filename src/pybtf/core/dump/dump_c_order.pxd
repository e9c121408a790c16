from libc.stdint cimport uint32_t
from pybtf.core.dump.dump_c cimport CDump

cdef void mark_referenced(CDump *d) noexcept nogil
cdef int order_type(CDump *d, uint32_t id, bint by_pointer) noexcept nogil
