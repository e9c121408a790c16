"""The jobserver of make: tokens are taken up to the limit, and always given back, whatever happens."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from pybtf.pahole.faults import Terminated
from pybtf.pahole.jobserver import _Pipe, workers
from tests.conftest import ROOT, environment

ELF = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
TOKENS = b"abc"


class Make:
    """A jobserver with three tokens, as make offers it."""

    def __init__(self, reading: int, writing: int, flags: str) -> None:
        self.reading, self.writing, self.flags = reading, writing, flags
        os.write(writing, TOKENS)

    def tokens(self) -> bytes:
        """The tokens that are in the pipe now."""
        os.set_blocking(self.reading, False)
        try:
            found = os.read(self.reading, 100)
        except BlockingIOError:
            return b""
        os.write(self.writing, found)
        return bytes(sorted(found))


@pytest.fixture(params=["pipe", "old pipe", "fifo"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    if request.param == "fifo":
        path = tmp_path / "fifo"
        os.mkfifo(path)
        fd = os.open(path, os.O_RDWR)
        yield Make(fd, fd, f"rR -j4 --jobserver-auth=fifo:{path} -- PAHOLE=x --jobserver-auth=9,9")
        os.close(fd)
        return
    reading, writing = os.pipe()
    option = "--jobserver-fds" if request.param == "old pipe" else "--jobserver-auth"
    yield Make(reading, writing, f" -j4 {option}=77,78 {option}={reading},{writing} -- PAHOLE=x")
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(("wanted", "granted"), [(1, 1), (2, 2), (4, 4), (9, 4)])
def test_as_many_workers_as_there_are_tokens(make: Make, wanted: int, granted: int) -> None:
    with workers(wanted, make.flags) as jobs:
        assert jobs == granted
        assert len(make.tokens()) == 3 - (granted - 1)
    assert make.tokens() == TOKENS


def test_nobody_waits_for_tokens(make: Make) -> None:
    with workers(4, make.flags), workers(4, make.flags) as second:
        assert second == 1
    assert make.tokens() == TOKENS


def test_the_pipe_stays_as_make_made_it(make: Make) -> None:
    """O_NONBLOCK on the shared description would make other clients fail."""
    before = os.get_blocking(make.reading), os.get_blocking(make.writing)
    with workers(4, make.flags):
        assert (os.get_blocking(make.reading), os.get_blocking(make.writing)) == before


def test_tokens_are_given_back_after_an_error(make: Make) -> None:
    with pytest.raises(KeyError), workers(4, make.flags):
        raise KeyError
    assert make.tokens() == TOKENS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_are_raised_while_tokens_are_held_and_only_then(make: Make, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Terminated) as caught, workers(4, make.flags):
        os.kill(os.getpid(), number)
    assert caught.value.number == number
    assert make.tokens() == TOKENS
    assert signal.getsignal(number) == before


def test_ignored_signals_stay_ignored(make: Make) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with workers(4, make.flags):
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert make.tokens() == TOKENS


@pytest.mark.parametrize("moment", ["__exit__", "give_back", "write"])
def test_a_signal_while_tokens_are_given_back(make: Make, moment: str) -> None:
    """When the block ends, each token goes back once, and the signal is not lost."""
    calls: list[str] = []

    def profile(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_name if event == "call" else getattr(argument, "__name__", "")
        if event in ("call", "c_call") and name == moment and not calls:
            calls.append(name)
            os.kill(os.getpid(), signal.SIGTERM)

    before = sys.getprofile()
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        with pytest.raises(Terminated) as caught, workers(4, make.flags):
            sys.setprofile(profile)
    finally:
        sys.setprofile(before)
        for number, handler in zip(numbers, handlers, strict=True):  # the signal skips restoring them
            signal.signal(number, handler)
    assert calls == [moment]
    assert caught.value.number == signal.SIGTERM
    assert make.tokens() == TOKENS


def test_a_signal_that_another_thread_gets(make: Make) -> None:
    """It is not blocked there, and Python handles it in this thread: after writing a token and before noting that."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    context = workers(4, make.flags)

    def profile(_frame: FrameType, event: str, argument: object) -> None:
        if event == "c_return" and getattr(argument, "__name__", "") == "write":
            sys.setprofile(None)
            signal.pthread_kill(thread.ident or 0, signal.SIGTERM)
            while not context._late:
                time.sleep(0.001)

    before = sys.getprofile()
    try:
        with pytest.raises(Terminated), context:
            sys.setprofile(profile)
    finally:
        sys.setprofile(before)
        done.set()
        thread.join()
    assert make.tokens() == TOKENS


def test_a_signal_while_tokens_are_taken(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    take = _Pipe.take

    def taken(pipe: _Pipe, wanted: int) -> None:
        take(pipe, wanted)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(_Pipe, "take", taken)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated):
        workers(4, make.flags).__enter__()
    assert make.tokens() == TOKENS
    assert signal.getsignal(signal.SIGTERM) == before


def descriptors() -> list[str]:
    return os.listdir("/proc/self/fd")  # noqa: PTH208


