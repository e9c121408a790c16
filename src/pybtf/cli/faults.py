"""From whatever went wrong to one message and an exit status."""

from __future__ import annotations

import errno
import os

from pybtf.cli import console
from pybtf.errors import InternalError, PybtfError, one_line
from pybtf.support.process import STDOUT, forget_stdout, system_reason

FAILED = 1
BUG = InternalError.exit_code
INTERRUPTED = 130

TRACEBACK_VARIABLE = "PYBTF_TRACEBACK"
"""If set, the traceback is printed in front of every message."""

MEMORY = "not enough memory"
_LITTLE = 4 << 20
"""Bytes that are there unless there is no memory."""


def report_fault(error: BaseException) -> int:
    """Print the message for `error` and return the exit status."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if found := trace(error):
        console.say(found)
    if is_of_stdout(error):
        forget_stdout()
    text, status = explain(error)
    console.error(text)
    return status


def report_one(error: Exception, path: str) -> int:
    """Print the message for what went wrong with one file of several, and return the exit status it deserves."""
    if found := trace(error):
        console.say(found)
    text, status = explain(error)
    console.error(named(text, path))
    return status


def named(text: str, path: str) -> str:
    """A message that says which file it is about."""
    return text if path in text or one_line(path) in text else f"{path}: {text}"


def is_of_stdout(error: BaseException) -> bool:
    """Whether standard output may be what failed."""
    return isinstance(error, OSError) and error.filename in (None, STDOUT)


def trace(error: BaseException) -> str:
    """The traceback, if that is asked for, else nothing."""
    if not os.environ.get(TRACEBACK_VARIABLE):
        return ""
    import traceback

    return "".join(traceback.format_exception(error)).rstrip("\n")


def explain(error: BaseException, jobs: int = 1) -> tuple[str, int]:
    """The message for `error` and the exit status it deserves; `jobs` were at work side by side."""
    if isinstance(error, InternalError):
        return bug(str(error)), BUG
    if isinstance(error, PybtfError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, MemoryError):
        return short_of_memory(error, jobs), FAILED
    if isinstance(error, BrokenPipeError):
        return "standard output: the reader at the other end is gone", FAILED
    if isinstance(error, OSError):
        return _system(error), FAILED
    if isinstance(error, ImportError):
        return str(error), FAILED
    if _is_without_memory():
        return short_of_memory(MemoryError(), jobs), FAILED
    return bug(f"{type(error).__name__}: {error}{_where(error)}"), BUG


def short_of_memory(error: MemoryError, jobs: int = 1, place: str = "") -> str:
    """The message, which says what `place` was being read if the error does not."""
    what = str(error)
    if MEMORY not in what:  # a library's own words, or none
        what = f"{place}: {MEMORY}" if place else MEMORY
    return f"{what}; fewer jobs (-j) need less" if jobs > 1 and "ulimit" not in what else what


def _is_without_memory() -> bool:
    """Whether there is no memory. What the interpreter raises then may be anything: an import ends with a `SystemError`
    without an exception, and compiling with a `ValueError`.
    """
    try:
        bytearray(_LITTLE)
    except MemoryError:
        return True
    return False


def _system(error: OSError) -> str:
    what = system_reason(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        # Which file was to be opened then does not matter: it may be a part of this program.
        return what
    if error.filename is None:
        return f"the working folder: {what}" if error.errno == errno.ENOENT and _is_nowhere() else what
    if error.filename == STDOUT:
        from pybtf.elf.atomic import not_written

        return not_written("/dev/stdout", error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
    return f"{name}: {what}"


def _is_nowhere() -> bool:
    """Whether the working folder has been removed. To resolve a path in it fails then, and the error names none."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib takes long to import
    except FileNotFoundError:
        return True
    return False


def bug(what: str) -> str:
    """The message for what should never happen."""
    return (
        f"internal error: {what}. This is a bug in pybtf, please report it; {TRACEBACK_VARIABLE}=1 shows more"
    )


def _where(error: BaseException) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return ""
    return f" ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})"  # noqa: PTH119
