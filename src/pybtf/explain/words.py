"""Verdicts in one sentence."""

from __future__ import annotations

from pybtf.errors import counted
from pybtf.explain.reasons import (
    ADVICE,
    COMPLETE,
    DECLARED_CODE,
    ELSEWHERE,
    EVEN_THEN,
    FLOATING,
    FUNCTIONS,
    HEADER,
    IN_BTF,
    MANGLED,
    PREFIXED,
    RETURNED,
    TYPES,
    UNKNOWN,
    UNKNOWN_OF,
    VARIABLES,
)
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def verdict(name: str, kind: str | None, reason: str, evidence: dict[str, Any] | None) -> str:
    """What is the case with a name; `evidence` makes it more precise."""
    found = evidence or {}
    if kind is None:
        if (of := found.get("of")) is not None and (is_a := found.get("is_a")) is not None:
            return f"{of} {name} is not in BTF: {UNKNOWN_OF[of]}; it is a {is_a}"
        unknown = UNKNOWN if of is None else UNKNOWN_OF[of]
        label = f"no DWARF describes it, and its symbol is {found['label']}" if found.get("label") else unknown
        as_asked = name if of is None else f"{of} {name}"
        return f"{as_asked} is not in BTF: {ELSEWHERE if found.get('elsewhere') else label}"
    if reason == IN_BTF:
        return f"{name} is in BTF{_as(kind, found)}"
    if reason == "renamed":
        return f"{name} is in BTF, but as {', '.join(found.get('in_btf_as', ())) or 'the name of its symbol'}"
    words = {"function": FUNCTIONS, "variable": VARIABLES, "type": TYPES}[kind][reason]
    return f"the {kind} {name} is not in BTF: {_precisely(reason, found) or words}"


def _as(kind: str, found: dict[str, Any]) -> str:
    if kind == "function" and "id" in found:
        of = " of the base" if found["from_base"] else ""
        source = found["source"]
        unit = f", from the unit {source['unit']}" if source and source["unit"] else ""
        return f": FUNC [{found['id']}]{of}, {found['prototype']}{unit}"
    if kind == "variable" and "ids" in found:
        where = found["section"]
        size = f", {counted(found['size'], 'byte')} in {where}" if where else ""
        return f": VAR [{found['ids'][-1]}]{size}{' (per CPU)' if found['per_cpu'] else ''}"
    if kind == "type" and "types" in found:
        rows = found["types"]
        named = f" as {found['written_as']}" if "written_as" in found else ""
        ids = ", ".join(f"{row['kind']} [{row['id']}]" for row in rows[:8])
        return f"{named}: {ids}{', ...' if len(rows) > 8 else ''}"
    return ""


def _precisely(reason: str, found: dict[str, Any]) -> str:
    """The reason with the evidence in it; empty if the general words are as good."""
    if reason == "no_symbol" and found.get("compiled_as"):
        symbols = [row["symbol"] for row in found["compiled_as"]]
        rest = f", and {len(symbols) - 1} more" if len(symbols) > 1 else ""
        return f"there is no function symbol of this name; the compiler has made another from it, {symbols[0]}{rest}"
    if reason == "no_symbol" and "inlined" in found:
        inlined, parts = found["inlined"], found["parts"]
        rest = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
        if inlined["copies"]:
            where = f", all but {parts[0]}{rest}" if parts else " everywhere"
            most = "" if inlined["complete"] else "at least "
            return (
                f"there is no function symbol of this name; it is inlined{where}, {most}"
                f"{counted(inlined['copies'], 'time')} in {counted(inlined['callers'], 'function')}"
            )
        if parts:
            return f"there is no function symbol of this name, only of a part of it, {parts[0]}{rest}"
        return "there is no function symbol of this name, and nothing inlines it: the code was removed"
    if reason == "inconsistent" and "distinct" in found:
        return f"units disagree about its prototype: there are {found['distinct']}"
    if reason in ("unexpected_register", "optimized") and found.get("instances"):
        row = found["instances"][0]
        at = row.get("parameter")
        if at is None:
            return ""
        parameters = row["parameters"]
        name = f" ({parameters[at]['name']})" if at < len(parameters) and parameters[at]["name"] else ""
        if reason == "optimized":
            clone = f" of {row['symbols'][0]}" if row.get("symbols") else ""
            return f"the only code is that{clone}, a clone in which parameter {at + 1}{name} is optimised away"
        where = row["found"] or (parameters[at]["location"] if at < len(parameters) else "")
        cause = register_cause(row)
        if cause == RETURNED:
            return f"parameter {at + 1}{name} arrives in {where}: {row['expected']} has the address of what it returns"
        if cause == FLOATING:
            return f"parameter {at + 1}{name} arrives in {where}, and only integer registers are counted"
        expected = f", the calling convention says {row['expected']}" if row["expected"] else ""
        return f"parameter {at + 1}{name} arrives in {where or 'no register'}{expected}"
    if reason == "ambiguous_address" and "addresses" in found:
        places = {row["address"] for row in found["addresses"]}
        return f"there are {len(places)} functions of this name at different addresses"
    if reason == "clone" and "clone_of" in found:
        return f"it is the name of a clone of {found['clone_of']}; BTF has functions by the name in the source"
    if reason == "part" and "clone_of" in found:
        return f"it is a part of {found['clone_of']}, which the compiler has put elsewhere"
    if reason in ("no_description", "declaration") and found.get("renamed_from"):
        origin = found["renamed_from"]
        if origin["prefix"] is None:
            return f"DWARF describes its code as {origin['name']}, from which the compiler has made this symbol"
        return f"DWARF describes its code as {origin['name']}; the symbol got the prefix {origin['prefix']} later"
    if reason in ("no_description", "declaration") and found.get("same_code"):
        others = ", ".join(row["name"] for row in found["same_code"][:4])
        known = "no DWARF describes it" if reason == "no_description" else "DWARF only declares it"
        return f"{known}; it is another name for the code of {others}"
    if reason == "no_description" and found.get("mangled"):
        return "a compiler has made this symbol from a name in Rust or C++; BTF has functions by the names in DWARF"
    if reason == "unnamed_parameter" and "parameter" in found:
        return f"parameter {found['parameter'] + 1} has no name"
    return ""


