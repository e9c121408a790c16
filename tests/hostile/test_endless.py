"""Endless files: a device in place of BTF is recognised by its first bytes, and lists have a limit."""

from __future__ import annotations

import io
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import pybtf
from pybtf import inputs
from pybtf.differences.select import read_patterns
from pybtf.errors import InputError
from pybtf.inputs import read_list
from pybtf.reproduce.lockfile import read_lock
from tests.conftest import ROOT, environment

ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
MEMORY = 2 << 30
UNLIKE = "starts with 00 00 00 00; expected raw BTF, or an ELF file with BTF, or one of them compressed"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("elf").write_bytes(ELF.read_bytes())
    Path("x.btf").write_bytes(bytes(pybtf.encode(ELF).data))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        *((f"{line} {file}", UNLIKE) for file in ("/dev/zero", "-") for line in (
            "dump", "show", "size", "duplicates", "diff x.btf", "dump x.btf --base", "diff x.btf x.btf --old-base",
            "dedup -o out", "decode int elf --btf", "verify --btf-ids elf --btf",
        )),
        ("verify -", UNLIKE),
        ("encode --from-list /dev/zero", "cannot be read: more than 64 MiB; expected a list of files"),
        ("encode --from-list -", "cannot be read: more than 64 MiB; expected a list of files"),
        ("object --from-list /dev/zero", "cannot be read: more than 64 MiB; expected a list of files"),
        ("merge --detached out --objects /dev/zero elf", "cannot be read: more than 64 MiB; expected a list of files"),
        ("diff --ignore /dev/zero x.btf x.btf", "cannot be read: more than 64 MiB; expected a list of patterns"),
        (
            "reproduce --lock /dev/full elf",
            "cannot be read: more than 64 MiB; expected a lock file of pybtf reproduce",
        ),
    ],
)  # fmt: skip
def test_a_device_that_never_ends(line: str, message: str) -> None:
    with open("/dev/zero", "rb") as zero:
        done = subprocess.run(
            [sys.executable, "-m", "pybtf", *line.split()], stdin=zero, capture_output=True, text=True, check=False,
            env=environment(), timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )  # fmt: skip
    name = next((word for word in line.split() if word.startswith("/dev/")), "standard input")
    assert done.returncode == 1
    assert done.stderr.replace("error: -:", "error: standard input:") == f"pybtf: error: {name}: {message}\n"
    assert not Path("out").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("over", [0, 1])
def test_lists_at_their_limit(monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    monkeypatch.setattr(inputs, "_PIECE", 10)
    monkeypatch.setattr(inputs, "LIMIT", 1 << 20)
    path = Path("list")
    path.write_bytes(b"a\n" + b"\n" * ((1 << 20) - 2 + over))
    if over:
        for read in (read_list, read_patterns, read_lock):
            with pytest.raises(InputError, match="more than 1 MiB"):
                read("list")
    else:
        assert read_list("list") == ["a"]
        assert len(read_patterns("list")) == 1
        with pytest.raises(InputError, match="not JSON"):
            read_lock("list")


def test_what_comes_in_pieces_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_PIECE", 3)
    assert inputs.read_bounded(io.BytesIO(b"something")) == b"something"


@pytest.mark.usefixtures("folder")
def test_standard_input_that_begins_well_is_read_whole() -> None:
    for packed in (False, True):
        data = Path("x.btf").read_bytes()
        if packed:
            import gzip

            data = gzip.compress(data)
        for command in (["dump", "-"], ["verify", "-"]):
            argv = [sys.executable, "-m", "pybtf", *command]
            assert subprocess.run(argv, input=data, capture_output=True, env=environment(), check=True).stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("reader", ["dump", "open"])
def test_btf_from_a_pipe_ends_where_its_header_says(reader: str, long: bool) -> None:
    data = Path("x.btf").read_bytes()
    if long:  # a header with a layout section that is missing
        types, strings = struct.unpack_from("<II", data, 12)[0], data[24:]
        data = data[:4] + struct.pack("<IIIII", 32, 0, types, types, len(strings) - types) + bytes(8) + strings
    code = "import pybtf; print(len(pybtf.BTF.from_file('/dev/stdin').data))"
    argv = [sys.executable, *(["-m", "pybtf", "dump", "/dev/stdin"] if reader == "dump" else ["-c", code])]
    for more in (b"", b"\0"):
        done = subprocess.run(argv, input=data + more, capture_output=True, env=environment(), check=False)
        assert (done.returncode == 0) == (not more)
        assert more == b"" or b"/dev/stdin: goes on where its BTF ends; expected BTF" in done.stderr
