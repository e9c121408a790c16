# How values of attributes are read (see forms.py).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

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

cdef uint32_t in_alternate(uint32_t word) noexcept nogil
cdef bint leaves_split(uint32_t word) noexcept nogil
cdef uint32_t form_op(uint64_t form, uint8_t address_size, uint8_t offset_size, uint8_t version) noexcept nogil
cdef int64_t skip_size(uint32_t word) noexcept nogil
cdef uint32_t skipping(uint32_t word) noexcept nogil
