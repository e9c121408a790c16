"""Many files, encoded side by side in one process.

Encoding a module takes seven milliseconds, starting a process and reading a kernel's BTF more than a hundred. So there
is one process, one base, and as many threads as there are jobs; the compiled core lets go of the interpreter's lock
while it works. A file is encoded by one thread alone: with more files than threads nothing is gained by having several
work on one, which would have to wait for each other. If there are fewer files than jobs, each gets its share of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from .encoded import Encoded
from .errors import PybtfError
from .features import Features
from .options import EncodeOptions, make_options
from .records import record, replace
from .timings import Timings

if TYPE_CHECKING:
    from .base import Base

Task = TypeVar("Task")
Result = TypeVar("Result")

Check = Callable[[int, int], None]

AHEAD = 4
"""Results that may wait to be taken by the caller, per worker."""


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
        self._stop = False
        count = min(workers, len(tasks))
        self._threads = [threading.Thread(target=self._run, name=f"pybtf-file-{i}", daemon=True) for i in range(count)]

    def __enter__(self) -> SideBySide[Task, Result]:
        for thread in self._threads:
            thread.start()
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
        """Has the form of what is told of progress, since that is what is called now and then."""
        if self._stop:
            raise Stopped

    def _run(self) -> None:
        while True:
            self._room.acquire()
            number = next(self._numbers, None)  # atomic: an iterator of C
            if number is None or self._stop:
                return
            result: Result | BaseException
            try:
                result = self._work(self._tasks[number], self._check)
            except BaseException as error:
                result = error
            self._done.put((number, result))


def share(options: EncodeOptions, files: int) -> EncodeOptions:
    """The options for one of so many files that are encoded at the same time."""
    return replace(options, jobs=max(1, options.jobs // max(1, files)))


def encode_one(path: str, check: Check, options: EncodeOptions) -> Encoded:
    """Encode one file of a batch. Raises as `encode_file`, and what `check` raises, which it calls now and then."""
    from .pipeline import encode_file

    return encode_file(path, options, check, Timings(of_thread=options.jobs == 1))


@record(frozen=True)
class Outcome:
    """What became of one file: `encoded`, or the `error` that kept it from being encoded."""

    path: str
    encoded: Encoded | None
    error: PybtfError | MemoryError | None

    def get(self) -> Encoded:
        """The encoding. Raises the error if there is none."""
        if self.encoded is None:
            assert self.error is not None
            raise self.error
        return self.encoded


def encode_many(
    paths: Sequence[str | os.PathLike[str]],
    *,
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    lang: str = "",
    lang_exclude: str = "",
    base: str | os.PathLike[str] | Base | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Encode each of `paths` as `encode` does, `jobs` of them at a time; an `Outcome` for each, in their order.

    A base is read once. Results are those of one call of `encode` per file. A file that cannot be encoded is an
    `Outcome` with an error, and the others go on. While the caller deals with an outcome, only a few more are made.
    Leaving the iteration early ends the work. `progress` is called with the number of files done and of all.

    Raises `UsageError` at once for an unknown feature or language, and `InputError` for a base that cannot be used.
    """
    from .base import open_base

    options = make_options(features, jobs, lang, lang_exclude, base)
    options = replace(options, base=open_base(options.base, Timings()))
    return _outcomes([os.fspath(path) for path in paths], options, progress)


def _outcomes(
    paths: list[str], options: EncodeOptions, progress: Callable[[int, int], None] | None
) -> Iterator[Outcome]:
    waiting: dict[int, Outcome] = {}
    next_one = 0
    work = partial(encode_one, options=share(options, len(paths)))
    with SideBySide(paths, work, options.jobs, AHEAD * options.jobs) as batch:
        for number, result in batch:
            waiting[number] = _outcome(paths[number], result)
            if progress is not None:
                progress(next_one + len(waiting), len(paths))
            while next_one in waiting:
                yield waiting.pop(next_one)
                next_one += 1
                batch.proceed()


def _outcome(path: str, result: Encoded | BaseException) -> Outcome:
    """Raises what is no failure of the file."""
    if isinstance(result, Encoded):
        return Outcome(path, result, None)
    if isinstance(result, (PybtfError, MemoryError)):
        return Outcome(path, None, result)
    raise result
