"""Unit headers: all of them, in one serial scan, before the first unit is decoded.

A header (DWARF 5, 7.5.1) says how long its unit is, in which version of DWARF and with which sizes it is written, and
where its abbreviations are; that of a type unit also has a signature. `scan_units` goes from each header to the next,
first in the file, then in its alternate file. Everything is checked here, so that workers can begin with any unit.

Headers of a mapped file are read by system calls, in blocks. Touching a page of the map would cost more memory: the
system maps the pages around it as well, as far as it has them in its cache.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.pybtf.core.dwarf.type_units import type_unit_add, type_units_free
from cython.cimports.pybtf.core.dwarf.walk_state import UnitHeader
from cython.cimports.pybtf.core.model.debug_sections import DebugSections
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.losses import Losses, lose
from cython.cimports.pybtf.core.model.options import OPT_DEGRADE
from cython.cimports.pybtf.core.support.cursor import Cursor, cur_init, cur_tell, cur_u8, cur_u16, cur_u32, cur_u64
from cython.cimports.pybtf.core.support.mapped_file import read_at
from cython.cimports.pybtf.core.support.memory import grow
from cython.cimports.pybtf.core.worker import Context

LONGEST_HEADER = cython.declare(uint64_t, 40)  # bytes: that of a type unit in 64-bit DWARF 5
DWARF64 = cython.declare(uint64_t, 0xFFFFFFFF)  # a length of 64 bits follows (DWARF 5, 7.2.2)
FIRST_RESERVED = cython.declare(uint64_t, 0xFFFFFFF0)  # lengths from here on mean something else, or nothing yet
NO_OFFSET = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFF)  # lies outside any section
LARGEST_INFO = cython.declare(uint64_t, 0xFFFFFFF0)  # bytes of .debug_info: the core's offsets have 32 bits


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_header(
    c: cython.pointer[Cursor],
    h: cython.pointer[UnitHeader],
    size: uint64_t,
    types_at: uint64_t,
    fault: cython.pointer[Fault],
) -> cython.int:
    """One unit header (DWARF 5, 7.5.1; DWARF 4, 7.5.1.2 for units from `types_at` on). Nonzero: fault."""
    length: uint64_t
    type_die: uint64_t
    kind: uint8_t = DW_UT_compile
    h.offset = cur_tell(c)
    h.offset_size = 4
    h.signature = h.type_die = 0
    h.split = cython.NULL
    length = cur_u32(c)
    if length == DWARF64:
        h.offset_size = 8
        length = cur_u64(c)
    elif length >= FIRST_RESERVED:
        return fault_set(fault, FAULT_UNIT_LENGTH, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    if c.bad or length == 0 or length > size - cur_tell(c):
        return fault_set(fault, FAULT_UNIT_LENGTH, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    h.end = cur_tell(c) + length
    c.end = c.base + h.end
    length = cur_u16(c)
    if not c.bad and (length < 2 or length > 5):
        return fault_set(fault, FAULT_VERSION, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    h.version = cython.cast(uint8_t, length)
    if h.version >= 5:
        kind = cython.cast(uint8_t, cur_u8(c))
        h.address_size = cython.cast(uint8_t, cur_u8(c))
        h.abbrev = cur_u64(c) if h.offset_size == 8 else cur_u32(c)
        if kind == DW_UT_skeleton or kind == DW_UT_split_compile:  # the id that joins the two
            cur_u64(c)
    else:
        h.abbrev = cur_u64(c) if h.offset_size == 8 else cur_u32(c)
        h.address_size = cython.cast(uint8_t, cur_u8(c))
        if h.offset >= types_at:
            kind = DW_UT_type
    if kind == DW_UT_type or kind == DW_UT_split_type:  # a signature and the type's offset
        h.signature = cur_u64(c)
        type_die = cur_u64(c) if h.offset_size == 8 else cur_u32(c)
        if not c.bad and (type_die == 0 or type_die >= h.end - h.offset):
            return fault_set(fault, FAULT_REFERENCE, IN_INFO, h.offset, 0, cython.cast(int64_t, type_die))
        h.type_die = h.offset + type_die
    if c.bad:
        return fault_set(fault, FAULT_TRUNCATED, IN_INFO, h.offset, 0, 0)
    if kind < DW_UT_compile or kind > DW_UT_split_type:
        # Those from DW_UT_lo_user on belong to producers, and their headers may have any form.
        return fault_set(fault, FAULT_UNIT_TYPE, IN_INFO, h.offset, 0, kind)
    if h.address_size != 4 and h.address_size != 8 and h.address_size != 2:
        return fault_set(fault, FAULT_ADDRESS_SIZE, IN_INFO, h.offset, 0, h.address_size)
    h.type = kind
    h.first_die = cur_tell(c)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_bases(
    sections: cython.pointer[cython.const[DebugSections]], h: cython.pointer[UnitHeader], first: cython.size_t
) -> cython.size_t:
    """Split DWARF: gives the header of a unit that is from a .dwo file its bases in the sections, and adds that of the
    abbreviations. Both lists ascend, so the search begins at number `first`; returns where it goes on for the next
    unit.
    """
    while first < sections.n_split and sections.split[first].end <= h.offset:
        first += 1
    if first < sections.n_split and sections.split[first].at <= h.offset:
        h.split = cython.address(sections.split[first])
        # A sum beyond 64 bits is not an offset either.
        h.abbrev = h.abbrev + h.split.abbrev if h.abbrev <= NO_OFFSET - h.split.abbrev else NO_OFFSET
    return first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_units(
    x: cython.pointer[Context], fault: cython.pointer[Fault], losses: cython.pointer[Losses]
) -> cython.int:
    """Reads all unit headers of .debug_info, in order, those of the alternate file last, and the signatures of type
    units. The caller frees both.

    With OPT_DEGRADE a unit whose header is damaged is noted in `losses` and passed over; if not even its length can be
    right, so is all that follows. Nonzero: fault.
    """
    c: Cursor
    h: cython.pointer[UnitHeader]
    at: uint64_t = 0
    size: uint64_t = x.sections.info.n
    end: uint64_t = x.sections.alternate_at  # of the units of this file, later of those of the alternate file
    cap: uint32_t = 0
    own: cython.bint
    split: cython.size_t = 0
    block: uint8_t[4096]  # of the file, in which the header is
    block_end: uint64_t = 0
    base: cython.pointer[cython.const[uint8_t]] = x.sections.info.p
    free(x.headers)
    type_units_free(cython.address(x.type_units))
    x.headers = cython.NULL
    x.n_units = x.n_own = 0
    x.gaps = False
    if size > LARGEST_INFO:
        return fault_set(fault, FAULT_SIZE, IN_INFO, 0, 0, cython.cast(int64_t, size))
    while at < size:
        if at == x.sections.alternate_at:
            end = size
        if not grow(x.headers, cap, x.n_units + 1):
            return fault_set(fault, FAULT_MEMORY, IN_INFO, at, 0, 0)
        h = cython.address(x.headers[x.n_units])
        own = at < x.sections.alternate_at
        if x.info_file >= 0 and min(at + LONGEST_HEADER, size) > block_end:
            block_end = min(at + cython.sizeof(block), size)
            if not read_at(x.info_file, block, block_end - at, x.info_at + at):
                return fault_set(fault, FAULT_TRUNCATED, IN_INFO, at, 0, 0)
            base = block - at
        cur_init(cython.address(c), base, at, end, x.sections.swap)
        h.end = 0
        if read_header(cython.address(c), h, end, x.sections.types_at if own else size, fault):
            if not x.options & OPT_DEGRADE or not lose(losses, fault, True):
                return 1
            fault.code = FAULT_NONE
            x.gaps = True
            at = h.end if h.end else end
            continue
        if own and h.type_die and type_unit_add(cython.address(x.type_units), h.signature, h.type_die):
            return fault_set(fault, FAULT_MEMORY, IN_INFO, at, 0, 0)
        at = h.end
        split = add_bases(cython.address(x.sections), h, split)
        x.n_units += 1
        x.n_own += own
    return 0
