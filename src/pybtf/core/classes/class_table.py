"""Classes: the same type met in two units gets the same number, without asking which other types it reaches.

The units of a kernel describe the same few ten thousand types thousands of times. A *class record* (class_record.pxd)
is the content of a type in which every reference is replaced by the class of its target, and a reference to a named
struct, union or enumeration by a key of its kind and name, so that the description of a type ends at the names it
mentions and there are no cycles. Equal records get one id, in a table that all workers share: this is hash-consing,
exact by comparison.

What classes decide: whether prototypes of two units match (prototype_match.py compares nothing below a struct's name),
and which types of a unit bring nothing new (append_unit.py).

Look-ups take no lock, as in string_table.py: a record is complete before its id is published.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.support.arena import (
    TIMES_MORE,
    arena_free,
    arena_take,
    bucket_count,
    buckets_new,
    is_crowded,
    outgrow,
    outgrown_free,
)
from cython.cimports.pybtf.core.support.hashing import (
    hash_words,
    load_acquire,
    load_pointer,
    lock,
    store_pointer,
    store_release,
    unlock,
)

PREFIX = cython.declare(cython.int, 2)  # words in front of a record: next id of the bucket, hash


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classes_new(expected: cython.size_t) -> cython.pointer[ClassTable]:
    """An empty table with buckets for about `expected` classes, or NULL."""
    t: cython.pointer[ClassTable] = cython.cast(cython.pointer[ClassTable], calloc(1, cython.sizeof(ClassTable)))
    buckets: uint32_t = bucket_count(expected)
    if t == cython.NULL:
        return cython.NULL
    t.mask = buckets - 1
    t.heads = cython.cast(cython.pointer[uint32_t], buckets_new(buckets, cython.sizeof(uint32_t)))
    t.records = cython.cast(
        cython.pointer[cython.pointer[cython.pointer[uint32_t]]], malloc(CLASS_CHUNKS * cython.sizeof(cython.p_void))
    )
    if t.heads == cython.NULL or t.records == cython.NULL:
        classes_delete(t)
        return cython.NULL
    t.n = 1
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classes_delete(t: cython.pointer[ClassTable]) -> cython.void:
    i: uint32_t
    if t == cython.NULL:
        return
    if t.records != cython.NULL:
        for i in range(t.n_chunks):
            free(t.records[i])
    arena_free(cython.address(t.room))
    outgrown_free(cython.address(t.outgrown))
    free(t.records)
    free(t.heads)
    free(t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(
    t: cython.pointer[ClassTable],
    id: uint32_t,
    h: uint32_t,
    record: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> uint32_t:
    """The id of a record of `n` words with hash `h`, from `id` on in its bucket; 0: it is not there."""
    r: cython.pointer[cython.const[uint32_t]]
    while id:
        r = class_record(t, id)
        # Equal heads have the same kind and count, hence the same length.
        if (
            (r - 1)[0] == h
            and memcmp(r, record, REC_HEAD * cython.sizeof(uint32_t)) == 0
            and memcmp(r + REC_HEAD, record + REC_HEAD, (n - REC_HEAD) * cython.sizeof(uint32_t)) == 0
        ):
            return id
        id = load_acquire(r - 2)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def bucket(t: cython.pointer[ClassTable], h: uint32_t) -> cython.pointer[uint32_t]:
    """The head of the bucket of a hash. The mask is read first: see arena.pxd."""
    mask: uint32_t = load_acquire(cython.address(t.mask))
    return cython.cast(cython.pointer[uint32_t], load_pointer(cython.address(t.heads))) + (h & mask)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widen(t: cython.pointer[ClassTable]) -> cython.void:
    """Gives a crowded table more buckets, if there is memory. Called with the lock held."""
    buckets: uint32_t = TIMES_MORE * (t.mask + 1)
    id: uint32_t
    r: cython.pointer[uint32_t]
    head: cython.pointer[uint32_t]
    heads: cython.pointer[uint32_t]
    if not is_crowded(t.n, t.mask):
        return
    heads = cython.cast(cython.pointer[uint32_t], buckets_new(buckets, cython.sizeof(uint32_t)))
    if heads == cython.NULL:
        return
    for id in range(1, t.n):
        r = cython.cast(cython.pointer[uint32_t], class_record(t, id))
        head = heads + ((r - 1)[0] & (buckets - 1))
        store_release(r - 2, head[0])
        head[0] = id
    outgrow(cython.address(t.outgrown), t.heads)
    store_pointer(cython.address(t.heads), heads)
    store_release(cython.address(t.mask), buckets - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert(
    t: cython.pointer[ClassTable], h: uint32_t, record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """Adds a record that is not there. Called with the lock held."""
    id: uint32_t = t.n
    chunk: uint32_t = id >> CLASS_CHUNK_BITS
    head: cython.pointer[uint32_t]
    words: cython.size_t = cython.cast(cython.size_t, n) + PREFIX
    p: cython.pointer[uint32_t]
    if chunk >= CLASS_CHUNKS:
        return NO_CLASS
    if chunk == t.n_chunks:
        t.records[chunk] = cython.cast(
            cython.pointer[cython.pointer[uint32_t]], malloc(CLASS_CHUNK * cython.sizeof(cython.p_void))
        )
        if t.records[chunk] == cython.NULL:
            return NO_CLASS
        t.n_chunks += 1
    p = cython.cast(cython.pointer[uint32_t], arena_take(cython.address(t.room), words * cython.sizeof(uint32_t)))
    if p == cython.NULL:
        return NO_CLASS
    widen(t)
    head = bucket(t, h)
    p[0] = head[0]
    p[1] = h
    memcpy(p + PREFIX, record, n * cython.sizeof(uint32_t))
    t.records[chunk][id & (CLASS_CHUNK - 1)] = p + PREFIX
    store_release(cython.address(t.n), id + 1)
    store_release(head, id)
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_intern(
    t: cython.pointer[ClassTable], record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """The id of a record of `n` words, at least REC_HEAD; NO_CLASS if there is no memory."""
    h: uint32_t = cython.cast(uint32_t, hash_words(record, n) >> 16)
    id: uint32_t = find(t, load_acquire(bucket(t, h)), h, record, n)
    if id:
        return id
    lock(cython.address(t.busy))
    id = find(t, bucket(t, h)[0], h, record, n)
    if id == 0:
        id = insert(t, h, record, n)
    unlock(cython.address(t.busy))
    return id
