"""`pybtf merge --compiler-btf`: what gcc wrote, compared with the reference's BTF from the same program's DWARF; pieces
made in memory; and one message for each kind of damage.

The objects are recorded (tools/golden/compiler_btf_fixtures.py): neither a compiler nor a linker is needed.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pybtf import Builder
from pybtf.btf import BTF
from pybtf.btf.kinds import Linkage
from pybtf.btf.types import Func, Member, Param
from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.encoded import Encoded
from pybtf.errors import EncodeError, InputError, PybtfError
from pybtf.merging.compiler_btf import NOTE, _objects, _of_objects, merge_compiled
from pybtf.options import make_options
from tests.builders.archives import unpack
from tests.builders.btflines import read
from tests.builders.elfwriter import SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, Section, Symbol, elf
from tests.builders.meaning import meanings
from tests.builders.rawbtf import raw_btf
from tests.commands.test_merge import FEATURES
from tests.commands.test_merge_archives import archive
from tests.conftest import ROOT

OLD = ("gcc12", "gcc12-i386", "gcc12-s390x")
NEW = ("gcc14", "gcc16")
TEXT = 0x1000
PERCPU = 0x8000


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(ROOT / "fixtures" / "compiler_btf" / "objects.tar.xz", tmp_path_factory.mktemp("compiler-btf"))


@pytest.fixture
def written(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of a build, which becomes the working folder."""

    def copy(name: str) -> Path:
        shutil.copytree(recorded / name, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return copy


def merge(path: Path | str, features: str = FEATURES, objects: Sequence[str] = ()) -> Encoded:
    return merge_compiled(str(path), make_options(features, 1), tuple(objects))


# ---- what gcc wrote -----------------------------------------------------------------------------------------------


def told(counted: Counter[Any]) -> list[str]:
    """The kind and name of each type, and its contents, if these are short."""
    return sorted(f"{each[0]} {each[1]}".rstrip() for each in counted.elements())


def test_all_builds_are_here(recorded: Path) -> None:
    assert sorted(path.name for path in recorded.iterdir()) == sorted((*OLD, *NEW))


@pytest.mark.parametrize("name", NEW)
def test_gcc_of_today_says_what_the_dwarf_says(written: Callable[[str], Path], name: str) -> None:
    """All types and functions are those of the reference. Of the variables, the two statics of one name are missing."""
    folder = written(name)
    wanted, found = meanings((folder / "wanted.btf").read_bytes()), meanings(bytes(merge("linked").data))
    assert told(wanted - found) == ["Datasec .data..percpu", "Var own", "Var own"]
    assert told(found - wanted) == ["Datasec .data..percpu"]
    (before,), (after,) = ([each for each in side if each[0] == "Datasec"] for side in (wanted, found))
    assert [each for each in before[4] if each[0][1] != "own"] == list(after[4])


@pytest.mark.parametrize("name", OLD)
def test_gcc_12_is_wrong_in_what_the_warning_says(written: Callable[[str], Path], name: str) -> None:
    folder = written(name)
    encoded = merge("linked")
    wanted, found = meanings((folder / "wanted.btf").read_bytes()), meanings(bytes(encoded.data))
    arrays = ["Array", "Array", "Struct", "Struct only"]  # dimensions in reverse
    enums = ["Enum kind"]  # with a negative enumerator
    assert told(wanted - found) == sorted(
        [*arrays, *enums, "Enum64 wide", "Func first", "FuncProto", "Datasec .data..percpu", "Var own", "Var own"]
    )
    assert told(found - wanted) == sorted(
        [*arrays, *enums, "Enum wide", "Func first", "FuncProto", "Datasec .data..percpu"]
    )
    assert [each[4] for each in found if each[:2] == ("Enum", "wide")] == [(("LOW", 1),)]
    assert [re.sub(r"\d+ arrays", "N arrays", text) for text in encoded.report.warnings] == [
        "some of the BTF comes from gcc before 14, which omits enumerators above 2147483647, treats negative ones as "
        "unsigned, and may reverse the dimensions of arrays (N arrays of arrays in all units)"
    ]


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_functions_and_variables_are_counted_by_reason(written: Callable[[str], Path], name: str) -> None:
    written(name)
    report = merge("linked").report
    assert report.functions.kept == 6
    assert report.functions.left_out["ambiguous_address"] == 1  # `local`
    assert report.functions.left_out["no_symbol"] == 1  # `inlined`
    assert report.variables.kept == 2
    assert report.variables.left_out == {"ambiguous_symbol": 1, "declaration": 1}  # `own`; `shared`


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_objects_say_the_same_as_what_is_linked(written: Callable[[str], Path], name: str) -> None:
    folder = written(name)
    wanted = bytes(merge("linked").data)
    archive(Path("all.a"), [folder / "a.o", folder / "b.o"])
    Path("list").write_text("a.o\nb.o\n")
    for objects in (["a.o", "b.o"], ["b.o", "a.o"], ["all.a"]):  # the order is the link order
        assert bytes(merge("linked", objects=objects).data) == wanted
    common = ["merge", "-q", "--features", FEATURES, "--compiler-btf", "--detached", "out", "linked"]
    assert main([*common, "--objects", "list"]) == 0
    assert Path("out").read_bytes() == wanted


@pytest.mark.parametrize("name", ["gcc12", "gcc12-s390x"])
def test_objects_where_the_linker_has_left_it_out(written: Callable[[str], Path], name: str) -> None:
    written(name)
    wanted = bytes(merge("linked").data)
    rename_section(Path("linked"), b".BTF\0", b".FTB\0")
    with pytest.raises(InputError, match=r"linked: has no \.BTF; .*--objects names the objects"):
        merge("linked")
    assert bytes(merge("linked", objects=["a.o", "b.o"]).data) == wanted
    assert bytes(merge("linked", objects=["b.o", "a.o"]).data) != wanted


def rename_section(path: Path, name: bytes, other: bytes) -> None:
    data = path.read_bytes()
    at = data.rindex(name)
    path.write_bytes(data[:at] + other + data[at + len(name) :])


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_what_is_joined_by_the_linker_merges_too(written: Callable[[str], Path], name: str) -> None:
    """A relocatable file: variables have the places that its sections will have."""
    written(name)
    data = bytes(merge("joined", features=f"{FEATURES},global_var").data)
    sections = [each for each in BTF.from_bytes(data) if type(each).__name__ == "Datasec"]
    assert [each.name for each in sections] == [".data..percpu"]


def test_in_place_with_message_and_report(written: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    written("gcc14")
    wanted = bytes(merge("linked").data)
    assert main(["merge", "--features", FEATURES, "--compiler-btf", "--report", "r.json", "linked"]) == 0
    assert f"from 2 units of {NOTE}; " in capfd.readouterr().err
    with ElfImage.open("linked") as image:
        section = image.section(".BTF")
        assert section is not None
        assert bytes(image.data(section)) == wanted
    merged = json.loads(Path("r.json").read_text())["merged"]
    assert (merged["source"], merged["exact"], merged["note"], merged["objects"]) == ("compiler_btf", False, NOTE, 2)
    assert main(["verify", "-q", "--loader", "vmlinux", "linked"]) == 0


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_kernels_accept_it(written: Callable[[str], Path], name: str) -> None:
    written(name)
    assert main(["merge", "-q", "--compiler-btf", "--detached", "out", "linked"]) == 0
    assert main(["verify", "-q", "--loader", "vmlinux", "out"]) == 0
    assert main(["verify", "-q", "--loader", "user", "out"]) == 0


def test_merge_without_values_names_the_option(written: Callable[[str], Path]) -> None:
    written("gcc14")
    from pybtf.merging.linked import Sources, merge_file

    with pytest.raises(InputError, match=r"linked: has no values of objects .*--compiler-btf merges it"):
        merge_file("linked", make_options(FEATURES, 1), Sources())


def test_on_a_base(written: Callable[[str], Path]) -> None:
    folder = written("gcc14")
    (folder / "base.btf").write_bytes(bytes(merge("a.o", "default").data))
    options = make_options("default", 1, base=folder / "base.btf")
    split = merge_compiled("b.o", options)
    assert 0 < split.report.total_types < merge("b.o", "default").report.total_types


@pytest.mark.parametrize("name", ["gcc12", "gcc16"])
def test_features_that_are_off(written: Callable[[str], Path], name: str) -> None:
    """The same as in the reference: FLOAT becomes INT, and ENUM64 an ENUM with what fits."""
    written(name)
    kinds = merge("linked", "var").report.types
    assert "FLOAT" not in kinds
    assert "ENUM64" not in kinds
    assert kinds["INT"] > merge("linked").report.types["INT"]


# ---- pieces made in memory ----------------------------------------------------------------------------------------


def program(
    *pieces: Builder | bytes, symbols: Sequence[Symbol] = (), little: bool = True, between: bytes = b"", bits: int = 64
) -> bytes:
    """A linked file with these pieces, a function `f` at TEXT, and room for per-CPU variables."""
    order = "little" if little else "big"
    data = [each if isinstance(each, bytes) else each.to_bytes(order) for each in pieces]  # type: ignore[arg-type]
    sections = [
        Section(".text", bytes(256), flags=SHF_ALLOC | SHF_EXECINSTR, address=TEXT),
        Section(".data..percpu", bytes(256), flags=SHF_ALLOC | SHF_WRITE, address=PERCPU),
        Section(".BTF", between.join(data)),
    ]
    machine = "EM_X86_64" if little else "EM_S390"
    made = elf(sections, [Symbol("f", TEXT), *symbols], little=little, machine=machine, bits=bits)
    return made.data


def source() -> Builder:
    """`int f(int a)`."""
    made = Builder()
    number = made.add_int("int", 4, 1)
    made.add_func("f", made.add_func_proto(number, [Param("a", number)]), Linkage.GLOBAL)
    return made


def lines(path: Path, data: bytes, features: str = FEATURES) -> list[str]:
    path.write_bytes(data)
    return read(bytes(merge(path, features).data))[0]


F = ["INT 'int' 4, 0x1000020", "FUNC_PROTO '' 1, 'a' 1", "FUNC 'f' 2, linkage 0"]


@pytest.mark.parametrize("between", [b"", b"\0", bytes(7), bytes(5000)])
@pytest.mark.parametrize("little", [True, False])
def test_pieces_are_found_behind_each_other(tmp_path: Path, between: bytes, little: bool) -> None:
    data = program(source(), source(), source(), little=little, between=between)
    assert lines(tmp_path / "x", data) == F


def test_a_longer_header_and_a_gap_are_passed_over(tmp_path: Path) -> None:
    words, text = (1, 1 << 24, 4, 0x1000020), b"\0int\0"
    piece = raw_btf(words, text, more=bytes(8), gap=bytes(4))
    assert lines(tmp_path / "x", program(piece, source())) == F


def test_functions_that_are_left_out(tmp_path: Path) -> None:
    made = source()
    proto = made.add_func_proto(1, [])
    made.add_func("declared", proto, Linkage.EXTERN)
    made.add_func("inlined", proto, Linkage.STATIC)
    made.add_func("cloned", proto, Linkage.STATIC)
    made.add_func("twice", proto, Linkage.STATIC)
    made.add(Func("", proto))  # gcc 12: what a pointer refers to
    made.add_ptr(proto)
    symbols = [
        Symbol("declared", TEXT + 8), Symbol("cloned.isra.0", TEXT + 16), Symbol("twice", TEXT + 24, bind="LOCAL"),
        Symbol("twice", TEXT + 32, bind="LOCAL"), Symbol("z", TEXT + 40),
    ]  # fmt: skip
    (tmp_path / "x").write_bytes(program(made, symbols=symbols))
    encoded = merge(tmp_path / "x")
    assert read(bytes(encoded.data))[0] == [
        "INT 'int' 4, 0x1000020", "FUNC_PROTO '' 1", "PTR '' 2", "FUNC_PROTO '' 1, 'a' 1", "FUNC 'f' 4, linkage 0",
    ]  # fmt: skip
    assert encoded.report.functions.left_out == {"no_symbol": 1, "optimized": 1, "ambiguous_address": 1}


def test_prototypes_that_differ_between_sources(tmp_path: Path) -> None:
    other = Builder()
    number = other.add_int("long", 8, 1)
    other.add_func("f", other.add_func_proto(number, [Param("a", number)]), Linkage.GLOBAL)
    (tmp_path / "x").write_bytes(program(source(), other))
    encoded = merge(tmp_path / "x")
    assert encoded.report.functions.left_out == {"inconsistent": 1}
    assert not any(line.startswith("FUNC") for line in read(bytes(encoded.data))[0])


def test_parameters_without_names(tmp_path: Path) -> None:
    """They belong to a declaration. gcc 12 does not distinguish it from a definition, unless the object does."""
    made = Builder()
    number = made.add_int("int", 4, 1)
    made.add_func("f", made.add_func_proto(number, [Param("", number)]))
    path = tmp_path / "x"
    path.write_bytes(program(made, source()))
    encoded = merge(path)
    assert read(bytes(encoded.data))[0] == F
    assert encoded.report.functions.left_out == {}
    (tmp_path / "o").write_bytes(program(made))
    report = merge(tmp_path / "o", objects=[str(tmp_path / "o")]).report
    assert report.functions.left_out == {"unnamed_parameter": 1}


def test_variadic_functions(tmp_path: Path) -> None:
    made = Builder()
    number = made.add_int("int", 4, 1)
    made.add_func("f", made.add_func_proto(number, [Param("a", number), Param("", 0)]))
    assert lines(tmp_path / "x", program(made))[1:] == ["FUNC_PROTO '' 1, 'a' 1, '' 0", "FUNC 'f' 2, linkage 0"]


@pytest.mark.parametrize(
    ("features", "percpu_too", "wanted"),
    [
        ("global_var", False, {b"plain"}), ("var", True, {b"counter"}), ("var", False, None), ("float", True, None),
        ("var,global_var", True, {b"plain", b"counter"}),
    ],
)  # fmt: skip
def test_variables_of_the_symbol_table(features: str, percpu_too: bool, wanted: set[bytes] | None) -> None:
    """Only those that are wanted are looked for, and a stripped file has none."""
    sections = [Section(".data", bytes(8), flags=3)]
    symbols = [Symbol("plain", 0, 4, "OBJECT", ".data")]
    if percpu_too:
        sections.append(Section(".data..percpu", bytes(8), flags=3))
        symbols.append(Symbol("counter", 0, 4, "OBJECT", ".data..percpu"))
    with ElfImage("linked", elf(sections, symbols).data) as image:
        found = _objects(image, make_options(features, 1))
    assert (None if found is None else {name for name, facts in found.items() if facts[4]}) == wanted
    with ElfImage("linked", elf(sections, None).data) as image:
        assert _objects(image, make_options(features, 1)) is None


def test_objects_without_btf_are_told_if_they_have_code(tmp_path: Path) -> None:
    names = []
    for name, sections in (
        ("data.o", [Section(".data", b"x", flags=3)]),
        ("empty.o", [Section(".text", b"", flags=6), Section(".BTF", b"")]),
        ("code.o", [Section(".text", b"x", flags=6)]),
    ):
        names.append(str(tmp_path / name))
        (tmp_path / name).write_bytes(elf(sections, type="ET_REL").data)
    without: list[str] = []
    with ElfImage("linked", elf([Section(".text", b"x")]).data) as image:
        assert _of_objects(image, tuple(names), without) == []
    assert without == [str(tmp_path / "code.o")]


def percpu(name: str, offset: int, size: int, bind: str = "GLOBAL") -> Symbol:
    return Symbol(name, PERCPU + offset, size, "OBJECT", ".data..percpu", bind)


def test_variables_are_where_the_symbols_say(tmp_path: Path) -> None:
    made = source()
    made.add_var("declared", 1, Linkage.EXTERN)
    made.add_var("good", 1, Linkage.GLOBAL)
    made.add_var("of_another_size", 1, Linkage.GLOBAL)
    made.add_var("twice", 1, Linkage.STATIC)
    made.add_var("gone", 1, Linkage.STATIC)
    array = made.add_array(made.add_typedef("t", made.add_ptr(1)), 3, 1)
    made.add_var("many", made.add_const(array), Linkage.STATIC)
    made.add_datasec(".data..percpu", 0, [])
    again = source()
    again.add_var("good", 1, Linkage.GLOBAL)
    symbols = [
        percpu("declared", 4, 4), percpu("good", 0, 4), percpu("of_another_size", 8, 8), percpu("many", 16, 24),
        percpu("twice", 40, 4, "LOCAL"), Symbol("twice", TEXT, 4, "OBJECT", ".text", "LOCAL"),
    ]  # fmt: skip
    (tmp_path / "x").write_bytes(program(made, again, symbols=symbols))
    encoded = merge(tmp_path / "x")
    found = read(bytes(encoded.data))[0]
    ids = {line.split("'")[1]: id for id, line in enumerate(found, 1) if line.startswith("VAR")}
    assert set(ids) == {"good", "many"}
    assert found[-1] == f"DATASEC '.data..percpu' 40, {ids['good']} 0 4, {ids['many']} 16 24"
    assert encoded.report.variables.left_out == {"ambiguous_symbol": 2, "declaration": 2, "no_address": 1}


def test_tags(tmp_path: Path) -> None:
    made = source()
    struct_ = made.add_struct("s", 4, [Member("m", 1, 0)])
    made.add_decl_tag("of the member", struct_, 0)
    made.add_decl_tag("of f", 3)
    made.add_decl_tag("of a", 3, 0)
    variable = made.add_var("v", struct_, Linkage.GLOBAL)
    made.add_decl_tag("of v", variable)
    made.add_ptr(made.add_type_tag("user", 1))
    data = program(made, symbols=[percpu("v", 0, 4)])
    found = lines(tmp_path / "x", data)
    ids = {line.split("'")[0] + line.split("'")[1]: id for id, line in enumerate(found, 1)}
    tags = [line for line in found if line.startswith("DECL_TAG")]
    assert sorted(tags) == [
        f"DECL_TAG 'of a' {ids['FUNC f']}, 0x0",
        f"DECL_TAG 'of f' {ids['FUNC f']}, 0xffffffff",
        f"DECL_TAG 'of the member' {ids['STRUCT s']}, 0x0",
        f"DECL_TAG 'of v' {ids['VAR v']}, 0xffffffff",
    ]
    assert "TYPE_TAG 'user' 1" in found
    assert not any("DECL_TAG" in line for line in lines(tmp_path / "x", data, "var,type_tag"))
    with pytest.raises(EncodeError, match=r"\.BTF\+0x0: type 10 is a TYPE_TAG, and the feature type_tag is off"):
        merge(tmp_path / "x", "var,decl_tag")


def test_what_gcc_has_other_words_for(tmp_path: Path) -> None:
    """gcc 12 writes the bit `char` and the number after a FWD, gcc 14 the ENUM without a size. No kernel accepts these.
    """
    text = b"\0char\0fwd\0enum\0"
    words = [
        *record(1, 1, 0x3000008, name=1), *record(7, 6, name=6), *record(6, 0, name=10), *record(2, 2), *record(2, 3),
        *record(3, 0, 1, 1, 4), *record(3, 0, 6, 1, 3),
    ]  # fmt: skip
    path = tmp_path / "x"
    path.write_bytes(program(raw_btf(words, text)))
    encoded = merge(path)
    assert sorted(read(bytes(encoded.data))[0]) == [
        "ARRAY '' 0, 0x1, 0x8, 0x4", "ARRAY '' 0, 0x6, 0x8, 0x3", "ENUM 'enum' 4", "FWD 'fwd' 0",
        "INT 'char' 1, 0x1000008", "INT 'int' 4, 0x1000020", "PTR '' 2", "PTR '' 3",
    ]  # fmt: skip
    assert "reverse the dimensions of arrays (1 arrays of arrays in all units)" in encoded.report.warnings[0]


def test_objects_that_are_not_those_of_the_link(tmp_path: Path) -> None:
    linked, good, other = (tmp_path / name for name in ("linked", "good.o", "other.o"))
    more = source()
    more.add_float("float", 4)
    linked.write_bytes(program(source(), more))
    good.write_bytes(program(source()))
    other.write_bytes(program(source(), more, little=False))
    refuses(linked, r"\.BTF\+0x[0-9a-f]+: BTF that none of the objects has; .*link again", [str(good)])
    refuses(linked, r"other\.o: an object for another machine", [str(other)])
    other.write_bytes(elf([Section(".text", bytes(4), flags=SHF_ALLOC | SHF_EXECINSTR)], [Symbol("f")]).data)
    refuses(linked, r"linked: none of its objects has \.BTF", [str(other)])
    good.write_bytes(program(source(), more))
    warnings = merge(linked, objects=[str(good), str(other)]).report.warnings
    assert warnings == [f"nothing is in the BTF of {other} (1 of the objects, with code, but without BTF)"]


# ---- damage -------------------------------------------------------------------------------------------------------


def refuses(path: Path, message: str, objects: Sequence[str] = (), features: str = FEATURES) -> None:
    """One message, and the file as it was."""
    before = path.read_bytes()
    with pytest.raises(PybtfError, match=message) as caught:
        merge(path, features, objects)
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)
    assert main(["merge", "-q", "--compiler-btf", str(path), *(f"--objects={each}" for each in objects)]) == 1
    assert path.read_bytes() == before


INT = (1, 1 << 24, 4, 0x1000020)
TEXTS = b"\0int\0f\0"


def record(kind: int, third: int, *rest: int, name: int = 0, count: int = 0, flag: int = 0) -> tuple[int, ...]:
    return (name, flag << 31 | kind << 24 | count, third, *rest)


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (b"garbage", r"\+0x0: bytes 67 61 72 62; expected BTF as compilers write it"),
        (b"\x9f\xeb\1", r"\+0x0: BTF of 0 bytes with a header of 0; expected at most 3"),
        (raw_btf(INT, TEXTS, header={"hdr_len": 20}), r"with a header of 20"),
        (raw_btf(INT, TEXTS, header={"str_len": 0xFFFFFFF0}), r"BTF of \d+ bytes with a header of 24; expected"),
        (raw_btf(INT, TEXTS, header={"type_off": 0xFFFFFFFC}), r"BTF of \d+ bytes with a header of 24"),
        (raw_btf(INT, TEXTS, header={"version": 2}), "version 2; expected version 1"),
        (raw_btf(INT, TEXTS, header={"flags": 1}), "flags 0x1"),
        (raw_btf(INT, TEXTS, header={"str_off": 8, "str_len": 15}), "expected it to follow the types"),
        (raw_btf(INT, b"\0int"), "the last string has no end"),
        (raw_btf(INT, TEXTS, order=">"), "BTF in another byte order than the file's"),
        (raw_btf((*INT, *record(20, 0)), TEXTS), "type 2 has an unknown kind"),
        (raw_btf((*INT, *record(4, 4, count=1)), TEXTS), "the type section ends inside type 2"),
        (raw_btf((*INT, *record(2, 7)), TEXTS), "type 2 refers to type 7, which does not exist"),
        (raw_btf((*INT, *record(8, 1, name=99)), TEXTS), "name offset 0x63 in type 2"),
        (raw_btf((*INT, *record(8, 1)), TEXTS), "type 2 is not one that compilers write for C"),  # no name
        (raw_btf(record(1, 4, 0x20), TEXTS), "type 1 is not one"),  # an INT without a name
        (raw_btf(record(1, 32, 0x100, name=1), TEXTS), "type 1 is not one"),  # of 32 bytes
        (raw_btf(record(2, 0, count=1), TEXTS), "type 1 is not one"),  # a PTR with elements
        (raw_btf(record(6, 4, 0, 1, count=1), TEXTS), "type 1 is not one"),  # an enumerator without a name
        (raw_btf((*INT, *record(12, 1, name=5)), TEXTS), "type 2 refers to something that"),  # of FUNC, an INT
        (raw_btf((*INT, *record(12, 0, name=5)), TEXTS), "type 2 refers to something that"),  # of FUNC, void
        (raw_btf((*INT, *record(14, 1, 0, name=5), *record(2, 2)), TEXTS), "type 3 refers to something that"),
        (raw_btf((*INT, *record(13, 1), *record(12, 2, name=5, count=3)), TEXTS), "type 3 is not one"),  # linkage 3
        (raw_btf((*INT, *record(14, 1, 3, name=5)), TEXTS), "type 2 is not one"),
        (raw_btf((*INT, *record(17, 1, 0xFFFFFFFF, name=5)), TEXTS), "type 2 refers to something that"),  # of an INT
        (raw_btf((*INT, *record(17, 0, 0xFFFFFFFF, name=5)), TEXTS), "type 2 refers to something that"),
        (raw_btf((*record(4, 4, name=5), *record(17, 1, 0, name=5)), TEXTS), "type 2 is not one"),  # member 0 of none
        (raw_btf((*record(4, 4, name=5), *record(17, 1, 0, name=5, flag=1)), TEXTS), "type 2 is not one"),
    ],
)
def test_damage(tmp_path: Path, piece: bytes, message: str) -> None:
    """In the first piece, and in the second; the message has the place of the piece."""
    path = tmp_path / "x"
    path.write_bytes(program(piece, symbols=[percpu("f", 0, 4)]))
    refuses(path, message)
    first = source().to_bytes()
    path.write_bytes(program(first, piece, symbols=[percpu("f", 0, 4)]))
    refuses(path, rf"\.BTF\+{len(first):#x}: ")


