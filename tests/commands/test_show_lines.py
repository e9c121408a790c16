"""`pybtf show`: pahole's lines for small structs built in memory, and which of the requested types are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf.kinds import IntEncoding
from pybtf.btf.types import (
    Array,
    Const,
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
    Union,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.pahole.main import main as pahole
from tools.golden.minimal_btf import INT, TYPEDEF, Maker

Run = Callable[..., str]


def built(tmp_path: Path, *types: Type) -> Path:
    builder = BtfBuilder()
    builder.extend(types)
    path = tmp_path / "x.btf"
    path.write_bytes(builder.tobytes())
    return path


SIGNED, CHAR = Int("int", 4, 32, IntEncoding.SIGNED), Int("char", 1, 8, IntEncoding(0))
RECORDED: dict[str, tuple[list[Type], list[str], list[str]]] = {
    "bits in hexadecimal": (
        [SIGNED, Struct("s", 4, (Member("a", 1, 0, 3), Member("b", 1, 12, 4)))], ["--hex"],
        ["\tint                        b:4;                  /*     0:0xc 0x4 */"],
    ),
    "a smaller unit in a larger one": (
        [SIGNED, CHAR, Struct("s", 4, (Member("a", 1, 0, 3), Member("b", 2, 10, 2)))], [],
        [
            "\t/* XXX 7 bits hole, try to pack */", "", "\t/* Force alignment to the next boundary: */",
            "\tchar                       :0;", "\t/* Bitfield combined with next fields */",
        ],
    ),
    "an array without a size that is the first": (
        [SIGNED, Array(1, 1, 0), Struct("s", 0, (Member("a", 2, 0),))], [],
        ["\tint                        a[0];                 /*     0     0 */"],
    ),
    "a union that is only declared": (
        [Fwd("u", kind_flag=True), SIGNED, Struct("s", 8, (Member("x", 1, 0), Member("y", 2, 32)))], [],
        ["\tunion u                    x;                    /*     0     0 */"],
    ),
    "an odd place": (
        [CHAR, Struct("s", 4, (Member("a", 1, 0), Member("b", 1, 24)))], [],
        ["\tchar                       b;                    /*     3     1 */"],
    ),
    "what takes no room and fills no hole": (
        [SIGNED, Struct("e", 0, ()), Struct("s", 16, (Member("a", 1, 0), Member("e", 2, 64), Member("b", 1, 96)))], [],
        [
            "\tstruct e                   e __attribute__((__aligned__(8))); /*     8     0 */", "",
            "\t/* XXX 4 bytes hole, try to pack */", "",
            "\tint                        b __attribute__((__aligned__(16))); /*    12     4 */",
        ],
    ),
    "holes of bits, and none of bytes": (
        [
            SIGNED, Struct("in", 4, (Member("a", 1, 0, 3), Member("b", 1, 8, 3))),
            Struct("s", 4, (Member("b", 2, 0),)),
        ], [],
        ["\t/* member types with bit holes: 1, total: 1, bit paddings: 1, total: 21 bits */"],
    ),
    "a struct that is volatile and has no name, nor has the member": (
        [SIGNED, Struct("", 4, (Member("a", 1, 0),)), Volatile(2), Struct("s", 4, (Member("", 3, 0),))], [],
        ["\tvolatile struct            (null);               /*     0     4 */"],
    ),
    "a member without a name, of a typedef's type, as -fms-extensions allows it": (
        [SIGNED, Struct("in", 4, (Member("a", 1, 0),)), Typedef("t", 2), Const(3), Struct("s", 4, (Member("", 4, 0),))],
        ["-q"], ["\tconst t                    (null);"],
    ),
    "a struct that points to itself, in another order: a copy, so the pointer leads to a struct not seen before": (
        [Int("long int", 8, 64, IntEncoding.SIGNED), Ptr(3), Struct("s", 8, (Member("next", 2, 0),))],
        ["-E", "-p", "-R"],
        [
            "\tstruct s {", "\t\tstruct s           *next;",
            "\t} *next;                                 /*     0     8 */",
        ],
    ),
    "an array that is qualified twice": (
        [SIGNED, Array(1, 1, 3), Const(2), Const(3), Struct("s", 12, (Member("a", 4, 0),))], [],
        ["\tconst const int            a[3];                 /*     0    12 */"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDED)
def test_lines_that_are_paholes(case: str, run: Run, tmp_path: Path) -> None:
    """Recorded from pahole 1.32."""
    types, options, expected = RECORDED[case]
    text = run(pahole, "-F", "btf", *options, "-C", "s", built(tmp_path, *types))
    assert "\n" + "\n".join(expected) + "\n" in text


def test_a_struct_that_another_shows_to_be_packed_is_not_aligned(run: Run, tmp_path: Path) -> None:
    """Recorded from pahole 1.32."""
    inner = Struct("in", 32, (Member("m", 1, 0),))
    outer = Struct("out", 48, (Member("c", 2, 0), Member("x", 3, 24), Member("e", 1, 320)))
    path = built(tmp_path, SIGNED, CHAR, inner, outer, Int("long int", 8, 64, IntEncoding.SIGNED))
    text = run(pahole, "-F", "btf", "-C", "in,out,in", path)
    assert "} __attribute__((__aligned__(32)));\n" in text[: text.index("struct out")]
    assert text.endswith("\t/* last cacheline: 32 bytes */\n} __attribute__((__packed__));\n\n")
    text = run(main, "show", "-E", "out", path)
    assert "\t} __attribute__((__packed__)) x; /*     3    32 */\n" in text


def test_a_const_member_without_a_name_has_that_of_the_typedef(run: Run, tmp_path: Path) -> None:
    """For `typedef struct { const struct { int a; }; } t`. Recorded from pahole 1.32."""
    nameless = Struct("", 4, (Member("a", 1, 0),)), Const(2), Struct("", 4, (Member("", 3, 0),))
    text = run(pahole, "-F", "btf", "-q", "-C", "t", built(tmp_path, SIGNED, *nameless, Typedef("t", 4)))
    assert text == "typedef struct {\n\tconst struct {\n\t\tint  a;\n\t} t;\n} t;\n\n"


def test_the_last_member_may_be_of_no_type(run: Run, tmp_path: Path) -> None:
    """Void has no record. tools/fuzz/sanitized.py notices if one is read."""
    text = run(main, "show", "s", built(tmp_path, CHAR, Struct("s", 1, (Member("a", 1, 0), Member("b", 0, 8)))))
    assert text.splitlines()[2].split() == ["void", "b;", "/*", "1", "0", "*/"]


def test_a_member_stays_that_would_come_to_lie_on_the_next(run: Run, tmp_path: Path) -> None:
    """pahole puts c at 8, over b, and itself says that this is wrong."""
    types = CHAR, Int("long int", 8, 64, IntEncoding.SIGNED), Array(1, 1, 12)
    members = Member("a", 1, 0), Member("b", 2, 128), Member("c", 3, 192)
    text = run(main, "show", "--reorganize", "s", built(tmp_path, *types, Struct("s", 40, members)))
    assert "c[12];                /*    24    12 */" in text
    assert "saved" not in text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Structs, a struct that contains another one twice, and a typedef."""
    made = Maker().struct("b", 4, ("x", 1, 0)).struct("a", 8, ("x", 2, 0), ("y", 2, 32)).add(TYPEDEF, "t", 2)
    made.struct("bits", 4, ("f", 1, 3 << 24), ("g", 1, 5 << 24 | 3), flag=1)
    path = tmp_path / "x.btf"
    path.write_bytes(made.add(INT, "u64", 8, 64).struct(0, 24, ("c", 1, 0), ("l", 6, 64), ("d", 1, 128)).make())
    return path


