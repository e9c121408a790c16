"""The benchmarks still run. Otherwise a broken one would go unnoticed until it is needed. Times are not checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from pybtf.core.codes import OPTIONAL

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
PASSES = ("open", "sections", "symbols", "unit headers", "units", "certify", "functions", "deduplicate", "output")


def tool(name: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"tools.bench.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_passes_are_all_timed() -> None:
    rows = {line[:22].strip(): line[22:].split() for line in tool("bench_passes", "--rounds", "1").splitlines()[1:]}
    for name in (*PASSES, "read BTF: open", "read BTF: all types"):
        median, least = (float(figure) for figure in rows[name])
        assert 0 <= least <= median


def test_what_each_way_to_be_quicker_is_worth() -> None:
    rows = [line.split() for line in tool("bench_passes", "--rounds", "1", "--without", "all").splitlines()[1:]]
    assert [row[0] for row in rows] == list(OPTIONAL)
    assert all(float(row[3]) > 0 for row in rows)


def test_values_of_objects_are_merged() -> None:
    rows = [line.split() for line in tool("bench_merge", "--rounds", "1", str(EXAMPLE)).splitlines()]
    names = ("encode", "merge", "cached", "same")
    assert [row[:2] for row in rows[3:]] == [[jobs, name] for jobs in "12" for name in names]


def test_the_chart_shows_every_figure(tmp_path: Path) -> None:
    def figures(wall: float, peak: float) -> dict[str, float]:
        return {"wall": wall, "peak": peak}

    jobs = {str(n): {"pahole": figures(6.5 / n, 480), "pybtf": figures(0.65 / n, 120)} for n in (1, 2)}
    passes = {name: {"wall": wall} for name, wall in (("start", 0.05), ("units", 0.6), ("tiny", 0.001))}
    record = {
        "date": "2026-11-21",
        "cpus": 2,
        "cpu": "A <processor> & more",
        "python": "3.11",
        "pahole": "v1.32",
        "kernels": {"one": {"jobs": jobs, "passes": passes}, "two": {"jobs": jobs, "passes": passes}},
    }
    source, target = tmp_path / "figures.json", tmp_path / "chart.svg"
    source.write_text(json.dumps(record))
    tool("bench_chart", str(source), str(target))
    root = ElementTree.parse(target).getroot()
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for shown in ("one -j1", "two -j2", "6.50 s", "0.33 s", "480 MiB", "units: 92%", "other passes: 0%"):
        assert shown in words
    assert any("A <processor> & more" in (word or "") for word in words)
