"""`pybtf why`: which descriptions the evidence is taken from, in files made for it; and the text of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.explain import text
from pybtf.explain.asking import Answer, inquire, kernel_options
from pybtf.explain.inquiry import Inquiry
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.elfwriter import SHN_ABS, SHN_UNDEF, Symbol, btf_ids
from tests.builders.kernelish import FLAVOURS, INT, Flavour, kernel, relocatable, unit
from tests.builders.reasons import LONG, RETURNS, origin, register
from tests.builders.synthetic import COUNTER, TEXT, X86, named, parameter, subprogram

INLINE = ("inline", "data1", 1)


def abstract(name: str, label: str = "") -> Die:
    """`int name(long a, long b)`, without code."""
    label = label or name
    parameters = [parameter(each, "long", label=f"{label}.{each}") for each in "ab"]
    return subprogram(name, None, RETURNS, INLINE, label=label, children=parameters)


def copy(label: str, at: int, **registers: int) -> Die:
    """Code of an abstract function at TEXT + `at`, with these parameters in these registers."""
    children = [die("formal_parameter", origin(f"{label}.{name}"), register(at)) for name, at in registers.items()]
    return subprogram(None, at, origin(label), children=children)


def at(**places: int) -> list[Symbol]:
    """Symbols of functions; `_dot_` means a dot."""
    return [Symbol(name.replace("_dot_", "."), TEXT + place, 16) for name, place in places.items()]


def why(
    path: Path, units: Sequence[Unit], symbols: Sequence[Symbol], *names: str, features: str = "default", **more: Any
) -> list[pybtf.Answer]:
    file = path / "vmlinux"
    file.write_bytes(kernel(units, symbols=[COUNTER, *symbols], **more).data)
    return pybtf.why(file, *names, features=features, jobs=1)


def evidence(answer: pybtf.Answer) -> dict[str, Any]:
    assert answer.evidence is not None
    return answer.evidence


# Which description


def test_of_several_copies_the_last_says_where_parameters_are(tmp_path: Path) -> None:
    """The abstract instance gets its registers from it."""
    children = [INT, LONG, abstract("f"), copy("f", 16, a=5, b=1), copy("f", 32, a=5, b=2)]
    (found,) = why(tmp_path, [unit(children)], at(f_dot_isra_dot_0=16, f_dot_isra_dot_1=32), "f")
    row = evidence(found)["instances"][-1]
    assert [each["location"] for each in row["parameters"]] == ["rdi", "rcx"]
    assert (row["address"], row["found"], row["expected"]) == (f"{TEXT + 32:#x}", "rcx", "rsi")


def test_copies_in_other_units_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit that includes the header has an instance and copies of its own, and reading them takes long."""
    monkeypatch.setattr("pybtf.explain.functions.MOST_COPIES", 1)
    units = [
        unit([
            INT._replace(label=f"int{n}"), LONG._replace(label=f"long{n}"),
            subprogram(
                "f", None, ("type", "ref4", f"int{n}"), INLINE, label=f"f{n}",
                children=[parameter("a", f"long{n}", label=f"f{n}.a")],
            ),
            copy(f"f{n}", 16 * n, a=n),
        ])
        for n in (1, 2)
    ]  # fmt: skip
    (found,) = why(tmp_path, units, at(f=16, f_dot_isra_dot_0=32), "f")
    rows = evidence(found)["instances"]
    assert [row["parameters"][0]["location"] for row in rows] == ["rdx", "rcx"] * 2
    assert [row["address"] for row in rows] == [f"{TEXT + place:#x}" for place in (16, 32)] * 2


def test_a_parameter_that_the_copy_does_not_have_is_gone(tmp_path: Path) -> None:
    children = [INT, LONG, abstract("f"), copy("f", 16, b=5)]
    (found,) = why(tmp_path, [unit(children)], at(f=16), "f")
    (row,) = evidence(found)["instances"]
    assert [(each["name"], each["location"]) for each in row["parameters"]] == [("a", "gone"), ("b", "rdi")]


