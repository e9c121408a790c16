"""`put_sections` on ELF files made in memory: both classes and byte orders, odd layouts, hostile headers."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pybtf.elf import outline
from pybtf.elf.writer import put_sections
from pybtf.errors import InputError, OutputError, PybtfError
from tests.builders.elfchecks import check_kept, section, section_data, sections_of
from tests.builders.elfwriter import SHF_ALLOC, SHF_COMPRESSED, Section, Segment, bare

BTF = bytes(range(1, 251)) * 2
LONGER = BTF * 9 + b"end"
COMBINATIONS = [(is64, little) for is64 in (True, False) for little in (True, False)]
TEXT = Section(".text", b"\x90" * 37, flags=SHF_ALLOC, align=16)
DEBUG = Section(".debug_info", b"debug" * 11)
NAMES = Section(".shstrtab", type="STRTAB")


def build_elf(
    parts: list[Section],
    *,
    is64: bool = True,
    little: bool = True,
    segments: Sequence[tuple[int, int, int]] = (),
    etype: int = 1,
    names: str = ".shstrtab",
    extended: bool = False,
    header: dict[str, int] | None = None,
) -> bytes:
    """An ELF file for a machine of this class and byte order. `names`: which part has the names of the sections.

    `segments` are (number of the first part, of the last, extra bytes), counted from 1.
    """
    machine = (62 if is64 else 3) if little else (22 if is64 else 8)
    loaded = [
        Segment([parts[first - 1].name, parts[last - 1].name], align=1, beyond=extra) for first, last, extra in segments
    ]
    return bare(
        parts, is64=is64, little=little, etype=etype, machine=machine,
        segments=loaded, names=names, extended=extended, header=header,
    )  # fmt: skip


def put(path: Path, content: bytes, **sections: bytes) -> bytes:
    """The file after putting `BTF=...` as `.BTF`, `BTF_base=...` as `.BTF.base` into `content`."""
    path.write_bytes(content)
    contents = {"." + name.replace("_", "."): data for name, data in sections.items()}
    put_sections(path, contents, durable=False)
    return path.read_bytes()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.o"


@pytest.mark.parametrize(("is64", "little"), COMBINATIONS)
@pytest.mark.parametrize("names_last", [True, False])
def test_new_section(file: Path, is64: bool, little: bool, names_last: bool) -> None:
    parts = [TEXT, DEBUG, NAMES] if names_last else [NAMES, TEXT, DEBUG]
    old = build_elf(parts, is64=is64, little=little)
    new = put(file, old, BTF=BTF)
    check_kept(old, new, ".BTF")
    header = sections_of(new)[-1][1]
    assert (header["sh_type"], header["sh_flags"], header["sh_addralign"]) == ("SHT_PROGBITS", 0, 1)
    assert section_data(new, ".BTF") == BTF
    assert ELFFile(io.BytesIO(new)).header["e_shoff"] % (8 if is64 else 4) == 0
    assert put(file, new, BTF=BTF) == new


@pytest.mark.parametrize(("is64", "little"), COMBINATIONS)
@pytest.mark.parametrize("position", [0, 1, 3])
def test_replaced_section(file: Path, is64: bool, little: bool, position: int) -> None:
    parts = [TEXT, DEBUG, NAMES]
    parts.insert(position, Section(".BTF", BTF, align=4))
    old = build_elf(parts, is64=is64, little=little)
    for content in (BTF, BTF[:100], LONGER, BTF + b"x", b""):
        new = put(file, old, BTF=content)
        check_kept(old, new, ".BTF")
        assert section_data(new, ".BTF") == content
        header = sections_of(new)[position + 1][1]
        assert (header["sh_type"], header["sh_flags"], header["sh_addralign"]) == ("SHT_PROGBITS", 0, 4)
        assert put(file, new, BTF=content) == new
        if len(content) <= len(BTF):
            assert header["sh_offset"] == sections_of(old)[position + 1][1]["sh_offset"]


def test_files_do_not_grow_with_each_run(file: Path) -> None:
    for parts in ([TEXT, DEBUG, NAMES], [NAMES, TEXT, DEBUG], [Section(".BTF", b"xx"), NAMES, TEXT]):
        first = put(file, build_elf(parts), BTF=BTF)
        longer = put(file, first, BTF=LONGER)
        again = put(file, put(file, longer, BTF=BTF[:-1]), BTF=LONGER)
        assert again == longer
        assert put(file, longer, BTF=BTF) == first


def test_leftover_bytes_become_zero(file: Path) -> None:
    old = build_elf([TEXT, Section(".BTF", BTF), DEBUG, NAMES])
    start = old.index(BTF)
    shorter = put(file, old, BTF=b"short")
    assert shorter[start : start + len(BTF)] == b"short".ljust(len(BTF), b"\0")
    moved = put(file, old, BTF=LONGER)
    assert moved[start : start + len(BTF)] == bytes(len(BTF))
    back = put(file, shorter, BTF=BTF)  # it fits into the zeros again
    assert back == old


def test_zero_bytes_of_another_section_are_not_free(file: Path) -> None:
    old = build_elf([TEXT, Section(".BTF", BTF), Section(".zeros", bytes(9000)), DEBUG, NAMES])
    check_kept(old, put(file, old, BTF=BTF + b"longer"), ".BTF")


def test_bytes_shared_with_another_section_stay(file: Path) -> None:
    parts = [TEXT, Section(".shared", size=len(BTF)), Section(".BTF", BTF), DEBUG, NAMES]
    old = build_elf(parts)
    for content in (BTF[::-1], BTF[:9], LONGER):
        new = put(file, old, BTF=content)
        check_kept(old, new, ".BTF")
        assert section_data(new, ".BTF") == content
    loaded = [TEXT, Section(".shared", flags=SHF_ALLOC, size=9), Section(".BTF", BTF, flags=SHF_ALLOC), DEBUG, NAMES]
    with pytest.raises(OutputError, match=r"shares bytes with another section.*--detached"):
        put(file, build_elf(loaded, segments=[(1, 3, 0)], etype=2), BTF=BTF[::-1])


def test_empty_loaded_section_is_only_a_place(file: Path) -> None:
    """As lld leaves it if the kernel's linker script has a place for BTF and there is no BTF yet."""
    ids = Section(".BTF_ids", bytes(12), flags=SHF_ALLOC)
    parts = [TEXT, Section(".BTF", flags=SHF_ALLOC, address=0x401000), ids, DEBUG, NAMES]
    old = build_elf(parts, segments=[(1, 3, 0)], etype=2)
    assert sections_of(old)[2][1]["sh_flags"] == SHF_ALLOC
    first = put(file, old, BTF=BTF)
    check_kept(old, first, ".BTF")
    assert section_data(first, ".BTF") == BTF
    new = sections_of(first)[2][1]
    assert (new["sh_flags"], new["sh_addr"], new["sh_type"]) == (0, 0, "SHT_PROGBITS")
    longer = put(file, first, BTF=LONGER)
    assert longer == put(file, old, BTF=LONGER)
    assert put(file, longer, BTF=BTF) == first


