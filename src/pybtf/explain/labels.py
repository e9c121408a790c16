"""Symbols that are not those of functions: what there is to say of a name that no DWARF has."""

from __future__ import annotations

from struct import Struct

from pybtf.elf.constants import SHT_STRTAB, SHT_SYMTAB
from pybtf.elf.image import ElfImage

_WIDE, _NARROW = "IBBH16x", "I8xBBH"
"""A symbol up to the index of its section: name, type and binding, visibility, section."""
_NOTYPE, _OBJECT, _FUNC, _SECTION, _FILE, _TLS, _IFUNC = 0, 1, 2, 3, 4, 6, 10
_NAMELESS = frozenset((_FUNC, _SECTION, _FILE))

_WHAT = {
    _NOTYPE: "not a function's, but a label (NOTYPE), as assembler and linker scripts make them",
    _OBJECT: "that of data (OBJECT)",
    _TLS: "that of thread-local data (TLS)",
    _IFUNC: "that of an indirect function (GNU_IFUNC), which is a choice among others",
}
_OTHER = "not a function's"


class Labels:
    """The symbols of a file that are defined there, and are not those of functions, sections or source files."""

    def __init__(self, image: ElfImage) -> None:
        self._strings = b""
        self._rows: list[tuple[int, int]] = []
        symtab = image.section(".symtab")
        if symtab is None or symtab.type != SHT_SYMTAB:
            return
        self._strings = bytes(image.data(image.linked(symtab, SHT_STRTAB, "string table")))
        layout = Struct(("<" if image.little else ">") + (_WIDE if image.is64 else _NARROW))
        self._rows = [
            (name, info & 0xF)
            for name, info, _, section in layout.iter_unpack(image.data(symtab))
            if section and info & 0xF not in _NAMELESS
        ]

    def what(self, name: str) -> str | None:
        """What the first symbol of this name is; None if there is none."""
        wanted = name.encode("utf-8", "surrogateescape") + b"\0"
        starts = self._strings.startswith
        return next((_WHAT.get(kind, _OTHER) for at, kind in self._rows if starts(wanted, at)), None)
