# The hand-over of units (see ring.py).

from libc.stdint cimport int64_t, uint32_t, uint64_t
from pybtf.core.inputs cimport Inputs
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.model.faults cimport Fault
from pybtf.core.support.monitor cimport Monitor
from pybtf.core.values.unit_read cimport PayloadUnit
from pybtf.core.worker cimport Worker

cdef enum:                      # what `claim` returns if it is not the number of a unit
    NONE_LEFT = -1
    RING_FULL = -2

cdef class Ring(Inputs):
    cdef UnitValue *values      # the ring: of unit `number`, the one at `number % window`
    cdef uint32_t window
    cdef Monitor monitor
    cdef uint32_t claimed       # units of this round that somebody has taken, and those that have been encoded
    cdef uint32_t consumed
    cdef bint draining          # somebody is encoding
    cdef bint stopped
    cdef bint again             # the second round: units of which more must be kept
    cdef int64_t encode_ns
    cdef uint32_t bad_name      # of the unit that ended the run
    cdef set renamed            # string ids of names that were replaced
    cdef dict failures          # what `find` has raised, by piece
    cdef dict held              # what each worker reads of

    cdef int64_t claim(self, long patience) noexcept nogil
    cdef void publish(self, UnitValue *v) noexcept nogil
    cdef void encode(self, UnitValue *v) noexcept nogil
    cdef uint32_t unit(self, uint32_t number) noexcept nogil
    cdef void take(self, Worker *w, uint32_t number, UnitValue *v) noexcept nogil
    cdef bint take_stored(self, Worker *w, PayloadUnit *g, UnitValue *v) noexcept nogil
    cdef bint fetch(self, Worker *w, PayloadUnit *g) noexcept with gil
    cdef bint decode(self, Worker *w, long milliseconds) noexcept nogil
    cdef describe(self, Fault f, unit)
    cdef unit_around(self, uint64_t offset)
