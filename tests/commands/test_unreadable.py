"""Files that cannot be read: opening them fails with status 1, all commands say so in the same words, and the other
files of a batch are processed.

Root may read everything, so root runs these commands without the capabilities that allow it.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.unreadable import _PIPED as PIPED
from pybtf.unreadable import unreadable
from tests.conftest import ROOT
from tests.conftest import run_unprivileged as run

NULLS = "a\0" * 128
TOO_LONG = OSError(errno.ENAMETOOLONG, "File name too long")
ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("good", "bad", "other"):
        shutil.copyfile(ELF, name)
    assert run("encode", "-q", "--detached", "ok.btf", "good").returncode == 0
    Path("bad.btf").write_bytes(Path("ok.btf").read_bytes())
    Path("list").write_text("good\n")
    for name in ("bad", "bad.btf", "list"):
        Path(name).chmod(0)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "line",
    [
        "encode -q --detached x bad", "encode -q --detached x -- bad", "encode -q --from-list list --detached-dir x",
        "encode -q --base bad.btf --detached x good", "dump bad.btf", "dump --base bad.btf ok.btf", "show bad.btf",
        "size --against bad.btf ok.btf", "diff bad.btf ok.btf", "verify bad.btf", "decode --btf ok.btf char bad",
        "why x bad", "object bad", "merge --detached x --objects list good", "dedup -o x bad.btf", "reproduce bad",
        "reproduce --lock list", "reproduce --against bad.btf good", "reproduce --base bad.btf good",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_no_mistake_of_usage(line: str) -> None:
    done = run(*line.split())
    error, *more = done.stderr.splitlines()
    assert done.returncode == 1
    assert error.startswith(tuple(f"pybtf: error: {name}: " for name in ("bad", "bad.btf", "list")))
    assert ": no permission to read it" in error
    assert not more or line.startswith("object")  # this one says how many failed
    assert not Path("x").exists()


@pytest.mark.usefixtures("folder")
def test_the_other_files_of_a_batch_go_on() -> None:
    done = run("encode", "-q", "--detached-dir", "out", "good", "bad", "other")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert sorted(os.listdir("out")) == ["good.btf", "other.btf"]  # noqa: PTH208
    assert run("verify", "-q", "ok.btf", "bad.btf").returncode == 1


@pytest.mark.usefixtures("folder")
def test_what_is_replaced_need_not_be_readable() -> None:
    Path("out").touch()
    Path("out").chmod(0o200)
    for line in (["out", "good"], ["out", "--", "good"]):  # without click, and with it
        assert run("encode", "-q", "--detached", *line).returncode == 0
    assert run("reproduce", "-q", "--rounds", "0", "--write-lock", "out", "good").returncode == 0


READERS = [
    "encode --detached out X", "encode --base X --detached out good", "encode --dwp X --detached out good",
    "encode --from-list X --detached-dir out", "dump X", "dump --base X ok.btf", "show ./X", "size --against X ok.btf",
    "duplicates X", "why ./X", "object X", "merge --detached out X", "merge --detached out --objects X good",
    "min-core X good -o out", "min-core ok.btf X -o out", "dedup X -o out", "decode --btf ok.btf char X",
    "decode --btf X char good", "verify X", "verify --base X ok.btf", "verify --btf-ids X", "verify --fix out X",
    "diff X ok.btf", "diff --ignore X ok.btf ok.btf", "diff --object X ok.btf ok.btf", "reproduce X",
    "diff --old-provenance X ok.btf ok.btf", "reproduce --lock X", "reproduce --against X good",
    "reproduce --base X good",
]  # fmt: skip


def said(line: str, name: str, capfd: pytest.CaptureFixture[str]) -> str:
    """The one message of a command about a file, which replaces `X` in the line."""
    assert main([name if word == "X" else word.replace("/X", f"/{name}") for word in line.split()]) == 1
    first, *more = capfd.readouterr().err.splitlines()
    assert not more or line.startswith("object")
    return first.removeprefix("pybtf: error: ").removeprefix("./")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", READERS)
def test_all_commands_use_the_same_words(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("gone").symlink_to("nowhere")
    Path("loop").symlink_to("loop")
    Path("place").mkdir()
    assert said(line, "missing", capfd) == "missing: no such file"
    assert said(line, "goood", capfd).replace("./", "") == "goood: no such file. Did you mean good?"
    assert said(line, "good/x", capfd) == "good/x: no such file: a part of this path is not a folder"
    assert said(line, "gone", capfd) == "gone: is a symbolic link to a file that does not exist"
    assert said(line, "loop", capfd).startswith("loop: cannot be read: Too many levels of symbolic links; expected ")
    if not line.startswith(("encode --detached", "verify X", "verify --btf-ids", "diff X")):  # these take folders
        assert "place: is a folder; expected " in said(line, "place", capfd)


CUT = "cut: offset 0x8: type section at 0x18, 16 bytes long; expected an end within the 30 bytes of the BTF."


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "line",
    [
        "encode --base X --detached out good", "dump X", "dump --base X ok.btf", "show ./X", "size X", "duplicates X",
        "min-core X prog.o -o out", "dedup X -o out", "dedup --base X -o out ok.btf", "decode --btf X char good",
        "verify --fix out X", "diff X ok.btf", "reproduce --against X good", "reproduce --base X good",
    ],
)  # fmt: skip
def test_so_it_is_with_btf_that_is_cut_off(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(ROOT / "fixtures" / "bpf" / "core" / "01_fields.o", "prog.o")
    Path("cut").write_bytes(Path("ok.btf").read_bytes()[:30])
    assert said(line, "cut", capfd) == f"{CUT} The BTF is truncated or damaged."
    Path("cut").write_bytes(Path("ok.btf").read_bytes()[:10])
    words = "cut: offset 0x0: only 10 bytes; expected a BTF header of at least 24. The BTF is truncated or damaged."
    assert said(line, "cut", capfd) == words


def test_a_report_below_a_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["encode", "--report", "good/x", "--detached", "out", "good"]) == 1
    assert "error: good/x: cannot be written: part of this path is not a folder. " in capfd.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.usefixtures("folder")
def test_a_store_that_is_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "--store", "good", "--detached", "out", "good"]) == 1
    assert capfd.readouterr().err.startswith("pybtf: error: good: is not a folder; expected what pybtf object --store")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", ["encode --features X good", "encode --lang X good", "diff --only X ok.btf ok.btf"])
def test_values_that_are_not_utf_8(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([word.replace("X", "a\udcff") for word in line.split()]) == 2
    assert r"'a\xff'" in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_pipe_cannot_take_the_place_of_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, ELF.read_bytes()[:1024])
    os.close(write_end)
    try:
        assert main(["encode", f"/dev/fd/{read_end}"]) == 1
    finally:
        os.close(read_end)
    assert ": is not a regular file; expected " in (err := capfd.readouterr().err)
    assert err.endswith(". A pipe can be read only once: write it to a file, which may be compressed.\n")


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("a\0b", ValueError("embedded null byte"), "a\0b: cannot be opened: a null byte in its name"),
        ("a\0" * 999, ValueError(), f"{NULLS}...{NULLS}: cannot be opened: a null byte in its name"),
        ("a" * 999, TOO_LONG, f"{'a' * 256}...{'a' * 256}: cannot be opened: its name is too long"),
        ("vmlinus", FileNotFoundError(), "vmlinus: no such file. Did you mean vmlinux?"),
        ("-", FileNotFoundError(), f"-: no such file. {PIPED}"),
        ("link", FileNotFoundError(), "link: is a symbolic link to a file that does not exist"),
        ("x", PermissionError(errno.EACCES, "denied"), "x: no permission to read it"),
        ("x", IsADirectoryError(errno.EISDIR, "folder"), "x: is a folder; expected BTF"),
        ("x", NotADirectoryError(), "x: no such file: a part of this path is not a folder"),
        ("x", OSError(errno.EIO, "I/O error"), "x: cannot be read: I/O error; expected BTF"),
        ("x", OSError(errno.EBADF, "Bad file descriptor"), "x: cannot be read: it is closed; expected BTF"),
        ("x", OSError("mmap failed"), "x: cannot be read: mmap failed; expected BTF"),
        ("x", ValueError("what else"), "x: cannot be read: what else; expected BTF"),
    ],
)
def test_why_a_file_cannot_be_read(
    name: str, error: OSError | ValueError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("vmlinux").touch()
    Path("link").symlink_to("nowhere")
    assert str(unreadable(name, error, "BTF")) == said
