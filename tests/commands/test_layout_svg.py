"""`pybtf show --svg`: each byte of a struct is in a box or in a hole, in its cache line."""

from __future__ import annotations

import re
import xml.dom.minidom
from pathlib import Path
from typing import Any, cast

import pytest

from pybtf import InputError
from pybtf.btf.kind_numbers import STRUCT, UNION
from pybtf.btf.types import Array, Func, FuncProto, Int, Member, Struct, Type, Typedef, Union
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.cli.show import CACHELINE
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_types import Shower
from pybtf.pictures import layout_svg as layout
from pybtf.pictures.layout_svg import CELL, LEFT, layout_svg
from tests.conftest import ROOT

FOLDER = ROOT / "fixtures" / "show" / "options"


def built(*types: Type) -> bytes:
    builder = BtfBuilder()
    builder.extend(types)
    return builder.tobytes()


def boxes(data: bytes, name: str, expand: bool = False) -> list[tuple[str, int, int, str]]:
    """For each box: how it is drawn, its first bit and number of bits over all rows, and its title."""
    view = View(data, "x")
    ids = [id for id in view.find(name.encode()) if view.kind(id) in (STRUCT, UNION)]
    document = xml.dom.minidom.parseString(layout_svg(view, Shower(view), ids, expand))
    rows: list[str] = []
    found = []
    for rect in document.getElementsByTagName("rect"):
        titles = rect.getElementsByTagName("title")
        if not titles:
            continue
        if rect.getAttribute("y") not in rows:
            rows.append(rect.getAttribute("y"))
        x, width = (float(rect.getAttribute(each)) for each in ("x", "width"))
        line = sorted(map(int, rows)).index(int(rect.getAttribute("y")))
        kind = rect.getAttribute("class").removeprefix("part ")
        start = round((x - LEFT) * 8 / CELL) + 8 * CACHELINE * line
        found.append((kind, start, round(width * 8 / CELL), titles[0].firstChild.data))  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("name", ["order", "random", "packed"])
def test_boxes_and_holes_are_the_whole_struct(name: str) -> None:
    data = (FOLDER / f"{name}.btf").read_bytes()
    view = View(data, name)
    shower = Shower(view)
    seen = 0
    for id in shower.composites():
        sums = shower.sums(id)
        if view.kind(id) != STRUCT or sums["size"] == 0 or sums["size"] > 3 * CACHELINE:
            continue
        at = holes = 0
        for kind, start, bits, _ in boxes(data, view.name_of(id).decode()):
            assert start == at
            at += bits
            holes += bits if kind == "hole" else 0
        assert at == 8 * sums["size"]
        expected = 8 * (sums["hole_bytes"] + sums["padding"]) + sums["bit_hole_bits"] + sums["bit_padding"]
        nameless = any(view.kind(member[1]) == STRUCT and not view.name_of(member[1]) for member in shower.members(id))
        assert holes >= expected if nameless else holes == expected
        seen += 1
    assert seen > 5


def test_bit_fields_are_split() -> None:
    members = (Member("a", 1, 0, 3), Member("b", 1, 3, 7), Member("c", 2, 16))
    data = built(Int("int", 4, 32), Int("char", 1, 8), Struct("s", 4, members))
    assert boxes(data, "s") == [
        ("bits", 0, 3, "int a: 0:0, 3 bits"), ("bits", 3, 7, "int b: 0:3, 7 bits"), ("hole", 10, 6, "hole: 6 bits"),
        ("number", 16, 8, "char c: 2, 1 byte"), ("hole", 24, 8, "padding: 1 byte"),
    ]  # fmt: skip


def test_what_is_inside() -> None:
    """Nameless structs are drawn as their members; with -E, all structs are. Titles of unions have all names."""
    types: list[Type] = [
        Int("int", 4, 32),
        Struct("", 8, (Member("x", 1, 0), Member("y", 1, 32))),
        Struct("pair", 8, (Member("a", 1, 0), Member("b", 1, 32))),
        Union("", 4, (Member("u", 1, 0), Member("v", 1, 0))),
        Typedef("pair_t", 3),
        Struct("s", 28, (Member("", 2, 0), Member("p", 3, 64), Member("", 4, 128), Member("t", 5, 160))),
    ]
    data = built(*types)
    assert [title for *_, title in boxes(data, "s")] == [
        "int x: 0, 4 bytes", "int y: 4, 4 bytes", "struct pair p: 8, 8 bytes", "union u | v: 16, 4 bytes",
        "pair_t t: 20, 8 bytes",
    ]  # fmt: skip
    assert len(boxes(data, "s", expand=True)) == 7
    text = layout_svg(View(data, "x"), Shower(View(data, "x")), [6], True).decode()
    assert re.findall(r"<text x=[^>]*>([^<]*)</text>", text)[:7] == ["x", "y", "p.a", "p.b", "u | v", "t.a", "t.b"]


