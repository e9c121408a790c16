"""Large sections: pages are given back behind the units that have been decoded, and a unit may need them again."""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from tests.builders.dwarfwriter import Dwarf
from tests.builders.elfwriter import Section
from tests.builders.kernelish import kernel
from tests.builders.rawdwarf import DATA1, REF4, STRING, RawDwarf

MIB = 1 << 20
PLACES = 3 * MIB, MIB  # of abbreviations


def written(large: str = "") -> RawDwarf:
    """Five units. The second and the fourth have their abbreviations two megabytes in front of those of the others.
    `large`: a text in each unit.
    """
    w = RawDwarf()
    for i in range(5):
        w.begin(abbrevs=PLACES[i % 2])
        int_ = w.base_type()
        struct = w.die(0x13, (0x03, STRING, f"s{i}"), (0x0B, DATA1, 4), children=True)
        w.die(0x0D, (0x03, STRING, "a"), (0x49, REF4, int_), (0x38, DATA1, 0))
        w.null()
        w.die(0x0F, (0x49, REF4, struct))
        if large:
            w.die(0x16, (0x03, STRING, "t"), (0x49, REF4, int_), (0x25, STRING, large))
        w.end()
    return w


def file(w: RawDwarf, path: Path, *, compress: bool) -> Path:
    table = bytes(w.abbrev) + b"\0"
    text = bytes(MIB) + table.ljust(2 * MIB, b"\0") + table
    abbrev = Section(".debug_abbrev", text, compress=6 if compress else None)
    made = Dwarf({".debug_info": bytes(w.info)}, {}, [], {}, {}, [])
    path.write_bytes(kernel(made, debug={".debug_abbrev": abbrev}).data)
    return path


@pytest.mark.parametrize("compress", [False, True], ids=["mapped", "unpacked"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_pages_are_needed_again(compress: bool, jobs: int, tmp_path: Path) -> None:
    """Those of the second unit lie in what is given back behind the first."""
    made = pybtf.encode(file(written(), tmp_path / "file", compress=compress), jobs=jobs).data
    assert [t.name for t in pybtf.BTF.from_bytes(made) if t.kind.name == "STRUCT"] == [f"s{i}" for i in range(5)]


def test_units_too_large_to_be_read_in_one_piece(tmp_path: Path) -> None:
    small = pybtf.encode(file(written("x"), tmp_path / "small", compress=False)).data
    large = pybtf.encode(file(written("x" * (2 * MIB)), tmp_path / "large", compress=False)).data
    assert pybtf.BTF.from_bytes(small).by_name("t")
    assert small == large
