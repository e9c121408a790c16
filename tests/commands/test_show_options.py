"""Options of `pybtf show` and `pybtf-pahole`: pahole's text (fixtures/show/options, show_golden.py), and limits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf.pahole.alike
from pybtf.btf.kind_numbers import STRUCT
from pybtf.btf.kinds import IntEncoding
from pybtf.btf.types import (
    Array,
    Const,
    Enum,
    Enumerator,
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
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_types import Shower
from pybtf.pahole.main import main as pahole
from tests.conftest import ROOT

FOLDER = ROOT / "fixtures" / "show" / "options"
EXPECTED: dict[str, dict[str, dict[str, str]]] = json.loads((FOLDER / "expected.json").read_text())
CASES = [(name, options) for name, lists in EXPECTED.items() for options in lists]
SPELT = {"-q": "--no-comments"}
"""pahole's options whose names in `pybtf show` differ."""

Run = Callable[..., str]


# The same text


@pytest.mark.parametrize(("name", "options"), CASES)
def test_text_is_paholes(name: str, options: str, run: Run) -> None:
    path = FOLDER / f"{name}.btf"
    spelt = [SPELT.get(option, option) for option in options.split()]
    for type, text in EXPECTED[name][options].items():
        assert run(main, "show", *spelt, type, path) == text, type


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_same_with_paholes_options(name: str, options: str, run: Run) -> None:
    for type, text in EXPECTED[name][options].items():
        assert run(pahole, "-F", "btf", *options.split(), "-C", type, FOLDER / f"{name}.btf") == text, type


def test_embedded_flexible_arrays(run: Run) -> None:
    """Through typedefs and qualifiers, and in nested structs, but not in unions or arrays."""
    path, expected = FOLDER / "flexible.btf", (FOLDER / "flexible.selected.txt").read_text()
    assert expected.count("struct h {") == 1
    assert "struct o {" not in expected
    assert run(pahole, "-F", "btf", "--with_embedded_flexible_array", path) == expected
    ours = run(main, "show", "--with-embedded-flexible-array", path)
    assert ours.replace("\n\n", "\n") == expected.replace("\n\n", "\n")


def test_types_of_one_name(run: Run) -> None:
    """If they are alike, pahole prints the first."""
    expected = (FOLDER / "alike.selected.txt").read_text()
    assert run(pahole, "-F", "btf", FOLDER / "alike.btf") == expected
    assert expected.count("struct between {") == 2
    assert expected.count("struct before {") == 1
    by_name = (FOLDER / "alike.sorted.txt").read_text()
    assert run(pahole, "-F", "btf", "--sort", FOLDER / "alike.btf") == by_name
    assert by_name.count("struct before {") == 3
    users = run(pahole, "-Fbtf", "-ftarget", FOLDER / "alike.btf")
    assert users == (FOLDER / "alike.users.txt").read_text() == "user: p\n"


def test_tags_of_pointers(run: Run, tmp_path: Path) -> None:
    """Recorded from pahole, except for the last: there, `-p` loses the name of the member."""
    types = [
        Int("int", 4, 32, IntEncoding.SIGNED), Int("long int", 8, 64, IntEncoding.SIGNED),
        FuncProto(1, (Param("", 1),)), TypeTag("rcu", 3), Ptr(4), Ptr(1), Const(6), TypeTag("user", 7), Ptr(8),
        Struct("", 4, (Member("x", 1, 0),)), TypeTag("user", 10), Ptr(11), FuncProto(0, (Param("f", 5),)), Ptr(13),
        Struct("named", 4, (Member("x", 1, 0),)), TypeTag("rcu", 15), Ptr(16),
    ]  # fmt: skip
    chosen = {"f": 5, "p": 9, "s": 12, "g": 14, "n": 17}
    members = [Member(name, type, 64 * at, 0) for at, (name, type) in enumerate(chosen.items())]
    path = built(tmp_path, *types, Struct("s", 40, tuple(members)))
    lines = [
        "\tint                        (*f)(int);            /*     0     8 */",
        "\tconst int *  *             p;                    /*     8     8 */",
        "\tstruct {",
        "\t\tint        x;                    /*     0     4 */",
        "\t} * s; /*    16     8 */",
        "\tvoid                       (*g)(int ()(int) * f); /*    24     8 */",
        "\tstruct named *             n;                    /*    32     8 */",
    ]
    assert run(pahole, "-F", "btf", "-C", "s", path).splitlines()[1 : 1 + len(lines)] == lines
    assert "\tstruct named {\n\t\tint                x;\n\t} *n; " in run(main, "show", "-p", "s", path)


