"""Changes of small ELF files that know sections, units and abbreviations, however damaged those are already.

A section that grows moves to the end of the file, and its header follows. So the rest stays sound, which random damage
of the bytes rarely leaves so.
"""

from __future__ import annotations

import contextlib
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.builders import corruption

LIMIT = 20_000  # bytes of a file
COMPRESSED = 0x800
FORMS = (*range(0x01, 0x2D), 0xA0, 0x3E, 0x3F)
ATTRIBUTES = (
    *(0x02, 0x03, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x13, 0x18, 0x1C, 0x25, 0x27, 0x2F, 0x31, 0x34, 0x37, 0x38),
    *(0x3A, 0x3C, 0x3E, 0x3F, 0x47, 0x49, 0x55, 0x64, 0x69, 0x6B, 0x6D, 0x6E, 0x72, 0x73, 0x74, 0x88, 0x8C),
)
TAGS = (
    *(0x01, 0x02, 0x04, 0x05, 0x08, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x15, 0x16, 0x17, 0x18, 0x1D, 0x1F, 0x21, 0x24),
    *(0x26, 0x28, 0x2E, 0x2F, 0x34, 0x35, 0x37, 0x39, 0x3A, 0x3B, 0x3C, 0x41, 0x42, 0x43, 0x47, 0x4A, 0x4B),
)


class Section(NamedTuple):
    name: bytes
    header: int
    start: int
    end: int


class Layout:
    """The sections of a file as far as they can be read: where the data is, and where the headers say so."""

    def __init__(self, data: bytes) -> None:
        self.order = ">" if data[5:6] == b"\2" else "<"
        self.is64 = data[4:5] != b"\1"
        self.word = "Q" if self.is64 else "I"
        self.sections: list[Section] = []
        with contextlib.suppress(struct.error, IndexError, OverflowError):  # of a place that the file does not have
            self._read(data)

    def _read(self, data: bytes) -> None:
        (table,) = struct.unpack_from(self.order + self.word, data, 40 if self.is64 else 32)
        size, count, names = struct.unpack_from(self.order + "3H", data, 58 if self.is64 else 46)
        self.table = table, min(table + size * count, len(data))
        found = []
        for n in range(min(count, 100)):
            at = table + n * size
            (name,) = struct.unpack_from(self.order + "I", data, at)
            start, length = self.extent(data, at)
            kind = data[at + (7 if self.order == ">" else 4)]
            found.append((name, at, start, start if kind == 8 else min(start + length, len(data))))
        base = found[names][2] if names < len(found) else len(data)
        for name, at, start, end in found:
            if start < end:
                text = data[base + name : base + name + 40].split(b"\0")[0]
                self.sections.append(Section(text, at, start, end))

    def extent(self, data: bytes, header: int) -> tuple[int, int]:
        start, length = struct.unpack_from(self.order + 2 * self.word, data, header + (24 if self.is64 else 16))
        return start, length

    def named(self, name: bytes) -> Section | None:
        return next((each for each in self.sections if each.name == name), None)

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """As `corruption.regions`."""
        found = [(0, min(64, len(data)))]  # the header of the file
        for each in self.sections:
            found += [(each.start, each.end)] * (4 if each.name in (b".debug_info", b".debug_abbrev") else 1)
            found.append((each.header, min(each.header + 64, len(data))))
        return found

    def replaced(self, data: bytes, section: Section, content: bytes, flags: int = 0) -> bytes:
        """The file with another content of a section."""
        out = bytearray(data)
        start = section.start
        if len(content) > section.end - section.start:
            start = len(out) + -len(out) % 8
            out += bytes(start - len(out)) + content
        else:
            out[start : start + len(content)] = content
        at = section.header + (24 if self.is64 else 16)
        struct.pack_into(self.order + 2 * self.word, out, at, start, len(content))
        if flags:
            struct.pack_into(self.order + self.word, out, section.header + 8, flags)
        return bytes(out)


Change = Callable[[random.Random, bytes, Layout, Sequence[bytes]], bytes]


def damage(rng: random.Random, data: bytes, layout: Layout, _: Sequence[bytes]) -> bytes:
    return corruption.mutate(data, layout.places(data), str(rng.random()))


def chosen(rng: random.Random, layout: Layout) -> Section:
    of_dwarf = [each for each in layout.sections if each.name.startswith(b".debug")]
    return rng.choice(of_dwarf if of_dwarf and rng.random() < 0.8 else layout.sections)


def resize(rng: random.Random, data: bytes, layout: Layout, _: Sequence[bytes]) -> bytes:
    """Inserts, repeats or deletes some bytes of a section. The length of the unit around them is often corrected."""
    section = chosen(rng, layout)
    content = data[section.start : section.end]
    at = rng.randrange(len(content))
    size = rng.choice((1, 1, 2, 3, 4, 8, 16, 40))
    kind = rng.random()
    if kind < 0.4:
        put, gone = b"", size
    elif kind < 0.8:
        other = rng.randrange(len(content))
        put, gone = content[other : other + size], 0
    else:
        put, gone = bytes(rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))) for _ in range(size)), 0
    made = bytearray(content[:at] + put + content[at + gone :])
    unit = unit_around(layout, content, at)
    if section.name == b".debug_info" and unit is not None and rng.random() < 0.9:
        (length,) = struct.unpack_from(layout.order + "I", content, unit)
        length += len(made) - len(content)
        if 0 <= length < 1 << 32 and len(made) >= unit + 4:
            struct.pack_into(layout.order + "I", made, unit, length)
    return layout.replaced(data, section, bytes(made)) if made else data


