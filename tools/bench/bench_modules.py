"""Measures pybtf against pahole on the modules of a kernel: a batch, a build's processes, and one module alone.

    python -m tools.bench.bench_modules              300 modules, 5 rounds
    python -m tools.bench.bench_modules --quick      100 modules, one round

*A build* encodes each module in a process of its own, as many at a time as it has jobs. Here, `--jobs` threads do the
same: each starts one process after the other, of pahole and of `pybtf-pahole` with the same options.

*The batch.* `pybtf encode` gets the same modules as one list. All write detached files into a folder; all files are
compared.

The programs take turns, equally often, and a ratio is the median of the ratios of the rounds. Peak memory is measured
in a round that is not timed, in which all processes are looked at every few milliseconds. Their memory is their
anonymous pages, shared ones counted once, and the pages of files that they map, counted for each process.

*One module.* The time of one process of each program, with the base, in turns.

If outputs differ, their figures are not printed and the exit status is 1. See bench.py for how processes are
measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

from tools.bench import bench
from tools.bench.bench import Failed, Row, Run
from tools.compare import modules
from tools.judge import oracle, reference


class Contest:
    """The programs on the modules of one kernel."""

    def __init__(self, base: Path, paths: list[Path], pybtf: list[str], folder: Path) -> None:
        self.base, self.paths, self.pybtf, self.folder = base, paths, pybtf, folder
        self.folders = 0
        self.environment = oracle.clean_environment()
        # An installed package has its bytecode. Without it, a process that cannot write it would compile each time.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        for name in ("pahole", "pybtf"):
            (folder / name).mkdir()

    def one_pahole(self, path: Path) -> Run:
        """One process of pahole, on one module."""
        out = self.folder / "pahole" / f"{path.name}.btf"
        options = [f"--btf_base={self.base}"]
        return bench.measure(oracle.command(oracle.USUAL, str(out), str(path), 1, options), out, self.environment)

    def one_hook(self, path: Path) -> Run:
        """One process of pybtf-pahole, on one module."""
        out = self.folder / "pybtf" / f"{path.name}.btf"
        hook = [*self.pybtf[:-1], f"{self.pybtf[-1]}-pahole"]
        options = [f"--btf_base={self.base}", f"--btf_encode_detached={out}", str(path)]
        return bench.measure([*hook, "-J", "-j1", f"--btf_features={oracle.USUAL}", *options], out, self.environment)

    def one_pybtf(self, path: Path) -> Run:
        """One process of `pybtf encode`, on one module."""
        out = self.folder / "pybtf" / f"{path.name}.btf"
        return bench.measure([*self.command(1), "--detached", str(out), str(path)], out, self.environment)

    def command(self, jobs: int) -> list[str]:
        return [*self.pybtf, "encode", "-q", "-j", str(jobs), "--base", str(self.base), "--features", oracle.USUAL]

    def build(self, jobs: int, one: Callable[[Path], Run]) -> Run:
        """Encodes all modules by one process each, so many at a time."""
        self.warm()
        start = time.perf_counter()
        with ThreadPoolExecutor(jobs) as pool:
            runs = list(pool.map(one, self.paths))
        return Run(time.perf_counter() - start, sum(run.cpu for run in runs), 0, "")

    def batch(self, jobs: int) -> Run:
        """Encodes all modules by one run of pybtf."""
        names, folder = self.folder / "modules.list", self.folder / "pybtf"
        names.write_text("".join(f"{path}\n" for path in self.paths))
        command = [*self.command(jobs), "--detached-dir", str(folder), "--from-list", str(names)]
        self.warm()
        return bench.measure(command, folder / f"{self.paths[0].name}.btf", self.environment)

    def warm(self) -> None:
        for path in [self.base, *self.paths]:
            bench.warm(path)

    def check(self) -> None:
        """Checks that all outputs exist and that those of pybtf are the same as pahole's. The next ones of pybtf go to
        a new folder.

        :raises Failed: an output is missing or differs.
        """
        for path in self.paths:
            pair = [self.folder / name / f"{path.name}.btf" for name in ("pahole", "pybtf")]
            if pair[0].read_bytes() != pair[1].read_bytes():
                raise Failed(f"{path.name}: the output is not pahole's")
        self.put_away("pybtf")

    def put_away(self, name: str) -> None:
        """Moves the outputs away, so that the next ones go to a new folder: some file systems take longer to make files
        where others have just been deleted.
        """
        self.folders += 1
        folder = self.folder / name
        folder.rename(self.folder / f"{name}-{self.folders}")
        folder.mkdir()


def many(contest: Contest, jobs: int, rounds: int) -> dict[str, Row]:
    """Compares pahole's build with pybtf's batch and with a build with pybtf-pahole."""
    theirs, batches, builds = [], [], []
    for _ in range(rounds):
        theirs.append(contest.build(jobs, contest.one_pahole))
        batches.append(contest.batch(jobs))
        contest.check()
        builds.append(contest.build(jobs, contest.one_hook))
        contest.check()
        contest.put_away("pahole")
    peaks = [
        peak_of(lambda: contest.build(jobs, contest.one_pahole)),
        peak_of(lambda: contest.batch(jobs)),
        peak_of(lambda: contest.build(jobs, contest.one_hook)),
    ]
    runs = [
        [replace(run, peak=peak) for run in each] for each, peak in zip((theirs, batches, builds), peaks, strict=True)
    ]
    return {"batch": Row.of(runs[0], runs[1]), "build": Row.of(runs[0], runs[2])}


def peak_of(work: Callable[[], object]) -> float:
    """Peak in MiB of the memory of all processes that `work` starts; see the start of this file."""
    thread = threading.Thread(target=work)
    thread.start()
    peak = 0
    while thread.is_alive():
        peak = max(peak, sum(map(in_memory, descendants(os.getpid()))))
        time.sleep(0.002)
    thread.join()
    return peak / 1024


def descendants(pid: int) -> list[int]:
    """All descendants of a process that still exist."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            below = [int(word) for word in task.read_text().split()]
            found += below + [deeper for child in below for deeper in descendants(child)]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        pass
    return found


