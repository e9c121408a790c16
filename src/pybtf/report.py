"""What an encoding found and did, as facts: for `--report`, the closing line, `-v` and the Python API.

The pipeline fills a `Report` as it goes; nothing here knows how. Reasons for leaving something out are a
fixed vocabulary (the tables below), so that a program reading the JSON can rely on them and a misspelt one
fails at once. The JSON's keys, their order and their meaning are documented in docs/report.md.
"""

from __future__ import annotations

import os
import sys

from pybtf._version import __version__
from pybtf.arguments import check_data
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCHEMA = 1
"""Raised when a key of the JSON is renamed, removed or changes its meaning; not when one is added."""

COMPATIBLE_WITH = "pahole 1.32"

UNIT_REASONS = {
    "language": "written in a language that was not asked for",
    "partial": "a partial unit",
    "damaged": "damaged, or of a sort that cannot be read",
}
FUNCTION_REASONS = {
    "unexpected_register": "a parameter arrives in another register than the calling convention says",
    "inconsistent": "units disagree about the prototype",
    "uncertain_location": "a packed struct is passed on the stack",
    "reordered": "the compiler removed or reordered parameters",
    "optimized": "the only code is a clone with optimised parameters",
    "ambiguous_address": "several functions of this name at different addresses",
    "invalid_name": "with --degrade: the name is not one that kernels take",
    "unnamed_parameter": "a parameter has no name",
    "no_symbol": "no function symbol of this name",
}
DESCRIPTIONS = frozenset({"no_symbol"})
"""Reasons that count descriptions in the DWARF which are those of no function of the file: inlined everywhere, removed,
or of another object. All other reasons are about functions there are."""
VARIABLE_REASONS = {
    "section": "in a section that was not asked for",
    "no_address": "no fixed address: optimised away, thread-local or in a register",
    "declaration": "only declared",
    "unnamed": "without a name",
    "generated": "made by the kernel's macros",
    "no_symbol": "at the start of a section, without an object symbol",
    "invalid_name": "the name is not one BTF allows",
    "void_type": "without a type",
    "size": "without a size, or too large or too far into its section for BTF",
    "ambiguous_symbol": "of BTF by compilers: several symbols of this name, or one of another size",
}

# The same reasons by the core's words (core/codes.py) for what it counts. test_report.py lists those that have none.
REASON_OF_FATE = {
    "inconsistent": "inconsistent",
    "unexpected": "unexpected_register",
    "uncertain": "uncertain_location",
    "reordered": "reordered",
    "optimized": "optimized",
    "ambiguous": "ambiguous_address",
    "invalid_name": "invalid_name",
}
"""Of functions, decided over all units."""
REASON_OF_DESCRIPTION = {
    "unnamed_parameter": "unnamed_parameter",
    "no_symbol": "no_symbol",
}
"""Of descriptions of functions, decided in their unit."""
REASON_OF_VARIABLE = {
    "var_size": "size",
    "var_void": "void_type",
    "var_invalid_name": "invalid_name",
    "var_no_symbol": "no_symbol",
    "var_prefix": "generated",
    "var_nameless": "unnamed",
    "var_section": "section",
    "var_no_address": "no_address",
    "var_declaration": "declaration",
}
"""Of descriptions of variables. If a name has several, `pybtf why` tells the first here."""


