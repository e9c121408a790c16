"""Random BTF: graphs of types as compilers make them, and as they could.

    python -m tools.generate.randbtf SEED > out.btf

A contained type has a lower id than its container; pointers lead anywhere. Names come from a small pool, so that many
types share one. Structs are laid out as in C, and some are then spoilt: packed, with gaps, with odd sizes.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field

from tests.builders.rawbtf import raw_btf

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO = range(1, 14)
VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(14, 20)
COMPLETE = {INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, VOLATILE, CONST, RESTRICT, FLOAT, ENUM64, TYPE_TAG}


@dataclass
class Made:
    """What is known about an added type: its kind, and the size and alignment of its values, or 0."""

    kind: int
    name: str
    size: int = 0
    align: int = 0


@dataclass
class RandomBtf:
    """One BTF, by its seed."""

    seed: int
    order: str = "<"
    words: list[int] = field(default_factory=list)
    strings: bytearray = field(default_factory=lambda: bytearray(1))
    offsets: dict[str, int] = field(default_factory=lambda: {"": 0})
    types: list[Made] = field(default_factory=lambda: [Made(0, "")])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.order = self.random.choice("<<>")
        self.pointer = self.random.choice((8, 8, 4))
        self.total = self.random.choice((6, 20, 60, 200))
        self.pool = [f"n{i}" for i in range(max(3, self.total // self.random.choice((2, 4, 10))))]
        self.later: list[int] = []  # words that will become the id of a named struct

    def string(self, text: str) -> int:
        if text not in self.offsets:
            self.offsets[text] = len(self.strings)
            self.strings += text.encode() + b"\0"
        return self.offsets[text]

    def add(self, made: Made, third: int, rest: tuple[int, ...] = (), vlen: int = 0, flag: int = 0) -> int:
        self.words += (self.string(made.name), flag << 31 | made.kind << 24 | vlen, third & 0xFFFFFFFF)
        self.words += (word & 0xFFFFFFFF for word in rest)
        self.types.append(made)
        return len(self.types) - 1

    def name(self, empty: float = 0.0) -> str:
        return "" if self.random.random() < empty else self.random.choice(self.pool)

    def pick(self, kinds: set[int], void: float = 0.0) -> int:
        """An earlier type of one of these kinds; 0 if there is none."""
        if self.random.random() < void:
            return 0
        for _ in range(30):
            id = self.random.randrange(len(self.types))
            if self.types[id].kind in kinds:
                return id
        return 0

    def complete(self) -> int:
        """A type that something can contain; the first is an int."""
        for _ in range(30):
            id = self.pick(COMPLETE)
            if self.types[id].align:
                return id
        return 1

    def number(self) -> None:
        name, size, encoding = self.random.choice(
            [("int", 4, 1), ("unsigned int", 4, 0), ("char", 1, 1), ("_Bool", 1, 4), ("short int", 2, 1),
             ("long long int", 8, 1), ("unsigned __int128", 16, 0), ("unsigned char", 1, 0)]
        )  # fmt: skip
        align = min(size, self.pointer)
        self.add(Made(INT, name, size, align), size, (encoding << 24 | 8 * size,))

    def floating(self) -> None:
        size = self.random.choice((4, 8, 16))
        self.add(Made(FLOAT, {4: "float", 8: "double", 16: "long double"}[size], size, min(size, self.pointer)), size)

    def to_pointer(self) -> None:
        if self.random.random() < 0.4:
            self.add(Made(PTR, "", self.pointer, self.pointer), 0)
            self.later.append(len(self.words) - 1)
        else:
            target = self.pick(COMPLETE | {FUNC_PROTO, FWD}, void=0.1)
            self.add(Made(PTR, "", self.pointer, self.pointer), target)

    def array(self) -> None:
        of = self.complete()
        count = self.random.choice((0, 1, 2, 3, 7))
        self.add(Made(ARRAY, "", self.types[of].size * count, self.types[of].align), 0, (of, 1, count))

    def link(self, kind: int) -> None:
        of = self.pick(COMPLETE | {FWD, FUNC_PROTO}, void=0.05)
        target = self.types[of]
        name = self.name() if kind in (TYPEDEF, TYPE_TAG) else ""
        flag = kind == TYPE_TAG and self.random.random() < 0.3
        self.add(Made(kind, name, target.size, target.align), of, flag=int(flag))

    def enum(self, kind: int) -> None:
        count = self.random.choice((0, 1, 2, 5))
        signed = self.random.random() < 0.4
        size = self.random.choice((4, 4, 4, 1, 2, 8)) if kind == ENUM else self.random.choice((8, 8, 4))
        words: list[int] = []
        for _ in range(count):
            bits = self.random.choice((3, 16, 32, 40, 63))
            value = self.random.randrange(1 << bits) * (-1 if signed and self.random.random() < 0.5 else 1)
            words += (self.string(self.name().upper()), value & 0xFFFFFFFF)
            if kind == ENUM64:
                words.append(value >> 32)
        self.add(Made(kind, self.name(0.3), size, min(size, self.pointer)), size, tuple(words), count, int(signed))

    def composite(self, kind: int) -> None:
        """Members in their places, or nearly."""
        packed = self.random.random() < 0.15
        odd = self.random.random() < 0.2
        flag = self.random.random() < 0.4
        at = 0  # bits
        most = 1
        widest = 0
        words: list[int] = []
        count = self.random.choice((0, 1, 2, 3, 4, 8))
        for _ in range(count):
            of = self.complete()
            made = self.types[of]
            bits = 0
            if flag and made.kind in (INT, ENUM) and 0 < made.size <= 8 and self.random.random() < 0.6:
                unit = 8 * made.size
                bits = self.random.randrange(1, unit + 1)
                if at // unit != (at + bits - 1) // unit and not packed:
                    at = -(-at // unit) * unit
                if odd and self.random.random() < 0.3:
                    at += self.random.randrange(1, 40)
            else:
                align = 8 if packed else 8 * max(1, made.align)
                at = -(-at // align) * align
                if odd and self.random.random() < 0.4:
                    at += 8 * self.random.choice((1, 2, 4, 8, 12, 16, 33))
            if kind == UNION:
                at = 0
            most = max(most, 1 if packed else made.align)
            words += (self.string(self.name(0.2)), of, bits << 24 | at if flag else at)
            at += bits or 8 * made.size
            widest = max(widest, at)
        size = -(-widest // 8)
        size = -(-size // most) * most
        if odd and self.random.random() < 0.5:
            size += self.random.choice((1, 2, 4, 8, 24))
        made = Made(kind, self.name(0.3), size, most)
        self.add(made, size, tuple(words), count, int(flag))

    def prototype(self) -> None:
        words: list[int] = []
        count = self.random.choice((0, 1, 1, 2, 4))
        for i in range(count):
            last = i == count - 1 and self.random.random() < 0.15
            of = 0 if last else (self.pick(COMPLETE) or 1)
            words += (0 if last else self.string(self.name(0.3)), of)
        self.add(Made(FUNC_PROTO, ""), self.pick(COMPLETE, void=0.3), tuple(words), count)

    def function(self) -> None:
        prototype = self.pick({FUNC_PROTO})
        if not prototype:
            return
        function = self.add(Made(FUNC, f"f{len(self.types)}"), prototype, vlen=self.random.choice((0, 1, 2)))
        for tag in ("bpf_kfunc", "bpf_fastcall", "other"):
            if self.random.random() < 0.4:
                self.add(Made(DECL_TAG, tag), function, (self.random.choice((-1, -1, -1, 0)),))

    def variables(self) -> None:
        words: list[int] = []
        for i in range(self.random.choice((0, 1, 3))):
            of = self.complete()
            variable = self.add(Made(VAR, f"v{len(self.types)}"), of, (self.random.choice((0, 1, 2)),))
            words += (variable, 16 * i, self.types[of].size)
        self.add(Made(DATASEC, ".data"), 48, tuple(words), len(words) // 3)

    def make(self) -> bytes:
        self.number()
        if self.pointer == 4 or self.random.random() < 0.5:
            name = self.random.choice(("long int", "long unsigned int"))
            self.add(Made(INT, name, self.pointer, self.pointer), self.pointer, (8 * self.pointer,))
        steps = [
            (2, self.number), (1, self.floating), (8, self.to_pointer), (3, self.array),
            (4, lambda: self.link(TYPEDEF)), (1, lambda: self.link(VOLATILE)), (2, lambda: self.link(CONST)),
            (1, lambda: self.link(RESTRICT)), (1, lambda: self.link(TYPE_TAG)),
            (3, lambda: self.enum(ENUM)), (1, lambda: self.enum(ENUM64)),
            (8, lambda: self.composite(STRUCT)), (3, lambda: self.composite(UNION)),
            (3, self.prototype), (2, self.function), (1, self.variables),
            (2, lambda: self.add(Made(FWD, self.name()), 0, flag=self.random.randrange(2))),
        ]  # fmt: skip
        while len(self.types) < self.total:
            self.random.choices([step for _, step in steps], [weight for weight, _ in steps])[0]()
        named = [id for id, made in enumerate(self.types) if made.kind in (STRUCT, UNION) and made.name]
        for word in self.later:
            self.words[word] = self.random.choice(named) if named else 1
        return raw_btf(self.words, bytes(self.strings), order=self.order)


if __name__ == "__main__":
    sys.stdout.buffer.write(RandomBtf(int(sys.argv[1])).make())
