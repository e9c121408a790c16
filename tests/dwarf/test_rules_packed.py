"""Packed inference, compared with what the reference was seen to do.

A GCC function for x86-64 with six `long` parameters and a struct as the seventh is dropped if and only if the
struct is inferred packed. The table holds results of pahole 1.32 on assembled DWARF with such functions.
"""

from __future__ import annotations

import pytest

from tests.probe.rules_probe import ProbeUnit

ARRAY, CLASS, ENUM, POINTER, STRUCT, SUBROUTINE, TYPEDEF = 0x01, 0x02, 0x04, 0x0F, 0x13, 0x15, 0x16
UNION, BASE, CONST, VOLATILE = 0x17, 0x24, 0x26, 0x35
STATIC, INHERITANCE, VIRTUAL = 1, 2, 4

Member = tuple[int, int, int, int, int, int, int]


class Layout:
    """Builds a unit; types are referred to by small id."""

    def __init__(self) -> None:
        self.types: list[tuple[int, int, int, int, int, int]] = []
        self.members: list[Member] = []
        self.char = self.add(BASE, size=1)
        self.int = self.add(BASE, size=4)
        self.long = self.add(BASE, size=8)
        self.odd = self.struct(9, m(self.char, 0), m(self.long, 1))
        self.empty = self.struct(0)

    def add(self, tag: int, ref: int = 0, size: int = 0, first: int = 0, count: int = 0) -> int:
        self.types.append((tag, ref, len(self.types) + 1, size, first, count))
        return len(self.types)

    def struct(self, size: int, *members: Member, tag: int = STRUCT) -> int:
        self.members += members
        return self.add(tag, size=size, first=len(self.members) - len(members), count=len(members))

    def array(self, of: int, *dimensions: int) -> int:
        for number in reversed(dimensions):
            of = self.add(ARRAY, of, first=number, count=len(dimensions))
        return of

    def unit(self) -> ProbeUnit:
        return ProbeUnit(self.types, self.members)

    def packed(self, struct: int) -> bool:
        return bool(self.unit().packed(struct))


def m(kind: int, offset: int, flags: int = 0) -> Member:
    """A member at a byte offset."""
    return (1, kind, 8 * offset, offset, 0, 0, flags)


