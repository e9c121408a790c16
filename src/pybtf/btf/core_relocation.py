"""CO-RE: how a relocation of a BPF program resolves on a kernel.

A program is compiled once, against structs that it declares itself, with as many of the members as it uses. Wherever it
depends on the layout of one, the compiler notes a relocation: a type, an access path from it, and which fact is needed.
The path is a string of numbers, `0:1:2`: element 0 of what the pointer points to, its member 1, and member 2 of that.
To load the program, or to know what it needs (`min_core`), the same thing is looked for in a kernel's BTF, in which the
numbers differ:

1. candidates are the types with the same kind and name (a suffix `___anything` does not count),
2. the path is turned into names of members and numbers of elements, and followed in each candidate: members by name,
   also within structs and unions without one, elements by number; what is met must be of a fitting kind
   (`type_compatibility`),
3. the fact is taken from where the path leads. Candidates in which it leads nowhere do not count; those that remain
   must agree.

If there is none, the relocation fails: an `exists` or a fact about a type is then 0, and an instruction that needs
anything else must not be reached when the program runs.

A fact must make sense in the program's own BTF, whatever the kernel has: an element has no sign, and a struct that is
only declared no size.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pybtf.arguments import other_kind
from pybtf.btf.ext import Relocation, RelocationKind
from pybtf.btf.reader import BTF
from pybtf.btf.strings import decode_name
from pybtf.btf.type_compatibility import Ends, Pair, TooManySteps, alike, essential, parts
from pybtf.btf.types import Array, Composite, Enumeration, Int, Member, Type
from pybtf.errors import InputError, Place, shortened

MAX_STEPS = 64
"""Members and elements on one way, those without a name counted."""

MAX_ACCESS = 640
"""Characters of a way in a message: a number has nine at most."""

COST = 40
"""Of following a way in one candidate, in steps of `type_compatibility`; of a long one, in the program itself, too, of
each step after the first `USUAL`.
"""

USUAL = 4

FIELDS = frozenset(kind for kind in RelocationKind if kind <= RelocationKind.FIELD_RSHIFT_U64)
ENUMERATORS = frozenset((RelocationKind.ENUMVAL_EXISTS, RelocationKind.ENUMVAL_VALUE))
_EXISTS = frozenset(
    kind for kind in RelocationKind if kind.name.endswith("_EXISTS") or kind is RelocationKind.TYPE_MATCHES
)
_ZERO = _EXISTS | {RelocationKind.TYPE_SIZE, RelocationKind.TYPE_ID_TARGET}
"""What has the value 0 where nothing is found."""


class Step(NamedTuple):
    """On a way: the member or element of this number in what typedefs and qualifiers of `container` end at."""

    container: int
    number: int


class Way(NamedTuple):
    """From a type to what a relocation is about."""

    root: int
    steps: tuple[Step, ...] = ()
    type: int = 0
    """Of the last member or element, or of the root."""
    bit_offset: int = 0
    bitfield_size: int = 0
    at_member: bool = False
    """It ends at a member, not at an element or at the root."""


class Result(NamedTuple):
    """What a relocation comes to on a kernel."""

    value: int | None
    """What the instruction gets; None if it must not be reached."""
    found: Way | None
    """In the kernel's BTF; None if there is no such thing."""


class _Wanted(NamedTuple):
    """A step of a way in the program's BTF. Without a name: an element. `type` is that of the member."""

    name: str | None
    number: int
    type: int


class _Impossible(Exception):
    """What is wanted makes no sense. Internal; the text says why."""


