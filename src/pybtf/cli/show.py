"""`pybtf show`: one type as people read it, with pahole's words."""

from __future__ import annotations

import os
import sys

from pybtf.btf.kind_numbers import STRUCT, UNION
from pybtf.cli.arguments import FLAG, PATH, TEXT, Option, number_of, stdin_once
from pybtf.errors import InputError, UsageError, quoted
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import printing
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pybtf.cli.sources import Sources
    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_types import Shower

CACHELINE = 64
"""Bytes of a cache line, on most machines."""
MOST = (1 << 32) - 1
"""Holes, or bytes of padding, that can be asked for."""
LARGEST_LINE = 4096
"""Bytes of a cache line that can be drawn."""

OPTIONS = (
    Option("base", PATH, "FILE"),
    Option("expand-types", FLAG, letter="E"),
    Option("expand-pointers", FLAG, letter="p"),
    Option("relative", FLAG, letter="r"),
    Option("no-comments", FLAG),
    Option("hex", FLAG),
    Option("cacheline", TEXT, "BYTES", "c"),
    Option("reorganize", FLAG, letter="R"),
    Option("steps", FLAG, letter="S"),
    Option("packable", FLAG, letter="P"),
    Option("sizes", FLAG, letter="s"),
    Option("sort", FLAG),
    Option("json", FLAG),
    Option("svg", PATH, "OUT"),
    Option("holes", TEXT, "N", "H"),
    Option("bit-holes", TEXT, "N", "B"),
    Option("padding", TEXT, "N"),
    Option("packed", FLAG),
    Option("contains", TEXT, "NAME"),
    Option("find-pointers-to", TEXT, "NAME"),
    Option("contains-enumerator", TEXT, "NAME"),
    Option("with-flexible-array", FLAG),
    Option("with-embedded-flexible-array", FLAG),
    Option("provenance", PATH, "FILE"),
)
TEXT_OPTIONS = ("expand-types", "expand-pointers", "relative", "no-comments", "hex", "cacheline")
"""How types are printed."""
SELECTING = ("holes", "bit-holes", "padding", "packed", "with-flexible-array", "with-embedded-flexible-array")
"""Which structs are."""
APART = (
    (("sizes",), ("json", "packable", "svg")),
    (("json",), ("packable", "svg")),
    (("packable",), ("svg",)),
    ((*TEXT_OPTIONS, "reorganize"), ("sizes", "json", "packable")),
    (("expand-pointers", "relative", "no-comments", "hex", "reorganize"), ("svg",)),
    (("contains",), ("find-pointers-to",)),
    (("contains-enumerator",), ("contains", "find-pointers-to", "sizes", "packable", "svg", "reorganize", *SELECTING)),
    (
        ("contains", "find-pointers-to"),
        ("sizes", "packable", "svg", "sort", "reorganize", "steps", "provenance", *TEXT_OPTIONS, *SELECTING),
    ),
    (("provenance",), ("packable", "reorganize", "svg")),
)
"""Options, and those that none of them goes with."""
LISTED = frozenset(("base", "sort", "provenance"))
"""With none but these, and without names, types are listed."""


@record(frozen=True)
class Selection:
    """Which structs: at least so many holes and bytes of padding, packed, and where arrays without a size are."""

    holes: int = 0
    bit_holes: int = 0
    padding: int = 0
    packed: bool = False
    flexible: bool = False
    embedded: bool = False

    def __bool__(self) -> bool:
        return self != Selection()

    def takes(self, sums: dict[str, int]) -> bool:
        return (
            sums["holes"] >= self.holes
            and sums["bit_holes"] >= self.bit_holes
            and sums["padding"] >= self.padding
            and bool(sums["packed"] or not self.packed)
            and bool(sums["flexible_array"] or not self.flexible)
            and (bool(sums["embeds_flexible_array"]) or not self.embedded)
        )


