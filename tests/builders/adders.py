"""Calls of libbpf's btf__add_*, as tools/judge/adders_oracle writes them, on a `pybtf.Builder`."""

from __future__ import annotations

from typing import Any

from pybtf import Builder, UsageError
from pybtf.btf import Kind
from pybtf.btf.types import Enumerator, Member, Param, SectionVar

Group = list[list[Any]]


def play(groups: list[Group]) -> tuple[list[bool], bytes]:
    """Which groups (each a type with its parts) are accepted, and the BTF of those."""
    builder = Builder()
    taken = []
    for group in groups:
        try:
            before = builder.next_id
            assert one(builder, group) == before
            taken.append(True)
        except UsageError:
            taken.append(False)
    return taken, builder.to_bytes()


def one(b: Builder, group: Group) -> int:
    (what, *args), *parts = group
    match what:
        case "int":
            return b.add_int(*args)
        case "float":
            return b.add_float(*args)
        case "ptr":
            return b.add_ptr(*args)
        case "volatile":
            return b.add_volatile(*args)
        case "const":
            return b.add_const(*args)
        case "restrict":
            return b.add_restrict(*args)
        case "array":
            return b.add_array(args[1], args[2], args[0])
        case "struct":
            return b.add_struct(args[0], args[1], [Member(*part) for _, *part in parts])
        case "union":
            return b.add_union(args[0], args[1], [Member(*part) for _, *part in parts])
        case "enum":
            return b.add_enum(args[0], args[1], [Enumerator(*part) for _, *part in parts])
        case "enum64":
            return b.add_enum64(args[0], args[1], [Enumerator(*part) for _, *part in parts], signed=bool(args[2]))
        case "fwd":
            return b.add_fwd(args[0], {0: Kind.STRUCT, 1: Kind.UNION, 2: Kind.ENUM}.get(args[1], Kind.INT))
        case "typedef":
            return b.add_typedef(*args)
        case "type_tag" | "type_attr":
            return b.add_type_tag(*args, attribute=what == "type_attr")
        case "func":
            return b.add_func(args[0], args[2], args[1])
        case "var":
            return b.add_var(args[0], args[2], args[1])
        case "proto":
            return b.add_func_proto(args[0], [Param(*part) for _, *part in parts])
        case "datasec":
            return b.add_datasec(args[0], args[1], [SectionVar(*part) for _, *part in parts])
        case "decl_tag" | "decl_attr":
            return b.add_decl_tag(*args, attribute=what == "decl_attr")
    raise AssertionError(what)
