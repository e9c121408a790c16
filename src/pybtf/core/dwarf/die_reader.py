"""Reading one DIE: runs the program of its abbreviation (abbrevs.py) over the bytes of the unit.

Values of wanted attributes go to slots of a `Die` that the caller reuses; which slots are valid is a bit mask, so
nothing has to be cleared per DIE. Strings are left as places (class and offset) until somebody wants their text:
most names of most DIEs are never looked at.

DIEs of the most frequent kinds are read by die_fast_path.py, and what is inside those that are passed over by
passing.py. Whatever these two find unusual is left to this file, which says what is damaged. A unit's cursor ends where
the unit ends.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.die_reader import Attr, Die, Reader, die_next
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.dwarf.passing import pass_tree
from cython.cimports.pybtf.core.model.debug_sections import Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_ABBREV_CODE,
    FAULT_ALTERNATE,
    FAULT_ALTERNATE_STRING,
    FAULT_FORM,
    FAULT_INDEX,
    FAULT_LEB,
    FAULT_NESTED,
    FAULT_OFFSET,
    FAULT_REFERENCE,
    FAULT_SPLIT_FORM,
    FAULT_STRING,
    FAULT_TRUNCATED,
    IN_INFO,
    IN_LINE_STR,
    IN_STR,
    IN_STR_OFFSETS,
    fault_set,
)
from cython.cimports.pybtf.core.support.cursor import (
    CUR_LEB,
    CUR_STRING,
    Cursor,
    cur_init,
    cur_skip,
    cur_sleb,
    cur_string,
    cur_tell,
    cur_u8,
    cur_u16,
    cur_u24,
    cur_u32,
    cur_u64,
    cur_uleb,
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bad_data(r: cython.pointer[Reader], die: uint64_t) -> cython.int:
    """The fault of a DIE that does not end within its unit, or has a number or a string without an end."""
    code: cython.int = FAULT_TRUNCATED
    if r.c.bad == CUR_LEB:
        code = FAULT_LEB
    elif r.c.bad == CUR_STRING:
        code = FAULT_STRING
    return fault_set(r.fault, code, IN_INFO, cur_tell(cython.address(r.c)), die, 0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def read_number(c: cython.pointer[Cursor], operation: uint32_t, a: cython.pointer[Attr]) -> cython.bint:
    """Reads a number of one, two, four or eight bytes. False: the operation is another, and nothing has been done."""
    if operation == OP_U4:
        a.v = cur_u32(c)
    elif operation == OP_U1:
        a.v = cur_u8(c)
    elif operation == OP_U2:
        a.v = cur_u16(c)
    elif operation == OP_U8:
        a.v = cur_u64(c)
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_block(c: cython.pointer[Cursor], operation: uint32_t, a: cython.pointer[Attr]) -> cython.void:
    """Notes where a block is, and how long, and passes over it."""
    length: cython.size_t
    if operation == OP_BLOCK1:
        length = cur_u8(c)
    elif operation == OP_BLOCK2:
        length = cur_u16(c)
    elif operation == OP_BLOCK4:
        length = cur_u32(c)
    else:
        length = cur_uleb(c)
    a.v = cur_tell(c)
    a.size = cython.cast(uint32_t, length)
    cur_skip(c, length)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_indirect(r: cython.pointer[Reader], word: uint32_t, a: cython.pointer[Attr], die: uint64_t) -> cython.int:
    """Reads a value whose form is in the DIE, before it. Nonzero: fault."""
    c: cython.pointer[Cursor] = cython.address(r.c)
    slot: uint32_t = (word >> 8) & 0xFF
    form: uint64_t = cur_uleb(c)
    operation: uint32_t
    word = form_op(form, r.address_size, r.offset_size, r.version)
    if slot == D_MEMBER_LOCATION and r.version < 4:
        word = as_list(word)
    if r.alternate:
        word = in_alternate(word)
    elif r.split and leaves_split(word):
        return fault_set(r.fault, FAULT_SPLIT_FORM, IN_INFO, cur_tell(c), die, cython.cast(int64_t, form))
    operation = word & 0xFF
    # An indirect form that is again indirect, or implicit, makes no sense.
    if word == UNKNOWN_FORM or operation == OP_INDIRECT or form == DW_FORM_implicit_const:
        return fault_set(r.fault, FAULT_FORM, IN_INFO, cur_tell(c), die, cython.cast(int64_t, form))
    a.cls = (word >> 16) & 0xFF
    if operation == OP_IMPLICIT:  # a flag that is present
        a.v = 1
        return 0
    if read_number(c, operation, a):
        return 0
    return read_value(r, word, a, die)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_value(r: cython.pointer[Reader], word: uint32_t, a: cython.pointer[Attr], die: uint64_t) -> cython.int:
    """Reads a value that `read_number` does not read, and that is not in the program (OP_IMPLICIT). Nonzero: fault."""
    c: cython.pointer[Cursor] = cython.address(r.c)
    operation: uint32_t = word & 0xFF
    length: cython.size_t
    if operation == OP_ULEB:
        a.v = cur_uleb(c)
    elif operation == OP_SLEB:
        a.v = cython.cast(uint64_t, cur_sleb(c))
    elif operation == OP_U3:
        a.v = cur_u24(c)
    elif operation == OP_STRING:
        a.v = cur_tell(c)
        length = 0
        cur_string(c, cython.address(length))
        a.size = cython.cast(uint32_t, length)
    elif operation == OP_DATA16:
        a.v = cur_tell(c)
        a.size = 16
        cur_skip(c, 16)
    elif operation == OP_INDIRECT:
        return read_indirect(r, word, a, die)
    else:
        read_block(c, operation, a)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip_value(c: cython.pointer[Cursor], operation: uint32_t) -> cython.void:
    """Passes over one value whose size is in the data."""
    length: cython.size_t = 0
    if operation == OP_SKIP_LEB:
        cur_uleb(c)
    elif operation == OP_SKIP_STRING:
        cur_string(c, cython.address(length))
    elif operation == OP_SKIP_BLOCK1:
        cur_skip(c, cur_u8(c))
    elif operation == OP_SKIP_BLOCK2:
        cur_skip(c, cur_u16(c))
    elif operation == OP_SKIP_BLOCK4:
        cur_skip(c, cur_u32(c))
    elif operation == OP_SKIP_BLOCK:
        cur_skip(c, cur_uleb(c))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place_reference(r: cython.pointer[Reader], a: cython.pointer[Attr]) -> cython.bint:
    """Counts a reference within the unit from the start of .debug_info. False: it leads out of the unit."""
    if a.v < r.end - r.unit:
        a.v += r.unit
    elif r.passing:
        a.cls = A_NONE
    else:
        return False
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def run_program(
    r: cython.pointer[Reader], d: cython.pointer[Die], ops: cython.pointer[cython.const[uint32_t]]
) -> cython.int:
    """Reads the attributes of a DIE, for which `ops` is the program of its abbreviation. Nonzero: fault."""
    c: cython.pointer[Cursor] = cython.address(r.c)
    a: cython.pointer[Attr]
    word: uint32_t
    operation: uint32_t
    slot: uint32_t
    scratch: Attr
    seen: uint64_t = 0
    while True:
        word = ops[0]
        ops += 1
        operation = word & 0xFF
        if operation == OP_END:
            break
        if operation == OP_SKIP:
            cur_skip(c, word >> 16)
            continue
        if operation < OP_U1:
            skip_value(c, operation)
            continue
        slot = (word >> 8) & 0xFF
        if slot == NO_SLOT:  # an unwanted value of indirect form
            if read_value(r, word, cython.address(scratch), d.offset):
                return 1
            continue
        a = cython.address(d.a[slot])
        a.cls = (word >> 16) & 0xFF
        seen |= cython.cast(uint64_t, 1) << slot
        if not read_number(c, operation, a):
            if operation == OP_IMPLICIT:
                a.v = ops[0] | (cython.cast(uint64_t, ops[1]) << 32)
                ops += 2
            elif read_value(r, word, a, d.offset):
                return 1
        if a.cls == A_REF and not place_reference(r, a):
            return fault_set(r.fault, FAULT_REFERENCE, IN_INFO, d.offset, d.offset, cython.cast(int64_t, a.v))
    d.seen = seen
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def die_read(r: cython.pointer[Reader], d: cython.pointer[Die]) -> cython.int:
    """Reads the DIE at the cursor. `d.tag` is 0 for a null entry. Nonzero: fault."""
    c: cython.pointer[Cursor] = cython.address(r.c)
    decl: cython.pointer[AbbrevDecl]
    code: uint64_t
    d.offset = cur_tell(c)
    code = cur_uleb(c)
    if code:
        decl = abbrevs_find(r.table, code)
        if decl == cython.NULL:
            return fault_set(r.fault, FAULT_ABBREV_CODE, IN_INFO, d.offset, d.offset, cython.cast(int64_t, code))
        d.tag = decl.tag
        d.children = decl.children
        if run_program(r, d, r.table.ops.p + decl.program):
            return 1
    else:
        d.tag = 0
        d.children = 0
        d.seen = 0
    return bad_data(r, d.offset) if c.bad else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def die_skip_children(r: cython.pointer[Reader], d: cython.pointer[Die]) -> cython.int:
    """Moves past the children of `d`, which has just been read. Overwrites `d`. Nonzero: fault."""
    failed: cython.int
    r.passing = True
    failed = pass_children(r, d)
    r.passing = False
    return failed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_children(r: cython.pointer[Reader], d: cython.pointer[Die]) -> cython.int:
    """Moves past the entry that ends the children of `d`, along DW_AT_sibling where a DIE has it. Most of the others
    are not read either (`pass_tree`). Nonzero: fault.
    """
    depth: uint64_t
    if not d.children:
        return 0
    depth = 1
    while depth:
        if (d.seen >> D_SIBLING) & 1 and d.a[D_SIBLING].cls == A_REF and d.children:
            # A sibling must lie past the DIE; anything else could make the reader go in circles.
            if d.a[D_SIBLING].v <= d.offset or d.a[D_SIBLING].v < cur_tell(cython.address(r.c)):
                return fault_set(
                    r.fault,
                    FAULT_REFERENCE,
                    IN_INFO,
                    d.offset,
                    d.offset,
                    cython.cast(int64_t, d.a[D_SIBLING].v - r.unit),
                )
            r.c.pos = r.c.base + d.a[D_SIBLING].v
            depth -= 1
        r.c.pos = pass_tree(r.table, r.c.pos, r.c.end, cython.address(depth))
        if depth == 0:
            return 0
        if die_next(r, d):
            return 1
        if d.tag == 0:
            depth -= 1
        elif d.children:
            depth += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def text_at(
    r: cython.pointer[Reader],
    section: Span,
    where: cython.int,
    offset: uint64_t,
    die: uint64_t,
    text: cython.pointer[cython.p_const_char],
    size: cython.pointer[cython.size_t],
) -> cython.int:
    """The text at an offset of a section of strings. Nonzero: fault."""
    nul: cython.pointer[cython.const[uint8_t]]
    if offset >= section.n:
        return fault_set(r.fault, FAULT_OFFSET, where, offset, die, cython.cast(int64_t, section.n))
    nul = cython.cast(cython.pointer[cython.const[uint8_t]], memchr(section.p + offset, 0, section.n - offset))
    if nul == cython.NULL:
        return fault_set(r.fault, FAULT_STRING, where, offset, die, 0)
    text[0] = cython.cast(cython.p_const_char, section.p + offset)
    size[0] = nul - (section.p + offset)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def die_string_offset(
    r: cython.pointer[Reader], d: cython.pointer[Die], slot: cython.int, offset: cython.pointer[uint64_t]
) -> cython.int:
    """The offset in .debug_str of a string that is given by its index. Nonzero: fault."""
    c: Cursor
    index: uint64_t = d.a[slot].v
    at: uint64_t = r.str_offsets_base
    if at > r.str_offsets_end or index >= (r.str_offsets_end - at) // r.offset_size:
        return fault_set(r.fault, FAULT_INDEX, IN_STR_OFFSETS, at, d.offset, cython.cast(int64_t, index))
    at += index * r.offset_size
    cur_init(cython.address(c), r.sections.str_offsets.p, at, r.str_offsets_end, r.sections.swap)
    offset[0] = cur_u64(cython.address(c)) if r.offset_size == 8 else cur_u32(cython.address(c))
    if r.split:
        if offset[0] > r.sections.str.n:
            return fault_set(r.fault, FAULT_OFFSET, IN_STR, offset[0], d.offset, cython.cast(int64_t, r.sections.str.n))
        offset[0] += r.str_at
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_root(tag: uint16_t) -> cython.bint:
    return tag == DW_TAG_compile_unit or tag == DW_TAG_partial_unit or tag == DW_TAG_type_unit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def die_string(
    r: cython.pointer[Reader],
    d: cython.pointer[Die],
    slot: cython.int,
    text: cython.pointer[cython.p_const_char],
    size: cython.pointer[cython.size_t],
    transient: cython.pointer[cython.bint],
) -> cython.int:
    """The text of a string attribute; empty if absent or not a string. Nonzero: fault.

    `transient`: the text lies in .debug_info, whose pages are given back after the unit.
    """
    a: cython.pointer[Attr] = cython.address(d.a[slot])
    offset: uint64_t = 0
    size[0] = 0
    text[0] = cython.NULL
    transient[0] = False
    if not (d.seen >> slot) & 1:
        return 0
    if a.cls == A_STRP:
        return text_at(r, r.sections.str, IN_STR, a.v, d.offset, text, size)
    if a.cls == A_STRING:
        text[0] = cython.cast(cython.p_const_char, r.c.base + a.v)
        size[0] = a.size
        transient[0] = True
        return 0
    if a.cls == A_LINE_STRP:
        if r.sections.line_str.n == 0 and is_root(d.tag):
            return 0  # the section went with `.debug_line`; nothing but names of units and folders is in it
        return text_at(r, r.sections.line_str, IN_LINE_STR, a.v, d.offset, text, size)
    if a.cls == A_STRX:
        if die_string_offset(r, d, slot, cython.address(offset)):
            return 1
        return text_at(r, r.sections.str, IN_STR, offset, d.offset, text, size)
    if a.cls == A_STR_ALT:
        return alternate_string(r, d, a.v, text, size)
    if a.cls == A_NESTED:
        return fault_set(r.fault, FAULT_NESTED, IN_INFO, d.offset, d.offset, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def alternate_string(
    r: cython.pointer[Reader],
    d: cython.pointer[Die],
    offset: uint64_t,
    text: cython.pointer[cython.p_const_char],
    size: cython.pointer[cython.size_t],
) -> cython.int:
    """The text at an offset of the alternate file's .debug_str. Nonzero: fault."""
    section: Span
    nul: cython.pointer[cython.const[uint8_t]] = cython.NULL
    if r.alternate:
        return text_at(r, r.sections.str, IN_STR, offset, d.offset, text, size)
    if r.sections.alternate == cython.NULL:
        return fault_set(r.fault, FAULT_ALTERNATE, IN_INFO, d.offset, d.offset, 0)
    section = r.sections.alternate.str
    if offset < section.n:
        nul = cython.cast(cython.pointer[cython.const[uint8_t]], memchr(section.p + offset, 0, section.n - offset))
    if nul == cython.NULL:
        return fault_set(
            r.fault, FAULT_ALTERNATE_STRING, IN_INFO, d.offset, d.offset, cython.cast(int64_t, offset)
        )
    text[0] = cython.cast(cython.p_const_char, section.p + offset)
    size[0] = nul - (section.p + offset)
    return 0
