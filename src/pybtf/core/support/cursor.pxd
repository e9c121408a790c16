# The one way to read bytes of a file in the compiled core.
#
# A cursor is a range of memory and a position in it. No read passes `end`. A read that would is the first
# failure: it sets `bad` to its cause, returns 0 and moves nothing; every later read fails as well, so a chain of
# reads needs one test at its end. `base` turns a position into a section offset for messages.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

cdef extern from *:
    """
    #define PYBTF_HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
    """
    bint HOST_IS_BIG "PYBTF_HOST_IS_BIG"
    uint16_t bswap16 "__builtin_bswap16"(uint16_t) noexcept nogil
    uint32_t bswap32 "__builtin_bswap32"(uint32_t) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64"(uint64_t) noexcept nogil

cdef enum:
    CUR_OK = 0
    CUR_TRUNCATED = 1       # the range ends inside the value
    CUR_LEB = 2             # a LEB128 longer than 64 bits can need
    CUR_STRING = 3          # a string without its NUL

cdef extern from *:             # Cython's own: what mostly is not so
    bint unlikely(bint condition) noexcept nogil

cdef struct Cursor:
    const uint8_t *base     # start of the section
    const uint8_t *pos
    const uint8_t *end
    bint swap               # file byte order differs from the host's
    int bad                 # CUR_*: once not CUR_OK, stays so

cdef inline void cur_init(Cursor *c, const uint8_t *base, size_t offset, size_t end, bint swap) noexcept nogil:
    c.base = base
    c.pos = base + offset
    c.end = base + end
    c.swap = swap
    c.bad = CUR_OK

cdef inline uint64_t cur_fail(Cursor *c, int why) noexcept nogil:
    if not c.bad:
        c.bad = why
    c.end = c.pos
    return 0

cdef inline size_t cur_left(Cursor *c) noexcept nogil:
    return <size_t> (c.end - c.pos)

cdef inline size_t cur_tell(Cursor *c) noexcept nogil:
    return <size_t> (c.pos - c.base)

cdef inline void cur_skip(Cursor *c, uint64_t size) noexcept nogil:
    if <uint64_t> (c.end - c.pos) < size:
        cur_fail(c, CUR_TRUNCATED)
    else:
        c.pos += size

cdef inline uint64_t cur_u8(Cursor *c) noexcept nogil:
    cdef uint8_t v
    if c.pos == c.end:
        return cur_fail(c, CUR_TRUNCATED)
    v = c.pos[0]
    c.pos += 1
    return v

cdef inline uint64_t cur_u16(Cursor *c) noexcept nogil:
    cdef uint16_t v
    if c.end - c.pos < 2:
        return cur_fail(c, CUR_TRUNCATED)
    memcpy(&v, c.pos, 2)
    c.pos += 2
    return bswap16(v) if c.swap else v

cdef inline uint64_t cur_u24(Cursor *c) noexcept nogil:
    # Only DW_FORM_strx3 and addrx3 have this size.
    cdef uint64_t v
    if c.end - c.pos < 3:
        return cur_fail(c, CUR_TRUNCATED)
    if c.swap != HOST_IS_BIG:
        v = (<uint64_t> c.pos[0] << 16) | (<uint64_t> c.pos[1] << 8) | c.pos[2]
    else:
        v = (<uint64_t> c.pos[2] << 16) | (<uint64_t> c.pos[1] << 8) | c.pos[0]
    c.pos += 3
    return v

cdef inline uint64_t cur_u32(Cursor *c) noexcept nogil:
    cdef uint32_t v
    if c.end - c.pos < 4:
        return cur_fail(c, CUR_TRUNCATED)
    memcpy(&v, c.pos, 4)
    c.pos += 4
    return bswap32(v) if c.swap else v

cdef inline uint64_t cur_u64(Cursor *c) noexcept nogil:
    cdef uint64_t v
    if c.end - c.pos < 8:
        return cur_fail(c, CUR_TRUNCATED)
    memcpy(&v, c.pos, 8)
    c.pos += 8
    return bswap64(v) if c.swap else v

cdef inline uint64_t cur_uleb_slow(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = c.pos
    cdef uint64_t v = 0
    cdef int shift = 0
    cdef uint8_t b
    while True:
        if p == c.end:
            return cur_fail(c, CUR_TRUNCATED)
        b = p[0]
        p += 1
        if shift < 64:
            v |= <uint64_t> (b & 0x7F) << shift
        shift += 7
        if not b & 0x80:
            break
        if shift > 126:     # padding beyond 64 bits is legal, endless padding is not
            return cur_fail(c, CUR_LEB)
    c.pos = p
    return v

cdef inline uint64_t cur_uleb(Cursor *c) noexcept nogil:
    cdef uint8_t b
    if c.pos != c.end:
        b = c.pos[0]
        if not b & 0x80:
            c.pos += 1
            return b
    return cur_uleb_slow(c)

cdef inline int64_t cur_sleb(Cursor *c) noexcept nogil:
    cdef const uint8_t *p = c.pos
    cdef uint64_t v = 0
    cdef int shift = 0
    cdef uint8_t b
    while True:
        if p == c.end:
            return <int64_t> cur_fail(c, CUR_TRUNCATED)
        b = p[0]
        p += 1
        if shift < 64:
            v |= <uint64_t> (b & 0x7F) << shift
        shift += 7
        if not b & 0x80:
            break
        if shift > 126:
            return <int64_t> cur_fail(c, CUR_LEB)
    if shift < 64 and b & 0x40:
        v |= ~<uint64_t> 0 << shift
    c.pos = p
    return <int64_t> v

cdef inline const char *cur_string(Cursor *c, size_t *size) noexcept nogil:
    # The NUL-terminated string at the position; `size` without the NUL. NULL if it does not end.
    cdef const uint8_t *start = c.pos
    cdef const void *nul
    cdef size_t left = cur_left(c)
    if left == 0:
        cur_fail(c, CUR_STRING)
        return NULL
    nul = memchr(start, 0, left)
    if nul == NULL:
        cur_fail(c, CUR_STRING)
        return NULL
    size[0] = <size_t> (<const uint8_t *> nul - start)
    c.pos = <const uint8_t *> nul + 1
    return <const char *> start
