"""Records that have been met, in the words in which they were met.

A record with name words (lazy_names.py) is looked up here first; only if it is new are its names interned and its class
looked up or made. So names are read once per distinct record, not once per type.

All workers share the table (support/met_table.py), which guesses what comes next: in Debian's 6.1 kernel the first
guess is right for 91 % of 4.0 million records, the second for 4 %.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.classes.record_cache import *
from cython.cimports.pybtf.core.support.arena import arena_take
from cython.cimports.pybtf.core.support.hashing import lock, unlock
from cython.cimports.pybtf.core.support.met_table import Met, MetTable, met_in, met_next, met_publish


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def hash_of(m: cython.pointer[cython.const[Met]]) -> uint32_t:
    return cython.cast(cython.pointer[cython.const[Seen]], m).hash


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def seen_find(
    t: cython.pointer[MetTable], h: uint32_t, record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> cython.pointer[Seen]:
    """The record of `n` words with hash `h`, or NULL."""
    s: cython.pointer[Seen] = cython.cast(cython.pointer[Seen], met_in(t, h))
    while s != cython.NULL:
        if s.hash == h and is_record(s, record, n):
            return s
        s = cython.cast(cython.pointer[Seen], met_next(cython.address(s.met)))
    return cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def seen_add(
    t: cython.pointer[MetTable],
    h: uint32_t,
    record: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
    class_: uint32_t,
) -> cython.pointer[Seen]:
    """Adds a record, unless somebody else has just done so. NULL: no memory."""
    s: cython.pointer[Seen]
    size: cython.size_t = cython.sizeof(Seen) + cython.cast(cython.size_t, n) * cython.sizeof(uint32_t)
    lock(cython.address(t.busy))
    s = seen_find(t, h, record, n)
    if s == cython.NULL:
        size = (size + 7) & ~cython.cast(cython.size_t, 7)
        s = cython.cast(cython.pointer[Seen], arena_take(cython.address(t.entries), size))
        if s != cython.NULL:
            s.hash = h
            s.class_ = class_
            s.size = n
            memcpy(s.words, record, n * cython.sizeof(uint32_t))
            met_publish(t, cython.address(s.met), hash_of)
    unlock(cython.address(t.busy))
    return s