def test_two_sections_at_once(file: Path) -> None:
    old = build_elf([NAMES, TEXT])
    new = put(file, old, BTF=BTF, BTF_base=LONGER)
    check_kept(old, new, ".BTF", ".BTF.base")
    assert [name for name, *_ in sections_of(new)][-2:] == [".BTF", ".BTF.base"]
    assert (section_data(new, ".BTF"), section_data(new, ".BTF.base")) == (BTF, LONGER)
    assert put(file, put(file, old, BTF=BTF), BTF=BTF, BTF_base=LONGER) == new
    swapped = put(file, new, BTF=LONGER, BTF_base=BTF)
    assert (section_data(swapped, ".BTF"), section_data(swapped, ".BTF.base")) == (LONGER, BTF)


def test_name_that_is_the_end_of_another_is_shared(file: Path) -> None:
    old = build_elf([TEXT, Section(".rela.BTF", align=8), NAMES])
    new = put(file, old, BTF=BTF)
    assert section_data(new, ".shstrtab") == section_data(old, ".shstrtab")
    assert section_data(new, ".BTF") == BTF


def test_name_table_shared_with_symbols(file: Path) -> None:
    symbol = struct.pack("<IBBHQQ", 1, 0x12, 0, 2, 0, 0)
    symbols = Section(".symtab", bytes(24) + symbol, type="SYMTAB", link=1, align=8, entsize=24)
    old = build_elf([Section(".strtab", type="STRTAB"), TEXT, symbols], names=".strtab")
    new = put(file, old, BTF=BTF)
    check_kept(old, new, ".BTF")
    elf = ELFFile(io.BytesIO(new))
    assert [symbol.name for symbol in section(elf, ".symtab", SymbolTableSection).iter_symbols()] == ["", ".strtab"]


