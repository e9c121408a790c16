"""Thousands of programs with conflicting types: the result must be that of an encoding that drops no repeats.

    python -m tools.compare.keeping --seeds 0:10000 [--narrow | --near | --wild] [--jobs 1 4] [-p 2] [--reference]
                                    [--shrink] [--stop]

A seed is a program of `conflicts.py` (with --narrow, of `narrow.py`; with --near, of `near.py`; with --wild, of
`wild.py`), made in memory.
`--reference` also compares the encoding that keeps everything with the reference. `--shrink` prints each failing
program as data, reduced as far as it still fails. The exit status is 1 if anything differs or crashes.
"""

from __future__ import annotations

import argparse
import os
import pprint
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.builders import conflicts, narrow, near, wild
from tests.builders.conflicts import Unit
from tests.builders.conflictswriter import image
from tests.builders.everything import differences, encoded
from tools.judge import oracle

CHUNK = 250
SHARED = Path("/dev/shm")


def place() -> Path:
    """A file for one program after the other, in memory if possible."""
    folder = SHARED if os.access(SHARED, os.W_OK) else Path(tempfile.gettempdir())
    return folder / f"pybtf-keeping-{os.getpid()}"


def program(seed: int, options: argparse.Namespace) -> list[Unit]:
    if options.near:
        return near.program(seed)
    if options.wild:
        return wild.program(seed)
    return narrow.program(seed) if options.narrow else conflicts.program(seed)


def wrong(units: list[Unit], path: Path, options: argparse.Namespace) -> list[str]:
    """What is wrong with the encodings of a program."""
    path.write_bytes(image(units))
    found = differences(path, options.jobs)
    if options.reference:
        answer = oracle.run(path, oracle.USUAL)
        if answer.data is not None and answer.data != encoded(path, without=("reduction",)):
            found.append("everything kept, against the reference")
    return found


def apart(work: Callable[[int], None]) -> tuple[list[str], str]:
    """The lines that `work` writes to a descriptor in a child process; and how that ended, if not well."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(readable)
            work(writable)
            status = 0
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        lines = pipe.read().splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return lines, "" if code == 0 else signal.Signals(-code).name if code < 0 else f"exit status {code}"


def run(seeds: range, options: argparse.Namespace) -> Iterator[tuple[int, str]]:
    """What goes wrong with these seeds. After a crash of the child process, another one continues with the next seed.
    """

    def work(out: int) -> None:
        path = place()
        try:
            for seed in seeds:
                os.write(out, f"{seed} \n".encode())
                found = wrong(program(seed, options), path, options)
                if found:
                    os.write(out, f"{seed} {', '.join(found)}\n".encode())
        finally:
            path.unlink(missing_ok=True)

    while seeds:
        lines, end = apart(work)
        for line in lines:
            seed, _, what = line.partition(" ")
            if what:
                yield int(seed), what
        if not end:
            return
        last = int(lines[-1].split()[0]) if lines else seeds.start
        yield last, end
        seeds = range(last + 1, seeds.stop)


def fails(units: list[Unit], options: argparse.Namespace) -> bool:
    def work(out: int) -> None:
        path = place()
        try:
            if wrong(units, path, options):
                os.write(out, b"wrong\n")
        finally:
            path.unlink(missing_ok=True)

    lines, end = apart(work)
    return bool(lines or end)


def shrunk(units: list[Unit], options: argparse.Namespace) -> list[Unit]:
    """The smallest part of a program that still fails: without unnecessary units, items, parameters and members."""

    def smaller(units: list[Unit]) -> Iterator[list[Unit]]:
        for n in range(len(units)):
            yield units[:n] + units[n + 1 :]
        for n, items in enumerate(units):
            for i, item in enumerate(items):
                yield [*units[:n], items[:i] + items[i + 1 :], *units[n + 1 :]]
                if item[0] in ("struct", "union"):
                    for k in range(len(item[3])):
                        less = (*item[:3], item[3][:k] + item[3][k + 1 :])
                        yield [*units[:n], [*items[:i], less, *items[i + 1 :]], *units[n + 1 :]]

    changed = True
    while changed:
        changed = False
        for less in smaller(units):
            if fails(less, options):
                units, changed = less, True
                break
    return units


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:10000", help="A:B, or one")
    parser.add_argument("--narrow", action="store_true", help="programs of very few names")
    parser.add_argument("--near", action="store_true", help="programs like those that have shown a rule")
    parser.add_argument("--wild", action="store_true", help="programs with names twice, and enumerations declared")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1], help="numbers of workers to encode with")
    parser.add_argument("-p", "--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--reference", action="store_true", help="compare with pahole as well")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--stop", action="store_true", help="at the first that fails")
    options = parser.parse_args()
    first, _, last = options.seeds.partition(":")
    start, stop = int(first), int(last) if last else int(first) + 1
    chunks = [range(at, min(at + CHUNK, stop)) for at in range(start, stop, CHUNK)]
    failed = 0
    with ThreadPoolExecutor(options.processes) as pool:
        for found in pool.map(lambda seeds: list(run(seeds, options)), chunks):
            for seed, what in found:
                failed += 1
                print(f"{seed}: {what}", flush=True)
                if options.shrink:
                    pprint.pprint(shrunk(program(seed, options), options), width=120)
            if failed and options.stop:
                pool.shutdown(cancel_futures=True)
                break
    print(f"{failed} of {stop - start} programs differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
