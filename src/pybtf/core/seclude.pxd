# Definitions that concern a few units only (see seclude.py).

from libc.stdint cimport uint32_t
from pybtf.core.certify cimport Analysis
from pybtf.core.encoder cimport Encoder

cdef int seclude(Encoder *e, Analysis *a, uint32_t key, bint alone) noexcept nogil
cdef int settle_elsewhere(Encoder *e, Analysis *a) noexcept nogil
cdef bint confirm(Analysis *a) noexcept nogil
