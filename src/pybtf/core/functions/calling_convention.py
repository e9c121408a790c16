"""Calling conventions: does the code of a function still take the parameters its source declares?

A compiler that knows all callers may change a function: drop a parameter, pass a member instead of a struct,
use another register. A tracer that reads the arguments where the calling convention puts them would then read
nonsense, so such functions must be recognised from what DWARF says about their parameters: the register each
one has at entry (`locations.py`) is compared with the register the convention gives it.

Two variants exist. Clang marks functions whose signature changed (DW_CC_nocall); for the others only
registers that contradict the convention count. GCC gives no mark, so every parameter is accounted for; the
clone suffix of the symbol (`function_merge.py`) later tells whether an optimised parameter matters. Floating-point
parameters are counted like integers: that is pahole's behaviour, on which the output depends (Q35).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.functions.calling_convention import (
    Machine,
    ctz64,
)
from cython.cimports.pybtf.core.functions.packed_structs import (
    infer_packed,
)
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_OPTIMIZED,
    F_SIGNATURE_CHANGED,
    F_UNEXPECTED,
    LONGEST_TYPE_CHAIN,
    M_DATA_BIT_OFFSET,
    M_INHERITANCE,
    M_STATIC,
    Function,
    Member,
    Param,
    Type,
    Unit,
    is_structure,
    may_step,
)
from cython.cimports.pybtf.core.support.memory import U32s

# ---------------------------------------------------------------- machines


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def known_registers(m: cython.pointer[Machine], count: cython.int, first: cython.int) -> cython.void:
    i: cython.int
    m.R = count
    m.known = True
    for i in range(count):
        m.regs[i] = first + i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def machine_init(m: cython.pointer[Machine], e_machine: cython.int) -> cython.void:
    """The parameter registers of an ELF machine; none at all for machines that are not listed."""
    m.R = 0
    m.known = False
    m.is_s390 = e_machine == EM_S390
    if e_machine == EM_X86_64:
        m.R = 6
        m.known = True
        m.regs[0], m.regs[1], m.regs[2] = 5, 4, 1
        m.regs[3], m.regs[4], m.regs[5] = 2, 8, 9
    elif e_machine == EM_AARCH64 or e_machine == EM_ARM:
        known_registers(m, 8, 0)
    elif e_machine == EM_S390:
        known_registers(m, 5, 2)
    elif (
        e_machine == EM_RISCV
        or e_machine == EM_PPC
        or e_machine == EM_PPC64
        or e_machine == EM_MIPS
        or e_machine == EM_ARC
    ):
        m.R = 8
    elif e_machine == EM_SPARC or e_machine == EM_SPARCV9:
        m.R = 6


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expects(m: cython.pointer[cython.const[Machine]], r: cython.int, reg: cython.int) -> cython.bint:
    """Whether parameter register `r` exists and is known to be `reg`."""
    return r < m.R and m.known and m.regs[r] == reg


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slots_of(
    p: cython.pointer[cython.const[Param]], m: cython.pointer[cython.const[Machine]], word: cython.int
) -> cython.int:
    """Registers the parameter takes."""
    if p.size <= word or word <= 0 or m.is_s390:
        return 1
    return (p.size + word - 1) // word


# ---------------------------------------------------------------- parameters against registers


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse_plain_clang(
    unit: cython.pointer[Unit], func: cython.pointer[Function], m: cython.pointer[cython.const[Machine]]
) -> cython.void:
    """No register is the expected one where the machine's are not known (Q35)."""
    p: cython.pointer[Param]
    i: uint32_t
    k: cython.int
    slots: cython.int
    r: cython.int = 0
    found: cython.bint
    for i in range(func.count):
        p = unit.params + func.first + i
        if p.in_memory:
            continue
        if r >= m.R:
            return
        slots = slots_of(p, m, unit.address_size)
        if p.reg >= 0:
            found = False
            for k in range(r, min(r + slots, m.R)):
                if expects(m, k, p.reg):
                    found = True
            if not found:
                p.unexpected = 1
                p.due = cython.cast(uint8_t, r)
        r += slots


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def located(
    p: cython.pointer[Param],
    following: cython.pointer[Param],
    m: cython.pointer[cython.const[Machine]],
    r: cython.int,
    slots: cython.int,
    changed: cython.bint,
) -> cython.int:
    """Judge a parameter that has a location; the number of registers it uses up. `following` may be NULL."""
    advance: cython.int = 1 if p.in_memory else slots
    p.due = cython.cast(uint8_t, r)
    if changed and p.const_at_entry:
        p.optimized = 1
        return 0
    if r >= m.R:
        return 0
    if changed and p.stack_at_entry:
        if p.in_memory:
            return 0
        p.unexpected = 1
        return advance
    if p.reg < 0:
        if changed:
            p.unexpected = 1
        else:
            p.optimized = 1
        return advance
    if m.known and m.regs[r] != p.reg:
        p.unexpected = 1
        return advance
    if changed and (p.first_word or p.second_word):
        if p.first_word and p.second_word:
            return slots
        if following != cython.NULL and following.reg >= 0 and expects(m, r + slots, following.reg):
            p.candidate_name = 0
            return slots
        if p.candidate_name and p.candidate_ref:
            p.ref = p.candidate_ref
            return 1
    return advance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse_accounted(
    unit: cython.pointer[Unit],
    func: cython.pointer[Function],
    m: cython.pointer[cython.const[Machine]],
    changed: cython.bint,
) -> cython.void:
    """GCC, or clang with a changed signature. `changed`: and true signatures are wanted."""
    p: cython.pointer[Param]
    following: cython.pointer[Param]
    i: uint32_t
    slots: cython.int
    r: cython.int = 0
    for i in range(func.count):
        p = unit.params + func.first + i
        following = p + 1 if i + 1 < func.count else cython.NULL
        slots = slots_of(p, m, unit.address_size)
        if p.has_loc:
            r += located(p, following, m, r, slots, changed)
        elif p.has_const and not unit.is_clang:
            p.optimized = 1
            r += 1 if p.in_memory else slots
        elif not changed:
            r += 1 if p.in_memory else slots
        elif following != cython.NULL and following.reg >= 0 and expects(m, r + slots, following.reg):
            r += slots
        else:
            p.optimized = 1
        if r > m.R:
            r = m.R  # from there on the count does not matter, and must not overflow


