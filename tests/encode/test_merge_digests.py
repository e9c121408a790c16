"""Types known by their digests: which types have one, and what happens to values whose parts contradict each other.

The tests take values apart by the numbers of core/values/unit_layout.pxd, and damage them where it matters.
"""

from __future__ import annotations

import random
from array import array
from pathlib import Path
from typing import NamedTuple

import pytest

from pybtf.core.codes import VALUES
from pybtf.errors import InputError, PybtfError
from tests.builders.conflicts import Expr, Item, Unit, program, with_uses
from tests.builders.conflictswriter import image
from tests.builders.narrow import LONG, nameless, struct
from tests.encode.test_merge_values import HOME, ONE, check, exported, read_back

DIGEST = 4 * VALUES["digest"]
INT = ("base", "int")


class Parts(NamedTuple):
    """Where the parts of a unit are in the values, and what its head says. Of functions, the digests of prototypes."""

    start: int
    head: array[int]
    prototypes: list[int]
    digests: range
    records: range
    first: range
    strings: range


def prototypes(values: bytes, start: int, head: array[int]) -> list[int]:
    """Where the digests of functions' prototypes are."""
    found, at = [], start + 4 * (VALUES["head"] + 3 * head[VALUES["tags"]])
    for _ in range(head[VALUES["functions"]]):
        found.append(at + 4 * VALUES["function_digest"])
        _, flags, elements, _ = array("I", values[at : at + 16])
        at += 4 * (VALUES["function_head"] + 2 * ((flags >> 16) + (elements & VALUES["elements"])))
    return found


def parts(values: bytes) -> list[Parts]:
    found, start = [], 0
    while start < len(values):
        head = array("I", values[start : start + 4 * VALUES["head"]])
        words = VALUES["head"] + 3 * head[VALUES["tags"]]
        first = start + 4 * (words + head[VALUES["function_words"]] + head[VALUES["variable_words"]])
        digests = first + (head[VALUES["first_bytes"]] + 3) // 4 * 4
        records = digests + DIGEST * (head[VALUES["types"]] - 1)
        strings = records + 4 * head[VALUES["words"]]
        found.append(
            Parts(
                start,
                head,
                prototypes(values, start, head),
                range(digests, records, DIGEST),
                range(records, strings, 4),
                range(first, first + head[VALUES["first_bytes"]]),
                range(strings, strings + head[VALUES["string_bytes"]]),
            )
        )
        start += head[0]
    return found


def of(units: list[Unit], path: Path) -> tuple[bytes, bytes]:
    """The values of a program, and its addresses."""
    path.write_bytes(image(units))
    given = exported(path, "default")
    assert given is not None
    return given


def test_a_type_has_the_same_digest_in_all_objects() -> None:
    """This makes `merge` fast. Two ways of compiling a program give nearly the same types."""
    sets = []
    for name in ("03_units.gcc-O0-4-exe.elf", "03_units.gcc-O0-5-obj.elf"):
        given = exported(HOME / "bin" / name, "default")
        assert given is not None
        units = parts(given[0])
        assert len(units) > 1
        sets.append({given[0][at : at + DIGEST] for unit in units for at in unit.digests})
    assert len(sets[0] & sets[1]) >= 0.8 * len(sets[0])
    assert bytes(DIGEST) not in sets[0]


def circle(*others: Expr) -> Expr:
    """A struct without a name that points to itself."""
    return ("rec", nameless([("ptr", ("back",)), *others]))


def test_what_reaches_itself_without_a_name_has_no_digest(tmp_path: Path) -> None:
    """Both structs have a pointer to themselves, which is not the same pointer."""
    path = tmp_path / "program"
    units: list[Unit] = [[struct("one", [circle(LONG)])], [struct("two", [circle(INT)])]]
    values, _ = of(units, path)
    for unit in parts(values):
        digests = [values[at : at + DIGEST] for at in unit.digests]
        assert bytes(DIGEST) in digests  # the struct that is part of the cycle, and the pointer
        assert any(digest != bytes(DIGEST) for digest in digests)  # the numbers
    for jobs in (1, 2):
        assert check(path, "default", jobs)


def test_a_wrong_digest_is_an_error_or_harmless() -> None:
    """That of another type, or none."""
    given = exported(ONE, "all")
    assert given is not None
    rng = random.Random(1)
    places = [at for unit in parts(given[0]) for at in (*unit.digests, *unit.prototypes)]
    wanted = read_back(ONE, "all", *given)[0]
    same = 0
    for number in range(150):
        values = bytearray(given[0])
        for _ in range(rng.choice((1, 2, 20))):
            to, other = rng.choice(places), rng.choice(places)
            values[to : to + DIGEST] = bytes(DIGEST) if number % 3 == 0 else values[other : other + DIGEST]
        try:
            data, _ = read_back(ONE, "all", bytes(values), given[1], jobs=1 + number % 2)
        except InputError:
            continue
        same += data == wanted
    assert same >= 50  # those without digests, at least


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_prototype_that_only_a_function_had(jobs: int, tmp_path: Path) -> None:
    """It already has a class when a unit first has it as a type, but its record is read all the same."""
    path = tmp_path / "program"
    nothing: Item = ("function", None)
    for others in ([], [nothing]):
        holder = struct("holder", [("ptr", ("proto", ("void",), ()))])
        path.write_bytes(image([[nothing, *others], [struct("one", [LONG]), holder, nothing], [holder, nothing]]))
        assert check(path, "default", jobs)
        values, _ = exported(path, "default") or (b"", b"")
        first, second, _ = parts(values)
        word = array("I", values[: 4 * (VALUES["head"] + VALUES["function_head"])])
        its_digest = word[VALUES["head"] + VALUES["function_digest"] :][: VALUES["digest"]].tobytes()
        assert its_digest in {values[at : at + DIGEST] for at in second.digests}
        assert first.head[VALUES["functions"]] == 1 + len(others)


