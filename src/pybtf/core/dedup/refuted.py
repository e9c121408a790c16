"""Pairs of types that a comparison has found different, so that they are not compared again.

Where a few names of a program have several definitions and everything reaches everything, each type has hundreds of
candidates, and for each of them the whole graph is walked until the two definitions are met: once for every name of a
unit, although each walk ends at the same place. So when a walk fails, the pairs that led there are noted: any other
walk that comes to one of them fails as well.

That has to be true of any walk from the types in question, not only of the one that failed. A walk leaves a pair (x, y)
out in three cases (equivalence.py):

- *The two are known to be one.* This depends on what types are mapped to. So all pairs are forgotten when that
  changes, which is after a comparison that succeeds, and when a declaration is resolved.
- *The pair was met before.* Then what it leads to is looked into all the same, before the walk succeeds.
- *y was met with another x', and x' and x are identical.* Then what x' leads to is looked into, and not what x leads
  to. The words are the same, but of two copies one may be mapped to a type by now from which the other still differs
  (tests/btf/test_refuted.py has such a list). So suppose that of the types at hand, and all they reach, no two share
  kind and name: they are a *group*. Then x' and x are nameless, and equal in all words down to names, which are the
  same types in both. A walk by way of x' meets the same mismatch, unless there is one of three things in between: an
  array, of which `identical` does not look at the elements; a nameless struct or union, which may be mapped where its
  copy is not; a nameless enumeration, which is identical to others if one of the two is empty. Where one of these is
  passed on the way to a mismatch, only pairs after it are noted.

A walk that fails because x' and x are not identical proves nothing, since another may meet x first.

About as many pairs as types are remembered, at most, which is enough where units have each name once. There may be
any number of nameless structs of one shape; then all pairs are forgotten now and then.

Groups are found as candidates come: a candidate joins the group at hand, with all it reaches, if that leaves names
unique, and begins another one if not. Units of a program are groups of their own, mostly. Where a type reaches a name
twice, nothing is noted.

All this begins only when failing comparisons have taken many steps. No kernel that was tried comes that far: seven took
at most two steps for each type, an eighth of what it takes. With a base it is not done: the types of a module are few.
In builds with PYBTF_CHECK=1 it begins at once, and each answer is proved by walking on.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FWD,
    KIND_STRUCT,
    KIND_TYPEDEF,
    KIND_UNION,
)
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_refs
from cython.cimports.pybtf.core.dedup.refuted import PAIRS_BASE
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_EFFORT,
    DEDUP_MEMORY,
    DEDUP_OK,
    Refuted,
    Stamped,
    StampedSet,
    TypeGraph,
    kind_of,
    record_of,
)
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_free, u32s_push

# ---- sets that are emptied by a stamp -------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place_of(s: cython.pointer[cython.const[StampedSet]], key: uint64_t) -> cython.pointer[Stamped]:
    """Where a key is, or would be. The set has room."""
    i: cython.size_t = fold(key ^ SALT, SALT2) & s.mask
    while s.slots[i].stamp == s.stamp and s.slots[i].key != key:
        i = (i + 1) & s.mask
    return s.slots + i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enlarge(s: cython.pointer[StampedSet]) -> cython.bint:
    old: StampedSet = s[0]
    i: cython.size_t
    s.mask = 2 * old.mask + 1 if old.slots != cython.NULL else 1023
    s.slots = cython.cast(cython.pointer[Stamped], calloc(s.mask + 1, cython.sizeof(Stamped)))
    if s.slots == cython.NULL:
        s[0] = old
        return False
    if old.slots != cython.NULL:
        for i in range(old.mask + 1):
            if old.slots[i].stamp == old.stamp:
                place_of(s, old.slots[i].key)[0] = old.slots[i]
    free(old.slots)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def empty(s: cython.pointer[StampedSet]) -> cython.void:
    s.stamp += 1
    s.used = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add(s: cython.pointer[StampedSet], key: uint64_t) -> cython.int:
    """1: it is new, 0: it was there; -1: no memory. A stamp of 0 is that of no set."""
    p: cython.pointer[Stamped]
    if 2 * (s.used + 1) > s.mask and not enlarge(s):
        return -1
    p = place_of(s, key)
    if p.stamp == s.stamp:
        return 0
    p.key = key
    p.stamp = s.stamp
    s.used += 1
    return 1


# ---- groups ---------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_named_kind(kind: uint32_t) -> cython.bint:
    return (
        kind == KIND_STRUCT
        or kind == KIND_UNION
        or kind == KIND_TYPEDEF
        or kind == KIND_FWD
        or kind == KIND_ENUM
        or kind == KIND_ENUM64
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def visit(g: cython.pointer[TypeGraph], id: uint32_t) -> cython.int:
    """Puts a type in the group at hand. A DEDUP_* status."""
    r: cython.pointer[Refuted] = cython.address(g.refuted)
    kind: uint32_t = kind_of(g.nodes, id)
    name: uint32_t
    added: cython.int = 1
    if id == 0 or r.group_of[id] == r.group:
        return DEDUP_OK
    r.group_of[id] = r.group
    if is_named_kind(kind):
        name = record_of(g, id)[0]
        if name:
            added = add(cython.address(r.names), cython.cast(uint64_t, name) << 32 | kind)
    if added == 0:
        r.ambiguous = True
    if added < 0 or not u32s_push(cython.address(r.todo), id):
        return DEDUP_MEMORY
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(g: cython.pointer[TypeGraph], id: uint32_t) -> cython.int:
    """Puts a type and all it reaches in the group at hand, until a name occurs twice. A DEDUP_* status."""
    r: cython.pointer[Refuted] = cython.address(g.refuted)
    s: RefSpan
    i: cython.size_t
    status: cython.int
    w: cython.pointer[uint32_t]
    r.todo.n = 0
    status = visit(g, id)
    while r.todo.n and status == DEDUP_OK and not r.ambiguous:
        r.todo.n -= 1
        w = record_of(g, r.todo.p[r.todo.n])
        s = wire_refs(w)
        if g.effort < 1 + s.count:
            g.bad = id
            return DEDUP_EFFORT
        g.effort -= 1 + s.count
        for i in range(s.count):
            if status == DEDUP_OK:
                status = visit(g, s.p[i * s.stride])
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuted_begin(g: cython.pointer[TypeGraph], x: uint32_t) -> cython.int:
    """See refuted.pxd."""
    r: cython.pointer[Refuted] = cython.address(g.refuted)
    status: cython.int = DEDUP_OK
    r.on = False
    if r.patience or r.strikes == 0:
        return DEDUP_OK
    if r.group_of == cython.NULL:
        r.group_of = cython.cast(cython.pointer[uint32_t], calloc(g.n, cython.sizeof(uint32_t)))
        if r.group_of == cython.NULL:
            return DEDUP_MEMORY
        r.ambiguous = True  # there is no group yet, and none has this number
    if r.group == 0 or r.group_of[x] != r.group:
        if not r.ambiguous:
            status = join(g, x)
        if r.ambiguous:
            r.group += 1
            r.ambiguous = False
            empty(cython.address(r.names))
            empty(cython.address(r.pairs))
            status = join(g, x)
            r.strikes -= r.ambiguous
    r.on = not r.ambiguous
    return status


# ---- pairs ----------------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_refuted(g: cython.pointer[cython.const[TypeGraph]], x: uint32_t, y: uint32_t) -> cython.bint:
    """See refuted.pxd."""
    pairs: cython.pointer[cython.const[StampedSet]] = cython.address(g.refuted.pairs)
    return pairs.used != 0 and place_of(pairs, cython.cast(uint64_t, x) << 32 | y).stamp == pairs.stamp


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuted_fetch(g: cython.pointer[cython.const[TypeGraph]], x: uint32_t, y: uint32_t) -> cython.void:
    """See refuted.pxd."""
    pairs: cython.pointer[cython.const[StampedSet]] = cython.address(g.refuted.pairs)
    key: uint64_t = cython.cast(uint64_t, x) << 32 | y
    if pairs.used:
        prefetch(pairs.slots + (fold(key ^ SALT, SALT2) & pairs.mask))
    prefetch(g.nodes + y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuted_note(g: cython.pointer[TypeGraph]) -> cython.int:
    """See refuted.pxd."""
    r: cython.pointer[Refuted] = cython.address(g.refuted)
    at: uint32_t = r.failed
    x: uint32_t
    y: uint32_t
    kind: uint32_t
    name: uint32_t
    if not r.on:
        r.patience = r.patience - g.touched.n if r.patience > g.touched.n else 0
        return DEDUP_OK
    while at:
        y = g.touched.p[at - 1]
        x = g.nodes[y].hypothesis
        at = r.parents.p[at - 1]
        kind = kind_of(g.nodes, x)
        name = record_of(g, x)[0]
        if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_TYPEDEF:
            if r.pairs.used > PAIRS_BASE + g.n:
                empty(cython.address(r.pairs))
            if add(cython.address(r.pairs), cython.cast(uint64_t, x) << 32 | y) < 0:
                return DEDUP_MEMORY
        if kind == KIND_ARRAY or (is_named_kind(kind) and name == 0):
            break
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuted_forget(g: cython.pointer[TypeGraph]) -> cython.void:
    """See refuted.pxd."""
    empty(cython.address(g.refuted.pairs))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuted_free(r: cython.pointer[Refuted]) -> cython.void:
    free(r.group_of)
    free(r.names.slots)
    free(r.pairs.slots)
    u32s_free(cython.address(r.parents))
    u32s_free(cython.address(r.todo))
