# A search through the DIEs of units (see search.py).

from libc.stdint cimport uint32_t
from pybtf.core.worker cimport Context

cdef class Search:
    cdef object owner           # the run, which has all that is pointed to
    cdef const Context *x
    cdef bind(self, object owner, const Context *x)
    cdef object over(self, object units, object origins, bytes name, uint32_t most)
