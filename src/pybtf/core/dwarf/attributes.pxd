# Which attributes are wanted: each of these has a slot, into which its value goes (DWARF 5, 7.5.4).

from libc.stdint cimport uint8_t, uint64_t
from pybtf.core.model.dwarf_constants cimport *

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
    D_SIGNATURE
    D_DWO_NAME
    D_DECL_FILE                 # these are only wanted of a table with `declarations`
    D_DECL_LINE
    D_STMT_LIST
    N_SLOTS

cdef enum:
    NO_SLOT = 255               # of an attribute that is not wanted

cdef inline uint8_t wanted(uint64_t attribute) noexcept nogil:
    # The slot of an attribute (DWARF 5, 7.5.4), or NO_SLOT.
    if attribute == DW_AT_sibling:
        return D_SIBLING
    if attribute == DW_AT_location:
        return D_LOCATION
    if attribute == DW_AT_name:
        return D_NAME
    if attribute == DW_AT_byte_size:
        return D_BYTE_SIZE
    if attribute == DW_AT_bit_offset:
        return D_BIT_OFFSET
    if attribute == DW_AT_bit_size:
        return D_BIT_SIZE
    if attribute == DW_AT_low_pc:
        return D_LOW_PC
    if attribute == DW_AT_language:
        return D_LANGUAGE
    if attribute == DW_AT_import:
        return D_IMPORT
    if attribute == DW_AT_const_value:
        return D_CONST_VALUE
    if attribute == DW_AT_inline:
        return D_INLINE
    if attribute == DW_AT_producer:
        return D_PRODUCER
    if attribute == DW_AT_upper_bound:
        return D_UPPER_BOUND
    if attribute == DW_AT_abstract_origin:
        return D_ORIGIN
    if attribute == DW_AT_artificial:
        return D_ARTIFICIAL
    if attribute == DW_AT_calling_convention:
        return D_CALLING_CONVENTION
    if attribute == DW_AT_count:
        return D_COUNT
    if attribute == DW_AT_data_member_location:
        return D_MEMBER_LOCATION
    if attribute == DW_AT_declaration:
        return D_DECLARATION
    if attribute == DW_AT_encoding:
        return D_ENCODING
    if attribute == DW_AT_external:
        return D_EXTERNAL
    if attribute == DW_AT_specification:
        return D_SPECIFICATION
    if attribute == DW_AT_type:
        return D_TYPE
    if attribute == DW_AT_virtuality:
        return D_VIRTUALITY
    if attribute == DW_AT_signature:
        return D_SIGNATURE
    if attribute == DW_AT_data_bit_offset:
        return D_DATA_BIT_OFFSET
    if attribute == DW_AT_str_offsets_base:
        return D_STR_OFFSETS_BASE
    if attribute == DW_AT_addr_base or attribute == DW_AT_GNU_addr_base:
        return D_ADDR_BASE
    if attribute == DW_AT_dwo_name or attribute == DW_AT_GNU_dwo_name:
        return D_DWO_NAME
    if attribute == DW_AT_loclists_base:
        return D_LOCLISTS_BASE
    if attribute == DW_AT_GNU_annotation:
        return D_ANNOTATION
    return NO_SLOT

cdef inline uint8_t wanted_of_declarations(uint64_t attribute) noexcept nogil:
    # The same for what says where something is declared, or that it has code: in these tables ranges are in the slot of
    # the address that a function has otherwise.
    if attribute == DW_AT_decl_file:
        return D_DECL_FILE
    if attribute == DW_AT_decl_line:
        return D_DECL_LINE
    if attribute == DW_AT_stmt_list:
        return D_STMT_LIST
    if attribute == DW_AT_ranges:
        return D_LOW_PC
    return NO_SLOT
