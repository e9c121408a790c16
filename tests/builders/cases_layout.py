"""Structures and bitfields, enumerations, arrays. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, point, variable
from tests.builders.synthetic import X86, base, case, case_with, functions, named, of, parameter, subprogram, typedef

# -- structures and bitfields ----------------------------------------------------------------------


@case
def class_and_inheritance() -> bytes:
    """Inheritance entries are not emitted; a class is a STRUCT."""
    return of(
        INT,
        point(),
        named(
            "class_type",
            "c",
            ("byte_size", "data1", 12),
            children=[
                die("inheritance", ("type", "ref4", "point"), ("data_member_location", "data1", 0)),
                named("member", "z", ("type", "ref4", "int"), ("data_member_location", "data1", 8)),
                named(
                    "member",
                    "shared",
                    ("type", "ref4", "int"),
                    ("external", "flag", 1),
                    ("declaration", "flag", 1),
                ),
                named("template_type_param", "T", ("type", "ref4", "int")),
            ],
        ),
    )


@case
def member_locations() -> bytes:
    """DW_AT_data_member_location as an expression: plus_uconst and constu are understood, others are not."""

    def at(name: str, value: Any, form: str = "exprloc") -> Die:
        return named("member", name, ("type", "ref4", "int"), ("data_member_location", form, value))

    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 64),
            children=[
                at("plus", [("plus_uconst", 4)]),
                at("constu", [("constu", 8)]),
                at("block", [("plus_uconst", 12)], "block1"),
            ],
        ),
    )


@case
def member_location_not_constant() -> bytes:
    """A computed offset gives all ones."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 64),
            children=[
                named(
                    "member",
                    "m",
                    ("type", "ref4", "int"),
                    ("data_member_location", "exprloc", [("lit4",), ("plus",)]),
                )
            ],
        ),
    )


@case
def member_without_type() -> bytes:
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 8),
            children=[
                named("member", "m", ("data_member_location", "data1", 0)),
                named("member", "n", ("type", "ref4", "int"), ("data_member_location", "data1", 4)),
            ],
        ),
    )


def bitfield(name: str, *attributes: Any, type: str = "int") -> Die:
    return named("member", name, ("type", "ref4", type), *attributes)


@case
def bitfields_old_and_new() -> bytes:
    """The two ways of saying where a bitfield is; a missing storage size; a bitfield beyond its storage unit."""
    return of(
        INT,
        typedef("alias", "int", label="alias"),
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 16),
            children=[
                bitfield("a", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 5)),
                bitfield(
                    "b",
                    ("byte_size", "data1", 4),
                    ("bit_size", "data1", 3),
                    ("bit_offset", "data1", 1),
                    ("data_member_location", "data1", 4),
                ),
                bitfield(
                    "c",
                    ("bit_size", "data1", 3),
                    ("bit_offset", "data1", 7),
                    ("data_member_location", "data1", 4),
                    type="alias",
                ),
                bitfield(
                    "d",
                    ("byte_size", "data1", 4),
                    ("bit_size", "data1", 7),
                    ("bit_offset", "sdata", -3),
                    ("data_member_location", "data1", 4),
                ),
                bitfield("full", ("bit_size", "data1", 32), ("data_bit_offset", "data1", 96)),
            ],
        ),
    )


@case
def packed_structs_with_bitfields() -> bytes:
    """A function is left out if a parameter on the stack has a struct that must be packed: members at unaligned
    offsets, and no holes. Storage units of bitfields, narrow and wide, decide where there is a hole.
    """

    def at(name: str, type: str, offset: int) -> Die:
        return named("member", name, ("type", "ref4", type), ("data_member_location", "data1", offset))

    def bits(name: str, type: str, offset: int, size: int) -> Die:
        return bitfield(name, ("bit_size", "data1", size), ("data_bit_offset", "data1", offset), type=type)

    rest = [at("c", "long", 8), at("d", "char", 16), at("e", "long", 17)]
    layouts = [
        (17, [at("a", "char", 0), at("b", "long", 1), at("c", "long", 9)]),
        (24, [at("a", "long", 0), at("b", "long", 8), at("c", "long", 16)]),
        (25, [bits("a", "int", 0, 9), bits("b", "long", 9, 10), *rest]),
        (25, [bits("a", "int", 0, 9), bits("b", "int", 9, 10), *rest]),
        (25, [bits("a", "long", 0, 9), bits("b", "int", 9, 10), *rest]),
        (25, [bits("a", "long", 0, 9), bits("b", "long", 9, 10), *rest]),
        (25, [bits("a", "int", 0, 20), bits("b", "int", 32, 9), bits("f", "long", 41, 10), *rest]),
        (17, [bits("a", "long", 0, 9), bits("b", "char", 16, 3), at("d", "char", 8), at("e", "long", 9)]),
        (13, [bits("a", "char", 0, 3), bits("b", "int", 3, 4), at("d", "char", 4), at("e", "long", 5)]),
        (13, [at("d", "char", 0), at("e", "long", 1), bits("a", "char", 72, 3), bits("b", "int", 75, 4)]),
        (10, [at("d", "char", 0), at("e", "long", 1), bits("a", "char", 72, 3), bits("b", "int", 75, 4)]),
    ]
    structs = [
        named("structure_type", f"s{n}", ("byte_size", "data1", size), label=f"s{n}", children=members)
        for n, (size, members) in enumerate(layouts, 1)
    ]
    registers = [parameter(f"r{n}", "int") for n in range(6)]
    found = [
        subprogram(f"f{n}", 16 * n, children=[*registers, parameter("p", f"s{n}")])
        for n in range(1, len(layouts) + 1)
    ]
    types = [base("long", 8, label="long"), base("char", 1, 6, label="char")]
    names = functions(*(f"f{n}" for n in range(1, len(layouts) + 1)))
    return of(INT, *types, *structs, *found, extra_symbols=names)


