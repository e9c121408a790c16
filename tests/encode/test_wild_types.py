"""Wild types, whose comparison depends on more than their class: the bytes must be those of keeping everything.

They reach a name that their unit has twice, or an enumeration that is taken for another as it is declared or empty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import narrow
from tests.builders.conflicts import Expr, Item, Unit
from tests.builders.conflictswriter import image
from tests.builders.everything import differences
from tests.builders.narrow import LONG, to


def struct(name: str, *types: Expr) -> Item:
    return narrow.struct(name, list(types))


#: Enumerations that merge although their classes differ: of 64 bits and declared; with and without content.
ENUMS: dict[str, tuple[list[Item], Expr, Expr]] = {
    "declared": ([("enum", "g", 8, (("G", 0),))], ("name", "enum", "g", 0), ("name", "enum", "g", 0)),
    "empty": ([], ("enum", 4, (("G", 0),)), ("enum", 4, ())),
}


@pytest.mark.parametrize("which", ENUMS)
def test_a_declaration_is_resolved_by_a_type_of_another_class(which: str, tmp_path: Path) -> None:
    """The second `a` merges with the first, because of the enumeration they point to. This resolves the declaration of
    `c` to the odd definition, before `b` comes with the usual one.
    """
    enumerations, first, second = ENUMS[which]
    b = struct("b", to("c"), to("c"))
    path = tmp_path / "program"
    units: list[Unit] = [
        [struct("a", ("ptr", first), to("c")), *enumerations, b],
        [struct("a", ("ptr", second), to("c")), struct("c", LONG)],
        [b, struct("c")],
        [b, struct("c")],
    ]
    path.write_bytes(image(units))
    assert differences(path) == []


@pytest.mark.parametrize("first", ["declared", "defined"])
def test_a_type_whose_enumeration_is_declared_is_taken_for_one_of_another_class(first: str, tmp_path: Path) -> None:
    """`p` of one unit points to an enumeration that is declared, that of the other to one of 64 bits: they are one
    type. So the two `s` are, too, and `z` is resolved to the odd definition before the `h` come.
    """
    path = tmp_path / "program"
    enumeration: Item = ("enum", "g", 8, (("G", 0),))
    p, s, h = struct("p", ("ptr", ("name", "enum", "g", 0))), struct("s", to("z"), to("p")), struct("h", to("z"))
    usual, odd = struct("z"), struct("z", LONG)
    units: list[Unit] = [[s, p], [s, p, enumeration, odd]]
    if first == "defined":
        units.reverse()
    path.write_bytes(image([*units, [h], [h, usual], [usual]]))
    assert differences(path) == []


@pytest.mark.parametrize("which", ["declaration", "definition"])
def test_a_name_that_a_unit_has_twice_is_declared_and_defined_there(which: str, tmp_path: Path) -> None:
    """One unit has a declaration of `k` and an odd definition, and its `p` points to one of these; that of another unit
    points to what it lacks. So the declaration is resolved to an odd definition, before the `h` come.
    """
    path = tmp_path / "program"
    declared: Item = ("declare", "struct", "k")
    p, second, h = struct("p", to("k")), struct("p", to("k", 1)), struct("h", to("k"))
    usual, odd = struct("k"), struct("k", LONG)
    units: list[Unit] = [[second, odd, declared], [p, odd]] if which == "declaration" else [[p], [p, odd, declared]]
    path.write_bytes(image([*units, [h], [h, usual], [usual], [usual]]))
    assert differences(path) == []


@pytest.mark.parametrize("second", [("struct", "a", 8, ()), ("declare", "struct", "a")], ids=["defined", "declared"])
def test_a_name_that_is_there_twice_and_that_nothing_refers_to(second: Item, tmp_path: Path) -> None:
    path = tmp_path / "program"
    a, b = struct("a"), struct("b", to("a"))
    path.write_bytes(image([[a, b], [a, second], [a, b]]))
    assert differences(path) == []


EMPTY, ONE, CHAR = ("enum", 4, ()), ("enum", 4, (("E", 0),)), ("base", "char")


def to_array(type: Expr) -> Expr:
    return "ptr", ("array", type, 2)


def test_types_that_differ_in_an_empty_enumeration_and_in_elements_of_arrays(tmp_path: Path) -> None:
    """The third unit resolves the declaration of `b`. So the two `c` meet the `b` of the second unit. Its array is not
    that of the first `d`, but becomes it if it is dropped. Then it is met before the other `d`, whose elements differ.
    """
    path = tmp_path / "program"
    b, c, h = struct("b", to_array(CHAR)), struct("c", to("b"), to("d")), struct("h", to("b"))
    one, other = struct("d", ("ptr", EMPTY), to_array(CHAR)), struct("d", ("ptr", ONE), to_array(LONG))
    path.write_bytes(image([[c, one, h], [b], [h, b, ("use", ("ptr", ONE))], [c, other, b]]))
    assert differences(path) == []


def test_an_array_of_an_empty_enumeration_hides_other_elements(tmp_path: Path) -> None:
    """The second `b` merges with the first, as the array of that is taken for one of empty enumerations before. The
    last one does not, so it cannot be dropped as a repeat.
    """
    path = tmp_path / "program"
    a, other_a, c = struct("a", to_array(ONE)), struct("a", to_array(EMPTY)), struct("c", to("a"), to("b"))
    b, other = struct("b", to_array(ONE)), struct("b", to_array(LONG))
    path.write_bytes(image([[c, a, b], [c, other_a, other], [other], [other]]))
    assert differences(path) == []


def test_a_type_goes_with_an_undecided_one_by_way_of_another_class(tmp_path: Path) -> None:
    """The `t` of the fourth unit goes to the odd one, and so does that of the fifth, by way of `d`, which is of two
    classes. So that of the last does, by way of `c`.
    """
    path = tmp_path / "program"
    a, c, t, x, to_t = struct("a"), struct("c", to("t")), struct("t", to("a")), struct("x", to("a")), ("use", to("t"))
    one, other = struct("d", ("ptr", EMPTY), to("t")), struct("d", ("ptr", ONE), to("t"))
    units: list[Unit] = [[x], [x, a, t, to_t], [struct("a", LONG), t], [one, t], [other, c, t, a]]
    path.write_bytes(image([*units, [c, t, a, ("function", to("t"))]]))
    assert differences(path) == []


def test_a_usual_type_is_met_by_a_wild_one(tmp_path: Path) -> None:
    """The last unit has `k` twice. Through its `c`, it is compared with those of the units that define `j` and `i`:
    with two, unless one was dropped. If only one is left, the reference asks whether both are identical: no.
    """
    path = tmp_path / "program"
    c, d = struct("c", to("a"), to("j"), to("i")), struct("d", to("j"), to("i"))
    g, i, j, k = struct("g", to("k")), struct("i", to("k")), struct("j", to("k")), struct("k", to("k"))
    units: list[Unit] = [
        *([g], [g, k]),
        *([struct("a")] for _ in range(6)),
        *([struct("a", LONG), c, d], [j, k], [i, k], [j, i, k, d]),
        [c, j, struct("i", to("k", 1)), k, struct("k", to("k", 1)), struct("a", LONG)],
    ]
    path.write_bytes(image(units))
    assert differences(path) == []
