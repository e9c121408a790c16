"""`pybtf encode`: what was asked for, checked; one file is left to single.py, many to batch.py."""

from __future__ import annotations

import os

from pybtf import features as feature_names
from pybtf.cli import console
from pybtf.cli.arguments import FLAG, JOBS, PATH, SWITCH, TEXT, TEXTS, Option
from pybtf.cli.request import Request
from pybtf.errors import UsageError
from pybtf.languages import excluded_by_environment
from pybtf.options import make_options
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import replace

if TYPE_CHECKING:
    from pybtf.options import EncodeOptions

OPTIONS = (
    Option("from-list", PATH, "LIST"),
    Option("combine", FLAG),
    Option("detached", PATH, "OUT"),
    Option("detached-dir", PATH, "DIR"),
    Option("report", PATH, "JSON"),
    Option("report-detail", FLAG),
    Option("provenance", PATH, "FILE"),
    Option("base", PATH, "FILE"),
    Option("standalone", FLAG),
    Option("force-base", FLAG),
    Option("dwp", PATH, "FILE"),
    Option("degrade", FLAG),
    Option("features", TEXTS, "LIST"),
    Option("for-kernel", TEXT, "VERSION"),
    Option("lang", TEXT, "LIST"),
    Option("lang-exclude", TEXT, "LIST"),
    Option("jobs", JOBS, "N", "j"),
    Option("quiet", FLAG, letter="q"),
    Option("verbose", FLAG, letter="v"),
    Option("progress", SWITCH),
    Option("timings", FLAG),
)


def encode(
    files: tuple[str, ...],
    from_list: str | None,
    combine: bool,
    detached: str | None,
    detached_dir: str | None,
    report: str | None,
    report_detail: bool,
    provenance: str | None,
    base: str | None,
    standalone: bool,
    force_base: bool,
    dwp: str | None,
    degrade: bool,
    features: tuple[str, ...],
    for_kernel: str | None,
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    progress: bool | None,
    timings: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    if quiet and (verbose or timings):
        raise UsageError(f"--quiet and --{'verbose' if verbose else 'timings'} do not go together")
    if progress is None:
        progress = console.is_terminal() and not quiet
    if not files and from_list is None:
        raise UsageError("missing argument 'FILE...'; see pybtf encode --help")
    if detached_dir is not None and (detached is not None or combine):
        other = "--detached" if detached is not None else "--combine"
        raise UsageError(f"{other} and --detached-dir do not go together")
    in_place = detached is None and detached_dir is None
    if len(files) == 2 and in_place and _is_output(files[1]):  # else the first would be changed
        raise UsageError(f"{files[1]}: no such file; to write BTF there: pybtf encode --detached {files[1]} {files[0]}")
    if lang is None and lang_exclude is None:
        lang_exclude = excluded_by_environment()
    for option, value in (("--lang", lang), ("--lang-exclude", lang_exclude)):
        if value == "":
            raise UsageError(f"{option} names no language")
    wanted = feature_names.Features.parse(*features)
    options = make_options(
        wanted, jobs, lang=lang or "", lang_exclude=lang_exclude or "", base=base, standalone=standalone,
        force_base=force_base, degrade=degrade, for_kernel=for_kernel, dwp=dwp,
    )  # fmt: skip
    notes = feature_names.notes(*features)
    if options.without:
        notes.append(f"a kernel {for_kernel} does not know the features {', '.join(options.without)}: left out")
    if wanted.distilled_base and (detached is not None or detached_dir is not None):
        # A matter of BTF in ELF files, as in pahole.
        options = replace(options, features=replace(wanted, distilled_base=False))
        notes.append("the feature distilled_base is left out: a detached file cannot hold a base beside the BTF")
    if from_list is not None:
        from pybtf.inputs import read_list

        files += tuple(read_list(from_list))
    alone = len(files) == 1 and from_list is None and detached_dir is None
    single = combine or (alone and (detached is not None or not os.path.isdir(files[0])))  # noqa: PTH112
    if detached is not None and not single:
        hint = "--detached-dir DIR takes the BTF of several, --combine makes one of all"
        raise UsageError(f"--detached is about one FILE; {hint}")
    if report_detail and (report is None or not single or combine):
        raise UsageError("--report-detail is about the --report of one FILE")
    if provenance is not None and (not single or combine):
        raise UsageError("--provenance is about one FILE")
    if dwp is not None and (not single or combine):
        raise UsageError("--dwp is about one FILE")
    if dwp is not None:
        try:
            os.stat(dwp)  # noqa: PTH116
        except OSError as error:
            from pybtf.unreadable import unreadable

            raise unreadable(dwp, error, "a .dwp") from None
    for text in notes:
        if not quiet:
            console.note(text)
    request = Request(
        files,
        detached=detached,
        detached_dir=detached_dir,
        report=report,
        report_detail=report_detail,
        provenance=provenance,
        quiet=quiet,
        verbose=verbose,
        progress=progress,
        timings=timings,
        from_list=from_list if from_list != "-" else None,
    )
    return _single(request, options) if single else _batch(request, options)


def _is_output(path: str) -> bool:
    """Whether a file to be encoded is more likely meant as the one to be written."""
    return path.endswith(".btf") and not os.path.lexists(path)


def _single(request: Request, options: EncodeOptions) -> int:
    from pybtf.cli.single import run

    return run(request, options)


def _batch(request: Request, options: EncodeOptions) -> int:
    from pybtf.base import Opening

    base = Opening(options.base)  # takes longest of what comes before the first file, so all else is done meanwhile
    from pybtf.cli.batch import run

    return run(request, options, base)
