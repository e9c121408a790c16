"""Notes: read as pyelftools reads them, and never an error."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pybtf.elf.image import ElfImage
from pybtf.elf.notes import build_id, notes
from tests.builders.tinyelf import Sec, elf


def note(owner: bytes, kind: int, desc: bytes, order: str = "<") -> bytes:
    name = owner + b"\0"
    return (
        struct.pack(f"{order}III", len(name), len(desc), kind)
        + name.ljust(-(-len(name) // 4) * 4, b"\0")
        + desc.ljust(-(-len(desc) // 4) * 4, b"\0")
    )


@pytest.mark.parametrize("little", [True, False])
def test_notes(little: bool) -> None:
    order = "<" if little else ">"
    sections = [
        Sec(".note.Linux", 7, note(b"Linux", 0x101, b"\1\0\0\0", order) + note(b"Xen", 6, b"abcde", order)),
        Sec(".not.a.note", 1, note(b"no", 1, b"", order)),
        Sec(".note.gnu.build-id", 7, note(b"GNU", 3, b"\xab" * 20, order)),
    ]
    image = ElfImage("t.o", elf(sections, little=little))
    assert list(notes(image)) == [
        (b"Linux", 0x101, b"\1\0\0\0"),
        (b"Xen", 6, b"abcde"),
        (b"GNU", 3, b"\xab" * 20),
    ]
    assert build_id(image) == b"\xab" * 20


def test_a_linked_program_is_read_as_pyelftools_does(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-Wl,--build-id", "main.c", "-o", "a.out"], cwd=tmp_path, check=True)
    with ElfImage.open(tmp_path / "a.out") as image:
        ours = list(notes(image))
        identity = build_id(image)
    with open(tmp_path / "a.out", "rb") as stream:
        theirs = [
            (note["n_name"], note["n_descsz"], note["n_type"], note["n_desc"])
            for section in ELFFile(stream).iter_sections()
            if section["sh_type"] == "SHT_NOTE"
            for note in section.iter_notes()
        ]
    assert [(owner.decode(), len(desc)) for owner, _, desc in ours] == [n[:2] for n in theirs]
    assert identity is not None
    assert identity.hex() in [n[3] for n in theirs if n[2] == "NT_GNU_BUILD_ID"]


@pytest.mark.parametrize(
    "damage",
    [
        b"\4\0\0\0",
        struct.pack("<III", 0xFFFFFFFF, 4, 1) + b"GNU\0",
        struct.pack("<III", 4, 0xFFFFFFFF, 3) + b"GNU\0",
        struct.pack("<III", 4, 8, 3) + b"GNU\0" + b"abc",
    ],
)
def test_a_damaged_note_ends_its_section_only(damage: bytes) -> None:
    sections = [
        Sec(".note.a", 7, note(b"A", 1, b"") + damage),
        Sec(".note.b", 7, note(b"B", 2, b"")),
        Sec(".note.c", 7, b"", size=1 << 40),
    ]
    image = ElfImage("t.o", elf(sections))
    assert list(notes(image)) == [(b"A", 1, b""), (b"B", 2, b"")]
    assert build_id(image) is None
