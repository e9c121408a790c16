"""Relocated debug sections compared with pyelftools, and single relocations compared with the rules."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationHandler, RelocationSection
from elftools.elf.sections import SymbolTableSection

import pybtf
from pybtf.core.elf.address_tokens import put_tokens
from pybtf.core.elf.relocate import OPERATIONS
from pybtf.core.elf.symbols import SymbolSource
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import relocated
from pybtf.errors import InputError
from tests.builders.elfwriter import Reloc, Section, Symbol, bare, symbol_table
from tests.builders.kernelish import FLAVOURS, OBJECTS, UNRELOCATED, relocatable

SOURCES = {
    "a.c": """
        struct pair { int left; struct pair *right; };
        struct pair first = { 1, 0 };
        int table[100] __attribute__((section(".data.mine"), aligned(0x20000)));
        static int twice(int n) { return 2 * n; }
        int use(struct pair *p) { return twice(p->left) + first.left + table[3]; }
        """,
    "b.c": """
        extern int use(void *);
        int common_one;
        static __thread long counter;
        int other(void *p) { return use(p) + common_one + (int)counter++; }
        """,
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Objects, by how they are made: gcc with DWARF 4 and 5, 32 bits if gcc can, and `ld -r` of two."""
    folder = tmp_path_factory.mktemp("objects")
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    made = {}
    for version in ("4", "5"):
        for name in SOURCES:
            out = folder / f"{name}{version}.o"
            gcc = ["gcc", f"-gdwarf-{version}", "-O1", "-fcommon", "-ffunction-sections", "-c"]
            subprocess.run([*gcc, name, "-o", out], cwd=folder, check=True)
            made[f"{name} DWARF {version}"] = out
    together = folder / "together.o"
    subprocess.run(["ld", "-r", *made.values(), "-z", "muldefs", "-o", together], cwd=folder, check=True)
    made["ld -r"] = together
    return made


WAYS = ["a.c DWARF 4", "b.c DWARF 4", "a.c DWARF 5", "b.c DWARF 5", "ld -r"]


def debug_names(image: ElfImage) -> list[str]:
    return sorted({s.name for s in image.sections if s.name.startswith(".debug_")})


@pytest.mark.parametrize("way", WAYS)
def test_with_all_sections_at_zero_it_is_what_pyelftools_makes(objects: dict[str, Path], way: str) -> None:
    """pyelftools relocates with section offsets as addresses, and refuses types that pybtf leaves alone."""
    with ElfImage.open(objects[way]) as image, open(objects[way], "rb") as stream:
        other = ELFFile(stream)
        handler = RelocationHandler(other)
        nowhere = memoryview(bytes(8 * len(image.sections))).cast("Q")
        compared = 0
        for name in debug_names(image):
            section = image.debug_section(name)
            assert section is not None
            theirs = other.get_section(section.index)
            relocations = handler.find_relocations_for_section(theirs)
            if relocations is None:
                assert bytes(relocated(image, section, nowhere)) == bytes(image.data(section))
                continue
            if any(r["r_info_type"] not in (1, 10) for r in relocations.iter_relocations()):
                continue  # thread-local offsets; see the next test
            expected = BytesIO(theirs.data())
            handler.apply_section_relocations(expected, relocations)
            assert bytes(relocated(image, section, nowhere)) == expected.getvalue()
            compared += 1
        assert compared >= 2


