# Chains of origins and specifications that come back to themselves (see cycles.py).

from pybtf.core.faults cimport Fault
from pybtf.core.unit cimport Unit

cdef int check_cycles(Unit *u, Fault *fault) noexcept nogil
