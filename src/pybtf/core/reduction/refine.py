"""From uncertain classes to what must be kept of each unit.

Uncertainty spreads upwards: a class is uncertain if it reaches an uncertain one in some unit, by what that unit itself
defines (`spread`). What other units define does not count, as a comparison never leaves the unit of the new type on
that side.

Then the class list is rewritten, unit by unit (`refine`). Types of uncertain classes stand apart, as odd types do, and
so do undecided types of units that are kept whole (undecided.py). In addition,

- types that are not compared, such as pointers, are told apart by which names they mention are declared and which
  defined, of those with several definitions: they become types of a *variant* of their class;
- declarations that are surely resolved to their usual definition are listed for de-duplication (resolved.py).

In a kernel with Rust code, half of all entries are pointers and the like that mention one such name, and nothing else
is asked of them. So these have a list of their own (`a.plain`), and other classes are passed over as soon as no
question is left: where a class has no odd type, only the first of its types matters.

Some units turn out to be needed whole only when later ones have been rewritten (`keep_late`). And what is not compared
and leads to undecided types in units that are whole stands for no other, so that those of later units do (`hand_over`).

From now on, the first type of each number in the list is kept and stands for the others; types that stand apart are
kept, too. Where this is more than append_unit.py has kept, it is made from the classes (restore.py), or the unit is
decoded again.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.classes.class_table import class_intern
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.leading import list_late, note_leading
from cython.cimports.pybtf.core.reduction.resolved import compare_numbers, list_resolved
from cython.cimports.pybtf.core.reduction.restore import RESTORE_MEMORY, RESTORE_NOT, RESTORED, restore
from cython.cimports.pybtf.core.reduction.separate import check_slot, is_mixed
from cython.cimports.pybtf.core.reduction.undecided import decide, disturb, is_captured, prepare, tint_users
from cython.cimports.pybtf.core.reduction.unit_names import contest, next_watched, watch
from cython.cimports.pybtf.core.support.check import CHECK, CHECKED
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push, u32s_reserve

ENTRIES_PER_STEP = cython.declare(uint32_t, 8)  # of the class list, where most are passed over
# Of classes and variants for which others are to stand than did:
ASKED = cython.declare(uint8_t, 1)  # the first that does not stand apart is not known yet
TAKEN = cython.declare(uint8_t, 2)  # it is, and did not stand for them before


# ---- uncertain classes --------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread_classes(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.bint:
    """By references to classes. Gives those a tint, 1, that mention an uncertain name. Whether anything has
    changed.
    """
    c: uint32_t
    k: uint32_t
    to: uint32_t
    marks: uint32_t
    f: Refs
    found: cython.bint
    changed: cython.bint = False
    for c in range(1, a.n):
        if a.marks[c] & UNCERTAIN and a.marks[c] & FULL and a.key[c]:
            a.marks[a.key[c]] |= a.marks[c] & UNCERTAIN
    for c in range(1, a.n):
        if is_key(class_record(e.classes, c)):
            continue
        refs_of(class_record(e.classes, c), cython.address(f))
        if not spend(a, 1 + f.n):
            return False
        marks = 0
        found = False
        for k in range(f.n + 1):
            to = reference(cython.address(f), k)
            if to and a.marks[to] & UNCERTAIN:
                if is_key(class_record(e.classes, to)):
                    found = True
                else:
                    marks |= a.marks[to] & UNCERTAIN
        a.tint[c] = found and not (a.marks[c] | marks) & UNCERTAIN
        if marks & ~a.marks[c]:
            a.marks[c] |= marks
            changed = True
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread_in_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """By names that unit `u` defines, to classes of `a.watched`, but not by odd types for which no usual one is taken.
    Whether anything has changed.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    k: uint32_t
    c: uint32_t
    to: uint32_t
    f: Refs
    changed: cython.bint = False
    for at in range(a.watched.n):
        c = p[a.watched.p[at]] & CLASS_BITS
        if a.marks[c] & UNCERTAIN or (p[a.watched.p[at]] & APART and not is_mixed(a, c)):
            continue
        refs_of(class_record(e.classes, c), cython.address(f))
        if not spend(a, 1 + f.n):
            return False
        for k in range(f.n + 1):
            to = reference(cython.address(f), k)
            if to and a.here[to] == a.round and a.definition[to] and a.definition[to] != MANY:
                if a.marks[a.definition[to] & CLASS_BITS] & UNCERTAIN:
                    a.marks[c] |= UNCERTAIN
                    changed = True
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks what reaches something uncertain. Nonzero: no memory."""
    u: uint32_t
    c: uint32_t
    first: uint32_t
    changed: cython.bint = True
    while changed and not a.tired:
        changed = spread_classes(e, a)
        contest(a, UNCERTAIN)
        first = e.n_kept
        for c in range(1, a.n):
            if a.tint[c] and a.marks[c] & OCCURS:
                a.watch[c] |= WATCHED
                first = min(first, e.first_unit.p[c])
        for u in range(first, e.n_kept):
            if not spend(a, e.kept[u].n_types // ENTRIES_PER_STEP):
                break
            if watch(e, a, u):
                return 1
            if a.watched.n and spread_in_unit(e, a, u):
                changed = True
    memset(a.tint, 0, a.n)
    return 0


# ---- the class list ---------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def variant(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint32_t:
    """The variant of class `c`, which is not compared, that the unit at hand has: a class of its own, made of `c` and a
    bit for each of its names, set if the unit defines it. `c` itself if it has none. NO_CLASS: no memory.
    """
    r: cython.pointer[uint32_t]
    i: uint32_t
    n: uint32_t = 0
    to: uint32_t
    words: uint32_t = (a.n_slots[c] + 31) // 32
    a.scratch.n = 0
    if not u32s_reserve(cython.address(a.scratch), REC_HEAD + words):
        return NO_CLASS
    r = a.scratch.p
    memset(r, 0, (REC_HEAD + words) * cython.sizeof(uint32_t))
    for i in range(a.n_slots[c]):
        to = a.slots[a.slots_at[c] + i].to
        check_slot(a, a.slots + a.slots_at[c] + i)
        if not a.watch[to] & COMPARED:
            if a.definition[to]:
                r[REC_HEAD + n // 32] |= cython.cast(uint32_t, 1) << (n & 31)
            n += 1
    if n == 0:
        return c
    r[REC_KIND] = KIND_VARIANT
    r[REC_NAME] = c
    r[REC_COUNT] = words
    return class_intern(e.classes, r, REC_HEAD + words)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def known_variant(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint32_t:
    """As `variant`, which is asked only if this is not one of the last two of the class (`Variants`)."""
    x: cython.pointer[Variants] = a.variants + c
    slots: cython.pointer[Slot] = a.slots + a.slots_at[c]
    defined: uint32_t = 0
    i: uint32_t
    if a.n_slots[c] > 32:
        return variant(e, a, c)
    for i in range(a.n_slots[c]):
        check_slot(a, slots + i)
        if a.definition[slots[i].to] and not a.watch[slots[i].to] & COMPARED:
            defined |= cython.cast(uint32_t, 1) << i
    i = x.defined[0] != defined
    if x.known[i] == 0 or x.defined[i] != defined:
        x.known[1] = x.known[0]
        x.defined[1] = x.defined[0]
        i = 0
        x.known[0] = variant(e, a, c)
        x.defined[0] = defined
    return x.known[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_apart(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Has odd and uncertain types of unit `u` stand apart, and the unit kept whole for them. Whether others are
    undecided, so that `place_undecided` is due.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    at: cython.size_t
    i: uint32_t
    c: uint32_t
    found: cython.bint = False
    for at in range(a.watched.n):
        i = a.watched.p[at]
        c = p[i] & CLASS_BITS
        CHECK(
            p[i] & APART or a.marks[c] & UNCERTAIN or a.tint[c] & UNDECIDED or not is_captured(a, c, u),
            "a captured type is decided",
        )
        if p[i] & APART or a.marks[c] & UNCERTAIN:
            p[i] |= APART
            t.whole = True
        elif a.tint[c]:
            found = True
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_undecided(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """If unit `u` is whole, has all stand apart that has the tint of undecided types. Takes the tint away.

    If two of them are compared and of one class, everything is kept (`tired`): where one type of another unit stands
    for both, a comparison goes on at the first of the two only.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    at: cython.size_t
    i: uint32_t
    c: uint32_t
    a.stamp += 1
    for at in range(a.watched.n):
        i = a.watched.p[at]
        c = p[i] & CLASS_BITS
        if t.whole and a.tint[c] & UNDECIDED:
            p[i] |= APART
            if a.watch[c] & COMPARED and a.visited[c] == a.stamp:
                a.tired = True
            a.visited[c] = a.stamp
        CHECK(
            p[i] & APART or not a.tint[c] or a.settled[c] < u or is_captured(a, c, u),
            "an undecided type is dropped although nothing stands for it",
        )
    for at in range(a.watched.n):
        a.tint[p[a.watched.p[at]] & CLASS_BITS] &= ~UNDECIDED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Has those types of unit `u` stand apart that do. If it is whole, leading.py notes what leads to them. Nonzero: no
    memory.
    """
    found: cython.bint = set_apart(e, a, u)
    if e.kept[u].whole and a.mixed and (found or a.disturbed or a.odd[u]) and note_leading(e, a, u):
        return 1
    if found or a.disturbed:
        a.odd[u] |= IS_DISTURBED
    if found:
        place_undecided(e, a, u)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_firsts(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Fills `a.firsts`: with NO_UNIT for classes of which types may stand apart or become variants, so that it is still
    to be found which unit is the first. Nonzero: no memory.
    """
    c: uint32_t
    if not u32s_reserve(cython.address(a.firsts), a.n):
        return 1
    a.firsts.n = a.n
    for c in range(a.n):
        a.firsts.p[c] = NO_UNIT if c >= e.first_unit.n or a.watch[c] & (WATCHED | VARIES) else e.first_unit.p[c]
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def note_first(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, entry: uint32_t, i: uint32_t, u: uint32_t
) -> cython.int:
    """Small id `i` of unit `u` is of class `c`, and may stand for others; `entry`: its variant, or `c`. It goes to
    `a.more` if no unit before has such a type, and append_unit.py has dropped it. Nonzero: no memory.
    """
    while a.firsts.n <= entry:
        if not u32s_push(cython.address(a.firsts), NO_UNIT):
            return 1
    if a.firsts.p[entry] == NO_UNIT:
        a.firsts.p[entry] = u
    CHECK(a.firsts.p[entry] <= u, "units are not met in order")
    return a.firsts.p[entry] == u and e.first_unit.p[c] != u and not u32s_push(cython.address(a.more), i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rewrite(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Makes variants of the entries of `a.watched` that are not compared. Of all that do not stand apart, notes those
    that are the first (`note_first`). Nonzero: no memory.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    i: uint32_t
    c: uint32_t
    for at in range(a.watched.n):
        i = a.watched.p[at]
        c = p[i]
        if c & APART:
            continue
        CHECK(not a.marks[c] & UNCERTAIN, "a type of an uncertain class does not stand apart")
        if a.watch[c] & VARIES:
            p[i] = known_variant(e, a, c)
            if p[i] == NO_CLASS:
                return 1
        elif a.watch[c] & COMPARED and not a.marks[c] & ODD:
            CHECK(e.first_unit.p[c] == u, "a class is met in a unit before its first")
            a.watch[c] &= ~WATCHED  # from now on, nothing is asked of its types
        elif is_captured(a, c, u):
            continue  # it stands for no other
        if note_first(e, a, c, p[i], i, u):
            return 1
        CHECK(
            not a.watch[c] & COMPARED or not is_mixed(a, c) or a.firsts.p[c] == a.settled[c],
            "the first usual type of a class is not the settled one",
        )
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rewrite_plain(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """As `rewrite`, of the entries of `a.plain`. They are many, so `Variants` has the first unit of either variant."""
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    i: uint32_t
    c: uint32_t
    defined: cython.bint
    n: cython.size_t = a.more.n
    x: cython.pointer[Variants]
    for at in range(a.plain.n):
        i = a.plain.p[at]
        c = p[i]
        if c & APART:
            continue
        x = a.variants + c
        CHECK(not (a.tint[c] or a.marks[c] & UNCERTAIN), "a type is undecided although only its variant is asked for")
        CHECK(a.here[x.name] == a.round and not a.definition[x.name] & APART, "a variant refers to an odd type")
        defined = a.definition[x.name] != 0
        if x.known[defined] == 0:
            x.known[defined] = variant(e, a, c)
            x.defined[defined] = u
            if x.known[defined] == NO_CLASS:
                return 1
        p[i] = x.known[defined]
        if x.defined[defined] == u and note_first(e, a, c, p[i], i, u):
            return 1
    if n and a.more.n > n:
        qsort(a.more.p, a.more.n, cython.sizeof(uint32_t), compare_numbers)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_untinted(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Asserts that no type of unit `u`, which is still to be rewritten, has a tint from before."""
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    i: uint32_t
    c: uint32_t
    if CHECKED:
        for i in range(1, e.kept[u].n_types):
            c = p[i] & CLASS_BITS
            CHECK(not (a.tint[c] | a.tint[a.key[c]]), "a type has the tint that it had in another unit")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_more(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Restores what is to be kept of unit `u` beyond what append_unit.py has kept, `a.more`. If that cannot be done,
    the unit is listed in `e.redo`. Nonzero: no memory.
    """
    status: cython.int = RESTORE_NOT
    if a.more.n == 0:
        return 0
    if not e.decode_again:
        status = restore(e, a, cython.address(a.more), u)
    return status == RESTORE_MEMORY or (status != RESTORED and not u32s_push(cython.address(e.redo), u))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refine_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Rewrites the entries of unit `u`, and has kept what is to be kept of it. Nonzero: no memory."""
    check_untinted(e, a, u)
    if watch(e, a, u):
        return 1
    if decide(e, a, u):
        e.kept[u].whole = True
    if place(e, a, u):
        return 1
    a.more.n = 0
    if rewrite(e, a, u) or rewrite_plain(e, a, u):
        return 1
    if e.kept[u].whole:
        return not u32s_push(cython.address(e.redo), u)
    return keep_more(e, a, u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_handed(a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether other types are going to stand for class `c`."""
    i: cython.size_t
    for i in range(a.handed.n):
        if a.handed.p[i] == c:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_late(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Asserts that none of the undecided types of unit `u`, the one at hand, stands for others. (Of classes in
    `a.handed` it is still to be found which ones do.)
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    if CHECKED:
        for at in range(a.watched.n):
            c = p[a.watched.p[at]]
            if not c & APART and a.tint[c] and not is_captured(a, c, u) and not is_handed(a, c):
                c = known_variant(e, a, c) if a.watch[c] & VARIES else c
                CHECK(c < a.firsts.n and a.firsts.p[c] < u, "what is undecided late has stood for others")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_late(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Has unit `u` kept whole, which has been rewritten as one that is not. Nonzero: no memory.

    Undecided types then stand apart, and what is not compared and refers to them. None of these stands for others, or
    the unit would be whole. So nothing changes for other units.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    for i in range(1, t.n_types):
        p[i] = class_of_entry(e, a, p[i]) | (p[i] & APART)
    if watch(e, a, u):
        return 1
    t.whole = True
    if disturb(e, a, u):
        tint_users(e, a, u)
    check_late(e, a, u)
    if place(e, a, u):
        return 1
    a.more.n = 0
    return rewrite(e, a, u) or rewrite_plain(e, a, u) or not u32s_push(cython.address(e.redo), u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_partners(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Has units kept whole whose types lead to undecided ones, as those that are compared with them do (leading.py).
    Nonzero: no memory.
    """
    i: cython.size_t
    changed: cython.bint = True
    while changed:
        if list_late(e, a):
            return 1
        for i in range(a.late.n):
            if keep_late(e, a, a.late.p[i]):
                return 1
        changed = a.late.n > 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_over(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, asked: cython.pointer[uint8_t]
) -> cython.int:
    """Makes types of unit `u` the first of the classes and variants that `asked` says. Nonzero: no memory."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t = next_watched(asked, ASKED | TAKEN, p, 1, t.n_types)
    entry: uint32_t
    a.more.n = 0
    while i < t.n_types:
        entry = p[i]
        if not entry & APART:
            if asked[entry] & ASKED:
                asked[entry] = 0 if a.firsts.p[entry] == u else TAKEN
                a.firsts.p[entry] = u
            if asked[entry] & TAKEN and a.firsts.p[entry] == u and not u32s_push(cython.address(a.more), i):
                return 1
        i = next_watched(asked, ASKED | TAKEN, p, i + 1, t.n_types)
    return not t.whole and keep_more(e, a, u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def hand_over(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Has other types stand for the classes in `a.handed`: the first that do not stand apart. Nonzero: no memory."""
    i: cython.size_t
    c: uint32_t
    u: uint32_t
    failed: cython.int = 0
    asked: cython.pointer[uint8_t]
    if a.handed.n == 0:
        return 0
    asked = cython.cast(cython.pointer[uint8_t], calloc(e.classes.n, 1))
    if asked == cython.NULL:
        return 1
    for i in range(a.handed.n):
        asked[a.handed.p[i]] = ASKED
    for c in range(a.n, cython.cast(uint32_t, e.classes.n)):
        asked[c] = asked[class_of_entry(e, a, c)]
    while a.firsts.n < e.classes.n and not failed:
        failed = not u32s_push(cython.address(a.firsts), NO_UNIT)
    for u in range(e.n_kept):
        failed = failed or take_over(e, a, u, asked)
    free(asked)
    return failed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refine(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Rewrites the class list, and `e.first_unit` with it; fills `e.redo` and `e.resolved`. See above. Nonzero: no
    memory.
    """
    u: uint32_t
    kept_before: U32s
    if prepare(e, a) or begin_firsts(e, a):
        return 1
    for u in range(e.n_kept):
        if refine_unit(e, a, u):
            return 1
    if keep_partners(e, a) or hand_over(e, a):
        return 1
    if list_resolved(e, a):
        return 1
    kept_before = e.first_unit
    e.first_unit = a.firsts
    a.firsts = kept_before
    return 0
