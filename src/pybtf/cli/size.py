"""`pybtf size`: where the bytes of BTF go."""

from __future__ import annotations

from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.cli.arguments import CHOICE, FLAG, JOBS, PATH, TEXT, TEXTS, Option, number_of, stdin_once
from pybtf.errors import UsageError, printable, unknown
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    from pybtf.btf.provenance import Provenance
    from pybtf.core.btf.type_view import View

BY_ORIGIN = ("unit", "folder")
ORDERS = ("kind", "type", "prefix", *BY_ORIGIN)
OPTIONS = (
    Option("by", CHOICE, "|".join(ORDERS)),
    Option("count", TEXT, "N|all"),
    Option("against", PATH, "OTHER"),
    Option("base", PATH, "FILE"),
    Option("json", FLAG),
    Option("html", PATH, "OUT"),
    Option("svg", PATH, "OUT"),
    Option("provenance", PATH, "FILE"),
    Option("dwarf", PATH, "FILE"),
    Option("features", TEXTS, "LIST"),
    Option("jobs", JOBS, "N", "j"),
)
_STRINGS = {1: "of types", 2: "of members", 4: "of enumerators", 8: "of parameters", 0: "of nothing"}
_SHARED = "of several of these"
_TOO_MUCH = "gone without the type: not known, as there are too many ways to follow"
_NO_NAME = "(no name)"
_RECORDS, _PREFIXES, _LARGEST, _GONE = "records", "prefixes of names", "largest records", "gone without the type"
_CUT = (_RECORDS, _PREFIXES, _LARGEST, _GONE)
"""Titles of the tables of which `--count` rows are shown; the others are short."""
SHOWN = 10
MOST = 9_999_999

Row = tuple[str, int, int]
"""A name, bytes, and how many there are."""
Table = tuple[str, list[Row], int]
"""A title, rows, and the bytes that shares are of, also of rows that were cut off."""


def size(
    files: tuple[str, ...], by: str | None, count: str | None, against: str | None, base: str | None, json: bool,
    html: str | None, svg: str | None, provenance: str | None, dwarf: str | None, features: tuple[str, ...],
    jobs: int | None
) -> int:  # fmt: skip
    """The command, after its options have been read. The exit status."""
    if len(files) != 1:
        raise UsageError("missing argument 'FILE'; see pybtf size --help" if not files else "one FILE at a time")
    if by is not None and by not in ORDERS:
        raise unknown("value", by, ORDERS, of="--by")
    shown = SHOWN if count is None else MOST if count == "all" else number_of("count", count, MOST)
    stdin_once((files[0], base, against))
    pictures = [(out, page) for out, page in ((html, True), (svg, False)) if out is not None]
    if pictures and (json or by is not None or count is not None or against is not None):
        raise UsageError("--html and --svg draw all there is; --by, --count, --against and --json are about tables")
    from pybtf.cli.reading import Views
    from pybtf.cli.sources import Origin

    views = Views()
    origin = Origin(provenance, dwarf, features, jobs)
    if bool(origin) != (by in BY_ORIGIN):
        raise UsageError("--by unit and --by folder need --provenance or --dwarf, which can only be used with them")
    if origin and against is not None:
        raise UsageError(f"--against OTHER does not go with --by {by}: where the types of OTHER are from is not known")
    if pictures:
        from pybtf.cli.output import opened, spared
        from pybtf.cli.request import same

        if len(pictures) > 1 and same(pictures[0][0], pictures[1][0]):
            raise UsageError("--html and --svg need two names")
        for out, page in pictures:
            spared("--html" if page else "--svg", out, opened(files[0], base, out))
        _draw(views.open(files[0], base), pictures)
        return 0
    view = views.open(files[0], base)
    known = origin.open(view.data, view.name, base)
    if known is not None:
        with known:
            tables = by_origin(view, known, by == "folder", shown)
    else:
        tables = measure(view, by, shown if against is None else None)
    if against is not None:
        tables = growth(tables, measure(views.open(against, base), by, None), shown)
    if json:
        from json import dumps

        keys = ("name", "bytes", "number")
        found = {
            title.partition(":")[0]: None if title == _TOO_MUCH else [dict(zip(keys, row, strict=True)) for row in rows]
            for title, rows, _ in tables
        }
        write_stdout(dumps(found, indent=2) + "\n")
    else:
        write_stdout(_text(tables, against is not None))
    return 0


def _draw(view: View, pictures: list[tuple[str, bool]]) -> None:
    """Write treemaps: for each its file, and whether it is a page."""
    from pybtf.cli.output import draw
    from pybtf.pictures.treemap import treemap

    for out, page in pictures:
        draw(out, treemap(view, view.name.rpartition("/")[2], page))


