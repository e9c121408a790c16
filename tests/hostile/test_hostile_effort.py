"""Steps are limited: for deciding which repeats may be dropped, for comparing types, and for what many DIEs share. When
they are used up, all units are kept whole, as the report says, or there is a message. So no clock is needed to see
whether a step is counted.

Each input takes slightly more steps than allowed, so if a kind of step were not counted, enough would be left.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import pybtf
from pybtf.core.dedup.dedup import dedup_btf
from pybtf.errors import InputError, NothingToEncode
from tests.builders import narrow, near
from tests.builders.conflictswriter import Writer, image, written
from tests.builders.dedup_lists import FUNC_PROTO, INT32, A, B, C, enum, pointer, raw, record, struct_of
from tests.builders.dwarfwriter import uleb
from tests.builders.rawdwarf import ADDR, DATA1, PRESENT, REF4, SEC_OFFSET, STRING, RawDwarf
from tests.hostile.test_hostile import (
    ANNOTATION,
    DECLARATION,
    LOCATION,
    LOW_PC,
    NAME,
    PARAMETER,
    POINTER,
    SIZE,
    STRUCT,
    SUBPROGRAM,
    SUBROUTINE,
    TYPE,
    X86,
    names,
)
from tests.hostile.test_hostile_namesakes import SHARED, behind_many_typedefs
from tests.hostile.test_hostile_repeats import element, member, other_unit


def struct(w: RawDwarf, name: str, *to: int | str) -> int:
    """A struct with a pointer to each of these types, whose DIEs come before it; a text is a label."""
    pointers = [w.die(POINTER, (TYPE, REF4, each)) for each in to]
    at = w.die(STRUCT, (NAME, STRING, name), (SIZE, DATA1, 8), children=True)
    for each in pointers:
        member(w, each)
    w.null()
    return at


def declared(w: RawDwarf, name: str) -> int:
    return w.die(STRUCT, (NAME, STRING, name), (DECLARATION, PRESENT, 1))


def members(w: RawDwarf, type_: int, count: int) -> None:
    start = len(w.info)
    member(w, type_)
    w.info += w.info[start:] * (count - 1)


def equal_members(structs: int) -> bytes:
    """Nameless structs of 200 equal members and an array that differs. For each pair of structs, all members are
    compared, and searched again for an array.
    """
    w = RawDwarf()
    other_unit(w)
    w.begin()
    int_ = w.base_type()
    for at in range(structs):
        array = element(w, at)
        w.die(STRUCT, (SIZE, DATA1, 4), children=True)
        members(w, int_, 200)
        member(w, array, "a")
        w.null()
    w.end()
    return w.kernel()


def arrays_of_namesakes(structs: int) -> bytes:
    """Structs of one name that differ in the elements of an array. Pairs of such arrays are recorded."""
    w = RawDwarf()
    other_unit(w)
    for at in range(structs):
        w.begin()
        array = element(w, at)
        w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), children=True)
        member(w, array, "a")
        w.null()
        w.end()
    return w.kernel()


def told_apart(rounds: int) -> bytes:
    """`z` points to `k` and to nine names; each unit defines some of these. Its odd type, which has another `k`,
    differs from all usual ones but that of the first unit. This is asked again in each round, because the `x` become
    separate one by one.
    """
    w = RawDwarf()
    others = [f"y{n}" for n in range(9)]
    for unit in range(1 << len(others)):
        w.begin()
        to = [declared(w, "k") if unit == 0 else struct(w, "k")]
        to += [struct(w, name) if unit >> n & 1 else declared(w, name) for n, name in enumerate(others)]
        struct(w, "z", *to)
        w.end()
    w.begin()
    for name in others:
        struct(w, name, w.base_type())
    w.end()
    for odd in (False, True):
        w.begin()
        labels = {}
        for n in range(rounds, 0, -1):
            labels[f"x{n}"] = struct(w, f"x{n}", f"x{n - 1}")
        labels["x0"] = struct(w, "k", *[w.base_type()] * odd)
        if odd:
            struct(w, "z", labels["x0"], *(declared(w, name) for name in others))
        w.end(labels.__getitem__)
    return w.kernel()


def mentions(count: int) -> bytes:
    """Many structs lead to many names, and through these names an undecided type is reached elsewhere."""
    w = Writer()
    *others, last = near.met()
    for items in others:
        w.unit(items)
    w.unit([*last, *(near.struct(f"n{n}", "g") for n in range(count))])
    w.begin()
    pointers = [w.die(POINTER, (TYPE, REF4, declared(w, f"n{n}"))) for n in range(count)]
    prototype = w.die(SUBROUTINE, children=True)
    for to in pointers:
        w.die(PARAMETER, (TYPE, REF4, to))
    w.null()
    for n in range(count):
        struct(w, f"s{n}", prototype)
    w.end()
    return written(w)


def partners(count: int) -> bytes:
    """A unit with thousands of undecided types and the first `b`, which other units have, too. These turn out to be
    kept whole one after the other, from the last to the first. Each time it is asked whether that unit is as well.
    """
    a, t, x, b, q = (near.struct(*each) for each in ("a", "ta", "xa", "bq", "qt"))
    odd, to_t = narrow.struct("a", [narrow.LONG]), narrow.to("t")
    y = [near.struct(f"y{n}", "t") for n in range(count)]
    d = [near.struct(f"d{n}", f"y{n}") for n in range(count)]
    many = [narrow.struct(f"w{n}", [("name", "struct", "a", 0)]) for n in range(36_000)]
    first = [[x], [x, a], [a, t, q, *y, *many], [odd, t, ("use", to_t), *many], [t, b, *many]]
    row = [[t, y[0], d[0], b, q]]
    row += [[d[n - 1], y[n - 1], t, a, y[n], d[n], b, q] for n in range(1, count)]
    return image([*first, *row, [d[-1], y[-1], t, a, b, q, ("function", to_t)]])


def asked_for(count: int) -> bytes:
    """As in `mentions`, but each struct leads to one name, which is resolved early. For each of them, all that ask are
    looked at.
    """
    *others, last = near.met()
    asked = [near.struct(f"n{n}", "g") for n in range(count)]
    leading = [near.struct(f"s{n}", f"n{n}") for n in range(count)]
    return image([*others, leading, [*asked, *leading], last + asked])


def uncertain(count: int) -> bytes:
    """`x` is uncertain: it has an odd `a` first, then any. So are structs in a row, of which the last points to it. One
    class has many members, and each pass through all classes finds one more.
    """
    w = Writer()
    a, x = near.struct("a"), near.struct("x", "a")
    row = [near.struct(f"y{n}", f"y{n - 1}" if n else "x") for n in range(count)]
    for items in [near.struct("a", "b"), x], [x], [a, x, *row], [a], [a], [a]:
        w.unit(items)
    w.begin()
    int_ = w.base_type()
    w.die(STRUCT, (NAME, STRING, "large"), (SIZE, DATA1, 4), children=True)
    members(w, int_, 30_000)
    w.null()
    w.end()
    return written(w)


def by_prototype(w: RawDwarf, structs: int, *to: int) -> None:
    """Many structs that point to a prototype. Through it, each mentions all of these types directly."""
    pointers = [w.die(POINTER, (TYPE, REF4, each)) for each in to]
    prototype = w.die(SUBROUTINE, children=True)
    for each in pointers:
        w.die(PARAMETER, (TYPE, REF4, each))
    w.null()
    pointer = w.die(POINTER, (TYPE, REF4, prototype))
    for n in range(structs):
        w.die(STRUCT, (NAME, STRING, f"z{n}"), (SIZE, DATA1, 8), children=True)
        member(w, pointer)
        w.null()


class Ways:
    """Units of `z` structs that mention some names. Each unit declares a name (0), defines it (1), or defines it
    differently (2). In the first units another struct has all names, declared and defined. So the declarations are
    resolved before anything else comes, and the definitions there are the usual ones.
    """

    def __init__(self, structs: int, names: int) -> None:
        self.structs = structs
        self.names = [f"n{n}" for n in range(names)]
        self.w = RawDwarf()
        for how in 0, 1:
            self.w.begin()
            struct(self.w, "e", *(self.name(name, how) for name in self.names))
            self.w.end()
        self.repeat(9)

    def name(self, name: str, how: int) -> int:
        return struct(self.w, name, *[self.w.base_type()] * (how == 2)) if how else declared(self.w, name)

    def unit(self, *hows: int, structs: bool = True) -> None:
        """A unit with the names as `hows` says; `structs` False leaves out the `z` structs."""
        self.w.begin()
        targets = [self.name(name, how) for name, how in zip(self.names, hows, strict=True)]
        if structs:
            by_prototype(self.w, self.structs, *targets)
        self.w.end()

    def repeat(self, count: int) -> None:
        """Repeats the last unit so many times."""
        self.w.info += self.w.info[self.w._unit :] * count


def bits(n: int, count: int) -> list[int]:
    return [n >> k & 1 for k in range(count)]


def different_ways(structs: int) -> bytes:
    """Each `z` is looked up among the ways in which earlier units have it. At the end comes an odd one that is like all
    of them, which is seen at once.
    """
    ways = Ways(structs, 12)
    for n in range(1 << 11):
        ways.unit(0, *bits(n, 11))
    ways.unit(2, *[0] * 11)
    ways.unit(*[2] * 12, structs=False)
    return ways.w.kernel()


def slots_of_units(structs: int) -> bytes:
    """Through one prototype, structs mention hundreds of names that are defined twice elsewhere, as each unit notes."""
    ways = Ways(structs, 500)
    ways.unit(*[2] * 500, structs=False)
    ways.unit(*[0] * 500)
    ways.repeat(170)
    return ways.w.kernel()


@pytest.mark.parametrize(
    ("build", "many"),
    [
        (equal_members, 970),
        (arrays_of_namesakes, 2200),
        (told_apart, 600),
        (mentions, 1500),
        (partners, 2400),
        (asked_for, 14_500),
        (uncertain, 3400),
        (different_ways, 68),
        (slots_of_units, 2000),
    ],
)
def test_steps_are_counted(build: Callable[[int], bytes], many: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    kept = []
    for count in 20, many:
        path.write_bytes(build(count))
        report = pybtf.encode(path, jobs=1).report
        kept.append(report.repeats.units_whole == report.units.kept)
    assert kept == [False, True]


def test_equal_ways_are_one(tmp_path: Path) -> None:
    """Two thousand units have forty structs in the same way. If each were another way, the steps would be used up."""
    ways = Ways(40, 1)
    ways.unit(1)
    ways.repeat(2000)
    ways.unit(2)
    path = tmp_path / "file"
    path.write_bytes(ways.w.kernel())
    assert pybtf.encode(path, jobs=1).report.repeats.units_whole == 1


def namesakes_in_a_row(structs: int) -> bytes:
    """Each pair is compared to the end, and the comparison makes assumptions about all that come before."""
    types = [INT32]
    for _ in range(structs):
        types += [struct_of(A, (B, len(types))), pointer(len(types) + 1)]
    return raw(*types)


def large_prototypes(structs: int) -> bytes:
    """Structs that point to prototypes of a hundred parameters; only the last parameter differs."""
    types = [INT32]
    for number in range(structs):
        at = len(types) + 1
        parameters = [A, 1] * 99 + [A, at]
        prototype = record(FUNC_PROTO, 0, 0, *parameters, vlen=100)
        types += [enum(C, number), prototype, pointer(at + 1), struct_of(A, (B, at + 2))]
    return raw(*types)


def copies_of_one_chain(count: int) -> bytes:
    """The parameters of two prototypes are chains of pointers. All are equal, but each chain of the second prototype
    has a first link of its own, which is compared with another one to the end of the chain.
    """
    types = [INT32]
    for copies in 1, count:
        types += [pointer(len(types) + n if n else 1) for n in range(count)]
        last = len(types)
        parameters = [word for n in range(count) for word in (A, last + 1 + n % copies)]
        types += [pointer(last)] * copies
        types += [record(FUNC_PROTO, 0, 0, *parameters, vlen=count), struct_of(A, (B, len(types) + 1))]
    return raw(*types)


def enumerations_of_one_name(count: int) -> bytes:
    """One is empty and matches each of them; the others are compared with all that come before."""
    return raw(enum(B), *(enum(B, *range(number, number + 60)) for number in range(count)))


@pytest.mark.parametrize(
    ("build", "many"),
    [
        (namesakes_in_a_row, 750),
        (large_prototypes, 2000),
        (copies_of_one_chain, 15_000),
        (enumerations_of_one_name, 2400),
    ],
)
def test_comparisons_are_counted(build: Callable[[int], bytes], many: int) -> None:
    dedup_btf(build(20))
    with pytest.raises(InputError, match="takes too many steps"):
        dedup_btf(build(many))


def chain_of_tags(pointers: int) -> bytes:
    """Each of its sixty tags becomes a type for each pointer. Reading them takes fewer steps than any unit may take."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    tags = names(w, b"btf_type_tag", 60)
    for _ in range(pointers):
        w.die(POINTER, (TYPE, REF4, int_), (ANNOTATION, REF4, tags[-1]))
    w.end()
    return w.kernel()


