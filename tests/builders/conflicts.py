"""Random programs of a few units whose types conflict, repeat and nest, for testing how repeats are dropped.

A program is data: units, each a list of items that define or use types. All units draw from one *world*, the headers
that they would include: definitions by name, each in several variants, and parts of which types are made. Most units
follow the headers, some do not. The types are chosen so that the reference's comparison can go either way:

- structs, unions and enumerations (of 32 and 64 bits) of the same name, declared, defined, defined differently, twice
  in a unit, private names that reach a public one;
- nameless structs, unions and enumerations (empty ones too), equal ones made once or several times in a unit;
- arrays, also of types that differ only in the elements of an array;
- nesting without names, 10 to 20 deep; types and typedefs that reach themselves without a name;
- bit-fields, prototypes, qualifiers, typedefs.

The probability of each is drawn once per program. Nothing here knows how the encoder finds repeats.

An expression is a tuple: ("base", NAME), ("void",), ("name", TAG, NAME, N), ("typedef", NAME), ("ptr" | "const" |
"volatile" | "restrict", T), ("array", T, N), ("struct" | "union", SIZE, MEMBERS), ("enum", SIZE, VALUES), ("proto", T,
PARAMETERS), ("rec", T) with ("back",) inside for the type itself, and ("fresh", T): a DIE of its own, not shared with
equal ones in the unit. A member is (name, T, offset, bits).
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

Expr = tuple[Any, ...]
Item = tuple[Any, ...]
Unit = list[Item]
Member = tuple[str, Expr, int, int]

BASES = ("int", "unsigned int", "char", "long", "float")
LINKS = ("ptr", "const", "volatile", "restrict")


# ---- what there is ---------------------------------------------------------------------------------------------------


class Style(NamedTuple):
    """How one program is made; probabilities between 0 and 1."""

    names: int
    units: int
    used: float  # a unit uses a name
    declared: float  # ... which it only declares
    both: float  # ... or also declares
    odd: float  # ... or defines in its own way
    twice: float  # ... or has two of
    private: float  # a unit has little but one name, in its own way
    copies: float  # a nameless type is repeated
    members: int  # at most
    by_value: float  # members are named types themselves, not pointers to these
    plain: float  # members are nothing but pointers to names
    arrays: float
    anonymous: float
    enums: float  # ... of which enumerations
    again: float  # a member is of the type of the one before
    twists: float  # a part is repeated with other elements of an array
    deep: float
    loops: float
    empty: float  # a nameless enumeration is empty
    tags: tuple[str, ...]
    typedefs: int
    parts: int


def style(rng: random.Random) -> Style:
    tags = rng.choice((("struct",), ("struct", "union"), ("struct", "union", "enum"), ("struct", "enum", "enum64")))
    mixed = Style(
        names=rng.randint(2, 8),
        units=rng.randint(2, 9),
        used=rng.choice((0.3, 0.5, 0.8, 1.0)),
        declared=rng.choice((0.0, 0.1, 0.25, 0.5)),
        both=rng.choice((0.0, 0.0, 0.0, 0.2)),
        odd=rng.choice((0.0, 0.1, 0.3, 0.5)),
        twice=rng.choice((0.0, 0.0, 0.03, 0.2)),
        private=rng.choice((0.0, 0.0, 0.2)),
        copies=rng.choice((0.0, 0.1, 0.5)),
        members=rng.choice((2, 4)),
        by_value=rng.choice((0.0, 0.1, 0.3)),
        plain=rng.choice((0.2, 0.5, 1.0)),
        arrays=rng.choice((0.0, 0.3, 0.6)),
        anonymous=rng.choice((0.0, 0.3, 0.6)),
        enums=rng.choice((0.0, 0.2, 0.7)),
        again=rng.choice((0.0, 0.3, 0.6)),
        twists=rng.choice((0.0, 0.0, 0.5)),
        deep=rng.choice((0.0, 0.0, 0.2)),
        loops=rng.choice((0.0, 0.0, 0.0, 0.1)),
        empty=rng.choice((0.0, 0.0, 0.4)),
        tags=tags,
        typedefs=rng.choice((0, 1, 3)),
        parts=rng.randint(1, 5),
    )
    return mixed._replace(**rng.choice(THEMES))


#: Programs about one thing: further oddities of the same types would hide it.
ALIKE: dict[str, Any] = {"odd": 0.0, "twice": 0.0, "both": 0.0, "private": 0.0, "loops": 0.0}
SPARSE: dict[str, Any] = {
    "tags": ("struct",), "names": 3, "units": 9, "used": 0.6, "members": 2, "plain": 1.0, "typedefs": 0, "parts": 1,
    "deep": 0.0, "anonymous": 0.0, "arrays": 0.0, "by_value": 0.0,
}  # fmt: skip
THEMES: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {}),
    {**ALIKE, "tags": ("struct",), "names": 2, "deep": 0.8, "again": 0.8, "copies": 0.3, "plain": 0.0, "typedefs": 0},
    {**ALIKE, "enums": 0.9, "empty": 0.4, "anonymous": 0.9, "arrays": 0.0, "typedefs": 3, "plain": 0.1},
    {**ALIKE, "odd": 0.4, "tags": ("enum",), "arrays": 0.7, "again": 0.8, "typedefs": 3, "copies": 0.05, "deep": 0.0},
    {"tags": ("struct",), "plain": 1.0, "private": 0.15, "odd": 0.1, "declared": 0.3, "loops": 0.0, "units": 9},
    {**ALIKE, **SPARSE, "private": 0.2, "odd": 0.3, "declared": 0.4},
)


class World:
    """The headers: parts of types, and the definitions of each name and typedef, the usual one first."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.how = style(rng)
        how = self.how
        self.names = "abcdefgh"[: how.names]
        self.tags = {name: rng.choice(how.tags) for name in self.names}
        self.odd = {name: rng.choice((0.0, how.odd)) for name in self.names}
        self.declared = {name: rng.choice((0.0, how.declared, how.declared)) for name in self.names}
        self.typedefs = {f"t{n}": None for n in range(how.typedefs)}
        self.parts = [self.part(3) for _ in range(how.parts)]
        self.parts += [twisted(part, rng) for part in self.parts if rng.random() < how.twists]
        self.definitions = {name: self.variants(name) for name in self.names}
        self.meanings = {name: self.typedef_variants(name) for name in self.typedefs}

    # -- expressions

    def reference(self, name: str, tag: str | None = None) -> Expr:
        tag = tag or self.tags[name]
        return ("name", "enum" if tag == "enum64" else tag, name, int(self.rng.random() < 0.3))

    def pointer(self) -> Expr:
        rng = self.rng
        to = self.reference(rng.choice(self.names))
        if rng.random() < 0.15:
            to = (rng.choice(("const", "volatile")), to)
        return ("ptr", to)

    def leaf(self) -> Expr:
        rng, how = self.rng, self.how
        draw = rng.random()
        if draw < 0.35:
            return self.pointer()
        if draw < 0.35 + how.by_value:
            return self.reference(rng.choice(self.names))
        if self.typedefs and draw < 0.8:
            return ("typedef", rng.choice(list(self.typedefs)))
        return ("base", rng.choice(BASES))

    def enumeration(self) -> Expr:
        rng = self.rng
        n = 0 if rng.random() < self.how.empty else rng.choice((1, 2, 2))
        return ("enum", rng.choice((4, 4, 4, 8)), tuple((f"E{i}", i) for i in range(n)))

    def part(self, depth: int) -> Expr:
        rng, how = self.rng, self.how
        if rng.random() < how.deep:
            return self.nested(rng.randint(14, 20) if rng.random() < 0.7 else rng.randint(10, 14))
        if rng.random() < how.loops:
            return self.loop()
        if depth and rng.random() < how.arrays:
            return ("array", self.part(depth - 1), rng.choice((2, 2, 3)))
        if depth and rng.random() < how.anonymous:
            draw = rng.random()
            if draw < how.enums:
                return self.enumeration()
            return self.record(rng.choice(("struct", "struct", "union")), depth - 1, rng.randint(0, 3))
        if depth and rng.random() < 0.15:
            parameters = tuple((rng.choice(("", "p", "q")), self.part(0)) for _ in range(rng.randint(0, 2)))
            returned = rng.choice((("void",), self.leaf()))
            return ("ptr", ("proto", returned, parameters))
        if depth and rng.random() < 0.15:
            return (rng.choice(LINKS), self.part(depth - 1))
        return self.leaf()

    def record(self, tag: str, depth: int, n: int) -> Expr:
        types = self.repeated([self.part(depth) for _ in range(n)])
        return (tag, 8 * max(n, 1), self.members(tag, types))

    def repeated(self, types: list[Expr]) -> list[Expr]:
        for n in range(1, len(types)):
            if self.rng.random() < self.how.again:
                types[n] = types[n - 1]
        return types

    def members(self, tag: str, types: list[Expr]) -> tuple[Member, ...]:
        rng = self.rng
        result = []
        for n, type in enumerate(types):
            offset = 8 * n if tag == "struct" else 0
            bits = 3 if type[0] == "base" and type[1] in ("int", "unsigned int") and rng.random() < 0.2 else 0
            result.append((f"m{n}", type, offset, bits))
        return tuple(result)

    def nested(self, depth: int) -> Expr:
        """A type without names inside, `depth` structs, unions or prototypes deep."""
        rng = self.rng
        type = self.leaf()
        arrays = rng.choice((0.0, 0.0, 0.1))  # comparing identical types ignores its elements
        for _ in range(depth):
            draw = rng.random()
            if draw < 0.85 - arrays:
                type = (rng.choice(("struct", "struct", "union")), 8, (("n", type, 0, 0),))
            elif draw < 1.0 - arrays:
                type = ("ptr", ("proto", type, ()))
            else:
                type = ("array", ("struct", 8, (("n", type, 0, 0),)), 2)
        return type

    def loop(self) -> Expr:
        """A type that reaches itself without passing a name, or the same type unrolled once."""
        rng = self.rng
        draw = rng.random()
        others = tuple(("", self.leaf()) for _ in range(rng.randint(0, 2)))
        if draw < 0.5:
            type: Expr = ("rec", ("ptr", ("proto", ("void",), (("", ("back",)), *others))))
        else:
            members = self.members("struct", [("ptr", ("back",)), *(other for _, other in others)])
            type = ("rec", ("struct", 24, members))
        return ("ptr", unrolled(type)) if rng.random() < 0.3 else type

    # -- definitions

    def content(self) -> list[Expr]:
        rng, how = self.rng, self.how
        result = []
        for _ in range(rng.randint(0, how.members)):
            if rng.random() < how.plain:
                result.append(self.pointer())
            elif rng.random() < 0.7:
                result.append(rng.choice(self.parts))
            else:
                result.append(self.leaf())
        return self.repeated(result)

    def variants(self, name: str) -> list[Item]:
        rng = self.rng
        tag = self.tags[name]
        if tag.startswith("enum"):
            size = 8 if tag == "enum64" else 4
            usual: Item = ("enum", name, size, tuple((f"{name}{i}", i) for i in range(rng.randint(1, 3))))
        else:
            types = self.content()
            usual = (tag, name, 8 * max(len(types), 1), self.members(tag, types))
        return [usual, *(self.changed(usual) for _ in range(rng.choice((1, 1, 2))))]

    def changed(self, item: Item) -> Item:
        """Another definition of the name."""
        rng = self.rng
        tag, name, size, content = item
        draw = rng.random()
        if tag == "enum":
            if draw < 0.3:
                return ("struct", name, 8, ())
            if draw < 0.6:
                return ("enum", name, 12 - size, content)
            return ("enum", name, size, (*content, (f"{name}X", 9)))
        if draw < 0.2:
            other = "union" if tag == "struct" else "struct"
            return (other, name, size, self.members(other, [member[1] for member in content]))
        if draw < 0.75 and content:
            at = rng.randrange(len(content))
            text, type, *place = content[at]
            instead = twisted(type, rng) if draw < 0.5 else self.leaf()
            return (tag, name, size, (*content[:at], (text, instead, *place), *content[at + 1 :]))
        return (tag, name, size + 8, (*content, ("odd", self.part(1), size if tag == "struct" else 0, 0)))

    def typedef_variants(self, name: str) -> list[Item]:
        rng = self.rng
        draw = rng.random()
        if draw < 0.3:
            type: Expr = self.reference(rng.choice(self.names))
        elif draw < 0.5:
            type = rng.choice(self.parts)
        elif draw < 0.55 and self.how.loops:
            type = ("struct", 8, self.members("struct", [("ptr", ("typedef", name)), rng.choice(self.parts)]))
        else:
            tag = rng.choice(("struct", "struct", "union"))
            types = self.repeated([rng.choice(self.parts) for _ in range(rng.randint(1, 3))])
            type = (tag, 8 * len(types), self.members(tag, types))
        return [("typedef", name, type), ("typedef", name, twisted(type, rng))]


