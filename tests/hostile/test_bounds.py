"""One past the end: for everything that is read, the last value that fits and the first that does not."""

from __future__ import annotations

import hashlib
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.files import read_btf
from pybtf.dwarf.alternate import alternate_link
from pybtf.elf.image import ElfImage
from pybtf.elf.notes import notes
from pybtf.errors import EncodeError, InputError
from pybtf.merging.archives import members
from pybtf.pipeline.run_threads import work_together
from pybtf.reproduce.lockfile import is_digest
from tests.builders.dwarfwriter import Unit, die, dwarf, uleb
from tests.builders.elfwriter import Section, Symbol, bare
from tests.builders.kernelish import FLAVOURS, INT, kernel, unit, variable
from tests.builders.meaning import meanings
from tests.builders.rawdwarf import PRESENT, RawDwarf
from tests.builders.synthetic import named
from tests.dwarf.test_containers import type_unit

X86 = FLAVOURS["x86_64"]
IMPLICIT_CONST = 0x21


@pytest.mark.parametrize("over", [0, 1])
def test_a_section_at_the_end_of_the_file(over: int) -> None:
    data = bytearray(bare([Section(".x", b"content")]))
    table = struct.unpack_from("<Q", data, 40)[0]
    at = struct.unpack_from("<Q", data, table + 64 + 24)[0]
    struct.pack_into("<Q", data, table + 64 + 32, len(data) - at + over)
    image = ElfImage("t.o", data)
    if over:
        with pytest.raises(InputError, match=f"ends at {len(data) + 1:#x}; expected an end within the file"):
            image.raw(image.sections[1])
    else:
        assert len(image.raw(image.sections[1])) == len(data) - at


@pytest.mark.parametrize("over", [0, 1])
def test_a_base_at_the_end_of_the_file(over: int, tmp_path: Path) -> None:
    path = tmp_path / "base"
    raw = pybtf.encode(write(tmp_path / "kernel", kernel().data)).data
    data = bytearray(bare([Section(".other", b"x"), Section(".BTF", bytes(raw))]))
    table = struct.unpack_from("<Q", data, 40)[0]
    # After the section table, at the end of the file.
    struct.pack_into("<QQ", data, table + 2 * 64 + 24, len(data), len(raw) + over)
    path.write_bytes(bytes(data) + bytes(raw))
    if over:
        with pytest.raises(InputError, match="an end within the"):
            read_btf(path)
    else:
        assert read_btf(path)[0] == raw


def write(path: Path, data: bytes | bytearray) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("over", [0, 1])
def test_a_kfunc_at_the_end_of_btf_ids(over: int, tmp_path: Path) -> None:
    at = 0xFFFFFFFF83000000
    ids = Section(".BTF_ids", struct.pack("<4I", 1, 1, 0, 0), address=at)
    marks = [
        Symbol("__BTF_ID__set8__s", at, 16 + over, "OBJECT", ".BTF_ids", "LOCAL"),
        Symbol("__BTF_ID__func__f__1", at + 8 + over, 8, "OBJECT", ".BTF_ids", "LOCAL"),
    ]
    path = write(tmp_path / "file", kernel(extra_sections=[ids], extra_symbols=marks).data)
    if over:
        with pytest.raises(InputError, match=r"\.BTF_ids: __BTF_ID__func__f__1 is at"):
            pybtf.encode(path)
    else:
        assert b"bpf_kfunc\0" in bytes(pybtf.encode(path).data)


@pytest.mark.parametrize("size", [1, 127, 128, 129, 130, 255])
def test_the_identity_of_a_supplementary_file(size: int) -> None:
    content = struct.pack("<HB", 5, 0) + b"name\0" + bytes([size & 0x7F | (size & 0x80)])
    content += b"\1" * (size & 0x80) + b"i" * size
    image = ElfImage("t.o", bare([Section(".debug_sup", content)]))
    if size > 127:
        with pytest.raises(InputError, match=r"\.debug_sup: .* expected version 5, a flag"):
            alternate_link(image)
    else:
        link = alternate_link(image)
        assert link is not None
        assert (link.name, link.identity) == ("name", b"i" * size)


@pytest.mark.parametrize(("align", "found"), [(8, 2), (4, 1)])
def test_two_notes_in_an_aligned_section(align: int, found: int) -> None:
    """If aligned to 8, names and descriptors are padded to 8, so the second note is elsewhere than if aligned to 4."""
    one = struct.pack("<III", 4, 4, 1) + b"GNU\0" + b"abcd" + bytes(4)
    image = ElfImage("t.o", bare([Section(".note", one + one, type="NOTE", align=align)]))
    assert [n[1:] for n in notes(image, b"GNU")][:found] == [(1, b"abcd")] * found
    assert len([n for n in notes(image, b"GNU") if n[2] == b"abcd"]) == found


