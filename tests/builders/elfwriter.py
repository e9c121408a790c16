"""ELF files from declarative tuples, in memory: test inputs that no compiler would write.

The file is laid out plainly: header, program headers, section data in the order given (each aligned), then
the section header table, at a multiple of 8. Section 0 is added in front; `.symtab`, `.strtab`, `.shstrtab` and one
`.rela*` per relocated section are added after the caller's sections, so the indices of these are 1..n in the order
given. Nothing is checked against the ELF specification, because tests also need wrong files. Fields of the ELF header
may be given; to make another field wrong, patch the bytes: `Elf.header_at` and `Elf.data_at` say where each section is.

This is the only writer of ELF in the tests. It uses nothing from `pybtf.elf`, which it tests.

Sources: System V gABI (chapters 4 and 5, and its `SHF_COMPRESSED` addition) and pyelftools' tables of names.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from elftools.elf.enums import (
    ENUM_E_MACHINE,
    ENUM_E_TYPE,
    ENUM_P_TYPE_BASE,
    ENUM_SH_TYPE_BASE,
    ENUM_ST_INFO_BIND,
    ENUM_ST_INFO_TYPE,
)

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_GROUP, SHF_COMPRESSED = 0x1, 0x2, 0x4, 0x200, 0x800
SHN_UNDEF, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFFF1, 0xFFF2, 0xFFFF


class Section(NamedTuple):
    """One section. `type`: a name without `SHT_`, or a number; `link`, `info`: an index or a section name."""

    name: str
    data: bytes = b""
    type: str | int = "PROGBITS"
    flags: int = 0
    address: int = 0
    size: int | None = None  # sh_size if it is not len(data): for NOBITS, and for wrong sizes
    link: str | int = 0
    info: str | int = 0
    align: int = 1
    entsize: int = 0
    compress: int | None = None  # SHF_COMPRESSED, zlib, at this level


class Symbol(NamedTuple):
    """One symbol. `section` is a section name, or a special index such as `SHN_ABS`."""

    name: str
    value: int = 0
    size: int = 0
    type: str | int = "FUNC"
    section: str | int = ".text"
    bind: str = "GLOBAL"


class Reloc(NamedTuple):
    """One relocation. `symbol` is a symbol name, or an index into the symbol table."""

    offset: int
    symbol: str | int
    type: int
    addend: int = 0


class Segment(NamedTuple):
    """A program header that covers the named sections, in file and memory."""

    sections: Sequence[str]
    type: str = "PT_LOAD"
    flags: int = 5
    align: int = 0x1000
    beyond: int = 0  # bytes after the last section that also belong to it


class Elf(NamedTuple):
    """The file, and where its parts are: file offsets by section name (of equal names, the first counts)."""

    data: bytes
    data_at: dict[str, int]
    header_at: dict[str, int]


def note(owner: bytes, kind: int, descriptor: bytes, *, little: bool = True) -> bytes:
    """One entry of an SHT_NOTE section."""
    head = struct.pack("<3I" if little else ">3I", len(owner) + 1, len(descriptor), kind)
    return head + _padded(owner + b"\0", 4) + _padded(descriptor, 4)


def btf_ids(
    entries: Sequence[tuple[str, int, int]], *, address: int, little: bool = True
) -> tuple[Section, list[Symbol]]:
    """`.BTF_ids` and its symbols from (symbol name, first word, second word) triples.

    A symbol that starts with `__BTF_ID__set8__` covers itself and all entries up to the next set, as in kernels; the
    others are eight bytes long.
    """
    order = "<" if little else ">"
    starts = [n for n, entry in enumerate(entries) if entry[0].startswith("__BTF_ID__set8__")]
    data, symbols = b"", []
    for n, (name, first, second) in enumerate(entries):
        end = next((s for s in starts if s > n), len(entries)) if n in starts else n + 1
        symbols.append(Symbol(name, address + 8 * n, 8 * (end - n), "OBJECT", ".BTF_ids", "LOCAL"))
        data += struct.pack(order + "2I", first, second)
    return Section(".BTF_ids", data, flags=SHF_ALLOC, address=address, align=4), symbols


def elf(
    sections: Iterable[Section],
    symbols: Sequence[Symbol] | None = (),
    relocations: Mapping[str, Sequence[Reloc]] | None = None,
    segments: Sequence[Segment] = (),
    *,
    bits: int = 64,
    little: bool = True,
    machine: str | int = "EM_X86_64",
    type: str | int = "ET_EXEC",
    rela: bool = True,
    names: str = ".shstrtab",
    extended: bool = False,
    header: Mapping[str, int] | None = None,
) -> Elf:
    """Writes an ELF file. `symbols=None` leaves out the symbol table; local symbols are moved to its front.

    `names`: the section for the names of the sections. If the caller has one of this name, it is filled; otherwise it
    is added at the end. `extended`: the number of sections and the index of the names are in section 0, as if there
    were too many. `header`: other values for fields of the ELF header, by their names without `e_`.
    """
    fields = {"type": _enum(ENUM_E_TYPE, type), "machine": _enum(ENUM_E_MACHINE, machine)}
    writer = _Writer(bits, little)
    return writer.write(
        list(sections), symbols, dict(relocations or {}), segments, rela, names, extended, fields | dict(header or {})
    )


def bare(
    sections: Sequence[Section],
    symbols: Sequence[Symbol] | None = None,
    *,
    is64: bool = True,
    little: bool = True,
    etype: int = 1,
    machine: int = 62,
    **options: Any,
) -> bytes:
    """An object file with these sections and their names, and with a symbol table if there are symbols."""
    return elf(
        sections, symbols, bits=64 if is64 else 32, little=little, type=etype, machine=machine, **options
    ).data


def symbol_table(symbols: Sequence[Symbol], *, is64: bool = True, little: bool = True) -> tuple[bytes, bytes]:
    """The data of a symbol table, with a null symbol first, and of its string table, where no two symbols share a name.

    Sections of the symbols are numbers.
    """
    writer = _Writer(64 if is64 else 32, little)
    table, names = writer.symbol(0, Symbol("", 0, 0, "NOTYPE", 0, "LOCAL"), 0), b"\0"
    for each in symbols:
        assert isinstance(each.section, int)
        table += writer.symbol(len(names), each, each.section)
        names += each.name.encode() + b"\0"
    return table, names


class _Writer:
    def __init__(self, bits: int, little: bool) -> None:
        self.wide = bits == 64
        self.little = little
        self.order = "<" if little else ">"
        self.word = 8 if self.wide else 4

    def pack(self, layout: str, *values: int) -> bytes:
        """Pack without padding; `W` is a word of the file's class. Values wrap."""
        layout = layout.replace("W", "Q" if self.wide else "I")
        sizes = [struct.calcsize(self.order + code) for code in layout]
        return b"".join(
            (value & ((1 << 8 * size) - 1)).to_bytes(size, "little" if self.little else "big")
            for size, value in zip(sizes, values, strict=True)
        )

    def write(
        self,
        sections: list[Section],
        symbols: Sequence[Symbol] | None,
        relocations: dict[str, Sequence[Reloc]],
        segments: Sequence[Segment],
        rela: bool,
        name_table: str,
        extended: bool,
        fields: dict[str, int],
    ) -> Elf:
        sections.insert(0, Section("", type="NULL", align=0))
        index = {section.name: n for n, section in reversed(list(enumerate(sections)))}
        if symbols is not None:
            ordered = sorted(symbols, key=lambda symbol: symbol.bind != "LOCAL")
            table, names = self._symbols(ordered, index)
            local = 1 + sum(symbol.bind == "LOCAL" for symbol in ordered)
            entsize = 24 if self.wide else 16
            sections.append(
                Section(
                    ".symtab",
                    table,
                    "SYMTAB",
                    0,
                    link=".strtab",
                    info=local,
                    align=self.word,
                    entsize=entsize,
                )
            )
            sections.append(Section(".strtab", names, "STRTAB"))
            numbers = {symbol.name: n for n, symbol in reversed(list(enumerate(ordered, 1)))}
            sections += [
                self._relocations(name, entries, numbers, rela) for name, entries in relocations.items()
            ]
        if name_table not in index:
            sections.append(Section(name_table, type="STRTAB"))
        index = {section.name: n for n, section in reversed(list(enumerate(sections)))}
        names, name_offsets = _strings(section.name for section in sections)
        shstrndx = index[name_table]
        sections[shstrndx] = sections[shstrndx]._replace(data=names)
        counts = {"shnum": len(sections), "shstrndx": shstrndx}
        if extended:
            sections[0] = sections[0]._replace(size=len(sections), link=shstrndx)
            counts = {"shnum": 0, "shstrndx": 0xFFFF}
        return self._assemble(sections, index, name_offsets, segments, counts | fields)

    def _symbols(self, symbols: Sequence[Symbol], index: Mapping[str, int]) -> tuple[bytes, bytes]:
        names, offsets = _strings([symbol.name for symbol in symbols])
        table = bytes(24 if self.wide else 16)
        for symbol in symbols:
            section = symbol.section if isinstance(symbol.section, int) else index[symbol.section]
            table += self.symbol(offsets[symbol.name], symbol, section)
        return table, names

    def symbol(self, name: int, symbol: Symbol, section: int) -> bytes:
        info = _enum(ENUM_ST_INFO_BIND, f"STB_{symbol.bind}") << 4
        info |= symbol.type if isinstance(symbol.type, int) else _enum(ENUM_ST_INFO_TYPE, f"STT_{symbol.type}")
        if self.wide:
            return self.pack("IBBHQQ", name, info, 0, section, symbol.value, symbol.size)
        return self.pack("IIIBBH", name, symbol.value, symbol.size, info, 0, section)

    def _relocations(
        self, name: str, entries: Sequence[Reloc], numbers: Mapping[str, int], rela: bool
    ) -> Section:
        data = b""
        for entry in entries:
            symbol = entry.symbol if isinstance(entry.symbol, int) else numbers[entry.symbol]
            info = symbol << 32 | entry.type if self.wide else symbol << 8 | entry.type
            data += self.pack("WW", entry.offset, info) + (self.pack("W", entry.addend) if rela else b"")
        return Section(
            (".rela" if rela else ".rel") + name,
            data,
            "RELA" if rela else "REL",
            link=".symtab",
            info=name,
            align=self.word,
            entsize=self.word * (3 if rela else 2),
        )

    def _assemble(
        self,
        sections: list[Section],
        index: dict[str, int],
        name_offsets: Mapping[str, int],
        segments: Sequence[Segment],
        fields: Mapping[str, int],
    ) -> Elf:
        ehsize, phentsize, shentsize = (64, 56, 64) if self.wide else (52, 32, 40)
        at = ehsize + phentsize * len(segments)
        body, headers = bytearray(), bytearray()
        data_at: dict[str, int] = {}
        stored: list[tuple[int, int]] = []
        for section in sections:
            data, flags = section.data, section.flags
            if section.compress is not None:
                data, flags = self._compressed(section), flags | SHF_COMPRESSED
            pad = -(at + len(body)) % max(section.align, 1)
            if section.type == "NULL":
                offset, size = 0, section.size or 0
            else:
                offset = at + len(body) + pad
                body += bytes(pad) + data
                size = len(data) if section.size is None else section.size
            data_at.setdefault(section.name, offset)
            stored.append((offset, size))
            headers += self.pack(
                "IIWWWWIIWW",
                name_offsets[section.name],
                section.type
                if isinstance(section.type, int)
                else _enum(ENUM_SH_TYPE_BASE, f"SHT_{section.type}"),
                flags,
                section.address,
                offset,
                size,
                _index(section.link, index),
                _index(section.info, index),
                section.align,
                section.entsize,
            )
        shoff = at + len(body) + -(at + len(body)) % 8
        header_at = {name: shoff + n * shentsize for name, n in index.items()}
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 1 if self.little else 2, 1]) + bytes(9)
        header = {
            "type": 0, "machine": 0, "version": 1, "entry": 0, "phoff": ehsize if segments else 0, "shoff": shoff,
            "flags": 0, "ehsize": ehsize, "phentsize": phentsize if segments else 0, "phnum": len(segments),
            "shentsize": shentsize, "shnum": 0, "shstrndx": 0,
        }  # fmt: skip
        assert fields.keys() <= header.keys(), fields
        packed = ident + self.pack("HHIWWWIHHHHHH", *{**header, **fields}.values())
        programs = b"".join(self._segment(segment, sections, stored, index) for segment in segments)
        data = packed + programs + body
        return Elf(data.ljust(shoff, b"\0") + headers, data_at, header_at)

    def _segment(
        self,
        segment: Segment,
        sections: list[Section],
        stored: list[tuple[int, int]],
        index: Mapping[str, int],
    ) -> bytes:
        first, last = index[segment.sections[0]], index[segment.sections[-1]]
        offset, address = stored[first][0], sections[first].address
        memory = sections[last].address + stored[last][1] - address + segment.beyond
        size = stored[last][0] + (0 if sections[last].type == "NOBITS" else stored[last][1]) - offset + segment.beyond
        memory = max(memory, size)
        kind = _enum(ENUM_P_TYPE_BASE, segment.type)
        if self.wide:
            return self.pack(
                "IIQQQQQQ", kind, segment.flags, offset, address, address, size, memory, segment.align
            )
        return self.pack(
            "IIIIIIII", kind, offset, address, address, size, memory, segment.flags, segment.align
        )

    def _compressed(self, section: Section) -> bytes:
        assert section.compress is not None
        reserved = [0] if self.wide else []
        layout = "IIQQ" if self.wide else "III"
        return self.pack(layout, 1, *reserved, len(section.data), section.align) + zlib.compress(
            section.data, section.compress
        )


def _strings(names: Iterable[str]) -> tuple[bytes, dict[str, int]]:
    table, offsets = b"\0", {"": 0}
    for name in names:
        if name not in offsets:
            offsets[name] = len(table)
            table += name.encode("utf-8", "surrogateescape") + b"\0"
    return table, offsets


def _index(value: str | int, index: Mapping[str, int]) -> int:
    return value if isinstance(value, int) else index[value]


def _enum(table: Mapping[str, int], value: str | int) -> int:
    return value if isinstance(value, int) else table[value]


def _padded(data: bytes, align: int) -> bytes:
    return data + bytes(-len(data) % align)
