# Records that have been met (see record_cache.py).

from libc.stdint cimport uint32_t
from pybtf.core.support.met_table cimport Met, MetTable, met_follow, met_follower, met_other

cdef struct Seen:
    Met met
    uint32_t hash
    uint32_t class_
    uint32_t size               # words
    uint32_t words[1]           # as many

cdef extern from *:
    """
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
    bint same_words "pybtf_same_words"(const uint32_t *a, const uint32_t *b, uint32_t n) noexcept nogil

cdef inline bint is_record(const Seen *s, const uint32_t *record, uint32_t n) noexcept nogil:
    return s.size == n and same_words(s.words, record, n)

cdef inline Seen *seen_follower(Seen *last) noexcept nogil:
    return <Seen *> met_follower(<Met *> last)

cdef inline Seen *seen_other(Seen *last) noexcept nogil:
    return <Seen *> met_other(<Met *> last)

cdef inline void seen_follow(Seen *last, Seen *s) noexcept nogil:
    met_follow(<Met *> last, <Met *> s)

cdef Seen *seen_find(MetTable *t, uint32_t h, const uint32_t *record, uint32_t n) noexcept nogil
cdef Seen *seen_add(MetTable *t, uint32_t h, const uint32_t *record, uint32_t n, uint32_t class_) noexcept nogil
