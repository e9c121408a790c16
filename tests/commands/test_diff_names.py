"""`pybtf diff --name`: what names and members mean, and those that neither side has."""

from __future__ import annotations

from pathlib import Path

import pytest

from pybtf.btf.types import Array, Fwd, Typedef
from pybtf.cli.main import main
from tests.commands.test_diff import INT, LONG, NEW, OLD, A, B, Make, Maker, run, struct
from tests.commands.test_diff_rules import chosen

GATE = ("--fail-on", "any")


def test_a_name_that_neither_file_has(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a check for it would never fail."""
    for name, fatal, status in (("task_struc", [], 0), ("struct task_struc", GATE, 1), ("task_strux*", GATE, 0)):
        assert main(["diff", "--name", name, *fatal, OLD, NEW]) == status
        said = capsys.readouterr().err
        assert f"{name!r}" in said
        assert "Nearest: task_struct" in said
    for name, status in (("union sock", 1), ("union sock.x", 1), ("union *", 0), ("struct sock", 0)):
        assert main(["diff", "--name", name, "--fail-on", "kfunc", OLD, NEW]) == status
        assert ("There is struct sock and variable sock." in capsys.readouterr().err) == bool(status)


@pytest.mark.parametrize(
    ("name", "noun", "hint"),
    [
        ("struct sock.sk_rcvbux", "member", "Nearest: sk_rcvbuf"),
        ("sock.__sk_common.skc_ports", "member", "Nearest: __sk_common.skc_"),
        ("function sock_set.marx", "parameter", "Nearest: mark"),
    ],
)
def test_a_member_that_neither_file_has(capsys: pytest.CaptureFixture[str], name: str, noun: str, hint: str) -> None:
    """This would pass as well."""
    of, _, member = name.rpartition(" ")[2].partition(".")
    assert main(["diff", "--name", name, *GATE, OLD, NEW]) == 1
    said = capsys.readouterr().err
    assert f"error: {OLD}: {of} has no {noun} '{member}', nor in {NEW}; expected a {noun} of one of them" in said
    assert hint in said
    for pattern, *option in ([name], [f"{name}*", *GATE]):
        assert main(["diff", "--name", pattern, *option, OLD, NEW]) == 0
        out, said = capsys.readouterr()
        assert out == ""
        assert f"note: --name '{pattern}': {of} has no such {noun} in either file." in said
    for there in ("struct sock.sk_rcvbuf", "function sock_set.mark", "sock.__sk_common.skc_portpair", "sock*.nothing"):
        main(["diff", "--name", there, *GATE, OLD, NEW])
        assert capsys.readouterr().err == ""


def test_a_member_of_a_type_that_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--name", "task_struct.thread_group.next", *GATE, OLD, NEW]) == 1
    said = capsys.readouterr().err
    assert said.endswith(" thread_group is of struct list_head: --name 'struct list_head.next'\n")


def test_a_member_of_one_file_is_enough(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also of a typedef of what has no name; it is a rename, and seen by both names."""
    paths = []
    for name in ("a", "b"):
        made = Maker()
        made.add(Typedef("t", made.struct("", 4, (name, INT, 0))))
        paths.append(str(tmp_path / name))
        Path(paths[-1]).write_bytes(made.btf().data)
    for name in ("t.a", "typedef t.b"):
        status, out = run(capsys, "--name", name, *GATE, *paths)
        assert (status, out.splitlines()[1]) == (1, "    ~ typedef t.a: now b, int at 0")
    assert main(["diff", "--name", "t.c", *GATE, *paths]) == 1
    assert "t has no member 'c'" in capsys.readouterr().err


def within(at: int, inner: int = 32, times: int = 0) -> Make:
    """`struct s { int a; struct { int x, y; } in; } s`, perhaps with arrays; where `in` is, and in it `y`."""

    def make(m: Maker) -> None:
        id = m.struct("", 16, ("x", INT, 0), ("y", INT, inner))
        m.struct("s", 64, A, ("in", m.add(Array(id, INT, times)) if times else id, at))

    return make


def test_a_member_moves_with_what_it_is_in() -> None:
    moved = ["~ struct s", "    ~ struct s.in: offset 8 -> 16"]
    for name in ("s.in.x", "struct s.in.*", "s.in"):
        assert chosen(within(64), within(128), names=(name,)) == moved
    for name in ("s.a", "s.in2.x", "s.i", "s.*.z"):
        assert chosen(within(64), within(128), names=(name,)) == []
    assert chosen(within(64), within(64, 64), names=("s.in.x",)) == []
    assert chosen(within(64, times=2), within(128, times=2), names=("s.in[].x",)) == moved
    more = within(64, times=2), within(64, times=3), within(128, times=3)
    assert chosen(more[0], more[1], names=("s.in[].x",)) == []
    assert chosen(more[0], more[2], names=("s.in[].x",)) == chosen(more[0], more[2]) != []
    assert chosen(within(64), struct(A, size=64), names=("s.in.x",))[1].startswith("    - struct s.in: ")
    assert chosen(within(64), within(128), ignored=("s.in.x",)) == chosen(within(64), within(128))


def test_a_member_is_gone_with_the_definition() -> None:
    def declared(m: Maker) -> None:
        m.add(Fwd("s"))

    assert chosen(struct(A, B), declared, names=("s.a",)) == chosen(struct(A, B), declared) != []

    def other(m: Maker) -> None:
        m.add(Typedef("t", LONG))

    def nameless(m: Maker) -> None:
        m.add(Typedef("t", m.struct("", 8, A)))

    assert chosen(nameless, other, names=("t.a",)) == chosen(nameless, other) != []
