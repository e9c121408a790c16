"""What `--degrade` says about losses: each sort of loss separately, how often it occurs, and some examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pybtf
from pybtf.cli.main import main
from pybtf.errors import DEGRADED
from tests.builders import bad
from tests.builders.bad import three_units
from tests.builders.dwarfwriter import Raw, Unit, die, dwarf
from tests.builders.kernelish import INT, function, standard, unit
from tests.builders.synthetic import X86, functions, named, of, typedef
from tests.encode.test_degrade import damaged_header

bad.load()


def test_each_sort_by_itself(tmp_path: Path) -> None:
    """In the order in which they are met. Each tag, and each kind of nameless DIE, is a sort of its own."""
    to = ("type", "ref4", "int")
    references = [named("reference_type", f"r{n}", to) for n in range(22)]
    number = die("base_type", ("byte_size", "data1", 2), ("encoding", "data1", 7))
    others = [number, die("atomic_type", to), die("typedef", to), die("rvalue_reference_type", to), die("typedef", to)]
    path = tmp_path / "x.elf"
    path.write_bytes(of(INT, *references, *others))
    found = pybtf.encode(path, jobs=1, degrade=True).report.losses
    assert [(loss.what, loss.instead, loss.count) for loss in found] == [
        ("DW_TAG_reference_type", "a pointer", 22),
        ("DW_TAG_base_type without a name", "a struct of that size without members", 1),
        ("DW_TAG_atomic_type", "volatile", 1),
        ("DW_TAG_typedef without a name", "volatile", 2),
        ("DW_TAG_rvalue_reference_type", "a pointer", 1),
    ]
    assert [each["name"] for each in found[0].examples] == [f"r{n}" for n in range(20)]
    start = "2 times DW_TAG_typedef without a name; instead there is volatile. First: unit.c, DIE 0x"
    assert found[3].line.startswith(start)


def test_long_names_have_no_middle(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As in other messages. A name of megabytes must not be in the message once, and in the report twenty times."""
    long = "a\x1b" * 100_000
    short = "a\x1b" * 128 + "..." + "a\x1b" * 128
    path, report = tmp_path / "x.elf", tmp_path / "x.json"
    reference = named("reference_type", long, ("type", "ref4", "int"))
    dies = [INT, reference, typedef(long, "int"), function(X86, long, offset=16)]
    path.write_bytes(of(*dies, extra_symbols=functions(long)))
    assert main(("encode", "--degrade", "--report", str(report), "--detached", "-", str(path))) == DEGRADED
    said = [line for line in capfd.readouterr().err.splitlines() if " lost: " in line]
    told = json.loads(report.read_text())["losses"]
    assert len(said) == len(told) == 3
    for line, loss in zip(said, told, strict=True):
        assert loss["examples"][0]["name"] == short
        assert short.replace("\x1b", r"\x1b") in line
        assert len(line) < 1500


def test_more_than_are_noted_are_counted(tmp_path: Path) -> None:
    path, many = tmp_path / "x.elf", 100_003
    path.write_bytes(of(INT, *[die("reference_type", ("type", "ref4", "int"))] * many))
    (loss,) = pybtf.encode(path, jobs=1, degrade=True).report.losses
    assert (loss.count, len(loss.examples)) == (many, 20)


def test_where_a_unit_is_that_is_left_out(tmp_path: Path) -> None:
    """Its name, or its place if it has no name or cannot be read; and the DIE, of which only the place is shown."""
    wrong = named("typedef", "t", ("type", "ref4", Raw(0x00FFFFFF)))
    nameless = Unit(die("compile_unit", ("language", "data1", 12), children=[INT, wrong]))
    place = f"at {dwarf([unit(standard(X86)), unit([])]).units[1]:#x} of .debug_info"
    path = tmp_path / "x.elf"
    for data, name, facts in (
        (three_units(unit([INT, wrong])), "unit.c", {"unit", "die"}),
        (three_units(nameless), place, {"unit", "die"}),
        (damaged_header(4, b"\x09"), place, {"unit"}),
    ):
        path.write_bytes(data)
        (loss,) = pybtf.encode(path, jobs=1, degrade=True).report.losses
        (example,) = loss.examples
        assert (example["unit"], set(example)) == (name, facts)
