"""The graph of types, walked along its references in the order in which kernels walk it.

The order decides: a walk has room for 32 types that are not resolved, so a chain of any length passes if each type
refers to one of smaller id. And where a walk ends depends on where it began. Once it has met a pointer, it goes on
through pointers and modifiers only; once it has met a struct, a union or an array, through those and modifiers, but not
through pointers. That is what makes structs that point to each other no loop.

What is wrong is noted, and the walk goes on as if it were not. After a loop or too long a path, all types on the path
are bad; what depends on a bad type is not judged.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.accept.accept import (
    AT_LEAVES,
    BAD,
    BEHIND_POINTERS,
    INSIDE,
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_TYPEDEF,
    KIND_VAR,
    MAX_DEPTH,
    NEW,
    NO_KIND,
    NOTHING,
    R_ARG,
    R_ARG_NAME,
    R_ARRAY_INT,
    R_ARRAY_OVERFLOW,
    R_DEPTH,
    R_ELEM,
    R_FUNC_ARG,
    R_FUNC_TARGET,
    R_INDEX,
    R_LOOP,
    R_MEMBER_TYPE,
    R_REF_FUNC,
    R_REF_KIND,
    R_REF_MISSING,
    R_RETURN,
    R_SEC_NOT_VAR,
    R_SEC_VAR_SIZE,
    R_SEC_VAR_TYPE,
    R_TAG_INDEX,
    R_TAG_TARGET,
    R_VAR_TYPE,
    R_VARARG,
    RESOLVED,
    VISITED,
    Layer,
    add,
    end_of,
    has_members,
    is_source_only,
    kind_of,
    layer_of,
    modifies,
    record_of,
    state_of,
    vlen_of,
)
from cython.cimports.pybtf.core.accept.accept_members import check_offset
from cython.cimports.pybtf.core.accept.accept_names import is_identifier
from cython.cimports.pybtf.core.accept.accept_sizes import SIZED, UNKNOWN, UNSIZED, is_regular, sized

# What `enter` and the steps say.
GO_ON = cython.declare(cython.int, 0)
ENTERED = cython.declare(cython.int, 1)
FAILED = cython.declare(cython.int, 2)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def refers(y: cython.pointer[cython.const[Layer]], kind: uint32_t) -> cython.bint:
    """Whether types of this kind are resolved at all."""
    if kind == KIND_FUNC:
        return y.version >= 516
    return modifies(kind) or kind == KIND_PTR or kind == KIND_ARRAY or has_members(kind) or is_source_only(kind)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def ends(y: cython.pointer[cython.const[Layer]], kind: uint32_t) -> cython.bint:
    """Whether the walk ends at types of this kind."""
    if y.mode == BEHIND_POINTERS:
        return not modifies(kind) and kind != KIND_PTR
    if y.mode == INSIDE:
        return not modifies(kind) and kind != KIND_ARRAY and not has_members(kind)
    return not refers(y, kind)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.int:
    if y.depth == MAX_DEPTH:
        add(y, R_DEPTH, y.stack[y.depth - 1].id, 0, id)
        return FAILED
    if state_of(y, id) != NEW:
        add(y, R_LOOP, y.stack[y.depth - 1].id, 0, id)
        return FAILED
    y.state[id - y.first] = VISITED
    y.stack[y.depth].id = id
    y.stack[y.depth].at = 0
    y.depth += 1
    if y.mode == AT_LEAVES:
        if kind == KIND_PTR:
            y.mode = BEHIND_POINTERS
        elif kind == KIND_ARRAY or has_members(kind):
            y.mode = INSIDE
    return ENTERED


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def enter(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.int:
    """Go to a type that is referred to, unless the walk ends there or it is resolved."""
    if ends(y, kind) or state_of(y, id) >= RESOLVED:
        return GO_ON
    return push(y, id, kind)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def leave(y: cython.pointer[Layer], state: cython.int, to: uint32_t, size: uint32_t) -> cython.void:
    """The type on top of the path is done."""
    at: uint32_t
    y.depth -= 1
    at = y.stack[y.depth].id - y.first
    y.state[at] = state
    y.to[at] = to
    y.sizes[at] = size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_reference(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.int:
    """A pointer, a modifier or a variable."""
    of: uint32_t = record_of(y, id)[2]
    of_kind: uint32_t = kind_of(y, of)
    end: uint32_t
    size: uint32_t
    status: cython.int
    if of_kind == NO_KIND or is_source_only(of_kind):
        add(y, R_REF_MISSING if of_kind == NO_KIND else R_REF_KIND, id, 0, of)
        leave(y, BAD, 0, 0)
        return GO_ON
    status = enter(y, of, of_kind)
    if status != GO_ON:
        return status
    if not modifies(kind) and modifies(of_kind) and state_of(y, of) == RESOLVED:
        end = end_of(y, of)
        if kind_of(y, end) == KIND_PTR:
            status = enter(y, end, KIND_PTR)
            if status != GO_ON:
                return status
    status = sized(y, of, cython.address(end), cython.address(size))
    if status == UNSIZED and kind == KIND_VAR:
        add(y, R_VAR_TYPE, id, 0, of)
        status = UNKNOWN
    elif status == UNSIZED:
        end = of
        if state_of(y, of) == RESOLVED and of_kind and refers(y, of_kind):
            end = end_of(y, of)
            of_kind = kind_of(y, end)
        if of_kind != 0 and of_kind != KIND_FWD and of_kind != KIND_FUNC_PROTO:
            add(y, R_REF_FUNC, id, 0, of)
            status = UNKNOWN
    leave(y, BAD if status == UNKNOWN else RESOLVED, end, 0)
    return GO_ON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_array(y: cython.pointer[Layer], id: uint32_t) -> cython.int:
    """An array, index type first; `at` is 1 once that is done. It is bad if the size of its elements is not known, or
    all of them together 4 GiB or more. GO_ON, or what `enter` says of a type that has to be resolved before.
    """
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    index: uint32_t = r[4]
    of: uint32_t = r[3]
    end: uint32_t
    size: uint32_t
    kind: uint32_t = kind_of(y, index)
    status: cython.int
    if y.stack[y.depth - 1].at == 0:  # the index has not been looked at
        if kind == NO_KIND or is_source_only(kind):
            status = UNSIZED
        else:
            status = enter(y, index, kind)
            if status != GO_ON:
                return status
            status = sized(y, index, cython.address(end), cython.address(size))
        if status == UNSIZED or (
            status == SIZED and not (kind_of(y, end) == KIND_INT and is_regular(y, record_of(y, end)))
        ):
            add(y, R_INDEX, id, 0, index)
        y.stack[y.depth - 1].at = 1
    kind = kind_of(y, of)
    if kind == NO_KIND or is_source_only(kind):
        add(y, R_ELEM, id, 0, of)
        leave(y, BAD, 0, 0)
        return GO_ON
    status = enter(y, of, kind)
    if status != GO_ON:
        return status
    status = sized(y, of, cython.address(end), cython.address(size))
    if status == UNSIZED:
        add(y, R_ELEM, id, 0, of)
    if status != SIZED:
        leave(y, BAD, 0, 0)
        return GO_ON
    if kind_of(y, end) == KIND_INT and not is_regular(y, record_of(y, end)):
        add(y, R_ARRAY_INT, id, 0, of)
    if cython.cast(uint64_t, size) * r[5] > NOTHING:
        add(y, R_ARRAY_OVERFLOW, id, 0, r[5])
        leave(y, BAD, 0, 0)
        return GO_ON
    leave(y, RESOLVED, end, size * r[5])
    return GO_ON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_members(y: cython.pointer[Layer], id: uint32_t) -> cython.int:
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    i: uint32_t
    of: uint32_t
    kind: uint32_t
    status: cython.int
    for i in range(y.stack[y.depth - 1].at, vlen_of(y, r)):
        of = r[3 + 3 * cython.cast(cython.size_t, i) + 1]
        kind = kind_of(y, of)
        if kind == NO_KIND or is_source_only(kind):
            add(y, R_MEMBER_TYPE, id, i, of)
            continue
        y.stack[y.depth - 1].at = i
        status = enter(y, of, kind)
        if status != GO_ON:
            return status
        check_offset(y, id, i)
    leave(y, RESOLVED, 0, 0)
    return GO_ON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_section(y: cython.pointer[Layer], id: uint32_t) -> cython.int:
    """A variable that the section is the first to meet is resolved, but its size is not compared: kernels do so."""
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    e: cython.pointer[cython.const[uint32_t]]
    i: uint32_t
    kind: uint32_t
    end: uint32_t
    size: uint32_t
    status: cython.int
    if y.version >= 603:
        y.mode = AT_LEAVES
    for i in range(y.stack[y.depth - 1].at, vlen_of(y, r)):
        e = r + 3 + 3 * cython.cast(cython.size_t, i)
        kind = kind_of(y, e[0])
        if kind != KIND_VAR:
            add(y, R_SEC_NOT_VAR, id, i, e[0])
            continue
        y.stack[y.depth - 1].at = i + 1
        status = enter(y, e[0], kind)
        if status != GO_ON:
            return status
        status = sized(y, record_of(y, e[0])[2], cython.address(end), cython.address(size))
        if status == UNSIZED:
            if state_of(y, e[0]) != BAD:
                add(y, R_SEC_VAR_TYPE, id, i, e[0])
        elif status == SIZED and e[2] < size:
            add(y, R_SEC_VAR_SIZE, id, i, size)
    leave(y, RESOLVED, 0, 0)
    return GO_ON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_tag(y: cython.pointer[Layer], id: uint32_t) -> cython.int:
    """A DECL_TAG. Its component is a member or parameter, counted from 0, or NOTHING: the type as a whole, the only
    thing that a variable or typedef has. GO_ON, or what `enter` says.
    """
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    of: uint32_t = r[2]
    kind: uint32_t = kind_of(y, of)
    status: cython.int
    if kind != KIND_FUNC and kind != KIND_VAR and kind != KIND_TYPEDEF and not has_members(kind):
        add(y, R_TAG_TARGET, id, 0, of)
        leave(y, BAD, 0, 0)
        return GO_ON
    status = enter(y, of, kind)
    if status != GO_ON:
        return status
    if r[3] != NOTHING:
        if kind == KIND_VAR or kind == KIND_TYPEDEF:
            add(y, R_TAG_INDEX, id, 0, r[3])
        else:
            if kind == KIND_FUNC:
                of = record_of(y, of)[2]
                kind = kind_of(y, of)
            if (kind == KIND_FUNC_PROTO or has_members(kind)) and r[3] >= vlen_of(y, record_of(y, of)):
                add(y, R_TAG_INDEX, id, 0, r[3])
    leave(y, RESOLVED, r[2], 0)
    return GO_ON


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unnamed(y: cython.pointer[cython.const[Layer]], id: uint32_t) -> uint32_t:
    """The number of the first parameter without a name, the last of a variable number excepted; if there is none, -1.

    Many functions may share a prototype with many parameters, so it is kept with the prototype, one more.
    """
    layer: cython.pointer[cython.const[Layer]] = layer_of(y, id)
    kept: cython.pointer[uint32_t] = layer.sizes + (id - layer.first)
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    i: uint32_t
    if kept[0] == 0:
        kept[0] = NOTHING
        for i in range(vlen_of(y, r)):
            if r[3 + 2 * cython.cast(cython.size_t, i)] == 0 and r[4 + 2 * cython.cast(cython.size_t, i)]:
                kept[0] = i + 1
                break
    return NOTHING if kept[0] == NOTHING else kept[0] - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_function(y: cython.pointer[Layer], id: uint32_t) -> cython.bint:
    """What a function is about is a prototype itself, whose parameters have names."""
    of: uint32_t = record_of(y, id)[2]
    at: uint32_t
    if kind_of(y, of) != KIND_FUNC_PROTO:
        add(y, R_FUNC_TARGET, id, 0, of)
        return False
    at = unnamed(y, of)
    if at != NOTHING:
        add(y, R_FUNC_ARG, id, at, of)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.int:
    if kind == KIND_ARRAY:
        return step_array(y, id)
    if has_members(kind):
        return step_members(y, id)
    if kind == KIND_DATASEC:
        return step_section(y, id)
    if kind == KIND_DECL_TAG:
        return step_tag(y, id)
    if kind == KIND_FUNC:
        leave(y, RESOLVED if check_function(y, id) else BAD, record_of(y, id)[2], 0)
        return GO_ON
    return step_reference(y, id, kind)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_from(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.void:
    y.mode = AT_LEAVES
    y.depth = 0
    push(y, id, kind)
    while y.depth:
        id = y.stack[y.depth - 1].id
        if step(y, id, kind_of(y, id)) == FAILED:
            while y.depth:
                leave(y, BAD, 0, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_size(y: cython.pointer[Layer], id: uint32_t) -> cython.bint:
    """Whether a parameter or a result may be of a type. It is resolved, if it is not yet."""
    kind: uint32_t = kind_of(y, id)
    end: uint32_t
    size: uint32_t
    if kind == NO_KIND or is_source_only(kind):
        return False
    if refers(y, kind) and state_of(y, id) == NEW:
        walk_from(y, id, kind)
    return sized(y, id, cython.address(end), cython.address(size)) != UNSIZED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_prototype(y: cython.pointer[Layer], id: uint32_t) -> cython.void:
    r: cython.pointer[cython.const[uint32_t]] = record_of(y, id)
    p: cython.pointer[cython.const[uint32_t]] = r + 3
    n: uint32_t = vlen_of(y, r)
    i: uint32_t
    if r[2] and not has_size(y, r[2]):
        add(y, R_RETURN, id, 0, r[2])
    if n and p[2 * cython.cast(cython.size_t, n) - 1] == 0:
        n -= 1
        if p[2 * cython.cast(cython.size_t, n)]:
            add(y, R_VARARG, id, n, 0)
    for i in range(n):
        if p[0] and (p[0] >= y.text_end or p[0] > 0xFFFFFF or not is_identifier(y, p[0], False)):
            add(y, R_ARG_NAME, id, i, p[0])
        if not has_size(y, p[1]):
            add(y, R_ARG, id, i, p[1])
        p += 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_all(y: cython.pointer[Layer]) -> cython.void:
    id: uint32_t
    kind: uint32_t
    for id in range(y.first, y.end):
        kind = kind_of(y, id)
        if refers(y, kind) and y.state[id - y.first] == NEW:
            walk_from(y, id, kind)
        if kind == KIND_FUNC_PROTO:
            check_prototype(y, id)
        elif kind == KIND_FUNC and y.version < 516:
            check_function(y, id)
