# What is asked of DIEs that did not become types of the unit (see value_size.py).

from libc.stdint cimport uint16_t, uint32_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.model.faults cimport Fault

cdef bint is_signed_at(Walker *w, uint32_t at, Fault *fault) noexcept nogil
cdef bint is_unspecified_at(Walker *w, uint32_t at, Fault *fault) noexcept nogil
cdef uint16_t value_size(Walker *w, uint32_t param, Fault *fault) noexcept nogil
