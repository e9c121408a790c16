# From a unit's header to the tables of its DIEs (see unit_walk.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.worker cimport Context, Worker

cdef bint excluded(const Context *x, uint32_t language) noexcept nogil
cdef int walk_all(Worker *w, const Context *x, uint32_t number, UnitValue *v) noexcept nogil
