"""Locations of parameters and variables, compared with what the reference was seen to do.

The reference does not say which register it found, so it was asked indirectly: a function compiled by GCC with one
`long` parameter, which belongs in register 5 of x86-64, is dropped if and only if the location names another register.
The tables below are results of pahole 1.32 (elfutils 0.196) on assembled DWARF of that kind.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.probe.rules_probe import probe_address, probe_location

R4, R5 = b"\x54", b"\x55"
ENTRY_R4 = b"\xa3\x01\x54"


def dropped(result: tuple[int | None, bool, bool, int, int]) -> bool:
    """Whether a function with this one parameter would be dropped."""
    return result[0] is not None and result[0] != 5


def entry(expr: bytes, place: int = 0) -> bytes:
    """An entry of .debug_loclists."""
    return bytes([4, place, place + 1, len(expr)]) + expr


def old_entry(expr: bytes, place: int = 0) -> bytes:
    """An entry of .debug_loc."""
    return struct.pack("<QQH", place, place + 1, len(expr)) + expr


def ranges(text: str) -> set[int]:
    pairs = [part.split("-") for part in text.split()]
    return {op for pair in pairs for op in range(int(pair[0], 16), int(pair[-1], 16) + 1)}


# Observed: which operations are valid if at least this many operand bytes follow. DW_OP_addr and operands that
# are LEB128 may be cut off by the end of the expression.
NEEDS = {
    0: ranges("03 06 10-14 16-27 29-2e 30-54 56-91 93 96-97 9b-9c 9f a1-a2 a8-a9 e0 f0 f7 f9 fb-fc"),
    1: ranges("08-09 15 94-95"),
    2: ranges("0a-0b 28 2f 92 98 9d a5-a7 f5-f6"),
    4: ranges("0c-0d 99 fa"),
    8: ranges("0e-0f"),
    50: ranges("9e a3-a4 f3-f4"),  # a length of 0x31 = 49, and that many bytes
}
# 0x55 is DW_OP_reg5, after which a second register is ignored. 9a, a0, f2 and fd are not valid here because
# 0x31313131 is not an offset in .debug_info. No other operation is valid.


@pytest.mark.parametrize("version", [4, 5])
def test_operands_of_every_operation(version: int) -> None:
    known = {op: needed for needed, ops in NEEDS.items() for op in ops}
    for op in set(range(256)) - {0x55}:
        for count in (*range(4, 9), 60):
            expr = bytes([op]) + b"\x31" * count
            made = entry if version >= 5 else old_entry
            end = b"\0" if version >= 5 else bytes(16)
            section = made(expr) + made(ENTRY_R4, 1) + end
            loc, loclists = (b"", section) if version >= 5 else (section, b"")
            result = probe_location("list", 0, version=version, info=bytes(4096), loc=loc, loclists=loclists)
            assert dropped(result) == (op in known and count >= known[op]), (hex(op), count)


@pytest.mark.parametrize(("op", "needed"), [(op, n) for n, ops in NEEDS.items() if n < 5 for op in sorted(ops)])
def test_fewest_operand_bytes(op: int, needed: int) -> None:
    for count in range(needed + 1):
        section = entry(bytes([op]) + b"\x31" * count) + entry(ENTRY_R4, 1) + b"\0"
        assert dropped(probe_location("list", 0, loclists=section)) == (count >= needed), count


@pytest.mark.parametrize("op", [0x9A, 0xFD])
def test_references_must_lie_in_debug_info(op: int) -> None:
    expr = bytes([op]) + struct.pack("<I", 100)
    section = entry(expr) + entry(ENTRY_R4) + b"\0"
    assert dropped(probe_location("list", 0, loclists=section, info=bytes(100)))
    assert not dropped(probe_location("list", 0, loclists=section, info=bytes(99)))


WORD = (8).to_bytes(8, "little")
# Entries of .debug_loclists; observed: dropped with a parameter of 8, 16, 24 bytes? .debug_addr has 2 addresses.
LISTS: list[tuple[bytes, str]] = [
    (entry(R4), "yyy"),
    (entry(b"") + entry(R4), "nnn"),
    (b"\x06" + WORD + entry(R4), "yyy"),
    (b"\x01\x00" + entry(R4), "yyy"),
    (b"\x01\x01" + entry(R4), "yyy"),
    (b"\x01\x02" + entry(R4), "nnn"),
    (b"\x02\x00\x01\x01" + R4, "yyy"),
    (b"\x02\x00\x09\x01" + R4, "nnn"),
    (b"\x03\x01\x04\x01" + R4, "yyy"),
    (b"\x03\x21\x04\x01" + R4, "nnn"),
    (b"\x05\x01" + R4, "yyy"),
    (b"\x05\x01\x31" + entry(R4), "nnn"),
    (b"\x07" + WORD + WORD + b"\x01" + R4, "yyy"),
    (b"\x08" + WORD + b"\x04\x01" + R4, "yyy"),
    (b"\x09\x01\x02" + entry(R4), "nnn"),
    (b"\x0a\x01\x02" + entry(R4), "nnn"),
    (bytes([4, 0, 0, 1]) + R4, "yyy"),
    (bytes([4, 9, 2, 1]) + R4, "yyy"),
    (entry(b"\x31") + entry(b"\xff") + entry(ENTRY_R4), "nnn"),
    (entry(b"\x31") + entry(b"\x32") + entry(ENTRY_R4), "yyy"),
    (entry(b"\x31") + entry(b"\x32") + entry(b"\xf3\x01\x54\x9f"), "yyy"),
    (entry(b"\x31") + entry(b"\x32") + entry(b"\xf3\x01\x54\x31"), "nnn"),
    (entry(b"\xf3\x02\x54\x54"), "nnn"),
    (entry(b"\xf3\x02\x74\x00"), "nnn"),
    (entry(b"\xf3\x02\x90\x04"), "nnn"),
    (entry(b"\x90\x04"), "nnn"),
    (entry(b"\x74\x00"), "nnn"),
    (entry(b"\x74\x05\x9f"), "yyy"),
    (entry(b"\x92\x04\x00\x9f"), "nnn"),
    (entry(b"\x74\x05\x31\x22\x9f"), "ynn"),
    (entry(b"\x74\x05\x9f\x93\x04"), "ynn"),
    (entry(b"\x74\x05\x31\x22"), "nnn"),
    (entry(b"\x54\x93\x04"), "yyy"),
    (entry(b"\x31\x54\x93\x04"), "nnn"),
    (entry(b"\x96\x54\x93\x04"), "nyy"),
    (entry(b"\x54\x9f"), "yyy"),
    (entry(R5) + entry(ENTRY_R4), "nnn"),
    (entry(b"\xa3\x01\x54\x31\x22\x9f"), "nnn"),
    (entry(b"\x93\x04\x54"), "nyy"),
    # LEB128 of ten bytes; of eleven, whose last byte is an operation or is not; endless
    (entry(b"\x10" + b"\x80" * 9 + b"\x00") + entry(ENTRY_R4), "yyy"),
    (entry(b"\x10" + b"\x80" * 10 + b"\x96") + entry(ENTRY_R4), "yyy"),
    (entry(b"\x10" + b"\x80" * 10 + b"\x00") + entry(ENTRY_R4), "nnn"),
    (entry(b"\x10" + b"\xff" * 11) + entry(ENTRY_R4), "nnn"),
]


@pytest.mark.parametrize(("entries", "observed"), LISTS)
def test_location_lists(entries: bytes, observed: str) -> None:
    results = [
        probe_location("list", 0, size=size, loclists=entries + b"\0", addr=bytes(24), addr_base=8)
        for size in (8, 16, 24)
    ]
    assert "".join("ny"[dropped(result)] for result in results) == observed


@pytest.mark.parametrize(
    ("expr", "size", "expected"),
    [
        (R5, 8, (5, False, False, 0, 0)),
        (b"\x91\x00", 8, (None, False, True, 0, 0)),
        (b"\x35\x9f", 8, (None, True, False, 0, 0)),
        (b"\x08\x05", 8, (None, False, False, 0, 0)),
        (b"\x55\x93\x08\x54\x93\x08", 16, (5, False, False, 1, 1)),
        (b"\x93\x08\x54\x93\x04", 16, (4, False, False, 0, 1)),
        (b"\x55\x93\x04\x93\x04\x54\x93\x04\x93\x04", 16, (5, False, False, 1 | 1 << 4, 1 | 1 << 4)),
        (b"\x93\xff\x01\x54\x93\x04", 16, (4, False, False, 0, 0)),
    ],
)
def test_what_a_single_expression_tells(expr: bytes, size: int, expected: tuple[object, ...]) -> None:
    # Seen in the prototypes that the reference writes with true_signature; see test_rules_signature.py.
    assert probe_location("block", expr, size=size) == expected


def test_one_word_machines_have_no_pieces() -> None:
    assert probe_location("block", b"\x55\x93\x08\x54\x93\x08", size=16, one_word=True) == (
        5,
        False,
        False,
        0,
        0,
    )


def test_old_lists() -> None:
    base = struct.pack("<QQ", 2**64 - 1, 0x1000)
    section = b"\xff" * 7 + base + old_entry(R4) + bytes(16)
    assert probe_location("list", 7, version=4, loc=section)[0] == 4
    assert probe_location("list", 7, version=4, loclists=section)[0] is None
    small = struct.pack("<II", 2**32 - 1, 0x1000) + struct.pack("<IIH", 0, 4, 1) + R4 + bytes(8)
    assert probe_location("list", 0, version=3, address_size=4, loc=small)[0] == 4
    swapped = struct.pack(">QQH", 0, 4, 1) + R4 + bytes(16)
    assert probe_location("list", 0, version=4, loc=swapped, big_endian=True)[0] == 4


def test_indexed_lists() -> None:
    section = bytes(12) + struct.pack("<II", 8, 14) + entry(R5) + b"\0" + entry(R4) + b"\0"
    assert probe_location("listx", 0, loclists=section, loclists_base=12)[0] == 5
    assert probe_location("listx", 1, loclists=section, loclists_base=12)[0] == 4
    assert probe_location("listx", 2**62, loclists=section, loclists_base=12)[0] is None
    assert probe_location("listx", 0, loclists=section, loclists_base=2**63)[0] is None


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_list_that_runs_out_of_its_section(cut: int) -> None:
    section = entry(b"\x31") + entry(ENTRY_R4)
    assert probe_location("list", 0, loclists=section)[0] == 4
    assert probe_location("list", 0, loclists=section[:-cut])[0] is None
    assert probe_location("list", len(section), loclists=section)[0] is None
    assert probe_location("list", 2**64 - 1, loclists=section)[0] is None


@pytest.mark.parametrize(
    ("expr", "address"),
    [
        (b"\x03" + struct.pack("<Q", 0x1234), 0x1234),
        (b"\x03" + struct.pack("<Q", 0x1234) + b"\x23\x10", 0x1244),
        (b"\x03" + struct.pack("<Q", 0x1234) + b"\x23\x10\x96", 0x1234),
        (b"\x03" + struct.pack("<Q", 0x1234) + b"\x96\x23\x10", 0x1234),
        (b"\xa1\x01", 0x22),
        (b"\xa1\x00\x23\x01", 0x12),
        (b"\xa1\x00\x23\x81", 0x10),  # a cut-off LEB128 is -1
        (b"\xfb\x00", None),
        (b"\xa1\x02", -1),  # there are two addresses
        (b"\x0e" + bytes(8) + b"\xe0", None),
        (b"\x03" + bytes(7), None),
        (b"\x55", None),
        (b"", None),
        (b"\x03" + struct.pack("<Q", 0x1234) + b"\xff", None),
    ],
)
def test_addresses_of_variables(expr: bytes, address: int | None) -> None:
    assert probe_address(expr, addr=bytes(8) + struct.pack("<QQ", 0x11, 0x22), addr_base=8) == address


@pytest.mark.parametrize("size", [2, 4, 8])
def test_addresses_are_as_wide_as_the_unit_says(size: int) -> None:
    """Addresses of AVR and MSP430 have 2 bytes. clang writes tables of them, too."""

    def address(value: int) -> bytes:
        return value.to_bytes(size, "little")

    table = bytes(8) + address(0x11) + address(0x22)
    for expr, found in ((b"\xa1\x01", 0x22), (b"\xa1\x02", -1)):
        assert probe_address(expr, address_size=size, addr=table, addr_base=8) == found
    old = address(256**size - 1) + address(9) + address(0) + address(1) + b"\x01\x00" + R4
    assert dropped(probe_location("list", 0, version=4, address_size=size, loc=old))
    new = b"\x01\x01" + entry(R4)
    assert dropped(probe_location("list", 0, address_size=size, loclists=new, addr=table, addr_base=8))


@given(st.binary(max_size=60), st.integers(2, 5), st.sampled_from((2, 4, 8)), st.integers(0, 70))
def test_any_bytes_are_survived(data: bytes, version: int, address_size: int, size: int) -> None:
    for kind, value in (("block", data), ("list", size % (len(data) + 1)), ("listx", size)):
        result = probe_location(
            kind,
            value,
            size=size,
            version=version,
            address_size=address_size,
            loc=data,
            loclists=data,
            addr=data,
        )
        assert result[0] is None or 0 <= result[0] < 32
    probe_address(data, address_size=address_size, addr=data)
