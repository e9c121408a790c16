"""The beginning and the end of a process."""

from __future__ import annotations

import os
import sys

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TextIO

STDOUT = "standard output"
"""What messages call it."""
_program = False
"""Whether this process is an installed command, which ends with `leave`."""
_kept: list[object] | None = None
"""See `last_work`."""


def run(main: Callable[[], int], program: str) -> NoReturn:
    """All of an installed command of this name: `main` in a process of its own, which ends with its status."""
    global _program
    if "PYTHONHOME" in os.environ or "PYTHONPATH" in os.environ:
        from pybtf.support.isolation import isolate

        isolate()
    open_closed_streams()
    _program = True
    try:
        status = main()
    except (MemoryError, SystemError) as error:  # `main` catches all; without memory, Python 3.11 may fail at that
        status = without_memory(error, program)
    leave(status)


def guarded(work: Callable[[], int], program: str, report: Callable[[BaseException], int]) -> int:
    """The exit status of `work`, or, if anything goes wrong, that of `report`, which prints one message about it. Never
    raises.
    """
    try:
        status = work()
        write_stdout("")
        return status
    except BaseException as error:
        try:
            return report(error)
        except (MemoryError, SystemError):
            return without_memory(error, program)


def last_work() -> None:
    """Say that this process ends after what follows: then the memory it takes is not given back bit by bit before. That
    is 3 % of a merge of a kernel, and cannot be measured where DWARF is encoded. Nothing happens unless this is an
    installed command.
    """
    global _kept
    if _program:
        _kept = []


def keep(owner: object) -> None:
    """Hold an owner of much memory until the end of the process, if that is near: freeing it would take time."""
    if _kept is not None:
        _kept.append(owner)


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


class printing:
    """A block that prints, with what it is entered as. A reader that is gone ends the block, as `head` does when it has
    seen enough, and that is not an error; the exit status is what it would be. Other errors say where they are.
    """

    def __enter__(self) -> Callable[[str | bytes], None]:
        return self._put

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        try:
            if error is None:
                self._flush()
        except BrokenPipeError as flushing:
            error = flushing
        if not (isinstance(error, BrokenPipeError) and error.filename is STDOUT):
            return False
        forget_stdout()
        return True

    def _put(self, what: str | bytes) -> None:
        if not what:  # to write nothing is an error, too, where nothing can be written
            return
        try:
            if isinstance(what, bytes):
                sys.stdout.buffer.write(what)
            else:
                code = getattr(sys.stdout, "encoding", None) or "utf-8"
                sys.stdout.write(what.encode(code, "backslashreplace").decode(code))
        except OSError as error:
            error.filename = STDOUT
            raise

    def _flush(self) -> None:
        try:
            sys.stdout.flush()
        except OSError as error:
            error.filename = STDOUT
            raise


def write_stdout(text: str | bytes) -> None:
    """Print the text and what is not written yet; see `printing`."""
    with printing() as put:
        put(text)


def without_memory(error: BaseException, program: str) -> int:
    """Say so of a program that has not even the memory to find out what to say of `error`. The exit status."""
    error.__traceback__ = error.__cause__ = error.__context__ = None  # which hold what it was about
    line = f"{program}: error: not enough memory\n"
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except (OSError, ValueError):  # closed
        pass
    return 1


def system_reason(error: OSError) -> str:
    """What the system says, and where a limit of open files is met, what to do."""
    import errno

    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (ulimit -n)"
    return error.strerror or str(error)


def leave(status: int) -> NoReturn:
    """End the process with this exit status, at once: taking the interpreter apart takes longer than some modules do.

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


def forget_stdout() -> None:
    """Nobody reads standard output any longer: what is left of it goes nowhere, also at the exit."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    """What is left in a stream goes nowhere: flushed again at the exit, it would change the status to 120."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
