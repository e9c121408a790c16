# Reading DIEs of a known shape (see glance.py).

from libc.stdint cimport uint32_t, uint8_t
from pybtf.core.abbrevs cimport SHAPE_NONE, AbbrevDecl, AbbrevTable
from pybtf.core.walker cimport Frame, Walker

cdef bint glance(Walker *w, Frame *f, const AbbrevDecl *decl, const uint8_t *p) noexcept nogil

cdef inline bint at_a_glance(Walker *w, Frame *f) noexcept nogil:
    # Reads the DIE at the cursor, a child of frame `f`, if it can be read at a glance. Otherwise nothing has changed.
    cdef const AbbrevTable *t = w.r.table
    cdef const uint8_t *p = w.r.c.pos
    cdef const uint8_t *end = w.r.c.end
    cdef uint32_t code
    if p == end or not t.dense or w.r.c.swap:
        return False
    code = p[0]
    p += 1
    if code & 0x80:
        if p == end or p[0] & 0x80:
            return False
        code = (code & 0x7F) | <uint32_t> p[0] << 7
        p += 1
    if code - 1 >= t.n or t.decls[code - 1].shape.kind == SHAPE_NONE:
        return False
    return glance(w, f, &t.decls[code - 1], p)
