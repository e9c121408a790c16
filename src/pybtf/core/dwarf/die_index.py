"""From the offset of a DIE to the index of what it became: a type, a function, a parameter, a variable.

A unit of the usual size has some ten thousand references to its own types. So types are found without a search: there
is a slot for every four bytes of the unit. All slots have to stay in a cache, so a slot is only one byte. That is
enough, because indices mostly ascend with the offsets (a type that others are nested in is the exception). Each block
of 64 slots has the index of its first type, and a slot says how much larger its own is.

A hash table holds what does not fit: indices that are too far from that of their block, types of other units, and the
second of two types that begin within four bytes, which is rare (`const void` is a DIE of one byte). In a unit of
megabytes, as merged units are, it has all types: there would be far more slots than types.

The hash function is salted: offsets come from the file, and nobody must be able to choose them so that they collide.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.die_index import *
from cython.cimports.pybtf.core.model.dwarf_unit import NO_INDEX, OffsetMap, OffsetTable
from cython.cimports.pybtf.core.support.check import CHECK

MAX_ENTRIES = cython.declare(uint32_t, 1 << 29)  # of a map: half of its slots at most
LONGEST = cython.declare(uint64_t, 1 << 20)  # bytes of a unit whose types have slots
FEW = cython.declare(uint32_t, 64)  # entries without a slot there is room for at first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def map_reset(m: cython.pointer[OffsetMap], n: uint32_t) -> cython.int:
    """See `die_index.pxd`."""
    size: uint32_t = 128
    if n > MAX_ENTRIES:
        return 1
    while size < 2 * n:
        size *= 2
    if m.cap < size:
        free(m.slots)
        m.cap = 0
        m.slots = cython.cast(cython.pointer[uint32_t], malloc(size * 2 * cython.sizeof(uint32_t)))
        if m.slots == cython.NULL:
            return 1
        m.cap = size
    # A map that was made for a much larger unit is used only as far as this one needs.
    memset(m.slots, 0, cython.cast(cython.size_t, size) * 2 * cython.sizeof(uint32_t))
    m.mask = size - 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def places_make(t: cython.pointer[OffsetTable], n: uint32_t) -> cython.bint:
    """Room for `n` slots and their blocks. 0 if out of memory."""
    if n <= t.cap:
        return True
    free(t.places.slots)
    free(t.places.blocks)
    t.cap = 0
    t.places.slots = cython.cast(cython.pointer[uint8_t], malloc(n))
    t.places.blocks = cython.cast(cython.pointer[uint32_t], malloc((n // 64 + 1) * cython.sizeof(uint32_t)))
    if t.places.slots == cython.NULL or t.places.blocks == cython.NULL:
        return False
    t.cap = n
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def types_reset(t: cython.pointer[OffsetTable], start: uint64_t, end: uint64_t, n: uint32_t) -> cython.int:
    """See `die_index.pxd`."""
    size: uint32_t
    t.places.start = start
    t.places.span = 0
    t.n = n
    t.n_others = 0
    if n >= MAX_ENTRIES:
        return 1
    if start < end <= start + LONGEST:
        size = cython.cast(uint32_t, end - start) // 4 + 1
        if not places_make(t, size):
            return 1
        t.places.span = cython.cast(uint32_t, end - start)
        memset(t.places.slots, 0, size)
        memset(t.places.blocks, 0, (size // 64 + 1) * cython.sizeof(uint32_t))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def map_free(m: cython.pointer[OffsetMap]) -> cython.void:
    """See `die_index.pxd`."""
    free(m.slots)
    memset(m, 0, cython.sizeof(OffsetMap))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def types_free(t: cython.pointer[OffsetTable]) -> cython.void:
    """See `die_index.pxd`."""
    free(t.places.slots)
    free(t.places.blocks)
    free(t.others.slots)
    memset(t, 0, cython.sizeof(OffsetTable))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def others_grow(t: cython.pointer[OffsetTable]) -> cython.int:
    """Twice the room in the hash table. Nonzero: no memory."""
    i: uint32_t
    old: OffsetMap = t.others
    t.others.slots = cython.NULL
    t.others.cap = 0
    if map_reset(cython.address(t.others), old.mask + 1):
        t.others = old
        return 1
    for i in range(old.mask + 1):
        if old.slots[2 * i + 1]:
            map_put(cython.address(t.others), old.slots[2 * i], old.slots[2 * i + 1] - 1)
    free(old.slots)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def others_put(t: cython.pointer[OffsetTable], offset: uint32_t, index: uint32_t) -> cython.int:
    """See `die_index.pxd`. The hash table is made with the first entry: with room for all if none has a slot, and else
    for a few, since it will not get many.
    """
    if t.n_others == 0:
        if map_reset(cython.address(t.others), min(t.n, FEW) if t.places.span else t.n):
            return 1
    elif 2 * t.n_others > t.others.mask and others_grow(t):
        return 1
    CHECK(t.n_others < t.others.mask, "no slot is free for an offset")
    map_put(cython.address(t.others), offset, index)
    t.n_others += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def others_get(t: cython.pointer[cython.const[OffsetTable]], offset: uint32_t) -> uint32_t:
    """See `die_index.pxd`. What is never there is not looked for: pointers to nothing may be very many."""
    found: uint32_t = NO_INDEX
    if offset != 0 and offset != NO_INDEX:
        found = map_get(cython.address(t.others), offset)
    return 0 if found == NO_INDEX else found
