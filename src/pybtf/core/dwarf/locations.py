"""Locations: where a parameter lives when its function is entered, and where a variable lives.

Of a DW_AT_location only a few facts matter: the register that holds the parameter at entry, or that it is a
constant or on the stack there, and which parts of an aggregate are still described. They come from the first
entry of a location list, with two exceptions that later entries can add: an entry-value operation, which
names the register at entry wherever it stands, and, for parameters wider than a word, the pieces.

An expression with an operation that is unknown or cut off (expressions.py) ends the reading, and what was gathered
before stands. Most expressions are judged by their first two operations. Only wide parameters need a second walk.

The entries' address ranges are of no interest, but they have to be stepped over exactly, and an index of an
address must exist: the entry would be an error otherwise, and the rest unread.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.pybtf.core.dwarf.expressions import (
    Expression,
    expression_check,
    expression_leb,
    expression_skip,
    is_constant,
    is_register,
)
from cython.cimports.pybtf.core.dwarf.locations import (
    LOC_BLOCK,
    LOC_LIST,
    LOC_LISTX,
    SPLIT_BASE,
    SPLIT_END,
    SPLIT_START_END,
    SPLIT_START_LENGTH,
)
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import Param, Unit
from cython.cimports.pybtf.core.support.cursor import (
    CUR_TRUNCATED,
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

ENTRY_BYTES = cython.declare(uint64_t, 16)  # what the range of an entry is counted as

# ---------------------------------------------------------------- one expression of a parameter


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def single(param: cython.pointer[Param], s: cython.pointer[Expression], n: cython.size_t) -> cython.void:
    """One operation, with or without a DW_OP_stack_value after it, in list entry `n`."""
    if s.entry_register >= 0:
        enter(param, s.entry_register)
        return
    if n != 0:
        return
    if is_register(s.first):
        enter(param, s.first - DW_OP_reg0)
    elif s.ops == 2 and s.first >= DW_OP_breg0 and s.first <= DW_OP_breg31:
        enter(param, s.first - DW_OP_breg0)
    elif s.first == DW_OP_fbreg:
        param.stack_at_entry = 1
    elif is_constant(s.first):
        param.const_at_entry = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(param: cython.pointer[Param], reg: cython.int) -> cython.void:
    # The first register found wins.
    if param.reg < 0:
        param.reg = reg


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pieces(
    param: cython.pointer[Param], s: cython.pointer[Expression], unit: cython.pointer[cython.const[Unit]]
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
        if op == DW_OP_piece:
            size = expression_leb(cython.address(c))
            if index:
                if offset < word:
                    param.first_word |= cython.cast(uint64_t, 1) << offset
                elif offset - word < 64:
                    param.second_word |= cython.cast(uint64_t, 1) << (offset - word)
            offset += size
        else:
            if is_register(op):
                enter(param, op - DW_OP_reg0)
            expression_skip(cython.address(c), op, unit, c.end, ~cython.cast(uint64_t, 0))
        index += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def judge(
    param: cython.pointer[Param],
    s: cython.pointer[Expression],
    n: cython.size_t,
    unit: cython.pointer[cython.const[Unit]],
    one_word: cython.bint,
) -> cython.void:
    """Take what list entry `n` tells about the parameter."""
    if s.ops == 0:
        return
    if s.ops == 1 or (s.ops == 2 and s.second == DW_OP_stack_value):
        single(param, s, n)
    elif is_constant(s.first):
        if n == 0:
            param.const_at_entry = 1
    elif one_word or param.size <= unit.address_size:
        if n != 0:
            return
        if is_register(s.first):
            enter(param, s.first - DW_OP_reg0)
        elif s.first >= DW_OP_breg0 and s.first <= DW_OP_breg31 and s.stack_value_later:
            enter(param, s.first - DW_OP_breg0)
    else:
        pieces(param, s, unit)


# ---------------------------------------------------------------- location lists


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip_address(c: cython.pointer[Cursor], unit: cython.pointer[cython.const[Unit]]) -> cython.void:
    cur_skip(c, unit.address_size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_address(c: cython.pointer[Cursor], unit: cython.pointer[cython.const[Unit]]) -> uint64_t:
    if unit.address_size == 8:
        return cur_u64(c)
    if unit.address_size == 4:
        return cur_u32(c)
    if unit.address_size == 2:
        return cur_u16(c)
    return cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def address_at(
    index: uint64_t,
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
    address: cython.pointer[uint64_t],
) -> cython.bint:
    """The entry `index` of the unit's part of .debug_addr; 0 if there is none."""
    c: Cursor
    size: uint64_t = sections.addr.n
    width: uint64_t = unit.address_size
    if width == 0 or unit.addr_base > size or index >= (size - unit.addr_base) // width:
        return False
    cur_init(cython.address(c), sections.addr.p, unit.addr_base + index * width, size, sections.swap)
    address[0] = read_address(cython.address(c), unit)
    return not c.bad


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip_indexed(
    c: cython.pointer[Cursor],
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
) -> cython.void:
    address: uint64_t = 0
    index: uint64_t = cur_uleb(c)
    if not c.bad and not address_at(index, unit, sections, cython.address(address)):
        cur_fail(c, CUR_TRUNCATED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_range(
    c: cython.pointer[Cursor],
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
) -> cython.int:
    """Step over the address range of an entry of .debug_loclists: 1 if an expression follows, 0 if not (a
    base address), -1 at the end of the list. Failures are left in the cursor."""
    kind: cython.int = cython.cast(cython.int, cur_u8(c))
    if c.bad or kind == DW_LLE_end_of_list:
        return -1
    if kind == DW_LLE_offset_pair:
        cur_uleb(c)
        cur_uleb(c)
    elif kind == DW_LLE_startx_length:
        skip_indexed(c, unit, sections)
        cur_uleb(c)
    elif kind == DW_LLE_startx_endx:
        skip_indexed(c, unit, sections)
        skip_indexed(c, unit, sections)
    elif kind == DW_LLE_start_length:
        skip_address(c, unit)
        cur_uleb(c)
    elif kind == DW_LLE_start_end:
        skip_address(c, unit)
        skip_address(c, unit)
    elif kind == DW_LLE_base_address:
        skip_address(c, unit)
        return 0
    elif kind == DW_LLE_base_addressx:
        skip_indexed(c, unit, sections)
        return 0
    elif kind != DW_LLE_default_location:
        cur_fail(c, CUR_TRUNCATED)  # GNU view pairs (9) are unknown to pahole as well
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_old_range(c: cython.pointer[Cursor], unit: cython.pointer[cython.const[Unit]]) -> cython.int:
    """As `next_range`, for .debug_loc: pairs of addresses; the largest address announces a new base."""
    begin: uint64_t = read_address(c, unit)
    end: uint64_t = read_address(c, unit)
    if c.bad or (begin == 0 and end == 0):
        return -1
    if begin == ~cython.cast(uint64_t, 0) >> (64 - 8 * unit.address_size):
        return 0
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_split_range(
    c: cython.pointer[Cursor],
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
) -> cython.int:
    """As `next_range`, for the .debug_loc.dwo of GNU's split DWARF 4, whose kinds of entries have other numbers and
    operands than those that DWARF 5 has made of them."""
    kind: cython.int = cython.cast(cython.int, cur_u8(c))
    if c.bad or kind == SPLIT_END:
        return -1
    if kind == SPLIT_BASE:
        skip_indexed(c, unit, sections)
        return 0
    if kind == SPLIT_START_END:
        skip_indexed(c, unit, sections)
        skip_indexed(c, unit, sections)
    elif kind == SPLIT_START_LENGTH:
        skip_indexed(c, unit, sections)
        cur_skip(c, 4)
    else:
        cur_fail(c, CUR_TRUNCATED)
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def afford(unit: cython.pointer[Unit], size: uint64_t) -> cython.bint:
    if size >= unit.left:
        unit.left = 0
        return False
    unit.left -= size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_list(
    param: cython.pointer[Param],
    section: cython.pointer[cython.const[Span]],
    offset: uint64_t,
    unit: cython.pointer[Unit],
    sections: cython.pointer[cython.const[DebugSections]],
    one_word: cython.bint,
) -> cython.void:
    """What is read is taken from `unit.left`; the reading ends when that is used up, and the caller must look."""
    c: Cursor
    expression: Expression
    size: uint64_t
    found: cython.int
    n: cython.size_t = 0
    modern: cython.bint = unit.version >= 5
    wide: cython.bint = not one_word and param.size > unit.address_size
    if offset >= section.n:
        return
    unit.list_at = offset
    cur_init(cython.address(c), section.p, offset, section.n, sections.swap)
    while True:
        if not afford(unit, ENTRY_BYTES):
            return
        if modern:
            found = next_range(cython.address(c), unit, sections)
        elif unit.split:
            found = next_split_range(cython.address(c), unit, sections)
        else:
            found = next_old_range(cython.address(c), unit)
        if found < 0 or c.bad:
            return
        if found == 0:
            continue
        size = cur_uleb(cython.address(c)) if modern else cur_u16(cython.address(c))
        if c.bad or size > cur_left(cython.address(c)):
            return
        if not afford(unit, size):
            return
        if not expression_check(cython.address(expression), c.pos, size, section, unit, sections):
            return
        c.pos += size
        judge(param, cython.address(expression), n, unit, one_word)
        if param.reg >= 0 and not wide:
            return  # nothing in the entries to come could change anything
        n += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def indexed_list(
    index: uint64_t,
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
    offset: cython.pointer[uint64_t],
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
    param: cython.pointer[Param],
    kind: cython.int,
    expr: cython.pointer[cython.const[uint8_t]],
    value: uint64_t,
    unit: cython.pointer[Unit],
    sections: cython.pointer[cython.const[DebugSections]],
    one_word: cython.bint,
) -> cython.void:
    """See locations.pxd."""
    expression: Expression
    section: cython.pointer[cython.const[Span]]
    offset: uint64_t = value
    if kind == LOC_BLOCK:
        if expression_check(cython.address(expression), expr, value, cython.address(sections.info), unit, sections):
            judge(param, cython.address(expression), 0, unit, one_word)
    elif kind == LOC_LISTX:
        if indexed_list(value, unit, sections, cython.address(offset)):
            walk_list(param, cython.address(sections.loclists), offset, unit, sections, one_word)
    elif kind == LOC_LIST:
        section = cython.address(sections.loclists) if unit.version >= 5 else cython.address(sections.loc)
        if offset < section.n:
            walk_list(param, section, offset + unit.lists_at, unit, sections, one_word)


# ---------------------------------------------------------------- variables


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_operation_address(
    kind: cython.int,
    expr: cython.pointer[cython.const[uint8_t]],
    value: uint64_t,
    unit: cython.pointer[cython.const[Unit]],
    sections: cython.pointer[cython.const[DebugSections]],
    address: cython.pointer[uint64_t],
) -> cython.int:
    """See locations.pxd."""
    c: Cursor
    expression: Expression
    index: uint64_t
    if kind != LOC_BLOCK or value == 0:
        return 0
    if expr[0] != DW_OP_addr and expr[0] != DW_OP_addrx and not (unit.split and expr[0] == DW_OP_GNU_addr_index):
        return 0  # elsewhere, pahole does not know DW_OP_GNU_addr_index here
    cur_init(cython.address(c), expr, 1, value, sections.swap)
    if expr[0] == DW_OP_addr:
        address[0] = read_address(cython.address(c), unit)
    else:
        index = cur_uleb(cython.address(c))
        if not c.bad and not address_at(index, unit, sections, address):
            address[0] = index
            return -1
    if not expression_check(cython.address(expression), expr, value, cython.address(sections.info), unit, sections):
        return 0
    if expression.ops == 2 and expression.second == DW_OP_plus_uconst:
        cur_skip(cython.address(c), 1)
        address[0] += expression_leb(cython.address(c))
    return not c.bad
