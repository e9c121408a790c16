"""Where the bytes of BTF go, as a picture: a treemap in one SVG or HTML file, which needs nothing else.

The boxes of the first two levels are drawn here, so that a viewer without scripts shows something. The script in the
file draws them anew, for the window that it finds, and all others when they are entered.
"""

from __future__ import annotations

from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.pictures.markup import escaped
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybtf.core.btf.type_view import View

Box = tuple["Node", float, float, float, float]
"""A part, and where it is: x, y, width, height."""

WIDTH, HEIGHT, TOP = 1200, 760, 40
MANY = 60
"""Types of a kind that are not sorted by the beginnings of their names."""
COLOURS = {
    "strings": "#f2c879", "header and the rest": "#c9c9c3", "FUNC": "#8fc7e8", "FUNC_PROTO": "#a7b8f0",
    "STRUCT": "#8fd3a8", "UNION": "#b6dc8c", "ENUM": "#e9b3d6", "ENUM64": "#dba5e8", "PTR": "#b9c6cf",
    "TYPEDEF": "#f0b49a", "ARRAY": "#c8c0ee", "VAR": "#99d8d3"
}  # fmt: skip
OTHER = "#cfc8b4"
_STRINGS = {1: "of types", 2: "of members", 4: "of enumerators", 8: "of parameters", 0: "of nothing"}


class Node:
    """Something with bytes, and what it consists of. `count`: how many things it stands for, if it has no parts."""

    __slots__ = ("bytes", "colour", "count", "name", "parts")

    def __init__(
        self, name: str, bytes: int = 0, parts: list[Node] | None = None, colour: str = "", count: int = 1
    ) -> None:
        self.name = name
        self.parts = sorted(parts or [], key=lambda part: (-part.bytes, part.name))
        self.bytes: int = bytes or sum(part.bytes for part in self.parts)
        self.colour = colour
        self.count = count

    def row(self) -> list[object]:
        """As the script reads it: name, bytes, parts, and if they are not the usual ones colour and count."""
        row: list[object] = [self.name, self.bytes, [part.row() for part in self.parts], self.colour, self.count]
        while row[-1] in (1, "", []) and len(row) > 2:
            row.pop()
        return row


