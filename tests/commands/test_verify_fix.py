"""`pybtf verify --fix`: what older kernels do not know is removed, as if it were not encoded; BTF on another base."""

from __future__ import annotations

import io
import json
import lzma
import os
import random
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf import BTF, Builder
from pybtf.btf.kinds import Linkage
from pybtf.btf.renumbering import renumbered
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Int,
    Member,
    Ptr,
    Restrict,
    SectionVar,
    Struct,
    Type,
    TypeTag,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.errors import InputError
from pybtf.verify.judge import MODULE, VERSIONS, VMLINUX, judge
from pybtf.verify.mending import mend
from pybtf.verify.rebasing import rebase
from tests.builders.meaning import meaning, meanings
from tests.conftest import ROOT

EXAMPLE = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
GOLDEN = ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf"


def fix(*arguments: str | Path) -> int:
    return main(["verify", "-q", "--fix", *map(str, arguments)])


def made(types: list[Type]) -> BTF:
    builder = BtfBuilder()
    builder.extend(types)
    return BTF.from_bytes(builder.tobytes(True))


def test_what_cannot_be_read_back_is_not_verified() -> None:
    assert fix("/dev/null", GOLDEN) == 0


def test_json_has_what_was_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = []
    for version in ("5.12", "7.2"):
        main(["verify", "--json", "--fix", str(tmp_path / "out.btf"), "--kernel", version, str(GOLDEN)])
        fixed.append(json.loads(capsys.readouterr().out)["fixed"])
        main(["verify", "--fix", str(tmp_path / "out.btf"), "--kernel", version, str(GOLDEN)])
        said = capsys.readouterr().err.partition("; ")[2].partition("\n")[0]
        assert said == ("; ".join(fixed[-1]) or "nothing had to be changed")
    assert [bool(each) for each in fixed] == [True, False]
    main(["verify", "--json", str(GOLDEN)])
    assert "fixed" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("version", ["5.4", "5.12", "5.13", "5.15", "5.16", "5.17", "6.0", "7.2"])
def test_as_if_encoded_for_that_kernel(version: str, tmp_path: Path) -> None:
    """An independent way to the same result: what `encode --for-kernel` makes from the DWARF."""
    encoded, mended = tmp_path / "encoded.btf", tmp_path / "mended.btf"
    assert main(["encode", "-q", "--for-kernel", version, "--detached", str(encoded), str(EXAMPLE)]) == 0
    assert fix(mended, "--kernel", version, GOLDEN) == 0
    assert meanings(mended.read_bytes()) == meanings(encoded.read_bytes())


@pytest.mark.parametrize("version", [each for each in VERSIONS if each >= 505])
def test_every_golden_file_is_taken_by_every_kernel(version: int) -> None:
    for path in sorted((ROOT / "fixtures" / "golden").glob("*.usual.btf"))[::5]:
        btf = BTF.from_file(path)
        data, _ = mend(btf, version)
        before = judge(path.read_bytes(), VMLINUX, 702, little=btf.header.little)
        after = judge(data, VMLINUX, version, little=btf.header.little)
        assert before.errno or not after.errno, (path, after.first)


def test_entries_are_sorted_and_ids_stay() -> None:
    entries = (SectionVar(3, 8, 4), SectionVar(2, 0, 4))
    btf = made([Int("int", 4, 32), Var("a", 1), Var("b", 1), Datasec(".data", 12, entries)])
    assert judge(btf.data, version=702).errno
    data, changes = mend(btf, 702)
    assert judge(data, version=702).errno == 0
    assert dict(changes) == {"entries of a section sorted by offset": 1}
    section = BTF.from_bytes(data).type(4)
    assert isinstance(section, Datasec)
    assert section.variables == entries[::-1]


def test_tags_are_passed_over_in_a_row() -> None:
    btf = made([Int("int", 4, 32), TypeTag("a", 1), TypeTag("b", 2), Const(3), Ptr(4)])
    for version, pointee in ((516, 1), (517, 3), (600, 1), (702, 3)):
        data, _ = mend(btf, version)
        found = next(each for each in BTF.from_bytes(data) if isinstance(each, Const))
        assert found.type == pointee, version
        assert judge(data, VMLINUX, version).errno == 0
    assert judge(btf.data, VMLINUX, 600).errno


def test_tags_in_a_circle_end() -> None:
    btf = made([TypeTag("a", 2), TypeTag("b", 1), Ptr(1)])
    data, _ = mend(btf, 505)
    (pointer,) = BTF.from_bytes(data)
    assert isinstance(pointer, Ptr)
    assert pointer.type == 0
    behind = made([TypeTag("a", 2), TypeTag("b", 1), Const(1)])
    assert [each.type for each in BTF.from_bytes(mend(behind, 600)[0]) if isinstance(each, Const)] == [0]


