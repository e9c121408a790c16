# Where a parameter lives when its function is entered, and where a variable lives (see locations.py).

from libc.stdint cimport uint8_t, uint64_t
from pybtf.core.sections cimport DebugSections
from pybtf.core.unit cimport Param, Unit

cdef enum:                      # how a DW_AT_location is given
    LOC_BLOCK = 1               # an expression: `expr`, `value` bytes
    LOC_LIST = 2                # `value`: offset in .debug_loc (version 2 to 4) or .debug_loclists (5)
    LOC_LISTX = 3               # `value`: index into the offset table at Unit.loclists_base

cdef enum:                      # operands of an operation; 0, 1, 2, 4 and 8: so many bytes
    ARG_ADDRESS = 20
    ARG_LEB = 21                # ULEB128 or SLEB128
    ARG_LEB_LEB = 22
    ARG_BLOCK = 23              # ULEB128 length, and as many bytes
    ARG_U8_LEB = 24
    ARG_TYPED = 25              # ULEB128 type, one byte length, and as many bytes
    ARG_REF = 26                # an offset in .debug_info
    ARG_REF_LEB = 27
    ARG_UNKNOWN = 255           # no such operation

cdef enum:                      # the operations and list entries that are told apart here
    OP_ADDR = 0x03
    OP_CONSTU = 0x10
    OP_CONSTS = 0x11
    OP_PLUS_UCONST = 0x23
    OP_LIT0 = 0x30
    OP_LIT31 = 0x4F
    OP_REG0 = 0x50
    OP_REG31 = 0x6F
    OP_BREG0 = 0x70
    OP_BREG31 = 0x8F
    OP_FBREG = 0x91
    OP_PIECE = 0x93
    OP_STACK_VALUE = 0x9F
    OP_ADDRX = 0xA1
    OP_ENTRY_VALUE = 0xA3
    OP_GNU_ENTRY_VALUE = 0xF3
    LLE_END_OF_LIST = 0
    LLE_BASE_ADDRESSX = 1
    LLE_STARTX_ENDX = 2
    LLE_STARTX_LENGTH = 3
    LLE_OFFSET_PAIR = 4
    LLE_DEFAULT_LOCATION = 5
    LLE_BASE_ADDRESS = 6
    LLE_START_END = 7
    LLE_START_LENGTH = 8

cdef struct Shape:              # what one valid expression looks like
    const uint8_t *p
    size_t n                    # bytes
    size_t ops                  # operations
    int first                   # the first two operations, -1 if there are fewer
    int second
    int entry_register          # the first operation is an entry value of just this register; else -1
    bint stack_value_later      # DW_OP_stack_value stands somewhere behind the first

# The general case; needs Param.size. `one_word`: aggregates travel in one register at most (s390).
cdef void location_walk(
    Param *param, int kind, const uint8_t *expr, uint64_t value, Unit *unit, const DebugSections *sections,
    bint one_word,
) noexcept nogil

# The address of a variable: 1 and `address`, or 0 if it is not located by a fixed address.
cdef bint first_operation_address(
    int kind, const uint8_t *expr, uint64_t value, const Unit *unit, const DebugSections *sections,
    uint64_t *address,
) noexcept nogil

# Location lists are read only as far as Unit.list_bytes goes, which must not be 0; 0 afterwards: it did not suffice.
# Fills reg, const_at_entry, stack_at_entry, first_word and second_word of a parameter that still has the values
# of "no location" in them (reg -1, the rest 0). Most expressions are one byte, one register.
cdef inline void location_read(
    Param *param, int kind, const uint8_t *expr, uint64_t value, Unit *unit, const DebugSections *sections,
    bint one_word,
) noexcept nogil:
    if kind == LOC_BLOCK and value == 1 and expr[0] >= 0x50 and expr[0] <= 0x6F:
        if param.reg < 0:
            param.reg = expr[0] - 0x50
        return
    location_walk(param, kind, expr, value, unit, sections, one_word)
