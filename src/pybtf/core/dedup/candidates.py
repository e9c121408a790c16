"""The candidate table: see `candidates.pxd` for what it reproduces and how."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dedup.candidates import Candidates, Slot, chain_of
from cython.cimports.pybtf.core.support.hugepages import large_zeroed

START = cython.declare(cython.size_t, 128)  # slots; a table doubles when half of them are taken


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def pairs(n: cython.size_t) -> cython.pointer[uint32_t]:
    """Room for `n` pairs of neighbours, which are set when there is what has them: most never are."""
    return cython.cast(cython.pointer[uint32_t], malloc(n * 2 * cython.sizeof(uint32_t)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_init(
    t: cython.pointer[Candidates],
    n: uint32_t,
    base: cython.pointer[cython.const[Candidates]],
    first: uint32_t,
) -> cython.bint:
    """Make an empty table for ids below `n`; with `base` (which may be NULL) one that has its entries, the ids below
    `first`. 0 if out of memory; `candidates_free` is due in either case.
    """
    memset(t, 0, cython.sizeof(Candidates))
    t.mask = START - 1
    t.slots = cython.cast(cython.pointer[Slot], calloc(START, cython.sizeof(Slot)))
    t.n = n
    if t.slots == cython.NULL:
        return False
    if base != cython.NULL:
        t.base = base
        t.first = first
        t.entries = base.entries
        t.capacity = base.capacity
        t.reversed = base.reversed
        t.joints = pairs(START)
        if t.joints == cython.NULL:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_expect(t: cython.pointer[Candidates], n: uint32_t) -> cython.bint:
    """Make a table that has been made, and is empty, large enough for `n` chains. 0 if out of memory."""
    mask: cython.size_t = 1023
    slots: cython.pointer[Slot]
    while mask < 2 * (cython.cast(cython.size_t, n) + 1):
        mask = 2 * mask + 1
    slots = cython.cast(cython.pointer[Slot], large_zeroed((mask + 1) * cython.sizeof(Slot)))
    if slots == cython.NULL:
        return False
    free(t.slots)
    t.slots = slots
    t.mask = mask
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_free(t: cython.pointer[Candidates]) -> cython.void:
    free(t.slots)
    free(t.links)
    free(t.joints)
    t.slots = cython.NULL
    t.links = cython.NULL
    t.joints = cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chain_base_next(
    t: cython.pointer[cython.const[Candidates]], s: cython.pointer[cython.const[Slot]], id: uint32_t
) -> uint32_t:
    """The rest of `chain_next`: what follows an entry of the base."""
    next: uint32_t = 0
    slot: cython.size_t
    if t.base.links != cython.NULL:
        next = t.base.links[2 * cython.cast(cython.size_t, id) + t.reversed]
    if next == 0 and t.slots <= s and s <= t.slots + t.mask:  # a chain that was extended
        slot = s - t.slots
        next = t.joints[2 * slot + t.reversed]
    return next


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enlarge(t: cython.pointer[Candidates]) -> cython.bint:
    """Doubles the slots. Unlike a growth of libbpf's table, it leaves the order in chains alone. 0 if out of memory;
    the table is as it was then.
    """
    mask: cython.size_t = 2 * t.mask + 1
    slots: cython.pointer[Slot] = cython.cast(cython.pointer[Slot], calloc(mask + 1, cython.sizeof(Slot)))
    joints: cython.pointer[uint32_t] = cython.NULL
    i: cython.size_t
    j: cython.size_t
    if t.joints != cython.NULL:
        joints = pairs(mask + 1)
    if slots == cython.NULL or (t.joints != cython.NULL and joints == cython.NULL):
        free(slots)
        free(joints)
        return False
    for i in range(t.mask + 1):
        if t.slots[i].head:
            j = t.slots[i].hash & mask
            while slots[j].head:
                j = (j + 1) & mask
            slots[j] = t.slots[i]
            if joints != cython.NULL:
                joints[2 * j] = t.joints[2 * i]
                joints[2 * j + 1] = t.joints[2 * i + 1]
    free(t.slots)
    free(t.joints)
    t.slots = slots
    t.joints = joints
    t.mask = mask
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def links_make(t: cython.pointer[Candidates]) -> cython.bint:
    """Room for the neighbours of all entries. 0 if out of memory."""
    if t.base != cython.NULL:
        t.links = pairs(t.n - t.first)
    else:
        # Another table may lie on this one, and ask for the neighbours of whatever is in it.
        t.links = cython.cast(cython.pointer[uint32_t], calloc(t.n, 2 * cython.sizeof(uint32_t)))
    return t.links != cython.NULL


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def alone(t: cython.pointer[Candidates], id: uint32_t) -> cython.void:
    """Entry `id` has no neighbours. Those of the base know theirs, and there are joints for the rest."""
    if id >= t.first:
        t.links[2 * cython.cast(cython.size_t, id - t.first)] = 0
        t.links[2 * cython.cast(cython.size_t, id - t.first) + 1] = 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def link(
    t: cython.pointer[Candidates], slot: cython.size_t, id: uint32_t, side: cython.int, to: uint32_t
) -> cython.void:
    """Make `to` the neighbour of entry `id` on one side: 0 towards the tail, 1 towards the head."""
    if id >= t.first:
        t.links[2 * cython.cast(cython.size_t, id - t.first) + side] = to
    else:
        t.joints[2 * slot + side] = to


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_insert(t: cython.pointer[Candidates], hash: uint64_t, id: uint32_t) -> cython.bint:
    """Put `id` at the front of its chain. 0 if out of memory."""
    i: cython.size_t
    s: cython.pointer[Slot]
    below: cython.pointer[cython.const[Slot]] = cython.NULL
    wanted: uint64_t = cython.cast(uint64_t, t.entries) + 1
    if t.capacity == 0 or wanted * 4 // 3 > t.capacity:
        t.capacity = 2 * t.capacity if t.capacity else 4
        t.reversed ^= 1
    t.entries += 1
    if 2 * (t.used + 1) > t.mask and not enlarge(t):
        return False
    i = hash & t.mask
    while t.slots[i].head and t.slots[i].hash != hash:
        i = (i + 1) & t.mask
    s = cython.address(t.slots[i])
    if not s.head:
        t.used += 1
        s.hash = hash
        if t.base != cython.NULL:
            t.joints[2 * i] = t.joints[2 * i + 1] = 0
            below = chain_of(t.base, hash)
        if below == cython.NULL:
            s.head = s.tail = id
            return True
        s.head = below.head
        s.tail = below.tail
    if t.links == cython.NULL and not links_make(t):
        return False
    if s.head == s.tail:
        alone(t, s.head)
    alone(t, id)
    if t.reversed:
        link(t, i, s.tail, 0, id)
        link(t, i, id, 1, s.tail)
        s.tail = id
    else:
        link(t, i, s.head, 1, id)
        link(t, i, id, 0, s.head)
        s.head = id
    return True
