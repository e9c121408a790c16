# The hand-over of units (see ring.py).

from libc.stdint cimport int64_t, uint32_t, uint64_t
from pybtf.core.inputs cimport Inputs
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.model.faults cimport Fault
from pybtf.core.values.unit_read cimport PayloadUnit
from pybtf.core.worker cimport Worker

cdef class Ring(Inputs):
    cdef int64_t claim(self, long patience) noexcept nogil
    cdef void publish(self, UnitValue *v) noexcept nogil
    cdef uint32_t unit(self, uint32_t number) noexcept nogil
    cdef void take(self, Worker *w, uint32_t number, UnitValue *v) noexcept nogil
    cdef bint take_stored(self, Worker *w, PayloadUnit *g, UnitValue *v) noexcept nogil
    cdef bint fetch(self, Worker *w, PayloadUnit *g) noexcept with gil
    cdef bint loop(self, Worker *w, long milliseconds) noexcept nogil
    cdef describe(self, Fault f, unit)
    cdef unit_around(self, uint64_t offset)
