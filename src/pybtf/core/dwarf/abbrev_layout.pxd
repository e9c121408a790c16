# Which abbreviations have DIEs that can be read at a glance (see abbrev_layout.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:                      # DieLayout.kind
    LAYOUT_NONE = 0             # to be read attribute by attribute
    LAYOUT_MEMBER = 1           # value: DW_AT_data_member_location, or with `bits` DW_AT_data_bit_offset
    LAYOUT_TYPE = 2             # pointer, typedef, qualifier; value: DW_AT_byte_size, as of all types
    LAYOUT_ENUMERATOR = 3       # value: DW_AT_const_value
    LAYOUT_PARAMETER = 4        # value: DW_AT_location, an offset of a list
    LAYOUT_DIMENSION = 5        # value: DW_AT_upper_bound
    LAYOUT_VARIABLE = 6         # one without a location
    LAYOUT_PASSED = 7           # in functions, it is passed over with its children; elsewhere, not read at a glance
    LAYOUT_STRUCT = 8           # struct, class or union; this and the rest may have children
    LAYOUT_SUBROUTINE = 9
    LAYOUT_ARRAY = 10
    LAYOUT_ENUM = 11
    LAYOUT_FUNCTION = 12        # one without code
    LAYOUT_BLOCK = 13           # of statements

cdef enum:
    VARYING = 0xFFFF            # AbbrevDecl.fixed: the size is not always the same

cdef enum:                      # DieLayout.named; less than the first: bytes of an index, DW_FORM_strx1, 2 or 4
    BY_OFFSET = 8               # a DW_FORM_strp
    INDEX_BYTES = 7             # a mask

cdef enum:
    BY_ORIGIN = 1               # what it has in place of a DW_AT_type is a DW_AT_abstract_origin

cdef struct DieLayout:          # where the values of a DIE are, if that is always the same (see abbrev_layout.py)
    uint8_t kind
    uint8_t inline_name         # a DW_FORM_string stands first; the rest is counted from its end
    uint8_t size                # bytes behind the abbreviation code
    uint8_t named               # how the name is said that is `name_at` bytes behind it; 0: there is none
    uint8_t typed               # there is a DW_AT_type, a DW_FORM_ref4; or another reference, of what is passed over
    uint8_t valued              # there is a value
    uint8_t flags               # T_*, F_* or V_*; of a parameter, BY_ORIGIN
    uint8_t name_at             # all of these are 0 if there is no such attribute
    uint8_t type_at
    uint8_t value_at
    uint8_t sibling_at          # of a DW_FORM_ref4
    uint8_t with_sibling
    uint8_t bits                # a member: there is a DW_AT_bit_size of one byte, `bits_at` bytes behind it; an
    uint8_t bits_at             # enumeration: it is a DW_AT_encoding
    uint8_t encoding            # where it is none of its own
    uint8_t value_shift         # bits of the eight bytes at `value_at` behind those of the value; 0 if there is none
    uint32_t type_mask          # all bits if it is typed, otherwise none
    uint32_t name_mask          # the same, if it is named
    uint64_t value_mask         # the bytes of the value, of the eight at `value_at`; 0: it is `value`, in every DIE
    uint64_t value

# Returns how many bytes are looked at, which may be more than there are.
cdef uint32_t layout_of(DieLayout *s, uint16_t tag, bint children, const uint32_t *program) noexcept nogil
cdef uint16_t fixed_size(const uint32_t *program) noexcept nogil
