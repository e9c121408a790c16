"""Random pairs for CO-RE: the types of a kernel, and a BPF program that was written for different types.

The program declares the same structs with some members missing, in another order, with another type or width, or under
names with a suffix. It reads members and asks about fields, types and enumerators, not all of which exist.
"""

from __future__ import annotations

import random
from typing import NamedTuple

SCALARS = (
    "char", "unsigned char", "short", "int", "unsigned int", "long", "unsigned long long", "_Bool", "float", "double",
)  # fmt: skip
WHOLE = SCALARS[:7]
_WHOLE = (*(f"{each} %s" for each in (*WHOLE, "my_t", "cv_t", "u64", "const u32")), "enum")
HEAD = """\
#define SEC(n) __attribute__((section(n), used))
typedef unsigned long long u64;
typedef unsigned int u32;
typedef u32 my_t;
typedef const volatile my_t cv_t;
"""


class Member(NamedTuple):
    """`text` has a `%s` for the name. `inner`: the members of an anonymous one."""

    name: str
    text: str
    struct: str = ""
    """The struct that it is, or is an array of."""
    dims: tuple[int, ...] = ()
    bits: int = 0
    inner: tuple[Member, ...] = ()


class Struct(NamedTuple):
    keyword: str
    name: str
    members: list[Member]


class World:
    """The types of one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.enums = {f"e{n}": self._values(n) for n in range(3)}
        self.structs: list[Struct] = []
        for n in range(self.rng.randint(2, 6)):
            self.structs.append(self._struct(f"s{n}"))
        self.typedefs = {f"t{n}": self._typedef() for n in range(4)}

    def _values(self, n: int) -> dict[str, int]:
        return {f"E{n}_{k}": self.rng.choice((k, k * 7, -k, 1 << 20)) for k in range(self.rng.randint(1, 4))}

    def _typedef(self) -> str:
        r = self.rng
        struct = r.choice(self.structs)
        return r.choice((
            f"{struct.keyword} {struct.name} %s", f"{struct.keyword} {struct.name} *%s", f"{r.choice(SCALARS)} %s",
            f"struct {{ int a{r.randint(0, 1)}; {r.choice(WHOLE)} b; }} %s", f"int (*%s)({r.choice(SCALARS)}, void *)",
            f"const {struct.keyword} {struct.name} *(*%s)({struct.keyword} {struct.name})", f"{r.choice(WHOLE)} %s[4]",
        ))  # fmt: skip

    def _name(self) -> str:
        self.count += 1
        return f"m{self.count}"

    def member(self, depth: int = 0) -> Member:
        r = self.rng
        roll = r.randrange(14)
        name = self._name()
        if roll < 3:
            return Member(name, f"{r.choice(SCALARS)} %s")
        if roll == 3:
            bits = r.randint(1, 7)
            return Member(name, f"{r.choice(WHOLE)} %s:{bits}", bits=bits)
        if roll == 4:
            return Member(name, f"enum e{r.randrange(3)} %s")
        if roll == 5:
            return Member(name, r.choice(("my_t %s", "cv_t %s", "u64 %s", "const u32 %s")))
        if roll == 6:
            keyword, known = next(((s.keyword, s.name) for s in self.structs if r.random() < 0.5), ("struct", "far"))
            return Member(name, f"{keyword} {known} *%s")
        if roll == 7:
            dims = tuple(r.randint(1, 4) for _ in range(r.randint(1, 2)))
            text = "%s" + "".join(f"[{d}]" for d in dims)
            if self.structs and r.random() < 0.6:
                struct = r.choice(self.structs)
                return Member(name, f"{struct.keyword} {struct.name} {text}", struct.name, dims)
            return Member(name, f"{r.choice(SCALARS)} {text}", dims=dims)
        if roll <= 9 and self.structs:
            struct = r.choice(self.structs)
            return Member(name, f"{struct.keyword} {struct.name} %s", struct.name)
        if roll <= 11 and depth < 2:
            inner = tuple(self.member(depth + 1) for _ in range(r.randint(1, 4)))
            return Member("", r.choice(("struct", "union")), inner=inner)
        return Member(name, r.choice((
            "void *%s", "const char *const %s", "int (*%s)(struct far *, int)", "struct nowhere *%s",
            "u32 *volatile %s",
        )))  # fmt: skip

    def _struct(self, name: str) -> Struct:
        members = [self.member() for _ in range(self.rng.randint(1, 9))]
        keyword = "union" if self.rng.random() < 0.2 else "struct"
        if keyword == "struct" and self.rng.random() < 0.2 and any(each.name for each in members):
            members.append(Member(self._name(), "int %s[]", dims=(0,)))
        return Struct(keyword, name, members)

    # What is changed

    def changed(self, members: list[Member]) -> list[Member]:
        r = self.rng
        kept = []
        for each in members:
            if r.random() < 0.25:
                continue
            if each.inner:
                inner = self.changed(list(each.inner))
                if inner and r.random() < 0.2:
                    kept += [one for one in inner if not one.dims or one.dims != (0,)]
                elif inner:
                    kept.append(each._replace(inner=tuple(inner)))
            elif r.random() < 0.15:
                other = self.member(2)
                if other.name:
                    kept.append(other._replace(name=each.name))
            else:
                kept.append(each)
        if r.random() < 0.2:
            kept.append(Member(self._name(), "int %s"))
        if r.random() < 0.5 and not any(each.dims == (0,) for each in kept):
            r.shuffle(kept)
        flexible = [each for each in kept if each.dims == (0,)]
        kept = [each for each in kept if each.dims != (0,)]
        return kept + flexible[:1] if any(each.name for each in kept) else kept


def body(members: list[Member] | tuple[Member, ...]) -> str:
    text = ""
    for each in members:
        text += f"{each.text} {{ {body(each.inner)}}}; " if each.inner else (each.text % each.name) + "; "
    return text


def declarations(world: World, structs: list[Struct], enums: dict[str, dict[str, int]], access: str) -> str:
    text = HEAD
    for name, values in enums.items():
        text += f"enum {name} {{ {', '.join(f'{each} = {value}' for each, value in values.items())} }};\n"
    for each in structs:
        text += f"{each.keyword} {each.name} {{ {body(each.members)}}}{access};\n"
    for name, declarator in world.typedefs.items():
        text += f"typedef {declarator % name};\n"
    return text


def target(world: World) -> str:
    """The kernel's types, all of them used."""
    structs = list(world.structs)
    enums = dict(world.enums)
    if world.rng.random() < 0.3:  # a second candidate
        twin = world.rng.choice(world.structs)
        members = twin.members if world.rng.random() < 0.5 else world.changed(twin.members)
        structs.append(Struct(twin.keyword, f"{twin.name}___twin", members or twin.members))
    if world.rng.random() < 0.2:
        enums["e0___x"] = {f"{each}___x": value for each, value in enums["e0"].items()}
    text = declarations(world, structs, enums, "")
    used = [f"{each.keyword} {each.name} v_{each.name}" for each in structs]
    used += [f"enum {each} v_{each}" for each in enums]
    used += [f"{each} v_{each}" for each in world.typedefs]
    return text + ";\n".join(used) + ";\n"


