"""Damaged DWARF in a sound ELF file. See `bad.py`."""

from __future__ import annotations

from typing import Any

from bad import X86, bad, odd, of, patched, three_units, typedef, with_sections, written
from dwarfwriter import LocList, Raw, Unit, die, dwarf, uleb
from elfwriter import Symbol
from kernelish import INT, function, kernel, standard, unit, variable

ENDLESS = b"\x80" * 4096
FIRST = dwarf([unit(standard(X86))])
SECOND = len(FIRST.sections[".debug_info"])  # offset of the unit that `three_units` puts in the middle


# -- unit headers ------------------------------------------------------------------------------------


def in_the_middle(**fields: Any) -> bytes:
    return three_units(
        unit([die("base_type", ("name", "string", "int"), ("byte_size", "data1", 4))], **fields)
    )


@bad(".debug_info", unit=SECOND)
def unit_length_past_the_end() -> bytes:
    return in_the_middle(raw_length=0x00FFFFFF)


@bad(".debug_info", unit=SECOND)
def unit_length_near_2_32() -> bytes:
    return in_the_middle(raw_length=0xFFFFFFEF)


@bad(".debug_info", unit=SECOND)
def unit_length_reserved() -> bytes:
    return in_the_middle(raw_length=0xFFFFFFF5)


@bad(".debug_info", unit=SECOND)
def unit_length_near_2_64() -> bytes:
    return in_the_middle(raw_length=(1 << 64) - 20, offset_size=8)


@bad(".debug_info", unit=SECOND)
def unit_length_of_64_bits() -> bytes:
    return in_the_middle(raw_length=1 << 40, offset_size=8)


@bad(".debug_info", unit=SECOND)
def unit_length_shorter_than_a_header() -> bytes:
    return in_the_middle(raw_length=3)


@bad(".debug_info")
def unit_length_cuts_the_tree() -> bytes:
    """The unit ends inside the name of its first DIE, and the next one begins in the middle of it."""
    return in_the_middle(raw_length=12)


@bad(".debug_info")
def unit_header_cut() -> bytes:
    return with_sections(FIRST, debug_info=FIRST.sections[".debug_info"] + b"\x40\0\0")


@bad(".debug_info")
def unit_header_cut_after_the_length() -> bytes:
    return with_sections(FIRST, debug_info=FIRST.sections[".debug_info"] + b"\xff\xff\xff\xff\1\0")


@bad(".debug_info", unit=SECOND)
def version_0() -> bytes:
    return in_the_middle(raw_version=0)


@bad(".debug_info", unit=SECOND)
def version_1() -> bytes:
    return in_the_middle(raw_version=1)


@bad(".debug_info", unit=SECOND)
def version_6() -> bytes:
    return in_the_middle(raw_version=6)


@bad(".debug_info", unit=SECOND)
def version_of_the_other_byte_order() -> bytes:
    return in_the_middle(raw_version=0x0400)


@bad(".debug_info", unit=SECOND)
def address_size_0() -> bytes:
    return in_the_middle(raw_address_size=0)


@bad(".debug_info", unit=SECOND)
def address_size_3() -> bytes:
    return in_the_middle(raw_address_size=3)


@bad(".debug_info", unit=SECOND)
def address_size_255() -> bytes:
    return in_the_middle(raw_address_size=255)


@bad(".debug_info", unit=SECOND)
def unit_type_unknown() -> bytes:
    return in_the_middle(version=5, unit_type=0x55)


@bad(".debug_info", unit=SECOND)
def unit_type_of_a_producer() -> bytes:
    return in_the_middle(version=5, unit_type=0x80)


@bad(".debug_abbrev", unit=SECOND)
def abbreviations_past_the_end() -> bytes:
    return in_the_middle(raw_abbrev=0x7FFFFFFF)


@bad(".debug_abbrev", unit=SECOND)
def abbreviations_past_the_end_64() -> bytes:
    return in_the_middle(raw_abbrev=1 << 63, offset_size=8)


