"""`pybtf decode`: what the compiler writes comes out as in the source, and hostile sizes do not take forever.

clang 14 makes `fixtures/decode` from values.c, for both byte orders; values.txt has the values of its initializers.

    clang --target=bpfel -g -O2 -c values.c -o v.o                                          (and bpfeb)
    llvm-objcopy -O binary --only-section=.data v.o values.bpfel.data
    llvm-objcopy -O binary --only-section=.BTF --set-section-flags .BTF=alloc v.o values.bpfel.btf
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pybtf import BTF, InputError
from pybtf.btf.kinds import IntEncoding
from pybtf.btf.types import (
    Array,
    Datasec,
    Enum,
    Enumerator,
    Float,
    Int,
    Member,
    Ptr,
    SectionVar,
    Struct,
    Type,
    Typedef,
    Union,
    Var,
)
from pybtf.btf.value_text import as_json, as_text
from pybtf.btf.values import Enumerated, Group, Values
from pybtf.btf.writer import BtfBuilder
from pybtf.cli import decode
from pybtf.cli.main import main
from tests.conftest import ROOT, environment

FOLDER = ROOT / "fixtures" / "decode"
Run = Callable[..., str]
INT = Int("int", 4, 32, IntEncoding.SIGNED)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Standard output, or the message of a run that fails."""

    def started(*arguments: object, status: int = 0) -> str:
        found = main(["decode", *map(str, arguments)])
        out, err = capfd.readouterr()
        assert found == status, err
        return err if status else out

    return started


def made(*types: Type, little: bool = True) -> BTF:
    builder = BtfBuilder()
    builder.extend(types)
    return BTF.from_bytes(builder.tobytes(little))


def text(btf: BTF, id: int, data: bytes, **options: Any) -> str:
    return "\n".join(as_text("x", Values(btf, **options).of(id, data)))


class Enumerators(tuple[Enumerator, ...]):
    """Counts how often it is iterated over."""

    walks = 0

    def __iter__(self) -> Iterator[Enumerator]:
        Enumerators.walks += 1
        return super().__iter__()

    def __reversed__(self) -> Iterator[Enumerator]:
        Enumerators.walks += 1
        return iter(self[::-1])


class Counting(BTF):
    """Counts how often an enumeration is made, and how often its values are iterated over."""

    made = 0

    def type(self, id: int) -> Type:
        found = super().type(id)
        if isinstance(found, Enum):
            Counting.made += 1
            found = replace(found, values=Enumerators(found.values))
        return found


