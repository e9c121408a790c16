"""From an ELF file to BTF: the whole program in one list of passes. Read `encode_image` from top to bottom.

Everything here runs once per file; what runs once per unit, type or symbol is in the compiled core. Nothing here knows
the command line, and nothing in the core knows paths.
"""

from __future__ import annotations

import mmap
import threading
from array import array
from collections.abc import Callable

from pybtf.core.functable import ALL_SECTIONS
from pybtf.core.run import Run
from pybtf.dwarf.faults import fault_error
from pybtf.dwarf.merging import built_with_lto
from pybtf.dwarf.sections import debug_sections
from pybtf.elf.constants import SHT_NOBITS
from pybtf.elf.image import ElfImage
from pybtf.elf.kfuncs import mark_kfuncs
from pybtf.elf.layout import owners, section_addresses
from pybtf.elf.symbols import function_table
from pybtf.encoded import Encoded
from pybtf.errors import EncodeError, InternalError, NothingToEncode
from pybtf.features import Features
from pybtf.options import EncodeOptions
from pybtf.report import Report

Progress = Callable[[int, int], None]

SHT_PROGBITS = 1
PERCPU = ".data..percpu"

# Bits of core/worker.pxd (OPT_*), by feature.
_OPTION_BITS = {
    "float": 1,
    "enum64": 2,
    "decl_tag": 4,
    "type_tag": 8,
    "true_signature": 32,
    "consistent_func": 64,
    "decl_tag_kfuncs": 128,
    "attributes": 256,
}
_VARIABLES = 16


def encode_file(path: str, options: EncodeOptions, progress: Progress | None = None) -> Encoded:
    """Encode the ELF file `path`, which is only read.

    Raises `InputError` for a file that is damaged or lacks what is needed, `EncodeError` for what BTF cannot express.
    """
    report = Report(path=path, features=options.features.names(), jobs=options.jobs)
    with report.timings.pass_("open"):
        image = ElfImage.open(path)
    with image:
        data = encode_image(image, options, report, progress)
    return Encoded(data, report)


def encode_image(image: ElfImage, options: EncodeOptions, report: Report, progress: Progress | None = None) -> bytes:
    """Encode an open image; fills `report`. Raises as `encode_file`."""
    timings = report.timings
    features = options.features
    report.byte_order = "little" if image.little else "big"
    report.input_size = image.size

    # Read what does not change any more: sections, symbols, kfuncs.
    with timings.pass_("sections"):
        addresses = section_addresses(image)
        sections = debug_sections(image, addresses)
        report.warnings += sections.warnings
    with timings.pass_("symbols"):
        symbols = function_table(image, _object_section(image, features))
        if features.decl_tag_kfuncs:
            report.warnings += mark_kfuncs(image, symbols)
        symbols.freeze()

    # The function table is frozen. Find the units.
    with timings.pass_("unit headers"):
        run = Run(
            sections,
            symbols,
            little=image.little,
            machine=image.machine,
            options=_option_bits(features),
            force=features.encode_force,
            ranges=_variable_ranges(image, addresses, features),
            names=[section.name.encode("utf-8", "surrogateescape") for section in image.sections],
            languages=sorted(options.lang or options.lang_exclude or ()),
            only_languages=options.lang is not None,
            jobs=options.jobs,
            info_mapped=isinstance(sections["info"], memoryview) and isinstance(sections["info"].obj, mmap.mmap),
        )
        _scan(image, run, features)

    # Decode units on all workers; encode them in order.
    with timings.pass_("units"):
        _work(run, options.jobs, progress)
        _check(image, run)

    # The last unit is in. Where dropping repeats might change the result, keep the whole unit.
    with timings.pass_("certify"):
        if run.certify():
            _work(run, options.jobs, None)
        _check(image, run)

    # What is kept of each unit is settled. Merge what was observed of functions; sections of variables.
    with timings.pass_("functions"):
        report_types = run.finish()
        _check(image, run)
        if report_types == 0:
            raise NothingToEncode(
                image.place(),
                "no unit has anything to encode",
                "at least one type",
                "If units are left out by language, see --lang and --lang-exclude.",
            )

    # The list of types is complete. Drop what is there twice.
    with timings.pass_("deduplicate"):
        code, type_id = run.deduplicate()
        if code:
            raise _dedup_error(image, code, type_id)

    # The types are final. Number and write them.
    with timings.pass_("output"):
        try:
            data = run.data()
        except OverflowError as error:
            raise EncodeError(image.place(), f"{error} bytes of BTF", "less than 4 GiB") from None
    _fill(report, run, data)
    return data


def _object_section(image: ElfImage, features: Features) -> int | None:
    """Whose object symbols the function table has to know, for variables at the start of a section."""
    if features.global_var:
        return ALL_SECTIONS
    wanted = [section.index for section in image.sections if section.name == PERCPU]
    if not features.var or not wanted:
        return None
    return wanted[0] if len(wanted) == 1 else ALL_SECTIONS


def _option_bits(features: Features) -> int:
    bits = sum(bit for name, bit in _OPTION_BITS.items() if getattr(features, name))
    return bits | (_VARIABLES if features.var or features.global_var else 0)


