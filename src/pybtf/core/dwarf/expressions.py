"""DWARF expressions: what one looks like, and whether all of it can be understood.

An expression counts only if every operation in it is known and complete. So it is first checked as a whole
(`expression_check`), which also remembers its first two operations; most expressions are judged by these alone
(locations.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.expressions import (
    ARG_ADDRESS,
    ARG_BLOCK,
    ARG_LEB,
    ARG_LEB_LEB,
    ARG_REF,
    ARG_REF_LEB,
    ARG_TYPED,
    ARG_U8_LEB,
    ARG_UNKNOWN,
    Expression,
    is_entry_value,
    is_register,
)
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import Unit
from cython.cimports.pybtf.core.support.cursor import (
    CUR_TRUNCATED,
    Cursor,
    cur_fail,
    cur_init,
    cur_left,
    cur_skip,
    cur_u8,
    cur_u32,
    cur_u64,
)

operands_of = cython.declare(cython.uchar[256])  # ARG_* of each operation


@cython.cfunc
def fill_operands() -> cython.void:
    """The operand table: DWARF 2 to 5, and the GNU operations of DWARF 4."""
    op: cython.int
    memset(operands_of, ARG_UNKNOWN, 256)
    for op in range(DW_OP_dup, DW_OP_skip + 1):  # stack, arithmetic, comparison
        operands_of[op] = 0
    for op in range(DW_OP_lit0, DW_OP_reg31 + 1):
        operands_of[op] = 0
    for op in range(DW_OP_breg0, DW_OP_breg31 + 1):
        operands_of[op] = ARG_LEB
    operands_of[DW_OP_addr] = ARG_ADDRESS
    operands_of[DW_OP_deref] = 0
    operands_of[DW_OP_const1u] = operands_of[DW_OP_const1s] = 1
    operands_of[DW_OP_const2u] = operands_of[DW_OP_const2s] = 2
    operands_of[DW_OP_const4u] = operands_of[DW_OP_const4s] = 4
    operands_of[DW_OP_const8u] = operands_of[DW_OP_const8s] = 8
    operands_of[DW_OP_constu] = operands_of[DW_OP_consts] = ARG_LEB
    operands_of[DW_OP_pick] = 1
    operands_of[DW_OP_plus_uconst] = ARG_LEB
    operands_of[DW_OP_bra] = operands_of[DW_OP_skip] = 2
    operands_of[DW_OP_regx] = ARG_LEB
    operands_of[DW_OP_fbreg] = ARG_LEB
    operands_of[DW_OP_bregx] = ARG_LEB_LEB
    operands_of[DW_OP_piece] = ARG_LEB
    operands_of[DW_OP_deref_size] = operands_of[DW_OP_xderef_size] = 1
    operands_of[DW_OP_nop] = operands_of[DW_OP_push_object_address] = 0
    operands_of[DW_OP_call2] = 2
    operands_of[DW_OP_call4] = 4
    operands_of[DW_OP_call_ref] = ARG_REF
    operands_of[DW_OP_form_tls_address] = operands_of[DW_OP_call_frame_cfa] = 0
    operands_of[DW_OP_bit_piece] = ARG_LEB_LEB
    operands_of[DW_OP_implicit_value] = ARG_BLOCK
    operands_of[DW_OP_stack_value] = 0
    operands_of[DW_OP_implicit_pointer] = operands_of[DW_OP_GNU_implicit_pointer] = ARG_REF_LEB
    operands_of[DW_OP_addrx] = operands_of[DW_OP_GNU_addr_index] = ARG_LEB
    operands_of[DW_OP_constx] = operands_of[DW_OP_GNU_const_index] = ARG_LEB
    operands_of[DW_OP_entry_value] = operands_of[DW_OP_GNU_entry_value] = ARG_BLOCK
    operands_of[DW_OP_const_type] = operands_of[DW_OP_GNU_const_type] = ARG_TYPED
    operands_of[DW_OP_regval_type] = operands_of[DW_OP_GNU_regval_type] = ARG_LEB_LEB
    operands_of[DW_OP_deref_type] = operands_of[DW_OP_GNU_deref_type] = ARG_U8_LEB
    operands_of[DW_OP_xderef_type] = ARG_U8_LEB
    operands_of[DW_OP_convert] = operands_of[DW_OP_GNU_convert] = ARG_LEB
    operands_of[DW_OP_reinterpret] = operands_of[DW_OP_GNU_reinterpret] = ARG_LEB
    operands_of[DW_OP_GNU_push_tls_address] = 0
    operands_of[DW_OP_GNU_uninit] = 0
    operands_of[DW_OP_GNU_parameter_ref] = 4
    operands_of[DW_OP_GNU_variable_value] = ARG_REF


fill_operands()


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expression_leb(c: cython.pointer[Cursor]) -> uint64_t:
    """A LEB128 operand as a bit pattern of 64 bits, read as generously as pahole's reader does: one
    that the expression cuts off, or of more than ten bytes, is all ones, not an error."""
    value: uint64_t = 0
    shift: cython.int = 0
    byte: uint8_t
    while shift < 70 and c.pos != c.end:
        byte = c.pos[0]
        c.pos += 1
        if shift < 64:
            value |= cython.cast(uint64_t, byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value
    return ~cython.cast(uint64_t, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fixed(c: cython.pointer[Cursor], limit: cython.pointer[cython.const[uint8_t]], size: cython.int) -> uint64_t:
    """An address or offset of 4 or 8 bytes. It may, as in pahole, run past the expression, not past the section: the
    bytes after a unit have to be there (`LONGEST_OPERATION` in worker.py).
    """
    whole: Cursor = c[0]
    value: uint64_t
    whole.end = limit
    value = cur_u64(cython.address(whole)) if size == 8 else cur_u32(cython.address(whole))
    if whole.bad or (size != 4 and size != 8):
        return cur_fail(c, CUR_TRUNCATED)
    c.pos = whole.pos if whole.pos < c.end else c.end
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expression_skip(
    c: cython.pointer[Cursor],
    op: cython.int,
    unit: cython.pointer[cython.const[Unit]],
    limit: cython.pointer[cython.const[uint8_t]],
    info_size: uint64_t,
) -> cython.void:
    """Move over the operands of `op`; an unknown operation fails the cursor."""
    kind: cython.int = operands_of[op]
    if kind <= 8:
        cur_skip(c, kind)
    elif kind == ARG_LEB:
        expression_leb(c)
    elif kind == ARG_LEB_LEB:
        if cur_left(c) < 2:
            cur_fail(c, CUR_TRUNCATED)
        expression_leb(c)
        expression_leb(c)
    elif kind == ARG_BLOCK:
        cur_skip(c, expression_leb(c))
    elif kind == ARG_ADDRESS:
        fixed(c, limit, unit.address_size)
    elif kind == ARG_U8_LEB:
        if cur_left(c) < 2:
            cur_fail(c, CUR_TRUNCATED)
        cur_skip(c, 1)
        expression_leb(c)
    elif kind == ARG_TYPED:
        expression_leb(c)
        cur_skip(c, cur_u8(c))
    elif kind == ARG_REF or kind == ARG_REF_LEB:
        # DWARF 2 gave these references the size of an address. They must lie in .debug_info.
        if kind == ARG_REF_LEB and cur_left(c) <= (unit.address_size if unit.version < 3 else unit.offset_size):
            cur_fail(c, CUR_TRUNCATED)
        if fixed(c, limit, unit.address_size if unit.version < 3 else unit.offset_size) > info_size:
            cur_fail(c, CUR_TRUNCATED)
        if kind == ARG_REF_LEB:
            expression_leb(c)
    else:
        cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expression_check(
    expression: cython.pointer[Expression],
    p: cython.pointer[cython.const[uint8_t]],
    n: cython.size_t,
    section: cython.pointer[cython.const[Span]],
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
) -> cython.bint:
    """Describe the expression of `n` bytes at `p`, in `section`; 0 if some operation is unknown or cut off."""
    c: Cursor
    op: cython.int
    size: uint64_t
    limit: cython.pointer[cython.const[uint8_t]] = p + n
    if section.p <= p and limit <= section.p + section.n:
        limit = section.p + section.n
    expression.p = p
    expression.n = n
    expression.ops = 0
    expression.first = expression.second = expression.entry_register = -1
    expression.stack_value_later = False
    cur_init(cython.address(c), p, 0, n, sections.swap)
    while cur_left(cython.address(c)):
        op = cython.cast(cython.int, cur_u8(cython.address(c)))
        if expression.ops == 0:
            expression.first = op
            if is_entry_value(op):
                size = expression_leb(cython.address(c))
                if size == 1 and cur_left(cython.address(c)):
                    op = c.pos[0]
                    if is_register(op):
                        expression.entry_register = op - DW_OP_reg0
                cur_skip(cython.address(c), size)
            else:
                expression_skip(cython.address(c), op, unit, limit, sections.info.n)
        else:
            if expression.ops == 1:
                expression.second = op
            if op == DW_OP_stack_value:
                expression.stack_value_later = True
            expression_skip(cython.address(c), op, unit, limit, sections.info.n)
        if c.bad:
            return False
        expression.ops += 1
    return True
