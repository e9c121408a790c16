"""One section, found by its name: the result is what an `ElfImage` of the file gives, or nothing."""

from __future__ import annotations

import random
import struct
import tempfile
from pathlib import Path

import pytest

from pybtf.core.elf.read_section import section_of_file
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from tests.builders.elfwriter import Elf, Section, elf

NAMES = (".values", ".values.more", ".value", "values", ".empty", ".packed", ".nothing", ".twice", "", ".absent")


def example(*, bits: int = 64, little: bool = True) -> Elf:
    sections = [
        Section(".text", b"\x90" * 20, flags=6),
        Section(".values.more", b"more"),
        Section(".values", b"what is looked for"),
        Section(".empty", b""),
        Section(".packed", b"a" * 100, compress=6),
        Section(".nothing", type="NOBITS", size=12),
        Section(".twice", b"first"),
        Section(".twice", b"second"),
    ]
    return elf(sections, bits=bits, little=little)


def by_image(content: bytes, name: str) -> bytes | None:
    """The data of the first section of this name in the image, if it is uncompressed and within the file."""
    section = ElfImage("x", content).section(name)
    return bytes(ElfImage("x", content).data(section)) if section is not None and section.plain else None


def found(content: bytes, name: str, most: int = 1 << 20) -> bytes | None:
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.write(content)
        return section_of_file(file.name, name.encode(), most)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_what_an_image_gives(bits: int, little: bool) -> None:
    content = example(bits=bits, little=little).data
    assert found(content, ".values") == b"what is looked for"
    assert found(content, ".twice") == b"first"
    for name in NAMES:
        if name:
            assert found(content, name) == by_image(content, name), name


def test_a_section_may_be_too_large() -> None:
    content = example().data
    assert found(content, ".values", 18) == b"what is looked for"
    assert found(content, ".values", 17) is None


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", tmp_path / "a\0b"):
        assert section_of_file(str(path), b".values", 100) is None


@pytest.mark.parametrize("bits", [32, 64])
def test_files_that_are_not_as_usual(bits: int) -> None:
    usual = example(bits=bits)
    assert found(b"", ".values") is None
    assert found(usual.data[:63], ".values") is None
    sections = [Section(".values", b"here"), Section(".other", b"")]
    assert found(elf(sections, bits=bits, extended=True).data, ".values") is None
    for at in (3, 4, 5, 6):  # the last byte of the magic number; class; byte order; version
        assert found(usual.data[:at] + b"\x07" + usual.data[at + 1 :], ".values") is None
    for field in ("shoff", "shnum", "shstrndx", "shentsize"):
        assert found(elf(sections, bits=bits, header={field: 0}).data, ".values") is None
    assert found(elf(sections, bits=bits, header={"shstrndx": 200}).data, ".values") is None


def test_names_that_end_within_a_name() -> None:
    """Bytes after the section of names do not belong to a name, even if they are still in memory from before."""
    content = example().data
    names = content.rindex(b".values\0") + len(b".valu")
    header = struct.unpack_from("<Q", content, 40)[0]
    count, index = struct.unpack_from("<HH", content, 60)
    at = header + 64 * index
    start = struct.unpack_from("<Q", content, at + 24)[0]
    cut = bytearray(content)
    struct.pack_into("<Q", cut, at + 32, names - start)
    assert count > index
    for _ in range(5):
        assert found(content, ".values") is not None
        assert found(bytes(cut), ".values") is None


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_damage(bits: int, little: bool) -> None:
    """What is found is what a careful reader finds, if it accepts the file at all. Nothing else is read."""
    usual = example(bits=bits, little=little)
    start = min(usual.header_at.values()) - (64 if bits == 64 else 40)
    places = [*range(64), *range(start, len(usual.data))]
    chooser = random.Random(bits + little)
    same = refused = 0
    for _ in range(3000):
        content = bytearray(usual.data)
        for _ in range(chooser.choice((1, 1, 1, 2, 4))):
            content[chooser.choice(places)] = chooser.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chooser.randrange(256)))
        data = bytes(content)
        data = data[: chooser.randrange(len(data))] if chooser.random() < 0.1 else data
        name = chooser.choice(NAMES[:-2])
        here = found(data, name)
        try:
            careful = by_image(data, name)
        except InputError:
            refused += 1
            continue
        assert here is None or here == careful, name
        same += here is not None
    assert same > 500
    assert refused > 100
