"""`pybtf why`: the words for evidence, and what counts as evidence, for cases that no single file has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.core.codes import TRACE_NAMES
from pybtf.dwarf.declarations import Prototype
from pybtf.explain import text, words
from pybtf.explain.asking import Answer, answers, inquire, kernel_options, listed
from pybtf.explain.functions import differences
from pybtf.explain.inquiry import OTHERS, Inquiry, function_reason, variable_reason
from pybtf.explain.reasons import NOT_FOUND
from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.reasons import LONG, everything
from tests.builders.synthetic import COUNTER, functions, named, subprogram


def said(reason: str | None, evidence: dict[str, Any], kind: str = "function") -> list[str]:
    """The lines of evidence."""
    answer = Answer("f", kind, reason is None, reason, "verdict", None, evidence)
    return [line.removeprefix("  ") for line in text.lines([answer])[1:]]


def inlined(**changes: Any) -> dict[str, Any]:
    rows = [{"function": f"g{n}", "unit": "u.c", "copies": n, "in_btf": n == 1} for n in range(1, 15)]
    return {"inlined": {"by": rows, "callers": 10, "copies": 55, "complete": True, **changes}, "parts": []}


# Text


def test_callers_of_what_is_inlined() -> None:
    shown = said("no_symbol", inlined())
    assert shown[:3] == [
        "inlined into g1 in u.c; in BTF", "inlined into g2 in u.c, 2 times", "inlined into g3 in u.c, 3 times",
    ]  # fmt: skip
    assert len(shown) == 10
    assert said("no_symbol", inlined(callers=11))[10:] == ["and into 1 more function"]


def test_how_often_something_is_inlined() -> None:
    for complete, most in ((True, ""), (False, "at least ")):
        verdict = words.verdict("f", "function", "no_symbol", inlined(complete=complete))
        assert verdict.endswith(f"it is inlined everywhere, {most}55 times in 10 functions")


def place(number: int) -> dict[str, Any]:
    return {"unit": "u.c", "file": "u.c", "line": number, "die": "0x1"}


def test_six_places_are_told() -> None:
    for count in (6, 7):
        shown = said("declaration", {"places": [place(n) for n in range(count)]})
        assert shown[:6] == [f"described: u.c:{n}" for n in range(6)]
        assert shown[6:] == ["and in more units"] * (count - 6)


def prototypes(*rows: tuple[str, bool, int]) -> list[str]:
    return said("inconsistent", {
        "prototypes": [
            {
                "prototype": prototype, "agrees_with_the_first": agrees, "differs_in": [], "seen": seen,
                "places": [place(n) for n in range(min(seen, 20))],
            }
            for prototype, agrees, seen in rows
        ],
        "distinct": len(rows),
    })  # fmt: skip


def test_prototypes_are_told_with_marks_and_places() -> None:
    one, two = "int f(int (*a)(int, char), long b)", "int f(int (*a)(int, long), long b)"
    assert prototypes((one, True, 3), (two, False, 4)) == [
        f"1. {one}", "     u.c:0", "     u.c:1", "     u.c:2",
        f"2. {two}", "         ^^^^^^^^^^^^^^^^^^^^", "     u.c:0", "     u.c:1", "     u.c:2", "     and 1 more",
    ]  # fmt: skip
    assert prototypes((one, True, 1), (one, True, 1))[2:] == [f"2. {one}  (counts as the same)", "     u.c:0"]


def test_what_differs_in_prototypes() -> None:
    none = Prototype("f", "int", ["void"], [])
    one, pair = Prototype("f", "int", ["int a"], ["a"]), Prototype("f", "int *", ["int a", "long b"], ["a", "b"])
    assert differences(none, one) == ["1 instead of 0 parameters"]
    assert differences(one, pair) == ["returns int * instead of int", "2 instead of 1 parameters"]
    assert differences(one, one) == ["a type that it refers to is another one"]


def test_one_address_counts_once() -> None:
    rows = [{"symbol": symbol, "address": address} for symbol, address in (("f", "0x1"), ("f.x", "0x1"), ("f", "0x2"))]
    verdict = words.verdict("f", "function", "ambiguous_address", {"addresses": rows})
    assert verdict.endswith("there are 2 functions of this name at different addresses")


@pytest.mark.parametrize(
    ("parameter", "register", "cause"),
    [(0, "rsi", "of what it returns"), (1, "rsi", "convention says"), (0, "ymm0", "integer registers are counted")],
)
def test_why_a_register_is_another(parameter: int, register: str, cause: str) -> None:
    row = {
        "parameter": parameter, "parameters": [{"name": "a"}, {"name": "b"}], "prototype": "struct big f(int a, int b)",
        "found": register, "expected": "rdi",
    }  # fmt: skip
    assert cause in words.verdict("f", "function", "unexpected_register", {"instances": [row]})


# Reasons


def bits(*traces: str) -> int:
    return sum(1 << number for number, name in TRACE_NAMES.items() if name in traces)


def test_what_descriptions_without_a_symbol_come_to() -> None:
    """A nameless parameter matters only if there is a symbol, and "no symbol" only if there really is none."""
    assert function_reason(None, bits("unnamed_parameter", "declared")) == "declaration"
    assert function_reason(None, bits("no_symbol", "excluded")) == "no_symbol"
    assert function_reason("unseen", bits("no_symbol")) == "no_description"
    assert function_reason("unseen", bits("unnamed_parameter", "no_symbol")) == "unnamed_parameter"
    assert function_reason("emitted", 0) == "renamed"
    assert variable_reason(bits("var_declaration", "var_excluded")) == "language"


# Files


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "vmlinux"
    path.write_bytes(everything())
    return path


def asked(path: Path, *names: str) -> list[Answer]:
    found: list[Answer] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: found.extend(answers(inquiry, names)))
    return found


@pytest.mark.parametrize("most", [2, 3])
def test_of_many_that_match_there_is_no_evidence(path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lower for types than for functions, because each type is looked for in all units."""
    monkeypatch.setattr("pybtf.explain.asking.MOST_IN_FULL", most)
    monkeypatch.setattr("pybtf.explain.asking.MOST_TYPES_IN_FULL", 1)
    assert [each.evidence is not None for each in asked(path, "d*")] == [most == 3] * 3
    found = asked(path, "struct p*")
    assert [(each.name, each.kind, each.in_btf, each.evidence) for each in found] == [
        ("struct packed", "type", True, None), ("struct point", "type", True, None),
    ]  # fmt: skip
    assert [each.name for each in asked(path, "struct  po*")] == ["struct point"]


