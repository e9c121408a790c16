# How large a parameter is whose type the unit does not have (see value_size.py).

from libc.stdint cimport uint16_t, uint32_t
from pybtf.core.dwarf.walk_state cimport Walker

cdef uint16_t value_size(Walker *w, uint32_t param) noexcept nogil