@bad(".debug_info", unit=SECOND, die=True)
def unsupported_tag_of_a_unit() -> bytes:
    """A unit that is a structure."""
    return three_units(Unit(die("structure_type", ("byte_size", "data1", 4))))


# -- abbreviations -----------------------------------------------------------------------------------


def table(data: bytes) -> bytes:
    """The standard unit with another abbreviation table."""
    return with_sections(FIRST, debug_abbrev=data)


TABLE = FIRST.sections[".debug_abbrev"]


@bad(".debug_info", unit=0, die=True)
def abbreviation_code_missing() -> bytes:
    return of(typedef("t", code=77))


@bad(".debug_info", unit=0, die=True)
def abbreviation_code_huge() -> bytes:
    return of(typedef("t", code=(1 << 64) - 1))


@bad(".debug_info", unit=0, die=True)
def abbreviation_table_empty() -> bytes:
    return table(b"\0")


@bad(".debug_abbrev")
def abbreviation_code_endless() -> bytes:
    return table(TABLE[:-1] + ENDLESS)


@bad(".debug_abbrev")
def abbreviation_tag_endless() -> bytes:
    return table(TABLE[:-1] + uleb(99) + ENDLESS)


@bad(".debug_abbrev")
def abbreviation_attribute_endless() -> bytes:
    return table(TABLE[:-1] + uleb(99) + uleb(0x16) + b"\0" + ENDLESS)


@bad(".debug_abbrev")
def abbreviation_cut_after_the_code() -> bytes:
    return table(TABLE[:-1] + uleb(99))


@bad(".debug_abbrev")
def abbreviation_cut_after_the_tag() -> bytes:
    return table(TABLE[:-1] + uleb(99) + uleb(0x16))


@bad(".debug_abbrev")
def abbreviation_cut_after_an_attribute() -> bytes:
    return table(TABLE[:-1] + uleb(99) + uleb(0x16) + b"\0" + uleb(3))


@bad(".debug_abbrev")
def abbreviation_cut_after_a_form() -> bytes:
    return table(TABLE[:-1] + uleb(99) + uleb(0x16) + b"\0" + uleb(3) + uleb(8))


@bad(".debug_abbrev")
def abbreviation_cut_in_a_constant() -> bytes:
    return table(TABLE[:-1] + uleb(99) + uleb(0x16) + b"\0" + uleb(3) + uleb(0x21) + b"\x80")


@bad()
def form_unknown() -> bytes:
    return of(typedef("t", ("type", 0x55, b"x")))


@bad()
def form_of_gnu_that_nobody_knows() -> bytes:
    return of(typedef("t", ("decl_line", 0x1FFF, b"x")))


@bad()
def form_zero() -> bytes:
    return of(typedef("t", ("decl_line", 0, b"x")))


# -- values ------------------------------------------------------------------------------------------


@bad(".debug_info", unit=0)
def number_endless() -> bytes:
    return of(typedef("t", ("decl_line", 0x0F, ENDLESS)))


@bad(".debug_info", unit=0)
def number_endless_signed() -> bytes:
    return of(die("base_type", ("name", "string", "t"), ("byte_size", 0x0D, b"\xff" * 4096)))


@bad(".debug_info", unit=0)
def abbreviation_code_in_a_die_endless() -> bytes:
    return of(ENDLESS)


def ends_in(form: str, data: bytes, **fields: Any) -> bytes:
    """The unit ends in the middle of a value."""
    entry = die(
        "base_type",
        ("name", "string", "x"),
        ("byte_size", {"udata": 0x0F}.get(form, form), data),
        label="cut",
    )
    one = unit([INT, entry], terminated=False, **fields)
    result = dwarf([one])
    at = result.attributes["cut", "byte_size"] + len(data)
    info = result.sections[".debug_info"][:at]
    size = (len(info) - 4).to_bytes(4, "little")
    return with_sections(result, debug_info=size + info[4:])


@bad(".debug_info", unit=0)
def unit_ends_in_a_number() -> bytes:
    return ends_in("data8", b"123")


