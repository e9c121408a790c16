"""`pybtf show`: pahole's text (fixtures/show, recorded by tools/golden/show_golden.py), names, options, and damage."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf.kind_numbers import FUNC
from pybtf.btf.reader import BTF
from pybtf.btf.types import (
    Array,
    Const,
    Enum,
    Enum64,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Union,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_types import Shower, show_types
from pybtf.errors import InputError
from tests.conftest import ROOT, environment
from tools.compare.show_compare import definitions

GOLDEN = ROOT / "fixtures" / "golden"
FOLDER = ROOT / "fixtures" / "show"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())["inputs"]
FUNCTIONS = json.loads((FOLDER / "functions" / "golden.json").read_text())
SAMPLE = GOLDEN / "00_kernel_like.gcc-O2-5-exe.usual.btf"

Show = Callable[..., str]


@pytest.fixture
def show(capfdbinary: pytest.CaptureFixture[bytes]) -> Show:
    """`show("--hex", "pair", path)`: standard output of the command, which must succeed."""

    def run(*arguments: object) -> str:
        status = main(["show", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        assert (status, err) == (0, b"")
        return out.decode()

    return run


@pytest.fixture
def refused(capfdbinary: pytest.CaptureFixture[bytes]) -> Show:
    """The one message of a command that fails, with nothing on standard output."""

    def run(*arguments: object, status: int = 1) -> str:
        assert main(["show", *map(str, arguments)]) == status
        out, err = capfdbinary.readouterr()
        assert out == b""
        assert err.count(b"\n") == 1
        return err.decode()

    return run


# The same text


@pytest.mark.parametrize("name", EXPECTED)
def test_text_is_paholes(name: str) -> None:
    view = View((GOLDEN / name).read_bytes(), name)
    shower = Shower(view)
    found: dict[str, list[str]] = {}
    for id in shower.composites():
        text = shower.text(id)
        found.setdefault(text.split(b" {")[0].decode(), []).append(hashlib.sha256(text).hexdigest()[:16])
    assert EXPECTED[name]
    for title, digest in EXPECTED[name]:
        assert digest in found[title], title
    assert found.keys() == {title for title, _ in EXPECTED[name]}


def functions(path: Path) -> str:
    """The functions of a file as lines in order."""
    view = View(path.read_bytes(), path.name)
    shower = Shower(view)
    texts = [shower.text(id).decode().strip() for id in range(1, len(view)) if view.kind(id) == FUNC]
    return "\n".join(sorted(texts))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_pfuncts(name: str) -> None:
    assert hashlib.sha256(functions(GOLDEN / name).encode()).hexdigest()[:16] == FUNCTIONS[name]


def test_odd_functions_are_pfuncts() -> None:
    """Tags, pointers to functions with and without names, and only dots as parameters."""
    assert functions(FOLDER / "functions" / "odd.btf") + "\n" == (FOLDER / "functions" / "odd.txt").read_text()


def test_alignment_of_nameless_types(show: Show) -> None:
    """It is after the brace of a member's own type, otherwise after the name."""
    path = FOLDER / "nameless" / "types.btf"
    assert show("s", path) + show("w", path) == (FOLDER / "nameless" / "expected.txt").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_readable_text_is_paholes(path: Path) -> None:
    view = View((GOLDEN / f"{path.stem}.btf").read_bytes(), path.stem)
    texts = {text.decode() for text in show_types(view, Shower(view).composites())}
    recorded = set(definitions(path.read_text()))
    assert recorded
    assert recorded <= texts


def test_an_empty_line_follows_each_type(show: Show) -> None:
    text = show("struct pair", SAMPLE)
    assert text.startswith("struct pair {\n\tint                        a;                    /*     0     4 */\n")
    assert text.endswith("};\n\n")
    assert show("struct pair", "struct pair", SAMPLE) == text


# What can be named


