"""`pybtf why --degrade`: BTF with stand-ins for what BTF cannot express."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pybtf
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import COUNTER, functions, named, subprogram
from tests.conftest import ROOT, RunCli

SHAPES = ROOT / "fixtures" / "degrade" / "shapes.elf"
RUST = 0x1C


def struct(name: str, size: int = 4) -> Die:
    return named("structure_type", name, ("byte_size", "data1", size))


def program(folder: Path, *children: Die, language: int = 0x1D) -> Path:
    path = folder / "program.elf"
    root = die("compile_unit", ("name", "string", "a.x"), ("language", "data1", language), children=[INT, *children])
    path.write_bytes(kernel([unit([INT]), Unit(root)], symbols=[COUNTER, *functions("f", "a$b")]).data)
    return path


def asked(path: Path, *names: str, **options: Any) -> list[pybtf.Answer]:
    return pybtf.why(path, *names, jobs=1, degrade=True, **options)


def named_types(found: list[pybtf.Answer]) -> list[tuple[bool, Any, Any, Any]]:
    told = [each.evidence or {} for each in found]
    return [
        (each.in_btf, more.get("written_as"), more.get("described_as"), more["seen"]["definitions"])
        for each, more in zip(found, told, strict=True)
    ]


def test_types_are_found_by_either_name(tmp_path: Path) -> None:
    path = program(tmp_path, struct("Opt<int>"), struct("plain"), struct("Two<>"), struct("Two[]", 8), struct("2nd"))
    found = asked(path, "Opt<int>", "struct Opt<int>", "Opt_int_", "plain", "Two<>", "struct Two__", "2nd", "Opt(int)")
    assert named_types(found[:7]) == [
        (True, "Opt_int_", None, 1), (True, "Opt_int_", None, 1), (True, None, ["Opt<int>"], 1), (True, None, None, 1),
        (True, "Two__", None, 1), (True, None, ["Two<>", "Two[]"], 2), (True, "_2nd", None, 1),
    ]  # fmt: skip
    assert not found[7].in_btf
    assert found[0].verdict.startswith("Opt<int> is in BTF as Opt_int_: STRUCT [")


def test_long_names_and_others_than_ascii(tmp_path: Path) -> None:
    long, wide = "x" * 126 + "<y>", "Ünit"
    digits = "7" * 127
    path = program(tmp_path, struct(long), struct(wide), struct(digits))
    cut = "x" * 126 + "_"
    assert named_types(asked(path, long, cut, wide, "__nit", digits, "_" + "7" * 126)) == [
        (True, cut, None, 1), (True, None, [long], 1), (True, "__nit", None, 1), (True, None, [wide], 1),
        (True, "_" + "7" * 126, None, 1), (True, None, [digits], 1),
    ]  # fmt: skip


def test_without_degrading_names_are_what_they_are(tmp_path: Path) -> None:
    path = program(tmp_path, struct("Opt<int>"))
    assert [each.in_btf for each in pybtf.why(path, "Opt<int>", "Opt_int_", jobs=1)] == [True, False]


def test_functions_whose_names_kernels_reject(tmp_path: Path) -> None:
    path = program(tmp_path, subprogram("f", 0), subprogram("a$b", 16))
    kept, lost = asked(path, "f", "a$b")
    assert (kept.in_btf, lost.in_btf, lost.reason) == (True, False, "invalid_name")


@pytest.mark.parametrize("degrade", [True, False])
def test_rust_is_asked_about_where_btf_may_be_degraded(tmp_path: Path, degrade: bool) -> None:
    path = program(tmp_path, subprogram("f", 0), language=RUST)
    (answer,) = pybtf.why(path, "f", jobs=1, degrade=degrade)
    assert answer.in_btf == degrade


def test_on_the_command_line(run_cli: RunCli) -> None:
    done = run_cli("why", "Opt_int_", SHAPES)
    assert done.returncode == 1
    assert "--degrade" in done.stderr
    done = run_cli("why", "--degrade", "Opt<int>", "Opt_int_", SHAPES)
    assert done.returncode == 0
    heading, first, _, _, _, blank, second, named, *_ = done.stdout.splitlines()
    assert heading.endswith("; degraded where needed:")
    assert (first, blank) == ("Opt<int> is in BTF as Opt_int_: STRUCT [8]", "")
    assert (second, named) == ("Opt_int_ is in BTF: STRUCT [8]", "  described as Opt<int>")


def test_the_package_of_split_dwarf(tmp_path: Path, run_cli: RunCli) -> None:
    home = ROOT / "fixtures" / "dwo" / "clang-5"
    program = tmp_path / "program"
    program.write_bytes((home / "program.elf").read_bytes())
    assert run_cli("why", program).returncode == 1
    done = run_cli("why", "--dwp", home / "llvm-dwp.dwp", program)
    assert done.returncode == 0, done.stderr
    assert "functions: " in done.stdout
