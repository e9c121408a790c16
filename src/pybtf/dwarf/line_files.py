"""The names of source files, by the numbers that DIEs give them: the head of a line table (DWARF 5, 6.2.4).

Of `.debug_line` nothing else is of interest, and a kernel has two million entries of files, of which most are never
asked for. So the entries are found, and a name is made when somebody wants it. What is damaged has no names.
"""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from elftools.dwarf.enums import ENUM_DW_FORM, ENUM_DW_LNCT

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Literal

    Buffer = bytes | bytearray | memoryview

_STRING: Final = ENUM_DW_FORM["DW_FORM_string"]
_TEXTS: Final = {
    _STRING: "", ENUM_DW_FORM["DW_FORM_strp"]: "str", ENUM_DW_FORM["DW_FORM_line_strp"]: "line_str"
}  # fmt: skip
_SIZES: Final = {ENUM_DW_FORM[f"DW_FORM_data{size}"]: size for size in (1, 2, 4, 8, 16)}
_UDATA: Final = ENUM_DW_FORM["DW_FORM_udata"]
_BLOCK: Final = ENUM_DW_FORM["DW_FORM_block"]
_PATH, _FOLDER = ENUM_DW_LNCT["DW_LNCT_path"], ENUM_DW_LNCT["DW_LNCT_directory_index"]
_FREE: Final = 64 << 20
"""Bytes of line tables that are read in any case; more, for each byte of the section, only so often:"""
_TIMES: Final = 16
_OVERLAP: Final = 4
"""How often the bytes of the section may be read as tables not read before. Of tables that do not overlap, once."""

_KEPT: Final = 32
"""Tables that are kept: of a kernel's, all would take 100 MB. Who asks does so unit by unit."""

_Entry = tuple[int, int, int]
"""The form of a name, where it is, and the number of its folder."""


class _Damaged(Exception):
    """What follows cannot be read."""


class LineFiles:
    """File names of the line tables of one file. `contents`: its debug sections by short name, `line` among them."""

    def __init__(self, contents: Mapping[str, Buffer], *, little: bool) -> None:
        self._order = "<" if little else ">"
        self._sections = {name: memoryview(contents[name]) for name in ("line", "line_str", "str") if name in contents}
        self._tables: dict[int, _Table | None] = {}
        size = len(self._sections.get("line", b""))
        self._left = _FREE + _TIMES * size
        self._new = _OVERLAP * size
        self._seen: set[int] = set()
        self._damaged: set[int] = set()

    def name(self, offset: int, number: int) -> str:
        """The file with this number in the line table at `offset`, with its folder if that is not the one in which the
        compiler ran; "" if there is none.
        """
        if offset not in self._tables:
            if len(self._tables) == _KEPT:
                del self._tables[next(iter(self._tables))]
            self._tables[offset] = self._read(offset)
        table = self._tables[offset]
        return "" if table is None else table.name(number)

    def _read(self, offset: int) -> _Table | None:
        line = self._sections.get("line")
        if line is None or offset >= len(line) or offset in self._damaged:
            return None
        try:
            table = _Table(self._sections, self._order, offset)
            self._charge(offset, table.size)
            table.read()
        except (_Damaged, StructError, IndexError):
            self._damaged.add(offset)
            return None
        return table

    def _charge(self, offset: int, size: int) -> None:
        """Whatever then comes of the table: the damage may be at its end."""
        new = size if offset not in self._seen else 0
        if size > self._left or new > self._new:
            raise _Damaged
        self._left -= size
        self._new -= new
        self._seen.add(offset)


