# cython: annotation_typing=True
"""Shapes: the abbreviations whose DIEs can be read at a glance.

More than half of all DIEs are members, enumerators, parameters of prototypes, and types without children; and of
nearly all of these, compilers write every attribute in a form of fixed size. Then the places of the three things
wanted, a name, a type and a number, are known before the first such DIE is met, and the program of the abbreviation
(abbrevs.py) need not be run. A shape says these places. It is derived from the program, so it cannot say anything else.

Short names stand in the DIE itself: gcc writes those that are not longer than an offset. They come first, and all
places are counted from their end. Whatever is out of the ordinary gets no shape: other forms, other wanted attributes,
attributes that are there twice.
What is out of the ordinary in one DIE, such as an offset that leads nowhere, is left to the ordinary way too, which
knows what to say of it (glance.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.abbrevs import *
from cython.cimports.pybtf.core.shapes import *

LARGEST = cython.declare(uint32_t, 200)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shape_kind(tag: uint16_t) -> uint8_t:
    if tag == 0x0D:
        return SHAPE_MEMBER
    if tag == 0x28:
        return SHAPE_ENUMERATOR
    if tag == 0x05:
        return SHAPE_PARAMETER
    if tag == 0x0F or tag == 0x16 or tag == 0x26 or tag == 0x35 or tag == 0x37:  # pointer, typedef, qualifiers
        return SHAPE_TYPE
    return SHAPE_NONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_slot(kind: uint8_t) -> uint32_t:
    """Which attribute is the value; one that is never there if there is none."""
    if kind == SHAPE_MEMBER:
        return D_MEMBER_LOCATION
    if kind == SHAPE_ENUMERATOR:
        return D_CONST_VALUE
    return D_BYTE_SIZE if kind == SHAPE_TYPE else N_SLOTS


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
@cython.exceptval(check=False)
def shape_of_local(
    s: cython.pointer[Shape], program: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    """The shape of a variable: nothing is wanted of one in a function, if it has a location (objects.py). Its type is
    only checked.
    """
    size: uint32_t = fixed_size(program)
    at: uint32_t = 0
    operation: uint32_t
    slot: uint32_t
    located: cython.bint = False
    if size > LARGEST:
        return
    while program[0] & 0xFF != OP_END:
        operation = program[0] & 0xFF
        slot = (program[0] >> 8) & 0xFF
        if operation == OP_SKIP:
            at += program[0] >> 16
        else:
            if slot == D_TYPE and operation == OP_U4 and s.type_at == ABSENT:
                s.type_at = cython.cast(uint8_t, at)
            elif (program[0] >> 16) & 0xFF == A_REF:
                return
            located = located or slot == D_LOCATION
            at += number_size(operation)
        program += 3 if operation == OP_IMPLICIT else 1
    if located:
        s.size = cython.cast(uint8_t, size)
        s.kind = SHAPE_LOCAL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shape_of(
    s: cython.pointer[Shape], tag: uint16_t, program: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    """The shape of DIEs without children that have this tag and are read by this program."""
    kind: uint8_t = shape_kind(tag)
    wanted: uint32_t = value_slot(kind)
    at: uint32_t = 0
    word: uint32_t
    operation: uint32_t
    slot: uint32_t
    cls: uint32_t
    size: uint32_t
    memset(s, 0, cython.sizeof(Shape))
    s.name_at = s.type_at = s.value_at = ABSENT
    if tag == 0x34:
        shape_of_local(s, program)
    if kind == SHAPE_NONE:
        return
    while program[0] & 0xFF != OP_END:
        word = program[0]
        program += 1
        operation = word & 0xFF
        slot = (word >> 8) & 0xFF
        cls = (word >> 16) & 0xFF
        size = number_size(operation)
        if operation == OP_SKIP:
            size = word >> 16
        elif slot == D_NAME and operation == OP_STRING and at == 0 and s.name_at == ABSENT and not s.inline_name:
            s.inline_name = True
        elif slot == D_NAME and not s.inline_name and cls == A_STRP and size == 4 and s.name_at == ABSENT:
            s.name_at = cython.cast(uint8_t, at)
        elif slot == D_TYPE and cls == A_REF and size == 4 and s.type_at == ABSENT:
            s.type_at = cython.cast(uint8_t, at)
        elif slot == wanted and cls == A_CONST and s.value_at == ABSENT and (size or operation == OP_IMPLICIT):
            s.value_at = cython.cast(uint8_t, at)
            s.value_size = cython.cast(uint8_t, size)
            if operation == OP_IMPLICIT:
                s.value = program[0] | cython.cast(uint64_t, program[1]) << 32
                program += 2
        else:
            return
        at += size
        if at > LARGEST:
            return
    s.size = cython.cast(uint8_t, at)
    s.kind = kind