def built(tmp_path: Path, *types: Type) -> Path:
    builder = BtfBuilder()
    builder.extend(types)
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return built(
        tmp_path,
        Int("int", 4, 32),
        Struct("tcp_a", 8, (Member("x", 1, 0), Member("y", 1, 32))),
        Union("tcp_b", 4, (Member("x", 1, 0),)),
        Ptr(2),
        FuncProto(1, (Param("a", 4), Param("", 0))),
        Func("tcp_call", 5),
        Array(1, 1, 3),
        Var("tcp_table", 7),
        Typedef("tcp_t", 2),
        Struct("user", 16, (Member("p", 4, 0), Member("a", 2, 64))),
        Struct("other", 8, (Member("x", 1, 0),)),
        Struct("other", 4, (Member("x", 1, 0),)),
    )


def test_kinds(small: Path, show: Show) -> None:
    assert show("tcp_call", small) == "int tcp_call(struct tcp_a * a, ...);\n\n"
    assert show("variable tcp_table", small) == "int tcp_table[3];\n\n"
    assert show("typedef tcp_t", small) == "typedef struct tcp_a tcp_t;\n\n"
    assert show("2", small) == show("struct tcp_a", small)


def test_qualified_arrays(tmp_path: Path, show: Show) -> None:
    """Compilers qualify both the array and its elements."""
    path = built(
        tmp_path, Int("int", 4, 32), Const(1), Array(2, 1, 3), Const(3), Volatile(1), Const(5), Array(6, 1, 3),
        Array(7, 1, 2), Const(8), Volatile(9), Array(1, 1, 5), Const(11), Var("both", 4), Var("two", 10),
        Var("outside", 12), Var("inside", 3), TypeTag("tag", 4), Var("tagged", 17), TypeTag("tag", 11), Const(19),
        Var("within", 20)
    )  # fmt: skip
    expected = {
        "both": "const int both[3];", "two": "const volatile int two[2][3];", "outside": "const int outside[5];",
        "inside": "const int inside[3];", "tagged": "const int tagged[3];", "within": "const int within[5];"
    }  # fmt: skip
    assert {name: " ".join(show(name, path).split()) for name in expected} == expected


def test_patterns_and_lists(small: Path, show: Show) -> None:
    assert show(small) == "struct tcp_a\nunion tcp_b\nstruct user\nstruct other\nstruct other\n"
    assert show("--sort", "--sizes", small) == "other\t8\t0\nother\t4\t0\ntcp_a\t8\t0\ntcp_b\t4\t0\nuser\t16\t0\n"
    assert show("--sizes", "tcp_?", small) == "tcp_a\t8\t0\ntcp_b\t4\t0\n"
    assert show("struct *r", small).count("struct other {") == 2


def test_selections(small: Path, show: Show) -> None:
    assert show("--contains", "tcp_a", small) == "user\n"
    assert show("--find-pointers-to", "tcp_a", small) == "user: p\n"
    assert show("--holes", "1", small) == ""
    assert show("-H", "0", "--sizes", "user", small) == "user\t16\t0\n"


def test_hexadecimal(small: Path, show: Show) -> None:
    lines = show("--hex", "user", small).splitlines()
    assert lines[1].endswith("/*     0   0x8 */")
    assert lines[2].endswith("/*   0x8   0x8 */")


def test_json(small: Path, show: Show) -> None:
    (user,) = json.loads(show("--json", "user", small))
    assert (user["kind"], user["size"], user["holes"]) == ("struct", 16, 0)
    assert [(each["name"], each["offset"], each["type"]) for each in user["members"]] == [
        ("p", 0, "struct tcp_a *"), ("a", 8, "struct tcp_a"),
    ]  # fmt: skip
    (call,) = json.loads(show("--json", "tcp_call", small))
    assert (call["kind"], call["text"]) == ("function", "int tcp_call(struct tcp_a * a, ...);")


