"""Programs in which names conflict: how many types are kept, and what that costs, by the number of such names.

    python -m tools.bench.worst_cases [--units 300] [--names 100] [--odd 0.02] [-k 0 1 5 20] [--seed 0] [--reference]

Each unit declares or defines each of the names, which point to each other; `k` of them have a second definition, which
units choose with the probability `--odd`, and half of all names point to one of these. With `--reference`, pahole
encodes the same programs, and the exit status is 1 if any bytes differ. That can take minutes for each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named
from tools.bench import bench
from tools.judge import oracle


def one_unit(at: str, rng: random.Random, links: dict[str, list[str]], odd: set[str], chance: float) -> Any:
    children: list[Die | bytes] = [INT._replace(label=f"{at}int")]
    for name, targets in links.items():
        pointer = die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", at + name), label=f"{at}*{name}")
        children.append(pointer)
        if rng.random() < 0.25:
            children.append(named("structure_type", name, ("declaration", "flag", 1), label=at + name))
            continue
        size = 64 if name in odd and rng.random() < chance else 32
        members = [
            named("member", to, ("type", "ref4", f"{at}*{to}"), ("data_member_location", "data1", 8 * n))
            for n, to in enumerate(targets)
        ]
        children.append(named("structure_type", name, ("byte_size", "data1", size), children=members, label=at + name))
    return unit(children)


def program(units: int, names: int, k: int, chance: float, seed: int = 0) -> bytes:
    rng = random.Random(k + 1000 * seed)
    all_names = [f"n{n}" for n in range(names)]
    odd = all_names[:k]
    links = {name: rng.sample(all_names[k:], 2) for name in all_names}
    for name in all_names[names // 2 :]:
        if odd:
            links[name].append(rng.choice(odd))
    return bytes(kernel([one_unit(f"{n} ", rng, links, set(odd), chance) for n in range(units)]).data)


def write(path: Path, options: argparse.Namespace, k: int) -> None:
    """In a child process: the system counts the memory of this process as that of the processes that it starts."""
    child = os.fork()
    if child == 0:
        try:
            path.write_bytes(program(options.units, options.names, k, options.odd, options.seed))
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"cannot write the program with {k} conflicting names")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--names", type=int, default=100)
    parser.add_argument("--odd", type=float, default=0.02)
    parser.add_argument("-k", type=int, nargs="+", default=[0, 1, 5, 20])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reference", action="store_true")
    options = parser.parse_args()
    head = "    k  types before  compared  units again  whole   wall s     MiB"
    print(head + ("   pahole: wall s    MiB" if options.reference else ""))
    differs = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, report = folder / "program", folder / "report"
        contest = bench.Contest(path, oracle.USUAL, bench.pybtf_command(), folder)
        for k in options.k:
            write(path, options, k)
            run = contest.subject(1, report)
            repeats = json.loads(report.read_text())["repeats"]
            line = (
                f"{k:5}  {repeats['types_before']:12,}  {repeats['types_compared']:8,}  {repeats['units_again']:11,}  "
                f"{repeats['units_whole']:5,}  {run.wall:7.2f}  {run.peak:6.0f}"
            )
            if options.reference:
                other = contest.pahole(1)
                differs += other.digest != run.digest
                line += f"   {other.wall:14.2f}  {other.peak:5.0f}" + "  OTHER BYTES" * (other.digest != run.digest)
            print(line, flush=True)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
