# Forms as operations: how the value of an attribute is read, and what sort of value it is.
#
# DWARF has some fifty forms (DWARF 5, 7.5.6), but few ways to read a value: numbers of six sizes, LEB128, strings and
# blocks. `form_op` returns a word of an abbreviation's program (abbrevs.py): the operation in its lowest byte, the class
# of the value in its third. The size of some forms depends on the unit's version, address size and offset size.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from pybtf.core.dwarf.attributes cimport NO_SLOT
from pybtf.core.model.dwarf_constants cimport *

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
    A_LIST_OR_CONST = 20        # before DWARF 4: an offset into .debug_loc, if it has so many bytes

cdef inline uint32_t op(uint32_t operation, uint32_t cls) noexcept nogil:
    return operation | (cls << 16)

cdef inline uint32_t sized(uint32_t size, uint32_t cls) noexcept nogil:
    # The operation that reads an unsigned value of `size` bytes.
    if size == 1:
        return op(OP_U1, cls)
    if size == 2:
        return op(OP_U2, cls)
    if size == 4:
        return op(OP_U4, cls)
    return op(OP_U8, cls)

cdef inline uint32_t form_op(uint64_t form, uint8_t address_size, uint8_t offset_size, uint8_t version) noexcept nogil:
    # The reading operation and class of a form (DWARF 5, 7.5.6), or UNKNOWN_FORM.
    if form == DW_FORM_addr:
        return sized(address_size, A_ADDR)
    if form == DW_FORM_block2:
        return op(OP_BLOCK2, A_BLOCK)
    if form == DW_FORM_block4:
        return op(OP_BLOCK4, A_BLOCK)
    if form == DW_FORM_data2:
        return op(OP_U2, A_CONST)
    if form == DW_FORM_data4:
        return op(OP_U4, A_CONST)
    if form == DW_FORM_data8:
        return op(OP_U8, A_CONST)
    if form == DW_FORM_string:
        return op(OP_STRING, A_STRING)
    if form == DW_FORM_block:
        return op(OP_BLOCK, A_BLOCK)
    if form == DW_FORM_exprloc:
        return op(OP_BLOCK, A_EXPR)
    if form == DW_FORM_block1:
        return op(OP_BLOCK1, A_BLOCK)
    if form == DW_FORM_data1:
        return op(OP_U1, A_CONST)
    if form == DW_FORM_flag:
        return op(OP_U1, A_FLAG)
    if form == DW_FORM_sdata:
        return op(OP_SLEB, A_CONST)
    if form == DW_FORM_strp:
        return sized(offset_size, A_STRP)
    if form == DW_FORM_udata:
        return op(OP_ULEB, A_CONST)
    if form == DW_FORM_ref_addr:  # an address in DWARF 2, an offset since
        return sized(address_size if version <= 2 else offset_size, A_REF_ADDR)
    if form == DW_FORM_ref1:
        return op(OP_U1, A_REF)
    if form == DW_FORM_ref2:
        return op(OP_U2, A_REF)
    if form == DW_FORM_ref4:
        return op(OP_U4, A_REF)
    if form == DW_FORM_ref8:
        return op(OP_U8, A_REF)
    if form == DW_FORM_ref_udata:
        return op(OP_ULEB, A_REF)
    if form == DW_FORM_indirect:
        return op(OP_INDIRECT, A_NONE)
    if form == DW_FORM_sec_offset:
        return sized(offset_size, A_SEC_OFFSET)
    if form == DW_FORM_flag_present:
        return op(OP_IMPLICIT, A_FLAG)
    if form == DW_FORM_strx:
        return op(OP_ULEB, A_STRX)
    if form == DW_FORM_addrx:
        return op(OP_ULEB, A_ADDRX)
    if form == DW_FORM_ref_sup4:
        return op(OP_U4, A_ALT)
    if form == DW_FORM_strp_sup:
        return sized(offset_size, A_STR_ALT)
    if form == DW_FORM_data16:
        return op(OP_DATA16, A_DATA16)
    if form == DW_FORM_line_strp:
        return sized(offset_size, A_LINE_STRP)
    if form == DW_FORM_ref_sig8:
        return op(OP_U8, A_SIG8)
    if form == DW_FORM_implicit_const:
        return op(OP_IMPLICIT, A_CONST)
    if form == DW_FORM_loclistx or form == DW_FORM_rnglistx:
        return op(OP_ULEB, A_LISTX)
    if form == DW_FORM_ref_sup8:
        return op(OP_U8, A_ALT)
    if form == DW_FORM_strx1:
        return op(OP_U1, A_STRX)
    if form == DW_FORM_strx2:
        return op(OP_U2, A_STRX)
    if form == DW_FORM_strx3:
        return op(OP_U3, A_STRX)
    if form == DW_FORM_strx4:
        return op(OP_U4, A_STRX)
    if form == DW_FORM_addrx1:
        return op(OP_U1, A_ADDRX)
    if form == DW_FORM_addrx2:
        return op(OP_U2, A_ADDRX)
    if form == DW_FORM_addrx3:
        return op(OP_U3, A_ADDRX)
    if form == DW_FORM_addrx4:
        return op(OP_U4, A_ADDRX)
    if form == DW_FORM_GNU_addr_index:
        return op(OP_ULEB, A_ADDRX)
    if form == DW_FORM_GNU_str_index:
        return op(OP_ULEB, A_STRX)
    if form == DW_FORM_GNU_ref_alt:
        return sized(offset_size, A_ALT)
    if form == DW_FORM_GNU_strp_alt:
        return sized(offset_size, A_STR_ALT)
    return UNKNOWN_FORM

