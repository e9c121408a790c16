# cython: annotation_typing=True
"""Decoding the DIE tree of a unit: the one interpreter loop of the DWARF side.

The walk is depth first, in DIE order, and an object enters its table only after all its children (the small ids
depend on it). While the children of an object are read, the object waits in a *frame*; its members, enumerators,
parameters, dimensions and annotations wait on stacks, where those of the innermost open frame are always on top,
so that closing a frame moves one contiguous run to its final place. There is no recursion: the depth of a tree is
data.

What a DIE means depends on the frame it is met in: a handful of tags are special to each kind of frame, everything
else goes to one dispatcher. A tag that nobody knows is counted and passed over with its subtree.

References stay `.debug_info` offsets here; `resolve.py` turns them into small ids when the unit is complete.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memcmp, memset
from cython.cimports.pybtf.core.abbrevs import *
from cython.cimports.pybtf.core.annotations import annotation_chain, annotation_child, tag_slots
from cython.cimports.pybtf.core.cursor import Cursor, cur_init, cur_u8, cur_u32, cur_u64, cur_uleb
from cython.cimports.pybtf.core.dies import Attr, Die, die_has, die_number, die_read, die_skip_children, die_string
from cython.cimports.pybtf.core.faults import (
    FAULT_DEPTH,
    FAULT_MEMORY,
    IN_INFO,
    fault_set,
)
from cython.cimports.pybtf.core.locations import LOC_BLOCK, first_operation_address
from cython.cimports.pybtf.core.memory import memmem, room
from cython.cimports.pybtf.core.sections import DebugSections
from cython.cimports.pybtf.core.strings import NO_STRING, Strings, string_intern
from cython.cimports.pybtf.core.unit import *
from cython.cimports.pybtf.core.walk import *

CACHE_BITS = cython.declare(cython.int, 16)
MAX_DEPTH = cython.declare(uint32_t, 4096)
MAX_DIMS = cython.declare(uint32_t, 64)
HASH_FACTOR = cython.declare(uint64_t, 0x9E3779B97F4A7C15)

# What `dispatch` and the handlers of children tell the loop.
FAILED = cython.declare(cython.int, -1)
DONE = cython.declare(cython.int, 0)  # nothing more to read of this DIE
OPENED = cython.declare(cython.int, 1)  # a frame was opened: read its children
SKIP = cython.declare(cython.int, 2)  # pass over the children


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def no_memory(w: cython.pointer[Walker]) -> cython.int:
    fault_set(cython.address(w.fault), FAULT_MEMORY, IN_INFO, w.d.offset, w.d.offset, 0)
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_name(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """The string id of a string attribute, 0 if absent or empty. A fault is left in the walker."""
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    sid: uint32_t
    at: cython.pointer[uint64_t]
    tag: uint64_t
    a: cython.pointer[Attr] = cython.address(w.d.a[slot])
    if not die_has(cython.address(w.d), slot):
        return 0
    if a.cls == A_STRP and a.v < NO_INDEX - 1:
        tag = (a.v + 1) << 32
        at = w.string_cache + ((a.v * HASH_FACTOR) >> (64 - CACHE_BITS))
        if at[0] >> 32 == tag >> 32:
            return cython.cast(uint32_t, at[0])
        if die_string(
            cython.address(w.r),
            cython.address(w.d),
            slot,
            cython.address(text),
            cython.address(size),
            cython.address(transient),
        ):
            return 0
        sid = string_intern(w.strings, text, size, False)
        if sid == NO_STRING:
            no_memory(w)
            return 0
        at[0] = tag | sid
        return sid
    if die_string(
        cython.address(w.r),
        cython.address(w.d),
        slot,
        cython.address(text),
        cython.address(size),
        cython.address(transient),
    ):
        return 0
    sid = string_intern(w.strings, text, size, transient)
    if sid == NO_STRING:
        no_memory(w)
        return 0
    return sid


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def reference(w: cython.pointer[Walker], slot: cython.int) -> uint32_t:
    """The DIE a reference attribute names, as a .debug_info offset; 0 none, NO_INDEX one that cannot be resolved."""
    a: cython.pointer[Attr] = cython.address(w.d.a[slot])
    if not die_has(cython.address(w.d), slot):
        return 0
    if a.cls != A_REF and a.cls != A_REF_ADDR:
        return NO_INDEX
    if a.v >= w.sections.info.n:
        # Kept for resolve.py, which says which DIE it was.
        return NO_INDEX - 1
    return cython.cast(uint32_t, a.v)


# ---- closing objects: from the stacks to the tables ---------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_type(w: cython.pointer[Walker], t: cython.pointer[Type]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    if not room(
        cython.cast(cython.pp_void, cython.address(u.types)),
        cython.address(u.cap_types),
        u.n_types + 1,
        cython.sizeof(Type),
    ):
        return no_memory(w)
    u.types[u.n_types] = t[0]
    u.n_types += 1
    return 0


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
    if count > 0xFFFF or not room(
        cython.cast(cython.pp_void, cython.address(u.anns)),
        cython.address(u.cap_anns),
        u.n_anns + count,
        cython.sizeof(Annotation),
    ):
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
def close_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_members - f.mark
    i: uint32_t
    if not room(
        cython.cast(cython.pp_void, cython.address(u.members)),
        cython.address(u.cap_members),
        u.n_members + count,
        cython.sizeof(Member),
    ):
        return no_memory(w)
    for i in range(count):
        u.members[u.n_members + i] = w.members[f.mark + i]
    f.type.first = u.n_members
    f.type.count = count
    u.n_members += count
    w.n_members = f.mark
    if f.chain and f.type.tag != 0x17 and annotation_chain(w, f.chain, -1):
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
    if not room(
        cython.cast(cython.pp_void, cython.address(u.enumerators)),
        cython.address(u.cap_enumerators),
        u.n_enumerators + count,
        cython.sizeof(Enumerator),
    ):
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
    """One slot per dimension, the innermost first; only the last one stands for the DIE."""
    t: Type = f.type
    n: uint32_t = w.n_dims - f.mark
    i: uint32_t
    for i in range(n if n else 1):
        t.first = cython.cast(uint32_t, w.dims[f.mark + n - 1 - i]) if n else 0
        t.die = f.type.die if i + 1 >= n else 0
        # `size` stands for the DIE's DW_AT_byte_size, which only the outermost has.
        t.size = f.type.size if i + 1 >= n else 0
        t.count = n if n else 0
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
def take_params(
    w: cython.pointer[Walker], mark: uint32_t, first: cython.pointer[uint32_t], n: cython.pointer[uint32_t]
) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    count: uint32_t = w.n_params - mark
    i: uint32_t
    if not room(
        cython.cast(cython.pp_void, cython.address(u.params)),
        cython.address(u.cap_params),
        u.n_params + count,
        cython.sizeof(Param),
    ):
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
def close_function(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    u: cython.pointer[Unit] = cython.address(w.u)
    if take_params(w, f.mark, cython.address(f.func.first), cython.address(f.func.count)):
        return -1
    if f.chain and annotation_chain(w, f.chain, -1):
        return -1
    if take_anns(w, f.anns_mark, cython.address(f.func.anns), cython.address(f.func.n_anns)):
        return -1
    if not room(
        cython.cast(cython.pp_void, cython.address(u.functions)),
        cython.address(u.cap_functions),
        u.n_functions + 1,
        cython.sizeof(Function),
    ):
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
    if not room(
        cython.cast(cython.pp_void, cython.address(u.variables)),
        cython.address(u.cap_variables),
        u.n_variables + 1,
        cython.sizeof(Variable),
    ):
        return no_memory(w)
    u.variables[u.n_variables] = f.var
    u.n_variables += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close_pointer(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    if w.want_type_tags and f.chain and f.index == 0:
        if tag_slots(w, f.chain, cython.address(f.type)):
            return -1
    return add_type(w, cython.address(f.type))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """Ends the topmost frame: its object enters its table. -1: fault."""
    mode: uint8_t = f.mode
    w.n_frames -= 1
    if mode == IN_STRUCT:
        return close_struct(w, f)
    if mode == IN_ENUM:
        return close_enum(w, f)
    if mode == IN_ARRAY:
        return close_array(w, f)
    if mode == IN_SUBROUTINE:
        if take_params(w, f.mark, cython.address(f.type.first), cython.address(f.type.count)):
            return -1
        return add_type(w, cython.address(f.type))
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
    if mode == IN_UNIT and f.index:
        return leave_import(w)
    return 0


# ---- opening objects ----------------------------------------------------------------------------------------


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
    if not room(
        cython.cast(cython.pp_void, cython.address(w.frames)),
        cython.address(w.cap_frames),
        w.n_frames + 1,
        cython.sizeof(Frame),
    ):
        no_memory(w)
        return cython.NULL
    f = cython.address(w.frames[w.n_frames])
    w.n_frames += 1
    f.mode = mode
    f.mark = mark
    f.anns_mark = w.n_anns
    f.index = 0
    f.chain = w.d.a[D_ANNOTATION].v if die_has(cython.address(w.d), D_ANNOTATION) else 0
    return f


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def opened(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """What the loop does next with a frame just filled: read children, or close it at once."""
    if w.d.children:
        return OPENED
    return close(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_type(w: cython.pointer[Walker], t: cython.pointer[Type]) -> cython.void:
    d: cython.pointer[Die] = cython.address(w.d)
    memset(t, 0, cython.sizeof(Type))
    t.die = cython.cast(uint32_t, d.offset)
    t.tag = d.tag
    t.ref = reference(w, D_TYPE)
    t.name = walk_name(w, D_NAME)
    t.size = cython.cast(uint32_t, die_number(d, D_BYTE_SIZE))
    t.encoding = cython.cast(uint8_t, die_number(d, D_ENCODING))
    t.spec = reference(w, D_SPECIFICATION)
    if die_number(d, D_DECLARATION):
        t.flags = T_DECLARATION


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_type(w: cython.pointer[Walker], mode: uint8_t, mark: uint32_t) -> cython.int:
    f: cython.pointer[Frame] = open_frame(w, mode, mark)
    if f == cython.NULL:
        return FAILED
    fill_type(w, cython.address(f.type))
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plain_type(w: cython.pointer[Walker]) -> cython.int:
    """A type without children of interest."""
    t: Type
    fill_type(w, cython.address(t))
    if add_type(w, cython.address(t)):
        return FAILED
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_function(w: cython.pointer[Walker]) -> cython.int:
    d: cython.pointer[Die] = cython.address(w.d)
    f: cython.pointer[Frame] = open_frame(w, IN_FUNCTION, w.n_params)
    func: cython.pointer[Function]
    if f == cython.NULL:
        return FAILED
    func = cython.address(f.func)
    memset(func, 0, cython.sizeof(Function))
    func.die = cython.cast(uint32_t, d.offset)
    func.bases = w.u.n_bases - 1
    func.name = walk_name(w, D_NAME)
    if func.name == 0 and die_has(d, D_NAME):
        func.flags |= F_EMPTY_NAME
    func.ref = reference(w, D_TYPE)
    func.origin = reference(w, D_ORIGIN)
    func.spec = reference(w, D_SPECIFICATION)
    if die_has(d, D_LOW_PC):
        func.address = low_pc(w)
    if die_has(d, D_DECLARATION):
        func.flags |= F_DECLARATION
    if die_has(d, D_ORIGIN):
        func.flags |= F_HAS_ORIGIN
    if die_number(d, D_INLINE):
        func.flags |= F_INLINE
    if die_number(d, D_CALLING_CONVENTION) == 3:
        func.flags |= F_NOCALL
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def low_pc(w: cython.pointer[Walker]) -> uint64_t:
    """DW_AT_low_pc, an address or an index into .debug_addr; 0 if it cannot be read."""
    a: cython.pointer[Attr] = cython.address(w.d.a[D_LOW_PC])
    at: uint64_t
    c: Cursor
    if a.cls == A_ADDR:
        return a.v
    if a.cls != A_ADDRX or a.v > w.sections.addr.n or w.u.addr_base > w.sections.addr.n:
        return 0
    at = w.u.addr_base + a.v * w.r.address_size
    cur_init(
        cython.address(c),
        w.sections.addr.p,
        at if at < w.sections.addr.n else w.sections.addr.n,
        w.sections.addr.n,
        w.sections.swap,
    )
    return cur_u64(cython.address(c)) if w.r.address_size == 8 else cur_u32(cython.address(c))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_expression(w: cython.pointer[Walker], a: cython.pointer[Attr]) -> cython.bint:
    """Whether a location is given by an expression; blocks were, until version 4 had a form of its own for them."""
    return a.cls == A_EXPR or (a.cls == A_BLOCK and w.r.version < 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_variable(w: cython.pointer[Walker], top_level: cython.bint) -> cython.int:
    d: cython.pointer[Die] = cython.address(w.d)
    a: cython.pointer[Attr] = cython.address(d.a[D_LOCATION])
    f: cython.pointer[Frame]
    v: cython.pointer[Variable]
    # Local variables are never written and matter only as what a definition elsewhere specifies.
    if not top_level and die_has(d, D_LOCATION):
        return SKIP
    f = open_frame(w, IN_VARIABLE, 0)
    if f == cython.NULL:
        return FAILED
    v = cython.address(f.var)
    memset(v, 0, cython.sizeof(Variable))
    v.die = cython.cast(uint32_t, d.offset)
    v.name = walk_name(w, D_NAME)
    v.ref = reference(w, D_TYPE)
    v.spec = reference(w, D_SPECIFICATION)
    if die_has(d, D_DECLARATION):
        v.flags |= V_DECLARATION
    if die_number(d, D_EXTERNAL):
        v.flags |= V_EXTERNAL
    if top_level:
        v.flags |= V_TOP_LEVEL
    if die_number(d, D_ARTIFICIAL):
        v.flags |= V_ARTIFICIAL
    if top_level and die_has(d, D_LOCATION) and is_expression(w, a):
        if first_operation_address(
            LOC_BLOCK,
            w.sections.info.p + a.v,
            a.size,
            cython.address(w.u),
            w.sections,
            cython.address(v.address),
        ):
            v.flags |= V_ADDRESS
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_member(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A member or an inheritance of the struct of frame `f`."""
    d: cython.pointer[Die] = cython.address(w.d)
    m: cython.pointer[Member]
    g: cython.pointer[Frame]
    a: cython.pointer[Attr]
    index: cython.int = f.index
    if not room(
        cython.cast(cython.pp_void, cython.address(w.members)),
        cython.address(w.cap_members),
        w.n_members + 1,
        cython.sizeof(Member),
    ):
        return no_memory(w)
    m = cython.address(w.members[w.n_members])
    w.n_members += 1
    f.index += 1
    memset(m, 0, cython.sizeof(Member))
    m.name = walk_name(w, D_NAME)
    m.ref = reference(w, D_TYPE)
    if d.tag == 0x1C:
        m.flags |= M_INHERITANCE
        if die_number(d, D_VIRTUALITY):
            m.flags |= M_VIRTUAL
    if die_has(d, D_MEMBER_LOCATION):
        a = cython.address(d.a[D_MEMBER_LOCATION])
        m.byte_offset = cython.cast(uint32_t, offset_value(w, a))
    if die_has(d, D_DATA_BIT_OFFSET):
        m.bit_offset = offset_value(w, cython.address(d.a[D_DATA_BIT_OFFSET]))
        m.flags |= M_DATA_BIT_OFFSET
    elif die_has(d, D_MEMBER_LOCATION):
        m.bit_offset = cython.cast(uint64_t, m.byte_offset) * 8
    elif f.type.tag != 0x17 and d.tag == 0x0D:
        m.flags |= M_STATIC
    m.bitfield_size = cython.cast(uint8_t, die_number(d, D_BIT_SIZE))
    m.storage = cython.cast(uint32_t, die_number(d, D_BYTE_SIZE))
    m.legacy_bit_offset = cython.cast(cython.schar, die_number(d, D_BIT_OFFSET))
    if d.children or die_has(d, D_ANNOTATION):
        g = open_frame(w, IN_MEMBER, 0)
        if g == cython.NULL:
            return FAILED
        g.index = index
        return opened(w, g)
    return DONE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def offset_value(w: cython.pointer[Walker], a: cython.pointer[Attr]) -> uint64_t:
    """A member offset: a constant, or an expression of one DW_OP_plus_uconst or DW_OP_constu."""
    c: Cursor
    code: uint64_t
    value: uint64_t
    if a.cls == A_CONST:
        return a.v
    if a.cls == A_BLOCK or a.cls == A_EXPR:
        cur_init(cython.address(c), w.sections.info.p, a.v, a.v + a.size, w.sections.swap)
        code = cur_u8(cython.address(c))
        value = cur_uleb(cython.address(c))
        if not c.bad and c.pos == c.end and (code == 0x23 or code == 0x10):
            return value
    return cython.cast(uint64_t, -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_enumerator(w: cython.pointer[Walker]) -> cython.int:
    e: cython.pointer[Enumerator]
    if not room(
        cython.cast(cython.pp_void, cython.address(w.enumerators)),
        cython.address(w.cap_enumerators),
        w.n_enumerators + 1,
        cython.sizeof(Enumerator),
    ):
        return no_memory(w)
    e = cython.address(w.enumerators[w.n_enumerators])
    w.n_enumerators += 1
    e.name = walk_name(w, D_NAME)
    e.value = die_number(cython.address(w.d), D_CONST_VALUE)
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_dimension(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    d: cython.pointer[Die] = cython.address(w.d)
    n: uint64_t = 0
    if w.n_dims - f.mark >= MAX_DIMS:
        return SKIP
    if die_has(d, D_UPPER_BOUND):
        if d.a[D_UPPER_BOUND].cls == A_CONST:
            n = d.a[D_UPPER_BOUND].v + 1
    elif die_has(d, D_COUNT):
        n = die_number(d, D_COUNT)
    if not room(
        cython.cast(cython.pp_void, cython.address(w.dims)),
        cython.address(w.cap_dims),
        w.n_dims + 1,
        cython.sizeof(uint64_t),
    ):
        return no_memory(w)
    w.dims[w.n_dims] = n
    w.n_dims += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_param(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    d: cython.pointer[Die] = cython.address(w.d)
    p: cython.pointer[Param]
    g: cython.pointer[Frame]
    index: cython.int = f.index
    if not room(
        cython.cast(cython.pp_void, cython.address(w.params)),
        cython.address(w.cap_params),
        w.n_params + 1,
        cython.sizeof(Param),
    ):
        return no_memory(w)
    p = cython.address(w.params[w.n_params])
    w.n_params += 1
    f.index += 1
    memset(p, 0, cython.sizeof(Param))
    p.reg = -1
    p.die = cython.cast(uint32_t, d.offset)
    p.name = walk_name(w, D_NAME)
    p.named = die_has(d, D_NAME)
    p.ref = reference(w, D_TYPE)
    p.has_type = die_has(d, D_TYPE)
    if f.mode == IN_SUBROUTINE:
        return SKIP
    p.origin = reference(w, D_ORIGIN)
    p.has_const = die_has(d, D_CONST_VALUE)
    if die_has(d, D_LOCATION):
        p.has_loc = 1
        p.loc = d.a[D_LOCATION].v
        p.loc_size = d.a[D_LOCATION].size
        p.loc_cls = A_EXPR if is_expression(w, cython.address(d.a[D_LOCATION])) else d.a[D_LOCATION].cls
    if d.children or die_has(d, D_ANNOTATION):
        g = open_frame(w, IN_PARAMETER, 0)
        if g == cython.NULL:
            return FAILED
        g.index = index
        return opened(w, g)
    return DONE


# ---- what a DIE means, by the frame it is met in ------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dispatch(w: cython.pointer[Walker], top_level: cython.bint) -> cython.int:
    """A DIE that is nothing special to the frame it was met in."""
    tag: uint16_t = w.d.tag
    f: cython.pointer[Frame]
    if tag == 0x0F:  # pointer_type
        if w.d.children or die_has(cython.address(w.d), D_ANNOTATION):
            return open_type(w, IN_POINTER, 0)
        return plain_type(w)
    elif tag == 0x13 or tag == 0x17 or tag == 0x02 or tag == 0x38:  # structure, union, class, interface
        return open_type(w, IN_STRUCT, w.n_members)
    elif tag == 0x16:  # typedef
        if w.d.children:
            return open_type(w, IN_TYPEDEF, 0)
        return plain_type(w)
    elif tag == 0x24 or tag == 0x26 or tag == 0x35 or tag == 0x37:  # base, const, volatile, restrict
        return plain_type(w)
    elif tag == 0x01:
        return open_type(w, IN_ARRAY, w.n_dims)
    elif tag == 0x04:
        return open_type(w, IN_ENUM, w.n_enumerators)
    elif tag == 0x15:
        return open_type(w, IN_SUBROUTINE, w.n_params)
    elif tag == 0x2E:
        return open_function(w)
    elif tag == 0x34:
        return open_variable(w, top_level)
    elif tag == 0x39:  # namespace
        f = open_frame(w, IN_NAMESPACE, 0)
        return FAILED if f == cython.NULL else opened(w, f)
    elif tag == 0x10 or tag == 0x42 or tag == 0x1F or tag == 0x47 or tag == 0x12:
        # references, pointer to member, atomic, string: they have ids, though BTF cannot express them
        return plain_type(w)
    elif tag == 0x3B:  # unspecified_type: void wherever it is referred to
        return SKIP
    elif tag == 0x27 or tag == 0x08 or tag == 0x3A:  # constant, imported declaration and module
        return SKIP
    elif tag == 0x36 or tag == 0x0A or tag == 0x6001:  # dwarf_procedure, label, GNU_annotation
        return SKIP
    elif tag == 0x3D and top_level:  # imported_unit
        return import_unit(w)
    return unsupported(w)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def import_unit(w: cython.pointer[Walker]) -> cython.int:
    """Merge mode: the children of an imported partial unit are read here, the first time it is imported."""
    target: uint64_t = 0
    low: uint32_t = 0
    high: uint32_t = w.n_headers
    middle: uint32_t
    f: cython.pointer[Frame]
    if not w.n_headers or not die_has(cython.address(w.d), D_IMPORT):
        return SKIP
    if w.d.a[D_IMPORT].cls == A_REF or w.d.a[D_IMPORT].cls == A_REF_ADDR:
        target = w.d.a[D_IMPORT].v
    while low < high:
        middle = (low + high) // 2
        if w.headers[middle].first_die < target:
            low = middle + 1
        else:
            high = middle
    if low == w.n_headers or w.headers[low].first_die != target or w.imported[low]:
        return SKIP
    if not room(
        cython.cast(cython.pp_void, cython.address(w.imports)),
        cython.address(w.cap_imports),
        w.n_imports + 1,
        cython.sizeof(Import),
    ):
        return no_memory(w)
    w.imports[w.n_imports].reader = w.r
    w.imports[w.n_imports].abbrev = w.table.offset
    w.imports[w.n_imports].bases = w.u.n_bases - 1
    w.n_imports += 1
    if unit_open(w, cython.address(w.headers[low]), False):
        return FAILED
    if w.d.tag != 0x3C or not w.d.children:
        return DONE if leave_import(w) == 0 else FAILED
    w.imported[low] = 1
    f = open_frame(w, IN_UNIT, 0)
    if f == cython.NULL:
        return FAILED
    f.index = 1
    return OPENED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_import(w: cython.pointer[Walker]) -> cython.int:
    """Back to the unit that imported. Nonzero: fault."""
    i: cython.pointer[Import]
    u: cython.pointer[Unit] = cython.address(w.u)
    w.n_imports -= 1
    i = cython.address(w.imports[w.n_imports])
    w.r = i.reader
    w.d.children = 0
    # Functions point at the bases of their unit by number, and the importing unit's have to be the last.
    if not room(
        cython.cast(cython.pp_void, cython.address(u.bases)),
        cython.address(u.cap_bases),
        u.n_bases + 1,
        cython.sizeof(Bases),
    ):
        return no_memory(w)
    u.bases[u.n_bases] = u.bases[i.bases]
    u.n_bases += 1
    unit_bases(u, u.n_bases - 1)
    return abbrevs_read(
        cython.address(w.table),
        w.sections.abbrev,
        i.abbrev,
        i.reader.address_size,
        i.reader.offset_size,
        i.reader.version,
        cython.address(w.fault),
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unsupported(w: cython.pointer[Walker]) -> cython.int:
    w.skipped_tags += 1
    w.skipped_tag = w.d.tag
    return SKIP


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_template(tag: uint16_t) -> cython.bint:
    return tag == 0x2F or tag == 0x30 or 0x4106 <= tag <= 0x4108


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    tag: uint16_t = w.d.tag
    if tag == 0x0D or tag == 0x1C:
        return add_member(w, f)
    if tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, -1)
    if tag == 0x21 or tag == 0x33 or is_template(tag):  # subrange, variant part
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_function(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A child of a function or of a block in it."""
    tag: uint16_t = w.d.tag
    g: cython.pointer[Frame]
    if tag == 0x05:
        return add_param(w, f) if f.mode == IN_FUNCTION else SKIP
    elif tag == 0x34:
        return open_variable(w, False)
    elif tag == 0x0B:  # lexical_block
        g = open_frame(w, IN_BLOCK, 0)
        return FAILED if g == cython.NULL else opened(w, g)
    elif tag == 0x1D or tag == 0x48 or tag == 0x4109:  # inlined_subroutine, call_site
        return SKIP
    elif tag == 0x18:  # unspecified_parameters
        if f.mode == IN_FUNCTION:
            f.func.flags |= F_VARIADIC
        return SKIP
    elif tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, -1)
    elif is_template(tag):
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_pointer(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """btf_type_tag children: each becomes a slot in front of the pointer, referring to the one before it."""
    t: Type
    value: uint32_t
    if (w.d.tag != 0x6000 and w.d.tag != 0x6001) or not w.want_type_tags or not named(w, b"btf_type_tag", 12):
        return SKIP
    value = walk_name(w, D_CONST_VALUE)
    memset(cython.address(t), 0, cython.sizeof(Type))
    t.tag = TAG_TYPE_TAG
    t.name = value
    t.ref = f.type.ref
    t.flags = f.type.flags & T_REF_LOCAL
    if add_type(w, cython.address(t)):
        return FAILED
    f.type.ref = w.u.n_types - 1
    f.type.flags |= T_REF_LOCAL
    f.index += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def named(w: cython.pointer[Walker], name: cython.p_const_char, length: cython.size_t) -> cython.bint:
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    if die_string(
        cython.address(w.r),
        cython.address(w.d),
        D_NAME,
        cython.address(text),
        cython.address(size),
        cython.address(transient),
    ):
        return False
    return size == length and memcmp(text, name, length) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def child(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """The DIE just read, a child of frame `f`. May move `w.frames`."""
    mode: uint8_t = f.mode
    tag: uint16_t = w.d.tag
    if mode == IN_STRUCT:
        return in_struct(w, f)
    elif mode == IN_FUNCTION or mode == IN_BLOCK:
        return in_function(w, f)
    elif mode == IN_ENUM:
        if tag == 0x28:
            return add_enumerator(w)
        return open_function(w) if tag == 0x2E else unsupported(w)
    elif mode == IN_ARRAY:
        return add_dimension(w, f) if tag == 0x21 else SKIP
    elif mode == IN_SUBROUTINE:
        if tag == 0x05:
            return add_param(w, f)
        if tag == 0x18:
            f.type.flags |= T_VARIADIC
            return SKIP
        return SKIP if tag == 0x21 else dispatch(w, False)
    elif mode == IN_UNIT:
        return dispatch(w, True)
    elif mode == IN_NAMESPACE:
        return dispatch(w, False)
    elif mode == IN_POINTER:
        return in_pointer(w, f)
    # typedef, variable, parameter, member: annotations only
    if tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, f.index if mode == IN_MEMBER or mode == IN_PARAMETER else -1)
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_children(w: cython.pointer[Walker]) -> cython.int:
    """Reads the children of the unit DIE, which has just been read. Nonzero: fault in `w.fault`."""
    d: cython.pointer[Die] = cython.address(w.d)
    next_: cython.int
    w.n_frames = w.n_members = w.n_enumerators = w.n_params = w.n_anns = w.n_dims = 0
    if not d.children:
        return 0
    if open_frame(w, IN_UNIT, 0) == cython.NULL:
        return 1
    while w.n_frames:
        if w.r.c.pos == w.r.c.end and w.frames[w.n_frames - 1].mode == IN_UNIT:
            # the unit's own final null entry may be missing
            if close(w, cython.address(w.frames[w.n_frames - 1])):
                return 1
            continue
        if die_read(cython.address(w.r), d):
            return 1
        if d.tag == 0:
            if close(w, cython.address(w.frames[w.n_frames - 1])):
                return 1
            continue
        next_ = child(w, cython.address(w.frames[w.n_frames - 1]))
        if next_ == SKIP and d.children:
            if die_skip_children(cython.address(w.r), d):
                return 1
        if next_ == FAILED or w.fault.code:
            return 1
    return 0


# ---- a unit, from header to tables --------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_init(
    w: cython.pointer[Walker], strings: cython.pointer[Strings], sections: cython.pointer[cython.const[DebugSections]]
) -> cython.int:
    """Prepares a zeroed walker. Nonzero: no memory."""
    w.strings = strings
    w.sections = sections
    w.r.sections = sections
    w.r.table = cython.address(w.table)
    w.r.fault = cython.address(w.fault)
    w.string_cache = cython.cast(
        cython.pointer[uint64_t], calloc(cython.cast(cython.size_t, 1) << CACHE_BITS, cython.sizeof(uint64_t))
    )
    return w.string_cache == cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_free(w: cython.pointer[Walker]) -> cython.void:
    free(w.string_cache)
    free(w.frames)
    free(w.members)
    free(w.enumerators)
    free(w.params)
    free(w.anns)
    free(w.dims)
    free(w.imports)
    free(w.imported)
    free(w.u.bases)
    free(w.u.types)
    free(w.u.members)
    free(w.u.enumerators)
    free(w.u.params)
    free(w.u.functions)
    free(w.u.variables)
    free(w.u.anns)
    free(w.u.type_at.slots)
    free(w.u.function_at.slots)
    free(w.u.variable_at.slots)
    abbrevs_free(cython.address(w.table))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walker_reset(w: cython.pointer[Walker]) -> cython.int:
    """Empties the tables for the next logical unit; slot 0 of the types is void. Nonzero: no memory."""
    u: cython.pointer[Unit] = cython.address(w.u)
    u.n_types = u.n_members = u.n_enumerators = u.n_params = 0
    u.n_functions = u.n_variables = u.n_anns = u.n_bases = 0
    w.n_imports = 0
    w.skipped_tags = 0
    w.fault.code = 0
    if not room(
        cython.cast(cython.pp_void, cython.address(u.types)), cython.address(u.cap_types), 1, cython.sizeof(Type)
    ):
        return no_memory(w)
    memset(u.types, 0, cython.sizeof(Type))
    u.n_types = 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_open(w: cython.pointer[Walker], h: cython.pointer[UnitHeader], first: cython.bint) -> cython.int:
    """Reads the root DIE of the unit with header `h`.

    `first`: the facts of this unit become those of the logical unit (in merge mode only the first one's do).
    Nonzero: fault.
    """
    u: cython.pointer[Unit] = cython.address(w.u)
    d: cython.pointer[Die] = cython.address(w.d)
    r: cython.pointer[Reader] = cython.address(w.r)
    b: cython.pointer[Bases]
    text: cython.p_const_char
    size: cython.size_t
    transient: cython.bint
    # Version 5 tables start behind their header, where the base attribute is missing.
    default_base: uint64_t = 0 if h.version < 5 else (8 if h.offset_size == 4 else 16)
    if abbrevs_read(
        cython.address(w.table),
        w.sections.abbrev,
        h.abbrev,
        h.address_size,
        h.offset_size,
        h.version,
        cython.address(w.fault),
    ):
        return 1
    cur_init(cython.address(r.c), w.sections.info.p, h.first_die, h.end, w.sections.swap)
    r.unit = h.offset
    r.end = h.end
    r.address_size = h.address_size
    r.offset_size = h.offset_size
    r.version = h.version
    if h.first_die >= h.end:
        d.tag = 0
        d.children = 0
        d.seen = 0
        d.offset = h.first_die
        return 0
    if die_read(r, d):
        return 1
    r.str_offsets_base = d.a[D_STR_OFFSETS_BASE].v if die_has(d, D_STR_OFFSETS_BASE) else default_base
    if not room(
        cython.cast(cython.pp_void, cython.address(u.bases)),
        cython.address(u.cap_bases),
        u.n_bases + 1,
        cython.sizeof(Bases),
    ):
        return no_memory(w)
    b = cython.address(u.bases[u.n_bases])
    u.n_bases += 1
    b.str_offsets = r.str_offsets_base
    b.addr = d.a[D_ADDR_BASE].v if die_has(d, D_ADDR_BASE) else default_base
    b.loclists = d.a[D_LOCLISTS_BASE].v if die_has(d, D_LOCLISTS_BASE) else 0
    b.rnglists = d.a[D_RNGLISTS_BASE].v if die_has(d, D_RNGLISTS_BASE) else 0
    b.offset_size = h.offset_size
    b.version = h.version
    unit_bases(u, u.n_bases - 1)
    if not first:
        return 0
    u.offset = h.offset
    u.end = h.end
    u.address_size = h.address_size
    u.language = cython.cast(uint32_t, die_number(d, D_LANGUAGE))
    u.name = walk_name(w, D_NAME)
    u.low_pc = die_number(d, D_LOW_PC)
    u.is_clang = False
    if die_string(r, d, D_PRODUCER, cython.address(text), cython.address(size), cython.address(transient)):
        return 1
    u.is_clang = size >= 5 and memmem(text, size, cython.cast(cython.p_const_char, b"clang"), 5) != cython.NULL
    return w.fault.code != 0
