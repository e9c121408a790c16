"""Functions and variables: origins, specifications. See `synthetic.py`."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.builders.dwarfwriter import Die, LocList, Raw, Unit, die
from tests.builders.elfwriter import Section, Symbol, btf_ids
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import (
    COUNTER,
    TEXT,
    X86,
    Case,
    base,
    case,
    case_with,
    functions,
    named,
    of,
    parameter,
    register,
    subprogram,
)

# -- abstract origins and specifications -----------------------------------------------------------


def origin(label: Any) -> tuple[str, str, Any]:
    return "abstract_origin", "ref4", label


def specification(label: Any) -> tuple[str, str, Any]:
    return "specification", "ref4", label


@case
def origin_before_and_after() -> bytes:
    """A concrete function before its abstract instance, which has the parameters; the return type follows."""
    abstract = subprogram(
        "f",
        None,
        ("type", "ref4", "int"),
        ("inline", "data1", 1),
        label="f",
        children=[parameter("a", "int", label="a"), die("unspecified_parameters")],
    )
    concrete = subprogram(
        None,
        16,
        origin("f"),
        children=[
            die("formal_parameter", origin("a"), ("location", "exprloc", [("reg5",)])),
            die("unspecified_parameters"),
        ],
    )
    other = subprogram("g", None, ("type", "ref4", "int"), ("inline", "data1", 1), label="g")
    return of(
        INT, concrete, abstract, other, subprogram(None, 32, origin("g")), extra_symbols=functions("f", "g")
    )


@case
def specification_of_function() -> bytes:
    """Name by specification; the return type is not inherited that way."""
    declared = subprogram(
        "f",
        None,
        ("type", "ref4", "int"),
        ("declaration", "flag", 1),
        label="f",
        children=[parameter("a", "int")],
    )
    defined = subprogram(None, 16, specification("f"), children=[parameter("a", "int")])
    return of(INT, declared, defined, extra_symbols=functions("f"))


@case
def origin_of_parameter_only() -> bytes:
    """Parameters by origin in another order: the function is left out; in the same order it is not."""

    def abstract(name: str) -> Die:
        return subprogram(
            name,
            None,
            ("inline", "data1", 1),
            label=name,
            children=[parameter("a", "int", label=f"{name}.a"), parameter("b", "int", label=f"{name}.b")],
        )

    def concrete(name: str, offset: int, *parameters: str) -> Die:
        return subprogram(
            None,
            offset,
            origin(name),
            children=[
                die("formal_parameter", origin(f"{name}.{p}"), ("location", "exprloc", [("fbreg", 0)]))
                for p in parameters
            ],
        )

    return of(
        INT,
        abstract("f"),
        concrete("f", 16, "a", "b"),
        abstract("g"),
        concrete("g", 32, "b", "a"),
        abstract("h"),
        concrete("h", 48, "b"),
        extra_symbols=functions("f", "g", "h"),
    )


@case
def origin_of_parameter_names() -> bytes:
    """The name of a parameter's origin takes the place of its own, even when the origin has none."""
    return of(
        INT,
        subprogram("f", None, ("inline", "data1", 1), label="f", children=[parameter("a", "int", label="f.a")]),
        subprogram(None, 16, origin("f"), children=[die("formal_parameter", ("name", "string", "own"), origin("f.a"))]),
        subprogram("g", None, ("inline", "data1", 1), label="g", children=[parameter(None, "int", label="g.a")]),
        subprogram(None, 32, origin("g"), children=[die("formal_parameter", ("name", "string", "own"), origin("g.a"))]),
        extra_symbols=functions("f", "g"),
    )


@case
def origin_of_parameter_missing() -> bytes:
    """A parameter whose origin is no parameter keeps no type."""
    return of(
        INT,
        subprogram("f", 16, children=[die("formal_parameter", ("name", "string", "a"), origin("int"))]),
        subprogram("g", 32, children=[parameter("b", "int")]),
        extra_symbols=functions("f", "g"),
    )


