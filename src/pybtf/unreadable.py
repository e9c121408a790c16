"""What is said of a file that cannot be opened or read, by all commands in the same words. Only imported when that has
happened.
"""

from __future__ import annotations

import errno
import os

from pybtf.errors import InputError, shortened
from pybtf.support.process import system_reason

_PIPED = "Standard input cannot take its place, since it can be read only once."


def not_regular(path: str, expected: str, *, pipe: bool) -> InputError:
    """The error of a device, a socket or a pipe where only a file will do."""
    hint = "A pipe can be read only once: write it to a file, which may be compressed." if pipe else ""
    return InputError(path, "is not a regular file", expected, hint)


def unreadable(path: str, error: OSError | ValueError, expected: str) -> InputError:
    """The error of a file that was to be `expected`; of one that is not there, with what may have been meant."""
    if "\0" in path:  # Python's words for it differ by version
        return InputError(shortened(path), "cannot be opened: a null byte in its name")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # the contents of a file, perhaps
        return InputError(shortened(path), "cannot be opened: its name is too long")
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):  # noqa: PTH114 - pathlib takes long to import
            return InputError(path, "is a symbolic link to a file that does not exist")
        from pybtf.support.suggest import file_like

        return InputError(path, "no such file", hint=_PIPED if path == "-" else file_like(path))
    if isinstance(error, PermissionError):
        return InputError(path, "no permission to read it")
    if isinstance(error, IsADirectoryError):
        return InputError(path, "is a folder", expected)
    if isinstance(error, NotADirectoryError):
        return InputError(path, "no such file: a part of this path is not a folder")
    reason = system_reason(error) if isinstance(error, OSError) else str(error)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return InputError(path, f"cannot be read: {reason}")
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        reason = "it is closed"
    return InputError(path, f"cannot be read: {reason}", expected)
