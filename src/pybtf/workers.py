"""Worker processes for a batch: forked when the base has been read, so that they share it.

*Why processes.* The compiled core runs without the interpreter's lock, but a tenth of a module's time is Python, and
there two threads pass the lock to each other, each time waiting for the scheduler. They also share one address space,
so that each unmapping of memory by one interrupts the other. Processes take a fifth less time. But they must not load
the interpreter, the compiled core, and above all the base with its index again. A fork has all that at once, and the
pages stay shared until a process writes to them.

*Who does what.* Tasks are ordered, the most expensive first. They have numbers in a word of memory that all processes
share (core/support/shared_counter.py): whoever is free takes the next. So no worker waits for this process. Half of the
workers take the most expensive task left, so that none is still busy with one when the others have run out of work; the
other half take the cheapest, and never need as much memory as the most expensive ones do. With each result, a worker
says through a pipe of its own which task it has taken next. Results cross as `marshal` writes them: `work` may return
only what that knows, numbers, texts, tuples, lists, dicts. This process takes them now and then, many at a time: each
time it wakes up, a worker loses its CPU and the contents of its caches. It wakes up earlier when a worker ends, which
is also how it learns that all is done, and for a result that does not fit into the pipe.

*What is done together.* A task has two steps, `work` and `finish`, and a worker may take the second for several tasks
in a row. After a file has been encoded, the processor's caches hold nothing else, so code that runs once per file
keeps waiting for memory; the second time in a row it does not.

*When a worker dies,* killed for its memory, or by SIGBUS because its input was truncated, the end of its pipe tells.
The task it had is `Ended`; another worker takes its place. Where the system refuses a fork, fewer workers do the same,
and if there is none, or a task was lost between two words or two steps, this process does what is left.

*When this process ends.* Each worker has the default action for SIGINT, which a terminal sends to all of them, for
SIGTERM and SIGHUP; elf/atomic.py removes what is half written. This process sends SIGTERM to all and waits for them,
whether it leaves by an exception or by a signal. If it is killed, a worker notices while it encodes (it has another
parent), or at the latest when nobody takes its result.

Workers never return from here: they end by `_exit`, having written nothing but their results. Only a process with one
thread may fork, and only a program: a library would fork somebody else's process.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import select
import signal
import sys
import threading

from pybtf.core.support.shared_counter import Tickets
from pybtf.elf.atomic import EndSignals, write_all
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Check = Callable[[int, int], None]

_NONE = -1
_NUMBER = 4  # bytes of a task's number, and of the size of a result
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DEADLY = (*_ENDING, signal.SIGBUS)
_READ = 1 << 16  # as much as a pipe holds
_PAUSE = 0.1  # seconds. A signal that came between two instructions, just before a wait, is handled after it, too
_SHORTEST = 0.001
BROKEN = 70
"""Exit status of a worker that could not tell its result, as that of any bug."""


@record(frozen=True)
class Ended:
    """Instead of a result: the worker ended meanwhile, with this exit status, or by this signal (negative)."""

    status: int


class Orphaned(BaseException):
    """Nobody waits for this worker's result any longer. Not an `Exception`: it is not a failure of the task."""


