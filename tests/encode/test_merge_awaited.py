"""Unit values that nobody has read before a worker reads the unit: what it takes, asks for and refuses."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.core.codes import VALUES
from pybtf.elf.packed import open_module
from pybtf.errors import InputError, Place
from pybtf.merging.pieces import PAYLOAD, block_digest, block_digests, pack_payload, payload_digest
from pybtf.options import make_options
from pybtf.pipeline.loaded import ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images
from pybtf.report import Report
from pybtf.support.timings import Timings
from tests.builders.elfwriter import Section, elf
from tests.encode.test_merge_values import ONE, exported, read_back

Buffer = bytes | bytearray | memoryview
JOBS = pytest.mark.parametrize("jobs", [1, 3])


def all_units() -> tuple[bytes, bytes]:
    given = exported(ONE, "default")
    assert given is not None
    return given


def first_unit() -> tuple[bytes, bytes]:
    """The first unit, found by its head (core/values/unit_layout.pxd)."""
    values, addresses = all_units()
    head = array("I", values[: 4 * VALUES["head"]])
    assert head[0] < len(values)
    return values[: head[0]], addresses[: 8 * (head[VALUES["functions"]] + head[VALUES["variables"]])]


def merged(path: Path, piece: ObjectValues, find: Callable[[int], Buffer], jobs: int = 1) -> bytes:
    options = make_options("default", jobs)
    with open_module(str(path)) as image:
        loaded = load(image, options, Timings(), dwarf=False)
        given = UnitValues(loaded, [piece], ["here"], 0, payload_digest, block_digest, find)
        return bytes(encode_images([image], Task(options, Report(str(path)), values=given)).data)


def nowhere(number: int) -> Buffer:
    raise InputError(Place(f"piece {number}"), "nowhere to be found", "values")


def an_object(folder: Path, values: bytes) -> bytes:
    """The path of an object with these values."""
    path = folder / "a.o"
    path.write_bytes(elf([Section(PAYLOAD, pack_payload(values, little=True))], type="ET_REL").data)
    return os.fsencode(path)


@JOBS
def test_an_object_has_them(tmp_path: Path, jobs: int) -> None:
    values, addresses = first_unit()
    wanted, _ = read_back(ONE, "default", values, addresses)
    piece = ObjectValues(addresses, None, payload_digest(values), an_object(tmp_path, values), len(values))
    assert merged(ONE, piece, nowhere, jobs) == wanted


@JOBS
def test_a_part_of_a_file_has_them(tmp_path: Path, jobs: int) -> None:
    values, addresses = first_unit()
    wanted, _ = read_back(ONE, "default", values, addresses)
    path = tmp_path / "cache"
    stored = b"something" + block_digests(values) + values
    path.write_bytes(stored + b"else")
    piece = ObjectValues(addresses, None, payload_digest(values), os.fsencode(path), len(values), 9)
    assert merged(ONE, piece, nowhere, jobs) == wanted
    for size in (len(stored) - 1, len(stored)):
        path.write_bytes(stored[:size])
        if size < len(stored):
            with pytest.raises(InputError, match="piece 0: nowhere"):
                merged(ONE, piece, nowhere, jobs)
    assert merged(ONE, piece, nowhere, jobs) == wanted


@JOBS
def test_what_is_not_where_it_should_be_is_asked_for(tmp_path: Path, jobs: int) -> None:
    """The file is missing, has another size or other contents, or is unknown."""
    values, addresses = first_unit()
    wanted, _ = read_back(ONE, "default", values, addresses)
    spoilt = bytearray(values)
    spoilt[-2] ^= 1
    size, its_digest = len(values), payload_digest(values)
    pieces = [
        ObjectValues(addresses, None, its_digest, os.fsencode(tmp_path / "absent"), size),
        ObjectValues(addresses, None, its_digest, an_object(tmp_path, values), size + 8),
        ObjectValues(addresses, None, its_digest, an_object(tmp_path, values), size - 8),
        ObjectValues(addresses, None, its_digest, an_object(tmp_path, values), 1 << 30),
        ObjectValues(addresses, None, payload_digest(b""), an_object(tmp_path, values), size),
        ObjectValues(addresses, bytes(spoilt), its_digest),
        ObjectValues(addresses, None, its_digest),
    ]
    for piece in pieces:
        asked: list[int] = []

        def find(number: int, asked: list[int] = asked) -> Buffer:
            asked.append(number)
            return values

        assert merged(ONE, piece, find, jobs) == wanted
        assert asked == [0]
        with pytest.raises(InputError, match="piece 0: nowhere to be found"):
            merged(ONE, piece, nowhere, jobs)


def test_an_object_has_other_values(tmp_path: Path) -> None:
    """They have the same size, and the digest of the values that are wanted."""
    values, addresses = first_unit()
    spoilt = bytearray(values)
    spoilt[-2] ^= 1
    path = an_object(tmp_path, bytes(spoilt))
    stored = Path(os.fsdecode(path)).read_bytes()
    Path(os.fsdecode(path)).write_bytes(stored.replace(payload_digest(spoilt), payload_digest(values)))
    with pytest.raises(InputError, match="piece 0: nowhere to be found"):
        merged(ONE, ObjectValues(addresses, None, payload_digest(values), path, len(values)), nowhere)


def test_they_are_not_those_of_one_unit() -> None:
    """They are those of no unit, of several, or of one with other addresses. Each is refused where the fault begins."""
    two, its_addresses = all_units()
    one, addresses = first_unit()
    for values, places, at in (
        (two, its_addresses, len(one)),
        (one + bytes(4), addresses, len(one)),
        (one, addresses[:-8], len(one)),
        (one, addresses + bytes(8), len(one)),
        (one[:-4], addresses, 0),
        (b"", addresses, 0),
        (b"", b"", 0),
    ):
        piece = ObjectValues(places, values, payload_digest(values))
        with pytest.raises(InputError, match=rf"here: \.debug_btf_values\+0x{at:x}: .*damaged"):
            merged(ONE, piece, nowhere)


def test_the_first_that_is_wrong_is_said() -> None:
    """The first wrong piece by number is named, whichever a worker meets first."""
    values, addresses = first_unit()
    good = ObjectValues(addresses, values, payload_digest(values))
    bad = ObjectValues(addresses, None, payload_digest(values))
    options = make_options("default", 3)
    for pieces, number in (([good, bad, bad], 1), ([bad, good, bad], 0), ([good, good, bad], 2)):
        with open_module(str(ONE)) as image:
            loaded = load(image, options, Timings(), dwarf=False)
            given = UnitValues(loaded, pieces, ["a", "b", "c"], 0, payload_digest, block_digest, nowhere)
            with pytest.raises(InputError, match=f"piece {number}: nowhere"):
                encode_images([image], Task(options, Report("x"), values=given))
