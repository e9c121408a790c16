"""Minimal BTF for each rule of the kernel's loader, from both sides, and what kernels answer.

Type 1 is always INT `int`; the case follows. An entry of `CASES` has a rule, a label, the bytes, and the answers: that
of 6.18, then those of other versions, as `<601 EINVAL` or `>=701 0`. Versions are 100 times the major number plus the
minor. The answers are those of 5.10, 6.1, 6.12, 6.18, 7.2 and 7.3. Kinds that a version does not know give EINVAL.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

from tests.builders.rawbtf import raw_btf

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, PROTO = range(1, 14)
VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(14, 20)
KNOWN_SINCE = {FUNC: 500, PROTO: 500, VAR: 502, DATASEC: 502, FLOAT: 513, DECL_TAG: 516, TYPE_TAG: 517, ENUM64: 600}
MINUS = 0xFFFFFFFF
KERNELS = (510, 601, 612, 618, 702, 703)
"""Versions whose answers are known."""


class Maker:
    """One BTF under construction. Names are text or bytes; a number is an offset."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.strings = bytearray(b"\0")
        self.known: dict[bytes, int] = {b"": 0}
        self.kinds: set[int] = set()
        self.add(INT, "int", 4, 1 << 24 | 32)

    def name(self, text: str | bytes | int) -> int:
        if isinstance(text, int):
            return text
        raw = text.encode() if isinstance(text, str) else text
        if raw not in self.known:
            self.known[raw] = len(self.strings)
            self.strings += raw + b"\0"
        return self.known[raw]

    def add(
        self, kind: int, name: str | bytes | int, third: int, *rest: int | str | bytes, vlen: int = 0, flag: int = 0
    ) -> Maker:
        """Text in `rest` is a name."""
        self.kinds.add(kind)
        self.words += (self.name(name), flag << 31 | kind << 24 | vlen, third & MINUS)
        self.words += (each & MINUS if isinstance(each, int) else self.name(each) for each in rest)
        return self

    def struct(self, name: str | bytes | int, size: int, *members: tuple[str | bytes | int, int, int], flag: int = 0,
               kind: int = STRUCT) -> Maker:  # fmt: skip
        flat = [word for member in members for word in member]
        return self.add(kind, name, size, *flat, vlen=len(members), flag=flag)

    def proto(self, returns: int, *args: tuple[str | bytes | int, int]) -> Maker:
        return self.add(PROTO, 0, returns, *(word for arg in args for word in arg), vlen=len(args))

    def section(self, size: int, *entries: tuple[int, int, int], name: str | bytes | int = ".data") -> Maker:
        return self.add(DATASEC, name, size, *(word for entry in entries for word in entry), vlen=len(entries))

    def types(self) -> bytes:
        return struct.pack(f"<{len(self.words)}I", *self.words)

    def make(self, *, extra: bytes = b"", gap: bytes = b"", tail: bytes = b"", **changes: int) -> bytes:
        """The whole BTF. `changes`: fields of the header; `tail`: bytes at the end; `gap`: bytes before the strings."""
        return raw_btf(self.words, bytes(self.strings), more=extra, gap=gap, header=changes) + tail


@dataclass
class Case:
    rule: str
    label: str
    data: bytes
    answers: str
    kinds: frozenset[int] = frozenset()

    def expected(self, version: int) -> int:
        """The errno that a version gives, 0 if it accepts."""
        first, *others = (part.strip() for part in self.answers.split(";"))
        for other in others:
            when, answer = other.split()
            below = when.startswith("<")
            limit = int(when.lstrip("<>="))
            if version < limit if below else version >= limit:
                return number(answer)
        if any(version < KNOWN_SINCE.get(kind, 0) for kind in self.kinds):
            return errno.EINVAL
        return number(first)


def number(answer: str) -> int:
    if answer == "0":
        return 0
    return 524 if answer == "ENOTSUPP" else int(getattr(errno, answer))


CASES: list[Case] = []
OK, BAD = "0", "EINVAL"


def case(rule: str, label: str, what: Maker | bytes, answers: str) -> None:
    data, kinds = (what.make(), frozenset(what.kinds)) if isinstance(what, Maker) else (what, frozenset())
    CASES.append(Case(rule, label, data, answers, kinds))


def new() -> Maker:
    return Maker()


