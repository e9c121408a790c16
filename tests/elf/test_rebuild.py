"""`rebuild`: an object file is rewritten without some sections, as `pybtf object --strip-dwarf` does."""

from __future__ import annotations

import platform
import struct
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import pybtf
from pybtf.cli.main import main
from pybtf.elf.outline import read_outline
from pybtf.elf.rebuild import rebuild
from tests.builders.elfchecks import need, run
from tests.builders.elfwriter import SHF_GROUP, Section, Symbol, bare

LAYOUTS = pytest.mark.parametrize(
    "layout",
    [
        {"machine": 62, "rela": True},
        {"machine": 3, "is64": False, "rela": False},
        {"machine": 20, "is64": False, "little": False, "rela": True},
    ],
    ids=["x86-64", "i386", "ppc"],
)


def taken_out(path: Path, content: bytes, empty: set[int]) -> list[tuple[str, str, bytes]]:
    """Name, type and contents of the sections after those in `empty` are taken out."""
    path.write_bytes(content)
    with path.open("rb") as file:
        outline = read_outline(str(path), file.fileno(), path.stat().st_size)
        path.write_bytes(rebuild(outline, [], empty))
    with path.open("rb") as file:
        return [
            (each.name, each["sh_type"].removeprefix("SHT_"), b"" if each["sh_type"] == "SHT_NULL" else each.data())
            for each in ELFFile(file).iter_sections()
        ]


def relocations(name: str, target: int, rela: bool, **fields: Any) -> Section:
    kind = "RELA" if rela else "REL"
    return Section(f".{kind.lower()}{name}", bytes(24), kind, info=target, **fields)


def group(members: list[int], little: bool = True, size: int | None = None) -> Section:
    data = struct.pack(f"{'<' if little else '>'}{1 + len(members)}I", 1, *members)
    return Section(".group", data, "GROUP", link=".symtab", info=1, entsize=4, size=size)


def test_sections_that_are_taken_out_are_inactive(tmp_path: Path) -> None:
    """GNU ld cannot compress a section that is merely empty."""
    sections = [Section(".debug_macro", b"\1\2"), relocations(".debug_macro", 1, rela=True), Section(".text", b"\x90")]
    found = taken_out(tmp_path / "x.o", bare(sections), {1})
    assert found[1:4] == [
        (".debug_macro", "NULL", b""), (".rela.debug_macro", "NULL", b""), (".text", "PROGBITS", b"\x90")
    ]  # fmt: skip


@LAYOUTS
def test_a_group_goes_with_its_members(tmp_path: Path, layout: dict[str, Any]) -> None:
    """GNU objcopy drops an empty member but keeps a group that names it. The signature keeps its number."""
    rela, little = layout["rela"], layout.get("little", True)
    sections = [
        group([2, 3], little),
        Section(".debug_macro", b"\1\2\3\4", flags=SHF_GROUP),
        relocations(".debug_macro", 2, rela, flags=SHF_GROUP),
        Section(".text", b"\x90"),
    ]
    signature = Symbol("wm4.1", 0, 0, "NOTYPE", 1, "LOCAL")
    path = tmp_path / "x.o"
    found = taken_out(path, bare(sections, [signature, Symbol("f")], **layout), {2})
    assert [kind for _, kind, _ in found[1:5]] == ["NULL", "NULL", "NULL", "PROGBITS"]
    with path.open("rb") as file:
        table: Any = ELFFile(file).get_section_by_name(".symtab")
        assert [(each.name, each["st_shndx"]) for each in table.iter_symbols()] == [
            ("", "SHN_UNDEF"), ("wm4.1", 1), ("f", 4)
        ]  # fmt: skip


