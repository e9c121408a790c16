"""`pybtf encode` with many files: each gets its own BTF, and what is wrong with one does not stop the others.

Half of the workers begin with the largest files, since a worker that meets one at the end would work alone; the others
begin with the smallest (workers.py). So messages come in the order of events; the report has the files in the order
of the command line.
"""

from __future__ import annotations

import os
import signal
from functools import partial

from pybtf import __version__
from pybtf.base import Base, Opening
from pybtf.batch import encode_one, share
from pybtf.cli import console, summary
from pybtf.cli.faults import BUG, FAILED, bug, explain, named, trace
from pybtf.cli.progress import Progress
from pybtf.cli.request import Request, path_of, same, spare_companions, tell_warnings, warn_of_written, write_report
from pybtf.elf.atomic import not_written, require_writable
from pybtf.elf.mapped import TRUNCATED, mapped
from pybtf.elf.packed import require_plain
from pybtf.elf.writer import require_replaceable
from pybtf.errors import DEGRADED, OutputError, UsageError
from pybtf.inputs import RealPaths, find_inputs, plain_name
from pybtf.options import EncodeOptions
from pybtf.pipeline.belonging import refuse_modules
from pybtf.report import SCHEMA
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record, replace
from pybtf.support.timings import NS, Pass, Timings, render, since_process_start
from pybtf.workers import Ended, Workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pybtf.encoded import Encoded
    from pybtf.errors import InputError
    from pybtf.inputs import Input
    from pybtf.workers import Check

SMALL = 32 << 20
"""Bytes of a file whose BTF may wait a moment in memory..."""
TOGETHER = 8
"""... until so many are written in a row."""
SUFFIX = ".btf"
"""After the name of a module, for its BTF in a folder of results."""


@record(frozen=True)
class Task:
    """One file, and where its BTF goes: to a file of its own, or (None) into it. `real`: its path without links.
    `size`: its size in bytes, as far as known. Of names that are hard links of one file, each has a `turn` of its own,
    from 0 on, and there are `others` after it: the file of one is not to be replaced while that of another is read.
    `problem`: why there is nothing to encode.
    """

    path: str
    target: str | None
    real: str
    size: int
    turn: int = 0
    others: int = 0
    problem: InputError | None = None


@record(frozen=True)
class Success:
    """What has to be known of a file that has its BTF. All of it is of the basic types that go from process to process.

    `line`, `passes` and `report` are there if they were asked for: with `-v`; with `--timings` or `--report`.
    """

    total_types: int
    output_size: int
    warnings: list[str]
    line: str | None
    passes: list[Any] | None
    report: dict[str, Any] | None
    lost: int


@record(frozen=True)
class Failure:
    """Why a file has no BTF, the exit status that deserves, and the traceback, if that was asked for."""

    text: str
    status: int
    trace: str = ""


def run(request: Request, options: EncodeOptions, base: Opening) -> int:
    """Encode all files and say what was done. `base`: that of the options. The exit status."""
    with mapped(bar=console.is_terminal()):
        return _run(request, options, base)


def _run(request: Request, options: EncodeOptions, base: Opening) -> int:
    timings = Timings()
    timings.include_start(since_process_start())
    with timings.pass_("find"):
        tasks = plan(find_inputs(request.files), request.detached_dir)
        if options.base is None and not options.standalone:
            others = f"; none of the {len(tasks):,} files is encoded" if len(tasks) > 1 else ""
            refuse_modules((task.path for task in tasks if task.problem is None), others)
        _check_targets(tasks, request, options)
    with timings.pass_("import"):
        from pybtf.pipeline import passes  # noqa: F401 - once, not by each worker
    options = replace(options, base=base.result(timings))
    results = _encode_all(request, options, tasks, timings)
    _tell(request, options, tasks, results, timings)
    if request.report is not None:
        write_report(request.report, _report(options, tasks, results, timings))
    status = max((result.status for result in results if isinstance(result, Failure)), default=0)
    lost = any(result.lost for result in results if isinstance(result, Success))
    return DEGRADED if lost and not status else status


def plan(inputs: Sequence[Input], folder: str | None) -> list[Task]:
    """Where the results go. Raises `UsageError` if two would go to the same place."""
    if folder is None:
        return _in_place(inputs)
    names: dict[str, Input] = {}
    inside = os.path.join(folder, "")  # noqa: PTH118
    tasks = []
    for each in inputs:
        if each.problem is not None:
            tasks.append(Task(each.path, None, each.real, 0, problem=each.problem))
            continue
        name = plain_name(each.name) + SUFFIX
        other = names.setdefault(name, each)
        if other is not each:
            hint = "a folder as argument keeps the names of the folders in it"
            if os.path.dirname(other.path) == os.path.dirname(each.path):  # noqa: PTH120
                hint = "name only one of them"
            raise UsageError(f"the BTF of {other.path} and of {each.path} would both be {name}; {hint}")
        tasks.append(Task(each.path, inside + name, each.real, each.size))
    return tasks


