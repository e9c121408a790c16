# Units from values of objects in place of DWARF (see given_units.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.worker cimport Context, Worker

# Appends the units of a piece to `x.given`; `map`: the mapped file in which it lies, or NULL. 0, or 1: no memory, 2: damaged, at `at`.
cdef int take_piece(Context *x, uint32_t piece, const uint8_t *p, uint64_t size, const uint8_t *map,
                    uint64_t map_size, const uint8_t *addresses, uint64_t n_addresses, uint32_t *cap, uint64_t *at) noexcept nogil

# As `decode_unit`, of a unit that is given. Unless it is `whole`, records that the encoder will not ask for are left out.
cdef int read_unit(Worker *w, const Context *x, uint32_t number, UnitValue *v, FunctionTable symbols,
                   bint whole) noexcept nogil
