# cython: annotation_typing=True
"""From the offset of a DIE to the index of what it became: a type, a function, a parameter, a variable.

A unit of the usual size has some ten thousand references to its own types. So types are found without a search: there
is a place for every four bytes of the unit. Two types that begin within four bytes are rare (`const void` is a DIE of
one byte); the second of them, and types of other units, are in a hash table. In a unit of megabytes, as merged units
are, all are there: there would be far more places than types.

The hash function is salted: offsets come from the file, and nobody shall be able to choose them so that they all meet.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.offsets import *
from cython.cimports.pybtf.core.unit import OffsetMap, OffsetTable

MAX_ENTRIES = cython.declare(uint32_t, 1 << 29)  # of a map: half of its slots at most
LONGEST = cython.declare(uint64_t, 1 << 20)  # bytes of a unit whose types have places


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def map_reset(m: cython.pointer[OffsetMap], n: uint32_t) -> cython.int:
    """See `offsets.pxd`."""
    size: uint32_t = 256
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
def types_reset(t: cython.pointer[OffsetTable], start: uint64_t, end: uint64_t, n: uint32_t) -> cython.int:
    """See `offsets.pxd`."""
    size: uint32_t
    t.start = start
    t.span = 0
    t.n = n
    t.n_others = 0
    if n >= MAX_ENTRIES:
        return 1
    if start < end <= start + LONGEST:
        t.span = cython.cast(uint32_t, end - start)
        size = t.span // 4 + 1
        if t.cap < size:
            free(t.places)
            t.cap = 0
            t.places = cython.cast(cython.pointer[uint32_t], malloc(size * cython.sizeof(uint32_t)))
            if t.places == cython.NULL:
                return 1
            t.cap = size
        memset(t.places, 0, size * cython.sizeof(uint32_t))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def others_put(t: cython.pointer[OffsetTable], offset: uint32_t, index: uint32_t) -> cython.int:
    """See `offsets.pxd`. The hash table is made with the first entry, with room for all."""
    if t.n_others == 0 and map_reset(cython.address(t.others), t.n):
        return 1
    map_put(cython.address(t.others), offset, index)
    t.n_others += 1
    return 0
