"""`pybtf why`: for each reason, a small file with DWARF written for it, and the answer; and for all fixtures, a check
that the verdicts agree with the encoding, name by name.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.core.codes import TRACE_NAMES
from pybtf.errors import counted
from pybtf.explain import text, words
from pybtf.explain.asking import Answer, answers, inquire, kernel_options, listed
from pybtf.explain.inquiry import Inquiry
from pybtf.explain.reasons import ADVICE, FUNCTIONS, IN_BTF, VARIABLE_TRACES, VARIABLES
from pybtf.report import REASON_OF_FATE
from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Section, Symbol
from tests.builders.kernelish import INT, kernel, point, unit
from tests.builders.reasons import LONG, POINTER, everything, fine, kernel_unit
from tests.builders.synthetic import COUNTER, TEXT, functions, named, subprogram
from tests.conftest import ROOT, RunCli

FIXTURES = sorted((ROOT / "fixtures" / "bin").glob("*.elf"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "vmlinux"
    path.write_bytes(everything())
    return path


VERDICTS = {
    "good": (IN_BTF, "good is in BTF: FUNC [{id}], int good(long a, struct point *p), from the unit unit.c"),
    "caller": (IN_BTF, "caller is in BTF: FUNC [{id}], int caller(long b), from the unit unit.c"),
    "tiny": (
        "no_symbol",
        "the function tiny is not in BTF: there is no function symbol of this name; it is inlined everywhere, 2 times "
        "in 1 function",
    ),
    "halved": (
        "no_symbol",
        "the function halved is not in BTF: there is no function symbol of this name; it is inlined, all "
        "but halved.part.0, 1 time in 1 function",
    ),
    "pieces": (
        "no_symbol",
        "the function pieces is not in BTF: there is no function symbol of this name, only of a part of "
        "it, pieces.part.0 and 1 more",
    ),
    "removed": (
        "no_symbol",
        "the function removed is not in BTF: there is no function symbol of this name, and nothing inlines it: the "
        "code was removed",
    ),
    "elsewhere": (
        "declaration",
        "the function elsewhere is not in BTF: only declared, never defined in a unit that is encoded",
    ),
    "assembled": (
        "no_description",
        "the function assembled is not in BTF: a function symbol, but no DWARF describes the function",
    ),
    "alias": (
        "no_description",
        "the function alias is not in BTF: no DWARF describes it; it is another name for the code of good",
    ),
    "moved": (
        "unexpected_register",
        "the function moved is not in BTF: parameter 2 (b) arrives in rdi, the calling convention says rsi",
    ),
    "swapped": ("reordered", "the function swapped is not in BTF: the compiler removed or reordered parameters"),
    "differs": ("inconsistent", "the function differs is not in BTF: units disagree about its prototype: there are 2"),
    "anonymous": ("unnamed_parameter", "the function anonymous is not in BTF: parameter 2 has no name"),
    "stacked": ("uncertain_location", "the function stacked is not in BTF: a packed struct is passed on the stack"),
    "dropped": (
        "optimized",
        "the function dropped is not in BTF: the only code is that of dropped.constprop.0, a clone in which parameter "
        "2 (b) is optimised away",
    ),
    "dropped.constprop.0": (
        "clone",
        "the function dropped.constprop.0 is not in BTF: it is the name of a clone of dropped; BTF has functions by "
        "the name in the source",
    ),
    "good.cold": (
        "part",
        "the function good.cold is not in BTF: it is a part of good, which the compiler has put elsewhere",
    ),
    "__pfx_good": (
        "padding",
        "the function __pfx_good is not in BTF: the padding in front of a function, not a function",
    ),
    "everywhere": (
        "ambiguous_address",
        "the function everywhere is not in BTF: there are 2 functions of this name at different addresses",
    ),
    "rusty": ("language", "the function rusty is not in BTF: defined only in units of a language that is left out"),
    "method": ("language", "the function method is not in BTF: defined only in units of a language that is left out"),
    "counter": (IN_BTF, "counter is in BTF: VAR [{id}], 4 bytes in .data..percpu (per CPU)"),
    "in_data": ("section", "the variable in_data is not in BTF: in a section that was not asked for"),
    "only_declared": ("declaration", "the variable only_declared is not in BTF: only declared"),
    "in_register": (
        "no_address",
        "the variable in_register is not in BTF: no fixed address: optimised away, thread-local or in a register",
    ),
    "void_one": ("void_type", "the variable void_one is not in BTF: without a type"),
    "__UNIQUE_ID_x": ("generated", "the variable __UNIQUE_ID_x is not in BTF: made by the kernel's macros"),
    "no-name": ("invalid_name", "the variable no-name is not in BTF: the name is not one BTF allows"),
    "RUSTY": ("language", "the variable RUSTY is not in BTF: defined only in units of a language that is left out"),
    "struct point": (IN_BTF, "struct point is in BTF: STRUCT [{id}]"),
    "forward": (IN_BTF, "forward is in BTF: FWD [{id}]"),
    "only_in_rust": (
        "not_encoded",
        "the type only_in_rust is not in BTF: described by DWARF, but not by a unit that is encoded, or only inside "
        "code that is inlined",
    ),
    "godo": ("not_found", "godo is not in BTF: no function, type or global variable of the file has this name"),
}
"""By what is written in `everything`. `{id}`: that of the type, which is compared with the BTF of `encode`."""


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_for_each_reason(path: Path, name: str) -> None:
    (found,) = pybtf.why(path, name, jobs=1)
    reason, verdict = VERDICTS[name]
    if reason == IN_BTF:
        plain = name.rpartition(" ")[2]
        type = pybtf.encode(path, jobs=1, lang_exclude="rust").btf.by_name(plain)
        assert type is not None
        verdict = verdict.format(id=type.id)
    assert (found.in_btf, found.reason, found.verdict) == (reason == IN_BTF, reason or None, verdict)


def test_each_reason_has_its_case(path: Path) -> None:
    """Except those that need true signatures, several files, an object at a section's start, or compilers' BTF."""
    covered = {found.reason for found in pybtf.why(path, *VERDICTS, jobs=1)}
    assert (FUNCTIONS.keys() | VARIABLES.keys()) - covered == {"renamed", "unnamed", "size", "ambiguous_symbol"}


def test_evidence(path: Path) -> None:
    """The contents of the descriptions that decided."""
    found = {each.name: each.evidence or {} for each in pybtf.why(path, *VERDICTS, jobs=1)}
    assert [row["function"] for row in found["tiny"]["inlined"]["by"]] == ["caller"]
    assert found["tiny"]["inlined"]["by"][0]["in_btf"]
    one, two = found["differs"]["prototypes"]
    assert (one["prototype"], two["prototype"]) == ("int differs(int a)", "int differs(long b)")
    assert two["differs_in"] == ["parameter 1 is 'long b' instead of 'int a'"]
    assert not two["agrees_with_the_first"]
    (row,) = found["moved"]["instances"]
    assert (row["found"], row["expected"], row["parameter"]) == ("rdi", "rsi", 1)
    assert [each["location"] for each in row["parameters"]] == ["rdi", "rdi"]
    (row,) = found["swapped"]["instances"]
    assert row["in_the_source"] == "int swapped(long a, long b)"
    assert row["prototype"] == "int swapped(long b, long a)"
    (row,) = found["dropped"]["instances"]
    assert row["symbols"] == ["dropped.constprop.0"]
    assert row["parameters"][1] == {"name": "b", "location": "replaced by a constant"}
    assert [row["address"] for row in found["everywhere"]["addresses"]] == [f"{TEXT + at:#x}" for at in (144, 192)]
    assert found["good"]["kfunc"] == {
        "flags": ["ACQUIRE", "SLEEPABLE"], "value": 33, "tagged": True, "why_not_tagged": None
    }  # fmt: skip
    assert found["moved"]["kfunc"]["why_not_tagged"] == "the function itself is not in BTF"
    assert found["caller"]["kfunc"] is None
    assert found["counter"]["declaration"] == "int counter"
    assert found["alias"]["same_code"] == [{"name": "good", "in_btf": True}]
    assert found["struct point"]["seen"] == {"definitions": 1, "declarations": 0}
    assert found["godo"] == {}


def test_no_advice_says_where_something_is_printed() -> None:
    """Advice is printed last, and is a separate text in JSON."""
    assert not [text for text in ADVICE.values() if "below" in text or "above" in text]


def test_what_an_unknown_name_may_mean(path: Path) -> None:
    assert [found.like for found in pybtf.why(path, "caler", "nothing_like_it", jobs=1)] == [["caller"], []]


@pytest.mark.parametrize("names", [(), ("good", "")])
def test_names_are_needed(path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(pybtf.UsageError, match=r"no name is given|an empty name"):
        pybtf.why(path, *names, jobs=1)


def test_a_struct_is_no_union(path: Path) -> None:
    (found,) = pybtf.why(path, "union point", jobs=1)
    assert found.kind is None
    assert found.verdict == "union point is not in BTF: no function, type or global variable of the file has this name"


@pytest.mark.parametrize(
    ("prototype", "register", "said", "advised"),
    [
        ("struct big f(int a)", "rsi", "arrives in rsi: rdi has the address of what it returns", "through a pointer"),
        ("struct big *f(int a)", "rsi", "arrives in rsi, the calling convention says rdi", "noinline and __noclone:"),
        ("int f(struct big a)", "rsi", "arrives in rsi, the calling convention says rdi", "noinline and __noclone:"),
        ("struct big f(int a)", "rdx", "arrives in rdx, the calling convention says rdi", "noinline and __noclone:"),
        ("int f(double a)", "xmm0", "arrives in xmm0, and only integer registers are counted", "Pass a pointer"),
    ],
)
def test_registers_that_no_compiler_has_changed(prototype: str, register: str, said: str, advised: str) -> None:
    row = {"parameter": 0, "parameters": [{"name": "a"}], "prototype": prototype, "found": register, "expected": "rdi"}
    found = {"instances": [row]}
    assert words.verdict("f", "function", "unexpected_register", found).endswith(f"parameter 1 (a) {said}")
    told = words.advice("function", "unexpected_register", found)
    assert told is not None
    assert advised in told


@pytest.mark.parametrize(
    ("places", "advised"),
    [
        ([("list.h", 65, "a.c"), ("list.h", 65, "b.c")], "one function of a header"),
        ([("list.h", 65, "a.c"), ("list.h", 66, "b.c")], "Rename one of them"),
        ([("a.c", 65, "a.c"), ("b.c", 65, "b.c")], "Rename one of them"),
        ([("a.c", 65, "a.c"), ("a.c", 65, "a.c")], "Rename one of them"),
        ([("", 0, "a.c"), ("", 0, "b.c")], "Rename one of them"),
        ([("list.h", 65, "a.c"), None], "Rename one of them"),
        ([None, None], "Rename one of them"),
        ([], "Rename one of them"),
    ],
)
def test_copies_of_a_function_of_a_header(places: list[tuple[str, int, str] | None], advised: str) -> None:
    """They cannot be renamed one by one; and making them static inline does not help, because they are."""
    rows = [{} if place is None else dict(zip(("file", "line", "unit"), place, strict=True)) for place in places]
    told = words.advice("function", "ambiguous_address", {"addresses": rows})
    assert told is not None
    assert advised in told
    assert "static inline" not in told


ELSEWHERE = "Ask the file that defines it"


@pytest.mark.parametrize(
    ("write", "advised"),
    [
        ({}, {"called": "defined nowhere, because nothing calls", "coded": "A kprobe needs none.", "seen": "script"}),
        ({"type": "ET_REL"}, dict.fromkeys(("called", "seen"), ELSEWHERE) | {"coded": "A kprobe needs none."}),
        ({"dynamic": True}, dict.fromkeys(("called", "seen"), ELSEWHERE) | {"coded": "A kprobe needs none."}),
    ],
    ids=["kernel", "module", "with_libraries"],
)
def test_who_defines_what_is_only_declared(tmp_path: Path, write: dict[str, Any], advised: dict[str, str]) -> None:
    """For a kernel there is no other file to look at, nor for something that has a symbol."""
    declared = ("declaration", "flag", 1)
    children = [
        INT, subprogram("called", None, declared), subprogram("coded", None, declared),
        named("variable", "seen", ("type", "ref4", "int"), declared),
    ]  # fmt: skip
    more = [Section(".dynamic", bytes(16), type="DYNAMIC", entsize=16)] if write.get("dynamic") else []
    path = tmp_path / "x.elf"
    kind = write.get("type", "ET_EXEC")
    symbols = [COUNTER, *functions("coded")]
    path.write_bytes(kernel([unit(children)], symbols=symbols, extra_sections=more, type=kind).data)
    for found in pybtf.why(path, *advised, jobs=1):
        assert found.reason == "declaration"
        assert advised[found.name] in (found.advice or "")
    rows: list[pybtf.Answer] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: rows.extend(listed(inquiry, "declaration")))
    assert {each.name: advised[each.name] in (each.advice or "") for each in rows} == {"called": True, "coded": True}


@pytest.mark.parametrize("kind", ["ET_EXEC", "ET_REL"])
def test_another_name_for_code_that_is_only_declared(tmp_path: Path, run_cli: RunCli, kind: str) -> None:
    """Like `init_module` in each module."""
    declared = ("declaration", "flag", 1)
    children = [
        INT, subprogram("mine", 16), subprogram("other", None, declared), subprogram("__pi_mine", None, declared),
    ]  # fmt: skip
    path = tmp_path / "x.ko"
    start = TEXT if kind == "ET_EXEC" else 0
    symbols = [COUNTER, *(Symbol(name, start + 16, 16) for name in ("mine", "other", "__pi_mine"))]
    path.write_bytes(kernel([unit(children)], symbols=symbols, type=kind).data)
    other, prefixed = pybtf.why(path, "other", "__pi_mine", jobs=1)
    assert (other.reason, prefixed.reason) == ("declaration", "declaration")
    assert other.verdict.endswith("DWARF only declares it; it is another name for the code of __pi_mine, mine")
    assert "A kprobe needs none." in (other.advice or "")
    shown = run_cli("why", "other", path).stdout
    assert "\n  the same code as mine, which is in BTF\n  described: the unit unit.c\n" in shown
    if kind == "ET_EXEC":  # in a relocatable file, the address in this DWARF is a different place
        assert "DWARF describes its code as mine" in prefixed.verdict
        assert "after it was compiled" in (prefixed.advice or "")


def test_a_symbol_that_has_got_a_prefix(tmp_path: Path, run_cli: RunCli) -> None:
    """The kernel's build renames the symbols of code that runs early; the DWARF keeps the names."""
    abstract = subprogram("early", None, ("inline", "data1", 1), label="early")
    children = [INT, abstract, subprogram(None, 16, ("abstract_origin", "ref4", "early")), subprogram("late", 64)]
    path = tmp_path / "vmlinux"
    symbols = [COUNTER, *functions("__pi_early.isra.0", "__pi_late")]
    path.write_bytes(kernel([unit(children)], symbols=symbols).data)
    early, late = pybtf.why(path, "__pi_early", "__pi_late", jobs=1)
    assert (early.reason, late.reason) == ("no_description", "no_description")
    assert early.verdict.endswith("DWARF describes its code as early; the symbol got the prefix __pi_ later")
    assert "after it was compiled" in (early.advice or "")
    assert (early.evidence or {})["renamed_from"]["address"] == f"{TEXT + 16:#x}"
    assert (late.evidence or {})["renamed_from"] is None
    shown = run_cli("why", "__pi_early", path).stdout
    assert f"\n  described as early: the unit unit.c, code at {TEXT + 16:#x}\n" in shown


