# The graph of types the de-duplication works on, and its two tables: `map` and the candidate chains.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    ctypedef unsigned long long u128 "unsigned __int128"

cdef enum:                      # results of the phases (DedupError.code)
    DEDUP_OK = 0
    DEDUP_MEMORY = 1
    DEDUP_CYCLE = 2             # a cycle made of reference types only
    DEDUP_KIND = 3              # a kind that cannot be compared was reached from a struct or typedef, or does not exist
    DEDUP_REFERENCE = 4         # a reference to a type that does not exist
    DEDUP_EFFORT = 5            # the comparisons exceed what any real input needs

cdef enum:
    UNMAPPED = 0xFFFFFFFF       # in `map`: not decided yet; in `hypothesis`: nothing assumed
    IN_PROGRESS = 0xFFFFFFFE    # in `map`: on the stack of the reference phase

cdef enum:                      # steps of comparison allowed: far more than real lists take, little enough to end soon
    EFFORT_BASE = 1073741824
    EFFORT_PER_TYPE = 4096

cdef struct Frame:              # the rest of the reference pairs of two records under comparison
    const uint32_t *px          # next reference of the candidate
    const uint32_t *py          # next reference of the canonical type
    uint32_t left
    int stride

cdef struct TypeGraph:
    uint32_t *words
    const size_t *offs
    uint32_t *map               # `map[id]`: what `id` is replaced by, itself if canonical, or UNMAPPED
    uint32_t n
    uint32_t first_own
    uint32_t *hypothesis        # canonical id -> candidate id assumed equivalent, or UNMAPPED
    uint32_t *touched           # ids with a hypothesis, in the order they were made
    uint32_t n_touched
    uint32_t cap_touched
    Frame *frames
    size_t cap_frames
    bint adjusts_base
    uint64_t effort             # steps that may still be taken
    uint32_t bad                # offending id of a failure

cdef inline uint32_t *record_of(const TypeGraph *g, uint32_t id) noexcept nogil:
    return g.words + g.offs[id]

cdef inline uint32_t resolve(const TypeGraph *g, uint32_t id) noexcept nogil:
    # Chains are short: what a type is mapped to is canonical, or becomes so by at most two more steps.
    cdef uint32_t m = g.map[id]
    while m != UNMAPPED and m != id:
        id = m
        m = g.map[id]
    return id

cdef inline uint64_t fold(uint64_t a, uint64_t b) noexcept nogil:
    cdef u128 m = <u128> a * b
    return <uint64_t> m ^ <uint64_t> (m >> 64)

cdef inline uint64_t hash_three(const uint32_t *r) noexcept nogil:
    # The common words of a record.
    return fold((<uint64_t> r[0] << 32 | r[1]) ^ <uint64_t> 0xA0761D6478BD642F,
                r[2] ^ <uint64_t> 0xE7037ED1A0B428DB)

cdef inline uint64_t hash_more(uint64_t h, uint32_t a, uint32_t b) noexcept nogil:
    return fold(h ^ (<uint64_t> a << 32 | b), <uint64_t> 0x8EBC6AF09C88C6E3)