def _headers() -> None:
    plain = new().make()
    two = "E2BIG; >=701 "
    case("H1", "7 bytes", plain[:7], BAD)
    case("H2", "20 bytes of 24", plain[:20], BAD)
    case("H3", "32 bytes, the last 8 zero", new().make(extra=bytes(8)), OK)
    case("H3", "4,000 bytes, all zero behind 24", new().make(extra=bytes(3976)), OK)
    case("H3", "layout_off 1, layout_len 0", new().make(extra=struct.pack("<II", 1, 0)), two + "0")
    case("H3", "40 bytes, the last not 0", new().make(extra=bytes(15) + b"\1"), "E2BIG")
    case("H4", "magic of the other byte order", new().make(magic=0x9FEB), BAD)
    case("H5", "version 2", new().make(version=2), "ENOTSUPP")
    case("H6", "flags 1", new().make(flags=1), "ENOTSUPP")
    case("H7", "header alone", raw_btf([], b""), BAD)
    case("H8", "strings beyond the data", new().make(str_off=4000), BAD)
    case("H9", "4 bytes between types and strings", new().make(gap=bytes(4)), BAD)
    case("H9", "4 bytes after the strings", new().make(tail=bytes(4)), BAD)
    case("H10", "strings start inside the types", new().make(str_off=8, str_len=13), BAD)
    case("H11", "str_len 1 too large", new().make(str_len=6), BAD)
    types, strings = new().types(), bytes(new().strings)
    front = {"type_off": 8, "type_len": 16, "str_off": 0, "str_len": 8}
    swapped = raw_btf(b"\0int\0\0\0\0", types, header=front)
    case("H12", "strings before types", swapped, BAD)
    cut = struct.pack("<HBB4I", 0xEB9F, 1, 0, 20, 0, 16, 16) + types + strings
    case("H13", "hdr_len 20", cut, BAD)
    case("H13", "hdr_len 8", struct.pack("<HBBI", 0xEB9F, 1, 0, 8) + types + strings, BAD)
    room = (16 << 20) - 24 - len(types)
    large = new()
    large.strings += b"a" * (room - len(large.strings) - 1) + b"\0"
    case("H14", "16 MiB", large.make(), OK)
    large.strings += b"\0"
    case("H14", "16 MiB and a byte", large.make(), "E2BIG")
    layout = b"".join(struct.pack("<BBH", 0, 0, 0) for _ in range(20))

    def with_layout(layout: bytes, at: int | None = None, size: int | None = None, body: bytes = b"") -> bytes:
        body = body or types + layout + strings
        off = len(types) if at is None else at
        length = len(layout) if size is None else size
        places = {"type_len": 16, "str_off": len(body) - len(strings), "str_len": 5}
        return raw_btf(body, b"", more=struct.pack("<II", off, length), header=places)

    case("LAY1", "a layout of 20 kinds", with_layout(layout), two + "0")
    behind = raw_btf(types, b"\0int\0\0\0\0", more=struct.pack("<II", 24, 80)) + layout
    case("LAY1", "a layout behind the strings", behind, two + "0")
    first = raw_btf(b"\0int\0\0\0\0", types, more=bytes(8), header=front)
    case("LAY1", "32 bytes, no layout, strings first", first, "EINVAL; >=701 0")
    odd = raw_btf(types, strings, more=struct.pack("<II", 21, 80)) + layout
    case("LAY2", "layout_off no multiple of 4", odd, two + "EINVAL")
    places = {"type_off": 5, "type_len": 16, "str_off": 0, "str_len": 5}
    shifted = raw_btf(strings, types, more=struct.pack("<II", 21, 3), header=places) + bytes(3)
    case("LAY2", "type_off no multiple of 4", shifted, two + "EINVAL")
    case("LAY3", "layout_len 2", with_layout(bytes(2)), two + "EINVAL")
    case("LAY3", "layout_len 6", with_layout(bytes(6)), two + "EINVAL")
    case("S1", "no strings", raw_btf(types, b""), BAD)
    case("S1", "the last byte not NUL", new().make()[:-1] + b"x", BAD)
    not_empty = bytearray(new().make())
    not_empty[24 + 16] = 65
    case("S2", "the first byte not NUL", bytes(not_empty), BAD)
    twice = new()
    twice.strings += b"int\0\0\0unused\0"
    twice.add(TYPEDEF, 2, 1)
    case("S3", "strings twice, empty, unused; a name in the middle of one", twice, OK)
    early = raw_btf(b"\0\0", types, header={"type_off": 2, "type_len": 16, "str_off": 0, "str_len": 2})
    case("T1", "type_off 2", early, BAD)
    case("T2", "no types", raw_btf([]), BAD)
    short = raw_btf(types + bytes(8), strings)
    case("T3", "8 bytes of a record", short, BAD)


