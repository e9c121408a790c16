# cython: annotation_typing=True
"""The candidate table: see `candidates.pxd` for what it reproduces and how."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.candidates import Candidates, Slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_init(t: cython.pointer[Candidates], n: uint32_t) -> cython.bint:
    """Make an empty table for ids below `n`. 0 if out of memory; `candidates_free` is due in either case."""
    memset(t, 0, cython.sizeof(Candidates))
    t.mask = 1023
    t.slots = cython.cast(cython.pointer[Slot], calloc(1024, cython.sizeof(Slot)))
    t.n = n
    return t.slots != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_free(t: cython.pointer[Candidates]) -> cython.void:
    free(t.slots)
    free(t.links)
    t.slots = cython.NULL
    t.links = cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enlarge(t: cython.pointer[Candidates]) -> cython.bint:
    mask: cython.size_t = 2 * t.mask + 1
    slots: cython.pointer[Slot] = cython.cast(cython.pointer[Slot], calloc(mask + 1, cython.sizeof(Slot)))
    i: cython.size_t
    j: cython.size_t
    if slots == cython.NULL:
        return False
    for i in range(t.mask + 1):
        if t.slots[i].head:
            j = t.slots[i].hash & mask
            while slots[j].head:
                j = (j + 1) & mask
            slots[j] = t.slots[i]
    free(t.slots)
    t.slots = slots
    t.mask = mask
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidates_insert(t: cython.pointer[Candidates], hash: uint64_t, id: uint32_t) -> cython.bint:
    """Put `id` at the front of its chain. 0 if out of memory."""
    i: cython.size_t
    s: cython.pointer[Slot]
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
        s.hash = hash
        s.head = s.tail = id
        t.used += 1
        return True
    if t.links == cython.NULL:
        # Zeroed pages are given by the system when they are first touched: only long chains cost memory.
        t.links = cython.cast(cython.pointer[uint32_t], calloc(t.n, 2 * cython.sizeof(uint32_t)))
        if t.links == cython.NULL:
            return False
    if t.reversed:
        t.links[2 * cython.cast(cython.size_t, s.tail)] = id
        t.links[2 * cython.cast(cython.size_t, id) + 1] = s.tail
        s.tail = id
    else:
        t.links[2 * cython.cast(cython.size_t, s.head) + 1] = id
        t.links[2 * cython.cast(cython.size_t, id)] = s.head
        s.head = id
    return True
