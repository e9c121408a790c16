"""The outputs of a compiler's command line, as `pybtf cc` reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pybtf.merging.compiling import objects_of
from tests.builders.elfchecks import need, run


@pytest.mark.parametrize(
    ("command", "objects"),
    [
        ("gcc -c a.c", ["a.o"]),
        ("gcc -c d/a.c b.S -I x.c", ["a.o", "b.o"]),
        ("ccache gcc -O2 -c a.c -o d/x.o", ["d/x.o"]),
        ("gcc -c a.c -od/x.o", ["d/x.o"]),
        ("gcc a.c -o a", []),
        ("gcc -c -MF a.d -MMD -include x.c a.c -o a.o", ["a.o"]),
        ("gcc -M -c a.c", []),
        ("gcc -c -emit-llvm a.c", []),
        ("gcc -### -c a.c", []),
        ("gcc -c a.c -dumpmachine", []),
        ("gcc -c a.c -print-file-name=libc.so", []),
        ("gcc -c a.c --help=warnings", []),
        ("clang --analyze -c a.c", []),
        ("gcc -c @args", ["from file.o"]),
        ("gcc -c @nosuch a.c", ["a.o"]),
        ("gcc -c a.c -o", ["a.o"]),
        ("gcc -c a.c --output=d/x.o", ["d/x.o"]),
        ("gcc -c a.c --output d/x.o", ["d/x.o"]),
        ("gcc --compile a.c", ["a.o"]),
        ("gcc a.c --output=a", []),
        ("gcc -c -x c -", ["-.o"]),
        ("gcc -c -xc - -o x.o", ["x.o"]),
        ("gcc -c --language=c d/a.txt -x none b.txt c.c", ["a.o", "c.o"]),
        ("ccache gcc -c --language c a.txt --include b.c", ["a.o"]),
        ("gcc -E -x c -", []),
        ("gcc --preprocess -c a.c", []),
        ("gcc -c a.CPP b.M c.mm d.mii e.f90 f.adb g.h", ["a.o", "b.o", "c.o", "d.o", "e.o", "f.o"]),
        ("gcc -c -wrapper x.c -specs y.c -imultilib z.c --sysroot v.c -dumpbase-ext w.c a.c", ["a.o"]),
        ("clang -c -MJ x.c -mllvm y.c -include-pch z.c -iframework v.c -serialize-diagnostics w.c a.c", ["a.o"]),
        ("clang -g -c d/x.bc y.ll z.CC", ["x.o", "y.o", "z.o"]),
        ("clang -c x.cppm y.cl", ["x.o", "y.o"]),
        ("clang --target x.c -c a.c", ["x.o", "a.o"]),
        ("gcc @fifo -c a.c", ["a.o"]),
        ("gcc @. -c a.c", ["a.o"]),
        ("gcc @large -c a.c", ["a.o"]),
    ],
)
def test_objects_of_a_command(
    command: str, objects: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("args").write_text("-o 'from file.o'\nx.c @args\n")
    os.mkfifo("fifo")
    with Path("large").open("w") as file:
        file.write("-o x.o ")
        file.truncate((16 << 20) + 1)
    assert objects_of(command.split()) == objects


# What gcc and clang write.
FILES_OF_ARGUMENTS = [
    (rb'"a\\b9.o"', rb"a\b9.o"),
    (rb"'q\'r.o'", b"q'r.o"),
    (rb'"a\"b.o"', b'a"b.o'),
    (rb"'a\\b.o'", rb"a\b.o"),
    (rb'"a\nb.o"', b"anb.o"),
    (rb"'a\nb.o'", b"anb.o"),
    (rb"a\nb.o", b"anb.o"),
    (rb"a\ b.o", b"a b.o"),
    (rb"\"a.o", b'"a.o'),
    (b'"a\nb.o"', b"a\nb.o"),
    (b'"a\r\nb.o"', b"a\r\nb.o"),
    (b"a\\\nb.o", b"a\nb.o"),
    (b'"a"b\'c\'.o', b"abc.o"),
    (b"\"a'b.o\"", b"a'b.o"),
    (b"'a\"b.o'", b'a"b.o'),
    (b"x'a b'c.o", b"xa bc.o"),
    (b'"a.o', b"a.o"),
    (b"'a.o -DX", b"a.o -DX"),
    (b"a.o\r\n-DX", b"a.o"),
    (b"a#b.o", b"a#b.o"),
    (b"a\xc2\xa0b\x1c\xff\xc2\x85.o", b"a\xc2\xa0b\x1c\xff\xc2\x85.o"),
    (b"a.o ", b"a.o"),
]
# What only gcc does.
OF_GCC = [(b"a.o\\", b"a.o"), (b'"a.o\\', b"a.o"), (b"a.o\v-DX\f-DY", b"a.o"), (b"a.o\0 -o b.o", b"a.o")]


@pytest.mark.parametrize(("words", "name"), [*FILES_OF_ARGUMENTS, *OF_GCC])
def test_words_in_a_file(words: bytes, name: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("args").write_bytes(b"-c e.c\n\t-o " + words)
    assert objects_of(["gcc", "@args"]) == [os.fsdecode(name)]


def test_empty_words_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("args").write_text("-c -I \"\" -I '' -I\\\n a.c")
    assert objects_of(["gcc", "@args"]) == ["a.o"]
    Path("args").write_text(" \n")
    assert objects_of(["gcc", "-c", "@args", "b.c"]) == ["b.o"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_words_in_a_file_are_what_a_compiler_reads(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(compiler)
    for number, (words, name) in enumerate(FILES_OF_ARGUMENTS + (OF_GCC if compiler == "gcc" else [])):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("e.c").write_text("int x;\n")
        Path("args").write_bytes(b"-c e.c\n\t-o " + words)
        run(compiler, "@args")
        assert sorted(each.name for each in folder.iterdir()) == sorted(["e.c", "args", os.fsdecode(name)])
