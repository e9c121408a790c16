"""Random BTF about fields that kernels know by the name of their type: locks, lists, trees, counters, pointers.

Most of it is nearly right: each size, place and tag is wrong only now and then, so that later checks are reached.
"""

from __future__ import annotations

import random

from tools.golden.minimal_btf import ARRAY, CONST, DECL_TAG, INT, PTR, STRUCT, TYPE_TAG, TYPEDEF, UNION, VOLATILE, Maker

KNOWN = {
    "bpf_spin_lock": (4, 4),
    "bpf_refcount": (4, 4),
    "bpf_list_head": (16, 8),
    "bpf_list_node": (24, 8),
    "bpf_rb_root": (16, 8),
    "bpf_rb_node": (32, 8),
    "bpf_res_spin_lock": (4, 4),
}
POINTERS = ("kptr", "kptr_untrusted", "percpu_kptr", "uptr", "user")
ROOTS = ("bpf_list_head", "bpf_rb_root")
TAGS = (
    "contains:{0}:{1}",
    "contains:{0}:",
    "contains:{0}",
    "contains::{1}",
    "contains:absent:{1}",
    "contains:{0}:absent",
)
Type = tuple[int, int, int, str]  # id, size, alignment, name


class Fields:
    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.wrong = chooser.choice((0.0, 0.01, 0.05, 0.2))
        self.made = Maker()
        self.count = 1
        self.add(INT, "long", 8, 64)
        self.plain: list[Type] = [(1, 4, 4, "int"), (2, 8, 8, "long")]
        self.special: list[Type] = []
        self.nodes: list[tuple[str, str]] = []  # structs, and members of them
        self.structs: list[Type] = []

    def add(self, *words: int | str, **more: int) -> int:
        kind, name, third, *rest = words
        assert isinstance(kind, int)
        assert isinstance(third, int)
        self.made.add(kind, name, third, *rest, **more)
        self.count += 1
        return self.count

    def is_wrong(self) -> bool:
        return self.random.random() < self.wrong

    def known(self) -> None:
        names = [name for name in KNOWN if self.random.random() < 0.85]
        self.random.shuffle(names)
        for name in names:
            size, align = KNOWN[name]
            if self.is_wrong():
                size += self.random.choice((-4, 4, 8))
            if self.is_wrong():
                id = self.add(TYPEDEF, name, self.random.choice((1, 2)))
                size = align = 4
            else:
                id = self.add(UNION if self.is_wrong() else STRUCT, name, size)
            self.special.append((id, size, align, name))
        for _ in range(self.random.choice((0, 0, 1, 2))):
            # To a struct that follows. If the kernel has a type of the same name, that type matters, too.
            to: int = self.random.choice(self.plain)[0] if self.is_wrong() else self.count + 4
            to = self.add(CONST, 0, to) if self.random.random() < 0.2 else to
            tag = self.add(TYPE_TAG, self.random.choice(POINTERS), to)
            id = self.add(PTR, 0, tag)
            if self.random.random() < 0.2:
                id = self.add(self.random.choice((CONST, VOLATILE)), 0, id)
            self.special.append((id, 8, 8, ""))

    def array(self, type: Type) -> Type:
        id, size, align, name = type
        count = self.random.choice((0, 1, 1, 2, 3, 5, 6, 11, 12))
        made = self.add(ARRAY, 0, 0, id, 1, count)
        if self.random.random() < 0.1:
            made, count = self.add(ARRAY, 0, 0, made, 1, 2), 2 * count
        return made, count * size, align, name if count else ""

    def struct(self, number: int) -> None:
        choose = self.random.choice
        name = f"s{number}" if self.random.random() < 0.9 else ""
        members: list[tuple[str | bytes | int, int, int]] = []
        tags = []
        at = 0
        once: set[str] = set()
        for n in range(choose((0, 1, 1, 2, 3, 4, 8, 13))):
            pool = choose((self.special, self.special, self.special, self.plain, self.structs)) or self.plain
            type = choose(pool)
            if type[3] in once and not self.is_wrong():
                continue
            if "lock" in type[3] or "refcount" in type[3]:
                once.add(type[3])
            elif self.random.random() < 0.1:
                type = self.array(type)
            id, size, align, known = type
            if not self.is_wrong():
                at = -(-at // align) * align
            members.append(("m0" if self.is_wrong() else f"m{n}", id, 8 * at + self.is_wrong()))
            if known in ROOTS and not self.is_wrong():
                tags.append((n, known))
            if known.endswith("_node"):
                self.nodes.append((name, f"m{n}"))
            at += size - 4 * (self.is_wrong() and size > 4)
        if self.random.random() < 0.5 and any(tags) and "bpf_spin_lock" not in once:
            lock = [type for type in self.special if type[3] == "bpf_spin_lock"]
            if lock:
                at = -(-at // 4) * 4
                members.append(("lock", lock[0][0], 8 * at))
                at += 4
        self.made.struct(name or 0, -(-at // 8) * 8 + 8, *members, kind=UNION if self.is_wrong() else STRUCT)
        self.count += 1
        made = self.count
        self.structs.append((made, -(-at // 8) * 8 + 8, 8, ""))
        self.tags += [(made, n, known) for n, known in tags]

    def make(self) -> bytes:
        self.tags: list[tuple[int, int, str]] = []
        self.known()
        for number in range(self.random.choice((1, 2, 3, 5))):
            self.struct(number)
        last = (f"s{len(self.structs)}", "m0")
        node = [type for type in self.special if type[3].endswith("_node")]
        if node:
            self.made.struct(last[0], 64, (last[1], self.random.choice(node)[0], 0))
            self.nodes += [last, last]
        for made, member, _ in self.tags:
            text = self.random.choice(TAGS) if self.is_wrong() else TAGS[0]
            for _ in range(2 if self.is_wrong() else 1):
                self.made.add(DECL_TAG, text.format(*self.random.choice(self.nodes or [last])), made, member)
        return self.made.make()


def fields(chooser: random.Random) -> bytes:
    return Fields(chooser).make()
