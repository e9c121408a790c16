"""Types that are made from their classes (core/reduction/restore.py) when more of a unit is kept than at first: they
are the same as if the unit were decoded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import pybtf
from pybtf.report import Repeats
from tests.builders.conflicts import program
from tests.builders.conflictswriter import image
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.everything import differences, encoded, told
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named

#: Types that refer to the struct `x` of their unit without being compared: name, tag, what it refers to, the rest.
USERS = {
    "pointer": [die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", "x"), label="user")],
    "const": [die("const_type", ("type", "ref4", "x"), label="user")],
    "volatile": [die("volatile_type", ("type", "ref4", "x"), label="user")],
    "restrict": [die("restrict_type", ("type", "ref4", "x"), label="user")],
    "array": [
        die(
            "array_type",
            ("type", "ref4", "x"),
            children=[die("subrange_type", ("upper_bound", "data1", 6))],
            label="user",
        )
    ],
    "prototype": [
        die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", "x"), label="to"),
        die(
            "subroutine_type",
            ("type", "ref4", "to"),
            children=[
                die("formal_parameter", ("type", "ref4", "int")),
                die("formal_parameter", ("type", "ref4", "x")),
                die("unspecified_parameters"),
            ],
            label="user",
        ),
    ],
    "no result": [die("subroutine_type", children=[die("formal_parameter", ("type", "ref4", "x"))], label="user")],
    "chain": [
        die("const_type", ("type", "ref4", "x"), label="const"),
        die("volatile_type", ("type", "ref4", "const"), label="volatile"),
        die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", "volatile"), label="user"),
    ],
}


def a_unit(member: str | None, users: list[Die]) -> Unit:
    """`x` has this member, or is declared; the variable `v` is of the last type."""
    if member is None:
        x = named("structure_type", "x", ("declaration", "flag", 1), label="x")
    else:
        inner = named("member", member, ("type", "ref4", "int"), ("data_member_location", "data1", 0))
        x = named("structure_type", "x", ("byte_size", "data1", 8), children=[inner], label="x")
    return unit([INT, x, *users])


def write(path: Path, users: list[Die], second: list[Die] | None = None) -> None:
    """The first type that refers to a declared `x` is in the second unit, and `x` is private in the third."""
    others = users if second is None else second
    path.write_bytes(kernel([a_unit("a", users), a_unit(None, others), a_unit("b", []), a_unit("a", users)]).data)


#: Without this, the encoder decodes units again.
AGAIN = ("restoring",)


def repeats(path: Path, without: Sequence[str] = ()) -> Repeats:
    with told(without=without):
        return pybtf.encode(path, jobs=1).report.repeats


@pytest.mark.parametrize("kind", USERS)
def test_the_first_that_refers_to_a_declaration(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    write(path, USERS[kind])
    decoded, made = repeats(path, AGAIN), repeats(path)
    assert decoded.units_again == decoded.units_whole + 1
    assert made.units_again == made.units_whole == decoded.units_whole
    assert made.types_compared == decoded.types_compared
    assert encoded(path) == encoded(path, without=AGAIN)
    assert differences(path) == []


@pytest.mark.parametrize("kind", USERS)
def test_two_that_a_reference_could_be_to(kind: str, tmp_path: Path) -> None:
    """The second unit has everything twice, so it is decoded again: the class does not say which one is meant."""
    path = tmp_path / "program"
    users = USERS[kind]
    declared = named("structure_type", "x", ("declaration", "flag", 1), label="x2")
    again = [each._replace(label=f"{each.label}2") for each in users]
    write(path, users, [*users, declared, *again])
    made = repeats(path)
    assert made.units_again > made.units_whole
    assert encoded(path) == encoded(path, without=AGAIN)
    assert differences(path) == []


def test_conflicting_names(tmp_path: Path) -> None:
    path = tmp_path / "program"
    made, ambiguous = 0, 0
    for seed in range(50000, 50600):
        path.write_bytes(image(program(seed)))
        data = encoded(path)
        assert data == encoded(path, without=AGAIN), seed
        if not data.startswith(b"\x9f\xeb"):
            continue  # some are refused
        with_classes, decoded = repeats(path), repeats(path, AGAIN)
        assert with_classes.types_compared == decoded.types_compared
        made += decoded.units_again - with_classes.units_again
        ambiguous += with_classes.units_again - with_classes.units_whole
    assert made > 50
    assert ambiguous > 5


def test_many_references_are_decoded(tmp_path: Path) -> None:
    """Looking for each in the whole unit would take quadratic time."""
    path = tmp_path / "program"
    users = [
        die(
            "subroutine_type",
            children=[die("formal_parameter", ("type", "ref4", "x"))] * (n + 1),
            label=f"user{n}",
        )
        for n in range(12)
    ]
    write(path, users)
    made = repeats(path)
    assert made.units_again == made.units_whole + 1
    assert differences(path) == []
