"""Deliberate mistakes, one at a time: which of them do the tests notice?

    python -m tools.mutations.mutations [ID...]                          those of tools/mutations/*.toml
    python -m tools.mutations.mutations --random SEED --count N          new ones, drawn from the sources
    python -m tools.mutations.mutations --check                          only that each applies

All of them are compiled at once, each with a number that switches it on (tools/mutations/switch.py), in a copy of the
tree in build/mutants. First all tests run there without a mistake, which shows which tests reach which mutation at all.
Then each mutation is tried against those tests, up to the first that fails (tools/mutations/trial.py). Results are
written to build/mutants/results.jsonl at once. A mutation that was noticed is not tried again, and one that survived is
tried again only when the tests have changed (--again tries all).

A test that times out also notices a mistake, and so does one that is ended by a signal; these are counted separately. A
test times out after ten times its time without a mistake, plus 20 seconds.

The score is printed last. The exit status is 1 if a mutation that is not marked harmless survives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from tools.mutations.draw import drawn
from tools.mutations.switch import Mutation
from tools.mutations.tree import ROOT, edits_of, prepare
from tools.mutations.trial import LISTS, Trial, key_of

TREES = ROOT / "build" / "mutants"
#: Seconds of tests in the first round, which is enough for most mutations; the rest are tried against all tests.
QUICK = 20


def listed() -> list[Mutation]:
    found = []
    for path in sorted(LISTS.glob("list_*.toml")):
        for row in tomllib.loads(path.read_text())["mutation"]:
            found.append(Mutation(**{"why": "", **row}))
    names = [one.id for one in found]
    for name in {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutations are called {name}")
    return found


class Results:
    """The results so far, in a file with a line for each trial."""

    def __init__(self, path: Path) -> None:
        self._path = path
        digest = hashlib.sha256()
        for each in sorted((ROOT / "tests").rglob("*.py")):
            digest.update(each.read_bytes())
        self._tests = digest.hexdigest()[:16]
        self._rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self._rows[row["key"]] = row

    def of(self, one: Mutation) -> dict[str, Any] | None:
        """The last result, if it is valid for these tests."""
        row = self._rows.get(key_of(one))
        return row if row is not None and (row["noticed"] or row["suite"] == self._tests) else None

    def add(self, one: Mutation, found: dict[str, Any]) -> None:
        row = {"id": one.id, "key": key_of(one), "suite": self._tests, **found}
        self._rows[row["key"]] = row
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{one.id:32} {row['seconds']:6.1f} s  {row['noticed'] or 'SURVIVED'}", flush=True)


def report(mutations: Iterable[Mutation], results: Results) -> int:
    rows = [(one, row) for one in mutations if (row := results.of(one)) is not None]
    counted = [(one, row) for one, row in rows if row["noticed"] or not one.harmless]
    noticed = [(one, row) for one, row in counted if row["noticed"]]
    late = [(one, row) for one, row in noticed if row["noticed"].startswith("time is up")]
    ended = [(one, row) for one, row in noticed if "ended by" in row["noticed"]]
    for title, some in (("time was up", late), ("the tests were ended", ended)):
        if some:
            print(f"\n{title}:")
            for one, row in some:
                print(f"    {one.id}: {row['noticed']}")
    print()
    for one, row in rows:
        if not row["noticed"]:
            print(f"{one.id}: {one.file}: {one.old!r} -> {one.new!r}")
            print(f"    {'harmless: ' + one.harmless if one.harmless else one.why or 'not explained'}"
                  f" ({row['tests']} tests come to it)")  # fmt: skip
    print(f"\n{len(noticed)} of {len(counted)} noticed ({100 * len(noticed) / max(len(counted), 1):.1f} %), "
          f"{len(late)} of them as the time was up, {len(ended)} as the tests were ended; "
          f"{len(rows) - len(counted)} harmless; "
          f"{sum(row['seconds'] for _, row in rows) / max(len(rows), 1):.1f} s each")  # fmt: skip
    return int(len(noticed) < len(counted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these; a pattern as a shell's")
    parser.add_argument("--random", type=int, metavar="SEED", help="draw new ones")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="how many of these")
    parser.add_argument("--check", action="store_true", help="only see that all apply")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("-p", "--processes", type=int, default=1)
    options = parser.parse_args()
    mutations = listed() if options.random is None else drawn(ROOT, options.random, options.count)
    by_file = edits_of(mutations)
    print(f"{len(mutations)} mutations of {len(by_file)} files", flush=True)
    if options.check:
        return 0
    tree = TREES / ("listed" if options.random is None else "random")
    tree.mkdir(parents=True, exist_ok=True)
    results = Results(tree / "build" / "results.jsonl")
    chosen = [one for one in mutations if not options.ids or any(fnmatch(one.id, each) for each in options.ids)]
    wanted = {one.id for one in chosen if options.again or results.of(one) is None}
    numbers = [number for number, one in enumerate(mutations, 1) if one.id in wanted]
    if numbers:
        print(f"building {tree}", flush=True)
        prepare(tree, by_file)
        trial = Trial(tree, dict(enumerate(mutations, 1)))
        trial.reach()
        for name in trial.broken:
            print(f"left out, since it fails without a mistake: {name}")
        numbers.sort(key=trial.cost)
        with ThreadPoolExecutor(options.processes) as pool:
            for limit in (QUICK, math.inf):
                tried = pool.map(partial(trial.try_out, limit=limit), numbers)
                for number, found in zip(tuple(numbers), tried, strict=True):
                    if found is None:
                        print(f"{mutations[number - 1].id:32} later", flush=True)
                    else:
                        numbers.remove(number)
                        results.add(mutations[number - 1], found)
        trial.close()
    return report(chosen, results)


if __name__ == "__main__":
    sys.exit(main())