def test_kfuncs_are_not_tagged_without_the_feature(path: Path) -> None:
    (found,) = pybtf.why(path, "good", features="encode_force,var", jobs=1)
    assert (found.evidence or {})["kfunc"]["why_not_tagged"] == "the feature decl_tag_kfuncs is off"


def test_true_signatures_change_verdicts(path: Path) -> None:
    """With that feature, the clone is in the BTF, under the name of its symbol."""
    names = pybtf.encode(path, features="+true_signature", lang_exclude="rust", jobs=1).btf
    assert names.by_name("dropped.constprop.0") is not None
    found = pybtf.why(path, "dropped", "dropped.constprop.0", features="+true_signature", jobs=1)
    assert [each.reason for each in found] == ["renamed", None]
    assert found[0].verdict == "dropped is in BTF, but as dropped.constprop.0"


def test_what_a_clone_is_made_of(path: Path, run_cli: RunCli) -> None:
    """The text has the reason in words; JSON has its name."""
    shown = run_cli("why", "dropped.constprop.0", path).stdout
    assert "\n  dropped is not in BTF either: the only code is a clone with optimised parameters\n" in shown
    (found,) = pybtf.why(path, "dropped.constprop.0", jobs=1)
    assert (found.evidence or {})["reason_of_that"] == "optimized"
    assert "\n  good is in BTF\n" in run_cli("why", "good.cold", path).stdout


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (None, "f is not in BTF either: no function, type or global variable of the file has this name"),
        ("renamed", "f is in BTF by the name of its symbol"),
    ],
)
def test_what_else_a_clone_may_be_made_of(reason: str | None, said: str) -> None:
    found = {"clone_of": "f", "which_is_in_btf": False, "reason_of_that": reason}
    answer = Answer("f.isra.0", "function", False, "clone", "f.isra.0 is not in BTF", evidence=found)
    assert f"  {said}" in text.lines([answer])