def test_a_struct_with_two_of_another_is_named_once(path: Path, run: Run) -> None:
    assert run(main, "show", "--contains", "b", path) == "a\n"


def test_names_that_are_given_are_sorted_if_asked_for(path: Path, run: Run) -> None:
    for options, first in (([], "struct b {"), (["--sort"], "struct a {")):
        assert run(main, "show", *options, "b", "a", path).startswith(first)


def test_a_struct_is_drawn_once(path: Path, run: Run, tmp_path: Path) -> None:
    """Whatever names it is asked for by."""
    pictures = []
    for names in (["b"], ["b", "t"]):
        picture = tmp_path / f"{len(names)}.svg"
        run(main, "show", "--svg", picture, *names, path)
        pictures.append(picture.read_bytes())
    assert pictures[0] == pictures[1]


def test_each_bit_field_has_its_place_in_json(path: Path, run: Run) -> None:
    (row,) = json.loads(run(main, "show", "--json", "bits", path))
    assert [(member["bit"], member["bits"]) for member in row["members"]] == [(0, 3), (3, 5)]


def test_what_could_be_smaller_and_has_no_name(path: Path, run: Run) -> None:
    assert run(main, "show", "--packable", "7", path) == "(null)\t24\t16\t8\n"


def test_functions_of_structs_that_are_alike_are_added_up(run: Run, tmp_path: Path) -> None:
    """They differ only in the type of a member. Recorded from pahole."""
    alike = [Struct("d", 16, (Member("a", 1, 0), Member("b", type, 64))) for type in (2, 3)]
    other, takes = Struct("d", 4, (Member("a", 1, 0),)), FuncProto(1, (Param("p", 7), Param("q", 7)))
    types = SIGNED, Int("long int", 8, 64, IntEncoding.SIGNED), Ptr(1), *alike, Ptr(4), Ptr(5), other, Ptr(8)
    protos = FuncProto(1, (Param("p", 6),)), takes, FuncProto(1, (Param("p", 9),))
    functions = [Func(f"f{of}", of) for of in (10, 12, 11, 11)]
    assert run(pahole, "-F", "btf", "-m", built(tmp_path, *types, *protos, *functions)) == "d\t5\nd\t1\n"


