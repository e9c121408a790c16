"""Where bitfields lie, and the order of members in Rust.

Before DWARF 4, a bitfield was described by its storage unit (DW_AT_byte_size bytes at DW_AT_data_member_location)
and DW_AT_bit_offset, the distance of its *most* significant bit from the most significant bit of the unit,
whatever the byte order. BTF wants the distance of the first bit from the start of the struct in memory order,
which for a little-endian target has to be counted from the other end. DW_AT_data_bit_offset (DWARF 4 and later)
already is what BTF wants.

Rust moves members around to save space, but describes them as they were written. BTF has them by offset.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    M_DATA_BIT_OFFSET,
    M_STATIC,
    T_BITS,
    Member,
    Type,
    Unit,
    strip_type,
    type_size,
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay_out(u: cython.pointer[Unit], m: cython.pointer[Member], little: cython.bint) -> cython.void:
    legacy: cython.schar
    if m.storage == 0:
        m.storage = cython.cast(uint32_t, type_size(u, strip_type(u, m.ref)))
    if m.storage == 0:
        return
    if not m.flags & M_DATA_BIT_OFFSET:
        legacy = m.legacy_bit_offset
        if little:
            legacy = cython.cast(cython.schar, cython.cast(int64_t, m.storage) * 8 - legacy - m.bitfield_size)
        if legacy < 0:  # in the unit before. The sum, too, has 8 bits: with units of more than 16 bytes it may wrap
            m.byte_offset -= m.storage
            legacy = cython.cast(cython.schar, cython.cast(int64_t, m.storage) * 8 + legacy)
        m.bit_offset = cython.cast(uint64_t, m.byte_offset) * 8 + cython.cast(uint64_t, cython.cast(int64_t, legacy))
    m.byte_offset = cython.cast(uint32_t, m.bit_offset // (m.storage * cython.cast(uint64_t, 8)) * m.storage)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lay_out_members(u: cython.pointer[Unit], little: cython.bint) -> cython.void:
    """Gives all members of all structs their final `bit_offset`; bitfields also their storage unit."""
    i: uint32_t
    k: uint32_t
    t: cython.pointer[Type]
    for i in range(1, u.n_types):
        t = cython.address(u.types[i])
        if not t.flags & T_BITS:
            continue
        for k in range(t.first, t.first + t.count):
            if u.members[k].flags & M_STATIC:   # no place was given: it counts as static, and stays at 0
                continue
            if u.members[k].bitfield_size:
                lay_out(u, cython.address(u.members[k]), little)
            elif u.members[k].flags & M_DATA_BIT_OFFSET:
                u.members[k].byte_offset = cython.cast(uint32_t, u.members[k].bit_offset // 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_members(run: cython.pointer[Member], scratch: cython.pointer[Member], count: uint32_t) -> cython.void:
    """Sorts members by their byte offsets; of equal ones the order stays. Overwrites `scratch`, of the same length."""
    width: uint64_t = 1
    start: uint64_t
    i: uint64_t
    j: uint64_t
    k: uint64_t
    middle: uint64_t
    end: uint64_t
    source: cython.pointer[Member] = run
    target: cython.pointer[Member] = scratch
    other: cython.pointer[Member]
    for k in range(1, count):
        if run[k - 1].byte_offset > run[k].byte_offset:
            break
    else:
        return
    while width < count:
        start = 0
        while start < count:
            middle = min(start + width, cython.cast(uint64_t, count))
            end = min(middle + width, cython.cast(uint64_t, count))
            i = start
            j = middle
            for k in range(start, end):
                if i < middle and (j == end or source[i].byte_offset <= source[j].byte_offset):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
            start = end
        other = source
        source = target
        target = other
        width *= 2
    if source != run:
        memcpy(run, source, count * cython.sizeof(Member))
