"""Skeletons of split DWARF. The search for them gives back all pages that it has read, and no others. What they may say
about the rest of their units, and how often.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.dwarf.roots import LONGEST_TEXT, Budget, Damaged, heads
from pybtf.dwarf.roots import root as read_root
from pybtf.dwarf.skeletons import has_skeletons
from pybtf.dwarf.split import Split
from pybtf.elf.image import ElfImage
from pybtf.encoded import Encoded
from pybtf.errors import InputError, Place
from tests.builders.dwarfwriter import Dwarf, uleb
from tests.builders.elfwriter import Section, bare
from tests.builders.kernelish import kernel
from tests.conftest import Noted

MIB = 1 << 20
COMPILE, SKELETON, SPLIT, SPLIT_TYPE = 1, 4, 5, 6
NAME, STMT_LIST, COMP_DIR, DWO_NAME, ADDR_BASE = 0x03, 0x10, 0x1B, 0x76, 0x73
ADDR, BLOCK4, STRING, DATA1, STRP, UDATA, PRESENT, DATA16 = 0x01, 0x04, 0x08, 0x0B, 0x0E, 0x0F, 0x19, 0x1E


def units(*sizes: int, claimed: int = 0) -> bytes:
    """Units of DWARF 4 of these sizes in bytes; the last one claims `claimed` bytes more."""
    lengths = [size - 4 for size in sizes]
    lengths[-1] += claimed
    pairs = zip(sizes, lengths, strict=True)
    return b"".join(struct.pack("<IHIB", length, 4, 0, 8).ljust(size, b"\0") for size, length in pairs)


@pytest.mark.parametrize("sizes", [(64,), (5 * MIB,) * 4, (9 * MIB, 100, 20 * MIB, 100)])
@pytest.mark.parametrize("claimed", [0, 1 << 28])
def test_what_was_looked_at_goes_back(sizes: tuple[int, ...], claimed: int) -> None:
    info = units(*sizes, claimed=claimed)
    given: list[tuple[int, int]] = []
    found = has_skeletons({"info": info, "abbrev": b"\0", "addr": b""}, lambda *each: given.append(each), little=True)
    assert not found
    assert given[0][0] == 0
    assert given[-1][1] == len(info)
    assert all(before[1] == after[0] for before, after in pairwise(given))
    assert max(end - start for start, end in given) <= 8 * MIB + max(sizes)


@pytest.mark.parametrize(
    ("units", "more", "wanted"), [(4096, {}, True), (4097, {}, False), (4097, {"addr": b""}, True)]
)
def test_large_files_without_addresses_are_not_looked_at(units: int, more: dict[str, bytes], wanted: bool) -> None:
    skeleton = struct.pack("<IHBBIQ", 60, 5, 4, 8, 0, 1).ljust(64, b"\0")
    given: list[tuple[int, int]] = []
    sections = {"info": skeleton * units, "abbrev": b"\0", **more}
    assert has_skeletons(sections, lambda *each: given.append(each), little=True) is wanted
    assert not given


def headed(kind: int, body: bytes, address_size: int = 8) -> bytes:
    """A unit of DWARF 5 that uses the first abbreviation table. A split unit has the identity 7."""
    identity = b"" if kind == COMPILE else struct.pack("<Q", 7)
    rest = struct.pack("<HBBI", 5, kind, address_size, 0) + identity + body
    return struct.pack("<I", len(rest)) + rest


def root(tag: int, *attributes: tuple[int, int], code: int = 1) -> bytes:
    """An abbreviation."""
    return uleb(code) + uleb(tag) + b"\1" + b"".join(uleb(name) + uleb(form) for name, form in attributes) + b"\0\0"


def program(
    folder: Path, info: bytes, abbrev: bytes, strings: bytes = b"\0", filling: int = 0, type: str = "ET_EXEC"
) -> Path:
    """A program with these units, and `x.dwo` with unit 7, which has a type `int` and some padding."""
    table = root(0x11, (NAME, STRING), (0x1C, BLOCK4)) + uleb(2) + b"\x24\0\x03\x08\x0b\x0b\x3e\x0b\0\0" + b"\0"
    unit = headed(SPLIT, b"\1a.c\0" + struct.pack("<I", filling) + bytes(filling) + b"\2int\0\4\5" + b"\0")
    own = [Section(".debug_info.dwo", unit), Section(".debug_abbrev.dwo", table)]
    (folder / "x.dwo").write_bytes(bare(own))
    sections = {".debug_info": info, ".debug_abbrev": abbrev + b"\0", ".debug_str": strings, ".debug_addr": bytes(8)}
    path = folder / "program"
    path.write_bytes(kernel(Dwarf(sections, {}, [], {}, {}, []), type=type).data)
    return path


def ints(result: Encoded) -> int:
    """How many types are called `int`: one if the unit of `x.dwo` was read, however often."""
    return sum(each.name == "int" for each in result.btf)


@pytest.mark.parametrize(
    ("attribute", "form", "value", "address_size"),
    [
        (ADDR_BASE, DATA16, b"\xff" * 16, 8),
        (STMT_LIST, DATA16, bytes(8) + b"\1" + bytes(7), 8),
        (ADDR_BASE, UDATA, b"\xff" * 9 + b"\x7f", 8),
        (ADDR_BASE, ADDR, b"\xff" * 255, 255),
        (STMT_LIST, ADDR, b"", 0),
    ],
    ids=["data16", "data16-lines", "leb", "address-of-255", "address-of-0"],
)
def test_offsets_of_more_than_64_bits(
    attribute: int, form: int, value: bytes, address_size: int, tmp_path: Path
) -> None:
    abbrev = root(0x4A, (DWO_NAME, STRING), (attribute, form))
    wrong = headed(SKELETON, b"\1x.dwo\0" + value, address_size)
    path = program(tmp_path, wrong, abbrev)
    found = "with DW_AT_(addr_base|stmt_list) 0x" if address_size == 8 else "addresses of "
    with pytest.raises(InputError, match=rf"program: \.debug_info\+0x0.*{found}"):
        pybtf.encode(path)
    sound = root(0x4A, (DWO_NAME, STRING), code=2)
    program(tmp_path, wrong + headed(SKELETON, b"\2x.dwo\0"), abbrev + sound)
    result = pybtf.encode(path, degrade=True)
    assert [loss.count for loss in result.report.losses] == [1]
    assert ints(result) == 1


def test_many_skeletons_of_one_unit(tmp_path: Path) -> None:
    """An object may be linked several times. But small skeletons must not repeat a large unit without limit."""
    abbrev, skeleton = root(0x4A, (DWO_NAME, STRING)), headed(SKELETON, b"\1x.dwo\0")
    path = program(tmp_path, skeleton * 1000, abbrev)
    assert pybtf.encode(path).report.units.kept == 1000
    program(tmp_path, skeleton * 16, abbrev, filling=MIB)
    result = pybtf.encode(path)
    assert (result.report.units.kept, ints(result)) == (16, 1)
    program(tmp_path, skeleton * 18, abbrev, filling=MIB)
    with pytest.raises(InputError, match=r"x\.dwo: \.debug_info\.dwo\+0x0: .* more than 16 times"):
        pybtf.encode(path)


def test_a_file_with_many_names_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted) -> None:
    """Otherwise a small program could have a large file in memory many times."""
    names = [b"x.dwo", b"/proc/self/cwd/x.dwo", b"/proc/self/cwd/./x.dwo", b"symbolic.dwo", b"hard.dwo"]
    info = b"".join(headed(SKELETON, b"\1" + name + b"\0") for name in names)
    path = program(tmp_path, info, root(0x4A, (DWO_NAME, STRING)))
    (tmp_path / "symbolic.dwo").symlink_to("x.dwo")
    (tmp_path / "hard.dwo").hardlink_to(tmp_path / "x.dwo")
    monkeypatch.chdir(tmp_path)
    read = noted(Split, "_load")
    result = pybtf.encode(path)
    assert (result.report.units.kept, ints(result)) == (len(names), 1)
    assert [Path(each).name for each in read] == ["x.dwo"]


def test_all_files_together_may_unpack_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file alone may unpack to `FREE_SIZE`, however small it is, and there can be many files."""
    monkeypatch.setattr("pybtf.dwarf.split.FREE_SIZE", 4 * MIB)
    path = program(tmp_path, headed(SKELETON, b"\1x.dwo\0"), root(0x4A, (DWO_NAME, STRING)))
    with ElfImage.open(tmp_path / "x.dwo") as image:
        own = [Section(each.name, bytes(image.data(each))) for each in image.sections if each.name.startswith(".debug")]
    data = bare([*own, Section(".debug_str.dwo", bytes(3 * MIB), compress=9)])
    for count, message in ((1, ""), (3, r"1\.dwo: compressed sections that, with those of other \.dwo files, become")):
        for n in range(count):
            (tmp_path / f"{n}.dwo").write_bytes(data)
        info = b"".join(headed(SKELETON, b"\1%d.dwo\0" % n) for n in range(count))
        path = program(tmp_path, info, root(0x4A, (DWO_NAME, STRING)))
        if message:
            with pytest.raises(InputError, match=message):
                pybtf.encode(path)
        else:
            assert ints(pybtf.encode(path)) == 1