@pytest.mark.parametrize(("version", "left"), [(511, 0), (512, 1)])
def test_empty_sections(version: int, left: int) -> None:
    data, _ = mend(made([Int("int", 4, 32), Datasec(".x", 4, ())]), version)
    assert sum(isinstance(each, Datasec) for each in BTF.from_bytes(data)) == left


def test_a_layout_is_left_out_and_that_is_said_where_it_is_not_known() -> None:
    builder = BtfBuilder()
    builder.add(Int("int", 4, 32))
    btf = BTF.from_bytes(builder.tobytes(layout=True))
    said = "a header of 24 bytes, without the layout of kinds"
    assert [dict(mend(btf, version)[1]) for version in (700, 701)] == [{said: 1}, {}]


WORD = Int("int", 4, 32)
CHANGES: list[tuple[list[Type], int, str, int]] = [
    ([WORD, FuncProto(1, ()), Func("f", 2, Linkage.STATIC)], 500, "functions and prototypes dropped (5.0)", 2),
    ([WORD, Var("v", 1), Datasec(".x", 4, (SectionVar(2, 0, 4),))], 502, "variables and sections dropped (5.2)", 2),
    ([FuncProto(0, ()), Func("f", 1, Linkage.GLOBAL)], 506, "the linkage of a function dropped (5.6)", 1),
    ([WORD, Datasec(".x", 4, ())], 512, "empty sections dropped (5.12)", 1),
    ([Float("f", 4), Float("d", 8)], 513, "FLOAT became INT (5.13)", 2),
    ([Struct("s", 4, ()), DeclTag("a", 1, -1)], 516, "declaration tags dropped (5.16)", 1),
    ([WORD, TypeTag("a", 1), Ptr(2)], 517, "type tags dropped (5.17)", 1),
    ([Enum64("e", 8, (Enumerator("A", 1),))], 600, "ENUM64 became ENUM, with values of 32 bits (6.0)", 1),
    ([Enum("e", 4, (Enumerator("A", 1),), kind_flag=True)], 600, "the sign of an ENUM dropped (6.0)", 1),
    ([WORD, TypeTag("a", 1, kind_flag=True), DeclTag("b", 1, -1, kind_flag=True)], 615,
     "tags of attributes dropped (6.15)", 2),
    ([WORD, TypeTag("a", 1), Const(2), Volatile(2), Restrict(2), Const(1)], 702,
     "type tags after a qualifier skipped (allowed since 7.2)", 3),
]  # fmt: skip


@pytest.mark.parametrize(("types", "since", "said", "count"), CHANGES, ids=lambda each: str(each)[:30])
def test_what_is_changed_is_counted(types: list[Type], since: int, said: str, count: int) -> None:
    """Changes are made up to the version before the first that knows the kind."""
    btf = made(types)
    data, changes = mend(btf, since - 1)
    assert dict(changes) == {said: count}
    assert judge(data, VMLINUX, since - 1).errno == 0
    assert mend(btf, since) == (btf.data, {})


def test_chains_count_since_5_19() -> None:
    btf = made([WORD, TypeTag("a", 1), Const(2)])
    assert [len(mend(btf, version)[1]) for version in (518, 519)] == [0, 1]


def test_many_tags_in_a_row_end_soon() -> None:
    count = 60_000
    tags = [TypeTag("a", id + 1) for id in range(1, count)]
    btf = made([*tags, Int("int", 4, 32), *(Const(id) for id in range(1, count))])
    for version in (505, 600):
        data, _ = mend(btf, version)
        found = {each.type for each in BTF.from_bytes(data) if isinstance(each, Const)}
        assert found == {1 if version < 517 else count}


def test_values_keep_their_low_half() -> None:
    values = (Enumerator("LARGE", 0x1_2345_6789), Enumerator("LESS", -1))
    data, _ = mend(made([Enum64("e", 8, values, kind_flag=True)]), 519)
    (found,) = BTF.from_bytes(data)
    assert [value for _, value in found.values] == [0x2345_6789, 0xFFFF_FFFF]  # type: ignore[attr-defined]


def own_meanings(btf: BTF) -> list[object]:
    return [meaning(btf, id) for id in range(btf.first_id, btf.end_id)]


def kernel_types() -> list[Type]:
    return [
        Int("int", 4, 32),
        Struct("list", 16, (Member("next", 3, 0), Member("prev", 3, 64))),
        Ptr(2),
        Struct("task", 24, (Member("pid", 1, 0), Member("tasks", 2, 64))),
        Ptr(4),
        Const(4),
        Ptr(6),
    ]


def shuffled(types: list[Type], seed: int) -> list[Type]:
    order = list(range(1, len(types) + 1))
    random.Random(seed).shuffle(order)
    new = {old: number for number, old in enumerate(order, 1)}
    return [renumbered(types[old - 1], new) for old in order]


