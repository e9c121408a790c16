"""What `pybtf object` does with objects that already have values: nothing, new values, or an error."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pybtf.elf.image import ElfImage
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging import encoding
from pybtf.merging.archives import REGULAR, members
from pybtf.merging.encoding import CURRENT, DONE, NOTHING, _needless, encode_any, encode_compiled, encode_object
from pybtf.merging.index import find_index, index_of
from pybtf.merging.payloads import Payloads
from pybtf.merging.pieces import RULES, payload_digest, stored_path
from pybtf.merging.placing import Placing
from tests.builders.dwarfwriter import die
from tests.builders.elfwriter import Section, bare
from tests.builders.kernelish import kernel, relocatable, unit
from tests.commands.test_merge_archives import head

FEATURES = Features.parse("default")
NUMBER = die("base_type", ("name", "string", "number"), ("byte_size", "data1", 4), ("encoding", "data1", 5))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An object with one unit and one type."""
    path = tmp_path / "one.o"
    path.write_bytes(relocatable([unit([NUMBER])]).data)
    return path


def encode(path: Path, how: Placing | None = None, features: Features = FEATURES) -> str:
    return encode_object(str(path), features, how or Placing()).what


def test_values_that_are_to_be_elsewhere_are_made_anew(path: Path, tmp_path: Path) -> None:
    store = Placing(store=str(tmp_path / "store"))
    other = Placing(store=str(tmp_path / "other"))
    for how in (Placing(), Placing(inline=True), store, other, Placing(inline=True), Placing(), store, Placing()):
        assert encode(path, how) == DONE
        before = path.read_bytes()
        assert encode(path, how) == CURRENT
        assert path.read_bytes() == before
        with ElfImage.open(path) as image:
            section = find_index(image)
            assert section is not None
            (piece,) = index_of(image, section)
        wanted = "linked" if how.inline else str(path)
        if how.store is not None:
            wanted = stored_path(how.store, piece.payload_digest)
        found, where = Payloads()(piece, "linked", how.store)
        assert (payload_digest(found), where) == (piece.payload_digest, wanted)
    assert encode(path, Placing(strip=True)) == DONE
    assert encode(path) == CURRENT


def test_values_of_other_dwarf_or_rules_are_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert encode(path) == DONE
    path.write_bytes(path.read_bytes().replace(b"number\0", b"NUMBER\0"))
    assert encode(path) == DONE
    assert encode(path) == CURRENT
    assert encode(path, features=Features.parse("var")) == DONE
    assert encode(path) == DONE
    monkeypatch.setattr(encoding, "RULES", RULES + 1)
    assert encode(path) == DONE


def test_values_without_dwarf_cannot_be_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert encode(path, Placing(strip=True, inline=True)) == DONE
    before = path.read_bytes()
    assert encode(path, Placing(inline=True)) == CURRENT
    with pytest.raises(InputError, match="values made with other features"):
        encode(path, features=Features.parse("var"))
    with pytest.raises(InputError, match=r"values in \.debug_btf, and no DWARF to make others of"):
        encode(path, Placing(section=".other"))
    monkeypatch.setattr(encoding, "RULES", RULES + 1)
    with pytest.raises(InputError, match="by another version of pybtf, and no DWARF"):
        encode(path)
    assert path.read_bytes() == before


def with_two_pieces(path: Path, flags: int) -> None:
    """As if `ld -r` had joined two objects, the second of which has these flags. Each has an inline payload."""
    assert encode(path, Placing(inline=True)) == DONE
    with ElfImage.open(path) as image:
        section = find_index(image)
        assert section is not None
        piece = bytearray(image.data(section))
        sections = [Section(each.name, bytes(image.data(each))) for each in image.sections[1:] if "debug" in each.name]
    second = bytearray(piece)
    (word,) = struct.unpack_from("<I", second, 12)
    struct.pack_into("<I", second, 12, word | flags)
    contents = [each._replace(data=bytes(piece + second)) if each.name == section.name else each for each in sections]
    path.write_bytes(bare(contents))


def test_one_of_two_without_dwarf(path: Path) -> None:
    with_two_pieces(path, STRIPPED)
    with pytest.raises(InputError, match="values of objects without DWARF, and DWARF of others"):
        encode(path)


def test_two_become_one(path: Path) -> None:
    with_two_pieces(path, 0)
    with ElfImage.open(path) as image:
        assert _needless(image, FEATURES, Placing(inline=True)) is None


def test_several_indexes_are_an_error(path: Path) -> None:
    assert encode(path, Placing(inline=True)) == DONE
    with ElfImage.open(path) as image:
        section = find_index(image)
        assert section is not None
        data = bytes(image.data(section))
    with (
        ElfImage("x", bare([Section(".debug_one", data), Section(".debug_two", data)])) as image,
        pytest.raises(InputError, match=r"values of objects under several names \(\.debug_one, \.debug_two\)"),
    ):
        find_index(image)


def test_what_a_compiler_makes_that_is_no_object(path: Path, tmp_path: Path) -> None:
    for name, content in (("text", b"text"), ("program", kernel().data), ("empty.o", bare([Section(".text", b"x")]))):
        other = tmp_path / name
        other.write_bytes(content)
        encode_compiled(str(other), FEATURES, Placing())
        assert other.read_bytes() == content
    encode_compiled(str(path), FEATURES, Placing())
    assert encode(path) == CURRENT


def test_members_of_which_some_have_dwarf(path: Path, tmp_path: Path) -> None:
    """The other members stay as they are."""
    plain, made = bare([Section(".text", b"x")]), path.read_bytes()
    archive = tmp_path / "x.a"
    contents = (plain, made, plain)
    archive.write_bytes(
        REGULAR + b"".join(head("a/", len(each)) + each + b"\n" * (len(each) % 2) for each in contents)
    )
    outcomes = encode_any(str(archive), FEATURES, Placing())
    assert [(each.what, each.one_unit) for each in outcomes] == [(NOTHING, False), (DONE, False), (NOTHING, False)]
    data = archive.read_bytes()
    there = [data[each.start : each.start + each.size] for each in members("x.a", data)]
    assert (there[0], there[2]) == (plain, plain)
    assert [len(each) for each in there] == [each.after for each in outcomes]
