"""Reading BTF assembled word by word, without the builder: every kind and byte order, and every way to be wrong."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.ext import read_object
from pybtf.btf.kinds import IntEncoding, Kind, LayoutEntry, Linkage
from pybtf.btf.reader import BTF
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Restrict,
    SectionVar,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Union,
    Unknown,
    Var,
    Void,
    Volatile,
)
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, bare
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT

ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"

STRINGS = b"\0int\0s\0a\0b\0"
INT, S, A, B = 1, 5, 7, 9
FLAG = 1 << 31


def info(kind: int, vlen: int = 0, flag: bool = False) -> int:
    return kind << 24 | vlen | (FLAG if flag else 0)


def btf(
    words: Sequence[int],
    strings: bytes = STRINGS,
    order: str = "<",
    *,
    hdr_len: int = 24,
    layout: bytes | None = None,
    **changed: int,
) -> bytes:
    """BTF from the words of its records; `changed` replaces header fields."""
    more = b"" if layout is None else struct.pack(order + "II", 4 * len(words), len(layout))
    more = more.ljust(hdr_len - 24, b"\x5a")
    return raw_btf(words, strings, order=order, more=more, gap=layout or b"", header={"hdr_len": hdr_len, **changed})


INT_RECORD = [INT, info(1), 4, 1 << 24 | 32]

RECORDS: list[tuple[list[int], Type]] = [
    (INT_RECORD, Int("int", 4, 32, IntEncoding.SIGNED)),
    ([0, info(2), 1], Ptr(1)),
    ([0, info(3), 0, 1, 1, 7], Array(1, 1, 7)),
    ([S, info(4, 2), 8, A, 1, 0, B, 2, 32], Struct("s", 8, (Member("a", 1, 0), Member("b", 2, 32)))),
    (
        [S, info(4, 2, True), 8, A, 1, 3 << 24 | 5, B, 2, 64],
        Struct("s", 8, (Member("a", 1, 5, 3), Member("b", 2, 64)), kind_flag=True),
    ),
    ([0, info(5, 1), 4, A, 1, 0], Union("", 4, (Member("a", 1, 0),))),
    ([S, info(6, 1), 4, A, 0xFFFFFFFF], Enum("s", 4, (Enumerator("a", 0xFFFFFFFF),))),
    ([S, info(6, 1, True), 4, A, 0xFFFFFFFF], Enum("s", 4, (Enumerator("a", -1),), kind_flag=True)),
    ([S, info(7), 0], Fwd("s")),
    ([S, info(7, 0, True), 0], Fwd("s", kind_flag=True)),
    ([A, info(8), 1], Typedef("a", 1)),
    ([0, info(9), 1], Volatile(1)),
    ([0, info(10), 0], Const(0)),
    ([0, info(11), 2], Restrict(2)),
    ([A, info(12, 1), 14], Func("a", 14, Linkage.GLOBAL)),
    ([0, info(13, 2), 1, A, 1, 0, 0], FuncProto(1, (Param("a", 1), Param("", 0)))),
    ([B, info(14), 1, 2], Var("b", 1, Linkage.EXTERN)),
    ([S, info(15, 1), 16, 17, 8, 4], Datasec("s", 16, (SectionVar(17, 8, 4),))),
    ([A, info(16), 8], Float("a", 8)),
    ([A, info(17), 4, 0xFFFFFFFF], DeclTag("a", 4, -1)),
    ([A, info(17), 4, 1], DeclTag("a", 4, 1)),
    ([A, info(18, 0, True), 1], TypeTag("a", 1, kind_flag=True)),
    (
        [S, info(19, 2), 8, A, 1, 2, B, 0xFFFFFFFF, 0xFFFFFFFF],
        Enum64("s", 8, (Enumerator("a", 1 | 2 << 32), Enumerator("b", (1 << 64) - 1))),
    ),
    (
        [S, info(19, 1, True), 8, A, 0xFFFFFFFE, 0xFFFFFFFF],
        Enum64("s", 8, (Enumerator("a", -2),), kind_flag=True),
    ),
]
ALL = [word for words, _ in RECORDS for word in words]


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_kind(order: str) -> None:
    read = BTF.from_bytes(btf(ALL, order=order))
    assert list(read) == [type for _, type in RECORDS]
    assert [type.id for type in read] == list(range(1, len(RECORDS) + 1))
    assert [type.kind for type in read] == [type.kind for _, type in RECORDS]
    assert {type.kind for type in read} == set(Kind) - {Kind.VOID}
    assert read.header.little == (order == "<")
    assert len(read) == len(RECORDS)
    assert read.type(0) == Void()


ROWS = {
    Kind.STRUCT: "members",
    Kind.UNION: "members",
    Kind.ENUM: "values",
    Kind.ENUM64: "values",
    Kind.FUNC_PROTO: "params",
    Kind.DATASEC: "variables",
}


def test_rows_are_tuples_as_python_makes_them() -> None:
    """They are made without running Python, but equal ones have the same hash, and CPython has only one empty tuple."""
    rows = [getattr(type, ROWS[type.kind]) for type in BTF.from_bytes(btf(ALL)) if type.kind in ROWS]
    assert len(rows) >= len(ROWS)
    for row in rows:
        assert hash(row) == hash((*row,))
        for one in row:
            assert hash(one) == hash(tuple(one)) == hash(type(one)(*one))
    empty = [word for kind in ROWS for word in (0, info(kind), 0)]
    for type_ in BTF.from_bytes(btf(empty)):
        assert getattr(type_, ROWS[type_.kind]) is ()  # noqa: F632


def test_properties() -> None:
    read = BTF.from_bytes(btf(ALL))
    by_kind = {type.kind: type for type in read}
    assert by_kind[Kind.INT] == read.type(1)
    proto, fwd, enum = by_kind[Kind.FUNC_PROTO], by_kind[Kind.FWD], by_kind[Kind.ENUM]
    assert isinstance(proto, FuncProto)
    assert proto.variadic
    assert not FuncProto(0).variadic
    assert isinstance(fwd, Fwd)
    assert fwd.is_union
    assert isinstance(enum, Enum)
    assert enum.signed
    assert str(read.type(4)) == "[4] STRUCT 's'"
    assert repr(read.type(2)) == "Ptr(name='', kind_flag=False, id=2, type=1)"
    pointer: Type = Ptr(1)
    assert pointer != Const(1)


def test_strings() -> None:
    strings = BTF.from_bytes(btf([])).strings
    assert list(strings) == [(0, ""), (1, "int"), (5, "s"), (7, "a"), (9, "b")]
    assert len(strings) == 5
    assert strings[2] == "nt"
    with pytest.raises(IndexError, match="0xb is not below 0xb"):
        strings[11]
    odd = BTF.from_bytes(btf([], b"\0\xff\xc3\xa4\0")).strings
    assert odd[1].encode("utf-8", "surrogateescape") == b"\xff\xc3\xa4"


def test_lookup() -> None:
    read = BTF.from_bytes(btf(ALL))
    assert read.by_name("s") == read.type(4)
    assert read.by_name("s", Kind.FWD) == read.type(9)
    assert read.by_name("nothing") is None
    assert read.by_name("") is None
    assert [type.id for type in read.all_by_name("s")] == [4, 5, 7, 8, 9, 10, 18, 23, 24]
    assert read.kind_of(15) is Kind.FUNC
    assert read.count_kinds()[Kind.STRUCT] == 2
    assert sum(read.count_kinds().values()) == len(RECORDS)
    assert read.references(4) == [1, 2]
    assert read.references(3) == [1, 1]
    assert read.references(16) == [1, 1, 0]
    assert read.references(18) == [17]
    assert read.references(15) == [14]
    assert read.references(1) == []
    for id in (-1, len(RECORDS) + 1):
        with pytest.raises(IndexError, match="there is no type"):
            read.type(id)
    for id in (-1, 0, len(RECORDS) + 1):
        for text in (read.to_c, read.to_json):
            with pytest.raises(pybtf.NoSuchTypeError, match=f"no type {id}; ids go from 1 to {len(RECORDS)}"):
                text([1, id])
    assert read.by_name("\ud800") is None
    assert read.by_name("\udcff") is None


@pytest.mark.parametrize("text", [str, os.fsencode])
def test_paths(tmp_path: Path, text: Callable[[str], Any]) -> None:
    """Paths may be text or bytes. A path with a null byte is refused."""
    good, bad = text(str(tmp_path / "x.btf")), text(str(tmp_path / "x\0y"))
    encoded = pybtf.encode(text(str(ELF)))
    encoded.write(good)
    base = pybtf.Base.from_file(good)
    assert BTF.from_file(good).data == encoded.data == base.btf.data
    assert not pybtf.diff(good, good, base=None).changes
    for call in (
        BTF.from_file, pybtf.Base.from_file, pybtf.encode, read_object, encoded.embed, encoded.write,
        lambda path: pybtf.diff(path, good), lambda path: pybtf.diff(good, good, base=path),
        lambda path: pybtf.encode(ELF, base=path), lambda path: next(pybtf.encode_many([path])).get(),
        lambda path: pybtf.why(path, "main"),
    ):  # fmt: skip
        with pytest.raises(pybtf.PybtfError, match="a null byte in its name"):
            call(bad)


@pytest.mark.parametrize("order", ["<", ">"])
def test_split(order: str) -> None:
    base = BTF.from_bytes(btf(INT_RECORD, order=order))
    own = struct.calcsize("11x")
    split = BTF.from_bytes(btf([own, info(4, 1), 4, INT, 1, 0, 0, info(2), 2], b"new\0", order), base)
    assert split.first_id == 2
    assert split.end_id == 4
    assert len(split) == 2
    assert list(split) == [Struct("new", 4, (Member("int", 1, 0),)), Ptr(2)]
    assert split.type(1) == base.type(1)
    assert split.by_name("int") == base.type(1)
    assert split.by_name("new") == split.type(2)
    assert split.strings[1] == "int"
    assert split.kind_of(1) is Kind.INT
    assert split.references(2) == [1]
    assert split.references(1) == []
    empty = BTF.from_bytes(btf([], b"", order), base)
    assert len(empty) == 0
    assert empty
    assert empty.type(1) == base.type(1)


def layout(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<BBH", *entry, 0) for entry in entries)


NOTHING = (0, 0)
KNOWN_LAYOUT = [
    NOTHING, (4, 0), NOTHING, (12, 0), (0, 12), (0, 12), (0, 8), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
    NOTHING, (0, 8), (4, 0), (0, 12), NOTHING, (4, 0), NOTHING, (0, 12),
]  # fmt: skip
"""Bytes once and per element of the kinds 0 to 19, as the kernel's documentation lists the records."""


