"""Where the values of an object are in its section (mostly first, or among several), and where the object is."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from array import array
from pathlib import Path

import pytest

import pybtf
from pybtf.core.elf.function_table import FunctionTable
from pybtf.dwarf.roots import COMP_DIR
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.image import ElfImage
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError, Place
from pybtf.features import Features
from pybtf.merging.encoding import CURRENT, DONE, encode_object
from pybtf.merging.index import find_index
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.payloads import Payloads, _is_called, listed
from pybtf.merging.pieces import INLINE, PAYLOAD, RULES, Piece, pack_payload, payload_digest, payloads, stored_path
from pybtf.merging.placing import Placing
from pybtf.merging.unit_folders import _texts, unit_folders, unit_names
from pybtf.options import make_options
from pybtf.pipeline.loaded import LoadedFile
from tests.builders.elfchecks import need, run
from tests.builders.elfwriter import Section, bare, elf
from tests.conftest import ROOT


def piece_of(values: bytes, path: Path) -> Piece:
    return Piece(0, 1, 0, RULES, payload_digest(values), bytes(16), len(values), 8, str(path), (), array("Q"))


def written(path: Path, contents: bytes, *, bits: int = 64, little: bool = True) -> None:
    sections = [Section(".text", bytes(16)), Section(PAYLOAD, contents), Section(".data", bytes(8))]
    path.write_bytes(elf(sections, bits=bits, little=little, type="ET_REL").data)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_each_of_several(bits: int, little: bool, tmp_path: Path) -> None:
    """An object that `ld -r` makes from several has the values of all of them."""
    path = tmp_path / "a.o"
    several = (b"first", b"the second", b"")
    written(path, b"".join([pack_payload(each, little=little) for each in several]), bits=bits, little=little)
    for values in several:
        found, where = Payloads()(piece_of(values, path), "linked", None)
        assert (bytes(found), where) == (values, str(path))
    with pytest.raises(InputError, match="values of another object; expected those of the object that was linked"):
        Payloads()(piece_of(b"other", path), "linked", None)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
def test_values_in_the_old_kind_of_compressed_section(bits: int, little: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    values = pack_payload(b"values" * 99, little=little)
    packed = b"ZLIB" + len(values).to_bytes(8, "big") + zlib.compress(values)
    path.write_bytes(elf([Section(".zdebug_btf_values", packed)], bits=bits, little=little, type="ET_REL").data)
    found, where = Payloads()(piece_of(b"values" * 99, path), "linked", None)
    assert (bytes(found), where) == (b"values" * 99, str(path))


def test_objects_that_objcopy_has_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `zlib-gnu`, this renames the values. The objects need no new values, and a store gets the existing ones."""
    need("gcc", "objcopy", "ld")
    monkeypatch.chdir(tmp_path)
    source = "".join(f"struct s{number} {{ int a[{number}]; }} v{number};" for number in range(1, 200))
    Path("a.c").write_text(source + "int f(void) { return 0; }")
    run("gcc", "-g", "-O1", "-c", "a.c")
    run("ld", "-e", "f", "-o", "whole", "a.o")
    encode_object("a.o", Features.parse(), Placing(strip=True))
    run("objcopy", "--compress-debug-sections=zlib-gnu", "a.o")
    with ElfImage.open("a.o") as image:
        assert image.section(".zdebug_btf_values") is not None
        index = find_index(image)
        assert index is not None
    run("ld", "-e", "f", "-o", "linked", "a.o")
    found = merge_file("linked", make_options("default", 1), Sources())
    assert bytes(found.data) == bytes(pybtf.encode("whole", jobs=1).data)
    assert encode_object("a.o", Features.parse(), Placing(store="store", section=index.name)).what == CURRENT
    assert len([path for path in Path("store").rglob("*") if path.is_file()]) == 1


