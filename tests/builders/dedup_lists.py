"""Small lists of types, and what libbpf 1.7.0 leaves of them: `tools/judge/dedup_oracle/check_hand.py` asks it."""

from __future__ import annotations

from tests.builders.rawbtf import raw_btf

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST = range(1, 11)
RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(11, 20)
STRINGS = b"\0a\0b\0c\0d\0"
A, B, C, D = 1, 3, 5, 7
Record = tuple[int, ...]


def record(kind: int, name: int, third: int, *tail: int, vlen: int = 0, flag: int = 0) -> Record:
    return (name, flag << 31 | kind << 24 | vlen, third, *tail)


def struct_of(name: int, *members: tuple[int, int], kind: int = STRUCT) -> Record:
    """A struct of 8-byte members (name, type)."""
    words = [w for i, (member, target) in enumerate(members) for w in (member, target, 64 * i)]
    return record(kind, name, 8 * len(members), *words, vlen=len(members))


def pointer(target: int) -> Record:
    return record(PTR, 0, target)


def typedef(name: int, target: int) -> Record:
    return record(TYPEDEF, name, target)


def forward(name: int, union: bool = False) -> Record:
    return record(FWD, name, 0, flag=int(union))


def enum(name: int, *values: int, kind: int = ENUM) -> Record:
    words = [w for v in values for w in ((A, v) if kind == ENUM else (A, v, 0))]
    return record(kind, name, 4 if values else 0, *words, vlen=len(values))


INT32 = record(INT, A, 4, 32)


def raw(*records: Record, order: str = "<", strings: bytes = STRINGS) -> bytes:
    return raw_btf([word for each in records for word in each], strings, order=order)


HAND: dict[str, tuple[list[Record], list[Record]]] = {
    "ints": ([INT32, INT32, record(INT, A, 4, 31)], [INT32, record(INT, A, 4, 31)]),
    "pointer reached first wins": (
        # 5 and 7 are equal, but 7 is reached first, through 3
        [INT32, INT32, pointer(7), INT32, record(CONST, 0, 1), INT32, record(CONST, 0, 2)],
        [INT32, pointer(3), record(CONST, 0, 1)],
    ),
    "forward with a definition elsewhere": (
        [forward(B), pointer(1), struct_of(B, (A, 2))],
        [pointer(2), struct_of(B, (A, 1))],
    ),
    "forward blocked by a union of the name": (
        [forward(B), pointer(1), struct_of(B), struct_of(B, kind=UNION)],
        [forward(B), pointer(1), struct_of(B), struct_of(B, kind=UNION)],
    ),
    "forward resolved by comparison": (
        [forward(B), pointer(1), struct_of(C, (A, 2)), struct_of(B), pointer(4), struct_of(C, (A, 5))],
        [pointer(3), struct_of(C, (A, 1)), struct_of(B)],
    ),
    "empty enum taken over": ([enum(B), enum(B, 1), enum(B)], [enum(B, 1)]),
    "enum and enum64 of a name": (
        [enum(B, kind=ENUM64), enum(B, 1), enum(B, 2, kind=ENUM64)],
        [enum(B, 1), enum(B, 2, kind=ENUM64)],
    ),
    "recursive structs": (
        [struct_of(B, (A, 2)), pointer(1), pointer(4), struct_of(B, (A, 3))],
        [struct_of(B, (A, 2)), pointer(1)],
    ),
    "copies in one unit, but for elements of arrays": (
        # 6 and 7 count as copies of each other although their arrays differ, so 5 is 4
        [
            INT32,
            record(ARRAY, 0, 0, 1, 1, 2),
            struct_of(D, (A, 2)),
            struct_of(C, (A, 3), (B, 3)),
            struct_of(C, (A, 6), (B, 7)),
            struct_of(D, (A, 8)),
            struct_of(D, (A, 9)),
            record(ARRAY, 0, 0, 10, 10, 2),
            record(ARRAY, 0, 0, 11, 10, 2),
            INT32,
            record(INT, B, 1, 8),
        ],
        [
            INT32,
            record(ARRAY, 0, 0, 1, 1, 2),
            struct_of(D, (A, 2)),
            struct_of(C, (A, 3), (B, 3)),
            struct_of(D, (A, 6)),
            record(ARRAY, 0, 0, 7, 1, 2),
            record(INT, B, 1, 8),
        ],
    ),
    "index of an array before its element": (
        # both declarations of B become one, which resolves to the definition that is met first
        [
            *(forward(B), pointer(1), forward(B), pointer(3), record(ARRAY, 0, 0, 4, 2, 1), struct_of(C, (A, 5))),
            *(struct_of(C, (A, 8)), record(ARRAY, 0, 0, 9, 10, 1), pointer(11), pointer(12)),
            *(struct_of(B, (A, 0)), struct_of(B, (B, 0))),
        ],
        [
            *(pointer(7), record(ARRAY, 0, 0, 1, 1, 1), struct_of(C, (A, 2))),
            *(record(ARRAY, 0, 0, 5, 1, 1), pointer(6), struct_of(B, (A, 0)), struct_of(B, (B, 0))),
        ],
    ),
    "members at other offsets, in what structs of one name point to": (
        [
            *(INT32, record(STRUCT, B, 8, A, 1, 0, B, 1, 32, vlen=2), pointer(2), struct_of(C, (A, 3))),
            *(INT32, record(STRUCT, B, 8, A, 5, 32, B, 5, 0, vlen=2), pointer(6), struct_of(C, (A, 7))),
        ],
        [
            *(INT32, record(STRUCT, B, 8, A, 1, 0, B, 1, 32, vlen=2), pointer(2), struct_of(C, (A, 3))),
            *(record(STRUCT, B, 8, A, 1, 32, B, 1, 0, vlen=2), pointer(5), struct_of(C, (A, 6))),
        ],
    ),
    "bit-fields of other widths, in what structs of one name point to": (
        [
            *(INT32, record(STRUCT, B, 8, A, 1, 3 << 24, vlen=1, flag=1), pointer(2), struct_of(C, (A, 3))),
            *(INT32, record(STRUCT, B, 8, A, 5, 4 << 24, vlen=1, flag=1), pointer(6), struct_of(C, (A, 7))),
        ],
        [
            *(INT32, record(STRUCT, B, 8, A, 1, 3 << 24, vlen=1, flag=1), pointer(2), struct_of(C, (A, 3))),
            *(record(STRUCT, B, 8, A, 1, 4 << 24, vlen=1, flag=1), pointer(5), struct_of(C, (A, 6))),
        ],
    ),
    "variables stay": (
        [
            INT32,
            INT32,
            record(VAR, B, 2, 1),
            record(VAR, B, 1, 1),
            record(DATASEC, C, 8, 3, 0, 4, 4, 4, 4, vlen=2),
        ],
        [INT32, record(VAR, B, 1, 1), record(VAR, B, 1, 1), record(DATASEC, C, 8, 2, 0, 4, 3, 4, 4, vlen=2)],
    ),
    "nothing": ([], []),
}


