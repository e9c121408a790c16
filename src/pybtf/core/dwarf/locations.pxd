# Where a parameter lives when its function is entered, and where a variable lives (see locations.py).

from libc.stdint cimport uint8_t, uint64_t
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.dwarf_constants cimport *
from pybtf.core.model.dwarf_unit cimport Param, Unit

cdef enum:                      # kinds of entries in GNU's .debug_loc.dwo (DWARF 4), which have no DW_ names in pyelftools
    SPLIT_END = 0
    SPLIT_BASE = 1
    SPLIT_START_END = 2
    SPLIT_START_LENGTH = 3

cdef enum:                      # how a DW_AT_location is given
    LOC_BLOCK = 1               # an expression: `expr`, `value` bytes
    LOC_LIST = 2                # `value`: offset in .debug_loc (version 2 to 4) or .debug_loclists (5)
    LOC_LISTX = 3               # `value`: index into the offset table at Unit.loclists_base

# The general case; needs Param.size. `one_word`: aggregates travel in one register at most (s390).
cdef void location_walk(
    Param *param, int kind, const uint8_t *expr, uint64_t value, Unit *unit, const DebugSections *sections,
    bint one_word,
) noexcept nogil

# The address of a variable: 1 and `address`, or 0 if it is not located by a fixed address; -1 and as `address` an index that
# .debug_addr does not have.
cdef int first_operation_address(
    int kind, const uint8_t *expr, uint64_t value, const Unit *unit, const DebugSections *sections,
    uint64_t *address,
) noexcept nogil

# Location lists are read only as far as Unit.left goes, which must not be 0; 0 afterwards: it did not suffice.
# Fills reg, const_at_entry, stack_at_entry, first_word and second_word of a parameter that still has the values
# of "no location" in them (reg -1, the rest 0). Most expressions are one byte, one register.
cdef inline void location_read(
    Param *param, int kind, const uint8_t *expr, uint64_t value, Unit *unit, const DebugSections *sections,
    bint one_word,
) noexcept nogil:
    if kind == LOC_BLOCK and value == 1 and expr[0] >= DW_OP_reg0 and expr[0] <= DW_OP_reg31:
        if param.reg < 0:
            param.reg = expr[0] - DW_OP_reg0
        return
    location_walk(param, kind, expr, value, unit, sections, one_word)
