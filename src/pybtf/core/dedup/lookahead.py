"""Looking up the next few types together, so that their memory is on its way at the same time.

Looking up a type means visiting a slot of a table, the node of the candidate that it names, and the candidate's record:
three scattered places in the memory of a base, each known only when the one before has arrived. One type after the
other, nearly all of that time is spent waiting. Here a few types go through the three steps side by side.

Nothing is decided. What a phase does with a type before its turn comes may make the work done here useless, never
wrong: a hash depends on words that are final when it is made.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.btf.kinds import KIND_ENUM, KIND_ENUM64, KIND_TYPEDEF
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_is_link, wire_kind, wire_refs, wire_words
from cython.cimports.pybtf.core.dedup.candidates import Candidates, chain_first, chain_of
from cython.cimports.pybtf.core.dedup.lookahead import *
from cython.cimports.pybtf.core.dedup.phases import AHEAD, Ahead, Work
from cython.cimports.pybtf.core.dedup.record_hash import hash_members, hash_record, hash_typedef, hash_words
from cython.cimports.pybtf.core.dedup.type_graph import IN_PROGRESS, UNMAPPED, kind_of, like_of
from cython.cimports.pybtf.core.support.check import CHECK, FIXED_SIZE
from cython.cimports.pybtf.core.support.memory import prefetch

LARGE = cython.declare(cython.size_t, 24)  # words of a record that is not copied
OPEN, OF_BASE, OF_OWN = cython.declare(cython.int, 0), cython.declare(cython.int, 1), cython.declare(cython.int, 2)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def expect_slot(t: cython.pointer[cython.const[Candidates]], hash: uint64_t) -> cython.void:
    prefetch(t.slots + (hash & t.mask))
    if t.base != cython.NULL:
        prefetch(t.base.slots + (hash & t.base.mask))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expect_candidates(
    w: cython.pointer[cython.const[Work]],
    t: cython.pointer[cython.const[Candidates]],
    known: uint32_t,
    hashes: cython.pointer[cython.const[uint64_t]],
) -> cython.void:
    """Asks for the first candidates of some hashes, whose slots have been asked for."""
    heads = cython.declare(uint32_t[16])
    n: uint32_t = 0
    i: uint32_t
    for i in range(AHEAD):
        if known >> i == 0:
            break
        if (known >> i) & 1:
            heads[n] = chain_first(t, chain_of(t, hashes[i]))
            prefetch(w.g.nodes + heads[n])
            n += 1
    for i in range(n):
        prefetch(w.g.words + w.g.nodes[heads[i]].offset)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ahead_primitives(
    a: cython.pointer[Ahead],
    w: cython.pointer[cython.const[Work]],
    ids: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> cython.void:
    """Hashes `n` primitive types, AHEAD of them at most, and asks for their candidates."""
    enums: uint32_t = 0
    kind: uint32_t
    i: uint32_t
    for i in range(n):
        kind = kind_of(w.g.nodes, ids[i])
        a.hashes[i] = hash_record(w.g.words + w.g.nodes[ids[i]].offset)
        if kind == KIND_ENUM or kind == KIND_ENUM64:
            enums |= cython.cast(uint32_t, 1) << i
            expect_slot(cython.address(w.enums), a.hashes[i])
        else:
            expect_slot(cython.address(w.table), a.hashes[i])
    a.known = (cython.cast(uint32_t, 1) << n) - 1
    expect_candidates(w, cython.address(w.enums), enums, a.hashes)
    expect_candidates(w, cython.address(w.table), a.known & ~enums, a.hashes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ahead_structs(
    a: cython.pointer[Ahead],
    w: cython.pointer[cython.const[Work]],
    ids: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> cython.void:
    """Hashes those of `n` structs, unions and typedefs that are not mapped, and asks for their candidates."""
    r: cython.pointer[uint32_t]
    i: uint32_t
    a.known = 0
    for i in range(n):
        if w.g.nodes[ids[i]].map:
            continue
        r = w.g.words + w.g.nodes[ids[i]].offset
        a.hashes[i] = hash_typedef(r) if wire_kind(r) == KIND_TYPEDEF else hash_members(cython.address(w.g), r)
        a.known |= cython.cast(uint32_t, 1) << i
        expect_slot(cython.address(w.table), a.hashes[i])
    expect_candidates(w, cython.address(w.table), a.known, a.hashes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_final(
    r: cython.pointer[uint32_t],
    map: cython.pointer[cython.const[uint32_t]],
    first_own: uint32_t,
    record: cython.pointer[uint32_t],
) -> cython.int:
    """Whether all references of a record that is not large lead to types that are decided: OF_BASE if to types of the
    base alone, OF_OWN if not; `record` is then as the phase of reference types will make it. OPEN otherwise.
    """
    i: uint32_t
    to: uint32_t
    answer: cython.int = OF_BASE
    refs: RefSpan
    n: cython.size_t = wire_words(r[1])
    if n > LARGE:
        return OPEN
    memcpy(record, r, n * cython.sizeof(uint32_t))
    refs = wire_refs(record)
    for i in range(refs.count):
        to = map[refs.p[cython.cast(cython.size_t, i) * refs.stride]]
        if to >= IN_PROGRESS:
            return OPEN
        if to >= first_own:
            answer = OF_OWN
        refs.p[cython.cast(cython.size_t, i) * refs.stride] = to
    return answer


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ahead_references(
    a: cython.pointer[Ahead],
    w: cython.pointer[cython.const[Work]],
    map: cython.pointer[cython.const[uint32_t]],
    ids: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> cython.void:
    """Hashes those of `n` reference types all of whose targets are decided, and asks for their candidates.

    For some a comparison has already met the only candidate there can be.
    """
    record = cython.declare(uint32_t[24])
    r: cython.pointer[uint32_t]
    i: uint32_t
    like: uint32_t
    to: uint32_t
    answer: cython.int
    FIXED_SIZE(AHEAD == 16)  # of `record`s, and of the steps of those who call
    CHECK(n <= AHEAD and LARGE * cython.sizeof(uint32_t) == cython.sizeof(record), "more types than there is room for")
    a.known = 0
    for i in range(n):
        if map[ids[i]] != UNMAPPED:
            continue
        r = w.g.words + w.g.nodes[ids[i]].offset
        like = like_of(cython.address(w.g), ids[i])
        if wire_is_link(wire_kind(r)):
            to = map[r[2]]
            if to >= IN_PROGRESS:
                continue
            if like and to < w.g.first_own:
                continue  # its words are near, a comparison has just met them
            a.hashes[i] = hash_words(r[0], r[1], to)
        else:
            answer = is_final(r, map, w.g.first_own, record)
            if answer == OPEN or (like and answer == OF_BASE):
                continue
            a.hashes[i] = hash_record(record)
        a.known |= cython.cast(uint32_t, 1) << i
        expect_slot(cython.address(w.table), a.hashes[i])
    expect_candidates(w, cython.address(w.table), a.known, a.hashes)
