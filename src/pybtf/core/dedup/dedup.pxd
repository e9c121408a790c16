# De-duplication of a list of types: the C interface (see dedup.py for the algorithm).

from libc.stdint cimport uint32_t
from pybtf.core.dedup.type_graph cimport *

cdef struct DedupInput:
    uint32_t *words             # all type records, host byte order; the name word is an opaque identity (0: empty)
    size_t *offs                # offs[id]: index of the first word of record `id`, 1 .. n-1; offs[0] is not used
    uint32_t n                  # number of ids including void, at most 2^31 - 1
    uint32_t first_own          # 1 without a base, else the number of ids of the base including void
    const BaseTypes *base       # NULL without a base
    const uint32_t *resolved    # declarations, 3 words each: its id; its definition, to which no earlier type is equal;
                                # the id before whose comparison it is resolved at the latest. In the order of the last
    size_t n_resolved           # words of these
    uint64_t patience           # steps of comparisons that fail before pairs are noted, see refuted.py; 2^64 - 1: never
    bint likes                  # of a base: what a comparison has passed through need not be looked up
    Room *room                  # with a base: what `words` and `offs` are part of; its `nodes` and `map` hold `n`

cdef struct DedupError:
    int code                    # DEDUP_*
    uint32_t id                 # the offending type, 0 if none

# Fills map[0 .. n-1] (the caller's array, `room.map` with a base): map[id] is the type that replaces `id`, and
# map[map[id]] == map[id]. Every surviving own record (map[id] == id) has its references rewritten to surviving ids;
# records that do not survive are left in any state. Records of the base are never written to, but map[base id] may name
# an own type that replaces a declaration of the base. References must be below `n` and records complete: see
# `wire_check_refs`. Returns error.code.
cdef int dedup_run(DedupInput *input, uint32_t *map, DedupError *error) noexcept nogil