def test_layout_section() -> None:
    read = BTF.from_bytes(btf(ALL, hdr_len=32, layout=layout(*KNOWN_LAYOUT)))
    assert list(read) == [type for _, type in RECORDS]
    assert read.layout[3] == LayoutEntry(12, 0, 0)
    assert len(read.layout) == 20
    assert BTF.from_bytes(btf(ALL)).layout == ()


def test_layout_describes_an_unknown_kind() -> None:
    words = [A, info(20, 2, True), 9, 100, 1, 2, 3, 4, *INT_RECORD]
    read = BTF.from_bytes(btf(words, hdr_len=32, layout=layout(*KNOWN_LAYOUT, (4, 8))))
    assert read.type(1) == Unknown(20, 2, 9, (100, 1, 2, 3, 4), name="a", kind_flag=True)
    assert read.type(2) == Int("int", 4, 32, IntEncoding.SIGNED)
    assert read.references(1) == []
    assert str(read.type(1)) == "[1] kind 20 'a'"


@pytest.mark.parametrize("hdr_len", [24, 28, 32, 36, 64])
def test_longer_headers(hdr_len: int) -> None:
    empty = None if hdr_len < 32 else b""
    assert len(BTF.from_bytes(btf(ALL, hdr_len=hdr_len, layout=empty))) == len(RECORDS)


