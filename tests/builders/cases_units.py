"""Units, the ELF file around them, and abbreviations, which decide where DIEs come from. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import END, Die, Raw, Unit, die, dwarf
from tests.builders.elfwriter import Section, note
from tests.builders.kernelish import INT, function, kernel, point, standard, unit, variable
from tests.builders.synthetic import TEXT, X86, base, case, case_with, named, of, typedef


def other(kind: str, children: list[Die], **fields: Any) -> Unit:
    return Unit(named(kind, "other.c", children=children), version=fields.pop("version", 5), **fields)


def second(name: str = "from_second") -> Unit:
    return unit([base("char", 1, 6, label="char"), typedef(name, "char")])


# -- kinds of units --------------------------------------------------------------------------------


@case
def units_of_many_versions() -> bytes:
    """Version, offset size and abbreviation table differ from unit to unit."""
    shapes = [(2, 4), (3, 8), (4, 4), (5, 8), (4, 8), (5, 4)]
    return kernel(
        [
            unit(
                [base("int", 4, label=f"i{n}"), typedef(f"t{n}", f"i{n}")],
                version=version,
                offset_size=size,
                abbrevs=str(n % 4),
            )
            for n, (version, size) in enumerate(shapes)
        ]
    ).data


@case
def unit_without_children() -> bytes:
    return kernel([unit([]), unit([INT]), other("compile_unit", [])]).data


@case
def unit_of_a_null_die() -> bytes:
    """A unit whose root is a null entry, between two others."""
    return kernel([unit([INT]), Unit(None, tail=b"\0"), second()]).data


@case
def unit_without_a_die() -> bytes:
    """A header, and nothing after it."""
    return kernel([unit([INT]), Unit(None), second()]).data


@case
def unit_of_another_tag() -> bytes:
    """A unit that begins with a structure. The reference stops there, as if the file ended."""
    return kernel(
        [unit([INT]), Unit(point()._replace(attributes=(("byte_size", "data1", 8),), children=[])), second()]
    ).data


@case
def unit_padding() -> bytes:
    """Zeros after the tree of a unit are padding."""
    first = unit([INT])
    return kernel([first._replace(tail=bytes(7)), second()]).data


@case
def unit_partial() -> bytes:
    """A partial unit is skipped."""
    return kernel(
        [unit([INT]), other("partial_unit", [typedef("skipped", "int3"), base("int", 4, label="int3")])]
    ).data


@case
def unit_skeleton() -> bytes:
    """The skeleton of a split unit: nothing is read from it."""
    return kernel(
        [
            unit([INT]),
            other("skeleton_unit", [typedef("skipped", "int3"), base("int", 4, label="int3")], signature=7),
        ]
    ).data


@case
def unit_type_dwarf5() -> bytes:
    """A type unit counts as a unit of its own; references to it by signature are void."""
    types = Unit(
        die(
            "type_unit",
            ("language", "data1", 12),
            children=[
                base("int", 4, label="int4"),
                named(
                    "structure_type",
                    "s",
                    ("byte_size", "data1", 4),
                    label="s",
                    children=[
                        named("member", "m", ("type", "ref4", "int4"), ("data_member_location", "data1", 0))
                    ],
                ),
            ],
        ),
        version=5,
        signature=0x1122334455667788,
        type_label="s",
    )
    user = unit(
        [
            INT,
            typedef("t", "int"),
            die("typedef", ("name", "string", "u"), ("type", "ref_sig8", 0x1122334455667788)),
        ],
        version=5,
    )
    return kernel([types, user]).data


@case
def unit_type_dwarf4() -> bytes:
    """Type units of `.debug_types` form one unit that comes first; references by signature work inside it."""

    def types(name: str, signature: int, extra: list[Die]) -> Unit:
        return Unit(
            die(
                "type_unit",
                ("language", "data1", 12),
                children=[
                    base("int", 4, label=f"int of {name}"),
                    *extra,
                    named("structure_type", name, ("byte_size", "data1", 4), label=name),
                ],
            ),
            section=".debug_types",
            signature=signature,
            type_label=name,
        )

    return kernel(
        [
            types("s", 1, []),
            types("t", 2, [die("pointer_type", ("type", "ref_sig8", 1))]),
            unit([INT, typedef("plain", "int")]),
        ]
    ).data


@case
def signature_unknown() -> bytes:
    return of(INT, die("typedef", ("name", "string", "u"), ("type", "ref_sig8", 99)), version=5)


# -- references across units -----------------------------------------------------------------------


@case
def reference_across_units() -> bytes:
    """One DW_FORM_ref_addr anywhere merges all units: index types, ids and lookups span the file."""
    return kernel(
        [
            unit([die("typedef", ("name", "string", "far"), ("type", "ref_addr", "int"))]),
            unit(
                [
                    INT,
                    die(
                        "array_type",
                        ("type", "ref4", "int"),
                        children=[die("subrange_type", ("upper_bound", "data1", 1))],
                    ),
                    function(X86),
                ]
            ),
            second(),
        ]
    ).data


@case
def reference_by_address_inside() -> bytes:
    """The same, though the reference stays inside its unit."""
    return of(INT, die("typedef", ("name", "string", "near"), ("type", "ref_addr", "int")), version=3)


@case
def reference_by_address_dwarf2() -> bytes:
    """In DWARF 2 such a reference has the size of an address."""
    return of(
        INT,
        die("typedef", ("name", "string", "near"), ("type", "ref_addr", "int")),
        typedef("t", "int"),
        version=2,
    )


@case
def partial_unit_imported() -> bytes:
    """As dwz writes it: a partial unit imported by address, decoded where it is and where it is imported."""
    partial = Unit(
        die(
            "partial_unit", label="partial", children=[base("int", 4, label="shared"), typedef("p", "shared")]
        )
    )
    return kernel(
        [
            unit(
                [
                    die("imported_unit", ("import", "ref_addr", "partial")),
                    die("typedef", ("name", "string", "t"), ("type", "ref_addr", "shared")),
                ]
            ),
            partial,
            unit(
                [
                    die("imported_unit", ("import", "ref_addr", "partial")),
                    die("pointer_type", ("type", "ref_addr", "shared")),
                ]
            ),
        ]
    ).data


@case
def merge_by_note() -> bytes:
    """The note that a kernel build with LTO leaves."""
    return kernel(
        [unit([INT, variable(X86)]), second()],
        extra_sections=[Section(".note.Linux", note(b"Linux", 0x101, b"\1\0\0\0"), "NOTE")],
    ).data


@case
def merge_note_zero() -> bytes:
    return kernel(
        [unit([INT, variable(X86)]), second()],
        extra_sections=[Section(".note.Linux", note(b"Linux", 0x101, b"\0\0\0\0"), "NOTE")],
    ).data


@case_with("default,force_cu_merging")
def merge_by_feature() -> bytes:
    return kernel(
        [
            second(),
            unit(
                [
                    INT,
                    die(
                        "array_type",
                        ("type", "ref4", "int"),
                        children=[die("subrange_type", ("upper_bound", "data1", 1))],
                    ),
                ]
            ),
        ]
    ).data


# -- abbreviations ---------------------------------------------------------------------------------


def codes(function: Any, **options: Any) -> bytes:
    return kernel(dwarf([unit(standard(X86)), second()], codes=function, **options)).data


@case
def abbreviation_codes_with_gaps() -> bytes:
    return codes(lambda n: n * n + 1)


@case
def abbreviation_codes_of_24_bits() -> bytes:
    return codes(lambda n: (1 << 24) - n)


@case
def abbreviation_codes_of_31_bits() -> bytes:
    return codes(lambda n: (1 << 31) - n)


@case
def abbreviation_table_unsorted() -> bytes:
    return codes(lambda n: 9 - n if n < 9 else n, reverse_abbrevs=True)


@case
def abbreviation_declared_twice() -> bytes:
    """Of two declarations of one code the first counts."""
    written = dwarf([unit([INT, typedef("t", "int")])])
    table = written.sections[".debug_abbrev"]
    double = b"\x01\x34\x00\x03\x08\x00\x00"  # code 1 again, a variable
    return kernel(written, debug={".debug_abbrev": table[:-1] + double + b"\0"}).data


@case
def abbreviation_table_unterminated() -> bytes:
    """The table ends with the section, without the zero."""
    written = dwarf([unit([INT, typedef("t", "int")])])
    return kernel(written, debug={".debug_abbrev": written.sections[".debug_abbrev"][:-1]}).data


@case
def children_flag_without_children() -> bytes:
    """A DIE may claim to have children and have none."""
    t = typedef("t", "int")._replace(has_children=True)
    return of(
        INT,
        t,
        named("structure_type", "s", ("byte_size", "data1", 0), has_children=True),
        typedef("u", "int"),
    )


@case
def unit_children_unterminated() -> bytes:
    """The zero after the last child of the unit DIE is missing: the unit's end ends it."""
    return kernel([unit([INT, typedef("t", "int")], terminated=False), second()]).data


