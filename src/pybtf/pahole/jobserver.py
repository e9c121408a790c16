"""make's jobserver: running no more workers than make has jobs to give.

make -jN keeps N - 1 tokens, bytes in a pipe, and each process it starts may run one thread for nothing. Whoever wants
to run more takes a token for each, and must give back the same bytes, whatever happens: a token that is lost is one job
less until make ends. The pipe is named in MAKEFLAGS, as `--jobserver-auth=fifo:PATH` (GNU make 4.4 on), or as
descriptors, `--jobserver-auth=R,W` (`--jobserver-fds` before 4.2), which are open only if the recipe is marked with `+`
or mentions $(MAKE). Otherwise these numbers are closed, negative, or something else altogether: hence the checks.

*Taking.* Tokens are taken once, without waiting: work goes on with what is there. The pipe of the R,W form is shared
with make, and so is its O_NONBLOCK flag, which must not be touched; opening it again through /proc gives a description
of our own. Where that is impossible the jobserver is not used.

*Giving back.* `workers` is a context manager, and as long as it holds tokens, signals that would end the process are
raised as `Terminated` in the main thread. While a token is between the pipe and our memory, signals are blocked. Only
SIGKILL is beyond all this, as for every client.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from collections.abc import Iterator
from types import FrameType

from .faults import Terminated

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_OPTIONS = ("--jobserver-auth=", "--jobserver-fds=")


@contextlib.contextmanager
def workers(wanted: int, makeflags: str) -> Iterator[int]:
    """How many workers may run, 1 to `wanted`, for as long as the context lasts. Without a jobserver: `wanted`."""
    pipe = _connect(makeflags) if wanted > 1 else None
    if pipe is None:
        yield wanted
        return
    with contextlib.closing(pipe), _terminated_raised():
        try:
            pipe.take(wanted - 1)
            yield 1 + len(pipe.tokens)
        finally:
            pipe.give_back()


class _Pipe:
    """The two ends of make's pipe, and the tokens that are ours."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self.tokens = b""

    def take(self, wanted: int) -> None:
        """As many tokens as there are, up to `wanted`, without waiting."""
        old = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self.tokens = os.read(self.reading, wanted)
        except OSError:  # none at the moment, or the pipe is broken, which amounts to the same
            pass
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def give_back(self) -> None:
        old = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            while self.tokens:
                self.tokens = self.tokens[os.write(self.writing, self.tokens) :]
        except OSError:  # make is gone
            self.tokens = b""
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def close(self) -> None:
        for fd in {self.reading, self.writing}:
            os.close(fd)


def _connect(makeflags: str) -> _Pipe | None:
    """The jobserver that MAKEFLAGS offers, if it does and this process can use it."""
    address = _address(makeflags)
    try:
        if address.startswith("fifo:"):
            return _checked(os.open(address[5:], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        reading, writing = (int(text) for text in address.split(","))
        for fd in (reading, writing):
            if fd < 0 or not stat.S_ISFIFO(os.fstat(fd).st_mode):
                return None
        own = os.open(f"/proc/self/fd/{reading}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _Pipe(own, os.dup(writing))
        except OSError:
            os.close(own)
            raise
    except (ValueError, OverflowError, OSError):
        return None


def _checked(fd: int) -> _Pipe | None:
    if stat.S_ISFIFO(os.fstat(fd).st_mode):
        return _Pipe(fd, fd)
    os.close(fd)
    return None


def _address(makeflags: str) -> str:
    """The value of the last jobserver option in MAKEFLAGS, before the variables that follow `--`."""
    found = ""
    for word in makeflags.split():
        if word == "--":
            break
        for option in _OPTIONS:
            if word.startswith(option):
                found = word.removeprefix(option)
    return found


@contextlib.contextmanager
def _terminated_raised() -> Iterator[None]:
    """Inside, signals that would end the process raise `Terminated`. Ignored ones stay so."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    caught = {}
    in_main = threading.current_thread() is threading.main_thread()  # Python allows handlers only there
    try:
        for number in _SIGNALS if in_main else ():
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                caught[number] = signal.signal(number, end)
        yield
    finally:
        for number, handler in caught.items():
            signal.signal(number, handler)
