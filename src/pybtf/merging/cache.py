"""The cache of `pybtf merge`: the payloads of the last link in one file.

A kernel has thousands of objects; to open each of them takes longer than to read what is in them. So with `--cache` the
payloads that a merge has found are kept together, and the next one looks there first. What was linked says by digest
which payload it wants, and what is found is compared with it, here as everywhere: a cache can be too old, cut off or
damaged, and never make a wrong result. Nor are the objects needed any more.

The file is a head of 16 bytes, "bUVCache", version and rules, in the byte order of the ELF file; then payloads as
they stand in the section of an object (pieces.py). New ones are put behind the old ones, under a lock; once more than
half of the file is not wanted any more, it is written anew. A file that begins otherwise is not touched.
"""

# ruff: noqa: PTH116
# To import pathlib takes longer than to read a cache.

from __future__ import annotations

import fcntl
import os
import stat
from struct import Struct

from pybtf.core.support.mapped_file import MappedFile
from pybtf.elf.atomic import write_all, write_file
from pybtf.errors import InputError, OutputError, Place
from pybtf.merging.pieces import RULES, Bytes, digest, pack_payload, packed_size, payloads

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

MAGIC: Final = b"bUVCache"
_VERSION: Final = 1
_HEAD: Final = "8sII"
_HEAD_SIZE: Final = 16


class Cache:
    """The payloads in the file `path`, by digest; none if there is no such file, or only those of other rules.

    Raises `InputError` for a file that is no cache.
    """

    def __init__(self, path: str, *, little: bool) -> None:
        self.path = path
        self._found: dict[bytes, memoryview] = {}
        self._used: dict[bytes, memoryview] = {}
        self._mapped: MappedFile | None = None
        self._little = little
        self._head = Struct(("<" if little else ">") + _HEAD).pack(MAGIC, _VERSION, RULES)
        self._size = 0
        """Of the file as it was opened."""
        self._end = 0
        """Where the last payload that is whole ends; 0: the file is to be written anew."""
        try:
            self._mapped = MappedFile(path)
        except OSError:
            self._check_absent()
            return
        data = memoryview(self._mapped)
        if bytes(data[: len(MAGIC)]) != MAGIC:
            raise InputError(Place(path, None, 0), "not a cache of pybtf merge", "one, or a file that does not exist")
        self._size = len(data)
        if bytes(data[:_HEAD_SIZE]) == self._head:
            self._read(data)

    def find(self, wanted: bytes) -> memoryview | None:
        """The payload of this digest. One that has another one in truth is not there, and the file written anew."""
        values = self._found.get(wanted)
        if values is not None and digest(values) != wanted:
            self._found.clear()
            self._end = 0
            return None
        if values is not None:
            self._used[wanted] = values
        return values

    def was_changed(self) -> bool:
        """Whether what was found is no longer what it was. Others may put payloads behind it meanwhile."""
        if self._mapped is None or not self._mapped.was_written():
            return False
        return any(digest(values) != each for each, values in self._used.items())

    def _check_absent(self) -> None:
        """Raise `InputError` if there is something that is no file, or may not be read. An empty file is none yet."""
        try:
            status = os.stat(self.path)
            if not stat.S_ISREG(status.st_mode):
                raise InputError(self.path, "is not a regular file", "a cache of pybtf merge")
            if status.st_size:
                with open(self.path, "rb"):
                    return
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.path, f"cannot be read: {error.strerror}", "a cache of pybtf merge") from None

    def _read(self, data: memoryview) -> None:
        """Up to the end, or to what is none: an interrupted run has left it."""
        self._end = _HEAD_SIZE
        try:
            for each, values in payloads(data[_HEAD_SIZE:], Place(self.path), little=self._little):
                self._found[each] = values
                self._end += packed_size(values)
        except InputError:
            return

    def keep(self, wanted: dict[bytes, Bytes]) -> str | None:
        """Make the file have these payloads, by digest. What went wrong, or None: a merge does not fail for it."""
        new = [each for each in wanted if each not in self._found]
        sizes = {each: packed_size(values) for each, values in wanted.items()}
        stale = self._end - _HEAD_SIZE - sum(sizes[each] for each in wanted if each in self._found)
        try:
            if self._end == 0 or stale > sum(sizes.values()):
                write_file(self.path, self._all(wanted), durable=False)
            elif new:
                self._append(pack_payload(wanted[each], little=self._little) for each in new)
        except OutputError as error:
            return str(error)
        except OSError as error:
            return f"{self.path}: cannot be written: {error.strerror}"
        return None

    def _all(self, wanted: dict[bytes, Bytes]) -> Iterator[bytes]:
        yield self._head
        for values in wanted.values():
            yield pack_payload(values, little=self._little)

    def _append(self, new: Iterable[bytes]) -> None:
        """Put payloads behind the last one; unless somebody else does so, or has done so."""
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if os.fstat(fd).st_size != self._size:
                return
            if self._size > self._end:
                os.ftruncate(fd, self._end)
            os.lseek(fd, self._end, os.SEEK_SET)
            for payload in new:
                write_all(fd, payload)
        finally:
            os.close(fd)
