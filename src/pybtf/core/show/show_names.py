"""Types by their names, with the spaces that pahole puts between the words; enumerators in columns."""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.libc.string import strlen
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VOLATILE,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    is_composite,
    is_enum,
    is_modifier,
    kind_flag,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many, put_signed, put_unsigned
from cython.cimports.pybtf.core.show.show_types import SHOW_MAX_CHAIN, Show, show_enter, show_step

INT_SIZE = cython.declare(uint32_t, 4)  # an enum that has another size must have been packed, pahole says


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_qualifier(t: cython.pointer[Text], kind: uint32_t) -> cython.void:
    if kind == KIND_CONST:
        put(t, b"const")
    elif kind == KIND_VOLATILE:
        put(t, b"volatile")
    elif kind == KIND_RESTRICT:
        put(t, b"restrict")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_modified(s: cython.pointer[Show], id: uint32_t, pointed_to: cython.bint) -> cython.void:
    """A qualified type. `const` stands after a pointer that is pointed to, `restrict` after everything, and in front
    of all else is the qualifier.
    """
    t: cython.pointer[Text] = cython.address(s.out)
    kind: uint32_t = wire_kind(view_record(s.v, id))
    of: uint32_t = view_record(s.v, id)[2]
    if kind == KIND_RESTRICT:
        put_type(s, of)
        put(t, b" restrict ")
        return
    if kind == KIND_CONST and pointed_to and is_pointer(s, of):
        put_type(s, of)
        put(t, b" const")
        return
    put_qualifier(t, kind)
    put_char(t, b" ")
    put_type(s, of)
    put_char(t, b" ")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_qualifier(s: cython.pointer[Show], id: uint32_t, kind: uint32_t) -> cython.bint:
    """Whether the type has this qualifier; of an array, whether its elements have it."""
    steps: uint32_t = 0
    found: uint32_t
    while id and steps < SHOW_MAX_CHAIN:
        found = wire_kind(view_record(s.v, id))
        if found == kind:
            return True
        if found != KIND_ARRAY and found != KIND_TYPE_TAG and not is_modifier(found):
            return False
        id = view_record(s.v, id)[3 if found == KIND_ARRAY else 2]
        steps += 1
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_array_qualifiers(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """The qualifiers in front of an array that are not those of its elements as well. Returns the array, or `id`."""
    of: uint32_t = id
    steps: uint32_t = 0
    kind: uint32_t
    while of and steps < SHOW_MAX_CHAIN:
        kind = wire_kind(view_record(s.v, of))
        if kind != KIND_TYPE_TAG and not is_modifier(kind):
            break
        of = view_record(s.v, of)[2]
        steps += 1
    if of == 0 or wire_kind(view_record(s.v, of)) != KIND_ARRAY:
        return id
    while id != of:
        kind = wire_kind(view_record(s.v, id))
        if kind != KIND_TYPE_TAG and not has_qualifier(s, view_record(s.v, id)[2], kind):
            put_qualifier(cython.address(s.out), kind)
            put_char(cython.address(s.out), b" ")
        id = view_record(s.v, id)[2]
    return of


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_pointer(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    return id != 0 and wire_kind(view_record(s.v, id)) == KIND_PTR


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_pointer(s: cython.pointer[Show], to: uint32_t) -> cython.void:
    """A pointer; there are two spaces after what is qualified."""
    t: cython.pointer[Text] = cython.address(s.out)
    of: uint32_t = behind_tags(s, to)
    if of and is_modifier(wire_kind(view_record(s.v, of))):
        put_modified(s, of, of == to)
        put(t, b" *")
    else:
        put_type(s, to)
        put(t, b" *")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_outermost(s: cython.pointer[Show], id: uint32_t) -> cython.void:
    """The type of a member. In front of its name there is one space, whatever it is."""
    of: uint32_t = behind_tags(s, id)
    put_type(s, id)
    if of and wire_kind(view_record(s.v, of)) == KIND_CONST and s.out.n:
        s.out.n -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_type(s: cython.pointer[Show], id: uint32_t) -> cython.void:
    """The name of a type, as it stands in front of a member or among parameters."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t]
    kind: uint32_t
    if id == 0:
        put(t, b"void")
        return
    if not show_enter(s, id):
        return
    r = view_record(s.v, id)
    kind = wire_kind(r)
    if kind == KIND_PTR:
        put_pointer(s, r[2])
    elif is_modifier(kind):
        put_modified(s, id, False)
    elif kind == KIND_TYPE_TAG:
        put_type(s, r[2])
    elif kind == KIND_ARRAY:
        put_type(s, r[3])
    elif kind == KIND_FUNC_PROTO:
        put_type(s, r[2])
        put(t, b" ()")
        put_parameters(s, id)
    else:
        if is_composite(kind) or kind == KIND_FWD:
            put(t, b"union" if kind == KIND_UNION or (kind == KIND_FWD and kind_flag(r)) else b"struct")
            put_char(t, b" ")
        elif is_enum(kind):
            put(t, b"enum ")
        elif kind == KIND_FLOAT:
            put(t, b"single ")  # as pahole calls all of them
        put(t, view_name(s.v, r[0]))
    s.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def behind_tags(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    steps: uint32_t = 0
    while id and wire_kind(view_record(s.v, id)) == KIND_TYPE_TAG and steps < 64:
        id = view_record(s.v, id)[2]
        steps += 1
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_parameter(s: cython.pointer[Show], id: uint32_t, name: cython.p_const_char) -> cython.void:
    """A parameter. Only there a pointer to a function is written as C has it, with the name inside."""
    t: cython.pointer[Text] = cython.address(s.out)
    of: uint32_t = view_record(s.v, id)[2] if is_pointer(s, id) else 0
    if of == 0 or wire_kind(view_record(s.v, of)) != KIND_FUNC_PROTO:
        put_type(s, id)
        if name[0]:
            put_char(t, b" ")
            put(t, name)
    elif show_enter(s, id):
        put_type(s, view_record(s.v, of)[2])
        put(t, b" (*")
        put(t, name)
        put_char(t, b")")
        put_parameters(s, of)
        s.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_parameters(s: cython.pointer[Show], id: uint32_t) -> cython.void:
    """The parameters of a prototype, with their names if they have any."""
    put_tagged_parameters(s, id, cython.NULL, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tagged_parameters(
    s: cython.pointer[Show], id: uint32_t, tags: cython.pointer[cython.const[uint32_t]], n_tags: uint32_t
) -> cython.void:
    """As `put_parameters`, with tags in front: ids of DECL_TAGs, in the order of the parameters that they are on."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    count: uint32_t = wire_vlen(r)
    i: uint32_t
    put_char(t, b"(")
    if count == 0 or (count == 1 and r[4] == 0):  # `(...)` as well
        put(t, b"void")
        count = 0
    for i in range(count):
        if not show_step(s, id):
            return
        if i:
            put(t, b", ")
        while n_tags and view_record(s.v, tags[0])[3] == i:
            put(t, view_name(s.v, view_record(s.v, tags[0])[0]))
            put_char(t, b" ")
            tags += 1
            n_tags -= 1
        if r[4 + 2 * i] == 0 and i == count - 1:
            put(t, b"...")
            break
        put_parameter(s, r[4 + 2 * i], view_name(s.v, r[3 + 2 * i]))
    put_char(t, b")")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_hex(t: cython.pointer[Text], value: uint64_t, width: cython.int) -> cython.void:
    """A hexadecimal number at the right end of a column, with `0x` in front of it if it is not zero."""
    symbols: cython.p_const_char = b"0123456789abcdef"
    digits: cython.int = 0
    rest: uint64_t = value
    while rest:
        digits += 1
        rest >>= 4
    put_many(t, b" ", max(0, width - (digits + 2 if digits else 1)))
    if digits == 0:
        put_char(t, b"0")
        return
    put(t, b"0x")
    while digits:
        digits -= 1
        rest = (value >> (4 * digits)) & 15
        put_char(t, symbols[rest])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_enum(s: cython.pointer[Show], id: uint32_t, level: uint32_t) -> cython.void:
    """The keyword, the name and the enumerators, up to the closing brace."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    m: cython.pointer[uint32_t]
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    step: uint32_t = 3 if wide else 2
    longest: cython.size_t = 0
    length: cython.size_t
    value: uint64_t
    i: uint32_t
    m = r + 3
    for i in range(wire_vlen(r)):
        length = strlen(view_name(s.v, m[0]))
        if length > longest:
            longest = length
        m += step
    put(t, b"enum ")
    if r[0]:
        put(t, view_name(s.v, r[0]))
        put_char(t, b" ")
    put(t, b"{\n")
    m = r + 3
    for i in range(wire_vlen(r)):
        if not show_step(s, id):
            return
        put_many(t, b"\t", level + 1)
        length = strlen(view_name(s.v, m[0]))
        put(t, view_name(s.v, m[0]))
        put_many(t, b" ", longest - length)
        put(t, b" = ")
        value = m[1]
        if wide:
            value |= cython.cast(uint64_t, m[2]) << 32
        if s.format.hex:
            if kind_flag(r) and not wide:
                value = cython.cast(uint64_t, cython.cast(int64_t, cython.cast(int32_t, m[1])))
            put_hex(t, value, 0)
        elif not kind_flag(r):
            put_unsigned(t, value)
        elif wide:
            put_signed(t, cython.cast(int64_t, value))
        else:
            put_signed(t, cython.cast(int32_t, m[1]))
        put(t, b",\n")
        m += step
    put_many(t, b"\t", level)
    put_char(t, b"}")
    if r[2] != INT_SIZE:
        put(t, b" __attribute__((__packed__))")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_typedefs(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """A comment with the names of typedefs. Returns what is after them."""
    t: cython.pointer[Text] = cython.address(s.out)
    steps: uint32_t = 0
    while id and wire_kind(view_record(s.v, id)) == KIND_TYPEDEF and show_step(s, id) and steps < SHOW_MAX_CHAIN:
        put(t, b" -> " if steps else b"/* typedef ")
        put(t, view_name(s.v, view_record(s.v, id)[0]))
        id = view_record(s.v, id)[2]
        steps += 1
    if steps:
        put(t, b" */ ")
    return id