def test_a_prototype_with_other_names_counts_as_the_same(tmp_path: Path) -> None:
    """Then no difference is reported, and it comes last, whichever was seen first."""
    units = [
        unit([
            INT._replace(label=f"int{n}"), LONG._replace(label=f"long{n}"),
            subprogram(
                "f", 16 * n, ("type", "ref4", f"int{n}"), children=[parameter(name, f"{type}{n}", register(5))]
            ),
        ])
        for n, (type, name) in enumerate((("int", "a"), ("int", "other"), ("long", "a")), 1)
    ]  # fmt: skip
    (found,) = why(tmp_path, units, at(f=16), "f")
    assert [
        (row["prototype"], row["agrees_with_the_first"], row["differs_in"]) for row in evidence(found)["prototypes"]
    ] == [
        ("int f(int a)", True, []),
        ("int f(long a)", False, ["parameter 1 is 'long a' instead of 'int a'"]),
        ("int f(int other)", True, []),
    ]
    assert evidence(found)["distinct"] == 3


def test_descriptions_are_counted_by_what_they_are(tmp_path: Path) -> None:
    """A variable of the same name is not a description of a function."""
    children = [
        INT, LONG, abstract("f"), subprogram("f", None, RETURNS, ("declaration", "flag", 1)), copy("f", 16, a=5, b=4),
        named("variable", "f", RETURNS, ("location", "exprloc", [("reg5",)])),
    ]  # fmt: skip
    (found,) = why(tmp_path, [unit(children)], at(f=16), "f")
    assert evidence(found)["descriptions"] == {"compiled": 1, "abstract": 1, "declarations": 1}


def test_functions_of_one_name_in_a_unit_count_as_one_caller(tmp_path: Path) -> None:
    inlined = [die("inlined_subroutine", origin("tiny"))]
    children = [
        INT, subprogram("tiny", None, RETURNS, INLINE, label="tiny"),
        *(subprogram("caller", place, RETURNS, children=inlined) for place in (16, 32)),
    ]  # fmt: skip
    (found,) = why(tmp_path, [unit(children)], at(caller=16), "tiny")
    assert evidence(found)["inlined"] == {
        "copies": 2, "callers": 2, "complete": True,
        "by": [{"function": "caller", "unit": "unit.c", "copies": 2, "in_btf": True}],
    }  # fmt: skip


def test_a_name_with_a_dot_has_descriptions_of_its_own(tmp_path: Path) -> None:
    """Go has such names. The symbol counts as one of `main`, as symbols of clones do."""
    (found,) = why(tmp_path, [unit([INT, subprogram("main.run", 16, RETURNS)])], at(main_dot_run=16), "main.run")
    assert evidence(found)["descriptions"]["compiled"] + evidence(found)["descriptions"]["abstract"] == 1


def test_flags_of_kfuncs_that_have_no_name_yet(tmp_path: Path) -> None:
    ids, more = btf_ids(
        [("__BTF_ID__set8__s", 1, 1), ("__BTF_ID__func__f__1", 0, 1 << 31 | 1 << 16 | 1 << 15)],
        address=0xFFFFFFFF83000000,
    )
    units = [unit([INT, subprogram("f", 16, RETURNS)])]
    (found,) = why(tmp_path, units, [*at(f=16), *more], "f", extra_sections=[ids])
    assert evidence(found)["kfunc"]["flags"] == ["ARENA_ARG2", "bit 16", "bit 31"]


def test_a_variable_of_another_section_is_not_per_cpu(tmp_path: Path) -> None:
    place = ("location", "exprloc", [("addr", X86.text + 64)])
    units = [unit([INT, named("variable", "v", RETURNS, place)])]
    symbol = Symbol("v", X86.text + 64, 4, "OBJECT", ".text")
    (found,) = why(tmp_path, units, [symbol], "v", features="+global_var")
    assert (evidence(found)["section"], evidence(found)["per_cpu"]) == (".text", False)


# Reasons that come from symbols


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("__pfx_f", "padding"),
        ("__pfx_f.part.0", "padding"),
        ("__pfx_lonely", "no_description"),
        ("__pfx_lonely.part.0", "part"),
        ("__pfx_lonely.isra.0", "clone"),
    ],
)
def test_padding_is_in_front_of_a_function(tmp_path: Path, name: str, reason: str) -> None:
    """The whole name says which function it belongs to. A function may be called like that, too."""
    symbols = at(f=32, f_dot_part_dot_0=64, __pfx_f=16, __pfx_lonely=80, __pfx_lonely_dot_isra_dot_0=96)
    symbols += at(__pfx_f_dot_part_dot_0=48, __pfx_lonely_dot_part_dot_0=112)
    (found,) = why(tmp_path, [unit([INT, subprogram("f", 32, RETURNS)])], symbols, name)
    assert found.reason == reason


