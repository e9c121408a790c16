# Looking up the next few types together (see lookahead.py).

from libc.stdint cimport uint32_t
from pybtf.core.dedup.phases cimport Ahead, Work

cdef inline bint ahead_knows(const Ahead *a, uint32_t i) noexcept nogil:
    # Whether the hash of number `i` of the types that were looked at last is known.
    return (a.known >> i) & 1

# `n` of the types at `ids`, AHEAD of them at most.
cdef void ahead_primitives(Ahead *a, const Work *w, const uint32_t *ids, uint32_t n) noexcept nogil
cdef void ahead_structs(Ahead *a, const Work *w, const uint32_t *ids, uint32_t n) noexcept nogil
cdef void ahead_references(Ahead *a, const Work *w, const uint32_t *map, const uint32_t *ids, uint32_t n) noexcept nogil
