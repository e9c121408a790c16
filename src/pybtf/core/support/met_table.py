"""A table of what has been met, shared by all workers, which guesses what comes next.

Units include the same headers in the same order, so what is looked up is mostly what was looked up after the last one
before. Each entry remembers two of these, its *followers*: what came last when the first guess was wrong, and what had
been guessed then. If a guess is right, one comparison replaces a hash, a bucket and whatever is linked from it.

A look-up takes no lock: an entry is complete before it is published in the head of its bucket, and nothing is moved or
removed. Whoever adds takes the lock and looks again. How the table gets more buckets is said in arena.pxd. Followers
are only guesses, so it does not matter which worker wrote one last.

What an entry is, and when two are the same, is said by record_cache.py and values/known_types.py.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.support.arena import (
    TIMES_MORE,
    arena_free,
    bucket_count,
    buckets_new,
    is_crowded,
    outgrow,
    outgrown_free,
)
from cython.cimports.pybtf.core.support.hashing import store_pointer, store_release
from cython.cimports.pybtf.core.support.met_table import Met, MetHash, MetTable


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def met_new(expected: cython.size_t) -> cython.pointer[MetTable]:
    """An empty table with buckets for about `expected` entries, or NULL."""
    t: cython.pointer[MetTable] = cython.cast(cython.pointer[MetTable], calloc(1, cython.sizeof(MetTable)))
    buckets: uint32_t = bucket_count(expected)
    if t == cython.NULL:
        return cython.NULL
    t.mask = buckets - 1
    t.heads = cython.cast(cython.pointer[cython.pointer[Met]], buckets_new(buckets, cython.sizeof(cython.p_void)))
    if t.heads == cython.NULL:
        free(t)
        return cython.NULL
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def met_delete(t: cython.pointer[MetTable]) -> cython.void:
    if t == cython.NULL:
        return
    arena_free(cython.address(t.entries))
    outgrown_free(cython.address(t.outgrown))
    free(t.heads)
    free(t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def met_widen(t: cython.pointer[MetTable], hash_of: MetHash) -> cython.void:
    """Gives a crowded table more buckets, if there is memory. Called with the lock held.

    The entries of a bucket keep their order, the newest first.
    """
    old: uint32_t = t.mask + 1
    i: uint32_t
    at: uint32_t
    m: cython.pointer[Met]
    after: cython.pointer[Met]
    tails = cython.declare(cython.pointer[Met][TIMES_MORE])
    heads: cython.pointer[cython.pointer[Met]]
    if not is_crowded(t.n, t.mask):
        return
    heads = cython.cast(
        cython.pointer[cython.pointer[Met]], buckets_new(TIMES_MORE * old, cython.sizeof(cython.p_void))
    )
    if heads == cython.NULL:
        return
    for i in range(old):
        for at in range(TIMES_MORE):
            tails[at] = cython.NULL
        m = t.heads[i]
        while m != cython.NULL:
            after = m.next
            at = hash_of(m) // old % TIMES_MORE
            if tails[at] == cython.NULL:
                heads[i + at * old] = m
            else:
                store_pointer(cython.address(tails[at].next), m)
            tails[at] = m
            m = after
        for at in range(TIMES_MORE):
            if tails[at] != cython.NULL:
                store_pointer(cython.address(tails[at].next), cython.NULL)
    outgrow(cython.address(t.outgrown), t.heads)
    store_pointer(cython.address(t.heads), heads)
    store_release(cython.address(t.mask), TIMES_MORE * old - 1)