def test_a_piece_that_ends_too_early(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(program(raw_btf(INT, TEXTS, header={"str_len": 2}), source()))
    refuses(path, r"x: \.BTF\+0x2a: bytes 6e 74 00 66; expected BTF as compilers write it")


def test_names_in_the_middle_of_each_other(tmp_path: Path) -> None:
    """Each has a thousand bytes of a single string: the strings of a unit would be 4 GB."""
    n = 1 << 16
    path = tmp_path / "x"
    words = [word for i in range(n) for word in record(8, 0, name=1 + i)]
    path.write_bytes(program(raw_btf(words, b"\0" + b"a" * (n + 1) + b"\0")))
    refuses(path, "names of more than [0-9]+ bytes in all")
    words = [word for i in range(500) for word in record(8, 0, name=1 + i)]  # as much as is allowed
    path.write_bytes(program(raw_btf(words, b"\0" + b"a" * 501 + b"\0")))
    refuses(path, "names that begin inside others")


def test_many_functions_of_long_names(tmp_path: Path) -> None:
    """Each name is looked up and kept; in all, they may be about twice as long as the strings."""
    path = tmp_path / "x"
    names = [b"%0100d" % i for i in range(2000)]
    functions = [word for i in range(2000) for word in record(12, 1, name=1 + i * 101)]
    path.write_bytes(program(raw_btf((*record(13, 0), *functions), b"\0" + b"\0".join(names) + b"\0"), source()))
    assert merge(path).report.units.kept == 2


def test_what_very_many_functions_share(tmp_path: Path) -> None:
    """A name or a prototype: looking at it for each would take hours, and as much memory."""
    path = tmp_path / "x"
    functions = [word for _ in range(1 << 17) for word in record(12, 1, name=1)]
    path.write_bytes(program(raw_btf((*record(13, 0), *functions), b"\0" + b"a" * 64 + b"\0")))
    refuses(path, "type [0-9]+: names that begin inside others, or a name or prototype that very many share")
    proto = [*record(13, 0, count=0xFFFF), *[1, 0] * 0xFFFF]
    path.write_bytes(program(raw_btf((*proto, *functions), b"\0a\0")))
    refuses(path, "prototype that very many share")


def test_many_pieces_and_tags_take_no_time(tmp_path: Path) -> None:
    piece = raw_btf((), b"\0")
    path = tmp_path / "x"
    path.write_bytes(program(*[piece] * 20000, source()))
    assert merge(path).report.units.kept == 20001
    words = [*INT, *record(4, 4, name=5)]
    for _ in range(100000):
        words += record(17, 2, 0xFFFFFFFF, name=5)
    path.write_bytes(program(raw_btf(words, TEXTS)))
    assert merge(path).report.types["DECL_TAG"] >= 1


def test_nothing_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(program(bytes(64)))
    refuses(path, r"x: has no \.BTF")
    path.write_bytes(program(raw_btf((), b"\0")))
    refuses(path, "no unit has anything to encode")


@pytest.mark.parametrize(
    ("features", "message"),
    [("all", "the feature true_signature"), ("var,force_cu_merging", "the feature force_cu_merging")],
)
def test_features_that_need_the_dwarf(tmp_path: Path, features: str, message: str) -> None:
    (tmp_path / "x").write_bytes(program(source()))
    with pytest.raises(EncodeError, match=message):
        merge(tmp_path / "x", features)


@pytest.mark.parametrize("other", [["--store", "."], ["--verify"]])
def test_options_that_do_not_go_together(other: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "--compiler-btf", *other, "x"]) == 2
    said = f"--compiler-btf and {other[0]} do not go together: that is about values of pybtf object"
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("seed", range(30))
def test_damage_anywhere(recorded: Path, tmp_path: Path, seed: int) -> None:
    """Any byte of the section may change: the outcome is an error or BTF."""
    rng = random.Random(seed)
    good = (recorded / rng.choice((*OLD, *NEW)) / "linked").read_bytes()
    path = tmp_path / "x"
    path.write_bytes(good)
    with ElfImage.open(str(path)) as image:
        section = image.section(".BTF")
        assert section is not None
        at, size = section.offset, section.size
    for _ in range(20):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            if rng.random() < 0.5:
                data[at + rng.randrange(size)] = rng.randrange(256)
            else:
                where = at + rng.randrange(size // 4) * 4
                data[where : where + 4] = struct.pack("<I", rng.choice((0, 1, 2, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
        path.write_bytes(data)
        status = 1
        try:
            BTF.from_bytes(bytes(merge(path, f"{FEATURES},global_var").data))
        except PybtfError as error:
            status = error.exit_code
        assert status == 1
