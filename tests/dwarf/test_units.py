"""How many units `.debug_info` has, counted from their lengths alone."""

from __future__ import annotations

import struct

import pytest

from pybtf.dwarf.units import count_units
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, bare

SHORT = struct.pack("<I", 7) + bytes(7)
LONG = struct.pack("<IQ", 0xFFFFFFFF, 9) + bytes(9)


def image(info: bytes) -> ElfImage:
    return ElfImage("x", bare([Section(".debug_info", info)]))


@pytest.mark.parametrize(("info", "count"), [(b"", 0), (SHORT, 1), (SHORT + LONG + SHORT, 3)])
def test_units_are_counted(info: bytes, count: int) -> None:
    assert count_units(image(info)) == count


@pytest.mark.parametrize(
    ("info", "found"),
    [
        (struct.pack("<I", 8) + bytes(7), r"\+0x0: the unit length 0x8"),
        (SHORT + bytes(4), r"\+0xb: the unit length 0x0"),
        (SHORT + b"\1", r"\+0xb: the end of the section"),
        (LONG[:-1], r"\+0x0: the unit length 0x9"),
        (struct.pack("<II", 0xFFFFFFFF, 9), r"\+0x0: the end of the section"),
    ],
)
def test_a_length_that_is_wrong(info: bytes, found: str) -> None:
    with pytest.raises(InputError, match=found):
        count_units(image(info))
