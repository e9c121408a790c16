"""The index of a linked file: what is packed is read back, and everything else is refused."""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass
from struct import pack_into

import pytest

from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError, Place
from pybtf.merging.pieces import INLINE, ONE_UNIT, Piece, pack, unpack

PLACE = Place("vmlinux", ".debug_btf", 0)


def a_piece(rng: random.Random) -> Piece:
    word = rng.choice((4, 8))
    flags = rng.choice((0, INLINE)) | rng.choice((0, ONE_UNIT)) | rng.choice((0, STRIPPED))
    payload = rng.randbytes(rng.randrange(1, 20)) if flags & INLINE else b""
    return Piece(
        flags,
        rng.randrange(3),
        rng.getrandbits(32),
        rng.getrandbits(32),
        rng.randbytes(16),
        rng.randbytes(16),
        len(payload) if payload else rng.getrandbits(32),
        word,
        rng.choice(("", "a.o", "lib/b.o", "\udcff\N{SNOWMAN}")),
        tuple(rng.choice(("", "a.c", "x.S")) for _ in range(rng.randrange(4))),
        array("Q", [rng.getrandbits(8 * word) for _ in range(rng.randrange(5))]),
        payload,
    )


def same(piece: Piece) -> tuple[object, ...]:
    return (*piece[:10], list(piece.addresses), bytes(piece.payload))


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("seed", range(50))
def test_what_is_packed_is_read(seed: int, little: bool) -> None:
    rng = random.Random(seed)
    pieces = [a_piece(rng) for _ in range(rng.randrange(6))]
    index, at = b"", []
    for piece in pieces:
        index += bytes(8 * rng.randrange(3))
        at.append(len(index))
        index += pack(piece, little=little)
    index += bytes(rng.randrange(20))
    found = unpack(index, PLACE, little=little)
    assert [same(piece) for piece in found] == [same(piece) for piece in pieces]
    assert [piece.at for piece in found] == at
    assert unpack(memoryview(bytearray(index)), PLACE, little=little) == found


ONE = Piece(INLINE, 1, 2, 3, bytes(16), bytes(16), 3, 4, "a.o", ("a.c",), array("Q", [1, 2, 3]), b"abc")
"""80 bytes of head; 12 of addresses, 4 of padding; 3 and 5; "a.o" and "a.c", 8 bytes."""


@dataclass(frozen=True)
class Damage:
    at: int
    word: int
    says: str


@pytest.mark.parametrize(
    "damage",
    [
        Damage(0, 0x31565563, "63 55 56 31, where the values of an object should begin"),
        Damage(0, 0x62555631, "values of an object of the other byte order; expected a little-endian object"),
        Damage(4, 0x00500002, "values of version 2; expected 1"),
        Damage(4, 0x00480001, "a head that is damaged"),
        Damage(8, 104, "a piece of 104 bytes, 112 by its parts, with 112 left"),
        Damage(12, 9, "a head that is damaged"),
        Damage(12, 0, "a piece of 112 bytes, 104 by its parts, with 112 left"),
        Damage(20, 0xFFFFFFFF, "a piece of 112 bytes, 17179869280 by its parts, with 112 left"),
        Damage(64, 0xFFFFFFFF, "a piece of 112 bytes, 4294967400 by its parts, with 112 left"),
        Damage(68, 0xFFFFFFFF, "a piece of 112 bytes, 4294967400 by its parts, with 112 left"),
        Damage(68, 0, "a piece of 112 bytes, 104 by its parts, with 112 left"),
        Damage(72, 8, "a piece of 112 bytes, 120 by its parts, with 112 left"),
        Damage(72, 5, "a head that is damaged"),
        Damage(76, 1, "a head that is damaged"),
        Damage(92, 1, "something between the parts of a piece"),
        Damage(100, 1 << 24, "something between the parts of a piece"),
        Damage(108, 0x61626364, "names that are damaged"),
        Damage(68, 7, "names that are damaged"),
        Damage(68, 6, "something between the parts of a piece"),
    ],
    ids=lambda damage: f"{damage.at}:{damage.word:#x}",
)
def test_damage_is_named(damage: Damage) -> None:
    good = pack(ONE, little=True)
    assert len(good) == 112
    bad = bytearray(good)
    pack_into("<I", bad, damage.at, damage.word)
    for first in (b"", bytes(8), good):
        with pytest.raises(InputError) as raised:
            unpack(first + bytes(bad), PLACE, little=True)
        assert damage.says in str(raised.value)
        assert f"{len(first):#x}" in str(raised.value)


@pytest.mark.parametrize(("little", "order"), [(True, "little"), (False, "big")])
def test_another_byte_order_is_named(little: bool, order: str) -> None:
    with pytest.raises(InputError, match=f"of the other byte order; expected a {order}-endian object"):
        unpack(pack(ONE, little=not little), PLACE, little=little)


def test_no_names() -> None:
    bad = bytearray(pack(ONE._replace(path="", files=()), little=True)[:-8])
    pack_into("<I", bad, 8, len(bad))
    pack_into("<I", bad, 68, 0)
    with pytest.raises(InputError, match="names that are damaged"):
        unpack(bad, PLACE, little=True)


def test_the_end_may_be_anywhere() -> None:
    good = pack(ONE, little=True) + pack(ONE._replace(word=8), little=True)
    for size in range(len(good)):
        if size not in (0, 112):
            with pytest.raises(InputError):
                unpack(good[:size], PLACE, little=True)


@pytest.mark.parametrize("seed", range(20))
def test_random_damage(seed: int) -> None:
    """The sanitizers check that nothing outside the index is read."""
    rng = random.Random(seed)
    little = bool(seed % 2)
    good = b"".join(pack(a_piece(rng), little=little) for _ in range(3))
    refused = 0
    for _ in range(200):
        bad = bytearray(good[: rng.randrange(len(good) + 1)] if rng.random() < 0.2 else good)
        for _ in range(rng.randrange(1, 4)):
            if bad:
                bad[rng.randrange(len(bad))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        try:
            unpack(bytes(bad), PLACE, little=little)
        except InputError:
            refused += 1
    assert refused > 50
