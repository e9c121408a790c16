"""The layout of structs as a picture: a row for each cache line, a cell for each byte, holes in stripes.

What takes many lines, such as a long array, is drawn with its first and its last ones. Of structs without a name the
members are drawn, of unions one box that names all of them: their bytes are the same. Bits count from the left: in
memory of either byte order that is how bit-fields follow each other.
"""

from __future__ import annotations

from pybtf.btf.kind_numbers import ARRAY, ENUM, ENUM64, FLOAT, PTR, STRUCT, UNION
from pybtf.errors import InputError
from pybtf.pictures.markup import escaped, shortened
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_types import Shower

    Member = tuple[bytes, int, int, int, int, int, int, int]

CELL, ROW, LEFT, TOP, BREAK = 16, 30, 64, 52, 16
"""Pixels: the width of a byte, the height of a line and the space in front of it, above it, and of lines left out."""
LEAST_WIDTH = 880
"""Pixels: room for a title and for what the colours mean, also where lines are short."""
SHOWN = 3
"""Lines of one member: that many at most at its beginning, and one at its end."""
MAX_DEPTH = 32
MAX_PARTS = 20_000
"""Of one block; what comes after them is not drawn."""
MAX_ALL_PARTS = 5 * MAX_PARTS
"""Of a picture, in addition to all members that the file has room for, and half as many: structs may be members of many
others. The scale of a struct and each of its lines count as several parts, by their length.
"""
PER_PART = 16
"""Bytes whose cells, or numbers in the scale, count as one more part."""
LONG = 128
"""Characters of a text that count as one more part."""
KINDS = {PTR: "pointer", ARRAY: "array", STRUCT: "struct", UNION: "union", ENUM: "enum", ENUM64: "enum", FLOAT: "float"}
LEGEND = ("pointer", "number", "enum", "array", "struct", "union", "bits", "hole")
WORDS = {"bits": "bit-field", "hole": "hole or padding"}

STYLE = """\
svg { background: #fbfbfa; font: 12px system-ui, sans-serif }
text { fill: #1b1b1a; pointer-events: none }
.name { font-weight: 600; font-size: 15px }
.side, .tick { fill: #6b6b66; font-size: 11px }
.side { text-anchor: end }
.part { stroke: #55554f; stroke-width: .8 }
.cells { stroke: #55554f; stroke-opacity: .22; stroke-width: .6 }
.number { fill: #8fc7e8 } .pointer { fill: #f2c879 } .enum { fill: #e9b3d6 } .array { fill: #c8c0ee }
.struct { fill: #8fd3a8 } .union { fill: #b6dc8c } .float { fill: #99d8d3 } .bits { fill: #f0b49a }
.hole { fill: url(#stripes); stroke: #c2410c }
.stripe { stroke: #dc6a3c; stroke-width: 3 }
.ground { fill: #fff4ee }
@media (prefers-color-scheme: dark) {
  svg { background: #191918 }
  text { fill: #f1f1ee }
  .side, .tick { fill: #a5a59e }
  .part { stroke: #a5a59e }
  .cells { stroke: #e5e5e0 }
  .number { fill: #245a78 } .pointer { fill: #75561a } .enum { fill: #733f61 } .array { fill: #4b4380 }
  .struct { fill: #245f3b } .union { fill: #48651f } .float { fill: #1f6660 } .bits { fill: #7b4128 }
  .stripe { stroke: #b4502a }
  .ground { fill: #2a1a13 }
}
"""


@record()
class Part:
    """Bits of a struct: from where to where (not included), whose, and how they are drawn."""

    start: int
    end: int
    name: str
    about: str
    kind: str


def layout_svg(view: View, shower: Shower, ids: list[int], expand: bool, line_size: int = 64) -> bytes:
    """The picture of these structs and unions, one below the other. `expand`: also members of structs with a name;
    `line_size`: bytes of a cache line.
    """
    drawn: list[str] = []
    y = 0
    maker = _Maker(view, shower, expand, line_size)
    blocks = [block for id in ids for block in maker.blocks(id)]  # if there are too many, none is drawn
    for title, parts, size in blocks:
        y = _draw(drawn, y, title, parts, size, line_size)
    width = max(LEFT + line_size * CELL + 20, LEAST_WIDTH)
    drawn.append("".join(_legend(y)))
    text = f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 40}" viewBox="0 0 {width} {y + 40}">
