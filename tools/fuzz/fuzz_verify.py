"""Long runs of random damage to BTF for `pybtf verify`, against a build with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz_verify [--seconds N] [--seed S] [--workers N]

Builds as fuzz.py does, then damages random BTF (randbtf.py) and the minimal cases (minimal_btf.py),
and judges it until the time is up: for each loader, as one version and another, alone, on a base, and as a base of a
module's own. A crash, a report of a sanitizer, any exception or a verdict that takes longer than 10 s ends the run
with status 1; the input is kept in build/fuzz-found.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time

from tools.fuzz.fuzz_dump import KEPT, PATIENCE, damaged
from tools.generate import randbtf
from tools.golden.minimal_btf import CASES


def cut(chooser: random.Random, data: bytes) -> bytes:
    """Now and then the header lies, or the end is missing."""
    made = bytearray(data)
    if chooser.random() < 0.2 and len(made) >= 32:
        made[chooser.randrange(32)] = chooser.randrange(256)
    return bytes(made[: chooser.randrange(len(made) + 1)] if chooser.random() < 0.1 else made)


def work(seed: str, seconds: float) -> int:
    """One worker, in a process whose core is that with sanitizers. The input of the moment lies in a file."""
    from pybtf.verify.distilled import Targets, relocate
    from pybtf.verify.judge import LOADERS, MODULE, VERSIONS, VMLINUX, judge
    from pybtf.verify.words import groups, lines

    chooser = random.Random(seed)
    sources = [randbtf.RandomBtf(chooser.randrange(1 << 30)).make() for _ in range(100)]
    sources += [case.data for case in CASES if 100 < len(case.data) < 10_000]
    case = KEPT / f"verify-{seed}.btf"
    count = accepted = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = cut(chooser, damaged(chooser, chooser.choice(sources)))
        below = cut(chooser, damaged(chooser, chooser.choice(sources)))
        case.write_bytes(data)
        start = time.monotonic()
        version = chooser.choice(VERSIONS)
        little = chooser.random() < 0.9
        for loader in LOADERS:
            judged = judge(data, loader, version, little=little)
            accepted += judged.errno == 0
            for group in groups(judged):
                lines(group)
        base = judge(below, VMLINUX, version, little=little).layer
        if base is not None:
            split = judge(data, MODULE, version, base=base, little=little)
            groups(split)
            if split.layer is not None and split.layer.whole:
                relocate(base, split.layer, Targets(base))
        if time.monotonic() - start > PATIENCE:
            print(f"{case}: takes too long")
            return 1
        count += 1
    case.unlink(missing_ok=True)
    print(f"{count} cases, {accepted} accepted", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    if options.work:
        return work(options.seed, options.seconds)
    from tools.fuzz import fuzz

    fuzz.build()
    command = [sys.executable, "-m", "tools.fuzz.fuzz_verify", "--work", "--seconds", str(options.seconds)]
    workers = [
        subprocess.Popen([*command, "--seed", f"{options.seed}-{number}"], env=fuzz.environment())
        for number in range(options.workers)
    ]
    statuses = [worker.wait() for worker in workers]
    for number, status in enumerate(statuses):
        if status:
            print(f"status {status}; kept: {KEPT / f'verify-{options.seed}-{number}.btf'}")
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
