"""A thread without `threading`, whose import takes two milliseconds."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class LightThread:
    """A thread that nobody waits for at the end of the process, as a daemon of `threading`. `target` raises nothing."""

    def __init__(self, target: Callable[[], None]) -> None:
        self._target = target
        self._running = allocate_lock()

    def start(self) -> None:
        """Raises `RuntimeError` if the system allows no more."""
        self._running.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            self._running.release()
            raise

    def join(self) -> None:
        """Wait for its end; not at all if it was not started."""
        with self._running:
            pass

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._running.release()
