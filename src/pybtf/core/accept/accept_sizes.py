"""Which types have a size: what a member, an element, a variable, a parameter may be of."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.accept.accept import (
    BAD,
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_INT,
    KIND_PTR,
    KIND_STRUCT,
    KIND_UNION,
    KIND_VAR,
    NO_KIND,
    Layer,
    end_of,
    kind_of,
    layer_of,
    modifies,
    record_of,
    state_of,
)
from cython.cimports.pybtf.core.accept.accept_sizes import SIZED, UNKNOWN, UNSIZED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_itself(
    y: cython.pointer[cython.const[Layer]], id: uint32_t, kind: uint32_t, size: cython.pointer[uint32_t]
) -> cython.bint:
    """The size of a type that is not a modifier; whether it has one. Of an array that is not resolved it is 0."""
    layer: cython.pointer[cython.const[Layer]]
    if (
        kind == KIND_INT or kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_ENUM or kind == KIND_ENUM64
        or kind == KIND_FLOAT or kind == KIND_DATASEC
    ):  # fmt: skip
        size[0] = record_of(y, id)[2]
        return True
    if kind == KIND_ARRAY:
        layer = layer_of(y, id)
        size[0] = layer.sizes[id - layer.first]
        return True
    if kind == KIND_PTR:
        size[0] = y.pointer
        return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sized(
    y: cython.pointer[cython.const[Layer]], id: uint32_t, end: cython.pointer[uint32_t], size: cython.pointer[uint32_t]
) -> cython.int:
    """Whether a type has a size, itself or as what a modifier or variable that is resolved leads to, which `end` is."""
    kind: uint32_t = kind_of(y, id)
    end[0] = id
    size[0] = 0
    if kind == 0 or kind == NO_KIND:
        return UNSIZED
    if size_itself(y, id, kind, size):
        return UNKNOWN if kind == KIND_ARRAY and state_of(y, id) == BAD else SIZED
    if not modifies(kind) and kind != KIND_VAR:
        return UNSIZED
    if state_of(y, id) == BAD:
        return UNKNOWN
    end[0] = end_of(y, id)
    kind = kind_of(y, end[0])
    if kind == 0 or kind == NO_KIND or not size_itself(y, end[0], kind, size):
        return UNSIZED
    return UNKNOWN if kind == KIND_ARRAY and state_of(y, end[0]) == BAD else SIZED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_regular(y: cython.pointer[cython.const[Layer]], r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """Whether an INT has all bits of its bytes, and as many of these as registers have."""
    bits: uint32_t = r[3] & 0xFF
    if r[3] >> 16 & 0xFF:
        return False
    return bits == 8 or bits == 16 or bits == 32 or bits == 64 or (bits == 128 and y.version >= 501)
