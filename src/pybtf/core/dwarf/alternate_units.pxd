# Which units of an alternate file are needed (see alternate_units.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.dwarf.walk_state cimport Walker

cdef enum:                      # Walker.needed, of each unit of the alternate file
    NEED_PARTIAL = 1            # it is a partial unit
    NEED_IMPORTED = 2           # something imports it
    NEED_REFERRED = 4           # something of the file itself refers to a DIE of it

cdef int survey_alternates(Walker *w) noexcept nogil
cdef void survey_die(Walker *w, uint8_t mode) noexcept nogil
cdef void survey_offset(Walker *w, uint64_t at) noexcept nogil
cdef bint may_have_tags(const Walker *w) noexcept nogil
cdef void keep_tags(Walker *w, uint32_t first, uint32_t end) noexcept nogil
cdef bint is_needed(const Walker *w, uint32_t unit) noexcept nogil
cdef uint64_t lost_references(const Walker *w) noexcept nogil
