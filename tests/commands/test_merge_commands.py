"""`pybtf object` of many files, `pybtf merge` and its mistakes, and `pybtf cc` around a compiler."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.merging.compiling import objects_of
from pybtf.merging.index import find_index, index_of
from tests.builders.dwarfwriter import die
from tests.builders.kernelish import FLAVOURS, relocatable, standard, unit
from tests.commands.test_merge import FEATURES, merge
from tests.conftest import RunCli


def test_many_files_at_once(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    folder = built("x86")
    (folder / "no.o").write_bytes(b"no object")
    assert main(["object", "--features", FEATURES, "--strip-dwarf", "a.o", "no.o", "b.o", "sa.o"]) == 1
    err = capfd.readouterr().err
    assert "no.o: offset 0x0: starts with" in err
    assert "4 objects: 2 encoded (2 units), 1 had these values, 1 failed" in err
    for each in ("a.o", "b.o"):
        with ElfImage.open(each) as image:
            section = find_index(image)
            assert section is not None
            assert index_of(image, section)[0].path == each


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["object"], "missing argument"),
        (["object", "--inline", "--store", "x", "a.o"], "--inline and --store do not go together"),
        (["object", "--section", ".BTF", "a.o"], "begins with .debug_"),
        (["merge"], "0 FILEs are given"),
        (["merge", "a", "b"], "2 FILEs are given"),
        (["cc"], "no command is given"),
        (["cc", "--"], "no command is given"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capfd.readouterr().err


COMPILER = """#!/bin/sh
# Copies an object in place of compiling; or fails, as it is told.
out=
while [ $# -gt 0 ]; do
    case $1 in -o) out=$2; shift;; fail) echo 'x.c:1: error' >&2; exit 3;; die) kill -TERM $$;; esac
    shift
done
[ -z "$out" ] || cp a.o "$out"
echo compiled
"""


@pytest.fixture
def compiler(built: Callable[[str], Path]) -> Path:
    folder = built("x86")
    path = folder / "fakecc"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


def test_cc_puts_values_into_what_was_compiled(compiler: Path, run_cli: RunCli) -> None:
    done = run_cli("cc", "--strip-dwarf", "--features", FEATURES, "--", compiler, "-g", "-c", "x.c", "-o", "sa.o")
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
    with ElfImage.open("sa.o") as image:
        assert find_index(image) is not None
    assert merge("merged") == Path("wanted.btf").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["x.c", "-o", "out"],
        ["-S", "-c", "x.c", "-o", "out"],
        ["-E", "-c", "x.c", "-o", "out"],
        ["-c", "x.c", "-o", "/dev/null"],
    ],
)
def test_cc_leaves_alone_what_is_no_compile(compiler: Path, run_cli: RunCli, arguments: list[str]) -> None:
    done = run_cli("cc", "--", compiler, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
    if "out" in arguments:
        assert Path("out").read_bytes() == Path("a.o").read_bytes()


def test_cc_passes_on_what_the_compiler_says(compiler: Path, run_cli: RunCli) -> None:
    done = run_cli("cc", "--", compiler, "-c", "x.c", "-o", "out", "fail")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "x.c:1: error\n")
    assert not Path("out").exists()
    assert run_cli("cc", "--", compiler, "-c", "die").returncode == 128 + 15
    missing = run_cli("cc", "--", "./nosuchcc", "-c", "x.c")
    assert missing.returncode == 127
    assert "nosuchcc: cannot be run" in missing.stderr


def test_cc_removes_an_object_that_cannot_be_encoded(compiler: Path, run_cli: RunCli) -> None:
    bad = die("atomic_type", ("type", "ref4", "int"), label="bad")
    Path("a.o").write_bytes(relocatable([unit([*standard(FLAVOURS["x86_64"]), bad])]).data)
    done = run_cli("cc", "--", compiler, "-c", "x.c", "-o", "out.o")
    assert done.returncode == 1
    assert "DW_TAG_atomic_type" in done.stderr
    assert not Path("out.o").exists()


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
        ("gcc -c @args", ["from file.o"]),
        ("gcc -c @nosuch a.c", ["a.o"]),
        ("gcc -c a.c -o", ["a.o"]),
    ],
)
def test_objects_of_a_command(
    command: str, objects: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("args").write_text("-o 'from file.o'\nx.c @args\n")
    assert objects_of(command.split()) == objects
