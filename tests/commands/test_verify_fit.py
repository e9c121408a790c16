"""`pybtf verify`: whether modules fit their base, which may be their own, and where the base is found."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.elf.writer import put_sections
from pybtf.errors import InputError
from pybtf.verify import rules
from pybtf.verify.distilled import Targets, relocate
from pybtf.verify.fit import is_wrong
from pybtf.verify.judge import MODULE, NEWEST, USER, VMLINUX, judge
from pybtf.verify.report import summary
from pybtf.verify.sources import Source, open_source
from pybtf.verify.task import Settings, on_bases, open_base, versions_for
from pybtf.verify.words import _singular
from tests.builders.elfwriter import Section, elf
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT, RunCli, environment
from tests.encode import test_split as split_modules
from tools.golden.minimal_btf import (
    ARRAY,
    DECL_TAG,
    ENUM,
    ENUM64,
    FUNC,
    FWD,
    INT,
    PTR,
    TYPE_TAG,
    TYPEDEF,
    Maker,
)

Verify = Callable[..., tuple[int, str]]


def split(base: Maker, own: Maker) -> bytes:
    """Split BTF: what `own` has after what it has in common with `base`."""
    words = own.words[len(base.words) :]
    return raw_btf(words, bytes(own.strings[len(base.strings) :]))


def copy(maker: Maker) -> Maker:
    made = Maker()
    made.words, made.strings, made.known = list(maker.words), bytearray(maker.strings), dict(maker.known)
    return made


BASE = Maker().add(PTR, 0, 0).struct("list_head", 16, ("next", 2, 0), ("prev", 2, 64)).proto(1, ("x", 1))
OTHER = Maker().add(INT, "another", 4, 32).add(PTR, 0, 1).struct("list_head", 16, ("next", 3, 0)).proto(1, ("y", 2))


def module() -> bytes:
    own = copy(BASE).add(FUNC, "init", 4).struct("mine", 24, ("list", 3, 0), ("x", 1, 128)).add(PTR, 0, 6)
    return split(BASE, own)


@pytest.fixture
def bases(tmp_path: Path) -> tuple[Path, Path, Path]:
    paths = tmp_path / "right.btf", tmp_path / "wrong.btf", tmp_path / "module.btf"
    for path, data in zip(paths, (BASE.make(), OTHER.make(), module()), strict=True):
        path.write_bytes(data)
    return paths


def test_a_module_fits_its_base(verify: Verify, bases: tuple[Path, Path, Path]) -> None:
    right, wrong, module = bases
    status, text = verify("--base", right, module)
    assert (status, text.splitlines()[0]) == (0, f"{module}: accepted on {right} (kernel 7.3, loader module; 3 types)")
    status, text = verify("--base", wrong, module)
    assert status == 1
    assert text.startswith(f"{module}: does not belong to {wrong}; kernel 7.3 ")
    assert text.splitlines()[1] == "  name the BTF of the kernel for which it was built, with --base"


def test_what_stands_alone_fits_no_base(verify: Verify, bases: tuple[Path, Path, Path], tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.write_bytes(Maker().add(TYPEDEF, "x", 1).add(TYPEDEF, "y", 2).add(TYPEDEF, "zzzzzz", 2).make())
    status, text = verify("--base", bases[0], alone)
    assert status == 1
    assert "it stands alone, as with pybtf encode --standalone, and is not split from a base" in text.splitlines()[1]


def test_a_folder_without_modules_does_not_stop_the_others(
    verify: Verify, bases: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    right, _, module = bases
    empty = tmp_path / "empty"
    empty.mkdir()
    status, text = verify("--json", "--base", right, empty, *[module] * 9)
    folder, *_, one = json.loads(text)["files"]
    assert (status, folder["file"], folder["status"]) == (1, str(empty), 1)
    assert "a folder without modules" in folder["error"]
    assert (one["file"], one["error"], one["verdict"]) == (str(module), None, "accepted")


def test_a_base_beside_one_file_is_none_of_files_elsewhere(verify: Verify, tmp_path: Path) -> None:
    """So neither order nor number of workers matters."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    alone = tmp_path / "there" / "alone"
    alone.write_bytes(copy(BASE).make())
    files = [tmp_path / "here" / "vmlinux", tmp_path / "here" / "one", alone, tmp_path / "there" / "split"]
    files[0].write_bytes(copy(BASE).make())
    for each in (files[1], files[3]):
        each.write_bytes(split(BASE, copy(BASE).add(TYPEDEF, "mine", 1)))
    wanted = None
    for order in ([*files, *[alone] * 6], [*reversed(files), *[alone] * 6]):
        for jobs in (1, 4):
            status, text = verify("--json", "-j", jobs, *order)
            found = json.loads(text)
            by_file = {each["file"]: each for each in found["files"]}
            assert (status, found["bases"]) == (1, [])
            assert [by_file[str(each)].get("base") for each in files] == [None, str(files[0]), None, None]
            assert [by_file[str(each)].get("verdict") for each in files] == ["accepted"] * 3 + [None]
            wanted = wanted or by_file
            assert by_file == wanted