def test_gaps_and_order_of_sections() -> None:
    data = btf(INT_RECORD, str_off=0, type_off=12)
    moved = data[:24] + STRINGS + b"\0" + data[24:40]
    assert list(BTF.from_bytes(moved + b"trailing")) == [RECORDS[0][1]]


def test_sizes() -> None:
    words = [
        *INT_RECORD,                               # 1 int
        0, info(2), 0,                             # 2 void *
        0, info(3), 0, 2, 1, 3,                    # 3 void *[3]
        0, info(3), 0, 3, 1, 5,                    # 4 void *[5][3]
        A, info(8), 4,                             # 5 typedef
        0, info(10), 5,                            # 6 const
        S, info(4), 24,                            # 7 struct of 24
        B, info(14), 7, 0,                         # 8 variable
        S, info(7), 0,                             # 9 fwd
        0, info(13), 0,                            # 10 prototype
        A, info(12), 10,                           # 11 func
        A, info(17), 7, 0xFFFFFFFF,                # 12 decl tag
        0, info(3), 0, 9, 1, 5,                    # 13 array of fwd
    ]  # fmt: skip
    read = BTF.from_bytes(btf(words))
    sizes = [read.size_of(id) for id in range(14)]
    assert sizes == [None, 4, 8, 24, 120, 120, 120, 24, 24, None, None, None, None, None]
    assert read.pointer_size == 8


