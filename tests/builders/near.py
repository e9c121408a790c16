"""Random neighbours of programs that have shown a rule: a few of their units, items or references are changed.

Such programs are rare: one in a hundred thousand of `conflicts.py` may show what a rule is for. Many of its neighbours
do, too, in other orders and combinations, and some show the neighbouring rule.

Programs are data, as in `conflicts.py`.
"""

from __future__ import annotations

import random
from typing import Any

from tests.builders import conflicts, narrow
from tests.builders.conflicts import Item, Unit

#: Seeds of the two kinds of programs.
BROAD = (3414, 44969, 108544, 316692, 600651, 1500096, 3502150)
NARROW = (3108524,)


def struct(name: str, *to: str) -> Item:
    return narrow.struct(name, [narrow.to(each) for each in to])


G = struct("g", "e", "g", "a", "b")


def met() -> list[Unit]:
    """Program 3502150, reduced. `g` of the last unit may merge with the first `g`, or with that of the unit with its
    own `b`. Whether the latter has its `e` declared or defined depends on an `a` that is dropped.
    """

    a, e, f, g = struct("a", "e", "e", "g"), struct("e", "c", "a"), struct("f", "b", "g", "h", "f"), G
    own, used = struct("b", "c"), ("use", ("ptr", ("const", ("name", "struct", "a", 0))))
    return [[a, g], [f], [a, struct("b"), struct("c", "f"), e, f], [a, own, g], [g, a, e, used]]


def told_apart() -> list[Unit]:
    """The same with an `x` that has `e` declared here and defined there; but these two are different types."""
    a, e, f, g, x = struct("a", "g"), struct("e", "c", "a"), struct("f", "b", "g", "h", "f"), G, struct("x", "e", "b")
    own, used = struct("b", "c"), ("use", ("ptr", ("const", ("name", "struct", "a", 0))))
    return [[a, g], [f], [a, struct("b"), struct("c", "f"), e, f, x], [a, own, g, x], [g, a, e, used]]


def just_before() -> list[Unit]:
    """Like `told_apart`, but the two `x` are one: `e` is resolved in the unit before the one that asks."""
    a, e, f, g, x = struct("a", "g"), struct("e", "c", "a"), struct("f", "b", "g", "h", "f"), G, struct("x", "e")
    own, used = struct("b", "c"), ("use", ("ptr", ("const", ("name", "struct", "a", 0))))
    return [[a, g], [f], [a, struct("b"), struct("c", "f"), e, f, x], [a, own, g, x], [g, a, e, used]]


def later() -> list[Unit]:
    """Like `met`, with an `x` that resolves `e` after the unit that asks. At the end comes another `e`."""
    a, e, f, g, x = struct("a", "g"), struct("e", "c", "a"), struct("f", "b", "g", "h", "f"), G, struct("x", "e")
    own, used = struct("b", "c"), ("use", ("ptr", ("const", ("name", "struct", "a", 0))))
    headers = [a, struct("b"), struct("c", "f"), e, f]
    return [[a, g], [f], headers, [a, own, g], [g, a, e, used], [x], [*headers, x], [struct("e")]]


def two_met() -> list[Unit]:
    """Like `met`, with an `x` that is declared and defined just as `e` is, by the same `a`. `g` mentions only `x`."""
    a, e, f, g = struct("a", *"exg"), struct("e", *"ca"), struct("f", *"bghf"), struct("g", *"xgab")
    x, own, used = struct("x", "c", "a"), struct("b", "c"), ("use", ("ptr", ("const", ("name", "struct", "a", 0))))
    headers = [a, struct("b"), struct("c", "f"), e, x, f]
    return [[a, g], [f], headers, [a, own, g], [g, a, e, x, used]]


def captured(n: int = 1) -> list[Unit]:
    """`n` units declare what distinguishes their `t` from the odd one before them. The next unit defines it."""
    a, own, t, x, y = struct("a"), struct("a", "b"), struct("t", "a"), struct("x", "a"), struct("y", "t")
    return [[a, x], [x], [own, t], *([t] for _ in range(n)), [a, t], [t, y], [a, t, y]]


