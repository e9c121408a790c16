# A base: the BTF of a kernel, on which the BTF of its modules is built (see base.py).

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp
from pybtf.core.typegraph cimport BaseTypes, Room
from pybtf.core.wire cimport WireError

cdef struct BaseString:
    uint32_t tag                # upper half of the hash
    uint32_t offset             # 0: free

cdef struct BaseStrings:        # the strings of a base, found by their text
    const char *text            # the string section
    uint32_t size
    BaseString *slots
    size_t mask

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

cdef bint room_reserve(Room *r, size_t n) noexcept nogil
cdef int room_load(Room *r, const unsigned char *src, size_t n_words, bint swap, uint32_t strings, WireError *error) noexcept nogil

cdef class Space:
    cdef Room r
    cdef readonly uint32_t types
    cdef object load(self, bytes data, str name, tuple header, uint32_t strings)

cdef class Base:
    cdef BaseTypes types
    cdef BaseStrings strings
    cdef readonly bytes data
    cdef tuple header           # what wire_header says of `data`
    cdef list spare             # spaces that no run has
    cdef readonly str name
    cdef readonly bint little
    cdef Space make(self)
    cdef Space take(self)
    cdef give(self, Space space)
