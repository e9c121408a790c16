"""Random functions for differential runs: x86-64 DWARF in which the rules about functions interact.

Each program has one to three units by "gcc" or "clang" with functions whose parameters have random locations: registers
(mostly those of the calling convention), constants, frame slots, entry values, pieces, lists of several of these, or
none. Functions are plain, or abstract instances with out-of-line copies before or after them, or declarations with a
definition; their symbols are plain, clones (.isra, .constprop, .part, .cold), several, or missing. Structs are passed
by value; some are packed.

The same seed gives the same program. `tools.compare.differential --functions` builds and compares them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from tools.generate import randprog
from tools.generate.asm_dwarf import Addr, Data, Die, Expr, LocList, assemble
from tools.golden import toolchain

REGISTERS = (5, 4, 1, 2, 8, 9)
SUFFIXES = (
    ".isra.0",
    ".constprop.0",
    ".part.0",
    ".cold",
    ".isra.0.constprop.1",
    ".llvm.77",
    ".constprop.0.cold",
)
PRODUCERS = {"gcc": "GNU C11 12.2.0 -O2", "clang": "Debian clang version 14.0.6"}


def leb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if not value:
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


class Types:
    """The types of one unit, with their sizes; `vary` makes a member or name differ between units."""

    def __init__(self, unit: Die, rng: random.Random) -> None:
        self.unit = unit
        self.rng = rng
        self.sizes: dict[Die | None, int] = {None: 0}
        self.scalars: list[Die] = []
        self.structs: list[Die] = []
        for name, size, encoding in (
            ("char", 1, 6), ("short int", 2, 5), ("int", 4, 5), ("long int", 8, 5), ("unsigned int", 4, 7),
            ("double", 8, 4), ("__int128", 16, 5),
        ):  # fmt: skip
            self.scalars.append(self.put("base_type", size, name=name, encoding=Data(encoding), byte_size=Data(size)))
        self.add_pointers()
        self.add_structs()
        self.structs += [self.random_struct(f"random{i}") for i in range(8)]

    def put(self, tag: str, size: int, **attributes: object) -> Die:
        die = self.unit.add(Die(tag, **attributes))
        self.sizes[die] = size
        return die

    def add_pointers(self) -> None:
        integer = self.scalars[2]
        pointer_size = {"byte_size": Data(8)} if self.rng.random() < 0.6 else {}
        constant = self.put("const_type", 4, type=integer)
        named = self.put("typedef", 4, name="u32", type=self.scalars[4])
        void_pointer = self.put("pointer_type", 8, **pointer_size)
        self.scalars += [
            self.put("pointer_type", 8, **pointer_size, type=integer),
            self.put("pointer_type", 8, **pointer_size, type=constant),
            void_pointer,
            named,
            self.put("const_type", 8, type=self.scalars[3]),
            self.put("volatile_type", 8, type=void_pointer),
            self.put("enumeration_type", 4, name="color", byte_size=Data(4)),
        ]

    def struct(self, name: str | None, size: int, *members: tuple[str, Die, int], tag: str = "structure_type") -> Die:
        named = {"name": name} if name else {}
        die = self.put(tag, size, **named, byte_size=Data(size))
        for member, kind, offset in members:
            die.add(Die("member", name=member, type=kind, data_member_location=Data(offset)))
        return die

    def bitfields(self, name: str, size: int, *members: tuple[str, int, int]) -> Die:
        die = self.put("structure_type", size, name=name, byte_size=Data(size))
        for member, offset, bits in members:
            die.add(
                Die(
                    "member",
                    name=member,
                    type=self.scalars[2],
                    bit_size=Data(bits),
                    data_bit_offset=Data(offset),
                )
            )
        return die

    def add_structs(self) -> None:
        char, short, integer, long_int = self.scalars[:4]
        odd = self.struct("odd", 9, ("c", char, 0), ("l", long_int, 1))
        pair = self.struct("pair", 16, ("first", long_int, 0), ("second", long_int, 8))
        anonymous = self.struct(None, 7, ("c", char, 0), ("s", short, 1), ("i", integer, 3))
        bounds = self.put("array_type", 12, type=integer)
        bounds.add(Die("subrange_type", count=Data(3)))
        self.structs += [
            odd,
            pair,
            self.struct("small", 8, ("a", integer, 0), ("b", integer, 4)),
            self.struct("mixed", 16, ("a", integer, 0), ("b", char, 4), ("c", long_int, 8)),
            self.struct("twelve", 12, ("array", bounds, 0)),
            self.struct("packed12", 12, ("l", long_int, 0), ("i", integer, 8)),
            self.struct("holes", 24, ("c", char, 0), ("odd", odd, 9), ("i", integer, 20)),
            self.struct("nested", 17, ("p", pair, 1), ("c", char, 0)),
            self.struct("big", 40, ("p", pair, 0), ("q", pair, 16), ("l", long_int, 32)),
            self.struct("bytes", 3, ("a", char, 0), ("b", char, 1), ("c", char, 2)),
            self.struct("either", 16, ("p", pair, 0), ("l", long_int, 0), tag="union_type"),
            self.bitfields("bits", 8, ("a", 0, 3), ("b", 3, 20), ("c", 32, 32)),
            self.bitfields("tight", 5, ("a", 0, 20), ("b", 20, 20)),
            self.put("typedef", 7, name="anonymous_t", type=anonymous),
            self.put("typedef", 9, name="odd_t", type=odd),
            self.put("const_type", 16, type=pair),
            self.put("volatile_type", 16, type=pair),
        ]

    def random_struct(self, name: str) -> Die:
        """Members one after another or with gaps, some bitfields, in a size that fits or not."""
        rng = self.rng
        tag = rng.choice(("structure_type", "structure_type", "class_type", "union_type"))
        die = Die(tag, name=name)
        offset = 0
        for number in range(rng.randint(0, 5)):
            kind = rng.choice((*self.scalars, *self.scalars, *self.structs))
            size = self.sizes[kind]
            natural = min(size, 8) or 1
            if tag == "union_type":
                offset = 0
            elif rng.random() < 0.7:
                offset = -(-offset // natural) * natural
            elif rng.random() < 0.1:
                offset += 1
            place: dict[str, object] = {"data_member_location": Data(offset)}
            if rng.random() < 0.25 and kind in self.scalars[:5]:
                bits = rng.randint(1, 8 * size)
                shift = 0 if tag == "union_type" else rng.choice((0, 0, 0, 3, 9))
                place = self.bit_place(8 * offset + shift, bits, size)
            die.add(Die("member", name=f"m{number}", type=kind, **place))
            offset += size
        fitting = -(-offset // 8) * 8 if rng.random() < 0.5 else offset
        size = max(fitting + rng.choice((0, 0, 0, 0, 1, 8)), 1)
        die.attributes["byte_size"] = Data(size)
        self.unit.add(die)
        self.sizes[die] = size
        return die

    def bit_place(self, start: int, bits: int, size: int) -> dict[str, object]:
        """A bitfield as new compilers describe it, or as DWARF 2 did (little-endian)."""
        if self.rng.random() < 0.6:
            return {"bit_size": Data(bits), "data_bit_offset": Data(start)}
        unit = start // (8 * size) * size
        legacy = 8 * size - (start - 8 * unit) - bits
        place: dict[str, object] = {"bit_size": Data(bits), "data_member_location": Data(unit)}
        if self.rng.random() < 0.7:
            place["byte_size"] = Data(size)
        place["bit_offset"] = Data(legacy) if legacy >= 0 else Data(0)
        return place

    def pick(self) -> Die:
        return self.rng.choice(self.scalars if self.rng.random() < 0.72 else self.structs)


Recipe = tuple[object, ...]


def recipe(rng: random.Random, depth: int = 0) -> Recipe:
    """The plan of a type, from which units make the type, with or without a change."""
    leaf = depth > 3 or rng.random() < 0.25
    if leaf:
        return rng.choice(
            (
                ("base_type", "int", 4, 5), ("base_type", "int", 4, 7), ("base_type", "int", 8, 5),
                ("base_type", "char", 1, 6), ("base_type", "float", 4, 4), ("base_type", "float", 8, 4), ("void",),
                ("structure_type", "one"), ("structure_type", "two"), ("union_type", "one"), ("structure_type", ""),
                ("declared", "structure_type", "one"), ("declared", "union_type", "one"),
                ("enumeration_type", "color", 4), ("enumeration_type", "color", 8), ("enumeration_type", "", 4),
            )
        )  # fmt: skip
    inner = recipe(rng, depth + 1)
    kind = rng.random()
    if kind < 0.5:
        return (
            rng.choice(("const_type", "volatile_type", "restrict_type", "pointer_type", "pointer_type")),
            inner,
        )
    if kind < 0.65:
        return ("typedef", rng.choice(("name_t", "other_t")), inner)
    if kind < 0.8:
        return ("array_type", rng.choice((0, 2, 3)), inner)
    arguments = tuple(recipe(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3))))
    return ("subroutine_type", rng.random() < 0.2, inner, *arguments)


def changed(plan: Recipe, rng: random.Random) -> Recipe:
    """The plan, now and then with a difference, or with one `const` more or less."""
    if rng.random() < 0.04:
        return recipe(rng, 2)
    if rng.random() < 0.05:
        return ("const_type", plan)
    if plan[0] == "const_type" and rng.random() < 0.3:
        return changed(plan[1], rng)  # type: ignore[arg-type]
    return tuple(changed(part, rng) if isinstance(part, tuple) else part for part in plan)


class Cook:
    """Makes the types of recipes in one unit."""

    def __init__(self, unit: Die) -> None:
        self.unit = unit

    def cook(self, plan: Recipe) -> Die | None:
        kind = str(plan[0])
        if kind == "void":
            return None
        named = {"name": plan[1]} if plan[1] else {}
        if kind == "base_type":
            _, name, size, encoding = plan
            return self.put(kind, name=name, byte_size=Data(size), encoding=Data(encoding))  # type: ignore[arg-type]
        if kind in ("structure_type", "union_type"):
            return self.put(kind, **named, byte_size=Data(4))
        if kind == "declared":
            return self.put(str(plan[1]), name=plan[2], declaration=True)
        if kind == "enumeration_type":
            return self.put(kind, **named, byte_size=Data(plan[2]))  # type: ignore[arg-type]
        inner = [self.cook(part) for part in plan if isinstance(part, tuple)]
        target = {"type": inner[0]} if inner[0] is not None else {}
        if kind == "typedef":
            return self.put(kind, **named, **target)
        die = self.put(kind, **target)
        if kind == "array_type":
            die.add(Die("subrange_type", count=Data(plan[1])))  # type: ignore[arg-type]
        for argument in inner[1:]:
            die.add(Die("formal_parameter", **({"type": argument} if argument else {})))
        if kind == "subroutine_type" and plan[1]:
            die.add(Die("unspecified_parameters"))
        return die

    def put(self, tag: str, **attributes: object) -> Die:
        return self.unit.add(Die(tag, **attributes))

    def function(self, name: str, address: str | None, plans: list[Recipe]) -> None:
        """A plain function without locations, with a result and parameters by these plans."""
        result, *kinds = (self.cook(plan) for plan in plans)
        attributes: dict[str, object] = {"name": name}
        if address:
            attributes["low_pc"] = Addr(address)
        if result is not None:
            attributes["type"] = result
        function = Die("subprogram", **attributes)
        for number, kind in enumerate(kinds):
            function.add(Die("formal_parameter", name=f"a{number}", **({"type": kind} if kind else {})))
        self.unit.children.append(function)


class Locations:
    """Random locations; keeps track of the register that the convention would use next."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.next = 0

    def register(self) -> int:
        if self.rng.random() < 0.93 and self.next < len(REGISTERS):
            return REGISTERS[self.next]
        return self.rng.choice((*REGISTERS, 0, 3, 17))

    def entry_value(self) -> bytes:
        inner = bytes([0x50 + self.register()])
        if self.rng.random() < 0.1:
            inner = self.rng.choice((inner + b"\x96", bytes([0x70 + self.register(), 0])))
        op = self.rng.choice((0xA3, 0xF3))
        return bytes([op]) + leb(len(inner)) + inner + (b"\x9f" if self.rng.random() < 0.8 else b"")

    def constant(self) -> bytes:
        value = self.rng.choice(
            (
                b"\x30",
                b"\x35",
                b"\x4f",
                b"\x10\x85\x01",
                b"\x11\x7f",
                b"\x08\x05",
                b"\x0c\1\2\3\4",
                b"\x09\xff",
            )
        )
        return value + self.rng.choice((b"\x9f", b"\x9f", b"", b"\x31\x22\x9f", b"\x93\x08"))

    def pieces(self, size: int) -> bytes:
        out = b""
        left = size
        if self.rng.random() < 0.3:
            gap = self.rng.choice((1, 4, 8))
            out += b"\x93" + leb(gap)
            left -= gap
        reg = self.next
        while left > 0 and self.rng.random() < 0.9:
            if self.rng.random() < 0.75:
                number = REGISTERS[reg] if reg < len(REGISTERS) and self.rng.random() < 0.9 else self.register()
                reg += 1
                out += bytes([0x50 + number])
            elif self.rng.random() < 0.4:
                out += self.rng.choice((b"\x31\x9f", b"\x91\x10", bytes([0x70 + self.register(), 0])))
            step = self.rng.choice((4, 8, 8, 8, 1))
            out += b"\x93" + leb(step)
            left -= step
        return out

    def expression(self, size: int) -> bytes:
        rng = self.rng
        kind = rng.random()
        reg = self.register()
        if size > 8 and kind < 0.55:
            return self.pieces(size)
        if kind < 0.62:
            return bytes([0x50 + reg])
        if kind < 0.70:
            return bytes([0x70 + reg, rng.choice((0, 8, 0x7F))]) + rng.choice((b"\x9f", b"", b"\x31\x1c\x9f", b"\x06"))
        if kind < 0.77:
            return b"\x91" + rng.choice((b"\x00", b"\x68", b"\x10")) + rng.choice((b"", b"", b"\x9f", b"\x06"))
        if kind < 0.84:
            return self.constant()
        if kind < 0.92:
            return self.entry_value()
        return rng.choice((
            b"", b"\xf3", b"\x90\x05", b"\x92\x05\x00", b"\x06", bytes([0x50 + reg, 0x93, 4]),
            b"\x9e\x02\x05\x06", b"\x9c", bytes([0x70 + reg, 0, 0x06, 0x9F]), b"\x96" + bytes([0x50 + reg]),
            b"\xff\x01", bytes([0x50 + reg, 0x93, 8, 0x93, 8]),
        ))  # fmt: skip

    def value(self, size: int) -> dict[str, object]:
        """The attributes that say where a parameter is."""
        kind = self.rng.random()
        if kind < 0.12:
            return {}
        if kind < 0.18:
            return {"const_value": Data(self.rng.choice((0, 7)))}
        if kind < 0.55:
            return {"location": Expr(self.expression(size))}
        if kind < 0.58:
            return {"location": LocList(())}
        return {"location": LocList(tuple(self.expression(size) for _ in range(self.rng.choice((1, 1, 2, 2, 3, 4)))))}

    def advance(self, size: int) -> None:
        self.next += 1 if size > 16 or size <= 8 else (size + 7) // 8