def test_tags_of_other_types(run: Run, tmp_path: Path) -> None:
    """Recorded from pahole: as after a `const`, a struct loses the name of its member, and a union does not."""
    types = [
        Int("int", 4, 32, IntEncoding.SIGNED), Int("long int", 8, 64, IntEncoding.SIGNED), Array(1, 1, 3),
        Struct("", 4, (Member("x", 1, 0),)), Union("", 4, (Member("x", 1, 0),)), Enum("", 4, (Enumerator("A", 0),)),
        *(TypeTag("tag", of) for of in (3, 4, 5, 6)), Array(7, 1, 5), Array(8, 1, 2), Const(7), Array(1, 1, 0),
        TypeTag("tag", 14), FuncProto(1, (Param("", 1),)), Ptr(16), TypeTag("tag", 17),
    ]  # fmt: skip
    chosen = {"a": 7, "aa": 11, "s": 8, "as": 12, "u": 9, "e": 10, "ca": 13, "f": 18, "z": 15}
    members = [Member(name, type, 512 * at, 0) for at, (name, type) in enumerate(chosen.items())]
    path = built(tmp_path, *types, Struct("s", 512, tuple(members)))
    said = run(pahole, "-F", "btf", "-q", "--suppress_aligned_attribute", "-C", "s", path)
    assert said == """\
struct s {
	int                        a[3];
	int                        aa[3][5];
	struct {
		int                x;
	};
	struct {
		int                x;
	}[2];
	union {
		int                x;
	} u;
	enum {
		A = 0,
	};
	const int                  ca[3];
	int                        (*f)(int);
	int                        z[];
};

"""
    said = run(main, "show", "-E", "-p", "s", path)
    assert "a[3]; " in said
    assert "\tstruct {\n\t\tint                x; " in said


