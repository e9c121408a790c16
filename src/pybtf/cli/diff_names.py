"""Names and members given to `pybtf diff --name` that neither side has."""

from __future__ import annotations

from pybtf.cli import console
from pybtf.errors import InputError, quoted, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.btf.type_view import View
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
    from pybtf.differences.parts import missing
    from pybtf.differences.select import WILD

    lack = missing(*views, pattern, KEYWORDS.get(pattern.category))
    if lack is None:
        return
    noun, hint = lack
    if gate and not set(pattern.within.replace("[]", "")) & WILD:
        found = f"{pattern.of} has no {noun} {quoted(pattern.within)}, nor in {views[1].name}"
        raise InputError(views[0].name, found, f"{'an' if noun == 'enumerator' else 'a'} {noun} of one of them", hint)
    console.note(f"--name {quoted(text)}: {shortened(pattern.of)} has no such {noun} in either file. {hint}".rstrip())
