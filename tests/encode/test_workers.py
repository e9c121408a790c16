"""Forked workers: every task gets its result or an honest end, whatever happens to a worker, and none is left over."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pybtf import workers
from pybtf.core.support.shared_counter import Tickets
from pybtf.support.threads import Check
from pybtf.workers import BROKEN, Ended, Workers
from tests.conftest import RunCli, environment
from tests.encode.test_batch import BASE, TARGET
from tests.encode.test_split import FEATURES, check, module

KILLED = Ended(-signal.SIGKILL)
PROGRAMS: list[subprocess.Popen[str]] = []
"""What the running test has started."""


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Each test ends without children, and with the descriptors it began with."""
    global TESTS
    TESTS = os.getpid()  # which need not be the process that imported this file
    assert threading.active_count() == 1, "this process would not be forked"
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    yield
    for program in PROGRAMS:  # left by a failed test: the others must not fail for that
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
    PROGRAMS.clear()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def run(tasks: list[Any], work: Callable[[Any, Check], Any], count: int) -> dict[int, Any]:
    with Workers(tasks, work, count) as them:
        results = list(them)
    assert len({number for number, _ in results}) == len(results)
    return dict(results)


def kill_this(number: int) -> None:
    assert os.getpid() != TESTS, "a worker was expected"
    os.kill(os.getpid(), number)


TESTS = os.getpid()


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_results(count: int) -> None:
    tasks = list(range(50))
    results = run(tasks, lambda task, _: (task * task, os.getpid(), "\udc80é", None, [0.5, {"key": b"value"}]), count)
    assert sorted(results) == tasks
    for number, (square, _, *rest) in results.items():
        assert (square, rest) == (number * number, ["\udc80é", None, [0.5, {"key": b"value"}]])
    pids = {result[1] for result in results.values()}
    assert (TESTS in pids) == (count == 1)


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_as_many_workers_as_wanted() -> None:
    """Four tasks that wait for each other need four workers."""
    begun = mmap.mmap(-1, 4)

    def work(task: int, _: Check) -> int:
        begun[task] = 1
        wait_until(lambda: sum(begun[:]) == 4)
        return os.getpid()

    assert len(set(run(list(range(4)), work, 4).values())) == 4


def test_one_task_stays_at_home() -> None:
    assert run([7], lambda task, _: (task, os.getpid()), 8) == {0: (7, TESTS)}
    assert run([], lambda task, _: task, 8) == {}


def test_many_tasks() -> None:
    """More than their pipe holds. Each is done once."""
    assert run(list(range(40_000)), lambda task, _: -task, 3) == {number: -number for number in range(40_000)}


def test_large_results() -> None:
    """Larger than a pipe holds, and from several workers at the same time."""
    results = run(list(range(8)), lambda task, _: bytes([task]) * 1_000_000, 3)
    assert results == {number: bytes([number]) * 1_000_000 for number in range(8)}


def test_full_pipes_are_emptied_in_time() -> None:
    """This process reads them ten times a second, unless that makes workers wait: here, 200 times."""
    start = time.monotonic()
    results = run(list(range(6000)), lambda task, _: bytes(4000), 2)
    assert len(results) == 6000
    assert time.monotonic() - start < 10


def test_results_come_meanwhile() -> None:
    """Somebody may be watching a progress bar: the last task ends only after a result has come."""
    seen = mmap.mmap(-1, 1)

    def work(task: int, _: Check) -> None:
        if task == 39:
            wait_until(lambda: seen[0] == 1)

    with Workers(list(range(40)), work, 2) as them:
        for number, result in them:
            seen[0] = 1
            assert result is None, number


