"""`pybtf verify` of BPF objects: their BTF is judged as a loader completes it; load.o as libbpf completed it."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf import BTF
from pybtf.btf.ext import read_object
from pybtf.btf.kinds import Linkage
from pybtf.btf.types import Datasec, Func, FuncProto, Int, Param, Ptr, SectionVar, Struct, Type, Var
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.verify.completion import Completed, complete
from pybtf.verify.judge import judge
from pybtf.verify.mending import mend_object
from pybtf.verify.sources import open_source
from tests.builders.elfwriter import Section, Symbol, bare
from tests.conftest import ROOT

FOLDER = ROOT / "fixtures" / "bpf"
LOAD = FOLDER / "load.o"
BPF = 247

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def verify(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: str | Path) -> tuple[int, str]:
        status = main(["verify", *map(str, arguments)])
        return status, capfdbinary.readouterr().out.decode()

    return call


def btf_of(types: list[Type], little: bool = True, **options: bool) -> bytes:
    builder = BtfBuilder()
    builder.extend(types)
    return builder.tobytes(little, **options)


def bpf_object(btf: bytes, *, little: bool = True, machine: int = BPF, etype: int = 1) -> bytes:
    """`.data` with a at 8 and b at 0, 16 bytes; `.bss` with c at 4, 8 bytes; an empty `.rodata`."""
    sections = [
        Section(".data", bytes(16)),
        Section(".bss", type="NOBITS", size=8),
        Section(".rodata"),
        Section(".BTF", btf),
    ]
    symbols = [
        Symbol("a", 8, 4, "OBJECT", ".data"),
        Symbol("b", 0, 8, "OBJECT", ".data"),
        Symbol("c", 4, 4, "OBJECT", ".bss"),
    ]
    return bare(sections, symbols, little=little, machine=machine, etype=etype)


def completed(types: list[Type], little: bool = True) -> tuple[Completed, BTF]:
    data = btf_of(types, little)
    found = complete(data, ElfImage("prog.bpf.o", bpf_object(data, little=little)))
    return found, BTF.from_bytes(found.data)


def entries(btf: BTF, id: int) -> tuple[int, list[tuple[int, int, int]]]:
    section = btf.type(id)
    assert isinstance(section, Datasec)
    return section.size, [(one.type, one.offset, one.size) for one in section.variables]


def variable(name: str, type: int = 1, linkage: Linkage = Linkage.GLOBAL) -> Var:
    return Var(name, type, linkage)


INT, LONG = Int("int", 4, 32), Int("long", 8, 64)


# What a loader makes of it


def test_as_libbpf_completes_it() -> None:
    """Global and static data, maps, configuration, variables and functions of the kernel, several programs."""
    source = open_source(str(LOAD))
    assert source.completed is not None
    assert source.completed.data == (FOLDER / "load.loaded.btf").read_bytes()
    assert source.completed.missing == []
    assert source.data != source.completed.data


@pytest.mark.parametrize("little", [True, False])
def test_sections_of_the_file(little: bool) -> None:
    types = [
        INT, LONG, variable("a"), variable("b", 2), variable("c"), variable("own", 1, Linkage.STATIC),
        Datasec(".data", 0, (SectionVar(3, 0, 4), SectionVar(4, 0, 8), SectionVar(6, 12, 4))),
        Datasec(".bss", 0, (SectionVar(5, 0, 4),)),
    ]  # fmt: skip
    found, btf = completed(types, little)
    assert entries(btf, 7) == (16, [(4, 0, 8), (3, 8, 4), (6, 12, 4)])
    assert entries(btf, 8) == (8, [(5, 4, 4)])
    assert found.said == ["sizes of sections: 2", "offsets of variables: 2"]
    assert found.missing == []
    assert judge(found.data, little=little).errno == 0


def test_what_a_linker_has_filled_in_stays() -> None:
    types = [INT, variable("a"), variable("c"), Datasec(".data", 99, (SectionVar(2, 40, 4), SectionVar(3, 20, 4)))]
    found, btf = completed(types)
    assert entries(btf, 4) == (99, [(3, 20, 4), (2, 40, 4)])
    assert found.said == []


def test_configuration_is_laid_out() -> None:
    """By alignment, the largest first, then by size, then by name."""
    names = {"z": 3, "y": 1, "x": 3, "w": 2, "s": 4}
    types: list[Type] = [INT, LONG, Int("char", 1, 8), Struct("three", 3)]
    types += [variable(name, type, Linkage.EXTERN) for name, type in names.items()]
    sizes = {1: 4, 2: 8, 3: 1, 4: 3}
    types.append(Datasec(".kconfig", 0, tuple(SectionVar(n, 0, sizes[t]) for n, t in enumerate(names.values(), 5))))
    found, btf = completed(types)
    assert entries(btf, 10) == (17, [(8, 0, 8), (6, 8, 4), (7, 12, 1), (5, 13, 1), (9, 14, 3)])
    assert {one.linkage for one in btf if isinstance(one, Var)} == {Linkage.GLOBAL}
    assert found.said[-1] == "extern variables and functions: 5"
    assert judge(found.data).errno == 0


def kernel_symbols(*more: Type) -> list[Type]:
    return [
        *more,
        Ptr(0),
        FuncProto(0, (Param("", 1 + len(more)), Param("", 0))),
        Func("kfunc", 2 + len(more), Linkage.EXTERN),
        variable("task", 0, Linkage.EXTERN),
        Datasec(".ksyms", 0, (SectionVar(3 + len(more), 0, 0), SectionVar(4 + len(more), 0, 1))),
    ]


@pytest.mark.parametrize("layout", [False, True])
def test_symbols_of_the_kernel(layout: bool) -> None:
    data = btf_of(kernel_symbols(INT), layout=layout)
    found = complete(data, ElfImage("prog.bpf.o", bpf_object(data)))
    btf = BTF.from_bytes(found.data)
    assert entries(btf, 6) == (8, [(7, 0, 4), (5, 4, 4)])
    assert [str(one.name) for one in btf if isinstance(one, Var)] == ["task", "dummy_ksym"]
    assert all((one.type, one.linkage) == (1, Linkage.GLOBAL) for one in btf if isinstance(one, Var))
    proto, func = btf.type(3), btf.type(4)
    assert isinstance(proto, FuncProto)
    assert isinstance(func, Func)
    assert [param.name for param in proto.params] == ["dummy_ksym", ""]
    assert func.linkage is Linkage.GLOBAL
    assert BTF.from_bytes(data).layout == btf.layout
    assert judge(found.data, version=703).errno == 0


def test_without_an_int_there_is_void() -> None:
    found, btf = completed(kernel_symbols())
    assert [one.type for one in btf if isinstance(one, Var)] == [0, 0]
    assert judge(found.data).errno


def test_variables_become_an_int_of_32_bits() -> None:
    types = kernel_symbols(Int("bits", 4, 24), Int("long", 8, 32), INT)
    _, btf = completed(types)
    assert [one.type for one in btf if isinstance(one, Var)] == [3, 3]


def test_what_is_wrong_stays() -> None:
    extern = variable("nowhere", 1, Linkage.EXTERN)
    types = [INT, Int("odd", 3, 24, offset=9), extern, variable("a"), Datasec(".data", 0, (SectionVar(4, 0, 2),))]
    found, btf = completed(types)
    assert [one.linkage for one in btf if isinstance(one, Var)] == [Linkage.EXTERN, Linkage.GLOBAL]
    assert entries(btf, 5) == (16, [(4, 8, 2)])
    assert judge(found.data).errno


# What is said


def test_text_and_json(verify: Run) -> None:
    status, text = verify(LOAD)
    assert (status, text) == (0, f"{LOAD}: accepted (kernel 7.3, loader user; 89 types; as a loader completes it)\n")
    assert verify("--strict", LOAD)[0] == 0
    assert verify("-q", "--strict", *sorted(FOLDER.glob("*.o")), *sorted((FOLDER / "core").glob("*.o"))) == (0, "")
    status, text = verify("--json", LOAD)
    (file,) = json.loads(text)["files"]
    assert file["completed"] == [
        "sizes of sections: 8", "offsets of variables: 16", "extern variables and functions: 10",
    ]  # fmt: skip
    assert (status, file["verdict"], file["notes"]) == (0, "accepted", [])


def test_older_kernels_as_it_is_completed(verify: Run) -> None:
    status, text = verify("--kernel", "5.15", LOAD)
    assert status == 1
    assert "loader user; as a loader completes it); " in text
    assert "rule T5" in text
    assert "SEC" not in text
    _, text = verify("--kernel", "all", LOAD)
    assert text.splitlines()[-1].split() == ["5.17", "and", "newer", "accepted"]


def test_what_a_loader_does_not_find(verify: Run, tmp_path: Path) -> None:
    path = tmp_path / "prog.bpf.o"
    entry = (SectionVar(2, 0, 4),)
    for name in (".data", ".rodata", ".other"):
        path.write_bytes(bpf_object(btf_of([INT, variable("lost"), Datasec(name, 0, entry)])))
        status, text = verify(path)
        assert status == (0 if name == ".data" else 1)
        assert "a loader refuses the object: " in text
        assert verify("--strict", path)[0] == 1


def test_damage_is_judged_and_said(verify: Run, tmp_path: Path) -> None:
    path = tmp_path / "prog.bpf.o"
    data = bytearray(btf_of([INT, variable("a"), Datasec(".data", 0, (SectionVar(2, 0, 4),))]))
    data[24 + 7] = 0x1F  # a kind that does not exist
    path.write_bytes(bpf_object(bytes(data)))
    status, text = verify(path)
    assert status == 1
    assert "not completed, " in text
    assert "rejected" in text


def test_all_else_is_judged_as_it_is(verify: Run, tmp_path: Path) -> None:
    """Raw BTF, files of other machines, linked files, and other loaders."""
    data = btf_of([INT, variable("a"), Datasec(".data", 0, (SectionVar(2, 0, 4),))])
    path = tmp_path / "file"
    for content in (data, bpf_object(data, machine=62), bpf_object(data, etype=2)):
        path.write_bytes(content)
        status, text = verify(path)
        assert (status, "SEC1" in text, "loader completes" in text) == (1, True, False)
    path.write_bytes(bpf_object(data))
    assert verify(path)[0] == 0
    for loader in ("module", "vmlinux"):
        assert "loader completes" not in verify("--loader", loader, path)[1]


# Fixed


def named(path: Path) -> list[object]:
    """The contents of `.BTF.ext`, with names in place of ids."""
    btf, ext = read_object(path)
    assert ext is not None
    said: list[object] = [(each.section, each.offset, btf.type(each.type).name) for each in ext.functions()]
    said += ext.lines()
    return said + [each._replace(type=0) for each in ext.relocations()] + [
        btf.type(each.type).name for each in ext.relocations()
    ]


def test_a_mended_object_is_for_loaders(verify: Run, tmp_path: Path) -> None:
    """Ids have changed, but `.BTF.ext` means the same, and what is extern stays extern."""
    path = tmp_path / "out.bpf.o"
    status, text = verify("--fix", path, "--kernel", "5.10", LOAD)
    assert (status, "accepted (kernel 5.10, loader user; 87 types; as a loader completes it)" in text) == (0, True)
    before, after = BTF.from_file(LOAD), BTF.from_file(path)
    assert len(after) < len(before)
    assert named(path) == named(LOAD)
    for btf in (before, after):
        extern = [one.name for one in btf if isinstance(one, Var | Func) and one.linkage is Linkage.EXTERN]
        assert len(extern) == 10
        assert {section.size for section in btf if isinstance(section, Datasec)} == {0}


def test_a_mended_object_keeps_what_loaders_read(verify: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.bpf.o"
    for version in ("4.19", "5.1", "5.4"):
        assert verify("--fix", path, "--kernel", version, LOAD)[0] == 1
        btf = BTF.from_file(path)
        sections = {one.name: one for one in btf if isinstance(one, Datasec)}
        assert {".maps", ".kconfig", ".ksyms"} <= set(sections)
        assert (".data" in sections) == (version == "5.4")
        held = [btf.type(one.type) for section in sections.values() for one in section.variables]
        assert all(one.name for one in held)
        assert {type(btf.type(one.type)) for one in held if isinstance(one, Func)} == {FuncProto}
        if version != "4.19":
            assert named(path) == named(LOAD)


@pytest.mark.parametrize("name", [".maps", ".struct_ops", "?.struct_ops.link", ".data"])
def test_sections_that_a_loader_reads_are_kept_whatever_the_version(name: str) -> None:
    btf = BTF.from_bytes(btf_of([INT, variable("a"), Datasec(name, 0, (SectionVar(2, 0, 4),))]))
    for version in (501, 502):
        data, _, _ = mend_object(btf, version)
        left = [one.name for one in BTF.from_bytes(data) if isinstance(one, Var | Datasec)]
        assert left == ([] if name == ".data" and version == 501 else ["a", name])


def test_mended_btf_alone_is_completed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["verify", "--fix", "-", "--kernel", "5.10", str(LOAD)]) == 0
    captured = capfdbinary.readouterr()
    assert judge(captured.out, version=510).errno == 0
    assert b"completed as by a loader: sizes of sections: 8, " in captured.err


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_object_on_standard_input(
    pack: Callable[[bytes], bytes], verify: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(LOAD.read_bytes()))))
    status, text = verify("-")
    assert (status, text) == (0, verify(LOAD)[1].replace(str(LOAD), "standard input"))
    assert "as a loader completes it" in text