@record(frozen=True)
class Asked:
    """The command line of one run."""

    files: tuple[str, ...]
    base: str | None
    expand_types: bool
    expand_pointers: bool
    relative: bool
    no_comments: bool
    hex: bool
    cacheline: str | None
    reorganize: bool
    steps: bool
    packable: bool
    sizes: bool
    sort: bool
    json: bool
    svg: str | None
    holes: str | None
    bit_holes: str | None
    padding: str | None
    packed: bool
    contains: str | None
    find_pointers_to: str | None
    contains_enumerator: str | None
    with_flexible_array: bool
    with_embedded_flexible_array: bool
    provenance: str | None

    @property
    def names(self) -> list[str]:
        return [*self.files[:-1]]

    @property
    def given(self) -> set[str]:
        """The names of the options that are given."""
        return {each.name for each in OPTIONS if getattr(self, each.parameter) not in (None, False)}


def show(files: tuple[str, ...], **given: Any) -> int:
    """The command, after its options have been read. The exit status."""
    asked = Asked(files, **given)
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf show --help")
    file, names = files[-1], asked.names
    stdin_once((file, asked.base))
    selection = _selection(asked)
    _require_together(asked)
    line_size = _line_size(asked.cacheline, drawn=asked.svg is not None)
    if asked.svg is not None:
        from pybtf.cli.output import opened, spared

        spared("--svg", asked.svg, opened(file, asked.base, asked.svg))
    from pybtf.cli.choice import composites_called, require_file_last, require_whole_names
    from pybtf.cli.reading import open_view
    from pybtf.cli.sources import Sources
    from pybtf.core.show.show_types import Shower

    require_whole_names(names)
    require_file_last("show", names, file)
    view = open_view(file, asked.base)
    shower = Shower(
        view, asked.hex, asked.expand_types, asked.expand_pointers, asked.no_comments, asked.relative,
        line_size=line_size
    )  # fmt: skip
    sources = Sources(view, asked.provenance)
    with printing() as put:
        if asked.contains is not None or asked.find_pointers_to is not None:
            wanted = composites_called(view, shower, str(asked.contains or asked.find_pointers_to))
            found = shower.users(wanted, asked.contains is None)
            put(_json_of_users(view, found) if asked.json else _users(view, found, asked.contains is None))
        else:
            ids = _ids(view, shower, asked, selection)
            if asked.svg is not None:
                _draw(view, shower, ids, asked.expand_types, line_size, asked.svg)
            else:
                put(_printed(view, shower, ids, asked, sources, line_size))
    return 0


def _require_together(asked: Asked) -> None:
    """Raise UsageError for options that do not go together."""
    given = asked.given
    for options, others in APART:
        for option in options:
            for other in others:
                if option in given and other in given:
                    raise UsageError(f"--{option} and --{other} do not go together")
    if asked.svg is not None and not asked.names:
        raise UsageError("--svg draws what is named, and nothing is")
    if asked.steps and not asked.reorganize:
        raise UsageError("--steps goes with --reorganize")
    if asked.names and (asked.contains is not None or asked.find_pointers_to is not None):
        raise UsageError("--contains and --find-pointers-to look at all types; name none")
    if asked.names and asked.contains_enumerator is not None:
        raise UsageError("--contains-enumerator looks at all types; name none")


def _selection(asked: Asked) -> Selection | None:
    """Which structs are asked for; None if that is not said."""
    selection = Selection(
        _number("holes", asked.holes), _number("bit-holes", asked.bit_holes), _number("padding", asked.padding),
        asked.packed, asked.with_flexible_array, asked.with_embedded_flexible_array
    )  # fmt: skip
    return selection if asked.given.intersection(SELECTING) else None


def _ids(view: View, shower: Shower, asked: Asked, selection: Selection | None) -> list[int]:
    """The types that are asked for, in the order in which they are shown."""
    if asked.contains_enumerator is not None:
        ids = _enumerations(view, shower, asked.contains_enumerator)
    else:
        ids = _chosen(view, shower, asked.names, selection is not None)
    if selection is not None:
        ids = [id for id in ids if view.kind(id) == STRUCT and selection.takes(shower.sums(id))]
    if asked.sort:
        ids.sort(key=view.name_of)
    return ids