def captured_in_vain() -> list[Unit]:
    """A captured `t`, but everything is kept after all: it is not clear when the `t` of `y` is resolved."""
    a, own, t, x, y = struct("a"), struct("a", "b"), struct("t", "a"), struct("x", "a"), struct("y", "t")
    return [[a, x], [x, y], [own, t], [t], [a, struct("t"), y], [t, struct("y")]]


def defined_besides() -> list[Unit]:
    """The first usual `t` has `a` declared, which could distinguish it from the odd one before it. It is not captured,
    because it has `b` defined. It merges with the odd one, so it must not represent the next, which does not merge.
    """
    a, b, g, t = struct("a"), struct("b"), struct("g", "a", "b"), struct("t", "a", "b")
    return [[g], [g, a, b], [a, b], [a, b], [t, struct("a", "g"), b], [struct("b", "g")], [t, b], [t, a, b]]


def pointers_twice() -> list[Unit]:
    """The fourth unit has the pointer to its odd `c` twice, the next one not at all. So one of the two odd `c` that the
    last may merge with has no pointer to it yet.
    """
    a, c, x, to_c = struct("a"), struct("c", "a"), struct("x", "a"), ("ptr", ("name", "struct", "c", 0))
    use, again = ("use", to_c), ("use", ("fresh", to_c))
    return [[x], [x, a], [c, a, use], [struct("a", "b"), c, use, again], [struct("a", "b", "b"), c], [c, use]]


def resolved_anyway() -> list[Unit]:
    """The last unit is kept whole with an undecided `c`, which it reaches through `d`. `g` has resolved that."""
    a, c, d, e, g = struct("a"), struct("c", "a"), struct("d", "c"), struct("e", "a"), struct("g", "d")
    use = ("use", ("ptr", ("name", "struct", "c", 0)))
    return [[e], [e, a], [g], [g, d, c, a], [struct("a", "b"), c], [struct("d")], [d, c, use]]


def resolved_to_uncertain() -> list[Unit]:
    """The last `t` but one merges with the odd `t` before it, which has its `z` defined. There are two `z`, as the `x`
    of one was resolved to the odd `x`. So nothing else resolves the declaration of `z`.
    """
    e, p, x, y, z = struct("e", "y"), struct("p", "x"), struct("x"), struct("y"), struct("z", "x")
    t = narrow.struct("t", [narrow.to("y"), ("name", "struct", "z", 0)])
    other_x, other_y = narrow.struct("x", [narrow.LONG]), narrow.struct("y", [narrow.LONG])
    return [[p], [p, other_x], [e], [e, y], [t, y], [t, other_y, z], [t], [z, x], [x], [x], [y], [y]]


def resolved_in_vain() -> list[Unit]:
    """The last `h` has its `k` defined, by which it may meet a usual `c`, and only then its own, which merges with the
    odd one of the unit before. The `k` of that unit is declared. Two `p` could resolve it, but are uncertain: the `x`
    of the first was resolved to the odd `x`.
    """
    a, c, e, h, k = struct("a"), struct("c", "a"), struct("e", "a"), struct("h", "k", "c"), struct("k", "c")
    p, x, own = struct("p", "x", "k"), struct("x"), struct("a", "b")
    use = ("use", ("ptr", ("const", ("name", "struct", "c", 0))))
    return [[e], [e, a], [p], [p, struct("x", "b")], [p, x, k, c, a], [h, c, own], [h, k, c, use]]


def met_through_a_pointer() -> list[Unit]:
    """The last `t` may merge with either one. The `c` before it meets the first, by way of `q`; but the pointer to `q`
    that stands between would be that of the fifth unit, which only declares `q`. No struct resolves the declaration.
    """
    a, c, q, t, x = struct("a"), struct("c", "q"), struct("q", "t"), struct("t", "a"), struct("x", "a")
    odd, use, to_q = narrow.struct("a", [narrow.LONG]), ("use", narrow.to("t")), ("use", narrow.to("q"))
    return [[x], [x, a], [a, t, use], [odd, t, use], [to_q], [c, q, t, a], [c, t, q, ("function", narrow.to("t"))]]


