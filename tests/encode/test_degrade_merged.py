"""`--degrade` if all units of a file are merged: a damaged unit is left out, and lost references to it are reported."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.btf.types import Array, DeclTag, FuncProto, Ptr, Struct, Typedef, TypeTag
from pybtf.cli.main import main
from pybtf.encoded import Encoded
from pybtf.errors import InternalError, PybtfError
from tests.builders import bad
from tests.builders.bad import BAD, patched
from tests.builders.cases_alternate import NAME, Labels, one, p, pair, tag, tagged, uses
from tests.builders.cases_alternate import far as distant
from tests.builders.dwarfwriter import Die, Dwarf, Raw, Unit, die, dwarf
from tests.builders.kernelish import INT, function, kernel, standard, unit
from tests.builders.synthetic import X86, base, named, parameter, typedef

bad.load()
WRONG = named("typedef", "wrong", ("type", "ref4", Raw(0x00FFFFFF)))
"""A DIE that cannot be read."""
MERGED = "default,force_cu_merging"
OTHERS = "reference to a unit that is left out"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.elf"


def accepted(data: bytes | bytearray | memoryview, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Checks that all kernels that know the kinds would accept the BTF."""
    raw = path.with_suffix(".btf")
    raw.write_bytes(data)
    assert main(["verify", str(raw)]) == 0, capsys.readouterr().out


def degraded(path: Path, data: bytes, features: str = MERGED) -> Encoded:
    """Encodes `data` with `degrade`, which is impossible without. Any number of workers must give the same."""
    path.write_bytes(data)
    with pytest.raises(PybtfError):
        pybtf.encode(path, features=features)
    result = pybtf.encode(path, features=features, degrade=True)
    assert pybtf.encode(path, features=features, degrade=True, jobs=3).data == result.data
    return result


def same_as(path: Path, data: bytes, features: str = MERGED) -> bytes:
    """The BTF of an undamaged file."""
    sound = path.with_name("sound.elf")
    sound.write_bytes(data)
    return bytes(pybtf.encode(sound, features=features).data)


def lost(result: Encoded) -> list[tuple[str, int]]:
    return [(loss.what, loss.count) for loss in result.report.losses]


def far(name: str, label: str) -> Die:
    """A typedef of something in another unit."""
    return named("typedef", name, ("type", "ref_addr", label))


def program(*middles: Unit) -> bytes:
    last = unit([base("long", 8, label="long"), typedef("last", "long")])
    return kernel(dwarf([unit(standard(X86)), *middles, last])).data


# which units are left out


