# Two BTFs side by side, for Python.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.type_view cimport View
from pybtf.core.diff.diff_meaning cimport Numbers, Side

cdef struct Row:                # of one type with a category
    uint64_t key                # number of its category and name << 32 | number of its content
    uint32_t id


cdef class Comparison:
    cdef readonly View old
    cdef readonly View new
    cdef Numbers t
    cdef Side sides[2]
    cdef uint64_t effort        # fields and bytes of text that may still be made
    cdef View view(self, int side)
    cdef Side *side_of(self, int side, uint32_t id) except *
    cdef check(self)
    cdef spend(self, uint64_t amount, int side, uint32_t id)
    cdef Row *rows(self, int side, size_t *count) except *
    cdef list fill(self, int side, uint32_t id, list found, bytes path, uint32_t offset, int depth)
