"""Small files for which `pybtf why` would read, compare or write for minutes, or use all memory: lists, names and
tables that many DIEs share, DIEs whose siblings come before them, thousands of types or symbols of one name.

Each is encoded quickly, and the verdict is not affected; only the evidence is limited.
"""

from __future__ import annotations

import random
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.dwarfwriter import uleb
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS
from tests.builders.rawdwarf import ADDR, DATA1, EXPRLOC, REF4, SEC_OFFSET, STRING, STRP, UDATA, RawDwarf
from tests.conftest import environment

TEXT = FLAVOURS["x86_64"].text
SIBLING, LOCATION, NAME, SIZE, LOW_PC, UPPER, TYPE, RANGES = 0x01, 0x02, 0x03, 0x0B, 0x11, 0x2F, 0x49, 0x55
ARRAY, PARAMETER, BLOCK, STRUCT, SUBRANGE, SUBPROGRAM = 0x01, 0x05, 0x0B, 0x13, 0x21, 0x2E

#: Limits for one case: seconds of processor time, bytes of address space.
SECONDS = 20
SPACE = 1 << 30

CASES: dict[str, tuple[Callable[[], bytes], list[str], str]] = {}


def case(expected: str, *asked: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Registers a builder: the name that is asked about, and the answer."""

    def register(build: Callable[[], bytes]) -> Callable[[], bytes]:
        CASES[build.__name__] = build, [*asked], expected
        return build

    return register


def begun() -> tuple[RawDwarf, int]:
    w = RawDwarf()
    w.begin()
    return w, w.base_type()


def functions(w: RawDwarf, int_: int, count: int, name: int, type: int) -> bytes:
    """Functions `f` with the parameters `name`; each has one parameter more than the one before."""
    f = w.string(b"f")
    for number in range(count):
        w.die(SUBPROGRAM, (NAME, STRP, f), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT), children=True)
        for _ in range(100 + number):
            w.die(PARAMETER, (NAME, STRP, name), (TYPE, REF4, type))
        w.null()
    w.end()
    return w.kernel()


@case("the function f is not in BTF: parameter 1 (p) arrives in rsi", "f")
def a_sibling_in_front() -> bytes:
    """A block within a block names itself as its next sibling."""
    w, int_ = begun()
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT), children=True)
    w.die(BLOCK, children=True)
    w.die(BLOCK, (SIBLING, REF4, w.at()), children=True)
    w.null()
    w.null()
    w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_), (LOCATION, EXPRLOC, b"\x54"))
    w.null()
    w.end()
    return w.kernel()


@case("f is in BTF", "f")
def ranges_that_functions_share() -> bytes:
    """10,000 functions, all with the same 60,000 pieces."""
    w, int_ = begun()
    f = w.string(b"f")
    for _ in range(10_000):
        w.die(SUBPROGRAM, (NAME, STRP, f), (TYPE, REF4, int_), (RANGES, SEC_OFFSET, 0))
    w.end()
    w.sections[".debug_ranges"] = b"".join(struct.pack("<QQ", n, n + 1) for n in range(1, 60_000)) + bytes(16)
    return w.kernel()


@case("  int f(int ..., int ..., int ...", "f")
def a_name_that_parameters_share() -> bytes:
    """20,000 parameters with one name of a megabyte."""
    w, int_ = begun()
    name = w.string(b"a" * 1_000_000)
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT), children=True)
    w.die(PARAMETER, (NAME, STRP, name), (TYPE, REF4, int_), (LOCATION, EXPRLOC, b"\x54"))
    for _ in range(20_000):
        w.die(PARAMETER, (NAME, STRP, name), (TYPE, REF4, int_))
    w.null()
    w.end()
    return w.kernel()


@case("units disagree about its prototype: there are 20", "f")
def a_name_of_a_type_that_parameters_have() -> bytes:
    """A megabyte as well."""
    w, int_ = begun()
    struct_ = w.die(STRUCT, (NAME, STRP, w.string(b"a" * 1_000_000)), (SIZE, DATA1, 0))
    return functions(w, int_, 20, w.string(b"p"), struct_)


@case("units disagree about its prototype: there are 100", "f")
def dimensions() -> bytes:
    """Arrays of arrays with a thousand dimensions each, as parameters."""
    w, int_ = begun()
    type = int_
    for _ in range(100):
        array = w.die(ARRAY, (TYPE, REF4, type), children=True)
        for _ in range(1000):
            w.die(SUBRANGE, (UPPER, DATA1, 5), (TYPE, REF4, int_))
        w.null()
        type = array
    return functions(w, int_, 100, w.string(b"p"), type)


@case("units disagree about its prototype: there are 200", "f")
def tables_of_abbreviations_that_overlap() -> bytes:
    """200 units, each with a table that begins one entry after that of the unit before."""
    w = RawDwarf()
    starts = []
    for number in range(200):
        starts.append(len(w.info))
        w.begin()
        int_ = w.base_type()
        w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT), children=True)
        for _ in range(1 + number):
            w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_))
        w.null()
        w.end()
    entries = b"".join(uleb(code) + uleb(BLOCK) + b"\0\0\0" for code in range(200, 16_384))
    assert len(entries) == 6 * (16_384 - 200)
    for number, start in enumerate(starts):
        struct.pack_into("<I", w.info, start + 6, 6 * number)
    w.abbrev[:0] = entries
    return w.kernel()


@case("s is in BTF", "struct s")
def structs_of_one_name() -> bytes:
    w, _ = begun()
    for number in range(40_000):
        w.die(STRUCT, (NAME, STRING, "s"), (SIZE, UDATA, number + 1))
    w.end()
    return w.kernel()


@case("a0 is not in BTF: no DWARF describes it; it is another name for the code of a1, a10", "a*")
def symbols_of_one_place() -> bytes:
    """90 of 30,000 are asked about, and all of them are names of one place."""
    w, int_ = begun()
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT))
    w.end()
    names = (f"{'a' if number < 90 else 'b'}{number}" for number in range(30_000))
    return w.kernel(symbols=[Symbol(name, TEXT + 32, 16, "FUNC", ".text") for name in names])


@case("the function f.constprop.10 is not in BTF", "f.*")
def clones_and_parts_of_one_function() -> bytes:
    """For each of 30,000 symbols, a search among all of them would find out whether it belongs to a clone."""
    w, int_ = begun()
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT))
    w.end()
    names = (f"f.{'part' if number % 2 else 'constprop'}.{number}" for number in range(30_000))
    symbols = [Symbol(name, TEXT + 32 + at, 16, "FUNC", ".text") for at, name in enumerate(names)]
    return w.kernel(symbols=symbols)


@case("is not in BTF: a function symbol, but no DWARF describes the function", "_R*")
def a_symbol_full_of_lengths() -> bytes:
    """Each of its 100,000 numbers may be the length of an identifier of 9,000 characters."""
    w, int_ = begun()
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (TYPE, REF4, int_), (LOW_PC, ADDR, TEXT))
    w.end()
    dice = random.Random(1)
    name = "_R" + "_".join(str(dice.randrange(9000, 10_000)) for _ in range(100_000))
    return w.kernel(symbols=[Symbol(name, TEXT + 32, 16, "FUNC", ".text")])


@pytest.mark.parametrize("name", CASES)
def test_an_answer_comes_soon(name: str, tmp_path: Path) -> None:
    build, asked, expected = CASES[name]
    path = tmp_path / "small.elf"
    path.write_bytes(build())
    assert path.stat().st_size < 2_000_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))

    done = subprocess.run(
        [sys.executable, "-m", "pybtf", "why", "-j1", *asked, str(path)],
        capture_output=True, text=True, env=environment(), check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert done.stderr == ""
    assert expected in done.stdout
    assert len(done.stdout) < 10_000_000
