# cython: annotation_typing=True
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
    OP_BREG0,
    OP_BREG31,
    OP_LIT0,
    OP_REG0,
    OP_REG31,
    OP_STACK_VALUE,
    Shape,
    is_entry_value,
    is_register,
)
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.model.dwarf_unit import Unit
from cython.cimports.pybtf.core.support.cursor import (
    Cursor,
    cur_fail,
    cur_init,
    cur_left,
    cur_skip,
    cur_u8,
    cur_u32,
    cur_u64,
)

CUR_TRUNCATED = cython.declare(cython.int, 1)

_operands = cython.declare(cython.uchar[256])  # ARG_* of each operation


@cython.cfunc
def _fill_operands() -> cython.void:
    """The operand table: DWARF 2 to 5, and the GNU operations of DWARF 4."""
    op: cython.int
    memset(_operands, ARG_UNKNOWN, 256)
    for op in range(0x12, 0x30):  # stack, arithmetic, comparison
        _operands[op] = 0
    for op in range(OP_LIT0, OP_REG31 + 1):
        _operands[op] = 0
    for op in range(OP_BREG0, OP_BREG31 + 1):
        _operands[op] = ARG_LEB
    _operands[0x03] = ARG_ADDRESS  # addr
    _operands[0x06] = 0  # deref
    _operands[0x08] = _operands[0x09] = 1  # const1u, const1s
    _operands[0x0A] = _operands[0x0B] = 2  # const2u, const2s
    _operands[0x0C] = _operands[0x0D] = 4  # const4u, const4s
    _operands[0x0E] = _operands[0x0F] = 8  # const8u, const8s
    _operands[0x10] = _operands[0x11] = ARG_LEB  # constu, consts
    _operands[0x15] = 1  # pick
    _operands[0x23] = ARG_LEB  # plus_uconst
    _operands[0x28] = _operands[0x2F] = 2  # bra, skip
    _operands[0x90] = ARG_LEB  # regx
    _operands[0x91] = ARG_LEB  # fbreg
    _operands[0x92] = ARG_LEB_LEB  # bregx
    _operands[0x93] = ARG_LEB  # piece
    _operands[0x94] = _operands[0x95] = 1  # deref_size, xderef_size
    _operands[0x96] = _operands[0x97] = 0  # nop, push_object_address
    _operands[0x98] = 2  # call2
    _operands[0x99] = 4  # call4
    _operands[0x9A] = ARG_REF  # call_ref
    _operands[0x9B] = _operands[0x9C] = 0  # form_tls_address, call_frame_cfa
    _operands[0x9D] = ARG_LEB_LEB  # bit_piece
    _operands[0x9E] = ARG_BLOCK  # implicit_value
    _operands[0x9F] = 0  # stack_value
    _operands[0xA0] = _operands[0xF2] = ARG_REF_LEB  # implicit_pointer
    _operands[0xA1] = _operands[0xFB] = ARG_LEB  # addrx
    _operands[0xA2] = _operands[0xFC] = ARG_LEB  # constx
    _operands[0xA3] = _operands[0xF3] = ARG_BLOCK  # entry_value
    _operands[0xA4] = _operands[0xF4] = ARG_TYPED  # const_type
    _operands[0xA5] = _operands[0xF5] = ARG_LEB_LEB  # regval_type
    _operands[0xA6] = _operands[0xF6] = ARG_U8_LEB  # deref_type
    _operands[0xA7] = ARG_U8_LEB  # xderef_type
    _operands[0xA8] = _operands[0xF7] = ARG_LEB  # convert
    _operands[0xA9] = _operands[0xF9] = ARG_LEB  # reinterpret
    _operands[0xE0] = 0  # GNU_push_tls_address
    _operands[0xF0] = 0  # GNU_uninit
    _operands[0xFA] = 4  # GNU_parameter_ref
    _operands[0xFD] = ARG_REF  # GNU_variable_value


_fill_operands()


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expression_leb(c: cython.pointer(Cursor)) -> uint64_t:
    """A LEB128 operand as a bit pattern of 64 bits, read as generously as the reference's reader does: one
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
def _fixed(c: cython.pointer(Cursor), limit: cython.pointer(cython.const[uint8_t]), size: cython.int) -> uint64_t:
    """An address or offset of 4 or 8 bytes. It may, as in the reference, run past the expression, not past
    the section."""
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
    c: cython.pointer(Cursor),
    op: cython.int,
    unit: cython.pointer(cython.const[Unit]),
    limit: cython.pointer(cython.const[uint8_t]),
    info_size: uint64_t,
) -> cython.void:
    """Move over the operands of `op`; an unknown operation fails the cursor."""
    kind: cython.int = _operands[op]
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
        _fixed(c, limit, unit.address_size)
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
        if _fixed(c, limit, unit.address_size if unit.version < 3 else unit.offset_size) > info_size:
            cur_fail(c, CUR_TRUNCATED)
        if kind == ARG_REF_LEB:
            expression_leb(c)
    else:
        cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expression_check(
    shape: cython.pointer(Shape),
    p: cython.pointer(cython.const[uint8_t]),
    n: cython.size_t,
    section: cython.pointer(cython.const[Span]),
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
) -> cython.bint:
    """Describe the expression of `n` bytes at `p`, in `section`; 0 if some operation is unknown or cut off."""
    c: Cursor
    op: cython.int
    size: uint64_t
    limit: cython.pointer(cython.const[uint8_t]) = p + n
    if section.p <= p and limit <= section.p + section.n:
        limit = section.p + section.n
    shape.p = p
    shape.n = n
    shape.ops = 0
    shape.first = shape.second = shape.entry_register = -1
    shape.stack_value_later = False
    cur_init(cython.address(c), p, 0, n, sections.swap)
    while cur_left(cython.address(c)):
        op = cython.cast(cython.int, cur_u8(cython.address(c)))
        if shape.ops == 0:
            shape.first = op
            if is_entry_value(op):
                size = expression_leb(cython.address(c))
                if size == 1 and cur_left(cython.address(c)):
                    op = c.pos[0]
                    if is_register(op):
                        shape.entry_register = op - OP_REG0
                cur_skip(cython.address(c), size)
            else:
                expression_skip(cython.address(c), op, unit, limit, sections.info.n)
        else:
            if shape.ops == 1:
                shape.second = op
            if op == OP_STACK_VALUE:
                shape.stack_value_later = True
            expression_skip(cython.address(c), op, unit, limit, sections.info.n)
        if c.bad:
            return False
        shape.ops += 1
    return True