@case
def origin_unresolvable() -> bytes:
    """A function whose abstract origin is a type: a decode error, which ends the file for the reference."""
    return of(
        INT,
        subprogram("f", 16, children=[parameter("a", "int")]),
        subprogram(None, 32, origin("int")),
        extra_symbols=functions("f", "g"),
    )


@case
def specification_unresolvable() -> bytes:
    return of(
        INT,
        subprogram("f", 16, children=[parameter("a", "int")]),
        subprogram(None, 32, specification("int")),
        extra_symbols=functions("f", "g"),
    )


# -- functions, otherwise --------------------------------------------------------------------------


@case
def parameter_names_of_127_bytes() -> bytes:
    """The longest name that survives as it is."""
    return of(INT, subprogram("f", 16, children=[parameter("p" * 127, "int")]), extra_symbols=functions("f"))


@case
def functions_of_one_name() -> bytes:
    """The same name several times: equal, different in type, declared, at no address."""

    def again(offset: int | None, *types: str, **fields: Any) -> Die:
        return subprogram(
            "f", offset, children=[parameter(f"p{n}", type) for n, type in enumerate(types)], **fields
        )

    char = base("char", 1, 6, label="char")
    return of(
        INT,
        char,
        again(None, "int"),
        again(16, "int"),
        subprogram("g", 32, children=[parameter("a", "int")]),
        subprogram("g", None, children=[parameter("a", "char")]),
        subprogram("h", 48, ("declaration", "flag", 0), children=[parameter("a", "char")]),
        extra_symbols=functions("f", "g", "h"),
    )


@case
def symbols_of_all_kinds() -> bytes:
    """Which symbols make a function: STT_FUNC of any binding, even undefined; the suffixes cut off."""
    names = [
        "plain",
        "weak",
        "local",
        "undefined",
        "notype",
        "object",
        "ifunc",
        "cold",
        "part",
        "isra",
        "two",
        "dot",
    ]
    text = [
        Symbol("plain", TEXT + 16),
        Symbol("weak", TEXT + 16, bind="WEAK"),
        Symbol("local", TEXT + 16, bind="LOCAL"),
        Symbol("undefined", 0, section=0),
        Symbol("notype", TEXT + 16, type="NOTYPE"),
        Symbol("object", TEXT + 16, type="OBJECT"),
        Symbol("ifunc", TEXT + 16, type=10),
        Symbol("cold.cold", TEXT + 16),
        Symbol("part.part.0", TEXT + 16),
        Symbol("isra.isra.0", TEXT + 16),
        Symbol("two", TEXT + 16),
        Symbol("two", TEXT + 32),
        Symbol("dot.", TEXT + 16),
    ]
    return of(INT, *(subprogram(name, 16) for name in names), extra_symbols=text)


@case
def symbols_without_base_name() -> bytes:
    """Function symbols that are empty, or empty up to the first dot, match nothing and are harmless."""
    text = [Symbol("", TEXT + 16), Symbol(".entry", TEXT + 16), Symbol("f", TEXT + 32)]
    return of(INT, subprogram("f", 32, children=[parameter("a", "int")]), extra_symbols=text)


@case
def function_with_empty_name() -> bytes:
    """A symbol without a name and a function with an empty one: an error."""
    return of(INT, subprogram("", 16), extra_symbols=[Symbol("", TEXT + 16)])


@case
def function_in_ranges() -> bytes:
    """A function without low_pc."""
    return of(
        INT,
        subprogram("f", None, ("ranges", "sec_offset", Raw(0))),
        subprogram("g", None, ("high_pc", "data4", 4)),
        extra_symbols=functions("f", "g"),
        debug={".debug_ranges": bytes(16)},
    )


