"""Variables of a unit: per-CPU variables, or all with the feature global_var (docs/rules.md, 6).

A variable counts if it is a top-level DIE with a fixed address inside a section that is wanted. Relocated and per-CPU
addresses start at 0, where everything without an address seems to lie as well; so at the very start of a
section the symbol table has to confirm the name (Q26).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcmp
from cython.cimports.pybtf.core.elf.function_table import FunctionTable, object_symbol
from cython.cimports.pybtf.core.functions.resolve import variable_specified
from cython.cimports.pybtf.core.functions.variables import SectionRange, VariableRules
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_EMPTY_TAG,
    FAULT_MEMORY,
    FAULT_VARIABLE_NAME,
    FAULT_VARIABLE_TYPE,
    IN_INFO,
    fault_set,
)
from cython.cimports.pybtf.core.model.losses import lose_at
from cython.cimports.pybtf.core.model.traces import trace_push
from cython.cimports.pybtf.core.strings.lazy_names import NAME_BITS
from cython.cimports.pybtf.core.strings.string_table import Text, string_text
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import grow

MAX_NAME = cython.declare(uint32_t, 128)
LIMIT = cython.declare(uint64_t, 0xFFFFFFFF)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def section_of(rules: cython.pointer[cython.const[VariableRules]], address: uint64_t) -> cython.pointer[SectionRange]:
    """See `variables.pxd` (Q26). Ranges ascend and do not overlap."""
    low: uint32_t = 0
    high: uint32_t = rules.n_sections
    middle: uint32_t
    s: cython.pointer[SectionRange]
    while low < high:
        middle = low + (high - low) // 2
        if rules.sections[middle].address <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return cython.NULL
    s = cython.address(rules.sections[low - 1])
    return s if s.included and address - s.address < s.size else cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def starts(e: Text, prefix: cython.p_const_char, n: uint32_t) -> cython.bint:
    return e.size >= n and memcmp(e.text, prefix, n) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def generated(e: Text) -> cython.bint:
    """Names that kernel macros make up, different in every build."""
    return (
        starts(e, b"__UNIQUE_ID", 11)
        or starts(e, b"__tpstrtab_", 11)
        or starts(e, b"__exitcall_", 11)
        or starts(e, b"__gendwarfksyms_ptr_", 20)
        or starts(e, b"__func_stack_frame_non_standard_", 32)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def valid_name(e: Text) -> cython.bint:
    i: uint32_t
    b: uint8_t
    if e.size > MAX_NAME:
        return False
    for i in range(e.size):
        b = cython.cast(uint8_t, e.text[i])
        if b"a" <= b <= b"z" or b"A" <= b <= b"Z" or b == b"_" or b == b".":
            continue
        if i and b"0" <= b <= b"9":
            continue
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def instance_members(u: cython.pointer[Unit], t: cython.pointer[Type]) -> cython.bint:
    """Whether a struct has members that every instance has; base classes count. The answer is kept: many variables may
    be of one type.
    """
    k: uint32_t
    if not t.flags & T_EMPTY_KNOWN:
        t.flags |= T_EMPTY_KNOWN | T_EMPTY
        for k in range(t.first, t.first + t.count):
            if not u.members[k].flags & M_STATIC:
                t.flags &= cython.cast(uint8_t, ~T_EMPTY)
                break
    return not t.flags & T_EMPTY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def variable_size(u: cython.pointer[Unit], id: uint32_t) -> uint64_t:
    """See `variables.pxd`."""
    steps: uint32_t
    times: uint64_t = 1
    t: cython.pointer[Type]
    for steps in range(LONGEST_TYPE_CHAIN):
        if id == 0 or not may_step(u, steps):
            break
        CHECK(id < u.n_types, "a reference to a type that is not there")
        t = cython.address(u.types[id])
        if t.tag == DW_TAG_array_type:
            if t.count:  # an array without any dimension is as large as its element (Q31)
                times *= t.first
            id = t.ref
        elif (
            t.tag == DW_TAG_pointer_type
            or t.tag == DW_TAG_reference_type
            or t.tag == DW_TAG_rvalue_reference_type
            or t.tag == DW_TAG_ptr_to_member_type
        ):
            return times * u.address_size
        elif t.tag == DW_TAG_subroutine_type:
            return times * (t.size if t.size else u.address_size)
        elif t.tag == DW_TAG_base_type:
            return times * base_size(t)
        elif t.tag == DW_TAG_enumeration_type:
            return times * (t.size if t.size else 4)
        elif t.tag == DW_TAG_string_type:
            return times * t.size
        elif is_structure(t.tag):
            if t.size == 1 and not instance_members(u, t):  # Q27
                return 0
            return times * t.size
        elif t.tag == DW_TAG_typedef and t.ref == 0:
            return 0 if t.size == 1 else times * t.size  # as a struct without members
        else:
            id = t.ref
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_variable(
    v: cython.pointer[UnitValue],
    r: cython.pointer[VarRecord],
    die: uint64_t,
    anns: cython.pointer[cython.const[Annotation]],
    n_anns: uint32_t,
) -> cython.int:
    """See `variables.pxd`."""
    i: uint32_t
    r.anns = cython.cast(uint32_t, v.anns.n)
    r.n_anns = n_anns
    for i in range(n_anns):
        if anns[i].value == 0:
            return fault_set(cython.address(v.fault), FAULT_EMPTY_TAG, IN_INFO, die, die, DW_TAG_variable)
        if not add_annotation(v, anns[i].value, cython.cast(uint32_t, anns[i].component)):
            return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)
    if not grow(v.vars, v.cap_vars, v.n_vars + 1):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)
    v.vars[v.n_vars] = r[0]
    v.n_vars += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_variable(v: cython.pointer[UnitValue], die: uint64_t, name: uint32_t, what: cython.int) -> cython.int:
    """Counts what becomes of a variable, and notes it if that is asked for. Nonzero: fault."""
    v.counts[what] += 1
    if v.tracing and name:
        if trace_push(cython.address(v.traces), cython.cast(uint32_t, die), name, what) == cython.NULL:
            return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, die, die, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def left_out(v: cython.pointer[UnitValue], die: uint64_t, name: uint32_t, what: cython.int) -> cython.int:
    """`count_variable`, as an answer of `add_variable_to_section`."""
    return -1 if count_variable(v, die, name, what) else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refuse(
    v: cython.pointer[UnitValue],
    rules: cython.pointer[cython.const[VariableRules]],
    die: uint64_t,
    name: uint32_t,
    fault: cython.int,
    what: cython.int,
) -> cython.int:
    """What is to be done about a variable that BTF cannot have, as an answer of `add_variable_to_section`."""
    if rules.force or (rules.degrade and lose_at(cython.address(v.losses), fault, die, name)):
        return left_out(v, die, name, what)
    fault_set(cython.address(v.fault), fault, IN_INFO, die, die, name)
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_variable_to_section(
    v: cython.pointer[UnitValue],
    r: cython.pointer[VarRecord],
    die: uint64_t,
    address: uint64_t,
    rules: cython.pointer[cython.const[VariableRules]],
    symbols: FunctionTable,
) -> cython.int:
    """See `variables.pxd`. The order of the tests is that of pahole."""
    s: cython.pointer[SectionRange]
    e: Text
    rel: uint64_t
    v.counts[COUNT_VARIABLES] += 1
    s = section_of(rules, address)
    if s == cython.NULL:
        return left_out(v, die, r.name, COUNT_VAR_SECTION)
    rel = address - s.start
    if r.name == 0:
        return left_out(v, die, 0, COUNT_VAR_NAMELESS)
    CHECK(r.name >> NAME_BITS == 0, "the name of a variable is not a string id")
    e = string_text(rules.strings, r.name)
    if generated(e):
        return left_out(v, die, r.name, COUNT_VAR_PREFIX)
    if rel == 0 and not object_symbol(symbols, s.index, e.text, e.size):
        return left_out(v, die, r.name, COUNT_VAR_NO_SYMBOL)
    if not valid_name(e):
        return refuse(v, rules, die, r.name, FAULT_VARIABLE_NAME, COUNT_VAR_INVALID_NAME)
    if r.type == 0:
        return refuse(v, rules, die, r.name, FAULT_VARIABLE_TYPE, COUNT_VAR_VOID)
    if rel > LIMIT:
        return left_out(v, die, r.name, COUNT_VAR_SIZE)
    r.section = s.index
    r.offset = cython.cast(uint32_t, rel)
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fit_variable(
    v: cython.pointer[UnitValue], r: cython.pointer[VarRecord], die: uint64_t, size: uint64_t
) -> cython.int:
    """See `variables.pxd`."""
    if size == 0 or size > LIMIT:
        return left_out(v, die, r.name, COUNT_VAR_SIZE)
    r.size = cython.cast(uint32_t, size)
    return -1 if count_variable(v, die, r.name, COUNT_VAR_KEPT) else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def candidate(
    u: cython.pointer[Unit], v: cython.pointer[UnitValue], i: uint32_t
) -> cython.pointer[Variable]:
    """The DIE with name, type and annotations of variable `i`, if it is one of the file with an address; else NULL: it
    does not count, or `v.counts` says why, or there is a fault.

    That may be the one it specifies (Q26), but not its abstract origin, which is all that gcc's LTO leaves (Q24).
    """
    own: cython.pointer[Variable] = cython.address(u.variables[i])
    spec: uint32_t = NO_INDEX
    d: cython.pointer[Variable] = own
    if own.spec:
        spec = variable_specified(u, own.spec, cython.address(v.fault))
        if v.fault.code:
            return cython.NULL
    if not own.flags & V_TOP_LEVEL or own.flags & V_ARTIFICIAL:
        return cython.NULL
    if own.flags & V_DECLARATION:
        count_variable(v, own.die, own.name, COUNT_VAR_DECLARATION)
        return cython.NULL
    if spec != NO_INDEX:
        d = cython.address(u.variables[spec])
    if not own.flags & V_ADDRESS:
        count_variable(v, own.die, d.name, COUNT_VAR_NO_ADDRESS)
        return cython.NULL
    return d


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def consider(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    i: uint32_t,
    rules: cython.pointer[cython.const[VariableRules]],
    symbols: FunctionTable,
) -> cython.int:
    """One variable: kept, or left out and counted. Nonzero: fault."""
    own: cython.pointer[Variable] = cython.address(u.variables[i])
    d: cython.pointer[Variable] = candidate(u, v, i)
    r: VarRecord
    status: cython.int
    if d == cython.NULL:
        return v.fault.code != 0
    r.name = d.name
    r.type = d.ref
    r.linkage = 1 if d.flags & V_EXTERNAL else 0
    status = add_variable_to_section(v, cython.address(r), own.die, own.address, rules, symbols)
    if status == 1:
        status = fit_variable(v, cython.address(r), own.die, variable_size(u, d.ref))
    if status == 1:
        return keep_variable(v, cython.address(r), own.die, u.anns + d.anns, d.n_anns)
    return status < 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def collect_variables(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    rules: cython.pointer[cython.const[VariableRules]],
    symbols: FunctionTable,
) -> cython.int:
    """Fills `vars` and appends to `anns` of the value. Nonzero: fault."""
    i: uint32_t
    v.n_vars = 0
    for i in range(u.n_variables):
        if consider(u, v, i, rules, symbols) and not set_aside(u, cython.address(v.fault)):
            return 1
    return 0
