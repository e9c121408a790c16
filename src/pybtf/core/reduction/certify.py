"""Which types must be kept besides the first of each class, for the result to be pahole's.

append_unit.py drops a type if an earlier unit had one of the same class. That changes nothing if libbpf's
comparison takes all types of the class for one, whatever the order of events. A class says what a type is down to the
names it mentions; what these mean is up to the unit. So this file, and those it calls, look for names that do not mean
the same everywhere, and for comparisons that this could affect:

- Of the definitions of a name one is the *usual* one. A type is *odd* if it reaches, by what its own unit defines,
  another one; all others are usual types (variants.py). Odd types are all kept: there are some hundreds in a kernel.
- Usual types of a class are taken for one, and no odd type is taken for a usual one, unless a declaration stands where
  they would differ. That is looked for (separate.py), and the classes concerned are *uncertain*.
- What reaches an uncertain class in some unit is uncertain, and all types of uncertain classes are kept. The rest keeps
  the first usual type of each class, finer where pointers to a declaration and to a definition are two (refine.py).

Some types are *wild*: what comes of their comparison depends on more than their class, so that their units are kept
whole. They are those that reach

- a name that their unit has twice;
- an anonymous enumeration, if one of those is empty: it is compatible with every other one; and enumerations of one
  name that is defined in two ways, with or without 64 bits, if it is declared as well;
- a type that nests deeper than libbpf's comparison of "identical" types goes: two equal types of one unit may
  then be taken for different.

Where a type reaches itself without passing a name, classes say too little: each such type has one of its own, whatever
it is equal to. No C compiler makes such types; if there are any, everything is kept. Everything is also kept if two
types may be taken for equal that differ in array elements that the comparison does not look at (array_masking.py).

The proof is in docs/reduction.md. Units of which a dropped type must be kept are decoded again.

Class ids of a record's references are always smaller than its own, so one pass upwards sees targets before users.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.classes.class_table import class_find
from cython.cimports.pybtf.core.encode.encoder import (
    APART,
    CLASS_BITS,
    ENCODE_MEMORY,
    NO_UNIT,
    Encoder,
    Stream,
    digest_add,
    encoder_fail,
)
from cython.cimports.pybtf.core.reduction.array_masking import doubt_arrays
from cython.cimports.pybtf.core.reduction.certify import *
from cython.cimports.pybtf.core.reduction.refine import refine, spread
from cython.cimports.pybtf.core.reduction.separate import contacts, separate
from cython.cimports.pybtf.core.reduction.variants import choose_usual, find_odd
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.hashing import SALT2, fold
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_push, u32s_reserve

DEEP = cython.declare(uint32_t, 14)  # libbpf gives up at 16
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
@cython.inline
@cython.exceptval(check=False)
def note_arrays(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, to: uint32_t) -> cython.void:
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
                a.key[c] = find_key(e, k, r[REC_NAME])


# ---- what is doubtful about classes and names -------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt(a: cython.pointer[Analysis], c: uint32_t, mark: uint16_t) -> cython.void:
    if c and mark & ~a.marks[c]:
        a.marks[c] |= mark
        a.seeds += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_members(a: cython.pointer[Analysis], key: uint32_t) -> cython.void:
    c: uint32_t = a.first_member[key]
    while c:
        doubt(a, c, WILD)
        c = a.next_member[c]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_enums(e: cython.pointer[Encoder], a: cython.pointer[Analysis], key: uint32_t) -> cython.void:
    """A name of enumerations with several meanings: a declaration goes with each of them, before and after."""
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, key)
    other: uint32_t = 0
    if record_kind(r) == KIND_KEY_ENUM:
        other = find_key(e, KIND_KEY_ENUM64, r[REC_NAME])
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
    """Names with several meanings; `full` and `declared` count by key."""
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
            other = find_key(e, KIND_KEY_UNION, r[REC_NAME])
            if other and a.full[c] and a.full[other]:
                # A declaration of either goes by no name in the last phase.
                doubt(a, c, CONFLICT)
                doubt(a, other, CONFLICT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_users(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Classes with an enumeration that is taken for one of another class are taken for each other, down to names."""
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
def doubt_units(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """What single units made doubtful: names they have twice, and depth."""
    c: uint32_t
    i: cython.size_t
    for i in range(e.twice.n):
        doubt(a, e.twice.p[i], CONFLICT)
    for c in range(1, a.n):
        if a.depth[c] >= DEEP:
            doubt(a, c, WILD)


# ---- one unit ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def meet(a: cython.pointer[Analysis], k: uint32_t, entry: uint32_t) -> cython.bint:
    """Notes what the unit at hand says of the name with key `k`. Whether it has it twice, in a way that matters."""
    full: cython.bint = (a.marks[entry & CLASS_BITS] & FULL) != 0
    known: uint32_t = a.meaning[k]
    if a.here[k] != a.round:
        a.here[k] = a.round
        a.meaning[k] = entry if full else 0
        return False
    if a.marks[k] & ENUM_KEY:
        if full:
            a.meaning[k] = entry if known == 0 or known == entry else MANY
    elif full or known:
        a.meaning[k] = MANY
    return a.meaning[k] == MANY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Notes what unit `u` says of names."""
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    k: uint32_t
    a.round += 1
    for i in range(1, t.n_types):
        k = a.key[p[i] & CLASS_BITS]
        if k:
            meet(a, k, p[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def contest(a: cython.pointer[Analysis], mark: uint16_t) -> cython.void:
    """From here on classes are watched that give names with this mark a meaning, and no others."""
    c: uint32_t
    for c in range(1, a.n):
        a.watch[c] = CONTESTED if a.key[c] and a.marks[a.key[c]] & mark else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def watch(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Notes what unit `u` says of contested names, and lists its types of classes that are watched in `a.before`, those
    that are tracked in `a.todo`. Nonzero: no memory.
    """
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    c: uint32_t
    known: uint8_t
    wanted: uint8_t = WATCHED | CONTESTED | TAINTED | TAINTED_ODD | TRACKED
    a.before.n = a.todo.n = 0
    a.round += 1
    a.disturbed = False
    if not (
        u32s_reserve(cython.address(a.before), t.n_types) and u32s_reserve(cython.address(a.todo), t.n_types)
    ):
        return 1
    i = next_watched(a.watch, wanted, p, 1, t.n_types)
    while i < t.n_types:
        c = p[i] & CLASS_BITS
        known = a.watch[c]
        if known & CONTESTED:
            meet(a, a.key[c], p[i])
        if known & TAINTED or (known & TAINTED_ODD and (p[i] & APART or a.marks[c] & UNCERTAIN)):
            a.disturbed = True
        if known & WATCHED:
            a.before.p[a.before.n] = i
            a.before.n += 1
        if known & TRACKED:
            a.todo.p[a.todo.n] = i
            a.todo.n += 1
        i = next_watched(a.watch, wanted, p, i + 1, t.n_types)
    return 0


# ---- all of it --------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_conflicts(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Lists the names with several definitions, or with some that can't be compared by class. Nonzero: no memory."""
    i: cython.size_t
    k: uint32_t
    c: uint32_t
    marks: uint32_t
    for i in range(e.twice.n):
        a.tint[e.twice.p[i]] = 1
    for k in range(1, a.n):
        marks = 0
        c = a.first_member[k]
        while c:
            marks |= a.marks[c] & WILD
            c = a.next_member[c]
        if a.full[k] > 1 or marks or a.tint[k]:
            if not u32s_push(cython.address(e.conflicts), k):
                return 1
        a.tint[k] = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_everything(e: cython.pointer[Encoder]) -> cython.int:
    u: uint32_t
    e.redo.n = e.resolved.n = 0
    for u in range(e.n_streams):
        if e.streams[u].n_types > 1:
            e.streams[u].whole = True
            if not u32s_push(cython.address(e.redo), u):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Nonzero: no memory."""
    masked: cython.int
    if e.cycles:
        return keep_everything(e)
    measure(e, a)
    doubt_names(e, a)
    if a.loose:
        doubt_users(e, a)
    doubt_units(e, a)
    masked = doubt_arrays(e, a)
    if masked < 0:
        return 1
    if a.seeds == 0 and not masked and not a.tired:
        return 0
    if list_conflicts(e, a):
        return 1
    if masked:
        return keep_everything(e)
    if choose_usual(e, a) or find_odd(e, a) or separate(e, a):
        return 1
    while not a.tired:
        a.seeds = 0
        contacts(e, a)
        if a.seeds == 0:
            break
        if spread(e, a):
            return 1
    if not a.tired and refine(e, a):
        return 1
    return keep_everything(e) if a.tired else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_digests(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Notes of the units that are decoded again of which classes their types were. The class list still says so."""
    i: cython.size_t
    k: uint32_t
    t: cython.pointer[Stream]
    for i in range(e.redo.n):
        t = cython.address(e.streams[e.redo.p[i]])
        t.digest = t.n_types
        for k in range(1, t.n_types):
            t.digest = digest_add(t.digest, class_of_entry(e, a, e.class_list.p[t.classes + k]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_one_unit(e: cython.pointer[Encoder]) -> cython.bint:
    """Whether no more than one unit has types: then nothing was dropped."""
    u: uint32_t
    n: uint32_t = 0
    for u in range(e.n_streams):
        n += e.streams[u].n_types > 1
    return n < 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def certify(e: cython.pointer[Encoder]) -> cython.int:
    """Fills `e.redo` with the units of which more must be kept, in order. Nonzero: `e.error`."""
    a: Analysis
    n: cython.size_t = e.classes.n
    status: cython.int = 1
    at: cython.pointer[uint32_t]
    room: cython.pointer[uint64_t]
    e.redo.n = 0
    if e.keep_all or is_one_unit(e):
        return 0
    memset(cython.address(a), 0, cython.sizeof(Analysis))
    room = cython.cast(cython.pointer[uint64_t], calloc(1, n * (2 * 8 + 21 * 4 + 2 + 1 + 1) + e.n_streams))
    if room != cython.NULL:
        a.n = cython.cast(uint32_t, n)
        a.blind = room
        a.shape = a.blind + n
        at = cython.cast(cython.pointer[uint32_t], a.shape + n)
        a.key = at
        a.full = at + n
        a.declared = at + 2 * n
        a.first_member = at + 3 * n
        a.next_member = at + 4 * n
        a.visited = at + 5 * n
        a.depth = at + 6 * n
        a.usual = at + 7 * n
        a.count = at + 8 * n
        a.here = at + 9 * n
        a.meaning = at + 10 * n
        a.first_odd = at + 11 * n
        a.slots_at = at + 12 * n
        a.n_slots = at + 13 * n
        a.masks_at = at + 14 * n
        a.event = at + 15 * n
        a.contact = at + 16 * n
        a.users = at + 17 * n
        a.settled = at + 18 * n
        a.variants = at + 19 * n
        a.marks = cython.cast(cython.pointer[uint16_t], at + 21 * n)
        a.tint = cython.cast(cython.pointer[uint8_t], a.marks + n)
        a.watch = a.tint + n
        a.odd = a.watch + n
        memset(a.first_odd, 0xFF, n * 4)
        a.effort = EFFORT_BASE + EFFORT_PER_CLASS * n
        status = analyse(e, cython.address(a))
        note_digests(e, cython.address(a))
        free(a.slots)
        free(a.masks)
        u32s_free(cython.address(a.common))
        u32s_free(cython.address(a.before))
        u32s_free(cython.address(a.todo))
        u32s_free(cython.address(a.met))
    free(room)
    return encoder_fail(e, ENCODE_MEMORY) if status else 0
