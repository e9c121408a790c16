"""Damaged DWARF in a sound ELF file. See `bad.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.bad import X86, bad, of, patched, three_units, typedef, with_sections, written
from tests.builders.dwarfwriter import Raw, Unit, die, dwarf, uleb
from tests.builders.kernelish import INT, kernel, standard, unit

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
    """A unit whose root is a structure."""
    return three_units(Unit(die("structure_type", ("byte_size", "data1", 4))))


# -- abbreviations -----------------------------------------------------------------------------------


def table(data: bytes) -> bytes:
    """The standard unit with a different abbreviation table."""
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


@bad(".debug_abbrev", unit=0)
def form_of_llvm_alone() -> bytes:
    """An index and an offset: clang, with -mllvm -minimize-addr-in-v5=Form."""
    return of(typedef("t", ("low_pc", 0x2001, uleb(0) + bytes(4))), version=5)


@bad(".debug_info", unit=0)
def indirect_to_implicit_const() -> bytes:
    """There is no place for the constant."""
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


@bad(".debug_addr", unit=0, die=True)
def addrx_of_a_variable_past_the_table() -> bytes:
    """Without its address the variable would be left out."""
    place = ("location", "exprloc", [("addrx", b"\x77")])
    entry = die("variable", ("name", "string", "v"), ("type", "ref4", "int"), place)
    return of(entry, die("subprogram", ("low_pc", "addrx", X86.text)), version=5)


# -- the end of a unit ---------------------------------------------------------------------------------


@bad(".debug_info", unit=0)
def entries_after_the_tree() -> bytes:
    """An extra null entry ends the tree early, and what follows would be lost."""
    return of(b"\0", typedef("t", ("type", "ref4", "int")))


@bad(".debug_info", unit=0)
def bytes_after_the_tree() -> bytes:
    return kernel([unit([INT])._replace(tail=b"\1\2\3"), unit([INT])]).data


@bad(".debug_info", unit=0)
def bytes_after_a_unit_without_children() -> bytes:
    return kernel([Unit(die("compile_unit", ("name", "string", "a.S")), tail=b"\0\0\1")]).data