def test_what_they_took_is_counted() -> None:
    def work(_task: int, _: Check) -> int:
        memory = bytearray(b"x") * 40_000_000
        start = time.process_time()
        while time.process_time() - start < 0.05:
            pass
        return len(memory)

    with Workers(list(range(4)), work, 2) as them:
        list(them)
    assert 0.2e9 <= them.cpu < 2e9
    assert them.peak >= 80_000_000


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("deadly", [{0}, {5}, {19}, {3, 4, 5, 6}, set(range(20))])
def test_killed(count: int, deadly: set[int]) -> None:
    """The task in progress is reported as killed; all others are done."""

    def work(task: int, _: Check) -> int:
        if task in deadly:
            kill_this(signal.SIGKILL)
        return task

    assert run(list(range(20)), work, count) == {n: KILLED if n in deadly else n for n in range(20)}


def test_children_whose_end_is_of_no_interest() -> None:
    """This setting can be inherited."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        results = run([signal.SIGTERM, signal.SIGKILL], lambda task, _: kill_this(task), 2)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert results == {0: Ended(-signal.SIGTERM), 1: KILLED}


def test_ways_to_end() -> None:
    def vanish(name: str) -> None:
        with open(f"/proc/self/fd/{os.memfd_create(name)}", "r+b") as file:
            file.truncate(8192)
            with mmap.mmap(file.fileno(), 8192) as data:
                file.truncate(0)
                data[5000]  # the kernel has no memory to give

    def fail() -> None:
        raise ValueError

    ways: list[Callable[[], Any]] = [
        lambda: os._exit(3), lambda: kill_this(signal.SIGTERM), lambda: kill_this(signal.SIGINT), object, fail,
        lambda: vanish("gone"), lambda: 5,
    ]  # fmt: skip
    results = run(ways, lambda task, _: task(), 2)
    ends = [3, -signal.SIGTERM, -signal.SIGINT, BROKEN, BROKEN, -signal.SIGBUS]
    assert [results[number] for number in range(7)] == [*map(Ended, ends), 5]


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_fork_refused(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """Fewer workers, or none, do the same work, even if one of them dies and cannot be replaced."""
    fork = os.fork
    forks: list[None] = []

    def some_forks() -> int:
        if len(forks) == allowed:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        forks.append(None)
        return fork()

    def work(task: int, _: Check) -> int:
        if task == 2 and os.getpid() != TESTS:
            kill_this(signal.SIGKILL)
        return task

    monkeypatch.setattr(os, "fork", some_forks)
    expected: dict[int, Any] = {number: number for number in range(9)}
    if allowed:
        expected[2] = KILLED
    assert run(list(range(9)), work, 4) == expected


@pytest.mark.parametrize("allowed", [0, 1])
def test_no_descriptors(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    pipe = os.pipe
    pipes: list[None] = []

    def some_pipes() -> tuple[int, int]:
        if len(pipes) == allowed:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        pipes.append(None)
        return pipe()

    monkeypatch.setattr(os, "pipe", some_pipes)
    (process,) = set(run([1, 2, 3], lambda task, _: os.getpid(), 2).values())
    assert (process == TESTS) == (allowed == 0)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 40])
def test_second_steps_are_done_together(count: int, number: int) -> None:
    """The process that did the first steps does them, for eight tasks in a row, and for the rest at the end."""
    begun: list[int] = []

    def work(task: int, _: Check) -> int:
        begun.append(task)
        return task

    def finish(made: int) -> tuple[int, int]:
        return made, len(begun) - begun.index(made)

    with Workers(list(range(number)), work, count, None, finish, 8) as them:
        results = dict(them)
    assert sorted(results) == list(range(number))
    assert all(made == each for each, (made, _) in results.items())
    waited = [tasks for _, tasks in results.values()]
    if min(count, number) > 1:
        assert set(waited) <= set(range(1, 9))
        assert number < 40 or waited.count(8) >= 2
    else:
        assert set(waited) <= {1}


def test_half_of_the_workers_take_the_dearest_tasks() -> None:
    """The other half take the cheapest, and all tasks are done."""

    def work(_task: int, _: Check) -> int:
        time.sleep(0.005)
        return os.getpid()

    found = run(list(range(40)), work, 2)
    order = [found[number] for number in range(40)]
    first, last = order[0], order[-1]
    assert first != last
    assert order == [first] * order.count(first) + [last] * order.count(last)


def test_each_ticket_is_given_once() -> None:
    """Forked processes take tickets as fast as they can, from both ends."""
    count, children = 20_000, []
    tickets = Tickets(count)
    read, write = os.pipe()
    for take in (tickets.first, tickets.last, tickets.first, tickets.last):
        child = os.fork()
        if not child:
            mine = array("i", iter(take, -1))
            os.write(write, struct.pack("ii", len(mine), sum(mine)))
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    numbers, sums = zip(*struct.iter_unpack("ii", os.read(read, 1000)), strict=True)
    os.close(read)
    os.close(write)
    assert (sum(numbers), sum(sums)) == (count, count * (count - 1) // 2)
    assert (tickets.first(), tickets.last()) == (-1, -1)


def test_withdrawn_tickets() -> None:
    tickets = Tickets(3)
    assert (tickets.first(), tickets.last()) == (0, 2)
    tickets.withdraw()
    assert (tickets.first(), tickets.last()) == (-1, -1)
    assert Tickets(0).first() == -1


def test_a_task_taken_by_a_worker_that_told_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_tell", lambda *_: os._exit(9))
    assert run([1, 2, 3], lambda task, _: task, 2) == {0: 1, 1: 2, 2: 3}


def test_beside_threads_nothing_is_forked() -> None:
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    try:
        assert run([1, 2], lambda task, _: os.getpid(), 2) == {0: TESTS, 1: TESTS}
    finally:
        leave.set()
        thread.join()


def test_leaving_early() -> None:
    """Leaving early does not wait for any task."""
    start = time.monotonic()
    with Workers([0, 60, 60, 60], lambda task, _: time.sleep(task), 2) as them:
        assert next(iter(them)) == (0, None)
    assert time.monotonic() - start < 20


# Whole programs that get signals

PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pybtf.workers import Workers
def work(task, check):
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        check(0, 0)
        time.sleep(0.01)
with Workers([1, 2, 3], work, 2) as them:
    list(them)
"""


