"""Lists of types as from several units. Some units define names differently, and names reach each other.

The types between two names are drawn once for all units, so that comparisons go deep: pointers, qualifiers, typedefs,
arrays, prototypes, nameless structs and enumerations. A unit declares or defines each name. It may have copies of
nameless types, and may have a name twice.
"""

from __future__ import annotations

import random

from tests.builders.dedup_lists import (
    ARRAY,
    CONST,
    FUNC_PROTO,
    INT32,
    STRUCT,
    TYPE_TAG,
    UNION,
    A,
    B,
    C,
    D,
    Record,
    enum,
    forward,
    pointer,
    raw,
    record,
    struct_of,
    typedef,
)

LINKS = (
    "pointer", "const", "array", "typedef", "prototype", "struct", "union", "tag", "embedded", "enum", "named enum",
)  # fmt: skip
VALUES: tuple[list[int], ...] = ([1], [1], [1], [2], [])


class Unit:
    """The records of one unit; the first has the id `first`."""

    def __init__(self, first: int, rng: random.Random, copies: float) -> None:
        self.records: list[Record] = []
        self._first = first
        self._rng = rng
        self._copies = copies
        self._known: dict[Record, int] = {}

    def add(self, one: Record) -> int:
        """The id of a record; usually that of an equal one, if there is one."""
        if one in self._known and self._rng.random() >= self._copies:
            return self._known[one]
        self.records.append(one)
        self._known[one] = self._first + len(self.records) - 1
        return self._known[one]

    def link(self, kind: str, to: int, names: list[int]) -> int:
        """The types between a member and the type `to`; 0 is void."""
        integer = self.add(INT32)
        if to == 0:
            return self.add(pointer(0))
        if kind == "array":
            return self.add(record(ARRAY, 0, 0, to, integer, 2))
        if kind == "prototype":
            more = self._rng.choice((integer, integer, integer, integer, 0))
            words = (A, self.add(pointer(to)), 0, more)
            return self.add(pointer(self.add(record(FUNC_PROTO, 0, self.add(pointer(to)), *words, vlen=2))))
        if kind == "struct":
            return self.add(struct_of(0, (A, self.add(pointer(to))), (B, integer)))
        if kind == "union":
            return self.add(record(UNION, 0, 8, A, self.add(pointer(to)), 0, C, integer, 0, vlen=2))
        if kind == "typedef":
            return self.add(pointer(self.add(typedef(names[to % len(names)], to))))
        if kind == "tag":
            return self.add(pointer(self.add(record(TYPE_TAG, B, to))))
        if kind == "const":
            return self.add(pointer(self.add(record(CONST, 0, to))))
        if kind == "enum":
            return self.add(enum(0, *self._rng.choice(VALUES)))
        if kind == "named enum":
            return self.add(enum(D, *self._rng.choice(VALUES)))
        return to if kind == "embedded" else self.add(pointer(to))


def listing(seed: int, *, units: int = 12, names: int = 6) -> bytes:
    """Raw BTF of such a list."""
    rng = random.Random(seed)
    strings = b"\0a\0b\0c\0d\0"
    at = []
    for n in range(2 * names):
        at.append(len(strings))
        strings += b"n%d\0" % n
    kinds = [rng.choice(LINKS), *rng.sample(("array", "enum", "struct", "pointer", "prototype"), rng.randint(0, 3))]
    links = [[(rng.choice(kinds), rng.randrange(names)) for _ in range(rng.randint(1, 3))] for _ in range(names)]
    odd, declared, twice = rng.choice([0.03, 0.1, 0.2]), rng.choice([0.0, 0.1, 0.4]), rng.choice([0.0, 0.0, 0.15])
    copies = rng.choice([0.0, 0.0, 0.2])
    records: list[Record] = []
    for _ in range(units):
        unit = Unit(len(records) + 1, rng, copies)
        # Names have the first ids. Their records are filled in when the types between them are known.
        again = [n for n in range(names) if rng.random() < twice]
        owners = [*range(names), *again]
        places = [unit.add(record(STRUCT, 0, n)) for n in range(len(owners))]
        of_name = [[place for owner, place in zip(owners, places, strict=True) if owner == n] for n in range(names)]
        for n, (name, place) in enumerate(zip(owners, places, strict=True)):
            if rng.random() < declared:
                made = forward(at[name])
            else:
                chosen = list(links[name])
                member = A
                if rng.random() < (0.5 if n >= names else odd):
                    # Distinguished by the struct itself, or only by what it reaches.
                    member = rng.choice((A, A, C))
                    one = rng.randrange(len(chosen))
                    chosen[one] = chosen[one][0], rng.randrange(-1, names)
                targets = [(kind, rng.choice(of_name[to]) if to >= 0 else 0) for kind, to in chosen]
                made = struct_of(at[name], *[(member, unit.link(kind, to, at[names:])) for kind, to in targets])
            unit.records[place - len(records) - 1] = made
        records += unit.records
    return raw(*records, strings=strings)
