# The strings of a base, found by their text; base.py fills the table.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp

cdef enum:
    TOO_LONG = 256              # bytes with the NUL, of texts that are compared without a look at their hashes

cdef struct BaseString:
    uint32_t tag                # upper half of the hash
    uint32_t offset             # 0: free

cdef struct BaseStrings:        # the strings of a base, found by their text
    const char *text            # the string section
    uint32_t size
    BaseString *slots
    size_t mask
    bint distinct               # no string occurs twice, and none is as long as TOO_LONG

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