def test_one_is_no_plural(path: Path, run_cli: RunCli) -> None:
    shown = run_cli("why", "struct point", path).stdout
    assert "\n  defined 1 time in the DWARF, declared 0 times\n" in shown
    assert (counted(1, "time"), counted(1000, "time")) == ("1 time", "1,000 times")


def test_languages(path: Path) -> None:
    assert pybtf.why(path, "rusty", lang_exclude="", jobs=1)[0].in_btf
    assert pybtf.why(path, "good", lang="rust", jobs=1)[0].reason == "language"


def inquiry_of(path: Path, **options: Any) -> tuple[dict[str, Any], pybtf.Report]:
    found: dict[str, Any] = {}

    def ask(inquiry: Inquiry) -> None:
        found["functions"] = inquiry.by_reason("function")
        found["variables"] = inquiry.by_reason("variable")
        found["totals"] = inquiry.fates.totals()
        found["single"] = {name: inquiry.function_reason(name) for name in inquiry.names()}
        found["bits"] = inquiry.kinds
        found["traces"] = {name: inquiry.fates.of(name) for name in list(inquiry.kinds)[:200]}

    report = inquire(str(path), kernel_options(jobs=1, **options), ask)
    return found, report


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_the_verdicts_are_those_of_the_encoding(path: Path) -> None:
    """Name by name, they say what `encode` writes; in sum, they say what its report counts."""
    features = ["default", "+global_var", "+true_signature"][len(path.name) % 3]
    try:
        encoded = pybtf.encode(path, jobs=1, features=features, lang_exclude="rust")
    except pybtf.InputError as error:
        with pytest.raises(type(error)):
            inquiry_of(path, features=features)
        return
    found, report = inquiry_of(path, features=features)
    for what, number in (("functions", 12), ("variables", 14)):
        assert sorted(found[what].pop(IN_BTF)) == sorted(encoded.btf.index.named(number))
    assert report.functions.left_out == encoded.report.functions.left_out
    assert report.variables.left_out == encoded.report.variables.left_out
    counted = {reason: len(names) for reason, names in found["functions"].items()}
    fates = {reason: n for reason, n in report.functions.left_out.items() if reason in REASON_OF_FATE.values()}
    assert {reason: n for reason, n in counted.items() if reason in REASON_OF_FATE.values()} == fates
    totals = Counter(found["totals"])
    for trace in ("no_symbol", "unnamed_parameter"):
        assert totals[trace] == report.functions.left_out.get(trace, 0)
    of_variables = {
        reason: totals[trace] for trace, reason in VARIABLE_TRACES.items() if reason != "language" and totals[trace]
    }
    of_report = {reason: n for reason, n in report.variables.left_out.items() if reason != "unnamed"}
    if path.name.startswith(("48_lto.", "49_c")):  # has nameless variables, which cannot be asked for
        assert all(n <= of_report[reason] for reason, n in of_variables.items())
    else:
        assert of_variables == of_report
    for name, traces in found["traces"].items():
        bits = {number for number in TRACE_NAMES if found["bits"][name] >> number & 1}
        assert {trace["what"] for trace in traces} == {TRACE_NAMES[number] for number in bits}
    for reason, names in found["functions"].items():
        assert all(found["single"][name] == reason for name in names)