def test_of_several_bases_the_right_one_is_found(verify: Verify, bases: tuple[Path, Path, Path]) -> None:
    right, wrong, module = bases
    for order in ((right, wrong), (wrong, right)):
        status, text = verify("--base", order[0], "--base", order[1], module)
        assert status == 0
        assert f"fits {right}, and none of the other bases" in text
        strictly = verify("--strict", "--base", order[0], "--base", order[1], module)
        assert strictly == (status, text)  # nothing is wrong with it


def test_a_kernel_whose_own_btf_is_refused_takes_none_of_modules(verify: Verify, tmp_path: Path) -> None:
    base = copy(BASE).add(ENUM64, "wide", 8)
    below, own, wrong = tmp_path / "vmlinux", tmp_path / "module.btf", tmp_path / "wrong.btf"
    below.write_bytes(base.make())
    own.write_bytes(split(base, copy(base).add(TYPEDEF, "mine", 1)))
    wrong.write_bytes(split(base, copy(base).add(TYPEDEF, "mine", 99)))
    note = f"  {below} itself is refused: EINVAL"
    for given in (["--base", str(below)], []):
        status, text = verify("--kernel", "5.15", *given, own)
        assert (status, text.splitlines()[1:]) == (1, [note])
        assert text.startswith(f"{own}: rejected on {below}: EINVAL (kernel 5.15, loader module); the module is not ")
        status, text = verify("--kernel", "all", *given, own)
        assert (status, text.splitlines()[1:]) == (0, [
            "  4.18 before 5.11  not read", "  5.11 before 6.0   EINVAL: its vmlinux is refused",
            "   6.0 and newer    accepted",
        ])  # fmt: skip
    assert verify("--kernel", "6.0", "--base", below, own)[0] == 0
    (found,) = json.loads(verify("--json", "--kernel", "5.15", "--base", below, own)[1])["files"]
    assert (found["verdict"], found["errno"]) == ("rejected", "EINVAL")
    (found,) = json.loads(verify("--json", "--kernel", "5.15", "--base", below, wrong)[1])["files"]
    assert (found["verdict"], found["errno"]) == ("wrong base", "EINVAL")


def test_a_base_of_its_own_and_a_kernel_whose_btf_is_refused(verify: Verify, tmp_path: Path) -> None:
    """6.12 refuses it because of a flag that 6.15 knows."""
    below, path = tmp_path / "vmlinux", tmp_path / "m.ko"
    below.write_bytes(Maker().struct("list_head", 16).add(TYPE_TAG, "tag", 1, flag=1).make())
    base = Maker().struct("list_head", 16)
    own = split(base, copy(base).add(TYPEDEF, "mine", 2))
    path.write_bytes(elf([Section(".BTF", own), Section(".BTF.base", base.make())]).data)
    status, text = verify("--kernel", "6.12", "--base", below, path)
    assert (status, text.splitlines()[1:]) == (1, [f"  {below} itself is refused: EINVAL"])
    assert text.startswith(f"{path}: rejected on {below}: EINVAL (kernel 6.12, loader module); the module is not ")
    assert verify("--kernel", "6.15", "--base", below, path)[0] == 0
    for given in (["--base", str(below)], []):
        status, text = verify("--kernel", "5.10", *given, path)
        assert (status, text) == (0, f"{path}: not read (kernel 5.10, loader module)\n")


