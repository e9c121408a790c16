"""Writing to people: standard error, in colour on a terminal, with nothing hostile passed through.

Names in messages come from the input and may hold anything, escape sequences of a terminal too; whatever is
not printable is shown escaped.
"""

from __future__ import annotations

import os
import sys

from pybtf import errors

BOLD = "1"
RED = "1;31"
YELLOW = "1;33"


def is_terminal() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def styled(text: str, style: str) -> str:
    """`text` in a style, if standard error is a terminal and NO_COLOR is not set (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or not is_terminal():
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def printable(text: str) -> str:
    """`text` with everything that is not printable, line ends excepted, as an escape."""
    return "\n".join(map(errors.printable, text.split("\n")))


def unicode_ok() -> bool:
    """Whether standard error can show more than ASCII.

    In the locale C, Python writes UTF-8 all the same: it does as in C.UTF-8, or sets LC_CTYPE to that in place of an
    LC_CTYPE or LANG that is C or missing.
    """
    if not (getattr(sys.stderr, "encoding", "") or "").lower().startswith("utf"):
        return False
    names = [os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    if not names[0] and names[1] == "C.UTF-8":
        names[1] = None
    return next(filter(None, names), "C") not in ("C", "POSIX")


def say(text: str) -> None:
    """Print a line for people as it is. A standard error that is closed or full is not a reason to fail."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def error(text: str, program: str = "pybtf") -> None:
    """An error is one line, whatever is in the names it mentions; so are the others below."""
    say(f"{program}: {styled('error:', RED)} {errors.printable(text)}")


def note(text: str) -> None:
    """Nothing is wrong, but it may not be what was meant."""
    say(f"pybtf: note: {errors.printable(text)}")


def warning(text: str, program: str = "pybtf") -> None:
    say(f"{program}: {styled('warning:', YELLOW)} {errors.printable(text)}")


def lost(text: str) -> None:
    """Something is not in the BTF as it is in the DWARF, as was allowed."""
    say(f"pybtf: {styled('lost:', YELLOW)} {errors.printable(text)}")