def unit_around(layout: Layout, content: bytes, at: int) -> int | None:
    """Where the unit of 32-bit DWARF begins that has this place, if units before it are sound."""
    start = 0
    while start + 4 <= len(content):
        (length,) = struct.unpack_from(layout.order + "I", content, start)
        if start <= at < start + 4 + length:
            return start
        start += 4 + length
    return None


def splice(rng: random.Random, data: bytes, layout: Layout, others: Sequence[bytes]) -> bytes:
    """Takes a section from another file, or a part of one; or all of .debug_info and .debug_abbrev."""
    other = rng.choice(others)
    theirs = Layout(other)
    names = [chosen(rng, layout).name]
    if rng.random() < 0.3:
        names = [b".debug_info", b".debug_abbrev"]
    for name in names:
        own, their = layout.named(name), theirs.named(name)
        if own is None or their is None:
            continue
        content = other[their.start : their.end]
        if len(names) == 1 and rng.random() < 0.5:
            old = data[own.start : own.end]
            cut, start = rng.randrange(len(old)), rng.randrange(len(content))
            piece = content[start : start + rng.choice((4, 8, 16, 32, 64, 256))]
            content = old[:cut] + piece + old[cut + (len(piece) if rng.random() < 0.5 else 0) :]
        data = layout.replaced(data, own, content)
        layout = Layout(data)
    return data


def declare(rng: random.Random, data: bytes, layout: Layout, _: Sequence[bytes]) -> bytes:
    """Changes an abbreviation: a tag, whether there are children, an attribute or a form."""
    section = layout.named(b".debug_abbrev")
    if section is None:
        return data
    out, at = bytearray(data), section.start
    tags, pairs = [], []
    while at + 5 <= section.end:
        at += 1
        if out[at - 1] == 0:
            continue  # the end of a table
        tags.append(at)
        at = skipped(out, at) + 1
        while at + 2 <= section.end:
            form = skipped(out, at)
            if out[at] == 0 and form < section.end and out[form] == 0:
                at = form + 1
                break
            pairs.append((at, form))
            constant = form < section.end and out[form] == 0x21
            at = skipped(out, form)
            if constant:
                at = skipped(out, at)
    if not tags or not pairs:
        return data
    kind = rng.random()
    if kind < 0.2:
        out[rng.choice(tags)] = rng.choice(TAGS)
    elif kind < 0.3:
        out[min(skipped(out, rng.choice(tags)), len(out) - 1)] ^= 1
    elif kind < 0.6:
        out[rng.choice(pairs)[0]] = rng.choice(ATTRIBUTES)
    elif kind < 0.8:
        out[min(rng.choice(pairs)[1], len(out) - 1)] = rng.choice(FORMS)
    else:
        at, form = rng.choice(pairs)
        content = data[section.start : section.end]
        pair = bytes((rng.choice(ATTRIBUTES), rng.choice(FORMS))) if rng.random() < 0.5 else b""
        gone = 0 if pair else skipped(out, form) - at
        at -= section.start
        return layout.replaced(data, section, content[:at] + pair + content[at + gone :])
    return bytes(out)


def skipped(data: bytes | bytearray, at: int) -> int:
    """The place after a LEB128 number."""
    while at < len(data) and data[at] >= 0x80:
        at += 1
    return at + 1


def refer(rng: random.Random, data: bytes, layout: Layout, _: Sequence[bytes]) -> bytes:
    """Writes a number that may be a reference or an offset, small enough to lead somewhere."""
    section = chosen(rng, layout)
    size = rng.choice((1, 2, 4, 4, 4, 8))
    at = rng.randrange(section.start, section.end)
    target = rng.choice(layout.sections)
    value = rng.randrange(target.end - target.start) + rng.choice((0, 0, 0, 1, -1))
    out = bytearray(data)
    out[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little" if layout.order == "<" else "big")
    return bytes(out[: len(data)])


def compress(rng: random.Random, data: bytes, layout: Layout, _: Sequence[bytes]) -> bytes:
    """Compresses a section, or says falsely that it is."""
    section = chosen(rng, layout)
    content = data[section.start : section.end]
    size = len(content) + rng.choice((0, 0, 0, 1, -1))
    head = struct.pack(layout.order + ("IIQQ" if layout.is64 else "III"), *((1, 0) if layout.is64 else (1,)), size, 1)
    return layout.replaced(data, section, head + zlib.compress(content), COMPRESSED)


CHANGES: tuple[Change, ...] = (
    damage, damage, damage, resize, resize, resize, splice, splice, declare, declare, declare, refer, refer,
)  # fmt: skip


def change(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The file with a few changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        layout = Layout(data)
        if not layout.sections:
            return damage(rng, data, layout, others) if data else rng.choice(others)
        step = compress if rng.random() < 0.01 else rng.choice(CHANGES)
        made = step(rng, data, layout, others)
        if len(made) <= LIMIT:
            data = made
    return data
