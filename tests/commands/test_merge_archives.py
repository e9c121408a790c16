"""`pybtf object` and `pybtf merge` of archives and lists: members, thin and damaged archives, and some that change."""

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
from pybtf.merging.archives import members, replaced
from pybtf.merging.encoding import DONE, NOTHING, encode_any
from pybtf.merging.index import find_index
from pybtf.merging.payloads import Payloads, images
from pybtf.merging.placing import Placing
from tests.builders.elfwriter import Section, elf
from tests.commands.test_merge import FEATURES
from tests.conftest import RunCli


def archive(path: Path, objects: Sequence[Path], thin: bool = False) -> None:
    """An archive as ar writes it, with a table of two symbols of the first and the last member."""
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


@pytest.mark.parametrize("renamed", [False, True])
def test_an_archive_that_somebody_else_makes_anew(
    renamed: bool, built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While values are made for its members: the new one is not replaced by one with the old members."""
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
    with pytest.raises(PybtfError, match=r"x\.a: was changed by another process"):
        encode_any("x.a", Features.parse(FEATURES), Placing())
    assert Path("x.a").read_bytes() == wanted


def test_a_thin_archive_names_no_archives(tmp_path: Path) -> None:
    """One that names itself would have no end."""
    path, object_ = tmp_path / "x.a", tmp_path / "x.o"
    path.write_bytes(b"!<thin>\n" + head("x.a/", 68))
    object_.write_bytes(b"")
    data = path.read_bytes()
    with pytest.raises(InputError, match=r"x\.a: an archive, as a member of a thin archive"):
        encode_any(str(path), Features.parse(FEATURES), Placing())
    with pytest.raises(InputError, match=r"x\.a: an archive, as a member of a thin archive"):
        Payloads().take([str(path)])
    assert path.read_bytes() == data


def test_a_file_is_a_member_of_a_thin_archive_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive names the same object in each sixty bytes, under any number of names."""
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
    """It is read once: what was looked at to see whether it is an object is part of it."""
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
