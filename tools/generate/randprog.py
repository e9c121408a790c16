"""Random C programs of several units, made to challenge de-duplication and the merging of functions.

    python -m tools.generate.randprog SEED FOLDER     write the units of one program, and build it

Encoders differ not in single types, but when units see the same *name* differently: one unit defines a struct, another
only declares it, a third defines it differently, a fourth has it as a union or an enum; typedefs of one name have
different targets; anonymous types have one shape; arrays of one length have different elements; prototypes of static
functions of one name agree, or almost. So a program is planned around a few names. Each name has up to three
*variants*, fixed for the program. For each name, each unit picks one variant, or only a declaration, or nothing.
Everything else (members, parameters) refers to these names, so equal definitions may still mean different graphs.

Types are small tuples (see `declare`), printed as C declarations. The programs are only compiled and linked,
never run. The same seed gives the same program, with any version of Python that has the same `random`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from tools.golden import toolchain

Type = tuple[Any, ...]

BASES = (
    "int", "int", "int", "unsigned int", "long", "unsigned long", "char", "unsigned char", "short", "_Bool",
    "long long", "float", "double",
)  # fmt: skip
BITFIELD_BASES = {"int": 32, "unsigned int": 32, "long": 64, "unsigned char": 8, "_Bool": 1}
VOID: Type = ("base", "void")
PERCPU = '__attribute__((section(".data..percpu"), used))'


def declare(type_: Type, name: str, unit: Unit | None) -> str:
    """A C declaration of `name` with this type; a type name if `name` is empty.

    Shapes: (base, C name), (ptr, T), (const|volatile|restrict, T), (array, T, n), (tag, number),
    (typedef, number), (func, returns, parameters, variadic), (anon, struct|union|enum, body), where a body has lines of
    C and (type, name) pairs. `unit` decides what a tag is: struct, union or enum.
    """
    shape = type_[0]
    if shape in ("const", "volatile", "restrict"):
        return _qualified(shape, type_[1], name, unit)
    if shape == "ptr":
        inside = f"(*{name})" if binds_tighter(type_[1]) else f"*{name}"
        return declare(type_[1], inside, unit)
    if shape == "array":
        return declare(type_[1], f"{name}[{type_[2]}]", unit)
    if shape == "func":
        parts = [declare(each, "", unit) for each in type_[2]]
        inside = ", ".join([*parts, "..."] if type_[3] else parts) or "void"
        return declare(type_[1], f"{name}({inside})", unit)
    if shape == "tag":
        assert unit is not None
        return f"{unit.kind_of(type_[1])} {tag_name(type_[1])} {name}".rstrip()
    if shape == "typedef":
        return f"{typedef_name(type_[1])} {name}".rstrip()
    if shape == "anon":
        body = [each if isinstance(each, str) else declare(each[0], each[1], unit) + ";" for each in type_[2]]
        return f"{type_[1]} {{ {' '.join(body)} }} {name}".rstrip()
    return f"{type_[1]} {name}".rstrip()


def _qualified(word: str, target: Type, name: str, unit: Unit | None) -> str:
    if target[0] == "ptr":
        inside = f"*{word} {name}".rstrip()
        if binds_tighter(target[1]):
            inside = f"({inside})"
        return declare(target[1], inside, unit)
    if target[0] == "array":
        return declare(("array", (word, target[1]), target[2]), name, unit)
    return f"{word} {declare(target, name, unit)}"


def binds_tighter(type_: Type) -> bool:
    """Whether a declarator of this type comes after the name, so that a star needs parentheses."""
    while type_[0] in ("const", "volatile"):
        type_ = type_[1]
    return type_[0] in ("array", "func")


def tag_name(number: int) -> str:
    return f"s{number}"


def typedef_name(number: int) -> str:
    # Every third typedef has the name of a tag: the name spaces are separate in C, and in BTF, too.
    return tag_name(number // 3) if number % 3 == 2 else f"t{number}"


@dataclass(frozen=True)
class Tag:
    """One variant of a tag: its kind and its members, as (type, name, width of bit-field or 0)."""

    kind: str
    members: tuple[tuple[Type, str, int], ...]

    def needs(self) -> set[int]:
        """Tags that must be complete where this variant is defined."""
        return set().union(*(value_tags(type_) for type_, _, _ in self.members)) if self.members else set()


def _unsigned(type_: Any) -> Any:
    """The type with every int made unsigned."""
    if type_ == ("base", "int"):
        return ("base", "unsigned int")
    return tuple(_unsigned(each) for each in type_) if isinstance(type_, tuple) else type_


def value_tags(type_: Type) -> set[int]:
    """Tags that a type contains by value. (Typedefs contain tags only behind pointers.)"""
    if type_[0] == "tag":
        return {type_[1]}
    if type_[0] in ("array", "const", "volatile"):
        return value_tags(type_[1])
    return set()


class Plan:
    """All names of a program with all their variants, and how units choose among them."""

    first_variant_chance = 0.65
    most_units = 6
    sizes: ClassVar = {"tags": (2, 9), "typedefs": (0, 7), "functions": (0, 6), "others": (0, 2)}

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.tags: list[list[Tag]] = []
        self.typedefs: list[list[Type]] = []
        self.functions: list[list[tuple[Type, tuple[Type, ...], bool]]] = []
        self.tag_count = rng.randint(*self.sizes["tags"])
        self.typedef_count = rng.randint(*self.sizes["typedefs"])
        for number in range(self.typedef_count):
            first = self.typedef_target(number)
            self.typedefs.append([first, *(self.typedef_target(number) for _ in range(rng.randint(0, 2)))])
        for number in range(self.tag_count):
            self.tags.append(self.tag_variants(number))
        for _ in range(rng.randint(*self.sizes["functions"])):
            self.functions.append(self.prototype_variants())

    def define_chance(self, tag: int) -> float:  # noqa: ARG002 - of other plans
        """How often units define this tag when they need not."""
        return 0.5

    def leaf(self) -> Type:
        return ("base", self.rng.choice(BASES))

    def pointee(self, depth: int) -> Type:
        """Anything a pointer may point to."""
        roll = self.rng.random()
        if roll < 0.55:
            return self.qualify(("tag", self.rng.randrange(self.tag_count)))
        if roll < 0.62:
            return self.qualify(VOID)
        if roll < 0.70 and depth:
            return self.function_type(depth - 1)
        if roll < 0.78 and depth:
            return ("array", self.pointer(depth - 1), self.rng.choice([2, 3]))
        return self.qualify(self.scalar(depth - 1)) if depth > 0 else self.leaf()

    def qualify(self, type_: Type) -> Type:
        roll = self.rng.random()
        if roll < 0.2:
            return ("const", type_)
        return ("volatile", type_) if roll < 0.24 else type_

    def pointer(self, depth: int = 2) -> Type:
        plain: Type = ("ptr", self.pointee(depth))
        if plain[1][0] != "func" and self.rng.random() < 0.04:
            return ("restrict", plain)
        return plain

    def function_type(self, depth: int) -> Type:
        parameters = tuple(self.scalar(depth) for _ in range(self.rng.randint(0, 3)))
        returns = VOID if self.rng.random() < 0.3 else self.returned(0)
        return ("func", returns, parameters, bool(parameters) and self.rng.random() < 0.15)

    def scalar(self, depth: int = 2) -> Type:
        """A type that is complete everywhere: base, pointer, typedef."""
        roll = self.rng.random()
        if roll < 0.35:
            return self.leaf()
        if roll < 0.5 and self.typedefs:
            return ("typedef", self.rng.randrange(len(self.typedefs)))
        return self.pointer(max(depth, 0))

    def returned(self, depth: int) -> Type:
        """A type that a function may return: not an array, even behind a typedef."""
        type_ = self.scalar(depth)
        if type_[0] == "typedef" and any(each[0] == "array" for each in self.typedefs[type_[1]]):
            return self.leaf()
        return type_

    def typedef_target(self, number: int) -> Type:
        """What a typedef names; it may refer to earlier typedefs, and to tags behind pointers."""
        roll = self.rng.random()
        if roll < 0.15:
            return self.leaf()
        if roll < 0.30:
            return self.anonymous(f"T{number}")
        if roll < 0.40:
            return ("array", self.scalar(1), self.rng.choice([1, 2, 3]))
        return self.pointer(2)

    def anonymous(self, prefix: str) -> Type:
        """An unnamed struct, union or enum of one of few shapes."""
        roll = self.rng.random()
        if roll < 0.2:
            count = self.rng.randint(1, 2)
            return ("anon", "enum", tuple(f"{prefix}_E{index}," for index in range(count)))
        kind = "struct" if roll < 0.7 else "union"
        tag = ("tag", self.rng.randrange(self.tag_count))
        shapes = (
            ((("ptr", tag), "t"),),
            ((("array", ("ptr", tag), 2), "t"), "int a;"),
            ("int a;",),
            ("int a;", "long b;"),
            ("int a;", "int *b;"),
            ("int v[2];",),
            ("unsigned int v[2];",),
            ("int (*v)[2];",),
            ("long v[2];",),
            ("struct { int a; } inner;",),
            ("void *p;", "char c;"),
        )
        return ("anon", kind, self.rng.choice(shapes))

    def member_type(self, number: int, prefix: str) -> Type:
        roll = self.rng.random()
        if roll < 0.12 and number:
            return self.qualify(("tag", self.rng.randrange(number)))
        if roll < 0.20:
            return self.anonymous(prefix)
        if roll < 0.34:
            element: Type = self.scalar(1)
            if number and self.rng.random() < 0.3:
                element = ("tag", self.rng.randrange(number))
            array: Type = ("array", element, self.rng.choice([2, 2, 3]))
            return ("array", array, 2) if self.rng.random() < 0.15 else array
        return self.qualify(self.scalar(2))

    def tag_variants(self, number: int) -> list[Tag]:
        """The first variant, and others that differ from it slightly or completely."""
        first = self.tag(number, self.rng.choice(["struct"] * 7 + ["union"] * 2 + ["enum"] * 2))
        variants = [first]
        for _ in range(self.rng.randint(*self.sizes["others"])):
            roll = self.rng.random()
            if roll < 0.15:
                variants.append(self.tag(number, self.rng.choice(["struct", "union", "enum"])))
            elif roll < 0.25 and first.kind != "enum":
                variants.append(Tag(first.kind, ()))
            else:
                variants.append(self.tweak(number, first))
        return variants

    def tag(self, number: int, kind: str) -> Tag:
        if kind == "enum":
            count = self.rng.randint(1, 4)
            values = [self.rng.choice([index, index, index + 1, -index]) for index in range(count)]
            if self.rng.random() < 0.15:
                values[-1] = self.rng.choice([1 << 31, 1 << 33, -(1 << 35)])
            name = tag_name(number).upper()
            return Tag(kind, tuple((("value", value), f"{name}_{i}", 0) for i, value in enumerate(values)))
        members = [self.member(number, index) for index in range(self.rng.randint(1, 6))]
        return Tag(kind, (*members, *self.twins()))

    def twins(self) -> list[tuple[Type, str, int]]:
        """Now and then, two members of one array type (see also tweak)."""
        if self.rng.random() > 0.2:
            return []
        array: Type = ("array", ("base", "int"), 2)
        shapes = (array, ("ptr", array), ("ptr", ("func", VOID, (("ptr", array),), False)))
        shape = self.rng.choice(shapes)
        return [(shape, name, 0) for name in ("twin_a", "twin_b")]

    def member(self, number: int, index: int) -> tuple[Type, str, int]:
        name = f"m{index}"
        if self.rng.random() < 0.08:
            base, width = self.rng.choice(list(BITFIELD_BASES.items()))
            return ("base", base), name, self.rng.randint(1, width)
        return self.member_type(number, f"{tag_name(number).upper()}_{index}"), name, 0

    def tweak(self, number: int, first: Tag) -> Tag:
        """A variant with one member (or value) changed, added or dropped."""
        members = list(first.members)
        at = self.rng.randrange(len(members))
        roll = self.rng.random()
        if first.kind == "enum":
            if roll < 0.4 and len(members) > 1:
                del members[at]
            else:
                members[at] = (("value", self.rng.choice([5, -7, 1 << 34])), members[at][1], 0)
        elif roll < 0.25 and len(members) > 1:
            del members[at]
        elif roll < 0.4:
            members.append(self.member(number, 9))
        elif members[-1][1] == "twin_b" and self.rng.random() < 0.8:
            # An array of other elements, of the same length.
            members[-1] = (_unsigned(members[-1][0]), "twin_b", 0)
        elif members[at][2] == 0:
            # The same name and often the same size: only the graph below it differs.
            type_ = self.pointer(2) if members[at][0][0] == "ptr" else self.member_type(number, f"V{number}_{at}")
            if members[at][0][0] == "array":
                type_ = ("array", self.scalar(1), members[at][0][2])
            members[at] = (type_, members[at][1], 0)
        return Tag(first.kind, tuple(members))

    def prototype_variants(self) -> list[tuple[Type, tuple[Type, ...], bool]]:
        count = self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 7, 8])
        parameters = [self.parameter() for _ in range(count)]
        returns = self.returned(1) if self.rng.random() < 0.7 else VOID
        first = (returns, tuple(parameters), bool(parameters) and self.rng.random() < 0.1)
        variants = [first]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            other = list(parameters)
            if other and self.rng.random() < 0.7:
                at = self.rng.randrange(len(other))
                other[at] = self.relative(other[at])
            elif self.rng.random() < 0.5:
                other.append(self.parameter())
            variants.append((returns, tuple(other), first[2]))
        return variants

    def parameter(self) -> Type:
        if self.rng.random() < 0.1:
            return ("tag", self.rng.randrange(self.tag_count))
        return self.scalar(1)

    def relative(self, type_: Type) -> Type:
        """A type similar to the given one, near the limit of what counts as the same prototype."""
        roll = self.rng.random()
        if roll < 0.3:
            return ("const", type_)
        if roll < 0.6 and type_[0] == "ptr" and type_[1][0] != "func":
            return ("ptr", ("const", type_[1]))
        return ("ptr", VOID) if roll < 0.8 else self.scalar(1)


class DensePlan(Plan):
    """Few names, many units. The first tags conflict: they have variants, and are often only declared. The others hold
    pointers to lower ones. A holder whose target is only declared matches several earlier holders, and the order in
    which they are tried decides.
    """

    first_variant_chance = 0.1
    most_units = 12
    sizes: ClassVar = {"tags": (6, 14), "typedefs": (0, 2), "functions": (0, 2), "others": (1, 2)}

    def in_conflict(self, number: int) -> bool:
        return number < (self.tag_count + 1) // 2

    def define_chance(self, tag: int) -> float:
        return 0.45 if self.in_conflict(tag) else 0.9

    def tag_variants(self, number: int) -> list[Tag]:
        if self.in_conflict(number):
            return super().tag_variants(number)
        return [self.tag(number, self.rng.choice(["struct"] * 5 + ["union"]))]

    def some_tag(self, number: int) -> Type:
        """Mostly a lower tag: in a graph where all reach all, nothing matches more than one candidate."""
        below = self.tag_count if self.rng.random() < 0.08 else number
        tag: Type = ("tag", self.rng.randrange(max(below, 1)))
        return ("const", tag) if self.rng.random() < 0.2 else tag

    def member_type(self, number: int, prefix: str) -> Type:
        roll = self.rng.random()
        if self.in_conflict(number) and roll < 0.8:
            return ("ptr", ("tag", number)) if roll < 0.2 else self.leaf()
        if roll < 0.70:
            return ("ptr", self.some_tag(number))
        if roll < 0.78:
            return ("array", ("ptr", self.some_tag(number)), 2)
        if roll < 0.84:
            return ("ptr", ("func", VOID, (("ptr", self.some_tag(number)),), False))
        return super().member_type(number, prefix) if roll > 0.95 else self.leaf()

    def tag(self, number: int, kind: str) -> Tag:
        if kind == "enum":
            return super().tag(number, kind)
        count = self.rng.choice([1, 1, 2, 2, 3])
        members = [self.member(number, index) for index in range(count)]
        return Tag(kind, (*members, *self.twins()))


class Unit:
    """One unit: what it picks from the plan, and its C text as a list of removable lines."""

    def __init__(self, plan: Plan, number: int) -> None:
        self.plan, self.number = plan, number
        rng = self.rng = plan.rng
        self.kinds: dict[int, str] = {}
        self.defined: dict[int, Tag] = {}
        for tag, variants in enumerate(plan.tags):
            # Enum declarations are an extension, and an incomplete enum has no size.
            self.kinds[tag] = rng.choice(variants).kind if rng.random() < 0.3 else variants[0].kind
        for tag, variants in enumerate(plan.tags):
            if rng.random() < plan.define_chance(tag):
                first = rng.random() < plan.first_variant_chance
                self.define(tag, variants[0] if first else rng.choice(variants))
        self.typedef_pick = [rng.choice(each) if rng.random() < 0.3 else each[0] for each in plan.typedefs]

    def define(self, tag: int, variant: Tag) -> None:
        """Makes this unit define a tag, and what the variant contains by value."""
        self.kinds[tag], self.defined[tag] = variant.kind, variant
        for other in sorted(variant.needs()):
            if other not in self.defined:
                self.define(other, self.plan.tags[other][0])

    def kind_of(self, tag: int) -> str:
        return self.kinds[tag]

    def text(self, type_: Type, name: str = "") -> str:
        return declare(type_, name, self)

    @cached_property
    def lines(self) -> list[str]:
        """The source."""
        body = [*self.functions(), *self.variables()]
        self.rng.shuffle(body)
        declarations = [f"{kind} {tag_name(tag)};" for tag, kind in self.kinds.items()]
        typedefs = [f"typedef {self.text(type_, typedef_name(k))};" for k, type_ in enumerate(self.typedef_pick)]
        return [*self.filler(), *declarations, *typedefs, *self.definitions(), *body]

    def filler(self) -> Iterator[str]:
        """Unrelated types: their number changes when hash tables grow."""
        for index in range(self.rng.choice([0, 0, 0, 1, 3, 9, 25])):
            name = f"fill_{self.number}_{index}"
            yield f"struct {name} {{ int {name}_a; struct {name} *{name}_p; }};"
            yield f"static struct {name} *{name}_v __attribute__((used));"

    def definitions(self) -> Iterator[str]:
        """Definitions of tags, contained ones first (a variant contains only lower numbers)."""
        for tag, variant in sorted(self.defined.items()):
            yield f"{variant.kind} {tag_name(tag)} {{"
            for type_, name, width in variant.members:
                if variant.kind == "enum":
                    yield f"\t{name} = {type_[1]}{'ll' if abs(type_[1]) >> 31 else ''},"
                else:
                    yield f"\t{self.text(type_, name)}{f' : {width}' if width else ''};"
            yield "};"

    def variables(self) -> Iterator[str]:
        rng = self.rng
        for tag in range(self.plan.tag_count):
            if rng.random() < 0.7:
                target: Type = ("tag", tag)
                if tag not in self.defined or rng.random() < 0.5:
                    target = ("ptr", self.plan.qualify(target))
                yield f"static {self.text(target, f'v{tag}')} __attribute__((used));"
        for number in range(len(self.plan.typedefs)):
            if rng.random() < 0.5:
                yield f"static {self.text(('typedef', number), f'w{number}')} __attribute__((used));"
        for index in range(rng.randint(0, 3)):
            type_ = self.plan.scalar(2)
            if rng.random() < 0.3:
                type_ = ("array", type_, rng.choice([1, 2, 3]))
            if rng.random() < 0.5:
                name = f"percpu_{index}" if rng.random() < 0.5 else f"percpu_{self.number}_{index}"
                yield f"static {PERCPU} {self.text(type_, name)};"
            else:
                yield f"{self.text(type_, f'g_{self.number}_{index}')};"

    def functions(self) -> Iterator[str]:
        rng = self.rng
        calls = []
        for number, variants in enumerate(self.plan.functions):
            returns, parameters, variadic = rng.choice(variants) if rng.random() < 0.5 else variants[0]
            if rng.random() < 0.4 or any(value_tags(each) - set(self.defined) for each in parameters):
                continue
            how = rng.choice(
                ["static __attribute__((noinline))"] * 3
                + ["static inline __attribute__((always_inline))"] * 3
                + ["__attribute__((weak))", "static"]
            )
            if variadic and "always_inline" in how:
                continue
            names = [f"p{i}" if rng.random() < 0.85 else f"q{self.number}" + f"_{i}" for i in range(len(parameters))]
            shown = [self.text(type_, name) for type_, name in zip(parameters, names, strict=True)]
            head = f"f{number}({', '.join([*shown, '...'] if variadic else shown) or 'void'})"
            uses = [f'__asm__ volatile("" : : "m"({name}));' for name in names if rng.random() < 0.7]
            if returns != VOID:
                uses.append(f"return *({self.text(('ptr', returns))})(void *)16;")
            yield f"{how} {self.text(returns, head)} {{ {' '.join(uses)} }}"
            arguments = [f"*({self.text(('ptr', type_))})p" for type_ in parameters]
            calls += [f"f{number}({', '.join(arguments)});"] * rng.choice([1, 1, 2])
        if calls:
            # After the functions that it calls: `body` is shuffled, so this one has no declarations.
            self.tail = f"void user_{self.number}(void *p) {{ {' '.join(calls)} }}"
        else:
            self.tail = ""


@dataclass(frozen=True)
class Program:
    """A random program: the text of each unit, how each is compiled, and the form of the whole."""

    seed: int
    units: list[list[str]]
    builds: list[toolchain.Build]
    options: Sequence[str] = ()
    """Of each unit, for the compiler; empty if none has any."""

    def only(self, *kept: int) -> Program:
        """The same program with only some of its units."""
        return replace(
            self,
            units=[self.units[index] for index in kept],
            builds=[self.builds[index] for index in kept] if self.builds else [],
            options=[self.options[index] for index in kept] if self.options else (),
        )

    def write(self, folder: Path) -> list[str]:
        """Writes the units as u0.c, u1.c, ... and returns these names, each with its options."""
        names = [f"u{number}.c" for number in range(len(self.units))]
        for name, lines in zip(names, self.units, strict=True):
            (folder / name).write_text("\n".join(lines) + "\n")
        return [f"{name} {own}" for name, own in zip(names, self.options or [""] * len(names), strict=True)]

    def make(self, folder: Path, out: Path) -> None:
        """Writes, compiles and links the program; BuildError if that fails."""
        program = toolchain.Program(folder, self.write(folder), ldflags=("--allow-multiple-definition",))
        objects = [folder / f"u{number}.o" for number in range(len(self.units))]
        for unit, build, target in zip(program.units, self.builds, objects, strict=True):
            toolchain.compile_unit(program, unit, build, target)
        toolchain.link(program, self.builds[0], objects, out)


def generate(seed: int) -> Program:
    """The program of a seed."""
    rng = Random(f"pybtf {seed}")
    plan = DensePlan(rng) if seed % 3 else Plan(rng)
    units = [Unit(plan, number) for number in range(rng.randint(2, plan.most_units))]
    sources = [[*unit.lines, *([unit.tail] if unit.tail else [])] for unit in units]
    form = rng.choice(["obj", "exe"])
    compiler = rng.choice(["gcc", "gcc", "clang"])
    mixed = rng.random() < 0.25
    level, dwarf = rng.choice(["O0", "O2"]), rng.choice(["4", "5"])
    builds = []
    for _ in units:
        if mixed:
            compiler, dwarf = rng.choice(["gcc", "clang"]), rng.choice(["4", "5"])
        if rng.random() < 0.2:
            level = rng.choice(["O0", "O2"])
        builds.append(toolchain.Build(compiler, level, dwarf, form))
    return Program(seed, sources, builds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("folder", type=Path, nargs="?")
    options = parser.parse_args()
    program = generate(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for number, (lines, build) in enumerate(zip(program.units, program.builds, strict=True)):
            print(f"/* u{number}.c, {build} */", *(lines if not options.folder else []), sep="\n")
        program.make(folder, folder / "program.elf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
