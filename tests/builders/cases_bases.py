"""Base classes of C++: where they count as members, though BTF does not have them. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import INT, point, variable
from tests.builders.synthetic import X86, base, case, functions, named, of, parameter, subprogram, typedef

VIRTUAL = ("virtuality", "data1", 1)


def at(offset: int) -> tuple[str, str, int]:
    return ("data_member_location", "data1", offset)


def derived(type: str, *attributes: Any) -> Die:
    return die("inheritance", ("type", "ref4", type), *attributes)


def shared() -> Die:
    """A static member, as in DWARF 4."""
    return named("member", "x", ("type", "ref4", "int"), ("external", "flag", 1), ("declaration", "flag", 1))


@case
def variables_of_structs_of_base_classes() -> bytes:
    """A struct of 1 byte has a size, and so do its variables, if it has a base class that has a place."""
    of_one_byte = {
        "nothing": [],
        "one": [derived("empty", at(0))],
        "two": [derived("empty", at(0)), derived("empty", at(1))],
        "virtual": [derived("empty", at(0), VIRTUAL)],
        "without_place": [derived("empty")],
        "virtual_without_place": [derived("empty", VIRTUAL)],
        "larger": [derived("point", at(0))],
        "static": [shared()],
        "static_and_base": [shared(), derived("empty", at(0))],
    }
    structs = [
        named("structure_type", name, ("byte_size", "data1", 1), label=name, children=children)
        for name, children in of_one_byte.items()
    ]
    unions = [
        named("union_type", f"u_{name}", ("byte_size", "data1", 1), label=f"u_{name}", children=of_one_byte[name])
        for name in ("nothing", "one", "without_place", "static")
    ]
    row = die(
        "array_type", ("type", "ref4", "one"), label="row", children=[die("subrange_type", ("upper_bound", "data1", 2))]
    )
    types = [*of_one_byte, "u_nothing", "u_one", "u_without_place", "u_static", "named", "row"]
    places = {f"v_{name}": 4 + n for n, name in enumerate(types)}
    symbols = [Symbol(name, X86.percpu + place, 1, "OBJECT", ".data..percpu") for name, place in places.items()]
    return of(
        INT,
        point(),
        named("structure_type", "empty", ("byte_size", "data1", 1), label="empty"),
        *structs,
        *unions,
        typedef("named", "one", label="named"),
        row,
        *(variable(X86, f"v_{name}", name, places[f"v_{name}"]) for name in types),
        extra_symbols=symbols,
    )


@case
def packed_structs_of_base_classes() -> bytes:
    """A base class without a place leaves no padding, so the struct counts as packed, and its function is left out."""
    bases = {
        "none": [],
        "placed": [derived("two", at(0))],
        "without_place": [derived("two")],
        "virtual": [derived("two", at(0), VIRTUAL)],
    }
    structs = [
        named(
            "structure_type",
            name,
            ("byte_size", "data1", 5),
            label=name,
            children=[
                named("member", "a", ("type", "ref4", "char"), at(0)),
                named("member", "b", ("type", "ref4", "int"), at(1)),
                *children,
            ],
        )
        for name, children in bases.items()
    ]
    taking = [
        subprogram(
            f"takes_{name}",
            16 * n,
            ("external", "flag", 1),
            ("prototyped", "flag", 1),
            children=[*(parameter(f"p{k}", "int") for k in range(6)), parameter("s", name)],
        )
        for n, name in enumerate(bases, 1)
    ]
    two = named(
        "structure_type",
        "two",
        ("byte_size", "data1", 2),
        label="two",
        children=[named("member", "c", ("type", "ref4", "char"), at(0))],
    )
    char = base("char", 1, 6, label="char")
    return of(INT, char, two, *structs, *taking, extra_symbols=functions(*(f"takes_{name}" for name in bases)))
