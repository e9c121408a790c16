# Passing over DIEs of which nothing is wanted (see passing.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.dwarf.abbrev_layout cimport BLOCK, LEB_BYTES, Passage
from pybtf.core.dwarf.abbrevs cimport AbbrevTable

# Returns the end of the DIE whose values begin at `p`. NULL: it is not at a glance that it ends before `end`.
cdef const uint8_t *pass_values(const Passage *q, const uint8_t *p, const uint8_t *end) noexcept nogil

# Passes over DIEs from `p` on, `depth` levels deep and in what they have inside, as long as nothing has to be looked at.
# Returns where it ended, and the depth there; 0: the outermost level has ended.
cdef const uint8_t *pass_tree(AbbrevTable *t, const uint8_t *p, const uint8_t *end, uint64_t *depth) noexcept nogil

cdef inline const uint8_t *after_code(const uint8_t *die) noexcept nogil:
    # Past the code of a DIE, which has one or two bytes.
    return die + 1 + (die[0] >> 7)

cdef inline uint32_t leb_bytes(const uint8_t *p) noexcept nogil:
    # Of the LEB128 number at `p`, where LEB_BYTES are; 0: it is longer.
    cdef uint32_t n
    for n in range(LEB_BYTES):
        if p[n] < 0x80:
            return n + 1
    return 0

cdef inline uint64_t short_leb(const uint8_t *p, bint is_signed) noexcept nogil:
    # The LEB128 number at `p`, of which `leb_bytes` are known.
    cdef uint64_t value = 0
    cdef uint32_t shift = 0
    while p[0] >= 0x80:
        value |= <uint64_t> (p[0] & 0x7F) << shift
        shift += 7
        p += 1
    value |= <uint64_t> p[0] << shift
    if is_signed and p[0] & 0x40:
        value |= ~<uint64_t> 0 << (shift + 7)
    return value

cdef inline const uint8_t *pass_lead(uint8_t lead, const uint8_t *p, const uint8_t *end) noexcept nogil:
    # The end of the LEB or BLOCK at `p`. NULL: it is long, or comes near to `end` or passes it.
    cdef uint32_t size
    if p >= end:
        return NULL
    size = p[0] + 1
    if lead != BLOCK:
        if end - p < LEB_BYTES:
            return NULL
        size = leb_bytes(p)
    elif p[0] >= 0x80:
        return NULL
    return p + size if size and end - p >= size else NULL
