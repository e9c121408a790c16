"""Modules as distributions install them: compressed as a whole (`.ko.xz`, `.ko.zst`, `.ko.gz`).

A file's first bytes, not its name, say what it is. None of the formats has to promise a size in front, and a few KiB
can honestly unpack to many GiB of zeros. So the output is taken in pieces, and its length bounded as that of compressed
sections is (see compressed.py, whose limits hold here, too). If the image has compressed sections itself, these get
what is left.
"""

from __future__ import annotations

import os
import stat

from pybtf.elf.compressed import FREE_SIZE, MAX_RATIO, MAX_SIZE, most_dies
from pybtf.elf.image import ElfImage, Source
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

SUFFIXES: Final = (".xz", ".zst", ".gz")
"""What compressed modules are called."""

_PIECE: Final = 1 << 18
_MEMORY: Final = 256 << 20  # what a decoder may use: the dictionary of `xz -9` has 64 MiB
_MAGIC: Final = {b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip"}
_TRUNCATED: Final = "the compressed data ends in the middle"


class _Damaged(Exception):
    """The compressed data is damaged: how."""


def compression(path: str | os.PathLike[str]) -> str | None:
    """`xz`, `zstd` or `gzip` if the regular file begins like one; else None, also if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe would wait otherwise
        try:
            start = os.read(fd, 8) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def is_packed(start: bytes) -> bool:
    """Whether a file that begins so is compressed as a whole."""
    return start.startswith(tuple(_MAGIC))


def require_plain(path: str) -> None:
    """Raise `InputError` if the file is compressed as a whole: it can be read then, but not changed."""
    kind = compression(path)
    if kind is not None:
        hint = "Its BTF can be written to a file of its own: --detached OUT, or --detached-dir DIR."
        raise InputError(path, f"compressed with {kind}", "an ELF file, to put .BTF into", hint)


def open_module(path: str) -> ElfImage:
    """The ELF file `path`, which may be compressed as a whole. Raises `InputError`."""
    try:
        return ElfImage.open(path)
    except InputError:
        kind = compression(path)
        if kind is None:
            raise
    source = Source(path)
    packed = source.read()
    change = source.change()
    if change is not None:
        raise change
    image = ElfImage(path, _unpacked(packed, kind, Place(path)), source.status, len(packed))
    dies, most = image.plain_dies(), most_dies(len(packed))
    if dies > most:
        raise _too_many(path, f"{dies} bytes of DIEs", len(packed), f"at most {most} bytes of DIEs", kind)
    return image


def unpack(packed: bytes, name: str) -> bytearray | None:
    """What is compressed in `packed`; None if it does not begin like compressed data. Raises `InputError`."""
    kind = next((kind for magic, kind in _MAGIC.items() if packed.startswith(magic)), None)
    return _unpacked(packed, kind, Place(name)) if kind is not None else None


def _unpacked(packed: bytes, kind: str, place: Place) -> bytearray:
    limit = min(MAX_SIZE, FREE_SIZE + MAX_RATIO * len(packed))
    out = bytearray()
    try:
        for piece in _READERS[kind](packed, place):
            if len(out) + len(piece) > limit:
                raise _too_many(place, f"more than {limit} bytes", len(packed), f"at most {limit} bytes", kind)
            out += piece
    except _Damaged as error:
        raise InputError(place, f"damaged {kind} data: {error}", "one complete compressed file") from None
    return out


def _too_many(place: Place | str, found: str, packed: int, expected: str, kind: str) -> InputError:
    hint = f"If the file can be trusted, decompress it with {kind} first."
    return InputError(place, f"{found} after decompression of {packed}", expected, hint)


def _from_xz(packed: bytes, place: Place) -> Iterator[bytes]:
    import lzma

    try:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
        piece = stream.decompress(packed, _PIECE)
        while piece or not stream.eof:
            if not piece and stream.needs_input:
                raise _Damaged(_TRUNCATED)
            yield piece
            piece = b"" if stream.eof else stream.decompress(b"", _PIECE)
    except lzma.LZMAError as error:
        raise _Damaged(str(error)) from None
    _check_end(stream.unused_data)


def _from_gzip(packed: bytes, place: Place) -> Iterator[bytes]:
    import zlib

    try:
        stream = zlib.decompressobj(wbits=31)
        at = 0
        while not stream.eof:
            rest = stream.unconsumed_tail
            if not rest:
                rest = packed[at : at + _PIECE]
                at += len(rest)
                if not rest:
                    raise _Damaged(_TRUNCATED)
            yield stream.decompress(rest, _PIECE)
    except zlib.error as error:
        raise _Damaged(str(error)) from None
    _check_end(stream.unused_data + packed[at:])


def _from_zstd(packed: bytes, place: Place) -> Iterator[bytes]:
    from pybtf.elf import zstd

    try:
        yield from zstd.pieces(zstd.load(place, "zstd -d"), packed)
    except zstd.DamagedError as error:
        raise _Damaged(str(error)) from None


def _check_end(rest: bytes) -> None:
    if rest.strip(b"\0"):
        raise _Damaged(f"{len(rest)} bytes after its end")


_READERS: Final[dict[str, Callable[[bytes, Place], Iterator[bytes]]]] = {
    "xz": _from_xz,
    "gzip": _from_gzip,
    "zstd": _from_zstd,
}
