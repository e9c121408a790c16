"""Opening a unit: its header, its abbreviations, its root DIE. Imported partial units open inside another."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.die_reader import Die, die_has, die_number
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.dwarf.open_objects import open_frame
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_enter
from cython.cimports.pybtf.core.dwarf.unit_open import *
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.support.memory import grow, memmem


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_open(w: cython.pointer[Walker], h: cython.pointer[UnitHeader], first: cython.bint) -> cython.int:
    """Reads the root DIE of the unit with header `h`.

    `first`: the facts of this unit become those of the logical unit (in merge mode only the first one's do).
    Nonzero: fault.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    d: cython.pointer[Die] = cython.address(w.d)
    b: cython.pointer[Bases]
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    u.bytes += h.end - h.offset
    w.names.budget = NAMES_FREE + NAMES_PER_BYTE * u.bytes
    if unit_enter(w, h):
        return 1
    if h.first_die >= h.end:
        return 0
    if not grow(u.bases, u.cap_bases, u.n_bases + 1):
        return no_memory(w)
    b = cython.address(u.bases[u.n_bases])
    u.n_bases += 1
    b.addr = d.a[D_ADDR_BASE].v if die_has(d, D_ADDR_BASE) else 0
    b.loclists = d.a[D_LOCLISTS_BASE].v if die_has(d, D_LOCLISTS_BASE) else 0
    b.lists = 0
    b.split = h.split != cython.NULL
    if b.split:
        b.addr = h.split.addr
        b.lists = h.split.lists
        b.loclists = h.split.loclists
    b.offset_size = h.offset_size
    b.version = h.version
    unit_bases(u, u.n_bases - 1)
    if not first:
        return 0
    u.offset = h.offset
    u.end = h.end
    u.address_size = h.address_size
    u.language = cython.cast(uint32_t, die_number(d, D_LANGUAGE))
    u.name = walk_name(w, D_NAME)
    u.is_clang = False
    if walk_text(w, D_PRODUCER, cython.address(text), cython.address(size), cython.address(transient)):
        return 1
    u.is_clang = size >= 5 and memmem(text, size, cython.cast(cython.p_const_char, b"clang"), 5) != cython.NULL
    return w.fault.code != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def nested_table(w: cython.pointer[Walker]) -> cython.int:
    """A table for the unit about to be opened inside others, which keep theirs. Nonzero: no memory."""
    cap: uint32_t = w.cap_tables
    if not grow(w.tables, w.cap_tables, w.n_imports):
        return 1
    if w.cap_tables > cap:
        memset(w.tables + cap, 0, (w.cap_tables - cap) * cython.sizeof(AbbrevTable))
    w.r.table = cython.address(w.tables[w.n_imports - 1])
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def import_unit(w: cython.pointer[Walker]) -> cython.int:
    """Merge mode: the children of an imported partial unit are read here, the first time it is imported, and once more
    at its own place (Q33).
    """
    target: uint64_t = 0
    low: uint32_t = 0
    high: uint32_t = w.n_headers
    middle: uint32_t
    f: cython.pointer[Frame]
    if not w.n_headers or not die_has(cython.address(w.d), D_IMPORT):
        return SKIP
    if w.d.a[D_IMPORT].cls == A_REF or w.d.a[D_IMPORT].cls == A_REF_ADDR:
        target = w.d.a[D_IMPORT].v
    while low < high:
        middle = (low + high) // 2
        if w.headers[middle].first_die < target:
            low = middle + 1
        else:
            high = middle
    if low == w.n_headers or w.headers[low].first_die != target or w.imported[low]:
        return SKIP
    if w.lost != cython.NULL:
        if w.lost[low]:
            return SKIP
        if not grow(w.order, w.cap_order, w.n_order + 1):
            return no_memory(w)
        w.order[w.n_order] = low
        w.n_order += 1
    if not grow(w.imports, w.cap_imports, w.n_imports + 1):
        return no_memory(w)
    w.imports[w.n_imports].reader = w.r
    w.imports[w.n_imports].bases = w.u.n_bases - 1
    w.n_imports += 1
    w.imported[low] = 1
    if nested_table(w):
        return no_memory(w)
    if unit_open(w, cython.address(w.headers[low]), False):
        return FAILED
    if w.d.tag != DW_TAG_partial_unit or not w.d.children:
        return DONE if leave_import(w) == 0 else FAILED
    f = open_frame(w, IN_UNIT, 0)
    if f == cython.NULL:
        return FAILED
    f.index = 1
    return OPENED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_import(w: cython.pointer[Walker]) -> cython.int:
    """Back to the unit that imported. Nonzero: fault."""
    i: cython.pointer[Import]
    u: cython.pointer[Unit] = cython.address(w.u)
    w.n_imports -= 1
    i = cython.address(w.imports[w.n_imports])
    w.r = i.reader
    w.r.table = cython.address(w.tables[w.n_imports - 1]) if w.n_imports else cython.address(w.table)
    w.d.children = 0
    # Functions point at the bases of their unit by number, and the importing unit's have to be the last.
    if not grow(u.bases, u.cap_bases, u.n_bases + 1):
        return no_memory(w)
    u.bases[u.n_bases] = u.bases[i.bases]
    u.n_bases += 1
    unit_bases(u, u.n_bases - 1)
    return 0
