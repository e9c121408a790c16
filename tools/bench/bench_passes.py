"""Times each pass of an encoding separately, again and again in one process, for working on one of them.

    python -m tools.bench.bench_passes FILE [--rounds 5] [--jobs 1] [--features LIST]
    python -m tools.bench.bench_passes            a small kernel-like file of fixtures/
    python -m tools.bench.bench_passes FILE --without all         what each way to be quicker is worth
    python -m tools.bench.bench_passes FILE --without glance      one of them
    python -m tools.bench.bench_passes MODULE... --base BTF --without all     the same of modules, all in one process

Passes are those of `pybtf encode --timings`; then reading the BTF back, headers only and all types.
Prints medians of CPU milliseconds, and the smallest values, which say more on a busy machine. To compare two checkouts,
run both in turns. There are no limits.

With `--without`, encodings with and without an optimisation (OPTIONAL of core/codes.py) take turns, each in a process
of its own. The median of the ratios of their CPU times is the worth of the optimisation. The bytes must be the same.
The base is read beforehand and not counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from xxhash import xxh3_128

import pybtf
from pybtf.core.codes import OPTIONAL
from tests.builders.everything import encoded
from tools.bench.bench import warm

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


def apart(
    paths: Sequence[Path], base: pybtf.Base | None, jobs: int, without: Sequence[str]
) -> tuple[float, float, bytes]:
    """CPU seconds and peak MiB of encodings in a separate process, and a hash of the bytes."""
    for path in paths:
        warm(path)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        made = xxh3_128()
        for path in paths:
            made.update(encoded(path, jobs=jobs, base=base, without=without))
        os.write(writable, made.digest())
        os._exit(0)
    os.close(writable)
    with open(readable, "rb") as pipe:
        answer = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if status or not answer:
        raise SystemExit(f"an encoding without {', '.join(without) or 'nothing'} has failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, answer


def worth(paths: Sequence[Path], base: pybtf.Base | None, jobs: int, rounds: int, names: Sequence[str]) -> int:
    """Prints the worth of each of these; returns how many change the bytes."""
    wrong = 0
    head = f"{'without':<14} {'CPU ms':>8} {'with':>8} {'times':>7} {'(spread)':>15} {'MiB':>6} {'with':>6}"
    print(f"{head}   {rounds} rounds")
    for name in names:
        pairs = [(apart(paths, base, jobs, [name]), apart(paths, base, jobs, [])) for _ in range(rounds)]
        differs = any(without[2] != with_[2] for without, with_ in pairs)
        wrong += differs
        ratios = [without[0] / with_[0] for without, with_ in pairs]
        columns = [[statistics.median(run[at] for run in runs) for at in (0, 1)] for runs in zip(*pairs, strict=True)]
        (slow, more), (quick, less) = columns
        spread = f"({min(ratios):.3f}-{max(ratios):.3f})"
        print(f"{name:<14} {slow * 1000:8.1f} {quick * 1000:8.1f} {statistics.median(ratios):7.3f} {spread:>15} "
              f"{more:6.0f} {less:6.0f}{'   OTHER BYTES' if differs else ''}", flush=True)  # fmt: skip
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", default=[EXAMPLE])
    parser.add_argument("--base", type=pybtf.Base.from_file, help="modules: the BTF of their kernel")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--features", default="default")
    names = ["all", *OPTIONAL]
    parser.add_argument("--without", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    options = parser.parse_args()
    if options.without:
        chosen = list(OPTIONAL) if "all" in options.without else options.without
        return 1 if worth(options.files, options.base, options.jobs, options.rounds, chosen) else 0
    if options.base or len(options.files) != 1:
        parser.error("several files, or a base, only with --without")
    rounds = [once(options.files[0], options.jobs, options.features) for _ in range(options.rounds)]
    print(f"{'pass':<22} {'median ms':>10} {'least ms':>10}   CPU, {options.rounds} rounds")
    for name in rounds[0]:
        figures = [figures[name] * 1000 for figures in rounds]
        print(f"{name:<22} {statistics.median(figures):10.3f} {min(figures):10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
