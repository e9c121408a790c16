# Which definition of a name is the usual one, and which types reach another (see odd_types.py).

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef int choose_usual(Encoder *e, Analysis *a) noexcept nogil
cdef int find_odd(Encoder *e, Analysis *a) noexcept nogil
cdef int add_user(Analysis *a, uint32_t c, uint32_t to) noexcept nogil
cdef int give(Analysis *a, uint32_t c, uint8_t tint) noexcept nogil
cdef int pass_on(Analysis *a, size_t first) noexcept nogil
cdef int compare_numbers(const void *x, const void *y) noexcept nogil      # for qsort, of uint64_t
