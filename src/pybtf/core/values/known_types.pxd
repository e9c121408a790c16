# Types that have been met, by their digests (see known_types.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.classes.record_cache cimport load_pointer, store_pointer
from pybtf.core.support.arena cimport Arena

cdef enum:
    NO_UNIT = 0xFFFFFFFF

cdef struct KnownType:
    uint64_t low, high          # its digest
    KnownType *follower         # what was asked for after this type when the guess was last wrong, NULL nothing yet
    KnownType *other            # what had been guessed then
    KnownType *next             # in its bucket
    uint32_t class_
    uint32_t stand              # what references to it stand for: its class, or the key of its name
    uint32_t key                # the same, if it is that of a struct or union, of which a unit may have two; else 0
    uint32_t info               # of the record: kind and number of elements, and with them its length
    uint32_t first              # the lowest number of a unit that has been found to have it; NO_UNIT: only functions have it

cdef struct KnownTypes:
    KnownType **heads
    uint32_t mask
    Arena entries
    int busy

cdef inline void known_follow(KnownType *last, KnownType *t) noexcept nogil:
    # To be called when another type was guessed, or none.
    if last != NULL:
        store_pointer(&last.other, load_pointer(&last.follower))
        store_pointer(&last.follower, t)

cdef inline KnownType *known_follower(KnownType *last, uint64_t low, uint64_t high) noexcept nogil:
    # One of the two types that came after `last` before, if it is the one with this digest.
    cdef KnownType *t
    if last == NULL:
        return NULL
    t = <KnownType *> load_pointer(&last.follower)
    if t != NULL and t.low == low and t.high == high:
        return t
    t = <KnownType *> load_pointer(&last.other)
    if t == NULL or t.low != low or t.high != high:
        return NULL
    known_follow(last, t)
    return t

cdef KnownTypes *known_new(size_t expected) noexcept nogil
cdef void known_delete(KnownTypes *t) noexcept nogil
cdef KnownType *known_find(KnownTypes *t, uint64_t low, uint64_t high) noexcept nogil
# `model`: all but the links. NULL: no memory.
cdef KnownType *known_add(KnownTypes *t, const KnownType *model) noexcept nogil
