"""`pybtf duplicates`: names with more than one definition of a kind."""

from __future__ import annotations

import sys

from ..errors import UsageError
from .arguments import FLAG, PATH, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..btf.duplicates import Duplicate

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
            for line in _lines(each, hanging, btf.first_id):
                sys.stdout.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()
    return 1 if rows and fail else 0


def _lines(each: Duplicate, hanging: list[int | None], first_id: int) -> Iterator[str]:
    """A line for the first definition, and one for each of the others."""
    from ..btf.duplicates import shortened

    name = shortened(each.name)
    yield f"{each.kind.name} {name}: {each.ids[0]} ({_users(each.ids[0], hanging[0], first_id)})"
    for id, users, difference in zip(each.ids[1:], hanging[1:], each.differences, strict=True):
        path = f"{name}{difference}" if difference[:1] in ".[(-" else f"{name}: {difference}"
        yield f"  {id} ({_users(id, users, first_id)}): {path}"


def _users(id: int, count: int | None, first_id: int) -> str:
    if count is None:
        return "of the base" if id < first_id else "types that need it were not counted"
    return f"{count:,} type{'s' if count != 1 else ''} need it"
