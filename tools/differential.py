"""Compares pybtf with the reference on random programs, byte for byte.

    python tools/differential.py [--seeds 0:300] [--jobs 2] [--features LIST] [--shrink]
    python tools/differential.py FILE.elf ...

Each seed is a program of tools/randprog.py; without --features it is encoded with the usual features, or
with some of them removed or `global_var` added, as the seed decides, with 1 to 3 workers. A program on which
the two differ is kept under `.cache/differences/SEED/`: its units, the ELF file, both outputs, `cause.txt`.
With --shrink its units are then reduced, line by line, while the outputs still differ.
The exit status is 1 if anything differs. A case on which the reference writes nothing is the same if pybtf
refuses it with a clear error.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import btfdiff
import oracle
import randprog
import reference
import subject
import toolchain

FEATURE_CHOICES = (
    *[oracle.USUAL] * 4,
    oracle.USUAL + ",global_var",
    oracle.USUAL.replace("consistent_func,", ""),
    oracle.USUAL.replace("enum64,", ""),
    oracle.USUAL.replace("float,", "").replace("var,", ""),
    "default",
)


@dataclass(frozen=True)
class Case:
    """One comparison: a program (or a file), features and workers."""

    seed: int
    features: str
    jobs: int


def case_of(seed: int, features: str | None) -> Case:
    """What a seed is encoded with."""
    rng = Random(f"differential {seed}")
    chosen = rng.choice(FEATURE_CHOICES)
    return Case(seed, features or chosen, rng.choice([1, 1, 2, 3]))


def compare(path: Path, features: str, jobs: int, ask: Callable[..., oracle.Answer] = oracle.ask) -> str:
    """Empty if both answer alike, else the cause in a line."""
    golden = ask(path, features)
    ours = subject.encode(path, features, jobs)
    if golden.data is None:
        if ours.refused:
            return ""
        said = (golden.stderr.strip().splitlines() or ["silently"])[0]
        return f"the reference writes nothing ({said}), pybtf: {ours.problem or 'wrote BTF'}"
    if ours.data is None:
        return f"pybtf: {ours.problem}"
    return btfdiff.explain(ours.data, golden.data)


def try_seed(seed: int, features: str | None) -> tuple[int, str, str]:
    """(seed, verdict, cause): verdict is same, differs or unbuildable."""
    case = case_of(seed, features)
    program = randprog.generate(seed)
    with tempfile.TemporaryDirectory(prefix="pybtf-diff-") as scratch:
        elf = Path(scratch) / "program.elf"
        try:
            program.make(Path(scratch), elf)
        except toolchain.BuildError as error:
            return seed, "unbuildable", str(error)
        cause = compare(elf, case.features, case.jobs)
        if cause:
            keep(case, elf, Path(scratch), cause)
    return seed, "differs" if cause else "same", cause


def keep(case: Case, elf: Path, folder: Path, cause: str) -> None:
    """Saves what is needed to look at a difference."""
    home = reference.cache_root() / "differences" / str(case.seed)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for source in sorted(folder.glob("u*.c")):
        shutil.copy(source, home)
    shutil.copy(elf, home)
    golden, ours = oracle.ask(elf, case.features), subject.encode(elf, case.features, case.jobs)
    for name, data in (("golden.btf", golden.data), ("ours.btf", ours.data)):
        if data is not None:
            (home / name).write_bytes(data)
    builds = " ".join(str(build) for build in randprog.generate(case.seed).builds)
    (home / "cause.txt").write_text(
        f"{cause}\nfeatures: {case.features}\njobs: {case.jobs}\nbuilds: {builds}\n"
    )


def shrink(seed: int, features: str | None) -> str:
    """Reduces the program of a differing seed; the result is left in `.cache/differences/SEED/small`."""
    case = case_of(seed, features)
    home = reference.cache_root() / "differences" / str(seed) / "small"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    cause = ""

    def differs(candidate: randprog.Program) -> bool:
        nonlocal cause
        with tempfile.TemporaryDirectory(prefix="pybtf-shrink-") as scratch:
            elf = Path(scratch) / "program.elf"
            try:
                candidate.make(Path(scratch), elf)
            except toolchain.BuildError:
                return False
            found = compare(elf, case.features, case.jobs, oracle.run)
            if found:
                cause = found
                for path in (*Path(scratch).glob("u*.c"), elf):
                    shutil.copy(path, home)
            return bool(found)

    program = reduce_program(randprog.generate(seed), differs)
    for path in home.glob("u*.c"):
        if int(path.stem[1:]) >= len(program.units):
            path.unlink()
    (home / "cause.txt").write_text(f"{cause}\n")
    lines = sum(len(unit) for unit in program.units)
    return f"{len(program.units)} units, {lines} lines: {cause}"


def reduce_program(
    program: randprog.Program, differs: Callable[[randprog.Program], bool]
) -> randprog.Program:
    """Removes units, then ever smaller runs of lines, as long as `differs` stays true."""
    number = 0
    while number < len(program.units) and len(program.units) > 1:
        rest = slice(number + 1, None)
        smaller = replace(
            program,
            units=program.units[:number] + program.units[rest],
            builds=program.builds[:number] + program.builds[rest],
        )
        if differs(smaller):
            program = smaller
        else:
            number += 1
    run = max(len(unit) for unit in program.units) // 2 or 1
    while True:
        before = program
        for number in range(len(program.units)):
            program = _reduce_unit(program, number, run, differs)
        if run == 1 and program is before:
            return program
        run = max(run // 2, 1)


def _reduce_unit(
    program: randprog.Program, number: int, run: int, differs: Callable[[randprog.Program], bool]
) -> randprog.Program:
    at = 0
    while at < len(program.units[number]):
        lines = program.units[number]
        units = list(program.units)
        units[number] = lines[:at] + lines[at + run :]
        smaller = replace(program, units=units)
        if differs(smaller):
            program = smaller
        else:
            at += run
    return program


def run_seeds(seeds: Iterable[int], features: str | None, jobs: int) -> dict[int, tuple[str, str]]:
    """Verdict and cause of each seed; differences are printed as they are found."""
    results = {}
    reference.pahole()  # Fetch once, before the workers start.
    with multiprocessing.Pool(jobs) as pool:
        for seed, verdict, cause in pool.imap_unordered(
            functools.partial(try_seed, features=features), seeds
        ):
            results[seed] = (verdict, cause)
            if verdict != "same":
                print(f"seed {seed}: {verdict}: {cause}", flush=True)
    return results


def run_files(paths: list[Path], features: str) -> int:
    """Compares given files; the number that differ."""
    wrong = 0
    for path in paths:
        for jobs in (1, 3):
            cause = compare(path, features, jobs)
            wrong += bool(cause)
            print(f"{path} -j{jobs}: {cause or 'same'}")
    return wrong


def parse_seeds(text: str) -> range:
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=parse_seeds, default="0:300", help="A:B (without B) or one seed")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--features", help="the same for all; default: the seed decides")
    parser.add_argument("--shrink", action="store_true", help="reduce the first three differing programs")
    options = parser.parse_args()
    try:
        if options.files:
            return 1 if run_files(options.files, options.features or oracle.USUAL) else 0
        start = time.monotonic()
        results = run_seeds(options.seeds, options.features, options.jobs)
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1
    counts = dict.fromkeys(("same", "differs", "unbuildable"), 0)
    for verdict, _ in results.values():
        counts[verdict] += 1
    spent = time.monotonic() - start
    print(
        f"{len(results)} programs in {spent:.0f} s:", ", ".join(f"{n} {word}" for word, n in counts.items())
    )
    differing = sorted(seed for seed, (verdict, _) in results.items() if verdict == "differs")
    if options.shrink:
        for seed in differing[:3]:
            print(f"seed {seed} reduced to {shrink(seed, options.features)}")
    return 1 if counts["differs"] or counts["unbuildable"] else 0


if __name__ == "__main__":
    sys.exit(main())
