# Which abbreviations have DIEs that can be read at a glance (see abbrev_layout.py).

from libc.stdint cimport uint16_t, uint32_t
from pybtf.core.dwarf.abbrevs cimport Shape

# Returns how many bytes are looked at, which may be more than there are.
cdef uint32_t shape_of(Shape *s, uint16_t tag, bint children, const uint32_t *program) noexcept nogil
cdef uint16_t fixed_size(const uint32_t *program) noexcept nogil
