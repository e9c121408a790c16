"""`pybtf dump`: BTF as text, with bpftool's words."""

from __future__ import annotations

import sys

from ..btf.kind_numbers import ARRAY, DECL_TAG, ENUM, ENUM64, FUNC, FWD, PTR, STRUCT, TYPE_TAG, UNION, VAR
from ..errors import InputError, UsageError
from .arguments import FLAG, PATH, TEXT, TEXTS, Option

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.btf.type_view import View

FORMATS = ("c", "raw", "json")
OPTIONS = (
    Option("format", TEXT, "c|raw|json"),
    Option("unsorted", FLAG),
    Option("pretty", FLAG),
    Option("root", TEXTS, "NAME|ID"),
    Option("base", PATH, "FILE"),
)

_KEYWORDS = {"struct": (STRUCT,), "union": (UNION,), "enum": (ENUM, ENUM64)}


def dump(
    files: tuple[str, ...], format: str | None, unsorted: bool, pretty: bool, root: tuple[str, ...], base: str | None
) -> int:
    """The command, after its options have been read. The exit status."""
    format = format or "c"
    if format not in FORMATS:
        raise UsageError(f"--format: nothing is called {format!r}; there are {', '.join(FORMATS)}")
    if unsorted and format != "c":
        raise UsageError("--unsorted goes with --format c; the others follow the BTF")
    if pretty and format != "json":
        raise UsageError("--pretty goes with --format json")
    if len(files) != 1:
        raise UsageError("missing argument 'FILE'; see pybtf dump --help" if not files else "one FILE at a time")
    if files[0] == base == "-":
        raise UsageError("FILE and --base cannot both be standard input")
    from ..btf.opening import open_view

    view = open_view(files[0], base)
    chosen = _chosen(view, root, format == "c")
    try:
        if format == "c":
            from ..core.dump.dump_header import dump_header

            sys.stdout.buffer.write(dump_header(view, chosen, not unsorted))
        else:
            from ..core.dump.dump_types import dump_types

            dump_types(view, sys.stdout.buffer.write, chosen, format == "json", pretty)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        from .faults import forget_stdout

        forget_stdout()  # as `head` does: the reader has seen enough
    return 0


def _chosen(view: View, roots: tuple[str, ...], declare: bool) -> list[int]:
    """The ids of what was asked for, each once; none if nothing was. `declare`: what declarations need."""
    ids: dict[int, None] = {}
    for root in roots:
        if root.isascii() and root.isdecimal():
            if len(root) > 10 or not 0 < int(root) < len(view):
                raise InputError(view.name, f"no type has the id {root}", f"1 to {len(view) - 1}")
            ids[int(root)] = None
        else:
            ids |= dict.fromkeys(_by_name(view, root, declare))
    return list(ids)


def _by_name(view: View, root: str, declare: bool) -> list[int]:
    keyword, _, name = root.rpartition(" ")
    if keyword and keyword not in _KEYWORDS:
        raise UsageError(f"--root {root!r}: {keyword!r} is neither struct nor union nor enum")
    found = [(id, view.kind(id)) for id in view.find(name.encode("utf-8", "surrogateescape"))]
    found = [(id, kind) for id, kind in found if kind not in (PTR, ARRAY, DECL_TAG, TYPE_TAG)]
    if keyword:
        found = [(id, kind) for id, kind in found if kind in _KEYWORDS[keyword]]
    defined = [(id, kind) for id, kind in found if kind != FWD]
    if not found:
        raise InputError(view.name, f"no type is called {root!r}", "the name of a type", _nearest(view, name))
    chosen = defined or found
    return [view.target(id) if declare and kind in (FUNC, VAR) else id for id, kind in chosen]


def _nearest(view: View, name: str) -> str:
    from difflib import get_close_matches

    names = {each.decode("utf-8", "replace") for each in view.names()}
    close = get_close_matches(name, {each for each in names if abs(len(each) - len(name)) < 4}, 3, 0.7)
    if not close:
        close = sorted((each for each in names if name.lower() in each.lower()), key=len)[:3]
    return f"Nearest: {', '.join(close)}" if close else ""
