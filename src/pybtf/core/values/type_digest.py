"""Digests of types: what a class is, in 128 bits that mean the same in every object.

A class record (class_record.pxd) describes a type by ids of strings and of other classes, which are a matter of one
process. Its digest is taken of the texts of the names and of the digests of the classes instead. Two types of any two
objects that have one digest are therefore of one class, and `pybtf merge` knows the class of nearly every type by
looking its digest up (known_types.py), without reading its record.

That is as sure as 128 bits are: the digest mixes each word into two independent halves by multiplications of 128
bits. It protects against accidents, not against somebody who makes up objects, and who could as well write wrong types
into them.

A type that reaches itself without passing a name has a class of its own in each unit (KIND_CYCLE), and so has all that
refers to it. These have no digest: it is 0, and their records are read.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_FUNC_PROTO,
    KIND_STRUCT,
    KIND_UNION,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_fixed, wire_third_is_type
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.strings.string_table import Strings, Text, string_text
from cython.cimports.pybtf.core.support.hashing import fold
from cython.cimports.pybtf.core.support.memory import u64s_free, u64s_reserve
from cython.cimports.pybtf.core.values.type_digest import Digests

# Odd numbers without pattern: digits of pi and e.
LOW = cython.declare(uint64_t, 0x243F6A8885A308D3)
HIGH = cython.declare(uint64_t, 0x13198A2E03707345)
LOW_FACTOR = cython.declare(uint64_t, 0xB7E151628AED2A6B)
HIGH_FACTOR = cython.declare(uint64_t, 0xBF7158809CF4F3C7)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def digests_free(d: cython.pointer[Digests]) -> cython.void:
    u64s_free(cython.address(d.of))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def mix(state: cython.pointer[uint64_t], word: uint64_t) -> cython.void:
    """One more word into both halves."""
    state[0] = fold(state[0] ^ word, LOW_FACTOR) + state[1]
    state[1] = fold(state[1] ^ word ^ HIGH, HIGH_FACTOR) ^ state[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mix_text(
    state: cython.pointer[uint64_t],
    d: cython.pointer[Digests],
    strings: cython.pointer[cython.const[Strings]],
    sid: uint32_t,
) -> cython.void:
    """A name: its size, then its bytes, eight to a word, the first one highest; the last word has what is left.

    It is read wherever it stands, and a long one may stand in very many places.
    """
    x: Text
    i: cython.size_t
    word: uint64_t = 0
    x.size = 0
    if sid:
        x = string_text(strings, sid)
    if x.size > d.text_left:
        d.too_long = True
        return
    d.text_left -= x.size
    mix(state, x.size)
    for i in range(x.size):
        word = word << 8 | cython.cast(cython.uchar, x.text[i])
        if i % 8 == 7:
            mix(state, word)
            word = 0
    if x.size % 8:
        mix(state, word)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mix_class(
    state: cython.pointer[uint64_t], d: cython.pointer[cython.const[Digests]], class_: uint32_t
) -> cython.bint:
    """A reference. False: to a class without a digest."""
    if class_ == 0:
        mix(state, 0)
        return True
    mix(state, d.of.p[2 * class_])
    mix(state, d.of.p[2 * class_ + 1])
    return (d.of.p[2 * class_] | d.of.p[2 * class_ + 1]) != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mix_record(
    state: cython.pointer[uint64_t],
    d: cython.pointer[Digests],
    r: cython.pointer[cython.const[uint32_t]],
    strings: cython.pointer[cython.const[Strings]],
) -> cython.bint:
    """All of a class. False: it has no digest."""
    kind: uint32_t = record_kind(r)
    step: uint32_t = wire_each(kind)
    refers: cython.bint = kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FUNC_PROTO
    e: cython.pointer[cython.const[uint32_t]] = r + REC_HEAD
    i: uint32_t
    k: uint32_t
    if kind == KIND_CYCLE or kind == KIND_VARIANT:
        return False
    mix(state, cython.cast(uint64_t, r[REC_KIND]) << 32 | r[REC_COUNT])
    mix_text(state, d, strings, r[REC_NAME])
    if kind >= KIND_KEY_STRUCT:  # a name, and no more
        return True
    if kind == KIND_ARRAY or wire_third_is_type(kind):
        if not mix_class(state, d, r[REC_THIRD]):
            return False
    else:
        mix(state, r[REC_THIRD])
    if wire_fixed(kind):
        mix(state, e[0])
    elif step:
        for i in range(r[REC_COUNT]):
            mix_text(state, d, strings, e[0])
            if refers and not mix_class(state, d, e[1]):
                return False
            for k in range(2 if refers else 1, step):
                mix(state, e[k])
            e += step
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def record_digest(
    d: cython.pointer[Digests],
    record: cython.pointer[cython.const[uint32_t]],
    strings: cython.pointer[cython.const[Strings]],
    digest: cython.pointer[uint64_t],
) -> cython.void:
    """See `type_digest.pxd`."""
    digest[0] = LOW
    digest[1] = HIGH
    if not mix_record(digest, d, record, strings):
        digest[0] = digest[1] = 0
    elif (digest[0] | digest[1]) == 0:
        digest[0] = 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def digests_extend(
    d: cython.pointer[Digests],
    classes: cython.pointer[cython.const[ClassTable]],
    strings: cython.pointer[cython.const[Strings]],
) -> cython.bint:
    """See `type_digest.pxd`. A class refers to older ones only, so that one pass upwards does."""
    class_: uint32_t
    if not u64s_reserve(cython.address(d.of), 2 * cython.cast(cython.size_t, classes.n) - d.of.n):
        return False
    for class_ in range(cython.cast(uint32_t, d.of.n // 2), classes.n):
        if class_ == 0:
            d.of.p[0] = d.of.p[1] = 0
        else:
            record_digest(d, class_record(classes, class_), strings, d.of.p + 2 * class_)
            if d.too_long:
                return False
        d.of.n += 2
    return True
