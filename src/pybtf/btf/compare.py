"""Comparing two BTFs, for people: what differs in the header, the types and the strings, and where it begins.

Two BTFs that differ at all usually differ in thousands of places, because ids and offsets after the first change move.
So for each section the *first* difference is reported in full. Since that may be only a shift, the report also has the
named types that one side has more often than the other: if a type was added or removed, these are the actual change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pybtf.btf.describe import describe, quote
from pybtf.btf.kinds import Kind

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF
    from pybtf.btf.types import Type

MAX_LISTED = 10
"""Types that are in one BTF only, named for each side."""

EXCERPT = 160
"""Characters of a type that are shown to people; `to_dict` has all."""

ABSENT = "nothing: it ends before"


@dataclass(frozen=True)
class TypeDifference:
    """The first type id at which two BTFs differ. `name` and `kind` are those of the first BTF that has the id."""

    id: int
    name: str
    kind: str
    a: str
    b: str
    unit: str | None = None
    """Where the DWARF defines it, if that was looked for and found."""


@dataclass(frozen=True)
class StringDifference:
    """The first offset in the string section at which two BTFs differ, and the strings there."""

    offset: int
    a: str
    b: str


@dataclass(frozen=True)
class Comparison:
    """What differs. Empty in all fields if nothing does."""

    header: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Both values of each field that differs."""
    types: TypeDifference | None = None
    strings: StringDifference | None = None
    only_a: list[str] = field(default_factory=list)
    """Named types that the first BTF has more often, `STRUCT 'page'`; after `MAX_LISTED` of them, `7 more`."""
    only_b: list[str] = field(default_factory=list)
    other_bytes: int | None = None
    """Offset of the first byte that differs if nothing else does: padding, or bytes after the sections."""

    def __bool__(self) -> bool:
        return bool(self.header or self.types or self.strings) or self.other_bytes is not None

    def to_dict(self) -> dict[str, Any]:
        """As JSON's types."""
        return asdict(self)

    def lines(self, a: str = "a", b: str = "b") -> list[str]:
        """For people, two lines for each difference. `a` and `b` are what the sides are called."""
        width = max(len(a), len(b))
        found = []
        for name, (left, right) in self.header.items():
            found.append(f"header: {name} is {left} in {a}, {right} in {b}")
        if self.types is not None:
            where = f", from {self.types.unit}" if self.types.unit else ""
            name = f" {self.types.name}" if self.types.name else ""
            found.append(f"types: the first that differs is {self.types.id}, {self.types.kind}{name}{where}")
            shown = _excerpts(self.types.a, self.types.b)
            found += [f"  {a:{width}}  {shown[0]}", f"  {b:{width}}  {shown[1]}"]
        for side, names in ((a, self.only_a), (b, self.only_b)):
            if names:
                found.append(f"types: only, or more often, in {side}: {', '.join(names)}")
        if self.strings is not None:
            found.append(f"strings: the first that differs is at offset {self.strings.offset:#x}")
            found += [f"  {a:{width}}  {self.strings.a}", f"  {b:{width}}  {self.strings.b}"]
        if self.other_bytes is not None:
            found.append(f"bytes: outside of header fields, types and strings, at offset {self.other_bytes:#x}")
        return found


