# The strings of a base, found by their text; base.py fills the table.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef struct BaseString:
    uint32_t tag                # upper half of the hash
    uint32_t offset             # 0: free

cdef struct BaseStrings:        # the strings of a base, found by their text
    const char *text            # the string section
    uint32_t size
    BaseString *slots
    size_t mask
    bint distinct               # no string is there twice

cdef inline uint32_t base_string(const BaseStrings *b, const char *text, size_t size, uint64_t hash) noexcept nogil:
    # The offset of a string that is not empty, 0 if the base does not have it. `hash`: hash_bytes(text, size).
    cdef uint32_t tag = <uint32_t> (hash >> 32)
    cdef size_t i = hash & b.mask
    cdef uint32_t at = b.slots[i].offset
    while at:
        if b.slots[i].tag == tag and size < b.size - at and b.text[at + size] == 0:
            if memcmp(b.text + at, text, size) == 0:
                return at
        i = (i + 1) & b.mask
        at = b.slots[i].offset
    return 0

cdef extern from *:
    int trailing_zeros "__builtin_ctzll"(uint64_t) noexcept nogil

cdef inline size_t same_text(const char *a, const char *b, size_t room) noexcept nogil:
    # Bytes of a text with its NUL if it stands at both places, 0 if not; no more than `room` bytes are looked at.
    cdef uint64_t x, y, nul
    cdef size_t i = 0
    while i + 8 <= room:
        memcpy(&x, a + i, 8)
        memcpy(&y, b + i, 8)
        nul = (x - 0x0101010101010101ULL) & ~x & 0x8080808080808080ULL     # the lowest bit set is that of the first NUL
        if nul:
            return i + trailing_zeros(nul) // 8 + 1 if (x ^ y) & (nul ^ (nul - 1)) == 0 else 0
        if x != y:
            return 0
        i += 8
    while i < room:
        if a[i] != b[i]:
            return 0
        i += 1
        if a[i - 1] == 0:
            return i
    return 0
