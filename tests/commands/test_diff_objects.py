"""`pybtf diff --object`: CO-RE relocations on two kernels. The findings agree with libbpf (fixtures/diff)."""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path

import pytest

from pybtf import BTF, Builder
from pybtf.btf.core_relocation import Relocator, Target
from pybtf.btf.ext import Relocation
from pybtf.btf.ext import RelocationKind as K
from pybtf.btf.types import Int, Member, Struct, Type
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.differences.objects import BROKEN, Outcome, Spelling, Texts, cut, diff_objects, lines
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, bare
from tests.conftest import ROOT, Noted
from tools.compare import diff_objects as tool
from tools.compare.diff_objects import faults, told
from tools.judge import reference

FOLDER = ROOT / "fixtures" / "diff"
OLD, NEW = str(FOLDER / "old.btf"), str(FOLDER / "new.btf")
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.o"))
ANSWERS = json.loads((FOLDER / "libbpf.json").read_text())


def test_programs() -> None:
    assert sorted(ANSWERS) == PROGRAMS
    assert len(PROGRAMS) == 5


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("swapped", [False, True])
def test_what_libbpf_finds(name: str, swapped: bool) -> None:
    one, other = ({(kind, about): row[side] for kind, about, *row in ANSWERS[name]} for side in (0, 1))
    kernels = [OLD, NEW]
    if swapped:
        one, other = other, one
        kernels.reverse()
    assert faults(one, other, told(str(FOLDER / f"{name}.o"), *kernels)) == []


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    status = main(["diff", *arguments])
    return status, capsys.readouterr().out.splitlines()


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Text written by hand, for 1_gone.c, 3_size.c and the two kernels."""
    gone, sizes = str(FOLDER / "1_gone.o"), str(FOLDER / "3_size.o")
    assert output(capsys, "--object", gone, "--object", sizes, OLD, NEW) == (0, [
        f"{gone}: 3 relocations, 1 broken, 2 changed",
        "- struct task_struct.thread_group: offset 24 -> nothing",
        "      gone, 1_gone.c:9: return t->pid + (t->thread_group.next == 0);",
        "~ struct task_struct.in_user_fault: exists 1 -> 0",
        '      gone, 1_gone.c:5: SEC("raw_tp/1") int gone(struct task_struct *t)',
        "~ struct task_struct.pid: offset 12 -> 16",
        "      gone, 1_gone.c:9: return t->pid + (t->thread_group.next == 0);",
        f"{sizes}: 5 relocations, 4 changed",
        "~ struct sock.sk_userlocks: offset 12 -> 8",
        "      sizes, 3_size.c:7: __builtin_memcpy(&value, (char *)s + OFFSET(s->sk_userlocks), 1);",
        "~ struct sock.sk_userlocks: right shift 60 -> 56",
        "      sizes, 3_size.c:9: value >>= RSHIFT(s->sk_userlocks);",
        "~ struct sock.sk_tsflags: offset 14 -> 12, size of the member 2 -> 4",
        "      sizes, 3_size.c:10: return s->sk_tsflags + BYTES(s->sk_gso_type) + value;",
        "~ struct sock.sk_gso_type: size 4 -> 2",
        "      sizes, 3_size.c:10: return s->sk_tsflags + BYTES(s->sk_gso_type) + value;",
    ])  # fmt: skip


def test_same_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    for name in PROGRAMS:
        path = str(FOLDER / f"{name}.o")
        status, text = output(capsys, "--object", path, "--fail-on", "any", OLD, OLD)
        assert (status, len(text)) == (0, 1)
        assert text[0].endswith("all as before")


def test_status_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    gone, moved = str(FOLDER / "1_gone.o"), str(FOLDER / "2_moved.o")
    assert output(capsys, "--object", gone, "--fail-on", "relocation", OLD, NEW)[0] == 1
    assert output(capsys, "--object", moved, "--fail-on", "relocation", OLD, NEW)[0] == 0
    assert output(capsys, "--object", moved, "--fail-on", "any", OLD, NEW)[0] == 1
    assert main(["diff", "--json", "--object", gone, OLD, NEW]) == 0
    (each,) = json.loads(capsys.readouterr().out)["objects"]
    assert (each["relocations"], each["broken"], each["changed"], each["found"], each["unclear"]) == (3, 1, 2, 0, 0)
    assert each["results"][0] == {
        "what": "broken", "field": "struct task_struct.thread_group", "kind": "offset", "old": 24, "new": None,
        "places": [{
            "section": "raw_tp/1", "offset": each["results"][0]["places"][0]["offset"], "function": "gone",
            "file": "1_gone.c", "line": 9, "source": "return t->pid + (t->thread_group.next == 0);",
        }],
    }  # fmt: skip


def module(folder: Path, kernel: str, base: Path, name: str) -> str:
    """A module that defines everything in the BTF of a kernel, split from `base`."""
    builder = Builder(BTF.from_file(base))
    builder.append(BTF.from_file(kernel))
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(builder.to_bytes())
    return str(path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_types_that_only_a_module_has(name: str, tmp_path: Path) -> None:
    """What libbpf finds in a kernel is found in a module if the kernel itself has no such types."""
    base = tmp_path / "base.btf"
    base.write_bytes(Builder().to_bytes())
    empty = BTF.from_file(base)
    path = FOLDER / f"{name}.o"
    olds, news = ([module(tmp_path, each, base, f"{at}.ko")] for at, each in enumerate((OLD, NEW)))
    expected = diff_objects([path], BTF.from_file(OLD), BTF.from_file(NEW))
    assert diff_objects([path], empty, empty, olds, news) == expected
    assert diff_objects([path], BTF.from_file(OLD), empty, [], news) == expected
    (lost,) = diff_objects([path], BTF.from_file(OLD), empty)
    assert lost.count(BROKEN) > 0


def test_modules_are_asked_last_and_must_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, new = tmp_path / "empty.btf", tmp_path / "new.btf"
    empty.write_bytes(Builder().to_bytes())
    new.write_bytes(Path(NEW).read_bytes())
    sizes = str(FOLDER / "3_size.o")
    module(tmp_path / "on-new", OLD, new, "a.ko")
    for name, kernel in (("a.ko", OLD), ("b.ko", NEW), ("c.ko", NEW)):
        module(tmp_path / "one-each", kernel, empty, name)
    bases = ("--old-base", OLD, "--new-base")
    plain = output(capsys, "--object", sizes, OLD, NEW)
    module(tmp_path / "on-old", NEW, Path(OLD), "a.ko")
    sides = tmp_path / "on-old", tmp_path / "on-new"
    assert output(capsys, "--object", sizes, *bases, str(new), *map(str, sides)) == plain
    assert output(capsys, "--object", sizes, *bases, str(new), *(str(each / "a.ko") for each in sides)) == plain
    status, text = output(
        capsys, "--object", sizes, "--fail-on", "any", *bases, str(empty), str(sides[0]), str(tmp_path / "one-each")
    )
    assert status == 1
    assert any("modules disagree" in line for line in text), text
    one_each = *bases, str(empty), str(sides[0]), str(tmp_path / "one-each")
    assert output(capsys, "--object", sizes, "--fail-on", "relocation", *one_each)[0] == 1
    assert main(["diff", "--object", sizes, str(sides[0]), str(sides[1])]) == 2
    assert "--old-base" in capsys.readouterr().err


def test_no_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for path in (OLD, str(tmp_path / "none")):
        assert main(["diff", "--object", path, OLD, NEW]) == 1
        assert capsys.readouterr().err.startswith(f"pybtf: error: {path}")


def test_damaged(tmp_path: Path) -> None:
    """Damage in the object gives findings or one error."""
    chance = random.Random(4)
    old, new = BTF.from_file(OLD), BTF.from_file(NEW)
    path = tmp_path / "x.o"
    counts = [0, 0]
    for _ in range(300):
        data = bytearray((FOLDER / f"{chance.choice(PROGRAMS)}.o").read_bytes())
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(64, len(data))] = chance.choice((0, 1, 2, 0x7F, 0xFF, chance.randrange(256)))
        path.write_bytes(data)
        try:
            for found in diff_objects([path], old, new):
                counts[0] += found.count(BROKEN)
                lines(found)
        except InputError:
            counts[1] += 1
    assert all(counts)


def test_a_bpftool_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tool that compares, a failure must not look like nothing found on either side."""
    monkeypatch.setattr(reference, "bpftool", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(tool.Failed, match="status 3"):
        tool.answers(OLD, "x.o")


def made(types: list[Type]) -> BTF:
    builder = BtfBuilder()
    builder.extend(types)
    return BTF.from_bytes(builder.tobytes())


def program(types: list[Type], rows: list[tuple[int, str, K]]) -> bytes:
    """A BPF object with these relocations, and no code."""
    builder = BtfBuilder()
    builder.extend(types)
    words = [(8 * at, type, builder.string(access), kind) for at, (type, access, kind) in enumerate(rows)]
    data = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, 0, 0, 0, 0, 12 + 16 * len(rows))
    data += struct.pack("<III", 16, 0, len(rows)) + b"".join(struct.pack("<4I", *row) for row in words)
    return bare([Section(".BTF", builder.tobytes()), Section(".BTF.ext", data)], machine=247)


