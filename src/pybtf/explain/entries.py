"""Where the code of functions begins of which the core knows no address.

A function that the compiler has split into a hot and a cold part has DW_AT_ranges instead of DW_AT_low_pc, and by the
encoder's rules, as by pahole's, no address. Nor does the core note one of descriptions that it leaves out. Their DIEs
are looked at here.
"""

from __future__ import annotations

from pybtf.explain.inquiry import Inquiry
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybtf.core.fates import Trace

MOST_UNITS = 100
"""Units in which the DIEs of one name are looked at: the first DIE of each costs some 30 milliseconds."""
MOST_LOOKED_AT = 10_000
"""DIEs that are looked at in them: a further one costs a fraction of a millisecond. Rust has 200 functions `fmt` in
one unit.
"""


def in_few_units(inquiry: Inquiry, traces: Iterable[Trace], units: set[int | None] | None = None) -> Iterator[Trace]:
    """Those of which the DIEs are quickly read. `units`: where DIEs have been looked at before for the same purpose."""
    seen = set() if units is None else units
    looked_at = 0
    for trace in traces:
        unit = inquiry.dies.unit_number(trace["die"])
        if unit not in seen and len(seen) >= MOST_UNITS:
            continue
        if looked_at == MOST_LOOKED_AT:
            return
        seen.add(unit)
        looked_at += 1
        yield trace


def find_entries(inquiry: Inquiry, name: str, traces: list[Trace]) -> None:
    """Put into `inquiry.entries` what the DIEs say, so that `entry` and `is_compiled` know it.

    Each copy has a symbol. Once all symbols of the name are accounted for, no DIE is looked at, unless it is of a
    language that is left out: the symbols there have other names.
    """
    symbols = {place for _, _, place in inquiry.placed(name)}
    missing = symbols - {trace.get("address", 0) for trace in traces}
    unknown = (
        trace for trace in traces
        if not trace.get("address") and trace["what"] not in ("declared", "no_symbol") and is_function(trace)
        and (missing or trace["what"] == "excluded")
    )  # fmt: skip
    for trace in in_few_units(inquiry, unknown):
        die = inquiry.dies.die(trace["die"])
        starts = None if die is None else inquiry.dies.starts(die)
        if starts is None:
            continue
        # The hot part is mostly the first; it is the one that the symbol is of.
        found = next((start for start in starts if start in symbols), starts[0] if starts else None)
        inquiry.entries[trace["die"]] = found
        missing -= {found}


def is_function(trace: Trace) -> bool:
    return not trace["what"].startswith("var_")


def described_at(
    inquiry: Inquiry, traces: Iterable[Trace], addresses: Iterable[int], units: set[int | None] | None = None
) -> Trace | None:
    """The first of these descriptions that has its code at one of the addresses; `units` as above."""
    wanted = set(addresses)
    defined = (trace for trace in traces if trace["what"] != "declared" and is_function(trace))
    for trace in in_few_units(inquiry, defined, units):
        die = None if trace.get("address") else inquiry.dies.die(trace["die"])
        starts = [trace.get("address", 0)] if die is None else inquiry.dies.starts(die)
        found = wanted & set(starts or ())
        if found:
            inquiry.entries[trace["die"]] = min(found)
            return trace
    return None


def entry(inquiry: Inquiry, trace: Trace) -> int | None:
    """Where the code of a description begins; None if it has none, or if that is not known."""
    return trace.get("address") or inquiry.entries.get(trace["die"])


def is_compiled(inquiry: Inquiry, trace: Trace) -> bool:
    """Whether a description is one of code, and not for inlining only."""
    return bool(trace.get("address")) or trace["die"] in inquiry.entries
