"""Compares pybtf with the reference on random programs of DWARF that no compiler writes, byte for byte.

    python -m tools.compare.odd_programs [--seeds 0:300] [--features LIST] [--shapes LIST]

Each seed is a program of tools/generate/odd_dies.py: many oddities at a time, in up to three units. Without --features
it is encoded with two lists of features, as the seed decides. `odd_attributes` and `odd_tags` beside it change one
thing at a time. With --shapes the programs are given these shapes of tools/generate/odd_shapes.py, such as object files
or repeated units; `random` are those that the seed decides. With the shape `base`, the lists of features are tried on a
base, also with `distilled_base`. If the reference cannot read a program's DWARF (`signatures`, `split`, `supplement`),
it gets a twin with the same DIEs in a form that it can read. Add `copies` to `dwz` and `multifile`.

A line is printed for each difference. It is also a difference if only one of the two writes BTF, unless the reference
crashes or hangs, or pybtf refuses something that it should refuse by docs/differences.md. The last line has the counts.
Exit status: 1 if anything differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from tools.compare.differential import parse_seeds
from tools.generate import odd_dies, odd_shapes
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
Verdict = tuple[str, str]


def lists(seed: int) -> tuple[str, str]:
    """The lists of features for a seed: a common one and a random one."""
    rng = Random(f"features {seed}")
    share = rng.choice((0.3, 0.7, 0.9))
    some = [feature for feature in SINGLE if rng.random() < share]
    return rng.choice(COMMON), ",".join([*some, "reproducible_build"])


def verdict(
    path: Path,
    features: str,
    base: Path | None = None,
    options: Mapping[str, str] | None = None,
    twin: tuple[Path, str] | None = None,
) -> Verdict:
    """The verdict on the results of both for a file and, if it is "different", the cause. If there is a `twin`, the
    reference gets that, with additional features.
    """
    told = dict(options or {})
    on_base = {"base": base, "force_base": True} if base else {}
    theirs, more = twin or (path, "")
    given = ",".join(filter(None, (features, more)))
    distilled = base is not None and "distilled_base" in features
    try:
        if base is not None and distilled:
            beside = [*path.parent.glob("*.debug")]
            golden, below = oracle.run_in_place(theirs, given, base, beside)
        else:
            known = {**told, "btf_base": base} if base else told
            golden, below = oracle.run(theirs, given, options=known, timeout=10), None
    except subprocess.TimeoutExpired:
        return "a hang of the reference", ""
    ours = subject.encode(path, features, 1, timeout=30, **on_base, **({} if distilled else told))
    if ours.data is None and not ours.refused:
        return "different", f"pybtf: {ours.problem}"
    if below and below.data and not int.from_bytes(below.data[12:16], "little" if below.data[0] == 0x9F else "big"):
        return "an empty distilled base", ""
    if golden.data == ours.data and (below.data if below else None) == ours.below:
        return "same" if ours.data else "nothing from either", ""
    if golden.data is None:
        lines = golden.stderr.strip().splitlines()
        causes = [line for line in lines if "rror" in line and "while" not in line]
        said = [*causes, *lines, "silently"][0]
        crash = "a crash of the reference", ""
        return crash if golden.status < 0 else ("different", f"the reference writes nothing ({said}), pybtf BTF")
    if ours.data is None:
        alone = "an error of pybtf alone", ""
        return alone if REFUSED.search(ours.problem) else ("different", f"pybtf: {ours.problem}")
    if golden.data == ours.data:
        return "different", "the distilled base"
    return "different", btfdiff.explain(ours.data, golden.data)


def compare(
    seeds: range, features: str | None, shapes: Sequence[str] = (), keep: Path | None = None
) -> Counter[str]:
    """How often each verdict occurs; the differences are printed."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)
        path, below, whole = folder / "odd.elf", folder / "base.btf", folder / "base.elf"
        other = folder / "twin.elf"
        for seed in seeds:
            base: Path | None = None
            twin: tuple[Path, str] | None = None
            try:
                made = odd_shapes.shaped(seed, shapes)
            except odd_dies.UNBUILDABLE:
                counts["unbuildable"] += 1
                continue
            path.write_bytes(made.data)
            for name, data in made.beside.items():
                (folder / name).write_bytes(data)
            if made.twin is not None:
                other.write_bytes(made.twin)
                twin = other, "force_cu_merging" if made.merged_twin else ""
            if made.base is not None:
                whole.write_bytes(made.base)
                there = oracle.run(whole, f"{oracle.USUAL},global_var").data
                if there is None:
                    counts["without a base"] += 1
                    continue
                base = below
                base.write_bytes(there)
            for each in (features,) if features else lists(seed):
                for more in ("", ",distilled_base") if base else ("",):
                    given = ",".join(filter(None, (each, made.features))) + more
                    result, cause = verdict(path, given, base, made.options, twin)
                    counts[result] += 1
                    if result == "different":
                        print(f"seed {seed} ({' '.join(sorted(made.shapes))}) --features {given}: {cause}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default="0:300", help="A:B (without B) or one seed")
    parser.add_argument("--features", help="the same for all; default: the seed decides")
    parser.add_argument("--shapes", default="", help=f"some of {','.join(odd_shapes.ALL)}, or random")
    parser.add_argument("--keep", type=Path, help="a folder for the last input and its base")
    options = parser.parse_args()
    shapes = [each for each in options.shapes.split(",") if each]
    if not {*shapes} <= {*odd_shapes.ALL, "random"}:
        parser.error(f"no shape: {options.shapes}")
    try:
        counts = compare(options.seeds, options.features, shapes, options.keep)
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1
    told = ", ".join(f"{n} {result}" for result, n in counts.most_common())
    print(f"{len(options.seeds)} programs: {told}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
