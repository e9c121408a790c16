"""ELF files: what is read from good ones, compared with pyelftools, and the messages about bad ones."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pybtf.elf.image import MAX_SECTIONS, ElfImage, machine_name, section_type_name
from pybtf.elf.layout import section_addresses
from pybtf.elf.notes import notes
from pybtf.elf.relocation import relocated
from pybtf.elf.symbols import function_table
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, Symbol, bare

SOURCE = """
struct pair { int left; struct pair *right; };
struct pair first = { 1, 0 };
static int twice(int n) { return 2 * n; }
__thread long counter;
int use(struct pair *p) { return twice(p->left) + (int)counter + first.left; }
"""

FLAVOURS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.fixture(scope="module")
def gcc_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("object")
    (folder / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-c", "a.c", "-o", "a.o"], cwd=folder, check=True)
    return folder / "a.o"


def image_of(content: bytes) -> ElfImage:
    return ElfImage("t.o", content)


def refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        image_of(content)
    return str(caught.value)


# ---- good files


def assert_same_sections(image: ElfImage, stream: io.BytesIO) -> None:
    other = ELFFile(stream)
    assert image.is64 == (other.elfclass == 64)
    assert image.little == other.little_endian
    assert image.flags == other["e_flags"]
    assert image.etype == {"ET_REL": 1, "ET_EXEC": 2, "ET_DYN": 3}[other["e_type"]]
    assert len(image.sections) == other.num_sections()
    for index, (ours, theirs) in enumerate(zip(image.sections, other.iter_sections(), strict=True)):
        assert ours.index == index
        assert ours.name == theirs.name
        assert (ours.flags, ours.addr, ours.offset, ours.size, ours.link, ours.info) == tuple(
            theirs[f"sh_{key}"] for key in ("flags", "addr", "offset", "size", "link", "info")
        )
        assert (ours.addralign, ours.entsize) == (theirs["sh_addralign"], theirs["sh_entsize"])
        if theirs["sh_type"] == "SHT_NOBITS":
            assert bytes(image.data(ours)) == b""
        elif index:
            assert bytes(image.data(ours)) == theirs.data()


def test_gcc_object_is_read_as_pyelftools_does(gcc_object: Path) -> None:
    with ElfImage.open(gcc_object) as image:
        assert image.path == str(gcc_object)
        assert image.machine == 62
        assert_same_sections(image, io.BytesIO(gcc_object.read_bytes()))


@pytest.mark.parametrize(("is64", "little"), FLAVOURS)
@pytest.mark.parametrize("extended", [False, True])
def test_every_class_and_byte_order(is64: bool, little: bool, extended: bool) -> None:
    sections = [
        Section(".text", b"\x90" * 5, flags=6, address=0x1000, align=16),
        Section(".bss", type="NOBITS", flags=3, address=0x2000, size=0x4000, align=32),
        Section(".debug_info", b"abc"),
        Section(".text", b"second", flags=6, address=0x1005, info=3, align=1, entsize=7),
    ]
    content = bare(sections, is64=is64, little=little, etype=2, machine=22, header={"flags": 0x1234}, extended=extended)
    image = image_of(content)
    assert_same_sections(image, io.BytesIO(content))
    assert image.machine == 22
    text = image.section(".text")
    assert text is not None
    assert text.index == 1
    assert image.section(".nothing") is None


def test_more_sections_than_16_bits_can_count() -> None:
    image = image_of(bare([Section(f".s{i}", b"x") for i in range(0xFF10)], extended=True))
    assert len(image.sections) == 0xFF12
    assert image.sections[0xFF05].name == ".s65284"
    assert image.sections[-1].name == ".shstrtab"


def test_no_section_table() -> None:
    content = bytearray(bare([]))
    content[40:48] = bytes(8)
    content[60:64] = bytes(4)
    assert image_of(bytes(content)).sections == []


def test_names_that_are_not_utf8_keep_their_bytes() -> None:
    image = image_of(bare([Section(".d\udce4ta")]))
    assert image.sections[1].name.encode("utf-8", "surrogateescape") == b".d\xe4ta"


def test_debug_section_skips_groups_and_empty_shells_and_takes_the_first() -> None:
    shf_group = 0x200
    image = image_of(
        bare(
            [
                Section(".debug_info", b"group", flags=shf_group),
                Section(".debug_info", type="NOBITS", size=9),
                Section(".debug_info", b"first"),
                Section(".debug_info", b"second"),
                Section(".debug_types", b"group", flags=shf_group),
            ]
        )
    )
    section = image.debug_section(".debug_info")
    assert section is not None
    assert bytes(image.data(section)) == b"first"
    assert image.debug_section(".debug_types") is None
    first = image.section(".debug_info")
    assert first is not None
    assert first.index == 1


@pytest.mark.parametrize(("is64", "little"), FLAVOURS)
def test_sections_are_listed_by_what_is_asked_for(is64: bool, little: bool) -> None:
    sections = [
        Section(".a", b"x"),
        Section(".rel.b", type="REL", info=1),
        Section(".rela.a", type="RELA", info=1),
        Section(".a", b"y", type="NOTE"),
        Section(".other", info=1),
        Section(".rela.c", type="RELA", info=4),
    ]
    image = image_of(bare(sections, is64=is64, little=little))
    assert [section.index for section in image.of_type(1)] == [1, 5]
    assert [section.index for section in image.of_type(4)] == [3, 6]
    assert not image.of_type(77)
    a, other = image.sections[1], image.sections[4]
    assert image.section(".a") is a
    assert [section.name for section in image.relocations_of(a)] == [".rel.b", ".rela.a"]
    assert [section.name for section in image.relocations_of(other)] == [".rela.c"]
    assert not image.relocations_of(image.sections[2])


def test_objects_for_lto_have_debug_sections_of_other_names() -> None:
    """As gcc writes them with -flto; they count only if no name starts with `.debug_` or `.zdebug_`."""
    lto = [Section(".gnu.debuglto_.debug_info", b"lto"), Section(".debugging", b"no")]
    for plain, expected in [([], b"lto"), ([Section(".zdebug_x")], None), ([Section(".debug_info", b"p")], b"p")]:
        image = image_of(bare([*lto, *plain]))
        section = image.debug_section(".debug_info")
        assert (None if section is None else bytes(image.data(section))) == expected


def test_views_outlive_the_image(gcc_object: Path) -> None:
    with ElfImage.open(gcc_object) as image:
        section = image.section(".text")
        assert section is not None
        view = image.data(section)
        content = bytes(view)
    assert bytes(view) == content
    assert image.mapping is None


def test_a_symbolic_link_is_followed(gcc_object: Path, tmp_path: Path) -> None:
    (tmp_path / "link.o").symlink_to(gcc_object)
    with ElfImage.open(tmp_path / "link.o") as image:
        assert image.section(".text") is not None


def test_reading_a_good_file_imports_no_pyelftools(gcc_object: Path) -> None:
    program = f"""
