"""`pybtf encode`: one file in, its BTF out."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from .. import features as feature_names
from ..encoded import Encoded
from ..errors import UsageError
from ..languages import EXCLUDE_VARIABLE, LANGUAGES
from ..options import MAX_JOBS, EncodeOptions, make_options
from ..report import Report
from ..timings import NS, render, since_process_start
from . import console, summary
from .app import Command
from .completion import complete_list
from .progress import Progress

STDOUT = "-"


@dataclass(frozen=True)
class Request:
    """The command line of one run, beyond what decides the bytes."""

    file: str
    detached: str | None
    report: str | None
    quiet: bool
    verbose: bool
    progress: bool
    timings: bool

    @property
    def target(self) -> str:
        """What the BTF goes to, in words."""
        if self.detached == STDOUT:
            return "standard output"
        return self.detached if self.detached is not None else self.file


def complete_features(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_list((*feature_names.NAMES, "default", "all"), ("+",), incomplete)


def complete_languages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_list(tuple(LANGUAGES), (), incomplete)


@click.command("encode", cls=Command)
@click.argument("file", type=click.Path())
@click.option("--detached", metavar="OUT", type=click.Path())
@click.option("--report", metavar="JSON", type=click.Path())
@click.option("--features", metavar="LIST", multiple=True, shell_complete=complete_features)
@click.option("--lang", metavar="LIST", shell_complete=complete_languages)
@click.option("--lang-exclude", metavar="LIST", shell_complete=complete_languages)
@click.option("-j", "--jobs", metavar="N", type=click.IntRange(1, MAX_JOBS))
@click.option("-q", "--quiet", is_flag=True)
@click.option("-v", "--verbose", is_flag=True)
@click.option("--progress/--no-progress", default=None)
@click.option("--timings", is_flag=True)
def command(
    file: str,
    detached: str | None,
    report: str | None,
    features: tuple[str, ...],
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    progress: bool | None,
    timings: bool,
) -> int:
    if quiet and verbose:
        raise UsageError("--quiet and --verbose do not go together")
    if progress is None:
        progress = console.is_terminal() and not quiet
    request = Request(file, detached, report, quiet, verbose, progress, timings)
    _check_targets(request)
    if lang is None and lang_exclude is None:
        lang_exclude = os.environ.get(EXCLUDE_VARIABLE) or None
    for option, value in (("--lang", lang), ("--lang-exclude", lang_exclude)):
        if value == "":
            raise UsageError(f"{option} names no language")
    options = make_options(features or "default", jobs, lang or "", lang_exclude or "")
    if options.features.distilled_base and detached is None:
        raise UsageError("the feature distilled_base needs a base BTF, which this command cannot take yet")
    run(request, options)
    return 0


def run(request: Request, options: EncodeOptions) -> None:
    """Encode, write, and say what was done."""
    from ..core.guard import BusErrorMessage

    gone = f"{request.file}: cannot be read any more: it was truncated meanwhile, or its disk fails"
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
        _write_report(request.report, report.to_json())


def _encode(request: Request, options: EncodeOptions) -> Encoded:
    from ..pipeline import encode_file
    from .interrupt import PromptInterrupt

    with PromptInterrupt():
        if not request.progress:
            return encode_file(request.file, options, None)
        label = console.printable(os.path.basename(request.file))  # noqa: PTH119 - a text, not a path
        with Progress(label, bar=console.is_terminal()) as progress:
            return encode_file(request.file, options, progress)


def _write(request: Request, encoded: Encoded) -> None:
    if request.detached is None:
        links = encoded.embed(request.file).other_links
        if links:
            what = f"{request.file}: {links} other hard link{'s' * (links > 1)} of it"
            encoded.report.warnings.append(f"{what} kept the old contents, without this BTF")
    else:
        encoded.write(_path(request.detached))


def _write_report(name: str, text: str) -> None:
    from ..elf.atomic import write_file

    write_file(_path(name), text.encode())


def _path(name: str) -> str:
    """The path to write to: `-` is standard output, which the writing functions know under this name."""
    return "/dev/stdout" if name == STDOUT else name


def _tell(request: Request, report: Report) -> None:
    """Warnings; with `-v` what was left out; with `--timings` the tree; the closing line."""
    total = report.timings.finish()
    if not request.quiet:
        shown = report.warnings if request.verbose else report.warnings[: summary.MAX_WARNINGS]
        for text in shown:
            console.warning(text)
        if len(shown) < len(report.warnings):
            console.warning(f"{len(report.warnings) - len(shown):,} more warnings; -v shows them")
    if request.verbose:
        for line in summary.left_out(report):
            console.say(line)
    if request.timings:
        console.say(render(total, "█" if console.unicode_ok() else "#"))
    if not request.quiet:
        console.say(summary.closing_line(report, request.target, total.wall / NS, total.peak))


def _check_targets(request: Request) -> None:
    """No output may be the input or another output, and no BTF goes to a terminal."""
    if request.detached == STDOUT and sys.stdout.isatty():
        raise UsageError("--detached -: standard output is a terminal, and BTF is binary; redirect it")
    for name, other, what in (
        (request.detached, request.file, "--detached OUT is FILE itself; without it, .BTF is put into FILE"),
        (request.report, request.file, "--report JSON is FILE itself"),
        (request.report, request.detached, "--report and --detached name the same file"),
    ):
        if name is not None and other is not None and _same(name, other):
            raise UsageError(what)


def _same(one: str, other: str) -> bool:
    if STDOUT in (one, other):
        return one == other
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - pathlib's needs the first to exist
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
