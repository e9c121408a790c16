"""`pybtf diff`: which of several types of one name became which, what is one change, what is counted, cut texts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pybtf import diff
from pybtf.btf.kinds import IntEncoding, Linkage
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Param,
    Ptr,
    SectionVar,
    Typedef,
    Var,
    Volatile,
)
from pybtf.differences.compare import Differences
from pybtf.differences.model import Detail, Reach, Tally, classes_of
from tests.commands.test_diff import CHAR, INT, LONG, A, B, Make, Maker, function, struct, told
from tests.commands.test_diff_rules import changes


def differences(old: Make, new: Make) -> Differences:
    makers = Maker(), Maker()
    old(makers[0])
    new(makers[1])
    return diff(makers[0].btf(), makers[1].btf())


# Which became which


def enums(*names: str, name: str = "e") -> Make:
    """An enum for each word, with its letters as enumerators."""

    def add(m: Maker) -> None:
        for word in names:
            m.add(Enum(name, 4, tuple(Enumerator(letter, at) for at, letter in enumerate(word))))

    return add


def functions(*names: str) -> Make:
    """A function `f` for each word, with its letters as parameters."""

    def add(m: Maker) -> None:
        for word in names:
            m.function("f", INT, *((letter, INT) for letter in word))

    return add


def test_enums_of_one_name_go_by_their_enumerators() -> None:
    assert told(enums("AB", "PQ"), enums("PQR", "ABC")) == [
        "~ enum e", "    + enum e: C = 2", "~ enum e", "    + enum e: R = 2",
    ]  # fmt: skip


def test_functions_of_one_name_go_by_their_parameters() -> None:
    assert told(functions("ab", "pq"), functions("pqr", "abc")) == [
        "~ function f", "    + function f: parameter 3 c: int", "~ function f", "    + function f: parameter 3 r: int",
    ]  # fmt: skip


def test_very_many_of_one_name_go_by_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    both = enums("AB", "PQ"), enums("PQR", "ABC", "X")
    monkeypatch.setattr("pybtf.differences.compare.MAX_PAIRS", 6)
    assert len(told(*both)) == 5
    monkeypatch.setattr("pybtf.differences.compare.MAX_PAIRS", 5)
    assert len(told(*both)) > 5


def test_enums_without_a_name_that_share_nothing_are_two() -> None:
    """With a name, they are one enum that has changed."""
    assert told(enums("A", name=""), enums("B", name="")) == ["- enum {A}: 1 enumerator", "+ enum {B}: 1 enumerator"]
    assert told(enums("A"), enums("B"))[0] == "~ enum e"


def test_each_goes_with_one() -> None:
    """What it has in common with another is then not reported."""
    assert told(enums("AX", "BY", name=""), enums("AB", name="")) == [
        "~ enum {A, ...}", "    ~ enum {A, ...}: X is now B = 1", "- enum {B, ...}: 2 enumerators",
    ]  # fmt: skip

    def two(m: Maker) -> None:
        m.struct("s", 32, A, B, ("c", INT, 64))
        m.struct("s", 32, ("p", INT, 0))

    assert told(struct(A, B), two) == [
        "~ struct s", "    + struct s.c: int at 8", "+ struct s: 32 bytes, 1 member",
    ]  # fmt: skip


def test_parameters_without_names() -> None:
    """At the end, they are the same if they have the same type; in the middle, nothing says which is which."""
    assert told(function(INT, ("", INT), ("", LONG)), function(INT, ("", INT), ("", CHAR), ("", LONG))) == [
        "~ function f", "    + function f: parameter 2: char",
    ]  # fmt: skip
    assert told(function(INT, ("", INT)), function(INT, ("", LONG), ("", CHAR))) == [
        "~ function f", "    - function f: parameter 1: int", "    + function f: parameter 1: long int",
        "    + function f: parameter 2: char",
    ]  # fmt: skip


# What is one change


def test_a_declaration_that_is_defined_has_the_ids_of_both() -> None:
    def make(defined: bool) -> Make:
        def add(m: Maker) -> None:
            for n in range(1 + 2 * defined):
                m.add(Float(f"filler{n}", 8))
            if defined:
                m.struct("x", 4, A)
            else:
                m.add(Fwd("x"))

        return add

    found = [each for each in changes(make(False), make(True)) if each.name == "x"]
    assert [(each.what, each.category, each.old_id, each.new_id, each.kfunc) for each in found] == [
        ("changed", "struct", 5, 7, False)
    ]
    found = [each for each in changes(make(True), make(False)) if each.name == "x"]
    assert [(each.what, each.category, each.old_id, each.new_id, each.kfunc) for each in found] == [
        ("changed", "struct", 7, 5, False)
    ]


def test_only_a_declaration_is_joined_with_a_definition() -> None:
    """And only with one that came when it went."""

    def defined(union: bool, *fwds: Fwd) -> Make:
        def add(m: Maker) -> None:
            m.struct("x", 4, A, union=union)
            for each in fwds:
                m.add(each)

        return add

    two = "- declaration y: a declaration only"
    assert told(defined(False, Fwd("y")), defined(True)) == ["- struct x: 4 bytes, 1 member",
                                                             "+ union x: 4 bytes, 1 member", two]  # fmt: skip
    assert told(lambda m: m.add(Typedef("x", INT)), lambda m: m.add(Fwd("x"))) == [
        "- typedef int x", "+ declaration x: a declaration only",
    ]  # fmt: skip
    grown = told(struct(A), lambda m: (m.struct("s", 32, A, B), m.add(Fwd("s"))))
    assert grown == ["~ struct s", "    + struct s.b: int at 4", "+ declaration s: a declaration only"]
    other = told(lambda m: m.add(Fwd("x")), lambda m: (m.add(Fwd("x", kind_flag=True)), m.struct("x", 4, A)))
    assert other == ["+ struct x: 4 bytes, 1 member", "~ declaration x: struct x -> union x"]


# What it says


def test_ids_are_those_of_their_side() -> None:
    """In the new BTF, there are more types before these."""

    def make(new: bool) -> Make:
        def add(m: Maker) -> None:
            for n in range(3 * new):
                m.add(Float(f"filler{n}", 8))
            s, t = m.struct("s", 8, A), m.struct("t", 8, ("q", CHAR, 0))
            to_s, to_t = m.add(Ptr(s)), m.add(Ptr(t))
            last = [("more", to_t)] if new else []
            m.function("f", INT, ("a", to_s), ("b", to_t if new else to_s), *last)
            m.add(Var("v", to_t if new else to_s, Linkage.STATIC))
            rows = [("n", to_t, 0), ("c", s, 64), ("p", to_s, 128)] if new else [("o", to_s, 0), ("p", to_s, 64)]
            m.struct("z", 64, *rows)

        return add

    said = [line for line in told(make(False), make(True)) if "filler" not in line]
    assert said == [
        "~ struct z", "    - struct z.o: struct s * at 0", "    + struct z.n: struct t * at 0",
        "    + struct z.c: struct s at 8", "    ~ struct z.p: offset 8 -> 16", "~ function f",
        "    ~ function f: parameter 2 b: struct s * -> struct t *", "    + function f: parameter 3 more: struct t *",
        "~ variable v: struct s * -> struct t *",
    ]  # fmt: skip


def test_of_parameters_of_one_name_the_first_is_the_same() -> None:
    assert told(function(INT, ("x", INT)), function(INT, ("x", LONG), ("x", CHAR))) == [
        "~ function f", "    ~ function f: parameter 1 x: int -> long int", "    + function f: parameter 2 x: char",
    ]  # fmt: skip


def test_a_typedef_is_looked_into_only_if_both_sides_are_of_a_kind() -> None:
    def of(name: str, kind: str) -> Make:
        def add(m: Maker) -> None:
            if kind == "enum":
                m.add(Typedef("t", m.add(Enum(name, 4, (Enumerator("x", 0),)))))
            else:
                m.add(Typedef("t", m.struct(name, 4, ("x", INT, 0), union=kind == "union")))

        return add

    assert told(of("", "struct"), of("", "union")) == ["~ typedef t: struct {...} -> union {...}"]
    assert told(of("", "struct"), of("", "enum"))[-1] == "~ typedef t: struct {...} -> enum {...}"
    assert told(of("s", "struct"), of("", "struct"))[-1] == "~ typedef t: struct s -> struct {...}"


def test_a_tag_on_a_declaration() -> None:
    def make(*tags: str) -> Make:
        def add(m: Maker) -> None:
            x = m.add(Fwd("x"))
            for tag in tags:
                m.add(DeclTag(tag, x, -1))

        return add

    assert told(make(), make("a")) == ["~ declaration x", "    + declaration x: tag a"]


def test_numbers_and_sections_have_sizes() -> None:
    def float(size: int) -> Make:
        return lambda m: m.add(Float("f", size))

    def data(size: int) -> Make:
        return lambda m: m.add(Datasec(".data", size, (SectionVar(m.add(Var("v", INT, Linkage.STATIC)), 0, 4),)))

    assert told(float(4), float(8)) == ["~ type f: size 4 -> 8"]
    assert told(data(4), data(8)) == ["~ section .data: size 4 -> 8"]
    signed = IntEncoding.SIGNED
    assert told(lambda m: m.add(Int("i", 4, 24, signed)), lambda m: m.add(Int("i", 8, 24, signed))) == [
        "~ type i: size 4 -> 8"
    ]


def test_a_linkage_without_a_name_is_a_number() -> None:
    def make(linkage: int) -> Make:
        return lambda m: m.add(Var("v", INT, cast("Linkage", linkage)))

    assert told(make(2), make(3)) == ["~ variable v: extern -> 3"]
    assert told(make(0), make(9)) == ["~ variable v: static -> 9"]


def test_a_function_whose_type_is_no_prototype() -> None:
    def broken(m: Maker) -> None:
        m.add(Func("f", LONG, Linkage.STATIC))

    proto = function(INT, ("a", INT))
    assert told(broken, proto) == ["~ function f", "    ~ function f: returns long int -> int(int)"]
    assert told(proto, broken) == ["~ function f", "    ~ function f: returns int(int) -> long int"]


def test_what_is_new_has_no_classes_and_only_types_reach() -> None:
    def make(m: Maker) -> None:
        s = m.struct("s", 32, A)
        m.add(Var("v", s, Linkage.STATIC))
        m.function("f", INT, ("p", m.add(Ptr(s))))

    come, gone = changes(lambda m: None, make), changes(make, lambda m: None)
    assert [(each.category, set(each.classes), each.reach) for each in come] == [
        ("struct", set(), None), ("function", set(), None), ("variable", set(), None),
    ]  # fmt: skip
    assert [(each.category, set(each.classes), each.reach is None) for each in gone] == [
        ("struct", {"removed"}, False), ("function", {"removed"}, True), ("variable", {"removed"}, True),
    ]  # fmt: skip


def test_what_is_reached_is_told_by_name() -> None:
    def make(size: int) -> Make:
        def add(m: Maker) -> None:
            s = m.struct("s", size, A)
            for name in ("c", "b"):
                m.struct(name, 64, ("s", s, 0))
            for name in ("z", "y", "x"):
                m.function(name, s)
            m.add(Var("v", s, Linkage.STATIC))

        return add

    (change,) = [each for each in changes(make(32), make(40), names=True) if each.name == "s"]
    assert change.reach == Reach(2, 1, 3, (("b", "c"), ("v",), ("x", "y", "z")))


def test_how_far_is_not_told_if_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search has a budget (core/diff/diff_reach.py)."""

    class Spent:
        def __init__(self, view: object) -> None: ...

        def of(self, id: int) -> None: ...

        def sums(self, id: int) -> None: ...

    monkeypatch.setattr("pybtf.differences.compare.Reached", Spent)
    for names in (False, True):
        assert [each.reach for each in changes(struct(A), struct(A, B), names=names)] == [None]


