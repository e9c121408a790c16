"""Larger changes of programs than those of `near.py` and `wild.py`: other names, members and kinds, parts of another
program. Most make no sense for one program; among those that coverage chooses (`tools/fuzz/guided.py`) they lead to
meetings of types that nobody thought of.

Programs are data, as in `conflicts.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.builders import narrow, near, wild
from tests.builders.conflicts import Expr, Item, Unit

NAMES = "abcdefghkmpqstxyz"
LEADS = ("use", "function", "variable")


def changed(units: list[Unit], other: list[Unit], rng: random.Random) -> list[Unit]:
    """The program with one to six changes; the other one may lend some of its parts."""
    made = [list(items) for items in units if items]
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6))):
        if rng.random() < 0.1:
            splice(made, other, rng)
        else:
            rng.choice(CHANGES)(made, rng)
        made = [items for items in made if items]
        if not made:
            return [list(items) for items in units]
    return made


def mapped(change: Callable[[Any], Any], expr: Any) -> Any:
    """The expression with `change` made to all tuples in it, from the inside out."""
    return change(tuple(mapped(change, each) for each in expr)) if isinstance(expr, tuple) else expr


def to(rng: random.Random, name: str) -> Expr:
    """A pointer that leads to a name, more or less directly."""
    direct: Expr = ("name", "struct", name, 0)
    return rng.choice((
        narrow.to(name), narrow.to(name), narrow.to(name), ("ptr", ("const", direct)), ("ptr", ("ptr", direct)),
        ("ptr", narrow.nameless([narrow.to(name)])), ("ptr", ("proto", ("void",), (("p", narrow.to(name)),))),
    ))  # fmt: skip


# ---- changes ------------------------------------------------------------------------------------------------------


def splice(units: list[Unit], other: list[Unit], rng: random.Random) -> None:
    """Adds units of the other program, or their items to the units."""
    lent = [list(items) for items in other]
    if rng.random() < 0.5:
        rename(lent, rng)
    if rng.random() < 0.5:
        for items in rng.sample(lent, rng.randint(1, len(lent))):
            units.insert(rng.randint(0, len(units)), items)
        return
    for own, more in zip(units, lent, strict=False):
        known = {item[:2] for item in own}
        for item in more:
            if item[0] in LEADS or item[:2] not in known:
                own.insert(rng.randint(0, len(own)), item)


def distinguish(units: list[Unit], rng: random.Random) -> None:
    """Gives a definition another content, in one unit."""
    items, at = near.place(units, rng)
    old = items[at]
    if near.is_definition(old):
        types = [type for _, type, *_ in old[3]]
        items[at] = narrow.struct(old[1], [narrow.LONG] if rng.random() < 0.7 else types[:-1])


def declare(units: list[Unit], rng: random.Random) -> None:
    """Has a unit only declare what it defines."""
    items, at = near.place(units, rng)
    if near.is_definition(items[at]):
        items[at] = ("declare", *items[at][:2])


def rename(units: list[Unit], rng: random.Random) -> None:
    """Gives a struct another name, mostly everywhere. That may be the name of another one."""
    old, new = rng.choice(near.names_of(units)), rng.choice(NAMES)

    def called(expr: Any) -> Any:
        return (*expr[:2], new, expr[3]) if len(expr) == 4 and expr[0] == "name" and expr[2] == old else expr

    def item(this: Item) -> Item:
        made: Item = mapped(called, this)
        if made[0] in ("struct", "union", "enum") and made[1] == old:
            return (made[0], new, *made[2:])
        return (*made[:2], new) if made[0] == "declare" and made[2] == old else made

    for items in units if rng.random() < 0.8 else [rng.choice(units)]:
        items[:] = [item(this) for this in items]


def refer(units: list[Unit], rng: random.Random) -> None:
    """Adds something that leads to a struct."""
    lead = rng.choice((*LEADS, "use")), to(rng, rng.choice(near.names_of(units)))
    items = rng.choice(units)
    items.insert(rng.randint(0, len(items)), lead)


def member(units: list[Unit], rng: random.Random) -> None:
    """Adds a member to a definition, or removes one, in this unit or in all that have the definition."""
    items, at = near.place(units, rng)
    old = items[at]
    if not near.is_definition(old):
        return
    types = [type for _, type, *_ in old[3]]
    if types and rng.random() < 0.4:
        del types[rng.randrange(len(types))]
    elif len(types) < 5:
        name = rng.choice(near.names_of(units))
        plain = narrow.LONG, narrow.nameless([narrow.to(name)]), ("array", narrow.to(name), 2), wild.ENUM
        types.insert(rng.randint(0, len(types)), to(rng, name) if rng.random() < 0.7 else rng.choice(plain))
    new = narrow.struct(old[1], types)
    for each in units if rng.random() < 0.6 else [items]:
        each[:] = [new if item == old else item for item in each]


def define(units: list[Unit], rng: random.Random) -> None:
    """Defines one more struct, in one to three units."""
    known = near.names_of(units)
    new = narrow.struct(rng.choice(NAMES), [narrow.to(rng.choice(known)) for _ in range(rng.randint(0, 2))])
    for items in rng.sample(units, rng.randint(1, min(3, len(units)))):
        if all(item[:2] != new[:2] for item in items):
            items.insert(rng.randint(0, len(items)), new)


def join(units: list[Unit], rng: random.Random) -> None:
    """Makes one unit of two."""
    if len(units) > 2:
        at = rng.randrange(len(units) - 1)
        known = {item[:2] for item in units[at]}
        units[at] += [item for item in units.pop(at + 1) if item[:2] not in known]


def make_union(units: list[Unit], rng: random.Random) -> None:
    """Makes unions of all structs of a name."""
    name = rng.choice(near.names_of(units))

    def called(expr: Any) -> Any:
        return ("name", "union", *expr[2:]) if expr[:3] == ("name", "struct", name) else expr

    for items in units:
        for at, item in enumerate(items):
            made = mapped(called, item)
            if made[:2] == ("struct", name):
                made = ("union", *made[1:])
            items[at] = ("declare", "union", name) if made[:3] == ("declare", "struct", name) else made


#: Each function is as likely as it is often in here.
CHANGES = (
    *near.CHANGES, *near.CHANGES, near.copy_item, near.copy_item, distinguish, distinguish, declare, rename, refer,
    refer, member, member, define, join, make_union, wild.add, wild.point_to_second, wild.grow,
)  # fmt: skip
