"""What is said between members and after them: layouts, holes, cache lines, bit-fields of which bits are left out."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many, put_unsigned
from cython.cimports.pybtf.core.show.show_names import put_hex
from cython.cimports.pybtf.core.show.show_summary import put_count
from cython.cimports.pybtf.core.show.show_types import (
    MEETS_BOUNDARY,
    MEETS_BOUNDARY_NEXT,
    MEETS_NEXT,
    MEETS_NOTHING,
    MEETS_PREVIOUS,
    Level,
    MemberLayout,
    Show,
)

MAX_TABS = cython.declare(uint32_t, 16)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_padded(t: cython.pointer[Text], value: uint32_t, width: cython.int) -> cython.void:
    """A number at the right end of a column."""
    digits: cython.int = 1
    rest: uint32_t = value // 10
    while rest:
        digits += 1
        rest //= 10
    if digits < width:
        put_many(t, b" ", width - digits)
    put_unsigned(t, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tabs(t: cython.pointer[Text], level: uint32_t) -> cython.void:
    put_many(t, b"\t", level if level < MAX_TABS else MAX_TABS)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_number(s: cython.pointer[Show], value: uint32_t, width: cython.int) -> cython.void:
    if s.format.hex:
        put_hex(cython.address(s.out), value, width)
    else:
        put_padded(cython.address(s.out), value, width)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_offset(s: cython.pointer[Show], frame: cython.pointer[Level], p: cython.pointer[MemberLayout]) -> cython.void:
    """The comment with offset and size, and the end of the line."""
    t: cython.pointer[Text] = cython.address(s.out)
    put(t, b" /* ")
    put_number(s, frame.base + p.offset, 5)
    if p.bits:
        put_char(t, b":")
        put_number(s, p.bit, 2)
        put_char(t, b" ")
        put_number(s, p.size, 2)
    else:
        put_char(t, b" ")
        put_number(s, p.size, 5)
    put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pad_line(t: cython.pointer[Text], start: cython.size_t, column: cython.int) -> cython.void:
    """Spaces up to a column, which counts from `start`."""
    done: cython.int = cython.cast(cython.int, t.n - start)
    if done < column:
        put_many(t, b" ", column - done)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_cacheline(
    s: cython.pointer[Show],
    frame: cython.pointer[Level],
    p: cython.pointer[MemberLayout],
    blank: cython.pointer[cython.bint],
) -> cython.void:
    """The line that says that a cache line has begun, if one has."""
    t: cython.pointer[Text] = cython.address(s.out)
    at: uint32_t = frame.base + p.offset
    line: uint32_t = at // s.line_size
    if line <= frame.cacheline:
        return
    frame.cacheline = line
    if blank[0]:
        put_char(t, b"\n")
        blank[0] = False
    put_tabs(t, frame.level)
    put(t, b"/* --- cacheline ")
    put_unsigned(t, line)
    put(t, b" boundary (")
    put_unsigned(t, line * s.line_size)
    put(t, b" bytes)")
    if at % s.line_size:
        put(t, b" was ")
        put_count(t, at % s.line_size, b"byte")
        put(t, b" ago")
    put(t, b" --- */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_hole(
    s: cython.pointer[Show], frame: cython.pointer[Level], count: uint32_t, what: cython.p_const_char
) -> cython.void:
    put_tabs(cython.address(s.out), frame.level)
    put(cython.address(s.out), b"/* XXX ")
    put_count(cython.address(s.out), count, what)
    put(cython.address(s.out), b" hole, try to pack */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_gap(
    s: cython.pointer[Show],
    frame: cython.pointer[Level],
    p: cython.pointer[MemberLayout],
    blank: cython.pointer[cython.bint],
) -> cython.void:
    """What is to be said between two members, up to bits that are left out: bits and bytes that nothing uses."""
    t: cython.pointer[Text] = cython.address(s.out)
    boundary: cython.bint = p.meets == MEETS_BOUNDARY or p.meets == MEETS_BOUNDARY_NEXT
    if not s.format.quiet:
        if (p.bit_hole or p.hole) and not blank[0]:
            put_char(t, b"\n")
        if p.bit_hole:
            put_hole(s, frame, p.bit_hole, b"bit")
        if p.hole:
            put_hole(s, frame, p.hole, b"byte")
        if p.bit_hole or p.hole:
            blank[0] = True
        if p.meets != MEETS_NOTHING and not boundary and not blank[0]:
            put_char(t, b"\n")
        blank[0] = blank[0] or p.meets != MEETS_NOTHING
    if boundary:
        put_char(t, b"\n")
        put_tabs(t, frame.level)
        put(t, b"/* Force alignment to the next boundary: */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_combined(
    s: cython.pointer[Show], frame: cython.pointer[Level], p: cython.pointer[MemberLayout]
) -> cython.void:
    """What is said last before a member: bit-fields of other types in the same bytes."""
    t: cython.pointer[Text] = cython.address(s.out)
    if not s.format.quiet and (p.meets == MEETS_NEXT or p.meets == MEETS_BOUNDARY_NEXT):
        put_tabs(t, frame.level)
        put(t, b"/* Bitfield combined with next fields */\n")
    elif not s.format.quiet and p.meets == MEETS_PREVIOUS:
        put_tabs(t, frame.level)
        put(t, b"/* Bitfield combined with previous fields */\n")
