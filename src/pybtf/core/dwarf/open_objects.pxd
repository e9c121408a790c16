# Objects whose children are being read (see open_objects.py).

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.dwarf.walk_state cimport Frame, Walker

cdef Frame *open_frame(Walker *w, uint8_t mode, uint32_t mark) noexcept nogil
cdef int opened(Walker *w, Frame *f) noexcept nogil
cdef int close_frame(Walker *w, Frame *f) noexcept nogil
