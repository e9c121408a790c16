"""The builder, and what reader and builder together promise, on random BTF.

Random types come from `btf_types`; every value that a field can hold may occur, and all references are valid.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pybtf.btf.describe import describe, first_difference
from pybtf.btf.kinds import KINDS, IntEncoding, Kind, Linkage
from pybtf.btf.reader import BTF
from pybtf.btf.strings import encode_name
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumeration,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Ref,
    Restrict,
    SectionVar,
    Struct,
    Symbol,
    Type,
    Typedef,
    TypeTag,
    Union,
    Unknown,
    Var,
    Void,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.errors import InputError, UsageError
from tests.builders.rawbtf import raw_btf

SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

U32 = st.integers(0, (1 << 32) - 1)
BYTE = st.integers(0, 255)
FLAG = st.booleans()
PLAIN_NAMES = st.text(st.sampled_from("abcxyz_019"), max_size=4)
ANY_NAMES = st.one_of(
    PLAIN_NAMES,
    st.binary(max_size=6)
    .filter(lambda raw: 0 not in raw)
    .map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)


@cache
def btf_types(last_id: int, names: st.SearchStrategy[str]) -> st.SearchStrategy[Type]:
    """Any type that can be written and read back unchanged, with references up to `last_id`."""
    ids = st.integers(0, last_id)
    linkage = st.sampled_from(Linkage)

    def lists(element: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(element, max_size=4).map(tuple)

    def composite(kind: type[Composite]) -> st.SearchStrategy[Composite]:
        plain = st.builds(Member, names, ids, U32, bitfield_size=st.just(0))
        packed = st.builds(Member, names, ids, st.integers(0, (1 << 24) - 1), BYTE)
        return st.one_of(
            st.builds(kind, names, U32, lists(plain)),
            st.builds(kind, names, U32, lists(packed), kind_flag=st.just(True)),
        )

    def enumeration(kind: type[Enumeration], bits: int) -> st.SearchStrategy[Enumeration]:
        unsigned = st.builds(Enumerator, names, st.integers(0, (1 << bits) - 1))
        signed = st.builds(Enumerator, names, st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        return st.one_of(
            st.builds(kind, names, U32, lists(unsigned)),
            st.builds(kind, names, U32, lists(signed), kind_flag=st.just(True)),
        )

    encoding = st.integers(0, 15).map(IntEncoding)
    return st.one_of(
        st.builds(Int, names, U32, BYTE, encoding, BYTE),
        st.builds(Float, names, U32),
        *(st.builds(kind, ids, name=names) for kind in (Ptr, Volatile, Const, Restrict)),
        st.builds(Typedef, names, ids),
        st.builds(TypeTag, names, ids, kind_flag=FLAG),
        st.builds(DeclTag, names, ids, st.integers(-1, (1 << 31) - 1), kind_flag=FLAG),
        st.builds(Func, names, ids, linkage),
        st.builds(Var, names, ids, linkage),
        st.builds(Array, ids, ids, U32, name=names),
        composite(Struct),
        composite(Union),
        st.builds(Fwd, names, kind_flag=FLAG),
        enumeration(Enum, 32),
        enumeration(Enum64, 64),
        st.builds(FuncProto, ids, lists(st.builds(Param, names, ids)), name=names),
        st.builds(Datasec, names, U32, lists(st.builds(SectionVar, ids, U32, U32))),
    )


@cache
def btf_lists(names: st.SearchStrategy[str] = ANY_NAMES, first_id: int = 1) -> st.SearchStrategy[list[Type]]:
    """The types of a whole BTF whose first id is `first_id`."""
    return st.integers(0, 12).flatmap(
        lambda count: st.lists(btf_types(first_id - 1 + count, names), min_size=count, max_size=count)
    )


def build(types: list[Type], base: BTF | None = None) -> BtfBuilder:
    builder = BtfBuilder(base)
    builder.extend(types)
    return builder


HEADERS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"layout": True}, {"header_length": 40}, {"header_length": 48, "layout": True}]
)


@SETTINGS
@given(types=btf_lists(), little=st.booleans(), header=HEADERS)
def test_what_is_written_is_read(types: list[Type], little: bool, header: dict[str, Any]) -> None:
    data = build(types).tobytes(little, **header)
    read = BTF.from_bytes(data)
    assert list(read) == types
    assert read.header.little == little
    assert bool(read.layout) == header.get("layout", False)


@SETTINGS
@given(types=btf_lists(), little=st.booleans())
def test_what_is_read_is_written_to_the_same_bytes(types: list[Type], little: bool) -> None:
    data = build(types).tobytes(little)
    assert build(list(BTF.from_bytes(data))).tobytes(little) == data


@SETTINGS
@given(base=btf_lists(), data=st.data(), little=st.booleans())
def test_split(base: list[Type], data: st.DataObject, little: bool) -> None:
    below = BTF.from_bytes(build(base).tobytes(little))
    own = data.draw(btf_lists(first_id=below.end_id))
    builder = build(own, below)
    assert builder.next_id == below.end_id + len(own)
    split = BTF.from_bytes(builder.tobytes(little), below)
    assert list(split) == own
    assert [split.type(id) for id in range(1, split.end_id)] == base + own
    strings = [name for _, name in split.strings]
    assert not set(strings) & {name for _, name in below.strings}


EVERY_KIND: list[Type] = [
    Int("int", 4, 32, IntEncoding.SIGNED),
    Ptr(4),
    Array(1, 1, 3),
    Struct("s", 24, (Member("a", 1, 0), Member("next", 2, 64), Member("b", 3, 128))),
    Union("u", 4, (Member("bits", 1, 0, 3), Member("rest", 1, 3, 29))),
    Enum("e", 4, (Enumerator("A", 0), Enumerator("B", 7))),
    Fwd("f"),
    Typedef("t", 4),
    Volatile(8),
    Const(9),
    Restrict(2),
    FuncProto(1, (Param("x", 10), Param("y", 11), Param("", 0))),
    Func("call", 12),
    Var("v", 4, Linkage.GLOBAL),
    Datasec(".data..percpu", 24, (SectionVar(14, 0, 24),)),
    Float("double", 8),
    DeclTag("tag", 4, 1),
    TypeTag("user", 4),
    Enum64("e64", 8, (Enumerator("C", 1 << 40),)),
]


def use_everything(data: bytes) -> None:
    """Open BTF and ask it everything there is to ask."""
    read = BTF.from_bytes(data)
    for type in read:
        describe(type)
        read.references(type.id)
        read.size_of(type.id)
        read.c_name(type.id)
        assert type.name == "" or type in read.all_by_name(type.name)
    assert first_difference(read, read) is None
    assert sum(read.count_kinds().values()) == len(read)


def reads_or_input_error(data: bytes) -> str:
    """The message of the InputError, or an empty text if the data could be read. Any other exception fails the test."""
    try:
        use_everything(data)
    except InputError as error:
        return str(error)
    return ""


@st.composite
def corruptions(draw: st.DrawFn) -> bytes:
    """A valid BTF with some bytes changed, and perhaps cut off, lengthened, or with a part repeated."""
    builder = build(draw(btf_lists()))
    header = draw(HEADERS)
    data = bytearray(builder.tobytes(draw(st.booleans()), **header))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.one_of(BYTE, st.sampled_from([0, 1, 0x80, 0xFF])))
    start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    match draw(st.integers(0, 3)):
        case 0:
            del data[start:end]
        case 1:
            data[start:start] = data[start:end]
        case 2:
            data += data[start:end]
    return bytes(data)


@settings(SETTINGS, max_examples=250)
@given(data=corruptions())
def test_corrupted_btf_reads_or_is_an_input_error(data: bytes) -> None:
    reads_or_input_error(data)


@SETTINGS
@given(types=btf_lists())
def test_valid_btf_answers_everything_but_cycles(types: list[Type]) -> None:
    message = reads_or_input_error(build(types).tobytes())
    assert not message or "refers to itself" in message or "more than 2^64" in message


def test_many_random_corruptions() -> None:
    """Many cases, with a fixed seed; the property test adds variety."""
    random = Random(20)
    fields = [*EVERY_KIND, *EVERY_KIND]
    outcomes = set()
    for little, layout in ((True, False), (False, True)):
        good = build(fields).tobytes(little, layout=layout)
        for _ in range(1000):
            data = bytearray(good)
            for _ in range(random.randint(1, 3)):
                data[random.randrange(len(data))] = random.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
                )
            outcomes.add(bool(reads_or_input_error(bytes(data))))
    assert outcomes == {False, True}


@SETTINGS
@given(types=st.tuples(btf_types(3, ANY_NAMES), btf_types(3, ANY_NAMES)))
def test_descriptions_tell_types_apart(types: tuple[Type, Type]) -> None:
    left, right = types
    assert (describe(left) == describe(right)) == (left == right)
    assert describe(left).isascii()
    assert describe(left).isprintable()


@SETTINGS
@given(types=btf_lists(PLAIN_NAMES), data=st.data())
def test_first_difference_finds_a_changed_word(types: list[Type], data: st.DataObject) -> None:
    good = build([Ptr(0), *types]).tobytes()
    left = BTF.from_bytes(good)
    start, end = left.header.section("type")
    changed = bytearray(good)
    changed[data.draw(st.integers(start, end - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        right = BTF.from_bytes(bytes(changed))
        list(right)
    except InputError:
        return
    difference = first_difference(left, right)
    assert difference is not None
    assert difference.where.startswith("type ")
    id = int(difference.where.split()[1].rstrip(","))
    assert list(left)[: id - 1] == list(right)[: id - 1]


def test_strings_are_kept_in_order_of_first_use() -> None:
    types: list[Type] = [
        Int("int", 4, 32),
        Struct("s", 8, (Member("b", 1, 0), Member("a", 1, 32))),
        Typedef("a", 2),
    ]
    read = BTF.from_bytes(build(types).tobytes())
    assert [name for _, name in read.strings] == ["", "int", "s", "b", "a"]


def test_header_fields() -> None:
    builder = build([Int("int", 4, 32)])
    plain = BTF.from_bytes(builder.tobytes()).header
    assert plain == (True, 1, 0, 24, 0, 16, 16, 5, 0, 0)
    with_layout = BTF.from_bytes(builder.tobytes(layout=True)).header
    assert with_layout == (True, 1, 0, 32, 0, 16, 96, 5, 16, 80)
    assert builder.tobytes(False)[:4] == b"\xeb\x9f\x01\x00"
    assert builder.tobytes()[24:40] == bytes.fromhex("01000000 00000001 04000000 20000000")


def test_bitfields_set_the_flag() -> None:
    read = BTF.from_bytes(build([Struct("s", 4, (Member("a", 0, 3, 5),))]).tobytes())
    assert read.type(1) == Struct("s", 4, (Member("a", 0, 3, 5),), kind_flag=True)


def test_unknown_kind_is_written_as_it_was() -> None:
    builder = build([Unknown(25, 1, 7, (1, 2), name="new", kind_flag=True)])
    data = builder.tobytes()
    assert data[24:44] == bytes.fromhex("01000000 01000099 07000000 01000000 02000000")


TOO_LARGE: list[tuple[Type, str]] = [
    (Ptr(-1), "type id -1 does not fit 32 bits"),
    (Ptr(1 << 32), "type id 4294967296"),
    (Int("i", 1 << 32, 8), "size 4294967296"),
    (Int("i", 4, 256), "bits 256 does not fit 8 bits"),
    (Int("i", 4, 8, IntEncoding(16)), "encoding 16 does not fit 4 bits"),
    (Struct("s", 4, (Member("a", 0, 1 << 24, 1),)), "offset of a 16777216 does not fit 24 bits"),
    (Struct("s", 4, (Member("a", 0, 0, 256),)), "bitfield size of a 256"),
    (Struct("s", 4, (Member("a", 0, 0),) * 65536), "vlen 65536 cannot be written; the limit is 65535"),
    (Enum("e", 4, (Enumerator("a", -1),)), "value of a -1 does not fit 32 bits"),
    (Enum("e", 4, (Enumerator("a", 1 << 31),), kind_flag=True), "does not fit 32 signed bits"),
    (Enum64("e", 8, (Enumerator("a", 1 << 64),)), "does not fit 64 bits"),
    (Typedef("a\0b", 1), "cannot contain NUL"),
    (Void(), "cannot be written"),
]


@pytest.mark.parametrize(("type", "message"), TOO_LARGE, ids=[message for _, message in TOO_LARGE])
def test_values_that_do_not_fit(type: Type, message: str) -> None:
    builder = BtfBuilder()
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        builder.add(type)
    assert builder.next_id == 1
    assert builder.add(Ptr(0)) == 1
    assert list(BTF.from_bytes(builder.tobytes())) == [Ptr(0)]


DESCRIPTIONS: list[tuple[Type, str]] = [
    (Int("int", 4, 32, IntEncoding.SIGNED), "[1] INT 'int' size=4 bits=32 offset=0 encoding=SIGNED"),
    (Int("x", 1, 8, IntEncoding(6), 3), "[1] INT 'x' size=1 bits=8 offset=3 encoding=CHAR|BOOL"),
    (Int("u", 4, 32), "[1] INT 'u' size=4 bits=32 offset=0 encoding=none"),
    (Int("u", 4, 32, IntEncoding(9)), "[1] INT 'u' size=4 bits=32 offset=0 encoding=SIGNED|0x8"),
    (Float("double", 8), "[1] FLOAT 'double' size=8"),
    (Ptr(3), "[1] PTR '' type=3"),
    (Typedef("it's \\ \xe4\n", 3), "[1] TYPEDEF 'it\\x27s \\x5c \\xc3\\xa4\\x0a' type=3"),
    (Array(1, 2, 3), "[1] ARRAY '' type=1 index=2 nelems=3"),
    (
        Struct("s", 8, (Member("a", 1, 0, 3), Member("", 2, 32)), kind_flag=True),
        "[1] STRUCT +flag 's' size=8 vlen=2 {'a' type=1 at=0:3, '' type=2 at=32}",
    ),
    (Union("", 0), "[1] UNION '' size=0 vlen=0 {}"),
    (Enum("e", 4, (Enumerator("A", 1), Enumerator("B", 2))), "[1] ENUM 'e' size=4 vlen=2 {'A'=1, 'B'=2}"),
    (Enum64("e", 8, (Enumerator("A", -1),), kind_flag=True), "[1] ENUM64 +flag 'e' size=8 vlen=1 {'A'=-1}"),
    (Fwd("f"), "[1] FWD 'f'"),
    (Fwd("f", kind_flag=True), "[1] FWD +flag 'f'"),
    (Func("f", 2, Linkage.GLOBAL), "[1] FUNC 'f' type=2 global"),
    (Var("v", 2), "[1] VAR 'v' type=2 static"),
    (FuncProto(1, (Param("a", 2), Param("", 0))), "[1] FUNC_PROTO '' ret=1 vlen=2 ('a' type=2, '' type=0)"),
    (Datasec(".d", 8, (SectionVar(2, 0, 8),)), "[1] DATASEC '.d' size=8 vlen=1 {type=2 offset=0 size=8}"),
    (DeclTag("t", 2), "[1] DECL_TAG 't' type=2 component=-1"),
    (TypeTag("t", 2), "[1] TYPE_TAG 't' type=2"),
    (Unknown(25, 1, 7, (10, 2)), "[1] KIND25 '' third=7 vlen=1 words=a,2"),
]


@pytest.mark.parametrize(("type", "line"), DESCRIPTIONS, ids=[line for _, line in DESCRIPTIONS])
def test_description(type: Type, line: str) -> None:
    assert describe(dataclasses.replace(type, id=1)) == line


BASE: list[Type] = [Int("int", 4, 32), Struct("s", 4, (Member("a", 1, 0),)), Ptr(2)]
CHANGES: list[tuple[list[str], list[Type], list[str], dict[str, bool], str]] = [
    ([], BASE, [], {"little": False}, "header little:\n  a: True\n  b: False"),
    ([], BASE, [], {"layout": True}, "header hdr_len:\n  a: 24\n  b: 32"),
    ([], [*BASE[:2], Const(2)], [], {}, "type 3:\n  a: [3] PTR '' type=2\n  b: [3] CONST '' type=2"),
    (
        [],
        [BASE[0], Struct("s", 4, (Member("b", 1, 0),))],
        [],
        {},
        "type 2:\n  a: [2] STRUCT 's' size=4 vlen=1 {'a' type=1 at=0}\n"
        "  b: [2] STRUCT 's' size=4 vlen=1 {'b' type=1 at=0}",
    ),
    ([], BASE[:2], [], {}, "type 3:\n  a: [3] PTR '' type=2\n  b: ends with type 2"),
    ([], [*BASE, Ptr(1)], [], {}, "type 4:\n  a: ends with type 3\n  b: [4] PTR '' type=1"),
    ([], BASE, ["more"], {}, "string 0x9:\n  a: no string begins here\n  b: 'more'"),
    (["s"], BASE, [], {}, "string 0x1:\n  a: 'int'\n  b: 's'"),
]
"""What to build otherwise than `BASE` (strings before the types, types, strings after, how to write), and the
difference that makes."""


@pytest.mark.parametrize(
    ("before", "types", "after", "form", "text"),
    CHANGES,
    ids=[change[4].split("\n")[0] for change in CHANGES],
)
def test_first_difference(
    before: list[str], types: list[Type], after: list[str], form: dict[str, bool], text: str
) -> None:
    builder = BtfBuilder()
    for name in before:
        builder.string(name)
    builder.extend(types)
    for name in after:
        builder.string(name)
    left = BTF.from_bytes(build(BASE).tobytes())
    assert first_difference(left, BTF.from_bytes(build(BASE).tobytes())) is None
    assert str(first_difference(left, BTF.from_bytes(builder.tobytes(**form)))) == text


def test_first_difference_in_offsets_only() -> None:
    """The same strings and the same meaning, but the second BTF names the second copy of the string."""
    first, second = (raw_btf([at, 8 << 24, 0], b"\0a\0a\0") for at in (1, 3))
    difference = first_difference(BTF.from_bytes(first), BTF.from_bytes(second))
    assert str(difference) == (
        "type 1, words of [1] TYPEDEF 'a' type=0:\n  a: 0x1 0x8000000 0x0\n  b: 0x3 0x8000000 0x0"
    )
    moved = raw_btf([1, 8 << 24, 0], b"\0a\0a\0", gap=b"gap!")
    difference = first_difference(BTF.from_bytes(first), BTF.from_bytes(moved))
    assert str(difference) == "header str_off:\n  a: 12\n  b: 16"


def as_bpftool(type: Type) -> dict[str, Any]:
    """What `bpftool -j btf dump` says about a type. Its version 7.1 sign-extends unsigned 32-bit enumerators."""

    def anon(name: str) -> str:
        return name or "(anon)"

    common: dict[str, Any] = {"id": type.id, "kind": type.kind.name, "name": anon(type.name)}
    match type:
        case Int():
            words = {0: "(none)", 1: "SIGNED", 2: "CHAR", 4: "BOOL"}
            rest = {"size": type.size, "bits_offset": type.offset, "nr_bits": type.bits}
            return common | rest | {"encoding": words.get(type.encoding, "UNKN")}
        case Float():
            return common | {"size": type.size}
        case Symbol():
            return common | {"type_id": type.type, "linkage": type.linkage.name.lower()}
        case DeclTag():
            return common | {"type_id": type.type, "component_idx": type.component}
        case Ref():
            return common | {"type_id": type.type}
        case Array():
            return common | {"type_id": type.type, "index_type_id": type.index_type, "nr_elems": type.nelems}
        case Fwd():
            return common | {"fwd_kind": "union" if type.is_union else "struct"}
        case Composite():
            members = [
                {"name": anon(m.name), "type_id": m.type, "bits_offset": m.bit_offset}
                | ({"bitfield_size": m.bitfield_size} if m.bitfield_size else {})
                for m in type.members
            ]
            return common | {"size": type.size, "vlen": len(members), "members": members}
        case Enumeration():
            values = [{"name": anon(v.name), "val": v.value} for v in type.values]
            sign = "SIGNED" if type.signed else "UNSIGNED"
            return common | {"encoding": sign, "size": type.size, "vlen": len(values), "values": values}
        case FuncProto():
            params = [{"name": anon(p.name), "type_id": p.type} for p in type.params]
            return common | {"ret_type_id": type.return_type, "vlen": len(params), "params": params}
        case Datasec():
            variables = [{"type_id": v.type, "offset": v.offset, "size": v.size} for v in type.variables]
            return common | {"size": type.size, "vlen": len(variables), "vars": variables}
        case _:
            raise AssertionError(type)


def bpftool_dump(path: Path, base: Path | None = None) -> list[dict[str, Any]]:
    """What bpftool prints for a file, with its sign extension undone."""
    command = ["bpftool", "-j", *(["-B", str(base)] if base else []), "btf", "dump", "file", str(path)]
    result = subprocess.run(command, capture_output=True, check=True)
    types: list[dict[str, Any]] = json.loads(result.stdout)["types"]
    for type in types:
        if type["kind"] == "ENUM" and type["encoding"] == "UNSIGNED":
            for value in type["values"]:
                value["val"] &= 0xFFFFFFFF
    return types


def test_a_shared_name_is_made_into_bytes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may be megabytes long and belong to very many types. A type that was taken back may be added again."""
    made: list[str] = []

    def encode(name: str) -> bytes:
        made.append(name)
        return encode_name(name)

    monkeypatch.setattr("pybtf.btf.writer.encode_name", encode)
    builder = BtfBuilder()
    builder.add(Int("int", 4, 32))
    for _ in range(5):
        builder.add(Struct("long", 4, (Member("long", 1, 0),)))
    assert made.count("long") == 1
    with pytest.raises(UsageError):
        builder.add(Struct("fresh", 4, (Member("second", 1, 1 << 40),)))
    builder.add(Struct("second", 4, (Member("fresh", 1, 0),)))
    found = list(BTF.from_bytes(builder.tobytes()))[-1]
    assert found == Struct("second", 4, (Member("fresh", 1, 0),))
    assert builder.tobytes().endswith(b"\0int\0long\0second\0fresh\0")


