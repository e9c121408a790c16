"""Records one by one, as a kernel goes through them first: each for itself, without a look at what it refers to.

A kernel stops at the first defect. Here the next record is looked at, as long as it is known where that begins: not
after a kind that nobody knows, nor after one that reaches past the end.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.accept.accept import (
    INFO_BITS_412,
    INFO_BITS_500,
    INFO_BITS_513,
    INT_UNUSED,
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VAR,
    NOTHING,
    R_ARRAY_ELEM,
    R_ARRAY_INDEX,
    R_ARRAY_SIZE,
    R_ENUM_NAME,
    R_ENUM_NAME_OFFSET,
    R_ENUM_SIZE,
    R_FLAG,
    R_FLOAT_SIZE,
    R_FUNC_LINKAGE,
    R_FWD_TYPE,
    R_HEAD,
    R_INFO,
    R_INT_DATA,
    R_INT_ENCODING,
    R_INT_SIZE,
    R_INT_WIDE,
    R_KIND,
    R_MEMBER_NAME,
    R_MEMBER_NAME_OFFSET,
    R_MEMBER_OFFSET,
    R_MEMBER_ORDER,
    R_MEMBER_VOID,
    R_NAME_BAD,
    R_NAME_NEEDED,
    R_NAME_NONE,
    R_NAME_OFFSET,
    R_NAME_SECTION,
    R_SEC_EMPTY,
    R_SEC_END,
    R_SEC_ENTRY,
    R_SEC_OFFSET,
    R_SEC_SIZE,
    R_SEC_SUM,
    R_SEC_TYPE,
    R_SURPLUS,
    R_TAG_COMPONENT,
    R_TAG_NAME,
    R_TAG_VALUE,
    R_TAIL,
    R_TYPE_ID,
    R_VAR_LINKAGE,
    R_VLEN,
    Layer,
    add,
    bytes_of_bits,
    max_kind,
    text_of,
    vlen_of,
    wire_each,
    wire_fixed,
)
from cython.cimports.pybtf.core.accept.accept_names import is_identifier, is_printable
from cython.cimports.pybtf.core.btf.kinds import INT_BOOL, INT_CHAR, INT_SIGNED

MAX_TYPES = cython.declare(uint32_t, 0xFFFFF)  # ids are below: the last is 1,048,574


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_name(y: cython.pointer[cython.const[Layer]], offset: uint32_t) -> cython.bint:
    """Whether the offset of a name is within the strings."""
    return offset <= (0xFFFFFF if y.version >= 504 else 0xFFFF) and offset < y.text_end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def info_mask(version: uint32_t) -> uint32_t:
    """The bits of the second word that may be set."""
    if version < 500:
        return INFO_BITS_412
    if version < 513:
        return INFO_BITS_500
    if version < 702:
        return INFO_BITS_513
    return NOTHING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def flag_free(kind: uint32_t, version: uint32_t) -> cython.bint:
    """Whether the flag of a kind may be set."""
    if kind == KIND_ENUM:
        return version >= 600
    if kind == KIND_DECL_TAG or kind == KIND_TYPE_TAG:
        return version >= 615
    return kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FWD or kind == KIND_ENUM64


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_name(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t, offset: uint32_t) -> cython.void:
    """The name of a type, whose offset is within the strings."""
    if kind == KIND_TYPEDEF or kind == KIND_FWD or kind == KIND_FUNC or kind == KIND_VAR:
        if offset == 0:
            add(y, R_NAME_NEEDED, id, 0, 0)
        elif not is_identifier(y, offset, kind == KIND_VAR):
            add(y, R_NAME_BAD, id, 0, offset)
    elif kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_ENUM or kind == KIND_ENUM64:
        if offset and not is_identifier(y, offset, False):
            add(y, R_NAME_BAD, id, 0, offset)
    elif kind == KIND_DATASEC:
        if offset == 0:
            add(y, R_NAME_SECTION, id, 0, 0)
        elif not (is_printable(y, offset) if y.version >= 609 else is_identifier(y, offset, True)):
            add(y, R_NAME_SECTION, id, 0, offset)
    elif kind == KIND_TYPE_TAG:
        if text_of(y, offset)[0] == 0:
            add(y, R_TAG_NAME, id, 0, offset)
    elif kind == KIND_DECL_TAG:
        if text_of(y, offset)[0] == 0:
            add(y, R_TAG_VALUE, id, 0, offset)
    elif kind != KIND_INT and kind != KIND_FLOAT and offset:
        add(y, R_NAME_NONE, id, 0, offset)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_int(y: cython.pointer[Layer], id: uint32_t, r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    data: uint32_t = r[3]
    bits: uint32_t = (data & 0xFF) + (data >> 16 & 0xFF)
    encoding: uint32_t = data >> 24 & 0xF
    if data & INT_UNUSED:
        add(y, R_INT_DATA, id, 0, data)
    if bits > cython.cast(uint32_t, 128 if y.version >= 501 else 64):
        add(y, R_INT_WIDE, id, 0, bits)
    elif bytes_of_bits(bits) > r[2]:
        add(y, R_INT_SIZE, id, 0, bits)
    if encoding != 0 and encoding != INT_SIGNED and encoding != INT_CHAR and encoding != INT_BOOL:
        add(y, R_INT_ENCODING, id, 0, encoding)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_members(
    y: cython.pointer[Layer], id: uint32_t, kind: uint32_t, r: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    """Names, ids and the order of offsets, which a record tells by itself. That a member ends within the struct
    depends on its type, and is looked at with that (accept_members.py).
    """
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    i: uint32_t
    offset: uint32_t
    before: uint32_t = 0
    for i in range(vlen_of(y, r)):
        offset = m[2] & 0xFFFFFF if r[1] >> 31 else m[2]
        if not has_name(y, m[0]):
            add(y, R_MEMBER_NAME_OFFSET, id, i, m[0])
        elif m[0] and not is_identifier(y, m[0], False):
            add(y, R_MEMBER_NAME, id, i, m[0])
        if m[1] == 0 or m[1] > y.max_id:
            add(y, R_MEMBER_VOID, id, i, m[1])
        if (kind == KIND_UNION and offset) or before > offset:
            add(y, R_MEMBER_ORDER, id, i, offset)
        elif bytes_of_bits(offset) > r[2]:
            add(y, R_MEMBER_OFFSET, id, i, offset)
        before = offset
        m += 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_enum_size(y: cython.pointer[Layer], id: uint32_t, size: uint32_t) -> cython.void:
    if size != 4 and (y.version < 504 or (size != 1 and size != 2 and size != 8)):
        add(y, R_ENUM_SIZE, id, 0, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_enumerators(
    y: cython.pointer[Layer], id: uint32_t, kind: uint32_t, r: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    e: cython.pointer[cython.const[uint32_t]] = r + 3
    i: uint32_t
    each: uint32_t = 3 if kind == KIND_ENUM64 else 2
    for i in range(vlen_of(y, r)):
        if not has_name(y, e[0]):
            add(y, R_ENUM_NAME_OFFSET, id, i, e[0])
        elif e[0] == 0 or not is_identifier(y, e[0], False):
            add(y, R_ENUM_NAME, id, i, e[0])
        e += each


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_section(y: cython.pointer[Layer], id: uint32_t, r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """The end of an entry is worked out in 32 bits, and may wrap."""
    e: cython.pointer[cython.const[uint32_t]] = r + 3
    i: uint32_t
    end: uint32_t = 0
    total: uint64_t = 0
    for i in range(vlen_of(y, r)):
        if e[0] == 0 or e[0] > y.max_id:
            add(y, R_SEC_TYPE, id, i, e[0])
        if e[1] < end or e[1] >= r[2]:
            add(y, R_SEC_OFFSET, id, i, e[1])
        if e[2] == 0 or e[2] > r[2]:
            add(y, R_SEC_ENTRY, id, i, e[2])
        end = e[1] + e[2]
        if end > r[2]:
            add(y, R_SEC_END, id, i, end)
        total += e[2]
        e += 3
    if total > r[2]:
        add(y, R_SEC_SUM, id, 0, total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_record(
    y: cython.pointer[Layer], id: uint32_t, kind: uint32_t, r: cython.pointer[cython.const[uint32_t]],
    named: cython.bint,
) -> cython.void:
    """What is about one kind. `named`: the offset of the name is within the strings."""
    vlen: uint32_t = vlen_of(y, r)
    each: uint32_t = wire_each(kind)
    early: cython.bint  # whether the name comes before the rest
    if kind == KIND_DATASEC and vlen == 0 and y.version < 512:
        add(y, R_SEC_EMPTY, id, 0, 0)
    if kind == KIND_DATASEC and r[2] == 0:
        add(y, R_SEC_SIZE, id, 0, 0)
    early = kind == KIND_DECL_TAG or kind == KIND_FUNC or kind == KIND_FUNC_PROTO or kind == KIND_ARRAY
    if named and early:
        check_name(y, id, kind, r[0])
    if kind == KIND_FUNC and y.version >= 506:
        if vlen > 1:
            add(y, R_FUNC_LINKAGE, id, 0, vlen)
    elif each == 0 and vlen:
        add(y, R_VLEN, id, 0, vlen)
    if r[1] >> 31 and not flag_free(kind, y.version):
        add(y, R_FLAG, id, 0, 0)
    if kind == KIND_PTR or (kind >= KIND_TYPEDEF and kind <= KIND_RESTRICT) or kind == KIND_TYPE_TAG:
        if r[2] > y.max_id:
            add(y, R_TYPE_ID, id, 0, r[2])
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        check_enum_size(y, id, r[2])
    if kind == KIND_FWD and r[2]:
        add(y, R_FWD_TYPE, id, 0, r[2])
    if named and not early:
        check_name(y, id, kind, r[0])
    if kind == KIND_INT:
        check_int(y, id, r)
    elif kind == KIND_STRUCT or kind == KIND_UNION:
        check_members(y, id, kind, r)
    elif kind == KIND_ENUM or kind == KIND_ENUM64:
        check_enumerators(y, id, kind, r)
    elif kind == KIND_DATASEC:
        check_section(y, id, r)
    elif kind == KIND_ARRAY:
        if r[2]:
            add(y, R_ARRAY_SIZE, id, 0, r[2])
        if r[3] == 0 or r[3] > y.max_id:
            add(y, R_ARRAY_ELEM, id, 0, r[3])
        if r[4] == 0 or r[4] > y.max_id:
            add(y, R_ARRAY_INDEX, id, 0, r[4])
    elif kind == KIND_VAR:
        if r[2] == 0 or r[2] > y.max_id:
            add(y, R_TYPE_ID, id, 0, r[2])
        if r[3] > 1:
            add(y, R_VAR_LINKAGE, id, 0, r[3])
    elif kind == KIND_FLOAT:
        if r[2] != 2 and r[2] != 4 and r[2] != 8 and r[2] != 12 and r[2] != 16:
            add(y, R_FLOAT_SIZE, id, 0, r[2])
    elif kind == KIND_DECL_TAG:
        if cython.cast(int32_t, r[3]) < -1:
            add(y, R_TAG_COMPONENT, id, 0, r[3])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_records(y: cython.pointer[Layer], offs: cython.pointer[uint32_t], room: uint32_t) -> cython.void:
    """All records of a layer; then `y.end` is where ids end. `offs`: `y.offs`, which has this much room."""
    left: uint64_t = y.size
    at: uint32_t = 0
    kind: uint32_t
    id: uint32_t = y.first
    tail: uint64_t
    known: uint32_t = max_kind(y.version)
    mask: uint32_t = info_mask(y.version)
    kind_mask: uint32_t = 0x7F if y.version >= 702 else 0x1F
    r: cython.pointer[cython.const[uint32_t]]
    named: cython.bint
    y.vlen_mask = 0xFFFFFF if y.version >= 702 else 0xFFFF
    y.max_id = 0xFFFFF if y.version >= 504 else 0xFFFF
    y.whole = False
    while left:
        if left < 12:
            add(y, R_HEAD, id, 0, left)
            break
        r = y.words + at
        kind = r[1] >> 24 & kind_mask
        if r[1] & ~mask:
            add(y, R_INFO, id, 0, r[1])
        elif kind == 0 or kind > known:
            add(y, R_KIND, id, 0, kind)
        if kind == 0 or kind > KIND_ENUM64:
            break
        named = has_name(y, r[0])
        if not named:
            add(y, R_NAME_OFFSET, id, 0, r[0])
        tail = 4 * (wire_fixed(kind) + cython.cast(uint64_t, wire_each(kind)) * vlen_of(y, r))
        if left - 12 < tail:
            add(y, R_TAIL, id, 0, tail << 32 | left - 12)
            break
        if kind <= known:
            check_record(y, id, kind, r, named)
        if id < MAX_TYPES and id - y.first < room:
            offs[id - y.first] = at
            id += 1
        else:
            if y.surplus == 0:
                add(y, R_SURPLUS, id, 0, 0)
            y.surplus += 1
        at += 3 + cython.cast(uint32_t, tail // 4)
        left -= 12 + tail
    y.whole = left == 0
    y.end = id
