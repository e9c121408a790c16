"""Which changes somebody wants to see: by kind, by name, and without those of a list."""

from __future__ import annotations

import re
from fnmatch import translate

from pybtf.differences.model import CATEGORIES, CLASSES, classes_of
from pybtf.differences.words import PLURALS
from pybtf.errors import UsageError, quoted, shortened, unknown
from pybtf.inputs import read_bounded
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pybtf.differences.model import Change, Detail

WHAT = ("added", "removed", "changed")
RELOCATION = "relocation"
"""What `--fail-on` knows of objects: a CO-RE relocation that no longer finds anything."""
WILD = frozenset("*?[")
LONGEST = 1000
"""Characters of a pattern: making an expression of one takes time that grows with the square of its length."""
ONLY = {**{plural: (category,) for category, plural in PLURALS.items()}, "kfuncs": ("function",)}
"""What `--only` knows, and the categories that this is."""
_WORDS = {
    **{category: category for category in CATEGORIES},
    "kfunc": "function",
    "declaration": "forward",
    "type": "number",
}


def split_list(texts: Iterable[str], known: Iterable[str], option: str) -> tuple[str, ...]:
    """The words of lists separated by commas. Raises `UsageError` for one that is not known."""
    found = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    known = list(known)
    for word in found:
        if word not in known:
            raise unknown("value", word, known, of=f"--{option}")
    return tuple(found)


def failing(texts: Iterable[str]) -> frozenset[str]:
    """The classes that `--fail-on` names."""
    return frozenset(split_list(texts, (*CLASSES, RELOCATION, "any"), "fail-on"))


