"""`pybtf dump`: bpftool's text (fixtures/dump, recorded by dump_golden.py), possible inputs, and damage."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf import opening
from pybtf.btf.kinds import Kind
from pybtf.btf.reader import BTF
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    Func,
    FuncProto,
    Int,
    Member,
    Param,
    Ptr,
    Struct,
    Type,
    Typedef,
    Volatile,
)
from pybtf.btf.types import Union as UnionType
from pybtf.btf.writer import BtfBuilder
from pybtf.cli import dump as dump_module
from pybtf.cli.arguments import read
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.dump.dump_header import dump_header
from pybtf.core.dump.dump_types import dump_types
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, elf
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT, environment
from tools.generate import randbtf

GOLDEN = ROOT / "fixtures" / "golden"
FOLDER = ROOT / "fixtures" / "dump"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())["inputs"]
FORMATS = ("c", "unsorted", "raw", "json", "pretty")
SAMPLE = GOLDEN / "00_kernel_like.gcc-O2-5-exe.usual.btf"

Dump = Callable[..., bytes]


def text(view: View, format: str, ids: list[int] | None = None) -> bytes:
    if format in ("c", "unsorted"):
        return dump_header(view, ids or [], format == "c", as_is=True)  # test_dump_c_names.py has the rest
    pieces: list[bytes] = []
    dump_types(view, pieces.append, ids or [], format != "raw", format == "pretty")
    return b"".join(pieces)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.fixture
def dump(capfdbinary: pytest.CaptureFixture[bytes]) -> Dump:
    """`dump("--format", "raw", path)`: standard output of the command, which must succeed."""

    def run(*arguments: object) -> bytes:
        status = main(["dump", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        assert (status, err) == (0, b"")
        return out

    return run


@pytest.fixture
def refused(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """The one message of a command that fails, with nothing on standard output."""

    def run(*arguments: object, status: int = 1) -> str:
        assert main(["dump", *map(str, arguments)]) == status
        out, err = capfdbinary.readouterr()
        assert out == b""
        assert err.count(b"\n") == 1
        return err.decode()

    return run


# The same text


@pytest.mark.parametrize("name", EXPECTED)
def test_text_is_bpftools(name: str) -> None:
    expected = EXPECTED[name]
    generated = name.startswith("random-")
    data = randbtf.RandomBtf(int(name[7:-4])).make() if generated else (GOLDEN / name).read_bytes()
    assert digest(data) == expected["input"], "not the input that bpftool was given"
    view = View(data, name)
    found = {format: digest(text(view, format)) for format in FORMATS if expected[format] is not None}
    assert found == {format: expected[format] for format in found}
    assert {"raw", "json", "pretty"} <= found.keys()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.*.*.*")), ids=lambda path: path.name)
def test_readable_text_is_bpftools(path: Path, dump: Dump) -> None:
    options = {".c": [], ".unsorted": ["--unsorted"], ".raw": ["--format", "raw"], ".json": ["--format=json"]}
    assert dump(*options[path.suffix], GOLDEN / f"{path.stem}.btf") == path.read_bytes()


def test_what_bpftool_crashes_at_is_written(dump: Dump) -> None:
    crashed = [name for name, found in EXPECTED.items() if found["c"] is None]
    assert crashed
    assert all(b"struct deep17 {\n" in dump(GOLDEN / name) for name in crashed)


@pytest.mark.parametrize("name", ["00_kernel_like.gcc-O2-5-exe.usual", "42_array_elements.gcc-O0-5-obj.usual"])
@pytest.mark.parametrize("option", ["--format=c", "--unsorted"])
def test_headers_compile(
    name: str, option: str, dump: Dump, tmp_path: Path, require: Callable[[str], str]
) -> None:
    (tmp_path / "header.h").write_bytes(dump(option, GOLDEN / f"{name}.btf"))
    subprocess.run([require("gcc"), "-w", "-fsyntax-only", str(tmp_path / "header.h")], check=True)


def test_sizes_and_offsets_survive_the_way_through_c(
    dump: Dump, tmp_path: Path, require: Callable[[str], str]
) -> None:
    """The compiler agrees with the BTF about all structs: padding and attributes are in the right places."""
    path = GOLDEN / "12_bitfields.gcc-O0-5-obj.usual.btf"
    lines = [dump(path).decode()]
    checked = 0
    for type in BTF.from_file(path):
        if isinstance(type, Composite) and type.name and type.kind is Kind.STRUCT:
            lines.append(f"_Static_assert(sizeof(struct {type.name}) == {type.size}, \"{type.name}\");")
            for member in type.members:
                if member.name and not member.bitfield_size:
                    place = f"__builtin_offsetof(struct {type.name}, {member.name})"
                    lines.append(f"_Static_assert({place} == {member.bit_offset // 8}, \"{member.name}\");")
                    checked += 1
    assert checked > 5
    (tmp_path / "header.c").write_text("\n".join(lines))
    subprocess.run([require("gcc"), "-w", "-fsyntax-only", str(tmp_path / "header.c")], check=True)


def test_json_is_json(dump: Dump) -> None:
    plain = dump("--format", "json", SAMPLE)
    assert json.loads(plain) == json.loads(dump("--format", "json", "--pretty", SAMPLE))
    assert dump("--json", SAMPLE) == dump("--json", "--format=json", SAMPLE) == plain
    types = json.loads(plain)["types"]
    assert [type["id"] for type in types] == list(range(1, len(BTF.from_file(SAMPLE)) + 1))


def test_names_are_escaped_in_json() -> None:
    builder = BtfBuilder()
    name = '"\\/\b\f\n\r\t\x01\x7fä'
    builder.add(Int(name=name, size=4, bits=32))
    (type,) = json.loads(text(View(builder.tobytes(), "x"), "json"))["types"]
    assert type["name"] == name


# Chosen types


def test_roots(dump: Dump) -> None:
    pair = BTF.from_file(SAMPLE).by_name("pair", Kind.STRUCT)
    assert pair is not None
    header = dump("--root", pair.id, SAMPLE)
    assert b"struct pair {\n\tint a;\n\tint b;\n};\n\n" in header
    assert header.count(b"{\n") == 1
    assert b"kfunc" not in header
    assert header == dump("--root=pair", SAMPLE) == dump("--root", "struct pair", "--root", pair.id, SAMPLE)
    raw = dump("--format", "raw", "--root", "pair", SAMPLE)
    assert raw.startswith(f"[{pair.id}] STRUCT 'pair' size=8 vlen=2\n".encode())
    assert raw.count(b"[") == 1


def test_into_a_file(dump: Dump, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The same text, complete or not at all."""
    out = tmp_path / "out"
    for options in (["--unsorted"], ["--format", "raw"], ["--format", "json", "--pretty"]):
        text = dump(*options, SAMPLE)
        assert main(["dump", *options, "-o", str(out), str(SAMPLE)]) == 0
        assert out.read_bytes() == text
        assert dump(*options, "-o", "-", SAMPLE) == text
    out.write_bytes(b"before")
    damaged = tmp_path / "damaged.btf"
    damaged.write_bytes(SAMPLE.read_bytes()[:-1])
    assert main(["dump", "--output", str(out), str(damaged)]) == 1
    assert out.read_bytes() == b"before"
    assert main(["dump", "-o", str(damaged), str(damaged)]) == 2
    assert b"-o OUT is the input" in capfdbinary.readouterr().err
    assert main(["dump", "-o", str(tmp_path), str(SAMPLE)]) == 1
    assert b"this is a folder" in capfdbinary.readouterr().err