@pytest.mark.parametrize("way", WAYS)
def test_with_the_layout_every_field_is_symbol_plus_addend_plus_section(
    objects: dict[str, Path], way: str
) -> None:
    with ElfImage.open(objects[way]) as image, open(objects[way], "rb") as stream:
        other = ELFFile(stream)
        addresses = section_addresses(image)
        assert any(address >= 0x10000 for address in addresses)
        for name in debug_names(image):
            section = image.debug_section(name)
            assert section is not None
            expected = bytearray(image.data(section))
            for relocations in other.iter_sections("SHT_RELA"):
                if relocations["sh_info"] != section.index:
                    continue
                symtab = other.get_section(relocations["sh_link"])
                assert isinstance(relocations, RelocationSection)
                assert isinstance(symtab, SymbolTableSection)
                for r in relocations.iter_relocations():
                    symbol = symtab.get_symbol(r["r_info_sym"])
                    home = symbol["st_shndx"]
                    width = {1: 8, 10: 4}.get(r["r_info_type"])
                    if width is None or home == "SHN_UNDEF":
                        continue
                    base = 0 if home == "SHN_COMMON" else symbol["st_value"] + addresses[home]
                    value = (base + r["r_addend"]) % (1 << 8 * width)
                    expected[r["r_offset"] : r["r_offset"] + width] = value.to_bytes(width, "little")
            assert bytes(relocated(image, section, addresses)) == bytes(expected)


def test_readelf_sees_the_same_names_after_relocation(objects: dict[str, Path]) -> None:
    """Offsets of strings, as binutils sees them: readelf relocates as well."""
    path = objects["ld -r"]
    dump = subprocess.run(["readelf", "-wi", path], capture_output=True, text=True, check=True).stdout
    offsets = {int(x, 16) for x in re.findall(r"\(indirect string, offset: 0x([0-9a-f]+)\)", dump)}
    with ElfImage.open(path) as image:
        info, strings = image.debug_section(".debug_info"), image.debug_section(".debug_str")
        assert info is not None
        assert strings is not None
        data = bytes(relocated(image, info, section_addresses(image)))
    assert len(offsets) > 10
    assert all(struct.pack("<I", offset) in data for offset in offsets)


# ---- one at a time


OBJECT = 1
TEXT, DATA = 1, 2  # sections of the file below
HOME = [
    Symbol("defined", 0x20, 4, OBJECT, DATA),
    Symbol("undefined", 0, 0, OBJECT, 0),
    Symbol("absolute", 0x1234, 0, OBJECT, 0xFFF1),
    Symbol("common", 16, 4, OBJECT, 0xFFF2),
    Symbol("nowhere", 0, 0, OBJECT, 99),
    Symbol("extended", 0x20, 4, OBJECT, 0xFFFF),
]
DEFINED, UNDEFINED, ABSOLUTE, COMMON, NOWHERE, EXTENDED = range(1, 7)
ADDRESS = 0x10040 + 0x20  # .data comes after 0x35 bytes of .text, aligned to 0x40


def one(
    kind: int,
    *,
    symbol: int = DEFINED,
    offset: int = 4,
    addend: int | None = 3,
    field: bytes = bytes(16),
    machine: int = 62,
    is64: bool = True,
    little: bool = True,
    entsize: int | None = None,
    info: bytes | None = None,
    indexes: list[Section] | None = None,
) -> ElfImage:
    """An object with 16 bytes of `.debug_info` and one relocation, in a SHT_REL section if there is no addend."""
    order = "<" if little else ">"
    word = "Q" if is64 else "I"
    packed = struct.pack(order + word, symbol << 32 | kind if is64 else symbol << 8 | kind)
    record = struct.pack(order + word, offset) + (info or packed)
    if addend is not None:
        record += struct.pack(order + word.lower(), addend)
    symtab, strtab = symbol_table(HOME, is64=is64, little=little)
    name, section_type = (".rel.debug_info", 9) if addend is None else (".rela.debug_info", 4)
    sections = [
        Section(".text", bytes(0x35), flags=6, align=16),
        Section(".data", bytes(0x40), flags=3, align=64),
        Section(".debug_info", field),
        Section(name, record, type=section_type, link=5, info=3, entsize=len(record) if entsize is None else entsize),
        Section(".symtab", symtab, type="SYMTAB", link=6, entsize=24 if is64 else 16),
        Section(".strtab", strtab, type="STRTAB"),
    ]
    return ElfImage("t.o", bare([*sections, *(indexes or [])], is64=is64, little=little, machine=machine))