@pytest.mark.parametrize(("is64", "little"), COMBINATIONS)
def test_loaded_section(file: Path, is64: bool, little: bool) -> None:
    room = 2
    parts = [
        Section(".rodata", b"r" * 40, flags=SHF_ALLOC, address=0x1000),
        Section(".BTF", BTF, flags=SHF_ALLOC, address=0x1028),
        Section(".pad", bytes(room), type="NOBITS"),  # bytes in the file that no section owns
        Section(".BTF_ids", b"ids", flags=SHF_ALLOC, address=0x1028 + len(BTF) + room),
        DEBUG,
        NAMES,
    ]
    old = build_elf(parts, is64=is64, little=little, segments=[(1, 4, 0)], etype=2)
    for content in (BTF[::-1], BTF[:77], BTF + b"ab"):
        new = put(file, old, BTF=content)
        check_kept(old, new, ".BTF")
        assert len(new) == len(old)
        assert section_data(new, ".BTF") == content
        header, before = sections_of(new)[2][1], sections_of(old)[2][1]
        assert {**header, "sh_size": 0} == {**before, "sh_size": 0}
        start = header["sh_offset"]
        assert new[start : start + len(BTF) + room] == content.ljust(len(BTF) + room, b"\0")
        assert put(file, put(file, new, BTF=BTF), BTF=content) == new
    with pytest.raises(OutputError, match=rf"503 bytes, and there is room for {len(BTF) + room}.*--detached"):
        put(file, old, BTF=BTF + b"abc")
    assert file.read_bytes() == old


def test_loaded_section_at_the_end_of_its_segment(file: Path) -> None:
    hole = Section(".hole", bytes(9), type="NOBITS")
    parts = [Section(".BTF", BTF, flags=SHF_ALLOC, address=0x1000), hole, DEBUG, NAMES]
    for extra, fits in ((0, False), (8, False), (9, True)):
        old = build_elf(parts, segments=[(1, 1, extra)], etype=2)
        if fits:
            assert section_data(put(file, old, BTF=BTF + b"123456789"), ".BTF") == BTF + b"123456789"
        else:
            with pytest.raises(OutputError, match="does not fit"):
                put(file, old, BTF=BTF + b"123456789")


def test_loaded_section_does_not_grow_into_memory_of_another(file: Path) -> None:
    parts = [
        Section(".BTF", BTF, flags=SHF_ALLOC, address=0x1000),
        Section(".bss", bytes(16), type="NOBITS", flags=SHF_ALLOC, address=0x1000 + len(BTF), size=16),
        DEBUG,
        NAMES,
    ]
    old = build_elf(parts, segments=[(1, 1, 16)], etype=2)
    with pytest.raises(OutputError, match=f"room for {len(BTF)}"):
        put(file, old, BTF=BTF + b"1")


def test_loaded_section_does_not_grow_over_unexplained_bytes(file: Path) -> None:
    unexplained = Section(".x", b"data", type="NOBITS", size=0)
    parts = [Section(".BTF", BTF, flags=SHF_ALLOC, address=0x1000), unexplained, DEBUG, NAMES]
    old = build_elf(parts, segments=[(1, 1, 4)], etype=2)
    with pytest.raises(OutputError, match="does not fit"):
        put(file, old, BTF=BTF + b"1")


