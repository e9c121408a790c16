# Chains of origins and specifications that come back to themselves (see reference_cycles.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.dwarf_unit cimport Function, Param, Unit
from pybtf.core.model.faults cimport Fault

cdef bint endless_types(Unit *u, uint32_t spec) noexcept nogil
cdef bint endless_functions(Unit *u, Function *f) noexcept nogil
cdef bint endless_params(Unit *u, Function *f, Param *p, Fault *fault) noexcept nogil
cdef bint endless_variables(Unit *u, uint32_t at) noexcept nogil

# The fault of a DIE of whose chain, which goes on at `to`, one of these says that it does not end. Nonzero.
cdef int no_end(Unit *u, Fault *fault, uint32_t die, uint32_t to) noexcept nogil
