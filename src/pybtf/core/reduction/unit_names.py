"""What a unit says of names: which definition it has of each, if any, or that it has more than one.

A pass that needs to know goes through the units in order. It says of which names first (`contest`), so that most
entries of the class list are passed over. What was noted of the unit before is forgotten by its number (`round`).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.support.memory import u32s_reserve


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def meet(a: cython.pointer[Analysis], k: uint32_t, entry: uint32_t) -> cython.bint:
    """Notes what the unit at hand says of the name with key `k`. Whether it has it twice, in a way that matters."""
    full: cython.bint = (a.marks[entry & CLASS_BITS] & FULL) != 0
    known: uint32_t = a.definition[k]
    if a.here[k] != a.round:
        a.here[k] = a.round
        a.definition[k] = entry if full else 0
        return False
    if a.marks[k] & ENUM_KEY:
        if full:
            a.definition[k] = entry if known == 0 or known == entry else MANY
    elif full or known:
        a.definition[k] = MANY
    return a.definition[k] == MANY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.void:
    """Notes what unit `u` says of names."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
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
    """From here on the classes that define or declare a name with this mark are watched, and no others."""
    c: uint32_t
    for c in range(1, a.n):
        a.watch[c] = CONTESTED if a.key[c] and a.marks[a.key[c]] & mark else 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_plain(known: uint8_t) -> cython.bint:
    """Whether only the variant is asked for, of types whose class is watched for `known`."""
    return (known & (VARIES | WATCHED)) == VARIES


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def note_entry(a: cython.pointer[Analysis], entry: uint32_t, i: uint32_t, known: uint8_t) -> cython.void:
    """What the unit at hand says with this entry, that of its type `i`; `known`: what its class is watched for."""
    c: uint32_t = entry & CLASS_BITS
    if known & CONTESTED:
        meet(a, a.key[c], entry)
    if known & TAINTED or (known & TAINTED_ODD and (entry & APART or a.marks[c] & UNCERTAIN)):
        a.disturbed = True
    if known & WATCHED:
        a.watched.p[a.watched.n] = i
        a.watched.n += 1
    if known & TRACKED:
        a.tracked.p[a.tracked.n] = i
        a.tracked.n += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_all(a: cython.pointer[Analysis], p: cython.pointer[cython.const[uint32_t]], n: uint32_t) -> cython.void:
    """What the unit at hand says with all of its entries, if many are plain: no branch depends on which."""
    i: uint32_t
    known: uint8_t
    watched: cython.pointer[cython.const[uint8_t]] = a.watch
    plain: cython.pointer[uint32_t] = a.plain.p
    n_plain: cython.size_t = 0
    for i in range(1, n):
        known = watched[p[i] & CLASS_BITS]
        plain[n_plain] = i
        n_plain += is_plain(known)
        if known & WANTED:
            note_entry(a, p[i], i, known)
    a.plain.n = n_plain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_few(a: cython.pointer[Analysis], p: cython.pointer[cython.const[uint32_t]], n: uint32_t) -> cython.void:
    """As `note_all`, if most entries are passed over."""
    i: uint32_t = next_watched(a.watch, WANTED | VARIES, p, 1, n)
    known: uint8_t
    while i < n:
        known = a.watch[p[i] & CLASS_BITS]
        if is_plain(known):
            a.plain.p[a.plain.n] = i
            a.plain.n += 1
        note_entry(a, p[i], i, known)
        i = next_watched(a.watch, WANTED | VARIES, p, i + 1, n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def watch(e: cython.pointer[Encoder], a: cython.pointer[Analysis], u: uint32_t) -> cython.int:
    """Notes what unit `u` says of contested names, and lists its types: in `a.watched` and `a.tracked` those of classes
    that are, and in `a.plain` those of which only the variant is asked for. Nonzero: no memory.
    """
    n: uint32_t = e.kept[u].n_types
    p: cython.pointer[uint32_t] = e.class_list.p + e.kept[u].classes
    a.watched.n = a.tracked.n = a.plain.n = 0
    a.round += 1
    a.disturbed = False
    if not (
        u32s_reserve(cython.address(a.watched), n)
        and u32s_reserve(cython.address(a.tracked), n)
        and u32s_reserve(cython.address(a.plain), n)
    ):
        return 1
    if a.many_plain:
        note_all(a, p, n)
    else:
        note_few(a, p, n)
    return 0