class Target:
    """A kernel's BTF as it is searched for candidates."""

    def __init__(self, btf: BTF) -> None:
        if not isinstance(btf, BTF):
            raise other_kind("kernel", btf, "a pybtf.BTF")
        self.btf = btf
        self.ends = Ends(btf)
        self._flavoured: dict[str, list[str]] | None = None
        self._candidates: dict[tuple[str, int], list[int]] = {}

    def candidates(self, root: Type) -> list[int]:
        """Ids of the types with this kind and essential name, in order."""
        key = root.name, int(root.kind)
        if key not in self._candidates:
            self._candidates[key] = self._find(root)
        return self._candidates[key]

    def _find(self, root: Type) -> list[int]:
        name = essential(root.name)
        # A name with two suffixes loses one. What is left has one in the target, too, where it does not count.
        names = [*self.flavoured.get(name, ()), *([name] if essential(name) == name else ())]
        return sorted(
            type.id for each in names for type in self.btf.all_by_name(each) if alike(type.kind, root.kind)
        )

    @property
    def flavoured(self) -> dict[str, list[str]]:
        """Names with a suffix `___anything`, by what is in front of it. A kernel has a handful."""
        if self._flavoured is None:
            self._flavoured = {}
            layer: BTF | None = self.btf
            while layer is not None:
                for name in _with_suffix(layer.strings.data):
                    if (short := essential(name)) != name:
                        self._flavoured.setdefault(short, []).append(name)
                layer = layer.base
        return self._flavoured


def _with_suffix(strings: bytes) -> set[str]:
    """The strings that may have a suffix."""
    found = set()
    at = strings.find(b"___")
    end = 0
    while at >= 0:
        start = strings.rfind(b"\0", end, at) + 1 or end
        end = strings.find(b"\0", at)
        if end < 0:
            break
        found.add(decode_name(strings[start:end]))
        at = strings.find(b"___", end)
    return found