def unrolled(type: Expr) -> Expr:
    """A type that reaches itself, with one full copy of itself in that place."""

    def replaced(expr: Any) -> Any:
        if expr == ("back",):
            return type
        return tuple(replaced(part) for part in expr) if isinstance(expr, tuple) else expr

    body: Expr = replaced(type[1])
    return body


def twisted(expr: Expr, rng: random.Random) -> Expr:
    """The same except for the elements of one array. If it has no array, the same in an array, or another length."""
    places: list[tuple[int, ...]] = []

    def look(part: Any, at: tuple[int, ...]) -> None:
        if isinstance(part, tuple):
            if part and part[0] == "array":
                places.append(at)
            for n, inner in enumerate(part):
                look(inner, (*at, n))

    def at(part: Any, place: tuple[int, ...]) -> Any:
        if place:
            n = place[0]
            return (*part[:n], at(part[n], place[1:]), *part[n + 1 :])
        other = ("base", "char" if part[1] == ("base", "int") else "int")
        return ("array", other, part[2])

    look(expr, ())
    if not places:
        return expr if rng.random() < 0.5 else ("array", expr, 2)
    result: Expr = at(expr, rng.choice(places))
    return result


# ---- programs ------------------------------------------------------------------------------------------------------


def program(seed: int) -> list[Unit]:
    rng = random.Random(seed)
    world = World(rng)
    return [one_unit(world) for _ in range(world.how.units)]