class _Table:
    def __init__(self, sections: Mapping[str, memoryview], order: str, at: int) -> None:
        line = sections["line"]
        self._sections = sections
        self._order = order
        self._names: dict[int, str] = {}
        length: int
        (length,) = unpack_from(f"{order}I", line, at)
        at += 4
        self._wide = length == 0xFFFFFFFF
        if self._wide:
            (length,) = unpack_from(f"{order}Q", line, at)
            at += 8
        if length > len(line) - at:
            raise _Damaged
        end = at + length
        (version,) = unpack_from(f"{order}H", line, at)
        at += 2
        if not 2 <= version <= 5:
            raise _Damaged
        if version == 5:
            at += 2  # sizes of addresses and segment selectors
        (head,) = unpack_from(f"{order}{'Q' if self._wide else 'I'}", line, at)
        at += 8 if self._wide else 4
        end = min(end, at + head)
        self.size = max(end - at, 0)
        self._start = at
        self._data = b""
        self._at = 0
        self._version: int = version
        self._old = version < 5
        self._folders: list[_Entry] = []
        self._files: list[_Entry] = []

    def read(self) -> None:
        """What is after the length of the head. Before, there are no names."""
        self._data = bytes(self._sections["line"][self._start : self._start + self.size])
        self._at = 4 + (self._version >= 4)  # what instructions are encoded by
        opcodes = self._data[self._at]
        self._at += max(opcodes, 1)
        if self._old:
            self._read_old()
        else:
            self._folders = self._entries()
            self._files = self._entries()

    def name(self, number: int) -> str:
        """The name of file `number`."""
        number -= self._old
        if not 0 <= number < len(self._files):
            return ""
        if number not in self._names:
            form, where, folder = self._files[number]
            text = self._text(form, where)
            under = ""
            folder -= self._old
            if 0 <= folder < len(self._folders) and (self._old or folder):
                under = self._text(*self._folders[folder][:2])
            self._names[number] = f"{under}/{text}" if under and text and not text.startswith("/") else text
        return self._names[number]

    def _text(self, form: int, where: int) -> str:
        data = self._data if form == _STRING else bytes(self._sections.get(_TEXTS[form], b"")[where : where + 4096])
        start = where if form == _STRING else 0
        end = data.find(b"\0", start)
        return "" if end < 0 else data[start:end].decode("utf-8", "surrogateescape")

    def _leb(self) -> int:
        value = shift = 0
        while True:
            byte: int = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise _Damaged

    def _string(self) -> int:
        """Where a string starts that is passed over."""
        at = self._at
        end = self._data.find(b"\0", at)
        if end < 0:
            raise _Damaged
        self._at = end + 1
        return at

    def _read_old(self) -> None:
        """DWARF 2 to 4: two lists, each ended by an empty name."""
        while self._data[self._at]:
            self._folders.append((_STRING, self._string(), 0))
        self._at += 1
        while self._data[self._at]:
            where = self._string()
            self._files.append((_STRING, where, self._leb()))
            self._leb()  # time
            self._leb()  # size

    def _entries(self) -> list[_Entry]:
        """DWARF 5: a description of the entries, their number, and the entries."""
        formats = []
        count = self._data[self._at]
        self._at += 1
        for _ in range(count):
            content = self._leb()
            formats.append((content, self._leb()))
        found: list[_Entry] = []
        number = self._leb()
        if not formats or number > len(self._data):
            if number:
                raise _Damaged
            return found
        name = formats[0][1]
        if not self._wide and name in _TEXTS and name != _STRING and formats == [(_PATH, name), (_FOLDER, _UDATA)]:
            self._usual_entries(found, name, number)
        for _ in range(number - len(found)):
            found.append(self._entry(formats))
        return found

    def _usual_entries(self, found: list[_Entry], form: int, number: int) -> None:
        """Entries as gcc writes them, an offset and the number of a folder, as long as that is below 128."""
        data, at = self._data, self._at
        order: Literal["little", "big"] = "little" if self._order == "<" else "big"
        end = min(len(data), at + 5 * number) - 4
        while at < end and data[at + 4] < 0x80:
            found.append((form, int.from_bytes(data[at : at + 4], order), data[at + 4]))
            at += 5
        self._at = at

    def _entry(self, formats: list[tuple[int, int]]) -> _Entry:
        form, where, folder = _STRING, len(self._data), 0
        for content, each in formats:
            value = self._value(each)
            if content == _PATH and each in _TEXTS:
                form, where = each, value
            elif content == _FOLDER:
                folder = value
        return form, where, folder

    def _value(self, form: int) -> int:
        """A number, or where a text is."""
        if form == _UDATA:
            return self._leb()
        if form == _STRING:
            return self._string()
        if form == _BLOCK:
            size = self._leb()
        elif form in _TEXTS:
            size = 8 if self._wide else 4
        elif form in _SIZES:
            size = _SIZES[form]
        else:
            raise _Damaged
        at = self._at
        self._at += size
        if self._at > len(self._data):
            raise _Damaged
        return int.from_bytes(self._data[at : self._at], "little" if self._order == "<" else "big")
