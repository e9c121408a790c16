"""Reading DIEs at a glance: those of known layout (abbrev_layout.py), in frames where their tags have their usual
meaning.

Begin with `glances`, the loop. Each part does to the tables of the unit what the function for its tag does on the slow
path, attribute by attribute (die_objects.py, open_objects.py), if the DIE has no attributes but those of the layout.
Before anything is changed, everything that the slow path would check is checked. If anything is unusual, nothing is
done, and the DIE takes the slow path.

Wanted values are read without asking whether they are there; those that are not are masked out. So the same few steps
serve nearly all DIEs, which is the point. A value that is not there is read at offset 0. So that nothing is read beyond
the unit, the loop ends before its last bytes, as many as a layout of the table may look at (`reach`).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.dwarf.abbrev_layout import *
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.dwarf.die_fast_path import *
from cython.cimports.pybtf.core.dwarf.die_reader import Reader
from cython.cimports.pybtf.core.dwarf.function_fast_path import put_in_function
from cython.cimports.pybtf.core.dwarf.glance_reads import first_of, long_at, name_size, short_name, word_at
from cython.cimports.pybtf.core.dwarf.open_objects import close_frame
from cython.cimports.pybtf.core.dwarf.passing import after_code, leb_bytes, pass_lead, pass_tree, pass_values, short_leb
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.strings.lazy_names import NAME_AT
from cython.cimports.pybtf.core.support.check import STATIC_CHECK
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG, bswap32, bswap64, unlikely
from cython.cimports.pybtf.core.support.memory import grow

CODE_AND_NAME = cython.declare(cython.Py_ssize_t, 6)  # bytes that an abbreviation code and a short name take at most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def string_offsets(r: cython.pointer[Reader]) -> StringOffsets:
    """The unit's table of offsets in .debug_str, of four bytes each; without any if there is none such."""
    found: StringOffsets
    found.n = 0
    if r.offset_size == 4 and not r.split and r.str_offsets_base <= r.str_offsets_end:
        found.n = (r.str_offsets_end - r.str_offsets_base) // 4
    found.p = r.sections.str_offsets.p + r.str_offsets_base if found.n else cython.NULL
    return found


