"""Pairs of types that are known to differ (core/dedup/refuted.py): the bytes are the same, and comparing ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

import pybtf
from pybtf.core.dedup.dedup import dedup_btf
from pybtf.errors import InputError
from tests.builders.dedup_lists import (
    FUNC_PROTO,
    INT,
    INT32,
    STRINGS,
    A,
    B,
    Record,
    enum,
    pointer,
    raw,
    record,
    struct_of,
)
from tests.builders.graphs import listing
from tests.conftest import ROOT, environment

NEVER = 2**64 - 1
#: Of 20,000 lists, those in which it matters that pairs are forgotten and that a group has each name only once.
RARE = (3007, 3497, 3811, 11480, 19416, 3766, 3967, 4189, 4561, 4986, 5539, 11975, 13111, 17962, 18578)


@pytest.mark.parametrize("seeds", [range(first, first + 100) for first in range(0, 1000, 100)] + [RARE])
def test_same(seeds: Sequence[int]) -> None:
    for seed in seeds:
        data = listing(seed)
        assert dedup_btf(data, patience=0) == dedup_btf(data, patience=NEVER), seed


@pytest.mark.parametrize("seed", range(20))
def test_begun_halfway(seed: int) -> None:
    data = listing(seed, units=40, names=12)
    assert {dedup_btf(data, patience=patience) for patience in (0, 10, 100, 1000, NEVER)} == {dedup_btf(data)}


def test_copies_of_which_one_is_mapped() -> None:
    """In the last unit, `z` and `x` are both S. `z` merges with the first S, whose enumeration is only declared, and so
    does `y` in the unit before, with a different enumeration. So `ux` differs from `uy`; but not below R, where the
    copy of its T was met.
    """
    names = {"E": 1, "S": 3, "T": 5, "U": 7, "R": 9}
    made: dict[str, Callable[[Callable[[str], int]], Record]] = {
        "declared": lambda to: enum(names["E"]),
        "first": lambda to: struct_of(names["S"], (A, to("declared"))),
        "1": lambda to: enum(names["E"], 1),
        "y": lambda to: struct_of(names["S"], (A, to("1"))),
        "*y": lambda to: pointer(to("y")),
        "ty": lambda to: struct_of(names["T"], (A, to("*y"))),
        "*ty": lambda to: pointer(to("ty")),
        "uy": lambda to: struct_of(names["U"], (A, to("*ty"))),
        "*uy": lambda to: pointer(to("uy")),
        "ry": lambda to: struct_of(names["R"], (A, to("*ty")), (A, to("*uy"))),
        "2": lambda to: enum(names["E"], 2),
        "z": lambda to: struct_of(names["S"], (A, to("2"))),
        "ux": lambda to: struct_of(names["U"], (A, to("*tx"))),
        "*ux": lambda to: pointer(to("ux")),
        "r": lambda to: struct_of(names["R"], (A, to("*tz")), (A, to("*ux"))),
        "*tz": lambda to: pointer(to("tz")),
        "tz": lambda to: struct_of(names["T"], (A, to("*z"))),
        "*z": lambda to: pointer(to("z")),
        "*tx": lambda to: pointer(to("tx")),
        "tx": lambda to: struct_of(names["T"], (A, to("*x"))),
        "*x": lambda to: pointer(to("x")),
        "x": lambda to: struct_of(names["S"], (A, to("2"))),
    }
    ids = {name: n for n, name in enumerate(made, 1)}
    data = raw(*(one(ids.__getitem__) for one in made.values()), strings=b"\0E\0S\0T\0U\0R\0")
    assert dedup_btf(data, patience=0) == dedup_btf(data, patience=NEVER)
    left = list(pybtf.BTF.from_bytes(dedup_btf(data)))
    assert [one.name for one in left].count("R") == 1
    assert [one.name for one in left].count("U") == 2


MANY_PAIRS = """
from pybtf.core.dedup.dedup import dedup_btf
from pybtf.support.timings import peak_memory
from tests.builders.dedup_lists import A, pointer, raw, struct_of
strings, records = b"\\0a\\0", []
for n in range(2000):
    records += [struct_of(len(strings)), pointer(3 * n + 1), struct_of(0, (A, 3 * n + 2))]
    strings += b"n%d\\0" % n
data = raw(*records, strings=strings)
dedup_btf(data, patience=2**64 - 1)
before = peak_memory()
dedup_btf(data, patience=0)
print(peak_memory() - before)
"""


def test_pairs_without_end() -> None:
    """Each of 2,000 nameless structs differs from all before it: four million pairs, counting what they point to."""
    command = [sys.executable, "-c", MANY_PAIRS]
    more = int(subprocess.run(command, env=environment(), cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    assert more < 16 << 20


def groups(pairs: int, both: bool) -> bytes:
    """Pairs of structs of one name that differ at once. They reach a prototype of very many parameters, and one of two
    structs of the same name; or, with `both`, both of them, one as the last parameter.
    """
    strings, start = STRINGS, len(STRINGS)
    types = [INT32, record(INT, A, 4, 31), struct_of(B), struct_of(B, (A, 1)), pointer(6)]
    types.append(record(FUNC_PROTO, 0, 0, *[0, 1] * 49_999, 0, 4 if both else 1, vlen=50_000))
    for n in range(pairs):
        behind = 3 if both else 3 + n % 2
        types += [struct_of(start + 5 * n, (A, other), (A, behind), (A, 5)) for other in (1, 2)]
        strings += b"%04d\0" % n
    return raw(*types, strings=strings)


def test_groups_take_steps() -> None:
    """Each pair begins a group of its own, with the prototype."""
    dedup_btf(groups(20, both=False), patience=0)
    with pytest.raises(InputError, match=r"comparing type \d{4,5} takes too many steps"):
        dedup_btf(groups(8000, both=False), patience=0)


def test_groups_with_a_name_twice_are_given_up() -> None:
    """Otherwise each pair would go through all parameters for nothing."""
    data = groups(8000, both=True)
    assert dedup_btf(data, patience=0) == dedup_btf(data, patience=NEVER)


@pytest.mark.skipif("PYBTF_SANITIZED" in os.environ, reason="what is known is proved there by walking on")
def test_long_ways() -> None:
    """In each unit, two thousand structs lead to the only one that differs. Walking to it from each of them, for each
    earlier unit, takes more steps than the limit allows.
    """
    names, strings = 2000, b"\0a\0"
    at = []
    for n in range(names):
        at.append(len(strings))
        strings += b"n%d\0" % n
    records: list[Record] = []
    for unit in range(32):
        first = len(records) + 1
        records.append(INT32)
        for n in range(names - 1):
            records += [pointer(first + 2 * n + 4), struct_of(at[n], (A, first + 2 * n + 1))]
        records += [pointer(first), struct_of(at[-1], *[(A, first)] * (unit + 1))]
    left = dedup_btf(raw(*records, strings=strings))
    # The integer and the pointer to it occur once; everything else is kept.
    assert len(list(pybtf.BTF.from_bytes(left))) == 2 + 32 * (2 * names - 1)
