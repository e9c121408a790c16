"""DWARF that may be accepted or refused, as long as pybtf ends: cycles, depth, masses, endless lists. See `bad.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.bad import X86, odd, of, patched, typedef, with_sections, written
from tests.builders.dwarfwriter import LocList, Raw, Unit, die, dwarf, uleb
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import INT, function, kernel, unit, variable


@odd
def cycle_of_sizes() -> bytes:
    """The size of a parameter is looked for along its types, which form a cycle. The reference crashes."""
    return of(
        typedef("a", ("type", "ref4", "b"), label="a"),
        typedef("b", ("type", "ref4", "a"), label="b"),
        function(X86, type="a"),
    )


@odd
def cycle_of_annotations() -> bytes:
    """A GNU chain of declaration tags that is a cycle. The reference never ends."""

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
    """An array of itself, as the type of a variable whose size is needed."""
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
    """A structure that contains itself, perhaps packed, passed as the seventh parameter."""
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
    """The DIE `depth` times in a function, each inside the one before. It is made here because the writer recurses."""
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
    """One unit, with its header set to the new length."""
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
    """Each refers to the next; resolving must not recurse once for each."""
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


def with_sibling(sibling: Any) -> Any:
    """A structure with this DW_AT_sibling."""
    return die(
        "structure_type",
        ("sibling", "ref4", sibling),
        ("byte_size", "data1", 4),
        label="s",
        children=[die("member", ("name", "string", "m"), ("type", "ref4", "int"))],
    )


@odd
def sibling_to_itself() -> bytes:
    return of(with_sibling("s"))


@odd
def sibling_backwards() -> bytes:
    return of(with_sibling("int"))


@odd
def sibling_past_the_unit() -> bytes:
    far = Raw(0x7FFFFFF0)
    return of(die("common_block", ("sibling", "ref4", far), children=[typedef("t")]), with_sibling(far))


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
    """Work for each unit must not grow with its table."""
    spec = b"".join(uleb(n) + b"\x16\0\0\0" for n in range(10, 20_000))
    one = dwarf([unit([])])
    abbrevs = one.sections[".debug_abbrev"][:-1] + spec + b"\0"
    return with_sections(one, debug_info=one.sections[".debug_info"] * 1000, debug_abbrev=abbrevs)


@odd
def many_units_of_shifted_tables() -> bytes:
    """1,000 units; the table of each begins one declaration further on: a thousand long tables."""
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