def _paths(members: list[Member], structs: dict[str, Struct], rng: random.Random, depth: int) -> list[tuple[str, int]]:
    """Some paths to members, and how many of the facts about fields make sense there."""
    found = []
    for each in members:
        if each.inner:
            found += _paths(list(each.inner), structs, rng, depth)
            continue
        elements = "".join(f"[{rng.randrange(max(1, size))}]" for size in each.dims)
        found.append((each.name, 6 if each.text.startswith(_WHOLE) and not each.dims else 3))
        if elements:
            found.append((each.name + elements, 3))
        if each.struct and depth < 3:
            inner = structs.get(each.struct)
            if inner is not None:
                found += [
                    (f"{each.name}{elements}.{path}", facts)
                    for path, facts in _paths(inner.members, structs, rng, depth + 1)
                ]
    return found


def program(world: World, count: int = 12) -> str:
    """A BPF program on other versions of these types."""
    r = world.rng
    suffix = r.choice(("", "", "", "___old", "___v2"))
    local, known = [], world.structs
    for number, each in enumerate(known):
        world.structs = known[:number]
        local.append(Struct(each.keyword, each.name, world.changed(each.members)))
    world.structs = known
    local = [each._replace(members=each.members or [Member("nothing", "int %s")]) for each in local]
    structs = {each.name: each for each in local}
    enums = {}
    for name, values in world.enums.items():
        changed = {each: value + r.randint(0, 1) for each, value in values.items() if r.random() < 0.8}
        enums[name] = changed or {f"{name}_none": 1}
    text = declarations(world, local, enums, " __attribute__((preserve_access_index))")
    for name in structs:
        text = text.replace(f" {name} ", f" {name}{suffix} ")
    for number in range(r.randint(1, count)):
        struct = r.choice(local)
        name = f"{struct.keyword} {struct.name}{suffix}"
        paths = _paths(struct.members, structs, r, 0)
        roll = r.randrange(10)
        if roll < 5 and paths:
            path, facts = r.choice(paths)
            element = r.choice(("->", "->", "->", "[1].", "[3]."))
            question = f"__builtin_preserve_field_info(p{element}{path}, {r.randrange(facts)})"
        elif roll < 8:
            kind = r.choice((name, f"enum {r.choice(list(enums))}", r.choice(list(world.typedefs)), name))
            question = r.choice((
                f"__builtin_preserve_type_info(*({kind} *)0, 0)", f"__builtin_preserve_type_info(*({kind} *)0, 1)",
                f"__builtin_preserve_type_info(*({kind} *)0, 0)", f"__builtin_btf_type_id(*({kind} *)0, 1)",
                f"__builtin_btf_type_id(*({kind} *)0, 0)",
            ))  # fmt: skip
        else:
            enum = r.choice(list(enums))
            value = r.choice(list(enums[enum]))
            question = f"__builtin_preserve_enum_value(*(enum {enum} *){value}, {r.randrange(2)})"
        text += f'SEC("raw_tp/p{number}") int p{number}({name} *p) {{ return {question}; }}\n'
    return text + 'char LICENSE[] SEC("license") = "GPL";\n'
