"""`--degrade`: stand-ins for what BTF cannot express, units left out, names that kernels accept, and the messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.btf.types import Array, Enum, Func, FuncProto, Fwd, Ptr, Struct, Type, Typedef, Union, Volatile
from pybtf.cli.main import main
from pybtf.encoded import Encoded
from pybtf.errors import EncodeError, InternalError, PybtfError
from pybtf.verify.judge import VERSIONS
from tests.builders import bad
from tests.builders.bad import BAD, patched, three_units
from tests.builders.dwarfwriter import Die, Raw, die, dwarf
from tests.builders.kernelish import INT, function, kernel, standard, unit
from tests.builders.synthetic import X86, base, functions, named, of, typedef
from tests.conftest import ROOT
from tests.encode import test_fixtures

bad.load()
DATA_MEMBER = ("data_member_location", "data1", 0)


def encoded(path: Path, data: bytes, *, features: str = "default", jobs: int = 1) -> Encoded:
    """Encodes `data` with `degrade`, after checking that it cannot be encoded without."""
    path.write_bytes(data)
    with pytest.raises(PybtfError):
        pybtf.encode(path, features=features, jobs=jobs)
    return pybtf.encode(path, features=features, jobs=jobs, degrade=True)


def stand_in(path: Path, *dies: Die, features: str = "default") -> Type:
    """The type that the typedef `it` refers to after encoding. In DWARF, `it` refers to the first of these DIEs."""
    label = dies[0].label or "it"
    first = dies[0]._replace(label=label)
    result = encoded(path, of(INT, *dies[1:], first, typedef("it", label)), features=features)
    btf = result.btf
    assert [loss.count for loss in result.report.losses] == [1], result.report.losses
    accepted(result.data, path)
    it = btf.by_name("it", Kind.TYPEDEF)
    assert isinstance(it, Typedef)
    return btf.type(it.type)


def accepted(data: bytes | bytearray | memoryview, path: Path) -> None:
    """Checks that all kernels that know the kinds would accept the BTF."""
    raw = path.with_suffix(".btf")
    raw.write_bytes(data)
    assert main(["verify", str(raw)]) == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.elf"


# stand-ins


@pytest.mark.parametrize("tag", ["reference_type", "rvalue_reference_type"])
def test_references_are_pointers(path: Path, tag: str) -> None:
    found = stand_in(path, die(tag, ("type", "ref4", "int")))
    assert isinstance(found, Ptr)


def test_atomic_is_volatile(path: Path) -> None:
    found = stand_in(path, die("atomic_type", ("type", "ref4", "int")))
    assert isinstance(found, Volatile)


def opaque(found: Type, name: str, size: int) -> None:
    assert isinstance(found, Struct)
    assert (found.name, found.size, len(found.members)) == (name, size, 0)


def test_pointers_to_members_keep_their_size(path: Path) -> None:
    s = named("structure_type", "s", ("byte_size", "data1", 4), label="s")
    f = die("subroutine_type", label="f")
    data = die("ptr_to_member_type", ("type", "ref4", "int"), ("containing_type", "ref4", "s"))
    opaque(stand_in(path, data, s), "", 8)
    opaque(stand_in(path, die("ptr_to_member_type", ("type", "ref4", "f")), f), "", 16)
    opaque(stand_in(path, die("ptr_to_member_type", ("type", "ref4", "f"), ("byte_size", "data1", 12)), f), "", 12)


def test_strings_and_numbers_without_a_kind(path: Path) -> None:
    opaque(stand_in(path, named("string_type", "text", ("byte_size", "data1", 9))), "text", 9)
    opaque(stand_in(path, base("complex double", 16, 3, label="it")), "", 16)
    opaque(stand_in(path, base("__float80", 10, 4, label="it")), "", 10)
    opaque(stand_in(path, die("base_type", ("byte_size", "data1", 2), ("encoding", "data1", 7))), "", 2)


def test_interfaces_are_structs(path: Path) -> None:
    member = named("member", "x", ("type", "ref4", "int"), DATA_MEMBER)
    found = stand_in(path, named("interface_type", "i", ("byte_size", "data1", 4), children=[member]))
    assert isinstance(found, Struct)
    assert (found.name, found.size, [each.name for each in found.members]) == ("i", 4, ["x"])


def test_what_lacks_its_name(path: Path) -> None:
    opaque(stand_in(path, die("structure_type", ("declaration", "flag", 1))), "", 0)
    assert isinstance(stand_in(path, die("typedef", ("type", "ref4", "int"))), Volatile)


def enumerator(name: str | None, value: int) -> Die:
    given = [("name", "string", name)] if name else []
    return die("enumerator", *given, ("const_value", "sdata", value))


def test_enumerations(path: Path) -> None:
    children = [enumerator("a", 1), enumerator(None, 2), enumerator("c", 3)]
    found = stand_in(path, named("enumeration_type", "e", ("byte_size", "data1", 4), children=children))
    assert isinstance(found, Enum)
    assert [(each.name, each.value) for each in found.values] == [("a", 1), ("c", 3)]
    children = [enumerator("a", 1), enumerator("b", 1 << 40), enumerator("c", -(1 << 31) - 1), enumerator("d", 4)]
    found = stand_in(path, named("enumeration_type", "e", ("byte_size", "data1", 4), children=children))
    assert isinstance(found, Enum)
    assert [each.name for each in found.values] == ["a", "d"]
    opaque(stand_in(path, named("enumeration_type", "e", ("byte_size", "data1", 3), children=children)), "e", 3)


def test_members_without_a_place(path: Path) -> None:
    x = named("member", "x", ("type", "ref4", "int"), DATA_MEMBER)
    y = named("member", "y", ("type", "ref4", "int"), ("data_member_location", "data1", 4))
    found = stand_in(path, named("union_type", "u", ("byte_size", "data1", 8), children=[x, y]))
    assert isinstance(found, Union)
    assert (found.size, [each.name for each in found.members]) == (8, ["x"])
    odd = named("member", "odd", ("type", "ref4", "int"), ("data_bit_offset", "data1", 35))
    far = named(
        "member", "far", ("type", "ref4", "int"), ("data_bit_offset", "data4", 1 << 24), ("bit_size", "data1", 3)
    )
    found = stand_in(path, named("structure_type", "s", ("byte_size", "data4", 1 << 22), children=[x, odd, far, y]))
    assert isinstance(found, Struct)
    assert (found.size, [each.name for each in found.members]) == (1 << 22, ["x", "y"])


def lost(path: Path, *dies: Die) -> tuple[list[str], pybtf.BTF]:
    """What is lost of DIEs that can also be encoded without `degrade`."""
    path.write_bytes(of(INT, *dies))
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    return [loss.what for loss in result.report.losses], result.btf


@pytest.mark.parametrize("size", [0, 3, 5, 17, 32])
def test_numbers_of_odd_sizes(path: Path, size: int) -> None:
    """pahole writes an int of 4 bytes, even where that does not fit."""
    what, btf = lost(path, base("odd", size, 7, label="odd"), typedef("it", "odd"))
    assert what == ["number of an odd size"]
    it = btf.by_name("it")
    assert isinstance(it, Typedef)
    opaque(btf.type(it.type), "", size)


def test_members_that_reach_out(path: Path) -> None:
    x = named("member", "x", ("type", "ref4", "int"), DATA_MEMBER)
    past = named("member", "past", ("type", "ref4", "int"), ("data_member_location", "data1", 6))
    bits = named("member", "bits", ("type", "ref4", "int"), ("data_bit_offset", "data1", 60), ("bit_size", "data1", 5))
    end = named("member", "end", ("type", "ref4", "int"), ("data_bit_offset", "data1", 60), ("bit_size", "data1", 4))
    far = named("member", "far", ("type", "ref4", "none"), ("data_member_location", "data1", 9))
    last = named("member", "last", ("type", "ref4", "none"), ("data_member_location", "data1", 8))
    none = die("array_type", ("type", "ref4", "int"), children=[die("subrange_type")], label="none")
    huge = die(
        "array_type", ("type", "ref4", "int"), children=[die("subrange_type", ("upper_bound", "data4", 1 << 28))],
        label="huge",
    )  # fmt: skip
    much = named("member", "much", ("type", "ref4", "huge"), DATA_MEMBER)
    members = [x, much, past, bits, end, far, last]
    s = named("structure_type", "s", ("byte_size", "data1", 8), children=members)
    what, btf = lost(path, none, huge, s)
    assert what == ["member that reaches past the end of its type"]
    found = btf.by_name("s")
    assert isinstance(found, Struct)
    assert [each.name for each in found.members] == ["x", "end", "last"]


def test_what_must_have_a_type(path: Path) -> None:
    """DWARF gives only the name of `nullptr_t` of C++. To BTF, and so to pahole, it is void."""
    null = named("unspecified_type", "decltype(nullptr)", label="null")
    const = die("const_type", ("type", "ref4", "null"), label="const")
    m = named("member", "m", ("type", "ref4", "const"), DATA_MEMBER)
    s = named("structure_type", "s", ("byte_size", "data1", 8), children=[m])
    p = die("subroutine_type", children=[die("formal_parameter", ("type", "ref4", "null"))], label="p")
    a = die("array_type", ("type", "ref4", "null"), children=[die("subrange_type", ("upper_bound", "data1", 1))])
    pointer = die("pointer_type", ("type", "ref4", "null"), label="pointer")
    a = a._replace(label="a")
    rest = [typedef("p_t", "p"), typedef("a_t", "a"), typedef("t", "pointer")]
    f = die(
        "subprogram", ("name", "string", "f"), ("low_pc", "addr", X86.text), ("type", "ref4", "null"),
        children=[named("formal_parameter", "x", ("type", "ref4", "null"), ("location", "exprloc", [("reg5",)]))],
    )  # fmt: skip
    path.write_bytes(of(INT, null, const, s, p, a, pointer, *rest, f))
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    [loss] = result.report.losses
    assert (loss.what, loss.count) == ("member, parameter, element or result without a size", 4)
    assert loss.instead == "a struct without a name, members or size"
    btf = result.btf
    found, t = btf.by_name("s"), btf.by_name("t")
    assert isinstance(found, Struct)
    stand_in = btf.type(found.members[0].type)
    assert isinstance(stand_in, Struct)
    assert (stand_in.name, stand_in.size, stand_in.members) == ("", 0, ())
    assert isinstance(t, Typedef)
    of_pointer = btf.type(t.type)
    assert isinstance(of_pointer, Ptr)
    assert of_pointer.type == 0  # a pointer to void is still a pointer
    assert btf.by_name("f", Kind.FUNC) is not None


def test_bitfields_that_are_no_numbers(path: Path) -> None:
    """Such as those of `_BitInt(129)`: there is no INT of this size."""
    big = base("_BitInt(129)", 24, 5, label="big")
    a, b = (
        named("member", name, ("type", "ref4", type_), ("data_bit_offset", "data1", at), ("bit_size", "data1", 5))
        for name, type_, at in (("a", "big", 0), ("b", "int", 5))
    )
    what, btf = lost(path, big, named("structure_type", "s", ("byte_size", "data1", 24), children=[a, b]))
    assert sorted(what) == ["bitfield of a type that is not a number", "number of an odd size"]
    found = btf.by_name("s")
    assert isinstance(found, Struct)
    assert [each.name for each in found.members] == ["b"]


def test_variants(path: Path) -> None:
    """Rust's enumerations with data: the members depend on a discriminant."""
    x = named("member", "x", ("type", "ref4", "int"), DATA_MEMBER)
    part = die("variant_part", children=[die("variant", children=[x])])
    y = named("member", "y", ("type", "ref4", "int"), ("data_member_location", "data1", 4))
    what, btf = lost(path, named("structure_type", "s", ("byte_size", "data1", 8), children=[part, y]))
    assert what == ["type with variants"]
    found = btf.by_name("s")
    assert isinstance(found, Struct)
    assert (found.size, [each.name for each in found.members]) == (8, ["y"])