KIND = 24  # bits below it in the second word of a record
QUALIFIERS = (9, 10)  # volatile and const: records of one length


def test_a_record_that_is_not_that_of_its_digest_is_not_taken(tmp_path: Path) -> None:
    """If the record is skipped, this does no harm. If all records of a unit are read, it is an error."""
    path = tmp_path / "program"
    refused = 0
    for seed in range(40):
        path.write_bytes(image(with_uses(program(seed), seed)))
        try:
            given = exported(path, "default")
            assert given is not None
            wanted, report = read_back(path, "default", *given)
        except PybtfError:
            continue
        if report.repeats.units_whole == 0:
            continue
        values = bytearray(given[0])
        known: set[bytes] = set()
        for unit in parts(given[0]):
            words = array("I", given[0][unit.records.start : unit.records.stop])
            at = 0
            for digest in unit.digests:
                name = given[0][digest : digest + DIGEST]
                kind = words[at + 1] >> KIND & 31
                if name in known and name != bytes(DIGEST) and kind in QUALIFIERS:
                    words[at + 1] ^= (QUALIFIERS[0] ^ QUALIFIERS[1]) << KIND
                at += length(words[at + 1])
                known.add(name)
            values[unit.records.start : unit.records.stop] = words.tobytes()
        if values == given[0]:
            continue
        try:
            assert read_back(path, "default", bytes(values), given[1])[0] == wanted
        except InputError:
            refused += 1
    assert refused >= 3


EACH = {1: 1, 3: 3, 14: 1, 17: 1}
ELEMENTS = {4: 3, 5: 3, 6: 2, 13: 2, 15: 3, 19: 3}


def length(info: int) -> int:
    """Words of a record."""
    kind = info >> KIND & 31
    return 3 + EACH.get(kind, 0) + ELEMENTS.get(kind, 0) * (info & 0xFFFF)


def test_records_that_would_pass_the_end_of_the_unit(tmp_path: Path) -> None:
    """Short records get the digest of a very long one. The last has no digest, so it would be read far past the end."""
    path = tmp_path / "program"
    many = tuple((f"V{n}", n % 200) for n in range(65535))
    units: list[Unit] = [
        [("enum", "large", 4, many)],
        [struct(f"s{n}", [("ptr", ("name", "struct", f"s{n}", 0))]) for n in range(1300)],
    ]
    values, addresses = of(units, path)
    first, second = parts(values)
    words = array("I", values[first.records.start : first.records.stop])
    at, digest = 0, b""
    for place in first.digests:
        if length(words[at + 1]) > 65535:
            digest = values[place : place + DIGEST]
        at += length(words[at + 1])
    assert digest
    count = len(second.digests)
    damaged = bytearray(values)
    damaged[second.digests.start : second.records.start] = digest * (count - 1) + bytes(DIGEST)
    with pytest.raises(InputError, match="values that are damaged"):
        read_back(path, "default", bytes(damaged), addresses)


def test_names_that_are_none() -> None:
    """Names of a function, a parameter, a member and an enumerator; the enumerator must have a name."""
    given = exported(ONE, "default")
    assert given is not None
    units = parts(given[0])
    head = 4 * VALUES["function_head"]
    called = next(
        at - 4 * VALUES["function_digest"]
        for unit in units
        for at in unit.prototypes
        if array("I", given[0][at - 8 : at])[0] & VALUES["elements"]
    )
    elements: dict[int, int] = {}
    for unit in units:
        words, at = array("I", given[0][unit.records.start : unit.records.stop]), 0
        while at < len(words):
            if words[at + 1] & 0xFFFF:
                elements.setdefault(words[at + 1] >> KIND & 31, unit.records.start + 4 * (at + 3))
            at += length(words[at + 1])
    for place, wrong in (
        (called, 0xFFFFFFFF),
        (called + head, 0xFFFFFFFF),
        (elements[4], 0xFFFFFFFF),
        (elements[6], 0xFFFFFFFF),
        (elements[6], 0),
    ):
        values = bytearray(given[0])
        values[place : place + 4] = wrong.to_bytes(4, "little")
        with pytest.raises(InputError, match="values that are damaged"):
            read_back(ONE, "default", bytes(values), given[1])


def test_strings_that_are_none() -> None:
    """A place within another string; a place after the last; a missing end of the first string, and of the others.
    """
    given = exported(ONE, "default")
    assert given is not None
    unit = parts(given[0])[0]
    at = unit.start + 4 * VALUES["name"]
    place = unit.head[VALUES["name"]]
    wanted = read_back(ONE, "default", *given)[0]
    assert place in range(1, len(unit.first))
    both = len(unit.first) + len(unit.strings)
    for wrong in (place + 1, len(unit.first) + 2, both + 1, 1 << 31, 0xFFFFFFFF):
        values = bytearray(given[0])
        values[at : at + 4] = wrong.to_bytes(4, "little")
        with pytest.raises(InputError, match="values that are damaged"):
            read_back(ONE, "default", bytes(values), given[1])
    values = bytearray(given[0])
    values[at : at + 4] = bytes(4)  # having no name is no fault: only messages use it
    assert read_back(ONE, "default", bytes(values), given[1])[0] == wanted
    for strings in unit.first, unit.strings:
        values = bytearray(given[0])
        values[strings.stop - 1] = ord("x")
        with pytest.raises(InputError, match="values that are damaged"):
            read_back(ONE, "default", bytes(values), given[1])
