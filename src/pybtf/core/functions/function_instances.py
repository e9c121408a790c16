"""Functions of a unit: which instances are remembered, and what is remembered of them.

An instance is any DW_TAG_subprogram that is not a declaration: abstract, out-of-line copy or plain. Whether the
function is written at all is decided at the end, over the instances of all units (function_merge.py).

Function names are the first string ids: id `i + 1` is the base name of entry `i` of the function table, or unused, if
that is the name of an earlier entry, of another file.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.limits import MAX_VLEN
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.classes.classify import (
    Classifier,
    class_of,
    class_of_ref,
    classify_fault,
    names_settled,
)
from cython.cimports.pybtf.core.elf.function_table import NO_ENTRY, FuncTable, functable_of_file
from cython.cimports.pybtf.core.functions.calling_convention import Machine, uncertain_location
from cython.cimports.pybtf.core.functions.function_instances import Observer
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_EMPTY_TAG,
    FAULT_MEMORY,
    FAULT_NO_NAME,
    FAULT_TOO_MANY,
    IN_INFO,
    fault_set,
)
from cython.cimports.pybtf.core.model.function_state import (
    S_OPTIMIZED,
    S_REORDERED,
    S_SIGNATURE_CHANGED,
    S_UNCERTAIN,
    S_UNEXPECTED,
    State,
)
from cython.cimports.pybtf.core.model.traces import TRACE_DECLARED, TRACE_NONE, Trace, trace_push
from cython.cimports.pybtf.core.strings.lazy_names import NAME_BITS, NAMES_LONG, name_intern
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, Strings, Text, string_intern, string_text
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import u8s_append, u32s_push, u32s_reserve


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def out_of_memory(v: cython.pointer[UnitValue], f: cython.pointer[Function]) -> cython.int:
    return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, f.die, f.die, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note(
    v: cython.pointer[UnitValue], f: cython.pointer[Function], what: uint32_t, parameter: uint32_t
) -> cython.bint:
    """Notes why an instance is not remembered, if that is asked for. True."""
    t: cython.pointer[Trace]
    if v.tracing and f.name:
        t = trace_push(cython.address(v.traces), f.die, f.name, what)
        if t == cython.NULL:
            out_of_memory(v, f)
        else:
            t.parameter = parameter
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_state(u: cython.pointer[Unit], v: cython.pointer[UnitValue], f: cython.pointer[Function]) -> cython.int:
    """Notes an instance that has been remembered: the next state. Nonzero: fault."""
    i: uint32_t
    p: cython.pointer[Param]
    t: cython.pointer[Trace] = trace_push(cython.address(v.traces), f.die, f.name, COUNT_REMEMBERED)
    if t == cython.NULL:
        return out_of_memory(v, f)
    t.state = v.n_states
    for i in range(f.count):
        p = cython.address(u.params[f.first + i])
        if p.unexpected and t.parameter == TRACE_NONE:
            t.parameter = i
            t.found = cython.cast(uint32_t, p.due) << 16 | cython.cast(uint16_t, p.reg)
        if (p.optimized or not p.has_loc) and t.optimized == TRACE_NONE:
            t.optimized = i
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def left_out(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    f: cython.pointer[Function],
    table: cython.pointer[cython.const[FuncTable]],
    file: uint32_t,
) -> cython.bint:
    """Whether the instance is not remembered; counts why. A fault is left in the value."""
    i: uint32_t
    if f.flags & F_DECLARATION:
        return note(v, f, TRACE_DECLARED, TRACE_NONE)
    v.counts[COUNT_FUNCTIONS] += 1
    if f.name == 0:
        v.counts[COUNT_NAMELESS] += 1
        return True
    CHECK(f.name >> NAME_BITS == 0, "the name of a function is not a string id")
    if f.name > table.n or functable_of_file(table, f.name - 1, file) == NO_ENTRY:
        v.counts[COUNT_NO_SYMBOL] += 1
        return note(v, f, COUNT_NO_SYMBOL, TRACE_NONE)
    for i in range(f.first, f.first + f.count):
        if not u.params[i].named:
            v.counts[COUNT_UNNAMED_PARAMETER] += 1
            return note(v, f, COUNT_UNNAMED_PARAMETER, i - f.first)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dropped(f: cython.pointer[Function], p: cython.pointer[Param], changed: cython.bint) -> cython.bint:
    """Whether a parameter is left out of the prototype."""
    if f.flags & F_REORDERED and (not p.has_loc or p.optimized):
        return True
    return changed and p.optimized


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def param_name(
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    p: cython.pointer[Param],
) -> uint32_t:
    """The name a parameter gets: its own, or PARAMETER__MEMBER if a member stands for it. NO_STRING: no memory, or
    `c.failed`. A long name may be that of many parameters, each with another member.
    """
    own: Text
    member: Text
    sid: uint32_t
    if p.candidate_name == 0:
        return p.name
    sid = name_intern(c.names, p.candidate_name)
    if sid == NO_STRING:
        return NO_STRING
    own = string_text(strings, p.name)
    member = string_text(strings, sid)
    c.names.bytes += own.size + member.size
    if c.names.bytes > c.names.budget:
        names_settled(c, NAMES_LONG)
        return NO_STRING
    o.name.n = 0
    if (
        u8s_append(cython.address(o.name), own.text, own.size)
        and u8s_append(cython.address(o.name), b"__", 2)
        and u8s_append(cython.address(o.name), member.text, member.size)
    ):
        return string_intern(strings, cython.cast(cython.p_const_char, o.name.p), o.name.n, True)
    return NO_STRING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prototype(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    f: cython.pointer[Function],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    changed: cython.bint,
) -> uint32_t:
    """The class of the prototype; its small ids are appended to `v.locals`. NO_CLASS: `c.failed`, or no memory."""
    i: uint32_t
    at: uint32_t = REC_HEAD
    p: cython.pointer[Param]
    r: cython.pointer[uint32_t]
    o.record.n = 0
    if not u32s_reserve(cython.address(o.record), REC_HEAD + 2 * (f.count + 1)):
        return NO_CLASS
    if not u32s_reserve(cython.address(v.locals), f.count + 2):
        return NO_CLASS
    r = o.record.p
    r[REC_KIND] = KIND_FUNC_PROTO
    r[REC_NAME] = 0
    r[REC_THIRD] = class_of_ref(c, v, f.ref)
    u32s_push(cython.address(v.locals), f.ref)
    for i in range(f.first, f.first + f.count):
        p = cython.address(u.params[i])
        if dropped(f, p, changed):
            continue
        r[at] = param_name(o, c, strings, p) if changed else p.name
        if r[at] == NO_STRING:
            return NO_CLASS
        r[at + 1] = class_of_ref(c, v, p.ref)
        at += 2
        u32s_push(cython.address(v.locals), p.ref)
    if f.flags & F_VARIADIC:
        r[at] = 0
        r[at + 1] = 0
        at += 2
        u32s_push(cython.address(v.locals), 0)
    if c.failed:
        return NO_CLASS
    r[REC_COUNT] = (at - REC_HEAD) // 2
    return class_of(c, r, at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def instance_flags(
    u: cython.pointer[Unit],
    f: cython.pointer[Function],
    o: cython.pointer[Observer],
    machine: cython.pointer[cython.const[Machine]],
) -> cython.int:
    """What is to be said against an instance, S_*; -1: no memory."""
    flags: cython.int = 0
    uncertain: cython.int
    if f.flags & F_UNEXPECTED:
        flags |= S_UNEXPECTED
    if f.flags & F_REORDERED:
        flags |= S_REORDERED
    if f.flags & F_OPTIMIZED:
        flags |= S_OPTIMIZED
    if f.flags & F_SIGNATURE_CHANGED:
        flags |= S_SIGNATURE_CHANGED
    uncertain = uncertain_location(u, f, machine, cython.address(o.align))
    if uncertain < 0:
        return -1
    if uncertain:
        flags |= S_UNCERTAIN
    return flags


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def remember(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    f: cython.pointer[Function],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    table: cython.pointer[cython.const[FuncTable]],
    machine: cython.pointer[cython.const[Machine]],
    true_signature: cython.bint,
) -> cython.int:
    """Appends the state of an instance that `left_out` lets pass (docs/rules.md, 5.3): its prototype is a class, whose
    small ids go to `v.locals`; its tags go to `v.anns`, as string id and component. Nonzero: fault, also for an empty
    tag (4.3), and there is no new state.
    """
    s: cython.pointer[State]
    i: uint32_t
    flags: cython.int
    changed: cython.bint = true_signature and f.flags & F_SIGNATURE_CHANGED
    total: uint32_t = f.count + (1 if f.flags & F_VARIADIC else 0)
    if total > MAX_VLEN:
        return fault_set(cython.address(v.fault), FAULT_TOO_MANY, IN_INFO, f.die, f.die, total)
    s = next_state(v, f.address, functable_of_file(table, f.name - 1, o.file))
    if s == cython.NULL:
        return out_of_memory(v, f)
    flags = instance_flags(u, f, o, machine)
    if flags < 0:
        return out_of_memory(v, f)
    s.flags = cython.cast(uint8_t, flags)
    s.proto = prototype(u, v, f, o, c, strings, changed)
    if s.proto == NO_CLASS:
        return classify_fault(c, v) if c.failed else out_of_memory(v, f)
    s.anns = cython.cast(uint32_t, v.anns.n)
    s.n_anns = f.n_anns
    for i in range(f.anns, f.anns + f.n_anns):
        if u.anns[i].value == 0:
            return fault_set(cython.address(v.fault), FAULT_EMPTY_TAG, IN_INFO, f.die, f.die, DW_TAG_subprogram)
        if not add_annotation(v, u.anns[i].value, cython.cast(uint32_t, u.anns[i].component)):
            return out_of_memory(v, f)
    if v.tracing and note_state(u, v, f):
        return 1
    keep_state(v)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def observe_functions(
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    table: cython.pointer[cython.const[FuncTable]],
    machine: cython.pointer[cython.const[Machine]],
    true_signature: cython.bint,
) -> cython.int:
    """Fills `states`, `locals` and `anns` of the value. Nonzero: fault."""
    i: uint32_t
    f: cython.pointer[Function]
    v.n_states = 0
    v.locals.n = 0
    v.anns.n = 0
    o.align.n = 0
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if f.flags & F_EMPTY_NAME and not f.flags & F_DECLARATION and table.n and table.name_len[0] == 0:
            # The symbol table has a function without a name as well, so pahole would write this one.
            fault_set(cython.address(v.fault), FAULT_NO_NAME, IN_INFO, f.die, f.die, DW_TAG_subprogram)
        elif (
            not left_out(u, v, f, table, o.file)
            and remember(u, v, f, o, c, strings, table, machine, true_signature)
            and c.failed
        ):
            return 1
        if v.fault.code and not set_aside(u, cython.address(v.fault)):
            return 1
    return 0