def test_the_values_of_an_enumeration_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever typedefs lead to it, and however often it occurs. If a value has two names, the first counts."""
    monkeypatch.setattr(Counting, "made", 0)
    monkeypatch.setattr(Enumerators, "walks", 0)
    names = [Enumerator(name, value) for name, value in (("a", 0), ("b", 1), ("c", 0))]
    typedefs = [Typedef(f"t{number}", 1) for number in range(50)]
    members = tuple(Member("", 2 + number, 32 * number) for number in range(50))
    whole = made(Enum("e", 4, tuple(names)), *typedefs, Struct("s", 200, members))
    btf = Counting.from_bytes(whole.data)
    value = Values(btf).of(52, b"\0\0\0\0\1\0\0\0" * 25)
    assert isinstance(value, Group)
    assert [row[1] for row in value.rows] == [Enumerated("a", 0), Enumerated("b", 1)] * 25
    assert (Counting.made, Enumerators.walks) == (1, 1)


@pytest.mark.parametrize("order", ["bpfel", "bpfeb"])
def test_values_are_those_of_the_source(order: str, run: Run) -> None:
    arguments = ("value", FOLDER / f"values.{order}.data", "--btf", FOLDER / f"values.{order}.btf")
    assert run(*arguments) == (FOLDER / "values.txt").read_text()
    both = run("struct value", *arguments[1:], "--count", "all")
    assert both.startswith("struct value[0] = {\n    ts = 1234567890123\n")
    (row,) = json.loads(run(*arguments, "--json"))
    assert row["pid"] == -42
    assert (row["st"], row["other"]) == ("STOP", 77)
    assert row["comm"] == 'ba"sh'
    assert (row["f1"], row["f2"], row["f3"]) == (5, -3, 0x123456789A)
    assert (row["x"], row["y"], row["z"]) == (0x10001, 1, 1)
    assert row["in"] == [{"a": 1, "tag": 97}, {"a": -2, "tag": 98}, {"a": 3, "tag": 0}]
    assert row["many"] == [1, 2, 3] + 17 * [0]
    assert row["mac"] == [0xDE, 0xAD, 0xBE, 0xEF, 0, 1]
    assert (row["p"], row["huge"], row["ok"], row["f"]) == ("0x1234", -1, True, -1.5)


def test_the_values_of_the_fixture_are_in_the_source() -> None:
    """values.txt is not just a copy of the output: its numbers are in the initializers."""
    source = (FOLDER / "values.c").read_text()
    for name, value in re.findall(r"^    (\w+) = (-?\d+)$", (FOLDER / "values.txt").read_text(), re.M):
        written = re.search(rf"\.{name} = (?:\{{ \.i = )?(-?\w+)", source)
        if written is not None:
            assert int(re.sub("ULL$", "", written[1]), 0) == int(value)


@pytest.mark.parametrize("little", [True, False])
def test_kinds(little: bool) -> None:
    order = "<" if little else ">"
    btf = made(
        INT, Float("half", 2), Float("long double", 16), Ptr(1), Int("_Bool", 1, 8, IntEncoding.BOOL),
        Enum("e", 4, (Enumerator("A", -1), Enumerator("B", 2)), kind_flag=True), Array(4, 1, 2), Typedef("t", 6),
        Var("v", 8), Datasec("s", 0, (SectionVar(9, 4, 4),)), Int("old", 4, 5, offset=3), Int("long", 8, 64),
        Array(5, 1, 3),
        little=little,
    )  # fmt: skip

    def shown(id: int, form: str, *values: Any) -> str:
        return text(btf, id, struct.pack(order + form, *values))

    assert shown(1, "i", -7) == "x = -7"
    assert shown(2, "e", 1.5) == "x = 1.5"
    assert shown(3, "16s", bytes(range(16))) == f"x = {bytes(range(16)).hex(' ')}"
    assert shown(4, "Q", 0xFFFF888000000000) == "x = 0xffff888000000000"
    assert [shown(5, "B", n) for n in (0, 1, 7)] == ["x = false", "x = true", "x = 7"]
    assert [shown(6, "i", n) for n in (-1, 2, 3)] == ["x = A", "x = B", "x = 3"]
    assert shown(7, "QQ", 1, 0) == "x = [0x1, 0x0]"
    assert shown(9, "i", 2) == "x = B"
    assert text(btf, 10, struct.pack(order + "Ii", 0, -1)) == "x = {\n    v = A\n}"
    if little:
        assert shown(11, "I", 0b10110_101) == "x = 22"
    assert shown(13, "3B", 1, 0, 1) == "x = [true, false, true]"


def test_texts() -> None:
    btf = made(Int("char", 1, 8), Array(1, 1, 4), Int("unsigned char", 1, 8), Array(3, 1, 4), Array(1, 1, 0))
    assert text(btf, 2, b"a\tb\0") == 'x = "a\\tb"'
    assert text(btf, 2, b"ab\0\xff") == 'x = "ab"'
    assert text(btf, 2, "é".encode() + b"\0\0") == 'x = "é"'
    assert text(btf, 2, b"\x1b[0m") == "x = 1b 5b 30 6d"
    assert text(btf, 2, b"\xff\0\0\0") == "x = ff 00 00 00"
    assert text(btf, 4, b"abcd") == "x = 61 62 63 64"
    assert text(btf, 4, b"abcd", elements=2) == "x = 61 62 ... 2 more"
    assert text(btf, 5, b"") == 'x = ""'


@pytest.mark.parametrize("name", ["signed char", "i8"])
def test_bytes_with_a_sign_are_numbers(name: str) -> None:
    """But `char` is text, although it has the same encoding."""
    signed = IntEncoding.SIGNED
    btf = made(Int(name, 1, 8, signed), Array(1, 1, 3), Int("char", 1, 8, signed), Array(3, 3, 3))
    assert text(btf, 1, b"a") == "x = 97"
    assert text(btf, 2, b"\xfd\xfe\x01") == "x = [-3, -2, 1]"
    assert text(btf, 2, b"abc", elements=2) == "x = [97, 98, ... 1 more]"
    assert as_json(Values(btf).of(2, b"\xfd\xfe\x01")) == [-3, -2, 1]
    assert text(btf, 3, b"a") == "x = 97 'a'"
    assert text(btf, 4, b"abc") == 'x = "abc"'


def test_floats_that_json_has_not() -> None:
    btf = made(Float("double", 8))
    for value, shown in ((float("inf"), "inf"), (float("-inf"), "-inf"), (float("nan"), "nan")):
        assert as_json(Values(btf).of(1, struct.pack("<d", value))) == shown


# Hostile BTF


def refused(btf: BTF, id: int, data: bytes, words: str, elements: int = 16) -> None:
    with pytest.raises(InputError, match=words):
        Values(btf, elements).of(id, data)


def test_members_outside() -> None:
    for place in ((1, 8), (1, 0xFFFFFF, 1), (1, 1, 255), (3, 0), (5, 8)):
        btf = made(INT, Struct("s", 4, (Member("a", *place),)), Array(1, 1, 2), Int("u8", 1, 8), Array(4, 1, 4))
        refused(btf, 2, bytes(4), "a member within the 4 bytes")
    wide = made(Int("wide", 4, 255), Struct("s", 4, (Member("a", 1, 0),)))
    refused(wide, 2, bytes(4), "a member within")
    odd = made(Float("double", 8), Struct("s", 16, (Member("a", 1, 3, 5),)))
    refused(odd, 2, bytes(16), "a member within")


def test_arrays_of_four_billion() -> None:
    many = 0xFFFFFFFF
    arrays = (Array(2, 1, many), Array(3, 1, many), Int("char", 1, 8), Array(5, 1, many), Array(1, 1, many))
    btf = made(INT, Struct("empty", 0), *arrays)
    assert text(btf, 3, b"", elements=16) == "x[0...15] = {\n}\nx[16...4294967294]: 4,294,967,279 more"
    assert len(text(btf, 4, b"", elements=16)) < 20_000
    refused(btf, 3, b"", "more parts than are printed", 1 << 40)
    refused(btf, 6, bytes(9), "a member within the 9 bytes")
    refused(btf, 7, bytes(9), "a member within the 9 bytes")


def test_structs_that_multiply_or_contain_themselves() -> None:
    wide = [Struct(f"s{n}", 4, tuple(Member(f"m{k}", n + 1, 0) for k in range(100))) for n in range(2, 20)]
    refused(made(INT, *wide, INT), 2, bytes(4), "more parts than are printed")
    refused(made(INT, Struct("s", 4, (Member("a", 2, 0),))), 2, bytes(4), "64 levels deep")
    refused(made(INT, Union("u", 4, (Member("", 3, 0),)), Array(2, 1, 1)), 2, bytes(4), "64 levels deep")
    refused(made(INT, Typedef("t", 3), Typedef("u", 2)), 2, bytes(4), "refers to itself")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_is_utf_8_in_every_terminal(tmp_path: Path, encoding: str) -> None:
    names = ["é", "\U0001f600", "\udcff"]  # the last one is a byte that is not UTF-8
    members = tuple(Member(name, 1, 8 * at) for at, name in enumerate(names))
    builder = BtfBuilder()
    builder.extend([Int("u8", 1, 8), Struct("s", 3, members)])
    (tmp_path / "btf").write_bytes(builder.tobytes(True))
    (tmp_path / "data").write_bytes(bytes(range(6)))
    words = [sys.executable, "-m", "pybtf", "decode", "--json", "--count", "all", "--btf", "btf", "s", "data"]
    run = {**environment(), "PYTHONIOENCODING": encoding}
    found = json.loads(subprocess.run(words, cwd=tmp_path, env=run, check=True, capture_output=True).stdout)
    assert found == [dict(zip(names, values, strict=True)) for values in ((0, 1, 2), (3, 4, 5))]


def test_long_names_are_cut_and_count_as_parts() -> None:
    """In text, a name is repeated for each element; in text and JSON, a member's name for each struct."""
    name = "n" * 100_000
    inner = Struct("", 1, (Member("c", 1, 0),))
    types = (Int("u8", 1, 8), inner, Array(2, 1, 2), Array(3, 1, 2), Struct("s", 4, (Member(name, 4, 0),)))
    btf = made(*types)
    found = text(btf, 5, b"\0\1\2\3")
    assert (found.count(name[:1000] + "...["), name[:1001] in found) == (4, False)
    assert list(as_json(Values(btf).of(5, bytes(4)))) == [name]
    assert name not in "\n".join(as_text(name, 1))
    many = Array(2, 1, 1000)
    refused(made(types[0], Struct("", 1, (Member(name, 1, 0),)), many), 3, bytes(1000), "more parts", 1000)
    refused(made(types[0], Enum("e", 1, (Enumerator(name, 0),)), many), 3, bytes(1000), "more parts", 1000)
    variables = (SectionVar(2, 0, 1),) * 1000
    refused(made(types[0], Var(name, 1), Datasec("d", 1, variables)), 3, b"\0", "more parts")


