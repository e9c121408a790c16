# A table of what has been met, which guesses what comes next (see met_table.py).

from libc.stdint cimport uint32_t
from pybtf.core.support.arena cimport Arena, Outgrown
from pybtf.core.support.hashing cimport load_acquire, load_pointer, store_pointer

cdef struct Met:                # what each entry begins with
    Met *follower               # what was asked for after this entry when the guess was last wrong, NULL nothing yet
    Met *other                  # and what had been guessed then
    Met *next                   # in its bucket

cdef struct MetTable:
    Met **heads
    uint32_t mask               # of a hash: its bucket
    uint32_t n                  # entries
    Outgrown outgrown           # `heads` that were
    Arena entries
    int busy                    # the lock of those that add

ctypedef uint32_t (*MetHash)(const Met *m) noexcept nogil

cdef inline Met **met_head(MetTable *t, uint32_t hash) noexcept nogil:
    # The bucket of a hash. The mask is read first: see arena.pxd.
    cdef uint32_t mask = load_acquire(&t.mask)
    return <Met **> load_pointer(&t.heads) + (hash & mask)

cdef inline Met *met_in(MetTable *t, uint32_t hash) noexcept nogil:
    # The first entry of the bucket of a hash, or NULL.
    return <Met *> load_pointer(met_head(t, hash))

cdef inline Met *met_next(Met *m) noexcept nogil:
    # The next one of the bucket, or NULL.
    return <Met *> load_pointer(&m.next)

cdef void met_widen(MetTable *t, MetHash hash_of) noexcept nogil

cdef inline void met_publish(MetTable *t, Met *m, MetHash hash_of) noexcept nogil:
    # Puts an entry, which is complete but for its links, into its bucket. Called with the lock held.
    cdef Met **head
    met_widen(t, hash_of)
    head = met_head(t, hash_of(m))
    t.n += 1
    m.follower = NULL
    m.other = NULL
    m.next = head[0]
    store_pointer(head, m)

cdef inline Met *met_follower(Met *last) noexcept nogil:
    # The first guess at what comes after `last`, or NULL.
    return NULL if last == NULL else <Met *> load_pointer(&last.follower)

cdef inline Met *met_other(Met *last) noexcept nogil:
    # The second guess, or NULL.
    return NULL if last == NULL else <Met *> load_pointer(&last.other)

cdef inline void met_follow(Met *last, Met *m) noexcept nogil:
    # `m` has come after `last`, and was not the first guess.
    if last != NULL:
        store_pointer(&last.other, load_pointer(&last.follower))
        store_pointer(&last.follower, m)

cdef MetTable *met_new(size_t expected) noexcept nogil
cdef void met_delete(MetTable *t) noexcept nogil
