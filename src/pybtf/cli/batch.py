"""`pybtf encode` with many files: each gets its own BTF, and what is wrong with one does not stop the others.

The largest files come first. They take longest, and a worker that meets one at the end would work alone. So messages
come in the order of events; the report has the files in that of the command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .. import __version__
from ..base import Base, open_base
from ..batch import Check, SideBySide, encode_one, share
from ..elf.packed import require_plain
from ..errors import OutputError, UsageError
from ..inputs import Input, find_inputs, plain_name
from ..options import EncodeOptions
from ..records import record, replace
from ..report import SCHEMA, Report
from ..timings import NS, Timings, render, since_process_start
from . import console, summary
from .faults import traced
from .progress import Progress
from .request import Request, same, tell_warnings, warn_of_links, write_report

SUFFIX = ".btf"
"""Behind the name of a module, for its BTF in a folder of results."""


@record(frozen=True)
class Task:
    """One file, and where its BTF goes: to a file of its own, or (None) into it."""

    path: str
    target: str | None


@record(frozen=True)
class Failure:
    """Why a file has no BTF, and the exit status that deserves."""

    text: str
    status: int


def run(request: Request, options: EncodeOptions) -> int:
    """Encode all files and say what was done. The exit status."""
    from ..core.guard import BusErrorMessage

    gone = "a file cannot be read any more: it was truncated meanwhile, or its disk fails"
    with BusErrorMessage(f"pybtf: error: {gone}\n".encode()):
        return _run(request, options)


def _run(request: Request, options: EncodeOptions) -> int:
    timings = Timings()
    timings.include_start(since_process_start())
    with timings.pass_("find"):
        tasks = plan(find_inputs(request.files), request.detached_dir)
        _check_targets(tasks, request, options)
    options = replace(options, base=open_base(options.base, timings))
    with timings.pass_("files"):
        results = _encode_all(request, options, tasks, timings)
    _tell(request, options, tasks, results, timings)
    if request.report is not None:
        write_report(request.report, _report(request, options, tasks, results, timings))
    return max((result.status for result in results if isinstance(result, Failure)), default=0)


def plan(inputs: Sequence[Input], folder: str | None) -> list[Task]:
    """Where the results go. Raises `UsageError` if two would go to the same place."""
    if folder is None:
        return [Task(each.path, None) for each in inputs]
    names: dict[str, str] = {}
    for each in inputs:
        name = plain_name(each.name) + SUFFIX
        other = names.setdefault(name, each.path)
        if other is not each.path:
            hint = "a folder as argument keeps the names of the folders in it"
            raise UsageError(f"the BTF of {other} and of {each.path} would both be {name}; {hint}")
    return [Task(path, str(Path(folder, name))) for name, path in names.items()]


def _check_targets(tasks: list[Task], request: Request, options: EncodeOptions) -> None:
    """No output may be an input, the base or the report. Makes the folders of the results."""
    inputs = {os.path.realpath(task.path) for task in tasks}
    outputs = {os.path.realpath(task.target) for task in tasks if task.target is not None} or inputs
    base = options.base if isinstance(options.base, str) else None
    for name, what in ((base, "the base"), (request.report, "--report JSON")):
        if name is not None and os.path.realpath(name) in outputs:
            raise UsageError(f"{what} is also the file that the BTF of a file goes to: {name}")
    if request.report is not None and os.path.realpath(request.report) in inputs:
        raise UsageError(f"--report JSON is one of the files: {request.report}")
    if base is not None and request.report is not None and same(base, request.report):
        raise UsageError("--report JSON is the base itself")
    if outputs is not inputs and not inputs.isdisjoint(outputs):
        raise UsageError(f"the BTF of a file would replace one of the files: {min(inputs & outputs)}")
    for folder in {os.path.dirname(task.target) for task in tasks if task.target is not None}:  # noqa: PTH120
        try:
            os.makedirs(folder or ".", exist_ok=True)  # noqa: PTH103
        except OSError as error:
            raise OutputError(f"{folder}: the folder cannot be made: {error.strerror}") from error


def _encode_all(
    request: Request, options: EncodeOptions, tasks: list[Task], timings: Timings
) -> list[Report | Failure]:
    """A report or a failure for each task, in their order."""
    order = sorted(range(len(tasks)), key=lambda number: (-_size(tasks[number].path), number))
    work = partial(_encode, options=share(options, len(tasks)), digests=request.report is not None)
    results: dict[int, Report | Failure] = {}
    with (
        Progress("", console.is_terminal(), "file", shown=request.progress) as progress,
        SideBySide([tasks[number] for number in order], work, options.jobs) as batch,
    ):
        for done, result in batch:
            number = order[done]
            if isinstance(result, BaseException):
                text, status = traced(result)
                results[number] = Failure(text, status)
                progress.clear()
                console.error(text if tasks[number].path in text else f"{tasks[number].path}: {text}")
            else:
                results[number] = result
                timings.include(result.timings)
                if request.verbose:
                    progress.clear()
                    total = result.timings.finish()
                    target = tasks[number].target or tasks[number].path
                    console.say(summary.closing_line(result, target, total.wall / NS, None))
            progress(len(results), len(tasks))
    return [results[number] for number in range(len(tasks))]


def _encode(task: Task, check: Check, options: EncodeOptions, digests: bool) -> Report:
    """Encode and write one file."""
    if task.target is None:
        require_plain(task.path)
    encoded = encode_one(task.path, check, options)
    report = encoded.report
    if digests:
        with report.timings.pass_("digests"):
            report.add_digests(encoded.data)
    with report.timings.pass_("write"):
        if task.target is None:
            warn_of_links(task.path, encoded.embed(task.path).other_links, report)
        else:
            encoded.write(task.target, durable=False)
    report.timings.finish()
    return report


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _tell(
    request: Request, options: EncodeOptions, tasks: list[Task], results: list[Report | Failure], timings: Timings
) -> None:
    """Warnings, the tree of passes, and the closing count."""
    total = timings.finish()
    warnings = [
        text if task.path in text else f"{task.path}: {text}"
        for task, result in zip(tasks, results, strict=True)
        if isinstance(result, Report)
        for text in result.warnings
    ]
    tell_warnings(request, warnings)
    if request.timings:
        console.say(render(total, "█" if console.unicode_ok() else "#"))
    done = [result for result in results if isinstance(result, Report)]
    failed = len(results) - len(done)
    if not request.quiet:
        console.say(summary.batch_line(done, failed, total.wall / NS, options.jobs, total.peak))


def _report(
    request: Request, options: EncodeOptions, tasks: list[Task], results: list[Report | Failure], timings: Timings
) -> str:
    """The report of a batch, see docs/report.md."""
    base = options.base
    total = timings.finish()
    files: list[dict[str, Any]] = []
    for task, result in zip(tasks, results, strict=True):
        facts = {"path": task.path, "target": task.target or task.path}
        if isinstance(result, Report):
            files.append({**facts, "error": None, "report": result.to_dict()})
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
