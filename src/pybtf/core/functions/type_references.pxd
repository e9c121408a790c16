# References to types become small ids (see type_references.py).

from libc.stdint cimport uint32_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.model.faults cimport Fault

cdef int index_types(Unit *u) noexcept nogil
cdef int resolve_types(Walker *w, Unit *u, Fault *fault) noexcept nogil
cdef void resolve_rest(Unit *u) noexcept nogil
cdef uint32_t type_id(Unit *u, uint32_t ref) noexcept nogil