class UnitMaker:
    """One unit: its types, and any number of functions."""

    def __init__(self, rng: random.Random, index: int, producer: str) -> None:
        self.rng = rng
        self.clang = producer == "clang"
        self.unit = Die(
            "compile_unit", producer=PRODUCERS[producer], name=f"unit{index}.c", language=Data(12),
            low_pc=Addr(".Ltext"),
        )  # fmt: skip
        self.types = Types(self.unit, rng)

    def signature(self) -> list[tuple[str, Die]]:
        count = self.rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9))
        return [(f"p{i}", self.types.pick()) for i in range(count)]

    def code(self, address: str | None, places: dict[str, object]) -> dict[str, object]:
        attributes: dict[str, object] = dict(places)
        if address is not None:
            attributes["low_pc"] = Addr(address)
            attributes["high_pc"] = Data(16)
        if self.rng.random() < (0.35 if self.clang else 0.05):
            attributes["calling_convention"] = Data(3)
        return attributes

    def result(self) -> dict[str, object]:
        return {"type": self.types.pick()} if self.rng.random() < 0.7 else {}

    def plain(self, name: str, signature: list[tuple[str, Die]], address: str | None) -> None:
        """A function in one DIE."""
        attributes = self.code(address, {"name": name, **self.result()})
        if self.rng.random() < 0.05:
            attributes["declaration"] = True
        function = self.unit.add(Die("subprogram", **attributes))
        locations = Locations(self.rng)
        for parameter, kind in signature:
            size = self.types.sizes[kind]
            named = {} if self.rng.random() < 0.01 else {"name": parameter}
            function.add(Die("formal_parameter", **named, type=kind, **locations.value(size)))
            locations.advance(size)
        self.variadic(function)

    def variadic(self, function: Die) -> None:
        if self.rng.random() < 0.06:
            function.add(Die("unspecified_parameters"))

    def abstract(self, name: str, signature: list[tuple[str, Die]]) -> Die:
        attributes: dict[str, object] = {"name": name, **self.result()}
        if self.rng.random() < 0.9:
            attributes["inline"] = Data(self.rng.choice((1, 1, 3, 0)))
        if self.rng.random() < (0.3 if self.clang else 0.05):
            attributes["calling_convention"] = Data(3)
        function = Die("subprogram", **attributes)
        for parameter, kind in signature:
            function.add(Die("formal_parameter", name=parameter, type=kind))
        self.variadic(function)
        return function

    def copy(self, origin: Die, signature: list[tuple[str, Die]], address: str | None) -> Die:
        """An out-of-line copy of an abstract instance, often without some parameters, sometimes in another
        order."""
        function = Die("subprogram", abstract_origin=origin, **self.code(address, {}))
        locations = Locations(self.rng)
        order = list(range(len(signature)))
        chance = self.rng.random()
        if chance < 0.15 and order:
            order.pop(self.rng.randrange(len(order)))
        elif chance < 0.22:
            self.rng.shuffle(order)
        for index in order:
            size = self.types.sizes[signature[index][1]]
            own: dict[str, object] = {"name": self.rng.choice((signature[index][0], "own"))}
            if self.rng.random() < 0.9:
                own = {}
            if self.rng.random() < 0.03:
                own["type"] = signature[index][1]
            function.add(
                Die("formal_parameter", **own, abstract_origin=origin.children[index], **locations.value(size))
            )
            locations.advance(size)
        self.variadic(function)
        return function

    def inlined(self, name: str, signature: list[tuple[str, Die]], addresses: list[str | None]) -> None:
        origin = self.abstract(name, signature)
        copies = [self.copy(origin, signature, address) for address in addresses]
        copies.insert(self.rng.randrange(len(copies) + 1), origin)
        self.unit.children += copies

    def specified(self, name: str, signature: list[tuple[str, Die]], address: str | None) -> None:
        declared = self.unit.add(Die("subprogram", name=name, declaration=True, **self.result()))
        for _, kind in signature:
            declared.add(Die("formal_parameter", type=kind))
        function = self.unit.add(Die("subprogram", specification=declared, **self.code(address, {})))
        locations = Locations(self.rng)
        for parameter, kind in signature:
            size = self.types.sizes[kind]
            function.add(Die("formal_parameter", name=parameter, type=kind, **locations.value(size)))
            locations.advance(size)


