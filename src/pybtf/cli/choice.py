"""Types by what people call them: names, patterns, and what is near a name that is not there."""

# ruff: noqa: PTH113
# To import pathlib takes longer than to find a type.

from __future__ import annotations

import os

from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC, FWD, KIND_NAMES, STRUCT, TYPEDEF, UNION, VAR
from pybtf.errors import InputError, UsageError, quoted, unknown
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_types import Shower

SHOWN = (STRUCT, UNION, ENUM, ENUM64, TYPEDEF, FUNC, VAR)
KEYWORDS = {
    "struct": (STRUCT,),
    "union": (UNION,),
    "enum": (ENUM, ENUM64),
    "typedef": (TYPEDEF,),
    "function": (FUNC,),
    "variable": (VAR,),
}
_COMPOSITE = ("struct", "union", "typedef")
"""Those of what may be a struct or union."""
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


def word_of(kind: int) -> str:
    """The keyword of one of the kinds `SHOWN`; `forward` of what is only declared, as `pybtf diff` calls it."""
    return next((word for word, kinds in KEYWORDS.items() if kind in kinds), "forward")


def require_file_last(command: str, names: Sequence[str], file: str) -> None:
    """Raise `UsageError` if the FILE stands in front of the names, and `InputError` if there is none."""
    if file == "-" or os.path.lexists(file):
        return
    if names and os.path.isfile(names[0]):
        from shlex import join

        right = join([*names[1:], file, names[0]])
        raise UsageError(f"{file}: no such file. FILE comes last: pybtf {command} {right}")
    if "/" in file or "." in file:
        return
    from pybtf.support.suggest import file_like

    if not file_like(file):
        what = "a pattern" if _WILD & set(file) else "a name"
        hint = f"If it is {what}, FILE is missing: pybtf {command} {file} FILE."
        raise InputError(file, "no such file", "a file as the last argument", hint)


def require_whole_names(names: Sequence[str]) -> None:
    """Raise `UsageError` for a keyword that stands apart from its name."""
    for name, following in zip(names, (*names[1:], "NAME"), strict=False):
        if name in ("struct", "union", "enum", "typedef"):
            words = f"'{name} {following}'"
            raise UsageError(f"{name} needs a name; write both as one argument: {words}")


def require_layout(view: View, ids: Iterable[int]) -> None:
    """Raise `InputError` for an id of what has no layout of its own, such as a pointer or an integer."""
    for id in ids:
        if view.kind(id) not in (*SHOWN, FWD):
            raise _no_layout(view, f"type {id}", id)


def _no_layout(view: View, what: str, id: int) -> InputError:
    kind = KIND_NAMES[view.kind(id)]
    return InputError(
        view.name,
        f"{what} is of the kind {kind}",
        "a struct, union, enum, typedef, function or variable",
        f"pybtf dump --format raw --root {id} FILE prints it.",
    )


def _by_name(view: View, wanted: str, shown: Collection[int]) -> list[int]:
    keyword, _, name = wanted.rpartition(" ")
    if keyword and view.find(wanted.encode("utf-8", "surrogateescape")):  # `long unsigned int`, and names of Rust
        keyword, name = "", wanted
    if keyword and keyword not in KEYWORDS:
        raise unknown("word", keyword, KEYWORDS, of=quoted(wanted))
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
        others = [] if keyword else _named(view, name)
        if others:
            raise _no_layout(view, repr(wanted), others[0])
        near = nearest(view, name, kinds)
        raise InputError(view.name, f"no type is called {quoted(wanted)}", "the name of a type", near)
    return found


def composites_called(view: View, shower: Shower, wanted: str) -> list[int]:
    """The ids of the structs and unions of this name, or behind typedefs of it, with those that are only declared. A
    keyword may be in front. Raises `InputError` if there is none.
    """
    keyword, _, name = wanted.rpartition(" ")
    if keyword and (keyword not in _COMPOSITE or view.find(wanted.encode("utf-8", "surrogateescape"))):  # of Rust
        keyword, name = "", wanted
    kinds = (*KEYWORDS[keyword], FWD) if keyword else None
    found = [id for id in view.find(name.encode("utf-8", "surrogateescape")) if kinds is None or view.kind(id) in kinds]
    if not found:
        near = nearest(view, name, kinds or (STRUCT, UNION, TYPEDEF))
        raise InputError(view.name, f"no type is called {quoted(wanted)}", "the name of a struct or union", near)
    ids: dict[int, None] = {}
    for id in found:
        of = shower.behind(id)
        if of and view.kind(of) in (STRUCT, UNION, FWD):
            same = view.find(view.name_of(of)) if of != id else []
            ids |= dict.fromkeys([of, *(each for each in same if view.kind(each) in (view.kind(of), FWD))])
    if not ids:
        raise InputError(view.name, f"{quoted(wanted)} is neither a struct nor a union", "the name of one")
    return list(ids)


def _named(view: View, name: str) -> list[int]:
    if not _WILD & set(name):
        return view.find(name.encode("utf-8", "surrogateescape"))
    from fnmatch import fnmatchcase

    names = [view.name_of(id).decode("utf-8", "surrogateescape") for id in range(1, len(view))]
    matching = {each for each in set(names) if each and fnmatchcase(each, name)}
    found = [(each, id) for id, each in enumerate(names, 1) if each in matching]
    return [id for _, id in sorted(found)]


def nearest(view: View, name: str, kinds: Collection[int] = SHOWN) -> str:
    """A sentence with names of these kinds that look like this one, or nothing."""
    from pybtf.support.suggest import most_like

    shown = {view.name_of(id) for id in range(1, len(view)) if view.kind(id) in kinds}
    names = {each.decode("utf-8", "replace") for each in shown if each}
    close = most_like(name, {each for each in names if abs(len(each) - len(name)) < 4}, 3)
    if name and not close:
        close = sorted((each for each in names if name.lower() in each.lower()), key=lambda each: (len(each), each))[:3]
    return f"Nearest: {', '.join(close)}" if close else ""
