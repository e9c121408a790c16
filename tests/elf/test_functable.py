"""The function table compared with a model of its rules, and its symbols with pyelftools."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pybtf.core.elf.function_table import ALL_SECTIONS, FunctionTable
from pybtf.core.elf.symbols import SymbolError, SymbolSource
from pybtf.elf.image import ElfImage
from pybtf.elf.symbols import function_table, function_table_meanwhile, symbol_source
from pybtf.errors import InputError
from tests.builders.elfchecks import section
from tests.builders.elfwriter import Section, Symbol, bare, symbol_table

NOTYPE, OBJECT, FUNC = 0, 1, 2
FLAVOURS = [(True, True), (True, False), (False, True), (False, False)]

Entries = list[tuple[str, bool, list[tuple[str, int]]]]


def table_of(table: list[Symbol], is64: bool = True, little: bool = True) -> FunctionTable:
    symtab, strtab = symbol_table(table, is64=is64, little=little)
    return FunctionTable(SymbolSource(symtab, strtab, is64=is64, little=little))


def model(functions: list[tuple[str, int]]) -> Entries:
    """The rules, written differently: group by base name, then walk the addresses."""
    groups: dict[bytes, list[tuple[str, int]]] = {}
    for name, value in functions:
        base, _, suffix = name.partition(".")
        if ".cold" not in f".{suffix}" and ".part" not in f".{suffix}":
            groups.setdefault(base.encode(), []).append((name, value))
    result: Entries = []
    for base_name in sorted(groups):
        values = [value for _, value in groups[base_name]]
        while values and values[0] == 0:
            values.pop(0)
        result.append((base_name.decode(), len(set(values)) > 1, groups[base_name]))
    if result:
        result[-1] = (result[-1][0], False, result[-1][2])
    return result


@pytest.mark.parametrize(("is64", "little"), FLAVOURS)
def test_random_tables_follow_the_model(is64: bool, little: bool) -> None:
    chance = random.Random(int(is64) * 2 + little)
    for size in [0, 1, 2, 3, 17, 500, 3000]:
        table = []
        for _ in range(size):
            name = "".join(chance.choice("ab_é") for _ in range(chance.randrange(1, 13)))
            name += chance.choice(["", "", "", ".isra.0", ".part.3", ".cold", ".isra.0.cold", ".x.part", "."])
            value = chance.choice([0, 0, 8, 8, 16, chance.randrange(1 << 32)])
            table.append(Symbol(name, value, 1, chance.choice([FUNC, FUNC, FUNC, OBJECT, NOTYPE, 3, 10]), section=1))
        expected = model([(s.name, s.value) for s in table if s.type == FUNC])
        ours = table_of(table, is64, little)
        assert ours.entries() == expected
        assert len(ours) == len(expected)
        for index, (name, _, _) in enumerate(expected):
            assert ours.find(name.encode()) == index
            assert ours.find(name.encode() + b"!") is None


def test_names_that_differ_late_or_only_in_length() -> None:
    names = ["abcdefghij", "abcdefgh", "abcdefghi", "abcdefg", "abcdefghia", "a", "abcdefgz", "abcdefgh"]
    ours = table_of([Symbol(name, i + 1, section=1) for i, name in enumerate(names)])
    assert [name for name, _, _ in ours.entries()] == sorted(set(names))
    assert ours.entries()[2][2] == [("abcdefgh", 2), ("abcdefgh", 8)]


@pytest.mark.parametrize("size", [2, 39, 40, 41, 300, 4000])
def test_names_that_begin_alike(size: int) -> None:
    """As in a kernel: half of them begin with `__pfx_`, and some occur many times."""
    chance = random.Random(size)
    for begin in ["", "__pfx_", "fourteen_bytes", "sixteen_bytes_it", "twenty_four_bytes_or_so_", "x" * 100]:
        table = []
        for i in range(size):
            name = chance.choice([begin, begin, ""])
            name += "".join(chance.choices("abcdz_AZ\x7fé", k=chance.randrange(1, 20)))
            name = chance.choice([name, name, name[:1] + name, begin + "often"])
            table.append(Symbol(name, i + 1, 1, FUNC, section=1))
        assert table_of(table).entries() == model([(s.name, s.value) for s in table])


@pytest.mark.parametrize(
    ("values", "ambiguous"),
    [
        ([5, 5], False),
        ([5, 6], True),
        ([0, 5], False),
        ([5, 0], True),
        ([0, 0, 5, 5], False),
        ([0, 5, 0, 5], True),
        ([0, 0], False),
    ],
)
def test_ambiguity(values: list[int], ambiguous: bool) -> None:
    """An address followed by 0 is ambiguous, 0 followed by an address is not; the last entry never is."""
    first = [Symbol(f"f.isra.{i}" if i else "f", value, section=1) for i, value in enumerate(values)]
    last = [Symbol("g", value, section=1) for value in values]
    assert [flag for _, flag, _ in table_of(first + last).entries()] == [ambiguous, False]
    assert [flag for _, flag, _ in table_of(first).entries()] == [False]


def test_suffixes() -> None:
    names = ["f", "f.constprop.0", "f.isra.0.llvm.1", "f.llvm.77", "f.x.cold.1"]
    table = [Symbol(name, section=1) for name in names]
    assert table_of(table).suffixes(b"f") == [(False, False), (True, True), (True, True), (True, False)]
    assert table_of(table).suffixes(b"g") == []


def test_gcc_symbols_as_pyelftools_reads_them(tmp_path: Path) -> None:
    source = "".join(
        f"__attribute__((noinline)) static int f{i}(int a, int b) {{ return a * {i} + (b & a); }}\n"
        f"int g{i}(int a) {{ return f{i}(a, 3) + f{i}(a + 1, 3); }}\n"
        for i in range(50)
    )
    (tmp_path / "a.c").write_text(source)
    subprocess.run(["gcc", "-O2", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    with open(tmp_path / "a.o", "rb") as stream:
        theirs = [
            (symbol.name, symbol["st_value"])
            for symbol in section(ELFFile(stream), ".symtab", SymbolTableSection).iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        ]
    assert any("." in name for name, _ in theirs), "gcc made no clone"
    with ElfImage.open(tmp_path / "a.o") as image:
        ours = function_table(image)
    assert ours.entries() == model(theirs)


# ---- objects


OBJECTS = [
    Symbol("here", 0, 4, OBJECT, 2),
    Symbol("there", 0, 4, OBJECT, 3),
    Symbol("here", 0, 4, OBJECT, 4),
    Symbol("function", 0, 4, FUNC, 2),
    Symbol("absolute", 0, 4, OBJECT, 0xFFF1),
    Symbol("undefined", 0, 4, OBJECT, 0),
]


@pytest.mark.parametrize(("is64", "little"), FLAVOURS)
def test_objects_by_section_and_name(is64: bool, little: bool) -> None:
    symtab, strtab = symbol_table(OBJECTS, is64=is64, little=little)
    source = SymbolSource(symtab, strtab, is64=is64, little=little)

    def found(table: FunctionTable) -> set[tuple[int, str]]:
        return {
            (section, symbol.name)
            for section in [0, 2, 3, 4, 5, 0xFFF1]
            for symbol in OBJECTS
            if table.has_object(section, symbol.name.encode())
        }

    assert found(FunctionTable(source)) == set()
    assert found(FunctionTable(source, ALL_SECTIONS)) == {(2, "here"), (3, "there"), (4, "here")}
    assert found(FunctionTable(source, 4)) == {(4, "here")}
    assert found(FunctionTable(source, 9)) == set()
    assert not FunctionTable(source, ALL_SECTIONS).has_object(2, b"her")


def test_many_objects() -> None:
    places = {f"object_{i}".encode(): i % 7 + 1 for i in range(3000)}
    table = [Symbol(name.decode(), 0, 4, OBJECT, section) for name, section in places.items()]
    symtab, strtab = symbol_table(table)
    ours = FunctionTable(SymbolSource(symtab, strtab, is64=True, little=True), ALL_SECTIONS)
    assert all(ours.has_object(section, name) for name, section in places.items())
    assert not any(ours.has_object(section + 1, name) for name, section in places.items())


def test_objects_of_few_names_in_many_sections() -> None:
    """Objects of one name must not be neighbours in the hash table: each search would pass all of them."""
    names, sections = 4, 200_000
    strtab = b"\0" + b"".join(b"%d\0" % name for name in range(names))
    symtab = b"".join(struct.pack("<IBBHQQ", 1 + 2 * name, 1, 0, 0xFFFF, 0, 8) * sections for name in range(names))
    indexes = struct.pack(f"<{sections}I", *range(1, sections + 1)) * names
    source = SymbolSource(symtab, strtab, is64=True, little=True, shndx=indexes)
    start = time.process_time()
    ours = FunctionTable(source, ALL_SECTIONS)
    assert time.process_time() - start < 2  # it was often more than ten seconds
    assert ours.has_object(sections, b"3")
    assert not ours.has_object(sections + 1, b"3")


@pytest.mark.parametrize("little", [True, False])
def test_extended_section_indexes(little: bool) -> None:
    table = [Symbol("far", 0, 4, OBJECT, 0xFFFF), Symbol("near", 0, 4, OBJECT, 5)]
    symtab, strtab = symbol_table(table, little=little)
    indexes = struct.pack("<3I" if little else ">3I", 0, 70000, 0)
    sections = [
        Section(".symtab", symtab, type="SYMTAB", link=2, entsize=24),
        Section(".strtab", strtab, type="STRTAB"),
        Section(".symtab_shndx", indexes, type="SYMTAB_SHNDX", link=1, entsize=4),
    ]
    ours = function_table(ElfImage("t.o", bare(sections, little=little)), ALL_SECTIONS)
    assert ours.has_object(70000, b"far")
    assert ours.has_object(5, b"near")
    assert not ours.has_object(0xFFFF, b"far")
    without = function_table(ElfImage("t.o", bare(sections[:2], little=little)), ALL_SECTIONS)
    assert not without.has_object(0xFFFF, b"far")


# ---- damage


def damaged(change: bytes, at: int, table: list[Symbol] | None = None) -> ElfImage:
    """An image whose symbol table has `change` at offset `at`."""
    content = bare([Section(".text")], table or [Symbol("f", section=1), Symbol("g", section=1)])
    offset = ElfImage("t.o", content).sections[2].offset + at
    return ElfImage("t.o", content[:offset] + change + content[offset + len(change) :])


def test_name_beyond_the_string_table() -> None:
    image = damaged(b"\x05\0\0\0", 48)
    with pytest.raises(InputError) as caught:
        function_table(image)
    assert str(caught.value) == (
        "t.o: .symtab+0x30: symbol 2: its name is at 0x5 of the string table; expected an offset below 0x5"
    )


def test_name_of_a_symbol_that_plays_no_role_may_be_damaged() -> None:
    image = damaged(b"\xff\xff\xff\xff", 48, [Symbol("f", section=1), Symbol("g", type=NOTYPE, section=1)])
    assert function_table(image).entries() == [("f", False, [("f", 0)])]


def test_name_of_an_object_beyond_the_string_table() -> None:
    image = damaged(b"\xff\xff\xff\xff", 24, [Symbol("v", type=OBJECT, section=1)])
    assert len(function_table(image)) == 0
    with pytest.raises(InputError, match=r"\.symtab\+0x18: symbol 1: its name is at 0xffffffff"):
        function_table(image, ALL_SECTIONS)


def test_string_table_without_end() -> None:
    symtab, strtab = symbol_table([Symbol("f", section=1)])
    with pytest.raises(SymbolError, match="does not end with a NUL"):
        FunctionTable(SymbolSource(symtab, strtab + b"x", is64=True, little=True))
    with pytest.raises(SymbolError, match="an offset below 0x0"):
        FunctionTable(SymbolSource(symtab, b"", is64=True, little=True))


@pytest.mark.parametrize("kind", [FUNC, OBJECT])
def test_names_that_overlap_beyond_reason(kind: int) -> None:
    """20,000 functions, each named by a different tail of one string, have 200 MB of names."""
    table = b"".join(struct.pack("<IBBHQQ", i, kind, 0, 1, i, 1) for i in range(20000))
    source = SymbolSource(table, b"x" * 20000 + b"\0", is64=True, little=True)
    with pytest.raises(SymbolError, match="names that hardly overlap"):
        FunctionTable(source, ALL_SECTIONS)


@pytest.mark.parametrize("threads", [True, False])
def test_a_table_that_is_read_meanwhile(threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same functions, objects and errors as when it is read at once, even if no thread can be started."""
    if not threads:
        monkeypatch.setattr("pybtf.support.light_thread.LightThread.start", no_more_threads)
    image = ElfImage("t.o", bare([Section(".text")], [Symbol("f", section=1), Symbol("v", section=1, type="OBJECT")]))
    table, wait = function_table_meanwhile(image, ALL_SECTIONS)
    wait()
    assert table.entries() == function_table(image, ALL_SECTIONS).entries()
    assert table.has_object(1, b"v")
    symtab = image.section(".symtab")
    assert symtab is not None
    nameless = struct.pack("<IBBHQQ", 9, FUNC, 0, 1, 1, 1)
    image.symbol_sources[symtab.index] = SymbolSource(nameless, b"\0", is64=True, little=True)
    with pytest.raises(InputError) as at_once:
        function_table(image)
    _, wait = function_table_meanwhile(image)
    with pytest.raises(InputError) as later:
        wait()
    assert str(later.value) == str(at_once.value)


