# Records that have been met (see record_cache.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.support.arena cimport Arena

cdef struct Seen:
    Seen *follower              # what was asked for after this record when the guess was last wrong, NULL nothing yet
    Seen *other                 # and what had been guessed then
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

cdef inline bint is_record(const Seen *s, const uint32_t *record, uint32_t n) noexcept nogil:
    return s.size == n and same_words(s.words, record, n)

cdef inline Seen *seen_follower(Seen *last) noexcept nogil:
    # The first guess at what comes after `last`, or NULL.
    return NULL if last == NULL else <Seen *> load_pointer(&last.follower)

cdef inline Seen *seen_other(Seen *last) noexcept nogil:
    # The second guess, or NULL.
    return NULL if last == NULL else <Seen *> load_pointer(&last.other)

cdef inline void seen_follow(Seen *last, Seen *s) noexcept nogil:
    # `s` has come after `last`, and was not the first guess.
    if last != NULL:
        store_pointer(&last.other, load_pointer(&last.follower))
        store_pointer(&last.follower, s)

cdef SeenTable *seen_new(size_t expected) noexcept nogil
cdef void seen_delete(SeenTable *t) noexcept nogil
cdef Seen *seen_find(SeenTable *t, uint32_t h, const uint32_t *record, uint32_t n) noexcept nogil
cdef Seen *seen_add(SeenTable *t, uint32_t h, const uint32_t *record, uint32_t n, uint32_t class_) noexcept nogil
