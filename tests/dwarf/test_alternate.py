"""Alternate files of dwz: where they are looked for, what can be wrong with them, and that they leave no trace.

cases_alternate.py covers what is decoded from them, with what the reference wrote."""

from __future__ import annotations

import gc
import hashlib
import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf import BTF
from pybtf.dwarf import separate
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError, PybtfError
from pybtf.options import EncodeOptions
from pybtf.pipeline.passes import encode_combined
from tests.builders.cases_alternate import (
    ID,
    NAME,
    ORIGINS,
    TEN,
    Labels,
    alternate,
    alternate_origin,
    far,
    link,
    one,
    p,
    pair,
    uses,
)
from tests.builders.dwarfwriter import Die, Raw, Unit, die, dwarf
from tests.builders.elfwriter import SHF_ALLOC, Section, elf, note
from tests.builders.kernelish import INT, kernel, sections, symbols, unit
from tests.builders.synthetic import X86, load, named

CASE = load()["alternate_origin"]
GOLDEN = (Path(__file__).parents[2] / "fixtures" / "synthetic" / "alternate_origin.btf").read_bytes()
ALTERNATE = CASE.beside[NAME]
OPEN = Path("/proc/self/fd")


@pytest.fixture(autouse=True)
def debug_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of /usr/lib/debug."""
    root = tmp_path / "usr-lib-debug"
    monkeypatch.setattr(separate, "DEBUG_ROOT", str(root))
    return root


def encode(path: Path, **options: Any) -> bytes:
    return bytes(pybtf.encode(path, jobs=1, **options).data)


def linking(*extra: Section) -> bytes:
    """The file of the case, with these sections instead of its link."""
    return pair(ORIGINS, alternate_origin, sections=extra)[0]


def put(path: Path, data: bytes = ALTERNATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def file_with(units: Sequence[Unit], main: Callable[[Labels], Sequence[Unit]], folder: Path) -> Path:
    """Writes a pair of files, and returns the path of the first."""
    own, other = pair(units, main)
    put(folder / NAME, other)
    return put(folder / "file", own)


def names(data: bytes) -> list[str]:
    return [name for record in BTF.from_bytes(data) if (name := getattr(record, "name", ""))]


# -- where it is looked for --------------------------------------------------------------------------

PLACES: dict[str, tuple[str, Callable[[Path, Path], Path]]] = {
    "beside": ("x.debug", lambda folder, root: folder / "x.debug"),
    "in .dwz": ("x.debug", lambda folder, root: folder / ".dwz" / "x.debug"),
    "in .debug": ("x.debug", lambda folder, root: folder / ".debug" / "x.debug"),
    "below": ("sub/x.debug", lambda folder, root: folder / "sub" / "x.debug"),
    "above": ("../x.debug", lambda folder, root: folder.parent / "x.debug"),
    "of a path, in .dwz": ("../up/x.debug", lambda folder, root: folder / ".dwz" / "x.debug"),
    "of a path, in .debug": ("sub/x.debug", lambda folder, root: folder / ".debug" / "sub" / "x.debug"),
    "root": ("../../.dwz/x.debug", lambda folder, root: root / "x.debug"),
    "root .dwz": ("../../.dwz/x.debug", lambda folder, root: root / ".dwz" / "x.debug"),
    "from the root, moved": ("/no/such/x.debug", lambda folder, root: folder / "no" / "such" / "x.debug"),
    "by build id": ("x.debug", lambda folder, root: root / ".build-id" / "01" / f"{ID.hex()[2:]}.debug"),
}


@pytest.mark.parametrize("place", PLACES)
def test_places(place: str, tmp_path: Path, debug_root: Path) -> None:
    """Found by watching the reference search."""
    name, where = PLACES[place]
    path = put(tmp_path / "folder" / "file", linking(link(name)))
    with pytest.raises(InputError, match="that was not found; expected the alternate file"):
        encode(path)
    put(where(tmp_path / "folder", debug_root))
    assert encode(path) == GOLDEN


def test_a_path_from_the_root(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "x.debug")
    path = put(tmp_path / "folder" / "file", linking(link(f"{tmp_path}/elsewhere/x.debug")))
    assert encode(path) == GOLDEN


@pytest.mark.parametrize("inside", [True, False])
def test_in_the_tree_of_an_unpacked_package(inside: bool, tmp_path: Path, debug_root: Path) -> None:
    tree = tmp_path / "tree"
    folder = tree / str(debug_root)[1:] if inside else tree / "usr"
    path = put(folder / ".build-id" / "02" / "file.debug", linking(link(f"{debug_root}/.dwz/machine/x.debug")))
    put(tree / str(debug_root)[1:] / ".dwz" / "machine" / "x.debug")
    if inside:
        assert encode(path) == GOLDEN
    else:
        with pytest.raises(InputError, match="that was not found"):
            encode(path)


def test_from_the_folder_of_the_file_itself(tmp_path: Path) -> None:
    """A symbolic link to the file: the folder of the link is searched first, then that of the file."""
    put(tmp_path / "real" / "file", linking(link("x.debug")))
    put(tmp_path / "real" / "x.debug")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "file").symlink_to("../real/file")
    assert encode(tmp_path / "links" / "file") == GOLDEN


def test_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CASE.write(tmp_path / "file")
    monkeypatch.chdir(tmp_path)
    assert encode(Path("file")) == GOLDEN


def test_a_wrong_file_is_passed_over(tmp_path: Path) -> None:
    """The search continues after a file with another build id, a file that is not ELF, and a folder."""
    path = put(tmp_path / "file", linking(link("x.debug")))
    put(tmp_path / "x.debug", alternate(TEN, identity=ID[::-1])[0])
    put(tmp_path / ".dwz" / "x.debug", b"nothing")
    with pytest.raises(InputError) as caught:
        encode(path)
    assert f"{tmp_path}/x.debug has the identity {ID[::-1].hex()}" in str(caught.value)
    assert f"{tmp_path}/.dwz/x.debug" in str(caught.value)
    put(tmp_path / ".debug" / "x.debug")
    assert encode(path) == GOLDEN


def test_of_a_separate_debug_file(tmp_path: Path) -> None:
    """The link is in the debug file, and its name is relative to the folder of that file."""
    build_id = Section(".note.gnu.build-id", note(b"GNU", 3, b"1234"), "NOTE", flags=SHF_ALLOC)
    more = [*symbols(X86), symbols(X86)[0]._replace(name="g", value=X86.text + 32)]
    stripped = elf([*sections(X86), build_id], more).data
    path = put(tmp_path / "folder" / "file", stripped)
    put(tmp_path / "folder" / ".debug" / "file.debug", linking(link("../alt/x.debug"), build_id))
    put(tmp_path / "folder" / "alt" / "x.debug")
    assert encode(path) == GOLDEN


def test_several_files_each_with_its_own(tmp_path: Path) -> None:
    """The second file's alternate file is not the first one's."""
    for n in (1, 2):
        (tmp_path / str(n)).mkdir()
        file_with([p(0), p(n)], one(uses(f"i{n}", f"t{n}")), tmp_path / str(n))
    data = encode_combined([str(tmp_path / "1" / "file"), str(tmp_path / "2" / "file")], EncodeOptions(jobs=1)).data
    assert [name for name in names(bytes(data)) if name != "int"] == ["a1", "t1", "a2", "t2"]


# -- no trace, any number of workers -----------------------------------------------------------------


def test_files_are_only_read(tmp_path: Path) -> None:
    """Even if the encoding fails."""
    CASE.write(tmp_path / "file")
    put(tmp_path / "broken", linking(link("no.debug")))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    encode(tmp_path / "file")
    with pytest.raises(InputError):
        encode(tmp_path / "broken")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not OPEN.exists(), reason="no /proc")
def test_files_are_closed(tmp_path: Path) -> None:
    CASE.write(tmp_path / "file")
    put(tmp_path / ".debug" / NAME, alternate(TEN, identity=ID[::-1])[0])
    encode(tmp_path / "file")
    gc.collect()  # descriptors that other tests left open
    before = sum(1 for _ in OPEN.iterdir())
    for _ in range(3):
        encode(tmp_path / "file")
    gc.collect()
    assert sum(1 for _ in OPEN.iterdir()) == before


def test_jobs(tmp_path: Path) -> None:
    CASE.write(tmp_path / "file")
    for jobs in (1, 2, 5):
        assert pybtf.encode(tmp_path / "file", jobs=jobs).data == GOLDEN


def test_compressed_sections(tmp_path: Path) -> None:
    def main(labels: Labels) -> list[Unit]:
        return list(one(uses("i1"))(labels))

    path = file_with([p(0), p(1)], main, tmp_path)
    expected = encode(path)
    debug = [Section(name, data, compress=6) for name, data in dwarf([p(0), p(1)]).sections.items()]
    identity = Section(".note.gnu.build-id", note(b"GNU", 3, ID), "NOTE", flags=SHF_ALLOC)
    put(tmp_path / NAME, elf([identity, *debug], []).data)
    assert encode(path) == expected


def test_names_that_are_only_in_the_alternate_file(tmp_path: Path) -> None:
    """Without a .debug_str of its own, the file has no names that could be read late."""
    text = die("base_type", ("name", "strp", "a long name"), ("byte_size", "data1", 4), ("encoding", "data1", 5))
    root = die("partial_unit", label="p0", children=[text])

    def main(labels: Labels) -> list[Unit]:
        t = die("typedef", far("name", 0, "GNU_strp_alt"), ("type", "ref4", "int"))
        return [unit([INT, t, die("imported_unit", far("import", labels["p0"]))])]

    assert sorted(names(encode(file_with([Unit(root)], main, tmp_path)))) == ["a long name", "a long name", "int"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_only_strings(jobs: int, tmp_path: Path) -> None:
    """Files that share no units: the reference refuses this. The expected BTF is that of a file that has the names
    itself. Units stay separate: the first has no `int`, so its array gets an index type of its own.
    """

    def main(form: str) -> list[Unit]:
        def text(name: str) -> tuple[Any, ...]:
            at = 2 + 5 * ("char", "long", "data").index(name)
            return far("name", at, form) if form != "string" else ("name", "string", name)

        def scalar(name: str, size: int) -> Die:
            return die("base_type", text(name), ("byte_size", "data1", size), ("encoding", "data1", 5), label=name)

        array = die("array_type", ("type", "ref4", "char"), children=[die("subrange_type", ("count", "data1", 3))])
        struct_ = die("structure_type", text("data"), ("byte_size", "data1", 8))
        return [unit([scalar("char", 1), array]), unit([INT, scalar("long", 8), struct_])]

    identity = Section(".note.gnu.build-id", note(b"GNU", 3, ID), "NOTE", flags=SHF_ALLOC)
    put(tmp_path / NAME, elf([identity, Section(".debug_str", b"x\0char\0long\0data\0")], []).data)
    plain = put(tmp_path / "plain", kernel(main("string")).data)
    file = put(tmp_path / "file", kernel(main("GNU_strp_alt"), extra_sections=[link()]).data)
    assert pybtf.encode(file, jobs=jobs).data == pybtf.encode(plain, jobs=jobs).data


def test_lost_references_are_counted(tmp_path: Path, run_cli: Any) -> None:
    """In the report and on standard error. The reference complains about the same DIEs, about some of them twice."""
    load()["alternate_lost_references"].write(tmp_path / "file")
    count = 10
    done = pybtf.encode(tmp_path / "file", jobs=1)
    (said,) = done.report.warnings
    assert said.startswith(f"{count} references to types are void: they lead into units of the alternate file")
    told = run_cli("encode", "--detached", str(tmp_path / "out"), str(tmp_path / "file"))
    assert told.returncode == 0
    assert f"warning: {said}\n" in told.stderr
    load()["alternate_reference_to_needed"].write(tmp_path / "file")
    assert not pybtf.encode(tmp_path / "file", jobs=1).report.warnings


# -- what is wrong with it ---------------------------------------------------------------------------


def test_without_need_none_is_missed(tmp_path: Path) -> None:
    """A file that names an alternate file, which does not exist, but needs nothing from it."""
    path = put(tmp_path / "file", kernel(extra_sections=[link("no.debug")]).data)
    assert encode(path) == encode(put(tmp_path / "other", kernel().data))


@pytest.mark.parametrize(
    "attribute",
    [
        far("type", 16),
        far("type", 16, "ref_sup4"),
        far("type", 16, "ref_sup8", 8),
        far("name", 16, "GNU_strp_alt"),
        far("name", 16, "strp_sup"),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_missing(attribute: Any, linked: bool, tmp_path: Path) -> None:
    extra = [link("no/such.debug")] if linked else []
    path = tmp_path / "file"
    path.write_bytes(kernel([unit([INT, die("typedef", attribute)], version=5)], extra_sections=extra).data)
    expected = rf"Looked for it \(\.gnu_debugaltlink: no/such.debug, {ID.hex()}\) as .*\.build-id/01/.*, {tmp_path}/no"
    with pytest.raises(
        InputError,
        match=r"file: \.debug_info\+0x\w+, unit at 0x0 \(unit.c\), DIE 0x\w+: .*into an alternate file.*was not found.*"
        + (expected if linked else r"neither \.gnu_debugaltlink nor \.debug_sup"),
    ):
        encode(path)


@pytest.mark.parametrize("content", [b"", b"alt.debug", b"\0" + ID, b"alt.debug\0", b"alt.debug\0" + bytes(4097)])
def test_damaged_links(content: bytes, tmp_path: Path) -> None:
    path = put(tmp_path / "file", linking(Section(".gnu_debugaltlink", content)))
    with pytest.raises(InputError, match=r"file: \.gnu_debugaltlink: \d+ bytes; expected a file name and a build id"):
        encode(path)


@pytest.mark.parametrize(
    ("title", "front", "behind"),
    [(".gnu_debugaltlink", b"", b"\0" + ID), (".debug_sup", b"\5\0\0", b"\0\x14" + ID)],
    ids=["gnu", "sup"],
)
def test_long_links(title: str, front: bytes, behind: bytes, tmp_path: Path) -> None:
    """A name that no file can have is damage. A message shortens the longest possible name."""
    for size in (4097, 50_000):
        path = put(tmp_path / "file", linking(Section(title, front + b"n" * size + behind)))
        with pytest.raises(InputError, match=rf"file: {title}: a file name of more than 4096 bytes"):
            encode(path)
    extra = [Section(title, front + b"n" * 4096 + behind)]
    path.write_bytes(kernel([unit([INT, die("typedef", far("type", 16))], version=5)], extra_sections=extra).data)
    looked = rf"Looked for it \({title}: n{{256}}\.\.\.n{{256}}, {ID.hex()}\) as "
    with pytest.raises(InputError, match=looked) as caught:
        encode(path)
    assert len(str(caught.value)) < 10_000


@pytest.mark.parametrize("form", ["GNU_ref_alt", "ref_sup4"])
def test_references_past_the_end(form: str, tmp_path: Path) -> None:
    def main(_labels: Labels) -> list[Unit]:
        t = named("typedef", "t", far("type", 0x5000, form))
        return [unit([INT], version=5), unit([INT, t], version=5)]

    with pytest.raises(
        InputError,
        match=r"file: \.debug_info\+0x\w+, unit at 0x[1-9]\w* \(unit.c\), DIE 0x\w+: a reference to 0x5000, which is "
        rf"outside \.debug_info of the alternate file {tmp_path}/alt.debug",
    ):
        encode(file_with(TEN, main, tmp_path))


@pytest.mark.parametrize("strings", [b"", b"no end"])
def test_names_past_the_end(strings: bytes, tmp_path: Path) -> None:
    def main(_labels: Labels) -> list[Unit]:
        return [unit([INT, die("typedef", far("name", 2, "GNU_strp_alt"), ("type", "ref4", "int"))])]

    path = file_with(TEN, main, tmp_path)
    if strings:
        put(tmp_path / NAME, with_strings(strings))
    with pytest.raises(
        InputError,
        match=r"file: \.debug_info\+0x\w+, unit at 0x0 \(unit.c\), DIE 0x\w+: a name at 0x2 of \.debug_str of the "
        rf"alternate file {tmp_path}/alt.debug, where it has none",
    ):
        encode(path)


def with_strings(strings: bytes, units: Sequence[Unit] = (*TEN,)) -> bytes:
    """An alternate file with this .debug_str."""
    contents = {**dwarf(units).sections, ".debug_str": strings}
    identity = Section(".note.gnu.build-id", note(b"GNU", 3, ID), "NOTE", flags=SHF_ALLOC)
    return elf([identity, *(Section(name, data) for name, data in contents.items())], []).data


def test_own_references_do_not_lead_into_it(tmp_path: Path) -> None:
    """An offset past the end of the file's own section does not lead into the alternate file."""

    def main(_labels: Labels) -> list[Unit]:
        t = named("typedef", "t", ("type", "ref_addr", Raw(0x80)))
        return [unit([INT, t])]

    with pytest.raises(InputError, match=r"file: \.debug_info\+.*a reference to 0x80, which is outside"):
        encode(file_with(TEN, main, tmp_path))


