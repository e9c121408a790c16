"""Types that have been met in values of objects, by their digests (type_digest.py).

Of nearly all types of an object only the digest is read. The entry says which class the type has, what references to
it stand for, and how long its record is, so that the record can be skipped. All workers share the table
(support/met_table.py), which guesses what comes next.

An entry also has the lowest number of a unit that has the type, because the encoder keeps the types of a class from the
first unit that has it (append_unit.py). A worker that finds a number lower than its unit's knows that the record will
not be asked for: the other unit has been claimed, so it is encoded first, or the run fails. A worker that lowers the
number, or finds its own, has to bring the record.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.support.arena import arena_take
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold, lock, unlock
from cython.cimports.pybtf.core.support.met_table import Met, MetTable, met_in, met_next, met_publish
from cython.cimports.pybtf.core.values.known_types import KnownType


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def hash_digest(low: uint64_t, high: uint64_t) -> uint32_t:
    """Digests come from files: which bucket they fall into must not."""
    return cython.cast(uint32_t, fold(low ^ SALT2, high ^ SALT))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def hash_of(m: cython.pointer[cython.const[Met]]) -> uint32_t:
    e: cython.pointer[cython.const[KnownType]] = cython.cast(cython.pointer[cython.const[KnownType]], m)
    return hash_digest(e.low, e.high)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_find(t: cython.pointer[MetTable], low: uint64_t, high: uint64_t) -> cython.pointer[KnownType]:
    """The type of a digest, or NULL."""
    e: cython.pointer[KnownType] = cython.cast(cython.pointer[KnownType], met_in(t, hash_digest(low, high)))
    while e != cython.NULL and (e.low != low or e.high != high):
        e = cython.cast(cython.pointer[KnownType], met_next(cython.address(e.met)))
    return e


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_add(
    t: cython.pointer[MetTable], model: cython.pointer[cython.const[KnownType]]
) -> cython.pointer[KnownType]:
    """Adds a type, unless somebody else has just done so. NULL: no memory."""
    e: cython.pointer[KnownType]
    lock(cython.address(t.busy))
    e = known_find(t, model.low, model.high)
    if e == cython.NULL:
        e = cython.cast(
            cython.pointer[KnownType], arena_take(cython.address(t.entries), cython.sizeof(KnownType))
        )
        if e != cython.NULL:
            e[0] = model[0]
            met_publish(t, cython.address(e.met), hash_of)
    unlock(cython.address(t.busy))
    return e