def test_all_types_of_a_name_are_taken(dump: Dump) -> None:
    header = dump("--root", "target", SAMPLE)
    assert b"struct target {\n" in header
    assert b"struct target___2 {\n" in header


def test_the_root_of_a_function_is_what_its_prototype_needs(dump: Dump) -> None:
    assert b"struct task {\n" in dump("--root", "bpf_acquire", "--root", "task", SAMPLE)
    assert b" FUNC 'bpf_acquire' " in dump("--format=raw", "--root", "bpf_acquire", SAMPLE)


def test_roots_that_are_not_there(refused: Callable[..., str]) -> None:
    count = len(BTF.from_file(SAMPLE))
    assert "no type is called 'piar'" in refused("--root", "piar", SAMPLE)
    assert "Nearest: pair" in refused("--root", "piar", SAMPLE)
    assert "no type is called 'union pair'" in refused("--root", "union pair", SAMPLE)
    assert f"no type has the id {count + 1}; expected 1 to {count}" in refused("--root", count + 1, SAMPLE)
    assert "no type has the id 0" in refused("--root", "0", SAMPLE)
    assert "no type has the id 9999" in refused("--root", "9" * 9999, SAMPLE)
    assert "no type is called ''" in refused("--root", "", SAMPLE)
    assert r"no type is called 'a\xff'" in refused("--root", "a\udcff", SAMPLE)
    said = refused("--root", "class pair", SAMPLE, status=2)
    assert "'class pair': unknown word 'class'; expected one of struct" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "yaml", SAMPLE], "yaml"),
        (["--unsorted", "--format", "raw", SAMPLE], "--unsorted goes with --format c"),
        (["--pretty", SAMPLE], "--pretty goes with --json"),
        (["--json", "--unsorted", SAMPLE], "--unsorted goes with --format c"),
        (["--json", "--format", "c", SAMPLE], "--format c and --json do not go together"),
        ([], "missing argument 'FILE'"),
        ([SAMPLE, SAMPLE], "one FILE at a time\n"),
        (["--base", "-", "-"], "standard input can be read only once"),
        (["--colour", SAMPLE], "--colour"),
    ],
)
def test_usage(arguments: list[object], message: str, refused: Callable[..., str]) -> None:
    assert message in refused(*arguments, status=2)