@pytest.mark.parametrize(
    ("damaged", "found", "more"),
    [
        (struct.pack("<IHBB", 0x7FFFFFFF, 5, 1, 8), "the unit length 0x7fffffff", False),
        (bytes(4), "the unit length 0x0", False),
        (b"\1", "the unit length 0x0", False),
        (struct.pack("<IHB", 3, 5, 1), "the data ends inside a value", True),
    ],
    ids=["long", "empty", "cut", "header"],
)
def test_damage_behind_skeletons(damaged: bytes, found: str, more: bool, tmp_path: Path) -> None:
    """With `degrade` the damage is a loss, as it is without skeletons: of everything that follows if a length is wrong,
    and of the unit alone if another part of the header is. `more`: another unit follows.
    """
    plain = root(0x11, (NAME, STRING), code=2) + uleb(3) + b"\x24\0\x03\x08\x0b\x0b\x3e\x0b\0\0"
    long, none, skeleton = b"\2b.c\0\3long\0\x08\5\0", b"\1none.dwo\0", headed(SKELETON, b"\1x.dwo\0")
    parts = headed(COMPILE, long), headed(SKELETON, none), b"" if more else skeleton, damaged, skeleton if more else b""
    path = program(tmp_path, b"".join(parts), root(0x4A, (DWO_NAME, STRING)) + plain)
    result = pybtf.encode(path, degrade=True)
    assert {loss.what for loss in result.report.losses} == {
        f"unit with {found}",
        "unit with a skeleton, whose contents are in the file none.dwo",
    }
    assert {each.name for each in result.btf} == {"long", "int"}
    path = program(tmp_path, skeleton + damaged, root(0x4A, (DWO_NAME, STRING)))
    with pytest.raises(InputError, match=f"a damaged unit header at {len(skeleton):#x}"):
        pybtf.encode(path)