def test_what_a_kernel_does_not_read(verify: Verify, bases: tuple[Path, Path, Path]) -> None:
    """BTF of modules before 5.11, and its own before 5.5."""
    right, wrong, module = bases
    for below in (right, wrong):
        assert verify("--kernel", "5.10", "--base", below, module) == (
            0, f"{module}: not read (kernel 5.10, loader module)\n"
        )  # fmt: skip
    damaged = right.parent / "damaged.btf"
    damaged.write_bytes(Maker().add(TYPEDEF, "a-b", 1).make())
    options = "--strict", "--loader", "vmlinux", "--kernel"
    assert verify(*options, "5.4", damaged) == (0, f"{damaged}: not read (kernel 5.4, loader vmlinux)\n")
    assert verify(*options, "5.5", damaged)[0] == 1
    text = verify("--kernel", "5.10", "--base", right, module, wrong)[1]
    assert text.splitlines()[-1] == "2 files: 0 accepted, 2 not read"
    (found,) = json.loads(verify("--json", "--kernel", "5.10", "--base", right, module)[1])["files"]
    assert (found["verdict"], found["errno"], found["findings"]) == ("not read", None, [])


def test_split_btf_needs_a_base(bases: tuple[Path, Path, Path]) -> None:
    assert main(["verify", str(bases[2])]) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 bytes are left, the record needs 1 more", "1 byte is left, the record needs 1 more"),
        ("1 bytes belong to no section", "1 byte belongs to no section"),
        ("1 elements, but this kind has none", "1 element, but this kind has none"),
        ("11 bytes are left", "11 bytes are left"),
    ],
)
def test_one_is_no_plural(text: str, shown: str) -> None:
    assert _singular(text) == shown


def test_one_type_is_no_plural(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf((1, 1 << 24, 4, 32), b"\0int\0"))
    assert verify(path) == (0, f"{path}: accepted (kernel 7.3, loader user; 1 type)\n")


def test_btf_that_is_not_split_is_not_called_split(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf((), b"\0"))
    assert main(["verify", "--loader", "module", str(path)]) == 1
    said = capfdbinary.readouterr().err.decode()
    assert f"{path}: BTF that is not split from a base, and no base is given" in said
    assert "--base FILE" in said


@pytest.mark.parametrize("packed", [False, True])
def test_a_module_with_dwarf_and_without_btf(packed: bool, tmp_path: Path, run_cli: RunCli) -> None:
    """The proposed command makes BTF from it."""
    plain = path = tmp_path / "x.ko"
    plain.write_bytes(split_modules.module("gcc", "reuse").read_bytes())
    put_sections(plain, {".gnu.linkonce.this_module": bytes(64)})
    if packed:
        path = tmp_path / "x.ko.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
    done = run_cli("dedup", path, "-o", "-")
    assert done.returncode == 1
    detached = " --detached OUT" if packed else ""
    assert f"`pybtf encode --base VMLINUX{detached} {path}` makes BTF of that." in done.stderr
    words = done.stderr.split("`")[1].replace("VMLINUX", str(split_modules.base_path("gcc")))
    words = words.replace("OUT", str(tmp_path / "out"))
    assert run_cli(*words.split()[1:]).returncode == 0


