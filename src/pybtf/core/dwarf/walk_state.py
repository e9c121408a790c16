"""What every part of the walk over a unit uses: the walker itself, names, and the table of types.

See walk.py for the walk.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memset
from cython.cimports.pybtf.core.dwarf.abbrevs import abbrevs_free
from cython.cimports.pybtf.core.dwarf.attributes import D_NAME
from cython.cimports.pybtf.core.dwarf.die_index import map_free, types_free
from cython.cimports.pybtf.core.dwarf.die_reader import Attr, die_string, die_string_offset
from cython.cimports.pybtf.core.dwarf.forms import A_ALT, A_NESTED, A_REF, A_REF_ADDR, A_SIG8, A_STR_ALT, A_STRP, A_STRX
from cython.cimports.pybtf.core.dwarf.left_out import STAND_IN
from cython.cimports.pybtf.core.dwarf.type_units import type_unit_find
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.debug_sections import DebugSections
from cython.cimports.pybtf.core.model.dwarf_unit import NO_INDEX, Type, Unit
from cython.cimports.pybtf.core.model.faults import (
    FAULT_ALTERNATE,
    FAULT_ALTERNATE_REF,
    FAULT_MEMORY,
    FAULT_NESTED,
    FAULT_REFERENCE,
    FAULT_SHARED,
    IN_INFO,
    IN_STR,
    fault_set,
)
from cython.cimports.pybtf.core.model.losses import losses_free
from cython.cimports.pybtf.core.strings.lazy_names import NAME_AT, name_cache, name_cached, names_free, names_init
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, Strings, string_intern
from cython.cimports.pybtf.core.support.memory import grow


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_init(
    w: cython.pointer[Walker], strings: cython.pointer[Strings], sections: cython.pointer[cython.const[DebugSections]]
) -> cython.int:
    """Prepares a zeroed walker. Nonzero: no memory."""
    w.strings = strings
    w.sections = sections
    w.r.sections = sections
    w.r.table = cython.address(w.table)
    w.r.fault = cython.address(w.fault)
    return names_init(cython.address(w.names), strings, sections)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_expect(w: cython.pointer[Walker], bytes: cython.size_t) -> cython.bint:
    """Makes room for what units of so many bytes mostly have, so that tables do not grow step by step, with a copy at
    each. 0 if out of memory.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    n: uint32_t = cython.cast(uint32_t, min(bytes, 1 << 20))
    return (
        grow(u.types, u.cap_types, n // 32)
        and grow(u.members, u.cap_members, n // 16)
        and grow(u.type_params, u.cap_type_params, n // 64)
        and grow(u.params, u.cap_params, n // 256)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_shed(w: cython.pointer[Walker]) -> cython.void:
    """See `walk_state.pxd`."""
    u: cython.pointer[Unit] = cython.address(w.u)
    free(w.members)
    free(w.enumerators)
    free(w.params)
    free(u.types)
    free(u.members)
    free(u.enumerators)
    free(u.params)
    free(u.type_params)
    free(u.functions)
    free(u.variables)
    free(u.anns)
    free(u.aliases)
    types_free(cython.address(u.type_at))
    map_free(cython.address(u.function_at))
    map_free(cython.address(u.variable_at))
    map_free(cython.address(u.param_at))
    w.members = u.members = cython.NULL
    w.enumerators = u.enumerators = cython.NULL
    w.params = u.params = cython.NULL
    u.types = cython.NULL
    u.type_params = cython.NULL
    u.functions = cython.NULL
    u.variables = cython.NULL
    u.anns = cython.NULL
    u.aliases = cython.NULL
    w.cap_members = w.cap_enumerators = w.cap_params = 0
    u.cap_types = u.cap_members = u.cap_enumerators = u.cap_params = u.cap_type_params = 0
    u.cap_functions = u.cap_variables = u.cap_anns = u.cap_aliases = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_free(w: cython.pointer[Walker]) -> cython.void:
    """All that the walker owns: not `strings`, `sections`, `type_units` and `headers`."""
    i: uint32_t
    walker_shed(w)
    names_free(cython.address(w.names))
    free(w.frames)
    free(w.anns)
    free(w.dims)
    free(w.imports)
    free(w.imported)
    free(w.needed)
    free(w.u.bases)
    abbrevs_free(cython.address(w.table))
    abbrevs_free(cython.address(w.chain_table))
    for i in range(w.cap_tables):
        abbrevs_free(cython.address(w.tables[i]))
    free(w.tables)
    free(w.lost)
    free(w.order)
    losses_free(cython.address(w.damage))
    losses_free(cython.address(w.aside))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_reset(w: cython.pointer[Walker]) -> cython.int:
    """Empties the tables for the next logical unit; slot 0 of the types is void. Nonzero: no memory."""
    u: cython.pointer[Unit] = cython.address(w.u)
    u.n_types = u.n_members = u.n_enumerators = u.n_params = u.n_type_params = 0
    u.n_functions = u.n_variables = u.n_anns = u.n_bases = u.n_aliases = 0
    w.n_imports = 0
    w.r.table = cython.address(w.table)
    w.skipped_tags = w.signatures_lost = 0
    w.names.bytes = w.annotations = w.again = 0
    w.n_order = 0
    u.bytes = 0
    w.fault.code = 0
    if not grow(u.types, u.cap_types, 1):
        return no_memory(w)
    memset(u.types, 0, cython.sizeof(Type))
    u.n_types = 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def no_memory(w: cython.pointer[Walker]) -> cython.int:
    """Leaves the fault in the walker. Always nonzero."""
    fault_set(cython.address(w.fault), FAULT_MEMORY, IN_INFO, w.d.offset, w.d.offset, 0)
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_text(
    w: cython.pointer[Walker],
    slot: cython.int,
    text: cython.pointer[cython.p_const_char],
    size: cython.pointer[cython.size_t],
    transient: cython.pointer[cython.bint],
) -> cython.int:
    """As `die_string`, within bounds. Nonzero: fault.

    Strings may overlap, so that a small section holds any number of long ones, each the tail of another.
    """
    if die_string(cython.address(w.r), cython.address(w.d), slot, text, size, transient):
        return 1
    w.names.bytes += size[0]
    if w.names.bytes > w.names.budget:
        return fault_set(
            cython.address(w.fault),
            FAULT_SHARED,
            IN_STR,
            w.d.a[slot].v,
            w.d.offset,
            cython.cast(int64_t, w.names.bytes),
        )
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_new_name(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """What `walk_name` returns for a string that is not in the cache. A fault is left in the walker."""
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    sid: uint32_t
    cls: cython.int = w.d.a[slot].cls
    offset: uint64_t = w.d.a[slot].v
    if cls == A_STR_ALT:
        offset += w.sections.str.n
        sid = name_cached(cython.address(w.names), offset)
        if sid:
            return sid
    if walk_text(w, slot, cython.address(text), cython.address(size), cython.address(transient)):
        return 0
    sid = string_intern(w.strings, text, size, transient)
    if sid == NO_STRING:
        no_memory(w)
        return 0
    if (cls == A_STRP or cls == A_STR_ALT) and offset < NO_INDEX:
        name_cache(cython.address(w.names), offset, sid)
    return sid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_far_name(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """What `walk_name_word` returns for an index into .debug_str_offsets, and for an offset into the alternate file. A
    fault is left in the walker.
    """
    offset: uint64_t = w.d.a[slot].v
    indexed: cython.bint = w.d.a[slot].cls == A_STRX
    if indexed and die_string_offset(cython.address(w.r), cython.address(w.d), slot, cython.address(offset)):
        return 0
    if w.r.alternate or not indexed:
        if w.names.deferred and offset < w.names.alternate:
            return NAME_AT | (w.names.limit + cython.cast(uint32_t, offset))
    elif offset < w.names.deferred:
        return NAME_AT | cython.cast(uint32_t, offset)
    return walk_new_name(w, slot)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def far_reference(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """What `reference` returns for a form that is not an offset in this file. A fault is left in the walker."""
    found: uint64_t
    if w.d.a[slot].cls == A_ALT:
        return alternate_reference(w, w.d.a[slot].v)
    if w.d.a[slot].cls == A_NESTED:
        fault_set(cython.address(w.fault), FAULT_NESTED, IN_INFO, w.d.offset, w.d.offset, 0)
    if w.d.a[slot].cls != A_SIG8:
        return NO_INDEX
    found = type_unit_find(w.type_units, w.d.a[slot].v)
    if found == 0:
        w.signatures_lost += 1
        return STAND_IN if w.gaps else NO_INDEX
    return cython.cast(uint32_t, found)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def alternate_reference(w: cython.pointer[Walker], offset: uint64_t) -> uint32_t:
    """What `reference` returns for an offset of the alternate file's .debug_info. A fault is left in the walker."""
    code: cython.int = FAULT_ALTERNATE
    if w.sections.alternate != cython.NULL:
        if offset < w.sections.info.n - w.sections.alternate_at:
            return cython.cast(uint32_t, w.sections.alternate_at + offset)
        code = FAULT_REFERENCE if w.r.alternate else FAULT_ALTERNATE_REF
    fault_set(cython.address(w.fault), code, IN_INFO, w.d.offset, w.d.offset, cython.cast(int64_t, offset))
    return NO_INDEX


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leads_to(w: cython.pointer[cython.const[Walker]], a: cython.pointer[cython.const[Attr]]) -> uint64_t:
    """Where a reference leads: an offset of .debug_info, one past its end if it is none."""
    if a.cls == A_REF or a.cls == A_REF_ADDR:
        return a.v
    if a.cls == A_ALT and w.sections.alternate != cython.NULL and a.v < w.sections.info.n - w.sections.alternate_at:
        return w.sections.alternate_at + a.v
    return w.sections.info.n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def outside(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """What `reference` returns for an offset past the end of the file's own .debug_info: in a unit of an alternate file
    it may be one of that unit. A fault is left in the walker.
    """
    a: cython.pointer[Attr] = cython.address(w.d.a[slot])
    if a.cls == A_REF and w.r.alternate:
        return cython.cast(uint32_t, a.v)
    fault_set(cython.address(w.fault), FAULT_REFERENCE, IN_INFO, w.d.offset, w.d.offset, cython.cast(int64_t, a.v))
    return NO_INDEX


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_name(w: cython.pointer[Walker], name: cython.p_const_char, length: cython.size_t) -> cython.bint:
    """Whether the DIE has this name, of `length` bytes. A fault is left in the walker."""
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    if walk_text(w, D_NAME, cython.address(text), cython.address(size), cython.address(transient)):
        return False
    return size == length and memcmp(text, name, length) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_type(w: cython.pointer[Walker], t: cython.pointer[Type]) -> cython.int:
    """Puts a copy of `t` at the end of the unit's table of types. Nonzero: no memory."""
    u: cython.pointer[Unit] = cython.address(w.u)
    if not grow(u.types, u.cap_types, u.n_types + 1):
        return no_memory(w)
    u.types[u.n_types] = t[0]
    u.n_types += 1
    return 0
