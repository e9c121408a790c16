"""One file, or several combined into one BTF: encode, write, and say what was done."""

from __future__ import annotations

import os
import sys
import time

from pybtf.cli import console, summary
from pybtf.cli.progress import Progress
from pybtf.cli.request import (
    STDOUT,
    Request,
    path_of,
    same,
    spare_companions,
    tell_losses,
    tell_warnings,
    warn_of_written,
    write_report,
)
from pybtf.elf.atomic import require_writable
from pybtf.errors import DEGRADED, UsageError, printable
from pybtf.options import EncodeOptions
from pybtf.support import TYPE_CHECKING
from pybtf.support.timings import NS, render, since_process_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybtf.encoded import Encoded
    from pybtf.report import Report

    Encode = Callable[[Request, EncodeOptions], tuple[Encoded, bytes]]


def run(request: Request, options: EncodeOptions, encode: Encode | None = None) -> int:
    """The exit status: 0, or DEGRADED if something was lost. What goes wrong is raised.

    `encode`: what makes the BTF, if not from the DWARF of the files.
    """
    _check_targets(request, options)
    outputs = (
        ("--detached OUT", request.detached), ("--report JSON", request.report),
        ("--provenance FILE", request.provenance),
    )  # fmt: skip
    for _, output in outputs:
        if output is not None:
            require_writable(path_of(output))
    if request.detached is None:
        from pybtf.elf.writer import require_replaceable

        require_replaceable(request.files[0])
    from pybtf.core.support.malloc_tuning import part_memory
    from pybtf.elf.mapped import mapped

    if options.base is None:
        part_memory()
    with mapped(request.files[0], bar=console.is_terminal()):
        try:
            spare_companions(outputs, request.files, options.dwp)
            report = _run(request, options, encode or _encode)
        except MemoryError as error:
            from pybtf.cli.faults import short_of_memory

            raise MemoryError(short_of_memory(error, options.jobs, request.files[0])) from error
    return DEGRADED if report.losses else 0


def _run(request: Request, options: EncodeOptions, encode: Encode) -> Report:
    before, clock = since_process_start(), time.perf_counter_ns()
    encoded, provenance = encode(request, options)
    report = encoded.report
    timings = report.timings
    timings.include_start(before + time.perf_counter_ns() - clock - timings.elapsed())
    if request.report is not None:
        with timings.pass_("digests"):
            report.add_digests(encoded.data)  # before the input is changed
    with timings.pass_("write"):
        _write(request, encoded, provenance)
    _tell(request, report)
    if request.report is not None:
        write_report(request.report, report.to_json())
    return report


def _encode(request: Request, options: EncodeOptions) -> tuple[Encoded, bytes]:
    """The BTF, and the database for --provenance, empty without that."""
    from pybtf.cli.interrupt import PromptInterrupt

    file = request.files[0]
    if request.detached is None:
        from pybtf.elf.packed import require_plain

        require_plain(file)
    label = printable(os.path.basename(file))  # noqa: PTH119 - a text, not a path
    with PromptInterrupt(), Progress(label, bar=console.is_terminal(), shown=request.progress) as progress:
        if len(request.files) == 1:
            if request.report_detail or request.provenance is not None:
                from pybtf.explain.detail import encode_in_detail

                places = request.provenance is not None
                return encode_in_detail(file, options, progress, names=request.report_detail, places=places)
            from pybtf.pipeline.passes import encode_file

            return encode_file(file, options, progress), b""
        from pybtf.pipeline.passes import encode_combined

        return encode_combined(request.files, options, progress), b""


def _write(request: Request, encoded: Encoded, provenance: bytes) -> None:
    if request.provenance is not None:
        from pybtf.elf.atomic import write_file

        write_file(path_of(request.provenance), provenance, durable=False)
    if request.detached is None:
        warn_of_written(request.files[0], encoded.embed(request.files[0]), 0, encoded.report)
    else:
        encoded.write(path_of(request.detached), durable=False)


def _tell(request: Request, report: Report) -> None:
    """Warnings; with `-v` what was left out; with `--timings` the tree; the closing line."""
    total = report.timings.finish()
    tell_losses(request, report)
    tell_warnings(request, report.warnings)
    if request.verbose:
        for line in summary.left_out(report):
            console.say(line)
    if request.timings:
        console.say(render(total, "█" if console.unicode_ok() else "#"))
    if not request.quiet:
        console.say(summary.closing_line(report, request.target, total.wall / NS, total.peak))


def _check_targets(request: Request, options: EncodeOptions) -> None:
    """No output may be an input or another output, and nothing binary goes to a terminal."""
    base = options.base if isinstance(options.base, str) else None
    for output, option, what in (
        (request.detached, "--detached", "BTF is"), (request.provenance, "--provenance", "a database is"),
    ):  # fmt: skip
        if output == STDOUT and sys.stdout.isatty():
            raise UsageError(f"{option} -: standard output is a terminal, and {what} binary; redirect it")
    file = request.files[0]
    _require_different(
        (
            (request.report, request.detached, "--report and --detached name the same file"),
            (request.provenance, request.detached, "--provenance and --detached name the same file"),
            (request.provenance, request.report, "--provenance and --report name the same file"),
        )
    )
    # An input called - is not standard output: that it cannot be read is said where it is opened.
    named = [None if output == STDOUT else output for output in (request.detached, request.report, request.provenance)]
    detached, report, provenance = named
    _require_different(
        (
            *((detached, each, "--detached OUT is FILE itself") for each in request.files),
            *((report, each, "--report JSON is FILE itself") for each in request.files),
            *((provenance, each, "--provenance FILE is FILE itself") for each in request.files),
            (provenance, base, "--provenance FILE is the base itself"),
            (file if request.detached is None else None, base, "--base is FILE itself"),
            (detached, base, "--detached OUT is the base itself"),
            (report, base, "--report JSON is the base itself"),
            (detached, options.dwp, "--detached OUT is the package of --dwp itself"),
            (detached, request.from_list, "--detached OUT is the LIST of --from-list itself"),
            (report, request.from_list, "--report JSON is the LIST of --from-list itself"),
            (provenance, options.dwp, "--provenance FILE is the package of --dwp itself"),
            (report, options.dwp, "--report JSON is the package of --dwp itself"),
        )
    )


def _require_different(pairs: Iterable[tuple[str | None, str | None, str]]) -> None:
    """Two names and what to say if they are those of one file. None: there is no such file."""
    for name, other, what in pairs:
        if name is not None and other is not None and same(name, other):
            raise UsageError(what)
