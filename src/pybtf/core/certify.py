# cython: annotation_typing=True
"""Which units must be kept whole for the result to be the reference's.

stream.py drops a type if an earlier unit had one of the same class. That changes nothing if every type of the
class is bound to end up as one and the same type whatever the order of events in the de-duplication. This file
finds the classes for which that is *not* certain; the units that contain them are decoded again and kept whole, so
the de-duplication sees everything that could make it decide one way or another. Certainty is lost where

- a name has several definitions (struct, union, enumeration), or is a struct here and a union there, or an
  enumeration of 32 bits here and of 64 there: what a reference to the name means then depends on the unit. Unless
  all definitions but one keep to themselves (seclude.py);
- an anonymous enumeration is empty: it is compatible with every other one;
- a unit has a named struct or union twice, or a type that reaches itself without passing a name, or nests deeper
  than the reference's comparison of "identical" types goes: two equal types of one unit may then be taken for
  different;
- two different types may be taken for equal, because that comparison does not look at the elements of arrays: it
  matters only for types that differ in nothing but array elements, and only if such an array can have been
  compared with something else before (masking.py).

Uncertainty is contagious: a type that reaches an uncertain one is uncertain. In a kernel a dozen private structs
of drivers are uncertain, and nothing reaches them. In the last two cases the comparison may also depend on types
that are certain themselves, in units that are reached through declarations; so those units are kept whole as well.

Why the rest is certain: two types of one class agree in everything down to the names they mention, and every name
in reach has one meaning. So they are equivalent, whatever was decided before; the first of them becomes the
canonical one, as only types that come first can be matched by later ones; and repeats never enter the table of
candidates, so they do not move its growth either. The proof in full is in docs/design.md.

Class ids of a record's references are always smaller than its own, so one pass upwards sees targets before users.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.classes import class_find
from cython.cimports.pybtf.core.encoder import ENCODE_MEMORY, NO_UNIT, Encoder, Stream, encoder_fail
from cython.cimports.pybtf.core.hashing import SALT2, fold
from cython.cimports.pybtf.core.masking import doubt_arrays
from cython.cimports.pybtf.core.memory import u32s_free, u32s_push, u64s_free
from cython.cimports.pybtf.core.records import *
from cython.cimports.pybtf.core.seclude import confirm, seclude, settle_elsewhere

DEEP = cython.declare(uint32_t, 14)  # the reference gives up at 16
# Steps of comparison and spreading: types can be written that take a number of them that grows with the square of the
# file. When they are used up, nothing is certain, and all units are kept whole, which is always right.
EFFORT_BASE = cython.declare(uint64_t, 1 << 27)
EFFORT_PER_CLASS = cython.declare(uint64_t, 256)

@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refs_of(r: cython.pointer[cython.const[uint32_t]], out: cython.pointer[Refs]) -> cython.void:
    """Where the references of a record are: `third`, and `n` words from `first` on, `step` apart."""
    kind: uint32_t = record_kind(r)
    out.third = 0
    out.n = 0
    out.first = r + REC_HEAD
    out.step = 3
    if kind == KIND_STRUCT or kind == KIND_UNION:
        out.n = r[REC_COUNT]
    elif kind == KIND_FUNC_PROTO:
        out.third = r[REC_THIRD]
        out.n = r[REC_COUNT]
        out.step = 2
    elif (
        kind == KIND_PTR
        or kind == KIND_ARRAY
        or kind == KIND_TYPEDEF
        or kind == KIND_VOLATILE
        or kind == KIND_CONST
        or kind == KIND_RESTRICT
        or kind == KIND_TYPE_TAG
    ):
        out.third = r[REC_THIRD]


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
def find_key(e: cython.pointer[Encoder], kind: uint32_t, name: uint32_t) -> uint32_t:
    record: uint32_t[4]
    record[REC_KIND] = kind
    record[REC_NAME] = name
    record[REC_THIRD] = 0
    record[REC_COUNT] = 0
    return class_find(e.classes, record, REC_HEAD)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_full(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """A definition, as opposed to a declaration."""
    kind: uint32_t = record_kind(r)
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        return r[REC_COUNT] != 0
    return kind != KIND_FWD


# ---- facts of every class ---------------------------------------------------------------------------------


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
            k = key_for(r)
            if k:
                a.key[c] = find_key(e, k, r[REC_NAME])


# ---- where certainty is lost -------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt(a: cython.pointer[Analysis], c: uint32_t, mark: uint8_t) -> cython.void:
    if c:
        a.marks[c] |= mark
        a.seeds += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def contest(a: cython.pointer[Analysis], key: uint32_t) -> cython.int:
    """Puts the key of a struct or union on the list, once. Nonzero: no memory."""
    if a.marks[key] & CONTESTED:
        return 0
    a.marks[key] |= CONTESTED
    return not u32s_push(cython.address(a.contested), key)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_names(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Names with several meanings; `full` and `declared` count by key. Nonzero: no memory."""
    c: uint32_t
    key: uint32_t
    other: uint32_t
    kind: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    anonymous_empty: cython.bint = False
    for c in range(1, a.n):
        if not a.marks[c] & OCCURS:
            continue
        r = class_record(e.classes, c)
        kind = record_kind(r)
        if a.key[c]:
            if is_full(r):
                a.full[a.key[c]] += 1
            else:
                a.declared[a.key[c]] += 1
        elif (kind == KIND_ENUM or kind == KIND_ENUM64) and r[REC_COUNT] == 0:
            anonymous_empty = True
    for c in range(1, a.n):
        r = class_record(e.classes, c)
        kind = record_kind(r)
        if anonymous_empty and (kind == KIND_ENUM or kind == KIND_ENUM64) and r[REC_NAME] == 0:
            doubt(a, c, UNCERTAIN)
        if a.full[c] + a.declared[c] == 0:
            continue
        key = c
        if a.full[key] > 1:
            if kind == KIND_KEY_STRUCT or kind == KIND_KEY_UNION:
                if contest(a, key):
                    return 1
            else:
                doubt(a, key, UNCERTAIN)
        if kind == KIND_KEY_STRUCT:
            other = find_key(e, KIND_KEY_UNION, r[REC_NAME])
        elif kind == KIND_KEY_ENUM:
            other = find_key(e, KIND_KEY_ENUM64, r[REC_NAME])
        else:
            continue
        if other == 0 or a.full[other] + a.declared[other] == 0:
            continue
        if kind == KIND_KEY_STRUCT and (a.full[key] == 0 or a.full[other] == 0):
            continue  # a name that is declared as the one and defined as the other: nothing is ambiguous
        doubt(a, key, UNCERTAIN)
        doubt(a, other, UNCERTAIN)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def spend(a: cython.pointer[Analysis], steps: uint64_t) -> cython.bint:
    """Whether so many more steps may be taken."""
    if a.effort < steps:
        a.tired = True
        a.effort = 0
        return False
    a.effort -= steps
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def visit(a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    if c == 0 or a.visited[c] == a.stamp:
        return 0
    a.visited[c] = a.stamp
    return 0 if u32s_push(cython.address(a.todo), c) else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push_targets(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    """Everything class `c` refers to; for a key, all that it may stand for. Nonzero: no memory."""
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, c)
    f: Refs
    k: uint32_t
    m: uint32_t
    refs_of(r, cython.address(f))
    if visit(a, f.third) < 0:
        return 1
    for k in range(f.n):
        if visit(a, f.first[k * f.step + 1]) < 0:
            return 1
    m = a.first_member[c]
    while m:
        if visit(a, m) < 0:
            return 1
        m = a.next_member[m]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_units(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """What single units made doubtful: names they have twice, cycles, depth. Nonzero: no memory."""
    c: uint32_t
    i: cython.size_t
    for i in range(e.twice.n):
        if contest(a, e.twice.p[i]):
            return 1
        a.marks[e.twice.p[i]] |= TWICE
    for c in range(1, a.n):
        if a.depth[c] >= DEEP or (e.cycles and record_kind(class_record(e.classes, c)) == KIND_CYCLE):
            doubt(a, c, UNCERTAIN | DEPENDENT)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_contested(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Contested names, unless what is odd about them stays among a few units (seclude.py). Nonzero: no memory."""
    i: cython.size_t
    key: uint32_t
    c: uint32_t
    marks: uint8_t
    found: cython.int
    twice: cython.bint
    for i in range(a.contested.n):
        key = a.contested.p[i]
        marks = a.marks[key]
        c = a.first_member[key]
        while c:
            marks |= a.marks[c]
            c = a.next_member[c]
        twice = (marks & TWICE) != 0
        found = 0
        if not marks & (UNCERTAIN | DEPENDENT) and not e.cycles and not a.tired:
            found = seclude(e, a, key, twice)
        if found < 0:
            return 1
        if found == 0:
            doubt(a, key, UNCERTAIN | DEPENDENT if twice else UNCERTAIN)
        else:
            a.seeds += 1
    return settle_elsewhere(e, a)


# ---- how far doubt spreads -----------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Marks everything that reaches a marked class.

    References point downwards, so one pass upwards settles all but what passes a key; hence until nothing changes.
    """
    c: uint32_t
    k: uint32_t
    marks: uint8_t
    changed: cython.bint = True
    f: Refs
    while changed and not a.tired:
        changed = False
        for c in range(1, a.n):
            refs_of(class_record(e.classes, c), cython.address(f))
            if not spend(a, 1 + f.n):
                return
            marks = a.marks[f.third]
            for k in range(f.n):
                marks |= a.marks[f.first[k * f.step + 1]]
            if a.key[c]:
                marks |= a.marks[a.key[c]]
            marks = (marks | a.marks[c]) & (UNCERTAIN | DEPENDENT)
            if marks & ~a.marks[c]:
                a.marks[c] |= marks
                changed = True
            if a.key[c] and marks & ~a.marks[a.key[c]]:
                a.marks[a.key[c]] |= marks
                changed = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reach(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks everything in reach of a dependent class. Nonzero: no memory."""
    c: uint32_t
    a.stamp += 1
    a.todo.n = 0
    for c in range(1, a.n):
        if a.marks[c] & DEPENDENT and visit(a, c) < 0:
            return 1
    while a.todo.n:
        a.todo.n -= 1
        c = a.todo.p[a.todo.n]
        a.marks[c] |= REACHED
        if push_targets(e, a, c):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose_units(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Fills `e.redo`. Nonzero: no memory."""
    u: uint32_t
    i: uint32_t
    c: uint32_t
    s: cython.pointer[Stream]
    for c in range(1, a.n):
        # From here on UNCERTAIN means: a unit with a type of this class is kept whole.
        if a.marks[c] & REACHED and a.key[c] and is_full(class_record(e.classes, c)):
            a.marks[c] |= UNCERTAIN
    for u in range(e.n_streams):
        s = cython.address(e.streams[u])
        if s.whole:
            continue
        for i in range(1, s.n_types):
            if a.tired or a.kept[u] or a.marks[e.class_list.p[s.classes + i]] & UNCERTAIN:
                if not u32s_push(cython.address(e.redo), u):
                    return 1
                break
    return 0


# ---- all of it --------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    c: uint32_t
    measure(e, a)
    for c in range(1, a.n):
        if a.key[c]:
            a.next_member[c] = a.first_member[a.key[c]]
            a.first_member[a.key[c]] = c
    if doubt_names(e, a):
        return 1
    if doubt_units(e, a) or doubt_arrays(e, a) or doubt_contested(e, a):
        return 1
    if a.seeds == 0 and not a.tired:
        return 0
    spread(e, a)
    while confirm(a):
        spread(e, a)
    return reach(e, a) or choose_units(e, a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def certify(e: cython.pointer[Encoder]) -> cython.int:
    """Fills `e.redo` with the units that must be kept whole, in order. Nonzero: `e.error`."""
    a: Analysis
    n: uint32_t = e.classes.n
    status: cython.int = 1
    size: cython.size_t = cython.cast(cython.size_t, n) * (2 * 8 + 7 * 4 + 1) + e.n_streams
    room: cython.pointer[uint64_t] = cython.cast(cython.pointer[uint64_t], calloc(1, size))
    e.redo.n = 0
    if e.keep_all:
        free(room)
        return 0
    if room != cython.NULL:
        a.n = n
        a.blind = room
        a.shape = a.blind + n
        a.key = cython.cast(cython.pointer[uint32_t], a.shape + n)
        a.full = a.key + n
        a.declared = a.full + n
        a.first_member = a.declared + n
        a.next_member = a.first_member + n
        a.visited = a.next_member + n
        a.depth = a.visited + n
        a.marks = cython.cast(cython.pointer[uint8_t], a.depth + n)
        a.kept = a.marks + n
        a.stamp = 0
        a.seeds = 0
        a.contested.p = cython.NULL
        a.contested.n = a.contested.cap = 0
        a.witnesses.p = cython.NULL
        a.witnesses.n = a.witnesses.cap = 0
        a.effort = EFFORT_BASE + EFFORT_PER_CLASS * n
        a.tired = False
        a.before.p = a.todo.p = cython.NULL
        a.before.n = a.before.cap = a.todo.n = a.todo.cap = 0
        status = analyse(e, cython.address(a))
        u32s_free(cython.address(a.before))
        u32s_free(cython.address(a.todo))
        u32s_free(cython.address(a.contested))
        u64s_free(cython.address(a.witnesses))
    free(room)
    return encoder_fail(e, ENCODE_MEMORY) if status else 0
