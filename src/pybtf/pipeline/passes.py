"""From an ELF file to BTF: the whole program in one list of passes. Read `_encode_images` first: it loads the sections
and symbols, makes the run, and fills the report at the end. In between it calls `_encode`, which has the passes from
units to bytes. Below these two is what they call, in that order.

Everything here runs once per file; what runs once per unit, type or symbol is in the compiled core. Nothing here reads
the command line, though hints name its options, and nothing in the core looks for files. The threads of a run are in
run_threads.py, the messages of its errors in run_errors.py, and its part of the report in run_report.py. What most
modules of a kernel do not need is imported where it is needed: a build starts a process for each of thousands of them.
"""

from __future__ import annotations

import os

from pybtf.base import Base, open_base
from pybtf.core.codes import OPTIONS
from pybtf.core.run import Run
from pybtf.dwarf.merging import built_with_lto
from pybtf.elf.constants import DWARF_SECTIONS
from pybtf.elf.image import ElfImage, Source
from pybtf.encoded import Encoded
from pybtf.errors import EncodeError, InputError, InternalError, NothingToEncode, Place
from pybtf.features import Features
from pybtf.options import EncodeOptions
from pybtf.pipeline.loaded import LoadedFile, UnitValues, load, variable_ranges
from pybtf.pipeline.run_report import fill
from pybtf.report import Report
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import keep
from pybtf.support.records import record
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pybtf.core.elf.function_table import FunctionTable
    from pybtf.dwarf.sections import DebugSections
    from pybtf.pipeline.loaded import VariableRange

    Progress = Callable[[int, int], None]
    Inspect = Callable[[Run, ElfImage, DebugSections, bytes, bytes | None], None]
    """What looks at a run that traces, when its BTF is there, also its distilled base, and its input is still open."""

Buffer = bytes | bytearray | memoryview


@record(frozen=True)
class Task:
    """What an encoding is asked for, except of which images."""

    options: EncodeOptions
    report: Report
    """Is filled. Its timings are those of the passes."""
    base: Base | None = None
    """That of the options, read."""
    progress: Progress | None = None
    values: UnitValues | None = None
    """What there is in place of the DWARF of the one image."""
    inspect: Inspect | None = None
    """Has the run trace (core/fates.py)."""
    track_dies: bool = False
    """Whether the run notes which DIEs types are of (core/origins.py)."""


def encode_file(
    path: str,
    options: EncodeOptions,
    progress: Progress | None = None,
    timings: Timings | None = None,
    inspect: Inspect | None = None,
    *,
    track_dies: bool = False,
) -> Encoded:
    """Encode the ELF file `path`, which is only read. It may be compressed as a whole.

    `timings` are those the report gets; default: new ones, of the process. `inspect`, `track_dies`: see `Task`.

    Raises `InputError` for a file that is damaged or lacks what is needed, `EncodeError` for what BTF cannot express.
    """
    report = new_report(path, options, timings)
    base = open_base(options.base, report.timings, once=True)
    with report.timings.pass_("open"):
        image = _open(path)
    with image:
        task = Task(options, report, base, progress, inspect=inspect, track_dies=track_dies)
        encoded = encode_images([image], task)
    if image.status is not None:
        report.input_size = image.status.st_size  # not that of the contents, if the file is compressed
    return encoded


def encode_combined(paths: Sequence[str], options: EncodeOptions, progress: Progress | None = None) -> Encoded:
    """Encode several ELF files into one BTF, as pahole does; what it says of its input is said of the first.

    Kfuncs, and the sections in which variables are looked for, are those of the first file, also for variables of the
    others. Raises as `encode_file`, and `InputError` if the files are not all of one byte order.
    """
    report = new_report(paths[0], options)
    report.other_paths = list(paths[1:])
    from contextlib import ExitStack

    with ExitStack() as stack:
        with report.timings.pass_("open"):
            images = [stack.enter_context(_open(path)) for path in paths]
        base = open_base(options.base, report.timings, once=True)
        return encode_images(images, Task(options, report, base, progress))


def _open(path: str) -> ElfImage:
    """The ELF file `path`, which may be compressed as a whole. Raises `InputError`."""
    try:
        return ElfImage.open(path)
    except InputError:
        from pybtf.elf.packed import open_module

        return open_module(path)


