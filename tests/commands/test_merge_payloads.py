"""Where the values of an object are in its section: the first, as in nearly all objects, or one of several."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from pybtf.core.elf.function_table import FunctionTable
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from pybtf.loaded import LoadedFile
from pybtf.merging.payloads import Payloads
from pybtf.merging.pieces import PAYLOAD, RULES, Piece, digest, pack_payload
from tests.builders.elfwriter import Section, bare, elf


def piece_of(values: bytes, path: Path) -> Piece:
    return Piece(0, 1, 0, RULES, digest(values), digest(), len(values), 8, str(path), (), array("Q"))


def written(path: Path, contents: bytes, *, bits: int = 64, little: bool = True) -> None:
    sections = [Section(".text", bytes(16)), Section(PAYLOAD, contents), Section(".data", bytes(8))]
    path.write_bytes(elf(sections, bits=bits, little=little, type="ET_REL").data)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_each_of_several(bits: int, little: bool, tmp_path: Path) -> None:
    """An object that `ld -r` has made of several has the values of all of them."""
    path = tmp_path / "a.o"
    several = (b"first", b"the second", b"")
    written(path, b"".join([pack_payload(each, little=little) for each in several]), bits=bits, little=little)
    for values in several:
        found, where = Payloads()(piece_of(values, path), "linked", None)
        assert (bytes(found), where) == (values, str(path))
    with pytest.raises(InputError, match="not those of the object that was linked"):
        Payloads()(piece_of(b"other", path), "linked", None)


def test_values_that_end_behind_their_section(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    whole = pack_payload(b"twenty-four bytes, or so", little=True)
    written(path, whole[:-8])
    with pytest.raises(InputError, match="a payload of 24 bytes"):
        Payloads()(piece_of(b"twenty-four bytes, or so", path), "linked", None)


def test_values_with_a_digest_of_others(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    written(path, pack_payload(b"twenty-four bytes, or so", little=True).replace(b"four", b"five"))
    with pytest.raises(InputError, match="are not those that were linked"):
        Payloads()(piece_of(b"twenty-four bytes, or so", path), "linked", None)


def test_an_object_beside_the_linked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is as the build had it, which may have been in another folder."""
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "build" / "a.o", pack_payload(b"values", little=True))
    piece = piece_of(b"values", Path("a.o"))
    found, where = Payloads()(piece, "build/linked", None)
    assert (bytes(found), where) == (b"values", "build/a.o")


@pytest.mark.parametrize(
    ("there", "from_", "wanted"),
    [
        (["a.o", "build/a.o"], "build/linked", "a.o"),
        (["build/a.o"], "build/linked", "build/a.o"),
        (["other"], "build/linked", "a.o"),
        (["a.o"], "linked", "a.o"),
    ],
)
def test_where_workers_look_first(
    there: list[str], from_: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the first object is, or else where they all should be."""
    monkeypatch.chdir(tmp_path)
    Path("build").mkdir()
    for path in there:
        Path(path).touch()
    with ElfImage(from_, bare([Section(".symtab", b"")])) as image:
        linked = LoadedFile(image, memoryview(b""), DebugSections(image), FunctionTable(), None)
        given = Payloads().given(linked, [piece_of(b"values", Path("a.o"))] * 2, None)
    pieces = list(given.pieces)
    assert [piece.path for piece in pieces] == [wanted.encode()] * 2
    assert given.paths == [wanted] * 2