def test_plain_command_lines_are_read_without_click() -> None:
    line = ["--format=raw", "--root", "a", "--root", "b", "--base", "v", "-o", "y", "x"]
    given = read(line, dump_module.OPTIONS)
    expected = {"format": "raw", "root": ("a", "b"), "base": "v", "output": "y"}
    assert given == {"files": ("x",), "json": False, "unsorted": False, "pretty": False, **expected}
    assert read(["-v", "x"], dump_module.OPTIONS) is None
    assert read(["--no-progress", "x"], dump_module.OPTIONS) is None


# Possible inputs


def test_containers(dump: Dump, tmp_path: Path) -> None:
    """Raw BTF of either byte order and with longer headers, and ELF, even compressed, all print the same."""
    btf = BTF.from_file(SAMPLE)
    expected = dump(SAMPLE)
    for little in (True, False):
        for length, layout in ((24, False), (32, True), (48, False)):
            builder = BtfBuilder()
            builder.extend(btf)
            path = tmp_path / "raw.btf"
            path.write_bytes(builder.tobytes(little, header_length=length, layout=layout))
            assert dump(path) == expected
    module = elf([Section(".BTF", SAMPLE.read_bytes())]).data
    for name, data in {"m.ko": module, "m.ko.xz": lzma.compress(module), "m.ko.gz": gzip.compress(module)}.items():
        (tmp_path / name).write_bytes(data)
        assert dump(tmp_path / name) == expected


def test_zstd(dump: Dump, tmp_path: Path, require: Callable[[str], str]) -> None:
    zstd = require("zstd")
    module = tmp_path / "m.ko"
    module.write_bytes(elf([Section(".BTF", SAMPLE.read_bytes())]).data)
    subprocess.run([zstd, "-q", str(module)], check=True)
    assert dump(tmp_path / "m.ko.zst") == dump(SAMPLE)


@pytest.mark.parametrize("data", [SAMPLE.read_bytes(), elf([Section(".BTF", SAMPLE.read_bytes())]).data])
def test_standard_input(data: bytes, dump: Dump) -> None:
    argv = [sys.executable, "-m", "pybtf", "dump", "--format", "raw", "-"]
    done = subprocess.run(argv, input=data, capture_output=True, check=True, env=environment())
    assert done.stdout == dump("--format", "raw", SAMPLE)


def test_an_elf_file_of_32_bits_has_pointers_of_4_bytes(dump: Dump, tmp_path: Path) -> None:
    """BTF without `long` does not show it. Alignments depend on it."""
    builder = BtfBuilder()
    integer = builder.add(Int(name="long long int", size=8, bits=64))
    members = (Member(name="a", type=integer, bit_offset=0), Member(name="b", type=integer, bit_offset=96))
    builder.add(Struct(name="s", size=20, members=members))
    for bits, machine, packed in ((32, "EM_386", False), (64, "EM_X86_64", True)):
        path = tmp_path / "file.elf"
        path.write_bytes(elf([Section(".BTF", builder.tobytes())], bits=bits, machine=machine).data)
        assert (b"__attribute__((packed))" in dump(path)) == packed


SPLIT = ROOT / "fixtures" / "split" / "golden"


def split() -> tuple[Path, Path]:
    """A module's BTF and that of its base."""
    files = sorted((ROOT / "fixtures" / "dedup").glob("*.base.btf"))
    base = files[0]
    return base.with_name(base.name.replace(".base.", ".")), base


