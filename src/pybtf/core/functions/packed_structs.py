"""Packed structs: was a struct declared `__attribute__((packed))`? DWARF does not say, so the layout has to tell.

A struct without holes and padding whose members do not lie where their natural alignment would put them, or
whose size does not end where it would, must have been packed. A struct with holes was not: the compiler had
no reason to leave them. The answer matters only for structs passed by value on the stack, whose place then
cannot be told.

The natural alignment of a type is found by recursion into members and array elements; alignments are
remembered for the whole unit, because structs nested twice in each level would otherwise take exponential
time. Hostile input may nest types in a circle or without end: a type that is its own member, or lies deeper
than `MAX_DEPTH`, counts as aligned to 1, and chains of typedefs are followed for `LONGEST_TYPE_CHAIN` steps. Offsets
and sizes are any numbers, so sums of them may wrap.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.functions.packed_structs import Covered
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    LONGEST_TYPE_CHAIN,
    M_INHERITANCE,
    M_STATIC,
    M_VIRTUAL,
    T_PACKED,
    T_PACKED_KNOWN,
    Member,
    Type,
    Unit,
    base_size,
    is_pointer,
    is_transparent,
    may_step,
    strip_type,
    type_size,
)
from cython.cimports.pybtf.core.support.memory import U32s, u32s_reserve

MAX_DEPTH = cython.declare(cython.int, 500)  # nesting of types by value that is followed
BUSY = cython.declare(uint32_t, 0xFFFFFFFF)  # an alignment that is being computed


# ---------------------------------------------------------------- natural alignment


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def counts(member: cython.pointer[cython.const[Member]]) -> cython.bint:
    """Whether a member takes part: a static one does not, nor does a virtual base."""
    return not (member.flags & M_STATIC or (member.flags & M_INHERITANCE and member.flags & M_VIRTUAL))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def alignment(
    unit: cython.pointer[Unit], id: uint32_t, align: cython.pointer[uint32_t], depth: cython.int
) -> uint32_t:
    """The natural alignment of a type, at least 1. `align` remembers those of structs and unions."""
    t: cython.pointer[cython.const[Type]]
    i: uint32_t
    steps: uint32_t
    found: uint32_t
    largest: uint32_t = 1
    for steps in range(LONGEST_TYPE_CHAIN):
        if id == 0 or id >= unit.n_types:
            break
        if not may_step(unit, steps):
            return 1
        if not is_transparent(unit.types[id].tag) and unit.types[id].tag != DW_TAG_array_type:
            break
        id = unit.types[id].ref
    else:
        return 1
    if id == 0 or id >= unit.n_types:
        return 1
    t = unit.types + id
    if is_pointer(t.tag):
        return unit.address_size
    if t.tag == DW_TAG_base_type:
        return max(base_size(t), 1)
    if t.tag == DW_TAG_enumeration_type:
        return t.size if t.size else 4
    if (
        t.tag != DW_TAG_structure_type
        and t.tag != DW_TAG_union_type
        and t.tag != DW_TAG_class_type
        and t.tag != DW_TAG_interface_type
    ):
        return 1
    if align[id]:
        return 1 if align[id] == BUSY else align[id]
    if depth == MAX_DEPTH:
        return 1
    align[id] = BUSY
    for i in range(t.count):
        if counts(unit.members + t.first + i):
            found = alignment(unit, unit.members[t.first + i].ref, align, depth + 1)
            if found > largest:
                largest = found
    align[id] = largest
    return largest


# ---------------------------------------------------------------- holes


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def hole_before(c: cython.pointer[Covered], member: cython.pointer[cython.const[Member]]) -> cython.bint:
    """Whether whole bytes lie unused in front of a member, or of the storage unit in which a bitfield begins. That
    unit counts as covered up to it from then on.
    """
    start: int64_t = cython.cast(int64_t, member.bit_offset)
    storage: int64_t = cython.cast(int64_t, member.byte_offset) * 8
    hole: cython.bint
    if c.in_bitfield:
        c.position = min(start, c.end)
    if not member.bitfield_size:
        return start // 8 > c.position // 8
    if c.position >= storage or storage > start:
        return False
    hole = member.byte_offset > c.position // 8
    c.position = storage
    return hole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cover(c: cython.pointer[Covered], member: cython.pointer[cython.const[Member]], size: int64_t) -> cython.void:
    """Takes a member of `size` bits into account."""
    storage: int64_t = cython.cast(int64_t, member.storage) * 8
    c.position = cython.cast(int64_t, member.bit_offset + cython.cast(uint64_t, size))
    c.in_bitfield = member.bitfield_size != 0
    if not c.in_bitfield:
        c.width = 0
        c.end = c.position
    elif c.position > c.end or storage > c.width:
        c.width = storage
        c.end = cython.cast(int64_t, member.byte_offset) * 8 + c.width
        if c.position > c.end:
            c.end += c.width


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_holes(unit: cython.pointer[Unit], t: cython.pointer[cython.const[Type]]) -> cython.bint:
    """Whether whole bytes lie unused between the members of a struct or after the last one.

    pahole counts holes in 8 bits and padding in 16: 256 holes count as none, 65,536 bytes as no padding.
    """
    member: cython.pointer[cython.const[Member]]
    i: uint32_t
    holes: uint8_t = 0
    whole: int64_t = cython.cast(int64_t, t.size) * 8
    size: int64_t
    c: Covered
    c.position = c.width = 0
    c.end = whole
    c.in_bitfield = False
    for i in range(t.count):
        member = unit.members + t.first + i
        if not counts(member):
            continue
        size = member.bitfield_size
        if not size:
            size = cython.cast(int64_t, type_size(unit, member.ref) * 8)
            if member.flags & M_INHERITANCE and size == 0:
                continue
        holes += hole_before(cython.address(c), member)
        cover(cython.address(c), member, size)
    if c.in_bitfield:
        c.position = min(whole, c.end)
    return holes != 0 or cython.cast(uint16_t, cython.cast(int64_t, t.size) - c.position // 8) != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_misplaced(
    unit: cython.pointer[Unit], t: cython.pointer[Type], align: cython.pointer[uint32_t]
) -> cython.void:
    """A struct with holes is not packed; a member of it that lies at an unnatural offset all the same is."""
    member: cython.pointer[Member]
    i: uint32_t
    id: uint32_t
    for i in range(t.count):
        member = unit.members + t.first + i
        if not counts(member):
            continue
        id = strip_type(unit, member.ref)
        if id == 0:
            continue
        if (
            unit.types[id].tag != DW_TAG_structure_type
            and unit.types[id].tag != DW_TAG_class_type
            and unit.types[id].tag != DW_TAG_interface_type
        ):
            continue
        if member.byte_offset % alignment(unit, id, align, 0):
            unit.types[id].flags |= T_PACKED | T_PACKED_KNOWN


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unnatural(unit: cython.pointer[Unit], t: cython.pointer[Type], align: cython.pointer[uint32_t]) -> cython.bint:
    """Whether a struct without holes has a member or an end at an unnatural place."""
    member: cython.pointer[Member]
    i: uint32_t
    natural: uint32_t
    largest: uint32_t = 1
    for i in range(t.count):
        member = unit.members + t.first + i
        if not counts(member):
            continue
        natural = alignment(unit, member.ref, align, 0)
        if member.byte_offset % natural:
            return True
        if natural > largest:
            largest = natural
    return t.size % largest != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def infer_packed(unit: cython.pointer[Unit], id: uint32_t, align: cython.pointer[U32s]) -> cython.int:
    """See packed_structs.pxd."""
    t: cython.pointer[Type] = unit.types + id
    packed: cython.bint = False
    if t.flags & T_PACKED_KNOWN:
        return (t.flags & T_PACKED) != 0
    if align.n == 0:
        if not u32s_reserve(align, unit.n_types):
            return -1
        memset(align.p, 0, unit.n_types * cython.sizeof(uint32_t))
        align.n = unit.n_types
    if has_holes(unit, t):
        mark_misplaced(unit, t, align.p)
    else:
        packed = unnatural(unit, t, align.p)
    t.flags |= T_PACKED_KNOWN
    if packed:
        t.flags |= T_PACKED
    return packed
