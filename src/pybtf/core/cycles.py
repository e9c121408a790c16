# cython: annotation_typing=True
"""Chains of DW_AT_abstract_origin and DW_AT_specification must end.

A DIE takes its name and more from the one it names there, which may do so in turn. Compilers make chains of one or
two links. A chain that comes back to itself names nothing, and whoever follows it never stops; so it is an error
of the unit before anybody does. Following each chain for more links than any real one has is enough to find all
cycles.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.pybtf.core.faults import FAULT_CYCLE, IN_INFO, Fault, fault_set
from cython.cimports.pybtf.core.resolve import function_at, origin_param, type_at, variable_specified
from cython.cimports.pybtf.core.unit import *

LONGEST = cython.declare(cython.int, 64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cycle(fault: cython.pointer[Fault], die: uint32_t) -> cython.int:
    return fault_set(fault, FAULT_CYCLE, IN_INFO, die, die, cython.cast(int64_t, die))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_functions(u: cython.pointer[Unit], fault: cython.pointer[Fault]) -> cython.int:
    i: uint32_t
    k: uint32_t
    links: cython.int
    f: cython.pointer[Function]
    g: cython.pointer[Function]
    p: cython.pointer[Param]
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        g = f
        links = 0
        while g != cython.NULL and (g.origin or g.spec):
            links += 1
            if links > LONGEST:
                return cycle(fault, f.die)
            g = function_at(u, g.origin if g.origin else g.spec)
        for k in range(f.first, f.first + f.count):
            p = cython.address(u.params[k])
            links = 0
            while p != cython.NULL and p.origin:
                links += 1
                if links > LONGEST:
                    return cycle(fault, u.params[k].die)
                p = origin_param(u, f, p.origin)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_cycles(u: cython.pointer[Unit], fault: cython.pointer[Fault]) -> cython.int:
    """Finds a cycle in a resolved unit. Nonzero: fault."""
    i: uint32_t
    at: uint32_t
    links: cython.int
    if check_functions(u, fault):
        return 1
    for i in range(u.n_variables):
        at = i
        links = 0
        while at != NO_INDEX and u.variables[at].spec:
            links += 1
            if links > LONGEST:
                return cycle(fault, u.variables[i].die)
            at = variable_specified(u, u.variables[at].spec, fault)
    for i in range(1, u.n_types):
        at = i
        links = 0
        while at and u.types[at].spec:
            links += 1
            if links > LONGEST:
                return cycle(fault, u.types[i].die)
            at = type_at(u, u.types[at].spec)
    return fault.code