def test_a_kfunc_that_loses_a_tag_may_change_in_other_ways_too() -> None:
    def make(name: str, *tags: str) -> Make:
        def add(m: Maker) -> None:
            f = m.function("f", INT, (name, INT))
            for tag in tags:
                m.add(DeclTag(tag, f, -1))

        return add

    (change,) = changes(make("x", "bpf_kfunc", "bpf_fastcall"), make("y", "bpf_kfunc"))
    assert change.classes == {"kfunc"}


def test_tallies() -> None:
    """For each category, how much each side has and what happened to it."""

    def old(m: Maker) -> None:
        m.struct("s", 32, A)
        m.struct("gone", 32, A)
        m.struct("same", 32, A)

    def new(m: Maker) -> None:
        m.struct("s", 32, A, B)
        m.struct("same", 32, A)
        m.add(Enum("e", 4, (Enumerator("X", 0),)))
        m.add(Enum("f", 4, (Enumerator("Y", 0),)))

    tallies = differences(old, new).tallies()
    assert tallies["struct"] == Tally(3, 2, added=0, removed=1, changed=1)
    assert tallies["enum"] == Tally(0, 2, added=2, removed=0, changed=0)
    assert tallies["number"] == Tally(3, 3, added=0, removed=0, changed=0)


def test_a_tag_that_stays_is_not_told() -> None:
    def make(*tags: str) -> Make:
        def add(m: Maker) -> None:
            s = m.struct("s", 32, A)
            for tag in tags:
                m.add(DeclTag(tag, s, -1))

        return add

    assert told(make("a", "b"), make("b", "c")) == ["~ struct s", "    - struct s: tag a", "    + struct s: tag c"]
    assert told(make("a", "b"), make("b", "a")) == []


