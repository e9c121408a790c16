"""A file with a function, a variable or a type for each reason of `pybtf why`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol, btf_ids
from tests.builders.kernelish import INT, kernel, point, unit
from tests.builders.synthetic import COUNTER, TEXT, X86, named, parameter, subprogram


def register(number: int) -> tuple[str, str, Any]:
    return "location", "exprloc", [(f"reg{number}",)]


def origin(label: str) -> tuple[str, str, Any]:
    return "abstract_origin", "ref4", label


def line(number: int) -> tuple[str, str, Any]:
    return "decl_line", "data1", number


LONG = die("base_type", ("name", "string", "long"), ("byte_size", "data1", 8), ("encoding", "data1", 5), label="long")
POINTER = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", "point"), label="pointer")
PACKED = named(
    "structure_type", "packed", ("byte_size", "data1", 5), label="packed",
    children=[
        named("member", "c", ("type", "ref4", "char"), ("data_member_location", "data1", 0)),
        named("member", "x", ("type", "ref4", "int"), ("data_member_location", "data1", 1)),
    ],
)  # fmt: skip
CHAR = die("base_type", ("name", "string", "char"), ("byte_size", "data1", 1), ("encoding", "data1", 6), label="char")
RETURNS = ("type", "ref4", "int")


def fine() -> list[Die]:
    """`int good(long a, struct point *p)`, with parameters where the convention puts them."""
    return [
        subprogram(
            "good", 16, RETURNS,
            children=[parameter("a", "long", register(5)), parameter("p", "pointer", register(4))],
        )
    ]  # fmt: skip


def inlined() -> list[Die]:
    """`static int tiny(long a)`, inlined twice into `caller`."""
    return [
        subprogram("tiny", None, RETURNS, ("inline", "data1", 3), label="tiny", children=[parameter("a", "long")]),
        subprogram(
            "caller", 32, RETURNS,
            children=[
                parameter("b", "long", register(5)),
                die(
                    "lexical_block",
                    children=[subprogram("inner", None, ("declaration", "flag", 1), children=[parameter("c", "long")])],
                ),
                die("inlined_subroutine", origin("tiny"), children=[die("inlined_subroutine", origin("tiny"))]),
            ],
        ),
    ]  # fmt: skip


def halved() -> list[Die]:
    """Functions of which the compiler put parts elsewhere. One is otherwise inlined; one is never called."""
    return [
        subprogram("halved", None, RETURNS, ("inline", "data1", 3), label="halved"),
        subprogram("pieces", None, RETURNS, ("inline", "data1", 3)),
        subprogram("joined", 208, RETURNS, children=[die("inlined_subroutine", origin("halved"))]),
    ]


def moved() -> list[Die]:
    """The second parameter is in the first register."""
    return [
        subprogram(
            "moved", 48, RETURNS, children=[parameter("a", "long", register(5)), parameter("b", "long", register(5))]
        )
    ]


def reordered() -> list[Die]:
    abstract = subprogram(
        "swapped", None, RETURNS, ("inline", "data1", 1), label="swapped",
        children=[parameter("a", "long", label="swapped.a"), parameter("b", "long", label="swapped.b")],
    )  # fmt: skip
    copy = subprogram(
        None, 64, origin("swapped"),
        children=[
            die("formal_parameter", origin("swapped.b"), ("location", "exprloc", [("fbreg", 0)])),
            die("formal_parameter", origin("swapped.a"), ("location", "exprloc", [("fbreg", 8)])),
        ],
    )  # fmt: skip
    return [abstract, copy]


def unnamed() -> list[Die]:
    return [subprogram("anonymous", 96, RETURNS, children=[parameter("a", "long"), parameter(None, "long")])]


def uncertain() -> list[Die]:
    """A packed struct as the seventh parameter."""
    registers = (5, 4, 1, 2, 8, 9)
    parameters = [parameter(f"a{n}", "long", register(at)) for n, at in enumerate(registers)]
    tail = parameter("s", "packed", ("location", "exprloc", [("fbreg", 0)]))
    return [subprogram("stacked", 112, RETURNS, children=[*parameters, tail])]


def clone() -> list[Die]:
    """The only code is `dropped.constprop.0`, without the second parameter."""
    return [
        subprogram(
            "dropped", 128, RETURNS,
            children=[parameter("a", "long", register(5)), parameter("b", "long", ("const_value", "data1", 7))],
        )
    ]  # fmt: skip


def everything() -> bytes:
    """A file with a function, variable or type for each reason."""
    second = [
        subprogram("differs", None, RETURNS, ("inline", "data1", 1), children=[parameter("b", "long")]),
    ]
    children: list[Die | bytes] = [
        INT, LONG, CHAR, point(), POINTER, PACKED, *fine(), *inlined(), *halved(), *moved(), *reordered(), *unnamed(),
        *uncertain(), *clone(),
        subprogram("differs", 80, RETURNS, children=[parameter("a", "int", register(5))]),
        *second,
        subprogram("everywhere", 144, RETURNS),
        subprogram("elsewhere", None, RETURNS, ("declaration", "flag", 1)),
        subprogram("removed", None, RETURNS, ("inline", "data1", 1)),
        named("variable", "counter", RETURNS, ("location", "exprloc", [("addr", X86.percpu)])),
        named("variable", "in_data", RETURNS, ("location", "exprloc", [("addr", 64)])),
        named("variable", "only_declared", RETURNS, ("declaration", "flag", 1)),
        named("variable", "in_register", RETURNS, ("location", "exprloc", [("reg5",)])),
        named("variable", "void_one", ("location", "exprloc", [("addr", X86.percpu + 8)])),
        named("variable", "__UNIQUE_ID_x", RETURNS, ("location", "exprloc", [("addr", X86.percpu + 4)])),
        named("variable", "no-name", RETURNS, ("location", "exprloc", [("addr", X86.percpu + 12)])),
        named("structure_type", "forward", ("declaration", "flag", 1), label="forward"),
    ]  # fmt: skip
    rust = die(
        "compile_unit", ("name", "string", "lib.rs"), ("language", "data1", 0x1C), ("producer", "string", "rustc"),
        children=[
            named("base_type", "u8", ("byte_size", "data1", 1), ("encoding", "data1", 7), label="u8"),
            named("structure_type", "only_in_rust", ("byte_size", "data1", 1)),
            subprogram("rusty", 160),
            named(
                "structure_type", "Holder", ("byte_size", "data1", 1),
                children=[subprogram("method", None, ("declaration", "flag", 1), label="method")],
            ),
            subprogram(None, 232, ("specification", "ref4", "method")),
            named("variable", "RUSTY", ("type", "ref4", "u8"), ("location", "exprloc", [("addr", X86.percpu + 32)])),
        ],
    )  # fmt: skip
    section, ids = btf_ids(
        [
            ("__BTF_ID__set8__mine", 2, 1),
            ("__BTF_ID__func__good__1", 0, 1 | 1 << 5),
            ("__BTF_ID__func__moved__2", 0, 0),
        ],
        address=0xFFFFFFFF83000000,
    )
    at = {
        "good": 16, "caller": 32, "moved": 48, "swapped": 64, "differs": 80, "anonymous": 96, "stacked": 112,
        "dropped.constprop.0": 128, "good.cold": 200, "__pfx_good": 8, "everywhere": 144, "rusty": 160,
        "assembled": 176, "joined": 208, "halved.part.0": 216, "halved.part.0.cold": 220, "pieces.part.0": 224,
        "pieces.part.1": 228,
    }  # fmt: skip
    symbols = [Symbol(name, TEXT + offset, 16) for name, offset in at.items()]
    symbols += [COUNTER, Symbol("everywhere", TEXT + 192, 16), Symbol("alias", TEXT + 16, 16), *ids]
    return kernel([unit(children), kernel_unit(rust)], symbols=symbols, extra_sections=[section]).data


def kernel_unit(root: Die) -> Any:
    from tests.builders.dwarfwriter import Unit

    return Unit(root)
