# The phases of de-duplication, in the order in which they run (see phases.py). Each returns a DEDUP_* status.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dedup.candidates cimport Candidates
from pybtf.core.dedup.type_graph cimport TypeGraph
from pybtf.core.support.memory cimport U32s

cdef struct Work:
    TypeGraph g
    U32s primitives             # own types of each phase, in order
    U32s composites             # structs, unions and typedefs
    U32s references             # the rest
    Candidates table            # libbpf's table: all kinds
    Candidates enums            # non-empty enums by all their words
    Candidates mixed            # names of enums for which the chain of the name must be walked
    U32s structs                # canonical own structs and unions (or those of the base that is entered)
    bint distinct               # of a base that is entered, see `BaseTypes`
    U32s forwards               # own declarations that were canonical among the primitives

cdef struct Pending:            # a type that waits, from reference `next` on, for one it refers to
    uint32_t id
    uint32_t next

cdef struct Waiting:            # a stack of them
    Pending *p
    size_t n, cap

cdef int enter_base(Work *w) noexcept nogil
cdef int enter_types(Work *w, const size_t *offs) noexcept nogil
cdef int enter_names(Work *w, Candidates *names) noexcept nogil
# Looks up a type of which all words are final, `hash` being theirs: `found` is its equal, or itself, entered as
# canonical.
cdef int find_or_insert(Work *w, uint32_t id, uint32_t *r, uint64_t hash, uint32_t *found) noexcept nogil
cdef int dedup_primitives(Work *w) noexcept nogil
cdef int dedup_structs(Work *w, const uint32_t *resolved, size_t n_resolved) noexcept nogil     # see DedupInput
cdef int resolve_forwards(Work *w) noexcept nogil
cdef void restore_base(TypeGraph *g, uint32_t *map) noexcept nogil
cdef void flatten(TypeGraph *g, uint32_t *map) noexcept nogil
cdef void rewrite_survivors(TypeGraph *g, uint32_t *map) noexcept nogil
