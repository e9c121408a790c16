# Facts of each class, and what is doubtful about it (see doubts.py).

from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int list_keys(Encoder *e, Analysis *a) noexcept nogil
cdef void measure(Encoder *e, Analysis *a) noexcept nogil
cdef void doubt_names(Encoder *e, Analysis *a) noexcept nogil
cdef void spread_loose(Encoder *e, Analysis *a) noexcept nogil
cdef void doubt_units(Encoder *e, Analysis *a) noexcept nogil
