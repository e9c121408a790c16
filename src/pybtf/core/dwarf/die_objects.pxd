# From a DIE to an object of the unit (see die_objects.py). All return what the loop in walk.py does next.

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.dwarf.walk_state cimport Frame, Walker

cdef int plain_type(Walker *w) noexcept nogil
cdef int open_type(Walker *w, uint8_t mode, uint32_t mark) noexcept nogil
cdef int open_function(Walker *w) noexcept nogil
cdef int open_variable(Walker *w, bint top_level) noexcept nogil
cdef int add_member(Walker *w, Frame *f) noexcept nogil
cdef int add_param(Walker *w, Frame *f) noexcept nogil
cdef int add_enumerator(Walker *w) noexcept nogil
cdef int add_dimension(Walker *w, Frame *f) noexcept nogil
