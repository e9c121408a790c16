# The one writer of the type list (see encoder.py): while units come (append_unit.py), when what must be kept of them is
# found out (certify.py), and while the list is made (assemble.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.elf.function_table cimport FuncTable
from pybtf.core.encode.translate cimport KnownStrings
from pybtf.core.functions.function_merge cimport Emission
from pybtf.core.model.encoded_unit cimport N_COUNTS
from pybtf.core.model.function_state cimport State
from pybtf.core.model.traces cimport Traces
from pybtf.core.strings.base_strings cimport BaseStrings
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.hashing cimport SALT2, fold
from pybtf.core.support.memory cimport U32s, U64s

cdef enum:                      # Encoder.error
    ENCODE_MEMORY = 1
    ENCODE_TOO_MANY = 2         # types, strings or bytes beyond 32 bits
    ENCODE_ARENA = 3            # arena flag on what is not a pointer; `error_entry` is the function
    ENCODE_SECTION = 4          # more variables in a section than a DATASEC can count
    ENCODE_EFFORT = 5           # comparing the prototypes of function `error_entry` takes too long
    ENCODE_CHANGED = 6          # a unit that is decoded once more is not what it was
    ENCODE_BUG = 7              # no type stands for those of a class: class `error_entry`
    N_ENCODE_ERRORS             # and 0, none

cdef enum:
    MAX_TYPES = 0x7FFFFFFF      # of the list: ids are of 31 bits

cdef enum:
    NO_UNIT = 0xFFFFFFFF

cdef enum:                      # Encoder.combined
    NOT_COMBINED = -1

cdef enum:                      # in an entry of the class list
    APART = 0x80000000          # the type is kept, and stands for no other
    CLASS_BITS = 0x7FFFFFFF

cdef struct SectionEntry:
    uint32_t section
    uint32_t unit
    uint32_t local              # of the VAR
    uint32_t offset
    uint32_t size

cdef struct KeptUnit:           # the records of one unit that are kept
    uint64_t first              # in `starts` and `locals`
    uint32_t n
    uint64_t classes            # in `class_list`: class of small id 0
    uint32_t n_types            # small ids of the unit, 0 included
    uint32_t n_extras           # and those after them
    uint64_t dies               # in `dies`: those of small id 0, if they are noted
    uint64_t digest             # of the classes of its types, if it is decoded again
    uint32_t first_id           # id of the first record, once the list is assembled; with `keep_all` at once
    bint whole                  # all types are kept, not only those that bring a new class

cdef struct Encoder:
    Strings *strings
    ClassTable *classes
    const FuncTable *table
    KnownStrings known
    const BaseStrings *base     # strings that are there already; NULL without a base
    int options                 # OPT_* of model/options.pxd
    bint keep_all               # keep all types of all units, in the list at once (append_all.py)
    bint decode_again           # where more must be kept of a unit, it is decoded again, and nothing is restored
    # while units come: kept records, with small ids for references. After a unit's types, small ids go on with
    # the records that are made here: index type, tags, variables.
    KeptUnit *kept
    uint32_t n_kept, cap_kept
    U32s kept_words
    U64s starts                 # by record: its first word in `kept_words`
    U32s locals                 # by record: its small id
    U32s class_list             # classes of all types of all units; after `certify` perhaps finer, or with APART
    U32s first_unit             # by class: the first unit that has it, NO_UNIT none
    U32s occurrences            # by class: types of all units
    U32s twice                  # keys that a unit has twice
    bint cycles                 # some unit has a type that reaches itself without passing a name
    uint32_t index_unit, index_local    # the index type of arrays, NO_UNIT: not fixed yet
    bint index_made             # it was not found but made
    uint32_t index_type         # its id, with `keep_all`
    U32s redo                   # units that are decoded again, because more of them must be kept
    U32s resolved               # threes: the class of a declaration, what it is resolved to, and the unit by which
                                # that is so; then ids, as in DedupInput
    U32s conflicts              # names because of which more may have to be kept, by class of their key
    # the assembled list
    U32s words                  # all records, BTF wire layout; names are string ids, references type ids
    U64s offs                   # offs[id]; offs.n is the next id
    size_t named                # on a base: names of records below this id are offsets already
    U32s representative         # by class: the id that stands for it
    U32s scratch
    U32s string_at              # offset in the output by string id, 0 not written yet
    U32s string_order           # string ids in order of first insertion
    uint64_t string_size
    State *states               # what units observed about functions
    size_t n_states, cap_states
    U32s state_locals           # small ids
    Traces traces               # of all units, if asked for
    U32s dies                   # of all types of all units, if asked for
    U32s anns                   # pairs of string id and component: tags of functions
    SectionEntry *entries       # variables, in the order of units
    uint32_t n_entries, cap_entries
    uint32_t units, filtered
    uint64_t types_seen         # before anything was dropped
    uint32_t functions
    uint64_t counts[N_COUNTS]
    Emission emission
    int combined                # what `combine_functions` returned for it, NOT_COMBINED yet
    int error
    uint32_t error_entry

cdef int encoder_init(Encoder *e) noexcept nogil
cdef void encoder_free(Encoder *e) noexcept nogil
cdef void encoder_release(Encoder *e) noexcept nogil
cdef int encoder_fail(Encoder *e, int error) noexcept nogil
cdef void encoder_combine(Encoder *e) noexcept nogil
cdef int encode_functions(Encoder *e) noexcept nogil
cdef int encode_sections(Encoder *e, const uint32_t *names, uint32_t n_names) noexcept nogil

cdef inline uint64_t digest_add(uint64_t digest, uint32_t class_) noexcept nogil:
    # One type more of a unit, of this class. The digest begins as their number.
    return fold(digest + class_, SALT2)