# ---- what a DIE becomes -------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_member(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    m: cython.pointer[Member],
    name: uint32_t,
    ref: uint32_t,
    at: uint32_t,
) -> cython.void:
    """`m`: the next member, for which there is room; `at`: its offset in bytes."""
    memset(m, 0, cython.sizeof(Member))
    m.name = name
    m.ref = ref
    m.byte_offset = at
    m.bit_offset = cython.cast(uint64_t, at) * 8
    w.n_members += 1
    f.index += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_odd_member(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    s: cython.pointer[cython.const[DieLayout]],
    extra: uint8_t,
    name: uint32_t,
    ref: uint32_t,
    at: uint64_t,
) -> cython.bint:
    """A member with an extra, or without a place. Without one, that of a struct is a static member, which is not read
    here; nor is a bitfield of no bits. `at` counts bits if it is a bitfield. False: nothing has been done.
    """
    m: cython.pointer[Member]
    if not s.valued and f.type.tag != DW_TAG_union_type:
        return False
    if (s.extra == IS_SHORT and extra & 0x80) or (s.extra == IS_BITS and extra == 0):
        return False
    if not grow(w.members, w.cap_members, w.n_members + 1):
        return False
    m = cython.address(w.members[w.n_members])
    put_member(w, f, m, name, ref, cython.cast(uint32_t, at))
    if s.extra == IS_BITS:
        m.byte_offset = 0
        m.bit_offset = at
        m.bitfield_size = extra
        m.flags = M_DATA_BIT_OFFSET
        f.type.flags |= T_BITS
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_enumerator(w: cython.pointer[Walker], name: uint32_t, value: uint64_t) -> cython.bint:
    if not grow(w.enumerators, w.cap_enumerators, w.n_enumerators + 1):
        return False
    w.enumerators[w.n_enumerators].name = name
    w.enumerators[w.n_enumerators].value = value
    w.n_enumerators += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_type_parameter(
    w: cython.pointer[Walker], f: cython.pointer[Frame], name: uint32_t, ref: uint32_t
) -> cython.bint:
    """A parameter of a subroutine type, of which no more is taken (open_objects.py)."""
    if not grow(w.params, w.cap_params, w.n_params + 1):
        return False
    w.params[w.n_params].name = name
    w.params[w.n_params].ref = ref
    w.n_params += 1
    f.index += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_dimension(w: cython.pointer[Walker], f: cython.pointer[Frame], number: uint64_t) -> cython.bint:
    """`number`: of elements; of more dimensions than an array may have, the slow path takes care."""
    if w.n_dims - f.mark >= MAX_DIMS or not grow(w.dims, w.cap_dims, w.n_dims + 1):
        return False
    w.dims[w.n_dims] = number
    w.n_dims += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def new_type(w: cython.pointer[Walker]) -> cython.pointer[Type]:
    """The next place in the table of types, NULL: no memory."""
    u: cython.pointer[Unit] = cython.address(w.u)
    if not grow(u.types, u.cap_types, u.n_types + 1):
        return cython.NULL
    u.n_types += 1
    return cython.address(u.types[u.n_types - 1])


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def new_frame(w: cython.pointer[Walker], kind: uint8_t) -> cython.pointer[Type]:
    """A frame for a type with children; its place there. NULL: not here."""
    f: cython.pointer[Frame]
    if kind == LAYOUT_STRUCT:
        f = glance_frame(w, IN_STRUCT, w.n_members)
    elif kind == LAYOUT_SUBROUTINE:
        f = glance_frame(w, IN_SUBROUTINE, w.n_params)
    elif kind == LAYOUT_ENUM:
        f = glance_frame(w, IN_ENUM, w.n_enumerators)
    else:
        f = glance_frame(w, IN_ARRAY, w.n_dims)
    if f == cython.NULL:
        return cython.NULL
    return cython.address(f.type)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_type(
    w: cython.pointer[Walker],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
    size: uint64_t,
) -> cython.bint:
    """Into a frame, if there are children, and otherwise into the table."""
    kind: uint8_t = decl.layout.kind
    t: cython.pointer[Type] = new_frame(w, kind) if decl.children else new_type(w)
    if t == cython.NULL:
        return False
    memset(t, 0, cython.sizeof(Type))
    t.die = cython.cast(uint32_t, die)
    t.tag = decl.tag
    t.name = name
    t.ref = ref
    t.size = cython.cast(uint32_t, size)
    t.flags = decl.layout.flags
    t.encoding = decl.layout.encoding
    if kind == LAYOUT_STRUCT:
        t.first = w.u.n_members
    elif kind == LAYOUT_SUBROUTINE:
        t.first = w.u.n_type_params
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """Closes a frame in which nothing was but what C can put there. Nonzero: fault."""
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_members - f.mark
    t: cython.pointer[Type]
    if not grow(u.members, u.cap_members, u.n_members + count):
        return no_memory(w)
    t = new_type(w)
    if t == cython.NULL:
        return no_memory(w)
    if count:
        memcpy(u.members + u.n_members, w.members + f.mark, count * cython.sizeof(Member))
    t[0] = f.type
    t.first = u.n_members
    t.count = count
    u.n_members += count
    w.n_members = f.mark
    w.n_frames -= 1
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def end_type(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """The type of the topmost frame has no more children. Nonzero: fault."""
    if f.mode == IN_STRUCT and f.chain == 0 and f.anns_mark == w.n_anns and w.u.language != DW_LANG_Rust:
        return end_struct(w, f)
    return close_frame(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def set_encoding(
    w: cython.pointer[Walker], decl: cython.pointer[cython.const[AbbrevDecl]], encoding: uint8_t
) -> cython.void:
    """That of the enumeration that was put last."""
    if decl.children:
        w.frames[w.n_frames - 1].type.encoding = encoding
    else:
        w.u.types[w.u.n_types - 1].encoding = encoding


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_child(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    die: uint64_t,
    name: uint32_t,
    ref: uint32_t,
    value: uint64_t,
) -> cython.bint:
    """Does what a DIE with these values, at `die`, which is not a member, comes to as a child of frame `f`. False:
    nothing has been done.
    """
    s: cython.pointer[cython.const[DieLayout]] = cython.address(decl.layout)
    kind: uint8_t = s.kind
    mode: uint8_t = f.mode
    STATIC_CHECK(IN_NAMESPACE == 1)  # the order of the modes: unit, namespace and struct can have types inside
    STATIC_CHECK(IN_STRUCT == 2)
    STATIC_CHECK(IN_ENUM == 3)
    STATIC_CHECK(IN_ARRAY == 4)
    STATIC_CHECK(IN_SUBROUTINE == 5)  # and so can these, up to IN_BLOCK
    STATIC_CHECK(IN_FUNCTION == 6)
    STATIC_CHECK(IN_BLOCK == 7)
    if kind == LAYOUT_TYPE or (LAYOUT_STRUCT <= kind and kind <= LAYOUT_ENUM):
        if mode <= IN_STRUCT or (IN_SUBROUTINE <= mode and mode <= IN_BLOCK):
            return put_type(w, decl, die, name, ref, value)
        return False
    if kind == LAYOUT_PARAMETER and mode == IN_SUBROUTINE:
        return not (w.want_parameter_names or s.flags & BY_ORIGIN) and put_type_parameter(w, f, name, ref)
    if kind == LAYOUT_ENUMERATOR:
        return mode == IN_ENUM and put_enumerator(w, name, value)
    if kind == LAYOUT_DIMENSION:
        return mode == IN_ARRAY and put_dimension(w, f, value + 1 if s.valued and not s.flags & COUNTED else value)
    return put_in_function(w, f, decl, die, name, ref, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_with_extra(
    s: cython.pointer[cython.const[DieLayout]],
    p: cython.pointer[cython.const[uint8_t]],
    value: cython.pointer[uint64_t],
) -> uint32_t:
    """Bytes of a DIE with an extra, from `p` on, where offsets are counted from; 0: not at a glance. Sets `value` if
    that is the extra.
    """
    at: cython.pointer[cython.const[uint8_t]] = p + s.extra_at
    more: uint32_t
    if s.extra == IS_SHORT:
        return 0 if at[0] & 0x80 else s.size
    if s.extra == IS_ENCODING:
        return s.size
    more = leb_bytes(at)
    value[0] = short_leb(at, s.extra == IS_SIGNED) if more else 0
    return s.size + more if more else 0


# ---- reading ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_odd(
    s: cython.pointer[cython.const[DieLayout]],
    p: cython.pointer[cython.const[uint8_t]],
    end: cython.pointer[cython.const[uint8_t]],
    strings: cython.pointer[cython.const[StringOffsets]],
    deferred: uint32_t,
    swap: cython.bint,
) -> Values:
    """The values of a DIE whose layout is not `plain`, after its code at `p`; not yet masked, except the name."""
    v: Values
    word: uint32_t
    v.p = cython.NULL
    v.name = 0
    if s.lead == TEXT:
        v.name = short_name(p)
        if v.name == 0:
            return v
        p += name_size(v.name) + 1
    elif s.lead:
        p = pass_lead(s.lead, p, end)
        if p == cython.NULL:
            return v
    word = word_at(p + s.name_at, swap)
    if s.named & INDEX_BYTES:
        word = first_of(word, s.named, swap)
        if word >= strings.n:
            return v
        word = word_at(strings.p + 4 * cython.cast(uint64_t, word), swap)
    if word & s.name_mask >= deferred:
        return v
    v.p = p
    v.name |= (word | NAME_AT) & s.name_mask
    v.to = word_at(p + s.type_at, swap)
    v.value = bswap64(long_at(p + s.value_at)) if swap else long_at(p + s.value_at)
    return v


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_over(
    w: cython.pointer[Walker],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    at: cython.pointer[cython.const[uint8_t]],
    sibling: uint32_t,
) -> cython.pointer[cython.const[uint8_t]]:
    """The end of a DIE at `at` that is passed over, and of its children. NULL: not at a glance."""
    depth: uint64_t = 1
    p: cython.pointer[cython.const[uint8_t]] = pass_values(
        cython.address(decl.passage), after_code(at), w.r.c.end
    )
    if p == cython.NULL or not decl.children:
        return p
    if decl.layout.with_sibling:
        if w.r.c.base + w.r.unit + sibling < p:
            return cython.NULL
        return w.r.c.base + w.r.unit + sibling
    p = pass_tree(w.r.table, p, w.r.c.end, cython.address(depth))
    if depth:
        return cython.NULL
    return p


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def outlook(w: cython.pointer[Walker], o: cython.pointer[Outlook]) -> cython.bint:
    """What the unit is like from the cursor on. False: nothing is read at a glance there."""
    within: uint64_t = min(w.r.end, w.sections.alternate_at)
    left: cython.Py_ssize_t = w.r.c.end - w.r.c.pos - CODE_AND_NAME - cython.cast(cython.Py_ssize_t, w.r.table.reach)
    STATIC_CHECK(cython.sizeof(AbbrevDecl) <= 64)  # a cache line
    o.decls = w.r.table.decls
    o.n = w.r.table.n
    o.n_short = min(o.n, 0x7F)
    o.unit = w.r.unit
    o.size = w.r.end - o.unit
    o.deferred = w.names.deferred
    o.swap = w.r.c.swap
    if left < 0 or w.sections.alternate_at <= o.unit or o.deferred == 0:
        return False
    o.last = w.r.c.pos + left
    o.own = cython.cast(uint32_t, within - o.unit) if within - o.unit < NO_INDEX else NO_INDEX
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def read_plain(
    s: cython.pointer[cython.const[DieLayout]],
    p: cython.pointer[cython.const[uint8_t]],
    deferred: uint32_t,
    swap: cython.bint,
) -> Values:
    """As `read_odd`, of a layout that is `plain`."""
    v: Values
    v.name = word_at(p + s.name_at, False)
    v.to = word_at(p + s.type_at, False)
    v.value = long_at(p + s.value_at)
    if unlikely(swap):  # one question for all three, since this is asked of ten million DIEs
        v.name = bswap32(v.name)
        v.to = bswap32(v.to)
        v.value = bswap64(v.value)
    v.name &= s.name_mask
    v.p = p if v.name < deferred else cython.NULL
    v.name |= s.name_mask & NAME_AT
    return v


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def read_values(
    o: cython.pointer[cython.const[Outlook]],
    strings: cython.pointer[cython.const[StringOffsets]],
    s: cython.pointer[cython.const[DieLayout]],
    p: cython.pointer[cython.const[uint8_t]],
) -> Values:
    """The values of a DIE, after its code at `p`: masked, and with the reference as an offset in .debug_info."""
    v: Values
    if s.plain:
        v = read_plain(s, p, o.deferred, o.swap)
    else:
        v = read_odd(s, p, o.last + CODE_AND_NAME, strings, o.deferred, o.swap)
    if v.p == cython.NULL:
        return v
    if unlikely(o.swap != HOST_IS_BIG):
        v.value >>= s.value_shift
    v.value = s.value | (v.value & s.value_mask)
    v.to &= s.type_mask
    if v.to >= o.own:
        v.p = cython.NULL
    v.to = cython.cast(uint32_t, o.unit + v.to) & s.type_mask
    return v


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def take_die(
    w: cython.pointer[Walker],
    o: cython.pointer[cython.const[Outlook]],
    f: cython.pointer[Frame],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    at: cython.pointer[cython.const[uint8_t]],
    v: cython.pointer[cython.const[Values]],
) -> cython.pointer[cython.const[uint8_t]]:
    """Does what a DIE at `at`, which is not a member, comes to in frame `f`; returns where the next one begins. NULL:
    nothing has been done.
    """
    s: cython.pointer[cython.const[DieLayout]] = cython.address(decl.layout)
    sibling: uint32_t = 0
    size: uint32_t = s.size
    value: uint64_t = v.value
    found: uint64_t = 0
    if s.with_sibling:
        sibling = word_at(v.p + s.sibling_at, o.swap)
        if sibling >= o.size:
            return cython.NULL
    if s.kind == LAYOUT_PASSED:
        if f.mode != IN_FUNCTION and f.mode != IN_BLOCK:
            return cython.NULL
        return pass_over(w, decl, at, sibling)
    if s.extra:
        size = size_with_extra(s, v.p, cython.address(found))
        if size == 0:
            return cython.NULL
        if s.extra != IS_ENCODING and s.extra != IS_SHORT:
            value = found
    if not put_child(w, f, decl, at - w.r.c.base, v.name, v.to, value):
        return cython.NULL
    if s.extra == IS_ENCODING:
        set_encoding(w, decl, v.p[s.extra_at])
    return v.p + size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def glances(w: cython.pointer[Walker]) -> cython.int:
    """Reads DIEs from the cursor on, in the topmost frame and those it opens, as long as they can be read at a glance.

    The caller has asked `can_glance`. Nonzero: fault.
    """
    o: Outlook
    strings: StringOffsets = string_offsets(cython.address(w.r))
    at: cython.pointer[cython.const[uint8_t]] = w.r.c.pos
    p: cython.pointer[cython.const[uint8_t]]
    decl: cython.pointer[cython.const[AbbrevDecl]]
    s: cython.pointer[cython.const[DieLayout]]
    f: cython.pointer[Frame] = cython.address(w.frames[w.n_frames - 1])
    room: cython.pointer[Member] = w.members + w.n_members  # for the next member
    room_end: cython.pointer[Member] = w.members + w.cap_members
    v: Values
    code: uint32_t
    if not outlook(w, cython.address(o)):
        return 0
    while at <= o.last:
        code = at[0]
        p = at + 1
        if code - 1 >= o.n_short:
            if code == 0:
                if f.mode < IN_STRUCT or f.mode > IN_BLOCK:
                    break
                w.d.offset = at - w.r.c.base
                at += 1
                if end_type(w, f):
                    return 1
                room = w.members + w.n_members
                f = cython.address(w.frames[w.n_frames - 1])
                continue
            if not code & 0x80 or p[0] & 0x80:
                break
            code = (code & 0x7F) | cython.cast(uint32_t, p[0]) << 7
            p += 1
            if code - 1 >= o.n:
                break
        decl = o.decls + (code - 1)
        s = cython.address(decl.layout)
        v = read_values(cython.address(o), cython.address(strings), s, p)
        if v.p == cython.NULL:
            break
        if s.kind == LAYOUT_MEMBER:
            if f.mode != IN_STRUCT:
                break
            if room == room_end:
                if not grow(w.members, w.cap_members, w.n_members + 1):
                    break
                room = w.members + w.n_members
                room_end = w.members + w.cap_members
            put_member(w, f, room, v.name, v.to, cython.cast(uint32_t, v.value))
            room += 1
            at = v.p + s.size
        elif s.kind == LAYOUT_ODD_MEMBER:
            if f.mode != IN_STRUCT or not put_odd_member(w, f, s, v.p[s.extra_at], v.name, v.to, v.value):
                break
            room = w.members + w.n_members
            room_end = w.members + w.cap_members
            at = v.p + s.size
        else:
            p = take_die(w, cython.address(o), f, decl, at, cython.address(v))
            if p == cython.NULL:
                break
            at = p
            if decl.children:
                f = cython.address(w.frames[w.n_frames - 1])
    w.r.c.pos = at
    return 0
