"""Where types are from (`--provenance`), as texts of one line."""

from __future__ import annotations

from .console import printable

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..btf.provenance import Source


def place(source: Source | None) -> str:
    """`include/net/sock.h:361`, or the unit, or nothing."""
    return "" if source is None else _clean(source.place)


def with_unit(source: Source | None) -> str:
    """`include/net/sock.h:361 in the unit net/core/sock.c`, or nothing."""
    return "" if source is None else _clean(source.text)


def described(source: Source | None) -> str:
    """The same, and how often it is defined."""
    if source is None or not source.text:
        return ""
    times = ""
    if source.definitions > 1 or (source.definitions == 0 and source.declarations > 1):
        what, count = ("defined", source.definitions) if source.definitions else ("declared", source.declarations)
        times = f", {what} {count:,} times"
    return _clean(source.text) + times


def _clean(text: str) -> str:
    return printable(text).encode("utf-8", "backslashreplace").decode()
