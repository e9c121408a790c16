"""Encoding as a kernel's build wants it: the outcome decides between writing, an empty BTF, and leaving a file alone.

What differs from `pybtf encode`, and why:

- *A module without DWARF is not an error.* A module may be made of assembler or Rust only. Up to kernel 6.19 it must be
  left alone; from 7.0 on the build goes on with the detached file, which therefore is written, with nothing in it.
  (What is encoded on a base counts as a module. A kernel without types is always an error.) The exception is a module
  without types whose `.BTF_ids` are not empty, for the kernel would look its kfuncs up in the empty BTF. Then pahole
  writes no detached file, and the build stops; here it stops with a message. In place, nothing is written in either
  case, and the next step of the build, which resolves `.BTF_ids`, stops.
- *No base is required, and none refused.* The checks of modules and bases in `pybtf encode` would stop correct
  builds: the build names the kernel it has just linked, and some builds have modules but no BTF of the kernel.
- *Nothing is forced to the disk.* Files still appear complete or not at all as far as processes can see; a build
  folder is not expected to survive a power failure, and hundreds of modules would wait for the disk.
- *A file without DWARF may have values.* Then BTF is merged from these (docs/merge.md). One with values of some objects
  and the DWARF of others is an error.
- *One message at most.* The kernel's build shows all of standard error.
"""

from __future__ import annotations

import os

from pybtf.errors import InputError, NothingToEncode, Place, PybtfError, UsageError, counted, printable
from pybtf.options import available_cpus, make_options
from pybtf.pahole.main import PROGRAM
from pybtf.pahole.request import Answer, Request
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout
from pybtf.support.records import replace

if TYPE_CHECKING:
    from pybtf.encoded import Encoded
    from pybtf.options import EncodeOptions

OBJECTS_VARIABLE = "PYBTF_OBJECTS"
STORE_VARIABLE = "PYBTF_STORE"
CACHE_VARIABLE = "PYBTF_MERGE_CACHE"

BYTES_PER_WORKER = 4 << 20
"""A worker more than one for each so many bytes of input costs more than it gains, and takes a token from others."""


def run(arguments: list[str]) -> int:
    """Do what the command line says; the exit status. Raises `PybtfError`."""
    try:
        request = Request(arguments)
    except Answer as answer:
        write_stdout(f"{answer}\n")
        return 0
    if request.prints:
        from pybtf.pahole.printing import print_types

        return print_types(request)
    _check_target(request)
    from pybtf.elf.mapped import mapped

    try:
        with mapped(request.file, PROGRAM):
            _check_companions(request)
            encoded = _encode(request)
    except NothingToEncode as nothing:
        if request.base is None:
            raise
        _leave(request, nothing)
        return 0
    _write(request, encoded)
    if request.verbosity > 0:
        _tell(request, encoded)
    return 0


def _encode(request: Request) -> Encoded:
    features = request.features()
    if features.distilled_base and request.base is None:
        raise InputError(request.file, "the feature distilled_base needs --btf_base")
    try:
        alone = request.base is None  # a build names the right base, or has none: it is not for this program to ask
        options = make_options(
            features, 1, lang=request.lang, lang_exclude=request.lang_exclude, base=request.base, standalone=alone,
            force_base=not alone,
        )  # fmt: skip
    except UsageError as error:  # as in pahole: not a matter of the command line's form
        raise PybtfError(str(error)) from error
    jobs = _jobs(request)
    if jobs == 1:  # no matter for make
        return _encode_by(request, options)
    from pybtf.pahole.jobserver import workers

    with workers(jobs, os.environ.get("MAKEFLAGS", "")) as jobs:
        return _encode_by(request, replace(options, jobs=jobs))


def _encode_by(request: Request, options: EncodeOptions) -> Encoded:
    from pybtf.base import open_base
    from pybtf.pipeline.passes import encode_file
    from pybtf.support.timings import Timings

    timings = Timings()
    base = open_base(options.base, timings, once=True)
    if base is not None:  # read once, also if there is nothing but values
        options = replace(options, base=base)
    else:
        from pybtf.core.support.malloc_tuning import part_memory

        part_memory()
    try:
        encoded = encode_file(request.file, options, timings=timings)
        # Of a part of the program there is DWARF, of the rest values: which of both was meant, an error says.
        return encoded if not encoded.report.stripped else _merged(request, options) or encoded
    except NothingToEncode:
        merged = _merged(request, options)
        if merged is None:
            raise
        return merged


def _merged(request: Request, options: EncodeOptions) -> Encoded | None:
    """What the values of its objects give, of a file that has no DWARF but values (`pybtf cc`); None if it has none.

    The environment may say where these are, as `pybtf merge` is told with `--objects`, `--store` and `--cache`. The
    cache is for the kernel alone: modules, which a build makes side by side, would put each other's values out of it.
    """
    from pybtf.elf.image import ElfImage
    from pybtf.merging.index import find_index

    with ElfImage.open(request.file) as image:
        if find_index(image) is None:
            return None
    from pybtf.merging.linked import Sources, merge_file
    from pybtf.merging.payloads import listed

    objects = os.environ.get(OBJECTS_VARIABLE)
    sources = Sources(
        tuple(listed(objects)) if objects else (),
        os.environ.get(STORE_VARIABLE) or None,
        (os.environ.get(CACHE_VARIABLE) or None) if options.base is None else None,
    )
    given = [name for name in (objects, *sources.objects, sources.cache) if name]
    _check_sources(request, given, "is named as the detached file, and in the environment")
    read: list[str] = []
    encoded = merge_file(request.file, options, sources, read=read)
    _check_sources(request, read, f"is named as the detached file, and has values of {request.file}")
    return encoded


