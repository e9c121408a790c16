"""Modules as distributions install them: compressed as a whole (`.ko.xz`, `.ko.zst`, `.ko.gz`).

What a file is, its first bytes say, not its name. None of the formats has to promise a size in front, and a few KiB can
honestly unpack to many GiB of zeros. So the output is taken in pieces, and its length bounded as that of a compressed
section is (see compressed.py, whose limits hold here, too).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from pybtf.elf.compressed import FREE_SIZE, MAX_RATIO, MAX_SIZE, load_zstd
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError, Place

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
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
    try:
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            packed = stream.read()
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}", "a readable file") from None
    return ElfImage(path, _unpacked(packed, kind, Place(path)), status)


def unpack(packed: bytes, name: str) -> bytearray | None:
    """What is compressed in `packed`; None if it does not begin like compressed data. Raises `InputError`."""
    kind = next((kind for magic, kind in _MAGIC.items() if packed.startswith(magic)), None)
    return _unpacked(packed, kind, Place(name)) if kind is not None else None


def _unpacked(packed: bytes, kind: str, place: Place) -> bytearray:
    limit = min(MAX_SIZE, max(FREE_SIZE, MAX_RATIO * len(packed)))
    out = bytearray()
    try:
        for piece in _READERS[kind](packed, place):
            if len(out) + len(piece) > limit:
                raise InputError(
                    place,
                    f"more than {limit} bytes after decompression of {len(packed)}",
                    f"at most {MAX_RATIO} times the compressed size, and at most {MAX_SIZE} bytes",
                    f"If the file can be trusted, decompress it with {kind} first.",
                )
            out += piece
    except _Damaged as error:
        raise InputError(place, f"damaged {kind} data: {error}", "one complete compressed file") from None
    return out


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
    import ctypes

    class Buffer(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t))

    library = load_zstd(place, "zstd -d")
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    memory = ctypes.create_string_buffer(_PIECE)
    source = Buffer(ctypes.cast(ctypes.c_char_p(packed), ctypes.c_void_p), len(packed), 0)
    target = Buffer(ctypes.addressof(memory), _PIECE, 0)
    stream = library.ZSTD_createDStream()
    if not stream:
        raise MemoryError(f"{place}: not enough memory")
    try:
        left = 1
        while left or source.at < source.size:
            if source.at == source.size and target.at < _PIECE:
                raise _Damaged(_TRUNCATED)
            target.at = 0
            left = library.ZSTD_decompressStream(stream, ctypes.byref(target), ctypes.byref(source))
            if library.ZSTD_isError(left):
                raise _Damaged(library.ZSTD_getErrorName(left).decode("ascii", "replace"))
            yield memory.raw[: target.at]
    finally:
        library.ZSTD_freeDStream(stream)


def _check_end(rest: bytes) -> None:
    if rest.strip(b"\0"):
        raise _Damaged(f"{len(rest)} bytes after its end")


_READERS: Final[dict[str, Callable[[bytes, Place], Iterator[bytes]]]] = {
    "xz": _from_xz,
    "gzip": _from_gzip,
    "zstd": _from_zstd,
}
