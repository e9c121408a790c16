"""One section of an ELF file, by its name, without a table of the others.

A merge opens as many objects as a kernel has, each for one section among fifty. Making an `ElfImage` of each takes
as long as all the rest of it. What is found here is what `ElfImage.section` and `data` would give. Of anything that
is not as usual nothing is said: whoever needs to know, or wants a message, makes the image.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.symbols import load16, load32, load64

Bytes = cython.typedef(cython.pointer[cython.const[uint8_t]])


def find_section(file, name: bytes):
    """Start and end, in the buffer `file`, of the data of its first section called `name`, a name of ASCII.

    None if there is none, if that has no data of its own or is compressed, or if the file is not as usual.
    """
    view = cython.declare(cython.Py_buffer)
    start: uint64_t = 0
    end: uint64_t = 0
    text: cython.p_char = name
    length: cython.size_t = len(name) + 1  # with its NUL
    found: cython.bint
    PyObject_GetBuffer(file, cython.address(view), PyBUF_SIMPLE)
    try:
        with cython.nogil:
            found = look_for(
                cython.cast(Bytes, view.buf), view.len, text, length, cython.address(start), cython.address(end)
            )
    finally:
        PyBuffer_Release(cython.address(view))
    return (start, end) if found else None


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_for(
    p: Bytes,
    n: uint64_t,
    name: cython.p_char,
    length: uint64_t,
    start: cython.pointer[uint64_t],
    end: cython.pointer[uint64_t],
) -> cython.bint:
    is64: cython.bint
    swap: cython.bint
    size: uint64_t
    count: uint64_t
    table: uint64_t
    names: uint64_t
    names_end: uint64_t
    text: uint64_t
    i: uint64_t
    entry: Bytes
    if n < 64 or memcmp(p, b"\x7fELF", 4) != 0 or p[6] != 1:
        return False
    if p[4] not in (1, 2) or p[5] not in (1, 2):
        return False
    is64, swap = p[4] == 2, p[5] == 2
    size = 64 if is64 else 40
    table = load64(p + 40, swap) if is64 else load32(p + 32, swap)
    entry = p + (58 if is64 else 46)  # e_shentsize, e_shnum, e_shstrndx
    count = load16(entry + 2, swap)
    i = load16(entry + 4, swap)
    if load16(entry, swap) != size or table == 0 or table > n or count > (n - table) // size or i == 0 or i >= count:
        return False
    if not data_of(p, n, p + table + i * size, is64, swap, cython.address(names), cython.address(names_end)):
        return False
    for i in range(count):
        entry = p + table + i * size
        text = names + load32(entry, swap)
        if text > names_end or names_end - text < length or memcmp(p + text, name, length) != 0:
            continue
        return data_of(p, n, entry, is64, swap, start, end)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def data_of(
    p: Bytes,
    n: uint64_t,
    entry: Bytes,
    is64: cython.bint,
    swap: cython.bint,
    start: cython.pointer[uint64_t],
    end: cython.pointer[uint64_t],
) -> cython.bint:
    """Where in the file the data of a section lies; false if it has none, or it is not plainly there."""
    type: uint64_t = load32(entry + 4, swap)
    flags: uint64_t = load64(entry + 8, swap) if is64 else load32(entry + 8, swap)
    offset: uint64_t = load64(entry + 24, swap) if is64 else load32(entry + 16, swap)
    size: uint64_t = load64(entry + 32, swap) if is64 else load32(entry + 20, swap)
    start[0], end[0] = offset, offset + size
    return type not in (SHT_NULL, SHT_NOBITS) and not flags & SHF_COMPRESSED and offset <= n and size <= n - offset
