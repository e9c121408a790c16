"""A module's split BTF on another vmlinux whose types mean the same: the ids of the old base become those of the new.

What the module refers to in the old base is looked up in the new one: by kind and name, and what has no name (pointers,
arrays, prototypes) by what it is made of. Structs, unions and enumerations that the module embeds must have the same
size, members and values there, since the module was compiled with them; what is only pointed to is the kernel's own.
"""

from __future__ import annotations

from pybtf.btf.reader import BTF
from pybtf.btf.renumbering import renumbered
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    Enumeration,
    FuncProto,
    Ref,
    Restrict,
    Type,
    Typedef,
    TypeTag,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

DEPTH = 64
"""Types without a name that follow each other; kernels take 32."""
SHOWN = 5


class Shapes:
    """The types of one base by what they are: kind and name, or what they are made of as far as the next names.

    Equal shapes have equal numbers in all that share `numbers`: shapes of shapes stay small.
    """

    def __init__(self, base: BTF, numbers: dict[Any, int]) -> None:
        self.base = base
        self._numbers = numbers
        self._shapes: dict[int, int] = {0: self._number("void")}
        self._ids: dict[int, list[int]] | None = None

    def _number(self, what: Any) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def of(self, id: int, depth: int = 0) -> int:
        """Raises `InputError` if types without a name are nested too deep."""
        known = self._shapes.get(id)
        if known is not None:
            return known
        if depth > DEPTH:
            raise InputError(self.base.place, f"type {id}: more than {DEPTH} types without a name in a row", "less")
        each = self.base.type(id)
        made: Any = (each.kind, each.name)
        if not each.name or isinstance(each, TypeTag):
            made = (each.kind, each.name, self._parts(each, depth + 1))
        number = self._shapes[id] = self._number(made)
        return number

    def _parts(self, each: Type, depth: int) -> Any:
        match each:
            case Ref():
                return self.of(each.type, depth)
            case Array():
                return self.of(each.type, depth), each.nelems
            case FuncProto():
                params = tuple([(one.name, self.of(one.type, depth)) for one in each.params])
                return self.of(each.return_type, depth), params
            case Composite() | Enumeration():
                return self.content(each, depth)
            case _:
                return None

    def content(self, each: Type, depth: int = 0) -> Any:
        """What a type is, apart from its name."""
        match each:
            case Composite():
                return each.size, tuple(
                    [(one.name, one.bit_offset, one.bitfield_size, self.of(one.type, depth)) for one in each.members]
                )
            case Enumeration():
                return each.size, each.values
            case Typedef():
                return self.of(each.type, depth)
            case _:
                return getattr(each, "size", None), getattr(each, "encoding", None)

    def like(self, shape: int) -> list[int]:
        """The ids of all types of this shape."""
        if self._ids is None:
            self._ids = {}
            for id in range(1, self.base.end_id):
                self._ids.setdefault(self.of(id), []).append(id)
        return self._ids.get(shape, [])


def rebase(btf: BTF, new: BTF) -> tuple[bytes, int]:
    """The split BTF on `new`; how many types of its base it refers to.

    Raises `InputError` if it has no base, or if one of these types is not in `new`, or another there.
    """
    if btf.base is None:
        raise InputError(btf.place, "BTF that is not split from a base", "that of a module")
    if new.base is not None or new.header.little != btf.header.little:
        raise InputError(new.place, "BTF that is split itself, or of the other byte order", "that of a kernel")
    numbers: dict[Any, int] = {}
    before, after = Shapes(btf.base, numbers), Shapes(new, numbers)
    mapped: dict[int, int] = {0: 0}
    embedded = _embedded(btf)
    wrong = []
    named = {id for each in btf for id in btf.references(each.id) if 0 < id < btf.first_id}
    # What a typedef of the base stands for is in the module, too.
    for id in sorted(named | {id for id in embedded if id < btf.first_id}):
        found = after.like(before.of(id))
        content = before.content(btf.base.type(id))
        same = [one for one in found if after.content(new.type(one)) == content]
        if same or (found and id not in embedded):
            mapped[id] = (same or found)[0]
        else:
            each = btf.base.type(id)
            reason = "is another there" if found else "is not there"
            wrong.append(f"{each.kind.name} {each.name or f'[{id}]'} {reason}")
    if wrong:
        more = f", and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        wanted = f"the types that {btf.place.file} has of {btf.base.place.file}"
        raise InputError(new.place, f"{'; '.join(wrong[:SHOWN])}{more}", wanted)
    own = {id: id - btf.first_id + new.end_id for id in range(btf.first_id, btf.end_id)}
    builder = BtfBuilder(new)
    builder.extend([renumbered(each, mapped | own) for each in btf])
    return builder.tobytes(btf.header.little), len(named)


def _embedded(btf: BTF) -> set[int]:
    """Types of the base that the module has in its own ones, not only a pointer to them."""
    base = btf.base
    assert base is not None
    todo = []
    for each in btf:
        if isinstance(each, Composite):
            todo += [one.type for one in each.members]
        elif isinstance(each, Array | Var):
            todo.append(each.type)
    found: set[int] = set()
    while todo:
        id = todo.pop()
        if id in found or id == 0:
            continue
        found.add(id)
        inner = btf.type(id)
        if isinstance(inner, Typedef | Const | Volatile | Restrict | TypeTag | Array):
            todo.append(inner.type)
    return found
