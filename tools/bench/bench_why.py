"""Measures `pybtf why KERNEL`, the summary, against `pybtf encode` of the same kernel.

    python -m tools.bench.bench_why [--rounds N] [KERNEL...]

The two take turns, with one job. A ratio is the median of the rounds' ratios. Exit status: 1 if the summary takes
more than 1.5 times the CPU time, or twice the memory.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from tools.bench.bench import Failed, measure_plain, pybtf_command, warm
from tools.judge import reference

KERNELS = ("6.1-amd64",)
MOST_TIME, MOST_MEMORY = 1.5, 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    options = parser.parse_args()
    good = True
    for name in options.kernels:
        path = Path(name) if Path(name).exists() else reference.kernel(name)
        encode, why = [], []
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder, "btf"))
            common = ["-j1", "--lang-exclude", "rust", str(path)]
            for _ in range(options.rounds):
                warm(path)
                encode.append(measure_plain([*pybtf_command(), "encode", "-q", "--detached", out, *common]))
                why.append(measure_plain([*pybtf_command(), "why", *common]))
        wall, cpu, peak = (
            statistics.median(mine[at] / other[at] for mine, other in zip(why, encode, strict=True)) for at in range(3)
        )
        times = [statistics.median(run[1] for run in runs) for runs in (encode, why)]
        print(
            f"{name}: encode {times[0]:.2f} s of CPU, why {times[1]:.2f} s; "
            f"{wall:.2f} times the time, {cpu:.2f} times the CPU time, {peak:.2f} times the memory"
        )
        good &= cpu <= MOST_TIME and peak <= MOST_MEMORY
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"failed: {error}")
