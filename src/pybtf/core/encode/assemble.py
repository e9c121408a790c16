"""From the kept records of all units to one list of types with ids.

Records are in the order of their units and of their small ids, which is pahole's order without those that were dropped.
A reference to a type that was dropped goes to the first type of the same class. Where nothing is dropped, the list is
there already (append_all.py).
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_size, wire_third_is_type, wire_vlen
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import (
    APART,
    CLASS_BITS,
    ENCODE_BUG,
    ENCODE_MEMORY,
    ENCODE_TOO_MANY,
    MAX_TYPES,
    NO_UNIT,
    Encoder,
    KeptUnit,
    encoder_fail,
)
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_reserve, u64s_free, u64s_reserve


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number(e: cython.pointer[Encoder]) -> cython.int:
    """Ids of all records, and the representative of each class."""
    u: uint32_t
    i: uint32_t
    local: uint32_t
    class_: uint32_t
    s: cython.pointer[KeptUnit]
    next_: uint64_t = e.offs.n
    if not u32s_reserve(cython.address(e.representative), e.first_unit.n + 1):
        return encoder_fail(e, ENCODE_MEMORY)
    memset(e.representative.p, 0, (e.first_unit.n + 1) * cython.sizeof(uint32_t))
    for u in range(e.n_kept):
        s = cython.address(e.kept[u])
        if next_ + s.n > MAX_TYPES:
            return encoder_fail(e, ENCODE_TOO_MANY)
        s.first_id = cython.cast(uint32_t, next_)
        for i in range(s.n):
            local = e.locals.p[s.first + i]
            if local >= s.n_types:
                continue
            class_ = e.class_list.p[s.classes + local]
            if not class_ & APART and e.representative.p[class_] == 0:
                CHECK(e.first_unit.p[class_] >= u, "a class is represented by a type that is not its first")
                if e.first_unit.p[class_] == u:  # captured ones stand for no other, and are there if everything is
                    e.representative.p[class_] = s.first_id + i
        next_ += s.n
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def representative(e: cython.pointer[Encoder], s: cython.pointer[KeptUnit], local: uint32_t) -> uint32_t:
    """The id of the type that stands for one that was dropped."""
    return stands_for(e, e.class_list.p[s.classes + local])


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def stands_for(e: cython.pointer[Encoder], class_: uint32_t) -> uint32_t:
    """The id of the type that stands for those of a class. 0 and an error: there is none, a mistake of ours."""
    id: uint32_t = 0 if class_ & APART else e.representative.p[class_]
    if id == 0:
        e.error_entry = class_ & CLASS_BITS
        encoder_fail(e, ENCODE_BUG)
        return 0
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kept_id(e: cython.pointer[Encoder], s: cython.pointer[KeptUnit], local: uint32_t) -> uint32_t:
    """The id of a small id of a unit, 0 if it is not kept."""
    low: uint32_t = 0
    high: uint32_t = s.n
    middle: uint32_t
    while low < high:
        middle = (low + high) // 2
        if e.locals.p[s.first + middle] < local:
            low = middle + 1
        else:
            high = middle
    if low < s.n and e.locals.p[s.first + low] == local:
        return s.first_id + low
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def assembled_id(e: cython.pointer[Encoder], unit: uint32_t, local: uint32_t) -> uint32_t:
    """The id of a small id of a unit, or that of the type that stands for it."""
    s: cython.pointer[KeptUnit] = cython.address(e.kept[unit])
    class_: uint32_t
    id: uint32_t
    if local == 0:
        return 0
    if e.keep_all:
        return s.first_id + local - 1
    if local < s.n_types and not s.whole:
        class_ = e.class_list.p[s.classes + local]
        if not class_ & APART and e.first_unit.p[class_] != unit:  # it was dropped, as nearly all are
            CHECK(kept_id(e, s, local) == 0, "a type is kept although another stands for it")
            return stands_for(e, class_)
    id = kept_id(e, s, local)
    return id if id else representative(e, s, local)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def target(
    e: cython.pointer[Encoder], s: cython.pointer[KeptUnit], known: cython.pointer[uint32_t], local: uint32_t
) -> uint32_t:
    """The id to which a reference to a small id of the unit goes; `known`: the ids of what is kept of it, else 0."""
    if local == 0:
        return 0
    if known[local]:
        return known[local]
    return representative(e, s, local)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def relink(
    e: cython.pointer[Encoder],
    s: cython.pointer[KeptUnit],
    known: cython.pointer[uint32_t],
    r: cython.pointer[uint32_t],
    index_type: uint32_t,
) -> cython.void:
    """Small ids of a record become ids."""
    kind: uint32_t = wire_kind(r)
    k: uint32_t
    if wire_third_is_type(kind):
        r[2] = target(e, s, known, r[2])
    if kind == KIND_ARRAY:
        r[3] = target(e, s, known, r[3])
        r[4] = index_type
    elif kind == KIND_STRUCT or kind == KIND_UNION:
        for k in range(wire_vlen(r)):
            r[4 + 3 * k] = target(e, s, known, r[4 + 3 * k])
    elif kind == KIND_FUNC_PROTO:
        for k in range(wire_vlen(r)):
            r[4 + 2 * k] = target(e, s, known, r[4 + 2 * k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def assemble_unit(e: cython.pointer[Encoder], s: cython.pointer[KeptUnit], index_type: uint32_t) -> cython.int:
    """Appends the kept records of one unit to `words` and `offs`. They get the ids that `number` has given them, and
    their references ids for small ids. `index_type`: the id that all arrays get. Nonzero: `e.error`.
    """
    i: uint32_t
    last: uint32_t = e.locals.p[s.first + s.n - 1]
    size: uint32_t
    r: cython.pointer[uint32_t]
    known: cython.pointer[uint32_t]
    if last < s.n_types:
        last = s.n_types
    if not u32s_reserve(cython.address(e.scratch), last + 1):
        return encoder_fail(e, ENCODE_MEMORY)
    known = e.scratch.p
    memset(known, 0, (last + 1) * cython.sizeof(uint32_t))
    for i in range(s.n):
        CHECK(i == 0 or e.locals.p[s.first + i - 1] < e.locals.p[s.first + i], "kept types are not in order")
        known[e.locals.p[s.first + i]] = s.first_id + i
    if not u64s_reserve(cython.address(e.offs), s.n):
        return encoder_fail(e, ENCODE_MEMORY)
    for i in range(s.n):
        r = e.kept_words.p + e.starts.p[s.first + i]
        size = wire_size(r)
        if not u32s_reserve(cython.address(e.words), size):
            return encoder_fail(e, ENCODE_MEMORY)
        memcpy(e.words.p + e.words.n, r, size * cython.sizeof(uint32_t))
        relink(e, s, known, e.words.p + e.words.n, index_type)
        e.offs.p[e.offs.n] = e.words.n
        e.offs.n += 1
        e.words.n += size
    CHECK(e.offs.n == s.first_id + s.n, "a unit does not have the ids that it was given")
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def assemble(e: cython.pointer[Encoder]) -> cython.int:
    """Makes `words` and `offs` of what is kept of all units, unless they are made. Nonzero: `e.error`."""
    u: uint32_t
    i: cython.size_t
    s: cython.pointer[KeptUnit]
    index_type: uint32_t = 0
    if e.keep_all:
        e.named = e.offs.n
        return 0
    if number(e):
        return 1
    if e.index_unit != NO_UNIT:
        index_type = assembled_id(e, e.index_unit, e.index_local)
    for u in range(e.n_kept):
        s = cython.address(e.kept[u])
        if s.n and assemble_unit(e, s, index_type):
            return 1
    for i in range(0, e.resolved.n, 3):
        e.resolved.p[i] = stands_for(e, e.resolved.p[i])
        e.resolved.p[i + 1] = stands_for(e, e.resolved.p[i + 1])
        s = cython.address(e.kept[e.resolved.p[i + 2]])
        e.resolved.p[i + 2] = s.first_id + s.n
    u32s_free(cython.address(e.kept_words))
    u64s_free(cython.address(e.starts))
    return e.error
