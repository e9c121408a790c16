"""Compares pybtf with the reference on random programs, byte for byte.

    python -m tools.compare.differential [--seeds 0:300] [--jobs 2] [--features LIST] [--shrink]
    python -m tools.compare.differential --varied --seeds 0:2000
    python -m tools.compare.differential --functions --seeds 0:240
    python -m tools.compare.differential --options --seeds 0:500
    python -m tools.compare.differential --dwz --seeds 0:300
    python -m tools.compare.differential --types --seeds 0:300
    python -m tools.compare.differential FILE.elf ...

Each seed is a program of tools/generate/randprog.py; without --features it is encoded with the usual features, or
with some of them removed or `global_var` added, as the seed decides, with 1 to 3 workers. With --varied, a seed is a
number of variations.py: a program (own or csmith's), its build, and six lists of features. With --functions, it is one
of gen_functions.py: DWARF about functions that no compiler writes, with and without true_signature. With --options, it
is one of odd_options.py: rare options of compilers. With --dwz, it is one of shared_programs.py, processed by `dwz` or
`dwz -m`; with --types, one that also has type units. The reference cannot read these; it gets a twin without type units
(tools/generate/untyped.py). A program on which the two differ is kept in `.cache/differences/SEED/`: its units, the ELF
file, both outputs, `cause.txt`. With --shrink, its units are then reduced line by line as long as the outputs still
differ. The exit status is 1 if anything differs. If the reference writes nothing, a clear error from pybtf counts as
the same.
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

from tools.generate import gen_functions, odd_options, randprog, shared_programs, variations
from tools.golden import toolchain
from tools.judge import btfdiff, oracle, reference, subject

FEATURE_CHOICES = (
    *[oracle.USUAL] * 4,
    oracle.USUAL + ",global_var",
    oracle.USUAL.replace("consistent_func,", ""),
    oracle.USUAL.replace("enum64,", ""),
    oracle.USUAL.replace("float,", "").replace("var,", ""),
    "default",
)


MakeCase = Callable[[int], "Case"]


@dataclass(frozen=True)
class Case:
    """One program, the lists of features to encode it with, and the number of workers."""

    seed: int
    features: tuple[str, ...]
    jobs: int
    program: randprog.Program
    label: str

    def compare(self, elf: Path, ask: Callable[..., oracle.Answer]) -> tuple[str, str]:
        """The first list of features with which the two differ, and the cause; or two empty strings."""
        for features in self.features:
            cause = compare(elf, features, self.jobs, ask)
            if cause:
                return features, cause
        return "", ""


def case_of(seed: int, features: str | None) -> Case:
    """How a seed is encoded."""
    rng = Random(f"differential {seed}")
    chosen = rng.choice(FEATURE_CHOICES)
    program = randprog.generate(seed)
    label = " ".join(str(build) for build in program.builds)
    return Case(seed, (features or chosen,), rng.choice([1, 1, 2, 3]), program, label)


def varied_case(number: int, features: str | None) -> Case:
    """How a number of tools/generate/variations.py is encoded."""
    chosen = variations.variation(number)
    lists = (features,) if features else chosen.features
    return Case(number, lists, chosen.jobs, chosen.program, chosen.label)


def functions_case(number: int, features: str | None) -> Case:
    """How a number of tools/generate/gen_functions.py is encoded."""
    lists = (features,) if features else ("default", "default,true_signature")
    program = gen_functions.program(number)
    return Case(number, lists, 1 + number % 3, program, "functions, linked" if program.linked else "functions")


def options_case(number: int, features: str | None) -> Case:
    """How a number of tools/generate/odd_options.py is encoded."""
    program = odd_options.program(number)
    lists = (features,) if features else (oracle.USUAL, "default,global_var,true_signature")
    label = f"{program.builds[0]} {' / '.join(dict.fromkeys(program.options))}"
    return Case(number, lists, 1 + number % 3, program, label)


@dataclass(frozen=True)
class TypesCase(Case):
    """A program with type units. The reference gets its twin."""

    def compare(self, elf: Path, ask: Callable[..., oracle.Answer]) -> tuple[str, str]:
        if not elf.with_name("twin.elf").exists():
            return super().compare(elf, ask)
        for features in self.features:
            golden = ask(elf.with_name("twin.elf"), f"{features},force_cu_merging")
            cause = verdict(golden, subject.encode(elf, features, self.jobs))
            if cause:
                return features, cause
        return "", ""


def shared_case(number: int, features: str | None) -> Case:
    """How a number of tools/generate/shared_programs.py is encoded."""
    program = shared_programs.program(number)
    lists = (features,) if features else (oracle.USUAL, "default,global_var,true_signature")
    label = f"{program.builds[0]} {'dwz -m' if program.several else 'dwz'}"
    return Case(number, lists, 1 + number % 3, program, label)


def types_case(number: int, features: str | None) -> Case:
    """The same with type units."""
    program = shared_programs.program(number, types=True)
    done = ("dwz -m" if program.several else "dwz") if program.limits else "as it is"
    lists = (features,) if features else (oracle.USUAL, "default,global_var,true_signature")
    return TypesCase(number, lists, 1 + number % 3, program, f"{program.builds[0]} types, {done}")


def compare(path: Path, features: str, jobs: int, ask: Callable[..., oracle.Answer] = oracle.ask) -> str:
    """Empty if both give the same answer, else the cause in a line."""
    return verdict(ask(path, features), subject.encode(path, features, jobs))


def verdict(golden: oracle.Answer, ours: subject.Outcome) -> str:
    """Empty if the two answers are the same, else the cause in a line."""
    if golden.data is None:
        if ours.refused:
            return ""
        said = (golden.stderr.strip().splitlines() or ["silently"])[0]
        return f"the reference writes nothing ({said}), pybtf: {ours.problem or 'wrote BTF'}"
    if ours.data is None:
        return f"pybtf: {ours.problem}"
    return btfdiff.explain(ours.data, golden.data)


def try_seed(seed: int, make_case: MakeCase) -> tuple[int, str, str]:
    """(seed, verdict, cause): verdict is same, differs, unbuildable or skipped."""
    try:
        case = make_case(seed)
    except variations.NoCsmith as reason:
        return seed, "skipped", str(reason)
    except toolchain.BuildError as error:
        return seed, "unbuildable", str(error)
    with tempfile.TemporaryDirectory(prefix="pybtf-diff-") as scratch:
        elf = Path(scratch) / "program.elf"
        try:
            case.program.make(Path(scratch), elf)
        except toolchain.BuildError as error:
            return seed, "unbuildable", str(error)
        features, cause = case.compare(elf, oracle.run)
        if cause:
            keep(case, features, elf, Path(scratch), cause)
    return seed, "differs" if cause else "same", f"{case.label}, {features}: {cause}" if cause else ""


def keep(case: Case, features: str, elf: Path, folder: Path, cause: str) -> None:
    """Saves what is needed for looking at a difference."""
    home = reference.cache_root() / "differences" / str(case.seed)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for source in sorted(folder.glob("u*.[cs]")):
        shutil.copy(source, home)
    shutil.copy(elf, home)
    for beside in ("alt.debug", "twin.elf"):
        if (folder / beside).exists():
            shutil.copy(folder / beside, home)
    golden, ours = oracle.run(elf, features), subject.encode(elf, features, case.jobs)
    for name, data in (("golden.btf", golden.data), ("ours.btf", ours.data)):
        if data is not None:
            (home / name).write_bytes(data)
    builds = " ".join(str(build) for build in case.program.builds)
    (home / "cause.txt").write_text(f"{cause}\nfeatures: {features}\njobs: {case.jobs}\nbuilds: {builds}\n")


def shrink(seed: int, make_case: MakeCase) -> str:
    """Reduces the program of a differing seed; the result is left in `.cache/differences/SEED/small`."""
    case = make_case(seed)
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
            features, found = case.compare(elf, oracle.run)
            if found:
                cause = f"{features}: {found}"
                for path in (*Path(scratch).glob("u*.c"), elf):
                    shutil.copy(path, home)
            return bool(found)

    program = reduce_program(case.program, differs)
    for path in home.glob("u*.c"):
        if int(path.stem[1:]) >= len(program.units):
            path.unlink()
    (home / "cause.txt").write_text(f"{cause}\n")
    lines = sum(len(unit) for unit in program.units)
    return f"{len(program.units)} units, {lines} lines: {cause}"


def reduce_program(program: randprog.Program, differs: Callable[[randprog.Program], bool]) -> randprog.Program:
    """Removes units, then smaller and smaller runs of lines, as long as `differs` stays true."""
    number = 0
    while number < len(program.units) and len(program.units) > 1:
        smaller = program.only(*(index for index in range(len(program.units)) if index != number))
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


def run_seeds(seeds: Iterable[int], make_case: MakeCase, jobs: int) -> dict[int, tuple[str, str]]:
    """The verdict and cause of each seed. Differences are printed as they are found."""
    results = {}
    reference.pahole()  # Fetch once, before the workers start.
    with multiprocessing.Pool(jobs) as pool:
        work = functools.partial(try_seed, make_case=make_case)
        for seed, verdict, cause in pool.imap_unordered(work, seeds):
            results[seed] = (verdict, cause)
            if verdict not in ("same", "skipped"):
                print(f"seed {seed}: {verdict}: {cause}", flush=True)
            if len(results) % 100 == 0:
                print(f"{len(results)} done", file=sys.stderr, flush=True)
    return results


def run_files(paths: list[Path], features: str) -> int:
    """Compares the given files; returns how many differ."""
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
    parser.add_argument("--varied", action="store_true", help="seeds are numbers of tools/generate/variations.py")
    parser.add_argument("--functions", action="store_true", help="seeds are numbers of tools/generate/gen_functions.py")
    parser.add_argument("--options", action="store_true", help="seeds are numbers of tools/generate/odd_options.py")
    parser.add_argument("--dwz", action="store_true", help="seeds are numbers of tools/generate/shared_programs.py")
    parser.add_argument("--types", action="store_true", help="the same with type units")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--features", help="the same for all; default: the seed decides")
    parser.add_argument("--shrink", action="store_true", help="reduce the first three differing programs")
    options = parser.parse_args()
    if options.functions and options.shrink:
        parser.error("--functions does not go with --shrink")
    makers = (
        (options.functions, functions_case),
        (options.varied, varied_case),
        (options.options, options_case),
        (options.dwz, shared_case),
        (options.types, types_case),
    )
    if sum(asked for asked, _ in makers) > 1:
        parser.error("only one of --varied, --functions, --options, --dwz and --types")
    maker = next((each for asked, each in makers if asked), case_of)
    try:
        if options.files:
            return 1 if run_files(options.files, options.features or oracle.USUAL) else 0
        start = time.monotonic()
        make_case = functools.partial(maker, features=options.features)
        results = run_seeds(options.seeds, make_case, options.jobs)
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1
    counts = dict.fromkeys(("same", "differs", "unbuildable", "skipped"), 0)
    for verdict, _ in results.values():
        counts[verdict] += 1
    spent = time.monotonic() - start
    told = ", ".join(f"{n} {word}" for word, n in counts.items())
    print(f"{len(results)} programs in {spent:.0f} s: {told}")
    for cause in sorted({cause for verdict, cause in results.values() if verdict == "skipped"}):
        print(f"skipped: {cause}")
    differing = sorted(seed for seed, (verdict, _) in results.items() if verdict == "differs")
    if options.shrink:
        for seed in differing[:3]:
            print(f"seed {seed} reduced to {shrink(seed, make_case)}")
    return 1 if counts["differs"] or counts["unbuildable"] else 0


if __name__ == "__main__":
    sys.exit(main())
