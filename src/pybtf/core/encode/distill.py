"""Distilled base: split BTF and the little of its base that it needs, so that it can be matched with another kernel's.

A module that is built apart from its kernel meets kernels whose BTF numbers types differently. So it brings along a
base of its own, which has just what identifies the types it refers to: a struct by its name and size, without members.
At load time the kernel looks those up in its own BTF. What cannot be identified by name (pointers, arrays, prototypes,
typedefs, anonymous structs) moves into the split BTF, with all that it refers to, down to the next name.

Both are new BTFs: references are numbered anew, and strings are inserted anew in the order in which records are copied,
so that, unlike elsewhere, strings that nothing uses vanish.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset, strlen
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    RefSpan,
    wire_info,
    wire_kind,
    wire_names,
    wire_refs,
    wire_words,
)
from cython.cimports.pybtf.core.encode.distill import *
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, string_intern, strings_delete, strings_new
from cython.cimports.pybtf.core.support.memory import (
    u8s_append,
    u8s_free,
    u32s_free,
    u32s_push,
    u32s_reserve,
)

from pybtf.core.btf.read_types import shared_names
from pybtf.errors import Place

TEXT_FREE = cython.declare(uint64_t, 65536)  # bytes of names that are read: so many, and for each byte of strings and
TEXT_PER_BYTE = cython.declare(uint64_t, 16)  # own records
TO_BASE = cython.declare(uint32_t, 0xFFFFFFFF)  # marks in `number`
TO_SPLIT = cython.declare(uint32_t, 0xFFFFFFFE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def where_to(r: cython.pointer[uint32_t]) -> uint32_t:
    """What becomes of a type of the base that is needed: a mark, or 0 if nothing can."""
    kind: uint32_t = wire_kind(r)
    if kind == KIND_VAR or kind == KIND_DATASEC or kind == KIND_FUNC or kind == KIND_DECL_TAG:
        return 0
    if kind == KIND_INT or kind == KIND_FLOAT or kind == KIND_FWD:
        return TO_BASE
    if r[0] and (kind == KIND_STRUCT or kind == KIND_UNION):
        return TO_BASE
    if r[0] and (kind == KIND_ENUM or kind == KIND_ENUM64):
        return TO_BASE if r[2] == 1 or r[2] == 2 or r[2] == 4 or r[2] == 8 else 0
    return TO_SPLIT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark(d: cython.pointer[Distilled], r: cython.pointer[uint32_t]) -> cython.int:
    """Marks what a record refers to, and what that needs. DISTILL_*."""
    refs: RefSpan = wire_refs(r)
    i: uint32_t
    id: uint32_t
    to: uint32_t
    while True:
        for i in range(refs.count):
            id = refs.p[i * refs.stride]
            if id == 0 or id >= d.base.n or d.number.p[id]:
                continue
            r = d.words + d.offs[id]
            to = where_to(r)
            if to == 0:
                d.bad = id
                return DISTILL_KIND
            d.number.p[id] = to
            # A named struct goes to the base without its members.
            if to == TO_SPLIT and not u32s_push(cython.address(d.stack), id):
                return DISTILL_MEMORY
        if d.stack.n == 0:
            return DISTILL_OK
        d.stack.n -= 1
        refs = wire_refs(d.words + d.offs[d.stack.p[d.stack.n]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def renumber(d: cython.pointer[Distilled]) -> cython.void:
    """Marks become ids: of the new base, then, after the own types, of what else is needed."""
    id: uint32_t
    next: uint32_t = 1
    for id in range(1, d.base.n):
        if d.number.p[id] == TO_BASE:
            d.number.p[id] = next
            next += 1
    d.n_base = next
    next += d.n_split
    for id in range(1, d.base.n):
        if d.number.p[id] == TO_SPLIT:
            d.number.p[id] = next
            next += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_name(d: cython.pointer[Distilled], name: uint32_t, split: cython.bint) -> uint32_t:
    """The new offset of the string at an old one. 0 also without memory, or if there are too many bytes of names, which
    `base_text.n` 0 then says. Names may be tails of one string, and each would be written.
    """
    text: cython.p_const_char
    size: cython.size_t
    sid: uint32_t
    n: cython.size_t
    if name == 0:
        return 0
    text = d.strings.text + name if name < d.strings.size else d.own_text + (name - d.strings.size)
    size = strlen(text)
    if size == 0:
        return 0
    if size >= d.text_left:
        d.text_left = d.base_text.n = 0
        return 0
    d.text_left -= size
    sid = string_intern(d.table, text, size, False)
    if sid == NO_STRING:
        d.base_text.n = 0
        return 0
    if sid >= d.at.n:
        n = d.at.n + 1024 + sid
        if not u32s_reserve(cython.address(d.at), n - d.at.n):
            d.base_text.n = 0
            return 0
        memset(d.at.p + d.at.n, 0, (n - d.at.n) * cython.sizeof(uint32_t))
        d.at.n = n
    if d.at.p[sid] == 0:
        d.at.p[sid] = cython.cast(uint32_t, d.base_text.n + d.split_text.n)
        if not u8s_append(
            cython.address(d.split_text) if split else cython.address(d.base_text), text, size + 1
        ):
            d.base_text.n = 0
    return d.at.p[sid]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy(
    d: cython.pointer[Distilled], r: cython.pointer[cython.const[uint32_t]], to: cython.pointer[U32s]
) -> cython.int:
    """Appends a record, with its names and references anew. DISTILL_*."""
    split: cython.bint = to == cython.address(d.split_words)
    size: cython.size_t = wire_words(r[1])
    i: cython.size_t
    id: uint32_t
    w: cython.pointer[uint32_t]
    names: RefSpan
    refs: RefSpan
    if not u32s_reserve(to, size):
        return DISTILL_MEMORY
    w = to.p + to.n
    for i in range(size):
        w[i] = r[i]
    to.n += size
    w[0] = new_name(d, w[0], split)
    names = wire_names(w)
    for i in range(names.count):
        names.p[i * names.stride] = new_name(d, names.p[i * names.stride], split)
    refs = wire_refs(w)
    for i in range(refs.count):
        id = refs.p[i * refs.stride]
        if id < d.base.n:
            refs.p[i * refs.stride] = d.number.p[id]
        else:
            refs.p[i * refs.stride] = d.n_base + (id - d.base.n)
    if d.base_text.n == 0:
        return DISTILL_MEMORY if d.text_left else DISTILL_NAMES
    return DISTILL_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def outline(d: cython.pointer[Distilled], r: cython.pointer[cython.const[uint32_t]]) -> cython.int:
    """Appends to the base what identifies a type. DISTILL_*."""
    kind: uint32_t = wire_kind(r)
    words: uint32_t[3]
    if kind == KIND_INT or kind == KIND_FLOAT or kind == KIND_FWD:
        return copy(d, r, cython.address(d.base_words))
    words[0] = r[0]
    words[1] = wire_info(KIND_ENUM if kind == KIND_ENUM64 else kind, 0)
    words[2] = r[2]
    return copy(d, words, cython.address(d.base_words))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill(d: cython.pointer[Distilled]) -> cython.int:
    """All of `distill` but its limit and errors. DISTILL_*."""
    id: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    end: cython.pointer[cython.const[uint32_t]] = d.own + d.n_own
    status: cython.int = DISTILL_OK
    d.table = strings_new(1024)
    if (
        d.table == cython.NULL
        or not u32s_reserve(cython.address(d.number), d.base.n)
        or not u8s_append(cython.address(d.base_text), b"", 1)
    ):
        return DISTILL_MEMORY
    memset(d.number.p, 0, d.base.n * cython.sizeof(uint32_t))
    r = d.own
    while r < end and status == DISTILL_OK:
        status = mark(d, cython.cast(cython.pointer[uint32_t], r))
        r += wire_words(r[1])
        d.n_split += 1
    if status == DISTILL_OK:
        renumber(d)
    for id in range(1, d.base.n):
        if status == DISTILL_OK and 0 < d.number.p[id] < d.n_base:
            status = outline(d, d.words + d.offs[id])
    r = d.own
    while r < end and status == DISTILL_OK:
        status = copy(d, r, cython.address(d.split_words))
        r += wire_words(r[1])
    for id in range(1, d.base.n):
        if status == DISTILL_OK and d.number.p[id] >= d.n_base:
            status = copy(d, d.words + d.offs[id], cython.address(d.split_words))
    return status


@cython.cfunc
@cython.exceptval(-1, check=False)
def distill(d: cython.pointer[Distilled], size: uint64_t, file: object) -> cython.bint:
    """See distill.pxd."""
    status: cython.int
    d.text_left = TEXT_FREE + TEXT_PER_BYTE * size
    with cython.nogil:
        status = fill(d)
    if status == DISTILL_MEMORY:
        raise MemoryError
    if status == DISTILL_NAMES:
        raise shared_names(Place(file, "strings"))
    return status == DISTILL_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def distill_free(d: cython.pointer[Distilled]) -> cython.void:
    u32s_free(cython.address(d.number))
    u32s_free(cython.address(d.stack))
    u32s_free(cython.address(d.at))
    u32s_free(cython.address(d.base_words))
    u32s_free(cython.address(d.split_words))
    u8s_free(cython.address(d.base_text))
    u8s_free(cython.address(d.split_text))
    strings_delete(d.table)
