"""When a type that a BPF program declares stands for one of a kernel.

A program declares only what it uses, so its types are rarely those of the kernel. Three questions are asked, from the
most lenient to the strictest, all of them behind typedefs, qualifiers and tags:

`fields_fit`    may this member stand for that one? Two integers do, whatever their sizes; two structs, two pointers
`types_fit`     is this type that one, as far as kinds go? Structs and enums fit by their kind, pointers, arrays and
                prototypes by what they are made of
`types_match`   does all that the program declares exist in the kernel? Members by name, and what they are, down to what
                is behind a pointer, of which only kind and name count

A name counts up to a suffix `___anything`: programs have several versions of a struct under one name that way.

The questions nest as types do, and in damaged BTF types nest without end. So below `MAX_LEVELS` levels the answer is
no. All questions about one program together may take `MAX_STEPS` steps, each member that is looked at being one, and
each part of a long name that is compared; a program that needs more is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pybtf.btf.kinds import Kind
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    Enumeration,
    FuncProto,
    Fwd,
    Int,
    Ptr,
    Restrict,
    Type,
    Typedef,
    TypeTag,
    Volatile,
)

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

MAX_LEVELS = 32
MAX_STEPS = 10_000_000
_FLAVOUR = re.compile(r"(?s)(.*[^_])___[^_]")
_ENUMS = (Kind.ENUM, Kind.ENUM64)


def essential(name: str) -> str:
    """The name without what follows its last `___`: of `task_struct___v6`, `task_struct`."""
    if "___" not in name:
        return name
    found = _FLAVOUR.match(name)
    return found[1] if found else name


def parts(name: str) -> int:
    """Steps that it takes to compare a name, beside that for what has it: none for a usual one."""
    return len(name) >> 8


class Ends:
    """What typedefs, qualifiers and tags of one BTF end at; each chain is followed once, and each type made once: many
    relocations may be about one that has very many members.
    """

    def __init__(self, btf: BTF) -> None:
        self.btf = btf
        self._known: dict[int, Type] = {}
        self._made: dict[int, Type] = {}
        self._essential: dict[str, str] = {}

    def type(self, id: int) -> Type:
        """As `BTF.type`."""
        type = self._made.get(id)
        if type is None:
            type = self._made[id] = self.btf.type(id)
        return type

    def essential(self, name: str) -> str:
        """As the function, of a name in this BTF: very many may have one, and a long one is not looked at for each."""
        short = self._essential.get(name)
        if short is None:
            short = self._essential[name] = essential(name)
        return short

    def of(self, id: int) -> Type:
        """The type that a chain ends at; void, if it does not end."""
        chain: dict[int, None] = {}
        end = self._known.get(id)
        while end is None:
            chain[id] = None
            type = self.type(id)
            if not isinstance(type, Typedef | Volatile | Const | Restrict | TypeTag):
                end = type
            elif type.type in chain:
                end = self.btf.type(0)
            else:
                id = type.type
                end = self._known.get(id)
        for each in chain:
            self._known[each] = end
        return end


def alike(one: Kind, other: Kind) -> bool:
    """Whether two kinds are the same; an enumeration of 64 bits is one, too."""
    return one is other or (one in _ENUMS and other in _ENUMS)


class TooManySteps(Exception):
    """The program, or the kernel's BTF, is made to be slow."""


