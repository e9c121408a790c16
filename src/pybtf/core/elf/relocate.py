"""Applying the relocations of one section to a private copy of it.

The file says, per relocation: an offset in the section, a type, a symbol, and (RELA) an addend; with REL the
addend is what the field holds. Debug sections need only few types, and all of them are variations of one
thing: put symbol + addend into a field of some width. So a machine is a table from type to operation and
width, and this file knows no machine but one: MIPS in 64-bit files packs up to three types into one record.

The value of a symbol is its st_value plus the assigned address of its section. Absolute symbols have no
section, common ones no address yet: theirs is the addend alone. A relocation against an undefined symbol is
left alone, as are types that have no meaning in a debug section: so does pahole, found by experiment.

Nothing in the input is trusted: offsets, symbol and section indexes are compared with their bounds at every
use.
"""

import cython
from cython.cimports.cpython.buffer import (
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.elf_headers import relocation_size
from cython.cimports.pybtf.core.elf.relocate import (
    RELOC_ADD,
    RELOC_LEAVE,
    RELOC_SET,
    RELOC_SUB,
    RELOC_SUM,
    RELOC_UNKNOWN,
    Entry,
    entry_read,
)
from cython.cimports.pybtf.core.elf.symbols import (
    Symbol,
    SymbolSource,
    SymbolView,
    load16,
    load32,
    load64,
    read_symbol,
)
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.cursor import bswap16, bswap32, bswap64

OPERATIONS = {
    "leave": RELOC_LEAVE,
    "set": RELOC_SET,
    "add": RELOC_ADD,
    "sub": RELOC_SUB,
    "sum": RELOC_SUM,
}


SET_WORD = cython.declare(uint8_t, RELOC_SET | 4 << 4)
SET_LONG = cython.declare(uint8_t, RELOC_SET | 8 << 4)

OK = cython.declare(cython.int, 0)
BAD_TYPE = cython.declare(cython.int, 1)
BAD_OFFSET = cython.declare(cython.int, 2)
BAD_SYMBOL = cython.declare(cython.int, 3)
BAD_SECTION = cython.declare(cython.int, 4)


class RelocationError(ValueError):
    """A relocation that cannot be applied: its index in its section, what was found and what was expected.

    `type` is the relocation type, when that is what is wrong.
    """

    def __init__(self, index: object, found: str, expected: str, type: object = None) -> None:
        self.index = index
        self.found = found
        self.expected = expected
        self.type = type
        super().__init__(f"relocation {index}: {found}; expected {expected}")


# One section being relocated.
Job = cython.struct(
    out=cython.pointer[uint8_t],
    size=uint64_t,
    relocs=cython.pointer[cython.const[uint8_t]],
    n=uint64_t,
    rela=cython.bint,
    mips64=cython.bint,
    plain=cython.bint,  # relocations have the form of most machines: 64 bits, with addend, in the host's byte order
    symbols=cython.pointer[SymbolView],
    addresses=cython.pointer[cython.const[uint8_t]],
    sections=uint64_t,
    table=cython.pointer[cython.const[uint8_t]],
    types=uint64_t,
    # The relocation that failed, and the offending number.
    bad=uint64_t,
    number=uint64_t,
)

# What is known of relocations that look like one before: of a plain job, and setting 4 or 8 bytes.
Known = cython.struct(info=uint64_t, value=uint64_t, width=uint64_t)


def apply_relocations(
    out, relocs, source: SymbolSource, addresses, table: bytes, *, rela: cython.bint, mips64: cython.bint
):
    """Apply the data `relocs` of a SHT_RELA or SHT_REL section to `out`, a writable buffer, in place.

    `source`: the symbol table that the section links to, whose class and byte order are the file's;
    `addresses`: a 64-bit word for each section, in the host's byte order; `table`: operation | width << 4 by
    relocation type. Raises `RelocationError`; `out` is then relocated up to there.
    """
    job = cython.declare(Job)
    view = cython.declare(cython.Py_buffer)
    data = cython.declare(cython.Py_buffer)
    where = cython.declare(cython.Py_buffer)
    status: cython.int
    PyObject_GetBuffer(out, cython.address(view), PyBUF_WRITABLE)
    try:
        PyObject_GetBuffer(relocs, cython.address(data), PyBUF_SIMPLE)
        try:
            PyObject_GetBuffer(addresses, cython.address(where), PyBUF_SIMPLE)
            try:
                job.out = cython.cast(cython.pointer[uint8_t], view.buf)
                job.size = view.len
                job.relocs = cython.cast(cython.pointer[cython.const[uint8_t]], data.buf)
                job.n = cython.cast(uint64_t, data.len) // relocation_size(source.view.is64, rela)
                job.rela = rela
                job.mips64 = mips64
                job.plain = source.view.is64 and rela and not mips64 and not source.view.swap
                job.symbols = cython.address(source.view)
                job.addresses = cython.cast(cython.pointer[cython.const[uint8_t]], where.buf)
                job.sections = where.len // 8
                job.table = cython.cast(cython.pointer[cython.const[uint8_t]], cython.cast(cython.p_char, table))
                job.types = len(table)
                job.bad = job.number = 0
                with cython.nogil:
                    status = apply_all(cython.address(job))
                if status != OK:
                    raise explain(cython.address(job), status)
            finally:
                PyBuffer_Release(cython.address(where))
        finally:
            PyBuffer_Release(cython.address(data))
    finally:
        PyBuffer_Release(cython.address(view))


@cython.cfunc
def explain(job: cython.pointer[Job], status: cython.int):
    n = job.number
    if status == BAD_TYPE:
        return RelocationError(job.bad, f"type {n}", "a relocation type of the machine", n)
    if status == BAD_OFFSET:
        return RelocationError(job.bad, f"a field at {n:#x}", f"a field within the section's {job.size:#x} bytes")
    if status == BAD_SYMBOL:
        return RelocationError(job.bad, f"symbol {n}", f"an index below {job.symbols.n}")
    return RelocationError(job.bad, f"a symbol in section {n}", f"an index below {job.sections}, or a special one")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apply_all(job: cython.pointer[Job]) -> cython.int:
    """Applies relocations in order, those of a plain job in runs if they are alike (`apply_known`). Other than OK:
    BAD_*, for relocation `job.bad` and the offending `job.number`; all before it have been applied.
    """
    e = cython.declare(Entry)
    value: uint64_t = 0
    step: cython.size_t = relocation_size(job.symbols.is64, job.rela)
    cell: uint8_t
    status: cython.int = OK
    last: uint32_t = 0  # most relocations in a row are to one symbol, that of .debug_str; symbol 0 has the value 0
    i: uint64_t = 0
    known = cython.declare(Known[16])
    k: cython.pointer[Known]
    CHECK(cython.sizeof(known) == 16 * cython.sizeof(Known), "slot_of has sixteen slots")
    # Nothing is known yet: 0 belongs into the slot 0 only, and 1 not there.
    memset(known, 0, cython.sizeof(known))
    known[0].info = 1
    while i < job.n:
        job.bad = i
        entry_read(cython.address(e), job.relocs + i * step, job.symbols.is64, job.symbols.swap, job.rela, job.mips64)
        i += 1
        cell = job.table[e.type] if e.type < job.types else 0
        if cell & 15 == RELOC_LEAVE:
            continue
        if cell & 15 == RELOC_UNKNOWN:
            job.number = e.type
            return BAD_TYPE
        if e.symbol != last:
            status = symbol_value(job, e.symbol, cython.address(value))
            last = e.symbol
        if status < 0:
            continue
        if status != OK:
            return status
        if not apply_one(job, e.offset, cell, value + e.addend):
            return BAD_OFFSET
        if job.plain and (cell == SET_WORD or cell == SET_LONG):
            k = cython.address(known[slot_of((cython.cast(uint64_t, e.symbol) << 32) | e.type)])
            k.info = (cython.cast(uint64_t, e.symbol) << 32) | e.type
            k.value = value
            k.width = cell >> 4
            i = apply_known(job, i, known, k)
    return OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def slot_of(info: uint64_t) -> cython.size_t:
    """Where in sixteen slots a symbol and a type belong."""
    return cython.cast(cython.size_t, ((info >> 32) ^ info) & 15)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apply_known(
    job: cython.pointer[Job], i: uint64_t, known: cython.pointer[Known], k: cython.pointer[Known]
) -> uint64_t:
    """Applies relocations from number `i` on whose symbol and type are known, and that lie within the section; the
    number of the first that is not such. `k`: the one that became known last. Only where the job is plain.
    """
    offset: uint64_t = 0
    info: uint64_t = 0
    value: uint64_t = 0
    last: uint64_t = job.size - 8
    out: cython.pointer[uint8_t] = job.out
    p: cython.pointer[cython.const[uint8_t]] = job.relocs + i * 24
    end: cython.pointer[cython.const[uint8_t]] = job.relocs + job.n * 24
    word: uint32_t
    if job.size < 8:
        return i
    while p < end:
        memcpy(cython.address(offset), p, 8)
        memcpy(cython.address(info), p + 8, 8)
        memcpy(cython.address(value), p + 16, 8)
        if k.info != info:
            k = cython.address(known[slot_of(info)])
            if k.info != info:
                break
        if offset > last:
            break
        value += k.value
        if k.width == 4:
            word = cython.cast(uint32_t, value)
            memcpy(out + offset, cython.address(word), 4)
        else:
            memcpy(out + offset, cython.address(value), 8)
        p += 24
    return cython.cast(uint64_t, p - job.relocs) // 24


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def symbol_value(job: cython.pointer[Job], index: uint32_t, value: cython.pointer[uint64_t]) -> cython.int:
    """OK and the value, -1 if the relocation is to be left alone, or the failure."""
    s = cython.declare(Symbol)
    value[0] = 0
    if index == 0:
        return OK
    if index >= job.symbols.n:
        job.number = index
        return BAD_SYMBOL
    read_symbol(job.symbols, index, cython.address(s))
    if s.section == 0:
        return -1
    if s.section < job.sections and (s.section < SHN_LORESERVE or s.extended):
        value[0] = s.value + load64(job.addresses + cython.cast(cython.size_t, s.section) * 8, False)
    elif s.section == SHN_ABS and not s.extended:
        value[0] = s.value
    elif s.section != SHN_COMMON or s.extended:
        job.number = s.section
        return BAD_SECTION
    return OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def apply_one(job: cython.pointer[Job], offset: uint64_t, cell: uint8_t, value: uint64_t) -> cython.bint:
    """Change one field. With REL, its contents are the addend, so it is added to instead of set. False: outside."""
    op: cython.uint = cell & 15
    width: cython.uint = cell >> 4
    p: cython.pointer[uint8_t]
    if offset > job.size or job.size - offset < width:
        job.number = offset
        return False
    p = job.out + offset
    if op == RELOC_SUB:
        value = load_field(p, width, job.symbols.swap) - value
    elif op == RELOC_ADD or op == RELOC_SUM or not job.rela:
        value += load_field(p, width, job.symbols.swap)
    store_field(p, width, job.symbols.swap, value)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def load_field(p: cython.pointer[cython.const[uint8_t]], width: cython.uint, swap: cython.bint) -> uint64_t:
    if width == 8:
        return load64(p, swap)
    if width == 4:
        return load32(p, swap)
    if width == 2:
        return load16(p, swap)
    return p[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def store_field(p: cython.pointer[uint8_t], width: cython.uint, swap: cython.bint, value: uint64_t) -> cython.void:
    v32: uint32_t
    v16: uint16_t
    if width == 8:
        if swap:
            value = bswap64(value)
        memcpy(p, cython.address(value), 8)
    elif width == 4:
        v32 = cython.cast(uint32_t, value)
        if swap:
            v32 = bswap32(v32)
        memcpy(p, cython.address(v32), 4)
    elif width == 2:
        v16 = cython.cast(uint16_t, value)
        if swap:
            v16 = bswap16(v16)
        memcpy(p, cython.address(v16), 2)
    else:
        p[0] = cython.cast(uint8_t, value)