def test_very_many_types_of_one_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is compared only with some of the others."""
    compared: list[None] = []

    def alike(names: tuple[bytes, ...], others: tuple[bytes, ...]) -> bool:
        compared.append(None)
        return real(names, others)

    real = pybtf.pahole.alike._alike
    monkeypatch.setattr(pybtf.pahole.alike, "_alike", alike)
    builder = BtfBuilder()
    builder.add(Int("int", 4, 32, IntEncoding.SIGNED))
    for number in range(8_000):
        members = (Member(f"m{number}", 1, 0), Member("last" if number % 3 else "", 1, 0))
        builder.add(Struct("same", 4, members))
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    for options in ([], ["--sort"]):
        assert run(pahole, "-F", "btf", *options, path).count("struct same {") == 8_000
    assert 8_000 < len(compared) <= 8_000 * pybtf.pahole.alike.MOST_ALIKE


def test_enum_that_is_only_declared(run: Run, tmp_path: Path) -> None:
    path = built(tmp_path, Enum("e", 4, ()))
    assert run(pahole, "-F", "btf", "-C", "e", path) == "enum e;\n\n"
    assert run(main, "show", "e", path) == "enum e;\n\n"


def test_contains_enumerator(
    run: Run, refused: Callable[..., str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """pahole prints the first that has it, without a semicolon."""
    path, expected = FOLDER / "enums.btf", (FOLDER / "enums.selected.txt").read_text()
    assert expected.startswith("enum big {")
    assert run(pahole, "-F", "btf", "--contains_enumerator=Y", path) == expected
    assert run(pahole, "-F", "btf", "--contains_enumerator", "Y", "-C", "neg", path) == expected
    assert run(main, "show", "--contains-enumerator", "Y", path) == EXPECTED["enums"][""]["big"]
    assert run(main, "show", "--contains-enumerator=A", "--hex", path) == EXPECTED["enums"]["--hex"]["neg"]
    found = json.loads(run(main, "show", "--contains-enumerator=D", "--json", path))
    assert [each["name"] for each in found] == ["neg"]
    assert "no enumerator is called 'neg'" in refused(main, "show", "--contains-enumerator", "neg", path)
    assert "name none" in refused(main, "show", "--contains-enumerator=D", "neg", path, status=2)
    for other in ("--sizes", "-R", "--contains=neg", "--packed", "-H0"):
        assert "do not go together" in refused(main, "show", "--contains-enumerator=D", other, path, status=2)
    assert pahole(["-Fbtf", "--contains_enumerator=gone", str(path)]) == 0
    assert capfdbinary.readouterr() == (b"", b"pybtf-pahole: %s: no enumerator is called 'gone'\n" % os.fsencode(path))


def test_cache_lines(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    path = FOLDER / "lines.btf"
    expected = EXPECTED["lines"]["-c 128"]["pointer_first"]
    assert run(main, "show", "--cacheline", "128", "pointer_first", path) == expected
    assert run(pahole, "-Fbtf", "--cacheline_size=128", "-Cpointer_first", path) == expected
    assert run(pahole, "-Fbtf", "-c0", "-Cpointer_first", path) == EXPECTED["lines"][""]["pointer_first"]
    picture = tmp_path / "x.svg"
    assert run(main, "show", "-c", "32", "--svg", picture, "pointer_first", path) == ""
    assert picture.read_text().count('class="side"') == len(range(0, 200, 32))
    for size, why in (("0", "at least 1"), ("x", "not 'x'"), ("-1", "not '-1'"), (str(1 << 32), "at most")):
        assert why in refused(main, "show", f"--cacheline={size}", "in", path, status=2)
    assert "at most 4,096" in refused(main, "show", "-c5000", "--svg", "-", "in", path, status=2)
    for other in ("--sizes", "--json", "--packable"):
        assert "do not go together" in refused(main, "show", other, "-c32", "in", path, status=2)


def test_bits_that_are_left_out_have_the_type_of_a_member(run: Run, tmp_path: Path) -> None:
    """Enums are printed with contents if types are expanded, but not if pointers are, too. Recorded from pahole."""
    enum = Enum("e", 4, (Enumerator("A", 1),))
    bits = tuple(Member(name, type, at, 3) for name, type, at in (("a", 1, 0), ("b", 2, 32), ("c", 3, 64)))
    path = built(tmp_path, Int("int", 4, 32, IntEncoding.SIGNED), enum, Typedef("t", 2), Struct("s", 12, bits))
    boundary = "\t/* Force alignment to the next boundary: */\n"
    inside = "enum e {\n\t\tA = 1,\n\t} :0;\n"
    for options, b, c in [
        (["-E"], inside, "/* typedef t */ " + inside),
        (["-E", "-p"], f"{'enum e':<26} :0;\n", f"{'t':<26} :0;\n"),
        ([], f"{'enum e':<26} :0;\n", f"{'t':<26} :0;\n"),
    ]:
        text = run(pahole, "-F", "btf", *options, "-C", "s", path)
        assert text.count(boundary) == 2
        assert boundary + "\t" + b in text
        assert boundary + "\t" + c in text


@pytest.mark.parametrize(
    ("before", "at", "combined"),
    [
        ([("a", 2, 0)], 11, True),  # pahole's text
        ([("z", 2, 0), ("a", 2, 8)], 19, True),  # pahole has `:0` instead, which would lead to the next unit,
        ([("z", 2, 0), ("a", 3, 8)], 11, False),  # and no bit-field here
    ],
)
def test_bits_that_are_left_out_behind_what_is_no_bit_field(
    before: list[tuple[str, int, int]], at: int, combined: bool, run: Run, tmp_path: Path
) -> None:
    """The text is C and must give the struct the same layout."""
    members = *(Member(*each) for each in before), Member("b", 1, at, 2)
    types = Int("int", 4, 32, IntEncoding.SIGNED), Int("char", 1, 8, IntEncoding(0)), Struct("", 0, ())
    text = run(pahole, "-F", "btf", "-C", "s", built(tmp_path, *types, Struct("s", 4, members)))
    skipped = "\t/* XXX 3 bits hole, try to pack */\n\tint                        :3;\n"
    assert skipped + ("\t/* Bitfield combined with previous fields */\n\n" if combined else "\n") in text


def test_a_bit_field_behind_a_member_without_a_size(run: Run, tmp_path: Path) -> None:
    """There is nothing there that it could be combined with."""
    types = Int("int", 4, 32, IntEncoding.SIGNED), Int("short", 2, 16, IntEncoding.SIGNED), Struct("", 0, ())
    members = Member("a", 2, 0), Member("e", 3, 16), Member("b", 1, 16, 7)
    text = run(pahole, "-F", "btf", "-C", "s", built(tmp_path, *types, Struct("s", 4, members)))
    assert "combined" not in text
    assert "\tint                        b:7;" in text


def test_long_names(run: Run) -> None:
    path = FOLDER / "members.btf"
    expected = EXPECTED["members"]
    assert run(main, "show", "--expand-types", "A", path) == expected["-E"]["A"]
    assert run(main, "show", "--expand-pointers", "A", path) == expected["-p"]["A"]
    assert run(main, "show", "--relative", "--expand-types", "A", path) == expected["-r -E"]["A"]
    assert run(pahole, "-Fbtf", "--expand_types", "-CA", path) == expected["-E"]["A"]
    assert run(main, "show", "--reorganize", "a1", FOLDER / "order.btf") == EXPECTED["order"]["-R"]["a1"]


def test_packable(run: Run) -> None:
    """Recorded from `pahole -F btf -P`."""
    lines = ["a1\t32\t16\t16", "a2\t32\t24\t8", "a3\t24\t16\t8", "a4\t40\t32\t8", "a6\t12\t8\t4", "b1\t128\t68\t60"]
    expected = "\n".join([*lines, "b2\t56\t40\t16"]) + "\n"
    assert run(main, "show", "--packable", FOLDER / "order.btf") == expected
    assert run(pahole, "-F", "btf", "-P", FOLDER / "order.btf") == expected
    assert run(main, "show", "-P", "a2", "a9", FOLDER / "order.btf") == lines[1] + "\n"


def test_a_struct_with_only_a_hole_of_bits_is_packable(run: Run, tmp_path: Path) -> None:
    """`struct huge { __int128 h : 100; int i; }`: pahole prints this line if there is a `long` in the BTF."""
    builder = pybtf.Builder()
    wide, number = builder.add_int("__int128", 16, 1), builder.add_int("int", 4, 1)
    builder.add_int("long int", 8, 1)
    builder.add_struct("huge", 32, [Member("h", wide, 0, 100), Member("i", number, 128)])
    (tmp_path / "huge.btf").write_bytes(builder.to_bytes())
    assert run(main, "show", "-P", tmp_path / "huge.btf") == "huge\t32\t20\t12\n"
    assert run(pahole, "-F", "btf", "-P", tmp_path / "huge.btf") == "huge\t32\t20\t12\n"


def test_what_has_no_name_is_null_in_lines(run: Run) -> None:
    """pahole crashes with `-N`."""
    lines = run(pahole, "-F", "btf", "-a", "-N", "--unions", FOLDER / "nameless.btf").splitlines()
    assert lines == ["(null)\t0", "(null)\t0", "only_here\t9"]


def test_lists_of_pahole(run: Run) -> None:
    """Recorded from pahole, with these options."""
    path = FOLDER / "order.btf"
    sizes = run(pahole, "-F", "btf", "-s", path)
    assert sizes.splitlines()[:3] == ["a1\t32\t2", "a2\t32\t2", "a3\t24\t1"]
    assert run(pahole, "-F", "btf", "-s", "-t", ",", "-H", "3", path) == "b2,56,3\n"
    assert run(pahole, "-F", "btf", "-s", "-y", "b", "-x", "b1", path) == "b2\t56\t3\n"
    assert run(pahole, "-F", "btf", "-n", "-C", "a1,a9", path) == "a1\t5\n\na9\t2\n\n"
    assert run(pahole, "-F", "btf", "-N", "-C", "a1", path) == "a1\t2\n\n"
    assert run(pahole, "-F", "btf", "-s", "--packed", path) == "a8\t15\t0\n"
    assert run(pahole, "-F", "btf", "-s", "--padding_ge", "59", path) == "b1\t128\t1\n"
    assert run(pahole, "-F", "btf", "-i", "a3", path) == "a4\n"
    assert run(pahole, "-F", "btf", "-f", "in", FOLDER / "members.btf") == "A: p\n"
    assert run(main, "show", "--find-pointers-to", "in", FOLDER / "members.btf") == "A: p\nA: cp\nA: pc\nA: tp\n"
    assert run(pahole, path, "-C", "a9") == EXPECTED["order"]["-R"]["a9"] + "\n"  # no ELF file, so no -F is needed


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-i s", "direct both"),
        ("-i s_t", "named"),
        ("-f s", "direct:p both:p both:q"),
        ("-f s_t", "named:p"),
        ("-f fwd", "other:p"),
        ("-f s,fwd", "direct:p both:p both:q other:p"),
        ("-f s -i s_t", "named"),
        ("-i s -f s_t", "named"),
        ("-i s -C s_t", "named"),
        ("-C s_t -i s", "direct both"),
        ("-i s -y b", "both"),
        ("-f s -x b", "direct:p"),
        ("-f s --unions", "both:p both:q"),
        ("-i s --packed", ""),
        ("-i s -s", "direct both"),
    ],
)
def test_users_as_pahole_finds_them(options: str, expected: str, run: Run, tmp_path: Path) -> None:
    """By the type of a member, or the type that it points to. Recorded from pahole."""
    path = built(
        tmp_path, Int("int", 4, 32), Struct("s", 4, (Member("x", 1, 0),)), Typedef("s_t", 2), Const(2), Ptr(2), Ptr(3),
        Ptr(4), Fwd("fwd"), Ptr(8), Struct("direct", 16, (Member("m", 2, 0), Member("p", 5, 64))),
        Struct("named", 16, (Member("m", 3, 0), Member("p", 6, 64))),
        Struct("constant", 16, (Member("m", 4, 0), Member("p", 7, 64))),
        Union("both", 8, (Member("m", 2, 0), Member("p", 5, 0), Member("n", 2, 0), Member("q", 5, 0))),
        Struct("other", 8, (Member("p", 9, 0),)), Struct("s", 8, (Member("x", 1, 0), Member("y", 1, 32))),
        Struct("second", 8, (Member("m", 15, 0),))
    )  # fmt: skip
    found = run(pahole, "-F", "btf", *options.split(), path)
    assert found == "".join(f"{line}\n" for line in expected.split()).replace(":", ": ")


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ("-s -n", ["a1", "5"]),
        ("-n -s", ["a1", "32", "2"]),
        ("-s -n -N", ["a1", "2"]),
        ("-N -s -n", ["a1", "5"]),
        ("-s --holes=-1", []),
        ("-s --holes=4294967299", ["b2", "56", "3"]),
        ("-s --holes=00000000000000000000000000000003", ["b2", "56", "3"]),
        ("-s --holes=+3x", ["b2", "56", "3"]),
        ("-s --holes=99999999999999999999999", []),
        ("--structs --unions -s", []),
        ("--structs --unions", []),
    ],
)
def test_lists_with_options_that_exclude_each_other(options: str, first: list[str], run: Run) -> None:
    """Recorded from pahole: the last choice of columns counts, and numbers are unsigned."""
    assert run(pahole, "-F", "btf", *options.split(), FOLDER / "order.btf").partition("\n")[0].split() == first


def test_one_character_separates(run: Run) -> None:
    assert run(pahole, "-F", "btf", "-s", "-tab", FOLDER / "order.btf").startswith("a1a32a2\n")
    assert run(pahole, "-F", "btf", "-s", "-t", "", FOLDER / "order.btf").startswith("a1\x0032\x002\n")


def test_of_several_names_those_that_are_there_are_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = str(FOLDER / "order.btf")
    assert pahole(["-F", "btf", "-n", "-C", "zz,a1,,a9", path]) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"a1\t5\n\na9\t2\n\n"
    assert err.count(b"no type is called") == err.count(b"pybtf-pahole: ") == err.count(b"\n") == 2
    assert b"'zz'" in err
    assert pahole(["-F", "btf", "--skip_missing", "-n", "-C", "zz,a1,,a9", path]) == 0
    assert capfdbinary.readouterr() == (out, err.replace(b"error: ", b""))
    assert pahole(["-F", "btf", "-i", "zz,a3", path]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b"a4\n"
    assert b"no type is called 'zz'" in err


@pytest.mark.parametrize("typedef_first", [True, False])
def test_of_several_types_of_a_name_the_first_is_paholes(typedef_first: bool, run: Run, tmp_path: Path) -> None:
    """Whatever its kind. `pybtf show` prints all of them."""
    same: list[Type] = [Typedef("same", 1), Union("same", 4, (Member("x", 1, 0),))]
    path = built(tmp_path, Int("int", 4, 32), *(same if typedef_first else same[::-1]))
    first = "typedef int same;" if typedef_first else "union same {"
    assert run(pahole, "-F", "btf", "-C", "same", path).startswith(first)


def test_selections(run: Run) -> None:
    path = FOLDER / "order.btf"
    assert run(main, "show", "--sizes", "--packed", path) == "a8\t15\t0\n"
    assert run(main, "show", "--sizes", "--padding", "59", path) == "b1\t128\t1\n"
    assert run(main, "show", "--sizes", "-B", "1", path) == "a5\t24\t1\n"
    assert run(main, "show", "--sizes", "-H", "1", "--packed", path) == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-z 1", "a1 a2 a3 a4 a5 a6 a7 b1 b2 c2 "),
        ("-z 20", "b1 "),
        ("--hole_size_ge=20 -s", "b1\t128\t1 "),
        ("-z 8 -C a1,a2", "a1  a2  "),
        ("-z 4294967295", ""),
    ],
)
def test_large_holes(options: str, text: str, run: Run) -> None:
    """As pahole 1.32 prints them: only names, unless something else is requested."""
    assert run(pahole, "-F", "btf", *options.split(), FOLDER / "order.btf") == text.replace(" ", "\n")


def test_options_about_classes_have_no_influence(run: Run) -> None:
    for options in (["-C", "a1"], ["--sizes"], ["-E"]):
        plain = run(pahole, "-F", "btf", *options, FOLDER / "order.btf")
        classes = ("-M", "--classes_as_structs", "--show_private_classes")
        assert run(pahole, "-F", "btf", *classes, *options, FOLDER / "order.btf") == plain


# Hostile BTF


def built(tmp_path: Path, *types: Type) -> Path:
    builder = BtfBuilder()
    builder.extend(types)
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    return path


def doubling(levels: int) -> list[Type]:
    """Each struct has two members of the struct before it: 2^levels numbers."""
    types: list[Type] = [Int("int", 4, 32), Struct("s0", 4, (Member("x", 1, 0),))]
    for level in range(1, levels):
        members = (Member("a", level + 1, 0), Member("b", level + 1, 8))
        types.append(Struct(f"s{level}", 8, members))
    return types


def pointing(levels: int) -> list[Type]:
    """The same with pointers."""
    types: list[Type] = [Int("int", 4, 32), Struct("s0", 4, (Member("x", 1, 0),))]
    for level in range(1, levels):
        types.append(Ptr(len(types)))
        types.append(Struct(f"s{level}", 16, (Member("a", len(types), 0), Member("b", len(types), 64))))
    return types


@pytest.mark.parametrize(("types", "option"), [(doubling(40), "-E"), (pointing(40), "-p")])
def test_what_multiplies_has_a_bound(types: list[Type], option: str, tmp_path: Path, refused: Run) -> None:
    message = refused(main, "show", option, "s39", built(tmp_path, *types))
    assert "takes too many steps, or becomes too long" in message
    assert "expected less to expand" in message


def test_what_nests_has_a_bound(tmp_path: Path, refused: Run) -> None:
    types: list[Type] = [Int("int", 4, 32), Struct("s0", 4, (Member("x", 1, 0),))]
    types += [Struct(f"s{level}", 4, (Member("a", level + 1, 0),)) for level in range(1, 400)]
    assert "nests too deeply" in refused(main, "show", "-E", "s399", built(tmp_path, *types))


@pytest.mark.parametrize("options", [[], ["-E"], ["-p"]])
@pytest.mark.parametrize(("name", "place"), [("user", "0x34: type 4 'user'"), ("t", "0x4c: type 5 't'")])
def test_what_has_no_end_is_said_of_the_type_that_was_asked_for(
    name: str, place: str, options: list[str], tmp_path: Path, refused: Run
) -> None:
    """A nameless struct that points to itself is printed inside itself."""
    types = [Int("int", 4, 32), Ptr(3), Struct("", 8, (Member("next", 2, 0),)), Struct("user", 8, (Member("m", 3, 0),))]
    message = refused(main, "show", *options, name, built(tmp_path, *types, Typedef("t", 3)))
    assert f"types+{place} nests too deeply, at type 3; expected" in message


@pytest.mark.parametrize("options", [["-E"], ["-p"], ["-E", "-p"], ["-R"], ["-P"], ["-R", "-S"]])
@pytest.mark.parametrize(
    "types",
    [
        [Struct("s", 4, (Member("m", 1, 0),))],
        [Typedef("t", 1), Struct("s", 4, (Member("m", 1, 0),))],
        [Ptr(1), Struct("s", 8, (Member("m", 1, 0),))],
        [Array(1, 1, 1), Struct("s", 8, (Member("m", 1, 0),))],
        [Typedef("t", 2), Array(1, 1, 1), Struct("s", 8, (Member("m", 1, 0),))],
        [FuncProto(2, ()), Ptr(1), Struct("s", 8, (Member("m", 2, 0),))],
    ],
)
def test_circles(
    types: list[Type], options: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The command ends with an answer or one message."""
    status = main(["show", *options, "s", str(built(tmp_path, *types))])
    out, err = capfdbinary.readouterr()
    assert (status, err.count(b"\n")) in ((0, 0), (1, 1))
    assert status == 0 or out == b""


