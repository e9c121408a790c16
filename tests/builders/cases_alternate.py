"""Cases with an alternate file, as `dwz -m` makes them: which of its units are decoded, and what refers to them.

Each file has one or two units that refer to `alt.debug` beside it. Its units p0, p1... have one base type each, i0,
i1..., named a0, a1... The base types in the BTF show which units are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.builders.dwarfwriter import Die, Unit, die, dwarf
from tests.builders.elfwriter import SHF_ALLOC, Section, Symbol, elf, note
from tests.builders.kernelish import FLAVOURS, INT, Flavour, kernel, unit
from tests.builders.synthetic import X86, Case, Options, base, named, parameter, register, subprogram, typedef

NAME = "alt.debug"
ID = bytes(range(1, 21))

Labels = dict[str, int]
Main = Callable[[Labels], Sequence[Unit]]


def alternate(units: Sequence[Unit], identity: bytes = ID, little: bool = True, **options: Any) -> tuple[bytes, Labels]:
    """An alternate file, and the offsets of its labels."""
    written = dwarf(units, little=little)
    content = note(b"GNU", 3, identity, little=little)
    sections = [Section(".note.gnu.build-id", content, "NOTE", flags=SHF_ALLOC)]
    sections += [Section(name, data) for name, data in written.sections.items()]
    return elf(sections, [], little=little, **options).data, written.labels


def link(name: str = NAME, identity: bytes = ID) -> Section:
    return Section(".gnu_debugaltlink", name.encode() + b"\0" + identity)


def pair(
    units: Sequence[Unit], main: Main, flavour: Flavour = X86, sections: Sequence[Section] | None = None
) -> tuple[bytes, bytes]:
    """A file whose units `main` makes from the labels of its alternate file, and that alternate file."""
    other, labels = alternate(units, little=flavour.little, bits=flavour.bits, machine=flavour.machine)
    more = [Symbol("g", flavour.text + 32, 16, "FUNC", ".text")]
    extra = [link()] if sections is None else sections
    return kernel(main(labels), flavour, extra_sections=extra, extra_symbols=more).data, other


def far(attribute: str | int, offset: int, form: str = "GNU_ref_alt", size: int = 4, order: Any = "little") -> Any:
    """An attribute that refers to an offset in the alternate file."""
    return attribute, form, offset.to_bytes(size, order)


def one(*children: Callable[[Labels], Die]) -> Main:
    """One unit with `int` and these DIEs."""
    return lambda labels: [unit([INT, *(child(labels) for child in children)])]


def uses(label: str, name: str = "t") -> Callable[[Labels], Die]:
    return lambda labels: named("typedef", name, far("type", labels[label]))


def imports(label: str) -> Callable[[Labels], Die]:
    return lambda labels: die("imported_unit", far("import", labels[label]))


def p(n: int, *more: Die, tag: str = "partial_unit") -> Unit:
    """Unit number `n`."""
    return Unit(die(tag, children=[base(f"a{n}", 4, label=f"i{n}"), *more], label=f"p{n}"))


def imported(label: str) -> Die:
    return die("imported_unit", ("import", "ref_addr", label))


def case(
    units: Sequence[Unit], features: str = "default", flavour: Flavour = X86, options: Options | None = None
) -> Callable[[Callable[[Labels], Sequence[Unit]]], Main]:
    """Registers a case: its function makes the units of the file."""

    def decorate(main: Main) -> Main:
        files = pair(units, main, flavour)
        register(Case(main.__name__, lambda: files[0], features, {NAME: files[1]}, options or {}))
        return main

    return decorate


TEN = [p(n) for n in range(10)]


def body(*children: Die) -> Die:
    return subprogram("f", 0, children=children)


# -- which units are needed ------------------------------------------------------------------------


@case(TEN)
def alternate_order(labels: Labels) -> Sequence[Unit]:
    """Units are decoded in the order of the alternate file, and before the file itself."""
    return one(uses("i4", "late"), uses("i0", "early"))(labels)


@case([p(0), p(1, typedef("inner", "i1")), p(2, named("typedef", "outer", ("type", "ref_addr", "i1"), label="outer"))])
def alternate_reference_inside(labels: Labels) -> Sequence[Unit]:
    """A reference between units of the alternate file needs no unit, and is void."""
    return one(uses("outer"))(labels)


@case([p(0), p(1), p(2, named("typedef", "outer", ("type", "ref_addr", "i1"), label="outer"))])
def alternate_reference_to_needed(labels: Labels) -> Sequence[Unit]:
    """The same, but something else needs the unit that it leads to."""
    return one(uses("outer"), uses("i1", "other"))(labels)


@case([p(0), p(1), p(2, imported("p3")), p(3, imported("p1")), p(4)])
def alternate_imports_of_all_units(labels: Labels) -> Sequence[Unit]:
    """What any unit of the alternate file imports is needed, even if nothing needs that unit."""
    return one(uses("i4"))(labels)


def lost(label: str = "i1") -> tuple[str, str, str]:
    return "type", "ref_addr", label


LOST = (
    named("typedef", "t0", lost()),
    named(
        "structure_type",
        "s",
        ("byte_size", "data1", 12),
        children=[
            die("inheritance", lost(), ("data_member_location", "data1", 0)),
            named("member", "m", lost(), ("data_member_location", "data1", 4)),
            named("member", "n", lost(), ("data_member_location", "data1", 8)),
        ],
    ),
    die("subroutine_type", lost(), children=[die("formal_parameter", lost()), die("formal_parameter", lost("i0"))]),
    die("array_type", lost(), children=[die("subrange_type", ("count", "data1", 3))]),
    named("variable", "v", lost()),
    subprogram("g", 32, lost(), children=[named("formal_parameter", "x", lost())]),
)


@case([p(0), p(1), p(2, *LOST, named("enumeration_type", "e", lost(), ("byte_size", "data1", 4)))])
def alternate_lost_references(labels: Labels) -> Sequence[Unit]:
    """References of all sorts into a unit that nothing imports. That of an enumeration is not followed."""
    return one(uses("i0"), uses("i2", "u"))(labels)


@case([p(0), p(1, tag="compile_unit"), p(2, imported("p1")), p(3, imported("p0"), tag="compile_unit")])
def alternate_imports_of_partial_units(labels: Labels) -> Sequence[Unit]:
    """Only partial units can be imported; anything can import them."""
    return one(imports("p1"))(labels)


@case([p(0, imported("p1")), p(1, imported("p0"))])
def alternate_imports_in_a_circle(labels: Labels) -> Sequence[Unit]:
    return one(uses("i1"))(labels)


@case([p(0), p(1), p(2, die("namespace", children=[imported("p1")]))])
def alternate_import_in_a_namespace(labels: Labels) -> Sequence[Unit]:
    """Imports count only directly under a unit."""
    return one(
        lambda labels: die("namespace", children=[imports("p0")(labels)]),
        lambda labels: body(imports("p2")(labels)),
    )(labels)


@case(TEN)
def alternate_import_of_another_die(labels: Labels) -> Sequence[Unit]:
    """An import of something that is not the root of a unit."""
    return one(imports("i1"))(labels)


@case([*TEN, p(10, tag="compile_unit")])
def alternate_type_in_a_full_unit(labels: Labels) -> Sequence[Unit]:
    return one(uses("i10"))(labels)


@case(TEN)
def alternate_reference_between(labels: Labels) -> Sequence[Unit]:
    """References to the middle of a DIE and to the header of a unit are void; the first needs the unit."""
    at = labels["i4"] + 1
    return one(
        lambda labels: named("typedef", "middle", far("type", at)),
        lambda labels: named("typedef", "header", far("type", labels["p2"] - 3)),
        lambda labels: named("typedef", "start", far("type", 0)),
    )(labels)


@case(TEN)
def alternate_needed_by_what_is_dropped(labels: Labels) -> Sequence[Unit]:
    """Some DIEs that add nothing to the BTF need units, others do not."""
    at = [far("type", labels[f"i{n}"]) for n in range(10)]
    return [
        unit(
            [
                INT,
                body(
                    die("inlined_subroutine", children=[named("variable", "v", at[0])]),
                    die("lexical_block", children=[named("variable", "v", at[1])]),
                    die("call_site", at[2]),
                    die("label", at[3]),
                    die("template_type_param", at[4]),
                ),
                named("constant", "c", at[5]),
                die("subrange_type", at[6]),
                die("array_type", ("type", "ref4", "int"), children=[die("subrange_type", at[7])]),
                die("unspecified_type", at[8]),
                die("dwarf_procedure", at[9]),
            ]
        )
    ]


@case(TEN)
def alternate_needed_by_what_is_dropped_elsewhere(labels: Labels) -> Sequence[Unit]:
    at = [labels[f"i{n}"] for n in range(10)]
    return [
        unit(
            [
                INT,
                die("imported_declaration", far("import", at[0])),
                die("imported_module", far("import", at[1])),
                die("imported_declaration", far("type", at[2])),
                named("typedef", "t", ("type", "ref4", "int"), far("import", at[3])),
                body(
                    die("inlined_subroutine", far("abstract_origin", at[4])),
                    die("lexical_block", far("abstract_origin", at[5])),
                    die("call_site", far("abstract_origin", at[6])),
                    die("imported_declaration", far("import", at[7])),
                ),
                named(
                    "structure_type",
                    "s",
                    ("byte_size", "data1", 4),
                    far("containing_type", at[8]),
                    children=[named("constant", "c", far("type", at[9]))],
                ),
            ]
        )
    ]


@case([p(0), p(1)])
def alternate_needed_by_a_partial_unit(labels: Labels) -> Sequence[Unit]:
    """Partial units of the file itself, imported or not."""
    first = Unit(die("partial_unit", label="own", children=[uses("i1")(labels)]))
    second = Unit(die("partial_unit", children=[imports("p0")(labels)]))
    return [unit([INT, imported("own")]), first, second]


# -- what refers to them -----------------------------------------------------------------------------

ORIGINS = [
    p(0),
    p(
        1,
        subprogram(
            "g",
            None,
            ("type", "ref4", "i1"),
            ("inline", "data1", 1),
            label="function",
            children=[parameter("x", "i1", label="parameter")],
        ),
        named("variable", "counter", ("type", "ref4", "i1"), ("declaration", "flag_present", None), label="variable"),
        named("structure_type", "declared", ("byte_size", "data1", 4), label="struct"),
    ),
]


@case(ORIGINS)
def alternate_origin(labels: Labels) -> Sequence[Unit]:
    """A function and its parameter whose abstract origins are in the alternate file."""
    place = ("location", "exprloc", [("reg5",)])
    child = die("formal_parameter", far("abstract_origin", labels["parameter"]), place)
    function = subprogram(None, 32, far("abstract_origin", labels["function"]), children=[child])
    return one(lambda labels: function)(labels)


@case(ORIGINS)
def alternate_specification_of_a_function(labels: Labels) -> Sequence[Unit]:
    return one(
        lambda labels: subprogram(None, 32, ("type", "ref4", "int"), far("specification", labels["function"]))
    )(labels)


@case(ORIGINS)
def alternate_specification_of_a_variable(labels: Labels) -> Sequence[Unit]:
    place = ("location", "exprloc", [("addr", X86.percpu)])
    return one(lambda labels: die("variable", far("specification", labels["variable"]), place))(labels)


@case(ORIGINS)
def alternate_specification_of_a_struct(labels: Labels) -> Sequence[Unit]:
    return one(
        lambda labels: die("structure_type", far("specification", labels["struct"]), ("byte_size", "data1", 8))
    )(labels)


@case([p(0), p(1, subprogram("f", 0, ("type", "ref4", "i1"), children=[parameter("x", "i1")]))])
def alternate_has_functions(labels: Labels) -> Sequence[Unit]:
    return one(uses("i1"))(labels)


@case([Unit(die("partial_unit", children=[base(f"c{n}", 4, label=f"c{n}") for n in range(8)]))])
def alternate_same_offsets(labels: Labels) -> Sequence[Unit]:
    """Offsets in the file and in its alternate file are independent."""
    own = [base(f"own{n}", 4, label=f"own{n}") for n in range(8)]
    near = [typedef(f"near{n}", f"own{n}") for n in range(8)]
    distant = [uses(f"c{n}", f"far{n}")(labels) for n in range(8)]
    return [Unit(die("compile_unit", children=[*own, *near, *distant]))]


def gnu(label: str, kind: str, value: str, *next_: Any) -> Die:
    return die("GNU_annotation", ("name", "strp", kind), ("const_value", "strp", value), *next_, label=label)


CHAINS = [
    p(0, gnu("first", "btf_decl_tag", "one", ("GNU_annotation", "ref_addr", "second"))),
    p(1),
    p(2, gnu("second", "btf_decl_tag", "two"), gnu("type", "btf_type_tag", "tag")),
]


@case(CHAINS)
def alternate_annotations(labels: Labels) -> Sequence[Unit]:
    """Chains of annotations go through units that are otherwise not needed."""
    return one(
        lambda labels: named(
            "structure_type", "s", ("byte_size", "data1", 4), far(0x2139, labels["first"])
        ),
        lambda labels: die("pointer_type", ("type", "ref4", "int"), far(0x2139, labels["type"])),
    )(labels)


def tagged(unit: int, label: str) -> Die:
    """A pointer to the base type of its unit, `unit`, with the type tag of this label."""
    return die("pointer_type", ("type", "ref4", f"i{unit}"), ("GNU_annotation", "ref_addr", label))


def tag(label: str, *next_: str) -> Die:
    """A type tag, with the next one in its chain."""
    return gnu(label, "btf_type_tag", label, *(("GNU_annotation", "ref_addr", other) for other in next_))


TAGS = [p(0), p(1, tagged(1, "one")), p(2, tag("one", "two")), p(3, tag("two")), p(4, tag("four"), tagged(4, "four"))]


@case(TAGS)
def alternate_tags_of_its_pointers(labels: Labels) -> Sequence[Unit]:
    """Type tags of pointers need units. Tags of a pointer that is not decoded stay, and refer to void."""
    return one(uses("i0"))(labels)


@case(TAGS)
def alternate_tags_of_a_needed_pointer(labels: Labels) -> Sequence[Unit]:
    return one(uses("i1"))(labels)


@case(TAGS, features="var,float,decl_tag")
def alternate_tags_without_feature(labels: Labels) -> Sequence[Unit]:
    return one(uses("i0"))(labels)


@case(TAGS)
def alternate_tags_and_nothing_else(labels: Labels) -> Sequence[Unit]:
    """Even if the file refers to nothing in its alternate file."""
    return one()(labels)


@case(
    [
        p(0),
        p(1, *(tag(f"t{n}") for n in range(6))),
        p(2, die("namespace", children=[tagged(2, "t0")])),
        p(3, named("structure_type", "s", ("byte_size", "data1", 4), children=[tagged(3, "t1")])),
        p(4, body(tagged(4, "t2"), die("lexical_block", children=[tagged(4, "t3")]))),
        p(5, die("subroutine_type", children=[tagged(5, "t4")]), tag="compile_unit"),
        p(6, die("array_type", ("type", "ref4", "i6"), children=[tagged(6, "t5")])),
    ]
)
def alternate_tags_of_nested_pointers(labels: Labels) -> Sequence[Unit]:
    """Pointers wherever they are read; a child of an array is not read."""
    return one(uses("i0"))(labels)


@case(
    [
        p(0),
        p(1, gnu("decl", "btf_decl_tag", "decl"), gnu("other", "other", "other")),
        p(2, tagged(2, "decl"), tagged(2, "other")),
        p(3, named("structure_type", "s", ("byte_size", "data1", 4), ("GNU_annotation", "ref_addr", "decl"))),
        p(4, die("pointer_type", ("type", "ref4", "i4"), children=[gnu("child", "btf_type_tag", "child")])),
        p(5, die("pointer_type", ("type", "ref4", "i5"), ("GNU_annotation", "ref_addr", "i1"))),
    ]
)
def alternate_tags_that_need_nothing(labels: Labels) -> Sequence[Unit]:
    """Declaration tags, tags with other names, children of a pointer as clang writes them, and other DIEs."""
    return one(uses("i0"))(labels)


# -- strings, byte order, languages ------------------------------------------------------------------

STRINGS = [
    Unit(
        die(
            "partial_unit",
            label="p0",
            children=[
                die("base_type", ("name", "strp", "long name"), ("byte_size", "data1", 8), ("encoding", "data1", 5)),
                die("base_type", ("name", "line_strp", "line"), ("byte_size", "data1", 8), ("encoding", "data1", 5)),
                die("base_type", ("name", "strx1", "indexed"), ("byte_size", "data1", 8), ("encoding", "data1", 5)),
                die("typedef", ("name", ("indirect", "strp"), "indirect"), ("type", "ref4", "last")),
                base("last", 8, label="last"),
            ],
        ),
        version=5,
    )
]


@case(STRINGS)
def alternate_strings(labels: Labels) -> Sequence[Unit]:
    """Names in each string section of the alternate file, and from its .debug_str in the file itself."""
    alt = far("name", 0, "GNU_strp_alt")
    children = [
        INT,
        die("typedef", ("name", "strp", "own name"), ("type", "ref4", "int")),
        die("typedef", alt, ("type", "ref4", "int")),
        subprogram("f", 0, children=[die("formal_parameter", alt, ("type", "ref4", "int"))]),
        imports("p0")(labels),
    ]
    return [unit(children, version=5)]


@case(TEN, flavour=FLAVOURS["s390x"])
def alternate_big_endian(labels: Labels) -> Sequence[Unit]:
    return [unit([INT, named("typedef", "t", far("type", labels["i4"], order="big"))])]


def two_languages(labels: Labels) -> Sequence[Unit]:
    """C99 and C11."""
    second = die(
        "compile_unit",
        ("name", "string", "second.c"),
        ("language", "data1", 0x1D),
        children=[base("b", 4), uses("i0", "second")(labels)],
    )
    return [unit([INT, uses("i1", "first")(labels)]), Unit(second)]


@case([p(0), p(1)], options={"lang_exclude": "c11"})
def alternate_language_of_a_unit(labels: Labels) -> Sequence[Unit]:
    """A unit that is left out needs nothing."""
    return two_languages(labels)


@case([p(0), p(1)], options={"lang": "c99"})
def alternate_language_of_the_first(labels: Labels) -> Sequence[Unit]:
    """If languages are chosen, the first unit of the file decides for all, not one of the alternate file."""
    return two_languages(labels)


@case([p(0), p(1)], options={"lang_exclude": "c99"})
def alternate_language_excluded(labels: Labels) -> Sequence[Unit]:
    return two_languages(labels)


def _c99(n: int) -> Unit:
    return Unit(die("partial_unit", ("language", "data1", 12), children=[base(f"a{n}", 4, label=f"i{n}")]))


@case([_c99(0), _c99(1)], options={"lang_exclude": "c99"})
def alternate_language_of_its_units(labels: Labels) -> Sequence[Unit]:
    """Languages of units in the alternate file do not matter."""
    return two_languages(labels)[::-1]


@case([p(0)], options={"lang": "c99"}, features="default,force_cu_merging")
def merged_language_of_the_first(_labels: Labels) -> Sequence[Unit]:
    """The first unit also decides if nothing in the alternate file is needed."""
    second = die("compile_unit", ("language", "data1", 0x1D), children=[base("b", 4)])
    return [unit([INT]), Unit(second)]
