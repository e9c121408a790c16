"""Fields that kernels know by the name of their type, since 6.2: locks, lists, trees, counters, pointers to objects.

A struct with a member that is directly of such a type has to be one that the kernel can make sense of. Few BTFs have
any. So this is in Python, and comes after all other rules: records are whole and references resolved.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from ..btf.kind_numbers import ARRAY, CONST, DECL_TAG, PTR, RESTRICT, STRUCT, TYPE_TAG, TYPEDEF, VOLATILE
from ..core.accept.accept_layer import Layer
from .rules import NUMBERS

_MODIFIERS = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
MAX_FIELDS = 11
MAX_NESTING = 4
KNOWN = {
    b"bpf_spin_lock": (4, 4), b"bpf_refcount": (4, 4), b"bpf_list_head": (16, 8), b"bpf_list_node": (24, 8),
    b"bpf_rb_root": (16, 8), b"bpf_rb_node": (32, 8), b"bpf_res_spin_lock": (8, 8),
}  # fmt: skip
"""Size and alignment by name."""
ONCE = (b"bpf_spin_lock", b"bpf_refcount", b"bpf_res_spin_lock")
CONTAINS = b"contains:"
PATIENCE = 1 << 20
"""Members that are looked at, nested ones each time: far more than any program has."""
ROOTS = {b"bpf_list_head": b"bpf_list_node", b"bpf_rb_root": b"bpf_rb_node"}
"""What holds others, and what these have in them."""
OBJECTS = (b"kptr", b"kptr_untrusted", b"percpu_kptr", b"uptr")
TEXTS = {
    errno.E2BIG: "a struct with two locks, two counters, or more than 11 fields that the kernel knows",
    errno.EFAULT: "a field that the kernel knows by its name, of another size, or not aligned",
    errno.EINVAL: "a list or tree without a tag that says what it contains, or without a lock",
    errno.ENOENT: "a list or tree of what does not exist",
    errno.ELOOP: "a list or tree that contains itself",
}


class _Refused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def check_special(layer: Layer, version: int) -> tuple[int, int, int, int] | None:
    """A finding of rule SPC, whose value is the errno; None if all structs make sense."""
    fields = _Fields(layer, version)
    if not fields.wanted:
        return None
    for id in fields.structs:
        if not any(of in fields.wanted for _, of, _ in fields.members(id)):
            continue
        try:
            fields.check(id)
        except _Refused as refused:
            return NUMBERS["SPECIAL"], id, 0, refused.code
    return None


class _Fields:
    def __init__(self, layer: Layer, version: int) -> None:
        self.layer = layer
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
            elif kind == PTR and version >= 612:
                of = layer.record(id)[2]
                if layer.kind(of) == TYPE_TAG and layer.name(of) in OBJECTS:
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

    def check(self, id: int) -> None:
        found = self.find(id, 0, set(), 0)
        if not found:
            raise _Refused(errno.EFAULT)
        names = [name for name, _ in found]
        end = 0
        for name, at in sorted(found, key=lambda each: each[1]):
            if at < end:
                raise _Refused(errno.EEXIST)
            end = at + KNOWN.get(name, (8, 8))[0]
        if any(name in ROOTS for name in names) and not {b"bpf_spin_lock", b"bpf_res_spin_lock"} & set(names):
            raise _Refused(errno.EINVAL)
        if {b"bpf_list_node", b"bpf_rb_node"} <= set(names) and b"bpf_refcount" not in names:
            raise _Refused(errno.EINVAL)

    def find(self, id: int, base: int, seen: set[bytes], level: int) -> list[tuple[bytes, int]]:
        """The fields of a struct, and of those in it."""
        found: list[tuple[bytes, int]] = []
        for number, (_, of, bits) in enumerate(self.members(id)):
            self.left -= 1
            if bits % 8 or self.left < 0:
                raise _Refused(errno.EINVAL)
            found += self.field(id, number, of, base + bits // 8, seen, level)
            if len(found) > MAX_FIELDS:
                raise _Refused(errno.E2BIG)
        return found

    def field(self, id: int, number: int, of: int, at: int, seen: set[bytes], level: int) -> list[tuple[bytes, int]]:
        count = 1
        while self.layer.kind(of) == ARRAY:
            _, _, _, of, _, length = self.layer.record(of)
            count *= length
        if count == 0:
            return []
        kind = self.layer.kind(of)
        name = self.layer.name(of)
        if name not in self.known:
            if kind == STRUCT:
                if level >= MAX_NESTING:
                    raise _Refused(errno.E2BIG)
                inner = self.find(of, at, set(), level + 1)
                return self.repeated(inner, self.layer.record(of)[2], count)
            return self.repeated([(b"kptr", at)], 8, count) if self.is_object(of) and at % 8 == 0 else []
        if name in ONCE:
            if name in seen:
                raise _Refused(errno.E2BIG)
            seen.add(name)
        size, align = KNOWN[name]
        if at % align or kind != STRUCT or self.layer.record(of)[2] != size:
            return []
        if name in ROOTS:
            self.check_root(id, number, ROOTS[name])
        return self.repeated([(name, at)], size, count)

    def repeated(self, found: list[tuple[bytes, int]], size: int, count: int) -> list[tuple[bytes, int]]:
        if not found:
            return []
        if len(found) * count > MAX_FIELDS or (count > 1 and any(name in ONCE for name, _ in found)):
            raise _Refused(errno.E2BIG if len(found) * count > MAX_FIELDS else errno.EINVAL)
        return [(name, at + size * i) for i in range(count) for name, at in found]

    def is_object(self, of: int) -> bool:
        while self.layer.kind(of) in _MODIFIERS:
            of = self.layer.record(of)[2]
        if self.layer.kind(of) != PTR:
            return False
        of = self.layer.record(of)[2]
        if self.layer.kind(of) != TYPE_TAG or self.layer.name(of) not in OBJECTS:
            return False
        while self.layer.kind(of) in _MODIFIERS:
            of = self.layer.record(of)[2]
        if self.layer.kind(of) != STRUCT:
            raise _Refused(errno.EINVAL)
        return True

    def check_root(self, id: int, number: int, node: bytes) -> None:
        """The tag `contains:TYPE:MEMBER` of a member names what the list or tree is of."""
        texts = self.tags.get((id, number), [])
        if len(texts) != 1 or b":" not in texts[0]:
            raise _Refused(errno.EINVAL)
        type_name, _, member = texts[0].partition(b":")
        of = self.named.get(type_name)
        if of is None:
            raise _Refused(errno.ENOENT)
        for name, type_, bits in self.members(of):
            if self.layer.text(name) == member and member:
                if self.layer.name(type_) != node or self.layer.kind(type_) != STRUCT or bits % 64:
                    raise _Refused(errno.EINVAL)
                return
        raise _Refused(errno.ENOENT if member else errno.EINVAL)
