# One encoding, and what it writes (see run.py).

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.btf.verify cimport Written
from pybtf.core.encode.emit cimport Layout
from pybtf.core.ring cimport Ring

cdef class Run(Ring):
    cdef uint32_t *map          # of the de-duplication: `own_map`, or that of `space`
    cdef uint32_t *own_map
    cdef Layout layout
    cdef bytes btf              # while it is written: header, types from `types` on, strings
    cdef uint8_t *types
    cdef size_t own_words       # of the types that `data` wrote, which stay where they are

    cdef check(self, const Written *written)
