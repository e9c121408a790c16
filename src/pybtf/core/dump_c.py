# cython: annotation_typing=True
"""Definitions and declarations of C.

C writes a declaration around the name: what a pointer, an array or a function is made of stands to the left, dimensions
and parameters to the right, and parentheses where these would take hold of the wrong thing. The chain of types from
the name to what it is made of is therefore laid on a stack, and written from its end: first the type without parts
(`const int`, `struct page`), then outward, until nothing is left and it is the name's turn. An array or a function
writes what is further out, between itself and the name, before its own dimension or parameters.

A struct is written with padding where the next member would otherwise not get where it has to be.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.libc.string import strcmp
from cython.cimports.pybtf.core.dump_c import (
    C_KIND,
    C_MEMORY,
    DECLARED,
    WRITING,
    WRITTEN,
    CDump,
    c_enter,
    c_fail,
    c_step,
)
from cython.cimports.pybtf.core.dump_layout import alignment_of, is_packed, size_of
from cython.cimports.pybtf.core.dump_names import name_used
from cython.cimports.pybtf.core.memory import u32s_push
from cython.cimports.pybtf.core.records import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VOLATILE,
)
from cython.cimports.pybtf.core.textbuffer import Text, put, put_char, put_many, put_signed, put_unsigned
from cython.cimports.pybtf.core.typeview import (
    is_composite,
    is_enum,
    is_modifier,
    kind_flag,
    member_bits,
    member_offset,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.wire import wire_kind, wire_vlen

MAX_INDENT = cython.declare(uint32_t, 13)  # however deep it nests

# Names


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_used(d: cython.pointer[CDump], name: cython.p_const_char, use: uint32_t) -> cython.void:
    put(cython.address(d.out), name)
    if use > 1:
        put(cython.address(d.out), b"___")
        put_unsigned(cython.address(d.out), use)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def nth_use(d: cython.pointer[CDump], id: uint32_t) -> uint32_t:
    """How many types of this name there are up to this one, in the order in which they are written first."""
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    name: cython.p_const_char = view_name(d.v, r[0])
    if d.use[id] == 0 and name[0]:
        if wire_kind(r) == KIND_FWD or (wire_kind(r) == KIND_ENUM and wire_vlen(r) == 0):
            d.use[id] = 1  # declarations can be repeated
        elif wire_kind(r) == KIND_TYPEDEF:
            d.use[id] = name_used(cython.address(d.identifiers), name)
        else:
            d.use[id] = name_used(cython.address(d.tags), name)
        if d.use[id] == 0:
            c_fail(d, C_MEMORY, id)
    return d.use[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_type_name(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """The name of a struct, union, enum or typedef, made different from those that were written before."""
    put_used(d, view_name(d.v, view_record(d.v, id)[0]), nth_use(d, id))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_keyword(d: cython.pointer[CDump], r: cython.pointer[uint32_t]) -> cython.void:
    kind: uint32_t = wire_kind(r)
    if is_enum(kind):
        put(cython.address(d.out), b"enum")
    elif kind == KIND_UNION or (kind == KIND_FWD and kind_flag(r)):
        put(cython.address(d.out), b"union")
    else:
        put(cython.address(d.out), b"struct")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tag(d: cython.pointer[CDump], id: uint32_t) -> cython.void:
    """`struct NAME`, or what it is."""
    put_keyword(d, view_record(d.v, id))
    put_char(cython.address(d.out), 32)
    put_type_name(d, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_line(d: cython.pointer[CDump], level: uint32_t) -> cython.void:
    put_char(cython.address(d.out), 10)
    put_many(cython.address(d.out), 9, level if level < MAX_INDENT else MAX_INDENT)


# Enums


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_enum(d: cython.pointer[CDump], id: uint32_t, level: uint32_t) -> cython.void:
    """The definition, with what C needs to give it its size."""
    t: cython.pointer[Text] = cython.address(d.out)
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    signed: cython.bint = kind_flag(r)
    small: cython.bint = True
    value: uint64_t
    use: uint32_t
    name: cython.p_const_char
    i: uint32_t
    put(t, b"enum")
    if r[0]:
        put_char(t, 32)
        put_type_name(d, id)
    if wire_vlen(r) == 0:
        return
    put(t, b" {")
    for i in range(wire_vlen(r)):
        if not c_step(d, id):
            return
        name = view_name(d.v, m[0])
        use = name_used(cython.address(d.identifiers), name)
        if use == 0:
            c_fail(d, C_MEMORY, id)
            return
        new_line(d, level + 1)
        put_used(d, name, use)
        put(t, b" = ")
        if wide:
            value = cython.cast(uint64_t, m[2]) << 32 | m[1]
            if signed:
                put_signed(t, cython.cast(int64_t, value))
                put(t, b"LL")
            else:
                put_unsigned(t, value)
                put(t, b"ULL")
            small = small and m[2] == 0
        elif signed:
            put_signed(t, cython.cast(int32_t, m[1]))
        else:
            put_unsigned(t, m[1])
        put_char(t, 44)
        m += 3 if wide else 2
    new_line(d, level)
    put_char(t, 125)
    if r[2] == 1:
        put(t, b" __attribute__((mode(byte)))")
    elif r[2] == 8 and d.v.pointer_size == 8 and small:
        put(t, b" __attribute__((mode(word)))")


# Structs and unions


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pad_bits(d: cython.pointer[CDump], index: cython.int) -> uint32_t:
    """Widths of the types that padding is made of, the largest first."""
    if index == 0:
        return 8 * d.v.pointer_size
    return 32 >> (index - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_pad(d: cython.pointer[CDump], index: cython.int, bits: int64_t, level: uint32_t) -> cython.void:
    """A bit-field without a name."""
    t: cython.pointer[Text] = cython.address(d.out)
    new_line(d, level)
    if index == 0:
        put(t, b"long: ")
    elif index == 1:
        put(t, b"int: ")
    elif index == 2:
        put(t, b"short: ")
    else:
        put(t, b"char: ")
    put_signed(t, bits)
    put_char(t, 59)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def aligned(offset: int64_t, to: int64_t) -> int64_t:
    return (offset + to - 1) // to * to


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_padding(
    d: cython.pointer[CDump], offset: int64_t, next: int64_t, alignment: uint32_t, in_bits: cython.bint, level: uint32_t
) -> cython.void:
    """What has to stand between a member that ends at `offset` and the next, at `next` (both in bits).

    The compiler aligns the next member by itself. Where that is not enough, a bit-field of no width (`long: 0`) closes
    a unit of its type, and others fill whole units.
    """
    index: cython.int = 0
    bits: int64_t
    to: int64_t
    if offset >= next:
        return
    # The largest type that has a boundary between the two.
    while True:
        bits = pad_bits(d, index)
        to = aligned(offset, bits)
        if to <= next or index == 3:
            break
        index += 1
    if offset < to <= next:
        if (
            in_bits
            or (to == next and aligned(offset, 8 * cython.cast(int64_t, alignment if alignment else 1)) != to)
            or (to != next and next - to <= to - offset)
        ):
            put_pad(d, index, to - offset if in_bits else 0, level)
        offset = to
    while offset < next and d.out.status == 0:
        if next - offset >= bits:
            put_pad(d, index, bits, level)
            offset += bits
            continue
        index = 3
        while pad_bits(d, index) < next - offset:
            index -= 1
        put_pad(d, index, next - offset, level)
        offset = next


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_composite(d: cython.pointer[CDump], id: uint32_t, level: uint32_t) -> cython.void:
    """The definition of a struct or union."""
    t: cython.pointer[Text] = cython.address(d.out)
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    m: cython.pointer[uint32_t] = r + 3
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    packed: cython.bint = is_struct and is_packed(d, id)
    in_bits: cython.bint = False
    offset: int64_t = 0
    at: int64_t
    bits: uint32_t
    i: uint32_t
    put_keyword(d, r)
    if r[0]:
        put_char(t, 32)
        put_type_name(d, id)
    put(t, b" {")
    for i in range(wire_vlen(r)):
        if d.status:
            return
        bits = member_bits(r, m)
        at = member_offset(r, m)
        put_padding(
            d, offset, at, 1 if packed else alignment_of(d, m[1]), bits and in_bits, level + 1
        )  # fmt: skip
        new_line(d, level + 1)
        c_declaration(d, m[1], view_name(d.v, m[0]), 1, level + 1)
        if bits:
            put(t, b": ")
            put_unsigned(t, bits)
            offset = at + bits
        else:
            offset = at + 8 * size_of(d, m[1])
        in_bits = bits != 0
        put_char(t, 59)
        m += 3
    if is_struct:
        put_padding(
            d, offset, 8 * cython.cast(int64_t, r[2]), 1 if packed else alignment_of(d, id), False, level + 1
        )  # fmt: skip
    if wire_vlen(r) or r[2]:
        new_line(d, level)
    put_char(t, 125)
    if packed:
        put(t, b" __attribute__((packed))")


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
    put_char(t, 40)
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
            c_declaration(d, r[4 + 2 * i], view_name(d.v, r[3 + 2 * i]), 1, level)
    put_char(t, 41)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_name(
    d: cython.pointer[CDump], name: cython.p_const_char, use: uint32_t, after_pointer: cython.bint
) -> cython.void:
    if name[0]:
        if not after_pointer:
            put_char(cython.address(d.out), 32)
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
def put_chain(
    d: cython.pointer[CDump], start: cython.size_t, name: cython.p_const_char, use: uint32_t, level: uint32_t
) -> cython.void:
    """Write what is on the chain from `start` on, and the name."""
    t: cython.pointer[Text] = cython.address(d.out)
    after_pointer: cython.bint = True
    nested: cython.bint
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
        if kind == KIND_PTR:
            put(t, b"*" if after_pointer else b" *")
        elif kind == KIND_VOLATILE:
            put(t, b" volatile")
        elif kind == KIND_CONST:
            put(t, b" const")
        elif kind == KIND_RESTRICT:
            put(t, b" restrict")
        elif kind == KIND_TYPE_TAG:
            put_modifiers(d, start, True)
            put(t, b" __attribute__((" if kind_flag(r) else b" __attribute__((btf_type_tag(\"")
            put(t, view_name(d.v, r[0]))
            put(t, b"))" if kind_flag(r) else b"\")))")
        elif kind == KIND_ARRAY:
            # Qualifiers of an array are those of its elements, which have them, too.
            put_modifiers(d, start, False)
            if d.chain.n == start:
                put_name(d, name, use, after_pointer)
            else:
                nested = wire_kind(view_record(d.v, d.chain.p[d.chain.n - 1])) == KIND_ARRAY
                if name[0] and not after_pointer:
                    put_char(t, 32)
                if not nested:
                    put_char(t, 40)
                put_rest(d, start, name, use, level)
                if not nested:
                    put_char(t, 41)
            put_char(t, 91)
            put_unsigned(t, r[5])
            put_char(t, 93)
            return
        else:
            # Qualifiers of a function say that it does not return.
            put_modifiers(d, start, False)
            if d.chain.n == start:
                put_name(d, name, use, after_pointer)
            else:
                put(t, b" (")
                put_rest(d, start, name, use, level)
                put_char(t, 41)
            put_parameters(d, r, level)
            return
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
    r: cython.pointer[uint32_t]
    if not c_step(d, id) or not c_enter(d, id):
        return
    while True:
        if not u32s_push(cython.address(d.chain), id):
            c_fail(d, C_MEMORY, id)
            break
        if id == 0:
            break
        r = view_record(d.v, id)
        kind = wire_kind(r)
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
        if d.chain.n - start > 100_000:  # prototypes that return prototypes, in a circle
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
