"""The end of a process, without taking the interpreter apart, which takes longer than encoding some modules does."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, TextIO


def leave(status: int) -> NoReturn:
    """End the process with this exit status, at once.

    All files are closed by now, and nothing is left to others at the exit. Python's development mode (-X dev), which
    looks for what was not, gets the long way.
    """
    for stream in (sys.stdout, sys.stderr):
        # What could not be written has become a message and a status already.
        try:
            stream.flush()
        except OSError:
            _discard(stream)
        except (AttributeError, ValueError):
            continue
    if sys.flags.dev_mode:
        sys.exit(status)
    os._exit(status)


def _discard(stream: TextIO) -> None:
    """What is left in a stream goes nowhere: flushed again at the exit, it would change the status to 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