def module(base: BTF) -> BTF:
    builder = Builder(base)
    own = Member("next", base.end_id + 1, 192)
    builder.add_struct("mine", 32, [Member("head", 2, 0), Member("const", 7, 128), own])
    builder.add_ptr(base.end_id)
    builder.add_func("probe", builder.add_func_proto(1, []))
    return builder.to_btf()


@pytest.mark.parametrize("seed", range(20))
def test_a_module_on_a_base_in_another_order(seed: int) -> None:
    new = made(shuffled([*kernel_types(), Int("char", 1, 8)], seed))
    btf = module(made(kernel_types()))
    data, count = rebase(btf, new)
    assert count == 3
    moved = BTF.from_bytes(data, new)
    assert own_meanings(moved) == own_meanings(btf)
    base = judge(new.data, VMLINUX)
    assert judge(data, MODULE, base=base.layer).first is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda types: [*types[:1], Struct("lost", 16, types[1].members), *types[2:]], "STRUCT list is not there"),
        (lambda types: [*types[:1], Struct("list", 24, types[1].members), *types[2:]], "STRUCT list is another there"),
        (lambda types: [*types[:5], Ptr(4), *types[6:]], r"PTR \[7\] is not there"),
        (lambda types: [Int("long", 8, 64), *types[1:]], "INT int is not there"),
    ],
)
def test_a_base_that_means_something_else(change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        rebase(module(made(kernel_types())), made(change(kernel_types())))


INT, LONG = Int("int", 4, 32), Int("long", 8, 64)
ANOTHER: dict[str, tuple[list[Type], list[Type], int]] = {
    "an array of more": ([INT, Array(1, 1, 3)], [INT, Array(1, 1, 4)], 2),
    "an array of others": ([INT, Array(1, 1, 3)], [LONG, INT, Array(1, 2, 3)], 2),
    "a tag on something else": ([INT, TypeTag("user", 1)], [LONG, TypeTag("user", 1)], 2),
    "another width": (
        [INT, Struct("s", 4, (Member("a", 1, 0, 3),), kind_flag=True)],
        [INT, Struct("s", 4, (Member("a", 1, 0, 4),), kind_flag=True)], 2,
    ),
    "other values": ([Enum("e", 4, (Enumerator("A", 1),))], [Enum("e", 4, (Enumerator("A", 2),))], 1),
}  # fmt: skip


@pytest.mark.parametrize("case", ANOTHER)
def test_what_a_module_embeds_has_to_be_the_same(case: str) -> None:
    """In a struct, in an array, and as a variable."""
    old, new, id = ANOTHER[case]
    holders: list[Type] = [Struct("mine", 64, (Member("x", id, 0),)), Array(id, id, 2), Var("v", id)]
    for holder in holders:
        builder = BtfBuilder(made(old))
        builder.add(holder)
        btf = BTF.from_bytes(builder.tobytes(), made(old))
        rebase(btf, made(old))
        with pytest.raises(InputError, match=r"is not there|is another there"):
            rebase(btf, made(new))


@pytest.mark.parametrize(("count", "end"), [(5, "n4 is not there"), (6, "n4 is not there, and 1 more")])
def test_the_first_few_that_are_missing_are_named(count: int, end: str) -> None:
    old = made([Struct(f"n{number}", 4) for number in range(count)])
    builder = BtfBuilder(old)
    builder.extend([Ptr(number + 1) for number in range(count)])
    with pytest.raises(InputError, match=rf"{end}[;,] expected|{end}; ") as caught:
        rebase(BTF.from_bytes(builder.tobytes(), old), made([INT]))
    assert ("more" in str(caught.value)) == (count > 5)


def test_shapes_of_shapes_stay_small() -> None:
    """Sixty nameless structs that each contain the last one twice: 2 to the 60th members."""
    types: list[Type] = [Int("int", 4, 32)]
    for depth in range(1, 60):
        types.append(Struct("", 8, (Member("a", depth, 0), Member("b", depth, 32))))
    base = made(types)
    builder = Builder(base)
    builder.add_ptr(base.end_id - 1)
    later = {number: number + 1 for number in range(1, len(types) + 1)}
    new = made([Int("char", 1, 8), *(renumbered(each, later) for each in types)])
    data, count = rebase(builder.to_btf(), new)
    (pointer,) = BTF.from_bytes(data, new)
    assert isinstance(pointer, Ptr)
    assert (pointer.type, count) == (new.end_id - 1, 1)


def test_what_is_only_pointed_to_may_have_grown() -> None:
    types = kernel_types()
    types[3] = Struct("task", 32, types[3].members)  # type: ignore[attr-defined]
    split, new = module(made(kernel_types())), made(types)
    data, count = rebase(split, new)
    assert count
    assert [type(each) for each in BTF.from_bytes(data, new)] == [type(each) for each in split]


def test_an_elf_file_becomes_one_with_other_btf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "in.elf", tmp_path / "out.elf"
    source.write_bytes(EXAMPLE.read_bytes())
    assert main(["encode", "-q", str(source)]) == 0
    before = source.read_bytes()
    assert fix(target, "--kernel", "5.10", source) == 0
    assert source.read_bytes() == before
    assert target.read_bytes()[:4] == b"\x7fELF"
    assert judge(BTF.from_file(target).data, VMLINUX, 510).errno == 0
    assert "signature" not in capsys.readouterr().err
    source.write_bytes(before + b"~Module signature appended~\n")
    assert main(["verify", "--fix", str(target), "--kernel", "5.10", str(source)]) == 0
    assert "the module's signature no longer counts" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.elf", "out.elf"]


def test_what_stands_at_the_place_of_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link stays a link, and a device stays a device. Messages name only OUT."""
    elf, link, behind = tmp_path / "in.elf", tmp_path / "link", tmp_path / "behind"
    elf.write_bytes(EXAMPLE.read_bytes())
    assert main(["encode", "-q", str(elf)]) == 0
    link.symlink_to(behind)
    assert fix(link, "--kernel", "5.10", elf) == 0
    assert link.is_symlink()
    assert behind.read_bytes()[:4] == b"\x7fELF"
    capsys.readouterr()
    for out, said in (("none/x", f"cannot be written: the folder {tmp_path}/none does not exist"), ("", "is a folder")):
        assert fix(f"{tmp_path}/{out}", elf) == 1
        assert re.match(rf"pybtf: error: {tmp_path}/{out}: .*{said}", capsys.readouterr().err)
    assert fix(elf, elf) == 2
    assert f"--fix OUT is the input {elf} itself" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["behind", "in.elf", "link"]


@pytest.mark.parametrize("pack", [bytes, lzma.compress])
def test_what_can_be_read_only_once(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard input and a pipe give the same as a file, with raw BTF or an ELF file. Messages do not name a copy."""
    elf, out = tmp_path / "in.elf", tmp_path / "out"
    elf.write_bytes(EXAMPLE.read_bytes())
    assert main(["encode", "-q", str(elf)]) == 0
    for source in (GOLDEN, elf):
        assert fix(tmp_path / "expected", "--kernel", "5.10", source) == 0
        data = pack(source.read_bytes())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert fix(out, "--kernel", "5.10", "-") == 0
        assert out.read_bytes() == (tmp_path / "expected").read_bytes()
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
        writer.start()
        assert fix(out, "--kernel", "5.10", pipe) == 0
        writer.join()
        pipe.unlink()
        assert out.read_bytes() == (tmp_path / "expected").read_bytes()
    capsys.readouterr()
    for data in (b"", pack(EXAMPLE.read_bytes()), pack(elf.read_bytes())[:900], pack(GOLDEN.read_bytes()[:-9])):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert fix(out, "-") == 1
        assert re.match(r"pybtf: error: standard input: (?!.*/copy)", capsys.readouterr().err)


def test_what_is_compressed_is_known_by_its_contents(tmp_path: Path) -> None:
    """Not by its name. From raw BTF, OUT is raw BTF; from an ELF file, it is an ELF file."""
    elf, out = tmp_path / "in.elf", tmp_path / "out"
    elf.write_bytes(EXAMPLE.read_bytes())
    assert main(["encode", "-q", str(elf)]) == 0
    for source, name in ((GOLDEN, "x.btf.xz"), (GOLDEN, "x"), (elf, "x.ko.xz"), (elf, "x")):
        assert fix(tmp_path / "expected", "--kernel", "5.10", source) == 0
        packed = tmp_path / name
        packed.write_bytes(lzma.compress(source.read_bytes()))
        assert fix(out, "--kernel", "5.10", packed) == 0
        assert out.read_bytes() == (tmp_path / "expected").read_bytes()
    raw = tmp_path / "x.gz"
    raw.write_bytes(GOLDEN.read_bytes())
    assert fix(out, raw) == 0


def test_what_does_not_go_together(tmp_path: Path) -> None:
    assert main(["verify", "--rebase", str(GOLDEN), str(GOLDEN)]) == 2
    assert fix(GOLDEN, GOLDEN) == 2
    assert fix(tmp_path / "out", GOLDEN, GOLDEN) == 2
    assert fix(tmp_path / "out", "--kernel", "all", GOLDEN) == 2
    assert fix(tmp_path / "out", "--rebase", GOLDEN, GOLDEN) == 2
    assert not (tmp_path / "out").exists()
