"""The evidence for the verdict on a function: what DWARF says where the encoder decided.

The core says which descriptions decided (core/fates.py); these are read again here, with everything that the encoding
had no use for: file and line, the locations of parameters as they are written, the prototype as C.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice

from pybtf.btf import Kind
from pybtf.btf.types import DeclTag, FuncProto, Symbol
from pybtf.explain.entries import described_at, entry, find_entries, is_compiled
from pybtf.explain.inquiry import Inquiry
from pybtf.explain.mangled import compiled_as, described_for, described_unmangled, identifiers
from pybtf.explain.places import MOST, place, places, prototype_of
from pybtf.explain.reasons import FUNCTION_TRACES, IN_BTF
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from pybtf.core.fates import Trace
    from pybtf.dwarf.declarations import Prototype

KFUNC_FLAGS = (
    "ACQUIRE", "RELEASE", "RET_NULL", "KPTR_GET", "TRUSTED_ARGS", "SLEEPABLE", "DESTRUCTIVE", "RCU", "ITER_NEW",
    "ITER_NEXT", "ITER_DESTROY", "RCU_PROTECTED", "FASTCALL", "ARENA_RET", "ARENA_ARG1", "ARENA_ARG2",
)  # fmt: skip
"""The kernel's names of the flags, KF_*, by bit."""

PREFIXES = ("__pi_", "__kvm_nvhe_", "__efistub_")
"""What the kernel's build puts in front of the symbols of objects that have been compiled: of code that runs before its
addresses are mapped, or in another place.
"""

MOST_CALLERS = 1_000
"""Inlined copies that are counted by caller."""
MOST_NAMED = 50
"""Callers that are named."""
MOST_PROTOTYPES = 100
"""Distinct prototypes that are looked at."""
MOST_COPIES = 50
"""Compiled copies that are looked at for one abstract instance."""


def evidence(inquiry: Inquiry, name: str, reason: str) -> dict[str, Any]:
    """What speaks for the verdict `reason` on the function `name`; keys depend on the reason (docs/why.md)."""
    stem = name if name in inquiry.kinds else name.partition(".")[0]
    return _evidence(inquiry, name, reason, stem, inquiry.fates.of(stem))


def only_described(inquiry: Inquiry, symbol: str) -> tuple[str, dict[str, Any]] | None:
    """The reason, and the evidence, about a name that Rust or C++ have made for the linker and that no symbol has; None
    if DWARF does not have it either.
    """
    name, traces = described_for(inquiry, symbol)
    if not traces:
        return None
    whats = {trace["what"] for trace in traces}
    reason = next((reason for what, reason in FUNCTION_TRACES.items() if what in whats), "no_symbol")
    if reason == "unnamed_parameter":  # of the symbol that another function of the name in DWARF has
        reason = "no_symbol"
    found = _evidence(inquiry, symbol, reason, symbol, traces)
    return reason, {"described_as": name} | found


def _evidence(inquiry: Inquiry, name: str, reason: str, stem: str, traces: list[Trace]) -> dict[str, Any]:
    find_entries(inquiry, stem, traces)
    symbols = inquiry.symbols_of(stem)
    if reason in ("clone", "part"):
        symbols = [(name, inquiry.symbols[name])]
    found: dict[str, Any] = {
        "symbols": [{"name": symbol, "address": f"{address:#x}"} for symbol, address in symbols],
        "descriptions": _descriptions(inquiry, traces),
        "kfunc": _kfunc(inquiry, name),
    }
    found.update(_SPECIFIC.get(reason, _nothing)(inquiry, name, traces))
    return found


def _descriptions(inquiry: Inquiry, traces: list[Trace]) -> dict[str, int]:
    """How many descriptions of the function there are: compiled, abstract (for inlining), only declared."""
    defined = [each for each in traces if each["what"] != "declared" and not each["what"].startswith("var_")]
    return {
        "compiled": sum(is_compiled(inquiry, each) for each in defined),
        "abstract": sum(not is_compiled(inquiry, each) for each in defined),
        "declarations": sum(each["what"] == "declared" for each in traces),
    }


