"""Times each pass of an encoding by itself, over and over in one process: the figures to look at while working on one.

    python -m tools.bench.bench_passes FILE [--rounds 5] [--jobs 1] [--features LIST]
    python -m tools.bench.bench_passes            a small kernel-like file of fixtures/

Passes are those of `pybtf encode --timings`; then reading the BTF back, headers only and all types.
Medians of CPU milliseconds, and the smallest, which on a busy machine says more. Compare two checkouts by running both
in turns. Nothing here is compared with a limit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pybtf

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"


def once(path: Path, jobs: int, features: str) -> dict[str, float]:
    """CPU seconds of everything, once."""
    encoded = pybtf.encode(path, jobs=jobs, features=features)
    figures = {row["name"]: row["cpu_seconds"] for row in encoded.report.to_dict()["timings"]["passes"]}
    data = bytes(encoded.data)
    figures["read BTF: open"] = clock(lambda: pybtf.BTF.from_bytes(data))
    figures["read BTF: all types"] = clock(lambda: list(pybtf.BTF.from_bytes(data)))
    return figures


def clock(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--features", default="default")
    options = parser.parse_args()
    rounds = [once(options.file, options.jobs, options.features) for _ in range(options.rounds)]
    print(f"{'pass':<22} {'median ms':>10} {'least ms':>10}   CPU, {options.rounds} rounds")
    for name in rounds[0]:
        figures = [figures[name] * 1000 for figures in rounds]
        print(f"{name:<22} {statistics.median(figures):10.3f} {min(figures):10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
