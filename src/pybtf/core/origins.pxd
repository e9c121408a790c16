# Where types and functions of the finished BTF are from (see origins.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.emit cimport Layout
from pybtf.core.inputs cimport Inputs

cdef class Origins:
    cdef Inputs run             # which has all that is looked at
    cdef uint32_t **map         # its map: NULL when it has ended
    cdef const Layout *layout

    cdef bind(self, Inputs run, uint32_t **map, const Layout *layout)
