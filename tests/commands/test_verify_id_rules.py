"""`pybtf verify --btf-ids`: the rules, with `.BTF_ids` written for each."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest

from pybtf.btf import BTF
from pybtf.btf.kinds import Linkage
from pybtf.btf.types import DeclTag, Func, FuncProto, Struct, Type
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from pybtf.verify.id_lists import check_ids, text
from pybtf.verify.judge import LOST, ODD, REJECTED
from tests.builders.elfwriter import SHF_ALLOC, Section, Symbol, elf
from tests.commands.test_verify_objects import btf_of

START = 0x1000
Row = tuple[str, int, int]
"""A symbol without its prefix: the word that it is at, and how many words it has."""


def image(words: Sequence[int], rows: Sequence[Row], symbols: bool = True) -> ElfImage:
    data = struct.pack(f"<{len(words)}I", *words)
    section = Section(".BTF_ids", data, flags=SHF_ALLOC, address=START, align=4)
    table = [Symbol(f"__BTF_ID__{name}", START + 4 * at, 4 * size, "OBJECT", ".BTF_ids", "LOCAL")
             for name, at, size in rows]  # fmt: skip
    return ElfImage("x.elf", elf([section], table if symbols else None).data)


def checked(words: Sequence[int], rows: Sequence[Row], types: Sequence[Type], version: int = 618) -> dict[str, Any]:
    return check_ids(image(words, rows), BTF.from_bytes(btf_of(list(types))), version)


def found(
    words: Sequence[int], rows: Sequence[Row], types: Sequence[Type], version: int = 618
) -> list[tuple[str, str, str, str]]:
    result = checked(words, rows, types, version)
    return [(each["rule"], each["severity"], each["name"], each["text"]) for each in result["findings"]]


def structs(*names: str) -> list[Type]:
    return [Struct(name, 8) for name in names]


def functions(*names: str, tags: Sequence[int] = ()) -> list[Type]:
    """A prototype with the id 1, functions from 2 on, and tags on these."""
    rows: list[Type] = [FuncProto(0, ()), *(Func(name, 1, Linkage.STATIC) for name in names)]
    return rows + [DeclTag("bpf_kfunc", id, -1) for id in tags]


def test_names_that_are_looked_up() -> None:
    """A kind, a name, and a number that makes the symbol unique. Other symbols are not for resolve_btfids."""
    rows = [("struct__a__1", 0, 1), ("struct__a", 1, 1), ("struct__a__x", 2, 1), ("thing__a__3", 3, 1), ("a", 4, 1)]
    assert checked([0] * 5, rows, structs("a"))["ids"] == 1
    assert checked([0] * 5, [*rows, ("struct__a__b__2", 4, 1)], structs("a", "a__b"))["ids"] == 2


@pytest.mark.parametrize(("count", "listed"), [(2, "1, 2"), (4, "1, 2, 3, 4"), (5, "1, 2, 3, 4, ...")])
def test_several_types_of_a_name(count: int, listed: str) -> None:
    ((rule, severity, _, said),) = found([0], [("struct__a__1", 0, 1)], structs(*["a"] * count))
    assert (rule, severity, said) == ("IDS2", LOST, f"{count} types of this name, {listed}: 1 is used")


def test_the_worst_is_told_first() -> None:
    rows = [("struct__twice__1", 1, 1), ("struct__none__2", 0, 1)]
    types = structs("twice", "twice")
    assert [row[:3] for row in found([0, 0], rows, types, version=510)] == [
        ("IDS1", REJECTED, "none"), ("IDS2", LOST, "twice"),
    ]  # fmt: skip
    kfuncs = [("set8__k", 0, 4), ("func__f__1", 2, 2), ("struct__none__2", 4, 1)]
    assert [row[:3] for row in found([1, 1, 2, 0, 0], kfuncs, functions("f"))] == [
        ("IDS1", LOST, "none"), ("IDS3", ODD, "f"),
    ]  # fmt: skip


def test_only_sets_of_pairs_are_of_kfuncs() -> None:
    """Since 6.9, a flag marks them; before, all count as such. A function outside a set needs no tag."""
    types = functions("f")
    for kind, flag, version, odd in (
        ("set8", 1, 618, True), ("set8", 0, 618, False), ("set8", 0, 608, True), ("set", 1, 618, False),
    ):  # fmt: skip
        words = [1, flag, 2, 0] if kind == "set8" else [1, 2]
        rows = [(f"{kind}__k", 0, len(words)), ("func__f__1", 2 if kind == "set8" else 1, 1)]
        assert [row[0] for row in found(words, rows, types, version=version)] == ["IDS3"] * odd
    assert found([2], [("func__f__1", 0, 1)], types) == []
    assert found([1, 1, 2, 0], [("set8__k", 0, 4), ("func__f__1", 2, 2)], functions("f", tags=[2])) == []


def test_what_is_not_there() -> None:
    """Its id is 0. A set of kfuncs that contains it is refused; elsewhere it is void."""
    kfuncs = [("set8__k", 0, 4), ("func__f__1", 2, 2)]
    plain = [("set__k", 0, 2), ("func__f__1", 1, 1)]
    assert found([1, 1, 0, 0], kfuncs, structs("a"))[0][:2] == ("IDS1", REJECTED)
    assert found([1, 1, 0, 0], kfuncs, structs("a"), version=603)[0][:2] == ("IDS1", LOST)
    assert found([1, 0], plain, structs("a"))[0][:2] == ("IDS1", LOST)
    for version, severity in ((511, REJECTED), (512, LOST)):
        assert found([1, 0], plain, structs("a"), version=version)[0][:2] == ("IDS1", severity)


# Files whose ids are there already


def test_a_set_that_is_sound() -> None:
    rows = [("set__s", 0, 3), ("func__f__1", 1, 1), ("func__g__2", 2, 1)]
    assert found([2, 2, 3], rows, functions("f", "g")) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([3, 2, 3], "its count is 3, and it has room for 2"),
        ([1, 2, 3], "its count is 1, and it has room for 2"),
        ([2, 3, 2], "its members are not sorted by id: the kernel does not find them"),
    ],
)
def test_a_set_that_is_not(words: list[int], said: str) -> None:
    rows = [("set__s", 0, 3), ("func__f__1", 1, 1), ("func__g__2", 2, 1)]
    assert found(words, rows, functions("f", "g")) == [("IDS5", REJECTED, "s", said)]
    pairs = [word for each in words for word in (each, 0)]
    rows = [(name, 2 * at, 2 * size) for name, at, size in (("set8__s", 0, 3), *rows[1:])]
    result = checked(pairs, rows, functions("f", "g"))
    assert [(each["kind"], each["text"]) for each in result["findings"]] == [("set8", said)]


def test_an_empty_set() -> None:
    assert found([0, 2], [("set__s", 0, 1), ("func__f__1", 1, 1)], functions("f")) == []
    ((rule, _, name, _),) = found([1, 2], [("set__s", 0, 1), ("func__f__1", 1, 1)], functions("f"))
    assert (rule, name) == ("IDS5", "s")


def test_ids_of_another_link() -> None:
    names = ["f", "g", "h", "i", "j"]
    rows = [("set__s", 0, 6), *((f"func__{name}__{n}", n, 1) for n, name in enumerate(names, 1))]
    (stale,) = found([5, 11, 12, 13, 14, 15], rows, functions(*names))
    assert stale == ("IDS4", REJECTED, "s", "it lacks the ids 2, 3, 4, 5: they come from different links")
    (single,) = found([7], [("func__f__1", 0, 1)], functions("f"))
    assert single == ("IDS4", REJECTED, "f", "the file has id 7, and the type is 2: they come from different links")


# Where the section is


def test_sets_in_any_order() -> None:
    rows = [("set__b", 2, 2), ("func__g__2", 3, 1), ("set__a", 0, 2), ("func__f__1", 1, 1)]
    result = checked([1, 9, 1, 9], rows, functions("f", "g"))
    assert [(each["kind"], each["name"]) for each in result["findings"]] == [("set", "a"), ("set", "b")]
    assert result["sets"] == 2


def test_sets_that_overlap() -> None:
    for end, wrong in ((2, False), (3, True)):
        rows = [("set__b", 2, 2), ("set__a", 0, end)]
        if wrong:
            with pytest.raises(InputError, match="sets that overlap, a and b"):
                checked([0] * 4, rows, structs("a"))
        else:
            assert checked([0] * 4, rows, structs("a"))["sets"] == 2


def test_words_outside_of_the_section() -> None:
    assert checked([0, 0], [("struct__a__1", 1, 1)], structs("a"))["ids"] == 1
    for at in (-1, 2):
        with pytest.raises(InputError, match=r"a symbol of an id at 0x.*4 bytes within 0x1000\.\.0x1008"):
            checked([0, 0], [("struct__a__1", at, 1)], structs("a"))


def test_files_without_what_is_needed() -> None:
    btf = BTF.from_bytes(btf_of(structs("a")))
    with pytest.raises(InputError, match="no symbol table"):
        check_ids(image([0], [], symbols=False), btf, 618)
    with pytest.raises(InputError, match=r"no \.BTF_ids section"):
        check_ids(ElfImage("x.elf", elf([Section(".text", b"")], []).data), btf, 618)


def test_text() -> None:
    rows = [("set__s", 0, 2), ("struct__a__1", 1, 1), ("struct__none__2", 2, 1), ("struct__void__3", 3, 1)]
    result = checked([0, 0, 0, 0], rows, structs("a"))
    assert text("x.elf", result, "6.18") == [
        "x.elf: 3 names in .BTF_ids, 1 set, not yet resolved (kernel 6.18)", f"  {LOST}, rule IDS1:",
        "    struct none: no STRUCT of this name: its id is 0, void; resolve_btfids warns",
        "    struct void: no STRUCT of this name: its id is 0, void; resolve_btfids warns",
    ]  # fmt: skip
    result["findings"][0] |= {"unit": "u.c", "set": "s"}
    result["resolved"] = True
    shown = text("x.elf", result, "6.18")
    assert shown[0].endswith(", resolved (kernel 6.18)")
    assert shown[2].startswith("    struct none of the set s (u.c): no STRUCT")
