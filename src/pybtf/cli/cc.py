"""`pybtf cc -- COMMAND...`: a compiler that leaves values for BTF in what it compiles.

The command runs as it is, with this program's standard streams, in the environment that this program was given. If it
succeeds, and it was asked for an object file, that gets values; otherwise nothing is done, and the exit status is the
command's. A signal that ends this program ends the command first: a build that is told to stop deletes what was to be
made, and no compiler may be left that makes it afterwards. Until the values are there, the object is removed as well.
"""

from __future__ import annotations

import errno
import os
import stat

from pybtf.cli import console
from pybtf.cli.object import PLACING, placing
from pybtf.elf.atomic import suppressed
from pybtf.errors import UsageError
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import system_reason

if TYPE_CHECKING:
    import signal as signals
    from collections.abc import Callable
    from types import FrameType

    Handler = Callable[[int, FrameType | None], None] | int
else:
    import _signal as signals  # `signal` imports `enum`, which takes a tenth of the start

OPTIONS = PLACING
# All that end a program that does not catch them, and that people and batch systems send. An interrupt is none of them.
PASSED_ON = (
    signals.SIGTERM, signals.SIGHUP, signals.SIGQUIT, signals.SIGUSR1, signals.SIGUSR2, signals.SIGALRM, signals.SIGXCPU
)  # fmt: skip
# Python ignores these, and who is started would inherit that.
IGNORED = (signals.SIGPIPE, signals.SIGXFSZ)
_MAGIC_SIZE = 4


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
    from pybtf.features import Features
    from pybtf.merging.compiling import objects_of

    wanted = Features.parse(*features)
    with _Command() as command:
        try:
            command.start(files)
        except OSError as error:
            console.error(f"{files[0]}: cannot be run: {system_reason(error)}")
            return 127 if isinstance(error, FileNotFoundError) else 126
        # While the compiler works, what will be needed is found and imported.
        left = objects_of(files)
        if left:
            from pybtf.elf.mapped import mapped
            from pybtf.merging.encoding import encode_compiled
        status = command.wait()
        if status:
            command.failed(status)
            return status if status > 0 else 128 - status
        try:
            command.ended()
            while left:
                with mapped(left[0]):
                    encode_compiled(left[0], wanted, how)
                del left[0]
        except BaseException:
            for each in left:
                _remove(each)
            raise
    return 0


class _Stopped(SystemExit):
    """A signal has come that ends this program."""


class _Command:
    """The compiler, and what is made of its work. As a context manager: signals that end this program end the
    compiler first. Those that come before `ended` wait until then, and raise there; those that come later raise at
    once: `_Stopped`, or for SIGINT `KeyboardInterrupt`. The program then ends by the signal: a shell that runs it in a
    loop takes a plain status for that of a program which has dealt with Ctrl-C, and goes on.
    """

    def __init__(self) -> None:
        self._child = 0
        self._stopped = 0
        self._raises = False
        self._ends = False
        handlers: dict[int, Handler] = {**dict.fromkeys(PASSED_ON, self._pass_on), signals.SIGINT: self._remember}
        # What is ignored stays so: nohup has SIGHUP ignored, a shell what it runs in the background SIGINT.
        standard = (signals.SIG_DFL, signals.default_int_handler)
        before = {number: signals.getsignal(number) for number in handlers}
        self._before = {number: handler for number, handler in before.items() if handler in standard}
        self._handlers: dict[int, Handler] = {number: handlers[number] for number in self._before}
        if signals.getsignal(signals.SIGCHLD) == signals.SIG_IGN:  # with that inherited, nobody knows how it ends
            self._before[signals.SIGCHLD] = signals.SIG_IGN
            self._handlers[signals.SIGCHLD] = signals.SIG_DFL

    def __enter__(self) -> _Command:
        for number, handler in self._handlers.items():
            signals.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        self._raises = False
        for number, before in self._before.items():
            signals.signal(number, before)
        if self._stopped == signals.SIGINT:
            if not self._ends:
                return
            signals.signal(signals.SIGINT, signals.SIG_DFL)
        if self._stopped:
            os.kill(os.getpid(), self._stopped)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if self._child:
            os.kill(self._child, number)
        self._remember(number, frame)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        """The compiler is not told of an interrupt: from a terminal, it gets one of its own."""
        self._stopped = number
        if self._raises:
            self._raises = False  # what the first one leads to is not to be disturbed
            self._raise()

    def _raise(self) -> None:
        self._ends = True
        raise KeyboardInterrupt if self._stopped == signals.SIGINT else _Stopped(128 + self._stopped)

    def start(self, files: tuple[str, ...]) -> None:
        """Raises `OSError`."""
        environment = _environment()
        try:
            self._child = os.posix_spawnp(files[0], files, environment, setsigdef=IGNORED)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script that names no interpreter: make, shells and execvp have it run by sh.
            from shutil import which

            words = ("sh", which(files[0]) or files[0], *files[1:])
            self._child = os.posix_spawn("/bin/sh", words, environment, setsigdef=IGNORED)
        if self._stopped in PASSED_ON:
            os.kill(self._child, self._stopped)

    def wait(self) -> int:
        """Its exit status, negative if a signal has ended it."""
        os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
        child, self._child = self._child, 0  # signals are no longer passed on: another may have its number soon
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def failed(self, status: int) -> None:
        """To be called with the status of a compiler that has made nothing. One that does not end by an interrupt has
        a status that counts, as in shells.
        """
        self._ends = status == -signals.SIGINT

    def ended(self) -> None:
        """To be called when the compiler has ended, where what it has made can be removed."""
        self._raises = True
        if self._stopped:
            self._raises = False
            self._raise()


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
    link that leads to the object. Where the folder cannot be written, the object is cut to its magic number, which no
    linker takes (of an empty file, GNU ld and lld say nothing), and becomes so old that it is made again.
    """
    with suppressed(OSError):
        if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            path = os.path.realpath(path)
            try:
                os.unlink(path)  # noqa: PTH108
            except OSError:
                os.truncate(path, _MAGIC_SIZE)
                os.utime(path, (0, 0))
