"""Which sources a merge mentions because nothing in the BTF comes from them: those that the symbol table names."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from pybtf.elf.image import ElfImage
from pybtf.features import Features
from pybtf.merging.encoding import encode_object
from pybtf.merging.linked import Sources, _files_without, merge_file
from pybtf.merging.pieces import RULES, Piece
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from tests.builders.elfchecks import need, run
from tests.builders.elfwriter import SHN_ABS, Section, Symbol, elf

STARTS = ["Scrt1.o", "crt1.o", "gcrt1.o", "rcrt1.o", "crti.o", "crtn.o", "crtstuff.c", "crtbegin.o", "crtendS.o"]


def piece(path: str, *files: str) -> Piece:
    return Piece(0, 1, 0, RULES, bytes(16), bytes(16), 0, 8, path, files, array("Q"))


def without(named: list[str], *pieces: Piece) -> list[str]:
    symbols = [Symbol(name, 0, 0, "FILE", SHN_ABS, "LOCAL") for name in named]
    with ElfImage("linked", elf([Section(".text", b"\x90")], symbols).data) as image:
        return _files_without(image, list(pieces))


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (["a.c", "b.o", ""], []),
        (["a.c", "other.c", "b.o", "other.c", "asm.o"], ["other.c", "asm.o"]),
        (["a.c", *STARTS, "main.c"], ["main.c"]),
        (["mycrt1.o", "crt2.o", "xcrtstuff.c"], ["mycrt1.o", "crt2.o", "xcrtstuff.c"]),
        (["x_a.c", "b.o"], []),
        (["x_a.c", "x_b.o"], []),
        (["a.c", "x_a.c", "b.o", "x_b.o"], ["x_a.c", "x_b.o"]),
        (["a.c", "ba.o"], ["ba.o"]),
        (["x_c.c", ".c", "c"], ["x_c.c", ".c", "c"]),
    ],
)
def test_sources_without_values(named: list[str], told: list[str]) -> None:
    """An assembler object, `b.o`, has no other name. objcopy puts prefixes before names, but a name that only ends like
    a known one is another source.
    """
    assert without(named, piece("d/a.o", "a.c"), piece("d/b.o")) == told


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [[], ["-no-pie"], ["-shared"], ["-pg"]], ids=" ".join)
def test_an_ordinary_program_has_no_warning_of_start_files(
    compiler: str, flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(compiler, "ld")
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text("int main(void) { return 0; }\n")
    run(compiler, "-fPIC", "-g", "-c", "a.c")
    encode_object("a.o", Features.parse(), Placing(strip=True))
    run(compiler, *flags, "-o", "program", "a.o")
    told = " ".join(merge_file("program", make_options("default", 1), Sources()).report.warnings)
    assert [name for name in ["a.c", *STARTS] if name in told] == []  # other C libraries may have other files


def test_an_object_whose_symbols_have_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc", "objcopy", "ld")
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text("int f(void) { return 0; }\n")
    run("gcc", "-g", "-c", "a.c")
    encode_object("a.o", Features.parse(), Placing(strip=True))
    run("objcopy", "--prefix-symbols=x_", "a.o")
    run("ld", "-e", "x_f", "-o", "linked", "a.o")
    assert merge_file("linked", make_options("default", 1), Sources()).report.warnings == []
