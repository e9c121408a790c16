# What is read of a DIE at a glance (see die_fast_path.py). Nothing here asks whether the bytes are there.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from pybtf.core.strings.lazy_names cimport name_short
from pybtf.core.support.cursor cimport HOST_IS_BIG, bswap32

cdef inline uint32_t word_at(const uint8_t *p, bint swap) noexcept nogil:
    # Four bytes; `swap`: not in the host's byte order.
    cdef uint32_t word
    memcpy(&word, p, 4)
    return bswap32(word) if swap else word

cdef inline uint64_t long_at(const uint8_t *p) noexcept nogil:
    # Eight bytes, in the host's byte order.
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word

cdef inline uint32_t first_of(uint32_t word, uint32_t size, bint swap) noexcept nogil:
    # The number in the first bytes of the four that `word` was read from.
    if swap != HOST_IS_BIG:
        return word >> (32 - 8 * size)
    return word & (<uint32_t> 0xFFFFFFFF >> (32 - 8 * size))

cdef inline uint32_t short_name(const uint8_t *p) noexcept nogil:
    # The name word of a text of one to three bytes at `p`; 0 if it is empty or longer. Four bytes are there.
    if p[0] == 0:
        return 0
    if p[1] == 0:
        return name_short(p, 1)
    if p[2] == 0:
        return name_short(p, 2)
    return name_short(p, 3) if p[3] == 0 else 0

cdef inline uint32_t name_size(uint32_t word) noexcept nogil:
    # Bytes of the text of a short name word.
    if word & 0xFF0000:
        return 3
    return 2 if word & 0xFF00 else 1
