"""Small object files that were written to be slow or large, for `pybtf object` and for what it shares with encoding."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

import pybtf
from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging.encoding import DONE, encode_object
from pybtf.merging.placing import Placing
from tests.builders.elfwriter import Section, Symbol, elf
from tests.builders.rawdwarf import ADDR, DATA1, PRESENT, REF4, STRING, STRP, RawDwarf

EXTERNAL, LOW_PC, NAME, SUBPROGRAM = 0x3F, 0x11, 0x03, 0x2E
MEMBER, PARAMETER, PLACE, SIZE, STRUCT, TYPE = 0x0D, 0x05, 0x38, 0x0B, 0x13, 0x49


def functions(count: int) -> tuple[list[Section], list[int]]:
    """An object with so many functions, and the offsets of their addresses in .debug_info."""
    w = RawDwarf()
    w.begin()
    places = []
    for _ in range(count):
        w.die(SUBPROGRAM, (NAME, STRING, "f"), (EXTERNAL, PRESENT, 1), (LOW_PC, ADDR, 0))
        places.append(len(w.info) - 8)
    w.end()
    return sections_of(w), places


def sections_of(w: RawDwarf) -> list[Section]:
    return [
        Section(".text", bytes(16), flags=6),
        Section(".debug_info", bytes(w.info)),
        Section(".debug_abbrev", bytes(w.abbrev) + b"\0"),
        Section(".debug_str", bytes(w.strings)),
    ]


def relocation(place: int, link: int | str) -> Section:
    data = struct.pack("<QQq", place, 1 << 32 | 1, 0)
    return Section(".rela.debug_info", data, type="RELA", link=link, info=".debug_info", entsize=24)


def test_a_section_for_each_relocation(tmp_path: Path) -> None:
    """The relocation of each address must not be searched for in all sections of relocations."""
    sections, places = functions(40_000)
    sections += [relocation(place, ".symtab") for place in places]
    path = tmp_path / "x.o"
    path.write_bytes(elf(sections, [Symbol("f", 0, 8)], type="ET_REL").data)
    start = time.process_time()
    assert encode_object(str(path), Features.parse(), Placing()).what == DONE
    assert time.process_time() - start < 6  # with such a search it is eight times as long


def test_symbol_tables_that_overlap(tmp_path: Path) -> None:
    """Each section of relocations has a table of its own; all have the same bytes, which must not be copied for each.
    """
    sections, places = functions(1)
    count, size = 1000, 24 << 12
    sections.append(Section(".big", bytes(size), type="SYMTAB", link=".strtab", entsize=24))
    first = len(sections) + 1
    sections += [Section(".big", type="SYMTAB", link=".strtab", entsize=24)] * count
    sections += [relocation(places[0], first + number) for number in range(count)]
    made = elf(sections, [Symbol("f", 0, 8)], type="ET_REL")
    data, header = bytearray(made.data), made.header_at[".big"]
    for number in range(1, count + 1):
        data[header + 64 * number + 24 : header + 64 * number + 40] = data[header + 24 : header + 40]
    path = tmp_path / "x.o"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"\.big: with it, symbol tables .* expected tables that do not overlap"):
        pybtf.encode(path)


@pytest.mark.parametrize("what", ["members", "parameters"])
def test_a_long_name_in_many_places(what: str, tmp_path: Path) -> None:
    """The digests must not read it in each place: 4,000 times half a megabyte."""
    w = RawDwarf()
    name = w.string(b"n" * 500_000)
    w.begin()
    int_ = w.base_type()
    if what == "members":
        w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), children=True)
    for _ in range(4000):
        if what == "members":
            w.die(MEMBER, (NAME, STRP, name), (TYPE, REF4, int_), (PLACE, DATA1, 0))
        else:
            w.die(SUBPROGRAM, (NAME, STRING, "f"), (EXTERNAL, PRESENT, 1), (LOW_PC, ADDR, 0), children=True)
            w.die(PARAMETER, (NAME, STRP, name), (TYPE, REF4, int_))
            w.null()
    if what == "members":
        w.null()
    w.end()
    path = tmp_path / "x.o"
    path.write_bytes(elf(sections_of(w), [Symbol("f", 0, 8)], type="ET_REL").data)
    start = time.process_time()
    with pytest.raises(InputError, match="shared data that expands"):
        encode_object(str(path), Features.parse(), Placing())
    assert time.process_time() - start < 2