def result(image: ElfImage) -> bytes:
    section = image.debug_section(".debug_info")
    assert section is not None
    return bytes(relocated(image, section, section_addresses(image)))


def test_sections_of_relocations_that_overlap() -> None:
    """If many sections have their relocations in the same bytes, they are refused before all are applied. Applying the
    same section again and again is not refused.
    """
    count, records = 40, 100
    names = [f".debug_{number}" for number in range(count)]
    rela = struct.pack("<QQq", 0, DEFINED << 32 | 1, 0) * records
    symtab, strtab = symbol_table(HOME)
    whole = bare([
        Section(".text", bytes(0x35), flags=6),
        Section(".data", bytes(0x40), flags=3),
        Section(".symtab", symtab, type="SYMTAB", link=4, entsize=24),
        Section(".strtab", strtab, type="STRTAB"),
        *[Section(name, bytes(8)) for name in names],
        *[Section(".rela", rela if not n else b"", type=4, link=3, info=5 + n, entsize=24) for n in range(count)],
    ])  # fmt: skip
    data = bytearray(whole)
    table = struct.unpack_from("<Q", data, 40)[0]
    first = table + 64 * (5 + count)
    for number in range(1, count):
        at = first + 64 * number
        data[at + 24 : at + 40] = data[first + 24 : first + 40]  # offset and size
    with ElfImage("t.o", data) as image:
        addresses = section_addresses(image)
        sections = [section for section in map(image.section, names) if section is not None]
        assert len(sections) == count
        assert all(any(relocated(image, section, addresses)) for section in sections[:5] * 20)
        with pytest.raises(InputError, match="bytes of relocations up to here, in sections that overlap"):
            any(relocated(image, section, addresses) is None for section in sections)


def field_of(image: ElfImage, width: int) -> int:
    """The value at offset 4. All bytes around it must still be 0xAA."""
    content = result(image)
    assert content[:4] == b"\xaa" * 4
    assert content[4 + width :] == b"\xaa" * (12 - width)
    return int.from_bytes(content[4 : 4 + width], "little" if image.little else "big")


FILL = b"\xaa" * 16

