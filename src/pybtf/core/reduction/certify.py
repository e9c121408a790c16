"""Which types must be kept in addition to the first of each class, for the result to be pahole's.

append_unit.py drops a type if an earlier unit had one of the same class. That changes nothing if libbpf's
comparison takes all types of the class for one, whatever the order of events. A class says what a type is down to the
names it mentions; what these mean is up to the unit. So this file, and those it calls, look for names that do not mean
the same everywhere, and for comparisons that this could affect:

- Of the definitions of a name one is the *usual* one. A type is *odd* if it reaches, by what its own unit defines,
  another one; all others are usual types (odd_types.py). Odd types are all kept, as they are few.
- Usual types of a class are taken for one. No odd type is taken for a usual one, unless a declaration stands where they
  would differ. A class of which that is sure is *separate* (separate.py).
- Of a class that is not, a *mixed* one, it is open which type a usual one is taken for. If the declarations are
  resolved for good before odd types come near, only some units must be kept whole for that (undecided.py, resolved.py).
  Otherwise the class is *uncertain*.
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

The proof is in docs/reduction.md. A dropped type that must be kept is made from its class (restore.py). Where that
cannot be done, or the unit is kept whole, the unit is decoded again.

Class ids of a record's references are always smaller than its own, so one pass upwards sees targets before users.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import (
    ENCODE_MEMORY,
    Encoder,
    KeptUnit,
    digest_add,
    encoder_fail,
)
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.array_masking import doubt_arrays
from cython.cimports.pybtf.core.reduction.doubts import doubt_names, doubt_units, list_keys, measure, spread_loose
from cython.cimports.pybtf.core.reduction.odd_types import choose_usual, find_odd
from cython.cimports.pybtf.core.reduction.refine import refine, spread
from cython.cimports.pybtf.core.reduction.separate import contacts, separate
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_push

# Steps of comparison and spreading: types can be written that take a number of them that grows with the square of the
# file. When they are used up, nothing is certain, and all units are kept whole, which is always right. Passes over the
# class list take a step for each type, or for several of which few are looked at.
EFFORT_BASE = cython.declare(uint64_t, 1 << 27)
EFFORT_PER_CLASS = cython.declare(uint64_t, 256)
EFFORT_PER_TYPE = cython.declare(uint64_t, 8)


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
    """Has all units with types decoded again, and kept whole: nothing is dropped. Nonzero: no memory."""
    u: uint32_t
    e.redo.n = e.resolved.n = 0
    for u in range(e.n_kept):
        if e.kept[u].n_types > 1:
            e.kept[u].whole = True
            if not u32s_push(cython.address(e.redo), u):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """The steps, in order: what is doubtful (doubts.py, array_masking.py); if anything is, usual and odd types;
    separate classes; uncertain ones, until there are no more; what that means for each unit. If it takes too long
    (`tired`), all is kept. Nonzero: no memory.
    """
    masked: cython.int
    if e.cycles:
        return keep_everything(e)
    if list_keys(e, a):
        return 1
    measure(e, a)
    doubt_names(e, a)
    if a.loose:
        spread_loose(e, a)
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
    t: cython.pointer[KeptUnit]
    for i in range(e.redo.n):
        t = cython.address(e.kept[e.redo.p[i]])
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
    for u in range(e.n_kept):
        n += e.kept[u].n_types > 1
    return n < 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_for(e: cython.pointer[Encoder]) -> cython.size_t:
    """Bytes of all arrays of `place_arrays`: by class two of 64 bits, 20 of 32, `variants`, `marks`, `tint` and
    `watch`; by unit `odd`.
    """
    return e.classes.n * (2 * 8 + 20 * 4 + cython.sizeof(Variants) + 2 + 1 + 1) + e.n_kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_arrays(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], room: cython.pointer[uint64_t]
) -> cython.void:
    """Has the arrays point into `room`."""
    n: cython.size_t = e.classes.n
    at: cython.pointer[uint32_t]
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
    a.count = a.odd_units = at + 8 * n
    a.here = at + 9 * n
    a.definition = at + 10 * n
    a.first_odd = at + 11 * n
    a.slots_at = at + 12 * n
    a.n_slots = at + 13 * n
    a.masks_at = at + 14 * n
    a.event = at + 15 * n
    a.contact = at + 16 * n
    a.users = at + 17 * n
    a.settled = at + 18 * n
    a.next_key = at + 19 * n
    a.variants = cython.cast(cython.pointer[Variants], at + 20 * n)
    a.marks = cython.cast(cython.pointer[uint16_t], a.variants + n)
    a.tint = cython.cast(cython.pointer[uint8_t], a.marks + n)
    a.watch = a.tint + n
    a.odd = a.watch + n
    CHECK(
        a.odd + e.n_kept == cython.cast(cython.pointer[uint8_t], room) + room_for(e),
        "the arrays do not fill their room",
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def free_lists(a: cython.pointer[Analysis]) -> cython.void:
    """Frees what has grown in the course of the analysis."""
    free(a.first_key)
    free(a.slots)
    free(a.masks)
    u32s_free(cython.address(a.common))
    u32s_free(cython.address(a.before))
    u32s_free(cython.address(a.links))
    u32s_free(cython.address(a.todo))
    u32s_free(cython.address(a.watched))
    u32s_free(cython.address(a.tracked))
    u32s_free(cython.address(a.plain))
    u32s_free(cython.address(a.partners))
    u32s_free(cython.address(a.late))
    u32s_free(cython.address(a.handed))
    u32s_free(cython.address(a.met))
    u32s_free(cython.address(a.firsts))
    u32s_free(cython.address(a.more))
    u32s_free(cython.address(a.scratch))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def certify(e: cython.pointer[Encoder]) -> cython.int:
    """Has more kept where it must be; fills `e.redo` with the units that are decoded again for that, in order.

    Nonzero: `e.error`.
    """
    a: Analysis
    n: cython.size_t = e.classes.n
    status: cython.int = 1
    room: cython.pointer[uint64_t]
    e.redo.n = 0
    if e.keep_all or is_one_unit(e):
        return 0
    memset(cython.address(a), 0, cython.sizeof(Analysis))
    room = cython.cast(cython.pointer[uint64_t], calloc(1, room_for(e)))
    if room != cython.NULL:
        place_arrays(e, cython.address(a), room)
        memset(a.first_odd, 0xFF, n * 4)
        a.effort = EFFORT_BASE + EFFORT_PER_CLASS * n + EFFORT_PER_TYPE * e.class_list.n
        status = analyse(e, cython.address(a))
        note_digests(e, cython.address(a))
        free_lists(cython.address(a))
    free(room)
    return encoder_fail(e, ENCODE_MEMORY) if status else 0
