# Final offsets of struct members (see members.py).

from pybtf.core.unit cimport Unit

cdef void lay_out_members(Unit *u, bint little) noexcept nogil
