"""Builds of the core that tell which of its code a case has passed, and what of that no case has passed before.

gcc's `-fsanitize-coverage=trace-pc` has each basic block call a function, which is in edges.c. That is compiled apart,
and loaded before the core by LD_PRELOAD. What all cases have passed is a file, so that it outlives a worker, and
workers share it.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import subprocess
from pathlib import Path

from tools.fuzz import fuzz

FOLDER = fuzz.ROOT / "build" / "guided"
SIZE = 1 << 18  # edges.c has it, too


def counter() -> Path:
    """The library of edges.c, compiled if it is not there or older."""
    source, made = Path(__file__).with_suffix(".c"), FOLDER / "edges.so"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(made), str(source)]
        subprocess.run(command, check=True)
    return made


def core(sources: Path) -> Path:
    """The compiled core in a folder of sources."""
    return next((sources / "pybtf" / "core").glob("_compiled.*.so"))


def seen_of(name: str, library: Path) -> Path:
    """Where it is kept what the cases of a subject have passed in this build. Of others it is deleted."""
    with library.open("rb") as file:
        made = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    path = FOLDER / f"{name}-{made}.seen"
    for old in FOLDER.glob(f"{name}-*.seen"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


class Edges:
    """What the cases of one subject have passed. `library`: of edges.c; it is in this process already, or useless."""

    def __init__(self, library: Path, watched: Path, symbol: str, seen: Path, three: bool = False) -> None:
        self._calls = ctypes.CDLL(str(library))
        address = ctypes.cast(getattr(ctypes.CDLL(str(watched)), symbol), ctypes.c_void_p)
        if self._calls.edges_watch(address, int(three)):
            raise ValueError(f"{watched} is not loaded")
        file = os.open(seen, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(file, SIZE)
        self._map = mmap.mmap(file, SIZE)
        os.close(file)
        self._seen = (ctypes.c_uint8 * SIZE).from_buffer(self._map)

    def begin(self) -> None:
        """A case begins."""
        self._calls.edges_begin()

    def end(self) -> int:
        """The case has ended: how much it passed that none did before."""
        return int(self._calls.edges_end(self._seen))

    def known(self) -> int:
        """How many edges have been passed."""
        return SIZE - bytes(self._map).count(0)
