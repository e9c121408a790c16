"""Compressed sections: SHF_COMPRESSED with zlib or zstd, and the older `.zdebug_*`.

The size after decompression is declared in the section and taken as a claim, not as a fact. It bounds the
output: a stream that yields one byte more, or one less, is damaged. And it is itself bounded, since a few KiB
can honestly unpack to many GiB of zeros: beyond `FREE_SIZE` bytes, the size may be at most `MAX_RATIO` times
the compressed size, where real debug sections reach 3 to 20. The output goes to an anonymous map, whose pages
exist only once written, so that the peak is the size of the data and no second copy is ever made.

Python 3.11 has no zstd. libzstd has been part of every Linux distribution's base system for years (package
managers need it), so it is loaded through ctypes, and only when a section asks for it.
"""

from __future__ import annotations

import mmap
from struct import Struct

from pybtf.elf.constants import ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
from pybtf.errors import InputError, Place

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import Final

FREE_SIZE: Final = 64 << 20
MAX_RATIO: Final = 256
MAX_SIZE: Final = (1 << 32) - 1  # offsets in debug sections are 32 bits wide in the decoder

_CHUNK: Final = 1 << 18


def decompress_gabi(raw: memoryview, place: Place, *, is64: bool, little: bool) -> memoryview:
    """Unpack a section with SHF_COMPRESSED: an Elf32_Chdr or Elf64_Chdr, then the stream."""
    order = "<" if little else ">"
    header = Struct(f"{order}I4xQQ" if is64 else f"{order}III")
    if len(raw) < header.size:
        raise InputError(place, f"only {len(raw)} bytes", f"a compression header of {header.size} bytes")
    kind, size, _ = header.unpack_from(raw)
    packed = raw[header.size :]
    if kind == ELFCOMPRESS_ZLIB:
        return _inflate(packed, size, place)
    if kind == ELFCOMPRESS_ZSTD:
        return _unzstd(packed, size, place)
    raise InputError(place, f"compression type {kind}", "1 (zlib) or 2 (zstd)")


def decompress_gnu(raw: memoryview, place: Place) -> memoryview:
    """Unpack a `.zdebug_*` section: "ZLIB", the size as 8 bytes big-endian in any ELF, then the stream."""
    if len(raw) < 12 or bytes(raw[:4]) != b"ZLIB":
        raise InputError(place, f"starts with {bytes(raw[:12]).hex(' ')}", '"ZLIB" and a size of 8 bytes')
    return _inflate(raw[12:], int.from_bytes(raw[4:12], "big"), place)


def _buffer(packed: memoryview, size: int, place: Place) -> mmap.mmap:
    """Memory for `size` bytes, once that size is plausible. `size` is not 0."""
    if size > MAX_SIZE or (size > FREE_SIZE and size > MAX_RATIO * len(packed)):
        raise InputError(
            place,
            f"declares {size} bytes after decompression of {len(packed)}",
            f"at most {MAX_RATIO} times the compressed size, and at most {MAX_SIZE} bytes",
            "If the file can be trusted, decompress it with `objcopy --decompress-debug-sections` first.",
        )
    try:
        return mmap.mmap(-1, size)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(place, f"no memory for its {size} bytes after decompression: {error}") from None


def _inflate(packed: memoryview, size: int, place: Place) -> memoryview:
    import zlib

    if size == 0:
        return memoryview(b"")
    output = memoryview(_buffer(packed, size, place))
    stream = zlib.decompressobj()
    done = 0
    try:
        for start in range(0, len(packed), _CHUNK):
            piece: bytes | memoryview = packed[start : start + _CHUNK]
            while piece:
                # One byte more than is left, so that an overlong stream shows.
                part = stream.decompress(piece, min(size - done + 1, 4 * _CHUNK))
                if len(part) > size - done:
                    raise _wrong_size(place, f"more than {size}", size)
                output[done : done + len(part)] = part
                done += len(part)
                piece = stream.unconsumed_tail
            if stream.eof:
                break
    except zlib.error as error:
        raise InputError(place, f"damaged zlib data: {error}", f"{size} bytes after decompression") from None
    if done < size:
        raise _wrong_size(place, str(done), size)
    return output.toreadonly()


def load_zstd(place: Place, otherwise: str) -> ctypes.CDLL:
    """libzstd, with what tells an error from a result. `otherwise`: the command that does without it."""
    import ctypes

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
    return library


def _unzstd(packed: memoryview, size: int, place: Place) -> memoryview:
    import ctypes

    if size == 0:
        return memoryview(b"")
    library = load_zstd(place, "objcopy --decompress-debug-sections")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    output = _buffer(packed, size, place)
    target = (ctypes.c_char * size).from_buffer(output)
    done = library.ZSTD_decompress(target, size, bytes(packed), len(packed))
    if library.ZSTD_isError(done):
        reason = library.ZSTD_getErrorName(done).decode("ascii", "replace")
        raise InputError(place, f"damaged zstd data: {reason}", f"{size} bytes after decompression")
    if done != size:
        raise _wrong_size(place, str(done), size)
    return memoryview(output).toreadonly()


def _wrong_size(place: Place, found: str, size: int) -> InputError:
    return InputError(place, f"decompresses to {found} bytes", f"the {size} bytes that it declares")