<style>
{STYLE}</style>
<defs><pattern id="stripes" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="ground" width="8" height="8"/><line class="stripe" x1="0" y1="0" x2="0" y2="8"/></pattern></defs>
{"".join(drawn)}</svg>
"""
    return text.encode("utf-8", "backslashreplace")


class _Maker:
    """Makes the parts of structs and unions, and counts them: what refers to each other may multiply without end."""

    def __init__(self, view: View, shower: Shower, expand: bool, line_size: int = 64) -> None:
        self._view, self._shower, self._expand, self._line_size = view, shower, expand, line_size
        self._most = self._left = MAX_ALL_PARTS + len(view.data) // 8
        self._is_cut = False
        self._members: dict[int, list[Member]] = {}
        self._nameless: dict[int, bool] = {}
        self._types: dict[int, str] = {}
        self._unions: dict[int, str] = {}

    def blocks(self, id: int) -> Iterator[tuple[str, list[Part], int]]:
        """A struct by itself; a union member by member, since they lie on each other."""
        sums = self._shower.sums(id)
        size = sums["size"]
        name = _text(self._view.name_of(id)) or "(no name)"
        if self._view.kind(id) == STRUCT:
            holes = f", holes: {_bytes(sums['hole_bytes'])}" if sums["holes"] else ""
            yield self._block(f"struct {name}: {_bytes(size)}{holes}", self._parts(id, 0, 0, ""), size)
            return
        for member in self._shower.members(id):
            parts = self._part(member, 0, 0, "")
            text = f"union {name}, {_text(member[0]) or 'a member without a name'}: {member[5]:,} of {_bytes(size)}"
            yield self._block(text, parts, member[5])

    def _block(self, title: str, parts: list[Part], size: int) -> tuple[str, list[Part], int]:
        self._count(title)
        if self._is_cut:
            title += f", only {len(parts):,} parts are drawn"
            self._is_cut = False
        parts = _with_holes(parts, 8 * size)
        self._spend((1 + len(_lines(parts, self._line_size))) * (1 + self._line_size // PER_PART))
        return title, parts, size

    def _count(self, text: str) -> None:
        """Of one part. Names have any length: long ones are several."""
        self._spend(1 + len(text) // LONG)

    def _spend(self, parts: int) -> None:
        """Raise InputError if there are too many with these."""
        self._left -= parts
        if self._left < 0:
            hint = f"Draw fewer structs{', or without -E' if self._expand else ''}."
            found = "more parts than one picture is made of"
            raise InputError(self._view.name, found, f"at most {self._most:,}", hint)

    def _parts(self, id: int, base: int, depth: int, within: str) -> list[Part]:
        """The parts of a struct. `within`: the name of the member that it is, which is put in front of theirs."""
        found: list[Part] = []
        members = self._members_of(id)
        for at, member in enumerate(members, 1):
            found += self._part(member, base, depth, within)
            if len(found) > MAX_PARTS and at < len(members):
                self._is_cut = True
                break
        return found

    def _part(self, member: Member, base: int, depth: int, within: str) -> list[Part]:
        """What one member is drawn as. `base`: the byte at which the struct begins that it is in."""
        raw, type, offset, bit, bits, size, *_ = member
        start = 8 * (base + offset) + bit
        of = self._shower.behind(type)
        kind = self._view.kind(of) if of else 0
        name = shortened(_text(raw))
        if kind == STRUCT and not bits and depth < MAX_DEPTH and (self._expand or (of == type and self._no_name(of))):
            inner = self._parts(of, base + offset, depth + 1, _joined(within, name))
            if inner:
                return inner
        if kind == UNION and not name:
            name = self._names_in(of)
        end = start + (bits or 8 * size)
        what = f"{self._type_name(type)} {name}".strip()
        place = f"{start // 8}:{start % 8}, {_bits(bits)}" if bits else f"{start // 8:,}, {_bytes(size)}"
        about = f"{what}: {place}"
        self._count(about)
        return [Part(start, end, _joined(within, name), about, "bits" if bits else KINDS.get(kind, "number"))]

    # A type may be that of many members, and have as many itself, or a long name: each is looked at once.

    def _members_of(self, id: int) -> list[Member]:
        """As many as can be drawn, and one more."""
        if id not in self._members:
            self._members[id] = self._shower.members(id)[: MAX_PARTS + 2]
        return self._members[id]

    def _no_name(self, id: int) -> bool:
        if id not in self._nameless:
            self._nameless[id] = not self._view.name_of(id)
        return self._nameless[id]

    def _type_name(self, id: int) -> str:
        if id not in self._types:
            self._types[id] = _text(self._shower.type_name(id)).strip()
        return self._types[id]

    def _names_in(self, id: int) -> str:
        """The first names of a union, which has none itself."""
        if id not in self._unions:
            self._unions[id] = " | ".join(_text(each[0]) or "…" for each in self._members_of(id)[:8])
        return self._unions[id]


def _joined(within: str, name: str) -> str:
    return shortened(f"{within}.{name}") if within and name else within or name


def _with_holes(parts: list[Part], size: int) -> list[Part]:
    """In the order of their bits, with a part for all that nobody uses."""
    found: list[Part] = []
    at = 0
    for part in sorted(parts, key=lambda part: (part.start, part.end)):
        if part.start > at:
            found.append(_hole(at, part.start, "hole"))
        found.append(part)
        at = max(at, part.end)
    if at < size:
        found.append(_hole(at, size, "padding"))
    return found


def _hole(start: int, end: int, what: str) -> Part:
    count = _bytes((end - start) // 8) if (end - start) % 8 == 0 else _bits(end - start)
    return Part(start, end, "", f"{what}: {count}", "hole")


def _draw(drawn: list[str], y: int, title: str, parts: list[Part], size: int, line_size: int) -> int:
    """One block, from `y` on. Returns where the next may begin."""
    drawn.append(f'<text class="name" x="8" y="{y + 24}">{escaped(title)}</text>\n')
    for byte in range(0, line_size, 8):
        drawn.append(f'<text class="tick" x="{LEFT + byte * CELL}" y="{y + 44}">{byte}</text>\n')
    y += TOP
    rows: dict[int, int] = {}
    last = -1
    for line in _lines(parts, line_size):
        if last >= 0 and line > last + 1:
            note = f"{line - last - 1:,} more line{'s' * (line - last > 2)}"
            drawn.append(f'<text class="tick" x="{LEFT + 4}" y="{y + 12}">⋮ {note}</text>\n')
            y += BREAK
        rows[line] = y
        drawn.append(f'<text class="side" x="{LEFT - 8}" y="{y + 19}">{line * line_size:,}</text>\n')
        y += ROW
        last = line
    for part in parts:
        drawn.extend(_boxes(part, rows, line_size))
    for line, top in rows.items():
        cells = min(line_size, size - line * line_size)
        path = "".join(f"M{LEFT + cell * CELL} {top}v{ROW - 4}" for cell in range(1, cells))
        drawn.append(f'<path class="cells" d="{path}"/>\n')
    return y + 16


def _lines(parts: list[Part], line_size: int) -> list[int]:
    """The cache lines that are drawn."""
    lines: set[int] = set()
    for part in parts:
        first, last = part.start // (8 * line_size), max(part.start, part.end - 1) // (8 * line_size)
        lines.update(range(first, min(first + SHOWN, last + 1)))
        lines.add(last)
    return sorted(lines)


def _boxes(part: Part, rows: dict[int, int], line_size: int) -> Iterator[str]:
    """A part in each of the lines that it lies in and that are drawn; its name where there is room first."""
    width = 8 * line_size
    first, last = part.start // width, max(part.start, part.end - 1) // width
    named = False
    for line in sorted({*range(first, min(first + SHOWN, last + 1)), last}):
        start, end = max(part.start, line * width), min(part.end, (line + 1) * width)
        x, wide = LEFT + (start - line * width) * CELL / 8, (end - start) * CELL / 8
        place = f'x="{x:g}" y="{rows[line]}" width="{max(wide, 1):g}" height="{ROW - 4}"'
        yield f'<rect class="part {part.kind}" {place}><title>{escaped(part.about)}</title></rect>\n'
        fit = int((wide - 6) / 6.9)
        if part.name and not named and fit >= min(3, len(part.name)):
            named = True
            name = part.name if len(part.name) <= fit else part.name[: fit - 1] + "…"
            yield f'<text x="{x + 4:g}" y="{rows[line] + 17}">{escaped(name)}</text>\n'


def _legend(y: int) -> Iterator[str]:
    x = LEFT
    for kind in LEGEND:
        word = WORDS.get(kind, kind)
        yield f'<rect class="part {kind}" x="{x}" y="{y + 4}" width="14" height="14"/>'
        yield f'<text x="{x + 20}" y="{y + 16}">{word}</text>\n'
        x += 46 + 7 * len(word)


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


def _bits(count: int) -> str:
    return f"{count} bit{'' if count == 1 else 's'}"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
