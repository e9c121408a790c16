"""What a link has decided, as bytes: equal bytes, and values of objects give the same BTF.

When one function of a kernel grows, all after it move. The BTF does not say where a function is, and depends only on
which addresses are the same: those of symbols of one name, and those of functions that objects describe and of symbols.
So instead of an address, the facts have the number of the first symbol that has it. Variables are different: their
offset in a section that is wanted is in the BTF, and so it is in the facts.

The facts are words in the host's byte order, and names, each with a NUL. They are handed over in pieces, for a digest.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memcpy, memset, strlen
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.function_table import FuncTable, FunctionTable
from cython.cimports.pybtf.core.elf.symbols import Symbol, SymbolView, name_ok, read_symbol
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold
from cython.cimports.pybtf.core.support.memory import U8s, prefetch, u8s_append, u8s_free

NO_SYMBOL = cython.declare(uint32_t, 0xFFFFFFFF)
PIECE = cython.declare(cython.size_t, 1 << 16)
AHEAD = cython.declare(uint32_t, 8)  # names and slots whose memory is asked for before they are looked at

Range = cython.struct(address=uint64_t, size=uint64_t, start=uint64_t, section=uint32_t)
Facts = cython.struct(
    table=cython.pointer[FuncTable],
    slots=cython.pointer[uint32_t],  # of a table by address: number of the first symbol there + 1, 0: free
    mask=uint32_t,
    ranges=cython.pointer[Range],
    n_ranges=uint32_t,
    wanted=cython.pointer[uint8_t],  # by index of a section: whether its variables are
    n_sections=uint32_t,
    out=U8s,
    failed=cython.bint,
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(f: cython.pointer[Facts], word: uint32_t) -> cython.void:
    if not u8s_append(cython.address(f.out), cython.address(word), 4):
        f.failed = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_name(f: cython.pointer[Facts], name: cython.p_const_char) -> cython.void:
    if not u8s_append(cython.address(f.out), name, strlen(name) + 1):
        f.failed = True


# ---- functions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def first_slot(f: cython.pointer[Facts], address: uint64_t) -> uint32_t:
    return cython.cast(uint32_t, fold(address ^ SALT2, SALT)) & f.mask


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slot_of(f: cython.pointer[Facts], address: uint64_t) -> cython.pointer[uint32_t]:
    """That of the first symbol at an address, or the free one where it belongs."""
    at: uint32_t = first_slot(f, address)
    while f.slots[at] and f.table.value[f.slots[at] - 1] != address:
        at = (at + 1) & f.mask
    return f.slots + at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_functions(f: cython.pointer[Facts], entry: uint32_t) -> uint32_t:
    """The table of functions, from an entry on. Where it goes on, after a piece."""
    t: cython.pointer[FuncTable] = f.table
    i: uint32_t
    slot: cython.pointer[uint32_t]
    last: uint32_t = t.first[t.n] - 1 if t.n else 0
    while entry < t.n and f.out.n < PIECE and not f.failed:
        put(f, t.first[entry + 1] - t.first[entry])
        put(f, t.kfunc[entry])
        put(f, t.kfunc_flags[entry])
        for i in range(t.first[entry], t.first[entry + 1]):
            if last - i >= AHEAD:
                prefetch(t.sym_name[i + AHEAD])
                prefetch(f.slots + first_slot(f, t.value[i + AHEAD]))
            slot = slot_of(f, t.value[i])
            if slot[0] == 0:
                slot[0] = i + 1
            put(f, slot[0] - 1)
            put(f, t.value[i] == 0)
            put_name(f, t.sym_name[i])
        entry += 1
    return entry


# ---- variables ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def range_of(f: cython.pointer[Facts], address: uint64_t) -> cython.pointer[Range]:
    """The range that an address is in, or NULL."""
    low: uint32_t = 0
    middle: uint32_t
    high: uint32_t = f.n_ranges
    while low < high:
        middle = low + (high - low) // 2
        if f.ranges[middle].address <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0 or address - f.ranges[low - 1].address >= f.ranges[low - 1].size:
        return cython.NULL
    return f.ranges + low - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_wanted(f: cython.pointer[Facts], s: cython.pointer[cython.const[Symbol]]) -> cython.bint:
    """Whether it is of an object in a section whose variables are wanted."""
    return s.type == STT_OBJECT and s.section < f.n_sections and f.wanted[s.section]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_objects(f: cython.pointer[Facts], v: cython.pointer[SymbolView], symbol: uint32_t) -> uint32_t:
    """Object symbols, from one on; they confirm variables at the start of a section. Where it goes on, after a piece.
    """
    s: Symbol
    while symbol < v.n and f.out.n < PIECE and not f.failed:
        read_symbol(v, symbol, cython.address(s))
        if is_wanted(f, cython.address(s)) and name_ok(v, s.name):
            put(f, s.section)
            put_name(f, v.strtab + s.name)
        symbol += 1
    return symbol


# ---- objects ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_addresses(f: cython.pointer[Facts], p: cython.pointer[cython.const[uint8_t]], n: cython.size_t) -> cython.void:
    """Those of the functions and variables of one object; which of them are which is not known here."""
    i: cython.size_t
    a: uint64_t = 0
    symbol: uint32_t
    r: cython.pointer[Range]
    put(f, cython.cast(uint32_t, n))
    for i in range(n):
        if n - i > AHEAD:
            memcpy(cython.address(a), p + 8 * (i + AHEAD), 8)
            prefetch(f.slots + first_slot(f, a))
        memcpy(cython.address(a), p + 8 * i, 8)
        symbol = slot_of(f, a)[0]
        # Where no symbol is, there is code nevertheless, unless the address is 0.
        put(f, symbol - 1 if symbol else NO_SYMBOL)
        r = range_of(f, a)
        put(f, cython.cast(uint32_t, a == 0) << 1 | (r != cython.NULL))
        if r != cython.NULL:
            put(f, r.section)
            put(f, cython.cast(uint32_t, a - r.start))
            put(f, cython.cast(uint32_t, (a - r.start) >> 32))


@cython.cfunc
def hand_over(f: cython.pointer[Facts], take):
    if f.failed:
        raise MemoryError
    take(f.out.p[: f.out.n])
    f.out.n = 0


@cython.cfunc
def hand_over_all(f: cython.pointer[Facts], symbols: FunctionTable, addresses, take):
    """Symbols of functions, then those of objects if variables are wanted, then the addresses of each object. A piece
    ends once it has PIECE bytes. Raises `MemoryError`, and what `take` raises.
    """
    at: uint32_t = 0
    view: cython.Py_buffer
    put(f, f.table.n)
    while at < f.table.n:
        at = put_functions(f, at)
        hand_over(f, take)
    if f.n_ranges and symbols.source is not None:
        at = 0
        while at < symbols.source.view.n:
            at = put_objects(f, cython.address(symbols.source.view), at)
            hand_over(f, take)
    put(f, NO_SYMBOL)
    for each in addresses:
        PyObject_GetBuffer(each, cython.address(view), PyBUF_SIMPLE)
        put_addresses(f, cython.cast(cython.pointer[cython.const[uint8_t]], view.buf), view.len // 8)
        PyBuffer_Release(cython.address(view))
        if f.out.n >= PIECE:
            hand_over(f, take)
    hand_over(f, take)


def link_facts(symbols: FunctionTable, addresses, ranges, take):
    """Hand the facts of a link (see above) to `take`, in pieces of bytes.

    `addresses`: of the functions and variables of each object, 64-bit words in the host's byte order; `ranges`: what of
    the address space belongs to sections whose variables are wanted, ascending, each as (first address, size, address
    of the section, its index).
    """
    f: Facts
    i: uint32_t
    slots: cython.size_t = 8
    memset(cython.address(f), 0, cython.sizeof(Facts))
    f.table = cython.address(symbols.t)
    while f.table.n and slots < 2 * cython.cast(cython.size_t, f.table.first[f.table.n]):
        slots *= 2
    f.mask = cython.cast(uint32_t, slots - 1)
    f.n_ranges = len(ranges)
    f.slots = cython.cast(cython.pointer[uint32_t], calloc(slots, cython.sizeof(uint32_t)))
    f.ranges = cython.cast(cython.pointer[Range], calloc(len(ranges) + 1, cython.sizeof(Range)))
    f.n_sections = 1 + max([section for *_, section in ranges], default=0)
    f.wanted = cython.cast(cython.pointer[uint8_t], calloc(f.n_sections, 1))
    try:
        if f.slots == cython.NULL or f.ranges == cython.NULL or f.wanted == cython.NULL:
            raise MemoryError
        for i in range(f.n_ranges):
            f.ranges[i].address, f.ranges[i].size, f.ranges[i].start, f.ranges[i].section = ranges[i]
            f.wanted[f.ranges[i].section] = True
        hand_over_all(cython.address(f), symbols, addresses, take)
    finally:
        free(f.slots)
        free(f.ranges)
        free(f.wanted)
        u8s_free(cython.address(f.out))
