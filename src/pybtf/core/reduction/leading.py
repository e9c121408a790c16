"""What leads to undecided types, in units that are kept whole for them.

Undecided types (undecided.py) of such units are compared. A comparison that meets one maps it to what the other side
has there. That must be what it would be if everything was kept. In the way may be

- a declaration where the unit defines the name. The names by which undecided types are reached are noted for
  resolved.py (`note_names`);
- a type of another unit. A comparison begins at the first type of a class, and goes on at what stands for the dropped
  types of its unit. These may be undecided, or lead to undecided types; and so may what stands for them, as a class
  that is tainted says. If the side that is kept whole reaches an undecided type, or an odd one of a mixed class, and
  the first type reaches one of these, its unit is kept whole, too (`note_partners`, `list_late`). It comes before, is
  known only now, and is asked the same;
- a pointer, or another type that is not compared. The first one of its class may lead to an undecided type in a unit
  that is kept whole. Then it stands for no other (`stand_apart`).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import qsort
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import APART, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.odd_types import give
from cython.cimports.pybtf.core.reduction.resolved import compare_numbers
from cython.cimports.pybtf.core.reduction.separate import first_usual, is_mixed, may_be_undecided
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def class_in_unit(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit], i: uint32_t
) -> uint32_t:
    """The class of type `i` of a unit, whose entries may have been rewritten."""
    return class_of_entry(e, a, e.class_list.p[t.classes + i])


# ---- what leads to undecided types --------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def add_link(a: cython.pointer[Analysis], to: uint32_t, c: uint32_t) -> cython.int:
    """Class or key `c` leads where `to` does. Nonzero: no memory."""
    CHECK(2 * a.users[to] <= a.links.n, "a type refers to what its unit does not have")
    if not (u32s_push(cython.address(a.links), a.users[to]) and u32s_push(cython.address(a.links), c)):
        return 1
    a.users[to] = cython.cast(uint32_t, a.links.n // 2)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def link_unit(e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit]) -> cython.int:
    """Lists for each class and name of a unit what refers to it there, and for each class what it defines. Nonzero: no
    memory.
    """
    i: uint32_t
    k: uint32_t
    c: uint32_t
    to: uint32_t
    f: Refs
    a.links.n = a.todo.n = 0
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        a.users[c] = a.users[a.key[c]] = 0
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        refs_of(class_record(e.classes, c), cython.address(f))
        if not spend(a, 1 + f.n):
            return 0
        for k in range(f.n + 1):
            to = reference(cython.address(f), k)
            if to and add_link(a, to, c):
                return 1
        if a.key[c] and a.marks[c] & FULL and add_link(a, c, a.key[c]):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_back(a: cython.pointer[Analysis]) -> cython.int:
    """Gives the tint to all that leads to what is in `a.todo`, in the unit that is linked. Nonzero: no memory."""
    x: uint32_t
    while a.todo.n:
        a.todo.n -= 1
        x = a.users[a.todo.p[a.todo.n]]
        while x:
            if give(a, a.links.p[2 * x - 1], LEADING):
                return 1
            x = a.links.p[2 * x - 2]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lead_to_undecided(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit]
) -> cython.int:
    """Gives the tint LEADING to the compared types of a unit that have the tint UNDECIDED, and to all that reaches them
    there; `forget_leading` is due. Nonzero: no memory.
    """
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if a.tint[c] & UNDECIDED and a.watch[c] & COMPARED and give(a, c, LEADING):
            return 1
    return pass_back(a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lead_to_odd(e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit]) -> cython.int:
    """The same, to the odd types of a unit that usual ones may be taken for."""
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if e.class_list.p[t.classes + i] & APART and a.watch[c] & COMPARED and is_mixed(a, c) and give(a, c, LEADING):
            return 1
    return pass_back(a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lead_to_tainted(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit], u: uint32_t
) -> cython.int:
    """The same, to the types of unit `u` for which one of another unit stands that may lead to undecided types."""
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if a.watch[c] & TAINTED and first_usual(e, a, c) != u and give(a, c, LEADING):
            return 1
    return pass_back(a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget_leading(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit]
) -> cython.void:
    """Takes that tint away."""
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        a.tint[c] &= ~LEADING
        a.tint[a.key[c]] &= ~LEADING


# ---- units that are kept whole ------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_names(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Notes the names by which undecided types of unit `u` are reached. Nonzero: no memory."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    k: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        k = a.key[c]
        if k and a.marks[c] & FULL and a.tint[k] & LEADING and a.declared[k]:
            if not (u32s_push(cython.address(a.met), k) and u32s_push(cython.address(a.met), u)):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stand_apart(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Has what is not compared and has the tint in unit `u` stand apart. Notes its classes: others stand for these.
    Nonzero: no memory.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if a.tint[c] & LEADING and not a.watch[c] & COMPARED and not p[i] & APART:
            p[i] |= APART
            if not u32s_push(cython.address(a.handed), c):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_partners(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Notes the first types of other units with which those of unit `u` are compared that reach undecided types, where
    the first ones may, too. Nonzero: no memory.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    first: uint32_t
    partners: cython.pointer[U32s] = cython.address(a.partners)
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if not a.tint[c] & LEADING or not a.watch[c] & TAINTED:
            continue
        first = first_usual(e, a, c)
        if first < u and not e.kept[first].whole:
            if not (u32s_push(partners, first) and u32s_push(partners, c)):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_leading(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Notes what leads to the undecided types of unit `u`, which is kept whole; these have a tint. And what leads to
    odd types of mixed classes. Nonzero: no memory.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    if link_unit(e, a, t):
        return 1
    if lead_to_undecided(e, a, t) or note_names(e, a, u):
        return 1
    if lead_to_odd(e, a, t) or note_partners(e, a, u):
        return 1
    if lead_to_tainted(e, a, t, u) or stand_apart(e, a, u):
        return 1
    forget_leading(e, a, t)
    return 0


# ---- units that are kept whole for others -------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lead_to_doubtful(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Gives the tint to all that reaches, in unit `u`, which is not kept whole yet, types that may be undecided, or for
    which one stands that may lead to such types in its own unit. Nonzero: no memory.
    """
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    i: uint32_t
    c: uint32_t
    for i in range(1, t.n_types):
        c = class_in_unit(e, a, t, i)
        if may_be_undecided(a, c | (e.class_list.p[t.classes + i] & APART), u):
            a.tint[c] |= UNDECIDED
    if link_unit(e, a, t) or lead_to_undecided(e, a, t):
        return 1
    for i in range(1, t.n_types):
        a.tint[class_in_unit(e, a, t, i)] &= ~UNDECIDED
    return lead_to_tainted(e, a, t, u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_late(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Lists in `a.late` the units that are to be kept whole because of what `note_partners` has noted since the last
    call. Nonzero: no memory.
    """
    n: cython.size_t = 0
    u: uint32_t
    found: cython.bint
    a.late.n = 0
    if a.partners.n:
        qsort(a.partners.p, a.partners.n // 2, 2 * cython.sizeof(uint32_t), compare_numbers)
    while n < a.partners.n and not a.tired:
        u = a.partners.p[n]
        if lead_to_doubtful(e, a, u):
            return 1
        found = False
        while n < a.partners.n and a.partners.p[n] == u:
            found |= (a.tint[a.partners.p[n + 1]] & LEADING) != 0
            n += 2
        forget_leading(e, a, cython.address(e.kept[u]))
        if found and not e.kept[u].whole and not u32s_push(cython.address(a.late), u):
            return 1
    a.partners.n = 0
    return 0
