# Where types and functions of the finished BTF are from (see origins.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.inputs cimport Inputs

cdef class Origins:
    cdef Inputs run             # which has all that is looked at

    cdef bind(self, Inputs run)