def _kfunc(inquiry: Inquiry, name: str) -> dict[str, Any] | None:
    """If the function is in a set of kfuncs: its flags, and whether it has the tag; None if it is in none."""
    flags = inquiry.kfuncs.get(name)
    if flags is None:
        return None
    named = [KFUNC_FLAGS[bit] if bit < len(KFUNC_FLAGS) else f"bit {bit}" for bit in range(32) if flags >> bit & 1]
    tagged = _is_tagged(inquiry, name)
    why_not = ""
    if not tagged:
        if not inquiry.options.features.decl_tag_kfuncs:
            why_not = "the feature decl_tag_kfuncs is off"
        elif not inquiry.ids(name, Kind.FUNC):
            why_not = "the function itself is not in BTF"
        else:
            why_not = "the function in BTF is that of a clone"
    return {"flags": named, "value": flags, "tagged": tagged, "why_not_tagged": why_not or None}


def _is_tagged(inquiry: Inquiry, name: str) -> bool:
    ids = inquiry.ids(name, Kind.FUNC)
    tags = (inquiry.btf.type(id) for id in inquiry.named(Kind.DECL_TAG).get("bpf_kfunc", []))
    return any(isinstance(tag, DeclTag) and tag.type in ids for tag in tags)


def _nothing(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    return {}


def _in_btf(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """Id, prototype as BTF has it, and the description that it was taken from."""
    btf = inquiry.btf
    id = inquiry.ids(name, Kind.FUNC)[-1]
    function = btf.type(id)
    proto = function.type if isinstance(function, Symbol) else 0
    text = btf.c_name(proto, name) if isinstance(btf.type(proto), FuncProto) else ""
    found: dict[str, Any] = {"id": id, "prototype": text, "from_base": id < btf.first_id, "source": None}
    _, state = inquiry.emitted.get(name, ("", -1))
    for trace in traces:
        if trace.get("state") == state:
            found["source"] = place(inquiry, trace)
    return found


def _renamed(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    return {"in_btf_as": sorted(symbol for symbol, (stem, _) in inquiry.emitted.items() if stem == name)}


def _clone(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    stem = name.partition(".")[0]
    reason = inquiry.function_reason(stem)
    return {"clone_of": stem, "which_is_in_btf": reason == IN_BTF, "reason_of_that": reason or None}


def _no_symbol(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """Where the abstract instances are, who inlines them, and what is left of them."""
    abstract = [trace for trace in traces if trace["what"] == "no_symbol"]
    parts = sorted(inquiry.parts.get(name, ()))[:MOST]
    code = _compiled_as(inquiry, name, abstract)
    found = {"places": places(inquiry, abstract), "inlined": _inlined(inquiry, abstract), "parts": parts}
    return found | {"compiled_as": code}


def _compiled_as(inquiry: Inquiry, name: str, traces: list[Trace]) -> list[dict[str, Any]]:
    """The code of these descriptions that has a symbol of Rust or C++, which is not the name."""
    return [
        {"symbol": symbol, "address": inquiry.address(address)} | place(inquiry, trace)
        for symbol, address, trace in compiled_as(inquiry, name, traces)[:MOST]
    ]


def _inlined(inquiry: Inquiry, abstract: list[Trace]) -> dict[str, Any]:
    """Functions that have inlined it, the most frequent first; those in BTF can be attached to."""
    numbers = {inquiry.dies.unit_number(trace["die"]) for trace in abstract}
    units: Sequence[int] = sorted(number for number in numbers if number is not None)
    if inquiry.search.merged():
        units = range(inquiry.search.units())
    copies = inquiry.search.inlined(units, [trace["die"] for trace in abstract], MOST_CALLERS)
    callers = Counter(function for _, function, _ in copies)
    rows: list[dict[str, Any]] = []
    shown: dict[tuple[str, str], dict[str, Any]] = {}
    for function, count in callers.most_common(MOST_NAMED):
        die = inquiry.dies.die(function)
        caller = "" if die is None else inquiry.dies.name(die)
        key = caller, inquiry.dies.unit_name(function)
        if key in shown:
            shown[key]["copies"] += count
            continue
        shown[key] = {
            "function": caller,
            "unit": key[1],
            "copies": count,
            "in_btf": bool(caller) and inquiry.function_reason(caller) == IN_BTF,
        }
        rows.append(shown[key])
    return {"copies": len(copies), "callers": len(callers), "complete": len(copies) < MOST_CALLERS, "by": rows}


def _no_description(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """Other functions with the same code, which DWARF may describe."""
    symbols = inquiry.placed(name)
    addresses = {address for _, _, address in symbols}
    same = {other for value in sorted({value for _, value, _ in symbols})[:MOST]
            for other in inquiry.fates.at_address(value)} - {name}  # fmt: skip
    # Values are the same where the code is in other sections of a relocatable file.
    there = (
        other for other in sorted(same) if any(address in addresses for _, _, address in inquiry.placed(other))
    )
    rows = [
        {"name": other, "in_btf": inquiry.function_reason(other) == IN_BTF} for other in islice(there, MOST)
    ]
    renamed_from = _renamed_from(inquiry, name, addresses)
    return {"same_code": rows, "renamed_from": renamed_from, "mangled": bool(identifiers(name))}


def _renamed_from(inquiry: Inquiry, name: str, addresses: set[int]) -> dict[str, Any] | None:
    """The function that DWARF describes at these addresses, by the name without a prefix of objcopy, or by the one of
    which a compiler has made this symbol; `prefix` is null then.
    """
    prefix = next((each for each in PREFIXES if name.startswith(each)), None)
    if prefix is None:
        found = described_unmangled(inquiry, name, addresses)
    else:
        plain = name.removeprefix(prefix)
        trace = described_at(inquiry, inquiry.fates.of(plain), addresses)
        found = None if trace is None else (plain, trace)
    if found is None:
        return None
    plain, trace = found
    return {"name": plain, "prefix": prefix, "left_out": inquiry.left_out(trace)} | place(inquiry, trace)


def _declared(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    declared = [trace for trace in traces if trace["what"] == "declared"]
    found = {"places": places(inquiry, declared), "complete": inquiry.complete}
    return found | (_no_description(inquiry, name, traces) if inquiry.symbols_of(name) else {})


def _excluded(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    excluded = [trace for trace in traces if trace["what"] == "excluded"]
    left_out = inquiry.left_out(excluded[0]) if excluded else None
    code = _compiled_as(inquiry, name, excluded)
    return {"places": places(inquiry, excluded), "left_out": left_out, "compiled_as": code}


def _unnamed(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    chosen = [trace for trace in traces if trace["what"] == "unnamed_parameter"]
    first = chosen[0].get("parameter", 0) if chosen else 0
    return {"parameter": first, "places": places(inquiry, chosen, prototypes=True)}


def _inconsistent(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """Each distinct prototype with its places. The first is what the others are compared with."""
    states = _states(traces)
    groups: dict[int, list[Trace]] = {}
    for trace in states:
        groups.setdefault(trace["prototype"], []).append(trace)
    rows: list[dict[str, Any]] = []
    first: Prototype | None = None
    for members in islice(groups.values(), MOST_PROTOTYPES):
        agrees = inquiry.fates.same_prototype(states[0]["state"], members[0]["state"])
        text = prototype_of(inquiry, members[0])
        if first is None:
            first = text
        rows.append({
            "prototype": str(text) if text else "",
            "agrees_with_the_first": agrees,
            "differs_in": [] if agrees or first is None or text is None else differences(first, text),
            "seen": len(members),
            "places": places(inquiry, members),
        })  # fmt: skip
    rows[1:] = sorted(rows[1:], key=lambda row: row["agrees_with_the_first"])
    return {"prototypes": rows[:MOST], "distinct": len(groups)}


def differences(one: Prototype, other: Prototype) -> list[str]:
    """What differs in two prototypes, in words."""
    found = []
    if one.returns != other.returns:
        found.append(f"returns {other.returns} instead of {one.returns}")
    before, after = ([] if each.params == ["void"] else each.params for each in (one, other))
    if len(before) != len(after):
        found.append(f"{len(after)} instead of {len(before)} parameters")
    for at, (left, right) in enumerate(zip(before, after, strict=False)):
        if left != right:
            found.append(f"parameter {at + 1} is {right!r} instead of {left!r}")
    return found or ["a type that it refers to is another one"]


def _states(traces: list[Trace]) -> list[Trace]:
    """Those that were remembered, in the order of function_merge.py: what has an address there comes first."""
    return sorted((trace for trace in traces if "state" in trace), key=lambda trace: trace["address"] == 0)


def _flagged(flag: str) -> Callable[[Inquiry, str, list[Trace]], dict[str, Any]]:
    def collect(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
        states = _states(traces)
        chosen = [trace for trace in states if flag in trace["flags"]]
        return {"instances": [_instance(inquiry, trace, flag, states) for trace in chosen[:MOST]], "seen": len(chosen)}

    return collect


def _instance(inquiry: Inquiry, trace: Trace, flag: str, states: list[Trace]) -> dict[str, Any]:
    """A description with its parameters: where each is, and the one that decided."""
    row = place(inquiry, trace)
    prototype = prototype_of(inquiry, trace)
    row["prototype"] = str(prototype) if prototype else ""
    row["parameters"], copy = _parameters(inquiry, trace, states)
    start = None if copy is None else entry(inquiry, copy)
    if start is not None:
        row["address"] = inquiry.address(start)
    if flag == "unexpected" and "parameter" in trace:
        row["parameter"] = trace["parameter"]
        registers = inquiry.fates.parameter_registers()
        due, register = trace.get("due"), trace.get("register")
        known = due is not None and due < len(registers)
        row["expected"] = inquiry.dies.register(registers[due]) if known and due is not None else None
        row["found"] = None if register is None else inquiry.dies.register(register)
    elif flag == "optimized" and "optimized" in trace:
        row["parameter"] = trace["optimized"]
    return row


def _parameters(inquiry: Inquiry, trace: Trace, states: list[Trace]) -> tuple[list[dict[str, str]], Trace | None]:
    """The parameters of a description, each with its place; those of an abstract one are where a compiled copy of it,
    in the same unit, has them. The copy, if there is one.
    """
    from pybtf.dwarf.declarations import parameters

    die = inquiry.dies.die(trace["die"])
    if die is None:
        return [], None
    locations: dict[int, str] = {}
    copy = None if is_compiled(inquiry, trace) else _copy_of(inquiry, trace, states)
    compiled = None if copy is None else inquiry.dies.die(copy["die"])
    for child in [] if compiled is None else parameters(inquiry.dies, compiled):
        origin = inquiry.dies.to(child, "DW_AT_abstract_origin")
        if origin is not None:
            locations[origin.offset] = inquiry.dies.location(child)
    rows = [
        {
            "name": inquiry.dies.name(child),
            "location": locations.get(child.offset, "gone") if locations else inquiry.dies.location(child),
        }
        for child in parameters(inquiry.dies, die)
    ]
    return rows, copy if locations else None


def _copy_of(inquiry: Inquiry, trace: Trace, states: list[Trace]) -> Trace | None:
    """The last compiled copy of an abstract instance: the one whose registers it has learnt last."""
    unit = inquiry.dies.unit_number(trace["die"])
    compiled = (each for each in reversed(states) if is_compiled(inquiry, each))
    for other in islice((each for each in compiled if inquiry.dies.unit_number(each["die"]) == unit), MOST_COPIES):
        die = inquiry.dies.die(other["die"])
        origin = None if die is None else inquiry.dies.to(die, "DW_AT_abstract_origin")
        if origin is not None and inquiry.dies.offset(origin) == trace["die"]:
            return other
    return None


def _reordered(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """The parameters that are left, beside those of the source."""
    found = _flagged("reordered")(inquiry, name, traces)
    for row in found["instances"]:
        die = inquiry.dies.die(int(row["die"], 16))
        origin = None if die is None else inquiry.dies.to(die, "DW_AT_abstract_origin")
        if origin is not None:
            from pybtf.dwarf.declarations import prototype

            row["in_the_source"] = str(prototype(inquiry.dies, origin))
    return found


def _optimized(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """The instances at addresses of clones, with the names of these."""
    found = _flagged("optimized")(inquiry, name, [trace for trace in traces if is_compiled(inquiry, trace)])
    symbols = inquiry.placed(name)
    for row in found["instances"]:
        row["symbols"] = [symbol for symbol, _, address in symbols if inquiry.address(address) == row.get("address")]
    return found


def _ambiguous(inquiry: Inquiry, name: str, traces: list[Trace]) -> dict[str, Any]:
    """What is at each address that has a symbol of the name."""
    at = {entry(inquiry, trace): trace for trace in traces}
    rows = []
    for symbol, _, address in sorted(inquiry.placed(name), key=lambda row: row[2])[:MOST]:
        row: dict[str, Any] = {"symbol": symbol, "address": inquiry.address(address)}
        if address in at:
            row |= place(inquiry, at[address])
        rows.append(row)
    return {"addresses": rows}


_SPECIFIC: dict[str, Callable[[Inquiry, str, list[Trace]], dict[str, Any]]] = {
    IN_BTF: _in_btf,
    "renamed": _renamed,
    "clone": _clone,
    "part": _clone,
    "no_symbol": _no_symbol,
    "no_description": _no_description,
    "declaration": _declared,
    "language": _excluded,
    "unnamed_parameter": _unnamed,
    "inconsistent": _inconsistent,
    "unexpected_register": _flagged("unexpected"),
    "uncertain_location": _flagged("uncertain"),
    "reordered": _reordered,
    "optimized": _optimized,
    "ambiguous_address": _ambiguous,
    "invalid_name": _ambiguous,
}
