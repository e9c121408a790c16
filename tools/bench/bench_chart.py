"""Draws the results of tools/bench/bench.py: an SVG for the README.

    python -m tools.bench.bench --json figures.json && python -m tools.bench.bench_chart figures.json docs/bench.svg

Left: seconds per kernel and number of jobs, pahole beside pybtf. Middle: peak memory. Right: how pybtf with one worker
spends its time, as shares of the whole. A few rectangles need no library. Any browser shows the file, and the colours
suit light and dark pages.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

PAHOLE, PYBTF, TEXT = "#9a6b3c", "#2f7fc1", "#808080"
SHARES = ("#2f7fc1", "#5aa6d6", "#8fc7a6", "#c9b458", "#d98c4a", "#b5648f", "#7c7fb8", "#6fa8a0", "#a0a0a0")
BAR, GAP, TOP, LEFT = 11, 9, 48, 140
WIDTH = 190
SMALL = 0.02  # passes below this share are drawn as one


def text(x: float, y: float, words: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height}" fill="{colour}"/>'


def rows(record: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """One row per kernel and number of jobs: a label, and the figures of both programs."""
    return [
        (f"{kernel} -j{jobs}", both)
        for kernel, figures in record["kernels"].items()
        for jobs, both in figures["jobs"].items()
    ]


def panel(record: dict[str, Any], figure: str, title: str, left: float, unit: str, digits: int) -> list[str]:
    """Pairs of bars of one figure ("wall", "peak"); the value behind each."""
    lines = [text(left, TOP - 14, title, weight="bold")]
    table = rows(record)
    most = max(both["pahole"][figure] for _, both in table)
    for number, (_, both) in enumerate(table):
        y = TOP + number * (2 * BAR + GAP)
        for step, (program, colour) in enumerate((("pahole", PAHOLE), ("pybtf", PYBTF))):
            value = both[program][figure]
            width = value / most * (WIDTH - 50)
            lines.append(bar(left, y + step * BAR, width, BAR - 1, colour))
            lines.append(text(left + width + 4, y + step * BAR + BAR - 2.5, f"{value:.{digits}f} {unit}"))
    return lines


def shares(record: dict[str, Any], left: float) -> list[str]:
    """One stacked bar of the passes of the first kernel, and its legend."""
    kernel, figures = next(iter(record["kernels"].items()))
    passes = {name: row["wall"] for name, row in figures["passes"].items()}
    whole = sum(passes.values())
    kept = [(name, seconds / whole) for name, seconds in passes.items() if seconds >= SMALL * whole]
    kept.append(("other passes", 1 - sum(share for _, share in kept)))
    lines = [text(left, TOP - 14, f"Where the time goes ({kernel}, -j1)", weight="bold")]
    x = left
    for (_, share), colour in zip(kept, SHARES, strict=False):
        lines.append(bar(x, TOP, share * WIDTH, 2 * BAR, colour))
        x += share * WIDTH
    for number, ((name, share), colour) in enumerate(zip(kept, SHARES, strict=False)):
        y = TOP + 2 * BAR + 14 + number * 15
        lines.append(bar(left, y, 9, 9, colour))
        lines.append(text(left + 14, y + 8.5, f"{name}: {share:.0%}"))
    return lines


def draw(record: dict[str, Any]) -> str:
    """The whole picture."""
    table = rows(record)
    height = TOP + len(table) * (2 * BAR + GAP) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + 3 * WIDTH + 80}" height="{height}" '
        f'font-family="sans-serif" font-size="10" fill="{TEXT}" role="img">',
        f"<title>pybtf beside pahole {escape(record['pahole'])}: seconds, memory, passes</title>",
        bar(0, 6, 9, 9, PAHOLE),
        text(13, 14.5, f"pahole {record['pahole']}"),
        bar(94, 6, 9, 9, PYBTF),
        text(107, 14.5, "pybtf"),
        text(150, 14.5, f"{record['date']}, {record['cpus']} CPUs, {record['cpu']}, Python {record['python']}"),
    ]
    for number, (label, _) in enumerate(table):
        lines.append(text(LEFT - 8, TOP + number * (2 * BAR + GAP) + BAR + 3, label, "end"))
    lines += panel(record, "wall", "Wall time", LEFT, "s", 2)
    lines += panel(record, "peak", "Peak memory", LEFT + WIDTH + 20, "MiB", 0)
    lines += shares(record, LEFT + 2 * WIDTH + 40)
    return "\n".join([*lines, "</svg>"]) + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: bench_chart.py FIGURES.json OUT.svg", file=sys.stderr)
        return 2
    source, target = arguments
    Path(target).write_text(draw(json.loads(Path(source).read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
