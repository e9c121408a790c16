# What became of functions and variables, by name (see fates.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.worker cimport Context

cdef class Fates:
    cdef object owner           # the run, which has all that is pointed to
    cdef const Context *x
    cdef const Encoder *e
    cdef uint32_t *first        # by string id: its first trace + 1, 0 none
    cdef uint32_t *next         # by trace: the next one of the name + 1, 0 none
    cdef uint32_t n_names       # string ids in `first`
    cdef bind(self, object owner, const Context *x, const Encoder *e)
    cdef object text(self, uint32_t sid)
    cdef object at(self, uint32_t trace)
