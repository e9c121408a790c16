# Chains of origins and specifications that come back to themselves (see cycles.py).

from libc.stdint cimport uint32_t
from pybtf.core.faults cimport Fault
from pybtf.core.unit cimport Function, Param, Unit

cdef bint endless_types(Unit *u, uint32_t spec) noexcept nogil
cdef bint endless_functions(Unit *u, Function *f) noexcept nogil
cdef bint endless_params(Unit *u, Function *f, Param *p, Fault *fault) noexcept nogil
cdef bint endless_variables(Unit *u, uint32_t at) noexcept nogil
