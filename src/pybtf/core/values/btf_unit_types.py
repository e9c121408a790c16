"""The types of a compiler's BTF as records of a unit value: strings, ids of types, records, tags. See btf_unit.py.

The piece has been opened as a `View`: records are whole, names and references exist. What else the encoder takes for
granted is asked for here, and names that overlap have a budget.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset, strcmp, strlen
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    WHOLE,
    RefSpan,
    wire_each,
    wire_info,
    wire_kind,
    wire_refs,
    wire_vlen,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_view import view_name, view_record
from cython.cimports.pybtf.core.model.options import OPT_DECL_TAG, OPT_ENUM64, OPT_FLOAT, OPT_TYPE_TAG
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push, u32s_reserve
from cython.cimports.pybtf.core.values.btf_unit_types import (
    NO_TYPES,
    UNIT_FEATURE,
    UNIT_MEMORY,
    UNIT_OK,
    UNIT_RECORD,
    UNIT_REFERENCE,
    UNIT_SHARED,
    Making,
)
from cython.cimports.pybtf.core.values.unit_layout import *
from cython.cimports.pybtf.core.values.unit_read_types import has_right_words, named_elements

MARK_FUNCTION = cython.declare(uint32_t, 1)  # a FUNC with a name refers to it
MARK_TYPE = cython.declare(uint32_t, 2)  # a type or a variable does
NO_PLACE = cython.declare(uint32_t, 0xFFFFFFFF)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def zeros(a: cython.pointer[U32s], n: cython.size_t) -> cython.bint:
    """Makes an array of `n` zeros. False: no memory."""
    a.n = 0
    if not u32s_reserve(a, n):
        return False
    memset(a.p, 0, n * cython.sizeof(uint32_t))
    a.n = n
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_type(kind: uint32_t) -> cython.bint:
    """Whether a unit value has such a record."""
    return not (NO_TYPES >> kind) & 1


# ---- strings ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_of(m: cython.pointer[Making], offset: uint32_t) -> uint32_t:
    """How a string is named in the unit, 0 of the empty one; NO_PLACE: see `bad_name`."""
    size: uint64_t
    if m.places.p[offset]:
        return m.places.p[offset]
    size = strlen(view_name(m.v, offset))
    if size == 0:
        return 0
    if size > m.room or not u32s_push(cython.address(m.used), offset):
        return NO_PLACE
    m.room -= size
    m.places.p[offset] = cython.cast(uint32_t, m.text) + 1
    m.text += size + 1
    return m.places.p[offset]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bad_name(m: cython.pointer[Making], offset: uint32_t) -> cython.int:
    """What is wrong with a string that has got no place."""
    return UNIT_SHARED if strlen(view_name(m.v, offset)) > m.room else UNIT_MEMORY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_at(m: cython.pointer[Making], offset: uint32_t) -> cython.bint:
    """Whether a name may be looked up. Many functions may have one long name, which makes a small piece expensive."""
    size: uint64_t = strlen(view_name(m.v, offset))
    if size > m.room:
        return False
    m.room -= size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_name(m: cython.pointer[Making], offset: uint32_t) -> cython.int:
    """The place of a string, as the next word."""
    place: uint32_t = place_of(m, offset)
    if place == NO_PLACE:
        return bad_name(m, offset)
    return UNIT_OK if u32s_push(cython.address(m.words), place) else UNIT_MEMORY


# ---- what is a type, and which number it has ----------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_references(m: cython.pointer[Making], id: uint32_t) -> cython.int:
    """What the record refers to, checked: types, and of a FUNC a prototype."""
    r: cython.pointer[uint32_t] = view_record(m.v, id)
    kind: uint32_t = wire_kind(r)
    refs: RefSpan = wire_refs(r)
    i: uint32_t
    ref: uint32_t
    m.bad = id
    if kind == KIND_DATASEC:
        return UNIT_OK
    if kind == KIND_DECL_TAG:
        m.next_tag.p[id] = m.first_tag.p[r[2]]
        m.first_tag.p[r[2]] = id
        return UNIT_OK if r[2] else UNIT_REFERENCE
    if kind == KIND_FUNC:
        if r[2] == 0 or wire_kind(view_record(m.v, r[2])) != KIND_FUNC_PROTO:
            return UNIT_REFERENCE
        m.marks.p[r[2]] |= MARK_FUNCTION if view_name(m.v, r[0])[0] else 0
        return UNIT_OK
    for i in range(refs.count):
        ref = refs.p[cython.cast(cython.size_t, i) * refs.stride]
        if ref == 0:
            continue
        if not is_type(wire_kind(view_record(m.v, ref))):
            return UNIT_REFERENCE
        m.marks.p[ref] |= MARK_TYPE
    return UNIT_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_types(m: cython.pointer[Making]) -> cython.int:
    """Ids in the unit, and the tags of each type, in order."""
    id: uint32_t
    n: uint32_t = m.v.n
    kind: uint32_t
    status: cython.int
    if (
        not zeros(cython.address(m.small), n)
        or not zeros(cython.address(m.marks), n)
        or not zeros(cython.address(m.first_tag), n)
        or not zeros(cython.address(m.next_tag), n)
    ):
        return UNIT_MEMORY
    for id in range(n - 1, 0, -1):  # so that each tag comes in front of those after it
        status = mark_references(m, id)
        if status:
            return status
    m.next_small = 1
    m.int_id = 0
    for id in range(1, n):
        kind = wire_kind(view_record(m.v, id))
        if not is_type(kind) or (kind == KIND_FUNC_PROTO and m.marks.p[id] == MARK_FUNCTION):
            continue
        m.small.p[id] = m.next_small
        if kind == KIND_INT and m.int_id == 0 and strcmp(view_name(m.v, view_record(m.v, id)[0]), b"int") == 0:
            m.int_id = m.next_small
        m.next_small += 1
    return UNIT_OK


# ---- records ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stand_in(
    m: cython.pointer[Making], r: cython.pointer[uint32_t], kind: uint32_t, inner: uint32_t
) -> cython.int:
    """The record that was copied last, as pahole writes such a type with these features. `inner`: of an array, the kind
    of its elements.
    """
    i: uint32_t
    to: cython.pointer[uint32_t]
    if kind == KIND_INT:
        m.old |= ((r[3] >> 24) & INT_CHAR) != 0
        r[3] &= ~(cython.cast(uint32_t, INT_CHAR) << 24)
    elif kind == KIND_ARRAY:
        m.nested += inner == KIND_ARRAY
        r[4] = 0
    elif kind == KIND_FWD:
        r[2] = 0
    elif kind == KIND_FLOAT and not m.options & OPT_FLOAT:
        r[1] = wire_info(KIND_INT, 0)
        if not u32s_push(cython.address(m.words), 8 * r[2]):  # this may move the record
            return UNIT_MEMORY
    elif kind == KIND_ENUM64 and not m.options & OPT_ENUM64:
        to = r + 3
        for i in range(wire_vlen(r)):
            to[0] = r[3 + 3 * i]
            to[1] = r[4 + 3 * i]
            to += 2
        m.words.n -= wire_vlen(r)
        r[1] = wire_info(KIND_ENUM, wire_vlen(r))
    elif kind == KIND_ENUM and r[2] == 0 and wire_vlen(r) == 0:
        r[2] = 4  # only declared (gcc 14)
    elif kind == KIND_ENUM and not m.options & OPT_ENUM64:
        r[1] &= 0x7FFFFFFF  # then pahole does not look at signs
    elif kind == KIND_TYPE_TAG and not m.options & OPT_TYPE_TAG:
        return UNIT_FEATURE
    return UNIT_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_record(m: cython.pointer[Making], id: uint32_t) -> cython.int:
    """One type, with ids of the unit and places of strings."""
    from_: cython.pointer[uint32_t] = view_record(m.v, id)
    kind: uint32_t = wire_kind(from_)
    size: cython.size_t = wire_words(from_[1])
    at: cython.size_t = m.words.n
    r: cython.pointer[uint32_t]
    e: cython.pointer[uint32_t]
    refs: RefSpan
    i: uint32_t
    inner: uint32_t
    status: cython.int
    if not u32s_reserve(cython.address(m.words), size):
        return UNIT_MEMORY
    r = m.words.p + at
    memcpy(r, from_, size * cython.sizeof(uint32_t))
    m.words.n += size
    refs = wire_refs(r)
    for i in range(refs.count):
        e = refs.p + cython.cast(cython.size_t, i) * refs.stride
        e[0] = m.small.p[e[0]]
    r[0] = place_of(m, from_[0])
    if r[0] == NO_PLACE:
        return bad_name(m, from_[0])
    if wire_each(kind):
        e = r + 3
        for i in range(wire_vlen(r)):
            e[0] = place_of(m, e[0])
            if e[0] == NO_PLACE:
                return bad_name(m, from_[e - r])
            if e[0] == 0 and named_elements(kind):
                return UNIT_RECORD
            e += wire_each(kind)
    inner = wire_kind(view_record(m.v, from_[3])) if kind == KIND_ARRAY and from_[3] else 0
    status = stand_in(m, r, kind, inner)
    if status:
        return status
    r = m.words.p + at
    return UNIT_OK if has_right_words(r, wire_kind(r)) else UNIT_RECORD


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tags(m: cython.pointer[Making], id: uint32_t, of_type: cython.bint, places: uint32_t) -> cython.int:
    """The tags of a type, or of a function or variable; `places`: how many members or parameters may have one."""
    tag: uint32_t = m.first_tag.p[id]
    r: cython.pointer[uint32_t]
    status: cython.int
    while tag:
        m.bad = tag
        r = view_record(m.v, tag)
        if r[1] != wire_info(KIND_DECL_TAG, 0) or (r[3] != WHOLE and r[3] >= places) or not view_name(m.v, r[0])[0]:
            return UNIT_RECORD
        status = put_name(m, r[0])
        if status:
            return status
        if of_type and not u32s_push(cython.address(m.words), m.small.p[id]):
            return UNIT_MEMORY
        if not u32s_push(cython.address(m.words), r[3]):
            return UNIT_MEMORY
        tag = m.next_tag.p[tag]
    return UNIT_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_tags(m: cython.pointer[Making], id: uint32_t) -> uint32_t:
    """How many tags there will be: none with the feature off."""
    n: uint32_t = 0
    tag: uint32_t = m.first_tag.p[id] if m.options & OPT_DECL_TAG else 0
    while tag:
        n += 1
        tag = m.next_tag.p[tag]
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_types(m: cython.pointer[Making], head: cython.pointer[uint32_t]) -> cython.int:
    """Records, then tags of types."""
    id: uint32_t
    kind: uint32_t
    status: cython.int = number_types(m)
    at: cython.size_t
    if status:
        return status
    at = m.words.n
    for id in range(1, m.v.n):
        m.bad = id
        if m.small.p[id]:
            status = put_record(m, id)
            if status:
                return status
    head[H_TYPES] = m.next_small
    head[H_INT] = m.int_id
    head[H_WORDS] = cython.cast(uint32_t, m.words.n - at)
    if not m.options & OPT_DECL_TAG:
        return UNIT_OK
    for id in range(1, m.v.n):
        kind = wire_kind(view_record(m.v, id))
        if m.first_tag.p[id] == 0 or not is_type(kind):
            if m.first_tag.p[id] and kind != KIND_FUNC and kind != KIND_VAR:
                m.bad = m.first_tag.p[id]
                return UNIT_REFERENCE
            continue
        m.bad = m.first_tag.p[id]
        if kind != KIND_STRUCT and kind != KIND_UNION and kind != KIND_TYPEDEF and kind != KIND_FWD:
            return UNIT_REFERENCE
        head[H_TAGS] += count_tags(m, id)
        status = put_tags(m, id, True, wire_vlen(view_record(m.v, id)))
        if status:
            return status
    return UNIT_OK
