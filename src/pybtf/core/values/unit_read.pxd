# Bytes to a unit value (see unit_read.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.model.dwarf_unit cimport Annotation
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U32s
from pybtf.core.values.known_types cimport KnownType
from pybtf.core.values.stored_payload cimport DIGEST_BYTES, StoredPayload, stored_need

cdef struct PayloadUnit:
    const uint8_t *p            # in memory to which nobody else writes; NULL: whoever reads the unit fetches it
    uint64_t size               # in bytes; once it is there, also what its head says
    const uint8_t *addresses    # of its functions and variables: 64-bit words in the host's byte order
    uint32_t n_addresses
    uint32_t piece              # number of the object's piece
    uint64_t at                 # where in that it begins
    bint awaited                # it is compared with its digest when it is read
    uint8_t[DIGEST_BYTES] digest
    const char *path            # of the file in which it is; NULL: not known
    uint64_t stored_at          # where in that (see `stored_open`)

cdef enum:
    DAMAGED_STRING = 0xFFFFFFFE # no string id: see `payload_string`
    TOGETHER = 16               # strings that are looked up side by side

cdef struct NamedFunction:
    uint64_t at                 # the word of the unit at which it begins
    uint64_t hash               # of its name
    const char *name            # `size` bytes; 0: it has none
    uint32_t size

cdef struct Reading:            # scratch of one worker
    U32s words                  # of the unit at hand: head, tags, functions, variables
    const uint8_t *p            # all of it
    const uint8_t *digests
    const uint8_t *records
    const char *first           # its first strings, `first_size` bytes, and the others
    const char *text
    uint64_t first_size, text_size
    uint64_t text_left          # bytes of strings that may still be read, each time it is
    bint swap
    KnownType *last             # the type that was looked up last, NULL none
    U32s unknown                # small ids of types that have not been met before
    NamedFunction *functions    # of the unit at hand
    uint32_t cap_functions
    Annotation *anns
    uint32_t cap_anns
    StoredPayload stored        # where the unit at hand is, unless all of it was given

cdef inline bint need(Reading *r, const void *p, uint64_t n) noexcept nogil:
    # Makes `n` bytes of the unit at hand be there, which are within it. False: they are lost, and so is the unit.
    return not r.stored.open or stored_need(&r.stored, <uint64_t> (<const uint8_t *> p - r.p), n)

# How a unit begins that takes up to `left` bytes: its size, and how many addresses it has; 0: it is damaged.
cdef uint64_t payload_size(const uint8_t *p, uint64_t left, bint swap, uint32_t *addresses) noexcept nogil

# DW_LANG of a unit, and whether it is a partial one.
cdef uint32_t payload_language(const PayloadUnit *g, bint swap) noexcept nogil
cdef bint payload_partial(const PayloadUnit *g) noexcept nogil

# Reads the head and what else is not types, into `r`, where the head is there; and takes from it what needs no types. Nonzero: fault.
cdef int begin_unit(Reading *r, const PayloadUnit *g, UnitValue *v, Strings *strings, bint swap) noexcept nogil

# The id of a string of the unit at hand, 0 of none. NO_STRING: no memory; DAMAGED_STRING: `place` is not that of one.
cdef uint32_t payload_string(Reading *r, Strings *strings, uint32_t place) noexcept nogil

# Replaces `n` places of strings, `step` words apart, by what `payload_string` says of them. How many it has done: the first that is no
# string is the last one.
cdef uint32_t payload_strings(Reading *r, Strings *strings, uint32_t *p, uint32_t step, uint32_t n) noexcept nogil

# Its bytes without the NUL, and how many there are, 0 if it is none, or if too much has been read.
cdef size_t payload_text(Reading *r, uint32_t place, const char **text) noexcept nogil

# The fault of a unit whose string at word `word` has that for an id.
cdef int bad_string(UnitValue *v, uint32_t sid, uint64_t word) noexcept nogil

cdef void reading_free(Reading *r) noexcept nogil

# The fault of a unit that is wrong at this word, and that of one for which there is no memory.
cdef int damaged(UnitValue *v, uint64_t word) noexcept nogil
cdef int no_memory(UnitValue *v) noexcept nogil
