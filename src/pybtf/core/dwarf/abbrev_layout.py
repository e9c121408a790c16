"""Layouts of DIEs: at which offsets the wanted values are, for abbreviations where that never changes.

Nearly all DIEs of a kernel outside functions are members, enumerators, parameters of prototypes, types without
children, structs and arrays, and compilers write nearly all of their attributes in forms of fixed size. The offsets of
what is wanted, a name, a type and a number, then follow from the abbreviation, and its program (abbrevs.py) need not
run for each DIE. The layout is derived from the program, so the two cannot disagree.

gcc writes a name that is no longer than an offset into the DIE itself. Such a name comes first, and all offsets are
counted from its end. An abbreviation with anything unusual has no layout: other forms, other wanted attributes, an
attribute that is there twice. A DIE with something unusual, such as an offset that leads nowhere, is left to
die_reader.py, which reports it (die_fast_path.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import *
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import T_DECLARATION, is_structure

LARGEST = cython.declare(uint32_t, 200)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_kind(tag: uint16_t, children: cython.bint) -> uint8_t:
    if is_structure(tag):
        return LAYOUT_STRUCT
    if tag == DW_TAG_subroutine_type:
        return LAYOUT_SUBROUTINE
    if tag == DW_TAG_array_type and children:
        return LAYOUT_ARRAY
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
        return LAYOUT_LOCAL
    if (
        tag == DW_TAG_pointer_type
        or tag == DW_TAG_typedef
        or tag == DW_TAG_const_type
        or tag == DW_TAG_volatile_type
        or tag == DW_TAG_restrict_type
    ):  # pointer, typedef, qualifiers
        return LAYOUT_TYPE
    return LAYOUT_NONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_slot(kind: uint8_t) -> uint32_t:
    """Which attribute is the value; one that is never there if there is none."""
    if kind == LAYOUT_MEMBER:
        return D_MEMBER_LOCATION
    if kind == LAYOUT_ENUMERATOR:
        return D_CONST_VALUE
    if kind == LAYOUT_DIMENSION:
        return D_UPPER_BOUND
    return N_SLOTS if kind == LAYOUT_PARAMETER else D_BYTE_SIZE


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
def fixed_size(program: cython.pointer[cython.const[uint32_t]]) -> uint16_t:
    """Bytes of the values that this program reads or skips, VARYING if that is not known."""
    at: uint32_t = 0
    operation: uint32_t = program[0] & 0xFF
    while operation != OP_END:
        if operation == OP_SKIP:
            at += program[0] >> 16
        elif operation == OP_IMPLICIT:
            program += 2
        elif number_size(operation):
            at += number_size(operation)
        else:
            return VARYING
        if at >= VARYING:
            return VARYING
        program += 1
        operation = program[0] & 0xFF
    return cython.cast(uint16_t, at)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def typed(s: cython.pointer[DieLayout], at: uint32_t) -> cython.void:
    s.typed = True
    s.type_mask = 0xFFFFFFFF
    s.type_at = cython.cast(uint8_t, at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_of_local(s: cython.pointer[DieLayout], program: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The layout of a variable. Nothing is wanted of one in a function if it has a location (die_objects.py); its type
    is only checked. Returns its size in bytes; above LARGEST, it has no layout.
    """
    size: uint32_t = fixed_size(program)
    at: uint32_t = 0
    operation: uint32_t
    slot: uint32_t
    located: cython.bint = False
    if size > LARGEST:
        return size
    while program[0] & 0xFF != OP_END:
        operation = program[0] & 0xFF
        slot = (program[0] >> 8) & 0xFF
        if operation == OP_SKIP:
            at += program[0] >> 16
        else:
            if slot == D_TYPE and operation == OP_U4 and not s.typed:
                typed(s, at)
            elif (program[0] >> 16) & 0xFF == A_REF:
                return VARYING
            located = located or slot == D_LOCATION
            at += number_size(operation)
        program += 3 if operation == OP_IMPLICIT else 1
    return size if located else VARYING


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def valued(s: cython.pointer[DieLayout], at: uint32_t, size: uint32_t) -> cython.void:
    s.valued = True
    s.value_at = cython.cast(uint8_t, at)
    if size:
        s.value_shift = 64 - 8 * size
        s.value_mask = cython.cast(uint64_t, -1) >> s.value_shift


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def implicit(program: cython.pointer[cython.const[uint32_t]]) -> uint64_t:
    return program[0] | cython.cast(uint64_t, program[1]) << 32


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wanted_offsets(
    s: cython.pointer[DieLayout], kind: uint8_t, program: cython.pointer[cython.const[uint32_t]]
) -> uint32_t:
    """The offsets of what is wanted of a DIE of this kind. Returns its size; above LARGEST, it has no layout."""
    wanted: uint32_t = value_slot(kind)
    at: uint32_t = 0
    word: uint32_t
    operation: uint32_t
    slot: uint32_t
    cls: uint32_t
    size: uint32_t
    in_bits: cython.bint = False  # the value of a member is a number of bits
    while program[0] & 0xFF != OP_END and at <= LARGEST:
        word = program[0]
        program += 1
        operation = word & 0xFF
        slot = (word >> 8) & 0xFF
        cls = (word >> 16) & 0xFF
        size = number_size(operation)
        if operation == OP_SKIP:
            size = word >> 16
        elif slot == D_NAME and operation == OP_STRING and at == 0 and not s.named and not s.inline_name:
            s.inline_name = True
        elif slot == D_NAME and not s.inline_name and cls == A_STRP and size == 4 and not s.named:
            s.named = True
            s.name_mask = 0xFFFFFFFF
            s.name_at = cython.cast(uint8_t, at)
        elif slot == D_TYPE and cls == A_REF and size == 4 and not s.typed:
            typed(s, at)
        elif slot == D_SIBLING and kind >= LAYOUT_STRUCT and cls == A_REF and size == 4 and not s.with_sibling:
            s.with_sibling = True
            s.sibling_at = cython.cast(uint8_t, at)
        elif slot == wanted and cls == A_CONST and not s.valued and (size or operation == OP_IMPLICIT):
            valued(s, at, size)
            if operation == OP_IMPLICIT:
                s.value = implicit(program)
                program += 2
        elif slot == D_DATA_BIT_OFFSET and kind == LAYOUT_MEMBER and cls == A_CONST and not s.valued and size:
            in_bits = True
            valued(s, at, size)
        elif slot == D_BIT_SIZE and kind == LAYOUT_MEMBER and cls == A_CONST and not s.bits and size == 1:
            s.bits = True
            s.bits_at = cython.cast(uint8_t, at)
        elif slot == D_DECLARATION and kind == LAYOUT_STRUCT and operation == OP_IMPLICIT and not s.flags:
            if cls != A_FLAG or implicit(program) == 0:
                return VARYING
            s.flags = T_DECLARATION
            program += 2
        else:
            return VARYING
        at += size
    return at if s.bits == in_bits else VARYING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def layout_of(
    s: cython.pointer[DieLayout], tag: uint16_t, children: cython.bint, program: cython.pointer[cython.const[uint32_t]]
) -> uint32_t:
    """See `abbrev_layout.pxd`. The layout of DIEs with this tag, which are read by this program."""
    kind: uint8_t = layout_kind(tag, children)
    size: uint32_t
    memset(s, 0, cython.sizeof(DieLayout))
    # What is not there is read as well, at offset 0, and masked out.
    if kind == LAYOUT_NONE:
        return 8
    size = layout_of_local(s, program) if kind == LAYOUT_LOCAL else wanted_offsets(s, kind, program)
    if size > LARGEST:
        memset(s, 0, cython.sizeof(DieLayout))
        return 8
    s.size = cython.cast(uint8_t, size)
    s.kind = kind
    return max(size, max(s.value_at + 8, max(s.name_at, max(s.type_at, s.sibling_at)) + 4, s.bits_at + 1))
