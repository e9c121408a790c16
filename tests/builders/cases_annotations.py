"""Declaration and type tags. See `synthetic.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, kernel, point, unit, variable
from tests.builders.synthetic import X86, base, case, case_with, functions, named, of, parameter, subprogram, typedef

# -- annotations -----------------------------------------------------------------------------------


def tag(
    kind: str, value: Any, *attributes: Any, gnu: bool = False, form: str = "string", **fields: Any
) -> Die:
    return die(
        "GNU_annotation" if gnu else "LLVM_annotation",
        ("name", "string", f"btf_{kind}"),
        ("const_value", form, value),
        *attributes,
        **fields,
    )


def chain(label: str) -> tuple[str, str, str]:
    return "GNU_annotation", "ref4", label


@case
def annotations_llvm() -> bytes:
    """On everything that can carry them."""

    def m(name: str, offset: int, *values: str) -> Die:
        return named(
            "member",
            name,
            ("type", "ref4", "int"),
            ("data_member_location", "data1", offset),
            children=[tag("decl_tag", value) for value in values],
        )

    v = variable(X86)._replace(children=[tag("decl_tag", "on variable")])
    return of(
        INT,
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 8),
            children=[m("x", 0, "x1", "x2"), tag("decl_tag", "on s"), m("y", 4, "y1")],
        ),
        named(
            "union_type", "u", ("byte_size", "data1", 4), children=[m("x", 0, "u1"), tag("decl_tag", "on u")]
        ),
        named(
            "class_type", "c", ("byte_size", "data1", 4), children=[m("x", 0, "c1"), tag("decl_tag", "on c")]
        ),
        typedef(
            "t",
            "int",
            children=[tag("decl_tag", "on t"), tag("type_tag", "wrong kind"), tag("decl_tag", "again")],
        ),
        named("enumeration_type", "e", ("byte_size", "data1", 4), children=[tag("decl_tag", "on e")]),
        subprogram(
            "f",
            16,
            children=[
                parameter("a", "int", children=[tag("decl_tag", "on a")]),
                tag("decl_tag", "on f"),
                parameter("b", "int", children=[tag("decl_tag", "on b")]),
            ],
        ),
        v,
        tag("decl_tag", "stray"),
        extra_symbols=functions("f"),
    )


@case
def annotations_gnu_chains() -> bytes:
    """Chains by attribute 0x2139: structures, members, functions, parameters; nothing else."""
    v = variable(X86)
    return of(
        INT,
        tag("decl_tag", "third", gnu=True, label="3"),
        tag("decl_tag", "second", chain("3"), gnu=True, label="2"),
        tag("type_tag", "not a declaration", chain("2"), gnu=True, label="1"),
        named(
            "structure_type",
            "s",
            ("byte_size", "data1", 4),
            chain("1"),
            children=[
                named(
                    "member", "x", ("type", "ref4", "int"), ("data_member_location", "data1", 0), chain("2")
                )
            ],
        ),
        named(
            "union_type",
            "u",
            ("byte_size", "data1", 4),
            chain("1"),
            children=[named("member", "x", ("type", "ref4", "int"), chain("3"))],
        ),
        typedef("t", "int")._replace(
            attributes=(("name", "string", "t"), ("type", "ref4", "int"), chain("3"))
        ),
        subprogram("f", 16, chain("2"), children=[parameter("a", "int", chain("3"))]),
        v._replace(attributes=(*v.attributes, chain("3"))),
        named("structure_type", "other", ("byte_size", "data1", 4), chain("int")),
        extra_symbols=functions("f"),
    )


@case
def type_tags() -> bytes:
    """On pointers only: LLVM children reversed, GNU chains in order, children win over chains."""

    def to(*attributes: Any, children: Any = (), label: str | None = None) -> Die:
        return die("pointer_type", *attributes, children=children, label=label)

    target = ("type", "ref4", "int")
    return of(
        INT,
        tag("type_tag", "last", gnu=True, label="2"),
        tag("type_tag", "first", chain("2"), gnu=True, label="1"),
        tag("type_tag", "before", chain("d"), gnu=True, label="0"),
        tag("decl_tag", "declaration", chain("2"), gnu=True, label="d"),
        to(target, children=[tag("type_tag", "one"), tag("type_tag", "two")], label="p"),
        to(target, chain("1")),
        to(target, chain("0")),
        to(chain("2")),
        to(target, chain("1"), children=[tag("type_tag", "wins")]),
        to(target, children=[tag("decl_tag", "no")]),
        to(("type", "ref4", "p"), children=[tag("type_tag", "outer")]),
        die("const_type", target, children=[tag("type_tag", "on const")]),
        typedef("t", "p"),
    )


@case
def annotation_values() -> bytes:
    """A value in another form; a name that is not one of BTF's."""
    return of(
        INT,
        typedef("t", "int", children=[tag("decl_tag", "by offset", form="strp"), tag("other", "unknown")]),
        typedef("u", "int"),
    )


