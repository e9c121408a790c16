"""Types that have been met in values of objects, by their digests (type_digest.py).

Of nearly all types of an object only the digest is read. The entry says which class the type has, what references to
it stand for, and how long its record is, so that the record can be skipped. As record_cache.py does for records, each
entry remembers two that came after it: units include the same headers in the same order.

An entry also has the lowest number of a unit that has the type, because the encoder keeps the types of a class from the
first unit that has it (append_unit.py). A worker that finds a number lower than its unit's knows that the record will
not be asked for: the other unit has been claimed, so it is encoded first, or the run fails. A worker that lowers the
number, or finds its own, has to bring the record.

The table is shared by all workers. A look-up takes no lock: an entry is complete before it is published, and nothing is
moved or removed. `follower` is only a guess.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.classes.record_cache import load_pointer, store_pointer
from cython.cimports.pybtf.core.support.arena import arena_free, arena_take, bucket_count, buckets_new
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold, lock, unlock
from cython.cimports.pybtf.core.values.known_types import KnownType, KnownTypes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_new(expected: cython.size_t) -> cython.pointer[KnownTypes]:
    """An empty table with buckets for about `expected` types, or NULL."""
    t: cython.pointer[KnownTypes] = cython.cast(cython.pointer[KnownTypes], calloc(1, cython.sizeof(KnownTypes)))
    buckets: uint32_t = bucket_count(expected)
    if t == cython.NULL:
        return cython.NULL
    t.mask = buckets - 1
    t.heads = cython.cast(cython.pointer[cython.pointer[KnownType]], buckets_new(buckets, cython.sizeof(cython.p_void)))
    if t.heads == cython.NULL:
        free(t)
        return cython.NULL
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_delete(t: cython.pointer[KnownTypes]) -> cython.void:
    if t == cython.NULL:
        return
    arena_free(cython.address(t.entries))
    free(t.heads)
    free(t)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def bucket(
    t: cython.pointer[KnownTypes], low: uint64_t, high: uint64_t
) -> cython.pointer[cython.pointer[KnownType]]:
    """Digests come from files: which bucket they fall into must not."""
    return cython.address(t.heads[cython.cast(uint32_t, fold(low ^ SALT2, high ^ SALT)) & t.mask])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_find(t: cython.pointer[KnownTypes], low: uint64_t, high: uint64_t) -> cython.pointer[KnownType]:
    """The type of a digest, or NULL."""
    e: cython.pointer[KnownType] = cython.cast(cython.pointer[KnownType], load_pointer(bucket(t, low, high)))
    while e != cython.NULL and (e.low != low or e.high != high):
        e = e.next
    return e


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_add(
    t: cython.pointer[KnownTypes], model: cython.pointer[cython.const[KnownType]]
) -> cython.pointer[KnownType]:
    """Adds a type, unless somebody else has just done so. NULL: no memory."""
    e: cython.pointer[KnownType]
    head: cython.pointer[cython.pointer[KnownType]] = bucket(t, model.low, model.high)
    lock(cython.address(t.busy))
    e = known_find(t, model.low, model.high)
    if e == cython.NULL:
        e = cython.cast(
            cython.pointer[KnownType], arena_take(cython.address(t.entries), cython.sizeof(KnownType))
        )
        if e != cython.NULL:
            e[0] = model[0]
            e.follower = e.other = cython.NULL
            e.next = head[0]
            store_pointer(head, e)
    unlock(cython.address(t.busy))
    return e
