"""Bytes back to a unit value: the counterpart of unit_export.py, as a worker's second source of units.

The bytes come from a file, so each number is a lie until it has been compared with its bound: first the sizes of the
parts, which together must be that of the unit; then each record, in one pass, as it is copied. What the encoder takes
for granted of a record that comes from DWARF is asked for here: kinds that types have, names where a kind has one, and
references and strings that exist.

Functions and variables, about which only the linked file knows all, are read in unit_read_symbols.py.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr, memcmp, memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    WIRE_INFO_RESERVED,
    RefSpan,
    wire_each,
    wire_kind,
    wire_refs,
    wire_vlen,
    wire_whole,
)
from cython.cimports.pybtf.core.btf.type_section import wire_load
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_MEMORY,
    FAULT_VALUES,
    IN_VALUES,
    fault_set,
)
from cython.cimports.pybtf.core.strings.string_table import (
    NO_STRING,
    StringEntry,
    Strings,
    string_entry,
    string_in_base,
    string_intern,
)
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_push, u32s_reserve
from cython.cimports.pybtf.core.values.unit_layout import *
from cython.cimports.pybtf.core.values.unit_read import GivenUnit, Reading

HEAD_BYTES = cython.declare(uint64_t, 80)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reading_free(r: cython.pointer[Reading]) -> cython.void:
    u32s_free(cython.address(r.words))
    u32s_free(cython.address(r.strings))
    u32s_free(cython.address(r.followers))
    free(r.anns)
    r.anns = cython.NULL
    r.cap_anns = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def damaged(v: cython.pointer[UnitValue], word: uint64_t) -> cython.int:
    """The fault of a unit that is wrong at this word."""
    return fault_set(cython.address(v.fault), FAULT_VALUES, IN_VALUES, v.offset + 4 * word, 0, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def no_memory(v: cython.pointer[UnitValue]) -> cython.int:
    return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_VALUES, v.offset, 0, 0)


# ---- the parts of a unit ------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def given_size(
    p: cython.pointer[cython.const[uint8_t]],
    left: uint64_t,
    swap: cython.bint,
    addresses: cython.pointer[uint32_t],
) -> uint64_t:
    """See `unit_read.pxd`."""
    h: uint32_t[20]
    words: uint64_t
    strings: uint64_t
    if left < HEAD_BYTES:
        return 0
    wire_load(cython.address(h[0]), p, H_WORDS_OF_HEAD, swap)
    words = H_WORDS_OF_HEAD + cython.cast(uint64_t, h[H_WORDS]) + 3 * cython.cast(uint64_t, h[H_TAGS])
    words += cython.cast(uint64_t, h[H_FUNCTION_WORDS]) + h[H_VARIABLE_WORDS]
    strings = (cython.cast(uint64_t, h[H_STRING_BYTES]) + 3) & ~cython.cast(uint64_t, 3)
    # Each thing that is counted has words or bytes of its own, so that no count is beyond the unit's size.
    if (
        h[H_SIZE] > left
        or 4 * words + strings != h[H_SIZE]
        or h[H_TYPES] == 0
        or h[H_TYPES] > h[H_WORDS] + cython.cast(uint64_t, 1)
        or h[H_FUNCTIONS] > h[H_FUNCTION_WORDS]
        or h[H_VARIABLES] > h[H_VARIABLE_WORDS]
        or h[H_STRINGS] > h[H_STRING_BYTES]
        or h[H_INT] >= h[H_TYPES]
        or h[H_NAME] > h[H_STRINGS]
        or h[H_FLAGS] & ~cython.cast(uint32_t, UNIT_TAGS_CUT)
    ):
        return 0
    addresses[0] = h[H_FUNCTIONS] + h[H_VARIABLES]
    return h[H_SIZE]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def given_language(g: cython.pointer[cython.const[GivenUnit]], swap: cython.bint) -> uint32_t:
    language: uint32_t = 0
    wire_load(cython.address(language), g.p + 4 * H_LANGUAGE, 1, swap)
    return language


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def given_partial(g: cython.pointer[cython.const[GivenUnit]]) -> cython.bint:
    partial: uint32_t = 0
    wire_load(cython.address(partial), g.p + 4 * H_COUNTS, 1, False)
    return partial != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follow(r: cython.pointer[Reading], last: uint32_t, sid: uint32_t) -> cython.bint:
    """Notes what came after a string; not of one of a base, which has no entry. False: no memory."""
    size: cython.size_t
    if string_in_base(sid):
        return True
    if last >= r.followers.n:
        size = cython.cast(cython.size_t, last) + 4096
        if not u32s_reserve(cython.address(r.followers), size - r.followers.n):
            return False
        memset(r.followers.p + r.followers.n, 0, (size - r.followers.n) * cython.sizeof(uint32_t))
        r.followers.n = size
    r.followers.p[last] = sid
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_strings(
    r: cython.pointer[Reading],
    g: cython.pointer[cython.const[GivenUnit]],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
) -> cython.int:
    """Ids of all strings, by number. The texts stay where they are.

    Units include the same headers, so after a string mostly comes the one that came after it in the unit before: it is
    compared with that one first, which saves looking for its end, a hash, and a bucket.
    """
    n: uint32_t = r.words.p[H_STRINGS]
    at: cython.p_const_char = cython.cast(cython.p_const_char, g.p + 4 * r.words.n)
    end: cython.p_const_char = at + r.words.p[H_STRING_BYTES]
    nul: cython.p_const_char
    e: cython.pointer[StringEntry]
    sid: uint32_t
    last: uint32_t = 0
    i: uint32_t
    r.strings.n = 0
    if not u32s_reserve(cython.address(r.strings), cython.cast(cython.size_t, n) + 1):
        return no_memory(v)
    r.strings.p[0] = 0
    for i in range(1, n + 1):
        sid = r.followers.p[last] if last < r.followers.n else 0
        if sid:
            e = string_entry(strings, sid)
            if e.size < end - at and at[e.size] == 0 and memcmp(at, e.text, e.size) == 0:
                r.strings.p[i] = last = sid
                at += e.size + 1
                continue
        nul = cython.cast(cython.p_const_char, memchr(at, 0, end - at)) if at < end else cython.NULL
        if nul == cython.NULL or nul == at:
            return damaged(v, H_STRINGS)
        sid = string_intern(strings, at, nul - at, False)
        if sid == NO_STRING or not follow(r, last, sid):
            return no_memory(v)
        r.strings.p[i] = sid
        last = sid if not string_in_base(sid) else 0
        at = nul + 1
    r.strings.n = n + 1
    return 0 if at == end else damaged(v, H_STRING_BYTES)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def named_elements(kind: uint32_t) -> cython.bint:
    """Whether each element of such a type has a name, always."""
    return kind == KIND_ENUM or kind == KIND_ENUM64


@cython.cfunc
@cython.nogil
@cython.inline
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
def name_elements(
    r: cython.pointer[cython.const[Reading]], p: cython.pointer[uint32_t], kind: uint32_t
) -> cython.bint:
    """Names of members, enumerators or parameters. False: one that does not exist."""
    step: uint32_t = wire_each(kind)
    n: uint32_t = wire_vlen(p)
    must: cython.bint = named_elements(kind)
    e: cython.pointer[uint32_t] = p + 3
    i: uint32_t
    for i in range(n):
        if e[0] >= r.strings.n or (must and e[0] == 0):
            return False
        e[0] = r.strings.p[e[0]]
        e += step
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_record(
    r: cython.pointer[cython.const[Reading]], p: cython.pointer[uint32_t], n_types: uint32_t
) -> cython.bint:
    """Checks a record that lies within the unit, and replaces numbers of strings by ids. False: it is damaged."""
    kind: uint32_t = wire_kind(p)
    refs: RefSpan
    q: cython.pointer[uint32_t]
    i: uint32_t
    if p[1] & WIRE_INFO_RESERVED or p[0] >= r.strings.n or not has_right_words(p, kind):
        return False
    refs = wire_refs(p)
    q = refs.p
    for i in range(refs.count):
        if q[0] >= n_types:
            return False
        q += refs.stride
    if wire_each(kind) and not name_elements(r, p, kind):
        return False
    p[0] = r.strings.p[p[0]]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_records(r: cython.pointer[Reading], v: cython.pointer[UnitValue]) -> cython.int:
    """The records of the types, with ids of strings, behind `v.start`."""
    n: cython.size_t = r.words.p[H_WORDS]
    at: cython.size_t = 0
    size: cython.size_t
    id: uint32_t
    p: cython.pointer[uint32_t]
    v.n_types = r.words.p[H_TYPES]
    v.int_id = r.words.p[H_INT]
    v.words.n = v.start
    v.offs.n = 0
    if not u32s_reserve(cython.address(v.words), n) or not u32s_reserve(
        cython.address(v.offs), cython.cast(cython.size_t, v.n_types) + 1
    ):
        return no_memory(v)
    if n:
        memcpy(v.words.p + v.start, r.words.p + H_WORDS_OF_HEAD, n * cython.sizeof(uint32_t))
    v.offs.p[0] = v.start
    for id in range(1, v.n_types):
        p = v.words.p + v.start + at
        size = wire_whole(v.words.p + v.start, at, n)
        if size == 0 or not check_record(r, p, v.n_types):
            return damaged(v, H_WORDS_OF_HEAD + at)
        v.n_arrays += wire_kind(p) == KIND_ARRAY
        v.offs.p[id] = cython.cast(uint32_t, v.start + at)
        at += size
    if at != n:
        return damaged(v, H_WORDS_OF_HEAD + at)
    if v.int_id and wire_kind(v.words.p + v.offs.p[v.int_id]) not in (KIND_INT, KIND_FLOAT):
        return damaged(v, H_INT)
    v.offs.p[v.n_types] = cython.cast(uint32_t, v.start + n)
    v.offs.n = cython.cast(cython.size_t, v.n_types) + 1
    v.words.n = v.start + n
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_tags(r: cython.pointer[Reading], v: cython.pointer[UnitValue]) -> cython.int:
    i: uint32_t
    at: cython.size_t = H_WORDS_OF_HEAD + cython.cast(cython.size_t, r.words.p[H_WORDS])
    p: cython.pointer[uint32_t] = r.words.p + at
    kind: uint32_t
    v.tags.n = 0
    for i in range(r.words.p[H_TAGS]):
        if p[0] == 0 or p[0] >= r.strings.n or p[1] == 0 or p[1] >= v.n_types:
            return damaged(v, p - r.words.p)
        kind = wire_kind(v.words.p + v.offs.p[p[1]])
        if kind != KIND_STRUCT and kind != KIND_UNION and kind != KIND_TYPEDEF and kind != KIND_FWD:
            return damaged(v, p - r.words.p)
        if (
            not u32s_push(cython.address(v.tags), r.strings.p[p[0]])
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
    g: cython.pointer[cython.const[GivenUnit]],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
    swap: cython.bint,
) -> cython.int:
    """See `unit_read.pxd`."""
    h: uint32_t[20]
    n: cython.size_t
    wire_load(cython.address(h[0]), g.p, H_WORDS_OF_HEAD, swap)
    n = H_WORDS_OF_HEAD + cython.cast(cython.size_t, h[H_WORDS]) + 3 * cython.cast(cython.size_t, h[H_TAGS])
    n += cython.cast(cython.size_t, h[H_FUNCTION_WORDS]) + h[H_VARIABLE_WORDS]
    r.words.n = 0
    if not u32s_reserve(cython.address(r.words), n):
        return no_memory(v)
    wire_load(r.words.p, g.p, n, swap)
    r.words.n = n
    if read_strings(r, g, v, strings):
        return 1
    v.name = r.strings.p[h[H_NAME]]
    v.tags_cut = (h[H_FLAGS] & UNIT_TAGS_CUT) != 0
    v.counts[COUNT_PARTIAL] = h[H_COUNTS]
    v.counts[COUNT_SKIPPED_TAGS] = h[H_COUNTS + 1]
    v.counts[COUNT_SIGNATURES_LOST] = h[H_COUNTS + 2]
    return read_records(r, v) or read_tags(r, v)
