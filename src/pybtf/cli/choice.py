"""Types by what people call them: names, patterns, and what is near a name that is not there."""

from __future__ import annotations

from ..btf.kind_numbers import ENUM, ENUM64, FUNC, FWD, STRUCT, TYPEDEF, UNION, VAR
from ..errors import InputError, UsageError

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..core.btf.type_view import View

SHOWN = (STRUCT, UNION, ENUM, ENUM64, TYPEDEF, FUNC, VAR)
KEYWORDS = {
    "struct": (STRUCT,),
    "union": (UNION,),
    "enum": (ENUM, ENUM64),
    "typedef": (TYPEDEF,),
    "function": (FUNC,),
    "variable": (VAR,),
}
_WILD = frozenset("*?[")


def chosen(view: View, wanted: Iterable[str], shown: Collection[int] = SHOWN) -> list[int]:
    """The ids of the types that are called so, each once, in the order in which they are wanted.

    A name may be a pattern or an id, and have a keyword in front of it. `shown` are the kinds that a name alone may
    mean; what is only declared counts if nothing else is called so.
    """
    ids: dict[int, None] = {}
    for name in wanted:
        ids |= dict.fromkeys(_by_name(view, name, shown))
    return list(ids)


def _by_name(view: View, wanted: str, shown: Collection[int]) -> list[int]:
    keyword, _, name = wanted.rpartition(" ")
    if keyword and keyword not in KEYWORDS:
        raise UsageError(f"{wanted!r}: {keyword!r} is none of {', '.join(KEYWORDS)}")
    kinds = KEYWORDS[keyword] if keyword else shown
    if name.isascii() and name.isdecimal() and not keyword:
        if len(name) > 10 or not 0 < int(name) < len(view):
            raise InputError(view.name, f"no type has the id {name}", f"1 to {len(view) - 1}")
        return [int(name)]
    found = [id for id in _named(view, name) if view.kind(id) in kinds]
    if not found:
        declared = keyword in ("", "struct", "union")
        found = [id for id in _named(view, name) if declared and view.kind(id) == FWD]
    if not found:
        raise InputError(view.name, f"no type is called {wanted!r}", "the name of a type", nearest(view, name))
    return found


def require_composite(view: View, name: str) -> None:
    """There has to be a struct or union of this name, if only declared."""
    found = {view.kind(id) for id in view.find(name.encode("utf-8", "surrogateescape"))}
    if not found:
        raise InputError(view.name, f"no type is called {name!r}", "the name of a struct or union", nearest(view, name))
    if not found & {STRUCT, UNION, FWD}:
        raise InputError(view.name, f"{name!r} is neither a struct nor a union", "the name of one")


def _named(view: View, name: str) -> list[int]:
    if not _WILD & set(name):
        return view.find(name.encode("utf-8", "surrogateescape"))
    from fnmatch import fnmatchcase

    names = [view.name_of(id).decode("utf-8", "surrogateescape") for id in range(1, len(view))]
    matching = {each for each in set(names) if each and fnmatchcase(each, name)}
    found = [(each, id) for id, each in enumerate(names, 1) if each in matching]
    return [id for _, id in sorted(found)]


def nearest(view: View, name: str) -> str:
    """A sentence with names that look like this one, or nothing."""
    from difflib import get_close_matches

    names = {each.decode("utf-8", "replace") for each in view.names()}
    close = get_close_matches(name, {each for each in names if abs(len(each) - len(name)) < 4}, 3, 0.7)
    if not close:
        close = sorted((each for each in names if name.lower() in each.lower()), key=len)[:3]
    return f"Nearest: {', '.join(close)}" if close else ""
