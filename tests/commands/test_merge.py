"""`pybtf object` and `pybtf merge`: the reference's bytes from the values of objects, and one message if that fails.

The objects and linked files are committed (tools/golden/merge_fixtures.py); others are made in memory.
"""

from __future__ import annotations

import random
import shutil
import struct
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import pybtf
from pybtf.cli.main import main
from pybtf.elf.constants import SHT_MIPS_DWARF
from pybtf.elf.image import ElfImage
from pybtf.errors import EncodeError, InputError, Place, PybtfError
from pybtf.features import Features
from pybtf.merging.encoding import CURRENT, DONE, NOTHING, encode_object
from pybtf.merging.index import find_index
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.pieces import INDEX, PAYLOAD, RULES, Piece, pack, unpack
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from tests.builders.dwarfwriter import die
from tests.builders.elfwriter import Section, bare
from tests.builders.kernelish import FLAVOURS, INT, OBJECTS, kernel, relocatable, standard, unit

FEATURES = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs"
NAMES = (
    "x86", "x86-4", "x86-clang", "x86-relocatable", "i386", "aarch64", "s390x", "riscv64", "ppc64le", "arm",
)  # fmt: skip


def merge(path: Path | str, features: str = FEATURES, objects: Sequence[str] = (), store: str | None = None) -> bytes:
    return bytes(merge_file(str(path), make_options(features, 1), Sources(tuple(objects), store)).data)


def index_at(path: Path) -> tuple[int, int]:
    """The offset and size of a file's index."""
    with ElfImage.open(path) as image:
        section = find_index(image)
        assert section is not None
        return section.offset, section.size


