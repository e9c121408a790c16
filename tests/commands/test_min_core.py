"""`pybtf min-core`: bpftool's bytes for BPF objects of clang, and CO-RE relocations that make no sense.

`fixtures/bpf/core` is made by tools/golden/min_core_golden.py: the expected output is bpftool's.
"""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pybtf import BTF, InputError
from pybtf.btf.core_relocation import Relocator, Target
from pybtf.btf.ext import BtfExt, Relocation, RelocationKind, read_object
from pybtf.btf.min_core import MinCore
from pybtf.btf.strings import Strings
from pybtf.btf.type_compatibility import essential
from pybtf.btf.types import (
    Array,
    Const,
    Enum,
    Enumerator,
    FuncProto,
    Fwd,
    Int,
    Member,
    Ptr,
    Struct,
    Type,
    Typedef,
    Union,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.errors import Place
from tests.builders.elfwriter import Section, bare
from tests.conftest import ROOT

FOLDER = ROOT / "fixtures" / "bpf" / "core"
KERNEL = FOLDER / "kernel.btf"
OBJECTS = sorted(FOLDER.glob("*.o"))
K = RelocationKind
BPF = 247


def least(btf: BTF, *objects: Path) -> bytes:
    needs = MinCore(btf)
    for path in objects:
        local, ext = read_object(path)
        assert ext is not None
        needs.add(local, ext)
    return needs.to_bytes()


def test_there_are_enough_objects() -> None:
    assert len(OBJECTS) >= 20


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_the_same_bytes_as_bpftool(path: Path) -> None:
    assert least(BTF.from_file(KERNEL), path) == path.with_suffix(".min.btf").read_bytes()


def test_all_objects_together(tmp_path: Path) -> None:
    out = tmp_path / "out.btf"
    assert main(["min-core", str(KERNEL), *map(str, OBJECTS), "-o", str(out)]) == 0
    assert out.read_bytes() == (FOLDER / "together.min.btf").read_bytes()


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_what_is_left_answers_as_the_whole_does(path: Path) -> None:
    """All relocations have the same values; type ids are ignored."""
    local, ext = read_object(path)
    assert ext is not None
    whole = Relocator(local, Target(BTF.from_file(KERNEL)))
    part = Relocator(local, Target(BTF.from_file(path.with_suffix(".min.btf"))))
    for relocation in ext.relocations():
        if relocation.kind is not K.TYPE_ID_TARGET:
            assert part.resolve(relocation).value == whole.resolve(relocation).value, relocation


def test_the_other_byte_order() -> None:
    """The same types, as a kernel of the other byte order has them."""
    btf = BTF.from_file(KERNEL)
    builder = BtfBuilder()
    builder.extend(btf)
    big = BTF.from_bytes(builder.tobytes(little=False))
    path = FOLDER / "17_pointers.o"
    assert list(BTF.from_bytes(least(big, path))) == list(BTF.from_bytes(least(btf, path)))
    assert least(big, path)[:2] == b"\xeb\x9f"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("task_struct", "task_struct"), ("task_struct___v6", "task_struct"), ("a___b___c", "a___b"),
        ("a____b", "a____b"), ("a___", "a___"),
        ("___a", "___a"), ("a_____b", "a_____b"), ("q___r____s", "q"), ("", ""), ("a___é\udc80", "a"),
    ],
)  # fmt: skip
def test_essential_names(name: str, expected: str) -> None:
    """As candidates are found by `bpftool -d gen min_core_btf`."""
    assert essential(name) == expected


# One relocation at a time


def made(*types: Type) -> BTF:
    builder = BtfBuilder()
    builder.extend(types)
    return BTF.from_bytes(builder.tobytes(), name="made")


INT = Int("int", 4, 32)
SMALL = Struct("s", 8, (Member("a", 1, 0), Member("b", 3, 32)))
LOCAL = made(INT, SMALL, Array(1, 1, 1), Enum("e", 4, (Enumerator("X", 1),)))


def resolved(target: BTF, kind: K, access: str = "0", type: int = 2, local: BTF = LOCAL) -> int | None:
    return Relocator(local, Target(target)).resolve(Relocation("x", 0, type, access, kind)).value


def test_candidates_must_agree() -> None:
    two = made(INT, Struct("s", 8, (Member("a", 1, 32),)), Struct("s", 8, (Member("a", 1, 0),)))
    with pytest.raises(InputError, match="types 2 and 3 of made disagree: 4 at bit 32 and 0 at bit 0"):
        resolved(two, K.FIELD_BYTE_OFFSET, "0:0")
    with pytest.raises(InputError, match="disagree: 1 at bit 32 and 1 at bit 0"):
        resolved(two, K.FIELD_EXISTS, "0:0")
    assert resolved(two, K.TYPE_EXISTS) == 1
    with pytest.raises(InputError, match="disagree: 2 and 3"):
        resolved(two, K.TYPE_ID_TARGET)


