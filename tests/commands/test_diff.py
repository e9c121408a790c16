"""`pybtf diff`: what is reported about deliberate changes, one at a time, in BTF built in memory."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pybtf import BTF, diff
from pybtf.btf.kinds import IntEncoding, Linkage
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    SectionVar,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Union,
    Var,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.differences.select import Pattern, Selection
from pybtf.differences.text import lines
from pybtf.errors import UsageError
from tests.conftest import ROOT
from tools.generate import randbtf

FOLDER = ROOT / "fixtures" / "diff"
OLD, NEW = str(FOLDER / "old.btf"), str(FOLDER / "new.btf")


class Maker:
    """BTF under construction: an int and a char first, then what is added."""

    def __init__(self) -> None:
        self.builder = BtfBuilder()
        self.int = self.add(Int("int", 4, 32, IntEncoding.SIGNED))
        self.char = self.add(Int("char", 1, 8, IntEncoding(0)))
        self.long = self.add(Int("long int", 8, 64, IntEncoding.SIGNED))

    def add(self, type: Type) -> int:
        return self.builder.add(type)

    def struct(self, name: str, size: int, *members: tuple[str, int, int], union: bool = False, bits: int = 0) -> int:
        rows = tuple(Member(row[0], row[1], row[2], bits) for row in members)
        return self.add((Union if union else Struct)(name, size, rows))

    def function(self, name: str, returns: int, *params: tuple[str, int], linkage: Linkage = Linkage.STATIC) -> int:
        proto = self.add(FuncProto(returns, tuple(Param(*each) for each in params)))
        return self.add(Func(name, proto, linkage))

    def btf(self) -> BTF:
        return BTF.from_bytes(self.builder.tobytes())


Make = Callable[[Maker], object]


def told(old: Make, new: Make) -> list[str]:
    """The lines about two BTFs, without the lines about how far changes reach."""
    makers = Maker(), Maker()
    old(makers[0])
    new(makers[1])
    differences = diff(makers[0].btf(), makers[1].btf(), reach=False)
    return lines(differences.changes, differences.declaration)


def struct(*members: tuple[str, int, int], size: int = 32) -> Make:
    return lambda m: m.struct("s", size, *members)


INT, CHAR, LONG = 1, 2, 3
A, B, C = ("a", INT, 0), ("b", INT, 32), ("c", LONG, 64)


def test_equal() -> None:
    assert told(struct(A, B, C), struct(A, B, C)) == []


MEMBERS = [
    (struct(A, C), struct(A, B, C), ["~ struct s", "    + struct s.b: int at 4"]),
    (struct(A, B), struct(A), ["~ struct s", "    - struct s.b: int at 4"]),
    (struct(A, B), struct(A, ("b", CHAR, 32)), ["~ struct s", "    ~ struct s.b: int -> char, size 4 -> 1"]),
    (
        struct(A, B),
        struct(A, ("b", LONG, 64)),
        ["~ struct s", "    ~ struct s.b: offset 4 -> 8, int -> long int, size 4 -> 8"],
    ),
    (struct(A, B), struct(A, ("b", INT, 64)), ["~ struct s", "    ~ struct s.b: offset 4 -> 8"]),
    (struct(A, B), struct(A, ("x", INT, 32)), ["~ struct s", "    ~ struct s.b: now x, int at 4"]),
    (struct(A), struct(A, size=40), ["~ struct s: size 32 -> 40"]),
    (struct(A, B), struct(B, A), ["~ struct s: other order or nesting, nothing moved"]),
    (
        struct(A, B, C),
        struct(("new", LONG, 0), ("a", INT, 64), ("b", INT, 96), ("c", LONG, 128)),
        ["~ struct s", "    + struct s.new: long int at 0", "    ~ struct s: 3 members after new move by +8: a ... c"],
    ),
    (
        struct(A, B, C),
        struct(A, ("b", LONG, 64), ("c", LONG, 128)),
        [
            "~ struct s", "    ~ struct s.b: offset 4 -> 8, int -> long int, size 4 -> 8",
            "    ~ struct s.c: offset 8 -> 16",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), MEMBERS)
def test_members(old: Make, new: Make, expected: list[str]) -> None:
    assert told(old, new) == expected


def test_bit_fields() -> None:
    def bits(offset: int, width: int) -> Make:
        return lambda m: m.struct("s", 4, ("a", INT, offset), bits=width)

    assert told(bits(3, 2), bits(3, 4)) == ["~ struct s", "    ~ struct s.a: 2 bits -> 4 bits"]
    assert told(bits(3, 2), bits(12, 2)) == ["~ struct s", "    ~ struct s.a: offset 0:3 -> 1:4"]
    assert told(bits(0, 2), struct(A, size=4)) == ["~ struct s", "    ~ struct s.a: 2 bits -> no bit-field"]


def nested(inner: tuple[tuple[str, int, int], ...], name: str, at: int = 64, times: int = 0) -> Make:
    def make(m: Maker) -> None:
        id = m.struct("", 16, *inner)
        id = m.add(Array(id, INT, times)) if times else id
        m.struct("s", 64, A, (name, id, at))

    return make


def test_structs_without_a_name_are_looked_into() -> None:
    inner = ("x", INT, 0), ("y", INT, 32)
    assert told(nested(inner, ""), nested((*inner, ("z", INT, 64)), "")) == [
        "~ struct s",
        "    + struct s.z: int at 16",
    ]
    assert told(nested(inner, "in"), nested((("x", INT, 0), ("y", CHAR, 32)), "in")) == [
        "~ struct s", "    ~ struct s.in.y: int -> char, size 4 -> 1",
    ]  # fmt: skip
    # The member is reported to have moved; its contents are not reported again.
    assert told(nested(inner, "in"), nested(inner, "in", 128)) == ["~ struct s", "    ~ struct s.in: offset 8 -> 16"]
    assert told(nested(inner, ""), nested(inner, "", 128)) == [
        "~ struct s", "    ~ struct s: 2 members after a move by +8: x, y",
    ]  # fmt: skip
    assert told(struct(A, size=64), nested(inner, "in")) == ["~ struct s", "    + struct s.in: struct {...} at 8"]
    assert told(nested(inner, "in", times=2), nested((("x", LONG, 0), inner[1]), "in", times=2)) == [
        "~ struct s", "    ~ struct s.in[].x: int -> long int, size 4 -> 8",
    ]  # fmt: skip
    assert told(nested(inner, "in", times=2), nested(inner, "in", times=3)) == [
        "~ struct s", "    ~ struct s.in: struct {...}[2] -> struct {...}[3], size 32 -> 48",
    ]  # fmt: skip


def test_what_pointers_lead_to_changes_nothing() -> None:
    def make(size: int) -> Make:
        def add(m: Maker) -> None:
            inner = m.struct("inner", size, A)
            m.struct("s", 8, ("p", m.add(Ptr(m.add(Const(inner)))), 0))
            m.function("f", INT, ("p", m.add(Ptr(inner))))

        return add

    assert told(make(4), make(8)) == ["~ struct inner: size 4 -> 8"]


def test_a_member_that_grew_is_a_change() -> None:
    def make(size: int) -> Make:
        return lambda m: m.struct("s", 32, ("in", m.add(Typedef("inner_t", m.struct("inner", size, A))), 0))

    assert told(make(4), make(8)) == ["~ struct inner: size 4 -> 8", "~ struct s", "    ~ struct s.in: size 4 -> 8"]


def test_declarations_and_definitions() -> None:
    def declared(m: Maker) -> None:
        m.struct("user", 8, ("p", m.add(Ptr(m.add(Fwd("x")))), 0))

    def defined(m: Maker) -> None:
        m.struct("user", 8, ("p", m.add(Ptr(m.struct("x", 4, A))), 0))

    assert told(declared, defined) == ["~ struct x: was only declared, now defined"]
    assert told(defined, declared) == ["~ struct x: was defined, now only declared"]
    assert told(lambda m: None, lambda m: m.add(Fwd("x"))) == ["+ declaration x: a declaration only"]


def enum(*values: tuple[str, int], name: str = "e", size: int = 4, signed: bool = False) -> Make:
    return lambda m: m.add(Enum(name, size, tuple(Enumerator(*each) for each in values), kind_flag=signed))


ENUMS = [
    (enum(("A", 0)), enum(("A", 0), ("B", 1)), ["~ enum e", "    + enum e: B = 1"]),
    (enum(("A", 0), ("B", 1)), enum(("A", 0)), ["~ enum e", "    - enum e: B = 1"]),
    (enum(("A", 0), ("B", 1)), enum(("A", 0), ("B", 2)), ["~ enum e", "    ~ enum e: B = 1 -> 2"]),
    (enum(("A", 0), ("B", 1)), enum(("A", 0), ("X", 1)), ["~ enum e", "    ~ enum e: B is now X = 1"]),
    (enum(("A", 0)), enum(("A", 0), size=8), ["~ enum e: size 4 -> 8"]),
    (enum(("A", 0)), enum(("A", 0), signed=True), ["~ enum e: now signed"]),
    (
        enum(("A", 0), ("B", 1), ("C", 2)),
        enum(("A", 0), ("N", 1), ("B", 2), ("C", 3)),
        ["~ enum e", "    + enum e: N = 1", "    ~ enum e: 2 enumerators after N move by +1: B, C"],
    ),
    (
        enum(("A", 0), ("B", 1), name=""), enum(("Z", 9), ("A", 0), ("B", 2), name=""),
        ["~ enum {Z, ...}", "    + enum {Z, ...}: Z = 9", "    ~ enum {Z, ...}: B = 1 -> 2"],
    ),
    (enum(("A", 0)), lambda m: m.add(Enum64("e", 8, (Enumerator("A", 0),))), ["~ enum e: size 4 -> 8"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), ENUMS)
def test_enums(old: Make, new: Make, expected: list[str]) -> None:
    assert told(old, new) == expected


def function(returns: int, *params: tuple[str, int], linkage: Linkage = Linkage.STATIC) -> Make:
    return lambda m: m.function("f", returns, *params, linkage=linkage)


X, Y, Z = ("x", INT), ("y", LONG), ("z", CHAR)
FUNCTIONS = [
    (function(INT, X), function(LONG, X), ["    ~ function f: returns int -> long int"]),
    (function(INT, X, Y), function(INT, X, ("y", CHAR)), ["    ~ function f: parameter 2 y: long int -> char"]),
    (function(INT, X, Y), function(INT, X, Z, Y), ["    + function f: parameter 2 z: char"]),
    (function(INT, X, Y, Z), function(INT, X, Z), ["    - function f: parameter 2 y: long int"]),
    (function(INT, X), function(INT, X, ("", 0)), ["    + function f: parameter 2: ..."]),
    (function(INT, X), function(INT, ("q", INT)), ["    ~ function f: parameter 1 x is now called q"]),
    (function(INT, X), function(INT, ("q", CHAR)), ["    ~ function f: parameter 1 x: int -> char, now called q"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), FUNCTIONS)
def test_functions(old: Make, new: Make, expected: list[str]) -> None:
    assert told(old, new) == ["~ function f", *expected]


def test_linkage_and_tags() -> None:
    assert told(function(INT), function(INT, linkage=Linkage.GLOBAL)) == ["~ function f: static -> global"]

    def tagged(*tags: str) -> Make:
        def make(m: Maker) -> None:
            f = m.function("f", INT)
            for tag in tags:
                m.add(DeclTag(tag, f, -1))

        return make

    assert told(tagged(), tagged("bpf_kfunc")) == ["~ kfunc f", "    + kfunc f: tag bpf_kfunc"]
    assert told(tagged("bpf_kfunc", "bpf_fastcall"), tagged("bpf_fastcall")) == [
        "~ kfunc f", "    - kfunc f: tag bpf_kfunc",
    ]  # fmt: skip
    assert told(tagged("a", "b"), tagged("b", "a")) == []


def test_types_in_words() -> None:
    def make(which: int) -> Make:
        def add(m: Maker) -> None:
            char = m.add(Const(m.char))
            proto = m.add(FuncProto(m.add(Ptr(m.char)), (Param("", m.add(Ptr(char))), Param("", 0))))
            types = [
                m.int, m.add(Ptr(proto)), m.add(Array(m.add(Ptr(proto)), m.int, 3)), m.add(Const(m.add(Ptr(m.char)))),
                m.add(Ptr(m.add(Array(m.add(Array(m.int, m.int, 2)), m.int, 4)))), m.add(Ptr(0)),
                m.add(Ptr(m.add(TypeTag("user", m.char)))),
            ]  # fmt: skip
            m.add(Typedef("t", types[which]))

        return add

    texts = [told(make(0), make(which))[0] for which in range(1, 7)]
    assert texts == [
        "~ typedef t: int -> char *(*)(const char *, ...)",
        "~ typedef t: int -> char *(*[3])(const char *, ...)",
        "~ typedef t: int -> char *const",
        "~ typedef t: int -> int (*)[4][2]",
        "~ typedef t: int -> void *",
        "~ typedef t: int -> btf_type_tag(user) char *",
    ]


def test_variables() -> None:
    def make(type: int, section: str = "", size: int = 4, linkage: Linkage = Linkage.STATIC) -> Make:
        def add(m: Maker) -> None:
            v = m.add(Var("v", type, linkage))
            if section:
                m.add(Datasec(section, 64, (SectionVar(v, 8, size),)))

        return add

    assert told(make(INT), make(LONG)) == ["~ variable v: int -> long int, size 4 -> 8"]
    assert told(make(INT, ".data"), make(INT, ".bss"))[0] == "~ variable v: section .data -> .bss"
    assert told(make(INT, ".data"), make(INT, ".data", 8)) == ["~ variable v: size 4 -> 8"]
    assert told(make(INT), make(INT, linkage=Linkage.GLOBAL)) == ["~ variable v: static -> global"]


def test_several_of_one_name() -> None:
    def make(*sizes: int) -> Make:
        def add(m: Maker) -> None:
            for size in sizes:
                m.struct("s", size, A, (f"only{size % 16}", INT, 64))

        return add

    assert told(make(16, 33, 50), make(50, 16, 33)) == []
    # The one with the same members is the one that grew.
    assert told(make(16, 33), make(17 + 16, 32)) == ["~ struct s: size 16 -> 32"]
    assert told(make(16), make(16, 33)) == ["+ struct s: 33 bytes, 2 members"]


REPEATED: list[Callable[[Maker], object]] = [
    lambda m: m.struct("s", 4, ("a", m.int, 0)),
    lambda m: m.struct("empty", 0),
    lambda m: m.add(Enum("e", 4, (Enumerator("A", 1),))),
    lambda m: m.add(Typedef("t", m.int)),
    lambda m: m.add(Int("short", 2, 16, IntEncoding.SIGNED)),
    lambda m: m.add(Fwd("f")),
    lambda m: m.function("g", m.int, ("a", m.char)),
    lambda m: m.add(Var("v", m.int, Linkage.STATIC)),
]


@pytest.mark.parametrize("make", REPEATED)
@pytest.mark.parametrize("times", [(1, 2), (2, 1), (3, 2)])
def test_repeats_play_no_role(make: Callable[[Maker], object], times: tuple[int, int]) -> None:
    both = []
    for count in times:
        m = Maker()
        for _ in range(count):
            make(m)
        both.append(m.btf())
    assert not diff(*both).changes
    other = Maker()
    assert len(diff(other.btf(), both[0]).changes) == len(diff(both[1], other.btf()).changes) == 1


def test_order_and_ids_play_no_role() -> None:
    """The types of a random BTF, renumbered: the meaning is the same in another order."""
    for seed in range(30):
        data = randbtf.RandomBtf(seed).make()
        btf = BTF.from_bytes(data)
        types = list(btf)
        order = list(range(len(types)))
        random.Random(seed).shuffle(order)
        new_id = {0: 0} | {types[old].id: new + 1 for new, old in enumerate(order)}
        builder = BtfBuilder()
        for old in order:
            builder.add(renumbered(types[old], new_id))
        other = BTF.from_bytes(builder.tobytes(btf.header.little))
        assert lines(diff(btf, other, reach=False).changes, lambda change: "") == [], seed


def renumbered(type: Type, new_id: dict[int, int]) -> Type:
    from dataclasses import fields, replace

    changes: dict[str, Any] = {}
    for field in fields(type):
        value = getattr(type, field.name)
        if field.name in ("type", "index_type", "return_type"):
            changes[field.name] = new_id[value]
        elif field.name in ("members", "params", "variables"):
            changes[field.name] = tuple(each._replace(type=new_id[each.type]) for each in value)
    return replace(type, **changes)


def test_swapped() -> None:
    for one, other in ((OLD, NEW), (NEW, OLD)):
        there, back = diff(one, other).changes, diff(other, one).changes
        swap = {"added": "removed", "removed": "added", "changed": "changed"}
        assert sorted((each.what, each.category, each.name) for each in there) == sorted(
            (swap[each.what], each.category, each.name) for each in back
        )


def test_reach() -> None:
    def make(size: int) -> Make:
        def add(m: Maker) -> None:
            inner = m.struct("inner", size, A)
            array = m.add(Array(m.add(Typedef("inner_t", inner)), m.int, 2))
            unnamed = m.struct("", 64, ("x", array, 0), union=True)
            outer = m.struct("outer", 128, ("", unnamed, 0))
            m.struct("far", 8, ("p", m.add(Ptr(outer)), 0))
            m.add(Var("v", outer, Linkage.STATIC))
            m.function("takes", INT, ("o", m.add(Ptr(m.add(Const(outer))))))
            m.function("returns", m.add(Ptr(m.add(Ptr(inner)))))
            m.function("other", INT, ("f", m.add(Ptr(m.int))))

        return add

    makers = Maker(), Maker()
    make(16)(makers[0])
    make(20)(makers[1])
    (change,) = [each for each in diff(makers[0].btf(), makers[1].btf(), names=True).changes if each.name == "inner"]
    assert change.reach is not None
    assert change.reach.names == (("outer",), ("v",), ("returns", "takes"))


# -- choosing, and the command -------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["diff", *arguments])
    return status, capsys.readouterr().out


def test_names_that_are_not_printable_are_escaped(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Bytes that are not UTF-8 appear as bytes, not as Python decodes them. A line stays one line."""
    bad = "f\udcfc\x1b[0m\ng"
    old, new = tmp_path / "old", tmp_path / "new"
    for path, names in ((old, ()), (new, (bad, bad))):
        maker = Maker()
        for size, name in enumerate(names, 1):
            maker.add(Struct(name, 4 * size, (Member(bad, maker.int, 0),)))
        path.write_bytes(maker.btf().data)
    for arguments in (
        ("diff", old, new), ("diff", "--markdown", old, new), ("duplicates", new), ("size", "--by", "type", new),
        ("decode", "--btf", new, "4", new),
    ):  # fmt: skip
        assert main([str(each) for each in arguments]) == 0
        text = capfd.readouterr().out
        assert r"f\xfc\x1b" in text, arguments
        assert r"[0m\ng" in text.replace("\\[", "["), arguments


