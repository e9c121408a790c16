# From the kept records of all units to one list (see assemble.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder

cdef int assemble(Encoder *e) noexcept nogil
cdef uint32_t assembled_id(Encoder *e, uint32_t unit, uint32_t local) noexcept nogil
