"""Compares pybtf's de-duplication with the reference's, byte for byte, on generated lists.

    PYBTF_REFERENCE_ROOT=... python -m tools.judge.dedup_oracle.compare --seeds 0:2000 [--split | --kernel] [--keep DIR]

If the reference refuses a list, pybtf must raise InputError. Exit status 1 if anything differs; --keep writes what
differs. --kernel: split from a base without duplicates, like that of a kernel. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from pybtf.core.dedup.dedup import dedup_btf
from pybtf.errors import InputError
from tools.judge.dedup_oracle import reference
from tools.judge.dedup_oracle.generate import generate

BATCH = 200


def ours(data: bytes, base: bytes | None) -> bytes | None:
    """The result, or None if the list is refused."""
    try:
        return dedup_btf(data, base)
    except InputError:
        return None


def batch(
    program: Path, seeds: range, split: bool, squeeze: bool, units: int | None, folder: Path
) -> dict[int, tuple[bytes | None, ...]]:
    """Differences by seed: (base, list, ours, theirs)."""
    lists = {seed: generate(seed, split, units, dedup_btf if squeeze else None) for seed in seeds}
    paths = {seed: (folder / f"{seed}.in", folder / f"{seed}.out") for seed in seeds}
    for seed, (base, data) in lists.items():
        paths[seed][0].write_bytes(data)
        if base is not None:
            base_path = folder / "base"
            base_path.write_bytes(base)
            reference.oracle(program, [paths[seed]], base_path)
    if not split:
        reference.oracle(program, list(paths.values()))
    different: dict[int, tuple[bytes | None, ...]] = {}
    for seed, (base, data) in lists.items():
        out = paths[seed][1]
        theirs = out.read_bytes() if out.exists() else None
        mine = ours(data, base)
        if mine != theirs:
            different[seed] = (base, data, mine, theirs)
        paths[seed][0].unlink()
        out.unlink(missing_ok=True)
        REFUSED[theirs is None] += 1
    return different


REFUSED = {False: 0, True: 0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:1000")
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--units", type=int)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(":"))
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = reference.build(folder)
        for start in range(first, last, BATCH):
            seeds = range(start, min(start + BATCH, last))
            for seed, (base, data, mine, theirs) in batch(
                program, seeds, args.split or args.kernel, args.kernel, args.units, folder
            ).items():
                bad += 1
                sizes = ["refused" if x is None else len(x) for x in (data, mine, theirs)]
                print(f"seed {seed}: input {sizes[0]}, pybtf {sizes[1]}, reference {sizes[2]} bytes")
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    for suffix, blob in (
                        ("base", base),
                        ("in", data),
                        ("pybtf", mine),
                        ("reference", theirs),
                    ):
                        if isinstance(blob, bytes):
                            (args.keep / f"{seed}.{suffix}").write_bytes(blob)
    print(f"{last - first} lists, {REFUSED[True]} refused by the reference, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
