"""Questions about types that take more than one record: the size of pointers, and how C writes a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pybtf.btf.kinds import Kind
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    FuncProto,
    Fwd,
    Int,
    Ptr,
    Ref,
    Restrict,
    Symbol,
    Type,
    TypeTag,
    Volatile,
)
from pybtf.errors import InputError

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

_LONG = ("long", "long int", "unsigned long", "long unsigned int")
_QUALIFIERS = {Kind.CONST: ["const"], Kind.VOLATILE: ["volatile"], Kind.RESTRICT: ["restrict"]}
_POINTERS_ASKED = 1000
"""Members looked at for the size of pointers; the first ones of a program tell it."""
_POINTER_DEPTH = 32
_LEADING = frozenset(
    (Kind.PTR, Kind.ARRAY, Kind.CONST, Kind.VOLATILE, Kind.RESTRICT, Kind.TYPEDEF, Kind.TYPE_TAG)
)
_NAME_BUDGET = 200
"""Types visited for one C name. Real names need a handful; hostile prototypes multiply without end."""


def guess_pointer_size(btf: BTF) -> int:
    """Size of `long`, which is that of a pointer in every ABI of Linux. If there is no `long`, 4 where members that are
    pointers have no room for 8 bytes, else 8.
    """
    for name in _LONG:
        found = btf.by_name(name, Kind.INT)
        if isinstance(found, Int) and found.size in (4, 8):
            return found.size
    return 4 if _pointers_are_short(btf) else 8


def _pointers_are_short(btf: BTF) -> bool:
    """Whether a member that is a pointer, or an array of such, ends before 8 bytes for each, and not before 4."""
    left = _POINTERS_ASKED
    known: dict[int, int] = {}  # very many members may be of one type
    for type in btf:
        if not isinstance(type, Composite):
            continue
        starts = [member.bit_offset for member in type.members]
        for number, member in enumerate(type.members):
            if member.type not in known:
                known[member.type] = _pointers(btf, member.type)
            count = 0 if member.bitfield_size else known[member.type]
            if not count:
                continue
            end = 8 * type.size
            if type.kind is Kind.STRUCT and starts[number] < (starts[number + 1 :] or [0])[0] < end:
                end = starts[number + 1]
            if 32 * count <= end - starts[number] < 64 * count:
                return True
            left -= 1
            if not left:
                return False
    return False


def _pointers(btf: BTF, id: int) -> int:
    """How many pointers a value of this type is made of; 0 if it is something else."""
    count = 1
    for _ in range(_POINTER_DEPTH):
        if btf.kind_of(id) not in _LEADING:  # a struct with very many members need not be made
            return 0
        try:
            type = btf.type(id)
        except InputError:
            return 0
        if isinstance(type, Ptr):
            return count
        if isinstance(type, Array):
            count *= type.nelems
        else:
            assert isinstance(type, Ref)
        id = type.type
    return 0


class _Namer:
    """Builds one C declaration from the inside out, as the type reads from the outside in."""

    def __init__(self, btf: BTF) -> None:
        self.btf = btf
        self.budget = _NAME_BUDGET

    def declare(self, id: int, inner: str) -> str:
        """`inner` declared with a type; `inner` is a declarator, or empty."""
        while self.budget:
            self.budget -= 1
            type = self.btf.type(id)
            match type:
                case Ptr():
                    inner = f"*{inner}"
                case Array():
                    inner = f"{_grouped(inner)}[{type.nelems}]"
                    id = type.type
                    continue
                case FuncProto():
                    inner = f"{_grouped(inner)}({self.parameters(type)})"
                    id = type.return_type
                    continue
                case Const() | Volatile() | Restrict() | TypeTag():
                    words, id = self.qualifiers(id)
                    if not isinstance(self.btf.type(id), Ptr):
                        return _join(words, self.declare(id, inner))
                    inner = _join(words, inner)
                    continue
                case Symbol():
                    inner = type.name
                case _:
                    return _join(base_name(type), inner)
            id = type.type
        return _join("...", inner)

    def qualifiers(self, id: int) -> tuple[str, int]:
        """Qualifiers from a type on, in C, and what they qualify. Tags have no spelling of their own."""
        words: list[str] = []
        while self.budget:
            type = self.btf.type(id)
            if not isinstance(type, Const | Volatile | Restrict | TypeTag):
                break
            self.budget -= 1
            words += _QUALIFIERS.get(type.kind, ())
            id = type.type
        return " ".join(words), id

    def parameters(self, proto: FuncProto) -> str:
        if not proto.params:
            return "void"
        last = len(proto.params) - 1 if proto.variadic else -1
        names = ["..." if i == last else self.declare(p.type, p.name) for i, p in enumerate(proto.params)]
        return ", ".join(names)


def _grouped(declarator: str) -> str:
    """A declarator that an array or parameter list may follow."""
    return f"({declarator})" if declarator.startswith("*") else declarator


def _join(before: str, after: str) -> str:
    return f"{before} {after}".strip()


_KEYWORDS = {
    Kind.STRUCT: "struct",
    Kind.UNION: "union",
    Kind.ENUM: "enum",
    Kind.ENUM64: "enum",
    Kind.VOID: "void",
}


def base_name(type: Type) -> str:
    """Name of a type that does not wrap another."""
    if isinstance(type, Fwd):
        return f"{'union' if type.is_union else 'struct'} {type.name}"
    keyword = _KEYWORDS.get(type.kind)
    if keyword is None:
        return type.name
    if type.kind is Kind.VOID:
        return keyword
    return f"{keyword} {type.name or '(anonymous)'}"


def c_name(btf: BTF, id: int, declarator: str = "") -> str:
    """See `BTF.c_name`."""
    return _Namer(btf).declare(id, declarator)
