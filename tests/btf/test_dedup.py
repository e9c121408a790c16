"""De-duplication: the reference's results on generated lists, small lists made by hand, and hostile input."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import pytest

from pybtf.core.dedup.dedup import dedup_btf
from pybtf.errors import InputError
from tests.builders.dedup_lists import (
    ARRAY,
    CONST,
    DATASEC,
    DECL_TAG,
    ENUM,
    ENUM64,
    FUNC_PROTO,
    HAND,
    INT,
    INT32,
    PTR,
    SPLIT,
    STRINGS,
    STRUCT,
    VAR,
    A,
    B,
    C,
    Record,
    pointer,
    raw,
    record,
    struct_of,
    typedef,
)  # fmt: skip
from tests.builders.rawbtf import raw_btf

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dedup"
CASES = json.loads((FIXTURES / "manifest.json").read_text())["cases"]


# What the reference does


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_reference_result(case: dict[str, object]) -> None:
    """Byte for byte the result of libbpf (the manifest says which) on the same input."""
    read = {kind: (FIXTURES / f"{case['name']}{kind}.btf") for kind in ("", ".base", ".expected")}
    base = read[".base"].read_bytes() if case["split"] else None
    assert dedup_btf(read[""].read_bytes(), base) == read[".expected"].read_bytes()


@pytest.mark.parametrize("case", [c for c in CASES if not c["split"]][:10], ids=lambda c: str(c["name"]))
def test_other_byte_order(case: dict[str, object]) -> None:
    """The words of the result do not depend on the byte order, and the order is kept."""
    data = (FIXTURES / f"{case['name']}.btf").read_bytes()
    expected = (FIXTURES / f"{case['name']}.expected.btf").read_bytes()
    assert dedup_btf(swapped(data)) == swapped(expected)


def swapped(data: bytes) -> bytes:
    old, new = ("<", ">") if data[:2] == b"\x9f\xeb" else (">", "<")
    header = struct.unpack(f"{old}HBBIIIII", data[:24])
    end = 24 + header[5]
    words = struct.unpack(f"{old}{header[5] // 4}I", data[24:end])
    return struct.pack(f"{new}HBBIIIII", *header) + struct.pack(f"{new}{len(words)}I", *words) + data[end:]


# Small lists by hand


@pytest.mark.parametrize("case", HAND.values(), ids=HAND.keys())
def test_by_hand(case: tuple[list[Record], list[Record]]) -> None:
    assert dedup_btf(raw(*case[0])) == raw(*case[1])


@pytest.mark.parametrize("case", SPLIT.values(), ids=SPLIT.keys())
def test_split_by_hand(case: tuple[list[Record], list[Record], list[Record]]) -> None:
    """The base, the module's types, and what is left of them."""
    base, own, left = case
    assert dedup_btf(raw(*own, strings=b""), raw(*base)) == raw(*left, strings=b"")


def test_strings_stay_as_they_were() -> None:
    strings = b"\0zz\0a\0unused\0"
    assert dedup_btf(raw(INT32, INT32, strings=strings)) == raw(INT32, strings=strings)


def test_longer_header() -> None:
    """A header with a layout section can be read; the result has the plain header."""
    plain = raw(INT32, INT32)
    longer = raw_btf(plain[24:56], STRINGS, more=struct.pack("<II", 32, 80), gap=bytes(80))
    assert dedup_btf(longer) == raw(INT32)


# Hostile input


def refused(data: bytes, *parts: str, base: bytes | None = None) -> None:
    with pytest.raises(InputError) as info:
        dedup_btf(data, base, name="own.btf", base_name="base.btf")
    for part in parts:
        assert part in str(info.value)


@pytest.mark.parametrize("size", range(24))
def test_short_header(size: int) -> None:
    refused(raw(INT32)[:size], "own.btf")


def test_header_fields() -> None:
    good = raw(INT32, INT32)

    def with_field(at: int, value: int, size: int = 4) -> bytes:
        return good[:at] + value.to_bytes(size, "little") + good[at + size :]

    refused(with_field(0, 0x1234, 2), "magic", "34 12")
    refused(with_field(2, 2, 1), "version 2")
    refused(with_field(3, 1, 1), "flags")
    refused(with_field(4, 20), "header length 20")
    refused(with_field(4, 4000), "header length 4000")
    refused(with_field(8, 0xFFFFFFFC), "type section")
    refused(with_field(8, 2), "type section")
    refused(with_field(12, 30), "type section")
    refused(with_field(12, 4000), "type section")
    refused(with_field(16, 4), "string section")
    refused(with_field(16, 0xFFFFFFFF), "string section")
    refused(with_field(20, 100), "string section")
    refused(good[:-1], "string section")
    refused(with_field(20, 0), "no empty string")
    refused(with_field(20, 2), "strings", "no end")


@pytest.mark.parametrize("cut", range(4, 24, 4))
def test_truncated_record(cut: int) -> None:
    whole = struct_of(A, (A, 0))
    types = struct.pack("<6I", *whole)[:cut]
    refused(raw_btf(types, STRINGS), "type 1", "ends inside", "types+0x0")


