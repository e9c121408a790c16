"""What somebody may have meant: names that look like one that does not exist. Only imported when that has happened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import SequenceMatcher

LIKE = 0.7
"""How much of two names has to agree, from 0 to 1."""
EFFORT = 1 << 21
"""Comparing two names costs the product of their lengths; for one unknown name, no more than this is spent."""
MAX_NAMES = 10_000
"""Of a folder, no more names than these are looked at."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'global_var'?)`, or nothing."""
    found = closest(name, list(known))
    return f" (did you mean {found!r}?)" if found else ""


def file_like(path: str) -> str:
    """A sentence that names the file in the same folder whose name is most like this one, or nothing."""
    folder, name = os.path.split(path)  # noqa: PTH206, RUF100 - a text
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_NAMES), strict=False)]
    except (OSError, ValueError):
        return ""
    found = closest(name, names) if name not in names else ""  # a link to nowhere
    return f"Did you mean {os.path.join(folder, found)}?" if found else ""  # noqa: PTH118


def closest(name: str, known: list[str]) -> str:
    """The name that is most like another one; empty if none is. What begins with it counts, if it is the only one."""
    similar = most_like(name, known, 1)
    longer = [each for each in known if len(name) > 2 and each.startswith(name)]
    return similar[0] if similar else longer[0] if len(longer) == 1 else ""


def all_close(name: str, known: list[str]) -> list[str]:
    """The names that begin so, as an abbreviation would; if none does, up to three that are like it."""
    return [each for each in known if each.startswith(name)] or most_like(name, known, 3)


def most_like(name: str, known: Iterable[str], most: int) -> list[str]:
    """Up to `most` names that are like this one, the most similar first, as `difflib.get_close_matches` has them.

    Names are compared in the order of how many letters they have in common, which is quick to count and says how
    similar they can be at most. So the few that count come first, and a file of names that are all alike takes no
    longer.
    """
    near = _by_letters(name, known)
    matcher, spent = SequenceMatcher(), 0
    matcher.set_seq2(name)
    found: list[tuple[float, str]] = []
    for shared in sorted(near, reverse=True):
        if len(found) == most and shared < found[-1][0]:
            break
        for each in sorted(near[shared], reverse=True):
            if spent > EFFORT:
                break
            spent += len(name) * len(each)
            matcher.set_seq1(each)
            if (ratio := matcher.ratio()) >= LIKE:
                found = sorted([*found, (ratio, each)], reverse=True)[:most]
    return [each for _, each in found]


def _by_letters(name: str, known: Iterable[str]) -> dict[float, list[str]]:
    """The names with enough letters of this one, wherever they are, to be like it, by how like they can be at most."""
    letters = [(letter, name.count(letter)) for letter in set(name)]
    found: dict[float, list[str]] = {}
    for each in known:
        both = len(name) + len(each)
        if not both or 2 * min(len(name), len(each)) / both < LIKE:
            continue
        shared = 0
        for letter, most in letters:
            there = each.count(letter)
            shared += there if there < most else most
        if (at_most := 2 * shared / both) >= LIKE:
            found.setdefault(at_most, []).append(each)
    return found