@case
def kfuncs() -> bytes:
    """Set of flag 1, another of flag 0, an id without suffix, two ids of one function, fastcall."""
    address = 0xFFFFFFFF83000000
    section, ids = btf_ids(
        [
            ("__BTF_ID__set8__one", 4, 1),
            ("__BTF_ID__func__a__1", 0, 0),
            ("__BTF_ID__func__b__2", 0, 1 << 12),
            ("__BTF_ID__func__c", 0, 0),
            ("__BTF_ID__func__d_x__3", 0, 0),
            ("__BTF_ID__set8__two", 1, 0),
            ("__BTF_ID__func__e__4", 0, 0),
        ],
        address=address,
    )
    names = ["a", "b", "c", "d_x", "e"]
    return of(
        INT,
        *(subprogram(name, 16 * n, children=[parameter("p", "int")]) for n, name in enumerate(names, 1)),
        extra_symbols=[*functions(*names), *ids],
        extra_sections=[section],
    )


# -- variables -------------------------------------------------------------------------------------


@case
def variable_locations() -> bytes:
    """addr; addr and plus_uconst; blocks in DWARF 4; TLS, register, constant, list, none."""
    at = X86.percpu

    def here(name: str, form: str, place: Any) -> Die:
        return named("variable", name, ("type", "ref4", "int"), ("location", form, place))

    return of(
        INT,
        here("a", "exprloc", [("addr", at + 4)]),
        here("b", "exprloc", [("addr", at + 4), ("plus_uconst", 4)]),
        here("c", "block1", [("addr", at + 12)]),
        here("d", "exprloc", [("addr", at + 16), ("lit4",), ("plus",)]),
        here("e", "exprloc", [("const8u", at + 20), ("form_tls_address",)]),
        here("f", "exprloc", [("reg5",)]),
        here("g", "sec_offset", LocList([(0, 8, [("addr", at + 24)])])),
        here("h", "exprloc", []),
        named("variable", "i", ("type", "ref4", "int"), ("const_value", "data1", 1)),
        here("j", "exprloc", [("addr", at + 28), ("stack_value",)]),
        here("k", "exprloc", [("addr", at + 64)]),
        here("l", "exprloc", [("addr", at + 63)]),
    )


@case_with("default,global_var")
def variable_everywhere() -> bytes:
    """All sections: the first that contains the address counts, even one at address 0 that is not loaded."""
    at = 0x40
    extra = [Section(".comment", bytes(128)), Section(".bss", b"", "NOBITS", 3, 0x5000, 64)]

    def here(name: str, address: int) -> Die:
        return named("variable", name, ("type", "ref4", "int"), ("location", "exprloc", [("addr", address)]))

    return of(
        INT,
        here("low", at),
        here("zero", 0),
        here("bss", 0x5010),
        here("text", TEXT + 8),
        here("nowhere", 0x9000),
        here("percpu", X86.percpu + 8),
        extra_sections=extra,
    )


@case
def variable_oddities() -> bytes:
    """Artificial, of type void, with an invalid name, of size zero, at the start of a section without a symbol."""

    def odd(name: str, offset: int, *attributes: Any, type: str | None = "int") -> Die:
        types = () if type is None else (("type", "ref4", type),)
        return named(
            "variable", name, *types, ("location", "exprloc", [("addr", X86.percpu + offset)]), *attributes
        )

    return of(
        INT,
        named("structure_type", "empty", ("byte_size", "data1", 0), label="empty"),
        named("structure_type", "one", ("byte_size", "data1", 1), label="one"),
        odd("first", 0),
        odd("artificial", 4, ("artificial", "flag", 1)),
        odd("void", 8, type=None),
        odd("bad name", 12),
        odd("empty_one", 16, type="empty"),
        odd("one_byte", 20, type="one"),
        odd("__exitcall_x", 24),
        odd("9x", 28),
        odd("x" * 128, 32),
        odd("y" * 129, 36),
        odd(".dot", 40),
        odd("late", 60),
        odd("early", 44),
        odd("same", 44),
    )