def test_patterns(path: Path) -> None:
    found: list[Answer] = []
    some: list[Answer] = []

    def ask(inquiry: Inquiry) -> None:
        found.extend(answers(inquiry, ["d*", "nothing*"]))
        some.extend(listed(inquiry, "inconsistent", ["d*"]) + listed(inquiry, "inconsistent", ["e*"]))

    inquire(str(path), kernel_options(jobs=1), ask)
    assert [each.name for each in found] == ["differs", "dropped", "dropped.constprop.0", "nothing*"]
    assert found[-1].reason == "not_found"
    assert [each.name for each in some] == ["differs"]


@pytest.mark.parametrize("name", ["add<[usize; 4]>", "struct Pair<[u8; 2]>", "Only<[u8; 2]>"])
def test_a_name_wins_over_the_pattern_that_it_looks_like(tmp_path: Path, name: str) -> None:
    """Rust names: a function, a type, and a type in a unit that is left out."""
    own = [
        INT, subprogram("add<[usize; 4]>", 16), subprogram("add<u>", 32),
        named("structure_type", "Pair<[u8; 2]>", ("byte_size", "data1", 4)),
    ]  # fmt: skip
    other = die(
        "compile_unit", ("name", "string", "lib.rs"), ("language", "data1", 0x1C),
        children=[named("structure_type", "Only<[u8; 2]>", ("byte_size", "data1", 4))],
    )  # fmt: skip
    path = tmp_path / "vmlinux"
    path.write_bytes(kernel([unit(own), kernel_unit(other)], symbols=[COUNTER, *functions("add<u>")]).data)
    [found] = pybtf.why(path, name, jobs=1)
    assert found.name == name
    assert found.kind is not None
    some: list[Answer] = []
    inquire(str(path), kernel_options(jobs=1), lambda inquiry: some.extend(listed(inquiry, "no_symbol", [name])))
    assert [each.name for each in some] == [name] * (found.kind == "function")


