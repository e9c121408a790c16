"""ELF files in memory for the tests of the ELF layer: sections as tuples, symbols as tuples, nothing else.

Small on purpose: these tests want to break single fields of header and section table, so they need a writer
whose layout is obvious. The file is header, section data in order, section names, section table.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

HEADER = {True: 64, False: 52}
ENTRY = {True: 64, False: 40}

NOTYPE, OBJECT, FUNC = 0, 1, 2


class Sec(NamedTuple):
    """A section; `size` differs from the data's only to lie."""

    name: str | bytes
    type: int = 1
    data: bytes = b""
    flags: int = 0
    addr: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entsize: int = 0
    size: int | None = None


class Sym(NamedTuple):
    """A symbol; the null symbol is added by `symbols`."""

    name: str
    value: int = 0
    size: int = 0
    type: int = FUNC
    section: int = 1


def elf(
    sections: list[Sec],
    *,
    is64: bool = True,
    little: bool = True,
    etype: int = 1,
    machine: int = 62,
    flags: int = 0,
    extended: bool = False,
) -> bytes:
    """An ELF file. Section 0 comes by itself, the given ones are 1, 2, ..., the names are the last.

    `extended`: put the number of sections and the index of the names into section 0, whatever they are.
    """
    order = "<" if little else ">"
    word = "Q" if is64 else "I"
    names = bytearray(b"\0")
    body = bytearray()
    rows = []
    for section in [*sections, Sec(".shstrtab", 3)]:
        at = len(names)
        names += (section.name if isinstance(section.name, bytes) else section.name.encode()) + b"\0"
        data = bytes(names) if section.name == ".shstrtab" else section.data
        size = len(data) if section.size is None else section.size
        offset = HEADER[is64] + len(body)
        rows.append((at, section.type, section.flags, section.addr, offset, size, *section[5:9]))
        body += data
    count, strings = len(rows) + 1, len(rows)
    body += bytes(-len(body) % 8)
    ident = b"\x7fELF" + bytes([2 if is64 else 1, 1 if little else 2, 1]) + bytes(9)
    header = ident + struct.pack(
        f"{order}HHI{word}{word}{word}IHHHHHH",
        *(etype, machine, 1, 0, 0, HEADER[is64] + len(body), flags, HEADER[is64], 0, 0, ENTRY[is64]),
        *((0, 0xFFFF) if extended else (count, strings)),
    )
    null = (0, 0, 0, 0, 0, count, strings, 0, 0, 0) if extended else (0,) * 10
    entry = struct.Struct(f"{order}II{word}{word}{word}{word}II{word}{word}")
    return header + bytes(body) + b"".join(entry.pack(*row) for row in [null, *rows])


def symbols(table: list[Sym], *, is64: bool = True, little: bool = True) -> tuple[bytes, bytes]:
    """The data of a symbol table, with a null symbol first, and of its string table."""
    order = "<" if little else ">"
    names = bytearray(b"\0")
    out = bytearray(24 if is64 else 16)
    for s in table:
        at = len(names)
        names += s.name.encode() + b"\0"
        if is64:
            out += struct.pack(f"{order}IBBHQQ", at, s.type, 0, s.section, s.value, s.size)
        else:
            out += struct.pack(f"{order}IIIBBH", at, s.value, s.size, s.type, 0, s.section)
    return bytes(out), bytes(names)


def with_symbols(
    sections: list[Sec],
    table: list[Sym],
    *,
    is64: bool = True,
    little: bool = True,
    etype: int = 1,
    machine: int = 62,
) -> bytes:
    """An ELF file with these sections, then `.symtab`, then `.strtab`."""
    symtab, strtab = symbols(table, is64=is64, little=little)
    own = [
        Sec(".symtab", 2, symtab, link=len(sections) + 2, entsize=24 if is64 else 16),
        Sec(".strtab", 3, strtab),
    ]
    return elf([*sections, *own], is64=is64, little=little, etype=etype, machine=machine)
