from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dump.dump_c cimport CDump
from pybtf.core.support.memory cimport U32s

cdef struct Entry:
    uint64_t start              # rank and the first letters of `group`, which is what most comparisons need
    const char *group
    const char *name
    uint64_t hash
    uint32_t id

cdef bint sort_types(CDump *d, U32s *ids) noexcept nogil    # ids to be written, in order; 0: out of memory
