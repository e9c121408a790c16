"""Beginning and end of the process: closed streams, no lost output, and the status."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pybtf.cli import faults
from pybtf.cli.main import report as pybtf_report
from pybtf.errors import InputError, InternalError
from pybtf.pahole.main import report as pahole_report
from pybtf.support import process
from tests.conftest import ROOT, environment

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
    assert b"the disk is full" in done.stderr


# -- standard streams that are closed or full ----------------------------------------------------------

SILENT, WRONG, USAGE = (0, 0), (1, 1), (2, 64)
#: Command, by the statuses of `pybtf` and `pybtf-pahole`, and whether it prints something.
COMMANDS = {
    "question": ((["--version"], ["--version"]), SILENT, True),
    "file": (
        (["encode", "--detached", "OUT", "IN"], ["-J", "--btf_features=default", "--btf_encode_detached=OUT", "IN"]),
        SILENT,
        False,
    ),
    "mistake": ((["encode", "nosuch"], ["-J", "nosuch"]), WRONG, False),
    "usage": ((["encode", "--nosuch"], ["--nosuch"]), USAGE, False),
}
STREAMS = ("open", "closed", "full")


@pytest.mark.parametrize("program", ["pybtf", "pybtf.pahole"])
@pytest.mark.parametrize("stdin", STREAMS[:2])
@pytest.mark.parametrize("stdout", STREAMS)
@pytest.mark.parametrize("stderr", STREAMS)
def test_closed_streams(program: str, stdin: str, stdout: str, stderr: str, tmp_path: Path) -> None:
    """Status and files are as usual, unless something has to be printed and cannot be."""
    which = program == "pybtf.pahole"
    out = tmp_path / "out.btf"
    for name, (commands, statuses, prints) in COMMANDS.items():
        words = {"OUT": str(out), "IN": str(EXAMPLE)}
        given = [next((w.replace(k, v) for k, v in words.items() if k in w), w) for w in commands[which]]
        done = shell([sys.executable, "-m", program, *given], tmp_path, stdin, stdout, stderr)
        fails = prints and stdout != "open"
        assert done == (1 if fails else statuses[which]), (name, done)
        said = (tmp_path / "stderr").read_text()
        if stderr == "open":
            expected = 1 if fails or statuses[which] or (name == "file" and not which) else 0
            assert said.count("\n") == expected, (name, said)
            assert "internal error" not in said
            if fails:
                reason = "it is closed." if stdout == "closed" else "the disk is full. Free some space."
                assert said.endswith(f": error: standard output: cannot be written: {reason}\n")
        if name == "file":
            assert out.read_bytes() == GOLDEN.read_bytes()
            out.unlink()


def shell(command: list[str], folder: Path, stdin: str, stdout: str, stderr: str) -> int:
    """The status of the command, run by a shell that can close descriptors 0 to 2 for it."""
    ways = {
        ("0", "open"): "", ("0", "closed"): "0<&-",
        ("1", "open"): ">stdout", ("1", "closed"): ">&-", ("1", "full"): ">/dev/full",
        ("2", "open"): "2>stderr", ("2", "closed"): "2>&-", ("2", "full"): "2>/dev/full",
    }  # fmt: skip
    (folder / "stderr").write_text("")
    line = shlex.join(command)
    redirections = " ".join((ways["0", stdin], ways["1", stdout], ways["2", stderr]))
    run = subprocess.run(["sh", "-c", f"{line} {redirections}"], cwd=folder, env=environment(), check=False)
    return run.returncode


def test_output_to_a_closed_standard_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pybtf", "encode", "--detached", "-", str(EXAMPLE)]
    assert shell(command, tmp_path, "open", "closed", "open") == 1
    said = (tmp_path / "stderr").read_text()
    assert said.startswith("pybtf: error: ")
    assert "it is closed" in said


@pytest.mark.parametrize("arguments", [["dump", "-"], ["show", "x", "-"], ["decode", "--btf", GOLDEN, "int", "-"]])
def test_what_is_read_from_a_closed_standard_input(arguments: list[object], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pybtf", *map(str, arguments)]
    assert shell(command, tmp_path, "closed", "open", "open") == 1
    said = (tmp_path / "stderr").read_text()
    assert said.startswith("pybtf: error: standard input: cannot be read: it is closed; expected ")


@pytest.mark.parametrize(("program", "arguments"), [("pybtf", "encode -q --detached"), ("pybtf.pahole", "-J")])
@pytest.mark.parametrize("limit", range(5, 9))
def test_few_descriptors(program: str, arguments: str, limit: int, tmp_path: Path) -> None:
    """The message does not blame one of pybtf's own files."""
    out = [str(tmp_path / "out")] if program == "pybtf" else [f"--btf_encode_detached={tmp_path / 'out'}"]
    command = shlex.join([sys.executable, "-m", program, *arguments.split(), *out, str(EXAMPLE)])
    line = f"ulimit -n {limit}; exec {command}"
    run = subprocess.run(["sh", "-c", line], env=environment(), check=False, capture_output=True, text=True)
    if run.stderr.startswith("Fatal Python error") or "ModuleNotFoundError" in run.stderr:
        pytest.skip("Python itself does not start")
    if run.returncode:
        assert "oo many open files" in run.stderr
        assert run.stderr.count("\n") == 1
        assert ".py" not in run.stderr


