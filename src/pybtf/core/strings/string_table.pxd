# Interned strings shared by all workers (see string_table.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport strlen
from pybtf.core.strings.base_strings cimport BaseString, BaseStrings
from pybtf.core.strings.name_prediction cimport Models
from pybtf.core.support.arena cimport Arena, Outgrown
from pybtf.core.support.hashing cimport load_acquire, load_pointer
from pybtf.core.support.memory cimport prefetch

cdef enum:
    NO_STRING = 0xFFFFFFFF      # out of memory
    IN_BASE = 0x20000000        # | offset in the base's strings
    STRING_CHUNK_BITS = 16
    STRING_CHUNK = 1 << STRING_CHUNK_BITS
    STRING_CHUNKS = IN_BASE >> STRING_CHUNK_BITS    # ids of strings end where those in the base begin

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
    uint32_t n_chunks
    Outgrown outgrown           # `heads` that were
    Arena copies                # of the text of entries whose memory goes away
    const BaseStrings *base     # looked at before a string is added; NULL none
    const Models *models        # of the same base
    uint8_t *doubles            # a bit by offset in the base (modulo): its text may have an id of its own; and for 0
    uint32_t doubles_mask
    int busy

cdef inline StringEntry *string_entry(const Strings *t, uint32_t sid) noexcept nogil:
    return t.chunks[sid >> STRING_CHUNK_BITS] + (sid & (STRING_CHUNK - 1))

cdef inline uint32_t *string_bucket(const Strings *t, uint64_t hash) noexcept nogil:
    # The head of the bucket of a hash. The mask is read first: see arena.pxd.
    cdef uint32_t mask = load_acquire(&t.mask)
    return <uint32_t *> load_pointer(<void *> &t.heads) + (<uint32_t> (hash >> 32) & mask)

cdef struct Text:
    const char *text            # not NUL-terminated
    size_t size

cdef inline bint string_in_base(uint32_t sid) noexcept nogil:
    return sid >= IN_BASE

cdef inline Text string_text(const Strings *t, uint32_t sid) noexcept nogil:
    cdef Text x
    if string_in_base(sid):
        x.text = t.base.text + (sid - IN_BASE)
        x.size = strlen(x.text)
    else:
        x.text = string_entry(t, sid).text
        x.size = string_entry(t, sid).size
    return x

cdef inline bint string_is_single(const Strings *t, uint32_t at) noexcept nogil:
    # Whether it is certain that `IN_BASE | at` is the id of the text at this offset of the base, which is that of a
    # whole string; or 0, and then it is not.
    cdef uint32_t bit = at & t.doubles_mask
    return not (t.doubles[bit >> 3] >> (bit & 7)) & 1

cdef bint strings_build_on(Strings *t, const BaseStrings *base, const Models *models) noexcept nogil
cdef uint32_t string_intern(Strings *t, const char *text, size_t size, bint copy) noexcept nogil
cdef uint32_t string_intern_hashed(Strings *t, const char *text, size_t size, uint64_t hash, bint copy) noexcept nogil
cdef void string_expect(const Strings *t, uint64_t hash) noexcept nogil

cdef inline void string_expect_text(const Strings *t, uint64_t hash) noexcept nogil:
    # Asks for what a text with this hash will be compared with: the one in the base, or the first of its bucket.
    # `string_expect` came before.
    cdef const BaseString *s
    if t.base == NULL:
        prefetch(string_entry(t, load_acquire(string_bucket(t, hash))))
    else:
        s = t.base.slots + (hash & t.base.mask)
        if s.tag == <uint32_t> (hash >> 32):
            prefetch(t.base.text + s.offset)

cdef uint32_t string_reserve(Strings *t) noexcept nogil
cdef Strings *strings_new(size_t expected) noexcept nogil
cdef void strings_delete(Strings *t) noexcept nogil
