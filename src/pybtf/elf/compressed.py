"""Compressed sections: SHF_COMPRESSED with zlib or zstd, and the older `.zdebug_*`.

The size after decompression is declared in the section and taken as a claim, not as a fact. It bounds the
output: a stream that yields one byte more, or one less, is damaged. And it is itself bounded, since a few KiB
can honestly unpack to many GiB of zeros, and sections can overlap, so that the same KiB do it again: all that is
unpacked for one image comes out of one budget, of `MAX_RATIO` times the size of the file and `FREE_SIZE`; all the
`.dwo` files of a program have one `FREE_SIZE`. Debug sections reach 3 to 10 with zlib and 20 with zstd at its best, and
a file has other contents as well; zlib ends at 1030, zstd nowhere. Sections of DIEs come out of a second budget, of
`DIES_RATIO` times the size of the file and `FREE_DIES`, too, also those of a file that is compressed as a whole: of
each of their bytes the encoder may make a hundred. The output goes to an anonymous map, whose pages exist only once
written, so that the peak is the size of the data and no second copy is made.
"""

from __future__ import annotations

import mmap
from struct import Struct

from pybtf.elf.constants import ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

FREE_SIZE: Final = 32 << 20
FREE_DIES: Final = 1 << 20
MAX_RATIO: Final = 64
DIES_RATIO: Final = 32
MAX_SIZE: Final = (1 << 32) - 1  # offsets in debug sections are 32 bits wide in the decoder

_CHUNK: Final = 1 << 18
_LOOK: Final = 1 << 12  # of data compressed with zlib, to see how it begins
_LONGEST_BLOCK: Final = (128 << 10) + 64  # of zstd, with the headers of the frame and the block


class Budget:
    """What may be unpacked for one image, of `stored` bytes on the disk."""

    __slots__ = ("dies", "left", "limit", "stored")

    def __init__(self, stored: int) -> None:
        self.stored = stored
        self.limit = self.left = FREE_SIZE + MAX_RATIO * stored
        self.dies = most_dies(stored)

    def take(self, size: int, packed: int, place: Place) -> None:
        """Raise `InputError` if the `size` bytes that `packed` bytes are to become are too many."""
        if size > MAX_SIZE or size > self.left:
            before = self.limit - self.left
            earlier = f", after {before} bytes of other sections" if before else ""
            raise _too_many(place, size, packed, earlier, f"at most {min(self.limit, MAX_SIZE)} bytes in all")
        if has_dies(place.section or ""):
            if size > self.dies:
                limit = most_dies(self.stored)
                before = limit - self.dies
                earlier = f", after {before} bytes of other sections of DIEs" if before else ""
                raise _too_many(place, size, packed, earlier, f"at most {limit} bytes of DIEs in all")
            self.dies -= size
        self.left -= size

    def free_taken(self) -> int:
        """How much of `FREE_SIZE` has been needed."""
        return max(0, self.limit - self.left - MAX_RATIO * self.stored)


def most_dies(stored: int) -> int:
    """Bytes of DIEs that may be unpacked for a file of `stored` bytes."""
    return FREE_DIES + DIES_RATIO * stored


def has_dies(name: str) -> bool:
    """Whether a section of this name is one of DIEs."""
    return name.replace(".zdebug_", ".debug_", 1).removesuffix(".dwo") in (".debug_info", ".debug_types")


def _too_many(place: Place, size: int, packed: int, earlier: str, expected: str) -> InputError:
    return InputError(
        place,
        f"declares {size} bytes after decompression of {packed}{earlier}",
        f"{expected} for a file of this size",
        "If the file can be trusted, decompress it with `objcopy --decompress-debug-sections` first.",
    )


def decompress(raw: memoryview, place: Place, budget: Budget, layout: str | None) -> memoryview:
    """Unpack a section with SHF_COMPRESSED, whose Elf32_Chdr or Elf64_Chdr has this `layout`; None: a `.zdebug_*`."""
    kind, size, packed = _opened(raw, place, layout)
    if size == 0:
        return memoryview(b"")
    budget.take(size, len(packed), place)
    try:
        output = mmap.mmap(-1, size)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(place, f"no memory for its {size} bytes after decompression: {error}") from None
    (_inflate if kind == ELFCOMPRESS_ZLIB else _unzstd)(packed, output, size, place)
    return memoryview(output).toreadonly()


