"""Random neighbours of programs about wild types, and about declarations that are resolved for sure.

Wild types are rare in the programs of `conflicts.py`, and those of `near.py` have none. Here a unit may have a name
twice, and structs point to enumerations of 32 and 64 bits that other units only declare.

Programs are data, as in `conflicts.py`.
"""

from __future__ import annotations

import random
from typing import Any

from tests.builders import narrow, near
from tests.builders.conflicts import Expr, Item, Unit
from tests.builders.narrow import LONG, to

ENUM: Expr = ("ptr", ("name", "enum", "g", 0))
ENUMS: tuple[Item, ...] = (
    *(("enum", "g", 8, (("G", 0),)), ("enum", "g", 4, (("G", 0),)), ("enum", "g", 4, (("H", 0),))),
    ("declare", "enum", "g"),
)


def struct(name: str, *types: str | Expr) -> Item:
    """A struct with these members; a name stands for a pointer to that struct."""
    return narrow.struct(name, [to(each) if isinstance(each, str) else each for each in types])


def use(name: str) -> Item:
    """What refers to a type, and is not there without this."""
    return "use", ("ptr", ("const", ("name", "struct", name, 0)))


A, OTHER_A, K, OTHER_K = struct("a"), struct("a", "b"), struct("k"), struct("k", LONG)
#: `a` is resolved before anything odd comes.
RESOLVED: list[Unit] = [[struct("e", "a")], [struct("e", "a"), A]]


def events() -> list[list[Unit]]:
    """An undecided `c` may resolve `k` in the unit by which `d` does so for sure, or in one before or after it."""
    c, d, f, j = struct("c", "a", "k"), struct("d", "k"), struct("f", "c", "j"), struct("j")
    return [
        [*RESOLVED, [c, A, d], [c, OTHER_A], [c, K, d], [OTHER_K, d], [K, d]],
        [*RESOLVED, [c, A, d, f], [c, OTHER_A, f], [f, c, K, d], [f, c, j, use("c")], [f, j, c, A], [OTHER_K]],
    ]


def twice() -> list[list[Unit]]:
    """A unit has `k` twice, and its `p` points to either. `c` of the last unit is undecided, and reached by `k`."""
    c, h, k, p = struct("c", "a"), struct("h", "k", "c"), struct("k", "c"), struct("p", "k")
    second, declared, other = struct("p", to("k", 1)), ("declare", "struct", "k"), struct("c", "b")
    last = [[h, c, OTHER_A], [h, k, c, use("c")]]
    return [
        [*RESOLVED, [c, A], [p], [second, k, declared, c, A], *last],
        [*RESOLVED, [second, declared, k, other], [p, k, c, A], *last],
        [[p], [p, OTHER_K, declared], [struct("h", "k")], [struct("h", "k"), K], [K]],
    ]


def enumerations() -> list[list[Unit]]:
    """`p` points to an enumeration that is declared here, and defined there with 64 bits."""
    c, h, k, s, z = struct("c", "a"), struct("h", "k", "c"), struct("k", "c"), struct("s", "z", "p"), struct("z")
    p, of_k, other_z, y = struct("p", ENUM), struct("p", ENUM, "k"), struct("z", LONG), struct("y", "z")
    last = [[h, c, OTHER_A], [h, k, c, use("c")]]
    return [
        [[s, p], [s, p, ENUMS[0], other_z], [y], [y, z], [z]],
        [*RESOLVED, [c, A], [of_k], [of_k, ENUMS[0], k, c, A], *last],
        [*RESOLVED, [of_k, k, c, A], [of_k, ENUMS[0]], *last],
    ]


def program(seed: int) -> list[Unit]:
    rng = random.Random(seed)
    written = [*events(), *twice(), *enumerations(), near.resolved_to_uncertain(), near.resolved_in_vain()]
    units = [list(items) for items in written[seed % len(written)]]
    for _ in range(rng.randint(0, 6)):
        rng.choice(CHANGES)(units, rng)
        units = [items for items in units if items]
    return units


# ---- changes ------------------------------------------------------------------------------------------------------


def add(units: list[Unit], rng: random.Random) -> None:
    """Adds a declaration, a copy of a definition from anywhere, an enumeration or a use to a unit."""
    name = rng.choice(near.names_of(units))
    known = [item for items in units for item in items if near.is_definition(item) and item[1] == name]
    items = rng.choice(units)
    item = rng.choice((("declare", "struct", name), rng.choice(known or [A]), rng.choice(ENUMS), use(name)))
    items.insert(rng.randint(0, len(items)), item)


def point_to_second(units: list[Unit], rng: random.Random) -> None:
    """Has some references of an item lead to the second type of that name, if the unit has two."""
    items, at = near.place(units, rng)

    def changed(expr: Any) -> Any:
        if not isinstance(expr, tuple):
            return expr
        return (*expr[:3], rng.randint(0, 1)) if expr[:1] == ("name",) else tuple(map(changed, expr))

    items[at] = changed(items[at])


def grow(units: list[Unit], rng: random.Random) -> None:
    """Adds structs, so that the table of candidates may grow."""
    n = rng.randrange(1000)
    rng.choice(units)[:0] = [struct(f"f{n}_{k}") for k in range(rng.choice((1, 3, 6)))]


CHANGES = (*near.CHANGES, add, add, add, point_to_second, point_to_second, grow)
