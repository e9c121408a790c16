"""`pybtf diff`: the finer rules, with two BTFs built in memory: what counts as a change, which class it has, what is
distinguished, and what a pattern matches.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pybtf import diff
from pybtf.btf.kinds import IntEncoding, Linkage
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    SectionVar,
    Struct,
    Typedef,
    TypeTag,
    Var,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.differences.model import Change
from pybtf.differences.select import Pattern, Selection
from pybtf.differences.text import lines, markdown
from tests.commands.test_diff import (
    CHAR,
    INT,
    LONG,
    A,
    B,
    C,
    Make,
    Maker,
    enum,
    function,
    nested,
    struct,
    told,
)


def changes(old: Make, new: Make, *, names: bool = False) -> list[Change]:
    makers = Maker(), Maker()
    old(makers[0])
    new(makers[1])
    return diff(makers[0].btf(), makers[1].btf(), names=names).changes


# What counts


def test_an_int_changes_by_its_encoding_and_bits() -> None:
    def make(bits: int, encoding: IntEncoding) -> Make:
        return lambda m: m.add(Int("i", 4, bits, encoding))

    signed, unsigned = IntEncoding.SIGNED, IntEncoding(0)
    assert told(make(32, signed), make(32, unsigned)) == ["~ type i: signed -> unsigned"]
    assert told(make(32, unsigned), make(24, unsigned)) == ["~ type i: 32 bits -> 24"]


def test_parameters_of_pointers_to_functions_have_no_names_that_count() -> None:
    def make(name: str, type: int) -> Make:
        return lambda m: m.add(Typedef("t", m.add(Ptr(m.add(FuncProto(INT, (Param(name, type),)))))))

    assert told(make("a", INT), make("b", INT)) == []
    assert told(make("a", INT), make("a", LONG)) == ["~ typedef t: int (*)(int) -> int (*)(long int)"]


def test_the_text_of_a_type_tag_counts() -> None:
    def make(tag: str) -> Make:
        return lambda m: m.add(Typedef("t", m.add(Ptr(m.add(TypeTag(tag, INT))))))

    assert told(make("rcu"), make("user")) == ["~ typedef t: btf_type_tag(rcu) int * -> btf_type_tag(user) int *"]


def test_what_a_declaration_tag_is_on_counts() -> None:
    def make(component: int) -> Make:
        return lambda m: m.add(DeclTag("nullable", m.function("f", INT, ("a", INT), ("b", INT)), component))

    assert told(make(0), make(1)) == [
        "~ function f", "    - function f: tag nullable of number 0", "    + function f: tag nullable of number 1",
    ]  # fmt: skip


def test_a_declared_union_is_no_struct() -> None:
    def make(union: bool) -> Make:
        return lambda m: m.add(Typedef("t", m.add(Ptr(m.add(Fwd("x", kind_flag=union))))))

    assert told(make(False), make(True)) == [
        "~ typedef t: struct x * -> union x *", "~ declaration x: struct x -> union x",
    ]  # fmt: skip

    def defined(m: Maker) -> None:
        m.add(Typedef("t", m.add(Ptr(m.struct("x", 4, A, union=True)))))

    assert told(make(True), defined) == ["~ union x: was only declared, now defined"]


def test_an_enumerator_has_its_value_and_sign_in_either_kind() -> None:
    def wide(m: Maker) -> None:
        m.add(Enum64("e", 4, (Enumerator("A", -1),), kind_flag=True))

    assert told(enum(("A", -1), signed=True), wide) == []
    other = enum(("A", -2), signed=True)
    assert told(enum(("A", -1), signed=True), other) == ["~ enum e", "    ~ enum e: A = -1 -> -2"]
    old, new = Enum64("w", 8, (Enumerator("A", -1 << 40),), kind_flag=True), Enum64("w", 8, (Enumerator("A", 1 << 63),))
    assert told(lambda m: m.add(old), lambda m: m.add(new)) == [
        "~ enum w: no longer signed", f"    ~ enum w: A = {-1 << 40} -> {1 << 63}",
    ]  # fmt: skip


def test_sizes_have_a_bound() -> None:
    def huge(m: Maker) -> None:
        rows = m.add(Array(LONG, INT, 1 << 31))
        m.struct("s", 32, ("a", m.add(Array(rows, INT, 1 << 31)), 0))

    assert told(struct(("a", LONG, 0)), huge)[-1].endswith(f"size 8 -> {1 << 62}")


def test_arrays_of_what_has_no_name() -> None:
    def make(type: int) -> Make:
        def add(m: Maker) -> None:
            inner = m.struct("", 8, ("x", type, 0))
            m.struct("s", 32, ("", m.add(Array(inner, INT, 2)), 0))

        return add

    assert told(make(INT), make(LONG)) == ["~ struct s", "    ~ struct s.[].x: int -> long int, size 4 -> 8"]
    inner = ("x", INT, 0), ("y", INT, 32)
    assert told(nested(inner, "in", 64, 2), nested(inner, "in", 128, 2)) == [
        "~ struct s", "    ~ struct s.in: offset 8 -> 16",
    ]  # fmt: skip


def test_a_variable_has_the_size_that_its_section_says() -> None:
    def make(type: int, size: int) -> Make:
        def add(m: Maker) -> None:
            v = m.add(Var("v", type, Linkage.STATIC))
            m.add(Datasec(".data", 64, (SectionVar(v, 0, size),)))

        return add

    assert told(make(INT, 4), make(INT, 16)) == ["~ variable v: size 4 -> 16"]
    assert told(make(INT, 16), make(CHAR, 16)) == ["~ variable v: int -> char"]


def test_linkage_in_words() -> None:
    def make(linkage: Linkage) -> Make:
        return lambda m: m.add(Var("v", INT, linkage))

    assert told(make(Linkage.GLOBAL), make(Linkage.EXTERN)) == ["~ variable v: global -> extern"]


def test_a_typedef_is_looked_into_if_both_sides_have_no_name() -> None:
    def make(name: str, type: int) -> Make:
        return lambda m: m.add(Typedef("t", m.struct(name, 8, ("x", type, 0))))

    assert told(make("", INT), make("", LONG)) == ["~ typedef t", "    ~ typedef t.x: int -> long int, size 4 -> 8"]
    assert told(make("", INT), make("named", INT)) == [
        "+ struct named: 8 bytes, 1 member", "~ typedef t: struct {...} -> struct named",
    ]  # fmt: skip


# Which became which


def test_of_two_that_are_as_much_alike_the_nearer_one_is_the_same() -> None:
    def make(*rows: tuple[int, str]) -> Make:
        def add(m: Maker) -> None:
            for size, name in rows:
                m.struct("s", size, (name, INT, 0))

        return add

    assert told(make((8, "p"), (12, "p")), make((16, "q"), (20, "p"))) == [
        "~ struct s: size 12 -> 20", "~ struct s: size 8 -> 16", "    ~ struct s.p: now q, int at 0",
    ]  # fmt: skip


def test_an_enum_without_a_name_is_that_which_has_most_of_it() -> None:
    def make(*names: str) -> Make:
        def add(m: Maker) -> None:
            for each in names:
                m.add(Enum("", 4, tuple(Enumerator(name, at) for at, name in enumerate(each))))

        return add

    assert told(make("ABC"), make("A", "XBC")) == [
        "+ enum {A}: 1 enumerator", "~ enum {X, ...}", "    ~ enum {X, ...}: A is now X = 0",
    ]  # fmt: skip
    # What two of them have in common belongs to the first.
    assert told(make("A"), make("AX", "AY")) == [
        "~ enum {A, ...}", "    + enum {A, ...}: X = 1", "+ enum {A, ...}: 2 enumerators",
    ]  # fmt: skip


def test_a_member_with_a_new_name_stays_where_it_is() -> None:
    both = struct(("a", INT, 0), ("b", INT, 0)), struct(("x", INT, 0))
    assert told(*both) == [
        "~ struct s", "    - struct s.a: int at 0", "    - struct s.b: int at 0", "    + struct s.x: int at 0",
    ]  # fmt: skip
    inner = nested((("x", INT, 0),), "in", 64)

    def outside(m: Maker) -> None:
        m.struct("s", 64, A, ("in", m.struct("", 16), 64), ("y", INT, 64))

    assert [line for line in told(inner, outside) if "now y" in line] == []


def test_a_struct_that_is_gone_is_told_as_one() -> None:
    inner = ("x", INT, 0), ("y", INT, 32)
    assert told(nested(inner, "in"), struct(A, size=64)) == ["~ struct s", "    - struct s.in: struct {...} at 8"]

    def prefixes(m: Maker) -> None:
        m.struct("s", 64, A, ("in", m.struct("", 8, *inner), 64), ("in2", INT, 128), ("i", CHAR, 160))

    assert told(prefixes, struct(A, size=64)) == [
        "~ struct s", "    - struct s.in: struct {...} at 8", "    - struct s.in2: int at 16",
        "    - struct s.i: char at 20",
    ]  # fmt: skip


def test_bit_fields_that_shift_do_so_by_bits() -> None:
    def make(by: int) -> Make:
        return lambda m: m.struct("s", 4, ("a", INT, by), ("b", INT, by + 2), bits=2)

    assert told(make(0), make(4)) == ["~ struct s", "    ~ struct s: 2 members move by +4 bits: a, b"]


def test_what_shifts_is_told_behind_what_stands_before_it() -> None:
    old = struct(A, B, C, ("d", LONG, 128), size=64)
    new = struct(A, ("b", INT, 64), ("c", LONG, 96), ("n", LONG, 192), ("d", LONG, 256), size=64)
    assert told(old, new) == [
        "~ struct s", "    + struct s.n: long int at 24", "    ~ struct s: 2 members after a move by +4: b, c",
        "    ~ struct s.d: offset 16 -> 32",
    ]  # fmt: skip


def test_members_of_what_has_no_name_that_move_otherwise_are_told() -> None:
    old, new = (("x", INT, 0), ("y", INT, 32)), (("x", INT, 0), ("y", INT, 64))
    assert told(nested(old, "in", 64), nested(new, "in", 128)) == [
        "~ struct s", "    ~ struct s.in: offset 8 -> 16", "    ~ struct s.in.y: offset 12 -> 24",
    ]  # fmt: skip


def test_a_member_that_stays_ends_what_shifts_together() -> None:
    assert told(struct(A, B, C, size=64), struct(("a", INT, 96), B, ("c", LONG, 160), size=64)) == [
        "~ struct s", "    ~ struct s.a: offset 0 -> 12", "    ~ struct s.c: offset 8 -> 20",
    ]  # fmt: skip


def test_enumerators_that_shift() -> None:
    """Also through a typedef, and with a new one between them."""

    def behind(*values: tuple[str, int]) -> Make:
        return lambda m: m.add(Typedef("t", m.add(Enum("", 4, tuple(Enumerator(*each) for each in values)))))

    values, shifted = (("A", 0), ("B", 1), ("C", 2)), (("A", 0), ("B", 2), ("N", 9), ("C", 3))
    said = told(behind(*values), behind(*shifted))
    assert said[-3:] == [
        "~ typedef t", "    + typedef t: N = 9", "    ~ typedef t: 2 enumerators after A move by +1: B, C",
    ]  # fmt: skip
    assert {name for each in changes(behind(*values), behind(*shifted)) for name in each.classes} == {"value"}


def test_enumerators_that_shift_twice() -> None:
    old = enum(("A", 0), ("B", 1), ("C", 2), ("D", 3), ("E", 4))
    new = enum(("A", 0), ("B", 2), ("C", 3), ("D", 5), ("E", 6))
    assert told(old, new) == [
        "~ enum e", "    ~ enum e: 2 enumerators after A move by +1: B, C",
        "    ~ enum e: 2 enumerators after C move by +2: D, E",
    ]  # fmt: skip


X, Y, Z = ("x", INT), ("y", LONG), ("z", CHAR)
PARAMETERS = [
    (
        function(INT, X, Y, Z), function(INT, Z, X),
        [
            "- function f: parameter 2 y: long int", "- function f: parameter 3 z: char",
            "+ function f: parameter 1 z: char",
        ],
    ),
    (
        function(INT, X, Z), function(INT, Y, X, ("z", INT)),
        ["~ function f: parameter 2 -> 3 z: char -> int", "+ function f: parameter 1 y: long int"],
    ),
    # One more with the name and type of the last.
    (function(INT, X), function(INT, X, X), ["+ function f: parameter 2 x: int"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), PARAMETERS)
def test_of_more_or_fewer_parameters_those_are_the_same_that_have_a_name_in_order(
    old: Make, new: Make, expected: list[str]
) -> None:
    assert told(old, new) == ["~ function f", *(f"    {line}" for line in expected)]


# In words


def test_a_pointer_that_moves_to_something_else_without_a_name() -> None:
    def make(offset: int, type: int) -> Make:
        return lambda m: m.struct("s", 32, ("p", m.add(Ptr(m.struct("", 8, ("x", type, 0)))), offset))

    assert told(make(0, INT), make(64, LONG)) == [
        "~ struct s", "    ~ struct s.p: offset 0 -> 8, struct {...} * differs inside",
    ]  # fmt: skip


def test_qualifiers_in_front_of_and_behind_stars() -> None:
    def make(m: Maker) -> None:
        inner = m.add(Ptr(m.add(Const(m.add(Ptr(m.char))))))
        m.add(Typedef("t", m.add(Const(inner))))

    def pointers(m: Maker) -> None:
        m.add(Typedef("t", m.add(Array(m.add(Ptr(m.char)), INT, 3))))

    assert told(pointers, make) == ["~ typedef t: char *[3] -> char *const *const"]


def test_code_in_markdown_is_fenced_by_more_than_it_has() -> None:
    name = "a``b`c"
    found = changes(lambda m: None, lambda m: m.add(Struct(name, 4, (Member("x", INT, 0),))))
    assert any(f"```struct {name}```" in line for line in markdown(found, lambda change: ""))


# Classes


def test_classes_of_kfuncs() -> None:
    def make(*tags: str, returns: int = INT, name: str = "x", component: int = -1) -> Make:
        def add(m: Maker) -> None:
            f = m.function("f", returns, (name, INT))
            for tag in tags:
                m.add(DeclTag(tag, f, component))

        return add

    def classes(old: Make, new: Make) -> set[str]:
        (change,) = changes(old, new)
        return set(change.classes)

    kfunc = make("bpf_kfunc")
    assert classes(kfunc, make()) == {"kfunc"}
    assert classes(make("bpf_kfunc", "bpf_fastcall"), kfunc) == {"kfunc"}
    assert classes(kfunc, make("bpf_kfunc", returns=LONG)) == {"kfunc", "signature"}
    assert classes(kfunc, make("bpf_kfunc", name="y")) == set()
    assert classes(kfunc, make("bpf_kfunc", "bpf_fastcall")) == set()
    assert classes(kfunc, lambda m: None) == {"kfunc", "removed"}
    (change,) = changes(make("bpf_kfunc", component=0), make("bpf_kfunc", component=0, returns=LONG))
    assert not change.kfunc


def test_classes_of_details() -> None:
    def classes(old: Make, new: Make) -> set[str]:
        return {name for change in changes(old, new) for name in change.classes}

    assert classes(struct(A, B), struct(A)) == {"removed", "layout"}
    assert classes(enum(("A", 0), ("B", 1)), enum(("A", 0))) == {"removed"}
    assert classes(struct(A), struct(A, B)) == set()
    assert classes(struct(A, B), struct(A, ("x", INT, 32))) == {"removed"}
    assert classes(enum(("A", 0), ("B", 1)), enum(("A", 1), ("B", 2))) == {"value"}


def test_a_definition_that_is_gone_is_removed_and_reaches_what_the_declaration_did() -> None:
    def make(defined: bool) -> Make:
        def add(m: Maker) -> None:
            x = m.struct("x", 4, A) if defined else m.add(Fwd("x"))
            m.function("f", INT, ("p", m.add(Ptr(x))))

        return add

    (lone,) = changes(lambda m: m.add(Fwd("x")), lambda m: None)
    assert (lone.what, set(lone.classes)) == ("removed", set())
    (gone,), (come,) = changes(make(True), make(False)), changes(make(False), make(True))
    assert [set(each.classes) for each in (gone, come)] == [{"removed"}, set()]
    assert gone.reach == come.reach
    assert come.reach is not None
    assert come.reach.functions == 1


def test_how_far_a_change_reaches() -> None:
    """Not through the index of an array, but through tags. Nameless types are never counted."""

    def make(size: int) -> Make:
        def add(m: Maker) -> None:
            e = m.add(Enum("e", size, (Enumerator("A", 0),)))
            unnamed = m.struct("", 8, ("x", e, 0))
            m.struct("outer", 16, ("in", unnamed, 0))
            m.struct("indexed", 16, ("x", m.add(Array(INT, e, 2)), 0))
            m.function("tagged", INT, ("p", m.add(Ptr(m.add(TypeTag("user", e))))))

        return add

    (found,) = [each for each in changes(make(4), make(8)) if each.name == "e"]
    (named,) = [each for each in changes(make(4), make(8), names=True) if each.name == "e"]
    assert found.reach is not None
    assert named.reach is not None
    assert named.reach.names == (("outer",), (), ("tagged",))
    assert (found.reach.types, found.reach.variables, found.reach.functions) == (1, 0, 1)


# What patterns match


def chosen(old: Make, new: Make, *, names: tuple[str, ...] = (), ignored: tuple[str, ...] = ()) -> list[str]:
    selection = Selection((), names, [Pattern(text) for text in ignored])
    return [line for line in lines(selection.choose(changes(old, new)), lambda change: change.title) if line]


def test_names_of_members() -> None:
    """Several are shown together; of members that moved together, those; a name of the struct itself shows all."""
    shifted = struct(A, B, C), struct(("a", INT, 64), ("b", INT, 96), ("c", LONG, 128))
    together = ["~ struct s", "    ~ struct s: 2 members move by +8: a, c"]
    assert chosen(*shifted, names=("s.a", "struct s.c")) == together
    assert chosen(*shifted, names=("s.b",)) == ["~ struct s", "    ~ struct s: 1 member moves by +8: b"]
    assert chosen(*shifted, names=("s.x",)) == []
    assert chosen(*shifted, names=("s.a", "s.c", "s.b"), ignored=("s.b",)) == together
    other = struct(A, B, C), struct(A, ("b", LONG, 64), ("x", LONG, 128))
    title, *rest = chosen(*other, names=("s.b", "s.gone", "s.x"))
    assert title == "~ struct s"
    assert [line.split(":")[0] for line in rest] == ["    + struct s.x", "    ~ struct s.b"]
    assert chosen(*other, names=("s.b", "s")) == chosen(*other, names=("s", "s.b")) == chosen(*other)


def test_sections_have_dots_in_their_names() -> None:
    def make(size: int) -> Make:
        def add(m: Maker) -> None:
            m.add(Datasec(".data..percpu", size, (SectionVar(m.add(Var("v", INT)), 0, 4),)))

        return add

    assert chosen(make(4), make(4)) == []
    everything = chosen(make(4), make(8))
    assert everything == ["~ section .data..percpu: size 4 -> 8"]
    assert chosen(make(4), make(8), names=("section .data*",)) == everything
    assert chosen(make(4), make(8), ignored=("section .data..percpu",)) == []


def test_patterns_of_members() -> None:
    shifted = struct(A, B, C), struct(("a", INT, 64), ("b", INT, 96), ("c", LONG, 128))
    assert chosen(*shifted, ignored=("struct s.*",)) == []
    assert chosen(*shifted, ignored=("s.b",))[-1] == "    ~ struct s: 2 members move by +8: a, c"

    def two(m: Maker) -> None:
        m.struct("s", 32, A)
        m.struct("t", 32, A)

    def grown(m: Maker) -> None:
        m.struct("s", 32, A, B)
        m.struct("t", 32, A, B)

    assert chosen(two, grown, names=("s.b", "t")) == [
        "~ struct s", "    + struct s.b: int at 4", "~ struct t", "    + struct t.b: int at 4",
    ]  # fmt: skip
    assert chosen(two, grown, names=("s.x", "t")) == ["~ struct t", "    + struct t.b: int at 4"]


def test_patterns_of_what_is_gone_keep_its_classes() -> None:
    gone = changes(struct(A), lambda m: None)
    (change,) = Selection((), (), [Pattern("struct s.a")]).choose(gone)
    assert change.classes == {"removed"}


def test_patterns_of_kfuncs_and_of_enums_without_a_name() -> None:
    def make(returns: int) -> Make:
        def add(m: Maker) -> None:
            m.add(DeclTag("bpf_kfunc", m.function("both_k", returns), -1))
            m.function("both_f", returns)
            s = m.struct("tagged", 4 if returns == INT else 8)
            m.add(DeclTag("bpf_kfunc", s, -1))

        return add

    assert chosen(make(INT), make(LONG), names=("kfunc both*",))[0] == "~ kfunc both_k"
    assert len(chosen(make(INT), make(LONG), names=("kfunc both*",))) == 2
    only = Selection(["kfuncs"]).choose(changes(make(INT), make(LONG)))
    assert [change.name for change in only] == ["both_k"]
    nameless = enum(("FIRST", 0), name=""), enum(("FIRST", 0), ("MORE", 1), name="")
    assert chosen(*nameless, names=("enum {FIRST*",)) == ["~ enum {FIRST, ...}", "    + enum {FIRST, ...}: MORE = 1"]


# Bases


def test_each_side_has_its_base(tmp_path: Path) -> None:
    """A module that embeds a struct that grew in its kernel."""
    bases: list[Path] = []
    modules: list[Path] = []
    for name, size in (("old", 4), ("new", 8)):
        made = Maker()
        made.struct("inner", size, A)
        base = made.btf()
        builder = BtfBuilder(base)
        builder.add(Struct("mine", 16, (Member("in", base.end_id - 1, 0),)))
        for paths, data in ((bases, made.builder.tobytes()), (modules, builder.tobytes())):
            paths.append(tmp_path / f"{name}.{len(paths)}.{'base' if paths is bases else 'ko'}")
            paths[-1].write_bytes(data)
    found = diff(*modules, old_base=bases[0], new_base=bases[1], reach=False)
    assert lines(found.changes, found.declaration) == ["~ struct mine", "    ~ struct mine.in: size 4 -> 8"]
    assert diff(*modules, base=bases[0]).changes == []
