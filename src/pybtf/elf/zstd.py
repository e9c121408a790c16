"""libzstd, through ctypes.

Python 3.11 has no zstd. The library has been part of every Linux distribution's base system for years (package
managers need it); it is loaded only when something asks for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from pybtf.errors import InputError, Place

_PIECE = 1 << 18


class DamagedError(Exception):
    """The compressed data is damaged: how."""


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t))


def load(place: Place, otherwise: str) -> ctypes.CDLL:
    """The library. `otherwise`: the command that does without it. Raises `InputError` if it is not there."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise InputError(
            place,
            f"compressed with zstd, and libzstd cannot be loaded: {error}",
            hint=f"Install libzstd1, or decompress the file with `{otherwise}`.",
        ) from None
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    library.ZSTD_getErrorName.restype = ctypes.c_char_p
    library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return library


def reason(library: ctypes.CDLL, code: int) -> str:
    """What an error code means."""
    text: bytes = library.ZSTD_getErrorName(code)
    return text.decode("ascii", "replace")


def pieces(library: ctypes.CDLL, packed: bytes) -> Iterator[bytes]:
    """What `packed`, one frame or several, unpacks to, in pieces of which none is empty. Raises `DamagedError`."""
    memory = ctypes.create_string_buffer(_PIECE)
    source = _Buffer(ctypes.cast(ctypes.c_char_p(packed), ctypes.c_void_p), len(packed), 0)
    target = _Buffer(ctypes.addressof(memory), _PIECE, 0)
    stream = library.ZSTD_createDStream()
    if not stream:
        raise MemoryError("not enough memory for zstd")
    step, ours, theirs = library.ZSTD_decompressStream, ctypes.byref(target), ctypes.byref(source)
    try:
        left = 1
        while left or source.at < source.size:
            if source.at == source.size and target.at < _PIECE:
                raise DamagedError("the compressed data ends in the middle")
            target.at = 0
            left = step(stream, ours, theirs)
            if library.ZSTD_isError(left):
                raise DamagedError(reason(library, left))
            if target.at:  # a frame can be empty, and there can be many
                yield ctypes.string_at(memory, target.at)
    finally:
        library.ZSTD_freeDStream(stream)
