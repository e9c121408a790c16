"""`pybtf show --contains` and `--find-pointers-to`: who uses a struct."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf.kinds import IntEncoding
from pybtf.btf.types import Array, Fwd, Int, Member, Ptr, Struct, Type, Typedef, Union
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_types import Shower

Run = Callable[..., str]


def built(tmp_path: Path, *types: Type) -> Path:
    builder = BtfBuilder()
    builder.extend(types)
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    return path


NUMBER = Int("int", 4, 32, IntEncoding.SIGNED)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return built(
        tmp_path, NUMBER,
        Struct("s", 4, (Member("x", 1, 0),)), Ptr(2), Typedef("s_t", 2),
        Struct("", 4, (Member("counter", 1, 0),)), Typedef("counter_t", 5),
        Array(2, 1, 3), Array(3, 1, 2),
        Union("", 8, (Member("p", 3, 0), Member("v", 2, 0))),
        Struct("", 16, (Member("", 9, 0), Member("t", 4, 64))),
        Struct("direct", 4, (Member("m", 4, 0),)),
        Struct("many", 32, (Member("heads", 7, 0), Member("tails", 8, 128))),
        Struct("nested", 32, (Member("", 10, 0), Member("sub", 10, 128))),
        Struct("atom", 4, (Member("a", 6, 0),)),
        Fwd("s"), Ptr(15), Struct("far", 8, (Member("q", 16, 0),)),
        Ptr(6), Struct("refs", 8, (Member("r", 18, 0),)),
        Struct("outside", 4, (Member("i", 1, 0),)),
        Union("u", 8, (Member("refs", 19, 0),)),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["s", "struct s", "s_t", "typedef s_t"])
def test_users_of_a_struct(name: str, path: Path, run: Run) -> None:
    """Through typedefs, in arrays, and in members without a name or of a type without one."""
    assert run(main, "show", "--contains", name, path) == "direct\nmany\nnested\n"
    found = run(main, "show", "--find-pointers-to", name, path)
    assert found == "many: tails\nnested: p\nnested: sub.p\nfar: q\n"


def test_users_of_what_only_a_typedef_names(path: Path, run: Run) -> None:
    assert run(main, "show", "--contains", "counter_t", path) == "atom\n"
    assert run(main, "show", "--find-pointers-to", "counter_t", path) == "refs: r\n"


def test_users_as_json(path: Path, run: Run) -> None:
    found = json.loads(run(main, "show", "--json", "--contains", "s", path))
    assert found == [
        {"id": 11, "name": "direct", "kind": "struct", "members": ["m"]},
        {"id": 12, "name": "many", "kind": "struct", "members": ["heads"]},
        {"id": 13, "name": "nested", "kind": "struct", "members": ["v", "t", "sub.v", "sub.t"]},
    ]
    found = json.loads(run(main, "show", "--json", "--find-pointers-to", "s", path))
    assert [(each["name"], each["members"]) for each in found] == [
        ("many", ["tails"]), ("nested", ["p", "sub.p"]), ("far", ["q"]),
    ]  # fmt: skip
    assert run(main, "show", "--json", "--contains", "outside", path) == "[]\n"


def test_names_of_other_things(path: Path, refused: Run) -> None:
    for option in ("--contains", "--find-pointers-to"):
        assert "no type is called 'union atom'; expected" in refused(main, "show", option, "union atom", path)
        assert "no type is called 'enum s'; expected" in refused(main, "show", option, "enum s", path)
        assert "'int' is neither a struct nor a union" in refused(main, "show", option, "int", path)
        assert refused(main, "show", option, "struct atm", path).endswith(" Nearest: atom\n")
        assert refused(main, "show", option, "countr_t", path).endswith("union. Nearest: counter_t\n")


def test_a_struct_without_a_name_in_itself(tmp_path: Path, refused: Run) -> None:
    wanted, cycle = Struct("s", 4, (Member("x", 1, 0),)), Struct("", 4, (Member("", 3, 0),))
    path = built(tmp_path, NUMBER, wanted, cycle, Struct("outer", 4, (Member("", 3, 0),)))
    for option in ("--contains", "--find-pointers-to"):
        assert "type 3 contains itself" in refused(main, "show", option, "s", path)


@pytest.mark.parametrize(("levels", "message"), [(200, "takes too many steps"), (300, "nests too deeply")])
def test_structs_without_names_that_share_what_is_in_them(
    levels: int, message: str, tmp_path: Path, refused: Run, run: Run
) -> None:
    """Each has the next one twice. Where nothing is found, each is looked into once."""
    shared = [Struct("", 4, (Member("", id + 1, 0), Member("", id + 1, 0))) for id in range(4, 4 + levels)]
    last = Struct("last", 4, (Member("m", 2, 0),))
    types = NUMBER, Struct("s", 4, (Member("x", 1, 0),)), Struct("outer", 4, (Member("", 4, 0),)), *shared
    path = built(tmp_path, *types, Struct("", 4, (Member("m", 2, 0),)), last)
    assert message in refused(main, "show", "--contains", "s", path)
    if levels == 200:
        assert run(main, "show", "--find-pointers-to", "s", path) == ""


def test_a_long_name_that_many_share(tmp_path: Path, refused: Run) -> None:
    """Each user would have 100 kB of its own."""
    long = Struct("", 4, (Member("m" * 100_000, 2, 0),))
    users = [Struct(f"u{number}", 4, (Member("", 3, 0),)) for number in range(2000)]
    path = built(tmp_path, NUMBER, Struct("s", 4, (Member("x", 1, 0),)), long, *users)
    assert "takes too many steps" in refused(main, "show", "--contains", "s", path)


def test_ids_that_are_not_there(path: Path) -> None:
    shower = Shower(View(path.read_bytes(), "x"))
    for id in (0, 22):
        with pytest.raises(IndexError):
            shower.users([id], False)
