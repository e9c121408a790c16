"""Ctrl-C that works at once, whatever the compiled core is doing.

Python runs signal handlers on the main thread, between two of its own instructions. The main thread comes back from
the core every 50 ms while there are many units, but one huge unit, or the de-duplication, may take seconds. So a
second thread learns of signals from the C handler itself (`signal.set_wakeup_fd`). If the main thread has not left the
core shortly after a SIGINT, this thread prints what the main thread would have printed, and ends the process. What is
being written then has no name, or the thread waits until it has none: only the cache of a merge is written while such
a context is open.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from pybtf.cli import console
from pybtf.cli.faults import INTERRUPTED
from pybtf.core.support.end_signals import EndSignalsHeld
from pybtf.elf.atomic import Replacement
from pybtf.support import TYPE_CHECKING
from pybtf.support.light_thread import LightThread

if TYPE_CHECKING:
    import signal as signals
    from typing import Self
else:
    import _signal as signals  # `signal` imports `enum`, which takes a tenth of the start

PATIENCE = 0.25
"""Seconds that the main thread has to leave."""


class PromptInterrupt:
    """As a context manager: SIGINT ends what happens inside, or the process."""

    def __enter__(self) -> Self:
        self._inside = allocate_lock()
        self._inside.acquire()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        try:
            self._before = signals.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        except ValueError:  # not the main thread, which alone gets KeyboardInterrupt
            self._close()
            return self
        self._watcher = LightThread(self._watch)
        try:
            with EndSignalsHeld():  # it inherits that: what holds them back in the main thread does so in both
                self._watcher.start()
        except RuntimeError:  # the system allows no more threads: Ctrl-C may take a while
            signals.set_wakeup_fd(self._before)
            self._close()
        return self

    def __exit__(self, *_: object) -> None:
        if self._read < 0:
            return
        self._inside.release()
        signals.set_wakeup_fd(self._before)
        os.write(self._write, b"\0")
        self._watcher.join()
        self._close()

    def _close(self) -> None:
        os.close(self._read)
        os.close(self._write)
        self._read = -1

    def _watch(self) -> None:
        while self._inside.locked():
            if signals.SIGINT not in os.read(self._read, 64):
                continue
            while not (left := self._inside.acquire(timeout=PATIENCE)) and Replacement.named:
                pass
            if left:
                return
            if console.is_terminal():
                os.write(2, b"\r\x1b[K")  # a progress bar
            console.error("interrupted")
            os._exit(INTERRUPTED)
