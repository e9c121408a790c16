"""`pybtf verify` of a module's own base: which types of vmlinux a kernel uses for the types of the base."""

from __future__ import annotations

from errno import EINVAL, ENOENT
from pathlib import Path
from random import Random

import pytest

from pybtf.verify import distilled
from pybtf.verify.distilled import Namesakes, Target, embedded_in, matches, target
from pybtf.verify.judge import MODULE, VMLINUX, judge
from tests.builders.elfwriter import Section, elf
from tests.commands.test_verify_fit import Verify, copy, relocated, split
from tools.golden.minimal_btf import CONST, ENUM, ENUM64, FLOAT, FWD, INT, PTR, STRUCT, TYPEDEF, UNION, Maker


def row(kind: int, size: int = 4, flag: int = 0, encoding: int = 0) -> Target:
    return 1, kind, flag, size, encoding


@pytest.mark.parametrize(
    ("mine", "its", "embedded", "several", "expected"),
    [
        (row(INT), row(INT), False, False, True),
        (row(INT), row(INT, 8), False, False, False),
        (row(INT), row(INT, encoding=1), False, False, False),
        (row(INT), row(FLOAT), False, False, False),
        (row(INT), row(FWD), False, False, False),
        (row(FLOAT), row(FLOAT), False, False, True),
        (row(FLOAT), row(FLOAT, 8), False, False, False),
        (row(FLOAT), row(INT), False, False, False),
        (row(ENUM), row(ENUM), False, False, True),
        (row(ENUM, 8), row(ENUM64, 8), False, False, True),
        (row(ENUM), row(ENUM64, 8), False, False, False),
        (row(ENUM), row(INT), False, False, False),
        (row(FWD, 0), row(FWD, 0), False, False, True),
        (row(FWD, 0), row(FWD, 0, 1), False, False, False),
        (row(FWD, 0), row(FWD, 0), False, True, True),
        (row(FWD, 0), row(STRUCT, 8), False, False, True),
        (row(FWD, 0), row(STRUCT, 8, 1), False, False, False),
        (row(FWD, 0), row(STRUCT, 8), False, True, False),
        (row(FWD, 0), row(UNION, 8), False, False, False),
        (row(FWD, 0, 1), row(UNION, 8, 1), False, False, True),
        (row(FWD, 0, 1), row(UNION, 8), False, False, False),
        (row(FWD, 0), row(INT), False, False, False),
        (row(STRUCT, 8), row(STRUCT, 8), True, True, True),
        (row(STRUCT, 8), row(STRUCT, 16), False, False, True),
        (row(STRUCT, 8), row(STRUCT, 16), True, False, False),
        (row(STRUCT, 8), row(STRUCT, 16), False, True, False),
        (row(STRUCT, 8), row(UNION, 8), True, False, True),
        (row(UNION, 8), row(STRUCT, 8), True, False, True),
        (row(STRUCT, 8), row(FWD, 0), True, True, True),
        (row(STRUCT, 8), row(ENUM, 8), False, False, True),
        (row(STRUCT, 8), row(ENUM, 4), False, False, False),
        (row(STRUCT, 8), row(FLOAT, 8), False, False, True),
        (row(UNION, 8), row(INT, 8), False, False, True),
    ],
)
def test_what_matches(mine: Target, its: Target, embedded: bool, several: bool, expected: bool) -> None:
    """As the kernel compares, even if that is odd: the size is enough between a struct and a number."""
    assert matches(mine, its, embedded, several) == expected


