"""The phase of reference types: pointers, arrays, prototypes and the like, see `dedup.py`.

A type comes after all that it refers to, so that its words are final when it is looked up. So of equal types the one
that is reached first stays, not the first of the list (Q20). A chain of any length waits on a stack of its own.

On a base, most of these types need no look-up: a comparison of two structs has already paired them with their
counterparts in the base (`suggested`).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_is_link, wire_kind, wire_refs, wire_words
from cython.cimports.pybtf.core.dedup.equivalence import equal_words
from cython.cimports.pybtf.core.dedup.phases import Pending, Waiting, Work, find_or_insert
from cython.cimports.pybtf.core.dedup.record_hash import hash_record
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_CYCLE,
    DEDUP_MEMORY,
    DEDUP_OK,
    IN_PROGRESS,
    UNMAPPED,
    TypeGraph,
    like_of,
    record_of,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def suggested(g: cython.pointer[TypeGraph], id: uint32_t, r: cython.pointer[uint32_t]) -> uint32_t:
    """The type of the base that a comparison found equivalent to `id`, if all words are equal too; else 0.

    A look-up would find the same: there is no other in a base without duplicates, and an own type with these words
    would have found it.
    """
    like: uint32_t = like_of(g, id)
    if like == 0:
        return 0
    return like if equal_words(r, record_of(g, like), wire_words(r[1])) else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def dedup_targets(
    r: cython.pointer[uint32_t], map: cython.pointer[cython.const[uint32_t]], from_: cython.pointer[uint32_t]
) -> uint32_t:
    """Makes the references of a record final, from number `from_` on, and returns the first target that is not decided,
    with `from_` its number; or UNMAPPED if all are.
    """
    refs: RefSpan
    i: uint32_t = from_[0]
    t: uint32_t
    p: cython.pointer[uint32_t]
    if wire_is_link(wire_kind(r)):
        t = r[2]
        if map[t] >= IN_PROGRESS:
            return t
        r[2] = map[t]
        return UNMAPPED
    refs = wire_refs(r)
    p = refs.p + cython.cast(cython.size_t, i) * refs.stride
    while i < refs.count:
        t = p[0]
        if map[t] >= IN_PROGRESS:
            from_[0] = i
            return t
        p[0] = map[t]
        p += refs.stride
        i += 1
    return UNMAPPED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wait_for(
    w: cython.pointer[Work], s: cython.pointer[Waiting], map: cython.pointer[uint32_t], id: uint32_t, next: uint32_t
) -> cython.int:
    """Type `id` waits until its reference `next` is decided."""
    grown: cython.pointer[Pending]
    if s.n == s.cap:
        s.cap = 2 * s.cap if s.cap else 256
        grown = cython.cast(cython.pointer[Pending], realloc(s.p, s.cap * cython.sizeof(Pending)))
        if grown == cython.NULL:
            w.g.bad = id
            return DEDUP_MEMORY
        s.p = grown
    s.p[s.n].id = id
    s.p[s.n].next = next
    s.n += 1
    map[id] = IN_PROGRESS
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_reference(
    w: cython.pointer[Work], s: cython.pointer[Waiting], map: cython.pointer[uint32_t], id: uint32_t
) -> cython.int:
    """One type that is not decided, after all that it refers to."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    i: uint32_t = 0
    t: uint32_t
    m: uint32_t
    r: cython.pointer[uint32_t]
    status: cython.int
    while True:
        # Go on with type `id` at its reference `i`; the stack has those that wait for it.
        r = record_of(g, id)
        t = dedup_targets(r, map, cython.address(i))
        if t != UNMAPPED:
            if map[t] == IN_PROGRESS:
                w.g.bad = t
                return DEDUP_CYCLE
            status = wait_for(w, s, map, id, i)
            if status != DEDUP_OK:
                return status
            id = t
            i = 0
            continue
        m = suggested(g, id, r)
        if m == 0:
            status = find_or_insert(w, id, r, hash_record(r), cython.address(m))
            if status != DEDUP_OK:
                return status
        map[id] = m
        if s.n == 0:
            return DEDUP_OK
        s.n -= 1
        id = s.p[s.n].id
        i = s.p[s.n].next


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_references(w: cython.pointer[Work], map: cython.pointer[uint32_t]) -> cython.int:
    """The remaining kinds, targets first, each rewritten to final targets before it is looked up."""
    waiting = cython.declare(Waiting)
    i: cython.size_t
    id: uint32_t
    status: cython.int = DEDUP_OK
    waiting.p = cython.NULL
    waiting.n = waiting.cap = 0
    for i in range(w.references.n):
        id = w.references.p[i]
        if map[id] != UNMAPPED:
            continue
        status = dedup_reference(w, cython.address(waiting), map, id)
        if status != DEDUP_OK:
            break
    free(waiting.p)
    return status
