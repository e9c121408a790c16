"""Where in the source a description is: the unit, and file and line."""

from __future__ import annotations

from pybtf.explain.entries import entry
from pybtf.explain.inquiry import Inquiry
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pybtf.core.fates import Trace
    from pybtf.dwarf.declarations import Prototype

MOST = 20
"""Places that are given of one thing: each costs some milliseconds, and a header is included two thousand times."""


def place(inquiry: Inquiry, trace: Trace) -> dict[str, Any]:
    """Unit, file, line, DIE, and the address of the code, if there is any."""
    row = at(inquiry, trace["die"])
    start = entry(inquiry, trace)
    if start is not None:
        row["address"] = inquiry.address(start)
    return row


def at(inquiry: Inquiry, offset: int) -> dict[str, Any]:
    """Unit, file, line and offset of a DIE."""
    if inquiry.sections.split_units:  # pyelftools knows no split units
        where = inquiry.whereabouts.of([offset])[offset]
        unit = "" if where.unit is None else inquiry.whereabouts.units[where.unit][1]
        return {"unit": unit, "file": where.file, "line": where.line, "die": f"{offset:#x}"}
    die = inquiry.dies.die(offset)
    file, line = ("", 0) if die is None else inquiry.dies.where(die)
    return {"unit": inquiry.dies.unit_name(offset), "file": file, "line": line, "die": f"{offset:#x}"}


def places(inquiry: Inquiry, traces: list[Trace], *, prototypes: bool = False) -> list[dict[str, Any]]:
    """The first `MOST` of some descriptions."""
    rows = []
    for trace in traces[:MOST]:
        row = place(inquiry, trace)
        if prototypes:
            row["prototype"] = str(prototype_of(inquiry, trace) or "")
        rows.append(row)
    return rows


def prototype_of(inquiry: Inquiry, trace: Trace) -> Prototype | None:
    """What a description declares; None if it cannot be read."""
    from pybtf.dwarf.declarations import prototype

    die = inquiry.dies.die(trace["die"])
    return None if die is None else prototype(inquiry.dies, die)