def _records() -> None:
    case("T4", "PTR, bit 16 of info", new().add(PTR, 0, 1, vlen=1 << 16), BAD)
    many = new().add(ENUM, "e", 4, *(word for i in range(1 << 16) for word in ("x", i)), vlen=1 << 16)
    case("T4", "65,536 enumerators", many, "EINVAL; >=702 0")
    case("T4", "bit 29 of info", new().add(PTR, 0, 1, vlen=1 << 29), BAD)
    case("T5", "kind 0", new().add(0, 0, 0), BAD)
    case("T5", "kind 20", new().add(20, 0, 0), BAD)
    case("T6", "a name at the end of the strings", new().add(TYPEDEF, 5, 1), BAD)
    case("T7", "ARRAY without its words", new().add(ARRAY, 0, 0), BAD)
    case("T7", "65,535 members, none there", new().add(STRUCT, 0, 4, vlen=65535), BAD)
    most = new()
    most.words += (0, PTR << 24, 0) * (1_048_574 - 2) + (0, PTR << 24, 1_048_574)
    case("T8", "1,048,574 types, the last refers to itself", most.make(), "EEXIST")
    case("T8", "PTR to absent id 1,048,575", new().add(PTR, 0, 1_048_575), BAD)
    case("T8", "PTR to id 1,048,576", new().add(PTR, 0, 1_048_576), BAD)
    case("N1", "_a.b9", new().add(VAR, "_a.b9", 1, 0), OK)
    case("N1", ".a", new().add(VAR, ".a", 1, 0), OK)
    for text in ("9a", "a-b", "a<b>"):
        case("N1", text, new().add(TYPEDEF, text, 1), BAD)
    case("N2", "128 letters", new().add(TYPEDEF, "a" * 128, 1), OK)
    for count in (129, 512):
        case("N2", f"{count} letters", new().add(TYPEDEF, "a" * count, 1), "0; <601 EINVAL")
    case("N2", "513 letters", new().add(TYPEDEF, "a" * 513, 1), BAD)
    case("N3", "byte E9 inside", new().add(TYPEDEF, b"caf\xe9", 1), OK)
    case("N3", "bytes C3 A9 inside", new().add(TYPEDEF, b"caf\xc3\xa9", 1), BAD)
    case("N4", "TYPEDEF without a name", new().add(TYPEDEF, 0, 1), BAD)
    case("N4", "FWD without a name", new().add(FWD, 0, 0), BAD)
    case("N4", "FUNC without a name", new().proto(0).add(FUNC, 0, 2), BAD)
    case("N4", "VAR without a name", new().add(VAR, 0, 1, 0), BAD)
    case("N5", "PTR with a name", new().add(PTR, "p", 1), BAD)
    case("N5", "CONST with a name", new().add(CONST, "p", 1), BAD)
    case("N5", "ARRAY with a name", new().add(ARRAY, "p", 0, 1, 1, 1), BAD)
    case("N5", "FUNC_PROTO with a name", new().add(PROTO, "p", 0), BAD)
    case("N5", "PTR with the offset of an empty string", new().add(PTR, 4, 1), BAD)
    plain = new().struct(0, 4).struct(0, 4, kind=UNION).add(ENUM, 0, 4)
    case("N6", "STRUCT, UNION, ENUM without a name", plain, OK)
    case("N6", "INT and FLOAT with any name", new().add(INT, b"\1 -", 4, 32).add(FLOAT, b"\xff\1", 4), OK)
    case("N6", "INT and FLOAT without a name", new().add(INT, 0, 4, 32).add(FLOAT, 0, 4), OK)
    case("N6", "STRUCT with the offset of an empty string", new().struct(4, 4), BAD)
    printable = "0; <609 EINVAL"
    case("N7", "'.data..x y?*'", new().section(4, name=".data..x y?*"), printable)
    case("N7", "bytes C3 A9", new().section(4, name=b".d\xc3\xa9"), printable)
    case("N7", "a control byte", new().section(4, name=b".d\1"), BAD)
    case("N7", "bytes E2 80 A6", new().section(4, name=b".d\xe2\x80\xa6"), BAD)
    case("N7", "DATASEC without a name", new().section(4, name=0), BAD)
    case("N7", "VAR with a space", new().add(VAR, "a b", 1, 0), BAD)
    tags = new().struct("s", 4).add(DECL_TAG, b"\1 \xff", 2, -1).add(TYPE_TAG, b"\2 %", 1)
    case("N8", "tags with any bytes", tags, OK)
    case("N8", "an empty DECL_TAG", new().struct("s", 4).add(DECL_TAG, 0, 2, -1), BAD)
    case("N8", "an empty TYPE_TAG", new().add(TYPE_TAG, 0, 1), BAD)
    pair = new().struct("s", 4).struct("s", 4).add(TYPEDEF, "t", 1).add(TYPEDEF, "t", 1).proto(0)
    case("N9", "names twice", pair.add(FUNC, "f", 6).add(FUNC, "f", 6), OK)
    case("INT1", "vlen 1", new().add(INT, "i", 4, 32, vlen=1), BAD)
    case("INT1", "kind_flag", new().add(INT, "i", 4, 32, flag=1), BAD)
    case("INT2", "bit 28 of the data", new().add(INT, "i", 4, 0x10000020), BAD)
    case("INT3", "128 bits", new().add(INT, "i", 16, 128), OK)
    case("INT3", "128 bits at offset 8", new().add(INT, "i", 32, 8 << 16 | 128), BAD)
    case("INT4", "no bits, no size", new().add(INT, "i", 0, 0), OK)
    case("INT4", "24 bits in 3 bytes", new().add(INT, "i", 3, 24), OK)
    case("INT4", "33 bits in 4 bytes", new().add(INT, "i", 4, 33), BAD)
    case("INT5", "CHAR", new().add(INT, "i", 1, 2 << 24 | 8), OK)
    case("INT5", "SIGNED and CHAR", new().add(INT, "i", 1, 3 << 24 | 8), "ENOTSUPP")
    floats = new()
    for size in (2, 4, 8, 12, 16):
        floats.add(FLOAT, "f", size)
    case("FLT1", "2, 4, 8, 12, 16 bytes", floats, OK)
    case("FLT1", "10 bytes", new().add(FLOAT, "f", 10), BAD)
    case("FLT1", "vlen 1", new().add(FLOAT, "f", 4, vlen=1), BAD)
    case("FLT1", "kind_flag", new().add(FLOAT, "f", 4, flag=1), BAD)
    enums = new()
    for size in (1, 2, 4, 8):
        enums.add(ENUM, "e", size)
    case("ENUM1", "1, 2, 4, 8 bytes", enums, OK)
    for size in (3, 0, 16):
        case("ENUM1", f"{size} bytes", new().add(ENUM, "e", size), BAD)
    flagged = new().add(ENUM, "e", 4, "x", 1, "x", 1, vlen=2, flag=1)
    case("ENUM2", "kind_flag, an enumerator twice", flagged, "0; <600 EINVAL")
    case("ENUM3", "enumerator without a name", new().add(ENUM, "e", 4, 0, 1, vlen=1), BAD)
    case("ENUM3", "enumerator's name outside", new().add(ENUM, "e", 4, 99, 1, vlen=1), BAD)
    case("ENUM4", "ENUM64 of a byte", new().add(ENUM64, "e", 1), OK)
    case("ENUM4", "ENUM64 with kind_flag", new().add(ENUM64, "e", 8, flag=1), OK)
    case("ENUM4", "ENUM64 of 16 bytes", new().add(ENUM64, "e", 16), BAD)
    case("FWD1", "struct and union", new().add(FWD, "s", 0).add(FWD, "u", 0, flag=1), OK)
    case("FWD1", "third word 1", new().add(FWD, "s", 1), BAD)
    case("FWD1", "vlen 1", new().add(FWD, "s", 0, vlen=1), BAD)