def treemap(view: View, title: str, page: bool) -> bytes:
    """The file: an HTML page, or an SVG picture. `title` is what the whole is called."""
    from json import dumps

    from pybtf.pictures.treemap_script import SCRIPT, STYLE

    whole = tree(view, title)
    data = dumps(whole.row(), separators=(",", ":"))
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    size = 'width="100%" height="100%"' if page else f'width="{WIDTH}" height="{HEIGHT}"'
    picture = f"""<svg class="treemap" xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {HEIGHT}">
<title>{escaped(title)}</title>
<style>
{STYLE}</style>
<g class="map">
{"".join(_static(whole))}</g>
<g class="line"><text class="path" x="8" y="25">{escaped(title)}  {whole.bytes:,} bytes</text></g>
<text class="note" x="{WIDTH - 280}" y="25" text-anchor="end"></text>
<foreignObject x="{WIDTH - 268}" y="6" width="260" height="30">
<input xmlns="http://www.w3.org/1999/xhtml" type="search" placeholder="Search ( / )" aria-label="Search by name" />
</foreignObject>
<script class="data" type="application/json">{data}</script>
<script><![CDATA[
{SCRIPT}]]></script>
</svg>
"""
    if not page:
        return picture.encode("utf-8", "backslashreplace")
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escaped(title)}</title>
<style>html, body {{ margin: 0; height: 100%; overflow: hidden }} svg {{ width: 100vw; height: 100vh }}</style>
</head>
<body>
{picture}</body>
</html>
"""
    return text.encode("utf-8", "backslashreplace")


def tree(view: View, title: str) -> Node:
    """All bytes of the file: types by kind and by the beginning of their names, strings by what has them, the rest."""
    from pybtf.core.show.show_graph import TypeGraph

    graph = TypeGraph(view)
    total, types, text = view.sizes()
    by_kind: dict[int, list[Node]] = {}
    nameless: dict[int, list[int]] = {}
    for at, bytes in enumerate(graph.records()):
        id = view.first_own + at
        name = view.name_of(id).decode("utf-8", "backslashreplace")
        if name:
            by_kind.setdefault(view.kind(id), []).append(Node(name, bytes))
        else:
            nameless.setdefault(view.kind(id), []).append(bytes)
    kinds = []
    for kind in {**by_kind, **nameless}:
        parts = _by_beginning(by_kind.get(kind, []))
        sizes = nameless.get(kind, [])
        if sizes:
            parts.append(Node(f"{len(sizes):,} without a name", sum(sizes), count=len(sizes)))
        kinds.append(Node(KIND_NAMES[kind], parts=parts, colour=COLOURS.get(KIND_NAMES[kind], OTHER)))
    strings: dict[str, Node] = {}
    for mark, (number, bytes) in graph.strings().items():
        name = _STRINGS.get(mark, "of several of these")
        node = strings.setdefault(name, Node(name, count=0))
        node.bytes += bytes
        node.count += number
    parts = [
        Node("types", types, kinds, OTHER), Node("strings", text, list(strings.values()), COLOURS["strings"]),
        Node("header and the rest", total - types - text, colour=COLOURS["header and the rest"])
    ]  # fmt: skip
    return Node(title, total, [part for part in parts if part.bytes])


def _by_beginning(nodes: list[Node]) -> list[Node]:
    """Many types in groups: by what stands in front of the first underscore that is not at the beginning."""
    if len(nodes) <= MANY:
        return nodes
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        rest = node.name.lstrip("_")
        groups.setdefault(node.name[: len(node.name) - len(rest)] + rest.partition("_")[0], []).append(node)
    return [Node(f"{key}…", parts=group) if len(group) > 1 else group[0] for key, group in groups.items()]


def squares(parts: list[Node], x: float, y: float, width: float, height: float) -> Iterator[Box]:
    """Boxes in rows and columns, as square as they can be, each with the area that it has bytes."""
    left = sum(part.bytes for part in parts)
    start = 0
    while start < len(parts) and left > 0 and width > 0 and height > 0:
        side, scale = min(width, height), width * height / left
        end, total, worst = start, 0, float("inf")
        while end < len(parts):
            thick = (total + parts[end].bytes) * scale / side
            lengths = [part.bytes * scale / thick for part in (parts[start], parts[end])]
            ratio = max(max(length / thick, thick / length) for length in lengths)
            if ratio > worst:
                break
            worst, total, end = ratio, total + parts[end].bytes, end + 1
        thick = total * scale / side
        at = 0.0
        for part in parts[start:end]:
            length = part.bytes * scale / thick
            yield (part, x, y + at, thick, length) if width >= height else (part, x + at, y, length, thick)
            at += length
        start, left = end, left - total
        if width >= height:
            x, width = x + thick, width - thick
        else:
            y, height = y + thick, height - thick


def _static(whole: Node) -> Iterator[str]:
    for part, x, y, width, height in squares(whole.parts, 0, TOP, WIDTH, HEIGHT - TOP):
        yield _drawn(part, x, y, width, height, part.colour)
        if part.parts and height > 40:
            for inner in squares(part.parts, x + 3, y + 18, width - 6, height - 21):
                yield _drawn(*inner, inner[0].colour or part.colour)


def _drawn(node: Node, x: float, y: float, width: float, height: float, colour: str) -> str:
    fit = int((width - 8) / 6.6)
    name = node.name if len(node.name) <= fit else node.name[: fit - 1] + "…"
    label = f'<text x="{x + 5:.1f}" y="{y + 13:.1f}">{escaped(name)}</text>' if fit >= 3 and height >= 14 else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    about = f"<title>{escaped(node.name)}: {node.bytes:,} bytes</title>"
    return f'<g class="box"><rect {place} fill="{colour}">{about}</rect>{label}</g>\n'
