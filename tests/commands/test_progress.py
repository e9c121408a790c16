"""What is shown during a run: colours and a bar on a terminal, lines elsewhere, quantities in words."""

from __future__ import annotations

import errno
import io
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.cli import console
from pybtf.cli.main import main
from pybtf.cli.progress import Progress, _fitting, duration
from pybtf.cli.request import Request, tell_warnings
from pybtf.cli.summary import size
from tests.conftest import ROOT, environment

OLD, NEW = (str(ROOT / "fixtures" / "diff" / f"{side}.btf") for side in ("old", "new"))


def on_terminal(code: str, status: int = 0, **environment: str) -> str:
    """Standard error of a program whose standard error is a terminal, and which ends with this status."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:  # no /dev/pts
        pytest.skip(f"no pseudo-terminals here: {error}")
    env = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stderr=theirs, env=env | {"TERM": "xterm"} | environment, check=False
        )
    finally:
        os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 1 << 16):  # in pieces, as they arrive
            shown += data
    except OSError as error:
        if error.errno != errno.EIO:  # Linux reports this at the end
            raise
    finally:
        os.close(ours)
    assert done.returncode == status, shown
    return shown.decode()


ERROR = "from pybtf.cli import console; console.error('it broke')"


def test_colours_on_a_terminal_only() -> None:
    assert on_terminal(ERROR) == "pybtf: \x1b[1;31merror:\x1b[0m it broke\r\n"
    assert on_terminal(ERROR, NO_COLOR="1") == "pybtf: error: it broke\r\n"
    assert on_terminal(ERROR, TERM="dumb") == "pybtf: error: it broke\r\n"


BAR = """
import time
from pybtf.cli import console, progress
progress.FIRST_AFTER = 0.0
with progress.Progress("vmlinux", bar=console.is_terminal()) as tick:
    for i in range(1, 2001):
        tick(i, 2000)
"""


ENDED = """
import hashlib, os, signal, sys, threading
from pybtf.cli import batch, main, progress
import pybtf.pipeline.passes
progress.FIRST_AFTER = progress.BAR_EVERY = 0.0

def busy(*_, **__):
    hashlib.pbkdf2_hmac("sha256", b"", b"", (1 << 31) - 1)  # minutes without the interpreter, as in the core

def end_soon():
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()

def encode_file(path, options, progress):
    progress(1, 2)
    end_soon()
    busy()

def tick(self, done, total):
    real(self, done, total)
    end_soon()

real = progress.Progress.__call__
"""
ENDED_ALONE = ENDED + """
pybtf.pipeline.passes.encode_file = encode_file
main.main(["encode", "--detached", "/dev/null", "--progress", "a.elf"])
"""
ENDED_OF_MANY = ENDED + """
progress.Progress.__call__ = tick
batch._encode = lambda task, *_, **__: busy() if task.path == "b.elf" else (task, ("failed", 1))
main.main(["encode", "--standalone", "--detached-dir", FOLDER, "-j2", "--progress", "a.elf", "b.elf"])
"""


@pytest.mark.parametrize("code", [ENDED_ALONE, ENDED_OF_MANY], ids=["one file", "many files"])
def test_sigterm_clears_the_bar(code: str, tmp_path: Path) -> None:
    """In the midst of the core; and where the workers have to be ended first, by a handler of its own."""
    shown = on_terminal(f"FOLDER = {str(tmp_path)!r}\n{code}", status=-signal.SIGTERM)
    assert shown.count("\r\x1b[K") == 1
    assert "50 %" in shown
    assert shown.endswith("\r\x1b[K")


def test_sigterm_after_a_bar_is_what_it_was() -> None:
    code = BAR + "import os\nos.kill(os.getpid(), 15)"
    assert on_terminal(code, status=-signal.SIGTERM).count("\r\x1b[K") == 1
    ignored = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + BAR + "    os.kill(os.getpid(), 15)\n"
    assert on_terminal("import os\n" + ignored).count("\r\x1b[K") == 1


def test_bar_is_drawn_seldom_and_cleared() -> None:
    shown = on_terminal(BAR)
    frames = shown.split("\r")
    assert 3 <= len(frames) < 20
    assert frames[-1] == "\x1b[K"
    assert "100 %  2,000/2,000 units  0 s, finishing" in frames[-2]
    assert all(len(frame.removesuffix("\x1b[K")) < 80 for frame in frames)


TRUNCATED = """
import mmap, os, sys
import pybtf.pipeline.passes
from pybtf.cli import progress
from pybtf.cli.main import main
progress.FIRST_AFTER = 0.0