def new_report(path: str, options: EncodeOptions, timings: Timings | None = None) -> Report:
    """A report with what was asked for, to be filled. `timings`: default: new ones, of the process."""
    return Report(
        path,
        features=options.features.names(),
        for_kernel=options.for_kernel,
        without=list(options.without),
        jobs=options.jobs,
        timings=timings or Timings(),
    )


def encode_images(images: list[ElfImage], task: Task) -> Encoded:
    """Encode open images into one BTF. Raises as `encode_file`."""
    sources = [image.source for image in images if image.source is not None]
    try:
        encoded = _encode_images(images, task, sources)
    except Exception:
        # What is wrong may come from reading half of the old file and half of the new.
        _check_sources(sources)
        raise
    _check_sources(sources)
    return encoded


def _check_sources(sources: list[Source]) -> None:
    """Raise `InputError` if one of the files has changed since it was opened."""
    for source in sources:
        change = source.change()
        if change is not None:
            raise change from None


def _encode_images(images: list[ElfImage], task: Task, sources: list[Source]) -> Encoded:
    """As `encode_images`. Other files that are read for it, such as separate DWARF, are appended to `sources`."""
    report = task.report
    timings = report.timings
    image = images[0]
    _check_order(images, task.base)
    compare_sizes = _not_surely_of(images, task)
    report.byte_order = _order(image.little)
    report.input_size = image.size

    # Load the sections and symbols; they stay as they are from here on. With several workers, symbols and unit headers
    # are read at the same time.
    files = _load(images, task, sources)
    recall = task.values.recall if task.values is not None else None
    if files[0].wait is None or recall is not None:
        with timings.pass_("symbols"):
            files[0] = files[0].waited()
            _freeze_symbols(files, task)
    ranges = variable_ranges(image, files[0].addresses, task.options.features)

    # The same input may have been encoded before.
    if recall is not None:
        with timings.pass_("values"):
            known = recall(files[0].symbols, ranges)
        if known is not None:
            facts, data = known
            fill(report, facts, data)
            return Encoded(data, report, task.base, None, image.status, _real_path(image))

    # Set up the core.
    with timings.pass_("unit headers"):
        run = _new_run(files, ranges, task)
    keep(run)
    try:
        # From units to bytes.
        data, base_data = _encode(run, files, task)

        # The BTF is complete. Tell of it those who asked.
        if task.base is not None and compare_sizes:
            from pybtf.pipeline.belonging import check_sizes

            check_sizes(compare_sizes[0], run, task.base)
        facts = run.facts()
        fill(report, facts, data)
        report.base_size = len(base_data) if base_data is not None else 0
        if task.values is not None and task.values.remember is not None:
            task.values.remember(facts, data)
        if task.inspect is not None:
            task.inspect(run, image, files[0].sections, data, base_data)
    finally:
        run.close()
    return Encoded(data, report, task.base, base_data, image.status, _real_path(image))


def _encode(run: Run, files: list[LoadedFile], task: Task) -> tuple[bytes, bytes | None]:
    """From units to BTF, and the base that was distilled, if that was asked for."""
    options, report = task.options, task.report
    timings = report.timings
    image = files[0].image

    # Find the units of each file; decode them on all workers; encode them in order.
    for file in files:
        with timings.pass_("unit headers" if task.values is None else "values"):
            if file is not files[0]:
                run.next_file(file.sections, file.symbols, machine=file.image.machine, info_file=file.info_file)
            _find_units(file, task, run)
        if file.wait is not None:
            with timings.pass_("symbols"):
                file.wait()
                _freeze_symbols(files, task)
                run.start()
        with timings.pass_("units"):
            _work(run, options.jobs, task.progress)
            _check(file.image, run, task.values)
        if options.degrade:
            from pybtf.pipeline.losses import losses

            report.losses += losses(file.image, file.sections, run)

    # The last unit is in. Where dropping repeats might change the result, keep more. Meanwhile merge what was observed
    # of functions.
    with timings.pass_("certify"):
        _side_by_side(options.jobs, lambda: _certify(run, options.jobs), run.combine)
        _check(image, run, task.values)
        if options.degrade:
            from pybtf.pipeline.losses import renamed

            report.losses += renamed(run)

    # What is kept of each unit is settled. One list of all types; functions; sections of variables.
    with timings.pass_("functions"):
        n_types = run.finish()
        _check(image, run)
        if options.degrade:
            from pybtf.pipeline.losses import unnameable

            report.losses += unnameable(run)
        if n_types == 0 and (task.base is None or run.facts()["units"] == run.facts()["filtered"]):
            why = _why_nothing(task)
            raise NothingToEncode(image.place(), "no unit has anything to encode", "at least one type", why)

    # The list of types is complete. Drop the duplicates.
    with timings.pass_("deduplicate"):
        failure, type_id = run.deduplicate()
        if failure:
            from pybtf.pipeline.run_errors import of_deduplication

            raise of_deduplication(image, failure, type_id)

    # The types are final. Number and write them.
    with timings.pass_("output"):
        return _bytes_of(run, image, options.jobs, options.features.distilled_base)


