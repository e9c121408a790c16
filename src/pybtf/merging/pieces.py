"""The two sections in which an object carries its unit values, as bytes and as records.

The *index* passes through every linker, as DWARF does: one piece per object, which says what was encoded and how, with
the addresses of its functions and variables, which relocations fill in. The *payload*, the values themselves, stays
behind in the object, and is found by its digest; or it is inline, part of the piece.

All integers are in the byte order of the ELF file. Pieces follow each other, with zeros between them at most. The
index, by offset:

    0  "bUV1"                        4 u16 version, 6 u16 bytes of this head (80)
    8  u32 bytes of the piece        12 u32 flags, below
    16 u32 units                     20 u32 addresses
    24 u32 options of the encoding   28 u32 rules: those of pahole << 8 | revision
    32 16 bytes: digest of the payload
    48 16 bytes: digest of .debug_info and .debug_abbrev, as they are in the object
    64 u32 bytes of the payload      68 u32 bytes of the names
    72 u32 bytes of an address       76 u32 0
    80 addresses; payload, if inline; names, each with a NUL: the object's path, and those of its STT_FILE symbols. Each
       of the three is padded to 8 bytes with zeros.

A payload is kept as "bUVB", u32 bytes of the values, its digest, 8 bytes of zeros; the digest of each block of the
values; and the values, padded to 8 bytes. Its digest is that of the digests of its blocks, so that it can be read in
part (core/values/stored_payload.py).
"""

from __future__ import annotations

import os
from struct import Struct

from xxhash import xxh3_128, xxh3_128_digest

from pybtf.core.values import index_pieces as core
from pybtf.elf.values_index import MAGIC, VALUES
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import NamedTuple

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence
    from typing import Final

INDEX: Final = ".debug_btf"
"""Its name has to begin with `.debug_`: linkers treat what refers to code that is left out by that (docs/merge.md)."""
PAYLOAD: Final = VALUES
"""Its name begins so because modpost asks about others that are not loaded."""
PAYLOAD_MAGIC: Final = b"bUVB"
VERSION: Final = 1
RULES: Final = 132 << 8 | 3
"""pahole's version, and the revision of what pybtf writes into values: to be raised whenever the same DWARF
gives other values."""

INLINE: Final = 1
ONE_UNIT: Final = 2

_HEADS: Final = tuple([Struct(order + "4sHHIIIIII16s16sIIII") for order in "><"])
_HEAD_SIZE: Final = 80
_STORED: Final = tuple([Struct(order + "4sI16sQ") for order in "><"])
"""Both by byte order, the little-endian one second."""
STORED_HEAD: Final = core.STORED_HEAD
_DIGEST_SIZE: Final = 16
Bytes = bytes | bytearray | memoryview


def digest(*parts: Bytes) -> bytes:
    """What identifies these bytes: XXH3 of 128 bits. It tells what was changed or mistaken, not what was forged."""
    if len(parts) == 1:
        return xxh3_128_digest(parts[0])
    made = xxh3_128()
    for part in parts:
        made.update(part)
    return made.digest()


class Piece(NamedTuple):
    """What the index says of one object.

    `files`: the names of its STT_FILE symbols; `addresses`: as many words as it has functions and variables, in the
    host's byte order; `payload`: if inline; `at`: where in the index the piece is.
    """

    flags: int
    units: int
    options: int
    rules: int
    payload_digest: bytes
    source_digest: bytes
    payload_size: int
    word: int
    path: str
    files: tuple[str, ...]
    addresses: array[int] | memoryview[int]
    payload: Bytes = b""
    at: int = 0


def pack(piece: Piece, *, little: bool) -> bytes:
    """The piece as it stands in the index of an object."""
    names = b"".join([_encode(name) for name in (piece.path, *piece.files)])
    words = _words(len(piece.addresses), piece.word, little).pack(*piece.addresses)
    body = [_padded(words), _padded(bytes(piece.payload)), _padded(names)]
    head = _HEADS[little].pack(
        MAGIC if little else MAGIC[::-1],
        VERSION,
        _HEAD_SIZE,
        _HEAD_SIZE + sum(map(len, body)),
        piece.flags,
        piece.units,
        len(piece.addresses),
        piece.options,
        piece.rules,
        piece.payload_digest,
        piece.source_digest,
        piece.payload_size,
        len(names),
        piece.word,
        0,
    )
    return b"".join((head, *body))




def _words(n: int, size: int, little: bool) -> Struct:
    return Struct(f"{'<' if little else '>'}{n}{'Q' if size == 8 else 'I'}")


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape").replace(b"\0", b"") + b"\0"


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def addresses_at() -> int:
    """Where in a piece its addresses begin."""
    return _HEAD_SIZE


def unpack(data: Bytes, place: Place, *, little: bool) -> list[Piece]:
    """The pieces of an index. Raises `InputError` for anything that is none."""
    found, bad = core.index_pieces(data, little, Piece)
    if bad is not None:
        raise _no_piece(data, place, little, *bad)
    return found


