# Reading DIEs of known shapes (see glance.py).

from pybtf.core.walker cimport Walker

cdef int glances(Walker *w) noexcept nogil

cdef inline bint can_glance(const Walker *w) noexcept nogil:
    # Whether DIEs of the unit can be read at a glance at all.
    return w.r.table.dense and not w.r.c.swap and not w.survey