def test_dwarf_without_btf(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """In a program, whose sections alone are read, and in an object."""
    for name in ("00_kernel_like.gcc-O2-5-exe.elf", "01_char.gcc-O0-5-obj.elf"):
        path = ROOT / "fixtures" / "bin" / name
        assert main(["verify", str(path)]) == 1
        assert f"It has DWARF: `pybtf encode {path}` makes BTF of that.".encode() in capfdbinary.readouterr().err


def test_what_to_encode_is_named_as_a_shell_takes_it(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    program = (ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf").read_bytes()
    path = tmp_path / "a b.elf"
    path.write_bytes(program)
    assert main(["dedup", str(path), "-o", "-"]) == 1
    assert f"`pybtf encode '{path}'`".encode() in capfdbinary.readouterr().err
    with path.open("rb") as stream:
        command = [sys.executable, "-m", "pybtf", "dump", "-"]
        run = subprocess.run(command, stdin=stream, capture_output=True, env=environment(), check=False)
    assert run.stderr.endswith(b"It has DWARF: `pybtf encode` makes BTF of that, once it is in a file.\n")


@pytest.mark.parametrize("command", ["encode", "encode --detached -", "merge", "object"])
def test_files_that_are_mapped_cannot_be_standard_input(command: str, run_cli: RunCli) -> None:
    """Not even if the output goes to standard output, which is also called -."""
    run = run_cli(*command.split(), "-")
    assert run.returncode == 1
    assert "-: no such file. Standard input cannot take its place, since it can be read only once.\n" in run.stderr


def test_the_base_beside_is_taken(verify: Verify, bases: tuple[Path, Path, Path]) -> None:
    right, _, module = bases
    right.rename(right.parent / "vmlinux")
    status, text = verify(module)
    assert (status, f"accepted on {right.parent / 'vmlinux'}" in text) == (0, True)


def middle(count: int) -> bytes:
    """Split BTF with this many names that begin in the middle of `list_head`."""
    own = copy(BASE)
    for number in range(count):
        own.add(TYPEDEF, BASE.known[b"list_head"] + 1 + number, 1)
    return split(BASE, own)


def test_no_base_is_beside_standard_input(
    verify: Verify, bases: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even in the working folder."""
    base, _, module = bases
    (tmp_path / "vmlinux").write_bytes(base.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(module.read_bytes())))
    assert verify("-") == (1, "")


@pytest.mark.parametrize("count", [1, 9])
def test_a_bug_is_not_a_verdict(verify: Verify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """In this process, and in a worker."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("pybtf.verify.task.run", fail)
    paths = [tmp_path / f"{number}.btf" for number in range(count)]
    for path in paths:
        path.write_bytes(BASE.make())
    status, _ = verify(*paths)
    assert status == 70


def test_one_name_in_the_middle_is_no_proof() -> None:
    base = judge(BASE.make(), VMLINUX).layer
    wrong = [is_wrong(judge(middle(count), MODULE, base=base)) for count in (0, 1, 2)]
    assert wrong == [False, False, True]


def test_a_tag_on_what_has_none_is_a_proof() -> None:
    base = judge(BASE.make(), VMLINUX).layer
    for id, wrong in ((1, True), (3, False)):  # an int, a struct
        own = copy(BASE).add(DECL_TAG, "tag", id, 0xFFFFFFFF)
        assert is_wrong(judge(split(BASE, own), MODULE, base=base)) == wrong


def test_members_over_each_other() -> None:
    base = judge(BASE.make(), VMLINUX).layer
    own = copy(BASE).struct("s", 24, ("a", 3, 0), ("b", 1, 64), ("c", 1, 128)).struct("t", 8, ("a", 1, 0), ("b", 1, 0))
    judged = judge(split(BASE, own), MODULE, base=base)
    assert [(rules.RULES[finding[0]].key, finding[2]) for finding in judged.found] == [("OVERLAP", 1)]


# A base of a module's own


def relocated(below: Maker, own: Maker, vmlinux: Maker) -> list[tuple[int, str]]:
    base = judge(below.make(), VMLINUX).layer
    there = judge(vmlinux.make(), VMLINUX).layer
    assert base is not None
    assert there is not None
    module = judge(split(below, own), MODULE, base=base).layer
    assert module is not None
    return relocate(base, module, Targets(there))


VMLINUX_TYPES = (
    Maker()
    .struct("list_head", 16)
    .struct("task_struct", 64, flag=1)
    .struct("twice", 8)
    .struct("twice", 16)
    .struct("same", 8)
    .struct("same", 8)
    .add(ENUM, "color", 4)
    .add(ENUM64, "wide", 8)
)


@pytest.mark.parametrize(
    ("below", "embedded", "fits"),
    [
        (Maker().struct("list_head", 16), True, True),
        (Maker().struct("list_head", 24), True, False),
        (Maker().struct("list_head", 24), False, True),
        (Maker().struct("nothing", 8), False, False),
        (Maker().struct("twice", 8), False, True),
        (Maker().struct("twice", 24), False, False),
        (Maker().struct("same", 8), False, False),
        (Maker().add(FWD, "list_head", 0), False, True),
        (Maker().add(FWD, "task_struct", 0), False, False),
        (Maker().add(ENUM, "color", 4), False, True),
        (Maker().add(ENUM, "color", 2), False, False),
        (Maker().add(ENUM, "wide", 8), False, True),
        (Maker().add(ENUM64, "wide", 8), False, False),
        (Maker().struct(0, 8), False, False),
        (Maker().add(TYPEDEF, "list_head", 1), False, False),
        (Maker().add(INT, "int", 8, 64), False, False),
    ],
)
def test_a_type_of_the_modules_own_base(below: Maker, embedded: bool, fits: bool) -> None:
    """As 6.12, 7.2 and 7.3 answer for altered modules."""
    own = copy(below)
    if embedded:
        own.struct("mine", 32, (0, 2, 0))
    else:
        own.add(PTR, 0, 2)
    assert (relocated(below, own, VMLINUX_TYPES) == []) == fits


def test_names_below_are_those_of_types() -> None:
    below = Maker().struct("list_head", 16)
    below.name("other")
    own = copy(below).struct("mine", 4, ("other", 1, 0))
    ((code, text),) = relocated(below, own, VMLINUX_TYPES)
    assert (code, "'other'" in text) == (2, True)


def test_what_is_in_an_array_is_embedded() -> None:
    below = Maker().struct("list_head", 24)
    own = copy(below).add(ARRAY, 0, 0, 2, 1, 2).struct("mine", 48, ("lists", 3, 0))
    ((code, text),) = relocated(below, own, VMLINUX_TYPES)
    assert (code, text.endswith("24 bytes, in vmlinux 16")) == (22, True)


@pytest.mark.parametrize(("size", "fits"), [(4, True), (8, False)])
def test_a_struct_that_vmlinux_has_as_a_number_has_its_size(size: int, fits: bool) -> None:
    below = Maker().struct("color", size)
    assert (relocated(below, copy(below).add(PTR, 0, 2), VMLINUX_TYPES) == []) == fits


def test_an_enum_of_the_name_does_not_make_a_struct_one_of_several() -> None:
    """The size of one that is not embedded counts only among several structs and unions."""
    below, vmlinux = Maker().struct("mixed", 24), Maker().struct("mixed", 8).add(ENUM, "mixed", 4)
    assert relocated(below, copy(below).add(PTR, 0, 2), vmlinux) == []


@pytest.mark.parametrize("count", [10, 12])
def test_ten_types_that_do_not_match_are_named(count: int, verify: Verify, tmp_path: Path) -> None:
    below, path = tmp_path / "vmlinux", tmp_path / "m.ko"
    below.write_bytes(VMLINUX_TYPES.make())
    base = Maker()
    for number in range(count):
        base.struct(f"gone{number}", 8)
    path.write_bytes(
        elf([Section(".BTF", split(base, copy(base).add(PTR, 0, 2))), Section(".BTF.base", base.make())]).data
    )
    notes = verify("--base", below, path)[1].splitlines()[1:]
    assert sum("no type of this name" in line for line in notes) == 10
    assert notes[10:] == (["  and 2 more"] if count > 10 else [])


def test_a_base_of_its_own_is_read_since_6_11(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "m.ko"
    base = Maker().struct("list_head", 16)
    own = split(base, copy(base).add(TYPEDEF, "mine", 2))
    path.write_bytes(elf([Section(".BTF", own), Section(".BTF.base", base.make())]).data)
    status, text = verify("--kernel", "6.10", path)
    assert (status, text.splitlines()[1:]) == (1, [
        "  before 6.11 a kernel ignores .BTF.base, and reads .BTF as if it were split from vmlinux",
    ])  # fmt: skip
    assert verify("--kernel", "6.11", path)[0] == 0


# Several bases


def sources(path: Path, data: bytes, release: str | None = None) -> Source:
    return Source(str(path), data, MODULE, True, 8, release=release)


def test_the_version_is_that_of_the_base_or_of_the_file(bases: tuple[Path, Path, Path]) -> None:
    base, asked = open_base(str(bases[0]), []), Settings([], None, [])
    for of_base, of_file, version in (("6.1.0-2", "5.15.3", 601), (None, "5.15.3", 515), (None, None, NEWEST)):
        base.release = of_base
        assert versions_for(sources(bases[2], b"", of_file), asked, base) == [version]


def test_what_is_no_base(bases: tuple[Path, Path, Path], tmp_path: Path) -> None:
    without = elf([Section(".gnu.linkonce.this_module", bytes(8), flags=2)], type="ET_REL").data
    for data, message in (
        (bases[2].read_bytes(), "no BTF that stands alone"),
        (without, "no BTF that stands alone"),
        (BASE.make()[:20], "damaged BTF: the header claims 24 bytes, more than there are"),
    ):
        path = tmp_path / "base"
        path.write_bytes(data)
        with pytest.raises(InputError, match=message):
            open_base(str(path), [])


def test_of_bases_that_all_fit_that_of_the_release_is_taken(bases: tuple[Path, Path, Path]) -> None:
    right, _, module = bases
    same = right.parent / "same.btf"
    same.write_bytes(right.read_bytes())
    opened = [open_base(str(path), []) for path in (right, same)]
    opened[0].release, opened[1].release = "6.1.0-1", "6.1.0-2"
    settings = Settings([], None, opened)
    for release, base, note in (
        ("6.1.0-1", right, "fits 2 of the bases; for 6.1.0-1 it says it was built"),
        ("6.1.0-2", same, "fits 2 of the bases; for 6.1.0-2 it says it was built"),
        (None, right, f"nothing tells which of these it belongs to: {right}, {same}"),
    ):
        result = on_bases(sources(module, module.read_bytes(), release), settings, opened)
        told = [note] if release is None else []
        assert (result["base"], result["notes"], result["fits"]) == (str(base), told, None if told else note)


def test_a_base_of_the_release_that_does_not_fit_is_another_build(bases: tuple[Path, Path, Path]) -> None:
    """Advising to get the BTF of that kernel would ask for what is already there."""
    _, wrong, module = bases
    opened = open_base(str(wrong), [])
    opened.release = "6.1.0-1"
    for release, note in (
        ("6.1.0-1", "the base is of 6.1.0-1, too, but of another build or with other features: name the BTF that"),
        ("6.1.0-2", "name the BTF of kernel 6.1.0-2, for which it was built, with --base"),
    ):
        result = on_bases(sources(module, module.read_bytes(), release), Settings([], None, [opened]), [opened])
        assert result["notes"][0].startswith(note)


def test_of_bases_that_do_not_fit_the_nearest_is_told_of(verify: Verify, bases: tuple[Path, Path, Path]) -> None:
    """The base with the least evidence against it: here, only a function without a prototype."""
    _, wrong, module = bases
    near = wrong.parent / "near.btf"
    near.write_bytes(Maker().add(TYPEDEF, "list_head", 1).add(TYPEDEF, "b", 1).add(TYPEDEF, "c", 1).make())
    for order in ((wrong, near), (near, wrong)):
        status, text = verify("--base", order[0], "--base", order[1], module)
        assert status == 1
        assert text.startswith(f"{module}: does not belong to {near}; ")
        assert "fits none of the 2 bases; this is about the nearest" in text


def test_what_a_kernel_would_load_on_a_wrong_base_is_counted() -> None:
    rows = [{"error": None, "verdict": "wrong base", "errno": errno} for errno in ("EINVAL", None, None)]
    assert summary(rows) == "3 files: 0 accepted, 3 do not belong to the base (2 of them a kernel would load)"


# Who loads a file


@pytest.mark.parametrize("type", [1, 2, 3])
def test_a_file_with_a_base_of_its_own_is_a_module(type: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    base = Section(".BTF.base", Maker().struct("list_head", 16).make())
    for sections, loader in (([], USER), ([base], MODULE)):
        path.write_bytes(elf([Section(".BTF", BASE.make()), *sections], type=type).data)
        assert open_source(str(path)).loader == loader


def test_files_of_the_running_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path.resolve()
    monkeypatch.setattr("pybtf.verify.sources.RUNNING", str(folder / "vmlinux"))
    monkeypatch.setattr("pybtf.verify.sources._RUNNING_FOLDER", str(folder))
    for name, loader in (("vmlinux", VMLINUX), ("ext4", MODULE)):
        (folder / name).write_bytes(BASE.make())
        source = open_source(str(folder / name))
        assert (source.loader, source.release) == (loader, os.uname().release)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ext4").write_bytes(BASE.make())
    assert open_source(str(tmp_path / "other" / "ext4")).loader == USER
