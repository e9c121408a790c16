"""A folder for what is needed only meanwhile, and the processes that work in it. Neither outlives this process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pybtf.elf.atomic import EndSignals, suppressed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType


class Scratch:
    """As a context manager, the new folder `path`. It is removed at the end, also if SIGTERM or SIGHUP is that."""

    def __init__(self, prefix: str) -> None:
        self._folder: Path | None = None
        self._prefix = prefix
        self._child: int | None = None
        self._signals = EndSignals(self._remove)

    @property
    def path(self) -> Path:
        assert self._folder is not None
        return self._folder

    def __enter__(self) -> Scratch:
        self._signals.catch()
        self._folder = Path(tempfile.mkdtemp(prefix=self._prefix))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()
        self._signals.release()

    def run(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path | None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command without input and output, and wait for its end; what it says on standard error is kept."""
        with subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as child:
            self._child = child.pid
            try:
                _, said = child.communicate()
            except BaseException:
                child.kill()
                raise
            finally:
                self._child = None
        return subprocess.CompletedProcess(command, child.returncode, b"", said)

    def _remove(self) -> None:
        """Whoever works in the folder ends first. Raises nothing; also called while a signal is handled."""
        if self._child is not None:
            with suppressed(OSError):
                os.kill(self._child, signal.SIGKILL)
                os.waitpid(self._child, 0)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
