# Records that have been met (see record_cache.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.support.arena cimport Arena

cdef struct Seen:
    Seen *follower              # what was asked for after this record the last time, NULL nothing yet
    Seen *next                  # in its bucket
    uint32_t hash
    uint32_t class_
    uint32_t size               # words
    uint32_t words[1]           # as many

cdef struct SeenTable:
    Seen **heads
    uint32_t mask
    Arena records
    int busy

cdef extern from *:
    """
    static inline void *pybtf_load_pointer(void *p) { return __atomic_load_n((void **)p, __ATOMIC_ACQUIRE); }
    static inline void pybtf_store_pointer(void *p, void *v) { __atomic_store_n((void **)p, v, __ATOMIC_RELEASE); }
    static inline int pybtf_same_words(const uint32_t *a, const uint32_t *b, uint32_t n) {
        uint64_t x, y;
        for (; n >= 2; a += 2, b += 2, n -= 2) {
            memcpy(&x, a, 8);
            memcpy(&y, b, 8);
            if (x != y) return 0;
        }
        return n == 0 || *a == *b;
    }
    """
    void *load_pointer "pybtf_load_pointer"(void *p) noexcept nogil
    void store_pointer "pybtf_store_pointer"(void *p, void *v) noexcept nogil
    bint same_words "pybtf_same_words"(const uint32_t *a, const uint32_t *b, uint32_t n) noexcept nogil

cdef inline Seen *seen_follower(Seen *last, const uint32_t *record, uint32_t n) noexcept nogil:
    # The record that came after `last` before, if it is this one.
    cdef Seen *s
    if last == NULL:
        return NULL
    s = <Seen *> load_pointer(&last.follower)
    if s != NULL and s.size == n and same_words(s.words, record, n):
        return s
    return NULL

cdef inline void seen_follow(Seen *last, Seen *s) noexcept nogil:
    if last != NULL:
        store_pointer(&last.follower, s)

cdef SeenTable *seen_new(size_t expected) noexcept nogil
cdef void seen_delete(SeenTable *t) noexcept nogil
cdef Seen *seen_find(SeenTable *t, uint32_t h, const uint32_t *record, uint32_t n) noexcept nogil
cdef Seen *seen_add(SeenTable *t, uint32_t h, const uint32_t *record, uint32_t n, uint32_t class_) noexcept nogil
