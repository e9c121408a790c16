"""Functions and variables of a unit value that comes from bytes; unit_read.py has its types.

What only the linked file knows is decided here: whether there is a function of a name, where an address lies. All else
has been decided where the object was compiled. Each number is compared with its bound before it is used.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.btf.kinds import KIND_FUNC_PROTO
from cython.cimports.pybtf.core.btf.limits import MAX_VLEN
from cython.cimports.pybtf.core.btf.record_layout import wire_info
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.classes.classify import Classifier, class_of, class_of_ref, classify_fault
from cython.cimports.pybtf.core.elf.function_table import (
    NO_ENTRY,
    FuncTable,
    FunctionTable,
    functable_expect,
    functable_find_hashed,
    functable_head,
    functable_of_file,
)
from cython.cimports.pybtf.core.functions.function_instances import Observer
from cython.cimports.pybtf.core.functions.variables import (
    VariableRules,
    add_variable_to_section,
    fit_variable,
    keep_variable,
    section_of,
)
from cython.cimports.pybtf.core.model.dwarf_constants import DW_TAG_subprogram
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_DISCARDED,
    FAULT_EMPTY_TAG,
    FAULT_NO_NAME,
    IN_VALUES,
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
from cython.cimports.pybtf.core.strings.string_table import Strings
from cython.cimports.pybtf.core.support.check import CHECKED
from cython.cimports.pybtf.core.support.hashing import hash_bytes
from cython.cimports.pybtf.core.support.memory import grow, u32s_add, u32s_reserve
from cython.cimports.pybtf.core.support.met_table import MetTable
from cython.cimports.pybtf.core.values.known_types import NO_UNIT, KnownType, known_add, known_find
from cython.cimports.pybtf.core.values.unit_layout import *
from cython.cimports.pybtf.core.values.unit_read import (
    DAMAGED_STRING,
    NamedFunction,
    PayloadUnit,
    Reading,
    bad_string,
    damaged,
    no_memory,
    payload_string,
    payload_strings,
    payload_text,
)

SAID = cython.declare(uint32_t, S_UNEXPECTED | S_UNCERTAIN | S_REORDERED | S_OPTIMIZED | S_SIGNATURE_CHANGED)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def address_of(g: cython.pointer[cython.const[PayloadUnit]], i: uint32_t) -> uint64_t:
    a: uint64_t = 0
    memcpy(cython.address(a), g.addresses + 8 * cython.cast(cython.size_t, i), 8)
    return a


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def function_words(
    p: cython.pointer[cython.const[uint32_t]], left: cython.size_t, n_types: uint32_t
) -> cython.size_t:
    """Words of the function at `p`, 0 if it is damaged."""
    n: cython.size_t
    i: uint32_t
    count: uint32_t
    anns: uint32_t
    if left < FUNCTION_HEAD:
        return 0
    count = p[2] & FUNCTION_ELEMENTS
    anns = p[1] >> 16
    n = FUNCTION_HEAD + 2 * (cython.cast(cython.size_t, count) + anns)
    if (
        n > left
        or p[3] >= n_types
        or count > MAX_VLEN
        or p[1] & 0xFFFF & ~SAID
        or p[2] & ~cython.cast(
            uint32_t, FUNCTION_ELEMENTS | FUNCTION_DISCARDED | FUNCTION_EMPTY_NAME | FUNCTION_UNNAMED
        )
        or (p[0] == 0) != ((p[2] & FUNCTION_EMPTY_NAME) != 0)
    ):
        return 0
    for i in range(count):
        if p[FUNCTION_HEAD + 2 * i + 1] >= n_types:
            return 0
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def described_class(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    p: cython.pointer[cython.const[uint32_t]],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
) -> uint32_t:
    """The class of the prototype of the function at `p`, by what is said of it. NO_CLASS: `c.failed`, a fault in the
    value, or no memory.
    """
    count: uint32_t = p[2] & FUNCTION_ELEMENTS
    i: uint32_t
    done: uint32_t
    e: cython.pointer[cython.const[uint32_t]] = p + FUNCTION_HEAD
    out: cython.pointer[uint32_t]
    o.record.n = 0
    if not u32s_reserve(cython.address(o.record), REC_HEAD + 2 * count):
        return NO_CLASS
    out = o.record.p
    out[REC_KIND] = KIND_FUNC_PROTO
    out[REC_NAME] = 0
    out[REC_THIRD] = class_of_ref(c, v, p[3])
    out[REC_COUNT] = count
    for i in range(count):
        out[REC_HEAD + 2 * i] = e[2 * i]
        out[REC_HEAD + 2 * i + 1] = class_of_ref(c, v, e[2 * i + 1])
    if c.failed:
        return NO_CLASS
    done = payload_strings(r, strings, out + REC_HEAD, 2, count)
    if done and out[REC_HEAD + 2 * (done - 1)] >= DAMAGED_STRING:
        bad_string(v, out[REC_HEAD + 2 * (done - 1)], p - r.words.p)
        return NO_CLASS
    return class_of(c, out, REC_HEAD + 2 * count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def prototype_class(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    p: cython.pointer[cython.const[uint32_t]],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    known: cython.pointer[MetTable],
) -> uint32_t:
    """As `described_class`, of which the table of types remembers what it has said before; the small ids of the
    prototype are appended to `v.locals`.
    """
    count: uint32_t = p[2] & FUNCTION_ELEMENTS
    i: uint32_t
    class_: uint32_t
    model: KnownType
    t: cython.pointer[KnownType] = cython.NULL
    if not u32s_reserve(cython.address(v.locals), count + 1):
        return NO_CLASS
    u32s_add(cython.address(v.locals), p[3])
    for i in range(count):
        u32s_add(cython.address(v.locals), p[FUNCTION_HEAD + 2 * i + 1])
    model.low = p[FUNCTION_DIGEST] | cython.cast(uint64_t, p[FUNCTION_DIGEST + 1]) << 32
    model.high = p[FUNCTION_DIGEST + 2] | cython.cast(uint64_t, p[FUNCTION_DIGEST + 3]) << 32
    if known == cython.NULL or (model.low | model.high) == 0:
        return described_class(r, v, p, o, c, strings)
    model.info = wire_info(KIND_FUNC_PROTO, count)
    t = known_find(known, model.low, model.high)
    if t != cython.NULL and t.info != model.info:  # digests come from files
        damaged(v, p - r.words.p)
        return NO_CLASS
    if t != cython.NULL and not CHECKED:
        return t.class_
    class_ = described_class(r, v, p, o, c, strings)
    if class_ == NO_CLASS:
        return NO_CLASS
    if t != cython.NULL:
        if t.class_ != class_:
            damaged(v, p - r.words.p)
            return NO_CLASS
        return class_
    model.class_ = model.stand = class_
    model.key = 0
    model.first = NO_UNIT
    return class_ if known_add(known, cython.address(model)) != cython.NULL else NO_CLASS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_function(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    f: cython.pointer[cython.const[NamedFunction]],
    address: uint64_t,
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    known: cython.pointer[MetTable],
    table: cython.pointer[cython.const[FuncTable]],
) -> cython.int:
    """One function, as `observe_functions` takes one from DWARF. Nonzero: fault."""
    p: cython.pointer[cython.const[uint32_t]] = r.words.p + f.at
    s: cython.pointer[State]
    i: uint32_t
    sid: uint32_t
    entry: uint32_t
    if p[2] & FUNCTION_EMPTY_NAME and table.n and table.name_len[0] == 0:
        return fault_set(
            cython.address(v.fault), FAULT_NO_NAME, IN_VALUES, v.offset, 0, DW_TAG_subprogram
        )
    v.counts[COUNT_FUNCTIONS] += 1
    if p[0] == 0:
        v.counts[COUNT_NAMELESS] += 1
        return 0
    entry = functable_find_hashed(table, f.name, f.size, f.hash)
    if entry != NO_ENTRY:
        entry = functable_of_file(table, functable_head(table, entry), o.file)
    if entry == NO_ENTRY:
        v.counts[COUNT_NO_SYMBOL] += 1
        return 0
    if p[2] & FUNCTION_UNNAMED:
        v.counts[COUNT_UNNAMED_PARAMETER] += 1
        return 0
    if p[2] & FUNCTION_DISCARDED and address == 0:
        return fault_set(cython.address(v.fault), FAULT_DISCARDED, IN_VALUES, v.offset, 0, entry + 1)
    s = next_state(v, address, entry)
    if s == cython.NULL:
        return no_memory(v)
    s.flags = cython.cast(uint8_t, p[1] & 0xFF)
    s.proto = prototype_class(r, v, p, o, c, strings, known)
    if s.proto == NO_CLASS:
        return v.fault.code or (classify_fault(c, v) if c.failed else no_memory(v))
    s.anns = cython.cast(uint32_t, v.anns.n)
    s.n_anns = p[1] >> 16
    p += FUNCTION_HEAD + 2 * cython.cast(cython.size_t, p[2] & FUNCTION_ELEMENTS)
    for i in range(s.n_anns):
        if p[0] == 0:
            return fault_set(cython.address(v.fault), FAULT_EMPTY_TAG, IN_VALUES, v.offset, 0, DW_TAG_subprogram)
        sid = payload_string(r, strings, p[0])
        if sid >= DAMAGED_STRING:
            return bad_string(v, sid, p - r.words.p)
        if not add_annotation(v, sid, p[1]):
            return no_memory(v)
        p += 2
    keep_state(v)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_functions(
    r: cython.pointer[Reading], v: cython.pointer[UnitValue], table: cython.pointer[cython.const[FuncTable]]
) -> cython.int:
    """Finds all functions and their names. Each will be looked up in a large table, whose memory is asked for here.
    Nonzero: fault.
    """
    at: cython.size_t = H_WORDS_OF_HEAD + 3 * cython.cast(cython.size_t, r.words.p[H_TAGS])
    end: cython.size_t = at + r.words.p[H_FUNCTION_WORDS]
    size: cython.size_t
    i: uint32_t
    f: cython.pointer[NamedFunction]
    if not grow(r.functions, r.cap_functions, r.words.p[H_FUNCTIONS]):
        return no_memory(v)
    for i in range(r.words.p[H_FUNCTIONS]):
        f = r.functions + i
        size = function_words(r.words.p + at, end - at, v.n_types)
        if size == 0:
            return damaged(v, at)
        f.at = at
        f.size = cython.cast(uint32_t, payload_text(r, r.words.p[at], cython.address(f.name)))
        if f.size:
            f.hash = hash_bytes(f.name, f.size)
            functable_expect(table, f.hash)
        elif r.words.p[at]:
            return damaged(v, at)
        at += size
    return 0 if at == end else damaged(v, at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_functions(
    r: cython.pointer[Reading],
    g: cython.pointer[cython.const[PayloadUnit]],
    v: cython.pointer[UnitValue],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    strings: cython.pointer[Strings],
    known: cython.pointer[MetTable],
    table: cython.pointer[cython.const[FuncTable]],
) -> cython.int:
    """See `unit_read_symbols.pxd`. Fills `states`, `locals` and `anns` of the value."""
    i: uint32_t
    v.n_states = 0
    v.locals.n = 0
    v.anns.n = 0
    v.counts[COUNT_FUNCTIONS] += r.words.p[H_COUNTS + HELD_NAMELESS]
    v.counts[COUNT_NAMELESS] += r.words.p[H_COUNTS + HELD_NAMELESS]
    if name_functions(r, v, table):
        return 1
    for i in range(r.words.p[H_FUNCTIONS]):
        if read_function(r, v, r.functions + i, address_of(g, i), o, c, strings, known, table):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_annotations(
    r: cython.pointer[Reading],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
    p: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> cython.int:
    """Those of a variable, into `r.anns`. Nonzero: fault."""
    i: uint32_t
    if not grow(r.anns, r.cap_anns, n):
        return no_memory(v)
    for i in range(n):
        r.anns[i].value = payload_string(r, strings, p[2 * i])
        if r.anns[i].value >= DAMAGED_STRING:
            return bad_string(v, r.anns[i].value, p + 2 * i - r.words.p)
        r.anns[i].component = cython.cast(cython.int, p[2 * i + 1])
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_variables(
    r: cython.pointer[Reading],
    g: cython.pointer[cython.const[PayloadUnit]],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
    rules: cython.pointer[cython.const[VariableRules]],
    symbols: FunctionTable,
) -> cython.int:
    """See `unit_read_symbols.pxd`. Fills `vars` and appends to `anns` of the value. Where a variable is in no section
    that is wanted, its name is not looked at (as in symbol_names.py).
    """
    p: cython.pointer[cython.const[uint32_t]]
    end: cython.pointer[cython.const[uint32_t]] = r.words.p + r.words.n
    x: VarRecord
    i: uint32_t
    n: uint32_t
    address: uint64_t
    status: cython.int
    v.n_vars = 0
    v.counts[COUNT_VAR_DECLARATION] += r.words.p[H_COUNTS + HELD_VAR_DECLARATION]
    v.counts[COUNT_VAR_NO_ADDRESS] += r.words.p[H_COUNTS + HELD_VAR_NO_ADDRESS]
    p = end - r.words.p[H_VARIABLE_WORDS]
    for i in range(r.words.p[H_VARIABLES]):
        if end - p < VARIABLE_HEAD or p[1] >= v.n_types or p[2] >> 17:
            return damaged(v, p - r.words.p)
        n = p[2] >> 1
        if (end - p - VARIABLE_HEAD) // 2 < n:
            return damaged(v, p - r.words.p)
        address = address_of(g, r.words.p[H_FUNCTIONS] + i)
        x.name = payload_string(r, strings, p[0]) if section_of(rules, address) != cython.NULL else 0
        if x.name >= DAMAGED_STRING:
            return bad_string(v, x.name, p - r.words.p)
        x.type = p[1]
        x.linkage = p[2] & 1
        status = add_variable_to_section(v, cython.address(x), 0, address, rules, symbols)
        if status == 1:
            status = fit_variable(v, cython.address(x), 0, p[3] | cython.cast(uint64_t, p[4]) << 32)
        p += VARIABLE_HEAD
        if status == 1:
            if read_annotations(r, v, strings, p, n):
                return 1
            status = -keep_variable(v, cython.address(x), 0, r.anns, n)
        if status < 0:
            return 1
        p += 2 * cython.cast(cython.size_t, n)
    return 0 if p == end else damaged(v, p - r.words.p)
