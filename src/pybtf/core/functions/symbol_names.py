"""Names of functions and variables, interned where they can matter.

The walk leaves name words (lazy_names.py). What is only declared is not written, nor are variables outside the sections
that are wanted, and nobody looks at their names. In a kernel these are two of three names, so they remain words.
Everything is interned where somebody may ask about any name (`pybtf why`), or for the values of an object.

A function may get its name from its abstract origin, or from what it specifies. So this comes after names have been
passed on (resolve.py); a variable takes that of the one it specifies when it is looked at (variables.py).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.functions.resolve import variable_specified
from cython.cimports.pybtf.core.functions.variables import VariableRules, section_of
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_MEMORY, FAULT_NONE, Fault
from cython.cimports.pybtf.core.strings.lazy_names import NAMES_MEMORY, NAMES_OK, Names, names_intern
from cython.cimports.pybtf.core.support.memory import U32s, u32s_add, u32s_reserve


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_function_names(
    u: cython.pointer[Unit], names: cython.pointer[Names], picked: cython.pointer[U32s], everything: cython.bint
) -> cython.int:
    """See `symbol_names.pxd`."""
    i: uint32_t
    at: cython.size_t = 0
    status: cython.int
    if u.n_functions == 0:
        return NAMES_OK
    if everything:
        return names_intern(names, cython.address(u.functions.name), u.n_functions, cython.sizeof(Function) // 4)
    picked.n = 0
    if not u32s_reserve(picked, u.n_functions):
        return NAMES_MEMORY
    for i in range(u.n_functions):
        if not u.functions[i].flags & F_DECLARATION:
            u32s_add(picked, u.functions[i].name)
    status = names_intern(names, picked.p, cython.cast(uint32_t, picked.n), 1)
    if status != NAMES_OK:
        return status
    for i in range(u.n_functions):
        if not u.functions[i].flags & F_DECLARATION:
            u.functions[i].name = picked.p[at]
            at += 1
    return NAMES_OK


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_wanted(v: cython.pointer[Variable], rules: cython.pointer[cython.const[VariableRules]]) -> cython.bint:
    """Whether the variable has an address where one may be written."""
    if v.flags & (V_TOP_LEVEL | V_ADDRESS) != V_TOP_LEVEL | V_ADDRESS:
        return False
    return section_of(rules, v.address) != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_variable_names(
    u: cython.pointer[Unit],
    names: cython.pointer[Names],
    picked: cython.pointer[U32s],
    rules: cython.pointer[cython.const[VariableRules]],
    everything: cython.bint,
) -> cython.int:
    """See `symbol_names.pxd`."""
    i: uint32_t
    k: uint32_t
    n: uint32_t
    status: cython.int
    fault: Fault  # of a specification; whoever looks at the variable reports it
    if u.n_variables == 0:
        return NAMES_OK
    if everything:
        return names_intern(names, cython.address(u.variables.name), u.n_variables, cython.sizeof(Variable) // 4)
    picked.n = 0
    if not u32s_reserve(picked, 2 * cython.cast(cython.size_t, u.n_variables)):
        return NAMES_MEMORY
    for i in range(u.n_variables):
        if not is_wanted(cython.address(u.variables[i]), rules):
            continue
        k = i
        if u.variables[i].spec:
            fault.code = FAULT_NONE
            k = variable_specified(u, u.variables[i].spec, cython.address(fault))
            if fault.code == FAULT_MEMORY:
                return NAMES_MEMORY
            if k == NO_INDEX:
                k = i
        u32s_add(picked, k)
    # First all indexes, then the names at these, which become ids together.
    n = cython.cast(uint32_t, picked.n)
    for i in range(n):
        u32s_add(picked, u.variables[picked.p[i]].name)
    status = names_intern(names, picked.p + n, n, 1)
    if status != NAMES_OK:
        return status
    for i in range(n):
        u.variables[picked.p[i]].name = picked.p[n + i]
    return NAMES_OK