def test_long_members_are_cut() -> None:
    data = built(Int("int", 4, 32), Array(1, 1, 1 << 20), Struct("s", 1 << 22, (Member("m", 2, 0),)))
    view = View(data, "x")
    text = layout_svg(view, Shower(view), [3], False).decode()
    assert text.count("<rect class=\"part array\"") == 4 + 1  # and the legend
    assert "65,532 more lines" in text


@pytest.mark.parametrize("size", [0, 1, 0xFFFFFFFF])
def test_members_that_lie_anywhere(size: int) -> None:
    offsets = (0xFFFFFFF8, 8, 0, 0x80000000, 512, 512, 0xFFFFFFFF, 24)
    members = tuple(Member(f"m{at}", 1 + at % 3, offset) for at, offset in enumerate(offsets))
    view = View(built(Int("long", 8, 64), Int("char", 1, 8), Array(1, 1, 0xFFFFFFF), Struct("s", size, members)), "x")
    picture = layout_svg(view, Shower(view), [4], True)
    assert len(picture) < 40_000
    xml.dom.minidom.parseString(picture)


def doubling(levels: int) -> list[Type]:
    """Structs that contain the one before twice; the last has 2^levels members of members, and the id `levels` + 2."""
    types: list[Type] = [Int("int", 4, 32), Struct("s0", 4, (Member("x", 1, 0),))]
    for level in range(1, levels + 1):
        types.append(Struct(f"s{level}", 8, (Member("a", level + 1, 0), Member("b", level + 1, 8))))
    return types


def test_what_multiplies_has_a_bound() -> None:
    view = View(built(*doubling(29)), "x")
    picture = layout_svg(view, Shower(view), [31], True)
    assert len(picture) < 32 << 20
    assert re.search(rb">struct s29: 8 bytes[^<]*, only \d\d,\d{3} parts are drawn<", picture)


def refused(types: list[Type], ids: list[int], expand: bool = True) -> str:
    view = View(built(*types), "x")
    with pytest.raises(InputError, match="more parts than one picture is made of; expected at most ") as caught:
        layout_svg(view, Shower(view), ids, expand)
    return str(caught.value)


def test_what_multiplies_has_a_bound_for_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each member of a union is a block, and so is each named struct."""
    monkeypatch.setattr(layout, "MAX_ALL_PARTS", 2000)
    types = doubling(8)
    types.append(Union("u", 8, tuple(Member("m", 10, 0) for _ in range(10))))
    assert refused(types, [11]).endswith(". Draw fewer structs, or without -E.")
    types[10:] = [Struct(f"t{number}", 8, (Member("m", 10, 0),)) for number in range(10)]
    refused(types, list(range(11, 21)))
    view = View(built(*types), "x")
    assert layout_svg(view, Shower(view), list(range(11, 16)), True).count(b"<title>int ") == 5 * 256
    layout_svg(view, Shower(view), list(range(11, 21)), False)


def test_what_a_file_has_itself_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_ALL_PARTS", 0)
    types: list[Type] = [Int("int", 4, 32)]
    types += [Struct("s", 400, tuple(Member("m", 1, 32 * at) for at in range(100))) for _ in range(20)]
    view = View(built(*types), "x")
    assert layout_svg(view, Shower(view), list(range(2, 22)), True).count(b"<title>int m") == 2000


@pytest.mark.parametrize(("size", "count"), [(0, 4000), (256, 2000)])
def test_lines_and_scales_count_as_parts(size: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A struct without members takes 12 bytes, and its scale several hundred. A long member is drawn in four lines."""
    monkeypatch.setattr(layout, "MAX_ALL_PARTS", 2000)
    array = Array(1, 1, size)
    if not size:
        refused([Int("char", 1, 8), array, *(Struct("s", 0, ()) for _ in range(count))], list(range(3, 3 + count)))
        return
    members = tuple(Member("m", 2, 8 * size * at) for at in range(count))
    refused([Int("char", 1, 8), array, Struct("s", size * count, members)], [3])


