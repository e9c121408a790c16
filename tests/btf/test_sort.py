"""`Builder.of` and `Builder.sort` against the kernel's `resolve_btfids`.

`fixtures/sorted.json` records the answers of that program in Linux 7.2 (python -m tools.compare.sort_compare --record).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pybtf import BTF, Builder, InputError
from pybtf.btf.types import Const, Int, Member, Ptr, Struct, Typedef, Unknown
from pybtf.btf.writer import BtfBuilder
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"
CASES: list[dict[str, str]] = json.loads((FIXTURES / "sorted.json").read_text())


def load(case: dict[str, str]) -> BTF:
    def data(hex: str, path: str) -> bytes | None:
        if hex in case:
            return bytes.fromhex(case[hex])
        return (FIXTURES / case[path]).read_bytes() if path in case else None

    own, base = data("btf", "path"), data("base", "base_path")
    assert own is not None
    return BTF.from_bytes(own, BTF.from_bytes(base) if base is not None else None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_sorted_as_the_kernel_sorts(case: dict[str, str]) -> None:
    btf = load(case)
    builder = Builder.of(btf)
    builder.sort()
    made = builder.to_bytes("little" if btf.header.little else "big", layout=bool(btf.header.layout_len))
    assert hashlib.sha256(made).hexdigest() == case["sha256"] if "sha256" in case else made.hex() == case["sorted"]


def test_what_is_recorded_is_of_all_sorts() -> None:
    found = [load(case) for case in CASES]
    assert {btf.header.little for btf in found} == {True, False}
    assert {btf.base is None for btf in found} == {True, False}
    assert {kind for btf in found for kind in btf.count_kinds()} == set(range(1, 20))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_ids_that_come_back(case: dict[str, str]) -> None:
    """Each type is under its new id and refers to new ids. Sorting again moves nothing."""
    btf = load(case)
    builder = Builder.of(btf)
    new = builder.sort()
    made = builder.to_btf()
    assert sorted(new) == list(range(btf.first_id, btf.end_id))
    at = {id: new[id - btf.first_id] if id >= btf.first_id else id for id in range(btf.end_id)}
    for id in range(btf.first_id, btf.end_id):
        assert made.kind_of(at[id]) is btf.kind_of(id)
        assert made.references(at[id]) == [at[each] for each in btf.references(id)]
    again = made.data
    assert list(builder.sort()) == list(range(btf.first_id, btf.end_id))
    assert builder.to_btf().data == again


def test_a_builder_of_a_btf_goes_on_with_it() -> None:
    """Ids, unused strings and a duplicated name stay; what is added uses them."""
    btf = BTF.from_bytes(raw_btf([1, 1 << 24, 4, 32], b"\0int\0spare\0int\0"))
    builder = Builder.of(btf)
    assert builder.to_bytes() == btf.data
    assert builder.add(Typedef("spare", 1)) == 2
    assert builder.add(Const(2)) == 3
    assert builder.add_int("int", 4) == 4
    assert builder.to_btf().strings.data == btf.strings.data
    assert [*builder.to_btf()][:2] == [Int("int", 4, 32), Typedef("spare", 1)]


def test_split_btf_goes_on_with_its_base() -> None:
    base = Builder()
    base.add_int("int", 4)
    below = base.to_btf()
    split = Builder(below)
    split.add_struct("s", 4, [Member("int", 1, 0)])
    of = Builder.of(split.to_btf())
    assert (of.base, of.first_id, of.next_id) == (below, 2, 3)
    of.add_ptr(2)
    assert of.sort().tolist() == [3, 2]
    assert [*of.to_btf()] == [Ptr(3), Struct("s", 4, (Member("int", 1, 0),))]


DAMAGED: list[tuple[str, list[int], str]] = [
    ("reference", [0, 2 << 24, 2], "type 1 .PTR.: type id 2"),
    ("reference of the last", [0, 2 << 24, 1, 0, 10 << 24, 0xFFFFFFFF], "type 2 .CONST.: type id 4294967295"),
    ("name", [9, 2 << 24, 0], "type 1 .PTR.: string offset 0x9"),
]


@pytest.mark.parametrize(("words", "message"), [each[1:] for each in DAMAGED], ids=[each[0] for each in DAMAGED])
def test_damage(words: list[int], message: str) -> None:
    builder = Builder.of(BTF.from_bytes(raw_btf(words, b"\0")))
    before = builder.to_bytes()
    with pytest.raises(InputError, match=message):
        builder.sort()
    assert builder.to_bytes() == before


def test_a_kind_that_is_not_known() -> None:
    unknown: Any = Unknown(25, 0, 0, ())
    builder = BtfBuilder()
    builder.add(unknown)
    made = Builder()
    made._words = builder._words
    made.next_id = builder.next_id
    with pytest.raises(InputError, match="kind"):
        made.sort()


def test_names_in_the_middle_of_each_other() -> None:
    """A thousand names in one text of 100,000 bytes, each a byte shorter than the last, are refused at once."""
    text = b"\0" + b"a" * 100_000 + b"\0"
    words = [word for offset in range(1, 1001) for word in (offset, 8 << 24, 0)]
    with pytest.raises(InputError, match="that begin inside others"):
        Builder.of(BTF.from_bytes(raw_btf(words, text))).sort()
