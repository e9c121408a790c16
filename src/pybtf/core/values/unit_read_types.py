"""Types of a unit value that comes from bytes: their classes, and those of their records that are needed.

A type falls into one of three groups:

- Nearly all types of a kernel's objects have been met before, in another object. Such a type is known by its digest
  (known_types.py), and its record is skipped.
- The record of a type that nobody has met is read, and classified like one from DWARF (classify.py).
- The record of a type whose class is known, but which the encoder may keep, is only copied. That happens because units
  are not read in order: the first unit that has a class may be read after others, or be read again.

Where all types are kept (modules on a base), all records are read, and digests are of no use.

A record that is read is checked for everything that the encoder takes for granted in one from DWARF: kinds that
types have, names where a kind has one, references and strings that exist. One that is passed over has been read in
another unit.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    WIRE_INFO_RESERVED,
    RefSpan,
    wire_each,
    wire_kind,
    wire_refs,
    wire_vlen,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_section import wire_load
from cython.cimports.pybtf.core.classes.class_record import (
    KIND_KEY_STRUCT,
    KIND_KEY_UNION,
    class_record,
    record_kind,
)
from cython.cimports.pybtf.core.classes.classify import (
    Classifier,
    classify,
    classify_begin,
    classify_fault,
    classify_unit,
    note_twice,
)
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.strings.string_table import Strings
from cython.cimports.pybtf.core.support.check import CHECKED
from cython.cimports.pybtf.core.support.hashing import load_acquire, lower
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_push, u32s_reserve
from cython.cimports.pybtf.core.support.met_table import MetTable, met_follower
from cython.cimports.pybtf.core.values.known_types import (
    KnownType,
    known_add,
    known_find,
    known_follow,
    known_follower,
)
from cython.cimports.pybtf.core.values.unit_layout import *
from cython.cimports.pybtf.core.values.unit_read import (
    DAMAGED_STRING,
    Reading,
    bad_string,
    damaged,
    need,
    no_memory,
    payload_string,
    payload_strings,
)

# ---- records ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def named_elements(kind: uint32_t) -> cython.bint:
    """Whether each element of such a type has a name, always."""
    return kind == KIND_ENUM or kind == KIND_ENUM64


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_right_words(p: cython.pointer[cython.const[uint32_t]], kind: uint32_t) -> cython.bint:
    """Name, elements and size of a record: as a kind has them that is made of DWARF."""
    n: uint32_t = wire_vlen(p)
    flag: uint32_t = p[1] >> 31
    if kind == KIND_STRUCT or kind == KIND_UNION:
        return True
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        return p[2] == 1 or p[2] == 2 or p[2] == 4 or p[2] == 8
    if kind == KIND_FUNC_PROTO:
        return p[0] == 0 and flag == 0
    if n:
        return False
    if kind == KIND_FWD:
        return p[0] != 0 and p[2] == 0
    if flag:
        return False
    if kind == KIND_INT or kind == KIND_FLOAT:
        return p[0] != 0 and 0 < p[2] <= 16
    if kind == KIND_TYPEDEF or kind == KIND_TYPE_TAG:
        return p[0] != 0
    if kind == KIND_ARRAY:
        return p[0] == 0 and p[2] == 0 and p[4] == 0
    return p[0] == 0 and (
        kind == KIND_PTR or kind == KIND_CONST or kind == KIND_VOLATILE or kind == KIND_RESTRICT
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_right_references(p: cython.pointer[uint32_t], n_types: uint32_t) -> cython.bint:
    refs: RefSpan = wire_refs(p)
    q: cython.pointer[uint32_t] = refs.p
    i: uint32_t
    for i in range(refs.count):
        if q[0] >= n_types:
            return False
        q += refs.stride
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_in_unit(r: cython.pointer[cython.const[Reading]], at: cython.size_t) -> uint64_t:
    """The word of the unit at which word `at` of its records is."""
    return cython.cast(uint64_t, r.records - r.p) // 4 + at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bring_record(
    r: cython.pointer[Reading], v: cython.pointer[UnitValue], at: cython.size_t
) -> cython.size_t:
    """Appends the record at word `at` of the unit's; the names in it are places of strings. Its words; 0: fault."""
    left: cython.size_t = r.words.p[H_WORDS] - at
    head: uint32_t[3]
    p: cython.pointer[uint32_t]
    size: cython.size_t
    if left < 3 or not need(r, r.records + 4 * at, 12):
        damaged(v, place_in_unit(r, at))
        return 0
    wire_load(cython.address(head[0]), r.records + 4 * at, 3, r.swap)
    size = wire_words(head[1])
    if size == 0 or size > left or head[1] & WIRE_INFO_RESERVED or not need(r, r.records + 4 * at, 4 * size):
        damaged(v, place_in_unit(r, at))
        return 0
    if not u32s_reserve(cython.address(v.words), size):
        no_memory(v)
        return 0
    p = v.words.p + v.words.n
    wire_load(p, r.records + 4 * at, size, r.swap)
    if not has_right_words(p, wire_kind(p)) or not has_right_references(p, v.n_types):
        damaged(v, place_in_unit(r, at))
        return 0
    v.words.n += size
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_record(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
    p: cython.pointer[uint32_t],
    at: cython.size_t,
) -> cython.int:
    """Replaces the places of strings in a record by their ids. Nonzero: fault."""
    kind: uint32_t = wire_kind(p)
    step: uint32_t = wire_each(kind)
    e: cython.pointer[uint32_t] = p + 3
    n: uint32_t = wire_vlen(p)
    i: uint32_t
    p[0] = payload_string(r, strings, p[0])
    if p[0] >= DAMAGED_STRING:
        return bad_string(v, p[0], place_in_unit(r, at))
    if step == 0 or n == 0:
        return 0
    e += step * (payload_strings(r, strings, e, step, n) - 1)
    if e[0] >= DAMAGED_STRING:
        return bad_string(v, e[0], place_in_unit(r, at))
    if named_elements(kind):
        for i in range(n):
            if p[3 + step * i] == 0:
                return damaged(v, place_in_unit(r, at))
    return 0


