"""Measures pybtf against the reference on the modules of a kernel: a batch, and one module alone.

    python tools/bench_modules.py              300 modules, medians of 7 rounds
    python tools/bench_modules.py --quick      100 modules, one round

*The batch.* A kernel build encodes its modules by one process of the reference each, as many at a time as it has jobs:
so does `--jobs` threads here, which start one process after the other. pybtf gets the same modules as one list. Both
write detached files into a folder; all files of both are compared. The reference takes a quarter of a minute, in which
the pace of the machine evens out; pybtf takes half a second, which may be a good or a bad one. So pybtf is run several
times in each round. Peak memory of the reference is that of its largest
process times the jobs, since so many run at a time. pybtf's processes share most of theirs. So there is a round that is
not timed, in which they are looked at every few milliseconds: what they have in memory together is their anonymous
pages, those they share counted once, and the pages of files that each maps, which are counted for each, as they are for
the reference's.

*One module.* The time of a process, of both, with the base, in turns.

Figures of outputs that are not the same are not printed, and the exit status is 1. See bench.py for how processes are
measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import bench
import modules
import oracle
import reference
from bench import Failed, Figures, Run

SHORT = 3
"""Runs of pybtf in each round of a batch."""


class Contest:
    """Both programs on the modules of one kernel."""

    def __init__(self, base: Path, paths: list[Path], pybtf: list[str], folder: Path) -> None:
        self.base, self.paths, self.pybtf, self.folder = base, paths, pybtf, folder
        self.folders = 0
        self.environment = oracle.clean_environment()
        # What is installed has its bytecode; a process that may not write it must not pay for compiling each time.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        for name in ("reference", "pybtf"):
            (folder / name).mkdir()

    def one_reference(self, path: Path) -> Run:
        """One process of the reference, on one module."""
        out = self.folder / "reference" / f"{path.name}.btf"
        options = [f"--btf_base={self.base}"]
        return bench.measure(oracle.command(oracle.USUAL, str(out), str(path), 1, options), out, self.environment)

    def one_pybtf(self, path: Path) -> Run:
        """One process of pybtf, on one module."""
        out = self.folder / "pybtf" / f"{path.name}.btf"
        return bench.measure([*self.command(1), "--detached", str(out), str(path)], out, self.environment)

    def command(self, jobs: int) -> list[str]:
        return [*self.pybtf, "encode", "-q", "-j", str(jobs), "--base", str(self.base), "--features", oracle.USUAL]

    def reference(self, jobs: int) -> Run:
        """All modules by the reference, so many processes at a time."""
        self.warm()
        start = time.perf_counter()
        with ThreadPoolExecutor(jobs) as pool:
            runs = list(pool.map(self.one_reference, self.paths))
        wall = time.perf_counter() - start
        return Run(wall, sum(run.cpu for run in runs), jobs * max(run.peak for run in runs), "")

    def subject(self, jobs: int) -> Run:
        """All modules by one run of pybtf. Its peak is that of its largest process."""
        folder = self.folder / "pybtf"
        self.warm()
        return bench.measure(self.batch_command(jobs), folder / f"{self.paths[0].name}.btf", self.environment)

    def batch_command(self, jobs: int) -> list[str]:
        names, folder = self.folder / "modules.list", self.folder / "pybtf"
        names.write_text("".join(f"{path}\n" for path in self.paths))
        return [*self.command(jobs), "--detached-dir", str(folder), "--from-list", str(names)]

    def warm(self) -> None:
        for path in [self.base, *self.paths]:
            bench.warm(path)

    def check(self) -> None:
        """All outputs are there, and those of pybtf are those of the reference. The next of pybtf go to a new folder.

        :raises Failed: they are not.
        """
        for path in self.paths:
            pair = [self.folder / name / f"{path.name}.btf" for name in ("reference", "pybtf")]
            if pair[0].read_bytes() != pair[1].read_bytes():
                raise Failed(f"{path.name}: the output is not the reference's")
        self.put_away("pybtf")

    def put_away(self, name: str) -> None:
        """The next outputs go to a new folder: some file systems take longer to make files where others have just been
        deleted.
        """
        self.folders += 1
        folder = self.folder / name
        folder.rename(self.folder / f"{name}-{self.folders}")
        folder.mkdir()


def batch(contest: Contest, jobs: int, rounds: int) -> tuple[Figures, Figures]:
    """Medians of both, in turns."""
    theirs, ours = [], []
    for _ in range(rounds):
        theirs.append(contest.reference(jobs))
        for _ in range(SHORT):
            ours.append(contest.subject(jobs))
            contest.check()
        contest.put_away("reference")
    peak = peak_of_all(contest.batch_command(jobs), contest.environment)
    return Figures.of(theirs), replace(Figures.of(ours), peak=peak)


def peak_of_all(argv: list[str], environment: dict[str, str]) -> float:
    """Peak in MiB of what a command and the processes it starts have in memory together, see the head of this file.

    :raises Failed: it ends with another status than 0.
    """
    child = os.posix_spawnp(argv[0], argv, environment)
    peak = 0
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        peak = max(peak, sum(map(in_memory, [child, *children(child)])))
        time.sleep(0.002)
    if ended[1]:
        raise Failed(f"{shlex.join(argv)}: status {os.waitstatus_to_exitcode(ended[1])}")
    return peak / 1024


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def in_memory(pid: int) -> int:
    """KiB of a process: its part of the anonymous pages, and all of the files it maps. 0 if it has ended."""
    wanted = (("smaps_rollup", b"Pss_Anon:"), ("smaps_rollup", b"Pss_Shmem:"), ("status", b"RssFile:"))
    try:
        texts = {name: Path(f"/proc/{pid}/{name}").read_bytes().splitlines() for name in ("smaps_rollup", "status")}
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for name, key in wanted for line in texts[name] if line.startswith(key))


def alone(contest: Contest, path: Path, rounds: int) -> tuple[Figures, Figures]:
    """Medians of both on one module, in turns."""
    theirs, ours = [], []
    for _ in range(rounds):
        bench.warm(path)
        theirs.append(contest.one_reference(path))
        ours.append(contest.one_pybtf(path))
        if theirs[-1].digest != ours[-1].digest:
            raise Failed(f"{path.name}: the output is not the reference's")
    return Figures.of(theirs), Figures.of(ours)


HEAD = f"{'':<22} {'program':<8} {'wall s':>7} {'(spread)':>13} {'CPU s':>7} {'peak MiB':>9}   to pahole"


def show(label: str, theirs: Figures, ours: Figures) -> str:
    """Two lines of the table. Ratios: how many times faster, and which part of the memory."""
    lines = []
    for name, figures in (("pahole", theirs), ("pybtf", ours)):
        spread = f"{figures.fastest:.2f}-{figures.slowest:.2f}"
        lines.append(
            f"{label:<22} {name:<8} {figures.wall:7.2f} {spread:>13} {figures.cpu:7.2f} {figures.peak:9.0f}"
        )
    lines[1] += f"   {theirs.wall / ours.wall:.1f} x as fast, {ours.peak / theirs.peak:.2f} x the memory"
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """The whole benchmark; prints the table, returns the exit status."""
    base = modules.base_file(options.kernel)
    paths = modules.spread(reference.modules(options.kernel), options.modules or (100 if options.quick else 300))
    pybtf = shlex.split(options.pybtf) if options.pybtf else bench.pybtf_command()
    rounds = options.rounds or (1 if options.quick else 7)
    middle = sorted(paths, key=lambda path: path.stat().st_size)[len(paths) // 2]
    total = sum(path.stat().st_size for path in paths)
    print(f"{options.kernel}: {len(paths)} modules ({total >> 20} MiB), {len(os.sched_getaffinity(0))} CPUs")
    print(f"reference {reference.pahole_versions()['version']}, one process per module, {options.jobs} at a time")
    print(HEAD, flush=True)
    record: dict[str, object] = {"kernel": options.kernel, "modules": len(paths), "jobs": options.jobs}
    with tempfile.TemporaryDirectory(prefix="pybtf-bench-", dir=options.scratch) as folder:
        contest = Contest(base, paths, pybtf, Path(folder))
        for label, figures in (
            (f"{len(paths)} modules", batch(contest, options.jobs, rounds)),
            (f"one, {middle.name}"[:22], alone(contest, middle, max(7, 2 * rounds))),
        ):
            print(show(label, *figures), flush=True)
            record[label] = {"pahole": asdict(figures[0]), "pybtf": asdict(figures[1])}
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
