# Whether a struct was declared packed, inferred from its layout (see packed_structs.py).

from libc.stdint cimport int64_t, uint32_t
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.support.memory cimport U32s

cdef struct Covered:            # of a struct, while its members are looked at in order; in bits
    int64_t position            # end of what is covered
    int64_t end                 # of the storage unit of the bitfields that are being laid out
    int64_t width               # of that unit; 0: the last member is no bitfield
    bint in_bitfield

# 1 packed, 0 not, -1 memory ran out. `id` is a struct, class or interface. `align` is scratch for one unit: natural
# alignments by small id, 0 unknown; set align.n = 0 at the start of each unit.
cdef int infer_packed(Unit *unit, uint32_t id, U32s *align) noexcept nogil
