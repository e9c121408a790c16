"""`pybtf show`: one type as people read it, with pahole's words."""

from __future__ import annotations

import os
import sys

from ..btf.kind_numbers import STRUCT, UNION
from ..errors import UsageError
from .arguments import FLAG, PATH, TEXT, Option

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..btf.provenance import Provenance
    from ..core.btf.type_view import View
    from ..core.show.show_types import Shower

OPTIONS = (
    Option("base", PATH, "FILE"),
    Option("hex", FLAG),
    Option("sizes", FLAG),
    Option("sort", FLAG),
    Option("json", FLAG),
    Option("holes", TEXT, "N", "H"),
    Option("contains", TEXT, "NAME"),
    Option("find-pointers-to", TEXT, "NAME"),
    Option("with-flexible-array", FLAG),
    Option("with-embedded-flexible-array", FLAG),
    Option("provenance", PATH, "FILE"),
)


def show(
    files: tuple[str, ...], base: str | None, hex: bool, sizes: bool, sort: bool, json: bool, holes: str | None,
    contains: str | None, find_pointers_to: str | None, with_flexible_array: bool, with_embedded_flexible_array: bool,
    provenance: str | None
) -> int:  # fmt: skip
    """The command, after its options have been read. The exit status."""
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf show --help")
    *names, file = files
    if file == base == "-":
        raise UsageError("FILE and --base cannot both be standard input")
    if holes is not None and not (holes.isascii() and holes.isdecimal() and len(holes) < 6):
        raise UsageError(f"--holes takes a number, and {holes!r} is none")
    if sum((hex, sizes, json)) > 1:
        raise UsageError("--hex, --sizes and --json do not go together")
    if names and (contains is not None or find_pointers_to is not None):
        raise UsageError("--contains and --find-pointers-to look at all types; name none")
    if provenance is not None and (contains is not None or find_pointers_to is not None):
        raise UsageError("--provenance is about types that are shown, not with --contains and --find-pointers-to")
    from ..btf.opening import open_view
    from ..core.show.show_types import Shower

    view = open_view(file, base)
    shower = Shower(view, hex)
    sources = _Sources(view, provenance)
    write = sys.stdout.buffer.write
    try:
        if contains is not None or find_pointers_to is not None:
            write(_users(view, shower, contains, find_pointers_to))
        else:
            selecting = holes is not None or with_flexible_array or with_embedded_flexible_array
            ids = _chosen(view, shower, names, selecting)
            if selecting:
                ids = [
                    id for id in ids
                    if view.kind(id) == STRUCT
                    and _selected(shower.sums(id), holes, with_flexible_array, with_embedded_flexible_array)
                ]  # fmt: skip
            if sort:
                ids.sort(key=view.name_of)
            if json:
                _write_json(view, shower, ids, sources)
            elif sizes:
                lines = [
                    (id, _line_of_sizes(view, shower, id)) for id in ids if view.kind(id) in (STRUCT, UNION)
                ]
                write(b"".join(line + sources.column(id) for id, line in lines))
            elif names or selecting:
                _write_texts(shower, ids, sources)
            else:
                write(b"".join(_line(view, id) + sources.column(id) for id in ids))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        from .faults import forget_stdout

        forget_stdout()  # as `head` does: the reader has seen enough
    return 0


class _Sources:
    """What --provenance says of types, in the forms in which it is printed: nothing, without."""

    def __init__(self, view: View, path: str | None) -> None:
        self.known: Provenance | None = None
        if path is not None:
            from ..btf.provenance import Provenance

            self.known = Provenance(path, view.data, view.name)

    def column(self, id: int) -> bytes:
        """What ends a line."""
        from .sources import place

        return b"\n" if self.known is None else b"\t%s\n" % place(self.known.type(id)).encode()

    def comment(self, id: int) -> bytes:
        """The line above a type."""
        from .sources import described

        text = "" if self.known is None else described(self.known.type(id))
        return b"/* %s */\n" % text.replace("*/", "* /").encode() if text else b""

    def row(self, id: int) -> object:
        found = None if self.known is None else self.known.type(id)
        return None if found is None else found.to_dict()


def _chosen(view: View, shower: Shower, names: list[str], structs: bool) -> list[int]:
    """The ids of what was named, or of all structs and unions; `structs`: of these only."""
    if not names:
        return shower.composites()
    from .choice import chosen

    ids = chosen(view, names)
    return [id for id in ids if view.kind(id) in (STRUCT, UNION)] if structs else ids


def _selected(sums: dict[str, int], holes: str | None, flexible: bool, embedded: bool) -> bool:
    if holes is not None and sums["holes"] < int(holes):
        return False
    if flexible and not sums["flexible_array"]:
        return False
    return not embedded or sums["embedded_flexible_arrays"] > 0


def _line(view: View, id: int) -> bytes:
    """A line of the list of all structs and unions."""
    return b"%s %s" % (b"struct" if view.kind(id) == STRUCT else b"union", view.name_of(id))


def _line_of_sizes(view: View, shower: Shower, id: int) -> bytes:
    sums = shower.sums(id)
    return b"%s\t%d\t%d" % (view.name_of(id), sums["size"], sums["holes"])


def _users(view: View, shower: Shower, contains: str | None, pointers: str | None) -> bytes:
    """Which structs have one of another, or which of their members points to one."""
    if contains is not None:
        users = shower.users(contains.encode("utf-8", "surrogateescape"), False)
        return b"".join(b"%s\n" % view.name_of(id) for id in dict.fromkeys(id for id, _ in users))
    assert pointers is not None
    users = shower.users(pointers.encode("utf-8", "surrogateescape"), True)
    return b"".join(b"%s: %s\n" % (view.name_of(id), member) for id, member in users)


def _write_texts(shower: Shower, ids: list[int], sources: _Sources) -> None:
    """As pahole does, with an empty line behind each."""
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    text = b"".join(sources.comment(id) + shower.text(id) + b"\n" for id in ids)
    sys.stdout.buffer.write(_coloured(text) if colours else text)


def _coloured(text: bytes) -> bytes:
    """Comments step back, holes and padding come forward."""
    import re

    text = re.sub(rb"/\* (?:XXX|padding:|bit_padding:) [^*]*\*/", b"\x1b[33m\\g<0>\x1b[0m", text)
    return re.sub(rb"(?<!m)/\*[^*]*\*/", b"\x1b[2m\\g<0>\x1b[0m", text)


def _write_json(view: View, shower: Shower, ids: list[int], sources: _Sources) -> None:
    """An array, with an object for each type. Structs and unions have their members, others their text."""
    from json import dumps

    rows = []
    for id in ids:
        row: dict[str, object] = {"id": id, "name": _text(view.name_of(id))}
        kind = view.kind(id)
        if kind in (STRUCT, UNION):
            row |= {"kind": "struct" if kind == STRUCT else "union", **shower.sums(id)}
            row["members"] = [_member(shower, *member) for member in shower.members(id)]
        else:
            row["text"] = _text(shower.text(id)).rstrip("\n")
        if sources.known:
            row["source"] = sources.row(id)
        rows.append(row)
    sys.stdout.buffer.write(dumps(rows, indent=2).encode() + b"\n")


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
