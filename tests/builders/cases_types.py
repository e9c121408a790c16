"""Base types, missing names, references. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, Raw, Unit, die
from tests.builders.kernelish import INT, function, kernel, point, unit, variable
from tests.builders.synthetic import X86, base, case, case_with, functions, named, of, parameter, subprogram, typedef

# -- base types ------------------------------------------------------------------------------------


@case
def base_type_odd_sizes() -> bytes:
    """Sizes that are not a power of two, 0, or above 16 become __SANITIZED_FAKE_INT__; the encoding stays."""
    sizes = [0, 1, 3, 5, 7, 8, 9, 12, 16, 17, 24, 32, 64]
    return of(
        INT,
        *(base(f"s{size}", size, 5 if size % 2 else 7, label=f"s{size}") for size in sizes),
        *(typedef(f"t{size}", f"s{size}") for size in sizes),
    )


@case
def base_type_odd_sizes_without_names() -> bytes:
    """These need no name."""
    sizes = [0, 3, 5, 17, 24]
    return of(
        INT,
        *(base(None, size, 2 if size % 2 else 5, label=f"s{size}") for size in sizes),
        *(typedef(f"t{size}", f"s{size}") for size in sizes),
    )


@case
def base_type_encodings() -> bytes:
    """Every DW_ATE, known or not: signed, signed_char and boolean are distinguished, the rest is plain."""
    return of(
        INT,
        *(
            base(f"e{code}", 4 if code != 4 else 8, code)
            for code in [*range(1, 3), *range(4, 20), 0x80, 0xFF]
            if code not in (3, 9)
        ),
    )


@case
def base_type_no_encoding() -> bytes:
    """No DW_AT_encoding, no DW_AT_byte_size."""
    return of(
        INT,
        named("base_type", "bare", label="b"),
        named("base_type", "sized", ("byte_size", "data1", 2)),
        typedef("t", "b"),
    )


@case
def base_type_bit_size() -> bytes:
    """DW_AT_bit_size of a base type (`_BitInt(13)`) is ignored."""
    return of(
        INT,
        base("_BitInt(13)", 2)._replace(
            attributes=(
                ("name", "string", "_BitInt(13)"),
                ("byte_size", "data1", 2),
                ("bit_size", "data1", 13),
                ("encoding", "data1", 5),
            )
        ),
    )


@case
def base_type_huge_size() -> bytes:
    """The bit size has 16 bits: 8192 bytes + 4 becomes 4."""
    return of(INT, named("base_type", "wraps", ("byte_size", "data2", 0x2004), ("encoding", "data1", 5)))


@case
def base_type_without_name() -> bytes:
    """BTF has no nameless integer: an error."""
    return of(INT, base(None, 2))


@case
def float_sizes() -> bytes:
    return of(INT, *(base(f"f{size}", size, 4) for size in (2, 4, 8, 12, 16)))


@case
def float_odd_size() -> bytes:
    """A FLOAT of 3 bytes cannot be expressed."""
    return of(INT, base("f3", 3, 4))


@case
def float_complex() -> bytes:
    return of(INT, base("complex", 16, 3))


@case_with("encode_force,var,decl_tag,type_tag,enum64")
def float_feature_off() -> bytes:
    """Without the feature, floats are plain integers."""
    return of(INT, base("f8", 8, 4), base("complex", 16, 3), base("complex long", 32, 3))


@case
def int_named_otherwise() -> bytes:
    """No base type is called "int": the index type of arrays is appended to the first unit that needs it."""
    array = die(
        "array_type", ("type", "ref4", "l"), children=[die("subrange_type", ("upper_bound", "data1", 3))]
    )
    return kernel(
        [
            unit([base("long", 8, label="l0")]),
            unit([base("long", 8, label="l"), array, typedef("after", "l")], version=5),
            unit([base("int", 2, 7, label="short int"), typedef("late", "short int")]),
        ]
    ).data


# -- names that are missing ------------------------------------------------------------------------


@case
def nameless_members() -> bytes:
    return of(
        INT,
        die(
            "structure_type",
            ("byte_size", "data1", 8),
            children=[
                die("member", ("type", "ref4", "int"), ("data_member_location", "data1", 0)),
                die("member", ("type", "ref4", "int"), ("data_member_location", "data1", 4)),
            ],
        ),
    )


@case
def nameless_typedef() -> bytes:
    return of(INT, die("typedef", ("type", "ref4", "int")))


@case
def empty_typedef_name() -> bytes:
    return of(INT, typedef("", "int"))


@case
def nameless_declaration() -> bytes:
    """A forward declaration without a name."""
    return of(INT, die("structure_type", ("declaration", "flag", 1)))


@case
def nameless_enum() -> bytes:
    """Enumerations may be nameless; their enumerators may not (next)."""
    return of(
        INT,
        die(
            "enumeration_type",
            ("byte_size", "data1", 4),
            children=[named("enumerator", "A", ("const_value", "data1", 1))],
        ),
    )


@case
def nameless_enumerator() -> bytes:
    """The library does not accept a nameless enumerator: an error."""
    return of(
        INT,
        named(
            "enumeration_type",
            "e",
            ("byte_size", "data1", 4),
            children=[die("enumerator", ("const_value", "data1", 1))],
        ),
    )


@case
def nameless_parameter() -> bytes:
    """A function with a nameless parameter is left out; in a subroutine type such parameters are usual."""
    return of(
        INT,
        die("subroutine_type", ("prototyped", "flag", 1), children=[parameter(None, "int")]),
        subprogram("one", 16, ("prototyped", "flag", 1), children=[parameter(None, "int")]),
        subprogram("two", 32, ("prototyped", "flag", 1), children=[parameter("a", "int")]),
        extra_symbols=functions("one", "two"),
    )


@case
def nameless_function() -> bytes:
    return of(
        INT,
        subprogram(None, 16, ("type", "ref4", "int")),
        subprogram("two", 32),
        extra_symbols=functions("one", "two"),
    )


@case
def nameless_variable() -> bytes:
    v = variable(X86)
    return of(INT, v._replace(attributes=v.attributes[1:], label=None), variable(X86, "other", offset=8))


@case
def empty_names() -> bytes:
    """Empty names where they are allowed."""
    return of(
        INT,
        named(
            "structure_type",
            "",
            ("byte_size", "data1", 4),
            children=[named("member", "", ("type", "ref4", "int"), ("data_member_location", "data1", 0))],
        ),
        named("enumeration_type", "", ("byte_size", "data1", 4)),
        subprogram("f", 0, children=[parameter("", "int")]),
        subprogram("", 0),
    )


@case
def empty_enumerator_name() -> bytes:
    return of(
        INT,
        named(
            "enumeration_type",
            "e",
            ("byte_size", "data1", 4),
            children=[named("enumerator", "", ("const_value", "data1", 1))],
        ),
    )


@case
def names_that_are_not_utf8() -> bytes:
    """Names are bytes: Latin-1, a newline, 300 letters."""
    return of(
        INT,
        typedef("x" * 300, "int"),
        die("typedef", ("name", "string", b"caf\xe9"), ("type", "ref4", "int")),
        die("typedef", ("name", "string", b"two\nlines"), ("type", "ref4", "int")),
    )


# -- references ------------------------------------------------------------------------------------


@case
def reference_to_no_type() -> bytes:
    """References to what is not a type (a member, a function, the unit, the inside of a DIE) become void."""
    p = point()
    p = p._replace(children=[p.children[0]._replace(label="x"), p.children[1]])  # type: ignore[union-attr]
    return of(
        INT,
        p,
        function(X86),
        typedef("to_member", "x"),
        typedef("to_function", "f"),
        typedef("to_unit", "unit"),
        die("typedef", ("name", "string", "inside"), ("type", "ref4", Raw(13))),
        die("pointer_type", ("type", "ref4", "x")),
    )


@case
def reference_into_an_inlined_body() -> bytes:
    """Inlined subroutines are not entered: types inside them do not exist."""
    return of(
        INT,
        function(X86)._replace(
            children=[
                die("lexical_block", children=[typedef("in_block", "int", label="block")]),
                die(
                    "inlined_subroutine",
                    ("abstract_origin", "ref4", "f"),
                    children=[typedef("in_inline", "int", label="inline")],
                ),
            ]
        ),
        typedef("a", "block"),
        typedef("b", "inline"),
    )


@case
def reference_forward() -> bytes:
    return of(
        typedef("first", "second"),
        typedef("second", "third", label="second"),
        typedef("third", "int", label="third"),
        INT,
    )


@case
def struct_contains_itself() -> bytes:
    """By value: this is nonsense, but BTF can express it."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 4),
            label="s",
            children=[named("member", "self", ("type", "ref4", "s"), ("data_member_location", "data1", 0))],
        ),
    )


