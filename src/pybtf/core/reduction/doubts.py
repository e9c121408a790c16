"""Facts of each class, and what is doubtful before any two units are compared.

`measure` looks at every class once: how deep it nests, its hashes, and the *key* of the name it defines or declares: as
the page has it, a name, which is the kind of a struct, union or enumeration and what it is called. `struct a;` declares
it, `struct a {...}` defines it (`FULL`). Both are classes that the key may stand for, its *members* (`first_member`);
classes refer to the key, never to these. Typedefs have no key: they are content like members of a struct.

Then come the seeds of doubt that certify.py lists, as marks of keys (CONFLICT: it does not mean the same everywhere) or
of classes (WILD: a comparison depends on more than the class):

- a name with several definitions (`doubt_names`), or that one unit has twice (`doubt_units`): its key is CONFLICT;
- an enumeration that goes with more than one, as it is declared or empty: its classes are WILD, and LOOSE is what may
  be taken for a type of another class because of it (`doubt_enums`, `spread_loose`);
- what nests too deep: its class is WILD (`doubt_units`).

If there is no seed, and nothing in array_masking.py, dropping all repeats is right, and certify.py is done.
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
def kind_of_key(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The kind of the key that stands for types of this class; 0: none does."""
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
@cython.inline
@cython.exceptval(check=False)
def measure_way(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, f: cython.pointer[Refs]
) -> cython.void:
    """How deep class `c` nests, and whether it leads to an array, by what it refers to: a name ends each way."""
    kind: uint32_t = record_kind(class_record(e.classes, c))
    k: uint32_t
    to: uint32_t
    deepest: uint32_t = a.depth[f.third]
    CHECK(f.third < c, "a class refers to a later one")
    note_arrays(e, a, c, f.third)
    for k in range(f.n):
        to = f.first[k * f.step + 1]
        CHECK(to < c, "a class refers to a later one")
        note_arrays(e, a, c, to)
        if a.depth[to] > deepest:
            deepest = a.depth[to]
    a.depth[c] = deepest + (kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FUNC_PROTO)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def measure_content(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, f: cython.pointer[Refs]
) -> cython.void:
    """The two hashes of class `c`: `shape`, of what chooses the chain of candidates, which is all words of a record but
    references; and `blind`, of all content down to names, but for the elements of arrays.
    """
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, c)
    kind: uint32_t = record_kind(r)
    k: uint32_t
    h: uint64_t = fold(r[REC_KIND] * SALT2 + r[REC_NAME], SALT2)
    shape: uint64_t = fold(h + r[REC_COUNT], SALT2)
    if kind == KIND_ARRAY:
        h = fold(h + r[REC_HEAD], SALT2)
    elif f.third:
        h = fold(h + a.blind[f.third], SALT2)
    else:
        h = fold(h + r[REC_THIRD], SALT2)
    if kind != KIND_TYPEDEF:
        shape = fold(shape + (0 if f.third else r[REC_THIRD]), SALT2)
    for k in range(f.n):
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
    a.blind[c] = h
    a.shape[c] = shape


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """The facts of every class, in the order of ids: what a class refers to has been measured before it."""
    c: uint32_t
    k: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    f: Refs
    for c in range(1, a.n):
        r = class_record(e.classes, c)
        refs_of(r, cython.address(f))
        measure_way(e, a, c, cython.address(f))
        measure_content(e, a, c, cython.address(f))
        if c < e.first_unit.n and e.first_unit.p[c] != NO_UNIT:
            a.marks[c] |= OCCURS
            if is_full(r):
                a.marks[c] |= FULL
            k = kind_of_key(r)
            if k:
                a.key[c] = find_key(e, a, k, r[REC_NAME])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_all(a: cython.pointer[Analysis], key: uint32_t) -> cython.void:
    """Marks all classes that a key may stand for as wild, the declaration among them."""
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
        doubt_all(a, key)
        doubt_all(a, other)
        a.marks[key] |= LOOSE
        a.marks[other] |= LOOSE
        a.loose = True
    elif a.full[key] > 1:
        if a.declared[key]:
            doubt_all(a, key)
        else:
            doubt(a, key, CONFLICT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_names(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Lists and counts the classes of each key (`first_member`; `full`, `declared`), and marks those keys CONFLICT of
    which several are definitions. Enumerations without a name: wild, if one is empty.
    """
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
def spread_loose(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
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
    """Names that a unit has twice, as the encoder has noted them (`twice`); and classes that nest too deep."""
    c: uint32_t
    i: cython.size_t
    for i in range(e.twice.n):
        doubt(a, e.twice.p[i], CONFLICT)
        a.marks[e.twice.p[i]] |= TWICE
    for c in range(1, a.n):
        if a.depth[c] >= DEEP:
            doubt(a, c, WILD)
