"""Single DIEs of split units, by pyelftools, which knows no split DWARF (slow.py says what for).

Each unit gets a view of its own of the sections: its table of abbreviations, its strings. What pyelftools would look up
by a base that split units do not state, or does not know at all, are the forms that are indexes: of strings, addresses
and lists. In a copy of the table they become plain numbers of the same length (`_PLAIN`), and the strings and location
lists are looked up here. A table is changed in place: a form's code keeps its length, too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Any

from pybtf.dwarf.line_files import LineFiles
from pybtf.dwarf.package import read_index
from pybtf.dwarf.roots import Damaged, Reader
from pybtf.dwarf.sections import Buffer, DebugSections
from pybtf.dwarf.slow import FAULTS, Dies, allowance_of, dwarf_info
from pybtf.elf.image import ElfImage

_DATA1, _DATA2, _DATA4, _UDATA, _IMPLICIT = 0x0B, 0x05, 0x06, 0x0F, 0x21
_PLAIN = {
    0x1A: _UDATA, 0x25: _DATA1, 0x26: _DATA2, 0x28: _DATA4,  # strx, strx1, strx2, strx4
    0x1B: _UDATA, 0x29: _DATA1, 0x2A: _DATA2, 0x2C: _DATA4,  # addrx and these
    0x22: _UDATA, 0x23: _UDATA, 0x1F01: _UDATA, 0x1F02: _UDATA,  # loclistx, rnglistx, GNU_addr_index, GNU_str_index
}  # fmt: skip
MOST_OPEN = 64
"""Units that are kept open."""
MOST_ENTRIES = 1000
"""Entries of a location list in front of the first with an expression."""
_STEPS_A_BYTE = 32
"""What a byte of a table of abbreviations counts."""
_FIELDS = 10


class SplitDies(Dies):
    """The DIEs of a file some units of which are split."""

    def __init__(
        self, image: ElfImage, contents: dict[str, Buffer], sections: DebugSections, units: list[tuple[int, int]],
        files: LineFiles,
    ) -> None:
        allowance = allowance_of(contents)
        dwarf = dwarf_info(contents, little=image.little, is64=image.is64, allowance=allowance)
        super().__init__(dwarf, allowance, units, image.machine, files, sections, little=image.little)
        rows = array("Q", sections.split_units).tolist()
        self._rows: dict[int, list[int]] = {rows[at]: rows[at : at + _FIELDS] for at in range(0, len(rows), _FIELDS)}
        self._row_starts = sorted(self._rows)
        self._is64 = image.is64
        self._open: dict[int, Any] = {}
        self._ranges: Buffer = contents.get("ranges", b"")
        self._lists: dict[str, tuple[bytes, dict[int, tuple[int, int]]]] = {}
        """By path: the lists of ranges of a `.dwo`, or of a package, with the part of each unit by its identity."""

    def _row(self, offset: int) -> list[int] | None:
        """The parts of the unit that has this offset; None if it is not split."""
        at = bisect_right(self._row_starts, offset) - 1
        row = self._rows[self._row_starts[at]] if at >= 0 else None
        return row if row is not None and offset < row[1] else None

    def _dwarf_of(self, number: int) -> Any:
        start = self._starts[number]
        row = self._rows.get(start)
        if row is None:
            return self._dwarf
        if start not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            head = self._head(start)
            abbrev = _plain_table(self._sections.get("abbrev", b""), row[2], head.abbrev, self._order)
            contents = {"info": self._sections["info"], "abbrev": abbrev}
            self._allowance.spend(_STEPS_A_BYTE * len(abbrev))
            self._open[start] = dwarf_info(
                contents, little=self._little, is64=self._is64, allowance=self._allowance
            )
        return self._open[start]

    def _string(self, die: Any, attribute: str) -> str:
        row = self._row(die.offset)
        found = die.attributes.get(attribute)
        if row is None or found is None or not isinstance(found.value, int):
            return super()._string(die, attribute)
        size = 8 if self._head(row[0]).wide else 4
        try:
            offset = self._reader("str_offsets", row[4] + size * found.value, row[5]).number(size)
        except Damaged:
            return ""
        text = memoryview(self._sections.get("str", b""))[row[3] + offset :]
        # A name is not long; what is, is looked at by pieces.
        end, raw = 256, bytes(text[:256])
        while 0 not in raw and end < len(text):
            end *= 16
            raw = bytes(text[:end])
        return self._charged(raw.partition(b"\0")[0].decode("utf-8", "surrogateescape"))

    def _reader(self, section: str, at: int, end: int | None = None) -> Reader:
        data = self._sections.get(section, b"")
        return Reader(data, at, len(data) if end is None else min(end, len(data)), self._order)

    def _file(self, die: Any, index: object) -> str:
        row = self._row(die.offset)
        if row is None:
            return super()._file(die, index)
        return self._files.name(row[9], index) if isinstance(index, int) and row[9] < 1 << 63 else ""

    def starts(self, die: Any) -> list[int] | None:
        row = self._row(die.offset)
        if row is None:
            return super().starts(die)
        low, ranges = (die.attributes.get(f"DW_AT_{name}") for name in ("low_pc", "ranges"))
        if low is None and ranges is None:
            return None
        try:
            if low is not None:
                address = low.form == "DW_FORM_addr"
                found = [low.value if address else self._address(row, low.value)]
            elif self._head(row[0]).version < 5:
                base = self._sections.ranges_bases.get(row[0], 0)
                found = self._old_ranges(row, base + ranges.value)
            else:
                found = self._new_ranges(row, ranges)
        except FAULTS:
            return []
        return self._kept(found) if found else []

    def _address(self, row: list[int], index: int) -> int:
        """From .debug_addr, which is that of the linked file."""
        size = self._head(row[0]).address_size
        return self._reader("addr", row[6] + size * index).number(size)

    def _old_ranges(self, row: list[int], at: int) -> list[int]:
        """Of DWARF 4, in the linked file. A base that only the skeleton states is not known here: compilers state it if
        a function is in several pieces, since its unit is then as well, and has none.
        """
        size = self._head(row[0]).address_size
        read = Reader(self._ranges, at, len(self._ranges), self._order)
        base, found = 0, []
        for _ in range(MOST_ENTRIES):
            start, end = read.number(size), read.number(size)
            if start == end == 0:
                break
            if start == (1 << 8 * size) - 1:
                base = end
            elif start != end:
                found.append(base + start)
        return found

    def _new_ranges(self, row: list[int], ranges: Any) -> list[int]:
        """Of DWARF 5, beside the unit in its `.dwo` or in its part of the package; the base as above."""
        head = self._head(row[0])
        data = self._split_ranges(row[0])
        size, at = 8 if head.wide else 4, ranges.value
        if ranges.form != "DW_FORM_sec_offset":  # an index into the offsets after the header
            first = 20 if head.wide else 12
            at = first + Reader(data, first + size * at, len(data), self._order).number(size)
        read = Reader(data, at, len(data), self._order)
        base, found = 0, []
        for _ in range(MOST_ENTRIES):
            kind = read.number(1)
            if kind == 0:
                break
            if kind in (1, 2, 3):  # an index; with another one, or with a length
                start = self._address(row, read.leb())
                length = read.leb() if kind != 1 else 0
                empty = kind == 3 and length == 0
            elif kind == 4:  # two offsets
                start = base + read.leb()
                empty = base + read.leb() == start
            else:  # an address; with another one, or with a length
                start = read.number(head.address_size)
                length = 0 if kind == 5 else read.number(head.address_size) if kind == 6 else read.leb()
                empty = kind > 5 and length == (start if kind == 6 else 0)
            if kind in (1, 5):
                base = start
            elif not empty:
                found.append(start)
        return found

    def _split_ranges(self, start: int) -> bytes | memoryview:
        """.debug_rnglists.dwo of the file that a unit is from, which encoding has no use for: it is opened again."""
        path = next((path for at, _, path, _ in self._sections.parts if at == start), "")
        identity = self._head(start).identity
        if path not in self._lists:
            with ElfImage.open(path) as image:
                section = image.section(".debug_rnglists.dwo")
                self._lists[path] = (b"" if section is None else bytes(image.copy(section))), {
                    key: parts.of("rnglists") or (0, 0) for key, parts in read_index(image, ".debug_cu_index").items()
                }
        data, places = self._lists[path]
        offset, size = places.get(identity, (0, len(data)))
        return memoryview(data)[offset : offset + size]

    def _first_expression(self, die: Any, attribute: Any) -> Any:
        row = self._row(die.offset)
        if row is None:
            return super()._first_expression(die, attribute)
        head = self._head(row[0])
        if head.version < 5:
            return _old_list(self._reader("loc", row[7] + attribute.value))
        size = 8 if head.wide else 4
        at = attribute.value
        if attribute.form == "DW_FORM_sec_offset":
            at += row[7]
        else:
            at = row[8] + self._reader("loclists", row[8] + size * at).number(size)
        return _new_list(self._reader("loclists", at), head.address_size)


def _plain_table(abbrev: bytes | bytearray | memoryview, base: int, offset: int, order: Any) -> bytearray:
    """A part of `.debug_abbrev`, from `base` to the end of the table at `offset`, with plain forms in that table."""
    read = Reader(abbrev, base + offset, len(abbrev), order)
    changes: list[tuple[int, int, int]] = []
    while read.leb():
        read.leb()
        read.number(1)
        while True:
            attribute = read.leb()
            at = read.at
            form = read.leb()
            if form in _PLAIN:
                changes.append((at, read.at, _PLAIN[form]))
            if form == _IMPLICIT:
                read.leb()
            if not attribute and not form:
                break
    made = bytearray(abbrev[base : read.at])
    for start, end, form in changes:
        for at in range(start, end):  # as many bytes as there were
            made[at - base] = (form & 0x7F) | (0x80 if at + 1 < end else 0)
            form >>= 7
    return made


def _new_list(read: Reader, address_size: int) -> list[int] | None:
    """The first expression of a list of `.debug_loclists`."""
    for _ in range(MOST_ENTRIES):
        kind = read.number(1)
        if kind in (0, 1, 6):  # the end, and what others are relative to
            if kind == 0:
                return None
            read.leb() if kind == 1 else read.number(address_size)
            continue
        if kind in (2, 3, 4):  # two indexes, an index and a length, two offsets
            read.leb()
            read.leb()
        elif kind in (7, 8):  # two addresses, an address and a length
            read.number(address_size)
            read.number(address_size) if kind == 7 else read.leb()
        elif kind != 5:
            return None
        return read.list(read.leb())
    return None


def _old_list(read: Reader) -> list[int] | None:
    """Likewise, of `.debug_loc.dwo` as GNU's extension of DWARF 4 has it."""
    for _ in range(MOST_ENTRIES):
        kind = read.number(1)
        if kind == 1:
            read.leb()
            continue
        if kind == 2:
            read.leb()
            read.leb()
        elif kind == 3:
            read.leb()
            read.number(4)
        elif kind == 4:
            read.number(8)
        else:
            return None
        return read.list(read.number(2))
    return None
