"""The messages and exit statuses of `pybtf-pahole` when something is wrong in a kernel's build: the table in
docs/kernel.md.

The tests bring about each row of that table, with output in the file and detached.
"""

from __future__ import annotations

import ast
import lzma
import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import pybtf
from pybtf.btf.files import RIGHT_BASE
from pybtf.elf.writer import put_sections
from pybtf.pahole.faults import SPELLINGS, respelt
from pybtf.pahole.main import main
from tests.conftest import ROOT
from tools.golden import gates

BINARIES = ROOT / "fixtures" / "bin"
ROWS = re.findall(r"^\| (.+) \| (\d+) \| `(.+)` \|$", (ROOT / "docs" / "kernel.md").read_text(), re.MULTILINE)
"""Situation, status, message; `...` in a message stands for anything."""

SHT_NOBITS = 8


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a kernel that has BTF and a module."""
    monkeypatch.chdir(tmp_path)
    for name in ("PAHOLE_LANG_EXCLUDE", "MAKEFLAGS"):
        monkeypatch.delenv(name, raising=False)
    shutil.copyfile(gates.BINARIES / "vmlinux.le64.elf", "vmlinux")
    shutil.copyfile(gates.BINARIES / "module.le64.elf", "x.ko")
    assert main(["-J", "vmlinux"]) == 0
    return tmp_path


def hide(path: Path, start: str) -> None:
    """Renames the sections whose names start with `start`, as if the file never had them."""
    data = path.read_bytes()
    path.write_bytes(data.replace(start.encode(), start[:2].encode() + b"_" + start[3:].encode()))


def emptied(path: Path, section: str) -> None:
    """Makes a section NOBITS, as debug packages do to `.BTF`."""
    with open(path, "r+b") as file:
        elf = ELFFile(file)
        index = elf.get_section_index(section)
        file.seek(elf["e_shoff"] + index * elf["e_shentsize"] + 4)
        file.write(struct.pack("<I", SHT_NOBITS))


# How to bring about each situation. Each function returns further arguments; `-J` is added before them and the file
# after.


def _missing(folder: Path) -> list[str]:
    (folder / "x.ko").unlink()
    return []


def _not_elf(folder: Path) -> list[str]:
    (folder / "x.ko").write_text("text\n")
    return []


def _truncated(folder: Path) -> list[str]:
    (folder / "x.ko").write_bytes((folder / "x.ko").read_bytes()[:700])
    return []


def _no_dwarf(folder: Path) -> list[str]:
    hide(folder / "x.ko", ".debug_")
    return []


def _excluded(_folder: Path) -> list[str]:
    return ["--lang_exclude=c11,rust"]


def _reference_type(folder: Path) -> list[str]:
    shutil.copyfile(BINARIES / "49_reference.g++-O0-4-exe.elf", folder / "x.ko")
    return []


def _base_missing(folder: Path) -> list[str]:
    (folder / "vmlinux").unlink()
    return ["--btf_base=vmlinux"]


def _base_text(folder: Path) -> list[str]:
    (folder / "vmlinux").write_text("text\n")
    return ["--btf_base=vmlinux"]


def _base_without(_folder: Path) -> list[str]:
    shutil.copyfile(gates.BINARIES / "vmlinux.le64.elf", "vmlinux")
    return ["--btf_base=vmlinux"]


def _base_emptied(folder: Path) -> list[str]:
    emptied(folder / "vmlinux", ".BTF")
    return ["--btf_base=vmlinux"]


def _base_order(_folder: Path) -> list[str]:
    shutil.copyfile(gates.BINARIES / "module.be64.elf", "x.ko")
    return ["--btf_base=vmlinux"]


def _unknown_option(_folder: Path) -> list[str]:
    return ["--bogus"]


def _unknown_feature(_folder: Path) -> list[str]:
    return ["--btf_features_strict=bogus"]


def _separate_jobs(_folder: Path) -> list[str]:
    return ["-j", "4"]


SITUATIONS: dict[str, Callable[[Path], list[str]]] = {
    "input missing": _missing,
    "input is not an ELF file": _not_elf,
    "input truncated": _truncated,
    "no DWARF, without a base": _no_dwarf,
    "all units left out, without a base": _excluded,
    "a type that BTF cannot express": _reference_type,
    "base missing": _base_missing,
    "base is neither ELF nor BTF": _base_text,
    "base has no BTF": _base_without,
    "base has `.BTF` without contents": _base_emptied,
    "base of another byte order": _base_order,
    "unknown option": _unknown_option,
    "unknown feature in a strict list": _unknown_feature,
    "a number apart from `-j`": _separate_jobs,
}


def matches(message: str, text: str) -> bool:
    """Whether `text` is the documented message and nothing else."""
    pattern = ".*".join(re.escape(part) for part in message.split("..."))
    return re.fullmatch(f"pybtf-pahole: error: {pattern}\n", text) is not None


def test_the_table_has_these_rows() -> None:
    assert [situation for situation, _, _ in ROWS] == list(SITUATIONS)


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize(("situation", "status", "message"), ROWS)
def test_row(
    files: Path, capfd: pytest.CaptureFixture[str], situation: str, status: str, message: str, detached: bool
) -> None:
    arguments = ["-J", *SITUATIONS[situation](files), *(["--btf_encode_detached=out"] if detached else []), "x.ko"]
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    outcome = main(arguments)
    out, err = capfd.readouterr()
    assert (outcome, out) == (int(status), "")
    assert matches(message, err), err
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.usefixtures("files")
def test_a_folder_that_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["-J", "--btf_encode_detached=no/such/out", "x.ko"]) == 1
    assert "no/such/out: cannot be written: the folder " in capfd.readouterr().err


@pytest.mark.parametrize("make", [_no_dwarf, _excluded])
def test_a_module_without_anything_to_encode(
    files: Path, capfd: pytest.CaptureFixture[str], make: Callable[[Path], list[str]]
) -> None:
    """It is left alone up to 6.19. From 7.0 on it gets empty BTF, because the build continues with that file."""
    extra = make(files)
    hide(files / "x.ko", ".BTF_ids")
    before = (files / "x.ko").read_bytes()
    assert main(["-J", *extra, "--btf_base=vmlinux", "x.ko"]) == 0
    assert capfd.readouterr().err.endswith("; left as it is\n")
    assert main(["-J", *extra, "--btf_base=vmlinux", "--btf_encode_detached=out", "x.ko"]) == 0
    assert capfd.readouterr().err.endswith("; out is empty BTF\n")
    assert (files / "out").read_bytes() == struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, 0, 0, 0)
    assert (files / "x.ko").read_bytes() == before


@pytest.mark.parametrize("make", [_no_dwarf, _excluded])
@pytest.mark.parametrize("size", [0, 8])
def test_a_module_without_types_but_with_ids(
    files: Path, capfd: pytest.CaptureFixture[str], make: Callable[[Path], list[str]], size: int
) -> None:
    """With empty BTF, a build that stops with pahole would pass, and the kernel would fault. In place, the module is
    left alone: the build resolves the ids next, and stops.
    """
    put_sections(files / "x.ko", {".BTF_ids": bytes(size)})
    extra = make(files)
    before = (files / "x.ko").read_bytes()
    status = main(["-J", *extra, "--btf_base=vmlinux", "--btf_encode_detached=out", "x.ko"])
    err = capfd.readouterr().err
    assert status == (1 if size else 0)
    assert (files / "out").exists() == (size == 0)
    assert (".BTF_ids, 8 bytes, name types and functions" in err) == (size > 0)
    assert err.count("\n") == 1
    assert main(["-J", *extra, "--btf_base=vmlinux", "x.ko"]) == 0
    assert capfd.readouterr().err.endswith("; left as it is\n")
    assert (files / "x.ko").read_bytes() == before


def test_no_base_is_asked_for_and_none_refused(files: Path) -> None:
    """`pybtf encode` refuses a module without a base, and one of another kernel; `pybtf-pahole` takes both."""
    put_sections(files / "x.ko", {".gnu.linkonce.this_module": bytes(64), ".modinfo": b"vermagic=6.2 SMP\0"})
    base = pybtf.Base.from_file("vmlinux").index.data
    shutil.copyfile(gates.BINARIES / "module.le64.elf", "vmlinux")
    put_sections(files / "vmlinux", {".rodata": b"Linux version 6.1 (a@b)\0", ".BTF": base})
    with pytest.raises(pybtf.WrongBaseError):
        pybtf.encode("x.ko", base="vmlinux")
    with pytest.raises(pybtf.ModuleWithoutBaseError):
        pybtf.encode("x.ko")
    assert main(["-J", "--btf_encode_detached=alone", "x.ko"]) == 0
    assert main(["-J", "--btf_base=vmlinux", "--btf_encode_detached=split", "x.ko"]) == 0


@pytest.mark.usefixtures("files")
def test_no_message_names_an_option_of_the_other_program() -> None:
    """Checks every hint in the sources that advises `--detached`, as `pybtf-pahole` prints it."""
    texts = {
        text
        for path in (ROOT / "src" / "pybtf" / "elf").glob("*.py")
        for text in re.findall(r'"([^"\n]*--detached[^"\n]*)"', path.read_text())
        if path.name != "packed.py"  # only `pybtf encode` asks for uncompressed files
    }
    assert len(texts) >= 3
    for text in texts:
        assert "--btf_encode_detached=OUT" in respelt(f"x: {text}"), text
        assert "--detached" not in respelt(f"x: {text}"), text
    assert "--btf_base=FILE (of a module, " in respelt(f"x: Or y is not the BTF; name {RIGHT_BASE}")
    assert respelt("Use --detached: no such file") == "Use --detached: no such file"


def test_every_message_that_is_respelt_is_one_of_the_library() -> None:
    """One that is changed there would go on here, with an option of the other program."""
    sources = ROOT / "src" / "pybtf"
    said = {
        node.value
        for path in sources.rglob("*.py")
        if path.relative_to(sources).parts[0] not in ("cli", "pahole")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert [theirs for theirs, _ in SPELLINGS if not any(text.endswith(theirs) for text in said)] == []


def test_the_base_to_print_from_is_named_with_the_option_of_this_program(
    files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["-J", "--btf_base=vmlinux", "--btf_encode_detached=split.btf", "x.ko"]) == 0
    (files / "vmlinux").rename(files / "kernel")
    capfd.readouterr()
    assert main(["split.btf"]) == 1
    assert "Name the base with --btf_base=FILE; for a module" in capfd.readouterr().err
    assert main(["--btf_base=kernel", "split.btf"]) == 0


def test_a_compressed_module_cannot_be_changed(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    packed = lzma.compress((files / "x.ko").read_bytes())
    (files / "x.ko.xz").write_bytes(packed)
    assert main(["-J", "--btf_base=vmlinux", "x.ko.xz"]) == 1
    said = "x.ko.xz: starts with fd 37 7a 58: data compressed with xz; expected an ELF file. "
    assert said + "Unpack it first." in capfd.readouterr().err
    assert (files / "x.ko.xz").read_bytes() == packed


@pytest.mark.usefixtures("files")
def test_a_file_that_cannot_be_written_advises_an_option_there_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert main(["-J", "x.ko"]) == 1
    err = capfd.readouterr().err
    assert err.endswith("(chmod u+w). Use --btf_encode_detached=OUT to write it to a file.\n")
