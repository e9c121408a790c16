"""Small files that unpack to large ones, once or many times: little time and memory, as in test_hostile.py."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.elf.packed import open_module
from pybtf.errors import InputError
from tests.builders.dwarfwriter import dwarf
from tests.builders.elfwriter import SHF_COMPRESSED, SHF_GROUP, Section
from tests.builders.kernelish import FLAVOURS, kernel, standard, unit
from tests.builders.rawdwarf import RawDwarf
from tests.elf.test_elf_compressed import gabi, zstd_frame
from tests.hostile.test_hostile import MEGABYTES, SECONDS, encode

MIB = 1 << 20
X86 = FLAVOURS["x86_64"]


def long_abbreviations(style: str, behind: bytes) -> bytes:
    """A sound kernel with two MiB of .debug_abbrev, whose stream has bytes after its end."""
    made = dwarf([unit(standard(X86))])
    text = made.sections.pop(".debug_abbrev") + bytes(2 * MIB)
    stream = zlib.compress(text) + behind
    if style == "gnu":
        return kernel(made, debug={".zdebug_abbrev": b"ZLIB" + struct.pack(">Q", len(text)) + stream}).data
    section = Section(".debug_abbrev", gabi(1, len(text), stream), flags=SHF_COMPRESSED)
    return kernel(made, debug={".debug_abbrev": section}).data


@pytest.mark.parametrize("style", ["gabi", "gnu"])
@pytest.mark.parametrize("behind", [b"x", b"x" * 300_000], ids=["one byte", "many bytes"])
def test_bytes_behind_the_end_of_a_stream(style: str, behind: bytes, tmp_path: Path) -> None:
    """This must not loop forever. The reference reads nothing of such a section, and encodes nothing."""
    path = tmp_path / "file"
    path.write_bytes(long_abbreviations(style, behind))
    assert f"damaged zlib data: {len(behind)} bytes after its end" in encode(path).answer


@pytest.mark.parametrize("style", ["gabi", "gnu"])
def test_streams_of_nothing_behind_the_end(style: str, tmp_path: Path) -> None:
    """A million of them. Everything after one must not be copied or read again for each."""
    sound, path = tmp_path / "sound", tmp_path / "file"
    sound.write_bytes(long_abbreviations(style, b""))
    path.write_bytes(long_abbreviations(style, zlib.compress(b"") * 1_000_000))
    run = encode(path)
    assert run.answer == encode(sound).answer
    assert run.answer.endswith(" bytes")
    assert run.seconds < SECONDS


def overlapping(data: bytes, first: int, count: int) -> bytes:
    """The file, with `count` entries of its section table, from `first` on, pointing to the bytes of the first."""
    out = bytearray(data)
    for i in range(1, count):
        out[first + 64 * i + 24 : first + 64 * i + 40] = out[first + 24 : first + 40]
    return bytes(out)


def zeros(size: int) -> bytes:
    """Zeros packed with zstd, 30 times as tightly as zlib can."""
    block = 128 << 10
    return gabi(2, size, zstd_frame([(1, block, b"\0")] * (size // block), size))


def groups(count: int) -> bytes:
    """Members of COMDAT groups that might hold type units, all with the same bytes."""
    packed = zeros(64 * MIB)
    extra = [Section(".debug_info", b"" if i else packed, flags=SHF_GROUP | SHF_COMPRESSED) for i in range(count)]
    made = kernel(extra_sections=extra, type="ET_REL")
    return overlapping(made.data, made.header_at[".debug_info"], count)


def groups_apart(count: int) -> bytes:
    packed = zeros(64 * MIB)
    extra = [Section(".debug_info", packed, flags=SHF_GROUP | SHF_COMPRESSED) for _ in range(count)]
    return kernel(extra_sections=extra, type="ET_REL").data


def types(count: int) -> bytes:
    packed = zeros(64 * MIB)
    extra = [Section(".debug_types", packed, flags=SHF_COMPRESSED) for i in range(count)]
    return kernel(extra_sections=extra, type="ET_REL").data


def wanted(count: int) -> bytes:
    """Sections that every encoding reads, all with the same bytes."""
    names = ("abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists")[:count]
    packed = zeros(30 * MIB)
    debug = [Section(f".debug_{name}", packed if name == "abbrev" else b"", flags=SHF_COMPRESSED) for name in names]
    debug.append(Section(".debug_info", dwarf([unit(standard(X86))]).sections[".debug_info"]))
    made = kernel(debug={section.name: section for section in debug})
    return overlapping(made.data, made.header_at[".debug_abbrev"], count)


def dies() -> bytes:
    """One section of DIEs, of a size that other sections may have."""
    return kernel(debug={".debug_info": Section(".debug_info", zeros(30 * MIB), flags=SHF_COMPRESSED)}).data


CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "16 groups": (lambda: groups(16), "overlap"),
    "64 groups": (lambda: groups(64), "overlap"),
    "16 groups apart": (lambda: groups_apart(16), "bytes"),
    "16 sections of types": (lambda: types(16), "bytes in all"),
    "64 sections of types": (lambda: types(64), "bytes in all"),
    "seven sections": (lambda: wanted(7), "bytes in all"),
    "DIEs": (dies, "bytes of DIEs in all"),
}


@pytest.mark.parametrize("name", CASES)
def test_sections_that_unpack_to_much(name: str, tmp_path: Path) -> None:
    build, expected = CASES[name]
    path, empty = tmp_path / "file", tmp_path / "empty"
    path.write_bytes(build())
    empty.write_bytes(kernel().data)
    run = encode(path)
    assert expected in run.answer
    assert run.seconds < SECONDS, run
    # The budget, and how it is used.
    assert run.megabytes - encode(empty).megabytes < MEGABYTES // 2, run


def test_a_module_of_small_dies(tmp_path: Path) -> None:
    """Each of 30 million DIEs is one byte: a file of 5 kB would become 3 GB."""
    path = tmp_path / "module.ko.xz"
    w = RawDwarf()
    w.begin()
    at = w.die(0x0F)
    code = w.info[at : at + 1]

    def module(count: int) -> bytes:
        info = bytes(w.info) + code * count + b"\0"
        info = struct.pack("<I", len(info) - 4) + info[4:]
        debug = [Section(".debug_abbrev", bytes(w.abbrev) + b"\0"), Section(".debug_info", info)]
        return lzma.compress(kernel(debug={each.name: each for each in debug}).data, preset=0)

    path.write_bytes(module(30 * MIB))
    run = encode(path)
    assert "bytes of DIEs after decompression of" in run.answer, run
    assert "; expected at most " in run.answer
    assert run.megabytes < MEGABYTES
    path.write_bytes(module(MIB))
    run = encode(path)
    assert run.answer.endswith(" bytes"), run
    assert run.megabytes < MEGABYTES


def test_empty_frames(tmp_path: Path) -> None:
    """If each copied 256 KiB, 450,000 of them would take 14 seconds."""
    data = kernel().data
    path = tmp_path / "module.ko.zst"
    path.write_bytes(zstd_frame([(0, 0, b"")], 0) * 300_000 + zstd_frame([(0, len(data), data)], len(data)))
    run = encode(path)
    assert run.answer.endswith(" bytes"), run
    assert run.seconds < 5, run


def test_frames_that_end_early(tmp_path: Path) -> None:
    path = tmp_path / "module.ko.zst"
    path.write_bytes(zstd_frame([(0, 0, b"")], 0) * 10 + zstd_frame([(0, 9, b"too short")], 9)[:-1])
    with pytest.raises(InputError, match="damaged zstd data: the compressed data ends in the middle"):
        open_module(str(path))
