"""From the type list to the bytes of the `.BTF` section: compaction, renumbering, header, strings, byte order.

Survivors of the de-duplication keep their order and get consecutive ids. Strings are written in order of first
insertion, all of them, whether a surviving type uses them or not (Q2).
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import malloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    wire_each,
    wire_fixed,
    wire_kind,
    wire_size,
    wire_third_is_type,
    wire_vlen,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_section import WIRE_HEADER, wire_store, wire_store_header
from cython.cimports.pybtf.core.encode.emit import NO_NUMBER, Layout
from cython.cimports.pybtf.core.encode.encoder import Encoder
from cython.cimports.pybtf.core.strings.string_table import StringEntry, string_entry
from cython.cimports.pybtf.core.support.memory import U8s, U32s

LIMIT = cython.declare(uint64_t, 0xFFFFFFFF)  # bytes of types and strings: offsets in the BTF have 32 bits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_layout(
    e: cython.pointer[cython.const[Encoder]], map: cython.pointer[cython.const[uint32_t]], out: cython.pointer[Layout]
) -> cython.int:
    """Numbers the survivors and measures the output. The caller frees `out.number`. Nonzero: no memory or too large."""
    id: uint32_t
    r: cython.pointer[uint32_t]
    memset(out, 0, cython.sizeof(Layout))
    out.number = cython.cast(cython.pointer[uint32_t], malloc(e.offs.n * cython.sizeof(uint32_t)))
    if out.number == cython.NULL:
        return 1
    out.number[0] = 0
    out.types = 1
    for id in range(1, cython.cast(uint32_t, e.offs.n)):
        if map[id] == id:
            r = e.words.p + e.offs.p[id]
            out.number[id] = out.types
            out.types += 1
            out.type_size += 4 * wire_size(r)
            out.kinds[wire_kind(r)] += 1
        else:
            out.number[id] = NO_NUMBER
    out.string_size = e.string_size
    return out.type_size + out.string_size > LIMIT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_header(
    layout: cython.pointer[cython.const[Layout]], p: cython.pointer[uint8_t], swap: cython.bint
) -> cython.pointer[uint8_t]:
    wire_store_header(
        p, cython.cast(uint32_t, layout.type_size), cython.cast(uint32_t, layout.string_size), swap
    )
    return p + WIRE_HEADER


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put(p: cython.pointer[uint8_t], v: uint32_t) -> cython.pointer[uint8_t]:
    memcpy(p, cython.address(v), 4)
    return p + 4


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def record(
    e: cython.pointer[cython.const[Encoder]],
    number: cython.pointer[uint32_t],
    r: cython.pointer[uint32_t],
    p: cython.pointer[uint8_t],
) -> cython.pointer[uint8_t]:
    """Writes one record; references in `r` are ids of survivors."""
    kind: uint32_t = wire_kind(r)
    vlen: uint32_t = wire_vlen(r)
    at: cython.pointer[uint32_t] = e.string_at.p
    k: uint32_t
    j: uint32_t
    each: uint32_t = wire_each(kind)
    p = put(p, at[r[0]] if r[0] else 0)
    p = put(p, r[1])
    p = put(p, number[r[2]] if wire_third_is_type(kind) else r[2])
    r += 3
    if kind == KIND_ARRAY:
        p = put(p, number[r[0]])
        p = put(p, number[r[1]])
        return put(p, r[2])
    if wire_fixed(kind):
        return put(p, r[0])
    for k in range(vlen if each else 0):
        if kind == KIND_DATASEC:
            p = put(p, number[r[0]])
            p = put(p, r[1])
        else:
            p = put(p, at[r[0]] if r[0] else 0)
            p = put(p, r[1] if kind == KIND_ENUM or kind == KIND_ENUM64 else number[r[1]])
        for j in range(2, each):
            p = put(p, r[j])
        r += each
    return p


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_types(
    e: cython.pointer[cython.const[Encoder]],
    map: cython.pointer[cython.const[uint32_t]],
    layout: cython.pointer[cython.const[Layout]],
    out: cython.pointer[uint8_t],
) -> cython.void:
    """Writes the types to `out`, which has room for `type_size` bytes, in host byte order."""
    id: uint32_t
    for id in range(1, cython.cast(uint32_t, e.offs.n)):
        if map[id] == id:
            out = record(e, layout.number, e.words.p + e.offs.p[id], out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_strings(e: cython.pointer[cython.const[Encoder]], out: cython.p_char) -> cython.void:
    """Writes the strings in their order, after the empty one unless there is a base."""
    i: cython.size_t
    x: cython.pointer[StringEntry]
    if e.base == cython.NULL:
        out[0] = 0
        out += 1
    for i in range(e.string_order.n):
        x = string_entry(e.strings, e.string_order.p[i])
        memcpy(out, x.text, x.size)
        out[x.size] = 0
        out += x.size + 1


@cython.cfunc
def raw_btf(words: cython.pointer[U32s], text: cython.pointer[U8s], swap: cython.bint) -> bytes:
    """BTF of a type and a string section."""
    layout: Layout
    out: cython.pointer[uint8_t]
    layout.type_size = 4 * words.n
    layout.string_size = text.n
    if layout.type_size + layout.string_size > 0xFFFFFFFF:
        raise OverflowError("the BTF would be larger than 4 GiB")
    data = PyBytes_FromStringAndSize(
        cython.NULL, cython.cast(cython.Py_ssize_t, WIRE_HEADER + layout.type_size + layout.string_size)
    )
    out = emit_header(
        cython.address(layout), cython.cast(cython.pointer[uint8_t], cython.cast(cython.p_char, data)), swap
    )
    wire_store(out, words.p, words.n, swap)
    if text.n:
        memcpy(out + layout.type_size, text.p, text.n)
    return data


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_count(out: cython.pointer[Layout], words: cython.pointer[U32s], strings: uint64_t) -> cython.void:
    """The layout's counts become those of these types."""
    at: cython.size_t = 0
    memset(out.kinds, 0, cython.sizeof(out.kinds))
    out.types = 1
    out.type_size = 4 * words.n
    out.string_size = strings
    while at < words.n:
        out.kinds[wire_kind(words.p + at)] += 1
        out.types += 1
        at += wire_words(words.p[at + 1])
