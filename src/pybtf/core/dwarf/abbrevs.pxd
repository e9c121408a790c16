# Abbreviation tables compiled to programs (see abbrevs.py).

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.model.debug_sections cimport Span
from pybtf.core.model.faults cimport Fault
from pybtf.core.support.memory cimport U32s

cdef enum:                      # operations; the low byte of a program word
    OP_END = 0
    OP_SKIP = 1                 # argument: bytes
    OP_SKIP_LEB = 2
    OP_SKIP_STRING = 3
    OP_SKIP_BLOCK1 = 4
    OP_SKIP_BLOCK2 = 5
    OP_SKIP_BLOCK4 = 6
    OP_SKIP_BLOCK = 7
    OP_U1 = 8
    OP_U2 = 9
    OP_U4 = 10
    OP_U8 = 11
    OP_U3 = 12
    OP_ULEB = 13
    OP_SLEB = 14
    OP_IMPLICIT = 15            # the value follows in two words
    OP_STRING = 16
    OP_BLOCK1 = 17
    OP_BLOCK2 = 18
    OP_BLOCK4 = 19
    OP_BLOCK = 20
    OP_DATA16 = 21
    OP_INDIRECT = 22            # the form is in the DIE

cdef enum:
    UNKNOWN_FORM = 0xFFFFFFFF

cdef enum:                      # class of a value; the third byte of a program word
    A_NONE = 0
    A_CONST = 1                 # zero-extended or sign-extended to 64 bits
    A_FLAG = 2
    A_ADDR = 3
    A_ADDRX = 4                 # index into .debug_addr
    A_STRING = 5                # value: .debug_info offset of the text
    A_STRP = 6
    A_LINE_STRP = 7
    A_STRX = 8
    A_REF = 9                   # value: unit-relative offset; made absolute by the reader
    A_REF_ADDR = 10
    A_SIG8 = 11
    A_ALT = 12                  # into the alternate file
    A_BLOCK = 13                # value: .debug_info offset of the bytes, `size` of them
    A_SEC_OFFSET = 14
    A_LISTX = 15
    A_DATA16 = 16
    A_STR_ALT = 17
    A_EXPR = 18                 # as A_BLOCK, of the form exprloc
    A_NESTED = 19               # in an alternate file: into an alternate file of its own

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

cdef enum:                      # Shape.kind
    SHAPE_NONE = 0              # to be read attribute by attribute
    SHAPE_MEMBER = 1            # value: DW_AT_data_member_location, or with `bits` DW_AT_data_bit_offset
    SHAPE_TYPE = 2              # pointer, typedef, qualifier; value: DW_AT_byte_size, as of all types
    SHAPE_ENUMERATOR = 3        # value: DW_AT_const_value
    SHAPE_PARAMETER = 4         # no value
    SHAPE_LOCAL = 5             # a variable with a location, which is passed over in functions
    SHAPE_DIMENSION = 6         # value: DW_AT_upper_bound
    SHAPE_STRUCT = 7            # struct, class or union; this and the rest may have children
    SHAPE_SUBROUTINE = 8
    SHAPE_ARRAY = 9

cdef enum:
    VARYING = 0xFFFF            # AbbrevDecl.fixed: the size is not always the same

cdef struct Shape:              # where the values of a DIE are, if that is always the same (see abbrev_layout.py)
    uint8_t kind
    uint8_t inline_name         # a DW_FORM_string stands first; the rest is counted from its end
    uint8_t size                # bytes behind the abbreviation code
    uint8_t named               # there is a DW_FORM_strp, `name_at` bytes behind it
    uint8_t typed               # there is a DW_AT_type, a DW_FORM_ref4
    uint8_t valued              # there is a value
    uint8_t flags               # T_*, of a type
    uint8_t name_at             # all of these are 0 if there is no such attribute
    uint8_t type_at
    uint8_t value_at
    uint8_t sibling_at          # of a DW_FORM_ref4
    uint8_t with_sibling
    uint8_t bits                # a member: there is a DW_AT_bit_size of one byte, `bits_at` bytes behind it
    uint8_t bits_at
    uint32_t type_mask          # all bits if it is typed, otherwise none
    uint32_t name_mask          # the same, if it is named
    uint64_t value_mask         # the bytes of the value, of the eight at `value_at`; 0: it is `value`, in every DIE
    uint64_t value

cdef struct AbbrevDecl:
    uint64_t code
    uint32_t program            # index of the first word in `ops`
    uint16_t tag
    uint8_t children
    uint16_t fixed              # bytes of all values, or VARYING
    Shape shape                 # that of a type says nothing of its children

cdef struct AbbrevTable:
    U32s ops
    AbbrevDecl *decls
    uint32_t n, cap
    uint32_t reach              # how many bytes behind an abbreviation code are looked at, whichever shape it has
    bint dense                  # decls[i].code == i + 1
    uint32_t *slots             # otherwise: open addressing, index + 1
    uint32_t slot_mask
    # what the programs depend on
    uint64_t offset
    uint8_t address_size, offset_size, version
    bint alternate              # the units are those of an alternate file
    bint split                  # they are of split DWARF
    bint places                 # where something is declared is wanted, too; set before the first is read
    bint valid
    uint64_t read               # bytes of the section that the last `abbrevs_read` went through

cdef int abbrevs_read(AbbrevTable *t, Span section, uint64_t offset, uint8_t address_size, uint8_t offset_size,
                      uint8_t version, bint alternate, bint split, Fault *fault) noexcept nogil
cdef bint abbrevs_have_form(Span section, uint64_t offset, uint64_t form, uint64_t *read) noexcept nogil
cdef void abbrevs_free(AbbrevTable *t) noexcept nogil
cdef AbbrevDecl *abbrevs_find_sparse(AbbrevTable *t, uint64_t code) noexcept nogil
cdef uint32_t in_alternate(uint32_t word) noexcept nogil
cdef bint leaves_split(uint32_t word) noexcept nogil
cdef uint32_t form_op(uint64_t form, uint8_t address_size, uint8_t offset_size, uint8_t version) noexcept nogil

cdef inline bint abbrevs_enough(uint64_t read, Span section) noexcept nogil:
    # Whether more has been read in all than sections that are not made to be slow ask for. Units may share tables, and
    # tables may overlap; each is read again when another one was in between.
    return read > (<uint64_t> 64 << 20) + 256 * <uint64_t> section.n

cdef inline AbbrevDecl *abbrevs_find(AbbrevTable *t, uint64_t code) noexcept nogil:
    # NULL if the table has no such code; 0 is never in a table.
    if t.dense:
        if code - 1 < t.n:
            return &t.decls[code - 1]
        return NULL
    return abbrevs_find_sparse(t, code)
