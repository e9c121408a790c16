# Reading DIEs of known layout (see die_fast_path.py).

from libc.stdint cimport uint32_t
from pybtf.core.dwarf.abbrev_layout cimport LAYOUT_NONE
from pybtf.core.dwarf.walk_state cimport Walker

cdef enum:
    FEW = 32                    # frames that may be open where one is opened at a glance

cdef int glances(Walker *w) noexcept nogil

cdef inline bint can_glance(const Walker *w) noexcept nogil:
    # Whether the next DIE of the unit may be one that can be read at a glance.
    cdef uint32_t code
    if not w.r.table.dense or w.survey or w.r.c.pos == w.r.c.end:
        return False
    code = w.r.c.pos[0]
    if code == 0 or code & 0x80 or code > w.r.table.n:
        return True
    return w.r.table.decls[code - 1].layout.kind != LAYOUT_NONE