@case
def annotation_without_value() -> bytes:
    return of(
        INT,
        typedef("t", "int", children=[die("LLVM_annotation", ("name", "string", "btf_decl_tag"))]),
        typedef("u", "int", children=[tag("decl_tag", "fine")]),
        variable(X86),
    )


@case
def annotation_value_is_a_number() -> bytes:
    return of(INT, typedef("t", "int", children=[tag("decl_tag", 5, form="data1")]), typedef("u", "int"))


@case
def annotation_empty() -> bytes:
    """An empty value silently drops the rest of its unit."""
    return kernel(
        [
            unit(
                [
                    INT,
                    point(),
                    typedef("t", "int", children=[tag("decl_tag", "")]),
                    typedef("u", "int", children=[tag("decl_tag", "lost")]),
                    variable(X86),
                ]
            ),
            unit([base("int", 4, label="int2"), typedef("v", "int2", children=[tag("decl_tag", "kept")])]),
        ]
    ).data


@case
def type_tag_empty() -> bytes:
    return of(INT, die("pointer_type", ("type", "ref4", "int"), children=[tag("type_tag", "")]))


@case_with("encode_force,var,float,enum64")
def annotations_off() -> bytes:
    return of(
        INT,
        typedef("t", "int", children=[tag("decl_tag", "x")]),
        die("pointer_type", ("type", "ref4", "int"), children=[tag("type_tag", "y")]),
    )


def pointers_with_tags(type: str | None) -> list[Die]:
    """A pointer with each kind of tags; the chain is `second`, `first`."""
    target = () if type is None else (("type", "ref4", type),)
    return [
        die("pointer_type", *target, children=[tag("type_tag", "a"), tag("type_tag", "b")]),
        die("pointer_type", *target, chain("second")),
    ]


CHAIN = (tag("type_tag", "first", gnu=True, label="first"),
         tag("type_tag", "second", chain("first"), gnu=True, label="second"))  # fmt: skip


@case
def type_tags_of_unspecified_types() -> bytes:
    """They are kept, but not those of a pointer to a DIE that is not a type."""
    return of(
        INT,
        *CHAIN,
        named("unspecified_type", "nothing", label="nothing"),
        named("label", "no_type", label="no_type"),
        *pointers_with_tags("nothing"),
        *pointers_with_tags("no_type"),
        *pointers_with_tags(None),
    )


@case
def type_tags_in_namespaces_and_structs() -> bytes:
    """There, a pointer to a type skips its tags, but not in a function or a block."""
    return of(
        INT,
        *CHAIN,
        point(),
        named("unspecified_type", "nothing", label="nothing"),
        named("namespace", "n", children=[
            *pointers_with_tags("point"), *pointers_with_tags("nothing"), *pointers_with_tags(None),
            subprogram("in_namespace", 16, children=pointers_with_tags("int")),
        ]),
        named("structure_type", "s", ("byte_size", "data1", 4), children=pointers_with_tags("point")),
        named("union_type", "u", ("byte_size", "data1", 4), children=pointers_with_tags("int")),
        subprogram("f", 32, children=[die("lexical_block", children=pointers_with_tags("point"))]),
    )  # fmt: skip
