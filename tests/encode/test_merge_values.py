"""Unit values as bytes: exported and read back, they encode to the same BTF as the DWARF itself, and damage is found.

The whole file counts as one object, with its own addresses: neither compilers nor linkers are needed.
"""

from __future__ import annotations

import json
import random
import struct
import tarfile
from array import array
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.core.codes import VALUES
from pybtf.core.export import Export
from pybtf.dwarf.merging import built_with_lto
from pybtf.dwarf.sections import debug_sections
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from pybtf.elf.packed import open_module
from pybtf.errors import InputError, PybtfError
from pybtf.options import EncodeOptions, make_options
from pybtf.pipeline.loaded import ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images, option_bits
from pybtf.report import Report
from pybtf.support.timings import Timings
from tests.builders import narrow
from tests.builders.conflicts import program, with_uses
from tests.builders.conflictswriter import image

HOME = Path(__file__).parents[2] / "fixtures"
MANIFEST: dict[str, Any] = json.loads((HOME / "manifest.json").read_text())
FILES = sorted({entry["elf"] for entry in MANIFEST["fixtures"] if entry.get("expect") not in ("wrong", "error")})
FEATURES = ("default", "all", "+global_var,encode_force", "+true_signature")
ONE = HOME / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"


def exported(path: Path, features: str) -> tuple[bytes, bytes] | None:
    """The values of a file and its addresses; None if its units are one logical unit."""
    options = make_options(features, 1)
    with open_module(str(path)) as image:
        sections = debug_sections(image, section_addresses(image))
        run = Export(
            sections, little=image.little, machine=image.machine, options=option_bits(options.features.on)
        )
        run.scan(False)
        if built_with_lto(image) or sections.alternate is not None or run.has_reference_to_other_units():
            return None
        values, addresses, die = run.units_as_bytes()
        assert die is None
        fault = run.fault()
        if fault is not None:
            raise InputError(str(path), fault["code"])
        return values, addresses


def as_unit_values(image: ElfImage, values: bytes, addresses: bytes, options: EncodeOptions) -> UnitValues:
    loaded = load(image, options, Timings(), dwarf=False)
    return UnitValues(loaded, [ObjectValues(addresses, values)], ["values"], len(values))


def read_back(path: Path, features: str, values: bytes, addresses: bytes, jobs: int = 1) -> tuple[bytes, Report]:
    options = make_options(features, jobs)
    report = Report(str(path), jobs=jobs)
    with open_module(str(path)) as image:
        given = as_unit_values(image, values, addresses, options)
        return bytes(encode_images([image], Task(options, report, values=given)).data), report


def check(path: Path, features: str, jobs: int = 1) -> int:
    """Checks that everything comparable is the same. Returns how much that is, 0 if nothing can be encoded or merged.
    """
    try:
        wanted = pybtf.encode(path, features=features, jobs=1)
    except PybtfError:
        wanted = None
    try:
        given = exported(path, features)
        if given is None:
            return 0
        data, report = read_back(path, features, *given, jobs)
    except PybtfError:
        assert wanted is None
        return 0
    assert wanted is not None
    assert data == bytes(wanted.data)
    for name in ("units", "functions", "variables", "types", "warnings"):
        assert getattr(report, name) == getattr(wanted.report, name), name
    if jobs == 1:  # which units are kept whole may depend on the number of workers
        assert report.repeats == wanted.report.repeats
    return 1


@pytest.mark.parametrize("name", FILES)
def test_a_fixture_is_the_same(name: str) -> None:
    for jobs, features in enumerate(FEATURES):
        check(HOME / "bin" / name, features, jobs=1 + 2 * (jobs % 2))


def test_most_fixtures_were_compared() -> None:
    some = FILES[::7]
    assert sum(check(HOME / "bin" / name, "default") for name in some) >= len(some) * 3 // 4


def test_random_programs_are_the_same(tmp_path: Path) -> None:
    compared = 0
    with tarfile.open(HOME / "random" / "programs.tar.xz") as archive:
        for number, entry in enumerate(archive):
            content = archive.extractfile(entry)
            assert content is not None
            path = tmp_path / "one.elf"
            path.write_bytes(content.read())
            compared += check(path, FEATURES[number % len(FEATURES)], jobs=1 + number % 3)
    assert compared >= 95


