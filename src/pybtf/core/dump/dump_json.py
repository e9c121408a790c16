"""One type as `bpftool --json btf dump` has it: an object; with `pretty`, laid out as with `--pretty`."""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_STRUCT,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    chain_next,
    kind_flag,
    member_bits,
    member_offset,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_json import Json
from cython.cimports.pybtf.core.dump.dump_raw import encoding_text, forward_text, kind_text, linkage_text
from cython.cimports.pybtf.core.dump.text_buffer import (
    Text,
    put,
    put_bytes,
    put_char,
    put_many,
    put_signed,
    put_unsigned,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def new_line(j: cython.pointer[Json]) -> cython.void:
    if j.pretty:
        put_char(j.t, b"\n")
        put_many(j.t, b" ", 4 * j.depth)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def key(j: cython.pointer[Json], name: cython.p_const_char) -> cython.void:
    """A key, given with its quotes and colon, after what stands before it."""
    if not j.first:
        put_char(j.t, b",")
    j.first = False
    new_line(j)
    put(j.t, name)
    if j.pretty:
        put_char(j.t, b" ")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def number(j: cython.pointer[Json], name: cython.p_const_char, value: uint32_t) -> cython.void:
    key(j, name)
    put_unsigned(j.t, value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def word(j: cython.pointer[Json], name: cython.p_const_char, value: cython.p_const_char) -> cython.void:
    """A text that needs no escapes."""
    key(j, name)
    put_char(j.t, b'"')
    put(j.t, value)
    put_char(j.t, b'"')


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def escaped(t: cython.pointer[Text], c: uint8_t) -> cython.void:
    digits: cython.p_const_char = b"0123456789abcdef"
    if c == b'"' or c == b"\\":
        put_char(t, b"\\")
        put_char(t, c)
    elif c == b"\b":
        put(t, b"\\b")
    elif c == b"\t":
        put(t, b"\\t")
    elif c == b"\n":
        put(t, b"\\n")
    elif c == b"\f":
        put(t, b"\\f")
    elif c == b"\r":
        put(t, b"\\r")
    else:
        put(t, b"\\u00")
        put_char(t, digits[c >> 4])
        put_char(t, digits[c & 15])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def named(j: cython.pointer[Json], name: uint32_t) -> cython.void:
    """The name of a type or of a part of one."""
    s: cython.p_const_char
    n: cython.size_t = 0
    c: uint8_t
    key(j, b'"name":')
    if name == 0:
        put(j.t, b'"(anon)"')
        return
    put_char(j.t, b'"')
    s = view_name(j.v, name)
    while True:
        c = s[n]
        if c < b" " or c == b'"' or c == b"\\":
            put_bytes(j.t, s, n)
            if c == 0:
                break
            escaped(j.t, c)
            s += n + 1
            n = 0
        else:
            n += 1
    put_char(j.t, b'"')


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def opened(j: cython.pointer[Json]) -> cython.void:
    """Begin an object of an array."""
    if not j.first:
        put_char(j.t, b",")
    put_char(j.t, b"{")
    j.depth += 1
    j.first = True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def closed(j: cython.pointer[Json]) -> cython.void:
    j.depth -= 1
    new_line(j)
    put_char(j.t, b"}")
    j.first = False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def array_opened(j: cython.pointer[Json], name: cython.p_const_char) -> cython.void:
    key(j, name)
    put_char(j.t, b"[")
    j.depth += 1
    j.first = True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def array_closed(j: cython.pointer[Json]) -> cython.void:
    j.depth -= 1
    if not j.first:
        new_line(j)
    put_char(j.t, b"]")
    j.first = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def members(j: cython.pointer[Json], r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    i: uint32_t
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    array_opened(j, b'"members":')
    for i in range(wire_vlen(r)):
        opened(j)
        named(j, m[0])
        number(j, b'"type_id":', m[1])
        number(j, b'"bits_offset":', member_offset(r, m))
        if member_bits(r, m):
            number(j, b'"bitfield_size":', member_bits(r, m))
        closed(j)
        m += 3
    array_closed(j)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def values(j: cython.pointer[Json], r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """Values of an ENUM are 32 bits, which bpftool extends to 64 by their sign, whether they have one or not."""
    i: uint32_t
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    value: int64_t
    array_opened(j, b'"values":')
    for i in range(wire_vlen(r)):
        opened(j)
        named(j, m[0])
        key(j, b'"val":')
        if wide:
            value = cython.cast(int64_t, cython.cast(uint64_t, m[2]) << 32 | m[1])
        else:
            value = cython.cast(int32_t, m[1])
        if kind_flag(r):
            put_signed(j.t, value)
        else:
            put_unsigned(j.t, cython.cast(uint64_t, value))
        closed(j)
        m += 3 if wide else 2
    array_closed(j)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def parameters(j: cython.pointer[Json], r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    i: uint32_t
    array_opened(j, b'"params":')
    for i in range(wire_vlen(r)):
        opened(j)
        named(j, r[3 + 2 * i])
        number(j, b'"type_id":', r[4 + 2 * i])
        closed(j)
    array_closed(j)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def variables(j: cython.pointer[Json], r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    i: uint32_t
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    array_opened(j, b'"vars":')
    for i in range(wire_vlen(r)):
        opened(j)
        number(j, b'"type_id":', m[0])
        number(j, b'"offset":', m[1])
        number(j, b'"size":', m[2])
        closed(j)
        m += 3
    array_closed(j)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def json_begin(j: cython.pointer[Json]) -> cython.void:
    put_char(j.t, b"{")
    j.first = True
    j.depth = 1
    array_opened(j, b'"types":')


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def json_end(j: cython.pointer[Json]) -> cython.void:
    array_closed(j)
    closed(j)
    put_char(j.t, b"\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def json_type(j: cython.pointer[Json], id: uint32_t) -> cython.void:
    """The object of one type, in the array of all."""
    r: cython.pointer[cython.const[uint32_t]] = view_record(j.v, id)
    kind: uint32_t = wire_kind(r)
    vlen: uint32_t = wire_vlen(r)
    opened(j)
    number(j, b'"id":', id)
    word(j, b'"kind":', kind_text(kind))
    named(j, r[0])
    if kind == KIND_INT:
        number(j, b'"size":', r[2])
        number(j, b'"bits_offset":', (r[3] >> 16) & 255)
        number(j, b'"nr_bits":', r[3] & 255)
        word(j, b'"encoding":', encoding_text(r[3]))
    elif kind == KIND_STRUCT or kind == KIND_UNION:
        number(j, b'"size":', r[2])
        number(j, b'"vlen":', vlen)
        members(j, r)
    elif kind == KIND_ENUM or kind == KIND_ENUM64:
        word(j, b'"encoding":', b"SIGNED" if kind_flag(r) else b"UNSIGNED")
        number(j, b'"size":', r[2])
        number(j, b'"vlen":', vlen)
        values(j, r)
    elif kind == KIND_ARRAY:
        number(j, b'"type_id":', r[3])
        number(j, b'"index_type_id":', r[4])
        number(j, b'"nr_elems":', r[5])
    elif kind == KIND_FWD:
        word(j, b'"fwd_kind":', forward_text(r))
    elif kind == KIND_FUNC_PROTO:
        number(j, b'"ret_type_id":', r[2])
        number(j, b'"vlen":', vlen)
        parameters(j, r)
    elif kind == KIND_FLOAT:
        number(j, b'"size":', r[2])
    elif kind == KIND_DATASEC:
        number(j, b'"size":', r[2])
        number(j, b'"vlen":', vlen)
        variables(j, r)
    else:
        number(j, b'"type_id":', chain_next(r))
        if kind == KIND_FUNC:
            word(j, b'"linkage":', linkage_text(vlen))
        elif kind == KIND_VAR:
            word(j, b'"linkage":', linkage_text(r[3]))
        elif kind == KIND_DECL_TAG:
            key(j, b'"component_idx":')
            put_signed(j.t, cython.cast(int32_t, r[3]))
    closed(j)