def no_more_threads(_thread: object) -> None:
    raise RuntimeError("can't start new thread")


def test_symbols_that_share_their_names_are_no_overlap() -> None:
    table = b"".join(struct.pack("<IBBHQQ", 1, FUNC, 0, 1, 7, 1) for i in range(20000))
    ours = FunctionTable(SymbolSource(table, b"\0" + b"x" * 100 + b"\0", is64=True, little=True))
    assert ours.entries() == [("x" * 100, False, [("x" * 100, 7)] * 20000)]


def test_short_table_of_extended_indexes() -> None:
    symtab, strtab = symbol_table([Symbol("f", section=1), Symbol("g", section=1)])
    with pytest.raises(SymbolError, match="8 bytes of extended section indexes; expected 12"):
        SymbolSource(symtab, strtab, is64=True, little=True, shndx=bytes(8))


def test_an_incomplete_last_symbol_does_not_count() -> None:
    symtab, strtab = symbol_table([Symbol("f", section=1), Symbol("g", section=1)])
    ours = FunctionTable(SymbolSource(symtab[:-1], strtab, is64=True, little=True))
    assert [name for name, _, _ in ours.entries()] == ["f"]


def test_strings_in_the_wrong_section() -> None:
    image = ElfImage("t.o", bare([Section(".symtab", bytes(24), type="SYMTAB", link=1, entsize=24)]))
    with pytest.raises(InputError, match=r"\.symtab: sh_link is 1; expected the index of its string table"):
        symbol_source(image, image.sections[1])


def test_a_frozen_table_takes_no_more_marks() -> None:
    ours = table_of([Symbol("f", section=1)])
    assert ours.mark_kfunc(b"f", 3)
    assert not ours.mark_kfunc(b"g", 3)
    ours.freeze()
    with pytest.raises(RuntimeError, match="frozen"):
        ours.mark_kfunc(b"f", 4)
    assert ours.kfuncs() == {"f": 3}
