"""Members by their path, as C and CO-RE name them: `se.avg.load_sum`, `comm[3]`, `0:12:1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pybtf.arguments import check_text
from pybtf.btf.chains import WRAPPERS, end_of
from pybtf.btf.kinds import Kind
from pybtf.btf.types import Array, Composite, Enumeration, Float, Int, Ptr, Ref, Symbol, Type
from pybtf.errors import InputError, NoSuchTypeError, UsageError, quoted, unknown

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

MAX_DEPTH = 256
_KEYWORDS = {"struct": (Kind.STRUCT,), "union": (Kind.UNION,), "enum": (Kind.ENUM, Kind.ENUM64)}
_PREFERRED = (
    Kind.STRUCT, Kind.UNION, Kind.TYPEDEF, Kind.ENUM, Kind.ENUM64, Kind.INT, Kind.FLOAT, Kind.VAR, Kind.DATASEC,
    Kind.FUNC, Kind.FWD,
)  # fmt: skip
_STEP = re.compile(r"\.?([A-Za-z_$][\w$]*)|\[([0-9]+)\]")
_ACCESS = re.compile(r"[0-9]+(:[0-9]+)*")
_DIGITS = 20
"""Of a number in a path; no BTF has more elements than those of 64 bits."""


class Field(NamedTuple):
    """A member, or an element of an array, that a path leads to. Bits count from the start of the outer type."""

    type: int
    bit_offset: int
    bitfield_size: int
    """In bits; 0: it is not a bit-field."""
    access: tuple[int, ...]
    """The way as CO-RE relocations have it: 0, then the numbers of members and elements."""

    @property
    def offset(self) -> int:
        """In bytes; of a bit-field, of the byte in which it begins."""
        return self.bit_offset // 8

    @property
    def core(self) -> str:
        """The access string, `0:12:1`."""
        return ":".join(map(str, self.access))


def named(btf: BTF, which: Type | int | str) -> Type:
    """A type by id or by name; `struct`, `union` or `enum` may stand in front. Definitions come before declarations."""
    if isinstance(which, Type):
        return which
    if isinstance(which, int):
        return btf.type(which)
    check_text(which, "which", "a type, its id or its name")
    keyword, _, name = which.rpartition(" ")
    whole = btf.by_name(which) if keyword else None  # `unsigned int`
    if whole is not None:
        return whole
    if keyword and keyword not in _KEYWORDS:
        raise unknown("word", keyword, _KEYWORDS, of=quoted(which))
    for kind in _KEYWORDS.get(keyword, _PREFERRED):
        found = btf.by_name(name, kind)
        if found is not None:
            return found
    raise NoSuchTypeError(f"{btf.place.file}: no type is called {quoted(which)}")


def resolve(btf: BTF, which: Type | int | str) -> Type:
    """See `BTF.resolve`."""
    type = named(btf, which)
    return btf.type(end_of(btf, type.type)) if isinstance(type, Ref) and type.kind in WRAPPERS else type


def sizeof(btf: BTF, which: Type | int | str) -> int:
    """See `BTF.sizeof`."""
    type = named(btf, which)
    size = btf.size_of(type.id)
    if size is None:
        raise UsageError(f"{type} has no size")
    return size


def alignof(btf: BTF, which: Type | int | str) -> int:
    """See `BTF.alignof`."""
    return _alignment(btf, named(btf, which), 0)


def _alignment_of(btf: BTF, id: int, depth: int) -> int:
    """That of a type by its id, which is remembered."""
    known = btf.chains.alignments
    end = end_of(btf, id)
    if end not in known:
        known[end] = _alignment(btf, btf.type(end), depth)
    return known[end]


def _alignment(btf: BTF, type: Type, depth: int) -> int:
    type = resolve(btf, type)
    if depth >= MAX_DEPTH:
        raise InputError(btf.place, f"type {type.id} nests too deeply", f"at most {MAX_DEPTH} levels")
    match type:
        case Array() | Symbol():
            return _alignment_of(btf, type.type, depth + 1)
        case Ptr():
            return btf.pointer_size
        case Int() | Float() | Enumeration():
            return max(1, min(type.size, btf.pointer_size))
        case Composite():
            return _of_members(btf, type, depth)
        case _:
            raise UsageError(f"{type} has no alignment")


def _of_members(btf: BTF, type: Composite, depth: int) -> int:
    most = 1
    for member in type.members:
        one = _alignment_of(btf, member.type, depth + 1)
        if not member.bitfield_size and member.bit_offset % (8 * one):
            return 1
        most = max(most, one)
    return 1 if type.size % most else most


def field(btf: BTF, which: Type | int | str, path: str) -> Field:
    """See `BTF.field`."""
    outer = named(btf, which)
    check_text(path, "path", "text: 'one.two[3]'")
    if not path:
        raise UsageError("an empty path")
    if _ACCESS.fullmatch(path):
        return _by_access(btf, outer, [_number(part) for part in path.split(":")])
    found = Field(outer.id, 0, 0, (0,))
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (step[1] and (at == 0) == (path[at] == ".")):
            raise UsageError(f"{quoted(path)} is not a path of members")
        name, index = step.groups()
        found = _member(btf, found, name) if name is not None else _element(btf, found, _number(index))
        at = step.end()
    return found


def _number(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise UsageError(f"a number of {len(digits)} digits in a path; expected at most {_DIGITS}")
    return int(digits)


def offsetof(btf: BTF, which: Type | int | str, path: str) -> int:
    """See `BTF.offsetof`."""
    found = field(btf, which, path)
    if found.bitfield_size:
        raise UsageError(f"{path} is a bit-field, which has no offset in bytes")
    return found.offset


def _by_access(btf: BTF, outer: Type, access: list[int]) -> Field:
    size = btf.size_of(outer.id) if access[0] else 0
    found = Field(outer.id, 8 * access[0] * (size or 0), 0, (access[0],))
    for index in access[1:]:
        found = _step(btf, found, index)
    return found


def _element(btf: BTF, at: Field, index: int) -> Field:
    if not isinstance(type := resolve(btf, at.type), Array):
        raise NoSuchTypeError(f"{type} has no elements")
    return _step(btf, at, index)


def _step(btf: BTF, at: Field, index: int) -> Field:
    """The element of an array, or the member of a struct or union, of this number."""
    type = resolve(btf, at.type)
    if isinstance(type, Array):
        size = btf.size_of(type.type)
        if size is None or (index >= type.nelems > 0):
            raise NoSuchTypeError(f"{type} has no element {index}; it has {type.nelems}")
        return Field(type.type, at.bit_offset + 8 * index * size, 0, (*at.access, index))
    if isinstance(type, Composite) and index < len(type.members):
        member = type.members[index]
        return Field(member.type, at.bit_offset + member.bit_offset, member.bitfield_size, (*at.access, index))
    raise NoSuchTypeError(f"{type} has no member or element {index}")


def _member(btf: BTF, at: Field, name: str) -> Field:
    """The member of this name, also of a struct or union without a name inside."""
    found = _search(btf, at, name, set())
    if found is None:
        raise NoSuchTypeError(f"{resolve(btf, at.type)} has no member {quoted(name)}")
    return found


def _search(btf: BTF, at: Field, name: str, without: set[int]) -> Field | None:
    """`without`: types that do not have the member."""
    type = resolve(btf, at.type)
    if not isinstance(type, Composite) or type.id in without or len(at.access) > MAX_DEPTH:
        return None
    without.add(type.id)
    for index, member in enumerate(type.members):
        if member.name == name:
            return _step(btf, at, index)
    for index, member in enumerate(type.members):
        if not member.name:
            found = _search(btf, _step(btf, at, index), name, without)
            if found is not None:
                return found
    return None
