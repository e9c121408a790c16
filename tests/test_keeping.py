"""What is dropped per unit changes nothing: with all types kept, the same bytes come out.

The reduction (stream.py, certify.py, seclude.py) is a claim about the reference's de-duplication. Here it is put
against the same de-duplication on everything, with no reference needed: on the compiled fixtures, and on programs made
of the same few names with conflicting definitions. The search for secluded definitions is also forced to look at all.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pybtf
from dwarfwriter import Die, die
from kernelish import INT, kernel, unit
from pybtf import pipeline
from pybtf.errors import InputError
from synthetic import named

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "fixtures" / "bin").glob("*.elf"))


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


class Mix(NamedTuple):
    """How one program is made."""

    names: str
    tags: dict[str, str]  # structure_type or union_type, by name
    contents: list[dict[str, list[str]]]  # what each name points to; the first table is the usual one
    used: float  # chances
    declared: float
    odd: float
    repeated: float  # twice in one unit, as structs local to functions are
    typedefs: float
    qualified: float


def mix(rng: random.Random) -> Mix:
    names = "abcdefgh"[: rng.randint(3, 8)]
    tags = rng.choice((("structure_type",), ("structure_type", "union_type")))
    return Mix(
        names,
        {name: rng.choice(tags) for name in names},
        [{name: rng.sample(names, rng.randint(0, 3)) for name in names} for _ in range(rng.choice((2, 2, 3)))],
        used=rng.choice((0.3, 0.5, 0.8, 1.0)),
        declared=rng.choice((0.1, 0.25, 0.5)),
        odd=rng.choice((0.0, 0.05, 0.15, 0.3)),
        repeated=rng.choice((0.0, 0.0, 0.03)),
        typedefs=rng.choice((0.0, 0.0, 0.3, 1.0)),
        qualified=rng.choice((0.0, 0.3)),
    )


def program(seed: int) -> bytes:
    """Units that declare and define structs of the same names, mostly alike, and reach each other by pointers."""
    rng = random.Random(seed)
    how = mix(rng)
    return kernel([one_unit(f"{n} ", rng, how) for n in range(rng.randint(2, 9))]).data


def one_unit(at: str, rng: random.Random, how: Mix) -> Any:
    """`at` makes the labels of the unit its own."""
    children: list[Die | bytes] = [INT._replace(label=f"{at}int")]
    used = [name for name in how.names if rng.random() < how.used]
    for name in used:
        if rng.random() < how.declared:
            children.append(named(how.tags[name], name, ("declaration", "flag", 1), label=at + name))
        else:
            children += definitions(at, name, used, rng, how)
    for name in used:
        target = at + name
        if rng.random() < how.qualified:
            target = f"{at}const {name}"
            children.append(die("const_type", ("type", "ref4", at + name), label=target))
        children.append(die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", target), label=f"{at}*{name}"))
        if rng.random() < how.typedefs:
            children.append(named("typedef", f"{name}_t", ("type", "ref4", at + name)))
        if rng.random() < 0.1:
            parameter = die("formal_parameter", ("type", "ref4", f"{at}*{name}"))
            children.append(die("subroutine_type", ("prototyped", "flag", 1), children=[parameter]))
    rng.shuffle(children)
    return unit(children)


def definitions(at: str, name: str, used: list[str], rng: random.Random, how: Mix) -> list[Die]:
    variant = rng.randrange(1, len(how.contents)) if rng.random() < how.odd else 0
    apart = 8 if how.tags[name] == "structure_type" else 0
    members = [
        named("member", f"to_{to}", ("type", "ref4", f"{at}*{to}"), ("data_member_location", "data1", apart * n))
        for n, to in enumerate(how.contents[variant][name])
        if to in used
    ]
    if variant:
        members.append(named("member", "odd", ("type", "ref4", f"{at}int"), ("data_member_location", "data1", 0)))
    size = ("byte_size", "data1", 72 + variant)
    result = [named(how.tags[name], name, size, children=members, label=at + name)]
    if rng.random() < how.repeated:
        result.append(named(how.tags[name], name, ("byte_size", "data1", 80), children=members))
    return result


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_compiled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path, monkeypatch)


@pytest.mark.parametrize("block", range(20))
def test_conflicting_names(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program"
    for seed in range(40 * block, 40 * block + 40):
        path.write_bytes(program(seed))
        check(path, monkeypatch)


def structs(at: str, **contents: str | None) -> Any:
    """A unit of structs that point to each other: NAME="x y" has these members, NAME=None is a declaration."""
    children: list[Die | bytes] = [INT._replace(label=f"{at}int")]
    for name, targets in contents.items():
        children.append(
            die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", at + name), label=f"{at}*{name}")
        )
        if targets is None:
            children.append(named("structure_type", name, ("declaration", "flag", 1), label=at + name))
            continue
        members = [
            named("member", other, ("type", "ref4", at + other), ("data_member_location", "data1", 8 * n))
            for n, other in enumerate(targets.split())
        ]
        children.append(named("structure_type", name, ("byte_size", "data1", 32), children=members, label=at + name))
    return unit(children)


def test_a_declaration_is_resolved_by_what_is_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`x` is secluded in the last unit, `y` is not; `c` mentions both: only `e` can resolve the declaration of `x`."""
    path = tmp_path / "program"
    units = [
        structs("0 ", x=None, y="", c="*x *y", e="*x"),
        structs("1 ", x="", y="int", c="*x *y"),
        structs("2 ", x="", e="*x"),
        structs("3 ", x="int int"),
    ]
    path.write_bytes(kernel(units).data)
    check(path, monkeypatch)


def test_a_declaration_that_nothing_resolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pointers to the declaration and to the definition of `x` are two types: no comparison has both in reach."""
    path = tmp_path / "program"
    units = [structs("0 ", x="int"), structs("1 ", x=None), structs("2 ", x="")]
    path.write_bytes(kernel(units).data)
    check(path, monkeypatch)


def test_the_unit_with_the_declaration_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pointer to `x` is to the definition, so that of the first `c`, if dropped, could not meet another."""
    path = tmp_path / "program"
    units = [structs("0 ", x=""), structs("1 ", x=None, c="*x"), structs("2 ", x="", c="*x"), structs("3 ", x="int")]
    path.write_bytes(kernel(units).data)
    check(path, monkeypatch)
