"""Compressed sections: every way to store them, and every way to misstate their sizes."""

from __future__ import annotations

import itertools
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from pybtf.elf.compressed import FREE_SIZE, MAX_RATIO, most_dies
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from tests.builders.elfwriter import Section, bare


@pytest.fixture(scope="module")
def plain_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    members = "".join(f"struct s{i} {{ int member_{i}; struct s{i} *next_{i}; }} v{i};\n" for i in range(200))
    (folder / "a.c").write_text(members)
    subprocess.run(["gcc", "-g", "-c", "a.c", "-o", "a.o"], cwd=folder, check=True)
    return folder / "a.o"


@pytest.mark.parametrize(("style", "magic"), [("zlib", ".debug_info"), ("zlib-gnu", ".zdebug_info")])
def test_objcopy_compressed_sections(plain_object: Path, tmp_path: Path, style: str, magic: str) -> None:
    packed = tmp_path / "packed.o"
    subprocess.run(["objcopy", f"--compress-debug-sections={style}", plain_object, packed], check=True)
    with ElfImage.open(plain_object) as plain, ElfImage.open(packed) as image:
        for name in (".debug_info", ".debug_str", ".debug_abbrev"):
            ours, theirs = image.debug_section(name), plain.debug_section(name)
            assert ours is not None
            assert theirs is not None
            assert bytes(image.data(ours)) == bytes(plain.data(theirs))
        info = image.debug_section(".debug_info")
        assert info is not None
        assert info.name == magic
        assert info.size < len(image.data(info))


def gabi(kind: int, size: int, stream: bytes, is64: bool = True, little: bool = True) -> bytes:
    """The contents of an SHF_COMPRESSED section."""
    order = "<" if little else ">"
    return struct.pack(f"{order}I4xQQ" if is64 else f"{order}III", kind, size, 1) + stream


def literals(content: bytes) -> tuple[int, int, bytes]:
    """A compressed block for `zstd_frame`: all of it must be read before any of it can be unpacked."""
    inner = (3 << 2 | len(content) << 4).to_bytes(3, "little") + content + b"\0"
    return 2, len(inner), inner


def zstd_frame(blocks: list[tuple[int, int, bytes]], size: int) -> bytes:
    """A zstd frame (RFC 8878) of raw (0), run-length (1) and compressed (2) blocks: (type, size, content)."""
    out = b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little")  # single segment, 4 bytes of content size
    for number, (kind, length, content) in enumerate(blocks):
        last = number == len(blocks) - 1
        out += (last | kind << 1 | length << 3).to_bytes(3, "little") + content
    return out


def unpacked(content: bytes, is64: bool = True, little: bool = True) -> bytes:
    image = ElfImage("t.o", bare([Section(".debug_str", content, flags=0x800)], is64=is64, little=little))
    return bytes(image.data(image.sections[1]))


@pytest.mark.parametrize(("is64", "little"), [(True, True), (True, False), (False, True), (False, False)])
def test_headers_of_every_class_and_byte_order(is64: bool, little: bool) -> None:
    text = bytes(range(256)) * 6000
    assert unpacked(gabi(1, len(text), zlib.compress(text), is64, little), is64, little) == text


def test_a_stream_longer_than_one_read() -> None:
    text = bytes(x * x % 251 for x in range(300_000)) * 4
    assert unpacked(gabi(1, len(text), zlib.compress(text, 0))) == text


@pytest.mark.parametrize("cuts", [(1,), (0,), (5, 5), (300_000,), (1, 2, 3, 700_000, 1_200_000)], ids=str)
def test_streams_behind_each_other_count_as_one(cuts: tuple[int, ...]) -> None:
    """As in the reference. Programs that compress in parallel may write several."""
    text = bytes(x * x % 251 for x in range(300_000)) * 4
    ends = [0, *cuts, len(text)]
    streams = b"".join(zlib.compress(text[a:b], 1) for a, b in itertools.pairwise(ends))
    content = gabi(1, len(text), streams)
    assert unpacked(content) == text
    image = ElfImage("t.o", bare([Section(".debug_str", content, flags=0x800)]))
    assert image.head(image.sections[1], 16) == text[:16]


def test_nothing_compressed_is_nothing() -> None:
    assert unpacked(gabi(1, 0, zlib.compress(b""))) == b""
    assert unpacked(gabi(2, 0, b"")) == b""


