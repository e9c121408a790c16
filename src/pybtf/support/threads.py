"""Tasks side by side on threads, for `encode_many`: a library must not fork, for the process is somebody else's.

The command line has better workers, see workers.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

Check = Callable[[int, int], None]


class Stopped(Exception):
    """The batch has ended before this task did."""


class SideBySide(Generic[Task, Result]):
    """Runs `work(task, check)` for each of `tasks`, on `workers` threads; iterate over it for the results.

    An iteration gives `(index, result)` as the results come, where an exception that `work` raised is the result of
    its task. With `ahead`, only so many tasks are begun at first, and one more for each call of `proceed`. `check`,
    which `work` calls now and then, raises `Stopped` if the caller is gone. To be used as a context manager, which
    waits for the threads.
    """

    def __init__(
        self, tasks: Sequence[Task], work: Callable[[Task, Check], Result], workers: int, ahead: int | None = None
    ) -> None:
        self._tasks = tasks
        self._work = work
        self._done: SimpleQueue[tuple[int, Result | BaseException]] = SimpleQueue()
        self._room = threading.Semaphore(len(tasks) if ahead is None else ahead)
        self._numbers = iter(range(len(tasks)))
        self._turn = threading.Lock()  # iterators are not atomic without the interpreter's lock
        self._stop = False
        count = min(workers, len(tasks))
        self._threads = [threading.Thread(target=self._run, name=f"pybtf-file-{i}", daemon=True) for i in range(count)]

    def __enter__(self) -> SideBySide[Task, Result]:
        for number, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError:  # the system allows no more: fewer do the same
                if number == 0:
                    raise
                del self._threads[number:]
                break
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._room.release(max(1, len(self._threads)))
        for thread in self._threads:
            thread.join()

    def __iter__(self) -> Iterator[tuple[int, Result | BaseException]]:
        for _ in self._tasks:
            yield self._done.get()

    def proceed(self) -> None:
        """Let one more task begin."""
        self._room.release()

    def _check(self, done: int = 0, total: int = 0) -> None:
        """Has the form of what is told about progress, since that is what is called now and then."""
        if self._stop:
            raise Stopped

    def _run(self) -> None:
        while True:
            self._room.acquire()
            with self._turn:
                number = next(self._numbers, None)
            if number is None or self._stop:
                return
            result: Result | BaseException
            try:
                result = self._work(self._tasks[number], self._check)
            except BaseException as error:
                result = error
            self._done.put((number, result))
