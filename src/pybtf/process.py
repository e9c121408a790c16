"""The beginning and the end of a process."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

STDOUT = "standard output"
"""What messages call it."""


def open_closed_streams() -> None:
    """See to it that descriptors 0 to 2 are open, and that there are objects for them.

    Where one is closed, the next file that is opened gets its number, and what is meant for people ends up in that; and
    Python has no object for it. Standard error is opened where it swallows everything, the others where reading and
    writing fail, for whoever reads or prints something there must learn that it did not work.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            _open(number)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, errors="backslashreplace", closefd=False))  # noqa: SIM115


def _open(number: int) -> None:
    """Opens something as this descriptor, the lowest one that is free."""
    try:
        os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)
    except OSError:  # a chroot without devices
        os.open("/", os.O_RDONLY)


def write_stdout(text: str) -> None:
    """Print the text and what is not written yet; if that fails, the error says where."""
    try:
        if text:  # to write nothing is an error, too, where nothing can be written
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        error.filename = STDOUT
        raise


def leave(status: int) -> NoReturn:
    """End the process with this exit status, at once: taking the interpreter apart takes longer than some modules do.

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