def test_allocated_section_of_a_relocatable_object_may_move(file: Path) -> None:
    old = build_elf([TEXT, Section(".BTF", BTF, flags=SHF_ALLOC), DEBUG, NAMES])
    new = put(file, old, BTF=LONGER)
    check_kept(old, new, ".BTF")
    assert sections_of(new)[2][1]["sh_flags"] == SHF_ALLOC
    assert section_data(new, ".BTF") == LONGER


def test_section_without_bytes_in_a_debug_file(file: Path) -> None:
    parts = [
        Section(".text", type="NOBITS", flags=SHF_ALLOC, size=4096, address=0x1000),
        Section(".BTF", type="NOBITS", flags=SHF_ALLOC, size=999, address=0x2000),
        DEBUG,
        NAMES,
    ]
    for segments in ([], [(1, 2, 10_000)]):  # eu-strip leaves segments that extend past the end of the file
        old = build_elf(parts, segments=segments, etype=2)
        new = put(file, old, BTF=BTF)
        check_kept(old, new, ".BTF")
        header = sections_of(new)[2][1]
        assert (header["sh_type"], header["sh_flags"]) == ("SHT_PROGBITS", 0)
        assert section_data(new, ".BTF") == BTF
        assert put(file, put(file, new, BTF=LONGER), BTF=BTF) == new


def test_section_without_bytes_in_a_loaded_file(file: Path) -> None:
    parts = [TEXT, Section(".BTF", type="NOBITS", flags=SHF_ALLOC, size=999, address=0x2000), NAMES]
    old = build_elf(parts, segments=[(1, 1, 0)], etype=2)
    with pytest.raises(OutputError, match=r"SHT_NOBITS.*--detached"):
        put(file, old, BTF=BTF)
    assert file.read_bytes() == old


def test_compressed_section_becomes_plain(file: Path) -> None:
    old = build_elf([TEXT, Section(".BTF", b"z" * 60, flags=SHF_COMPRESSED, align=8), NAMES])
    new = put(file, old, BTF=BTF[:50])
    header = sections_of(new)[2][1]
    assert (header["sh_flags"], header["sh_addralign"]) == (0, 1)
    assert section_data(new, ".BTF") == BTF[:50]


def test_relocations_of_the_old_section_go(file: Path) -> None:
    relocations = Section(".rel.BTF", bytes(16), type="REL", link=4, info=2, align=8, entsize=16)
    other = Section(".rel.text", bytes(16), type="REL", link=4, info=1, align=8, entsize=16)
    symbols = Section(".symtab", bytes(24), type="SYMTAB", link=3, entsize=24)
    old = build_elf([TEXT, Section(".BTF", BTF), NAMES, symbols, relocations, other])
    new = put(file, old, BTF=BTF)  # equal, but the relocations would change it
    assert [header["sh_size"] for name, header, _ in sections_of(new) if name.startswith(".rel.")] == [0, 16]
    assert [name for name, *_ in sections_of(new)] == [name for name, *_ in sections_of(old)]
    assert put(file, new, BTF=BTF) == new


def test_bytes_behind_the_section_table_stay(file: Path) -> None:
    signature = b"~Module signature appended~\n"
    old = build_elf([TEXT, NAMES]) + bytes(5) + signature
    new = put(file, old, BTF=BTF)
    assert new[: len(old)].endswith(signature)
    assert section_data(new, ".BTF") == BTF
    assert put(file, put(file, new, BTF=LONGER), BTF=BTF) == new
    padded = build_elf([TEXT, NAMES]) + bytes(5000)
    assert put(file, padded, BTF=BTF) == put(file, build_elf([TEXT, NAMES]), BTF=BTF)