def test_type_units_are_in_front_of_damage(tmp_path: Path) -> None:
    """In an object file, type units from a `.dwo` come after all units, and are read in spite of damage there."""
    path = program(tmp_path, headed(SKELETON, b"\1x.dwo\0") + bytes(4), root(0x4A, (DWO_NAME, STRING)), type="ET_REL")
    table = root(0x11, (NAME, STRING)) + root(0x41, (0x13, DATA1), code=2) + uleb(3) + b"\x13\0\x03\x08\x0b\x0b\0\0"
    units = headed(SPLIT, b"\1a.c\0\0") + headed(SPLIT_TYPE, struct.pack("<I", 26) + b"\2\x0c\3s\0\4\0")
    own = [Section(".debug_info.dwo", units), Section(".debug_abbrev.dwo", table + b"\0")]
    (tmp_path / "x.dwo").write_bytes(bare(own))
    assert [each.name for each in pybtf.encode(path, degrade=True).btf] == ["s"]


class Counted(bytes):
    """Strings that count how many of their bytes are read."""

    read = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self.read += len(found) if isinstance(found, bytes) else 1
        return found


def roots(strings: Counted, *offsets: int, attribute: int = COMP_DIR, wide: int = 1) -> list[bytes | None]:
    """The texts of units. Each unit has `wide` attributes with one of these offsets."""
    abbrev = root(0x11, *[(attribute, STRP)] * wide)
    info = b"".join(headed(COMPILE, b"\1" + struct.pack("<I", offset) * wide) for offset in offsets)
    budget = Budget(len(info))
    units = heads(info, 0, len(info), Place("x"), little=True)
    sections = {"str": strings}
    return [
        read_root(unit, info, abbrev, sections, little=True, offsets_base=None, budget=budget).texts.get(attribute)
        for unit in units
    ]


