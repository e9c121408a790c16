"""Declarations that are resolved for sure, and when.

De-duplication resolves a declaration when it compares two types of a class, of which one has the declaration and the
other the definition. One of them may have been dropped. So it is told which declarations are resolved by the end of
which unit (`resolved` in dedup.pxd). These are

- those of names with several definitions of which separate.py knows the event: it is too late for them when all types
  have been compared, since the name has no single owner then;
- those that undecided types meet.

Where a comparison meets a declaration of a name that the unit of the new type defines, it accepts the declaration, or
goes on below it if it is resolved. Between usual types that makes no difference. But what is below may be an undecided
type (undecided.py) which the comparison has met elsewhere, by way of an odd type: then it fails, and otherwise it does
not. So in units that are kept whole with undecided types, the names by which these are reached must be resolved just
where they are if everything is kept. For such a name the class list is searched for compared classes that mention it
directly, and have types with the declaration and types with the definition. Let the *first* unit be the one by which
any two types of one class do so.

- If it comes after the units that ask, the declaration is not resolved in any of them, whatever is kept.
- If two usual types of the class do so by then, the declaration is resolved: the later one goes to some type of the
  class, and all that come before it have the other.
- In all other cases everything is kept.

The first type of a class that is compared may refer to the name by something that is not, a pointer for instance. What
stands for that may have the declaration instead of the definition, or the other way round. Until the declaration is
resolved that makes a difference, too: another type of the class may resolve it too early. If a unit asks in between,
and such a type is kept there or before, the unit of the first type is kept whole (`replace_stand_ins`).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, NO_UNIT, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.resolved import *
from cython.cimports.pybtf.core.reduction.separate import earliest, is_mixed
from cython.cimports.pybtf.core.reduction.unit_names import meet, next_watched
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s, grow, u32s_add, u32s_push, u32s_reserve

EFFORT_OF_VISIT = cython.declare(uint64_t, 4)  # steps: many classes may lead to one long chain, all over memory
EFFORT_OF_MENTION = cython.declare(uint64_t, 64)  # steps that one counts as, because it takes memory


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_names(a: cython.pointer[Analysis], q: cython.pointer[Questions]) -> cython.int:
    """The names that are asked for, each once; `users` has their numbers, plus 1. Nonzero: no memory."""
    i: cython.size_t
    k: uint32_t
    u: uint32_t
    x: cython.pointer[Name]
    for i in range(0, a.met.n, 2):
        k = a.met.p[i]
        u = a.met.p[i + 1]
        if a.marks[k] & CONFLICT and a.event[k] != NO_UNIT:
            continue
        if a.users[k] == 0:
            if not grow(q.names, q.cap_names, q.n_names + 1):
                return 1
            x = cython.address(q.names[q.n_names])
            x.key = k
            x.last = 0
            x.first = x.sure = NO_UNIT
            q.n_names += 1
            a.users[k] = q.n_names
        x = cython.address(q.names[a.users[k] - 1])
        x.last = max(x.last, u)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def visit_references(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    """As `visit`, of all that class `c` refers to, unless it takes too long. Nonzero: no memory."""
    k: uint32_t
    f: Refs
    refs_of(class_record(e.classes, c), cython.address(f))
    if not spend(a, EFFORT_OF_VISIT + f.n):
        return 0
    for k in range(f.n + 1):
        if visit(a, reference(cython.address(f), k)) < 0:
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_mentions(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions], c: uint32_t
) -> cython.int:
    """The names that are asked for and that class `c` mentions directly; `users` has the number of the last of its
    mentions, plus 1. Nonzero: no memory.
    """
    to: uint32_t
    x: cython.pointer[Mention]
    a.stamp += 1
    a.todo.n = 0
    if visit_references(e, a, c):
        return 1
    while a.todo.n:
        a.todo.n -= 1
        to = a.todo.p[a.todo.n]
        if not is_key(class_record(e.classes, to)):
            if not is_compared(class_record(e.classes, to)) and visit_references(e, a, to):
                return 1
        elif a.users[to]:
            if not spend(a, EFFORT_OF_MENTION):
                return 0
            if not grow(q.mentions, q.cap_mentions, q.n_mentions + 1):
                return 1
            x = cython.address(q.mentions[q.n_mentions])
            x.of = c
            x.name = a.users[to] - 1
            x.next = a.users[c]
            x.declared = x.defined = x.any_declared = x.any_defined = x.whole = NO_UNIT
            q.n_mentions += 1
            a.users[c] = q.n_mentions
            q.asked[c] = 1
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def first_of(a: cython.pointer[Analysis], m: cython.pointer[Mention]) -> uint32_t:
    """The unit with the usual type of a compared class that stands for others. NO_UNIT: none so far."""
    return a.settled[m.of] if is_mixed(a, m.of) else min(m.declared, m.defined)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_whole(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions], u: uint32_t
) -> cython.void:
    """Notes in the mentions that unit `u` is kept whole."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    at: uint32_t
    c: uint32_t
    m: cython.pointer[Mention]
    for i in range(1, t.n_types):
        c = class_of_entry(e, a, e.class_list.p[t.classes + i])
        at = a.users[c] if q.asked[c] else 0
        while at and spend(a, 1):
            m = cython.address(q.mentions[at - 1])
            at = m.next
            if first_of(a, m) < u:
                earliest(cython.address(m.whole), u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_into(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions], u: uint32_t
) -> cython.int:
    """Notes in the mentions what unit `u` has of them. Its entries have been rewritten already: odd types stand
    apart, and so do those of uncertain classes. Nonzero: no memory.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    n: cython.size_t
    i: uint32_t
    c: uint32_t
    k: uint32_t
    at: uint32_t
    definition: uint32_t
    x: cython.pointer[Mention]
    a.round += 1
    a.watched.n = 0
    if not u32s_reserve(cython.address(a.watched), t.n_types):
        return 1
    i = next_watched(q.asked, 1, p, 1, t.n_types)
    while i < t.n_types:
        c = class_of_entry(e, a, p[i])
        if a.key[c] and a.users[a.key[c]]:
            meet(a, a.key[c], p[i])
        u32s_add(cython.address(a.watched), i)
        i = next_watched(q.asked, 1, p, i + 1, t.n_types)
    for n in range(a.watched.n):
        i = a.watched.p[n]
        c = class_of_entry(e, a, p[i])
        at = a.users[c]
        CHECK(p[i] & APART or not a.marks[c] & UNCERTAIN, "a type of an uncertain class does not stand apart")
        while at:
            if not spend(a, 1):
                return 0
            x = cython.address(q.mentions[at - 1])
            at = x.next
            k = q.names[x.name].key
            CHECK(a.here[k] == a.round, "a type mentions a name that its unit does not have")
            definition = a.definition[k]
            if definition == 0 or definition == MANY:
                earliest(cython.address(x.any_declared), u)
            if definition:
                earliest(cython.address(x.any_defined), u)
            CHECK(p[i] & APART or definition != MANY, "a usual type refers to a name that its unit has twice")
            if t.whole and first_of(a, x) < u:
                earliest(cython.address(x.whole), u)
            # Before the settled one there are captured types, to none of which that goes.
            if not p[i] & APART and (not a.watch[c] & COMPARED or not is_mixed(a, c) or a.settled[c] <= u):
                earliest(cython.address(x.defined) if definition else cython.address(x.declared), u)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push_resolved(e: cython.pointer[Encoder], a: cython.pointer[Analysis], k: uint32_t, u: uint32_t) -> cython.int:
    """Lists the declarations of a name, with the usual definition and the unit by which they are resolved. Nonzero: no
    memory.
    """
    c: uint32_t = a.first_member[k]
    resolved: cython.pointer[U32s] = cython.address(e.resolved)
    CHECK(a.usual[k] != 0, "a declaration is resolved to nothing")
    CHECK(not a.marks[a.usual[k]] & (UNCERTAIN | WILD), "a declaration is resolved to an uncertain type")
    CHECK(not is_mixed(a, a.usual[k]) or u < a.first_odd[a.usual[k]], "a declaration is resolved to an odd type")
    while c:
        if not a.marks[c] & FULL:
            if not (u32s_push(resolved, c) and u32s_push(resolved, a.usual[k]) and u32s_push(resolved, u)):
                return 1
        c = a.next_member[c]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_stand(a: cython.pointer[Analysis], m: cython.pointer[Mention], declared: cython.bint) -> cython.bint:
    """Whether what stands for the types of a class may have the name declared, or defined: the first of them is known,
    unless it is the first of a variant, or of decided types.
    """
    this: uint32_t = m.declared if declared else m.defined
    other: uint32_t = m.defined if declared else m.declared
    if a.watch[m.of] & VARIES or is_mixed(a, m.of):
        return this != NO_UNIT
    return this < other


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_stood_in(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions], m: cython.pointer[Mention]
) -> cython.int:
    """Whether something that is not compared may stand between the first type of a compared class and the name that it
    mentions, with the name declared instead of defined, or the other way round. Negative: no memory.
    """
    to: uint32_t
    at: uint32_t
    other: cython.pointer[Mention]
    a.stamp += 1
    a.todo.n = 0
    if visit_references(e, a, m.of):
        return -1
    while a.todo.n:
        a.todo.n -= 1
        to = a.todo.p[a.todo.n]
        if is_key(class_record(e.classes, to)) or is_compared(class_record(e.classes, to)):
            continue
        at = a.users[to]
        while at:
            if not spend(a, 1):
                return 0
            other = cython.address(q.mentions[at - 1])
            at = other.next
            if other.name == m.name and (
                (may_stand(a, other, True) and may_stand(a, m, False))
                or (may_stand(a, other, False) and may_stand(a, m, True))
            ):
                return 1
        if visit_references(e, a, to):
            return -1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_class(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t, c: uint32_t) -> cython.bint:
    """Whether unit `u` has a type of class `c`."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    if not spend(a, t.n_types):
        return True
    for i in range(1, t.n_types):
        if class_of_entry(e, a, e.class_list.p[t.classes + i]) == c:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_asked_between(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], m: cython.pointer[Mention], first: uint32_t, sure: uint32_t
) -> cython.bint:
    """Whether a unit after `first` asks for the name of a mention before it is surely resolved, and such a type is kept
    there or in a unit before it.
    """
    i: cython.size_t
    if not spend(a, a.met.n // 2):
        return False
    for i in range(0, a.met.n, 2):
        if a.users[a.met.p[i]] == m.name + 1 and first < a.met.p[i + 1] <= sure:
            if m.whole <= a.met.p[i + 1] or has_class(e, a, a.met.p[i + 1], m.of):
                return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace_stand_ins(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions]
) -> cython.int:
    """Has units kept whole so that nothing of other units stands between their types and a name that is asked for. If
    such a unit has undecided types, which it would have to ask for itself, or tainted ones, to which what stands for
    others would lead (leading.py), everything is kept. Nonzero: no memory.
    """
    i: cython.size_t = 0
    first: uint32_t
    found: cython.int
    m: cython.pointer[Mention]
    while i < q.n_mentions:
        m = cython.address(q.mentions[i])
        first = first_of(a, m)
        i += 1
        if not is_compared(class_record(e.classes, m.of)) or first == NO_UNIT or e.kept[first].whole:
            continue
        if not is_asked_between(e, a, m, first, q.names[m.name].sure):
            continue
        found = is_stood_in(e, a, q, m)
        if found < 0:
            return 1
        if found and a.odd[first] & IS_DISTURBED:
            a.tired = True
        elif found:
            e.kept[first].whole = True
            if not u32s_push(cython.address(e.redo), first):
                return 1
            note_whole(e, a, q, first)
            i = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_numbers(x: cython.p_const_void, y: cython.p_const_void) -> cython.int:
    p: uint32_t = cython.cast(cython.pointer[uint32_t], x)[0]
    q: uint32_t = cython.cast(cython.pointer[uint32_t], y)[0]
    return (p > q) - (p < q)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def order_redo(e: cython.pointer[Encoder]) -> cython.void:
    """Lists each unit that is decoded again once, in order."""
    i: cython.size_t
    n: cython.size_t = 0
    if e.redo.n:
        qsort(e.redo.p, e.redo.n, cython.sizeof(uint32_t), compare_numbers)
    for i in range(e.redo.n):
        if n == 0 or e.redo.p[n - 1] != e.redo.p[i]:
            e.redo.p[n] = e.redo.p[i]
            n += 1
    e.redo.n = n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def conclude(e: cython.pointer[Encoder], a: cython.pointer[Analysis], x: cython.pointer[Name]) -> cython.int:
    """What follows for a name that is asked for: nothing, that it is listed as resolved, or that everything is kept
    (`tired`). Nonzero: no memory.
    """
    usual: uint32_t = a.usual[x.key]
    CHECK(x.first <= x.sure, "a declaration is surely resolved before it may be")
    if x.first >= x.last:
        return 0
    if x.sure != x.first or a.marks[x.key] & CONFLICT or usual == 0 or a.marks[usual] & (UNCERTAIN | WILD):
        a.tired = True
        return 0
    return push_resolved(e, a, x.key, x.sure)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def answer(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], q: cython.pointer[Questions]
) -> cython.int:
    """Finds by which unit each name that is asked for may be, and surely is, resolved. Nonzero: no memory."""
    i: cython.size_t
    c: uint32_t
    u: uint32_t
    at: uint32_t
    last: uint32_t = 0
    m: cython.pointer[Mention]
    x: cython.pointer[Name]
    q.asked = cython.cast(cython.pointer[uint8_t], calloc(e.classes.n, 1))
    if q.asked == cython.NULL:
        return 1
    for i in range(q.n_names):
        last = max(last, q.names[i].last)
        c = a.first_member[q.names[i].key]
        while c:
            q.asked[c] = 1
            c = a.next_member[c]
    for c in range(1, a.n):
        if a.marks[c] & OCCURS and list_mentions(e, a, q, c):
            return 1
    for c in range(a.n, cython.cast(uint32_t, e.classes.n)):
        q.asked[c] = q.asked[class_of_entry(e, a, c)]
    for u in range(last):
        if look_into(e, a, q, u):
            return 1
    if a.tired:
        return 0
    for i in range(q.n_mentions):
        m = cython.address(q.mentions[i])
        x = cython.address(q.names[m.name])
        if not is_compared(class_record(e.classes, m.of)):
            continue
        if a.marks[m.of] & LOOSE:
            at = min(m.any_declared, m.any_defined)
        else:
            at = max(m.any_declared, m.any_defined)
        earliest(cython.address(x.first), at)
        earliest(cython.address(x.sure), max(m.declared, m.defined))
    if replace_stand_ins(e, a, q):
        return 1
    for i in range(q.n_names):
        if conclude(e, a, cython.address(q.names[i])):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_met(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Finds out what the names that leading.py has noted of all units ask for. Nonzero: no memory."""
    q: Questions
    failed: cython.int
    if a.met.n == 0:
        return 0
    memset(cython.address(q), 0, cython.sizeof(Questions))
    memset(a.users, 0, a.n * cython.sizeof(uint32_t))
    failed = list_names(a, cython.address(q))
    if q.n_names and not failed:
        failed = answer(e, a, cython.address(q))
    free(q.asked)
    free(q.names)
    free(q.mentions)
    return failed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_units(x: cython.p_const_void, y: cython.p_const_void) -> cython.int:
    p: uint32_t = cython.cast(cython.pointer[uint32_t], x)[2]
    q: uint32_t = cython.cast(cython.pointer[uint32_t], y)[2]
    return (p > q) - (p < q)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_resolved(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Fills `e.resolved`, in the order of units. Nonzero: no memory."""
    k: uint32_t
    for k in range(1, a.n):
        if not a.marks[k] & CONFLICT or a.event[k] == NO_UNIT:
            continue
        CHECK(a.event[k] < a.contact[k], "a declaration is resolved that may have another definition")
        if push_resolved(e, a, k, a.event[k]):
            return 1
    if list_met(e, a):
        return 1
    order_redo(e)
    if e.resolved.n:
        qsort(e.resolved.p, e.resolved.n // 3, 3 * cython.sizeof(uint32_t), compare_units)
    return 0
