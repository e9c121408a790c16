"""Abbreviations compiled to small programs.

A DIE starts with an abbreviation code; the abbreviation says which attributes follow and in which forms (DWARF 5,
7.5.3). Interpreting attribute by attribute costs a look at every one, and most are not wanted (decl_file,
decl_line, high_pc...). So each abbreviation becomes a list of words, each an operation:

    bits 0-7    operation: how to read or skip (OP_*)
    bits 8-15   slot the value goes to (D_*)
    bits 16-23  class of the value (A_*); for OP_SKIP bits 16-31 are the number of bytes

Neighbouring unwanted attributes of fixed size become one OP_SKIP. The forms' sizes depend on the unit's version,
address size and offset size, so a table is compiled for those.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, realloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import fixed_size, shape_of
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.model.debug_sections import Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import TAG_TYPE_TAG
from cython.cimports.pybtf.core.model.faults import (
    FAULT_ABBREV_OFFSET,
    FAULT_FORM,
    FAULT_LEB,
    FAULT_MEMORY,
    FAULT_SPLIT_FORM,
    FAULT_TOO_MANY,
    FAULT_TRUNCATED,
    IN_ABBREV,
    Fault,
    fault_set,
)
from cython.cimports.pybtf.core.support.cursor import (
    CUR_LEB,
    CUR_OK,
    Cursor,
    cur_init,
    cur_sleb,
    cur_tell,
    cur_u8,
    cur_uleb,
)
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_push

NO_SLOT = cython.declare(uint8_t, 255)
MAX_DECLS = cython.declare(uint32_t, 1 << 24)  # some thousand are much; beyond this, indexes would not fit
MAX_OPS = cython.declare(cython.size_t, 1 << 31)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def op(operation: uint32_t, cls: uint32_t) -> uint32_t:
    return operation | (cls << 16)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sized(size: uint32_t, cls: uint32_t) -> uint32_t:
    """The operation that reads an unsigned value of `size` bytes."""
    if size == 1:
        return op(OP_U1, cls)
    if size == 2:
        return op(OP_U2, cls)
    if size == 4:
        return op(OP_U4, cls)
    return op(OP_U8, cls)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def form_op(form: uint64_t, address_size: uint8_t, offset_size: uint8_t, version: uint8_t) -> uint32_t:
    """The reading operation and class of a form (DWARF 5, 7.5.6), or UNKNOWN_FORM."""
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_alternate(word: uint32_t) -> uint32_t:
    """What `form_op` returned, for a unit of an alternate file (alternate_units.py).

    Offsets into its sections get the classes that offsets into it have elsewhere; what would lead into a third file, or
    into sections that only have to do with code, gets a class that is not looked at.
    """
    cls: uint32_t = (word >> 16) & 0xFF
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leaves_split(word: uint32_t) -> cython.bint:
    """Whether what `form_op` returned is an offset that a unit of split DWARF cannot have: its file may have become a
    part of another, in which only what is found by index keeps its meaning (DWARF 5, 7.3.2.2).
    """
    cls: uint32_t = (word >> 16) & 0xFF
    return word != UNKNOWN_FORM and (cls == A_STRP or cls == A_REF_ADDR or cls == A_ALT or cls == A_STR_ALT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wanted(attribute: uint64_t) -> uint8_t:
    """The slot of an attribute (DWARF 5, 7.5.4), or NO_SLOT."""
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
    if attribute == DW_AT_rnglists_base:
        return D_RNGLISTS_BASE
    if attribute == DW_AT_dwo_name or attribute == DW_AT_GNU_dwo_name:
        return D_DWO_NAME
    if attribute == DW_AT_loclists_base:
        return D_LOCLISTS_BASE
    if attribute == DW_AT_GNU_annotation:
        return D_ANNOTATION
    return NO_SLOT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wanted_of_places(attribute: uint64_t) -> uint8_t:
    """The same for what says where something is declared."""
    if attribute == DW_AT_decl_file:
        return D_DECL_FILE
    if attribute == DW_AT_decl_line:
        return D_DECL_LINE
    if attribute == DW_AT_stmt_list:
        return D_STMT_LIST
    return NO_SLOT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip_size(word: uint32_t) -> int64_t:
    """Bytes of a value of fixed size, -1 if the size is in the data."""
    operation: uint32_t = word & 0xFF
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skipping(word: uint32_t) -> uint32_t:
    """The operation that passes over what `word` would read; its size is not fixed."""
    operation: uint32_t = word & 0xFF
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
    return OP_INDIRECT | (cython.cast(uint32_t, NO_SLOT) << 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_attribute(
    t: cython.pointer[AbbrevTable],
    attribute: uint64_t,
    word: uint32_t,
    implicit: int64_t,
    pending: cython.pointer[uint32_t],
) -> cython.int:
    """Appends what one attribute needs; `pending` is the size of the fixed values to be skipped before it."""
    slot: uint8_t = wanted(attribute)
    size: int64_t
    if slot == NO_SLOT and t.places:
        slot = wanted_of_places(attribute)
    if slot == NO_SLOT:
        size = skip_size(word)
        if size >= 0 and pending[0] + size < 65536:
            pending[0] += cython.cast(uint32_t, size)
            return 0
        if flush(t, pending):
            return 1
        if size >= 0:
            pending[0] = cython.cast(uint32_t, size)
            return 0
        return not u32s_push(cython.address(t.ops), skipping(word))
    if flush(t, pending):
        return 1
    if not u32s_push(cython.address(t.ops), word | (cython.cast(uint32_t, slot) << 8)):
        return 1
    if (word & 0xFF) == OP_IMPLICIT:
        if not u32s_push(cython.address(t.ops), cython.cast(uint32_t, implicit)):
            return 1
        if not u32s_push(cython.address(t.ops), cython.cast(uint32_t, cython.cast(uint64_t, implicit) >> 32)):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def flush(t: cython.pointer[AbbrevTable], pending: cython.pointer[uint32_t]) -> cython.int:
    if pending[0]:
        if not u32s_push(cython.address(t.ops), OP_SKIP | (pending[0] << 16)):
            return 1
        pending[0] = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_decl(t: cython.pointer[AbbrevTable], code: uint64_t, tag: uint64_t, children: uint64_t) -> cython.int:
    cap: uint32_t
    decls: cython.pointer[AbbrevDecl]
    if t.n == t.cap:
        cap = t.cap * 2 if t.cap else 256
        decls = cython.cast(cython.pointer[AbbrevDecl], realloc(t.decls, cap * cython.sizeof(AbbrevDecl)))
        if decls == cython.NULL:
            return 1
        t.decls = decls
        t.cap = cap
    t.decls[t.n].code = code
    t.decls[t.n].tag = cython.cast(cython.ushort, tag) if tag < TAG_TYPE_TAG else TAG_TYPE_TAG - 1
    t.decls[t.n].children = children != 0
    t.decls[t.n].program = cython.cast(uint32_t, t.ops.n)
    if code != t.n + 1:
        t.dense = False
    t.n += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_attributes(
    t: cython.pointer[AbbrevTable], c: cython.pointer[Cursor], fault: cython.pointer[Fault]
) -> cython.int:
    """Reads one declaration's (attribute, form) pairs and compiles them."""
    attribute: uint64_t
    form: uint64_t
    implicit: int64_t
    pending: uint32_t = 0
    word: uint32_t
    at: uint64_t
    while True:
        at = cur_tell(c)
        attribute = cur_uleb(c)
        form = cur_uleb(c)
        implicit = cur_sleb(c) if form == DW_FORM_implicit_const else 1
        if c.bad:
            return fault_set(fault, FAULT_LEB if c.bad == CUR_LEB else FAULT_TRUNCATED, IN_ABBREV, cur_tell(c), 0, 0)
        if attribute == 0 and form == 0:
            break
        word = form_op(form, t.address_size, t.offset_size, t.version)
        if t.alternate:
            word = in_alternate(word)
        if word == UNKNOWN_FORM:
            return fault_set(fault, FAULT_FORM, IN_ABBREV, at, 0, cython.cast(int64_t, form))
        if t.split and leaves_split(word):
            return fault_set(fault, FAULT_SPLIT_FORM, IN_ABBREV, at, 0, cython.cast(int64_t, form))
        if add_attribute(t, attribute, word, implicit, cython.address(pending)):
            return fault_set(fault, FAULT_MEMORY, IN_ABBREV, at, 0, 0)
    if flush(t, cython.address(pending)) or not u32s_push(cython.address(t.ops), OP_END):
        return fault_set(fault, FAULT_MEMORY, IN_ABBREV, at, 0, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def sparse_slot(t: cython.pointer[AbbrevTable], code: uint64_t) -> uint32_t:
    return cython.cast(uint32_t, fold(code ^ SALT, SALT2)) & t.slot_mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def index_sparse(t: cython.pointer[AbbrevTable]) -> cython.int:
    """Codes that are not 1, 2, 3...: a hash of them. The first declaration of a code counts."""
    i: uint32_t
    at: uint32_t
    size: uint32_t = 16
    while size < t.n * 2:
        size *= 2
    free(t.slots)
    t.slots = cython.cast(cython.pointer[uint32_t], calloc(size, cython.sizeof(uint32_t)))
    if t.slots == cython.NULL:
        return 1
    t.slot_mask = size - 1
    for i in range(t.n):
        at = sparse_slot(t, t.decls[i].code)
        while t.slots[at] and t.decls[t.slots[at] - 1].code != t.decls[i].code:
            at = (at + 1) & t.slot_mask
        if t.slots[at] == 0:
            t.slots[at] = i + 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def abbrevs_find_sparse(t: cython.pointer[AbbrevTable], code: uint64_t) -> cython.pointer[AbbrevDecl]:
    at: uint32_t = sparse_slot(t, code)
    while t.slots[at]:
        if t.decls[t.slots[at] - 1].code == code:
            return cython.address(t.decls[t.slots[at] - 1])
        at = (at + 1) & t.slot_mask
    return cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_table(
    t: cython.pointer[AbbrevTable], c: cython.pointer[Cursor], fault: cython.pointer[Fault]
) -> cython.int:
    """Reads declarations up to the end of the table. Nonzero: fault."""
    code: uint64_t
    tag: uint64_t
    children: uint64_t
    at: uint64_t
    decl: cython.pointer[AbbrevDecl]
    while True:
        # Some producers leave out the table's final 0 at the end of the section.
        if c.pos == c.end:
            break
        at = cur_tell(c)
        code = cur_uleb(c)
        if c.bad == CUR_OK and code == 0:
            break
        tag = cur_uleb(c)
        children = cur_u8(c)
        if c.bad:
            return fault_set(fault, FAULT_LEB if c.bad == CUR_LEB else FAULT_TRUNCATED, IN_ABBREV, cur_tell(c), 0, 0)
        if t.n == MAX_DECLS or t.ops.n > MAX_OPS:
            return fault_set(fault, FAULT_TOO_MANY, IN_ABBREV, at, 0, t.n)
        if add_decl(t, code, tag, children):
            return fault_set(fault, FAULT_MEMORY, IN_ABBREV, at, 0, 0)
        if read_attributes(t, c, fault):
            return 1
        decl = cython.address(t.decls[t.n - 1])
        decl.fixed = fixed_size(t.ops.p + decl.program)
        t.reach = max(
            t.reach, shape_of(cython.address(decl.shape), decl.tag, decl.children, t.ops.p + decl.program)
        )
    if not t.dense and index_sparse(t):
        return fault_set(fault, FAULT_MEMORY, IN_ABBREV, cur_tell(c), 0, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def abbrevs_read(
    t: cython.pointer[AbbrevTable],
    section: Span,
    offset: uint64_t,
    address_size: uint8_t,
    offset_size: uint8_t,
    version: uint8_t,
    alternate: cython.bint,
    split: cython.bint,
    fault: cython.pointer[Fault],
) -> cython.int:
    """Compiles the table at `offset` of .debug_abbrev. A table that is already there is kept. Nonzero: fault."""
    c: Cursor
    t.read = 0
    if (
        t.valid
        and t.offset == offset
        and t.address_size == address_size
        and t.offset_size == offset_size
        and t.version == version
        and t.alternate == alternate
        and t.split == split
    ):
        return 0
    t.valid = False
    t.ops.n = 0
    t.n = 0
    t.reach = 0
    t.dense = True
    t.offset = offset
    t.address_size = address_size
    t.offset_size = offset_size
    t.version = version
    t.alternate = alternate
    t.split = split
    if offset >= section.n:
        return fault_set(fault, FAULT_ABBREV_OFFSET, IN_ABBREV, offset, 0, cython.cast(int64_t, section.n))
    cur_init(cython.address(c), section.p, offset, section.n, False)
    t.valid = not read_table(t, cython.address(c), fault)
    t.read = cur_tell(cython.address(c)) - offset
    return not t.valid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def abbrevs_have_form(section: Span, offset: uint64_t, form: uint64_t, read: cython.pointer[uint64_t]) -> cython.bint:
    """Whether some declaration of the table at `offset`, used or not, has a form. Adds to the bytes that were read.

    A broken table is looked at up to where it breaks: `abbrevs_read` will say what is wrong with it.
    """
    c: Cursor
    attribute: uint64_t
    found: uint64_t
    if offset >= section.n:
        return False
    cur_init(cython.address(c), section.p, offset, section.n, False)
    while cur_uleb(cython.address(c)) and not c.bad:  # code, tag, children
        cur_uleb(cython.address(c))
        cur_u8(cython.address(c))
        while not c.bad:
            attribute = cur_uleb(cython.address(c))
            found = cur_uleb(cython.address(c))
            if attribute == 0 and found == 0:
                break
            if found == form:
                return True
            if found == DW_FORM_implicit_const:
                cur_sleb(cython.address(c))
    read[0] += cur_tell(cython.address(c)) - offset
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def abbrevs_free(t: cython.pointer[AbbrevTable]) -> cython.void:
    u32s_free(cython.address(t.ops))
    free(t.decls)
    free(t.slots)
    memset(t, 0, cython.sizeof(AbbrevTable))
