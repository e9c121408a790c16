"""Layouts of DIEs: at which offsets the wanted values are, for abbreviations where that never changes.

Of nearly all DIEs of a kernel, compilers write nearly all attributes in forms of fixed size. The offsets of what is
wanted, a name, a type and a number, then follow from the abbreviation, and its program (abbrevs.py) need not run for
each DIE. The layout is derived from the program, so the two cannot disagree. Functions with code have no layout,
because gcc describes their frame base in a block; base types have none because they are few.

Values of variable size are allowed in a few places only. gcc writes a name that is no longer than an offset into the
DIE itself. Such a name comes first, as do clang's places of code and data in functions, and all offsets are counted
from its end. An enumerator may end with its value. An alignment is a number of one byte.

clang's names of DWARF 5 are indexes into a table of offsets. An abbreviation with anything unusual has no layout: other
forms, other wanted attributes, an attribute that occurs twice. A DIE with something unusual, such as an offset that
leads nowhere, is left to die_reader.py, which reports it (die_fast_path.py).

For example, with the bytes that each attribute takes in brackets:

    gcc, a member            name strp (4), file, line and column (3), type ref4 (4), location data1 (1)
                             name_at 0, type_at 7, value_at 11, size 12; it is plain
    its name in the DIE      name string, then the same: lead TEXT, type_at 3, value_at 7, size 8
    clang, a member          name strx1 (1), type ref4 (4), file and line (2), location data1 (1)
                             named 1: an index of one byte; type_at 1, value_at 7, size 8
    a bitfield               ..., type ref4 (4), bit_size data1 (1), data_bit_offset data2 (2)
                             extra IS_BITS, the value is the offset: LAYOUT_ODD_MEMBER
    clang, an enumerator     name strx1 (1), const_value udata: extra IS_UNSIGNED, after which nothing may be
    an aligned struct        ..., alignment udata, ...: extra IS_SHORT; a DIE in which it is longer is not read so

Of a DIE that is passed over, only the size is needed (passing.py); its *passage* says how to find it.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import *
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_DECLARATION,
    T_DECLARATION,
    V_DECLARATION,
    V_EXTERNAL,
    is_structure,
)

LARGEST = cython.declare(uint32_t, 200)  # bytes of a DIE that has a layout, whose offsets are bytes
VARYING = cython.declare(uint32_t, 0xFFFF)  # as a size: there is no layout. More than LARGEST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_kind(tag: uint16_t, children: cython.bint) -> uint8_t:
    """What a DIE with this tag is read as; LAYOUT_NONE: attribute by attribute."""
    if is_structure(tag):
        return LAYOUT_STRUCT
    if tag == DW_TAG_subroutine_type:
        return LAYOUT_SUBROUTINE
    if tag == DW_TAG_array_type and children:
        return LAYOUT_ARRAY
    if tag == DW_TAG_enumeration_type:
        return LAYOUT_ENUM
    if tag == DW_TAG_subprogram:
        return LAYOUT_FUNCTION
    if tag == DW_TAG_lexical_block and children:
        return LAYOUT_BLOCK
    if tag == DW_TAG_inlined_subroutine or tag == DW_TAG_call_site or tag == DW_TAG_GNU_call_site:
        return LAYOUT_PASSED
    if children:
        return LAYOUT_NONE
    if tag == DW_TAG_member:
        return LAYOUT_MEMBER
    if tag == DW_TAG_enumerator:
        return LAYOUT_ENUMERATOR
    if tag == DW_TAG_formal_parameter:
        return LAYOUT_PARAMETER
    if tag == DW_TAG_subrange_type:
        return LAYOUT_DIMENSION
    if tag == DW_TAG_variable:
        return LAYOUT_VARIABLE
    if (
        tag == DW_TAG_pointer_type
        or tag == DW_TAG_typedef
        or tag == DW_TAG_const_type
        or tag == DW_TAG_volatile_type
        or tag == DW_TAG_restrict_type
    ):
        return LAYOUT_TYPE
    return LAYOUT_NONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_slot(kind: uint8_t) -> uint32_t:
    """Which attribute is the value; one that is never there if there is none."""
    if kind == LAYOUT_MEMBER:
        return D_MEMBER_LOCATION
    if kind == LAYOUT_ENUMERATOR or kind == LAYOUT_VARIABLE:  # that of a variable does not matter
        return D_CONST_VALUE
    if kind == LAYOUT_DIMENSION:
        return D_UPPER_BOUND
    if kind == LAYOUT_PARAMETER or kind == LAYOUT_FUNCTION or kind == LAYOUT_BLOCK:
        return N_SLOTS
    return D_BYTE_SIZE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def flag_of(kind: uint8_t, slot: uint32_t) -> uint8_t:
    """The flag of a DIE of this kind that has this attribute; 0: none, or one that is not wanted."""
    if slot == D_DECLARATION:
        if kind == LAYOUT_STRUCT or kind == LAYOUT_ENUM:
            return T_DECLARATION
        if kind == LAYOUT_FUNCTION:
            return F_DECLARATION
        if kind == LAYOUT_VARIABLE:
            return V_DECLARATION
    return V_EXTERNAL if slot == D_EXTERNAL and kind == LAYOUT_VARIABLE else 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def has_origin(kind: uint8_t) -> cython.bint:
    """Whether a DW_AT_abstract_origin may stand in place of the type."""
    return kind == LAYOUT_PARAMETER or kind == LAYOUT_BLOCK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_idle(kind: uint8_t, slot: uint32_t) -> cython.bint:
    """Whether an attribute that is wanted of others does not matter here. That a function is inline does only where its
    calling convention is unusual, and then it has no layout.
    """
    if kind == LAYOUT_BLOCK:
        return slot == D_LOW_PC
    return kind == LAYOUT_FUNCTION and (slot == D_EXTERNAL or slot == D_INLINE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_size(operation: uint32_t) -> uint32_t:
    """Bytes of a number of fixed size, 0 if `operation` reads something else."""
    if operation == OP_U1:
        return 1
    if operation == OP_U2:
        return 2
    if operation == OP_U4:
        return 4
    return 8 if operation == OP_U8 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def part_of(operation: uint32_t) -> uint8_t:
    """What an operation reads or skips that is not a number of fixed size."""
    if operation == OP_ULEB or operation == OP_SLEB or operation == OP_SKIP_LEB:
        return LEB
    if operation == OP_BLOCK or operation == OP_SKIP_BLOCK:
        return BLOCK
    return TEXT if operation == OP_STRING or operation == OP_SKIP_STRING else UNCLEAR


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_leb(word: uint32_t) -> cython.bint:
    """Whether a value is a constant of the form udata or sdata."""
    return part_of(word & 0xFF) == LEB and (word >> 16) & 0xFF == A_CONST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def passage_of(q: cython.pointer[Passage], program: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """That of DIEs which are read by this program."""
    sizes: uint32_t[3]
    parts: uint8_t[3]
    n: uint32_t = 0
    operation: uint32_t = program[0] & 0xFF
    memset(sizes, 0, cython.sizeof(sizes))
    memset(parts, 0, cython.sizeof(parts))
    memset(q, 0, cython.sizeof(Passage))
    while operation != OP_END and n < 3 and sizes[n] <= LARGEST:
        if operation >= OP_U1 and (program[0] >> 8) & 0xFF == D_SIBLING:
            q.sibling = True
        if operation == OP_SKIP:
            sizes[n] += program[0] >> 16
        elif operation == OP_IMPLICIT:
            program += 2
        elif number_size(operation):
            sizes[n] += number_size(operation)
        else:
            parts[n] = part_of(operation)
            n += 1
        program += 1
        operation = program[0] & 0xFF
    if operation != OP_END or n == 3 or sizes[n] > LARGEST:
        parts[0] = UNCLEAR
    q.first = cython.cast(uint8_t, sizes[0])
    q.part = parts[0]
    q.second = cython.cast(uint8_t, sizes[1])
    q.other_part = parts[1]
    q.third = cython.cast(uint8_t, sizes[2])


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def set_extra(s: cython.pointer[DieLayout], extra: uint8_t, at: uint32_t) -> cython.void:
    """There is this extra, `at` bytes after the lead, as all offsets below are counted."""
    s.extra = extra
    s.extra_at = cython.cast(uint8_t, at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_form(cls: uint32_t, size: uint32_t) -> uint8_t:
    """`DieLayout.named` of a name of this class and size; 0: it is not read at a glance."""
    if cls == A_STRP and size == 4:
        return BY_OFFSET
    return cython.cast(uint8_t, size) if cls == A_STRX and size <= 4 else 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def set_type(s: cython.pointer[DieLayout], at: uint32_t) -> cython.void:
    """There is a reference: the type, or what stands in its place."""
    s.type_mask = 0xFFFFFFFF
    s.type_at = cython.cast(uint8_t, at)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def set_sibling(s: cython.pointer[DieLayout], at: uint32_t) -> cython.void:
    """There is a DW_AT_sibling."""
    s.with_sibling = True
    s.sibling_at = cython.cast(uint8_t, at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_of_passed(
    s: cython.pointer[DieLayout], program: cython.pointer[cython.const[uint32_t]], located: cython.pointer[cython.bint]
) -> uint32_t:
    """The layout of what is passed over, of which one reference is checked, and nothing else. Returns how many of its
    bytes are looked at for that; above LARGEST, it has no layout. `located`: whether it has a location.
    """
    at: uint32_t = 0
    after: cython.bint = False  # something is before it that is of no fixed size, and not the lead
    word: uint32_t
    operation: uint32_t
    slot: uint32_t
    cls: uint32_t
    while program[0] & 0xFF != OP_END and at <= LARGEST:
        word = program[0]
        program += 1
        operation = word & 0xFF
        slot = (word >> 8) & 0xFF
        cls = (word >> 16) & 0xFF
        if operation == OP_SKIP:
            at += word >> 16
            continue
        located[0] = located[0] or (operation >= OP_U1 and slot == D_LOCATION)
        if operation == OP_IMPLICIT:
            program += 2
        elif cls == A_REF and (operation != OP_U4 or after):
            return VARYING
        elif number_size(operation) == 0:
            if part_of(operation) == UNCLEAR:
                return VARYING
            if at == 0 and not s.lead:
                s.lead = part_of(operation)
            else:
                after = True
        else:
            if cls == A_REF and slot == D_SIBLING and not s.with_sibling:
                set_sibling(s, at)
            elif cls == A_REF and s.type_mask:
                return VARYING
            elif cls == A_REF:
                set_type(s, at)
            at += number_size(operation)
    return at


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def set_value(s: cython.pointer[DieLayout], at: uint32_t, size: uint32_t) -> cython.void:
    """There is a value, of `size` bytes; 0: it is in the abbreviation."""
    s.valued = True
    s.value_at = cython.cast(uint8_t, at)
    if size:
        s.value_shift = 64 - 8 * size
        s.value_mask = cython.cast(uint64_t, -1) >> s.value_shift


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def implicit_const(program: cython.pointer[cython.const[uint32_t]]) -> uint64_t:
    """The number after an OP_IMPLICIT, in two words, the low one first."""
    return program[0] | cython.cast(uint64_t, program[1]) << 32


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_leading_location(word: uint32_t) -> cython.bint:
    """Whether a location of this form is the index of a list, or an expression."""
    cls: uint32_t = (word >> 16) & 0xFF
    return ((word & 0xFF) == OP_ULEB and cls == A_LISTX) or ((word & 0xFF) == OP_BLOCK and cls == A_EXPR)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_leb(s: cython.pointer[DieLayout], at: uint32_t) -> cython.bint:
    """A LEB128 number that does not matter: the lead, or else an extra of one byte. False: it can be neither; so all
    functions below that take an attribute into a layout say that there is none.
    """
    if at == 0 and not s.lead:
        s.lead = LEB
        return True
    if s.extra:
        return False
    set_extra(s, IS_SHORT, at)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_implicit(
    s: cython.pointer[DieLayout], kind: uint8_t, slot: uint32_t, cls: uint32_t, at: uint32_t, number: uint64_t
) -> cython.bint:
    """An attribute whose value is in the abbreviation."""
    if slot == value_slot(kind) and cls == A_CONST and not s.valued:
        set_value(s, at, 0)
        s.value = number
    elif slot == D_ENCODING and kind == LAYOUT_ENUM and not s.extra:
        s.encoding = cython.cast(uint8_t, number)
    elif flag_of(kind, slot) and cls == A_FLAG:
        s.flags |= flag_of(kind, slot)
    else:
        return is_idle(kind, slot)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_reference(s: cython.pointer[DieLayout], kind: uint8_t, slot: uint32_t, at: uint32_t) -> cython.bint:
    """A reference of four bytes."""
    if slot == D_SIBLING:
        if kind < LAYOUT_STRUCT or s.with_sibling:
            return False
        set_sibling(s, at)
        return True
    if s.type_mask or not (slot == D_TYPE or (slot == D_ORIGIN and has_origin(kind))):
        return False
    set_type(s, at)
    if slot == D_ORIGIN and kind == LAYOUT_PARAMETER:
        s.flags |= BY_ORIGIN
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_name(s: cython.pointer[DieLayout], cls: uint32_t, at: uint32_t, size: uint32_t) -> cython.bint:
    """A name of `size` bytes that is somewhere else."""
    if s.lead == TEXT or s.named or not name_form(cls, size):
        return False
    s.named = name_form(cls, size)
    s.name_mask = 0xFFFFFFFF
    s.name_at = cython.cast(uint8_t, at)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_number(
    s: cython.pointer[DieLayout], kind: uint8_t, slot: uint32_t, cls: uint32_t, at: uint32_t, size: uint32_t
) -> cython.bint:
    """A number of `size` bytes, which is not a reference."""
    if slot == D_NAME:
        return take_name(s, cls, at, size)
    if slot == D_LOCATION:
        if kind != LAYOUT_PARAMETER or cls != A_SEC_OFFSET or size != 4 or s.valued:
            return False
        set_value(s, at, size)
        return True
    if cls != A_CONST:
        return False
    if slot == D_BIT_SIZE and kind == LAYOUT_MEMBER:
        if s.extra or size != 1:
            return False
        set_extra(s, IS_BITS, at)
        return True
    if slot == D_ENCODING and kind == LAYOUT_ENUM:
        if s.extra or size != 1:
            return False
        set_extra(s, IS_ENCODING, at)
        return True
    if s.valued:
        return False
    if slot == D_COUNT and kind == LAYOUT_DIMENSION:
        s.flags = COUNTED
    elif slot != value_slot(kind) and not (slot == D_DATA_BIT_OFFSET and kind == LAYOUT_MEMBER):
        return False
    set_value(s, at, size)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_varying(s: cython.pointer[DieLayout], kind: uint8_t, word: uint32_t, at: uint32_t) -> cython.bint:
    """What is of no fixed size: the lead, or the value of an enumerator, after which nothing may be."""
    operation: uint32_t = word & 0xFF
    slot: uint32_t = (word >> 8) & 0xFF
    if slot == D_NAME and operation == OP_STRING and at == 0 and not s.named and not s.lead:
        s.lead = TEXT
    elif slot == D_LOCATION and kind == LAYOUT_PARAMETER and at == 0 and not s.lead and is_leading_location(word):
        s.lead = part_of(operation)
        s.flags |= IN_LEAD
    elif slot == value_slot(kind) and kind == LAYOUT_ENUMERATOR and is_leb(word) and not s.extra:
        set_extra(s, IS_SIGNED if operation == OP_SLEB else IS_UNSIGNED, at)
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wanted_offsets(
    s: cython.pointer[DieLayout], kind: uint8_t, program: cython.pointer[cython.const[uint32_t]]
) -> uint32_t:
    """The offsets of what is wanted of a DIE of this kind. Returns its size; above LARGEST, it has no layout."""
    at: uint32_t = 0
    word: uint32_t
    operation: uint32_t
    slot: uint32_t
    cls: uint32_t
    size: uint32_t
    taken: cython.bint = True
    in_bits: cython.bint = False  # the value of a member is a number of bits
    while program[0] & 0xFF != OP_END and at <= LARGEST:
        word = program[0]
        program += 1
        operation = word & 0xFF
        slot = (word >> 8) & 0xFF
        cls = (word >> 16) & 0xFF
        size = number_size(operation)
        if s.extra == IS_SIGNED or s.extra == IS_UNSIGNED:
            return VARYING  # something is after what must be the end
        if operation == OP_SKIP:
            size = word >> 16
        elif operation == OP_SKIP_LEB or (operation == OP_ULEB and is_idle(kind, slot)):
            taken = take_leb(s, at)
            size = 1 if s.extra else 0
        elif operation < OP_U1:
            return VARYING
        elif operation == OP_IMPLICIT:
            taken = take_implicit(s, kind, slot, cls, at, implicit_const(program))
            program += 2
        elif is_idle(kind, slot):
            taken = size != 0
        elif cls == A_REF:
            taken = size == 4 and take_reference(s, kind, slot, at)
        elif size:
            taken = take_number(s, kind, slot, cls, at, size)
            in_bits = in_bits or slot == D_DATA_BIT_OFFSET
        else:
            taken = take_varying(s, kind, word, at)
        if not taken:
            return VARYING
        at += size
    return VARYING if kind == LAYOUT_MEMBER and (s.extra == IS_BITS) != in_bits else at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_of(
    s: cython.pointer[DieLayout], tag: uint16_t, children: cython.bint, program: cython.pointer[cython.const[uint32_t]]
) -> uint32_t:
    """See `abbrev_layout.pxd`. The layout of DIEs with this tag, which are read by this program."""
    kind: uint8_t = layout_kind(tag, children)
    size: uint32_t
    located: cython.bint = False
    memset(s, 0, cython.sizeof(DieLayout))
    # What is not there is read as well, at offset 0, and masked out.
    if kind == LAYOUT_NONE:
        return 8
    if kind == LAYOUT_PASSED or kind == LAYOUT_VARIABLE:
        size = layout_of_passed(s, program, cython.address(located))
        if kind == LAYOUT_VARIABLE and located:
            kind = LAYOUT_PASSED
        elif kind == LAYOUT_VARIABLE:
            memset(s, 0, cython.sizeof(DieLayout))
            size = wanted_offsets(s, kind, program)
    else:
        size = wanted_offsets(s, kind, program)
    if size > LARGEST:
        memset(s, 0, cython.sizeof(DieLayout))
        return 8
    s.size = cython.cast(uint8_t, size)
    s.kind = LAYOUT_ODD_MEMBER if kind == LAYOUT_MEMBER and (s.extra or not s.valued) else kind
    s.plain = not s.lead and (s.named == 0 or s.named == BY_OFFSET)
    return max(size, max(s.value_at + 8, max(s.name_at, max(s.type_at, s.sibling_at)) + 4, s.extra_at + LEB_BYTES))
