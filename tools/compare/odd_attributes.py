"""Compares pybtf with the reference on attributes as no compiler writes them.

    python -m tools.compare.odd_attributes [--part N/M] [--version 4] [--only TEXT]

In a small kernel, one attribute of one DIE is changed: it occurs twice, with the other one before or after it; it gets,
or is joined by another one with, each of some twenty forms; or the DIE gets an attribute that its kind does not have.
`--part 0/20` takes every twentieth of the 14,000 changes.

An error from pybtf alone does not count as a difference: docs/differences.md says which DWARF it refuses. That has a
row about `DW_AT_sibling` in odd forms, too, which is left out here. Crashes of the reference, or no output from it, are
counted. Exit status: 1 if bytes differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol
from tests.builders.synthetic import TEXT, X86, of
from tools.judge import oracle, subject

FEATURES = f"{oracle.USUAL},global_var"

Attribute = tuple[Any, ...]
Change = Callable[[str, list[Attribute]], list[Attribute]]
"""From a DIE's label and attributes: its attributes."""

ADDRESS = X86.percpu
SOME_OTHER: dict[str, Any] = {
    "name": "other", "type": "char", "byte_size": 2, "encoding": 7, "data_member_location": 4, "data_bit_offset": 40,
    "bit_size": 2, "bit_offset": 5, "const_value": 5, "upper_bound": 2, "count": 5, "declaration": 1, "external": 1,
    "low_pc": TEXT + 64, "location": [("reg4",)], "inline": 3, "abstract_origin": "f", "specification": "f",
}  # fmt: skip
FORMS: Sequence[tuple[str, Any]] = (
    ("data1", 7), ("data2", 7), ("data4", 9), ("data8", 3), ("udata", 6), ("sdata", -2), ("implicit_const", 3),
    ("string", "odd"), ("strp", "odd"), ("flag", 1), ("flag", 0), ("flag_present", 1), ("ref4", "int"),
    ("ref_udata", "int"), ("ref_addr", "int"), ("addr", 4096), ("exprloc", [("plus_uconst", 4)]),
    ("exprloc", [("lit3",)]), ("exprloc", [("addr", ADDRESS)]), ("block1", [("plus_uconst", 4)]), ("block1", b""),
    ("sec_offset", 0),
)  # fmt: skip
FOREIGN = (
    "name", "type", "byte_size", "encoding", "data_member_location", "data_bit_offset", "bit_size", "bit_offset",
    "const_value", "upper_bound", "count", "declaration", "external", "low_pc", "inline", "abstract_origin",
    "specification", "location", "artificial", "calling_convention", "lower_bound", "virtuality", "import",
    "byte_stride", "alignment", "accessibility",
)  # fmt: skip
FOREIGN_FORMS: Sequence[tuple[str, Any]] = (
    ("data1", 1), ("ref4", "int"), ("exprloc", [("plus_uconst", 4)]), ("flag_present", 1), ("string", "odd"),
    ("addr", TEXT + 64),
)  # fmt: skip


def as_they_are(_label: str, attributes: list[Attribute]) -> list[Attribute]:
    return attributes