def settled_after_captured() -> list[Unit]:
    """The first usual `g` declares `k`, and merges with the odd one before it; the next defines it, and merges with
    neither. So `k` is not resolved when the last unit meets its declaration.
    """
    a, c, e, g = struct("a"), struct("c", "a"), struct("e", "a"), struct("g", "a", "k")
    h, k = struct("h", "k", "c"), struct("k", "c")
    own, use = struct("a", "b"), ("use", ("ptr", ("const", ("name", "struct", "c", 0))))
    return [[e], [e, a], [a], [own, g], [g], [g, a, k, c], [h, c, own], [h, k, c, use]]


def met_by_way_of_another() -> list[Unit]:
    """The `c` of the last unit is compared with that of the unit before. They reach their `t` by way of `z`, of which
    the third unit has the first. The last `t` is mapped to what the one before was: to the odd one.
    """
    a, c, t, x, z = struct("a"), struct("c", "z"), struct("t", "a"), struct("x", "a"), struct("z", "t")
    odd, to_t = narrow.struct("a", [narrow.LONG]), narrow.to("t")
    return [[x], [x, a], [a, t, z], [odd, t, ("use", to_t)], [t, z, c], [c, z, t, a, ("function", to_t)]]


def met_by_way_of_two() -> list[Unit]:
    """Twice that: the `t` of the last unit but one is mapped to what that of the fifth unit was, by way of `d`."""
    a, c, d, t, x = struct("a"), struct("c", "z"), struct("d", "y"), struct("t", "a"), struct("x", "a")
    odd, to_t, y, z = narrow.struct("a", [narrow.LONG]), narrow.to("t"), struct("y", "t"), struct("z", "t")
    last = [c, z, t, a, ("function", to_t)]
    return [[x], [x, a], [a, t, y, z], [odd, t, ("use", to_t)], [t, y, d], [d, y, t, a, z, c], last]


def odd_by_way_of_another() -> list[Unit]:
    """The odd `c` of the last unit is taken for the first one, a usual one: both reach a `t` that has been mapped to
    that of the fifth unit. The `z` in between is of the third unit, and its `t` is another.
    """
    a, c, t, x, z = struct("a"), struct("c", "z"), struct("t", "a"), struct("x", "a"), struct("z", "t")
    odd, use = narrow.struct("a", [narrow.LONG]), ("use", narrow.to("t"))
    return [[x], [x, a], [a, t, z], [a], [odd, t, use], [t, z, c], [odd, t, z, c]]


def pointer_of_another() -> list[Unit]:
    """The first pointer to `z` is that of the fifth unit, and leads to a `t` that is mapped to the odd one. The first
    `c` has its own, by which the last `t` is mapped to the first.
    """
    a, c, t, x, z = struct("a"), struct("c", "z"), struct("t", "a"), struct("x", "a"), struct("z", "t")
    odd, last = narrow.struct("a", [narrow.LONG]), ("function", narrow.to("t"))
    return [[x], [x, a], [t, z], [odd, t], [t, z, ("use", narrow.to("z")), last], [a, t, z, c], [c, z, t, last]]


def declared_by_way_of_another() -> list[Unit]:
    """The first `d` leads to a `c` whose `z` is declared, and resolved to the first. The `c` that stands for it leads
    to a `t` that is mapped to the odd one.
    """
    a, c, d, t = struct("a"), struct("c", "z"), struct("d", "c"), struct("t", "a")
    odd, x, z = narrow.struct("a", [narrow.LONG]), struct("x", "a"), struct("z", "t")
    return [[x], [x, a], [t, z], [odd, t], [t, z, c], [d, c], [("function", narrow.to("t")), d, c, a, z, t]]


def pointer_to_declared() -> list[Unit]:
    """The first pointer to `y` leads to an `s` of its own unit, the fifth, and to a declared `t`. The `y` of the first
    `p` has `s` declared, which is resolved to the first, whose `t` is mapped to the odd one.
    """
    a, m, p, s, t = struct("a"), struct("m", "t"), struct("p", "y"), struct("s", "t"), struct("t", "a")
    odd, x, y = narrow.struct("a", [narrow.LONG]), struct("x", "a"), struct("y", "s")
    last, own = ("function", narrow.to("t")), [("use", narrow.to("y")), y, s, odd]
    return [[x, m, y], [x, a, m, t], [odd, t], [t, s, last], own, [p, y], [p, y, s, a, t, last]]