def test_lists_take_several_patterns(path: Path) -> None:
    found: list[Answer] = []

    def ask(inquiry: Inquiry) -> None:
        found.extend(listed(inquiry, "no_symbol", ["t*", "h*"]))

    inquire(str(path), kernel_options(jobs=1), ask)
    assert [each.name for each in found] == ["halved", "tiny"]


def test_names_like_one_with_a_keyword(path: Path) -> None:
    assert pybtf.why(path, "struct caler", jobs=1)[0].like == ["caller"]
    assert pybtf.why(path, "struct pont", jobs=1)[0].like == ["point"]
    assert pybtf.why(path, "function calle", jobs=1)[0].like == ["caller"]
    assert pybtf.why(path, "variable caller_", jobs=1)[0].like == []
    assert pybtf.why(path, "packt", jobs=1)[0].like == ["packed"]
    assert pybtf.why(path, "_good", jobs=1)[0].like == ["good"]


def test_a_function_or_a_variable_that_is_called_so(path: Path) -> None:
    """The name in the answer is without the word: `kind` says it."""
    good, counter = asked(path, "function good", "variable counter")
    assert (good.name, good.kind, good.in_btf) == ("good", "function", True)
    assert good.verdict.startswith("good is in BTF: FUNC")
    assert (counter.name, counter.kind, counter.in_btf) == ("counter", "variable", True)
    assert counter.verdict.startswith("counter is in BTF: VAR")