@case
def variable_names() -> bytes:
    """The letters, digits and signs that are allowed, and their neighbours in ASCII."""

    def named_so(name: str, offset: int) -> Die:
        place = ("location", "exprloc", [("addr", X86.percpu + offset)])
        return named("variable", name, ("type", "ref4", "int"), place)

    signs = "./0159:;?@AMZ[^_`amz{|~\x7f \t$%-"
    names = [f"{sign}n" for sign in signs] + [f"n{sign}" for sign in signs] + [f"n{sign}n" for sign in signs]
    return of(INT, *(named_so(name, 4 + n % 14 * 4) for n, name in enumerate(names)))


@case
def variables_of_four_gigabytes() -> bytes:
    """Sizes are counted in 32 bits: a variable of 4 GiB counts as one of size 0, and is left out."""

    def array(label: str, *counts: int) -> Die:
        ranges = [die("subrange_type", ("count", "data4", count)) for count in counts]
        return die("array_type", ("type", "ref4", "int"), label=label, children=ranges)

    def struct(label: str, size: int) -> Die:
        return named("structure_type", label, ("byte_size", "data8", size), label=label)

    def here(type: str, offset: int) -> Die:
        place = ("location", "exprloc", [("addr", X86.percpu + offset)])
        return named("variable", f"v{offset}", ("type", "ref4", type), place)

    types = [
        array("most", (1 << 30) - 1),
        array("none", 1 << 30),
        array("one", (1 << 30) + 1),
        array("square", 1 << 15, 1 << 15),
        array("over", (1 << 15) + 1, 1 << 15),
        struct("struct_most", (1 << 32) - 1),
        struct("struct_none", 1 << 32),
        struct("struct_four", (1 << 32) + 4),
    ]
    variables = [here(str(each.label), 4 * n) for n, each in enumerate(types, 1)]
    return of(INT, *types, *variables)


def many_parameters(count: int, variadic: bool) -> bytes:
    """The reference numbers them with 8 bits: those from the 257th on overwrite the first."""
    last = [die("unspecified_parameters")] * variadic
    some = [parameter(f"a{n}", "pointer" if n % 3 else "int") for n in range(count)]
    pointer = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", "int"), label="pointer")
    function = subprogram("f", 16, ("prototyped", "flag", 1), children=[*some, *last])
    return of(INT, pointer, function, extra_symbols=functions("f"))


for _count, _variadic in ((255, True), (256, False), (256, True), (257, False), (300, True), (600, False)):
    _name = f"function_of_{_count}_parameters{'_and_more' * _variadic}"
    register(Case(_name, partial(many_parameters, _count, _variadic), "default"))


@case
def prototypes_with_types_that_reach_themselves() -> bytes:
    """No name is passed on the way, so types of two units cannot be of one class. Prototypes with them match all the
    same: what has no name is equal to what has none, and typedefs are compared by their names.
    """

    def one(n: int) -> Unit:
        def pair(tag: str, reached: str) -> list[Die]:
            """A struct or union whose name is there, but empty, and a pointer, by which it reaches what it is in."""
            member = named("member", "next", ("type", "ref4", f"{tag}*{n}"), ("data_member_location", "data1", 0))
            pointer = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", reached), label=f"{tag}*{n}")
            kind = "union_type" if tag == "union" else "structure_type"
            return [named(kind, "", ("byte_size", "data1", 8), children=[member], label=f"{tag}{n}"), pointer]

        shifted = 16 * 3 * n
        return unit(
            [
                *pair("struct", f"struct{n}"),
                *pair("union", f"union{n}"),
                named("typedef", "list", ("type", "ref4", f"typedef{n}"), label=f"list{n}"),
                *pair("typedef", f"list{n}"),
                *(
                    subprogram(name, at + shifted, children=[parameter("p", f"{tag}*{n}")])
                    for name, at, tag in (("f", 16, "struct"), ("g", 32, "union"), ("h", 48, "typedef"))
                ),
            ]
        )

    return kernel([one(0), one(1)], symbols=[COUNTER, *functions("f", "g", "h")]).data
