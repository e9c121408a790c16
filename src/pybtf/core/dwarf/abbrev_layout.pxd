# Which abbreviations have DIEs that can be read at a glance (see abbrev_layout.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:                      # DieLayout.kind
    LAYOUT_NONE = 0             # to be read attribute by attribute
    LAYOUT_MEMBER = 1           # value: DW_AT_data_member_location
    LAYOUT_TYPE = 2             # pointer, typedef, qualifier; value: DW_AT_byte_size, as of all types
    LAYOUT_ENUMERATOR = 3       # value: DW_AT_const_value
    LAYOUT_PARAMETER = 4        # value: DW_AT_location, an offset of a list
    LAYOUT_DIMENSION = 5        # value: DW_AT_upper_bound
    LAYOUT_VARIABLE = 6         # one without a location
    LAYOUT_PASSED = 7           # in functions, it is passed over with its children; elsewhere, not read at a glance
    LAYOUT_STRUCT = 8           # struct, class or union; this and the next five may have children
    LAYOUT_SUBROUTINE = 9
    LAYOUT_ARRAY = 10
    LAYOUT_ENUM = 11
    LAYOUT_FUNCTION = 12        # one without code
    LAYOUT_BLOCK = 13           # of statements
    LAYOUT_ODD_MEMBER = 14      # a member with an extra, or without a place; value: DW_AT_data_bit_offset of a bitfield

cdef enum:                      # what is not a number of fixed size, and where a DIE may have it
    LEB = 1                     # a LEB128 number
    BLOCK = 2                   # bytes after their number, a LEB128
    TEXT = 3                    # a DW_FORM_string
    UNCLEAR = 4                 # anything else, or more than can be said of one DIE

cdef enum:                      # DieLayout.extra
    IS_BITS = 1                 # of a member, its DW_AT_bit_size, of one byte
    IS_ENCODING = 2             # of an enumeration, its DW_AT_encoding, of one byte
    IS_SHORT = 3                # a LEB128 that nobody wants, of one byte in nearly all DIEs; others have no layout
    IS_UNSIGNED = 4             # of an enumerator, its value, a LEB128 with which the DIE ends
    IS_SIGNED = 5               # the same, signed

cdef enum:
    LEB_BYTES = 5               # of a number that is read at a glance, at most

cdef enum:                      # DieLayout.named; less than the first: bytes of an index, DW_FORM_strx1, 2 or 4
    BY_OFFSET = 8               # a DW_FORM_strp
    INDEX_BYTES = 7             # a mask

cdef enum:                      # DieLayout.flags of a parameter, and the last of a dimension
    BY_ORIGIN = 1               # what it has in place of a DW_AT_type is a DW_AT_abstract_origin
    IN_LEAD = 2                 # its DW_AT_location is what it begins with
    COUNTED = 1                 # the value of a dimension is how many there are, not the last

cdef struct DieLayout:          # where the values of a DIE are, if that is always the same (see abbrev_layout.py)
    uint8_t kind
    uint8_t lead                # LEB, BLOCK or TEXT, the name, if it stands first; the rest is counted from its end
    uint8_t size                # bytes after the abbreviation code
    uint8_t named               # how the name is given that is `name_at` bytes after it; 0: there is none
    uint8_t plain               # nothing is in front of these values, and the name, if there is one, is BY_OFFSET
    uint8_t valued              # there is a value
    uint8_t flags               # T_*, F_* or V_*; or those above
    uint8_t name_at             # all of these are 0 if there is no such attribute
    uint8_t type_at
    uint8_t value_at
    uint8_t sibling_at          # of a DW_FORM_ref4
    uint8_t with_sibling
    uint8_t extra               # what is `extra_at` bytes after it, IS_BITS and so on; 0: nothing
    uint8_t extra_at
    uint8_t encoding            # where it is none of its own
    uint8_t value_shift         # bits of the eight bytes at `value_at` after those of the value; 0 if there is none
    uint32_t type_mask          # all bits if there is a DW_AT_type, a DW_FORM_ref4, or another reference; otherwise none
    uint32_t name_mask          # the same, if it is named
    uint64_t value_mask         # the bytes of the value, of the eight at `value_at`; 0: it is `value`, in every DIE
    uint64_t value

cdef struct Passage:            # how far it is to the end of a DIE: these bytes and parts, in this order
    uint8_t first
    uint8_t part                # LEB, BLOCK, TEXT, UNCLEAR; 0: it has ended before this
    uint8_t second
    uint8_t other_part
    uint8_t third
    uint8_t sibling             # there is a DW_AT_sibling, which leads past the children

# Returns how many bytes are looked at, which may be more than there are.
cdef uint32_t layout_of(DieLayout *s, uint16_t tag, bint children, const uint32_t *program) noexcept nogil
cdef void passage_of(Passage *q, const uint32_t *program) noexcept nogil
