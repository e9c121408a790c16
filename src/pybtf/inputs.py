"""Which files a batch is about: folders become the modules in them, lists the files they name.

A kernel's modules are a tree of folders in which links lead out, to the sources it was built from; these are not
followed. The order is that of the arguments, and by name inside a folder, so it is the same on every machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from .elf.packed import SUFFIXES
from .errors import InputError
from .records import record

MODULE = ".ko"
STDIN = "-"


@record(frozen=True)
class Input:
    """A file to encode. `name` says where below a folder of results its own belongs."""

    path: str
    name: str


def find_inputs(arguments: Iterable[str]) -> list[Input]:
    """The files of these arguments, each once, although several may lead to it.

    Raises `InputError` for a folder that cannot be read, or has no modules. Whether files exist is not looked at.
    """
    found: dict[str, Input] = {}
    for argument in arguments:
        for each in _modules(argument) if Path(argument).is_dir() else [Input(argument, Path(argument).name)]:
            found.setdefault(os.path.realpath(each.path), each)
    return list(found.values())


def _modules(folder: str) -> list[Input]:
    def give_up(error: OSError) -> None:
        raise InputError(error.filename or folder, f"cannot be read: {error.strerror}", "a readable folder")

    paths = [
        Path(parent, name)
        for parent, _, names in os.walk(folder, onerror=give_up)
        for name in names
        if plain_name(name).endswith(MODULE)
    ]
    if not paths:
        raise InputError(folder, "a folder without modules", f"files whose names end in {MODULE}")
    return [Input(str(path), str(path.relative_to(folder))) for path in sorted(paths)]


def plain_name(name: str) -> str:
    """`x.ko` of `x.ko`, `x.ko.xz`, `x.ko.zst` and `x.ko.gz`."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(MODULE + suffix)), name)


def read_list(source: str) -> list[str]:
    """The paths that a file (`-`: standard input) lists, one in a line, or one before each NUL byte.

    Raises `InputError` if it cannot be read or names none.
    """
    try:
        data = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(source, f"cannot be read: {what}", "a list of files") from None
    paths = list(_split(data))
    if not paths:
        raise InputError("standard input" if source == STDIN else source, "names no file", "one path in each line")
    return paths


def _split(data: bytes) -> Iterator[str]:
    for line in data.split(b"\0") if b"\0" in data else data.splitlines():
        if line.strip():
            yield os.fsdecode(line)
