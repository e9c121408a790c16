# A table of what has been met, which guesses what comes next (see met_table.py).

from libc.stdint cimport uint32_t
from pybtf.core.support.arena cimport Arena

cdef struct Met:                # what each entry begins with
    Met *follower               # what was asked for after this entry when the guess was last wrong, NULL nothing yet
    Met *other                  # and what had been guessed then
    Met *next                   # in its bucket

cdef struct MetTable:
    Met **heads
    uint32_t mask               # of a hash: its bucket
    Arena entries
    int busy                    # the lock of those that add

cdef extern from *:
    """
    static inline void *pybtf_load_pointer(void *p) { return __atomic_load_n((void **)p, __ATOMIC_ACQUIRE); }
    static inline void pybtf_store_pointer(void *p, void *v) { __atomic_store_n((void **)p, v, __ATOMIC_RELEASE); }
    """
    void *load_pointer "pybtf_load_pointer"(void *p) noexcept nogil
    void store_pointer "pybtf_store_pointer"(void *p, void *v) noexcept nogil

cdef inline Met *met_in(Met **head) noexcept nogil:
    # The first entry of a bucket, or NULL.
    return <Met *> load_pointer(head)

cdef inline void met_publish(Met **head, Met *m) noexcept nogil:
    # Puts an entry, which is complete but for its links, into a bucket. Called with the lock held.
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