def test_long_names_count_as_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each member may have the same long name, or the same type with a long name."""
    monkeypatch.setattr(layout, "MAX_ALL_PARTS", 2000)
    long = Struct("n" * 10_000, 4, (Member("x", 1, 0),))
    number = Int("int", 4, 32)
    assert refused([number, long, Struct("s", 400, (Member("m", 2, 0),) * 100)], [3], False).endswith("fewer structs.")
    refused([number, Union("n" * 10_000, 4, (Member("m", 1, 0),) * 100)], [2])


class Counting:
    """A shower that counts how often members are made."""

    def __init__(self, view: View) -> None:
        self.shower = Shower(view)
        self.made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shower, name)

    def members(self, id: int) -> list[Any]:
        self.made += 1
        return self.shower.members(id)


def test_the_members_of_a_union_are_made_once() -> None:
    """They give the title of a nameless member, perhaps very often."""
    types = [Int("int", 4, 32), Union("", 4, (Member("u", 1, 0), Member("v", 1, 0)))]
    view = View(built(*types, Struct("s", 400, tuple(Member("", 2, 32 * at) for at in range(100)))), "x")
    shower = Counting(view)
    picture = layout_svg(view, cast("Shower", shower), [3], False)
    assert (shower.made, picture.count(b"<title>union u | v: ")) == (2, 100)


def test_the_members_of_a_struct_are_made_once() -> None:
    """Even of a struct that is a member of many, or at many places: here it is at 2^10."""
    view = View(built(*doubling(10)), "x")
    shower = Counting(view)
    picture = layout_svg(view, cast("Shower", shower), [12], True)
    assert (shower.made, picture.count(b"<title>int ")) == (11, 1024)


def test_names_of_what_is_deep_inside() -> None:
    """Each comes before those inside it, up to the length that is drawn; nameless ones add nothing."""
    types = [Int("int", 4, 32), Struct("", 4, (Member("x", 1, 0),)), Struct("t", 4, (Member("", 2, 0),))]
    types += [Struct("u", 4, (Member("b" * 150, 3, 0),)), Struct("s", 4, (Member("a" * 150, 4, 0),))]
    view = View(built(*types), "x")
    for id, name in ((4, "b" * 150 + ".x"), (5, "a" * 150 + "." + "b" * 48 + "…")):
        parts = layout._Maker(view, Shower(view), True)._parts(id, 0, 0, "")
        assert [part.name for part in parts] == [name]


def test_the_command(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = FOLDER / "order.btf"
    assert main(["show", "--svg", str(tmp_path / "x.svg"), "a1", "a2", str(path)]) == 0
    assert capfdbinary.readouterr() == (b"", b"")
    assert b"struct a2: 32 bytes" in (tmp_path / "x.svg").read_bytes()
    assert main(["show", "-E", "--svg", "-", "a4", str(path)]) == 0
    assert b"b.l" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--svg", "x.svg"], 2, "--svg draws what is named"),
        (["--svg", "x.svg", "--json", "a1"], 2, "do not go together"),
        (["--svg", "x.svg", "--hex", "a1"], 2, "--hex and --svg do not go together"),
        (["--svg", str(FOLDER / "order.btf"), "a1"], 2, "is the input"),
        (["--svg", "/nonexistent/x.svg", "a1"], 1, "/nonexistent/x.svg"),
        (["--svg", "x.svg", "nonesuch"], 1, "no type is called"),
    ],
)
def test_usage(arguments: list[str], status: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *arguments, str(FOLDER / "order.btf")]) == status
    assert message in capfd.readouterr().err


def test_only_structs_are_drawn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.btf").write_bytes(built(Int("int", 4, 32), FuncProto(1, ()), Func("f", 2)))
    assert main(["show", "--svg", "-", "f", str(tmp_path / "x.btf")]) == 1
    assert "none of these is a struct or union" in capfd.readouterr().err
