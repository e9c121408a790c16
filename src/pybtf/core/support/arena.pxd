# What the shared tables (string_table.py, class_table.py, met_table.py) are made of: memory that never moves, and
# buckets.
#
# A table has as many buckets as a kernel of this size needs. Input that was written to be slow may have a hundred times
# as many entries, so a table that is crowded gets more buckets. Other threads go through it meanwhile. An entry is
# linked to older ones only, before and after, so they come to an end, and may miss what is there: whoever adds takes
# the lock and looks again. The new buckets are published before the new mask, and read after it, so that no index is
# beyond them; the old ones stay as long as the table.
#
# Other threads read an entry while new ones are added, so an entry stays where it is until the whole table goes.

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from pybtf.core.support.hugepages cimport large_zeroed
from pybtf.core.support.memory cimport grow

cdef enum:
    ARENA_BLOCK = 262144        # bytes that are asked for at one time

cdef struct Arena:              # zeroed: empty
    uint8_t *next               # room in the newest block
    size_t left
    uint8_t **blocks
    uint32_t n_blocks, cap_blocks

cdef inline void *arena_take(Arena *a, size_t size) noexcept nogil:
    # `size` bytes, or NULL: there is no memory. Aligned like all that was taken before is.
    cdef size_t block = size if size > ARENA_BLOCK else ARENA_BLOCK
    cdef uint8_t *p
    if size > a.left:
        if not grow(a.blocks, a.cap_blocks, a.n_blocks + 1):
            return NULL
        p = <uint8_t *> malloc(block)
        if p == NULL:
            return NULL
        a.blocks[a.n_blocks] = p
        a.n_blocks += 1
        a.next = p
        a.left = block
    p = a.next
    a.next += size
    a.left -= size
    return p

cdef inline void arena_free(Arena *a) noexcept nogil:
    cdef uint32_t i
    for i in range(a.n_blocks):
        free(a.blocks[i])
    free(a.blocks)
    a.blocks = NULL
    a.n_blocks = a.cap_blocks = 0
    a.left = 0

cdef enum:
    CROWD = 8                   # entries for each bucket that are too many
    TIMES_MORE = 4              # buckets there are then
    MOST_BUCKETS = 1 << 28
    MOST_OUTGROWN = 9           # from 1024 to so many

cdef struct Outgrown:           # buckets that were replaced
    void *p[MOST_OUTGROWN]
    uint32_t n

cdef inline bint is_crowded(uint32_t n, uint32_t mask) noexcept nogil:
    # Whether `n` entries are too many for the buckets.
    return n // CROWD > mask and mask < MOST_BUCKETS // TIMES_MORE

cdef inline void outgrow(Outgrown *o, void *p) noexcept nogil:
    o.p[o.n] = p
    o.n += 1

cdef inline void outgrown_free(Outgrown *o) noexcept nogil:
    while o.n:
        o.n -= 1
        free(o.p[o.n])

cdef inline uint32_t bucket_count(size_t expected) noexcept nogil:
    # How many buckets, a power of two, a table for about `expected` entries has.
    cdef uint32_t n = 1024
    while n < expected and n < (1 << 21):
        n *= 2
    return n

cdef inline void *buckets_new(uint32_t n, size_t size) noexcept nogil:
    # Empty buckets of `size` bytes, or NULL. They are visited all over the place.
    return large_zeroed(n * size)
