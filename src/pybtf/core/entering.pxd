# Entering a unit (see entering.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.walker cimport UnitHeader, Walker

cdef int unit_enter(Walker *w, const UnitHeader *h) noexcept nogil
cdef uint32_t unit_with(const Walker *w, uint64_t at) noexcept nogil
