"""Fields that kernels know by the name of their type, since 6.2: locks, lists, trees, counters, pointers to objects.

A struct with a direct member of such a type must be one that the kernel understands. Few BTFs have any, so this is in
Python, and it comes after all other rules: records are whole and references resolved.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress

from pybtf.btf.kind_numbers import ARRAY, CONST, DECL_TAG, PTR, RESTRICT, STRUCT, TYPE_TAG, TYPEDEF, VOLATILE
from pybtf.core.accept.accept_layer import Layer
from pybtf.support.records import record
from pybtf.verify.rules import NUMBERS

_MODIFIERS = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
MAX_FIELDS = 11
MAX_NESTING = 31
KNOWN = {
    b"bpf_spin_lock": (4, 4), b"bpf_refcount": (4, 4), b"bpf_list_head": (16, 8), b"bpf_list_node": (24, 8),
    b"bpf_rb_root": (16, 8), b"bpf_rb_node": (32, 8), b"bpf_res_spin_lock": (4, 4),
}  # fmt: skip
"""Size and alignment by name."""
LOCKS = (b"bpf_spin_lock", b"bpf_res_spin_lock")
"""Of each, a struct has one."""
CONTAINS = b"contains:"
PATIENCE = 1 << 20
"""Members that are looked at, nested ones each time: far more than any program has."""
ROOTS = {b"bpf_list_head": b"bpf_list_node", b"bpf_rb_root": b"bpf_rb_node"}
"""What holds others, and what these have in them."""
NODES = tuple(ROOTS.values())
KPTR = b"kptr"
"""What a pointer to an object is called here, whatever its tag."""
OBJECTS = (KPTR, b"kptr_untrusted", b"percpu_kptr")
"""Tags of what pointers point to. Of others `uptr` is let pass, since 6.13."""
TEXTS = {
    errno.E2BIG: "a struct with two locks, or more than 11 fields that the kernel knows",
    errno.EFAULT: "a field that the kernel knows by its name, but of another size or not aligned; "
    "or a list or tree of something that has no such fields",
    errno.EINVAL: "a list or tree without a tag that says what it contains, or without a lock; two kinds of locks; "
    "an array of what may occur only once; a tagged pointer to something other than a struct; a list or tree of "
    "something that has no node of the name in its tag, or two members of that name",
    errno.EEXIST: "fields that the kernel knows by their names, and that overlap",
    errno.ENOENT: "a list or tree of something that does not exist",
    errno.ELOOP: "a list or tree, in something that another holds, of something that holds others itself",
}


class _Refused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


@record(frozen=True)
class Field:
    """`of`: what a list or tree holds, 0 for others; `node`: the name of a member of that."""

    name: bytes
    at: int = 0
    of: int = 0
    node: bytes = b""

    def behind(self, by: int) -> Field:
        return Field(self.name, self.at + by, self.of, self.node)


def check_special(layer: Layer, version: int) -> tuple[int, int, int, int] | None:
    """A finding of rule SPC, whose value is the errno; None if all structs make sense.

    The order in which things are looked at is the kernel's, for the first error is the one that is reported.
    """
    fields = _Fields(layer, version)
    if not fields.wanted:
        return None
    made: dict[int, list[Field]] = {}
    id = 0
    try:
        for id in fields.structs:
            if any(of in fields.wanted for _, of, _ in fields.members(id)):
                made[id] = fields.of_struct(id)
        for id in made:
            _check_owners(made, made[id])
    except _Refused as refused:
        return NUMBERS["SPECIAL"], id, 0, refused.code
    return None


def _check_owners(made: dict[int, list[Field]], found: list[Field]) -> None:
    """What lists and trees hold has fields as well. What is held by others may not hold what holds others."""
    held = any(field.name in NODES for field in found)
    for field in found:
        if field.name not in ROOTS:
            continue
        if field.of not in made:
            raise _Refused(errno.EFAULT)
        if held and any(inner.name in ROOTS for inner in made[field.of]):
            raise _Refused(errno.ELOOP)


class _Fields:
    def __init__(self, layer: Layer, version: int) -> None:
        self.layer = layer
        self.version = version
        self.known = {name for name in KNOWN if name != b"bpf_res_spin_lock" or version >= 615}
        if version < 604:
            self.known.discard(b"bpf_refcount")
        self.structs: list[int] = []
        self.wanted: set[int] = set()
        self.named: dict[bytes, int] = {}
        self.tags: dict[tuple[int, int], list[bytes]] = {}
        self.left = PATIENCE
        if not layer.mentions(tuple(KNOWN) + OBJECTS):
            return
        named = self.named
        for id in range(1, len(layer)):
            kind = layer.kind(id)
            if kind == STRUCT:
                self.structs.append(id)
                named.setdefault(layer.name(id), id)
            elif kind in (PTR, VOLATILE):
                with suppress(_Refused):
                    if self.is_object(id):
                        self.wanted.add(id)
            elif kind == DECL_TAG and layer.name(id).startswith(CONTAINS):
                words = layer.record(id)
                self.tags.setdefault((words[2], words[3]), []).append(layer.name(id)[len(CONTAINS) :])
        self.wanted |= {named[name] for name in self.known if name in named and name != b"bpf_res_spin_lock"}

    def members(self, id: int) -> Iterator[tuple[int, int, int]]:
        """Name, type and offset in bits."""
        words = self.layer.record(id)
        mask = 0xFFFFFF if words[1] >> 31 else 0xFFFFFFFF
        for at in range(3, len(words) - 2, 3):
            yield words[at], words[at + 1], words[at + 2] & mask

    def of_struct(self, id: int) -> list[Field]:
        """The fields of a struct that has some."""
        found = self.find(id, MAX_FIELDS, 0)
        if not found:
            raise _Refused(errno.EFAULT)
        end = 0
        for field in found:
            if field.at < end:
                raise _Refused(errno.EEXIST)
            end = field.at + (8 if field.name == KPTR else KNOWN[field.name][0])
            if field.name in ROOTS:
                self.check_root(field)
        names = {field.name for field in found}
        if names.issuperset(LOCKS):
            raise _Refused(errno.EINVAL)
        if not names.isdisjoint(ROOTS) and names.isdisjoint(LOCKS):
            raise _Refused(errno.EINVAL)
        if names.issuperset(NODES) and b"bpf_refcount" not in names:
            raise _Refused(errno.EINVAL)
        return found

    def find(self, id: int, room: int, level: int) -> list[Field]:
        """The fields of a struct, `room` of them at most, and of those in it; their places count from its start."""
        if level > MAX_NESTING:
            raise _Refused(errno.E2BIG)
        found: list[Field] = []
        seen: set[bytes] = set()
        for number, (_, of, bits) in enumerate(self.members(id)):
            if self.version < 611 and self.layer.name(of) not in self.known:
                continue  # not looked into, and in no array
            self.left -= 1
            if bits % 8 or self.left < 0:
                raise _Refused(errno.EINVAL)
            some = self.of_member(id, number, of, bits // 8, seen, room - len(found), level)
            found += [field.behind(bits // 8) for field in some]
        return found

    def of_member(self, id: int, number: int, of: int, at: int, seen: set[bytes], room: int, level: int) -> list[Field]:
        """The fields in a member of type `of`; their places count from its start."""
        count = 1
        while self.layer.kind(of) == ARRAY:
            _, _, _, of, _, length = self.layer.record(of)
            count *= length
        if count == 0:
            return []
        name = self.layer.name(of)
        if name in self.known:
            if name in LOCKS and name in seen:
                raise _Refused(errno.E2BIG)
            seen.add(name)
            size, align = KNOWN[name]
            if at % align or self.layer.kind(of) != STRUCT or self.layer.record(of)[2] != size:
                return []
            found = [self.root(id, number, name) if name in ROOTS else Field(name)]
        elif self.layer.kind(of) == STRUCT:
            size = self.layer.record(of)[2]
            found = self.find(of, room, level + 1)
        else:
            size = 8
            found = [Field(KPTR)] if at % size == 0 and self.is_object(of) else []
        if len(found) > room:
            raise _Refused(errno.E2BIG)
        if found and count > 1:
            if any(field.name != KPTR and field.name not in ROOTS for field in found):
                raise _Refused(errno.EINVAL)
            if len(found) * count > room:
                raise _Refused(errno.E2BIG)
        return [field.behind(size * n) for n in range(count if found else 0) for field in found]

    def is_object(self, of: int) -> bool:
        """Whether this is a pointer to an object, which may be volatile; raises _Refused if it is none that may be."""
        layer = self.layer
        if self.version < 612:
            return False
        if layer.kind(of) == VOLATILE:
            of = layer.record(of)[2]
        if layer.kind(of) != PTR:
            return False
        tag = layer.record(of)[2]
        if layer.kind(tag) != TYPE_TAG or layer.record(tag)[1] >> 31:
            return False
        to = layer.record(tag)[2]
        if layer.kind(to) == TYPE_TAG:
            raise _Refused(errno.EINVAL)
        if layer.name(tag) not in OBJECTS:
            if layer.name(tag) == b"uptr" and self.version >= 613:
                return False
            raise _Refused(errno.EINVAL)
        while layer.kind(to) in _MODIFIERS:
            to = layer.record(to)[2]
        if layer.kind(to) != STRUCT:
            raise _Refused(errno.EINVAL)
        return True

    def root(self, id: int, number: int, name: bytes) -> Field:
        """The tag `contains:TYPE:MEMBER` of a member names what the list or tree is of."""
        texts = self.tags.get((id, number), [])
        if len(texts) != 1 or b":" not in texts[0]:
            raise _Refused(errno.EINVAL)
        type_name, _, member = texts[0].partition(b":")
        of = self.named.get(type_name)
        if of is None:
            raise _Refused(errno.ENOENT)
        if not member:
            raise _Refused(errno.EINVAL)
        return Field(name, of=of, node=member)

    def check_root(self, root: Field) -> None:
        """What a list or tree holds has the member that its tag names, and only one of that name."""
        node = ROOTS[root.name]
        found = False
        for name, of, bits in self.members(root.of):
            if self.layer.text(name) == root.node:
                if found or self.layer.kind(of) != STRUCT or self.layer.name(of) != node or bits % 64:
                    raise _Refused(errno.EINVAL)
                found = True
        if not found:
            raise _Refused(errno.ENOENT)
