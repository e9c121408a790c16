"""What a run says at its end: the closing line, and with `-v` what was left out and why."""

from __future__ import annotations

from pybtf.cli.console import BOLD, RED, styled
from pybtf.errors import counted, printable, shortened
from pybtf.report import DESCRIPTIONS
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.report import Report, Tally


MOST_NAMES = 12  # with several definitions, told with `-v`


def closing_line(report: Report, target: str, seconds: float, peak: int | None) -> str:
    """`vmlinux.btf: 94,548 types, 52,111 functions, 312 variables, 5.63 MB from 2,172 units; ...`

    `peak`: peak memory of the process in bytes, 0 where unknown; None for one file of several.
    """
    what = ", ".join(
        [
            counted(report.total_types, "type"),
            counted(report.functions.kept, "function"),
            counted(report.variables.kept, "variable"),
            size(report.output_size),
        ]
    )
    how = f"{seconds:.2f} s"
    if peak is not None:
        how += _jobs_and_memory(report.jobs, peak)
    name = styled(printable(target), BOLD)
    source = counted(report.units.kept, "unit")
    if report.merged is not None and "note" in report.merged:
        source += f" of {report.merged['note']}"
    if report.merged is not None and report.merged["remembered"]:
        source += ", remembered from an earlier link"
    return f"{name}: {what} from {source}; {how}"


def batch_line(files: int, failed: int, types: int, output: int, seconds: float, jobs: int, peak: int) -> str:
    """`1,121 files: 1,120 encoded (604,211 types, 18.5 MB), 1 failed; 8.31 s, 2 jobs, 112 MB peak memory`"""
    what = f"{files - failed:,} encoded ({counted(types, 'type')}, {size(output)})"
    what += styled(f", {failed:,} failed", RED) if failed else ""
    how = f"{seconds:.2f} s" + _jobs_and_memory(jobs, peak)
    return f"{styled(counted(files, 'file'), BOLD)}: {what}; {how}"


def _jobs_and_memory(jobs: int, peak: int) -> str:
    """`, 2 jobs, 112 MB peak memory`; the memory is not known without /proc."""
    return f", {counted(jobs, 'job')}" + (f", {size(peak)} peak memory" if peak else "")


def left_out(report: Report) -> list[str]:
    """Lines on units, functions and variables: how many were kept, and how many left out for each reason."""
    lines = []
    for name, tally in (
        ("units", report.units),
        ("functions", report.functions),
        ("variables", report.variables),
    ):
        lines.append(f"{name}: {tally.kept:,} kept, {tally.total_left_out - tally.descriptions:,} left out")
        lines += _reasons(tally)
        if tally.descriptions:
            what = counted(tally.descriptions, "description")
            lines.append(f"  in addition, {what} of functions without a function symbol")
    if report.merged is not None and report.merged["remembered"]:
        return [*lines, "types: none read; the BTF in the cache is that of this link"]
    repeats = report.repeats
    lines.append(
        f"types: {repeats.types_before:,} in all units, {repeats.types_compared:,} compared; "
        f"{counted(repeats.units_again, 'unit')} decoded again, {repeats.units_whole:,} kept whole"
    )
    if repeats.names:
        some = ", ".join(printable(shortened(name)) for name in repeats.names[:MOST_NAMES])
        more = "" if repeats.conflicts <= MOST_NAMES else ", ..."
        lines.append(f"  {counted(repeats.conflicts, 'name')} with several definitions: {some}{more}")
    return lines


def _reasons(tally: Tally) -> list[str]:
    """One line for each reason, but for those that count mere descriptions."""
    apart = DESCRIPTIONS if tally.descriptions else ()
    rows = [(f"{n:,}", reason) for reason, n in tally.by_frequency() if reason not in apart]
    width = max((len(n) for n, _ in rows), default=0)
    return [f"  {n:>{width}}  {reason}: {tally.reasons[reason]}" for n, reason in rows]


def size(n: int) -> str:
    """Bytes for people, powers of ten: `712 B`, `5.63 MB`, `214 MB`"""
    if n < 1000:
        return f"{n} B"
    value, units = n / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.3g} {units[0]}"
