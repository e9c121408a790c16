# From uncertain classes to what must be kept of each unit (see refine.py).

from pybtf.core.certify cimport Analysis
from pybtf.core.encoder cimport Encoder

cdef void spread(Encoder *e, Analysis *a) noexcept nogil
cdef int refine(Encoder *e, Analysis *a) noexcept nogil
