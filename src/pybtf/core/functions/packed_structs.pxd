# Whether a struct was declared packed, inferred from its layout (see packed_structs.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.support.memory cimport U32s

cdef enum:                      # DWARF tags
    TAG_ARRAY = 0x01
    TAG_CLASS = 0x02
    TAG_ENUM = 0x04
    TAG_POINTER = 0x0F
    TAG_REFERENCE = 0x10
    TAG_STRING = 0x12
    TAG_STRUCT = 0x13
    TAG_SUBROUTINE = 0x15
    TAG_TYPEDEF = 0x16
    TAG_UNION = 0x17
    TAG_BASE = 0x24
    TAG_CONST = 0x26
    TAG_VOLATILE = 0x35
    TAG_RESTRICT = 0x37
    TAG_INTERFACE = 0x38
    TAG_RVALUE_REFERENCE = 0x42
    TAG_ATOMIC = 0x47

# 1 packed, 0 not, -1 memory ran out. `id` is a struct, class or interface. `align` is scratch for one unit: natural
# alignments by small id, 0 unknown; set align.n = 0 at the start of each unit.
cdef int infer_packed(Unit *unit, uint32_t id, U32s *align) noexcept nogil

# Size of a type in bytes (section 6.3 of the rules, without its exception for empty structs).
cdef uint64_t type_size(const Unit *unit, uint32_t id) noexcept nogil
