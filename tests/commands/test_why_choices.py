"""`pybtf why`: what belongs to the evidence, how much of it is given, and lists of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pybtf.explain.asking import Answer, answers, inquire, kernel_options, listed, summary
from pybtf.explain.inquiry import Inquiry
from pybtf.explain.others import variable_evidence
from pybtf.explain.reasons import IN_BTF
from tests.builders.dwarfwriter import Die, RangeList, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.reasons import LONG, RETURNS, everything, origin, register
from tests.builders.synthetic import COUNTER, TEXT, X86, named, parameter, subprogram
from tests.commands.test_why_evidence import INLINE, abstract, at, copy, evidence, why

DECLARED = ("declaration", "flag", 1)


def part(*starts: int) -> tuple[str, str, Any]:
    """DW_AT_ranges with 16 bytes at each of these places in .text."""
    return "ranges", "sec_offset", RangeList([(TEXT + start, TEXT + start + 16) for start in starts])


# What belongs to it


def test_only_what_decided_has_a_place(tmp_path: Path) -> None:
    """The function is also declared, and a variable has its name."""
    other = named("variable", "f", RETURNS, ("location", "exprloc", [("reg5",)]))
    declared = subprogram("f", None, RETURNS, DECLARED)
    unnamed = subprogram("f", 16, RETURNS, children=[parameter("a", "long"), parameter(None, "long")])
    for children, symbols, reason in (
        ([declared, unnamed, other], at(f=16), "unnamed_parameter"),
        ([declared, abstract("f"), other], [], "no_symbol"),
        ([other, declared], [], "declaration"),
    ):
        (found,) = why(tmp_path, [unit([INT, LONG, *children])], symbols, "f")
        assert found.reason == reason
        assert len(evidence(found)["places"]) == 1
        assert evidence(found).get("parameter", 1) == 1


def test_a_copy_is_one_of_this_instance(tmp_path: Path) -> None:
    """The unit has others of the same name: another instance with a copy, and code without an instance."""
    children = [
        INT, LONG, abstract("f", "one"), copy("one", 16, a=4, b=5), abstract("f", "two"), copy("two", 32, a=1, b=2),
        subprogram("f", 48, RETURNS, children=[parameter("a", "long", register(8))]),
    ]  # fmt: skip
    (found,) = why(tmp_path, [unit(children)], at(f=16, f_dot_1=32, f_dot_2=48), "f")
    rows = {
        row.get("address"): [each["location"] for each in row["parameters"]]
        for row in evidence(found)["instances"] if row["prototype"] == "int f(long a, long b)"
    }  # fmt: skip
    assert rows == {f"{TEXT + 16:#x}": ["rsi", "rdi"], f"{TEXT + 32:#x}": ["rdx", "rcx"]}


def test_a_parameter_that_only_the_copy_has(tmp_path: Path) -> None:
    """Nothing says which parameter of the source it is."""
    strange = die("formal_parameter", ("name", "string", "x"), ("type", "ref4", "long"), register(1))
    code = subprogram(None, 16, origin("f"), children=[die("formal_parameter", origin("f.b"), register(5)), strange])
    (found,) = why(tmp_path, [unit([INT, LONG, abstract("f"), code])], at(f=16), "f")
    row = evidence(found)["instances"][-1]
    assert [(each["name"], each["location"]) for each in row["parameters"]] == [("a", "gone"), ("b", "rdi")]


def test_a_clone_has_its_own_symbol_and_the_descriptions_of_its_function(tmp_path: Path) -> None:
    children = [INT, LONG, abstract("f"), copy("f", 16, a=5, b=4), copy("f", 32, a=5)]
    symbols = at(f=16, f_dot_isra_dot_0=32, f_dot_part_dot_0=48)
    whole, clone, rest = why(tmp_path, [unit(children)], symbols, "f", "f.isra.0", "f.part.0")
    assert [each.reason for each in (clone, rest)] == ["clone", "part"]
    assert evidence(clone)["symbols"] == [{"name": "f.isra.0", "address": f"{TEXT + 32:#x}"}]
    assert evidence(rest)["symbols"] == [{"name": "f.part.0", "address": f"{TEXT + 48:#x}"}]
    assert evidence(clone)["descriptions"] == evidence(whole)["descriptions"]
    assert evidence(clone)["descriptions"] == {"compiled": 2, "abstract": 1, "declarations": 0}


def test_a_part_of_what_is_in_btf(tmp_path: Path) -> None:
    (found,) = why(tmp_path, [unit([INT, subprogram("f", 16, RETURNS)])], at(f=16, f_dot_cold=32), "f.cold")
    told = {key: evidence(found)[key] for key in ("clone_of", "which_is_in_btf", "reason_of_that")}
    assert told == {"clone_of": "f", "which_is_in_btf": True, "reason_of_that": None}


def test_a_function_is_taken_from_the_description_that_decided(tmp_path: Path) -> None:
    """Not from one that only declares it, whichever comes first."""
    declared = subprogram("f", None, RETURNS, DECLARED)
    (found,) = why(tmp_path, [unit([INT, declared, subprogram("f", 16, RETURNS), declared])], at(f=16), "f")
    assert evidence(found)["source"]["address"] == f"{TEXT + 16:#x}"


def test_code_in_parts_without_a_symbol_begins_with_the_first(tmp_path: Path) -> None:
    (found,) = why(tmp_path, [unit([INT, subprogram("f", None, RETURNS, part(16, 64))])], at(f=96), "f")
    assert evidence(found)["source"]["address"] == f"{TEXT + 16:#x}"


def test_a_variable_is_where_its_section_has_it(tmp_path: Path) -> None:
    """Not the variable before it; and a function of its name is not a description of it."""

    def variable(name: str, at: int, *more: Any) -> Die:
        return named("variable", name, RETURNS, ("location", "exprloc", [("addr", X86.percpu + at)]), *more)

    declared = named("variable", "b", RETURNS, ("declaration", "flag", 1))
    children = [
        INT, variable("a", 0, ("external", "flag", 1)), declared, variable("b", 8),
        subprogram("b", None, RETURNS, DECLARED),
    ]  # fmt: skip
    symbols = [Symbol(name, X86.percpu + at, 4, "OBJECT", ".data..percpu") for name, at in (("a", 0), ("b", 8))]
    path = tmp_path / "vmlinux"
    path.write_bytes(kernel([unit(children)], symbols=symbols).data)
    found: dict[str, dict[str, Any]] = {}

    def ask(inquiry: Inquiry) -> None:
        found.update({name: variable_evidence(inquiry, name, IN_BTF) for name in "ab"})

    inquire(str(path), kernel_options(jobs=1), ask)
    wanted = ("offset", "size", "linkage", "per_cpu", "descriptions", "declarations")
    assert [found["a"][key] for key in wanted] == [0, 4, "global", True, 1, 0]
    assert [found["b"][key] for key in wanted] == [8, 4, "static", True, 2, 1]
    assert len(found["b"]["places"]) == 1


# How much of it


def test_not_all_descriptions_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of code in parts, whose address the core does not know, count as compiled only if they are looked at."""
    units = [
        unit([INT._replace(label=f"int{n}"), subprogram("f", None, ("type", "ref4", f"int{n}"), part(16 * n, 96))])
        for n in range(1, 4)
    ]
    for most, compiled in ((2, 2), (3, 3), (100, 3)):
        monkeypatch.setattr("pybtf.explain.entries.MOST_LOOKED_AT", most)
        symbols = [Symbol("f", TEXT + 16 * n, 16) for n in range(1, 4)]
        (found,) = why(tmp_path, units, symbols, "f")
        assert evidence(found)["descriptions"]["compiled"] == compiled


