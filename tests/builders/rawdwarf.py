"""DWARF written straight through, for inputs of a million DIEs.

`dwarfwriter` resolves labels by writing everything several times; this writer only appends bytes. The target of a
reference is an offset in the unit, or anything that `end` can turn into one. All units share one abbreviation table
unless told otherwise. Everything is little-endian, 32-bit DWARF, 8-byte addresses.

    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    w.die(0x0F, (0x49, REF4, int_))
    w.end()
    data = w.kernel()
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from tests.builders.dwarfwriter import Dwarf, uleb
from tests.builders.elfwriter import Section, Symbol
from tests.builders.kernelish import kernel

ADDR, DATA2, DATA4, DATA8, STRING, DATA1, STRP, UDATA, REF_ADDR, REF4, SEC_OFFSET, EXPRLOC, PRESENT = (
    0x01,
    0x05,
    0x06,
    0x07,
    0x08,
    0x0B,
    0x0E,
    0x0F,
    0x10,
    0x13,
    0x17,
    0x18,
    0x19,
)
FIXED = {
    ADDR: "<Q",
    DATA1: "<B",
    DATA2: "<H",
    DATA4: "<I",
    DATA8: "<Q",
    STRP: "<I",
    REF_ADDR: "<I",
    REF4: "<I",
    SEC_OFFSET: "<I",
}

Attribute = tuple[int, int, Any]


class RawDwarf:
    def __init__(self, version: int = 4) -> None:
        self.version = version
        self.info = bytearray()
        self.abbrev = bytearray()
        self.strings = bytearray(b"\0")
        self.sections: dict[str, bytes] = {}
        self._codes: dict[tuple[int, bool, tuple[tuple[int, int], ...]], int] = {}
        self._unit = 0
        self._later: list[tuple[int, Any]] = []

    def begin(self, *, abbrevs: int = 0, name: str = "a.c") -> None:
        """Starts a unit; its root stays open until `end`."""
        self._unit = len(self.info)
        if self.version >= 5:
            self.info += struct.pack("<IHBBI", 0, self.version, 1, 8, abbrevs)
        else:
            self.info += struct.pack("<IHIB", 0, self.version, abbrevs, 8)
        self.die(0x11, (0x03, STRING, name), (0x13, DATA1, 12), children=True)

    def end(self, offset_of: Callable[[Any], int] | None = None) -> None:
        """Closes the root and the unit. `offset_of` gives the offset in the unit for targets that are not numbers."""
        self.null()
        for at, target in self._later:
            assert offset_of is not None
            struct.pack_into("<I", self.info, at, offset_of(target))
        self._later.clear()
        struct.pack_into("<I", self.info, self._unit, len(self.info) - self._unit - 4)

    def null(self) -> None:
        self.info.append(0)

    def at(self) -> int:
        """The offset of the next DIE, relative to the unit."""
        return len(self.info) - self._unit

    def die(self, tag: int, *attributes: Attribute, children: bool = False) -> int:
        """Writes a DIE, and returns its offset relative to the unit."""
        key = tag, children, tuple((name, form) for name, form, _ in attributes)
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self._codes) + 1
            self.abbrev += uleb(code) + uleb(tag) + bytes([children])
            for name, form, _ in attributes:
                self.abbrev += uleb(name) + uleb(form)
            self.abbrev += b"\0\0"
        at = self.at()
        self.info += uleb(code)
        for _, form, value in attributes:
            if form == REF4 and not isinstance(value, int):
                self._later.append((len(self.info), value))
                self.info += bytes(4)
            elif form in FIXED:
                self.info += struct.pack(FIXED[form], value)
            elif form == STRING:
                self.info += value.encode() + b"\0"
            elif form == UDATA:
                self.info += uleb(value)
            elif form == EXPRLOC:
                self.info += uleb(len(value)) + value
        return at

    def base_type(self) -> int:
        return self.die(0x24, (0x03, STRING, "int"), (0x0B, DATA1, 4), (0x3E, DATA1, 5))

    def string(self, text: bytes) -> int:
        at = len(self.strings)
        self.strings += text + b"\0"
        return at

    def kernel(self, *, symbols: Sequence[Symbol] = (), sections: Sequence[Section] = ()) -> bytes:
        written = {
            ".debug_info": bytes(self.info),
            ".debug_abbrev": bytes(self.abbrev) + b"\0",
            ".debug_str": bytes(self.strings),
            **self.sections,
        }
        result = Dwarf(written, {}, [], {}, {}, [])
        return kernel(result, extra_symbols=symbols, extra_sections=sections).data