cdef inline uint32_t in_alternate(uint32_t word) noexcept nogil:
    # What `form_op` returned, for a unit of an alternate file (alternate_units.py).
    #
    # Offsets into its sections get the classes that offsets into it have elsewhere; what would lead into a third file, or
    # into sections that only have to do with code, gets a class that is not looked at.
    cdef uint32_t cls = (word >> 16) & 0xFF
    if word == UNKNOWN_FORM:
        return word
    if cls == A_STRP:
        cls = A_STR_ALT
    elif cls == A_REF_ADDR:
        cls = A_ALT
    elif cls == A_ALT or cls == A_STR_ALT:
        cls = A_NESTED
    elif cls == A_ADDRX or cls == A_LISTX or cls == A_SEC_OFFSET:
        cls = A_NONE
    return op(word & 0xFF, cls)

cdef inline bint leaves_split(uint32_t word) noexcept nogil:
    # Whether what `form_op` returned is an offset that a unit of split DWARF cannot have: its file may have become a
    # part of another, in which only what is found by index keeps its meaning (DWARF 5, 7.3.2.2).
    cdef uint32_t cls = (word >> 16) & 0xFF
    return word != UNKNOWN_FORM and (cls == A_STRP or cls == A_REF_ADDR or cls == A_ALT or cls == A_STR_ALT)

cdef inline uint32_t as_list(uint32_t word) noexcept nogil:
    # What `form_op` returned, of an attribute that may be a location list: before DWARF 4, that is what data4 and data8 mean.
    if word == op(OP_U4, A_CONST) or word == op(OP_U8, A_CONST):
        return op(word & 0xFF, A_LIST_OR_CONST)
    return word

cdef inline bint may_be_text(uint32_t word) noexcept nogil:
    # Whether what `form_op` returned is a string, or a form that only the DIE says.
    cdef uint32_t cls = (word >> 16) & 0xFF
    if cls == A_NONE:
        return word & 0xFF == OP_INDIRECT
    return A_STRING <= cls <= A_STRX or cls == A_STR_ALT or cls == A_NESTED

cdef inline int64_t skip_size(uint32_t word) noexcept nogil:
    # Bytes of a value of fixed size, -1 if the size is in the data.
    cdef uint32_t operation = word & 0xFF
    if operation == OP_IMPLICIT:
        return 0
    if operation == OP_U1:
        return 1
    if operation == OP_U2:
        return 2
    if operation == OP_U3:
        return 3
    if operation == OP_U4:
        return 4
    if operation == OP_U8:
        return 8
    if operation == OP_DATA16:
        return 16
    return -1

cdef inline uint32_t skipping(uint32_t word) noexcept nogil:
    # The operation that passes over what `word` would read; its size is not fixed.
    cdef uint32_t operation = word & 0xFF
    if operation == OP_ULEB or operation == OP_SLEB:
        return OP_SKIP_LEB
    if operation == OP_STRING:
        return OP_SKIP_STRING
    if operation == OP_BLOCK1:
        return OP_SKIP_BLOCK1
    if operation == OP_BLOCK2:
        return OP_SKIP_BLOCK2
    if operation == OP_BLOCK4:
        return OP_SKIP_BLOCK4
    if operation == OP_BLOCK:
        return OP_SKIP_BLOCK
    return OP_INDIRECT | (<uint32_t> NO_SLOT << 8)
