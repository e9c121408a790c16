"""`pybtf cc -- COMMAND...`: a compiler that leaves values for BTF in what it compiles.

The command runs as it is, with this program's standard streams. If it succeeds, and it was asked for an object file,
that gets values; otherwise nothing is done, and the exit status is the command's.
"""

from __future__ import annotations

import os
import stat

from ..elf.atomic import suppressed
from ..errors import UsageError
from . import console
from .object import PLACING, placing

OPTIONS = PLACING


def cc(
    files: tuple[str, ...],
    strip_dwarf: bool,
    inline: bool,
    store: str | None,
    section: str | None,
    features: tuple[str, ...],
) -> int:
    """The command, after its options have been read; `files` is the command to run. The exit status."""
    if not files:
        raise UsageError("no command is given: pybtf cc [OPTIONS] -- gcc ARGUMENTS...")
    how = placing(strip_dwarf, inline, store, section)
    from ..features import Features
    from ..merging.compiling import objects_of

    wanted = Features.parse(*features)
    try:
        child = os.posix_spawnp(files[0], files, os.environ)
    except OSError as error:
        console.error(f"{files[0]}: cannot be run: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    # While the compiler works, what will be needed is found and imported.
    objects = objects_of(files)
    if objects:
        from ..merging.encoding import encode_compiled
    status = os.waitstatus_to_exitcode(_wait(child))
    if status:
        return status if status > 0 else 128 - status
    for number, path in enumerate(objects):
        try:
            encode_compiled(path, wanted, how)
        except BaseException:
            for each in objects[number:]:
                _remove(each)
            raise
    return 0


def _wait(child: int) -> int:
    """The status of the compiler. An interrupt reaches it as well; it ends first."""
    while True:
        try:
            return os.waitpid(child, 0)[1]
        except KeyboardInterrupt:
            continue


def _remove(path: str) -> None:
    """An object without values is not what was asked for; no build may go on with it. A device stays."""
    with suppressed(OSError):
        if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            os.unlink(path)  # noqa: PTH108
