# Which units must be kept whole (see certify.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.encoder cimport Encoder
from pybtf.core.memory cimport U32s, U64s

cdef struct Refs:               # the references of a class record
    uint32_t third              # 0 none
    const uint32_t *first       # `n` more, `step` words apart: name, class...
    uint32_t n, step

cdef struct Shape:              # a struct, union or typedef, to be sorted
    uint64_t shape              # hash of what chooses its chain of candidates
    uint64_t blind              # hash of its content without the elements of arrays
    uint32_t id

cdef enum:                      # marks of a class
    OCCURS = 1                  # some unit has a type of this class
    UNCERTAIN = 2
    DEPENDENT = 4               # uncertain in a way that depends on everything in reach
    REACHED = 8                 # in reach of a dependent one

cdef enum:                      # and of a key
    CONTESTED = 16              # it has several definitions, or is there twice in a unit
    TWICE = 32

cdef struct Analysis:           # arrays are indexed by class
    uint32_t n
    uint64_t *blind
    uint64_t *shape
    uint32_t *key               # of a class that has one and occurs
    uint32_t *full              # by key: classes that define it
    uint32_t *declared          # by key: classes that declare it
    uint32_t *first_member      # by key: the classes it may stand for, linked by `next_member`
    uint32_t *next_member
    uint32_t *visited
    uint32_t *depth             # structs, unions and prototypes on the longest way down to a name
    uint8_t *marks
    uint32_t stamp
    uint64_t seeds
    uint64_t effort             # steps that may still be taken
    bint tired                  # they did not suffice: every unit is kept whole
    uint8_t *kept               # by unit: to be kept whole, whatever its classes are
    U32s contested              # keys of structs and unions with several definitions
    U64s witnesses              # by name, `key << 32 | class`: see seclude.py
    U32s before
    U32s todo

cdef int certify(Encoder *e) noexcept nogil
cdef void refs_of(const uint32_t *r, Refs *out) noexcept nogil
cdef bint is_full(const uint32_t *r) noexcept nogil
cdef bint spend(Analysis *a, uint64_t steps) noexcept nogil
cdef void doubt(Analysis *a, uint32_t c, uint8_t mark) noexcept nogil
cdef int visit(Analysis *a, uint32_t c) noexcept nogil
cdef int push_targets(Encoder *e, Analysis *a, uint32_t c) noexcept nogil