def _references() -> None:
    case("REF1", "PTR, vlen 1", new().add(PTR, 0, 1, vlen=1), BAD)
    case("REF1", "TYPEDEF, kind_flag", new().add(TYPEDEF, "t", 1, flag=1), BAD)
    case("REF2", "PTR to id 99", new().add(PTR, 0, 99), BAD)
    for kind, name in ((PTR, ""), (CONST, ""), (TYPEDEF, "t")):
        case("REF3", f"kind {kind} to void", new().add(kind, name, 0), OK)
        case("REF3", f"kind {kind} to FWD", new().add(FWD, "f", 0).add(kind, name, 2), OK)
        case("REF3", f"kind {kind} to FUNC_PROTO", new().proto(0).add(kind, name, 2), OK)
    case("REF4", "PTR to VAR", new().add(VAR, "v", 1, 0).add(PTR, 0, 2), BAD)
    case("REF4", "CONST to DATASEC", new().section(4).add(CONST, 0, 2), BAD)
    case("REF4", "TYPEDEF to DECL_TAG", new().struct("s", 4).add(DECL_TAG, "t", 2, -1).add(TYPEDEF, "t", 3), BAD)
    since = "0; <516 EINVAL"
    case("REF5", "PTR to FUNC of smaller id", new().proto(0).add(FUNC, "f", 2).add(PTR, 0, 3), since)
    case("REF5", "CONST to FUNC of larger id", new().proto(0).add(CONST, 0, 4).add(FUNC, "f", 2), since)
    case("REF5", "PTR to FUNC of larger id", new().proto(0).add(PTR, 0, 4).add(FUNC, "f", 2), BAD)
    case(
        "REF5",
        "PTR to CONST to FUNC of larger id",
        new().proto(0).add(PTR, 0, 4).add(CONST, 0, 5).add(FUNC, "f", 2),
        BAD,
    )
    case("TAG1", "PTR, TYPE_TAG, CONST", new().add(CONST, 0, 1).add(TYPE_TAG, "t", 2).add(PTR, 0, 3), OK)
    case("TAG1", "TYPEDEF, PTR, TYPE_TAG", new().add(TYPE_TAG, "t", 1).add(PTR, 0, 2).add(TYPEDEF, "x", 3), OK)
    case("TAG1", "CONST, TYPE_TAG", new().add(TYPE_TAG, "t", 1).add(CONST, 0, 2), "EINVAL; >=702 0")
    case("TAG1", "TYPEDEF, TYPE_TAG", new().add(TYPE_TAG, "t", 1).add(TYPEDEF, "x", 2), "EINVAL; >=702 0")
    flagged = new().struct("s", 4).add(DECL_TAG, "t", 2, -1, flag=1).add(TYPE_TAG, "t", 1, flag=1)
    case("TAG2", "tags with kind_flag", flagged, "0; <615 EINVAL")
    case("LOOP1", "struct a { struct a *p }", new().struct("a", 8, ("p", 3, 0)).add(PTR, 0, 2), OK)
    case("LOOP1", "a prototype that takes a pointer to itself", new().proto(0, ("a", 3)).add(PTR, 0, 2), OK)
    case("LOOP1", "structs in each other", new().struct("a", 4, ("b", 3, 0)).struct("b", 4, ("a", 2, 0)), "EEXIST")
    case("LOOP1", "an array of itself", new().add(ARRAY, 0, 0, 2, 1, 1), "EEXIST")
    case("LOOP1", "CONST of itself", new().add(CONST, 0, 2), "EEXIST")
    case("LOOP1", "PTR, CONST, PTR", new().add(PTR, 0, 3).add(CONST, 0, 2), "EEXIST")
    case("LOOP1", "PTR to itself", new().add(PTR, 0, 2), "EEXIST")

    def row(kind: int, count: int, forward: bool) -> Maker:
        made = new()
        for i in range(count):
            last = i == count - 1
            made.add(kind, 0, (1 if last else i + 3) if forward else i + 1)
        return made

    case("LOOP2", "32 PTR, each to the next", row(PTR, 32, True), OK)
    case("LOOP2", "33 PTR, each to the next", row(PTR, 33, True), "E2BIG")
    case("LOOP2", "1,000 PTR, each to the one before", row(PTR, 1000, False), OK)
    case("LOOP3", "31 CONST, each to the next", row(CONST, 31, True), OK)
    case("LOOP3", "32 CONST, each to the next", row(CONST, 32, True), OK)
    case("LOOP3", "33 CONST, each to the next", row(CONST, 33, True), "E2BIG")
    case("LOOP3", "1,000 CONST, each to the one before", row(CONST, 1000, False), OK)