def _in_place(inputs: Sequence[Input]) -> list[Task]:
    linked: dict[tuple[int, int], list[Input]] = {}
    for each in inputs:
        try:
            found = os.stat(each.path)  # noqa: PTH116
        except (OSError, ValueError):  # will be reported when it is opened
            continue
        if found.st_nlink > 1:
            linked.setdefault((found.st_dev, found.st_ino), []).append(each)
    turns = {
        each.real: (turn, len(names) - turn - 1) for names in linked.values() for turn, each in enumerate(names)
    }
    return [
        Task(each.path, None, each.real, each.size, *turns.get(each.real, (0, 0)), problem=each.problem)
        for each in inputs
    ]


def _check_targets(tasks: list[Task], request: Request, options: EncodeOptions) -> None:
    """No output may be an input, the base or the report. Makes the folders of the results."""
    real_path = RealPaths()
    inputs = {task.real for task in tasks}
    outputs = {real_path(task.target) for task in tasks if task.target is not None} or inputs
    base = options.base if isinstance(options.base, str) else None
    read = ((base, "the base"), (request.from_list, "the LIST of --from-list"))
    for name, what in (*read, (request.report, "--report JSON")):
        if name is not None and os.path.realpath(name) in outputs:
            raise UsageError(f"{what} is also the file that the BTF of a file goes to: {name}")
    if request.report is not None and os.path.realpath(request.report) in inputs:
        raise UsageError(f"--report JSON is one of the files: {request.report}")
    for name, what in read:
        if name is not None and request.report is not None and same(name, request.report):
            raise UsageError(f"--report JSON is {what} itself")
    if outputs is not inputs and not inputs.isdisjoint(outputs):
        raise UsageError(f"the BTF of a file would replace one of the files: {min(inputs & outputs)}")
    files = [task.path for task in tasks if task.problem is None]
    results = [(f"the BTF of {task.path}", task.target) for task in tasks if task.target is not None]
    spare_companions([*results, ("--report JSON", request.report)], files, None)
    for folder in {os.path.dirname(task.target) for task in tasks if task.target is not None}:  # noqa: PTH120
        try:
            os.makedirs(folder or ".", exist_ok=True)  # noqa: PTH103
        except (FileExistsError, NotADirectoryError) as error:
            while not os.path.lexists(folder):
                folder = os.path.dirname(folder)  # noqa: PTH120
            raise OutputError(f"{folder}: is a file, not a folder") from error
        except OSError as error:
            raise OutputError(not_written(folder, error)) from error
        if not os.access(folder or ".", os.W_OK | os.X_OK):
            raise OutputError(f"{folder}: no permission to write in this folder. Name another place.")
    if request.report is not None:
        require_writable(path_of(request.report))


def _encode_all(
    request: Request, options: EncodeOptions, tasks: list[Task], timings: Timings
) -> list[Success | Failure]:
    """What became of each task, in their order."""
    from pybtf.core.support.malloc_tuning import keep_memory

    timed = request.timings or request.report is not None
    jobs = min(options.jobs, len(tasks))
    work = partial(_encode, options=share(options, len(tasks)), passes=timed, jobs=jobs)
    finish = partial(_finish, request=request, passes=timed, jobs=jobs)
    # Nobody is to wait for a result, or to see the time of a file that waited; and what waits has to be small.
    at_once = timed or request.verbose or request.progress or request.detached_dir is None
    together = 1 if at_once or max((task.size for task in tasks), default=0) > SMALL else TOGETHER
    begin = options.base.index.renew if isinstance(options.base, Base) else None
    results: dict[int, Success | Failure] = {}
    keep_memory()
    cpu = peak = 0
    with (
        timings.pass_("files") as files,
        Progress("", console.is_terminal(), "file", shown=request.progress) as progress,
    ):
        for order in _orders(tasks):
            with Workers([tasks[number] for number in order], work, options.jobs, begin, finish, together) as workers:
                for done, facts in workers:
                    number = order[done]
                    result = results[number] = _result(facts)
                    if isinstance(result, Failure):
                        progress.clear()
                        if result.trace:
                            console.say(result.trace)
                        console.error(named(result.text, tasks[number].path))
                    else:
                        if result.passes is not None:
                            files.include(_passes(result.passes))
                        if result.line is not None:
                            progress.clear()
                            console.say(result.line)
                    progress(len(results), len(tasks))
            cpu, peak = cpu + workers.cpu, max(peak, workers.peak)
    timings.include_processes(files, cpu, peak)
    return [results[number] for number in range(len(tasks))]


def _orders(tasks: list[Task]) -> list[list[int]]:
    """The numbers of tasks that may be done side by side, the largest first; one list but for hard links."""
    orders: list[list[int]] = [[] for _ in range(1 + max((task.turn for task in tasks), default=0))]
    for number, task in enumerate(tasks):
        orders[task.turn].append(number)
    return [sorted(order, key=lambda number: -tasks[number].size) for order in orders]


