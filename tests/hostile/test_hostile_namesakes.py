"""Types of one name that are nearly equal: how long they may be compared. Limits are those of test_hostile.py."""

from __future__ import annotations

from pathlib import Path

from tests.builders.rawdwarf import DATA1, REF4, STRING, RawDwarf
from tests.hostile.test_hostile import MEMBER, NAME, PLACE, POINTER, SECONDS, SIZE, STRUCT, TYPE, encode


def in_a_row(structs: int, others: int) -> bytes:
    """Structs that each refer to the one before, and other types, by whose number they may take longer."""
    w = RawDwarf()
    w.begin()
    to = other = w.base_type()
    for _ in range(structs):
        at = w.die(STRUCT, (NAME, STRING, "t"), (SIZE, DATA1, 8), children=True)
        w.die(MEMBER, (NAME, STRING, "p"), (TYPE, REF4, to), (PLACE, DATA1, 0))
        w.null()
        to = w.die(POINTER, (TYPE, REF4, at))
    for _ in range(others):
        other = w.die(POINTER, (TYPE, REF4, other))
    w.end()
    return w.kernel()


def test_namesakes_in_a_row(tmp_path: Path) -> None:
    """Each pair of them is compared to the end, so that the cube of their number counts. Was up to 8,192 steps for each
    type of the file, half a minute here.
    """
    path = tmp_path / "file"
    path.write_bytes(in_a_row(3000, 500_000))
    run = encode(path)
    assert "takes too long" in run.answer
    assert run.seconds < SECONDS, run


def test_some_may_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(in_a_row(500, 0))
    assert encode(path).answer.endswith(" bytes")
