"""The generators of random input for comparisons: their output can be encoded, and a number always gives the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from elftools.elf.elffile import ELFFile

import pybtf
from pybtf.errors import InternalError
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.kernelish import kernel
from tests.conftest import Require
from tests.dwarf.test_containers import MAIN
from tests.dwarf.test_containers import program as program_of_types
from tools.generate import gen_functions, odd_dies, odd_shapes, odd_values, shared_programs
from tools.generate.odd_mending import Mending
from tools.generate.odd_values import Attribute
from tools.generate.untyped import without_type_units


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the functions are those of x86-64")
@pytest.mark.parametrize("number", [0, 1, 7])
def test_random_functions(number: int, tmp_path: Path, require: Require) -> None:
    require("gcc")
    require("ld")
    program = gen_functions.program(number)
    assert program.units == gen_functions.program(number).units
    file = tmp_path / "program"
    program.make(tmp_path, file)
    found = [pybtf.encode(file, features="+true_signature", jobs=jobs) for jobs in (1, 3)]
    assert found[0].data == found[1].data
    assert found[0].report.functions.kept > 5
    assert len([reason for reason, n in found[0].report.functions.left_out.items() if n]) > 2


def tags(it: Die) -> Iterator[str | int]:
    yield it.tag
    for child in it.children:
        if isinstance(child, Die):
            yield from tags(child)


def test_odd_dies_are_of_every_kind() -> None:
    makers = [odd_dies.Maker(seed) for seed in range(100)]
    assert set().union(*(maker.on for maker in makers)) == set(odd_values.ODDITIES)
    units = [unit for maker in makers for unit in maker.make().units]
    assert {unit.version for unit in units} == {2, 3, 4, 5}
    found = {tag for unit in units if unit.root for tag in tags(unit.root)}
    assert found > {"array_type", "enumeration_type", "member", "subprogram", "unspecified_type", "variable", 0x6001}
    assert odd_dies.program(3) == odd_dies.program(3)


def test_odd_dies_are_encoded_or_refused(tmp_path: Path) -> None:
    encoded = 0
    for seed in range(20):
        file = tmp_path / "odd"
        file.write_bytes(odd_dies.program(seed).build())
        try:
            encoded += bool(pybtf.encode(file, features="all").data)
        except InternalError:
            raise
        except pybtf.PybtfError:
            continue
    assert encoded > 10


def test_mended_dies() -> None:
    """Each row of docs/differences.md that the generator avoids."""

    def after(tag: str, *attributes: Attribute) -> tuple[Attribute, ...]:
        root = die("compile_unit", label="u0_root", children=[
            die("base_type", ("byte_size", "data1", 4), label="u0_int"),
            die("typedef", label="void"),
            die("const_type", ("type", "ref4", "void"), label="const"),
            die("pointer_type", label="pointer"),
            die("structure_type", ("byte_size", "data1", 1), label="byte"),
            die("subprogram", children=[die("variable", label="inner")]),
            die("structure_type", children=[die(tag, *attributes)]),
        ])  # fmt: skip
        (unit,) = Mending([Unit(root, version=3)]).units
        assert unit.root
        child = unit.root.children[-1]
        assert isinstance(child, Die)
        (found,) = child.children
        assert isinstance(found, Die)
        return found.attributes

    plain, bits = ("type", "ref4", "u0_int"), ("bit_size", "data1", 3)
    assert after("variable", ("specification", "ref4", "inner")) == ()
    assert after("union_type", ("specification", "ref4", "pointer")) == ()
    assert after("array_type", ("type", "ref4", "void")) == (plain,)
    assert after("member", bits, ("type", "ref4", "void")) == (bits, plain)
    assert after("member", bits, ("type", "ref4", "pointer")) == (bits, ("type", "ref4", "pointer"))
    assert after("variable", ("name", "string", ""), plain) == (plain,)
    assert after("variable", ("name", "string", "v")) == (("name", "string", "v"),)
    assert after("member", bits, ("type", "ref4", "byte")) == (bits, plain)
    to_pointer, to_void = ("type", "ref4", "pointer"), ("type", "ref4", "void")
    assert after("array_type", to_pointer) == (to_pointer,)
    assert after("member", plain, bits) == (plain, bits)
    assert after("member", to_void) == (to_void,)
    assert after("variable", to_void) == (to_void,)
    assert after("variable", ("type", "ref4", "const")) == (plain,)


def test_shapes(tmp_path: Path) -> None:
    """Each shape gives a different file, which can be encoded."""
    plain = odd_dies.program(6).build()
    seen = {plain}
    for shape in set(odd_shapes.SHAPES) - {"merged", "partial"}:
        made = odd_shapes.shaped(6, [shape])
        assert made == odd_shapes.shaped(6, [shape])
        assert (made.base is None) == (shape != "base")
        seen.add(made.data)
        file = tmp_path / shape
        file.write_bytes(made.data)
        assert pybtf.encode(file).data
    assert odd_shapes.shaped(6, []).data == plain
    assert len(seen) == 8  # `base` alone does not change the file
    drawn = [odd_shapes.shaped(seed).shapes for seed in range(60)]
    assert frozenset.union(*drawn) == set(odd_shapes.SHAPES)


@pytest.mark.parametrize("shape", odd_shapes.APART)
def test_shapes_apart(shape: str, tmp_path: Path) -> None:
    """DWARF in several places means the same as the twin for the reference. Some programs have nothing to move."""
    made = []
    for seed in range(12):
        with suppress(*odd_dies.UNBUILDABLE):
            made.append(odd_shapes.shaped(seed, [shape]))
            assert made[-1] == odd_shapes.shaped(seed, [shape])
    assert len(made) > 4
    compared = 0
    for each in made:
        assert bool(each.beside) == (shape != "signatures")
        assert (each.twin is None) == (shape == "alternate")
        for name, data in {"file": each.data, "twin": each.twin or each.data, **each.beside}.items():
            (tmp_path / name).write_bytes(data)
        answers = []
        for name, more in (("file", ""), ("twin", ",force_cu_merging" if each.merged_twin else "")):
            with suppress(pybtf.PybtfError):
                answers.append(pybtf.encode(tmp_path / name, features=f"default{more}").data)
        assert len(answers) != 1
        assert not answers or answers[0] == answers[1]
        compared += len(answers) == 2
    assert compared > 1


def test_what_dwz_makes(tmp_path: Path, require: Require) -> None:
    """One test, so a machine without `dwz` skips only one."""
    for tool in ("gcc", "ld", "dwz"):
        require(tool)
    for shape in odd_shapes.WRITTEN:
        encoded = 0
        for seed in range(6):
            with suppress(*odd_dies.UNBUILDABLE, pybtf.InputError):
                made = odd_shapes.shaped(seed, [shape, "copies"])
                for name, data in {"file": made.data, **made.beside}.items():
                    (tmp_path / name).write_bytes(data)
                encoded += bool(pybtf.encode(tmp_path / "file").data)
        assert encoded, shape
    for number in (0, 1):
        program = shared_programs.program(number)
        assert program == shared_programs.program(number)
        program.make(tmp_path, tmp_path / "program.elf")
        assert pybtf.encode(tmp_path / "program.elf").data


@pytest.mark.parametrize("version", [4, 5])
def test_the_twin_of_a_file_with_type_units(version: int, tmp_path: Path, require: Require) -> None:
    """The twin has no type units, and means the same."""
    require("objcopy")
    file, twin = tmp_path / "file", tmp_path / "twin"
    file.write_bytes(kernel(program_of_types(version, *MAIN)).data)
    without_type_units(file, twin)
    expected = pybtf.encode(file, features="default").data
    assert pybtf.encode(twin, features="default,force_cu_merging").data == expected
    with twin.open("rb") as opened:
        units = list(ELFFile(opened).get_dwarf_info().iter_CUs())
        assert [each.get_top_DIE().tag for each in units] == ["DW_TAG_compile_unit"] * 3
    without_type_units(twin, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_copies_differ_and_refer_to_what_is_there() -> None:
    units = odd_dies.program(6).units
    found = [odd_shapes.Copies(Random(seed)).of(units, "c") for seed in range(20)]
    plain = odd_shapes.Copies(Random(0))
    plain.rate = 0.0
    assert [list(tags(each.root)) for each in plain.of(units, "c") if each.root] == [
        list(tags(each.root)) for each in units if each.root
    ]
    assert len({str(each) for each in found}) > 5