@pytest.mark.parametrize(
    ("size", "second", "pointer"),
    [(8, 32, 4), (12, 32, 4), (16, 64, 8), (12, 64, 4), (12, 0, 8), (8, 0, 8), (4, 0, 4), (2, 0, 8)],
)
@pytest.mark.parametrize("array", [False, True])
def test_pointer_size_without_long(size: int, second: int, pointer: int, array: bool) -> None:
    """If a pointer of 8 bytes does not fit, pointers have 4 bytes: BTF of 32-bit programs need not have `long`."""
    words = [0, info(2), 0, 0, info(10), 1]
    words += [0, info(3), 0, 2, 4, 1] if array else [0, info(8) , 2]
    words += [1, info(1), 4, 32, 1, info(4, 2 if second else 1), size, 0, 3, 0, *([0, 1, second] if second else [])]
    read = BTF.from_bytes(btf(words, b"\0int\0"))
    assert read.pointer_size == pointer


@pytest.mark.parametrize(
    ("name", "size", "pointer"), [("long", 4, 4), ("long unsigned int", 8, 8), ("int", 4, 8)]
)
def test_pointer_size_comes_from_long(name: str, size: int, pointer: int) -> None:
    words = [1, info(1), size, size * 8, 0, info(2), 0]
    read = BTF.from_bytes(btf(words, b"\0" + name.encode() + b"\0"))
    assert read.pointer_size == pointer
    assert read.size_of(2) == pointer


def test_size_of_a_cycle() -> None:
    read = BTF.from_bytes(btf([A, info(8), 2, 0, info(10), 1, 0, info(3), 0, 3, 3, 1 << 31]))
    with pytest.raises(InputError, match="type 2 refers to itself"):
        read.size_of(2)
    with pytest.raises(InputError, match=r"type 3 has more than 2\^64 elements"):
        read.size_of(3)


C_NAMES: list[tuple[list[int], str, str]] = [
    ([0, info(2), 1], "int *", "int *x"),
    ([0, info(10), 1], "const int", "const int x"),
    ([0, info(2), 3, 0, info(10), 1], "const int *", "const int *x"),
    ([0, info(10), 3, 0, info(2), 1], "int *const", "int *const x"),
    ([0, info(11), 3, 0, info(9), 4, 0, info(2), 0], "void *restrict volatile", "void *restrict volatile x"),
    ([0, info(3), 0, 3, 1, 4, 0, info(2), 1], "int *[4]", "int *x[4]"),
    ([0, info(3), 0, 3, 1, 4, 0, info(3), 0, 1, 1, 9], "int [4][9]", "int x[4][9]"),
    ([0, info(2), 3, 0, info(3), 0, 1, 1, 4], "int (*)[4]", "int (*x)[4]"),
    ([0, info(2), 3, 0, info(13, 2), 0, A, 1, 0, 0], "void (*)(int a, ...)", "void (*x)(int a, ...)"),
    ([0, info(2), 3, 0, info(13), 1], "int (*)(void)", "int (*x)(void)"),
    ([0, info(10), 3, 0, info(3), 0, 1, 1, 4], "const int [4]", "const int x[4]"),
    ([S, info(4), 0], "struct s", "struct s x"),
    ([0, info(5), 0], "union (anonymous)", "union (anonymous) x"),
    ([S, info(7, 0, True), 0], "union s", "union s x"),
    ([S, info(19), 8], "enum s", "enum s x"),
    ([A, info(8), 1], "a", "a x"),
    ([0, info(2), 3, B, info(18), 1], "int *", "int *x"),
    ([A, info(12), 3, 0, info(13, 1), 1, B, 1], "int a(int b)", "int a(int b)"),
    ([A, info(14), 3, 0, 0, info(2), 1], "int *a", "int *a"),
]


