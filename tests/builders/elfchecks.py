"""Checks of written ELF files, with pyelftools, with other programs, and by their bytes."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, TypeVar

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

S = TypeVar("S", bound=Section)


def section(file: ELFFile, name: str, kind: type[S]) -> S:
    """The section called `name`, as pyelftools reads it; it must be of this kind."""
    found = file.get_section_by_name(name)
    assert isinstance(found, kind), f"{name}: {found}"
    return found


def sections_of(content: bytes) -> list[tuple[str, dict[str, Any], bytes]]:
    """The name, header and data of each section, as pyelftools reads them."""
    found = []
    for section in ELFFile(io.BytesIO(content)).iter_sections():
        header = dict(section.header)
        start, size = header["sh_offset"], header["sh_size"]
        data = b"" if header["sh_type"] in ("SHT_NOBITS", "SHT_NULL") else content[start : start + size]
        found.append((section.name, header, data))
    return found


def section_data(content: bytes, name: str) -> bytes:
    """The data of the only section called `name`."""
    (data,) = [data for found, _, data in sections_of(content) if found == name]
    return data


def check_kept(old: bytes, new: bytes, *targets: str) -> None:
    """Checks that all sections but `targets` and the name table are where and what they were; likewise the segments."""
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
    """Standard output of a command that must succeed and print nothing on standard error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{command}: {done.returncode} {done.stderr}"
    return done.stdout


def need(*tools: str) -> None:
    """Skips the test, with a reason, unless all `tools` are installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def environment() -> dict[str, str]:
    """The environment for a child that can import the same as this process, from any folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(part).resolve()) for part in sys.path)}


def python(script: str, *arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """Starts a Python program with `arguments` and with its output in pipes."""
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), **options,
    )  # fmt: skip
