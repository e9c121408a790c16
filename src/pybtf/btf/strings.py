"""The string section: NUL-terminated names, found by their offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pybtf.core.btf.read_types import shared_names
from pybtf.errors import InputError, Place


def decode_name(raw: bytes) -> str:
    """Text of a name. Bytes that are not UTF-8 survive as surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def encode_name(name: str) -> bytes:
    """Bytes of a name; the inverse of `decode_name`."""
    return name.encode("utf-8", "surrogateescape")


def is_name(name: str) -> bool:
    """Whether it could be the text of a name: other surrogates than those of bytes stand for nothing."""
    return all(not "\ud800" <= sign <= "\udfff" or "\udc80" <= sign <= "\udcff" for sign in name)


class BadStringOffset(Exception):
    """An offset outside the strings. Internal: the reader adds where it was met and raises InputError."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Names(dict[int, str]):
    """Strings by offset, decoded when first asked for; a hit costs one dict lookup."""

    __slots__ = ("_base", "_data", "_left", "_place", "_start")

    def __init__(self, data: bytes, start: int, base: _Names | None, place: Place) -> None:
        super().__init__()
        self._data = data
        self._start = start
        self._base = base
        self._place = place
        self._left = 16 * len(data) + 65536  # bytes that may still be decoded: strings may be parts of each other

    def __missing__(self, offset: int) -> str:
        at = offset - self._start
        if at < 0 and self._base is not None:
            return self._base[offset]
        if not 0 <= at < len(self._data):
            raise BadStringOffset(offset)
        end = self._data.index(0, at)
        self._left -= end - at
        if self._left < 0:
            raise shared_names(self._place)
        name = self[offset] = decode_name(self._data[at:end])
        return name


class Strings:
    """Strings by offset: `strings[0]` is the empty one.

    `start` and `end` bound the own offsets; those of split BTF begin where its base's end, and lower ones are
    looked up in the base. Iteration gives (offset, string) of the own strings, in order.
    """

    def __init__(self, data: bytes, base: Strings | None, place: Place) -> None:
        """`data` is the whole string section, `place` its start. Raises InputError if it is malformed."""
        if data and data[-1]:
            last = Place(place.file, place.section, (place.offset or 0) + len(data) - 1)
            raise InputError(
                last, f"string section ends with byte {data[-1]:#04x}", "the NUL of its last string"
            )
        if base is None and data[:1] != b"\0":
            found = f"string section begins with byte {data[0]:#04x}" if data else "empty string section"
            raise InputError(
                place, found, "the empty string first", hint="If this is split BTF, give its base (--base FILE)."
            )
        self.start: int = base.end if base is not None else 0
        self.end: int = self.start + len(data)
        self._data = data
        self._names: _Names = _Names(data, self.start, base._names if base is not None else None, place)
        self.lookup: Callable[[int], str] = self._names.__getitem__
        """The string at an offset, as `[]`, but raises BadStringOffset."""

    def __getitem__(self, offset: int) -> str:
        try:
            return self._names[offset]
        except BadStringOffset as error:
            raise IndexError(f"string offset {offset:#x} is not below {self.end:#x}") from error

    def __iter__(self) -> Iterator[tuple[int, str]]:
        offset = self.start
        for raw in self._data.split(b"\0")[:-1]:
            yield offset, decode_name(raw)
            offset += len(raw) + 1

    def __len__(self) -> int:
        """Number of own strings."""
        return self._data.count(0)

    def preload(self) -> None:
        """Decode all own strings at once: several times cheaper than one by one."""
        self._names.update(self)

    @property
    def data(self) -> bytes:
        """Bytes of the own strings."""
        return self._data
