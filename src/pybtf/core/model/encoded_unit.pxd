# What a worker hands to the encoder for one logical unit: plain words, no pointers into the worker.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.model.faults cimport Fault
from pybtf.core.model.function_state cimport State
from pybtf.core.model.traces cimport Traces
from pybtf.core.model.losses cimport Losses
from pybtf.core.support.memory cimport U32s, grow, u32s_push

cdef enum:                      # UnitValue.counts
    COUNT_FUNCTIONS = 0         # DW_TAG_subprogram that are not declarations
    COUNT_REMEMBERED
    COUNT_NO_SYMBOL             # no ELF function of that name
    COUNT_UNNAMED_PARAMETER
    COUNT_NAMELESS
    COUNT_VARIABLES             # candidates: top level, with an address
    COUNT_VAR_KEPT
    COUNT_VAR_SECTION           # not in a section that is included
    COUNT_VAR_NAMELESS
    COUNT_VAR_PREFIX
    COUNT_VAR_NO_SYMBOL
    COUNT_VAR_INVALID_NAME
    COUNT_VAR_VOID
    COUNT_VAR_SIZE
    COUNT_SKIPPED_TAGS
    COUNT_VAR_DECLARATION       # at the top level, and never defined there
    COUNT_VAR_NO_ADDRESS
    COUNT_PARTIAL               # partial units, of which nothing is encoded by itself
    COUNT_SIGNATURES_LOST       # references by signature to types that are not there
    COUNT_TAGS_CUT              # units of which only a part is encoded
    COUNT_ALTERNATE_LOST        # references into units of the alternate file that are not decoded
    COUNT_DAMAGED               # units that an encoding that degrades has left out
    COUNT_LEFT_OUT              # the same, of units that are one with others
    N_COUNTS

cdef struct VarRecord:
    uint32_t name
    uint32_t type               # small id
    uint32_t linkage            # 0 static, 1 global
    uint32_t section
    uint32_t offset             # in the section
    uint32_t size
    uint32_t anns               # index into `anns`
    uint32_t n_anns

cdef struct UnitValue:
    uint32_t number             # in order of .debug_info, through all files
    bint filtered               # left out by its language
    bint ready                  # in the ring: to be encoded
    Fault fault
    uint32_t name               # string id of the unit's name
    uint64_t offset             # of the unit in .debug_info
    uint32_t n_types            # small ids 1 .. n_types - 1
    U32s words                  # their records, laid out as in BTF; references are small ids, names are name words
    U32s offs                   # offs[id]: first word of record `id`; offs[n_types]: end
    U32s classes                # classes[id]
    uint32_t int_id             # the first base type "int", 0 none
    uint32_t n_arrays           # types that need the index type
    U32s twice                  # keys of structs and unions that the unit has more than once
    bint irregular              # a KIND_CYCLE class was needed
    U32s tags                   # declaration tags of types: (value, small id, component)
    State *states               # what it observed about functions
    uint32_t n_states, cap_states
    U32s locals                 # of each state: small ids of the return type and of the parameters
    U32s anns                   # (value, component) of functions and variables
    VarRecord *vars
    uint32_t n_vars, cap_vars
    uint64_t counts[N_COUNTS]
    Losses losses
    bint tracing                # fill `traces`
    Traces traces
    bint track_dies             # fill `dies`
    U32s dies                   # of small id `id`, at 2 * id: its DIE, and whether that only declares it
    bint tags_cut               # an empty declaration tag: the rest of the unit is not encoded

cdef inline State *next_state(UnitValue *v, uint64_t address, uint32_t entry) noexcept nogil:
    # The place of the next state, whose prototype begins at the end of `locals`. It counts from `keep_state` on. NULL: no
    # memory.
    cdef State *s
    if not grow(v.states, v.cap_states, v.n_states + 1):
        return NULL
    s = &v.states[v.n_states]
    s.address = address
    s.entry = entry
    s.unit = v.number
    s.locals = <uint32_t> v.locals.n
    return s

cdef inline bint add_annotation(UnitValue *v, uint32_t value, uint32_t component) noexcept nogil:
    # To `anns`. False: no memory.
    return u32s_push(&v.anns, value) and u32s_push(&v.anns, component)

cdef inline void keep_state(UnitValue *v) noexcept nogil:
    v.n_states += 1
    v.counts[COUNT_REMEMBERED] += 1
