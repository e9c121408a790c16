"""Sizes and alignments, as far as a C dump needs them: to see where padding must be written, and what is packed.

BTF has the offset of each member, but neither alignments nor attributes. A member that is not where its type would
be aligned, or a size that is not a multiple of the alignment, tells that the struct is packed.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.btf.kinds import KIND_ARRAY, KIND_ENUM, KIND_ENUM64, KIND_FLOAT, KIND_INT, KIND_PTR
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    chain_next,
    is_chain,
    is_composite,
    member_bits,
    member_offset,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_c import C_CYCLE, C_DEEP, C_MEMORY, MAX_CHAIN, CDump, c_enter, c_fail, c_step
from cython.cimports.pybtf.core.dump.dump_layout import bits_of

COMPUTING = cython.declare(uint32_t, 255)  # in CDump.alignment
LARGEST = cython.declare(int64_t, 0xFFFFFFFF)  # size in bytes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_chains(d: cython.pointer[CDump]) -> cython.int:
    """See to it that whoever follows pointers, typedefs, arrays... arrives, and soon. C_*."""
    id: uint32_t
    at: uint32_t
    length: uint32_t
    steps: uint32_t
    known: cython.pointer[cython.ushort] = cython.cast(
        cython.pointer[cython.ushort], calloc(d.v.n, cython.sizeof(cython.ushort))
    )
    if known == cython.NULL:
        c_fail(d, C_MEMORY, 0)
        return d.status
    for id in range(1, d.v.n):
        at = id
        length = 0
        while at and known[at] == 0 and length <= MAX_CHAIN and is_chain(wire_kind(view_record(d.v, at))):
            at = chain_next(view_record(d.v, at))
            length += 1
        if at and length <= MAX_CHAIN:
            length += known[at]
        if length > MAX_CHAIN:
            steps = 0
            at = id
            while steps < d.v.n and at and is_chain(wire_kind(view_record(d.v, at))):
                at = chain_next(view_record(d.v, at))
                steps += 1
            c_fail(d, C_CYCLE if steps == d.v.n else C_DEEP, id)
            break
        at = id
        while length and known[at] == 0:
            known[at] = cython.cast(cython.ushort, length)
            at = chain_next(view_record(d.v, at))
            length -= 1
    free(known)
    return d.status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_of(d: cython.pointer[cython.const[CDump]], id: uint32_t) -> int64_t:
    """See `dump_layout.pxd`. Also 0 of an array of 4 GiB or more."""
    count: int64_t = 1
    size: int64_t
    kind: uint32_t
    r: cython.pointer[uint32_t]
    while id:
        r = view_record(d.v, id)
        kind = wire_kind(r)
        if kind == KIND_PTR or not is_chain(kind):
            break
        if kind == KIND_ARRAY:
            if r[5] and count > LARGEST // r[5]:
                return 0
            count *= r[5]
        id = chain_next(r)
    if id == 0:
        return 0
    if kind == KIND_PTR:
        size = d.v.pointer_size
    elif (
        is_composite(kind) or kind == KIND_INT or kind == KIND_ENUM or kind == KIND_ENUM64 or kind == KIND_FLOAT
    ):
        size = r[2]
    else:
        return 0
    if count and size > LARGEST // count:
        return 0
    return size * count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widest_bits(d: cython.pointer[CDump], id: uint32_t) -> uint32_t:
    while id and is_chain(wire_kind(view_record(d.v, id))):
        if wire_kind(view_record(d.v, id)) == KIND_PTR or wire_kind(view_record(d.v, id)) == KIND_ARRAY:
            return 0
        id = chain_next(view_record(d.v, id))
    return bits_of(view_record(d.v, id)) if id else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def composite_alignment(d: cython.pointer[CDump], id: uint32_t) -> uint32_t:
    """The largest alignment of a member; 1 of what cannot but be packed; 0 if a member has none."""
    i: uint32_t
    one: uint32_t
    most: uint32_t = 1
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    for i in range(wire_vlen(r)):
        one = alignment_of(d, m[1])
        if one == 0:
            return 0
        if one > most:
            most = one
        if member_bits(r, m) == 0 and member_offset(r, m) % (8 * one):
            return 1
        m += 3
    return 1 if r[2] % most else most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def alignment_of(d: cython.pointer[CDump], id: uint32_t) -> uint32_t:
    """See `dump_layout.pxd`. That of a number is its size, but not more than a pointer has. Types that C could not
    have there set `d.unlike`.
    """
    kind: uint32_t
    known: uint32_t
    r: cython.pointer[uint32_t]
    if not c_step(d, id):
        return 0
    while id:
        r = view_record(d.v, id)
        kind = wire_kind(r)
        if kind == KIND_PTR or not is_chain(kind):
            break
        id = chain_next(r)
    if id == 0:
        d.unlike = True
        return 0
    if kind == KIND_PTR:
        return d.v.pointer_size
    if is_composite(kind):
        known = d.alignment[id]
        if known == COMPUTING:
            c_fail(d, C_CYCLE, id)
            return 0
        if known == 0:
            if not c_enter(d, id):
                return 0
            d.alignment[id] = COMPUTING
            known = composite_alignment(d, id)
            d.alignment[id] = known
            d.depth -= 1
        return known
    if kind == KIND_INT or kind == KIND_ENUM or kind == KIND_ENUM64 or kind == KIND_FLOAT:
        if (kind == KIND_ENUM or kind == KIND_ENUM64) and wire_vlen(r) == 0:
            d.unlike = True
        return r[2] if r[2] < d.v.pointer_size else d.v.pointer_size
    d.unlike = True
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_packed(d: cython.pointer[CDump], id: uint32_t) -> cython.bint:
    i: uint32_t
    one: uint32_t
    most: uint32_t = 1
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    for i in range(wire_vlen(r)):
        one = alignment_of(d, m[1])
        if member_bits(r, m) == 0 and one and member_offset(r, m) % (8 * one):
            return True
        if one > most:
            most = one
        m += 3
    return r[2] % most != 0