# ---- where all are kept -------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_all(
    r: cython.pointer[Reading], v: cython.pointer[UnitValue], strings: cython.pointer[Strings]
) -> cython.int:
    """All records, named."""
    at: cython.size_t = 0
    size: cython.size_t
    id: uint32_t
    for id in range(1, v.n_types):
        v.offs.p[id] = cython.cast(uint32_t, v.words.n)
        size = bring_record(r, v, at)
        if size == 0 or name_record(r, v, strings, v.words.p + v.offs.p[id], at):
            return 1
        v.n_arrays += wire_kind(v.words.p + v.offs.p[id]) == KIND_ARRAY
        at += size
    return damaged(v, place_in_unit(r, at)) if at != r.words.p[H_WORDS] else 0


# ---- by digest ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_digest(
    r: cython.pointer[cython.const[Reading]],
    id: uint32_t,
    low: cython.pointer[uint64_t],
    high: cython.pointer[uint64_t],
) -> cython.bint:
    """The digest of a type. False: it has none."""
    w: uint32_t[4]
    p: cython.pointer[cython.const[uint8_t]] = r.digests + 4 * DIGEST_WORDS * (cython.cast(cython.size_t, id) - 1)
    if r.swap:
        wire_load(cython.address(w[0]), p, DIGEST_WORDS, True)
    else:
        memcpy(cython.address(w[0]), p, 4 * DIGEST_WORDS)
    low[0] = w[0] | cython.cast(uint64_t, w[1]) << 32
    high[0] = w[2] | cython.cast(uint64_t, w[3]) << 32
    return (low[0] | high[0]) != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_type(
    r: cython.pointer[Reading], known: cython.pointer[MetTable], id: uint32_t
) -> cython.pointer[KnownType]:
    """The type `id` of the unit, if somebody has met it, else NULL."""
    low: uint64_t = 0
    high: uint64_t = 0
    t: cython.pointer[KnownType]
    if not read_digest(r, id, cython.address(low), cython.address(high)):
        r.last = cython.NULL
        return cython.NULL
    t = known_follower(r.last, low, high)
    if t == cython.NULL:
        t = known_find(known, low, high)
        if t == cython.NULL:
            r.last = t
            return t
        known_follow(r.last, t)
    prefetch(met_follower(cython.address(t.met)))
    r.last = t
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_known(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    c: cython.pointer[Classifier],
    t: cython.pointer[KnownType],
    id: uint32_t,
    at: cython.size_t,
    whole: cython.bint,
) -> cython.size_t:
    """A type that has been met: its class, and its record if that may be asked for. Its words; 0: fault."""
    size: cython.size_t = wire_words(t.info)
    v.classes.p[id] = t.class_
    c.stands.p[id] = t.stand
    v.n_arrays += (t.info >> 24) & 31 == KIND_ARRAY
    if t.key and not note_twice(c, v, t.key):
        no_memory(v)
        return 0
    lower(cython.address(t.first), v.number)
    if load_acquire(cython.address(t.first)) == v.number or whole:
        if bring_record(r, v, at) == 0:
            return 0
        if v.words.p[v.offs.p[id] + 1] != t.info:
            damaged(v, place_in_unit(r, at))
            return 0
    elif size > r.words.p[H_WORDS] - at:
        damaged(v, place_in_unit(r, at))
        return 0
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_key(c: cython.pointer[cython.const[Classifier]], stand: uint32_t) -> cython.bint:
    """Whether it is a key that a unit may have twice."""
    kind: uint32_t = record_kind(class_record(c.classes, stand))
    return kind == KIND_KEY_STRUCT or kind == KIND_KEY_UNION


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_known(
    r: cython.pointer[cython.const[Reading]],
    v: cython.pointer[UnitValue],
    c: cython.pointer[cython.const[Classifier]],
    known: cython.pointer[MetTable],
    id: uint32_t,
) -> cython.int:
    """Enters a type that has got its class. Nonzero: fault."""
    model: KnownType
    t: cython.pointer[KnownType]
    if not read_digest(r, id, cython.address(model.low), cython.address(model.high)):
        return 0
    model.class_ = v.classes.p[id]
    model.stand = c.stands.p[id]
    model.key = model.stand if is_key(c, model.stand) else 0
    model.info = v.words.p[v.offs.p[id] + 1]
    model.first = v.number
    t = known_add(known, cython.address(model))
    if t == cython.NULL:
        return no_memory(v)
    lower(cython.address(t.first), v.number)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_known(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    known: cython.pointer[MetTable],
    whole: cython.bint,
) -> cython.int:
    """Classes, and of the records those that may be asked for."""
    at: cython.size_t = 0
    size: cython.size_t
    id: uint32_t
    i: cython.size_t
    t: cython.pointer[KnownType]
    r.unknown.n = 0
    if not classify_begin(c, v):
        return no_memory(v)
    for id in range(1, v.n_types):
        v.offs.p[id] = cython.cast(uint32_t, v.words.n)
        t = known_type(r, known, id)
        if t != cython.NULL:
            size = take_known(r, v, c, t, id, at, whole or CHECKED)
            if size == 0 or (CHECKED and name_record(r, v, strings, v.words.p + v.offs.p[id], at)):
                return 1
        else:
            size = bring_record(r, v, at)
            if size == 0 or name_record(r, v, strings, v.words.p + v.offs.p[id], at):
                return 1
            v.n_arrays += wire_kind(v.words.p + v.offs.p[id]) == KIND_ARRAY
            if not u32s_push(cython.address(r.unknown), id):
                return no_memory(v)
        at += size
    if at != r.words.p[H_WORDS]:
        return damaged(v, place_in_unit(r, at))
    v.offs.p[v.n_types] = cython.cast(uint32_t, v.words.n)
    for i in range(r.unknown.n):
        if v.classes.p[r.unknown.p[i]] == 0 and classify(c, v, r.unknown.p[i]):
            return classify_fault(c, v)
    for i in range(r.unknown.n):
        if make_known(r, v, c, known, r.unknown.p[i]):
            return 1
    return check_known(r, v, c) if CHECKED else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_known(
    r: cython.pointer[cython.const[Reading]], v: cython.pointer[UnitValue], c: cython.pointer[Classifier]
) -> cython.int:
    """Whether each type has the class by its record that it has by its digest. A fault, for digests come from files."""
    id: uint32_t
    class_: uint32_t
    low: uint64_t = 0
    high: uint64_t = 0
    for id in range(1, v.n_types):
        class_ = v.classes.p[id]
        if not read_digest(r, id, cython.address(low), cython.address(high)):
            continue
        if classify(c, v, id):
            return classify_fault(c, v)
        if v.classes.p[id] != class_:
            return damaged(v, cython.cast(uint64_t, r.digests - r.p) // 4 + DIGEST_WORDS * (id - 1))
    return 0


# ---- tags, and all of it ------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kind_of(
    v: cython.pointer[cython.const[UnitValue]], c: cython.pointer[cython.const[Classifier]], id: uint32_t
) -> uint32_t:
    """The kind of a type: by its class, for there may be no record, or by its record, for there may be no class."""
    if c.sparse:
        return wire_kind(v.words.p + v.offs.p[id])
    return record_kind(class_record(c.classes, v.classes.p[id]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_tags(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    c: cython.pointer[cython.const[Classifier]],
    strings: cython.pointer[Strings],
) -> cython.int:
    """Fills `v.tags`, three words each: string id, small id, component. Nonzero: fault. The bytes come from a file, so
    a tag must not be empty, nor be about a kind that has none (docs/rules.md, 8).
    """
    i: uint32_t
    sid: uint32_t
    kind: uint32_t
    p: cython.pointer[cython.const[uint32_t]] = r.words.p + H_WORDS_OF_HEAD
    v.tags.n = 0
    for i in range(r.words.p[H_TAGS]):
        sid = payload_string(r, strings, p[0])
        if sid >= DAMAGED_STRING:
            return bad_string(v, sid, p - r.words.p)
        if sid == 0 or p[1] == 0 or p[1] >= v.n_types:
            return damaged(v, p - r.words.p)
        kind = kind_of(v, c, p[1])
        if kind != KIND_STRUCT and kind != KIND_UNION and kind != KIND_TYPEDEF and kind != KIND_FWD:
            return damaged(v, p - r.words.p)
        if (
            not u32s_push(cython.address(v.tags), sid)
            or not u32s_push(cython.address(v.tags), p[1])
            or not u32s_push(cython.address(v.tags), p[2])
        ):
            return no_memory(v)
        p += 3
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_types(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    known: cython.pointer[MetTable],
    whole: cython.bint,
) -> cython.int:
    """See `unit_read_types.pxd`."""
    kind: uint32_t
    v.words.n = 0
    v.offs.n = 0
    if not u32s_reserve(cython.address(v.offs), cython.cast(cython.size_t, v.n_types) + 1):
        return no_memory(v)
    v.offs.n = cython.cast(cython.size_t, v.n_types) + 1
    v.offs.p[0] = 0
    if known != cython.NULL:
        if read_known(r, v, c, strings, known, whole):
            return 1
    else:
        if read_all(r, v, strings):
            return 1
        v.offs.p[v.n_types] = cython.cast(uint32_t, v.words.n)
        if classify_unit(c, v):
            return 1
    if v.int_id:
        kind = kind_of(v, c, v.int_id)
        if kind != KIND_INT and kind != KIND_FLOAT:
            return damaged(v, H_INT)
    return read_tags(r, v, c, strings)