def _arrays() -> None:
    case("ARR1", "vlen 1", new().add(ARRAY, 0, 0, 1, 1, 1, vlen=1), BAD)
    case("ARR1", "kind_flag", new().add(ARRAY, 0, 0, 1, 1, 1, flag=1), BAD)
    case("ARR1", "third word 4", new().add(ARRAY, 0, 4, 1, 1, 1), BAD)
    case("ARR2", "no elements of no size", new().struct("s", 0).add(ARRAY, 0, 0, 2, 1, 0), OK)
    case("ARR2", "elements void", new().add(ARRAY, 0, 0, 0, 1, 1), BAD)
    case("ARR2", "index void", new().add(ARRAY, 0, 0, 1, 0, 1), BAD)
    case("ARR3", "elements FWD", new().add(FWD, "f", 0).add(ARRAY, 0, 0, 2, 1, 1), BAD)
    case("ARR3", "elements FUNC_PROTO", new().proto(0).add(ARRAY, 0, 0, 2, 1, 1), BAD)
    case("ARR3", "elements CONST void", new().add(CONST, 0, 0).add(ARRAY, 0, 0, 2, 1, 1), BAD)
    case("ARR3", "elements VAR", new().add(VAR, "v", 1, 0).add(ARRAY, 0, 0, 2, 1, 1), BAD)
    case("ARR4", "index TYPEDEF", new().add(TYPEDEF, "t", 1).add(ARRAY, 0, 0, 1, 2, 1), OK)
    case("ARR4", "index ENUM", new().add(ENUM, "e", 4).add(ARRAY, 0, 0, 1, 2, 1), BAD)
    case("ARR4", "index INT of 24 bits", new().add(INT, "i", 3, 24).add(ARRAY, 0, 0, 1, 2, 1), BAD)
    case("ARR4", "elements INT of 24 bits", new().add(INT, "i", 3, 24).add(ARRAY, 0, 0, 2, 1, 1), BAD)
    case("ARR5", "2^30 - 1 elements of 4", new().add(ARRAY, 0, 0, 1, 1, (1 << 30) - 1), OK)
    case("ARR5", "2^30 elements of 4", new().add(ARRAY, 0, 0, 1, 1, 1 << 30), BAD)