def test_a_list_from_a_closed_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pybtf", "encode", "--from-list", "-", "--detached-dir", str(tmp_path / "out")]
    assert shell(command, tmp_path, "closed", "open", "open") == 1
    said = (tmp_path / "stderr").read_text()
    assert said.count("\n") == 1
    assert "it is closed" in said


# -- no memory ------------------------------------------------------------------------------------------


@pytest.mark.skipif("PYBTF_SANITIZED" in os.environ, reason="sanitizers need terabytes of addresses")
@pytest.mark.parametrize("command", ["size GOLDEN", "why f EXAMPLE", "encode --provenance p --detached o EXAMPLE"])
def test_little_memory(command: str, tmp_path: Path) -> None:
    """Whatever the memory is not enough for, the outcome is one line and status 1."""
    words = command.replace("GOLDEN", str(GOLDEN)).replace("EXAMPLE", str(EXAMPLE)).split()
    line = shlex.join([sys.executable, "-m", "pybtf", *words])
    for limit in range(17_000, 32_000, 700):
        try:
            run = subprocess.run(
                ["sh", "-c", f"ulimit -v {limit}; exec {line}"], env=environment(), check=False, capture_output=True,
                text=True, cwd=tmp_path, timeout=20,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue  # Python 3.11 tries forever if it has no memory for an exception while it handles one
        if "Fatal Python error" in run.stderr or (run.returncode and "pybtf" not in run.stderr):
            continue  # Python itself does not start
        assert run.returncode in (0, 1), (limit, run.stderr)
        # `hashlib` says at length that it could not load OpenSSL, and Python that a destructor had no memory: a thread
        # may print that in the middle of our message.
        if "code for hash" in run.stderr or "Exception ignored in" in run.stderr:
            assert not run.returncode or "pybtf: error: " in run.stderr, (limit, run.stderr)
            continue
        assert run.stderr.count("\n") <= 1, (limit, run.stderr)


@pytest.mark.parametrize("error", ["SystemError", "MemoryError"])
def test_no_memory_to_catch_what_was_wrong(error: str) -> None:
    """`guarded` catches everything. What gets past it comes from Python's own lack of memory."""
    line = f"from pybtf.support import process\ndef main():\n raise {error}('error return')\nprocess.run(main, 'pybtf')"
    done = run(sys.executable, "-c", line)
    assert (done.returncode, done.stderr) == (1, b"pybtf: error: not enough memory\n")


@pytest.mark.parametrize("report", [pybtf_report, pahole_report])
def test_no_memory_to_say_what_was_wrong(
    report: Callable[[BaseException], int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pybtf.cli.faults", Importing())
    monkeypatch.setitem(sys.modules, "pybtf.pahole.faults", Importing())

    def work() -> int:
        raise InputError("x", "damaged")

    assert process.guarded(work, "pybtf-x", report) == 1
    assert capfd.readouterr().err == "pybtf-x: error: not enough memory\n"


class Importing(ModuleType):
    """A module for which there is no memory."""

    def __init__(self) -> None:
        super().__init__("x")

    def __getattr__(self, name: str) -> object:
        raise MemoryError


def test_what_is_raised_without_memory_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    error = SystemError("<function f at 0x1> returned NULL without setting an exception")
    assert faults.explain(error)[1] == 70
    monkeypatch.setattr(faults, "_LITTLE", 1 << 60)
    assert faults.explain(error) == ("not enough memory", 1)
    assert faults.explain(InternalError("broken"))[1] == 70


# -- memory that is given back at the end --------------------------------------------------------------


class Large:
    """Something that uses much memory."""


@pytest.mark.parametrize(("program", "last", "kept"), [(True, True, True), (True, False, False), (False, True, False)])
def test_only_a_program_keeps_memory(program: bool, last: bool, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library frees what it has taken, and so does a program that continues."""
    monkeypatch.setattr(process, "_program", program)
    monkeypatch.setattr(process, "_kept", None)
    if last:
        process.last_work()
    large = Large()
    known = weakref.ref(large)
    process.keep(large)
    del large
    assert (known() is not None) == kept
