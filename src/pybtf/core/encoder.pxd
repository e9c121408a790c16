# The one writer of the type list (see encoder.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.functable cimport FuncTable
from pybtf.core.functions cimport Emission
from pybtf.core.memory cimport U32s, U64s
from pybtf.core.observations cimport State
from pybtf.core.records cimport ClassTable
from pybtf.core.strings cimport Strings
from pybtf.core.translate cimport KnownStrings
from pybtf.core.value cimport N_COUNTS, UnitValue

cdef enum:                      # Encoder.error
    ENCODE_MEMORY = 1
    ENCODE_TOO_MANY = 2         # types, strings or bytes beyond 32 bits
    ENCODE_ARENA = 3            # arena flag on what is no pointer; `error_entry` is the function
    ENCODE_SECTION = 4          # more variables in a section than a DATASEC can count

cdef struct SectionEntry:
    uint32_t section
    uint32_t type               # id of the VAR
    uint32_t offset
    uint32_t size

cdef struct Encoder:
    Strings *strings
    const ClassTable *classes
    const FuncTable *table
    KnownStrings known
    int options                 # OPT_* of worker.pxd
    U32s words                  # all records, BTF wire layout; names are string ids, references type ids
    U64s offs                   # offs[id]; offs.n is the next id
    uint32_t index_type         # of arrays, 0 not fixed yet
    U32s string_at              # offset in the output by string id, 0 not written yet
    U32s string_order           # string ids in order of first insertion
    uint64_t string_size
    State *states
    size_t n_states, cap_states
    U32s locals                 # type ids
    U32s anns
    SectionEntry *entries
    uint32_t n_entries, cap_entries
    uint32_t units, filtered
    uint32_t functions
    uint64_t counts[N_COUNTS]
    Emission emission
    int error
    uint32_t error_entry

cdef int encoder_init(Encoder *e) noexcept nogil
cdef void encoder_free(Encoder *e) noexcept nogil
cdef int encode_unit(Encoder *e, UnitValue *v) noexcept nogil
cdef int encode_functions(Encoder *e) noexcept nogil
cdef int encode_sections(Encoder *e, const uint32_t *names, uint32_t n_names) noexcept nogil
cdef uint32_t encoder_string(Encoder *e, uint32_t sid) noexcept nogil