def program(change: Change, version: int, reshape: Callable[[Die], Die] = lambda it: it) -> bytes:
    """The kernel. The attributes of each DIE go through `change`, and then the DIE goes through `reshape`."""

    def put(tag: str, label: str, *attributes: Attribute, children: Sequence[Die] = ()) -> Die:
        return reshape(die(tag, *change(label, list(attributes)), label=label, children=children))

    def member(label: str, of: str, *attributes: Attribute) -> Die:
        return put("member", label, name(label), type_(of), *attributes)

    def name(text: str) -> Attribute:
        return "name", "string", text

    def type_(label: str) -> Attribute:
        return "type", "ref4", label

    def one(attribute: str, number: int) -> Attribute:
        return attribute, "data1", number

    def code(offset: int) -> Attribute:
        return "low_pc", "addr", TEXT + offset

    def at(*operation: Any) -> Attribute:
        return "location", "exprloc", [operation]

    declared, external = ("declaration", "flag", 1), ("external", "flag", 1)
    place = "data_member_location"
    return of(
        put("base_type", "int", name("int"), one("byte_size", 4), one("encoding", 5)),
        put("base_type", "char", name("char"), one("byte_size", 1), one("encoding", 6)),
        put("structure_type", "s", name("s"), one("byte_size", 16), children=[
            member("plain", "int", one(place, 0)),
            member("bits", "int", one("data_bit_offset", 36), one("bit_size", 5)),
            member("old_bits", "int", one("byte_size", 4), one("bit_offset", 8), one("bit_size", 3), one(place, 8)),
        ]),
        put("structure_type", "opaque", name("opaque"), declared),
        put("union_type", "u", name("u"), one("byte_size", 4), children=[member("in_union", "char")]),
        put("enumeration_type", "e", name("e"), one("encoding", 7), one("byte_size", 4), type_("int"), children=[
            put("enumerator", "first", name("FIRST"), one("const_value", 1)),
            put("enumerator", "second", name("SECOND"), ("const_value", "sdata", -3)),
        ]),
        put("array_type", "array", type_("char"), children=[
            put("subrange_type", "bounded", type_("int"), one("upper_bound", 9)),
            put("subrange_type", "counted", type_("int"), one("count", 3)),
        ]),
        put("pointer_type", "to_s", one("byte_size", 8), type_("s")),
        put("pointer_type", "to_opaque", one("byte_size", 8), type_("opaque")),
        put("const_type", "const", type_("int")),
        put("typedef", "t", name("t"), type_("const")),
        put("subroutine_type", "called", type_("int"), ("prototyped", "flag", 1), children=[
            put("formal_parameter", "unnamed", type_("to_s")),
        ]),
        put("pointer_type", "to_called", one("byte_size", 8), type_("called")),
        put("structure_type", "all", name("all"), one("byte_size", 80), children=[
            member(f"m_{of}", of, one(place, n))
            for of, n in [("array", 0), ("u", 40), ("e", 44), ("to_called", 48), ("to_opaque", 56), ("t", 64)]
        ]),
        put("subprogram", "f", external, name("f"), type_("int"), code(16), children=[
            put("formal_parameter", "a", name("a"), type_("int"), at("reg5")),
            put("formal_parameter", "b", name("b"), type_("to_s"), at("fbreg", -20)),
        ]),
        put("subprogram", "inlined", name("g"), one("inline", 1), type_("char"), children=[
            put("formal_parameter", "x", name("x"), type_("s")),
        ]),
        put("subprogram", "out_of_line", ("abstract_origin", "ref4", "inlined"), code(32), children=[
            put("formal_parameter", "its_x", ("abstract_origin", "ref4", "x"), at("reg5")),
        ]),
        put("subprogram", "declared", name("h"), declared, external, type_("int"), children=[
            put("formal_parameter", "y_declared", type_("int")),
        ]),
        put("subprogram", "defined", ("specification", "ref4", "declared"), code(48), children=[
            put("formal_parameter", "y", name("y"), type_("int"), at("reg5")),
        ]),
        put("variable", "counter", name("counter"), type_("int"), external, at("addr", ADDRESS)),
        put("variable", "v_declared", name("v"), type_("to_s"), external, declared),
        put("variable", "v", ("specification", "ref4", "v_declared"), at("addr", ADDRESS + 8)),
        version=version,
        extra_symbols=[
            *(Symbol(name, TEXT + 16 * n, 16) for n, name in enumerate("fgh", 1)),
            Symbol("v", ADDRESS + 8, 8, "OBJECT", ".data..percpu"),
        ],
    )  # fmt: skip


def changes(version: int) -> Iterator[tuple[str, Change]]:
    """All changes, with a description of each."""
    there: dict[str, list[Attribute]] = {}

    def note(label: str, attributes: list[Attribute]) -> list[Attribute]:
        there[label] = attributes
        return attributes

    def only(label: str, what: Callable[[list[Attribute]], list[Attribute]]) -> Change:
        return lambda other, attributes: what(attributes) if other == label else attributes

    def spliced(label: str, start: int, end: int, new: Attribute) -> Change:
        return only(label, lambda all: [*all[:start], new, *all[end:]])

    program(note, version)
    for label, attributes in there.items():
        for i, (name, form, _) in enumerate(attributes):
            if name not in SOME_OTHER:
                continue
            for new in [(form, SOME_OTHER[name]), *FORMS]:
                for how, start, end in [("before", i, i), ("after", i + 1, i + 1), ("instead", i, i + 1)]:
                    yield f"{label}: {name} {new[0]} {new[1]} {how}", spliced(label, start, end, (name, *new))
        for name in set(FOREIGN) - {name for name, _, _ in attributes}:
            for foreign in FOREIGN_FORMS:
                change = spliced(label, len(attributes), len(attributes), (name, *foreign))
                yield f"{label}: also {name} {foreign[0]}", change


def verdict(path: Path) -> str:
    """The verdict on the results of both for a file."""
    reference = oracle.run(path, FEATURES, timeout=60)
    ours = subject.encode(path, FEATURES, 1, timeout=60)
    if reference.data == ours.data:
        return "same" if ours.data else "nothing from either"
    if reference.data is None:
        return "a crash of the reference" if reference.status < 0 else "nothing from the reference"
    return "an error of pybtf alone" if ours.refused else "different"


def compare(about: str | None, every: Callable[[int], Iterable[tuple[str, Callable[[], bytes]]]]) -> int:
    """The command line of a tool that compares all of these files, and its execution."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="0/1", metavar="N/M")
    parser.add_argument("--version", type=int, default=4, help="of DWARF: 2 to 5")
    parser.add_argument("--only", default="", help="changes whose text has this in it, each with its verdict")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "odd.elf"
        chosen = sorted(
            ((what, build) for what, build in every(options.version) if options.only in what), key=lambda each: each[0]
        )
        for what, build in chosen[part::parts]:
            path.write_bytes(build())
            result = verdict(path)
            counts[result] += 1
            if result == "different" or options.only:
                print(f"{what}: {result}", flush=True)
    print(", ".join(f"{n} {result}" for result, n in counts.most_common()))
    return 1 if counts["different"] else 0


def files(version: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for what, change in changes(version):
        yield what, partial(program, change, version)


if __name__ == "__main__":
    sys.exit(compare(__doc__, files))
