"""`pybtf decode`: bytes of a file as values of a type."""

from __future__ import annotations

import os
import sys

from pybtf.cli.arguments import FLAG, PATH, TEXT, Option, number_of, stdin_once
from pybtf.errors import InputError, NoSuchTypeError, UsageError, printable
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from pybtf.btf.reader import BTF
    from pybtf.btf.types import Type

OPTIONS = (
    Option("btf", PATH, "BTF"),
    Option("base", PATH, "BTF"),
    Option("offset", TEXT, "N"),
    Option("count", TEXT, "N|all"),
    Option("elements", TEXT, "N"),
    Option("json", FLAG),
)
RUNNING = "/sys/kernel/btf/vmlinux"
ELEMENTS = 16
MOST = (1 << 64) - 1
MAX_SIZE = 1 << 28
"""Of one value, in bytes: what is larger was not meant."""
_PIECE = 1 << 20


def decode(
    files: tuple[str, ...],
    btf: str | None,
    base: str | None,
    offset: str | None,
    count: str | None,
    elements: str | None,
    json: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    if len(files) != 2:
        if len(files) > 2:
            raise UsageError("one TYPE and one FILE at a time")
        missing = "FILE" if files else "TYPE"
        raise UsageError(f"missing argument '{missing}'; see pybtf decode --help")
    wanted, path = files
    stdin_once((path, btf, base))
    start = 0 if offset is None else number_of("offset", offset, MOST, hexadecimal=True)
    pieces = None if count == "all" else 1 if count is None else number_of("count", count, MOST)
    most = ELEMENTS if elements is None else number_of("elements", elements, MOST)
    if os.path.isfile(wanted) and not os.path.lexists(path):  # noqa: PTH113
        from shlex import join

        raise UsageError(f"{path}: no such file. FILE comes last: pybtf decode {join([path, wanted])}")
    from pybtf.btf.fields import named
    from pybtf.cli.reading import open_btf

    types = open_btf(btf or RUNNING, base)
    which = int(wanted) if wanted.isascii() and wanted.isdecimal() and len(wanted) < 11 else wanted
    try:
        type = named(types, which)
    except NoSuchTypeError as error:
        near = _nearest(types, which) if isinstance(which, str) else ""
        raise NoSuchTypeError(f"{error}. {near}" if near else str(error)) from None
    from pybtf.support.process import printing

    with printing() as put:
        _print(put, types, type, path, start, pieces, most, json)
    return 0


def _nearest(types: BTF, which: str) -> str:
    """A sentence with names that look like this one, of types that have values."""
    from pybtf.btf.kind_numbers import ENUM, ENUM64, FLOAT, INT, STRUCT, TYPEDEF, UNION
    from pybtf.cli.choice import KEYWORDS, nearest

    keyword, _, name = which.rpartition(" ")
    return nearest(types.view(), name, KEYWORDS.get(keyword, (STRUCT, UNION, ENUM, ENUM64, TYPEDEF, INT, FLOAT)))


def _print(
    put: Callable[[str | bytes], object],
    btf: BTF,
    type: Type,
    path: str,
    start: int,
    count: int | None,
    most: int,
    json: bool,
) -> None:
    from pybtf.btf.value_text import as_json, as_text, name_shown
    from pybtf.btf.values import ALL, Values

    values = Values(btf, ALL if json else most)
    size = values.size(type.id)
    if size > MAX_SIZE:
        raise InputError(btf.place, f"{type} has {size:,} bytes", f"a type of at most {MAX_SIZE:,}")
    if count is None and not size:
        raise UsageError(f"--count all: {type} has no bytes, so there is no end")
    title = name_shown(btf.c_name(type.id))  # it may have megabytes, and is said of each value
    first = True
    try:
        for index, data in enumerate(_pieces(path, start, size, count)):
            value = values.of(type.id, data)
            if json:
                from json import dumps

                text = dumps(as_json(value), indent=2, ensure_ascii=False)
                # UTF-8 whatever the terminal takes: only then is every escape one of JSON's.
                put(f"{'[' if first else ','}\n{text}".encode("utf-8", "backslashreplace"))
            else:
                for line in as_text(title, value, "" if count == 1 else f"[{index}]"):
                    put(f"{printable(line)}\n")
            first = False
    except InputError:
        if json and not first:
            put(b"\n]\n")
        raise
    if json:
        put(b"[]\n" if first else b"\n]\n")


def _pieces(path: str, start: int, size: int, count: int | None) -> Iterator[bytes]:
    """`count` pieces of `size` bytes each, from `start` on; with None, all that are whole."""
    if path == "-":
        try:
            yield from _read(sys.stdin.buffer, "standard input", start, size, count)
        except OSError as error:
            raise _unreadable("standard input", error) from None
        return
    try:
        with open(path, "rb") as stream:
            yield from _read(stream, path, start, size, count)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(name: str, error: OSError) -> InputError:
    from pybtf.unreadable import unreadable

    return unreadable(name, error, "a file with values")


def _read(stream: BinaryIO, name: str, start: int, size: int, count: int | None) -> Iterator[bytes]:
    if stream.seekable():
        try:
            stream.seek(start)
        except (OSError, ValueError):  # 2^63 and more; what a device or a file system does not take
            raise _beyond(stream, name, start) from None
    else:
        left = start
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:
                raise InputError(name, _bytes(start - left), f"a value at offset {start:#x}")
            left -= len(piece)
    at = start
    while count is None or at < start + size * count or (not size and count):
        try:
            data = _take(stream, size)
        except OSError:
            if _is_beyond(stream, at):  # tmpfs takes each offset, and fails to read across 2^63
                raise _beyond(stream, name, at) from None
            raise
        if len(data) < size:
            if not data:
                if (count is not None or at == start) and _is_beyond(stream, at):
                    raise _beyond(stream, name, at)
                if count is None:
                    return
            raise InputError(name, f"{_bytes(len(data))} at offset {at:#x}", f"a value of {_bytes(size)}")
        yield data
        at += size
        if not size and count is not None:
            count -= 1


def _bytes(count: int) -> str:
    return f"{count:,} byte{'' if count == 1 else 's'}"


def _is_beyond(stream: BinaryIO, offset: int) -> bool:
    return stream.seekable() and 0 < (_end(stream) or 0) < offset


def _beyond(stream: BinaryIO, name: str, offset: int) -> InputError:
    end = _end(stream)
    size = "" if end is None else f" ({end:,} bytes)"
    return InputError(name, f"offset {offset:#x} is beyond the end of the file{size}")


def _end(stream: BinaryIO) -> int | None:
    """How long a file is; None if it has no end, as the memory of a process."""
    try:
        return stream.seek(0, os.SEEK_END)
    except OSError:
        return None


def _take(stream: BinaryIO, size: int) -> bytes:
    """The next `size` bytes, or fewer at the end, without asking for memory that may not be needed."""
    found = bytearray()
    while len(found) < size:
        piece = stream.read(min(size - len(found), _PIECE))
        if not piece:
            break
        found += piece
    return bytes(found)