SPLIT: dict[str, tuple[list[Record], list[Record], list[Record]]] = {
    "typedefs of the base are not found": (
        [INT32, typedef(B, 1), pointer(1), struct_of(C, (A, 3))],
        [INT32, typedef(B, 5), pointer(5), struct_of(C, (A, 7)), pointer(8)],
        [typedef(B, 1), pointer(4)],
    ),
    "nor are those of void": (
        [typedef(A, 0), pointer(1), typedef(B, 1)],
        [typedef(A, 0), pointer(4), typedef(B, 4), pointer(6)],
        [typedef(A, 0), pointer(4), typedef(B, 4), pointer(6)],
    ),
    "a declaration of the base is completed": (
        [forward(B), pointer(1), struct_of(C, (A, 2))],
        [struct_of(B), pointer(4), struct_of(C, (A, 5)), pointer(1)],
        [struct_of(B), pointer(4), struct_of(C, (A, 5))],
    ),
    "a nameless struct of the base, of which a member is only declared": (
        [INT32, struct_of(A, (B, 1)), struct_of(0, (C, 2)), pointer(3)],
        [forward(A), struct_of(0, (C, 5)), pointer(6)],
        [],
    ),
    "nameless structs with members of one name": (
        [INT32, struct_of(A, (B, 1)), struct_of(0, (C, 2)), struct_of(B, (B, 1)), struct_of(0, (C, 4))],
        [INT32, struct_of(B, (B, 6)), struct_of(0, (C, 7)), pointer(8), struct_of(D, (B, 6)), struct_of(0, (C, 10))],
        [pointer(5), struct_of(D, (B, 1)), struct_of(0, (C, 7))],
    ),
    "a pointer that the base has twice": (
        [INT32, pointer(1), pointer(1), struct_of(A, (B, 2)), pointer(2), pointer(3)],
        [INT32, pointer(7), struct_of(A, (B, 8)), pointer(8), typedef(C, 8), typedef(D, 10)],
        [typedef(C, 3), typedef(D, 6)],
    ),
    "a pointer to what is not the same after all": (
        [INT32, typedef(B, 1), pointer(2), struct_of(A, (B, 3))],
        [INT32, typedef(B, 5), pointer(6), struct_of(A, (B, 7)), pointer(8)],
        [typedef(B, 1), pointer(5), pointer(4)],
    ),
    "nothing new": ([INT32, pointer(1)], [INT32, pointer(3)], []),
}
