"""DIEs that are read at a glance (core/dwarf/die_fast_path.py) give the same as when they are read one by one.

Each tree is written twice (builders/glanced.py). DIEs of functions are in test_glance_functions.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pybtf
from tests.builders.dwarfwriter import Die, Raw, die
from tests.builders.glanced import FAR, X86, check, member, outcome
from tests.builders.kernelish import FLAVOURS, INT


def bits(name: str, *attributes: Any) -> Die:
    return die("member", ("name", "strp", name), ("type", "ref4", "int"), *attributes)


def struct(*members: Die, tag: str = "structure_type", **options: Any) -> Die:
    return die(tag, ("name", "strp", "s"), ("byte_size", "data1", 16), children=members, **options)


def enum(*values: Die) -> Die:
    return die(
        "enumeration_type", ("name", "strp", "e"), ("byte_size", "data1", 4), ("type", "ref4", "int"), children=values
    )


def pointer(to: Any = "int", *more: Any, **options: Any) -> Die:
    return die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", to), *more, **options)


def local(*more: Any, **options: Any) -> Die:
    place = ("location", "data4", 0)
    return die("variable", ("name", "strp", "v"), ("decl_file", "data1", 1), *more, place, **options)


def array(*bound: Any) -> Die:
    return die("array_type", ("type", "ref4", "int"), children=[die("subrange_type", *bound)])


def deep(depth: int, last: Die) -> Die:
    """Structs in structs."""
    for n in range(depth):
        last = struct(member("a", "int", 0), last, member("z", "int", n % 128))
    return last


BOUND = die("subrange_type", ("type", "ref4", "int"), ("upper_bound", "data1", 7))
ENUMERATOR = die("enumerator", ("name", "strp", "RED"), ("const_value", "data1", 3))
PARAMETER = die("formal_parameter", ("type", "ref4", "int"))

CASES: dict[str, list[Die | bytes]] = {
    "members": [struct(member("a", "int", 0), member("b", "int", 4), member("a_rather_long_name", "int", 8))],
    "offsets": [
        struct(
            member("a", "int", 0, "data2"),
            member("b", "int", 4, "data4"),
            member("c", "int", 8, "data8"),
            member("d", "int", 1 << 33, "data8"),
            member("e", "int", 12, "implicit_const"),
        )
    ],
    "union": [struct(member("a", "int", None), member("b", "int", 0), tag="union_type")],
    "static member": [struct(member("a", "int", None), member("b", "int", 4))],
    "member without a name": [struct(die("member", ("type", "ref4", "int"), ("data_member_location", "data1", 0)))],
    "member without a type": [struct(die("member", ("name", "strp", "a"), ("data_member_location", "data1", 0)))],
    "member with children": [struct(member("a", "int", 0)._replace(children=[pointer()]))],
    "bit field": [
        struct(
            member("a", "int", None, "data1", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 5)),
            member("b", "int", 0, "data1", ("bit_size", "data1", 3), ("bit_offset", "data1", 7)),
        )
    ],
    "bit fields": [
        struct(
            bits("a", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 5)),
            bits("b", ("data_bit_offset", "data2", 300), ("bit_size", "data1", 32)),
            bits("c", ("bit_size", "data1", 255), ("data_bit_offset", "data4", 64)),
            bits("no bits", ("bit_size", "data1", 0), ("data_bit_offset", "data1", 128)),
            bits("bits as well", ("bit_size", "data1", 4), ("data_bit_offset", "data1", 132)),
            bits("implicit", ("bit_size", "implicit_const", 4), ("data_bit_offset", "implicit_const", 136)),
            bits("one byte more", ("bit_size", "data2", 4), ("data_bit_offset", "data1", 144)),
        ),
        struct(bits("a", ("bit_size", "data1", 1), ("data_bit_offset", "data1", 0)), tag="union_type"),
    ],
    "bit field far away": [struct(bits("a", ("bit_size", "data1", 1), ("data_bit_offset", "data8", 1 << 40)))],
    "bit field of a union": [
        struct(bits("a", ("bit_size", "data1", 1), ("data_bit_offset", "data1", 1)), tag="union_type")
    ],
    "bits without a place": [struct(bits("a", ("bit_size", "data1", 3)), bits("b", ("data_bit_offset", "data1", 8)))],
    "two places": [
        struct(
            bits("a", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 8), ("data_member_location", "data1", 4))
        )
    ],
    "the same attribute twice": [
        struct(member("a", "int", 0, "data1", ("data_member_location", "data1", 4))),
        pointer("int", ("type", "ref4", "unit")),
    ],
    "name past its section": [struct(member(FAR, "int", 0))],
    "name of an enumerator past its section": [
        enum(die("enumerator", ("name", "strp", FAR), ("const_value", "data1", 3)))
    ],
    "empty name": [struct(member("", "int", 0), member("b", "int", 4))],
    "type past the unit": [struct(member("a", FAR, 0))],
    "type of a pointer past the unit": [pointer(FAR)],
    "type of a parameter past the unit": [
        die("subroutine_type", children=[die("formal_parameter", ("type", "ref4", FAR))])
    ],
    "type that is none": [struct(member("a", "unit", 0)), pointer("unit")],
    "enumerators": [
        enum(
            ENUMERATOR,
            die("enumerator", ("name", "strp", "A"), ("const_value", "data8", 5)),
            die("enumerator", ("name", "strp", "B"), ("const_value", "data2", 0xFFFF)),
            die("enumerator", ("name", "strp", "C"), ("const_value", "implicit_const", -1)),
            die("enumerator", ("name", "strp", "D")),
        )
    ],
    "types": [
        pointer(),
        die("typedef", ("name", "strp", "t"), ("type", "ref4", "int")),
        die("const_type", ("type", "ref4", "int")),
        die("volatile_type", ("type", "ref4", "int")),
        die("restrict_type", ("type", "ref4", "int")),
        die("pointer_type", ("byte_size", "data1", 8)),
        die("const_type"),
        die("typedef", ("name", "strp", "v")),
        die("typedef", ("name", "strp", "t"), ("type", "ref4", "int"), ("byte_size", "data2", 4)),
    ],
    "prototype": [
        die("subroutine_type", ("type", "ref4", "int"), children=[PARAMETER, PARAMETER]),
        die("subroutine_type", children=[die("formal_parameter", ("name", "strp", "n"), ("type", "ref4", "int"))]),
        die("subroutine_type", children=[PARAMETER, die("unspecified_parameters")]),
    ],
    "in places they do not belong": [
        struct(ENUMERATOR, PARAMETER, pointer(), member("a", "int", 0)),
        enum(member("a", "int", 0), pointer(), ENUMERATOR),
        die("array_type", ("type", "ref4", "int"), children=[member("a", "int", 0), pointer()]),
        die("subroutine_type", children=[member("a", "int", 0), ENUMERATOR, pointer(), PARAMETER]),
        die("namespace", ("name", "strp", "n"), children=[pointer(), member("a", "int", 0), ENUMERATOR]),
        member("a", "int", 0),
        ENUMERATOR,
        PARAMETER,
        pointer("int", children=[pointer()]),
    ],
    "names in the DIE": [
        struct(
            *[
                die("member", ("name", "string", name), ("type", "ref4", "int"), ("data_member_location", "data1", n))
                for n, name in enumerate(["", "x", "xy", "xyz", "wxyz", "a_longer_name"])
            ],
            die("member", ("type", "ref4", "int"), ("name", "string", "z"), ("data_member_location", "data1", 4)),
        ),
        enum(
            die("enumerator", ("name", "string", "A"), ("const_value", "data1", 3)),
            die("enumerator", ("const_value", "data1", 4), ("name", "string", "B")),
        ),
        die("typedef", ("name", "string", "t"), ("type", "ref4", "int")),
        die("subroutine_type", children=[die("formal_parameter", ("name", "string", "n"), ("type", "ref4", "int"))]),
    ],
    "variables": [
        local(),
        local(("type", "ref4", "int")),
        die(
            "subprogram",
            ("name", "strp", "f"),
            ("low_pc", "addr", X86.text),
            children=[
                local(),
                local(("type", "ref4", "int")),
                local(("type", "ref4", "int"), children=[pointer()]),
                die("variable", ("name", "strp", "v"), ("type", "ref4", "int")),
                die("lexical_block", children=[local(), pointer()]),
                die("inlined_subroutine", children=[local(), PARAMETER, die("lexical_block", children=[local()])]),
                die("call_site", ("sibling", "ref4", "behind"), children=[local()]),
                die("label", ("name", "strp", "l"), label="behind"),
            ],
        ),
    ],
    "type of a variable past the unit": [
        die("subprogram", ("name", "strp", "f"), children=[local(("type", "ref4", FAR))]),
    ],
    "bad references where nobody looks": [
        die(
            "subprogram",
            ("name", "strp", "f"),
            children=[
                die(
                    "inlined_subroutine",
                    children=[
                        local(("type", "ref4", FAR)),
                        die("lexical_block", ("sibling", "ref4", FAR), children=[pointer(FAR)]),
                    ],
                ),
                pointer(),
            ],
        ),
    ],
    "arrays": [
        array(("upper_bound", "data1", 3)),
        array(("upper_bound", "data8", 1 << 40), ("type", "ref4", "int")),
        array(("upper_bound", "data4", 0xFFFFFFFF)),
        array(("upper_bound", "implicit_const", -1)),
        array(("type", "ref4", "int")),
        array(("count", "data1", 3)),
        array(("count", "data1", 3), ("upper_bound", "data1", 9)),
        array(("upper_bound", "ref4", "int")),
        array(("upper_bound", "exprloc", b"\x30")),
        die("array_type", ("type", "ref4", "int"), children=[BOUND, die("enumerator"), pointer(), BOUND]),
        die("array_type", ("type", "ref4", "int"), children=[BOUND] * 70),
        die("array_type", ("type", "ref4", "int")),
        die("array_type", ("type", "ref4", "int"), children=[BOUND._replace(children=[pointer(), BOUND])]),
        struct(die("array_type", ("type", "ref4", "int"), children=[BOUND]), BOUND, member("a", "int", 0)),
    ],
    "array without a bound": [array(("type", "ref4", "int")), *[pointer()] * 4],
    "array with the largest bound": [array(("upper_bound", "implicit_const", -1)), *[pointer()] * 4],
    "array with a count": [array(("type", "ref4", "int"), ("count", "data1", 3)), *[pointer()] * 4],
    "type of a subrange past the unit": [array(("upper_bound", "data1", 3), ("type", "ref4", FAR))],
    "type of an array past the unit": [die("array_type", ("type", "ref4", FAR), children=[BOUND])],
    "what a prototype returns past the unit": [die("subroutine_type", ("type", "ref4", FAR), children=[PARAMETER])],
    "siblings": [
        die("array_type", ("type", "ref4", "int"), ("sibling", "ref4", "unit"), children=[BOUND]),
        die("structure_type", ("name", "strp", "s"), ("sibling", "ref4", "int"), children=[member("a", "int", 0)]),
        die("structure_type", ("sibling", "ref4", "int")),
    ],
    "sibling past the unit": [
        die("structure_type", ("name", "strp", "s"), ("sibling", "ref4", FAR), children=[member("a", "int", 0)])
    ],
    "structs": [
        die("structure_type", ("name", "strp", "s"), ("declaration", "flag_present", True)),
        die("structure_type", ("name", "strp", "s"), ("declaration", "flag", 1)),
        die("structure_type", ("name", "strp", "s"), ("declaration", "flag", 0), ("byte_size", "data1", 4)),
        die("structure_type", ("name", "strp", "s"), ("declaration", "implicit_const", 0)),
        die("union_type", ("name", "strp", "u"), ("declaration", "flag_present", True)),
        die("structure_type", ("name", "string", "abc"), ("declaration", "flag_present", True), children=[pointer()]),
        die("class_type", ("name", "string", "c"), ("byte_size", "data1", 4), children=[member("a", "int", 0)]),
        die("structure_type", ("byte_size", "data4", 4), children=[struct(member("a", "int", 0)), pointer()]),
        die("structure_type", ("byte_size", "udata", 4), children=[member("a", "int", 0)]),
        die("structure_type"),
        struct(),
        struct(*[member(f"m{n}", "int", 4 * n, "data2") for n in range(300)]),
        struct(deep(20, pointer()), member("a", "int", 0)),
        deep(100, member("b", "int", 0)),
        struct(die("inheritance", ("type", "ref4", "int"), ("data_member_location", "data1", 0))),
    ],
    "name of a struct past its section": [die("structure_type", ("name", "strp", FAR), children=[])],
    "in functions": [
        die(
            "subprogram",
            ("name", "strp", "f"),
            ("low_pc", "addr", X86.text),
            children=[
                PARAMETER,
                pointer(),
                die("lexical_block", children=[pointer(), struct(member("a", "int", 0)), PARAMETER]),
            ],
        )
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_same_outcome(name: str, tmp_path: Path) -> None:
    check(tmp_path, [INT, *CASES[name]])


@pytest.mark.parametrize("name", CASES)
def test_same_outcome_in_other_layouts(name: str, tmp_path: Path) -> None:
    """Codes of two and three bytes, codes that are not consecutive, 64-bit DWARF, DWARF 5."""
    dies = [INT, *CASES[name]]
    filler = [die("base_type", ("name", "strp", f"i{n}"), (0x3000 + n, "data1", 0)) for n in range(200)]
    check(tmp_path, [*filler, *dies])
    check(tmp_path, dies, codes=lambda n: 3 * n)
    check(tmp_path, dies, codes=lambda n: n + 20000)
    check(tmp_path, dies, reverse_abbrevs=True)
    check(tmp_path, dies, offset_size=8)
    check(tmp_path, dies, version=5)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_same_outcome_on_other_machines(flavour: str, tmp_path: Path) -> None:
    for dies in CASES.values():
        check(tmp_path, [INT, *dies], FLAVOURS[flavour])


@pytest.mark.parametrize("cut", range(1, 24))
def test_same_outcome_if_the_unit_ends_early(cut: int, tmp_path: Path) -> None:
    """With codes that are not consecutive, nothing is read at a glance, and the length is the same."""
    dies = [INT, struct(member("a", "int", 0)), enum(ENUMERATOR), pointer(), pointer()]
    path = tmp_path / "x"
    assert outcome(path, dies, X86, cut) == outcome(path, dies, X86, cut, codes=lambda n: 2 * n)


def test_members_are_found(tmp_path: Path) -> None:
    """That the two ways agree means something only if the result is right."""
    data = check(tmp_path, [INT, *CASES["offsets"], *CASES["enumerators"]])
    assert isinstance(data, bytes)
    btf = pybtf.BTF.from_bytes(data)
    types: dict[str, Any] = {each.name: each for each in btf if each.name}
    assert [(each.name, each.bit_offset) for each in types["s"].members] == [
        ("a", 0), ("b", 32), ("c", 64), ("d", 0), ("e", 96),
    ]  # fmt: skip
    assert [each.name for each in types["e"].values] == ["RED", "A", "B", "C", "D"]


INDEXES = ["strx", "strx1", "strx2", "strx3", "strx4"]


def indexed(form: str, index: Any) -> Die:
    return die("member", ("name", form, index), ("type", "ref4", "int"), ("data_member_location", "data1", 0))


@pytest.mark.parametrize("offset_size", [4, 8])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_names_by_index(flavour: str, offset_size: int, tmp_path: Path) -> None:
    """As clang writes them in DWARF 5. The indexes of the enumerators do not fit into a byte."""
    members = [indexed(form, f"by_{form}") for form in INDEXES]
    values = [die("enumerator", ("name", "strx2", f"VALUE_{n}"), ("const_value", "data1", 1)) for n in range(300)]
    dies: list[Die | bytes] = [INT, struct(*members), enum(*values)]
    data = check(tmp_path, dies, FLAVOURS[flavour], version=5, offset_size=offset_size)
    assert isinstance(data, bytes)
    types: dict[str, Any] = {each.name: each for each in pybtf.BTF.from_bytes(data) if each.name}
    assert [each.name for each in types["s"].members] == [f"by_{form}" for form in INDEXES]
    assert [each.name for each in types["e"].values] == [f"VALUE_{n}" for n in range(300)]


@pytest.mark.parametrize("form", INDEXES)
def test_an_index_past_its_table(form: str, tmp_path: Path) -> None:
    dies: list[Die | bytes] = [INT, struct(indexed("strx1", "name"), indexed(form, Raw(1)))]
    assert "past the end" in str(check(tmp_path, dies, version=5))


TAGS = ["structure_type", "union_type", "enumeration_type", "subroutine_type", "namespace", "subprogram"]
TAGS += ["lexical_block", "inlined_subroutine", "array_type", "class_type"]


def randomly(seed: int) -> list[Die | bytes]:
    """A random, nested selection of everything that a unit can contain."""
    dice = random.Random(seed)
    names = ["a", "b", "name", "another_name", "", FAR]

    def name() -> Any:
        return dice.choices(names, [9, 9, 9, 9, 1, 1 if seed % 5 == 0 else 0])[0]

    def target() -> Any:
        return dice.choices(["int", "unit", FAR], [30, 1, 1 if seed % 5 == 1 else 0])[0]

    def small() -> Die:
        kinds: list[Callable[[], Die]] = [
            lambda: member(name(), target(), dice.choice([None, 0, 0, 4]), dice.choice(["data1", "data2", "data4"])),
            lambda: die("enumerator", ("name", "strp", name()), ("const_value", "data1", dice.randrange(256))),
            lambda: pointer(target()),
            lambda: die(dice.choice(["const_type", "volatile_type", "restrict_type"]), ("type", "ref4", target())),
            lambda: die("typedef", ("name", "strp", name()), ("type", "ref4", target())),
            lambda: die("formal_parameter", ("type", "ref4", target())),
            lambda: die(
                "member", ("name", "string", dice.choice(["x", "xyz", "wxyz"])), ("data_member_location", "data1", 0)
            ),
            lambda: local(("type", "ref4", target())),
            lambda: die("subrange_type", ("type", "ref4", target()), ("upper_bound", "data1", dice.randrange(256))),
            lambda: die("subrange_type", ("upper_bound", "implicit_const", dice.randrange(-1, 9))),
            lambda: die("structure_type", ("name", "strp", name()), ("declaration", "flag_present", True)),
        ]
        return dice.choice(kinds)()

    def some(depth: int) -> list[Die | bytes]:
        found: list[Die | bytes] = []
        for _ in range(dice.randrange(6)):
            if depth and dice.random() < 0.4:
                tag = dice.choice(TAGS)
                attributes = [("name", "strp", name()), ("byte_size", "data2", 8), ("type", "ref4", target())]
                if seed % 5 == 2:
                    attributes.append(("sibling", "ref4", target()))
                found.append(die(tag, *dice.sample(attributes, dice.randrange(4)), children=some(depth - 1)))
            else:
                found.append(small())
        return found

    return [INT, *some(3), *some(3)]


@pytest.mark.parametrize("block", range(10))
def test_same_outcome_at_random(block: int, tmp_path: Path) -> None:
    encoded = 0
    for seed in range(40 * block, 40 * block + 40):
        encoded += isinstance(check(tmp_path, randomly(seed)), bytes)
    assert encoded > 20
