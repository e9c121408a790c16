# cython: annotation_typing=True
"""Locations: where a parameter lives when its function is entered, and where a variable lives.

Of a DW_AT_location only a few facts matter: the register that holds the parameter at entry, or that it is a
constant or on the stack there, and which parts of an aggregate are still described. They come from the first
entry of a location list, with two exceptions that later entries can add: an entry-value operation, which
names the register at entry wherever it stands, and, for parameters wider than a word, the pieces.

An expression counts only if every operation in it is known and complete; one that is not ends the reading,
and what was gathered before stands. So an expression is first checked as a whole (`_check`), which also
remembers its first two operations, and most expressions are judged by these alone. Only wide parameters need
a second walk.

The entries' address ranges are of no interest, but they have to be stepped over exactly, and an index of an
address must exist: the entry would be an error otherwise, and the rest unread.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.cursor import (
    Cursor,
    cur_fail,
    cur_init,
    cur_left,
    cur_skip,
    cur_u8,
    cur_u16,
    cur_u32,
    cur_u64,
    cur_uleb,
)
from cython.cimports.pybtf.core.locations import (
    ARG_ADDRESS,
    ARG_BLOCK,
    ARG_LEB,
    ARG_LEB_LEB,
    ARG_REF,
    ARG_REF_LEB,
    ARG_TYPED,
    ARG_U8_LEB,
    ARG_UNKNOWN,
    LLE_BASE_ADDRESS,
    LLE_BASE_ADDRESSX,
    LLE_DEFAULT_LOCATION,
    LLE_END_OF_LIST,
    LLE_OFFSET_PAIR,
    LLE_START_END,
    LLE_START_LENGTH,
    LLE_STARTX_ENDX,
    LLE_STARTX_LENGTH,
    LOC_BLOCK,
    LOC_LIST,
    LOC_LISTX,
    OP_ADDR,
    OP_ADDRX,
    OP_BREG0,
    OP_BREG31,
    OP_CONSTS,
    OP_CONSTU,
    OP_ENTRY_VALUE,
    OP_FBREG,
    OP_GNU_ENTRY_VALUE,
    OP_LIT0,
    OP_LIT31,
    OP_PIECE,
    OP_PLUS_UCONST,
    OP_REG0,
    OP_REG31,
    OP_STACK_VALUE,
    Shape,
)
from cython.cimports.pybtf.core.sections import DebugSections, Span
from cython.cimports.pybtf.core.unit import Param, Unit

CUR_TRUNCATED = cython.declare(cython.int, 1)
ENTRY_BYTES = cython.declare(uint64_t, 16)  # what the range of an entry is counted as

# ---------------------------------------------------------------- operations

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
def _skip_address(c: cython.pointer(Cursor), unit: cython.pointer(cython.const[Unit])) -> cython.void:
    cur_skip(c, unit.address_size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leb(c: cython.pointer(Cursor)) -> uint64_t:
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
def _skip_operands(
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
        _leb(c)
    elif kind == ARG_LEB_LEB:
        if cur_left(c) < 2:
            cur_fail(c, CUR_TRUNCATED)
        _leb(c)
        _leb(c)
    elif kind == ARG_BLOCK:
        cur_skip(c, _leb(c))
    elif kind == ARG_ADDRESS:
        _fixed(c, limit, unit.address_size)
    elif kind == ARG_U8_LEB:
        if cur_left(c) < 2:
            cur_fail(c, CUR_TRUNCATED)
        cur_skip(c, 1)
        _leb(c)
    elif kind == ARG_TYPED:
        _leb(c)
        cur_skip(c, cur_u8(c))
    elif kind == ARG_REF or kind == ARG_REF_LEB:
        # DWARF 2 gave these references the size of an address. They must lie in .debug_info.
        if kind == ARG_REF_LEB and cur_left(c) <= (unit.address_size if unit.version < 3 else unit.offset_size):
            cur_fail(c, CUR_TRUNCATED)
        if _fixed(c, limit, unit.address_size if unit.version < 3 else unit.offset_size) > info_size:
            cur_fail(c, CUR_TRUNCATED)
        if kind == ARG_REF_LEB:
            _leb(c)
    else:
        cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_register(op: cython.int) -> cython.bint:
    return op >= OP_REG0 and op <= OP_REG31


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_constant(op: cython.int) -> cython.bint:
    # The other constants (const1u...) do not count.
    return (op >= OP_LIT0 and op <= OP_LIT31) or op == OP_CONSTU or op == OP_CONSTS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_entry_value(op: cython.int) -> cython.bint:
    return op == OP_ENTRY_VALUE or op == OP_GNU_ENTRY_VALUE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _check(
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
            if _is_entry_value(op):
                size = _leb(cython.address(c))
                if size == 1 and cur_left(cython.address(c)) and _is_register(c.pos[0]):
                    shape.entry_register = c.pos[0] - OP_REG0
                cur_skip(cython.address(c), size)
            else:
                _skip_operands(cython.address(c), op, unit, limit, sections.info.n)
        else:
            if shape.ops == 1:
                shape.second = op
            if op == OP_STACK_VALUE:
                shape.stack_value_later = True
            _skip_operands(cython.address(c), op, unit, limit, sections.info.n)
        if c.bad:
            return False
        shape.ops += 1
    return True


# ---------------------------------------------------------------- one expression of a parameter


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _single(param: cython.pointer(Param), s: cython.pointer(Shape), n: cython.size_t) -> cython.void:
    """One operation, with or without a DW_OP_stack_value behind it, in list entry `n`."""
    if s.entry_register >= 0:
        _enter(param, s.entry_register)
        return
    if n != 0:
        return
    if _is_register(s.first):
        _enter(param, s.first - OP_REG0)
    elif s.ops == 2 and s.first >= OP_BREG0 and s.first <= OP_BREG31:
        _enter(param, s.first - OP_BREG0)
    elif s.first == OP_FBREG:
        param.stack_at_entry = 1
    elif _is_constant(s.first):
        param.const_at_entry = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(param: cython.pointer(Param), reg: cython.int) -> cython.void:
    # The first register found wins.
    if param.reg < 0:
        param.reg = reg


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pieces(
    param: cython.pointer(Param), s: cython.pointer(Shape), unit: cython.pointer(cython.const[Unit])
) -> cython.void:
    """Registers and pieces of an aggregate of several words. A piece in front of everything else stands for a
    part that is not available."""
    c: Cursor
    op: cython.int
    size: uint64_t
    offset: uint64_t = 0
    index: cython.size_t = 0
    word: uint64_t = unit.address_size
    cur_init(cython.address(c), s.p, 0, s.n, False)
    while cur_left(cython.address(c)):
        op = cython.cast(cython.int, cur_u8(cython.address(c)))
        if op == OP_PIECE:
            size = _leb(cython.address(c))
            if index:
                if offset < word:
                    param.first_word |= cython.cast(uint64_t, 1) << offset
                elif offset - word < 64:
                    param.second_word |= cython.cast(uint64_t, 1) << (offset - word)
            offset += size
        else:
            if _is_register(op):
                _enter(param, op - OP_REG0)
            _skip_operands(cython.address(c), op, unit, c.end, ~cython.cast(uint64_t, 0))
        index += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _judge(
    param: cython.pointer(Param),
    s: cython.pointer(Shape),
    n: cython.size_t,
    unit: cython.pointer(cython.const[Unit]),
    one_word: cython.bint,
) -> cython.void:
    """Take what list entry `n` tells about the parameter."""
    if s.ops == 0:
        return
    if s.ops == 1 or (s.ops == 2 and s.second == OP_STACK_VALUE):
        _single(param, s, n)
    elif _is_constant(s.first):
        if n == 0:
            param.const_at_entry = 1
    elif one_word or param.size <= unit.address_size:
        if n != 0:
            return
        if _is_register(s.first):
            _enter(param, s.first - OP_REG0)
        elif s.first >= OP_BREG0 and s.first <= OP_BREG31 and s.stack_value_later:
            _enter(param, s.first - OP_BREG0)
    else:
        _pieces(param, s, unit)


# ---------------------------------------------------------------- location lists


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_address(c: cython.pointer(Cursor), unit: cython.pointer(cython.const[Unit])) -> uint64_t:
    if unit.address_size == 8:
        return cur_u64(c)
    if unit.address_size == 4:
        return cur_u32(c)
    return cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _address_at(
    index: uint64_t,
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
    address: cython.pointer(uint64_t),
) -> cython.bint:
    """The entry `index` of the unit's part of .debug_addr; 0 if there is none."""
    c: Cursor
    size: uint64_t = sections.addr.n
    width: uint64_t = unit.address_size
    if width == 0 or unit.addr_base > size or index >= (size - unit.addr_base) // width:
        return False
    cur_init(cython.address(c), sections.addr.p, unit.addr_base + index * width, size, sections.swap)
    address[0] = _read_address(cython.address(c), unit)
    return not c.bad


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _skip_indexed(
    c: cython.pointer(Cursor),
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
) -> cython.void:
    address: uint64_t = 0
    index: uint64_t = cur_uleb(c)
    if not c.bad and not _address_at(index, unit, sections, cython.address(address)):
        cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_range(
    c: cython.pointer(Cursor),
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
) -> cython.int:
    """Step over the address range of an entry of .debug_loclists: 1 if an expression follows, 0 if not (a
    base address), -1 at the end of the list. Failures are left in the cursor."""
    kind: cython.int = cython.cast(cython.int, cur_u8(c))
    if c.bad or kind == LLE_END_OF_LIST:
        return -1
    if kind == LLE_OFFSET_PAIR:
        cur_uleb(c)
        cur_uleb(c)
    elif kind == LLE_STARTX_LENGTH:
        _skip_indexed(c, unit, sections)
        cur_uleb(c)
    elif kind == LLE_STARTX_ENDX:
        _skip_indexed(c, unit, sections)
        _skip_indexed(c, unit, sections)
    elif kind == LLE_START_LENGTH:
        _skip_address(c, unit)
        cur_uleb(c)
    elif kind == LLE_START_END:
        _skip_address(c, unit)
        _skip_address(c, unit)
    elif kind == LLE_BASE_ADDRESS:
        _skip_address(c, unit)
        return 0
    elif kind == LLE_BASE_ADDRESSX:
        _skip_indexed(c, unit, sections)
        return 0
    elif kind != LLE_DEFAULT_LOCATION:
        cur_fail(c, CUR_TRUNCATED)  # GNU view pairs (9) are unknown to the reference as well
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_old_range(c: cython.pointer(Cursor), unit: cython.pointer(cython.const[Unit])) -> cython.int:
    """As `_next_range`, for .debug_loc: pairs of addresses; the largest address announces a new base."""
    begin: uint64_t = _read_address(c, unit)
    end: uint64_t = _read_address(c, unit)
    if c.bad or (begin == 0 and end == 0):
        return -1
    if begin == (cython.cast(uint64_t, 0xFFFFFFFF) if unit.address_size == 4 else ~cython.cast(uint64_t, 0)):
        return 0
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _afford(unit: cython.pointer(Unit), size: uint64_t) -> cython.bint:
    if size >= unit.list_bytes:
        unit.list_bytes = 0
        return False
    unit.list_bytes -= size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk_list(
    param: cython.pointer(Param),
    section: cython.pointer(cython.const[Span]),
    offset: uint64_t,
    unit: cython.pointer(Unit),
    sections: cython.pointer(cython.const[DebugSections]),
    one_word: cython.bint,
) -> cython.void:
    """What is read is taken from `unit.list_bytes`; the reading ends when that is used up, and the caller must look."""
    c: Cursor
    shape: Shape
    size: uint64_t
    found: cython.int
    n: cython.size_t = 0
    modern: cython.bint = unit.version >= 5
    wide: cython.bint = not one_word and param.size > unit.address_size
    if offset >= section.n:
        return
    cur_init(cython.address(c), section.p, offset, section.n, sections.swap)
    while True:
        if not _afford(unit, ENTRY_BYTES):
            return
        if modern:
            found = _next_range(cython.address(c), unit, sections)
        else:
            found = _next_old_range(cython.address(c), unit)
        if found < 0 or c.bad:
            return
        if found == 0:
            continue
        size = cur_uleb(cython.address(c)) if modern else cur_u16(cython.address(c))
        if c.bad or size > cur_left(cython.address(c)):
            return
        if not _afford(unit, size):
            return
        if not _check(cython.address(shape), c.pos, size, section, unit, sections):
            return
        c.pos += size
        _judge(param, cython.address(shape), n, unit, one_word)
        if param.reg >= 0 and not wide:
            return  # nothing in the entries to come could change anything
        n += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _indexed_list(
    index: uint64_t,
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
    offset: cython.pointer(uint64_t),
) -> cython.bint:
    """DW_FORM_loclistx: the offset of list `index`, counted like the table from Unit.loclists_base."""
    c: Cursor
    base: uint64_t = unit.loclists_base
    size: uint64_t = sections.loclists.n
    width: uint64_t = unit.offset_size
    if base > size or width == 0 or index >= (size - base) // width:
        return False
    cur_init(cython.address(c), sections.loclists.p, base + index * width, size, sections.swap)
    offset[0] = cur_u64(cython.address(c)) if width == 8 else cur_u32(cython.address(c))
    if c.bad or offset[0] > size - base:
        return False
    offset[0] += base
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def location_walk(
    param: cython.pointer(Param),
    kind: cython.int,
    expr: cython.pointer(cython.const[uint8_t]),
    value: uint64_t,
    unit: cython.pointer(Unit),
    sections: cython.pointer(cython.const[DebugSections]),
    one_word: cython.bint,
) -> cython.void:
    """See locations.pxd."""
    shape: Shape
    offset: uint64_t = value
    if kind == LOC_BLOCK:
        if _check(cython.address(shape), expr, value, cython.address(sections.info), unit, sections):
            _judge(param, cython.address(shape), 0, unit, one_word)
    elif kind == LOC_LISTX:
        if _indexed_list(value, unit, sections, cython.address(offset)):
            _walk_list(param, cython.address(sections.loclists), offset, unit, sections, one_word)
    elif kind == LOC_LIST:
        if unit.version >= 5:
            _walk_list(param, cython.address(sections.loclists), offset, unit, sections, one_word)
        else:
            _walk_list(param, cython.address(sections.loc), offset, unit, sections, one_word)


# ---------------------------------------------------------------- variables


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_operation_address(
    kind: cython.int,
    expr: cython.pointer(cython.const[uint8_t]),
    value: uint64_t,
    unit: cython.pointer(cython.const[Unit]),
    sections: cython.pointer(cython.const[DebugSections]),
    address: cython.pointer(uint64_t),
) -> cython.bint:
    """See locations.pxd."""
    c: Cursor
    shape: Shape
    if kind != LOC_BLOCK or value == 0:
        return False
    if expr[0] != OP_ADDR and expr[0] != OP_ADDRX:  # the reference does not know DW_OP_GNU_addr_index here
        return False
    if not _check(cython.address(shape), expr, value, cython.address(sections.info), unit, sections):
        return False
    cur_init(cython.address(c), expr, 1, value, sections.swap)
    if expr[0] == OP_ADDR:
        address[0] = _read_address(cython.address(c), unit)
    elif not _address_at(cur_uleb(cython.address(c)), unit, sections, address):
        return False
    if shape.ops == 2 and shape.second == OP_PLUS_UCONST:
        cur_skip(cython.address(c), 1)
        address[0] += _leb(cython.address(c))
    return not c.bad
