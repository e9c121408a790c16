"""Where members may be, and how wide. It depends on what they are of, and on whether the struct's offsets have widths.

Without widths the whole word is an offset in bits. With widths, a member of width 0 is not a bit-field; an enumeration
then needs four bytes, whatever its own size.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.accept.accept import (
    KIND_DATASEC,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_INT,
    NOTHING,
    R_MEMBER_ALIGN,
    R_MEMBER_BASE,
    R_MEMBER_BIT,
    R_MEMBER_BYTE,
    R_MEMBER_COPY,
    R_MEMBER_EXCEEDS,
    R_MEMBER_TYPE,
    R_MEMBER_WIDTH,
    Layer,
    add,
    bytes_of_bits,
    kind_of,
    record_of,
)
from cython.cimports.pybtf.core.accept.accept_sizes import SIZED, UNKNOWN, is_regular, sized


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fits(size: uint32_t, offset: uint64_t, need: uint64_t) -> cython.bint:
    """Whether `need` bytes at an offset in bits are within `size`."""
    return (offset >> 3) + need <= size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_number(
    y: cython.pointer[Layer], id: uint32_t, at: uint32_t, of: uint32_t, offset: uint64_t, width: uint32_t,
    flag: cython.bint,
) -> cython.void:
    """A member that is an INT."""
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, of)
    size: uint32_t = record_of(y, id)[2]
    most: uint32_t = 128 if y.version >= 501 else 64
    bits: uint32_t = r[3] & 0xFF
    if flag:
        if not is_regular(y, r):
            add(y, R_MEMBER_BASE, id, at, r[3])
            return
        if width == 0:
            if offset & 7:
                add(y, R_MEMBER_BIT, id, at, offset)
                return
        elif width > bits:
            add(y, R_MEMBER_WIDTH, id, at, width)
            return
        else:
            bits = width
    else:
        offset += r[3] >> 16 & 0xFF
        if offset > NOTHING:
            add(y, R_MEMBER_EXCEEDS, id, at, offset)
            return
    bits += offset & 7
    if bits > most:
        add(y, R_MEMBER_COPY, id, at, bits)
    elif not fits(size, offset, bytes_of_bits(bits)):
        add(y, R_MEMBER_EXCEEDS, id, at, offset)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_enumeration(
    y: cython.pointer[Layer], id: uint32_t, at: uint32_t, of: uint32_t, offset: uint64_t, width: uint32_t,
    flag: cython.bint,
) -> cython.void:
    size: uint32_t = record_of(y, id)[2]
    if offset & 7 and (not flag or width == 0):
        add(y, R_MEMBER_BYTE, id, at, offset)
    elif not flag:
        if not fits(size, offset, record_of(y, of)[2]):
            add(y, R_MEMBER_EXCEEDS, id, at, offset)
    elif width > 32:
        add(y, R_MEMBER_WIDTH, id, at, width)
    elif bytes_of_bits(offset + (width or 32)) > size:
        add(y, R_MEMBER_EXCEEDS, id, at, offset)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_offset(y: cython.pointer[Layer], id: uint32_t, at: uint32_t) -> cython.void:
    """Member number `at` of a struct or union, whose type exists."""
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    m: cython.pointer[cython.const[uint32_t]] = r + 3 + 3 * cython.cast(cython.size_t, at)
    flag: cython.bint = r[1] >> 31
    offset: uint64_t = m[2] & 0xFFFFFF if flag else m[2]
    width: uint32_t = m[2] >> 24 if flag else 0
    end: uint32_t
    of_size: uint32_t
    align: uint32_t
    kind: uint32_t
    status: cython.int = sized(y, m[1], cython.address(end), cython.address(of_size))
    if status == UNKNOWN:
        return
    kind = kind_of(y, end)
    if status != SIZED or kind == KIND_DATASEC:
        add(y, R_MEMBER_TYPE, id, at, m[1])
        return
    if kind == KIND_INT:
        check_number(y, id, at, end, offset, width, flag)
    elif kind == KIND_ENUM or kind == KIND_ENUM64:
        check_enumeration(y, id, at, end, offset, width, flag)
    elif width:
        add(y, R_MEMBER_WIDTH, id, at, width)
    elif kind == KIND_FLOAT:
        align = min(y.pointer, of_size)
        if align and offset % (8 * align):
            add(y, R_MEMBER_ALIGN, id, at, offset)
        elif not fits(r[2], offset, of_size):
            add(y, R_MEMBER_EXCEEDS, id, at, offset)
    elif offset & 7:
        add(y, R_MEMBER_BYTE, id, at, offset)
    elif not fits(r[2], offset, of_size):
        add(y, R_MEMBER_EXCEEDS, id, at, offset)