@pytest.mark.parametrize(("words", "plain", "declaration"), C_NAMES)
def test_c_names(words: list[int], plain: str, declaration: str) -> None:
    read = BTF.from_bytes(btf([*INT_RECORD, *words]))
    assert read.c_name(2) == plain
    assert read.c_name(2, "x") == declaration
    assert read.c_name(0) == "void"


def test_c_name_of_a_prototype_that_contains_itself_ends() -> None:
    read = BTF.from_bytes(btf([0, info(13, 3), 1, 0, 2, 0, 2, 0, 2, 0, info(2), 1]))
    assert "..." in read.c_name(1)
    assert len(read.c_name(1)) < 5000


HEADER_ERRORS: list[tuple[bytes, str]] = [
    (b"", "no data; expected BTF"),
    (b"\x7fELF", "magic 7f 45; expected BTF, which begins with 9f eb or eb 9f"),
    (b"\x9f\xeb\x01\x00", "offset 0x0: only 4 bytes; expected a BTF header of at least 24"),
    (btf([], version=2), "offset 0x2: BTF version 2; expected version 1"),
    (btf([], flags=1), "offset 0x3: header flags 0x1; expected 0"),
    (btf([], hdr_len=20)[:24] + bytes(20), "offset 0x4: header length 20; expected 24 to"),
    (btf([])[:4] + b"\xff\0\0\0" + btf([])[8:], "header length 255"),
    (btf([], type_len=4), "offset 0x10: str section begins at 0x18, before the type section ends at 0x1c"),
    (btf([], b"\0" * 9, type_len=12), "offset 0x8: type section at 0x18, 12 bytes long; expected an end"),
    (btf([], type_off=0xFFFFFFFC, type_len=4), "type section at 0x100000014, 4 bytes long"),
    (btf([], str_len=99), "offset 0x10: string section at 0x18, 99 bytes long"),
    (btf([], type_len=2), "offset 0x8: type section offset 0, length 2; expected multiples of 4"),
    (btf([*INT_RECORD], type_off=2), "type section offset 2, length 16; expected multiples of 4"),
    (
        btf([*INT_RECORD], str_off=8),
        "offset 0x10: str section begins at 0x20, before the type section ends at 0x28",
    ),
    (btf([], b""), "empty string section; expected the empty string first. If this is split BTF, give"),
    (btf([], b"a\0"), "string section begins with byte 0x61"),
    (btf([], b"\0a"), "string section ends with byte 0x61"),
    (btf([], hdr_len=32, layout=b"\0\0\0"), "layout section offset 0, length 3; expected multiples of 4"),
    (
        btf([], hdr_len=32, layout=layout((0, 0), (8, 0))),
        "offset 0x24: layout of kind 1: 8 bytes and 0 per element",
    ),
    (btf([], hdr_len=32, layout=layout(*KNOWN_LAYOUT, (3, 0))), "layout of kind 20: 3 bytes"),
]