@pytest.mark.parametrize(("most", "complete"), [(2, False), (3, True)])
def test_copies_are_counted_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, complete: bool
) -> None:
    monkeypatch.setattr("pybtf.explain.functions.MOST_CALLERS", most)
    inlined = [die("inlined_subroutine", origin("tiny"))] * 2
    children = [
        INT, subprogram("tiny", None, RETURNS, INLINE, label="tiny"),
        subprogram("caller", 16, RETURNS, children=inlined),
    ]  # fmt: skip
    (found,) = why(tmp_path, [unit(children)], at(caller=16), "tiny")
    assert (evidence(found)["inlined"]["copies"], evidence(found)["inlined"]["complete"]) == (2, complete)


def test_parts_are_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And there are at most twenty; here, two."""
    monkeypatch.setattr("pybtf.explain.functions.MOST", 2)
    children = [INT, subprogram("f", None, RETURNS, INLINE)]
    (found,) = why(tmp_path, [unit(children)], at(f_dot_part_dot_2=96, f_dot_part_dot_0=128, f_dot_part_dot_1=112), "f")
    assert evidence(found)["parts"] == ["f.part.0", "f.part.1"]


# Lists


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "vmlinux"
    path.write_bytes(everything())
    return path


def lists(path: Path, reason: str, *patterns: str) -> list[Answer]:
    found: list[Answer] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: found.extend(listed(inquiry, reason, patterns)))
    return found


def test_a_list_has_the_answers_of_single_names(path: Path) -> None:
    (kept,) = lists(path, "in_btf", "good")
    assert (kept.name, kept.kind, kept.in_btf, kept.reason) == ("good", "function", True, None)
    (tiny,) = lists(path, "no_symbol", "tiny")
    assert (tiny.name, tiny.kind, tiny.in_btf, tiny.reason) == ("tiny", "function", False, "no_symbol")
    assert tiny.advice
    assert tiny.evidence is None
    assert [each.name for each in lists(path, "variable:declaration")] == ["only_declared"]


def test_a_name_that_looks_like_a_pattern_is_that_name(tmp_path: Path) -> None:
    """Rust's names have brackets. Both in a list and by itself."""
    units = [unit([INT, *(subprogram(name, None, RETURNS, INLINE) for name in ("add<[u8]>", "add<u>"))])]
    file = tmp_path / "vmlinux"
    file.write_bytes(kernel(units, symbols=[COUNTER, *at(f=16)]).data)
    found: list[list[str]] = []

    def ask(inquiry: Inquiry) -> None:
        found.append([each.name for each in listed(inquiry, "no_symbol", ["add<[u8]>"])])
        found.append([each.name for each in listed(inquiry, "no_symbol", ["add<[u]>"])])
        found.append([each.name for each in answers(inquiry, ["add<[u8]>"])])

    inquire(str(file), kernel_options(jobs=1), ask)
    assert found == [["add<[u8]>"], ["add<u>"], ["add<[u8]>"]]


def test_a_pattern_that_matches_nothing(path: Path) -> None:
    found: list[Answer] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: found.extend(answers(inquiry, ["zz*"])))
    (nothing,) = found
    assert (nothing.verdict, nothing.in_btf, nothing.kind, nothing.like) == ("nothing matches zz*", False, None, [])


def test_the_rows_of_the_summary(path: Path) -> None:
    """Names that are left out have descriptions in the DWARF; those that do not exist have no count."""
    rows: list[dict[str, Any]] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: rows.extend(summary(inquiry)))
    by = {(row["kind"], row["reason"]): row for row in rows}
    assert by["function", None]["means"] == "in BTF"
    assert by["function", None]["descriptions"] is None
    assert (by["function", "no_symbol"]["names"], by["function", "no_symbol"]["descriptions"]) == (4, 4)
    assert by["function", "no_description"]["descriptions"] is None
    assert (by["variable", "generated"]["names"], by["variable", "generated"]["descriptions"]) == (1, 1)
