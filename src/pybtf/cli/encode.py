"""`pybtf encode`: one file in, its BTF out; what is many files is left to batch.py."""

from __future__ import annotations

import os
import sys
import time

from .. import features as feature_names
from ..errors import UsageError
from ..languages import EXCLUDE_VARIABLE
from ..options import EncodeOptions, make_options
from ..records import replace
from ..timings import NS, render, since_process_start
from . import console, summary
from .progress import Progress
from .request import STDOUT, Request, path_of, same, tell_warnings, warn_of_links, write_report

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..encoded import Encoded
    from ..report import Report


def encode(
    files: tuple[str, ...],
    from_list: str | None,
    combine: bool,
    detached: str | None,
    detached_dir: str | None,
    report: str | None,
    base: str | None,
    features: tuple[str, ...],
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    progress: bool | None,
    timings: bool,
) -> int:
    """The command, after its options have been read; what they are is in arguments.py. The exit status."""
    if quiet and verbose:
        raise UsageError("--quiet and --verbose do not go together")
    if progress is None:
        progress = console.is_terminal() and not quiet
    if not files and from_list is None:
        raise UsageError("missing argument 'FILE...'; see pybtf encode --help")
    if detached_dir is not None and (detached is not None or combine):
        other = "--detached" if detached is not None else "--combine"
        raise UsageError(f"{other} and --detached-dir do not go together")
    if lang is None and lang_exclude is None:
        lang_exclude = os.environ.get(EXCLUDE_VARIABLE) or None
    for option, value in (("--lang", lang), ("--lang-exclude", lang_exclude)):
        if value == "":
            raise UsageError(f"{option} names no language")
    wanted = feature_names.Features.parse(*features)
    if detached is not None or detached_dir is not None:
        wanted = replace(wanted, distilled_base=False)  # a matter of BTF in ELF files, as in the reference
    options = make_options(wanted, jobs, lang or "", lang_exclude or "", base)
    if from_list is not None:
        from ..inputs import read_list

        files += tuple(read_list(from_list))
    request = Request(files, detached, detached_dir, report, quiet, verbose, progress, timings)
    alone = len(files) == 1 and from_list is None and detached_dir is None
    if combine or (alone and (detached is not None or not os.path.isdir(files[0]))):  # noqa: PTH112
        _check_targets(request, base)
        run(request, options)
        return 0
    if detached is not None:
        hint = "--detached-dir DIR takes the BTF of several, --combine makes one of all"
        raise UsageError(f"--detached OUT is for the BTF of one FILE; {hint}")
    from ..base import Opening

    base = Opening(options.base)  # takes longer than anything else before the first file: all else is done meanwhile
    from . import batch

    return batch.run(request, options, base)


def run(request: Request, options: EncodeOptions) -> None:
    """Encode one file, or several into one BTF; write, and say what was done."""
    from ..core.guard import BusErrorMessage

    name = request.files[0].replace("\n", "\\n")
    gone = f"{name}: cannot be read any more: it was truncated meanwhile, or its disk fails"
    with BusErrorMessage(os.fsencode(f"pybtf: error: {console.printable(gone)}\n")):
        _run(request, options)


def _run(request: Request, options: EncodeOptions) -> None:
    before, clock = since_process_start(), time.perf_counter_ns()
    encoded = _encode(request, options)
    report = encoded.report
    timings = report.timings
    timings.include_start(before + time.perf_counter_ns() - clock - timings.elapsed())
    if request.report is not None:
        with timings.pass_("digests"):
            report.add_digests(encoded.data)  # before the input is changed
    with timings.pass_("write"):
        _write(request, encoded)
    _tell(request, report)
    if request.report is not None:
        write_report(request.report, report.to_json())


def _encode(request: Request, options: EncodeOptions) -> Encoded:
    from ..elf.packed import require_plain
    from .interrupt import PromptInterrupt

    file = request.files[0]
    if request.detached is None:
        require_plain(file)
    label = console.printable(os.path.basename(file))  # noqa: PTH119 - a text, not a path
    with PromptInterrupt(), Progress(label, bar=console.is_terminal(), shown=request.progress) as progress:
        if len(request.files) == 1:
            from ..pipeline import encode_file

            return encode_file(file, options, progress)
        from ..pipeline import encode_combined

        return encode_combined(request.files, options, progress)


def _write(request: Request, encoded: Encoded) -> None:
    if request.detached is None:
        warn_of_links(request.files[0], encoded.embed(request.files[0]).other_links, encoded.report)
    else:
        encoded.write(path_of(request.detached), durable=False)


def _tell(request: Request, report: Report) -> None:
    """Warnings; with `-v` what was left out; with `--timings` the tree; the closing line."""
    total = report.timings.finish()
    tell_warnings(request, report.warnings)
    if request.verbose:
        for line in summary.left_out(report):
            console.say(line)
    if request.timings:
        console.say(render(total, "█" if console.unicode_ok() else "#"))
    if not request.quiet:
        console.say(summary.closing_line(report, request.target, total.wall / NS, total.peak))


def _check_targets(request: Request, base: str | None) -> None:
    """No output may be an input or another output, and no BTF goes to a terminal."""
    if request.detached == STDOUT and sys.stdout.isatty():
        raise UsageError("--detached -: standard output is a terminal, and BTF is binary; redirect it")
    file = request.files[0]
    for name, other, what in (
        *((request.detached, each, "--detached OUT is FILE itself") for each in request.files),
        *((request.report, each, "--report JSON is FILE itself") for each in request.files),
        (request.report, request.detached, "--report and --detached name the same file"),
        (file if request.detached is None else None, base, "--base is FILE itself"),
        (request.detached, base, "--detached OUT is the base itself"),
        (request.report, base, "--report JSON is the base itself"),
    ):
        if name is not None and other is not None and same(name, other):
            raise UsageError(what)
