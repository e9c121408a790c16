"""Interned strings: one table, written by all workers at once.

A string id stands for a text for the whole run, whatever section or unit it came from, so that everything above
compares and hashes one word. Ids are given in order of arrival, which depends on the timing of the workers; nothing
that is written may depend on their values. The offsets in the output are given later, by the encoder alone, in the
order pahole inserts strings.

A string that the base has (split BTF) needs no entry: its id is its offset there, marked. Only strings that got an id
before the base was set, the names of functions, have one nevertheless.

Look-ups take no lock: a bucket is a list of entries linked by ids, an entry is complete before its id is published
in the head of its bucket, and nothing is ever moved or removed. Insertion takes the lock and looks again. How the table
gets more buckets is said in support/arena.pxd.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.pybtf.core.strings.base_strings import BaseStrings, base_string
from cython.cimports.pybtf.core.strings.name_prediction import Models
from cython.cimports.pybtf.core.strings.string_table import (
    IN_BASE,
    NO_STRING,
    STRING_CHUNK,
    STRING_CHUNK_BITS,
    STRING_CHUNKS,
    StringEntry,
    Strings,
    string_bucket,
    string_entry,
)
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
    hash_bytes,
    load_acquire,
    lock,
    store_pointer,
    store_release,
    unlock,
)
from cython.cimports.pybtf.core.support.memory import prefetch


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_chunk(t: cython.pointer[Strings]) -> cython.bint:
    """Room for more entries. 0 if out of memory. The list of chunks is not cleared: of a module, one is used."""
    chunk: cython.pointer[StringEntry] = cython.cast(
        cython.pointer[StringEntry], malloc(STRING_CHUNK * cython.sizeof(StringEntry))
    )
    if chunk == cython.NULL:
        return False
    t.chunks[t.n_chunks] = chunk
    t.n_chunks += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def strings_new(expected: cython.size_t) -> cython.pointer[Strings]:
    """An empty table with buckets for about `expected` strings, or NULL."""
    t: cython.pointer[Strings] = cython.cast(cython.pointer[Strings], calloc(1, cython.sizeof(Strings)))
    buckets: uint32_t = bucket_count(expected)
    if t == cython.NULL:
        return cython.NULL
    t.mask = buckets - 1
    t.heads = cython.cast(cython.pointer[uint32_t], buckets_new(buckets, cython.sizeof(uint32_t)))
    t.chunks = cython.cast(
        cython.pointer[cython.pointer[StringEntry]], malloc(STRING_CHUNKS * cython.sizeof(cython.p_void))
    )
    if t.heads == cython.NULL or t.chunks == cython.NULL or not add_chunk(t):
        strings_delete(t)
        return cython.NULL
    memset(string_entry(t, 0), 0, cython.sizeof(StringEntry))
    t.n = 1
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def strings_delete(t: cython.pointer[Strings]) -> cython.void:
    i: uint32_t
    if t == cython.NULL:
        return
    if t.chunks != cython.NULL:
        for i in range(t.n_chunks):
            free(t.chunks[i])
    arena_free(cython.address(t.copies))
    outgrown_free(cython.address(t.outgrown))
    free(t.doubles)
    free(t.chunks)
    free(t.heads)
    free(t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(
    t: cython.pointer[Strings], sid: uint32_t, h: uint64_t, text: cython.p_const_char, size: cython.size_t
) -> uint32_t:
    e: cython.pointer[StringEntry]
    while sid:
        e = string_entry(t, sid)
        if e.hash == h and e.size == size and memcmp(e.text, text, size) == 0:
            return sid
        sid = load_acquire(cython.address(e.next))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def widen(t: cython.pointer[Strings]) -> cython.void:
    """Gives a crowded table more buckets, if there is memory. Called with the lock held."""
    buckets: uint32_t = TIMES_MORE * (t.mask + 1)
    sid: uint32_t
    e: cython.pointer[StringEntry]
    head: cython.pointer[uint32_t]
    heads: cython.pointer[uint32_t]
    if not is_crowded(t.n, t.mask):
        return
    heads = cython.cast(cython.pointer[uint32_t], buckets_new(buckets, cython.sizeof(uint32_t)))
    if heads == cython.NULL:
        return
    for sid in range(1, t.n):
        e = string_entry(t, sid)
        head = heads + (cython.cast(uint32_t, e.hash >> 32) & (buckets - 1))
        store_release(cython.address(e.next), head[0])
        head[0] = sid
    outgrow(cython.address(t.outgrown), t.heads)
    store_pointer(cython.address(t.heads), heads)
    store_release(cython.address(t.mask), buckets - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert(
    t: cython.pointer[Strings],
    h: uint64_t,
    text: cython.p_const_char,
    size: cython.size_t,
    copy: cython.bint,
) -> uint32_t:
    """Adds a string that is not there. Called with the lock held."""
    sid: uint32_t = t.n
    head: cython.pointer[uint32_t]
    e: cython.pointer[StringEntry]
    chunk: uint32_t = sid >> STRING_CHUNK_BITS
    kept: cython.p_char
    if chunk >= STRING_CHUNKS or size > 0x7FFFFFFF:
        return NO_STRING
    if chunk == t.n_chunks and not add_chunk(t):
        return NO_STRING
    if copy:
        kept = cython.cast(cython.p_char, arena_take(cython.address(t.copies), size))
        if kept == cython.NULL:
            return NO_STRING
        memcpy(kept, text, size)
        text = kept
    e = string_entry(t, sid)
    e.text = text
    e.size = cython.cast(uint32_t, size)
    e.hash = h
    widen(t)
    head = string_bucket(t, h)
    e.next = head[0]
    store_release(cython.address(t.n), sid + 1)
    store_release(head, sid)
    return sid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def string_intern(
    t: cython.pointer[Strings], text: cython.p_const_char, size: cython.size_t, copy: cython.bint
) -> uint32_t:
    """The id of a string: 0 for the empty one, `NO_STRING` if there is no memory.

    `copy`: the text lies in memory that does not live as long as the table.
    """
    if size == 0:
        return 0
    return string_intern_hashed(t, text, size, hash_bytes(text, size), copy)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def string_intern_hashed(
    t: cython.pointer[Strings], text: cython.p_const_char, size: cython.size_t, h: uint64_t, copy: cython.bint
) -> uint32_t:
    """As `string_intern`, for a string that is not empty and whose hash is known."""
    sid: uint32_t = find(t, load_acquire(string_bucket(t, h)), h, text, size)
    if sid:
        return sid
    if t.base != cython.NULL:
        sid = base_string(t.base, text, size, h)
        if sid:
            return IN_BASE | sid
    lock(cython.address(t.busy))
    sid = find(t, string_bucket(t, h)[0], h, text, size)
    if sid == 0:
        sid = insert(t, h, text, size, copy)
    unlock(cython.address(t.busy))
    return sid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def string_expect(t: cython.pointer[cython.const[Strings]], h: uint64_t) -> cython.void:
    """Asks for the memory that a look-up of a text with this hash will need."""
    prefetch(string_bucket(t, h))
    if t.base != cython.NULL:
        prefetch(t.base.slots + (h & t.base.mask))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def strings_build_on(
    t: cython.pointer[Strings],
    base: cython.pointer[cython.const[BaseStrings]],
    models: cython.pointer[cython.const[Models]],
) -> cython.bint:
    """From now on, strings of the base need no entry. 0 if out of memory."""
    sid: uint32_t
    at: uint32_t
    bits: uint32_t = 4096
    e: cython.pointer[StringEntry]
    while bits >> 5 < t.n and bits < 0x10000000:
        bits *= 2
    t.doubles = cython.cast(cython.pointer[uint8_t], calloc(bits >> 3, 1))
    if t.doubles == cython.NULL:
        return False
    t.doubles_mask = bits - 1
    t.doubles[0] = 1
    for sid in range(1, t.n):
        e = string_entry(t, sid)
        at = base_string(base, e.text, e.size, e.hash) if e.size else 0
        t.doubles[(at & t.doubles_mask) >> 3] |= cython.cast(uint8_t, 1 << (at & 7))
    t.base = base
    t.models = models
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def string_reserve(t: cython.pointer[Strings]) -> uint32_t:
    """An id that no text will ever get, whose text is empty."""
    return insert(t, 0, b"", 0, False)
