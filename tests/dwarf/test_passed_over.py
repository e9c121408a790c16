"""DIEs of tags that are not known where they stand are passed over, with what is in them: what refers to them.

Fortran's functions are in a DW_TAG_module; a range of Ada is a DW_TAG_subrange_type, also outside of arrays.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from pybtf.btf.types import Member, Struct
from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named

SIZE = ("bit_size", "data1", 5)
OLD = ("byte_size", "data1", 4), SIZE, ("bit_offset", "data1", 27), ("data_member_location", "data1", 0)
NEW = SIZE, ("data_bit_offset", "data1", 0)


def write(path: Path, *dies: Die) -> None:
    path.write_bytes(kernel([unit(dies)]).data)


def test_an_origin_in_a_module_says_so(tmp_path: Path) -> None:
    path = tmp_path / "fortran.elf"
    function = named("subprogram", "meth", ("inline", "data1", 1), label="meth")
    module = named("module", "m", children=[function])
    write(path, INT, module, die("subprogram", ("abstract_origin", "ref4", "meth")))
    with pytest.raises(pybtf.InputError, match=r"where no function is read; expected .* such as a DW_TAG_module"):
        pybtf.encode(path, features="default", jobs=1)


@pytest.mark.parametrize("place", [OLD, NEW], ids=["DWARF 4", "DWARF 5"])
def test_bit_fields_of_a_range(place: tuple[tuple[str, str, int], ...], tmp_path: Path) -> None:
    """The reference crashes on the place as DWARF 5 has it; of that of DWARF 4 it makes this."""
    path = tmp_path / "ada.elf"
    small = die("subrange_type", ("type", "ref4", "int"), ("byte_size", "data1", 4), label="small")
    member = named("member", "p", ("type", "ref4", "small"), *place)
    bits = named("structure_type", "bits", ("byte_size", "data1", 4), children=[member])
    write(path, INT, small, bits)
    types = list(pybtf.encode(path, features="default", jobs=1).btf)
    assert [(each.members, each.size) for each in types if isinstance(each, Struct)] == [((Member("p", 0, 0, 5),), 4)]
