"""The end of the process: nothing that was written gets lost, and the status is what `main` says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT

EXAMPLE = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
GOLDEN = ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf"


@pytest.fixture(params=[[], ["-X", "dev"]], ids=["", "development mode"])
def python(request: pytest.FixtureRequest) -> list[str]:
    return [sys.executable, *request.param, "-m"]


def run(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=False)


def test_output_to_a_pipe_is_whole(python: list[str]) -> None:
    done = run(*python, "pybtf", "encode", "-q", "--detached", "-", str(EXAMPLE))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == GOLDEN.read_bytes()


def test_text_is_whole(python: list[str]) -> None:
    for program in ("pybtf", "pybtf.pahole"):
        done = run(*python, program, "--help")
        assert done.returncode == 0
        assert done.stdout.endswith(b"\n")
        assert len(done.stdout) > 500


def test_status(python: list[str]) -> None:
    for command, status in (
        (["pybtf", "encode", "no such file"], 1),
        (["pybtf", "encode", "--jobs", "0", "x"], 2),
        (["pybtf.pahole", "--no_such_option"], 64),
    ):
        done = run(*python, *command)
        assert done.returncode == status
        assert done.stderr.count(b"\n") == 1


def test_a_full_standard_output_is_no_success(python: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*python, "pybtf", "--version"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
