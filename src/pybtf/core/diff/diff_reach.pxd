from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.btf.type_view cimport View
from pybtf.core.show.show_graph cimport TypeGraph

cdef enum:                      # marks of a type during one search
    BY_VALUE = 1                # has the type in it, or is it
    BY_POINTER = 2              # points to one of those
    TAKEN = 4                   # a prototype or function that has been counted

cdef class Reach:
    cdef View view
    cdef TypeGraph graph
    cdef uint8_t *marks         # by id
    cdef uint32_t *queue        # ids of one search, each once for each mark it may get
    cdef size_t n
    cdef uint64_t effort
    cdef bint put(self, uint32_t id, uint8_t mark) noexcept
    cdef bint search(self, uint32_t id) noexcept
    cdef clear(self)