class Relocator:
    """Resolves the relocations of one object, whose BTF is `local`, on the BTF of a kernel."""

    def __init__(self, local: BTF, target: Target) -> None:
        if not isinstance(local, BTF):
            raise other_kind("program", local, "a pybtf.BTF")
        if not isinstance(target, Target):
            raise other_kind("target", target, "a Target: Target(kernel)")
        self.local = local
        self.target = target
        self._ends = Ends(local)
        self._pair = Pair(self._ends, target.ends)
        self._left: dict[int, list[int]] = {}
        """Candidates by type of the program."""

    def declared(self, relocation: Relocation) -> Type:
        """The type of the program that a relocation is about."""
        return self._ends.type(relocation.type)

    def resolve(self, relocation: Relocation) -> Result:
        """Raises InputError if the relocation makes no sense, or if candidates disagree."""
        kind = relocation.kind
        if kind is RelocationKind.TYPE_ID_LOCAL:
            return Result(relocation.type, None)
        root = self.declared(relocation)
        try:
            self._pair.spend(0)  # if there were too many before, candidates are not even looked for
            if not root.name:
                raise _Impossible("a type without a name, which cannot be looked up")
            steps = _numbers(relocation.access)
            wanted: list[_Wanted] = []
            enumerator = ""
            long = 0
            if kind in FIELDS:
                long = COST * max(0, len(steps) - USUAL)
                self._pair.spend(long)
                wanted, way = self._wanted(root, steps)
                field_value(self._ends, kind, way)
            elif kind in ENUMERATORS:
                enumerator = self._enumerator(root, steps)
            elif steps != [0]:
                raise _Impossible("a way for what has none; expected 0")
            elif kind is RelocationKind.TYPE_SIZE and self.local.size_of(root.id) is None:
                raise _Impossible("a type without a size, such as one that is only declared")
            candidates = self._candidates(root)
            self._pair.spend((COST + long) * len(candidates))
            results = [
                self._on(kind, relocation.type, id, steps[0], wanted, enumerator) for id in candidates
            ]
            return self._agreed(root, results) or Result(0 if kind in _ZERO else None, None)
        except (_Impossible, TooManySteps) as error:
            what = str(error) or "looking for it takes too many steps; expected BTF made by a compiler or encoder"
            where = f"{shortened(relocation.section)}+{relocation.offset:#x}: {kind.name.lower()} of {said(root)}"
            where += f", {relocation.access[:MAX_ACCESS]!r}"
            raise InputError(Place(self.local.place.file, ".BTF.ext"), f"{where}: {what}") from None

    def _candidates(self, root: Type) -> list[int]:
        if root.id not in self._left:
            self._left[root.id] = self.target.candidates(root)
        return self._left[root.id]

    def _agreed(self, root: Type, results: list[Result | None]) -> Result | None:
        """The first result, after all of them have been looked at: they are to agree, on the place of a field, too.

        Candidates that have no such thing are no longer candidates of this type. (So it is in libbpf: `bpftool -d`
        shows that relocations that come later are not tried on them.)
        """
        found = [(result.found, result) for result in results if result is not None and result.found is not None]
        if not found:
            return None
        self._left[root.id] = [way.root for way, _ in found]
        (place, first), *others = found
        for way, result in others:
            if (result.value, way.bit_offset) != (first.value, place.bit_offset):
                ids = f"types {place.root} and {way.root} of {self.target.btf.place.file} disagree"
                raise _Impossible(f"{ids}: {_told(first)} and {_told(result)}")
        return first

    def _on(
        self, kind: RelocationKind, local: int, id: int, element: int, wanted: list[_Wanted], enumerator: str
    ) -> Result | None:
        """The result on one candidate, None if it has no such thing."""
        btf = self.target.btf
        if kind in FIELDS:
            way = self._follow(id, element, wanted)
            return Result(field_value(self.target.ends, kind, way), way) if way is not None else None
        if kind in ENUMERATORS:
            value = self._value_of(id, enumerator)
            if value is None:
                return None
            return Result(1 if kind is RelocationKind.ENUMVAL_EXISTS else value, Way(id))
        same = self._pair.types_match if kind is RelocationKind.TYPE_MATCHES else self._pair.types_fit
        if not same(local, id):
            return None
        if kind is RelocationKind.TYPE_ID_TARGET:
            return Result(id, Way(id))
        return Result(1 if kind in _EXISTS else btf.size_of(id), Way(id))

    def _wanted(self, root: Type, steps: list[int]) -> tuple[list[_Wanted], Way]:
        """The way in the program's own BTF, as names of members and numbers of elements; and where it leads there."""
        found: list[_Wanted] = []
        way = _start(self.local, root.id, steps[0])
        in_last = False
        for index in steps[1:]:
            type = self._ends.of(way.type)
            if isinstance(type, Composite) and index < len(type.members):
                member = type.members[index]
                in_last = index == len(type.members) - 1
                way = _to_member(way, member)
                if member.name:
                    found.append(_Wanted(member.name, index, member.type))
            elif isinstance(type, Array) and (index < type.nelems or (in_last and not type.nelems)):
                in_last = False
                way = _to_element(self.local, way, type, index)
                found.append(_Wanted(None, index, type.type))
            else:
                raise _Impossible(f"{said(type)} has no member or element {index}")
        return found, way

    def _follow(self, root: int, element: int, wanted: list[_Wanted]) -> Way | None:
        """The way of `wanted` in a candidate, `root`; None if it leads nowhere there."""
        btf = self.target.btf
        steps: list[Step] = []
        way = _start(btf, root, element)
        in_last = False
        for name, index, local in wanted:
            if name is not None:
                found = self._member(way.type, name, local, set(), MAX_STEPS - len(steps))
                if found is None:
                    return None
                for step in found:
                    container = self.target.ends.of(step.container)
                    assert isinstance(container, Composite)
                    way = _to_member(way, container.members[step.number])
                    in_last = step.number == len(container.members) - 1
                steps += found
            else:
                array = self.target.ends.of(way.type)
                if not isinstance(array, Array) or not (index < array.nelems or (in_last and not array.nelems)):
                    return None
                steps.append(Step(way.type, index))
                way = _to_element(btf, way, array, index)
                in_last = False
        return way._replace(steps=tuple(steps))

    def _enumerator(self, root: Type, steps: list[int]) -> str:
        """The essential name of the enumerator that is meant."""
        type = self._ends.of(root.id)
        if not isinstance(type, Enumeration) or len(steps) != 1 or steps[0] >= len(type.values):
            raise _Impossible("no such enumerator")
        return self._ends.essential(type.values[steps[0]].name)

    def _value_of(self, id: int, name: str) -> int | None:
        """The value of a candidate's enumerator with this essential name."""
        type = self.target.ends.of(id)
        if isinstance(type, Enumeration):
            self._pair.spend(len(type.values) * (1 + parts(name)))
            for each in type.values:
                if self.target.ends.essential(each.name) == name:
                    return each.value
        return None

    def _member(self, id: int, name: str, local: int, without: set[int], room: int) -> list[Step] | None:
        """The steps to a member of this name that fits; `without`: types that have none, or are being looked at."""
        type = self.target.ends.of(id)
        if not isinstance(type, Composite) or type.id in without or room <= 0:
            return None
        without.add(type.id)
        self._pair.spend(len(type.members) * (1 + parts(name)))
        for index, member in enumerate(type.members):
            if member.name == name:
                return [Step(id, index)] if self._pair.fields_fit(local, member.type) else None
            if not member.name:
                inner = self._member(member.type, name, local, without, room - 1)
                if inner is not None:
                    return [Step(id, index), *inner]
        return None


