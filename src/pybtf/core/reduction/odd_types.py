"""Which definition of a name is the usual one, and which types reach another.

A driver calls a private structure `cache_req`; so does the kernel's RPC code, and half of all types could reach that
one. But in the driver's unit only a few types reach the driver's. These are *odd*: a type is odd if, going by what its
own unit defines, it reaches a definition that is not the usual one of its name, or something wild (certify.py). Odd
entries of the class list are marked by APART: such types are kept, and stand for no other.

Any choice of usual definitions gives the right result. A good one leaves few odd types: names with a clear majority of
units decide first. For the others, the usual definition is the one that would make most other types odd. (The bindings
of a kernel's Rust code define, as empty structures, hundreds of names that one other unit defines; their unit is odd
anyhow.)
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import qsort
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.unit_names import enter, meet, next_watched
from cython.cimports.pybtf.core.support.check import CHECK, CHECKED
from cython.cimports.pybtf.core.support.memory import U64s, u32s_push, u32s_reserve, u64s_free, u64s_push

IS_ODD = cython.declare(uint8_t, 1)
IS_WILD = cython.declare(uint8_t, 3)


# ---- the usual definition -----------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_types(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Sets `count` to how many types of each class there are in all units."""
    u: uint32_t
    i: uint32_t
    n: cython.size_t = min(a.n, e.occurrences.n)
    memcpy(a.count, e.occurrences.p, n * cython.sizeof(uint32_t))
    if CHECKED:
        for u in range(e.n_kept):
            for i in range(1, e.kept[u].n_types):
                a.count[e.class_list.p[e.kept[u].classes + i]] -= 1
        for i in range(a.n):
            CHECK(a.count[i] == 0, "the types of a class were not counted right")
        memcpy(a.count, e.occurrences.p, n * cython.sizeof(uint32_t))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_better(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, best: uint32_t) -> cython.bint:
    """Whether there are more of a definition than of another; or as many, and it comes later, by which less is kept of
    some kernels. (The numbers of classes would not do: they depend on which worker was first.)
    """
    if a.count[c] == a.count[best]:
        return e.first_unit.p[c] > e.first_unit.p[best]
    return a.count[c] > a.count[best]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], key: uint32_t, clear: cython.bint
) -> cython.bint:
    """Makes the definition of which there are most the usual one; `clear`: only if no other has a quarter of that."""
    c: uint32_t = a.first_member[key]
    best: uint32_t = 0
    second: uint32_t = 0
    while c:
        if a.marks[c] & FULL:
            if best == 0 or is_better(e, a, c, best):
                second = 0 if best == 0 else a.count[best]
                best = c
            elif a.count[c] > second:
                second = a.count[c]
        c = a.next_member[c]
    if best and clear and a.count[best] <= 4 * second:
        return False
    a.usual[key] = best
    c = a.first_member[key]
    while c:
        if a.marks[c] & FULL and c != best:
            a.marks[c] |= MINOR
        c = a.next_member[c]
    return True