@record()
class Tally:
    """How many of some thing were kept, and how many were left out for which reason."""

    reasons: Mapping[str, str]
    """All reasons there are, with an explanation for people."""
    kept: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    # Written out, for there are three for each file.
    def __init__(self, reasons: Mapping[str, str], kept: int = 0, left_out: dict[str, int] | None = None) -> None:
        self.reasons = reasons
        self.kept = kept
        self.left_out = {} if left_out is None else left_out

    def leave_out(self, reason: str, n: int = 1) -> None:
        """Count `n` more left out for `reason`, which must be one of `reasons` (else `KeyError`)."""
        self.reasons[reason]
        if n:
            self.left_out[reason] = self.left_out.get(reason, 0) + n

    @property
    def total_left_out(self) -> int:
        return sum(self.left_out.values())

    @property
    def total(self) -> int:
        return self.kept + self.total_left_out

    @property
    def descriptions(self) -> int:
        """How many of those left out are descriptions of what the file does not have (see `DESCRIPTIONS`)."""
        if self.reasons is not FUNCTION_REASONS:
            return 0
        return sum(n for reason, n in self.left_out.items() if reason in DESCRIPTIONS)

    def by_frequency(self) -> list[tuple[str, int]]:
        """Reasons that occurred and their counts, most frequent first."""
        return sorted(self.left_out.items(), key=lambda item: (-item[1], item[0]))

    def _counts(self) -> dict[str, int]:
        return {reason: self.left_out.get(reason, 0) for reason in self.reasons}


@record()
class Digests:
    """XXH3-128 (hexadecimal) of the input and of each part of the output; SHA-256 of the whole output."""

    input: str
    header: str
    types: str
    strings: str
    output_sha256: str


@record()
class Repeats:
    """How much was dropped before the de-duplication, and what stood against it."""

    types_before: int = 0
    """Types that the units describe."""
    types_compared: int = 0
    """Types that the de-duplication was given."""
    units_again: int = 0
    """Units that were decoded a second time: more of their types had to be kept than could be made otherwise."""
    units_whole: int = 0
    """Units of which all types had to be kept."""
    conflicts: int = 0
    """Names that have several definitions, or more than one in a unit."""
    names: list[str] = field(default_factory=list)
    """These names, sorted; some of them, if they are very many."""


@record()
class Loss:
    """Things of one sort that are not in the BTF as they are in the DWARF."""

    what: str
    """One of them, in words."""
    instead: str
    """What stands for it in the BTF."""
    count: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    """The first few: `unit` and `die` (offset in .debug_info, hexadecimal), `name`, `file`, `line`, each if known."""

    @property
    def line(self) -> str:
        """`12 times DW_TAG_reference_type; instead there is a pointer. First: net.cc, DIE 0x2f1, net.h:12`"""
        text = f"{self.count:,} time{'s' * (self.count != 1)} {self.what}; instead there is {self.instead}"
        return f"{text}. First: {_place(self.examples[0])}" if self.examples else text

    def to_dict(self) -> dict[str, Any]:
        return {"what": self.what, "instead": self.instead, "count": self.count, "examples": self.examples}


def _place(example: dict[str, Any]) -> str:
    parts = [example[key] for key in ("name", "unit") if key in example]
    if "die" in example:
        parts.append(f"DIE {example['die']}")
    if "file" in example:
        parts.append(f"{example['file']}:{example.get('line', 0)}")
    return ", ".join(parts)


