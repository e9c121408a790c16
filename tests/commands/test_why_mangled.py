"""`pybtf why` for functions in Rust and C++, whose symbols differ from the names in DWARF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.explain import entries
from pybtf.explain.mangled import identifiers
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.reasons import origin
from tests.builders.synthetic import COUNTER, TEXT, functions, named, subprogram
from tests.conftest import RunCli

RUST, CPP, C = 0x1C, 0x21, 0x1D
PUSH = "_RNvMs1_NtCsdJ13ReMSUMg_6kernel4kvec4push"
INLINE = ("inline", "data1", 1)


def written(language: int, *children: Die, name: str = "lib.rs") -> Unit:
    root = die("compile_unit", ("name", "string", name), ("language", "data1", language), children=children)
    return Unit(root)


def linked(symbol: str) -> tuple[str, str, Any]:
    return "linkage_name", "string", symbol


def path_of(folder: Path, units: list[Unit], *symbols: str) -> Path:
    path = folder / "vmlinux"
    path.write_bytes(kernel([unit([INT]), *units], symbols=[COUNTER, *functions(*symbols)]).data)
    return path


def asked(path: Path, *names: str, **options: Any) -> list[pybtf.Answer]:
    return pybtf.why(path, *names, jobs=1, **options)


def described(answer: pybtf.Answer) -> tuple[str, str | None] | None:
    """How and where the code of a symbol is described."""
    row = (answer.evidence or {})["renamed_from"]
    return row and (row["name"], row.get("address"))


def test_symbols_of_rust_and_cpp(tmp_path: Path, run_cli: RunCli) -> None:
    """DWARF has the last of the names in them, with the types of generic functions; the code shows which it is."""
    generic, other = "_RINvNtCsdJ13ReMSUMg_6kernel12module_param9set_paramaEB4_", "_ZN6kernel3newEv"
    rust = written(RUST, subprogram("set_param<u8>", 80), subprogram("set_param<i8>", 16))
    cpp = written(CPP, subprogram("foo", 32), subprogram("new", 96), subprogram("kernel", 112), name="foo.cc")
    path = path_of(tmp_path, [rust, cpp], generic, "_Z3fooi", other, "_Z3barv")
    found = asked(path, generic, "_Z3fooi", other, "_Z3barv")
    assert [each.reason for each in found] == ["no_description"] * 4
    assert [described(each) for each in found] == [
        ("set_param<i8>", f"{TEXT + 16:#x}"), ("foo", f"{TEXT + 32:#x}"), None, None,
    ]  # fmt: skip
    assert all((each.evidence or {})["renamed_from"]["prefix"] is None for each in found[:2])
    assert found[1].verdict.endswith("DWARF describes its code as foo, from which the compiler has made this symbol")
    assert found[3].verdict.endswith("from a name in Rust or C++; BTF has functions by the names in DWARF")
    assert all((each.advice or "").startswith("#[no_mangle] of Rust") for each in found[1:])
    assert f"\n  described as foo: the unit foo.cc, code at {TEXT + 32:#x}\n" in run_cli("why", "_Z3fooi", path).stdout


def test_the_last_of_many_of_one_name(tmp_path: Path) -> None:
    """Rust has hundreds of functions `fmt` in one unit; each further one costs little."""
    symbol = "_RNvXs_NtCs1_4core5errorNtB4_5ErrorNtB5_5Debug5write"
    many = [subprogram("write", 0x1000 + 16 * number) for number in range(150)]
    path = path_of(tmp_path, [written(RUST, *many, subprogram("write", 16))], symbol)
    assert [described(each) for each in asked(path, symbol)] == [("write", f"{TEXT + 16:#x}")]


def test_units_in_c_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function in a C header may have the name in thousands of them."""
    monkeypatch.setattr(entries, "MOST_UNITS", 1)
    plain = [written(C, subprogram("push", None, INLINE), name=f"{number}.c") for number in range(3)]
    path = path_of(tmp_path, [*plain, written(RUST, subprogram("push", 16))], PUSH)
    assert [described(each) for each in asked(path, PUSH)] == [("push", f"{TEXT + 16:#x}")]


