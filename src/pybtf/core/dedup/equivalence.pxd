# Equality of records, and equivalence of the graphs behind them (see equivalence.py).

from libc.stdint cimport uint32_t
from pybtf.core.btf.kinds cimport *
from pybtf.core.btf.record_layout cimport wire_kind, wire_vlen
from pybtf.core.dedup.type_graph cimport PendingPairs, TypeGraph

cdef enum:                      # answers of `equivalent` and `identical`; below 0: minus a DEDUP_* status
    EQ_NO = 0
    EQ_YES = 1
    EQ_ONWARDS = 2              # of a pair within a comparison: as the pair that has taken its place
    IDENTICAL_DEPTH = 16        # structs and prototypes that `identical` looks into (Q21)

cdef struct Comparison:         # a walk through two graphs in parallel
    uint32_t x, y               # the pair in hand
    uint32_t parent             # as in `Refuted.parents`, of that pair
    PendingPairs now            # the rest of the innermost record; `TypeGraph.frames` has those around it
    size_t depth                # how many these are
    bint refuted                # checking builds: a pair was known to differ, so that the answer must be no

cdef inline bint equal_three(const uint32_t *a, const uint32_t *b) noexcept nogil:
    return a[1] == b[1] and a[2] == b[2] and a[0] == b[0]

cdef inline bint equal_words(const uint32_t *a, const uint32_t *b, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True

cdef inline bint equal_members(const uint32_t *a, const uint32_t *b) noexcept nogil:
    # "Shallow equality" of two structs or unions: everything but the types of the members.
    cdef const uint32_t *end = a + 3 + 3 * <size_t> wire_vlen(a)
    if not equal_three(a, b):
        return False
    a += 3
    b += 3
    while a < end:
        if a[0] != b[0] or a[2] != b[2]:
            return False
        a += 3
        b += 3
    return True

cdef inline bint is_enum(uint32_t kind) noexcept nogil:
    return kind == KIND_ENUM or kind == KIND_ENUM64

cdef inline bint equal_enums(const uint32_t *a, const uint32_t *b) noexcept nogil:
    if not equal_three(a, b):
        return False
    return equal_words(a + 3, b + 3, (3 if wire_kind(a) == KIND_ENUM64 else 2) * <size_t> wire_vlen(a))

cdef inline bint compatible_enums(const uint32_t *a, const uint32_t *b) noexcept nogil:
    # An enum without enumerators is a declaration: it goes with any enum of its name, whatever its size or
    # kind.
    if wire_vlen(a) and wire_vlen(b):
        return equal_enums(a, b)
    return a[0] == b[0] and is_enum(wire_kind(a)) and is_enum(wire_kind(b))

cdef int equivalent(TypeGraph *g, uint32_t x, uint32_t y) noexcept nogil
cdef bint apply_hypothesis(TypeGraph *g) noexcept nogil
cdef void drop_hypothesis(TypeGraph *g) noexcept nogil
