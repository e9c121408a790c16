"""What a command says if a file that it has mapped is truncated meanwhile: nothing else could be done about it."""

from __future__ import annotations

import os

from pybtf.core.support.sigbus import BusErrorMessage
from pybtf.errors import printable

TRUNCATED = "it was truncated meanwhile, or its disk fails"


def mapped(path: str | None = None, program: str = "pybtf", bar: bool = False) -> BusErrorMessage:
    """A context manager for whatever reads this file, or several. Not to be used within itself. `bar`: standard error
    is a terminal, where a bar may stand that the message has to replace.
    """
    start = "\r\x1b[K" if bar else ""
    what = "a file" if path is None else f"{printable(path)}:"
    return BusErrorMessage(os.fsencode(f"{start}{program}: error: {what} can no longer be read: {TRUNCATED}\n"))
