"""From DIE offsets to small ids, and what follows from it, once all DIEs of a unit have been read (worker.py).

The order of the passes is part of the result, because some of them copy what earlier ones have left: all types, then
parameters and variables, then functions in order (names, then parameters of out-of-line copies, which also
write back into their abstract origin), then the analysis of each function, then the layout of members. There are two
halves, because once functions have got their names, these are interned (symbol_names.py): `resolve_references` comes
before that, `resolve_unit` after.

Only functions whose name is in the function table can be written, so locations of parameters, the costly part, are
read for those alone. String ids up to `n_known` are exactly those names.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint16_t, uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.die_index import map_get, map_put, map_reset
from cython.cimports.pybtf.core.dwarf.forms import A_CONST, A_EXPR, A_LISTX, A_SEC_OFFSET
from cython.cimports.pybtf.core.dwarf.locations import LOC_BLOCK, LOC_LIST, LOC_LISTX, location_read
from cython.cimports.pybtf.core.dwarf.member_layout import lay_out_members
from cython.cimports.pybtf.core.dwarf.passed import Passed, pass_info, pass_lists
from cython.cimports.pybtf.core.dwarf.value_size import value_size
from cython.cimports.pybtf.core.dwarf.walk_state import Walker
from cython.cimports.pybtf.core.functions.calling_convention import Machine, analyse_function, find_candidate
from cython.cimports.pybtf.core.functions.reference_cycles import (
    endless_functions,
    endless_params,
    endless_variables,
    no_end,
)
from cython.cimports.pybtf.core.functions.resolve import R_LITTLE_ENDIAN, R_TRUE_SIGNATURE
from cython.cimports.pybtf.core.functions.type_references import index_types, resolve_rest, resolve_types
from cython.cimports.pybtf.core.model.debug_sections import DebugSections
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_MEMORY,
    FAULT_ORIGIN,
    IN_INFO,
    IN_LOC,
    IN_LOCLISTS,
    Fault,
    fault_set,
)
from cython.cimports.pybtf.core.model.losses import Losses, lose_at

# ---- functions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def function_at(u: cython.pointer[Unit], die: uint32_t) -> cython.pointer[Function]:
    found: uint32_t
    if die == 0 or die == NO_INDEX:
        return cython.NULL
    found = map_get(cython.address(u.function_at), die)
    return cython.NULL if found == NO_INDEX else cython.address(u.functions[found])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_functions(u: cython.pointer[Unit], fault: cython.pointer[Fault]) -> cython.int:
    """Names from abstract origins and specifications, and DW_CC_nocall, which means a changed signature."""
    i: uint32_t
    f: cython.pointer[Function]
    origin: cython.pointer[Function]
    if map_reset(cython.address(u.function_at), u.n_functions):
        return fault_set(fault, FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
    for i in range(u.n_functions):
        map_put(cython.address(u.function_at), u.functions[i].die, i)
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        origin = function_at(u, f.origin)
        if u.is_clang and not f.flags & F_INLINE:
            if f.flags & F_HAS_ORIGIN:
                if origin != cython.NULL and origin.flags & F_NOCALL:
                    f.flags |= F_SIGNATURE_CHANGED
            elif f.flags & F_NOCALL:
                f.flags |= F_SIGNATURE_CHANGED
        if f.name == 0:
            if origin == cython.NULL:
                origin = function_at(u, f.spec)
            if origin != cython.NULL:
                f.name = origin.name
        if origin != cython.NULL and (origin.origin or origin.spec) and endless_functions(u, f):
            no_end(u, fault, f.die, origin.die)
            if not set_aside(u, fault):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out_orphans(u: cython.pointer[Unit], losses: cython.pointer[Losses]) -> cython.int:
    """Takes their names from functions whose abstract origin is none that was read, and notes each as lost: all that
    is known of them is there. With `degrade`, between the two halves. Nonzero: no memory.
    """
    i: uint32_t
    f: cython.pointer[Function]
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if f.ref == 0 and f.flags & F_HAS_ORIGIN and function_at(u, f.origin) == cython.NULL:
            f.flags &= ~F_HAS_ORIGIN
            f.name = 0
            if not lose_at(losses, FAULT_ORIGIN, f.die, f.origin):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def param_index(u: cython.pointer[Unit], f: cython.pointer[Function], die: uint32_t) -> uint32_t:
    """Where in `params` the parameter DIE `die` of a function is, or NO_INDEX. They stand in order of their DIEs."""
    low: uint32_t = f.first
    high: uint32_t = f.first + f.count
    middle: uint32_t
    while low < high:
        middle = low + (high - low) // 2
        if u.params[middle].die < die:
            low = middle + 1
        else:
            high = middle
    if low < f.first + f.count and u.params[low].die == die:
        return low
    return NO_INDEX


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def map_params(u: cython.pointer[Unit]) -> cython.int:
    """Fills `param_at`. A partial unit that is imported occurs twice (Q33): the first counts. Nonzero: no memory."""
    i: uint32_t
    k: uint32_t
    if map_reset(cython.address(u.param_at), u.n_params):
        return 1
    for i in range(u.n_functions):
        for k in range(u.functions[i].first, u.functions[i].first + u.functions[i].count):
            if map_get(cython.address(u.param_at), u.params[k].die) == NO_INDEX:
                map_put(cython.address(u.param_at), u.params[k].die, k)
    u.param_at.n = u.n_params
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def origin_param(
    u: cython.pointer[Unit], f: cython.pointer[Function], die: uint32_t, fault: cython.pointer[Fault]
) -> cython.pointer[Param]:
    """The parameter DIE `die`, looked for in the abstract origin of `f` first, then everywhere."""
    origin: cython.pointer[Function] = function_at(u, f.origin)
    k: uint32_t = NO_INDEX
    if die == 0 or die == NO_INDEX:
        return cython.NULL
    if origin != cython.NULL:
        k = param_index(u, origin, die)
    if k == NO_INDEX:
        # The map is made when a unit first needs it; compilers give no reason to.
        if u.param_at.n != u.n_params and map_params(u):
            fault_set(fault, FAULT_MEMORY, IN_INFO, f.die, f.die, 0)
            return cython.NULL
        k = map_get(cython.address(u.param_at), die)
    return cython.NULL if k == NO_INDEX else cython.address(u.params[k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def param_size(u: cython.pointer[Unit], ref: uint32_t) -> uint16_t:
    """Bytes of a value of a type: the first size met on the way along the types' references."""
    steps: uint32_t
    t: cython.pointer[Type]
    for steps in range(LONGEST_TYPE_CHAIN):
        if ref == 0 or not may_step(u, steps):
            break
        t = cython.address(u.types[ref])
        if t.tag == DW_TAG_pointer_type:
            return u.address_size
        if t.size:
            return cython.cast(uint16_t, t.size)
        ref = t.ref
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def too_shared_at(
    u: cython.pointer[Unit], p: cython.pointer[cython.const[Param]], fault: cython.pointer[Fault]
) -> cython.int:
    """Parameters share lists of locations, or what is searched for them, too often. Nonzero."""
    if not p.has_loc or p.loc_cls == A_EXPR:
        return too_shared(u, fault, IN_INFO, p.die, p.die)
    return too_shared(u, fault, IN_LOC if u.version < 5 else IN_LOCLISTS, p.loc, p.die)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def locate(
    w: cython.pointer[Walker],
    u: cython.pointer[Unit],
    f: cython.pointer[Function],
    p: cython.pointer[Param],
    sections: cython.pointer[cython.const[DebugSections]],
    machine: cython.pointer[cython.const[Machine]],
    fault: cython.pointer[Fault],
) -> cython.int:
    """Size of a parameter, and where it is when the function is entered. Nonzero: fault."""
    origin: cython.pointer[Param]
    ref: uint32_t = p.ref
    kind: cython.int = 0
    if p.origin:
        origin = origin_param(u, f, p.origin, fault)
        if fault.code:
            return 1
        if origin != cython.NULL:
            ref = origin.ref
    p.size = param_size(u, ref)
    if p.size == 0:
        p.size = value_size(w, p.die, fault)
        if fault.code:
            return 1
    p.in_memory = p.size > (1 if machine.is_s390 else 2) * u.address_size
    if not p.has_loc:
        return 0
    if p.loc_cls == A_EXPR:
        kind = LOC_BLOCK
        if p.loc_size:
            location_read(p, kind, sections.info.p + p.loc, p.loc_size, u, sections, machine.is_s390)
        return 0
    if p.loc_cls == A_LISTX:
        kind = LOC_LISTX
    elif p.loc_cls == A_SEC_OFFSET or (p.loc_cls == A_CONST and u.version < 4):
        kind = LOC_LIST
    if kind:
        location_read(p, kind, cython.NULL, p.loc, u, sections, machine.is_s390)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def inherit(p: cython.pointer[Param], o: cython.pointer[Param]) -> cython.void:
    """A parameter of an out-of-line copy takes name and type of its origin, which learns where the copy has it: of
    several copies, what the last says of its register counts (Q8).
    """
    p.ref = o.ref
    p.name = o.name
    p.named = o.named
    o.has_loc |= p.has_loc
    o.has_const |= p.has_const
    o.const_at_entry |= p.const_at_entry
    o.stack_at_entry |= p.stack_at_entry
    o.in_memory |= p.in_memory
    if p.reg >= 0:
        o.reg = p.reg
    if p.size:
        o.size = p.size
    o.first_word |= p.first_word
    o.second_word |= p.second_word
    if o.candidate_name == 0:
        o.candidate_name = p.candidate_name
        o.candidate_ref = p.candidate_ref


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def may_be_written(f: cython.pointer[cython.const[Function]], n_known: uint32_t) -> cython.bint:
    """Whether it is a definition of a name that the function table has."""
    return f.name != 0 and f.name <= n_known and not f.flags & F_DECLARATION


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def locate_params(
    w: cython.pointer[Walker],
    u: cython.pointer[Unit],
    sections: cython.pointer[cython.const[DebugSections]],
    machine: cython.pointer[cython.const[Machine]],
    n_known: uint32_t,
    true_signature: cython.bint,
    passed: cython.pointer[Passed],
    fault: cython.pointer[Fault],
) -> cython.int:
    """Size and place of all parameters of functions that may be written. Nonzero: fault."""
    i: uint32_t
    k: uint32_t
    f: cython.pointer[Function]
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if not may_be_written(f, n_known):
            continue
        unit_bases(u, f.bases)
        for k in range(f.first, f.first + f.count):
            if locate(w, u, f, cython.address(u.params[k]), sections, machine, fault):
                return 1
            if true_signature and u.params[k].name and u.left:
                find_candidate(u, cython.address(u.params[k]))
            if u.left == 0:
                return too_shared_at(u, cython.address(u.params[k]), fault)
        if passed != cython.NULL:
            pass_info(sections, passed, f.die)
            pass_lists(sections, passed, u.version, u.list_at)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def inherit_params(u: cython.pointer[Unit], fault: cython.pointer[Fault]) -> cython.int:
    """Parameters without a type of their own have it from their origins, which learn from them (`inherit`), in order:
    an origin may be a copy itself. One with another index than its origin makes its function a reordered one. Nonzero:
    fault.
    """
    i: uint32_t
    k: uint32_t
    f: cython.pointer[Function]
    p: cython.pointer[Param]
    o: cython.pointer[Param]
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        for k in range(f.first, f.first + f.count):
            p = cython.address(u.params[k])
            if p.origin == 0 or p.has_type:
                continue
            o = origin_param(u, f, p.origin, fault)
            if fault.code:
                return 1
            if o == cython.NULL:
                continue
            if o.origin and endless_params(u, f, p, fault):
                if not set_aside(u, fault):
                    return 1
                continue
            if index_of(u, f, o) != k - f.first:
                f.flags |= F_REORDERED
            inherit(p, o)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_functions(
    u: cython.pointer[Unit],
    machine: cython.pointer[cython.const[Machine]],
    n_known: uint32_t,
    true_signature: cython.bint,
    fault: cython.pointer[Fault],
) -> cython.int:
    """Flags from the analysis of parameters, and return types of origins, in order. Nonzero: fault, an origin that is
    not there.
    """
    i: uint32_t
    f: cython.pointer[Function]
    origin: cython.pointer[Function]
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if may_be_written(f, n_known):
            analyse_function(u, f, machine, true_signature)
        if f.ref == 0 and f.flags & F_HAS_ORIGIN:  # what is specified gives no return type (Q8)
            origin = function_at(u, f.origin)
            if origin == cython.NULL:
                return fault_set(fault, FAULT_ORIGIN, IN_INFO, f.die, f.die, cython.cast(int64_t, f.origin))
            f.ref = origin.ref
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_functions(
    w: cython.pointer[Walker],
    u: cython.pointer[Unit],
    sections: cython.pointer[cython.const[DebugSections]],
    machine: cython.pointer[cython.const[Machine]],
    n_known: uint32_t,
    options: cython.int,
    passed: cython.pointer[Passed],
    fault: cython.pointer[Fault],
) -> cython.int:
    """Three passes over all functions (docs/rules.md, 5.2): copies write back into their origins what they know of a
    parameter, so all are read before the first inherits, and all have inherited before the first is analysed. Nonzero:
    fault.
    """
    true_signature: cython.bint = (options & R_TRUE_SIGNATURE) != 0
    if locate_params(w, u, sections, machine, n_known, true_signature, passed, fault):
        return 1
    if inherit_params(u, fault):
        return 1
    return finish_functions(u, machine, n_known, true_signature, fault)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def index_of(u: cython.pointer[Unit], f: cython.pointer[Function], o: cython.pointer[Param]) -> uint32_t:
    """The index of an origin parameter in its function."""
    origin: cython.pointer[Function] = function_at(u, f.origin)
    at: uint32_t = cython.cast(uint32_t, o - u.params)
    low: uint32_t = 0
    high: uint32_t = u.n_functions
    middle: uint32_t
    if origin != cython.NULL and origin.first <= at < origin.first + origin.count:
        return at - origin.first
    # Functions take their parameters when they enter the table, so `first` ascends. The last that starts at or before.
    while low < high:
        middle = low + (high - low) // 2
        if u.functions[middle].first <= at:
            low = middle + 1
        else:
            high = middle
    if low and at - u.functions[low - 1].first < u.functions[low - 1].count:
        return at - u.functions[low - 1].first
    return NO_INDEX


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def variable_specified(u: cython.pointer[Unit], die: uint32_t, fault: cython.pointer[Fault]) -> uint32_t:
    """Index of the variable a definition specifies, or NO_INDEX. The map is made when first needed in a unit."""
    i: uint32_t
    found: uint32_t
    if die == NO_INDEX:
        return NO_INDEX
    if u.variable_at.n != u.n_variables or u.variable_at.slots == cython.NULL:
        if map_reset(cython.address(u.variable_at), u.n_variables):
            fault_set(fault, FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
            return NO_INDEX
        for i in range(u.n_variables):
            map_put(cython.address(u.variable_at), u.variables[i].die, i)
        u.variable_at.n = u.n_variables
    found = map_get(cython.address(u.variable_at), die)
    if found != NO_INDEX and u.variables[found].spec and endless_variables(u, found):
        no_end(u, fault, die, die)
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_references(
    w: cython.pointer[Walker], u: cython.pointer[Unit], fault: cython.pointer[Fault]
) -> cython.int:
    """The first half: references to types, and names that functions have from others. Nonzero: fault."""
    u.variable_at.n = NO_INDEX
    u.param_at.n = NO_INDEX
    u.list_at = 0
    u.left = SHARED_FREE + SHARED_PER_BYTE * u.bytes
    if index_types(u):
        return fault_set(fault, FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
    if resolve_types(w, u, fault):
        return 1
    resolve_rest(u)
    return name_functions(u, fault)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_unit(
    w: cython.pointer[Walker],
    sections: cython.pointer[cython.const[DebugSections]],
    machine: cython.pointer[cython.const[Machine]],
    n_known: uint32_t,
    options: cython.int,
    passed: cython.pointer[Passed],
    fault: cython.pointer[Fault],
) -> cython.int:
    """The second half: what functions say of their parameters, and the layout of members. Nonzero: fault.

    `passed`: what the walk has given back, where all units are one. Functions read these pages again.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    if passed != cython.NULL:
        memset(passed, 0, cython.sizeof(Passed))
    if resolve_functions(w, u, sections, machine, n_known, options, passed, fault):
        return 1
    lay_out_members(u, (options & R_LITTLE_ENDIAN) != 0)
    return 0
