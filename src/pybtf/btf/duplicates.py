"""Names that have several definitions of a kind, and where two definitions begin to differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pybtf.btf.kinds import Kind
from pybtf.btf.types import (
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
    from collections.abc import Iterable, Iterator

    from pybtf.btf.reader import BTF

KINDS = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT)
MAX_LOOKED = 200_000
"""Types and members that are looked at for one difference; more would be a walk through most of a kernel."""
MAX_ALL_LOOKED = 2_000_000
"""The same for all differences, some seconds; kernels take a fiftieth of it."""
MAX_NAME = 120
"""Characters of a name in a difference; a damaged file may have names of megabytes."""
MAX_STEPS = 40
"""Steps of a path that are shown."""


class Duplicate(NamedTuple):
    """A name with several definitions of a kind. `differences`: of each but the first, where it leaves the first."""

    name: str
    kind: Kind
    ids: list[int]
    differences: list[str]


def duplicates(btf: BTF) -> list[Duplicate]:
    """All of this layer, by id. With a base, names that the base defines as well count, too."""
    found = []
    left = MAX_ALL_LOOKED
    for kind in KINDS:
        own = btf.index.named(kind)
        below = btf.base.index.named(kind) if btf.base is not None else {}
        for name, ids in own.items():
            every = below.get(name, []) + ids
            if len(every) == 1:
                continue
            differences = []
            for id in every[1:]:
                difference, looked = _compared(btf, every[0], id, min(left, MAX_LOOKED))
                differences.append(difference)
                left -= looked
            found.append(Duplicate(name, kind, every, differences))
    return sorted(found, key=lambda each: each.ids[-1])


def first_difference(btf: BTF, a: int, b: int) -> str:
    """`.se.avg: 8 bytes at 16 against 4 bytes at 16`, or `nothing that can be seen`. Members are gone through in order.

    What is nearer comes first: all of a struct itself, then what its members are made of, then what they point to.
    """
    return _compared(btf, a, b, MAX_LOOKED)[0]


def first_differences(btf: BTF, pairs: Iterable[tuple[int, int]]) -> Iterator[str]:
    """As `first_difference`, of each of some pairs of types, of which there may be very many."""
    left = MAX_ALL_LOOKED
    for a, b in pairs:
        difference, looked = _compared(btf, a, b, min(left, MAX_LOOKED))
        left -= looked
        yield difference


def _compared(btf: BTF, a: int, b: int, most: int) -> tuple[str, int]:
    """The first difference, and how many types and members were looked at for it: not many more than `most`."""
    seen = {(a, b)}
    queue = [(a, b, -1, "")]  # the last two: the pair that leads here, and the step from it
    looked = 0
    for at, (left, right, _, _) in enumerate(queue):
        if looked >= most:
            return "not looked for any further", looked
        x, y = btf.type(left), btf.type(right)
        looked += 1 + max(_count(x), _count(y))  # both are made anew each time, whatever they differ in
        different = _here(x, y)
        if different:
            path = _path(queue, at)
            return f"{path}: {different}" if path else different, looked
        for step, one, other in _below(x, y):
            if one != other and (one, other) not in seen:
                seen.add((one, other))
                queue.append((one, other, at, step))
    return "nothing that can be seen", looked


def _count(type: Type) -> int:
    """How many members a type has, or what it has in their place."""
    return max(len(getattr(type, each, ())) for each in ("members", "values", "params", "variables"))


def _path(queue: list[tuple[int, int, int, str]], at: int) -> str:
    """The steps from the first pair to this one; of very many, the last ones."""
    steps: list[str] = []
    while at >= 0 and len(steps) <= MAX_STEPS:
        _, _, at, step = queue[at]
        steps.append(step)
    return ("..." if at >= 0 else "") + "".join(reversed(steps))


def shortened(name: str) -> str:
    """A name for messages, cut after MAX_NAME characters."""
    return name if len(name) <= MAX_NAME else name[:MAX_NAME] + "..."


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
            return f"{_number(x.nelems, 'element')} against {y.nelems}"
        case Int(), Int() if (x.size, x.bits, x.encoding) != (y.size, y.bits, y.encoding):
            size, bits = _number(x.size, "byte"), _number(x.bits, "bit")
            return f"{size}, {bits}, {x.encoding!r} against {y.size}, {y.bits}, {y.encoding!r}"
        case Float(), Float() if x.size != y.size:
            return _sizes(x, y)
        case FuncProto(), FuncProto() if len(x.params) != len(y.params):
            return f"{_number(len(x.params), 'parameter')} against {len(y.params)}"
    return ""


def _members(x: Composite, y: Composite) -> str:
    for index, (one, other) in enumerate(zip(x.members, y.members, strict=False)):
        if one.name != other.name:
            left, right = shortened(one.name) or "nameless", shortened(other.name) or "nameless"
            return f"member {index} is {left} against {right}"
        place, other_place = (one.bit_offset, one.bitfield_size), (other.bit_offset, other.bitfield_size)
        if place != other_place:
            return f".{shortened(one.name)}: {_place(*place)} against {_place(*other_place)}"
    if len(x.members) != len(y.members):
        more = (x if len(x.members) > len(y.members) else y).members[min(len(x.members), len(y.members))]
        counts = f"{_number(len(x.members), 'member')} against {len(y.members)}"
        return f"{counts}; one has {shortened(more.name) or 'a nameless one'}"
    return _sizes(x, y) if x.size != y.size else ""


def _place(bit_offset: int, bits: int) -> str:
    return f"{_number(bits, 'bit')} at {bit_offset // 8}:{bit_offset % 8}" if bits else f"at {bit_offset // 8}"


def _values(x: Enumeration, y: Enumeration) -> str:
    for one, other in zip(x.values, y.values, strict=False):
        if one != other:
            return f"{shortened(one.name)} = {one.value} against {shortened(other.name)} = {other.value}"
    if len(x.values) != len(y.values):
        return f"{_number(len(x.values), 'enumerator')} against {len(y.values)}"
    return _sizes(x, y) if x.size != y.size else ""


def _sizes(x: Composite | Enumeration | Float, y: Composite | Enumeration | Float) -> str:
    return f"{_number(x.size, 'byte')} against {_number(y.size, 'byte')}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _what(type: Type) -> str:
    return f"{type.kind.name.lower()} {shortened(type.name)}".rstrip()


def _below(x: Type, y: Type) -> list[tuple[str, int, int]]:
    """The pairs of types that two alike ones refer to, with the step of the path."""
    match x, y:
        case Composite(), Composite():
            pairs = zip(x.members, y.members, strict=True)
            return [(f".{shortened(one.name)}" if one.name else "", one.type, other.type) for one, other in pairs]
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