@record()
class Report:
    """The facts of one encoding. Counts are of the output, after de-duplication, unless said otherwise."""

    path: str = ""
    input_size: int = 0
    """Bytes of the input file."""
    byte_order: str = ""
    """`little` or `big`."""
    features: list[str] = field(default_factory=list)
    for_kernel: str | None = None
    """The version of the kernel for which features were left out."""
    without: list[str] = field(default_factory=list)
    """These features."""
    jobs: int = 0
    units: Tally = field(default_factory=lambda: Tally(UNIT_REASONS))
    types: dict[str, int] = field(default_factory=dict)
    """Number of types by kind (`INT`, `PTR`...), in order of kind."""
    repeats: Repeats = field(default_factory=Repeats)
    functions: Tally = field(default_factory=lambda: Tally(FUNCTION_REASONS))
    variables: Tally = field(default_factory=lambda: Tally(VARIABLE_REASONS))
    types_size: int = 0
    """Bytes of the type section."""
    strings_size: int = 0
    """Bytes of the string section."""
    output_size: int = 0
    """Bytes of the whole BTF."""
    other_paths: list[str] = field(default_factory=list)
    """The other files, if several were combined into one BTF."""
    base_size: int = 0
    """Bytes of the distilled base, if one was made."""
    detail: dict[str, dict[str, list[str]]] | None = None
    """If it was asked for: the names of functions and variables by reason, `in_btf` among the reasons."""
    losses: list[Loss] = field(default_factory=list)
    """With `degrade`: what could not be kept as it is in the DWARF, by sort."""
    merged: dict[str, Any] | None = None
    """Of BTF that was merged: from what, whether its bytes are those that the DWARF gives, how many objects, a digest
    of all values, and the rules."""
    stripped: int = 0
    """How many objects there are whose DWARF was taken out, and of which therefore nothing is in the BTF."""
    warnings: list[str] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    digests: Digests | None = None
    """None until `add_digests` is called."""

    @property
    def total_types(self) -> int:
        """How many types the BTF has, of all kinds."""
        return sum(self.types.values())

    def add_digests(self, data: bytes | bytearray | memoryview) -> None:
        """Digest the input file, which must still be what was encoded, and the BTF `data`.

        Raises `OSError` if the input can no longer be read.
        """
        from hashlib import sha256

        from xxhash import xxh3_128_hexdigest

        check_data(data)
        view = memoryview(data)
        strings = len(view) - self.strings_size
        types = strings - self.types_size
        self.digests = Digests(
            input=_file_digest(self.path),
            header=xxh3_128_hexdigest(view[:types]),
            types=xxh3_128_hexdigest(view[types:strings]),
            strings=xxh3_128_hexdigest(view[strings:]),
            output_sha256=sha256(view).hexdigest(),
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON's types, keys in their documented order. Finishes the timings."""
        total = self.timings.finish()
        digests = self.digests
        return {
            "schema": SCHEMA,
            "pybtf": __version__,
            "compatible_with": COMPATIBLE_WITH,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "machine": os.uname().machine,
            "input": {
                "path": self.path,
                "others": self.other_paths,
                "size": self.input_size,
                "byte_order": self.byte_order,
                "xxh3_128": digests and digests.input,
            },
            "features": self.features,
            "for_kernel": self.for_kernel,
            "without": self.without,
            "jobs": self.jobs,
            "units": {
                "total": self.units.total,
                "encoded": self.units.kept,
                "left_out": self.units._counts(),
            },
            "types": {"total": self.total_types, "by_kind": self.types},
            "repeats": {
                "types_before": self.repeats.types_before,
                "types_compared": self.repeats.types_compared,
                "units_again": self.repeats.units_again,
                "units_whole": self.repeats.units_whole,
                "conflicts": self.repeats.conflicts,
                "names": self.repeats.names,
            },
            "functions": {
                "kept": self.functions.kept,
                "left_out": self.functions._counts(),
                "total_left_out": self.functions.total_left_out - self.functions.descriptions,
                "descriptions_without_symbol": self.functions.descriptions,
            },
            "variables": {"kept": self.variables.kept, "left_out": self.variables._counts()},
            "detail": self.detail,
            "output": {
                "size": self.output_size,
                "sha256": digests and digests.output_sha256,
                "base_size": self.base_size,
                "sections": {
                    "header": {
                        "size": self.output_size - self.types_size - self.strings_size,
                        "xxh3_128": digests and digests.header,
                    },
                    "types": {"size": self.types_size, "xxh3_128": digests and digests.types},
                    "strings": {"size": self.strings_size, "xxh3_128": digests and digests.strings},
                },
            },
            "merged": self.merged,
            "losses": [loss.to_dict() for loss in self.losses],
            "warnings": self.warnings,
            "peak_memory_bytes": total.peak,
            "timings": total.to_dict(),
        }

    def to_json(self) -> str:
        """The report as a JSON text: two spaces of indentation, ASCII, a newline at the end."""
        import json

        return json.dumps(self.to_dict(), indent=2) + "\n"


def _file_digest(path: str) -> str:
    """XXH3-128 of a file, read in pieces: mapping it would count a second time towards peak memory."""
    from xxhash import xxh3_128

    digest = xxh3_128()
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while n := file.readinto(buffer):
            digest.update(view[:n])
    return digest.hexdigest()
