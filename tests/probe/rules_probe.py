"""Access for tests to rules of the core that are otherwise not visible from Python.

Each function but the last takes plain tuples and dictionaries, builds the C structures from them, calls one rule, and
returns the result. The last one looks at a run. Nothing in the product imports this module.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import KIND_FUNC_PROTO, KIND_FWD, KIND_PTR, KIND_STRUCT
from cython.cimports.pybtf.core.btf.record_layout import (
    W_INFO,
    Extremes,
    RefSpan,
    wire_each,
    wire_fixed,
    wire_has_typed_elements,
    wire_is_link,
    wire_is_primitive,
    wire_look,
    wire_names,
    wire_refs,
    wire_size,
    wire_third_is_type,
    wire_whole,
    wire_words,
)
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.dwarf.abbrevs import AbbrevDecl, AbbrevTable, abbrevs_free, abbrevs_read
from cython.cimports.pybtf.core.dwarf.forms import OP_END, OP_IMPLICIT
from cython.cimports.pybtf.core.dwarf.locations import (
    LOC_BLOCK,
    LOC_LIST,
    LOC_LISTX,
    first_operation_address,
    location_read,
)
from cython.cimports.pybtf.core.elf.function_table import SYM_CLONE, SYM_SUFFIXED, FuncTable
from cython.cimports.pybtf.core.encode.assemble import assembled_id
from cython.cimports.pybtf.core.encode.encoder import APART, CLASS_BITS, Encoder, KeptUnit
from cython.cimports.pybtf.core.functions.calling_convention import (
    Machine,
    analyse_function,
    find_candidate,
    machine_init,
    uncertain_location,
)
from cython.cimports.pybtf.core.functions.function_merge import (
    FN_CONSISTENT,
    FN_TRUE_SIGNATURE,
    Emission,
    combine_functions,
    emission_free,
)
from cython.cimports.pybtf.core.functions.packed_structs import infer_packed
from cython.cimports.pybtf.core.functions.prototype_match import types_match
from cython.cimports.pybtf.core.inputs import Inputs
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_OPTIMIZED,
    F_SIGNATURE_CHANGED,
    F_UNEXPECTED,
    Function,
    Member,
    Param,
    Type,
    Unit,
    type_size,
)
from cython.cimports.pybtf.core.model.faults import Fault
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.run import Run
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free

# ---------------------------------------------------------------- records of BTF

ROOM = cython.declare(cython.size_t, 256)  # words of the longest record that tests ask about


def probe_record(kind: uint32_t, vlen: uint32_t):
    """What the core says about a record of this kind, which need not exist, with so many elements.

    A dictionary: `fixed`, `each`, `words` and `size` in words; the sets that the kind is in, as booleans; and the
    places of the words that are names of elements or ids of types. `look` has the last place of a name and the last
    place of an id, or 0 if there is none.
    """
    r: uint32_t[256]
    x: Extremes
    i: uint32_t
    for i in range(ROOM):
        r[i] = i
    r[W_INFO] = kind << 24 | vlen
    size: cython.size_t = wire_words(r[W_INFO])
    if size > ROOM:
        raise ValueError(size)
    found = {
        "fixed": wire_fixed(kind), "each": wire_each(kind), "words": size, "size": wire_size(r),
        "whole": wire_whole(r, 0, size), "cut": wire_whole(r, 0, size - 1) if size else 0,
        "link": bool(wire_is_link(kind)), "primitive": bool(wire_is_primitive(kind)),
        "third": bool(wire_third_is_type(kind)), "typed": bool(wire_has_typed_elements(kind)),
    }  # fmt: skip
    if size:
        found["names"] = span_places(wire_names(r), r)
        found["refs"] = span_places(wire_refs(r), r)
        x.name = x.ref = 0
        wire_look(r, cython.address(x))
        found["look"] = (x.name, x.ref)
    return found


@cython.cfunc
def span_places(s: RefSpan, r: cython.pointer[uint32_t]):
    return [s.p - r + i * s.stride for i in range(s.count)]


# ---------------------------------------------------------------- abbreviations


def probe_abbrevs(section, tables):
    """Reads tables of a section, one after the other, as a worker does: (offset, version, address size, offset size).
    Returns what each consists of: its declarations with their programs, and where it ends; or the code, place and value
    of its fault.
    """
    span: Span
    table: AbbrevTable
    fault: Fault
    at: cython.p_uint
    i: uint32_t
    k: cython.size_t
    decl: cython.pointer[AbbrevDecl]
    found = []
    _span(cython.address(span), section)
    memset(cython.address(table), 0, cython.sizeof(AbbrevTable))
    for offset, version, address_size, offset_size in tables:
        memset(cython.address(fault), 0, cython.sizeof(Fault))
        if abbrevs_read(
            cython.address(table), span, offset, address_size, offset_size, version, False, False, cython.address(fault)
        ):
            found.append((fault.code, fault.offset, fault.value))
            continue
        decls = []
        for i in range(table.n):
            decl = cython.address(table.decls[i])
            at = table.ops.p + decl.program
            k = 0
            while at[k] & 0xFF != OP_END:
                k += 3 if at[k] & 0xFF == OP_IMPLICIT else 1
            program = [at[j] for j in range(k)]
            layout = decl.layout.kind, decl.layout.size, decl.layout.name_at, decl.layout.type_at, decl.layout.value
            decls.append((decl.code, decl.tag, decl.children, decl.passage, layout, program))
        found.append((decls, table.reach, table.dense, table.read))
    abbrevs_free(cython.address(table))
    return found


# ---------------------------------------------------------------- locations


@cython.cfunc
def _bytes(data: bytes) -> cython.pointer[cython.const[uint8_t]]:
    return cython.cast(cython.pointer[cython.const[uint8_t]], cython.cast(cython.p_char, data))


@cython.cfunc
def _span(span: cython.pointer[Span], data: bytes) -> cython.void:
    span.p = _bytes(data)
    span.n = len(data)


def probe_location(
    kind,
    value,
    *,
    size=8,
    version=5,
    address_size=8,
    offset_size=4,
    one_word=False,
    big_endian=False,
    info=b"",
    loc=b"",
    loclists=b"",
    loclists_base=0,
    addr=b"",
    addr_base=0,
):
    """(register or None, constant at entry, stack at entry, first-word set, second-word set) of a parameter.

    The parameter has `size` bytes. Its location is a "block" (bytes), a "list" (offset) or a "listx" (index).
    """
    unit: Unit
    sections: DebugSections
    param: Param
    memset(cython.address(unit), 0, cython.sizeof(Unit))
    memset(cython.address(sections), 0, cython.sizeof(DebugSections))
    memset(cython.address(param), 0, cython.sizeof(Param))
    unit.version = version
    unit.address_size = address_size
    unit.offset_size = offset_size
    unit.addr_base = addr_base
    unit.loclists_base = loclists_base
    sections.swap = big_endian
    _span(cython.address(sections.info), info)
    _span(cython.address(sections.loc), loc)
    _span(cython.address(sections.loclists), loclists)
    _span(cython.address(sections.addr), addr)
    param.reg = -1
    param.size = size
    code: cython.int = {"block": LOC_BLOCK, "list": LOC_LIST, "listx": LOC_LISTX}[kind]
    where: cython.pointer[cython.const[uint8_t]] = cython.NULL
    number: uint64_t
    if kind == "block":
        where = _bytes(value)
        number = len(value)
    else:
        number = value
    unit.left = 1 << 30
    location_read(
        cython.address(param),
        code,
        where,
        number,
        cython.address(unit),
        cython.address(sections),
        one_word,
    )
    return (
        None if param.reg < 0 else param.reg,
        bool(param.const_at_entry),
        bool(param.stack_at_entry),
        param.first_word,
        param.second_word,
    )


def probe_address(expr, *, address_size=8, addr=b"", addr_base=0, big_endian=False):
    """The address in a variable's location expression, or None; -1 for an index that no table has."""
    found: cython.int
    unit: Unit
    sections: DebugSections
    address: uint64_t = 0
    memset(cython.address(unit), 0, cython.sizeof(Unit))
    memset(cython.address(sections), 0, cython.sizeof(DebugSections))
    unit.version = 5
    unit.address_size = address_size
    unit.offset_size = 4
    unit.addr_base = addr_base
    sections.swap = big_endian
    _span(cython.address(sections.addr), addr)
    found = first_operation_address(
        LOC_BLOCK,
        _bytes(expr),
        len(expr),
        cython.address(unit),
        cython.address(sections),
        cython.address(address),
    )
    if found < 0:
        return -1
    return address if found else None


