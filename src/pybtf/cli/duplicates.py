"""`pybtf duplicates`: names with more than one definition of a kind."""

from __future__ import annotations

import sys

from ..errors import UsageError
from .arguments import FLAG, PATH, Option

OPTIONS = (
    Option("base", PATH, "FILE"),
    Option("fail", FLAG),
    Option("json", FLAG),
)


def duplicates(files: tuple[str, ...], base: str | None, fail: bool, json: bool) -> int:
    """The command, after its options have been read. The exit status."""
    if len(files) != 1:
        raise UsageError("missing argument 'FILE'; see pybtf duplicates --help" if not files else "one FILE at a time")
    if files[0] == base == "-":
        raise UsageError("FILE and --base cannot both be standard input")
    from ..btf.duplicates import duplicates as find
    from ..btf.opening import open_btf
    from ..core.show.show_graph import TypeGraph

    btf = open_btf(files[0], base)
    graph = TypeGraph(btf.view())
    rows = []
    for each in find(btf):
        hanging = [graph.dependents(id) if id >= btf.first_id else None for id in each.ids]
        rows.append((each, hanging))
    if json:
        from json import dumps

        found = [
            {
                "name": each.name, "kind": each.kind.name, "ids": each.ids, "dependents": hanging,
                "differences": each.differences,
            }
            for each, hanging in rows
        ]  # fmt: skip
        sys.stdout.write(dumps(found, indent=2) + "\n")
    else:
        for each, hanging in rows:
            sys.stdout.write(_text(each.name, each.kind.name, each.ids, hanging, each.differences))
    sys.stdout.flush()
    return 1 if rows and fail else 0


def _text(name: str, kind: str, ids: list[int], hanging: list[int | None], differences: list[str]) -> str:
    """A line for the first definition, and one for each of the others."""
    name = name.encode("utf-8", "backslashreplace").decode()
    lines = [f"{kind} {name}: {ids[0]} ({_users(hanging[0])})"]
    for id, users, difference in zip(ids[1:], hanging[1:], differences, strict=True):
        path = f"{name}{difference}" if difference[:1] in ".[(-" else f"{name}: {difference}"
        lines.append(f"  {id} ({_users(users)}): {path}")
    return "\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n"


def _users(count: int | None) -> str:
    return "of the base" if count is None else f"{count:,} type{'s' if count != 1 else ''} need it"
