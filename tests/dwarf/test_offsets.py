"""References of a unit lead to the types they name (core/dwarf/die_index.py), wherever their DIEs are.

The table has one entry for every four bytes. It says how far the index of a type is from that of the first type nearby.
These tests try types that have no entry: several that begin within four bytes, and types far from the order of their
offsets. They try few of them, and so many that the extra table grows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from tests.builders.dwarfwriter import Die, die, dwarf
from tests.builders.kernelish import INT, kernel, unit


def typedef(name: str, to: str) -> Die:
    return die("typedef", ("name", "strp", name), ("type", "ref4", to), label=name)


def member(name: str, to: str, at: int) -> Die:
    return die("member", ("name", "strp", name), ("type", "ref4", to), ("data_member_location", "data2", at))


def types_of_members(dies: list[Die], struct: str, tmp_path: Path) -> list[str]:
    """Names of the types of the members of a struct."""
    path = tmp_path / "vmlinux"
    path.write_bytes(kernel(dwarf([unit([INT, *dies])])).data)
    btf = list(pybtf.encode(path, jobs=1).btf)
    names = {one.id: one.name for one in btf}
    (found,) = [one for one in btf if one.name == struct and hasattr(one, "members")]
    return [names[each.type] for each in found.members]


@pytest.mark.parametrize("count", [3, 60, 70, 400])
def test_types_within_four_bytes(count: int, tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(count)]
    dies: list[Die] = []
    for name in names:
        dies += [die("const_type"), typedef(name, "int")]
    dies.append(
        die(
            "structure_type",
            ("name", "strp", "all"),
            ("byte_size", "data4", 4 * count),
            children=[member(name, name, 4 * n) for n, name in enumerate(names)],
        )
    )
    assert types_of_members(dies, "all", tmp_path) == names


@pytest.mark.parametrize("count", [3, 62, 63, 64, 65, 400])
def test_types_inside_others(count: int, tmp_path: Path) -> None:
    """A struct gets its number when it ends, so after the structs inside it, although they begin after it."""
    names = [f"n{n}" for n in range(count)]
    inner = [
        die(
            "structure_type",
            ("name", "strp", name),
            ("byte_size", "data1", 4),
            label=name,
            children=[member("x", "int", 0)],
        )
        for name in names
    ]
    outer = die(
        "structure_type",
        ("name", "strp", "outer"),
        ("byte_size", "data4", 4 * count),
        label="outer",
        children=[*inner, *[member(name, name, 4 * n) for n, name in enumerate(names)]],
    )
    last = die(
        "structure_type",
        ("name", "strp", "all"),
        ("byte_size", "data4", 8 * count),
        children=[member("first", "outer", 0), member("last", names[-1], 4 * count)],
    )
    assert types_of_members([outer, last], "all", tmp_path) == ["outer", names[-1]]
    assert types_of_members([outer, last], "outer", tmp_path) == names
