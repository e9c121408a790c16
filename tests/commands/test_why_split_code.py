"""`pybtf why` for functions that are split into a hot and a cold part: DIEs with DW_AT_ranges, without DW_AT_low_pc."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.explain.asking import kernel_options
from pybtf.explain.detail import encode_in_detail
from tests.builders.dwarfwriter import RangeList, Unit, die
from tests.builders.elfwriter import SHF_ALLOC, SHF_EXECINSTR, Section, Symbol
from tests.builders.kernelish import INT, kernel
from tests.builders.reasons import LONG, RETURNS, origin, register
from tests.builders.synthetic import COUNTER, TEXT, parameter, subprogram

COLD = 0x400


def parts(version: int, form: str, *starts: int) -> tuple[str, str, Any]:
    """DW_AT_ranges with 16 bytes at each of these places in .text."""
    if version < 5:
        return "ranges", form, RangeList([(TEXT + start, TEXT + start + 16) for start in starts])
    return "ranges", form, RangeList([("start_length", TEXT + start, 16) for start in starts])


def file(version: int, form: str) -> bytes:
    """`moved`, of which only a clone without the first parameter is left; `twice`, in two units; `kept`; `unnamed`."""

    def ranges(*starts: int) -> tuple[str, str, Any]:
        return parts(version, form, *starts)

    first = [
        INT, LONG,
        subprogram(
            "moved", None, RETURNS, ("inline", "data1", 1), label="moved",
            children=[parameter("a", "long", label="moved.a"), parameter("b", "long", label="moved.b")],
        ),
        subprogram(
            None, None, origin("moved"), ranges(16, COLD),
            children=[
                die("formal_parameter", origin("moved.b"), register(5)),
                die("formal_parameter", origin("moved.a"), ("const_value", "data1", 3)),
            ],
        ),
        subprogram("kept", None, RETURNS, ranges(COLD + 16, 32), children=[parameter("a", "long", register(5))]),
        subprogram("twice", None, RETURNS, ranges(48, COLD + 32)),
        subprogram("unnamed", None, RETURNS, ranges(80), children=[parameter(None, "long")]),
        subprogram("emptied", None, RETURNS, ("inline", "data1", 1)),
        subprogram("emptied", None, RETURNS, ranges()),
    ]  # fmt: skip
    second = [INT._replace(label="int2"), subprogram("twice", None, ("type", "ref4", "int2"), ranges(64))]
    units = [
        Unit(die("compile_unit", ("name", "string", name), children=children), version=version)
        for name, children in (("one.c", first), ("two.c", second))
    ]
    at = {"moved.constprop.0": 16, "kept": 32, "twice": 48, "unnamed": 80, "emptied": 96}
    symbols = [Symbol(name, TEXT + offset, 16) for name, offset in at.items()]
    return kernel(units, symbols=[COUNTER, *symbols, Symbol("twice", TEXT + 64, 16)]).data


@pytest.fixture(params=[(4, "sec_offset"), (5, "sec_offset"), (5, "rnglistx")], ids=["4", "5", "5x"])
def answers(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, pybtf.Answer]:
    path = tmp_path / "vmlinux"
    path.write_bytes(file(*request.param))
    return {each.name: each for each in pybtf.why(path, "moved", "kept", "twice", "unnamed", "emptied", jobs=1)}


def evidence(answers: dict[str, pybtf.Answer], name: str) -> dict[str, Any]:
    return answers[name].evidence or {}


def test_the_copy_tells_where_parameters_are(answers: dict[str, pybtf.Answer]) -> None:
    """The abstract instance, which decided, has no locations of its own."""
    assert answers["moved"].reason == "unexpected_register"
    row = evidence(answers, "moved")["instances"][0]
    assert row["prototype"] == "int moved(long a, long b)"
    assert [each["location"] for each in row["parameters"]] == ["replaced by a constant", "rdi"]
    assert row["address"] == f"{TEXT + 16:#x}"
    assert evidence(answers, "moved")["descriptions"] == {"compiled": 1, "abstract": 1, "declarations": 0}


def test_the_part_with_the_symbol_is_the_code(answers: dict[str, pybtf.Answer]) -> None:
    assert answers["kept"].in_btf
    assert evidence(answers, "kept")["source"]["address"] == f"{TEXT + 32:#x}"


def test_each_of_several_addresses_has_its_place(answers: dict[str, pybtf.Answer]) -> None:
    assert answers["twice"].reason == "ambiguous_address"
    rows = evidence(answers, "twice")["addresses"]
    assert [(row["address"], row["unit"]) for row in rows] == [
        (f"{TEXT + 48:#x}", "one.c"), (f"{TEXT + 64:#x}", "two.c")
    ]  # fmt: skip


def test_what_the_encoder_leaves_out_is_compiled_as_well(answers: dict[str, pybtf.Answer]) -> None:
    assert answers["unnamed"].reason == "unnamed_parameter"
    assert evidence(answers, "unnamed")["descriptions"]["compiled"] == 1
    assert evidence(answers, "unnamed")["places"][0]["address"] == f"{TEXT + 80:#x}"


def test_ranges_that_are_not_there(answers: dict[str, pybtf.Answer]) -> None:
    """There is code, but its place is unknown."""
    assert evidence(answers, "emptied")["descriptions"] == {"compiled": 1, "abstract": 1, "declarations": 0}


def test_the_database_counts_them_as_compiled(tmp_path: Path) -> None:
    """The encoder does not know their address (nor does pahole), but the DIEs say that there is code."""
    path = tmp_path / "vmlinux"
    path.write_bytes(file(5, "rnglistx"))
    _, database = encode_in_detail(str(path), kernel_options(jobs=1), names=False, places=True)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        rows = connection.execute("SELECT name, compiled, abstract FROM function").fetchall()
    counted = {"moved": (1, 1), "kept": (1, 0), "twice": (2, 0), "unnamed": (1, 0), "emptied": (1, 1)}
    assert {name: counts for name, *counts in rows} == {name: [*counts] for name, counts in counted.items()}


@pytest.mark.parametrize("section", [".init.text", ".text"])
def test_several_of_a_name_in_a_module(tmp_path: Path, section: str) -> None:
    """There, symbols have offsets in sections, and DWARF has addresses where the encoder puts the sections."""
    base = {".text": 0x10000, ".init.text": 0x10140}  # by the rules of elf/layout.py
    at = (".text", 16), (section, 32)
    units = [
        Unit(die(
            "compile_unit", ("name", "string", f"{number}.c"),
            children=[
                INT._replace(label=f"int{number}"),
                die("subprogram", ("name", "string", "twice"), ("low_pc", "addr", base[name] + offset)),
            ],
        ))
        for number, (name, offset) in enumerate(at)
    ]  # fmt: skip
    path = tmp_path / "x.ko"
    symbols = [Symbol("twice", offset, 16, section=name, bind="LOCAL") for name, offset in at]
    symbols.append(Symbol("zebra", 64, 16))  # the last one is never ambiguous
    code = Section(".init.text", bytes(256), flags=SHF_ALLOC | SHF_EXECINSTR, align=16)
    path.write_bytes(kernel(units, symbols=symbols, extra_sections=[code], type="ET_REL").data)
    (found,) = pybtf.why(path, "twice", jobs=1)
    assert found.reason == "ambiguous_address", found
    rows = (found.evidence or {})["addresses"]
    assert [(row["address"], row.get("unit")) for row in rows] == [
        (f"{name}+{offset:#x}", f"{number}.c") for number, (name, offset) in enumerate(at)
    ]  # fmt: skip


def test_code_in_another_section_of_a_module_is_other_code(tmp_path: Path) -> None:
    """Even at the same offset. A symbol with a prefix is found by the place of its section."""
    early = die("subprogram", ("name", "string", "early"), ("low_pc", "addr", 0x10010))
    children = [INT, early]
    path = tmp_path / "x.ko"
    code = Section(".init.text", bytes(256), flags=SHF_ALLOC | SHF_EXECINSTR, align=16)
    symbols = [Symbol("__pi_early", 16, 16), Symbol("alias", 16, 16), Symbol("other", 16, 16, section=".init.text")]
    units = [Unit(die("compile_unit", ("name", "string", "one.c"), children=children))]
    path.write_bytes(kernel(units, symbols=symbols, extra_sections=[code], type="ET_REL").data)
    (found,) = pybtf.why(path, "__pi_early", jobs=1)
    assert [row["name"] for row in (found.evidence or {})["same_code"]] == ["alias"]
    described = (found.evidence or {})["renamed_from"]
    assert (described["name"], described["address"]) == ("early", ".text+0x10")
