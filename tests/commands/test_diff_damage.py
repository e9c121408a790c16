"""`pybtf diff` of damaged BTF, of types in circles, and of very many of one name: findings or one error, in time."""

from __future__ import annotations

import random
import time

import pytest

from pybtf import BTF, diff
from pybtf.btf.kinds import Linkage
from pybtf.btf.types import (
    Array,
    Const,
    DeclTag,
    Enum,
    Enumerator,
    Func,
    FuncProto,
    Member,
    Param,
    Ptr,
    Struct,
    Typedef,
)
from pybtf.differences.compare import Differences
from pybtf.differences.text import lines
from pybtf.errors import InputError
from tests.commands.test_diff import INT, A, Maker, told
from tools.fuzz.cases import damaged
from tools.generate import randbtf


def test_damaged() -> None:
    """Findings or one error, whatever is in there."""
    chooser = random.Random(16)
    sources = [randbtf.RandomBtf(seed).make() for seed in range(12)]
    compared = 0
    for _ in range(600):
        pair = [damaged(chooser, chooser.choice(sources)) for _ in range(2)]
        try:
            views = [BTF.from_bytes(data).view() for data in pair]
            compared += 1
            differences = Differences(*views, names=chooser.random() < 0.5)
            lines(differences.changes, differences.declaration)
        except InputError:
            pass
    assert compared >= 30


def test_circles() -> None:
    """Types that are made of themselves, in all ways, and themselves again on the other side."""

    def make(m: Maker) -> None:
        at = m.builder.next_id
        m.add(Ptr(at))
        m.add(Const(at + 2))
        m.add(Const(at + 1))
        m.add(Typedef("t", at + 3))
        m.add(Array(at + 4, INT, 2))
        m.add(Struct("", 8, (Member("x", at + 5, 0),)))
        m.add(
            Struct("s", 8, (Member("", at + 5, 0), Member("p", at, 0), Member("c", at + 1, 0), Member("a", at + 4, 0)))
        )
        m.add(FuncProto(at + 7, (Param("x", at + 7),)))
        m.add(Func("f", at + 7, Linkage.STATIC))

    assert told(make, make) == []
    with pytest.raises(InputError, match="takes too many steps"):
        told(make, lambda m: m.struct("s", 9, A))


def test_a_long_name() -> None:
    assert told(lambda m: None, lambda m: m.struct("n" * 65535, 4, A))[0].startswith("+ struct nnn")
    with pytest.raises(InputError, match="a name of 65536 bytes or more"):
        told(lambda m: None, lambda m: m.struct("n" * 65536, 4, A))


def test_many_of_one_name() -> None:
    """Twenty times as many take some twenty times as long, not four hundred times."""

    def make(count: int, step: int) -> BTF:
        m = Maker()
        for number in range(count):
            m.struct("s", 4 + step * number, ("a", INT, 0))
            m.add(Enum("", 4, (Enumerator("SAME", number), Enumerator(f"E{number}", step))))
            m.add(DeclTag(f"t{step * number}", 4, -1))
        return m.btf()

    took = []
    for count in (500, 10_000):
        old, new = make(count, 2), make(count, 3)
        start = time.process_time()
        differences = diff(old, new)
        lines(differences.changes, differences.declaration)
        took.append(time.process_time() - start)
    assert took[1] < 100 * max(took[0], 0.02), took