def test_members_of_types_that_are_only_declared(path: Path) -> None:
    """clang declares a class whose definition it expects in another unit. A pointer to it stays a pointer."""
    declared = named("structure_type", "d", ("declaration", "flag", 1), label="d")
    d = named("member", "m", ("type", "ref4", "d"), DATA_MEMBER)
    to = named("member", "to", ("type", "ref4", "pointer"), ("data_member_location", "data1", 8))
    pointer = die("pointer_type", ("type", "ref4", "d"), label="pointer")
    s = named("structure_type", "s", ("byte_size", "data1", 16), children=[d, to])
    what, btf = lost(path, declared, pointer, s)
    assert what == ["member, parameter, element or result without a size"]
    found = btf.by_name("s")
    assert isinstance(found, Struct)
    stand_in, there = (btf.type(each.type) for each in found.members)
    assert isinstance(stand_in, Struct)
    assert (stand_in.name, stand_in.size) == ("", 0)
    assert isinstance(there, Ptr)
    assert isinstance(btf.type(there.type), Fwd)


def test_arrays_of_types_that_are_only_declared(path: Path) -> None:
    """The array is met before the struct that holds it, and its stand-in gets an index at which the unit before had a
    number. A wrong size of the member would decide whether the next member is in order.
    """
    declared = named("structure_type", "d", ("declaration", "flag", 1), label="d")
    m = named("member", "m", ("type", "ref4", "array"), ("data_member_location", "data1", 4))
    before = named("member", "before", ("type", "ref4", "int"), DATA_MEMBER)
    s = named("structure_type", "s", ("byte_size", "data1", 8), children=[m, before])
    bounds = die("subrange_type", ("upper_bound", "data1", 1))
    array = die("array_type", ("type", "ref4", "d"), children=[bounds], label="array")
    numbers = [base(f"n{i}", 16) for i in range(20)]
    path.write_bytes(kernel([unit(numbers), unit([INT, declared, s, array])]).data)
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    losses = [loss.what for loss in result.report.losses]
    assert losses == [
        "member, parameter, element or result without a size",
        "member that begins before the previous one",
    ]
    found = result.btf.by_name("s")
    assert isinstance(found, Struct)
    assert [each.name for each in found.members] == ["m"]