class Pattern:
    """`sock`, `struct sock*`, `struct sock.sk_*`, `removed function foo`: names with `*`, `?` and `[...]`.

    The words in front may be left out. What follows a dot is a member, enumerator or parameter, but in the name of a
    section. `of` is the name that is meant, without all that.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            found = f"{quoted(shortened(text))} is not a pattern: {len(text):,} characters"
            raise UsageError(f"{found}; expected at most {LONGEST:,}. An asterisk stands for any part of a name")
        words = text.split()
        self.what = words.pop(0) if len(words) > 1 and words[0] in WHAT else ""
        keyword = words.pop(0) if len(words) > 1 else ""
        if keyword and keyword not in _WORDS:
            raise unknown("word", keyword, (*WHAT, *_WORDS), of=quoted(text))
        if len(words) != 1:
            raise UsageError(f"{quoted(text)} is not a pattern: a name, with the kind in front if it matters")
        self.category = _WORDS.get(keyword, "")
        self.kfunc = keyword == "kfunc"
        self.of, _, path = words[0].partition(".") if self.category != "section" else (words[0], "", "")
        self.name = re.compile(translate(self.of)).match
        self.within = path
        """What follows the dot. `[]` in it is an array, as in the paths of members."""
        self.path = re.compile(translate(path.replace("[]", "[[]]"))).match if path else None
        self._outer = _outer(path)

    def fits(self, change: Change) -> bool:
        """Whether it is about this type, function or variable."""
        if self.what and self.what != change.what:
            return False
        if self.category and (self.category != change.category or self.kfunc > change.kfunc):
            return False
        return self.name(change.name or change.title) is not None

    def fits_path(self, path: str) -> bool:
        return self.path is not None and bool(path) and self.path(path) is not None

    def carried_by(self, detail: Detail, member: str) -> bool:
        """Whether a detail about this member, or all of the type, is one of what the pattern means, too: of what is in
        it, or of what it is called now.
        """
        if self.path is None:
            return False
        if detail.what in ("declared", "defined", "type"):  # of all that is in a type
            return not detail.path
        old, new = detail.old or {}, detail.new or {}
        if detail.path and self.path(new.get("name", "")):
            return True
        return member in self._outer and (detail.what != "changed" or old.get("offset") != new.get("offset"))


def _outer(path: str) -> frozenset[str]:
    """What the member of this path lies in: `x` and `x[].y` of `x[].y.z`. A part with `*` may be anything: no more."""
    found = []
    parts = path.split(".")
    for end in range(1, len(parts)):
        outer = ".".join(parts[:end])
        if set(outer.replace("[]", "")) & WILD:
            break
        while outer.endswith("[]"):
            outer = outer[:-2]
        found.append(outer)
    return frozenset(found)


class Selection:
    """What of the changes is shown, and counts."""

    def __init__(
        self,
        only: Sequence[str] = (),
        names: Sequence[str] = (),
        ignored: Sequence[Pattern] = (),
        classes: frozenset[str] = frozenset(),
    ) -> None:
        """`only`: words of ONLY. `names`, `classes`: a change has to fit one of these, if there are any."""
        self.classes = classes
        self.categories = {category for word in only if word != "kfuncs" for category in ONLY[word]}
        self.kfuncs = "kfuncs" in only
        self.names = [Pattern(text) for text in names]
        self.whole = [pattern for pattern in ignored if pattern.path is None]
        self.parts = [pattern for pattern in ignored if pattern.path is not None]

    def choose(self, changes: Iterable[Change]) -> list[Change]:
        chosen = (self._rest(change) for change in changes if self._wanted(change))
        return [
            change
            for change in chosen
            if change is not None and (not self.classes or not self.classes.isdisjoint(change.classes))
        ]

    def _wanted(self, change: Change) -> bool:
        if self.categories or self.kfuncs:
            kfunc = self.kfuncs and change.kfunc and change.category == "function"
            if change.category not in self.categories and not kfunc:
                return False
        return not self.names or any(pattern.fits(change) for pattern in self.names)

    def _rest(self, change: Change) -> Change | None:
        """What of a change is not to be ignored."""
        if any(pattern.fits(change) for pattern in self.whole):
            return None
        patterns = [pattern for pattern in self.parts if pattern.fits(change)] if self.parts else []
        if patterns:
            change = without_details(change, patterns)
            if change.what == "changed" and not change.details:
                return None
        wanted = [pattern for pattern in self.names if pattern.fits(change)] if change.what == "changed" else []
        if wanted and all(pattern.path is not None for pattern in wanted):
            # What happens to a member happens to all that is in it.
            change = _with(
                change,
                _parts(
                    change.details,
                    lambda detail, path: any(each.fits_path(path) or each.carried_by(detail, path) for each in wanted),
                ),
            )
            return change if change.details else None
        return change


def without_details(change: Change, patterns: Sequence[Pattern]) -> Change:
    """The change without what one of the patterns is about."""
    return _with(
        change, _parts(change.details, lambda detail, path: not any(each.fits_path(path) for each in patterns))
    )


def _parts(details: Iterable[Detail], meant: Callable[[Detail, str], bool]) -> list[Detail]:
    """The details that are meant, by what they say and the path of a member. Of members that shifted together, those
    that are meant.
    """
    kept = []
    for detail in details:
        if detail.what == "shifted" and detail.new is not None:
            members = [name for name in detail.new["members"] if meant(detail, name)]
            if members:
                kept.append(replace(detail, new={**detail.new, "members": members}))
        elif meant(detail, detail.path):
            kept.append(detail)
    return kept


def _with(change: Change, details: list[Detail]) -> Change:
    classes = {each for detail in details for each in classes_of(change.category, detail)}
    if "kfunc" in change.classes and details:
        classes.add("kfunc")
    if change.what != "changed":
        classes |= change.classes
    return replace(change, details=tuple(details), classes=frozenset(classes))


def read_patterns(path: str) -> list[Pattern]:
    """The patterns of a file: one in a line; `#` begins a comment. Raises `UsageError` with the line at fault."""
    try:
        with open(path, "rb") as stream:
            lines = read_bounded(stream).decode("utf-8", "surrogateescape").splitlines()
    except (OSError, ValueError) as error:
        from pybtf.unreadable import unreadable

        raise unreadable(path, error, "a list of patterns") from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            try:
                found.append(Pattern(text))
            except UsageError as error:
                raise UsageError(f"{path}: line {number}: {error}") from None
    return found
