"""`pybtf size --html` and `--svg`: every byte has a box. Checked with headless Chromium if it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.dom.minidom
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from pybtf.btf.types import Func, FuncProto, Int, Member, Struct, Type
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.pictures.treemap import Node, squares, tree, treemap
from tests.conftest import ROOT

SAMPLE = ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def opened(path: Path = SAMPLE) -> View:
    return View(path.read_bytes(), path.name)


def leaves(node: Node) -> list[Node]:
    return [leaf for part in node.parts for leaf in leaves(part)] or [node]


def many(count: int) -> bytes:
    types: list[Type] = [Int("int", 4, 32), FuncProto(1, ())]
    types += [Func(f"{('tcp', 'udp', '__x')[at % 3]}_{at}", 2) for at in range(count)]
    types.append(Struct("a<b>&\"c'", 4, (Member("x", 1, 0),)))
    builder = BtfBuilder()
    builder.extend(types)
    return builder.tobytes()


@pytest.mark.parametrize("data", [SAMPLE.read_bytes(), many(0), many(500)])
def test_the_sum_of_all_boxes_is_the_size_of_the_file(data: bytes) -> None:
    whole = tree(View(data, "x"), "x")
    assert whole.bytes == len(data) == sum(leaf.bytes for leaf in leaves(whole))
    folders = [whole]
    while folders:
        folder = folders.pop()
        assert folder.bytes == sum(part.bytes for part in folder.parts)
        folders += [part for part in folder.parts if part.parts]


def test_many_types_are_sorted_by_the_beginnings_of_their_names() -> None:
    whole = tree(View(many(500), "x"), "x")
    (functions,) = [part for part in whole.parts[0].parts if part.name == "FUNC"]
    assert sorted((part.name, len(part.parts)) for part in functions.parts) == [
        ("__x…", 166), ("tcp…", 167), ("udp…", 167)
    ]  # fmt: skip


def test_areas_are_what_bytes_are() -> None:
    parts = [Node(str(at), bytes) for at, bytes in enumerate((500, 433, 78, 25, 25, 1))]
    boxes = list(squares(parts, 10, 20, 300, 200))
    total = sum(part.bytes for part in parts)
    assert [node for node, *_ in boxes] == parts
    for node, x, y, width, height in boxes:
        assert width * height == pytest.approx(300 * 200 * node.bytes / total)
        assert x >= 10
        assert y >= 20
        assert x + width <= 310.001
        assert y + height <= 220.001
    for at, (_, x, y, width, height) in enumerate(boxes):
        for _, left, top, wide, high in boxes[:at]:
            apart = x >= left + wide - 1e-6 or left >= x + width - 1e-6
            assert apart or y >= top + high - 1e-6 or top >= y + height - 1e-6


def test_the_picture_is_xml_and_needs_nothing_else() -> None:
    text = treemap(View(many(100), "x"), "a<b>&\x01 c", page=False).decode()
    document = xml.dom.minidom.parseString(text)
    boxes = [box for box in document.getElementsByTagName("rect") if box.getAttribute("fill")]
    assert len(boxes) > 3
    data = next(each for each in document.getElementsByTagName("script") if each.getAttribute("class") == "data")
    assert json.loads(data.firstChild.data)[1] == len(many(100))  # type: ignore[union-attr]
    links = set(re.findall(r"""(?:https?:|src=|href=|@import|url\()[^\s"]*""", text))
    assert {link.rstrip(";") for link in links} == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}


def test_files(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    page, picture = tmp_path / "x.html", tmp_path / "x.svg"
    assert main(["size", "--html", str(page), "--svg", str(picture), str(SAMPLE)]) == 0
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
    assert picture.read_bytes().startswith(b"<svg ")
    assert capfdbinary.readouterr() == (b"", b"")
    assert main(["size", "--svg", "-", str(SAMPLE)]) == 0
    assert capfdbinary.readouterr().out == picture.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "x", "--json"], "are about tables"),
        (["--svg", "x", "--by", "kind"], "are about tables"),
        (["--svg", "x", "--html", "x"], "need two names"),
    ],
)
def test_usage(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["size", *arguments, str(SAMPLE)]) == 2
    assert message in capfd.readouterr().err


def test_an_output_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--html", str(tmp_path / "no" / "x.html"), str(SAMPLE)]) == 1
    assert capfd.readouterr().err.count("\n") == 1


# In a browser


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., str]:
    """`look(path, "#tcp", width)`: the document after its script has run."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        pytest.skip("no Chromium")

    def run(path: Path, search: str = "", width: int = 1200, *more: str) -> str:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},760", "--virtual-time-budget=5000", *more, "--dump-dom", path.as_uri() + search
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    return run


def attributes(dom: str, pattern: str) -> list[str]:
    return [unescape(found) for found in re.findall(pattern, dom)]


@pytest.mark.parametrize("page", [True, False])
def test_the_browser_draws_all_bytes(page: bool, look: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / ("x.html" if page else "x.svg")
    path.write_bytes(treemap(opened(), "x", page))
    dom = look(path)
    assert 'data-ready="yes"' in dom
    assert 'data-error="' not in dom
    top = attributes(dom, r'<rect[^>]*data-bytes="(\d+)"[^>]*data-depth="0"')
    assert sum(map(int, top)) == SAMPLE.stat().st_size
    assert ">strings</text>" in dom
    assert ">types</text>" in dom


def test_search_by_name(look: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_bytes(treemap(View(many(500), "x"), "x", True))
    dom = look(path, "#TCP_4")
    expected = [name for name in (f"tcp_{at}" for at in range(0, 500, 3)) if name.startswith("tcp_4")]
    assert f'data-found="{len(expected)}"' in dom
    assert f"{len(expected)} found, {12 * len(expected)} bytes" in dom
    assert " hit" in dom
    assert " dim" in dom
    assert 'data-found="0"' in look(path, "#nothing-is-called-so")


def test_clicks_go_in_and_out(look: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    clicks = """<script>
    const click = pattern => [...document.querySelectorAll("g.folder")].find(
        box => pattern.test(box.querySelector("title").textContent)).dispatchEvent(new MouseEvent("click"));
    const outer = () => [...document.querySelectorAll('rect[data-depth="0"]')];
    const sum = () => outer().reduce((all, box) => all + +box.dataset.bytes, 0);
    const seen = [sum()];
    click(/^FUNC:/); seen.push(sum());
    click(/^tcp…:/); seen.push(sum(), document.querySelectorAll(".path").length);
    window.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"})); seen.push(sum());
    document.querySelector(".path").dispatchEvent(new MouseEvent("click")); seen.push(sum());
    document.body.setAttribute("data-seen", seen);
    </script>"""
    data = many(500)
    path.write_bytes(treemap(View(data, "x"), "x", True).replace(b"</body>", clicks.encode() + b"</body>"))
    dom = look(path)
    assert 'data-error="' not in dom
    functions, tcp = 12 * 500, 12 * 167
    assert attributes(dom, 'data-seen="([^"]*)"') == [f"{len(data)},{functions},{tcp},4,{functions},{len(data)}"]
