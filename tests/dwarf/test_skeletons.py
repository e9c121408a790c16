"""The look for skeletons: what it has looked at goes back, all of it, and nothing beyond."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from pybtf.dwarf.skeletons import has_skeletons

MIB = 1 << 20


def units(*sizes: int, claimed: int = 0) -> bytes:
    """Units of DWARF 4 of so many bytes; the last one claims `claimed` bytes more."""
    lengths = [size - 4 for size in sizes]
    lengths[-1] += claimed
    pairs = zip(sizes, lengths, strict=True)
    return b"".join(struct.pack("<IHIB", length, 4, 0, 8).ljust(size, b"\0") for size, length in pairs)


@pytest.mark.parametrize("sizes", [(64,), (5 * MIB,) * 4, (9 * MIB, 100, 20 * MIB, 100)])
@pytest.mark.parametrize("claimed", [0, 1 << 28])
def test_what_was_looked_at_goes_back(sizes: tuple[int, ...], claimed: int) -> None:
    info = units(*sizes, claimed=claimed)
    given: list[tuple[int, int]] = []
    found = has_skeletons({"info": info, "abbrev": b"\0", "addr": b""}, lambda *each: given.append(each), little=True)
    assert not found
    assert given[0][0] == 0
    assert given[-1][1] == len(info)
    assert all(before[1] == after[0] for before, after in pairwise(given))
    assert max(end - start for start, end in given) <= 8 * MIB + max(sizes)


@pytest.mark.parametrize(
    ("units", "more", "wanted"), [(4096, {}, True), (4097, {}, False), (4097, {"addr": b""}, True)]
)
def test_large_files_without_addresses_are_not_looked_at(units: int, more: dict[str, bytes], wanted: bool) -> None:
    skeleton = struct.pack("<IHBBIQ", 60, 5, 4, 8, 0, 1).ljust(64, b"\0")
    given: list[tuple[int, int]] = []
    sections = {"info": skeleton * units, "abbrev": b"\0", **more}
    assert has_skeletons(sections, lambda *each: given.append(each), little=True) is wanted
    assert not given