def test_as_many_units_are_looked_at_as_take_no_long_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units = [written(RUST, subprogram("push", 80)), written(RUST, subprogram("push", 16))]
    path = path_of(tmp_path, units, PUSH)
    for most, found in ((2, ("push", f"{TEXT + 16:#x}")), (1, None)):
        monkeypatch.setattr(entries, "MOST_UNITS", most)
        assert [described(each) for each in asked(path, PUSH)] == [found]
    monkeypatch.setattr(entries, "MOST_UNITS", 2)
    monkeypatch.setattr(entries, "MOST_LOOKED_AT", 1)
    assert [described(each) for each in asked(path, PUSH)] == [None]


def test_code_that_stands_for_what_is_inlined_elsewhere(tmp_path: Path) -> None:
    """In a unit that is left out, the code gets its name from the abstract instance, and that from a method."""
    holder = named(
        "structure_type", "KVec", ("byte_size", "data1", 1),
        children=[subprogram("push", None, ("declaration", "flag", 1), label="method")],
    )  # fmt: skip
    copy = subprogram(None, 16, origin("abstract"))
    abstract = subprogram(None, None, ("specification", "ref4", "method"), INLINE, label="abstract")
    path = path_of(tmp_path, [written(RUST, holder, copy, abstract)], PUSH)
    assert [described(each) for each in asked(path, PUSH)] == [("push", f"{TEXT + 16:#x}")]


def method(*attributes: Any) -> list[Die]:
    """An inlined method with a copy that comes before its origin: by pahole's rules it has no name."""
    holder = named(
        "structure_type", "KVec", ("byte_size", "data1", 1),
        children=[subprogram("push", None, ("declaration", "flag", 1), *attributes, label="method")],
    )  # fmt: skip
    caller = subprogram("caller", 64, children=[die("inlined_subroutine", origin("abstract"))])
    abstract = subprogram(None, None, ("specification", "ref4", "method"), INLINE, label="abstract")
    return [holder, subprogram(None, 16, origin("abstract")), abstract, caller]


def test_a_linkage_name_tells_where_the_code_does_not(tmp_path: Path) -> None:
    path = path_of(tmp_path, [written(RUST, *method(linked(PUSH)))], PUSH)
    assert [described(each) for each in asked(path, PUSH, lang_exclude="c11")] == [("push", None)]
    path = path_of(tmp_path, [written(RUST, *method())], PUSH)
    assert [described(each) for each in asked(path, PUSH, lang_exclude="c11")] == [None]


def test_a_name_of_which_the_compiler_has_made_a_symbol(tmp_path: Path, run_cli: RunCli) -> None:
    """There is code of its own, not only inlined copies, but no symbol of that name."""
    path = path_of(tmp_path, [written(RUST, *method(linked(PUSH)))], PUSH, "_RNvCs1_3lib5pushy")
    (found,) = asked(path, "push", lang_exclude="c11")
    assert found.reason == "no_symbol"
    said = f"there is no function symbol of this name; the compiler has made another from it, {PUSH}"
    assert found.verdict == f"the function push is not in BTF: {said}"
    assert (found.advice or "").startswith("#[no_mangle] of Rust")
    assert (found.evidence or {})["inlined"]["copies"] == 1
    shown = run_cli("why", "--lang-exclude", "c11", "push", path).stdout
    assert f"\n  {TEXT + 16:#x} {PUSH}: the unit lib.rs\n" in shown
    several = [written(CPP, subprogram("push", 32), subprogram("push", 16))]
    path = path_of(tmp_path, several, "_ZN1a4pushEv", "_ZN1b4pushEv")
    (found,) = asked(path, "push")
    assert found.verdict.endswith("another from it, _ZN1a4pushEv, and 1 more")
    rows = (found.evidence or {})["compiled_as"]
    assert [(row["symbol"], row["address"]) for row in rows] == [
        ("_ZN1a4pushEv", f"{TEXT + 16:#x}"), ("_ZN1b4pushEv", f"{TEXT + 32:#x}"),
    ]  # fmt: skip


def test_closures_have_no_name(tmp_path: Path) -> None:
    symbol, other = "_RNCNvCs1_3lib4push0B4_", "_RNvCs1_3lib4pull0B4_"
    rust = written(RUST, subprogram("{closure#0}", 16), subprogram("{closure#1}", 32))
    path = path_of(tmp_path, [rust], symbol, other)
    assert [described(each) for each in asked(path, symbol, other)] == [("{closure#0}", f"{TEXT + 16:#x}"), None]