def execute(code: str) -> subprocess.Popen[str]:
    """Starts this program in a session of its own."""
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        start_new_session=True,
    )  # fmt: skip
    PROGRAMS.append(program)
    return program


def running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("group", [False, True])
def test_signals(number: signal.Signals, group: bool) -> None:
    """Sent to this process or to the whole terminal. It ends by that signal, and so do its workers, silently.

    When `wait` returns, the workers are gone already, unless the process was killed: then they notice soon.
    """
    program = execute(PROGRAM)
    assert program.stdout is not None
    pids = [int(program.stdout.readline()) for _ in range(2)]
    (os.killpg if group else os.kill)(program.pid, number)
    program.wait(20)
    if number == signal.SIGKILL:
        wait_until(lambda: not any(map(running, pids)))
    assert not any(map(running, pids))
    said = program.communicate()[1].splitlines()
    assert program.returncode == -number
    assert [line for line in said if "Error" in line or "Exception" in line] == []
    assert said[-1:] == (["KeyboardInterrupt"] if number == signal.SIGINT else [])


# The command line

PATCHED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pybtf.cli import batch, main
{patch}
status = main.main({arguments})
os._exit(status)
"""


@pytest.fixture
def modules(tmp_path: Path) -> list[Path]:
    paths = []
    for number in range(12):
        paths.append(tmp_path / f"{number:02}.ko")
        paths[-1].write_bytes(module(TARGET, "reuse").read_bytes())
    return paths


def start(patch: str, *arguments: object) -> subprocess.Popen[str]:
    options = ["encode", "--base", BASE, "--features", FEATURES, *arguments]
    code = PATCHED.format(patch=patch, arguments=[str(each) for each in options])
    return execute(code)


DIE = """
before = batch.encode_one
def encode(path, *rest, **more):
    if path.endswith("05.ko"):
        {how}
    return before(path, *rest, **more)
