# Types of a unit that are kept in addition, made from their classes (see restore.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis
from pybtf.core.support.memory cimport U32s

cdef enum:                      # what `restore` returns
    RESTORED = 0
    RESTORE_MEMORY = 1
    RESTORE_NOT = 2             # the unit has to be decoded again

# Adds the types with these small ids, in order, to what is kept of unit `u`.
cdef int restore(Encoder *e, Analysis *a, const U32s *more, uint32_t u) noexcept nogil
