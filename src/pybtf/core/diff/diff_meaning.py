"""What a type means, apart from its id, as two numbers.

*What a reference to it means* (`refs`): a struct, union, enum, typedef, number and forward declaration with a name is
its kind and its name, and nothing else. So a struct does not change because of what its pointers lead to. A declaration
and a definition of one name mean the same, and so do ENUM and ENUM64. Whatever has no name is what it is made of:
pointers, arrays, prototypes, qualifiers, and structs, unions and enums without a name, with all their members.

*Its contents* (`contents`), for types that have a category: for a struct its size, and for each member its name,
offset, bits, what its type means, and the size of that: a member that grew is a change of the struct it is in.

Both are keys, sequences of words with the numbers of names and of other keys, and get numbers (diff_numbers.py).
References without a name are trees: what is below gets its number first. In damaged BTF they may be circles, in which
one reference then means `REF_CYCLE`. Nothing here recurses.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, qsort, realloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VAR,
    KIND_VOLATILE,
)
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_kind, wire_refs, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    TypeView,
    is_composite,
    is_enum,
    kind_flag,
    member_bits,
    member_offset,
    view_record,
)
from cython.cimports.pybtf.core.diff.diff_meaning import (
    DIFF_MEMORY,
    DIFF_OK,
    KEY_CONTENT,
    OF_ENUM,
    OF_FORWARD,
    OF_FUNCTION,
    OF_NOTHING,
    OF_NUMBER,
    OF_SECTION,
    OF_STRUCT,
    OF_TYPEDEF,
    OF_UNION,
    OF_VARIABLE,
    REF_BUSY,
    REF_CYCLE,
    REF_NEW,
    REF_VOID,
    Numbers,
    Side,
)
from cython.cimports.pybtf.core.diff.diff_numbers import name_number, number_of_key
from cython.cimports.pybtf.core.support.memory import u32s_push, u64s_push

LARGEST = cython.declare(uint64_t, 1 << 62)
NO_SIZE = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFF)
BUSY_SIZE = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def category_of(v: cython.pointer[cython.const[TypeView]], id: uint32_t) -> uint32_t:
    """What a type is listed as, `OF_NOTHING` if it is part of others only. An enum need not have a name."""
    r: cython.pointer[uint32_t] = view_record(v, id)
    kind: uint32_t = wire_kind(r)
    if is_enum(kind):
        return OF_ENUM
    if r[0] == 0:
        return OF_NOTHING
    if kind == KIND_STRUCT:
        return OF_STRUCT
    if kind == KIND_UNION:
        return OF_UNION
    if kind == KIND_TYPEDEF:
        return OF_TYPEDEF
    if kind == KIND_FUNC:
        return OF_FUNCTION
    if kind == KIND_VAR:
        return OF_VARIABLE
    if kind == KIND_FWD:
        return OF_FORWARD
    if kind == KIND_INT or kind == KIND_FLOAT:
        return OF_NUMBER
    if kind == KIND_DATASEC:
        return OF_SECTION
    return OF_NOTHING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def side_open(s: cython.pointer[Side], v: cython.pointer[cython.const[TypeView]], strings: uint32_t) -> cython.bint:
    """Room for what is found out. 0: there is no memory; what there is has to be freed all the same."""
    memset(s, 0, cython.sizeof(Side))
    s.v = v
    s.strings = strings
    s.names = cython.cast(cython.pointer[uint32_t], calloc(cython.cast(cython.size_t, strings) + 1, 4))
    s.refs = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.contents = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.sizes = cython.cast(cython.pointer[uint64_t], calloc(v.n, 8))
    s.tags = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.more_tags = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.entries = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.sections = cython.cast(cython.pointer[uint32_t], calloc(v.n, 4))
    s.stack_cap = 1024
    s.stack = cython.cast(cython.pointer[uint32_t], calloc(s.stack_cap, 4))
    return (
        s.names != cython.NULL and s.refs != cython.NULL and s.contents != cython.NULL and s.sizes != cython.NULL
        and s.tags != cython.NULL and s.more_tags != cython.NULL and s.entries != cython.NULL
        and s.sections != cython.NULL and s.stack != cython.NULL
    )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def side_free(s: cython.pointer[Side]) -> cython.void:
    free(s.names)
    free(s.refs)
    free(s.contents)
    free(s.sizes)
    free(s.tags)
    free(s.more_tags)
    free(s.entries)
    free(s.sections)
    free(s.stack)
    memset(s, 0, cython.sizeof(Side))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(t: cython.pointer[Numbers], s: cython.pointer[Side], depth: cython.size_t, id: uint32_t) -> cython.bint:
    """Put `id` on the stack, which has `depth` elements. 0, and a status, if there is no memory."""
    grown: cython.p_void
    if depth == s.stack_cap:
        grown = realloc(s.stack, 8 * s.stack_cap)
        if grown == cython.NULL:
            t.status = DIFF_MEMORY
            return False
        s.stack = cython.cast(cython.pointer[uint32_t], grown)
        s.stack_cap *= 2
    s.stack[depth] = id
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add(t: cython.pointer[Numbers], word: uint32_t) -> cython.void:
    """Append a word to the key."""
    if not u32s_push(cython.address(t.key), word):
        t.status = DIFF_MEMORY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_size(t: cython.pointer[Numbers], size: uint64_t) -> cython.void:
    add(t, cython.cast(uint32_t, size))
    add(t, cython.cast(uint32_t, size >> 32))


# -- sizes -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_from(s: cython.pointer[Side], id: uint32_t, below: uint64_t) -> uint64_t:
    """The size of a type, if that of what it is made of is known: `below`."""
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    if wire_kind(r) != KIND_ARRAY:
        return below
    if r[5] == 0 or below <= LARGEST // r[5]:
        return below * r[5]
    return LARGEST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(t: cython.pointer[Numbers], s: cython.pointer[Side], first: uint32_t) -> cython.void:
    """Find the size of a type, and of all on the way to where it is known. Circles have none."""
    depth: cython.size_t = 0
    id: uint32_t = first
    kind: uint32_t
    r: cython.pointer[uint32_t]
    size: uint64_t = 0
    while True:
        if id == 0 or s.sizes[id] == BUSY_SIZE:
            size = 0
            break
        if s.sizes[id] != NO_SIZE:
            size = s.sizes[id]
            break
        r = view_record(s.v, id)
        kind = wire_kind(r)
        if (
            kind == KIND_ARRAY or kind == KIND_TYPEDEF or kind == KIND_VOLATILE or kind == KIND_CONST
            or kind == KIND_RESTRICT or kind == KIND_TYPE_TAG or kind == KIND_VAR
        ):  # fmt: skip
            s.sizes[id] = BUSY_SIZE
            if not push(t, s, depth, id):
                return
            depth += 1
            id = r[3] if kind == KIND_ARRAY else r[2]
            continue
        if kind == KIND_PTR:
            size = s.v.pointer_size
        elif is_composite(kind) or is_enum(kind) or kind == KIND_INT or kind == KIND_FLOAT or kind == KIND_DATASEC:
            size = r[2]
        s.sizes[id] = size
        break
    while depth:
        depth -= 1
        id = s.stack[depth]
        size = size_from(s, id, size)
        s.sizes[id] = size


# -- references ------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_by_name(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """Whether a reference to this type means its kind and name only."""
    kind: uint32_t = wire_kind(r)
    return (
        r[0] != 0 and kind != KIND_TYPE_TAG and kind != KIND_DECL_TAG and kind != KIND_PTR and kind != KIND_ARRAY
        and kind != KIND_VOLATILE and kind != KIND_CONST and kind != KIND_RESTRICT and kind != KIND_FUNC_PROTO
    )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ref_of(s: cython.pointer[Side], id: uint32_t) -> uint32_t:
    """The number of a reference to a type that has been seen to."""
    if id == 0:
        return REF_VOID
    return s.refs[id] if s.refs[id] != REF_BUSY else REF_CYCLE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_members(t: cython.pointer[Numbers], s: cython.pointer[Side], r: cython.pointer[uint32_t]) -> cython.void:
    i: uint32_t
    m: cython.pointer[uint32_t]
    add(t, r[2])
    add(t, wire_vlen(r))
    for i in range(wire_vlen(r)):
        m = r + 3 + 3 * i
        add(t, name_number(t, s, m[0]))
        add(t, member_offset(r, m))
        add(t, member_bits(r, m))
        add(t, ref_of(s, m[1]))
        add_size(t, s.sizes[m[1]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_values(t: cython.pointer[Numbers], s: cython.pointer[Side], r: cython.pointer[uint32_t]) -> cython.void:
    i: uint32_t
    wide: cython.bint = wire_kind(r) == KIND_ENUM64
    e: cython.pointer[uint32_t]
    add(t, r[2])
    add(t, kind_flag(r))
    for i in range(wire_vlen(r)):
        e = r + 3 + (3 if wide else 2) * i
        add(t, name_number(t, s, e[0]))
        add(t, e[1])
        if wide:
            add(t, e[2])
        else:
            add(t, 0xFFFFFFFF if kind_flag(r) and cython.cast(int32_t, e[1]) < 0 else 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_prototype(
    t: cython.pointer[Numbers], s: cython.pointer[Side], r: cython.pointer[uint32_t], names: cython.bint
) -> cython.void:
    """`names`: those of the parameters count, as they do of functions, and not of pointers to functions."""
    i: uint32_t
    add(t, ref_of(s, r[2]))
    for i in range(wire_vlen(r)):
        if names:
            add(t, name_number(t, s, r[3 + 2 * i]))
        add(t, ref_of(s, r[4 + 2 * i]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prototype_number(t: cython.pointer[Numbers], s: cython.pointer[Side], id: uint32_t) -> uint32_t:
    """The number of a prototype with the names of its parameters, found out once for all functions that have it."""
    if s.contents[id] == 0:
        t.key.n = 0
        add(t, KEY_CONTENT | KIND_FUNC_PROTO)
        add_prototype(t, s, view_record(s.v, id), True)
        s.contents[id] = number_of_key(t)
    return s.contents[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def key_of_reference(t: cython.pointer[Numbers], s: cython.pointer[Side], r: cython.pointer[uint32_t]) -> cython.void:
    """Fill the key of a reference to a type, whose own references have their numbers."""
    i: uint32_t
    refs: RefSpan
    kind: uint32_t = wire_kind(r)
    t.key.n = 0
    if kind == KIND_FWD:  # as what it declares
        kind = KIND_UNION if kind_flag(r) else KIND_STRUCT
    elif kind == KIND_ENUM64:
        kind = KIND_ENUM
    add(t, kind)
    if is_by_name(r):
        add(t, name_number(t, s, r[0]))
        return
    add(t, 0)
    if is_composite(kind):
        if wire_kind(r) != KIND_FWD:
            add_members(t, s, r)
    elif is_enum(kind):
        add_values(t, s, r)
    elif kind == KIND_FUNC_PROTO:
        add_prototype(t, s, r, False)
    elif kind == KIND_ARRAY:
        add(t, ref_of(s, r[3]))
        add(t, r[5])
    elif kind == KIND_INT:
        add(t, r[2])
        add(t, r[3])
    elif kind == KIND_FLOAT:
        add(t, r[2])
    else:
        if r[0]:
            add(t, name_number(t, s, r[0]))
        refs = wire_refs(r)
        for i in range(refs.count):
            add(t, ref_of(s, refs.p[i * refs.stride]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refer(t: cython.pointer[Numbers], s: cython.pointer[Side], first: uint32_t) -> cython.void:
    """Give a number to references to a type, and to all that this depends on."""
    depth: cython.size_t = 1
    i: uint32_t
    id: uint32_t
    to: uint32_t
    r: cython.pointer[uint32_t]
    refs: RefSpan
    if first == 0 or s.refs[first]:
        return
    s.stack[0] = first
    while depth and t.status == DIFF_OK:
        id = s.stack[depth - 1]
        if s.refs[id] == REF_NEW:
            r = view_record(s.v, id)
            s.refs[id] = REF_BUSY
            if not is_by_name(r):
                refs = wire_refs(r)
                for i in range(refs.count):
                    to = refs.p[i * refs.stride]
                    if to and s.refs[to] == REF_NEW:
                        if not push(t, s, depth, to):
                            return
                        depth += 1
            if s.stack[depth - 1] != id:
                continue
        if s.refs[id] == REF_BUSY:
            key_of_reference(t, s, view_record(s.v, id))
            s.refs[id] = number_of_key(t)
            if t.status != DIFF_OK and s.bad == 0:
                s.bad = id
        depth -= 1


# -- contents --------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def by_value(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    x: uint64_t = cython.cast(cython.pointer[cython.const[uint64_t]], a)[0]
    y: uint64_t = cython.cast(cython.pointer[cython.const[uint64_t]], b)[0]
    return (x > y) - (x < y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_tags(t: cython.pointer[Numbers], s: cython.pointer[Side], id: uint32_t) -> cython.void:
    """The declaration tags about a type, in whatever order they are."""
    tag: uint32_t = s.tags[id]
    r: cython.pointer[uint32_t]
    i: cython.size_t
    t.sorting.n = 0
    while tag:
        r = view_record(s.v, tag)
        if not u64s_push(cython.address(t.sorting), cython.cast(uint64_t, r[3]) << 32 | name_number(t, s, r[0])):
            t.status = DIFF_MEMORY
            return
        tag = s.more_tags[tag]
    qsort(t.sorting.p, t.sorting.n, 8, by_value)
    add(t, cython.cast(uint32_t, t.sorting.n))
    for i in range(t.sorting.n):
        add_size(t, t.sorting.p[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def key_of_content(t: cython.pointer[Numbers], s: cython.pointer[Side], id: uint32_t) -> cython.void:
    """Fill the key of the contents of a type with a category, whose references have their numbers. ENUM and ENUM64 are
    the same, as in references; of a variable its section and its size there count, its offset does not; of a DATASEC
    only the size.
    """
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    kind: uint32_t = wire_kind(r)
    entry: cython.pointer[uint32_t]
    prototype: uint32_t = 0
    if kind == KIND_FUNC and r[2] and wire_kind(view_record(s.v, r[2])) == KIND_FUNC_PROTO:
        prototype = prototype_number(t, s, r[2])
    t.key.n = 0
    add(t, KEY_CONTENT | (KIND_ENUM if kind == KIND_ENUM64 else kind))
    if is_composite(kind):
        add_members(t, s, r)
    elif is_enum(kind):
        add_values(t, s, r)
    elif kind == KIND_TYPEDEF:
        add(t, ref_of(s, r[2]))
    elif kind == KIND_FUNC:
        add(t, wire_vlen(r))
        add(t, prototype)
        if prototype == 0:
            add(t, ref_of(s, r[2]))
    elif kind == KIND_VAR:
        add(t, r[3])
        add(t, ref_of(s, r[2]))
        add_size(t, s.sizes[id])
        if s.sections[id]:
            entry = s.v.words + s.v.offs[s.sections[id]] + s.entries[id]
            add(t, name_number(t, s, view_record(s.v, s.sections[id])[0]))
            add(t, entry[2])
    elif kind == KIND_FWD:
        add(t, kind_flag(r))
    elif kind == KIND_INT:
        add(t, r[2])
        add(t, r[3])
    else:
        add(t, r[2])
    if s.tags[id]:
        add_tags(t, s, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def collect(s: cython.pointer[Side]) -> cython.void:
    """Which tags are about a type, and in which section a variable is."""
    id: uint32_t
    i: uint32_t
    r: cython.pointer[uint32_t]
    for id in range(s.v.first_own, s.v.n):
        r = view_record(s.v, id)
        if wire_kind(r) == KIND_DECL_TAG:
            s.more_tags[id] = s.tags[r[2]]
            s.tags[r[2]] = id
        elif wire_kind(r) == KIND_DATASEC:
            for i in range(wire_vlen(r)):
                if s.sections[r[3 + 3 * i]] == 0:
                    s.sections[r[3 + 3 * i]] = id
                    s.entries[r[3 + 3 * i]] = 3 + 3 * i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def side_number(t: cython.pointer[Numbers], s: cython.pointer[Side]) -> cython.void:
    """Give numbers to the contents of all own types with a category, and to all references these have."""
    id: uint32_t
    i: uint32_t
    refs: RefSpan
    for id in range(1, s.v.n):
        s.sizes[id] = NO_SIZE
    for id in range(1, s.v.n):
        if s.sizes[id] == NO_SIZE:
            measure(t, s, id)
    collect(s)
    for id in range(s.v.first_own, s.v.n):
        if t.status != DIFF_OK:
            return
        if category_of(s.v, id) == OF_NOTHING:
            continue
        if wire_kind(view_record(s.v, id)) != KIND_DATASEC:
            refs = wire_refs(view_record(s.v, id))
            for i in range(refs.count):
                refer(t, s, refs.p[i * refs.stride])
            if wire_kind(view_record(s.v, id)) == KIND_FUNC and refs.p[0] and s.contents[refs.p[0]] == 0:
                refs = wire_refs(view_record(s.v, refs.p[0]))
                for i in range(refs.count):
                    refer(t, s, refs.p[i * refs.stride])
        key_of_content(t, s, id)
        s.contents[id] = number_of_key(t)
        if t.status != DIFF_OK and s.bad == 0:
            s.bad = id