def test_an_address_behind_a_section_is_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    path.write_bytes(relocatable().data)
    found: list[str] = []

    def ask(inquiry: Inquiry) -> None:
        ((start, end, _),) = inquiry._code
        found.extend(map(inquiry.address, (start - 1, start, end - 1, end)))

    inquire(str(path), kernel_options(jobs=1), ask)
    assert found[1:3] == [".text+0x0", ".text+0xff"]
    assert found[0].startswith("0x")
    assert found[3].startswith("0x")


def test_undefined_symbols_are_of_no_function(tmp_path: Path) -> None:
    """Programs linked with libraries have them, at 0 or in the table for calls. Absolute values are no such symbols."""
    declared = subprogram("calls", None, RETURNS, ("declaration", "flag", 1))
    undefined = [Symbol(f"{name}@V_2.2.5", section=SHN_UNDEF) for name in ("puts", "exit")]
    undefined += [Symbol("calls", TEXT + 16, section=SHN_UNDEF), Symbol("fixed", 64, section=SHN_ABS)]
    units = [unit([INT, declared, subprogram("f", 32, RETURNS)])]
    symbols = [*at(f=32, alias=16), *undefined]
    assert [each.name for each in why(tmp_path, units, symbols, "*")] == ["alias", "calls", "f", "fixed"]
    alias, calls, puts, bare, version, fixed = why(
        tmp_path, units, symbols, "alias", "calls", "puts@V_2.2.5", "puts", "puts@V_2", "fixed"
    )
    assert (alias.reason, fixed.reason) == ("no_description", "no_description")
    assert evidence(alias)["same_code"] == []
    assert calls.reason == "declaration"
    assert evidence(calls)["symbols"] == []
    assert {each.reason for each in (puts, bare, version)} == {"not_found"}
    assert puts.verdict.endswith("the code is in another file")
    assert bare.verdict.endswith("the code is in another file")
    assert version.verdict.endswith("no function, type or global variable of the file has this name")


# Text


def said(evidence: dict[str, Any], reason: str = "optimized", **more: Any) -> list[str]:
    """All lines but the verdict."""
    return text.lines([Answer("f", "function", False, reason, "verdict", evidence=evidence, **more)])[1:]


def instance(**more: Any) -> dict[str, Any]:
    parameters = [{"name": "a", "location": "rdi"}, {"name": "", "location": "rcx"}]
    row = {"unit": "u.c", "file": "u.h", "line": 3, "die": "0x1", "prototype": "int f(int a, int)"}
    return {**row, "parameters": parameters, **more}


def test_an_instance_with_its_parameters() -> None:
    row = instance(parameter=1, expected="rsi", symbols=["f.isra.0", "f.isra.1"], in_the_source="int f(int, int)")
    assert said({"instances": [row], "seen": 1}) == [
        "  int f(int a, int)", "    u.h:3 in the unit u.c", "    in the source: int f(int, int)",
        "    symbol f.isra.0, f.isra.1", "    1. a: rdi", "    2. (no name): rcx  < expected in rsi",
    ]  # fmt: skip
    assert said({"instances": [instance(parameter=0)], "seen": 1})[2:] == ["    1. a: rdi  <", "    2. (no name): rcx"]
    assert said({"instances": [instance(expected="rsi", symbols=[])], "seen": 1})[2:] == [
        "    1. a: rdi", "    2. (no name): rcx",
    ]  # fmt: skip
    many = instance(parameters=[{"name": "a", "location": "rdi"}] * 40)
    assert len(said({"instances": [many], "seen": 1})) == 2 + 32


def test_two_instances_are_told() -> None:
    rows = [instance(parameters=[])] * 4
    assert said({"instances": rows[:2], "seen": 2}) == ["  int f(int a, int)", "    u.h:3 in the unit u.c"] * 2
    assert said({"instances": rows, "seen": 1003})[4:] == ["  and 1,001 more"]


