"""The parts of the programs that build kernels which need no kernel; building kernels is not tested here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.kernels.kernel_build_check import HOME, Place
from tools.kernels.merged_build_check import MORE, Step, edited


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("ld -m elf_x86_64 -r -o vmlinux.o --whole-archive vmlinux.a", "ld -r"),
        ("ld -m elf_x86_64 --script=vmlinux.lds -o .tmp_vmlinux1 vmlinux.o", "links"),
        ("ld.lld-19 --script=vmlinux.lds -o vmlinux.unstripped vmlinux.o", "links"),
        ("ld -r -o fs/fuse/fuse.ko fs/fuse/fuse.o", ""),
        ("ld --version", ""),
        ("ld -o", ""),
        ("pybtf-pahole --version", ""),
        ("pybtf-pahole -J -j --btf_features=var .tmp_vmlinux1", "BTF"),
        ("pybtf-pahole -J -j --btf_base vmlinux fs/fuse/fuse.ko", "BTF of modules"),
    ],
)
def test_steps_of_a_build_are_told_apart(command: str, what: str) -> None:
    step = Step.of(f"1.50 1.25 0.25 2048 {command}")
    assert (step.wall, step.cpu, step.peak, step.what) == (1.5, 1.5, 2048, what)


def test_the_source_is_what_it_was_afterwards(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int a;\n")
    for more in MORE.values():
        with edited(source, 2, more):
            assert "kbc_edited_2(" in source.read_text()
        assert source.read_text() == "int a;\n"


def test_builds_of_one_version_have_folders_of_their_own(tmp_path: Path) -> None:
    one, other = Place("6.12", tmp_path), Place("6.12", tmp_path, "values")
    assert one.source == other.source
    assert not {one.build, one.external, one.records, one.log} & {other.build, other.external, other.records, other.log}


def test_what_a_step_takes_is_written_down(tmp_path: Path) -> None:
    """The program gets its arguments, and its status is passed on; a line says what it took."""
    (tmp_path / "timed-sh").symlink_to(HOME / "timed.sh")
    times = tmp_path / "times"
    known = {**os.environ, "KBC_TIMES": str(times)}
    argv = [str(tmp_path / "timed-sh"), "-c", "exit 3"]
    if not Path("/usr/bin/time").exists():
        pytest.skip("needs /usr/bin/time")
    assert subprocess.run(argv, env=known, check=False).returncode == 3
    assert Step.of(times.read_text().splitlines()[-1]).command == "sh -c exit 3"
    del known["KBC_TIMES"]
    times.unlink()
    assert subprocess.run(argv, env=known, check=False).returncode == 3
    assert not times.exists()