def test_kinds_in_json_are_the_words_in_front_of_names(tmp_path: Path, show: Show) -> None:
    path = built(
        tmp_path,
        Int("int", 4, 32), Struct("s", 0, ()), Union("u", 0, ()), Enum("e", 4), Enum64("e64", 8), Typedef("t", 1),
        FuncProto(1, ()), Func("f", 7), Var("v", 1), Fwd("gone"),
    )  # fmt: skip
    named = ["struct s", "union u", "enum e", "enum e64", "typedef t", "function f", "variable v"]
    for of in (named, ["*"]):
        rows = json.loads(show("--json", *of, path))
        assert sorted(f"{row['kind']} {row['name']}" for row in rows) == sorted(named)
    assert json.loads(show("--json", "gone", path))[0]["kind"] == "forward"


def test_names_that_are_not_there(small: Path, show: Show, refused: Show) -> None:
    assert "no type is called 'tcp_c'; expected the name of a type. Nearest: " in refused("tcp_c", small)
    assert "no type is called 'union user'" in refused("union user", small)
    assert "no type is called 'zz*'" in refused("zz*", small)
    assert r"no type is called 'a\xff\n'" in refused("a\udcff\n", small)
    assert "no type has the id 99; expected 1 to 12" in refused("99", small)
    for option in ("--contains", "--find-pointers-to"):
        words = "no type is called 'tcp_c'; expected the name of a struct or union. Nearest: "
        assert words in refused(option, "tcp_c", small)
        assert "'tcp_call' is neither a struct nor a union" in refused(option, "tcp_call", small)
        assert show(option, "other", small) == ""
        assert refused(option, "tcp_cal", small).endswith(" union. Nearest: tcp_a\n")
    assert refused("struct tcp_cal", small).endswith(" type. Nearest: tcp_a\n")
    assert refused("struct ", small).endswith(" the name of a type\n")


def test_names_that_contain_another(tmp_path: Path, refused: Show) -> None:
    """The shortest three, in the same order each time."""
    path = built(tmp_path, *(Struct(f"long_list_head_{n}", 4) for n in range(10, 40)))
    near = "Nearest: long_list_head_10, long_list_head_11, long_list_head_12\n"
    assert refused("LIST", path).endswith(near)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument 'FILE'"),
        (["--holes", "x", SAMPLE], "--holes expects a number"),
        (["--hex", "--json", SAMPLE], "do not go together"),
        (["--contains", "a", "b", SAMPLE], "name none"),
        (["class x", SAMPLE], "'class x': unknown word 'class'; expected one of struct"),
        (["--base", "-", "-"], "standard input can be read only once"),
        (["--colour", SAMPLE], "--colour"),
    ],
)
def test_usage(arguments: list[object], message: str, refused: Show) -> None:
    assert message in refused(*arguments, status=2)


# Damage


