"""One logical program that can be written in every form of DWARF 2 to 5.

`program(flavour, forms)` gives two units. Their *meaning* never changes; `forms` chooses how each class of attribute is
encoded. So the BTF of every variant for one kind of machine must be the same bytes; the reference confirms that for all
of them when the golden files are made (`tools/golden/synthetic_golden.py`).

Enumerators, bounds and sizes that must fit into a form of one byte stay below 128, because the fixed-size constant
forms are zero-extended: what 0xff means depends on the form, which other tests cover.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.builders.dwarfwriter import END, Die, Form, LocList, Unit, die, dwarf
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, Flavour, kernel


class Forms(NamedTuple):
    version: int = 4
    offset_size: int = 4
    name: Form = "string"
    reference: Form = "ref4"
    size: Form = "data1"  # byte and bit sizes, encodings
    offset: Form = "data1"  # of members; "block1" and "exprloc" write an expression
    bitfield: str = "data_bit_offset"  # or "bit_offset", the way of DWARF 2 and 3
    bound: Form = "data1"
    counted: bool = False  # DW_AT_count instead of DW_AT_upper_bound
    value: Form = "data1"  # of enumerators
    flag: Form = "flag"
    address: Form = "addr"
    expression: Form = "exprloc"
    locations: Form | None = None  # a location list for the parameter, in this form
    sibling: Form | None = None
    abbrevs: str = "shared"  # "own": one table per unit
    codes: str = "plain"  # "sparse", "huge", "reversed": what dwarf(codes=...) does
    compress: int | None = None  # level of zlib


PLAIN = {
    2: Forms(version=2, bitfield="bit_offset", expression="block1"),
    3: Forms(version=3, bitfield="bit_offset", expression="block1"),
    4: Forms(version=4),
    5: Forms(version=5),
}

CODES = {
    "plain": lambda n: n,
    "sparse": lambda n: 7 * n + 3,
    "huge": lambda n: (1 << 24) + 0x10001 * n,
    "backwards": lambda n: 4000 - n,
}

CONSTANTS: tuple[Form, ...] = (
    "data1",
    "data2",
    "data4",
    "data8",
    "udata",
    "sdata",
    ("indirect", "data2"),
    ("indirect", "udata"),
)
REFERENCES: tuple[Form, ...] = (
    "ref2",
    "ref4",
    "ref8",
    "ref_udata",
    ("indirect", "ref4"),
    ("indirect", "ref_udata"),
)
STRINGS: tuple[Form, ...] = ("string", "strp", ("indirect", "strp"), ("indirect", "string"))
STRINGS5: tuple[Form, ...] = ("line_strp", "strx", "strx1", "strx2", "strx3", "strx4", ("indirect", "strx1"))


def variants() -> Iterator[tuple[str, Flavour, Forms]]:
    """Every variant, by name. Each differs in one thing from the plain one of its version."""
    for machine, flavour in FLAVOURS.items():
        for version in (2, 3, 4, 5):
            for offset_size in (4,) if version == 2 else (4, 8):
                plain = PLAIN[version]._replace(offset_size=offset_size)
                where = f"{machine}-dwarf{version}-{8 * offset_size}"
                yield f"{where}-plain", flavour, plain
                for field, value in _choices(version):
                    forms = plain._replace(**{field: value})
                    text = "-".join(map(str, value)) if isinstance(value, tuple) else value
                    yield f"{where}-{field}-{text}", flavour, forms


def _choices(version: int) -> Iterator[tuple[str, Any]]:
    for field in ("size", "offset", "bound", "value"):
        for form in CONSTANTS:
            # As an offset, data4 and data8 mean a list in DWARF 2 and 3.
            if not (field == "offset" and version < 4 and form in ("data4", "data8")):
                yield field, form
        if version == 5:
            yield field, "implicit_const"
    yield "offset", "block1"
    for form in REFERENCES:
        yield "reference", form
    for form in (*STRINGS, *(STRINGS5 if version == 5 else ())):
        yield "name", form
    yield "flag", ("indirect", "flag")
    if version >= 4:
        yield "flag", "flag_present"
        yield "offset", "exprloc"
        yield "bitfield", "bit_offset"
        yield "locations", "sec_offset"
        yield "expression", ("indirect", "exprloc")
    else:
        for form in ("block", "block2", "block4"):
            yield "expression", form
        yield "locations", "data4"
    if version == 5:
        for form in ("addrx", "addrx1", "addrx2", "addrx3", "addrx4"):
            yield "address", form
        yield "locations", "loclistx"
        yield "expression", "addrx"
    for form in ("ref2", "ref4", "ref8", "ref_udata"):
        yield "sibling", form
    yield "counted", True
    yield "abbrevs", "own"
    for codes in ("sparse", "huge", "backwards", "reversed"):
        yield "codes", codes
    yield "compress", 6


def program(flavour: Flavour, forms: Forms) -> list[Unit]:
    """The two units of the program."""
    write = _Program(flavour, forms)
    return [
        _unit(write, "one.c", write.first(), "one"),
        _unit(write, "two.c", write.second(), "two"),
    ]


def _unit(write: _Program, name: str, children: list[Die], abbrevs: str) -> Unit:
    root = die(
        "compile_unit",
        write.name(name),
        ("language", "data1", 12),
        ("producer", write.forms.name, "GNU C11 12.2.0"),
        ("low_pc", "addr", write.flavour.text),
        children=[write.with_sibling(child) for child in children],
    )
    table = abbrevs if write.forms.abbrevs == "own" else ""
    return Unit(root, write.forms.version, write.forms.offset_size, write.flavour.address_size, abbrevs=table)


class _Program:
    """The attributes in the chosen forms, and the DIEs made from them."""

    def __init__(self, flavour: Flavour, forms: Forms) -> None:
        self.flavour, self.forms = flavour, forms

    def name(self, text: str) -> tuple[str, Form, str]:
        return "name", self.forms.name, text

    def type(self, label: str) -> tuple[str, Form, str]:
        return "type", self.forms.reference, label

    def origin(self, label: str) -> tuple[str, Form, str]:
        return "abstract_origin", self.forms.reference, label

    def size(self, size: int) -> tuple[str, Form, int]:
        return "byte_size", self.forms.size, size

    def flag(self, name: str) -> tuple[str, Form, int]:
        return name, self.forms.flag, 1

    def offset(self, value: int) -> tuple[str, Form, Any]:
        if self.forms.offset in ("block1", "exprloc"):
            return "data_member_location", self.forms.offset, [("plus_uconst", value)]
        return "data_member_location", self.forms.offset, value

    def address(self, offset: int) -> tuple[str, Form, int]:
        return "low_pc", self.forms.address, self.flavour.text + offset

    def place(self, offset: int) -> tuple[str, Form, Any]:
        address = self.flavour.percpu + offset
        if self.forms.expression == "addrx":
            return "location", "exprloc", [("addrx", address)]
        return "location", self.forms.expression, [("addr", address)]

    def frame(self) -> tuple[str, Form, Any]:
        """The location of a parameter: on the frame, as an expression or as a list that says so twice."""
        here = [("fbreg", -20)]
        if self.forms.locations is None:
            form = "exprloc" if self.forms.expression == "addrx" else self.forms.expression
            return "location", form, here
        return "location", self.forms.locations, LocList([(0, 8, here), (8, 16, here)])

    def with_sibling(self, entry: Die) -> Die:
        if self.forms.sibling is None or not entry.children:
            return entry
        children = [self.with_sibling(child) for child in entry.children if isinstance(child, Die)]
        attributes = (("sibling", self.forms.sibling, END), *entry.attributes)
        return entry._replace(attributes=attributes, children=children)

    def base(self, name: str, size: int, encoding: int, label: str) -> Die:
        return die(
            "base_type",
            self.name(name),
            self.size(size),
            ("encoding", self.forms.size, encoding),
            label=label,
        )

    def member(self, name: str | None, type: str, offset: int | None) -> Die:
        names = () if name is None else (self.name(name),)
        offsets = () if offset is None else (self.offset(offset),)
        return die("member", *names, self.type(type), *offsets)

    def bits(self, name: str, type: str, first: int, width: int) -> Die:
        """A bitfield in the first 32-bit word of its structure."""
        size = ("bit_size", self.forms.size, width)
        if self.forms.bitfield == "data_bit_offset":
            at = ("data_bit_offset", self.forms.size, first)
            return die("member", self.name(name), self.type(type), size, at)
        old = 32 - first - width if self.flavour.little else first
        return die(
            "member",
            self.name(name),
            self.type(type),
            self.size(4),
            size,
            ("bit_offset", self.forms.size, old),
            self.offset(0),
        )

    def array(self, label: str, element: str, *dimensions: int) -> Die:
        ranges = [
            die(
                "subrange_type",
                self.type("int"),
                ("count", self.forms.bound, size)
                if self.forms.counted
                else ("upper_bound", self.forms.bound, size - 1),
            )
            for size in dimensions
        ]
        return die("array_type", self.type(element), children=ranges, label=label)

    def enum(self, name: str, size: int, type: str, *values: tuple[str, int]) -> Die:
        return die(
            "enumeration_type",
            self.name(name),
            self.size(size),
            self.type(type),
            label=name,
            children=[
                die("enumerator", self.name(key), ("const_value", self.forms.value, value))
                for key, value in values
            ],
        )

    def parameter(self, name: str, type: str) -> Die:
        return die("formal_parameter", self.name(name), self.type(type), self.frame())

    def first(self) -> list[Die]:
        word = self.flavour.address_size
        return [
            self.base("int", 4, 5, "int"),
            self.base("unsigned int", 4, 7, "unsigned"),
            self.base("char", 1, 6, "char"),
            self.base("_Bool", 1, 2, "bool"),
            self.base("double", 8, 4, "double"),
            die("const_type", self.type("char"), label="const char"),
            die("pointer_type", self.size(word), self.type("const char"), label="string"),
            die("pointer_type", self.size(word), label="void *"),
            die("structure_type", self.name("unknown"), self.flag("declaration"), label="unknown"),
            die("pointer_type", self.size(word), self.type("unknown"), label="unknown *"),
            die(
                "structure_type",
                self.name("flags"),
                self.size(4),
                label="flags",
                children=[
                    self.bits("low", "unsigned", 0, 3),
                    self.bits("mid", "unsigned", 3, 20),
                    self.bits("high", "unsigned", 23, 9),
                ],
            ),
            die(
                "structure_type",
                self.name("node"),
                self.size(120),
                label="node",
                children=[
                    self.member("next", "node *", 0),
                    self.member("flags", "flags", 16),
                    die(
                        "union_type",
                        self.size(8),
                        label="anonymous",
                        children=[self.member("number", "double", None), self.member("text", "bytes", None)],
                    ),
                    self.member(None, "anonymous", 24),
                    self.member("matrix", "matrix", 32),
                    self.member("call", "callback", 112),
                ],
            ),
            die("pointer_type", self.size(word), self.type("node"), label="node *"),
            self.array("bytes", "char", 8),
            self.array("matrix", "int", 2, 3, 3),
            die("volatile_type", self.type("node *"), label="volatile"),
            die("restrict_type", self.type("string"), label="restrict"),
            self.enum("colour", 4, "unsigned", ("RED", 1), ("GREEN", 2), ("BLUE", 100)),
            self.enum("wide", 8, "int", ("NARROW", 5), ("WIDER", 6)),
            die(
                "subroutine_type",
                self.flag("prototyped"),
                self.type("int"),
                label="prototype",
                children=[die("formal_parameter", self.type("restrict")), die("unspecified_parameters")],
            ),
            die("pointer_type", self.size(word), self.type("prototype"), label="callback pointer"),
            die("typedef", self.name("callback_t"), self.type("callback pointer"), label="callback"),
            die(
                "subprogram",
                self.flag("external"),
                self.name("f"),
                self.flag("prototyped"),
                self.type("int"),
                self.address(0),
                ("high_pc", "data4", 16),
                label="f",
                children=[self.parameter("node", "volatile"), self.parameter("colour", "colour")],
            ),
            die(
                "subprogram",
                self.name("helper"),
                self.flag("prototyped"),
                ("inline", self.forms.size, 1),
                label="helper",
                children=[
                    die("formal_parameter", self.name("wide"), self.type("wide"), label="helper wide"),
                    die("unspecified_parameters"),
                ],
            ),
            die(
                "subprogram",
                self.origin("helper"),
                self.address(32),
                ("high_pc", "data4", 16),
                children=[
                    die("formal_parameter", self.origin("helper wide"), self.frame()),
                    die("unspecified_parameters"),
                ],
            ),
            die(
                "variable", self.name("counter"), self.type("unsigned"), self.flag("external"), self.place(0)
            ),
            die(
                "variable",
                self.name("table"),
                self.type("matrix"),
                self.flag("external"),
                self.flag("declaration"),
                label="table",
            ),
            die("variable", ("specification", self.forms.reference, "table"), self.place(8)),
        ]

    def second(self) -> list[Die]:
        """The second unit shares `node` with the first, partly by a forward declaration, and defines `unknown`."""
        word = self.flavour.address_size
        return [
            self.base("int", 4, 5, "int 2"),
            die(
                "structure_type",
                self.name("unknown"),
                self.size(4),
                label="unknown 2",
                children=[self.member("value", "int 2", 0)],
            ),
            die("structure_type", self.name("node"), self.flag("declaration"), label="node 2"),
            die("pointer_type", self.size(word), self.type("node 2"), label="node 2 *"),
            die("pointer_type", self.size(word), self.type("unknown 2"), label="unknown 2 *"),
            die(
                "subprogram",
                self.flag("external"),
                self.name("g"),
                self.flag("prototyped"),
                self.address(16),
                ("high_pc", "data4", 16),
                children=[self.parameter("node", "node 2 *"), self.parameter("unknown", "unknown 2 *")],
            ),
        ]


@functools.cache
def build(flavour: Flavour, forms: Forms) -> bytes:
    """The ELF file of the program."""
    codes, reverse = CODES.get(forms.codes, CODES["plain"]), forms.codes == "reversed"
    written = dwarf(program(flavour, forms), little=flavour.little, codes=codes, reverse_abbrevs=reverse)
    text = flavour.text
    more = [
        Symbol("g", text + 16, 16),
        Symbol("helper", text + 32, 16, bind="LOCAL"),
        Symbol("table", flavour.percpu + 8, 72, "OBJECT", ".data..percpu"),
    ]
    return kernel(written, flavour, extra_symbols=more, compress=forms.compress).data
