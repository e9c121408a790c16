"""Commands that look at BTF, on files that have only the DWARF from which it is made (cli/reading.py)."""

from __future__ import annotations

import json
import lzma
from binascii import crc32
from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest

import pybtf
from pybtf.cli.main import main
from pybtf.elf.writer import put_sections
from tests.builders.elfwriter import Section, elf
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"
KERNEL = FIXTURES / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
OBJECT = FIXTURES / "bin" / "01_char.gcc-O0-5-obj.elf"
CXX = FIXTURES / "degrade" / "shapes.elf"
"""These have DWARF and no BTF. The last is C++."""

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """`run("show", path)`: the output and the messages of a command, which must end with this status."""

    def started(*arguments: object, status: int = 0) -> tuple[str, str]:
        found = main([*map(str, arguments)])
        out, err = capfdbinary.readouterr()
        assert found == status, err
        return out.decode(), err.decode()

    return started


@pytest.fixture
def encoded(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.btf"
    path.write_bytes(pybtf.encode(KERNEL).data)
    return path


def note(path: Path) -> str:
    return f"pybtf: note: {path} has no BTF; this is what `pybtf encode` makes of its DWARF\n"


@pytest.mark.parametrize(
    "command",
    [["show"], ["show", "--json"], ["dump"], ["dump", "--format", "raw"], ["size", "--by", "type"], ["duplicates"]],
    ids=" ".join,
)
def test_what_is_printed_is_that_of_the_encoded_file(command: list[str], run: Run, encoded: Path) -> None:
    expected, said = run(*command, encoded)
    assert not said
    assert run(*command, KERNEL) == (expected, note(KERNEL))


def test_an_empty_section_is_no_btf(run: Run, tmp_path: Path, encoded: Path) -> None:
    linked, bare = tmp_path / "vmlinux", tmp_path / "bare"
    linked.write_bytes(KERNEL.read_bytes())
    put_sections(linked, {".BTF": b""})
    assert run("dump", linked) == (run("dump", encoded)[0], note(linked))
    bare.write_bytes(elf([Section(".BTF")]).data)
    assert "bare: an empty .BTF section; " in run("dump", bare, status=1)[1]


def test_two_files_are_compared(run: Run, encoded: Path) -> None:
    assert run("diff", encoded, KERNEL) == ("", note(KERNEL))
    assert "- struct" in run("diff", KERNEL, OBJECT)[0]
    assert run("size", "--against", KERNEL, encoded)[1] == note(KERNEL)


def test_values_of_a_type(run: Run, tmp_path: Path, encoded: Path) -> None:
    name = next(each.name for each in pybtf.BTF.from_file(encoded) if each.kind.name == "STRUCT" and each.name)
    values = tmp_path / "values"
    values.write_bytes(bytes(range(256)) * 16)
    expected, _ = run("decode", "--btf", encoded, name, values)
    assert run("decode", "--btf", KERNEL, name, values) == (expected, note(KERNEL))


def test_a_file_on_a_base(run: Run, tmp_path: Path, encoded: Path) -> None:
    """The base may also have only DWARF; the output shows split BTF."""
    split = tmp_path / "split.btf"
    split.write_bytes(pybtf.encode(OBJECT, base=encoded).data)
    command = ["dump", "--format", "raw", "--base"]
    expected, _ = run(*command, encoded, split)
    assert run(*command, encoded, OBJECT) == (expected, note(OBJECT))
    assert run(*command, KERNEL, OBJECT) == (expected, note(KERNEL) + note(OBJECT))
    assert run(*command, KERNEL, split) == (expected, note(KERNEL))
    assert expected != run("dump", "--format", "raw", OBJECT)[0]


def test_a_base_is_encoded_once(run: Run) -> None:
    assert run("diff", "--base", KERNEL, OBJECT, OBJECT) == ("", note(KERNEL) + 2 * note(OBJECT))


def test_a_compressed_file(run: Run, tmp_path: Path, encoded: Path) -> None:
    path = tmp_path / "kernel.elf.xz"
    path.write_bytes(lzma.compress(KERNEL.read_bytes()))
    assert run("show", path) == (run("show", encoded)[0], note(path))


def test_what_btf_cannot_express_is_replaced(run: Run) -> None:
    out, said = run("show", "--json", CXX)
    losses = pybtf.encode(CXX, degrade=True).report.losses
    assert json.loads(out)
    makes = "this is what `pybtf encode --degrade` makes of its DWARF"
    lost = f"which loses something in {sum(loss.count for loss in losses)} places"
    assert said == f"pybtf: note: {CXX} has no BTF; {makes}, {lost}\n"


def test_a_module_needs_no_base(run: Run, tmp_path: Path) -> None:
    """It is encoded as with `encode --standalone`, because it is only looked at."""
    path = tmp_path / "m.ko"
    path.write_bytes(OBJECT.read_bytes())
    put_sections(path, {".gnu.linkonce.this_module": bytes(64)})
    assert "no base is given" in run("encode", "--detached", tmp_path / "out", path, status=2)[1]
    assert run("show", path) == (run("show", OBJECT)[0], note(path))


def test_damaged_dwarf_is_said_as_by_encode(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "damaged.elf"
    path.write_bytes(elf([Section(".debug_info", b"x"), Section(".debug_abbrev", b"\0")]).data)
    _, said = run("show", path, status=1)
    assert said == run("encode", "--detached", tmp_path / "out", path, status=1)[1]
    assert "--degrade" not in said


def test_without_dwarf_nothing_is_made(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bare.elf"
    path.write_bytes(elf([Section(".text", b"x")]).data)
    for command in (["show", path], ["dump", "--base", path, OBJECT]):
        said = run(*command, status=1)[1]
        assert f"{path}: no .BTF section; has no DWARF (.debug_info); expected an ELF file with BTF or DWARF" in said


def test_dwarf_in_another_file(run: Run, tmp_path: Path, encoded: Path) -> None:
    """A debug file counts, and no picture or text may replace it."""
    program, debug = tmp_path / "program", tmp_path / "program.debug"
    debug.write_bytes(KERNEL.read_bytes())
    link = b"program.debug\0\0\0" + pack("<I", crc32(KERNEL.read_bytes()))
    program.write_bytes(elf([Section(".text", b"x"), Section(".gnu_debuglink", link)]).data)
    assert run("show", program) == (run("show", encoded)[0], note(program))
    name = run("show", encoded)[0].split("\n")[0]
    for command in (["dump", "-o", debug], ["show", "--svg", debug, name], ["size", "--svg", debug]):
        assert f"OUT is the input {debug} itself" in run(*command, program, status=2)[1]
    assert f"OUT is the input {debug} itself" in run("dump", "--base", program, "-o", debug, OBJECT, status=2)[1]
    assert debug.read_bytes() == KERNEL.read_bytes()


def test_a_note_is_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two\nlines\x1b[2J"
    path.write_bytes(OBJECT.read_bytes())
    said = run("show", path)[1]
    assert said == note(tmp_path / "two\\nlines\\x1b[2J")


def test_values_that_were_not_merged(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "v.o"
    path.write_bytes(OBJECT.read_bytes())
    run("object", "--strip-dwarf", path)
    assert "values of objects, and no DWARF" in run("show", path, status=1)[1]


def test_who_writes_or_judges_btf_makes_none(run: Run) -> None:
    for command in (["verify", KERNEL], ["dedup", KERNEL, "-o", "-"]):
        assert "It has DWARF: `pybtf encode " in run(*command, status=1)[1]
