"""Units that are left out of a logical unit, with `degrade`.

In merge mode all units of a file are decoded into one set of tables, and one damaged unit is a fault of the whole. So
the file is first decoded as usual. If that fails, it is decoded again with a list of units to leave out
(`Walker.lost`), which grows on the way:

- *While DIEs are read*, the tables only grow. If a unit fails, they go back to where they were before it (`Tables`),
  and the walk goes on with the next. If what failed is a partial unit that it imports, or in a survey
  (alternate_units.py) a tag in another unit, that one is left out, and the unit is walked again.
- *After that* (cycles of origins, endless prototypes), a fault is set aside (`Unit.aside`), and the
  pass goes on to find the others; then all units that have one are left out, and everything is decoded again.

Both are bounded. Wasted walking is counted in bytes; once it reaches `VAIN` times .debug_info, a unit
that imports a damaged one is left out with it, and what it imported is not imported again, only read where it stands.
The number of rounds is limited (core/worker.py). Here each unit has its own budgets of what DIEs share,
as if it were not merged, so that a unit which uses up its own takes nothing from the others.

What refers to a DIE of a unit that is left out refers to a struct without a name, members or size instead. It is not
void, as missing types are elsewhere, because no kernel takes members, parameters or elements that are void. A bitfield
has to be a number, so it is dropped. Functions and parameters lose what their origin would have said: mostly the name.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.left_out import *
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_with
from cython.cimports.pybtf.core.dwarf.walk_state import Walker, add_type, no_memory, unit_ending_after
from cython.cimports.pybtf.core.model.dwarf_constants import (
    DW_TAG_enumeration_type,
    DW_TAG_structure_type,
    DW_TAG_subroutine_type,
)
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_LEFT_OUT, FAULT_MEMORY, FAULT_NONE, IN_INFO, Fault
from cython.cimports.pybtf.core.model.losses import Losses, lose, lose_at, losses_free, losses_reset

VAIN = cython.declare(uint64_t, 16)


# ---- which units ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out_begin(w: cython.pointer[Walker], gaps: cython.bint) -> cython.bint:
    """From now on units with a fault are left out. `w.headers` and `w.n_units` are set. `gaps`: so have been some
    already, of which not even the header could be read. 0: no memory.
    """
    w.lost = cython.cast(cython.pointer[uint8_t], calloc(cython.cast(cython.size_t, w.n_units) + 1, 1))
    w.gaps = gaps
    w.vain = 0
    losses_reset(cython.address(w.damage))
    losses_reset(cython.address(w.aside))
    w.u.aside = cython.address(w.aside)
    return w.lost != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out_end(w: cython.pointer[Walker]) -> cython.void:
    """Units are no longer left out."""
    free(w.lost)
    w.lost = cython.NULL
    w.u.aside = cython.NULL
    losses_free(cython.address(w.damage))
    losses_free(cython.address(w.aside))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out(w: cython.pointer[Walker], number: uint32_t, fault: cython.pointer[cython.const[Fault]]) -> cython.bint:
    """Leaves a unit out, for this fault. 0: no memory."""
    why: Fault = fault[0]
    w.lost[number] = 1
    if why.die == 0:  # the fault is elsewhere, say in the abbreviations: the unit is named by its header
        why.section = IN_INFO
        why.offset = w.headers[number].offset
    return lose(cython.address(w.damage), cython.address(why), True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out_for_fault(w: cython.pointer[Walker], number: uint32_t) -> cython.bint:
    """Leaves out the unit in which `w.fault` was met while unit `number` was read: that unit itself, one that it
    imports, or one with a tag. Then nothing is wrong any longer. 0: something is, as there is no memory.
    """
    unit: uint32_t = unit_around(w, w.r.unit)
    if w.fault.code == FAULT_MEMORY:
        return False
    if unit == w.n_units or w.lost[unit]:
        unit = number
    w.vain += w.u.bytes
    if not leave_out(w, unit, cython.address(w.fault)) or (
        unit != number and is_enough(w) and not leave_out(w, number, cython.address(w.fault))
    ):
        no_memory(w)
        return False
    w.fault.code = FAULT_NONE
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out_aside(w: cython.pointer[Walker]) -> cython.int:
    """Leaves out the units of the faults that were set aside: 1 if there were any, -1 if there is no memory."""
    i: uint32_t
    unit: uint32_t
    found: cython.int = 0
    for i in range(w.aside.n):
        unit = unit_with(w, w.aside.p[i].fault.die)
        if unit < w.n_units and not w.lost[unit]:
            if not leave_out(w, unit, cython.address(w.aside.p[i].fault)):
                return -1
            found = 1
    losses_reset(cython.address(w.aside))
    return found


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_enough(w: cython.pointer[cython.const[Walker]]) -> cython.bint:
    return w.vain > VAIN * w.sections.info.n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_around(w: cython.pointer[cython.const[Walker]], at: uint64_t) -> uint32_t:
    """The number of the unit that has this offset of .debug_info, even in its header; `n_units` if there is none."""
    unit: uint32_t = unit_ending_after(w.headers, w.n_units, at)
    return w.n_units if unit < w.n_units and w.headers[unit].offset > at else unit


# ---- the tables -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tables_mark(w: cython.pointer[cython.const[Walker]], t: cython.pointer[Tables]) -> cython.void:
    u: cython.pointer[cython.const[Unit]] = cython.address(w.u)
    t.types = u.n_types
    t.members = u.n_members
    t.enumerators = u.n_enumerators
    t.params = u.n_params
    t.type_params = u.n_type_params
    t.functions = u.n_functions
    t.variables = u.n_variables
    t.anns = u.n_anns
    t.bases = u.n_bases
    t.aliases = u.n_aliases
    t.imported = w.n_order
    t.skipped_tags = w.skipped_tags
    t.signatures_lost = w.signatures_lost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tables_back(w: cython.pointer[Walker], t: cython.pointer[cython.const[Tables]]) -> cython.void:
    """Forgets what has been read since `tables_mark`, and what was imported."""
    u: cython.pointer[Unit] = cython.address(w.u)
    u.n_types = t.types
    u.n_members = t.members
    u.n_enumerators = t.enumerators
    u.n_params = t.params
    u.n_type_params = t.type_params
    u.n_functions = t.functions
    u.n_variables = t.variables
    u.n_anns = t.anns
    u.n_bases = t.bases
    u.n_aliases = t.aliases
    u.bytes = 0
    w.skipped_tags = t.skipped_tags
    w.signatures_lost = t.signatures_lost
    w.n_imports = 0
    w.r.table = cython.address(w.table)
    while w.n_order > t.imported:
        w.n_order -= 1
        if not is_enough(w):
            w.imported[w.order[w.n_order]] = 0


# ---- references -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_left_out(w: cython.pointer[cython.const[Walker]], at: uint64_t) -> cython.bint:
    """Whether a reference to this offset of .debug_info leads into what is left out."""
    unit: uint32_t
    if at == 0 or at == NO_INDEX:
        return False
    if at == STAND_IN:
        return True
    unit = unit_around(w, at)
    return unit == w.n_units or w.lost[unit]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace(
    w: cython.pointer[Walker],
    losses: cython.pointer[Losses],
    ref: cython.pointer[uint32_t],
    to: uint32_t,
    die: uint32_t,
) -> cython.bint:
    """Makes a reference of this DIE to what is left out one to `to`. False: it is none."""
    if not is_left_out(w, ref[0]):
        return False
    ref[0] = to
    if not lose_at(losses, FAULT_LEFT_OUT, die, 0):
        no_memory(w)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace_in_members(
    w: cython.pointer[Walker], losses: cython.pointer[Losses], t: cython.pointer[Type]
) -> cython.void:
    """Of the members of a struct. A bitfield whose type is left out is dropped: STAND_IN is not a number."""
    members: cython.pointer[Member] = w.u.members
    i: uint32_t
    n: uint32_t = t.first
    for i in range(t.first, t.first + t.count):
        if replace(w, losses, cython.address(members[i].ref), STAND_IN, t.die) and members[i].bitfield_size:
            continue
        members[n] = members[i]
        n += 1
    t.count = n - t.first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace_in_types(w: cython.pointer[Walker], losses: cython.pointer[Losses]) -> cython.void:
    """Of types, their members and parameters, and of DIEs that only name a type of a type unit (`aliases`). What a
    struct specifies becomes 0, as if it specified nothing. Goes from the last type to the first: what a slot without a
    DIE loses is noted for the type after it.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    t: cython.pointer[Type]
    i: uint32_t
    k: uint32_t
    die: uint32_t = 0
    for i in range(u.n_types - 1, 0, -1):
        t = cython.address(u.types[i])
        die = t.die if t.die else die  # a type tag, or a dimension, of the type that follows
        if t.tag == DW_TAG_enumeration_type and t.size <= 4:
            if is_left_out(w, t.ref):  # nobody asks what it is of
                t.ref = 0
        elif not t.flags & T_REF_LOCAL:
            replace(w, losses, cython.address(t.ref), STAND_IN, die)
        replace(w, losses, cython.address(t.spec), 0, die)
        if is_structure(t.tag):
            replace_in_members(w, losses, t)
        elif t.tag == DW_TAG_subroutine_type:
            for k in range(t.first, t.first + t.count):
                replace(w, losses, cython.address(u.type_params[k].ref), STAND_IN, die)
    for i in range(u.n_aliases):
        replace(w, losses, cython.address(u.aliases[i].target), STAND_IN, u.aliases[i].die)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace_in_functions(w: cython.pointer[Walker], losses: cython.pointer[Losses]) -> cython.void:
    """Of functions, their parameters, and variables. Origins and specifications become 0. Where the type was to come
    from an origin, it is STAND_IN.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    f: cython.pointer[Function]
    p: cython.pointer[Param]
    i: uint32_t
    k: uint32_t
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        replace(w, losses, cython.address(f.ref), STAND_IN, f.die)
        replace(w, losses, cython.address(f.spec), 0, f.die)
        if replace(w, losses, cython.address(f.origin), 0, f.die):
            f.flags &= ~F_HAS_ORIGIN
            f.ref = f.ref if f.ref else STAND_IN
        for k in range(f.first, f.first + f.count):
            p = cython.address(u.params[k])
            replace(w, losses, cython.address(p.ref), STAND_IN, p.die)
            if replace(w, losses, cython.address(p.origin), 0, p.die) and not p.has_type:
                p.ref = STAND_IN
    for i in range(u.n_variables):
        replace(w, losses, cython.address(u.variables[i].ref), STAND_IN, u.variables[i].die)
        replace(w, losses, cython.address(u.variables[i].spec), 0, u.variables[i].die)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def replace_references(w: cython.pointer[Walker], losses: cython.pointer[Losses]) -> int64_t:
    """Makes references to what is left out ones to a type that stands for it, and notes each. To be called when all
    DIEs are read, before their references become ids. Returns that type's id, 0 if nothing refers to it; -1: no memory.
    """
    t: Type
    had: uint64_t = losses.counts[FAULT_LEFT_OUT]
    replace_in_types(w, losses)
    replace_in_functions(w, losses)
    if w.fault.code:
        return -1
    if losses.counts[FAULT_LEFT_OUT] == had:
        return 0
    memset(cython.address(t), 0, cython.sizeof(Type))
    t.tag = DW_TAG_structure_type
    t.die = STAND_IN
    if add_type(w, cython.address(t)):
        return -1
    return cython.cast(int64_t, w.u.n_types) - 1
