"""Functions, their parameters and blocks, and variables, read at a glance (die_fast_path.py).

Two of three functions that a unit describes have no code there: they are declared, or inline. Those that have are left
to die_objects.py, as are variables with a location that is not in a function. What is passed over in functions, such as
calls, comes to nothing here.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import *
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.dwarf.die_fast_path import glance_frame
from cython.cimports.pybtf.core.dwarf.forms import A_EXPR, A_LISTX, A_SEC_OFFSET
from cython.cimports.pybtf.core.dwarf.function_fast_path import *
from cython.cimports.pybtf.core.dwarf.passing import after_code, short_leb
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.support.memory import grow


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def locate(w: cython.pointer[Walker], p: cython.pointer[Param], lead: uint8_t) -> cython.void:
    """Sets the place of a parameter that is said by what its DIE begins with."""
    base: cython.pointer[cython.const[uint8_t]] = w.r.c.base
    at: cython.pointer[cython.const[uint8_t]] = after_code(base + p.die)
    p.has_loc = 1
    if lead == LEB:
        p.loc = short_leb(at, False)
        p.loc_cls = A_LISTX
    else:
        p.loc = at + 1 - base
        p.loc_size = at[0]
        p.loc_cls = A_EXPR


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_parameter(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    s: cython.pointer[cython.const[DieLayout]],
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
    value: uint64_t,
) -> cython.bint:
    """A parameter of a function, and where it is passed. False: not here, or no memory."""
    p: cython.pointer[Param]
    if w.want_parameter_names or not grow(w.params, w.cap_params, w.n_params + 1):
        return False
    p = cython.address(w.params[w.n_params])
    memset(p, 0, cython.sizeof(Param))
    p.reg = -1
    p.die = cython.cast(uint32_t, die)
    p.name = name
    p.named = s.named != 0 or s.lead == TEXT
    if s.flags & BY_ORIGIN:
        p.origin = ref
    else:
        p.ref = ref  # `has_type` counts only beside an origin
    if s.valued:
        p.has_loc = 1
        p.loc = value
        p.loc_cls = A_SEC_OFFSET
    elif s.flags & IN_LEAD:
        locate(w, p, s.lead)
    w.n_params += 1
    f.index += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_variable(
    w: cython.pointer[Walker],
    s: cython.pointer[cython.const[DieLayout]],
    top_level: cython.bint,
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
) -> cython.bint:
    """A variable without a location, in or outside of a function. False: no memory."""
    u: cython.pointer[Unit] = cython.address(w.u)
    v: cython.pointer[Variable]
    if not grow(u.variables, u.cap_variables, u.n_variables + 1):
        return False
    v = cython.address(u.variables[u.n_variables])
    memset(v, 0, cython.sizeof(Variable))
    v.die = cython.cast(uint32_t, die)
    v.name = name
    v.ref = ref
    v.flags = s.flags
    if top_level:
        v.flags |= V_TOP_LEVEL
    u.n_variables += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_function(
    w: cython.pointer[Walker],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
) -> cython.bint:
    """Into a frame, if there are children, and otherwise into the table."""
    u: cython.pointer[Unit] = cython.address(w.u)
    f: cython.pointer[Frame]
    func: cython.pointer[Function]
    if decl.children:
        f = glance_frame(w, IN_FUNCTION, w.n_params)
        if f == cython.NULL:
            return False
        func = cython.address(f.func)
    else:
        if not grow(u.functions, u.cap_functions, u.n_functions + 1):
            return False
        func = cython.address(u.functions[u.n_functions])
        u.n_functions += 1
    memset(func, 0, cython.sizeof(Function))
    func.die = cython.cast(uint32_t, die)
    func.bases = u.n_bases - 1
    func.name = name
    func.ref = ref
    func.first = u.n_params
    func.flags = decl.layout.flags
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_in_function(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
    value: uint64_t,
) -> cython.bint:
    """Does what a DIE of one of these kinds comes to as a child of frame `f`. False: nothing has been done."""
    kind: uint32_t = decl.layout.kind
    inside: cython.bint = f.mode == IN_FUNCTION or f.mode == IN_BLOCK
    if kind == LAYOUT_PARAMETER:
        return f.mode == IN_FUNCTION and put_parameter(w, f, cython.address(decl.layout), die, name, ref, value)
    if not inside and f.mode != IN_UNIT:
        return False
    if kind == LAYOUT_VARIABLE:
        return put_variable(w, cython.address(decl.layout), not inside, die, name, ref)
    if kind == LAYOUT_FUNCTION:
        return put_function(w, decl, die, name, ref)
    return kind == LAYOUT_BLOCK and inside and glance_frame(w, IN_BLOCK, 0) != cython.NULL