def _excerpts(a: str, b: str) -> tuple[str, str]:
    """Two descriptions of types, cut to their beginnings and to what surrounds the first difference, if long."""
    at = _first_byte(a, b)

    def excerpt(text: str) -> str:
        if len(text) <= EXCERPT:
            return text
        if at < EXCERPT * 3 // 4:
            return f"{text[:EXCERPT]} ..."
        rest = text[at - EXCERPT // 4 : at + EXCERPT // 4]
        return f"{text[: EXCERPT // 2]} ... {rest}{' ...' if text[at + EXCERPT // 4 :] else ''}"

    return excerpt(a), excerpt(b)


def compare(a: BTF, b: BTF) -> Comparison:
    """Compare two BTFs, or two split BTFs on the same base. Raises InputError where one is malformed."""
    only_a, only_b = _surplus(a, b)
    found = Comparison(
        header={
            name: (int(left), int(right))
            for name, left, right in zip(a.header._fields, a.header, b.header, strict=True)
            if left != right
        },
        types=_types(a, b),
        strings=_strings(a, b),
        only_a=only_a,
        only_b=only_b,
    )
    if found or a.data == b.data:
        return found
    return Comparison(other_bytes=_first_byte(a.data, b.data))


def _types(a: BTF, b: BTF) -> TypeDifference | None:
    if a.words == b.words and a.strings.data == b.strings.data and a.first_id == b.first_id:
        return None
    for id in range(min(a.first_id, b.first_id), max(a.end_id, b.end_id)):
        left = a.type(id) if id < a.end_id else None
        right = b.type(id) if id < b.end_id else None
        if left == right and _record(a, id) == _record(b, id):
            continue
        shown = left or right
        assert shown is not None
        return TypeDifference(id, shown.name, shown.kind.name, _line(left, a, id), _line(right, b, id))
    return None


def _record(btf: BTF, id: int) -> list[int]:
    """The words of a type, also its string offsets: bytes are compared, not only meaning."""
    at = id - btf.first_id
    return list(btf.words[btf.starts[at] : btf.starts[at + 1]]) if at >= 0 else []


def _line(type: Type | None, btf: BTF, id: int) -> str:
    if type is None:
        return f"{ABSENT}, with type {btf.end_id - 1}"
    if type.kind in (Kind.STRUCT, Kind.UNION, Kind.FUNC_PROTO) and type.name:
        return describe(type)
    return f"{describe(type)}  ({btf.c_name(id)})" if id else describe(type)


def _strings(a: BTF, b: BTF) -> StringDifference | None:
    if a.strings.data == b.strings.data and a.strings.start == b.strings.start:
        return None
    at = _first_byte(a.strings.data, b.strings.data)
    sides = []
    for btf in (a, b):
        data = btf.strings.data
        start = data.rfind(b"\0", 0, at) + 1
        end = data.find(b"\0", at)
        text = data[start : end if end >= 0 else len(data)]
        sides.append(quote(text.decode("utf-8", "surrogateescape")) if at < len(data) else ABSENT)
    return StringDifference(a.strings.start + at, *sides)


def _first_byte(a: bytes | str, b: bytes | str) -> int:
    """Offset of the first byte that differs; the length of the shorter if it is the start of the other."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _surplus(a: BTF, b: BTF) -> tuple[list[str], list[str]]:
    if a.data == b.data:
        return [], []
    left, right = _names(a), _names(b)
    return _listed(left - right), _listed(right - left)


def _names(btf: BTF) -> Counter[tuple[str, str]]:
    btf.strings.preload()
    words, starts = btf.words, btf.starts
    return Counter(
        (btf.kind_of(id).name, btf.strings.lookup(words[starts[id - btf.first_id]]))
        for id in range(btf.first_id, btf.end_id)
        if 0 < words[starts[id - btf.first_id]] < btf.strings.end
    )


def _listed(names: Counter[tuple[str, str]]) -> list[str]:
    shown = [f"{kind} {quote(name)}" for kind, name in list(names)[:MAX_LISTED]]
    more = len(names) - MAX_LISTED
    return [*shown, f"{more:,} more"] if more > 0 else shown


def nearest_named(btf: BTF, id: int) -> Type | None:
    """The type itself if it has a name, else one that leads to it: the struct that has it as a member, for instance.

    What uses the type is searched first, then what it refers to. None if there is nothing with a name around.
    """
    for neighbours in (_users(btf), btf.references):
        seen, queue = {id}, [id]
        for at in queue:
            type = btf.type(at)
            if type.name and type.kind not in (Kind.DECL_TAG, Kind.TYPE_TAG, Kind.DATASEC):
                return type
            for other in neighbours(at):
                if other and other not in seen and btf.first_id <= other < btf.end_id:
                    seen.add(other)
                    queue.append(other)
    return None


def _users(btf: BTF) -> Any:
    users: dict[int, list[int]] = {}
    for id in range(btf.first_id, btf.end_id):
        for other in btf.references(id):
            users.setdefault(other, []).append(id)
    return lambda id: users.get(id, ())