def _check_order(images: list[ElfImage], base: Base | None) -> None:
    """Raise `InputError` unless all have one byte order."""
    for image in images:
        if base is not None and base.index.little != image.little:
            other = f"the base {base.path}"
        elif image.little != images[0].little:
            other = f"the first file {images[0].path}"
        else:
            continue
        raise InputError(image.place(), f"a {_order(image.little)}-endian file", f"the byte order of {other}")


def _order(little: bool) -> str:
    return "little" if little else "big"


def _not_surely_of(images: list[ElfImage], task: Task) -> list[ElfImage]:
    """The modules that may be of another kernel than the base. Whether the sizes of their structs are those of the base
    shows in the end. Raises as `check_base_of`.
    """
    options = task.options
    if options.standalone if task.base is None else options.force_base:
        return []  # it is as wanted: a kernel's build says so always
    from pybtf.pipeline.belonging import check_base_of

    return [image for image in images if check_base_of(image, options, task.base)]


def _load(images: list[ElfImage], task: Task, sources: list[Source]) -> list[LoadedFile]:
    """The sections and symbols of all files, of which symbols may still be on their way (`LoadedFile.wait`)."""
    options, report = task.options, task.report
    if task.values is not None:
        files = [task.values.file]
    else:
        files = [load(each, options, report.timings, one_of_several=len(images) > 1) for each in images]
    sources += [source for file in files for source in file.sections.sources if source not in sources]
    report.warnings += [text for file in files for text in file.sections.warnings]
    if task.values is None:
        _tell_of_stripped(images, report)
    return files


def _tell_of_stripped(images: list[ElfImage], report: Report) -> None:
    """Warn of DWARF that is only a part: of other objects it was taken out when they got values."""
    for image in images:
        if image.dwarf.keys() <= DWARF_SECTIONS:
            continue
        from pybtf.elf.values_index import stripped_objects

        count = stripped_objects(image)
        report.stripped += count
        if count:
            report.warnings.append(
                f"{image.path}: objects that have values but no DWARF (pybtf cc --strip-dwarf) are left out, "
                f"{count} of them; pybtf merge encodes their values"
            )


def _freeze_symbols(files: list[LoadedFile], task: Task) -> None:
    """Mark the kfuncs in the function tables, which do not change after that."""
    image = files[0].image
    if task.options.features.decl_tag_kfuncs and image.section(".BTF_ids") is not None:
        from pybtf.elf.kfuncs import mark_kfuncs

        task.report.warnings += mark_kfuncs(image, files[0].symbols)
    for file in files:
        file.symbols.freeze()


def _new_run(files: list[LoadedFile], ranges: list[VariableRange], task: Task) -> Run:
    """What the core needs, set up for the first file."""
    image = files[0].image
    options = task.options
    features = options.features
    return Run(
        files[0].sections,
        files[0].symbols,
        little=image.little,
        machine=image.machine,
        options=option_bits(features.on) | (OPTIONS["degrade"] if options.degrade else 0),
        force=features.encode_force,
        ranges=ranges,
        names=image.names() if ranges else (),
        languages=sorted(options.lang or options.lang_exclude or ()),
        only_languages=options.lang is not None,
        jobs=options.jobs,
        base=task.base.index if task.base is not None else None,
        info_file=files[0].info_file,
        functions=_joined(files) if len(files) > 1 else None,
        tracing=task.inspect is not None,
        track_dies=task.track_dies,
        values_size=task.values.size if task.values is not None else 0,
        later=files[0].wait is not None,
    )


