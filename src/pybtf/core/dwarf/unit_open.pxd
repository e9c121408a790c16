# Opening units (see unit_open.py).

from pybtf.core.dwarf.walk_state cimport UnitHeader, Walker

cdef int unit_open(Walker *w, UnitHeader *h, bint first) noexcept nogil
cdef int import_unit(Walker *w) noexcept nogil
cdef int leave_import(Walker *w) noexcept nogil