def test_a_list_is_no_circle(tmp_path: Path, run: Run) -> None:
    """A struct inside itself is only named there, not printed again and again."""
    path = built(tmp_path, Int("long int", 8, 64), Struct("node", 16, (Member("next", 3, 0),)), Ptr(2))
    assert run(main, "show", "-p", "node", path).count("struct node {") == 2


@pytest.mark.parametrize("size", [0, 1, 1 << 31, 0xFFFFFFFF])
def test_members_that_lie_anywhere(size: int, tmp_path: Path) -> None:
    """Reorganizing ends, and restores everything."""
    offsets = (0xFFFFFFF8, 8, 0, 0x80000000, 512, 512, 0xFFFFFFFF, 24)
    members = tuple(Member(f"m{at}", 1 + at % 3, offset) for at, offset in enumerate(offsets))
    numbers = (Int("long int", 8, 64), Int("char", 1, 8), Array(1, 1, 0xFFFFFFF))
    path = built(tmp_path, *numbers, Struct("s", size, members))
    view = View(path.read_bytes(), "x")
    shower = Shower(view)
    (id,) = [id for id in shower.composites() if view.kind(id) == STRUCT]
    before = shower.text(id)
    shower.packable(id)
    assert shower.text(id) == before


def test_reorganizing_puts_everything_back() -> None:
    view = View((FOLDER / "random.btf").read_bytes(), "x")
    shower = Shower(view)
    for id in shower.composites():
        if view.kind(id) == STRUCT:
            before = shower.text(id), shower.sums(id)
            assert shower.reorganized(id)[1] == shower.packable(id)
            assert (shower.text(id), shower.sums(id)) == before