def _no_piece(data: Bytes, section: Place, little: bool, what: int, at: int, number: int, parts: int) -> InputError:
    """What the core has found at `at` of the index."""
    place = Place(section.file, section.section, at)
    if what == core.BAD_START:
        magic = bytes(data[at : at + 4])
        if magic == (MAGIC[::-1] if little else MAGIC):
            return InputError(
                place, "values of an object of the other byte order", f"a {_name(little)}-endian object"
            )
        return _damaged(place, f"{magic.hex(' ')}, where the values of an object should begin")
    if what == core.BAD_VERSION:
        hint = "Encode the objects anew, with one version of pybtf."
        return InputError(place, f"values of version {number}", f"{VERSION}", hint)
    if what == core.BAD_SIZE:
        left = len(data) - at
        return _damaged(place, f"a piece of {number} bytes, {parts} by its parts, with {left} left")
    if what == core.BAD_HEAD:
        return _damaged(place, "a head that is damaged")
    if what == core.BAD_PADDING:
        return _damaged(place, "something between the parts of a piece")
    return _damaged(place, "names that are damaged")


def _name(little: bool) -> str:
    return "little" if little else "big"


def _damaged(place: Place, found: str) -> InputError:
    return InputError(
        place,
        found,
        "pieces as pybtf object writes them",
        "Something in the build has changed the section; link again.",
    )


# ---- payloads ---------------------------------------------------------------------------------------------------


block_digest = xxh3_128_digest
"""The digest of a block. Workers call it for each that they read."""


def block_digests(payload: Bytes) -> bytes:
    """Those of its blocks, one after the other."""
    view = memoryview(payload)
    return b"".join([block_digest(view[at : at + core.BLOCK]) for at in range(0, len(view), core.BLOCK)])


def payload_digest(payload: Bytes) -> bytes:
    """What identifies a payload."""
    return digest(block_digests(payload))


def pack_payload(payload: Bytes, *, little: bool) -> bytes:
    """A payload as it stands in its section, or in a cache."""
    blocks = block_digests(payload)
    head, *values = stored_parts(PAYLOAD_MAGIC, digest(blocks), [payload], little=little)
    return b"".join((head, blocks, *values))


def stored_parts(magic: bytes, its_digest: bytes, content: Sequence[Bytes], *, little: bool) -> Iterator[Bytes]:
    """What has a head and padding like a payload, in parts: the head, the parts of the content, the padding."""
    size = sum([len(part) for part in content])
    yield _STORED[little].pack(magic if little else magic[::-1], size, its_digest, 0)
    yield from content
    yield bytes(-size % 8)


def values_at(size: int) -> int:
    """Where in a stored payload of this size its values begin."""
    return STORED_HEAD + _DIGEST_SIZE * (-(-size // core.BLOCK))


def packed_size(size: int) -> int:
    """Bytes that `pack_payload` makes of so many."""
    return values_at(size) + size + -size % 8


def stored_head(head: bytes, *, little: bool) -> tuple[bytes, int] | None:
    """The digest and the size of the payload that begins so; None: none does."""
    if len(head) != STORED_HEAD or head[:4] != (PAYLOAD_MAGIC if little else PAYLOAD_MAGIC[::-1]):
        return None
    _, size, its_digest, _ = _STORED[little].unpack(head)
    return its_digest, size


def stored_path(store: str, name: bytes) -> str:
    """Where in a store a payload is: two letters of its digest are a folder, so that none has too many files."""
    text = name.hex()
    return os.path.join(store, text[:2], text[2:])  # noqa: PTH118


def payloads(data: Bytes, place: Place, *, little: bool) -> Iterator[tuple[bytes, memoryview]]:
    """The payloads of a section, one after the other, by the digests that they have themselves. Whoever uses one
    compares it with that. Raises `InputError` for anything that is none.
    """
    view, at = memoryview(data), 0
    while at < len(view):
        stored = stored_head(bytes(view[at : at + STORED_HEAD]), little=little)
        if stored is None:
            raise _damaged(Place(place.file, place.section, at), "no payload")
        its_digest, size = stored
        start = at + values_at(size)
        if size > len(view) - start:
            raise _damaged(Place(place.file, place.section, at), f"a payload of {size} bytes")
        yield its_digest, view[start : start + size]
        at = start + size + -size % 8


def stored_payload(data: bytes, size: int, its_digest: bytes) -> bytes | None:
    """The payload that is all of a section, if it is of this size and called so. Whoever uses it compares it with that.
    """
    head = stored_head(data[:STORED_HEAD], little=data[:4] == PAYLOAD_MAGIC)
    if head != (its_digest, size) or len(data) != packed_size(size):
        return None
    return data[values_at(size) : values_at(size) + size]
