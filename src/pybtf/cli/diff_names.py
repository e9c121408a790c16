"""Names and members given to `pybtf diff --name` that neither side has."""

from __future__ import annotations

from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC
from pybtf.cli import console
from pybtf.errors import InputError, quoted, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.btf.type_view import View
    from pybtf.core.diff.diff_compare import Comparison
    from pybtf.differences.select import Pattern, Selection


def require_names(views: tuple[View, View], texts: tuple[str, ...], selection: Selection, gate: bool) -> None:
    """Tell of each --name that neither side has. For `gate`, which such a name would pass, it is an error."""
    if not texts:
        return
    from pybtf.cli.choice import KEYWORDS, nearest
    from pybtf.differences.select import WILD

    known = {each.decode("utf-8", "surrogateescape") for view in views for each in view.names()}
    for text, pattern in zip(texts, selection.names, strict=True):
        plain = not set(pattern.of) & WILD
        kinds: set[str] = set()
        if any(pattern.name(each) for each in known):
            kinds = _words_for(views, pattern.of) if plain and pattern.category in KEYWORDS else set()
            if not kinds or pattern.category in kinds:
                if plain and pattern.path is not None:
                    _require_member(views, text, pattern, gate)
                continue
            hint = f"There is {' and '.join(f'{kind} {pattern.of}' for kind in sorted(kinds))}."
        else:
            hint = nearest(views[0], pattern.of)
        if gate and plain:
            found = f"nothing is called {quoted(text)}, nor in {views[1].name}"
            raise InputError(views[0].name, found, "a name of one of them", hint)
        console.note(f"--name {quoted(text)}: neither file has such a name. {hint}".rstrip())


def _words_for(views: tuple[View, View], name: str) -> set[str]:
    """What kinds of types have this name on one side, as patterns call them."""
    from pybtf.cli.choice import SHOWN, word_of

    kinds = {view.kind(id) for view in views for id in view.find(name.encode("utf-8", "surrogateescape"))}
    return {word_of(kind) for kind in kinds if kind in SHOWN}


def _require_member(views: tuple[View, View], text: str, pattern: Pattern, gate: bool) -> None:
    """The same for a member, enumerator or parameter of types that are there."""
    from pybtf.cli.choice import KEYWORDS
    from pybtf.core.diff.diff_compare import Comparison
    from pybtf.differences.naming import text_of
    from pybtf.differences.parts import nameless_behind, parts_of
    from pybtf.differences.select import WILD

    comparison = Comparison(*views)
    name = pattern.of.encode("utf-8", "surrogateescape")
    wanted = KEYWORDS.get(pattern.category)
    ids = [
        (side, nameless_behind(comparison, side, id))
        for side, view in enumerate(views)
        for id in view.find(name)
        if wanted is None or view.kind(id) in wanted
    ]
    names = {text_of(part) for side, id in ids for part in parts_of(comparison, side, id)}
    assert pattern.path is not None
    if any(pattern.path(each) for each in names):
        return
    kinds = {views[side].kind(id) for side, id in ids}
    noun = "enumerator" if kinds <= {ENUM, ENUM64} else "parameter" if kinds == {FUNC} else "member"
    hint = _type_of_outer(comparison, ids, pattern.within) or _like(pattern.within, names)
    if gate and not set(pattern.within.replace("[]", "")) & WILD:
        found = f"{pattern.of} has no {noun} {quoted(pattern.within)}, nor in {views[1].name}"
        raise InputError(views[0].name, found, f"{'an' if noun == 'enumerator' else 'a'} {noun} of one of them", hint)
    console.note(f"--name {quoted(text)}: {shortened(pattern.of)} has no such {noun} in either file. {hint}".rstrip())


def _type_of_outer(comparison: Comparison, ids: list[tuple[int, int]], path: str) -> str:
    """A sentence about the type of a member that has a name: its members go by that. Else nothing."""
    from pybtf.btf.kind_numbers import STRUCT, TYPEDEF, UNION
    from pybtf.cli.choice import word_of
    from pybtf.differences.naming import text_of

    parts = path.split(".")
    for side, id in ids:
        if comparison.head(side, id)[0] not in (STRUCT, UNION):
            continue
        types = {text_of(row[0]): row[5] for row in comparison.fields(side, id)}
        for end in range(len(parts) - 1, 0, -1):
            outer = ".".join(parts[:end])
            kind, name, *_ = comparison.head(side, types[outer]) if types.get(outer) else (0, b"")
            if kind in (STRUCT, UNION, TYPEDEF) and name:
                inner, rest = f"{word_of(kind)} {shortened(text_of(name))}", ".".join(parts[end:])
                return f"{outer} is of {inner}: --name {quoted(f'{inner}.{rest}')}"
    return ""


def _like(path: str, names: set[str]) -> str:
    from pybtf.support.suggest import most_like

    close = most_like(path, names, 3)
    return f"Nearest: {', '.join(close)}" if close else ""
