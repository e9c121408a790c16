"""Long runs of random damage to BTF for `pybtf verify`, against a build with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz_verify [--seconds N | --count N] [--seed S] [--workers N] [--case N]

Builds like fuzz.py, then damages random BTF (randbtf.py) and the minimal cases (minimal_btf.py), and judges it until
the time is up: for each loader, for two versions, alone, on a base, and as a module's own base. For a crash, a
sanitizer report, any exception or a case that takes longer than 10 s, the number is printed and the input kept in
build/fuzz-found; the exit status is then 1.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence

from tools.fuzz import cases
from tools.fuzz.cases import damaged
from tools.generate import randbtf
from tools.golden.minimal_btf import CASES


def cut(chooser: random.Random, data: bytes) -> bytes:
    """Now and then the header is wrong, or the end is missing."""
    made = bytearray(data)
    if chooser.random() < 0.2 and len(made) >= 32:
        made[chooser.randrange(32)] = chooser.randrange(256)
    return bytes(made[: chooser.randrange(len(made) + 1)] if chooser.random() < 0.1 else made)


def sources(chooser: random.Random) -> list[bytes]:
    made = [randbtf.RandomBtf(chooser.randrange(1 << 30)).make() for _ in range(100)]
    return made + [case.data for case in CASES if 100 < len(case.data) < 10_000]


def make(chooser: random.Random, sources: Sequence[bytes]) -> bytes:
    return cut(chooser, damaged(chooser, chooser.choice(sources)))


def run(chooser: random.Random, data: bytes, sources: Sequence[bytes]) -> Iterator[str]:
    """One case: for each loader, on another BTF, and as a module's own base."""
    from pybtf.verify.distilled import Targets, relocate
    from pybtf.verify.judge import LOADERS, MODULE, VERSIONS, VMLINUX, judge
    from pybtf.verify.words import groups, lines

    below = make(chooser, sources)
    version = chooser.choice(VERSIONS)
    little = chooser.random() < 0.9
    for loader in LOADERS:
        judged = judge(data, loader, version, little=little)
        yield "refused" if judged.errno else "accepted"
        for group in groups(judged):
            lines(group)
    base = judge(below, VMLINUX, version, little=little).layer
    if base is not None:
        split = judge(data, MODULE, version, base=base, little=little)
        groups(split)
        yield "on a base"
        if split.layer is not None and split.layer.whole:
            relocate(base, split.layer, Targets(base))
            yield "relocated"


FUZZER = cases.Fuzzer("verify", sources, make, run)

if __name__ == "__main__":
    sys.exit(cases.main(FUZZER, "tools.fuzz.fuzz_verify", __doc__))