@pytest.mark.parametrize("block", range(4))
def test_programs_whose_types_conflict(block: int, tmp_path: Path) -> None:
    """Digests identify classes even if types of one name differ, or reach themselves without a name."""
    path = tmp_path / "program"
    compared = 0
    for seed in range(25 * block, 25 * (block + 1)):
        for units in (with_uses(program(seed), seed), narrow.program(seed)):
            path.write_bytes(image(units))
            compared += check(path, "default", jobs=1 + 2 * (seed % 2))
    assert compared >= 45


def test_a_language_is_left_out() -> None:
    path = HOME / "bin" / "03_units.gcc-O0-4-exe.elf"
    given = exported(path, "default")
    assert given is not None
    options = make_options("default", 1, lang_exclude="c99,c11")
    with open_module(str(path)) as image:
        report = Report(str(path))
        with pytest.raises(PybtfError, match="no unit has anything to encode"):
            encode_images([image], Task(options, report, values=as_unit_values(image, *given, options)))


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_an_error_or_harmless(seed: int) -> None:
    """Words are changed, pieces are cut and moved. The outcome is one message, or BTF that passes the output check."""
    given = exported(ONE, "all")
    assert given is not None
    rng = random.Random(seed)
    for _ in range(25):
        values, addresses = bytearray(given[0]), bytearray(given[1])
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(values) // 4) * 4
            what = rng.randrange(6)
            if what == 0:
                values[at : at + 4] = rng.choice((0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF)).to_bytes(4, "little")
            elif what == 1:
                values[at + rng.randrange(4)] ^= 1 << rng.randrange(8)
            elif what == 2:
                at = rng.randrange(20) * 4
                values[at : at + 4] = rng.randrange(1 << rng.choice((4, 12, 32))).to_bytes(4, "little")
            elif what == 3:
                del values[rng.randrange(len(values)) :]
            elif what == 4:
                del values[at : at + 4 * rng.randrange(1, 9)]
            else:
                del addresses[8 * rng.randrange(len(addresses) // 8 + 1) :]
            if len(values) < 80:
                break
        status = 1
        try:
            read_back(ONE, "all", bytes(values), bytes(addresses), jobs=rng.choice((1, 2)))
        except PybtfError as error:
            status = error.exit_code
        assert status == 1


@pytest.mark.parametrize("names", [200, 30_000])
@pytest.mark.parametrize("functions", [False, True])
def test_a_long_string_that_many_name(functions: bool, names: int) -> None:
    """Enumerators or functions. The string is read for each, so the total is limited to a few times the unit's size."""
    text = b"a" * 200_000
    record = [0, 13 << 24, 0] if functions else [0, 6 << 24 | names, 4, *(n for i in range(names) for n in (1, i))]
    words = [1, *bytes(VALUES["function_head"] - 1)] * names if functions else []
    words += [*bytes(4), *record]
    size = 4 * (VALUES["head"] + len(words)) + len(text) + 4
    functions_of = (names, VALUES["function_head"] * names) if functions else (0, 0)
    head = [size, 0, 12, 0, 2, len(record), 0, *functions_of, 0, 0, 0, len(text) + 1, *bytes(7)]
    values = struct.pack(f"<{VALUES['head'] + len(words)}I", *head, *words) + text + bytes(4)
    addresses = bytes(8 * names if functions else 0)
    if names < 1000:
        read_back(ONE, "default", values, addresses)
        return
    with pytest.raises(InputError, match=r"values that are damaged"):
        read_back(ONE, "default", values, addresses)


def test_too_few_addresses_are_an_error() -> None:
    given = exported(ONE, "default")
    assert given is not None
    for addresses in (given[1][:-8], given[1] + bytes(8), b""):
        with pytest.raises(InputError, match=r"values: \.debug_btf_values.*values that are damaged"):
            read_back(ONE, "default", given[0], addresses)


def test_addresses_decide() -> None:
    """Functions at other addresses than their symbols do not belong to the symbols: the addresses are really used."""
    given = exported(ONE, "+global_var,encode_force")
    assert given is not None
    moved = array("Q", given[1])
    for i, address in enumerate(moved):
        moved[i] = address + (1 << 40)
    same, _ = read_back(ONE, "+global_var,encode_force", *given)
    other, report = read_back(ONE, "+global_var,encode_force", given[0], moved.tobytes())
    assert same != other
    assert report.variables.kept == 0
