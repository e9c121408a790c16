# Usual types that may be taken for odd ones, and the units that are kept whole for them (see undecided.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int prepare(Encoder *e, Analysis *a) noexcept nogil
cdef bint is_captured(Analysis *a, uint32_t c, uint32_t u) noexcept nogil
cdef bint decide(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
cdef bint disturb(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
cdef bint tint_users(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