def test_users_without_a_name_are_not_listed(run: Run, tmp_path: Path) -> None:
    """Not even with `-a`. Recorded from pahole."""
    types = SIGNED, Struct("s", 4, (Member("x", 1, 0),)), Ptr(2), Struct("", 4, (Member("m", 2, 0),))
    path = built(tmp_path, *types, Struct("", 8, (Member("p", 3, 0),)), Struct("named", 4, (Member("m", 2, 0),)))
    assert run(pahole, "-F", "btf", "-a", "-i", "s", path) == "named\n"
    assert run(pahole, "-F", "btf", "-a", "-f", "s", path) == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-n -z 4", "s"),
        ("-s -N -z 4", "s"),
        ("-z 4 -n", "s\t2"),
        ("-z 4 -V", "s"),
        ("-V -z 4 -n", "s\t2"),
        ("-n -V -z 4", "s\t2"),
        ("-V -z 4", "struct s {"),
        ("-V -q -z 4", "struct s {"),
        ("-V -z 4 -C s", "struct s {"),
    ],
)
def test_large_holes_with_other_options(options: str, expected: str, run: Run, tmp_path: Path) -> None:
    """The last option decides what is printed, except for `-z` after `-V`. Recorded from pahole."""
    types = SIGNED, Int("long int", 8, 64, IntEncoding.SIGNED), Struct("s", 16, (Member("a", 1, 0), Member("b", 2, 64)))
    assert run(pahole, "-F", "btf", *options.split(), built(tmp_path, *types)).partition("\n")[0] == expected


@pytest.mark.parametrize("options", ["-m -C b", "-C b -m", "-i b -m", "-m -f b"])
def test_functions_are_counted_for_all_structs(options: str, path: Path, refused: Callable[..., str]) -> None:
    assert "-m: it counts for all structs" in refused(pahole, "-F", "btf", *options.split(), path)


def test_every_name_begins_with_nothing(path: Path, run: Run) -> None:
    """Recorded from pahole."""
    assert run(pahole, "-F", "btf", "-s", "-x", "", path) == ""
    assert run(pahole, "-F", "btf", "-a", "-s", "-x", "", path) == "(null)\t24\t1\n"


A, B = Struct("a", 4, (Member("x", 1, 0),)), Struct("b", 4, (Member("y", 1, 0),))
BOTH = Struct("both", 8, (Member("a", 2, 0), Member("b", 3, 32)))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-i a,b", "both\nonea\noneb\n"),
        ("-f a,b", "ptrs: p\n"),
        ("--structs -N", "a\t1\nb\t1\nboth\t4\nonea\t4\noneb\t4\nptrs\t4\nfn\t2\nlate\t4\n"),
        ("-s --unions", "u\t4\t0\n"),
        ("-s -C fn", "fn\t4\t0\n\n"),
        ("-s -C late", "late\t4\t0\n\n"),
        ("-s -C t", "typedef int t;\n\n"),
    ],
)
def test_which_types_are_meant(options: str, expected: str, tmp_path: Path, run: Run) -> None:
    """As in pahole: each once, and no function, variable or declaration. For a typedef it prints random numbers."""
    path = built(
        tmp_path, SIGNED, A, B, BOTH, Struct("onea", 4, (Member("a", 2, 0),)), Struct("oneb", 4, (Member("b", 3, 0),)),
        Ptr(2), Ptr(3), Struct("ptrs", 16, (Member("p", 7, 0), Member("q", 8, 64))), FuncProto(1, ()), Func("fn", 10),
        Struct("fn", 4, (Member("x", 1, 0),)), Fwd("late"), Struct("late", 4, (Member("z", 1, 0),)), Var("v", 1),
        Union("u", 4, (Member("x", 1, 0),)), Int("long unsigned int", 8, 64),
        Typedef("t", 1)
    )  # fmt: skip
    assert run(pahole, "-F", "btf", *options.split(), path) == expected
