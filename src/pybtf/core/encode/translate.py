"""DWARF types to BTF records: one record per small id, in order, with small ids for references.

The records have the layout of the BTF type section in host byte order, but a name is a name word (lazy_names.py): of
base types and tags a string id, of others perhaps an offset, or the text itself. Whatever BTF cannot express is a fault
of the unit, with which the run ends when all units before have been encoded (ring.py); or, where an encoding degrades,
something stands in for it (stand_ins.py).
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.limits import MAX_BITFIELD_OFFSET, MAX_VLEN, fits_enum
from cython.cimports.pybtf.core.btf.record_layout import wire_info
from cython.cimports.pybtf.core.encode.stand_ins import stand_in, unfit
from cython.cimports.pybtf.core.encode.translate import KnownStrings
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.options import OPT_DEGRADE, OPT_ENUM64, OPT_FLOAT
from cython.cimports.pybtf.core.support.memory import u32s_push, u32s_reserve


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fault(v: cython.pointer[UnitValue], t: cython.pointer[Type], code: cython.int, value: int64_t) -> cython.int:
    return fault_set(cython.address(v.fault), code, IN_INFO, t.die, t.die, value)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put(
    v: cython.pointer[UnitValue], name: uint32_t, kind: uint32_t, flag: uint32_t, vlen: uint32_t, third: uint32_t
) -> cython.void:
    """The three common words. Room has been reserved."""
    p: cython.pointer[uint32_t] = v.words.p + v.words.n
    p[0] = name
    p[1] = flag << 31 | wire_info(kind, vlen)
    p[2] = third
    v.words.n += 3


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def word(v: cython.pointer[UnitValue], value: uint32_t) -> cython.void:
    v.words.p[v.words.n] = value
    v.words.n += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def base_type(
    v: cython.pointer[UnitValue],
    t: cython.pointer[Type],
    known: cython.pointer[cython.const[KnownStrings]],
    options: cython.int,
) -> cython.int:
    """An INT, `char` as well (Q12), or a FLOAT."""
    size: uint32_t = base_size(t)
    encoding: uint32_t = 0
    name: uint32_t = t.name
    ate: uint8_t = t.encoding
    if ate == DW_ATE_signed or ate == DW_ATE_signed_char:
        encoding = INT_SIGNED
    elif ate == DW_ATE_boolean:
        encoding = INT_BOOL
    elif options & OPT_FLOAT and (
        ate == DW_ATE_complex_float or ate == DW_ATE_float or ate == DW_ATE_imaginary_float
    ):
        if name == 0:
            return fault(v, t, FAULT_NO_NAME, t.tag)
        if ate != DW_ATE_float:  # Q4
            return fault(v, t, FAULT_FLOAT_COMPLEX, t.tag)
        if size != 2 and size != 4 and size != 8 and size != 12 and size != 16:
            return fault(v, t, FAULT_FLOAT_SIZE, size)
        put(v, name, KIND_FLOAT, 0, 0, size)
        return 0
    if odd_size(size):
        name = known.sanitized
        size = 4
    elif name == 0:
        return fault(v, t, FAULT_NO_NAME, t.tag)
    put(v, name, KIND_INT, 0, 0, size)
    word(v, (encoding << 24) | (size * 8))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def own_members(u: cython.pointer[Unit], t: cython.pointer[Type]) -> uint32_t:
    """How many members a struct has, without the bases it inherits from."""
    i: uint32_t
    n: uint32_t = 0
    for i in range(t.first, t.first + t.count):
        n += not u.members[i].flags & M_INHERITANCE
    return n


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def plain_members(m: cython.pointer[Member], count: uint32_t, p: cython.pointer[uint32_t]) -> cython.void:
    """Members whose places are given in bytes, so that there is nothing to be said against them."""
    end: cython.pointer[Member] = m + count
    while m < end:
        p[0] = m.name
        p[1] = m.ref
        p[2] = cython.cast(uint32_t, m.bit_offset)
        p += 3
        m += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def struct_type(u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type]) -> cython.int:
    """A struct or union, or its declaration. Static members count, with offset 0; bases do not (Q10)."""
    union_: cython.bint = t.tag == DW_TAG_union_type
    kind: uint32_t = KIND_UNION if union_ else KIND_STRUCT
    m: cython.pointer[Member]
    i: uint32_t
    vlen: uint32_t = 0
    flag: uint32_t = 0
    p: cython.pointer[uint32_t]
    if t.flags & T_DECLARATION:
        if t.name == 0:
            return fault(v, t, FAULT_NO_NAME, t.tag)
        put(v, t.name, KIND_FWD, union_, 0, 0)
        return 0
    if not u32s_reserve(cython.address(v.words), 3 + 3 * cython.cast(cython.size_t, t.count)):
        return fault(v, t, FAULT_MEMORY, 0)
    if t.count > MAX_VLEN:
        vlen = own_members(u, t)
        if vlen > MAX_VLEN:
            return fault(v, t, FAULT_TOO_MANY, vlen)
        vlen = 0
    p = v.words.p + v.words.n + 3
    if not union_ and not t.flags & T_BITS:
        plain_members(u.members + t.first, t.count, p)
        put(v, t.name, kind, 0, t.count, t.size)
        v.words.n += 3 * cython.cast(cython.size_t, t.count)
        return 0
    for i in range(t.first, t.first + t.count):
        m = cython.address(u.members[i])
        if m.flags & M_INHERITANCE:
            continue
        if union_ and m.bit_offset:
            return fault(v, t, FAULT_UNION_OFFSET, cython.cast(int64_t, m.bit_offset))
        if m.bitfield_size:
            flag = 1
            if cython.cast(uint32_t, m.bit_offset) > MAX_BITFIELD_OFFSET:  # pahole counts in 32 bits, here as above
                return fault(v, t, FAULT_BITFIELD_OFFSET, cython.cast(int64_t, m.bit_offset))
        elif m.bit_offset & 7:
            return fault(v, t, FAULT_MEMBER_OFFSET, cython.cast(int64_t, m.bit_offset))
        p[0] = m.name
        p[1] = m.ref
        p[2] = (cython.cast(uint32_t, m.bitfield_size) << 24) | cython.cast(uint32_t, m.bit_offset)
        p += 3
        vlen += 1
    put(v, t.name, kind, flag, vlen, t.size)
    v.words.n += 3 * cython.cast(cython.size_t, vlen)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enum_type(
    u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type], options: cython.int
) -> cython.int:
    """An ENUM64 is signed if the type below it is, an ENUM if a value is; without the feature none is, and values are
    cut (Q11).
    """
    size: uint32_t = t.size if t.size else 4
    e: cython.pointer[Enumerator]
    i: uint32_t
    flag: uint32_t = 0
    encoding: uint32_t
    wide: cython.bint = options & OPT_ENUM64 and size > 4
    if size != 1 and size != 2 and size != 4 and size != 8:
        return fault(v, t, FAULT_ENUM_SIZE, size)
    if t.count > MAX_VLEN:
        return fault(v, t, FAULT_TOO_MANY, t.count)
    if not u32s_reserve(cython.address(v.words), 3 + 3 * cython.cast(cython.size_t, t.count)):
        return fault(v, t, FAULT_MEMORY, 0)
    for i in range(t.first, t.first + t.count):
        if u.enumerators[i].name == 0:
            return fault(v, t, FAULT_NO_NAME, DW_TAG_enumerator)
    if wide:
        encoding = u.types[t.ref].encoding
        flag = (t.flags & T_SIGNED) != 0
        if t.ref and (encoding == DW_ATE_signed or encoding == DW_ATE_signed_char):
            flag = 1
        put(v, t.name, KIND_ENUM64, flag, t.count, size)
        for i in range(t.first, t.first + t.count):
            e = cython.address(u.enumerators[i])
            word(v, e.name)
            word(v, cython.cast(uint32_t, e.value))
            word(v, cython.cast(uint32_t, e.value >> 32))
        return 0
    if options & OPT_ENUM64:
        for i in range(t.first, t.first + t.count):
            e = cython.address(u.enumerators[i])
            if not fits_enum(cython.cast(int64_t, e.value)):
                return fault(v, t, FAULT_ENUM_VALUE, cython.cast(int64_t, e.value))
            if cython.cast(int64_t, e.value) < 0:
                flag = 1
    put(v, t.name, KIND_ENUM, flag, t.count, size)
    for i in range(t.first, t.first + t.count):
        word(v, u.enumerators[i].name)
        word(v, cython.cast(uint32_t, u.enumerators[i].value))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prototype(u: cython.pointer[Unit], v: cython.pointer[UnitValue], t: cython.pointer[Type]) -> cython.int:
    """A FUNC_PROTO. If it is variadic, the last parameter has neither name nor type. Nonzero: fault."""
    i: uint32_t
    p: cython.pointer[uint32_t]
    vlen: uint32_t = t.count + (1 if t.flags & T_VARIADIC else 0)
    if vlen > MAX_VLEN:
        return fault(v, t, FAULT_TOO_MANY, vlen)
    if not u32s_reserve(cython.address(v.words), 3 + 2 * cython.cast(cython.size_t, vlen)):
        return fault(v, t, FAULT_MEMORY, 0)
    put(v, 0, KIND_FUNC_PROTO, 0, vlen, t.ref)
    p = v.words.p + v.words.n
    for i in range(t.first, t.first + t.count):
        p[0] = u.type_params[i].name
        p[1] = u.type_params[i].ref
        p += 2
    v.words.n += 2 * cython.cast(cython.size_t, t.count)
    if t.flags & T_VARIADIC:
        word(v, 0)
        word(v, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def translate(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    t: cython.pointer[Type],
    known: cython.pointer[cython.const[KnownStrings]],
    options: cython.int,
) -> cython.int:
    """Appends the record of one type (docs/rules.md, 4.2). The index type of arrays, one for all, is filled in by
    the encoder. Nonzero: fault, most often because BTF cannot express the type, and nothing has been appended.
    """
    tag: uint16_t = t.tag
    if tag == DW_TAG_pointer_type:
        put(v, 0, KIND_PTR, 0, 0, t.ref)
    elif tag == DW_TAG_structure_type or tag == DW_TAG_union_type or tag == DW_TAG_class_type:
        return struct_type(u, v, t)
    elif tag == DW_TAG_subroutine_type:
        return prototype(u, v, t)
    elif tag == DW_TAG_const_type:
        put(v, 0, KIND_CONST, 0, 0, t.ref)
    elif tag == DW_TAG_array_type:
        put(v, 0, KIND_ARRAY, 0, 0, 0)
        word(v, t.ref)
        word(v, 0)
        word(v, t.first)
        v.n_arrays += 1
    elif tag == DW_TAG_typedef:
        if t.name == 0:
            return fault(v, t, FAULT_NO_NAME, tag)
        put(v, t.name, KIND_TYPEDEF, 0, 0, t.ref)
    elif tag == DW_TAG_enumeration_type:
        return enum_type(u, v, t, options)
    elif tag == DW_TAG_base_type:
        return base_type(v, t, known, options)
    elif tag == DW_TAG_volatile_type:
        put(v, 0, KIND_VOLATILE, 0, 0, t.ref)
    elif tag == DW_TAG_restrict_type:
        put(v, 0, KIND_RESTRICT, 0, 0, t.ref)
    elif tag == TAG_TYPE_TAG:
        if t.name == 0:
            return fault(v, t, FAULT_NO_NAME, DW_TAG_LLVM_annotation)
        put(v, t.name, KIND_TYPE_TAG, 0, 0, t.ref)
    else:  # _Atomic, references and the like (Q4)
        return fault(v, t, FAULT_UNSUPPORTED_TAG, tag)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def degraded(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    t: cython.pointer[Type],
    known: cython.pointer[cython.const[KnownStrings]],
    options: cython.int,
) -> cython.int:
    """As `translate`, if need be of something that stands in for the type."""
    tries: cython.int = 3  # what stands in for one fault may have another
    while unfit(u, v, t) or translate(u, v, t, known, options):
        tries -= 1
        if tries < 0 or not stand_in(u, v, t):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_tags(u: cython.pointer[Unit], v: cython.pointer[UnitValue], id: uint32_t) -> cython.int:
    """The declaration tags of one struct, union or typedef; a class has none (Q18). An empty one ends all that follows
    in the unit (Q17).
    """
    t: cython.pointer[Type] = cython.address(u.types[id])
    i: uint32_t
    if t.tag != DW_TAG_structure_type and t.tag != DW_TAG_union_type and t.tag != DW_TAG_typedef:
        return 0
    for i in range(t.anns, t.anns + t.n_anns):
        if u.anns[i].value == 0:
            v.tags_cut = True
            return 0
        if (
            not u32s_push(cython.address(v.tags), u.anns[i].value)
            or not u32s_push(cython.address(v.tags), id)
            or not u32s_push(cython.address(v.tags), cython.cast(uint32_t, u.anns[i].component))
        ):
            return fault(v, t, FAULT_MEMORY, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def all_tags(u: cython.pointer[Unit], v: cython.pointer[UnitValue]) -> cython.int:
    """The declaration tags of all types, up to an empty one."""
    i: uint32_t
    for i in range(1, u.n_types):
        if u.types[i].n_anns and type_tags(u, v, i):
            return 1
        if v.tags_cut:
            break
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def likely_words(u: cython.pointer[cython.const[Unit]]) -> cython.size_t:
    """Words that the records of a unit take, or a little more: what no compiler writes may take others."""
    words: cython.size_t = 4 * cython.cast(cython.size_t, u.n_types)
    words += 3 * cython.cast(cython.size_t, u.n_members)
    words += 2 * (cython.cast(cython.size_t, u.n_enumerators) + u.n_type_params)
    return words + 64


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def translate_types(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    known: cython.pointer[cython.const[KnownStrings]],
    options: cython.int,
) -> cython.int:
    """Fills `words`, `offs`, `int_id`, `n_arrays` and `tags` of the value. Nonzero: fault."""
    i: uint32_t
    t: cython.pointer[Type]
    v.words.n = 0
    v.offs.n = 0
    v.tags.n = 0
    v.int_id = 0
    v.n_arrays = 0
    v.n_types = u.n_types
    if not u32s_reserve(cython.address(v.offs), u.n_types + 1) or not u32s_reserve(
        cython.address(v.words), likely_words(u)
    ):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
    v.offs.p[0] = 0
    for i in range(1, u.n_types):
        t = cython.address(u.types[i])
        v.offs.p[i] = cython.cast(uint32_t, v.words.n)
        # 8 words hold every record but those that reserve for themselves
        if not u32s_reserve(cython.address(v.words), 8):
            return fault(v, t, FAULT_MEMORY, 0)
        if t.tag == DW_TAG_pointer_type:  # as `translate` has it: a third of all types, of which nothing can be wrong
            put(v, 0, KIND_PTR, 0, 0, t.ref)
            continue
        if options & OPT_DEGRADE:
            if degraded(u, v, t, known, options):
                return 1
        elif t.tag == DW_TAG_structure_type:  # another third
            if struct_type(u, v, t):
                return 1
            continue
        elif translate(u, v, t, known, options):
            return 1
        if t.tag == DW_TAG_base_type and v.int_id == 0 and t.name == known.int_:
            v.int_id = i
    v.offs.p[u.n_types] = cython.cast(uint32_t, v.words.n)
    v.offs.n = u.n_types + 1
    return all_tags(u, v) if u.n_anns else 0