def met_past_a_declaration() -> list[Unit]:
    """The `y` of the last unit is compared with that of the unit before, which only declares `t`. What stands for the
    `z` in between is that of the fourth unit, whose `t` goes to the odd one.
    """
    a, h, t, x = struct("a"), struct("h", "t"), struct("t", "a"), struct("x", "a")
    y, z, odd, use = struct("y", "z"), struct("z", "t"), narrow.struct("a", [narrow.LONG]), ("function", narrow.to("t"))
    return [[x, h], [x, h, t, a], [odd, t], [t, z, use], [z, y], [y, z, t, a, use]]


def met_besides_a_captured_type() -> list[Unit]:
    """The same, and the unit before the last has a captured `k`, for which none stands."""
    units, k = met_past_a_declaration(), struct("k", "a")
    return [*units[:2], [k, *units[2]], units[3], [k, *units[4]], units[5]]


def met_by_a_pointer_of_another(decided: bool = False) -> list[Unit]:
    """The `y` of the last unit but two, or of the last, is compared with that of the fifth, which has a pointer to `z`
    declared. The first such pointer is that of the fourth unit, which leads to a `t` that goes to the odd one.
    `decided`: the other unit is kept whole for another reason.
    """
    a, k, t, x, y, z = struct("a"), struct("k"), struct("t", "a"), struct("x", "a"), struct("y", "z"), struct("z", "t")
    h = narrow.struct("h", [("ptr", ("const", ("name", "struct", "z", 0)))])
    odd, use, to_z = narrow.struct("a", [narrow.LONG]), ("function", narrow.to("t")), ("use", narrow.to("z"))
    units = [[x, h], [x, h, z, t, a], [odd, t], [t, z, to_z, use], [y]]
    own = narrow.struct("k", [narrow.LONG])
    return [*units, [y, z, t, a, use, own], [k], [k]] if decided else [*units, [y, z, t, use]]


def met_by_a_pointer_of_a_decided_type() -> list[Unit]:
    return met_by_a_pointer_of_another(True)


def replaced_late() -> list[Unit]:
    """Like `met_by_way_of_another`. The fifth unit, which is kept whole late, has the first pointer to `z`. When it no
    longer stands for others, that of the last unit does.
    """
    return [*met_by_way_of_another(), [struct("q", "z")], [struct("r", "z")]]


def resolved_by_a_unit_that_does_not_ask() -> list[Unit]:
    """The `y` of the last unit but two meets the declaration of `z`, which nothing has resolved, so its `t` goes to the
    odd one. The `c` of the unit before and the first `c` have `z` defined, but the first pointer to it is to a
    declaration. The last units make another `k` odd.
    """
    a, c, k, t, x = struct("a"), struct("c", "z"), struct("k"), struct("t", "a"), struct("x", "a")
    y, z, odd = struct("y", "z"), struct("z", "t"), narrow.struct("a", [narrow.LONG])
    own, use = narrow.struct("k", [narrow.LONG]), ("function", narrow.to("t"))
    first, whole = [x, a, t, z, c], [own, c, z, t, a]
    return [[x, ("use", narrow.to("z"))], first, [odd, t], [y], whole, [y, t, z, use], [k], [k]]


def replaced_in_a_tainted_unit() -> list[Unit]:
    """The `y` of the last unit is compared with that of the sixth, whose `z` is resolved to the first; the `t` of that
    goes to the odd one. The pointer to `z` in between is that of the fifth unit. It is whole because of the first
    pointer to `k`, and has a `z` of its own, which leads to a declaration of `t`.
    """
    a, c, k, m = struct("a"), struct("c", "k"), struct("k", "t"), struct("m", "t")
    t, x, y, z = struct("t", "a"), struct("x", "a"), struct("y", "z"), struct("z", "t")
    h = narrow.struct("h", [("ptr", ("const", ("name", "struct", "z", 0)))])
    odd, last = narrow.struct("a", [narrow.LONG]), [y, z, t, ("function", narrow.to("t"))]
    first, replaced = [x, m, h, ("use", narrow.to("k"))], [c, k, z, ("use", narrow.to("z"))]
    return [first, [x, a, m, t], [odd, t], [t, z, h], replaced, [y], [c, k, t], last]


