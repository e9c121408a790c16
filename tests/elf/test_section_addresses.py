"""Addresses of sections. The expectations were measured with the reference.

How: an object begins with a non-allocated section of 2 GiB, which contains every address. So pahole 1.32 reports each
variable in that section, and its offset is its address.
"""

from __future__ import annotations

import pytest

from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from tests.builders.elfwriter import Section, bare

ALLOCATED = 3


def addresses(sizes: list[tuple[int, int]], addr: int = 0) -> list[int]:
    """Addresses of allocated sections of these (size, alignment), after three empty ones as gas writes them."""
    empty = [Section(name, type=kind, flags=ALLOCATED) for name, kind in ((".text", 1), (".data", 1), (".bss", 8))]
    probe = Section(".probe", type="NOBITS", size=0x7FFFFFF0)
    shape = Section("", type="NOBITS", flags=ALLOCATED, address=addr)
    own = [shape._replace(name=f".v{i}", size=n, align=a) for i, (n, a) in enumerate(sizes)]
    return list(section_addresses(ElfImage("t.o", bare([*empty, probe, *own]))))[5:-1]


MEASURED = [
    ([(5, 1), (5, 4), (7, 64)], [0x10000, 0x10008, 0x10040]),
    ([(5, 1), (5, 0x20000), (7, 64)], [0x20000, 0x40000, 0x40040]),
    (
        [(5, 1), (5, 0x20000), (7, 64), (3, 0x80000), (9, 16)],
        [0x80000, 0xA0000, 0xA0040, 0x100000, 0x100010],
    ),
    (
        [(0x30001, 1), (5, 0x20000), (7, 64), (3, 0x80000), (9, 16)],
        [0x80000, 0xC0000, 0xC0040, 0x100000, 0x100010],
    ),
    (
        [(5, 0x100000), (5, 0x20000), (7, 64), (3, 0x80000), (9, 16)],
        [0x100000, 0x120000, 0x120040, 0x180000, 0x180010],
    ),
    ([(0, 1), (5, 0x100000)], [0x10000, 0x100000]),
]


@pytest.mark.parametrize(("sizes", "expected"), MEASURED)
@pytest.mark.parametrize("addr", [0, 5, 0x20000])
def test_relocatable_files_are_laid_out_whatever_their_addresses_say(
    sizes: list[tuple[int, int]], expected: list[int], addr: int
) -> None:
    assert addresses(sizes, addr) == expected


def test_what_is_not_allocated_stays_at_zero() -> None:
    image = ElfImage("t.o", bare([Section(".debug_info", b"x" * 50, address=0x5000), Section(".text", flags=6)]))
    assert list(section_addresses(image)) == [0, 0, 0x10000, 0]


@pytest.mark.parametrize("etype", [2, 3])
def test_linked_files_keep_their_addresses(etype: int) -> None:
    sections = [Section(".a", b"x", flags=6, address=0xFFFFFFFF81000000), Section(".b", address=7)]
    image = ElfImage("t", bare(sections, etype=etype))
    assert list(section_addresses(image)) == [0, 0xFFFFFFFF81000000, 7, 0]


def test_sizes_that_wrap() -> None:
    assert addresses([((1 << 64) - 8, 8), (8, 16)]) == [0x10000, 0x10000]


def test_alignments_that_are_no_powers_of_two() -> None:
    """Rounding is a mask in the reference: rounding up to 100 clears bits 0, 1, 5 and 6."""
    assert addresses([(17, 24), (17, 100)]) == [0x10000, 0x10014]
    assert addresses([(17, 100), (17, 3)]) == [0x10000, 0x10011]
