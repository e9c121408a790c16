"""Tables of abbreviations that follow each other (core/dwarf/known_decls.py): what is known from earlier ones changes
nothing. Each table is also read by itself, and must give the same declarations or the same fault.
"""

from __future__ import annotations

import random

import pytest

from tests.builders.dwarfwriter import sleb, uleb
from tests.probe.rules_probe import probe_abbrevs

#: (attribute, form): usual pairs, pairs of two-byte numbers, wanted and unwanted ones; last, values in the declaration.
PAIRS = [
    (0x03, 0x0E), (0x03, 0x08), (0x49, 0x13), (0x0B, 0x0B), (0x38, 0x0B), (0x38, 0x05), (0x3A, 0x0B), (0x3B, 0x05),
    (0x39, 0x0B), (0x01, 0x13), (0x3F, 0x19), (0x3C, 0x19), (0x1C, 0x0D), (0x02, 0x18), (0x2137, 0x19), (0x8A, 0x13),
    (0x7D, 0x13), (0x0B, 0x0F), (0x49, 0x10), (0x3A, 0x21), (0x38, 0x21), (0x1C, 0x21), (0x0B, 0x21),
]  # fmt: skip
TAGS = [0x0D, 0x0F, 0x13, 0x15, 0x16, 0x17, 0x24, 0x26, 0x28, 0x34, 0x05, 0x2E, 0x48, 0x4109, 0x8765]


def declaration(dice: random.Random) -> bytes:
    """Everything after the code."""
    data = uleb(dice.choice(TAGS)) + bytes([dice.random() < 0.4])
    for _ in range(dice.choice((0, 1, 2, 3, 4, 5, 6, 8, 150))):
        attribute, form = dice.choice(PAIRS)
        data += uleb(attribute) + uleb(form)
        if form == 0x21:
            data += sleb(dice.choice((0, 1, 5, 64, -1, -129, 1 << 40)))
        if dice.random() < 0.01:  # a number that is longer than it has to be
            data += bytes([0x83, 0x00, 0x8B, 0x00])
    return data + b"\0\0"


def tables(dice: random.Random, count: int) -> tuple[bytearray, list[int]]:
    """Tables of the same few declarations, in different orders and with different codes."""
    known = [declaration(dice) for _ in range(30)]
    section, offsets = bytearray(), []
    for _ in range(count):
        offsets.append(len(section))
        chosen = dice.sample(known, dice.randrange(1, len(known)))
        step = dice.choice((1, 1, 1, 3))
        for number, each in enumerate(chosen):
            section += uleb(1 + step * number) + each
        section += b"\0"
    return section, offsets


def alike(data: bytes, offsets: list[int], sizes: list[tuple[int, int, int]]) -> list[tuple[object, ...]]:
    """What the tables contain. Reading each by itself gives the same. `sizes`: version, address size, offset size."""
    wanted = [(offset, *size) for offset, size in zip(offsets, sizes, strict=True)]
    alone = [probe_abbrevs(data, [each])[0] for each in wanted]
    assert probe_abbrevs(data, wanted) == alone
    return alone


USUAL = (5, 8, 4)


@pytest.mark.parametrize("seed", range(60))
def test_tables_of_the_same_declarations(seed: int) -> None:
    dice = random.Random(f"abbrevs/{seed}")
    section, offsets = tables(dice, 20)
    found = alike(bytes(section), offsets, [USUAL] * len(offsets))
    assert sum(len(each) == 4 for each in found) > 10  # most are sound


@pytest.mark.parametrize("seed", range(60))
def test_tables_of_different_units(seed: int) -> None:
    dice = random.Random(f"units/{seed}")
    section, offsets = tables(dice, 20)
    other = (dice.choice((2, 4)), dice.choice((4, 8)), dice.choice((4, 8)))
    sizes = [dice.choice((USUAL, other)) for _ in offsets]
    alike(bytes(section), offsets, sizes)


@pytest.mark.parametrize("seed", range(40))
def test_tables_with_damage(seed: int) -> None:
    dice = random.Random(f"damage/{seed}")
    section, offsets = tables(dice, 12)
    for _ in range(20):
        damaged = bytearray(section)
        for _ in range(dice.choice((1, 1, 3))):
            damaged[dice.randrange(len(damaged))] = dice.choice((0, 0x21, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        data = bytes(damaged[: dice.choice((len(damaged), dice.randrange(1, len(damaged))))])
        alike(data, offsets, [USUAL] * len(offsets))


def test_more_declarations_than_are_kept() -> None:
    """Three times as many declarations as are kept come before each table; then the first ones come again."""
    section, offsets = bytearray(), []
    for number in [*range(60), *range(5)]:
        offsets.append(len(section))
        for code in range(1, 801):
            section += uleb(code) + b"\x16\0" + b"\x03\x0e" + b"\x3b\x21" + sleb(800 * number + code)
            section += b"\x1c\x21" + sleb(code) + b"\0\0"
        section += b"\0"
    found = alike(bytes(section), offsets, [USUAL] * len(offsets))
    assert found[:5] == found[-5:]


def test_programs_that_are_kept_have_a_bound() -> None:
    """Declarations too long to be remembered are compiled each time, and their programs are forgotten in the end."""
    long = b"\x13\0" + b"\x3a\x0b\x03\x0e\x49\x13\x02\x0a" * 40 + b"\0\0"
    section = bytearray()
    for code in range(1, 1001):
        section += uleb(code) + long
    section += b"\0"
    small = len(section)
    section += b"\1" + b"\x16\0\x03\x0e\x49\x13\0\0" + b"\0"
    alike(bytes(section), [0, small] * 12, [USUAL] * 24)