@case
def packed_structs_with_odd_base_types() -> bytes:
    """Here, sizes of base types have 13 bits: one of 8192 bytes counts as empty, and is aligned to 1."""

    def at(name: str, type: str, offset: int) -> Die:
        return named("member", name, ("type", "ref4", type), ("data_member_location", "data2", offset))

    registers = [parameter(f"r{n}", "int") for n in range(6)]
    types: list[Die] = [base("long", 8, label="long"), base("char", 1, 6, label="char")]
    found: list[Die] = []
    for size in (0, 8192, 8191, 8196):
        odd = f"t{size}"
        types.append(named("base_type", odd, ("byte_size", "data2", size), ("encoding", "data1", 5), label=odd))
        for whole, members in (
            (size, [at("a", odd, 0)]),
            (size + 4, [at("a", odd, 0), at("b", "int", size)]),
            (17, [at("a", "char", 0), at("b", odd, 1), at("c", "long", 9)]),
            (size + 1, [at("a", "char", 0), at("b", odd, 1)]),
        ):
            n = len(found) + 1
            types.append(
                named("structure_type", f"s{n}", ("byte_size", "data2", whole), label=f"s{n}", children=members)
            )
            found.append(subprogram(f"f{n}", 16 * n, children=[*registers, parameter("p", f"s{n}")]))
    return of(INT, *types, *found, extra_symbols=functions(*(f"f{n}" for n in range(1, len(found) + 1))))


@case
def bitfields_without_a_place() -> bytes:
    """No DW_AT_data_member_location: the bitfield is at 0, whatever DW_AT_bit_offset says."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 8),
            children=[
                bitfield("a", ("bit_size", "data1", 3), ("bit_offset", "data1", 5)),
                bitfield("b", ("bit_size", "data1", 3), ("byte_size", "data1", 1), ("bit_offset", "data1", 2)),
                bitfield("c", ("bit_size", "data1", 3)),
                bitfield("d", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 7)),
                bitfield("e", ("byte_size", "data1", 4)),
            ],
        ),
    )


@case
def bitfield_negative_position() -> bytes:
    """An offset before the start of the structure."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 8),
            children=[
                bitfield(
                    "d",
                    ("byte_size", "data1", 4),
                    ("bit_size", "data1", 30),
                    ("bit_offset", "data1", 30),
                    ("data_member_location", "data1", 0),
                )
            ],
        ),
    )


@case
def bitfield_wide() -> bytes:
    """The size has 8 bits: 256 means no bitfield, 259 means 3."""
    return of(
        base("int", 4, label="int"),
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 64),
            children=[
                bitfield("a", ("bit_size", "data2", 256), ("data_bit_offset", "data1", 8)),
                bitfield("b", ("bit_size", "data2", 259), ("data_bit_offset", "data1", 9)),
            ],
        ),
    )


@case
def bit_offset_not_a_byte() -> bytes:
    """data_bit_offset 3 without a bit size: an error."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 8),
            children=[bitfield("a", ("data_bit_offset", "data1", 3))],
        ),
    )


@case
def bitfield_too_far() -> bytes:
    """A bitfield beyond 2^24 bits: an error."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data4", 0x400000),
            children=[bitfield("a", ("bit_size", "data1", 3), ("data_bit_offset", "data4", 0x1000000))],
        ),
    )


@case
def bitfield_behind_all_bits() -> bytes:
    """A bitfield beyond 2^32 bits: counted from there."""
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data4", 0x20001000),
            children=[bitfield("a", ("bit_size", "data1", 3), ("data_bit_offset", "data8", (1 << 32) + 69))],
        ),
    )


