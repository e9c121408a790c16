"""The cache of `pybtf merge`: the payloads of the last link in one file.

With `--cache`, the payloads that a merge has found are kept together, and the next merge looks there first: the objects
are no longer needed, and thousands of files need not be found. What was linked says by digest which payload
it wants, and what is read is compared with it, here as everywhere: a cache may be out of date, truncated, damaged or in
the middle of being written, and still never gives a wrong result.

The BTF that a merge has made is kept as well, under a digest of all it was made of (remembered.py).

The file is a head of 16 bytes, "bUVCache", version and rules, in the byte order of the ELF file; then payloads as
they stand in the section of an object (pieces.py), and among them results: the same head with "bUVR", the key and the
size, and what is kept. New ones are put after the old ones, under a lock; once more than half of the file is no
longer wanted, it is written anew. A file that begins otherwise is not touched.
"""

# To import pathlib takes longer than to read what is in a cache.

from __future__ import annotations

import os
import stat
from struct import Struct

from pybtf.core.values.cache_contents import cache_contents
from pybtf.elf.atomic import write_all, write_file
from pybtf.errors import InputError, OutputError, Place
from pybtf.merging.pieces import (
    PAYLOAD_MAGIC,
    RULES,
    STORED_HEAD,
    Bytes,
    pack_payload,
    packed_size,
    payload_digest,
    stored_parts,
    values_at,
)
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import system_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Final

    Result = tuple[bytes, Sequence[Bytes]]
    """A key, and what is kept under it, in parts: copying megabytes together takes longer than writing them."""

MAGIC: Final = b"bUVCache"
_RESULT: Final = b"bUVR"
_VERSION: Final = 3
_HEAD: Final = "8sII"
_HEAD_SIZE: Final = 16


def _opened(path: str) -> int:
    """A descriptor, also of what is a FIFO by now: nobody waits for its writer. Raises `OSError`."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)


class Cache:
    """The payloads in the file `path`, by digest; none if there is no such file, or only those of other rules.

    Raises `InputError` for a file that is not a cache.
    """

    def __init__(self, path: str, *, little: bool) -> None:
        self.path = path
        self._found: dict[bytes, tuple[int, int]] = {}
        """Where each begins, and how many values it has."""
        self._results: dict[bytes, tuple[int, int]] = {}
        """Where each result is, and its size, by key."""
        self._little = little
        self._head = Struct(("<" if little else ">") + _HEAD).pack(MAGIC, _VERSION, RULES)
        self._size = 0
        """Of the file as it was opened."""
        self._end = 0
        """Where the last payload that is whole ends; 0: the file is to be written anew."""
        try:
            with open(_opened(path), "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise InputError(path, "is not a regular file", "a cache of pybtf merge")
                if status.st_size:  # otherwise it is none yet
                    self._read(file.fileno())
        except FileNotFoundError:
            return
        except OSError as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, "a cache of pybtf merge") from None

    def place(self, wanted: bytes, size: int) -> int:
        """Where in the file the payload is that is said to have this digest, at the digests of its blocks, if there is
        one of this size, else 0. Whoever uses it compares it with that.
        """
        at, its_size = self._found.get(wanted, (0, 0))
        return at + STORED_HEAD if at and its_size == size else 0

    def find(self, wanted: bytes) -> bytes | None:
        """The values of this digest. If what is there has another one in truth, the file will be written anew."""
        at, size = self._found.get(wanted, (0, 0))
        values = self._content(at + values_at(size) if at else 0, size)
        if values is None or payload_digest(values) == wanted:
            return values
        self._found.clear()
        self.discard_results()
        return None

    def result(self, key: bytes) -> bytes | None:
        """What is kept of a result, as `keep` was given it, or damaged."""
        return self._content(*self._results.get(key, (0, 0)))

    def discard_results(self) -> None:
        """One is damaged: the file will be written anew."""
        self._results.clear()
        self._end = 0

    def _content(self, at: int, size: int) -> bytes | None:
        """What is at a place; None: at 0, where nothing is. What cannot be read is empty."""
        if at == 0:
            return None
        try:
            with open(_opened(self.path), "rb") as file:
                file.seek(at)
                return file.read(size)
        except OSError:
            return b""

    def _read(self, fd: int) -> None:
        """Up to the end, or to what is none: an interrupted run has left it."""
        self._size = os.fstat(fd).st_size
        head = os.pread(fd, _HEAD_SIZE, 0)
        if head[: len(MAGIC)] != MAGIC:
            place = Place(self.path, None, 0)
            hint = "Delete it, or name another file."
            raise InputError(place, "not a cache of pybtf merge", "one, or a file that does not exist", hint)
        if head != self._head:
            return
        magics = [magic if self._little else magic[::-1] for magic in (PAYLOAD_MAGIC, _RESULT)]
        self._found, self._results, self._end = cache_contents(fd, _HEAD_SIZE, self._size, self._little, *magics)

    def keep(
        self,
        sizes: dict[bytes, int],
        values: Callable[[bytes], Bytes],
        result: Result | None = None,
    ) -> str | None:
        """Make the file have the payloads of these digests and sizes, and a result.

        What went wrong, or None: a merge does not fail for it. `values` finds those of a digest, or raises
        `InputError`.
        """
        new = [each for each in sizes if each not in self._found]
        there = sum([packed_size(size) for each, size in sizes.items() if each in self._found])
        wanted = there + sum([packed_size(sizes[each]) for each in new])
        try:
            if self._end == 0 or self._end - _HEAD_SIZE - there > wanted:
                write_file(self.path, self._all(sizes, values, result), durable=False)
            elif new or result is not None:
                self._append(self._packed(new, values, result))
        except (InputError, OutputError) as error:
            return str(error)
        except OSError as error:
            if self._end and not new:  # it has all payloads, and may be one that others write
                return None
            return f"{self.path}: cannot be written: {system_reason(error)}"
        return None

    def _all(
        self, sizes: dict[bytes, int], values: Callable[[bytes], Bytes], result: Result | None
    ) -> Iterator[Bytes]:
        yield self._head
        yield from self._packed(sizes, values, result)

    def _packed(
        self, digests: Iterable[bytes], values: Callable[[bytes], Bytes], result: Result | None
    ) -> Iterator[Bytes]:
        for each in digests:
            yield pack_payload(values(each), little=self._little)
        if result is not None:
            yield from stored_parts(_RESULT, *result, little=self._little)

    def _append(self, new: Iterable[Bytes]) -> None:
        """Put payloads after the last one; unless somebody else does so, or has done so."""
        import fcntl

        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if os.fstat(fd).st_size != self._size or os.pread(fd, _HEAD_SIZE, 0) != self._head:
                return  # it has grown, or is another file
            os.ftruncate(fd, self._end)  # less an end that an interrupted run has left
            os.lseek(fd, self._end, os.SEEK_SET)
            for part in new:
                write_all(fd, part)
        finally:
            os.close(fd)
