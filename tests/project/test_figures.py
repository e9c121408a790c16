"""The figures of the README are those of docs/performance.md."""

from __future__ import annotations

import re

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
MEASURED = (ROOT / "docs" / "performance.md").read_text()

ROW_IN_README = re.compile(r"^\|.* jobs? \|.*\| ([\d.]+) times as fast, ([\d.]+) of the memory \|$", re.MULTILINE)
SECONDS = re.compile(r"^\|[^|]+\| \d \|[^|]+ s, [^|]+\|[^|]+\| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
RATIO = r"([\d.]+) \([\d.]+ - [\d.]+\)"
RATIOS = re.compile(rf"^\| [\w.+-]+, [\d.]+-\d+ \| {RATIO} \| {RATIO} \|[^|]+\|$", re.MULTILINE)
CLANG = re.compile(rf"^\|[^|]+clang[^|]+\| \d+ MB \| {RATIO} \| {RATIO} \| ([\d.]+) \|$", re.MULTILINE)


def test_rows_of_kernels() -> None:
    """Each row of the README is, by its ratios of time and memory, a row of the table, and the slowest is among them.
    """
    measured = SECONDS.findall(MEASURED)
    shown = ROW_IN_README.findall(README)
    assert len(measured) >= 12
    assert len(shown) >= 6
    assert set(shown) <= set(measured)
    assert min(measured, key=lambda row: float(row[0])) in shown


def test_what_the_first_lines_say() -> None:
    ratios = [float(each) for row in RATIOS.findall(MEASURED) for each in row]
    assert len(ratios) >= 26
    assert f"{int(min(ratios))} to {int(max(ratios))} times as fast" in README
    clang = [[float(each) for each in row] for row in CLANG.findall(MEASURED)]
    assert {3: "Three", 4: "Four", 5: "Five"}[len(clang)] + " built by clang" in README
    times = [each for row in clang for each in row[:2]]
    memory = [row[2] for row in clang]
    text = " ".join(README.split())
    assert f"by clang are {min(times)} to {max(times)} times as fast" in text
    assert f"in {min(memory):.2f} to {max(memory):.2f} of the memory" in text