def test_what_is_told_of_each_kind(tmp_path: Path) -> None:
    """Not reported are other ids of types, and sizes of what only has to exist; local ids do not depend on a kernel."""
    t = Struct("t", 4, (Member("a", 2, 0),))
    local: list[Type] = [Struct("s", 16, (Member("a", 2, 0), Member("b", 2, 64))), Int("int", 4, 32), t]
    kernels: list[list[Type]] = [
        local,
        [
            Int("short", 2, 16), Struct("s", 16, (Member("a", 1, 0), Member("b", 1, 32))),
            Struct("t", 4, (Member("a", 1, 0),)),
        ],
    ]  # fmt: skip
    rows = [
        (1, "0", K.TYPE_ID_LOCAL), (1, "0", K.TYPE_ID_TARGET), (1, "0:0", K.FIELD_EXISTS), (3, "0", K.TYPE_MATCHES),
        (1, "0:0", K.FIELD_BYTE_OFFSET), (1, "2:1", K.FIELD_BYTE_OFFSET), (1, "0:1", K.FIELD_BYTE_SIZE),
    ]  # fmt: skip
    path = tmp_path / "x.o"
    path.write_bytes(program(local, rows))
    (found,) = diff_objects([path], made(kernels[0]), made(kernels[1]))
    assert found.relocations == 6
    assert [(each.what, each.field, each.kind, each.old, each.new) for each in found.outcomes] == [
        ("changed", "struct t", "matches", 1, 0), ("changed", "struct s.a", "offset", 0, 0),
        ("changed", "struct s[2].b", "offset", 40, 36), ("changed", "struct s.b", "size", 4, 2),
    ]  # fmt: skip
    assert [(each.old_size, each.new_size) for each in found.outcomes] == [(None, None), (4, 2), (4, 2), (4, 2)]


