# Text in the making. What does not fit leaves a status behind, which is asked for once, at the end.

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset, strlen

cdef enum:                      # Text.status
    TEXT_OK = 0
    TEXT_MEMORY = 1
    TEXT_LIMIT = 2              # longer than `limit`

cdef struct Text:
    char *p
    size_t n                    # bytes in use
    size_t cap                  # bytes allocated
    size_t done                 # bytes that have been taken out
    size_t limit                # what all of it may have
    int status

cdef bint text_grow(Text *t, size_t more) noexcept nogil
cdef void text_free(Text *t) noexcept nogil

cdef inline bint text_room(Text *t, size_t more) noexcept nogil:
    return t.cap - t.n >= more or text_grow(t, more)

cdef inline void put_bytes(Text *t, const char *s, size_t size) noexcept nogil:
    if size and text_room(t, size):  # nothing is nowhere, before there is any text
        memcpy(t.p + t.n, s, size)
        t.n += size

cdef inline void put(Text *t, const char *s) noexcept nogil:
    put_bytes(t, s, strlen(s))

cdef inline void put_char(Text *t, char c) noexcept nogil:
    if text_room(t, 1):
        t.p[t.n] = c
        t.n += 1

cdef inline void put_many(Text *t, char c, size_t count) noexcept nogil:
    if text_room(t, count):
        memset(t.p + t.n, c, count)
        t.n += count

cdef inline void put_unsigned(Text *t, uint64_t value) noexcept nogil:
    cdef char digits[20]
    cdef int at = 20
    while True:
        at -= 1
        digits[at] = <char> (c'0' + value % 10)
        value //= 10
        if value == 0:
            break
    put_bytes(t, digits + at, 20 - at)

cdef inline void put_signed(Text *t, int64_t value) noexcept nogil:
    if value < 0:
        put_char(t, c'-')
        put_unsigned(t, ~<uint64_t> value + 1)
    else:
        put_unsigned(t, <uint64_t> value)
