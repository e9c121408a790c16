"""The tools that let the kernel, bpftool and compilers judge BTF: good BTF is accepted, bad BTF is not.

If a judge is absent or not allowed, the tests skip with the tool's own reason.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.btf.kinds import IntEncoding
from pybtf.btf.types import (
    Array,
    Const,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Union,
)
from pybtf.btf.writer import BtfBuilder
from tests.conftest import ROOT
from tools.judge import kernel_load

GOOD: list[Type] = [
    Int("int", 4, 32, IntEncoding.SIGNED),
    Int("long", 8, 64, IntEncoding.SIGNED),
    Ptr(4),
    Struct(
        "list", 24, (Member("next", 3, 0), Member("a", 1, 64, 3), Member("b", 1, 67, 29), Member("u", 5, 128))
    ),
    Union("", 8, (Member("d", 6, 0), Member("l", 2, 0))),
    Float("double", 8),
    Enum("color", 4, (Enumerator("RED", -1), Enumerator("GREEN", 1)), kind_flag=True),
    Enum64("large", 8, (Enumerator("HUGE", 1 << 40),)),
    Fwd("elsewhere"),
    Ptr(9),
    Typedef("table", 12),
    Array(10, 1, 4),
    Const(1),
    FuncProto(1, (Param("list", 3), Param("n", 13))),
    Func("count", 14),
    DeclTag("tag", 4, 0),
    TypeTag("user", 1),
    Ptr(17),
]


def write(path: Path, types: list[Type], little: bool = True) -> Path:
    builder = BtfBuilder()
    builder.extend(types)
    path.write_bytes(builder.tobytes(little))
    return path


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", f"tools.{name}", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def native() -> bool:
    """Asks whether the kernel can be used at all; skips if not."""
    builder = BtfBuilder()
    builder.add(GOOD[0])
    native = sys.byteorder == "little"
    answer = kernel_load.kernel_load(builder.tobytes(native))
    if answer.verdict.value == "skipped":
        pytest.skip(answer.detail)
    return native


def test_the_kernel_accepts_good_btf(tmp_path: Path, native: bool) -> None:
    path = write(tmp_path / "good.btf", GOOD, native)
    result = run("judge.kernel_load", path)
    assert (result.stdout, result.returncode) == (f"{path}: accepted\n", 0)


def test_the_kernel_refuses_bad_btf(tmp_path: Path, native: bool) -> None:
    good = write(tmp_path / "good.btf", GOOD, native)
    bad = write(tmp_path / "bad.btf", [GOOD[0], Typedef("1bad", 1)], native)
    result = run("judge.kernel_load", bad, good)
    assert result.returncode == 1
    assert f"{bad}: refused: EINVAL" in result.stdout
    assert "Invalid name" in result.stdout
    assert f"{good}: accepted\n" in result.stdout


def test_what_the_kernel_cannot_judge_is_skipped(tmp_path: Path) -> None:
    foreign = write(tmp_path / "foreign.btf", GOOD, sys.byteorder != "little")
    result = run("judge.kernel_load", foreign)
    assert result.stdout == f"{foreign}: skipped: its byte order is not the machine's\n"
    assert result.returncode == 0


def test_kernel_load_of_what_is_no_btf(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("text")
    result = run("judge.kernel_load", path)
    assert result.returncode == 1
    assert "expected raw BTF, or an ELF file with BTF, or one of them compressed" in result.stdout
    assert run("judge.kernel_load").returncode == 2


needs_bpftool = pytest.mark.skipif(shutil.which("bpftool") is None, reason="bpftool is not installed")


@needs_bpftool
def test_good_btf_compiles_as_c(tmp_path: Path) -> None:
    path = write(tmp_path / "good.btf", GOOD)
    result = run("compare.c_roundtrip", path)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    for line, compiler in zip(lines, ("gcc", "clang"), strict=True):
        reason = "compiles" if shutil.which(compiler) else f"skipped: {compiler} is not installed"
        assert line == f"{path}: {compiler}: {reason}"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_headers_of_pybtf_compile_and_have_the_layouts(tmp_path: Path) -> None:
    """Even with names that C does not have. If members overlap, C places them one after the other."""
    members = Member("if", 1, 0), Member("b<c>", 1, 64)
    path = write(tmp_path / "rust.btf", [GOOD[0], Struct("Option<u32>", 12, members)])
    result = run("compare.c_roundtrip", "--pybtf", path)
    assert result.returncode == 0, result.stdout
    assert f"{path}: gcc: compiles\n{path}: 3 sizes and offsets, 0 differ\n" in result.stdout
    path = write(tmp_path / "overlap.btf", [GOOD[0], Struct("s", 4, (Member("a", 1, 0), Member("b", 1, 0)))])
    result = run("compare.c_roundtrip", "--pybtf", path)
    assert result.returncode == 0
    assert "3 sizes and offsets, 2 differ" in result.stdout
    result = run("compare.c_roundtrip", "--pybtf", tmp_path / "missing")
    assert result.returncode == 1


@needs_bpftool
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_bad_c_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.btf", [GOOD[0], Struct("s", 4, (Member("if", 1, 0),))])
    result = run("compare.c_roundtrip", path)
    assert result.returncode == 1
    assert f"{path}: gcc: fails: " in result.stdout
    missing = run("compare.c_roundtrip", tmp_path / "missing")
    assert missing.returncode == 1
    assert "fails: bpftool: Error" in missing.stdout
