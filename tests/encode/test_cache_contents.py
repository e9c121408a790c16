"""What is found in a cache, whatever its bytes are: places within it, up to the first entry that is incomplete."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest

from pybtf.core.values.cache_contents import cache_contents
from pybtf.merging.pieces import PAYLOAD_MAGIC, pack_payload, packed_size, payload_digest, stored_parts

HEAD = 16
RESULT = b"bUVR"
Places = dict[bytes, tuple[int, int]]
Found = tuple[Places, Places, int]


def contents(path: Path, content: bytes, *, little: bool = True) -> Found:
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    magics = [magic if little else magic[::-1] for magic in (PAYLOAD_MAGIC, RESULT)]
    try:
        return cache_contents(fd, HEAD, len(content), little, *magics)
    finally:
        os.close(fd)


def written(seed: int, *, little: bool) -> tuple[bytes, list[Found]]:
    """A cache, and what should be found in it if it ends after each of its parts."""
    random_ = random.Random(seed)
    content = b"h" * HEAD
    payloads: Places = {}
    results: Places = {}
    states: list[Found] = [({}, {}, HEAD)]
    for _ in range(12):
        part = random_.randbytes(random_.choice((1, 7, 8, 30, 8191, 8192, 8193, 20000)))
        if random_.random() < 0.6:
            payloads = {**payloads, payload_digest(part): (len(content), len(part))}
            content += pack_payload(part, little=little)
        else:
            key = random_.randbytes(16)
            results = {**results, key: (len(content) + 32, len(part))}
            content += b"".join(stored_parts(RESULT, key, [part[:3], part[3:]], little=little))
        states.append((payloads, results, len(content)))
    return content, states


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_payloads_and_results(seed: int, little: bool, tmp_path: Path) -> None:
    content, states = written(seed, little=little)
    assert contents(tmp_path / "cache", content, little=little) == states[-1]
    assert contents(tmp_path / "cache", content, little=not little) == ({}, {}, HEAD)


@pytest.mark.parametrize("behind", [0, -1, 1, 31, -9])
def test_up_to_what_is_not_whole(behind: int, tmp_path: Path) -> None:
    content, states = written(4, little=True)
    ends = [state[2] for state in states]
    for number, end in enumerate(ends[:-1]):
        cut = end + behind
        if cut >= HEAD:
            whole = number if behind >= 0 else number - 1
            assert contents(tmp_path / "cache", content[:cut]) == states[whole]


@pytest.mark.parametrize("size", [0, 8, 9, 16, 24, 25, 0xFFFFFFFF, 0xFFFFFFF8, 0x80000000, 1 << 20])
@pytest.mark.parametrize("magic", [PAYLOAD_MAGIC, RESULT])
def test_a_size_that_is_a_lie(magic: bytes, size: int, tmp_path: Path) -> None:
    """A wrong size may happen to fit, but nothing is ever found past the end."""
    head = struct.pack("<4sI16sQ", magic, size, b"d" * 16, 0)
    content = b"h" * HEAD + head + bytes(packed_size(8) - 32)
    payloads, results, end = contents(tmp_path / "cache", content)
    fits = size <= (8 if magic == PAYLOAD_MAGIC else 24)  # a payload begins with the digests of its blocks
    assert len(payloads) + len(results) == fits
    assert end <= len(content)
    for at, n in (*payloads.values(), *results.values()):
        assert at + n <= end


def test_a_file_that_has_become_shorter(tmp_path: Path) -> None:
    content, states = written(5, little=True)
    path = tmp_path / "cache"
    path.write_bytes(content[: states[3][2]])
    fd = os.open(path, os.O_RDONLY)
    try:
        assert cache_contents(fd, HEAD, len(content), True, PAYLOAD_MAGIC, RESULT) == states[3]
    finally:
        os.close(fd)


def test_magics_are_four_bytes() -> None:
    for magics in ((b"", RESULT), (PAYLOAD_MAGIC, b"bUVRR")):
        with pytest.raises(ValueError, match="four bytes"):
            cache_contents(0, 0, 0, True, *magics)
