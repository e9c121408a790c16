# Reading DIEs of known layout (see die_fast_path.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.dwarf.abbrev_layout cimport LAYOUT_NONE
from pybtf.core.dwarf.abbrevs cimport AbbrevDecl
from pybtf.core.dwarf.walk_state cimport Frame, Walker

cdef enum:
    MOST_OPEN = 32              # frames that may be open then; of more, the slow path takes care

cdef struct StringOffsets:      # of a unit whose names are indexes
    const uint8_t *p
    uint64_t n

cdef struct Outlook:            # on what is left of a unit: what stays the same from DIE to DIE
    const AbbrevDecl *decls
    uint32_t n
    uint32_t n_short            # of these, whose codes are one byte
    uint64_t unit               # where it begins in .debug_info, and how long it is
    uint64_t size
    uint32_t own                # references, counted from the unit, are within it below this
    uint32_t deferred
    bint swap
    const uint8_t *last         # DIEs of any layout may begin up to here

cdef struct Values:             # of a DIE
    const uint8_t *p            # from where on offsets are counted; NULL: it is not read at a glance
    uint32_t name               # its name word; 0: it has no name
    uint32_t to                 # what it refers to, and its value
    uint64_t value

cdef int glances(Walker *w) noexcept nogil

cdef inline Frame *glance_frame(Walker *w, uint8_t mode, uint32_t mark) noexcept nogil:
    # A new topmost frame of an object without annotations. NULL: not here.
    cdef Frame *f
    if w.n_frames >= w.cap_frames or w.n_frames >= MOST_OPEN:
        return NULL
    f = &w.frames[w.n_frames]
    w.n_frames += 1
    f.mode = mode
    f.mark = mark
    f.anns_mark = w.n_anns
    f.index = 0
    f.chain = 0
    return f

cdef inline bint can_glance(const Walker *w) noexcept nogil:
    # Whether the next DIE of the unit may be one that can be read at a glance.
    cdef uint32_t code
    if not w.r.table.dense or w.survey or w.r.c.pos == w.r.c.end:
        return False
    code = w.r.c.pos[0]
    if code == 0 or code & 0x80 or code > w.r.table.n:
        return True
    return w.r.table.decls[code - 1].layout.kind != LAYOUT_NONE
