"""Many damaged inputs in one process, each made from the seed of the run and its number, so each can be repeated.

`fuzz_dump` and `fuzz_verify` use this. A worker loads the core with sanitizers and does one case after the other.
Before each it writes the number to a file, where it is found after a crash. The parent keeps the input, says how to
repeat it, and starts another worker after that case. There are few sources, made once from the seed alone.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz-found"
PATIENCE = 10  # seconds of CPU for a case
SECONDS = 300.0
SAY = 10_000  # cases between two lines of a worker
MANY = 20  # after so many findings, no worker is started any more

BYTES = (0, 1, 0x7F, 0x80, 0xFF)
WORDS = (0, 1, 2, 3, 0x7F, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class Fuzzer(NamedTuple):
    """`make` gives the input of a case; `run` does it and returns a name for each thing that was done."""

    name: str
    sources: Callable[[random.Random], list[bytes]]
    make: Callable[[random.Random, Sequence[bytes]], bytes]
    run: Callable[[random.Random, bytes, Sequence[bytes]], Iterable[str]]

    def chooser(self, seed: str, number: int) -> random.Random:
        return random.Random(f"{self.name} {seed} {number}")


def damaged(chooser: random.Random, source: bytes) -> bytes:
    """BTF with some bytes changed, or some words: to ids, to kinds with few elements, to values near limits."""
    data = bytearray(source)
    for _ in range(chooser.choice((1, 1, 2, 4, 16))):
        if chooser.random() < 0.5:
            data[chooser.randrange(len(data))] = chooser.choice((*BYTES, chooser.randrange(256)))
            continue
        kind = chooser.randrange(1, 20) << 24 | chooser.randrange(8)
        word = chooser.choice((chooser.randrange(300), chooser.choice(WORDS), chooser.randrange(1 << 32), kind))
        at = 24 + 4 * chooser.randrange((len(data) - 24) // 4)
        data[at : at + 4] = word.to_bytes(4, "little")
    return bytes(data)


def work(fuzzer: Fuzzer, seed: str, numbers: Iterable[int], seconds: float, at: Path) -> int:
    """Does the cases with these numbers; the file `at` has the current one."""
    sources = fuzzer.sources(fuzzer.chooser(seed, -1))
    done: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with at.open("wb", buffering=0) as file:
        for number in numbers:
            if time.monotonic() > end:
                break
            start = time.process_time()
            os.pwrite(file.fileno(), b"%20d" % number, 0)
            chooser = fuzzer.chooser(seed, number)
            data = fuzzer.make(chooser, sources)
            done.update(fuzzer.run(chooser, data, sources))
            if time.process_time() - start > PATIENCE:
                print(f"case {number} takes {time.process_time() - start:.0f} s", flush=True)
                return 1
            done["cases"] += 1
            if done["cases"] % SAY == 0:
                print(summary(done), flush=True)
    print(summary(done), flush=True)
    return 0


def summary(done: Counter[str]) -> str:
    others = ", ".join(f"{name} {count}" for name, count in sorted(done.items()) if name != "cases")
    return f"{done['cases']} cases: {others}"


def keep(fuzzer: Fuzzer, seed: str, number: int) -> Path:
    """Writes the input of a case to a file."""
    chooser = fuzzer.chooser(seed, number)
    data = fuzzer.make(chooser, fuzzer.sources(fuzzer.chooser(seed, -1)))
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{fuzzer.name}-{seed}-{number}.btf"
    path.write_bytes(data)
    return path


def watch(fuzzer: Fuzzer, module: str, options: argparse.Namespace, worker: int) -> int:
    """Starts a worker, and another one after each case that ends one. Returns how many cases did."""
    from tools.fuzz import fuzz

    first, found = options.first + worker, 0
    at = KEPT / f"{fuzzer.name}-{options.seed}-{first}.at"
    end = time.monotonic() + options.seconds
    environment = fuzz.environment()
    if options.case is None:  # a single case says more
        environment["ASAN_OPTIONS"] += ":malloc_context_size=1"
    while first < options.count and found < MANY:
        command = [sys.executable, "-m", module, "--seed", options.seed, "--count", str(options.count)]
        command += ["--seconds", str(max(end - time.monotonic(), 0.0)), "--workers", str(options.workers)]
        at.write_bytes(b"")
        command += ["--first", str(first), "--at", str(at)]
        status = subprocess.run(command, env=environment, check=False).returncode
        if status == 0:
            break
        found += 1
        where = at.read_bytes()
        if not where:  # before the first case
            print(f"a worker does not start: status {status}", flush=True)
            break
        print(f"status {status}; kept: {keep(fuzzer, options.seed, int(where))}", flush=True)
        print(f"again: python -m {module} --seed {options.seed} --case {int(where)}", flush=True)
        first = int(where) + options.workers
    at.unlink(missing_ok=True)
    return found


def main(fuzzer: Fuzzer, module: str, doc: str | None, argv: Sequence[str] | None = None) -> int:
    """The command of a fuzzer. Exit status 1 if any case ended a worker."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="default: 300, or without end with --count")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case; default: 0")
    parser.add_argument("--count", type=int, help="the number behind the last case, so how many there are from 0 on")
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--case", type=int, help="this one alone; its input is kept")
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.seconds is None:
        options.seconds = float("inf") if options.count is not None else SECONDS
    options.count = sys.maxsize if options.count is None else options.count
    if options.at is not None:
        numbers = range(options.first, options.count, options.workers)
        return work(fuzzer, options.seed, numbers, options.seconds, options.at)
    from tools.fuzz import fuzz

    fuzz.build()
    KEPT.mkdir(parents=True, exist_ok=True)
    if options.case is not None:
        print(f"kept: {keep(fuzzer, options.seed, options.case)}")
        options.first, options.count, options.workers = options.case, options.case + 1, 1
        return 1 if watch(fuzzer, module, options, 0) else 0
    started = time.monotonic()
    print(f"seed {options.seed}, {options.workers} workers", flush=True)
    with ThreadPoolExecutor(options.workers) as pool:
        found = sum(pool.map(lambda worker: watch(fuzzer, module, options, worker), range(options.workers)))
    print(f"{found} findings, {time.monotonic() - started:.0f} s")
    return 1 if found else 0
