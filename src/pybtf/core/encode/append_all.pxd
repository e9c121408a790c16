# Units of which all is kept, straight into the list (see append_all.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder, KeptUnit
from pybtf.core.model.encoded_unit cimport UnitValue

# Where the records of the next unit, which `s` is for, will stand. Nonzero: `e.error`.
cdef int whole_begin(Encoder *e, KeptUnit *s, const UnitValue *v) noexcept nogil
# The types of the unit. Nonzero: `e.error`.
cdef int whole_types(Encoder *e, const KeptUnit *s, const UnitValue *v) noexcept nogil
# A record of four words that does not come from a DIE of its own, see `keep_small` of append_unit.py. Nonzero:
# `e.error`.
cdef int whole_small(Encoder *e, uint32_t name, uint32_t kind, uint32_t third, uint32_t last) noexcept nogil