def test_zstd() -> None:
    frame = zstd_frame([(0, 5, b"hello"), (1, 1000, b"x")], 1005)
    assert unpacked(gabi(2, 1005, frame)) == b"hello" + b"x" * 1000


def test_zstd_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open")

    monkeypatch.setattr("ctypes.CDLL", missing)
    with pytest.raises(InputError, match=r"\.debug_str: compressed with zstd.*Install libzstd1"):
        unpacked(gabi(2, 5, zstd_frame([(0, 5, b"hello")], 5)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\1\0\0", "only 3 bytes; expected a compression header of 24 bytes"),
        (gabi(3, 5, b""), "compression type 3"),
        (gabi(1, 99, zlib.compress(b"hello" * 20)[:-8]), "damaged zlib data: the compressed data ends in the middle"),
        (gabi(1, 5, zlib.compress(b"hello")[:-1]), "damaged zlib data: the compressed data ends in the middle"),
        (gabi(1, 5, zlib.compress(b"hello") + b"x"), "damaged zlib data: 1 bytes after its end: the comp"),
        (gabi(1, 5, zlib.compress(b"hello") + bytes(9)), "damaged zlib data: 9 bytes after its end: .*unknown"),
        (gabi(1, 5, zlib.compress(b"hello") * 2), "decompresses to more than 5 bytes"),
        (gabi(1, 5, b"hello"), "damaged zlib data"),
        (gabi(1, 4, zlib.compress(b"hello")), "decompresses to more than 4 bytes"),
        (gabi(1, 6, zlib.compress(b"hello")), "decompresses to 5 bytes; expected the 6"),
        (gabi(2, 5, b"hello"), "damaged zstd data"),
        (gabi(2, 4, zstd_frame([(0, 5, b"hello")], 5)), "damaged zstd data"),
        (gabi(2, 6, zstd_frame([(0, 5, b"hello")], 5)), "decompresses to 5 bytes; expected the 6"),
        (gabi(1, 1 << 40, zlib.compress(b"hello")), "declares 1099511627776 bytes"),
        (gabi(2, 1 << 30, zstd_frame([(1, 5, b"x")], 5)), "declares 1073741824 bytes"),
        (gabi(1, (1 << 64) - 1, b""), "declares 18446744073709551615 bytes"),
    ],
)
def test_damage(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"t\.o: \.debug_str: {message}"):
        unpacked(content)


def test_what_may_be_unpacked_for_one_image() -> None:
    """The limit is for all sections together, in proportion to the file. Reading a few bytes does not count, and
    reading a section again does not count twice.
    """
    stream = zlib.compress(bytes(10 << 20))
    content = gabi(1, 10 << 20, stream)
    image = ElfImage("t.o", bare([Section(f".debug_{i}", content, flags=0x800) for i in range(5)]))
    count = (FREE_SIZE + MAX_RATIO * image.size) // (10 << 20)
    assert 3 <= count < 5
    for section in image.sections[1:6]:
        assert image.head(section, 16) == bytes(16)
    for section in image.sections[1 : 1 + count]:
        for _ in range(3):
            assert len(image.data(section)) == 10 << 20
    message = f"declares 10485760 bytes after decompression of {len(stream)}, after {count * (10 << 20)} bytes"
    with pytest.raises(InputError, match=message):
        image.data(image.sections[1 + count])


@pytest.mark.parametrize("over", [0, 1])
def test_the_most_that_may_be_unpacked(over: int) -> None:
    def built(size: int) -> ElfImage:
        # The padding makes the file, and with it the budget, independent of the stream's length.
        content = gabi(1, size, zlib.compress(bytes(size)))
        padding = Section(".comment", bytes(100_000 - len(content)))
        return ElfImage("t.o", bare([Section(".debug_str", content, flags=0x800), padding]))

    size = FREE_SIZE + MAX_RATIO * built(1).size + over
    image = built(size)
    if over:
        with pytest.raises(InputError, match=f"declares {size} bytes.*at most {size - 1} bytes in all"):
            image.data(image.sections[1])
    else:
        assert len(image.data(image.sections[1])) == size


