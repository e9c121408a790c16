"""Attributes that occur twice, or in forms that they never have. See `synthetic.py`.

No compiler writes such DWARF, but the reference reads it in its own way, which decides the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import INT, function, variable
from tests.builders.synthetic import TEXT, X86, base, case, functions, named, of, parameter, subprogram, typedef

CHAR = base("char", 1, 6, label="char")
OTHER = Symbol("other", X86.percpu + 8, 8, "OBJECT", ".data..percpu")


def member(*attributes: Any) -> Die:
    return die("member", *attributes)


@case
def attributes_twice() -> bytes:
    """In every kind of DIE, the first of two counts, whatever the second says."""
    name, type_ = ("name", "string", "second"), ("type", "ref4", "char")
    return of(
        INT,
        CHAR,
        named("base_type", "b", name, ("byte_size", "data1", 2), ("byte_size", "data1", 4), ("encoding", "data1", 7),
              ("encoding", "data1", 5)),
        named("structure_type", "s", ("byte_size", "data1", 8), ("byte_size", "data1", 16), name, label="s", children=[
            member(("name", "string", "a"), name, ("type", "ref4", "int"), type_, ("data_member_location", "data1", 4),
                   ("data_member_location", "data1", 0)),
            member(("name", "string", "f"), ("type", "ref4", "int"), ("data_bit_offset", "data1", 3),
                   ("data_bit_offset", "data1", 9), ("bit_size", "data1", 5), ("bit_size", "data1", 7)),
        ]),
        named("enumeration_type", "e", ("byte_size", "data1", 1), ("byte_size", "data1", 4), children=[
            die("enumerator", ("name", "string", "E"), name, ("const_value", "data1", 1), ("const_value", "data1", 9)),
        ]),
        die("array_type", ("type", "ref4", "char"), ("type", "ref4", "int"), label="array", children=[
            die("subrange_type", ("upper_bound", "data1", 2), ("upper_bound", "data1", 9)),
            die("subrange_type", ("count", "data1", 5), ("count", "data1", 7)),
        ]),
        die("pointer_type", ("type", "ref4", "s"), type_, label="p"),
        named("typedef", "t", name, ("type", "ref4", "array"), type_),
        subprogram("f", 16, name, ("low_pc", "addr", TEXT + 32), ("type", "ref4", "int"), type_, children=[
            parameter("x", "p", name, type_),
        ]),
        variable(X86),
        extra_symbols=functions("f", "second"),
    )  # fmt: skip


@case
def attributes_twice_in_odd_forms() -> bytes:
    """Also if the first has a form that cannot be read: then the attribute counts as absent."""
    return of(
        INT,
        CHAR,
        named("structure_type", "s", ("byte_size", "data1", 8), children=[
            member(("name", "data1", 1), ("name", "string", "lost"), ("type", "data1", 2), ("type", "ref4", "int"),
                   ("data_member_location", "data1", 4)),
        ]),
        typedef("t", "char", label="t"),
        die("pointer_type", ("type", "data4", 77), ("type", "ref4", "t")),
        named("typedef", "u", ("type", "string", "char"), ("type", "ref4", "char")),
        variable(X86),
    )  # fmt: skip


@case
def names_that_are_no_text() -> bytes:
    """A name in another form does not count: a function whose parameter has such a name is left out."""
    forms = [("data1", 7), ("udata", 300), ("flag_present", 1), ("ref4", "int"), ("exprloc", [("lit3",)])]
    return of(
        INT,
        *(die("structure_type", ("name", form, value), ("byte_size", "data1", 4)) for form, value in forms),
        *(
            subprogram(name, 16 * n, children=[die("formal_parameter", ("name", form, value), ("type", "ref4", "int"))])
            for n, (name, (form, value)) in enumerate(zip("fghij", forms, strict=True), 1)
        ),
        subprogram("k", 96, children=[parameter("x", "int")]),
        extra_symbols=functions(*"fghijk"),
    )


@case
def numbers_in_odd_forms() -> bytes:
    """For a member's offset and for a count, an address is not a number. An offset in an unknown form is 0. The lowest
    bit of a declaration's number counts.
    """
    odd = [("addr", 4), ("flag", 1), ("flag_present", 1), ("ref4", "int"), ("string", "x"), ("sec_offset", 4)]
    return of(
        INT,
        named("structure_type", "s", ("byte_size", "data1", 64), children=[
            member(("name", "string", f"m{n}"), ("type", "ref4", "int"), ("data_member_location", form, value))
            for n, (form, value) in enumerate(odd)
        ]),
        *(
            die("array_type", ("type", "ref4", "int"), children=[die("subrange_type", (what, form, value))])
            for what in ("count", "upper_bound")
            for form, value in odd
        ),
        *(
            named("structure_type", f"d{n}", ("declaration", form, value))
            for n, (form, value) in enumerate(
                [("data1", 1), ("data1", 2), ("udata", 7), ("sdata", -2), ("addr", 4096), ("addr", 4097), ("flag", 0)]
            )
        ),
        function(X86),
    )  # fmt: skip


def offsets(forms: Sequence[Any], **options: Any) -> bytes:
    """A DWARF 3 struct with a member for each form; the offset of each is four times its number."""
    return of(
        INT,
        named("structure_type", "s", ("byte_size", "data1", 64), children=[
            member(("name", "string", str(form)), ("type", "ref4", "int"), ("data_member_location", form, 4 * n))
            for n, form in enumerate(forms, 1)
        ]),
        function(X86),
        version=3,
        **options,
    )  # fmt: skip


@case
def offsets_that_are_lists() -> bytes:
    """Before DWARF 4, data4 and data8 say where a location list is. If there are no lists, the member does not get such
    an offset, even if the form is in the DIE.
    """
    indirect = [("indirect", form) for form in ("data2", "data4", "data8")]
    return offsets(["data1", "data2", "data4", "data8", "udata", "sdata", *indirect])


@case
def offsets_that_might_be_lists() -> bytes:
    """They count if they are less than the length of .debug_loc. Those in the form sec_offset never count."""
    forms = ["data4", "data8", "sec_offset", ("indirect", "data4"), ("indirect", "data8"), "data8", "data4"]
    return offsets(forms, debug={".debug_loc": bytes(4 * len(forms))})


@case
def flags_of_variables() -> bytes:
    """A variable is external or artificial if it has the attribute, in any form. A declaration is not written, even if
    it has a specification and an address.
    """

    def other(*attributes: Any) -> list[Die]:
        place = ("location", "exprloc", [("addr", X86.percpu + 8)])
        return [
            die("variable", ("specification", "ref4", "declared"), *attributes, place),
        ]

    def here(*attributes: Any) -> Die:
        return named("variable", "counter", ("type", "ref4", "int"), *attributes,
                     ("location", "exprloc", [("addr", X86.percpu)]))  # fmt: skip

    return of(
        INT,
        named("variable", "other", ("type", "ref4", "int"), ("external", "flag", 0), ("declaration", "flag", 1),
              label="declared"),
        *other(("declaration", "flag", 1)),
        here(("external", "ref4", "int"), ("artificial", "string", "x")),
        here(("external", "flag", 0)),
        extra_symbols=[OTHER],
    )  # fmt: skip


@case
def wide_enumerations_of_no_type() -> bytes:
    """Signed if the DIE that an enumeration refers to has the encoding of a signed number, even if it is not a type."""
    tags = ["subrange_type", "unspecified_type", "set_type", "namespace", "variable", "constant"]
    return of(
        INT,
        *(
            named(tag, f"t{encoding}", ("encoding", "data1", encoding), label=f"{tag}{encoding}")
            for tag in tags
            for encoding in (5, 6, 7)
        ),
        *(
            named("enumeration_type", f"{tag}_{encoding}", ("byte_size", "data1", 8),
                  ("type", "ref4", f"{tag}{encoding}"), children=[
                      die("enumerator", ("name", "string", f"E_{tag}_{encoding}"), ("const_value", "sdata", -3)),
                  ])
            for tag in tags
            for encoding in (5, 6, 7)
        ),
        function(X86),
    )  # fmt: skip


@case
def type_tags_of_no_type() -> bytes:
    """A pointer with type tags that refers to no type is a pointer to void, and so are its tags."""

    def tag(number: int, kind: int, *chain: Any) -> Die:
        return die(kind, ("name", "string", "btf_type_tag"), ("const_value", "string", f"tag{number}"), *chain,
                   label=f"tag{number}")  # fmt: skip

    return of(
        INT,
        tag(1, 0x6001),
        tag(2, 0x6001, (0x2139, "ref4", "tag1")),
        named("namespace", "n", label="none"),
        die("pointer_type", ("type", "ref4", "none"), children=[tag(3, 0x6000), tag(4, 0x6000)], label="p"),
        die("pointer_type", ("type", "ref4", "none"), (0x2139, "ref4", "tag2"), label="q"),
        die("pointer_type", ("type", "ref4", "p"), children=[tag(5, 0x6000)]),
        die("pointer_type", children=[tag(6, 0x6000)]),
        typedef("t", "p"),
        typedef("u", "q"),
        function(X86),
    )


@case
def prototypes_whose_parameters_have_origins() -> bytes:
    """Without a type, a parameter of a prototype takes the name of its origin, even if that has none, and is void."""

    def taken(origin: str, *attributes: Any) -> Die:
        return die("formal_parameter", *attributes, ("abstract_origin", "ref4", origin))

    name, type_ = ("name", "string", "own"), ("type", "ref4", "char")
    return of(
        INT,
        CHAR,
        die("subroutine_type", children=[
            taken("x"), taken("y"), taken("x", name), taken("z", name), taken("x", type_), taken("x", name, type_),
            taken("int", name),
        ]),
        die("subroutine_type", children=[parameter("y", "char", label="y")]),
        subprogram("f", 16, children=[
            parameter("x", "int", label="x"), die("formal_parameter", ("abstract_origin", "ref4", "x"), label="z"),
        ]),
        variable(X86),
        extra_symbols=functions("f"),
    )  # fmt: skip


@case
def parameters_of_other_functions_origins() -> bytes:
    """A parameter takes the name and type of its origin even if its function has no origin."""
    return of(
        INT,
        subprogram("f", 16, ("type", "ref4", "int"), children=[
            parameter("x", "int", ("location", "exprloc", [("reg5",)]), label="x"),
        ]),
        subprogram("g", 32, ("type", "ref4", "int"), children=[
            die("formal_parameter", ("abstract_origin", "ref4", "x"), ("location", "exprloc", [("reg5",)])),
        ]),
        subprogram("h", 48, children=[die("formal_parameter", ("abstract_origin", "ref4", "x"))]),
        variable(X86),
        extra_symbols=functions("f", "g", "h"),
    )  # fmt: skip


@case
def flags_as_numbers() -> bytes:
    """A number in the form of a flag is 0 or 1."""
    name = ("name", "string", "x")
    return of(
        INT,
        die("enumeration_type", name, ("byte_size", "data1", 4), children=[
            named("enumerator", f"E{n}", ("const_value", "flag", n)) for n in (0, 1, 2, 255)
        ]),
        die("structure_type", name, ("byte_size", "flag", 8)),
        die("structure_type", name, ("declaration", "flag", 2)),
        die("base_type", name, ("byte_size", "flag", 8), ("encoding", "flag", 5)),
        function(X86),
    )  # fmt: skip


@case
def offsets_of_16_bytes() -> bytes:
    """16 bytes are a block, whose first operation counts. A bit offset in the form of a flag does not count."""
    place, bits = "data_member_location", ("bit_size", "data1", 7)
    return of(
        INT,
        named("structure_type", "s", ("byte_size", "data1", 64), children=[
            named("member", "number", ("type", "ref4", "int"), (place, "data16", 8)),
            named("member", "operation", ("type", "ref4", "int"), (place, "data16", b"\x23\x08" + bytes(14))),
            named("member", "bits", ("type", "ref4", "int"), bits,
                  ("data_bit_offset", "data16", b"\x10\x48" + bytes(14))),
            named("member", "flag", ("type", "ref4", "int"), bits, ("data_bit_offset", "flag", 9)),
        ]),
        function(X86),
        version=5,
    )  # fmt: skip


@case
def bit_fields_of_other_types() -> bytes:
    """A bit-field without a storage size is in a unit of the size of its type, whatever that is."""

    def array(label: str, element: str, *counts: int, **fields: Any) -> Die:
        sizes = [die("subrange_type", ("count", "data4", count)) for count in counts]
        return die("array_type", ("type", "ref4", element), children=sizes, label=label, **fields)

    types = [
        base("char", 1, 6, label="char"),
        base("nothing", 0, label="nothing"),
        die("pointer_type", label="pointer"),
        die("pointer_type", ("byte_size", "data1", 4), label="small_pointer"),
        array("array", "int", 3),
        array("two_dimensions", "int", 3, 4),
        array("no_dimension", "int"),
        array("of_pointers", "pointer", 2),
        array("of_structs", "union", 3),
        array("wraps", "int", 0x40000001),
        die("subroutine_type", label="prototype"),
        named("union_type", "union", ("byte_size", "data1", 6), label="union"),
        named("enumeration_type", "enumeration", label="enumeration"),
        typedef("to_array", "array", label="to_array"),
        die("const_type", ("type", "ref4", "to_array"), label="constant"),
    ]
    return of(
        INT,
        *types,
        named("structure_type", "s", ("byte_size", "data2", 512), children=[
            named("member", f"m{n}", ("type", "ref4", each.label), ("bit_size", "data1", 3 + n % 8),
                  ("data_member_location", "data2", 16 * n + n % 3))
            for n, each in enumerate([INT, *types])
        ]),
        function(X86),
    )  # fmt: skip


@case
def bit_fields_of_large_units() -> bytes:
    """A bit-field that begins before its unit of more than 16 bytes: its place has only 8 bits."""
    sizes = (15, 16, 17, 20, 24, 31, 32, 33, 49, 63, 64, 100, 200)
    return of(
        INT,
        *(named("structure_type", f"e{size}", ("byte_size", "data1", size), label=f"e{size}") for size in sizes),
        named("structure_type", "s", ("byte_size", "data2", 8192), children=[
            member(("name", "string", f"m{size}_{at}_{len(own)}"), ("type", "ref4", f"e{size}"), *own,
                   ("bit_size", "data1", 3), ("bit_offset", "data1", at), ("data_member_location", "data2", 1000))
            for size in sizes
            for at in (0, 5, 100, 130)
            for own in ((), (("byte_size", "data1", size),))
        ]),
        function(X86),
        version=3,
    )  # fmt: skip
