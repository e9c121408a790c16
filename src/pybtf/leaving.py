"""The end of a process, without taking the interpreter apart, which takes longer than encoding some modules does."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End the process with this exit status, at once.

    All files are closed by now, and nothing is left to others at the exit. Python's development mode (-X dev), which
    looks for what was not, gets the long way.
    """
    if sys.flags.dev_mode:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        # What could not be written has become a message and a status already.
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    os._exit(status)