@case
def siblings() -> bytes:
    """DW_AT_sibling in every form of reference, on everything with children."""

    def with_sibling(form: str, entry: Die) -> Die:
        return entry._replace(attributes=(("sibling", form, END), *entry.attributes))

    return of(
        INT,
        with_sibling("ref4", point()),
        with_sibling("ref_udata", function(X86)),
        with_sibling(
            "ref8",
            named(
                "enumeration_type",
                "e",
                ("byte_size", "data1", 4),
                children=[named("enumerator", "A", ("const_value", "data1", 1))],
            ),
        ),
        with_sibling(
            "ref2",
            die(
                "array_type",
                ("type", "ref4", "int"),
                children=[die("subrange_type", ("upper_bound", "data1", 1))],
            ),
        ),
        typedef("last", "point"),
    )


@case
def indirect_forms() -> bytes:
    """DW_FORM_indirect for everything, even for skipped values; the form differs from DIE to DIE."""

    def via(form: str) -> tuple[str, str]:
        return "indirect", form

    return of(
        die(
            "base_type",
            ("name", via("string"), "int"),
            ("byte_size", via("udata"), 4),
            ("encoding", via("data2"), 5),
            ("decl_file", via("block1"), b"skipped"),
            ("decl_line", via("data16"), bytes(16)),
            label="int",
        ),
        die(
            "base_type",
            ("name", via("strp"), "char"),
            ("byte_size", via("sdata"), 1),
            ("encoding", via("data1"), 6),
            ("decl_file", via("flag_present"), 1),
            ("decl_line", via("exprloc"), b"abc"),
            label="char",
        ),
        *(
            die("typedef", ("name", via("string"), f"t{n}"), ("type", via(form), "int"))
            for n, form in enumerate(("ref1", "ref2", "ref4", "ref8", "ref_udata"))
        ),
        die("typedef", ("name", "string", "direct"), ("type", "ref1", "char")),
        version=5,
    )


