"""`pybtf.Builder` against libbpf: what its adders refuse, appending, de-duplication, and distilled bases.

`fixtures/adders.json` and `fixtures/merge` are recorded from libbpf 1.7 (tools/judge/adders_oracle/compare.py --record,
tools/judge/dedup_oracle/merge.py --record).
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf import BTF, Builder, InputError, UsageError
from pybtf.btf.types import Array, Func, FuncProto, Int, Member, Param, Ptr, Struct, Unknown
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.encode.distill_btf import distill_btf
from tests.builders.adders import play
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"
ADDERS: list[dict[str, Any]] = json.loads((FIXTURES / "adders.json").read_text())
MERGES = sorted((FIXTURES / "merge").iterdir())
SPLIT = FIXTURES / "split"
DISTILLED = sorted((SPLIT / "golden").glob("*.distilled_base.btf"))
KERNEL = FIXTURES / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf"


# Adders


@pytest.mark.parametrize("number", range(len(ADDERS)))
def test_adders_take_what_those_of_libbpf_take(number: int) -> None:
    row = ADDERS[number]
    taken, data = play(row["calls"])
    for group, ours, theirs in zip(row["calls"], taken, row["taken"], strict=True):
        assert ours == theirs, group
    assert data.hex() == row["btf"]


def test_there_are_refusals_of_all_kinds() -> None:
    refused = {group[0][0] for row in ADDERS for group, ok in zip(row["calls"], row["taken"], strict=True) if not ok}
    taken = {group[0][0] for row in ADDERS for group, ok in zip(row["calls"], row["taken"], strict=True) if ok}
    assert len(taken) == 21
    assert taken == refused


def test_what_is_refused_leaves_nothing() -> None:
    builder = Builder()
    empty = builder.to_bytes()
    with pytest.raises(UsageError, match="offset of z"):
        builder.add_struct("s", 8, [Member("y", 1, 0), Member("z", 1, 1 << 24, 3)])
    for name in ("\ud800", "a\udc79", "\0"):
        with pytest.raises(UsageError, match="a BTF string"):
            builder.add_int(name, 4)
        with pytest.raises(UsageError, match="a BTF string"):
            builder.string(name)
    assert builder.to_bytes() == empty
    assert len(builder) == 0


def test_a_struct_that_points_to_itself() -> None:
    builder = Builder()
    integer = builder.add_int("int", 4, 1)
    pointer = builder.add_ptr(builder.next_id + 1)
    node = builder.add_struct("node", 16, [Member("next", pointer, 0), Member("value", integer, 64)])
    btf = builder.to_btf()
    assert (integer, pointer, node, len(builder)) == (1, 2, 3, 3)
    assert btf.c_name(pointer) == "struct node *"
    assert btf.offsetof("node", "value") == 8


@pytest.mark.parametrize("order", ["little", "big"])
def test_byte_order(order: Any) -> None:
    builder = Builder()
    builder.add_func("main", builder.add_func_proto(builder.add_int("int", 4, 1), [Param("", 0)]), 1)
    btf = BTF.from_bytes(builder.to_bytes(order))
    assert btf.header.little == (order == "little")
    assert btf.by_name("main") == Func("main", 2, 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="byte order 'middle'"):
        builder.to_bytes("middle")  # type: ignore[arg-type]


# Appending


@pytest.mark.parametrize("path", MERGES, ids=lambda path: path.name)
def test_merged_as_libbpf_merges(path: Path) -> None:
    base = BTF.from_file(path / "base.btf") if (path / "base.btf").exists() else None
    builder = Builder(base)
    files = [BTF.from_file(path / name, base) for name in (path / "order").read_text().split()]
    for btf in files:
        builder.append(btf)
    builder.dedup()
    order: Any = "little" if files[0].header.little else "big"
    assert builder.to_bytes(order) == (path / "merged").read_bytes()


def test_appended_types_are_the_same_under_new_ids() -> None:
    kernel = BTF.from_file(KERNEL)
    builder = Builder()
    builder.add_int("first", 4)
    assert builder.append(kernel) == 2
    assert builder.append(kernel) == 2 + len(kernel)
    both = builder.to_btf()
    for id in range(1, kernel.end_id):
        for shift in (1, 1 + len(kernel)):
            assert both.kind_of(id + shift) is kernel.kind_of(id)
            expected = [ref + shift if ref else 0 for ref in kernel.references(id)]
            assert both.references(id + shift) == expected
            assert both.type(id + shift).name == kernel.type(id).name
    texts = [name for _, name in both.strings]
    assert len(texts) == len(set(texts))


def test_a_whole_is_appended_to_split_btf() -> None:
    """Ids of the base stay the same, and strings of the base are used."""
    base = BTF.from_bytes(written(Int("int", 4, 32), Struct("s", 4, (Member("a", 1, 0),))))
    builder = Builder(base)
    assert builder.append(BTF.from_bytes(written(Struct("s", 4, (Member("b", 2, 0),)), Int("int", 4, 32)))) == 3
    assert [*builder.to_btf()] == [Struct("s", 4, (Member("b", 4, 0),)), Int("int", 4, 32)]
    assert builder.to_btf().strings.data == b"b\0"
    builder.dedup()
    assert [*builder.to_btf()] == [Struct("s", 4, (Member("b", 1, 0),))]


def test_split_btf_of_another_base_is_refused() -> None:
    one, other = (BTF.from_bytes(written(Int(name, 4, 32))) for name in ("int", "long"))
    split = BtfBuilder(one)
    split.add(Ptr(1))
    for builder in (Builder(), Builder(other)):
        with pytest.raises(UsageError, match="of another base"):
            builder.append(BTF.from_bytes(split.tobytes(), one))
    builder = Builder(BTF.from_bytes(one.data))
    assert builder.append(BTF.from_bytes(split.tobytes(), one)) == 2
    with pytest.raises(UsageError, match="split itself"):
        Builder(BTF.from_bytes(split.tobytes(), one))


def written(*types: Any, **options: Any) -> bytes:
    builder = BtfBuilder()
    builder.extend(types)
    return builder.tobytes(**options)


def test_damage_in_what_is_appended() -> None:
    for types, words in (
        ((Ptr(2),), "type 1 .PTR.: type id 2"),
        ((Array(1, 5, 1),), "type id 5"),
        ((Int("x", 4, 32), Struct("s", 4, (Member("a", 3, 0),))), "type 2 .STRUCT.: type id 3"),
    ):
        with pytest.raises(InputError, match=words):
            Builder().append(BTF.from_bytes(written(*types)))
    data = bytearray(written(Int("abc", 4, 32)))
    data[24] = 200
    with pytest.raises(InputError, match="string offset 0xc8"):
        Builder().append(BTF.from_bytes(data))


def test_kinds_that_are_not_known_cannot_be_appended() -> None:
    data = bytearray(written(Int("x", 4, 32), Unknown(20, 0, 0, ()), layout=True))
    layout = len(data) - 3 - 20 * 4
    data[28:32] = (21 * 4).to_bytes(4, "little")
    data[layout + 80 : layout + 80] = bytes(4)
    data[16:20] = (int.from_bytes(data[16:20], "little") + 4).to_bytes(4, "little")
    btf = BTF.from_bytes(data)
    assert len(btf) == 2
    with pytest.raises(InputError, match="type 2 is of a kind that is not known"):
        Builder().append(btf)


def test_names_in_the_middle_of_each_other() -> None:
    """A few of them become strings of their own; 60,000 in one long string would be gigabytes."""
    builder = BtfBuilder()
    at = builder.string(60_000 * "x")
    for n in range(60_000):
        builder.add(Int("", 4, 32))
        builder._words[4 * n] = at + n
    long = BTF.from_bytes(builder.tobytes())
    with pytest.raises(InputError, match="that begin inside others"):
        Builder().append(long)
    short = bytearray(written(Int("abcd", 4, 32), Int("cd", 4, 32)))
    short[24 + 16] = 3
    merged = Builder()
    merged.append(BTF.from_bytes(short))
    assert [each.name for each in merged.to_btf()] == ["abcd", "cd"]


def test_any_damage_is_an_input_error() -> None:
    chance = random.Random(18)
    folder = FIXTURES / "merge" / "4"
    whole = (folder / "0.btf").read_bytes()
    base = BTF.from_file(folder / "base.btf")
    accepted = 0
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
        with contextlib.suppress(InputError):
            builder = Builder(base)
            builder.append(BTF.from_bytes(data, base))
            builder.dedup()
            builder.to_btf()
            builder.distill()
            accepted += 1
    assert 50 < accepted < 450


# Distilled bases


def test_there_are_distilled_bases() -> None:
    assert len(DISTILLED) > 8


@pytest.mark.parametrize("path", DISTILLED, ids=lambda path: path.name.removesuffix(".distilled_base.btf"))
def test_distilled_as_pahole_does(path: Path) -> None:
    target = path.name.split(".")[1]
    base = BTF.from_file(SPLIT / "golden" / f"kernel.{target}.btf")
    split = BTF.from_file(path.with_name(path.name.replace("distilled_base", "split")), base)
    builder = Builder(base)
    builder.append(split)
    order: Any = "little" if split.header.little else "big"
    data, under = builder.distill(order)
    assert under == path.read_bytes()
    assert data == path.with_name(path.name.replace("distilled_base", "distilled")).read_bytes()


def test_nothing_to_distill() -> None:
    with pytest.raises(UsageError, match="no base"):
        Builder().distill()
    function = written(Func("f", 2), Ptr(0))
    builder = Builder(BTF.from_bytes(function))
    builder.add_decl_tag("tag", 1)
    with pytest.raises(InputError, match="type 1 of the base"):
        builder.distill()


def test_names_that_are_tails_of_one_string_are_not_distilled() -> None:
    """Each would be written: 640 MB from 256 kB. In a base, only the types that are referred to count."""
    count = 8000
    words = [word for number in range(count) for word in (1 + 20 * number, 8 << 24, 0)]
    tails = raw_btf(words, b"\0" + b"a" * (20 * count) + b"\0")
    empty = BTF.from_bytes(raw_btf([]))
    data = raw_btf(words, b"a" * (20 * count + 1) + b"\0")
    with pytest.raises(InputError, match="names that begin inside others"):
        distill_btf(data, empty.data)
    references = [word for number in range(count) for word in (0, 2 << 24, 1 + number)]
    with pytest.raises(InputError, match="names that begin inside others"):
        distill_btf(raw_btf(references), tails)
    assert distill_btf(raw_btf(references[:3]), tails)


def test_nothing_has_a_name_to_be_found_by() -> None:
    """Everything that is needed from the base moves into the split BTF; libbpf loses it."""
    base = BTF.from_bytes(written(Ptr(0), FuncProto(0, (Param("p", 1),))))
    builder = Builder(base)
    builder.add_func("f", 2)
    data, under = builder.distill()
    assert under == raw_btf([])
    moved = BTF.from_bytes(written(Func("f", 3), Ptr(0), FuncProto(0, (Param("p", 2),))))
    assert list(BTF.from_bytes(data, BTF.from_bytes(under))) == list(moved)


@pytest.mark.parametrize("kind", [6, 19])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 16])
def test_enums_of_odd_sizes_are_not_distilled(kind: int, size: int) -> None:
    """libbpf makes no enum of a size that enums cannot have. clang for BPF gives such a size to a declared one."""
    base = BTF.from_bytes(raw_btf([1, kind << 24, size], b"\0e\0"))
    builder = Builder(base)
    builder.add_ptr(1)
    if size in (1, 2, 4, 8):
        assert builder.distill()[1] == raw_btf([1, 6 << 24, size], b"\0e\0")
    else:
        with pytest.raises(InputError, match="type 1 of the base is referred to"):
            builder.distill()


# pybtf dedup

Run = Callable[..., str]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def started(*arguments: object, status: int = 0) -> str:
        found = main(["dedup", *map(str, arguments)])
        _, err = capfd.readouterr()
        assert found == status, err
        return err

    return started


@pytest.mark.parametrize("path", MERGES, ids=lambda path: path.name)
def test_dedup_command(path: Path, run: Run, tmp_path: Path) -> None:
    base = ["--base", path / "base.btf"] if (path / "base.btf").exists() else []
    names = (path / "order").read_text().split()
    run(*base, *(path / name for name in names), "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (path / "merged").read_bytes()


def test_dedup_of_one_file_changes_nothing(run: Run, tmp_path: Path) -> None:
    """The types are de-duplicated already. Only strings that nothing uses are dropped."""
    run(KERNEL, "-o", tmp_path / "out")
    assert [*BTF.from_file(tmp_path / "out")] == [*BTF.from_file(KERNEL)]


def test_dedup_mistakes(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "missing argument 'FILE'" in run(status=2)
    assert "missing option '-o OUT'" in run(KERNEL, status=2)
    assert "standard input can be read only once" in run("-", "-", "-o", out, status=2)
    split = next(path for path in MERGES if (path / "base.btf").exists())
    assert "to be told the base" in run(split / "0.btf", "-o", out, status=1)
    assert "is the input" in run(KERNEL, "--base", split / "base.btf", "-o", split / "base.btf", status=2)
    assert not out.exists()


def test_public_name() -> None:
    assert pybtf.Builder is Builder
