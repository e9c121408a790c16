# From the offset of a DIE to the index of what it became (see die_index.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.model.dwarf_unit cimport NO_INDEX, OffsetMap, OffsetTable, Places
from pybtf.core.support.hashing cimport SALT, SALT2, fold

cdef enum:
    NEAR = 63                   # a slot tells so many indices, from that of its block on

# Empties a map and makes room for `n` entries. Nonzero: no memory.
cdef int map_reset(OffsetMap *m, uint32_t n) noexcept nogil
# Empties a table and makes it one for the unit from offset `start` to `end`, with `n` entries at most. Nonzero: no
# memory.
cdef int types_reset(OffsetTable *t, uint64_t start, uint64_t end, uint32_t n) noexcept nogil
# Give back the memory of a map and of a table; both can be used again after a reset.
cdef void map_free(OffsetMap *m) noexcept nogil
cdef void types_free(OffsetTable *t) noexcept nogil
# An entry that has no slot. Nonzero: no memory.
cdef int others_put(OffsetTable *t, uint32_t offset, uint32_t index) noexcept nogil

cdef inline uint32_t slot_of(const OffsetMap *m, uint32_t offset) noexcept nogil:
    # Where to look for an offset first. Blocks of 256 bytes are scattered; within one, neighbours stay neighbours. One
    # product would put blocks at equal distances, and with some salts on top of each other.
    return (<uint32_t> fold(fold((offset >> 8) ^ SALT, SALT2), SALT) + ((offset >> 2) & 63)) & m.mask

# What `types_get` returns for an offset that has no slot.
cdef uint32_t others_get(const OffsetTable *t, uint32_t offset) noexcept nogil

cdef inline void map_put(OffsetMap *m, uint32_t offset, uint32_t index) noexcept nogil:
    cdef uint32_t at = slot_of(m, offset)
    while m.slots[2 * at + 1] and m.slots[2 * at] != offset:
        at = (at + 1) & m.mask
    m.slots[2 * at] = offset
    m.slots[2 * at + 1] = index + 1

cdef inline uint32_t map_get(const OffsetMap *m, uint32_t offset) noexcept nogil:
    # The index of an offset, or NO_INDEX.
    cdef uint32_t at = slot_of(m, offset)
    while m.slots[2 * at + 1]:
        if m.slots[2 * at] == offset:
            return m.slots[2 * at + 1] - 1
        at = (at + 1) & m.mask
    return NO_INDEX

cdef inline int types_put(OffsetTable *t, Places at, uint32_t offset, uint32_t index) noexcept nogil:
    # `at`: the places of `t`, which a loop keeps at hand; `index` is not 0. The last entry of an offset wins. Nonzero:
    # no memory.
    cdef uint64_t distance = offset - at.start
    cdef uint8_t *slot
    cdef uint32_t *block
    if distance < at.span:
        slot = at.slots + (distance >> 2)
        block = at.blocks + (distance >> 8)
        if block[0] == 0:
            block[0] = index
        if slot[0] == 0 or (slot[0] & 3) == (distance & 3):
            if index - block[0] < NEAR:
                slot[0] = <uint8_t> ((index - block[0] + 1) << 2 | (distance & 3))
                return 0
            slot[0] = 0
    return others_put(t, offset, index)

cdef inline uint32_t types_get(const OffsetTable *t, Places at, uint32_t offset) noexcept nogil:
    # The index of an offset, or 0 if it has none; `at` as above. The offsets 0 and NO_INDEX never have one.
    cdef uint64_t distance = offset - at.start
    cdef uint32_t slot
    if distance < at.span:
        slot = at.slots[distance >> 2]
        if slot and (slot & 3) == (distance & 3):
            return at.blocks[distance >> 8] + (slot >> 2) - 1
    return others_get(t, offset) if t.n_others else 0