def test_packed_is_what_the_first_step_says(tmp_path: Path, run: Run) -> None:
    """On the way to 32 bytes the struct has 28, as if it were packed. pahole's text keeps that."""
    numbers = (Int("int", 4, 32), Int("long int", 8, 64))
    places = (("b", 2, 0), ("a", 1, 8), ("d", 2, 16), ("c", 1, 24), ("e", 1, 28))
    members = tuple(Member(name, type, 8 * at) for name, type, at in places)
    path = built(tmp_path, *numbers, Struct("s", 32, members))
    text = run(main, "show", "-R", "--steps", "s", path)
    ends = [line for line in text.splitlines() if line.startswith("}")]
    assert ends == ["} __attribute__((__packed__))", "} __attribute__((__packed__));"]
    assert "__packed__" not in run(main, "show", "-R", "s", path)


def test_only_structs_are_reorganized(tmp_path: Path, run: Run) -> None:
    path = built(tmp_path, Int("int", 4, 32), FuncProto(1, ()), Func("f", 2), Typedef("t", 1))
    assert run(main, "show", "-R", "f", "t", path) == "int f(void);\ntypedef int t;\n"
    for options in (["-R"], ["-R", "-S"], ["-R", "-s"]):
        assert run(pahole, "-F", "btf", *options, "-C", "t", path) == ""
    shower = Shower(View(path.read_bytes(), "x"))
    for id in (0, 1, 99):
        with pytest.raises(IndexError):
            shower.reorganized(id)
        with pytest.raises(IndexError):
            shower.packable(id)


def test_pahole_prints_what_is_reorganized_rather_than_its_size(tmp_path: Path, run: Run) -> None:
    path = built(tmp_path, Int("int", 4, 32), Struct("s", 4, (Member("a", 1, 0),)))
    text = run(pahole, "-F", "btf", "-R", "-C", "s", path)
    assert text.startswith("struct s {\n")
    assert run(pahole, "-F", "btf", "-R", "-s", "-C", "s", path) == text