@case
def member_far_away() -> bytes:
    """Without bitfields, offsets have 32 bits; with one, the word of a plain member is not masked."""
    far = bitfield("far", ("data_member_location", "data4", 0x200001))
    return of(
        INT,
        named("structure_type", "plain", ("byte_size", "data4", 0x400000), children=[far]),
        named(
            "structure_type",
            "mixed",
            ("byte_size", "data4", 0x400000),
            children=[bitfield("a", ("bit_size", "data1", 3), ("data_bit_offset", "data1", 0)), far],
        ),
    )


@case
def union_member_with_offset() -> bytes:
    return of(
        INT,
        named(
            "union_type",
            "u",
            ("byte_size", "data1", 8),
            children=[bitfield("a", ("data_member_location", "data1", 4))],
        ),
    )


@case
def struct_sizes() -> bytes:
    """No size, and a size of 2^32 + 4 (only 32 bits are kept)."""
    return of(
        INT,
        named("structure_type", "none"),
        named("structure_type", "big", ("byte_size", "data8", 0x100000004)),
        named("structure_type", "empty", ("byte_size", "data1", 0)),
    )


@case
def declarations_with_children() -> bytes:
    """A declared type stays a FWD; types nested in it are still recorded."""
    return of(
        INT,
        named("structure_type", "s", ("declaration", "flag", 1), children=[typedef("nested", "int")]),
        named("union_type", "u", ("declaration", "flag", 1)),
        named("class_type", "c", ("declaration", "flag", 1)),
        named("structure_type", "no", ("byte_size", "data1", 4), ("declaration", "flag", 0)),
        named("enumeration_type", "e", ("declaration", "flag", 1)),
    )


@case
def specified_struct() -> bytes:
    """A nameless structure takes its name from its specification."""
    return of(
        INT,
        named("structure_type", "s", ("declaration", "flag", 1), label="s"),
        die(
            "structure_type",
            ("specification", "ref4", "s"),
            ("byte_size", "data1", 4),
            children=[bitfield("a", ("data_member_location", "data1", 0))],
        ),
    )


# -- enumerations ----------------------------------------------------------------------------------


def enumeration(name: str, size: int | None, *values: tuple[str, int], type: str | None = None) -> Die:
    sizes = () if size is None else (("byte_size", "data1", size),)
    types = () if type is None else (("type", "ref4", type),)
    return named(
        "enumeration_type",
        name,
        *sizes,
        *types,
        children=[
            named("enumerator", f"{name}_{n}", ("const_value", form, value))
            for n, (form, value) in enumerate(values)
        ],
    )


@case
def enum_value_forms() -> bytes:
    """The fixed-size forms are zero-extended, sdata and implicit_const sign-extended."""
    return of(
        INT,
        enumeration("e", 4, ("data1", 0xFF), ("data2", 0xFFFF), ("sdata", -1), ("udata", 0xFFFFFFFF)),
        enumeration("f", 4, ("data1", 0xFF), ("implicit_const", 3)),
        version=5,
    )


@case
def enum_sizes() -> bytes:
    """No size and 0 mean 4."""
    return of(
        INT,
        enumeration("none", None, ("data1", 1)),
        enumeration("zero", 0, ("data1", 1)),
        *(enumeration(f"s{size}", size, ("data1", 1)) for size in (1, 2, 4, 8)),
    )


@case
def enum_size_3() -> bytes:
    return of(INT, enumeration("e", 3, ("data1", 1)))


@case
def enum64_signs() -> bytes:
    """ENUM64 is signed iff the underlying type is, whatever the values; a typedef in between hides it."""
    return of(
        INT,
        typedef("alias", "int", label="alias"),
        base("u64", 8, 7, label="u64"),
        enumeration("a", 8, ("data8", 1 << 63), type="int"),
        enumeration("b", 8, ("sdata", -1), type="u64"),
        enumeration("c", 8, ("sdata", -1), type="alias"),
        enumeration("d", 8, ("sdata", -1)),
    )


@case
def enum_value_too_big() -> bytes:
    """2^32 in an enumeration of 4 bytes: an error."""
    return of(INT, enumeration("e", 4, ("data8", 1 << 32)))


@case_with("encode_force,var,float,decl_tag,type_tag")
def enum64_off() -> bytes:
    """Without the feature, values lose their upper half and no enumeration is signed."""
    return of(
        INT,
        enumeration("a", 8, ("data8", (1 << 40) + 7), ("sdata", -1), type="int"),
        enumeration("b", 4, ("sdata", -1)),
    )


