"""Where parameters are: expressions and location lists. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, LocList, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, INT, Flavour, kernel, unit
from tests.builders.synthetic import TEXT, X86, base, case, case_with, functions, named, of, parameter, subprogram

# -- where parameters are --------------------------------------------------------------------------

REGISTER = [("reg5",)]  # where the first integer parameter arrives on x86-64
OTHER = [("reg1",)]
ENTRY = [("entry_value", REGISTER), ("stack_value",)]

#: Expressions and lists of the first parameter, whose type is `int` ("i"), or a structure of 16 bytes ("s").
EXPRESSIONS: list[tuple[str, Any]] = [
    ("i", REGISTER),
    ("i", OTHER),
    ("i", [("breg5", 0)]),
    ("i", [("breg5", 8), ("stack_value",)]),
    ("i", [("breg1", 0), ("stack_value",)]),
    ("i", [("fbreg", 16)]),
    ("i", [("lit4",), ("stack_value",)]),
    ("i", [("lit4",)]),
    ("i", [("constu", 9), ("stack_value",)]),
    ("i", [("const1u", 9), ("stack_value",)]),
    ("i", ENTRY),
    ("i", [("GNU_entry_value", OTHER), ("stack_value",)]),
    ("i", [("entry_value", REGISTER)]),
    ("i", [("entry_value", [("breg5", 0)]), ("stack_value",)]),
    ("i", [("entry_value", [("reg5",), ("stack_value",)]), ("stack_value",)]),
    ("i", [("reg5",), ("piece", 4)]),
    ("i", [("reg1",), ("piece", 4)]),
    ("i", [("regx", 5)]),
    ("i", [("bregx", 5, 0)]),
    ("i", [("breg1", 0), ("lit4",), ("plus",), ("stack_value",)]),
    ("i", [("breg5", 0), ("lit4",), ("plus",), ("stack_value",)]),
    ("i", [("breg5", 0), ("lit4",), ("plus",)]),
    ("i", [("lit4",), ("lit5",), ("plus",), ("stack_value",)]),
    ("i", [("call_frame_cfa",)]),
    ("i", []),
    ("i", b"\xf9"),
    ("i", b"\x08"),
    ("i", [("addr", 0x1000)]),
    ("i", [("reg5",), ("stack_value",)]),
    ("s", [("reg5",), ("piece", 8), ("reg4",), ("piece", 8)]),
    ("s", [("reg1",), ("piece", 8), ("reg5",), ("piece", 8)]),
    ("s", [("piece", 8), ("reg5",), ("piece", 8)]),
    ("s", [("piece", 8), ("reg4",), ("piece", 8)]),
    ("s", [("reg5",), ("piece", 4), ("piece", 12)]),
    ("s", [("fbreg", 0)]),
    ("s", [("fbreg", 0), ("piece", 8), ("reg4",)]),
    ("s", [("breg5", 0), ("piece", 8)]),
    ("s", [("lit0",), ("stack_value",), ("piece", 8)]),
    ("s", [("entry_value", REGISTER), ("stack_value",), ("piece", 8)]),
]

LISTS: list[tuple[str, Any]] = [
    ("i", [(0, 8, REGISTER), (8, 16, ENTRY)]),
    ("i", [(0, 8, OTHER), (8, 16, ENTRY)]),
    ("i", [(0, 8, []), (8, 16, REGISTER)]),
    ("i", [(0, 8, []), (8, 16, ENTRY)]),
    ("i", [(0, 8, [("fbreg", 0)]), (8, 16, REGISTER)]),
    ("i", [(0, 8, [("fbreg", 0)]), (8, 16, ENTRY)]),
    (
        "i",
        [
            (0, 8, [("lit4",), ("stack_value",)]),
            (8, 12, [("breg5", 0)]),
            (12, 16, [("GNU_entry_value", OTHER)]),
        ],
    ),
    ("i", []),
    ("i", [(4, 8, REGISTER)]),
    ("i", [(0, 0, REGISTER)]),
    ("i", [(0, 0, OTHER), (0, 8, REGISTER)]),
    (
        "s",
        [
            (0, 8, [("reg5",), ("piece", 8), ("reg4",), ("piece", 8)]),
            (8, 16, [("piece", 8), ("reg1",), ("piece", 8)]),
        ],
    ),
    ("s", [(0, 8, [("piece", 8), ("reg1",), ("piece", 8)]), (8, 16, [("reg5",), ("piece", 8)])]),
    ("s", [(0, 8, [("fbreg", 0)]), (8, 16, [("reg5",), ("piece", 8), ("piece", 8)])]),
]


def located(
    places: list[tuple[str, str, Any]], version: int = 4, flavour: Flavour = X86, shorter: str = "", **options: Any
) -> bytes:
    """Two functions per place: `fN` has a plain symbol, so it shows whether the register is unexpected; `gN` has only
    `gN.constprop.0`, so it also shows whether the parameter counts as optimised out. The size of the section `shorter`
    is one byte too small.
    """
    text, entries, symbols = flavour.text, [], []
    for n, (type, form, place) in enumerate(places):
        for kind, suffix in (("f", ""), ("g", ".constprop.0")):
            at = text + (n * 2 + (kind == "g")) * 4 + 4
            name = f"{kind}{n}"
            symbols.append(Symbol(name + suffix, at, 4))
            entries.append(
                die(
                    "subprogram",
                    ("name", "string", name),
                    ("low_pc", "addr", at),
                    ("high_pc", "data4", 4),
                    children=[parameter("a", {"i": "int", "s": "pair"}[type], ("location", form, place))],
                )
            )
    pair = named(
        "structure_type",
        "pair",
        ("byte_size", "data1", 16),
        label="pair",
        children=[
            named("member", "one", ("type", "ref4", "long"), ("data_member_location", "data1", 0)),
            named("member", "two", ("type", "ref4", "long"), ("data_member_location", "data1", 8)),
        ],
    )
    one = unit(
        [INT, base("long", 8, label="long"), pair, *entries],
        version=version,
        address_size=flavour.address_size,
    )
    root = one.root
    assert root is not None
    one = one._replace(root=root._replace(attributes=(*root.attributes, ("low_pc", "addr", text))))
    written = kernel([one], flavour, extra_symbols=symbols, **options)
    if not shorter:
        return written.data
    data, at = bytearray(written.data), written.header_at[shorter] + 32
    data[at : at + 8] = (int.from_bytes(data[at : at + 8], "little") - 1).to_bytes(8, "little")
    return bytes(data)


@case
def parameter_expressions() -> bytes:
    return located([(kind, "exprloc", place) for kind, place in EXPRESSIONS])


@case
def parameter_expressions_dwarf5() -> bytes:
    return located([(kind, "exprloc", place) for kind, place in EXPRESSIONS], version=5)


@case
def parameter_expressions_in_blocks() -> bytes:
    """Blocks are expressions in DWARF 2 and 3 ..."""
    return located([(kind, "block1", place) for kind, place in EXPRESSIONS], version=3)


@case
def parameter_expressions_in_blocks_dwarf4() -> bytes:
    """... and no longer in DWARF 4: such a parameter has a location that cannot be read."""
    return located([(kind, "block1", place) for kind, place in EXPRESSIONS])


@case
def parameter_list_one_byte_short() -> bytes:
    """The section ends before the last expression does; what follows in the file does not belong to it."""
    lists = [LocList([(0, 8, REGISTER)]), LocList([(0, 8, OTHER)], terminated=False)]
    return located([("i", "sec_offset", each) for each in lists], version=5, shorter=".debug_loclists")


@case
def parameter_lists() -> bytes:
    return located([(kind, "sec_offset", LocList(place)) for kind, place in LISTS])


@case
def parameter_lists_dwarf2() -> bytes:
    return located([(kind, "data4", LocList(place)) for kind, place in LISTS], version=2)


@case
def parameter_lists_dwarf3() -> bytes:
    """Offsets of lists are plain numbers, of 32 or 64 bits ..."""
    forms = ("data4", "data8")
    return located([(kind, form, LocList(place)) for kind, place in LISTS for form in forms], version=3)


@case
def parameter_lists_dwarf4_by_number() -> bytes:
    """... which are numbers only in DWARF 4."""
    forms = ("data4", "data8")
    return located([(kind, form, LocList(place)) for kind, place in LISTS for form in forms])


@case
def parameter_lists_dwarf5() -> bytes:
    return located([(kind, "loclistx", LocList(place)) for kind, place in LISTS], version=5)


@case
def parameter_lists_dwarf5_by_offset() -> bytes:
    return located([(kind, "sec_offset", LocList(place)) for kind, place in LISTS], version=5)


@case
def parameter_lists_big_endian() -> bytes:
    return located([(kind, "sec_offset", LocList(place)) for kind, place in LISTS], flavour=FLAVOURS["s390x"])


@case
def parameter_lists_32_bit() -> bytes:
    return located([(kind, "sec_offset", LocList(place)) for kind, place in LISTS], flavour=FLAVOURS["arm"])


@case_with("default,true_signature")
def parameter_that_a_member_stands_for() -> bytes:
    """Half of a structure in a register: PARAMETER__MEMBER, which is cut to 127 bytes only when it is written."""
    piece = [("reg5",), ("piece", 8)]
    pair = named(
        "structure_type",
        "pair",
        ("byte_size", "data1", 16),
        label="pair",
        children=[
            named("member", "first", ("type", "ref4", "long"), ("data_member_location", "data1", 0)),
            named("member", "second", ("type", "ref4", "long"), ("data_member_location", "data1", 8)),
        ],
    )
    late = [("piece", 8), ("reg5",), ("piece", 8)]

    def function(n: int, name: str, place: Any) -> Die:
        one = parameter(name, "pair", ("location", "exprloc", place))
        return subprogram(f"f{n}", 16 * n, ("calling_convention", "data1", 3), children=[one])

    clang = unit(
        [
            base("long", 8, label="long"),
            pair,
            function(1, "p", piece),
            function(2, "p", late),
            function(3, "p" * 124, piece),
            function(4, "p" * 124, late),
        ],
        producer="clang version 19",
    )
    return kernel([clang], symbols=[*functions("f1", "f2", "f3", "f4")]).data


@case_with("default,true_signature")
def pieces_of_a_large_parameter() -> bytes:
    """Two words of 64 bits remember where pieces begin: one for the first 8 bytes, one for the next 64."""
    places = (4, 7, 8, 9, 15, 16, 63, 64, 70, 71, 72, 73, 80, 135, 136, 137, 200)
    members = [
        named("member", f"at{at}", ("type", "ref4", "char"), ("data_member_location", "data2", at))
        for at in sorted({0, *places, *(place + 8 for place in places)})
    ]
    big = named("structure_type", "big", ("byte_size", "data2", 400), label="big", children=members)

    def function(n: int, place: int) -> Die:
        one = parameter("p", "big", ("location", "exprloc", [("piece", place), ("reg5",), ("piece", 8)]))
        return subprogram(f"f{n}", 16 * n, ("calling_convention", "data1", 3), children=[one])

    found = [function(n, place) for n, place in enumerate(places, 1)]
    clang = unit([base("char", 1, 6, label="char"), big, *found], producer="clang version 19")
    return kernel([clang], symbols=functions(*(f"f{n}" for n in range(1, len(places) + 1)))).data


@case_with("default,true_signature")
def parameter_lists_true_signature() -> bytes:
    return located([(kind, "sec_offset", LocList(place)) for kind, place in LISTS])


@case
def list_base_address_old() -> bytes:
    """A base address selection in `.debug_loc`, and an expression before it."""
    top = (1 << 64) - 1
    return located(
        [
            ("i", "sec_offset", LocList([(top, TEXT + 64, None), (0, 8, OTHER)])),
            ("i", "sec_offset", LocList([(0, 8, REGISTER), (top, TEXT, None), (0, 8, OTHER)])),
        ]
    )


@case
def list_entry_kinds() -> bytes:
    """All kinds of entries of DWARF 5."""
    lists: list[list[tuple[Any, ...]]] = [
        [("base_address", TEXT), ("offset_pair", 0, 8, OTHER)],
        [("base_addressx", TEXT), ("offset_pair", 0, 8, OTHER)],
        [("startx_endx", TEXT, TEXT + 8, OTHER)],
        [("startx_length", TEXT, 8, OTHER)],
        [("start_end", TEXT, TEXT + 8, OTHER)],
        [("start_length", TEXT, 8, OTHER)],
        [("default_location", OTHER)],
        [("offset_pair", 0, 8, REGISTER), ("default_location", OTHER)],
        [("offset_pair", 8, 8, OTHER), ("offset_pair", 0, 8, REGISTER)],
    ]
    return located([("i", "loclistx", LocList(entries)) for entries in lists], version=5)


@case
def list_unterminated() -> bytes:
    """The last list of the section has no end: what was read before counts."""
    places = [
        ("i", "sec_offset", LocList([(0, 8, OTHER)])),
        ("i", "sec_offset", LocList([(0, 8, OTHER)], terminated=False)),
    ]
    return located(places, version=4)


@case
def parameter_locations_elsewhere() -> bytes:
    """The second and third parameter, after one that is missing, constant, in memory or wide."""

    def function(n: int, *children: Die) -> Die:
        return subprogram(f"f{n}", 16 * n, children=list(children))

    def at(name: str, register: int, type: str = "int") -> Die:
        return parameter(name, type, ("location", "exprloc", [(f"reg{register}",)]))

    big = named("structure_type", "big", ("byte_size", "data1", 24), label="big")
    pair = named("structure_type", "pair", ("byte_size", "data1", 16), label="pair")
    return of(
        INT,
        big,
        pair,
        base("__int128", 16, label="i128"),
        function(1, parameter("a", "int"), at("b", 4)),
        function(2, parameter("a", "int"), at("b", 5)),
        function(3, parameter("a", "int", ("const_value", "data1", 1)), at("b", 5)),
        function(4, parameter("a", "int", ("const_value", "data1", 1)), at("b", 4)),
        function(5, at("a", 5, "i128"), at("b", 1)),
        function(6, at("a", 5, "i128"), at("b", 4)),
        function(7, at("a", 5, "big"), at("b", 4)),
        function(8, at("a", 5, "pair"), at("b", 4)),
        function(9, *(at(f"p{n}", r) for n, r in enumerate((5, 4, 1, 2, 8, 9, 0, 3)))),
        function(10, *(at(f"p{n}", r) for n, r in enumerate((5, 4, 1, 2, 9, 8)))),
        extra_symbols=functions(*(f"f{n}" for n in range(1, 11))),
    )
