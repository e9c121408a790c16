# Units that are left out of a logical unit (see left_out.py).

from libc.stdint cimport int64_t, uint32_t, uint64_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.model.losses cimport Losses

cdef enum:
    STAND_IN = 1                # the DIE that stands for what is left out: an offset that no DIE has

cdef struct Tables:             # how far the tables of a walker are filled
    uint32_t types, members, enumerators, params, type_params, functions, variables, anns, bases, aliases, imported
    uint64_t skipped_tags, signatures_lost

cdef bint leave_out_begin(Walker *w, bint gaps) noexcept nogil
cdef void leave_out_end(Walker *w) noexcept nogil
cdef void tables_mark(const Walker *w, Tables *t) noexcept nogil
cdef void tables_back(Walker *w, const Tables *t) noexcept nogil
cdef bint leave_out_for_fault(Walker *w, uint32_t number) noexcept nogil
cdef int leave_out_aside(Walker *w) noexcept nogil
cdef bint is_left_out(const Walker *w, uint64_t at) noexcept nogil
cdef int64_t replace_references(Walker *w, Losses *losses) noexcept nogil