def beginning(raw: memoryview, place: Place, size: int, layout: str | None) -> bytes:
    """The first `size` bytes of such a section, or fewer. Nothing else is unpacked, so that it costs little."""
    kind, declared, packed = _opened(raw, place, layout)
    size = min(size, declared)
    if kind == ELFCOMPRESS_ZLIB:
        import zlib

        found, rest = b"", bytes(packed[:_LOOK])
        try:
            while rest and len(found) < size:
                stream = zlib.decompressobj()
                found += stream.decompress(rest, size - len(found))
                rest = stream.unused_data
        except zlib.error as error:
            raise _damaged(place, "zlib", str(error), declared) from None
        return found
    from pybtf.elf import zstd

    library = zstd.load(place, _OTHERWISE)
    try:
        # Nothing of a block comes out before all of it has gone in.
        return next(zstd.pieces(library, bytes(packed[:_LONGEST_BLOCK])), b"")[:size]
    except zstd.DamagedError as error:
        raise _damaged(place, "zstd", str(error), declared) from None


def declared_size(raw: memoryview, place: Place, layout: str | None) -> int:
    """The size that such a section declares, which may be a lie."""
    return _opened(raw, place, layout)[1]


def chdr_layout(*, is64: bool, little: bool) -> str:
    """The layout of an Elf32_Chdr or Elf64_Chdr: type, size, alignment."""
    return f"{'<' if little else '>'}{'I4xQQ' if is64 else 'III'}"


def _opened(raw: memoryview, place: Place, layout: str | None) -> tuple[int, int, memoryview]:
    """What a compressed section says of itself: type, declared size, and the stream."""
    if layout is None:
        # "ZLIB", the size as 8 bytes big-endian in any ELF, then the stream.
        if len(raw) < 12 or bytes(raw[:4]) != b"ZLIB":
            found = f"starts with {bytes(raw[:12]).hex(' ')}" if raw else "empty"
            raise InputError(place, found, '"ZLIB" and a size of 8 bytes')
        return ELFCOMPRESS_ZLIB, int.from_bytes(raw[4:12], "big"), raw[12:]
    header = Struct(layout)
    if len(raw) < header.size:
        raise InputError(place, f"only {len(raw)} bytes", f"a compression header of {header.size} bytes")
    kind, size, _ = header.unpack_from(raw)
    if kind not in (ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD):
        raise InputError(place, f"compression type {kind}", "1 (zlib) or 2 (zstd)")
    return kind, size, raw[header.size :]


def _inflate(packed: memoryview, output: mmap.mmap, size: int, place: Place) -> None:
    done = 0
    with memoryview(output) as target:
        for part in _inflated(packed, size, place):
            target[done : done + len(part)] = part
            done += len(part)
    if done < size:
        raise _wrong_size(place, str(done), size)


def _inflated(packed: memoryview, size: int, place: Place) -> Iterator[bytes]:
    """What the streams in `packed`, one after the other, unpack to, in pieces, which may be empty."""
    import zlib

    at = done = ended = 0
    try:
        while at < len(packed):
            stream, step = zlib.decompressobj(), _LOOK  # little at first: what is after a stream is copied each time
            while at < len(packed) and not stream.eof:
                piece = packed[at : at + step]
                # One byte more than is left, so that an overlong stream shows.
                part = stream.decompress(piece, min(size - done + 1, 4 * _CHUNK))
                done += len(part)
                if done > size:
                    raise _wrong_size(place, f"more than {size}", size)
                at += len(piece) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
                step = min(2 * step, _CHUNK)
                yield part
            if not stream.eof:
                raise zlib.error("the compressed data ends in the middle")
            ended = at
    except zlib.error as error:
        earlier = f"{len(packed) - ended} bytes after its end: " if ended else ""
        raise _damaged(place, "zlib", f"{earlier}{error}", size) from None


def _unzstd(packed: memoryview, output: mmap.mmap, size: int, place: Place) -> None:
    import ctypes

    from pybtf.elf import zstd

    library = zstd.load(place, _OTHERWISE)
    target = (ctypes.c_char * size).from_buffer(output)
    done = library.ZSTD_decompress(target, size, bytes(packed), len(packed))
    if library.ZSTD_isError(done):
        raise _damaged(place, "zstd", zstd.reason(library, done), size)
    if done != size:
        raise _wrong_size(place, str(done), size)


_OTHERWISE: Final = "objcopy --decompress-debug-sections"


def _damaged(place: Place, what: str, why: str, size: int) -> InputError:
    return InputError(place, f"damaged {what} data: {why}", f"{size} bytes after decompression")


def _wrong_size(place: Place, found: str, size: int) -> InputError:
    return InputError(place, f"decompresses to {found} bytes", f"the {size} bytes that it declares")