def _printed(view: View, shower: Shower, ids: list[int], asked: Asked, sources: Sources, line_size: int) -> bytes:
    """What is printed of these types."""
    if asked.packable:
        return b"".join(packable_lines(view, shower, ids))
    if asked.reorganize:
        return _texts([reorganized(view, shower, id, asked.steps, line_size) for id in ids])
    if asked.json:
        return _json(view, shower, ids, sources)
    if asked.sizes:
        composites = [id for id in ids if view.kind(id) in (STRUCT, UNION)]
        return b"".join(sources.column(line_of_sizes(view, shower, id), id) for id in composites)
    if asked.names or asked.given - LISTED:
        # With an empty line after each, as pahole has it.
        return _texts([sources.comment(id) + shower.text(id) + b"\n" for id in ids])
    return b"".join(sources.column(_line(view, id), id) for id in ids)


def _number(name: str, text: str | None) -> int:
    return 0 if text is None else number_of(name, text, MOST)


def _line_size(text: str | None, *, drawn: bool) -> int:
    """Bytes of a cache line."""
    if text is None:
        return CACHELINE
    return number_of("cacheline", text, LARGEST_LINE if drawn else MOST, least=1)


def _chosen(view: View, shower: Shower, names: list[str], structs: bool) -> list[int]:
    """The ids of what was named, or of all structs and unions; `structs`: of these only."""
    if not names:
        return shower.composites()
    from pybtf.cli.choice import chosen, require_layout

    ids = chosen(view, names)
    require_layout(view, ids)
    return [id for id in ids if view.kind(id) in (STRUCT, UNION)] if structs else ids


def _enumerations(view: View, shower: Shower, enumerator: str) -> list[int]:
    ids = shower.enumerations_with(enumerator.encode("utf-8", "surrogateescape"))
    if not ids:
        raise InputError(view.name, f"no enumerator is called {quoted(enumerator)}", "the name of one, spelt out")
    return ids


def _line(view: View, id: int) -> bytes:
    """A line of the list of all structs and unions."""
    return b"%s %s\n" % (b"struct" if view.kind(id) == STRUCT else b"union", view.name_of(id))


def line_of_sizes(view: View, shower: Shower, id: int) -> bytes:
    sums = shower.sums(id)
    return b"%s\t%d\t%d\n" % (view.name_of(id), sums["size"], sums["holes"])


def _users(view: View, found: list[tuple[int, bytes]], members: bool) -> bytes:
    """Which structs have one of another, or which of their members points to one."""
    if members:
        return b"".join(b"%s: %s\n" % (view.name_of(id), member) for id, member in found)
    return b"".join(b"%s\n" % view.name_of(id) for id in dict.fromkeys(id for id, _ in found))


def _json_of_users(view: View, found: list[tuple[int, bytes]]) -> bytes:
    """An array, with an object for each struct, and which of its members these are."""
    from json import dumps

    from pybtf.cli.choice import word_of

    members: dict[int, list[str]] = {}
    for id, member in found:
        members.setdefault(id, []).append(_text(member))
    rows = [
        {"id": id, "name": _text(view.name_of(id)), "kind": word_of(view.kind(id)), "members": each}
        for id, each in members.items()
    ]
    return f"{dumps(rows, indent=2)}\n".encode()


def _draw(view: View, shower: Shower, ids: list[int], expand: bool, line_size: int, out: str) -> None:
    """Write the picture of structs and unions; typedefs are drawn as what they stand for."""
    from pybtf.cli.output import draw
    from pybtf.pictures.layout_svg import layout_svg

    ids = [of for of in map(shower.behind, ids) if of and view.kind(of) in (STRUCT, UNION)]
    if not ids:
        raise InputError(view.name, "none of these is a struct or union", "one, to be drawn")
    draw(out, layout_svg(view, shower, list(dict.fromkeys(ids)), expand, line_size))


