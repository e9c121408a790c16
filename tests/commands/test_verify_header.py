"""`pybtf verify`: each rule about the header from both sides, with a header that is otherwise sound."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from pybtf.verify.header import Header, check_header
from pybtf.verify.rules import RULES

MOST = 16 << 20

SOUND = {
    "magic": 0xEB9F, "version": 1, "flags": 0, "length": 24, "type_off": 0, "type_len": 12, "str_off": 12, "str_len": 1,
}  # fmt: skip
LAID_OUT = {"length": 32, "type_off": 4, "str_off": 16, "layout_off": 0, "layout_len": 4, "size": 17, "kernel": 701}


def checked(*, kernel: int = 618, user: bool = True, split: bool = False, little: bool = True, **fields: Any) -> Header:
    """`size` is that of what follows the header: zeros, unless `at` says otherwise."""
    words = SOUND | fields
    size = words.get("size", 13)
    order = "<" if little else ">"
    names = [name for name in ("length", "type_off", "type_len", "str_off", "str_len") if name in words]
    header = struct.pack(f"{order}HBB", *(words[name] for name in ("magic", "version", "flags")))
    header += struct.pack(f"{order}{len(names)}I", *(words[name] for name in names))
    header += struct.pack(f"{order}2I", words.get("layout_off", 0), words.get("layout_len", 0))
    data = bytearray(header[: words["length"]].ljust(words["length"], b"\0") + bytes(size))
    for place, byte in words.get("at", {}).items():
        data[place] = byte
    return check_header(bytes(data[: words.get("cut")]), little, kernel, user, split)


def told(header: Header) -> list[tuple[str, int]]:
    assert all((id, part) == (0, 0) for _, id, part, _ in header.found)  # they are about no type
    return [(RULES[number].key, value) for number, _, _, value in header.found]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"little": False}, []),
        ({"magic": 0x9FEB}, [("MAGIC", 0x9FEB)]),
        ({"version": 0}, [("VERSION", 0)]),
        ({"version": 2}, [("VERSION", 2)]),
        ({"flags": 2}, [("FLAGS", 2)]),
        # how long it is
        ({"cut": 0}, [("HDR_LEN", 0)]),
        ({"cut": 7}, [("HDR_LEN", 7)]),
        ({"cut": 8}, [("HDR_TRUNCATED", 24)]),
        ({"cut": 23}, [("HDR_TRUNCATED", 24)]),
        ({"length": 25, "at": {24: 0}}, []),
        ({"length": 25, "at": {24: 1}, "kernel": 700}, [("HDR_LONG", 24)]),
        ({"length": 40, "at": {31: 1, 35: 1}}, [("HDR_LONG", 31)]),
        ({"length": 40, "at": {39: 1}, "kernel": 701}, [("HDR_LONG", 39)]),
        # where the types are
        ({"type_off": 4, "str_off": 0, "str_len": 4, "size": 16}, [("STRINGS_NOT_LAST", 0)]),
        ({"type_off": 2, "str_off": 14, "size": 15}, [("SECTION_GAP", 2), ("TYPES_ALIGN", 2)]),
        ({"type_off": 2, "str_off": 14, "size": 15, "user": False}, [("SECTION_GAP", 2)]),
        ({"type_off": 4, "str_off": 16, "size": 17}, [("SECTION_GAP", 4)]),
        ({"type_len": 0, "str_off": 0, "size": 1}, [("NO_TYPES", 0)]),
        ({"type_len": 0, "str_off": 0, "size": 1, "user": False}, []),
        # what is between, in and after the sections
        ({"str_off": 13, "size": 14}, [("SECTION_GAP", 1)]),
        ({"str_off": 11, "str_len": 2}, [("SECTION_OVERLAP", 11)]),
        ({"size": 14}, [("SECTION_GAP", 1), ("STRINGS_NOT_LAST", 0)]),
        ({"size": 12}, [("SECTION_LENGTH", 1), ("STRINGS_NOT_LAST", 0)]),
        ({"size": 11}, [("SECTION_LENGTH", 12), ("STRINGS_NOT_LAST", 0)]),
        ({"str_off": 14}, [("SECTION_OFFSET", 14), ("STRINGS_NOT_LAST", 0)]),
        ({"str_off": 13}, [("SECTION_GAP", 1), ("SECTION_LENGTH", 1), ("STRINGS_NOT_LAST", 0)]),
        # of two at one place the shorter comes first, and offsets are compared as signed numbers
        ({"str_off": 0, "str_len": 13}, [("SECTION_OVERLAP", 0)]),
        ({"type_off": 0, "type_len": 0, "str_off": 0, "str_len": 13}, [("NO_TYPES", 0)]),
        ({"type_len": 13, "str_off": 0, "str_len": 0, "split": True}, [("STRINGS_NOT_LAST", 0)]),
        ({"type_off": 1 << 31, "str_off": 0, "str_len": 13}, [("SECTION_OFFSET", 1 << 31)]),
        ({"type_off": (1 << 31) - 4, "str_off": 0, "str_len": 12},
         [("SECTION_OFFSET", (1 << 31) - 4), ("STRINGS_NOT_LAST", 0)]),
        # the strings
        ({"str_len": 0, "size": 12}, [("STRINGS", 0)]),
        ({"str_len": 0, "size": 12, "split": True}, []),
        ({"at": {36: 1}}, [("STRINGS", 1)]),
        ({"at": {36: 1}, "split": True}, [("STRINGS", 1)]),
        ({"str_len": 2, "size": 14, "at": {36: 1}}, [("STRINGS_START", 0)]),
        ({"str_len": 2, "size": 14, "at": {36: 1}, "split": True}, []),
        ({"str_len": 1 << 16, "size": 12 + (1 << 16), "kernel": 503}, []),
        ({"str_len": 1 + (1 << 16), "size": 13 + (1 << 16), "kernel": 503}, [("STRINGS", 1 + (1 << 16))]),
        ({"str_len": 1 + (1 << 16), "size": 13 + (1 << 16), "kernel": 504}, []),
        # the layout
        (LAID_OUT, []),
        (LAID_OUT | {"layout_len": 3, "type_off": 3, "str_off": 15, "size": 16, "user": False}, [("LAYOUT_SMALL", 3)]),
        (LAID_OUT | {"layout_len": 6, "type_off": 6, "str_off": 18, "size": 19, "user": False},
         [("LAYOUT_MULTIPLE", 6)]),
        (LAID_OUT | {"type_off": 0, "str_off": 12, "str_len": 1, "layout_off": 13}, [("LAYOUT_ALIGN", 13)]),
        (LAID_OUT | {"type_off": 0, "str_off": 12, "str_len": 4, "layout_off": 16, "size": 20}, []),
        (LAID_OUT | {"layout_len": 0}, [("SECTION_GAP", 4)]),
        (LAID_OUT | {"layout_len": 0, "layout_off": 99, "type_off": 0, "str_off": 12, "size": 13}, []),
        (LAID_OUT | {"layout_len": 1, "type_off": 1, "str_off": 13, "size": 14, "user": False}, [("LAYOUT_SMALL", 1)]),
        (LAID_OUT | {"length": 31}, [("SECTION_GAP", 4)]),
        # since there may be a layout, the strings need not be last
        (LAID_OUT | {"layout_len": 0, "str_off": 0, "str_len": 4, "size": 16, "kernel": 700},
         [("STRINGS_NOT_LAST", 0)]),
        (LAID_OUT | {"layout_len": 0, "str_off": 0, "str_len": 4, "size": 16}, []),
        (LAID_OUT | {"length": 31, "str_off": 0, "str_len": 4, "size": 16}, [("STRINGS_NOT_LAST", 0)]),
    ],
)  # fmt: skip
def test_a_rule_of_the_header(fields: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    assert told(checked(**fields)) == expected


def test_nothing_behind_the_header() -> None:
    nothing: dict[str, Any] = {"type_len": 0, "str_off": 0, "str_len": 0, "size": 0}
    assert ("NO_DATA", 0) in told(checked(**nothing))
    assert told(checked(**nothing, split=True, user=False)) == []


def test_the_most_that_a_program_may_load() -> None:
    """Kernels build their own BTF in other ways, but its strings have the same limit."""
    for size, large in ((MOST - 24, []), (MOST - 23, [("TOO_LARGE", MOST + 1)])):
        assert told(checked(size=size, type_len=size - 1, str_off=size - 1)) == large
        assert told(checked(size=size, type_len=size - 1, str_off=size - 1, user=False)) == []
    for size, long in ((MOST, []), (MOST + 1, [("STRINGS", MOST + 1)])):
        assert told(checked(size=12 + size, str_len=size, user=False)) == long


@pytest.mark.parametrize(
    ("fields", "types", "strings"),
    [
        ({}, (24, 12), (36, 1)),
        ({"size": 12, "str_len": 0}, (24, 12), (36, 0)),
        ({"size": 11}, None, None),
        ({"size": 12}, (24, 12), None),
        ({"str_off": 5}, (24, 12), (29, 1)),
        ({"type_off": 4, "str_off": 16, "size": 17}, (28, 12), (40, 1)),
        ({"type_off": 4, "size": 15}, None, (36, 1)),
    ],
)
def test_what_is_within_the_data_can_be_looked_at(
    fields: dict[str, Any], types: tuple[int, int] | None, strings: tuple[int, int] | None
) -> None:
    header = checked(**fields)
    assert (header.types, header.strings) == (types, strings)