def _check_sources(request: Request, paths: list[str], found: str) -> None:
    """The detached file must be none that values come from: what is in it may be all that there is of them."""
    if request.detached is None:
        return
    from pybtf.merging.payloads import replaced

    name = replaced(request.detached, paths)
    if name is not None:
        raise InputError(Place(name), found, "another file")


def _jobs(request: Request) -> int:
    """As many workers as were asked for, and as are of use for a file of this size."""
    try:
        useful = 1 + os.stat(request.file).st_size // BYTES_PER_WORKER  # noqa: PTH116
    except OSError:  # will be reported when it is opened
        return 1
    if request.jobs is not None:
        return min(request.jobs, useful)
    return min(available_cpus(), useful) if useful > 1 else 1


def _write(request: Request, encoded: Encoded) -> None:
    if request.detached is None:
        written = encoded.embed(request.file, durable=False)
        told = written.other_links or written.stale or written.signed or written.disowned
        if told and request.verbosity >= 0:
            from pybtf.cli import console
            from pybtf.cli.request import lost_owner, stale_section, void_signature

            if written.other_links:
                console.warning(f"{request.file}: other hard links of it keep the old contents", PROGRAM)
            for name in written.stale:
                console.warning(stale_section(request.file, name), PROGRAM)
            if written.signed:
                console.warning(void_signature(request.file), PROGRAM)
            if written.disowned:
                console.warning(lost_owner(request.file), PROGRAM)
    else:
        encoded.write(request.detached, durable=False)


def _leave(request: Request, nothing: NothingToEncode) -> None:
    """A module without anything to encode: an empty split BTF where one is waited for, else the module as it is."""
    ids = _ids_size(request.file)
    what = "left as it is"
    if request.detached is not None:
        if ids:
            raise InputError(
                nothing.place,
                f"{nothing.found}, but its .BTF_ids, {ids} bytes, name types and functions",
                "BTF that has them",
                "A kernel that looks kfuncs up in empty BTF can crash. Build with -g, without KCFLAGS=-g0.",
            )
        from pybtf.elf.atomic import write_file

        write_file(request.detached, _empty(request.file), durable=False)
        what = f"{request.detached} is empty BTF"
    if request.verbosity >= 0:
        from pybtf.cli import console

        console.say(printable(f"{PROGRAM}: {nothing.place}: {nothing.found}; {what}"))


def _ids_size(path: str) -> int:
    """Bytes of `.BTF_ids`: where a module lists the kfuncs it has, and the types and functions it asks for."""
    from pybtf.elf.image import ElfImage

    with ElfImage.open(path) as image:
        return max((section.size for section in image.sections if section.name == ".BTF_ids"), default=0)


def _empty(path: str) -> bytes:
    """BTF without types and strings, in the byte order of the ELF file `path`."""
    from pybtf.btf.header import BASE_LENGTH, Header
    from pybtf.btf.kinds import VERSION

    with open(path, "rb") as file:
        little = file.read(6)[5:] != b"\2"
    return Header(little, VERSION, 0, BASE_LENGTH, 0, 0, 0, 0).pack()


def _tell(request: Request, encoded: Encoded) -> None:
    from pybtf.cli import console
    from pybtf.cli.summary import left_out, size

    report = encoded.report
    for text in report.warnings:
        console.warning(text, PROGRAM)
    for line in left_out(report):
        console.say(line)
    target = printable(request.detached or request.file)
    console.say(f"{target}: {counted(report.total_types, 'type')}, {size(report.output_size)}")


def _check_companions(request: Request) -> None:
    """Nor a file that the DWARF is found in, which would be lost."""
    from pybtf.elf.atomic import replaces_elf

    if request.detached is None or not replaces_elf(request.detached):
        return
    from pybtf.pipeline.companions import companions

    there = os.stat(request.detached)  # noqa: PTH116
    for path, found in companions(request.file):
        if os.path.samestat(found, there):
            raise InputError(
                Place(path), f"is named as the detached file, and has DWARF of {request.file}", "another file"
            )


def _check_target(request: Request) -> None:
    """The detached file must be none of the inputs: both would be lost. That it can be written is seen before there is
    any work; so is that the file itself can be, if that is a kernel: a module without types is left as it is.
    """
    if request.detached is None:
        if request.base is None:
            from pybtf.elf.writer import require_replaceable

            require_replaceable(request.file)
        return
    for name in (request.file, request.base):
        if name is None:
            continue
        try:
            same = os.path.samefile(name, request.detached)  # noqa: PTH121
        except OSError:
            continue
        if same:
            raise InputError(Place(name), "is named as the detached file too", "another file")
    from pybtf.elf.atomic import require_writable

    require_writable(request.detached)
