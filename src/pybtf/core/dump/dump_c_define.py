"""Definitions of C: enums, structs and unions, as they stand by themselves or, without a name, in a declaration.

A struct is written with padding where the next member would otherwise not get where it has to be. A name that has
been used already gets a number: the second `struct a` is `struct a___2`.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import KIND_ENUM, KIND_ENUM64, KIND_FWD, KIND_STRUCT, KIND_TYPEDEF, KIND_UNION
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    is_enum,
    kind_flag,
    member_bits,
    member_offset,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_c import C_MEMORY, CDump, c_declaration, c_fail, c_step
from cython.cimports.pybtf.core.dump.dump_c_names import needs_name
from cython.cimports.pybtf.core.dump.dump_layout import alignment_of, is_packed, size_of, widest_bits
from cython.cimports.pybtf.core.dump.dump_names import name_used
from cython.cimports.pybtf.core.dump.text_buffer import (
    Text,
    put,
    put_char,
    put_many,
    put_signed,
    put_unsigned,
)

MAX_INDENT = cython.declare(uint32_t, 13)  # however deep it nests

# Names


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_used(d: cython.pointer[CDump], name: cython.p_const_char, use: uint32_t) -> cython.void:
    put(cython.address(d.out), name)
    if use > 1:
        put(cython.address(d.out), b"___")
        put_unsigned(cython.address(d.out), use)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def nth_use(d: cython.pointer[CDump], id: uint32_t) -> uint32_t:
    """How many types of this name there are up to this one, in the order in which they are written first."""
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    name: cython.p_const_char = view_name(d.v, r[0])
    if d.use[id] == 0 and name[0]:
        if wire_kind(r) == KIND_FWD or (wire_kind(r) == KIND_ENUM and wire_vlen(r) == 0):
            d.use[id] = 1  # declarations can be repeated
        elif wire_kind(r) == KIND_TYPEDEF:
            d.use[id] = name_used(cython.address(d.identifiers), name)
        else:
            d.use[id] = name_used(cython.address(d.tags), name)
        if d.use[id] == 0:
            c_fail(d, C_MEMORY, id)
    return d.use[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_type_name(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """The name of a struct, union, enum or typedef, made different from those that were written before."""
    put_used(d, view_name(d.v, view_record(d.v, id)[0]), nth_use(d, id))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_keyword(d: cython.pointer[CDump], r: cython.pointer[uint32_t]) -> cython.void:
    kind: uint32_t = wire_kind(r)
    if is_enum(kind):
        put(cython.address(d.out), b"enum")
    elif kind == KIND_UNION or (kind == KIND_FWD and kind_flag(r)):
        put(cython.address(d.out), b"union")
    else:
        put(cython.address(d.out), b"struct")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tag(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """`struct NAME`, or what it is."""
    put_keyword(d, view_record(d.v, id))
    put_char(cython.address(d.out), b" ")
    put_type_name(d, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_line(d: cython.pointer[CDump], level: uint32_t) -> cython.void:
    put_char(cython.address(d.out), b"\n")
    put_many(cython.address(d.out), b"\t", level if level < MAX_INDENT else MAX_INDENT)


# Enums


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_enum(d: cython.pointer[CDump], id: uint32_t, level: uint32_t) -> cython.void:
    """The definition, with what C needs to give it its size."""
    t: cython.pointer[Text] = cython.address(d.out)
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    signed: cython.bint = kind_flag(r)
    small: cython.bint = True
    value: uint64_t
    use: uint32_t
    name: cython.p_const_char
    i: uint32_t
    put(t, b"enum")
    if r[0]:
        put_char(t, b" ")
        put_type_name(d, id)
    if wire_vlen(r) == 0:
        return
    put(t, b" {")
    for i in range(wire_vlen(r)):
        if not c_step(d, id):
            return
        name = view_name(d.v, m[0])
        use = name_used(cython.address(d.identifiers), name)
        if use == 0:
            c_fail(d, C_MEMORY, id)
            return
        new_line(d, level + 1)
        put_used(d, name, use)
        put(t, b" = ")
        if wide:
            value = cython.cast(uint64_t, m[2]) << 32 | m[1]
            if signed:
                put_signed(t, cython.cast(int64_t, value))
                put(t, b"LL")
            else:
                put_unsigned(t, value)
                put(t, b"ULL")
            small = small and m[2] == 0
        elif signed:
            put_signed(t, cython.cast(int32_t, m[1]))
        else:
            put_unsigned(t, m[1])
        put_char(t, b",")
        m += 3 if wide else 2
    new_line(d, level)
    put_char(t, b"}")
    if r[2] == 1:
        put(t, b" __attribute__((mode(byte)))")
    elif r[2] == 8 and d.v.pointer_size == 8 and small:
        put(t, b" __attribute__((mode(word)))")


# Structs and unions


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pad_bits(d: cython.pointer[CDump], index: cython.int) -> uint32_t:
    """Widths of the types that padding is made of, the largest first."""
    if index == 0:
        return 8 * d.v.pointer_size
    return 32 >> (index - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_pad(d: cython.pointer[CDump], index: cython.int, bits: int64_t, level: uint32_t) -> cython.void:
    """A bit-field without a name."""
    t: cython.pointer[Text] = cython.address(d.out)
    new_line(d, level)
    if index == 0:
        put(t, b"long: ")
    elif index == 1:
        put(t, b"int: ")
    elif index == 2:
        put(t, b"short: ")
    else:
        put(t, b"char: ")
    put_signed(t, bits)
    put_char(t, b";")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def aligned(offset: int64_t, to: int64_t) -> int64_t:
    return (offset + to - 1) // to * to


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_padding(
    d: cython.pointer[CDump], offset: int64_t, next: int64_t, alignment: uint32_t, in_bits: cython.bint, level: uint32_t
) -> cython.void:
    """What has to stand between a member that ends at `offset` and the next, at `next` (both in bits).

    The compiler aligns the next member by itself. Where that is not enough, a bit-field of no width (`long: 0`) closes
    a unit of its type, and others fill whole units.
    """
    index: cython.int = 0
    bits: int64_t
    to: int64_t
    if offset >= next:
        return
    # The largest type that has a boundary between the two.
    while True:
        bits = pad_bits(d, index)
        to = aligned(offset, bits)
        if to <= next or index == 3:
            break
        index += 1
    if offset < to <= next:
        if (
            in_bits
            or (to == next and aligned(offset, 8 * cython.cast(int64_t, alignment if alignment else 1)) != to)
            or (to != next and next - to <= to - offset)
        ):
            put_pad(d, index, to - offset if in_bits else 0, level)
        offset = to
    while offset < next and d.out.status == 0:
        if next - offset >= bits:
            put_pad(d, index, bits, level)
            offset += bits
            continue
        index = 3
        while pad_bits(d, index) < next - offset:
            index -= 1
        put_pad(d, index, next - offset, level)
        offset = next


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_composite(d: cython.pointer[CDump], id: uint32_t, level: uint32_t) -> cython.void:
    """The definition of a struct or union."""
    t: cython.pointer[Text] = cython.address(d.out)
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    packed: cython.bint = is_struct and is_packed(d, id)
    in_bits: cython.bint = False
    offset: int64_t = 0
    at: int64_t
    bits: uint32_t
    name: cython.p_const_char
    i: uint32_t
    put_keyword(d, r)
    if r[0]:
        put_char(t, b" ")
        put_type_name(d, id)
    put(t, b" {")
    for i in range(wire_vlen(r)):
        if d.status:
            return
        bits = member_bits(r, m)
        at = member_offset(r, m)
        put_padding(
            d, offset, at, 1 if packed else alignment_of(d, m[1]), bits and in_bits, level + 1
        )  # fmt: skip
        new_line(d, level + 1)
        name = view_name(d.v, m[0])
        d.unlike |= name[0] == 0 and needs_name(d.v, m[1])
        c_declaration(d, m[1], name, 1, level + 1)
        if bits:
            put(t, b": ")
            put_unsigned(t, bits)
            offset = at + bits
            d.unlike |= bits > widest_bits(d, m[1])
        else:
            offset = at + 8 * size_of(d, m[1])
        in_bits = bits != 0
        put_char(t, b";")
        m += 3
    if is_struct:
        put_padding(
            d, offset, 8 * cython.cast(int64_t, r[2]), 1 if packed else alignment_of(d, id), False, level + 1
        )  # fmt: skip
    if wire_vlen(r) or r[2]:
        new_line(d, level)
    put_char(t, b"}")
    if packed:
        put(t, b" __attribute__((packed))")
