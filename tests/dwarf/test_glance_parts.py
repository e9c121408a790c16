"""DIEs with parts of no fixed size, as clang writes most of what is in functions (core/dwarf/passing.py).

As in test_glance.py, each tree is written twice: so that its DIEs are read or skipped at a glance, and so that none is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from tests.builders.dwarftree import LocList, RangeList
from tests.builders.dwarfwriter import Die, Raw, die
from tests.builders.glanced import FAR, X86, check, member, outcome
from tests.builders.kernelish import FLAVOURS, INT

NAME, OF_INT = ("name", "strp", "name"), ("type", "ref4", "int")
LINES = ("decl_file", "data1", 1), ("decl_line", "data2", 300)
REG5, REG4 = ("location", "exprloc", [("reg5",)]), ("location", "exprloc", [("reg4",)])
LONG = ("location", "exprloc", [("nop",)] * 200)
LISTS = [LocList([(n, 16 + n, [("reg5" if n < 256 else "reg4",)])]) for n in range(300)]
RANGES = [RangeList([(n, 16 + n)]) for n in range(300)]
INSIDE = X86.text
ADDRX = ("low_pc", "addrx", INSIDE)
SIZE = ("high_pc", "data4", 8)
UNUSUAL = ("decl_line", "block2", b"x")
#: Entries that fill the tables, so that later ones have indexes of two bytes.
FULL = [
    die("variable", ("location", "loclistx", place), ("ranges", "rnglistx", within), ("low_pc", "addrx", INSIDE + n))
    for n, (place, within) in enumerate(zip(LISTS, RANGES, strict=True))
]


def listed(n: int) -> tuple[str, str, LocList]:
    return ("location", "loclistx", LISTS[n])


def within(n: int) -> tuple[str, str, RangeList]:
    return ("ranges", "rnglistx", RANGES[n])


def addressed(n: int) -> tuple[str, str, int]:
    return ("low_pc", "addrx", INSIDE + n)


def parameter(name: str, *first: Any, last: Any = ()) -> Die:
    return die("formal_parameter", *first, ("name", "strp", name), *LINES, OF_INT, *last)


def inside(*children: Die | bytes) -> Die:
    """The function of the symbol table, with these children."""
    return die(
        "subprogram", ADDRX, SIZE, ("name", "strp", "f"), OF_INT, ("external", "flag_present", True), children=children
    )


def inlined(*children: Die, origin: Any = "int", place: Any = ADDRX, label: str | None = None) -> Die:
    where = ("call_file", "data1", 1), ("call_line", "data2", 300), ("call_column", "data1", 9)
    attributes = [("abstract_origin", "ref4", origin), place, SIZE, *where]
    return die("inlined_subroutine", *attributes, children=children, label=label)


def block(*children: Die | bytes, place: Sequence[Any] = (ADDRX, SIZE)) -> Die:
    return die("lexical_block", *place, children=children)


def call(*children: Die, index: int = 0) -> Die:
    return die(
        "call_site", ("call_origin", "ref4", "int"), ("call_return_pc", "addrx", INSIDE + index), children=children
    )


def passed(place: Any = REG5, value: Any = None) -> Die:
    return die("call_site_parameter", place, ("call_value", "exprloc", value or [("lit0",)]))


def typed(name: str, *more: Any) -> Die:
    return member(name, "int", 4, "data1", *more)


def valued(*values: tuple[str, int]) -> list[Die]:
    return [die("enumerator", ("name", "strp", f"V{n}"), ("const_value", *value)) for n, value in enumerate(values)]


def enum(*values: Die) -> Die:
    return die("enumeration_type", ("name", "strp", "e"), ("byte_size", "data1", 8), OF_INT, children=values)


UNSIGNED = [0, 1, 63, 64, 127, 128, 300, 1 << 14, 1 << 20, 1 << 31, (1 << 35) - 1, 1 << 35, 1 << 40, (1 << 64) - 1]
SIGNED = [0, 1, -1, 63, 64, -64, -65, 8191, -8192, -8193, 1 << 20, -(1 << 34), (1 << 34) - 1, 1 << 34, -(1 << 40)]
ALIGNED = ("alignment", "udata", 64)
FAR_ALIGNED = ("alignment", "udata", 4096)

CASES: dict[str, list[Die | bytes]] = {
    "values": [
        enum(*valued(*(("udata", n) for n in UNSIGNED), *(("sdata", n) for n in SIGNED))),
    ],
    "values of short names": [
        enum(*(die("enumerator", ("name", "string", f"V{n}"), ("const_value", "udata", 200 + n)) for n in range(9)))
    ],
    "values that are not last": [
        enum(
            die("enumerator", ("const_value", "udata", 3), NAME),
            die("enumerator", ("name", "strp", "A"), ("const_value", "sdata", -3), ("decl_line", "data1", 1)),
            die("enumerator", ("name", "strp", "B"), ("const_value", "udata", 3), ("decl_line", "udata", 1)),
            die("enumerator", ("decl_line", "udata", 1), ("name", "strp", "C"), ("const_value", "udata", 3)),
            die("enumerator", ("decl_line", "udata", 300), ("name", "strp", "D"), ("const_value", "data1", 3)),
        )
    ],
    "values before names that are indexes": [
        enum(*(die("enumerator", ("const_value", "udata", 3 - n), ("name", "strx1", f"I{n}")) for n in range(4)))
    ],
    "counts": [
        die("array_type", OF_INT, children=[die("subrange_type", *bound)])
        for bound in (
            [OF_INT, ("count", "data1", 3)],
            [OF_INT, ("count", "data8", 1 << 32 | 5)],
            [("count", "data2", 0)],
            [("count", "udata", 9)],
            [("count", "implicit_const", 9)],
            [("count", "sdata", -1)],
            [("count", "data1", 3), ("upper_bound", "data1", 9)],
            [("upper_bound", "data1", 9), ("count", "data1", 3)],
            [("count", "ref4", "int")],
            [("count", "exprloc", [("lit0",)])],
        )
    ],
    "alignments": [
        die(
            "structure_type",
            *(("name", "strp", "s"), ("byte_size", "data1", 64), ("decl_file", "data1", 1), alignment),
            children=[
                die("member", ("name", "strp", "a"), OF_INT, alignment, ("data_member_location", "data1", 0)),
                die("member", OF_INT, alignment, ("data_member_location", "data2", 4)),
                die("member", alignment, ("name", "strp", "c"), OF_INT, ("data_member_location", "data1", 8)),
                die("member", ("name", "strp", "d"), alignment, OF_INT, ALIGNED, ("data_member_location", "data1", 12)),
                typed("e", alignment),
                die("member", ("name", "strp", "g"), OF_INT, alignment),
                die(
                    *("member", ("name", "strp", "h"), OF_INT, ("bit_size", "data1", 3), alignment),
                    ("data_bit_offset", "data1", 128),
                ),
            ],
        )
        for alignment in (ALIGNED, FAR_ALIGNED, ("alignment", "sdata", 127), ("alignment", "sdata", -1))
    ],
    "alignments of others": [
        die("typedef", ("name", "strp", "t"), ALIGNED, OF_INT),
        die("typedef", ("name", "strp", "u"), FAR_ALIGNED, OF_INT),
        die("union_type", ("name", "strp", "u"), ("byte_size", "data1", 4), ALIGNED, children=[typed("a")]),
        die("enumeration_type", NAME, ("byte_size", "data1", 4), ALIGNED, OF_INT, children=valued(("udata", 300))),
        die(
            *("enumeration_type", ("name", "strp", "g"), ("encoding", "data1", 5), ALIGNED, ("byte_size", "data1", 4)),
            OF_INT,
            children=valued(("sdata", -300)),
        ),
        die("array_type", ALIGNED, OF_INT, children=[die("subrange_type", ALIGNED, ("count", "data1", 3))]),
        die("subroutine_type", OF_INT, ALIGNED, children=[parameter("a", ALIGNED), parameter("b", last=[FAR_ALIGNED])]),
        die("variable", NAME, ALIGNED, OF_INT),
    ],
    "parameters in registers": [inside(parameter("a", REG5), parameter("b", REG4))],
    "parameters in others": [inside(parameter("a", REG4), parameter("b", REG5))],
    "parameters by index": [inside(parameter("a", listed(0)), parameter("b", ("location", "loclistx", LISTS[0])))],
    "parameters by a large index": [inside(inlined(*FULL), parameter("a", listed(200)), parameter("b", listed(280)))],
    "parameters at length": [inside(parameter("a", LONG), parameter("b", REG4))],
    "parameters by no index": [inside(parameter("a", ("location", "loclistx", Raw(3))))],
    "parameters without an expression": [inside(parameter("a", ("location", "exprloc", b"")), parameter("b", REG4))],
    "parameters in other blocks": [
        inside(parameter("a", ("location", "block", b"\x55")), parameter("b", ("location", "block1", b"\x54")))
    ],
    "parameters whose places are last": [inside(parameter("a", last=[REG5]), parameter("b", last=[REG4]))],
    "parameters of short names": [
        inside(
            die("formal_parameter", REG5, ("name", "string", "a"), OF_INT),
            die("formal_parameter", REG4, ("name", "string", "name"), OF_INT),
            die("formal_parameter", ("decl_line", "udata", 3), ("name", "string", "c"), OF_INT),
        )
    ],
    "parameters that begin with something else": [
        inside(
            parameter("a", ("decl_line", "udata", 7)),
            parameter("b", ALIGNED),
            parameter("c", ("decl_line", "block", b"x")),
        )
    ],
    "parameters that begin with the number of a list that nobody means": [
        inside(inlined(*FULL), parameter("a", ("decl_line", "udata", 280)), parameter("b", ("decl_line", "udata", 3)))
    ],
    "prototype with places": [die("subroutine_type", children=[parameter("a", REG5), parameter("b", listed(0))])],
    "type of a parameter past the unit": [inside(die("formal_parameter", REG5, NAME, ("type", "ref4", FAR)))],
    "variables": [
        inside(
            parameter("a"),
            die("variable", listed(0), NAME, *LINES, OF_INT),
            die("variable", REG5, NAME, *LINES, OF_INT),
            die("variable", REG5, ("abstract_origin", "ref4", "int")),
            die("variable", NAME, *LINES, OF_INT, REG5),
            die("variable", ("name", "string", "i"), OF_INT, REG5),
            die("variable", ("name", "string", "name"), OF_INT, LONG),
            die("variable", LONG, NAME, *LINES, OF_INT),
            parameter("b"),
        ),
    ],
    "variables outside": [
        die("variable", ("name", "strp", "counter"), OF_INT, ("location", "exprloc", [("addr", X86.percpu)])),
        die("variable", ("location", "exprloc", [("addrx", X86.percpu)]), ("name", "strp", "counter"), OF_INT),
    ],
    "type of a variable past the unit": [inside(die("variable", REG5, NAME, ("type", "ref4", FAR)))],
    "type of a variable past the unit, behind": [
        inside(die("variable", NAME, ("decl_line", "udata", 3), ("type", "ref4", Raw(0x7F000000)), REG5))
    ],
    "blocks": [
        inside(
            parameter("a"),
            block(block(parameter("c"), die("variable", NAME, OF_INT), place=[within(0)])),
            block(place=[("low_pc", "addrx", Raw(1 << 20)), SIZE]),
            block(die("typedef", ("name", "strp", "t"), OF_INT), place=[("low_pc", "addrx", Raw(1 << 40)), SIZE]),
            die("lexical_block", ADDRX, SIZE),
            parameter("b"),
        ),
    ],
    "inlined": [
        inside(
            parameter("a"),
            inlined(
                *(parameter("x", REG5), parameter("y", listed(0))),
                die("formal_parameter", listed(1), ("abstract_origin", "ref4", "int")),
                die("formal_parameter", ("const_value", "sdata", -300), ("abstract_origin", "ref4", FAR)),
                block(block(die("variable", listed(2), ("abstract_origin", "ref4", FAR)), place=[within(1)])),
                inlined(call(passed(), passed(REG4, [("entry_value", [("reg5",)])])), origin=FAR, place=within(2)),
                die("label", ("name", "string", "out"), ADDRX),
                die("label", ("name", "string", "outside"), ADDRX),
            ),
            call(passed(), index=1),
            call(index=1),
            die("call_site", ("call_return_pc", "addrx", INSIDE)),
            die("inlined_subroutine", ("abstract_origin", "ref4", "int"), ADDRX, SIZE),
            inlined(),
            parameter("b"),
        ),
    ],
    "inlined with large indexes": [
        inside(
            inlined(*FULL),
            inlined(parameter("x", listed(250)), block(place=[within(250)]), place=addressed(250)),
            call(passed(), index=250),
            block(place=[addressed(250), SIZE]),
            block(place=[within(250)]),
            parameter("b"),
        ),
    ],
    "inlined with what is unusual": [
        inside(
            inlined(parameter("x", LONG), inlined(passed(LONG), inlined())),
            inlined(die("variable", NAME, UNUSUAL, children=[inlined(), die("label", UNUSUAL)])),
            inlined(die("variable", REG5, ("name", "string", "xyz"), ("const_value", "udata", 3), NAME)),
            inlined(die("variable", ("const_value", "block", bytes(250)), NAME, children=[inlined()])),
            inlined(die("lexical_block", ("sibling", "ref4", "next"), children=[inlined()]), inlined(label="next")),
            inlined(die("lexical_block", ("sibling", "ref_udata", "next2"), children=[]), inlined(label="next2")),
            inlined(die("variable", *[(0x3000 + n, "data8", 0) for n in range(40)])),
            parameter("b"),
        )
    ],
    "origin past the unit": [inside(inlined(origin=FAR))],
    "origin behind what varies": [
        inside(die("inlined_subroutine", ADDRX, ("ranges", "udata", 1), ("abstract_origin", "ref4", FAR), children=[]))
    ],
    "origin behind a place": [inside(die("inlined_subroutine", ADDRX, ("abstract_origin", "ref4", FAR), children=[]))],
    "origin by a number": [inside(die("inlined_subroutine", ADDRX, ("abstract_origin", "ref_udata", "int")))],
    "sibling behind a place": [
        inside(
            die("inlined_subroutine", ADDRX, ("sibling", "ref4", "behind"), children=[parameter("x")]),
            die("label", NAME, label="behind"),
            parameter("b"),
        )
    ],
    "sibling inside, behind a place": [
        inside(die("inlined_subroutine", ADDRX, ("sibling", "ref4", "in"), children=[die("label", NAME, label="in")]))
    ],
    "sibling behind what varies": [
        inside(
            die("call_site", OF_INT, ADDRX, ("sibling", "ref4", "behind"), children=[parameter("x")]),
            die("label", NAME, label="behind"),
        )
    ],
}


def unit(dies: Sequence[Die | bytes]) -> list[Die | bytes]:
    return [INT, *dies]


@pytest.mark.parametrize("name", CASES)
def test_same_outcome(name: str, tmp_path: Path) -> None:
    dies = unit(CASES[name])
    check(tmp_path, dies, version=5)
    check(tmp_path, dies, version=5, codes=lambda n: 3 * n)
    check(tmp_path, dies, version=5, codes=lambda n: n + 120)
    check(tmp_path, dies, version=5, reverse_abbrevs=True)
    check(tmp_path, dies, version=5, offset_size=8)
    check(tmp_path, dies, version=4)
    check(tmp_path, dies, version=3)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_same_outcome_on_other_machines(flavour: str, tmp_path: Path) -> None:
    for dies in CASES.values():
        check(tmp_path, unit(dies), FLAVOURS[flavour], version=5)


@pytest.mark.parametrize("name", ["inlined", "inlined with large indexes", "values", "parameters at length"])
def test_same_outcome_if_the_unit_ends_early(name: str, tmp_path: Path) -> None:
    """With codes that are not consecutive, nothing is read at a glance, and the length is the same."""
    dies = unit(CASES[name])
    path = tmp_path / "x"
    for cut in range(1, 60):
        first, second = (outcome(path, dies, X86, cut, version=5, codes=codes) for codes in (one_by_one, in_steps))
        assert first == second


def one_by_one(n: int) -> int:
    return n


def in_steps(n: int) -> int:
    return 2 * n if n < 60 else n + 60


def encoded(folder: Path, dies: Sequence[Die | bytes]) -> pybtf.BTF:
    """The result of both ways."""
    data = check(folder, unit(dies), version=5)
    assert isinstance(data, bytes)
    return pybtf.BTF.from_bytes(data)


def test_what_is_meant_is_found(tmp_path: Path) -> None:
    """That the two ways agree means something only if the result is right."""
    enumeration: Any = encoded(tmp_path, CASES["values"]).by_name("e")
    assert [each.value for each in enumeration.values] == [n - (n >> 63 << 64) for n in UNSIGNED] + SIGNED
    for name, names in {
        "parameters in registers": ["a", "b"],
        "parameters by a large index": ["a", "b"],
        "inlined": ["a", "b"],
        "inlined with large indexes": ["b"],
        "inlined with what is unusual": ["b"],
        "variables": ["a", "b"],
        "blocks": ["a", "b"],
    }.items():
        btf = encoded(tmp_path, CASES[name])
        function: Any = btf.by_name("f")
        prototype: Any = btf.type(function.type)
        assert [each.name for each in prototype.params] == names, name
    assert encoded(tmp_path, CASES["parameters in others"]).by_name("f") is None
    struct: Any = encoded(tmp_path, CASES["alignments"]).by_name("s")
    assert [each.bit_offset // 8 for each in struct.members] == [0, 4, 8, 12, 4, 0, 16]


def randomly(seed: int) -> list[Die | bytes]:
    """Functions as clang writes them, and as it does not."""
    dice = random.Random(seed)

    def some(*attributes: Any) -> list[Any]:
        return dice.sample(attributes, dice.randrange(len(attributes) + 1))

    def reference(name: str) -> Any:
        target = dice.choices(["int", "p0", FAR], [9, 9, 1 if seed % 4 == 0 else 0])[0]
        return (name, dice.choices(["ref4", "ref_udata"], [9, 1])[0], target)

    def place() -> Any:
        return dice.choices([REG5, REG4, LONG, listed(dice.randrange(300))], [4, 4, 1, 8])[0]

    def one(depth: int) -> Die:
        name = dice.choice([("name", "strp", "name"), ("name", "strx1", "a"), ("name", "string", "i")])
        covers = dice.choice([ADDRX, addressed(dice.randrange(300)), within(dice.randrange(300))])
        number = (dice.choice(["decl_line", "alignment"]), "udata", dice.choice([1, 127, 128, 1 << 20, 1 << 40]))
        rare = [UNUSUAL] if dice.random() < 0.05 else []
        inner = [one(depth - 1) for _ in range(dice.randrange(4))] if depth else []
        kinds: list[Callable[[], Die]] = [
            lambda: die("formal_parameter", *some(place(), name, reference("type"), number), *rare),
            lambda: die("formal_parameter", place(), reference("abstract_origin"), *rare),
            lambda: die("variable", *some(place(), name, reference("type"), number), *rare),
            lambda: die("variable", place(), name, *LINES, reference("type"), *rare),
            lambda: die("lexical_block", *some(covers, SIZE, number), *rare, children=inner),
            lambda: die("inlined_subroutine", reference("abstract_origin"), covers, SIZE, *rare, children=inner),
            lambda: die("inlined_subroutine", *some(reference("abstract_origin"), covers, number), children=inner),
            lambda: die("call_site", *some(reference("call_origin"), ADDRX, number), *rare, children=inner),
            lambda: passed(place()),
            lambda: die("label", *some(name, ADDRX), *rare),
            lambda: die("typedef", *some(name, number, reference("type"))),
        ]
        return dice.choice(kinds)()

    first = die("subprogram", ("name", "strp", "g"), ("inline", "data1", 1), children=[
        die("formal_parameter", NAME, OF_INT, label="p0")
    ])  # fmt: skip
    full = [inlined(*FULL)] if seed % 3 == 0 else []
    return unit([first, inside(*full, *[one(3) for _ in range(6)]), inside(*[one(2) for _ in range(6)])])


@pytest.mark.parametrize("block", range(10))
def test_same_outcome_at_random(block: int, tmp_path: Path) -> None:
    written = 0
    for seed in range(40 * block, 40 * block + 40):
        written += isinstance(check(tmp_path, randomly(seed), version=5), bytes)
    assert written > 15
