"""Frames: an object waits in one while its children are read, and enters its table when the frame closes.

Its members, enumerators, parameters, dimensions and annotations wait on stacks, where those of the innermost open
frame are always on top. Closing a frame moves one contiguous run to its final place.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t
from cython.cimports.pybtf.core.dwarf.attributes import D_ANNOTATION
from cython.cimports.pybtf.core.dwarf.btf_tags import annotation_chain, tag_slots
from cython.cimports.pybtf.core.dwarf.member_layout import sort_members
from cython.cimports.pybtf.core.dwarf.open_objects import *
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_DEPTH, FAULT_TAGS, IN_INFO, fault_set
from cython.cimports.pybtf.core.support.memory import grow

MAX_DEPTH = cython.declare(uint32_t, 4096)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_frame(w: cython.pointer[Walker], mode: uint8_t, mark: uint32_t) -> cython.pointer[Frame]:
    """A new topmost frame, NULL with a fault if there can be none."""
    f: cython.pointer[Frame]
    if w.n_frames >= MAX_DEPTH:
        fault_set(
            cython.address(w.fault), FAULT_DEPTH, IN_INFO, w.d.offset, w.d.offset, cython.cast(int64_t, MAX_DEPTH)
        )
        return cython.NULL
    if not grow(w.frames, w.cap_frames, w.n_frames + 1):
        no_memory(w)
        return cython.NULL
    f = cython.address(w.frames[w.n_frames])
    w.n_frames += 1
    f.mode = mode
    f.mark = mark
    f.anns_mark = w.n_anns
    f.index = 0
    f.chain = reference(w, D_ANNOTATION)
    return f


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def opened(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """What the loop does next with a frame just filled: read children, or close it at once."""
    if w.d.children:
        return OPENED
    return close_frame(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_frame(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """Ends the topmost frame: its object enters its table. -1: fault. Chains count for members, parameters, functions,
    structs and pointers, not for typedefs, variables and unions (Q18).
    """
    mode: uint8_t = f.mode
    w.n_frames -= 1
    if mode == IN_STRUCT:
        return close_struct(w, f)
    if mode == IN_ENUM:
        return close_enum(w, f)
    if mode == IN_ARRAY:
        return close_array(w, f)
    if mode == IN_SUBROUTINE:
        return close_subroutine(w, f)
    if mode == IN_FUNCTION:
        return close_function(w, f)
    if mode == IN_POINTER:
        return close_pointer(w, f)
    if mode == IN_TYPEDEF:
        if take_anns(w, f.anns_mark, cython.address(f.type.anns), cython.address(f.type.n_anns)):
            return -1
        return add_type(w, cython.address(f.type))
    if mode == IN_VARIABLE:
        return close_variable(w, f)
    if (mode == IN_MEMBER or mode == IN_PARAMETER) and f.chain:
        return annotation_chain(w, f.chain, f.index)
    return 0


# ---- closing: from the stacks to the tables -----------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_anns(
    w: cython.pointer[Walker], mark: uint32_t, first: cython.pointer[uint32_t], n: cython.pointer[uint16_t]
) -> cython.int:
    """Moves the annotations above `mark` from the stack to the unit."""
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_anns - mark
    i: uint32_t
    if count == 0:
        return 0
    if count > 0xFFFF:
        return fault_set(cython.address(w.fault), FAULT_TAGS, IN_INFO, w.d.offset, w.d.offset, count)
    if not grow(u.anns, u.cap_anns, u.n_anns + count):
        return no_memory(w)
    for i in range(count):
        u.anns[u.n_anns + i] = w.anns[mark + i]
    first[0] = u.n_anns
    n[0] = cython.cast(uint16_t, count)
    u.n_anns += count
    w.n_anns = mark
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_params(
    w: cython.pointer[Walker], mark: uint32_t, first: cython.pointer[uint32_t], n: cython.pointer[uint32_t]
) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_params - mark
    i: uint32_t
    if not grow(u.params, u.cap_params, u.n_params + count):
        return no_memory(w)
    for i in range(count):
        u.params[u.n_params + i] = w.params[mark + i]
    first[0] = u.n_params
    n[0] = count
    u.n_params += count
    w.n_params = mark
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_subroutine(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_params - f.mark
    i: uint32_t
    if not grow(u.type_params, u.cap_type_params, u.n_type_params + count):
        return no_memory(w)
    for i in range(count):
        u.type_params[u.n_type_params + i].name = w.params[f.mark + i].name
        u.type_params[u.n_type_params + i].ref = w.params[f.mark + i].ref
    f.type.first = u.n_type_params
    f.type.count = count
    u.n_type_params += count
    w.n_params = f.mark
    return add_type(w, cython.address(f.type))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """The members move from the stack to the unit's, those of Rust by offset. The tags of the struct's chain come
    after those of its children. -1: fault.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_members - f.mark
    i: uint32_t
    if not grow(u.members, u.cap_members, u.n_members + count):
        return no_memory(w)
    for i in range(count):
        u.members[u.n_members + i] = w.members[f.mark + i]
    if u.language == DW_LANG_Rust and count:
        sort_members(cython.address(u.members[u.n_members]), cython.address(w.members[f.mark]), count)
    f.type.first = u.n_members
    f.type.count = count
    u.n_members += count
    w.n_members = f.mark
    if f.chain and f.type.tag != DW_TAG_union_type and annotation_chain(w, f.chain, -1):  # Q18
        return -1
    if take_anns(w, f.anns_mark, cython.address(f.type.anns), cython.address(f.type.n_anns)):
        return -1
    return add_type(w, cython.address(f.type))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_enum(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_enumerators - f.mark
    i: uint32_t
    if not grow(u.enumerators, u.cap_enumerators, u.n_enumerators + count):
        return no_memory(w)
    for i in range(count):
        u.enumerators[u.n_enumerators + i] = w.enumerators[f.mark + i]
    f.type.first = u.n_enumerators
    f.type.count = count
    u.n_enumerators += count
    w.n_enumerators = f.mark
    return add_type(w, cython.address(f.type))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_array(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """One slot per dimension, the innermost first; only the last one stands for the DIE. Without any, it has no
    elements (Q31).
    """
    t: Type = f.type
    n: uint32_t = w.n_dims - f.mark
    i: uint32_t
    for i in range(n if n else 1):
        t.first = cython.cast(uint32_t, w.dims[f.mark + n - 1 - i]) if n else 0
        t.die = f.type.die if i + 1 >= n else 0
        # `size` stands for the DIE's DW_AT_byte_size, which only the outermost has.
        t.size = f.type.size if i + 1 >= n else 0
        t.count = n
        if i:
            t.ref = w.u.n_types - 1
            t.flags |= T_REF_LOCAL
        if add_type(w, cython.address(t)):
            return -1
    w.n_dims = f.mark
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_function(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    if take_params(w, f.mark, cython.address(f.func.first), cython.address(f.func.count)):
        return -1
    if f.chain and annotation_chain(w, f.chain, -1):
        return -1
    if take_anns(w, f.anns_mark, cython.address(f.func.anns), cython.address(f.func.n_anns)):
        return -1
    if not grow(u.functions, u.cap_functions, u.n_functions + 1):
        return no_memory(w)
    u.functions[u.n_functions] = f.func
    u.n_functions += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_variable(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    if take_anns(w, f.anns_mark, cython.address(f.var.anns), cython.address(f.var.n_anns)):
        return -1
    if not grow(u.variables, u.cap_variables, u.n_variables + 1):
        return no_memory(w)
    u.variables[u.n_variables] = f.var
    u.n_variables += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_pointer(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A pointer with type tags refers to the last of them. In a namespace or a struct it refers to its target, past
    the tags, which are there all the same (Q18).
    """
    target: uint32_t = f.type.ref
    outer: uint8_t = w.frames[w.n_frames - 1].mode
    if f.index:
        target = w.u.types[w.u.n_types - f.index].ref
    elif w.want_type_tags and f.chain:
        if tag_slots(w, f.chain, cython.address(f.type)):
            return -1
    if target and (outer == IN_NAMESPACE or outer == IN_STRUCT):
        f.type.ref = target
        f.type.flags &= ~T_REF_LOCAL
    return add_type(w, cython.address(f.type))
