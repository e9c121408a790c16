# A base: the BTF of a kernel, on which the BTF of its modules is built (see base.py).

from cpython.buffer cimport Py_buffer
from libc.stdint cimport uint32_t
from pybtf.core.dedup.type_graph cimport BaseTypes, Room
from pybtf.core.strings.base_strings cimport BaseStrings
from pybtf.core.strings.name_prediction cimport Models

cdef bint room_reserve(Room *r, size_t n) noexcept nogil

cdef class Space:
    cdef Room r
    cdef readonly uint32_t types
    cdef object load(self, const unsigned char *src, str name, tuple header, uint32_t strings)

cdef class Base:
    cdef BaseTypes types
    cdef BaseStrings strings
    cdef Models models
    cdef int busy               # a lock: somebody makes them
    cdef object raw             # the file
    cdef Py_buffer source       # its bytes
    cdef tuple header           # what wire_header says of it
    cdef list spare             # spaces that no run has
    cdef readonly str name
    cdef readonly bint little
    cdef object foresee(self, Space space, size_t size)
    cdef Space make(self)
    cdef Space take(self)
    cdef give(self, Space space)
