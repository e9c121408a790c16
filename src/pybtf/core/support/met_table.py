"""A table of what has been met, shared by all workers, which guesses what comes next.

Units include the same headers in the same order, so what is looked up is mostly what was looked up after the last one
before. Each entry remembers two of these, its *followers*: what came last when the first guess was wrong, and what had
been guessed then. If a guess is right, one comparison replaces a hash, a bucket and whatever is linked from it.

A look-up takes no lock: an entry is complete before it is published in the head of its bucket, and nothing is moved or
removed. Whoever adds takes the lock and looks again. Followers are only guesses, so it does not matter which worker
wrote one last.

What an entry is, and when two are the same, is said by record_cache.py and values/known_types.py.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.support.arena import arena_free, bucket_count, buckets_new
from cython.cimports.pybtf.core.support.met_table import Met, MetTable


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
    free(t.heads)
    free(t)
