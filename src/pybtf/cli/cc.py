"""`pybtf cc -- COMMAND...`: a compiler that leaves values for BTF in what it compiles.

The command runs as it is, with this program's standard streams, in the environment that this program was given. If it
succeeds, and it was asked for an object file, that gets values; otherwise nothing is done, and the exit status is the
command's. A signal that ends this program ends the command first: a build that is told to stop deletes what was to be
made, and no compiler may be left that makes it afterwards.
"""

from __future__ import annotations

import os
import stat

from ..elf.atomic import suppressed
from ..errors import UsageError
from . import console
from .object import PLACING, placing

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
    from types import FrameType
else:
    import _signal as signals  # `signal` imports `enum`, which takes a tenth of the start

OPTIONS = PLACING
PASSED_ON = (signals.SIGTERM, signals.SIGHUP)
# Python ignores these, and who is started would inherit that.
IGNORED = (signals.SIGPIPE, signals.SIGXFSZ)


def cc(
    files: tuple[str, ...],
    strip_dwarf: bool,
    inline: bool,
    store: str | None,
    section: str | None,
    features: tuple[str, ...],
) -> int:
    """The command, after its options have been read; `files` is the command to run. The exit status."""
    if not files or not files[0]:
        raise UsageError("no command is given: pybtf cc [OPTIONS] -- gcc ARGUMENTS...")
    how = placing(strip_dwarf, inline, store, section)
    from ..features import Features
    from ..merging.compiling import objects_of

    wanted = Features.parse(*features)
    with _Command() as command:
        try:
            command.start(files)
        except OSError as error:
            console.error(f"{files[0]}: cannot be run: {error.strerror}")
            return 127 if isinstance(error, FileNotFoundError) else 126
        # While the compiler works, what will be needed is found and imported.
        objects = objects_of(files)
        if objects:
            from ..elf.mapped import mapped
            from ..merging.encoding import encode_compiled
        status = command.wait()
        if command.stopped and status == 0:  # it was quicker than the signal
            for each in objects:
                _remove(each)
    if status:
        return status if status > 0 else 128 - status
    for number, path in enumerate(objects):
        try:
            with mapped(path):
                encode_compiled(path, wanted, how)
        except BaseException:
            for each in objects[number:]:
                _remove(each)
            raise
    return 0


class _Command:
    """The compiler. As a context manager: signals that end this program reach the compiler, and end both.

    `stopped`: the signal that did, or 0.
    """

    def __init__(self) -> None:
        self._child = 0
        self.stopped = 0
        self._before = {number: signals.getsignal(number) for number in PASSED_ON}

    def __enter__(self) -> _Command:
        for number, before in self._before.items():
            if before == signals.SIG_DFL:  # nohup has it ignored
                signals.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signals.signal(number, before)
        if self.stopped:
            os.kill(os.getpid(), self.stopped)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self.stopped = number
        if self._child:
            os.kill(self._child, number)

    def start(self, files: tuple[str, ...]) -> None:
        """Raises `OSError`."""
        self._child = os.posix_spawnp(files[0], files, _environment(), setsigdef=IGNORED)
        if self.stopped:
            os.kill(self._child, self.stopped)

    def wait(self) -> int:
        """Its exit status, negative if a signal has ended it. An interrupt reaches it as well; it ends first."""
        while True:
            try:
                status = os.waitpid(self._child, 0)[1]
            except KeyboardInterrupt:
                continue
            self._child = 0
            return os.waitstatus_to_exitcode(status)


def _environment() -> dict[str, str]:
    """That of this process as it was given. Python may have added LC_CTYPE (PEP 538), which changes a compiler's
    messages, and what ccache looks for.
    """
    given = dict(os.environ)
    if "LC_CTYPE" in given:
        with suppressed(OSError), open("/proc/self/environ", "rb") as file:
            if not any(each.startswith(b"LC_CTYPE=") for each in file.read().split(b"\0")):
                del given["LC_CTYPE"]
    return given


def _remove(path: str) -> None:
    """An object without values is not what was asked for; no build may go on with it. A device stays, and so does a
    link that leads to the object.
    """
    with suppressed(OSError):
        if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            os.unlink(os.path.realpath(path))  # noqa: PTH108
