# Types that differ in elements of arrays only (see array_masking.py).

from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int doubt_arrays(Encoder *e, Analysis *a) noexcept nogil