def test_of_a_type_that_is_gone_the_loader_puts_in_0(tmp_path: Path) -> None:
    """The program still loads; without a member it would not."""
    local: list[Type] = [Struct("s", 4, (Member("a", 2, 0),)), Int("int", 4, 32)]
    path = tmp_path / "x.o"
    path.write_bytes(program(local, [(1, "0", K.TYPE_SIZE), (1, "0", K.TYPE_ID_TARGET), (1, "0:0", K.FIELD_BYTE_SIZE)]))
    (found,) = diff_objects([path], made(local), made(local[1:]))
    told = [line for line in lines(found) if line.startswith("- ")]
    assert told == ["- struct s: size 4 -> 0", "- struct s: type id 1 -> 0", "- struct s.a: size 4 -> nothing"]


def compared(tmp_path: Path, content: bytes, old: BTF, new: BTF) -> tuple[Outcome, ...]:
    path = tmp_path / "x.o"
    path.write_bytes(content)
    return diff_objects([path], old, new)[0].outcomes


def test_what_is_about_very_long_names_is_short(tmp_path: Path) -> None:
    """In a small object, thousands of relocations may be about one name, and each may be reported."""
    name = "n" * 100_000
    kernels = [made([Int("int", 4, 32), Struct(name, 12, (Member("m", 1, at),))]) for at in (0, 32)]
    types: list[Type] = [Int("int", 4, 32), Struct(name, 8, (Member("m", 1, 0), Member(name, 1, 32)))]
    rows = [(2, "0:0", K.FIELD_BYTE_OFFSET), (2, "0:1", K.TYPE_SIZE), (2, "0:2", K.FIELD_EXISTS)]
    found = compared(tmp_path, program(types, rows), *kernels)
    assert [each.what for each in found] == ["changed", "unclear", "unclear"]
    assert all(len(each.field) < 2000 and len(each.note) < 3000 for each in found)
    assert found[0].field.startswith("struct nnn")


def test_a_way_that_is_too_long_is_not_followed(tmp_path: Path) -> None:
    """A struct may contain itself as a member with a long name. Each step would add that name to the text."""
    types: list[Type] = [Int("int", 4, 32), Struct("s", 8, (Member("n" * 4000, 2, 0),))]
    found = compared(tmp_path, program(types, [(2, "0" + ":0" * 5000, K.FIELD_EXISTS)]), made(types), made(types))
    assert [each.what for each in found] == ["unclear"]
    assert "more than 64 steps" in found[0].note
    assert len(found[0].field) < 1000
    found = compared(tmp_path, program(types, [(2, "0" + ":0" * 60, K.FIELD_SIGNED)]), made(types), made([types[0]]))
    assert len(found[0].field) < 1000


def test_a_line_of_source_that_is_very_long_is_cut() -> None:
    assert cut("x" * 4096) == "x" * 4096
    assert len(cut("x" * 100_000)) < 1000


