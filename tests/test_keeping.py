"""What is dropped per unit changes nothing: with all types kept, the same bytes come out.

The reduction (stream.py, certify.py, seclude.py) is a claim about the reference's de-duplication. Here it is put
against the same de-duplication on everything, with no reference needed: on the compiled fixtures, and on programs made
of the same few names with conflicting definitions. The search for secluded definitions is also forced to look at all.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import pytest

import pybtf
from dwarfwriter import Die, die
from kernelish import INT, kernel, unit
from pybtf import pipeline
from pybtf.errors import InputError
from synthetic import named

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "fixtures" / "bin").glob("*.elf"))
NAMES = ("a", "b", "c", "d", "e")


def encode(path: Path, monkeypatch: pytest.MonkeyPatch, **forced: Any) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "Run", functools.partial(pipeline.Run, **forced))
        try:
            return bytes(pybtf.encode(path, jobs=1).data)
        except InputError as error:
            return str(error).encode()


def check(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = encode(path, monkeypatch, keep_all=True)
    assert encode(path, monkeypatch) == everything
    assert encode(path, monkeypatch, seclude_from=0) == everything


def program(seed: int) -> bytes:
    """Units that declare and define structs of the same names, mostly alike, and reach each other by pointers."""
    rng = random.Random(seed)
    usual = {name: rng.sample(NAMES, rng.randint(0, 3)) for name in NAMES}
    odd = {name: rng.sample(NAMES, rng.randint(0, 3)) for name in NAMES}
    variants = rng.choice((0.0, 0.1, 0.3))
    return kernel([one_unit(f"{n} ", rng, usual, odd, variants) for n in range(rng.randint(2, 7))]).data


def one_unit(
    at: str, rng: random.Random, usual: dict[str, list[str]], odd: dict[str, list[str]], variants: float
) -> Any:
    """`at` makes the labels of the unit its own."""
    children: list[Die | bytes] = [INT._replace(label=f"{at}int")]
    used = [name for name in NAMES if rng.random() < 0.8]
    for name in used:
        if rng.random() < 0.25:
            children.append(named("structure_type", name, ("declaration", "flag", 1), label=at + name))
            continue
        table = odd if rng.random() < variants else usual
        members = [
            named("member", f"to_{other}", ("type", "ref4", f"{at}*{other}"), ("data_member_location", "data1", 8 * n))
            for n, other in enumerate(table[name])
            if other in used
        ]
        if table is odd:
            members.append(named("member", "odd", ("type", "ref4", f"{at}int"), ("data_member_location", "data1", 64)))
        children.append(named("structure_type", name, ("byte_size", "data1", 72), children=members, label=at + name))
        if rng.random() < 0.05:  # twice in one unit, as structs local to functions are
            children.append(named("structure_type", name, ("byte_size", "data1", 80), children=members))
    for name in used:
        children.append(
            die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", at + name), label=f"{at}*{name}")
        )
        children.append(named("typedef", f"{name}_t", ("type", "ref4", at + name)))
    rng.shuffle(children)
    return unit(children)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_compiled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path, monkeypatch)


@pytest.mark.parametrize("block", range(20))
def test_conflicting_names(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program"
    for seed in range(40 * block, 40 * block + 40):
        path.write_bytes(program(seed))
        check(path, monkeypatch)
