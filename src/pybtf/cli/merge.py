"""`pybtf merge`: BTF of a linked file from the values of its objects."""

from __future__ import annotations

import os

from pybtf.cli import console
from pybtf.cli.arguments import FLAG, JOBS, PATH, PATHS, TEXT, TEXTS, Option
from pybtf.cli.request import STDOUT, Request, same
from pybtf.errors import InputError, MergeError, NothingToEncode, UsageError
from pybtf.features import Features
from pybtf.languages import excluded_by_environment
from pybtf.options import EncodeOptions, make_options
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import last_work

if TYPE_CHECKING:
    from pybtf.encoded import Encoded
    from pybtf.merging.linked import Sources

OPTIONS = (
    Option("objects", PATHS, "FILE"),
    Option("store", PATH, "DIR"),
    Option("cache", PATH, "FILE"),
    Option("compiler-btf", FLAG),
    Option("detached", PATH, "OUT"),
    Option("report", PATH, "JSON"),
    Option("verify", FLAG),
    Option("base", PATH, "FILE"),
    Option("standalone", FLAG),
    Option("force-base", FLAG),
    Option("features", TEXTS, "LIST"),
    Option("for-kernel", TEXT, "VERSION"),
    Option("lang", TEXT, "LIST"),
    Option("lang-exclude", TEXT, "LIST"),
    Option("jobs", JOBS, "N", "j"),
    Option("quiet", FLAG, letter="q"),
    Option("verbose", FLAG, letter="v"),
    Option("timings", FLAG),
)


def merge(
    files: tuple[str, ...],
    objects: tuple[str, ...],
    store: str | None,
    cache: str | None,
    compiler_btf: bool,
    detached: str | None,
    report: str | None,
    verify: bool,
    base: str | None,
    standalone: bool,
    force_base: bool,
    features: tuple[str, ...],
    for_kernel: str | None,
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    timings: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf merge --help")
    if len(files) != 1:
        raise UsageError("one FILE at a time")
    if quiet and (verbose or timings):
        raise UsageError(f"--quiet and --{'verbose' if verbose else 'timings'} do not go together")
    if compiler_btf and (store is not None or cache is not None or verify):
        other = "--store" if store is not None else "--cache" if cache is not None else "--verify"
        raise UsageError(f"--compiler-btf and {other} do not go together: that is about values of pybtf object")
    if store is not None and not os.path.isdir(store):  # noqa: PTH112
        found = "is not a folder" if os.path.lexists(store) else "no such folder"
        raise InputError(store, found, "what pybtf object --store has made")
    if cache == "-":
        raise UsageError("--cache names a file that is kept, not standard output")
    if lang is None and lang_exclude is None:
        lang_exclude = excluded_by_environment()
    options = make_options(
        Features.parse(*features), jobs, lang=lang or "", lang_exclude=lang_exclude or "", base=base,
        standalone=standalone, force_base=force_base, for_kernel=for_kernel,
    )  # fmt: skip
    from pybtf.cli.single import run
    from pybtf.merging.linked import Sources
    from pybtf.merging.payloads import listed

    sources = Sources(tuple([path for each in objects for path in listed(each)]), store, cache)
    request = Request(
        files,
        detached=detached,
        detached_dir=None,
        report=report,
        report_detail=False,
        provenance=None,
        quiet=quiet,
        verbose=verbose,
        progress=False,
        timings=timings,
    )
    _check_sources(request, sources, objects)

    def encode(request: Request, options: EncodeOptions) -> tuple[Encoded, bytes]:
        return _merged(request, options, sources, verify, compiler_btf), b""

    return run(request, options, encode)


def _check_sources(request: Request, sources: Sources, objects: tuple[str, ...]) -> None:
    """No output may be one of the files that values are taken from."""
    for name, what in ((request.detached, "--detached OUT"), (request.report, "--report JSON")):
        if name is None:
            continue
        if sources.cache is not None and same(name, sources.cache):
            raise UsageError(f"{what} is the cache itself")
        for each in (*objects, *sources.objects):
            if same(name, each):
                raise UsageError(f"{what} would replace {each}, which is named with --objects")
    if sources.cache is not None and same(sources.cache, request.files[0]):
        raise UsageError("--cache is FILE itself")


def _check_read(request: Request, paths: list[str]) -> None:
    """No output may be a file that values were found in: what is in it may be all that there is of them."""
    from pybtf.merging.payloads import replaced

    for name, what in ((request.detached, "--detached OUT"), (request.report, "--report JSON")):
        each = replaced(name, paths) if name is not None and name != STDOUT else None
        if each is not None:
            raise UsageError(f"{what} would replace {each}, which has values of {request.files[0]}")


def _merged(
    request: Request, options: EncodeOptions, sources: Sources, verify: bool, compiler_btf: bool
) -> Encoded:
    from pybtf.cli.interrupt import PromptInterrupt
    from pybtf.merging.linked import merge_file

    file = request.files[0]
    if request.detached is None:
        from pybtf.elf.packed import require_plain

        require_plain(file)
    with PromptInterrupt():
        if compiler_btf:
            from pybtf.merging.compiler_btf import merge_compiled

            return merge_compiled(file, options, sources.objects)
        if not verify and sources.cache is None:  # what is put into it takes memory, too
            last_work()
        read: list[str] = []
        encoded = merge_file(file, options, sources, read=read)
        _check_read(request, read)
        if verify:
            from pybtf.pipeline.passes import encode_file

            try:
                wanted = encode_file(file, options)
            except NothingToEncode:
                hint = "Leave out --verify."
                raise InputError(file, "no DWARF to compare with", "DWARF, for --verify", hint) from None
            if bytes(wanted.data) != bytes(encoded.data):
                both = f"{len(encoded.data)} bytes, and its DWARF others, {len(wanted.data)}"
                raise MergeError(f"{file}: the values of its objects give {both}")
            if not request.quiet:
                console.note(f"{file}: its DWARF gives the same {len(encoded.data)} bytes")
    return encoded
