"""The programs of `conflicts.py` as ELF files: DWARF 5 with one abbreviation table, written without a compiler."""

from __future__ import annotations

import struct
from typing import Any

from tests.builders.conflicts import Expr, Item, Member, Unit
from tests.builders.elfwriter import Section, Symbol, elf
from tests.builders.rawdwarf import ADDR, DATA1, DATA2, EXPRLOC, PRESENT, REF4, STRING, Attribute, RawDwarf

TAGS = {"struct": 0x13, "union": 0x17, "enum": 0x04}
LINKS = {"ptr": 0x0F, "const": 0x26, "volatile": 0x35, "restrict": 0x37}
BASES = {"int": (4, 5), "unsigned int": (4, 7), "char": (1, 6), "long": (8, 5), "float": (4, 4)}
TEXT, VARIABLES = 0x1000, 0x100000
NAME, SIZE, ENCODING, TYPE, DECLARATION, CONST, UPPER, LOCATION, BITS, BIT_OFFSET, PROTOTYPED = (
    *(0x03, 0x0B, 0x3E, 0x49, 0x3C, 0x1C, 0x2F, 0x38, 0x0D, 0x6B, 0x27),
)


class Writer(RawDwarf):
    """DWARF 5; a reference may be written before its target."""

    def __init__(self) -> None:
        super().__init__(5)
        self.symbols: list[Symbol] = []

    def unit(self, items: Unit) -> None:
        self.labels: dict[Any, int] = {}
        self.made: dict[Expr, Any] = {}
        self.queue: list[tuple[Any, Expr, Any]] = []
        self.n = 0
        self.wanted: dict[tuple[str, str], int] = {}
        self.begin()
        self.names: dict[tuple[str, str], list[Any]] = {}
        self.plan(items)
        for item in items:
            self.item(item)
            self.drain()
        for tag, name in list(self.wanted):
            if (tag, name) not in self.names:
                self.names[tag, name] = [("declared", tag, name)]
                self.declare(tag, name, ("declared", tag, name))
        self.end(self.offset_of)

    def offset_of(self, label: Any) -> int:
        if label[0] == "name":
            _, tag, name, n = label
            known = self.names[tag, name]
            label = known[min(n, len(known) - 1)]
        return self.labels[label]

    def plan(self, items: Unit) -> None:
        """The labels of the unit's names."""
        for n, item in enumerate(items):
            if item[0] == "declare":
                self.names.setdefault((item[1], item[2]), []).append(("item", n))
            elif item[0] not in ("use", "variable", "function"):
                self.names.setdefault((item[0], item[1]), []).append(("item", n))
        self.item_number = -1

    # -- types

    def type(self, expr: Expr, back: Any) -> tuple[Attribute, ...]:
        """The attribute of a reference to a type; the type is added to the list of what is to be written."""
        label = self.label(expr, back)
        return () if label is None else ((TYPE, REF4, label),)

    def label(self, expr: Expr, back: Any) -> Any:
        kind = expr[0]
        if kind == "void":
            return None
        if kind == "back":
            return back
        if kind == "name":
            self.wanted[expr[1], expr[2]] = 1
            return expr
        if kind == "typedef":
            self.wanted["typedef", expr[1]] = 1
            return ("name", "typedef", expr[1], 0)
        if kind == "fresh":
            return self.make(expr[1], back)
        label = self.made.get((expr, back))
        if label is None:
            label = self.made[expr, back] = self.make(expr, back)
        return label

    def make(self, expr: Expr, back: Any) -> Any:
        self.n += 1
        label = ("new", self.n)
        if expr[0] == "rec":
            expr, back = expr[1], label
            while expr[0] == "fresh":
                expr = expr[1]
        self.queue.append((label, expr, back))
        return label

    def drain(self) -> None:
        while self.queue:
            label, expr, back = self.queue.pop(0)
            self.labels[label] = self.at()
            self.write(expr, back)

    def write(self, expr: Expr, back: Any) -> None:
        kind = expr[0]
        if kind == "base":
            size, encoding = BASES[expr[1]]
            self.die(0x24, (NAME, STRING, expr[1]), (SIZE, DATA1, size), (ENCODING, DATA1, encoding))
        elif kind in LINKS:
            self.die(LINKS[kind], *self.type(expr[1], back))
        elif kind == "array":
            self.die(0x01, *self.type(expr[1], back), children=True)
            self.die(0x21, (UPPER, DATA1, expr[2] - 1))
            self.null()
        elif kind in ("struct", "union"):
            self.record(kind, (), expr[1], expr[2], back)
        elif kind == "enum":
            self.enumeration((), expr[1], expr[2])
        elif kind == "proto":
            self.die(0x15, (PROTOTYPED, PRESENT, 1), *self.type(expr[1], back), children=True)
            for name, type in expr[2]:
                names = ((NAME, STRING, name),) if name else ()
                self.die(0x05, *names, *self.type(type, back))
            self.null()
        else:
            raise ValueError(expr)

    def record(self, tag: str, name: tuple[Any, ...], size: int, members: tuple[Member, ...], back: Any) -> None:
        self.die(TAGS[tag], *name, (SIZE, DATA2, size), children=True)
        for text, type, offset, bits in members:
            whole = ((LOCATION, DATA2, offset),)
            place = ((BITS, DATA1, bits), (BIT_OFFSET, DATA2, 8 * offset)) if bits else whole
            self.die(0x0D, (NAME, STRING, text), *self.type(type, back), *place)
        self.null()

    def enumeration(self, name: tuple[Any, ...], size: int, values: tuple[tuple[str, int], ...]) -> None:
        self.die(TAGS["enum"], *name, (SIZE, DATA1, size), children=True)
        for text, value in values:
            self.die(0x28, (NAME, STRING, text), (CONST, DATA1, value))
        self.null()

    # -- items

    def item(self, item: Item) -> None:
        self.item_number += 1
        label = ("item", self.item_number)
        if item[0] == "use":
            self.type(item[1], None)
            return
        if item[0] == "declare":
            self.declare(item[1], item[2], label)
            return
        if item[0] in ("variable", "function"):
            self.use(*item)
            return
        self.labels[label] = self.at()
        name = ((NAME, STRING, item[1]),)
        if item[0] == "typedef":
            self.die(0x16, *name, *self.type(item[2], None))
        elif item[0] == "enum":
            self.enumeration(name, item[2], item[3])
        else:
            self.record(item[0], name, item[2], item[3], None)

    def use(self, kind: str, expr: Expr | None) -> None:
        """A variable of the type, or a function with a parameter of it, or with none; each has its own address."""
        at = {"variable": VARIABLES, "function": TEXT}[kind] + 16 * len(self.symbols)
        section = ".data..percpu" if kind == "variable" else ".text"
        symbol = Symbol(f"{kind}_{len(self.symbols)}", at, 16, "OBJECT" if kind == "variable" else "FUNC", section)
        self.symbols.append(symbol)
        name, type = (NAME, STRING, symbol.name), () if expr is None else self.type(expr, None)
        if kind == "variable":
            self.die(0x34, name, *type, (0x02, EXPRLOC, struct.pack("<BQ", 3, at)))  # DW_OP_addr
            return
        self.die(0x2E, name, (0x11, ADDR, at), (PROTOTYPED, PRESENT, 1), children=True)
        if expr is not None:
            self.die(0x05, (NAME, STRING, "p"), *type)
        self.null()

    def declare(self, tag: str, name: str, label: Any) -> None:
        self.labels[label] = self.at()
        names = ((NAME, STRING, name),)
        if tag == "typedef":
            self.die(0x16, *names)
        else:
            self.die(TAGS[tag], *names, (DECLARATION, PRESENT, 1))


def image(units: list[Unit]) -> bytes:
    """The program as an ELF file."""
    w = Writer()
    for items in units:
        w.unit(items)
    return written(w)


def written(w: Writer) -> bytes:
    """The file of all units that a writer has."""
    size = 16 * (len(w.symbols) + 1)
    places = [Section(".data..percpu", bytes(size), address=VARIABLES, flags=3)] if w.symbols else []
    sections = [
        Section(".text", bytes(size), address=TEXT, flags=6),
        *places,
        Section(".debug_info", bytes(w.info)),
        Section(".debug_abbrev", bytes(w.abbrev) + b"\0"),
    ]
    return (elf(sections, symbols=w.symbols) if w.symbols else elf(sections)).data