def one_location_list(parameters: int) -> bytes:
    """Each parameter is looked up in a list of a hundred entries."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    w.sections[".debug_loc"] = (packing.pack("<QQH", 1, 2, 1) + b"\x9f") * 100 + bytes(16)
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
    for _ in range(parameters):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_), (LOCATION, SEC_OFFSET, 0))
    w.null()
    w.end()
    return w.kernel()


def one_table_of_abbreviations(units: int) -> bytes:
    """It has 100 kilobytes, and each unit reads it from a different place on."""
    w = RawDwarf()
    entries = [uleb(number + 1) + b"\x11\0\0\0" for number in range(18_000)]
    at = 0
    for number in range(units):
        code = uleb(number + 1)
        w.info += packing.pack("<IHIB", 7 + len(code), 4, at, 8) + code
        at += len(entries[number])
    w.abbrev += b"".join(entries)
    return w.kernel()


@pytest.mark.parametrize(
    ("build", "many", "features"),
    [
        (chain_of_tags, 400, "default"),
        (one_location_list, 400, "default"),
        (one_table_of_abbreviations, 1000, "default,force_cu_merging"),
        (partial(behind_many_typedefs, "parameters"), 4000, "default"),
        (partial(behind_many_typedefs, "members"), 4000, "default"),
        (partial(behind_many_typedefs, "bitfields"), 4000, "default"),
    ],
    ids=["tags", "locations", "abbreviations", "parameters", "members", "bitfields"],
)
def test_what_is_shared_is_counted(build: Callable[[int], bytes], many: int, features: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(build(20))
    with suppress(NothingToEncode):
        pybtf.encode(path, features=features)
    path.write_bytes(build(many))
    with pytest.raises(InputError, match=SHARED):
        pybtf.encode(path, features=features)
