# From everything that was observed about functions to the list of those that are emitted (see function_merge.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.elf.function_table cimport FuncTable
from pybtf.core.functions.prototype_match cimport Matcher
from pybtf.core.model.function_state cimport State

cdef enum:                      # fate of a table entry
    FATE_UNSEEN = 0             # no state at all
    FATE_EMITTED = 1
    FATE_UNEXPECTED = 2         # a parameter arrives in another register than the convention says
    FATE_INCONSISTENT = 3       # units disagree about the prototype
    FATE_UNCERTAIN = 4          # a packed struct on the stack
    FATE_REORDERED = 5          # parameters were removed in front of others
    FATE_OPTIMIZED = 6          # the only code is a clone with optimised parameters
    FATE_AMBIGUOUS = 7          # several addresses for one name
    FATE_INVALID_NAME = 8       # kernels take no such name, and the encoding may degrade
    FATE_N = 9

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
    uint64_t counts[FATE_N]     # number of runs by FATE_*
    uint32_t entry              # where an error is

cdef enum:                      # options of combine_functions
    FN_CONSISTENT = 1           # feature consistent_func
    FN_TRUE_SIGNATURE = 2       # feature true_signature
    FN_PLAIN_NAMES = 4          # with `degrade`: names that kernels refuse are left out

cdef enum:                      # what `combine_functions` returns
    COMBINED = 0
    COMBINE_MEMORY = 1          # memory ran out
    COMBINE_EFFORT = 2          # comparing the prototypes of `Emission.entry` takes too long

cdef struct Site:               # an address at which an entry has symbols
    uint64_t value
    uint32_t suffixed           # the first symbol with a suffix there, or NO_SUFFIXED
    bint clone                  # some symbol there is a .constprop or .isra

cdef enum:
    NO_SUFFIXED = 0xFFFFFFFF

cdef struct Combiner:
    const State *states
    const FuncTable *table
    Emission *out
    Matcher matcher
    uint32_t *order             # states in sorted order
    uint8_t *flags              # S_*, in that order
    Site *sites                 # of the entry in work, by ascending value
    uint32_t n_sites
    uint32_t cap_sites
    int options

# Fills `out` (zeroed by the caller). Entries with equal names must be neighbours in the table (several input
# files).
cdef int combine_functions(
    const State *states, size_t n, const FuncTable *table, const ClassTable *classes, int options, Emission *out,
) noexcept nogil

cdef void emission_free(Emission *e) noexcept nogil
