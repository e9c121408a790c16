# Decoding the DIE tree of a unit into a `Unit` (see walk.py).

from pybtf.core.walker cimport Walker

cdef int walk_children(Walker *w) noexcept nogil
