"""References to types become small ids, in the first half of what resolve.py does.

A reference to a DIE that is not a type is void, as in pahole; one that leaves the section was refused by the walk. Ten
million references are looked up in a kernel, so loops keep the places of the table at hand (die_index.py).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.dwarf.die_index import types_get, types_put, types_reset
from cython.cimports.pybtf.core.dwarf.value_size import is_signed_at, is_unspecified_at
from cython.cimports.pybtf.core.dwarf.walk_state import Walker
from cython.cimports.pybtf.core.functions.reference_cycles import endless_types, no_end
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import Fault


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_id(u: cython.pointer[Unit], ref: uint32_t) -> uint32_t:
    """The small id of a reference, 0 for void and for what is not a type."""
    return types_get(cython.address(u.type_at), u.type_at.places, ref)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refers_to_no_type(
    w: cython.pointer[Walker], u: cython.pointer[Unit], id: uint32_t, fault: cython.pointer[Fault]
) -> cython.void:
    """What else follows if type `id` refers to a DIE that is not a type. A pointer with type tags loses them, which
    stand in front of it, unless the DIE is an unspecified type. A wide enumeration has the sign of whatever DIE it
    refers to. A fault may be left.
    """
    t: cython.pointer[Type] = cython.address(u.types[id])
    k: uint32_t = id
    if t.tag == TAG_TYPE_TAG:
        if is_unspecified_at(w, t.ref, fault):
            return
        while u.types[k - 1].tag == TAG_TYPE_TAG:
            k -= 1
            u.types[k].ref = 0
        k = id
        while k + 1 < u.n_types and u.types[k].tag == TAG_TYPE_TAG:
            k += 1
            u.types[k].ref = 0
    elif t.tag == DW_TAG_enumeration_type and t.size > 4 and is_signed_at(w, t.ref, fault):
        t.flags |= T_SIGNED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def index_types(u: cython.pointer[Unit]) -> cython.int:
    """From now on `type_at` says which id a DIE has. Nonzero: no memory."""
    table: cython.pointer[OffsetTable] = cython.address(u.type_at)
    places: Places
    t: cython.pointer[cython.const[Type]] = u.types
    i: uint32_t
    k: uint32_t
    if types_reset(table, u.offset, u.end, u.n_types + u.n_aliases):
        return 1
    places = table.places
    for i in range(1, u.n_types):
        t += 1
        if t.die and types_put(table, places, t.die, i):
            return 1
    for i in range(u.n_aliases):
        k = types_get(table, places, u.aliases[i].target)
        if k and types_put(table, places, u.aliases[i].die, k):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_types(w: cython.pointer[Walker], u: cython.pointer[Unit], fault: cython.pointer[Fault]) -> cython.int:
    """References of types and members become small ids, in the order of ids. A struct without a name takes that of the
    type it specifies (docs/rules.md, 3.4). Nonzero: fault.
    """
    table: cython.pointer[cython.const[OffsetTable]] = cython.address(u.type_at)
    places: Places = table.places
    t: cython.pointer[Type] = u.types
    m: cython.pointer[Member]
    p: cython.pointer[TypeParam]
    i: uint32_t
    k: uint32_t
    id: uint32_t
    for i in range(1, u.n_types):
        t += 1
        if not t.flags & T_REF_LOCAL:
            id = types_get(table, places, t.ref)
            if id == 0 and t.ref:
                refers_to_no_type(w, u, i, fault)
                if fault.code:
                    return 1
            t.ref = id
        if is_structure(t.tag):
            m = u.members + t.first
            for k in range(t.count):
                m.ref = types_get(table, places, m.ref)
                m += 1
            if t.name == 0 and t.spec and take_name(u, t, fault):
                return 1
        elif t.tag == DW_TAG_subroutine_type:
            p = u.type_params + t.first
            for k in range(t.count):
                p.ref = types_get(table, places, p.ref)
                p += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_name(u: cython.pointer[Unit], t: cython.pointer[Type], fault: cython.pointer[Fault]) -> cython.int:
    """The name of the struct that the nameless `t` specifies. Nonzero: fault."""
    named: uint32_t = type_id(u, t.spec)
    t.name = u.types[named].name
    if t.name == 0 and u.types[named].spec and endless_types(u, t.spec):
        no_end(u, fault, t.die, t.spec)
        if not set_aside(u, fault):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_rest(u: cython.pointer[Unit]) -> cython.void:
    """Variables, and functions with their parameters: their own DW_AT_type."""
    table: cython.pointer[cython.const[OffsetTable]] = cython.address(u.type_at)
    places: Places = table.places
    i: uint32_t
    k: uint32_t
    f: cython.pointer[Function]
    for i in range(u.n_variables):
        u.variables[i].ref = types_get(table, places, u.variables[i].ref)
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        f.ref = types_get(table, places, f.ref)
        for k in range(f.first, f.first + f.count):
            u.params[k].ref = types_get(table, places, u.params[k].ref)
