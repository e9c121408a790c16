"""The BTF header: where the sections lie, checked against the bytes that are there.

The header grew and may grow again, so its own length is one of its fields: 24 bytes at first, 32 with the
layout section, and more in files of newer programs, whose additional fields are skipped. All offsets count
from the end of the header.
"""

from __future__ import annotations

import struct
from itertools import pairwise

from pybtf.btf.kind_numbers import MAGICS
from pybtf.btf.kinds import MAGIC, LayoutEntry
from pybtf.core.btf.type_section import check_section, checked_words, place_of_field
from pybtf.errors import InputError, Place
from pybtf.support.records import NamedTuple

BASE_LENGTH = 24
LAYOUT_LENGTH = 32
"""Length of a header that also locates a layout section."""

_BASE = "HBBIIIII"
_LAYOUT = "II"
_LAYOUT_ENTRY = "BBH"


class Header(NamedTuple):
    """Header fields as stored; `layout_off` and `layout_len` are 0 in a header too short to have them."""

    little: bool
    version: int
    flags: int
    hdr_len: int
    type_off: int
    type_len: int
    str_off: int
    str_len: int
    layout_off: int = 0
    layout_len: int = 0

    def section(self, name: str) -> tuple[int, int]:
        """Start and end of the section `type`, `str` or `layout`, in bytes from the start of the BTF."""
        start = self.hdr_len + int(getattr(self, f"{name}_off"))
        return start, start + int(getattr(self, f"{name}_len"))

    def pack(self) -> bytes:
        """The header's bytes; those past the known fields are zero."""
        order = "<" if self.little else ">"
        known = struct.pack(
            order + _BASE, MAGIC, self.version, self.flags, self.hdr_len, self.type_off, self.type_len,
            self.str_off, self.str_len,
        )  # fmt: skip
        if self.hdr_len >= LAYOUT_LENGTH:
            known += struct.pack(order + _LAYOUT, self.layout_off, self.layout_len)
        return known.ljust(self.hdr_len, b"\0")


def has_magic(data: bytes) -> bool:
    """Whether `data` begins as BTF does, in either byte order."""
    return data[:2] in MAGICS


def read_header(data: bytes, place: Place) -> Header:
    """Read and check the header. `place` names the start of `data` in messages."""
    little, *words = checked_words(data, place)
    header = Header(little, data[2], data[3], *words)
    if header.hdr_len < LAYOUT_LENGTH:
        header = header._replace(layout_off=0, layout_len=0)
    _check_sections(header, len(data), place)
    return header


def read_layout(data: bytes, header: Header) -> tuple[LayoutEntry, ...]:
    """The entries of the layout section, by kind; none without one."""
    start, end = header.section("layout")
    order = "<" if header.little else ">"
    return tuple(LayoutEntry(*entry) for entry in struct.iter_unpack(order + _LAYOUT_ENTRY, data[start:end]))


def pack_layout(entries: tuple[LayoutEntry, ...], little: bool) -> bytes:
    order = "<" if little else ">"
    return b"".join(struct.pack(order + _LAYOUT_ENTRY, *entry) for entry in entries)


_FIELD_AT = {"type": 8, "str": 16, "layout": 24}
_NAMES = {"str": "string"}


def _check_sections(header: Header, size: int, place: Place) -> None:
    """Every section lies within the data, is aligned, and shares no byte with another."""
    spans = []
    for name, at in _FIELD_AT.items():
        start, end = header.section(name)
        check_section(place, at, _NAMES.get(name, name), start, end - start, size)
        spans.append((start, end, name))
    for name in ("type", "layout"):
        start, end = header.section(name)
        if (start - header.hdr_len) % 4 or (end - start) % 4:
            found = f"{name} section offset {start - header.hdr_len}, length {end - start}"
            raise InputError(place_of_field(place, _FIELD_AT[name]), found, "multiples of 4")
    used = sorted(span for span in spans if span[0] != span[1])
    for (_, end, first), (start, _, second) in pairwise(used):
        if start < end:
            found = f"{second} section begins at {start:#x}, before the {first} section ends at {end:#x}"
            raise InputError(place_of_field(place, _FIELD_AT[second]), found, "sections that do not overlap")
