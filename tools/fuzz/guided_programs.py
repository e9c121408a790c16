"""Programs for the reduction: the BTF must be that of an encoding that drops nothing. For `tools/fuzz/guided.py`."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.builders import changed, conflicts, narrow, near, wild
from tests.builders.conflicts import Unit
from tests.builders.conflictswriter import image
from tools.fuzz.subjects import Found, Subject

UNITS, ITEMS = 11, 64  # at most


def text(units: list[Unit]) -> bytes:
    return json.dumps(units).encode()


@functools.lru_cache(20_000)
def read(data: bytes) -> list[Unit]:
    """It is shared, so nobody may change it."""
    return [list(map(tupled, items)) for items in json.loads(data)]


def tupled(expr: Any) -> Any:
    """JSON has no tuples."""
    return tuple(map(tupled, expr)) if isinstance(expr, list) else expr


def fits(units: list[Unit]) -> bool:
    """Small programs are quick, and show as much."""
    return 2 <= len(units) <= UNITS and sum(map(len, units)) <= ITEMS


def seeds(rng: random.Random) -> Iterator[bytes]:
    written = [getattr(near, name)() for name in near.MEETING]
    numbers = [rng.randrange(1 << 30) for _ in range(200)]
    random_ones = (each.program(n) for each in (near, wild, narrow, conflicts) for n in numbers)
    for units in itertools.chain(written, wild.events(), wild.twice(), wild.enumerations(), random_ones):
        if fits(units):
            yield text(units)


def change(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = read(rng.choice(others))
    while True:
        made = changed.changed(read(data), other, rng)
        if fits(made):
            return text(made)


def run(data: bytes, path: Path) -> str:
    from tests.builders.everything import differences

    file = path.with_suffix(".elf")
    file.write_bytes(image(read(data)))
    found = differences(file)
    if found:
        raise Found(found[0])
    return "equal"


PROGRAMS = Subject(
    name="programs",
    suffix=".json",
    build={"PYBTF_CHECK": "1", "PYBTF_COVERAGE": "reduction"},
    three=True,
    seeds=seeds,
    change=change,
    run=run,
)