# ---- what types reach -----------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def give(a: cython.pointer[Analysis], c: uint32_t, tint: uint8_t) -> cython.int:
    """Gives a class a tint, to be passed on. Nonzero: no memory."""
    if tint & ~a.tint[c]:
        a.tint[c] |= tint
        return not u32s_push(cython.address(a.todo), c)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def add_user(a: cython.pointer[Analysis], c: uint32_t, to: uint32_t) -> cython.int:
    """Class `c` of the unit at hand refers to class or key `to`. Nonzero: no memory."""
    if to == 0:
        return 0
    if a.here[to] == a.round:
        to = a.definition[to]
        if to == MANY:
            return give(a, c, IS_WILD)
    if not u32s_reserve(cython.address(a.links), 2):
        return 1
    a.links.p[a.links.n] = a.users[to]
    a.links.p[a.links.n + 1] = c
    a.links.n += 2
    a.users[to] = cython.cast(uint32_t, a.links.n // 2)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_users(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Who refers to what in unit `u`; `leave` is due. Gives a tint for names it has twice. Nonzero: no memory."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    k: uint32_t
    f: Refs
    enter(e, a, u)
    a.links.n = 0
    a.todo.n = 0
    for i in range(1, t.n_types):
        refs_of(class_record(e.classes, p[i]), cython.address(f))
        if not spend(a, 1 + f.n):
            return 0
        if add_user(a, p[i], f.third):
            return 1
        for k in range(f.n):
            if add_user(a, p[i], f.first[k * f.step + 1]):
                return 1
        k = a.key[p[i]]
        if k and a.definition[k] == MANY and give(a, p[i], IS_WILD):
            return 1
    a.users[0] = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Takes the tint of the types of unit `u` away again, before that of another unit is given."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = e.class_list.p[t.classes + i] & CLASS_BITS
        a.tint[c] = 0
        a.users[c] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_on(a: cython.pointer[Analysis], first: cython.size_t) -> cython.int:
    """Gives the tint of what is in `todo`, from `first` on, to all that reach it. Nonzero: no memory."""
    c: uint32_t
    x: uint32_t
    while first < a.todo.n:
        c = a.todo.p[first]
        first += 1
        x = a.users[c]
        while x:
            if not spend(a, 1):
                return 0
            if give(a, a.links.p[2 * x - 1], a.tint[c]):
                return 1
            x = a.links.p[2 * x - 2]
    return 0


# ---- which is usual -------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tint_minor(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Gives the types of a unit their tint, as far as names are decided; `leave` is due. Nonzero: no memory."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    if list_users(e, a, u):
        return 1
    for i in range(1, t.n_types):
        c = e.class_list.p[t.classes + i]
        if a.marks[c] & MINOR and give(a, c, IS_ODD):
            return 1
        if a.marks[c] & (WILD | LOOSE) and give(a, c, IS_WILD):
            return 1
    return pass_on(a, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh(e: cython.pointer[Encoder], a: cython.pointer[Analysis], sites: cython.pointer[U64s]) -> cython.int:
    """Multiplies the counts of definitions by the number of types that would be odd by them, in the first of their
    units. `sites`: unit and class, in order. Nonzero: no memory.
    """
    at: cython.size_t
    i: cython.size_t
    u: uint32_t
    c: uint32_t
    last: uint32_t = NO_UNIT
    for at in range(sites.n):
        u = cython.cast(uint32_t, sites.p[at] >> 32)
        c = cython.cast(uint32_t, sites.p[at])
        if u != last:
            if last != NO_UNIT:
                leave(e, a, last)
            if tint_minor(e, a, u):
                return 1
            last = u
        a.todo.n = 0
        if a.tint[c] == 0 and (give(a, c, IS_ODD) or pass_on(a, 0)):
            return 1
        a.count[c] *= 1 + cython.cast(uint32_t, a.todo.n)
        for i in range(a.todo.n):
            a.tint[a.todo.p[i]] = 0
    if last != NO_UNIT:
        leave(e, a, last)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_numbers(x: cython.p_const_void, y: cython.p_const_void) -> cython.int:
    p: uint64_t = cython.cast(cython.pointer[uint64_t], x)[0]
    q: uint64_t = cython.cast(cython.pointer[uint64_t], y)[0]
    return (p > q) - (p < q)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose_clear(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], sites: cython.pointer[U64s]
) -> cython.int:
    """Decides the names that one definition clearly has; first units and classes of the others. Nonzero: no memory."""
    k: uint32_t
    c: uint32_t
    for k in range(1, a.n):
        if a.first_member[k] == 0 or choose(e, a, k, a.full[k] > 1):
            continue
        a.marks[k] |= UNCLEAR
        c = a.first_member[k]
        while c:
            if a.marks[c] & FULL and not u64s_push(sites, cython.cast(uint64_t, e.first_unit.p[c]) << 32 | c):
                return 1
            c = a.next_member[c]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose_usual(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Decides which definition of each name is the usual one. Nonzero: no memory."""
    k: uint32_t
    failed: cython.int
    sites: U64s
    memset(cython.address(sites), 0, cython.sizeof(U64s))
    count_types(e, a)
    failed = choose_clear(e, a, cython.address(sites))
    if sites.n and not failed:
        qsort(sites.p, sites.n, cython.sizeof(uint64_t), compare_numbers)
        failed = weigh(e, a, cython.address(sites))
        for k in range(1, a.n):
            if a.marks[k] & UNCLEAR:
                choose(e, a, k, False)
    u64s_free(cython.address(sites))
    return failed


# ---- odd types ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_odd_in(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Marks the types of unit `u` that are odd; if one is wild, all of the unit is kept. Nonzero: no memory."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    c: uint32_t
    if tint_minor(e, a, u):
        return 1
    a.odd[u] = 1
    for i in range(1, t.n_types):
        c = p[i]
        if a.tint[c]:
            p[i] |= APART
            a.marks[c] |= ODD
            a.count[c] += 1
            if a.first_odd[c] == NO_UNIT:
                a.first_odd[c] = u
            if a.tint[c] == IS_WILD:
                t.whole = True
    leave(e, a, u)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_common(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Marks the odd classes that have usual types: fewer are odd (`count`) than there are."""
    c: uint32_t
    for c in range(1, a.n):
        if a.marks[c] & ODD and a.count[c] < e.occurrences.p[c]:
            a.marks[c] |= COMMON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_odd(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks the entries of odd types, and their classes; units with wild ones are kept whole. Nonzero: no memory."""
    u: uint32_t
    i: uint32_t
    c: uint32_t
    p: cython.pointer[uint32_t]
    t: cython.pointer[KeptUnit]
    found: cython.bint
    memset(a.count, 0, a.n * cython.sizeof(uint32_t))
    for c in range(1, a.n):
        a.watch[c] = WATCHED if a.marks[c] & (MINOR | WILD) else 0
        # Of names, only that a unit has one twice is of interest. If that is an enumeration, one of the two is MINOR.
        if a.marks[a.key[c]] & CONFLICT and (CHECKED or a.marks[a.key[c]] & TWICE):
            a.watch[c] |= CONTESTED
    for u in range(e.n_kept):
        t = cython.address(e.kept[u])
        p = e.class_list.p + t.classes
        found = False
        a.round += 1
        i = next_watched(a.watch, CONTESTED | WATCHED, p, 1, t.n_types)
        while i < t.n_types and not found:
            c = p[i]
            found = a.watch[c] & WATCHED or meet(a, a.key[c], c)
            CHECK(
                not found or a.watch[c] & WATCHED or a.marks[a.key[c]] & (TWICE | ENUM_KEY),
                "a unit has a name twice but did not say so",
            )
            i = next_watched(a.watch, CONTESTED | WATCHED, p, i + 1, t.n_types)
        if found:
            if find_odd_in(e, a, u):
                return 1
    find_common(e, a)
    for c in range(1, a.n):
        if a.marks[c] & ODD and a.marks[c] & FULL and a.key[c]:
            a.marks[a.key[c]] |= CONFLICT
    return 0