def test_values_again_for_an_object_that_objcopy_has_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `zlib-gnu`, the index is renamed, too. It is the same index, and a new one replaces it."""
    need("gcc", "objcopy", "ld")
    monkeypatch.chdir(tmp_path)
    source = "".join(f"struct s{number} {{ int a[{number}]; }} v{number};" for number in range(1, 200))
    Path("a.c").write_text(source + "".join(f"int f{number}(void) {{ return {number}; }}" for number in range(99)))
    run("gcc", "-g", "-O1", "-c", "a.c")
    encode_object("a.o", Features.parse(), Placing())
    run("objcopy", "--compress-debug-sections=zlib-gnu", "a.o")
    with ElfImage.open("a.o") as image:
        assert {".zdebug_info", ".zdebug_btf", ".zdebug_btf_values"} < {section.name for section in image.sections}
    assert encode_object("a.o", Features.parse(), Placing()).what == CURRENT
    assert encode_object("a.o", Features.parse("all"), Placing()).what == DONE
    with ElfImage.open("a.o") as image:
        ours = [section.name for section in image.sections if section.type and "_btf" in section.name]
    assert ours == [".debug_btf", ".rela.debug_btf", ".debug_btf_values"]
    run("ld", "-e", "f1", "-o", "linked", "a.o")
    found = merge_file("linked", make_options("all", 1), Sources(("a.o",)))
    assert bytes(found.data) == bytes(pybtf.encode("linked", features="all", jobs=1).data)


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
    """Its name is the one that the build used, perhaps in another folder."""
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
    """In the place of the first object, or else where they all should be."""
    monkeypatch.chdir(tmp_path)
    Path("build").mkdir()
    for path in there:
        Path(path).touch()
    with ElfImage(from_, bare([Section(".symtab", b"")])) as image:
        linked = LoadedFile(image, memoryview(b""), DebugSections(image), FunctionTable(), None)
        given = Payloads().unit_values(linked, [piece_of(b"values", Path("a.o"))] * 2, None)
    pieces = list(given.pieces)
    assert [piece.path for piece in pieces] == [wanted.encode()] * 2
    assert given.paths == [wanted] * 2


@pytest.mark.parametrize("first", [pack_payload(b"others", little=True), b"damaged", None])
def test_another_object_of_the_name_is_passed_over(
    first: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has other values, or damaged ones, or is not an object."""
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    if first is None:
        Path("a.o").write_bytes(b"text")
    else:
        written(Path("a.o"), first)
    written(Path("build/a.o"), pack_payload(b"values", little=True))
    found, where = Payloads()(piece_of(b"values", Path("a.o")), "build/linked", None)
    assert (bytes(found), where) == (b"values", "build/a.o")


