# Whether a struct was declared packed, inferred from its layout (see packed_structs.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.model.dwarf_constants cimport *
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.support.memory cimport U32s

# 1 packed, 0 not, -1 memory ran out. `id` is a struct, class or interface. `align` is scratch for one unit: natural
# alignments by small id, 0 unknown; set align.n = 0 at the start of each unit.
cdef int infer_packed(Unit *unit, uint32_t id, U32s *align) noexcept nogil
