"""The part of a kernel's BTF that BPF programs need to be loaded there: a few kilobytes of five megabytes.

A program that is to run on kernels without BTF brings BTF along for each of them. A loader needs only those parts of it
that the CO-RE relocations of the program are about (`core_relocation`). So the BTF is cut down to what these need. That
is, if a relocation is about

- a member: the structs and unions on the path to it, with only those of their members that are on some path, and the
  type of the member; if that is a pointer, nothing of what it points to,
- the size, the id or the existence of a type: all that the type refers to, also by pointers; structs without members,
- a type that must match: all that it is made of, structs with all members; structs behind a pointer without members,
- an enumerator: its enumeration.

What is kept stays in its order, with new ids. A reference to what is not kept becomes one to void.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pybtf.arguments import other_kind
from pybtf.btf.core_relocation import ENUMERATORS, FIELDS, Relocator, Target, Way
from pybtf.btf.ext import BtfExt, RelocationKind
from pybtf.btf.renumbering import renumbered
from pybtf.btf.types import Array, Composite, Const, FuncProto, Ptr, Restrict, Type, Typedef, TypeTag, Volatile
from pybtf.btf.writer import BtfBuilder

if TYPE_CHECKING:

    from pybtf.btf.ext import BtfExt, Relocation
    from pybtf.btf.reader import BTF

HEADER_LENGTH = 32
"""Of what bpftool writes since it knows the layout section."""


class MinCore:
    """Collects what relocations need of `btf`; `to_bytes` gives that as BTF."""

    def __init__(self, btf: BTF) -> None:
        self.btf = btf
        self._target = Target(btf)
        self._kept: dict[int, set[int]] = {}
        """By id of a type that is kept: the numbers of members that are kept, of a struct or union."""
        self._followed: set[int] = set()
        self._matched: set[tuple[int, bool]] = set()

    def add(self, local: BTF, ext: BtfExt) -> None:
        """Keep what the relocations of one object need. Raises InputError for those that make no sense."""
        if not isinstance(ext, BtfExt):
            raise other_kind("ext", ext, "a BtfExt, as from read_object")
        relocator = Relocator(local, self._target)
        known = set()
        for relocation in ext.relocations():
            same = relocation._replace(section="", offset=0)
            if same in known:
                continue
            known.add(same)
            self.keep(relocation, relocator.resolve(relocation).found)

    def keep(self, relocation: Relocation, found: Way | None) -> None:
        """Keep what a relocation needs that has been resolved on the BTF."""
        if found is None:
            return
        if relocation.kind in FIELDS:
            self._keep_way(found)
        elif relocation.kind in ENUMERATORS:
            self._keep(found.root)
        elif relocation.kind is RelocationKind.TYPE_MATCHES:
            self._keep_all(found.root)
        else:
            self._follow(found.root)

    def _keep_chain(self, id: int) -> Type:
        """Keep a type, and what typedefs and qualifiers lead to, which is the result."""
        while True:
            type = self._target.ends.type(id)
            known = id in self._kept
            if id:
                self._kept.setdefault(id, set())
            if known or not isinstance(type, Typedef | Const | Volatile | Restrict | TypeTag):
                break
            id = type.type
        return self._target.ends.of(id)

    def _keep_way(self, way: Way) -> None:
        """Keep the structs, members and arrays on a way, and the type at its end."""
        self._keep(way.root)
        for step in way.steps:
            container = self._keep_chain(step.container)
            if isinstance(container, Composite):
                self._kept[container.id].add(step.number)
                self._keep(container.members[step.number].type)
            elif isinstance(container, Array):
                self._keep(container.id)

    def _keep(self, id: int) -> None:
        """Keep a type and, if it is an array, what it is made of."""
        todo = [id]
        while todo:
            type = self._keep_chain(todo.pop())
            if isinstance(type, Array):
                todo += [each for each in (type.type, type.index_type) if each not in self._kept]

    def _follow(self, id: int) -> None:
        """Keep a type and what it refers to, but no members."""
        todo = [id]
        while todo:
            id = todo.pop()
            if id == 0 or id in self._followed:
                continue
            self._followed.add(id)
            self._kept.setdefault(id, set())
            type = self.btf.type(id)
            if not isinstance(type, Composite):
                todo += self.btf.references(id)

    def _keep_all(self, id: int) -> None:
        """Keep a type and all it is made of, structs behind pointers without their members."""
        todo = [(id, False)]
        while todo:
            id, pointed = todo.pop()
            if id == 0 or (id, pointed) in self._matched:
                continue
            self._matched.add((id, pointed))
            kept = self._kept.setdefault(id, set())
            type = self.btf.type(id)
            if isinstance(type, Composite):
                if not pointed:
                    kept.update(range(len(type.members)))
                    todo += [(member.type, False) for member in type.members]
                continue
            pointed = isinstance(type, Ptr) or (pointed and not isinstance(type, FuncProto))
            todo += [(each, pointed) for each in self.btf.references(id)]

    def to_bytes(self) -> bytes:
        """What is kept, as BTF in the byte order of the whole."""
        builder = BtfBuilder()
        ids = sorted(self._kept)
        new = {id: number for number, id in enumerate(ids, 1)}
        for id in ids:
            type = self.btf.type(id)
            if isinstance(type, Composite):
                members = [type.members[number] for number in sorted(self._kept[id])]
                bits = any(member.bitfield_size or member.bit_offset % 8 for member in members)
                type = replace(type, members=tuple(members), kind_flag=type.kind_flag and bits)
            builder.add(renumbered(type, new))
        return builder.tobytes(self.btf.header.little, header_length=HEADER_LENGTH)
