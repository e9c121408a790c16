"""Compares pybtf with the reference on random programs of DWARF that no compiler writes, byte for byte.

    python -m tools.compare.odd_programs [--seeds 0:300] [--features LIST]

Each seed is a program of tools/generate/odd_dies.py: many oddities at a time, in up to three units. Without --features
it is encoded with two lists of features, as the seed decides. `odd_attributes` and `odd_tags` beside it change one
thing at a time.

A line is printed for each output that differs. It is one, too, if only one of the two writes BTF, unless the reference
crashes or hangs, or pybtf refuses what docs/differences.md says that it refuses. The last line has the counts. Exit
status: 1 if anything differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tools.compare.differential import parse_seeds
from tools.generate import odd_dies
from tools.judge import btfdiff, oracle, reference, subject

SINGLE = (*oracle.USUAL.split(",")[:-1], "global_var", "attributes", "true_signature", "layout")
COMMON = (
    oracle.USUAL,
    f"{oracle.USUAL},global_var",
    "default",
    "default,true_signature",
    "default,global_var,true_signature",
    "all",
)
REFUSED = re.compile(
    r"variable \S+, which has no type|Add encode_force to the features|union member at bit 34359738360"
)
"""Errors of pybtf alone that are told."""


def lists(seed: int) -> tuple[str, str]:
    """The lists of features for a seed: one that is common, and a random one."""
    rng = Random(f"features {seed}")
    share = rng.choice((0.3, 0.7, 0.9))
    some = [feature for feature in SINGLE if rng.random() < share]
    return rng.choice(COMMON), ",".join([*some, "reproducible_build"])


def verdict(path: Path, features: str) -> tuple[str, str]:
    """What the two make of a file, and if that is "different" the cause."""
    try:
        golden = oracle.run(path, features, timeout=10)
    except subprocess.TimeoutExpired:
        return "a hang of the reference", ""
    ours = subject.encode(path, features, 1, timeout=30)
    if ours.data is None and not ours.refused:
        return "different", f"pybtf: {ours.problem}"
    if golden.data == ours.data:
        return "same" if ours.data else "nothing from either", ""
    if golden.data is None:
        said = (golden.stderr.strip().splitlines() or ["silently"])[0]
        crash = "a crash of the reference", ""
        return crash if golden.status < 0 else ("different", f"the reference writes nothing ({said}), pybtf BTF")
    if ours.data is None:
        told = "an error of pybtf alone", ""
        return told if REFUSED.search(ours.problem) else ("different", f"pybtf: {ours.problem}")
    return "different", btfdiff.explain(ours.data, golden.data)


def compare(seeds: range, features: str | None) -> Counter[str]:
    """How often each verdict is found; the differences are printed."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "odd.elf"
        for seed in seeds:
            try:
                path.write_bytes(odd_dies.program(seed).build())
            except odd_dies.UNBUILDABLE:
                counts["unbuildable"] += 1
                continue
            for each in (features,) if features else lists(seed):
                result, cause = verdict(path, each)
                counts[result] += 1
                if result == "different":
                    print(f"seed {seed} --features {each}: {cause}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default="0:300", help="A:B (without B) or one seed")
    parser.add_argument("--features", help="the same for all; default: the seed decides")
    options = parser.parse_args()
    try:
        counts = compare(options.seeds, options.features)
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1
    told = ", ".join(f"{n} {result}" for result, n in counts.most_common())
    print(f"{len(options.seeds)} programs: {told}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
