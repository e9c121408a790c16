# Sizes and alignments as the C compiler that reads the header is going to have them.

from libc.stdint cimport int64_t, uint32_t
from pybtf.core.dump.dump_c cimport CDump

cdef int check_chains(CDump *d) noexcept nogil
cdef int64_t size_of(const CDump *d, uint32_t id) noexcept nogil            # in bytes; 0 of what has none
cdef uint32_t alignment_of(CDump *d, uint32_t id) noexcept nogil            # in bytes; 0 of what has none
cdef bint is_packed(CDump *d, uint32_t id) noexcept nogil
