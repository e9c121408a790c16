"""One section of an ELF file, by its name, without a table of the others.

A merge opens as many objects as a kernel has, each for one section among fifty. Making an `ElfImage` of each takes
as long as all the rest of it, and mapping them makes workers wait for each other: the system changes the address space
of a process for one thread at a time. So the header, the table of sections, their names and the section are read,
into memory that is used again. What is read here is what `ElfImage.section` and `data` would give. Anything
unusual is not reported here: whoever needs to know, or wants a message, makes the image.
"""

import os

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memset
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.elf_headers import (
    FileHeader,
    SectionHeader,
    read_file_header,
    read_section_header,
    section_entry_size,
)
from cython.cimports.pybtf.core.elf.symbols import load32
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG
from cython.cimports.pybtf.core.support.mapped_file import close_file, open_sized, read_at
from cython.cimports.pybtf.core.support.memory import U8s, u8s_free, u8s_reserve

Bytes = cython.typedef(cython.pointer[cython.const[uint8_t]])
MOST_NAMES = cython.declare(uint64_t, 1 << 20)  # bytes of sections' names that count as usual
NAMES_BEFORE = cython.declare(uint64_t, 2048)  # bytes before the table of sections that are read with it: mostly names


def section_of_file(path: str, name: bytes, most: int):
    """The data of the first section called `name`, a name of ASCII, of the file at `path`.

    None if there is no such file or section, if that has no data of its own, more than `most` bytes or is compressed,
    or if the file is not as usual.
    """
    limit: uint64_t = most
    data = cython.declare(U8s)
    where: bytes = os.fsencode(path)
    text: cython.p_char = name
    length: cython.size_t = len(name)
    found: cython.bint
    if b"\0" in where:
        return None
    file: cython.p_char = where
    memset(cython.address(data), 0, cython.sizeof(U8s))
    try:
        with cython.nogil:
            found = read_section(file, text, length, limit, cython.address(data))
        if not found:
            return None
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, data.p), cython.cast(cython.Py_ssize_t, data.n))
    finally:
        u8s_free(cython.address(data))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_section(
    path: cython.p_const_char,
    name: cython.p_const_char,
    length: cython.size_t,
    most: uint64_t,
    data: cython.pointer[U8s],
) -> cython.bint:
    """See `read_section.pxd`."""
    start: uint64_t = 0
    size: uint64_t = 0
    found: cython.bint
    file: cython.int = open_section(path, name, length, data, cython.address(start), cython.address(size))
    if file < 0:
        return False
    data.n = 0
    found = size <= most and read_part(file, start, size, data)
    close_file(file)
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_section(
    path: cython.p_const_char,
    name: cython.p_const_char,
    length: cython.size_t,
    scratch: cython.pointer[U8s],
    start: cython.pointer[uint64_t],
    size: cython.pointer[uint64_t],
) -> cython.int:
    """See `read_section.pxd`."""
    all_: uint64_t = 0
    file: cython.int = open_sized(path, cython.address(all_))
    if file >= 0 and not look_for(file, all_, name, length + 1, scratch, start, size):  # with its NUL
        close_file(file)
        return -1
    return file


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_part(file: cython.int, offset: uint64_t, n: uint64_t, data: cython.pointer[U8s]) -> cython.bint:
    """Puts a part of the file after what is there. False: it cannot be read, or there is no memory."""
    if not u8s_reserve(data, n) or not read_at(file, data.p + data.n, n, offset):
        return False
    data.n += n
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_for(
    file: cython.int,
    n: uint64_t,
    name: cython.p_const_char,
    length: uint64_t,
    data: cython.pointer[U8s],
    start: cython.pointer[uint64_t],
    its_size: cython.pointer[uint64_t],
) -> cython.bint:
    """Where in a file of `n` bytes the section lies."""
    p: uint8_t[64]
    header: FileHeader
    is64: cython.bint
    swap: cython.bint
    size: uint64_t
    count: uint64_t
    table: uint64_t
    end: uint64_t = 0
    text: uint64_t
    i: uint64_t
    last: uint64_t
    at: uint64_t
    before: uint64_t
    entry: Bytes
    names: Bytes
    names_size: uint64_t
    if n < 64 or not read_at(file, cython.address(p[0]), 64, 0) or memcmp(cython.address(p[0]), b"\x7fELF", 4) != 0:
        return False
    if p[4] not in (1, 2) or p[5] not in (1, 2) or p[6] != 1:
        return False
    is64, swap = p[4] == 2, (p[5] == 1) == HOST_IS_BIG
    read_file_header(cython.address(p[0]), is64, swap, cython.address(header))
    size = section_entry_size(is64)
    table, count, last = header.shoff, header.shnum, header.shstrndx
    if header.shentsize != size or table == 0 or table > n or count > (n - table) // size:
        return False
    if last == 0 or last >= count:
        return False
    data.n = 0
    before = NAMES_BEFORE if table > NAMES_BEFORE else table
    if not read_part(file, table - before, before + count * size, data):
        return False
    if not data_of(data.p + before + last * size, is64, swap, start, cython.address(end)):
        return False
    names_size = end - start[0]
    at = before + count * size
    if table - before <= start[0] <= end <= table:
        at = start[0] - (table - before)
    elif names_size > MOST_NAMES or not read_part(file, start[0], names_size, data):
        return False
    names = data.p + at
    for i in range(count):
        entry = data.p + before + i * size
        text = load32(entry, swap)
        if text > names_size or names_size - text < length or memcmp(names + text, name, length) != 0:
            continue
        if not data_of(entry, is64, swap, start, cython.address(end)):
            return False
        its_size[0] = end - start[0]
        return start[0] <= end <= n
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def data_of(
    entry: Bytes,
    is64: cython.bint,
    swap: cython.bint,
    start: cython.pointer[uint64_t],
    end: cython.pointer[uint64_t],
) -> cython.bint:
    """Where the data of a section lies, if that is in the file; false if it has none, or it is not plainly there."""
    s: SectionHeader
    read_section_header(entry, is64, swap, cython.address(s))
    start[0], end[0] = s.offset, s.offset + s.size
    return s.type not in (SHT_NULL, SHT_NOBITS) and not s.flags & SHF_COMPRESSED