def patch(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


# ---- the same bytes -----------------------------------------------------------------------------------------------


def test_all_builds_are_here(packed: Path) -> None:
    assert sorted(path.name for path in packed.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_merged_is_what_the_reference_makes_of_the_linked_dwarf(built: Callable[[str], Path], name: str) -> None:
    folder = built(name)
    wanted = (folder / "wanted.btf").read_bytes()
    assert merge("values") == wanted  # beside the DWARF
    assert merge("merged") == wanted  # without
    assert merge("merged", objects=["sa.o", "sb.o"]) == wanted
    with ElfImage.open("merged") as image:
        info = image.section(".debug_info")
        assert info is None or info.size == 0


@pytest.mark.parametrize("name", NAMES)
def test_objects_get_the_values_that_are_recorded(built: Callable[[str], Path], name: str) -> None:
    """The format is that of the recorded objects, byte for byte. If not, RULES must change."""
    built(name)
    for letter, how in (("v", Placing()), ("s", Placing(strip=True))):
        for each in ("a.o", "b.o"):
            wanted = Path(letter + each).read_bytes()
            shutil.copyfile(each, letter + each)
            outcome = encode_object(letter + each, Features.parse(FEATURES), how)
            assert (outcome.what, outcome.units) == (DONE, 1)
            assert Path(letter + each).read_bytes() == wanted


def test_values_inline_need_no_objects(built: Callable[[str], Path]) -> None:
    folder = built("x86")
    for path in folder.glob("*.o"):
        path.unlink()
    assert merge("inline") == (folder / "wanted.btf").read_bytes()


def test_values_in_a_store(built: Callable[[str], Path]) -> None:
    folder = built("x86-relocatable")
    wanted = (folder / "wanted.btf").read_bytes()
    for each in ("sa.o", "sb.o"):
        shutil.copyfile(each[1:], each)
        encode_object(each, Features.parse(FEATURES), Placing(strip=True, store="store"))
        with ElfImage.open(each) as image:
            assert image.section(PAYLOAD) is None
        Path(each).unlink()
    with pytest.raises(InputError, match=r"sa\.o: its values are not to be found"):
        merge("merged")
    assert merge("merged", store="store") == wanted


@pytest.mark.parametrize("rela", [True, False])
@pytest.mark.parametrize("name", [*FLAVOURS, *OBJECTS])
def test_an_object_of_every_machine(name: str, rela: bool, tmp_path: Path) -> None:
    """Even if there is no linker for it here. The object itself is merged."""
    flavour = {**FLAVOURS, **OBJECTS}[name]
    path = tmp_path / "one.o"
    path.write_bytes(relocatable(flavour=flavour, rela=rela).data)
    try:
        wanted = bytes(pybtf.encode(path, features=FEATURES).data)
    except InputError:  # relocations of BPF have no effect, and the fields hold garbage
        assert "bpf" in name
        with pytest.raises(InputError):
            encode_object(str(path), Features.parse(FEATURES), Placing(strip=True))
        return
    assert encode_object(str(path), Features.parse(FEATURES), Placing(strip=True)).what == DONE
    assert merge(path) == wanted


@pytest.mark.parametrize("origin", [True, False])
def test_a_function_that_takes_from_another(tmp_path: Path, origin: bool) -> None:
    """What the link makes of one must not change what is said about the other."""
    named = [] if origin else [("name", "string", "g"), ("type", "ref4", "int")]
    children = [
        INT,
        die("subprogram", ("name", "string", "f"), ("type", "ref4", "int"), label="f", children=[
            die("formal_parameter", ("name", "string", "x"), ("type", "ref4", "int"), label="x"),
        ]),
        die("subprogram", *named, *([("abstract_origin", "ref4", "f"), ("name", "string", "g")] if origin else []),
            children=[die("formal_parameter", ("abstract_origin", "ref4", "x"))]),
    ]  # fmt: skip
    path = tmp_path / "one.o"
    path.write_bytes(kernel([unit(children)], type="ET_REL").data)
    with pytest.raises(EncodeError, match="described in part by one of another name"):
        encode_object(str(path), Features.parse(FEATURES), Placing())


@pytest.mark.parametrize("name", ["x86", "s390x", "i386"])
def test_on_a_base(built: Callable[[str], Path], name: str) -> None:
    """As when encoding modules, types and strings of the base are not repeated."""
    folder = built(name)
    base = folder / "wanted.btf"
    wanted = bytes(pybtf.encode("b.o", features=FEATURES, base=base).data)
    options = make_options(FEATURES, 2, base=base)
    assert bytes(merge_file("sb.o", options, Sources()).data) == wanted
    assert len(wanted) < len(merge("sb.o"))


def test_a_section_of_another_name(built: Callable[[str], Path]) -> None:
    folder = built("x86-relocatable")
    encode_object("a.o", Features.parse(FEATURES), Placing(section=".debug_weaknames"))
    with ElfImage.open("a.o") as image:
        assert image.section(".debug_weaknames") is not None
        assert image.section(INDEX) is None
    shutil.copyfile("va.o", "other.o")
    assert merge("a.o") == merge("va.o")
    assert folder.exists()


def test_what_is_done_is_not_done_again(built: Callable[[str], Path]) -> None:
    folder = built("x86")
    for each in ("va.o", "sa.o"):
        before = (folder / each).read_bytes()
        assert encode_object(each, Features.parse(FEATURES), Placing()).what == CURRENT
        assert (folder / each).read_bytes() == before
    assert encode_object("va.o", Features.parse("all"), Placing()).what == DONE
    assert encode_object("va.o", Features.parse(FEATURES), Placing(strip=True)).what == DONE


def test_an_object_without_dwarf_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.o"
    path.write_bytes(kernel(debug={".debug_info": b"", ".debug_abbrev": b""}, type="ET_REL").data)
    before = path.read_bytes()
    assert encode_object(str(path), Features.parse(FEATURES), Placing()).what == NOTHING
    assert path.read_bytes() == before


def test_in_place_and_as_pahole(built: Callable[[str], Path]) -> None:
    """`pybtf-pahole -J` also merges a file that has values and no DWARF."""
    from pybtf.pahole.main import main as pahole

    folder = built("s390x")
    wanted = (folder / "wanted.btf").read_bytes()
    shutil.copyfile("merged", "copy")
    assert main(["merge", "-q", "--features", FEATURES, "merged"]) == 0
    assert pahole(["-J", f"--btf_features={FEATURES}", "copy"]) == 0
    for name in ("merged", "copy"):
        with ElfImage.open(name) as image:
            section = image.section(".BTF")
            assert section is not None
            assert bytes(image.data(section)) == wanted


def test_verify(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    built("x86")
    arguments = ["merge", "--features", FEATURES, "--verify", "--detached", "out"]
    assert main([*arguments, "values"]) == 0
    assert "its DWARF gives the same" in capfd.readouterr().err
    assert main([*arguments, "merged"]) == 1
    said = capfd.readouterr().err
    assert said.endswith("merged: no DWARF to compare with; expected DWARF, for --verify. Leave out --verify.\n")
    assert Path("out").exists()


# ---- the table of failures ----------------------------------------------------------------------------------------


def refuses(message: str, path: str = "merged", **options: object) -> None:
    """One message, and the file as it was."""
    before = Path(path).read_bytes()
    with pytest.raises(PybtfError, match=message) as caught:
        merge(path, **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)
    assert Path(path).read_bytes() == before


def test_a_file_without_values(built: Callable[[str], Path]) -> None:
    built("x86")
    shutil.copyfile("a.o", "merged")
    refuses(r"merged: has no values of objects \(\.debug_btf\); .* pybtf encode encodes the DWARF")


def test_an_object_without_values_among_others(built: Callable[[str], Path]) -> None:
    built("x86")
    refuses(r"a\.o: an object without values; .*\. Run pybtf object on it\.", objects=["sa.o", "a.o"])


def test_an_object_without_dwarf_and_values_is_told(built: Callable[[str], Path]) -> None:
    built("x86")
    Path("bare.o").write_bytes(kernel(debug={".debug_info": b"", ".debug_abbrev": b""}, type="ET_REL").data)
    found = merge_file("merged", make_options(FEATURES, 1), Sources(("sa.o", "sb.o", "bare.o")))
    assert found.report.warnings == [
        "nothing is in the BTF of bare.o (1 of the objects, with code, but neither values nor DWARF)"
    ]


def test_dwarf_of_an_object_without_values(built: Callable[[str], Path]) -> None:
    """More units have DWARF than values: all DWARF is encoded, with a message. Without it, this is an error."""
    folder = built("x86")
    wanted = (folder / "wanted.btf").read_bytes()
    drop_second(Path("values"))
    found = merge_file("values", make_options(FEATURES, 1), Sources())
    assert bytes(found.data) == wanted
    assert found.report.warnings == [
        "values: 2 units of DWARF, of which 1 has values: the DWARF of the file is encoded instead"
    ]
    at, _ = index_at(Path("values"))
    flags = struct.unpack_from("<I", Path("values").read_bytes(), at + 12)[0]
    patch(Path("values"), at + 12, struct.pack("<I", flags | 4))  # as if the DWARF of the first were left out
    refuses(
        r"values of objects with DWARF of 0 units, and DWARF of 2; expected the same of each\. "
        r"Some object has DWARF and no values \(there is DWARF of [^ ]*a\.c, [^ ]*b\.c\)",
        "values",
    )


def test_dwarf_of_an_object_that_says_it_has_none(built: Callable[[str], Path]) -> None:
    built("x86")
    at, _ = index_at(Path("values"))
    flags = struct.unpack_from("<I", Path("values").read_bytes(), at + 12)[0]
    patch(Path("values"), at + 12, struct.pack("<I", flags | 4))
    refuses("values of objects with DWARF of 1 unit, and DWARF of 2; expected the same of each", "values")


@pytest.mark.parametrize("name", ["x86", "s390x"])
def test_dwarf_of_a_part_of_the_program_is_not_taken_for_all(
    built: Callable[[str], Path], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """One object has DWARF and no values, and the other has no DWARF any more. `encode` says what is missing.
    `pybtf-pahole` refuses, because the kernel would have only a part of its BTF.
    """
    from pybtf.pahole.main import main as pahole

    built(name)
    at, size = index_at(Path("values"))
    whole = pybtf.encode("values", features=FEATURES)
    assert not whole.report.warnings  # values in addition to all of the DWARF
    order = ">" if name == "s390x" else "<"
    first, flags = struct.unpack_from(order + "II", Path("values").read_bytes(), at + 8)
    patch(Path("values"), at + 12, struct.pack(order + "I", flags | 4))
    patch(Path("values"), at + first, bytes(size - first))
    assert pybtf.encode("values", features=FEATURES).report.warnings == [
        "values: objects that have values but no DWARF (pybtf cc --strip-dwarf) are left out, 1 of them; "
        "pybtf merge encodes their values"
    ]
    before = Path("values").read_bytes()
    assert pahole(["-J", f"--btf_features={FEATURES}", "values"]) == 1
    said = capsys.readouterr().err
    assert "values of objects with DWARF of 0 units, and DWARF of 2; expected the same of each" in said
    assert Path("values").read_bytes() == before


def drop_second(path: Path) -> None:
    """Writes zeros over the second piece of the index, as if it were left out."""
    at, size = index_at(path)
    first = struct.unpack_from("<I", path.read_bytes(), at + 8)[0]
    patch(path, at + first, bytes(size - first))


def test_a_piece_that_is_left_out_without_dwarf_is_told(built: Callable[[str], Path]) -> None:
    built("x86")
    drop_second(Path("merged"))
    found = merge_file("merged", make_options(FEATURES, 1), Sources())
    assert found.report.warnings == [
        "nothing is in the BTF of b.c (1 of the sources named in the symbol table that have no values)"
    ]


def test_other_features_than_asked_for(built: Callable[[str], Path]) -> None:
    built("x86")
    refuses(
        r"sa\.o was encoded with the features float,enum64,decl_tag,type_tag; "
        r"expected float,enum64,decl_tag,type_tag,true_signature,attributes, which this command asks for",
        features="all",
    )
    refuses(r"expected none, which this command asks for", features="var")


def test_one_unit_of_all_cannot_be_had(built: Callable[[str], Path]) -> None:
    built("x86")
    refuses("merged: the feature force_cu_merging, which makes one unit", features=f"{FEATURES},force_cu_merging")


@pytest.mark.parametrize("field", ["options", "rules"])
def test_pieces_that_differ(built: Callable[[str], Path], field: str) -> None:
    """The second piece was made with different options, or by a different version."""
    built("x86")
    at, _ = index_at(Path("merged"))
    first = struct.unpack_from("<I", Path("merged").read_bytes(), at + 8)[0]
    patch(Path("merged"), at + first + (24 if field == "options" else 28), struct.pack("<I", 0x8201))
    refuses(r"sb\.o was encoded (with the features|by another version of pybtf \(rules 0x8201\))")


def test_a_missing_payload(built: Callable[[str], Path]) -> None:
    built("x86")
    Path("sb.o").unlink()
    refuses(r"sb\.o: its values are not to be found")


def test_an_object_that_was_compiled_anew(built: Callable[[str], Path]) -> None:
    built("x86")
    shutil.copyfile("sa.o", "sb.o")
    refuses(
        r"sb\.o: its values are not to be found: there is sb\.o, with values of another object; expected those of the "
        r"object that was linked.* compiled anew since the link, link again",
        objects=["sb.o"],
    )


def test_a_payload_that_was_changed(built: Callable[[str], Path]) -> None:
    built("x86")
    with ElfImage.open("sb.o") as image:
        section = image.section(PAYLOAD)
        assert section is not None
        at = section.offset + 32 + 80
    patch(Path("sb.o"), at, b"\xff\xff")
    refuses(r"sb\.o: the values of sb\.o are not those that were linked")


def test_dwarf_that_was_changed_after_the_values_were_made(built: Callable[[str], Path]) -> None:
    built("x86")
    with ElfImage.open("va.o") as image:
        section = image.section(".debug_info")
        assert section is not None
        at = section.offset
    patch(Path("va.o"), at + 20, b"\x01")
    refuses(r"va\.o: \.debug_btf: values that are not those of the object's DWARF", "values", objects=["va.o", "vb.o"])


def test_another_byte_order(built: Callable[[str], Path]) -> None:
    built("x86")
    at, _ = index_at(Path("merged"))
    patch(Path("merged"), at, b"1VUb")
    refuses("values of an object of the other byte order")


def test_another_version_of_the_format(built: Callable[[str], Path]) -> None:
    built("x86")
    at, _ = index_at(Path("merged"))
    patch(Path("merged"), at + 4, b"\2")
    refuses("values of version 2; expected 1")


def test_pieces_in_another_order(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    """As if a linker script sorted this section and not the DWARF: `--verify` finds it."""
    built("x86")
    at, size = index_at(Path("values"))
    content = Path("values").read_bytes()
    first = struct.unpack_from("<I", content, at + 8)[0]
    patch(Path("values"), at, content[at + first : at + size] + content[at : at + first])
    assert main(["merge", "--features", FEATURES, "--verify", "--detached", "out", "values"]) == 1
    assert "values: the values of its objects give" in capfd.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("cut", [1, 8, 80, 100])
def test_an_index_that_is_cut(built: Callable[[str], Path], cut: int) -> None:
    built("x86")
    at, size = index_at(Path("merged"))
    content = bytearray(Path("merged").read_bytes())
    content[at + size - cut : at + size] = b"\xaa" * cut
    Path("merged").write_bytes(content)
    with pytest.raises(InputError):
        merge("merged")


@pytest.mark.parametrize("seed", range(20))
def test_damage_anywhere_in_the_index(built: Callable[[str], Path], seed: int) -> None:
    """Any byte of it may change: the outcome is an error or BTF. Damaged addresses cannot be noticed."""
    built("x86")
    rng = random.Random(seed)
    at, size = index_at(Path("merged"))
    good = Path("merged").read_bytes()
    for _ in range(10):
        Path("merged").write_bytes(good)
        patch(Path("merged"), at + rng.randrange(size), bytes([rng.randrange(256)]))
        status = 1
        try:
            merge("merged")
        except PybtfError as error:
            status = error.exit_code
        assert status == 1


@pytest.mark.parametrize("name", ["x86", "x86-4", "i386", "s390x", "x86-clang"])
def test_damaged_objects(built: Callable[[str], Path], name: str) -> None:
    """Objects with any byte changed, and cut objects: one message and the object unchanged, or values."""
    built(name)
    rng = random.Random(name)
    for number in range(60):
        data = bytearray(Path(rng.choice(["a.o", "va.o", "sb.o"])).read_bytes())
        for _ in range(rng.choice((1, 1, 2, 4, 8))):
            at = rng.randrange(len(data)) if rng.random() < 0.6 else len(data) - rng.randrange(1, min(1800, len(data)))
            data[at : at + 4] = rng.choice((bytes([rng.randrange(256)]), b"\xff" * 4, bytes(4), b"\1\0\0\0"))
        if number % 10 == 0:
            del data[rng.randrange(1, len(data)) :]
        Path("x.o").write_bytes(data)
        status, after = 0, b""
        try:
            encode_object("x.o", Features.parse(FEATURES), Placing(strip=number % 2 == 0))
        except PybtfError as error:
            status, after = error.exit_code, Path("x.o").read_bytes()
        assert (status, after) in ((0, b""), (1, bytes(data)))


def test_units_that_refer_to_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is one such object, all units of the linked DWARF are one logical unit: nothing can be merged."""
    monkeypatch.chdir(tmp_path)
    units = [unit([INT]), unit([die("typedef", ("name", "string", "far"), ("type", "ref_addr", "int"))])]
    data = relocatable(units).data
    Path("one.o").write_bytes(data)
    outcome = encode_object("one.o", Features.parse(FEATURES), Placing())
    assert outcome.one_unit
    found = merge_file("one.o", make_options(FEATURES, 1), Sources())
    assert bytes(found.data) == bytes(pybtf.encode("one.o", features=FEATURES).data)
    assert "one.o has units that refer to each other: the DWARF of the file is encoded instead" in str(
        found.report.warnings
    )
    Path("two.o").write_bytes(data)
    encode_object("two.o", Features.parse(FEATURES), Placing(strip=True))
    assert merge("two.o") == bytes(found.data)
    without = Path("two.o").read_bytes().replace(b".debug_info\0", b".comment\0\0\0\0")
    Path("two.o").write_bytes(without)
    refuses(r"two\.o has units that refer to each other.*link the DWARF", "two.o")


def test_link_time_optimisation(tmp_path: Path) -> None:
    path = tmp_path / "one.o"
    path.write_bytes(kernel(extra_sections=[Section(".gnu.debuglto_.debug_info", b"x")], type="ET_REL").data)
    before = path.read_bytes()
    with pytest.raises(InputError, match="an object for link-time optimisation"):
        encode_object(str(path), Features.parse(FEATURES), Placing())
    assert path.read_bytes() == before


def test_what_btf_cannot_express_is_said_where_the_compile_is(tmp_path: Path) -> None:
    path = tmp_path / "one.o"
    bad = die("atomic_type", ("type", "ref4", "int"), label="bad")
    path.write_bytes(relocatable([unit([*standard(FLAVOURS["x86_64"]), bad])]).data)
    before = path.read_bytes()
    with pytest.raises(EncodeError, match=r"one\.o.*DW_TAG_atomic_type, which BTF cannot express"):
        encode_object(str(path), Features.parse(FEATURES), Placing(strip=True))
    assert path.read_bytes() == before


def test_a_linked_file_is_no_object(built: Callable[[str], Path]) -> None:
    folder = built("x86")
    before = (folder / "values").read_bytes()
    path = folder / "linked"
    path.write_bytes(kernel().data)
    with pytest.raises(InputError, match="an ELF file of type 2; expected an object file"):
        encode_object("linked", Features.parse(FEATURES), Placing())
    assert (folder / "values").read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "flags", "found"),
    [
        *[("PROGBITS", flags, flags & 2 == 0) for flags in range(5)],
        *[(SHT_MIPS_DWARF, flags, flags & 2 == 0) for flags in range(5)],
        ("NOTE", 0, False),
    ],
)
def test_an_index_is_a_section_that_is_not_loaded(kind: str | int, flags: int, found: bool) -> None:
    """Whether it is writable or executable does not matter. GNU ld for MIPS gives it the type of DWARF sections."""
    piece = Piece(1, 3, 15, RULES, b"a" * 16, b"b" * 16, 0, 8, "x.o", (), array("Q"), b"")
    content = bare([Section(".debug_btf", data=pack(piece, little=True), type=kind, flags=flags)])
    with ElfImage("x.o", content) as image:
        assert (find_index(image) is not None) == found


def test_pieces_keep_what_they_are_given() -> None:
    piece = Piece(1, 3, 15, RULES, b"a" * 16, b"b" * 16, 5, 8, "x/y.o", ("y.c", "z.c"), array("Q", [1, 2]), b"12345")
    for little in (True, False):
        for word in (4, 8):
            mine = piece._replace(word=word)
            packed_twice = pack(mine, little=little) + bytes(8) + pack(mine, little=little)
            first, second = unpack(packed_twice, Place("x"), little=little)
            for found in (first, second):
                assert (found.path, found.files) == ("x/y.o", ("y.c", "z.c"))
                assert list(found.addresses) == [1, 2]
                assert bytes(found.payload) == b"12345"
            assert second.at == len(packed_twice) // 2 + 4
