"""Changes for people (plain or with colours), for release notes (Markdown), and for programs."""

from __future__ import annotations

from pybtf.differences.words import PLURALS, detail_text, heading, is_of_whole, reach_text, sign_of, title_of
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from pybtf.differences.model import Change, Tally
    from pybtf.differences.places import Places

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
COLOURS = {"+": "32", "-": "31", "~": "33"}
HEADINGS = {"added": "Added", "removed": "Removed", "changed": "Changed"}


def lines(
    changes: Iterable[Change],
    declaration: Callable[[Change], str],
    names: bool = False,
    places: Places | None = None,
) -> list[str]:
    """A line for each change, and below it one for each thing that differs. `names`: what is reached, too; `places`:
    where it is declared.
    """
    found = []
    for change in changes:
        found.append(f"{SIGNS[change.what]} {heading(change, declaration)}")
        where = places.text(change) if places is not None else ""
        if where:
            found.append(f"    at {where}")
        for detail in change.details:
            if not is_of_whole(detail):
                found.append(f"    {sign_of(detail)} {detail_text(change, detail)}")
        if names and change.reach is not None and change.reach.names is not None:
            for what, row in zip(("types", "variables", "functions"), change.reach.names, strict=True):
                if row:
                    found.append(f"      {what}: {', '.join(row)}")
    return found


def coloured(line: str) -> str:
    sign = line.lstrip()[:1]
    return f"\x1b[{COLOURS[sign]}m{line}\x1b[0m" if sign in COLOURS else line


def markdown(
    changes: list[Change], declaration: Callable[[Change], str], places: Places | None = None
) -> list[str]:
    """Sections for each kind and for what happened, as lists."""
    found: list[str] = []
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.category, change.what), []).append(change)
    for category, word in PLURALS.items():
        rows = [(what, groups[category, what]) for what in HEADINGS if (category, what) in groups]
        if rows:
            found += [f"## {word[0].upper()}{word[1:]}", ""]
        for what, some in rows:
            found += [f"### {HEADINGS[what]} ({len(some):,})", ""]
            for change in some:
                found += _item(change, declaration, places)
            found.append("")
    return found


def _item(change: Change, declaration: Callable[[Change], str], places: Places | None) -> list[str]:
    if change.what == "changed":
        title = title_of(change)
        rest = heading(change, declaration).removeprefix(title)
        rows = [f"- {_code(title)}{_plain(rest)}"]
    elif change.category in ("function", "variable", "typedef"):
        rows = [f"- {_code(declaration(change))}{reach_text(change.reach)}"]
    else:
        rows = [f"- {_code(title_of(change))}: {_plain(declaration(change))}{reach_text(change.reach)}"]
    where = places.text(change) if places is not None else ""
    if where:
        rows.append(f"  - at {_code(where)}")
    for detail in change.details:
        if not is_of_whole(detail):
            sign = {"+": "added ", "-": "removed ", "~": ""}[sign_of(detail)]
            text = detail_text(change, detail).removeprefix(title_of(change)).lstrip(".: ")
            rows.append(f"  - {sign}{_code(text)}")
    return rows


def _code(text: str) -> str:
    """As code, whatever is in it."""
    fence = "`"
    if fence in text:
        import re

        fence *= 1 + max(map(len, re.findall("`+", text)))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _plain(text: str) -> str:
    """What Markdown would take for its own, as it is."""
    return "".join(f"\\{each}" if each in "\\`*_[]<>#|" else each for each in text)


def to_dict(
    change: Change, declaration: Callable[[Change], str], places: Places | None = None
) -> dict[str, Any]:
    """For JSON. docs/diff.md has the keys."""
    row: dict[str, Any] = {"what": change.what, "kind": change.category, "name": change.name}
    if change.title != change.name:
        row["title"] = change.title
    if change.kfunc:
        row["kfunc"] = True
    row |= {"old_id": change.old_id, "new_id": change.new_id, "classes": sorted(change.classes)}
    if change.what != "changed":
        row["declaration"] = declaration(change)
    else:
        row["details"] = [
            {"what": each.what, "path": each.path, "old": each.old, "new": each.new, "text": detail_text(change, each)}
            for each in change.details
        ]
    if places is not None:
        row["source"] = places.to_dict(change)
    if change.reach is not None:
        row["reach"] = {
            "types": change.reach.types, "variables": change.reach.variables, "functions": change.reach.functions
        }  # fmt: skip
        if change.reach.names is not None:
            kinds = ("types", "variables", "functions")
            row["reach"]["names"] = {kind: list(row) for kind, row in zip(kinds, change.reach.names, strict=True)}
    return row


def tallies_to_dict(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {
        PLURALS[category]: {
            "old": tally.old, "new": tally.new, "added": tally.added, "removed": tally.removed, "changed": tally.changed
        }
        for category, tally in tallies.items()
    }  # fmt: skip


def summary(changes: list[Change]) -> str:
    """`2,095 added, 340 removed, 1,310 changed`."""
    counts = {what: sum(change.what == what for change in changes) for what in HEADINGS}
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "no changes"
