# Hashes of the signatures by which types meet their candidates. Only members of one chain are compared, and in full.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.hashing cimport SALT
from pybtf.core.typegraph cimport hash_more, hash_three
from pybtf.core.wire cimport wire_vlen, wire_words

cdef inline uint64_t hash_record(const uint32_t *r) noexcept nogil:
    # All words.
    cdef uint64_t h = hash_three(r)
    cdef size_t i = 3
    cdef size_t n = wire_words(r[1])
    while i + 1 < n:
        h = hash_more(h, r[i], r[i + 1])
        i += 2
    return hash_more(h, r[i], 0) if i < n else h

cdef inline uint64_t hash_members(const uint32_t *r) noexcept nogil:
    # STRUCT, UNION: everything but the types of the members.
    cdef uint64_t h = hash_three(r)
    cdef const uint32_t *p = r + 3
    cdef const uint32_t *end = p + 3 * <size_t> wire_vlen(r)
    while p < end:
        h = hash_more(h, p[0], p[2])
        p += 3
    return h

cdef inline uint64_t hash_name(const uint32_t *r) noexcept nogil:
    return hash_more(SALT, r[0], 0)

cdef inline uint64_t hash_typedef(const uint32_t *r) noexcept nogil:
    return hash_more(SALT, r[0], r[1])
