"""Which files a batch is about: folders become the modules in them, lists the files they name.

A kernel's modules are a tree of folders in which links lead out, to the sources it was built from; these are not
followed. The order is that of the arguments, and by name inside a folder, so it is the same on every machine.

A list may have thousands of files, and nothing else happens meanwhile. So what a path is with all links resolved is
found out once per file and folder, by `RealPaths`: `os.path.realpath` asks for each folder above each file. And a file
itself is looked at once, for all that has to be known of it.
"""

# ruff: noqa: PTH112, PTH114, PTH116, PTH118
# To import pathlib takes as long as to encode a module.

from __future__ import annotations

import os
import stat
import sys

from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import system_reason
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

MODULE = ".ko"
STDIN = "-"
MANY_FOLDERS = 100
"""In one path, that is."""
LIMIT = 64 << 20
"""Bytes of a list: what is longer is none, and may be a device that never ends."""
_PIECE = 1 << 20
_ODD = ("", ".", "..")


class RealPaths:
    """Called with a path, gives it as `os.path.realpath` does, faster if many are in the same folders."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}  # both with a slash at the end

    def __call__(self, path: str, link: bool | None = None) -> str:
        """`link`: whether the path is a symbolic link, if that is known."""
        cut = path.rfind("/") + 1
        name = path[cut:]
        if name in _ODD or "/../" in path or (os.path.islink(path) if link is None else link):
            return os.path.realpath(path)
        folder = path[:cut]
        return (self._folders.get(folder) or self._resolve(folder)) + name

    def _resolve(self, folder: str) -> str:
        above = folder.rstrip("/")
        real = self(above) if above and folder.count("/") <= MANY_FOLDERS else os.path.realpath(folder or ".")
        self._folders[folder] = real = os.path.join(real, "")
        return real


@record(frozen=True)
class Input:
    """A file to encode. `name` says where below a folder of results its own belongs; `real`: `path` without links;
    `size` in bytes, 0 if it cannot be looked at. `problem`: `path` is a folder, and this is wrong with it; or what was
    found in a folder is not a file, and whoever opens it may wait for ever.
    """

    path: str
    name: str
    real: str
    size: int
    problem: InputError | None = None


def find_inputs(arguments: Iterable[str]) -> list[Input]:
    """The files of these arguments, each once, although several may lead to it.

    A folder that cannot be read, or has no modules, has its `problem` among others, and is an `InputError` if there are
    none. A file need not exist.
    """
    found: dict[str, Input] = {}
    real_path = RealPaths()

    def add(path: str, status: os.stat_result | None, name: str, *, by_name: bool = True) -> None:
        link = status is not None and stat.S_ISLNK(status.st_mode)
        real = real_path(path, link)
        if real not in found:
            itself = _target(path) if link else status
            problem = None if by_name or itself is None else _irregular(path, itself.st_mode)
            found[real] = Input(path, name, real, itself.st_size if itself is not None else 0, problem)

    for argument in arguments:
        status = _status(argument)
        if (status is None or not stat.S_ISREG(status.st_mode)) and os.path.isdir(argument):
            try:
                for path in _modules(argument):
                    add(path, _status(path), path[len(argument) :].lstrip("/"), by_name=False)
            except InputError as error:
                found.setdefault(real_path(argument), Input(argument, "", real_path(argument), 0, error))
        else:
            add(argument, status, argument[argument.rfind("/") + 1 :])
    if len(found) == 1:
        for each in found.values():
            if each.problem is not None:
                raise each.problem
    return list(found.values())


def _status(path: str) -> os.stat_result | None:
    """The stat of this path itself, even if it is a link; None if nothing is there."""
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _target(path: str) -> os.stat_result | None:
    """The stat of what a link leads to; None if nothing is there."""
    try:
        return os.stat(path)
    except OSError:
        return None


def _irregular(path: str, mode: int) -> InputError | None:
    if stat.S_ISREG(mode):
        return None
    from pybtf.unreadable import not_regular

    return not_regular(path, "an ELF file", pipe=stat.S_ISFIFO(mode))


def _modules(folder: str) -> list[str]:
    def give_up(error: OSError) -> None:
        raise InputError(error.filename or folder, f"cannot be read: {system_reason(error)}", "a readable folder")

    paths = [
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder, onerror=give_up)
        for name in names
        if plain_name(name).endswith(MODULE)
    ]
    if not paths:
        raise InputError(folder, "a folder without modules", f"files whose names end in {MODULE}")
    return sorted(paths, key=lambda path: path.split("/"))


def plain_name(name: str) -> str:
    """`x.ko` of `x.ko`, `x.ko.xz`, `x.ko.zst` and `x.ko.gz`."""
    if name.endswith(MODULE):
        return name
    from pybtf.elf.packed import SUFFIXES  # not needed to read a list

    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(MODULE + suffix)), name)


# How ELF files and archives begin.
_NO_LIST = (b"\x7fELF", b"!<arch>\n", b"!<thin>\n")


def read_list(source: str, stream: BinaryIO | None = None, start: bytes = b"") -> list[str]:
    """The paths that a file (`-`: standard input) lists, one in a line, or one before each NUL byte. `stream`: the
    file, if it is open, of which `start` has been read.

    Raises `InputError` if it cannot be read, names none, or is a binary file: the strings of an ELF file between NUL
    bytes may be paths, and these files would be changed.
    """
    place = "standard input" if source == STDIN and stream is None else source
    try:
        if stream is not None:
            data = start + read_bounded(stream)
        else:
            data = read_bounded(sys.stdin.buffer) if source == STDIN else _contents(source)
    except (OSError, ValueError) as error:
        from pybtf.unreadable import unreadable

        raise unreadable(place, error, "a list of files") from None
    from pybtf.btf.kind_numbers import MAGICS

    if data.startswith((*_NO_LIST, *(magic + b"\1" for magic in MAGICS))):  # with the version after the magic
        raise InputError(place, "a binary file, not a list of files", "one path in each line")
    paths = list(_split(data))
    if not paths:
        raise InputError(place, "names no file", "one path in each line")
    return paths


def _contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return read_bounded(file)


def read_bounded(stream: BinaryIO) -> bytes:
    """All that there is to read. Raises `ValueError` if that is more than `LIMIT`."""
    found = bytearray()
    while piece := stream.read(_PIECE):
        found += piece
        if len(found) > LIMIT:
            raise ValueError(f"more than {LIMIT >> 20} MiB")
    return bytes(found)


def _split(data: bytes) -> Iterator[str]:
    for line in data.split(b"\0") if b"\0" in data else data.splitlines():
        if line.strip():
            yield os.fsdecode(line)