def _start(btf: BTF, root: int, element: int) -> Way:
    """To this element of what a pointer to `root` points to."""
    return Way(root, type=root, bit_offset=8 * element * (btf.size_of(root) or 0) if element else 0)


def _to_member(way: Way, member: Member) -> Way:
    """From a struct or union to a member; steps are not noted."""
    return Way(way.root, (), member.type, way.bit_offset + member.bit_offset, member.bitfield_size, True)


def _to_element(btf: BTF, way: Way, array: Array, index: int) -> Way:
    """From an array to an element; steps are not noted."""
    return Way(way.root, (), array.type, way.bit_offset + 8 * index * (btf.size_of(array.type) or 0))


def said(type: Type) -> str:
    """A type in a message: as it is, unless its name is very long."""
    name = shortened(type.name)
    return str(type) if name == type.name else f"[{type.id}] {type.kind.name} {name!r}"


def _told(result: Result) -> str:
    bits = f" at bit {result.found.bit_offset}" if result.found is not None and result.found.steps else ""
    return f"{result.value}{bits}"


def _numbers(access: str) -> list[int]:
    try:
        return way_of(access)
    except ValueError as error:
        raise _Impossible(str(error)) from None


def way_of(access: str) -> list[int]:
    """The numbers of a way. Raises ValueError."""
    if not _ACCESS.fullmatch(access):
        raise ValueError("no numbers with colons between them")
    if access.count(":") >= MAX_STEPS:
        raise ValueError(f"more than {MAX_STEPS} steps")
    return [int(number) for number in access.split(":")]


_ACCESS = re.compile(r"\d{1,9}(:\d{1,9})*", re.ASCII)


def field_value(ends: Ends, kind: RelocationKind, way: Way) -> int:
    """The fact `kind` of where a way in the BTF of `ends` leads to. Raises _Impossible if there is none."""
    btf = ends.btf
    if kind is RelocationKind.FIELD_EXISTS:
        return 1
    size = btf.size_of(way.type) or 0
    if not way.at_member:
        if kind is RelocationKind.FIELD_BYTE_OFFSET:
            return way.bit_offset // 8
        if kind is RelocationKind.FIELD_BYTE_SIZE:
            return size
        raise _Impossible("asked of an element, not of a member")
    bits = way.bitfield_size
    offset = way.bit_offset // 8
    if bits:
        if not size:
            raise _Impossible("a bit-field of a type without size")
        offset -= offset % size
        while way.bit_offset + bits > 8 * (offset + size):
            if size >= 8:
                raise _Impossible("a bit-field that 8 bytes cannot hold")
            size *= 2
            offset = way.bit_offset // 8 // size * size
    else:
        bits = 8 * size
    within = way.bit_offset - 8 * offset
    match kind:
        case RelocationKind.FIELD_BYTE_OFFSET:
            return offset
        case RelocationKind.FIELD_BYTE_SIZE:
            return size
        case RelocationKind.FIELD_SIGNED:
            type = ends.of(way.type)
            return int(isinstance(type, Int | Enumeration) and type.signed)
        case RelocationKind.FIELD_LSHIFT_U64:
            return 64 - within - bits if btf.header.little else 64 - 8 * size + within
        case _:
            return 64 - bits