@bad(".debug_info", unit=0)
def unit_ends_in_a_leb128() -> bytes:
    return ends_in("udata", b"\x81\x82")


@bad(".debug_info", unit=0)
def unit_ends_before_a_value() -> bytes:
    return ends_in("data2", b"")


@bad(".debug_info", unit=0)
def block_past_the_end() -> bytes:
    return of(typedef("t", ("decl_line", 0x09, uleb(1 << 20))))


@bad(".debug_info", unit=0)
def block_of_exabytes() -> bytes:
    return of(typedef("t", ("decl_line", 0x09, uleb((1 << 64) - 1))))


@bad(".debug_info", unit=0)
def block4_past_the_end() -> bytes:
    return of(typedef("t", ("decl_line", 0x04, b"\xff\xff\xff\xff")))


@bad(".debug_info", unit=0)
def expression_past_the_end() -> bytes:
    return of(
        die(
            "variable",
            ("name", "string", "v"),
            ("type", "ref4", "int"),
            ("location", 0x18, uleb(200) + b"\3"),
        )
    )


@bad(".debug_info", unit=0)
def indirect_to_an_unknown_form() -> bytes:
    return of(typedef("t", ("decl_line", 0x16, b"\x55")))


@bad(".debug_info", unit=0)
def indirect_to_implicit_const() -> bytes:
    """There is nowhere for the constant to be."""
    return of(typedef("t", ("decl_line", 0x16, b"\x21")), version=5)


@bad(".debug_info", unit=0)
def indirect_endless() -> bytes:
    return of(typedef("t", ("decl_line", 0x16, b"\x16" * 5000)))


# -- strings -----------------------------------------------------------------------------------------


def named(form: str, value: Any, **fields: Any) -> Any:
    return written(die("typedef", ("name", form, value), ("type", "ref4", "int")), **fields)


@bad(".debug_info", unit=0)
def string_unterminated() -> bytes:
    """A string in the DIE runs past the end of the unit."""
    return ends_in("string", b"no NUL here")


@bad(unit=0)
def strp_past_the_end() -> bytes:
    return with_sections(named("strp", Raw(1 << 20)), debug_str=b"some\0strings\0")


@bad(unit=0)
def strp_at_the_end() -> bytes:
    return with_sections(named("strp", Raw(13)), debug_str=b"some\0strings\0")


@bad(unit=0)
def strp_past_the_end_64() -> bytes:
    return with_sections(named("strp", Raw((1 << 64) - 1), offset_size=8), debug_str=b"some\0strings\0")


@bad(unit=0)
def strp_unterminated() -> bytes:
    return with_sections(named("strp", Raw(5)), debug_str=b"some\0strings")


@bad(unit=0)
def strp_without_section() -> bytes:
    return with_sections(named("strp", Raw(0)), debug_str=None)


@bad(unit=0)
def line_strp_past_the_end() -> bytes:
    return with_sections(named("line_strp", Raw(99), version=5), debug_line_str=b"some\0")


@bad(unit=0)
def line_strp_without_section() -> bytes:
    return with_sections(named("line_strp", "x", version=5), debug_line_str=None)


@bad(unit=0)
def strx_past_the_table() -> bytes:
    return with_sections(
        written(
            die("typedef", ("name", "strx", "right")), die("typedef", ("name", "strx", Raw(1000))), version=5
        )
    )


@bad(unit=0)
def strx_huge() -> bytes:
    return with_sections(
        written(
            die("typedef", ("name", "strx", "right")),
            die("typedef", ("name", "strx", Raw((1 << 62) + 1))),
            version=5,
        )
    )


@bad(unit=0)
def strx_without_section() -> bytes:
    return with_sections(named("strx1", "x", version=5), debug_str_offsets=None)


@bad(unit=0)
def strx_points_past_the_strings() -> bytes:
    result = named("strx1", "x", version=5)
    offsets = result.sections[".debug_str_offsets"]
    return with_sections(result, debug_str_offsets=patched(offsets, 8, b"\0\0\0\x10"))


