# What a unit says of names (see unit_names.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from pybtf.core.encode.encoder cimport CLASS_BITS, Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef void enter(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
cdef void contest(Analysis *a, uint16_t mark) noexcept nogil
cdef int watch(Encoder *e, Analysis *a, uint32_t u) noexcept nogil
cdef bint meet(Analysis *a, uint32_t k, uint32_t entry) noexcept nogil

cdef inline uint32_t next_watched(const uint8_t *watch, uint8_t bits, const uint32_t *p, uint32_t i,
                                  uint32_t n) noexcept nogil:
    # The first of the entries p[i] ... p[n - 1] whose class is watched for one of these, few of which are; not below `n`:
    # there is none. A unit that is left out has no entries, not even that of void: `i` may be above `n`.
    while i + 4 <= n:
        if bits & (
            watch[p[i] & CLASS_BITS] | watch[p[i + 1] & CLASS_BITS]
            | watch[p[i + 2] & CLASS_BITS] | watch[p[i + 3] & CLASS_BITS]
        ):
            break
        i += 4
    while i < n and not watch[p[i] & CLASS_BITS] & bits:
        i += 1
    return i
