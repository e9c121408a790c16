# Types that differ in elements of arrays only (see masking.py).

from pybtf.core.certify cimport Analysis
from pybtf.core.encoder cimport Encoder

cdef int doubt_arrays(Encoder *e, Analysis *a) noexcept nogil
