"""Names that have several definitions of a kind, and where two definitions begin to differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .kinds import Kind
from .types import (
    Array,
    Composite,
    Const,
    Enumeration,
    Float,
    FuncProto,
    Fwd,
    Int,
    Ptr,
    Restrict,
    Type,
    TypeTag,
    Volatile,
)

if TYPE_CHECKING:
    from .reader import BTF

KINDS = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT)
MAX_PAIRS = 20_000
"""Pairs of types that are looked at for one difference; more would be a walk through most of a kernel."""


class Duplicate(NamedTuple):
    """A name with several definitions of a kind. `differences`: of each but the first, where it leaves the first."""

    name: str
    kind: Kind
    ids: list[int]
    differences: list[str]


def duplicates(btf: BTF) -> list[Duplicate]:
    """All of this layer, by id. With a base, names that the base defines as well count, too."""
    found = []
    for kind in KINDS:
        own = btf.index.named(kind)
        below = btf.base.index.named(kind) if btf.base is not None else {}
        for name, ids in own.items():
            every = below.get(name, []) + ids
            if len(every) > 1:
                found.append(Duplicate(name, kind, every, [first_difference(btf, every[0], id) for id in every[1:]]))
    return sorted(found, key=lambda each: each.ids[-1])


def first_difference(btf: BTF, a: int, b: int) -> str:
    """`.se.avg: 8 bytes at 16 against 4 bytes at 16`, or `nothing that can be seen`. Members are gone through in order.

    What is nearer comes first: all of a struct itself, then what its members are made of, then what they point to.
    """
    seen = {(a, b)}
    queue = [(a, b, "")]
    for left, right, path in queue:
        if len(seen) > MAX_PAIRS:
            break
        x, y = btf.type(left), btf.type(right)
        different = _here(x, y)
        if different:
            return f"{path}: {different}" if path else different
        for step, one, other in _below(x, y):
            if one != other and (one, other) not in seen:
                seen.add((one, other))
                queue.append((one, other, path + step))
    return "nothing that can be seen"


def _here(x: Type, y: Type) -> str:
    """What differs in the types themselves, not in what they refer to."""
    if x.kind is not y.kind:
        return f"{_what(x)} against {_what(y)}"
    if x.name != y.name:
        return f"{_what(x)} against {_what(y)}"
    match x, y:
        case Composite(), Composite():
            return _members(x, y)
        case Enumeration(), Enumeration():
            return _values(x, y)
        case Array(), Array() if x.nelems != y.nelems:
            return f"{x.nelems} elements against {y.nelems}"
        case Int(), Int() if (x.size, x.bits, x.encoding) != (y.size, y.bits, y.encoding):
            return f"{x.size} bytes, {x.bits} bits, {x.encoding!r} against {y.size}, {y.bits}, {y.encoding!r}"
        case Float(), Float() if x.size != y.size:
            return f"{x.size} bytes against {y.size} bytes"
        case FuncProto(), FuncProto() if len(x.params) != len(y.params):
            return f"{len(x.params)} parameters against {len(y.params)}"
    return ""


def _members(x: Composite, y: Composite) -> str:
    for index, (one, other) in enumerate(zip(x.members, y.members, strict=False)):
        if one.name != other.name:
            return f"member {index} is {one.name or 'nameless'} against {other.name or 'nameless'}"
        left, right = (one.bit_offset, one.bitfield_size), (other.bit_offset, other.bitfield_size)
        if left != right:
            return f".{one.name}: {_place(*left)} against {_place(*right)}"
    if len(x.members) != len(y.members):
        more = (x if len(x.members) > len(y.members) else y).members[min(len(x.members), len(y.members))]
        return f"{len(x.members)} members against {len(y.members)}; one has {more.name or 'a nameless one'}"
    return f"{x.size} bytes against {y.size} bytes" if x.size != y.size else ""


def _place(bit_offset: int, bits: int) -> str:
    return f"{bits} bits at {bit_offset // 8}:{bit_offset % 8}" if bits else f"at {bit_offset // 8}"


def _values(x: Enumeration, y: Enumeration) -> str:
    for one, other in zip(x.values, y.values, strict=False):
        if one != other:
            return f"{one.name} = {one.value} against {other.name} = {other.value}"
    if len(x.values) != len(y.values):
        return f"{len(x.values)} enumerators against {len(y.values)}"
    return f"{x.size} bytes against {y.size} bytes" if x.size != y.size else ""


def _what(type: Type) -> str:
    return f"{type.kind.name.lower()} {type.name}".rstrip()


def _below(x: Type, y: Type) -> list[tuple[str, int, int]]:
    """The pairs of types that two alike ones refer to, with the step of the path."""
    match x, y:
        case Composite(), Composite():
            pairs = zip(x.members, y.members, strict=True)
            return [(f".{one.name}" if one.name else "", one.type, other.type) for one, other in pairs]
        case Array(), Array():
            return [("[]", x.type, y.type)]
        case FuncProto(), FuncProto():
            params = zip(x.params, y.params, strict=True)
            rows = [(f"({at})", one.type, other.type) for at, (one, other) in enumerate(params)]
            return [("()", x.return_type, y.return_type), *rows]
        case Ptr(), Ptr():
            return [("->", x.type, y.type)]
        case (Const() | Volatile() | Restrict() | TypeTag()), _:
            return [("", x.type, getattr(y, "type", 0))]
        case Fwd(), _:
            return []
    return [("", type, getattr(y, "type", 0)) for type in (getattr(x, "type", None),) if type is not None]
