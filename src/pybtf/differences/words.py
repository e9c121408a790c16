"""Changes in words, a line for each thing that differs."""

from __future__ import annotations

from pybtf.errors import counted
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybtf.differences.model import Change, Detail, Reach, Tally, Value

SIGNS = {"added": "+", "removed": "-"}
KEYWORDS = {"forward": "declaration", "number": "type"}
PLURALS = {
    "struct": "structs", "union": "unions", "enum": "enums", "typedef": "typedefs", "function": "functions",
    "variable": "variables", "forward": "declarations", "number": "numbers", "section": "sections",
}  # fmt: skip
_ENCODINGS = ("unsigned", "signed", "char", "signed char", "bool")


def title_of(change: Change) -> str:
    """`struct sock`, `kfunc bpf_task_release`."""
    if change.kfunc and change.category == "function":
        return f"kfunc {change.title}"
    return f"{KEYWORDS.get(change.category, change.category)} {change.title}"


def sign_of(detail: Detail) -> str:
    return SIGNS.get(detail.what.removeprefix("tag "), "~")


def heading(change: Change, declaration: Callable[[Change], str]) -> str:
    """The first line about a change, without its sign."""
    if change.what != "changed":
        text = declaration(change)
        if change.category in ("function", "variable", "typedef"):
            what = "kfunc" if change.kfunc else change.category
            return f"{what} {text}{reach_text(change.reach)}"
        return f"{title_of(change)}: {text}{reach_text(change.reach)}"
    whole = [_about_whole(change, detail) for detail in change.details if is_of_whole(detail)]
    return f"{title_of(change)}{': ' if whole else ''}{', '.join(whole)}{reach_text(change.reach)}"


def reach_text(reach: Reach | None) -> str:
    """` (in 15 types, 1,340 functions)`, or nothing."""
    if reach is None:
        return ""
    parts = []
    if reach.types:
        parts.append(counted(reach.types, "type"))
    if reach.variables:
        parts.append(counted(reach.variables, "variable"))
    if reach.functions:
        parts.append(counted(reach.functions, "function"))
    return f" (in {', '.join(parts)})" if parts else ""


def is_of_whole(detail: Detail) -> bool:
    """Whether a detail belongs into the first line."""
    return detail.what in (
        "size", "signed", "encoding", "bits", "type", "section", "linkage", "defined", "declared", "regrouped",
    )  # fmt: skip


def _about_whole(change: Change, detail: Detail) -> str:
    old, new = detail.old or {}, detail.new or {}
    match detail.what:
        case "size":
            return f"size {old['size']} -> {new['size']}"
        case "signed":
            return "now signed" if new["value"] else "no longer signed"
        case "encoding":
            return f"{_encoding(old['value'])} -> {_encoding(new['value'])}"
        case "bits":
            return f"{old['value']} bits -> {new['value']}"
        case "type":
            return different(old["type"], new["type"])
        case "section":
            return f"section {old['name'] or 'none'} -> {new['name'] or 'none'}"
        case "linkage":
            return f"{old['value']} -> {new['value']}"
        case "defined":
            return "was only declared, now defined"
        case "declared":
            return "was defined, now only declared"
    return "other order or nesting, nothing moved"


def _encoding(number: int) -> str:
    return _ENCODINGS[number] if number < len(_ENCODINGS) else str(number)


def different(old: str, new: str) -> str:
    return f"{old} -> {new}" if old != new else f"{old}, differs inside"


def detail_text(change: Change, detail: Detail) -> str:
    """One thing that differs, with its full place: `struct sock.sk_drops: offset 184 -> 136`."""
    if is_of_whole(detail):
        return f"{title_of(change)}: {_about_whole(change, detail)}"
    if detail.what.startswith("tag "):
        value = detail.new or detail.old or {}
        where = f" of number {value['number']}" if "number" in value else ""
        return f"{title_of(change)}: tag {value['name']}{where}"
    if change.category == "function":
        return f"{title_of(change)}: {_parameter(detail)}"
    if "value" in (detail.old or detail.new or {}) or (detail.new or {}).get("of") == "enumerators":
        return f"{title_of(change)}: {_enumerator(detail)}"
    if detail.what == "shifted":
        return f"{title_of(change)}: {_shift(detail, 'member')}"
    return f"{title_of(change)}.{detail.path}: {_member(detail)}"


