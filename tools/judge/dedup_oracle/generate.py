"""Random BTF of several units before de-duplication, made to exercise every rule of the algorithm.

A *unit* is a graph of nodes over a small set of names, so that units agree, disagree and half agree on what a name
means: a struct is defined, defined differently, or only declared; an enum is full or empty. Later units are new, or
mutated copies of earlier ones. Fillers, which are types that no other unit has, change when the reference's table
grows, which decides the order of candidates.

Everything is a function of the seed.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.builders.rawbtf import raw_btf

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST = range(1, 11)
RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(11, 20)
QUALIFIERS = (PTR, PTR, PTR, CONST, VOLATILE, RESTRICT)
REFERENCES = {PTR, ARRAY, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, TYPE_TAG, DECL_TAG, TYPEDEF}


@dataclass(eq=False)
class Node:
    """A type. `refs` are the types that it refers to (None: void); `items` are its members, values or parameters."""

    kind: int
    name: str = ""
    third: int = 0
    flag: int = 0
    refs: list[Node | None] = field(default_factory=list)
    items: list[tuple[str, int]] = field(default_factory=list)
    extra: int = 0


class Strings:
    """A string table; with `base`, one that continues it."""

    def __init__(self, base: Strings | None = None) -> None:
        self.base = base
        self.start: int = base.start + len(base.data) if base else 0
        self.at: dict[str, int] = {} if base else {"": 0}
        self.data: bytes = b"" if base else b"\0"

    def offset(self, text: str) -> int:
        known = self.base.find(text) if self.base else None
        if known is not None:
            return known
        if text not in self.at:
            self.at[text] = self.start + len(self.data)
            self.data += text.encode() + b"\0"
        return self.at[text]

    def find(self, text: str) -> int | None:
        return self.at.get(text)


def words_of(node: Node, number: dict[int, int], strings: Strings) -> list[int]:
    """The record of a node. `number` maps id(node) to type ids."""

    def ref(i: int) -> int:
        target = node.refs[i]
        return number[id(target)] if target is not None else 0

    kind, vlen, third = node.kind, len(node.items), node.third
    tail: list[int] = []
    if kind in (STRUCT, UNION):
        for i, (name, offset) in enumerate(node.items):
            tail += [strings.offset(name), ref(i), offset]
    elif kind == FUNC_PROTO:
        third = ref(0)
        for i, (name, _) in enumerate(node.items):
            tail += [strings.offset(name), ref(i + 1)]
    elif kind == ENUM:
        for name, value in node.items:
            tail += [strings.offset(name), value & 0xFFFFFFFF]
    elif kind == ENUM64:
        for name, value in node.items:
            tail += [strings.offset(name), value & 0xFFFFFFFF, (value >> 32) & 0xFFFFFFFF]
    elif kind == DATASEC:
        for i, (_, offset) in enumerate(node.items):
            tail += [ref(i), offset, 4]
    elif kind == ARRAY:
        tail = [ref(0), ref(1), node.extra]
    elif kind in (INT, VAR, DECL_TAG):
        tail = [node.extra & 0xFFFFFFFF]
    if kind == VAR or (kind in REFERENCES and kind not in (ARRAY, FUNC_PROTO)):
        third = ref(0)
    return [strings.offset(node.name), node.flag << 31 | kind << 24 | vlen, third, *tail]


def encode(nodes: list[Node], strings: Strings, first_id: int, order: str) -> bytes:
    """Raw BTF of the own nodes, which get the ids from `first_id` on."""
    number = {id(node): first_id + i for i, node in enumerate(nodes)}
    words = [w for node in nodes for w in words_of(node, number, strings)]
    mark = "<" if order == "little" else ">"
    return raw_btf(words, bytes(strings.data), order=mark)


class World:
    """Names, their possible meanings, and the dice."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.structs = [f"s{i}" for i in range(rng.choice([1, 2, 3, 4, 5, 6, 12, 12]))]
        self.enums = [f"e{i}" for i in range(rng.randint(1, 3))]
        self.typedefs = [f"t{i}" for i in range(rng.randint(1, 4))]
        if rng.random() < 0.3:  # the kinds share their names
            self.enums = self.typedefs = self.structs
        self.variants = rng.choice([1, 1, 2, 2, 3])
        self.p_forward = rng.choice([0.0, 0.3, 0.5, 0.7])
        self.p_copy = rng.choice([0.0, 0.1, 0.4])
        self.tower = rng.random()
        self.p_twins = rng.choice([0.0, 0.1, 0.6])
        self.fillers = rng.choice([0, 0, 2, 10, 40])
        self.serial = 0

    def unique(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"


class Unit:
    """Builds the graph of one unit. What a name means is decided once per unit, by the unit's own dice."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = world.rng
        self.nodes: list[Node] = []
        self.known: dict[tuple[object, ...], Node] = {}
        self.index = self.make(INT, "int", 4, extra=1 << 24 | 32)

    def make(self, kind: int, name: str = "", third: int = 0, **rest: object) -> Node:
        node = Node(kind, name, third, **rest)  # type: ignore[arg-type]
        self.nodes.append(node)
        return node

    def shared(self, key: tuple[object, ...], build: Callable[[], Node]) -> Node:
        """The type for a key, made once per unit, or now and then once more."""
        if key in self.known and self.rng.random() >= self.world.p_copy:
            return self.known[key]
        node = self.known[key] = build()
        return node

    def scalar(self) -> Node:
        r = self.rng
        which = r.randrange(5)
        if which == 0:
            return self.shared(("float",), lambda: self.make(FLOAT, r.choice(["float", "double"]), r.choice([4, 8])))
        if which == 1:
            return self.shared(("char",), lambda: self.make(INT, "char", 1, extra=1 << 24 | 8))
        if which == 2:
            return self.enum(r.choice([*self.world.enums, ""]))
        return self.index

    def pointer(self, target: Node | None) -> Node:
        return self.shared((PTR, id(target)), lambda: self.make(PTR, refs=[target]))

    def enum(self, name: str) -> Node:
        def build() -> Node:
            r = self.rng
            kind = ENUM64 if r.random() < 0.25 else ENUM
            if r.random() < 0.3 and (name or r.random() < 0.1):
                return self.make(kind, name, r.choice([0, 4, 4, 8]))
            which = r.randrange(self.world.variants)
            items = [(f"v{i}", i + 7 * (which == 2)) for i in range(1 + (which > 0))]
            return self.make(kind, name, 4 if kind == ENUM else 8, items=items, flag=int(r.random() < 0.1))

        return self.shared((ENUM, name), build)

    def composite(self, kind: int, name: str, depth: int) -> Node:
        def build() -> Node:
            r = self.rng
            if name and r.random() < self.world.p_forward:
                return self.make(FWD, name, 0, flag=int(kind == UNION))
            node = self.make(kind, name)
            if name:
                self.known[kind, name] = node  # before the members, because of recursion
                which = r.randrange(self.world.variants)
            else:
                which = r.randrange(3)
            # Meanings of a name mostly differ only in the types of members: then they share a chain of candidates.
            shape = random.Random(f"{kind} {name} {which if r.random() < 0.1 else 0}")
            dice = random.Random(f"{kind} {name} {which}")
            count = shape.choice([1, 2, 2, 3, 4]) if name else shape.randint(0, 2)
            node.third = 8 * count
            for i in range(count):
                node.items.append((f"m{i}" if shape.random() < 0.9 else "", 0 if kind == UNION else 64 * i))
                node.refs.append(self.member(dice, depth - 1))
            return node

        return self.shared((kind, name), build)

    def member(self, dice: random.Random, depth: int) -> Node | None:
        """A type chosen by the definition's own `dice`, so that units agree on its text."""
        world = self.world
        which = dice.randrange(12)
        if depth <= 0 or which == 0:
            return self.scalar() if dice.random() < 0.3 else self.index
        if which <= 4:
            target = self.member(dice, depth - 1) if dice.random() < 0.9 else None
            kind = dice.choice(QUALIFIERS)
            return self.shared((kind, id(target)), lambda: self.make(kind, refs=[target]))
        if which <= 7:
            kind = UNION if dice.random() < 0.15 else STRUCT
            return self.composite(kind, dice.choice([*world.structs, *world.structs, ""]), depth)
        if which == 8:
            return self.typedef(dice.choice(world.typedefs), depth)
        if which == 9:
            target, count = self.member(dice, depth - 1), dice.choice([0, 2, 3])
            index = self.member(dice, depth - 1) if dice.random() < 0.2 else self.index  # nonsense, but ordered
            key = (ARRAY, id(target), id(index), count)
            return self.shared(key, lambda: self.make(ARRAY, refs=[target, index], extra=count))
        if which == 10:
            target = self.proto(dice, depth)
            return self.pointer(target)
        if dice.random() < 0.3:
            target = self.member(dice, depth - 1)
            return self.shared((TYPE_TAG, id(target)), lambda: self.make(TYPE_TAG, "user", refs=[target]))
        return self.enum(dice.choice(world.enums))

    def typedef(self, name: str, depth: int) -> Node:
        def build() -> Node:
            dice = random.Random(f"typedef {name} {self.rng.randrange(self.world.variants)}")
            return self.make(TYPEDEF, name, refs=[self.member(dice, depth - 1)])

        return self.shared((TYPEDEF, name), build)

    def proto(self, dice: random.Random, depth: int) -> Node:
        refs = [self.member(dice, depth - 1) for _ in range(dice.randint(1, 3))]
        items = [(dice.choice(["", "a", "b"]), 0) for _ in refs[1:]]
        key = (FUNC_PROTO, *map(id, refs), *items)
        return self.shared(key, lambda: self.make(FUNC_PROTO, refs=list(refs), items=items))

    def tower(self, height: int, leaf: Node, tag: str) -> Node:
        """A struct holding a pointer to a struct ..., `height` deep: `identical` looks only so deep."""
        node = leaf
        for level in range(height):
            inner = self.make(PTR, refs=[node]) if (level + len(tag)) % 3 else node
            node = self.make(STRUCT, f"{tag}{level}", 8, items=[("next", 0)], refs=[inner])
        return node

    def twins(self) -> None:
        """A pair of members of equal types: one type in one unit, two copies (or near copies) in another.

        The pair comes before its parts: once the parts are mapped, nothing checks whether they are identical.
        """
        r = self.rng
        tag = r.choice(["w", "xx"])
        dice = random.Random(f"{tag} {self.world.tower}")
        height, array = dice.choice([1, 2, 14, 15, 16, 17]), dice.random() < 0.5
        start = len(self.nodes)

        def leaf(other: bool) -> Node:
            element = self.make(INT, "char", 1, extra=1 << 24 | 8) if other else self.make(INT, "int", 4, extra=32)
            return self.make(ARRAY, refs=[element, self.index], extra=2) if array else element

        first = self.tower(height, leaf(r.random() < 0.2), tag)
        second = first if r.random() < 0.4 else self.tower(height, leaf(r.random() < 0.3), tag)
        self.make(STRUCT, f"pair{tag}", 16, items=[("a", 0), ("b", 64)], refs=[first, second])
        self.nodes[start:] = reversed(self.nodes[start:])

    def users(self) -> None:
        """Structs that are the same everywhere, except for the meaning of the names that they point to.

        If the names are only declared, several earlier definitions match; the order of candidates decides.
        """
        r = self.rng
        for i in r.sample(range(8), r.randint(1, 4)):
            pointers = []
            for name in random.Random(i).choices(self.world.structs, k=random.Random(i).randint(1, 2)):
                target = self.composite(STRUCT, name, 2)
                pointers.append(self.pointer(target))
            items = [(f"p{k}", 64 * k) for k in range(len(pointers))]
            self.make(STRUCT, f"user{i}", 8 * len(items), items=items, refs=list(pointers))

    def fill(self) -> None:
        r, world = self.rng, self.world
        for _ in range(r.randint(1, 6)):
            roll = r.random()
            if r.random() < world.p_twins:
                self.twins()
            elif roll < 0.25:
                self.users()
            elif roll < 0.6:
                kind = UNION if r.random() < 0.15 else STRUCT
                self.composite(kind, r.choice([*world.structs, *world.structs, ""]), r.randint(1, 8))
            elif roll < 0.75:
                self.typedef(r.choice(world.typedefs), 4)
            elif roll < 0.9:
                self.enum(r.choice([*world.enums, ""]))
            else:
                self.member(r, 5)
        for _ in range(r.randint(0, world.fillers)):
            self.make(INT, world.unique("f"), 4, extra=32)


def functions(world: World, nodes: list[Node]) -> Iterator[Node]:
    """What follows all units: functions, tags, variables, sections."""
    r = world.rng
    protos = [n for n in nodes if n.kind == FUNC_PROTO]
    data = [n for n in nodes if n.kind not in (FUNC_PROTO, FUNC, DECL_TAG, FWD)]
    for _ in range(r.randint(0, 4)):
        if protos:
            func = Node(FUNC, r.choice(["f", "g"]), refs=[r.choice(protos)])
            yield func
            if r.random() < 0.4:
                yield Node(DECL_TAG, "tag", refs=[func], extra=r.choice([-1, 0]))
    for _ in range(r.randint(0, 2)):
        yield Node(DECL_TAG, "tag", refs=[r.choice(data)], extra=r.choice([-1, 0, 1]))
    variables = [Node(VAR, r.choice(["v", "w"]), refs=[r.choice(data)], extra=1) for _ in range(r.randint(0, 3))]
    yield from variables
    if variables:
        items = [("", 8 * i) for i in range(len(variables))]
        yield Node(DATASEC, ".data..percpu", 8 * len(items), refs=list(variables), items=items)


def cyclic(nodes: list[Node]) -> bool:
    """Whether reference types alone form a cycle: the reference may not end on one."""
    state: dict[int, int] = {}
    for root in nodes:
        stack = [(root, iter(root.refs))]
        if root.kind not in REFERENCES or id(root) in state:
            continue
        state[id(root)] = 1
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if target is None or target.kind not in REFERENCES:
                    continue
                if state.get(id(target)) == 1:
                    return True
                if id(target) not in state:
                    state[id(target)] = 1
                    stack.append((target, iter(target.refs)))
                    break
            else:
                state[id(node)] = 2
                stack.pop()
    return False


def copy_unit(nodes: list[Node]) -> list[Node]:
    twin = {id(n): Node(n.kind, n.name, n.third, n.flag, [], list(n.items), n.extra) for n in nodes}
    for n in nodes:
        twin[id(n)].refs = [twin[id(t)] if t is not None else None for t in n.refs]
    return [twin[id(n)] for n in nodes]


def mutate(world: World, nodes: list[Node]) -> None:
    """One change to a unit, in place."""
    r = world.rng
    node = r.choice(nodes)
    roll = r.randrange(9)
    if roll <= 1 and node.kind in (STRUCT, UNION) and node.name:
        node.flag, node.kind = int(node.kind == UNION), FWD
        node.third, node.refs, node.items = 0, [], []
    elif roll == 2 and node.kind in (ENUM, ENUM64):
        node.items = [] if node.items else [("v0", 0)]
    elif roll == 3 and node.kind == ARRAY and r.random() < 0.5:
        node.extra += 1
    elif roll == 4 and node.kind in (STRUCT, UNION) and node.items:
        node.items[-1] = ("other", node.items[-1][1])
    elif roll == 5:  # a copy, and a reference to it
        twin = Node(node.kind, node.name, node.third, node.flag, list(node.refs), list(node.items), node.extra)
        nodes.insert(r.randrange(len(nodes) + 1), twin)
        users = [(n, i) for n in nodes for i, t in enumerate(n.refs) if t is node]
        for user, i in users:
            if r.random() < 0.5:
                user.refs[i] = twin
    elif roll == 6:  # a reference to something else of the same kind
        users = [(n, i) for n in nodes for i, t in enumerate(n.refs) if t is not None]
        if users:
            user, i = r.choice(users)
            old = user.refs[i]
            alike = [n for n in nodes if old is not None and n.kind == old.kind]
            user.refs[i] = r.choice(alike)
            if cyclic(nodes):
                user.refs[i] = old
    elif roll == 7:
        r.shuffle(nodes)
    else:
        i, j = r.randrange(len(nodes)), r.randrange(len(nodes))
        nodes[i], nodes[j] = nodes[j], nodes[i]


def units(world: World, count: int) -> list[Node]:
    """The nodes of `count` units and what follows them, in order."""
    r = world.rng
    done: list[list[Node]] = []
    for _ in range(count):
        if done and r.random() < 0.5:
            nodes = copy_unit(r.choice(done))
            for _ in range(r.choice([0, 1, 2, 5])):
                mutate(world, nodes)
        else:
            unit = Unit(world)
            unit.fill()
            nodes = unit.nodes
            order = r.random()
            if order < 0.2:
                r.shuffle(nodes)
            elif order < 0.4:
                nodes.reverse()
        done.append(nodes)
    everything = [n for unit in done for n in unit]
    everything += functions(world, everything)
    return everything


def count_types(data: bytes) -> int:
    """The number of types in raw BTF, in either byte order."""
    mark = "<" if data[:2] == b"\x9f\xeb" else ">"
    (size,) = struct.unpack_from(f"{mark}I", data, 12)
    words = struct.unpack_from(f"{mark}{size // 4}I", data, 24)
    at = count = 0
    while at < len(words):
        kind, vlen = words[at + 1] >> 24 & 31, words[at + 1] & 0xFFFF
        each = {STRUCT: 3, UNION: 3, DATASEC: 3, ENUM64: 3, ENUM: 2, FUNC_PROTO: 2}.get(kind, 0)
        at += 3 + each * vlen + {INT: 1, VAR: 1, DECL_TAG: 1, ARRAY: 3}.get(kind, 0)
        count += 1
    return count


def generate(
    seed: int, split: bool = False, n_units: int | None = None, squeeze: Callable[[bytes], bytes] | None = None
) -> tuple[bytes | None, bytes]:
    """(base or None, list) of a seed. The base is also a list, which is not de-duplicated unless `squeeze` does that;
    then own types do not refer to it.
    """
    rng = random.Random(seed)
    world = World(rng)
    order = "big" if rng.random() < 0.2 else "little"
    count = n_units or rng.choice([1, 2, 3, 5, 8, 12])
    if not split:
        return None, encode(units(world, count), Strings(), 1, order)
    base_nodes = units(world, count)
    base_strings = Strings()
    base = encode(base_nodes, base_strings, 1, order)
    own = units(world, rng.choice([1, 2, 4]))
    if squeeze is not None:
        base = squeeze(base)
        base_nodes = [Node(INT)] * count_types(base)
    elif rng.random() < 0.8:
        # Own types may refer to the base: some references go to base nodes of the same kind.
        for node in own:
            for i, target in enumerate(node.refs):
                if target is not None and target.kind in (INT, PTR, STRUCT, FWD, ENUM) and rng.random() < 0.1:
                    alike = [n for n in base_nodes if n.kind == target.kind]
                    node.refs[i] = rng.choice(alike) if alike else target
    strings = Strings(base_strings)
    number = {id(n): 1 + i for i, n in enumerate([*base_nodes, *own])}
    words = [w for n in own for w in words_of(n, number, strings)]
    mark = "<" if order == "little" else ">"
    return base, raw_btf(words, bytes(strings.data), order=mark)
