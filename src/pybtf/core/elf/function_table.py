"""The immutable table of ELF functions, and the set of ELF objects, both from a symbol table.

A function of DWARF is encoded only if the symbol table has a function of that name, and what the encoder
wants to know is asked for by *base name*, the part of a symbol's name before its first '.': which symbols
share the base name (`foo`, `foo.isra.0`), where they are, and whether that place is ambiguous. So the table
is sorted and grouped by base name. A kernel has 50,000 functions, and this runs before the first unit can
be finished, so it is one pass over the symbols, which takes all that is wanted of each while its name is at
hand, and a sort of small records (symbol_sort.py). Order is bytewise, and equal names keep the order of the
symbol table, because rules depend on it. Names are not copied; they stay where the mapped file has them, and
`SymbolSource` keeps that memory alive.

Ambiguity, as pahole has it: walk an entry's addresses with a remembered one, at first 0; if the
remembered one is not 0 and differs from the next, the entry is ambiguous. So 0 followed by an address is
not ambiguous, an address followed by 0 is. The last entry in sort order is never ambiguous (Q6).

Hostile input. Offsets of names are compared with the size of the string table, which must end with a NUL,
so no name runs out of it. Names may overlap in ways that make a small file expensive (a million symbols
that point into one long string); their total length is limited to a multiple of the string table's size.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memchr, memcmp, strlen, strstr
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.function_table import (
    NO_ENTRY,
    SYM_CLONE,
    SYM_SUFFIXED,
    FuncTable,
    ObjectSet,
    functable_find,
)
from cython.cimports.pybtf.core.elf.symbol_sort import Candidate, first_bytes, sort_symbols
from cython.cimports.pybtf.core.elf.symbols import (
    Symbol,
    SymbolSource,
    SymbolView,
    load16,
    name_budget,
    name_ok,
    read_symbol,
    symbol_size,
    symbol_type,
)
from cython.cimports.pybtf.core.support.hashing import SALT2, fold, hash_bytes

from pybtf.core.elf.symbols import bad_name, too_long

ALL_SECTIONS = 0

OK = cython.declare(cython.int, 0)
NO_MEMORY = cython.declare(cython.int, 1)
BAD_NAME = cython.declare(cython.int, 2)
NAMES_TOO_LONG = cython.declare(cython.int, 3)


@cython.final
@cython.cclass
class FunctionTable:
    """Function symbols by base name, and, on request, object symbols by section and name.

    `object_section`: None: collect no objects; `ALL_SECTIONS`: those of every section; otherwise those of the
    section with this index. Raises `SymbolError` if a symbol that takes part has no usable name.
    """

    def __cinit__(self, source: SymbolSource = None, object_section=None):
        self.source = source
        if source is not None:  # else it is filled later, or by function_table_join.py
            self.fill(source, object_section)

    def fill(self, source: SymbolSource, object_section=None):
        """Reads the symbols into an empty table. Raises as the constructor."""
        bad: uint32_t = 0
        status: cython.int
        section: uint32_t
        self.source = source
        with cython.nogil:
            status = build(cython.address(self.t), cython.address(source.view), cython.address(bad))
        if status == OK and object_section is not None:
            section = object_section
            with cython.nogil:
                status = collect_objects(
                    cython.address(self.objects), cython.address(source.view), section, cython.address(bad)
                )
        if status == NO_MEMORY:
            raise MemoryError
        if status == NAMES_TOO_LONG:
            raise too_long(source, bad)
        if status != OK:
            raise bad_name(source, bad)

    def __dealloc__(self):
        free(self.t.name)
        free(self.t.name_len)
        free(self.t.hash)
        free(self.t.ambiguous)
        free(self.t.kfunc)
        free(self.t.kfunc_flags)
        free(self.t.first)
        free(self.t.value)
        free(self.t.sym_name)
        free(self.t.sym_flags)
        free(self.t.slots)
        free(self.t.file)
        free(self.t.head)
        free(self.objects.name)
        free(self.objects.name_len)
        free(self.objects.section)

    def __len__(self):
        return self.t.n

    def find(self, name: bytes):
        """The index of the entry with this base name, or None."""
        entry: uint32_t = functable_find(cython.address(self.t), name, len(name))
        return None if entry == NO_ENTRY else entry

    def has_object(self, section: uint32_t, name: bytes):
        """Whether the section has an STT_OBJECT symbol of exactly this name (see `object_section`)."""
        return bool(object_symbol(self, section, name, len(name)))

    def mark_kfunc(self, name: bytes, flags: uint32_t):
        """Make the entry of this base name a kfunc; a repeated mark replaces the flags (Q29). False: no entry."""
        if self.frozen:
            raise RuntimeError("the function table is frozen")
        entry: uint32_t = functable_find(cython.address(self.t), name, len(name))
        if entry == NO_ENTRY:
            return False
        self.t.kfunc[entry] = 1
        self.t.kfunc_flags[entry] = flags
        return True

    def freeze(self):
        """From here on the table never changes; workers may share it."""
        self.frozen = True

    def entries(self):
        """For tests and reports: (base name, ambiguous, [(symbol name, st_value), ...]) in sort order."""
        t: cython.pointer[FuncTable] = cython.address(self.t)
        result: list = []
        i: uint32_t
        j: uint32_t
        for i in range(t.n):
            symbols: list = []
            for j in range(t.first[i], t.first[i + 1]):
                symbols.append((text(t.sym_name[j], strlen(t.sym_name[j])), t.value[j]))
            result.append((text(t.name[i], t.name_len[i]), bool(t.ambiguous[i]), symbols))
        return result

    def suffixes(self, name: bytes):
        """For tests: (has a suffix, is a constprop or isra clone) of each symbol of this base name."""
        result: list = []
        i: uint32_t
        entry: uint32_t = functable_find(cython.address(self.t), name, len(name))
        if entry != NO_ENTRY:
            for i in range(self.t.first[entry], self.t.first[entry + 1]):
                flags = self.t.sym_flags[i]
                result.append((bool(flags & SYM_SUFFIXED), bool(flags & SYM_CLONE)))
        return result

    def kfuncs(self):
        """For tests and reports: the flags of all kfuncs by base name."""
        t: cython.pointer[FuncTable] = cython.address(self.t)
        result: dict = {}
        i: uint32_t
        for i in range(t.n):
            if t.kfunc[i]:
                result[text(t.name[i], t.name_len[i])] = t.kfunc_flags[i]
        return result


@cython.cfunc
def text(name: cython.p_const_char, size: cython.size_t):
    return name[:size].decode("utf-8", "surrogateescape")


# ---- functions


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def build(t: cython.pointer[FuncTable], v: cython.pointer[SymbolView], bad: cython.pointer[uint32_t]) -> cython.int:
    """Fill `t`. On failure whatever was allocated stays in `t`, to be freed by its owner."""
    n: uint32_t = count_type(v, STT_FUNC)
    a: cython.pointer[Candidate] = cython.cast(
        cython.pointer[Candidate], malloc((cython.cast(cython.size_t, n) * 2 + 1) * cython.sizeof(Candidate))
    )
    status: cython.int = NO_MEMORY
    if a != cython.NULL:
        status = gather(v, a, cython.address(n), bad)
        if status == OK:
            status = fill(t, v, a, n) if sort_symbols(a, a + n, n, v.strtab) else NO_MEMORY
        free(a)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_type(v: cython.pointer[SymbolView], kind: cython.int) -> uint32_t:
    step: cython.size_t = symbol_size(v.is64)
    count: uint32_t = 0
    i: cython.size_t
    for i in range(v.n):
        count += symbol_type(v.symtab + i * step, v.is64) == kind
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(
    v: cython.pointer[SymbolView],
    a: cython.pointer[Candidate],
    n: cython.pointer[uint32_t],
    bad: cython.pointer[uint32_t],
) -> cython.int:
    """Put the function symbols that take part into `a`, in table order, and their number into `n`."""
    s = cython.declare(Symbol)
    c: cython.pointer[Candidate]
    name: cython.p_const_char
    suffix: cython.p_const_char
    size: cython.size_t
    step: cython.size_t = symbol_size(v.is64)
    count: uint32_t = 0
    budget: uint64_t = name_budget(v)
    i: uint32_t
    for i in range(v.n):
        if symbol_type(v.symtab + i * step, v.is64) != STT_FUNC:
            continue
        bad[0] = i
        read_symbol(v, i, cython.address(s))
        if not name_ok(v, s.name):
            return BAD_NAME
        name = v.strtab + s.name
        size = strlen(name)
        if size > budget:
            return NAMES_TOO_LONG
        budget -= size
        suffix = cython.cast(cython.p_const_char, memchr(name, b".", size))
        if suffix == cython.NULL:
            suffix = name + size
        elif strstr(suffix, ".cold") or strstr(suffix, ".part"):
            continue
        c = a + count
        c.value = s.value
        c.name = s.name
        c.base = cython.cast(uint32_t, suffix - name)
        c.word = first_bytes(name, c.base)
        c.hash = hash_bytes(name, c.base)
        c.flags = symbol_flags(suffix)
        count += 1
    n[0] = count
    return OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill(
    t: cython.pointer[FuncTable], v: cython.pointer[SymbolView], a: cython.pointer[Candidate], n: uint32_t
) -> cython.int:
    """Make the table of the sorted candidates `a`."""
    name: cython.p_const_char
    i: uint32_t
    entry: uint32_t = 0
    if not allocate(t, n):
        return NO_MEMORY
    for i in range(n):
        name = v.strtab + a[i].name
        if i == 0 or not same_base(a + i - 1, a + i, v.strtab):
            t.name[entry] = name
            t.name_len[entry] = a[i].base
            t.hash[entry] = a[i].hash
            t.first[entry] = i
            insert(t, entry)
            entry += 1
        t.value[i] = a[i].value
        t.sym_name[i] = name
        t.sym_flags[i] = cython.cast(uint8_t, a[i].flags)
    t.n = entry
    t.first[entry] = n
    for i in range(entry):
        t.ambiguous[i] = i + 1 < entry and is_ambiguous(t, i)
    return OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def same_base(x: cython.pointer[Candidate], y: cython.pointer[Candidate], strtab: cython.p_const_char) -> cython.bint:
    return x.hash == y.hash and x.base == y.base and memcmp(strtab + x.name, strtab + y.name, x.base) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def allocate(t: cython.pointer[FuncTable], n: cython.size_t) -> cython.bint:
    """Arrays for `n` symbols in up to `n` entries."""
    slots: cython.size_t = 8
    while slots < 2 * n:
        slots *= 2
    t.slot_mask = cython.cast(uint32_t, slots - 1)
    t.slots = cython.cast(cython.pointer[uint32_t], calloc(slots, cython.sizeof(uint32_t)))
    t.name = cython.cast(cython.pp_const_char, malloc((n + 1) * cython.sizeof(cython.p_const_char)))
    t.name_len = cython.cast(cython.pointer[uint32_t], malloc((n + 1) * cython.sizeof(uint32_t)))
    t.hash = cython.cast(cython.pointer[uint64_t], malloc((n + 1) * cython.sizeof(uint64_t)))
    t.ambiguous = cython.cast(cython.pointer[uint8_t], malloc(n + 1))
    t.kfunc = cython.cast(cython.pointer[uint8_t], calloc(n + 1, 1))
    t.kfunc_flags = cython.cast(cython.pointer[uint32_t], calloc(n + 1, cython.sizeof(uint32_t)))
    t.first = cython.cast(cython.pointer[uint32_t], malloc((n + 1) * cython.sizeof(uint32_t)))
    t.value = cython.cast(cython.pointer[uint64_t], malloc((n + 1) * cython.sizeof(uint64_t)))
    t.sym_name = cython.cast(cython.pp_const_char, malloc((n + 1) * cython.sizeof(cython.p_const_char)))
    t.sym_flags = cython.cast(cython.pointer[uint8_t], malloc(n + 1))
    return (
        t.slots != cython.NULL
        and t.name != cython.NULL
        and t.name_len != cython.NULL
        and t.hash != cython.NULL
        and t.ambiguous != cython.NULL
        and t.kfunc != cython.NULL
        and t.kfunc_flags != cython.NULL
        and t.first != cython.NULL
        and t.value != cython.NULL
        and t.sym_name != cython.NULL
        and t.sym_flags != cython.NULL
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def symbol_flags(suffix: cython.p_const_char) -> uint8_t:
    if suffix[0] == 0:
        return 0
    if strstr(suffix, ".constprop") or strstr(suffix, ".isra"):
        return SYM_SUFFIXED | SYM_CLONE
    return SYM_SUFFIXED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_ambiguous(t: cython.pointer[FuncTable], entry: uint32_t) -> cython.bint:
    known: uint64_t = 0
    i: uint32_t
    for i in range(t.first[entry], t.first[entry + 1]):
        if known and known != t.value[i]:
            return True
        known = t.value[i]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert(t: cython.pointer[FuncTable], entry: uint32_t) -> cython.void:
    at: uint32_t = cython.cast(uint32_t, t.hash[entry]) & t.slot_mask
    while t.slots[at]:
        at = (at + 1) & t.slot_mask
    t.slots[at] = entry + 1


# ---- objects


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def object_symbol(
    table: FunctionTable, section: uint32_t, name: cython.p_const_char, size: cython.size_t
) -> cython.bint:
    o: cython.pointer[ObjectSet] = cython.address(table.objects)
    return o.name != cython.NULL and o.name[object_slot(o, section, name, size)] != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def object_slot(
    o: cython.pointer[ObjectSet], section: uint32_t, name: cython.p_const_char, size: cython.size_t
) -> uint32_t:
    """The slot that holds this name, or the free one where it belongs. One name in many sections must not be a run of
    slots: where two runs meet, each name is looked for after all of both.
    """
    at: uint32_t = cython.cast(uint32_t, fold(hash_bytes(name, size) ^ section, SALT2)) & o.mask
    while o.name[at] != cython.NULL and not (
        o.section[at] == section and o.name_len[at] == size and memcmp(o.name[at], name, size) == 0
    ):
        at = (at + 1) & o.mask
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def collect_objects(
    o: cython.pointer[ObjectSet],
    v: cython.pointer[SymbolView],
    only: uint32_t,
    bad: cython.pointer[uint32_t],
) -> cython.int:
    """Fill `o` with the objects of section `only`, or of all sections if it is 0."""
    s = cython.declare(Symbol)
    name: cython.p_const_char
    size: cython.size_t
    slots: cython.size_t = 8
    step: cython.size_t = symbol_size(v.is64)
    budget: uint64_t = name_budget(v)
    at: uint32_t
    i: uint32_t
    count: cython.size_t = count_objects(v, only)
    while slots < 2 * count:
        slots *= 2
    o.mask = cython.cast(uint32_t, slots - 1)
    o.name_len = cython.cast(cython.pointer[uint32_t], malloc(slots * cython.sizeof(uint32_t)))
    o.section = cython.cast(cython.pointer[uint32_t], malloc(slots * cython.sizeof(uint32_t)))
    o.name = cython.cast(cython.pp_const_char, calloc(slots, cython.sizeof(cython.p_const_char)))
    if o.name == cython.NULL or o.name_len == cython.NULL or o.section == cython.NULL:
        return NO_MEMORY
    for i in range(v.n):
        if not may_be_object(v, v.symtab + i * step, only):
            continue
        read_symbol(v, i, cython.address(s))
        if not is_object(cython.address(s), only):
            continue
        bad[0] = i
        if not name_ok(v, s.name):
            return BAD_NAME
        name = v.strtab + s.name
        size = strlen(name)
        if size > budget:
            return NAMES_TOO_LONG
        budget -= size
        at = object_slot(o, s.section, name, size)
        o.name[at] = name
        o.name_len[at] = cython.cast(uint32_t, size)
        o.section[at] = s.section
    return OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_objects(v: cython.pointer[SymbolView], only: uint32_t) -> uint32_t:
    """How many there are at most."""
    step: cython.size_t = symbol_size(v.is64)
    count: uint32_t = 0
    i: cython.size_t
    for i in range(v.n):
        count += may_be_object(v, v.symtab + i * step, only)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def may_be_object(
    v: cython.pointer[SymbolView], p: cython.pointer[cython.const[uint8_t]], only: uint32_t
) -> cython.bint:
    """Whether `is_object` can say yes to the entry at `p`. Without branches: types of symbols can't be foreseen."""
    section: uint64_t = load16(p + (6 if v.is64 else 14), v.swap)
    is_one: cython.bint = symbol_type(p, v.is64) == STT_OBJECT
    return is_one & ((only == 0) | (section == only) | (section == SHN_XINDEX))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def is_object(s: cython.pointer[Symbol], only: uint32_t) -> cython.bint:
    if s.type != STT_OBJECT or s.section == 0 or (s.section >= SHN_LORESERVE and not s.extended):
        return False
    return only == 0 or s.section == only
