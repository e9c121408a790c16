# Decoding the DIE tree of a unit into a `Unit` (see walk.py).

from pybtf.core.dwarf.walk_state cimport Walker

cdef int walk_children(Walker *w) noexcept nogil
