# What an encoding that degrades has lost: faults that did not end it.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from pybtf.core.model.faults cimport IN_INFO, N_FAULTS, Fault
from pybtf.core.support.memory cimport grow

cdef enum:
    MOST_LOSSES = 100000        # kept one by one; of more, only the number

cdef struct Loss:
    Fault fault
    bint whole_unit             # the unit is left out

cdef struct Losses:             # to begin with, zeroed
    Loss *p                     # in order of the units
    uint32_t n, cap
    uint64_t counts[N_FAULTS]   # all, by code

cdef inline bint lose(Losses *l, const Fault *f, bint whole_unit) noexcept nogil:
    # Notes a fault. False: no memory.
    l.counts[f.code] += 1
    if l.n == MOST_LOSSES:
        return True
    if not grow(l.p, l.cap, l.n + 1):
        return False
    l.p[l.n].fault = f[0]
    l.p[l.n].whole_unit = whole_unit
    l.n += 1
    return True

cdef inline bint lose_at(Losses *l, int code, uint64_t die, int64_t value) noexcept nogil:
    # The same, of something about a DIE.
    cdef Fault f
    f.code = code
    f.section = IN_INFO
    f.offset = f.die = die
    f.value = value
    return lose(l, &f, False)

cdef inline bint losses_take(Losses *to, const Losses *more) noexcept nogil:
    # Adds those of a unit. False: no memory.
    cdef uint32_t i
    cdef int code
    for i in range(more.n):
        if not lose(to, &more.p[i].fault, more.p[i].whole_unit):
            return False
        to.counts[more.p[i].fault.code] -= 1
    if more.n:
        for code in range(N_FAULTS):
            to.counts[code] += more.counts[code]
    return True

cdef inline void losses_reset(Losses *l) noexcept nogil:
    cdef int code
    if l.n:
        l.n = 0
        for code in range(N_FAULTS):
            l.counts[code] = 0

cdef inline void losses_free(Losses *l) noexcept nogil:
    losses_reset(l)
    free(l.p)
    l.p = NULL
    l.cap = 0
