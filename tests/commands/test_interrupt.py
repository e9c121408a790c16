"""Ctrl-C while the core is busy, and an input that is truncated while it is mapped.

The children run the real command line with another `encode_file`, so that the moment is known."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pybtf.elf.image import Source
from tests.builders.elfwriter import Section, elf
from tests.conftest import ROOT, environment

CHILD = """
import hashlib, mmap, os, signal, sys, time
import pybtf.pipeline.passes
from pybtf.cli.main import main
from pybtf.elf.atomic import Replacement

signal.signal(signal.SIGINT, signal.default_int_handler)

def busy():
    hashlib.pbkdf2_hmac("sha256", b"", b"", (1 << 31) - 1)  # minutes without the interpreter, as in the core

def named():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 3_000_000)

def waiting():
    time.sleep(600)

def truncated():
    with open(sys.argv[2], "r+b") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.truncate(file.fileno(), 0)
        data[-1]

def killed():
    os.kill(os.getpid(), signal.SIGBUS)

def encode_file(*_):
    Replacement.named += sys.argv[1] == "named"  # a file that is being written would be left behind
    try:
        print("ready", flush=True)
        globals()[sys.argv[1]]()
    finally:
        print("left", flush=True)

pybtf.pipeline.passes.encode_file = encode_file
sys.exit(main(["encode", sys.argv[2]]))
"""


def child(what: str, file: Path) -> subprocess.Popen[str]:
    file.write_bytes(bytes(10_000))
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, what, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("what", ["busy", "waiting"])
def test_interrupt(what: str, tmp_path: Path) -> None:
    """It takes a quarter of a second; the test allows for a busy machine."""
    process = child(what, tmp_path / "a.elf")
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "pybtf: error: interrupted\n"


def test_an_interrupt_waits_for_a_file_with_a_temporary_name(tmp_path: Path) -> None:
    """It takes some seconds in the core."""
    process = child("named", tmp_path / "a.elf")
    time.sleep(0.3)  # by now it is probably in the core
    os.kill(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "left\n")
    assert said == "pybtf: error: interrupted\n"


def test_an_interrupt_while_a_file_is_closed(tmp_path: Path) -> None:
    """The argument is freed between the signal and Python's next check: in a `__del__` the exception would be lost."""
    (tmp_path / "a.elf").write_bytes(b"x")
    with pytest.raises(KeyboardInterrupt):
        getattr(ctypes.CDLL(None), "raise")(signal.SIGINT, ctypes.py_object(Source(str(tmp_path / "a.elf"))))


def test_truncated_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "a\nb.elf"
    process = child("truncated", file)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    name = str(file).replace("\n", "\\n")
    assert said.startswith(f"pybtf: error: {name}: ")
    assert "truncated" in said
    assert said.count("\n") == 1


TRUNCATES = """
import mmap, os, sys
from importlib import import_module

def truncated(*_, **__):
    with open(sys.argv[1], "r+b") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.truncate(file.fileno(), 0)
        data[-1]

setattr(import_module(sys.argv[2]), sys.argv[3], truncated)
sys.exit(import_module(sys.argv[4]).main(sys.argv[5:]))
"""


@pytest.mark.parametrize(
    ("where", "command"),
    [
        ("pybtf.merging.encoding encode_any", "pybtf.cli.main object file"),
        ("pybtf.merging.encoding encode_compiled", "pybtf.cli.main cc -- true -c file.c -o file"),
        ("pybtf.explain.asking inquire", "pybtf.cli.main why f file"),
        ("pybtf.cli.verify_ids verify_ids", "pybtf.cli.main verify --btf-ids file"),
        ("pybtf.cli.verify_fix verify_fix", "pybtf.cli.main verify --fix out file"),
        ("pybtf.pahole.run _encode", "pybtf.pahole.main -J file"),
        ("pybtf.pipeline.passes encode_file", "pybtf.cli.main show file"),
        ("pybtf.pipeline.passes encode_file", "pybtf.cli.main decode --btf file int file"),
        ("pybtf.explain.detail encode_in_detail", "pybtf.cli.main size --by unit --dwarf file x.btf"),
        ("pybtf.api encode", "pybtf.cli.main diff --dwarf file x.btf"),
        ("pybtf.pipeline.companions companions", "pybtf.cli.main dump -o out file"),
    ],
)
def test_truncated_while_another_command_reads_it(where: str, command: str, tmp_path: Path) -> None:
    """The commands must not die of the signal."""
    data = elf([Section(".debug_info", bytes(10_000))]).data
    for name in ("file", "out"):
        (tmp_path / name).write_bytes(data)
    shutil.copy(ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf", tmp_path / "x.btf")
    arguments = ["file", *where.split(), *command.split()]
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATES, *arguments],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    program = "pybtf-pahole" if "pahole" in command else "pybtf"
    name = "a file" if "verify" in command or "dump" in command else "file:"
    words = f"{program}: error: {name} can no longer be read: it was truncated meanwhile, or its disk fails\n"
    assert (done.returncode, done.stderr) == (1, words)


def test_another_bus_error(tmp_path: Path) -> None:
    """A bus error that has nothing to do with the input is not blamed on it."""
    process = child("killed", tmp_path / "a.elf")
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGBUS
    assert said == ""