@pytest.mark.parametrize(("data", "message"), HEADER_ERRORS, ids=[message for _, message in HEADER_ERRORS])
def test_bad_header(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        BTF.from_bytes(data, name="x.btf")
    assert message in str(error.value)
    assert str(error.value).startswith("x.btf: ")


INDEX_ERRORS: list[tuple[list[int], str]] = [
    ([0], "offset 0x18: type 1 runs past the end of the type section; expected at most 4 bytes"),
    ([0, info(2)], "type 1 runs past the end"),
    ([*INT_RECORD, INT, info(1), 4], "offset 0x28: type 2 runs past the end"),
    ([S, info(4, 2), 8, A, 1, 0], "type 1 runs past the end"),
    ([0, info(0), 0], "type 1: kind 0; expected 1 to 19"),
    ([0, info(20), 0], "type 1: kind 20; expected 1 to 19, or one that a layout section describes"),
    ([0, info(2) | 1 << 16, 0], "type 1: info word 0x02010000; expected zeros in bits 16-23, 29 and 30"),
    ([0, info(2) | 1 << 29, 0], "info word 0x22000000"),
    ([0, info(2, 1), 0], "PTR with vlen 1; expected at most 0"),
    ([A, info(12, 3), 0], "FUNC with vlen 3; expected at most 2"),
    ([0, info(2, 0, True), 0], "PTR with kind flag"),
]

TYPE_ERRORS: list[tuple[list[int], str]] = [
    ([0, info(2), 2], "offset 0x18: type 1 (PTR): type id 2; expected below 2"),
    ([99, info(2), 0], "type 1 (PTR): string offset 0x63; expected below 0xb"),
    ([S, info(4, 1), 8, 11, 0, 0], "type 1 (STRUCT): string offset 0xb; expected below 0xb"),
    ([S, info(4, 2), 8, A, 0, 0, B, 9, 0], "type id 9; expected below 2"),
    ([S, info(4, 1, True), 8, A, 9, 0], "type id 9"),
    ([0, info(3), 0, 2, 0, 0], "type id 2"),
    ([0, info(3), 0, 0, 2, 0], "type id 2"),
    ([0, info(3), 1, 0, 0, 0], "type 1 (ARRAY): 1 as size or type; expected 0"),
    ([A, info(7), 8], "type 1 (FWD): 8 as size or type; expected 0"),
    ([S, info(6, 1), 4, 77, 0], "string offset 0x4d"),
    ([S, info(19, 1), 4, 77, 0, 0], "string offset 0x4d"),
    ([0, info(13), 7], "type id 7"),
    ([0, info(13, 1), 0, 0, 7], "type id 7"),
    ([S, info(15, 1), 0, 7, 0, 0], "type id 7"),
    ([S, info(12), 7], "type id 7"),
    ([S, info(14), 0, 3], "type 1 (VAR): linkage 3; expected 0 (static), 1 (global) or 2 (extern)"),
    ([A, info(17), 1, 0xFFFFFFFE], "component -2 of a tag; expected -1 or an index"),
    ([INT, info(1), 4, 1 << 28], "encoding word 0x10000000; expected zeros in bits 8-15 and 28-31"),
    ([INT, info(1), 4, 1 << 8], "encoding word 0x00000100"),
]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("words", "message"), INDEX_ERRORS)
def test_bad_records_are_met_when_opening(words: list[int], message: str, order: str) -> None:
    with pytest.raises(InputError) as error:
        BTF.from_bytes(btf(words, order=order))
    assert message in str(error.value)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("words", "message"), TYPE_ERRORS)
def test_bad_types_are_met_when_decoded(words: list[int], message: str, order: str) -> None:
    read = BTF.from_bytes(btf(words, order=order))
    with pytest.raises(InputError) as error:
        read.type(1)
    assert message in str(error.value)
    with pytest.raises(InputError):
        list(read)


SHARED = "names that begin inside others, or a name that very many types share"


def test_names_that_are_parts_of_each_other() -> None:
    """Half a megabyte of file has gigabytes of names, and all of them used to be decoded and kept."""
    strings = b"\0int\0" + b"a" * 200_000 + b"\0"
    tails = [5 + 10 * i for i in range(20_000)]
    records = [*INT_RECORD, *(word for at in tails for word in (at, info(8), 1))]
    members = [*INT_RECORD, S, info(4, 20_000), 4, *(word for at in tails for word in (at, 1, 0))]
    for words in (records, members):
        types = BTF.from_bytes(raw_btf(words, strings), name="x")
        with pytest.raises(InputError, match=rf"x: offset {24 + 4 * len(words):#x}: {SHARED}"):
            list(types)
    with pytest.raises(InputError, match=SHARED):
        list(BTF.from_bytes(raw_btf(records, strings)).search("b", Kind.TYPEDEF))
    few = BTF.from_bytes(raw_btf(records[: 4 + 3 * 15], strings))
    assert len({type.name for type in few}) == 16
    assert few.by_name("a" * 200_000) == few.type(2)


def test_one_name_of_very_many_types() -> None:
    """Finding types by name looks at the name of each."""
    strings = b"\0int\0" + b"a" * 200_000 + b"\0"
    types = BTF.from_bytes(raw_btf([*INT_RECORD, *[5, info(8), 1] * 20_000], strings))
    for _ in range(2):
        with pytest.raises(InputError, match=SHARED):
            types.by_name("int")
    assert len({type.name for type in types}) == 2  # only one name is decoded


