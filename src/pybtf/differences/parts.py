"""What is in a type or function: members, enumerators, parameters."""

from __future__ import annotations

from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC, FUNC_PROTO, STRUCT, TYPEDEF, UNION
from pybtf.core.diff.diff_compare import Comparison
from pybtf.differences.naming import text_of
from pybtf.errors import quoted, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from pybtf.core.btf.type_view import View
    from pybtf.differences.select import Pattern

_COMPOSITE = (STRUCT, UNION)
_WORDS = {STRUCT: "struct", UNION: "union", TYPEDEF: "typedef"}


def parts_of(comparison: Comparison, side: int, id: int) -> set[bytes]:
    """The paths of members, or the names of enumerators or parameters."""
    kind, _, third, _, _ = comparison.head(side, id)
    if kind in _COMPOSITE:
        return {row[0] for row in comparison.fields(side, id)}
    if kind in (ENUM, ENUM64):
        return {row[0] for row in comparison.values(side, id)}
    if kind == FUNC and comparison.head(side, third)[0] == FUNC_PROTO:
        return {name for name, _ in comparison.prototype(side, third)[1]}
    return set()


def missing(old: View, new: View, pattern: Pattern, kinds: Collection[int] | None) -> tuple[str, str] | None:
    """If none of the types that a pattern names on either side has what it names in them: what that would be, `member`,
    `enumerator` or `parameter`, and a hint, perhaps empty. `kinds`: those that its keyword means; None: all.
    """
    comparison = Comparison(old, new)
    ids = [
        (side, _nameless_behind(comparison, side, id))
        for side, view in enumerate((old, new))
        for id in view.find(pattern.of.encode("utf-8", "surrogateescape"))
        if kinds is None or view.kind(id) in kinds
    ]
    names = {text_of(part) for side, id in ids for part in parts_of(comparison, side, id)}
    if pattern.path is None or any(pattern.path(each) for each in names):
        return None
    found = {comparison.head(side, id)[0] for side, id in ids}
    noun = "enumerator" if found <= {ENUM, ENUM64} else "parameter" if found == {FUNC} else "member"
    return noun, _type_of_outer(comparison, ids, pattern.within) or _like(pattern.within, names)


def _nameless_behind(comparison: Comparison, side: int, id: int) -> int:
    """What a typedef stands for, if that has no name: its parts are called by the name of the typedef."""
    kind, _, third, _, _ = comparison.head(side, id)
    return third if kind == TYPEDEF and third and not comparison.head(side, third)[1] else id


def _type_of_outer(comparison: Comparison, ids: list[tuple[int, int]], path: str) -> str:
    """A sentence about the type of a member that has a name: its members go by that. Else nothing."""
    parts = path.split(".")
    for side, id in ids:
        if comparison.head(side, id)[0] not in _COMPOSITE:
            continue
        types = {text_of(row[0]): row[5] for row in comparison.fields(side, id)}
        for end in range(len(parts) - 1, 0, -1):
            outer = ".".join(parts[:end])
            kind, name, *_ = comparison.head(side, types[outer]) if types.get(outer) else (0, b"")
            if kind in _WORDS and name:
                inner, rest = f"{_WORDS[kind]} {shortened(text_of(name))}", ".".join(parts[end:])
                return f"{outer} is of {inner}: --name {quoted(f'{inner}.{rest}')}"
    return ""


def _like(path: str, names: set[str]) -> str:
    from pybtf.support.suggest import most_like

    close = most_like(path, names, 3)
    return f"Nearest: {', '.join(close)}" if close else ""
