"""Entering a unit: the walker's reader is set to its first DIE, with the unit's abbreviations and sections."""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.dwarf.abbrevs import abbrevs_enough, abbrevs_read
from cython.cimports.pybtf.core.dwarf.attributes import D_STR_OFFSETS_BASE
from cython.cimports.pybtf.core.dwarf.die_reader import Die, Reader, die_has, die_read
from cython.cimports.pybtf.core.dwarf.walk_state import UnitHeader, Walker, unit_ending_after
from cython.cimports.pybtf.core.model.debug_sections import Span
from cython.cimports.pybtf.core.model.faults import FAULT_SHARED, IN_ABBREV, fault_set
from cython.cimports.pybtf.core.support.cursor import cur_init


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_enter(w: cython.pointer[Walker], h: cython.pointer[cython.const[UnitHeader]]) -> cython.int:
    """Reads the root DIE of the unit with header `h`, with abbreviations that go to `w.r.table`.

    The tag of the root is 0 if there is none. Nonzero: fault.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    r: cython.pointer[Reader] = cython.address(w.r)
    r.unit = h.offset
    r.end = h.end
    r.sections = w.sections
    r.alternate = h.offset >= w.sections.alternate_at
    r.split = h.split != cython.NULL
    if r.alternate:
        r.sections = w.sections.alternate
    if read_abbrevs(w, h):
        if r.alternate and w.fault.die == 0:
            w.fault.die = h.first_die  # which says in which file
        return 1
    cur_init(cython.address(r.c), w.sections.info.p, h.first_die, h.end, w.sections.swap)
    r.address_size = h.address_size
    r.offset_size = h.offset_size
    r.version = h.version
    # A version 5 table of string offsets starts after its header, where the base attribute is missing.
    r.str_offsets_base = 0 if h.version < 5 else (8 if h.offset_size == 4 else 16)
    r.str_offsets_end = r.sections.str_offsets.n
    if r.split:
        r.str_at = h.split.str
        r.str_offsets_base = h.split.offsets
        r.str_offsets_end = h.split.offsets_end
    if h.first_die >= h.end:
        d.tag = 0
        d.children = 0
        d.seen = 0
        d.offset = h.first_die
        return 0
    if die_read(r, d):
        return 1
    if die_has(d, D_STR_OFFSETS_BASE) and not r.split:
        r.str_offsets_base = d.a[D_STR_OFFSETS_BASE].v
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_abbrevs(w: cython.pointer[Walker], h: cython.pointer[cython.const[UnitHeader]]) -> cython.int:
    """Compiles the abbreviations of a unit into `w.r.table`, unless they are there. How many bytes of such tables one
    walker reads in all is limited (`abbrevs_enough`). Nonzero: fault.
    """
    r: cython.pointer[Reader] = cython.address(w.r)
    both: Span = w.sections.abbrev
    if w.sections.alternate != cython.NULL:
        both.n += w.sections.alternate.abbrev.n
    if abbrevs_enough(w.abbrev_bytes, both):  # and some unit that has got this fault was left out
        return too_much(w, h)
    r.table.without = w.without
    if abbrevs_read(
        r.table,
        r.sections.abbrev,
        h.abbrev,
        h.address_size,
        h.offset_size,
        h.version,
        r.alternate,
        r.split,
        cython.address(w.fault),
    ):
        return 1
    w.abbrev_bytes += r.table.read
    return too_much(w, h) if abbrevs_enough(w.abbrev_bytes, both) else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def too_much(w: cython.pointer[Walker], h: cython.pointer[cython.const[UnitHeader]]) -> cython.int:
    return fault_set(
        cython.address(w.fault), FAULT_SHARED, IN_ABBREV, h.abbrev, 0, cython.cast(int64_t, w.abbrev_bytes)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_with(w: cython.pointer[cython.const[Walker]], at: uint64_t) -> uint32_t:
    """Merge mode: the number of the unit that has DIEs at this offset of .debug_info, `n_units` if there is none."""
    unit: uint32_t = unit_ending_after(w.headers, w.n_units, at)
    return w.n_units if unit < w.n_units and w.headers[unit].first_die > at else unit
