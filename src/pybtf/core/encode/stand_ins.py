"""What replaces types that BTF cannot express, with `degrade`.

The type itself is changed, to one that can be translated. Its size stays, so that the layout of everything that
contains it is right; so does its name, where the new kind may have that name.

| what | what stands for it |
|---|---|
| references of C++ | a pointer |
| `_Atomic`; a typedef or type tag without a name | `volatile`, which changes neither size nor layout |
| pointers to members, strings, numbers and enumerations of odd sorts | a struct without members |
| members and enumerators that have no place in a record | the type without these |
| more members, enumerators or parameters than can be counted | the type without any |
| members, parameters, elements, results of no size: `nullptr_t`, declared structs | a nameless struct of size 0 |
| results that are void by another name | void |
| arrays of 4 GiB or more | arrays without elements |
| bitfields that are not numbers, static members, members before the previous one | the type without these |

References become plain pointers and not tagged ones: the verifier of a kernel knows some type tags and gives them a
meaning of its own, and kernels before 5.17 refuse the kind.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.limits import MAX_BITFIELD_OFFSET, fits_enum
from cython.cimports.pybtf.core.functions.variables import variable_size
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.losses import lose, lose_at
from cython.cimports.pybtf.core.support.memory import grow


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reaches_out(
    u: cython.pointer[Unit], t: cython.pointer[Type], m: cython.pointer[cython.const[Member]]
) -> cython.bint:
    """Whether a member ends past the type: data after the end (Rust), or a number that is larger in BTF."""
    size: uint64_t = 8 * cython.cast(uint64_t, t.size)
    bits: uint64_t = m.bitfield_size
    if bits == 0:
        bits = variable_size(u, m.ref)
        bits = size + 1 if bits > t.size else 8 * bits
    return m.bit_offset > size or bits > size - m.bit_offset


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_float(encoding: uint8_t) -> cython.bint:
    return encoding == DW_ATE_float or encoding == DW_ATE_complex_float or encoding == DW_ATE_imaginary_float


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unfit(u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type]) -> cython.bint:
    """See `stand_ins.pxd`."""
    i: uint32_t
    if t.tag == DW_TAG_base_type:
        if t.encoding == DW_ATE_float or not odd_size(base_size(t)):
            return False
        return fault_set(cython.address(v.fault), FAULT_INT_SIZE, IN_INFO, t.die, t.die, base_size(t))
    if not is_structure(t.tag) or t.flags & T_DECLARATION:
        return False
    for i in range(t.first, t.first + t.count):
        if not u.members[i].flags & M_INHERITANCE and reaches_out(u, t, cython.address(u.members[i])):
            return fault_set(cython.address(v.fault), FAULT_MEMBER_END, IN_INFO, t.die, t.die, t.size)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def opaque(t: cython.pointer[Type], name: uint32_t, size: uint32_t) -> cython.void:
    """A struct of which only the size is known."""
    t.tag = DW_TAG_structure_type
    t.name = name
    t.size = size
    t.count = 0
    t.flags &= cython.cast(uint8_t, ~(T_DECLARATION | T_BITS | T_VARIADIC))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def other_tag(u: cython.pointer[Unit], t: cython.pointer[Type]) -> cython.bint:
    """For a type of a sort that BTF does not have."""
    target: uint32_t
    if t.tag == DW_TAG_reference_type or t.tag == DW_TAG_rvalue_reference_type:
        t.tag = DW_TAG_pointer_type
    elif t.tag == DW_TAG_atomic_type:
        t.tag = DW_TAG_volatile_type
    elif t.tag == DW_TAG_ptr_to_member_type:
        target = strip_type(u, t.ref)
        if t.size == 0:  # to a function: its address, and what is added to `this`
            t.size = u.address_size * (2 if u.types[target].tag == DW_TAG_subroutine_type else 1)
        opaque(t, 0, t.size)
    elif t.tag == DW_TAG_string_type:
        opaque(t, t.name, t.size)
    elif t.tag == DW_TAG_interface_type:
        t.tag = DW_TAG_structure_type
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def without_name(u: cython.pointer[Unit], t: cython.pointer[Type]) -> cython.bint:
    """For a type, or an enumerator of it, that lacks the name it must have."""
    if t.tag == DW_TAG_enumeration_type:
        drop_enumerators(u, t)
    elif t.tag == DW_TAG_typedef or t.tag == TAG_TYPE_TAG:
        t.tag = DW_TAG_volatile_type
    elif t.tag == DW_TAG_base_type or t.flags & T_DECLARATION:
        opaque(t, 0, t.size if t.tag == DW_TAG_base_type else 0)
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stays(
    u: cython.pointer[Unit], t: cython.pointer[Type], m: cython.pointer[cython.const[Member]]
) -> cython.bint:
    """Whether a record has room for the place of a member."""
    if (m.bitfield_size and m.bit_offset > MAX_BITFIELD_OFFSET) or (m.bitfield_size == 0 and m.bit_offset & 7):
        return False
    return not reaches_out(u, t, m)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_members(u: cython.pointer[Unit], t: cython.pointer[Type]) -> cython.void:
    """Takes away the members that a record has no room for the place of."""
    i: uint32_t
    n: uint32_t = t.first
    m: cython.pointer[Member]
    for i in range(t.first, t.first + t.count):
        m = cython.address(u.members[i])
        if not m.flags & M_INHERITANCE:
            if t.tag == DW_TAG_union_type and m.bit_offset:
                continue
            if not stays(u, t, m):
                continue
        u.members[n] = m[0]
        n += 1
    t.count = n - t.first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_enumerators(u: cython.pointer[Unit], t: cython.pointer[Type]) -> cython.void:
    """Takes away the enumerators without a name, and those whose value is none of 32 bits where it has to be."""
    i: uint32_t
    n: uint32_t = t.first
    value: int64_t
    for i in range(t.first, t.first + t.count):
        value = cython.cast(int64_t, u.enumerators[i].value)
        if u.enumerators[i].name and (t.size > 4 or fits_enum(value)):
            u.enumerators[n] = u.enumerators[i]
            n += 1
    t.count = n - t.first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def too_many(t: cython.pointer[Type]) -> cython.bint:
    if t.tag == DW_TAG_subroutine_type:
        t.count = 0
        t.flags &= cython.cast(uint8_t, ~T_VARIADIC)
    elif t.tag == DW_TAG_enumeration_type:
        opaque(t, t.name, t.size)
    else:
        t.count = 0
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stand_in(u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type]) -> cython.bint:
    """See `stand_ins.pxd`."""
    lost: Fault = v.fault
    code: cython.int = lost.code
    done: cython.bint = True
    if code == FAULT_UNSUPPORTED_TAG:
        done = other_tag(u, t)
    elif code == FAULT_NO_NAME:
        done = without_name(u, t)
    elif code == FAULT_FLOAT_COMPLEX or code == FAULT_FLOAT_SIZE or code == FAULT_INT_SIZE:
        opaque(t, 0, t.size)  # names of numbers have spaces, those of structs must not
    elif code == FAULT_ENUM_SIZE:
        opaque(t, t.name, t.size)
    elif (
        code == FAULT_MEMBER_OFFSET
        or code == FAULT_BITFIELD_OFFSET
        or code == FAULT_UNION_OFFSET
        or code == FAULT_MEMBER_END
    ):
        drop_members(u, t)
    elif code == FAULT_ENUM_VALUE:
        drop_enumerators(u, t)
    elif code == FAULT_TOO_MANY:
        done = too_many(t)
    else:
        done = False
    if not done or not lose(cython.address(v.losses), cython.address(lost), False):
        return False
    v.fault.code = FAULT_NONE
    return True


# ---- parts of types and functions ---------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill(
    u: cython.pointer[Unit], v: cython.pointer[UnitValue], ref: cython.pointer[uint32_t], die: uint32_t
) -> cython.void:
    """What is of no size (void, a function, a struct that is only declared), directly or by another name, is of the
    last type instead, which `fit_parts` has added.
    """
    t: cython.pointer[Type] = cython.address(u.types[strip_type(u, ref[0])])
    if t != u.types and t.tag != DW_TAG_subroutine_type and not (is_structure(t.tag) and t.flags & T_DECLARATION):
        return
    ref[0] = u.n_types - 1
    if not lose_at(cython.address(v.losses), FAULT_NO_SIZE, die, 0):
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_result(
    u: cython.pointer[Unit], v: cython.pointer[UnitValue], ref: cython.pointer[uint32_t], die: uint32_t
) -> cython.void:
    """As `fill`, of what a function returns, which may be void, but not a typedef of that."""
    if ref[0] == 0:
        return
    if strip_type(u, ref[0]):
        fill(u, v, ref, die)
        return
    ref[0] = 0
    if not lose_at(cython.address(v.losses), FAULT_VOID_RESULT, die, 0):
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fit_array(
    u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type], die: uint32_t
) -> cython.void:
    """No kernel takes an array whose size has more than 32 bits (Go); in DWARF, pointers lead to such."""
    most: uint64_t = 0xFFFFFFFF
    fill(u, v, cython.address(t.ref), die)
    if t.count == 0 or t.first == 0 or variable_size(u, t.ref) * t.first <= most:
        return
    t.first = 0
    if not lose_at(cython.address(v.losses), FAULT_ARRAY_SIZE, die, 0):
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_number(u: cython.pointer[Unit], ref: uint32_t) -> cython.bint:
    t: cython.pointer[Type] = cython.address(u.types[strip_type(u, ref)])
    if t.tag == DW_TAG_base_type:
        return t.name != 0 and not odd_size(base_size(t)) and not is_float(t.encoding)
    return t.tag == DW_TAG_enumeration_type and (t.size == 0 or (t.size <= 8 and t.size & (t.size - 1) == 0))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fit_members(u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type]) -> cython.void:
    """Takes away members that kernels do not take, gives a type to those of no size, and notes each. One whose place
    does not fit into a record (`stays`) is dropped later, and does not count for the order. Without memory, a fault is
    left in the value.
    """
    i: uint32_t
    n: uint32_t = t.first
    code: cython.int
    last: uint64_t = 0
    m: cython.pointer[Member]
    for i in range(t.first, t.first + t.count):
        m = cython.address(u.members[i])
        if not m.flags & M_INHERITANCE:
            code = FAULT_NONE
            if m.flags & M_STATIC:
                code = FAULT_STATIC_MEMBER
            elif m.bit_offset < last and t.tag != DW_TAG_union_type:
                code = FAULT_MEMBER_ORDER
            elif m.bitfield_size and not is_number(u, m.ref):
                code = FAULT_BITFIELD_TYPE
            if code:
                if not lose_at(cython.address(v.losses), code, t.die, 0):
                    fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, t.die, t.die, 0)
                continue
            if stays(u, t, m):
                last = m.bit_offset
            fill(u, v, cython.address(m.ref), t.die)
        u.members[n] = m[0]
        n += 1
    t.count = n - t.first
    if t.flags & T_VARIANTS and not lose_at(cython.address(v.losses), FAULT_VARIANTS, t.die, 0):
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, t.die, t.die, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fit_parts(u: cython.pointer[Unit], v: cython.pointer[UnitValue], n_known: uint32_t) -> cython.int:
    """See `stand_ins.pxd`."""
    t: cython.pointer[Type]
    f: cython.pointer[Function]
    i: uint32_t
    k: uint32_t
    die: uint32_t = 0
    had: uint64_t = v.losses.counts[FAULT_NO_SIZE]
    if not grow(u.types, u.cap_types, u.n_types + 1):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
    # Added before anything refers to it: the sizes of members are asked for, and their arrays may be of it already.
    memset(cython.address(u.types[u.n_types]), 0, cython.sizeof(Type))
    u.types[u.n_types].tag = DW_TAG_structure_type
    u.n_types += 1
    for i in range(u.n_types - 2, 0, -1):
        t = cython.address(u.types[i])
        die = t.die if t.die else die  # an inner dimension has none
        if t.tag == DW_TAG_array_type:
            fit_array(u, v, t, die)
        elif is_structure(t.tag):
            if not t.flags & T_DECLARATION:
                fit_members(u, v, t)
        elif t.tag == DW_TAG_subroutine_type:
            for k in range(t.first, t.first + t.count):
                fill(u, v, cython.address(u.type_params[k].ref), die)
            fill_result(u, v, cython.address(t.ref), die)
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if f.name and f.name <= n_known and not f.flags & F_DECLARATION:
            for k in range(f.first, f.first + f.count):
                fill(u, v, cython.address(u.params[k].ref), u.params[k].die)
            fill_result(u, v, cython.address(f.ref), f.die)
    if v.losses.counts[FAULT_NO_SIZE] == had:
        u.n_types -= 1
    return v.fault.code
