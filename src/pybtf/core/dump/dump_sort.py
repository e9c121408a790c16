"""The order in which bpftool looks at the types of a header: one that stays the same when unrelated types come or go.

Types are ranked by what they finally resolve to: enums first, anonymous ones before the others, then what is made of
numbers, then structs, then prototypes, then the rest. Within a rank, the name of what they resolve to decides, then
their own. For equal names, a hash of the names of their members and of what these are made of decides.

bpftool puts void among the types and then leaves out the one that comes first, as if that were void. So does this.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc, qsort
from cython.cimports.libc.string import strcmp
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_INT,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    TypeView,
    chain_next,
    is_chain,
    is_composite,
    is_enum,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_c import C_OK, CDump, c_enter, c_step
from cython.cimports.pybtf.core.dump.dump_sort import Entry
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push

LAST = cython.declare(uint32_t, 10)  # rank


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def follows(kind: uint32_t) -> cython.bint:
    """Kinds that rank as what they refer to: all of one reference but FUNC and VAR."""
    return is_chain(kind) and kind != KIND_FUNC and kind != KIND_VAR


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rank(v: cython.pointer[cython.const[TypeView]], id: uint32_t) -> uint32_t:
    """Smaller ranks come first (see above). Whether a type counts as nameless depends on all that it resolves through:
    a typedef gives its name to a nameless struct. LAST: what is none of these, void among it, and structs and
    prototypes that have got no name.
    """
    named: cython.bint = False
    r: cython.pointer[uint32_t]
    kind: uint32_t
    while id:
        r = view_record(v, id)
        kind = wire_kind(r)
        named = named or r[0] != 0
        if is_enum(kind):
            return 1 if named else 0
        if kind == KIND_INT or kind == KIND_FLOAT:
            return 2
        if not named:
            return LAST
        if is_composite(kind):
            return 3
        if kind == KIND_FUNC_PROTO:
            return 4
        if not follows(kind):
            return LAST
        id = chain_next(r)
    return LAST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def group(v: cython.pointer[cython.const[TypeView]], id: uint32_t) -> cython.p_const_char:
    """The name of what the type is in the end; of an enum without a name, its first enumerator's."""
    first: uint32_t = id
    r: cython.pointer[uint32_t]
    while id:
        r = view_record(v, id)
        if not follows(wire_kind(r)):
            if r[0] == 0 and id == first and is_enum(wire_kind(r)) and wire_vlen(r):
                return view_name(v, r[3])
            return view_name(v, r[0])
        id = chain_next(r)
    return b""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def mixed(hash: uint64_t, value: uint64_t) -> uint64_t:
    return hash * 31 + value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_mixed(d: cython.pointer[CDump], hash: uint64_t, offset: uint32_t) -> uint64_t:
    """The hash, with a name, if there is one."""
    name: cython.p_const_char
    own: uint64_t = 0
    at: cython.size_t = 0
    if offset == 0:
        return hash
    name = view_name(d.v, offset)
    while name[at]:
        own = own * 31 + cython.cast(cython.uchar, name[at])
        at += 1
    d.effort = d.effort - at if d.effort > at else 0  # strings may be shared
    return mixed(hash, own)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_hash(d: cython.pointer[CDump], id: uint32_t, deep: cython.bint) -> uint64_t:
    """The hash of a type. Members are described by the names of their types alone (not `deep`)."""
    r: cython.pointer[uint32_t]
    m: cython.pointer[uint32_t]
    kind: uint32_t
    i: uint32_t
    hash: uint64_t
    if id == 0 or not c_step(d, id) or not c_enter(d, id):
        return 0
    r = view_record(d.v, id)
    m = r + 3
    kind = wire_kind(r)
    hash = name_mixed(d, 0, r[0])
    if is_enum(kind):
        for i in range(wire_vlen(r)):
            hash = name_mixed(d, hash, m[0])
            m += 3 if kind == KIND_ENUM64 else 2
    elif is_composite(kind):
        if deep:
            for i in range(wire_vlen(r)):
                hash = name_mixed(d, hash, m[0])
                hash = mixed(hash, type_hash(d, m[1], False))
                m += 3
    elif follows(kind):
        if kind == KIND_ARRAY:
            hash = mixed(hash, r[5])
        hash = mixed(hash, type_hash(d, chain_next(r), deep))
    d.depth -= 1
    return hash


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    left: cython.pointer[cython.const[Entry]] = cython.cast(cython.pointer[cython.const[Entry]], a)
    right: cython.pointer[cython.const[Entry]] = cython.cast(cython.pointer[cython.const[Entry]], b)
    order: cython.int
    if left.start != right.start:
        return -1 if left.start < right.start else 1
    order = 0 if left.group == right.group else strcmp(left.group, right.group)
    if order == 0 and left.name != right.name:
        order = strcmp(left.name, right.name)
    if order:
        return order
    if left.hash != right.hash:
        return -1 if left.hash < right.hash else 1
    return -1 if left.id < right.id else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(d: cython.pointer[CDump], e: cython.pointer[Entry], id: uint32_t) -> cython.void:
    at: cython.int = 0
    shift: cython.int = 48
    e.group = group(d.v, id)
    e.name = b""
    if id:
        e.name = view_name(d.v, view_record(d.v, id)[0])
    e.hash = type_hash(d, id, True)
    e.id = id
    e.start = cython.cast(uint64_t, rank(d.v, id)) << 56
    while e.group[at] and shift >= 0:
        e.start |= cython.cast(uint64_t, cython.cast(uint8_t, e.group[at])) << shift
        at += 1
        shift -= 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_types(d: cython.pointer[CDump], ids: cython.pointer[U32s]) -> cython.bint:
    """Functions, variables and sections need no place: nothing is written of them, and they never come first."""
    entries: cython.pointer[Entry]
    n: cython.size_t = 0
    i: cython.size_t
    id: uint32_t
    kind: uint32_t
    done: cython.bint = True
    entries = cython.cast(cython.pointer[Entry], malloc(d.v.n * cython.sizeof(Entry)))
    if entries == cython.NULL:
        return False
    for id in range(d.v.n):
        kind = wire_kind(view_record(d.v, id)) if id else 0
        if kind == KIND_FUNC or kind == KIND_VAR or kind == KIND_DATASEC:
            continue
        enter(d, entries + n, id)
        n += 1
    if d.status != C_OK:  # the effort is used up, and names may be too long to be compared
        free(entries)
        return True
    qsort(entries, n, cython.sizeof(Entry), compare)
    for i in range(1, n):
        done = done and u32s_push(ids, entries[i].id)
    free(entries)
    return done
