"""Functions, their parameters and blocks, and variables, read at a glance (core/dwarf/function_fast_path.py).

As in test_glance.py, each tree is written twice: so that its DIEs have a layout, and so that they have none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from tests.builders.dwarftree import LocList
from tests.builders.dwarfwriter import Die, Raw, die
from tests.builders.glanced import FAR, X86, check, member
from tests.builders.kernelish import FLAVOURS, INT

TEXT = ("low_pc", "addr", X86.text)
EXTERNAL = ("external", "flag_present", True)
DECLARED = ("declaration", "flag_present", True)
AT_RDI, AT_RSI = (LocList([(0, 16, [(name,)])]) for name in ("reg5", "reg4"))
INT64 = die("base_type", ("name", "strp", "u64"), ("byte_size", "data1", 8), ("encoding", "data1", 7), label="u64")


def function(*more: Any, children: Sequence[Die | bytes] | None = None, name: Any = "f", label: Any = None) -> Die:
    """A function without code, unless `more` says otherwise."""
    first = [("name", "strp", name)] if name is not None else []
    attributes = [*first, ("type", "ref4", "int"), *more]
    if children is None:
        return die("subprogram", *attributes, label=label)
    return die("subprogram", *attributes, children=children, label=label)


def parameter(*attributes: Any, label: str | None = None, **options: Any) -> Die:
    return die("formal_parameter", *attributes, label=label, **options)


def named(name: Any, *more: Any, **options: Any) -> Die:
    return parameter(("name", "strp", name), ("type", "ref4", "int"), *more, **options)


def tag(value: str) -> Die:
    return die("LLVM_annotation", ("name", "string", "btf_decl_tag"), ("const_value", "string", value))


def at(place: LocList, form: str = "sec_offset") -> tuple[str, str, LocList]:
    return ("location", form, place)


def inside(*children: Die | bytes) -> Die:
    """The function of the symbol table, with these children."""
    return function(TEXT, EXTERNAL, children=children)


def variable(*more: Any, name: Any = "v", **options: Any) -> Die:
    return die("variable", ("name", "strp", name), ("type", "ref4", "int"), *more, **options)


def copied(*parameters: Die) -> list[Die | bytes]:
    """An inline function, and its copy out of line with these parameters."""
    return [
        function(
            ("inline", "data1", 1), children=[named("a", label="a"), named("b", label="b")], label="inline"
        ),
        die("subprogram", ("abstract_origin", "ref4", "inline"), TEXT, children=parameters),
    ]


ADDRESS = ("location", "exprloc", [("addr", X86.percpu)])
#: The lower half alone is a valid offset.
WIDE = Raw(1 << 32 | 0x20)
OF_INT = ("type", "ref4", "int")
STATIC = ("const_value", "data1", 3)
BEHIND = die("label", ("name", "strp", "behind"), label="behind")


def call(*more: Any, tag: str = "call_site", children: Sequence[Die] = (PARAMETER := parameter(),)) -> Die:
    return die(tag, ("call_return_pc", "addr", X86.text), *more, children=children)


CASES: dict[str, list[Die | bytes]] = {
    "declared": [
        function(EXTERNAL, DECLARED, children=[parameter(("type", "ref4", "int")), parameter()]),
        function(EXTERNAL, DECLARED, name="g"),
        function(EXTERNAL, ("declaration", "flag", 1), name="h"),
        function(("declaration", "implicit_const", 1), name="i"),
        function(DECLARED, name=None),
        inside(named("a")),
    ],
    "declared only": [function(EXTERNAL, DECLARED, children=[named("a")])],
    "defined without an address": [function(EXTERNAL, children=[named("a"), named("b")])],
    "inline": [function(("inline", form, value), name="f") for form, value in [("data1", 3), ("implicit_const", 1)]],
    "not inline": [function(("inline", "data1", 0), children=[named("a")])],
    "named by what it specifies": [
        function(EXTERNAL, DECLARED, children=[named("a")], label="decl"),
        die("subprogram", ("specification", "ref4", "decl"), TEXT, children=[named("b")]),
    ],
    "named by a declaration that is its origin": [
        function(EXTERNAL, DECLARED, children=[named("a")], label="decl"),
        die("subprogram", ("abstract_origin", "ref4", "decl"), TEXT, children=[named("b")]),
    ],
    "empty names": [
        function(EXTERNAL, DECLARED, name="", label="decl"),
        die("subprogram", ("specification", "ref4", "decl"), TEXT, children=[named("b")]),
        inside(named(""), variable(name="")),
    ],
    "name of a function past its section": [function(EXTERNAL, DECLARED, name=FAR)],
    "short names": [
        die("subprogram", ("name", "string", "f"), DECLARED),
        die("subprogram", ("name", "string", ""), DECLARED),
        die("subprogram", ("name", "string", "f"), ("type", "ref4", "int"), children=[
            parameter(("name", "string", name), ("type", "ref4", "int")) for name in ("a", "", "abcd")
        ]),
        die("variable", ("name", "string", "v"), DECLARED, EXTERNAL),
    ],
    "more of a function": [
        function(("calling_convention", "data1", 5), children=[named("a")]),
        function(("sibling", "ref4", "behind"), name="g", children=[named("a")]),
        BEHIND,
    ],
    "sibling of a function past the unit": [function(("sibling", "ref4", FAR), children=[named("a")])],
    "parameters in registers": [inside(named("a", at(AT_RDI)), named("b", at(AT_RSI)))],
    "parameters in others": [inside(named("a", at(AT_RSI)), named("b", at(AT_RDI)))],
    "one of four bytes that is no offset": [inside(named("a", at(AT_RDI, "data4")), named("b", at(AT_RSI, "data8")))],
    "location past its section": [inside(named("a", ("location", "sec_offset", FAR)))],
    "constant parameter": [inside(named("a", ("const_value", "data1", 3)), named("b"))],
    "parameter without a type": [inside(parameter(("name", "strp", "a")), parameter())],
    "type of a parameter past the unit": [inside(named("a"), parameter(("type", "ref4", FAR)))],
    "tags": [
        inside(
            *(named("a"), named("b", children=[tag("second")]), tag("whole")),
            *(named("c"), named("d", children=[tag("last")])),
        ),
    ],
    "parameter with children": [inside(named("a", children=[named("b")]), named("c"))],
    "variadic": [inside(named("a"), die("unspecified_parameters"))],
    "copy": copied(parameter(("abstract_origin", "ref4", "a")), parameter(("abstract_origin", "ref4", "b"))),
    "copy in registers": copied(
        parameter(("abstract_origin", "ref4", "a"), at(AT_RDI)), parameter(at(AT_RSI), ("abstract_origin", "ref4", "b"))
    ),
    "copy in another order": copied(
        parameter(("abstract_origin", "ref4", "b")), parameter(("abstract_origin", "ref4", "a"))
    ),
    "copy with types of its own": copied(
        parameter(("abstract_origin", "ref4", "a"), ("type", "ref4", "u64")),
        parameter(("type", "ref4", "u64"), ("abstract_origin", "ref4", "b")),
    ),
    "copy with a type of its own, of one with another": [
        function(("inline", "data1", 1), name="k", children=[named("c", label="c")]),
        die("subprogram", ("name", "strp", "f"), ("inline", "data1", 1), label="inline", children=[
            parameter(("name", "strp", "a"), ("type", "ref4", "u64"))
        ]),
        die("subprogram", ("abstract_origin", "ref4", "inline"), TEXT, children=[
            parameter(("name", "strp", "a"), ("type", "ref4", "u64"), ("abstract_origin", "ref4", "c"))
        ]),
    ],
    "copy of what is not there": copied(parameter(("abstract_origin", "ref4", FAR))),
    "copy of parameters of another function": [
        function(DECLARED, name="g"),
        function(("inline", "data1", 1), children=[named("a")], label="inline"),
        function(DECLARED, name="h"),
        function(("inline", "data1", 1), children=[named("c", label="c"), named("d")], name="k"),
        function(DECLARED, name="i"),
        die("subprogram", ("abstract_origin", "ref4", "inline"), TEXT, children=[
            parameter(("abstract_origin", "ref4", "c"))
        ]),
    ],
    "prototype with what it does not have": [
        die("subroutine_type", children=[
            parameter(("abstract_origin", "ref4", "int")), named("a", at(AT_RDI)), named("b", ("location", "data4", 1))
        ]),
    ],
    "variables": [
        variable(EXTERNAL, DECLARED),
        variable(("external", "flag", 1), ("declaration", "flag", 1)),
        variable(STATIC),
        variable(("const_value", "implicit_const", -1)),
        variable(("const_value", "sdata", -1)),
        variable(("artificial", "flag_present", True)),
        die("variable", ("type", "ref4", "int")),
        die("namespace", ("name", "strp", "n"), children=[variable(DECLARED), function(DECLARED)]),
        die("structure_type", ("name", "strp", "s"), children=[variable(DECLARED), function(DECLARED, name="m")]),
        inside(named("a"), variable(), die("lexical_block", children=[variable(), variable(STATIC)])),
    ],
    "specified variable": [
        variable(EXTERNAL, DECLARED, name="counter", label="decl"),
        die("variable", ("specification", "ref4", "decl"), ADDRESS),
    ],
    "specified variable of a function": [
        inside(named("a"), variable(EXTERNAL, DECLARED, name="counter", label="decl")),
        die("variable", ("specification", "ref4", "decl"), ADDRESS),
    ],
    "variable that specifies what is no variable": [
        variable(("specification", "ref4", "int"), ADDRESS, name="counter")
    ],
    "static variable of a struct": [
        die("structure_type", ("name", "strp", "s"), children=[variable(DECLARED, name="counter", label="decl")]),
        die("variable", ("specification", "ref4", "decl"), ADDRESS),
    ],
    "variable with an empty name": [
        variable(EXTERNAL, DECLARED, name=""), variable(name="", label="decl"), variable(ADDRESS, name="counter"),
    ],
    "specified variable with an empty name": [
        variable(EXTERNAL, DECLARED, name="", label="decl"),
        die("variable", ("name", "strp", "counter"), ("specification", "ref4", "decl"), ADDRESS),
    ],
    "type of a variable past the unit": [die("variable", ("type", "ref4", FAR), DECLARED)],
    "what is passed over": [
        inside(
            call(("sibling", "ref4", "behind"), tag="inlined_subroutine", children=[variable(), named("x")]),
            BEHIND,
            call(),
            call(children=()),
            call(("call_origin", "ref4", FAR), children=()),
            call(("call_value", "exprloc", b"\x30")),
            call(tag="GNU_call_site", children=()),
            die("variable", ("name", "string", "i"), at(AT_RDI)),
            die("variable", ("name", "string", "name"), at(AT_RDI)),
            named("b"),
        ),
    ],
    "origin of what is passed over past the unit": [inside(call(("abstract_origin", "ref4", FAR)))],
    "wide references of what is passed over": [
        inside(call(("abstract_origin", "ref8", "int"), ("sibling", "ref8", "behind")), BEHIND),
        inside(call(("abstract_origin", "ref8", WIDE), children=())),
    ],
    "two references of what is passed over": [
        inside(call(("abstract_origin", "ref4", "int"), ("type", "ref4", FAR), children=())),
        inside(call(("sibling", "ref4", "int"), ("sibling", "ref4", "int"), children=())),
    ],
    "sibling of what is passed over past the unit": [inside(call(("sibling", "ref4", FAR)))],
    "sibling before what is passed over": [inside(named("a"), call(("sibling", "ref4", "int")))],
    "sibling inside of what is passed over": [
        inside(call(("sibling", "ref4", "in"), children=[named("a", label="in")]))
    ],
    "sibling that is the DIE itself": [
        inside(die("inlined_subroutine", ("sibling", "ref4", "self"), children=[named("a")], label="self"))
    ],
    "passed over where it does not belong": [
        call(),
        call(tag="inlined_subroutine"),
        die("structure_type", ("name", "strp", "s"), children=[call(), member("a", "int", 0)]),
        die("lexical_block", children=[named("a")]),
        named("b"),
    ],
    "blocks": [
        inside(
            named("a"),
            die("lexical_block", ("low_pc", "addr", X86.text), ("high_pc", "data8", 4), children=[
                die("lexical_block", ("ranges", "sec_offset", 0), children=[INT64, variable(), named("b")]),
                function(EXTERNAL, DECLARED, name="g", children=[named("c")]),
            ]),
            die("lexical_block", ("abstract_origin", "ref4", "int"), ("sibling", "ref4", "behind"), children=[INT64]),
            die("lexical_block"),
            die("lexical_block", ("low_pc", "udata", 3), children=[variable()]),
            BEHIND,
            named("d"),
        ),
    ],
    "origin of a block past the unit": [
        inside(die("lexical_block", ("abstract_origin", "ref4", FAR), children=[INT64]))
    ],
    "many blocks": [
        inside(*[die("lexical_block", children=[variable(), INT64])] * 40),
    ],
    "enumerations": [
        *(die("enumeration_type", ("name", "strp", name), ("encoding", form, 7), ("byte_size", form, 4), OF_INT,
              children=[die("enumerator", ("name", "strp", name + "1"), ("const_value", "data1", 1))])
          for name, form in [("a", "data1"), ("b", "implicit_const"), ("c", "data2"), ("d", "udata")]),
        *(
            die("enumeration_type", ("name", "strp", f"of_{form}{n}"), ("encoding", form, n), ("byte_size", "data1", 4),
                OF_INT, children=[die("enumerator", ("name", "strp", f"r_{form}{n}"), ("const_value", "data1", 1))],
                label=f"{form}{n}")
            for form in ("data1", "data2", "implicit_const") for n in (5, 7)
        ),
        *(
            die("enumeration_type", ("name", "strp", f"wide_{form}{n}"), ("byte_size", "data1", 8),
                ("type", "ref4", f"{form}{n}"),
                children=[die("enumerator", ("name", "strp", f"w_{form}{n}"), ("const_value", "data8", 1 << 40))])
            for form in ("data1", "data2", "implicit_const") for n in (5, 7)
        ),
        die("enumeration_type", ("encoding", "data1", 5), ("byte_size", "data1", 4), label="bare"),
        die("enumeration_type", ("name", "strp", "wide_bare"), ("byte_size", "data1", 8), ("type", "ref4", "bare"),
            children=[die("enumerator", ("name", "strp", "w_bare"), ("const_value", "data8", 1 << 40))]),
        die("enumeration_type", ("name", "strp", "e"), DECLARED),
        die("enumeration_type", ("name", "strp", "g"), OF_INT, children=[function(DECLARED), named("a")]),
        die("structure_type", ("name", "strp", "s"), children=[
            die("enumeration_type", ("byte_size", "data1", 4), children=[]), member("a", "int", 0)
        ]),
    ],
}  # fmt: skip
CASES["deep blocks"] = [inside(*CASES["blocks"][0].children)]  # type: ignore[union-attr]
for _ in range(40):
    CASES["deep blocks"] = [inside(die("lexical_block", children=[variable(), *CASES["deep blocks"]]))]


@pytest.mark.parametrize("name", CASES)
def test_same_outcome(name: str, tmp_path: Path) -> None:
    check(tmp_path, [INT, INT64, *CASES[name]])


@pytest.mark.parametrize("name", CASES)
def test_same_outcome_in_other_layouts(name: str, tmp_path: Path) -> None:
    """Codes of two bytes and codes that are not consecutive, 64-bit DWARF, DWARF 5."""
    dies = [INT, INT64, *CASES[name]]
    filler = [die("base_type", ("name", "strp", f"i{n}"), (0x3000 + n, "data1", 0)) for n in range(200)]
    check(tmp_path, [*filler, *dies])
    check(tmp_path, dies, codes=lambda n: 3 * n)
    check(tmp_path, dies, reverse_abbrevs=True)
    check(tmp_path, dies, offset_size=8)
    check(tmp_path, dies, version=5)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_same_outcome_on_other_machines(flavour: str, tmp_path: Path) -> None:
    for dies in CASES.values():
        check(tmp_path, [INT, INT64, *dies], FLAVOURS[flavour])


def encoded(folder: Path, dies: Sequence[Die | bytes]) -> pybtf.BTF:
    """The result of both ways."""
    data = check(folder, [INT, INT64, *dies])
    assert isinstance(data, bytes)
    return pybtf.BTF.from_bytes(data)


def parameters(btf: pybtf.BTF) -> list[str]:
    """The parameters of the function."""
    function_: Any = btf.by_name("f")
    prototype: Any = btf.type(function_.type)
    return [each.name for each in prototype.params]


def test_what_is_meant_is_found(tmp_path: Path) -> None:
    """That the two ways agree means something only if the result is right."""
    expected = {
        "declared": ["a"],
        "parameters in registers": ["a", "b"],
        "copy": ["a", "b"],
        "copy in registers": ["a", "b"],
        "copy of parameters of another function": ["c"],
        "copy with a type of its own, of one with another": ["a"],
        "blocks": ["a", "d"],
        "named by what it specifies": ["b"],
        "named by a declaration that is its origin": ["b"],
    }
    for name, names in expected.items():
        assert parameters(encoded(tmp_path, CASES[name])) == names, name
    for name in ("declared only", "parameters in others", "copy in another order"):
        assert encoded(tmp_path, CASES[name]).by_name("f") is None, name
    for name in (
        "specified variable", "specified variable of a function", "static variable of a struct",
        "variable that specifies what is no variable",
    ):  # fmt: skip
        assert encoded(tmp_path, CASES[name]).by_name("counter", Kind.VAR), name
    tags: list[Any] = list(encoded(tmp_path, CASES["tags"]).search("second|whole|last", Kind.DECL_TAG))
    assert [(each.name, each.component) for each in tags] == [("second", 1), ("whole", -1), ("last", 3)]
    enum: Any = encoded(tmp_path, CASES["enumerations"]).by_name("b")
    assert [each.name for each in enum.values] == ["b1"]


def test_true_signatures(tmp_path: Path) -> None:
    """Names of parameters are needed where a member may replace one."""
    pair = die("structure_type", ("name", "strp", "pair"), ("byte_size", "data1", 16), label="pair", children=[
        member("first", "u64", 0), member("second", "u64", 8)
    ])  # fmt: skip
    first = LocList([(0, 16, [("reg5",), ("piece", 8)])])
    changed = die(
        *("subprogram", ("name", "strp", "f"), ("calling_convention", "data1", 3), TEXT),
        children=[
            parameter(("name", "strp", "both"), ("type", "ref4", "pair"), at(first)),
            parameter(("name", "strp", "other"), ("type", "ref4", "u64"), at(AT_RSI)),
        ],
    )
    options: dict[str, Any] = {"producer": "clang version 19.1.7", "features": "default,true_signature"}
    data = check(tmp_path, [INT, INT64, pair, changed], **options)
    assert isinstance(data, bytes)
    assert parameters(pybtf.BTF.from_bytes(data)) == ["both__first", "other"]


def randomly(seed: int) -> list[Die | bytes]:
    """Functions as compilers write them, and as they do not."""
    dice = random.Random(seed)
    labels = ["int", "u64", "f0", "p0"]

    def target() -> Any:
        return dice.choices([*labels, FAR], [9] * len(labels) + [1 if seed % 4 == 0 else 0])[0]

    def some(*attributes: Any) -> list[Any]:
        return dice.sample(attributes, dice.randrange(len(attributes) + 1))

    def one(depth: int) -> Die:
        name = ("name", "strp", dice.choice(["f", "counter", "other", "a"]))
        short = ("name", "string", dice.choice(["f", "a", "abcd"]))
        type_ = ("type", "ref4", target())
        origin = ("abstract_origin", "ref4", target())
        place = at(dice.choice([AT_RDI, AT_RSI]))
        inner = [one(depth - 1) for _ in range(dice.randrange(4))] if depth else []
        kinds: list[Callable[[], Die]] = [
            lambda: parameter(*dice.choice([[name], [short], []]), *some(type_, place)),
            lambda: parameter(*some(origin, place, type_)),
            lambda: die("variable", *some(name, type_, DECLARED, EXTERNAL, STATIC)),
            lambda: die("variable", *dice.choice([[name], [short]]), *some(type_, place, ADDRESS)),
            lambda: die("variable", ("specification", "ref4", target()), *some(ADDRESS)),
            lambda: die("subprogram", *some(name, type_, DECLARED, EXTERNAL, TEXT, origin), children=inner),
            lambda: die("subprogram", name, type_, TEXT, children=inner),
            lambda: die("subprogram", *some(name, type_, DECLARED, ("inline", "data1", 1))),
            lambda: die("lexical_block", *some(origin, ("low_pc", "addr", X86.text)), children=inner),
            lambda: die("inlined_subroutine", *some(origin), children=inner),
            lambda: call(*some(type_)),
        ]  # fmt: skip
        return dice.choice(kinds)()

    first = function(("inline", "data1", 1), children=[named("a", label="p0")], label="f0")
    return [INT, INT64, first, *[one(3) for _ in range(6)]]


@pytest.mark.parametrize("block", range(10))
def test_same_outcome_at_random(block: int, tmp_path: Path) -> None:
    written = 0
    for seed in range(40 * block, 40 * block + 40):
        written += isinstance(check(tmp_path, randomly(seed)), bytes)
    assert written > 15