# ---------------------------------------------------------------- units


@cython.final
@cython.cclass
class ProbeUnit:
    """A unit made of Python values. Names are any positive numbers, 0 for none; slot 0 of the types is added.

    types: (tag, ref, name, size, first, count); members: (name, ref, bit offset, byte offset, storage size,
    bitfield size, flags); params: dictionaries of fields of Param.
    """

    unit: Unit
    align: U32s

    def __cinit__(self, types, members=(), params=(), *, address_size=8, clang=False):
        i: cython.size_t
        t: cython.pointer[Type]
        m: cython.pointer[Member]
        p: cython.pointer[Param]
        self.unit.address_size = address_size
        self.unit.left = 1 << 30
        self.unit.is_clang = clang
        self.unit.n_types = len(types) + 1
        self.unit.types = cython.cast(cython.pointer[Type], calloc(len(types) + 1, cython.sizeof(Type)))
        self.unit.members = cython.cast(cython.pointer[Member], calloc(len(members) + 1, cython.sizeof(Member)))
        self.unit.params = cython.cast(cython.pointer[Param], calloc(len(params) + 1, cython.sizeof(Param)))
        for i, (tag, ref, name, size, first, count) in enumerate(types):
            t = self.unit.types + i + 1
            t.tag, t.ref, t.name, t.size, t.first, t.count = tag, ref, name, size, first, count
        for i, (name, ref, bit, byte, storage, bits, flags) in enumerate(members):
            m = self.unit.members + i
            m.name, m.ref, m.bit_offset, m.byte_offset = name, ref, bit, byte
            m.storage, m.bitfield_size, m.flags = storage, bits, flags
        self.unit.n_members = len(members)
        self.unit.n_params = len(params)
        for i, fields in enumerate(params):
            p = self.unit.params + i
            p.name = fields.get("name", i + 1)
            p.ref = fields.get("ref", 0)
            p.size = fields.get("size", 8)
            p.reg = fields.get("reg", -1)
            p.has_loc = fields.get("has_loc", "reg" in fields)
            p.has_const = fields.get("has_const", False)
            p.const_at_entry = fields.get("const_at_entry", False)
            p.stack_at_entry = fields.get("stack_at_entry", False)
            p.in_memory = fields.get("in_memory", p.size > 2 * address_size)
            p.first_word = fields.get("first_word", 0)
            p.second_word = fields.get("second_word", 0)

    def __dealloc__(self):
        free(self.unit.types)
        free(self.unit.members)
        free(self.unit.params)
        u32s_free(cython.address(self.align))

    def packed(self, small_id):
        """Whether the struct is inferred packed."""
        return infer_packed(cython.address(self.unit), small_id, cython.address(self.align)) == 1

    def size(self, small_id):
        """The size of a type in bytes."""
        return type_size(cython.address(self.unit), small_id)

    def analyse(self, e_machine, *, changed=False, true_signature=False):
        """(optimized, unexpected, uncertain, per parameter a string) of the function with these parameters.

        The string has "o" if the parameter is flagged optimized, "u" if unexpected, and, with true_signature,
        "=NAME" if the member of this name replaces it.
        """
        machine: Machine
        function: Function
        i: uint32_t
        p: cython.pointer[Param]
        memset(cython.address(function), 0, cython.sizeof(Function))
        machine_init(cython.address(machine), e_machine)
        function.count = self.unit.n_params
        function.flags = F_SIGNATURE_CHANGED if changed else 0
        if true_signature:
            for i in range(function.count):
                find_candidate(cython.address(self.unit), self.unit.params + i)
        analyse_function(cython.address(self.unit), cython.address(function), cython.address(machine), true_signature)
        verdicts = []
        for i in range(function.count):
            p = self.unit.params + i
            text = ("o" if p.optimized else "") + ("u" if p.unexpected else "")
            verdicts.append(text + (f"={p.candidate_name}" if p.candidate_name else ""))
        uncertain = uncertain_location(
            cython.address(self.unit),
            cython.address(function),
            cython.address(machine),
            cython.address(self.align),
        )
        return (
            bool(function.flags & F_OPTIMIZED),
            bool(function.flags & F_UNEXPECTED),
            uncertain == 1,
            verdicts,
        )

    def ref(self, index):
        """The parameter's current type."""
        return self.unit.params[cython.cast(uint32_t, index)].ref


