"""docs/coming-from.md: each command that it names exists and works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, RunCli, environment
from tests.encode.test_split import HOME, module

TEXT = (ROOT / "docs" / "coming-from.md").read_text()
COMMANDS = sorted(set(re.findall(r"`(pybtf(?:-pahole)? [^`]* [^`]*)`", TEXT)))
WORDS = {
    "FILE": "vmlinux", "OLD": "vmlinux", "NEW": "vmlinux", "/sys/kernel/btf/vmlinux": "vmlinux", "OUT": "out",
    "NAME": "device", "'function FUNCTION'": "'function plain_fn'", "FUNCTION": "plain_fn", "ENUMERATOR": "RED",
    "PREFIX": "dev", "'struct PREFIX*'": "'struct dev*'",
    "ID": "1", "LIST": "var", "file://NAMES": "file://names", "DATABASE": "database", "DATA": "data",
}  # fmt: skip
PROGRAMS = {"pybtf": "pybtf", "pybtf-pahole": "pybtf.pahole"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, run_cli: RunCli) -> Path:
    """A kernel and a module, both with BTF, a BPF object, a database, a list of names."""
    folder = tmp_path_factory.mktemp("prepared")
    shutil.copyfile(HOME / "bin" / "kernel.gcc.elf", folder / "vmlinux")
    (folder / "names").write_text("device\n")
    shutil.copyfile(module("gcc", "reuse"), folder / "module.ko")
    shutil.copyfile(ROOT / "fixtures" / "bpf" / "core" / "01_fields.o", folder / "prog.bpf.o")
    (folder / "data").write_bytes(bytes(4096))
    for arguments in (["--provenance", "database", "vmlinux"], ["--base", "vmlinux", "module.ko"]):
        assert run_cli("encode", *arguments, cwd=folder).returncode == 0
    return folder


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 35


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(command: str, prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    if "--btf-ids" in command:
        shutil.copyfile(ROOT / "fixtures" / "verify" / "btf_ids" / "resolved.elf", tmp_path / "vmlinux")
    program, *words = shlex.split(" ".join(WORDS.get(word, word) for word in re.findall(r"'[^']*'|\S+", command)))
    done = subprocess.run(
        [sys.executable, "-m", PROGRAMS[program], *words],
        cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    # What is found there may be wrong; it only must be found.
    assert done.returncode == (1 if "--btf-ids" in command else 0), done.stderr
    assert not done.stderr.startswith(("pybtf: error", "pybtf-pahole: error"))