def packable_lines(view: View, shower: Shower, ids: Iterable[int], separator: bytes = b"\t") -> Iterator[bytes]:
    """Of each struct with holes, of bytes or of bits, that -R makes smaller: name, both sizes, and what is saved."""
    for id in ids:
        sums = shower.sums(id) if view.kind(id) == STRUCT else {}
        if sums and (sums["holes"] or sums["bit_holes"]):
            size, smaller = sums["size"], shower.packable(id)
            if smaller < size:
                numbers = (b"%d" % number for number in (size, smaller, size - smaller))
                yield separator.join((view.name_of(id) or b"(null)", *numbers)) + b"\n"


def reorganized(view: View, shower: Shower, id: int, steps: bool, line_size: int, moves_too: bool = False) -> bytes:
    """A struct with its members in another order, and what that saves; all else as it is. `steps`: with the struct
    after each move; `moves_too`: with the moves, in words.
    """
    if view.kind(id) != STRUCT:
        return shower.text(id)
    before = shower.sums(id)["size"]
    text, after, moves = shower.reorganized(id, steps or moves_too, steps)
    parts = []
    for moved, source, to, padding, now in moves:
        parts.append(b"/* Moving '%s' from after '%s' to after '%s' */\n" % (moved, source, to))
        if padding:
            parts.append(b"/* adding %d bytes from %s to the padding */\n" % (padding, moved))
        if steps:
            parts.append(now[:-2] + b"\n")
    if after != before and (steps or moves_too):
        parts.append(b"\n/* Final reorganized struct: */\n" if steps else b"\n")
    parts.append(text)
    if after != before:
        # As pahole counts those that are added.
        lines = (_lines(before, line_size) - _lines(after, line_size)) % (1 << 64)
        lines_too = b" and %d cacheline%s" % (lines, b"" if lines == 1 else b"s") if lines else b""
        saved = before - after
        parts[-1] = text[:-1]
        parts.append(b"   /* saved %d byte%s%s! */\n" % (saved, b"" if saved == 1 else b"s", lines_too))
    return b"".join(parts)


def _lines(size: int, line_size: int) -> int:
    return -(-size // line_size)


def _texts(texts: list[bytes]) -> bytes:
    """All of them, in colours if a terminal gets them."""
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    text = b"".join(texts)
    return _coloured(text) if colours else text


def _coloured(text: bytes) -> bytes:
    """Comments step back, holes and padding come forward."""
    import re

    text = re.sub(rb"/\* (?:XXX|padding:|bit_padding:) [^*]*\*/", b"\x1b[33m\\g<0>\x1b[0m", text)
    return re.sub(rb"(?<!m)/\*[^*]*\*/", b"\x1b[2m\\g<0>\x1b[0m", text)


def _json(view: View, shower: Shower, ids: list[int], sources: Sources) -> bytes:
    """An array, with an object for each type. Structs and unions have their members, others their text."""
    from json import dumps

    from pybtf.cli.choice import word_of

    rows: list[str] = []  # as texts, which take a fifth of the memory
    for id in ids:
        kind = view.kind(id)
        row: dict[str, object] = {"id": id, "name": _text(view.name_of(id)), "kind": word_of(kind)}
        if kind in (STRUCT, UNION):
            row |= shower.sums(id)
            row["members"] = [_member(shower, *member) for member in shower.members(id)]
        else:
            row["text"] = _text(shower.text(id)).rstrip("\n")
        if sources.known:
            row["source"] = sources.row(id)
        rows.append(dumps([row], indent=2)[1:-2])
    return f"[{','.join(rows)}{chr(10) if rows else ''}]\n".encode()


def _member(
    shower: Shower, name: bytes, type: int, offset: int, bit: int, bits: int, size: int, hole: int, bit_hole: int
) -> dict[str, object]:
    row: dict[str, object] = {"name": _text(name), "type_id": type, "type": _text(shower.type_name(type)).strip()}
    row |= {"offset": offset, "size": size}
    if bits:
        row |= {"bit": bit, "bits": bits}
    if hole:
        row["hole_before"] = hole
    if bit_hole:
        row["bit_hole_before"] = bit_hole
    return row


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
