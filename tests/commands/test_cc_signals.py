"""`pybtf cc` and signals: the compiler ends first, no object lacks values, and the program ends by the signal."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pybtf.cli.cc import PASSED_ON
from tests.commands.test_merge_commands import IGNORING


@pytest.fixture
def no_core() -> Iterator[None]:
    """Some signals would leave a core file."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.usefixtures("no_core")
@pytest.mark.parametrize("number", PASSED_ON)
def test_a_signal_that_ends_cc_ends_the_compiler(tmp_path: Path, number: signal.Signals) -> None:
    """A build that is told to stop deletes the object; nothing may create it afterwards."""
    os.mkfifo(tmp_path / "fifo")
    command = [sys.executable, "-m", "pybtf", "cc", "--", "sh", "-c", f"echo $$ > {tmp_path}/fifo; exec sleep 60"]
    with subprocess.Popen(command) as process:
        compiler = int((tmp_path / "fifo").read_text())
        process.send_signal(number)
        assert process.wait(30) == -number
    with pytest.raises(ProcessLookupError):
        os.kill(compiler, 0)


def test_a_compiler_that_is_quicker_than_the_signal(tmp_path: Path) -> None:
    script = "#!/bin/sh\ntrap 'touch x.o; exit 0' TERM\necho > fifo\nwhile :; do sleep 0.05; done\n"
    (tmp_path / "gcc").write_text(script)
    (tmp_path / "gcc").chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    command = [sys.executable, "-m", "pybtf", "cc", "--", "./gcc", "-c", "x.c"]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        (tmp_path / "fifo").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
    assert not (tmp_path / "x.o").exists()


WHILE_ENCODING = """
import sys
import pybtf.merging.encoding as encoding
from pybtf.cli.main import main

def encode_compiled(*_):
    print("encoding", flush=True)
    sys.stdin.read()

encoding.encode_compiled = encode_compiled
sys.exit(main(["cc", "--", "touch", "-c", "x.c", "-o", "x.o"]))
"""


@pytest.mark.usefixtures("no_core")
@pytest.mark.parametrize("number", [*PASSED_ON, signal.SIGINT])
def test_a_signal_after_the_compiler_has_ended(tmp_path: Path, number: signal.Signals) -> None:
    """The next run of the build would link an object without values."""
    (tmp_path / "touch").write_text("#!/bin/sh\ntouch x.o\n")
    (tmp_path / "touch").chmod(0o755)
    command = [sys.executable, "-c", WHILE_ENCODING.replace('"touch"', '"./touch"')]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"encoding\n"
        assert (tmp_path / "x.o").exists()
        process.send_signal(number)
        assert process.wait(30) == -number
    assert not (tmp_path / "x.o").exists()


@pytest.mark.parametrize("fails", [0, 3])
def test_an_interrupt_that_the_compiler_does_not_get(tmp_path: Path, fails: int) -> None:
    """As by `kill -INT`. The compiler ends first, and its output is removed."""
    script = f"#!/bin/sh\necho > fifo\nread line < go\ntouch x.o\nexit {fails}\n"
    (tmp_path / "gcc").write_text(script)
    (tmp_path / "gcc").chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "go")
    command = [sys.executable, "-m", "pybtf", "cc", "--", "./gcc", "-c", "x.c"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        (tmp_path / "fifo").read_text()
        process.send_signal(signal.SIGINT)
        (tmp_path / "go").write_text("\n")
        assert process.wait(30) == (fails or -signal.SIGINT)
    assert (tmp_path / "x.o").exists() == bool(fails)  # why it fails does not matter


def test_an_interrupt_of_both(tmp_path: Path) -> None:
    """As by Ctrl-C. A shell that runs this in a loop ends only if its child ends by the signal."""
    os.mkfifo(tmp_path / "fifo")
    command = [sys.executable, "-m", "pybtf", "cc", "--", "sh", "-c", f"echo > {tmp_path}/fifo; exec sleep 60"]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE) as process:
        (tmp_path / "fifo").read_text()
        time.sleep(0.1)  # `exec`
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == -signal.SIGINT


def test_a_compiler_that_is_interrupted_alone() -> None:
    done = subprocess.run([sys.executable, "-m", "pybtf", "cc", "--", "sh", "-c", "kill -INT $$"], check=False)
    assert done.returncode == 128 + signal.SIGINT


def test_a_signal_that_is_ignored_stays_so() -> None:
    inside = ["-m", "pybtf", "cc", "--", "sh", "-c", "kill -HUP $PPID $$; echo both live"]
    done = subprocess.run(
        [sys.executable, "-c", IGNORING.format(1), sys.executable, *inside],
        capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "both live\n")
