"""Standard output whose reader is gone, or that cannot be written to: all commands that print behave alike."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.test_reproduce import ALL
from tests.conftest import ROOT, environment

ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
COMMANDS = [
    "pybtf --version", "pybtf --help", "pybtf encode --help", "pybtf dump x.btf", "pybtf dump --format raw x.btf",
    "pybtf --version x", "pybtf -h x", "pybtf dump x.btf --help", "pybtf reproduce x -h",
    "pybtf dump --format json x.btf", "pybtf show two.btf",
    "pybtf show --json x.btf", "pybtf show --sizes two.btf",
    "pybtf show --svg - one two.btf", "pybtf size --svg - x.btf", "pybtf size --html - x.btf",
    "pybtf size x.btf", "pybtf size --json x.btf", "pybtf duplicates two.btf", "pybtf duplicates --json x.btf",
    "pybtf why elf", "pybtf why --json elf", "pybtf decode --btf x.btf char elf",
    "pybtf decode --btf x.btf --json 1 elf",
    "pybtf verify x.btf", "pybtf verify --json x.btf", "pybtf diff x.btf two.btf", "pybtf diff --json x.btf two.btf",
    f"pybtf reproduce -j2 --skip {ALL!r} elf",
    f"pybtf reproduce -j2 --json --skip {ALL!r} elf", "pybtf completion bash",
    "pybtf.pahole --version", "pybtf.pahole --help", "pybtf.pahole --check", "pybtf.pahole -F btf -C one two.btf",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pybtf
    from pybtf.btf import Builder

    folder = tmp_path_factory.mktemp("stdout")
    (folder / "elf").write_bytes(ELF.read_bytes())
    (folder / "x.btf").write_bytes(bytes(pybtf.encode(ELF).data))
    two = Builder()
    for size in (4, 8):
        two.add_struct("one", size)
    (folder / "two.btf").write_bytes(bytes(two.to_bytes()))
    return folder


FULL = "standard output: cannot be written: the disk is full. Free some space."


def run(command: str, folder: Path, stdout: int) -> tuple[int, str]:
    words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", *words], stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment(), cwd=folder,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stderr


def without_reader(command: str, folder: Path) -> tuple[int, str]:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        return run(command, folder, write_end)
    finally:
        os.close(write_end)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_is_gone_has_seen_enough(command: str, folder: Path) -> None:
    """As with `head`."""
    assert without_reader(command, folder) == (0, "")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_an_error(command: str, folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        status, said = run(command, folder, full.fileno())
    program = "pybtf-pahole" if "pahole" in command else "pybtf"
    assert (status, said) == (1, f"{program}: error: {FULL}\n")


def test_what_is_found_out_stays_the_status(folder: Path) -> None:
    assert without_reader("pybtf duplicates --fail two.btf", folder) == (1, "")
    assert without_reader("pybtf diff --fail-on any x.btf two.btf", folder) == (1, "")


def test_what_never_ends_ends_with_its_reader(folder: Path) -> None:
    assert without_reader("pybtf decode --btf x.btf --count all char /dev/zero", folder) == (0, "")


def test_a_picture_is_written_beside_one_for_nobody(folder: Path) -> None:
    assert without_reader("pybtf size --html - --svg x.svg x.btf", folder) == (0, "")
    assert (folder / "x.svg").exists()


def test_a_lock_is_written_for_nobody(folder: Path) -> None:
    command = f"pybtf reproduce -j2 --skip {ALL!r} --write-lock lock elf"
    assert without_reader(command, folder) == (0, "")
    assert (folder / "lock").exists()


def test_what_the_encoding_does_not_have_is_escaped(folder: Path) -> None:
    """In a locale without UTF-8, for commands that print text and not bytes."""
    from pybtf.btf import Builder

    odd = Builder()
    odd.add_struct("\u00e4\u20ac", 4)
    (folder / "odd.btf").write_bytes(bytes(odd.to_bytes()))
    done = subprocess.run(
        [sys.executable, "-m", "pybtf", "size", "odd.btf"], capture_output=True, cwd=folder, check=False,
        env={**environment(), "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"STRUCT \xe4\\u20ac\n" in done.stdout


@pytest.mark.parametrize("command", ["dump -o", "dedup -o", "size --html", "show --svg"])
def test_the_file_that_standard_input_is_read_from_is_no_output(folder: Path, tmp_path: Path, command: str) -> None:
    name = ["one"] if command == "show --svg" else []
    for output in ("in", "link"):
        (tmp_path / "in").write_bytes((folder / "two.btf").read_bytes())
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").hardlink_to(tmp_path / "in")
        with open(tmp_path / "in", "rb") as stdin:
            words = [sys.executable, "-m", "pybtf", *command.split(), output, *name, "-"]
            done = subprocess.run(
                words, stdin=stdin, capture_output=True, cwd=tmp_path, env=environment(), check=False, timeout=60
            )
        assert done.returncode == 2
        assert b"is the input itself, which standard input is read from" in done.stderr
        assert (tmp_path / "in").read_bytes() == (folder / "two.btf").read_bytes()
