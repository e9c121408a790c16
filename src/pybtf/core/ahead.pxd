# Looking up the next few types together (see ahead.py).

from libc.stdint cimport uint32_t
from pybtf.core.phases cimport Ahead, Work

cdef inline bint ahead_knows(const Ahead *a, uint32_t id) noexcept nogil:
    # Whether the hash of type `id`, one of the AHEAD types that were looked at last, is known.
    return (a.known >> (id - a.first)) & 1

cdef void ahead_primitives(Ahead *a, const Work *w, uint32_t first, uint32_t end) noexcept nogil
cdef void ahead_structs(Ahead *a, const Work *w, uint32_t first, uint32_t end) noexcept nogil
cdef void ahead_references(Ahead *a, const Work *w, const uint32_t *map, uint32_t first, uint32_t end) noexcept nogil
