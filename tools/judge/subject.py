"""Runs pybtf on one file for the comparing tools, so that a crash or hang does not end the tool."""

from __future__ import annotations

import os
import pickle
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What pybtf did: its BTF, or (data None) what went wrong, in a line.

    `refused` distinguishes its own clear errors from crashes, hangs and tracebacks.
    """

    data: bytes | None
    problem: str = ""
    refused: bool = False
    below: bytes | None = None
    """With the feature distilled_base: the base."""


def _encode(path: Path, features: str, jobs: int, options: dict[str, Any]) -> Outcome:
    import pybtf
    from pybtf.errors import InternalError, PybtfError

    try:
        made = pybtf.encode(path, features=features, jobs=jobs, **options)
        return Outcome(bytes(made.data), below=made.base_data)
    except InternalError as error:
        return Outcome(None, f"internal error: {error}")
    except PybtfError as error:
        return Outcome(None, str(error), refused=True)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome(None, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def isolated(work: Callable[[], Outcome], timeout: float) -> Outcome:
    """Does the work in a child process, whose crash or hang becomes an outcome."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        try:
            with os.fdopen(writable, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writable)
    received = bytearray()
    with os.fdopen(readable, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], timeout)[0]:
            piece = pipe.read(1 << 20)
            if not piece:
                break
            received += piece
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Outcome(None, f"no answer in {timeout:g} s")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Outcome(None, f"crashed: {signal.Signals(os.WTERMSIG(status)).name}")
    if not received:
        return Outcome(None, "ended without an answer")
    outcome: Outcome = pickle.loads(received)
    return outcome


def encode(path: Path, features: str, jobs: int, timeout: float = 60, **options: Any) -> Outcome:
    """pybtf's answer for a file, from a child process. `options` are further ones of `pybtf.encode`."""
    return isolated(lambda: _encode(path, features, jobs, options), timeout)
