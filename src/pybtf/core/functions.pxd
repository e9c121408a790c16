# From everything that was observed about functions to the list of those that are emitted (see functions.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.functable cimport FuncTable
from pybtf.core.observations cimport State
from pybtf.core.records cimport ClassTable

cdef enum:                      # fate of a table entry
    FATE_UNSEEN = 0             # no state at all
    FATE_EMITTED = 1
    FATE_UNEXPECTED = 2         # a parameter arrives in another register than the convention says
    FATE_INCONSISTENT = 3       # units disagree about the prototype
    FATE_UNCERTAIN = 4          # a packed struct on the stack
    FATE_REORDERED = 5          # parameters were removed in front of others
    FATE_OPTIMIZED = 6          # the only code is a clone with optimised parameters
    FATE_AMBIGUOUS = 7          # several addresses for one name
    FATE_N = 8

cdef struct Emitted:
    uint32_t entry              # in the function table
    uint32_t state              # index of the state whose prototype and annotations are used
    const char *name            # not necessarily NUL-terminated
    uint32_t name_len
    bint full_symbol_name       # `name` is that of a symbol, not the base name
    bint kfunc                  # gets the kfunc tags (if these are enabled)
    uint32_t kfunc_flags

cdef struct Emission:
    Emitted *p                  # in order of emission
    size_t n
    size_t cap
    uint8_t *fate               # FATE_* of each table entry; the best, if it had several runs
    uint64_t counts[8]          # number of runs by FATE_*

cdef enum:                      # options of combine_functions
    FN_CONSISTENT = 1           # feature consistent_func
    FN_TRUE_SIGNATURE = 2       # feature true_signature

# Fills `out` (zeroed by the caller). Entries with equal names must be neighbours in the table (several input
# files). Returns 0 if memory ran out.
cdef bint combine_functions(
    const State *states, size_t n, const FuncTable *table, const ClassTable *classes, int options, Emission *out,
) noexcept nogil

cdef void emission_free(Emission *e) noexcept nogil

# Whether two prototypes, or any two types, match: 1, 0, or -1 if memory ran out.
cdef int types_match(const ClassTable *classes, uint32_t a, uint32_t b) noexcept nogil
