"""DIEs with tags that are unknown in their place are skipped with their children. These tests are about references to
them.

Fortran's functions are in a DW_TAG_module; a range of Ada is a DW_TAG_subrange_type, even outside an array.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.btf.types import Member, Struct
from tests.builders.dwarfwriter import Die, Unit, die, dwarf
from tests.builders.kernelish import FLAVOURS, INT, kernel, unit
from tests.builders.synthetic import named

SIZE = ("bit_size", "data1", 5)
OLD = ("byte_size", "data1", 4), SIZE, ("bit_offset", "data1", 27), ("data_member_location", "data1", 0)
NEW = SIZE, ("data_bit_offset", "data1", 0)


SPARE = named("structure_type", "spare", ("byte_size", "data1", 0))
WORD_PIECES = b"\x55\x93\x08\x54\x93\x08"
"""rdi and rsi, the first two registers for parameters of x86-64."""
RDX = b"\x51"
WIDE = [
    ("a range", [die("subrange_type", ("type", "ref4", "wide"), label="other")], "other"),
    ("an alias", [named("template_alias", "a", ("type", "ref4", "wide"), label="other")], "other"),
    ("an alias behind a typedef", [
        named("typedef", "t", ("type", "ref4", "other"), label="t"),
        named("template_alias", "a", ("type", "ref4", "wide"), label="other"),
    ], "t"),
    ("a struct in a module", [
        named("module", "m", children=[named("structure_type", "s", ("byte_size", "data1", 16), label="other")])
    ], "other"),
]  # fmt: skip


def write(path: Path, *dies: Die) -> None:
    path.write_bytes(kernel([unit(dies)]).data)


def test_an_origin_in_a_module_says_so(tmp_path: Path) -> None:
    path = tmp_path / "fortran.elf"
    function = named("subprogram", "meth", ("inline", "data1", 1), label="meth")
    module = named("module", "m", children=[function])
    write(path, INT, module, die("subprogram", ("abstract_origin", "ref4", "meth")))
    with pytest.raises(pybtf.InputError, match=r"where no function is read; expected .* such as a DW_TAG_module"):
        pybtf.encode(path, features="default", jobs=1)


@pytest.mark.parametrize("features", ["default", "default,force_cu_merging"])
@pytest.mark.parametrize("own", [(), (("name", "string", "f"),)], ids=["", "with a name of its own"])
def test_of_functions_with_such_an_origin_degrading_leaves_out_nothing_else(
    features: str, own: tuple[tuple[str, str, str], ...], tmp_path: Path
) -> None:
    """Nothing but the function itself is lost, whether or not it has a name of its own."""
    path = tmp_path / "fortran.elf"
    low_pc = ("low_pc", "addr", FLAVOURS["x86_64"].text)
    module = named("module", "m", children=[named("subprogram", "meth", ("inline", "data1", 1), label="meth")])
    body = die("subprogram", *own, ("abstract_origin", "ref4", "meth"), low_pc, ("high_pc", "data4", 16))
    write(path, INT, module, named("typedef", "kept", ("type", "ref4", "int")), body)
    with pytest.raises(pybtf.InputError, match="where no function is read"):
        pybtf.encode(path, features=features, jobs=1)
    result = pybtf.encode(path, features=features, jobs=1, degrade=True)
    assert [(each.kind, each.name) for each in result.btf] == [(Kind.INT, "int"), (Kind.TYPEDEF, "kept")]
    (loss,) = result.report.losses
    assert (loss.what, loss.instead, loss.count, result.report.units.left_out) == (
        "function whose abstract origin is not read", "nothing", 1, {}
    )


@pytest.mark.parametrize("place", [OLD, NEW], ids=["DWARF 4", "DWARF 5"])
def test_bit_fields_of_a_range(place: tuple[tuple[str, str, int], ...], tmp_path: Path) -> None:
    """The reference crashes on the place as DWARF 5 writes it; as DWARF 4 writes it, this is its result."""
    path = tmp_path / "ada.elf"
    small = die("subrange_type", ("type", "ref4", "int"), ("byte_size", "data1", 4), label="small")
    member = named("member", "p", ("type", "ref4", "small"), *place)
    bits = named("structure_type", "bits", ("byte_size", "data1", 4), children=[member])
    write(path, INT, small, bits)
    types = list(pybtf.encode(path, features="default", jobs=1).btf)
    assert [(each.members, each.size) for each in types if isinstance(each, Struct)] == [((Member("p", 0, 0, 5),), 4)]


@pytest.mark.parametrize("inherited", [False, True], ids=["own", "of the origin"])
@pytest.mark.parametrize("features", ["default", "default,force_cu_merging"])
@pytest.mark.parametrize(("types", "type"), [row[1:] for row in WIDE], ids=[row[0] for row in WIDE])
def test_a_parameter_has_the_size_that_its_type_has(
    types: list[Die], type: str, features: str, inherited: bool, tmp_path: Path
) -> None:
    """A value of 16 bytes takes two registers, even if BTF does not know its type. So the next parameter belongs in the
    third. A function with a parameter in the wrong place is not written.
    """
    path = tmp_path / "wide.elf"
    low_pc = ("low_pc", "addr", FLAVOURS["x86_64"].text)
    wide = named("base_type", "__int128", ("byte_size", "data1", 16), ("encoding", "data1", 5), label="wide")
    x, y = ("name", "string", "x"), ("type", "ref4", type)
    if inherited:
        first = [
            die("formal_parameter", x, y, label="x"),
            named("formal_parameter", "y", ("type", "ref4", "int"), label="y"),
        ]
        second = [
            die("formal_parameter", ("abstract_origin", "ref4", "x"), ("location", "exprloc", WORD_PIECES)),
            die("formal_parameter", ("abstract_origin", "ref4", "y"), ("location", "exprloc", RDX)),
        ]
        functions = [
            named("subprogram", "f", ("inline", "data1", 1), label="f", children=first),
            die("subprogram", ("abstract_origin", "ref4", "f"), low_pc, children=second),
        ]
    else:
        second = [
            die("formal_parameter", x, y, ("location", "exprloc", WORD_PIECES)),
            named("formal_parameter", "y", ("type", "ref4", "int"), ("location", "exprloc", RDX)),
        ]
        functions = [named("subprogram", "f", low_pc, children=second)]
    write(path, INT, wide, *types, *functions)
    encoded = pybtf.encode(path, features=features, jobs=1)
    function = encoded.btf.by_name("f", Kind.FUNC)
    assert function is not None
    small = named("base_type", "short", ("byte_size", "data1", 2), ("encoding", "data1", 5), label="wide")
    if "module" in repr(types):
        return
    write(path, INT, small, *types, *functions)
    assert pybtf.encode(path, features=features, jobs=1).btf.by_name("f", Kind.FUNC) is None


def test_a_parameter_whose_type_leads_to_a_pointer(tmp_path: Path) -> None:
    """The parameter is as large as an address, whatever it points to; only values of two words take two registers."""
    path = tmp_path / "pointer.elf"
    two = named("structure_type", "two", ("byte_size", "data1", 16), label="two")
    pointer = die("pointer_type", ("type", "ref4", "two"), label="pointer")
    alias = named("template_alias", "a", ("type", "ref4", "pointer"), label="alias")
    parameters = [
        named("formal_parameter", "x", ("type", "ref4", "alias"), ("location", "exprloc", b"\x55")),
        named("formal_parameter", "y", ("type", "ref4", "int"), ("location", "exprloc", b"\x54")),
    ]
    function = named("subprogram", "f", ("low_pc", "addr", FLAVOURS["x86_64"].text), children=parameters)
    write(path, INT, two, pointer, alias, function)
    assert pybtf.encode(path, features="default", jobs=1).btf.by_name("f", Kind.FUNC) is not None


def test_the_name_of_a_unit_whose_section_is_gone(tmp_path: Path) -> None:
    """`objcopy -R '.debug_line*'` takes .debug_line_str as well. The reference writes the same BTF without it."""
    path = tmp_path / "x.elf"
    root = die("compile_unit", ("name", "line_strp", "x.c"), ("producer", "string", "GNU C11"), children=[INT, SPARE])
    written = dwarf([Unit(root, version=5)])
    assert written.sections.pop(".debug_line_str") == b"x.c\0"
    path.write_bytes(kernel(written).data)
    assert pybtf.encode(path, features="default", jobs=1).btf.by_name("spare") is not None
    of_type = die("structure_type", ("name", "line_strp", "t"), ("byte_size", "data1", 0))
    written = dwarf([Unit(root._replace(children=[of_type]), version=5)])
    written.sections.pop(".debug_line_str")
    path.write_bytes(kernel(written).data)
    with pytest.raises(pybtf.InputError, match=r"\.debug_line_str"):
        pybtf.encode(path, features="default", jobs=1)