def test_section_table_in_front(file: Path) -> None:
    old = bytearray(build_elf([TEXT, NAMES, Section(".last", b"last" * 20)]))
    table, end = ELFFile(io.BytesIO(old)).header["e_shoff"], len(old)
    start = 64 + 8  # the linker would never put it there; a program may
    moved = old[:64] + bytes(8) + old[table:end] + old[64:table]
    shift = 8 + end - table
    struct.pack_into("<Q", moved, 40, start)
    for index in range(1, 4):
        at = start + index * 64 + 24
        struct.pack_into("<Q", moved, at, struct.unpack_from("<Q", moved, at)[0] + shift)
    new = put(file, bytes(moved), BTF=BTF)
    check_kept(bytes(moved), new, ".BTF")
    assert new[start : start + end - table] == bytes(end - table)
    assert put(file, put(file, new, BTF=LONGER), BTF=BTF) == new


@pytest.mark.parametrize(
    ("is64", "little", "count"),
    [(True, True, 0xFEFE), (False, False, 0xFEFF), (True, False, 0xFF00)],
)
def test_very_many_sections(file: Path, is64: bool, little: bool, count: int) -> None:
    extended = count >= 0xFF00
    old = build_elf([Section(".s")] * (count - 2) + [NAMES], is64=is64, little=little, extended=extended)
    new = put(file, old, BTF=BTF)
    order, start = ("<" if little else ">"), (60 if is64 else 48)
    elf = ELFFile(io.BytesIO(new))
    assert elf.num_sections() == count + 1
    shnum, shstrndx = struct.unpack_from(order + "HH", new, start)
    assert shnum == (0 if count + 1 >= 0xFF00 else count + 1)
    assert shstrndx == (0xFFFF if extended else count - 1)
    last = elf.get_section(count)
    assert (last.name, last.data()) == (".BTF", BTF)
    assert elf.get_section(count - 1).name == ".shstrtab"
    assert put(file, new, BTF=BTF) == new


@pytest.mark.parametrize(("is64", "little"), COMBINATIONS)
def test_many_segments(file: Path, is64: bool, little: bool) -> None:
    """If their number does not fit into the header, section 0 has it: gABI, PN_XNUM."""
    old = build_elf([TEXT, NAMES], is64=is64, little=little, segments=[(1, 1, 0)])
    order, at, table, info = ("<" if little else ">"), *((56, 40, 44) if is64 else (44, 32, 28))
    assert struct.unpack_from(order + "H", old, at) == (1,)

    def many(content: bytes, count: int) -> bytes:
        changed = bytearray(content)
        struct.pack_into(order + "H", changed, at, 0xFFFF)
        (start,) = struct.unpack_from(order + "QI"[not is64], content, table)
        struct.pack_into(order + "I", changed, start + info, count)
        return bytes(changed)

    assert put(file, many(old, 1), BTF=BTF) == many(put(file, old, BTF=BTF), 1)
    with pytest.raises(InputError, match="program header table of 70000"):
        put(file, many(old, 70_000), BTF=BTF)


