# Opening units (see unit_open.py).

from pybtf.core.dwarf.walk_state cimport UnitHeader, Walker

cdef enum:                      # bytes of names a unit may read: fifty times what the longest C++ names come to
    NAMES_PER_BYTE = 256        # for each of its own bytes
    NAMES_FREE = 65536

cdef int unit_open(Walker *w, UnitHeader *h, bint first) noexcept nogil
cdef int import_unit(Walker *w) noexcept nogil
cdef int leave_import(Walker *w) noexcept nogil
