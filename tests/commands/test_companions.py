"""Files that are read although they are not named: those that have the DWARF of FILE, and `vmlinux` as a base. No
output replaces them, and `pybtf reproduce` copies them, too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf import BTF, Kind
from pybtf.cli.main import main
from pybtf.pahole.main import main as pahole
from pybtf.pipeline.companions import companions
from pybtf.reproduce.reproduce import Circumstance, Question, reproduce
from tests.conftest import ROOT
from tests.dwarf.test_containers import build_id, link, with_dwarf, without_dwarf

FIXTURES = ROOT / "fixtures"
COPY = Circumstance("copy", "a copy of the file at another path", copy=True)


def debug_file(folder: Path) -> tuple[str, str]:
    content = with_dwarf()
    (folder / "x.debug").write_bytes(content)
    (folder / "x").write_bytes(without_dwarf(link("x.debug", content)))
    return "x", "x.debug"


def debug_file_by_name(folder: Path) -> tuple[str, str]:
    """In another folder, found by the name of FILE."""
    (folder / ".debug").mkdir()
    (folder / ".debug" / "x.debug").write_bytes(with_dwarf(build_id()))
    (folder / "x").write_bytes(without_dwarf(build_id()))
    return "x", ".debug/x.debug"


def debug_file_beside_what_a_link_leads_to(folder: Path) -> tuple[str, str]:
    (folder / "real").mkdir()
    debug_file(folder / "real")
    (folder / "x").symlink_to("real/x")
    return "x", f"{folder}/real/x.debug"


def split_unit(folder: Path) -> tuple[str, str]:
    shutil.copytree(FIXTURES / "dwo" / "gcc-5", folder, dirs_exist_ok=True)
    return "program.elf", "u1.dwo"


def default_package(folder: Path) -> tuple[str, str]:
    shutil.copy(FIXTURES / "dwo" / "clang-5" / "program.elf", folder / "p")
    shutil.copy(FIXTURES / "dwo" / "clang-5" / "llvm-dwp.dwp", folder / "p.dwp")
    return "p", "p.dwp"


def alternate(folder: Path) -> tuple[str, str]:
    stem = "59_dwz_alternate.gcc-O2-5-exe"
    for ending in ("elf", "alt"):
        shutil.copy(FIXTURES / "bin" / f"{stem}.{ending}", folder)
    return f"{stem}.elf", f"{stem}.alt"


Made = tuple[str, str]
MAKERS = (
    debug_file, debug_file_by_name, debug_file_beside_what_a_link_leads_to, split_unit, default_package, alternate
)  # fmt: skip


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """FILE, and another file with its DWARF, in the working folder."""
    monkeypatch.chdir(tmp_path)
    make: Callable[[Path], Made] = request.param
    return make(tmp_path)


def test_no_output_replaces_what_dwarf_is_in(made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, other = made
    Path("hard").hardlink_to(other)
    before = contents(tmp_path)
    for option, arguments in (
        ("--detached OUT", ["encode", "--detached", other]),
        ("--detached OUT", ["encode", "--detached", "hard"]),
        ("--report JSON", ["encode", "--report", other]),
        ("--report JSON", ["encode", "--detached", "out", "--report", other]),
        ("--provenance FILE", ["encode", "--detached", "out", "--provenance", other]),
        ("--write-lock LOCK", ["reproduce", "--write-lock", other]),
    ):
        assert main([*arguments, file]) == 2
        out, err = capfd.readouterr()
        assert (out, err) == ("", f"pybtf: error: {option} would replace {other}, which has DWARF of {file}\n")
    assert pahole(["-J", f"--btf_encode_detached={other}", file]) == 1
    said = f"{other}: is named as the detached file, and has DWARF of {file}; expected another file"
    assert capfd.readouterr().err == f"pybtf-pahole: error: {said}\n"
    assert contents(tmp_path) == before
    assert main(["encode", "-q", "--detached", "out", file]) == 0
    # Any other ELF file may be replaced, as always.
    Path("elf").write_bytes(without_dwarf())
    assert main(["encode", "-q", "--detached", "elf", file]) == 0
    assert Path("elf").read_bytes() == Path("out").read_bytes()


def test_nor_do_outputs_of_several(made: Made, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not even if the BTF of one file would replace the file with another's DWARF."""
    file, other = made
    whole = FIXTURES / "bin" / "04_integers.gcc-O0-4-exe.elf"
    Path("results").mkdir()
    Path("results/first.btf").hardlink_to(other)
    shutil.copy(whole, "first")
    before = contents(tmp_path)
    for what, arguments in (
        ("the BTF of first", ["--detached-dir", "results"]),
        ("--report JSON", ["--detached-dir", "new", "--report", other]),
        ("--report JSON", ["--report", other]),
        ("--report JSON", ["--combine", "--detached", "out", "--report", other]),
    ):
        assert main(["encode", *arguments, "first", file]) == 2
        assert capfd.readouterr().err == f"pybtf: error: {what} would replace {other}, which has DWARF of {file}\n"
    assert contents(tmp_path) == before
    assert not Path("new").exists()


def test_a_copy_finds_what_its_dwarf_is_in(made: Made) -> None:
    result = reproduce(Question(made[0]), [COPY])
    assert [(trial.same, trial.problem) for trial in result.trials] == [(True, ""), (True, "")]


def test_no_output_replaces_a_base_that_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    golden = FIXTURES / "split" / "golden"
    shutil.copy(golden / "kernel.gcc.btf", "vmlinux")
    shutil.copy(golden / "reuse.gcc.split.btf", "m.btf")
    shutil.copy(golden / "kernel.gcc.btf", "whole.btf")
    before = contents(tmp_path)
    name = next(each.name for each in BTF.from_file("m.btf", BTF.from_file("vmlinux")) if each.kind == Kind.STRUCT)
    for option, arguments in (
        ("-o", ["dump", "--format", "raw", "-o", "vmlinux"]),
        ("-o", ["dump", "-o", f"../{tmp_path.name}/vmlinux"]),
        ("--svg", ["show", "--svg", "vmlinux", name]),
        ("--svg", ["size", "--svg", "vmlinux"]),
        ("--html", ["size", "--svg", "x", "--html", "vmlinux"]),
        ("--fix", ["verify", "--fix", "vmlinux"]),
    ):
        assert main([*arguments, "m.btf"]) == 2
        assert capfd.readouterr().err == f"pybtf: error: {option} OUT is the input vmlinux itself\n"
    assert contents(tmp_path) == before
    # The file beside BTF without a base does not matter.
    assert main(["dump", "--format", "raw", "-o", "vmlinux", "whole.btf"]) == 0
    assert contents(tmp_path) != before


def test_a_pipe_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening and closing it would end the program that writes to it, before anything is read."""
    opened: list[str] = []
    monkeypatch.setattr("pybtf.pipeline.companions.open_module", opened.append)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert companions(str(pipe)) == []
    assert not opened