def test_results(path: Path) -> None:
    """A function may return void. Kernels accept neither a typedef of void nor a struct that is only declared."""
    declared = named("structure_type", "d", ("declaration", "flag", 1), label="d")
    const = die("const_type", label="const")
    of_declared = die("subroutine_type", ("type", "ref4", "d"), label="of_declared")
    of_nothing = die("subroutine_type", ("type", "ref4", "nothing"), label="of_nothing")
    of_void = die("subroutine_type", label="of_void")
    types = [typedef(f"{name}_t", name) for name in ("of_declared", "of_nothing", "of_void")]
    f = die(
        "subprogram", ("name", "string", "f"), ("low_pc", "addr", X86.text), ("type", "ref4", "const"),
        ("prototyped", "flag", 1),
    )  # fmt: skip
    nothing = typedef("nothing", "const", label="nothing")
    path.write_bytes(of(INT, declared, const, nothing, of_declared, of_nothing, of_void, *types, f))
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    assert {loss.what: loss.count for loss in result.report.losses} == {
        "member, parameter, element or result without a size": 1,
        "result that is void by another name": 2,
    }
    returned = [each.return_type for each in result.btf if isinstance(each, FuncProto)]
    assert len(returned) == 2  # a typedef of the struct, and one of void
    assert sorted(type(result.btf.type(each)).__name__ for each in returned if each) == ["Struct"]


