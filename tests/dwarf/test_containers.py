"""DWARF that is not all in the .debug_info of the input: separate debug files, type units, split DWARF, alternate
files.

If the reference can read such a file, its output is expected (fixtures/). It gets type units wrong; there the
expectation is its output for the same program built without them: the same types, in any order.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.dwarf import separate
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError, NothingToEncode
from tests.builders.dwarfwriter import Die, Unit, die
from tests.builders.elfwriter import Section, Symbol, elf, note
from tests.builders.kernelish import INT, function, kernel, relocatable, sections, symbols, unit, variable
from tests.builders.meaning import meanings
from tests.builders.synthetic import X86, base, load, named, typedef

HOME = Path(__file__).parents[2] / "fixtures"
GOLDEN = (HOME / "synthetic" / "siblings.btf").read_bytes()
ID = bytes(range(20))


def encode(path: Path) -> bytes:
    return bytes(pybtf.encode(path, jobs=1).data)


# -- separate debug files ------------------------------------------------------------------------------


def with_dwarf(*extra: Section) -> bytes:
    """The file of the case `siblings`, which has a golden file, with more sections."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.builders.synthetic.kernel", functools.partial(kernel, extra_sections=extra))
        return load()["siblings"].build()


def without_dwarf(*extra: Section, **options: Any) -> bytes:
    options.setdefault("symbols", symbols(X86))
    return elf([*sections(X86), *extra], **options).data


def link(name: str, content: bytes) -> Section:
    text = name.encode() + b"\0"
    text += bytes(-len(text) % 4)
    return Section(".gnu_debuglink", text + zlib.crc32(content).to_bytes(4, "little"))


def build_id(value: bytes = ID) -> Section:
    return Section(".note.gnu.build-id", note(b"GNU", 3, value), "NOTE")


