"""Invalid command lines of `pybtf show` and `pybtf-pahole -F btf`, and those that name no file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.cli.arguments import FLAG, PATH, TEXT, Option
from pybtf.cli.main import main
from pybtf.cli.show import APART, OPTIONS
from pybtf.pahole.main import main as pahole
from tests.conftest import ROOT
from tools.golden.minimal_btf import INT, Maker

FOLDER = ROOT / "fixtures" / "show" / "options"

Run = Callable[..., str]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bit-holes", "-1", "x"], "--bit-holes expects a number of at least 0, not '-1'"),
        (["--holes=-1", "x"], "--holes expects a number of at least 0, not '-1'"),
        (["--cacheline=-1", "x"], "--cacheline expects a number of at least 1, not '-1'"),
        (["--cacheline=0", "x"], "--cacheline expects a number of at least 1, not '0'"),
        (["--padding", "many", "x"], "--padding expects a number, not 'many'"),
        (["--padding", "4294967296", "x"], "--padding expects a number of at most 4,294,967,295"),
        (["-S", "a", "x"], "--steps goes with --reorganize"),
        (["-R", "--json", "a", "x"], "--reorganize and --json do not go together"),
        (["-E", "--sizes", "a", "x"], "--expand-types and --sizes do not go together"),
        (["-P", "--sizes", "a", "x"], "--sizes and --packable do not go together"),
    ],
)
def test_usage(arguments: list[str], message: str, refused: Run) -> None:
    assert message in refused(main, "show", *arguments, status=2)


@pytest.mark.parametrize(
    "other", [each for each in OPTIONS if each.name not in ("base", "json")], ids=lambda each: each.name
)
def test_users_of_a_struct_go_with_nothing_but_a_base_and_json(other: Option, refused: Run, tmp_path: Path) -> None:
    value = {FLAG: [], PATH: [str(tmp_path / "x")], TEXT: ["1"]}[other.kind]
    for option in ("--contains", "--find-pointers-to"):
        if option != f"--{other.name}":
            arguments = [option, "in", f"--{other.name}", *value, FOLDER / "order.btf"]
            assert " do not go together" in refused(main, "show", *arguments, status=2)
    assert [*tmp_path.iterdir()] == []


def test_what_excludes_each_other_is_in_one_table(refused: Run) -> None:
    kinds = {each.name: each.kind for each in OPTIONS}
    for options, others in APART:
        for option in options:
            for other in others:
                given = [f"--{name}" if kinds[name] == FLAG else f"--{name}=1" for name in (option, other)]
                assert f"--{option} and --{other} do not go together" in refused(main, "show", *given, "x", status=2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-J", "-C", "a", "x.o"], 64, "option -C of pahole has nothing to do with encoding BTF"),
        (["-F", "dwarf", "-C", "a", "x.o"], 64, "-F dwarf: types are printed from BTF only"),
        (["-F", "btf", "-C", "zz", FOLDER / "order.btf"], 1, "no type is called 'zz'"),
        (["-F", "btf", "-C", "a", "/nonexistent"], 1, "/nonexistent"),
        (["a", FOLDER / "order.btf"], 64, "a is not a file; -C names a type: -C a FILE"),
        (["file://l", FOLDER / "order.btf"], 64, "file://l is not a file; -C names a type: -C file://l FILE"),
        ([FOLDER / "order.btf", "nosuch", "y.btf"], 64, "nosuch is not a file"),
        (["./nosuch"], 1, "./nosuch: no such file"),
        (["-F", "dwarf", "nosuch"], 64, "neither -J nor"),
        (["-i", "a", "nosuch"], 1, "nosuch: no such file"),
        (["-F", "btf", "-I", "-C", "a", "x"], 64, "option -I of pahole is not supported: BTF does not say where"),
        (["-F", "btf", "-C", "a", "x", "y"], 64, "2 input files are given"),
        (["-F", "btf", "--compile", "x"], 64, "--compile of pahole is not supported: pybtf dump FILE prints"),
        (["-F", "btf", "--count=1", "x"], 64, "option --count of pahole has nothing to do with BTF, or is not"),
        (["-C", "a", ROOT / "pyproject.toml"], 1, "pyproject.toml"),
    ],
)
def test_pahole_usage(arguments: list[object], status: int, message: str, refused: Run) -> None:
    assert message in refused(pahole, *arguments, status=status)


def test_elf_files_need_the_format(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF")
    assert "add -F btf" in refused(pahole, "-C", "a", tmp_path / "x", status=64)


def test_elf_files_alone_say_what_is_missing(refused: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF")
    assert "pybtf-pahole -F btf [-C NAME] FILE" in refused(pahole, tmp_path / "x", status=64)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Path:
    """What counts as the BTF of the running kernel."""
    path = FOLDER / "order.btf"
    monkeypatch.setattr("pybtf.btf.files.RUNNING", str(path))
    return path


def test_without_a_file_types_are_those_of_the_running_kernel(running: Path, run: Run, refused: Run) -> None:
    """As with pahole, a lone word names types; raw BTF needs no -F."""
    everything = run(pahole, "-F", "btf", running)
    assert run(pahole, running) == run(pahole, "-F", "btf") == run(pahole, "-V", running) == everything
    assert run(pahole, "--sizes") == run(pahole, "-F", "btf", "--sizes", running)
    named = run(pahole, "-F", "btf", "-C", "a8,b1", running)
    assert named.startswith("struct a8 {")
    assert run(pahole, "a8,b1") == run(pahole, "-C", "a8,b1") == run(pahole, "-F", "btf", "a8,b1") == named
    assert run(pahole, "-q", "--hex", "a8") == run(pahole, "-F", "btf", "-q", "--hex", "-C", "a8", running)
    message = "order.btf: no type is called 'a8b', and no file; expected the name of a type"
    assert message in refused(pahole, "a8b", status=1)
    assert "neither -J nor" in refused(pahole, status=64)
    assert "no input file is given" in refused(pahole, "-J", status=64)


@pytest.mark.usefixtures("running")
def test_a_file_is_not_a_word(refused: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a8").write_bytes(b"text")
    assert refused(pahole, "a8", status=1).startswith("pybtf-pahole: error: a8: starts with")


def test_a_kernel_without_btf(refused: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybtf.btf.files.RUNNING", "/nonexistent")
    for arguments in (["a8"], ["-C", "a8"], ["-F", "btf"]):
        assert "no input file is given" in refused(pahole, *arguments, status=64)


def test_a_pipe_is_read_from_its_beginning(run: Run) -> None:
    """It is not opened beforehand to see whether it is ELF."""
    path = FOLDER / "order.btf"
    read, write = os.pipe()
    with open(read, "rb"), open(write, "wb") as stream:
        stream.write(path.read_bytes())
        stream.close()
        assert run(pahole, "-C", "a8", f"/dev/fd/{read}") == run(pahole, "-C", "a8", path)


@pytest.mark.parametrize("option", ["--contains", "--find_pointers_to"])
def test_a_name_that_is_not_there_is_no_error_for_pahole(
    option: str, run: Run, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(INT, "int", 4, 32).struct("a", 4, ("x", 1, 0)).make())
    assert "no type is called 'nosuch'" in refused(pahole, "-F", "btf", option, "nosuch", path, status=0)
    assert run(pahole, "-F", "btf", option, "a", path) == ""