def met_by_a_name_that_a_unit_has_twice() -> list[Unit]:
    """The fifth unit declares `c` as well, so its own one is wild. That of the last unit is taken for it all the same,
    and the `t` is mapped to what the other `t` was: to the odd one.
    """
    a, c, t, x, z = struct("a"), struct("c", "z"), struct("t", "a"), struct("x", "a"), struct("z", "t")
    odd, last = narrow.struct("a", [narrow.LONG]), ("function", narrow.to("t"))
    return [[x], [x, a], [t, z], [odd, t], [("declare", "struct", "c"), t, z, c], [c, z, t, a, last]]


def tainted_by_a_name_that_a_unit_has_twice() -> list[Unit]:
    """The same, with another usual `c` in between, which has its `z` declared. Its unit is kept whole, the last one is
    only because of the wild `c`.
    """
    units = met_by_a_name_that_a_unit_has_twice()
    return [*units[:-1], [struct("c", "z")], units[-1]]


def met_by_a_name_twice_after_another() -> list[Unit]:
    """The last unit has `c` twice, and an undecided `t`. The first `c` comes before, and leads to a decided one."""
    a, c, q, t, x = struct("a"), struct("c", "q"), struct("q", "t"), struct("t", "a"), struct("x", "a")
    odd = narrow.struct("a", [narrow.LONG])
    return [[x], [x, a], [odd, t], [c, q, t, a], [c, t, ("declare", "struct", "c")]]


def met_twice() -> list[Unit]:
    """Two equal nameless structs of the last unit are undecided. The first `c` has two as well, for which that of the
    unit before stands.
    """
    a, x, to_t = struct("a"), struct("x", "a"), ("ptr", narrow.nameless([narrow.to("a")]))
    c, odd = narrow.struct("c", [("fresh", ("ptr", ("fresh", to_t[1]))), to_t]), narrow.struct("a", [narrow.LONG])
    return [[x], [x, a], [a, ("use", to_t)], [a, c], [odd, ("use", to_t)], [c, ("function", to_t)]]


def pointer_of_an_undecided_type() -> list[Unit]:
    """The first pointer to `t` is that of the fifth unit, which leads to another undecided type. So the next stands for
    others, that of the unit before the last, although it leads to an undecided `t`.
    """
    a, b, d, t, x = struct("a"), struct("b", "d"), struct("d", "y"), struct("t", "b"), struct("x", "a")
    c, s, y, z, of_b = struct("c", "z"), struct("s", "a"), struct("y", "t"), struct("z", "t"), struct("w", "b")
    odd, other, use = narrow.struct("a", [narrow.LONG]), struct("b"), ("function", narrow.to("t"))
    before = [[x], [x, a], [odd, s, of_b], [s, of_b, b], [s, ("function", narrow.to("s")), b, t, z]]
    return [*before, [other, t, ("use", narrow.to("t"))], [a], [y], [z, t, d, c], [c, z, t, use]]


def resolved_by_a_name_that_a_unit_has_twice() -> list[Unit]:
    """The first usual `d` is taken for the wild one of the fourth unit. Both only declare `k`. But the first pointer to
    `k`, that of the third unit, leads to a definition. The last unit meets the declaration, which is not resolved.
    """
    a, c, d, e, h = struct("a"), struct("c", "a"), struct("d", "k"), struct("e", "a"), struct("h", "k", "c")
    k, to_k, use = struct("k", "c"), ("use", narrow.to("k")), ("use", ("ptr", ("const", ("name", "struct", "c", 0))))
    twice = [d, ("declare", "struct", "d")]
    return [[e], [e, a], [k, c, a, to_k], twice, [d], [h, c, struct("a", "b")], [h, k, c, use]]


