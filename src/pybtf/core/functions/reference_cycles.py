"""Chains of DW_AT_abstract_origin and DW_AT_specification must end.

A DIE takes its name and more from the one it names there, which may do so in turn. Compilers make chains of one or
two links. A chain that comes back to itself names nothing, and whoever follows it never stops; so it is an error
of the unit. resolve.py asks only where a link leads to a DIE that has a link itself, which costs nothing in the usual
case. What is known to end, or not to, is not followed again, for many functions may share one long chain; of other
DIEs, chains of more links than any real one has count as cycles, and links are followed until `Unit.left` is spent.
"""

import cython
from cython.cimports.libc.stdint import uint16_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.dwarf.die_index import map_get
from cython.cimports.pybtf.core.functions.resolve import function_at, origin_param
from cython.cimports.pybtf.core.functions.type_references import type_id
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_CYCLE, IN_INFO, Fault, fault_set

LONGEST = cython.declare(cython.int, 1024)
LINK = cython.declare(uint64_t, 8)  # of `Unit.left`, for a link of a chain that many DIEs may share


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def afford(u: cython.pointer[Unit]) -> cython.bint:
    if u.left <= LINK:
        u.left = 0
        return False
    u.left -= LINK
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def no_end(u: cython.pointer[Unit], fault: cython.pointer[Fault], die: uint32_t, to: uint32_t) -> cython.int:
    """See reference_cycles.pxd."""
    if u.left == 0:
        return too_shared(u, fault, IN_INFO, die, die)
    return fault_set(fault, FAULT_CYCLE, IN_INFO, die, die, to)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def endless_types(u: cython.pointer[Unit], spec: uint32_t) -> cython.bint:
    """Whether a chain of DW_AT_specification between types does not end."""
    steps: cython.int
    for steps in range(LONGEST):
        if not afford(u):
            break
        spec = u.types[type_id(u, spec)].spec
        if spec == 0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def endless_functions(u: cython.pointer[Unit], f: cython.pointer[Function]) -> cython.bint:
    """Whether a chain of DW_AT_abstract_origin and DW_AT_specification does not end."""
    g: cython.pointer[Function] = f
    earlier: cython.pointer[Function] = cython.NULL  # where the chain was after a power of two of steps (Brent)
    steps: uint32_t = 0
    known: uint16_t = F_ENDS
    while g != cython.NULL and not g.flags & (F_ENDS | F_ENDLESS):
        if g == earlier:
            break
        if steps & (steps - 1) == 0:
            earlier = g
        g = function_at(u, g.origin if g.origin else g.spec)
        steps += 1
    if g != cython.NULL and not g.flags & F_ENDS:
        known = F_ENDLESS
    while steps:
        f.flags |= known
        f = function_at(u, f.origin if f.origin else f.spec)
        steps -= 1
    return known == F_ENDLESS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def endless_params(
    u: cython.pointer[Unit], f: cython.pointer[Function], p: cython.pointer[Param], fault: cython.pointer[Fault]
) -> cython.bint:
    """Whether the chain of DW_AT_abstract_origin of a parameter does not end; that is a fault, as is no memory."""
    die: uint32_t = p.die
    steps: cython.int
    for steps in range(LONGEST):
        if not afford(u):
            break
        p = origin_param(u, f, p.origin, fault)
        if fault.code:
            return True
        if p == cython.NULL or p.origin == 0:
            return False
    no_end(u, fault, die, p.die)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def endless_variables(u: cython.pointer[Unit], at: uint32_t) -> cython.bint:
    """Whether a chain of DW_AT_specification between variables does not end; `variable_at` is filled."""
    steps: cython.int
    for steps in range(LONGEST):
        if not afford(u):
            break
        if u.variables[at].spec == 0 or u.variables[at].spec == NO_INDEX:
            return False
        at = map_get(cython.address(u.variable_at), u.variables[at].spec)
        if at == NO_INDEX:
            return False
    return True
