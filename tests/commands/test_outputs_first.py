"""A result that cannot be written is noticed before there is any work: the input of these tests is good for nothing,
which would be the message otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf
from pybtf.cli.main import main
from tests.builders.elfwriter import Section, bare
from tests.conftest import ROOT, run_unprivileged

Refused = Callable[..., str]

OUTPUTS = {
    "encode": ("encode", "--detached", "OUT", "IN"),
    "encode --report": ("encode", "--detached", "-", "--report", "OUT", "IN"),
    "encode --provenance": ("encode", "--detached", "-", "--provenance", "OUT", "IN"),
    "encode of several": ("encode", "--standalone", "--report", "OUT", "IN", "IN"),
    "merge": ("merge", "--detached", "OUT", "IN"),
    "merge --report": ("merge", "--report", "OUT", "IN"),
    "dedup": ("dedup", "-o", "OUT", "IN"),
    "min-core": ("min-core", "-o", "OUT", "IN", "IN"),
    "dump": ("dump", "-o", "OUT", "IN"),
    "show --svg": ("show", "--svg", "OUT", "name", "IN"),
    "size --svg": ("size", "--svg", "OUT", "IN"),
    "size --html": ("size", "--html", "OUT", "IN"),
    "verify --fix": ("verify", "--fix", "OUT", "IN"),
    "reproduce": ("reproduce", "--write-lock", "OUT", "IN"),
}


@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS)
def test_a_folder_that_is_not_there(words: tuple[str, ...], tmp_path: Path, refused: Refused) -> None:
    given = {"IN": tmp_path / "input", "OUT": tmp_path / "missing" / "out"}
    given["IN"].write_bytes(b"no BTF and no ELF file")
    text = refused(main, *(given.get(word, word) for word in words))
    assert f"{given['OUT']}: cannot be written: the folder {given['OUT'].parent.resolve()} does not exist." in text
    assert "Create it first" in text


@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS)
def test_a_name_that_is_that_of_a_folder(words: tuple[str, ...], tmp_path: Path, refused: Refused) -> None:
    given = {"IN": tmp_path / "input", "OUT": tmp_path / "out"}
    given["IN"].write_bytes(b"no BTF and no ELF file")
    given["OUT"].mkdir()
    text = refused(main, *(given.get(word, word) for word in words))
    assert f"{given['OUT']}: cannot be written: this is a folder. Name a file." in text


def test_a_file_that_is_write_protected(tmp_path: Path) -> None:
    input, out = tmp_path / "input", tmp_path / "out.btf"
    input.write_bytes(b"no BTF and no ELF file")
    out.touch(0o444)
    done = run_unprivileged("encode", "--detached", out, input)
    assert done.returncode == 1
    assert f"{out}: cannot be written: it is write-protected" in done.stderr


IN_PLACE = {
    "encode": ("pybtf", "encode", "x"),
    "encode of several": ("pybtf", "encode", "--standalone", "x", "other"),
    "encode --combine": ("pybtf", "encode", "--combine", "x", "other"),
    "merge": ("pybtf", "merge", "x"),
    "pybtf-pahole": ("pybtf.pahole", "-J", "x"),
}


@pytest.mark.parametrize("words", IN_PLACE.values(), ids=IN_PLACE)
def test_a_file_that_is_to_get_btf(words: tuple[str, ...], tmp_path: Path) -> None:
    """It has no DWARF, which does not matter if it cannot be written. With BTF it may get the same again."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x").write_bytes(bare([Section(".text", b"\xc3" * 16)]))
    (folder / "other").write_bytes((folder / "x").read_bytes())
    assert "x: has no " in run_unprivileged(*words[1:], program=words[0], cwd=folder).stderr
    folder.chmod(0o555)
    refused = run_unprivileged(*words[1:], program=words[0], cwd=folder)
    assert refused.returncode == 1
    assert f"x: cannot be written: no permission to write in {folder}. Use --" in refused.stderr
    assert "has no" not in refused.stderr
    (folder / "x").write_bytes(bare([Section(".BTF")]))
    assert "x: has no " in run_unprivileged(*words[1:], program=words[0], cwd=folder).stderr


def test_the_same_btf_again_needs_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes((ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf").read_bytes())
    assert main(["encode", str(file)]) == 0
    tmp_path.chmod(0o555)
    assert run_unprivileged("encode", file).returncode == 0


def test_a_module_without_types_is_left_alone_in_a_build(tmp_path: Path) -> None:
    base, file = tmp_path / "base", tmp_path / "x.ko"
    base.write_bytes(pybtf.Builder().to_bytes())
    file.write_bytes(bare([Section(".text", b"\xc3" * 16)]))
    tmp_path.chmod(0o555)
    done = run_unprivileged("-J", f"--btf_base={base}", file, program="pybtf.pahole")
    assert (done.returncode, "left as it is" in done.stderr) == (0, True)


def test_a_folder_of_results_that_nobody_may_write_to(tmp_path: Path) -> None:
    input, folder = tmp_path / "input", tmp_path / "out"
    input.write_bytes(b"no BTF and no ELF file")
    folder.mkdir(0o555)
    done = run_unprivileged("encode", "--standalone", "--detached-dir", folder, input)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{folder}: no permission to write in this folder. Name another place." in done.stderr
    done = run_unprivileged("encode", "--standalone", "--detached-dir", folder / "new" / "one", input)
    said = f"{folder}/new/one: cannot be written: no permission to write in {folder}. Name a place you may write to."
    assert done.stderr == f"pybtf: error: {said}\n"


def test_what_is_written_to_as_it_is(tmp_path: Path, refused: Refused) -> None:
    """Devices, fifos and descriptors are there, whatever their folders allow."""
    input, fifo = tmp_path / "input", tmp_path / "fifo"
    input.write_bytes(b"no BTF and no ELF file")
    os.mkfifo(fifo)
    for out in (fifo, "/dev/null", "/dev/stdout"):
        assert "expected" in refused(main, "encode", "--detached", out, input)
