"""What is in a type or function: members, enumerators, parameters."""

from __future__ import annotations

from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC, FUNC_PROTO, STRUCT, TYPEDEF, UNION
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.diff.diff_compare import Comparison

_COMPOSITE = (STRUCT, UNION)


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


def nameless_behind(comparison: Comparison, side: int, id: int) -> int:
    """What a typedef stands for, if that has no name: its parts are called by the name of the typedef."""
    kind, _, third, _, _ = comparison.head(side, id)
    return third if kind == TYPEDEF and third and not comparison.head(side, third)[1] else id
