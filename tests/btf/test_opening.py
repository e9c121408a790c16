"""Files with BTF that are compressed as a whole: every command that takes such a file reads the same."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.files import read_base, read_btf, read_release
from pybtf.btf.kind_numbers import MAGICS
from pybtf.cli.main import main
from pybtf.elf.compressed import FREE_SIZE
from pybtf.elf.unlike import what_it_is
from pybtf.errors import InputError
from pybtf.pahole.main import main as pahole
from tests.builders.elfwriter import Section, elf
from tests.conftest import ROOT
from tests.elf.test_elf_compressed import zstd_frame

KERNEL = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
MODULE = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
BANNER = b"Linux version 6.1.0-x (builder) #1\n"


def zstd(data: bytes) -> bytes:
    """A zstd frame of raw blocks, with the content size in four bytes."""
    pieces = [data[at : at + 100_000] for at in range(0, len(data), 100_000)]
    return zstd_frame([(0, len(piece), piece) for piece in pieces], len(data))


PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.fixture(scope="module")
def raw() -> bytes:
    return bytes(pybtf.encode(KERNEL).data)


@pytest.fixture(params=["raw", "ELF"])
def plain(request: pytest.FixtureRequest, raw: bytes) -> bytes:
    """A file with the BTF, not compressed."""
    sections = [Section(".rodata", BANNER), Section(".BTF", raw)]
    return raw if request.param == "raw" else bytes(elf(sections).data)


@pytest.fixture(params=PACK)
def pack(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    return PACK[request.param]


@pytest.fixture
def packed(pack: Callable[[bytes], bytes], plain: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "base.packed"
    path.write_bytes(pack(plain))
    return path


def test_the_library(packed: Path, raw: bytes) -> None:
    assert pybtf.BTF.from_file(packed).data == raw
    assert len(pybtf.Base.from_file(packed)) == len(pybtf.Base.from_bytes(raw))
    assert read_btf(packed)[0] == bytes(read_base(packed)[0]) == raw
    assert pybtf.diff(packed, pybtf.BTF.from_bytes(raw)).changes == []


def test_a_base(packed: Path, raw: bytes, tmp_path: Path) -> None:
    """For `pybtf encode`, for `pybtf-pahole`, and for the library."""
    expected = bytes(pybtf.encode(MODULE, base=pybtf.Base.from_bytes(raw)).data)
    assert bytes(pybtf.encode(MODULE, base=packed).data) == expected
    out = tmp_path / "out"
    assert main(["encode", "-q", "--base", str(packed), "--detached", str(out), str(MODULE)]) == 0
    assert out.read_bytes() == expected
    out.unlink()
    assert pahole(["-J", "--btf_base", str(packed), f"--btf_encode_detached={out}", str(MODULE)]) == 0
    assert out.read_bytes() == bytes(pybtf.encode(MODULE, base=packed, features="").data)


def printed(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The output of a command that succeeds and prints nothing on standard error."""
    status = main([*map(str, arguments)])
    out, err = capfd.readouterr()
    assert (status, err) == (0, "")
    return out


def test_commands(packed: Path, plain: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the input and as a base, the file gives the same as when it is not compressed."""
    base, split = tmp_path / "base", tmp_path / "split.btf"
    base.write_bytes(plain)
    split.write_bytes(bytes(pybtf.encode(MODULE, base=base).data))
    for command in (["dump"], ["show"], ["size", "--by", "type"], ["duplicates"]):
        assert printed(capfd, *command, packed) == printed(capfd, *command, base)
    for command in (["dump"], ["verify", "-q"]):
        assert printed(capfd, *command, "--base", packed, split) == printed(capfd, *command, "--base", base, split)
    results = []
    for one in (packed, base):
        out = tmp_path / f"{one.name}.out"
        assert printed(capfd, "dedup", "-o", out, one, one) == ""
        results.append(out.read_bytes())
    assert results[0] == results[1]


def test_the_release_of_a_kernel(pack: Callable[[bytes], bytes], raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vmlinux"
    for data, release in ((elf([Section(".rodata", BANNER)]).data, "6.1.0-x"), (raw, None)):
        path.write_bytes(pack(bytes(data)))
        assert read_release(str(path)) == release
    path.write_bytes(path.read_bytes()[:-9])
    assert read_release(str(path)) is None


READERS = [
    pybtf.BTF.from_file,
    pybtf.Base.from_file,
    lambda path: pybtf.encode(MODULE, base=path),
    lambda path: pybtf.diff(path, path),
]


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_is_cut(read: Callable[[Path], object], packed: Path) -> None:
    packed.write_bytes(packed.read_bytes()[:-9])
    found = r"base\.packed: damaged (xz|gzip|zstd) data: .*; expected one complete compressed file"
    with pytest.raises(InputError, match=found):
        read(packed)


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_unpacks_to_too_much(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    with lzma.open(path, "wb", preset=0) as stream:
        for _ in range(2 * FREE_SIZE >> 20):
            stream.write(bytes(1 << 20))
    with pytest.raises(InputError, match=r"bomb: more than \d+ bytes after decompression of \d+; expected at most"):
        read(path)


@pytest.mark.parametrize("read", READERS)
def test_what_is_compressed_must_have_btf(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"int main;"))
    with pytest.raises(InputError, match=r"file: starts with 69 6e 74 20: a text file; expected raw BTF, or an ELF"):
        read(path)
    path.write_bytes(gzip.compress(MODULE.read_bytes()))
    with pytest.raises(InputError, match=r"no \.BTF section; expected an ELF file with BTF") as caught:
        read(path)
    assert "`pybtf encode --detached OUT " in caught.value.hint


def test_what_is_said_of_raw_btf() -> None:
    """The ELF layer has its own copy of the magic bytes."""
    assert [what_it_is(magic)[0].partition(": ")[2] for magic in MAGICS] == ["raw BTF", "raw BTF"]