class Workers:
    """Runs `finish(work(task, check))` for each of `tasks` in `count` processes; iterate over it for `(index, result)`.

    Results come as they are made. Neither step may raise, and what comes of both is what `marshal` can write. `finish`
    is called for up to `together` tasks in a row, whose results wait for each other. `work` calls `check` now and
    then, which has the form of what is told about progress. Each process calls `begin` first. With one worker or one
    task all is done in this process, without `begin`. To be used as a context manager, which ends the workers.
    Afterwards `cpu` is the CPU time of all of them in nanoseconds, and `peak` the sum of their peaks of memory in
    bytes, of as many as there were at a time.
    """

    def __init__(
        self,
        tasks: Sequence[Any],
        work: Callable[[Any, Check], Any],
        count: int,
        begin: Callable[[], None] | None = None,
        finish: Callable[[Any], Any] | None = None,
        together: int = 1,
    ) -> None:
        self._tasks = tasks
        self._begin = begin
        self._work = work
        self._finish = finish or (lambda made: made)
        self._together = together
        self._count = min(count, len(tasks))
        self._pause = _PAUSE
        self._children: dict[int, _Child] = {}  # by the descriptor of their results
        self._tickets = Tickets(len(tasks))
        self._peaks: list[int] = []
        self._signals = EndSignals(self._end)
        self.cpu = 0

    @property
    def peak(self) -> int:
        return sum(sorted(self._peaks)[-self._count :])

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._signals.release()

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        left = set(range(len(self._tasks)))
        if self._count > 1 and threading.active_count() == 1:
            for number, result in self._forked():
                left.remove(number)
                yield number, result
        for number in sorted(left):
            yield number, self._finish(self._work(self._tasks[number], _go_on))

    def _forked(self) -> Iterator[tuple[int, Any]]:
        """What workers achieve: all tasks, unless the system refuses to fork."""
        gc.freeze()  # a look for garbage would write to all objects, and so copy their pages
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, nobody learns how a child ended
        self._signals.catch()
        while len(self._children) < self._count and self._fork():
            pass
        while self._children:
            self._wait()
            for fd, child in list(self._children.items()):
                yield from child.results()
                if not child.ended:
                    continue
                status = self._reap(fd)
                if child.holds != _NONE:
                    yield child.holds, Ended(status)
                    self._fork()
        self._signals.release()  # what is left writes in this process, and cleans up itself

    def _wait(self) -> None:
        """Until a worker ends, or one waits for this process, but not longer than a pause."""
        poll = select.poll()
        for fd, child in self._children.items():
            poll.register(fd, select.POLLIN if child.is_speaking else 0)  # 0: only of the end
        poll.poll(1000 * self._pause)
        for child in self._children.values():
            if child.receive() > _READ // 2 and self._pause > _SHORTEST:
                self._pause /= 2  # nobody should have to wait because a pipe is full

    def _fork(self) -> bool:
        """Start one worker. False if the system does not allow it."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # it will be said at the end
                stream.flush()
        try:
            results, out = os.pipe()
        except OSError:
            return False
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # no child that is not known, and no half-made one
        try:
            try:
                pid = os.fork()
            except OSError:
                os.close(results)
                return False
            if pid:
                self._children[results] = _Child(pid, results)
            else:
                self._be_worker(results, out, parent, before)
        finally:
            os.close(out)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return True

    def _be_worker(self, results: int, out: int, parent: int, mask: set[Any]) -> None:
        """All of the life of a worker; does not return."""
        status = BROKEN
        try:
            for number in _DEADLY:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for fd in (results, *self._children):
                os.close(fd)
            largest = len(self._children) % 2 == 0
            self._serve(out, parent, self._tickets.first if largest else self._tickets.last)
            status = 0
        except (Orphaned, BrokenPipeError):
            status = 0  # as nobody will know
        finally:
            os._exit(status)

    def _serve(self, out: int, parent: int, take: Callable[[], int]) -> None:
        def check(done: int = 0, total: int = 0) -> None:
            if os.getppid() != parent:
                raise Orphaned

        if self._begin is not None:
            self._begin()
        made: list[tuple[int, Any]] = []
        news = b""
        while (number := take()) != _NONE:
            _tell(out, number, news)
            made.append((number, self._work(self._tasks[number], check)))
            news = self._finish_all(made) if len(made) >= self._together else b""
        _tell(out, _NONE, news or self._finish_all(made))

    def _finish_all(self, made: list[tuple[int, Any]]) -> bytes:
        """The second step of these tasks, which are none afterwards: their results, as they cross."""
        results = [(number, self._finish(each)) for number, each in made]
        made.clear()
        return marshal.dumps(results)

    def _end(self) -> None:
        """End all workers; also called by a signal, at any moment."""
        self._tickets.withdraw()  # those that SIGTERM does not end find no more tasks
        for child in self._children.values():
            os.kill(child.pid, signal.SIGTERM)
        while self._children:
            self._reap(next(iter(self._children)))

    def _reap(self, fd: int) -> int:
        """Forget a worker that has ended or is about to, and note what it took. Its exit status, or minus a signal."""
        child = self._children.pop(fd)  # before its number may be that of another process
        _, status, usage = os.wait4(child.pid, 0)
        os.close(fd)
        self.cpu += round((usage.ru_utime + usage.ru_stime) * 1e9)
        self._peaks.append(usage.ru_maxrss * 1024)
        return os.waitstatus_to_exitcode(status)


class _Child:
    """What this process knows of a worker: the task it has (`holds`), and what it said, as far as it was read."""

    def __init__(self, pid: int, fd: int) -> None:
        os.set_blocking(fd, False)
        self.pid = pid
        self.holds = _NONE
        self.ended = False
        self._fd = fd
        self._said = b""

    @property
    def is_speaking(self) -> bool:
        """Whether a part of a result has come."""
        return bool(self._said)

    def receive(self) -> int:
        """Read what there is: so many bytes. At the end, it has `ended`."""
        try:
            data = os.read(self._fd, _READ)
        except BlockingIOError:
            return 0
        self.ended = not data
        self._said += data
        return len(data)

    def results(self) -> Iterator[tuple[int, Any]]:
        """The results that have come completely."""
        said, start = self._said, 0
        while (news := start + 2 * _NUMBER) <= len(said):
            end = news + int.from_bytes(said[start + _NUMBER : news], "little")
            if len(said) < end:
                break
            self.holds = int.from_bytes(said[start : start + _NUMBER], "little", signed=True)
            if news < end:
                yield from marshal.loads(said[news:end])
            start = end
        self._said = said[start:]


def _go_on(done: int = 0, total: int = 0) -> None:
    """The `check` of a task that is done in this process: whoever is to stop it sends a signal."""


def _tell(fd: int, number: int, news: bytes) -> None:
    """What a worker says: the number of the task it has taken, and the result of the one before."""
    write_all(fd, number.to_bytes(_NUMBER, "little", signed=True) + len(news).to_bytes(_NUMBER, "little") + news)
