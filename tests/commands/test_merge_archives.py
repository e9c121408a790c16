"""`pybtf object` and `pybtf merge` of archives and lists: members, thin and damaged archives, changing ones."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError, PybtfError
from pybtf.features import Features
from pybtf.merging.archives import LONGEST, REGULAR, members, replaced
from pybtf.merging.encoding import DONE, NOTHING, encode_any
from pybtf.merging.index import find_index
from pybtf.merging.payloads import Payloads, images
from pybtf.merging.placing import Placing
from tests.builders.elfwriter import Section, elf
from tests.commands.test_merge import FEATURES
from tests.conftest import RunCli


def archive(path: Path, objects: Sequence[Path], thin: bool = False) -> None:
    """An archive as ar writes it, with a table of two symbols, of the first and the last member."""
    names = b"".join(each.name.encode() + b"/\n" for each in objects)
    places, body = [], bytearray()
    start = 8 + 60 + 4 * 3 + 4 + 60 + len(names) + len(names) % 2
    at = 0
    for each in objects:
        places.append(start + len(body))
        content = b"" if thin else each.read_bytes()
        body += head(f"/{at}", each.stat().st_size) + content + b"\n" * (len(content) % 2)
        at += len(each.name) + 2
    table = struct.pack(">III", 2, places[0], places[-1]) + b"x\0y\0"
    data = (b"!<thin>\n" if thin else b"!<arch>\n") + head("/", len(table)) + table
    data += head("//", len(names)) + names + b"\n" * (len(names) % 2)
    assert len(data) == start
    path.write_bytes(data + body)


def head(name: str, size: int) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}`\n".encode()


def test_a_list_and_an_archive_name_objects(built: Callable[[str], Path]) -> None:
    folder = built("aarch64")
    (folder / "elsewhere").mkdir()
    for each in ("sa.o", "sb.o"):
        (folder / each).rename(folder / "elsewhere" / each)
    Path("objects").write_text("elsewhere/sa.o\nelsewhere/sb.o\n")
    archive(Path("all.a"), [folder / "elsewhere" / each for each in ("sa.o", "sb.o")])
    wanted = (folder / "wanted.btf").read_bytes()
    for where in ("objects", "all.a"):
        assert main(["merge", "-q", "--features", FEATURES, "--objects", where, "--detached", "out", "merged"]) == 0
        assert Path("out").read_bytes() == wanted


@pytest.mark.parametrize("thin", [False, True])
def test_members_of_an_archive_get_values(built: Callable[[str], Path], thin: bool) -> None:
    folder = built("x86")
    archive(Path("x.a"), [folder / "a.o", folder / "b.o"], thin)
    outcomes = encode_any("x.a", Features.parse(FEATURES), Placing())
    assert [outcome.what for outcome in outcomes] == [DONE, DONE]
    data = Path("x.a").read_bytes()
    there = members("x.a", data)
    objects = [member for member in there if not member.table]
    table = next(member for member in there if member.name == "/")
    assert struct.unpack_from(">III", data, table.start)[1:] == (objects[0].head, objects[1].head)
    for member in objects:
        content = Path(member.path).read_bytes() if member.path else data[member.start : member.start + member.size]
        assert find_index(ElfImage(member.name, content)) is not None


def test_damaged_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    for data in (
        b"!<arch>\n" + b"x" * 60,
        b"!<arch>\n" + head("/", 10),
        b"!<arch>\n" + head("/7", 0),
        b"!<arch>\n" + head("a/", 99999) + b"x",
        b"!<arch>\n" + head("/", 4) + b"\xff\xff\xff\xff" + head("a/", 0),
    ):
        path.write_bytes(data)
        with pytest.raises(PybtfError, match=r"x\.a"):
            encode_any(str(path), Features.parse(FEATURES), Placing())
        assert path.read_bytes() == data


def test_names_and_damage_of_members() -> None:
    """Long names are in a table; the last table counts. `/0` is the first name in it."""
    long = "n" * LONGEST
    table = head("//", len(long) + 2) + long.encode() + b"/\n"
    there = members("x.a", REGULAR + table + head("/0", 1) + b"a\n" + head("//", 4) + b"ab/\n" + head("/0", 0))
    assert [(each.name, each.size, each.table) for each in there] == [
        ("//", LONGEST + 2, True), (long, 1, False), ("//", 4, True), ("ab", 0, False)
    ]  # fmt: skip
    names = head("//", 8) + b"a/\nbc/\nx"
    assert [each.name for each in members("x.a", REGULAR + names + head("/3", 0) + head("x7", 0))] == ["//", "bc", "x7"]
    for body, found in (
        (head("a/", 0)[:59], "no head of a member"),
        (head("a/", 0)[:-2] + b"\n`", "no head of a member"),
        (head("a/", 0).replace(b"0         `", b"x         `"), "no head of a member"),
        (head("//", 3) + b"ab/\n" + head("/0", 0), "a name that is not there"),
        (names + head("/4", 0), "a name that is not there"),
        (names + head("/7", 0), "a name that is not there"),
        (names + head("/:0", 0), "a name that is not there"),
        (head("//", len(long) + 3) + b"n" + long.encode() + b"/\n\n" + head("/0", 0), f"a name of {LONGEST + 1} bytes"),
    ):
        with pytest.raises(InputError, match=found):
            members("x.a", REGULAR + body)


@pytest.mark.parametrize(("name", "width"), [("/", 4), ("/SYM64/", 8)])
def test_places_of_symbols_follow_their_members(name: str, width: int) -> None:
    def built(contents: Sequence[bytes], symbols: Sequence[int], count: int) -> bytes:
        table = b"".join(each.to_bytes(width, "big") for each in (count, *symbols)) + b"x\0y\0"
        bodies = [head("a/", len(each)) + each + b"\n" * (len(each) % 2) for each in contents]
        return REGULAR + head(name, len(table)) + table + b"".join(bodies)

    first = 8 + 60 + 3 * width + 4
    data = built((b"one", b"two"), (first, first + 64), 2)
    there = members("x.a", data)
    longer = built((b"longer", b"two"), (first, first + 66), 2)
    assert replaced("x.a", data, there, {first: b"longer"}) == longer
    assert replaced("x.a", longer, members("x.a", longer), {first: b"one"}) == data
    with pytest.raises(InputError, match="a symbol of a member at 0x1"):
        replaced("x.a", built((b"one", b"two"), (first, 1), 2), there, {})
    with pytest.raises(InputError, match="a table of 4 symbols"):
        replaced("x.a", built((b"one", b"two"), (first, first), 4), there, {})


@pytest.mark.parametrize("renamed", [False, True])
def test_an_archive_that_somebody_else_makes_anew(
    renamed: bool, built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens while values are made for its members. The new archive stays, with its new members."""
    folder = built("x86")
    archive(Path("x.a"), [folder / "a.o"])
    archive(Path("y.a"), [folder / "b.o"])
    wanted = Path("y.a").read_bytes()

    def replaced_meanwhile(*arguments: Any) -> bytes:
        made = replaced(*arguments)
        if renamed:
            Path("y.a").rename("x.a")
        else:
            Path("x.a").write_bytes(wanted)
        return made

    monkeypatch.setattr("pybtf.merging.encoding.replaced", replaced_meanwhile)
    with pytest.raises(PybtfError, match=r"x\.a: has changed since it was read"):
        encode_any("x.a", Features.parse(FEATURES), Placing())
    assert Path("x.a").read_bytes() == wanted