# (machine, is64, little, type, bytes, operation), each measured with the reference.
MEASURED = [
    *[(62, True, True, kind, width, "set") for kind, width in [(1, 8), (10, 4), (11, 4), (12, 2), (14, 1)]],
    *[(3, False, True, kind, width, "set") for kind, width in [(1, 4), (20, 2), (22, 1)]],
    *[(183, True, little, kind, w, "set") for little in (True, False) for kind, w in [(257, 8), (258, 4)]],
    *[(40, False, True, kind, width, "set") for kind, width in [(2, 4), (5, 2), (8, 1)]],
    *[(22, True, False, kind, width, "set") for kind, width in [(22, 8), (4, 4), (3, 2), (1, 1)]],
    *[(243, True, True, kind, width, "set") for kind, width in [(2, 8), (1, 4), (54, 1), (55, 2), (56, 4)]],
    *[(243, True, True, kind, width, "add") for kind, width in [(34, 2), (35, 4), (36, 8)]],
    *[(243, True, True, kind, width, "sub") for kind, width in [(38, 2), (39, 4), (40, 8)]],
    *[(258, True, True, kind, width, "set") for kind, width in [(1, 4), (2, 8)]],
    *[(258, True, True, kind, width, "add") for kind, width in [(48, 2), (50, 4), (51, 8)]],
    *[(258, True, True, kind, width, "sub") for kind, width in [(53, 2), (55, 4), (56, 8)]],
    *[
        (21, True, little, kind, w, "set")
        for little in (True, False)
        for kind, w in [(38, 8), (1, 4), (43, 8)]
    ],
    *[(20, False, False, kind, width, "set") for kind, width in [(1, 4), (24, 4), (25, 2)]],
    *[(8, False, little, kind, w, "set") for little in (True, False) for kind, w in [(2, 4), (1, 2)]],
    *[(4, False, False, kind, width, "set") for kind, width in [(1, 4), (2, 2), (3, 1)]],
    *[
        (machine, machine == 43, False, kind, width, "set")
        for machine in (2, 18, 43)
        for kind, width in [(1, 1), (2, 2), (3, 4), (23, 4), (55, 2), (32, 8), (54, 8)]
        if machine == 43 or width < 8
    ],
    *[(50, True, True, kind, width, "set") for kind, width in [(37, 4), (39, 8), (101, 4), (103, 8)]],
    *[(50, True, False, kind, width, "set") for kind, width in [(36, 4), (38, 8), (100, 4), (102, 8)]],
    (252, False, True, 1, 4, "set"),
    *[(0x9026, True, True, kind, width, "set") for kind, width in [(1, 4), (2, 8)]],
    *[(195, False, True, kind, width, "set") for kind, width in [(1, 1), (2, 2), (4, 4)]],
    *[(164, False, True, kind, width, "set") for kind, width in [(6, 4), (7, 2), (8, 1)]],
    *[(247, True, little, kind, width, "set") for little in (True, False) for kind, width in [(1, 8), (10, 4)]],
]
# The same for machines that the reference does not know, as their linkers do it.
LINKED = [
    *[(15, is64, False, kind, width, "set") for is64 in (True, False) for kind, width in [(1, 4), (41, 4), (80, 8)]],
    *[(83, False, True, kind, width, "set") for kind, width in [(1, 4), (4, 2), (26, 1)]],
    *[(92, False, False, kind, width, "set") for kind, width in [(1, 4), (2, 2), (3, 1)]],
]


@pytest.mark.parametrize(("machine", "is64", "little", "kind", "width", "operation"), MEASURED + LINKED)
@pytest.mark.parametrize("addend", [3, -1, None])
def test_operations(
    machine: int, is64: bool, little: bool, kind: int, width: int, operation: str, addend: int | None
) -> None:
    image = one(kind, addend=addend, field=FILL, machine=machine, is64=is64, little=little)
    value = ADDRESS + (addend or 0)
    old = int.from_bytes(FILL[:width], "big")
    if operation == "sub":
        value = old - value
    elif operation == "add" or addend is None:
        value = old + value
    assert field_of(image, width) == value % (1 << 8 * width)


@pytest.mark.parametrize("machine", [42, 94], ids=["superh", "xtensa"])
@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("addend", [0, 3, -1, None])
def test_fields_have_the_addend(machine: int, little: bool, addend: int | None) -> None:
    """The addend in the field counts with RELA, too. The reference ignores it: every name becomes the first string."""
    words = struct.Struct("<4I" if little else ">4I")
    image = one(1, addend=addend, field=words.pack(1, 0x50, 2, 3), machine=machine, is64=False, little=little)
    assert words.unpack(result(image)) == (1, ADDRESS + 0x50 + (addend or 0), 2, 3)


def test_objects_of_superh_are_those_with_rel(tmp_path: Path) -> None:
    """The expected bytes are what the reference makes from the same object with REL."""
    path = tmp_path / "sh.o"
    path.write_bytes(relocatable(flavour=OBJECTS["sh"], rela=True).data)
    golden = Path(__file__).parents[2] / "fixtures" / "synthetic" / "object_file_sh.btf"
    assert bytes(pybtf.encode(path, jobs=1).data) == golden.read_bytes()


