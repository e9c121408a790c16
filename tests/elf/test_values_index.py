"""How far an index of values is walked without unpacking any of it."""

from __future__ import annotations

import struct

import pytest

from pybtf.elf.constants import SHT_MIPS_DWARF
from pybtf.elf.image import ElfImage
from pybtf.elf.values_index import MAGIC, STRIPPED, stripped_objects
from tests.builders.elfwriter import Section, elf


def piece(flags: int) -> bytes:
    return MAGIC + struct.pack("<III", 0, 24, flags) + bytes(8)


@pytest.mark.parametrize(
    ("contents", "count"),
    [
        (piece(STRIPPED) + piece(0) + piece(STRIPPED), 2),
        (piece(STRIPPED) + bytes(8 + 4096 + 16) + piece(STRIPPED), 2),
        (piece(STRIPPED) + b"\0\0\0\1" * 2 + piece(STRIPPED), 1),  # no index
        (piece(STRIPPED) + MAGIC + struct.pack("<III", 0, 0, STRIPPED) + bytes(8), 2),  # a size that cannot be
        (piece(STRIPPED)[:15], 0),
        (bytes(8) + piece(STRIPPED), 0),
    ],
)
@pytest.mark.parametrize("kind", ["PROGBITS", SHT_MIPS_DWARF])
def test_stripped_objects_are_counted(contents: bytes, count: int, kind: str | int) -> None:
    """In sections of the types that DWARF sections have."""
    with ElfImage("x", elf([Section(".debug_own", contents, type=kind)]).data) as image:
        assert stripped_objects(image) == count


def test_sections_that_overlap_are_not_walked_for_ever() -> None:
    sections = 100
    pieces = 200
    made = elf([Section(".debug_own", piece(STRIPPED) * pieces), *[Section(".debug_own")] * (sections - 1)])
    data = bytearray(made.data)
    first = made.header_at[".debug_own"]
    for number in range(1, sections):
        at = first + 64 * number
        data[at + 24 : at + 40] = data[first + 24 : first + 40]  # offset and size
    with ElfImage("x", data) as image:
        assert len([each for each in image.sections if each.size >= 24 * pieces]) == sections
        assert pieces <= stripped_objects(image) <= len(data) // 24
