"""`pybtf size` and `pybtf duplicates`: sums that add up, what only one type brings in, where definitions differ."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf.duplicates import duplicates, first_difference
from pybtf.btf.reader import BTF
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    FuncProto,
    Int,
    Member,
    Param,
    Ptr,
    Struct,
    Type,
    Typedef,
    Union,
    Var,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_graph import TypeGraph
from tests.conftest import ROOT
from tools.generate import randbtf

GOLDEN = ROOT / "fixtures" / "golden"
SAMPLE = GOLDEN / "00_kernel_like.gcc-O2-5-exe.usual.btf"
OTHER = GOLDEN / "random_0064.gcc-O0-4-exe.usual.btf"
INTEGER = Int("int", 4, 32)

Run = Callable[..., str]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """`run("size", path)`: standard output of a command, which must end with this status."""

    def started(*arguments: object, status: int = 0) -> str:
        found = main([*map(str, arguments)])
        out, err = capfdbinary.readouterr()
        assert found == status, err
        return (out + err).decode()

    return started


def written(*types: Type) -> bytes:
    builder = BtfBuilder()
    builder.extend(types)
    return builder.tobytes()


# size


def test_sums_are_the_size_of_the_file(run: Run) -> None:
    tables = json.loads(run("size", "--json", SAMPLE))
    btf = BTF.from_file(SAMPLE)
    assert sum(row["bytes"] for row in tables["all"]) == SAMPLE.stat().st_size
    whole = {row["name"]: row for row in tables["all"]}
    for name in ("types", "strings"):
        assert sum(row["bytes"] for row in tables[name]) == whole[name]["bytes"]
        assert sum(row["number"] for row in tables[name]) == whole[name]["number"]
    assert whole["types"]["number"] == len(btf)
    assert whole["strings"]["number"] == len(btf.strings)
    counts = {kind.name: count for kind, count in btf.count_kinds().items()}
    assert {row["name"]: row["number"] for row in tables["types"]} == counts


def test_a_name_that_is_no_utf_8_is_that_byte_in_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.btf"
    path.write_bytes(written(Struct("a\udcff", 4, ()), Struct("a\\xff", 8, ())))
    rows = json.loads(run("size", "--json", path))["largest records"]
    assert {row["name"] for row in rows} == {"STRUCT a\udcff", "STRUCT a\\xff"}
    assert run("size", path).count(r"STRUCT a\xff") >= 2


def test_strings_by_what_has_them(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    proto = FuncProto(1, (Param("parameter", 1), Param("both", 1)))
    struct, enum = Struct("s", 4, (Member("both", 1, 0),)), Enum("e", 4, (Enumerator("E", 1),))
    path.write_bytes(written(INTEGER, struct, enum, proto))
    tables = json.loads(run("size", "--json", path))
    assert {row["name"]: (row["bytes"], row["number"]) for row in tables["strings"]} == {
        "of types": (4 + 2 + 2, 3), "of enumerators": (2, 1), "of parameters": (10, 1), "of several of these": (5, 1),
        "of nothing": (1, 1),
    }  # fmt: skip


def needed(btf: BTF, without: int) -> set[int]:
    """What is reached from unreferenced types, and then from the rest, if one type is taken away."""
    referred = {to for id in range(1, btf.end_id) for to in btf.references(id)}
    reached: set[int] = set()

    def go(root: int, leave_out: int) -> None:
        todo = [root]
        while todo:
            id = todo.pop()
            if id and id != leave_out and id not in reached:
                reached.add(id)
                todo += btf.references(id)

    roots = [id for id in range(1, btf.end_id) if id not in referred]
    for root in roots:
        go(root, 0)
    for id in range(1, btf.end_id):
        if id not in reached:
            roots.append(id)
            go(id, 0)
    reached.clear()
    for root in roots:
        go(root, without)
    return reached


@pytest.mark.parametrize("seed", range(6))
def test_what_is_gone_without_a_type(seed: int) -> None:
    data = randbtf.RandomBtf(seed).make()
    btf = BTF.from_bytes(data)
    graph = TypeGraph(View(data, "x"))
    records, retained = graph.records(), graph.retained()
    assert retained is not None
    chooser = random.Random(seed)
    for id in chooser.sample(range(1, btf.end_id), min(60, len(btf))):
        gone = set(range(1, btf.end_id)) - needed(btf, id)
        assert retained[id - 1] == sum(records[each - 1] for each in gone), id


def test_too_much_to_follow(run: Run, tmp_path: Path) -> None:
    """Two long chains end in structs with the same members. From each member, both are climbed to where they meet."""
    chain, members = 20_000, 30_000
    types: list[Type] = [Const(2 + at) for at in range(chain - 1)]
    end = 2 * chain + 1
    types += [Const(end), *(Const(chain + 2 + at) for at in range(chain - 1)), Const(end + 1)]
    types += [Struct(name, 8, tuple(Member("", end + 2 + at, 0) for at in range(members))) for name in "ab"]
    types += [Ptr(0)] * members
    path = tmp_path / "x.btf"
    path.write_bytes(written(*types))
    assert "not known, as there are too many ways to follow" in run("size", path)
    assert json.loads(run("size", "--json", path))["gone without the type"] is None


def test_prefixes_and_types(run: Run) -> None:
    assert run("size", "--by", "type", "--count", "3", SAMPLE).count("\n") == 4
    every = run("size", "--by", "type", "--count", "all", SAMPLE)
    assert every == run("size", "--by", "type", "--count", "9999999", SAMPLE)
    assert every.count("\n") > 100
    rows = json.loads(run("size", "--by", "prefix", "--count", "100000", "--json", SAMPLE))["prefixes of names"]
    whole = json.loads(run("size", "--by", "kind", "--json", SAMPLE))["types"]
    assert sum(row["bytes"] for row in rows) == sum(row["bytes"] for row in whole)


def test_growth(run: Run, tmp_path: Path) -> None:
    old, new = tmp_path / "old.btf", tmp_path / "new.btf"
    old.write_bytes(written(INTEGER))
    new.write_bytes(written(INTEGER, Struct("grown", 4, (Member("int", 1, 0),))))
    tables = json.loads(run("size", "--json", "--against", old, new))
    assert tables["types"] == [{"name": "STRUCT", "bytes": 24, "number": 1}]
    assert "          +24         +1  STRUCT\n" in run("size", "--against", old, new)
    assert json.loads(run("size", "--json", "--against", new, new))["all"] == []


def record(type: Type) -> int:
    """The size of its record, by the format of BTF."""
    match type:
        case Struct() | Union():
            return 12 + 12 * len(type.members)
        case Enum() | Enum64():
            return 12 + len(type.values) * (8 if isinstance(type, Enum) else 12)
        case FuncProto():
            return 12 + 8 * len(type.params)
        case Datasec():
            return 12 + 12 * len(type.variables)
        case Array():
            return 24
        case Int() | Var() | DeclTag():
            return 16
    return 12


def sums(path: Path, key: Callable[[Type], str]) -> Counter[tuple[str, str]]:
    """Bytes and numbers of the types, by a name for each."""
    found: Counter[tuple[str, str]] = Counter()
    for type in BTF.from_file(path):
        found[key(type), "bytes"] += record(type)
        found[key(type), "number"] += 1
    return found


KEYS: dict[str, Callable[[Type], str]] = {
    "largest records": lambda type: f"{type.kind.name} {type.name or '(no name)'}",
    "records": lambda type: f"{type.kind.name} {type.name or '(no name)'}",
    "prefixes of names": lambda type: re.match("_*[^_]*", type.name)[0] or "(no name)",  # type: ignore[index]
    "types": lambda type: type.kind.name,
}


@pytest.mark.parametrize("count", [1, 3, 10, 100_000])
@pytest.mark.parametrize(
    ("options", "title"),
    [
        ([], "largest records"), (["--by", "type"], "records"), (["--by", "prefix"], "prefixes of names"),
        (["--by", "kind"], "types"), ([], "types"),
    ],
)  # fmt: skip
def test_growth_is_that_of_whole_files(options: list[str], title: str, count: int, run: Run) -> None:
    rows = json.loads(run("size", "--json", "--count", count, "--against", OTHER, *options, SAMPLE))[title]
    new, old = sums(SAMPLE, KEYS[title]), sums(OTHER, KEYS[title])
    names = {name for name, _ in new | old}
    both = [
        (name, new[name, "bytes"] - old[name, "bytes"], new[name, "number"] - old[name, "number"]) for name in names
    ]
    truth = sorted((row for row in both if any(row[1:])), key=lambda row: (-abs(row[1]), row[0]))
    assert len(truth) > 3
    assert [tuple(row.values()) for row in rows] == (truth if title == "types" else truth[:count])


def test_growth_of_what_is_gone_without_a_type_has_no_ids(run: Run) -> None:
    rows = json.loads(run("size", "--json", "--count", 100_000, "--against", OTHER, SAMPLE))["gone without the type"]
    assert rows
    names = {f"{type.kind.name} {type.name}" for path in (SAMPLE, OTHER) for type in BTF.from_file(path) if type.name}
    assert {row["name"] for row in rows} <= names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["size"], "missing argument 'FILE'"),
        (["size", "--by", "units", SAMPLE], "units"),
        (["size", "--count", "-", SAMPLE], "--count expects a number"),
        (["size", "--html", "x", "--svg", "./x", SAMPLE], "--html and --svg need two names"),
        (["size", "--count", "-1", SAMPLE], "--count expects a number of at least 0, not '-1'"),
        (["size", "--count", "10000000", SAMPLE], "--count expects a number of at most 9,999,999"),
        (["duplicates"], "missing argument 'FILE'"),
        (["duplicates", SAMPLE, SAMPLE], "one FILE at a time"),
    ],
)
def test_usage(arguments: list[object], message: str, run: Run) -> None:
    assert message in run(*arguments, status=2)


# duplicates


def differs(*types: Type) -> str:
    """Where the first struct `s` differs from the second."""
    btf = BTF.from_bytes(written(INTEGER, *types))
    first, second = (type.id for type in btf.all_by_name("s"))
    return first_difference(btf, first, second)


def two(a: int, b: int, size: int = 8) -> tuple[Type, Type]:
    return Struct("s", size, (Member("m", a, 0),)), Struct("s", size, (Member("m", b, 0),))


def test_differences() -> None:
    one = Struct("s", 8, (Member("a", 1, 0), Member("b", 1, 32)))
    assert differs(one, Struct("s", 8, (Member("a", 1, 0), Member("c", 1, 32)))) == "member 1 is b against c"
    assert differs(one, Struct("s", 8, (Member("a", 1, 0), Member("b", 1, 40)))) == ".b: at 4 against at 5"
    assert differs(one, Struct("s", 12, one.members)) == "8 bytes against 12 bytes"
    assert differs(one, Struct("s", 8, one.members[:1])) == "2 members against 1; one has b"
    assert differs(Array(1, 1, 2), Array(1, 1, 3), *two(2, 3)) == ".m: 2 elements against 3"
    assert differs(Ptr(1), Int("long", 8, 64), Ptr(3), *two(2, 4)) == ".m->: int int against int long"
    assert differs(Const(1), Const(1), *two(2, 3)) == "nothing that can be seen"
    assert differs(Ptr(4), Ptr(5), *two(2, 3)) == "nothing that can be seen"


def test_nearer_differences_come_first() -> None:
    near, far = Int("long", 8, 64), Struct("inner", 4, (Member("x", 1, 0),))
    other = Struct("inner", 4, (Member("y", 1, 0),))
    a = Struct("s", 16, (Member("p", 3, 0), Member("q", 1, 64)))
    b = Struct("s", 16, (Member("p", 4, 0), Member("q", 2, 64)))
    assert differs(near, far, other, a, b) == ".p: member 0 is x against y"


def test_duplicates_of_a_kernel_like_file(run: Run) -> None:
    btf = BTF.from_file(SAMPLE)
    found = {(each.kind, each.name): each.ids for each in duplicates(btf)}
    assert found
    for (kind, name), ids in found.items():
        assert ids == [type.id for type in btf.all_by_name(name, kind)]
    rows = json.loads(run("duplicates", "--json", SAMPLE))
    assert {row["name"] for row in rows} == {name for _, name in found}
    for row in rows:
        for id, count in zip(row["ids"], row["dependents"], strict=True):
            assert count == len(users(btf, id))
    assert run("duplicates", "--fail", SAMPLE, status=1) == run("duplicates", SAMPLE)


def users(btf: BTF, id: int) -> set[int]:
    found: set[int] = set()
    todo = {id}
    while todo:
        todo = {each for each in range(1, btf.end_id) if todo & set(btf.references(each))} - found
        found |= todo
    return found - {id}


def test_no_duplicates(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(written(INTEGER, Struct("s", 4, ()), Typedef("s", 2)))
    assert run("duplicates", "--fail", path) == ""


def test_a_file_made_to_be_slow_ends(run: Run, tmp_path: Path) -> None:
    """Many structs of one name, each needed by all that follow."""
    types: list[Type] = []
    last = 1
    for id in range(2, 40_000, 2):
        types += [Ptr(last), Struct("s", 8, (Member("m", id, 0),))]
        last = id + 1
    path = tmp_path / "x.btf"
    path.write_bytes(written(INTEGER, *types))
    lines = run("duplicates", path).splitlines()
    assert len(lines) == 19_999
    assert lines[0] == "STRUCT s: 3 (39,996 types need it)"
    assert lines[1] == "  5 (39,994 types need it): s.m->: int int against struct s"
    assert lines[-1] == f"  {last} (types that need it were not counted): s.m->: int int against struct s"


@pytest.mark.parametrize("arguments", [["--by", "unit"], ["--by", "folder"], ["--dwarf", "x"]])
def test_what_needs_to_know_where_types_are_from(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["size", *arguments, "x.btf"]) == 2
    said = "--by unit and --by folder need --provenance or --dwarf, which can only be used with them"
    assert capfd.readouterr().err == f"pybtf: error: {said}\n"


def test_one_is_no_plural(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    members = [(Member("m", 2, 0),), (Member("m", 3, 0),)]
    arrays = [Array(1, 1, nelems) for nelems in (1, 2)]
    path.write_bytes(written(INTEGER, *arrays, Struct("s", 8, members[0]), Struct("s", 8, members[1]), Ptr(4)))
    assert run("duplicates", path).splitlines() == [
        "STRUCT s: 4 (1 type needs it)",
        "  5 (0 types need it): s.m: 1 element against 2",
    ]


def test_differences_are_looked_for_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybtf.btf.duplicates.MAX_LOOKED", 3)
    types = [Ptr(1), Ptr(2), Ptr(3), Int("long", 8, 64), Ptr(5), Ptr(6), Ptr(7), *two(4, 8)]
    assert differs(*types) == "not looked for any further"
    monkeypatch.setattr("pybtf.btf.duplicates.MAX_LOOKED", 100)
    assert differs(*types) == ".m->->->: int int against int long"
    monkeypatch.setattr("pybtf.btf.duplicates.MAX_STEPS", 1)
    assert differs(*types) == "...->->: int int against int long"


class CountingMembers(BTF):
    """Counts the members of all structs that are made."""

    made = 0

    def type(self, id: int) -> Type:
        found = super().type(id)
        CountingMembers.made += len(getattr(found, "members", ()))
        return found


def test_members_of_either_definition_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison may end at once because the kinds differ, but if one type has many members, these are made."""
    monkeypatch.setattr("pybtf.btf.duplicates.MAX_ALL_LOOKED", 1000)
    monkeypatch.setattr(CountingMembers, "made", 0)
    types: list[Type] = [Int("int", 4, 32), Struct("many", 4, (Member("", 1, 0),) * 300)]
    for number in range(50):
        types += [Struct(f"d{number}", 4, (Member("p", each, 0),)) for each in (1, 2)]
    builder = BtfBuilder()
    builder.extend(types)
    found = duplicates(CountingMembers.from_bytes(builder.tobytes()))
    assert [each.differences for each in found] == [[".p: int int against struct many"]] * 4 + [
        ["not looked for any further"]
    ] * 46
    assert CountingMembers.made < 2000