@case
def enum_value_is_a_string() -> bytes:
    """A value in a form that is not a constant counts as 0."""
    return of(
        INT,
        named(
            "enumeration_type",
            "e",
            ("byte_size", "data1", 4),
            children=[
                named("enumerator", "A", ("const_value", "string", "x")),
                named("enumerator", "B"),
                named("enumerator", "C", ("const_value", "data16", bytes(range(16)))),
                named("enumerator", "D", ("const_value", "block1", b"\x05\0\0\0")),
            ],
        ),
        version=5,
    )


# -- arrays ----------------------------------------------------------------------------------------


def array(element: str, *ranges: Any, **fields: Any) -> Die:
    return die(
        "array_type",
        ("type", "ref4", element),
        children=[die("subrange_type", *attributes) for attributes in ranges],
        **fields,
    )


@case
def array_bounds() -> bytes:
    """Bound, count, both, neither; -1, 2^32 and 2^64-1; a bound that is computed or refers to a variable."""
    plain = ("type", "ref4", "int")
    bounds: list[list[tuple[str, str, Any]]] = [
        [("upper_bound", "data1", 3)],
        [("count", "data1", 3)],
        [("upper_bound", "data1", 3), ("count", "data1", 9)],
        [],
        [("upper_bound", "sdata", -1)],
        [("upper_bound", "data8", 1 << 32)],
        [("upper_bound", "data8", (1 << 64) - 1)],
        [("upper_bound", "data4", 0xFFFFFFFF)],
        [("upper_bound", "exprloc", [("lit4",)])],
        [("upper_bound", "ref4", "int")],
        [("count", "data8", (1 << 32) + 2)],
        [("count", "exprloc", [("lit4",)])],
        [("lower_bound", "data1", 2), ("upper_bound", "data1", 5)],
    ]
    return of(
        INT,
        *(typedef(f"t{n}", f"a{n}") for n in range(len(bounds))),
        *(array("int", [plain, *bound], label=f"a{n}") for n, bound in enumerate(bounds)),
    )


@case
def array_without_dimension() -> bytes:
    return of(INT, array("int", label="a"), variable(X86, type="a"), typedef("t", "a"))


@case
def array_of_66_dimensions() -> bytes:
    """Dimensions after the 64th are dropped, with a message."""
    return of(
        INT,
        array("int", *([("upper_bound", "data1", n + 1)] for n in range(66)), label="a"),
        typedef("t", "a"),
    )


@case
def array_of_64_dimensions_in_a_struct() -> bytes:
    return of(
        INT,
        array("int", *([("upper_bound", "data1", n % 3)] for n in range(64)), label="a"),
        named(
            "structure_type",
            "s",
            ("byte_size", "data4", 1 << 20),
            children=[named("member", "m", ("type", "ref4", "a"), ("data_member_location", "data1", 0))],
        ),
    )


@case
def array_middle_dimension_unknown() -> bytes:
    return of(
        INT,
        array("int", [("upper_bound", "data1", 1)], [], [("count", "data1", 4)], label="a"),
        variable(X86, type="a"),
        typedef("t", "a"),
    )


@case
def array_of_vectors() -> bytes:
    """A GNU vector is an ordinary array; an array of an array is two."""
    vector = array("int", [("upper_bound", "data1", 3)], label="v")
    vector = vector._replace(attributes=(("GNU_vector", "flag", 1), *vector.attributes))
    return of(INT, vector, array("v", [("upper_bound", "data1", 1)], label="a"), typedef("t", "a"))


@case
def array_with_enumeration_dimension() -> bytes:
    """An enumeration child of an array is not a dimension."""
    return of(
        INT,
        die(
            "array_type",
            ("type", "ref4", "int"),
            label="a",
            children=[
                die(
                    "enumeration_type",
                    ("byte_size", "data1", 4),
                    children=[named("enumerator", "A", ("const_value", "data1", 0))],
                ),
                die("subrange_type", ("upper_bound", "data1", 1)),
            ],
        ),
        typedef("t", "a"),
    )


@case
def member_places_of_several_operations() -> bytes:
    """The first operation counts, whatever follows it, even something that is not an operation, or is cut off."""
    places = [
        [("plus_uconst", 8), ("plus_uconst", 1)], [("constu", 16), ("plus",)], [("constu", 24), ("deref",)],
        [("dup",), ("plus_uconst", 8)], [("lit8",), ("plus",)], b"\x23\x20\x01", b"\x10\xa0", b"",
    ]  # fmt: skip
    return of(
        INT,
        named("structure_type", "s", ("byte_size", "data1", 64), children=[
            named("member", f"m{n}", ("type", "ref4", "int"), ("data_member_location", "exprloc", place))
            for n, place in enumerate(places)
        ]),
        named("structure_type", "bits", ("byte_size", "data1", 64), children=[
            named("member", "b", ("type", "ref4", "int"), ("bit_size", "data1", 3),
                  ("data_bit_offset", "exprloc", [("constu", 40), ("plus",)])),
        ]),
    )  # fmt: skip