@case
def typedef_of_itself() -> bytes:
    return of(INT, typedef("loop", "loop", label="loop"))


@case
def typedef_cycle_of_two() -> bytes:
    return of(
        INT,
        typedef("a", "b", label="a"),
        typedef("b", "a", label="b"),
        die("const_type", ("type", "ref4", "a")),
    )


@case
def const_of_itself() -> bytes:
    """A cycle of nothing but reference types cannot be de-duplicated: an error."""
    return of(INT, die("const_type", ("type", "ref4", "c"), label="c"))


@case
def pointer_to_itself() -> bytes:
    return of(INT, die("pointer_type", ("type", "ref4", "p"), label="p"))


@case
def subrange_as_type() -> bytes:
    """A DW_TAG_subrange_type outside an array is reported and skipped; a reference to it is void."""
    return of(
        INT,
        named("subrange_type", "range", ("type", "ref4", "int"), ("upper_bound", "data1", 9), label="r"),
        typedef("t", "r"),
        typedef("u", "int"),
    )


@case
def unsupported_tags() -> bytes:
    """Tags without a rule are skipped with their subtree, even the types in it; ids of other types do not change."""
    inner = typedef("lost", "int", label="lost")
    return of(
        INT,
        die("common_block", children=[inner]),
        die("set_type", ("type", "ref4", "int")),
        die("file_type"),
        die(0x7654, children=[die("lexical_block", children=[typedef("lost2", "int")])]),
        die("label"),
        die("dwarf_procedure", children=[typedef("lost3", "int")]),
        typedef("kept", "int"),
        typedef("void", "lost"),
    )