@case
def attributes_of_no_interest() -> bytes:
    """Every form of DWARF 5 under attributes that do not matter, known and unknown: sizes must be right."""
    forms: list[tuple[str, Any]] = [
        ("addr", TEXT),
        ("block", b"12345"),
        ("block1", b"1"),
        ("block2", b"12"),
        ("block4", b"1234"),
        ("data1", 1),
        ("data2", 2),
        ("data4", 4),
        ("data8", 8),
        ("data16", bytes(16)),
        ("exprloc", b"\x9c"),
        ("flag", 1),
        ("flag_present", 1),
        ("sdata", -70000),
        ("udata", 70000),
        ("sec_offset", 0),
        ("string", "text"),
        ("strp", "text"),
        ("line_strp", "text"),
        ("ref1", "int"),
        ("ref2", "int"),
        ("ref4", "int"),
        ("ref8", "int"),
        ("ref_udata", "int"),
        ("ref_sig8", 5),
        ("implicit_const", -5),
        ("strx", "a"),
        ("strx1", "b"),
        ("strx2", "c"),
        ("strx3", "d"),
        ("strx4", "e"),
        ("addrx", TEXT),
        ("addrx1", TEXT),
        ("addrx2", TEXT),
        ("addrx3", TEXT),
        ("addrx4", TEXT),
        ("loclistx", 0),
        ("rnglistx", 0),
        ("ref_sup4", b"abcd"),
        ("ref_sup8", b"abcdefgh"),
        ("strp_sup", b"abcd"),
        ("GNU_addr_index", b"\x81\x01"),
        ("GNU_str_index", b"\x82\x01"),
        ("GNU_strp_alt", b"abcd"),
    ]

    def junk(n: int, form: str, value: Any) -> tuple[Any, ...]:
        return (
            0x2B00 + n if n % 2 else "decl_line",
            form,
            Raw(0) if form in ("loclistx", "rnglistx") else value,
        )

    return of(
        INT,
        *(
            die(
                "typedef",
                junk(n, form, value),
                ("name", "string", f"t_{form}"),
                junk(n + 1, form, value),
                ("type", "ref4", "int"),
            )
            for n, (form, value) in enumerate(forms)
        ),
        version=5,
    )


@case
def alternate_file_missing() -> bytes:
    """A reference into a missing alternate debug file is void."""
    return of(
        INT,
        die("typedef", ("name", "string", "t"), ("type", "GNU_ref_alt", b"\x10\0\0\0")),
        typedef("u", "int"),
        version=4,
    )


@case
def tables_without_base_attributes() -> bytes:
    """DWARF 5 without `DW_AT_str_offsets_base` and its like: a table starts after the first header."""
    children = [
        INT,
        die("typedef", ("name", "strx1", "renamed"), ("type", "ref4", "int")),
        die(
            "variable",
            ("name", "strx1", "v"),
            ("type", "ref4", "int"),
            ("location", "exprloc", [("addrx", X86.percpu + 8)]),
        ),
    ]
    return kernel([unit(children, version=5)._replace(bases=False)]).data


@case
def function_in_another_address_size() -> bytes:
    """A unit with 4-byte addresses in a 64-bit file: pointers have 4 bytes."""
    one = Unit(
        die(
            "compile_unit",
            ("name", "string", "x32.c"),
            ("low_pc", "addr", 0x1000),
            children=[
                base("int", 4, label="int"),
                die("pointer_type", ("type", "ref4", "int"), label="pointer"),
                die(
                    "variable",
                    ("name", "string", "v"),
                    ("type", "ref4", "pointer"),
                    ("location", "exprloc", [("addr", 0x2008)]),
                ),
            ],
        ),
        address_size=4,
    )
    return kernel([one], X86._replace(text=0x1000, percpu=0x2000)).data
