"""The cache of `pybtf merge`: the payloads of the last link in one file.

With `--cache`, the payloads that a merge has found are kept together, and the next merge looks there first: the objects
are no longer needed, and thousands of files need not be found. What was linked says by digest which payload
it wants, and what is read is compared with it, here as everywhere: a cache can be too old, truncated, damaged or being
written to, and will never give a wrong result.

The file is a head of 16 bytes, "bUVCache", version and rules, in the byte order of the ELF file; then payloads as
they stand in the section of an object (pieces.py). New ones are put behind the old ones, under a lock; once more than
half of the file is not wanted any more, it is written anew. A file that begins otherwise is not touched.
"""

# ruff: noqa: PTH116
# To import pathlib takes longer than to read what is in a cache.

from __future__ import annotations

import fcntl
import os
import stat
from struct import Struct

from pybtf.elf.atomic import write_all, write_file
from pybtf.errors import InputError, OutputError, Place
from pybtf.merging.pieces import RULES, STORED_HEAD, Bytes, digest, pack_payload, packed_size, stored_head

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
        self._found: dict[bytes, tuple[int, int]] = {}
        """Where the values of each are, and their size."""
        self._little = little
        self._head = Struct(("<" if little else ">") + _HEAD).pack(MAGIC, _VERSION, RULES)
        self._size = 0
        """Of the file as it was opened."""
        self._end = 0
        """Where the last payload that is whole ends; 0: the file is to be written anew."""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise InputError(path, "is not a regular file", "a cache of pybtf merge")
            if status.st_size == 0:  # it is none yet
                return
            with open(path, "rb", buffering=0) as file:
                self._read(file.fileno())
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror}", "a cache of pybtf merge") from None

    def place(self, wanted: bytes, size: int) -> int:
        """Where in the file the values are that are said to have this digest, if there are some of this size, else 0.
        Whoever uses them compares them with it.
        """
        at, its_size = self._found.get(wanted, (0, 0))
        return at if its_size == size else 0

    def find(self, wanted: bytes) -> bytes | None:
        """The values of this digest. If what is there has another one in truth, the file will be written anew."""
        if wanted not in self._found:
            return None
        at, size = self._found[wanted]
        try:
            with open(self.path, "rb") as file:
                file.seek(at)
                values = file.read(size)
        except OSError:
            values = b""
        if digest(values) == wanted:
            return values
        self._found.clear()
        self._end = 0
        return None

    def _read(self, fd: int) -> None:
        """Up to the end, or to what is none: an interrupted run has left it."""
        self._size = os.fstat(fd).st_size
        head = os.pread(fd, _HEAD_SIZE, 0)
        if head[: len(MAGIC)] != MAGIC:
            place = Place(self.path, None, 0)
            raise InputError(place, "not a cache of pybtf merge", "one, or a file that does not exist")
        if head != self._head:
            return
        self._end = _HEAD_SIZE
        while (stored := stored_head(os.pread(fd, STORED_HEAD, self._end), little=self._little)) is not None:
            its_digest, size = stored
            end = self._end + packed_size(size)
            if end > self._size:
                return
            self._found[its_digest] = self._end + STORED_HEAD, size
            self._end = end

    def keep(self, sizes: dict[bytes, int], values: Callable[[bytes], Bytes]) -> str | None:
        """Make the file have the payloads of these digests and sizes. What went wrong, or None: a merge does not fail
        for it. `values` finds those of a digest, or raises `InputError`.
        """
        new = [each for each in sizes if each not in self._found]
        wanted = sum(packed_size(size) for size in sizes.values())
        stale = self._end - _HEAD_SIZE - sum(packed_size(sizes[each]) for each in sizes if each in self._found)
        try:
            if self._end == 0 or stale > wanted:
                write_file(self.path, self._all(sizes, values), durable=False)
            elif new:
                self._append(pack_payload(values(each), little=self._little) for each in new)
        except (InputError, OutputError) as error:
            return str(error)
        except OSError as error:
            return f"{self.path}: cannot be written: {error.strerror}"
        return None

    def _all(self, sizes: dict[bytes, int], values: Callable[[bytes], Bytes]) -> Iterator[bytes]:
        yield self._head
        for each in sizes:
            yield pack_payload(values(each), little=self._little)

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
