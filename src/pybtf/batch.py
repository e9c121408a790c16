"""Many files, encoded side by side on one base.

Encoding a module takes a few milliseconds; starting a process and reading a kernel's BTF takes several times as long.
So there is one base, and as many workers as there are jobs: threads here (support/threads.py), since the compiled core
releases the interpreter's lock while it works; processes for the command line (workers.py), which are faster, but a
library must not fork. Each file is encoded by one worker: with more files than workers, nothing is gained by having
several work on one file, where they would have to wait for each other. If there are fewer files than jobs, each gets
its share of them.
"""

from __future__ import annotations

import os
from functools import partial

from pybtf.arguments import check_progress, items_of, path_of
from pybtf.encoded import Encoded
from pybtf.errors import PybtfError, UsageError
from pybtf.features import Features
from pybtf.options import EncodeOptions, make_options
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record, replace
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pybtf.base import Base
    from pybtf.support.threads import Check

AHEAD = 4
"""Results that may wait to be taken by the caller, per worker."""


def share(options: EncodeOptions, files: int) -> EncodeOptions:
    """The options for one of so many files that are encoded at the same time."""
    return replace(options, jobs=max(1, options.jobs // max(1, files)))


def encode_one(path: str, check: Check, options: EncodeOptions, *, passes: bool = True) -> Encoded:
    """Encode one file of a batch. Raises as `encode_file`, and what `check` raises, which it calls now and then.

    `passes`: whether somebody will look at the time of each pass.
    """
    from pybtf.pipeline.passes import encode_file

    return encode_file(path, options, check, Timings(of_thread=options.jobs == 1, passes=passes))


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
    paths: Sequence[str | bytes | os.PathLike[str]],
    *,
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    lang: str = "",
    lang_exclude: str = "",
    base: str | bytes | os.PathLike[str] | Base | None = None,
    standalone: bool = False,
    force_base: bool = False,
    degrade: bool = False,
    for_kernel: str | None = None,
    dwp: str | bytes | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Encode each of `paths` as `encode` does, `jobs` of them at a time; an `Outcome` for each, in their order.

    A base is read once. Results are those of one call of `encode` per file. A file that cannot be encoded is an
    `Outcome` with an error, and the others go on. While the caller deals with an outcome, only a few more are made.
    Leaving the iteration early ends the work. `progress` is called with the number of files done and of all.

    Raises `UsageError` at once for an unknown feature or language, and `InputError` for a base that cannot be used.
    """
    from pybtf.base import open_base

    if isinstance(paths, (str, bytes, os.PathLike)):
        raise UsageError("encode_many takes a sequence of paths, and this is one path; expected [path]")
    files = [path_of(path) for path in items_of(paths, "paths", "a sequence of paths")]
    check_progress(progress)
    options = make_options(
        features, jobs, lang=lang, lang_exclude=lang_exclude, base=base, standalone=standalone,
        force_base=force_base, degrade=degrade, for_kernel=for_kernel, dwp=dwp,
    )  # fmt: skip
    options = replace(options, base=open_base(options.base, Timings()))
    return _outcomes(files, options, progress)


def _outcomes(
    paths: list[str], options: EncodeOptions, progress: Callable[[int, int], None] | None
) -> Iterator[Outcome]:
    from pybtf.support.threads import SideBySide

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
    """Raises what is not a failure of the file."""
    if isinstance(result, Encoded):
        return Outcome(path, result, None)
    if isinstance(result, (PybtfError, MemoryError)):
        return Outcome(path, None, result)
    raise result
