"""Facts of each class, and what is doubtful before any two units are compared.

`measure` looks at every class once: how deep it nests, its hashes, and the name it defines or declares. Then come the
seeds of doubt that certify.py lists: names with several definitions, enumerations that go with more than one, types
that nest too deep, names that one unit has twice.
"""

import cython
from cython.cimports.libc.stdint import uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import NO_UNIT, Encoder
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.hashing import SALT2, fold

DEEP = cython.declare(uint32_t, 14)  # libbpf gives up at 16 (`IDENTICAL_DEPTH`): with two levels to spare


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def key_for(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The kind of key that stands for a type of this class, 0 none."""
    kind: uint32_t = record_kind(r)
    if r[REC_NAME] == 0:
        return 0
    if kind == KIND_FWD:
        return KIND_KEY_UNION if r[REC_KIND] >> 31 else KIND_KEY_STRUCT
    return key_of_kind(kind)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_keys(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """The keys by name, for `find_key`: to look for each in the class table takes longer. Nonzero: no memory."""
    k: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    a.first_key = cython.cast(cython.pointer[uint32_t], calloc(e.strings.n, cython.sizeof(uint32_t)))
    if a.first_key == cython.NULL:
        return 1
    for k in range(1, a.n):
        r = class_record(e.classes, k)
        if is_key(r):
            a.next_key[k] = a.first_key[r[REC_NAME]]
            a.first_key[r[REC_NAME]] = k
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def find_key(e: cython.pointer[Encoder], a: cython.pointer[Analysis], kind: uint32_t, name: uint32_t) -> uint32_t:
    """The key of this kind and name, 0 if there is none."""
    k: uint32_t = a.first_key[name]
    while k and record_kind(class_record(e.classes, k)) != kind:
        k = a.next_key[k]
    return k


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_full(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """A definition, as opposed to a declaration."""
    kind: uint32_t = record_kind(r)
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        return r[REC_COUNT] != 0
    return kind != KIND_FWD


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def note_arrays(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, to: uint32_t) -> cython.void:
    """Class `c` refers to `to`. If that is an array, or leads to one before a name, `c` does."""
    if to and (a.marks[to] & ARRAYS or record_kind(class_record(e.classes, to)) == KIND_ARRAY):
        a.marks[c] |= ARRAYS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Depth, hash without array elements, hash of the chain, and the key of every class."""
    c: uint32_t
    k: uint32_t
    d: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    f: Refs
    kind: uint32_t
    h: uint64_t
    shape: uint64_t
    for c in range(1, a.n):
        r = class_record(e.classes, c)
        kind = record_kind(r)
        refs_of(r, cython.address(f))
        d = a.depth[f.third]
        CHECK(f.third < c, "a class refers to a later one")
        note_arrays(e, a, c, f.third)
        h = fold(r[REC_KIND] * SALT2 + r[REC_NAME], SALT2)
        shape = fold(h + r[REC_COUNT], SALT2)
        if kind == KIND_ARRAY:
            h = fold(h + r[REC_HEAD], SALT2)
        elif f.third:
            h = fold(h + a.blind[f.third], SALT2)
        else:
            h = fold(h + r[REC_THIRD], SALT2)
        if kind != KIND_TYPEDEF:
            shape = fold(shape + (0 if f.third else r[REC_THIRD]), SALT2)
        for k in range(f.n):
            note_arrays(e, a, c, f.first[k * f.step + 1])
            CHECK(f.first[k * f.step + 1] < c, "a class refers to a later one")
            if a.depth[f.first[k * f.step + 1]] > d:
                d = a.depth[f.first[k * f.step + 1]]
            h = fold(h + f.first[k * f.step] + a.blind[f.first[k * f.step + 1]], SALT2)
            shape = fold(shape + f.first[k * f.step], SALT2)
            if f.step == 3:
                h = fold(h + f.first[k * 3 + 2], SALT2)
                shape = fold(shape + f.first[k * 3 + 2], SALT2)
        if kind == KIND_INT or kind == KIND_CYCLE:
            h = fold(h + r[REC_HEAD if kind == KIND_INT else REC_THIRD], SALT2)
        elif kind == KIND_ENUM or kind == KIND_ENUM64:
            for k in range(r[REC_COUNT] * (2 if kind == KIND_ENUM else 3)):
                h = fold(h + r[REC_HEAD + k], SALT2)
        if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FUNC_PROTO:
            d += 1
        a.depth[c] = d if d < 0xFFFF else 0xFFFF
        a.blind[c] = h
        a.shape[c] = shape
        if c < e.first_unit.n and e.first_unit.p[c] != NO_UNIT:
            a.marks[c] |= OCCURS
            if is_full(r):
                a.marks[c] |= FULL
            k = key_for(r)
            if k:
                a.key[c] = find_key(e, a, k, r[REC_NAME])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_members(a: cython.pointer[Analysis], key: uint32_t) -> cython.void:
    """Marks all classes that a key may stand for as wild."""
    c: uint32_t = a.first_member[key]
    while c:
        doubt(a, c, WILD)
        c = a.next_member[c]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_enums(e: cython.pointer[Encoder], a: cython.pointer[Analysis], key: uint32_t) -> cython.void:
    """A name with several definitions as an enumeration. If it is declared as well, they are wild: a declaration goes
    with each of them, whether it comes before or after.
    """
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, key)
    other: uint32_t = 0
    if record_kind(r) == KIND_KEY_ENUM:
        other = find_key(e, a, KIND_KEY_ENUM64, r[REC_NAME])
    if other and a.full[other] + a.declared[other] and a.declared[key] + a.declared[other]:
        doubt_members(a, key)
        doubt_members(a, other)
        a.marks[key] |= LOOSE
        a.marks[other] |= LOOSE
        a.loose = True
    elif a.full[key] > 1:
        if a.declared[key]:
            doubt_members(a, key)
        else:
            doubt(a, key, CONFLICT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_names(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Names with several definitions; `full` and `declared` count by key."""
    c: uint32_t
    other: uint32_t
    kind: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    anonymous_empty: cython.bint = False
    for c in range(1, a.n):
        if not a.marks[c] & OCCURS:
            continue
        kind = record_kind(class_record(e.classes, c))
        if a.key[c]:
            a.next_member[c] = a.first_member[a.key[c]]
            a.first_member[a.key[c]] = c
            if a.marks[c] & FULL:
                a.full[a.key[c]] += 1
            else:
                a.declared[a.key[c]] += 1
        elif (kind == KIND_ENUM or kind == KIND_ENUM64) and not a.marks[c] & FULL:
            anonymous_empty = True
    for c in range(1, a.n):
        r = class_record(e.classes, c)
        kind = record_kind(r)
        if anonymous_empty and (kind == KIND_ENUM or kind == KIND_ENUM64) and r[REC_NAME] == 0:
            doubt(a, c, WILD | LOOSE)
            a.loose = True
        if a.full[c] + a.declared[c] == 0:
            continue
        if kind == KIND_KEY_ENUM or kind == KIND_KEY_ENUM64:
            a.marks[c] |= ENUM_KEY
            doubt_enums(e, a, c)
            continue
        if a.full[c] > 1:
            doubt(a, c, CONFLICT)
        if kind == KIND_KEY_STRUCT:
            other = find_key(e, a, KIND_KEY_UNION, r[REC_NAME])
            if other and a.full[c] and a.full[other]:
                # Then no declaration of either is resolved by name alone, after all types have been compared (Q23).
                doubt(a, c, CONFLICT)
                doubt(a, other, CONFLICT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_users(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """What mentions a loose enumeration, or refers to a loose class without a name in between, is loose: its types,
    too, may be taken for such of another class.
    """
    c: uint32_t
    k: uint32_t
    f: Refs
    loose: uint16_t
    for c in range(1, a.n):
        refs_of(class_record(e.classes, c), cython.address(f))
        loose = a.marks[f.third]
        for k in range(f.n):
            loose |= a.marks[f.first[k * f.step + 1]]
        a.marks[c] |= loose & LOOSE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_units(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """What single units made doubtful: names they have twice, and depth."""
    c: uint32_t
    i: cython.size_t
    for i in range(e.twice.n):
        doubt(a, e.twice.p[i], CONFLICT)
        a.marks[e.twice.p[i]] |= TWICE
    for c in range(1, a.n):
        if a.depth[c] >= DEEP:
            doubt(a, c, WILD)