def _members() -> None:
    case("MEM1", "a name twice, and none", new().struct("s", 12, ("a", 1, 0), ("a", 1, 32), (0, 1, 64)), OK)
    case("MEM1", "a name outside", new().struct("s", 4, (99, 1, 0)), BAD)
    case("MEM1", "a-b", new().struct("s", 4, ("a-b", 1, 0)), BAD)
    case("MEM2", "void", new().struct("s", 4, ("a", 0, 0)), BAD)
    case("MEM2", "id 99", new().struct("s", 4, ("a", 99, 0)), BAD)
    case("MEM2", "FWD", new().add(FWD, "f", 0).struct("s", 4, ("a", 2, 0)), BAD)
    case("MEM2", "FUNC_PROTO", new().proto(0).struct("s", 4, ("a", 2, 0)), BAD)
    case("MEM2", "VAR", new().add(VAR, "v", 1, 0).struct("s", 4, ("a", 2, 0)), BAD)
    case("MEM2", "CONST void", new().add(CONST, 0, 0).struct("s", 4, ("a", 2, 0)), BAD)
    case("MEM3", "two at one offset", new().struct("s", 4, ("a", 1, 0), ("b", 1, 0)), OK)
    case("MEM3", "32, then 0", new().struct("s", 8, ("a", 1, 32), ("b", 1, 0)), BAD)
    case("MEM3", "8 in a union", new().struct("s", 8, ("a", 1, 8), kind=UNION), BAD)
    end = new().add(ARRAY, 0, 0, 1, 1, 0).struct("s", 4, ("a", 1, 0), ("b", 2, 32))
    case("MEM4", "no elements at the very end", end, OK)
    case("MEM4", "33 in 4 bytes", new().struct("s", 4, ("a", 1, 33)), BAD)
    case("MEM5", "INT at bit 3 of 8 bytes", new().struct("s", 8, ("a", 1, 3)), OK)
    case("MEM5", "INT at byte 2 of 4", new().struct("s", 4, ("a", 1, 16)), BAD)
    wide = new().add(INT, "i", 16, 128)
    case("MEM5", "128 bits at bit 1", wide.struct("s", 32, ("a", 2, 1)), BAD)
    case("MEM6", "PTR at byte 1 of 9", new().add(PTR, 0, 0).struct("s", 9, ("a", 2, 8)), OK)
    case("MEM6", "PTR at bit 4", new().add(PTR, 0, 0).struct("s", 16, ("a", 2, 4)), BAD)
    case("MEM6", "ENUM at bit 1", new().add(ENUM, "e", 4).struct("s", 16, ("a", 2, 1)), BAD)
    case("MEM6", "PTR in 7 bytes", new().add(PTR, 0, 0).struct("s", 7, ("a", 2, 0)), BAD)
    case("MEM6", "ARRAY too large", new().add(ARRAY, 0, 0, 1, 1, 2).struct("s", 4, ("a", 2, 0)), BAD)
    case("MEM6", "STRUCT too large", new().struct("t", 8).struct("s", 4, ("a", 2, 0)), BAD)
    through = new().struct("t", 8).add(CONST, 0, 2).add(TYPEDEF, "x", 3)
    case("MEM6", "through TYPEDEF and CONST", through.struct("s", 4, ("a", 4, 0)), BAD)
    case("MEM7", "FLOAT of 8 at byte 8", new().add(FLOAT, "f", 8).struct("s", 16, ("a", 2, 64)), OK)
    case("MEM7", "FLOAT of 16 at byte 8", new().add(FLOAT, "f", 16).struct("s", 24, ("a", 2, 64)), OK)
    case("MEM7", "FLOAT of 8 at byte 4", new().add(FLOAT, "f", 8).struct("s", 16, ("a", 2, 32)), BAD)

    def field(width: int, offset: int) -> int:
        return width << 24 | offset

    case("BIT1", "INT of 3 at 5", new().struct("s", 4, ("a", 1, field(3, 5)), flag=1), OK)
    case("BIT1", "INT of 33", new().struct("s", 8, ("a", 1, field(33, 0)), flag=1), BAD)
    case("BIT1", "INT, plain, at 3", new().struct("s", 8, ("a", 1, field(0, 3)), flag=1), BAD)
    case("BIT1", "4 at 29 of 4 bytes", new().struct("s", 4, ("a", 1, field(4, 29)), flag=1), BAD)
    case("BIT2", "INT of 3 bytes, no widths", new().add(INT, "i", 3, 24).struct("s", 4, ("a", 2, 0)), OK)
    case("BIT2", "INT of 3 bytes", new().add(INT, "i", 3, 24).struct("s", 4, ("a", 2, 0), flag=1), BAD)
    case("BIT3", "PTR", new().add(PTR, 0, 0).struct("s", 8, ("a", 2, field(3, 0)), flag=1), BAD)
    case("BIT3", "ARRAY", new().add(ARRAY, 0, 0, 1, 1, 1).struct("s", 8, ("a", 2, field(3, 0)), flag=1), BAD)
    case("BIT4", "ENUM of 2 at 3", new().add(ENUM, "e", 4).struct("s", 4, ("a", 2, field(2, 3)), flag=1), OK)
    small = new().add(ENUM, "e", 1)
    case("BIT4", "ENUM of a byte in the last, no widths", small.struct("s", 4, ("a", 2, 24)), OK)
    eight = new().add(ENUM64, "e", 8)
    case("BIT4", "ENUM64 of 8 bytes in 4", eight.struct("s", 4, ("a", 2, 0), flag=1), OK)
    small = new().add(ENUM, "e", 1)
    case("BIT4", "ENUM of a byte in the last, plain", small.struct("s", 4, ("a", 2, 24), flag=1), BAD)
    eight = new().add(ENUM64, "e", 8)
    case("BIT4", "ENUM64 of 33 bits", eight.struct("s", 8, ("a", 2, field(33, 0)), flag=1), BAD)
    case("BIT5", "at 2^24 - 32", new().struct("s", 1 << 21, ("a", 1, (1 << 24) - 32), flag=1), OK)
    case("BIT5", "at 2^24, no widths", new().struct("s", (1 << 21) + 4, ("a", 1, 1 << 24)), OK)


