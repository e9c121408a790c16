"""Long runs of random damage against a build with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz [--seconds N] [--seed S] [--workers N] [--keep FOLDER] [FILE...]

Builds pybtf with ASan and UBSan in build/sanitize, then damages FILEs (default: all of fixtures/bin and the inputs of
tests/builders/synthetic.py), in an order that the seed gives, again and again with new damage in each round, until the
time is up. Every case must be encoded or refused. A crash, a sanitizer report, a hang or an exception that is not a
PybtfError is printed, and its input kept. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.builders import corruption, synthetic

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "sanitize"

#: Cases of one worker process before the next file gets its turn.
BATCH = 100


def build(folder: Path = BUILD, **how: str) -> None:
    """A copy of the sources, compiled with sanitizers, or as setup.py is told; only what has changed. The usual build
    stays as it is.
    """
    how = how or {"PYBTF_SANITIZE": "1"}
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, folder / name)
    ignored = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "*.egg-info")
    for path in [*(folder / "src").rglob("*.py"), *(folder / "src").rglob("*.p[xy][di]")]:
        if not (ROOT / path.relative_to(folder)).exists():
            path.unlink()  # setup.py would still compile it
    for name in ("src", "tests/probe"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True, ignore=ignored)
    said = " ".join(f"{name}={value}" for name, value in how.items())
    print(f"building in {folder.relative_to(ROOT)}: {said}", flush=True)
    environment = {**os.environ, **how}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def library(name: str) -> str:
    """The path of a runtime library of the compiler."""
    found = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_absolute():
        sys.exit(f"gcc has no {name}; install its sanitizer libraries")
    return found


def environment(build: Path = BUILD) -> dict[str, str]:
    """What a worker needs: the runtime is loaded first (Python itself is not built with it), there are no leak reports
    (Python keeps things until it ends), and refused allocations return NULL, as from the operating system.
    """
    options = "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=1024"
    return {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
        "ASAN_OPTIONS": f"{options}:hard_rss_limit_mb=3072:{os.environ.get('ASAN_OPTIONS', '')}",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:abort_on_error=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(build / "src"), str(ROOT)]),
    }


def corpus(files: Sequence[Path]) -> list[Path]:
    if files:
        return list(files)
    folder = BUILD / "inputs"
    folder.mkdir(exist_ok=True)
    for case in synthetic.load().values():
        (folder / f"{case.name}.elf").write_bytes(case.build())
    return [*sorted((ROOT / "fixtures" / "bin").glob("*.elf")), *sorted(folder.glob("*.elf"))]


def keep(file: Path, problem: corruption.Problem, folder: Path) -> Path | None:
    """Keeps the damaged input."""
    if problem.seed.endswith("/-"):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    data = file.read_bytes()
    kept = folder / f"{file.stem}-{problem.seed.replace('/', '-')}.elf"
    kept.write_bytes(corruption.mutate(data, corruption.regions(data), problem.seed))
    return kept


def summary(problem: corruption.Problem) -> str:
    """What distinguishes problems: the first line, without addresses and process numbers."""
    return re.sub(r"0x[0-9a-f]+|==\d+==|\d{4,}", "", problem.what.splitlines()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz-found", metavar="FOLDER")
    options = parser.parse_args()
    build()
    files, child = corpus(options.files), environment()
    random.Random(options.seed).shuffle(files)  # a short run does not always use the same files
    end, done, found, turn = time.monotonic() + options.seconds, 0, 0, 0
    known: set[str] = set()
    print(
        f"seed {options.seed}, {len(files)} files, {options.workers} workers, {options.seconds:.0f} s",
        flush=True,
    )

    def batch(turn: int) -> tuple[Path, dict[str, int], list[corruption.Problem]]:
        file, first = files[turn % len(files)], turn // len(files) * BATCH
        if time.monotonic() > end:
            return file, {}, []
        return file, *corruption.watch(file, options.seed, first, first + BATCH, 1, child, limited=False)

    with ThreadPoolExecutor(options.workers) as pool:
        while time.monotonic() < end:
            turns = range(turn, turn + 4 * options.workers)
            turn += len(turns)
            for file, counts, problems in pool.map(batch, turns):
                done += sum(counts.values()) + len(problems)
                for problem in problems:
                    found += 1
                    if summary(problem) in known:
                        continue
                    known.add(summary(problem))
                    print(f"\n{file.name} {problem.seed}: {problem.what}")
                    print(f"kept: {keep(file, problem, options.keep)}")
            print(f"{done} cases, {found} problems, {len(known)} different", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
