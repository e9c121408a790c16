# Which definition of a name is the usual one, and which types reach another (see variants.py).

from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.certify cimport Analysis

cdef int choose_usual(Encoder *e, Analysis *a) noexcept nogil
cdef int find_odd(Encoder *e, Analysis *a) noexcept nogil
cdef int compare_numbers(const void *x, const void *y) noexcept nogil      # for qsort, of uint64_t
