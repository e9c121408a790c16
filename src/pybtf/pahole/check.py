"""`pybtf-pahole --check`: does this installation encode? For build scripts, before they configure a kernel.

A kernel's build asks for the version and takes silence for "no pahole": it goes on, and drops BTF from its
configuration without a word. An installation whose interpreter is gone (a virtual environment that was moved) is
silent in this way. `--check` ends with a status, and goes all the way: interpreter, core, reading, writing.
"""

from __future__ import annotations

import os
import struct
import sys

from pybtf.cli import console
from pybtf.errors import InternalError
from pybtf.pahole.main import PROGRAM
from pybtf.support.process import write_stdout

BTF = bytes.fromhex(
    "9feb0100 18000000 00000000 10000000 10000000 05000000"  # the header
    "01000000 00000001 04000000 20000001 00696e7400"  # the type and its name
)
"""What pahole 1.32 makes of `example()`."""


def example() -> bytes:
    """A small x86-64 object file: one compilation unit, with the type `int`."""
    abbreviations = bytes([1, 0x11, 1, 0x13, 0x0B, 0, 0, 2, 0x24, 0, 0x0B, 0x0B, 0x3E, 0x0B, 0x03, 0x08, 0, 0, 0])
    dies = bytes([1, 0x0C, 2, 4, 5]) + b"int\0\0"
    unit = struct.pack("<IHIB", len(dies) + 7, 4, 0, 8) + dies
    names = b"\0.debug_abbrev\0.debug_info\0.symtab\0.shstrtab\0"
    symbols = bytes(24)
    content = b""
    table = bytes(64)
    for name, kind, link, entry, data in (
        (1, 1, 0, 0, abbreviations),
        (15, 1, 0, 0, unit),
        (27, 2, 4, len(symbols), symbols),
        (35, 3, 0, 0, names),
    ):
        content += bytes(-len(content) % 8)
        table += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, 64 + len(content), len(data), link, 0, 8, entry)
        content += data
    content += bytes(-len(content) % 8)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, 62, 1, 0, 0, 64 + len(content), 0, 64, 0, 0, 64, 5, 4)
    return header + content + table


def check() -> int:
    """Encode the example and compare; 0 and a line that says so. Raises `InternalError`."""
    from pybtf.elf.image import ElfImage
    from pybtf.features import Features
    from pybtf.options import make_options
    from pybtf.pahole.main import VERSION, claimed_version
    from pybtf.pipeline.passes import Task, encode_images
    from pybtf.report import Report

    name = "the example of --check"
    options = make_options(Features(), 1)
    with ElfImage(name, example()) as image:
        made = bytes(encode_images([image], Task(options, Report(name))).data)
    if made != BTF:
        raise InternalError(f"--check: the example became {made.hex()}, not {BTF.hex()}")
    claim = claimed_version()
    if claim != VERSION:
        console.warning(f"PYBTF_PAHOLE_VERSION is set: builds are told {claim}", PROGRAM)
    here = os.path.dirname(__file__)  # noqa: PTH120
    write_stdout(f"{PROGRAM} encodes as pahole {VERSION}; {sys.executable}, {here}\n")
    return 0