@pytest.mark.parametrize("over", [0, 1])
def test_notes_of_as_many_bytes_as_the_file(over: int) -> None:
    """Sections of notes may overlap. In all, no more bytes are read than the file has."""
    one = struct.pack("<III", 4, 4, 1) + b"GNU\0" + b"abcd"
    data = bytearray(bare([Section(".a", bytes(64), type="NOTE"), Section(".b", one, type="NOTE")]))
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<QQ", data, table + 64 + 24, 0, len(data) - len(one) + over)
    at = struct.unpack_from("<Q", data, table + 2 * 64 + 24)[0]
    data[at : at + 20], data[64 : 64 + 20] = bytes(20), bytes(20)
    data += one
    struct.pack_into("<Q", data, table + 2 * 64 + 24, len(data) - len(one))
    struct.pack_into("<Q", data, table + 64 + 32, len(data) - len(one) + over)
    found = [note for note in notes(ElfImage("t.o", data), b"GNU") if note[2] == b"abcd"]
    assert len(found) == 1 - over


@pytest.mark.parametrize("count", [31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("version", [4, 5])
def test_many_type_units(count: int, version: int, tmp_path: Path) -> None:
    """The table of signatures starts small and must grow."""
    fields: dict[str, Any] = {"section": ".debug_types" if version == 4 else ".debug_info", "version": version}
    units = [type_unit(f"s{i}", 1000 + i, **fields) for i in range(count)]
    typedefs = [named("typedef", f"t{i}", ("type", "ref_sig8", 1000 + i)) for i in range(count)]
    own = unit([INT, *typedefs], version=version)
    path = write(tmp_path / "file", kernel([own, *units] if version == 4 else [*units, own]).data)
    found = meanings(bytes(pybtf.encode(path).data))
    for i in range(count):
        assert found["Typedef", f"t{i}", False, ("Struct", f"s{i}")] == 1


@pytest.mark.parametrize("count", [15, 16, 31, 32, 33, 63, 64, 65, 127, 128])
def test_a_signature_that_none_of_so_many_type_units_has(count: int, tmp_path: Path) -> None:
    """The search ends, however full the table is."""
    fields: dict[str, Any] = {"section": ".debug_info", "version": 5}
    units = [type_unit(f"s{i}", 1000 + i, **fields) for i in range(count)]
    own = unit([INT, named("typedef", "t", ("type", "ref_sig8", 7))], version=5)
    done = pybtf.encode(write(tmp_path / "file", kernel([*units, own]).data), jobs=1)
    assert done.report.warnings == ["1 references to types are void: no type unit has their signature"]
    assert meanings(bytes(done.data))["Typedef", "t", False, "void"] == 1


def test_two_type_units_of_one_signature(tmp_path: Path) -> None:
    """The first one counts, as a linker keeps the first COMDAT group that it meets."""
    fields: dict[str, Any] = {"section": ".debug_info", "version": 5}
    units = [type_unit(name, 7, **fields) for name in ("first", "second")]
    own = unit([INT, named("typedef", "t", ("type", "ref_sig8", 7))], version=5)
    found = meanings(bytes(pybtf.encode(write(tmp_path / "file", kernel([*units, own]).data)).data))
    assert found["Typedef", "t", False, ("Struct", "first")] == 1


@pytest.mark.parametrize(("digits", "good"), [(63, False), (64, True), (65, False)])
def test_digits_of_a_digest(digits: int, good: bool) -> None:
    assert is_digest("a" * digits) == good


def test_what_a_worker_raises() -> None:
    """An exception in a thread must not be swallowed: the output would be incomplete."""
    stopped = threading.Event()

    class Run:
        def work(self, on_slice: Any = None) -> None:
            if on_slice is None:
                raise ZeroDivisionError("in a thread")
            assert stopped.wait(20)

        def stop(self) -> None:
            stopped.set()

    with pytest.raises(ZeroDivisionError, match="in a thread"):
        work_together(Run(), 2, lambda done, units: None)  # type: ignore[arg-type]


def test_no_functions_without_symbols(tmp_path: Path) -> None:
    """`.symtab` has no bytes in a debug-only file. The expected bytes are the reference's."""
    made = kernel()
    data = bytearray(made.data)
    struct.pack_into("<I", data, made.header_at[".symtab"] + 4, 8)
    expected = (
        "9feb01001800000000000000780000007800000022000000010000000000000104000000200000010500000002000004080000000b000000"
        "01000000000000000d0000000100000020000000000000000000000202000000000000000000000300000000010000000100000007000000"
        "0f00000000000008020000001700000001000006040000001e0000000100000000696e7400706f696e740078007900706f696e745f740063"
        "6f6c6f75720052454400"
    )
    for features in ("default", "default,global_var"):
        assert bytes(pybtf.encode(write(tmp_path / "file", bytes(data)), features=features).data).hex() == expected


@pytest.mark.parametrize("offset", [-1, 0])
def test_the_offset_of_a_type_unit(offset: int, tmp_path: Path) -> None:
    """The type must be inside its unit: its last byte is, its end is not."""
    own = unit([INT, named("typedef", "t", ("type", "ref4", "int"))], version=5)
    one = type_unit("s", 7, section=".debug_info", version=5)
    whole = bytearray(kernel([one, own]).data)
    path = write(tmp_path / "file", whole)
    with ElfImage.open(path) as image:
        section = image.section(".debug_info")
        assert section is not None
        start = section.offset
    (length,) = struct.unpack_from("<I", whole, start)
    assert struct.unpack_from("<HBB", whole, start + 4) == (5, 2, 8)
    struct.pack_into("<I", whole, start + 20, 4 + length + offset)
    path.write_bytes(whole)
    if offset:
        assert ("Typedef", "t", False) in [key[:3] for key in meanings(bytes(pybtf.encode(path).data))]
    else:
        with pytest.raises(InputError, match=rf"a reference to {4 + length:#x}, which is outside"):
            pybtf.encode(path)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("size", [65527, 65533, 65534, 65535, 65536, 65537, 131072])
def test_skipped_bytes_of_a_die(size: int, value: int, tmp_path: Path) -> None:
    """A DIE with many bytes of unwanted attributes: the next DIE is found, however these are skipped.

    All bytes are 0xFF or zero, which would end the children if read as a DIE.
    """
    skipped: tuple[Any, ...] = tuple((0x3000 + n, "data8", value % (1 << 64)) for n in range(size // 8))
    skipped += tuple((0x2800 + n, "data1", value % 256) for n in range(size % 8))
    many = [die("label", *skipped), die("base_type", ("name", "string", "x"), ("byte_size", "data1", 2), *skipped)]
    own = unit([INT, *many, named("typedef", "t", ("type", "ref4", "int"))], version=5)
    path = write(tmp_path / "file", kernel([own]).data)
    data = bytes(pybtf.encode(path).data)
    assert {key[:2] for key in meanings(data)} >= {("Int", "x"), ("Typedef", "t")}


@pytest.mark.parametrize("form", [(PRESENT, b""), (IMPLICIT_CONST, b"\0")])
@pytest.mark.parametrize("over", [0, 1])
def test_attributes_without_bytes(form: tuple[int, bytes], over: int, tmp_path: Path) -> None:
    """256 of one abbreviation at most."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    code = 100
    one = uleb(0x3000) + uleb(form[0]) + form[1]
    w.abbrev += uleb(code) + b"\x0b\0" + one * (256 + over) + b"\0\0"
    w.info += uleb(code) * 3
    w.end()
    path = write(tmp_path / "file", w.kernel())
    if over:
        with pytest.raises(InputError, match="an abbreviation with more than 256 attributes without bytes"):
            pybtf.encode(path)
    else:
        assert meanings(bytes(pybtf.encode(path).data))


@pytest.mark.parametrize("head", ["variable", "subprogram", "structure_type", "typedef", "member"])
@pytest.mark.parametrize("over", [0, 1])
def test_declaration_tags_of_one_object(head: str, over: int, tmp_path: Path) -> None:
    """65,535 are allowed; one more is an error, wherever they are. Here they are equal, so one of them remains."""
    one = die("LLVM_annotation", ("name", "string", "btf_decl_tag"), ("const_value", "string", "t"))
    places = {
        "variable": variable(X86),
        "subprogram": named("subprogram", "f", ("low_pc", "addr", X86.text)),
        "structure_type": named("structure_type", "s", ("byte_size", "data1", 4)),
        "typedef": named("typedef", "t", ("type", "ref_addr", "int")),
        "member": named("member", "m", ("type", "ref_addr", "int"), ("data_member_location", "data1", 0)),
    }

    def info(count: int) -> Unit:
        object = places[head]._replace(children=[one] * count if count < 3 else [one, copy * (count - 1)])
        if head == "member":
            object = places["structure_type"]._replace(children=[object])
        return unit([INT, object])

    two, single = (dwarf([info(count)]).sections[".debug_info"] for count in (2, 1))
    end = 3 if head == "member" else 2  # of children
    copy = two[len(single) - end : -end]
    symbols = [Symbol("f", X86.text, 16, "FUNC", ".text")]
    path = write(tmp_path / "file", kernel([info(65535 + over)], extra_symbols=symbols).data)
    if over:
        with pytest.raises(InputError, match="an object with 65536 declaration tags; expected at most 65535"):
            pybtf.encode(path)
    else:
        data = bytes(pybtf.encode(path).data)
        assert sum(count for key, count in meanings(data).items() if key[0] == "DeclTag") == 1


def repeated(kind: str, count: int, folder: Path) -> Path:
    """A file with a DIE of so many parts. All parts after the first are copies of the second one's bytes."""
    size = ("byte_size", "data4", 4)
    part, head = {
        "enumerators": (named("enumerator", "E", ("const_value", "data1", 1)), named("enumeration_type", "x", size)),
        "members": (
            named("member", "m", ("type", "ref_addr", "int"), ("data_member_location", "data1", 0)),
            named("structure_type", "x", size),
        ),
        "types of parameters": (die("formal_parameter", ("type", "ref_addr", "int")), die("subroutine_type")),
        "parameters": (
            named("formal_parameter", "p", ("type", "ref_addr", "int")),
            named("subprogram", "f", ("low_pc", "addr", X86.text)),
        ),
    }[kind]
    two = kernel_info([part, part], head)
    one = kernel_info([part], head)
    # After the last part comes the end of the children, twice.
    copy = two[len(one) - 2 : -2]
    extra = [Symbol("f", X86.text, 16, "FUNC", ".text")]
    own = unit([INT, head._replace(children=[part, copy * (count - 1)])])
    return write(folder / "file", kernel([own], symbols=extra).data)


def kernel_info(parts: list[Any], head: Any) -> bytes:
    return dwarf([unit([INT, head._replace(children=parts)])]).sections[".debug_info"]


#: The start of the SHA-256 of the reference's BTF for 65,535 of each.
REFERENCE = {
    "enumerators": "929da102d59a83cd",
    "members": "11c19755e13ef658",
    "types of parameters": "99d2a22a05ccdd49",
    "parameters": "04dbc1ae40287d50",
}


@pytest.mark.parametrize("kind", REFERENCE)
@pytest.mark.parametrize("over", [0, 1])
def test_more_than_a_record_can_count(kind: str, over: int, tmp_path: Path) -> None:
    """65,535 are written, as the reference does. It takes one more for none, or crashes; here that is an error."""
    path = repeated(kind, 65535 + over, tmp_path)
    if over:
        with pytest.raises(InputError, match=r"DIE 0x\w+: 65536 members, .*; expected at most 65535"):
            pybtf.encode(path)
    else:
        data = bytes(pybtf.encode(path).data)
        assert hashlib.sha256(data).hexdigest()[:16] == REFERENCE[kind]


@pytest.mark.parametrize("over", [0, 1])
def test_more_variables_than_a_section_can_count(over: int, tmp_path: Path) -> None:
    """65,535 are written, as the reference does. It takes one more for none; here that is an error."""
    two, one = (dwarf([unit([INT, *[variable(X86)] * count])]).sections[".debug_info"] for count in (2, 1))
    copy = two[len(one) - 1 : -1]  # the end of the children comes after the last one
    path = write(tmp_path / "file", kernel([unit([INT, variable(X86), copy * (65534 + over)])]).data)
    if over:
        with pytest.raises(EncodeError, match=r"\.data\.\.percpu.*: more variables than a DATASEC can count; expected"):
            pybtf.encode(path)
    else:
        data = bytes(pybtf.encode(path).data)
        assert hashlib.sha256(data).hexdigest()[:16] == "02798e3cbc1a232a"


def member(name: str, content: bytes = b"") -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{0:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)


@pytest.mark.parametrize("over", [0, 1])
def test_names_of_members(over: int) -> None:
    """Members that share one name of the greatest length, and a member whose name begins in the middle of it."""
    table = member("//", b"y.o/\n" + b"x" * (4096 + over) + b"/\n")
    data = b"!<thin>\n" + table + member("/5") * 1000
    if over:
        with pytest.raises(InputError, match="a name of 4097 bytes; expected an archive as ar writes it"):
            members("t.a", data)
        return
    found = members("t.a", data)[1:]
    assert [len(each.name) for each in found] == [4096] * 1000
    assert len({id(each.name) for each in found}) == len({id(each.path) for each in found}) == 1
    assert [each.name for each in members("t.a", b"!<thin>\n" + table + member("/0"))[1:]] == ["y.o"]
    for at in (1, 4, 6, 5 + 4096):
        with pytest.raises(InputError, match="a name that is not there"):
            members("t.a", b"!<thin>\n" + table + member(f"/{at}"))