def measure(view: View, by: str | None, count: int | None) -> list[Table]:
    """Tables, each with its title. The first sums up to the size of the file, unless `by` asks for another one.

    `count`: the rows of a table that is cut off. None: no table is, and the types of one name are one row, as they are
    to be compared with those of another file, in which they have other ids.
    """
    from pybtf.core.show.show_graph import TypeGraph

    graph = TypeGraph(view)
    records = graph.records()
    first = view.first_own
    kinds = [view.kind(first + at) for at in range(len(records))]
    if by == "type":
        return [(_RECORDS, _largest(view, records, kinds, count), sum(records))]
    if by == "prefix":
        return [(_PREFIXES, _prefixes(view, records, count), sum(records))]
    by_kind: dict[int, tuple[int, int]] = {}
    for kind, bytes in zip(kinds, records, strict=True):
        had = by_kind.get(kind, (0, 0))
        by_kind[kind] = had[0] + bytes, had[1] + 1
    rows = [(KIND_NAMES[kind], *sums) for kind, sums in by_kind.items()]
    rows.sort(key=lambda row: (-row[1], row[0]))
    if by == "kind":
        return [("types", rows, sum(records))]
    total, types, text = view.sizes()
    strings: dict[str, tuple[int, int]] = {}
    for mark, (number, bytes) in graph.strings().items():
        name = _STRINGS.get(mark, _SHARED)
        had = strings.get(name, (0, 0))
        strings[name] = had[0] + bytes, had[1] + number
    named = sorted(((name, *sums) for name, sums in strings.items()), key=lambda row: (-row[1], row[0]))
    whole = [
        ("types", types, len(records)), ("strings", text, sum(row[2] for row in named)),
        ("header and the rest", total - types - text, 1),
    ]  # fmt: skip
    retained = graph.retained()
    gone = [] if retained is None else _largest(view, retained, kinds, count, nameless=False)
    return [
        ("all", whole, total),
        ("types", rows, types),
        ("strings", named, text),
        (_LARGEST, _largest(view, records, kinds, count), types),
        (_GONE if retained is not None else _TOO_MUCH, gone, types),
    ]


def _largest(
    view: View, bytes: list[int], kinds: list[int], count: int | None, *, nameless: bool = True
) -> list[Row]:
    """Types with the most bytes; without `count` all, by name, the `nameless` as one for each kind, or not at all."""
    if count is None:
        return _by_name(view, bytes, kinds, nameless)
    from heapq import nlargest

    first = view.first_own
    chosen = nlargest(count, range(len(bytes)), key=lambda at: (bytes[at], -at))
    return [(f"{KIND_NAMES[kinds[at]]} {_name(view, first + at)}", bytes[at], 1) for at in chosen]


def _by_name(view: View, sizes: list[int], kinds: list[int], nameless: bool) -> list[Row]:
    sums: dict[str, list[int]] = {}
    for at, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        name = view.name_of(view.first_own + at).decode("utf-8", "surrogateescape")
        if name or nameless:
            row = sums.setdefault(f"{KIND_NAMES[kind]} {name or _NO_NAME}", [0, 0])
            row[0] += size
            row[1] += 1
    return [(key, row[0], row[1]) for key, row in sums.items()]


def _name(view: View, id: int) -> str:
    return view.name_of(id).decode("utf-8", "surrogateescape") or f"[{id}]"


def by_origin(view: View, known: Provenance, folders: bool, count: int) -> list[Table]:
    """The records by the unit they are from, or by the folder of the file that declares them, else of that unit."""
    from pybtf.core.show.show_graph import TypeGraph

    places = known.units_and_files()
    sums: dict[str, list[int]] = {}
    titles: dict[str, str] = {}  # by unit or file, which may be long, and of many types
    for at, bytes in enumerate(TypeGraph(view).records()):
        unit, file = places.get(view.first_own + at, ("", ""))
        key = file or unit if folders else unit
        if key not in titles:
            title = key.rpartition("/")[0] or ("." if key else "") if folders else key
            titles[key] = printable(title) or "(not known)"
        row = sums.setdefault(titles[key], [0, 0])
        row[0] += bytes
        row[1] += 1
    rows = sorted(((key, row[0], row[1]) for key, row in sums.items()), key=lambda row: (-row[1], row[0]))
    return [("folders" if folders else "units", rows[:count], sum(row[1] for row in rows))]


def _prefixes(view: View, records: list[int], count: int | None) -> list[Row]:
    """By what stands in front of the first underscore in a name, which is not at its beginning."""
    sums: dict[bytes, list[int]] = {}
    for at, bytes in enumerate(records):
        name = view.name_of(view.first_own + at)
        prefix = name[: len(name) - len(name.lstrip(b"_"))] + name.lstrip(b"_").partition(b"_")[0]
        row = sums.setdefault(prefix, [0, 0])
        row[0] += bytes
        row[1] += 1
    rows: list[Row] = [
        (key.decode("utf-8", "surrogateescape") or _NO_NAME, row[0], row[1]) for key, row in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:count]


def growth(tables: list[Table], others: list[Table], count: int) -> list[Table]:
    """How much more there is than in the other file; what changed most comes first, and what did not is left out. Both
    are whole; what is cut off without another file is cut off here.
    """
    found: list[Table] = []
    for (title, rows, whole), (other_title, other, _) in zip(tables, others, strict=True):
        if _TOO_MUCH in (title, other_title):
            found.append((_TOO_MUCH, [], whole))
            continue
        left, right = {row[0]: row[1:] for row in rows}, {row[0]: row[1:] for row in other}
        names = dict.fromkeys([*left, *right])
        pairs = [(name, left.get(name, (0, 0)), right.get(name, (0, 0))) for name in names]
        changes = [(name, new[0] - old[0], new[1] - old[1]) for name, new, old in pairs if new != old]
        changes.sort(key=lambda row: (-abs(row[1]), row[0]))
        found.append((title, changes[:count] if title in _CUT else changes, whole))
    return found


def _text(tables: list[Table], signed: bool) -> str:
    number = "{:+,}" if signed else "{:,}"
    lines: list[str] = []
    for title, rows, total in tables:
        lines += ["", f"{title}:"] if lines else [f"{title}:"]
        for name, bytes, count in rows:
            share = f" {100 * bytes / total:5.1f}%" if total and not signed else ""
            lines.append(f"{number.format(bytes):>13}{share} {number.format(count):>10}  {printable(name)}")
    return "\n".join(lines) + "\n"
