"""Comparing two BTFs: each kind of change is named with its place, and equal BTFs show no change."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pybtf.btf import BTF, Kind
from pybtf.btf.compare import ABSENT, compare, nearest_named
from pybtf.dwarf.whence import TAGS, defining_unit
from tests.conftest import ROOT

BIN = ROOT / "fixtures" / "bin"
GOLDEN = ROOT / "fixtures" / "golden"
KERNEL = "00_kernel_like.gcc-O2-5-exe"


def golden(name: str = KERNEL) -> bytes:
    return (GOLDEN / f"{name}.usual.btf").read_bytes()


def patched(data: bytes, offset: int, new: bytes) -> BTF:
    return BTF.from_bytes(data[:offset] + new + data[offset + len(new) :], name="patched")


@pytest.fixture(scope="module")
def original() -> BTF:
    return BTF.from_bytes(golden())


def record(btf: BTF, id: int) -> int:
    """The offset of a type's record in the BTF."""
    return btf.header.section("type")[0] + 4 * btf.starts[id - 1]


def a_struct(btf: BTF) -> int:
    return next(type.id for type in btf if type.kind is Kind.STRUCT and type.name)


def test_no_difference(original: BTF) -> None:
    found = compare(original, BTF.from_bytes(golden()))
    assert not found
    assert found.lines() == []


def test_a_size(original: BTF) -> None:
    id = a_struct(original)
    changed = patched(original.data, record(original, id) + 8, struct.pack("<I", 4711))
    found = compare(original, changed)
    assert found.types is not None
    assert (found.types.id, found.types.kind, found.types.name) == (id, "STRUCT", original.type(id).name)
    assert "size=4711" in found.types.b
    assert "size=4711" not in found.types.a
    assert (found.header, found.strings, found.only_a, found.only_b) == ({}, None, [], [])
    assert any(line.startswith(f"types: the first that differs is {id}, STRUCT") for line in found.lines())


def test_a_name_in_a_record(original: BTF) -> None:
    id = a_struct(original)
    other = next(offset for offset, text in original.strings if text == "list_head" or len(text) > 3)
    changed = patched(original.data, record(original, id), struct.pack("<I", other))
    found = compare(original, changed)
    assert found.types is not None
    assert found.types.id == id
    assert found.only_a == [f"STRUCT '{original.type(id).name}'"]
    assert found.only_b == [f"STRUCT '{original.strings[other]}'"]


def test_a_letter_in_the_strings(original: BTF) -> None:
    offset, text = next((offset, text) for offset, text in original.strings if len(text) > 4)
    at = original.header.section("str")[0] + offset + 2
    found = compare(original, patched(original.data, at, b"#"))
    assert found.strings is not None
    assert found.strings.offset == offset + 2
    assert found.strings.a == f"'{text}'"
    assert found.strings.b == f"'{text[:2]}#{text[3:]}'"


def test_one_is_the_start_of_the_other() -> None:
    """A BTF with one more type and one more string."""
    from pybtf.btf import BtfBuilder
    from pybtf.btf.types import Int

    sides = []
    for names in (["a"], ["a", "bcd"]):
        builder = BtfBuilder()
        for name in names:
            builder.add(Int(name, 4, 32))
        sides.append(BTF.from_bytes(builder.tobytes()))
    found = compare(*sides)
    assert found.types is not None
    assert (found.types.id, found.types.name) == (2, "bcd")
    assert found.types.a.startswith(ABSENT)
    assert found.strings is not None
    assert (found.strings.a, found.strings.b) == (ABSENT, "'bcd'")
    assert found.only_b == ["INT 'bcd'"]
    assert set(found.header) == {"type_len", "str_off", "str_len"}
    assert compare(*reversed(sides)).only_a == ["INT 'bcd'"]


def test_byte_order() -> None:
    little = BTF.from_bytes(golden("46_machine.gcc-O2-5-exe"))
    big = BTF.from_bytes(golden("46_machine.gcc-s390x-O2-5-exe"))
    assert compare(little, big).header["little"] == (1, 0)


def test_bytes_after_the_sections(original: BTF) -> None:
    found = compare(original, BTF.from_bytes(golden() + b"\0"))
    assert found.other_bytes == len(golden())
    assert not found.header
    assert len(found.lines()) == 1


def test_types_without_a_name_are_found_by_what_uses_them(original: BTF) -> None:
    for type in original:
        near = nearest_named(original, type.id)
        assert near is not None
        assert near.name
        if type.name and type.kind not in (Kind.DECL_TAG, Kind.TYPE_TAG, Kind.DATASEC):
            assert near == type


# The unit


def test_unit_of_each_kind(original: BTF) -> None:
    seen = set()
    for type in original:
        if type.kind.name in TAGS and type.name and type.kind not in seen:
            seen.add(type.kind)
            unit = defining_unit(str(BIN / f"{KERNEL}.elf"), type.kind.name, type.name)
            assert unit is not None, type
            assert unit.endswith(".c")
    assert {Kind.STRUCT, Kind.FUNC, Kind.INT, Kind.TYPEDEF} <= seen


@pytest.mark.parametrize(
    ("file", "kind", "name", "unit"),
    [
        ("32_percpu.gcc-O2-4-exe", "VAR", None, "32_percpu"),
        ("45_assembler.gcc-O2-4-obj", "INT", "int", "45_c.c"),
        ("47_dwarf64.gcc-O2-5-exe", "INT", "int", ".c"),
        ("46_machine.clang-ppc64-O0-4-exe", "INT", "int", ".c"),
        ("46_machine.clang-aarch64-O2-5-exe", "INT", "int", ".c"),
    ],
)
def test_unit_in_other_files(file: str, kind: str, name: str | None, unit: str) -> None:
    if name is None:
        btf = BTF.from_bytes(golden(file))
        name = next(type.name for type in btf if type.kind.name == kind)
    found = defining_unit(str(BIN / f"{file}.elf"), kind, name)
    assert found is not None
    assert unit in found


def test_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\x7fELF nonsense")
    assert defining_unit(str(path), "STRUCT", "page") is None
    assert defining_unit(str(tmp_path / "none"), "STRUCT", "page") is None
    assert defining_unit(str(BIN / f"{KERNEL}.elf"), "STRUCT", "no such struct") is None
    assert defining_unit(str(BIN / f"{KERNEL}.elf"), "PTR", "") is None


def test_long_types_are_cut_around_the_difference() -> None:
    from pybtf.btf.compare import Comparison, TypeDifference

    long = "[1] STRUCT 'x' size=8 {" + ", ".join(f"'m{i}' type=1 at={i}" for i in range(200)) + "}"
    for old, new in (("'m150'", "'changed'"), ("size=8", "size=9"), ("at=199}", "at=200}")):
        difference = TypeDifference(1, "x", "STRUCT", long, long.replace(old, new))
        _, left, right = Comparison(types=difference).lines()
        assert old in left
        assert new in right
        assert max(len(left), len(right)) < 200
        assert left.startswith("  a  [1] STRUCT 'x'")
