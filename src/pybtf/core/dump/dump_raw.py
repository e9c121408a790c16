"""One type as bpftool's raw dump has it: a line, and a line for each member, value, parameter or variable."""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import (
    INT_BOOL,
    INT_CHAR,
    INT_SIGNED,
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
from cython.cimports.pybtf.core.btf.record_layout import WIRE_KINDS, wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    TypeView,
    chain_next,
    kind_flag,
    member_bits,
    member_offset,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_bytes, put_char, put_signed, put_unsigned


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kind_text(kind: uint32_t) -> cython.p_const_char:
    """What bpftool calls a kind; UNKNOWN if there is no such kind."""
    names: cython.p_const_char[20]
    names[0] = b"UNKNOWN"
    names[1] = b"INT"
    names[2] = b"PTR"
    names[3] = b"ARRAY"
    names[4] = b"STRUCT"
    names[5] = b"UNION"
    names[6] = b"ENUM"
    names[7] = b"FWD"
    names[8] = b"TYPEDEF"
    names[9] = b"VOLATILE"
    names[10] = b"CONST"
    names[11] = b"RESTRICT"
    names[12] = b"FUNC"
    names[13] = b"FUNC_PROTO"
    names[14] = b"VAR"
    names[15] = b"DATASEC"
    names[16] = b"FLOAT"
    names[17] = b"DECL_TAG"
    names[18] = b"TYPE_TAG"
    names[19] = b"ENUM64"
    return names[kind if kind < WIRE_KINDS else 0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoding_text(word: uint32_t) -> cython.p_const_char:
    """The encoding of an INT, whose fourth word this is."""
    encoding: uint32_t = (word >> 24) & 15
    if encoding == 0:
        return b"(none)"
    if encoding == INT_SIGNED:
        return b"SIGNED"
    if encoding == INT_CHAR:
        return b"CHAR"
    if encoding == INT_BOOL:
        return b"BOOL"
    return b"UNKN"


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def linkage_text(linkage: uint32_t) -> cython.p_const_char:
    if linkage == 0:
        return b"static"
    if linkage == 1:
        return b"global"
    if linkage == 2:
        return b"extern"
    return b"(unknown)"


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forward_text(r: cython.pointer[cython.const[uint32_t]]) -> cython.p_const_char:
    return b"union" if kind_flag(r) else b"struct"


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def quoted(v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], name: uint32_t) -> cython.void:
    put_char(t, b"'")
    put_name(v, t, name)
    put_char(t, b"'")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def put_name(v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], name: uint32_t) -> cython.void:
    if name:
        put(t, view_name(v, name))
    else:
        put(t, b"(anon)")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def field(t: cython.pointer[Text], key: cython.p_const_char, value: uint32_t) -> cython.void:
    put(t, key)
    put_unsigned(t, value)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def element(v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], name: uint32_t) -> cython.void:
    put_bytes(t, b"\n\t", 2)
    quoted(v, t, name)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def members(
    v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], r: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    i: uint32_t
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    for i in range(wire_vlen(r)):
        element(v, t, m[0])
        field(t, b" type_id=", m[1])
        field(t, b" bits_offset=", member_offset(r, m))
        if member_bits(r, m):
            field(t, b" bitfield_size=", member_bits(r, m))
        m += 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def values(
    v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], r: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    """The enumerators. bpftool puts the suffix of a C number (LL, ULL) after values of ENUM64 only."""
    i: uint32_t
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    signed: cython.bint = kind_flag(r)
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    value: uint64_t
    for i in range(wire_vlen(r)):
        element(v, t, m[0])
        put(t, b" val=")
        value = m[1]
        if wide:
            value |= cython.cast(uint64_t, m[2]) << 32
        if not signed:
            put_unsigned(t, value)
        elif wide:
            put_signed(t, cython.cast(int64_t, value))
        else:
            put_signed(t, cython.cast(int32_t, m[1]))
        if wide:
            put(t, b"LL" if signed else b"ULL")
        m += 3 if wide else 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def variables(
    v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], r: cython.pointer[cython.const[uint32_t]]
) -> cython.void:
    """The entries of a DATASEC, each with the kind and name of what its id stands for; void is `UNKNOWN`."""
    i: uint32_t
    of: cython.pointer[uint32_t]
    m: cython.pointer[cython.const[uint32_t]] = r + 3
    for i in range(wire_vlen(r)):
        field(t, b"\n\ttype_id=", m[0])
        field(t, b" offset=", m[1])
        field(t, b" size=", m[2])
        put(t, b" (")
        if m[0]:
            of = view_record(v, m[0])
            put(t, kind_text(wire_kind(of)))
            put_char(t, b" ")
            quoted(v, t, of[0])
        else:
            put(t, b"UNKNOWN '(anon)'")
        put_char(t, b")")
        m += 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def raw_type(v: cython.pointer[cython.const[TypeView]], t: cython.pointer[Text], id: uint32_t) -> cython.void:
    """The lines of one type."""
    r: cython.pointer[cython.const[uint32_t]] = view_record(v, id)
    kind: uint32_t = wire_kind(r)
    vlen: uint32_t = wire_vlen(r)
    i: uint32_t
    put_char(t, b"[")
    put_unsigned(t, id)
    put_bytes(t, b"] ", 2)
    put(t, kind_text(kind))
    put_char(t, b" ")
    quoted(v, t, r[0])
    if kind == KIND_INT:
        field(t, b" size=", r[2])
        field(t, b" bits_offset=", (r[3] >> 16) & 255)
        field(t, b" nr_bits=", r[3] & 255)
        put(t, b" encoding=")
        put(t, encoding_text(r[3]))
    elif kind == KIND_STRUCT or kind == KIND_UNION:
        field(t, b" size=", r[2])
        field(t, b" vlen=", vlen)
        members(v, t, r)
    elif kind == KIND_ENUM or kind == KIND_ENUM64:
        put(t, b" encoding=SIGNED" if kind_flag(r) else b" encoding=UNSIGNED")
        field(t, b" size=", r[2])
        field(t, b" vlen=", vlen)
        values(v, t, r)
    elif kind == KIND_ARRAY:
        field(t, b" type_id=", r[3])
        field(t, b" index_type_id=", r[4])
        field(t, b" nr_elems=", r[5])
    elif kind == KIND_FWD:
        put(t, b" fwd_kind=")
        put(t, forward_text(r))
    elif kind == KIND_FUNC_PROTO:
        field(t, b" ret_type_id=", r[2])
        field(t, b" vlen=", vlen)
        for i in range(vlen):
            element(v, t, r[3 + 2 * i])
            field(t, b" type_id=", r[4 + 2 * i])
    elif kind == KIND_FLOAT:
        field(t, b" size=", r[2])
    elif kind == KIND_DATASEC:
        field(t, b" size=", r[2])
        field(t, b" vlen=", vlen)
        variables(v, t, r)
    else:
        field(t, b" type_id=", chain_next(r))
        if kind == KIND_FUNC:
            put(t, b" linkage=")
            put(t, linkage_text(vlen))
        elif kind == KIND_VAR:
            put(t, b", linkage=")
            put(t, linkage_text(r[3]))
        elif kind == KIND_DECL_TAG:
            put(t, b" component_idx=")
            put_signed(t, cython.cast(int32_t, r[3]))
    put_char(t, b"\n")
