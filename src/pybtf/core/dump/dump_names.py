"""Counting the uses of names (dump_names.pxd): a hash table with linear probing, half full at most."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import strcmp, strlen
from cython.cimports.pybtf.core.dump.dump_names import NameUse, NameUses
from cython.cimports.pybtf.core.support.hashing import hash_bytes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(u: cython.pointer[NameUses]) -> cython.bint:
    """Doubles the slots, or makes the first 1024. 0: no memory, or there would be more than 2^30."""
    size: cython.size_t = 2 * (cython.cast(cython.size_t, u.mask) + 1) if u.mask else 1024
    slots: cython.pointer[NameUse]
    i: cython.size_t
    at: uint32_t
    if size > 0x40000000:
        return False
    slots = cython.cast(cython.pointer[NameUse], calloc(size, cython.sizeof(NameUse)))
    if slots == cython.NULL:
        return False
    if u.mask:
        for i in range(cython.cast(cython.size_t, u.mask) + 1):
            if u.slots[i].name != cython.NULL:
                at = cython.cast(uint32_t, u.slots[i].hash & (size - 1))
                while slots[at].name != cython.NULL:
                    at = (at + 1) & cython.cast(uint32_t, size - 1)
                slots[at] = u.slots[i]
        free(u.slots)
    u.slots = slots
    u.mask = cython.cast(uint32_t, size - 1)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_used(u: cython.pointer[NameUses], name: cython.p_const_char) -> uint32_t:
    hash: uint64_t = hash_bytes(name, strlen(name))
    at: uint32_t
    s: cython.pointer[NameUse]
    if 2 * (u.n + 1) > u.mask and not grow(u):
        return 0
    at = cython.cast(uint32_t, hash & u.mask)
    while True:
        s = u.slots + at
        if s.name == cython.NULL:
            s.name = name
            s.hash = hash
            u.n += 1
            break
        if s.hash == hash and strcmp(s.name, name) == 0:
            break
        at = (at + 1) & u.mask
    s.count += 1
    return s.count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_free(u: cython.pointer[NameUses]) -> cython.void:
    free(u.slots)
    u.slots = cython.NULL
    u.mask = u.n = 0