def test_own_names_do_not_lead_into_it(tmp_path: Path) -> None:
    def main(_labels: Labels) -> list[Unit]:
        t = die("typedef", ("name", "strp", Raw(20)), ("type", "ref4", "int"))
        return [unit([INT, named("typedef", "u", ("type", "ref4", "int")), t, die("base_type", ("name", "strp", "x"))])]

    path = file_with(TEN, main, tmp_path)
    put(tmp_path / NAME, with_strings(b"a text of more than twenty bytes\0"))
    with pytest.raises(InputError, match=r"file: \.debug_str\+0x14, .*an offset past the end of the section"):
        encode(path)


@pytest.mark.parametrize(
    "attribute", [far("type", 16), far("name", 16, "GNU_strp_alt"), far("type", 16, "ref_sup4")]
)
def test_alternate_files_of_alternate_files(attribute: Any, tmp_path: Path) -> None:
    units = [p(0), p(1, die("typedef", attribute))]
    with pytest.raises(
        InputError, match=r"alt.debug: \.debug_info\+0x\w+, unit at 0x\w+, DIE 0x\w+: .*alternate file of an alternate"
    ):
        encode(file_with(units, one(uses("i1")), tmp_path))


def test_an_alternate_file_has_no_links(tmp_path: Path) -> None:
    """A link in an alternate file is not followed: nothing that is needed refers to it."""
    units = [p(0), p(1, die("typedef", far("type", 16)))]
    assert "t" in names(encode(file_with(units, one(uses("i0")), tmp_path)))


