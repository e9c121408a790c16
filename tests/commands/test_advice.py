"""Messages about mistakes: what was found, what may have been meant, and what to do next."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import time
from difflib import get_close_matches
from pathlib import Path

import pytest

import pybtf
from pybtf.cli.main import main
from pybtf.elf import unlike
from pybtf.features import notes
from pybtf.report import FUNCTION_REASONS, Report, Tally
from pybtf.support.suggest import LIKE, did_you_mean, file_like, most_like
from tests.conftest import ROOT, Require, RunCli
from tests.encode.test_split import base_path, golden

ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"

# Files that are something else

FILES = [
    (b"\x9f\xeb\1\0" + bytes(40), "starts with 9f eb 01 00: raw BTF", "Name the ELF file with DWARF that it"),
    (b"MZ" + bytes(0x200) + b"HdrS", "a kernel image to boot (bzImage)", "Take the vmlinux that it is made of"),
    (b"MZ" + bytes(0x36) + b"ARMd", "starts with 4d 5a 00 00: a kernel image to boot; expected", "Take the vmlinux"),
    (b"MZ" + bytes(0x36) + b"RSC\5", "starts with 4d 5a 00 00: a kernel image to boot; expected", "Take the vmlinux"),
    (b"MZ" + bytes(0x36), "an EFI program, or a kernel image to boot", "Take the vmlinux"),
    (b"!<arch>\nx.o/", "an archive of object files", "ar x"),
    (b"!<arch>\ndebian-binary   ", "a Debian package", "dpkg-deb -x"),
    (b"#!/bin/sh\n", "a script", "Name the ELF file with DWARF"),
    (b"BC\xc0\xde", "LLVM bitcode", "Name what it is linked to"),
    (bytes(257) + b"ustar\0", "a tar archive", "Unpack it first"),
    (b"all of it is text\n", "starts with 61 6c 6c 20: a text file; expected an ELF file", ""),
    (b"\1\2\3\4\5", "starts with 01 02 03 04; expected an ELF file", ""),
]


@pytest.mark.parametrize(("data", "found", "hint"), FILES)
def test_what_a_file_is(tmp_path: Path, data: bytes, found: str, hint: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(pybtf.InputError) as caught:
        pybtf.encode(path)
    assert found in str(caught.value)
    assert caught.value.hint.startswith(hint) if not hint else hint in caught.value.hint
    if data[:2] != b"\x9f\xeb":
        with pytest.raises(pybtf.InputError) as caught:
            pybtf.BTF.from_file(path)
        assert found.removeprefix("starts with ").partition(";")[0] in str(caught.value)


def test_what_a_compressed_file_is(tmp_path: Path) -> None:
    """The contents count."""
    path = tmp_path / "vmlinuz"
    path.write_bytes(gzip.compress(b"MZ" + bytes(0x36) + b"ARMd"))
    with pytest.raises(pybtf.InputError, match="a kernel image to boot"):
        pybtf.encode(path)


def test_no_kind_is_hidden_by_one_before_it() -> None:
    for at, magic, what, _ in unlike._KINDS:
        data = bytearray(1024)
        if at == 0x202:
            data[:2] = b"MZ"
        data[at : at + len(magic)] = magic
        assert unlike.what_it_is(bytes(data))[0].endswith(what)


def test_the_running_kernel_as_input() -> None:
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.exists():
        pytest.skip("this kernel has no BTF")
    with pytest.raises(pybtf.InputError, match="raw BTF; expected an ELF file"):
        pybtf.encode(path)


def test_a_module_as_base(tmp_path: Path) -> None:
    split = golden("gcc", "reuse", "split")
    assert split is not None
    (tmp_path / "x.btf").write_bytes(split)
    with pytest.raises(pybtf.InputError, match="This may be split BTF, of a module: name the BTF of its kernel"):
        pybtf.Base.from_file(tmp_path / "x.btf")
    assert len(pybtf.Base.from_file(base_path("gcc"))) > 0


# Names that are nearly right


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("globalvar", ("var", "global_var"), "global_var"),
        ("enum46", ("enum64", "encode_force"), "enum64"),
        ("repro", ("encode", "reproduce"), "reproduce"),
        ("re", ("reproduce",), None),
        ("attr", ("attributes", "attr_x"), "attr_x"),
        ("klingon", ("c", "c11", "rust"), None),
        ("", ("x",), None),
    ],
)
def test_did_you_mean(name: str, known: tuple[str, ...], meant: str | None) -> None:
    assert did_you_mean(name, known) == (f" (did you mean {meant!r}?)" if meant else "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dump --format x z", "--format: unknown value 'x'; expected one of c, raw, json"),
        ("dump --format x -oy z", "--format: unknown value 'x'; expected one of c, raw, json"),
        ("size --by x z", "--by: unknown value 'x'; expected one of kind, type, prefix, unit, folder"),
        ("verify --loader usr z", "--loader: unknown value 'usr' (did you mean 'user'?); expected one of user, "),
        ("diff --fail-on remove x y", "--fail-on: unknown value 'remove' (did you mean 'removed'?); expected one of "),
        ("encode --lang Rst x", "unknown language 'Rst' (did you mean 'rust'?); expected one of ada83, "),
        ("encode --features vars x", "unknown feature 'vars' (did you mean 'var'?); expected one of encode_force"),
        ("reproduce --skip crowds x", "--skip: unknown value 'crowds' (did you mean 'crowd'?); expected one of jobs "),
        ("completion tcsh", "unknown shell 'tcsh'; expected one of bash, zsh, fish"),
    ],
)
def test_what_there_is_is_said_in_the_same_words(line: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capfd.readouterr().err.startswith(f"pybtf: error: {said}")


def test_files_in_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli) -> None:
    shutil.copyfile(ELF, tmp_path / "vmlinux")
    assert file_like(str(tmp_path / "vmlinx")) == f"Did you mean {tmp_path}/vmlinux?"
    assert file_like(str(tmp_path / "vmlinux")) == ""
    assert file_like(str(tmp_path / "other")) == ""
    assert file_like(str(tmp_path / "no folder" / "vmlinux")) == ""
    assert file_like("a\0b") == ""
    monkeypatch.chdir(tmp_path)
    for arguments in (["encode", "vmlinx"], ["encode", "--base", "vmlinx", "--detached", "out", "vmlinux"]):
        done = run_cli(*arguments)
        assert done.returncode == 1
        assert done.stderr.endswith(". Did you mean vmlinux?\n")
    done = run_cli("vmlinux")
    assert (done.returncode, done.stderr.count("did you mean 'pybtf encode vmlinux'?")) == (2, 1)
    (tmp_path / "vmlinux.btf").write_bytes(b"\xeb\x9f\0\1")
    assert "did you mean 'pybtf dump vmlinux.btf'?" in run_cli("vmlinux.btf").stderr


def test_reproduce_names_a_missing_file_once(tmp_path: Path, run_cli: RunCli) -> None:
    for path in (tmp_path / "nosuch", "nosuch"):
        done = run_cli("reproduce", path, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, f"pybtf: error: {path}: no such file\n")
    done = run_cli("reproduce", "")
    assert (done.returncode, done.stderr) == (2, "pybtf: error: the name of a FILE is empty\n")


def test_help_is_a_command(run_cli: RunCli) -> None:
    for arguments, same in ((["help"], ["--help"]), (["help", "encode"], ["encode", "--help"])):
        assert run_cli(*arguments).stdout == run_cli(*same).stdout != ""
    done = run_cli("help", "encod")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'encode'?" in done.stderr


# Lists of features


@pytest.mark.parametrize(
    ("lists", "meant"),
    [
        (["global_var"], "+global_var"),
        (["layout", "global_var"], "+global_var,layout"),
        (["+global_var"], None),
        (["global_var", "var"], None),
        (["default,global_var"], None),
        (["all"], None),
        ([""], None),
        ([], None),
    ],
)
def test_a_list_that_names_no_default(lists: list[str], meant: str | None, run_cli: RunCli) -> None:
    said = notes(*lists)
    assert [text.split("; ")[1] for text in said] == ([f"{meant} adds to them"] if meant else [])
    options = [word for text in lists for word in ("--features", text)]
    if not lists or "" not in lists:
        done = run_cli("encode", *options, "--detached", os.devnull, ELF)
        assert ("pybtf: note: the list of features names none of the 9 default ones" in done.stderr) == bool(meant)
        assert run_cli("encode", "-q", *options, "--detached", os.devnull, ELF).stderr == ""


def test_distilled_base_and_detached(run_cli: RunCli) -> None:
    options = ["--features", "+distilled_base", "--base", base_path("gcc"), "--detached", os.devnull]
    done = run_cli("encode", *options, ELF)
    assert done.returncode == 0
    assert "pybtf: note: the feature distilled_base is left out" in done.stderr


# What was left out


def test_descriptions_are_counted_apart() -> None:
    functions = Tally(FUNCTION_REASONS, 5, {"no_symbol": 100, "optimized": 3, "unnamed_parameter": 1})
    assert (functions.descriptions, functions.total_left_out) == (100, 104)
    report = Report(functions=functions)
    facts = report.to_dict()["functions"]
    assert facts["left_out"]["no_symbol"] == facts["descriptions_without_symbol"] == 100
    assert facts["total_left_out"] == 4
    variables = Tally(report.variables.reasons, 1, {"no_symbol": 7})
    assert variables.descriptions == 0


# Files that cannot be written


def test_an_immutable_file(tmp_path: Path, require: Require) -> None:
    path = tmp_path / "x.elf"
    shutil.copyfile(ELF, path)
    for letter in "ia":
        if subprocess.run([require("chattr"), f"+{letter}", path], capture_output=True, check=False).returncode:
            pytest.skip("attributes of files cannot be set here")
        try:
            advice = f"it has the attribute {letter}. Clear the attribute with `chattr -{letter} FILE`"
            with pytest.raises(pybtf.OutputError, match=advice):
                pybtf.encode(path).embed(path)
        finally:
            subprocess.run(["chattr", f"-{letter}", path], check=True)
    pybtf.encode(path).embed(path)


@pytest.mark.parametrize("most", [1, 3])
def test_the_most_similar_names_are_those_of_difflib(most: int) -> None:
    chooser = random.Random(most)
    names = ["", "a", *("".join(chooser.choices("abcd_", k=chooser.randrange(1, 24))) for _ in range(400))]
    found = 0
    for name in ["", *chooser.sample(names, 100)]:
        wrong = name[:3] + chooser.choice("abcd_") + name[4:]
        like = most_like(wrong, names, most)
        assert like == get_close_matches(wrong, names, most, LIKE)
        found += bool(like)
    assert found > 90


def test_names_that_are_all_alike_take_no_long_look() -> None:
    """Comparing all of them takes 7 s."""
    names = [f"{'a_rather_long_name_of_a_struct' * 5}_{number:06}" for number in range(20_000)]
    begin = time.process_time()
    assert most_like(names[-1][:-1] + "x", names, 3)[0] == names[-1]
    assert time.process_time() - begin < 2
