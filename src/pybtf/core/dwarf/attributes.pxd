# Attributes that are looked at (see attributes.py).

from libc.stdint cimport uint8_t, uint64_t

cdef enum:                      # slots for wanted attributes; the second byte of a program word
    D_SIBLING = 0
    D_NAME
    D_TYPE
    D_BYTE_SIZE
    D_BIT_SIZE
    D_BIT_OFFSET
    D_DATA_BIT_OFFSET
    D_MEMBER_LOCATION
    D_ENCODING
    D_DECLARATION
    D_EXTERNAL
    D_CONST_VALUE
    D_UPPER_BOUND
    D_COUNT
    D_LOW_PC
    D_ORIGIN
    D_SPECIFICATION
    D_INLINE
    D_CALLING_CONVENTION
    D_LOCATION
    D_ARTIFICIAL
    D_ANNOTATION
    D_IMPORT
    D_VIRTUALITY
    D_LANGUAGE
    D_PRODUCER
    D_STR_OFFSETS_BASE
    D_ADDR_BASE
    D_LOCLISTS_BASE
    D_RNGLISTS_BASE
    D_SIGNATURE
    D_DWO_NAME
    D_DECL_FILE                 # these are only wanted of a table with `places`
    D_DECL_LINE
    D_STMT_LIST
    N_SLOTS

cdef enum:
    NO_SLOT = 255               # of an attribute that is not wanted

cdef uint8_t wanted(uint64_t attribute) noexcept nogil
cdef uint8_t wanted_of_places(uint64_t attribute) noexcept nogil
