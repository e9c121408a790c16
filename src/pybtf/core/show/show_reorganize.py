"""Members in another order, with fewer holes: what pahole calls reorganizing.

It goes by one rule at a time, from the front, and starts anew after each move:

1. The padding becomes what aligns the end to the largest member that, with the hole after it, fits a word.
2. Into a hole goes the next member that has a hole after itself and is small enough, unless it follows the hole
   anyway; else the last member, if that is small enough and there is padding.
3. If no hole can be filled so, the last of all members that are small enough goes there, whatever is after it.

What is after a member that is moved closes up by a word if its bytes and the hole after it make up one. pahole looks
at neither alignment nor the types of members; neither may this, since its result is what is asked for.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memcpy, memmove
from cython.cimports.pybtf.core.btf.record_layout import wire_vlen
from cython.cimports.pybtf.core.btf.type_view import kind_flag, view_record
from cython.cimports.pybtf.core.show.show_layout import study
from cython.cimports.pybtf.core.show.show_types import (
    FACTS_NEW,
    SHOW_EFFORT,
    SHOW_MEMORY,
    SHOW_OK,
    Facts,
    MemberLayout,
    Plan,
    Show,
    Slot,
    show_fail,
    show_step,
)

WORDS = cython.declare(uint32_t, 3)  # of a member
OFFSET = cython.declare(uint32_t, 0xFFFFFF)  # of a member of a struct with bit-fields; the width is above it
MOVES_FREE = cython.declare(uint32_t, 64)
MOVES_PER_MEMBER = cython.declare(uint32_t, 4)
PASSES = cython.declare(uint32_t, 4)  # through all members that one move takes, at most
NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plan_open(s: cython.pointer[Show], p: cython.pointer[Plan], id: uint32_t) -> cython.void:
    """Remember the record as it is."""
    i: uint32_t
    f = cython.declare(Facts)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    p.id = id
    p.count = wire_vlen(r)
    p.size = r[2]
    p.before = cython.cast(cython.pointer[uint32_t], calloc(WORDS * (p.count + 1), cython.sizeof(uint32_t)))
    p.layouts = cython.cast(cython.pointer[MemberLayout], calloc(p.count + 1, cython.sizeof(MemberLayout)))
    p.slots = cython.cast(cython.pointer[Slot], calloc(p.count + 1, cython.sizeof(Slot)))
    if p.before == cython.NULL or p.layouts == cython.NULL or p.slots == cython.NULL:
        show_fail(s, SHOW_MEMORY, id)
        return
    memcpy(p.before, r, WORDS * (p.count + 1) * cython.sizeof(uint32_t))
    study(s, id, cython.address(f), p.layouts)
    p.align = f.align
    for i in range(p.count):
        p.slots[i].align = p.layouts[i].align
    s.plan = p


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plan_close(s: cython.pointer[Show], p: cython.pointer[Plan]) -> cython.void:
    """Put the record back."""
    s.plan = cython.NULL
    if p.before != cython.NULL:
        memcpy(view_record(s.v, p.id), p.before, WORDS * (p.count + 1) * cython.sizeof(uint32_t))
        s.facts[p.id].state = FACTS_NEW
    free(p.before)
    free(p.layouts)
    free(p.slots)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plan_read(s: cython.pointer[Show], p: cython.pointer[Plan]) -> cython.void:
    """Where members are, and what is after them."""
    i: uint32_t
    f = cython.declare(Facts)
    study(s, p.id, cython.address(f), p.layouts)
    p.padding = f.padding
    for i in range(p.count):
        p.slots[i].offset = p.layouts[i].offset
        p.slots[i].size = p.layouts[i].size
        p.slots[i].bits = p.layouts[i].bits
        p.slots[i].bit = p.layouts[i].bit
        p.slots[i].hole = p.layouts[i + 1].hole if i + 1 < p.count else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plan_write(s: cython.pointer[Show], p: cython.pointer[Plan]) -> cython.void:
    """Offsets and size into the record."""
    r: cython.pointer[uint32_t] = view_record(s.v, p.id)
    m: cython.pointer[uint32_t] = r + WORDS
    i: uint32_t
    at: uint64_t
    r[2] = cython.cast(uint32_t, p.size)
    for i in range(p.count):
        at = cython.cast(uint64_t, 8 * p.slots[i].offset + p.slots[i].bit)
        if kind_flag(r):
            m[2] = (m[2] & ~OFFSET) | (cython.cast(uint32_t, at) & OFFSET)
        else:
            m[2] = cython.cast(uint32_t, at)
        m += WORDS
    s.facts[p.id].state = FACTS_NEW


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pad(s: cython.pointer[Show], p: cython.pointer[Plan]) -> cython.void:
    """Rule 1."""
    word: int64_t = s.v.pointer_size
    largest: int64_t = 0
    end: int64_t
    padding: int64_t
    i: uint32_t
    for i in range(p.count):
        end = p.slots[i].size + p.slots[i].hole
        if largest < end <= word:
            largest = end
    if largest == 0:
        return
    if largest > 1:
        largest += largest % 2
    end = p.slots[p.count - 1].offset + p.slots[p.count - 1].size
    padding = word - end % largest if end % largest else 0
    if padding != p.padding:
        p.padding = padding
        p.size = end + padding


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fits(p: cython.pointer[Plan], at: uint32_t, i: uint32_t) -> cython.bint:
    """Whether a member is small enough for the hole after `at`."""
    return 0 < p.slots[i].size <= p.slots[at].hole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_with_hole(p: cython.pointer[Plan], at: uint32_t) -> uint32_t:
    """The next member after `at` that fits into its hole and has one itself; NOWHERE: none."""
    i: uint32_t
    for i in range(at + 1, p.count):
        if p.slots[i].hole and fits(p, at, i):
            return i
    return NOWHERE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def last_that_fits(p: cython.pointer[Plan], at: uint32_t) -> uint32_t:
    """The last member that fits into the hole after `at`; NOWHERE: none."""
    i: uint32_t = p.count - 1
    while i > at:
        if fits(p, at, i):
            return i
        i -= 1
    return NOWHERE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def charge(s: cython.pointer[Show], p: cython.pointer[Plan], at: uint32_t) -> cython.void:
    """All members after a hole may have been looked at."""
    steps: uint32_t = p.count - at
    s.effort -= steps if steps < s.effort else s.effort


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_of(s: cython.pointer[Show], p: cython.pointer[Plan], i: uint32_t) -> int64_t:
    """What a member is aligned to: its size, at most a word."""
    return p.slots[i].size if p.slots[i].size < s.v.pointer_size else s.v.pointer_size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_move(s: cython.pointer[Show], p: cython.pointer[Plan], at: uint32_t, i: uint32_t) -> cython.bint:
    """Bit-fields stay, and what would come to lie on the next member."""
    if i == NOWHERE or p.slots[i].bits:
        return False
    return p.slots[at].hole % step_of(s, p, i) + p.slots[i].size <= p.slots[at].hole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move(
    s: cython.pointer[Show], p: cython.pointer[Plan], to: uint32_t, source: uint32_t, into_padding: cython.bint
) -> cython.void:
    """The member `source` after the member `to`."""
    word: int64_t = s.v.pointer_size
    size: int64_t = p.slots[source].size
    start: int64_t = p.slots[source].offset
    i: uint32_t
    p.slots[source].offset = p.slots[to].offset + p.slots[to].size + p.slots[to].hole % step_of(s, p, source)
    p.to_padding = 0
    if into_padding:
        if start % word == 0:
            p.size -= size + p.padding
        else:
            p.to_padding = cython.cast(uint32_t, size)
    elif source == p.count - 1:
        p.size -= size + p.padding
    elif p.slots[source].hole + size >= word:
        p.size -= word
        for i in range(source + 1, p.count):
            p.slots[i].offset -= word
    p.moved = source
    p.behind = to
    rotate(s, p, to + 1, source)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rotate(s: cython.pointer[Show], p: cython.pointer[Plan], to: uint32_t, source: uint32_t) -> cython.void:
    """The member `source` to the place `to`, which is in front of it, in the record and in the slots."""
    m: cython.pointer[uint32_t] = view_record(s.v, p.id) + WORDS * (1 + to)
    words: uint32_t[3]
    slot = cython.declare(Slot)
    slot = p.slots[source]
    memcpy(words, m + WORDS * (source - to), cython.sizeof(words))
    memmove(p.slots + to + 1, p.slots + to, (source - to) * cython.sizeof(Slot))
    memmove(m + WORDS, m, (source - to) * cython.sizeof(words))
    p.slots[to] = slot
    memcpy(m, words, cython.sizeof(words))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plan_step(s: cython.pointer[Show], p: cython.pointer[Plan]) -> cython.bint:
    """Move one member. False: nothing is left to do."""
    i: uint32_t
    last: uint32_t
    other: uint32_t
    if p.count == 0 or s.status != SHOW_OK:
        return False
    p.steps += 1
    if p.steps > MOVES_FREE + MOVES_PER_MEMBER * p.count:
        p.endless = True
        return False
    if s.effort < PASSES * p.count:
        show_fail(s, SHOW_EFFORT, p.id)
        return False
    s.effort -= PASSES * p.count
    plan_read(s, p)
    pad(s, p)
    last = p.count - 1
    for i in range(last):
        if p.slots[i].hole == 0 or not show_step(s, p.id):
            continue
        other = next_with_hole(p, i)
        charge(s, p, i)
        if other != i + 1 and may_move(s, p, i, other):
            move(s, p, i, other, False)
            plan_write(s, p)
            return True
        if p.padding > 0 and fits(p, i, last) and may_move(s, p, i, last):
            move(s, p, i, last, True)
            plan_write(s, p)
            return True
    for i in range(last):
        if p.slots[i].hole == 0 or not show_step(s, p.id):
            continue
        other = last_that_fits(p, i)
        charge(s, p, i)
        if other != i + 1 and may_move(s, p, i, other):
            move(s, p, i, other, False)
            plan_write(s, p)
            return True
    plan_write(s, p)
    return False