def test_relocations_of_other_sections_may_be_bad(tmp_path: Path) -> None:
    """GNU ld leaves such in `.rel.pdr`. The reference then relocates nothing that comes after it."""
    path = tmp_path / "arm.o"
    arm = FLAVOURS["arm"]
    bad = Reloc(0x40, ".L.text", arm.absolute[4], 0)
    path.write_bytes(relocatable(flavour=arm, rela=False, more={".pdr": [bad]}).data)
    golden = Path(__file__).parents[2] / "fixtures" / "synthetic" / "object_file_rel.btf"
    assert bytes(pybtf.encode(path, jobs=1).data) == golden.read_bytes()


@pytest.mark.parametrize("name", UNRELOCATED)
def test_objects_that_the_reference_does_not_relocate(name: str, tmp_path: Path) -> None:
    """The bytes are those that the reference makes for another machine of the same word size and byte order."""
    flavour, like = UNRELOCATED[name]
    path = tmp_path / "object.o"
    path.write_bytes(relocatable(flavour=flavour).data)
    golden = Path(__file__).parents[2] / "fixtures" / "synthetic" / f"object_file_{like}.btf"
    assert bytes(pybtf.encode(path, jobs=1).data) == golden.read_bytes()


@pytest.mark.parametrize(
    ("machine", "is64", "kinds"),
    [
        (62, True, [0, 2, 9, 16, 17, 21, 23, 24, 33, 42]),  # NONE, PC32, ..., DTPOFF64, DTPOFF32, SIZE64
        (3, False, [0, 2, 36, 43]),
        (183, True, [0, 256, 261, 1028, 1032]),
        (22, True, [0, 5, 54, 65]),
        (243, True, [0, 33, 37, 43, 51, 52, 53, 60, 61]),  # ADD8, SUB8, ALIGN, RELAX, SUB6, SET6, ULEB128
        (258, True, [0, 47, 52, 100]),
        (247, True, [0, 2, 3, 4, 5]),  # ABS64, ABS32, NODYLD32
        (50, True, [36, 38, 100, 102]),  # those of the other byte order
        (195, False, [3, 5]),
        (83, False, [30, 31, 32]),  # DIFF8, DIFF16, DIFF32
        (94, False, [17, 18, 19, 57, 58, 59]),  # DIFF8 to DIFF32, PDIFF8 to PDIFF32
    ],
)
def test_types_that_are_left_alone(machine: int, is64: bool, kinds: list[int]) -> None:
    for kind in kinds:
        image = one(kind, field=FILL, machine=machine, is64=is64, little=machine != 22)
        assert result(image) == FILL, kind


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [(0, 3), (DEFINED, ADDRESS + 3), (UNDEFINED, None), (ABSOLUTE, 0x1237), (COMMON, 3)],
)
def test_symbols_without_a_section(symbol: int, expected: int | None) -> None:
    image = one(1, symbol=symbol, field=FILL)
    if expected is None:
        assert result(image) == FILL
    else:
        assert field_of(image, 8) == expected


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_many_symbols_and_types_in_any_order(seed: int, little: bool) -> None:
    """More symbols and types than are remembered, in runs and mixed, also with fields at the end: x86-64 or s390x."""
    rng = random.Random(seed)
    order = "<" if little else ">"
    widths = {0: 0, 1: 8, 10: 4, 12: 2, 14: 1} if little else {0: 0, 22: 8, 4: 4, 3: 2, 1: 1}
    values = [0, *(rng.getrandbits(64) for _ in range(40))]
    size = rng.choice([7, 8, 200])
    expected = bytearray(rng.randbytes(size))
    before, records = bytes(expected), b""
    for _ in range(300):
        symbol, kind = rng.randrange(len(values)), rng.choice(list(widths))
        for _ in range(rng.choice([1, 1, 2, 9])):
            if widths[kind] <= size:
                at, addend = rng.randint(0, size - widths[kind]), rng.getrandbits(63)
                records += struct.pack(f"{order}QQq", at, symbol << 32 | kind, addend)
                value = (values[symbol] + addend) % (1 << 8 * widths[kind])
                expected[at : at + widths[kind]] = value.to_bytes(widths[kind], "little" if little else "big")
    absolute = [Symbol(f"s{i}", value, 0, OBJECT, 0xFFF1) for i, value in enumerate(values)]
    symtab, strtab = symbol_table(absolute[1:], little=little)
    sections = [
        Section(".debug_info", before),
        Section(".rela.debug_info", records, type="RELA", link=3, info=1, entsize=24),
        Section(".symtab", symtab, type="SYMTAB", link=4, entsize=24),
        Section(".strtab", strtab, type="STRTAB"),
    ]
    assert result(ElfImage("t.o", bare(sections, little=little, machine=62 if little else 22))) == expected