def one_unit(world: World) -> Unit:
    rng, how = world.rng, world.how
    names = list(world.names)
    odd = world.odd
    copies = rng.choice((0.0, how.copies))
    if rng.random() < how.private:
        names = [rng.choice(names)]
        odd = dict.fromkeys(names, 1.0)
    items: Unit = []
    used = [name for name in names if rng.random() < how.used or odd[name] == 1.0]
    for name in used:
        definitions = world.definitions[name]
        declare = rng.random() < world.declared[name] and odd[name] < 1.0
        item = definitions[0] if rng.random() >= odd[name] else rng.choice(definitions[1:])
        tag = item[0]
        if declare or rng.random() < how.both:
            items.append(("declare", tag, name))
        if not declare:
            items.append(varied(item, rng, copies))
            if rng.random() < how.twice:
                items.append(varied(rng.choice(definitions), rng, copies))
        if rng.random() < 0.7:
            items.append(("use", ("ptr", world.reference(name, tag))))
    for meanings in world.meanings.values():
        if rng.random() < how.used:
            items.append(varied(meanings[rng.random() < how.odd], rng, copies))
    for _ in range(rng.randint(0, 3)):
        items.append(("use", fresh(rng.choice((rng.choice(world.parts), world.pointer())), rng, copies)))
    if rng.random() < 0.5:
        rng.shuffle(items)
    return items