def test_a_thin_archive_names_no_thin_archives(tmp_path: Path) -> None:
    """One that names itself would be endless."""
    path, object_ = tmp_path / "x.a", tmp_path / "x.o"
    path.write_bytes(b"!<thin>\n" + head("x.a/", 68))
    object_.write_bytes(b"")
    data = path.read_bytes()
    with pytest.raises(InputError, match=r"x\.a: a thin archive, as a member of a thin archive"):
        encode_any(str(path), Features.parse(FEATURES), Placing())
    with pytest.raises(InputError, match=r"x\.a: a thin archive, as a member of a thin archive"):
        Payloads().take([str(path)])
    assert path.read_bytes() == data


def test_a_thin_archive_of_members_of_another(built: Callable[[str], Path]) -> None:
    """Offsets of members follow their names there, so the other archive must stay as it is."""
    folder = built("x86")
    Path("d").mkdir()
    archive(Path("d/y.a"), [folder / "sa.o"])
    names = b"d/y.a/\n../sb.o/\n"
    data = b"!<thin>\n" + head("//", len(names)) + names + head("/0:98", 9) + head("/7", 9)
    Path("x.a").write_bytes(data)
    Path("d/x.a").write_bytes(data.replace(b"d/y.a", b"./y.a"))
    assert [name for name, _ in images("d/x.a")] == ["d/./y.a(sa.o)", "d/../sb.o"]
    before = Path("d/y.a").read_bytes()
    with pytest.raises(InputError, match=r"d/y\.a: an archive with members that a thin archive names"):
        encode_any("x.a", Features.parse(FEATURES), Placing())
    assert Path("d/y.a").read_bytes() == before


def test_an_archive_of_bsd(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(REGULAR + head("#1/4", 8) + b"a.o\0body")
    with pytest.raises(InputError, match=r"offset 0x8: a member as in archives of BSD"):
        encode_any(str(path), Features.parse(FEATURES), Placing())


def test_a_file_is_a_member_of_a_thin_archive_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive can name the same object every sixty bytes, under any number of names."""
    monkeypatch.chdir(tmp_path)
    Path("x.o").write_bytes(elf([Section(".text", bytes(4))], type="ET_REL").data)
    Path("y.o").symlink_to("x.o")
    Path("z.o").write_bytes(Path("x.o").read_bytes())
    names = ("x.o", "./x.o", "y.o", "z.o", "x.o")
    Path("x.a").write_bytes(b"!<thin>\n" + b"".join(head(f"{each}/", 68) for each in names))
    outcomes = encode_any("x.a", Features.parse(FEATURES), Placing())
    assert [(each.path, each.what) for each in outcomes] == [("x.o", NOTHING), ("z.o", NOTHING)]
    assert [name for name, _ in images("x.a")] == ["x.o", "z.o"]
    Path("x.a").write_bytes(b"!<thin>\n" + head("x\0.o/", 68))
    with pytest.raises(InputError, match="null byte"):
        encode_any("x.a", Features.parse(FEATURES), Placing())


def test_a_list_may_come_from_a_pipe(built: Callable[[str], Path], run_cli: RunCli) -> None:
    """It is read once: the bytes that are read to see whether it is an object belong to it."""
    folder = built("x86")
    os.mkfifo("list")
    (folder / "elsewhere").mkdir()
    for each in ("sa.o", "sb.o"):
        (folder / each).rename(folder / "elsewhere" / each)
    writer = threading.Thread(target=lambda: Path("list").write_text("elsewhere/sa.o\nelsewhere/sb.o\n"))
    writer.start()
    done = run_cli("merge", "-q", "--features", FEATURES, "--objects", "list", "--detached", "out", "merged")
    assert (done.returncode, done.stderr) == (0, "")
    writer.join()
    assert Path("out").read_bytes() == (folder / "wanted.btf").read_bytes()