def test_the_name_of_the_output_stays_on_its_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "a\nb\udcfc.btf")
    elf = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
    assert main(["encode", "-j1", "--detached", out, str(elf)]) == 0
    assert r"a\nb\xfc.btf: " in capfd.readouterr().err.splitlines()[-1]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, OLD, OLD) == (0, "")
    status, text = run(capsys, OLD, NEW)
    assert status == 0
    assert "~ struct sock: size 32 -> 40 (in 1 variable, 2 functions)\n" in text
    assert "    ~ struct sock.sk_userlocks: offset 12:4 -> 8, 4 bits -> no bit-field\n" in text
    assert "\x1b" not in text
    status, text = run(capsys, "--only", "functions,enums", OLD, NEW)
    assert {line.split()[1] for line in text.splitlines() if line[:1] in "+-~" and line[:1]} == {"function", "enum"}
    assert run(capsys, "--name", "struct sock.sk_mark", OLD, NEW)[1].splitlines()[:2] == [
        "~ struct sock (in 1 variable, 2 functions)", "    ~ struct sock.sk_mark: offset 16 -> 28",
    ]  # fmt: skip
    assert run(capsys, "--reach", "--name", "sock", OLD, NEW)[1].count("functions: sock_rcvbuf, sock_set") == 1


def test_quiet_prints_only_what_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """Each change of one of these classes, in full; in the JSON, too."""
    everything = json.loads(run(capsys, "--json", OLD, NEW)[1])["changes"]
    for classes in (["value"], ["removed", "kfunc"]):
        fatal = ["--fail-on", ",".join(classes), "-q", OLD, NEW]
        status, text = run(capsys, "--json", *fatal)
        wanted = [each for each in everything if set(classes) & set(each["classes"])]
        assert (status, json.loads(text)["changes"]) == (1, wanted)
        assert 0 < len(wanted) < len(everything)
        text = run(capsys, *fatal)[1]
        assert len([line for line in text.splitlines()[:-2] if not line.startswith(" ")]) == len(wanted)
    assert run(capsys, "--fail-on", "kfunc", "--name", "sock", "-q", OLD, NEW) == (0, "")
    assert run(capsys, "--fail-on", "any", "-q", OLD, NEW) == run(capsys, "--fail-on", "any", OLD, NEW)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--fail-on", "layout"], 1),
        (["--fail-on", "size,kfunc"], 1),
        (["--fail-on", "kfunc"], 0),
        (["--fail-on", "signature", "--only", "structs"], 0),
        (["--fail-on", "value", "--name", "bpf_*"], 1),
        (["--fail-on", "removed", "--name", "enum bpf_*"], 0),
        (["--fail-on", "any", "--name", "nothing_like_*"], 0),
        (["--fail-on", "any"], 1),
    ],
)
def test_fail_on(capsys: pytest.CaptureFixture[str], arguments: list[str], expected: int) -> None:
    assert run(capsys, *arguments, OLD, NEW)[0] == expected
    assert run(capsys, *arguments, OLD, OLD)[0] == 0


