"""What the report says of a run: the core's numbers in its words."""

from __future__ import annotations

from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.report import REASON_OF_DESCRIPTION, REASON_OF_FATE, REASON_OF_VARIABLE, Repeats, Report
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def fill(report: Report, facts: dict[str, Any], data: bytes) -> None:
    """Fill in the facts of the run that has made `data` (`Run.facts`)."""
    counts, fates = facts["counts"], facts["fates"]
    partial = counts.get("partial", 0)
    damaged = counts.get("damaged", 0)
    report.units.kept = facts["units"] - facts["filtered"] - partial - damaged
    report.units.leave_out("language", facts["filtered"])
    report.units.leave_out("partial", partial)
    report.units.leave_out("damaged", damaged + counts.get("left_out", 0))
    if "signatures_lost" in counts:
        report.warnings.append(
            f"{counts['signatures_lost']} references to types are void: no type unit has their signature"
        )
    if "alternate_lost" in counts:
        report.warnings.append(
            f"{counts['alternate_lost']} references to types are void: they lead into units of the alternate file that "
            "nothing imports"
        )
    if "tags_cut" in counts:
        report.warnings.append(
            f"{counts['tags_cut']} of the units are encoded in part only: a declaration tag of a type has no text, "
            "and pahole encodes nothing of a unit after such a tag"
        )
    report.types = {KIND_NAMES[kind]: n for kind, n in facts["kinds"].items()}
    report.repeats = Repeats(
        types_before=facts["types_before"],
        types_compared=facts["types_kept"],
        units_again=facts["units_again"],
        units_whole=facts["units_whole"],
        conflicts=facts["n_conflicts"],
        names=sorted(set(facts["conflicts"])),
    )
    report.functions.kept = facts["functions"]
    report.variables.kept = facts["variables"]
    for left_out, numbers, reasons in (
        (report.functions, fates, REASON_OF_FATE),
        (report.functions, counts, REASON_OF_DESCRIPTION),
        (report.variables, counts, REASON_OF_VARIABLE),
    ):
        for name, reason in reasons.items():
            left_out.leave_out(reason, numbers.get(name, 0))
    report.types_size = facts["type_size"]
    report.strings_size = facts["string_size"]
    report.output_size = len(data)