def test_a_candidate_without_the_member_does_not_count() -> None:
    two = made(INT, Struct("s", 4), Struct("s", 8, (Member("a", 1, 32),)))
    assert resolved(two, K.FIELD_BYTE_OFFSET, "0:0") == 4


def test_only_one_suffix_is_taken_away() -> None:
    """In the program and in the kernel: `s___b` counts as `s` there, and not as `s___b`."""
    twice = made(INT, Struct("s___b___c", 4, (Member("a", 1, 0),)))
    once = Struct("s___b", 8, (Member("a", 1, 32),))
    assert resolved(made(INT, once), K.FIELD_EXISTS, "0:0", local=twice) == 0
    assert resolved(made(INT, once), K.TYPE_EXISTS, local=twice) == 0
    both = made(INT, once, Struct("s___b___d", 4, (Member("a", 1, 0),)))
    assert resolved(both, K.FIELD_BYTE_OFFSET, "0:0", local=twice) == 0
    assert resolved(both, K.FIELD_BYTE_OFFSET, "0:0") == 4


@pytest.mark.parametrize(
    ("kind", "access", "type", "words"),
    [
        (K.FIELD_EXISTS, "", 2, "no numbers with colons"),
        (K.FIELD_EXISTS, "0:x", 2, "no numbers with colons"),
        (K.FIELD_EXISTS, "0:1:", 2, "no numbers with colons"),
        (K.FIELD_EXISTS, "0:" + "9" * 5000, 2, "no numbers with colons"),
        (K.FIELD_EXISTS, "0:2", 2, "no member or element 2"),
        (K.FIELD_EXISTS, "0:0:0", 2, "no member or element 0"),
        (K.FIELD_EXISTS, "0:1:1", 2, "no member or element 1"),
        (K.FIELD_EXISTS, "0" + ":0" * 70, 2, "more than 64 steps"),
        (K.TYPE_EXISTS, "0:1", 2, "expected 0"),
        (K.ENUMVAL_VALUE, "1", 4, "no such enumerator"),
        (K.ENUMVAL_VALUE, "0", 2, "no such enumerator"),
        (K.TYPE_EXISTS, "0", 3, "a type without a name"),
    ],
)
def test_relocations_that_make_no_sense(kind: K, access: str, type: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        resolved(LOCAL, kind, access, type)


def test_facts_about_elements() -> None:
    assert resolved(LOCAL, K.FIELD_BYTE_OFFSET, "0:1:0") == 4
    assert resolved(LOCAL, K.FIELD_BYTE_SIZE, "0:1:0") == 4
    with pytest.raises(InputError, match="asked of an element"):
        resolved(LOCAL, K.FIELD_SIGNED, "0:1:0")


def test_facts_that_make_no_sense_in_the_program() -> None:
    """bpftool also refuses them if the kernel has no such type."""
    nothing = made(INT)
    assert resolved(nothing, K.FIELD_BYTE_OFFSET, "0:1:0") is None
    with pytest.raises(InputError, match="asked of an element"):
        resolved(nothing, K.FIELD_SIGNED, "0:1:0")
    with pytest.raises(InputError, match="asked of an element"):
        resolved(nothing, K.FIELD_LSHIFT_U64, "0")
    wide = made(Int("long", 8, 64), Struct("s", 9, (Member("a", 1, 5, 62),), kind_flag=True))
    assert resolved(nothing, K.FIELD_EXISTS, "0:0", local=wide) == 0
    with pytest.raises(InputError, match="a bit-field that 8 bytes cannot hold"):
        resolved(nothing, K.FIELD_SIGNED, "0:0", local=wide)


DECLARED = made(INT, Fwd("s"), Typedef("s_t", 2), FuncProto(1), Typedef("f_t", 4), Typedef("v_t", 0))


@pytest.mark.parametrize("type", [2, 3, 5, 6])
def test_sizes_of_types_without_a_size(type: int) -> None:
    """Also if the kernel has no such type, or a complete one."""
    for target in (DECLARED, made(INT), made(INT, SMALL, Array(1, 1, 1), Typedef("s_t", 2))):
        with pytest.raises(InputError, match="a type without a size, such as one that is only declared"):
            resolved(target, K.TYPE_SIZE, type=type, local=DECLARED)


def test_whether_types_without_a_size_exist() -> None:
    """As libbpf's loader treats it; bpftool refuses to write it."""
    assert [resolved(DECLARED, K.TYPE_EXISTS, type=type, local=DECLARED) for type in (2, 3, 5, 6)] == [1, 1, 1, 1]
    assert resolved(DECLARED, K.TYPE_SIZE) == 0


# Hostile BTF


def test_structs_that_contain_themselves_end() -> None:
    members = (Member("", 2, 0), Member("", 3, 0))
    endless = made(INT, Struct("s", 8, members), Union("", 8, members))
    assert resolved(endless, K.FIELD_EXISTS, "0:0") == 0
    assert resolved(endless, K.TYPE_MATCHES) == 0


def test_many_nameless_members_take_no_long_time() -> None:
    """Each level has two paths to the next: followed one by one, they would be 2 to the power of 60."""
    levels = [Struct("s" if n == 2 else "", 8, (Member("", n + 1, 0), Member("", n + 1, 0))) for n in range(2, 62)]
    deep = made(INT, *levels, Struct("", 8, (Member("z", 1, 0),)))
    assert resolved(deep, K.FIELD_EXISTS, "0:0") == 0


def test_prototypes_that_multiply_end() -> None:
    builder = BtfBuilder()
    builder.add(INT)
    for n in range(2, 40):
        builder.add(Struct("s" if n == 2 else "t", 8, (Member("a", n + 1, 0), Member("b", n + 1, 0))))
    builder.add(INT)
    deep = BTF.from_bytes(builder.tobytes())
    assert resolved(deep, K.TYPE_MATCHES, local=deep) == 0


def test_programs_made_to_be_slow_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many relocations with many candidates each, or with many members to look at."""
    monkeypatch.setattr("pybtf.btf.type_compatibility.MAX_STEPS", 1_000_000)
    kernels = (
        made(INT, *[Struct("s", 8, (Member("a", 1, 0),))] * 1_000),
        made(INT, Struct("s", 8, tuple(Member(f"m{n}", 1, 0) for n in range(60_000)))),
    )
    for kernel in kernels:
        relocator = Relocator(LOCAL, Target(kernel))
        asked = (relocator.resolve(Relocation("x", n, 2, "0:0", K.FIELD_EXISTS)) for n in range(10_000))
        with pytest.raises(InputError, match="too many steps"):
            list(asked)


class _Counting(BTF):
    """Notes the ids of types that are made."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.made: list[int] = []

    def _decode(self, id: int) -> Type:
        self.made.append(id)
        return super()._decode(id)


def counting(*types: Type) -> _Counting:
    return _Counting(bytes(made(*types).data), None, Place("made", None, 0))


def test_a_type_is_made_once_for_all_relocations() -> None:
    """In the program and in the kernel: many relocations may be about one struct with very many members."""
    members = tuple(Member(f"m{n}", 1, 32 * n) for n in range(50))
    local, target = (counting(INT, Struct("s", 200, members)) for _ in range(2))
    records = b"".join(struct.pack("<4I", 0, 2, 1 + 4 * n, K.FIELD_EXISTS) for n in range(10))
    ext_strings = b"\0" + b"".join(f"0:{n}\0".encode() for n in range(10))
    local.strings = Strings(ext_strings, None, local.place)
    head = struct.pack("<HBBI6I", 0xEB9F, 1, 0, 32, 0, 0, 0, 0, 0, 12 + len(records))
    needs = MinCore(target)
    needs.add(local, BtfExt(head + struct.pack("<III", 16, 1, 10) + records, local, local.place))
    assert (local.made.count(2), target.made.count(2)) == (1, 2)  # once among the candidates
    assert len(BTF.from_bytes(needs.to_bytes()).type(2).members) == 10  # type: ignore[attr-defined]


def test_candidates_are_looked_for_once_by_name() -> None:
    """Many types of a program may have one name, and the kernel's strings very many flavours of it."""
    target = counting(INT, *[Struct(f"s___{n}", 4) for n in range(50)])
    relocator = Relocator(made(INT, *[Struct("s", 4)] * 20), Target(target))
    for type in range(2, 22):
        relocator.resolve(Relocation("x", 0, type, "0", K.TYPE_EXISTS))
    assert len(target.made) == 2 * 50  # as candidates, and when they are compared


LONG = "n" * 100_000


def too_slow(relocator: Relocator, kind: K, access: str, type: int = 2) -> bool:
    """Whether this many relocations are too many."""
    with contextlib.suppress(InputError):
        for _ in range(30):
            relocator.resolve(Relocation("x", 0, type, access, kind))
        return False
    return True


def _named(name: str, count: int) -> BTF:
    member = Member("", 3, 0)
    values = tuple(Enumerator(name, n) for n in range(count))
    return made(INT, Struct("s", 8, (member,) * count), Struct(name, 8), Enum("e", 4, values))


@pytest.mark.parametrize(("kind", "type"), [(K.TYPE_MATCHES, 2), (K.ENUMVAL_EXISTS, 4), (K.TYPE_MATCHES, 4)])
def test_comparing_long_names_takes_steps(kind: K, type: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybtf.btf.type_compatibility.MAX_STEPS", 10_000)
    local, target = _named(f"{LONG}a___x", 20), _named(f"{LONG}b___x", 20)
    assert too_slow(Relocator(local, Target(target)), kind, "0", type)
    short = _named("a___x", 20), _named("b___x", 20)
    assert resolved(short[1], kind, "0", type, short[0]) == 0


def test_long_names_of_members_take_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pybtf.btf.type_compatibility.MAX_STEPS", 10_000)
    local = made(INT, Struct("s", 4, (Member(f"{LONG}a", 1, 0),)))
    target = made(INT, Struct("s", 4, (Member(f"{LONG}b", 1, 0),) * 100))
    for kind, access in ((K.FIELD_EXISTS, "0:0"), (K.TYPE_MATCHES, "0")):
        assert too_slow(Relocator(local, Target(target)), kind, access)


def test_the_suffix_of_a_name_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(name: str) -> str:
        looked.append(name)
        return essential(name)

    monkeypatch.setattr("pybtf.btf.type_compatibility.essential", counted)
    local, target = _named("a___x", 20), _named("b___x", 20)
    relocator = Relocator(local, Target(target))
    for n in range(20):
        assert relocator.resolve(Relocation("x", 0, 4, str(n), K.ENUMVAL_EXISTS)).value == 0
    assert sorted(looked) == ["a___x", "b___x"]


def test_long_ways_take_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even in the program alone: a kernel need not have the type. Paths of usual length cost nothing there."""
    monkeypatch.setattr("pybtf.btf.type_compatibility.MAX_STEPS", 10_000)
    levels = [Struct(f"s{n}", 8, (Member("a", n + 1, 0),)) for n in range(2, 62)]
    relocator = Relocator(made(INT, *levels, INT), Target(made(INT)))
    for _ in range(30):
        assert not too_slow(relocator, K.FIELD_EXISTS, "0:0:0:0")
    assert too_slow(relocator, K.FIELD_EXISTS, "0" + ":0" * 60)


def test_long_chains_of_typedefs_are_followed_once() -> None:
    many = 20_000
    chain = [Typedef("t", n + 1) for n in range(3, many)]
    members = tuple(Member(f"m{n}", 3 + n, 32 * n) for n in range(1000))
    long = made(INT, Struct("s", 4000, members), *chain, INT)
    wanted = made(INT, Struct("s", 4, (Member("m999", 1, 0),)))
    assert resolved(long, K.FIELD_BYTE_OFFSET, "0:0", local=wanted) == 4 * 999


def test_typedefs_in_circles_end() -> None:
    circle = made(INT, Struct("s", 8, (Member("a", 3, 0), Member("b", 4, 0))), Typedef("t", 4), Const(3), Ptr(3))
    assert resolved(circle, K.FIELD_BYTE_OFFSET, "0:0") is None
    assert resolved(circle, K.FIELD_EXISTS, "0:0", local=circle) in (0, 1)
    needs = MinCore(circle)
    asked = (
        (2, "0:0", K.FIELD_EXISTS), (3, "0", K.FIELD_EXISTS), (3, "0", K.TYPE_EXISTS), (2, "0", K.TYPE_MATCHES),
    )  # fmt: skip
    needs.add(circle, relocations(circle, *asked))
    BTF.from_bytes(needs.to_bytes())


def relocations(btf: BTF, *rows: tuple[int, str, int]) -> BtfExt:
    """A `.BTF.ext` with these relocations, whose strings are looked up in a string section of its own."""
    builder = BtfBuilder()
    builder.extend(btf)
    words = [(0, type, builder.string(access), kind) for type, access, kind in rows]
    data = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, 0, 0, 0, 0, 12 + 16 * len(rows))
    data += struct.pack("<III", 16, 0, len(rows)) + b"".join(struct.pack("<4I", *row) for row in words)
    return BtfExt.from_bytes(data, BTF.from_bytes(builder.tobytes()))


def test_damaged_objects_are_refused_or_read() -> None:
    chance = random.Random(1815)
    btf = BTF.from_file(KERNEL)
    accepted = 0
    for number in range(400):
        local, ext = read_object(OBJECTS[number % len(OBJECTS)])
        assert ext is not None
        is_ext = chance.random() < 0.5
        changed = bytearray(ext.data if is_ext else local.data)
        for _ in range(chance.randint(1, 5)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 2, 0x7F, 0xFF, chance.randrange(256)))
        try:
            damaged = local if is_ext else BTF.from_bytes(changed)
            needs = MinCore(btf)
            needs.add(damaged, BtfExt.from_bytes(bytes(changed) if is_ext else ext.data, damaged))
            BTF.from_bytes(needs.to_bytes())
            accepted += 1
        except InputError:
            pass
    assert 40 < accepted < 360


def test_damaged_kernels_are_refused_or_read() -> None:
    chance = random.Random(1816)
    whole = KERNEL.read_bytes()
    accepted = 0
    for number in range(400):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 12)):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 0x7F, 0xFF, chance.randrange(256)))
        with contextlib.suppress(InputError):
            least(BTF.from_bytes(data), OBJECTS[number % len(OBJECTS)])
            accepted += 1
    assert 40 < accepted < 360


def test_bit_fields_as_they_were_before_there_were_any() -> None:
    """Old-style types of a few bits, at any bit; bpftool refuses them."""
    old = made(INT, Int("bits", 4, 3, offset=0), Struct("s", 8, (Member("a", 2, 3), Member("b", 1, 32))))
    needs = MinCore(old)
    needs.add(LOCAL, relocations(LOCAL, (2, "0:0", K.FIELD_EXISTS)))
    assert [*BTF.from_bytes(needs.to_bytes())] == [Int("bits", 4, 3), Struct("s", 8, (Member("a", 1, 3),))]


# The command line


Run = Callable[..., str]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def started(*arguments: object, status: int = 0) -> str:
        found = main(["min-core", *map(str, arguments)])
        _, err = capfd.readouterr()
        assert found == status, err
        return err

    return started


def test_command_line(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.btf"
    assert "missing argument 'BTF'" in run(status=2)
    assert "missing argument 'OBJECT'" in run(KERNEL, status=2)
    assert "missing option '-o OUT'" in run(KERNEL, OBJECTS[0], status=2)
    shorter = tmp_path / "kernel.btf"
    shorter.write_bytes(KERNEL.read_bytes())
    assert "is the input" in run(shorter, OBJECTS[0], "-o", shorter, status=2)
    assert "a BPF object, an ELF file" in run(KERNEL, KERNEL, "-o", out, status=1)
    assert "no .BTF section" in run(KERNEL, ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf", "-o", out, status=1)
    assert "no such file" in run(KERNEL, tmp_path / "none.o", "-o", out, status=1)
    assert not out.exists()
    assert run(KERNEL, OBJECTS[0], "--output", out) == ""
    assert out.read_bytes() == OBJECTS[0].with_suffix(".min.btf").read_bytes()


def test_objects_without_relocations_need_nothing(run: Run, tmp_path: Path) -> None:
    """BTF and no `.BTF.ext`, as in an object with only maps; bpftool refuses it."""
    maps, out = tmp_path / "maps.o", tmp_path / "out.btf"
    maps.write_bytes(bare([Section(".BTF", bytes(made(INT).data))], machine=BPF))
    tells = "no CO-RE relocations, which say what is needed: the BTF has no types\n"
    assert run(KERNEL, maps, "-o", out) == f"pybtf: note: {maps} has {tells}"
    assert not [*BTF.from_file(out)]
    assert run(KERNEL, maps, maps, "-o", out) == f"pybtf: note: these 2 objects have {tells}"
    assert run(KERNEL, maps, OBJECTS[0], "-o", out) == ""
    assert out.read_bytes() == OBJECTS[0].with_suffix(".min.btf").read_bytes()


def test_split_btf_is_refused(run: Run, tmp_path: Path) -> None:
    builder = BtfBuilder(BTF.from_file(KERNEL))
    builder.add(Ptr(1))
    builder.string("new")
    (tmp_path / "module").write_bytes(builder.tobytes())
    (tmp_path / "vmlinux").write_bytes(KERNEL.read_bytes())
    said = run(tmp_path / "module", OBJECTS[0], "-o", tmp_path / "out", status=1)
    assert "The first file is the BTF of a kernel, not of a module" in said