def _joined(files: list[LoadedFile]) -> FunctionTable:
    """One table of the functions of several files."""
    from pybtf.core.elf.function_table_join import join_tables

    return join_tables([file.symbols for file in files])


def option_bits(features: tuple[str, ...]) -> int:
    """What the core has to know of these features."""
    bits = sum(OPTIONS.get(name, 0) for name in features)
    return bits | (OPTIONS["variables"] if "var" in features or "global_var" in features else 0)


def _find_units(file: LoadedFile, task: Task, run: Run) -> None:
    """Read the unit headers, or take the values there are in place of DWARF. Raises `InputError`."""
    try:
        if task.values is not None:
            _take_values(task.values, run)
        else:
            _scan(file, run, task.options.features)
    except InputError:
        if file.wait is not None:  # what is wrong with symbols is said first, by any number of workers
            file.wait()
        raise


def _take_values(values: UnitValues, run: Run) -> None:
    damaged = run.take_values(values.pieces, values.digest, values.block_digest, values.find)
    if damaged is not None:
        from pybtf.elf.values_index import VALUES

        place = Place(values.paths[damaged[0]], VALUES, damaged[1])
        raise InputError(place, "values that are damaged", "what pybtf object has written")


def _scan(file: LoadedFile, run: Run, features: Features) -> None:
    alternate = file.sections.alternate
    merge = features.force_cu_merging or built_with_lto(file.image) or (alternate is not None and alternate.has_units)
    run.scan(merge)
    _check(file.image, run)
    if not merge and run.has_reference_to_other_units():
        run.merge()
    _check(file.image, run)


def _work(run: Run, jobs: int, progress: Progress | None) -> None:
    """Decode and encode all units that are left, on all workers."""
    on_slice = progress or _nobody_looks
    if jobs == 1:
        run.work(on_slice)
        return
    from pybtf.pipeline.run_threads import work_together

    work_together(run, jobs, on_slice)


def _nobody_looks(done: int, units: int) -> None:
    pass


def _certify(run: Run, jobs: int) -> None:
    """Keep what is needed in addition to the first type of each class, and decode units again where that takes it."""
    if run.certify():
        _work(run, jobs, None)


def _side_by_side(jobs: int, work: Callable[[], None], other: Callable[[], None]) -> None:
    """Do `work` here and `other`, which raises nothing, in another thread; by one worker, one after the other."""
    if jobs == 1:
        work()
        other()
        return
    from pybtf.pipeline.run_threads import side_by_side

    side_by_side(work, other)


def _why_nothing(task: Task) -> str:
    """Why it may be that no unit has anything to encode, and what to do then."""
    if task.report.losses:
        from pybtf.pipeline.losses import LEFT_OUT

        left_out = "; ".join(loss.what for loss in task.report.losses if loss.instead == LEFT_OUT)
        if left_out:
            return f"Left out: {left_out}. Without --degrade, the message says what was expected."
    if task.options.lang is None and task.options.lang_exclude is None:
        return ""
    return "If units are left out by language, see --lang and --lang-exclude."


def _check(image: ElfImage, run: Run, values: UnitValues | None = None) -> None:
    """Raise what the core met, if anything."""
    fault = run.fault()
    error = run.error() if fault is None else None
    if fault is None and error is None:
        return
    from pybtf.pipeline import run_errors

    if fault is not None:
        raise run_errors.of_input(image, run, fault, values)
    if error is not None:
        raise run_errors.of_encoding(image, *error)


def _bytes_of(run: Run, image: ElfImage, jobs: int, distilled: bool) -> tuple[bytes, bytes | None]:
    """The BTF, and its distilled base if that is wanted."""
    try:
        run.lay_out()
        _side_by_side(jobs, run.write_types, run.write_strings)
        data = run.data()
        both = run.distill(data) if distilled else (data, None)
    except OverflowError as error:
        raise EncodeError(image.place(), f"{error} bytes of BTF", "less than 4 GiB") from None
    except InternalError as error:
        raise InternalError(f"{image.path}: {error}") from None
    if isinstance(both, int):
        from pybtf.pipeline.run_errors import of_distilling

        raise of_distilling(image, both)
    return both


def _real_path(image: ElfImage) -> str | None:
    try:
        return os.path.realpath(image.path) if image.status is not None else None
    except OSError:  # the folder we are in is gone
        return None
