# From uncertain classes to what must be kept of each unit (see refine.py).

from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int spread(Encoder *e, Analysis *a) noexcept nogil
cdef int refine(Encoder *e, Analysis *a) noexcept nogil
