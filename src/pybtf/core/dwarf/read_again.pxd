# DIEs that are read out of turn, because another one leads to them, cost what they have of bytes each time. There is
# no limit to how many lead to one, nor to how large that is: a few kilobytes could take minutes. So their bytes are
# counted for each logical unit, and far more than compilers need is a fault. A DIE has few attributes that take no
# bytes (abbrevs.py), and a root that is read to enter its unit counts as well.

from libc.stdint cimport int64_t, uint64_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.model.faults cimport FAULT_SHARED, IN_INFO, Fault, fault_set
from pybtf.core.support.cursor cimport cur_tell

cdef enum:
    AGAIN_FREE = 1 << 20        # bytes that a unit of any size may read so
    AGAIN_PER_BYTE = 64

cdef inline int read_again(Walker *w, uint64_t start, Fault *fault) noexcept nogil:
    # From offset `start` to the cursor, something has been read out of turn. Nonzero: fault.
    w.again += cur_tell(&w.r.c) - start
    if w.again <= AGAIN_FREE + AGAIN_PER_BYTE * w.u.bytes:
        return 0
    return fault_set(fault, FAULT_SHARED, IN_INFO, start, start, <int64_t> w.again)
