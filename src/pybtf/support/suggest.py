"""What somebody may have meant: names that look like one that does not exist. Only imported when that has happened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches

LIKE = 0.7
"""How much of two names has to agree, from 0 to 1."""
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
    similar = get_close_matches(name, known, 1, LIKE)
    longer = [each for each in known if len(name) > 2 and each.startswith(name)]
    return similar[0] if similar else longer[0] if len(longer) == 1 else ""


def all_close(name: str, known: list[str]) -> list[str]:
    """The names that begin so, as an abbreviation would; if none does, up to three that are like it."""
    return [each for each in known if each.startswith(name)] or get_close_matches(name, known, 3, LIKE)
