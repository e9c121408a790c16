# Bytes to a unit value (see unit_read.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.model.dwarf_unit cimport Annotation
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U32s

cdef struct GivenUnit:
    const uint8_t *p
    uint64_t size               # bytes; that it is the unit's own idea of its size has been checked
    const uint8_t *addresses    # of its functions and variables: 64-bit words in the host's byte order
    uint32_t n_addresses
    uint32_t piece              # number of the object's piece
    uint64_t at                 # where in that it begins

cdef struct Reading:            # scratch of one worker
    U32s words                  # of the unit at hand, without its strings
    U32s strings                # string ids by number
    U32s followers              # by string id: the one that came after it the last time, 0 none
    Annotation *anns
    uint32_t cap_anns

# How a unit begins that takes up to `left` bytes: its size, and how many addresses it has; 0: it is damaged.
cdef uint64_t given_size(const uint8_t *p, uint64_t left, bint swap, uint32_t *addresses) noexcept nogil

# DW_LANG of a unit, and whether it is a partial one.
cdef uint32_t given_language(const GivenUnit *g, bint swap) noexcept nogil
cdef bint given_partial(const GivenUnit *g) noexcept nogil

# Reads head, strings, records and tags: all of `v` but classes, functions and variables. Nonzero: fault in `v.fault`.
cdef int read_types(Reading *r, const GivenUnit *g, UnitValue *v, Strings *strings, bint swap) noexcept nogil

cdef void reading_free(Reading *r) noexcept nogil

# The fault of a unit that is wrong at this word, and that of one for which there is no memory.
cdef int damaged(UnitValue *v, uint64_t word) noexcept nogil
cdef int no_memory(UnitValue *v) noexcept nogil

# Whether name, elements and size of a record are such as its kind has that is made of DWARF, and whether each element
# of a kind has a name.
cdef bint has_right_words(const uint32_t *p, uint32_t kind) noexcept nogil
cdef bint named_elements(uint32_t kind) noexcept nogil
