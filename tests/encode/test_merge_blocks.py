"""Values that are read in part: which blocks are not read, and that all others are checked against their digests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import pybtf
from pybtf.core.codes import VALUES
from pybtf.core.values.index_pieces import BLOCK
from pybtf.elf.packed import open_module
from pybtf.errors import InputError, Place, PybtfError
from pybtf.merging.pieces import PAYLOAD, block_digest, block_digests, pack_payload, payload_digest, values_at
from pybtf.options import make_options
from pybtf.pipeline.loaded import ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images
from pybtf.report import Report
from pybtf.support.timings import Timings
from tests.builders import narrow
from tests.builders.conflicts import Unit, program, with_uses
from tests.builders.conflictswriter import image
from tests.builders.elfwriter import Section, elf
from tests.builders.narrow import LONG, struct
from tests.encode.test_merge_digests import parts
from tests.encode.test_merge_values import exported

Buffer = bytes | bytearray | memoryview


class Object(NamedTuple):
    """An object in a file of its own: its values, their offset in the file, and its addresses."""

    path: Path
    values: bytes
    at: int
    addresses: bytes

    def damage(self, at: int) -> None:
        """Changes a byte of the values, or of the block digests before them."""
        content = bytearray(self.path.read_bytes())
        content[self.at + at] ^= 1
        self.path.write_bytes(content)


def objects(linked: Path, folder: Path) -> list[Object]:
    """Each unit of a file, as an object."""
    given = exported(linked, "default")
    assert given is not None
    values, addresses = given
    made, first = [], 0
    for number, unit in enumerate(parts(values)):
        mine = values[unit.start : unit.start + unit.head[0]]
        end = first + 8 * (unit.head[VALUES["functions"]] + unit.head[VALUES["variables"]])
        path = folder / f"{number}.o"
        packed = pack_payload(mine, little=True)
        content = elf([Section(PAYLOAD, packed)], type="ET_REL").data
        path.write_bytes(content)
        made.append(Object(path, mine, content.index(packed) + values_at(len(mine)), addresses[first:end]))
        first = end
    return made


def merged(linked: Path, units: list[Object], find: Callable[[int], Buffer], jobs: int = 1) -> bytes:
    options = make_options("default", jobs)
    pieces = [
        ObjectValues(unit.addresses, None, payload_digest(unit.values), os.fsencode(unit.path), len(unit.values))
        for unit in units
    ]
    names = [str(unit.path) for unit in units]
    with open_module(str(linked)) as file:
        loaded = load(file, options, Timings(), dwarf=False)
        given = UnitValues(loaded, pieces, names, 0, payload_digest, block_digest, find)
        return bytes(encode_images([file], Task(options, Report(str(linked)), values=given)).data)


def nowhere(number: int) -> Buffer:
    raise InputError(Place(f"piece {number}"), "nowhere to be found", "values")


def large(path: Path) -> None:
    """Two units with the same many types; the second also has a few of its own among them, and a name that ends three
    blocks after its start.
    """
    common = [struct(f"a_struct_of_both_{n}", [LONG, ("ptr", ("name", "struct", f"a_struct_of_both_{n}", 0))])
              for n in range(1500)]  # fmt: skip
    own = [struct(f"of_the_second_{n}", [("array", LONG, n + 2)]) for n in range(3)]
    own.append(struct("name_" * (3 * BLOCK // 5), [("array", LONG, 99)]))
    units: list[Unit] = [common, [*common[:700], *own, *common[700:]]]
    path.write_bytes(image(units))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Object], bytes]:
    folder = tmp_path_factory.mktemp("blocks")
    large(folder / "linked")
    units = objects(folder / "linked", folder)
    return folder / "linked", units, bytes(pybtf.encode(folder / "linked", features="default").data)


def test_every_block_is_compared_or_not_looked_at(built: tuple[Path, list[Object], bytes]) -> None:
    """Damages each block of the second object, and each block's digest."""
    linked, units, wanted = built
    second = units[1]
    blocks = len(block_digests(second.values)) // 16
    assert blocks > 20
    assert merged(linked, units, nowhere) == wanted
    seen: Counter[bool] = Counter()
    where = [min(BLOCK * block + 4, len(second.values) - 1) for block in range(blocks)]
    for at in [*where, *range(-16 * blocks, 0, 16)]:
        asked: list[int] = []

        def find(number: int, asked: list[int] = asked) -> Buffer:
            asked.append(number)
            return units[number].values

        second.damage(at)
        assert merged(linked, units, find) == wanted
        assert asked in ([], [1])
        used = bool(asked)
        assert merged(linked, units, find, jobs=3) == wanted
        if used:
            with pytest.raises(InputError, match="piece 1: nowhere to be found"):
                merged(linked, units, nowhere)
        second.damage(at)
        if at >= 0:
            seen[used] += 1
        else:
            assert used  # if one digest is wrong, so is the digest of the digests
    assert seen[True] >= blocks // 4  # what precedes the records
    if "PYBTF_SANITIZED" in os.environ:  # a checking build reads all records, and compares classes
        assert seen[False] == 0
    else:
        assert seen[False] >= blocks // 3


def test_a_file_that_ends_too_early(built: tuple[Path, list[Object], bytes]) -> None:
    """Wherever the file ends, the missing values are looked for elsewhere."""
    linked, units, wanted = built
    content = units[1].path.read_bytes()
    try:
        for size in range(0, len(content), 1 + len(content) // 40):
            units[1].path.write_bytes(content[:size])
            assert merged(linked, units, lambda number: units[number].values) == wanted
            with pytest.raises(InputError, match="piece 1: nowhere"):
                merged(linked, units, nowhere)
    finally:
        units[1].path.write_bytes(content)


@pytest.mark.parametrize("jobs", [1, 3])
def test_programs_whose_types_conflict(jobs: int, tmp_path: Path) -> None:
    """Some units are read a second time, and then with all of their types."""
    compared = whole = 0
    for seed in range(30):
        for units in (with_uses(program(seed), seed), narrow.program(seed)):
            path = tmp_path / "program"
            path.write_bytes(image(units))
            try:
                wanted = pybtf.encode(path, features="default", jobs=1)
            except PybtfError:
                continue
            assert merged(path, objects(path, tmp_path), nowhere, jobs) == bytes(wanted.data)
            compared += 1
            whole += wanted.report.repeats.units_whole > 0
    assert compared >= 40
    assert whole >= 5
