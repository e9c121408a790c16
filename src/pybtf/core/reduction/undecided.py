"""Usual types that may be taken for odd ones, and the units that are kept whole for them.

A usual type is *decided* in its unit if it surely differs from all odd types of its class: by a slot that says so, as
in separate.py, or by one whose type is decided itself. All decided types of a class are taken for one; the first of
them is *settled*. The others, *undecided*, are taken for that one or for an odd type. They bring nothing new once the
class is settled. Which of the two they go to matters only to what refers to them and remains in the result. So a unit
is kept whole in which

- an undecided type comes before its class is settled, unless it is *captured*: its unit only declares the names by
  which odd types could be told from it, so it is taken for any of them;
- a type of a class that is not separate may resolve a declaration, or not, before something else is sure to;
- a type that is kept, a variable, a tag or a function refers to an undecided one;
- a type that is kept has odd ones of its class before, and refers to a type of a class that is not separate: what
  stands for that may not tell them apart;
- a type that is not compared, a pointer for instance, refers to an undecided one, unless the same pointer is there
  already for either outcome: one to the settled type, and one in each unit that has the odd type.

Undecided types of units that are whole, and what is not compared and refers to them, stand for no other.

A decided type may still go to an odd one, if it is reached by another whose comparison meets an undecided type. So all
types of a class that is not separate are undecided in a unit with an undecided type, or with one that is *tainted*: of
a class whose first usual type is in such a unit, or odd, where odd types of the class are in such units.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_third_is_type
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.separate import (
    MASKED,
    defined_slots,
    is_mixed,
    told_apart,
)
from cython.cimports.pybtf.core.reduction.unit_names import contest
from cython.cimports.pybtf.core.reduction.variants import add_user, give, pass_on
from cython.cimports.pybtf.core.support.memory import U32s


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def meant(a: cython.pointer[Analysis], to: uint32_t) -> uint32_t:
    """The class that a reference to class or key `to` is to, in the unit at hand; 0 it is declared, or there twice."""
    if a.here[to] != a.round:
        return to
    return a.definition[to] & CLASS_BITS if a.definition[to] != MANY else 0


# ---- classes ------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def spread_reaching(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks the classes that may reach one with REACHING, whatever units say of names. Nonzero: no memory."""
    c: uint32_t
    k: uint32_t
    f: Refs
    a.round += 1
    a.links.n = a.todo.n = 0
    memset(a.users, 0, a.n * cython.sizeof(uint32_t))
    for c in range(1, a.n):
        refs_of(class_record(e.classes, c), cython.address(f))
        if not spend(a, 1 + f.n):
            return 0
        for k in range(f.n + 1):
            if add_user(a, c, f.third if k == f.n else f.first[k * f.step + 1]):
                return 1
        if a.key[c] and a.marks[c] & FULL and add_user(a, a.key[c], c):
            return 1
        if a.watch[c] & REACHING and give(a, c, 1):
            return 1
    if pass_on(a, 0):
        return 1
    for c in range(1, a.n):
        if a.tint[c]:
            a.watch[c] |= REACHING
    memset(a.tint, 0, a.n)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prepare(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """What is to be watched for, before the first unit. Nonzero: no memory."""
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
def decided_slots(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint64_t:
    """The slots of a class whose usual types, in the unit at hand, surely differ from odd types of their class."""
    mask: uint64_t = 0
    i: uint32_t
    to: uint32_t
    for i in range(min(a.n_slots[c], MASKED)):
        to = meant(a, a.slots[a.slots_at[c] + i].to)
        if to and a.watch[to] & COMPARED and not a.tint[to] & UNDECIDED:
            mask |= cython.cast(uint64_t, 1) << i
    return mask


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def may_be_undecided(a: cython.pointer[Analysis], entry: uint32_t, u: uint32_t) -> cython.bint:
    """Whether the class of this entry is not separate, and some unit up to `u` has odd types of it. Otherwise no
    question arises.
    """
    if entry & APART or not a.watch[entry] & COMPARED or u < a.first_odd[entry]:
        return False
    return is_mixed(a, entry) and not a.marks[entry] & UNCERTAIN


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
    """Gives undecided types of unit `u`, those of `a.tracked`, a tint. Whether there are some."""
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
            if told_apart(a, c, defined_slots(a, c), decided_slots(e, a, c)):
                a.tint[c] &= ~UNDECIDED
                changed = True
            else:
                found = True
    return found


# ---- what refers to them ------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_undecided(a: cython.pointer[Analysis], to: uint32_t) -> cython.bint:
    """Whether a reference to `to` leads, in the unit at hand, to an undecided type."""
    return to != 0 and (a.tint[meant(a, to)] & UNDECIDED) != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refers(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether types of class `c` refer to an undecided one directly, in the unit at hand."""
    k: uint32_t
    f: Refs
    refs_of(class_record(e.classes, c), cython.address(f))
    if is_undecided(a, f.third):
        return True
    for k in range(f.n):
        if is_undecided(a, f.first[k * f.step + 1]):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def only_name(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint32_t:
    """The definition, in the unit at hand, of the only name that a class which is not compared has in its slots; 0:
    there are other slots, or it is not of the usual class.
    """
    k: uint32_t
    if not a.watch[c] & VARIES or a.n_slots[c] != 1:
        return 0
    k = a.slots[a.slots_at[c]].to
    if not is_key(class_record(e.classes, k)) or a.here[k] != a.round or a.definition[k] == MANY:
        return 0
    return a.definition[k] if a.definition[k] & CLASS_BITS == a.usual[k] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reaches_undecided(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether a slot of class `c` is undecided in the unit at hand."""
    i: uint32_t
    for i in range(a.n_slots[c]):
        if is_undecided(a, a.slots[a.slots_at[c] + i].to):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def references_matter(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether undecided types of the unit bring something new, or what is not compared and refers to them, which gets
    a tint as well.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    at: cython.size_t
    c: uint32_t
    to: uint32_t
    new: cython.bint = False
    for at in range(a.watched.n):
        c = p[a.watched.p[at]] & CLASS_BITS
        if a.watch[c] & COMPARED:
            new = new or (a.tint[c] & UNDECIDED and a.settled[c] == NO_UNIT and not is_captured(a, c, u))
        elif reaches_undecided(e, a, c):
            a.tint[c] |= UNDECIDED
            to = only_name(e, a, c)
            if to == 0 or a.settled[c] == NO_UNIT or a.count[c] != a.count[to]:
                new = True
    return new


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def changes(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> cython.bint:
    """Whether a type of class `c`, the first, can be told from odd types only by what it refers to in its unit, and
    not by what stands for that: there a name may be declared.
    """
    i: uint32_t
    to: uint32_t
    if not may_be_undecided(a, c, u):
        return False
    for i in range(a.n_slots[c]):
        to = meant(a, a.slots[a.slots_at[c] + i].to)
        if to and a.watch[to] & COMPARED and is_mixed(a, to):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def first_usual(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint32_t:
    """The unit with the usual type that stands for others of class `c`; NO_UNIT: it is still to come."""
    return a.settled[c] if a.marks[c] & ODD else e.first_unit.p[c]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def types_remain(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, found: cython.bint
) -> cython.bint:
    """Whether a compared type that is the first of its class needs what it refers to; `found`: there is something
    undecided.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    list_: cython.pointer[U32s] = cython.address(a.watched) if found else cython.address(a.tracked)
    at: cython.size_t
    c: uint32_t
    for at in range(list_.n):
        c = p[list_.p[at]] & CLASS_BITS
        if not a.watch[c] & COMPARED or first_usual(e, a, c) < u:
            continue
        if (found and refers(e, a, c)) or changes(e, a, p[list_.p[at]], u):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def records_remain(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether a tag, a variable or a function of the unit refers to what is undecided. Functions are taken in order."""
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
def resolves(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Whether a usual type of the unit may resolve a declaration before it is sure to be resolved, or be taken for an
    odd type that is kept, and resolve nothing.
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
            if u <= a.event[x.to] and min(x.declared, x.odd_declared) != NO_UNIT:
                if min(x.defined, x.odd_usual) != NO_UNIT:
                    return True
    return False


# ---- what is told by way of other types ---------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def disturb(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Makes all types of `a.tracked` undecided that may be. Whether there are some."""
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def taint(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Taints the classes that have a type in unit `u` with which others are compared later."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    entry: uint32_t
    first: uint32_t
    for i in range(1, t.n_types):
        entry = e.class_list.p[t.classes + i]
        c = entry & CLASS_BITS
        if not a.watch[c] & REACHING or not a.watch[c] & COMPARED:
            continue
        first = first_usual(e, a, c)
        if entry & APART or a.marks[c] & UNCERTAIN:
            a.watch[c] |= TAINTED_ODD
        elif first >= u and not is_captured(a, c, u):
            a.watch[c] |= TAINTED


# ---- one unit -----------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Notes what is settled by unit `u`, and which odd types it has."""
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
        to = only_name(e, a, c)
        if p[a.tracked.p[at]] & APART:
            if a.watch[c] & COMPARED or to & APART:
                a.count[c] += 1
        elif not a.tint[c] and a.settled[c] == NO_UNIT and (to or a.watch[c] & COMPARED):
            a.settled[c] = u


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def decide(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Gives a tint to the types of `a.watched` that are undecided in unit `u`, or refer to such without being compared.
    Whether the unit must be whole for that. To be called for all units, in order.
    """
    found: cython.bint
    new: cython.bint
    if not a.mixed:
        return False
    found = note_undecided(e, a, u)
    if found or a.disturbed:
        found = disturb(e, a, u)
    new = found and references_matter(e, a, u)
    note_unit(e, a, u)
    if found:
        taint(e, a, u)
    return new or resolves(e, a, u) or types_remain(e, a, u, found) or (found and records_remain(e, a, u))
