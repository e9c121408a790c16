# cython: annotation_typing=True
"""A name with several definitions, all but one of which keep to themselves.

A driver calls a private structure `cache_req`; so does the kernel's RPC code, and half of all types reach that one. By
the rule of certify.py the name is uncertain, and with it half of the kernel. But nothing that the driver's unit has
in common with other units reaches its `cache_req`: no comparison ever brings both meanings together, so everywhere
else the name has one meaning. Such a definition is *secluded*. Its units are kept whole; the rest stays certain.

Let D be one of the definitions (each is tried), and V the units that have another one. What is asked for:

- A unit of V has neither D nor a declaration of the name, so what it says is about its own definition.
- A structure, union or typedef of such a unit that reaches the name there (through what the unit itself defines) is in
  no unit outside V. Comparisons start at these only, and only at two of equal content, so none that starts outside of
  V arrives at V's meaning, nor the other way round. Pointers, qualifiers, arrays and prototypes in between are
  de-duplicated later, by the ids of their targets; these may be shared, but then the first of them *outside* V has to
  stand for those that were dropped outside V: it is kept by keeping its unit whole (`settle_elsewhere`, when all names
  have been searched).
- If the name is also declared somewhere, its two definitions keep the last phase from resolving the declaration by
  name, so it is resolved only if a comparison meets it together with D. As long as no class that mentions the name
  directly (a pointer to it, a structure with that pointer) is both in units that declare it and in units that define
  it, nothing depends on that. Else one of these classes must be a structure, union or typedef, a *witness*: all of its
  types are compared with the first one, so declaration and definition meet. Its first unit and the first of the other
  sort are kept whole, so that they still do. If other uncertain names can make that comparison fail, the witness is
  worth nothing; which of them are is known only when all names have been searched (`confirm`).

A unit that has a name twice (structures that are local to functions) makes comparisons unreliable that meet the name.
If the unit is alone in having it, and what reaches the name there is in no other unit, there are none but its own; it
is kept whole. This is a search with no D.

The same structures are then compared in the same order with the same outcome as if everything had been kept.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.certify import UNCERTAIN, Analysis, Refs, is_full, refs_of, spend
from cython.cimports.pybtf.core.encoder import Encoder, Stream, stands_elsewhere
from cython.cimports.pybtf.core.memory import U32s, u32s_free, u32s_push, u64s_push
from cython.cimports.pybtf.core.records import *

MOST = cython.declare(uint32_t, 8)  # definitions
NO_MAIN = cython.declare(uint32_t, 0xFFFFFFFF)
APART = cython.declare(uint32_t, 32)  # units of V, at most

# What a unit has of the name.
DEFINED = cython.declare(uint8_t, 1)
DECLARED = cython.declare(uint8_t, 2)
OTHER = cython.declare(uint8_t, 4)
MIXED = cython.declare(uint8_t, 3)  # of a class: some of its units define the name, others declare it

# What a class is in the search.
MAIN = cython.declare(uint8_t, 1)  # D
ELSE = cython.declare(uint8_t, 2)  # another definition
FORWARD = cython.declare(uint8_t, 4)
PRIVATE = cython.declare(uint8_t, 8)  # must not be outside V
SHARED = cython.declare(uint8_t, 16)  # may be
DIRECT = cython.declare(uint8_t, 32)  # mentions the name without another name in between
COMPARED = cython.declare(uint8_t, 64)  # ... and comparisons start at it

_Search = cython.struct(
    key=uint32_t,
    defs=uint32_t[8],
    units=uint32_t[8],  # that have each
    tried=uint8_t[8],
    n_defs=uint32_t,
    role=cython.pointer[uint8_t],  # by class
    has=cython.pointer[uint8_t],  # by unit
    here=cython.pointer[uint32_t],  # by class or key: the unit it was last met in, plus 1
    meaning=cython.pointer[uint32_t],  # by key, if it is here: the class that defines it
    reached=cython.pointer[uint32_t],  # by class: the unit in which it reaches the name, plus 1
    state=cython.pointer[uint8_t],  # by class that mentions the name directly: what its units have of it
    shared=U32s,
    whole=U32s,  # units
    witnesses=U32s,  # classes
    mixed=cython.bint,
    failed=cython.int,
)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_compared(e: cython.pointer[Encoder], c: uint32_t) -> cython.bint:
    """Whether comparisons start at types of this class."""
    kind: uint32_t = record_kind(class_record(e.classes, c))
    return kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_TYPEDEF


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search]) -> cython.bint:
    """Finds the definitions, and how many units have each. False: too many."""
    c: uint32_t = a.first_member[s.key]
    u: uint32_t
    i: uint32_t
    k: uint32_t
    t: cython.pointer[Stream]
    while c:
        if is_full(class_record(e.classes, c)):
            if s.n_defs == MOST:
                return False
            s.defs[s.n_defs] = c
            s.n_defs += 1
            s.role[c] = cython.cast(uint8_t, s.n_defs)
        c = a.next_member[c]
    for u in range(e.n_streams):
        t = cython.address(e.streams[u])
        for i in range(1, t.n_types):
            k = s.role[e.class_list.p[t.classes + i]]
            if k:
                s.units[k - 1] += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_wide(e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search]) -> cython.bint:
    """Whether many classes reach the name by way of any definitions of anything."""
    c: uint32_t
    k: uint32_t
    n: uint32_t = 0
    f: Refs
    found: cython.bint
    changed: cython.bint = True
    s.state[s.key] = 1
    while changed and n < e.seclude_from:
        changed = False
        if not spend(a, a.n):
            return False
        for c in range(1, a.n):
            if s.state[c]:
                continue
            refs_of(class_record(e.classes, c), cython.address(f))
            found = f.third != 0 and s.state[f.third]
            for k in range(f.n):
                found = found or s.state[f.first[k * f.step + 1]]
            if found:
                s.state[c] = 1
                n += 1
                if a.key[c] and not s.state[a.key[c]]:
                    s.state[a.key[c]] = 1
                    changed = True
    return n >= e.seclude_from


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_main(s: cython.pointer[_Search]) -> uint32_t:
    """The definition that most units have, of those not asked for before."""
    k: uint32_t
    best: uint32_t = NO_MAIN
    for k in range(s.n_defs):
        if not s.tried[k] and (best == NO_MAIN or s.units[k] > s.units[best]):
            best = k
    s.tried[best] = 1
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def assign(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search], main: uint32_t
) -> cython.bint:
    """Starts a search with definition number `main` as D, or with none. False: V would be too large."""
    k: uint32_t
    c: uint32_t = a.first_member[s.key]
    apart: uint32_t = 0
    memset(s.here, 0, a.n * 14 + e.n_streams)
    s.shared.n = 0
    s.whole.n = 0
    s.witnesses.n = 0
    s.mixed = False
    while c:
        s.role[c] = FORWARD if main != NO_MAIN else ELSE
        c = a.next_member[c]
    for k in range(s.n_defs):
        s.role[s.defs[k]] = MAIN if k == main else ELSE
        if k != main:
            apart += s.units[k]
    return apart <= APART or main == NO_MAIN


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_units(e: cython.pointer[Encoder], s: cython.pointer[_Search], main: uint32_t) -> cython.bint:
    """Fills `has`. False: a unit of V has something else of the name; or there is no D, and V is not a single unit."""
    apart: uint32_t = 0
    u: uint32_t
    i: uint32_t
    r: uint8_t
    t: cython.pointer[Stream]
    for u in range(e.n_streams):
        t = cython.address(e.streams[u])
        for i in range(1, t.n_types):
            r = s.role[e.class_list.p[t.classes + i]]
            if r:
                s.has[u] |= DEFINED if r == MAIN else (OTHER if r == ELSE else DECLARED)
        if s.has[u] & OTHER:
            apart += 1
            if s.has[u] != OTHER:
                return False
    return main != NO_MAIN or apart == 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reaches_here(s: cython.pointer[_Search], stamp: uint32_t, to: uint32_t) -> cython.bint:
    """Whether a reference to class or key `to` leads to the name, in the unit at hand, as far as known."""
    if to == 0:
        return False
    if to == s.key or s.reached[to] == stamp:
        return True
    return s.here[to] == stamp and s.meaning[to] != 0 and s.reached[s.meaning[to]] == stamp


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reach_in(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search], u: uint32_t
) -> cython.bint:
    """Gives the classes of a unit of V that reach the name there their role. False: no more steps, or no memory."""
    t: cython.pointer[Stream] = cython.address(e.streams[u])
    stamp: uint32_t = u + 1
    i: uint32_t
    k: uint32_t
    c: uint32_t
    f: Refs
    found: cython.bint
    changed: cython.bint = True
    for i in range(1, t.n_types):
        c = e.class_list.p[t.classes + i]
        k = a.key[c]
        if k:
            if s.here[k] != stamp:
                s.here[k] = stamp
                s.meaning[k] = 0
            if is_full(class_record(e.classes, c)):
                s.meaning[k] = c
    while changed:
        changed = False
        if not spend(a, t.n_types):
            return False
        for i in range(1, t.n_types):
            c = e.class_list.p[t.classes + i]
            if s.reached[c] == stamp:
                continue
            refs_of(class_record(e.classes, c), cython.address(f))
            found = reaches_here(s, stamp, f.third)
            for k in range(f.n):
                found = found or reaches_here(s, stamp, f.first[k * f.step + 1])
            if not found:
                continue
            changed = True
            s.reached[c] = stamp
            if s.role[c] & (ELSE | PRIVATE | SHARED):
                continue
            if is_compared(e, c):
                s.role[c] |= PRIVATE
            else:
                s.role[c] |= SHARED
                if not u32s_push(cython.address(s.shared), c):
                    s.failed = 1
                    return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_direct(e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search]) -> cython.void:
    """References of classes lead to smaller ids, so one pass does."""
    c: uint32_t
    k: uint32_t
    to: uint32_t
    f: Refs
    found: cython.bint
    for c in range(1, a.n):
        refs_of(class_record(e.classes, c), cython.address(f))
        found = f.third != 0 and (f.third == s.key or s.role[f.third] & DIRECT)
        for k in range(f.n):
            to = f.first[k * f.step + 1]
            found = found or (to != 0 and (to == s.key or s.role[to] & DIRECT))
        if found:
            s.role[c] |= DIRECT
            if is_compared(e, c):
                s.role[c] |= COMPARED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_direct(e: cython.pointer[Encoder], s: cython.pointer[_Search], c: uint32_t, u: uint32_t) -> cython.bint:
    """A class that mentions the name directly, in unit `u` outside V. False: no memory."""
    if s.state[c] | s.has[u] != MIXED:
        s.state[c] = s.has[u]
        return True
    if s.state[c] == MIXED:
        return True
    s.state[c] = MIXED
    s.mixed = True
    if not s.role[c] & COMPARED:
        return True
    return (
        u32s_push(cython.address(s.witnesses), c)
        and u32s_push(cython.address(s.whole), u)
        and u32s_push(cython.address(s.whole), e.first_unit.p[c])
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def outside(e: cython.pointer[Encoder], s: cython.pointer[_Search]) -> cython.bint:
    """Looks at all units outside V: which of them to keep whole. False: they have something private, or no witness."""
    u: uint32_t
    i: uint32_t
    c: uint32_t
    r: uint8_t
    t: cython.pointer[Stream]
    for u in range(e.n_streams):
        if s.has[u] & OTHER:
            continue
        t = cython.address(e.streams[u])
        for i in range(1, t.n_types):
            c = e.class_list.p[t.classes + i]
            r = s.role[c]
            if not r & (PRIVATE | DIRECT):
                continue
            if r & PRIVATE or (s.has[u] != DEFINED and s.has[u] != DECLARED):
                return False
            if not note_direct(e, s, c, u):
                s.failed = 1
                return False
    return not s.mixed or s.witnesses.n != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search], main: uint32_t
) -> cython.bint:
    """Whether all definitions but number `main` are secluded."""
    u: uint32_t
    if not spend(a, e.class_list.n) or not assign(e, a, s, main) or not note_units(e, s, main):
        return False
    for u in range(e.n_streams):
        if s.has[u] & OTHER and not reach_in(e, a, s, u):
            return False
    if main != NO_MAIN:
        mark_direct(e, a, s)
    if not outside(e, s):
        return False
    for u in range(e.n_streams):
        if s.has[u] & OTHER and not u32s_push(cython.address(s.whole), u):
            s.failed = 1
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def accept(e: cython.pointer[Encoder], a: cython.pointer[Analysis], s: cython.pointer[_Search]) -> cython.int:
    """Writes down what was found. Negative: no memory."""
    i: cython.size_t
    k: cython.size_t
    u: uint32_t
    for i in range(s.witnesses.n):
        if not u64s_push(cython.address(a.witnesses), cython.cast(uint64_t, s.key) << 32 | s.witnesses.p[i]):
            return -1
    for i in range(s.whole.n):
        a.kept[s.whole.p[i]] = 1
        u = s.whole.p[i]
        if not s.has[u] & OTHER:
            continue
        for k in range(s.shared.n):
            if not u64s_push(cython.address(e.elsewhere), cython.cast(uint64_t, s.shared.p[k]) << 32 | u):
                return -1
    return 1


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
def settle_elsewhere(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """After all searches: sees to it that each shared class has a type that stands for it. Nonzero: no memory."""
    u: uint32_t
    i: uint32_t
    c: uint32_t
    at: cython.size_t
    t: cython.pointer[Stream]
    wanted: cython.pointer[uint8_t]
    if e.elsewhere.n == 0:
        return 0
    wanted = cython.cast(cython.pointer[uint8_t], calloc(a.n, 1))
    if wanted == cython.NULL:
        return 1
    qsort(e.elsewhere.p, e.elsewhere.n, cython.sizeof(uint64_t), compare_numbers)
    for at in range(e.elsewhere.n):
        wanted[e.elsewhere.p[at] >> 32] = 1
    for u in range(e.n_streams):
        t = cython.address(e.streams[u])
        for i in range(1, t.n_types):
            c = e.class_list.p[t.classes + i]
            if wanted[c] and not stands_elsewhere(e, c, u):
                wanted[c] = 0
                if e.first_unit.p[c] != u:
                    a.kept[u] = 1
    free(wanted)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def seclude(e: cython.pointer[Encoder], a: cython.pointer[Analysis], key: uint32_t, alone: cython.bint) -> cython.int:
    """Whether a struct or union name of several definitions has a single meaning where it matters.

    `alone`: whether it concerns a single unit, which has the name twice.
    1: yes, and `a.kept` and `e.elsewhere` say what has to be done for it; 0: no; -1: no memory.
    """
    s: _Search
    main: uint32_t
    i: uint32_t
    status: cython.int = 0
    n: cython.size_t = a.n
    room: cython.pointer[uint8_t] = cython.cast(cython.pointer[uint8_t], calloc(n * 14 + e.n_streams, 1))
    if room == cython.NULL:
        return -1
    memset(cython.address(s), 0, cython.sizeof(_Search))
    s.key = key
    s.here = cython.cast(cython.pointer[uint32_t], room)
    s.meaning = s.here + n
    s.reached = s.meaning + n
    s.role = cython.cast(cython.pointer[uint8_t], s.reached + n)
    s.state = s.role + n
    s.has = s.state + n
    if alone:
        if gather(e, a, cython.address(s)) and search(e, a, cython.address(s), NO_MAIN):
            status = accept(e, a, cython.address(s))
    elif is_wide(e, a, cython.address(s)) and gather(e, a, cython.address(s)):
        for i in range(s.n_defs):
            main = next_main(cython.address(s))
            if search(e, a, cython.address(s), main):
                status = accept(e, a, cython.address(s))
                break
    if s.failed:
        status = -1
    u32s_free(cython.address(s.shared))
    u32s_free(cython.address(s.whole))
    u32s_free(cython.address(s.witnesses))
    free(room)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def confirm(a: cython.pointer[Analysis]) -> cython.bint:
    """Marks the names whose witnesses are all uncertain, now that doubt has spread. Whether there was one."""
    i: cython.size_t = 0
    key: uint32_t
    certain: cython.bint
    found: cython.bint = False
    while i < a.witnesses.n:  # those of a name stand together
        key = cython.cast(uint32_t, a.witnesses.p[i] >> 32)
        certain = False
        while i < a.witnesses.n and a.witnesses.p[i] >> 32 == key:
            certain = certain or not a.marks[cython.cast(uint32_t, a.witnesses.p[i])] & UNCERTAIN
            i += 1
        if not certain and not a.marks[key] & UNCERTAIN:
            a.marks[key] |= UNCERTAIN
            found = True
    return found