def test_a_damaged_unit_that_is_left_out_does_not_matter(tmp_path: Path) -> None:
    """Units in other languages are read only for their names."""
    children: list[Die | bytes] = [named("base_type", "u8", ("byte_size", "data1", 1)), b"\x7f\xff\xff"]
    rust = die("compile_unit", ("name", "string", "lib.rs"), ("language", "data1", 0x1C), children=children)
    path = tmp_path / "vmlinux"
    path.write_bytes(kernel([unit([INT, LONG, point(), POINTER, *fine()]), kernel_unit(rust)], symbols=[
        COUNTER, *functions("good")
    ]).data)  # fmt: skip
    assert pybtf.encode(path, jobs=1, lang_exclude="rust").btf.by_name("good") is not None
    assert pybtf.why(path, "good", jobs=1)[0].in_btf


def test_what_is_inlined_into_another_unit(tmp_path: Path) -> None:
    """As after link-time optimisation: if units are merged, all are searched for callers."""
    tiny = subprogram("tiny", None, ("inline", "data1", 3), label="tiny")
    copy = die("inlined_subroutine", ("abstract_origin", "ref_addr", "tiny"))
    path = tmp_path / "x.elf"
    path.write_bytes(kernel([unit([INT, tiny]), unit([subprogram("f", 0, children=[copy])])]).data)
    [answer] = pybtf.why(path, "tiny")
    assert answer.evidence is not None
    assert [row["function"] for row in answer.evidence["inlined"]["by"]] == ["f"]