# ---------------------------------------------------------------- combining


@cython.final
@cython.cclass
class ProbeClasses:
    """A class table of given records, each a tuple of words; class ids count from 1."""

    table: ClassTable
    words: cython.pointer[uint32_t]
    rows: cython.pointer[cython.pointer[uint32_t]]
    chunks: cython.pointer[cython.pointer[cython.pointer[uint32_t]]]

    def __cinit__(self, records):
        i: cython.size_t
        k: cython.size_t
        at: cython.size_t = 0
        count: cython.size_t = len(records) + 1
        self.words = cython.cast(cython.pointer[uint32_t], calloc(sum(map(len, records)) + 1, cython.sizeof(uint32_t)))
        self.rows = cython.cast(cython.pointer[cython.pointer[uint32_t]], calloc(count, cython.sizeof(cython.p_void)))
        self.chunks = cython.cast(
            cython.pointer[cython.pointer[cython.pointer[uint32_t]]],
            calloc(count // CLASS_CHUNK + 1, cython.sizeof(cython.p_void)),
        )
        for i, record in enumerate(records):
            self.rows[i + 1] = self.words + at
            for k, word in enumerate(record):
                self.words[at + k] = word
            at += len(record)
        for i in range(count // CLASS_CHUNK + 1):
            self.chunks[i] = self.rows + i * CLASS_CHUNK
        self.table.records = self.chunks
        self.table.n = count

    def __dealloc__(self):
        free(self.words)
        free(self.rows)
        free(self.chunks)

    def match(self, a, b):
        """Whether two classes match."""
        return types_match(cython.address(self.table), a, b) == 1


@cython.cfunc
def fill_table(table: cython.pointer[FuncTable], entries: list, keep: list) -> cython.void:
    """`keep` gets the encoded names, which the table points to."""
    i: cython.size_t
    at: uint32_t = 0
    for i, (base, symbols, *rest) in enumerate(entries):
        name: bytes = base.encode()
        keep.append(name)
        table.name[i] = name
        table.name_len[i] = len(name)
        facts = rest[0] if rest else {}
        table.ambiguous[i] = facts.get("ambiguous", False)
        table.kfunc[i] = "kfunc" in facts
        table.kfunc_flags[i] = facts.get("kfunc", 0)
        table.first[i] = at
        for symbol, address in symbols:
            full: bytes = symbol.encode()
            keep.append(full)
            table.sym_name[at] = full
            table.value[at] = address
            table.sym_flags[at] = SYM_SUFFIXED if "." in symbol else 0
            if ".constprop" in symbol or ".isra" in symbol:
                table.sym_flags[at] |= SYM_CLONE
            at += 1
    table.first[len(entries)] = at


@cython.cfunc
def make_table(table: cython.pointer[FuncTable], entries: list, keep: list) -> cython.void:
    n: cython.size_t = len(entries)
    symbols: cython.size_t = sum(len(entry[1]) for entry in entries)
    memset(table, 0, cython.sizeof(FuncTable))
    table.n = n
    table.name = cython.cast(cython.pointer[cython.p_const_char], calloc(n + 1, cython.sizeof(cython.p_void)))
    table.name_len = cython.cast(cython.pointer[uint32_t], calloc(n + 1, 4))
    table.ambiguous = cython.cast(cython.pointer[uint8_t], calloc(n + 1, 1))
    table.kfunc = cython.cast(cython.pointer[uint8_t], calloc(n + 1, 1))
    table.kfunc_flags = cython.cast(cython.pointer[uint32_t], calloc(n + 1, 4))
    table.first = cython.cast(cython.pointer[uint32_t], calloc(n + 1, 4))
    table.value = cython.cast(cython.pointer[uint64_t], calloc(symbols + 1, 8))
    table.sym_name = cython.cast(cython.pointer[cython.p_const_char], calloc(symbols + 1, cython.sizeof(cython.p_void)))
    table.sym_flags = cython.cast(cython.pointer[uint8_t], calloc(symbols + 1, 1))
    fill_table(table, entries, keep)


@cython.cfunc
def free_table(table: cython.pointer[FuncTable]) -> cython.void:
    free(table.name)
    free(table.name_len)
    free(table.ambiguous)
    free(table.kfunc)
    free(table.kfunc_flags)
    free(table.first)
    free(table.value)
    free(table.sym_name)
    free(table.sym_flags)


def probe_combine(entries, states, classes: ProbeClasses, *, consistent=True, true_signature=False):
    """([(name, state, full name?, kfunc?, kfunc flags)] in order of emission, [fate of each entry]).

    entries: (base name, [(symbol, address)], facts), sorted by name; facts are optional: {"ambiguous": True,
    "kfunc": FLAGS}; states: (entry, address, prototype class, flags).
    """
    table: FuncTable
    out: Emission
    i: cython.size_t
    options: cython.int = (FN_CONSISTENT if consistent else 0) | (FN_TRUE_SIGNATURE if true_signature else 0)
    keep: list = []
    n: cython.size_t = len(states)
    array: cython.pointer[State] = cython.cast(cython.pointer[State], calloc(n + 1, cython.sizeof(State)))
    make_table(cython.address(table), list(entries), keep)
    memset(cython.address(out), 0, cython.sizeof(Emission))
    for i, (entry, address, proto, flags) in enumerate(states):
        array[i].entry, array[i].address, array[i].proto, array[i].flags = entry, address, proto, flags
    try:
        if combine_functions(
            array,
            n,
            cython.address(table),
            cython.address(classes.table),
            options,
            cython.address(out),
        ):
            raise MemoryError
        emitted = [
            (
                out.p[i].name[: out.p[i].name_len].decode(),
                out.p[i].state,
                bool(out.p[i].full_symbol_name),
                bool(out.p[i].kfunc),
                out.p[i].kfunc_flags,
            )
            for i in range(out.n)
        ]
        return emitted, [out.fate[i] for i in range(table.n)]
    finally:
        emission_free(cython.address(out))
        free_table(cython.address(table))
        free(array)


# ---------------------------------------------------------------- what is kept of the units


@cython.cfunc
def described(run: Inputs, c: uint32_t) -> str:
    """A class in words. Pointers are `*` before their target; a variant has its class and a bit for each name."""
    r: cython.pointer[cython.const[uint32_t]] = class_record(run.e.classes, c)
    kind: uint32_t = record_kind(r)
    if kind == KIND_VARIANT:
        return f"{described(run, r[REC_NAME])}, {'defined' if r[REC_HEAD] & 1 else 'declared'}"
    if kind == KIND_PTR:
        return f"*{described(run, r[REC_THIRD])}" if r[REC_THIRD] else "*void"
    if kind == KIND_FUNC_PROTO:
        return f"function of {r[REC_COUNT]}"
    name: str = run.text(r[REC_NAME])
    if kind == KIND_FWD:
        return f"struct {name}; declared"
    return f"struct {name} of {r[REC_THIRD]}" if kind == KIND_STRUCT else name


def probe_kept(run: Run):
    """What became of the types of a run that notes DIEs, after encoding. For each unit: whether it is kept whole, and
    its types, each as (class, apart?, kept?, id). For each declaration that the de-duplication was told about: the id
    of the definition, and the unit by whose end it is resolved. Ids are those of the types that they were mapped to.
    """
    e: cython.pointer[Encoder] = cython.address(run.e)
    t: cython.pointer[KeptUnit]
    u: uint32_t
    i: uint32_t
    id: uint32_t
    entry: uint32_t
    units = []
    for u in range(e.n_kept):
        t = cython.address(e.kept[u])
        types = []
        for i in range(1, t.n_types):
            entry = e.class_list.p[t.classes + i]
            id = assembled_id(e, u, i)
            kept = bool(t.first_id <= id < t.first_id + t.n)
            while run.map[id] != id:
                id = run.map[id]
            types.append((described(run, entry & CLASS_BITS), bool(entry & APART), kept, id))
        units.append((bool(t.whole), types))
    ends = {e.kept[u].first_id + e.kept[u].n: u for u in reversed(range(e.n_kept))}
    return units, [(e.resolved.p[i + 1], ends[e.resolved.p[i + 2]]) for i in range(0, e.resolved.n, 3)]
