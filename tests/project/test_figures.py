"""The figures of the README are those of docs/performance.md, which a run of the benchmark replaces."""

from __future__ import annotations

import re

from tests.conftest import ROOT

KERNEL_IN_README = re.compile(r"^\|.* jobs? \|.*\| ([\d.]+) times as fast, ([\d.]+) of the memory \|$", re.MULTILINE)
KERNEL = re.compile(
    r"^\| [\w.+-]+, [\d.]+-\d+(?: \*)? \| \d \|[^|]+\|[^|]+\| ([\d.]+) \([^|]*\) \|[^|]*\| ([\d.]+) \|$", re.MULTILINE
)
"""With what it was in a quick hour."""


def test_rows_of_kernels() -> None:
    """Each in the README, by its ratios of time and memory, is one of the table, and the slowest is among them."""
    measured = KERNEL.findall((ROOT / "docs" / "performance.md").read_text())
    shown = KERNEL_IN_README.findall((ROOT / "README.md").read_text())
    assert len(measured) == 28
    assert len(shown) >= 6
    assert set(shown) <= set(measured)
    assert min(measured, key=lambda row: float(row[0])) in shown
