# Entering a unit (see unit_enter.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dwarf.walk_state cimport UnitHeader, Walker

cdef int unit_enter(Walker *w, const UnitHeader *h) noexcept nogil
cdef uint32_t unit_with(const Walker *w, uint64_t at) noexcept nogil
