"""Compares pybtf with the reference on DIEs as no compiler writes them: of another kind, or where they do not belong.

    python -m tools.compare.odd_tags [--part N/M] [--version 4] [--only TEXT]

The kernel of `odd_attributes`, in which one DIE has each of some fifty other tags, its attributes and children kept, or
one DIE of some thirty kinds is added before or after the children of another. See there for the verdicts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

from tests.builders.dwarfwriter import Die, die
from tests.builders.synthetic import TEXT
from tools.compare.odd_attributes import ADDRESS, as_they_are, compare, program

TAGS = (
    "array_type", "class_type", "enumeration_type", "formal_parameter", "imported_declaration", "label",
    "lexical_block", "member", "pointer_type", "reference_type", "string_type", "structure_type", "subroutine_type",
    "typedef", "union_type", "unspecified_parameters", "variant", "inheritance", "inlined_subroutine", "module",
    "ptr_to_member_type", "set_type", "subrange_type", "base_type", "catch_block", "const_type", "constant",
    "enumerator", "subprogram", "template_type_param", "template_value_param", "thrown_type", "try_block",
    "variant_part", "variable", "volatile_type", "dwarf_procedure", "restrict_type", "interface_type", "namespace",
    "imported_module", "unspecified_type", "imported_unit", "partial_unit", "compile_unit", "rvalue_reference_type",
    "atomic_type", "call_site", 0x6000, 0x6001,
)  # fmt: skip

NAME, TYPE = ("name", "string", "stray"), ("type", "ref4", "s")
STRAYS: dict[str, Die] = {
    "a member": die("member", NAME, TYPE, ("data_member_location", "data1", 4)),
    "an inheritance": die("inheritance", TYPE, ("data_member_location", "data1", 4)),
    "an enumerator": die("enumerator", NAME, ("const_value", "data1", 5)),
    "a parameter": die("formal_parameter", NAME, TYPE, ("location", "exprloc", [("reg4",)])),
    "a parameter of an origin": die("formal_parameter", ("abstract_origin", "ref4", "x")),
    "more parameters": die("unspecified_parameters"),
    "a dimension": die("subrange_type", ("upper_bound", "data1", 3)),
    "a variable": die("variable", NAME, TYPE, ("external", "flag", 1), ("location", "exprloc", [("addr", ADDRESS)])),
    "a variable's other half": die("variable", ("specification", "ref4", "v_declared"),
                                   ("location", "exprloc", [("addr", ADDRESS + 8)])),
    "a function": die("subprogram", ("name", "string", "h"), TYPE, ("low_pc", "addr", TEXT + 48), children=[
        die("formal_parameter", NAME, TYPE),
    ]),
    "a method's other half": die("subprogram", ("specification", "ref4", "declared"), ("low_pc", "addr", TEXT + 48)),
    "a block": die("lexical_block", children=[
        die("formal_parameter", NAME, TYPE),
        die("typedef", NAME, TYPE),
        die("member", NAME, TYPE),
        die("subprogram", ("name", "string", "h"), TYPE, ("low_pc", "addr", TEXT + 48)),
        die("variable", NAME, TYPE, ("external", "flag", 1), ("location", "exprloc", [("addr", ADDRESS)])),
    ]),
    "an inlined function": die("inlined_subroutine", ("abstract_origin", "ref4", "inlined"), children=[
        die("typedef", NAME, TYPE),
    ]),
    "a namespace": die("namespace", NAME, children=[
        die("typedef", NAME, TYPE),
        die("subprogram", ("name", "string", "h"), TYPE, ("low_pc", "addr", TEXT + 48)),
        die("variable", NAME, TYPE, ("external", "flag", 1), ("location", "exprloc", [("addr", ADDRESS)])),
    ]),
    "a number": die("base_type", NAME, ("byte_size", "data1", 2), ("encoding", "data1", 5)),
    "a typedef": die("typedef", NAME, TYPE),
    "a pointer": die("pointer_type", TYPE),
    "a struct": die("structure_type", NAME, ("byte_size", "data1", 4), children=[
        die("member", NAME, ("type", "ref4", "int"), ("data_member_location", "data1", 0)),
        die("typedef", ("name", "string", "inner"), TYPE),
    ]),
    "an enumeration": die("enumeration_type", NAME, ("byte_size", "data1", 4), children=[
        die("enumerator", NAME, ("const_value", "data1", 5)),
    ]),
    "an array": die("array_type", TYPE, children=[die("subrange_type", ("count", "data1", 3))]),
    "a prototype": die("subroutine_type", TYPE, children=[die("formal_parameter", TYPE)]),
    "a constant": die("constant", NAME, TYPE, ("const_value", "data1", 1)),
    "a label": die("label", NAME, ("low_pc", "addr", TEXT)),
    "a declaration tag": die(0x6000, ("name", "string", "btf_decl_tag"), ("const_value", "string", "stray")),
    "a type tag": die(0x6000, ("name", "string", "btf_type_tag"), ("const_value", "string", "stray")),
    "gcc's type tag": die(0x6001, ("name", "string", "btf_type_tag"), ("const_value", "string", "stray")),
    "an import of a unit": die("imported_unit", ("import", "ref4", "int")),
    "a unit": die("compile_unit", NAME, children=[die("typedef", NAME, TYPE)]),
    "a variant part": die("variant_part", children=[die("member", NAME, TYPE)]),
}  # fmt: skip


def files(version: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """All kernels, with what is odd about each."""
    there: list[Die] = []

    def note(it: Die) -> Die:
        there.append(it)
        return it

    def only(label: str | None, new: Callable[[Die], Die]) -> Callable[[], bytes]:
        return partial(program, as_they_are, version, lambda it: new(it) if it.label == label else it)

    program(as_they_are, version, note)
    for each in there:
        for tag in TAGS:
            if tag != each.tag:
                yield f"{each.label}: {each.tag} as {tag}", only(each.label, partial(with_tag, tag))
        for what, stray in STRAYS.items():
            yield f"{each.label}: {what} in front", only(each.label, partial(with_children, [stray], []))
            if each.children:
                yield f"{each.label}: {what} behind", only(each.label, partial(with_children, [], [stray]))


def with_tag(tag: str | int, it: Die) -> Die:
    return it._replace(tag=tag)


def with_children(first: list[Die], last: list[Die], it: Die) -> Die:
    return it._replace(children=[*first, *it.children, *last])


if __name__ == "__main__":
    sys.exit(compare(__doc__, files))
