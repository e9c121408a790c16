"""Kfuncs: sets, members and flags in `.BTF_ids`."""

from __future__ import annotations

import struct

import pytest

from pybtf.elf.image import ElfImage
from pybtf.elf.kfuncs import mark_kfuncs
from pybtf.elf.symbols import function_table
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, Symbol, bare

BASE = 0x4000
OBJECT = 1


def kfuncs_of(
    words: list[int],
    ids: list[tuple[str, int, int]],
    *,
    little: bool = True,
    kind: int = 1,
    section: int = 2,
    functions: tuple[str, ...] = ("one", "two", "three", "a_b"),
) -> tuple[dict[str, int], list[str]]:
    """The kfuncs of a file with these words in `.BTF_ids` and symbols (name, pair number, size) there."""
    content = struct.pack(f"{'<' if little else '>'}{len(words)}I", *words)
    table = [Symbol(name, 0x100 + i, section=1) for i, name in enumerate(functions)]
    table += [Symbol("__BTF_ID__" + name, BASE + 8 * at, size, OBJECT, section) for name, at, size in ids]
    sections = [Section(".text", flags=6), Section(".BTF_ids", content, type=kind, flags=2, address=BASE)]
    image = ElfImage("t", bare(sections, table, little=little, etype=2))
    ours = function_table(image)
    warnings = mark_kfuncs(image, ours)
    return ours.kfuncs(), warnings


SET = [2, 1, 0, 0x1000, 0, 5]  # two members, the kfunc mark; member `one` with flags 0x1000, `two` with 5
IDS = [("set8__mine", 0, 24), ("func__one__17", 1, 4), ("func__two__18", 2, 4)]


@pytest.mark.parametrize("little", [True, False])
def test_members_of_a_kfunc_set(little: bool) -> None:
    assert kfuncs_of(SET, IDS, little=little) == ({"one": 0x1000, "two": 5}, [])


def test_the_order_of_symbols_does_not_matter_for_sets() -> None:
    assert kfuncs_of(SET, IDS[::-1])[0] == {"one": 0x1000, "two": 5}


@pytest.mark.parametrize(("section", "expected"), [(2, {}), (3, {"one": 0x1000, "two": 5})])
def test_of_two_sections_the_last_counts(section: int, expected: dict[str, int]) -> None:
    content = struct.pack("<6I", *SET)
    table = [Symbol("one", 0x100, section=1), Symbol("two", 0x101, section=1)]
    table += [Symbol("__BTF_ID__" + name, BASE + 8 * at, size, OBJECT, section) for name, at, size in IDS]
    sections = [Section(".text", flags=6), *[Section(".BTF_ids", content, flags=2, address=BASE)] * 2]
    image = ElfImage("t", bare(sections, table, etype=2))
    ours = function_table(image)
    assert mark_kfuncs(image, ours) == []
    assert ours.kfuncs() == expected


def test_a_set_without_the_mark_has_no_kfuncs() -> None:
    assert kfuncs_of([2, 2, *SET[2:]], IDS)[0] == {}


def test_only_members_within_the_set_count() -> None:
    """The range is [start, start + size): the second member of a set that is too short is outside."""
    assert kfuncs_of(SET, [("set8__mine", 0, 16), *IDS[1:]])[0] == {"one": 0x1000}
    assert kfuncs_of(SET, [("set8__mine", 1, 16), *IDS[1:]])[0] == {}
    assert kfuncs_of([0, 0, *SET], [("func__one__17", 0, 8), *[(n, a + 1, s) for n, a, s in IDS]])[0] == {
        "one": 0x1000,
        "two": 5,
    }


def test_sets_that_overlap() -> None:
    sets = [("set8__a", 0, 8), ("set8__b", 0, 24), ("set8__c", 1, 8)]
    assert kfuncs_of([0, 1, 0, 1, 0, 5], [*sets, *IDS[1:]])[0] == {"one": 1, "two": 5}


def test_the_last_id_of_a_function_decides() -> None:
    assert kfuncs_of(SET, [*IDS, ("func__one__19", 2, 4)])[0] == {"one": 5, "two": 5}
    assert kfuncs_of(SET, [("func__one__19", 2, 4), *IDS])[0] == {"one": 0x1000, "two": 5}


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("func__a_b__1", "a_b"),
        ("func__one_1", None),
        ("func__one__1_", None),
        ("func__one", None),
        ("func__one__x", "one"),
        ("func__absent__1", None),
        ("struct__one__1", None),
        ("func_one__1", None),
    ],
)
def test_names_of_members(symbol: str, function: str | None) -> None:
    assert kfuncs_of(SET, [IDS[0], (symbol, 1, 4)])[0] == ({function: 0x1000} if function else {})


def test_symbols_of_other_sections_do_not_count() -> None:
    assert kfuncs_of(SET, IDS, section=1)[0] == {}


def test_bytes_count_even_if_the_section_claims_to_have_none() -> None:
    assert kfuncs_of(SET, IDS, kind=8)[0] == {"one": 0x1000, "two": 5}


def test_a_set_outside_the_section_is_ignored_with_a_warning() -> None:
    found, warnings = kfuncs_of(SET, [*IDS, ("set8__far", 3, 8)])
    assert found == {"one": 0x1000, "two": 5}
    assert warnings == [".BTF_ids: __BTF_ID__set8__far at 0x4018 is outside; ignored"]
    (warning,) = kfuncs_of(SET, [*IDS, ("set8__" + "far" * 1000, 3, 8)])[1]
    assert ("..." in warning, len(warning) < 600, warning[-30:]) == (True, True, " at 0x4018 is outside; ignored")


def test_a_member_outside_the_section_is_an_error() -> None:
    with pytest.raises(
        InputError, match=r"t: \.BTF_ids: __BTF_ID__func__one__2 is at 0x4018; expected 8 bytes"
    ):
        kfuncs_of(SET, [("set8__mine", 0, 100), ("func__one__2", 3, 4)])


def test_a_file_without_ids_has_no_kfuncs() -> None:
    image = ElfImage("t", bare([Section(".text")], [Symbol("one", section=1)]))
    ours = function_table(image)
    assert mark_kfuncs(image, ours) == []
    assert ours.kfuncs() == {}