# Texts


def added(make: Make) -> str:
    """The line about the last new type."""
    return told(lambda m: None, make)[-1]


def test_functions_are_declared_with_the_names_of_their_parameters() -> None:
    def pointers(m: Maker) -> None:
        callback = m.add(Ptr(m.add(FuncProto(0, (Param("", INT), Param("", 0))))))
        m.function("f", m.add(Ptr(m.char)), ("a", callback), ("b", m.add(Ptr(m.char))), ("", LONG), ("", 0))

    assert added(pointers) == "+ function char *f(void (*a)(int, ...), char *b, long int, ...)"
    assert added(function(INT)) == "+ function int f(void)"
    assert added(lambda m: m.add(Func("f", LONG, Linkage.STATIC))) == "+ function long int f"


def test_declarations_of_other_things() -> None:
    def rows(m: Maker) -> int:
        return m.add(Array(m.add(Ptr(m.add(FuncProto(INT, ())))), INT, 3))

    assert added(lambda m: m.add(Typedef("t", rows(m)))) == "+ typedef int (*t[3])(void)"
    assert added(lambda m: m.add(Var("v", INT, Linkage.STATIC))) == "+ variable int v"
    assert added(lambda m: m.add(Var("v", m.add(Ptr(m.add(Const(INT)))), Linkage.STATIC))) == (
        "+ variable const int *v"
    )
    assert added(lambda m: m.add(Var("v", m.add(Const(m.add(Volatile(INT)))), Linkage.STATIC))) == (
        "+ variable const volatile int v"
    )
    assert added(lambda m: m.add(Var("v", m.add(Ptr(m.add(Array(INT, INT, 2)))), Linkage.STATIC))) == (
        "+ variable int (*v)[2]"
    )
    assert added(lambda m: m.add(Var("v", m.add(Ptr(m.add(Fwd("u", kind_flag=True)))), Linkage.STATIC))) == (
        "+ declaration u: a declaration only"
    )


