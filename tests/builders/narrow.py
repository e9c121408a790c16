"""Random programs with very few names, each about one thing, unlike the broad ones of `conflicts.py`. In a thousand
programs, everything that can happen to two or three names does happen, in most orders of units.

- Even seeds: *holders*, which point to names that are defined in two ways, declared, and repeated. A holder that meets
  a declaration has several candidates; which one it merges with decides what the declaration resolves to.
- Odd seeds: *arrays* of other elements in definitions that are otherwise equal, inside named and nameless structs.

Programs are data, as in `conflicts.py`.
"""

from __future__ import annotations

import random
from typing import Any

from tests.builders.conflicts import Expr, Item, Unit

LONG = ("base", "long")


def members(types: list[Expr]) -> tuple[int, tuple[Any, ...]]:
    """The size and members of a struct."""
    return 8 * max(len(types), 1), tuple((f"m{n}", type, 8 * n, 0) for n, type in enumerate(types))


def struct(name: str, types: list[Expr]) -> Item:
    return "struct", name, *members(types)


def nameless(types: list[Expr]) -> Expr:
    return "struct", *members(types)


def to(name: str, n: int = 0) -> Expr:
    return "ptr", ("name", "struct", name, n)


def program(seed: int) -> list[Unit]:
    rng = random.Random(seed)
    return arrays(rng) if seed % 2 else holders(rng)


def holders(rng: random.Random) -> list[Unit]:
    twice = rng.choice((0.0, 0.0, 0.15, 0.3))
    declared = rng.choice((0.1, 0.25, 0.4))
    odd = rng.choice((0.05, 0.15, 0.3))
    fillers = rng.choice((0.0, 0.2))  # structs that make the table of candidates grow
    used = rng.choice((0.0, 0.07, 0.15))
    leaves = "abk"[: rng.choice((2, 2, 3))]
    contents: dict[str, tuple[list[str], list[str]]] = {}
    for name in leaves:
        empty: tuple[list[str], list[str]] = ([], ["long"])
        contents[name] = rng.choice((empty, empty, (["a"], ["a", "long"]), ([rng.choice(leaves)], [])))
    for n, name in enumerate("cdefg"[: rng.choice((2, 3, 4))]):
        below = [*leaves, *"cdefg"[:n], *([name] if rng.random() < 0.3 else [])]
        targets = rng.sample(below, min(len(below), rng.choice((1, 2, 2, 3))))
        contents[name] = targets, [*targets, "long"]

    def pointer(name: str) -> Expr:
        return to(name, int(twice > 0 and rng.random() < 0.4))

    def made(name: str, other: bool) -> Item:
        return struct(name, [LONG if each == "long" else pointer(each) for each in contents[name][other]])

    units: list[Unit] = []
    for at in range(rng.randint(3, 8)):
        items: Unit = []
        some = {True: rng.choice((0.3, 0.5, 0.8)), False: rng.choice((0.3, 0.6, 0.9))}
        for name in contents:
            leaf = name in leaves
            if rng.random() > some[leaf]:
                continue
            if rng.random() < (declared if leaf else 0.08):
                items.append(("declare", "struct", name))
                continue
            items.append(made(name, rng.random() < (odd if leaf else 0.02)))
            if rng.random() < twice:
                items.append(rng.choice((made(name, rng.random() < 0.5), ("declare", "struct", name))))
        items += [("use", pointer(name)) for name in contents if rng.random() < used]
        rng.shuffle(items)
        if rng.random() < fillers:
            items = [*(struct(f"f{at}{n}", []) for n in range(rng.randint(1, 7))), *items]
        units.append(items)
    return units


def arrays(rng: random.Random) -> list[Unit]:
    nested = rng.choice((0.0, 0.0, 0.3))
    inside = rng.choice((0.0, 0.0, 0.4))
    declared = rng.choice((0.0, 0.0, 0.15, 0.3))
    typedefs = rng.choice((0.0, 0.0, 0.5))

    def element() -> Expr:
        one: Expr = ("base", rng.choice(("char", "long")))
        return ("ptr", ("array", one, 2)) if rng.random() < nested else one

    def leaf() -> Expr:
        type: Expr = ("ptr", ("array", element(), 2))
        return nameless([type]) if rng.random() < inside else type

    def other(expr: Any) -> Any:
        if not isinstance(expr, tuple):
            return expr
        if expr[:1] == ("array",) and rng.random() < 0.7:
            return "array", element(), expr[2]
        return tuple(other(part) for part in expr)

    names = "abz"[: rng.choice((2, 2, 3))]
    definitions: dict[str, list[Item]] = {}
    for name in names:
        usual = struct(name, [leaf() for _ in range(rng.choice((1, 1, 1, 2)))])
        definitions[name] = [struct("z", []), struct("z", [LONG])] if name == "z" else [usual, other(usual)]
    for name in "xy"[: rng.choice((1, 1, 2))]:
        types = [to(each) for each in rng.sample(names, len(names))]
        if rng.random() < 0.4:
            types.append(leaf())
        if name == "y" and rng.random() < 0.5:
            types.insert(rng.randrange(len(types) + 1), to("x"))
        usual = struct(name, types)
        definitions[name] = [usual, other(usual)]
    through = nameless(rng.sample([*map(to, names), leaf()], 2))
    units: list[Unit] = []
    for _ in range(rng.randint(3, 5)):
        items: Unit = []
        some = rng.choice((0.5, 0.8, 1.0))
        for name, known in definitions.items():
            if rng.random() > some:
                continue
            if rng.random() < declared:
                items.append(("declare", "struct", name))
            else:
                items.append(known[rng.random() < (0.35 if name in names else 0.15)])
        if rng.random() < typedefs:
            items.append(("typedef", "t", rng.choice((through, other(through)))))
        if rng.random() < 0.2:
            items.append(("use", leaf()))
        rng.shuffle(items)
        units.append(items)
    return units
