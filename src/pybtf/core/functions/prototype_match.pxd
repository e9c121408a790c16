# Whether two prototypes match (see prototype_match.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.support.memory cimport U64s

cdef enum:                      # whether two types match
    MATCH_NO = 0
    MATCH_YES = 1
    MATCH_MEMORY = -1           # memory ran out
    MATCH_EFFORT = -2           # it takes too long to find out

cdef struct Matcher:            # one parallel walk of two types at a time
    const ClassTable *classes
    U64s todo                   # pairs still to be compared: first type << 32 | second
    uint64_t *seen              # hash table of pairs that were met, 0 empty
    size_t size                 # slots, a power of two or 0
    size_t used
    uint64_t steps              # how many pairs may still be compared

cdef void matcher_init(Matcher *m, const ClassTable *classes) noexcept nogil
cdef void matcher_free(Matcher *m) noexcept nogil

# Whether two prototypes, or any two types, match: MATCH_*.
cdef int matcher_compare(Matcher *m, uint32_t a, uint32_t b) noexcept nogil

# The same, for once.
cdef int types_match(const ClassTable *classes, uint32_t a, uint32_t b) noexcept nogil
