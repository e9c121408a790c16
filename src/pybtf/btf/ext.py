"""`.BTF.ext`: what the BTF of a BPF object says about its instructions.

    header     magic, version, flags, its own length; then offset and length of each of the parts
    part       the size of its records, then for each ELF section with code:
                   offset of the section's name, number of records, records

There are three parts: which function begins at an instruction, which source line it is from, and what a loader has to
change in it (CO-RE relocations); the last one came later, so a header may end before it. The header and the records may
be longer than is known here: what follows the known fields is skipped. All offsets of parts count from the end of the
header, those of strings are in `.BTF`.

A part is checked and read when it is asked for, so damage in one does not hide the others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from pybtf.arguments import path_of
from pybtf.btf.files import open_file
from pybtf.btf.header import has_magic
from pybtf.btf.kinds import MAGIC, VERSION
from pybtf.btf.reader import BTF
from pybtf.btf.strings import BadStringOffset, Strings
from pybtf.errors import InputError, Place

if TYPE_CHECKING:
    import os

    from pybtf.btf.elf_sections import ElfSections
    from pybtf.core.support.whole_file import WholeFile

SECTION = ".BTF.ext"
EXPECTED = "a BPF object, an ELF file, which may be compressed"
_FIXED = "HBBI"
_SPAN = "II"
_SHORTEST = struct.calcsize("<" + _FIXED + 2 * _SPAN)
_COLUMN_BITS = 10


class RelocationKind(IntEnum):
    """What the value is that a CO-RE relocation puts into an instruction."""

    FIELD_BYTE_OFFSET = 0
    FIELD_BYTE_SIZE = 1
    FIELD_EXISTS = 2
    FIELD_SIGNED = 3
    FIELD_LSHIFT_U64 = 4
    FIELD_RSHIFT_U64 = 5
    TYPE_ID_LOCAL = 6
    TYPE_ID_TARGET = 7
    TYPE_EXISTS = 8
    TYPE_SIZE = 9
    ENUMVAL_EXISTS = 10
    ENUMVAL_VALUE = 11
    TYPE_MATCHES = 12


class FunctionInfo(NamedTuple):
    """The FUNC `type` begins `offset` bytes into the ELF section `section`."""

    section: str
    offset: int
    type: int


class LineInfo(NamedTuple):
    """The instruction `offset` bytes into `section` is from this place; `source` is the line's text. 0: not known."""

    section: str
    offset: int
    file: str
    source: str
    line: int
    column: int


class Relocation(NamedTuple):
    """The instruction `offset` bytes into `section` needs a fact about what `access` (`0:1:2`) of `type` is."""

    section: str
    offset: int
    type: int
    access: str
    kind: RelocationKind


class _Part(NamedTuple):
    """Wire form of the records of a part: their words that are known."""

    name: str
    words: int


_PARTS = (_Part("func_info", 2), _Part("line_info", 4), _Part("core_relo", 4))
_FUNCTIONS, _LINES, _RELOCATIONS = range(3)


