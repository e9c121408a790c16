"""`.BTF.ext` as clang writes it, and as nobody should write it."""

from __future__ import annotations

import gzip
import lzma
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf import BTF, InputError
from pybtf.btf.core_relocation import Relocator, Target
from pybtf.btf.ext import BtfExt, FunctionInfo, LineInfo, Relocation, RelocationKind, read_object
from pybtf.btf.types import Func, Struct
from pybtf.btf.writer import BtfBuilder
from tests.builders.rawbtf import raw_btf

FOLDER = Path(__file__).parents[2] / "fixtures" / "bpf"


@pytest.mark.parametrize("name", ["core", "hash", "old"])
def test_lines_are_those_of_the_source(name: str) -> None:
    btf, ext = read_object(FOLDER / f"{name}.o")
    assert ext is not None
    source = (FOLDER / f"{name}.c").read_text().splitlines()
    lines = [line for line in ext.lines() if line.line]
    assert lines
    for line in lines:
        assert line.file == f"./{name}.c"
        assert line.source == source[line.line - 1]
        assert 0 <= line.column <= len(line.source)
    functions = list(ext.functions())
    assert functions
    for function in functions:
        assert btf.type(function.type).name + "(" in " ".join(source)


def test_relocations_of_big_endian() -> None:
    """`t->parent->pid + s : t->b` of core.c."""
    btf, ext = read_object(FOLDER / "core.o")
    assert ext is not None
    assert not ext.little
    found = list(ext.relocations())
    assert {btf.type(each.type).name for each in found} == {"task"}
    assert {each.kind for each in found} == {RelocationKind.FIELD_BYTE_OFFSET}
    assert {each.access for each in found} == {"0:0", "0:1", "0:2:0", "0:2:1:1"}


def some_btf(little: bool = True) -> tuple[BTF, dict[str, int]]:
    builder = BtfBuilder()
    builder.add(Struct("s", 4))
    builder.add(Func("f", 0))
    at = {name: builder.string(name) for name in (".text", "0:1", "a.c", "x = 1;")}
    return BTF.from_bytes(builder.tobytes(little)), at


def part(size: int, *sections: tuple[int, list[tuple[int, ...]]], little: bool = True) -> bytes:
    """A part with records of `size` bytes; the given ones are padded to it."""
    order = "<" if little else ">"
    data = struct.pack(f"{order}I", size)
    for name, records in sections:
        data += struct.pack(f"{order}II", name, len(records))
        data += b"".join(struct.pack(f"{order}{len(row)}I", *row).ljust(size, b"\x55") for row in records)
    return data


def whole(*parts: bytes, little: bool = True, header: int = 32) -> bytes:
    order = "<" if little else ">"
    data = struct.pack(f"{order}HBBI", 0xEB9F, 1, 0, header)
    at = 0
    for each in parts:
        data += struct.pack(f"{order}II", at, len(each))
        at += len(each)
    return data.ljust(header, b"\0")[:header] + b"".join(parts)


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("header", [32, 48])
@pytest.mark.parametrize("more", [0, 4, 12])
def test_records_and_header_may_be_longer(little: bool, header: int, more: int) -> None:
    btf, at = some_btf(little)
    text, access, file, source = at[".text"], at["0:1"], at["a.c"], at["x = 1;"]
    data = whole(
        part(8 + more, (text, [(0, 2)]), little=little),
        part(16 + more, (text, [(0, file, source, 7 << 10 | 5), (8, file, 0, 0)]), little=little),
        part(16 + more, (text, [(8, 1, access, 2)]), (file, [(16, 1, access, 12)]), little=little),
        little=little, header=header,
    )  # fmt: skip
    ext = BtfExt.from_bytes(data, btf)
    assert list(ext.functions()) == [FunctionInfo(".text", 0, 2)]
    assert list(ext.lines()) == [LineInfo(".text", 0, "a.c", "x = 1;", 7, 5), LineInfo(".text", 8, "a.c", "", 0, 0)]
    assert list(ext.relocations()) == [
        Relocation(".text", 8, 1, "0:1", RelocationKind.FIELD_EXISTS),
        Relocation("a.c", 16, 1, "0:1", RelocationKind.TYPE_MATCHES),
    ]


def test_a_header_before_relocations() -> None:
    btf, at = some_btf()
    ext = BtfExt.from_bytes(whole(part(8, (at[".text"], [(0, 2)])), b"", header=24), btf)
    assert list(ext.relocations()) == []
    assert len(list(ext.functions())) == 1


