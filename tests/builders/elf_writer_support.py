"""Help for the tests of the ELF writer: small ELF files built in memory, and independent checks of a result.

The builder has its own struct formats and knows nothing of `pybtf.elf.wire`; the checks use pyelftools,
readelf and the bytes themselves.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

PROGBITS, SYMTAB, STRTAB, NOBITS, REL = 1, 2, 3, 8, 9
ALLOC, COMPRESSED = 0x2, 0x800


@dataclass
class Sec:
    """A section of `build_elf`. `size` overrides the length of `data` in the header (for SHT_NOBITS)."""

    name: str
    data: bytes = b""
    type: int = PROGBITS
    flags: int = 0
    addr: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    size: int | None = None
    entsize: int = 0


def build_elf(
    sections: list[Sec],
    *,
    is64: bool = True,
    little: bool = True,
    segments: list[tuple[int, int, int]] = (),  # type: ignore[assignment]
    etype: int = 1,
    tail: bytes = b"",
    extended: bool = False,
    **header: int,
) -> bytes:
    """An ELF file: header, program headers, data in order, section table, tail. `.shstrtab` is filled in.

    `segments` are (index of first section, index of last, extra bytes) of PT_LOAD; indexes count from 1.
    `extended`: counts in section 0, as for very many sections. `header` overrides fields of the ELF header.
    """
    order = "<" if little else ">"
    ehdr, shdr = ("HHIQQQIHHHHHH", "IIQQQQIIQQ") if is64 else ("HHIIIIIHHHHHH", "IIIIIIIIII")
    phsize, shsize, ehsize = (56, 64, 64) if is64 else (32, 40, 52)
    names = b"\0" + b"".join(s.name.encode() + b"\0" for s in sections)
    out = bytearray(ehsize + phsize * len(segments))
    rows: list[tuple[int, ...]] = [(0,) * 10]
    position, shstrndx = 1, 0
    for index, sec in enumerate(sections, 1):
        data = sec.data
        if sec.name in (".shstrtab", ".strtab"):
            data, shstrndx = names, index
        out += bytes(-len(out) % sec.align)
        size = len(data) if sec.size is None else sec.size
        row = (position, sec.type, sec.flags, sec.addr, len(out), size, sec.link, sec.info, sec.align)
        rows.append((*row, sec.entsize))
        position += len(sec.name) + 1
        out += data
    for number, (first, last, extra) in enumerate(segments):
        start, addr = rows[first][4], rows[first][3]
        size = rows[last][4] + rows[last][5] - start + extra
        if is64:
            packed = struct.pack(order + "IIQQQQQQ", 1, 5, start, addr, addr, size, size, 1)
        else:
            packed = struct.pack(order + "IIIIIIII", 1, start, addr, addr, size, size, 5, 1)
        out[ehsize + phsize * number : ehsize + phsize * (number + 1)] = packed
    out += bytes(-len(out) % 8)
    fields = {
        "type": etype, "machine": (62 if is64 else 3) if little else (22 if is64 else 8), "version": 1,
        "entry": 0, "phoff": ehsize if segments else 0, "shoff": len(out), "flags": 0, "ehsize": ehsize,
        "phentsize": phsize if segments else 0, "phnum": len(segments), "shentsize": shsize,
        "shnum": len(rows), "shstrndx": shstrndx,
    }  # fmt: skip
    if extended:
        rows[0] = (0, 0, 0, 0, 0, len(rows), shstrndx, 0, 0, 0)
        fields["shnum"], fields["shstrndx"] = 0, 0xFFFF
    fields |= header
    out += b"".join(struct.pack(order + shdr, *row) for row in rows)
    ident = b"\x7fELF" + bytes([2 if is64 else 1, 1 if little else 2, 1]) + bytes(9)
    out[:ehsize] = ident + struct.pack(order + ehdr, *fields.values())
    return bytes(out) + tail


def sections_of(content: bytes) -> list[tuple[str, dict[str, int], bytes]]:
    """Name, header and data in the file of each section, as pyelftools reads them."""
    found = []
    for section in ELFFile(io.BytesIO(content)).iter_sections():
        header = dict(section.header)
        start, size = header["sh_offset"], header["sh_size"]
        data = b"" if header["sh_type"] in ("SHT_NOBITS", "SHT_NULL") else content[start : start + size]
        found.append((section.name, header, data))
    return found


def section_data(content: bytes, name: str) -> bytes:
    """Data of the one section called `name`."""
    (data,) = [data for found, _, data in sections_of(content) if found == name]
    return data


def check_kept(old: bytes, new: bytes, *targets: str) -> None:
    """All sections but `targets` and the name table are where and what they were; likewise segments."""
    before, after = sections_of(old), sections_of(new)
    string_index = ELFFile(io.BytesIO(old)).get_shstrndx()
    assert len(after) == len(before) + len([t for t in targets if t not in [name for name, *_ in before]])
    pairs = zip(before, after, strict=False)
    for index, ((name, header, data), (new_name, new_header, new_data)) in enumerate(pairs):
        assert new_name == name
        if name in targets:
            continue
        if index == string_index:
            assert new_data.startswith(data)
            changing = {"sh_offset", "sh_size"}
            assert {k: v for k, v in new_header.items() if k not in changing} == {
                k: v for k, v in header.items() if k not in changing
            }
        elif index:
            assert (new_header, new_data) == (header, data), name
    first, second = (ELFFile(io.BytesIO(content)) for content in (old, new))
    loaded = [dict(segment.header) for segment in first.iter_segments()]
    assert [dict(segment.header) for segment in second.iter_segments()] == loaded
    for segment in loaded:
        start, end = segment["p_offset"], segment["p_offset"] + segment["p_filesz"]
        if not any(start < row["sh_offset"] + row["sh_size"] and row["sh_offset"] < end
                   for name, row, _ in before if name in targets):  # fmt: skip
            lowest = max(start, first.header["e_ehsize"])
            assert new[lowest:end] == old[lowest:end]
    changed = {"e_shoff", "e_shnum", "e_ident"}
    assert {k: v for k, v in second.header.items() if k not in changed} == {
        k: v for k, v in first.header.items() if k not in changed
    }
    assert second.header["e_ident"] == first.header["e_ident"]


def run(*command: str | Path) -> str:
    """Standard output of a command that must succeed and say nothing on standard error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{command}: {done.returncode} {done.stderr}"
    return done.stdout


def need(*tools: str) -> None:
    """Skip the test, with a reason, unless all `tools` are installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def environment() -> dict[str, str]:
    """The environment for a child that imports what this process can, in whatever folder it runs."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(part).resolve()) for part in sys.path)}


def python(script: str, *arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """Start a Python program with `arguments`, its output in pipes."""
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), **options,
    )  # fmt: skip