needs_bpftool = pytest.mark.skipif(shutil.which("bpftool") is None, reason="bpftool is not installed")


@needs_bpftool
@settings(SETTINGS, max_examples=25)
@given(types=btf_lists(PLAIN_NAMES).filter(bool), little=st.booleans(), length=st.sampled_from([24, 32]))
def test_bpftool_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, types: list[Type], little: bool, length: int
) -> None:
    """Its libbpf refuses other header lengths in the foreign byte order, and a FUNC whose type is not a prototype."""
    native = little == (sys.byteorder == "little")
    prototype = len(types) + 1
    types = [dataclasses.replace(one, type=prototype) if isinstance(one, Func) else one for one in types]
    types.append(FuncProto(0, ()))
    data = build(types).tobytes(little, header_length=length if native else 24)
    path = tmp_path_factory.getbasetemp() / "random.btf"
    path.write_bytes(data)
    assert [as_bpftool(type) for type in BTF.from_bytes(data)] == bpftool_dump(path)


@needs_bpftool
def test_bpftool_reads_the_same_split_btf(tmp_path: Path) -> None:
    below = BTF.from_bytes(build(BASE).tobytes())
    (tmp_path / "base").write_bytes(below.data)
    data = build([Typedef("s", 2), Struct("new", 4, (Member("a", 4, 0),))], below).tobytes()
    (tmp_path / "split").write_bytes(data)
    split = BTF.from_bytes(data, below)
    assert [as_bpftool(type) for type in split] == bpftool_dump(tmp_path / "split", tmp_path / "base")


def test_every_kind_has_a_spec() -> None:
    assert set(KINDS) == set(Kind) - {Kind.VOID}