@pytest.mark.parametrize(("bound", "lost"), [(0x3FFFFFFE, False), (0x3FFFFFFF, True), (0xFFFFFFFE, True)])
def test_arrays_of_4_gib(path: Path, bound: int, lost: bool) -> None:
    """Go has pointers to arrays that are larger than BTF can express."""
    bounds = die("subrange_type", ("upper_bound", "data4", bound))
    array = die("array_type", ("type", "ref4", "int"), children=[bounds], label="array")
    path.write_bytes(of(INT, array, typedef("t", "array")))
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    assert [loss.what for loss in result.report.losses] == ["array of 4 GiB or more"] * lost
    found = next(each for each in result.btf if isinstance(each, Array))
    assert found.nelems == (0 if lost else bound + 1)


def test_members_that_no_instance_has_there(path: Path) -> None:
    """Static members, as clang describes them in DWARF 4, and empty members that share the place of another."""
    first = named("member", "first", ("type", "ref4", "int"), ("data_member_location", "data1", 4))
    static = named("member", "static", ("type", "ref4", "int"), ("external", "flag", 1), ("declaration", "flag", 1))
    empty = named("member", "empty", ("type", "ref4", "e"), DATA_MEMBER)
    e = named("structure_type", "e", ("byte_size", "data1", 1), label="e")
    last = named("member", "last", ("type", "ref4", "int"), ("data_member_location", "data1", 8))
    s = named("structure_type", "s", ("byte_size", "data1", 12), children=[first, static, empty, last])
    what, btf = lost(path, e, s)
    assert sorted(what) == ["member that begins before the previous one", "static member"]
    found = btf.by_name("s")
    assert isinstance(found, Struct)
    assert [each.name for each in found.members] == ["first", "last"]


