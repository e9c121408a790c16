"""What the base suggests about the names of members (core/strings/name_prediction.py) must not change the result.

Each module is encoded on a base, and on the same base with one of its strings repeated at the end. That changes no
type, but nothing is suggested if strings repeat. The types must be the same, by name and id.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from tests.builders.dwarfwriter import Die, die, dwarf
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, INT, kernel, unit
from tests.builders.rawbtf import raw_btf

X86 = FLAVOURS["x86_64"]
FEATURES = "default,decl_tag_kfuncs"
LONG = "a_name_of_more_than_sixty_four_bytes_which_is_looked_up_and_not_compared_with_what_the_base_has"


def member(name: str, at: int) -> Die:
    named = [("name", "strp", name)] if name else []
    return die("member", *named, ("type", "ref4", "int"), ("data_member_location", "data1", at))


def composite(name: str, *members: str, tag: str = "structure_type") -> Die:
    named = [("name", "strp", name)] if name else []
    children = [member(each, 4 * n if tag == "structure_type" else 0) for n, each in enumerate(members)]
    return die(tag, *named, ("byte_size", "data1", 4 * len(members)), children=children)


def enumeration(name: str, *values: str) -> Die:
    named = [("name", "strp", name)] if name else []
    children = [die("enumerator", ("name", "strp", each), ("const_value", "data1", n)) for n, each in enumerate(values)]
    return die("enumeration_type", *named, ("byte_size", "data1", 4), ("type", "ref4", "int"), children=children)


def function(name: str, offset: int) -> Die:
    return die("subprogram", ("name", "strp", name), ("type", "ref4", "int"), ("low_pc", "addr", X86.text + offset))


def write(path: Path, dies: Sequence[Die], functions: Sequence[str] = ()) -> Path:
    more = [function(name, 32 + 16 * n) for n, name in enumerate(functions)]
    symbols = [Symbol(name, X86.text + 32 + 16 * n, 16, "FUNC", ".text") for n, name in enumerate(functions)]
    path.write_bytes(kernel(dwarf([unit([INT, *dies, *more])]), extra_symbols=symbols).data)
    return path


def with_a_string_twice(base: bytes) -> bytes:
    """The same types and strings, with the first string repeated at the end."""
    header = list(struct.unpack_from("<HBBIIIII", base))
    start = header[3] + header[6]
    strings = base[start : start + header[7]]
    again = strings[1 : strings.index(b"\0", 1) + 1]
    header[7] += len(again)
    return struct.pack("<HBBIIIII", *header) + base[header[3] : start] + strings + again


def check(folder: Path, base: bytes, module: Path) -> list[Any]:
    """The module's own types, after checking that they are the same on both bases."""
    found = []
    for name, data in (("plain", base), ("twice", with_a_string_twice(base))):
        file = folder / name
        file.write_bytes(data)
        encoded = pybtf.encode(module, features=FEATURES, base=file, jobs=1)
        found.append(list(encoded.btf))
    assert found[0] == found[1]
    return found[0]