@pytest.mark.parametrize("kind", [0, 20, 31])
def test_unknown_kind(kind: int) -> None:
    refused(raw(INT32, record(kind, 0, 0)), "type 2", "unknown kind", "types+0x14")


@pytest.mark.parametrize("bit", [16, 23, 29, 30])
def test_reserved_bits(bit: int) -> None:
    refused(raw((0, PTR << 24 | 1 << bit, 0)), "type 1", "reserved bits")


@pytest.mark.parametrize(
    "bad",
    [
        record(INT, 9, 4, 32),
        struct_of(A, (9, 0)),
        record(ENUM, A, 4, 9, 0, vlen=1),
        record(ENUM64, A, 8, 0xFFFFFFFF, 0, 0, vlen=1),
        record(FUNC_PROTO, 0, 0, 9, 0, vlen=1),
    ],
)
def test_name_beyond_strings(bad: Record) -> None:
    refused(raw(bad), "type 1", "beyond the strings")


@pytest.mark.parametrize(
    "bad",
    [
        pointer(2),
        typedef(A, 0xFFFFFFFF),
        record(ARRAY, 0, 0, 2, 0, 1),
        record(ARRAY, 0, 0, 0, 2, 1),
        struct_of(A, (A, 0), (B, 2)),
        record(FUNC_PROTO, 0, 2),
        record(FUNC_PROTO, 0, 0, A, 2, vlen=1),
        record(VAR, A, 2, 0),
        record(DATASEC, A, 0, 2, 0, 0, vlen=1),
        record(DECL_TAG, A, 2, 0),
    ],
)
def test_reference_beyond_types(bad: Record) -> None:
    refused(raw(bad), "type 1 refers to type", "does not exist")


def test_bad_base() -> None:
    refused(raw(INT32, strings=b""), "base.btf", base=raw(pointer(7)))
    refused(raw(INT32, strings=b""), "base.btf", base=raw(INT32)[:-1])
    refused(raw(pointer(3), strings=b""), "own.btf", "type 2", base=raw(INT32))
    refused(raw(typedef(len(STRINGS), 1), strings=b""), "own.btf", "beyond the strings", base=raw(INT32))


@pytest.mark.parametrize(
    "types",
    [
        [pointer(1)],
        [pointer(2), record(CONST, 0, 1)],
        [INT32, record(ARRAY, 0, 0, 3, 1, 1), pointer(2)],
        [record(FUNC_PROTO, 0, 2), pointer(1)],
    ],
)
def test_cycle_of_references(types: list[Record]) -> None:
    refused(raw(*types), "cycle")


def test_cycle_met_by_comparison() -> None:
    """Two structs that differ only in circular pointers: comparing them must end."""
    unit = [struct_of(A, (A, 2), (B, 2)), pointer(2)]
    other = [struct_of(A, (A, 4), (B, 5)), pointer(4), pointer(5)]
    refused(raw(*unit, *other), "cycle")


def test_kind_that_cannot_be_compared() -> None:
    unit = [struct_of(A, (A, 2)), record(VAR, B, 0, 0), struct_of(A, (A, 4)), record(VAR, B, 0, 0)]
    refused(raw(*unit), "cannot be compared")


def test_long_chains() -> None:
    """Many pointers in a row, then many structs in a row: recursion must not follow them."""
    n = 300_000
    chain = raw_btf([w for i in range(n) for w in pointer(i + 2)] + list(INT32), STRINGS)
    assert dedup_btf(chain) == chain

    def unit(first: int) -> list[Record]:
        structs = [record(STRUCT, A, i, B, first + i + 1, 0, vlen=1) for i in range(n // 10)]
        return [*structs, INT32]

    one = unit(1)
    assert dedup_btf(raw(*one, *unit(1 + len(one)))) == raw(*one)


def test_exponential_comparison_ends() -> None:
    """Copies whose identity takes 40^13 steps to see: refused after a bounded number of steps."""
    width = 40

    def unit(first: int, copies: int) -> list[Record]:
        layers = [
            struct_of(A, *((B, first + 1 + copies * (level + 1) + (k + c) % copies) for k in range(width)))
            for level in range(14)
            for c in range(copies)
        ]
        top = struct_of(C, *((B, first + 1 + c % copies) for c in range(2)))
        return [top, *layers, *([INT32] * copies)]

    one = unit(1, 1)
    refused(raw(*one, *unit(1 + len(one), 2)), "too many steps")


@pytest.mark.parametrize("seed", range(300))
def test_damaged_input(seed: int) -> None:
    """Bytes changed at random: the outcome is a result or an InputError. De-duplicating a result changes nothing."""
    rng = random.Random(seed)
    case = rng.choice(CASES)
    base = (FIXTURES / f"{case['name']}.base.btf").read_bytes() if case["split"] else None
    data = bytearray((FIXTURES / f"{case['name']}.btf").read_bytes())
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data))
        data[at] = rng.choice([0, 1, data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    try:
        result = dedup_btf(bytes(data), base)
    except InputError:
        return
    assert len(result) <= len(data)
    dedup_btf(result, base)