def in_memory(pid: int) -> int:
    """KiB of a process: its share of the anonymous pages, and all pages of files that it maps. 0 if it has ended."""
    wanted = (("smaps_rollup", b"Pss_Anon:"), ("smaps_rollup", b"Pss_Shmem:"), ("status", b"RssFile:"))
    try:
        texts = {name: Path(f"/proc/{pid}/{name}").read_bytes().splitlines() for name in ("smaps_rollup", "status")}
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for name, key in wanted for line in texts[name] if line.startswith(key))


def alone(contest: Contest, path: Path, rounds: int, one: Callable[[Path], Run]) -> Row:
    """pahole and a program of pybtf on one module, in turns."""
    theirs, ours = [], []
    for _ in range(rounds):
        bench.warm(path)
        theirs.append(contest.one_pahole(path))
        ours.append(one(path))
        if theirs[-1].digest != ours[-1].digest:
            raise Failed(f"{path.name}: the output is not pahole's")
    return Row.of(theirs, ours)


HEAD = f"{'':<28} {'wall s':>7} {'(spread)':>13} {'CPU s':>7} {'peak MiB':>9}   to pahole"


def show(label: str, row: Row) -> str:
    """Two lines of the table. Ratios: how many times faster, and what part of the memory."""
    lines = []
    for name, figures in (("pahole", row.pahole), (label, row.pybtf)):
        spread = f"{figures.fastest:.2f}-{figures.slowest:.2f}"
        lines.append(f"{name:<28} {figures.wall:7.2f} {spread:>13} {figures.cpu:7.2f} {figures.peak:9.0f}")
    lines[1] += f"   {row.wall:.1f} x as fast ({row.least:.1f}-{row.most:.1f}), CPU {row.cpu:.1f} x, "
    lines[1] += f"{row.memory:.2f} x the memory"
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """The whole benchmark: prints the table and returns the exit status."""
    base = modules.base_file(options.kernel)
    paths = modules.spread(reference.modules(options.kernel), options.modules or (100 if options.quick else 300))
    pybtf = shlex.split(options.pybtf) if options.pybtf else bench.pybtf_command()
    rounds = options.rounds or (1 if options.quick else 5)
    middle = sorted(paths, key=lambda path: path.stat().st_size)[len(paths) // 2]
    total = sum(path.stat().st_size for path in paths)
    print(f"{options.kernel}: {len(paths)} modules ({total >> 20} MiB), {len(os.sched_getaffinity(0))} CPUs")
    print(f"pahole {reference.pahole_versions()['version']}, one process per module, {options.jobs} at a time")
    print(HEAD, flush=True)
    record: dict[str, object] = {"kernel": options.kernel, "modules": len(paths), "jobs": options.jobs}
    with tempfile.TemporaryDirectory(prefix="pybtf-bench-", dir=options.scratch) as folder:
        contest = Contest(base, paths, pybtf, Path(folder))
        rows = many(contest, options.jobs, rounds)
        singles = max(7, 2 * rounds)
        table = {
            f"{len(paths)}: pybtf encode, batch": rows["batch"],
            f"{len(paths)}: pybtf-pahole, each": rows["build"],
            f"{middle.name}: pybtf encode": alone(contest, middle, singles, contest.one_pybtf),
            f"{middle.name}: pybtf-pahole": alone(contest, middle, singles, contest.one_hook),
        }
        for label, row in table.items():
            print(show(label, row), flush=True)
            record[label] = asdict(row)
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 modules, one round")
    parser.add_argument("--kernel", default="6.1-amd64", choices=list(reference.KERNELS))
    parser.add_argument("--modules", type=int, metavar="N", help="so many, spread evenly over all")
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N", help="of both programs (default 2)")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--pybtf", help="the command that runs pybtf (default: the one of this interpreter)")
    parser.add_argument("--scratch", type=Path, help="folder for the outputs (default: the system's)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    try:
        return run(parser.parse_args())
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
    except Failed as error:
        print(f"failed: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