def test_32_bit_file_has_an_end(file: Path) -> None:
    old = build_elf([TEXT, NAMES], is64=False)
    file.write_bytes(old)
    size = 0xFFFF_FFF0
    end = struct.unpack_from("<I", old, 32)[0]
    with open(file, "r+b") as out:  # sparse: a section whose header claims nearly 4 GB
        out.truncate(size)
        out.seek(end + 40 + 20)
        out.write(struct.pack("<I", size - 80))
    table = old[end:]
    with open(file, "r+b") as out:
        out.seek(size - 160)
        out.write(table[:40] + struct.pack("<10I", 1, 1, 0, 0, 52, size - 160 - 52, 0, 0, 1, 0) + table[80:])
        out.seek(32)
        out.write(struct.pack("<I", size - 160))
    with pytest.raises(OutputError, match=r"class of ELF file ends at 4294967295.*--detached"):
        put_sections(file, {".BTF": BTF})
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"shoff": 0}, "no section table"),
        ({"shoff": 10**9}, "no room for a section table"),
        ({"shentsize": 63}, "entries of 63 bytes"),
        ({"shnum": 0xFE00}, "65024 entries"),
        ({"shstrndx": 0}, "names are in section 0"),
        ({"shstrndx": 9}, "names are in section 9"),
        ({"shstrndx": 1}, "plain SHT_STRTAB"),
        ({"phnum": 3, "phoff": 64, "phentsize": 55}, "entries of 55 bytes"),
        ({"phnum": 3, "phoff": 10**9, "phentsize": 56}, "program header table of 3"),
    ],
)
def test_damaged_header(file: Path, header: dict[str, int], message: str) -> None:
    old = build_elf([TEXT, NAMES], header=header)
    with pytest.raises(InputError, match=message):
        put(file, old, BTF=BTF)
    assert file.read_bytes() == old


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x7fELF", "only 4 bytes"),
        (b"#!/bin/sh\n" * 20, "starts with 23 21 2f 62"),
        (b"\x7fELF\x03\x01\x01" + bytes(60), "class 3"),
        (b"\x7fELF\x02\x03\x01" + bytes(60), "byte order 3"),
        (b"\x7fELF\x02\x01\x02" + bytes(60), "version 2"),
        (b"\x7fELF\x02\x01\x01" + bytes(40), "only 47 bytes"),
    ],
)
def test_not_an_elf(file: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        put(file, content, BTF=BTF)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ([TEXT, Section(".x", size=10**6), NAMES], "section 2: 1000000 bytes"),
        ([Section(".BTF", b"1"), Section(".BTF", b"2"), NAMES], "2 sections have this name"),
        ([Section(".BTF", b"1", type="SYMTAB"), NAMES], "a section of type 0x2"),
        ([TEXT, Section(".shstrtab", type="STRTAB", size=0)], "start and end with a NUL"),
        ([TEXT, Section(".shstrtab", type="STRTAB", size=3)], "start and end with a NUL"),
    ],
)
def test_damaged_sections(file: Path, sections: list[Section], message: str) -> None:
    old = build_elf(sections)
    with pytest.raises(InputError, match=message):
        put(file, old, BTF=BTF)
    assert file.read_bytes() == old


def test_more_entries_than_any_file_has(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MAX_ENTRIES", 2)
    with pytest.raises(InputError, match="section table of 3 entries; expected at most 2"):
        put(file, build_elf([TEXT, NAMES]), BTF=BTF)
    with pytest.raises(InputError, match="program header table of 3 entries; expected at most 2"):
        put(file, build_elf([NAMES], segments=[(1, 1, 0)] * 3), BTF=BTF)


def test_segment_past_the_end(file: Path) -> None:
    old = build_elf([TEXT, NAMES], segments=[(1, 1, 10**6)], etype=2)
    with pytest.raises(InputError, match="program header 0"):
        put(file, old, BTF=BTF)


@pytest.mark.parametrize("seed", range(8))
def test_random_damage(file: Path, seed: int) -> None:
    """Whatever is in the tables, the outcome is a message, or a file in which the section is found again."""
    random_ = random.Random(seed)
    is64, little = COMBINATIONS[seed % 4]
    pinned = seed in (5, 6)
    content = BTF[::-1] if pinned else LONGER
    parts = [TEXT, Section(".BTF", BTF, flags=SHF_ALLOC * pinned), DEBUG, NAMES]
    good = build_elf(parts, is64=is64, little=little, segments=[(1, 2, 3)] * (seed // 4), etype=2)
    table = ELFFile(io.BytesIO(good)).header["e_shoff"]
    written = refused = 0
    for _ in range(120):
        bad = bytearray(good)
        for _ in range(random_.choice((1, 1, 2, 5))):
            at = random_.choice((random_.randrange(16, 120), random_.randrange(table, len(bad))))
            bad[at] = random_.choice((0, 1, 2, 7, 0x7F, 0x80, 0xFF, random_.randrange(256)))
        try:
            new = put(file, bytes(bad), BTF=content)
        except PybtfError:
            assert file.read_bytes() == bad
            refused += 1
            continue
        written += 1
        assert len(new) < 2 * len(bad) + 2 * len(content) + 8192
        assert content in new
    assert written
    assert refused
