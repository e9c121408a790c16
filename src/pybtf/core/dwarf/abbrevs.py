"""Abbreviations compiled to small programs.

A DIE starts with an abbreviation code; the abbreviation says which attributes follow and in which forms (DWARF 5,
7.5.3). Interpreting attribute by attribute costs a look at every one, and most are not wanted (decl_file,
decl_line, high_pc...). So each abbreviation becomes a list of words, each an operation:

    bits 0-7    operation: how to read or skip (OP_*)
    bits 8-15   slot the value goes to (D_*)
    bits 16-23  class of the value (A_*); for OP_SKIP bits 16-31 are the number of bytes

Neighbouring unwanted attributes of fixed size become one OP_SKIP. The forms' sizes depend on the unit's version,
address size and offset size, so a table is compiled for those. Most of what a table declares was met in another one
before, and is taken from there (known_decls.py).
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, realloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import DieLayout, layout_of, passage_of
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.dwarf.known_decls import (
    FEW,
    declaration_size,
    known_add,
    known_begin,
    known_find,
    known_forget,
    known_free,
)
from cython.cimports.pybtf.core.model.debug_sections import Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import TAG_TYPE_TAG
from cython.cimports.pybtf.core.model.faults import (
    FAULT_ABBREV_OFFSET,
    FAULT_ATTRIBUTES,
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
from cython.cimports.pybtf.core.model.options import WITHOUT_GLANCE, WITHOUT_KNOWN_DECLS
from cython.cimports.pybtf.core.support.cursor import (
    CUR_LEB,
    CUR_OK,
    Cursor,
    cur_init,
    cur_left,
    cur_sleb,
    cur_tell,
    cur_u8,
    cur_uleb,
)
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold, hash_bytes
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_push

MAX_DECLS = cython.declare(uint32_t, 1 << 24)  # of a table; a few thousand are many
MAX_OPS = cython.declare(cython.size_t, 1 << 31)
# Attributes of a declaration that take no bytes of a DIE: with any number of them, a DIE of one byte may take hours.
# A DIE has each attribute at most once (DWARF 5, 2.2), and there are some 200.
MAX_WITHOUT_BYTES = cython.declare(uint32_t, 256)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_attribute(
    t: cython.pointer[AbbrevTable],
    attribute: uint64_t,
    word: uint32_t,
    implicit: int64_t,
    pending: cython.pointer[uint32_t],
    seen: cython.pointer[uint64_t],
) -> cython.int:
    """Appends what one attribute needs; `pending` is the size of the fixed values to be skipped before it. `seen`: the
    slots of those before it. Of an attribute that occurs twice the first one counts, also a name that is not text, and
    so is none.
    """
    slot: uint8_t = wanted(attribute)
    size: int64_t
    if slot == NO_SLOT and t.declarations:
        slot = wanted_of_declarations(attribute)
    if slot == NO_SLOT or (seen[0] >> slot) & 1 or (slot == D_NAME and not may_be_text(word)):
        if slot == D_NAME:
            seen[0] |= cython.cast(uint64_t, 1) << slot
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
    seen[0] |= cython.cast(uint64_t, 1) << slot
    if slot == D_MEMBER_LOCATION and t.version < 4:
        word = as_list(word)
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
def new_decl(t: cython.pointer[AbbrevTable], code: uint64_t) -> cython.int:
    """One more declaration, of which only the code is known. Nonzero: no memory."""
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
    seen: uint64_t = 0
    without_bytes: uint32_t = 0
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
        without_bytes += form == DW_FORM_flag_present or form == DW_FORM_implicit_const
        if without_bytes > MAX_WITHOUT_BYTES:
            return fault_set(fault, FAULT_ATTRIBUTES, IN_ABBREV, at, 0, MAX_WITHOUT_BYTES)
        word = form_op(form, t.address_size, t.offset_size, t.version)
        if t.alternate:
            word = in_alternate(word)
        if word == UNKNOWN_FORM:
            return fault_set(fault, FAULT_FORM, IN_ABBREV, at, 0, cython.cast(int64_t, form))
        if t.split and leaves_split(word):
            return fault_set(fault, FAULT_SPLIT_FORM, IN_ABBREV, at, 0, cython.cast(int64_t, form))
        if add_attribute(t, attribute, word, implicit, cython.address(pending), cython.address(seen)):
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
def read_decl(
    t: cython.pointer[AbbrevTable], c: cython.pointer[Cursor], fault: cython.pointer[Fault]
) -> cython.int:
    """Reads the rest of the last declaration, after its code, and compiles it. Nonzero: fault."""
    decl: cython.pointer[AbbrevDecl] = cython.address(t.decls[t.n - 1])
    start: cython.pointer[cython.const[uint8_t]] = c.pos
    size: uint32_t = 0 if t.n_alike < FEW or t.without & WITHOUT_KNOWN_DECLS else declaration_size(start, c.end)
    h: uint64_t = 0
    code: uint64_t = decl.code
    reach: uint32_t
    tag: uint64_t
    children: uint64_t
    known: cython.pointer[cython.const[KnownDecl]]
    if size:
        h = hash_bytes(cython.cast(cython.p_const_char, start), size)
        known = known_find(t, h, start, size)
        if known != cython.NULL:
            decl[0] = known.decl
            decl.code = code
            t.reach = max(t.reach, known.reach)
            c.pos += size
            return 0
    tag = cur_uleb(c)
    children = cur_u8(c)
    if c.bad:
        return fault_set(fault, FAULT_LEB if c.bad == CUR_LEB else FAULT_TRUNCATED, IN_ABBREV, cur_tell(c), 0, 0)
    decl.tag = cython.cast(cython.ushort, tag) if tag < TAG_TYPE_TAG else TAG_TYPE_TAG - 1
    decl.children = children != 0
    decl.program = cython.cast(uint32_t, t.ops.n)
    if read_attributes(t, c, fault):
        return 1
    passage_of(cython.address(decl.passage), t.ops.p + decl.program)
    if t.without & WITHOUT_GLANCE:
        memset(cython.address(decl.layout), 0, cython.sizeof(DieLayout))
        reach = 8  # as `layout_of` says of one without a layout
    else:
        reach = layout_of(cython.address(decl.layout), decl.tag, decl.children, t.ops.p + decl.program)
    t.reach = max(t.reach, reach)
    # Of another length only if the file was changed meanwhile. Then the run ends with an error, but not here.
    if size and c.pos == start + size:
        known_add(t, h, start, size, reach)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_table(
    t: cython.pointer[AbbrevTable], c: cython.pointer[Cursor], fault: cython.pointer[Fault]
) -> cython.int:
    """Reads declarations up to the end of the table. Nonzero: fault."""
    code: uint64_t
    at: uint64_t
    while True:
        # Some producers leave out the table's final 0 at the end of the section.
        if c.pos == c.end:
            break
        at = cur_tell(c)
        code = cur_uleb(c)
        if c.bad == CUR_OK and code == 0:
            break
        if t.n == MAX_DECLS or t.ops.n > MAX_OPS:
            return fault_set(fault, FAULT_TOO_MANY, IN_ABBREV, at, 0, t.n)
        if new_decl(t, code):
            return fault_set(fault, FAULT_MEMORY, IN_ABBREV, at, 0, 0)
        if read_decl(t, c, fault):
            return 1
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
    if (
        t.address_size == address_size
        and t.offset_size == offset_size
        and t.version == version
        and t.alternate == alternate
        and t.split == split
    ):
        known_begin(t)
    else:
        known_forget(t)
    t.valid = False
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
    """Whether some declaration of the table at `offset`, used or not, has a form. If none has, adds to the bytes that
    were read.

    A broken table is looked at up to where it breaks: that is a fault of the units that have it.
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
            if cur_left(cython.address(c)) >= 2 and not (c.pos[0] | c.pos[1]) & 0x80:  # nearly all pairs
                attribute = c.pos[0]
                found = c.pos[1]
                c.pos += 2
            else:
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
    known_free(t)
    memset(t, 0, cython.sizeof(AbbrevTable))