@pytest.mark.parametrize("names", [(".debug_info", ".debug_types"), (".zdebug_types", ".debug_info.dwo")])
def test_of_dies_less_may_be_unpacked(names: tuple[str, str]) -> None:
    """DIEs cost the most to process. Other sections of the same size are not refused."""
    size = 900_000
    stream = zlib.compress(bytes(size))
    sections = [
        Section(name, b"ZLIB" + struct.pack(">Q", size) + stream)
        if name.startswith(".z")
        else Section(name, gabi(1, size, stream), flags=0x800)
        for name in (*names, ".debug_line")
    ]
    image = ElfImage("t.o", bare(sections))
    assert most_dies(0) < 2 * size < most_dies(image.size) + size
    first, second, other = image.sections[1:4]
    assert len(image.data(first)) == size
    limit = most_dies(image.size)
    message = f"after {size} bytes of other sections of DIEs; expected at most {limit} bytes of DIEs in all"
    with pytest.raises(InputError, match=f"declares {size} bytes after decompression of {len(stream)}, {message}"):
        image.data(second)
    assert len(image.data(other)) == size


@pytest.mark.parametrize("over", [0, 1])
def test_the_most_dies_that_may_be_unpacked(over: int) -> None:
    def built(size: int) -> ElfImage:
        content = gabi(1, size, zlib.compress(bytes(size)))
        padding = Section(".comment", bytes(20_000 - len(content)))
        return ElfImage("t.o", bare([Section(".debug_info", content, flags=0x800), padding]))

    size = most_dies(built(1).size) + over
    image = built(size)
    if over:
        with pytest.raises(InputError, match=f"declares {size} bytes.*at most {size - 1} bytes of DIEs in all"):
            image.data(image.sections[1])
    else:
        assert len(image.data(image.sections[1])) == size


def test_of_a_module_that_is_compressed_as_a_whole_its_size_on_the_disk_counts() -> None:
    content = gabi(1, 1 << 20, zlib.compress(bytes(1 << 20)))
    data = bare([Section(".debug_str", content, flags=0x800), Section(".big", bytes(FREE_SIZE))])
    small = ElfImage("t.ko", data, stored=1000)
    with pytest.raises(InputError, match="after 3"):
        small.data(small.sections[1])
    image = ElfImage("t.ko", data, stored=1 << 20)
    assert len(image.data(image.sections[1])) == 1 << 20


@pytest.mark.parametrize("kind", ["zlib", "gnu", "zstd", "zstd whole", "plain"])
def test_how_a_section_begins(kind: str) -> None:
    text = bytes(range(256)) * 5000
    content, name, flags = text, ".debug_info", 0x800
    if kind == "zlib":
        content = gabi(1, len(text), zlib.compress(text))
    elif kind == "gnu":
        content, name, flags = b"ZLIB" + struct.pack(">Q", len(text)) + zlib.compress(text), ".zdebug_info", 0
    elif kind == "zstd whole":
        whole = [literals(text[i : i + 131_000]) for i in range(0, len(text), 131_000)]
        content = gabi(2, len(text), zstd_frame(whole, len(text)))
        assert unpacked(content) == text
    elif kind == "zstd":
        blocks = [text[i : i + 100_000] for i in range(0, len(text), 100_000)]
        content = gabi(2, len(text), zstd_frame([(0, len(block), block) for block in blocks], len(text)))
    else:
        flags = 0
    image = ElfImage("t.o", bare([Section(name, content, flags=flags)]))
    assert image.head(image.sections[1], 16) == text[:16]


@pytest.mark.parametrize("kind", [1, 2])
def test_how_a_damaged_section_begins(kind: int) -> None:
    image = ElfImage("t.o", bare([Section(".debug_info", gabi(kind, 99, b"nothing of the kind"), flags=0x800)]))
    with pytest.raises(InputError, match=r"t\.o: \.debug_info: damaged (zlib|zstd) data"):
        image.head(image.sections[1], 16)


def test_a_bomb_stops_at_the_size_that_it_declares() -> None:
    with pytest.raises(InputError, match="more than 16 bytes"):
        unpacked(gabi(1, 16, zlib.compress(bytes(8 << 20))))


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"", "empty"), (b"ZLIB\0\0", "starts with 5a 4c 49 42 00 00"), (b"ZLIX" + bytes(20), "starts with 5a 4c 49 58")],
)
def test_damaged_zdebug(content: bytes, found: str) -> None:
    image = ElfImage("t.o", bare([Section(".zdebug_info", content)]))
    with pytest.raises(InputError, match=f't.o: .zdebug_info: {found}.*; expected "ZLIB"'):
        image.data(image.sections[1])