BAD = {
    "no data": (b"", "no data"),
    "magic": (b"\x7fELF" + bytes(40), "magic"),
    "short": (whole(b"", b"", b"")[:20], "20 bytes"),
    "version": (b"\x9f\xeb\2" + whole(b"", b"", b"")[3:], "version 2"),
    "flags": (b"\x9f\xeb\1\1" + whole(b"", b"", b"")[4:], "flags"),
    "header of 20": (whole(b"", b"", b"", header=20) + bytes(20), "header length 20"),
    "header too long": (whole(b"", b"", b"")[:4] + b"\x40" + whole(b"", b"", b"")[5:], "header length 64"),
    "other order": (whole(b"", b"", b"", little=False), "byte order"),
    "part too long": (whole(b"", b"", b"")[:28] + b"\x04\0\0\0", "core_relo at"),
    "part not aligned": (whole(b"", b"", b"")[:24] + b"\x02\0\0\0\x04\0\0\0" + bytes(8), "multiple of 4"),
    "part of 3": (whole(b"", b"", b"")[:28] + b"\x03\0\0\0" + bytes(3), "record size"),
    "records of 12": (whole(b"", b"", part(12)), "records of 12"),
    "records of 18": (whole(b"", b"", part(18)), "records of 18"),
    "half a section": (whole(b"", b"", part(16) + bytes(4)), "section of core_relo"),
    "no records": (whole(b"", b"", part(16, (0, []))), "0 records"),
    "too many records": (whole(b"", b"", part(16, (0, [(0, 1, 0, 0)]))[:-4]), "1 records"),
    "4 billion records": (whole(b"", b"", part(16) + b"\0\0\0\0\xff\xff\xff\xff" + bytes(64)), "4294967295 records"),
    "section name": (whole(b"", b"", part(16, (999, [(0, 1, 0, 0)]))), "string offset 0x3e7"),
    "type": (whole(b"", b"", part(16, (0, [(0, 3, 0, 0)]))), "type id 3"),
    "access": (whole(b"", b"", part(16, (0, [(0, 1, 999, 0)]))), "string offset 0x3e7"),
    "kind": (whole(b"", b"", part(16, (0, [(0, 1, 0, 13)]))), "kind 13"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_damage_has_a_message_with_a_place(case: str) -> None:
    data, words = BAD[case]
    btf, _ = some_btf()
    with pytest.raises(InputError, match=r"\.BTF\.ext") as caught:
        list(BtfExt.from_bytes(data, btf).relocations())
    assert words in str(caught.value)


def test_any_damage_is_an_input_error() -> None:
    chance = random.Random(15)
    accepted = 0
    for name in ("core", "hash"):
        btf, ext = read_object(FOLDER / f"{name}.o")
        assert ext is not None
        for _ in range(300):
            data = bytearray(ext.data)
            for _ in range(chance.randint(1, 4)):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 8, 0x7F, 0xFF, chance.randrange(256)))
            try:
                damaged = BtfExt.from_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))], btf)
                for records in (damaged.functions, damaged.lines, damaged.relocations):
                    list(records())
                accepted += 1
            except InputError:
                pass
    assert 30 < accepted < 570


def test_what_is_no_object(tmp_path: Path) -> None:
    for content, words in ((b"", "is empty"), (b"\x9f\xeb\1\0", "BPF object"), (b"\x7fELF", "damaged ELF header")):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(InputError, match=words):
            read_object(tmp_path / "x")
    with pytest.raises(InputError, match="no such file"):
        read_object(tmp_path / "none")


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_an_object_that_is_compressed(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    packed = tmp_path / "core.o.packed"
    packed.write_bytes(compress((FOLDER / "core.o").read_bytes()))
    btf, ext = read_object(packed)
    known, plain = read_object(FOLDER / "core.o")
    assert ext is not None
    assert plain is not None
    assert (btf.data, ext.data, str(ext.place)) == (known.data, plain.data, f"{packed}: .BTF.ext+0x0")
    packed.write_bytes(compress(known.data))
    with pytest.raises(InputError, match="expected a BPF object"):
        read_object(packed)


def test_an_object_that_comes_through_a_pipe() -> None:
    known, _ = read_object(FOLDER / "core.o")
    with subprocess.Popen(["cat", FOLDER / "core.o"], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        btf, ext = read_object(f"/dev/fd/{cat.stdout.fileno()}")
    assert (btf.data, ext is not None) == (known.data, True)


def test_names_that_are_parts_of_each_other() -> None:
    """Each section takes 16 bytes and has a name of its own. All these names used to be kept."""
    strings = b"\0" + b"a" * 200_000 + b"\0"
    btf = BTF.from_bytes(raw_btf([], strings))
    record: list[tuple[int, ...]] = [(0, 0)]
    functions = part(8, *((at, record) for at in range(1, 20_000)))
    ext = BtfExt.from_bytes(struct.pack("<HBBI6I", 0xEB9F, 1, 0, 32, 0, len(functions), 0, 0, 0, 0) + functions, btf)
    with pytest.raises(InputError, match="names that begin inside others"):
        list(ext.functions())


def test_a_long_way_is_not_repeated() -> None:
    """The message stays short."""
    strings = b"\0s\0" + b"0:" * 100_000 + b"\0"
    btf = BTF.from_bytes(raw_btf([1, 4 << 24, 4], strings))
    relocation = Relocation(".text", 0, 1, btf.strings[3], RelocationKind.FIELD_EXISTS)
    with pytest.raises(InputError) as caught:
        Relocator(btf, Target(btf)).resolve(relocation)
    assert len(str(caught.value)) < 1000