@pytest.mark.parametrize("store", ["nosuch", "file"])
def test_a_store_that_is_no_folder_is_harmless_if_the_values_are_elsewhere(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    piece = piece_of(b"values", Path("a.o"))
    with pytest.raises(InputError, match=rf"{store}/[^ ]* \(there is no folder {store}\), a\.o\."):
        Payloads()(piece, "linked", store)
    written(Path("a.o"), pack_payload(b"values", little=True))
    found, where = Payloads()(piece, "linked", store)
    assert (bytes(found), where) == (b"values", "a.o")


def test_the_message_says_where_values_were_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    piece = piece_of(b"values", Path("a.o"))
    with pytest.raises(InputError, match="its values are not to be found") as caught:
        Payloads()(piece, "build/linked", "store")
    kept = stored_path("store", piece.payload_digest)
    assert f"Looked for it as {kept} (there is no folder store), a.o, build/a.o. " in str(caught.value)
    Path("store").mkdir()
    with pytest.raises(InputError, match="its values are not to be found") as caught:
        Payloads()(piece, "build/linked", "store")
    assert f"Looked for it as {kept}, a.o, build/a.o. If the object is elsewhere" in str(caught.value)
    for advice in ("--objects LIST", "--store DIR", "--inline"):
        assert advice in str(caught.value)
    written(Path("a.o"), pack_payload(b"others", little=True))
    Path("other").mkdir()
    written(Path("other/ba.o"), pack_payload(b"of another name", little=True))
    known = Payloads()
    known.take(["other/ba.o"])
    with pytest.raises(InputError, match=r"not to be found: there is a\.o, with values of another object") as caught:
        known(piece, "build/linked", None)
    assert "Looked for it as a.o, build/a.o. If it was compiled anew since the link, link again" in str(caught.value)


def test_the_message_names_some_objects_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names three of them, and no place where the object was looked for if it has no name."""
    monkeypatch.chdir(tmp_path)
    known = Payloads()
    for number in range(4):
        Path(str(number)).mkdir()
        written(Path(f"{number}/a.o"), pack_payload(b"%d" % number, little=True))
        known.take([f"{number}/a.o"])
    with pytest.raises(InputError, match=r"there are 0/a\.o, 1/a\.o, 2/a\.o, \.\.\., with values of another"):
        known(piece_of(b"values", Path("a.o")), "linked", None)
    with pytest.raises(InputError, match=r"^an object: its values are not to be found; .*\. If the object") as caught:
        known(piece_of(b"values", Path("a.o"))._replace(path=""), "build/linked", None)
    assert "Looked for it" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "name", "wanted"),
    [
        ("a.o", "a.o", True), ("d/a.o", "a.o", True), ("ba.o", "a.o", False), ("d/a.o", "e/a.o", False),
        ("x.a(a.o)", "a.o", True), ("x.a(a.o)", "d/a.o", True), ("x.a(ba.o)", "a.o", False),
        ("d/x.a(b.o)", "x.a", True), ("a.o(", "a.o", False),
    ],
)  # fmt: skip
def test_what_is_called_so(path: str, name: str, wanted: bool) -> None:
    assert _is_called(path, name) == wanted


def test_an_object_without_code_is_not_told(tmp_path: Path) -> None:
    known = Payloads()
    for name, sections in (
        ("data.o", [Section(".data", b"x", flags=3)]),
        ("empty.o", [Section(".text", b"", flags=6)]),
        ("code.o", [Section(".text", b"x", flags=6)]),
    ):
        (tmp_path / name).write_bytes(bare(sections))
        known.take([str(tmp_path / name)])
    assert known.without == [str(tmp_path / "code.o")]


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"there is no folder .*/file"):
        Payloads()(piece_of(b"values", Path("a.o")), "linked", str(tmp_path / "file"))
    with pytest.raises(InputError, match="nothing: no such file"):
        listed(str(tmp_path / "nothing"))


def test_values_that_are_not_mapped_are_compared_as_well() -> None:
    piece = piece_of(b"values", Path("a.o"))
    assert Payloads()._checked(piece, memoryview(b"values"), "a.o") == (b"values", "a.o")
    with pytest.raises(InputError, match=r"the values of a\.o are not those that were linked"):
        Payloads()._checked(piece, memoryview(b"others"), "a.o")


PACKED = pack_payload(b"values..", little=True)


@pytest.mark.parametrize("data", [b"bUV", bytes(40), PACKED[:-1], PACKED[:20], PACKED + PACKED[:20]])
def test_what_is_no_payload(data: bytes) -> None:
    with pytest.raises(InputError, match="payload"):
        list(payloads(data, Place("a.o"), little=True))


def test_a_store_has_folders_of_two_letters() -> None:
    assert stored_path("store", bytes(range(16))) == "store/00/0102030405060708090a0b0c0d0e0f"


@pytest.mark.parametrize("over", [0, 1])
def test_values_that_very_many_pieces_name(over: int) -> None:
    """Each piece would read them again. 64 MiB may be read repeatedly, and more for a large file."""
    with ElfImage("linked", bare([Section(".symtab", b"")])) as image:
        linked = LoadedFile(image, memoryview(b""), DebugSections(image), FunctionTable(), None)
        most = (64 << 20) + 64 * image.size
        piece = piece_of(b"values", Path("a.o"))._replace(payload_size=1 << 20)
        last = piece._replace(payload_size=most % (1 << 20) + over)
        pieces = [piece] * (1 + most // (1 << 20)) + [last]
        inline = [piece._replace(flags=INLINE)] * 100
        if over:
            with pytest.raises(InputError, match=r"linked: values of .* bytes that its index names again and again"):
                Payloads().unit_values(linked, pieces, None)
        else:
            assert len(list(Payloads().unit_values(linked, pieces + inline, None).pieces)) == len(pieces) + 100


@pytest.mark.parametrize("build", ["gcc-4", "gcc-5", "clang-4", "clang-5"])
def test_folders_of_units(build: str) -> None:
    pieces = [piece_of(b"", Path("a.o"))._replace(units=units, at=at) for at, units in ((8, 2), (16, 0), (24, 1))]
    with ElfImage.open(str(ROOT / "fixtures" / "dwo" / build / "program.elf")) as image:
        assert unit_folders(image, pieces) == {8: "/src", 24: "/src"}
        assert unit_folders(image, [pieces[0], pieces[2]._replace(flags=STRIPPED)]) == {}  # one unit: whose?


def test_units_of_one_folder_share_its_name() -> None:
    """A unit has few bytes, but the name that it refers to may be long."""
    with ElfImage.open(str(ROOT / "fixtures" / "dwo" / "gcc-5" / "program.elf")) as image:
        first, *others = _texts(image, COMP_DIR)
        assert unit_names(image) == []  # skeletons have none
    assert len(others) == 2
    assert all(each is first for each in others)


@pytest.mark.parametrize("info", [b"", bytes(3), b"\xff" * 20, bytes(20)])
def test_no_folders_of_units_in_damaged_dwarf(info: bytes) -> None:
    """Nor if the index names units that do not exist."""
    with ElfImage("linked", bare([Section(".debug_info", info)])) as image:
        assert unit_folders(image, [piece_of(b"values", Path("a.o"))]) == {}
        assert unit_names(image) == []


def test_objects_of_recursive_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is encoded in its own folder, where its name is short; the DWARF has the folder."""
    if not (shutil.which("gcc") and shutil.which("ld")):
        pytest.skip("no gcc")
    for folder, text in (("app", "int f(int a) { return a; }"), ("lib", "long g(long b) { return b; }")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("x.c").write_text(text)
        subprocess.run(["gcc", "-g", "-c", "x.c"], check=True)
        encode_object("x.o", Features.parse(), Placing())
    monkeypatch.chdir(tmp_path)
    subprocess.run(["ld", "-e", "f", "app/x.o", "lib/x.o", "-o", "program"], check=True)
    merged = bytes(merge_file("program", make_options("default", 1), Sources()).data)
    assert merged == bytes(pybtf.encode("program").data)
    assert b"\0f\0" in merged
    assert b"\0g\0" in merged
