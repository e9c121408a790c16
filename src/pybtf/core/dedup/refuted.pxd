# Pairs of types that are known to differ, so that they are not compared again (see refuted.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dedup.type_graph cimport Refuted, TypeGraph
from pybtf.core.support.check cimport CHECKED

cdef enum:
    PATIENCE_BASE = 65536       # steps of comparisons that fail before pairs are noted
    PATIENCE_PER_TYPE = 16      # kernels take two at most
    PAIRS_BASE = 65536          # pairs that are remembered at a time, and as many more as there are types
    STRIKES = 64                # groups with a name twice, after which it is given up

cdef inline uint64_t usual_patience(uint64_t n) noexcept nogil:
    # For a list of `n` types.
    return 0 if CHECKED else PATIENCE_BASE + PATIENCE_PER_TYPE * n

# Whether `x` is known to differ from the canonical type `y`. To be believed only where `Refuted.on` is set.
cdef bint is_refuted(const TypeGraph *g, uint32_t x, uint32_t y) noexcept nogil
# Asks for what `is_refuted` and a comparison with `y` will need: candidates of a type lie far from each other.
cdef void refuted_fetch(const TypeGraph *g, uint32_t x, uint32_t y) noexcept nogil
# Before the comparisons of candidate `x`: whether pairs may be noted and believed. A DEDUP_* status.
cdef int refuted_begin(TypeGraph *g, uint32_t x) noexcept nogil
# After a comparison that failed, with its hypothesis. A DEDUP_* status.
cdef int refuted_note(TypeGraph *g) noexcept nogil
# What types are mapped to has changed.
cdef void refuted_forget(TypeGraph *g) noexcept nogil
cdef void refuted_free(Refuted *r) noexcept nogil
