"""Programs in which names conflict: how many types are kept, and what that costs, against the number of such names.

    python -m tools.bench.worst_cases [--units 300] [--names 100] [--odd 0.02] [-k 0 1 5 20]

Each unit declares or defines each of the names, which point to each other; `k` of them have a second definition, which
units choose with the chance `--odd`, and half of all names point to one of these. No reference is needed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import pybtf
from tests.builders.dwarfwriter import Die, die
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named


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


def program(units: int, names: int, k: int, chance: float) -> bytes:
    rng = random.Random(k)
    all_names = [f"n{n}" for n in range(names)]
    odd = all_names[:k]
    links = {name: rng.sample(all_names[k:], 2) for name in all_names}
    for name in all_names[names // 2 :]:
        if odd:
            links[name].append(rng.choice(odd))
    return bytes(kernel([one_unit(f"{n} ", rng, links, set(odd), chance) for n in range(units)]).data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--names", type=int, default=100)
    parser.add_argument("--odd", type=float, default=0.02)
    parser.add_argument("-k", type=int, nargs="+", default=[0, 1, 5, 20])
    options = parser.parse_args()
    print("    k  types before  compared  units again  whole    CPU s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        for k in options.k:
            path.write_bytes(program(options.units, options.names, k, options.odd))
            start = time.process_time()
            repeats = pybtf.encode(path, jobs=1).report.repeats
            seconds = time.process_time() - start
            print(
                f"{k:5}  {repeats.types_before:12,}  {repeats.types_compared:8,}  {repeats.units_again:11,}  "
                f"{repeats.units_whole:5,}  {seconds:7.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