batch.encode_one = encode
"""


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "the process that encoded it was killed. If memory was short"),
        ("os.kill(os.getpid(), signal.SIGBUS)", 1, "can no longer be read: it was truncated meanwhile"),
        ("os.kill(os.getpid(), signal.SIGTERM)", 1, "the process that encoded it was ended by signal 15 (Terminated)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 70, "internal error: a worker was ended by signal 11"),
        ("os._exit(5)", 70, "internal error: a worker ended with status 5"),
        ("raise MemoryError", 1, "not enough memory; fewer jobs (-j) need less"),
        ("raise KeyError('x')", 70, "internal error: KeyError: 'x'"),
    ],
)
def test_one_file_fails_alone(modules: list[Path], tmp_path: Path, how: str, status: int, message: str) -> None:
    out = tmp_path / "out"
    program = start(DIE.format(how=how), "-j2", "--detached-dir", out, *modules)
    said = program.communicate(timeout=60)[1].splitlines()
    assert program.returncode == status
    assert said[0].startswith(f"pybtf: error: {modules[5]}: {message}"), said
    assert said[1].startswith("12 files: 11 encoded (")
    assert len(said) == 2
    assert sorted(path.name for path in out.iterdir()) == [f"{path.name}.btf" for path in modules if path != modules[5]]
    for path in out.iterdir():
        check(path.read_bytes(), TARGET, "reuse", "split")


WAIT = """
import errno
from pybtf.elf import atomic
def unsupported(*_):
    raise OSError(errno.EOPNOTSUPP, "")
atomic.open_unnamed = unsupported  # as on NFS: files have a name from the start
before = os.rename
def wait(*names, **more):
    if "05" in names[1]:
        print(os.getpid(), flush=True)
        for _ in range(6000):
            time.sleep(0.01)  # a signal that comes just before one of them is handled after it
    before(*names, **more)
os.rename = wait
"""


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True])
def test_signals_leave_no_files(
    modules: list[Path], tmp_path: Path, jobs: int, number: signal.Signals, group: bool
) -> None:
    """Sent while a worker has written a file that does not have its final name yet."""
    out = tmp_path / "out"
    program = start(WAIT, f"-j{jobs}", "--detached-dir", out, *modules)
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    assert (pid == program.pid) == (jobs == 1)
    wait_until(lambda: any(path.name.startswith(".") for path in out.iterdir()))
    (os.killpg if group else os.kill)(program.pid, number)
    said = program.communicate(timeout=20)[1]
    assert not running(pid)
    if number == signal.SIGINT:
        assert (program.returncode, said) == (130, "pybtf: error: interrupted\n")
    else:
        assert (program.returncode, said) == (-number, "")
    assert {path.name for path in out.iterdir()} <= {f"{path.name}.btf" for path in modules if path != modules[5]}


def test_the_report_is_the_same_from_workers(modules: list[Path], tmp_path: Path, run_cli: RunCli) -> None:
    """All facts, and the sum of the passes, are the same for any number of workers."""
    import json

    facts = []
    for jobs in (1, 2, 5, 24):
        report, out = tmp_path / f"{jobs}.json", tmp_path / "out"
        options = ["--base", BASE, "--features", FEATURES, "--report", report, "--detached-dir", out, f"-j{jobs}"]
        done = run_cli("encode", *options, *modules)
        assert done.returncode == 0, done.stderr
        whole = json.loads(report.read_text())
        files = next(each for each in whole["timings"]["passes"] if each["name"] == "files")
        assert {each["name"]: each["calls"] for each in files["passes"]}["units"] == len(modules)
        assert sum(each["cpu_seconds"] for each in files["passes"]) <= files["cpu_seconds"] * 1.05
        assert whole["timings"]["cpu_seconds"] >= files["cpu_seconds"]
        assert whole["peak_memory_bytes"] > jobs * 1_000_000
        for each in whole["files"]:
            del each["report"]["timings"], each["report"]["peak_memory_bytes"], each["report"]["jobs"]
        facts.append(whole["files"])
    assert facts[0] == facts[1] == facts[2] == facts[3]