def test_a_long_chain_of_qualifiers_is_cut() -> None:
    def make(count: int) -> Make:
        def add(m: Maker) -> None:
            type = INT
            for _ in range(count):
                type = m.add(Const(type))
            m.add(Var("v", type, Linkage.STATIC))
            m.add(Var("w", INT, Linkage.STATIC))

        return add

    whole, _ = told(lambda m: None, make(199))
    assert whole == f"+ variable {'const ' * 199}int v"
    cut, other = told(lambda m: None, make(200))
    assert (cut, other) == ("+ variable ... v", "+ variable int w")


# Texts that are cut


def nested(depth: int, inner: int) -> Make:
    """A typedef of a pointer to a function that takes a pointer to a function, and so on."""

    def add(m: Maker) -> None:
        type = inner
        for _ in range(depth):
            type = m.add(Ptr(m.add(FuncProto(INT, (Param("", type),)))))
        m.add(Typedef("t", type))

    return add


def test_prototypes_in_prototypes_have_a_bound() -> None:
    (whole,) = told(nested(16, INT), nested(16, LONG))
    assert whole.endswith(" -> " + "int (*)(" * 16 + "long int" + ")" * 16)
    (cut,) = told(nested(17, INT), nested(17, LONG))
    assert cut == f"~ typedef t: {'... (*)(' * 17}...{')' * 17}, differs inside"