@bad(unit=0)
def str_offsets_base_past_the_end() -> bytes:
    one = unit([INT, die("typedef", ("name", "strx1", "x"))], version=5)
    root = one.root
    assert root is not None
    return kernel(
        [
            one._replace(
                root=root._replace(
                    attributes=(*root.attributes, ("str_offsets_base", "sec_offset", Raw(0xFFFFFFF0)))
                )
            )
        ]
    ).data


# -- addresses ---------------------------------------------------------------------------------------


def addressed(value: Any) -> Any:
    return written(
        die("subprogram", ("name", "string", "g"), ("low_pc", "addrx", X86.text)),
        die("subprogram", ("name", "string", "f"), ("low_pc", "addrx", value)),
        version=5,
    )


@bad(unit=0)
def addrx_past_the_table() -> bytes:
    return kernel(addressed(Raw(5000))).data


@bad(unit=0)
def addrx_huge() -> bytes:
    return kernel(addressed(Raw((1 << 61) + 1))).data


@bad(unit=0)
def addrx_without_section() -> bytes:
    return with_sections(addressed(X86.text), debug_addr=None)


# -- references --------------------------------------------------------------------------------------


@bad(".debug_info", unit=0, die=True)
def reference_past_the_unit() -> bytes:
    return of(typedef("t", ("type", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=SECOND, die=True)
def reference_into_the_next_unit() -> bytes:
    return three_units(unit([typedef("t", ("type", "ref4", Raw(0x70)))]))


@bad(".debug_info", unit=0, die=True)
def reference_near_2_64() -> bytes:
    return of(typedef("t", ("type", "ref8", Raw((1 << 64) - 8))))


@bad(".debug_info", unit=0, die=True)
def reference_udata_huge() -> bytes:
    return of(typedef("t", ("type", "ref_udata", Raw((1 << 63) + 5))))


@bad(".debug_info", unit=0, die=True)
def reference_address_past_the_section() -> bytes:
    return of(typedef("t", ("type", "ref_addr", Raw(0x7FFFFFFF))))


@bad(".debug_info", unit=0, die=True)
def origin_past_the_unit() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=0, die=True)
def specification_past_the_unit() -> bytes:
    return of(die("variable", ("specification", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=0, die=True)
def origin_is_a_type() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", "int")))


# -- cycles ------------------------------------------------------------------------------------------


@bad(".debug_info", unit=0, die=True)
def cycle_of_one_origin() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", "a"), label="a"))


@bad(".debug_info", unit=0, die=True)
def cycle_of_origins() -> bytes:
    return of(
        die("subprogram", ("abstract_origin", "ref4", "b"), label="a"),
        die("subprogram", ("abstract_origin", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_specifications() -> bytes:
    return of(
        die("subprogram", ("specification", "ref4", "b"), label="a"),
        die("subprogram", ("specification", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_origin_and_specification() -> bytes:
    return of(
        die("subprogram", ("specification", "ref4", "b"), label="a"),
        die("subprogram", ("abstract_origin", "ref4", "a"), label="b"),
    )


def looping_parameter(label: str, other: str) -> Any:
    return die("formal_parameter", ("abstract_origin", "ref4", other), label=label)


@bad(".debug_info", unit=0, die=True)
def cycle_of_parameters() -> bytes:
    return of(
        die(
            "subprogram",
            ("name", "string", "f"),
            children=[looping_parameter("x", "y"), looping_parameter("y", "x")],
        )
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_one_parameter() -> bytes:
    return of(die("subprogram", ("name", "string", "f"), children=[looping_parameter("x", "x")]))


@bad(".debug_info", unit=0, die=True)
def cycle_of_variables() -> bytes:
    return of(
        die("variable", ("specification", "ref4", "b"), label="a"),
        die("variable", ("specification", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_structures() -> bytes:
    return of(
        die("structure_type", ("specification", "ref4", "b"), label="a"),
        die("structure_type", ("specification", "ref4", "a"), label="b"),
    )


# -- things that may be taken or refused, but must end -------------------------------------------------


@odd
def cycle_of_sizes() -> bytes:
    """The size of a parameter is looked for along its types, which go round. The reference crashes."""
    return of(
        typedef("a", ("type", "ref4", "b"), label="a"),
        typedef("b", ("type", "ref4", "a"), label="b"),
        function(X86, type="a"),
    )


@odd
def cycle_of_annotations() -> bytes:
    """A GNU chain of declaration tags that goes round. The reference never ends."""

    def tag(label: str, other: str) -> Any:
        return die(
            "GNU_annotation",
            ("name", "string", "btf_decl_tag"),
            ("const_value", "string", label),
            ("GNU_annotation", "ref4", other),
            label=label,
        )

    return of(
        tag("a", "b"),
        tag("b", "a"),
        die("structure_type", ("byte_size", "data1", 4), ("GNU_annotation", "ref4", "a")),
    )


@odd
def cycle_of_type_tags() -> bytes:
    tag = die(
        "GNU_annotation",
        ("name", "string", "btf_type_tag"),
        ("const_value", "string", "a"),
        ("GNU_annotation", "ref4", "a"),
        label="a",
    )
    return of(tag, die("pointer_type", ("GNU_annotation", "ref4", "a")))


@odd
def annotation_without_name() -> bytes:
    """The reference crashes."""
    return of(typedef("t", children=[die("LLVM_annotation", ("const_value", "string", "x"))]))


@odd
def cycle_of_arrays() -> bytes:
    """An array of itself, as the type of a variable, whose size is wanted."""
    return of(
        die(
            "array_type",
            ("type", "ref4", "a"),
            label="a",
            children=[die("subrange_type", ("upper_bound", "data1", 1))],
        ),
        variable(X86, type="a"),
    )


@odd
def cycle_of_structures_by_value() -> bytes:
    """A structure that contains itself, packed perhaps, passed as the seventh parameter."""
    member = die(
        "member", ("name", "string", "m"), ("type", "ref4", "s"), ("data_member_location", "data1", 1)
    )
    names = [
        die("formal_parameter", ("name", "string", f"p{n}"), ("type", "ref4", "s" if n > 5 else "int"))
        for n in range(8)
    ]
    return of(
        die(
            "structure_type", ("name", "string", "s"), ("byte_size", "data1", 8), label="s", children=[member]
        ),
        die("subprogram", ("name", "string", "f"), ("low_pc", "addr", X86.text), children=names),
    )


def nested(entry: Any, depth: int = 200_000) -> bytes:
    """The DIE `depth` times, each in the one before, in a function. Made here, since the writer recurses."""
    function = die("subprogram", ("name", "string", "outer"), children=[entry])
    result = written(function._replace(children=[entry._replace(has_children=True, label="sample")]))
    start = result.labels["sample"]
    info = result.sections[".debug_info"]
    sample = info[start:-3]  # without the null entries of the sample, the function and the unit
    return resized(result, info[:start] + sample * depth + bytes(depth + 2))


def repeated(entry: Any, count: int) -> bytes:
    """The last child of the last child of the unit, `count` times."""
    result = written(entry._replace(children=[entry.children[0]._replace(label="sample")]))
    info = result.sections[".debug_info"]
    sample = info[result.labels["sample"] : -2]
    return resized(result, info[:-2] + sample * (count - 1) + bytes(2))


def resized(result: Any, info: bytes) -> bytes:
    """One unit, with the length it now has."""
    return with_sections(result, debug_info=(len(info) - 4).to_bytes(4, "little") + info[4:])


@odd
def deep_blocks() -> bytes:
    return nested(die("lexical_block"))


@odd
def deep_structures() -> bytes:
    return nested(die("structure_type", ("name", "string", "s"), ("byte_size", "data1", 4)))


@odd
def deep_namespaces() -> bytes:
    return nested(die("namespace"))


@odd
def deep_functions() -> bytes:
    return nested(die("subprogram", ("name", "string", "f")))


@odd
def deep_unknown() -> bytes:
    """Under a tag that is skipped with its subtree."""
    return nested(die("common_block"))


@odd
def long_chain_of_typedefs() -> bytes:
    """Each refers to the next; resolving must not recurse to their number."""
    count = 10_000
    return of(
        *(typedef(f"t{n}", ("type", "ref4", f"t{n + 1}"), label=f"t{n}") for n in range(count)),
        typedef("last", ("type", "ref4", "int"), label=f"t{count}"),
        function(X86, type="t0"),
    )


@odd
def long_chain_of_pointers() -> bytes:
    count = 10_000
    return of(
        *(die("pointer_type", ("type", "ref4", f"t{n + 1}"), label=f"t{n}") for n in range(count)),
        typedef("last", ("type", "ref4", "int"), label=f"t{count}"),
    )


@odd
def many_members() -> bytes:
    """65,537 members: the count has 16 bits."""
    member = die(
        "member", ("name", "string", "m"), ("type", "ref4", "int"), ("data_member_location", "data1", 0)
    )
    return repeated(
        die("structure_type", ("name", "string", "s"), ("byte_size", "data1", 4), children=[member]), 65_537
    )


@odd
def many_enumerators() -> bytes:
    one = die("enumerator", ("name", "string", "E"), ("const_value", "data1", 1))
    return repeated(die("enumeration_type", ("byte_size", "data1", 4), children=[one]), 65_537)


@odd
def many_parameters() -> bytes:
    """300 parameters. The reference counts in 8 bits."""
    one = die("formal_parameter", ("name", "string", "p"), ("type", "ref4", "int"))
    function = die("subprogram", ("name", "string", "f"), ("low_pc", "addr", X86.text), children=[one])
    return repeated(function, 300)


@odd
def very_many_parameters() -> bytes:
    """70,000 of them, of a subroutine type."""
    one = die("formal_parameter", ("type", "ref4", "int"))
    return repeated(die("subroutine_type", children=[one]), 70_000)


@odd
def many_dimensions() -> bytes:
    """An array of 100,000 dimensions."""
    return repeated(
        die("array_type", ("type", "ref4", "int"), children=[die("subrange_type", ("count", "data1", 2))]),
        100_000,
    )


@odd
def huge_dimensions() -> bytes:
    """An array of 2^32 - 1 in each of 64 dimensions, as a variable."""
    bounds = [die("subrange_type", ("upper_bound", "data8", (1 << 64) - 2))] * 64
    return of(die("array_type", ("type", "ref4", "int"), label="a", children=bounds), variable(X86, type="a"))


@odd
def sibling_to_itself() -> bytes:
    return of(
        die(
            "structure_type",
            ("sibling", "ref4", "s"),
            ("byte_size", "data1", 4),
            label="s",
            children=[die("member", ("name", "string", "m"), ("type", "ref4", "int"))],
        )
    )


@odd
def sibling_backwards() -> bytes:
    return of(
        die(
            "structure_type",
            ("sibling", "ref4", "int"),
            ("byte_size", "data1", 4),
            label="s",
            children=[die("member", ("name", "string", "m"), ("type", "ref4", "int"))],
        )
    )


@odd
def sibling_past_the_unit() -> bytes:
    return of(
        die("common_block", ("sibling", "ref4", Raw(0x7FFFFFF0)), children=[typedef("t")]),
        die(
            "structure_type",
            ("sibling", "ref4", Raw(0x7FFFFFF0)),
            ("byte_size", "data1", 4),
            children=[die("member", ("name", "string", "m"), ("type", "ref4", "int"))],
        ),
    )


@odd
def sibling_into_the_middle() -> bytes:
    return of(die("lexical_block", ("sibling", "ref4", Raw(14)), children=[typedef("t")]), typedef("u"))


@odd
def location_list_past_the_end() -> bytes:
    return of(
        function(X86)._replace(
            children=[
                die(
                    "formal_parameter",
                    ("name", "string", "a"),
                    ("type", "ref4", "int"),
                    ("location", "sec_offset", Raw(1 << 30)),
                )
            ]
        )
    )


@odd
def location_list_endless() -> bytes:
    """No end of list before the end of the section; expressions of 65,535 bytes."""
    result = dwarf(
        [
            unit(
                [
                    INT,
                    function(X86)._replace(
                        children=[
                            die(
                                "formal_parameter",
                                ("name", "string", "a"),
                                ("type", "ref4", "int"),
                                ("location", "sec_offset", LocList([(0, 8, b"")])),
                            )
                        ]
                    ),
                ]
            )
        ]
    )
    return with_sections(result, debug_loc=b"\1" * 16 + b"\xff\xff" + bytes(100))


@odd
def location_list_of_unknown_kind() -> bytes:
    result = dwarf(
        [
            unit(
                [
                    INT,
                    function(X86)._replace(
                        children=[
                            die(
                                "formal_parameter",
                                ("name", "string", "a"),
                                ("type", "ref4", "int"),
                                ("location", "loclistx", LocList([(0, 8, b"\x55")])),
                            )
                        ]
                    ),
                ],
                version=5,
            )
        ]
    )
    lists = bytearray(result.sections[".debug_loclists"])
    lists[16] = 0x77
    return with_sections(result, debug_loclists=bytes(lists))


@odd
def loclistx_past_the_table() -> bytes:
    return of(
        function(X86)._replace(
            children=[
                die(
                    "formal_parameter",
                    ("name", "string", "a"),
                    ("type", "ref4", "int"),
                    ("location", "loclistx", Raw(1 << 40)),
                )
            ]
        ),
        version=5,
    )


@odd
def expression_of_one_operand_only() -> bytes:
    """Operations without their operands."""
    return of(
        *(
            die(
                "variable",
                ("name", "string", f"v{code}"),
                ("type", "ref4", "int"),
                ("location", "exprloc", bytes([code])),
            )
            for code in range(256)
        )
    )


@odd
def entry_value_in_entry_value() -> bytes:
    inner = b"\x55"
    for _ in range(60):
        inner = b"\xa3" + uleb(len(inner)) + inner
    return of(
        function(X86)._replace(
            children=[
                die(
                    "formal_parameter",
                    ("name", "string", "a"),
                    ("type", "ref4", "int"),
                    ("location", "exprloc", inner),
                )
            ]
        )
    )


@odd
def null_dies_everywhere() -> bytes:
    return of(bytes(100), typedef("t"), b"\0\0\0")


@odd
def unit_of_a_million_nulls() -> bytes:
    return kernel([unit([INT])._replace(tail=bytes(1_000_000))]).data


@odd
def many_tiny_units() -> bytes:
    """5,000 units, each with a header and a root."""
    one = dwarf([unit([])])
    return with_sections(one, debug_info=one.sections[".debug_info"] * 5000)


@odd
def many_units_of_one_huge_table() -> bytes:
    """Nothing may be done per unit that costs as much as its table."""
    spec = b"".join(uleb(n) + b"\x16\0\0\0" for n in range(10, 20_000))
    one = dwarf([unit([])])
    abbrevs = one.sections[".debug_abbrev"][:-1] + spec + b"\0"
    return with_sections(one, debug_info=one.sections[".debug_info"] * 1000, debug_abbrev=abbrevs)


@odd
def many_units_of_shifted_tables() -> bytes:
    """1,000 units whose tables begin one declaration further on each: as many tables, each long."""
    spec = b"".join(uleb(200 + n) + b"\x11\0\0\0" for n in range(4000))
    one = dwarf([Unit(die("compile_unit"))])
    info = one.sections[".debug_info"]
    units = b"".join(
        patched(info, 6, (6 * n).to_bytes(4, "little"))[:11] + uleb(200 + n) for n in range(1000)
    )
    size = (len(units) // 1000 - 4).to_bytes(4, "little")
    units = b"".join(size + units[n * 13 + 4 : n * 13 + 13] for n in range(1000))
    return with_sections(one, debug_info=units, debug_abbrev=spec + b"\0")


@odd
def symbols_by_the_thousand() -> bytes:
    """20,000 symbols of one name."""
    return kernel(extra_symbols=[Symbol("f", X86.text + n, 1) for n in range(20_000)]).data