def symbols_of(name: str, rng: random.Random) -> list[str]:
    """The symbols of a function. Duplicates in other units get distinct ones through their suffix."""
    kind = rng.random()
    if kind < 0.5:
        return [name]
    if kind < 0.7:
        return [name, name + rng.choice(SUFFIXES)]
    if kind < 0.85:
        return [name + rng.choice(SUFFIXES)]
    if kind < 0.9:
        suffix = rng.choice(SUFFIXES)
        return [name, f"{name + suffix}@{name}"]
    if kind < 0.95:
        return [f"{name}{suffix}" for suffix in rng.sample(SUFFIXES, 2)]
    return []


def generate(seed: int, functions: int = 30) -> str:
    """Assembler source for a seed."""
    rng = random.Random(seed)
    makers = [UnitMaker(rng, index, rng.choice(("gcc", "clang"))) for index in range(rng.choice((1, 1, 2, 3)))]
    symbols: list[str] = []
    for number in range(functions):
        name = f"f{number:02}"
        mine = symbols_of(name, rng)
        symbols += mine
        places: list[str | None] = [s.split("@")[-1] for s in mine] or [None]
        for maker in rng.sample(makers, rng.randint(1, len(makers))):
            signature = maker.signature()
            address = rng.choice((*places, places[0], None))
            kind = rng.random()
            if kind < 0.5:
                maker.plain(name, signature, address)
            elif kind < 0.92:
                maker.inlined(name, signature, [rng.choice((*places, None)) for _ in range(rng.choice((0, 1, 1, 2)))])
            else:
                maker.specified(name, signature, address)
    for number in range(functions // 2):
        name = f"g{number:02}"
        symbols.append(name)
        plans = [recipe(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
        for maker in makers:
            address = name if rng.random() < 0.6 else None
            Cook(maker.unit).function(name, address, [changed(plan, rng) for plan in plans])
    return assemble([maker.unit for maker in makers], symbols, version=rng.choice((4, 5)))


@dataclass(frozen=True)
class Assembled(randprog.Program):
    """A program whose one unit is assembler source."""

    linked: bool = False

    def make(self, folder: Path, out: Path) -> None:
        source, target = folder / "u0.s", folder / "u0.o"
        source.write_text("\n".join(self.units[0]))
        toolchain.call(["gcc", "-c", str(source), "-o", str(target if self.linked else out)], folder)
        if self.linked:
            toolchain.call(["ld", "-e", "0", "-o", str(out), str(target)], folder)


def program(number: int) -> Assembled:
    """The program of a number: an object, or, of odd ones, the same linked."""
    return Assembled(number, [generate(number // 2).split("\n")], [], linked=number % 2 == 1)