def _functions() -> None:
    case("PRO1", "kind_flag", new().add(PROTO, 0, 0, flag=1), BAD)
    case("PRO2", "STRUCT and ARRAY", new().struct("s", 4).add(ARRAY, 0, 0, 1, 1, 1).proto(2).proto(3), OK)
    case("PRO2", "id 99", new().proto(99), BAD)
    case("PRO2", "CONST void", new().add(CONST, 0, 0).proto(2), BAD)
    case("PRO2", "TYPEDEF of void", new().add(TYPEDEF, "t", 0).proto(2), BAD)
    case("PRO2", "FWD", new().add(FWD, "f", 0).proto(2), BAD)
    case("PRO2", "DECL_TAG", new().struct("s", 4).add(DECL_TAG, "t", 2, -1).proto(3), BAD)
    case("PRO3", "any number, last", new().proto(0, ("a", 1), (0, 0)), OK)
    case("PRO3", "any number, alone", new().proto(0, (0, 0)), OK)
    case("PRO3", "any number, with a name", new().proto(0, ("a", 1), ("b", 0)), BAD)
    case("PRO3", "void in front", new().proto(0, (0, 0), ("a", 1)), BAD)
    case("PRO4", "FWD", new().add(FWD, "f", 0).proto(0, ("a", 2)), BAD)
    case("PRO4", "FUNC_PROTO", new().proto(0).proto(0, ("a", 2)), BAD)
    case("PRO4", "VAR", new().add(VAR, "v", 1, 0).proto(0, ("a", 2)), BAD)
    case("PRO5", "without a name, no FUNC", new().proto(0, (0, 1)), OK)
    case("PRO5", "a-b", new().proto(0, ("a-b", 1)), BAD)
    case("PRO5", "a name outside", new().proto(0, (99, 1)), BAD)
    both = new().proto(0).add(FUNC, "f", 2).add(FUNC, "g", 2, vlen=1)
    case("FUN1", "static and global", both, OK)
    case("FUN1", "extern", new().proto(0).add(FUNC, "f", 2, vlen=2), BAD)
    case("FUN1", "kind_flag", new().proto(0).add(FUNC, "f", 2, flag=1), BAD)
    case("FUN2", "of INT", new().add(FUNC, "f", 1), BAD)
    case("FUN2", "of TYPEDEF of FUNC_PROTO", new().proto(0).add(TYPEDEF, "t", 2).add(FUNC, "f", 3), BAD)
    case("FUN3", "any number", new().proto(0, ("a", 1), (0, 0)).add(FUNC, "f", 2), OK)
    case("FUN3", "parameter without a name", new().proto(0, (0, 1)).add(FUNC, "f", 2), BAD)