def test_texts_are_read_if_they_are_wanted() -> None:
    """They are read once: a root may have hundreds, and units may share them."""
    long = Counted(b"x" * (LONGEST_TEXT - 1) + b"\0")
    assert roots(long, *[0] * 100, attribute=NAME, wide=100) == [None] * 100
    assert long.read == 0
    assert roots(long, *[0] * 100, wide=100) == [long[:-1]] * 100
    assert long.read < 3 * LONGEST_TEXT
    short = Counted(b"/src\0" + bytes(LONGEST_TEXT))
    assert roots(short, *range(4)) == [b"/src", b"src", b"rc", b"c"]
    assert short.read <= 4 * 256


def test_texts_that_overlap() -> None:
    """Names that are tails of others are usual, but not if together they are many times as long as their section."""
    size = 1 << 15
    strings = Counted(b"x" * (size - 1) + b"\0")
    assert len(roots(strings, *range(32))) == 32
    with pytest.raises(Damaged):
        roots(strings, *range(64))
    endless = Counted(b"x" * LONGEST_TEXT)
    for offsets in ([0] * 1000, range(1000)):
        endless.read = 0
        with pytest.raises(Damaged):
            roots(endless, *offsets)
        assert endless.read < 2 * LONGEST_TEXT


def test_attributes_without_bytes() -> None:
    """Units that share an abbreviation table take few bytes, so such attributes must be limited."""
    abbrev = root(0x11, *[(NAME, PRESENT)] * 900)
    unit = headed(COMPILE, b"\1")
    (head,) = heads(unit, 0, len(unit), Place("x"), little=True)
    budget = Budget(0)
    for _ in range(221):
        read_root(head, unit, abbrev, {}, little=True, offsets_base=None, budget=budget)
    with pytest.raises(Damaged):
        read_root(head, unit, abbrev, {}, little=True, offsets_base=None, budget=budget)


def test_long_names(tmp_path: Path) -> None:
    """A name that no file can have is not looked for. Messages show the beginning and the end of other long names."""
    abbrev = root(0x4A, (DWO_NAME, STRING)) + root(0x4A, (DWO_NAME, STRING), (COMP_DIR, STRING), code=2)
    for size, found in ((4097, "a file with a name of 4097 bytes"), (4096, r"unit is in n{256}\.\.\.n{256}, with")):
        name = b"n" * size
        path = program(tmp_path, headed(SKELETON, b"\1" + name + b"\0") + headed(SKELETON, b"\1x.dwo\0"), abbrev)
        with pytest.raises(InputError, match=found) as caught:
            pybtf.encode(path)
        assert len(str(caught.value)) < 4000
        result = pybtf.encode(path, degrade=True)
        (loss,) = result.report.losses
        assert loss.what == f"unit with a skeleton, whose contents are in the file {'n' * 256}...{'n' * 256}"
        assert ints(result) == 1
    path = program(tmp_path, headed(SKELETON, b"\2x.dwo\0/" + b"n" * 5000 + b"\0"), abbrev)
    assert ints(pybtf.encode(path)) == 1