class BtfExt:
    """The `.BTF.ext` that belongs to a BTF. Raises InputError, with the place, for what is malformed."""

    def __init__(self, data: bytes, btf: BTF, place: Place) -> None:
        """Use `from_bytes` or `read_object`."""
        self.data = data
        self.place = place
        self._strings: Strings = btf.strings
        self._end_id = btf.end_id
        if not has_magic(data):
            found = f"magic {data[:2].hex(' ')}" if data else "no data"
            raise InputError(place, found, f"{SECTION}, which begins with 9f eb or eb 9f")
        self.little = data[0] == MAGIC & 0xFF
        self._order = "<" if self.little else ">"
        if self.little != btf.header.little:
            raise InputError(place, "another byte order than that of .BTF", "the same")
        if len(data) < _SHORTEST:
            raise InputError(place, f"{len(data)} bytes", f"a header of at least {_SHORTEST}")
        _, version, flags, length = struct.unpack_from(self._order + _FIXED, data)
        if version != VERSION:
            raise InputError(self._at(2), f"version {version}", f"version {VERSION}")
        if flags:
            raise InputError(self._at(3), f"flags {flags:#x}", "0")
        if not _SHORTEST <= length <= len(data) or length % 4:
            raise InputError(
                self._at(4), f"header length {length}", f"{_SHORTEST} to {len(data)}, a multiple of 4"
            )
        self._header_length: int = length

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, btf: BTF, *, name: str = "<bytes>") -> BtfExt:
        """Read `.BTF.ext` whose strings and types are in `btf`; `name` stands for it in messages."""
        return cls(bytes(data), btf, Place(name, SECTION, 0))

    def functions(self) -> Iterator[FunctionInfo]:
        """Where functions begin, in the order of the file."""
        for at, section, words in self._records(_FUNCTIONS):
            yield FunctionInfo(section, words[0], self._type(words[1], at + 4))

    def lines(self) -> Iterator[LineInfo]:
        """Source lines, in the order of the file."""
        for at, section, (offset, file, source, place) in self._records(_LINES):
            line, column = place >> _COLUMN_BITS, place & (1 << _COLUMN_BITS) - 1
            yield LineInfo(section, offset, self._string(file, at + 4), self._string(source, at + 8), line, column)

    def relocations(self) -> Iterator[Relocation]:
        """CO-RE relocations, in the order of the file."""
        for at, section, (offset, type, access, kind) in self._records(_RELOCATIONS):
            if kind > max(RelocationKind):
                raise InputError(
                    self._at(at + 12), f"relocation kind {kind}", f"0 to {max(RelocationKind)}"
                )
            yield Relocation(
                section, offset, self._type(type, at + 4), self._string(access, at + 8), RelocationKind(kind)
            )

    def renumbered(self, ids: Mapping[int, int]) -> bytes:
        """The same with other ids of types, 0 for those that are not among `ids`."""
        data = bytearray(self.data)
        for part in (_FUNCTIONS, _RELOCATIONS):
            for at, _, words in self._records(part):
                struct.pack_into(self._order + "I", data, at + 4, ids.get(words[1], 0))
        return bytes(data)

    def _span(self, number: int) -> tuple[int, int]:
        """Start and end of a part; empty if the header is too short to tell."""
        field = struct.calcsize("<" + _FIXED) + 8 * number
        if field + 8 > self._header_length:
            return 0, 0
        offset, length = struct.unpack_from(self._order + _SPAN, self.data, field)
        start = self._header_length + offset
        if not length:
            return start, start
        if start % 4 or start + length > len(self.data):
            raise InputError(
                self._at(field),
                f"{_PARTS[number].name} at {start:#x}, {length} bytes long",
                f"a multiple of 4, and an end within the {len(self.data)} bytes of {SECTION}",
            )
        return start, start + length

    def _records(self, number: int) -> Iterator[tuple[int, str, tuple[int, ...]]]:
        """Where each record of a part is, its section, and its known words."""
        at, end = self._span(number)
        if at == end:
            return
        name, words = _PARTS[number]
        known = f"{self._order}{words}I"
        (size,) = self._unpack("I", at, end, f"record size of {name}")
        if size < 4 * words or size % 4:
            raise InputError(
                self._at(at), f"{name} records of {size} bytes", f"at least {4 * words}, a multiple of 4"
            )
        at += 4
        while at < end:
            name_offset, count = self._unpack("II", at, end, f"section of {name}")
            section = self._string(name_offset, at)
            if not count or count > (end - at - 8) // size:
                raise InputError(
                    self._at(at + 4),
                    f"{count} records of {name}, {size} bytes each",
                    f"at least 1, and at most {(end - at - 8) // size}, which the part has room for",
                )
            at += 8
            for _ in range(count):
                yield at, section, struct.unpack_from(known, self.data, at)
                at += size

    def _unpack(self, form: str, at: int, end: int, what: str) -> tuple[int, ...]:
        if at + 4 * len(form) > end:
            raise InputError(self._at(at), f"{end - at} bytes", f"the {what}, {4 * len(form)} bytes")
        return struct.unpack_from(self._order + form, self.data, at)

    def _type(self, id: int, at: int) -> int:
        if id >= self._end_id:
            raise InputError(self._at(at), f"type id {id}", f"below {self._end_id}")
        return id

    def _string(self, offset: int, at: int) -> str:
        try:
            return self._strings.lookup(offset)
        except BadStringOffset:
            found = f"string offset {offset:#x}"
            raise InputError(self._at(at), found, f"below {self._strings.end:#x}") from None

    def _at(self, offset: int) -> Place:
        return Place(self.place.file, self.place.section, (self.place.offset or 0) + offset)


def read_object(path: str | bytes | os.PathLike[str]) -> tuple[BTF, BtfExt | None]:
    """The BTF of a BPF object, an ELF file, and its `.BTF.ext`, None if it has none. It may be compressed as a whole.

    Raises InputError if the file cannot be read, is not an ELF file, or has no BTF or malformed BTF.
    """
    file = path_of(path)

    def of_raw(data: bytes | WholeFile) -> tuple[bytes, bytes | None]:
        from pybtf.elf.unlike import unlike

        raise unlike(file, bytes(data), EXPECTED)

    def of_elf(sections: ElfSections) -> tuple[bytes, bytes | None]:
        data = sections.contents(".BTF")
        return data, sections.contents(SECTION) if sections.find(SECTION) is not None else None

    data, ext = open_file(file, of_raw, of_elf, expected=EXPECTED)
    btf = BTF(data, None, Place(file, ".BTF", 0))
    return btf, BtfExt(ext, btf, Place(file, SECTION, 0)) if ext is not None else None
