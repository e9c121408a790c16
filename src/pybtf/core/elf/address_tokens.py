"""Which relocation an address came from, told by the address itself.

A reader of an object's DWARF sees values, not relocations. So the fields of .debug_info and .debug_addr that hold
addresses of code and data are filled with *tokens* instead: numbers that say which relocation belongs there. The DWARF
is then decoded as usual, and each address that comes out names its relocation. What is added to an address on the way
(DW_OP_plus_uconst) remains as the distance from the token, which the gap between two of them has room for.

A field whose symbol is in a section that is not allocated, as .debug_str, is not an address, and is left alone: offsets
of 64-bit DWARF have the relocation types of addresses.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.elf_headers import relocation_size
from cython.cimports.pybtf.core.elf.relocate import RELOC_SET, RELOC_SUM, Entry, entry_read
from cython.cimports.pybtf.core.elf.symbols import Symbol, SymbolSource, SymbolView, read_symbol
from cython.cimports.pybtf.core.support.cursor import bswap32, bswap64


def put_tokens(
    out,
    relocs,
    source: SymbolSource,
    unallocated: bytes,
    table: bytes,
    *,
    rela: cython.bint,
    mips64: cython.bint,
    base: uint64_t,
    gap: uint64_t,
):
    """Put the token `base + gap * i` where relocation `i` of the data `relocs` sets an address in `out`, a writable
    buffer that has been relocated, so that all of them are known to be sound. `unallocated`: a byte for each section,
    nonzero if its symbols are not addresses; `table`: as for `apply_relocations`.
    """
    view = cython.declare(cython.Py_buffer)
    data = cython.declare(cython.Py_buffer)
    PyObject_GetBuffer(out, cython.address(view), PyBUF_WRITABLE)
    try:
        PyObject_GetBuffer(relocs, cython.address(data), PyBUF_SIMPLE)
        try:
            put_all(
                cython.cast(cython.pointer[uint8_t], view.buf),
                view.len,
                cython.cast(cython.pointer[cython.const[uint8_t]], data.buf),
                data.len,
                cython.address(source.view),
                cython.cast(cython.pointer[cython.const[uint8_t]], cython.cast(cython.p_char, unallocated)),
                len(unallocated),
                cython.cast(cython.pointer[cython.const[uint8_t]], cython.cast(cython.p_char, table)),
                len(table),
                rela,
                mips64,
                base,
                gap,
            )
        finally:
            PyBuffer_Release(cython.address(data))
    finally:
        PyBuffer_Release(cython.address(view))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_all(
    out: cython.pointer[uint8_t],
    size: uint64_t,
    relocs: cython.pointer[cython.const[uint8_t]],
    relocs_size: uint64_t,
    symbols: cython.pointer[SymbolView],
    unallocated: cython.pointer[cython.const[uint8_t]],
    sections: uint64_t,
    table: cython.pointer[cython.const[uint8_t]],
    types: uint64_t,
    rela: cython.bint,
    mips64: cython.bint,
    base: uint64_t,
    gap: uint64_t,
) -> cython.void:
    """As `put_tokens`. Sizes are in bytes; `sections` and `types` are the lengths of `unallocated` and `table`. Only
    fields as wide as an address of the file, 4 or 8 bytes, get a token.
    """
    word: uint64_t = 8 if symbols.is64 else 4
    step: uint64_t = relocation_size(symbols.is64, rela)
    width: cython.int = cython.cast(cython.int, word) << 4
    cell: uint8_t = cython.cast(uint8_t, RELOC_SET | width)
    sum_cell: uint8_t = cython.cast(uint8_t, RELOC_SUM | width)
    swap: cython.bint = symbols.swap
    i: uint64_t
    token: uint64_t
    short_token: uint32_t
    e = cython.declare(Entry)
    s = cython.declare(Symbol)
    for i in range(relocs_size // step):
        entry_read(cython.address(e), relocs + i * step, symbols.is64, swap, rela, mips64)
        if e.type >= types or e.symbol >= symbols.n:
            continue
        if table[e.type] != cell and table[e.type] != sum_cell:
            continue
        if e.offset > size or size - e.offset < word:
            continue
        read_symbol(symbols, e.symbol, cython.address(s))
        if s.section < sections and (s.section < SHN_LORESERVE or s.extended) and unallocated[s.section]:
            continue
        token = base + gap * i
        if word == 8:
            token = bswap64(token) if swap else token
            memcpy(out + e.offset, cython.address(token), 8)
        else:
            short_token = cython.cast(uint32_t, token)
            short_token = bswap32(short_token) if swap else short_token
            memcpy(out + e.offset, cython.address(short_token), 4)