def _variables() -> None:
    case("VAR1", "vlen 1", new().add(VAR, "v", 1, 0, vlen=1), BAD)
    case("VAR1", "kind_flag", new().add(VAR, "v", 1, 0, flag=1), BAD)
    case("VAR2", "extern", new().add(VAR, "v", 1, 2), BAD)
    case("VAR3", "void", new().add(VAR, "v", 0, 0), BAD)
    case("VAR3", "FWD", new().add(FWD, "f", 0).add(VAR, "v", 2, 0), BAD)
    case("VAR3", "FUNC_PROTO", new().proto(0).add(VAR, "v", 2, 0), BAD)
    case("VAR3", "VAR", new().add(VAR, "v", 1, 0).add(VAR, "v", 2, 0), BAD)
    empty = "0; <512 EINVAL"
    two = new().add(VAR, "v", 1, 0).add(VAR, "w", 1, 0)

    def pair(size: int, *entries: tuple[int, int, int]) -> Maker:
        return new().add(VAR, "v", 1, 0).add(VAR, "w", 1, 0).section(size, *entries)

    case("SEC1", "no entries, size 4", new().section(4), empty)
    case("SEC1", "size 0", new().section(0), BAD)
    case("SEC1", "kind_flag", new().add(DATASEC, ".data", 4, flag=1), BAD)
    case("SEC2", "entry void", new().section(4, (0, 0, 4)), BAD)
    case("SEC2", "entry INT", new().section(4, (1, 0, 4)), BAD)
    case("SEC3", "ascending, a gap, up to the end", two.section(12, (2, 0, 4), (3, 8, 4)), OK)
    case("SEC3", "descending", pair(12, (2, 8, 4), (3, 0, 4)), BAD)
    case("SEC3", "overlap by 2", pair(12, (2, 0, 4), (3, 2, 4)), BAD)
    case("SEC3", "offset = size", pair(12, (2, 12, 4)), BAD)
    case("SEC4", "offset + size wraps", pair(0xFFFFFFFF, (2, 0xFFFFFFFE, 4)), OK)
    case("SEC4", "entry of size 0", pair(12, (2, 0, 0)), BAD)
    case("SEC4", "entry larger than the section", pair(12, (2, 0, 13)), BAD)
    case("SEC4", "entry past the end", pair(12, (2, 10, 4)), BAD)
    case("SEC5", "one VAR twice", pair(12, (2, 0, 4), (2, 4, 4)), OK)
    case("SEC5", "entry larger than the type", pair(12, (2, 0, 8)), OK)
    case("SEC5", "entry smaller than the type", pair(12, (2, 0, 2)), BAD)
    first = new().section(4, (3, 0, 4)).add(VAR, "v", 4, 0).add(CONST, 0, 5).struct("s", 4)
    case("SEC6", "VAR of CONST of STRUCT, section first", first, OK)

    def tagged(made: Maker, id: int, component: int = -1, vlen: int = 0) -> Maker:
        return made.add(DECL_TAG, "t", id, component, vlen=vlen)

    def two_members() -> Maker:
        return new().struct("s", 8, ("a", 1, 0), ("b", 1, 32))

    def function() -> Maker:
        return new().proto(0, ("a", 1)).add(FUNC, "f", 2)

    case("DTG1", "vlen 1", tagged(new().struct("s", 4), 2, vlen=1), BAD)
    case("DTG1", "component -2", tagged(new().struct("s", 4), 2, -2), BAD)
    case("DTG2", "STRUCT", tagged(new().struct("s", 4), 2), OK)
    case("DTG2", "UNION", tagged(new().struct("s", 4, kind=UNION), 2), OK)
    case("DTG2", "FUNC", tagged(function(), 3), OK)
    case("DTG2", "VAR", tagged(new().add(VAR, "v", 1, 0), 2), OK)
    case("DTG2", "TYPEDEF", tagged(new().add(TYPEDEF, "x", 1), 2), OK)
    case("DTG2", "INT", tagged(new(), 1), BAD)
    case("DTG2", "ENUM", tagged(new().add(ENUM, "e", 4), 2), BAD)
    case("DTG2", "PTR", tagged(new().add(PTR, 0, 1), 2), BAD)
    case("DTG2", "FUNC_PROTO", tagged(new().proto(0), 2), BAD)
    case("DTG2", "CONST of STRUCT", tagged(new().struct("s", 4).add(CONST, 0, 2), 3), BAD)
    case("DTG3", "STRUCT of 2, component 1", tagged(two_members(), 2, 1), OK)
    case("DTG3", "FUNC of 1, component 0", tagged(function(), 3, 0), OK)
    case("DTG3", "STRUCT of 2, component 2", tagged(two_members(), 2, 2), BAD)
    case("DTG3", "FUNC of 1, component 1", tagged(function(), 3, 1), BAD)
    case("DTG3", "VAR, component 0", tagged(new().add(VAR, "v", 1, 0), 2, 0), BAD)
    case("DTG3", "TYPEDEF, component 0", tagged(new().add(TYPEDEF, "x", 1), 2, 0), BAD)


def _special() -> None:
    def lock(size: int = 4) -> Maker:
        return new().struct("bpf_spin_lock", size, ("val", 1, 0))

    case("SPC1", "a lock", lock().struct("s", 4, ("l", 2, 0)), OK)
    case("SPC1", "two locks", lock().struct("s", 8, ("l", 2, 0), ("m", 2, 32)), "E2BIG; <602 0")
    case("SPC1", "a lock at byte 2", lock().struct("s", 8, ("l", 2, 16)), "EFAULT; <602 0")
    case("SPC1", "a lock of 8 bytes", lock(8).struct("s", 8, ("l", 2, 0)), "EFAULT; <602 0")

    def listed(tag: bool, locked: bool, *more: str) -> Maker:
        made = new().add(INT, "u64", 8, 64)
        made.struct("bpf_list_head", 16, ("a", 2, 0), ("b", 2, 64)).struct(
            "bpf_list_node", 24, ("a", 2, 0), ("b", 2, 64), ("c", 2, 128)
        )
        made.struct("bpf_spin_lock", 4, ("val", 1, 0))
        others = [(name, 2, 192 + 64 * n) for n, name in enumerate(more)]
        made.struct("item", 24 + 8 * len(more), ("node", 4, 0), *others)
        made.struct("s", 24, ("head", 3, 0), *((("lock", 5, 128),) if locked else ()))
        return made.add(DECL_TAG, "contains:item:node", 7, 0) if tag else made

    case("SPC2", "list with its tag and a lock", listed(True, True), OK)
    case("SPC2", "list with its tag, no lock", listed(True, False), "EINVAL; <516 EINVAL; <602 0")
    case("SPC2", "list without its tag", listed(False, True), "EINVAL; <602 0")
    case("SPC3", "two other members of one name", listed(True, True, "a", "a"), OK)
    case("SPC3", "two members of the node's name", listed(True, True, "node"), "EINVAL; <516 EINVAL; <602 0")


for _make in (_headers, _records, _references, _arrays, _members, _functions, _variables, _special):
    _make()