def test_forms(capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(run(capsys, "--json", OLD, NEW)[1])
    assert whole["schema"] == 1
    (task,) = [each for each in whole["changes"] if each["name"] == "task_struct"]
    assert task["details"][0] == {
        "what": "size", "path": "", "old": {"size": 72}, "new": {"size": 56},
        "text": "struct task_struct: size 72 -> 56",
    }  # fmt: skip
    for detail in [detail for change in whole["changes"] for detail in change.get("details", ())]:
        assert sorted(detail) == ["new", "old", "path", "text", "what"]
    assert task["reach"] == {"types": 0, "variables": 1, "functions": 1}
    text = run(capsys, "--stat", OLD, NEW)[1]
    assert text.splitlines()[0].split() == ["old", "new", "added", "removed", "changed"]
    text = run(capsys, "--markdown", OLD, NEW)[1]
    assert text.startswith("# old.btf to new.btf\n")
    assert "- `struct sock`: size 32 -\\> 40" in text
    assert "  - `sk_rcvbuf: offset 8 -> 24`" in text


@pytest.mark.parametrize("folders", [False, True])
def test_titles_of_files_with_one_name(
    folders: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for side, file in (("6.1", OLD), ("6.12", NEW)):
        target = Path(side, "modules", "a.ko") if folders else Path(side, "vmlinux")
        target.parent.mkdir(parents=True)
        target.write_bytes(Path(file).read_bytes())
    name = "modules" if folders else "vmlinux"
    text = run(capsys, "--markdown", *(["--base", OLD] if folders else []), f"6.1/{name}", f"6.12/{name}")[1]
    assert text.startswith(f"# 6.1/{name} to 6.12/{name}\n")


def test_ignored(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    patterns = tmp_path / "known"
    patterns.write_text(
        "# what is known\nstruct sock.sk_*   # members\nsock.__sk_common.*\nenum *\nremoved function task_*\ntask*\n"
    )
    text = run(capsys, "--ignore", str(patterns), "--only", "structs,enums,functions", OLD, NEW)[1]
    assert "enum" not in text
    assert "task" not in text
    assert "~ struct sock: size 32 -> 40" in text
    assert "sk_" not in text
    status = run(
        capsys, "--ignore", str(patterns), "--only", "structs", "--name", "sock", "--fail-on", "removed", OLD, NEW
    )
    assert status[0] == 0
    patterns.write_text("sock\nfrob sock\n")
    assert main(["diff", "--ignore", str(patterns), OLD, NEW]) == 2
    assert "line 2: 'frob sock': unknown word 'frob'; expected one of" in capsys.readouterr().err


def test_patterns() -> None:
    for text in ("", "a b c", "frob x"):
        with pytest.raises(UsageError):
            Pattern(text)
    assert Selection(["kfuncs"]).choose(diff(OLD, NEW).changes) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["-q", OLD, NEW], ["-q", "--object", "x.o", "--fail-on", "any", OLD, NEW],
        [OLD], [OLD, NEW, OLD], ["--only", "struct", OLD, NEW], ["--fail-on", "frob", OLD, NEW],
        ["--json", "--stat", OLD, NEW],
        ["--base", OLD, "--old-base", OLD, OLD, NEW], [str(FOLDER), NEW], ["--features", "all", OLD, NEW], ["-", "-"],
        ["--fail-on", "relocation", OLD, NEW], ["--object", "x.o", "--stat", OLD, NEW],
        ["--object", "x.o", "--fail-on", "layout", OLD, NEW], ["--name", "frob x", OLD, NEW],
    ],
)  # fmt: skip
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["diff", *arguments]) == 2
    assert capsys.readouterr().err.startswith("pybtf: error: ")