def test_more_than_can_be_counted(path: Path) -> None:
    one = die("formal_parameter", ("type", "ref4", "int"))
    found = stand_in(path, die("subroutine_type", ("type", "ref4", "int"), children=[one] * 65_536))
    assert isinstance(found, FuncProto)
    assert found.params == ()
    x = named("member", "x", ("type", "ref4", "int"), DATA_MEMBER)
    found = stand_in(path, named("union_type", "u", ("byte_size", "data1", 4), children=[x] * 65_536))
    assert isinstance(found, Union)
    assert (found.name, found.size, found.members) == ("u", 4, ())
    found = stand_in(
        path, named("enumeration_type", "e", ("byte_size", "data1", 4), children=[enumerator("a", 1)] * 65_536)
    )
    opaque(found, "e", 4)


def test_what_is_around_stays(path: Path) -> None:
    member = named("member", "r", ("type", "ref4", "r"), DATA_MEMBER)
    bound = die("subrange_type", ("upper_bound", "data1", 2))
    array = die("array_type", ("type", "ref4", "r"), children=[bound], label="a")
    s = named("structure_type", "s", ("byte_size", "data1", 8), children=[member])
    reference = die("reference_type", ("type", "ref4", "int"), label="r")
    result = encoded(path, of(INT, reference, s, array, typedef("t", "a")))
    found = result.btf.by_name("s", Kind.STRUCT)
    assert isinstance(found, Struct)
    assert isinstance(result.btf.type(found.members[0].type), Ptr)
    t = result.btf.by_name("t", Kind.TYPEDEF)
    assert isinstance(t, Typedef)
    t_array = result.btf.type(t.type)
    assert isinstance(t_array, Array)
    assert (t_array.nelems, t_array.type) == (3, found.members[0].type)


# names


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Option<u32>", "Option_u32_"),
        ("a::b", "a__b"),
        ("8x", "_8x"),
        ("\u00e9t\u00e9", "__t__"),
        ("x" * 200, "x" * 127),
        ("9" * 127, "_" + "9" * 126),
        ("ok_9", "ok_9"),
    ],
)
def test_names_that_kernels_take(path: Path, name: str, plain: str) -> None:
    member = named("member", name, ("type", "ref4", "int"), DATA_MEMBER)
    struct = named("structure_type", name, ("byte_size", "data1", 4), children=[member])
    forward = named("union_type", name + "f", ("declaration", "flag", 1))
    enum = named("enumeration_type", name, ("byte_size", "data1", 4), children=[enumerator(name, 1)])
    number = base(name, 2, 7)
    path.write_bytes(of(INT, struct, forward, enum, number, typedef(name, "int")))
    result = pybtf.encode(path, degrade=True)
    accepted(result.data, path)
    kept = [each for each in result.btf if each.kind not in (Kind.INT, Kind.FWD)]
    assert [each.name for each in kept] == [plain, plain, plain]
    assert [each.name for each in result.btf if isinstance(each, Fwd)] == [(plain + "f")[:127]]
    assert any(each.name == name for each in result.btf if each.kind is Kind.INT)  # a number may be called anything
    one, two, _ = kept
    assert isinstance(one, Struct)
    assert one.members[0].name == plain
    assert isinstance(two, Enum)
    assert two.values[0].name == plain
    losses = [(loss.count, [each["name"] for each in loss.examples]) for loss in result.report.losses]
    assert losses == ([] if name == plain else [(2, sorted([name, name + "f"]))])


# units


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("f", True), ("_f9", True), ("F" * 127, True), ("a$b", False), ("$f", False), ("9f", False),
        ("-[Foo go:with:]", False), ("f" * 128, False), ("caf\u00e9", False),
    ],
)  # fmt: skip
def test_functions_that_kernels_have_no_name_for(path: Path, name: str, kept: bool) -> None:
    """They get the name of their symbol, or are left out."""
    dies = [INT, function(X86, name, offset=16), function(X86, "other", offset=32, label="other")]
    path.write_bytes(of(*dies, extra_symbols=functions(name, "other")))
    result = pybtf.encode(path, jobs=1, degrade=True)
    assert [type.name for type in result.btf if isinstance(type, Func)] == sorted(["other", *[name] * kept])
    assert result.report.functions.left_out == ({} if kept else {"invalid_name": 1})
    told = [(loss.what, loss.count, loss.examples) for loss in result.report.losses]
    assert told == ([] if kept else [("function with a name that every kernel rejects", 1, [{"name": name}])])
    accepted(result.data, path)
    plain = pybtf.encode(path, jobs=1)
    assert {type.name for type in plain.btf if isinstance(type, Func)} == {"other", name}