def _encode(
    task: Task, check: Check, options: EncodeOptions, passes: bool, jobs: int
) -> tuple[Task, Encoded | tuple[Any, ...]]:
    """Encode one file. If that fails, the fields of its `Failure`."""
    try:
        if task.problem is not None:
            raise task.problem
        if task.target is None:
            require_plain(task.path)
            require_replaceable(task.path)
        return task, encode_one(task.path, check, options, passes=passes)
    except Exception as error:
        return task, (*explain(error, jobs), trace(error))


def _finish(
    made: tuple[Task, Encoded | tuple[Any, ...]], request: Request, passes: bool, jobs: int
) -> tuple[Any, ...]:
    """Write the BTF of one file. The fields of its `Success` or `Failure`, see `_result`."""
    task, encoded = made
    if isinstance(encoded, tuple):
        return encoded
    try:
        report = encoded.report
        _write(task, encoded, digests=request.report is not None)
        total = report.timings.finish()
        line = None
        if request.verbose:
            line = summary.closing_line(report, task.target or task.path, total.wall / NS, None)
        return (
            report.total_types,
            report.output_size,
            [f"lost: {loss.line}" for loss in report.losses] + report.warnings,
            line,
            _row(total) if passes else None,
            report.to_dict() if request.report is not None else None,
            sum(loss.count for loss in report.losses),
        )
    except Exception as error:
        return (*explain(error, jobs), trace(error))


def _result(facts: tuple[Any, ...] | Ended) -> Success | Failure:
    if isinstance(facts, Ended):
        return _ended(facts.status)
    return Success(*facts) if len(facts) > 3 else Failure(*facts)


def _ended(status: int) -> Failure:
    """A file was being encoded by a process that ended in the midst of it."""
    if status == -signal.SIGBUS:
        return Failure(f"can no longer be read: {TRUNCATED}", FAILED)
    if status == -signal.SIGKILL:
        hint = "If memory was short, fewer jobs (-j) need less"
        return Failure(f"the process that encoded it was killed. {hint}", FAILED)
    if status >= 0:
        return Failure(bug(f"a worker ended with status {status}"), BUG)
    name = signal.strsignal(-status)
    if -status in (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        return Failure(bug(f"a worker was ended by signal {-status} ({name})"), BUG)
    return Failure(f"the process that encoded it was ended by signal {-status} ({name})", FAILED)


def _row(this: Pass) -> list[Any]:
    """A tree of passes as lists."""
    return [this.name, this.wall, this.cpu, this.calls, this.peak, [_row(each) for each in this.children]]


def _passes(row: list[Any]) -> Pass:
    name, wall, cpu, calls, peak, children = row
    return Pass(name, wall, cpu, calls, peak, [_passes(each) for each in children])


def _write(task: Task, encoded: Encoded, digests: bool) -> None:
    report = encoded.report
    if digests:
        with report.timings.pass_("digests"):
            report.add_digests(encoded.data)
    with report.timings.pass_("write"):
        if task.target is None:
            warn_of_written(task.path, encoded.embed(task.path), task.others, report)
        else:
            encoded.write(task.target, durable=False)


def _tell(
    request: Request, options: EncodeOptions, tasks: list[Task], results: list[Success | Failure], timings: Timings
) -> None:
    """Warnings, the tree of passes, and the closing count."""
    total = timings.finish()
    warnings = [
        named(text, task.path)
        for task, result in zip(tasks, results, strict=True)
        if isinstance(result, Success)
        for text in result.warnings
    ]
    tell_warnings(request, warnings)
    if request.timings:
        console.say(render(total, "█" if console.unicode_ok() else "#"))
    if not request.quiet:
        done = [result for result in results if isinstance(result, Success)]
        types, output = sum(each.total_types for each in done), sum(each.output_size for each in done)
        line = summary.batch_line(
            len(results), len(results) - len(done), types, output, total.wall / NS, options.jobs, total.peak
        )
        console.say(line)


def _report(options: EncodeOptions, tasks: list[Task], results: list[Success | Failure], timings: Timings) -> str:
    """The report of a batch, see docs/report.md."""
    import json

    base = options.base
    total = timings.finish()
    files: list[dict[str, Any]] = []
    for task, result in zip(tasks, results, strict=True):
        facts = {"path": task.path, "target": task.target or task.path}
        if isinstance(result, Success):
            files.append({**facts, "error": None, "report": result.report})
        else:
            files.append({**facts, "error": result.text, "report": None})
    failed = sum(isinstance(result, Failure) for result in results)
    whole = {
        "schema": SCHEMA,
        "pybtf": __version__,
        "jobs": options.jobs,
        "base": base.path if isinstance(base, Base) else None,
        "encoded": len(results) - failed,
        "failed": failed,
        "files": files,
        "peak_memory_bytes": total.peak,
        "timings": total.to_dict(),
    }
    return json.dumps(whole, indent=2) + "\n"