DAMAGED: dict[str, tuple[Unit, str]] = {
    "abbreviations": (
        p(1)._replace(raw_abbrev=0x4000),
        r"\.debug_abbrev\+0x4000, unit at 0x\w+, DIE 0x\w+: an abbreviation table that starts past the end",
    ),
    "header": (p(1)._replace(raw_version=9), r"\.debug_info\+0x\w+, unit at 0x\w+: DWARF version 9"),
    "length": (p(1)._replace(raw_length=0x4000), r"\.debug_info\+0x\w+, unit at 0x\w+: the unit length 0x4000"),
    "reference": (
        p(1, named("typedef", "x", ("type", "ref_addr", Raw(0x4000)))),
        r"\.debug_info\+0x\w+, unit at 0x\w+, DIE 0x\w+: a reference to 0x4000, which is outside",
    ),
    "name": (
        p(1, die("typedef", ("name", "strp", Raw(0x4000)))),
        r"\.debug_str\+0x4000, unit at 0x\w+, DIE 0x\w+: an offset past the end",
    ),
    "index": (
        p(1, die("typedef", ("name", "strx1", Raw(5)))),
        r"\.debug_str_offsets\+.*unit at 0x\w+, DIE 0x\w+: the index 5 past the end",
    ),
    "end": (p(1, die("typedef", ("name", "string", b"x"), code=99)), r"\.debug_info\+.*the abbreviation code 99"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged(damage: str, tmp_path: Path) -> None:
    """The message about a fault in the alternate file names that file and its own offsets."""
    broken, expected = DAMAGED[damage]
    units = [p(0), broken]
    at = len(alternate_info([p(0)]))
    with pytest.raises(InputError, match=rf"^{tmp_path}/alt.debug: {expected}") as caught:
        encode(file_with(units, one(uses("i1")), tmp_path))
    assert f"unit at {at:#x}" in str(caught.value)


def alternate_info(units: Sequence[Unit]) -> bytes:
    return dwarf(units).sections[".debug_info"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bits": 32, "machine": "EM_386"}, "is for another kind of machine"),
        ({"little": False, "machine": "EM_PPC64"}, "is for another kind of machine"),
        ({"identity": b"abc"}, "has the identity 616263"),
    ],
)
def test_not_the_file(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    CASE.write(path)
    put(tmp_path / NAME, alternate(TEN, **options)[0])
    with pytest.raises(InputError, match=rf"Not it: .*/alt.debug {why}"):
        encode(path)


def test_without_dwarf(tmp_path: Path) -> None:
    path = tmp_path / "file"
    CASE.write(path)
    put(tmp_path / NAME, elf([Section(".note.gnu.build-id", note(b"GNU", 3, ID), "NOTE", flags=SHF_ALLOC)], []).data)
    with pytest.raises(InputError, match=r"alt.debug has no DWARF"):
        encode(path)


def test_the_file_itself_is_none(tmp_path: Path) -> None:
    """The link leads back to the file itself. It is read twice, and this is no cycle."""
    build_id = Section(".note.gnu.build-id", note(b"GNU", 3, ID), "NOTE", flags=SHF_ALLOC)
    path = put(tmp_path / "file", kernel(extra_sections=[build_id, link("file")]).data)
    assert encode(path) == encode(put(tmp_path / "other", kernel().data))


def test_random_damage(tmp_path: Path) -> None:
    """Whichever bytes change in either file, the answer is BTF or one clear error."""
    rng = random.Random(5)
    files = [(case.build(), case.beside[NAME]) for case in load().values() if case.beside]
    said: list[str] = []
    for _ in range(400):
        pieces = [bytearray(data) for data in rng.choice(files)]
        for _ in range(rng.randint(1, 3)):
            victim = pieces[rng.random() < 0.6]
            victim[rng.randrange(64, len(victim))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        put(tmp_path / NAME, bytes(pieces[1]))
        try:
            encode(put(tmp_path / "file", bytes(pieces[0])))
        except PybtfError as error:
            said.append(str(error))
    assert all(str(tmp_path) in text for text in said)
    assert 100 < len(said) < 400


# -- supplementary files (DWARF 5) -------------------------------------------------------------------


def sup(name: str, is_it: bool = False, identity: bytes = ID, version: int = 5) -> Section:
    return Section(
        ".debug_sup", struct.pack("<HB", version, is_it) + name.encode() + b"\0" + bytes([len(identity)]) + identity
    )


def supplementary(units: Sequence[Unit], section: Section | None = None) -> bytes:
    contents = [Section(name, data) for name, data in dwarf(units).sections.items()]
    return elf([section or sup("", is_it=True), *contents], []).data


@pytest.mark.parametrize(("form", "size"), [("ref_sup4", 4), ("ref_sup8", 8), ("GNU_ref_alt", 4)])
def test_supplementary(form: str, size: int, tmp_path: Path) -> None:
    """The same BTF as with the GNU forms, which the reference can read."""

    def main(by: str, size: int) -> Callable[[Labels], list[Unit]]:
        return lambda labels: [
            unit(
                [
                    INT,
                    named("typedef", "t", far("type", labels["i1"], by, size)),
                    die("imported_unit", far("import", labels["p0"], by, size)),
                ]
            )
        ]

    units = [p(0), p(1), p(2)]
    expected = encode(file_with(units, main("GNU_ref_alt", 4), tmp_path))
    assert names(expected) == ["a0", "a1", "int", "t"]
    own, _ = pair(units, main(form, size), sections=[sup(NAME)])
    put(tmp_path / NAME, supplementary(units))
    assert encode(put(tmp_path / "file", own)) == expected


def test_supplementary_names(tmp_path: Path) -> None:
    own, _ = pair(
        TEN,
        lambda labels: [unit([INT, die("typedef", far("name", 2, "strp_sup"), ("type", "ref4", "int"))])],
        sections=[sup(NAME)],
    )
    contents = {**dwarf(TEN).sections, ".debug_str": b"a\0name\0"}
    put(tmp_path / NAME, elf([sup("", True), *(Section(n, data) for n, data in contents.items())], []).data)
    assert names(encode(put(tmp_path / "file", own))) == ["int", "name"]


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (sup("", is_it=True, identity=b"other"), "has the identity 6f74686572"),
        (sup("x", is_it=False), "has no identity"),
        (sup("", is_it=True, version=6), "is damaged"),
        (Section(".debug_other"), "has no identity"),
    ],
)
def test_not_the_supplementary_file(section: Section, why: str, tmp_path: Path) -> None:
    own, _ = pair(TEN, one(uses("i0")), sections=[sup(NAME)])
    put(tmp_path / NAME, supplementary(TEN, section))
    with pytest.raises(InputError, match=rf"\.debug_sup: alt.debug.*Not it: .*alt.debug {why}"):
        encode(put(tmp_path / "file", own))


@pytest.mark.parametrize("content", [b"", b"\5\0", b"\5\0\0alt.debug", b"\5\0\0alt.debug\0\x14abc", b"\5\0\0\0\1x"])
def test_damaged_supplementary_links(content: bytes, tmp_path: Path) -> None:
    own, _ = pair(TEN, one(uses("i0")), sections=[Section(".debug_sup", content)])
    with pytest.raises(InputError, match=r"file: \.debug_sup: \d+ bytes; expected version 5"):
        encode(put(tmp_path / "file", own))


def test_in_place(tmp_path: Path, run_cli: Any) -> None:
    """The BTF goes into the file, and the alternate file stays as it is."""
    CASE.write(tmp_path / "file")
    digest = hashlib.sha256(ALTERNATE).hexdigest()
    done = run_cli("encode", str(tmp_path / "file"))
    assert done.returncode == 0, done.stderr
    with ElfImage.open(tmp_path / "file") as image:
        section = image.section(".BTF")
        assert section is not None
        assert bytes(image.data(section)) == GOLDEN
    assert hashlib.sha256((tmp_path / NAME).read_bytes()).hexdigest() == digest