def test_a_damaged_unit_is_left_out(path: Path) -> None:
    wrong = named("typedef", "t", ("type", "ref4", Raw(0x00FFFFFF)))
    result = encoded(path, three_units(unit([INT, wrong])))
    empty = path.with_name("empty.elf")
    empty.write_bytes(three_units(unit([])))
    assert result.data == pybtf.encode(empty).data
    assert result.report.units.left_out == {"damaged": 1}
    [loss] = result.report.losses
    assert loss.what.startswith("unit with ")
    assert loss.instead == "nothing: the unit is left out"


def damaged_header(at: int, new: bytes) -> bytes:
    """Three units, with these bytes written into the header of the second."""
    units = [unit(standard(X86)), unit([INT, typedef("other", "int")]), unit([named("typedef", "last")])]
    written = dwarf(units)
    info = written.sections[".debug_info"]
    assert isinstance(info, bytes)
    return kernel(written, debug={".debug_info": patched(info, written.units[1] + at, new)}).data


def test_a_unit_of_another_version_is_left_out(path: Path) -> None:
    result = encoded(path, damaged_header(4, b"\x09"))
    assert result.btf.by_name("other") is None
    assert result.btf.by_name("last") is not None
    assert [loss.what for loss in result.report.losses] == ["unit with DWARF version 9"]


def test_what_follows_a_unit_without_end_is_lost(path: Path) -> None:
    result = encoded(path, damaged_header(0, b"\xf0\xff\xff\x7f"))
    assert result.btf.by_name("point") is not None
    assert result.btf.by_name("last") is None
    assert [loss.what for loss in result.report.losses] == ["unit with the unit length 0x7ffffff0"]


@pytest.mark.parametrize("name", sorted(BAD))
def test_damage_of_all_sorts(path: Path, name: str) -> None:
    """The outcome is the same error as without, or BTF that a kernel accepts; the same with any number of workers."""
    path.write_bytes(BAD[name].build())
    try:
        result = pybtf.encode(path, degrade=True, jobs=1)
    except InternalError:
        raise
    except PybtfError:
        return
    assert result.report.losses
    assert result.data == pybtf.encode(path, degrade=True, jobs=4).data
    accepted(result.data, path)


# without losses


#: Complex numbers of 32 bytes; names of C++ and Rust, empty tuples; numbers of 12 bytes.
ODD = ("06_complex", "49_", "51_rust", "55_types")
GOLDEN = [each for each in test_fixtures.cases() if each.values[0].golden is not None]


@pytest.mark.parametrize("case", GOLDEN)
def test_without_losses_the_bytes_are_the_same(case: test_fixtures.Case) -> None:
    assert case.golden is not None
    lang, exclude = case.options.get("lang", ""), case.options.get("lang_exclude", "")
    result = pybtf.encode(case.elf, features=case.features, jobs=2, lang=lang, lang_exclude=exclude, degrade=True)
    if not result.report.losses:
        assert result.data == case.golden.read_bytes()
    else:
        assert any(name in case.elf.name for name in ODD), result.report.losses


# for kernels


@pytest.mark.parametrize("version", [each for each in VERSIONS if each >= 504])
def test_kernels_take_what_is_made_for_them(path: Path, version: int, capsys: pytest.CaptureFixture[str]) -> None:
    """They accept it by the rules of `pybtf verify`, and no feature that the kernel knows is left out."""
    name = f"{version // 100}.{version % 100}"
    kinds = {"enum64": Kind.ENUM64, "decl_tag": Kind.DECL_TAG, "type_tag": Kind.TYPE_TAG, "float": Kind.FLOAT}
    had = set()
    for program in ("00_kernel_like.gcc-O2-5-exe", "35_decl_tags.clang-O2-5-exe", "36_type_tags.clang-O2-5-exe"):
        file = ROOT / "fixtures" / "bin" / f"{program}.elf"
        result = pybtf.encode(file, features="default,attributes", for_kernel=name)
        raw = path.with_suffix(".btf")
        raw.write_bytes(result.data)
        assert main(["verify", "--kernel", name, str(raw)]) == 0, capsys.readouterr().out
        had |= {each.kind for each in result.btf}
        for feature in result.report.without:
            made = pybtf.encode(file, features=[*result.report.features, feature])
            if feature in kinds and kinds[feature] in {each.kind for each in made.btf}:
                raw.write_bytes(made.data)
                assert main(["verify", "--kernel", name, str(raw)]) == 1
    capsys.readouterr()
    assert Kind.FUNC in had