def test_split_btf(dump: Dump, tmp_path: Path, refused: Callable[..., str]) -> None:
    module, base = split()
    first = BTF.from_file(base).end_id
    raw = dump("--format", "raw", "--base", base, module)
    assert raw.startswith(f"[{first}] ".encode())
    folder = tmp_path / "btf"
    folder.mkdir()
    (folder / "module").write_bytes(module.read_bytes())
    assert "BTF that is split from a base" in refused(folder / "module")
    (folder / "vmlinux").write_bytes(base.read_bytes())
    assert dump("--format", "raw", folder / "module") == raw
    ko = tmp_path / "m.ko"
    ko.write_bytes(elf([Section(".BTF", module.read_bytes()), Section(".BTF.base", base.read_bytes())]).data)
    assert dump("--format", "raw", ko) == raw
    assert "a base of its own, .BTF.base" in refused("--base", base, ko)


@pytest.mark.parametrize("command", [["show"], ["dump", "--format", "raw"], ["dump", "--format", "json"], ["size"]])
def test_another_base(
    command: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A base with the same texts at other offsets: names would begin anywhere, even those of members."""
    module, base = split()
    data = bytearray(base.read_bytes())
    start, end = BTF.from_file(base).header.section("str")
    data[start:end] = b"\0longer" + data[start + 1 : end - 6]
    data[end - 1] = 0
    other = tmp_path / "other"
    other.write_bytes(data)
    for named, status in ((base, 0), (other, 1)):
        assert main([*command, "--base", str(named), str(module)]) == status
        said = capfdbinary.readouterr().err.decode()
        assert ("split from another BTF than" in said) == (status == 1)
        assert said.count("\n") == status


TYPEDEF = 8 << 24


@pytest.mark.parametrize("named", [True, False], ids=["named", "beside"])
@pytest.mark.parametrize(
    ("types", "tells"),
    [
        ([100, TYPEDEF, 1], "Or {} is not the BTF it was split from; name the right one with --base FILE ("),
        ([5, TYPEDEF, 40], "Or {} is not the BTF it was split from; name the right one with --base FILE ("),
        ([100, TYPEDEF, 1, 2, TYPEDEF, 1], "split from another BTF than {}: a name begins at 0x2, "),
    ],
    ids=["name", "reference", "both"],
)
def test_a_base_that_is_too_small(
    types: list[int], tells: str, named: bool, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """References that lead nowhere show that the base is a different one. The message has the better evidence."""
    module, base = tmp_path / "m", tmp_path / "vmlinux"
    module.write_bytes(raw_btf(types, b"t\0"))
    base.write_bytes(raw_btf([1, 1 << 24, 4, 32], b"\0int\0"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "m.ko").write_bytes(elf([Section(".BTF", module.read_bytes())]).data)
    option = ["--base", str(base)] if named else []
    for command in (["show", "t"], ["dump", "--format", "raw"], ["size"], ["duplicates"], ["diff", str(module)]):
        assert main([*command, *option, str(module)]) == 1
        said = capfdbinary.readouterr().err.decode()
        assert tells.format(base) in said
        assert said.count("\n") == 1
    if named:
        assert main(["diff", *option, str(folder), str(folder)]) == 1
        out, err = capfdbinary.readouterr()
        assert tells.format(base) in (out + err).decode()
    own = tmp_path / "own.ko"
    own.write_bytes(elf([Section(".BTF", module.read_bytes()), Section(".BTF.base", base.read_bytes())]).data)
    assert main(["dump", "--format", "raw", str(own)]) == 1
    said = capfdbinary.readouterr().err.decode()
    assert tells.partition(";")[0].format(f"{own}: .BTF.base") in said
    assert "--base" not in said


def test_damage_is_not_doubt_about_the_base(tmp_path: Path, refused: Callable[..., str]) -> None:
    module, base = tmp_path / "m", tmp_path / "vmlinux"
    module.write_bytes(raw_btf([5, TYPEDEF], b"t\0"))
    base.write_bytes(raw_btf([1, 1 << 24, 4, 32], b"\0int\0"))
    assert "split from" not in refused(module)
    module.write_bytes(raw_btf([5, TYPEDEF, 1], b"t\0"))
    base.write_bytes(raw_btf([9, 1 << 24, 4, 32], b"\0int\0"))
    said = refused(module)
    assert f"{base}: types+0x0: name offset 0x9" in said
    assert "split from" not in said


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ([Section(".text", b"x")], "no .BTF section; has no DWARF (.debug_info); expected an ELF file with BTF"),
        ([Section(".BTF", b"")], "an empty .BTF section; has no DWARF (.debug_info); expected an ELF file with BTF"),
    ],
)
def test_elf_without_btf(
    sections: list[Section], message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    path = tmp_path / "file.elf"
    path.write_bytes(elf(sections).data)
    assert message in refused(path)


@pytest.mark.parametrize(("data", "message"), [(b"", "is empty"), (b"abcd", "starts with 61 62 63 64")])
def test_what_is_no_btf(data: bytes, message: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert message in refused(path)
    assert "no such file" in refused(tmp_path / "missing")


# From Python


@pytest.mark.parametrize("name", ["00_kernel_like.gcc-O2-5-exe.usual", "13_bitfields.gcc-s390x-O0-5-exe.usual"])
def test_api(name: str, dump: Dump) -> None:
    path = GOLDEN / f"{name}.btf"
    btf = BTF.from_file(path)
    assert btf.to_c() == dump(path).decode()
    assert btf.to_c(sort=False) == dump("--unsorted", path).decode()
    assert btf.to_json() == dump("--format=json", path).decode()
    assert btf.to_json([1, 2], pretty=True) == dump("--format=json", "--pretty", "--root=1", "--root=2", path).decode()
    with pytest.raises(IndexError):
        btf.to_c([btf.end_id])


def test_api_of_split_btf(dump: Dump) -> None:
    module, base = split()
    btf = BTF.from_file(module, base=BTF.from_file(base))
    assert btf.to_c([btf.first_id]) == dump("--root", btf.first_id, "--base", base, module).decode()
    assert btf.to_json() == dump("--format=json", "--base", base, module).decode()


# Damage


def built(*types: Type) -> View:
    builder = BtfBuilder()
    builder.extend(types)
    return View(builder.tobytes(), "x")


def member(type: int) -> Member:
    return Member(name="m", type=type, bit_offset=0)


INT = Int(name="int", size=4, bits=32)
CYCLES: dict[str, list[Type]] = {
    "typedef": [Typedef(name="t", type=1)],
    "pointers": [Ptr(type=2), Ptr(type=1)],
    "qualifiers": [Const(type=2), Volatile(type=1)],
    "array": [Array(type=1, index_type=2, nelems=1), INT],
    "struct": [Struct(name="s", size=4, members=(member(1),))],
    "nameless": [Struct(name="", size=8, members=(member(2),)), Ptr(type=1)],
    "two": [
        Struct(name="a", size=4, members=(member(2),)),
        UnionType(name="b", size=4, members=(member(3),)),
        Array(type=1, index_type=4, nelems=1),
        INT,
    ],
    "prototype": [FuncProto(return_type=2), Ptr(type=1)],
    "parameter": [FuncProto(return_type=0, params=(Param(name="p", type=2),)), Ptr(type=1)],
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycles_end(name: str) -> None:
    view = built(*CYCLES[name], INT)
    for format in ("c", "unsorted"):
        with pytest.raises(InputError, match=r"type [0-9]+ (contains itself|nests too deeply)"):
            text(view, format)
    assert text(view, "raw").startswith(b"[1] ")


def test_long_chains_and_deep_nests_end() -> None:
    chain = built(*[Typedef(name="t", type=id + 2) for id in range(5000)], INT)
    with pytest.raises(InputError, match="nests too deeply"):
        text(chain, "c")
    nest = [Struct(name="", size=4, members=(member(id + 2),)) for id in range(5000)]
    with pytest.raises(InputError, match="nests too deeply"):
        text(built(*nest, INT), "unsorted")


def test_text_that_doubles_with_each_type_ends() -> None:
    types: list[Type] = [INT]
    for id in range(1, 60):
        types.append(UnionType(name="", size=4, members=(member(id), member(id))))
    types.append(Typedef(name="t", type=60))
    with pytest.raises(InputError, match="too many steps, or becomes too long"):
        text(built(*types), "unsorted")


def test_padding_of_gigabytes_ends() -> None:
    view = built(Struct(name="s", size=0xFFFFFFFF, members=()))
    with pytest.raises(InputError, match="becomes too long"):
        text(view, "unsorted")


@pytest.mark.parametrize("counts", [(1 << 31,), (998724481, 1119412321, 33)])  # the product of these is 2^65 + 1
def test_arrays_of_gigabytes_have_no_size(counts: tuple[int, ...]) -> None:
    """So the padding before the next member begins at the start of the struct, as in bpftool."""
    arrays = [word for n, count in enumerate(counts, 1) for word in (0, 0x03000000, 0, n, 1, count)]
    words = [1, 0x01000000, 4, 32, *arrays, 3, 0x04000002, 68, 3, len(counts) + 1, 0, 1, 1, 512]
    assert text(View(raw_btf(words, b"\0i\0s\0"), "x"), "unsorted").count(b"long: 64;") == 8


def test_a_string_that_all_types_share_ends() -> None:
    with pytest.raises(InputError, match="names that share fewer bytes"):
        View(raw_btf([1, 0x07000000, 0] * 20_000, b"\0" + b"x" * 40_000 + b"\0"), "x")


def test_a_type_of_a_long_name_that_many_have_ends() -> None:
    members = [word for _ in range(0xFFFF) for word in (40_002, 2, 0)]
    records = [1, 0x07000000, 0, 0, 0x02000000, 1, 40_002, 0x0400FFFF, 8, *members]
    view = View(raw_btf(records, b"\0" + b"x" * 40_000 + b"\0m\0"), "x")
    for format in ("c", "unsorted"):
        with pytest.raises(InputError, match="too long"):
            text(view, format)


def test_what_cannot_stand_in_a_declaration() -> None:
    function = [FuncProto(return_type=0), Func(name="f", type=1), Struct(name="s", size=4, members=(member(2),))]
    with pytest.raises(InputError, match=r"x: types.*type 2 is used in a declaration"):
        text(built(*function), "unsorted")


def test_damage_is_one_message_or_harmless() -> None:
    """Bytes changed at random: an error with a place, or text; never a crash or an endless run."""
    chooser = random.Random(15)
    sources = [randbtf.RandomBtf(seed).make() for seed in range(20)]
    texts = 0
    messages = []
    for _ in range(2000):
        data = bytearray(chooser.choice(sources))
        for _ in range(chooser.choice((1, 1, 2, 8))):
            data[chooser.randrange(len(data))] = chooser.choice((0, 1, 0x7F, 0x80, 0xFF, chooser.randrange(256)))
        try:
            view = View(bytes(data), "x")
            for format in ("c", "unsorted", "raw", "json"):
                text(view, format)
            texts += 1
        except InputError as error:
            messages.append(str(error))
    assert all(message.startswith("x") for message in messages)
    assert min(texts, len(messages)) > 200


def test_every_truncation_is_an_error() -> None:
    data = randbtf.RandomBtf(1).make()
    for size in range(0, len(data), 7):
        with pytest.raises(InputError):
            View(data[:size], "x")


def test_places_of_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    good = BtfBuilder()
    good.add(Ptr(type=0))
    data = bytearray(good.tobytes())
    data[24 + 8 : 24 + 12] = (7).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x.btf: types\+0x8: type 1 refers to type 7, which does not exist"):
        opening.open_view(str(path))


def test_imports_nothing_dear() -> None:
    code = f"import sys; from pybtf.cli.main import main; assert main(['dump', {str(SAMPLE)!r}]) == 0"
    code += "; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    modules = set(done.stderr.split())
    dear = {"click", "typing", "enum", "json", "dataclasses", "pathlib", "ctypes", "lzma", "difflib", "elftools"}
    assert not dear & {module.split(".")[0] for module in modules}
    assert not {"pybtf.btf.reader", "pybtf.elf.image", "pybtf.pipeline.passes", "pybtf.cli.encode"} & modules


def test_a_header_has_an_allowance_of_steps() -> None:
    """More for longer BTF, and a fixed part, because small BTF may consist of chains only."""
    view = View((ROOT / "fixtures" / "golden" / "01_char.gcc-O0-4-exe.usual.btf").read_bytes(), "x")
    assert dump_header(view, [], True, 0) == dump_header(view)
    words = [1, 1 << 24, 4, 32]  # each nameless union is eight times in the next: 8 ** 6 members
    for id in range(1, 7):
        words += [0, 5 << 24 | 8, 4, *[1, id, 0, *[0, id, 0] * 7]]
    words += [1, 5 << 24 | 1, 4, 0, 7, 0]
    long = View(raw_btf(words, b"\0a\0"), "x")
    assert dump_header(long).count(b"a;") > 1000
    with pytest.raises(InputError, match="too many steps, or becomes too long"):
        dump_header(long, [], True, 0)
