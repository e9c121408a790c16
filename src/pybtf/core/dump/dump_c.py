"""Declarations of C, and what stands at the outermost level of a header.

C writes a declaration around the name: what a pointer, an array or a function is made of stands to the left, dimensions
and parameters to the right, and parentheses where these would take hold of the wrong thing. The chain of types from
the name to what it is made of is therefore laid on a stack, and written from its end: first the type without parts
(`const int`, `struct page`), then outward, until nothing is left and it is the name's turn. An array or a function
writes what is further out, between itself and the name, before its own dimension or parameters.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import strcmp
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_FLOAT,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_VOLATILE,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    is_composite,
    is_enum,
    is_modifier,
    kind_flag,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_c import (
    C_KIND,
    C_MEMORY,
    DECLARED,
    LOOKED_AT,
    WRITING,
    WRITTEN,
    CDump,
    c_enter,
    c_fail,
    c_step,
)
from cython.cimports.pybtf.core.dump.dump_c_define import (
    nth_use,
    put_composite,
    put_enum,
    put_tag,
    put_type_name,
    put_used,
)
from cython.cimports.pybtf.core.dump.dump_c_words import number_faults
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_unsigned
from cython.cimports.pybtf.core.support.memory import u32s_push

LONGEST_CHAIN = cython.declare(cython.size_t, 100_000)  # types that one declaration is made of

# Declarations


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_modifiers(d: cython.pointer[CDump], start: cython.size_t, write: cython.bint) -> cython.void:
    """The qualifiers on top of the chain, in front of what they qualify. Without `write` they, and tags, go."""
    kind: uint32_t
    while d.chain.n > start and d.chain.p[d.chain.n - 1]:
        kind = wire_kind(view_record(d.v, d.chain.p[d.chain.n - 1]))
        if not is_modifier(kind) and (write or kind != KIND_TYPE_TAG):
            return
        d.chain.n -= 1
        if write:
            if kind == KIND_VOLATILE:
                put(cython.address(d.out), b"volatile ")
            elif kind == KIND_CONST:
                put(cython.address(d.out), b"const ")
            else:
                put(cython.address(d.out), b"restrict ")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_parameters(d: cython.pointer[CDump], r: cython.pointer[uint32_t], level: uint32_t) -> cython.void:
    t: cython.pointer[Text] = cython.address(d.out)
    count: uint32_t = wire_vlen(r)
    i: uint32_t
    put_char(t, b"(")
    if count == 0 or (count == 1 and r[4] == 0):
        put(t, b"void)")
        return
    for i in range(count):
        if d.status:
            return
        if i:
            put(t, b", ")
        if i == count - 1 and r[4 + 2 * i] == 0:
            put(t, b"...")
        else:
            d.unlike |= r[4 + 2 * i] == 0
            c_declaration(d, r[4 + 2 * i], view_name(d.v, r[3 + 2 * i]), 1, level)
    put_char(t, b")")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_name(
    d: cython.pointer[CDump], name: cython.p_const_char, use: uint32_t, after_pointer: cython.bint
) -> cython.void:
    if name[0]:
        if not after_pointer:
            put_char(cython.address(d.out), b" ")
        put_used(d, name, use)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_end(d: cython.pointer[CDump], id: uint32_t, start: cython.size_t, level: uint32_t) -> cython.bint:
    """What a declaration is made of in the end. 0 if the type is none of these."""
    r: cython.pointer[uint32_t]
    kind: uint32_t
    if id == 0:
        put_modifiers(d, start, True)
        put(cython.address(d.out), b"void")
        return True
    r = view_record(d.v, id)
    kind = wire_kind(r)
    if kind == KIND_INT or kind == KIND_FLOAT:
        put_modifiers(d, start, True)
        put(cython.address(d.out), view_name(d.v, r[0]))
        if not d.state[id] & LOOKED_AT:
            d.state[id] |= LOOKED_AT
            d.unlike |= number_faults(r, view_name(d.v, r[0]))
    elif is_composite(kind) or is_enum(kind):
        put_modifiers(d, start, True)
        if r[0]:
            put_tag(d, id)
        elif is_enum(kind):
            put_enum(d, id, level)
        else:
            put_composite(d, id, level)
    elif kind == KIND_FWD:
        put_modifiers(d, start, True)
        put_tag(d, id)
    elif kind == KIND_TYPEDEF:
        put_modifiers(d, start, True)
        put_type_name(d, id)
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_reference(
    d: cython.pointer[CDump], r: cython.pointer[uint32_t], start: cython.size_t, after_pointer: cython.bint
) -> cython.void:
    """A pointer, a qualifier of one, or a tag."""
    t: cython.pointer[Text] = cython.address(d.out)
    kind: uint32_t = wire_kind(r)
    if kind == KIND_PTR:
        put(t, b"*" if after_pointer else b" *")
    elif kind == KIND_VOLATILE:
        put(t, b" volatile")
    elif kind == KIND_CONST:
        put(t, b" const")
    elif kind == KIND_RESTRICT:
        put(t, b" restrict")
    else:
        put_modifiers(d, start, True)
        put(t, b" __attribute__((" if kind_flag(r) else b" __attribute__((btf_type_tag(\"")
        put(t, view_name(d.v, r[0]))
        put(t, b"))" if kind_flag(r) else b"\")))")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_array(
    d: cython.pointer[CDump],
    r: cython.pointer[uint32_t],
    start: cython.size_t,
    name: cython.p_const_char,
    use: uint32_t,
    level: uint32_t,
    after_pointer: cython.bint,
) -> cython.void:
    """An array: what is further out, with the name, and the dimension. Its qualifiers are those of its elements, which
    have them, too.
    """
    t: cython.pointer[Text] = cython.address(d.out)
    nested: cython.bint
    put_modifiers(d, start, False)
    if d.chain.n == start:
        put_name(d, name, use, after_pointer)
    else:
        nested = wire_kind(view_record(d.v, d.chain.p[d.chain.n - 1])) == KIND_ARRAY
        if name[0] and not after_pointer:
            put_char(t, b" ")
        if not nested:
            put_char(t, b"(")
        put_rest(d, start, name, use, level)
        if not nested:
            put_char(t, b")")
    put_char(t, b"[")
    put_unsigned(t, r[5])
    put_char(t, b"]")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_function(
    d: cython.pointer[CDump],
    r: cython.pointer[uint32_t],
    start: cython.size_t,
    name: cython.p_const_char,
    use: uint32_t,
    level: uint32_t,
    after_pointer: cython.bint,
) -> cython.void:
    """A function: what is further out, with the name, and the parameters. Its qualifiers mean that it does not return,
    and are left out.
    """
    put_modifiers(d, start, False)
    if d.chain.n == start:
        put_name(d, name, use, after_pointer)
    else:
        put(cython.address(d.out), b" (")
        put_rest(d, start, name, use, level)
        put_char(cython.address(d.out), b")")
    put_parameters(d, r, level)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_chain(
    d: cython.pointer[CDump], start: cython.size_t, name: cython.p_const_char, use: uint32_t, level: uint32_t
) -> cython.void:
    """Write what is on the chain from `start` on, and the name. The last array or function writes the rest itself."""
    after_pointer: cython.bint = True
    id: uint32_t
    kind: uint32_t
    r: cython.pointer[uint32_t]
    while d.chain.n > start:
        d.chain.n -= 1
        id = d.chain.p[d.chain.n]
        if not c_step(d, id):
            return
        if put_end(d, id, start, level):
            after_pointer = False
            continue
        r = view_record(d.v, id)
        kind = wire_kind(r)
        if kind == KIND_ARRAY:
            put_array(d, r, start, name, use, level, after_pointer)
            return
        if kind == KIND_FUNC_PROTO:
            put_function(d, r, start, name, use, level, after_pointer)
            return
        put_reference(d, r, start, after_pointer)
        after_pointer = kind == KIND_PTR
    put_name(d, name, use, after_pointer)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_rest(
    d: cython.pointer[CDump], start: cython.size_t, name: cython.p_const_char, use: uint32_t, level: uint32_t
) -> cython.void:
    """What is further out, in the middle of a declaration."""
    if c_enter(d, d.chain.p[start]):
        put_chain(d, start, name, use, level)
        d.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def c_declaration(
    d: cython.pointer[CDump], id: uint32_t, name: cython.p_const_char, use: uint32_t, level: uint32_t
) -> cython.void:
    """Declare `name`, in its `use`-th use, to be of a type. What is defined on the way is indented by `level`."""
    start: cython.size_t = d.chain.n
    first: uint32_t = id
    kind: uint32_t
    around: uint32_t = 0  # the kind of what this is the element of, or the result
    r: cython.pointer[uint32_t]
    if not c_step(d, id) or not c_enter(d, id):
        return
    while True:
        if not u32s_push(cython.address(d.chain), id):
            c_fail(d, C_MEMORY, id)
            break
        if id == 0:
            d.unlike |= around == KIND_ARRAY
            break
        r = view_record(d.v, id)
        kind = wire_kind(r)
        if kind == KIND_FUNC_PROTO or (kind == KIND_ARRAY and around == KIND_FUNC_PROTO):
            d.unlike |= around == KIND_FUNC_PROTO or around == KIND_ARRAY
        if not is_modifier(kind):
            around = kind
        if kind == KIND_ARRAY:
            id = r[3]
        elif kind == KIND_PTR or kind == KIND_FUNC_PROTO or kind == KIND_TYPE_TAG or is_modifier(kind):
            id = r[2]
        else:
            if not (
                is_composite(kind) or is_enum(kind)
                or kind == KIND_INT or kind == KIND_FLOAT or kind == KIND_FWD or kind == KIND_TYPEDEF
            ):  # fmt: skip
                c_fail(d, C_KIND, id)
            break
        if d.chain.n - start > LONGEST_CHAIN:  # prototypes that return prototypes, in a circle
            c_fail(d, C_KIND, first)
            break
    if d.status == 0:
        put_chain(d, start, name, use, level)
    d.chain.n = start
    d.depth -= 1


# What stands at the outermost level


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish(d: cython.pointer[CDump]) -> cython.void:
    put(cython.address(d.out), b";\n\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_typedef(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """The definition, unless compilers know it."""
    t: cython.pointer[Text] = cython.address(d.out)
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    name: cython.p_const_char = view_name(d.v, r[0])
    if strcmp(name, b"__builtin_va_list") == 0:
        return
    if r[2] == 0 and strcmp(name, b"__gnuc_va_list") == 0:
        put(t, b"typedef __builtin_va_list __gnuc_va_list")
    else:
        put(t, b"typedef ")
        c_declaration(d, r[2], name, nth_use(d, id), 0)
    finish(d)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_declared(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """The forward declaration of a struct or union, if there is none yet."""
    if not d.state[id] & DECLARED:
        put_tag(d, id)
        finish(d)
        d.state[id] |= DECLARED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_composite(d: cython.pointer[CDump], id: uint32_t, inside: uint32_t) -> cython.void:
    """The definition, if nothing is around it; else a declaration, or what the members of a nameless one need."""
    i: uint32_t
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    d.state[id] |= WRITING
    if inside == 0 or r[0] == 0:
        for i in range(wire_vlen(r)):
            c_emit(d, r[4 + 3 * i], id if r[0] else inside)
    elif id != inside:
        emit_declared(d, id)
    if inside == 0:
        put_composite(d, id, 0)
        finish(d)
        d.state[id] |= WRITTEN
    d.state[id] &= ~WRITING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_again(d: cython.pointer[CDump], id: uint32_t, inside: uint32_t) -> cython.void:
    """A type is needed by what it needs itself."""
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    if d.state[id] & DECLARED:
        return
    if is_composite(wire_kind(r)):
        if id != inside and r[0]:
            emit_declared(d, id)
    elif wire_kind(r) == KIND_TYPEDEF:
        emit_typedef(d, id)
        d.state[id] |= DECLARED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_one(d: cython.pointer[CDump], id: uint32_t, inside: uint32_t) -> cython.void:
    """As `c_emit`, for a type that is neither written nor being written. Those that have no line of their own, from
    pointers to prototypes, only pass on what they refer to.
    """
    i: uint32_t
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    kind: uint32_t = wire_kind(r)
    if is_composite(kind):
        emit_composite(d, id, inside)
    elif kind == KIND_TYPEDEF:
        d.state[id] |= WRITING
        c_emit(d, r[2], id)
        if not d.state[id] & DECLARED:
            emit_typedef(d, id)
        d.state[id] |= WRITTEN
    elif is_enum(kind):
        if inside == 0:
            put_enum(d, id, 0)
            finish(d)
        d.state[id] |= WRITTEN
    elif kind == KIND_FWD:
        put_tag(d, id)
        finish(d)
        d.state[id] |= WRITTEN
    elif kind == KIND_ARRAY:
        c_emit(d, r[3], inside)
    elif kind == KIND_PTR or is_modifier(kind) or kind == KIND_TYPE_TAG:
        c_emit(d, r[2], inside)
    elif kind == KIND_FUNC_PROTO:
        c_emit(d, r[2], inside)
        for i in range(wire_vlen(r)):
            c_emit(d, r[4 + 2 * i], inside)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def c_emit(d: cython.pointer[CDump], id: uint32_t, inside: uint32_t) -> cython.void:
    """Write what a type needs, and itself if `inside` is 0; else it is needed for the type of that id."""
    if id == 0 or d.state[id] & WRITTEN or not c_step(d, id):
        return
    if d.state[id] & WRITING:
        emit_again(d, id, inside)
    elif c_enter(d, id):
        emit_one(d, id, inside)
        d.depth -= 1