def test_for_kernel_on_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(of(INT))
    report, out = path.with_name("r.json"), path.with_name("x.btf")
    arguments = ["encode", "--detached", str(out), "--report", str(report), str(path)]
    assert main([*arguments, "--for-kernel", "5.15"]) == 0
    left_out = ["decl_tag", "type_tag", "enum64", "decl_tag_kfuncs"]
    line = f"pybtf: note: a kernel 5.15 does not know the features {', '.join(left_out)}: left out"
    assert capsys.readouterr().err.splitlines()[0] == line
    found = json.loads(report.read_text())
    assert (found["for_kernel"], found["without"]) == ("5.15", left_out)
    assert main([*arguments, "--for-kernel", "6.12.3-amd64"]) == 0
    assert "note:" not in capsys.readouterr().err
    for wrong in ("new", "5", "5.x", "4.19", "5.3", "1000.1000"):
        assert main([*arguments, "--for-kernel", wrong]) == 2


# messages

REFERENCE = (INT, die("reference_type", ("type", "ref4", "int")))


def test_status_and_words(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(of(*REFERENCE))
    report, out = path.with_name("r.json"), path.with_name("x.btf")
    assert main(["encode", "--degrade", "--report", str(report), "--detached", str(out), str(path)]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "pybtf: lost: 1 time DW_TAG_reference_type; instead there is a pointer. First: unit.c, DIE 0x2a"
    [loss] = json.loads(report.read_text())["losses"]
    assert loss == {
        "what": "DW_TAG_reference_type", "instead": "a pointer", "count": 1,
        "examples": [{"unit": "unit.c", "die": "0x2a"}],
    }  # fmt: skip
    assert main(["encode", "-q", "--degrade", "--detached", str(out), str(path)]) == 3
    assert capsys.readouterr().err == ""
    path.write_bytes(of(INT))
    assert main(["encode", "-q", "--degrade", "--detached", str(out), str(path)]) == 0


def test_many_files(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = path.with_name("sound.elf")
    sound.write_bytes(of(INT))
    path.write_bytes(of(*REFERENCE))
    folder = path.with_name("out")
    arguments = ["encode", "--degrade", "--detached-dir", str(folder)]
    assert main([*arguments, str(sound)]) == 0
    assert main([*arguments, str(sound), str(path)]) == 3
    assert "lost: 1 time DW_TAG_reference_type" in capsys.readouterr().err
    path.write_bytes(b"\x7fELF")
    assert main([*arguments, str(sound), str(path)]) == 1


def test_variables(path: Path) -> None:
    wrong = die(
        "variable", ("name", "string", "a b"), ("type", "ref4", "int"),
        ("location", "exprloc", [("addr", X86.percpu + 8)]),
    )  # fmt: skip
    result = encoded(path, kernel([unit([*standard(X86), wrong])]).data, features="var")
    [loss] = result.report.losses
    assert (loss.what, loss.instead, loss.count) == ("variable with a name that BTF does not allow", "nothing", 1)
    assert loss.examples[0]["name"] == "a b"
    assert result.report.variables.left_out["invalid_name"] == 1


def test_a_program_of_cplusplus(path: Path) -> None:
    program = ROOT / "fixtures" / "degrade" / "shapes.elf"
    with pytest.raises(EncodeError, match=r"`pybtf encode --degrade` replaces what BTF cannot express"):
        pybtf.encode(program)
    result = pybtf.encode(program, degrade=True)
    accepted(result.data, path)
    assert {loss.what for loss in result.report.losses} >= {
        "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type", "DW_TAG_ptr_to_member_type",
        "name that every kernel rejects", "complex or imaginary floating-point type",
    }  # fmt: skip
    assert all("line" in loss.examples[0] for loss in result.report.losses if "type of" in loss.what)
