"""Answers as text: the verdict, then the evidence, then what can be done."""

from __future__ import annotations

from textwrap import wrap

from pybtf.errors import counted, printable
from pybtf.explain.asking import Answer
from pybtf.explain.reasons import FUNCTIONS, IN_BTF, UNKNOWN
from pybtf.languages import language_name
from pybtf.options import EncodeOptions
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SHOWN = 6
"""Places of one thing; JSON has more."""
INSTANCES = 2
CALLERS = 10
WIDTH = 112
"""Columns of advice."""


def heading(options: EncodeOptions) -> str:
    """With what options the BTF is made that the answers are about."""
    features = options.features.names()
    said = f"BTF with the features {','.join(features) or 'none'}"
    said += "; degraded where needed" if options.degrade else ""
    for codes, words in ((options.lang, "of units only in"), (options.lang_exclude, "without units in")):
        if codes is not None:
            said += f"; {words} {', '.join(language_name(code) for code in sorted(codes))}"
    return f"{said}:"


def lines(answers: list[Answer]) -> list[str]:
    """All answers; one line each for those without evidence, as many names that match a pattern are."""
    shown: list[str] = []
    for each in answers:
        if each.evidence is not None and shown:
            shown.append("")
        shown.append(printable(each.verdict))
        if each.like:
            shown.append(f"  Did you mean {printable(each.like[0])}?")
        if each.evidence is not None:
            shown += [f"  {printable(line)}" for line in _evidence(each)]
            if each.advice:
                shown += wrap(each.advice, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return shown


def _evidence(answer: Answer) -> list[str]:
    found = answer.evidence or {}
    if answer.kind == "type":
        return _of_type(found)
    if answer.kind == "variable":
        return _of_variable(found)
    shown: list[str] = []
    if found.get("source"):
        shown.append(f"taken from {_place(found['source'])}")
    if "prototypes" in found:
        shown += _prototypes(found["prototypes"])
    for row in found.get("instances", ())[:INSTANCES]:
        shown += _instance(row)
    if found.get("seen", 0) > INSTANCES:
        shown.append(f"and {found['seen'] - INSTANCES:,} more")
    for row in found.get("compiled_as", ()):
        shown.append(f"{row['address']} {row['symbol']}: {_place(row, False)}")
    for row in found.get("addresses", ()):
        shown.append(f"{row['address']} {row['symbol']}{': ' + _place(row, False) if 'unit' in row else ''}")
    if "in_btf_as" in found:
        shown += [f"in BTF as {name}" for name in found["in_btf_as"]]
    if "clone_of" in found:
        shown.append(f"{found['clone_of']} {_state(found['which_is_in_btf'], found['reason_of_that'])}")
    if found.get("renamed_from"):
        shown.append(f"described as {found['renamed_from']['name']}: {_place(found['renamed_from'])}")
    for row in found.get("same_code", ()):
        shown.append(f"the same code as {row['name']}{', which is in BTF' if row['in_btf'] else ''}")
    shown += _places(found.get("places", ()), found.get("described_as"))
    if "inlined" in found:
        shown += _inlined(found["inlined"])
    shown += _kfunc(found.get("kfunc"))
    if answer.reason not in (None, "ambiguous_address", "no_symbol"):
        shown += [f"symbol {row['name']} at {row['address']}" for row in found.get("symbols", ())[:SHOWN]]
    return shown


def _state(in_btf: bool, reason: str | None) -> str:
    """Of the function that a clone is made of, or a part is of; without a reason there is no such function."""
    if in_btf:
        return "is in BTF"
    if reason == "renamed":
        return f"is {FUNCTIONS[reason]}"
    return f"is not in BTF either: {FUNCTIONS[reason] if reason else UNKNOWN}"


def _place(row: dict[str, Any], address: bool = True) -> str:
    """`net/ipv4/tcp.c:123 in the unit net/ipv4/tcp.c, at 0xffffffff81000000`"""
    file = f"{row['file']}:{row['line']}" if row["file"] else ""
    unit = "" if row["unit"] and row["unit"] == row["file"] else f"the unit {row['unit'] or '(without a name)'}"
    where = f", code at {row['address']}" if address and "address" in row else ""
    return f"{file}{' in ' if file and unit else ''}{unit}{where}"


def _places(rows: Any, name: str | None = None) -> list[str]:
    """Of descriptions, which may be by another name than the one that was asked for."""
    shown = []
    for row in rows[:SHOWN]:
        prototype = f"{row['prototype']}: " if row.get("prototype") else ""
        shown.append(f"described{f' as {name}' if name else ''}: {prototype}{_place(row)}")
    if len(rows) > SHOWN:
        shown.append("and in more units")
    return shown


def _prototypes(rows: list[dict[str, Any]]) -> list[str]:
    """Each with its places, and marks below what is not as in the first."""
    shown = []
    for place, row in enumerate(rows[:SHOWN], 1):
        lead = f"{place}. "
        note = "" if place == 1 or not row["agrees_with_the_first"] else "  (counts as the same)"
        shown.append(f"{lead}{row['prototype']}{note}")
        marks = _marks(rows[0]["prototype"], row["prototype"])
        if marks:
            shown.append(" " * len(lead) + marks)
        shown += [f"     {text}" for text in row["differs_in"]]
        shown += [f"     {_place(place)}" for place in row["places"][:3]]
        if row["seen"] > 3:
            shown.append(f"     and {row['seen'] - 3:,} more")
    return shown


def _marks(first: str, other: str) -> str:
    """`^` below those words of `other` that `first` does not have at their place."""
    one, two = _split(first), _split(other)
    marks = []
    for at, piece in enumerate(two):
        same = at < len(one) and one[at].strip() == piece.strip()
        marks.append(" " * len(piece) if same else "^" * len(piece.rstrip()) + " " * (len(piece) - len(piece.rstrip())))
    return "".join(marks).rstrip()


def _split(prototype: str) -> list[str]:
    """Name with what it returns, then the parameters, each with what separates it from the next."""
    depth, pieces, piece = 0, [], ""
    for letter in prototype:
        piece += letter
        if (letter, depth) in (("(", 0), (",", 1)):
            pieces.append(piece)
            piece = ""
        depth += (letter == "(") - (letter == ")")
    return [*pieces, piece]


def _instance(row: dict[str, Any]) -> list[str]:
    shown = [row["prototype"], f"  {_place(row)}"]
    if "in_the_source" in row:
        shown.append(f"  in the source: {row['in_the_source']}")
    if row.get("symbols"):
        shown.append(f"  symbol {', '.join(row['symbols'])}")
    bad = row.get("parameter")
    for at, parameter in enumerate(row["parameters"][:32]):
        mark = "  <" if at == bad else ""
        if mark and row.get("expected"):
            mark += f" expected in {row['expected']}"
        shown.append(f"  {at + 1}. {parameter['name'] or '(no name)'}: {parameter['location']}{mark}")
    return shown


def _inlined(found: dict[str, Any]) -> list[str]:
    shown = []
    for row in found["by"][:CALLERS]:
        times = f", {row['copies']} times" if row["copies"] > 1 else ""
        here = "; in BTF" if row["in_btf"] else ""
        shown.append(f"inlined into {row['function'] or '(no name)'} in {row['unit']}{times}{here}")
    if found["callers"] > CALLERS:
        shown.append(f"and into {counted(found['callers'] - CALLERS, 'more function')}")
    return shown


def _kfunc(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    flags = " ".join(found["flags"]) or "none"
    tag = "tagged bpf_kfunc" if found["tagged"] else f"not tagged: {found['why_not_tagged']}"
    return [f"kfunc, flags {flags}; {tag}"]


def _of_variable(found: dict[str, Any]) -> list[str]:
    shown = [found["declaration"]] if found.get("declaration") else []
    if found.get("section"):
        size = counted(found["size"], "byte")
        shown.append(f"{size} at {found['offset']:#x} of {found['section']}, {found['linkage']}")
    return shown + _places(found["places"])


def _of_type(found: dict[str, Any]) -> list[str]:
    shown = [f"described as {name}" for name in found.get("described_as", ())]
    for row in found["types"]:
        size = f", {counted(row['size'], 'byte')}" if "size" in row else ""
        shown.append(f"[{row['id']}] {row['kind']}{size}{', a declaration only' if row['forward'] else ''}")
        if row.get("differs_in"):
            shown.append(f"  differs from the first: {row['differs_in']}")
    seen = found["seen"]
    defined, declared = (counted(seen[key], "time") for key in ("definitions", "declarations"))
    shown.append(f"defined {defined} in the DWARF, declared {declared}")
    return shown + _places(found["places"])


def summary_lines(rows: list[dict[str, Any]]) -> list[str]:
    """For functions and variables: how many are in BTF, then the reasons, the most frequent first."""
    shown: list[str] = []
    for kind in ("function", "variable"):
        own = [row for row in rows if row["kind"] == kind]
        kept = sum(row["names"] for row in own if (row["reason"] or IN_BTF) == IN_BTF)
        shown.append(f"{kind}s: {kept:,} in BTF")
        left = sorted((row for row in own if row["reason"]), key=lambda row: (-row["names"], row["reason"]))
        for row in left:
            count = row["descriptions"]
            more = "" if not count else f" ({count:,} description{'s' * (count != 1)})"
            shown.append(f"  {row['names']:>7,}  {row['reason']}: {row['means']}{more}")
    return shown
