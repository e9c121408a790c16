"""Usual types that may be taken for odd ones, and the units that are kept whole for them.

All of this is about *mixed* classes (`is_mixed`): those with odd types and usual ones that separate.py cannot tell
apart. A usual type of such a class is *decided* in its unit if it surely differs from all odd types of the class: by a
slot that says so, as in separate.py, or by one whose type is decided itself. All decided types of a class are taken for
one; the first of them is *settled*. The others, *undecided*, are taken for that one or for an odd type. They bring
nothing new once the class is settled. Which of the two they go to matters only to what refers to them and remains in
the result. So a unit is kept whole in which

- an undecided type comes before its class is settled, unless it is *captured*: its unit only declares the names by
  which odd types could be told from it, so it is taken for any of them (`comes_too_early`);
- a type that is not compared, a pointer for instance, refers to an undecided one, unless the same pointer is there
  already for either outcome: one to the settled type, and one in each unit that has the odd type (`tint_users`);
- a usual type of a mixed class may resolve a declaration, or not, before something else is sure to (`may_resolve`);
- a compared type that is kept refers to an undecided one; or it has odd ones of its class before, and refers to a type
  of a mixed class: what stands for that may not tell them apart (`firsts_need_unit`);
- a variable, a tag or a function refers to an undecided one (`records_refer`).

Undecided types of units that are whole, and what is not compared and refers to them, stand for no other.

A decided type may still go to an odd one, if it is reached by another whose comparison meets an undecided type. So if a
unit has one undecided type, all its types of mixed classes count as undecided, and the unit is *disturbed*. A class is
*tainted* if its first usual type is in a disturbed unit, and units with tainted types are disturbed, too, whether they
have undecided types or not: those of other units may stand between. Odd types in disturbed units taint their class for
units with odd types of it; and for all units, if they are odd only because their unit has their name twice.

`decide` is called for each unit in order, between `watch` and what refine.py makes of it. In between, the tint
UNDECIDED is on the classes of undecided types and of what refers to these without being compared.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_third_is_type
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.odd_types import add_user, give, pass_on
from cython.cimports.pybtf.core.reduction.separate import (
    SLOTS_IN_MASK,
    defined_slots,
    first_usual,
    is_mixed,
    may_be_undecided,
    told_apart,
)
from cython.cimports.pybtf.core.reduction.unit_names import contest, next_watched
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def meant(a: cython.pointer[Analysis], to: uint32_t) -> uint32_t:
    """What a reference to class or key `to` leads to in the unit at hand: a class. 0: the name is only declared there,
    or duplicated.
    """
    if a.here[to] != a.round:
        return to
    return a.definition[to] & CLASS_BITS if a.definition[to] != MANY else 0


# ---- classes ------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread_reaching(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks the compared classes that may reach one with REACHING, whatever units say of names. Nonzero: no memory."""
    c: uint32_t
    k: uint32_t
    f: Refs
    a.round += 1  # no unit is entered: a name is what all of its definitions are
    a.links.n = a.todo.n = 0
    memset(a.users, 0, a.n * cython.sizeof(uint32_t))
    for c in range(1, a.n):
        refs_of(class_record(e.classes, c), cython.address(f))
        if not spend(a, 1 + f.n):
            return 0
        for k in range(f.n + 1):
            if add_user(a, c, reference(cython.address(f), k)):
                return 1
        if a.key[c] and a.marks[c] & FULL and add_user(a, a.key[c], c):
            return 1
        if a.watch[c] & REACHING and give(a, c, 1):
            return 1
    if pass_on(a, 0):
        return 1
    for c in range(1, a.n):
        if a.tint[c] and a.watch[c] & COMPARED:
            a.watch[c] |= REACHING
    memset(a.tint, 0, a.n)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prepare(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Says in `watch` what is asked of the types of each class, before the first unit. Nonzero: no memory."""
    c: uint32_t
    k: uint32_t
    plain: uint64_t = 0
    memset(a.count, 0, a.n * cython.sizeof(uint32_t))
    memset(a.settled, 0xFF, a.n * cython.sizeof(uint32_t))
    contest(a, CONFLICT)
    for c in range(1, a.n):
        if is_compared(class_record(e.classes, c)):
            if a.marks[c] & (NEAR | ODD | UNCERTAIN):
                a.watch[c] |= WATCHED
            a.watch[c] |= COMPARED
            if a.marks[c] & COMMON:
                a.watch[c] |= TRACKED
            if is_mixed(a, c):
                a.watch[c] |= REACHING
                a.mixed = True
        elif a.n_slots[c]:
            a.watch[c] |= VARIES
            k = a.slots[a.slots_at[c]].to
            if a.n_slots[c] > 1 or not is_key(class_record(e.classes, k)) or a.marks[c] & UNCERTAIN:
                a.watch[c] |= WATCHED
            elif is_mixed(a, a.usual[k]):
                a.watch[c] |= WATCHED | TRACKED
            else:
                a.variants[c].name = k
                plain += e.occurrences.p[c]
        elif a.marks[c] & (NEAR | ODD | UNCERTAIN):
            a.watch[c] |= WATCHED
    a.many_plain = plain > e.class_list.n // 8
    return spread_reaching(e, a) if a.mixed else 0


# ---- which types are undecided ------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def decided_slots(a: cython.pointer[Analysis], c: uint32_t) -> uint64_t:
    """The slots of class `c` that lead, in the unit at hand, to a compared type which is not undecided, as far as is
    known.
    """
    mask: uint64_t = 0
    i: uint32_t
    to: uint32_t
    for i in range(min(a.n_slots[c], SLOTS_IN_MASK)):
        to = meant(a, a.slots[a.slots_at[c] + i].to)
        if to and a.watch[to] & COMPARED and not a.tint[to] & UNDECIDED:
            mask |= cython.cast(uint64_t, 1) << i
    return mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_captured(a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> cython.bint:
    """Whether usual types of class `c` in unit `u`, the one at hand, are compared, and surely taken for one of their
    class that is there already: odd ones are, and the unit defines no slot.
    """
    i: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    if not a.watch[c] & COMPARED or not is_mixed(a, c) or a.first_odd[c] >= u:
        return False
    for i in range(a.n_slots[c]):
        if a.definition[x[i].to] or not x[i].named:
            return False
    return a.n_slots[c] != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_undecided(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether unit `u` has undecided types, going by its own types alone. These have a tint then, and no others.

    At first all types that may be undecided are. Each that is told apart by what is decided is decided itself, until
    there are no more.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    found: cython.bint = False
    changed: cython.bint = True
    for at in range(a.tracked.n):
        c = p[a.tracked.p[at]]
        if may_be_undecided(a, c, u):
            a.tint[c] |= UNDECIDED
            found = True
    while changed and found:
        changed = found = False
        for at in range(a.tracked.n):
            c = p[a.tracked.p[at]]
            if c & APART or not a.tint[c] & UNDECIDED:
                continue
            if not spend(a, 1 + a.n_slots[c]):
                return True
            if told_apart(a, c, defined_slots(a, c), decided_slots(a, c)):
                a.tint[c] &= ~UNDECIDED
                changed = True
            else:
                found = True
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def disturb(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Gives the tint to all types of unit `u` that may be undecided, decided or not. Whether there are some."""
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    found: cython.bint = False
    for at in range(a.tracked.n):
        c = p[a.tracked.p[at]]
        if may_be_undecided(a, c, u):
            a.tint[c] |= UNDECIDED
            found = True
    return found


# ---- why a unit is kept whole -------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_undecided(a: cython.pointer[Analysis], to: uint32_t) -> cython.bint:
    """Whether a reference to class or key `to` leads, in the unit at hand, to an undecided type."""
    return to != 0 and (a.tint[meant(a, to)] & UNDECIDED) != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refers_to_undecided(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether the record of class `c` refers to an undecided type of the unit at hand, or to what has its tint."""
    k: uint32_t
    f: Refs
    refs_of(class_record(e.classes, c), cython.address(f))
    for k in range(f.n + 1):
        if is_undecided(a, reference(cython.address(f), k)):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def only_definition(a: cython.pointer[Analysis], c: uint32_t) -> uint32_t:
    """The entry in the unit at hand that defines the only slot of class `c`, which is not compared. 0: the unit does
    not define it once, as the usual class; or `c` is not tracked, as it has other slots, or leads to no mixed class.
    """
    k: uint32_t
    if a.watch[c] & (COMPARED | TRACKED) != TRACKED:
        return 0
    k = a.slots[a.slots_at[c]].to
    CHECK(a.here[k] == a.round, "a type mentions a name that its unit does not have")
    return a.definition[k] if a.definition[k] & CLASS_BITS == a.usual[k] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_undecided_slot(a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether a slot of class `c` leads, in the unit at hand, to an undecided type."""
    i: uint32_t
    for i in range(a.n_slots[c]):
        if is_undecided(a, a.slots[a.slots_at[c] + i].to):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def comes_too_early(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether an undecided type of unit `u` may be new: its class is not settled, and it is not captured."""
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    for at in range(a.tracked.n):
        c = p[a.tracked.p[at]] & CLASS_BITS
        if a.watch[c] & COMPARED and a.tint[c] & UNDECIDED and a.settled[c] == NO_UNIT and not is_captured(a, c, u):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tint_users(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Gives the tint to what is not compared and has a slot with an undecided type. Whether such a type of unit `u` may
    be new: not if there is one for the settled type, and one in each unit with the odd type.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    to: uint32_t
    new: cython.bint = False
    for at in range(a.watched.n):
        c = p[a.watched.p[at]] & CLASS_BITS
        if a.watch[c] & COMPARED or not has_undecided_slot(a, c):
            continue
        a.tint[c] |= UNDECIDED
        to = only_definition(a, c)
        CHECK(to == 0 or a.tint[to] & UNDECIDED, "the only type in question is not undecided")
        CHECK(a.odd_units[c] <= a.odd_units[to], "there are more pointers to an odd type than units with it")
        if to == 0 or a.settled[c] == NO_UNIT or a.odd_units[c] != a.odd_units[to]:
            new = True
    return new


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def needs_own_targets(a: cython.pointer[Analysis], entry: uint32_t, u: uint32_t) -> cython.bint:
    """Whether what tells a type of unit `u` from odd ones may be in the types that it refers to there. What stands for
    these, from other units, may only declare the names by which they differ. Or nothing does, as the odd ones are odd
    only because their unit has their name twice. Then what stands there may resolve a declaration.
    """
    i: uint32_t
    to: uint32_t
    if not may_be_undecided(a, entry, u):
        return False
    if a.n_slots[entry] == 0:
        return True
    for i in range(a.n_slots[entry]):
        to = meant(a, a.slots[a.slots_at[entry] + i].to)
        if to and a.watch[to] & COMPARED and is_mixed(a, to):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def firsts_need_unit(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, found: cython.bint
) -> cython.bint:
    """Whether a compared type of unit `u` that may stand for others must be kept with what it refers to there; `found`:
    the unit has undecided types.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    types: cython.pointer[U32s] = cython.address(a.watched) if found else cython.address(a.tracked)
    at: cython.size_t
    c: uint32_t
    for at in range(types.n):
        c = p[types.p[at]] & CLASS_BITS
        if not a.watch[c] & COMPARED or first_usual(e, a, c) < u:
            continue
        if (found and refers_to_undecided(e, a, c)) or needs_own_targets(a, p[types.p[at]], u):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def records_refer(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether a tag, a variable or a function of unit `u` refers to something undecided. To be called with ascending
    `u`, as functions are listed in that order (`next_state`).
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    k: uint32_t
    r: cython.pointer[uint32_t]
    s: cython.pointer[State]
    for i in range(t.n):
        if e.locals.p[t.first + i] < t.n_types:
            continue
        r = e.kept_words.p + e.starts.p[t.first + i]
        if wire_third_is_type(wire_kind(r)) and r[2] < t.n_types:
            if a.tint[e.class_list.p[t.classes + r[2]] & CLASS_BITS] & UNDECIDED:
                return True
    while a.next_state < e.n_states and e.states[a.next_state].unit < u:
        a.next_state += 1
    while a.next_state < e.n_states and e.states[a.next_state].unit == u:
        s = cython.address(e.states[a.next_state])
        for k in range(class_record(e.classes, s.proto)[REC_COUNT] + 1):
            i = e.state_locals.p[s.locals + k]
            if i < t.n_types and a.tint[e.class_list.p[t.classes + i] & CLASS_BITS] & UNDECIDED:
                return True
        a.next_state += 1
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_resolve(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether a type of unit `u` may resolve a declaration, or be taken for an odd type and resolve nothing, in a unit
    before that of the event, by which it is resolved for sure. It may if some types of its class, usual or odd, have a
    slot declared, and some have the usual definition.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    i: uint32_t
    c: uint32_t
    x: cython.pointer[Slot]
    for at in range(a.tracked.n):
        c = p[a.tracked.p[at]]
        if not may_be_undecided(a, c, u):
            continue
        for i in range(a.n_slots[c]):
            x = a.slots + a.slots_at[c] + i
            if u < a.event[x.to] and min(x.declared, x.odd_declared) != NO_UNIT:
                if min(x.defined, x.odd_usual) != NO_UNIT:
                    return True
    return False


# ---- what that means for later units ------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def taint_loose(a: cython.pointer[Analysis]) -> cython.void:
    """Taints all loose classes: types of one may be taken for such of another."""
    c: uint32_t
    for c in range(1, a.n):
        if a.marks[c] & LOOSE and a.watch[c] & REACHING:
            a.watch[c] |= TAINTED_ODD


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def taint(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Taints the classes of those types of unit `u`, a disturbed one, with which others are compared later: the first
    usual ones; and those that are kept for themselves, but only for units with such types.
    """
    n: uint32_t = e.kept[u].n_types
    p: cython.pointer[cython.const[uint32_t]] = e.class_list.p + e.kept[u].classes
    i: uint32_t = next_watched(a.watch, REACHING, p, 1, n)
    c: uint32_t
    while i < n:
        c = p[i] & CLASS_BITS
        if p[i] & APART or a.marks[c] & UNCERTAIN:
            if a.marks[c] & LOOSE and not a.watch[c] & TAINTED_ODD:
                taint_loose(a)
            a.watch[c] |= TAINTED_ODD
            if is_mixed(a, c) and a.n_slots[c] == 0 and first_usual(e, a, c) >= u:
                a.watch[c] |= TAINTED  # its unit has the name twice: usual types are taken for it all the same
        elif first_usual(e, a, c) >= u and not is_captured(a, c, u):
            a.watch[c] |= TAINTED
        i = next_watched(a.watch, REACHING, p, i + 1, n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Notes for the next units which classes unit `u` settles (`settled`), and of which it has odd types (`odd_units`).
    A class that is not compared is settled if its only slot is of the usual class and not undecided.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    to: uint32_t
    a.stamp += 1
    for at in range(a.tracked.n):
        c = p[a.tracked.p[at]] & CLASS_BITS
        if not a.watch[c] & TRACKED or a.visited[c] == a.stamp:
            continue
        a.visited[c] = a.stamp
        to = only_definition(a, c)
        if p[a.tracked.p[at]] & APART:
            if a.watch[c] & COMPARED or to & APART:
                a.odd_units[c] += 1
        elif not a.tint[c] and a.settled[c] == NO_UNIT and (to or a.watch[c] & COMPARED):
            CHECK(
                not a.watch[c] & TAINTED or a.marks[c] & UNCERTAIN,
                "a class is settled after an undecided type that it may go to",
            )
            a.settled[c] = u


# ---- one unit -----------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def decide(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Gives the tint to what is undecided in unit `u`, and notes what that means for the next units. Whether the unit
    must be whole. To be called for all units, in order; refine.py takes the tints away.
    """
    found: cython.bint
    new: cython.bint = False
    if not a.mixed:
        return False
    # All or none of those that may be: by way of one that is undecided, or tainted, others are (see above).
    found = note_undecided(e, a, u)
    if found or a.disturbed:
        found = disturb(e, a, u)
    # `settled` and `odd_units` speak of the units before this one.
    if found:
        new = tint_users(e, a, u)
        new = new or comes_too_early(e, a, u)
    # From here on, of this one as well.
    note_unit(e, a, u)
    if found or a.disturbed:
        taint(e, a, u)
    return new or may_resolve(e, a, u) or firsts_need_unit(e, a, u, found) or (found and records_refer(e, a, u))
