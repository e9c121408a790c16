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

import os
import stat

from pybtf.pahole.faults import Terminated
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    import signal as signals
    from types import FrameType
    from typing import Any
else:
    import _signal as signals  # `signal` imports `enum`, which takes a tenth of the start

_SIGNALS = (signals.SIGTERM, signals.SIGHUP, signals.SIGINT)
_OPTIONS = ("--jobserver-auth=", "--jobserver-fds=")


class workers:
    """As a context manager: how many workers may run meanwhile, 1 to `wanted`. Without a jobserver: `wanted`."""

    def __init__(self, wanted: int, makeflags: str) -> None:
        self._wanted = wanted
        self._makeflags = makeflags
        self._pipe: _Pipe | None = None
        self._caught: dict[int, Any] = {}
        """Handlers that were there before."""
        self._late = 0
        """The signal that came while tokens were given back."""

    def __enter__(self) -> int:
        self._pipe = _connect(self._makeflags) if self._wanted > 1 else None
        if self._pipe is None:
            return self._wanted
        try:
            self._catch()
            self._pipe.take(self._wanted - 1)
            return 1 + len(self._pipe.tokens)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._pipe is None:
            return
        try:
            self._pipe.give_back()
        finally:
            for number, handler in self._caught.items():
                signals.signal(number, handler)
            self._pipe.close()
        if self._late:
            raise Terminated(self._late)

    def _catch(self) -> None:
        """Have signals that would end the process raise `Terminated`. Ignored ones stay so."""

        def end(number: int, frame: FrameType | None) -> None:
            assert self._pipe is not None
            if self._pipe.giving:  # halfway, a token could get lost, or be given twice
                self._late = number
                return
            # Here, not only at the end of the block: what is raised as that begins goes past it.
            self._pipe.give_back()
            raise Terminated(number)

        for number in _SIGNALS:
            before = signals.getsignal(number)
            if before in (signals.SIG_DFL, signals.default_int_handler):
                try:
                    signals.signal(number, end)
                except ValueError:  # Python allows handlers only in the main thread
                    return
                self._caught[number] = before


class _Pipe:
    """The two ends of make's pipe, and the tokens that are ours."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self.tokens = b""
        self.giving = False
        """Tokens are being given back."""

    def take(self, wanted: int) -> None:
        """As many tokens as there are, up to `wanted`, without waiting."""
        old = signals.pthread_sigmask(signals.SIG_BLOCK, _SIGNALS)
        try:
            self.tokens = os.read(self.reading, wanted)
        except OSError:  # none at the moment, or the pipe is broken, which amounts to the same
            pass
        finally:
            signals.pthread_sigmask(signals.SIG_SETMASK, old)

    def give_back(self) -> None:
        self.giving = True
        old = signals.pthread_sigmask(signals.SIG_BLOCK, _SIGNALS)
        try:
            while self.tokens:
                self.tokens = self.tokens[os.write(self.writing, self.tokens) :]
        except OSError:  # what MAKEFLAGS names are the ends of two pipes, none of make's, and the reader is gone
            pass
        finally:
            signals.pthread_sigmask(signals.SIG_SETMASK, old)
            self.giving = False

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
            if not stat.S_ISFIFO(os.fstat(fd).st_mode):
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
