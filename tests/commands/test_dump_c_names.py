"""The C header of BTF that C cannot express, as from Rust and C++, and what compilers and bpftool make of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pybtf.btf.kinds import IntEncoding
from pybtf.btf.reader import BTF
from pybtf.btf.types import (
    Array,
    Const,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
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
)
from pybtf.btf.writer import BtfBuilder
from pybtf.core.btf.type_view import View
from pybtf.core.dump.dump_c_names import c_names
from pybtf.core.dump.dump_header import dump_header
from pybtf.core.dump.dump_types import dump_types
from pybtf.errors import InputError
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT, Require

GOLDEN = ROOT / "fixtures" / "golden"
MOST = 1 << 30
INT = Int("int", 4, 32, IntEncoding.SIGNED)
#: Fixtures for which no compiler accepts bpftool's text, and why.
NOT_C = {
    "41_namespace": "a struct is declared, and an enum has its name",
    "46_mips64": "an integer is called `uhalf`",
    "47_type_units": "members are void",
    "49_": "C++",
    "51_": "Rust",
    **dict.fromkeys(("random_0009", "random_0016", "random_0028", "random_0049", "random_0082"), "as 41_namespace"),
}


def built(*types: Type) -> View:
    """These types after `int` as type 1."""
    builder = BtfBuilder()
    builder.extend((INT, *types))
    return View(builder.tobytes(), "x")


def compile(header: bytes, folder: Path, compiler: str, *claims: str) -> None:
    """Compiles the header, and checks that these claims hold."""
    path = folder / "header.c"
    path.write_bytes(header + "".join(f"_Static_assert({claim}, \"\");\n" for claim in claims).encode())
    subprocess.run([compiler, "-std=gnu11", "-w", "-fsyntax-only", str(path)], check=True)


def header(view: View, folder: Path) -> str:
    """The header, after checking that the installed compilers accept it, sorted or not."""
    for sort in (True, False):
        for compiler in filter(None, map(shutil.which, ("gcc", "clang"))):
            compile(dump_header(view, sorted=sort), folder, compiler)
    return dump_header(view).decode()


def empty(*names: str) -> list[Type]:
    return [Struct(name, 0) for name in names]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Option<u32>", "Option_u32"),
        ("{impl#0}", "impl_0"),
        ("ns::T", "ns_T"),
        ("*const str", "ptr_const_str"),
        ("&mut dyn core::fmt::Write", "ref_mut_dyn_core_fmt_Write"),
        ("vec<int*, -1>", "vec_int_ptr_minus_1"),
        ("fn(i32) -> u8", "fn_i32_u8"),
        ("operator=", "operator"),
        ("~Foo", "not_Foo"),
        ("__IncompleteArrayField<usize>", "__IncompleteArrayField_usize"),
        ("[u8; 4]", "u8_4"),
        ("4d", "_4d"),
        ("int", "int_"),
        ("__inline", "__inline_"),
        ("__func__", "__func___"),
        ("__typeof", "__typeof_"),
        ("()", "unnamed"),
        ("größe<x>", "gr_e_x"),
        ("x y\n#error", "x_y_error"),
        ("a" * 300 + "<b>", "a" * 200),
    ],
)
def test_names_become_words(name: str, expected: str, tmp_path: Path) -> None:
    assert f"\nstruct {expected} {{}};\n" in header(built(*empty("aaa", name)), tmp_path)


@pytest.mark.parametrize("name", ["_vptr$Base", "bool", "größe", "inlined", "i", "x___2", "true", "__int"])
def test_names_of_c_stay(name: str) -> None:
    view = built(*empty("aaa", name), Typedef(name, 1))
    assert c_names(view, MOST) == (None, 0, False)
    assert dump_header(view) == dump_header(view, as_is=True)


def test_numbers_that_c_has_stay() -> None:
    """gcc knows these. clang does not, nor does bpftool, which prints their names."""
    names = [("_Decimal32", 4), ("_Decimal64", 8), ("_Decimal128", 16)]
    members = tuple(Member(f"m{size}", number + 2, 128 * number) for number, (_, size) in enumerate(names))
    text = dump_header(built(*(Int(name, size, size * 8) for name, size in names), Struct("s", 48, members))).decode()
    assert all(f"\t{name} m{size};\n" in text for name, size in names)


def test_different_names_stay_different(tmp_path: Path) -> None:
    """Also from existing names, and from the numbered names of two types of one name."""
    names = ("a<b>", "a(b)", "a_b_2", "a[b]", "c<d>", "c<d>", "c_d___7", "e<f>", "e_f")
    text = header(built(*empty("aaa", *names)), tmp_path)
    found = [line.split()[1] for line in text.splitlines() if line.endswith(" {};")]
    expected = {"a_b", "a_b_3", "a_b_2", "a_b_4", "c_d_2", "c_d_2___2", "c_d___7", "e_f_2", "e_f"}
    assert {*found} | {"aaa"} == expected | {"aaa"}
    assert len(found) == len({*found})


def test_a_type_has_one_name_whatever_is_chosen() -> None:
    view = built(*empty("a<b>", "a(b)", "a[b]"))
    assert b"struct a_b_3 {};" in dump_header(view, [4])
    assert dump_header(view, [4]).count(b"{}") == 1


MEMBERS: dict[str, tuple[list[Type], tuple[Member, ...], int, str, list[str]]] = {
    # types besides `int`, 1; members of `struct s`, 2; its size; what is written; what holds
    "keywords": ([], (Member("for", 1, 0), Member("a.b", 1, 32)), 8, "int for_;", ["offsetof(struct s, a_b) == 4"]),
    "twice": ([], (Member("a", 1, 0), Member("a", 1, 32)), 8, "int a_2;", ["offsetof(struct s, a_2) == 4"]),
    "void": ([], (Member("a", 0, 0), Member("b", 1, 0)), 4, "struct {} a;", ["sizeof(struct s) == 4"]),
    "const void": ([Const(0)], (Member("a", 3, 0), Member("b", 1, 0)), 4, "struct {} a;", ["sizeof(struct s) == 4"]),
    "array of void": (
        [Array(0, 1, 3)], (Member("a", 3, 0), Member("b", 1, 0)), 4, "struct {} a[3];", ["sizeof(struct s) == 4"],
    ),
    "function": ([FuncProto(1)], (Member("a", 3, 0),), 4, "struct {} a;", []),
    "declared": (
        [Fwd("std::string"), Typedef("t", 3)],
        (Member("a", 1, 0), Member("b", 4, 64), Member("c", 1, 320)),
        48, "struct std_string {};", ["offsetof(struct s, c) == 40", "sizeof(struct s) == 48"],
    ),
    "declared alone": (
        [Fwd("u", kind_flag=True)],
        (Member("a", 3, 0), Member("b", 1, 64)), 16, "union u {};", ["sizeof(struct s) == 16"],
    ),
    "byte": (
        [Enum("byte", 1), Array(3, 1, 3)],
        (Member("a", 3, 0), Member("b", 4, 8), Member("c", 1, 32)),
        8, "typedef unsigned char byte;", ["sizeof(byte) == 1", "offsetof(struct s, c) == 4"],
    ),
    "nameless byte": ([Enum("", 1)], (Member("a", 3, 0),), 1, "\tunnamed a;", ["sizeof(struct s) == 1"]),
    "wide": (
        [Int("_Bool", 1, 8, IntEncoding.BOOL)],
        (Member("a", 3, 0, 8), Member("b", 3, 8, 1)),
        2, "unsigned char a: 8;", ["sizeof(struct s) == 2"],
    ),
    "wider": ([], (Member("a", 1, 0, 60),), 8, "long long unsigned int a: 60;", ["sizeof(struct s) == 8"]),
    "nameless": (
        [Ptr(1), Array(1, 1, 2)],
        (Member("", 3, 0), Member("", 4, 64)), 16, "int *unnamed;\n\tint unnamed_2[2];", ["sizeof(struct s) == 16"],
    ),
    "nameless byte of 64 bits": ([Enum64("", 8)], (Member("a", 3, 0),), 8, "\tunnamed a;", ["sizeof(struct s) == 8"]),
    "u8": (
        [Int("u8", 1, 8), Int("char", 4, 32), Int("i64", 8, 64, IntEncoding.SIGNED), Float("f32", 4)],
        (Member("a", 3, 0), Member("b", 4, 32), Member("c", 5, 64), Member("d", 6, 128)),
        24, "unsigned int b;", ["offsetof(struct s, d) == 16", "(__typeof__(((struct s *)0)->a))-1 == 255"],
    ),
    "complex": ([Float("complex double", 16)], (Member("a", 3, 0),), 16, "_Complex double a;", []),
    "bool": ([Int("bool", 1, 8, IntEncoding.BOOL)], (Member("a", 3, 0),), 1, "\t_Bool a;", ["sizeof(struct s) == 1"]),
    "odd sizes": (
        [Int("u24", 3, 24)], (Member("a", 3, 0),), 3, "bytes[3]; } a;", ["sizeof(struct s) == 3"]
    ),
    "typedef": ([Typedef("", 1)], (Member("a", 3, 0),), 4, "typedef int unnamed;", ["sizeof(struct s) == 4"]),
    "enumerators": (
        [Enum("e", 4, (Enumerator("ns::A", 0), Enumerator("B", 1))), Enum64("", 8, (Enumerator("else", 2),))],
        (Member("a", 3, 0), Member("b", 4, 64)), 16, "ns_A = 0,", ["ns_A == 0", "else_ == 2"],
    ),
    "nameless enumerator": ([Enum("e", 4, (Enumerator("", 3),))], (Member("a", 3, 0),), 4, "unnamed = 3,", []),
    "tag": (
        [TypeTag('a"b', 1), Ptr(3)], (Member("a", 4, 0),), 8, '__attribute__((btf_type_tag("a_b")))', []
    ),
    "prototype": (
        [FuncProto(1, (Param("x", 1), Param("x", 0), Param("int", 1), Param("", 0))), Ptr(3)],
        (Member("f", 4, 0),), 8, "int (*f)(int x, struct {} x_2, int int_, ...);", [],
    ),
    "results": (
        [Array(1, 1, 3), FuncProto(3), Ptr(4), FuncProto(4), Ptr(6)],
        (Member("f", 5, 0), Member("g", 7, 64)), 16, "int array[3];", ["sizeof(((struct s *)0)->f().array) == 12"],
    ),
    "another kind": (
        [Enum("both", 4, (Enumerator("A", 1),)), Fwd("both"), Ptr(4)],
        (Member("a", 3, 0), Member("b", 5, 64)), 16, "struct both_declared *b;", ["sizeof(enum both) == 4"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MEMBERS)
def test_what_c_cannot_have_is_replaced(case: str, tmp_path: Path, require: Require) -> None:
    types, members, size, expected, claims = MEMBERS[case]
    view = built(Struct("s", size, members), *types)
    text = header(view, tmp_path)
    assert expected in text
    compile(text.encode(), tmp_path, require("gcc"), *(claim.replace("offset", "__builtin_offset") for claim in claims))
    with pytest.raises(subprocess.CalledProcessError):
        compile(dump_header(view, as_is=True), tmp_path, require("gcc"), *claims)


def test_two_declarations_of_a_name(tmp_path: Path) -> None:
    """No definition says which of the two has the name."""
    pointers = (Member("a", 4, 0), Member("b", 5, 64))
    view = built(Fwd("x"), Fwd("x", kind_flag=True), Ptr(2), Ptr(3), Struct("s", 16, pointers))
    assert "struct x *a;\n\tunion x_declared *b;" in header(view, tmp_path)


def test_a_clash_that_does_not_show_changes_nothing(tmp_path: Path) -> None:
    """The enum is not written: the name is that of the struct alone."""
    enums = Enum("x", 4, (Enumerator("A", 1),)), Enum("a", 4, (Enumerator("B", 1),))
    view = built(Fwd("x"), Ptr(2), Struct("s", 8, (Member("a", 3, 0),)), *enums)
    assert b"struct x *a;" in dump_header(view, [4])
    assert "struct x_declared *a;" in header(view, tmp_path)


def test_functions_that_programs_call(tmp_path: Path) -> None:
    view = built(FuncProto(1, (Param("struct", 1),)), Func("f", 2), DeclTag("bpf_kfunc", 3))
    assert "extern int f(int struct_) __weak __ksym;" in header(view, tmp_path)
    view = built(FuncProto(1), Func("f.isra.0", 2), DeclTag("bpf_kfunc", 3), Func("g.isra.0", 2))
    assert "extern int f_isra_0(void) __weak __ksym;" in header(view, tmp_path)


def test_other_formats_keep_the_names() -> None:
    view = built(*empty("a<b>"))
    pieces: list[bytes] = []
    dump_types(view, pieces.append)
    assert b"STRUCT 'a<b>'" in b"".join(pieces)
    pieces.clear()
    dump_types(view, pieces.append, [], True)
    assert json.loads(b"".join(pieces))["types"][1]["name"] == "a<b>"


def test_split_btf(tmp_path: Path) -> None:
    """A name in the base's strings and in the module's own is one name."""
    base = BtfBuilder()
    base.extend((INT, *empty("a<b>")))
    below = BTF.from_bytes(base.tobytes())
    own = BtfBuilder(below)
    own.extend((Struct("a<b>", 4, (Member("c::d", 1, 0),)), Struct("s", 0, (Member("e", 2, 0),))))
    text = header(View(own.tobytes(), "x", base.tobytes()), tmp_path)
    assert "struct a_b {};" in text
    assert "struct a_b___2 {\n\tint c_d;\n};" in text
    assert "\tstruct a_b e;\n" in text


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_other_byte_order(order: str) -> None:
    data = raw_btf([1, 4 << 24, 0, 5, 4 << 24, 0], b"\0a b\0aaa\0", order=order)
    assert b"struct a_b {};" in dump_header(View(data, "x"), sorted=False)


# Fixtures


def is_c(path: Path) -> bool:
    return not path.name.startswith(tuple(NOT_C))


def test_text_of_c_is_bpftools() -> None:
    """For fixtures that C can express, it is the text without any renaming, which test_dump.py compares."""
    for path in GOLDEN.glob("*.btf"):
        view = View(path.read_bytes(), path.name)
        changed = dump_header(view) != dump_header(view, as_is=True)
        assert changed <= (not is_c(path)), path.name


@pytest.mark.parametrize("path", sorted(path for path in GOLDEN.glob("*.btf") if not is_c(path)), ids=lambda x: x.stem)
def test_fixtures_of_other_languages_compile(path: Path, tmp_path: Path, require: Require) -> None:
    view = View(path.read_bytes(), path.name)
    compile(dump_header(view), tmp_path, require("gcc"))
    header(view, tmp_path)


ALSO_BY_BPFTOOL = ("49_more.g++-O2-5-exe.all", "51_rust.gcc-O2-5-exe.usual", "41_namespace.gcc-O0-4-exe.usual")


@pytest.mark.parametrize("name", ALSO_BY_BPFTOOL)
def test_bpftool_prints_the_same_of_what_c_can_say(name: str, tmp_path: Path, require: Require) -> None:
    view = View((GOLDEN / f"{name}.btf").read_bytes(), name)
    other, _, _ = c_names(view, MOST, True)
    assert other is not None
    path = tmp_path / "other.btf"
    path.write_bytes(other.data)
    command = [require("bpftool"), "btf", "dump", "file", str(path), "format", "c"]
    assert dump_header(view) == subprocess.run(command, capture_output=True, check=True).stdout


# Bad input


def test_many_names_that_are_alike_end() -> None:
    names = [f"a{'<' * (1 + i % 7)}b{'>' * (1 + i // 7)}" for i in range(5000)]
    text = dump_header(built(*empty("aaa", *names)))
    assert text.count(b" {};") == 5001
    assert b"struct a_b_5000 {};" in text


def test_names_within_each_other_end() -> None:
    """Each name is the tail of another: together they are long."""
    size = 200_000
    words = [word for at in range(1, size, 2) for word in (at, 4 << 24, 0)]
    with pytest.raises(InputError, match="names that share fewer bytes"):
        View(raw_btf(words, b"\0" + b"x" * size + b"\0"), "x")
    words = [word for at in range(1, 2 * 80_000, 2) for word in (at, 4 << 24, 0)]
    with pytest.raises(InputError, match="too many steps"):
        dump_header(View(raw_btf(words, b"\0" + b"<\0" * 80_000), "x"), [], True, 0)


def test_circles_are_refused_as_ever() -> None:
    view = built(Typedef("a b", 3), Typedef("c", 2), Struct("s", 4, (Member("m", 2, 0),)))
    with pytest.raises(InputError, match="contains itself"):
        dump_header(view)
