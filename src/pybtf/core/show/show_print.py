"""Structs and unions with offsets, sizes, holes and cache lines."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_PTR,
    KIND_STRUCT,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import is_composite, is_enum, is_modifier, view_name, view_record
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many, put_unsigned
from cython.cimports.pybtf.core.show.show_layout import facts_of, study
from cython.cimports.pybtf.core.show.show_names import put_enum, put_outermost, put_parameters, put_qualifier, put_type
from cython.cimports.pybtf.core.show.show_print import (
    NAME_COLUMN,
    TYPE_COLUMN,
    UNION_NAME_COLUMN,
    Frame,
)
from cython.cimports.pybtf.core.show.show_summary import put_after, put_align, put_count, put_summary
from cython.cimports.pybtf.core.show.show_types import (
    CACHELINE,
    MEETS_BOUNDARY,
    MEETS_NEXT,
    MEETS_NOTHING,
    MEETS_PREVIOUS,
    MEETS_UNIT,
    SHOW_MAX_CHAIN,
    SHOW_MEMORY,
    Facts,
    Place,
    Show,
    show_enter,
    show_fail,
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
        put_many(t, 32, width - digits)
    put_unsigned(t, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tabs(t: cython.pointer[Text], level: uint32_t) -> cython.void:
    put_many(t, 9, level if level < MAX_TABS else MAX_TABS)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_hex(t: cython.pointer[Text], value: uint32_t, width: cython.int) -> cython.void:
    """As `put_padded`, with `0x` in front of what is not zero."""
    digits: cython.int = 0
    rest: uint32_t = value
    while rest:
        digits += 1
        rest >>= 4
    put_many(t, 32, max(0, width - (digits + 2 if digits else 1)))
    if digits == 0:
        put_char(t, 48)
        return
    put(t, b"0x")
    while digits:
        digits -= 1
        rest = (value >> (4 * digits)) & 15
        put_char(t, rest + (48 if rest < 10 else 87))


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
def put_place(s: cython.pointer[Show], frame: cython.pointer[Frame], p: cython.pointer[Place]) -> cython.void:
    """The comment with offset and size, and the end of the line."""
    t: cython.pointer[Text] = cython.address(s.out)
    put(t, b" /* ")
    put_number(s, frame.base + p.offset, 5)
    if p.bits:
        put_char(t, 58)
        put_number(s, p.bit, 2)
        put_char(t, 32)
        put_number(s, p.size, 2)
    else:
        put_char(t, 32)
        put_number(s, p.size, 5)
    put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pad_line(t: cython.pointer[Text], start: cython.size_t, column: cython.int) -> cython.void:
    """Spaces up to a column, which counts from `start`."""
    done: cython.int = cython.cast(cython.int, t.n - start)
    if done < column:
        put_many(t, 32, column - done)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_cacheline(
    s: cython.pointer[Show], frame: cython.pointer[Frame], p: cython.pointer[Place], blank: cython.pointer[cython.bint]
) -> cython.void:
    """The line that says that a cache line has begun, if one has."""
    t: cython.pointer[Text] = cython.address(s.out)
    at: uint32_t = frame.base + p.offset
    line: uint32_t = at // CACHELINE
    if line <= frame.cacheline:
        return
    frame.cacheline = line
    if blank[0]:
        put_char(t, 10)
        blank[0] = False
    put_tabs(t, frame.level)
    put(t, b"/* --- cacheline ")
    put_unsigned(t, line)
    put(t, b" boundary (")
    put_unsigned(t, line * CACHELINE)
    put(t, b" bytes)")
    if at % CACHELINE:
        put(t, b" was ")
        put_count(t, at % CACHELINE, b"byte")
        put(t, b" ago")
    put(t, b" --- */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_dimensions(s: cython.pointer[Show], id: uint32_t, flexible: cython.bint) -> uint32_t:
    """What stands behind the name of an array. Returns the type of the elements."""
    t: cython.pointer[Text] = cython.address(s.out)
    steps: uint32_t = 0
    while id and wire_kind(view_record(s.v, id)) == KIND_ARRAY and steps < SHOW_MAX_CHAIN:
        put_char(t, 91)
        if view_record(s.v, id)[5] or not flexible:
            put_unsigned(t, view_record(s.v, id)[5])
        put_char(t, 93)
        id = view_record(s.v, id)[3]
        steps += 1
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def behind_modifiers(s: cython.pointer[Show], id: uint32_t, steps: cython.pointer[uint32_t]) -> uint32_t:
    steps[0] = 0
    while id and is_modifier(wire_kind(view_record(s.v, id))) and steps[0] < SHOW_MAX_CHAIN:
        id = view_record(s.v, id)[2]
        steps[0] += 1
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def element_of(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """The type of the elements, if the type itself is an array."""
    steps: uint32_t = 0
    while id and wire_kind(view_record(s.v, id)) == KIND_ARRAY and steps < SHOW_MAX_CHAIN:
        id = view_record(s.v, id)[3]
        steps += 1
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_qualifiers(s: cython.pointer[Show], id: uint32_t, count: uint32_t) -> cython.void:
    while count:
        put_qualifier(cython.address(s.out), wire_kind(view_record(s.v, id)))
        put_char(cython.address(s.out), 32)
        id = view_record(s.v, id)[2]
        count -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_member(
    s: cython.pointer[Show], frame: cython.pointer[Frame], m: cython.pointer[uint32_t], p: cython.pointer[Place],
    in_union: cython.bint
) -> cython.void:  # fmt: skip
    """One member, with all that is inside it if it is a struct, union or enum without a name."""
    t: cython.pointer[Text] = cython.address(s.out)
    name: cython.p_const_char = view_name(s.v, m[0])
    start: cython.size_t
    uncounted: cython.size_t = 0
    before: cython.size_t
    outer: uint32_t = 0
    array: uint32_t = behind_modifiers(s, m[1], cython.address(outer))
    element: uint32_t
    stars: uint32_t = 0
    qualifiers: uint32_t = 0
    end: uint32_t
    by_pointer: cython.bint = False
    only_const: cython.bint = True  # of qualifiers
    closing: cython.bint = False  # a brace
    direct: cython.bint  # neither a pointer nor an array: alignment stands behind the brace, otherwise behind the name
    narrower: cython.int
    inner = cython.declare(Frame)
    f: cython.pointer[Facts] = cython.NULL
    r: cython.pointer[uint32_t] = cython.NULL
    if array == 0 or wire_kind(view_record(s.v, array)) != KIND_ARRAY:
        array = m[1]
        outer = 0
    elif view_record(s.v, array)[5] == 0:
        outer = 0
    element = end = element_of(s, array)
    while end and is_modifier(wire_kind(view_record(s.v, end))) and qualifiers < 16:
        if wire_kind(view_record(s.v, end)) != KIND_CONST:
            only_const = False
        end = view_record(s.v, end)[2]
        qualifiers += 1
    while end and wire_kind(view_record(s.v, end)) == KIND_PTR and stars < 16:
        end = view_record(s.v, end)[2]
        stars += 1
    direct = element == m[1] and stars == 0
    put_tabs(t, frame.level)
    start = t.n
    if end:
        r = view_record(s.v, end)
    if r != cython.NULL and wire_kind(r) == KIND_FUNC_PROTO and stars == 1 and only_const:
        put_qualifiers(s, element, qualifiers)
        put_type(s, r[2])
        pad_line(t, start, abs(frame.type_column))
        put(t, b" (")
        put_many(t, 42, stars)
        put(t, name)
        put_dimensions(s, array, frame.flexible)
        put_char(t, 41)
        put_parameters(s, end)
    elif r != cython.NULL and r[0] == 0 and stars < 2 and (is_composite(wire_kind(r)) or is_enum(wire_kind(r))):
        put_qualifiers(s, element, qualifiers)
        if is_enum(wire_kind(r)):
            put_enum(s, end, frame.level)
            start = t.n - 1
        else:
            by_pointer = stars or qualifiers or element != m[1]
            inner = frame[0]
            inner.level += 1
            inner.in_union = frame.in_union or in_union
            narrower = 8 + (8 if stars else 0) + cython.cast(cython.int, t.n - start)
            inner.type_column -= narrower
            inner.comment_column -= narrower
            if stars:
                inner.base = 0
                inner.cacheline = 0
            else:
                inner.base += p.offset
            put_composite(s, end, cython.address(inner), qualifiers != 0)
            if not in_union and not stars:
                frame.cacheline = inner.cacheline
            start = t.n - 1
            f = facts_of(s, end)
            uncounted = put_tail(s, f, direct)
        closing = True
        if (name[0] and not qualifiers) or stars:
            put_char(t, 32)
        while stars:
            put(t, b"* ")
            stars -= 1
        if not qualifiers:
            put(t, name)
        if not direct and f != cython.NULL and f.align:
            put_align(t, f.align)
        put_dimensions(s, array, frame.flexible)
    else:
        put_qualifiers(s, m[1], outer)
        put_outermost(s, element)
        pad_line(t, start, abs(frame.type_column))
        put_char(t, 32)
        put(t, name)
        put_dimensions(s, array, frame.flexible)
    if p.bits:
        before = t.n
        put_char(t, 58)
        put_unsigned(t, p.bits)
        if r != cython.NULL and is_enum(wire_kind(r)) and r[0] == 0:
            uncounted += t.n - before
    if p.align:
        put_align(t, p.align)
    put_char(t, 59)
    if closing and not by_pointer:
        put_many(t, 32, abs(frame.comment_column + 1 - cython.cast(cython.int, t.n - start - uncounted)) - 1)
    elif not by_pointer:
        pad_line(t, start, frame.comment_column)
    put_place(s, frame, p)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tail(s: cython.pointer[Show], f: cython.pointer[Facts], aligned: cython.bint) -> cython.size_t:
    """The attributes behind the closing brace. Returns how many characters have no place in the column."""
    before: cython.size_t
    if f == cython.NULL:
        return 0
    if f.packed:
        put(cython.address(s.out), b" __attribute__((__packed__))")
    before = s.out.n
    if f.align and aligned:
        put_align(cython.address(s.out), f.align)
    return s.out.n - before


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_gap(
    s: cython.pointer[Show], frame: cython.pointer[Frame], m: cython.pointer[uint32_t], p: cython.pointer[Place],
    blank: cython.pointer[cython.bint]
) -> cython.void:  # fmt: skip
    """What is to be said between two members: bits and bytes that nothing uses, bit-fields of other types."""
    t: cython.pointer[Text] = cython.address(s.out)
    start: cython.size_t
    if p.bit_hole or p.hole:
        if not blank[0]:
            put_char(t, 10)
        if p.bit_hole:
            put_tabs(t, frame.level)
            put(t, b"/* XXX ")
            put_count(t, p.bit_hole, b"bit")
            put(t, b" hole, try to pack */\n")
        if p.hole:
            put_tabs(t, frame.level)
            put(t, b"/* XXX ")
            put_count(t, p.hole, b"byte")
            put(t, b" hole, try to pack */\n")
        blank[0] = True
    if p.meets == MEETS_NOTHING:
        return
    if not blank[0] or p.meets == MEETS_BOUNDARY:
        put_char(t, 10)
    blank[0] = True
    put_tabs(t, frame.level)
    if p.meets == MEETS_PREVIOUS:
        put(t, b"/* Bitfield combined with previous fields */\n")
        return
    if p.meets == MEETS_NEXT:
        put(t, b"/* Bitfield combined with next fields */\n")
        return
    if p.meets == MEETS_BOUNDARY:
        put(t, b"/* Force alignment to the next boundary: */\n")
        put_tabs(t, frame.level)
    start = t.n
    put_type(s, m[1])
    pad_line(t, start, abs(frame.type_column))
    put(t, b" :")
    put_unsigned(t, p.bit_hole if p.meets == MEETS_UNIT else 0)
    put(t, b";\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_composite(
    s: cython.pointer[Show], id: uint32_t, frame: cython.pointer[Frame], outermost: cython.bint
) -> cython.void:
    """The keyword, the name and the members, up to the closing brace. Of the outermost struct also the summary."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    m: cython.pointer[uint32_t] = r + 3
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    count: uint32_t = wire_vlen(r)
    i: uint32_t
    blank: cython.bint = False  # an empty line is due
    cacheline: uint32_t = frame.cacheline
    f = cython.declare(Facts)
    places: cython.pointer[Place]
    if not show_enter(s, id):
        return
    if facts_of(s, id) == cython.NULL:
        return
    places = cython.cast(cython.pointer[Place], calloc(count + 1, cython.sizeof(Place)))
    if places == cython.NULL:
        show_fail(s, SHOW_MEMORY, id)
        return
    study(s, id, cython.address(f), places)
    put(t, b"struct " if is_struct else b"union ")
    if r[0]:
        put(t, view_name(s.v, r[0]))
        put_char(t, 32)
    put(t, b"{\n")
    for i in range(count):
        if s.status:
            break
        if is_struct:
            put_gap(s, frame, m, places + i, cython.address(blank))
            put_cacheline(s, frame, places + i, cython.address(blank))
        else:
            frame.cacheline = cacheline
        if blank:
            put_char(t, 10)
            blank = False
        frame.flexible = is_struct and not frame.in_union and i and i == count - 1
        put_member(s, frame, m, places + i, not is_struct)
        if is_struct:
            blank = put_after(s, m[1], frame.level)
        m += 3
    if outermost and is_struct:
        put_summary(s, r, cython.address(f), frame.level, frame.base)
    free(places)
    put_tabs(t, frame.level - 1)
    put_char(t, 125)
    s.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_definition(s: cython.pointer[Show], id: uint32_t) -> cython.void:
    """A type as it stands by itself."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    frame = cython.declare(Frame)
    frame.level = 1
    frame.type_column = TYPE_COLUMN
    frame.base = 0
    frame.cacheline = 0
    frame.in_union = False
    if is_composite(wire_kind(r)):
        frame.comment_column = TYPE_COLUMN + 1 + (UNION_NAME_COLUMN if wire_kind(r) == KIND_UNION else NAME_COLUMN)
        put_composite(s, id, cython.address(frame), True)
        put_tail(s, facts_of(s, id), True)
        put(t, b";\n")
    elif is_enum(wire_kind(r)):
        put_enum(s, id, 0)
        put(t, b";\n")
    elif wire_kind(r) == KIND_TYPEDEF:
        put(t, b"typedef ")
        put_typedef(s, r, cython.address(frame))
    elif wire_kind(r) == KIND_FUNC:
        if r[2] and wire_kind(view_record(s.v, r[2])) == KIND_FUNC_PROTO:
            put_type(s, view_record(s.v, r[2])[2])
            put_char(t, 32)
            put(t, view_name(s.v, r[0]))
            put_parameters(s, r[2])
        else:
            put_declaration(s, r[2], view_name(s.v, r[0]))
        put(t, b";\n")
    elif wire_kind(r) == KIND_VAR:
        put_declaration(s, r[2], view_name(s.v, r[0]))
        put(t, b";\n")
    elif wire_kind(r) == KIND_FWD:
        put_type(s, id)
        put(t, b";\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_declaration(s: cython.pointer[Show], id: uint32_t, name: cython.p_const_char) -> cython.void:
    """A name with its type: a pointer to a function, an array, or anything else."""
    t: cython.pointer[Text] = cython.address(s.out)
    steps: uint32_t = 0
    element: uint32_t = element_of(s, id)
    end: uint32_t = element
    while end and wire_kind(view_record(s.v, end)) == KIND_PTR and steps < 16:
        end = view_record(s.v, end)[2]
        steps += 1
    if end and wire_kind(view_record(s.v, end)) == KIND_FUNC_PROTO and steps < 2:
        put_type(s, view_record(s.v, end)[2])
        put(t, b" (")
        put_many(t, 42, steps)
        put(t, name)
        put_dimensions(s, id, False)
        put_char(t, 41)
        put_parameters(s, end)
        return
    put_type(s, element)
    put_char(t, 32)
    put(t, name)
    put_dimensions(s, id, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_typedef(s: cython.pointer[Show], r: cython.pointer[uint32_t], frame: cython.pointer[Frame]) -> cython.void:
    """What follows the keyword. What a typedef names is printed with it, if it has no name of its own."""
    t: cython.pointer[Text] = cython.address(s.out)
    name: cython.p_const_char = view_name(s.v, r[0])
    of: cython.pointer[uint32_t]
    start: cython.size_t = t.n
    if r[2] == 0:
        put(t, b"void ")
        put(t, name)
        put(t, b";\n")
        return
    of = view_record(s.v, r[2])
    if is_composite(wire_kind(of)) and of[0] == 0:
        frame.type_column -= 8
        frame.comment_column = frame.type_column + 1 + NAME_COLUMN
        put_composite(s, r[2], frame, True)
        put_tail(s, facts_of(s, r[2]), True)
        put_char(t, 32)
        put(t, name)
    elif is_enum(wire_kind(of)) and of[0] == 0:
        put_enum(s, r[2], 0)
        put_char(t, 32)
        put(t, name)
    elif wire_kind(of) == KIND_UNION:
        put_type(s, r[2])
        pad_line(t, start, TYPE_COLUMN)
        put_char(t, 32)
        put(t, name)
    else:
        put_declaration(s, r[2], name)
    put(t, b";\n")
