"""Chains of origins, and types with many namesakes, longer than compilers write them; the reference encodes them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import pybtf
from pybtf.errors import InputError
from tests.builders.kernelish import FLAVOURS
from tests.builders.rawdwarf import ADDR, DATA1, PRESENT, REF4, STRING, RawDwarf

ORIGIN, SPECIFICATION = 0x31, 0x47

#: The reference's BTF for a function whose name and type are at the end of a chain of 1,000 abstract origins.
EXPECTED = bytes.fromhex(
    "9feb01001800000000000000280000002800000007000000010000000000000104000000"
    "20000001000000000000000d01000000050000000000000c0200000000696e74006600"
)


def chain(links: int, attribute: int, *, forward: bool, end: bool = True) -> bytes:
    """A function that takes everything from the one at the end of a chain. Without an end, the chain is a cycle."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    numbers = range(links + 1) if forward else range(links, -1, -1)
    at = [0] * (links + 1)
    for number in numbers:
        if number == links and end:
            at[number] = w.die(0x2E, (0x03, STRING, "f"), (0x49, REF4, int_), (0x3F, PRESENT, 1))
        elif number == 0:
            at[number] = w.die(0x2E, (attribute, REF4, 0), (0x11, ADDR, FLAVOURS["x86_64"].text))
        else:
            at[number] = w.die(0x2E, (attribute, REF4, 0))
    for number in range(links + (not end)):
        struct.pack_into("<I", w.info, at[number] + 1, at[(number + 1) % (links + 1)])
    w.end()
    return w.kernel()


@pytest.mark.parametrize("links", [1, 64, 1000, 20_000])
@pytest.mark.parametrize("forward", [False, True])
def test_origins(links: int, forward: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(chain(links, ORIGIN, forward=forward))
    assert pybtf.encode(path).data == EXPECTED


@pytest.mark.parametrize("attribute", [ORIGIN, SPECIFICATION])
@pytest.mark.parametrize("links", [1, 64, 1000])
def test_circles(attribute: int, links: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(chain(links, attribute, forward=True, end=False))
    with pytest.raises(InputError, match="a chain of references that comes back to"):
        pybtf.encode(path)


def test_namesakes_that_are_nearly_equal(tmp_path: Path) -> None:
    """Each refers to the next, and comparing two goes on to the end: 17 million steps. The reference keeps them all."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    count = 470
    structs = []
    for number in range(count + 1):
        to = w.die(0x0F, (0x49, REF4, 0)) if number < count else int_
        structs.append(w.die(0x13, (0x03, STRING, "s"), (0x0B, DATA1, 8), children=True))
        w.die(0x0D, (0x49, REF4, to), (0x38, DATA1, 0))
        w.null()
    for number in range(count):
        struct.pack_into("<I", w.info, structs[number] - 4, structs[number + 1])
    w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    made = pybtf.encode(path)
    assert (made.report.types["STRUCT"], made.report.types["PTR"]) == (count + 1, count)
