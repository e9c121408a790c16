"""`pybtf duplicates`: names with more than one definition of a kind."""

from __future__ import annotations

from pybtf.cli.arguments import FLAG, JOBS, PATH, TEXTS, Option, stdin_once
from pybtf.errors import UsageError, printable
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybtf.btf.duplicates import Duplicate
    from pybtf.btf.provenance import Source

OPTIONS = (
    Option("base", PATH, "FILE"),
    Option("fail", FLAG),
    Option("json", FLAG),
    Option("provenance", PATH, "FILE"),
    Option("dwarf", PATH, "FILE"),
    Option("features", TEXTS, "LIST"),
    Option("jobs", JOBS, "N", "j"),
)


def duplicates(
    files: tuple[str, ...], base: str | None, fail: bool, json: bool, provenance: str | None, dwarf: str | None,
    features: tuple[str, ...], jobs: int | None
) -> int:  # fmt: skip
    """The command, after its options have been read. The exit status."""
    if len(files) != 1:
        raise UsageError("missing argument 'FILE'; see pybtf duplicates --help" if not files else "one FILE at a time")
    stdin_once((files[0], base))
    from pybtf.btf.duplicates import duplicates as find
    from pybtf.cli.reading import open_btf
    from pybtf.cli.sources import Origin
    from pybtf.core.show.show_graph import TypeGraph

    origin = Origin(provenance, dwarf, features, jobs)
    btf = open_btf(files[0], base)
    known = origin.open(btf.data, str(btf.place), base)
    graph = TypeGraph(btf.view())
    rows = []
    for each in find(btf):
        hanging = [graph.dependents(id) if id >= btf.first_id else None for id in each.ids]
        sources = [None if known is None or id < btf.first_id else known.type(id) for id in each.ids]
        rows.append((each, hanging, sources))
    if json:
        from json import dumps

        found = [
            {
                "name": each.name, "kind": each.kind.name, "ids": each.ids, "dependents": hanging,
                "differences": each.differences,
                **({} if known is None else {"sources": [None if x is None else x.to_dict() for x in sources]}),
            }
            for each, hanging, sources in rows
        ]  # fmt: skip
        write_stdout(dumps(found, indent=2) + "\n")
    else:
        lines = [line for row in rows for line in _lines(row[0], row[1], btf.first_id, row[2])]
        write_stdout("".join(f"{printable(line)}\n" for line in lines))
    return 1 if rows and fail else 0


def _lines(each: Duplicate, hanging: list[int | None], first_id: int, sources: list[Source | None]) -> Iterator[str]:
    """A line for the first definition, and one for each of the others."""
    from pybtf.btf.duplicates import shortened
    from pybtf.cli.sources import described

    name = shortened(each.name)
    places = [f", {described(source)}" if described(source) else "" for source in sources]
    yield f"{each.kind.name} {name}: {each.ids[0]} ({_users(each.ids[0], hanging[0], first_id)}){places[0]}"
    for id, users, difference, place in zip(each.ids[1:], hanging[1:], each.differences, places[1:], strict=True):
        path = f"{name}{difference}" if difference[:1] in ".[(-" else f"{name}: {difference}"
        yield f"  {id} ({_users(id, users, first_id)}){place}: {path}"


def _users(id: int, count: int | None, first_id: int) -> str:
    if count is None:
        return "of the base" if id < first_id else "types that need it were not counted"
    return f"{count:,} types need it" if count != 1 else "1 type needs it"