@LAYOUTS
def test_a_group_of_which_something_is_left(tmp_path: Path, layout: dict[str, Any]) -> None:
    rela, little = layout["rela"], layout.get("little", True)
    sections = [
        group([2, 3, 4, 5], little),
        Section(".text.f", b"\x90", flags=SHF_GROUP),
        Section(".debug_macro", b"\1\2\3\4", flags=SHF_GROUP),
        relocations(".debug_macro", 3, rela, flags=SHF_GROUP),
        Section(".data.f", b"\2", flags=SHF_GROUP),
        group([], little),
        group([2], little),
    ]
    found = taken_out(tmp_path / "x.o", bare(sections, [Symbol("f", section=".text.f")], **layout), {3})
    assert [kind for _, kind, _ in found[1:8]] == ["GROUP", "PROGBITS", "NULL", "NULL", "PROGBITS", "GROUP", "GROUP"]
    order = "<" if little else ">"
    assert [found[index][2] for index in (1, 6, 7)] == [
        struct.pack(f"{order}3I", 1, 2, 5), struct.pack(f"{order}I", 1), struct.pack(f"{order}2I", 1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("size", [0, 3, 7])
def test_a_group_of_no_whole_words_stays(tmp_path: Path, size: int) -> None:
    sections = [group([2], size=size), Section(".debug_macro", b"\1\2", flags=SHF_GROUP)]
    found = taken_out(tmp_path / "x.o", bare(sections, [Symbol("f", section=2)]), {2})
    assert [(kind, len(data)) for _, kind, data in found[1:3]] == [("GROUP", size), ("NULL", 0)]


def test_sections_with_large_alignments_do_not_make_an_object_large(tmp_path: Path) -> None:
    path = tmp_path / "x.o"
    data = bare([Section(f".text.{number}", b"\x90", align=1 << 16) for number in range(100)])
    taken_out(path, data, set())
    assert path.stat().st_size < len(data) + 64 * 100
    with path.open("rb") as file:
        found = [each for each in ELFFile(file).iter_sections() if each.name.startswith(".text")]
        assert len(found) == 100
        places = {(each["sh_addralign"], each["sh_offset"] % 64, each.data()) for each in found}
        assert places == {(1 << 16, 0, b"\x90")}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the compiler is for another machine")
@pytest.mark.parametrize(("flag", "emulation"), [("-m64", "elf_x86_64"), ("-m32", "elf_i386")])
def test_objects_with_macros_in_groups(
    tmp_path: Path, flag: str, emulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As -g3 writes them in DWARF 5. Objects without DWARF go through objcopy, a link, and a link that compresses."""
    need("gcc", "objcopy", "ld", "readelf")
    monkeypatch.chdir(tmp_path)
    Path("h.h").write_text("#define ONE 1\n#define TWO 2\n")
    linked = ["-m", emulation, "-e", "f1"]
    for name in "12":
        source = f"struct s{name} {{ int a[TWO]; }};\nint f{name}(struct s{name} *p) {{ return p->a[ONE]; }}\n"
        Path(f"{name}.c").write_text('#include "h.h"\n' + source)
        run("gcc", flag, "-g3", "-gdwarf-5", "-O1", "-ffreestanding", "-fno-pie", "-c", f"{name}.c")
    assert ".debug_macro" in run("readelf", "-gW", "1.o")
    run("ld", *linked, "-o", "whole", "1.o", "2.o")
    wanted = bytes(pybtf.encode("whole").data)
    assert main(["object", "-q", "--strip-dwarf", "1.o", "2.o"]) == 0
    run("objcopy", "--weaken", "1.o", "w1.o")
    run("objcopy", "2.o", "w2.o")
    run("ld", *linked, "-o", "copied", "w1.o", "w2.o")
    run("ld", "-m", emulation, "-r", "--compress-debug-sections=zlib", "-o", "joined.o", "1.o", "2.o")
    run("ld", *linked, "-o", "packed", "joined.o")
    for file in ("copied", "packed"):
        assert main(["merge", "-q", "--detached", "made.btf", file]) == 0
        assert Path("made.btf").read_bytes() == wanted