def test_many_types_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of matches is the same as from comparing each, but equal types are compared once, and types that
    cannot match are not compared at all.
    """
    draw = Random(3)
    compared = []

    def counted(mine: Target, its: Target, embedded: bool, several: bool) -> bool:
        compared.append(its)
        return matches(mine, its, embedded, several)

    monkeypatch.setattr(distilled, "matches", counted)
    for number in range(200):
        kinds = draw.sample((INT, FLOAT, ENUM, ENUM64, FWD, STRUCT, UNION), draw.randint(1, 7))
        there = [
            row(draw.choice(kinds), draw.choice((0, 4, 8)), draw.choice((0, 1)), draw.choice((0, 1)))
            for _ in range(draw.choice((0, 1, 2, 10)))
        ]
        several = sum(each[1] in (STRUCT, UNION) for each in there) > 1
        found = Namesakes(there)
        for kind in kinds:
            for embedded in (False, True):
                mine = row(kind, draw.choice((0, 4, 8)), draw.choice((0, 1)), draw.choice((0, 1)))
                expected = sum(matches(mine, each, embedded, several) for each in there)
                assert found.matching(mine, embedded) == expected, (number, mine, there)
    many = Namesakes([row(STRUCT, size) for size in range(1000)] + [row(INT)] * 1000)
    compared.clear()
    assert many.matching(row(INT), False) == 1000
    assert many.matching(row(STRUCT, 4), False) == 1001
    assert len(compared) == 4


def test_many_of_one_name_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200
    below, vmlinux = Maker(), Maker()
    for _ in range(count):
        below.add(INT, "x", 4, 32)
        vmlinux.add(INT, "x", 4, 1 << 24 | 32)
    compared = []

    def counted(mine: Target, its: Target, embedded: bool, several: bool) -> bool:
        compared.append(mine)
        return matches(mine, its, embedded, several)

    monkeypatch.setattr(distilled, "matches", counted)
    found = relocated(below, copy(below).add(PTR, 0, 1), vmlinux)
    assert len(found) == count == len(compared) - 1  # there is an `int`, too
    assert found[9] == (EINVAL, ".BTF.base: [11] INT 'x': vmlinux has INT of this name, which does not match")
    assert found[10] == (EINVAL, ".BTF.base: [12] INT 'x': no match")


def test_what_is_compared_of_a_type() -> None:
    """The encoding, without the bits, only for INT; the flag for all."""
    made = Maker().add(INT, "signed", 4, 1 << 24 | 7 << 16 | 32).struct("bits", 8, ("a", 1, 0), flag=1)
    layer = judge(made.add(FWD, "u", 0, flag=1).make(), VMLINUX).layer
    assert layer is not None
    assert [target(layer, id) for id in (2, 3, 4)] == [
        (2, INT, 0, 4, 1), (3, STRUCT, 1, 8, 0), (4, FWD, 1, 0, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("wrappers", [0, 3, 64, 65])
def test_what_is_embedded(wrappers: int) -> None:
    """Through typedefs and qualifiers, as far as these are followed; not through a pointer, nor in the base itself."""
    below = Maker().struct("held", 8).struct("pointed", 8).struct("holder", 8, ("h", 2, 0))
    own = copy(below).add(PTR, 0, 3)
    of = 2
    for number in range(wrappers):
        own.add(*((TYPEDEF, f"t{number}", of) if number % 2 else (CONST, 0, of)))
        of = 6 + number
    own.struct("mine", 24, ("p", 5, 0), ("h", of, 64))
    base = judge(below.make(), VMLINUX).layer
    assert base is not None
    module = judge(split(below, own), MODULE, base=base).layer
    assert module is not None
    assert embedded_in(base, module) == ({2} if wrappers <= 64 else set())


def test_why_a_type_does_not_match() -> None:
    def why(below: Maker, vmlinux: Maker) -> list[tuple[int, str]]:
        found = relocated(below, copy(below).add(PTR, 0, 2), vmlinux)
        return [(code, text.rpartition(": ")[2]) for code, text in found]

    there = Maker().struct("s", 16).struct("s", 8).add(ENUM, "e", 4).add(ENUM, "s", 24)
    assert why(Maker().struct("s", 24), Maker().struct("s", 16).struct("s", 8)) == [
        (EINVAL, "24 bytes, in vmlinux 8 or 16")
    ]
    assert why(Maker().add(FWD, "e", 0), there) == [(EINVAL, "vmlinux has ENUM of this name, which does not match")]
    assert why(Maker().add(INT, "s", 24, 32), there) == [
        (EINVAL, "vmlinux has ENUM and STRUCT of this name, none of which matches")
    ]
    assert why(Maker().struct("x", 8), there) == [(EINVAL, "vmlinux has no type of this name")]
    assert why(Maker().struct("two", 8), Maker().struct("two", 8).struct("two", 8)) == [
        (EINVAL, "vmlinux has 2 that match")
    ]
    assert why(Maker().add(ENUM64, "e", 4).struct(0, 4).add(PTR, 0, 0), there) == [
        (EINVAL, "a kind that a base of its own cannot have"), (EINVAL, "no name"),
        (EINVAL, "a kind that a base of its own cannot have"),
    ]  # fmt: skip


def test_one_name_that_no_type_has_is_told() -> None:
    """Only if there is nothing else to say. Names are cut when they are shown."""
    below = Maker().struct("s", 8)
    for name in ("x" * 100, "y"):
        below.name(name)
    own = copy(below).struct("mine", 8, ("x" * 100, 1, 0), ("y", 1, 32))
    assert relocated(below, own, Maker().struct("s", 8)) == [
        (ENOENT, f"the name '{'x' * 80}' of the base is not that of one of its types")
    ]
    ((code, _),) = relocated(below, own, Maker())
    assert code == EINVAL


def test_a_long_name_is_cut() -> None:
    below = Maker().struct("s" * 100, 8)
    ((_, text),) = relocated(below, copy(below).add(PTR, 0, 2), Maker())
    assert f"'{'s' * 80}'" in text


# What is said about a file


def file(path: Path, base: bytes, own: bytes) -> Path:
    path.write_bytes(elf([Section(".BTF", own), Section(".BTF.base", base)]).data)
    return path


def test_a_base_of_its_own_that_is_damaged(verify: Verify, tmp_path: Path) -> None:
    base = Maker().struct("s", 8)
    own = split(base, copy(base).add(PTR, 0, 2))
    status, text = verify(file(tmp_path / "m.ko", base.make()[:-1] + b"x", own))
    assert status == 1
    assert ".BTF.base itself is damaged" in text
    assert verify(file(tmp_path / "n.ko", base.make(), own))[0] == 0
    status, text = verify("--kernel", "6.12", file(tmp_path / "o.ko", base.make(), own[:-1] + b"x"))
    assert status == 1
    assert "of its own" not in text


def test_the_base_that_fits_best_is_taken(verify: Verify, tmp_path: Path) -> None:
    base = Maker().struct("s", 8).struct("t", 8)
    path = file(tmp_path / "m.ko", base.make(), split(base, copy(base).add(PTR, 0, 2)))
    paths = []
    half_of_it = Maker().struct("s", 8)
    for name, made in (("none", Maker()), ("half", half_of_it), ("whole", base), ("more", base)):
        paths.append(tmp_path / name)
        paths[-1].write_bytes(made.make())
    none, half, whole, more = paths
    status, text = verify(path)
    assert status == 0
    assert "it has a base of its own; --base VMLINUX says whether that matches a vmlinux" in text
    assert verify("--strict", path) == (status, text)
    assert verify("--base", whole, path)[0] == 0
    assert f"fits {whole}" not in verify("--base", whole, path)[1]
    status, text = verify("--base", none, "--base", whole, "--base", half, "--base", more, path)
    assert (status, f"fits {whole}, {more}" in text) == (0, True)
    assert verify("--strict", "--base", none, "--base", whole, path)[0] == 0
    status, text = verify("--base", none, "--base", half, path)
    assert status == 1
    assert "STRUCT 't'" in text
    assert "STRUCT 's'" not in text


@pytest.mark.parametrize(("version", "own"), [("6.10", False), ("6.11", True)])
def test_older_kernels_do_not_know_of_it(verify: Verify, tmp_path: Path, version: str, own: bool) -> None:
    base = Maker().struct("s", 8)
    path = file(tmp_path / "m.ko", base.make(), split(base, copy(base).add(PTR, 0, 2)))
    _, text = verify("--kernel", version, path)
    assert ("before 6.11 a kernel ignores .BTF.base" in text) == (not own)