def encode_file(path, options, progress):
    progress(1, 2)
    with open(path, "r+b") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.truncate(file.fileno(), 0)
        data[-1]

pybtf.pipeline.passes.encode_file = encode_file
pid = os.fork()
if not pid:
    os._exit(main([COMMAND, os.environ["INPUT"]]))
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("command", ["encode", "size"])
def test_a_message_in_the_place_of_a_bar(command: str, tmp_path: Path) -> None:
    """The input is truncated meanwhile."""
    file = tmp_path / "vmlinux"
    shutil.copy(ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf", file)
    shown = on_terminal(TRUNCATED.replace("COMMAND", repr(command)), INPUT=str(file))
    assert shown.startswith("\rvmlinux  ")
    assert f"\x1b[K\r\x1b[Kpybtf: error: {file}: can no longer be read: " in shown


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, "abc"), ("漢字x", 5, "漢字x"), ("漢字x", 4, "漢字"), ("漢字", 3, "漢")],
)
def test_a_bar_never_wraps(text: str, columns: int, expected: str) -> None:
    assert _fitting(text, columns) == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "C"}, False),
        ({}, False),
        ({"LC_ALL": "C.UTF-8"}, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "en_US.UTF-8"}, True),
    ],
)
def test_blocks_of_more_than_ascii(variables: dict[str, str], expected: bool) -> None:
    """Python's standard error takes UTF-8 in the locale C, but the terminal may not."""
    env = {name: value for name, value in environment().items() if name != "LANG" and name[:3] != "LC_"} | variables
    path = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
    command = [sys.executable, "-m", "pybtf", "encode", "--timings", "--detached", os.devnull, str(path)]
    done = subprocess.run(command, env=env, capture_output=True, check=True)
    assert ("█".encode() in done.stderr) == expected
    assert done.stderr.isascii() != expected


def test_more_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    for count, last in (11, "1 more warning; -v shows it"), (12, "2 more warnings; -v shows them"):
        tell_warnings(Request(("x",), None, None, None, False, None, False, False, False, False), ["text"] * count)
        assert capsys.readouterr().err.splitlines()[-1] == f"pybtf: warning: {last}"


def test_progress_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "unicode_ok", lambda: False)
    bar = Progress("vmlinux", bar=True)
    expected = "vmlinux  #####...............   25 %  500/2,000 units  2 s, 6 s to go"
    assert bar.text(500, 2000, 2.0) == expected
    assert Progress("x", bar=False).text(1, 2000, 61.0) == "x    0 %  1/2,000 units  1 min 1 s"
    assert Progress("x", bar=False).text(0, 0, 0.0).endswith("finishing")


def test_without_a_terminal_progress_is_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 6.0, 7.0, 20.0, 21.0])
    monkeypatch.setattr("pybtf.cli.progress.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("vmlinux", bar=False) as tick:
        for done in range(1, 6):
            tick(done, 6)
    assert stream.getvalue().splitlines() == [
        "vmlinux   33 %  2/6 units  6 s, 12 s to go",
        "vmlinux   67 %  4/6 units  20 s, 10 s to go",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59, "59 s"), (125, "2 min 5 s"), (3780, "1 h 3 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (5_631_000, "5.63 MB"),
        (214_000_000, "214 MB"),
        (999_600_000, "1 GB"),
    ],
)
def test_sizes(n: int, text: str) -> None:
    assert size(n) == text


@pytest.mark.parametrize("arguments", [["diff", OLD, NEW], ["show", "sock", OLD]], ids=["diff", "show"])
def test_colours_of_results(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal that can show them, unless the user wants none."""

    def coloured(terminal: bool, **variables: str) -> bool:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.setenv(name, variables.get(name, ""))
        main(arguments)
        return "\x1b[" in capsys.readouterr().out

    assert coloured(True, TERM="xterm")
    assert not coloured(False, TERM="xterm")
    assert not coloured(True, TERM="dumb")
    assert not coloured(True, TERM="xterm", NO_COLOR="1")
