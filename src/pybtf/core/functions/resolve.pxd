# From DIE offsets to small ids (see resolve.py).

from libc.stdint cimport uint32_t
from pybtf.core.dwarf.passed cimport Passed
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.functions.calling_convention cimport Machine
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.dwarf_unit cimport Function, Param, Unit
from pybtf.core.model.faults cimport Fault
from pybtf.core.model.losses cimport Losses

cdef enum:                      # options of resolve_unit
    R_TRUE_SIGNATURE = 1
    R_LITTLE_ENDIAN = 2

cdef int resolve_references(Walker *w, Unit *u, Fault *fault) noexcept nogil
cdef int leave_out_orphans(Unit *u, Losses *losses) noexcept nogil
cdef int resolve_unit(Walker *w, const DebugSections *sections, const Machine *machine, uint32_t n_known, int options,
                      Passed *passed, Fault *fault) noexcept nogil
cdef Function *function_at(Unit *u, uint32_t die) noexcept nogil
cdef Param *origin_param(Unit *u, Function *f, uint32_t die, Fault *fault) noexcept nogil
cdef uint32_t variable_specified(Unit *u, uint32_t die, Fault *fault) noexcept nogil
