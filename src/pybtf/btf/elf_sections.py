"""Just enough of an ELF file to find one section by name: the ELF header, the section headers, their names."""

from __future__ import annotations

import os
import struct
from itertools import islice

from pybtf.elf.constants import SHF_COMPRESSED, SHN_XINDEX, SHT_NOBITS, SHT_NULL
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

BANNER = b"Linux version "
MODULE = ".gnu.linkonce.this_module"
"""The section that a kernel module has."""
PIECE = 1 << 18
OVERLAP = 512
"""A banner that begins in one piece and ends in the next is in both."""
MAX_RODATA = 64 << 20


@record(frozen=True)
class ElfSection:
    """A section header's fields that matter here; offset and size in bytes."""

    name: int
    type: int
    flags: int
    offset: int
    size: int
    link: int


def dwarf_hint(file: str, module: bool = False, packed: bool = False) -> str:
    """What there is to say of a file without BTF, but with DWARF. BTF cannot be put into one that is `packed`."""
    words = f"{' --base VMLINUX' if module else ''}{' --detached OUT' if packed else ''}"
    if file == "standard input":
        return f"It has DWARF: `pybtf encode{words}` makes BTF of that, once it is in a file."
    from shlex import quote

    return f"It has DWARF: `pybtf encode{words} {quote(file)}` makes BTF of that."


class ElfSections:
    """Just enough of an ELF file to find one section by name. `pointer` is the size of its addresses. If `packed`
    is set, `stream` is what `file` unpacks to.
    """

    def __init__(self, stream: BinaryIO, file: str, start: bytes, packed: bool = False) -> None:
        self.stream = stream
        self.file = file
        self.packed = packed
        self.size = stream.seek(0, os.SEEK_END)
        if len(start) < 52 or start[4] not in (1, 2) or start[5] not in (1, 2):
            raise InputError(file, "a damaged ELF header", "class and byte order 1 or 2")
        wide = start[4] == 2
        self.pointer = 8 if wide else 4
        order = "<" if start[5] == 1 else ">"
        self.record = order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
        self.headers, entry_size, count, names = self._header(start, order, wide)
        if self.headers == 0:
            raise InputError(file, "no section headers", "an ELF file with sections")
        if entry_size != struct.calcsize(self.record):
            raise InputError(
                file, f"section headers of {entry_size} bytes", str(struct.calcsize(self.record))
            )
        first = next(self._sections(1))
        self.count = count or first.size
        self.names_index = first.link if names == SHN_XINDEX else names

    def _header(self, start: bytes, order: str, wide: bool) -> tuple[int, int, int, int]:
        """e_shoff, e_shentsize, e_shnum, e_shstrndx."""
        length = 64 if wide else 52
        if len(start) < length:
            raise InputError(self.file, f"{len(start)} bytes", f"an ELF header of {length}")
        (offset,) = struct.unpack_from(order + ("Q" if wide else "I"), start, 40 if wide else 32)
        entry_size, count, names = struct.unpack_from(order + "HHH", start, length - 6)
        return offset, entry_size, count, names

    def _sections(self, count: int) -> Iterator[ElfSection]:
        """The first so many sections, one at a time: a hostile file can have millions."""
        data = self._read(self.headers, count * struct.calcsize(self.record), "section headers")
        for fields in struct.iter_unpack(self.record, data):
            yield ElfSection(fields[0], fields[1], fields[2], fields[4], fields[5], fields[6])

    def _check(self, offset: int, size: int, what: str) -> None:
        if offset > self.size or size > self.size - offset:
            place = Place(self.file, None, offset)
            expected = f"an end within the {self.size} bytes of the file"
            raise InputError(place, f"{what} of {size} bytes", expected, "The file is truncated or damaged.")

    def _read(self, offset: int, size: int, what: str) -> bytes:
        self._check(offset, size, what)
        self.stream.seek(offset)
        return self.stream.read(size)

    def _names(self) -> bytes:
        if not self.names_index < self.count:
            found = f"section {self.names_index} as table of section names"
            raise InputError(self.file, found, f"an index below {self.count}")
        table = next(islice(self._sections(self.count), self.names_index, None))
        return self._read(table.offset, table.size, "section names")

    def contents(self, name: str) -> bytes:
        """Bytes of the first section of this name."""
        offset, size = self.place_of(name)
        self.stream.seek(offset)
        return self.stream.read(size)

    def place_of(self, name: str) -> tuple[int, int]:
        """Offset and size in bytes of the first section of this name, which are within the file."""
        section = self.find(name)
        if section is None:
            raise InputError(self.file, f"no {name} section", "an ELF file with BTF", self.hint())
        return self._place(section, name)

    def find(self, name: str) -> ElfSection | None:
        """The first section of this name."""
        names = self._names()
        wanted = name.encode() + b"\0"
        found = (each for each in self._sections(self.count) if names.startswith(wanted, each.name))
        return next(found, None)

    def hint(self) -> str:
        """What to do about BTF that is missing; nothing without DWARF."""
        sections = (self.find(name) for name in (".debug_info", ".zdebug_info"))
        found = any(section is not None and section.type != SHT_NULL for section in sections)
        return dwarf_hint(self.file, self.find(MODULE) is not None, self.packed) if found else ""

    def release(self) -> str | None:
        """What comes after `Linux version` in the first `.rodata`: near its start, so it is read in pieces."""
        section = self.find(".rodata")
        if section is None or section.type == SHT_NOBITS or section.offset + section.size > self.size:
            return None
        for at in range(section.offset, section.offset + min(section.size, MAX_RODATA), PIECE):
            self.stream.seek(at)
            piece = self.stream.read(min(PIECE + OVERLAP, section.offset + section.size - at))
            _, banner, rest = piece.partition(BANNER)
            release, space, _ = rest.partition(b" (")
            if banner and space and release.isascii() and len(release) < OVERLAP:
                return release.decode("ascii")
        return None

    def _place(self, section: ElfSection, name: str) -> tuple[int, int]:
        place = Place(self.file, name)
        if section.type == SHT_NOBITS:
            found = f"a NOBITS section of {section.size} bytes: its contents are not in this file"
            hint = "Separate debug files keep only the header of .BTF; use the file they were split from."
            raise InputError(place, found, "a section with contents", hint=hint)
        if section.flags & SHF_COMPRESSED:
            hint = "Decompress it with `objcopy --decompress-debug-sections`."
            raise InputError(place, "a compressed section", "BTF as it is", hint=hint)
        self._check(section.offset, section.size, f"section {name}")
        return section.offset, section.size