#: Functions above whose programs ask what an undecided type meets, or may merge with.
MEETING = (
    "met", "two_met", "told_apart", "just_before", "later", "captured_in_vain", "defined_besides", "pointers_twice",
    "resolved_to_uncertain", "resolved_in_vain", "met_through_a_pointer", "settled_after_captured",
    "met_by_way_of_another", "met_by_way_of_two", "odd_by_way_of_another", "pointer_of_another",
    "declared_by_way_of_another", "pointer_to_declared", "met_past_a_declaration", "met_besides_a_captured_type",
    "met_by_a_pointer_of_another", "met_by_a_pointer_of_a_decided_type", "replaced_late",
    "resolved_by_a_unit_that_does_not_ask", "replaced_in_a_tainted_unit", "met_by_a_name_that_a_unit_has_twice",
    "tainted_by_a_name_that_a_unit_has_twice", "met_by_a_name_twice_after_another", "met_twice",
    "pointer_of_an_undecided_type", "resolved_by_a_name_that_a_unit_has_twice",
)  # fmt: skip


def program(seed: int) -> list[Unit]:
    """Every second program is a neighbour of those that are written out here."""
    known = [conflicts.program(each) for each in BROAD] + [narrow.program(each) for each in NARROW]
    written = (met, told_apart, later, captured)
    units = known[seed // 2 % len(known)] if seed % 2 else written[seed // 2 % len(written)]()
    return neighbour(units, random.Random(seed))


def neighbour(units: list[Unit], rng: random.Random) -> list[Unit]:
    """The program with one to five changes."""
    near = [list(items) for items in units if items]
    for _ in range(rng.randint(1, 5)):
        rng.choice(CHANGES)(near, rng)
        near = [items for items in near if items]
    return near


def names_of(units: list[Unit]) -> list[str]:
    return sorted({item[1] for items in units for item in items if is_definition(item)}) or ["a"]


def is_definition(item: Item) -> bool:
    return item[0] == "struct" and len(item) == 4


def place(units: list[Unit], rng: random.Random) -> tuple[Unit, int]:
    items = rng.choice(units)
    return items, rng.randrange(len(items))


# ---- changes ------------------------------------------------------------------------------------------------------


def leave_out_item(units: list[Unit], rng: random.Random) -> None:
    if any(len(items) > 1 for items in units):
        items, at = place(units, rng)
        del items[at]


def leave_out_unit(units: list[Unit], rng: random.Random) -> None:
    if len(units) > 2:
        del units[rng.randrange(len(units))]


def swap_units(units: list[Unit], rng: random.Random) -> None:
    i, j = rng.randrange(len(units)), rng.randrange(len(units))
    units[i], units[j] = units[j], units[i]


def repeat_unit(units: list[Unit], rng: random.Random) -> None:
    units.insert(rng.randint(0, len(units)), list(rng.choice(units)))


def reorder(units: list[Unit], rng: random.Random) -> None:
    rng.shuffle(rng.choice(units))


def copy_item(units: list[Unit], rng: random.Random) -> None:
    """Copies an item into another unit, which thus includes one more header; but not as a second definition."""
    items, at = place(units, rng)
    other = rng.choice(units)
    if all(item[:2] != items[at][:2] for item in other):
        other.insert(rng.randint(0, len(other)), items[at])


def use(units: list[Unit], rng: random.Random) -> None:
    rng.choice(units).append(("use", ("ptr", ("name", "struct", rng.choice(names_of(units)), 0))))


def point_elsewhere(units: list[Unit], rng: random.Random) -> None:
    """Redirects a member of a definition, in this unit or in all that have the definition."""
    items, at = place(units, rng)
    old = items[at]
    if not is_definition(old) or not old[3]:
        return
    members = list(old[3])
    n = rng.randrange(len(members))
    name, type, *rest = members[n]
    members[n] = (name, renamed(type, rng.choice(names_of(units))), *rest)
    new = (*old[:3], tuple(members))
    for each in units if rng.random() < 0.6 else [items]:
        each[:] = [new if item == old else item for item in each]


def renamed(expr: Any, name: str) -> Any:
    """The expression with all its references to structs leading to this one."""
    if not isinstance(expr, tuple):
        return expr
    if expr[:2] == ("name", "struct"):
        return "name", "struct", name, 0
    return tuple(renamed(each, name) for each in expr)


CHANGES = (
    leave_out_item, leave_out_unit, swap_units, repeat_unit, reorder, copy_item, use, point_elsewhere,
)  # fmt: skip
