"""Wild types, whose comparison depends on more than their class: the bytes must be those of keeping everything.

They reach a name that their unit has twice, or an enumeration that is taken for another as it is declared or empty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.conflicts import Expr, Item, Unit
from tests.builders.conflictswriter import image
from tests.builders.everything import differences
from tests.builders.narrow import LONG
from tests.builders.narrow import struct as struct_of
from tests.builders.near import struct

ENUM: Expr = ("ptr", ("name", "enum", "g", 0))
ENUM64: Item = ("enum", "g", 8, (("G", 0),))


@pytest.mark.parametrize("first", ["declared", "defined"])
def test_a_type_whose_enumeration_is_declared_is_taken_for_one_of_another_class(first: str, tmp_path: Path) -> None:
    """`p` of one unit points to an enumeration that is declared, that of the other to one of 64 bits: they are one
    type. So the two `s` are, too, and `z` is resolved to the odd definition before the `h` come.
    """
    path = tmp_path / "program"
    p, s, h = struct_of("p", [ENUM]), struct("s", "z", "p"), struct("h", "z")
    odd, usual = struct_of("z", [LONG]), struct("z")
    units: list[Unit] = [[s, p], [s, p, ENUM64, odd]]
    if first == "defined":
        units.reverse()
    path.write_bytes(image([*units, [h], [h, usual], [usual]]))
    assert differences(path) == []


DECLARED: Item = ("declare", "struct", "k")
SECOND = struct_of("p", [("ptr", ("name", "struct", "k", 1))])


@pytest.mark.parametrize("which", ["declaration", "definition"])
def test_a_name_that_a_unit_has_twice_is_declared_and_defined_there(which: str, tmp_path: Path) -> None:
    """One unit has a declaration of `k` and an odd definition, and its `p` points to one of these; that of another unit
    points to what it lacks. So the declaration is resolved to an odd definition, before the `h` come.
    """
    path = tmp_path / "program"
    p, h, usual, odd = struct("p", "k"), struct("h", "k"), struct("k"), struct_of("k", [LONG])
    lacking: list[Unit] = [[SECOND, odd, DECLARED], [p, odd]] if which == "declaration" else [[p], [p, odd, DECLARED]]
    path.write_bytes(image([*lacking, [h], [h, usual], [usual], [usual]]))
    assert differences(path) == []
