"""Notes: read as pyelftools reads them, and never an error."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from pybtf.elf.image import ElfImage
from pybtf.elf.notes import build_id, notes
from tests.builders.elfwriter import Section, bare, note


@pytest.mark.parametrize("little", [True, False])
def test_notes(little: bool) -> None:
    linux = note(b"Linux", 0x101, b"\1\0\0\0", little=little)
    xen = note(b"Xen", 6, b"abcde", little=little)
    sections = [
        Section(".note.Linux", linux + xen, type="NOTE"),
        Section(".not.a.note", note(b"no", 1, b"", little=little)),
        Section(".note.gnu.build-id", note(b"GNU", 3, b"\xab" * 20, little=little), type="NOTE"),
    ]
    image = ElfImage("t.o", bare(sections, little=little))
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
            if isinstance(section, NoteSection)
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
        Section(".note.a", note(b"A", 1, b"") + damage, type="NOTE"),
        Section(".note.b", note(b"B", 2, b""), type="NOTE"),
        Section(".note.c", type="NOTE", size=1 << 40),
    ]
    image = ElfImage("t.o", bare(sections))
    assert list(notes(image)) == [(b"A", 1, b""), (b"B", 2, b"")]
    assert build_id(image) is None