def with_uses(units: list[Unit], seed: int) -> list[Unit]:
    """The program with variables, and functions with parameters, of named types in their unit."""
    rng = random.Random(seed)
    often = rng.choice((0.1, 0.3, 0.6))
    found = []
    for items in units:
        uses: Unit = []
        for item in items:
            if item[0] in ("struct", "union", "enum", "typedef") and rng.random() < often:
                uses.append((rng.choice(("variable", "function")), ("name", item[0], item[1], 0)))
            elif item[0] == "use" and rng.random() < often:
                uses.append((rng.choice(("variable", "function")), item[1]))
        found.append([*items, *uses])
    return found


def used_directly(units: list[Unit], kind: str) -> list[Unit]:
    """The program with a variable, or a function with a parameter, of each type that it otherwise has a pointer to."""
    return [[(kind, pointed_to(item[1])) if item[0] == "use" else item for item in items] for items in units]


def pointed_to(expr: Expr) -> Expr:
    while expr[0] in ("ptr", "fresh"):
        expr = expr[1]
    return expr


def fresh(expr: Any, rng: random.Random, chance: float) -> Any:
    """The same expression, with new copies of some of its nameless types."""
    if not chance or not isinstance(expr, tuple):
        return expr
    inner = tuple(fresh(part, rng, chance) for part in expr)
    if expr and expr[0] in COMPOSITE and rng.random() < chance:
        return ("fresh", inner)
    return inner


COMPOSITE = {"struct", "union", "enum", "array", "proto", "rec", *LINKS}


def varied(item: Item, rng: random.Random, chance: float) -> Item:
    if item[0] == "typedef":
        return (*item[:2], fresh(item[2], rng, chance))
    if item[0] == "enum":
        return item
    return (*item[:3], tuple((member[0], fresh(member[1], rng, chance), *member[2:]) for member in item[3]))