def test_addresses_have_the_place_that_is_known() -> None:
    row = {"symbol": "f", "address": "0x10"}
    place = {"unit": "", "file": "", "line": 0, "die": "0x1"}
    found = {"addresses": [row, row | place], "symbols": [{"name": "f", "address": "0x10"}]}
    assert said(found, "ambiguous_address") == [
        "  0x10 f", "  0x10 f: the unit (without a name)",
    ]  # fmt: skip


def test_other_names() -> None:
    assert said({"in_btf_as": ["f.a", "f.b"]}, "renamed") == ["  in BTF as f.a", "  in BTF as f.b"]
    rows = [{"name": "g", "in_btf": True}, {"name": "h", "in_btf": False}]
    assert said({"same_code": rows}, "no_description") == [
        "  the same code as g, which is in BTF", "  the same code as h",
    ]  # fmt: skip
    assert said({}, "not_found", like=["g", "h"]) == ["  Did you mean g?"]


def test_six_symbols_are_told() -> None:
    symbols = [{"name": f"f.{n}", "address": hex(n)} for n in range(8)]
    assert said({"symbols": symbols}) == [f"  symbol f.{n} at {n:#x}" for n in range(6)]
    assert said({"symbols": symbols}, "no_symbol") == []


def test_advice_follows_the_evidence() -> None:
    """Without evidence, there is only one line."""
    assert said({}, advice="word " * 30) == [f"  {'word ' * 22}".rstrip(), f"  {'word ' * 8}".rstrip()]
    answers = [Answer(name, None, False, "clone", name, "advice") for name in "ab"]
    answers.append(Answer("c", "function", True, None, "c", evidence={}))
    assert text.lines(answers) == ["a", "b", "", "c"]


LABELS: dict[str, tuple[str | int, str]] = {
    "entry": ("NOTYPE", "no DWARF describes it, and its symbol is not a function's, but a label (NOTYPE)"),
    "table": ("OBJECT", "no DWARF describes it, and its symbol is that of data (OBJECT)"),
    "chosen": (10, "no DWARF describes it, and its symbol is that of an indirect function (GNU_IFUNC)"),
    "odd": (5, "no DWARF describes it, and its symbol is not a function's"),
    "source": ("FILE", "no function, type or global variable of the file has this name"),
    "outside": ("NOTYPE", "no function, type or global variable of the file has this name"),
    "tr": ("NOTYPE", "no function, type or global variable of the file has this name"),
}


@pytest.mark.parametrize("machine", FLAVOURS)
def test_symbols_that_are_no_functions(machine: str, tmp_path: Path) -> None:
    """They are mentioned, and no similar name is proposed. Undefined symbols and names of sources do not count."""
    flavour, path = FLAVOURS[machine], tmp_path / "vmlinux"
    places: dict[str, str | int] = {"outside": SHN_UNDEF, "source": SHN_ABS}
    symbols = [
        Symbol(name, flavour.text + 64, 0, kind, places.get(name, ".text"))
        for name, (kind, _) in LABELS.items()
        if name != "tr"
    ]
    path.write_bytes(kernel(flavour=flavour, extra_symbols=symbols).data)
    for found, (name, (_, said)) in zip(pybtf.why(path, *LABELS, jobs=1), LABELS.items(), strict=True):
        assert (found.kind, found.in_btf, found.reason) == (None, False, "not_found")
        assert found.verdict.startswith(f"{name} is not in BTF: {said}")
        assert found.like == []


def test_addresses_of_two_bytes(tmp_path: Path) -> None:
    """Addresses of functions and variables are in .debug_addr, as clang writes them for AVR with DWARF 5."""
    avr, path = Flavour(32, True, "EM_AVR", 0x1000, 0x2000), tmp_path / "program"
    children = [
        INT,
        *(
            named("subprogram", name, ("low_pc", "addrx", avr.text + start), ("high_pc", "data4", 16))
            for name, start in (("f", 0), ("g", 16))
        ),
        named("variable", "counter", ("type", "ref4", "int"), ("location", "exprloc", [("addrx", avr.percpu)])),
    ]
    symbols = [Symbol("g", avr.text + 16, 16)]
    path.write_bytes(kernel([unit(children, version=5, address_size=2)], avr, extra_symbols=symbols).data)
    found = pybtf.why(path, "f", "g", "counter", jobs=1)
    assert all(each.in_btf for each in found)
    assert [each.evidence["source"]["address"] for each in found[:2] if each.evidence] == ["0x1000", "0x1010"]
