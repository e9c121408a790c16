"""What no kernel notices: names that begin in the middle of one of the base's, members over each other, types unsorted.

Encoders do not share the tails of strings. So where a name of split BTF begins in the middle of a string of the base,
the base is another one.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import strncmp
from cython.cimports.pybtf.core.accept.accept import (
    BAD,
    KIND_DATASEC,
    KIND_STRUCT,
    NO_KIND,
    R_MIDDLE,
    R_OVERLAP,
    R_UNSORTED,
    Layer,
    add,
    kind_of,
    record_of,
    text_of,
    vlen_of,
    wire_each,
)
from cython.cimports.pybtf.core.accept.accept_sizes import SIZED, sized

COMPARED = cython.declare(cython.size_t, 1024)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def in_middle(y: cython.pointer[cython.const[Layer]], offset: uint32_t) -> cython.bint:
    return 0 < offset < y.text_first and y.base.text[offset - 1] != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_overlap(y: cython.pointer[Layer], id: uint32_t, r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """A member that reaches over the beginning of the next one, which is not at the same place."""
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    flag: cython.bint = r[1] >> 31
    i: uint32_t
    end: uint32_t
    size: uint32_t
    bits: uint64_t
    offset: uint64_t
    after: uint64_t
    for i in range(1, vlen_of(y, r)):
        offset = m[2] & 0xFFFFFF if flag else m[2]
        after = m[5] & 0xFFFFFF if flag else m[5]
        if after > offset and kind_of(y, m[1]) != NO_KIND:
            bits = m[2] >> 24 if flag else 0
            if bits == 0 and sized(y, m[1], cython.address(end), cython.address(size)) == SIZED:
                bits = 8 * cython.cast(uint64_t, size)
            if offset + bits > after and (flag or not (after & 7 or offset & 7)):
                add(y, R_OVERLAP, id, i, after)
        m += 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_fit(y: cython.pointer[Layer]) -> cython.void:
    """Of split BTF, resolved."""
    id: uint32_t
    kind: uint32_t
    each: uint32_t
    i: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    e: cython.pointer[cython.const[uint32_t]]
    for id in range(y.first, y.end):
        r = record_of(y, id)
        kind = kind_of(y, id)
        if in_middle(y, r[0]):
            add(y, R_MIDDLE, id, 0, r[0])
        each = wire_each(kind)
        if each and kind != KIND_DATASEC:
            e = r + 3
            for i in range(vlen_of(y, r)):
                if in_middle(y, e[0]):
                    add(y, R_MIDDLE, id, i + 1, e[0])
                e += each
        if kind == KIND_STRUCT and y.state[id - y.first] != BAD:
            check_overlap(y, id, r)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_sorted(y: cython.pointer[Layer]) -> cython.void:
    """Types without a name first, the others in the order of their names: kernels since 7.0 search by halves."""
    id: uint32_t
    name: uint32_t
    before: uint32_t = 0
    for id in range(y.first, y.end):
        name = record_of(y, id)[0]
        if name >= y.text_end:
            return
        if name != before and strncmp(text_of(y, name), text_of(y, before), COMPARED) < 0:
            add(y, R_UNSORTED, id, 0, 0)
            return
        before = name