def test_what_is_cut_in_one_text_is_whole_in_the_next() -> None:
    def make(last: int) -> Make:
        def add(m: Maker) -> None:
            types = [last]
            for _ in range(17):
                types.append(m.add(Ptr(m.add(FuncProto(INT, (Param("", types[-1]),))))))
            m.add(Typedef("long", types[-1]))
            m.add(Typedef("short", types[2]))

        return add

    first, second = told(make(INT), make(LONG))
    assert "..." in first
    assert second == "~ typedef short: int (*)(int (*)(int)) -> int (*)(int (*)(long int))"


# Classes


@pytest.mark.parametrize(
    ("category", "what", "old", "new", "classes"),
    [
        ("function", "return", None, None, {"signature"}),
        ("function", "changed", None, None, {"signature"}),
        ("function", "added", None, None, {"signature"}),
        ("function", "removed", None, None, {"signature"}),
        ("function", "renamed", None, None, set()),
        ("function", "linkage", None, None, set()),
        ("variable", "type", None, None, {"signature"}),
        ("variable", "size", None, None, {"size"}),
        ("variable", "section", None, None, set()),
        ("section", "size", None, None, set()),
        ("struct", "size", None, None, {"size", "layout"}),
        ("struct", "removed", {"offset": 0}, None, {"removed", "layout"}),
        ("struct", "renamed", {}, {"name": "b"}, {"removed"}),
        ("struct", "moved", {"offset": 0}, {"offset": 4}, {"layout"}),
        ("struct", "shifted", None, {"by": 4, "members": ["a", "b"]}, {"layout"}),
        ("struct", "added", None, {"offset": 0}, set()),
        ("struct", "defined", None, None, set()),
        ("struct", "declared", None, None, {"removed"}),
        ("struct", "regrouped", None, None, set()),
        ("struct", "tag removed", {"name": "a"}, None, set()),
        ("enum", "removed", {"value": 0}, None, {"removed"}),
        ("enum", "changed", {"value": 0}, {"value": 1}, {"value"}),
        ("enum", "shifted", None, {"by": 1, "of": "enumerators", "members": ["A", "B"]}, {"value"}),
        ("enum", "signed", {"value": 0}, {"value": 1}, {"layout"}),
        ("typedef", "type", {"type": "int"}, {"type": "long"}, {"layout"}),
        ("number", "encoding", {"value": 0}, {"value": 1}, {"layout"}),
        ("number", "bits", {"value": 31}, {"value": 32}, {"layout"}),
    ],
)  # fmt: skip
def test_a_class_of_a_detail(category: str, what: str, old: Any, new: Any, classes: set[str]) -> None:
    assert set(classes_of(category, Detail(what, "", old, new))) == classes