BASE = [
    composite("s", "a", "b", "c"),
    composite("t", "a", "", "c"),
    composite("u", "name", "name_of", LONG, tag="union_type"),
    composite("twice", "x", "y"),
    composite("twice", "x", "z", "w"),
    composite("", "first", "second"),
    enumeration("e", "RED", "GREEN"),
    enumeration("", "ONE", "TWO"),
]
CASES: dict[str, tuple[list[Die], list[str]]] = {
    "the same": (BASE, []),
    "one name is another": ([composite("s", "a", "x", "c"), enumeration("e", "RED", "BLUE")], []),
    "one name is longer": ([composite("s", "a", "bb", "c"), composite("u", "name_", "name_of", LONG + "x")], []),
    "one name is shorter": ([composite("u", "nam", "name_o", LONG[:-1], tag="union_type")], []),
    "one name is missing": ([composite("s", "a", "", "c"), composite("t", "a", "b", "c")], []),
    "more members": ([composite("s", "a", "b", "c", "d")], []),
    "fewer members": ([composite("s", "a", "b")], []),
    "two of a name": ([composite("twice", "x", "y"), composite("twice", "x", "z", "w")], []),
    "another kind": ([enumeration("s", "a", "b", "c"), composite("e", "RED", "GREEN")], []),
    "nameless": ([composite("", "first", "second"), composite("", "first", "third"), composite("", "", "b")], []),
    "nameless enumerations": ([enumeration("", "ONE", "TWO"), enumeration("", "ONE", "THREE")], []),
    "functions of these names": (BASE, ["a", "first", "RED", "name_of", "s"]),
    "many functions": (BASE, [f"f{n}" for n in range(300)] + ["b", "second"]),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = write(tmp_path_factory.mktemp("base") / "vmlinux", BASE)
    return bytes(pybtf.encode(path, features=FEATURES, jobs=1).data)


@pytest.mark.parametrize("name", CASES)
def test_same_types(name: str, base: bytes, tmp_path: Path) -> None:
    check(tmp_path, base, write(tmp_path / "module", *CASES[name]))


def test_names_are_those_of_the_module(base: bytes, tmp_path: Path) -> None:
    types = check(tmp_path, base, write(tmp_path / "module", [composite("s", "a", "x", "c")], ["x"]))
    found = [[each.name for each in one.members] for one in types if one.name == "s"]
    assert found == [["a", "x", "c"]]


def test_what_the_base_has_is_found(base: bytes, tmp_path: Path) -> None:
    """Of a module that brings no new types, only its functions are left."""
    types = check(tmp_path, base, write(tmp_path / "module", *CASES["functions of these names"]))
    assert not [one for one in types if hasattr(one, "members")]


@pytest.mark.parametrize(("strings", "at"), [(b"\0int\0s\0ab\0", 8), (b"\0int\0s\0\0b\0", 7)])
@pytest.mark.parametrize("name", ["b", ""])
@pytest.mark.parametrize("more", [b"", b"sixteen bytes or more\0"])
def test_odd_strings_of_a_base(strings: bytes, at: int, name: str, more: bytes, tmp_path: Path) -> None:
    """A base may share the ends of strings, and may have empty strings. Looking up a text does not find such names, so
    they are not used; nor are those at the very end.
    """
    strings += more
    data = raw_btf([1, 1 << 24, 4, 1 << 24 | 32, 5, 4 << 24 | 1, 4, at, 1, 0], strings)
    found = check(tmp_path, data, write(tmp_path / "module", [composite("s", name)]))
    assert [[each.name for each in one.members] for one in found if hasattr(one, "members")] in ([[name]], [])


# As long as what is compared at a time, a byte more, a byte less; short enough to be in the DIE; ends of others.
NAMES = ["a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefgx", "abcdefghi", "abcdefghijklmno"]
NAMES += ["abcdefghijklmnop", "abcdefghijklmnoX", "abcdefghijklmnopq", "bc", "hi", "nop", "\xe9", "abc\xe9"]
NAMES += [LONG, LONG[1:], LONG + "x"]


def some_types(dice: random.Random, count: int) -> list[Die]:
    """Types with names and without, of few names, in some order."""

    def named(name: str) -> tuple[str, str, str]:
        return ("name", "string" if dice.random() < 0.5 else "strp", name)

    def one() -> Die:
        name = [named(dice.choice(NAMES))] if dice.random() < 0.8 else []
        kind = dice.randrange(5)
        if kind == 0:
            return die("typedef", named(dice.choice(NAMES)), ("type", "ref4", "int"))
        if kind == 1:
            return die("structure_type", named(dice.choice(NAMES)), ("declaration", "flag_present", True))
        if kind == 2:
            values = [
                die("enumerator", named(dice.choice(NAMES) + dice.choice("ABC")), ("const_value", "data1", n))
                for n in range(dice.randrange(4))
            ]
            return die("enumeration_type", *name, ("byte_size", "data1", 4), ("type", "ref4", "int"), children=values)
        members = [
            die("member", named(dice.choice(NAMES)), ("type", "ref4", "int"), ("data_member_location", "data1", 4 * n))
            for n in range(dice.randrange(5))
        ]
        return die("structure_type", *name, ("byte_size", "data1", 4 * len(members)), children=members)

    return [one() for _ in range(count)]


def changed(dice: random.Random, types: list[Die]) -> list[Die]:
    """Some of these types, mostly in their order, with others between them."""
    found: list[Die] = []
    at = 0
    while at < len(types) and len(found) < 60:
        if dice.random() < 0.1:
            found += some_types(dice, 1)
        found.append(types[at])
        at = dice.randrange(len(types)) if dice.random() < 0.1 else at + dice.choice([1, 1, 1, 2])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_same_types_at_random(seed: int, tmp_path: Path) -> None:
    """Module after module on one base, so what it remembers of one is what it expects of the next."""
    dice = random.Random(seed)
    types = some_types(dice, 60)
    vmlinux = write(tmp_path / "vmlinux", [*types, *some_types(random.Random(-seed), 5)])
    data = bytes(pybtf.encode(vmlinux, features=FEATURES, jobs=1).data)
    plain, twice = pybtf.Base.from_bytes(data), pybtf.Base.from_bytes(with_a_string_twice(data))
    left = 0
    for number in range(8):
        functions = dice.sample(NAMES[:12], dice.randrange(4))
        units = [unit([INT, *changed(dice, types)]) for _ in range(dice.randrange(1, 4))]
        units.append(unit([INT, *[function(name, 32 + 16 * n) for n, name in enumerate(functions)]]))
        symbols = [Symbol(name, X86.text + 32 + 16 * n, 16, "FUNC", ".text") for n, name in enumerate(functions)]
        path = tmp_path / f"module{number}"
        path.write_bytes(kernel(dwarf(units), extra_symbols=symbols).data)
        found = [list(pybtf.encode(path, features=FEATURES, base=base, jobs=1).btf) for base in (plain, twice)]
        assert found[0] == found[1]
        left += len(found[0])
    assert left
