# Units from values of objects in place of DWARF (see payload_units.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.values.unit_read cimport PayloadUnit
from pybtf.core.worker cimport Context, Worker

# Appends a unit to `x.payload_units`. False: no memory.
cdef bint take_unit(Context *x, const PayloadUnit *g, uint32_t *cap) noexcept nogil

# Appends as many as the values of a piece hold. `whole` is like a unit, but of all that the piece has. 0, or 1: no memory, 2: damaged, at `at`.
cdef int take_piece(Context *x, const PayloadUnit *whole, uint32_t *cap, uint64_t *at) noexcept nogil

# The empty value of a unit, by its number.
cdef void begin_value(const Context *x, uint32_t number, UnitValue *v) noexcept nogil

# As `decode_unit`, of a unit that is given and here, into a value that has begun. Unless it is `whole`, records that the encoder will
# not ask for are left out.
cdef int read_unit(Worker *w, const Context *x, const PayloadUnit *g, UnitValue *v, FunctionTable symbols,
                   bint whole) noexcept nogil