PACKED: dict[str, tuple[list[Type], str, list[str]]] = {
    # types besides 1, `long int` of four bytes, and 2, `u64`; what is shown; ends of structs, from `pahole -E`
    "held by a union of another size": (
        [Struct("s", 8, (Member("a", 2, 0),)), Union("u", 12, (Member("x", 3, 0), Member("y", 1, 0)))],
        "u", ["} __attribute__((__packed__)) x; /*     0     8 */", "};"],
    ),
    "which is no matter if its own alignment fits": (
        [Struct("s", 4, (Member("a", 1, 0),)), Union("u", 12, (Member("x", 3, 0), Member("y", 2, 0)))],
        "u", ["} x; /*     0     4 */", "};"],
    ),
    "within what is packed for its place": (
        [
            Struct("s", 8, (Member("a", 2, 0),)),
            Struct("m", 24, (Member("i", 1, 0), Member("x", 3, 32), Member("j", 2, 128))),
            Struct("o", 40, (Member("c", 1, 0), Member("m", 4, 32), Member("z", 2, 256))),
        ],
        "o", ["} x; /*     8     8 */", "} __attribute__((__packed__)) m; /*     4    24 */", "};"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PACKED)
def test_what_is_packed(case: str, tmp_path: Path, show: Show) -> None:
    """As in pahole if `long` has four bytes, so that 64-bit numbers are unaligned."""
    types, name, expected = PACKED[case]
    builder = BtfBuilder()
    builder.extend((Int("long int", 4, 32), Int("u64", 8, 64), *types))
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    assert [line.strip() for line in show("-E", name, path).splitlines() if "}" in line] == expected


BITS: dict[str, tuple[Struct, list[str]]] = {
    # types besides 1 `unsigned int`, 2 `char`, 3 `long int`; pahole's lines about unused bits
    "a byte behind": (
        Struct("s", 6, (Member("a", 1, 0, 31), Member("b", 1, 31, 2), Member("c", 2, 40))),
        [
            "/* XXX 7 bits hole, try to pack */",
            "/* sum members: 1 */",
            "/* sum bitfield members: 33 bits, bit holes: 1, sum bit holes: 7 bits */",
        ],
    ),
    "the end behind": (
        Struct("s", 5, (Member("a", 1, 0, 31), Member("b", 1, 31, 2))),
        ["/* bit_padding: 7 bits */"],
    ),
    "bytes behind the next unit": (
        Struct("s", 19, (Member("a", 3, 0, 40), Member("b", 3, 40, 64))),
        ["/* padding: 3 */", "/* bit_padding: 24 bits */"],
    ),
    "a unit that a smaller one shares": (
        Struct("s", 2, (Member("a", 2, 0, 6), Member("b", 1, 6, 1), Member("c", 2, 8))),
        [
            "/* XXX 1 bit hole, try to pack */",
            "/* sum members: 1 */",
            "/* sum bitfield members: 7 bits, bit holes: 1, sum bit holes: 1 bits */",
        ],
    ),
}


@pytest.mark.parametrize("case", BITS)
def test_bit_fields_that_pass_the_end_of_their_unit(case: str, tmp_path: Path, show: Show) -> None:
    """As gcc lays them out in packed structs. The text is pahole's."""
    struct, expected = BITS[case]
    builder = BtfBuilder()
    builder.extend((Int("unsigned int", 4, 32), Int("char", 1, 8), Int("long int", 8, 64), struct))
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    words = "XXX", "sum ", "padding", "next fields"
    text = show("s", path)
    assert [line.strip() for line in text.splitlines() if any(word in line for word in words)] == expected
    assert show("--bit-holes", "1", path) == (text if "hole" in text else "")


def test_an_empty_class_takes_no_room(tmp_path: Path, show: Show) -> None:
    """A C++ class without members has one byte when it is alone. The text is pahole's."""
    builder = BtfBuilder()
    members = Member("a", 1, 0), Member("b", 1, 16)
    builder.extend((Struct("e", 1), Struct("o", 4, members)))
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    assert "/* size: 1, cachelines: 0, members: 0 */\n\t/* padding: 1 */\n" in show("e", path)
    text = show("o", path)
    assert "\tstruct e                   a;                    /*     0     0 */\n" in text
    assert "/* XXX 2 bytes hole, try to pack */" in text
    assert "/* forced alignments: 1, forced holes: 1, sum forced holes: 2 */" in text


@pytest.mark.parametrize(
    "types",
    [
        [Struct("s", 4, (Member("m", 1, 0),))],
        [Struct("s", 4, (Member("m", 2, 0),)), Array(1, 1, 1)],
        [FuncProto(2, ()), Ptr(1), Var("s", 2)],
    ],
)
def test_circles(types: list[Type], tmp_path: Path, refused: Show) -> None:
    message = refused("s", built(tmp_path, *types))
    assert "x.btf: types+0x" in message
    assert "contains itself" in message or "nests too deeply" in message


def test_sizes_that_are_too_large(tmp_path: Path, show: Show) -> None:
    """A bit-field in a type of 2^29 bytes: its number of bits does not fit into 32 bits."""
    member = Member("m", 1, 0, 3)
    path = built(tmp_path, Int("i", 1 << 29, 32), Struct("s", 0xFFFFFFFF, (member, Member("n", 1, 8))))
    assert "size: 4294967295" in show("s", path)


def test_what_has_no_layout(refused: Show) -> None:
    """Integers, pointers and arrays, by name or by id; names of several words are names."""
    btf = BTF.from_file(SAMPLE)
    pointer = next(type.id for type in btf if isinstance(type, Ptr))
    unsigned = next(type for type in btf if type.name == "unsigned int")
    for named, kind, id in ((str(pointer), "PTR", pointer), ("unsigned int", "INT", unsigned.id)):
        said = refused(named, SAMPLE)
        assert f"is of the kind {kind}; expected a struct" in said
        assert f"pybtf dump --format raw --root {id} FILE prints it" in said
    assert f"FILE comes last: pybtf show pair {SAMPLE}" in refused(SAMPLE, "pair", status=2)
    assert f"FILE comes last: pybtf show 'struct p*' {SAMPLE}" in refused(SAMPLE, "struct p*", status=2)
    assert BTF.from_file(SAMPLE).sizeof("unsigned int") == 4


def test_a_keyword_and_its_name_are_one_argument(refused: Show) -> None:
    assert "write both as one argument: 'union pair'" in refused("number", "union", "pair", SAMPLE, status=2)
    assert "write both as one argument: 'enum NAME'" in refused("enum", SAMPLE, status=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pair"], "pair: no such file; expected a file as the last argument. If it is a name, FILE is missing: pybtf"),
        (["pair"], "FILE is missing: pybtf show pair FILE."),
        (["a", "pair*"], "If it is a pattern, FILE is missing: pybtf show pair* FILE."),
        (["a.btf"], "a.btf: no such file\n"),
        (["./pair"], "./pair: no such file\n"),
        (["abe"], "abe: no such file. Did you mean abel?"),
    ],
)
def test_the_file_is_missing(
    arguments: list[str], said: str, refused: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word that can be a name, and is not nearly the name of a file here, is a name."""
    (tmp_path / "abel").touch()
    monkeypatch.chdir(tmp_path)
    assert said in refused(*arguments)


def test_ids() -> None:
    view = View(SAMPLE.read_bytes(), "x")
    shower = Shower(view)
    for id in (0, len(view)):
        with pytest.raises(IndexError):
            shower.text(id)
        with pytest.raises(IndexError):
            shower.sums(id)
    integer = next(type.id for type in BTF.from_file(SAMPLE) if isinstance(type, Int))
    with pytest.raises(IndexError):
        shower.members(integer)


def test_a_name_of_nothing_is_the_first_text() -> None:
    """It is written into a buffer that has no memory yet."""
    builder = BtfBuilder()
    builder.extend([Int("", 4, 32)])
    assert Shower(View(builder.tobytes(), "x")).type_name(1) == b""


def test_a_struct_that_contains_itself_stops_the_shower() -> None:
    builder = BtfBuilder()
    builder.add(Struct("s", 4, (Member("m", 1, 0),)))
    shower = Shower(View(builder.tobytes(), "x"))
    for _ in range(2):
        with pytest.raises(InputError, match="type 1 contains itself"):
            shower.text(1)


def test_imports_nothing_dear() -> None:
    code = f"import sys; from pybtf.cli.main import main; assert main(['show', 'pair', {str(SAMPLE)!r}]) == 0"
    code += "; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    modules = set(done.stderr.split())
    dear = {"click", "typing", "enum", "json", "dataclasses", "pathlib", "ctypes", "lzma", "difflib", "fnmatch", "re"}
    assert not dear & {module.split(".")[0] for module in modules}
    assert not {"pybtf.btf.reader", "pybtf.elf.image", "pybtf.pipeline.passes", "pybtf.cli.encode"} & modules
