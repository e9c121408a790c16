# The graph of types the de-duplication works on.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.dedup.candidates cimport Candidates
from pybtf.core.support.hashing cimport SALT, SALT2, fold
from pybtf.core.support.memory cimport U32s, U64s, u32s_push

cdef enum:                      # results of the phases (DedupError.code)
    DEDUP_OK = 0
    DEDUP_MEMORY = 1
    DEDUP_CYCLE = 2             # a cycle made of reference types only
    DEDUP_KIND = 3              # a kind that cannot be compared was reached from a struct or typedef, or does not exist
    DEDUP_LARGE = 4             # more than 2^31 - 1 types or 2^32 words
    DEDUP_EFFORT = 5            # the comparisons exceed what any real input needs
    N_DEDUP

cdef enum:
    UNMAPPED = 0xFFFFFFFF       # in the map of reference types: not decided yet; as a hypothesis: none
    IN_PROGRESS = 0xFFFFFFFE    # ... : on its stack
    FINAL = 0x80000000          # in Node.map: what the type is mapped to will never be mapped to something else
    ID_MASK = 0x7FFFFFFF

# What the comparison needs of a type, together: the canonical types it meets are scattered over all of
# memory, and the time of the comparison is the time of fetching them.
cdef struct Node:
    uint32_t map                # 0: not decided; else the id it is replaced by (itself if canonical), perhaps | FINAL
    uint32_t hypothesis         # the candidate it is assumed to be equivalent to, or UNMAPPED
    uint32_t offset             # of its record in `words`
    uint32_t info               # info word of its record

cdef enum:                      # steps of comparison allowed: far more than real lists take, little enough to end soon
    EFFORT_BASE = 134217728     # some seconds
    EFFORT_PER_TYPE = 1024      # kernels take 30 at most
    EFFORT_PER_MEMBER = 2048    # of a struct, in addition: tools/bench/worst_cases.py takes more than types alone allow

cdef struct PendingPairs:       # the rest of the pairs of references of two records under comparison
    const uint32_t *px          # next reference of the candidate
    const uint32_t *py          # next reference of the canonical type
    uint32_t left
    int stride
    uint32_t parent             # as in `Refuted.parents`, of these pairs

cdef struct Stamped:            # a number that is in a set as long as the stamp of the set does not change
    uint64_t key
    uint64_t stamp

cdef struct StampedSet:
    Stamped *slots
    size_t mask
    size_t used
    uint64_t stamp

cdef struct Refuted:            # pairs of types that are known to differ (see refuted.py)
    bint on                     # they are noted for the candidate at hand, and believed
    uint64_t patience           # steps of comparisons that failed before that is begun
    uint32_t *group_of          # by type: the last group it was put in; NULL as long as nothing was begun
    uint32_t group              # the group at hand
    bint ambiguous              # which has a name twice
    uint32_t strikes            # how many more of these there may be
    StampedSet names            # of the group at hand
    StampedSet pairs
    U32s parents                # of each hypothesis: where it is from, its place in `TypeGraph.touched` plus 1; 0: the root
    U32s todo
    uint32_t failed             # the hypothesis by which the last comparison failed, likewise; 0 it is not to be believed

# All tables of the types of a base that do not depend on what is built on it (see base.py). Once made, they are only
# read, by any number of runs at a time. The types themselves are in the room of each run.
cdef struct BaseTypes:
    uint32_t n                  # ids, void included
    Candidates table            # as in `Work` of phases.pxd
    Candidates enums
    Candidates mixed
    Candidates names            # the first struct or union of each name
    uint8_t *several            # several[id]: there are others of the name of `id`
    bint distinct               # no two types that are not compared by what they reach have the same words

# Where a run on a base works: the base in front, what is built on it behind, in one index space. The part of the base
# is the same in each; a run gives the room back as it was, so that the next need not copy it again.
cdef struct Room:
    U32s words
    U64s offs
    Node *nodes
    uint32_t *map
    size_t cap                  # elements of `nodes` and `map`
    bint changed                # entries of the base in `nodes` or `map` are not what they were

cdef struct TypeGraph:
    uint32_t *words
    Node *nodes
    uint32_t n
    uint32_t first_own
    const BaseTypes *base       # has the types below `first_own`; NULL without one
    U32s touched                # ids with a hypothesis, in the order they were made
    PendingPairs *frames
    size_t cap_frames
    uint32_t *likes             # likes[id - first_own]: a type of the base that a comparison found equivalent, or 0;
                                # NULL without a base
    bint likeless               # they are not used
    bint adjusts_base           # the hypothesis takes a declaration of the base for an own definition
    U32s replaced               # types of the base that stand for others now
    bint base_changed           # not all of these are in `replaced`, for lack of memory
    Refuted refuted
    uint64_t effort             # steps that may still be taken
    uint32_t bad                # offending id of a failure

cdef inline void note_replaced(TypeGraph *g, uint32_t id) noexcept nogil:
    if id < g.first_own and not u32s_push(&g.replaced, id):
        g.base_changed = True

cdef inline uint32_t like_of(const TypeGraph *g, uint32_t id) noexcept nogil:
    # The type of the base that a comparison found equivalent to an own reference type, if it can be the only one of its
    # words; else 0.
    if g.base == NULL or not g.base.distinct or g.likeless:
        return 0
    return g.likes[id - g.first_own]

cdef inline uint32_t *record_of(const TypeGraph *g, uint32_t id) noexcept nogil:
    return g.words + g.nodes[id].offset

cdef inline uint32_t kind_of(const Node *nodes, uint32_t id) noexcept nogil:
    return (nodes[id].info >> 24) & 31

cdef inline uint32_t resolve_chain(TypeGraph *g, uint32_t id) noexcept nogil:
    # Only enums and forward declarations can be mapped to something that is not final, and then the chain is
    # short.
    cdef uint32_t at = id
    cdef uint32_t m = g.nodes[id].map
    while not m & FINAL:
        if m == 0 or m == at:
            return at
        at = m
        m = g.nodes[at].map
    g.nodes[id].map = m
    return m & ID_MASK

cdef inline uint32_t resolve(TypeGraph *g, uint32_t id) noexcept nogil:
    cdef uint32_t m = g.nodes[id].map
    if m & FINAL:
        return m & ID_MASK
    if m == 0 or m == id:
        return id
    return resolve_chain(g, id)

cdef inline bint surely_same(const Node *nodes, uint32_t x, uint32_t y) noexcept nogil:
    # Whether two types are known to resolve to one, without following anything.
    return nodes[x].map == nodes[y].map and nodes[x].map & FINAL

cdef inline uint64_t hash_three(const uint32_t *r) noexcept nogil:
    # The common words of a record.
    return fold((<uint64_t> r[0] << 32 | r[1]) ^ SALT, r[2] ^ SALT2)

cdef inline uint64_t hash_more(uint64_t h, uint32_t a, uint32_t b) noexcept nogil:
    return fold(h ^ (<uint64_t> a << 32 | b), SALT2)
