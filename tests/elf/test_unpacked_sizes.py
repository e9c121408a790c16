"""Variables at addresses that compressed debug sections cover: for sections that it has unpacked, the reference takes
the unpacked size.

The search for the section of a variable takes debug sections of a linked file to be at address 0. A shared library
begins there, too. The first section that covers an address has the variable.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

import pybtf
from tests.builders.dwarfwriter import dwarf
from tests.builders.elfwriter import SHF_COMPRESSED, Section, Symbol, elf
from tests.builders.kernelish import FLAVOURS, INT, unit, variable

LOW = FLAVOURS["x86_64"]._replace(percpu=0x800)
SIZE = 0x2000  # ends after the variable, but before it when compressed

#: Measured: whether the reference finds the variable under the debug section, and not under its own.
UNPACKED = ("abbrev", "addr", "aranges", "frame", "line", "line_str", "loc", "loclists", "macinfo", "macro", "pubnames",
            "ranges", "rnglists", "str", "str_offsets")  # fmt: skip
LEFT = ("cu_index", "tu_index", "names", "pubtypes", "gdb_scripts", "other")


def build(name: str, gnu: bool) -> bytes:
    sections = dwarf([unit([INT, variable(LOW)])]).sections
    data = sections.pop(name, b"").ljust(SIZE, b"\0")
    if gnu:
        header, title, flags = b"ZLIB" + struct.pack(">Q", SIZE), name.replace(".debug", ".zdebug"), 0
    else:
        header, title, flags = struct.pack("<I4xQQ", 1, SIZE, 1), name, SHF_COMPRESSED
    return elf(
        [
            Section(title, header + zlib.compress(data), flags=flags),
            *(Section(other, content) for other, content in sections.items()),
            Section(".v", bytes(64), flags=3, address=0x800, align=16),
        ],
        [Symbol("counter", 0x800, 4, "OBJECT", ".v")],
    ).data


@pytest.mark.parametrize("gnu", [False, True])
@pytest.mark.parametrize("name", [*UNPACKED, *LEFT])
def test_the_section_of_a_variable(name: str, gnu: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(build(f".debug_{name}", gnu))
    found = bytes(pybtf.encode(path, features="default,global_var").data)
    title = f".{'z' if gnu else ''}debug_{name}" if name in UNPACKED else ".v"
    assert found.endswith(b"\0counter\0" + title.encode() + b"\0")