def test_no_descriptor_stays_open(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()
    with workers(4, make.flags):
        assert len(descriptors()) > len(before)
    assert descriptors() == before
    with workers(4, "--jobserver-auth=fifo:/dev/null"):
        assert descriptors() == before

    def dup(_fd: int) -> int:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(os, "dup", dup)
    with workers(4, make.flags):
        pass
    assert descriptors() == before


def test_one_worker_needs_nothing_of_make(make: Make) -> None:
    """No descriptor is opened, no signal handler set."""
    number = signal.SIGTERM
    before = descriptors(), signal.getsignal(number)
    with workers(1, make.flags) as jobs:
        assert jobs == 1
        assert (descriptors(), signal.getsignal(number)) == before
    assert make.tokens() == TOKENS


def closed_descriptors() -> str:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    return f"{reading},{writing}"


@pytest.mark.parametrize(
    "flags",
    [
        "", "rR", "-j", "-j --jobserver-auth=-2,-2", "--jobserver-auth=", "--jobserver-auth=fifo:",
        "--jobserver-auth=3", "--jobserver-auth=fifo:/no/such/fifo", "--jobserver-auth=fifo:/dev/null",
        "--jobserver-auth=a,b",
        "--jobserver-auth=1,2,3", "-- --jobserver-auth=0,1", "--jobserver-auth=99999999999999999999,1",
    ],
)  # fmt: skip
def test_without_a_usable_jobserver_the_option_decides(flags: str) -> None:
    with workers(3, flags) as jobs:
        assert jobs == 3


def test_descriptors_that_make_did_not_pass_on(tmp_path: Path) -> None:
    with workers(3, f"--jobserver-auth={closed_descriptors()}") as jobs:
        assert jobs == 3
    with open(tmp_path / "file", "w+b") as other:  # other files were opened under these numbers
        other.write(TOKENS)
        other.seek(0)
        with workers(3, f"--jobserver-auth={other.fileno()},{other.fileno()}") as jobs:
            assert jobs == 3
        assert other.read() == TOKENS


def test_make_is_gone_when_tokens_are_given_back() -> None:
    reading, writing = os.pipe()
    os.write(writing, TOKENS)
    with workers(3, f"--jobserver-auth={reading},{writing}") as jobs:
        os.close(reading)
        os.close(writing)
        assert jobs == 3


def test_descriptors_that_are_of_two_pipes() -> None:
    """make's descriptors were closed, and other pipes have their numbers: nobody would read returned tokens."""
    (reading, writing), (other, broken) = os.pipe(), os.pipe()
    os.write(writing, TOKENS)
    with workers(3, f"--jobserver-auth={reading},{broken}") as jobs:
        os.close(other)
        assert jobs == 3
    for fd in (reading, writing, broken):
        os.close(fd)


def test_not_in_the_main_thread(make: Make) -> None:
    """Python sets signal handlers in the main thread only; tokens must not depend on it."""
    seen: list[int] = []

    def work() -> None:
        with workers(4, make.flags) as jobs:
            seen.append(jobs)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [4]
    assert make.tokens() == TOKENS


# As processes


def test_a_killed_process_has_given_its_tokens_back(make: Make) -> None:
    code = (
        "import os, sys, time\n"
        "import pybtf.pahole.main as main, pybtf.pipeline.passes as passes\n"
        "def encode_file(*_, **options):\n"
        "    print('working', flush=True)\n"
        "    for _ in range(6000):\n"
        "        time.sleep(0.01)\n"  # a signal that comes just before one of them is handled after it
        "passes.encode_file = encode_file\n"
        "import pybtf.pahole.run as run\n"
        "run.BYTES_PER_WORKER = 1\n"
        f"sys.exit(main.main(['-J', '-j4', {str(ELF)!r}]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**environment(), "MAKEFLAGS": make.flags},
        pass_fds={make.reading, make.writing},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        assert make.tokens() == b""
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    assert make.tokens() == TOKENS


MAKEFILE = """\
all: 1 2 3 4 5 6
1 2 3 4 5 6:
	+@$(PYTHON) -c '$(CODE)' -J -j --btf_encode_detached=$(OUT)/$@ $(ELF)
"""


def test_under_a_real_make(require: Callable[[str], str], tmp_path: Path) -> None:
    """Six encodings at once each want four workers, but never more than make's three jobs run at a time."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    log = tmp_path / "log"
    code = (
        "import os, sys; from pybtf.pahole import jobserver, main, run; "
        "run.BYTES_PER_WORKER = 1; run.available_cpus = lambda: 4; inner = jobserver._Pipe.take; "
        'note = lambda n: os.write(log, b"%d\\n" % n); '
        f'log = os.open("{log}", os.O_WRONLY | os.O_APPEND | os.O_CREAT); note(1); '
        "jobserver._Pipe.take = lambda self, n: (inner(self, n), note(len(self.tokens))) and None; "
        "back = jobserver._Pipe.give_back; "
        "jobserver._Pipe.give_back = lambda self: (note(-len(self.tokens)), back(self)) and None; "
        "status = main.main(sys.argv[1:]); note(-1); sys.exit(status)"
    )
    done = subprocess.run(
        [
            require("make"), "-s", "-C", tmp_path, "-j3", f"PYTHON={sys.executable}", f"CODE={code.replace('$', '$$')}",
            f"OUT={tmp_path}", f"ELF={ELF}",
        ],
        env={name: value for name, value in environment().items() if "MAKE" not in name},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    running, most = 0, 0
    for line in log.read_text().split():
        running += int(line)
        most = max(most, running)
    assert running == 0
    assert 2 <= most <= 3
    outputs = {(tmp_path / str(number)).read_bytes() for number in range(1, 7)}
    assert len(outputs) == 1
