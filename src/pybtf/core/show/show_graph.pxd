# Who refers to whom, from the side of those that are referred to.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.type_view cimport View

cdef class TypeGraph:
    cdef View view
    cdef uint32_t first         # own types: from this id
    cdef uint32_t n             # below this one
    cdef uint32_t *starts       # by id: where in `users` its own begin
    cdef uint32_t *users        # ids of those that refer to it
    cdef uint32_t *scratch
    cdef uint64_t effort        # steps to dependents and dominators that may still be taken
    cdef number(self, uint32_t *order, uint32_t *rank)
    cdef bint dominators(self, const uint32_t *order, uint32_t count, const uint32_t *rank, uint32_t *idom) noexcept
