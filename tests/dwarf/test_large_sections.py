"""Pages are given back once their units are decoded, but a later unit may need them again. Units are read one by one,
but an expression may run past its unit.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.types import Datasec, Var
from pybtf.errors import InputError
from tests.builders.dwarfwriter import Dwarf
from tests.builders.elfwriter import Section
from tests.builders.kernelish import FLAVOURS, INT, kernel, unit
from tests.builders.rawdwarf import ADDR, DATA1, EXPRLOC, PRESENT, REF4, STRING, RawDwarf
from tests.builders.synthetic import named
from tests.conftest import environment

MIB = 1 << 20
PLACES = 3 * MIB, MIB  # of abbreviations


def written(large: str = "") -> RawDwarf:
    """Five units. The abbreviations of the second and the fourth are two megabytes before those of the others.
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
    """The pages of the second unit's abbreviations are given back after the first unit."""
    made = pybtf.encode(file(written(), tmp_path / "file", compress=compress), jobs=jobs).data
    assert [t.name for t in pybtf.BTF.from_bytes(made) if t.kind.name == "STRUCT"] == [f"s{i}" for i in range(5)]


def test_units_too_large_to_be_read_in_one_piece(tmp_path: Path) -> None:
    small = pybtf.encode(file(written("x"), tmp_path / "small", compress=False)).data
    large = pybtf.encode(file(written("x" * (2 * MIB)), tmp_path / "large", compress=False)).data
    assert pybtf.BTF.from_bytes(small).by_name("t")
    assert small == large


def function(w: RawDwarf, int_: int, name: str, place: bytes) -> None:
    """A function with a parameter at `place`."""
    address = FLAVOURS["x86_64"].text
    w.die(0x2E, (0x03, STRING, name), (0x3F, PRESENT, None), (0x49, REF4, int_), (0x11, ADDR, address), children=True)
    w.die(0x05, (0x03, STRING, "x"), (0x49, REF4, int_), (0x02, EXPRLOC, place))
    w.null()


MERGED = "+force_cu_merging"
PEAK = f"""
import sys
import pybtf
from pybtf.support.timings import peak_memory
made = pybtf.encode(sys.argv[1], features={MERGED!r}, jobs=1)
print(peak_memory() >> 20, [t.name for t in made.btf if t.kind.name == "FUNC"])
"""


def merged(folder: Path, n: int, *, compress: bool) -> tuple[int, str]:
    """Peak memory of encoding `n` units of 100 kB as one, in MiB, and the functions of the result."""
    w = RawDwarf()
    text = random.Random(n).randbytes(50_000).hex()
    for _ in range(n):
        w.begin()
        int_ = w.base_type()
        w.die(0x16, (0x03, STRING, "t"), (0x49, REF4, int_), (0x25, STRING, text))
        function(w, int_, "f", bytes([0x55]))  # rdi
        w.end()
    run = [sys.executable, "-c", PEAK, str(both(w, folder)[compress])]
    found = subprocess.run(run, stdout=subprocess.PIPE, text=True, env=environment(), check=True)
    peak, functions = found.stdout.split()
    return int(peak), functions


def test_where_all_units_are_one(tmp_path: Path) -> None:
    """Pages are given back after the walk, and again after the functions, which read their parameters once more."""
    small, functions = merged(tmp_path, 1, compress=False)
    assert functions == "['f']"
    large, functions = merged(tmp_path, 300, compress=False)
    assert functions == "['f']"
    assert large - small < 15
    assert merged(tmp_path, 50, compress=True)[1] == "['f']"


@pytest.mark.parametrize("filler", [b"\0", b"\xff"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_operand_that_runs_past_its_unit(filler: bytes, jobs: int, tmp_path: Path) -> None:
    """The operand continues in the next unit, and not in leftover bytes of an earlier unit. As in pahole, which has the
    whole section in memory.
    """
    w = RawDwarf()
    w.begin()
    w.die(0x24, (0x03, STRING, "char"), (0x0B, DATA1, 1), (0x3E, DATA1, 6), (0x2201, EXPRLOC, filler * 400))
    w.end()
    w.begin()
    int_ = w.base_type()
    function(w, int_, "f", bytes([0x53, 0x9A]))  # rbx; call_ref
    w.end()
    w.begin()
    w.base_type()
    w.end()
    read, unpacked = (pybtf.encode(path, jobs=jobs) for path in both(w, tmp_path))
    assert [t.name for t in read.btf if t.kind.name == "FUNC"] == ["f"]
    assert read.data == unpacked.data


@pytest.mark.parametrize("place", [b"", b"\x23", b"\x10\x88"], ids=["nothing", "plus_uconst", "half of constu"])
def test_a_unit_that_ends_in_a_place(place: bytes, tmp_path: Path) -> None:
    """The member's offset would continue in the header of the next unit; the end of its children is missing."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    w.die(0x13, (0x03, STRING, "s"), (0x0B, DATA1, 4), children=True)
    w.die(0x0D, (0x03, STRING, "a"), (0x49, REF4, int_), (0x38, EXPRLOC, place))
    w.end()
    del w.info[-1]
    w.info[0] -= 1
    end = len(w.info)
    w.begin()
    w.die(0x24, (0x03, STRING, "char"), (0x0B, DATA1, 1), (0x3E, DATA1, 6), (0x2201, EXPRLOC, b"x" * 40_000))
    w.end()
    for path in both(w, tmp_path):
        with pytest.raises(InputError, match=rf"\.debug_info\+{end:#x}, .*the data ends inside a value"):
            pybtf.encode(path)


def both(w: RawDwarf, folder: Path) -> tuple[Path, Path]:
    """The same file twice: its units are read one by one; or its DIEs are compressed, and so unpacked together."""
    made = Dwarf({".debug_info": bytes(w.info), ".debug_abbrev": bytes(w.abbrev) + b"\0"}, {}, [], {}, {}, [])
    packed: dict[str, bytes | Section] = {".debug_info": Section(".debug_info", bytes(w.info), compress=6)}
    files = folder / "read", folder / "unpacked"
    files[0].write_bytes(kernel(made).data)
    files[1].write_bytes(kernel(made, debug=packed).data)
    return files


def test_variables_two_gibibytes_apart(tmp_path: Path) -> None:
    """Their order is the reference's: it merges halves of the list, and compares by the sign of a 32-bit difference."""
    start = 0x10000000
    offsets = [16, 112, 208, 0x800000D0, 0x800000E0, 0x80000100, 0x80000120]
    places = [("location", "exprloc", [("addr", start + each)]) for each in offsets]
    variables = [named("variable", f"v{n}", ("type", "ref4", "int"), place) for n, place in enumerate(places)]
    bss = Section(".bss", type="NOBITS", flags=3, address=start, size=0x90000000, align=16)
    path = tmp_path / "file"
    path.write_bytes(kernel([unit([INT, *variables])], extra_sections=[bss]).data)
    made = pybtf.BTF.from_bytes(pybtf.encode(path, features="+global_var", jobs=1).data)
    (section,) = (each for each in made if isinstance(each, Datasec))
    names = {id: each.name for id, each in enumerate(made, 1) if isinstance(each, Var)}
    assert [names[each.type] for each in section.variables] == ["v3", "v4", "v5", "v6", "v0", "v1", "v2"]
    assert section.size == offsets[2] + 4
