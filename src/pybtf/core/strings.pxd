# Interned strings shared by all workers (see strings.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.arena cimport Arena

cdef enum:
    STRING_CHUNK_BITS = 13
    STRING_CHUNK = 8192
    STRING_CHUNKS = 65536
    NO_STRING = 0xFFFFFFFF      # out of memory

cdef struct StringEntry:
    const char *text            # not NUL-terminated
    uint32_t size
    uint32_t next               # id of the next entry of the bucket
    uint64_t hash

cdef struct Strings:
    uint32_t *heads
    uint32_t mask
    uint32_t n                  # ids in use, 0 included
    StringEntry **chunks
    Arena copies                # of the text of entries whose memory goes away
    int busy

cdef inline StringEntry *string_entry(const Strings *t, uint32_t sid) noexcept nogil:
    return t.chunks[sid >> STRING_CHUNK_BITS] + (sid & (STRING_CHUNK - 1))

cdef uint32_t string_intern(Strings *t, const char *text, size_t size, bint copy) noexcept nogil
cdef uint32_t string_reserve(Strings *t) noexcept nogil
cdef Strings *strings_new(size_t expected) noexcept nogil
cdef void strings_delete(Strings *t) noexcept nogil
