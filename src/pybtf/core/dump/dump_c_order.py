"""The order of a header: what a definition contains has to be defined before it, what it points to only declared.

So a struct is put after the structs it contains, and nothing is done about those to which it has pointers: these are
declared forward where they are needed. A struct without a name has no place of its own, for it is written where it is
used; what it contains is needed there. A typedef that is reached through a pointer waits if what it names can wait.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_PTR,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
)
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_kind, wire_refs, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import is_composite, is_enum, is_modifier, view_record
from cython.cimports.pybtf.core.dump.dump_c import (
    C_CYCLE,
    C_MEMORY,
    ORDERED,
    ORDERING,
    REFERENCED,
    CDump,
    c_enter,
    c_fail,
    c_step,
)
from cython.cimports.pybtf.core.support.memory import u32s_push


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_referenced(d: cython.pointer[CDump]) -> cython.void:
    """An enum without a name that nothing refers to is written by itself, for its values.

    That a function returns one does not count for bpftool.
    """
    id: uint32_t
    i: uint32_t
    first: uint32_t
    refs: RefSpan
    for id in range(1, d.v.n):
        refs = wire_refs(view_record(d.v, id))
        first = 1 if wire_kind(view_record(d.v, id)) == KIND_FUNC_PROTO else 0
        for i in range(first, refs.count):
            d.state[refs.p[i * refs.stride]] |= REFERENCED


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def append(d: cython.pointer[CDump], id: uint32_t) -> cython.int:
    """Give a type the next place."""
    d.state[id] |= ORDERED
    if not u32s_push(cython.address(d.queue), id):
        return c_fail(d, C_MEMORY, id)
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def order_type(d: cython.pointer[CDump], id: uint32_t, by_pointer: cython.bint) -> cython.int:
    """Put a type after what it needs. 1: it has its place; 0: it is not needed yet; -1: it cannot be done."""
    done: cython.int
    if not c_step(d, id) or not c_enter(d, id):
        return -1
    done = order_one(d, id, by_pointer)
    d.depth -= 1
    return done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def order_one(d: cython.pointer[CDump], id: uint32_t, by_pointer: cython.bint) -> cython.int:
    """As `order_type`, which counts steps and depth. `by_pointer`: a pointer leads here, so a struct or union with a
    name can wait; that a type needs itself otherwise is an error (C_CYCLE).
    """
    r: cython.pointer[uint32_t]
    kind: uint32_t
    i: uint32_t
    done: cython.int
    placed: cython.int
    if id == 0 or d.state[id] & ORDERED:
        return 1
    r = view_record(d.v, id)
    kind = wire_kind(r)
    if d.state[id] & ORDERING:
        if is_composite(kind) and by_pointer and r[0]:
            return 0
        return c_fail(d, C_CYCLE, id)
    if is_modifier(kind) or kind == KIND_TYPE_TAG:
        return order_type(d, r[2], by_pointer)
    if kind == KIND_PTR:
        done = order_type(d, r[2], True)
        d.state[id] |= ORDERED
        return done
    if kind == KIND_ARRAY:
        return order_type(d, r[3], False)
    if is_composite(kind):
        if by_pointer and r[0]:
            return 0
        d.state[id] |= ORDERING
        for i in range(wire_vlen(r)):
            if order_type(d, r[4 + 3 * i], False) < 0:
                return -1
        if r[0]:
            return append(d, id)
        d.state[id] |= ORDERED
        return 1
    if is_enum(kind) or kind == KIND_FWD:
        if r[0] or not d.state[id] & REFERENCED:
            return append(d, id)
        d.state[id] |= ORDERED
        return 1
    if kind == KIND_TYPEDEF:
        done = order_type(d, r[2], by_pointer)
        if done < 0 or (by_pointer and not done):
            return done
        return append(d, id)
    if kind == KIND_FUNC_PROTO:
        done = order_type(d, r[2], by_pointer)
        for i in range(wire_vlen(r)):
            if done < 0:
                return -1
            placed = order_type(d, r[4 + 2 * i], by_pointer)
            done = placed if placed else done
        return done
    d.state[id] |= ORDERED
    return 0