@case
def unspecified_types() -> bytes:
    return of(
        INT,
        named("unspecified_type", "decltype(nullptr)", label="u"),
        typedef("t", "u"),
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 4),
            children=[
                named("unspecified_type", "inner", label="inner"),
                named("member", "m", ("type", "ref4", "inner"), ("data_member_location", "data1", 0)),
                typedef("nested", "int"),
            ],
        ),
        typedef("last", "int"),
    )


@case
def imported_things() -> bytes:
    """An imported_unit without a target, imported declarations and modules are not types."""
    return of(
        INT,
        die("imported_unit"),
        die("imported_declaration", ("import", "ref4", "int")),
        die("imported_module", ("import", "ref4", "int")),
        named("constant", "k", ("type", "ref4", "int")),
        typedef("t", "int"),
    )


@case
def namespaces() -> bytes:
    """Types in a namespace are recorded, its variables are not top level."""
    return of(
        INT,
        named(
            "namespace",
            "ns",
            children=[
                typedef("inside", "int"),
                variable(X86),
                named("namespace", "deeper", children=[typedef("deep", "int")]),
            ],
        ),
        typedef("outside", "int"),
    )


@case
def types_inside_types() -> bytes:
    """Nested types come before what contains them, in the order of the DIEs."""
    return of(
        INT,
        named(
            "structure_type",
            "outer",
            ("byte_size", "data1", 4),
            label="outer",
            children=[
                typedef("one", "outer"),
                named(
                    "union_type",
                    "middle",
                    ("byte_size", "data1", 4),
                    label="middle",
                    children=[
                        named("enumeration_type", "inner", ("byte_size", "data1", 4), label="inner"),
                        named("member", "e", ("type", "ref4", "inner")),
                    ],
                ),
                named("member", "m", ("type", "ref4", "middle"), ("data_member_location", "data1", 0)),
                subprogram("method", 16, children=[typedef("in_method", "int")]),
                variable(X86),
            ],
        ),
        subprogram(
            "two",
            32,
            children=[
                die(
                    "lexical_block",
                    children=[
                        die(
                            "lexical_block",
                            children=[typedef("in_blocks", "int"), variable(X86, "local", offset=8)],
                        )
                    ],
                )
            ],
        ),
        extra_symbols=functions("method", "two"),
    )


