"""The header, and how the sections share what follows it: rules H, LAY, S, T1 and T2."""

from __future__ import annotations

from functools import cmp_to_key

from pybtf.core.btf.type_section import header_words
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record
from pybtf.verify.rules import NUMBERS

if TYPE_CHECKING:
    from typing import Literal

MAX_SIZE = 16 << 20
SHORT, LONG = 24, 32
"""Bytes of a header: with types and strings; since 7.1 also with a layout."""


@record()
class Header:
    """What is wrong, as the core's findings are; and where types and strings are, if that is within the data."""

    found: list[tuple[int, int, int, int]]
    types: tuple[int, int] | None = None
    strings: tuple[int, int] | None = None

    def add(self, key: str, value: int = 0) -> None:
        self.found.append((NUMBERS[key], 0, 0, value))


def check_header(data: bytes, little: bool, version: int, user: bool, split: bool) -> Header:
    """`little`: the byte order of the kernel. `user`: a program loads it. `split`: it has a base."""
    header = Header([])
    if user and len(data) > MAX_SIZE:
        header.add("TOO_LARGE", len(data))
    if len(data) < 8:
        header.add("HDR_LEN", len(data))
        return header
    order: Literal["little", "big"] = "little" if little else "big"
    length = header_words(data, little)[0]
    if length > len(data):
        header.add("HDR_TRUNCATED", length)
        return header
    known = LONG if version >= 701 else SHORT
    rest = data[known:length]
    if rest.strip(b"\0"):
        header.add("HDR_LONG", known + len(rest) - len(rest.lstrip(b"\0")))
    fields = data[: min(length, known)].ljust(LONG, b"\0")
    _check_start(header, fields, order)
    length, type_off, type_len, str_off, str_len, layout_off, layout_len = header_words(fields, little)
    if not split and len(data) == length:
        header.add("NO_DATA")
    has_layout = layout_len > 0 and length >= LONG
    sections = [(type_off, type_len), (str_off, str_len)]
    if has_layout:
        sections.append((layout_off, layout_len))
    _check_tiling(header, sections, len(data) - length)
    if (version < 701 or length < LONG) and length + str_off + str_len != len(data):
        header.add("STRINGS_NOT_LAST")
    if length + type_off + type_len <= len(data):
        header.types = length + type_off, type_len
    if length + str_off + str_len <= len(data):
        header.strings = length + str_off, str_len
    _check_strings(header, data, version, split)
    if has_layout:
        if layout_off % 4:
            header.add("LAYOUT_ALIGN", layout_off)
        if layout_len < 4:
            header.add("LAYOUT_SMALL", layout_len)
        elif layout_len % 4:
            header.add("LAYOUT_MULTIPLE", layout_len)
    if user and type_off % 4:
        header.add("TYPES_ALIGN", type_off)
    if user and type_len == 0:
        header.add("NO_TYPES")
    return header


def _check_start(header: Header, fields: bytes, order: Literal["little", "big"]) -> None:
    magic = int.from_bytes(fields[:2], order)
    if magic != 0xEB9F:
        header.add("MAGIC", magic)
    if fields[2] != 1:
        header.add("VERSION", fields[2])
    if fields[3]:
        header.add("FLAGS", fields[3])


def _compared(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Differences have 32 bits and a sign, in kernels."""
    offset, length = ((mine - its + (1 << 31)) % (1 << 32) - (1 << 31) for mine, its in zip(one, other, strict=True))
    return offset or length


def _check_tiling(header: Header, sections: list[tuple[int, int]], size: int) -> None:
    """Sections, in the order of their offsets, cover `size` bytes without a gap."""
    at = 0
    for offset, length in sorted(sections, key=cmp_to_key(_compared)):
        if offset > size:
            header.add("SECTION_OFFSET", offset)
            return
        if offset > at:
            header.add("SECTION_GAP", offset - at)
        elif offset < at:
            header.add("SECTION_OVERLAP", offset)
        if length > size - offset:
            header.add("SECTION_LENGTH", length)
            return
        at = max(at, offset + length)
    if at != size:
        header.add("SECTION_GAP", size - at)


def _check_strings(header: Header, data: bytes, version: int, split: bool) -> None:
    if header.strings is None:
        return
    start, size = header.strings
    if split and size == 0:
        return
    if not 1 <= size <= (MAX_SIZE if version >= 504 else 1 << 16) or data[start + size - 1]:
        header.add("STRINGS", size)
    elif not split and data[start]:
        header.add("STRINGS_START")