@pytest.fixture(autouse=True)
def debug_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder instead of /usr/lib/debug."""
    root = tmp_path / "usr-lib-debug"
    monkeypatch.setattr(separate, "DEBUG_ROOT", str(root))
    return root


PLACES: dict[str, Callable[[Path, Path], Path]] = {
    "beside": lambda folder, root: folder / "x.debug",
    ".debug": lambda folder, root: folder / ".debug" / "x.debug",
    "root and the whole path": lambda folder, root: root / str(folder).strip("/") / "x.debug",
    "root and the end of the path": lambda folder, root: root / folder.name / "x.debug",
    "root": lambda folder, root: root / "x.debug",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("identified", [False, True])
def test_by_link(place: str, identified: bool, tmp_path: Path, debug_root: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    ids = [build_id()] if identified else []
    content = with_dwarf(*ids)
    debug = PLACES[place](folder, debug_root)
    debug.parent.mkdir(parents=True, exist_ok=True)
    debug.write_bytes(content)
    # If both have a build id, the checksum does not count, as in the reference.
    (folder / "file").write_bytes(without_dwarf(link("x.debug", b"other" if identified else content), *ids))
    assert encode(folder / "file") == GOLDEN


def test_by_build_id(tmp_path: Path, debug_root: Path) -> None:
    debug = debug_root / ".build-id" / "00" / f"{ID.hex()[2:]}.debug"
    debug.parent.mkdir(parents=True)
    debug.write_bytes(with_dwarf(build_id()))
    path = tmp_path / "file"
    path.write_bytes(without_dwarf(build_id()))
    assert encode(path) == GOLDEN


def test_by_name_only(tmp_path: Path) -> None:
    """Neither link nor build id: the reference takes FILE.debug, whatever it is."""
    (tmp_path / "file").write_bytes(without_dwarf())
    (tmp_path / "file.debug").write_bytes(with_dwarf())
    done = pybtf.encode(tmp_path / "file", jobs=1)
    assert done.data == GOLDEN
    assert done.report.warnings == [
        f"{tmp_path}/file.debug: taken for the debug file of {tmp_path}/file because of its name only"
    ]


def test_through_a_symbolic_link(tmp_path: Path) -> None:
    """The debug file is also looked for beside the target of the link."""
    home = tmp_path / "home"
    home.mkdir()
    content = with_dwarf()
    (home / "x.debug").write_bytes(content)
    (home / "file").write_bytes(without_dwarf(link("x.debug", content)))
    (tmp_path / "elsewhere").symlink_to(home / "file")
    assert encode(tmp_path / "elsewhere") == GOLDEN


def test_the_input_supplies_symbols_and_takes_the_btf(tmp_path: Path) -> None:
    content = with_dwarf()
    (tmp_path / "x.debug").write_bytes(content)
    path = tmp_path / "file"
    path.write_bytes(without_dwarf(link("x.debug", content), symbols=[Symbol("not_f", X86.text, 16)]))
    done = pybtf.encode(path, jobs=1)
    assert done.report.functions.left_out["no_symbol"] > 0
    done.embed(path)
    with ElfImage.open(path) as image:
        assert bytes(image.data(image.section(".BTF"))) == done.data  # type: ignore[arg-type]
        assert image.debug_section(".debug_info") is None
    assert (tmp_path / "x.debug").read_bytes() == content
    path.write_bytes(without_dwarf(link("x.debug", content), symbols=None))
    with pytest.raises(InputError, match="no symbol table"):
        encode(path)


def test_what_does_not_fit_is_named(tmp_path: Path, debug_root: Path) -> None:
    content = with_dwarf()
    path, debug = tmp_path / "file", tmp_path / "x.debug"
    path.write_bytes(without_dwarf(link("x.debug", b"other")))
    debug.write_bytes(content)
    with pytest.raises(NothingToEncode, match=f"x.debug has the checksum {zlib.crc32(content):08x}, not "):
        encode(path)
    path.write_bytes(without_dwarf(link("x.debug", content), build_id()))
    with pytest.raises(NothingToEncode, match=r"x\.debug has no build id, not 0001020304"):
        encode(path)
    debug.write_bytes(with_dwarf(build_id(b"another one")))
    with pytest.raises(NothingToEncode, match=r"x\.debug has the build id 616e6f"):
        encode(path)
    debug.write_bytes(without_dwarf(build_id()))
    with pytest.raises(NothingToEncode, match=r"x\.debug has no DWARF either"):
        encode(path)
    debug.write_bytes(b"something else")
    with pytest.raises(NothingToEncode, match=r"x.debug: starts with 73 6f"):
        encode(path)
    debug.unlink()
    with pytest.raises(NothingToEncode) as caught:
        encode(path)
    text = str(caught.value)
    first = f"{debug_root}/.build-id/00/{ID.hex()[2:]}.debug"
    looked = f"Looked for its debug file (build id {ID.hex()}, debug link to x.debug) as {first} and in "
    assert re.search(re.escape(looked) + r"\d other places", text)


@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"name", b"name\0\0\0\0\1\2\3"])
def test_damaged_link(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(without_dwarf(Section(".gnu_debuglink", content)))
    with pytest.raises(InputError, match=r"\.gnu_debuglink: \d+ bytes; expected a file name"):
        encode(path)


def test_long_names_and_identities(tmp_path: Path) -> None:
    """A name that no file can have is not looked for. Messages about the others stay readable."""
    path = tmp_path / "file"
    path.write_bytes(without_dwarf(link("n" * 4097, b"")))
    with pytest.raises(InputError, match=r"file: \.gnu_debuglink: a file name of more than 4096 bytes"):
        encode(path)
    long = link("n" * 100_000, b"").data
    path.write_bytes(without_dwarf(Section(".gnu_debuglink", long, compress=1)))
    with pytest.raises(InputError, match="a file name of more than 4096 bytes") as refused:
        encode(path)
    assert len(str(refused.value)) < 500
    path.write_bytes(without_dwarf(link("n" * 4096, b""), build_id(bytes(100_000))))
    traces = r"build id 0{256}\.\.\.0{256}, debug link to n{256}\.\.\.n{256}"
    with pytest.raises(NothingToEncode, match=traces) as missing:
        encode(path)
    assert len(str(missing.value)) < 20_000
    assert ".build-id" not in str(missing.value)


# -- type units ----------------------------------------------------------------------------------------


MANIFEST = json.loads((HOME / "manifest.json").read_text())
FIXTURES = {entry["name"]: entry for entry in MANIFEST["fixtures"]}
BUILDS = [name.partition(".")[2] for name in FIXTURES if name.startswith("47_type_units.")]


@pytest.mark.parametrize("build", BUILDS)
def test_types_are_those_of_the_same_program_without_type_units(build: str) -> None:
    usual = FIXTURES[f"47_without_type_units.{build}"]["golden"]["usual"]["file"]
    expected = meanings((HOME / "golden" / usual).read_bytes())
    assert sum(expected.values()) > 20
    path = HOME / "bin" / f"47_type_units.{build}.elf"
    results = [pybtf.encode(path, features=MANIFEST["features"]["usual"], jobs=jobs).data for jobs in (1, 3)]
    assert results[0] == results[1]
    assert meanings(bytes(results[0])) == expected


def type_unit(name: str, signature: int, *members: Die, section: str, version: int, extra: Any = ()) -> Unit:
    """A unit that defines a struct of these members, with an `int` of its own."""
    struct = named("structure_type", name, ("byte_size", "data1", 8), children=members, label=name)
    root = die("type_unit", ("language", "data1", 12), children=[base("int", 4, label=f"int {name}"), *extra, struct])
    return Unit(root, version=version, section=section, signature=signature, type_label=name)


def member(name: str, form: str, type: Any) -> Die:
    return named("member", name, ("type", form, type), ("data_member_location", "data1", 0))


def program(version: int, *main: Die) -> list[Unit]:
    """Structures that refer to each other by signature, and a unit with these children."""
    fields: dict[str, Any] = {"section": ".debug_types" if version == 4 else ".debug_info", "version": version}
    pointer = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref_sig8", 2), label="pointer")
    units = [
        type_unit("one", 1, member("p", "ref4", "pointer"), extra=[pointer], **fields),
        type_unit("two", 2, member("o", "ref_sig8", 1), **fields),
    ]
    own = unit([INT, *main, function(X86), variable(X86)], version=version)
    return [own, *units] if version == 4 else [*units, own]


MAIN = (
    named("typedef", "t", ("type", "ref_sig8", 2)),
    die("structure_type", ("declaration", "flag_present", 1), ("signature", "ref_sig8", 1), label="shell"),
    typedef("s", "shell"),
)
EXPECTED = [
    ("Typedef", "t", False, ("Struct", "two")),
    ("Typedef", "s", False, ("Struct", "one")),
    ("Ptr", "", False, ("Struct", "two")),
]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("linked", [True, False])
def test_signatures(version: int, linked: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    units = program(version, *MAIN)
    path.write_bytes((kernel(units) if linked else relocatable(units)).data)
    done = pybtf.encode(path, jobs=1)
    found = meanings(bytes(done.data))
    names = Counter(key[1] for key in found if key[0] == "Struct")
    assert names == {"one": 1, "two": 1}
    assert not any(key[0] == "Fwd" for key in found)
    told = {repr(key) for key in found}
    for kind, name, _, target in EXPECTED:
        assert any(f"'{kind}'" in text and repr(name) in text and repr(target) in text for text in told), (name, told)
    assert not done.report.warnings


@pytest.mark.parametrize("version", [4, 5])
def test_a_signature_that_is_a_reference_in_the_unit(version: int, tmp_path: Path) -> None:
    """The reference ignores DW_AT_signature. A struct whose DW_AT_signature is not a signature stays as it is."""
    path = tmp_path / "file"
    own = named("structure_type", "own", ("byte_size", "data1", 4), ("signature", "ref4", "int"), label="own")
    path.write_bytes(kernel(program(version, *MAIN, own, typedef("o", "own"))).data)
    found = {repr(key) for key in meanings(bytes(pybtf.encode(path, jobs=1).data))}
    assert any("'Typedef', 'o'" in text and "('Struct', 'own')" in text for text in found), found


def test_clang_is_recognised_behind_type_units(tmp_path: Path) -> None:
    """Type units have no producer; that of the first other unit counts."""
    nocall = ("calling_convention", "data1", 3)
    texts = []
    for producer in ("clang version 14", "GNU C11"):
        units = program(5)
        own = named(
            "subprogram",
            "f",
            ("low_pc", "addr", X86.text),
            nocall,
            children=[named("formal_parameter", "p", ("type", "ref4", "int"))],
        )
        units[-1] = unit([INT, own], version=5, producer=producer)
        path = tmp_path / "file"
        path.write_bytes(kernel(units).data)
        texts.append(encode(path))
    assert texts[0] != texts[1]


def test_a_signature_without_a_type(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(kernel(program(5, named("typedef", "t", ("type", "ref_sig8", 99)))).data)
    done = pybtf.encode(path, jobs=1)
    assert done.report.warnings == ["1 references to types are void: no type unit has their signature"]


@pytest.mark.parametrize("version", [4, 5])
def test_damage_in_a_type_unit_is_placed(version: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    units = program(version)
    at = 2 if version == 4 else 1
    units[at] = units[at]._replace(root=units[at].root._replace(code=99))  # type: ignore[union-attr]
    path.write_bytes(kernel(units).data)
    section = ".debug_types" if version == 4 else ".debug_info"
    with pytest.raises(InputError, match=rf"{section}\+0x[0-9a-f]+, unit at .* the abbreviation code 99"):
        encode(path)


def test_a_type_outside_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    units = program(5)
    units[0] = units[0]._replace(type_label="two")
    path.write_bytes(kernel(units).data)
    with pytest.raises(InputError, match=r"a reference to 0x[0-9a-f]+, which is outside"):
        encode(path)


def test_type_units_in_groups_that_overlap(tmp_path: Path) -> None:
    """Many sections that all consist of the same bytes of the file."""
    parts = [
        Section(".debug_info", bytes(64)),
        Section(".debug_abbrev", bytes(1)),
        Section(".debug_types", bytes(4096)),
    ]
    made = elf([*sections(X86), *parts, *(Section(".debug_types") for _ in range(40))], symbols(X86), type="ET_REL")
    data = bytearray(made.data)
    first = made.header_at[".debug_types"]
    for i in range(1, 41):
        data[first + 64 * i + 24 : first + 64 * i + 40] = data[first + 24 : first + 40]
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(InputError, match="42 sections of units that overlap"):
        encode(path)


# -- split DWARF and alternate files -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "tag", "name"), [(5, "skeleton_unit", 0x76), (4, "compile_unit", 0x2130), (5, "compile_unit", 0x76)]
)
def test_skeletons_are_errors(version: int, tag: str, name: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    root = die(tag, ("name", "string", "a.c"), (name, "string", "a.dwo"))
    path.write_bytes(kernel([unit([INT]), Unit(root, version=version)]).data)
    found = r"\.debug_info\+.*unit at .*\(a.c\).*the file a.dwo; .*-gsplit-dwarf"
    if (version, tag) != (5, "compile_unit"):
        found = r"\.debug_info\+.* a skeleton, whose unit is in a.dwo.*Looked for it as .*a.dwo"
    with pytest.raises(InputError, match=found):
        encode(path)


def test_the_other_half(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(without_dwarf(Section(".debug_info.dwo", bytes(20))))
    with pytest.raises(NothingToEncode, match=r"one half of split DWARF \(\.debug_info\.dwo\)"):
        encode(path)


@pytest.mark.parametrize(
    "attribute",
    [
        ("type", "GNU_ref_alt", b"\x10\0\0\0"),
        ("type", "ref_sup4", b"\x10\0\0\0"),
        ("name", "GNU_strp_alt", b"\x10\0\0\0"),
    ],
)
def test_alternate_files_are_errors(attribute: Any, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(kernel([unit([INT, die("typedef", attribute)], version=5)]).data)
    with pytest.raises(InputError, match=r"unit at .*\(unit.c\), DIE .*into an alternate file \(\.gnu_debugaltlink\)"):
        encode(path)


def test_the_tools_agree_on_the_link(tmp_path: Path) -> None:
    """What objcopy writes is understood: name, padding and checksum."""
    if subprocess.run(["objcopy", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no objcopy")
    (tmp_path / "odd.debug").write_bytes(with_dwarf())
    path = tmp_path / "file"
    path.write_bytes(without_dwarf())
    subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path}/odd.debug", path], check=True, capture_output=True)
    assert encode(path) == GOLDEN