def _variable_ranges(
    image: ElfImage, addresses: array[int], features: Features
) -> list[tuple[int, int, int, int, bool]]:
    """Which addresses belong to which section that can hold variables: first address and size of the range, address and
    index of the section, and whether its variables are wanted. Ranges ascend and do not overlap.
    """
    sections = [section for section in image.sections[1:] if section.type in (SHT_PROGBITS, SHT_NOBITS)]
    return [
        (
            start,
            end - start,
            addresses[section.index],
            section.index,
            features.global_var or (features.var and section.name == PERCPU),
        )
        for start, end, section in owners(sections, addresses)
    ]


def _scan(image: ElfImage, run: Run, features: Features) -> None:
    merge = features.force_cu_merging or built_with_lto(image)
    run.scan(merge)
    _check(image, run)
    if not merge and run.has_reference_to_other_units():
        run.merge()
    _check(image, run)


def _work(run: Run, jobs: int, progress: Progress | None) -> None:
    """All workers, the main thread being one of them. The first exception of any is raised here."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run.work()
        except BaseException as error:
            failures.append(error)
            run.stop()

    def on_slice(done: int, units: int) -> None:
        if progress is not None:
            progress(done, units)

    threads: list[threading.Thread] = []
    try:
        for i in range(1, jobs):
            thread = threading.Thread(target=work, name=f"pybtf-{i}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                break  # the system allows no more; fewer do the same
            threads.append(thread)
        run.work(on_slice)
        for thread in threads:
            thread.join()
    except BaseException:
        run.stop()
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise failures[0]


def _check(image: ElfImage, run: Run) -> None:
    """Raise what the core met, if anything."""
    fault = run.fault()
    if fault is not None:
        raise fault_error(image.path, fault, run.sections)
    error = run.error()
    if error is None:
        return
    code, name = error
    if code == 1:
        raise MemoryError(f"{image.path}: not enough memory")
    if code == 2:
        raise EncodeError(image.place(), "more types or strings than BTF can number", "less than 2 GiB of each")
    if code == 3:
        raise EncodeError(
            image.place(),
            f"the kfunc {name} is flagged as taking or returning an arena pointer, but has no pointer there",
            "a pointer",
        )
    if code == 5:
        raise EncodeError(
            image.place(), f"comparing the prototypes of the function {name} takes too long", "types made by a compiler"
        )
    raise EncodeError(
        image.place(image.sections[int(name)]),
        "more variables than a DATASEC can count",
        "at most 65535",
        "Leave out the feature global_var.",
    )


def _dedup_error(image: ElfImage, code: int, type_id: int) -> Exception:
    if code == 1:
        return MemoryError(f"{image.path}: not enough memory")
    if code == 2:
        return EncodeError(
            image.place(), f"type {type_id} refers to itself through pointers and qualifiers only", "a type that ends"
        )
    if code == 5:
        return EncodeError(
            image.place(), f"comparing type {type_id} with its namesakes takes too long", "fewer conflicting types"
        )
    return InternalError(f"{image.path}: de-duplication failed with code {code} at type {type_id}")


_KIND_NAMES = (
    "VOID", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT", "FUNC",
    "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip
_FUNCTION_FATES = {
    "inconsistent": "inconsistent",
    "unexpected": "unexpected_register",
    "uncertain": "uncertain_location",
    "reordered": "reordered",
    "optimized": "optimized",
    "ambiguous": "ambiguous_address",
}
_VARIABLE_COUNTS = {
    "var_section": "section",
    "var_nameless": "unnamed",
    "var_prefix": "generated",
    "var_no_symbol": "no_symbol",
    "var_invalid_name": "invalid_name",
    "var_void": "void_type",
    "var_size": "size",
    "var_declaration": "declaration",
    "var_no_address": "no_address",
}


def _fill(report: Report, run: Run, data: bytes) -> None:
    """The facts of the run, in the words of the report."""
    facts = run.facts()
    counts = facts["counts"]
    report.units.kept = facts["units"] - facts["filtered"] - counts["partial"]
    report.units.leave_out("language", facts["filtered"])
    report.units.leave_out("partial", counts["partial"])
    if counts["signatures_lost"]:
        report.warnings.append(
            f"{counts['signatures_lost']} references to types are void: no type unit has their signature"
        )
    if counts["tags_cut"]:
        report.warnings.append(
            f"{counts['tags_cut']} of the units are encoded in part only: a declaration tag of a type in it has no text, "
            "and pahole encodes nothing of a unit behind such a tag"
        )
    report.types = {_KIND_NAMES[kind]: n for kind, n in facts["kinds"].items()}
    report.functions.kept = facts["functions"]
    for fate, reason in _FUNCTION_FATES.items():
        report.functions.leave_out(reason, facts["fates"][fate])
    report.functions.leave_out("unnamed_parameter", counts["unnamed_parameter"])
    report.functions.leave_out("no_symbol", counts["no_symbol"])
    report.variables.kept = facts["variables"]
    for name, reason in _VARIABLE_COUNTS.items():
        report.variables.leave_out(reason, counts[name])
    report.types_size = facts["type_size"]
    report.strings_size = facts["string_size"]
    report.output_size = len(data)