# ---------------------------------------------------------------- one function


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_struct(unit: cython.pointer[Unit], ref: uint32_t) -> cython.bint:
    """Whether a type is a structure_type, looking through typedef and const only."""
    steps: uint32_t
    tag: uint16_t
    for steps in range(LONGEST_TYPE_CHAIN):
        if ref == 0 or ref >= unit.n_types or not may_step(unit, steps):
            return False
        tag = unit.types[ref].tag
        if tag != DW_TAG_typedef and tag != DW_TAG_const_type:
            return tag == DW_TAG_structure_type
        ref = unit.types[ref].ref
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def analyse_function(
    unit: cython.pointer[Unit],
    func: cython.pointer[Function],
    m: cython.pointer[cython.const[Machine]],
    true_signature: cython.bint,
) -> cython.void:
    """See calling_convention.pxd."""
    p: cython.pointer[Param]
    i: uint32_t
    optimized: cython.bint = False
    unexpected: cython.bint = False
    signature_changed: cython.bint = (func.flags & F_SIGNATURE_CHANGED) != 0
    if unit.is_clang and not signature_changed:
        analyse_plain_clang(unit, func, m)
    else:
        analyse_accounted(unit, func, m, true_signature and signature_changed)
    for i in range(func.count):
        p = unit.params + func.first + i
        if p.optimized or not p.has_loc:
            optimized = True
        if p.unexpected:
            unexpected = True
    if unexpected:
        # A struct passed by value makes the count of registers unreliable: such functions are let pass.
        for i in range(func.count):
            if is_struct(unit, unit.params[func.first + i].ref):
                unexpected = False
                break
    if optimized:
        func.flags |= F_OPTIMIZED
    if unexpected:
        func.flags |= F_UNEXPECTED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def uncertain_location(
    unit: cython.pointer[Unit],
    func: cython.pointer[cython.const[Function]],
    m: cython.pointer[cython.const[Machine]],
    align: cython.pointer[U32s],
) -> cython.int:
    """See calling_convention.pxd. Only a named struct that the parameter's type refers to directly counts (Q32)."""
    t: cython.pointer[Type]
    i: uint32_t
    ref: uint32_t
    packed: cython.int
    for i in range(m.R, func.count):
        ref = unit.params[func.first + i].ref
        if ref == 0 or ref >= unit.n_types:
            continue
        t = unit.types + ref
        if t.name == 0 or t.tag == DW_TAG_union_type or not is_structure(t.tag):
            continue
        packed = infer_packed(unit, ref, align)
        if packed:
            return packed
    return 0


# ---------------------------------------------------------------- members that survive


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def only_bit(word: uint64_t) -> cython.int:
    """The number of the single bit that is set, or -1."""
    if word == 0 or word & (word - 1):
        return -1
    return ctz64(word)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_candidate(unit: cython.pointer[Unit], param: cython.pointer[Param]) -> cython.void:
    """See calling_convention.pxd. The member that starts where the only described piece of the parameter starts.

    Only the first one there counts: if it has no name or no type, there is no candidate.
    """
    t: cython.pointer[cython.const[Type]]
    member: cython.pointer[cython.const[Member]]
    offset: uint64_t
    steps: uint32_t
    i: uint32_t
    ref: uint32_t = param.ref
    bit: cython.int
    if param.name == 0 or (param.first_word == 0) == (param.second_word == 0):
        return
    bit = only_bit(param.first_word | param.second_word)
    if bit < 0:
        return
    offset = bit
    if param.second_word:
        offset += unit.address_size
    for steps in range(LONGEST_TYPE_CHAIN):
        if ref == 0 or ref >= unit.n_types or not may_step(unit, steps):
            return
        t = unit.types + ref
        if t.size:
            break
        ref = t.ref
    else:
        return
    if t.tag != DW_TAG_structure_type:
        return
    for i in range(t.count):
        unit.left -= 1
        if unit.left == 0:
            return
        member = unit.members + t.first + i
        if member.flags & (M_INHERITANCE | M_STATIC):
            continue
        if member.flags & M_DATA_BIT_OFFSET:
            if member.bit_offset != offset * 8:
                continue
        elif member.byte_offset != offset:
            continue
        if member.name and member.ref:
            param.candidate_name = member.name
            param.candidate_ref = member.ref
        return
