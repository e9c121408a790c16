"""Numbers for names and for keys, shared by the two sides of a comparison.

Whatever is equal gets the same number, and only that: a hash finds candidates, which are compared in full. So two
types are compared by comparing two numbers, and no collision can hide a difference.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memchr, memcmp, memset
from cython.cimports.pybtf.core.btf.type_view import view_name
from cython.cimports.pybtf.core.diff.diff_meaning import (
    DIFF_LARGE,
    DIFF_LONG_NAME,
    DIFF_MEMORY,
    DIFF_OK,
    MAX_NAME,
    REF_FIRST,
    Numbers,
    Side,
)
from cython.cimports.pybtf.core.support.hashing import hash_bytes, hash_words
from cython.cimports.pybtf.core.support.memory import grow, u32s_free, u32s_reserve, u64s_free, u64s_push

FIRST_SLOTS = cython.declare(uint32_t, 1 << 12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def numbers_open(t: cython.pointer[Numbers]) -> cython.bint:
    """Make empty tables. 0: there is no memory; what there is has to be freed all the same."""
    i: cython.int
    memset(t, 0, cython.sizeof(Numbers))
    t.slots = cython.cast(cython.pointer[uint32_t], calloc(FIRST_SLOTS, cython.sizeof(uint32_t)))
    t.name_slots = cython.cast(cython.pointer[uint32_t], calloc(FIRST_SLOTS, cython.sizeof(uint32_t)))
    t.mask = t.name_mask = FIRST_SLOTS - 1
    t.n_names = 1
    for i in range(REF_FIRST + 1):
        if not u64s_push(cython.address(t.starts), 0):
            return False
    return t.slots != cython.NULL and t.name_slots != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def numbers_free(t: cython.pointer[Numbers]) -> cython.void:
    u32s_free(cython.address(t.keys))
    u64s_free(cython.address(t.starts))
    u32s_free(cython.address(t.key))
    u64s_free(cython.address(t.sorting))
    free(t.slots)
    free(cython.cast(cython.p_void, t.names))
    free(t.lengths)
    free(t.name_slots)
    memset(t, 0, cython.sizeof(Numbers))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fail(t: cython.pointer[Numbers], status: cython.int) -> uint32_t:
    if t.status == DIFF_OK:
        t.status = status
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widen_names(t: cython.pointer[Numbers]) -> cython.bint:
    """Twice as many slots. The hash of a name is taken again: that is rare, and names are short."""
    mask: uint32_t = 2 * t.name_mask + 1
    number: uint32_t
    at: uint32_t
    slots: cython.pointer[uint32_t] = cython.cast(
        cython.pointer[uint32_t], calloc(cython.cast(cython.size_t, mask) + 1, cython.sizeof(uint32_t))
    )
    if slots == cython.NULL:
        return False
    for number in range(1, t.n_names):
        at = cython.cast(uint32_t, hash_bytes(t.names[number], t.lengths[number])) & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = number
    free(t.name_slots)
    t.name_slots = slots
    t.name_mask = mask
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_number(t: cython.pointer[Numbers], s: cython.pointer[Side], offset: uint32_t) -> uint32_t:
    """The number of a name; 0, and a status, if there is no memory or the name is too long."""
    name: cython.p_const_char
    end: cython.p_const_char
    room: cython.size_t
    length: uint32_t
    at: uint32_t
    number: uint32_t
    if offset >= s.strings:
        return fail(t, DIFF_LONG_NAME)
    if s.names[offset]:
        return s.names[offset]
    name = view_name(s.v, offset)
    room = (s.v.base_size if offset < s.v.base_size else s.strings) - offset
    end = cython.cast(cython.p_const_char, memchr(name, 0, min(room, MAX_NAME)))
    if end == cython.NULL:
        return fail(t, DIFF_LONG_NAME)
    length = cython.cast(uint32_t, end - name)
    at = cython.cast(uint32_t, hash_bytes(name, length)) & t.name_mask
    while t.name_slots[at]:
        number = t.name_slots[at]
        if t.lengths[number] == length and memcmp(t.names[number], name, length) == 0:
            s.names[offset] = number
            return number
        at = (at + 1) & t.name_mask
    number = t.n_names
    if not grow(t.names, t.names_cap, number + 1) or not grow(t.lengths, t.lengths_cap, number + 1):
        return fail(t, DIFF_MEMORY)
    t.names[number] = name
    t.lengths[number] = length
    t.n_names = number + 1
    t.name_slots[at] = number
    s.names[offset] = number
    if 2 * t.n_names > t.name_mask and not widen_names(t):
        return fail(t, DIFF_MEMORY)
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widen_keys(t: cython.pointer[Numbers]) -> cython.bint:
    """Twice as many slots, which hold numbers only: the hash of each key is taken again. 0: there is no memory."""
    mask: uint32_t = 2 * t.mask + 1
    number: uint32_t
    at: uint32_t
    start: uint64_t
    slots: cython.pointer[uint32_t] = cython.cast(
        cython.pointer[uint32_t], calloc(cython.cast(cython.size_t, mask) + 1, cython.sizeof(uint32_t))
    )
    if slots == cython.NULL:
        return False
    for number in range(REF_FIRST, cython.cast(uint32_t, t.starts.n - 1)):
        start = t.starts.p[number]
        at = cython.cast(uint32_t, hash_words(t.keys.p + start, t.starts.p[number + 1] - start)) & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = number
    free(t.slots)
    t.slots = slots
    t.mask = mask
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_of_key(t: cython.pointer[Numbers]) -> uint32_t:
    """The number of what is in `key`, which is then empty; 0, and a status, if there is no memory."""
    n: cython.size_t = t.key.n
    at: uint32_t = cython.cast(uint32_t, hash_words(t.key.p, n)) & t.mask
    number: uint32_t
    start: uint64_t
    t.key.n = 0
    while t.slots[at]:
        number = t.slots[at]
        start = t.starts.p[number]
        if t.starts.p[number + 1] - start == n and memcmp(t.keys.p + start, t.key.p, 4 * n) == 0:
            return number
        at = (at + 1) & t.mask
    if t.starts.n > 0x7FFFFFFF:
        return fail(t, DIFF_LARGE)
    number = cython.cast(uint32_t, t.starts.n - 1)
    if not u32s_reserve(cython.address(t.keys), n) or not u64s_push(cython.address(t.starts), t.keys.n + n):
        return fail(t, DIFF_MEMORY)
    memcpy_words(t, n)
    t.slots[at] = number
    if 2 * t.starts.n > t.mask and not widen_keys(t):
        return fail(t, DIFF_MEMORY)
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def memcpy_words(t: cython.pointer[Numbers], n: cython.size_t) -> cython.void:
    i: cython.size_t
    for i in range(n):
        t.keys.p[t.keys.n + i] = t.key.p[i]
    t.keys.n += n