import sys
from pybtf.elf.image import ElfImage
from pybtf.elf.kfuncs import mark_kfuncs
from pybtf.elf.layout import section_addresses
from pybtf.elf.notes import build_id
from pybtf.elf.relocation import relocated
from pybtf.elf.symbols import function_table
with ElfImage.open({str(gcc_object)!r}) as image:
    mark_kfuncs(image, function_table(image, 0))
    relocated(image, image.debug_section(".debug_info"), section_addresses(image))
    build_id(image)
heavy = {{"elftools", "ctypes", "zlib", "click"}} & {{name.partition(".")[0] for name in sys.modules}}
assert not heavy, heavy
"""
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-S", "-c", program], check=True, env={**os.environ, "PYTHONPATH": path})


def test_names_for_messages() -> None:
    assert machine_name(62) == "EM_X86_64 (62)"
    assert machine_name(0xABCD) == "43981"
    assert section_type_name(7) == "SHT_NOTE (7)"


# ---- bad paths


def test_bad_paths(tmp_path: Path) -> None:
    def message(path: Path | str) -> str:
        with pytest.raises(InputError) as caught:
            ElfImage.open(path)
        return str(caught.value)

    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("no ELF at all, but long enough to have a header of the usual size\n" * 2)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "fifo")
    assert message(tmp_path / "missing") == f"{tmp_path}/missing: no such file"
    assert message(tmp_path / "dangling").endswith("is a symbolic link to a file that does not exist")
    assert message(tmp_path).startswith(f"{tmp_path}: is a folder")
    assert message(tmp_path / "fifo").startswith(f"{tmp_path}/fifo: is not a regular file")
    assert "A pipe can be read only once: write it to a file" in message(tmp_path / "fifo")
    assert message(Path("/dev/zero")) == "/dev/zero: is not a regular file; expected an ELF file"
    assert message(tmp_path / "empty").startswith(f"{tmp_path}/empty: is empty")
    assert message(tmp_path / "text").startswith(f"{tmp_path}/text: starts with 6e 6f 20 45")
    assert "null byte" in message("a\0b")
    assert "no such file: a part of this path is not a folder" in message(tmp_path / "text" / "below")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, _flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "secret").write_bytes(bare([]))
    if os.geteuid() == 0:
        monkeypatch.setattr("os.open", refuse)  # root may read everything
    else:
        (tmp_path / "secret").chmod(0)
    with pytest.raises(InputError, match="secret: no permission to read it"):
        ElfImage.open(tmp_path / "secret")


# ---- bad contents


def test_every_truncation_is_refused() -> None:
    """The section table comes last, so every shorter file lacks some of it."""
    content = bare([Section(".text", b"\x90" * 40, flags=6)])
    for size in range(1, len(content)):
        message = refusal(content[:size])
        if size < 4:
            assert f"only {size} bytes; expected an ELF file" in message
        elif size < 16:
            assert f"only {size} bytes; expected the ELF identification" in message
        elif size < 64:
            assert f"only {size} bytes; expected the ELF header, 64 bytes" in message
        else:
            assert "The file is truncated" in message


def put(offset: int, form: str, value: int) -> Callable[[bytearray], None]:
    return lambda content: struct.pack_into(f"<{form}", content, offset, value)


TABLE = 128  # where the file that the next test damages has its section table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(4, "B", 3), "offset 0x4: ELF class 3; expected 1"),
        (put(5, "B", 0), "offset 0x5: byte order 0; expected 1"),
        (put(6, "B", 2), "offset 0x6: ELF version 2; expected 1"),
        (put(58, "H", 40), "offset 0x3a: section table entries of 40 bytes; expected 64"),
        (put(40, "Q", 1 << 63), "offset 0x8000000000000000: the section table starts past the end"),
        (put(40, "Q", 300), "offset 0x12c: the file ends inside the section table"),
        (put(60, "H", 4), "offset 0x80: a section table of 4 entries, 256 bytes; expected at most 192"),
        (put(62, "H", 3), "the section names are in section 3; expected an index below 3"),
        (put(TABLE + 64, "I", 17), "offset 0xc0: the name of section 1 is at 0x11 of the section names"),
        (put(TABLE + 128 + 4, "I", 8), "the section of names, 2, has no data"),
        (put(TABLE + 128 + 24, "Q", 400), ".shstrtab: data of 17 bytes at file offset 0x190 ends at 0x1a1"),
    ],
)
def test_damaged_header_and_table(change: Callable[[bytearray], None], message: str) -> None:
    content = bytearray(bare([Section(".text", b"\x90" * 40, flags=6)]))
    assert struct.unpack_from("<Q", content, 40)[0] == TABLE
    change(content)
    assert message in refusal(bytes(content))


def test_section_count_beyond_reason() -> None:
    content = bytearray(bare([], extended=True))
    shoff = struct.unpack_from("<Q", content, 40)[0]
    struct.pack_into("<Q", content, shoff + 32, MAX_SECTIONS + 1)
    assert f"{MAX_SECTIONS + 1} sections; expected at most" in refusal(bytes(content))


def test_names_that_overlap_beyond_reason() -> None:
    """Thousands of sections, each named by a different tail of one long string, have gigabytes of names."""
    count = 2000
    content = bytearray(bare([Section("x" * 60000), *[Section("")] * count]))
    shoff = struct.unpack_from("<Q", content, 40)[0]
    for i in range(count):
        struct.pack_into("<I", content, shoff + 64 * (i + 2), i + 1)
    assert "names that do not overlap" in refusal(bytes(content))


def test_many_sections_of_one_long_name_share_it() -> None:
    """If each had its own copy, these would be gigabytes, too."""
    count = 2000
    content = bytearray(bare([Section("x" * 60000), *[Section("")] * count]))
    shoff = struct.unpack_from("<Q", content, 40)[0]
    for i in range(count):
        struct.pack_into("<I", content, shoff + 64 * (i + 2), 1)
    names = [section.name for section in image_of(bytes(content)).sections]
    assert names.count("x" * 60000) == count + 1
    assert len(set(map(id, names))) == 3
    assert len(set(map(id, image_of(bytes(content)).names()))) == 3


@pytest.mark.parametrize("start", [".debug_", ".zdebug_", ".gnu.debuglto_.debug_"])
def test_no_section_of_dwarf_has_a_long_name(start: str) -> None:
    sections = [Section(f"{start}info", b"a"), Section(start + "x" * 100, b"b"), Section(f"{start}{'x' * 30}", b"c")]
    assert list(image_of(bare(sections)).dwarf) == [".debug_info", f".debug_{'x' * 30}"]


def test_section_data_past_the_end_is_an_error_when_asked_for() -> None:
    image = image_of(bare([Section(".debug_info", b"abc", size=5000)]))
    section = image.debug_section(".debug_info")
    assert section is not None
    with pytest.raises(InputError, match=r"t\.o: \.debug_info: data of 5000 bytes at file offset 0x40 ends"):
        image.data(section)


def test_linked_section_of_the_wrong_kind() -> None:
    image = image_of(bare([Section(".a", type="SYMTAB", link=2), Section(".b"), Section(".c", type="SYMTAB", link=99)]))
    for index in (1, 3):
        with pytest.raises(InputError, match="expected the index of its string table"):
            image.linked(image.sections[index], 3, "string table")


def test_symbol_table_that_is_none() -> None:
    with pytest.raises(InputError, match=r"has no symbol table \(\.symtab\)"):
        function_table(image_of(bare([Section(".text")])))
    with pytest.raises(InputError, match=r"\.symtab: has the type SHT_DYNSYM \(11\); expected SHT_SYMTAB"):
        function_table(image_of(bare([Section(".symtab", type="DYNSYM")])))
    with pytest.raises(InputError, match=r"\.symtab: entries of 16 bytes; expected 24"):
        function_table(image_of(bare([Section(".symtab", type="SYMTAB", entsize=16)])))
    assert len(function_table(image_of(bare([Section(".text")], [Symbol("f", section=1)])))) == 1


def test_random_damage_gives_a_result_or_an_input_error(gcc_object: Path) -> None:
    """A thousand objects with a few bytes changed, mostly in header and tables."""
    original = gcc_object.read_bytes()
    shoff = struct.unpack_from("<Q", original, 40)[0]
    chance = random.Random(20261121)
    messages = []
    for _ in range(1000):
        content = bytearray(original)
        for _ in range(chance.randint(1, 4)):
            low = chance.choice([0, shoff, chance.randrange(len(content))])
            at = min(low + chance.randrange(2000), len(content) - 1)
            content[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        try:
            image = image_of(bytes(content))
            list(notes(image))
            addresses = section_addresses(image)
            function_table(image, 0).entries()
            for name in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"):
                section = image.debug_section(name)
                if section is not None:
                    relocated(image, section, addresses)
        except InputError as error:
            messages.append(str(error))
    assert 100 < len(messages) < 1000
    assert all(message.startswith("t.o: ") for message in messages)
