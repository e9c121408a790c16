# DWARF expressions (see expressions.py).

from libc.stdint cimport uint8_t, uint64_t
from pybtf.core.model.dwarf_constants cimport *
from pybtf.core.model.debug_sections cimport DebugSections, Span
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.support.cursor cimport Cursor

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

cdef struct Expression:         # what one valid expression looks like
    const uint8_t *p
    size_t n                    # bytes
    size_t ops                  # operations
    int first                   # the first two operations, -1 if there are fewer
    int second
    int entry_register          # the first operation is an entry value of just this register; else -1
    bint stack_value_later      # DW_OP_stack_value stands somewhere after the first

cdef inline bint is_register(int op) noexcept nogil:
    return op >= DW_OP_reg0 and op <= DW_OP_reg31

cdef inline bint is_constant(int op) noexcept nogil:
    # The other constants (const1u...) do not count.
    return (op >= DW_OP_lit0 and op <= DW_OP_lit31) or op == DW_OP_constu or op == DW_OP_consts

cdef inline bint is_entry_value(int op) noexcept nogil:
    return op == DW_OP_entry_value or op == DW_OP_GNU_entry_value

# Describes the expression of `n` bytes at `p`, in `section`: 1, or 0 if some operation is unknown or cut off.
cdef bint expression_check(
    Expression *expression, const uint8_t *p, size_t n, const Span *section, const Unit *unit, const DebugSections *sections,
) noexcept nogil

# A LEB128 operand as a bit pattern of 64 bits, read as generously as pahole's reader does: one that the
# expression cuts off, or of more than ten bytes, is all ones, not an error.
cdef uint64_t expression_leb(Cursor *c) noexcept nogil

# Moves over the operands of `op`; an unknown operation fails the cursor. Operands may run up to `limit`.
cdef void expression_skip(
    Cursor *c, int op, const Unit *unit, const uint8_t *limit, uint64_t info_size,
) noexcept nogil
