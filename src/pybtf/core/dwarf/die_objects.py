"""From a DIE to an object of the unit: types, functions, variables, and what structs, enums and arrays are made of.

Objects that can have children open a frame (open_objects.py); the others enter their table or stack at once.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.attributes import *
from cython.cimports.pybtf.core.dwarf.die_objects import *
from cython.cimports.pybtf.core.dwarf.die_reader import Attr, Die, Reader, die_has, die_number, die_read
from cython.cimports.pybtf.core.dwarf.expressions import expression_leb
from cython.cimports.pybtf.core.dwarf.forms import *
from cython.cimports.pybtf.core.dwarf.locations import LOC_BLOCK, first_operation_address
from cython.cimports.pybtf.core.dwarf.open_objects import open_frame, opened
from cython.cimports.pybtf.core.dwarf.read_again import read_again
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_INDEX, IN_ADDR, Fault, fault_set
from cython.cimports.pybtf.core.support.cursor import Cursor, cur_init, cur_u8, cur_u16, cur_u32, cur_u64
from cython.cimports.pybtf.core.support.memory import grow


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_type(w: cython.pointer[Walker], t: cython.pointer[Type]) -> cython.void:
    d: cython.pointer[Die] = cython.address(w.d)
    memset(t, 0, cython.sizeof(Type))
    t.die = cython.cast(uint32_t, d.offset)
    t.tag = d.tag
    t.ref = reference(w, D_TYPE)
    # A base type is recognised by its name.
    t.name = walk_name(w, D_NAME) if d.tag == DW_TAG_base_type else walk_name_word(w, D_NAME)
    t.size = cython.cast(uint32_t, die_number(d, D_BYTE_SIZE))
    t.encoding = cython.cast(uint8_t, die_number(d, D_ENCODING))
    t.spec = reference(w, D_SPECIFICATION)
    if die_number(d, D_DECLARATION) & 1:
        t.flags = T_DECLARATION


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_type(w: cython.pointer[Walker], mode: uint8_t, mark: uint32_t) -> cython.int:
    f: cython.pointer[Frame]
    if die_has(cython.address(w.d), D_SIGNATURE) and w.type_units.n and w.d.a[D_SIGNATURE].cls == A_SIG8:
        return open_alias(w)  # one of another form is of no compiler, and says nothing
    f = open_frame(w, mode, mark)
    if f == cython.NULL:
        return FAILED
    fill_type(w, cython.address(f.type))
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_alias(w: cython.pointer[Walker]) -> cython.int:
    """A type that is elsewhere, in a type unit: what is said of it here is only what C++ may nest in it."""
    u: cython.pointer[Unit] = cython.address(w.u)
    f: cython.pointer[Frame]
    target: uint32_t = reference(w, D_SIGNATURE)
    if not grow(u.aliases, u.cap_aliases, u.n_aliases + 1):
        return no_memory(w)
    if target != NO_INDEX:
        u.aliases[u.n_aliases].die = cython.cast(uint32_t, w.d.offset)
        u.aliases[u.n_aliases].target = target
        u.n_aliases += 1
    f = open_frame(w, IN_NAMESPACE, 0)
    return FAILED if f == cython.NULL else opened(w, f)


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
    """Any subprogram, declared or defined, with what its own DIE says; what it has from an origin or a specification
    comes later (resolve.py). What the loop does next; a fault is left in the walker.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    f: cython.pointer[Frame] = open_frame(w, IN_FUNCTION, w.n_params)
    func: cython.pointer[Function]
    if f == cython.NULL:
        return FAILED
    func = cython.address(f.func)
    memset(func, 0, cython.sizeof(Function))
    func.die = cython.cast(uint32_t, d.offset)
    func.bases = w.u.n_bases - 1
    func.name = walk_name_word(w, D_NAME)
    if func.name == 0 and die_has(d, D_NAME):
        func.flags |= F_EMPTY_NAME
    func.ref = reference(w, D_TYPE)
    func.origin = reference(w, D_ORIGIN)
    func.spec = reference(w, D_SPECIFICATION)
    if die_has(d, D_LOW_PC):  # one that has only ranges is at 0 (Q7)
        func.address = low_pc(w)
    if die_has(d, D_DECLARATION):
        func.flags |= F_DECLARATION
    if die_has(d, D_ORIGIN):
        func.flags |= F_HAS_ORIGIN
    if die_number(d, D_INLINE):
        func.flags |= F_INLINE
    if die_number(d, D_CALLING_CONVENTION) == DW_CC_nocall:
        func.flags |= F_NOCALL
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def low_pc(w: cython.pointer[Walker]) -> uint64_t:
    """DW_AT_low_pc, an address or an index into .debug_addr; 0 for other forms. A fault is left in the walker."""
    a: cython.pointer[Attr] = cython.address(w.d.a[D_LOW_PC])
    at: uint64_t
    c: Cursor
    if a.cls == A_ADDR:
        return a.v
    if a.cls != A_ADDRX:
        return 0
    at = w.u.addr_base
    if at > w.sections.addr.n or a.v >= (w.sections.addr.n - at) // w.r.address_size:
        fault_set(cython.address(w.fault), FAULT_INDEX, IN_ADDR, at, w.d.offset, cython.cast(int64_t, a.v))
        return 0
    at += a.v * w.r.address_size
    cur_init(cython.address(c), w.sections.addr.p, at, w.sections.addr.n, w.sections.swap)
    if w.r.address_size == 2:
        return cur_u16(cython.address(c))
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
    """`top_level`: directly in a unit. Only such a variable is written, and only its address is read, if its location
    begins with one (docs/rules.md, 6.2). What the loop does next; a fault is left in the walker.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    a: cython.pointer[Attr] = cython.address(d.a[D_LOCATION])
    f: cython.pointer[Frame]
    v: cython.pointer[Variable]
    found: cython.int
    # Local variables are never written and matter only as what a definition elsewhere specifies.
    if not top_level and die_has(d, D_LOCATION):
        return SKIP
    f = open_frame(w, IN_VARIABLE, 0)
    if f == cython.NULL:
        return FAILED
    v = cython.address(f.var)
    memset(v, 0, cython.sizeof(Variable))
    v.die = cython.cast(uint32_t, d.offset)
    v.name = walk_name_word(w, D_NAME)
    v.ref = reference(w, D_TYPE)
    v.spec = reference(w, D_SPECIFICATION)
    if die_has(d, D_DECLARATION):
        v.flags |= V_DECLARATION
    if die_has(d, D_EXTERNAL):
        v.flags |= V_EXTERNAL
    if top_level:
        v.flags |= V_TOP_LEVEL
    if die_has(d, D_ARTIFICIAL):
        v.flags |= V_ARTIFICIAL
    if top_level and die_has(d, D_LOCATION) and is_expression(w, a):
        found = first_operation_address(
            LOC_BLOCK,
            w.sections.info.p + a.v,
            a.size,
            cython.address(w.u),
            w.sections,
            cython.address(v.address),
        )
        if found < 0:
            fault_set(
                cython.address(w.fault),
                FAULT_INDEX,
                IN_ADDR,
                w.u.addr_base,
                d.offset,
                cython.cast(int64_t, v.address),
            )
        elif found:
            v.flags |= V_ADDRESS
    return opened(w, f)


# ---- components of objects ----------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def open_component(w: cython.pointer[Walker], mode: uint8_t, index: cython.int) -> cython.int:
    """Opens a frame for the annotations of a member or parameter, the one of this index, if it may have any."""
    f: cython.pointer[Frame]
    if not w.d.children and not die_has(cython.address(w.d), D_ANNOTATION):
        return DONE
    f = open_frame(w, mode, 0)
    if f == cython.NULL:
        return FAILED
    f.index = index
    return opened(w, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_member(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A member or an inheritance of the struct of frame `f`. Tags of members count both, though only members are
    written; static ones, too (Q10).
    """
    d: cython.pointer[Die] = cython.address(w.d)
    m: cython.pointer[Member]
    a: cython.pointer[Attr]
    if not grow(w.members, w.cap_members, w.n_members + 1):
        return no_memory(w)
    m = cython.address(w.members[w.n_members])
    w.n_members += 1
    f.index += 1
    memset(m, 0, cython.sizeof(Member))
    m.name = walk_name_word(w, D_NAME)
    m.ref = reference(w, D_TYPE)
    if d.tag == DW_TAG_inheritance:
        m.flags |= M_INHERITANCE
        f.type.flags |= T_BITS
        if die_number(d, D_VIRTUALITY):
            m.flags |= M_VIRTUAL
    if die_has(d, D_MEMBER_LOCATION):
        a = cython.address(d.a[D_MEMBER_LOCATION])
        m.byte_offset = cython.cast(uint32_t, offset_value(w, a)) if is_offset(a) else 0
    if die_has(d, D_DATA_BIT_OFFSET):
        a = cython.address(d.a[D_DATA_BIT_OFFSET])
        m.bit_offset = offset_value(w, a) if is_offset(a) else 0
        m.flags |= M_DATA_BIT_OFFSET
    elif die_has(d, D_MEMBER_LOCATION):
        m.bit_offset = cython.cast(uint64_t, m.byte_offset) * 8
    elif f.type.tag != DW_TAG_union_type:
        m.flags |= M_STATIC
    m.bitfield_size = cython.cast(uint8_t, die_number(d, D_BIT_SIZE))
    if m.bitfield_size or m.flags & M_DATA_BIT_OFFSET:
        f.type.flags |= T_BITS
    m.storage = cython.cast(uint32_t, die_number(d, D_BYTE_SIZE))
    m.legacy_bit_offset = cython.cast(cython.schar, die_number(d, D_BIT_OFFSET))
    return open_component(w, IN_MEMBER, f.index - 1)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_offset(a: cython.pointer[Attr]) -> cython.bint:
    """Whether it has a form in which a member's offset may be."""
    return a.cls == A_CONST or a.cls == A_LIST_OR_CONST or a.cls == A_BLOCK or a.cls == A_EXPR or a.cls == A_DATA16


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def offset_value(w: cython.pointer[Walker], a: cython.pointer[Attr]) -> uint64_t:
    """A member offset: a constant, or an expression that begins with DW_OP_plus_uconst or DW_OP_constu. The rest of it
    is not looked at, nor where it ends, even if it is empty.
    """
    c: Cursor
    code: cython.int
    if a.cls == A_CONST:
        return a.v
    if a.cls == A_LIST_OR_CONST:
        return a.v if a.v < w.sections.loc.n else 0
    if a.cls == A_BLOCK or a.cls == A_EXPR or a.cls == A_DATA16:  # 16 bytes count as a block
        cur_init(cython.address(c), w.sections.info.p, a.v, w.sections.info.n, w.sections.swap)
        code = cur_u8(cython.address(c))
        if code == DW_OP_plus_uconst or code == DW_OP_constu:
            return expression_leb(cython.address(c))
    return cython.cast(uint64_t, -1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_enumerator(w: cython.pointer[Walker]) -> cython.int:
    e: cython.pointer[Enumerator]
    if not grow(w.enumerators, w.cap_enumerators, w.n_enumerators + 1):
        return no_memory(w)
    e = cython.address(w.enumerators[w.n_enumerators])
    w.n_enumerators += 1
    e.name = walk_name_word(w, D_NAME)
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
        if d.a[D_COUNT].cls == A_CONST:
            n = d.a[D_COUNT].v
    if not grow(w.dims, w.cap_dims, w.n_dims + 1):
        return no_memory(w)
    w.dims[w.n_dims] = n
    w.n_dims += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_from_origin(w: cython.pointer[Walker], p: cython.pointer[Param]) -> cython.int:
    """A parameter of a prototype has the name of its origin, but not the type, which is not known yet. What is damaged
    there is no fault, too much reading is. Nonzero: fault.
    """
    status: cython.int = 0
    at: uint32_t = reference(w, D_ORIGIN)
    reader: Reader = w.r
    die: Die = w.d
    fault: Fault = w.fault
    if w.r.unit <= at < w.r.end:
        w.r.passing = True
        cur_init(cython.address(w.r.c), w.sections.info.p, at, w.r.end, w.sections.swap)
        if die_read(cython.address(w.r), cython.address(w.d)) == 0 and w.d.tag == DW_TAG_formal_parameter:
            p.name = walk_name(w, D_NAME) if w.want_parameter_names else walk_name_word(w, D_NAME)
        w.fault = fault
        status = read_again(w, at, cython.address(w.fault))
        w.r = reader
        w.d = die
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_param(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A parameter of the function or prototype of frame `f`, onto the stack. Of a prototype's, only name and type
    count. A function's location is only noted here: it is read when it is known whether the function can be written
    (resolve.py).
    """
    d: cython.pointer[Die] = cython.address(w.d)
    p: cython.pointer[Param]
    if not grow(w.params, w.cap_params, w.n_params + 1):
        return no_memory(w)
    p = cython.address(w.params[w.n_params])
    w.n_params += 1
    f.index += 1
    memset(p, 0, cython.sizeof(Param))
    p.reg = -1
    p.die = cython.cast(uint32_t, d.offset)
    # Names of parameters decide something only where true signatures are wanted.
    p.name = walk_name(w, D_NAME) if w.want_parameter_names else walk_name_word(w, D_NAME)
    p.named = die_has(d, D_NAME)
    p.ref = reference(w, D_TYPE)
    p.has_type = die_has(d, D_TYPE)
    if f.mode == IN_SUBROUTINE:
        if die_has(d, D_ORIGIN) and not p.has_type and name_from_origin(w, p):
            return FAILED
        return SKIP
    p.origin = reference(w, D_ORIGIN)
    p.has_const = die_has(d, D_CONST_VALUE)
    if die_has(d, D_LOCATION):
        p.has_loc = 1
        p.loc = d.a[D_LOCATION].v
        p.loc_size = d.a[D_LOCATION].size
        p.loc_cls = A_EXPR if is_expression(w, cython.address(d.a[D_LOCATION])) else d.a[D_LOCATION].cls
    return open_component(w, IN_PARAMETER, f.index - 1)