@pytest.mark.parametrize(("machine", "wide", "word"), [(243, 2, 1), (21, 38, 1), (258, 2, 1)])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_no_symbol_behind_a_known_one(machine: int, wide: int, word: int, first: int) -> None:
    """Symbol 0 and type 1, with 4 bytes, right after relocations that are remembered: it must not take 8 bytes."""
    records = b"".join(struct.pack("<QQq", 0, DEFINED << 32 | wide, 3) for _ in range(first))
    records += struct.pack("<QQq", 8, word, 0x1234)
    assert relocated_by(records, FILL * 2, machine)[8:] == struct.pack("<I", 0x1234) + (FILL * 2)[12:]


@pytest.mark.parametrize("at", range(9))
def test_a_known_relocation_at_the_end(at: int) -> None:
    """The second relocation is remembered. A field of 8 bytes may end where the section does, but not a byte later."""
    records = b"".join(struct.pack("<QQq", offset, DEFINED << 32 | 1, 0) for offset in (0, 8 + at))
    if at == 0:
        assert relocated_by(records, FILL, 62) == struct.pack("<Q", ADDRESS) * 2
    else:
        with pytest.raises(InputError, match=f"relocation 1: a field at {8 + at:#x}; expected a field within"):
            relocated_by(records, FILL, 62)


def relocated_by(records: bytes, data: bytes, machine: int) -> bytes:
    """The little-endian 64-bit section `data` with these relocations applied."""
    symtab, strtab = symbol_table(HOME)
    sections = [
        Section(".text", bytes(0x35), flags=6, align=16),
        Section(".data", bytes(0x40), flags=3, align=64),
        Section(".debug_info", data),
        Section(".rela.debug_info", records, type="RELA", link=5, info=3, entsize=24),
        Section(".symtab", symtab, type="SYMTAB", link=6, entsize=24),
        Section(".strtab", strtab, type="STRTAB"),
    ]
    return result(ElfImage("t.o", bare(sections, machine=machine)))


def test_symbol_with_an_extended_section_index() -> None:
    indexes = Section(".symtab_shndx", struct.pack("<7I", 0, 0, 0, 0, 0, 0, DATA), type="SYMTAB_SHNDX", link=5)
    assert field_of(one(1, symbol=EXTENDED, field=FILL, indexes=[indexes]), 8) == ADDRESS + 3
    with pytest.raises(InputError, match="a symbol in section 65535"):
        result(one(1, symbol=EXTENDED))


@pytest.mark.parametrize("little", [True, False])
def test_mips_with_64_bits_packs_three_types(little: bool) -> None:
    info = struct.pack("<IBBBB" if little else ">IBBBB", DEFINED, 0, 0, 0, 18)
    image = one(0, field=FILL, machine=8, little=little, info=info)
    assert field_of(image, 8) == ADDRESS + 3
    info = struct.pack("<IBBBB" if little else ">IBBBB", DEFINED, 0, 0, 24, 18)
    with pytest.raises(InputError, match="type 6162 for EM_MIPS"):
        result(one(0, machine=8, little=little, info=info))


