"""Whether odd types can be taken for usual ones, and what follows if so.

A class may be odd in some units and usual in others. Two such types are compared name by name. They are surely told
apart if some name that the class mentions directly is defined in both units, once, and differently: as different
classes, or as one class that is odd here and usual there and of which, in turn, odd and usual types are told apart. If
that holds for each odd and each usual type, the class is *separate*.

A *slot* is such a name, or a typedef or nameless struct that stands between. For each class with slots it is noted in
which units its types were first met with the name declared and defined. That says

- by when a declaration is resolved to the usual definition (`event`): the later of two units in which a compared class
  mentions it directly, declared in one, defined in the other;
- from when on it could be resolved to an odd one (`contact`): where odd types have an odd definition in the slot, and
  others that they may be taken for have the declaration.

If no event comes before the first contact, the classes that meet the declaration here and the definition there are
uncertain, and so are the classes that are not separate.

If each event comes before, a class that is not separate only leaves open to which of two candidates, usual or odd, a
usual type goes that has the declaration. That matters to who refers to it, directly, and remains: if nobody does from
the first odd type on, the class is *quiet*, else it is uncertain.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_third_is_type
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, NO_UNIT, Encoder, Stream
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.reduction.certify import *
from cython.cimports.pybtf.core.support.memory import grow, u32s_push

MASKED = cython.declare(uint32_t, 64)  # slots that masks have room for
IS_OPEN = cython.declare(uint8_t, 1)
IS_CLOSED = cython.declare(uint8_t, 2)


# ---- slots ------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_slot(e: cython.pointer[Encoder], a: cython.pointer[Analysis], to: uint32_t) -> cython.bint:
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
        if not grow(a.slots, a.cap_slots, a.all_slots + 1):
            return 1
        x = cython.address(a.slots[a.all_slots])
        x.to = to
        x.declared = x.defined = x.odd_declared = x.odd_defined = NO_UNIT
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
    first: uint64_t,
    second: uint64_t,
    third: uint32_t,
) -> cython.int:
    """Adds a mask to those of class `c`, unless it is there. Nonzero: no memory."""
    m: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    while i:
        m = cython.address(a.masks[i - 1])
        if m.odd == odd and m.first == first and m.second == second and m.third == third:
            return 0
        if not spend(a, 1):
            return 0
        i = m.next
    if not grow(a.masks, a.cap_masks, a.n_masks + 1):
        return 1
    m = cython.address(a.masks[a.n_masks])
    m.next = a.masks_at[c]
    m.odd = odd
    m.first = first
    m.second = second
    m.third = third
    a.n_masks += 1
    a.masks_at[c] = a.n_masks
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def earliest(at: cython.pointer[uint32_t], u: uint32_t) -> cython.void:
    if u < at[0]:
        at[0] = u


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_usual(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> uint64_t:
    """Notes in the slots of `c` that unit `u` has a usual type of it. Which slots are defined there."""
    mask: uint64_t = 0
    bit: uint64_t = 1
    i: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    for i in range(a.n_slots[c]):
        if not is_key(class_record(e.classes, x.to)):
            mask |= bit
        elif a.meaning[x.to]:
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
def note_odd(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, u: uint32_t) -> cython.int:
    """Notes in the slots of `c` that unit `u` has an odd type of it. Nonzero: no memory."""
    first: uint64_t = 0
    second: uint64_t = 0
    third: uint32_t = 0
    bit: uint64_t = 1
    i: uint32_t
    k: uint32_t
    m: uint32_t
    x: cython.pointer[Slot] = a.slots + a.slots_at[c]
    if a.marks[c] & WILD or (a.key[c] and a.meaning[a.key[c]] == MANY):
        third = 1
    for i in range(a.n_slots[c]):
        k = x.to
        if not is_key(class_record(e.classes, k)):
            if a.tint[k]:
                second |= bit
            if a.marks[k] & WILD:
                third |= 1
        elif a.meaning[k] == 0:
            earliest(cython.address(x.odd_declared), u)
        elif a.meaning[k] == MANY:
            earliest(cython.address(x.odd_declared), u)
            earliest(cython.address(x.odd_defined), u)
            third |= 1
        elif a.meaning[k] & APART:
            m = a.meaning[k] & CLASS_BITS
            earliest(cython.address(x.odd_defined), u)
            if m == a.usual[k]:
                second |= bit
            elif a.usual[k] and a.blind[m] != a.blind[a.usual[k]]:
                first |= bit
            if a.marks[m] & WILD:
                third |= 1
        bit <<= 1
        x += 1
    return add_mask(a, c, True, first, second, third) if a.marks[c] & COMMON else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tint_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, tint: uint32_t) -> cython.void:
    """Says of each class whether it is odd in this unit (1), or forgets it (0)."""
    t: cython.pointer[Stream] = cython.address(e.streams[u])
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
    mask: uint64_t
    p: cython.pointer[uint32_t]
    t: cython.pointer[Stream]
    for u in range(e.n_streams):
        t = cython.address(e.streams[u])
        p = e.class_list.p + t.classes
        enter(e, a, u, CONFLICT)
        if a.odd[u]:
            tint_unit(e, a, u, 1)
        for i in range(1, t.n_types):
            c = p[i] & CLASS_BITS
            if a.n_slots[c] == 0 or not is_compared(class_record(e.classes, c)):
                continue
            if not spend(a, a.n_slots[c]):
                return 0
            if p[i] & APART:
                if note_odd(e, a, c, u):
                    return 1
            else:
                mask = note_usual(e, a, c, u)
                if a.marks[c] & COMMON and add_mask(a, c, False, mask, 0, 0):
                    return 1
        if a.odd[u]:
            tint_unit(e, a, u, 0)
    return 0


# ---- separate classes ------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def separate_slots(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> uint64_t:
    """The slots of a class whose usual meaning is of a separate class."""
    mask: uint64_t = 0
    i: uint32_t
    to: uint32_t
    for i in range(min(a.n_slots[c], MASKED)):
        to = a.slots[a.slots_at[c] + i].to
        if is_key(class_record(e.classes, to)):
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
        if m.odd and not (m.first | (m.second & separate)) & usual:
            return False
        i = m.next
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_separate(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    m: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    slots: uint64_t = separate_slots(e, a, c)
    while i:
        m = cython.address(a.masks[i - 1])
        if not spend(a, a.n_slots[c]) or (not m.odd and not told_apart(a, c, m.first, slots)):
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
    while changed and not a.tired:
        changed = False
        for i in range(a.common.n):
            c = a.common.p[i]
            if not a.marks[c] & SEPARATE and is_separate(e, a, c):
                a.marks[c] |= SEPARATE
                changed = True
    return 0


# ---- declarations that odd types may resolve ---------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_mixed(a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether odd types of the class may be taken for usual ones."""
    return (a.marks[c] & (ODD | COMMON | SEPARATE)) == ODD | COMMON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_events(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
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
                    a.event_class[k] = c
            if x.odd_defined != NO_UNIT and (x.odd_declared != NO_UNIT or (is_mixed(a, c) and x.declared != NO_UNIT)):
                earliest(cython.address(a.contact[k]), x.odd_defined)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meets_wild(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.bint:
    """Whether a usual type of the class can be compared with an odd one so far as to meet something wild."""
    m: cython.pointer[Mask]
    u: cython.pointer[Mask]
    i: uint32_t = a.masks_at[c]
    j: uint32_t
    slots: uint64_t = separate_slots(e, a, c)
    while i:
        m = cython.address(a.masks[i - 1])
        i = m.next
        if not m.odd or not m.third:
            continue
        j = a.masks_at[c]
        while j:
            u = cython.address(a.masks[j - 1])
            if not spend(a, 1) or (not u.odd and not (m.first | (m.second & slots)) & u.first):
                return True
            j = u.next
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_slot(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t, x: cython.pointer[Slot]
) -> cython.void:
    """What becomes uncertain because of one slot of a compared class."""
    to: uint32_t = x.to
    both: cython.bint = x.declared != NO_UNIT and x.defined != NO_UNIT
    if a.contact[to] != NO_UNIT and a.event[to] >= a.contact[to] and (is_mixed(a, c) or both):
        doubt(a, c, UNCERTAIN)
    if not is_mixed(a, c):
        return
    if both and a.event[to] >= a.first_odd[c]:
        # What the declaration is resolved to depends on which candidate such a type meets.
        doubt(a, c, UNCERTAIN)
    if is_key(class_record(e.classes, to)):
        to = a.usual[to]
    if is_mixed(a, to):
        doubt(a, c, UNCERTAIN)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def contacts(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Marks what becomes uncertain where odd types come too near, and counts it in `seeds`. Nonzero: no memory."""
    c: uint32_t
    i: uint32_t
    quiet: cython.bint = False
    note_events(e, a)
    for c in range(1, a.n):
        if not is_compared(class_record(e.classes, c)):
            continue
        a.marks[c] &= ~cython.cast(uint32_t, QUIET)
        for i in range(a.n_slots[c]):
            doubt_slot(e, a, c, a.slots + a.slots_at[c] + i)
        if not is_mixed(a, c):
            continue
        if meets_wild(e, a, c):
            doubt(a, c, UNCERTAIN | DEPENDENT)
        elif e.first_unit.p[c] >= a.first_odd[c]:
            doubt(a, c, UNCERTAIN)
        elif not a.marks[c] & UNCERTAIN:
            a.marks[c] |= QUIET
            quiet = True
    if quiet:
        listen(e, a)
    return 0


# ---- quiet classes ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_open(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.bint:
    """Gives the quiet classes a tint of which unit `u` has usual types: IS_OPEN, if odd ones may stand for them, or
    IS_CLOSED. Whether it has some.
    """
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    c: uint32_t
    found: cython.bint = False
    for i in range(1, t.n_types):
        c = p[i]
        if c & APART or not a.marks[c] & QUIET or u < a.first_odd[c]:
            continue
        if not found:
            found = True
            enter(e, a, u, 0)
        a.tint[c] = IS_CLOSED if told_apart(a, c, note_usual(e, a, c, u), separate_slots(e, a, c)) else IS_OPEN
    return found


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def hear(a: cython.pointer[Analysis], to: uint32_t, tint: uint8_t) -> cython.void:
    """A reference, in the unit at hand, that remains: its target is not to have one of these tints."""
    if to and a.here[to] == a.round:
        to = a.meaning[to] & CLASS_BITS if a.meaning[to] != MANY else 0
    if a.tint[to] & tint:
        doubt(a, to, UNCERTAIN)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def listen_types(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """The references of types that are not compared, or are kept."""
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    k: uint32_t
    c: uint32_t
    f: Refs
    tint: uint8_t
    for i in range(1, t.n_types):
        c = p[i] & CLASS_BITS
        tint = IS_OPEN
        if is_compared(class_record(e.classes, c)):
            if p[i] & APART or (a.marks[c] & UNCERTAIN and a.marks[c] & ODD):
                # Kept, and compared with odd types, from here on with what stands for the targets in this unit.
                tint = IS_OPEN | IS_CLOSED
            elif e.first_unit.p[c] != u and not a.marks[c] & (ODD | UNCERTAIN):
                continue
        refs_of(class_record(e.classes, c), cython.address(f))
        hear(a, f.third, tint)
        for k in range(f.n):
            hear(a, f.first[k * f.step + 1], tint)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def listen_records(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """The references of tags and variables."""
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    i: uint32_t
    r: cython.pointer[uint32_t]
    for i in range(t.n):
        if e.locals.p[t.first + i] < t.n_types:
            continue
        r = e.stream_words.p + e.starts.p[t.first + i]
        if wire_third_is_type(wire_kind(r)) and r[2] < t.n_types:
            hear(a, e.class_list.p[t.classes + r[2]] & CLASS_BITS, IS_OPEN)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def listen(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.void:
    """Makes quiet classes uncertain that a reference needs to be exact."""
    u: uint32_t
    i: uint32_t
    k: uint32_t
    at: cython.size_t = 0
    s: cython.pointer[State]
    t: cython.pointer[Stream]
    for u in range(e.n_streams):
        while at < e.n_states and e.states[at].unit < u:
            at += 1
        t = cython.address(e.streams[u])
        if not note_open(e, a, u):
            continue
        if not spend(a, t.n_types):
            return
        listen_types(e, a, u)
        listen_records(e, a, u)
        while at < e.n_states and e.states[at].unit == u:
            s = cython.address(e.states[at])
            for k in range(class_record(e.classes, s.proto)[REC_COUNT] + 1):
                i = e.state_locals.p[s.locals + k]
                if i < t.n_types:
                    hear(a, e.class_list.p[t.classes + i] & CLASS_BITS, IS_OPEN)
            at += 1
        tint_unit(e, a, u, 0)