def b(kind: int, start: int, bits: int, storage: int) -> Member:
    """A bitfield at a bit offset, in a storage unit of `storage` bytes."""
    return (1, kind, start, start // (8 * storage) * storage, storage, bits % 256, 0)


def build(name: str, t: Layout) -> int:
    """The small id of the struct with this name in the table below."""
    char, integer, long, odd = t.char, t.int, t.long, t.odd
    holes = [m(char, 2 * k) for k in range(257)]
    table = {
        "odd": lambda: odd,
        "empty": lambda: t.empty,
        "256 holes": lambda: t.struct(517, *holes, m(integer, 513)),
        "255 holes": lambda: t.struct(515, *holes[:256], m(integer, 511)),
        "padding 65536": lambda: t.struct(65541, m(char, 0), m(integer, 1)),
        "padding 65535": lambda: t.struct(65540, m(char, 0), m(integer, 1)),
        "hole 65536": lambda: t.struct(65541, m(char, 0), m(integer, 65537)),
        "negative padding": lambda: t.struct(4, m(char, 0), m(integer, 1)),
        "overlap": lambda: t.struct(5, m(char, 0), m(integer, 1), m(integer, 1)),
        "backward": lambda: t.struct(5, m(integer, 1), m(char, 0)),
        "array": lambda: t.struct(33, m(char, 0), m(t.array(long, 2, 2), 1)),
        "volatile typedef": lambda: t.struct(9, m(char, 0), m(t.add(VOLATILE, t.add(TYPEDEF, long)), 1)),
        "pointer": lambda: t.struct(9, m(char, 0), m(t.add(POINTER, long), 1)),
        "enum": lambda: t.struct(3, m(char, 0), m(t.add(ENUM, size=2), 1)),
        "twelve": lambda: t.struct(12, m(t.add(BASE, size=12), 0)),
        "twelve at 4": lambda: t.struct(16, m(integer, 0), m(t.add(BASE, size=12), 4)),
        "vector": lambda: t.struct(17, m(char, 0), m(t.array(integer, 4), 1)),
        "odd size": lambda: t.struct(12, m(long, 0), m(integer, 8)),
        "nested": lambda: t.struct(10, m(char, 0), m(odd, 1)),
        "empty member": lambda: t.struct(9, m(char, 0), m(t.empty, 1), m(long, 1)),
        "base class": lambda: t.struct(17, m(odd, 0, INHERITANCE), m(long, 9)),
        "virtual base": lambda: t.struct(17, m(odd, 0, INHERITANCE | VIRTUAL), m(long, 9)),
        "virtual base last": lambda: t.struct(9, m(char, 0), m(long, 1), m(odd, 0, INHERITANCE | VIRTUAL)),
        "empty base": lambda: t.struct(9, m(t.empty, 0, INHERITANCE), m(char, 0), m(long, 1)),
        "empty base last": lambda: t.struct(9, m(char, 0), m(long, 1), m(t.empty, 4, INHERITANCE)),
        "static member": lambda: t.struct(9, m(char, 0), m(long, 0, STATIC), m(long, 1)),
        "class": lambda: t.struct(9, m(char, 0), m(long, 1), tag=CLASS),
        "tight bits": lambda: t.struct(5, b(integer, 0, 20, 4), b(integer, 20, 20, 4)),
        "two words of bits": lambda: t.struct(8, b(integer, 0, 20, 4), b(integer, 32, 20, 4)),
        "bits at 8": lambda: t.struct(6, m(char, 0), b(integer, 8, 32, 4), m(char, 5)),
        "bits, char": lambda: t.struct(3, b(integer, 0, 9, 4), m(char, 2)),
        "bits, int": lambda: t.struct(8, b(integer, 0, 9, 4), m(integer, 4)),
        "wider bits": lambda: t.struct(16, b(integer, 0, 9, 4), b(long, 9, 33, 8), m(long, 8)),
        "wider bits, int": lambda: t.struct(12, b(integer, 0, 9, 4), b(long, 9, 33, 8), m(integer, 8)),
        "60 bits": lambda: t.struct(9, b(long, 0, 60, 8), m(char, 8)),
        "60 bits at 8": lambda: t.struct(9, m(char, 0), b(long, 8, 60, 8)),
        "natural bits": lambda: t.struct(8, m(char, 0), b(integer, 8, 24, 4), b(integer, 32, 32, 4)),
        "256 bits": lambda: t.struct(4, b(integer, 0, 256, 4)),
    }
    return table[name]()


PACKED = """odd; 256 holes; padding 65536; overlap; array; volatile typedef; pointer; enum; twelve at 4; vector; odd
size; nested; empty member; base class; virtual base last; empty base; empty base last; static member;
class; tight bits; bits at 8; bits, char; wider bits, int; 60 bits; 60 bits at 8"""
NOT_PACKED = """empty; 255 holes; padding 65535; hole 65536; negative padding; backward; twelve; virtual base; two words
of bits; bits, int; wider bits; natural bits; 256 bits"""
OBSERVED = [(name.strip(), True) for name in PACKED.replace("\n", " ").split(";")]
OBSERVED += [(name.strip(), False) for name in NOT_PACKED.replace("\n", " ").split(";")]


@pytest.mark.parametrize(("name", "packed"), OBSERVED)
def test_layouts(name: str, packed: bool) -> None:
    layout = Layout()
    assert layout.packed(build(name, layout)) == packed


@pytest.mark.parametrize("tag", [STRUCT, CLASS])
def test_a_struct_with_holes_marks_misplaced_members(tag: int) -> None:
    # Observed: the member is not packed if asked about before the struct around it, and packed if asked about after it.
    layout = Layout()
    inner = layout.struct(16, m(layout.int, 0), m(layout.int, 4), m(layout.long, 8), tag=tag)
    outer = layout.struct(40, m(layout.char, 0), m(layout.add(TYPEDEF, inner), 4), m(layout.long, 32))
    before = layout.unit()
    assert [before.packed(inner), before.packed(outer)] == [False, False]
    after = layout.unit()
    assert [after.packed(outer), after.packed(inner)] == [False, True]


def test_arrays_of_misplaced_structs_are_not_marked() -> None:
    layout = Layout()
    inner = layout.struct(16, m(layout.int, 0), m(layout.int, 4), m(layout.long, 8))
    outer = layout.struct(40, m(layout.char, 0), m(layout.array(inner, 1), 4), m(layout.long, 32))
    unit = layout.unit()
    assert [unit.packed(outer), unit.packed(inner)] == [False, False]


def test_sizes() -> None:
    layout = Layout()
    cases = [
        (layout.array(layout.int, 2, 3), 24),
        (layout.add(ARRAY, layout.int), 4),
        (layout.add(POINTER, layout.int), 8),
        (layout.add(CONST, layout.odd), 9),
        (layout.add(ENUM), 4),
        (layout.add(SUBROUTINE), 8),
        (layout.add(BASE, size=0x2001), 1),
        (layout.add(TYPEDEF), 0),
    ]
    unit = layout.unit()
    assert [unit.size(kind) for kind, _ in cases] == [size for _, size in cases]


def test_hostile_types_end() -> None:
    layout = Layout()
    circle = layout.add(TYPEDEF, len(layout.types) + 2)
    layout.add(TYPEDEF, circle)
    own = len(layout.types) + 1
    layout.struct(9, m(layout.char, 0), m(own, 1))
    far = layout.struct(9, m(circle, 0), m(77777, 1), m(layout.char, 8))
    endless = layout.add(ARRAY, len(layout.types) + 1, first=2)
    unit = layout.unit()
    assert unit.packed(own) in (False, True)
    assert unit.packed(far) in (False, True)
    assert unit.size(circle) == 0
    assert unit.size(endless) == 0


def test_deep_and_wide_nesting_ends() -> None:
    layout = Layout()
    inner = layout.odd
    for _ in range(5000):
        inner = layout.struct(9, m(inner, 0), m(inner, 0))
    unit = layout.unit()
    assert unit.packed(inner) is False  # 5000 levels: more than are followed
    assert unit.packed(inner - 4600) is True