def test_units_that_are_left_out_by_language(tmp_path: Path) -> None:
    """The answer says which units and why; and that this alone does not help if the symbol has another name."""
    path = path_of(tmp_path, [written(RUST, subprogram("push", 16), subprogram("plain", 32))], PUSH, "plain")
    symbol, push, plain = asked(path, PUSH, "push", "plain")
    excluded = "Units in rust are left out by --lang-exclude rust, as in builds of kernels."
    assert plain.advice == excluded
    for each in (symbol, push):
        assert (each.advice or "").startswith(f"{excluded} With them, the function would not be in BTF either")
        assert (each.advice or "").endswith("A kprobe needs no prototype.")
    assert (symbol.evidence or {})["renamed_from"]["left_out"] == {"language": "rust", "option": "--lang-exclude"}
    assert (plain.evidence or {})["left_out"] == {"language": "rust", "option": "--lang-exclude"}
    assert (push.evidence or {})["compiled_as"][0]["symbol"] == PUSH
    (plain,) = asked(path, "plain", lang="c99")
    assert plain.advice == "Units in rust are left out, because --lang does not name it."
    units = [written(C, subprogram("plain", 16)), written(0x99, subprogram("other", 32))]
    path = path_of(tmp_path, units, "plain", "other")
    (plain,) = asked(path, "plain", lang_exclude="c11")
    assert plain.advice == "Units in c11 are left out by --lang-exclude c11."
    (other,) = asked(path, "other", lang="c99")
    assert other.advice == "Units in 0x99 are left out, because --lang does not name it."


def test_names_of_up_to_three_letters(tmp_path: Path) -> None:
    """A C compiler writes them into the DIE, and the encoder reads them from there late, if at all."""
    var = named("variable", "seq", ("location", "exprloc", [("addr", COUNTER.value)]))
    path = path_of(tmp_path, [written(C, subprogram("add", 16), var)], "add")
    assert [each.reason for each in asked(path, "add", "seq", lang_exclude="c11")] == ["language", "language"]


def test_a_variable_that_is_left_out_by_language(tmp_path: Path) -> None:
    held = named("variable", "HELD", ("location", "exprloc", [("addr", COUNTER.value)]))
    (found,) = asked(path_of(tmp_path, [written(RUST, held)]), "HELD")
    assert found.advice == "Units in rust are left out by --lang-exclude rust, as in builds of kernels."


def test_a_symbol_that_only_the_dwarf_has(tmp_path: Path, run_cli: RunCli) -> None:
    path = path_of(tmp_path, [written(RUST, *method(linked(PUSH)))])
    (found,) = asked(path, PUSH)
    assert (found.kind, found.reason) == ("function", "language")
    assert (found.evidence or {})["described_as"] == "push"
    (found,) = asked(path, PUSH, lang_exclude="c11")
    assert (found.kind, found.reason) == ("function", "no_symbol")
    assert "it is inlined everywhere, 1 time in 1 function" in found.verdict
    shown = run_cli("why", "--lang-exclude", "c11", PUSH, path).stdout
    assert "\n  described as push: the unit lib.rs\n" in shown
    (found,) = asked(path, PUSH.replace("kvec", "kbox"))
    assert (found.kind, found.reason) == (None, "not_found")


def test_a_symbol_that_only_a_declaration_has(tmp_path: Path) -> None:
    declared = subprogram("push", None, ("declaration", "flag", 1), linked("_ZN4KVec4pushEv"))
    (found,) = asked(path_of(tmp_path, [written(CPP, declared)]), "_ZN4KVec4pushEv")
    assert found.reason == "declaration"


@pytest.mark.parametrize(
    ("symbol", "wanted"),
    [
        ("_RNvCsjJ6pmSBbkgH_7___rustc17rust_begin_unwind", {"__rustc", "rust_begin_unwind"}),
        ("_ZN7__rustc17rust_begin_unwindE", {"__rustc", "rust_begin_unwind"}),
        ("_ZN4core9panicking5panic17h0123456789abcdefE.llvm.77", {"core", "panicking", "panic"}),
        ("_ZN3ab23ab1Ev", {"ab2", "ab1"}),
        ("_Z9999fooi", set()),
        ("x3foo", set()),
    ],
)
def test_identifiers_in_symbols(symbol: str, wanted: set[str]) -> None:
    found = identifiers(symbol)
    assert wanted <= set(found)
    assert wanted or not [name for name in found if name.startswith("foo")]