def test_what_is_asked_for_as_something_else(path: Path) -> None:
    good, counter, nothing = asked(path, "variable good", "function counter", "function zzzz")
    assert (good.kind, good.in_btf, good.reason, good.like) == (None, False, NOT_FOUND, [])
    assert good.verdict == "variable good is not in BTF: no global variable of the file has this name; it is a function"
    assert counter.verdict == "function counter is not in BTF: no function of the file has this name; it is a variable"
    assert nothing.verdict == "function zzzz is not in BTF: no function of the file has this name"


def test_patterns_of_functions_or_variables(path: Path) -> None:
    assert {each.kind for each in asked(path, "*")} == {"function", "variable"}
    assert {each.kind for each in asked(path, "function *")} == {"function"}
    variables = asked(path, "variable *")
    assert {each.kind for each in variables} == {"variable"}
    assert "counter" in {each.name for each in variables}
    assert [each.verdict for each in asked(path, "function zz*")] == ["nothing matches function zz*"]


def test_lists_take_such_patterns(path: Path) -> None:
    found: list[list[str]] = []

    def ask(inquiry: Inquiry) -> None:
        found.extend([each.name for each in listed(inquiry, "no_symbol", [f"{of} t*"])] for of in OTHERS)

    inquire(str(path), kernel_options(jobs=1), ask)
    assert found == [["tiny"], []]


def test_what_is_only_declared_has_a_place(path: Path) -> None:
    (found,) = pybtf.why(path, "forward", jobs=1)
    assert found.evidence is not None
    assert found.evidence["seen"] == {"definitions": 0, "declarations": 1}
    assert len(found.evidence["places"]) == 1


def test_a_variable_that_is_defined_is_told_by_its_definition(tmp_path: Path) -> None:
    """Even if it is declared before that, with another type, and not encoded."""
    declared = named("variable", "v", ("type", "ref4", "long"), ("declaration", "flag", 1))
    defined = named("variable", "v", ("type", "ref4", "int"), ("location", "exprloc", [("addr", 64)]))
    path = tmp_path / "vmlinux"
    path.write_bytes(kernel([unit([INT, LONG, declared, defined])], symbols=[COUNTER, *functions("f")]).data)
    (found,) = pybtf.why(path, "v", jobs=1)
    assert found.evidence is not None
    assert (found.reason, found.evidence["declaration"], len(found.evidence["places"])) == ("section", "int v", 1)


def test_not_each_section_of_data_is_per_cpu(path: Path) -> None:
    (found,) = pybtf.why(path, "counter", features="+global_var", jobs=1)
    assert found.verdict.endswith(" in .data..percpu (per CPU)")
    evidence = {"ids": [7], "section": ".data", "size": 4, "per_cpu": False}
    assert words.verdict("v", "variable", "", evidence) == "v is in BTF: VAR [7], 4 bytes in .data"


def test_types_of_one_name_are_compared_with_the_first_of_their_kind(tmp_path: Path) -> None:
    def twice(tag: str, member: str, size: int) -> Die:
        inner = named("member", "a", ("type", "ref4", member), ("data_member_location", "data1", 0))
        return named(tag, "twice", ("byte_size", "data1", size), label=f"{tag}{size}", children=[inner])

    def user(name: str, label: str) -> list[Die]:
        pointer = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", label), label=name)
        return [pointer, named("typedef", f"{name}_t", ("type", "ref4", name))]

    path = tmp_path / "vmlinux"
    types = [twice("structure_type", "int", 4), twice("union_type", "long", 8)]
    first = unit([INT, LONG, *types, *user("p", "structure_type4"), *user("q", "union_type8"), subprogram("f", 16)])
    second = unit([INT, LONG, twice("structure_type", "long", 8), *user("r", "structure_type8")])
    path.write_bytes(kernel([first, second], symbols=[COUNTER, *functions("f")]).data)
    (found,) = pybtf.why(path, "twice", jobs=1)
    assert found.evidence is not None
    rows = [(row["kind"], row["size"], "differs_in" in row) for row in found.evidence["types"]]
    assert rows == [("STRUCT", 4, False), ("STRUCT", 8, True), ("UNION", 8, False)]