@pytest.mark.parametrize("where", range(3))
@pytest.mark.parametrize("damage", ["a reference", "a cycle"])
def test_the_rest_is_that_of_a_file_with_an_empty_unit(
    path: Path, where: int, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For damage that is found while DIEs are read, and for damage that is found only afterwards."""
    wrong = {
        "a reference": [WRONG],
        "a cycle": [die("subprogram", ("abstract_origin", "ref4", "again"), label="again")],
    }[damage]
    sound = [unit(standard(X86)), unit([far("there", "long")]), unit([base("long", 8, label="long")])]
    broken = unit([base("char", 1, label="char"), typedef("gone", "char"), *wrong])
    result = degraded(path, kernel(dwarf([*sound[:where], broken, *sound[where:]])).data, "default")
    assert result.data == same_as(path, kernel(dwarf([*sound[:where], unit([]), *sound[where:]])).data)
    assert [count for _, count in lost(result)] == [1]
    assert result.report.units.left_out == {"damaged": 1}
    assert result.report.losses[0].instead == "nothing: the unit is left out"
    assert result.report.losses[0].examples[0]["unit"] == "unit.c"
    accepted(result.data, path, capsys)


def test_many_units_of_all_sorts(path: Path) -> None:
    broken = [
        WRONG,
        *(die("subprogram", ("abstract_origin", "ref4", label), label=label) for label in ("one", "two", "three")),
        *(die("structure_type", ("specification", "ref4", label), label=label) for label in ("four", "five")),
    ]
    units = [unit([base("char", 1), each]) for each in broken]
    result = degraded(path, program(*units))
    assert result.data == same_as(path, program(*[unit([])] * 6))
    assert sum(count for _, count in lost(result)) == 6


def test_a_partial_unit_that_is_damaged(path: Path) -> None:
    """The unit that imports it stays, with everything else that it imports."""

    def units(*more: Die) -> Dwarf:
        good = Unit(die("partial_unit", label="good", children=[base("short", 2, label="short")]))
        wrong = Unit(die("partial_unit", label="wrong", children=list(more)))
        both = [die("imported_unit", ("import", "ref_addr", each)) for each in ("good", "wrong", "good")]
        return dwarf([unit([INT, *both, typedef("own", "int"), far("t", "short")]), good, wrong])

    result = degraded(path, kernel(units(typedef("gone", "x"), base("x", 1, label="x"), WRONG)).data, "default")
    assert result.data == same_as(path, kernel(units()).data)
    assert [count for _, count in lost(result)] == [1]


def test_a_unit_that_imports_is_damaged(path: Path) -> None:
    """The next importing unit imports its partial units."""

    def units(*more: Die) -> Dwarf:
        partial = Unit(die("partial_unit", label="partial", children=[base("short", 2, label="short")]))
        own = die("imported_unit", ("import", "ref_addr", "partial"))
        return dwarf([unit(more), unit([own, far("t", "short")]), partial])

    wrong = [INT, die("imported_unit", ("import", "ref_addr", "partial")), WRONG]
    assert degraded(path, kernel(units(*wrong)).data, "default").data == same_as(path, kernel(units()).data)


def test_a_chain_of_annotations_that_leads_into_another_unit(path: Path) -> None:
    """The chain leads to a place where no DIE begins. The other unit does not count as damaged."""
    sound = unit([base("short", 2), named("typedef", "x" * 40)])

    def units(at: int) -> Dwarf:
        chain = ("GNU_annotation", "ref_addr", Raw(at))
        children = [named("member", "m", ("type", "ref_addr", "int"), ("data_member_location", "data1", 0))]
        s = named("structure_type", "s", ("byte_size", "data1", 4), chain, children=children)
        return dwarf([unit([INT]), sound, unit([s])])

    second = units(0).units[2]
    result = degraded(path, kernel(units(second - 20)).data, "default")
    assert [count for _, count in lost(result)] == [1]
    assert result.data == same_as(path, kernel(dwarf([unit([INT]), sound, unit([])])).data)


def test_headers(path: Path) -> None:
    """A unit whose header cannot be read, and one whose abbreviations are missing."""
    units = [unit(standard(X86)), unit([INT, typedef("other", "int")]), unit([base("long", 8)])]
    written = dwarf(units)
    info = written.sections[".debug_info"]
    assert isinstance(info, bytes)
    nameless = f"at {written.units[1]:#x} of .debug_info"
    for at, new, what, name in (
        (4, b"\x09", "unit with DWARF version 9", nameless),
        (6, b"\xff\xff\xff", "unit with an abbreviation table that starts past the end of the section", nameless),
    ):
        broken = kernel(written, debug={".debug_info": patched(info, written.units[1] + at, new)}).data
        result = degraded(path, broken)
        assert lost(result) == [(what, 1)]
        assert result.report.losses[0].examples == [{"unit": name}]
        assert result.data == same_as(path, kernel(dwarf([units[0], units[2]])).data)


@pytest.mark.parametrize("name", sorted(BAD))
def test_damage_of_all_sorts(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that can be encoded unit by unit can be encoded merged."""
    path.write_bytes(BAD[name].build())
    outcomes = []
    for features in ("default", MERGED):
        try:
            result = pybtf.encode(path, features=features, degrade=True)
        except InternalError:
            raise
        except PybtfError:
            outcomes.append(False)
        else:
            outcomes.append(True)
            accepted(result.data, path, capsys)
    assert outcomes[0] == outcomes[1]


def test_nothing_is_left(path: Path) -> None:
    path.write_bytes(kernel(dwarf([unit([INT, WRONG]), unit([WRONG])])).data)
    with pytest.raises(PybtfError):
        pybtf.encode(path, features=MERGED, degrade=True)


# references to them


def referring(*children: Die) -> Sequence[Unit]:
    return unit(children), unit([base("short", 2, label="short"), WRONG]), unit([INT])


def test_references_to_what_is_left_out(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = ("type", "ref_addr", "short")
    at = ("data_member_location", "data1", 0)
    members = [
        named("member", "plain", there, at),
        named("member", "bits", there, ("data_bit_offset", "data1", 1), ("bit_size", "data1", 3)),
        named("member", "own", ("type", "ref_addr", "int"), at),
    ]
    units = referring(
        named("structure_type", "s", ("byte_size", "data1", 4), children=members),
        die("array_type", there, children=[die("subrange_type", ("upper_bound", "data1", 1))], label="a"),
        die("pointer_type", there, label="p"),
        die("subroutine_type", children=[die("formal_parameter", there)], label="f"),
        typedef("a_t", "a"), typedef("p_t", "p"), typedef("f_t", "f"), named("typedef", "t", there),
    )  # fmt: skip
    result = degraded(path, kernel(dwarf(units)).data, "default")
    accepted(result.data, path, capsys)
    btf = result.btf
    [loss] = [loss for loss in result.report.losses if loss.what == OTHERS]
    assert loss.count == 6
    assert {each.get("name", "") for each in loss.examples} == {"s", "", "t"}

    def of(name: str) -> object:
        found = btf.by_name(name, Kind.TYPEDEF)
        assert isinstance(found, Typedef)
        return btf.type(found.type)

    stand_in = of("t")
    assert isinstance(stand_in, Struct)
    assert (stand_in.name, stand_in.size, stand_in.members) == ("", 0, ())
    s, array, pointer, proto = btf.by_name("s"), of("a_t"), of("p_t"), of("f_t")
    assert isinstance(s, Struct)
    assert [(each.name, btf.type(each.type).name) for each in s.members] == [("plain", ""), ("own", "int")]
    assert isinstance(array, Array)
    assert isinstance(pointer, Ptr)
    assert isinstance(proto, FuncProto)
    types = {s.members[0].type, array.type, pointer.type, proto.params[0].type}
    assert [btf.type(each) for each in types] == [stand_in]


def test_functions_lose_what_their_origin_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As with GCC's LTO, which has code and types in different units. A function that is all in one unit stays."""
    code = die(
        "subprogram", ("abstract_origin", "ref_addr", "origin"), ("low_pc", "addr", X86.text),
        ("high_pc", "data4", 16), children=[die("formal_parameter", ("abstract_origin", "ref_addr", "a"))],
    )  # fmt: skip
    a = parameter("a", "short", label="a")
    short = base("short", 2, label="short")
    origin = die("subprogram", ("name", "string", "f"), ("inline", "data1", 1), children=[a], label="origin")
    stays = function(X86, "g", offset=32, label="stays")
    result = degraded(path, kernel(dwarf([unit([INT, stays, code]), unit([short, origin, WRONG])])).data, "default")
    accepted(result.data, path, capsys)
    assert dict(lost(result))[OTHERS] == 2
    assert result.btf.by_name("f", Kind.FUNC) is None


def test_type_units(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One has damaged contents, one a damaged header. References by their signatures lead to nothing."""
    for at, kind in ((0, "contents"), (4, "header")):
        children = [named("structure_type", "s", ("byte_size", "data1", 4), label="s")]
        more = [WRONG] if kind == "contents" else []
        types = Unit(
            die("type_unit", children=[*children, *more]), version=5, unit_type=2, signature=77, type_label="s"
        )
        user = named("structure_type", "user", ("byte_size", "data1", 4), children=[
            named("member", "m", ("type", "ref_sig8", 77), ("data_member_location", "data1", 0)),
        ])  # fmt: skip
        written = dwarf([types, unit([INT, user])])
        info = written.sections[".debug_info"]
        assert isinstance(info, bytes)
        if kind == "header":
            info = patched(info, at, b"\x09")
        path.write_bytes(kernel(written, debug={".debug_info": info}).data)
        features = "default" if kind == "contents" else MERGED
        result = degraded(path, path.read_bytes(), features)
        accepted(result.data, path, capsys)
        assert dict(lost(result))[OTHERS] == 1
        found = result.btf.by_name("user")
        assert isinstance(found, Struct)
        assert isinstance(result.btf.type(found.members[0].type), Struct)


@pytest.mark.parametrize("needed", [True, False])
def test_units_of_an_alternate_file(path: Path, needed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """One is left out, the other is not."""

    def files(*more: Die) -> tuple[bytes, bytes]:
        def main_units(labels: Labels) -> Sequence[Unit]:
            return [unit([INT, uses("i0")(labels), *([uses("i1", "other")(labels)] if needed else [])])]

        return pair([p(0), p(1, *more)], main_units)

    data, other = files(WRONG)
    path.with_name(NAME).write_bytes(other)
    result = degraded(path, data, "default") if needed else None
    if result is None:  # only its root is read
        path.write_bytes(data)
        result = pybtf.encode(path, degrade=True)
    accepted(result.data, path, capsys)
    assert result.btf.by_name("a0") is not None
    assert result.btf.by_name("a1") is None
    assert dict(lost(result)).get(OTHERS, 0) == (1 if needed else 0)


@pytest.mark.parametrize("unit_and_die", [None, (1, 0x26), (2, 0x42), (3, 0x62)])
@pytest.mark.parametrize("needed", ["i0", "i1"])
def test_type_tags_in_an_alternate_file(
    path: Path, needed: str, unit_and_die: tuple[int, int] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """p1 has a pointer with a tag in p2, which is followed by a tag in p3. Any of these units may be left out. A
    pointer that is not read leaves no tag, and a chain ends before its first missing tag.
    """
    units: list[list[Die]] = [[], [tagged(1, "one")], [tag("one", "two")], [tag("two")]]
    if unit_and_die is not None:
        units[unit_and_die[0]].insert(0, die("namespace", children=[WRONG]))
    data, other = pair([p(number, *more) for number, more in enumerate(units)], one(uses(needed)))
    path.with_name(NAME).write_bytes(other)
    path.write_bytes(data)
    result = pybtf.encode(path) if unit_and_die is None else degraded(path, data, "default")
    accepted(result.data, path, capsys)
    bad = 0 if unit_and_die is None else unit_and_die[0]
    tags, read = {0: (["one", "two"], {2, 3}), 1: ([], set()), 2: ([], {3}), 3: (["one"], {2})}[bad]
    assert [each.name for each in result.btf if isinstance(each, TypeTag)] == tags
    number = int(needed[1])
    assert {n for n in range(4) if result.btf.by_name(f"a{n}") is not None} == read | ({number} - {bad or -1})
    assert dict(lost(result)).get(OTHERS, 0) == (number == bad != 0)
    if unit_and_die is not None:
        (example,) = next(loss for loss in result.report.losses if loss.instead.startswith("nothing")).examples
        assert example["die"] == f"{unit_and_die[1]:#x}"
        assert example["unit"].endswith(f" of .debug_info of {path.with_name(NAME)}")


@pytest.mark.parametrize("kind", ["btf_type_tag", "btf_decl_tag"])
@pytest.mark.parametrize("own", [True, False])
def test_the_unit_of_a_damaged_tag_is_left_out(
    path: Path, own: bool, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The unit of the pointer or struct, in the file or its alternate file, stays: it only loses the tag."""
    damaged = die("GNU_annotation", ("name", "strp", kind), ("const_value", "strp", Raw(0x00FFFFFF)), label="tag")

    def tagged_with(number: int | None, attribute: Any) -> Die:
        if kind == "btf_decl_tag":
            return named("structure_type", "s", ("byte_size", "data1", 4), attribute)
        return die("pointer_type", ("type", "ref4", "int" if number is None else f"i{number}"), attribute)

    def main_units(labels: Labels) -> Sequence[Unit]:
        more = [tagged_with(None, distant(0x2139, labels["tag"]))] if own else []
        return [unit([INT, *more, uses("i1")(labels)]), unit([INT, typedef("second", "int")])]

    more = [] if own else [tagged_with(1, ("GNU_annotation", "ref_addr", "tag"))]
    data, other = pair([p(0), p(1, *more), p(2, damaged)], main_units)
    path.with_name(NAME).write_bytes(other)
    result = degraded(path, data, "default")
    accepted(result.data, path, capsys)
    assert [each.name for each in result.btf if isinstance(each, Typedef)] == ["t", "second"]
    assert any(isinstance(each, Struct if kind == "btf_decl_tag" else Ptr) for each in result.btf)
    assert (result.btf.by_name("a1") is None, result.btf.by_name("a2")) == (False, None)
    assert not any(isinstance(each, DeclTag | TypeTag) for each in result.btf)
    (loss,) = result.report.losses
    assert (loss.what, loss.count) == ("unit with an offset past the end of the section", 1)


# bounds


@pytest.mark.parametrize("n", [20_000])
def test_many_damaged_units_cost_what_sound_ones_do(path: Path, n: int) -> None:
    """Each is skipped. Decoding all other units again for each would take hours."""
    first = unit([base(f"x{i}", 4) for i in range(200)])
    path.write_bytes(kernel(dwarf([first, *[unit([INT, WRONG])] * n, unit([INT])])).data)
    start = time.process_time()
    result = pybtf.encode(path, features=MERGED, degrade=True)
    assert time.process_time() - start < 5
    assert result.report.units.left_out == {"damaged": n}


@pytest.mark.parametrize("n", [20_000])
def test_many_functions_on_the_way_to_a_cycle(path: Path, n: int) -> None:
    """It takes too long to follow the whole chain from each function, or each cycle for as many links as functions."""
    chain = [die("subprogram", ("abstract_origin", "ref4", f"f{i + 1}"), label=f"f{i}") for i in range(n)]
    chain.append(die("subprogram", ("abstract_origin", "ref4", f"f{n}"), label=f"f{n}"))
    own = [die("subprogram", ("abstract_origin", "ref4", f"o{i}"), label=f"o{i}") for i in range(n)]
    path.write_bytes(kernel(dwarf([unit([*reversed(chain), *own]), unit([INT])])).data)
    start = time.process_time()
    result = pybtf.encode(path, features=MERGED, degrade=True)
    assert time.process_time() - start < 5
    assert result.report.units.left_out == {"damaged": 1}
