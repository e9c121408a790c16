"""From the type list of an encoding on a base to the bytes of split BTF.

Records of the base name strings by their offset in its string section. For equal names to be equal words, own records
must do the same before the de-duplication. (Without a base it works on string ids, which serve as well when there are
no others.) What survives only has to be moved together: references are final ids or ids of survivors, whose numbers
continue where those of the base end.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import malloc
from cython.cimports.libc.string import memmove, memset
from cython.cimports.pybtf.core.btf.record_layout import (
    RefSpan,
    wire_kind,
    wire_names,
    wire_refs,
    wire_size,
)
from cython.cimports.pybtf.core.encode.emit import NO_NUMBER, Layout
from cython.cimports.pybtf.core.encode.encoder import Encoder
from cython.cimports.pybtf.core.strings.string_table import IN_BASE, string_in_base

LIMIT = cython.declare(uint64_t, 0xFFFFFFFF)  # as in emit.py


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def offset_of(at: cython.pointer[cython.const[uint32_t]], sid: uint32_t) -> uint32_t:
    return sid - IN_BASE if string_in_base(sid) else at[sid]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split_names(e: cython.pointer[Encoder]) -> cython.void:
    """In the records that were added after those of the units, names are string ids, which become offsets here. Those
    of the units have offsets already (append_all.py).
    """
    at: cython.pointer[uint32_t] = e.string_at.p
    r: cython.pointer[uint32_t]
    id: uint32_t
    k: uint32_t
    names: RefSpan
    for id in range(cython.cast(uint32_t, e.named), cython.cast(uint32_t, e.offs.n)):
        r = e.words.p + e.offs.p[id]
        if r[0]:
            r[0] = offset_of(at, r[0])
        names = wire_names(r)
        for k in range(names.count):
            if names.p[names.stride * k]:
                names.p[names.stride * k] = offset_of(at, names.p[names.stride * k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split_layout(
    e: cython.pointer[Encoder],
    first: uint32_t,
    strings: uint32_t,
    map: cython.pointer[cython.const[uint32_t]],
    out: cython.pointer[Layout],
) -> cython.int:
    """Moves the survivors from id `first` on together, renumbered, and measures the output.

    `strings`: length of the base's strings. They begin at `e.words.p + e.offs.p[first]`, if there are any. The caller
    frees `out.number`. Nonzero: no memory or too large.
    """
    n: uint32_t = cython.cast(uint32_t, e.offs.n)
    id: uint32_t
    i: uint32_t
    size: uint32_t
    r: cython.pointer[uint32_t]
    p: cython.pointer[uint32_t]
    to: cython.pointer[uint32_t]
    refs: RefSpan
    memset(out, 0, cython.sizeof(Layout))
    out.types = 1
    out.string_size = e.string_size - strings
    if n == first:
        return out.string_size > LIMIT
    out.number = cython.cast(cython.pointer[uint32_t], malloc((n - first) * cython.sizeof(uint32_t)))
    if out.number == cython.NULL:
        return 1
    for id in range(first, n):
        if map[id] == id:
            out.number[id - first] = first + out.types - 1
            out.types += 1
        else:
            out.number[id - first] = NO_NUMBER
    to = e.words.p + e.offs.p[first]
    for id in range(first, n):
        if map[id] != id:
            continue
        r = e.words.p + e.offs.p[id]
        size = wire_size(r)
        out.kinds[wire_kind(r)] += 1
        out.type_size += 4 * size
        refs = wire_refs(r)
        p = refs.p
        for i in range(refs.count):
            if p[0] >= first:
                p[0] = out.number[p[0] - first]
            p += refs.stride
        memmove(to, r, 4 * size)
        to += size
    return out.type_size + out.string_size > LIMIT