def elf(contents: bytes, *, name: str = ".BTF", kind: int = 1, flags: int = 0, **options: bool) -> bytes:
    """An ELF file of three sections: null, names, `name`."""
    sections = [Section(".shstrtab", type="STRTAB"), Section(name, contents, type=kind, flags=flags)]
    return bare(sections, None, **options)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_elf_file(tmp_path: Path, order: str, bits: int, many: bool) -> None:
    path = tmp_path / "x.o"
    path.write_bytes(elf(btf(ALL, order=order), is64=bits == 64, little=order == "<", extended=many))
    assert list(BTF.from_file(path)) == [type for _, type in RECORDS]


@pytest.mark.parametrize("flags", [1 << bit for bit in range(32) if bit != 11])
def test_flags_that_do_not_matter(tmp_path: Path, flags: int) -> None:
    """Only SHF_COMPRESSED (0x800) means that the bytes of a section are not its contents."""
    path = tmp_path / "x.o"
    path.write_bytes(elf(btf(INT_RECORD), flags=flags))
    assert len(BTF.from_file(path)) == 1


def test_raw_file(tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(btf(INT_RECORD))
    read = BTF.from_file(path)
    assert read.data == path.read_bytes()
    split = tmp_path / "y.btf"
    split.write_bytes(btf([0, info(2), 1], b""))
    assert list(BTF.from_file(split, read)) == [Ptr(1)]


def test_other_section(tmp_path: Path) -> None:
    path = tmp_path / "x.ko"
    path.write_bytes(elf(btf(INT_RECORD), name=".BTF.base"))
    assert len(BTF.from_file(path, section=".BTF.base")) == 1
    with pytest.raises(InputError, match=r"no \.BTF section"):
        BTF.from_file(path)


def test_error_in_a_section_names_it(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    path.write_bytes(elf(btf([0, info(2), 5])))
    with pytest.raises(InputError, match=r"x\.o: \.BTF\+0x18: type 1 \(PTR\): type id 5"):
        list(BTF.from_file(path))


def _cut(data: bytes, size: int) -> bytes:
    return data[:size]


def _patch(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


GOOD_ELF = elf(btf(INT_RECORD))
FILE_ERRORS: list[tuple[bytes, str]] = [
    (b"", "is empty; expected raw BTF, or an ELF file with BTF, or one of them compressed"),
    (b"!<arch>\n", "starts with 21 3c 61 72"),
    (elf(btf(INT_RECORD), kind=8), "a NOBITS section of"),
    (elf(btf(INT_RECORD), flags=0x800), "a compressed section"),
    (_cut(GOOD_ELF, 20), "a damaged ELF header"),
    (_cut(GOOD_ELF, 60), "60 bytes; expected an ELF header of 64"),
    (_cut(GOOD_ELF, len(GOOD_ELF) - 1), "section headers of 192 bytes; expected an end within"),
    (_cut(GOOD_ELF, len(GOOD_ELF) - 2), "bytes of the file. The file is truncated or damaged."),
    (_patch(GOOD_ELF, 4, b"\x03"), "a damaged ELF header"),
    (_patch(GOOD_ELF, 5, b"\x00"), "a damaged ELF header"),
    (_patch(GOOD_ELF, 40, bytes(8)), "no section headers"),
    (_patch(GOOD_ELF, 40, b"\xff" * 8), "section headers of 64 bytes"),
    (_patch(GOOD_ELF, 58, b"\x20\x00"), "section headers of 32 bytes; expected 64"),
    (_patch(GOOD_ELF, 62, b"\x09\x00"), "section 9 as table of section names"),
    (_patch(GOOD_ELF, len(GOOD_ELF) - 64 + 32, b"\xff" * 8), "section .BTF of 18446744073709551615 bytes"),
]


@pytest.mark.parametrize(("data", "message"), FILE_ERRORS, ids=[message for _, message in FILE_ERRORS])
def test_bad_file(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        BTF.from_file(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"), [(Path.mkdir, "is a folder"), (lambda path: None, "no such file")]
)
def test_unreadable_file(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "x"
    make(path)
    with pytest.raises(InputError, match=message):
        BTF.from_file(path)
