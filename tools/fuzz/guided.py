"""Fuzzing that is guided by coverage: what passes code that no case has passed before is kept, and changed further.

    python -m tools.fuzz.guided --subject files|btf|programs [--seconds N] [--seed S] [--workers N]
    python -m tools.fuzz.guided --subject files --case FILE...

Subjects: `files` are ELF files with DWARF for `pybtf.encode` (guided_files.py), `btf` is BTF for everything that reads
it (guided_btf.py), and `programs` have conflicting types, for the reduction (guided_programs.py).

The build is in build/guided, with ASan and UBSan, or with assertions for `programs`. Beside it are the cases that
passed something new; the next run continues with these. For a crash, a sanitizer report, an exception that is not a
refusal, a wrong result, a case that takes longer than 10 s or 300 MB, the input is kept in build/fuzz-found; the exit
status is then 1. Of several findings that look the same, only the first is printed and kept. `--case` runs kept ones.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.fuzz import edges, fuzz
from tools.fuzz.cases import KEPT, MANY, PATIENCE
from tools.fuzz.subjects import Subject

SUBJECTS = ("files", "btf", "programs")
GROWTH = 300 << 10  # KiB of peak memory for a case
SAY = 60.0  # seconds between two lines of a worker
LINES = re.compile(rb"^(?:\S*(?:Error|Found)\b.*|SUMMARY: .*|.*runtime error: .*|.*internal error: .*)$", re.M)


def subject(name: str) -> Subject:
    """It is imported here, for its modules import a core, which must be the one to be fuzzed."""
    from tools.fuzz import guided_btf, guided_files, guided_programs

    return {each.name: each for each in (guided_files.FILES, guided_btf.BTF, guided_programs.PROGRAMS)}[name]


def folder_of(this: Subject) -> Path:
    """Of the build. Subjects that want the same build share it."""
    return edges.FOLDER / ("sanitized" if this.sanitized else "checked")


def corpus_of(this: Subject) -> Path:
    return edges.FOLDER / f"corpus-{this.name}"


# -- the worker --------------------------------------------------------------------------------------


class Worker:
    """Does cases until the time is up. The file `at` has the current one, where it is found after a crash."""

    def __init__(self, this: Subject, passed: edges.Edges, corpus: Path, at: Path, rng: random.Random) -> None:
        self._subject = this
        self._edges = passed
        self._corpus = corpus
        self._at = at
        self._rng = rng
        paths = sorted(corpus.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        self._cases = [path.read_bytes() for path in paths]
        self._sound = [data for data, path in zip(self._cases, paths, strict=True) if not path.match("refused-*")]
        self.done: Counter[str] = Counter()

    def seed(self) -> None:
        """Runs what is there already and the seeds, if no worker of this build has passed anything."""
        if self._edges.known() == 0:
            old, self._cases, self._sound = self._cases, [], []
            for data in [*old, *self._subject.seeds(self._rng)]:
                self.case(data)

    def run(self, end: float) -> None:
        """`end`: of the monotonic clock."""
        said = time.monotonic()
        while (now := time.monotonic()) < end:
            for _ in range(20):
                self.case(self._subject.change(self._rng, self._one(), self._cases))
            if now - said > SAY:
                said = now
                print(self.summary(), flush=True)

    def _one(self) -> bytes:
        """Half of the time one of those that came last: their neighbours are the least known. Mostly a sound one, for
        changes of the others rarely pass more than what refuses them.
        """
        some = self._sound if self._sound and self._rng.random() < 0.8 else self._cases
        first = len(some) * 3 // 4 if self._rng.random() < 0.5 else 0
        return some[self._rng.randrange(first, len(some))]

    def case(self, data: bytes) -> None:
        """Runs a case, and keeps it if it passed something new."""
        self._at.write_bytes(data)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # its signal is not caught: it ends the process, even in C
        self._edges.begin()
        answer = self._subject.run(data, self._at)
        fresh = self._edges.end()
        signal.setitimer(signal.ITIMER_PROF, 0)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > GROWTH:
            raise MemoryError("a case takes too much")
        self.done[answer] += 1
        if fresh:
            self._cases.append(data)
            if answer != "refused":
                self._sound.append(data)
            name = f"{answer}-{hashlib.sha256(data).hexdigest()[:20]}{self._subject.suffix}"
            (self._corpus / name).write_bytes(data)

    def summary(self) -> str:
        answers = ", ".join(f"{name} {count}" for name, count in sorted(self.done.items()))
        return f"{self.done.total()} cases: {answers}; {len(self._cases)} kept, {self._edges.known()} edges"


def untimed() -> None:
    """Asking for the time at each pass takes longer than the passes of a small file."""
    from pybtf.pipeline import passes
    from pybtf.support.timings import Timings

    setattr(passes, "Timings", functools.partial(Timings, passes=False))  # noqa: B010 - mypy has it as a class


def work(options: argparse.Namespace) -> int:
    this = subject(options.subject)
    untimed()
    if options.case:
        for path in options.case:
            print(f"{path}: {this.run(path.read_bytes(), path)}", flush=True)
        return 0
    build = folder_of(this)
    library = edges.core(build / "src")
    seen = edges.seen_of(this.name, library)
    passed = edges.Edges(edges.counter(), library, "PyInit_run", seen, this.three)
    worker = Worker(this, passed, corpus_of(this), options.at, random.Random(options.seed))
    start = time.monotonic()
    worker.seed()
    worker.run(start + options.seconds)
    print(worker.summary(), flush=True)
    return 0


# -- the parent --------------------------------------------------------------------------------------


def environment(this: Subject, worker: int = 1) -> dict[str, str]:
    """What a worker needs. The function that the core calls must be there before the core. Every second worker has
    Python's own small objects checked, too, which takes half as long again.
    """
    build = folder_of(this)
    if not this.sanitized:
        paths = os.pathsep.join([str(build / "src"), str(fuzz.ROOT)])
        return {**os.environ, "PYTHONPATH": paths, "LD_PRELOAD": str(edges.counter())}
    made = fuzz.environment(build)
    made["LD_PRELOAD"] += f" {edges.counter()}"
    made["PYTHONMALLOC"] = "malloc" if worker % 2 else "pymalloc"
    made["ASAN_OPTIONS"] += ":quarantine_size_mb=16:malloc_context_size=5"
    return made


def look(output: bytes, status: int) -> str:
    """What distinguishes findings: how the worker ended and what it said, without numbers."""
    found = [line.decode(errors="replace") for line in LINES.findall(output)]
    return f"status {status}: {re.sub(r'0x[0-9a-f]+|[0-9]+', '', found[-1]) if found else ''}"


def commands(options: argparse.Namespace, at: Path, worker: int) -> Iterator[list[str]]:
    """Of one worker after the other, until the time is up."""
    end = time.monotonic() + options.seconds
    for turn in range(sys.maxsize):
        left = end - time.monotonic()
        if left <= 0:
            return
        command = [sys.executable, "-m", "tools.fuzz.guided", "--subject", options.subject, "--at", str(at)]
        yield [*command, "--seconds", f"{left:.1f}", "--seed", f"{options.seed}-{worker}-{turn}"]


def watch(this: Subject, options: argparse.Namespace, worker: int, known: Counter[str]) -> None:
    """Starts a worker, and another one after each finding that ends one."""
    at = corpus_of(this).with_name(f"{this.name}-{worker}{this.suffix}")
    for command in commands(options, at, worker):
        at.unlink(missing_ok=True)
        done = subprocess.run(command, env=environment(this, worker), stderr=subprocess.PIPE, check=False)
        if done.returncode == 0 or len(known) >= MANY:
            break
        if not at.exists():
            print(f"a worker does not start: {done.stderr.decode(errors='replace')}", flush=True)
            known["a worker does not start"] += 1
            break
        what = look(done.stderr, done.returncode)
        known[what] += 1
        if known[what] > 1:
            continue
        data = at.read_bytes()
        kept = KEPT / f"guided-{this.name}-{hashlib.sha256(data).hexdigest()[:12]}{this.suffix}"
        kept.write_bytes(data)
        print(f"{done.stderr[-4000:].decode(errors='replace')}\n{what}; kept: {kept}", flush=True)
        print(f"again: python -m tools.fuzz.guided --subject {this.name} --case {kept}", flush=True)
    at.unlink(missing_ok=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", choices=SUBJECTS, required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--case", type=Path, nargs="+", help="only these")
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.at is not None:
        return work(options)
    this = subject(options.subject)
    build = folder_of(this)
    fuzz.build(build, **this.build)
    edges.counter()
    for folder in (KEPT, corpus_of(this)):
        folder.mkdir(parents=True, exist_ok=True)
    if options.case:
        command = [sys.executable, "-m", "tools.fuzz.guided", "--subject", this.name, "--at", os.devnull, "--case"]
        return subprocess.run([*command, *options.case], env=environment(this), check=False).returncode
    print(f"seed {options.seed}, {options.workers} workers, {options.seconds:.0f} s", flush=True)
    known: Counter[str] = Counter()
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(lambda worker: watch(this, options, worker, known), range(options.workers)))
    print(f"{known.total()} findings, {len(known)} different")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
