"""Where the code of functions begins of which the core knows no address.

A function that the compiler has split into a hot and a cold part has DW_AT_ranges instead of DW_AT_low_pc, and by the
encoder's rules, as by pahole's, no address. Nor does the core note one of descriptions that it leaves out. Their DIEs
are looked at here.
"""

from __future__ import annotations

from itertools import islice

from pybtf.elf.constants import ET_REL

from .inquiry import Inquiry

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.core.fates import Trace

MOST_LOOKED_AT = 100
"""DIEs of one name that are looked at: each is in another unit, and then costs some 30 milliseconds."""


def find_entries(inquiry: Inquiry, name: str, traces: list[Trace]) -> None:
    """Put into `inquiry.entries` what the DIEs say, so that `entry` and `is_compiled` know it.

    In a linked file each copy has a symbol. Once all symbols of the name are accounted for, no DIE is looked at, unless
    it is of a language that is left out: the symbols there have other names.
    """
    symbols = {address for _, address in inquiry.fates.symbols(name)[0]}
    relocatable = inquiry.image.etype == ET_REL  # where symbols have no addresses yet
    missing = symbols - {trace.get("address", 0) for trace in traces}
    looked_at = 0
    for trace in traces:
        what = trace["what"]
        if trace.get("address") or what in ("declared", "no_symbol") or what.startswith("var_"):
            continue
        if looked_at == MOST_LOOKED_AT:
            return
        if not (missing or (relocatable and symbols) or what == "excluded"):
            continue
        looked_at += 1
        die = inquiry.dies.die(trace["die"])
        starts = None if die is None else inquiry.dies.starts(die)
        if starts is None:
            continue
        # The hot part is mostly the first; it is the one that the symbol is of.
        found = next((start for start in starts if start in symbols), starts[0] if starts else None)
        inquiry.entries[trace["die"]] = found
        missing -= {found}


def described_at(inquiry: Inquiry, name: str, addresses: set[int]) -> Trace | None:
    """A description by this name that has its code at one of these addresses."""
    defined = (trace for trace in inquiry.fates.of(name) if trace["what"] != "declared")
    for trace in islice((trace for trace in defined if not trace["what"].startswith("var_")), MOST_LOOKED_AT):
        die = None if trace.get("address") else inquiry.dies.die(trace["die"])
        starts = [trace.get("address", 0)] if die is None else inquiry.dies.starts(die)
        found = addresses & set(starts or ())
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