def _member(detail: Detail) -> str:
    old, new = detail.old or {}, detail.new or {}
    match detail.what:
        case "added":
            return f"{new['type']} at {_at(new)}"
        case "removed":
            return f"{old['type']} at {_at(old)}"
        case "renamed":
            return f"now {new['name']}, {new['type']} at {_at(new)}"
    parts = []
    moved = (old["offset"], old.get("bit", 0)) != (new["offset"], new.get("bit", 0))
    if moved:
        places = [f"{value['offset']}{':' + str(value['bit']) if 'bits' in value else ''}" for value in (old, new)]
        parts.append(f"offset {places[0]} -> {places[1]}")
    if detail.what == "changed":
        if old["type"] != new["type"]:
            parts.append(f"{old['type']} -> {new['type']}")
        if old.get("bits") != new.get("bits"):
            parts.append(f"{_bits(old)} -> {_bits(new)}")
        if old["size"] != new["size"]:
            parts.append(f"size {old['size']} -> {new['size']}")
        if len(parts) == moved:
            parts.append(f"{new['type']} differs inside")
    return ", ".join(parts)


def _bits(value: Value) -> str:
    return counted(value["bits"], "bit") if "bits" in value else "no bit-field"


def _at(value: Value) -> str:
    if "bits" not in value:
        return str(value["offset"])
    return f"{value['offset']}:{value['bit']}, {counted(value['bits'], 'bit')}"


def _shift(detail: Detail, word: str) -> str:
    value = detail.new or {}
    names = value["members"]
    after = f" after {value['after']}" if value["after"] else ""
    by = f"{value['bits']:+,} bits" if "bits" in value else f"{value['by']:+,}"
    shown = f"{names[0]} ... {names[-1]}" if len(names) > 2 else ", ".join(names)
    return f"{counted(len(names), word)}{after} {'moves' if len(names) == 1 else 'move'} by {by}: {shown}"


def _enumerator(detail: Detail) -> str:
    old, new = detail.old or {}, detail.new or {}
    match detail.what:
        case "added":
            return f"{detail.path} = {new['value']}"
        case "removed":
            return f"{detail.path} = {old['value']}"
        case "renamed":
            return f"{detail.path} is now {new['name']} = {new['value']}"
        case "shifted":
            return _shift(detail, "enumerator")
    return f"{detail.path} = {old['value']} -> {new['value']}"


def _parameter(detail: Detail) -> str:
    old, new = detail.old or {}, detail.new or {}
    name = f" {detail.path}" if detail.path else ""
    match detail.what:
        case "return":
            return f"returns {different(old['type'], new['type'])}"
        case "added":
            return f"parameter {new['number']}{name}: {new['type']}"
        case "removed":
            return f"parameter {old['number']}{name}: {old['type']}"
        case "renamed":
            return f"parameter {_number(old, new)}{name} is now called {new['name']}"
    renamed = f", now called {new['name']}" if "name" in new else ""
    return f"parameter {_number(old, new)}{name}: {different(old['type'], new['type'])}{renamed}"


def _number(old: Value, new: Value) -> str:
    return str(old["number"]) if old["number"] == new["number"] else f"{old['number']} -> {new['number']}"


def table(tallies: dict[str, Tally], classes: dict[str, int]) -> list[str]:
    """The numbers of `--stat`."""
    rows = [f"{'':14}{'old':>9}{'new':>9}{'added':>9}{'removed':>9}{'changed':>9}"]
    for category, tally in tallies.items():
        numbers = (tally.old, tally.new, tally.added, tally.removed, tally.changed)
        if any(numbers):
            rows.append(f"{PLURALS[category]:14}" + "".join(f"{number:>9,}" for number in numbers))
    shown = [f"{name} {count:,}" for name, count in classes.items() if count]
    return [*rows, f"classes: {', '.join(shown)}"] if shown else rows
