"""Whether odd types can be taken for usual ones, and what follows if so.

A class may be odd in some units and usual in others. Two such types are compared name by name. They are surely told
apart if some name that the class mentions directly is defined in both units, once, and differently: as different
classes, or as one class that is odd here and usual there and of which, in turn, odd and usual types are told apart. If
that holds for each odd and each usual type, the class is *separate*. If not, it is *mixed* (`is_mixed`).

A *slot* is such a name, or a typedef or nameless struct that stands between. For each class with slots it is noted in
which units its types were first met with the name declared and defined. That says

- by when a declaration is resolved to the usual definition (`event`): the later of two units in which a compared class
  mentions it directly, declared in one, defined in the other;
- from when on it could be resolved to an odd one (`contact`): where odd types have an odd definition in the slot, and
  others that they may be taken for have the declaration, types of other classes among them, if the class is *loose*; or
  where usual definitions may be taken for odd ones, which come before. An event has to come before these as well.

If no event comes before the first contact, the classes that meet the declaration here and the definition there are
uncertain, and so are the mixed classes.

If each event comes before, a mixed class only leaves open to which of two candidates, usual or odd, a usual type goes
that has the declaration (undecided.py).
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.separate import SLOTS_IN_MASK, check_slot, earliest, is_mixed
from cython.cimports.pybtf.core.reduction.unit_names import contest, watch
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import grow, u32s_push

EFFORT_OF_SLOT = cython.declare(uint64_t, 64)  # steps that one counts as, because it takes memory


# ---- slots ------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_slot(e: cython.pointer[Encoder], a: cython.pointer[Analysis], to: uint32_t) -> cython.bint:
    """Whether `to`, which a class mentions directly, is one of its slots (see above)."""
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, to)
    if is_key(r):
        return (a.marks[to] & CONFLICT) != 0
    return is_compared(r) and a.marks[to] & ODD and a.marks[to] & COMMON


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def leads(e: cython.pointer[Encoder], a: cython.pointer[Analysis], to: uint32_t) -> cython.bint:
    """Whether a reference to class or key `to` is to a slot, or to something on the way to one."""
    if to == 0:
        return False
    if is_slot(e, a, to):
        return True
    return a.marks[to] & NEAR and not is_compared(class_record(e.classes, to))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_slots(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    """Lists the slots of a class. Nonzero: no memory."""
    to: uint32_t
    k: uint32_t
    f: Refs
    x: cython.pointer[Slot]
    a.stamp += 1
    a.todo.n = 0
    a.slots_at[c] = a.all_slots
    refs_of(class_record(e.classes, c), cython.address(f))
    if leads(e, a, f.third) and visit(a, f.third) < 0:
        return 1
    for k in range(f.n):
        to = f.first[k * f.step + 1]
        if leads(e, a, to) and visit(a, to) < 0:
            return 1
    while a.todo.n:
        a.todo.n -= 1
        to = a.todo.p[a.todo.n]
        if not is_slot(e, a, to):
            refs_of(class_record(e.classes, to), cython.address(f))
            if not spend(a, 1 + f.n):
                return 0
            if leads(e, a, f.third) and visit(a, f.third) < 0:
                return 1
            for k in range(f.n):
                if leads(e, a, f.first[k * f.step + 1]) and visit(a, f.first[k * f.step + 1]) < 0:
                    return 1
            continue
        if not spend(a, EFFORT_OF_SLOT):
            return 0
        if not grow(a.slots, a.cap_slots, a.all_slots + 1):
            return 1
        x = cython.address(a.slots[a.all_slots])
        x.to = to
        x.named = is_key(class_record(e.classes, to))
        x.declared = x.defined = x.odd_declared = x.odd_defined = x.odd_usual = NO_UNIT
        a.all_slots += 1
        a.n_slots[c] += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_slots(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """The slots of all classes that have some. Nonzero: no memory."""
    c: uint32_t
    k: uint32_t
    f: Refs
    found: cython.bint
    for c in range(1, a.n):
        refs_of(class_record(e.classes, c), cython.address(f))
        found = leads(e, a, f.third)
        for k in range(f.n):
            found = found or leads(e, a, f.first[k * f.step + 1])
        if not found:
            continue
        a.marks[c] |= NEAR
        if a.marks[c] & OCCURS:
            if add_slots(e, a, c):
                return 1
            if is_compared(class_record(e.classes, c)) and a.marks[c] & ODD and a.marks[c] & COMMON:
                if not u32s_push(cython.address(a.common), c):
                    return 1
    return 0


# ---- what the units have of them ----------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_mask(
    a: cython.pointer[Analysis],
    c: uint32_t,
    odd: cython.bint,
    defined: uint64_t,
    same_class: uint64_t,
    wild: uint32_t,
) -> cython.int:
    """Adds a mask to those of class `c`, unless it is there. Nonzero: no memory."""
    m: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    while i:
        m = cython.address(a.masks[i - 1])
        if m.odd == odd and m.defined == defined and m.same_class == same_class and m.wild == wild:
            return 0
        if not spend(a, 1):
            return 0
        i = m.next
    if not grow(a.masks, a.cap_masks, a.n_masks + 1):
        return 1
    m = cython.address(a.masks[a.n_masks])
    m.next = a.masks_at[c]
    m.odd = odd
    m.defined = defined
    m.same_class = same_class
    m.wild = wild
    a.n_masks += 1
    a.masks_at[c] = a.n_masks
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def defined_slots(a: cython.pointer[Analysis], c: uint32_t) -> uint64_t:
    """Which slots of a usual type of class `c` the unit at hand defines."""
    mask: uint64_t = 0
    i: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    for i in range(min(a.n_slots[c], SLOTS_IN_MASK)):
        if a.definition[x[i].to] or not x[i].named:
            mask |= cython.cast(uint64_t, 1) << i
    return mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_usual(a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> uint64_t:
    """Notes in the slots of `c` that unit `u` has a usual type of it. Which slots are defined there."""
    mask: uint64_t = 0
    bit: uint64_t = 1
    i: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    for i in range(a.n_slots[c]):
        check_slot(a, x)
        if not x.named:
            mask |= bit
        elif a.definition[x.to]:
            mask |= bit
            earliest(cython.address(x.defined), u)
        else:
            earliest(cython.address(x.declared), u)
        bit <<= 1
        x += 1
    return mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_odd(a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> cython.int:
    """Notes in the slots of `c` that unit `u` has an odd type of it. Nonzero: no memory."""
    defined: uint64_t = 0
    same_class: uint64_t = 0
    wild: uint32_t = 0
    bit: uint64_t = 1
    i: uint32_t
    k: uint32_t
    m: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    if a.marks[c] & WILD or (a.key[c] and a.definition[a.key[c]] == MANY):
        wild = 1
    for i in range(a.n_slots[c]):
        k = x.to
        if not x.named:
            if a.tint[k]:
                same_class |= bit
            if a.marks[k] & WILD:
                wild |= 1
        elif a.definition[k] == 0:
            earliest(cython.address(x.odd_declared), u)
        elif a.definition[k] == MANY:
            earliest(cython.address(x.odd_declared), u)
            earliest(cython.address(x.odd_defined), u)
            earliest(cython.address(x.odd_usual), u)
            wild |= 1
        elif a.definition[k] & APART:
            m = a.definition[k] & CLASS_BITS
            earliest(cython.address(x.odd_defined), u)
            if m == a.usual[k]:
                same_class |= bit
            elif a.usual[k]:
                defined |= bit
            if a.marks[m] & WILD:
                wild |= 1
        else:
            earliest(cython.address(x.odd_usual), u)
        bit <<= 1
        x += 1
    return add_mask(a, c, True, defined, same_class, wild) if a.marks[c] & COMMON else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tint_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, tint: uint32_t) -> cython.void:
    """Says of each class whether it is odd in this unit (1), or forgets it (0)."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    entry: uint32_t
    for i in range(1, t.n_types):
        entry = e.class_list.p[t.classes + i]
        a.tint[entry & CLASS_BITS] = tint if entry & APART else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Fills slots and masks. Nonzero: no memory."""
    u: uint32_t
    i: uint32_t
    c: uint32_t
    at: cython.size_t
    mask: uint64_t
    p: cython.pointer[uint32_t]
    contest(a, CONFLICT)
    for c in range(1, a.n):
        if a.n_slots[c] and is_compared(class_record(e.classes, c)):
            a.watch[c] |= WATCHED
    for u in range(e.n_kept):
        p = e.class_list.p + e.kept[u].classes
        if watch(e, a, u):
            return 1
        if a.odd[u]:
            tint_unit(e, a, u, 1)
        for at in range(a.watched.n):
            i = a.watched.p[at]
            c = p[i] & CLASS_BITS
            CHECK(p[i] & APART or not a.marks[c] & LOOSE, "a type of a loose class is not wild")
            if not spend(a, a.n_slots[c]):
                return 0
            if p[i] & APART:
                if note_odd(a, c, u):
                    return 1
            else:
                mask = note_usual(a, c, u)
                if a.marks[c] & COMMON and add_mask(a, c, False, mask, 0, 0):
                    return 1
        if a.odd[u]:
            tint_unit(e, a, u, 0)
    return 0


# ---- separate classes ------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def separate_slots(a: cython.pointer[Analysis], c: uint32_t) -> uint64_t:
    """The slots of a class whose usual definition is of a separate class."""
    mask: uint64_t = 0
    i: uint32_t
    to: uint32_t
    for i in range(min(a.n_slots[c], SLOTS_IN_MASK)):
        to = a.slots[a.slots_at[c] + i].to
        if a.slots[a.slots_at[c] + i].named:
            to = a.usual[to]
        if a.marks[to] & SEPARATE:
            mask |= cython.cast(uint64_t, 1) << i
    return mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def told_apart(a: cython.pointer[Analysis], c: uint32_t, usual: uint64_t, separate: uint64_t) -> cython.bint:
    """Whether each odd type of the class differs surely from usual ones that have these slots defined."""
    m: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    while i:
        m = cython.address(a.masks[i - 1])
        if not spend(a, 1) or (m.odd and not (m.defined | (m.same_class & separate)) & usual):
            return False
        i = m.next
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_separate(a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether the usual and the odd types of class `c` are told apart, by what is known of its slots."""
    m: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    slots: uint64_t = separate_slots(a, c)
    while i:
        m = cython.address(a.masks[i - 1])
        if not spend(a, a.n_slots[c]) or (not m.odd and not told_apart(a, c, m.defined, slots)):
            return False
        i = m.next
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def separate(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks the separate classes, each by those marked before it. Nonzero: no memory."""
    i: cython.size_t
    c: uint32_t
    changed: cython.bint = True
    if a.tired:
        return 0
    if list_slots(e, a) or survey(e, a):
        return 1
    while changed:
        changed = False
        for i in range(a.common.n):
            c = a.common.p[i]
            if not a.marks[c] & SEPARATE and is_separate(a, c):
                a.marks[c] |= SEPARATE
                changed = True
    return 0


# ---- declarations that odd types may resolve ---------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_events(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """For each key, the unit of its event, and of its first contact; NO_UNIT: there is none."""
    c: uint32_t
    i: uint32_t
    k: uint32_t
    at: uint32_t
    x: cython.pointer[Slot]
    for k in range(a.n):
        a.event[k] = a.contact[k] = NO_UNIT
    for c in range(1, a.n):
        if a.n_slots[c] == 0 or not is_compared(class_record(e.classes, c)):
            continue
        for i in range(a.n_slots[c]):
            x = a.slots + a.slots_at[c] + i
            k = x.to
            if not a.marks[c] & UNCERTAIN and x.declared != NO_UNIT and x.defined != NO_UNIT:
                at = max(x.declared, x.defined)
                if at < a.event[k] and (not is_mixed(a, c) or at < a.first_odd[c]):
                    a.event[k] = at
            if is_mixed(a, a.usual[k]) and min(x.declared, x.odd_declared) != NO_UNIT:
                if x.defined != NO_UNIT or a.marks[c] & ODD:
                    earliest(cython.address(a.contact[k]), a.first_odd[a.usual[k]])
            if x.odd_defined != NO_UNIT and (
                x.odd_declared != NO_UNIT or (is_mixed(a, c) and x.declared != NO_UNIT) or a.marks[c] & LOOSE
            ):
                earliest(cython.address(a.contact[k]), x.odd_defined)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meets_wild(a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether a usual type of the class can be compared with an odd one so far as to meet something wild."""
    m: cython.pointer[Mask]
    u: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    j: uint32_t
    slots: uint64_t = separate_slots(a, c)
    while i:
        m = cython.address(a.masks[i - 1])
        i = m.next
        if not m.wild:
            continue
        j = a.masks_at[c]
        while j:
            u = cython.address(a.masks[j - 1])
            if not spend(a, 1) or (not u.odd and not (m.defined | (m.same_class & slots)) & u.defined):
                return True
            j = u.next
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_slot(a: cython.pointer[Analysis], c: uint32_t, x: cython.pointer[Slot]) -> cython.void:
    """What becomes uncertain because of one slot of a compared class."""
    to: uint32_t = x.to
    both: cython.bint = x.declared != NO_UNIT and x.defined != NO_UNIT
    if a.contact[to] != NO_UNIT and a.event[to] >= a.contact[to] and (is_mixed(a, c) or both):
        doubt(a, c, UNCERTAIN)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def contacts(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Marks what becomes uncertain where odd types come too near, and counts it in `seeds`."""
    c: uint32_t
    i: uint32_t
    note_events(e, a)
    for c in range(1, a.n):
        if not is_compared(class_record(e.classes, c)):
            continue
        for i in range(a.n_slots[c]):
            doubt_slot(a, c, a.slots + a.slots_at[c] + i)
        if is_mixed(a, c) and meets_wild(a, c):
            doubt(a, c, UNCERTAIN)