class Pair:
    """A program's BTF and a kernel's, whose types are compared. Questions raise TooManySteps."""

    def __init__(self, local: Ends, target: Ends) -> None:
        self.local = local
        self.target = target
        self._left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Count what is looked at. Raises TooManySteps if that was the last of it."""
        self._left -= steps
        if self._left < 0:
            raise TooManySteps

    def fields_fit(self, local_id: int, target_id: int) -> bool:
        """Whether a member of the one type may stand for one of the other."""
        for _ in range(MAX_LEVELS):
            self.spend(1)
            local, target = self.local.of(local_id), self.target.of(target_id)
            if isinstance(local, Composite) and isinstance(target, Composite):
                return True
            if not alike(local.kind, target.kind):
                return False
            match local, target:
                case (Array(), Array()):
                    local_id, target_id = local.type, target.type
                case (Int(), Int()):
                    return not local.offset and not target.offset
                case (Enumeration() | Fwd(), _):
                    return not local.name or not target.name or self._same_name(local, target)
                case _:
                    return local.kind in (Kind.PTR, Kind.FLOAT)
        return False

    def types_fit(self, local_id: int, target_id: int) -> bool:
        """Whether the one type is the other, as far as kinds go."""
        return self._fit(local_id, target_id, 0)

    def _fit(self, local_id: int, target_id: int, level: int) -> bool:
        for at in range(level, MAX_LEVELS):
            self.spend(1)
            local, target = self.local.of(local_id), self.target.of(target_id)
            if not alike(local.kind, target.kind):
                return False
            match local, target:
                case (Ptr(), Ptr()):
                    local_id, target_id = local.type, target.type
                case (Array(), Array()):
                    local_id, target_id = local.type, target.type
                case (Int(), Int()):
                    return not local.offset and not target.offset
                case (FuncProto(), FuncProto()):
                    if len(local.params) != len(target.params):
                        return False
                    for mine, other in zip(local.params, target.params, strict=True):
                        if not self._fit(mine.type, other.type, at + 1):
                            return False
                    local_id, target_id = local.return_type, target.return_type
                case _:
                    return local.kind in (Kind.VOID, Kind.STRUCT, Kind.UNION, Kind.FWD, *_ENUMS)
        return False

    def types_match(self, local_id: int, target_id: int) -> bool:
        """Whether all of the one type exists in the other."""
        return self._match(local_id, target_id, False, 0)

    def _match(self, local_id: int, target_id: int, pointed: bool, level: int) -> bool:
        """`pointed`: it is behind a pointer."""
        for at in range(level, MAX_LEVELS):
            self.spend(1)
            local, target = self.local.of(local_id), self.target.of(target_id)
            if not self._same_name(local, target):
                return False
            match local, target:
                case (Ptr(), Ptr()):
                    pointed = True
                    local_id, target_id = local.type, target.type
                case (Array(), Array()):
                    if local.nelems != target.nelems:
                        return False
                    local_id, target_id = local.type, target.type
                case (Int(), Int()):
                    return local.size == target.size and local.signed == target.signed
                case (Enumeration(), Enumeration()):
                    return self._enumerators_match(local, target)
                case (FuncProto(), FuncProto()):
                    if len(local.params) != len(target.params):
                        return False
                    for mine, other in zip(local.params, target.params, strict=True):
                        if not self._match(mine.type, other.type, pointed, at + 1):
                            return False
                    local_id, target_id = local.return_type, target.return_type
                case (Composite() | Fwd(), Composite() | Fwd()) if pointed:
                    return _is_union(local) == _is_union(target)
                case (Composite(), Composite()):
                    return local.kind is target.kind and self._members_match(local, target, at + 1)
                case _:
                    return local.kind is target.kind and local.kind in (Kind.VOID, Kind.FWD)
        return False

    def _members_match(self, local: Composite, target: Composite, level: int) -> bool:
        self.spend(len(target.members))
        theirs: dict[str, list[int]] = {}
        for member in target.members:
            theirs.setdefault(member.name, []).append(member.type)
        for member in local.members:
            self.spend(parts(member.name))
            if not any(self._match(member.type, each, False, level) for each in theirs.get(member.name, ())):
                return False
        return True

    def _enumerators_match(self, local: Enumeration, target: Enumeration) -> bool:
        self.spend(len(local.values) + len(target.values))
        if local.size != target.size:
            return False
        mine, theirs = self.local.essential, self.target.essential
        known = {theirs(each.name) for each in target.values}
        for each in local.values:
            self.spend(parts(each.name))
            if mine(each.name) not in known:
                return False
        return True

    def _same_name(self, local: Type, target: Type) -> bool:
        self.spend(parts(local.name) + parts(target.name))
        return self.local.essential(local.name) == self.target.essential(target.name)


def _is_union(type: Composite | Fwd) -> bool:
    return type.is_union if isinstance(type, Fwd) else type.kind is Kind.UNION