def test_a_section_without_relocations_is_not_copied() -> None:
    image = ElfImage("t.o", bare([Section(".debug_info", b"abc")], machine=0xABCD))
    section = image.sections[1]
    assert isinstance(relocated(image, section, section_addresses(image)), memoryview)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (one(43), "relocation 0: type 43 for EM_X86_64 (62); expected a relocation type of the machine"),
        (one(1 << 31), "relocation 0: type 2147483648 for EM_X86_64 (62)"),
        (one(1, offset=9), "relocation 0: a field at 0x9; expected a field within the section's 0x10 bytes"),
        (one(1, offset=(1 << 64) - 4), "a field at 0xfffffffffffffffc"),
        (one(1, symbol=7), "relocation 0: symbol 7; expected an index below 7"),
        (one(1, symbol=NOWHERE), "relocation 0: a symbol in section 99; expected an index below 8"),
        (one(1, entsize=25), "entries of 25 bytes; expected 24"),
    ],
)
def test_damage(image: ElfImage, message: str) -> None:
    with pytest.raises(InputError) as caught:
        result(image)
    assert str(caught.value).startswith("t.o: .rela.debug_info")
    assert message in str(caught.value)


def test_unknown_machine() -> None:
    with pytest.raises(InputError, match=r"\.debug_info: relocations for the machine EM_VAX \(75\)"):
        result(one(1, machine=75))


def test_place_of_a_bad_relocation() -> None:
    """The second of two relocations is 24 bytes into the section."""
    image = one(1, field=FILL)
    good = bytes(image.raw(image.sections[4]))
    bad = struct.pack("<QQq", 99, DEFINED << 32 | 1, 0)
    symtab, strtab = symbol_table(HOME)
    sections = [
        Section(".debug_info", FILL),
        Section(".rela.debug_info", good + bad, type="RELA", link=3, info=1, entsize=24),
        Section(".symtab", symtab, type="SYMTAB", link=4, entsize=24),
        Section(".strtab", strtab, type="STRTAB"),
    ]
    with pytest.raises(InputError, match=r"t\.o: \.rela\.debug_info\+0x18: relocation 1: a field at 0x63"):
        result(ElfImage("t.o", bare(sections)))


@pytest.mark.parametrize(
    ("is64", "little", "mips64", "kind"),
    [
        (True, True, False, 1),
        (True, False, False, 22),
        (False, True, False, 1),
        (True, True, True, 18),
        (True, False, True, 18),
    ],
)
@pytest.mark.parametrize("operation", ["set", "sum"])
def test_tokens_stand_where_a_relocation_sets_an_address(
    is64: bool, little: bool, mips64: bool, kind: int, operation: str
) -> None:
    """The first record refers to code, and the second to nothing in memory; the third has another type, and the fourth
    no symbol.
    """
    order, width = "<" if little else ">", 8 if is64 else 4
    symbols = b"".join(
        struct.pack(order + ("IBBHQQ" if is64 else "IIIBBH"), 0, *((1, 0, n, 0, 0) if is64 else (0, 0, 1, 0, n)))
        for n in (0, 1, 2)
    )
    records = b""
    for at, (symbol, each) in enumerate([(1, kind), (2, kind), (1, kind + 1), (3, kind)]):
        if mips64:
            records += struct.pack(order + "QIBBBBq", at * width, symbol, 0, 0, 0, each, 0)
        elif is64:
            records += struct.pack(order + "QQq", at * width, symbol << 32 | each, 0)
        else:
            records += struct.pack(order + "IIi", at * width, symbol << 8 | each, 0)
    table = bytearray(kind + 2)
    table[kind] = OPERATIONS[operation] | width << 4
    out = bytearray(4 * width)
    source = SymbolSource(symbols, b"\0", is64=is64, little=little)
    put_tokens(out, records, source, bytes([0, 0, 1]), bytes(table), rela=True, mips64=mips64, base=0x1000, gap=16)
    assert out == (0x1000).to_bytes(width, "little" if little else "big") + bytes(3 * width)