def test_values_of_many_parts_are_bounded_together() -> None:
    """A file may have very many values of a byte each, and each value thousands of parts, or a very long name."""
    members = tuple(Member(f"m{k}", 1, 0) for k in range(5_000))
    few = tuple(Member(f"m{k}", 1, 0) for k in range(100))
    name = (Member("n" * 5_000_000, 1, 0),)
    btf = made(
        Int("u8", 1, 8),
        Union("many", 1, members),
        Union("few", 1, few),
        Struct("named", 1, name),
        Struct("", 0, ()),
        Struct("short", 1, (Member("n" * 50_000, 1, 0),)),
    )
    for id in (2, 4, 6):
        values = Values(btf)
        times = 200_000 // (50 if id == 6 else 5_000)
        for _ in range(times):
            values.of(id, b"\0")
        with pytest.raises(InputError, match="more parts than are printed; expected at most 64 for each byte"):
            [values.of(id, b"\0") for _ in range(times // 8)]
    values = Values(btf)
    values._more = 0
    for _ in range(50):
        values.of(3, b"\0")
        values.of(5, b"")


def test_the_number_of_a_value_stays_behind_a_long_name(tmp_path: Path) -> None:
    name = "n" * 3_000
    (tmp_path / "btf").write_bytes(made(Int("u8", 1, 8), Typedef(name, 1)).data)
    (tmp_path / "data").write_bytes(b"\1\2")
    said = command(name, tmp_path / "data", "--btf", tmp_path / "btf", "--count", "all")
    assert said.splitlines() == [f"{name[:1000]}...[0] = 1", f"{name[:1000]}...[1] = 2"]


def test_any_damage_is_an_input_error() -> None:
    chance = random.Random(1500)
    whole = (FOLDER / "values.bpfel.btf").read_bytes()
    data = (FOLDER / "values.bpfel.data").read_bytes()
    printed = 0
    for _ in range(500):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 2, 0x7F, 0xFF, chance.randrange(256)))
        with contextlib.suppress(InputError):
            btf = BTF.from_bytes(damaged)
            for id in range(1, btf.end_id):
                with contextlib.suppress(InputError):
                    values = Values(btf, 16)
                    values.size(id)
                    value = values.of(id, data)
                    json.dumps(as_json(value))
                    assert "".join(as_text("x", value))
                    printed += 1
    assert printed > 1000