@case
def types_inside_others() -> bytes:
    """In arrays, typedefs and base types, only what belongs there is read."""
    return of(
        base("int", 4, label="int", children=[typedef("in_base", "int")]),
        die(
            "array_type",
            ("type", "ref4", "int"),
            children=[typedef("in_array", "int"), die("subrange_type", ("upper_bound", "data1", 2))],
        ),
        typedef("t", "int", children=[typedef("in_typedef", "int")]),
        die("pointer_type", ("type", "ref4", "int"), children=[typedef("in_pointer", "int")]),
        named(
            "enumeration_type",
            "e",
            ("byte_size", "data1", 4),
            children=[
                typedef("in_enum", "int"),
                named("enumerator", "A", ("const_value", "data1", 1)),
                subprogram("method", 16, children=[typedef("in_method", "int")]),
            ],
        ),
        die("subroutine_type", children=[typedef("in_proto", "int"), parameter(None, "int")]),
        parameter("stray", "int"),
        typedef("end", "int"),
        extra_symbols=functions("method"),
    )


def at_offset(offset: int) -> tuple[str, str, Raw]:
    """A name in `.debug_str`, which starts with the text that the cases below put there."""
    return "name", "strp", Raw(offset)


@case
def names_at_several_offsets() -> bytes:
    """One text at several offsets of `.debug_str`, and in `.debug_info`: it is the same name."""

    def of_offsets(label: str, *names: tuple[str, str, Any]) -> Unit:
        struct, member, kind, value = names
        return unit(
            [
                die("base_type", ("name", "strp", "a long name"), ("byte_size", "data1", 4), ("encoding", "data1", 5)),
                base("int", 4, label=f"int {label}"),
                die(
                    "structure_type",
                    struct,
                    ("byte_size", "data1", 4),
                    children=[
                        die("member", member, ("type", "ref4", f"int {label}"), ("data_member_location", "data1", 0))
                    ],
                ),
                die(
                    "enumeration_type",
                    kind,
                    ("byte_size", "data1", 4),
                    ("encoding", "data1", 7),
                    children=[die("enumerator", value, ("const_value", "data1", 1))],
                ),
            ]
        )

    in_info = [("name", "string", text) for text in ("long name", "name", "me", "e")]
    # Offsets in "a long name"; and texts of their own.
    tails = [at_offset(2), at_offset(7), at_offset(9), at_offset(10)]
    own = [("name", "strp", text) for text in ("long name", "name", "me", "e")]
    return kernel([of_offsets("1", *tails), of_offsets("2", *own), of_offsets("3", *in_info)]).data


@case
def names_that_are_empty() -> bytes:
    """The offset of the end of a text in `.debug_str`: the struct, the union and the members have no name."""
    end = at_offset(len("counter"))

    def member(*name: tuple[str, str, Any]) -> Die:
        return die("member", *name, ("type", "ref4", "int"), ("data_member_location", "data1", 0))

    return of(
        die("typedef", ("name", "strp", "counter"), ("type", "ref4", "int")),
        INT,
        die("structure_type", end, ("byte_size", "data1", 4), children=[member(end)]),
        die("union_type", end, ("byte_size", "data1", 4), children=[member(("name", "string", "")), member()]),
        die("structure_type", end, ("byte_size", "data1", 4), children=[member(end)]),
    )


@case
def typedef_with_an_empty_name() -> bytes:
    """... and a typedef without a name is an error."""
    return of(
        die("typedef", ("name", "strp", "counter"), ("type", "ref4", "int")),
        INT,
        die("typedef", at_offset(len("counter")), ("type", "ref4", "int")),
    )


@case
def typedef_of_void_with_a_size() -> bytes:
    """The size of a variable is that of the typedef, unless it is 1."""
    return of(
        INT,
        named("typedef", "t", ("byte_size", "data1", 3), label="t"),
        die("array_type", ("type", "ref4", "t"), label="a", children=[die("subrange_type", ("count", "data1", 5))]),
        named("typedef", "one", ("byte_size", "data1", 1), label="one"),
        named("variable", "counter", ("type", "ref4", "a"), ("location", "exprloc", [("addr", X86.percpu)])),
        named("variable", "other", ("type", "ref4", "one"), ("location", "exprloc", [("addr", X86.percpu + 16)])),
    )
