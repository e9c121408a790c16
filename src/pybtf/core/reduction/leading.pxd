# What leads to undecided types, in units that are kept whole for them (see leading.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int note_leading(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
cdef int list_late(Encoder *e, Analysis *a) noexcept nogil
