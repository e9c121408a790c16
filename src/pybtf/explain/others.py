"""The evidence for verdicts on variables and types."""

from __future__ import annotations

from pybtf.btf import Kind
from pybtf.btf.duplicates import first_differences
from pybtf.btf.types import Composite, Datasec, Enumeration, Fwd, Symbol
from pybtf.explain.inquiry import KEYWORDS, TYPE_KINDS, Inquiry
from pybtf.explain.places import MOST, at, place
from pybtf.explain.reasons import IN_BTF
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

PERCPU = ".data..percpu"
FINDS = 100_000
"""Descriptions of a type that are counted."""

_TAGS = {
    Kind.STRUCT: (0x13, 0x02), Kind.UNION: (0x17,), Kind.ENUM: (0x04,), Kind.ENUM64: (0x04,), Kind.TYPEDEF: (0x16,),
    Kind.FWD: (), Kind.INT: (0x24,), Kind.FLOAT: (0x24,),
}  # fmt: skip
"""DWARF's tags for what has a name in BTF (core/search.py gives numbers). Declarations have those of definitions."""


def variable_evidence(inquiry: Inquiry, name: str, reason: str) -> dict[str, Any]:
    """Declaration, where it is, and in BTF its id, section, offset and size."""
    traces = [trace for trace in inquiry.fates.of(name) if trace["what"].startswith("var_")]
    found: dict[str, Any] = {
        "descriptions": len(traces),
        "declarations": sum(trace["what"] == "var_declaration" for trace in traces),
    }
    kept = [trace for trace in traces if trace["what"] == "var_kept"]
    defined = kept or [trace for trace in traces if trace["what"] != "var_declaration"] or traces
    if defined:
        from pybtf.dwarf.declarations import declaration

        die = inquiry.dies.die(defined[0]["die"])
        found["declaration"] = "" if die is None else declaration(inquiry.dies, die)
    found["places"] = [place(inquiry, trace) for trace in defined[:MOST]]
    if reason == "language":
        found["left_out"] = inquiry.left_out(next(trace for trace in defined if trace["what"] == "var_excluded"))
    if reason == "declaration":
        found["complete"] = inquiry.complete
    if reason == IN_BTF:
        found.update(_placed(inquiry, name))
    return found


def _placed(inquiry: Inquiry, name: str) -> dict[str, Any]:
    """Where a variable is by its DATASEC."""
    btf = inquiry.btf
    ids = inquiry.ids(name, Kind.VAR)
    variable = btf.type(ids[-1])
    linkage = variable.linkage.name.lower() if isinstance(variable, Symbol) else ""
    found: dict[str, Any] = {"ids": ids, "linkage": linkage, "section": None, "per_cpu": False}
    for section, numbers in inquiry.named(Kind.DATASEC).items():
        for number in numbers:
            holder = btf.type(number)
            if not isinstance(holder, Datasec):
                continue
            for entry in holder.variables:
                if entry.type in ids:
                    found |= {"section": section, "offset": entry.offset, "size": entry.size}
                    found["per_cpu"] = section == PERCPU
                    return found
    return found


def type_reason(inquiry: Inquiry, name: str) -> str | None:
    """IN_BTF, `not_encoded`, or None: DWARF has no type of this name either."""
    kinds, plain = _kinds(name)
    if _ids(inquiry, kinds, plain)[1]:
        return IN_BTF
    return "not_encoded" if _described(inquiry, kinds, plain) else None


def type_evidence(inquiry: Inquiry, name: str, reason: str) -> dict[str, Any]:
    """Ids with what each is, where units describe the type, and in what several definitions differ."""
    kinds, plain = _kinds(name)
    btf = inquiry.btf
    written, ids = _ids(inquiry, kinds, plain)
    rows = []
    for id in ids:
        type = btf.type(id)
        row: dict[str, Any] = {"id": id, "kind": type.kind.name, "forward": isinstance(type, Fwd)}
        if isinstance(type, Composite | Enumeration):
            row["size"] = type.size
        rows.append(row)
    first: dict[str, int] = {}
    for row in rows:
        if not row["forward"]:
            first.setdefault(row["kind"], row["id"])
    others = [row for row in rows if first.get(row["kind"], row["id"]) != row["id"]]
    pairs = ((first[row["kind"]], row["id"]) for row in others)
    for row, difference in zip(others, first_differences(btf, pairs), strict=True):
        row["differs_in"] = difference
    found = _described(inquiry, kinds, plain)
    named: dict[str, Any] = {} if written == plain else {"written_as": written}
    if not found and (renamed := [each for each, other in inquiry.renamed.items() if other == plain]):
        named["described_as"] = renamed[:MOST]
        found = [row for each in renamed[:MOST] for row in _described(inquiry, kinds, each)]
    defined = [offset for offset, declared in found if not declared]
    return named | {
        "types": rows,
        "seen": {"definitions": len(defined), "declarations": len(found) - len(defined)},
        "places": [at(inquiry, offset) for offset in (defined or [offset for offset, _ in found])[:MOST]],
    }


def _kinds(name: str) -> tuple[tuple[Kind, ...], str]:
    """`struct sock`: which kinds it may be, and the name alone."""
    keyword, _, plain = name.partition(" ")
    return (KEYWORDS[keyword], plain.strip()) if keyword in KEYWORDS else (TYPE_KINDS, name)


def _ids(inquiry: Inquiry, kinds: tuple[Kind, ...], name: str) -> tuple[str, list[int]]:
    """The name that a type has in BTF, which may be another one if BTF is degraded, and the ids of that."""
    ids = inquiry.ids(name, *kinds)
    written = inquiry.renamed.get(name, name)
    return (written, inquiry.ids(written, *kinds)) if not ids else (name, ids)


def _described(inquiry: Inquiry, kinds: tuple[Kind, ...], name: str) -> list[tuple[int, bool]]:
    """(DIE, is a declaration) of each type of the name in DWARF."""
    tags = {tag for kind in kinds for tag in _TAGS[kind]}
    units = range(inquiry.search.units())
    return [
        (offset, bool(declared)) for offset, tag, declared in inquiry.search.types(units, name, FINDS) if tag in tags
    ]