def test_what_is_said_of_many_relocations_gets_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each relocation takes 16 bytes, and may be about the longest name that is not cut."""
    name = "n" * 4000
    types: list[Type] = [Int("int", 4, 32), Struct(name, 8, (Member("m", 1, 0),))]
    rows = [(2, f"{element}:1", K.FIELD_EXISTS) for element in range(100)]
    monkeypatch.setattr("pybtf.differences.objects.MAX_TEXTS", 100_000)
    found = compared(tmp_path, program(types, rows), made(types), made(types))
    assert len(found) == 100
    assert found[0].field == f"struct {name}, '0:1'"
    assert len({each.field for each in found}) > 10
    assert max(len(each.field) + len(each.note) for each in found[-50:]) < 200


def with_a_line(tmp_path: Path, file: str, source: str, count: int) -> Outcome:
    """The report about so many relocations, all from one source line and about one member, which moves."""
    types: list[Type] = [Int("int", 4, 32), Struct("s", 8, (Member("m", 1, 0),))]
    builder = BtfBuilder()
    builder.extend(types)
    line = struct.pack("<III4I", 16, 0, 1, 0, builder.string(file), builder.string(source), 1 << 10)
    wanted = struct.pack("<4I", 0, 2, builder.string("0:0"), K.FIELD_BYTE_OFFSET) * count
    data = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, 0, 0, len(line), len(line), 12 + len(wanted))
    data += line + struct.pack("<III", 16, 0, count) + wanted
    path = tmp_path / "x.o"
    path.write_bytes(bare([Section(".BTF", builder.tobytes()), Section(".BTF.ext", data)], machine=247))
    (found,) = diff_objects([path], made(types), made([types[0], Struct("s", 8, (Member("m", 1, 32),))]))[0].outcomes
    assert len(found.spots) == count
    return found


def test_a_line_of_source_of_many_relocations_gets_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pybtf.differences.objects.MAX_TEXTS", 100_000)
    found = with_a_line(tmp_path, "x.c", "  " + "x" * 4000, 100)
    sizes = [len(spot.source) for spot in found.spots]
    assert sizes[0] == 4000
    assert sum(sizes) < 120_000


def test_the_name_of_a_file_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be megabytes long and belong to all relocations."""
    name = "f" * 1_000_000
    cuts: list[str] = []

    def note(text: str) -> str:
        cuts.append(text)
        return cut(text)

    monkeypatch.setattr("pybtf.differences.objects.cut", note)
    found = with_a_line(tmp_path, f"a/{name}", "x", 1000)
    assert cuts.count(name) == 1
    assert found.spots[-1].file == found.spots[0].file == cut(name)


def test_after_too_many_steps_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch, noted: Noted) -> None:
    """Each flavour of one name has its own list of all candidates, and there may be very many."""
    types: list[Type] = [Struct(f"s___{number}", 4) for number in range(100)]
    kernel = made([Struct("s", 4 + number) for number in range(100)])
    monkeypatch.setattr("pybtf.btf.type_compatibility.MAX_STEPS", 40 * 250)
    looked = noted(Target, "_find")
    relocator = Relocator(made(types), Target(kernel))
    for number in range(100):
        with pytest.raises(InputError):
            relocator.resolve(Relocation("x", 0, 1 + number, "0", K.TYPE_SIZE))
    assert len(looked) == 3


def test_a_type_of_the_program_is_made_once(noted: Noted) -> None:
    """For saying what relocations are about: very many may be about one type with very many members."""
    types = [Int("int", 4, 32), Struct("s", 80, tuple(Member(f"m{n}", 1, 32 * n) for n in range(20)))]
    local = made(types)
    decoded = noted(BTF, "_decode")
    spelling = Spelling(local, Texts())
    said = [spelling.of(Relocation("x", 0, 2, f"0:{n}", K.FIELD_EXISTS)) for n in range(20)]
    assert said == [f"struct s.m{n}" for n in range(20)]
    assert decoded.count(2) <= 2  # for its name, and for its members


def test_what_functions_are_is_looked_at_once(tmp_path: Path, noted: Noted) -> None:
    """Any type may be where a function should be, any number of times."""
    types = [Int("int", 4, 32), Struct("s", 80, tuple(Member(f"m{n}", 1, 32 * n) for n in range(20)))]
    functions = struct.pack("<III", 8, 0, 50) + b"".join(struct.pack("<II", 8 * n, 2) for n in range(50))
    data = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, len(functions), 0, 0, 0, 0) + functions
    local = made(types)
    decoded = noted(BTF, "_decode")
    path = tmp_path / "x.o"
    path.write_bytes(bare([Section(".BTF", bytes(local.data)), Section(".BTF.ext", data)], machine=247))
    assert diff_objects([path], local, local)[0].outcomes == ()
    assert decoded.count(2) == 1