# The register of the first parameter, and what it is where that has the address of a struct that is returned.
_FIRST = {"rdi": "rsi", "eax": "edx", "r0": "r1", "r2": "r3", "r3": "r4"}


def register_cause(row: dict[str, Any]) -> str:
    """Why a parameter is in another register though nothing is optimised: RETURNED, FLOATING, or empty, if it is not
    that. The encoder, as pahole, counts integer registers from the first one.
    """
    if (row["found"] or "").startswith(("xmm", "ymm", "zmm")):
        return FLOATING
    returns = row["prototype"].partition("(")[0].split()
    in_memory = returns[:1] == ["struct"] or returns[:1] == ["union"]
    if in_memory and row["parameter"] == 0 and "*" not in "".join(returns) and row["expected"] in _FIRST:
        return RETURNED if row["found"] == _FIRST[row["expected"]] else ""
    return ""


def _of_one_header(rows: list[dict[str, Any]]) -> bool:
    """Whether the code at all addresses is from one line, which several units include."""
    lines = {(row.get("file"), row.get("line")) for row in rows}
    return len(lines) == 1 and bool(rows[0].get("file")) and len({row["unit"] for row in rows}) > 1


def _left_out(by: dict[str, str]) -> str:
    """What leaves out the units of a language."""
    language, option = by["language"], by["option"]
    if option == "--lang":
        return f"Units in {language} are left out, because --lang does not name it."
    like = ", as in builds of kernels" if language == "rust" else ""
    return f"Units in {language} are left out by --lang-exclude {language}{like}."


def advice(kind: str | None, reason: str, found: dict[str, Any] | None = None) -> str | None:
    """What a user can do about it."""
    if reason == "unexpected_register" and found and found.get("instances"):
        row = found["instances"][0]
        if row.get("parameter") is not None and (cause := register_cause(row)):
            return ADVICE["function", cause]
    if reason == "ambiguous_address" and found and _of_one_header(found.get("addresses", [])):
        return ADVICE["function", HEADER]
    if reason == "no_symbol" and found and found.get("compiled_as"):
        return ADVICE["function", MANGLED]
    if reason == "language" and found and found.get("left_out"):
        more = f" {EVEN_THEN} {ADVICE['function', MANGLED]}" if found.get("compiled_as") else ""
        return f"{_left_out(found['left_out'])}{more}"
    if reason == "no_description" and found:
        if found.get("mangled"):
            left_out = (found.get("renamed_from") or {}).get("left_out")
            more = f"{_left_out(left_out)} {EVEN_THEN} " if left_out else ""
            return f"{more}{ADVICE['function', MANGLED]}"
        if found.get("renamed_from"):
            return ADVICE["function", PREFIXED]
    if reason == "declaration" and kind is not None and found:
        if found.get("renamed_from"):
            return ADVICE["function", PREFIXED]
        if found.get("symbols"):
            return ADVICE["function", DECLARED_CODE]
        if found.get("complete"):
            return ADVICE[kind, COMPLETE]
    return ADVICE.get((kind or "", reason))
