"""`pybtf diff` of damaged BTF, of cyclic types, and of very many types of one name: findings or one error, soon."""

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
    Var,
)
from pybtf.core.btf.type_view import View
from pybtf.core.diff.diff_compare import Comparison
from pybtf.core.diff.diff_reach import Reach
from pybtf.differences.compare import Differences
from pybtf.differences.text import lines, markdown
from pybtf.errors import InputError
from tests.builders.rawbtf import raw_btf
from tests.commands.test_diff import INT, A, Make, Maker, told
from tools.fuzz.cases import damaged
from tools.generate import randbtf


def test_damaged() -> None:
    """Findings or one error, whatever the file contains."""
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
    """Types that contain themselves in all sorts of ways, on both sides."""

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
    """Twenty times as many take about twenty times as long, not four hundred times."""

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


def made(make: Make) -> BTF:
    m = Maker()
    make(m)
    return m.btf()


def nameless(typedefs: int, members: int, *, name: str = "a", at: int = 0) -> Make:
    """One nameless type, and very many typedefs of it."""

    def make(m: Maker) -> None:
        rows = [(f"{name}{number}", INT, at + 32 * number) for number in range(members)]
        inner = m.struct("", 4 * members + 8, *rows)
        for number in range(typedefs):
            m.add(Typedef(f"t{number}", inner))

    return make


def test_many_typedefs_of_one_nameless_type() -> None:
    """Each typedef has all differences of the type: 40,000 members gone or added, then 400,000."""
    assert len(told(nameless(20, 1000), nameless(20, 1000, name="b", at=8))) == 20 * 2001
    with pytest.raises(InputError, match="too much text"):
        told(nameless(200, 1000), nameless(200, 1000, name="b", at=8))


def test_members_that_shifted_are_counted_one_by_one() -> None:
    assert len(told(nameless(20, 2000), nameless(20, 2000, at=8))) == 20 * 2
    with pytest.raises(InputError, match="too much text"):
        told(nameless(200, 2000), nameless(200, 2000, at=8))


@pytest.mark.parametrize(("variables", "is_too_much"), [(200, False), (4000, True)])
def test_many_variables_of_one_long_type(variables: int, is_too_much: bool) -> None:
    """Two megabytes of text, then forty. Real BTF gives two or three bytes of text for each byte."""

    def make(m: Maker) -> None:
        long = m.add(Ptr(m.add(FuncProto(INT, tuple(Param("", INT) for _ in range(2000))))))
        for number in range(variables):
            m.add(Var(f"v{number}", long, Linkage.GLOBAL))

    if is_too_much:
        with pytest.raises(InputError, match="too much text"):
            told(lambda m: None, make)
    else:
        assert len(told(lambda m: None, make)) == variables


def test_a_name_of_backticks() -> None:
    """The time must grow with its length, not with the square."""
    name = "`" * 65_000
    found = diff(Maker().btf(), made(lambda m: m.struct(name, 4, A)))
    start = time.process_time()
    rows = markdown(found.changes, found.declaration)
    assert time.process_time() - start < 1
    assert any(f"- {'`' * 65_001} struct {name} {'`' * 65_001}: " in row for row in rows), [row[:60] for row in rows]


NAMES = b"\0n\0" + b"l" * 60_000 + b"\0"
N, LONG = 1, 3
#: A number; a struct, an enumeration and a prototype with a thousand rows; a struct with a long name; a thousand tags
#: on it; and a variable in a section with a long name.
WORDS = [
    *(N, 1 << 24, 4, 32),
    *(N, 4 << 24 | 1000, 4, *(N, 1, 0) * 1000),
    *(N, 6 << 24 | 1000, 4, *(N, 0) * 1000),
    *(0, 13 << 24 | 1000, 0, *(N, 1) * 1000),
    *(LONG, 4 << 24, 0),
    *(N, 17 << 24, 5, 0xFFFFFFFF) * 1000,
    *(N, 14 << 24, 1, 0),
    *(LONG, 15 << 24 | 1, 4, 1006, 0, 4),
]


@pytest.mark.parametrize(
    ("method", "id", "steps"),
    [
        ("fields", 2, 1000), ("values", 3, 1000), ("prototype", 4, 1000), ("head", 5, 7501), ("tags", 5, 1000),
        ("section", 1006, 7501),
    ],
)  # fmt: skip
def test_what_is_made_is_counted(method: str, id: int, steps: int) -> None:
    """A step for each row and for each 8 bytes of its name. There may be 2^20 steps, and 8 for each word of both."""
    view = View(raw_btf(WORDS, NAMES), "x")
    comparison = Comparison(view, view)
    for _ in range(((1 << 20) + 16 * len(WORDS)) // steps):
        getattr(comparison, method)(0, id)
    with pytest.raises(InputError, match=f"type {id} takes too many steps"):
        getattr(comparison, method)(0, id)


def test_nameless_structs_are_looked_into_so_deep() -> None:
    words = [N, 1 << 24, 4, 32, 0, 4 << 24 | 1, 4, N, 1, 0]
    words += [word for id in range(2, 67) for word in (0, 4 << 24 | 1, 4, 0, id, 0)]
    view = View(raw_btf(words, NAMES), "x")
    comparison = Comparison(view, view)
    assert [row[0] for row in comparison.fields(0, 66)] == [b"n"]
    with pytest.raises(InputError, match="takes too many steps"):
        comparison.fields(0, 67)


def test_searches_have_steps_together() -> None:
    """There may be 2^26 steps, and 512 for each type. Each search goes through 14,000 nested structs."""
    count = 14_000
    words = [N, 4 << 24, 4, *(word for id in range(1, count) for word in (N, 4 << 24 | 1, 4, N, id, 0))]
    view = View(raw_btf(words, NAMES), "x")
    searches = ((1 << 26) + 512 * (count + 1)) // (count - 1)
    reach = Reach(view)
    assert {reach.sums(1) for _ in range(searches)} == {(count - 1, 0, 0)}
    assert reach.sums(1) is None
    assert reach.sums(count) == (0, 0, 0)
    listed = Reach(view)
    for _ in range(searches // 17):  # with 16 for each name
        assert listed.of(1) is not None
    assert [listed.of(1) for _ in range(2)][1] is None
    assert listed.sums(count) == (0, 0, 0)
