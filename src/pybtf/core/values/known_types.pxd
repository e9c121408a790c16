# Types that have been met, by their digests (see known_types.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.support.met_table cimport Met, MetTable, met_follow, met_follower, met_other

cdef enum:
    NO_UNIT = 0xFFFFFFFF

cdef struct KnownType:
    Met met
    uint64_t low, high          # its digest
    uint32_t class_
    uint32_t stand              # what references to it stand for: its class, or the key of its name
    uint32_t key                # the same, if it is that of a struct or union, of which a unit may have two; else 0
    uint32_t info               # of the record: kind and number of elements, and with them its length
    uint32_t first              # the lowest number of a unit that has been found to have it; NO_UNIT: only functions have it

cdef inline bint has_digest(const KnownType *t, uint64_t low, uint64_t high) noexcept nogil:
    return t != NULL and t.low == low and t.high == high

cdef inline void known_follow(KnownType *last, KnownType *t) noexcept nogil:
    # To be called when another type was guessed, or none.
    met_follow(<Met *> last, <Met *> t)

cdef inline KnownType *known_follower(KnownType *last, uint64_t low, uint64_t high) noexcept nogil:
    # One of the two types that came after `last` before, if it is the one with this digest; else NULL.
    cdef KnownType *t = <KnownType *> met_follower(<Met *> last)
    if has_digest(t, low, high):
        return t
    t = <KnownType *> met_other(<Met *> last)
    if not has_digest(t, low, high):
        return NULL
    known_follow(last, t)
    return t

cdef KnownType *known_find(MetTable *t, uint64_t low, uint64_t high) noexcept nogil
# `model`: all but the links. NULL: no memory.
cdef KnownType *known_add(MetTable *t, const KnownType *model) noexcept nogil