# The command line


def command(*arguments: object, data: bytes = b"", status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pybtf", "decode", *map(str, arguments)],
        input=data, capture_output=True, env=environment(), check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return (done.stderr if status else done.stdout).decode()


def test_offset_and_count(tmp_path: Path, run: Run) -> None:
    btf = tmp_path / "btf"
    btf.write_bytes(made(INT, Struct("empty", 0)).data)
    data = tmp_path / "data"
    data.write_bytes(struct.pack("<5i", 1, 2, 3, 4, 5))
    assert run("int", data, "--btf", btf) == "int = 1\n"
    assert run("1", data, "--btf", btf, "--offset", "0x8") == "int = 3\n"
    assert run("int", data, "--btf", btf, "--offset", 12, "--count", 2) == "int[0] = 4\nint[1] = 5\n"
    assert len(run("int", data, "--btf", btf, "--count", "all").splitlines()) == 5
    assert json.loads(run("int", data, "--btf", btf, "--count", "all", "--json")) == [1, 2, 3, 4, 5]
    assert json.loads(run("int", data, "--btf", btf, "--count", "0", "--json")) == []
    end = ("--btf", btf, "--offset", data.stat().st_size, "--count", "all")
    assert (run("int", data, *end), run("int", data, *end, "--json")) == ("", "[]\n")
    assert command("int", "-", "--btf", btf, "--count", "all") == ""
    assert run("empty", data, "--btf", btf, "--count", "2") == "struct empty[0] = {\n}\nstruct empty[1] = {\n}\n"
    assert command("int", "-", "--btf", btf, "--offset", "4", data=data.read_bytes()) == "int = 2\n"
    assert command("int", data, "--btf", "-", data=btf.read_bytes()) == "int = 1\n"
    assert "18 bytes; expected a value at offset 0x64" in command(
        "int", "-", "--btf", btf, "--offset", "100", data=bytes(18), status=1
    )


@pytest.mark.parametrize(("size", "expected"), [(3, None), (6, [1]), (11, [1, 2])])
def test_json_of_data_that_end_early_is_whole(
    size: int, expected: list[int] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    btf, data = tmp_path / "btf", tmp_path / "data"
    btf.write_bytes(made(INT).data)
    data.write_bytes(struct.pack("<3i", 1, 2, 3)[:size])
    assert main(["decode", "int", str(data), "--btf", str(btf), "--count", "all", "--json"]) == 1
    out, err = capsys.readouterr()
    assert (json.loads(out) if expected is not None else out) == (expected or "")
    assert "expected a value of 4 bytes" in err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "missing argument 'TYPE'"),
        (["int"], 2, "missing argument 'FILE'"),
        (["int", "a", "b"], 2, "one TYPE and one FILE"),
        (["DATA", "struct x"], 2, "struct x: no such file. FILE comes last: pybtf decode 'struct x' DATA"),
        (["DATA", "."], 1, "no type is called 'DATA'"),
        (["int", "-", "--btf", "-"], 2, "standard input can be read only once"),
        (["int", "DATA", "--offset", "x"], 2, "--offset expects a number, not 'x'"),
        (["int", "DATA", "--count", "1.5"], 2, "--count expects a number"),
        (["int", "DATA", "--elements", "9" * 30], 2, f"--elements expects a number of at most {(1 << 64) - 1:,}"),
        (["int", "DATA", "--offset", "0x1" + "0" * 16], 2, "--offset expects a number of at most 0xffffffffffffffff"),
        (["int", "DATA", "--offset", "9" * 5000], 2, "--offset expects a number of at most 0xffffffffffffffff"),
        (["int", "DATA", "--offset", "-0x1"], 2, "--offset expects a number of at least 0, not '-0x1'"),
        (["int", "DATA", "--count", "-1"], 2, "--count expects a number of at least 0, not '-1'"),
        (["int", "DATA", "--offset", "0x"], 2, "--offset expects a number, not '0x'"),
        (["int", "DATA", "--offset", "0o7"], 2, "--offset expects a number, not '0o7'"),
        (["int", "DATA", "--count", "1_0"], 2, "--count expects a number, not '1_0'"),
        (["int", "DATA", "--count", " 2"], 2, "--count expects a number, not ' 2'"),
        (["int", "DATA", "--count", "\u0662"], 2, "--count expects a number, not '\u0662'"),
        (["int", "DATA", "--count", "0x2"], 2, "--count expects a number, not '0x2'"),
        (["nothing", "DATA"], 1, "no type is called 'nothing'"),
        (["77", "DATA"], 1, "there is no type 77"),
        (["f", "DATA"], 1, "a type without a size"),
        (["tyyp", "DATA"], 1, "no type is called 'tyyp'. Nearest: tyypi"),
        (["int", "DATA", "--offset", "7"], 1, "DATA: offset 0x7 is beyond the end of the file (6 bytes)"),
        (["int", "DATA", "--offset", "9223372036854775807"], 1, "offset 0x7fffffffffffffff is beyond the end"),
        (["int", "DATA", "--offset", "0xffffffff82000000"], 1, "offset 0xffffffff82000000 is beyond the end"),
        (["int", "DATA", "--offset", "3"], 1, "3 bytes at offset 0x3; expected a value of 4 bytes"),
        (["int", "DATA", "--count", "2"], 1, "2 bytes at offset 0x4; expected a value of 4 bytes"),
        (["int", "DATA", "--offset", "6"], 1, "0 bytes at offset 0x6"),
        (["int", "DATA", "--offset", "7", "--count", "all"], 1, "offset 0x7 is beyond the end of the file (6 bytes)"),
        (["int", "DATA", "--offset", "5"], 1, "1 byte at offset 0x5; expected a value of 4 bytes"),
        (["most", "DATA"], 1, "6 bytes at offset 0x0; expected a value of 268,435,456 bytes"),
        (["more", "DATA"], 1, "268,435,457 bytes; expected a type of at most 268,435,456"),
        (["empty", "DATA", "--count", "all"], 2, "has no bytes, so there is no end"),
        (["int", "NOTHING"], 1, "no such file"),
    ],
)
def test_mistakes(arguments: list[str], status: int, words: str, run: Run, tmp_path: Path) -> None:
    btf = tmp_path / "btf"
    structs = Struct("empty", 0), Struct("most", 1 << 28), Struct("more", (1 << 28) + 1)
    btf.write_bytes(made(INT, *structs, Typedef("f", 0), Typedef("tyypi", 1)).data)
    (tmp_path / "data").write_bytes(struct.pack("<ih", 1, 2))
    names = {"DATA": str(tmp_path / "data"), "NOTHING": str(tmp_path / "nothing")}
    given = [names.get(each, each) for each in arguments]
    if "--btf" not in given and len(given) >= 2:
        given += ["--btf", str(btf)]
    assert words in run(*given, status=status).replace(names["DATA"], "DATA")


class Refusing(io.BytesIO):
    """A file on tmpfs: any offset is accepted, but no byte is read if the last one would be past 2^63. Or a file on a
    disk that is broken from some offset on.
    """

    def __init__(self, data: bytes, broken: int) -> None:
        super().__init__(data)
        self._broken = broken

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() + (size or 0) > self._broken:
            raise OSError(errno.EINVAL, "Invalid argument")
        return super().read(size)


def test_what_cannot_be_read_behind_the_end_is_beyond_it() -> None:
    start = (1 << 63) - 1
    with pytest.raises(InputError, match=rf"offset {start:#x} is beyond the end of the file \(6 bytes\)"):
        list(decode._read(Refusing(bytes(6), start), "data", start, 4, 1))
    with pytest.raises(OSError, match="Invalid argument"):  # of the file itself
        list(decode._read(Refusing(bytes(6), 4), "data", 2, 4, 1))
