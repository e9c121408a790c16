"""Measures pybtf against the reference on a real kernel: wall time, CPU time, peak memory.

    python tools/bench.py              -j 1, 2, 4; medians of 5 rounds
    python tools/bench.py --quick      -j 1, 2; medians of 3 rounds

What is measured is the whole process, as a kernel build would start it: interpreter, imports, decoding,
de-duplication, writing a detached file. The two programs run in turns (A B A B ...), so that a change of the
machine's pace meets both. Every output is compared with the reference's; a figure whose output differs is not
printed, and the exit status is 1.

Peak memory is `ru_maxrss` of the process, from wait4. That counter does not start at zero: Linux carries over
the peak of the memory image that exec replaces, which is this program's own. So this program stays small (it
never holds a file), and prints the floor that a process doing nothing reports.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import oracle
import reference


@dataclass(frozen=True)
class Run:
    """One run of a program: seconds, seconds of CPU, peak memory in MiB, digest of the output."""

    wall: float
    cpu: float
    peak: float
    digest: str


@dataclass(frozen=True)
class Figures:
    """Medians of several runs, and the spread of the wall time."""

    wall: float
    fastest: float
    slowest: float
    cpu: float
    peak: float

    @classmethod
    def of(cls, runs: list[Run]) -> Figures:
        walls = [run.wall for run in runs]
        cpu = statistics.median(run.cpu for run in runs)
        peak = statistics.median(run.peak for run in runs)
        return cls(statistics.median(walls), min(walls), max(walls), cpu, peak)


class Failed(Exception):
    """A measured program did not end well; the text says which and how."""


def digest_file(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def measure(argv: list[str], out: Path, environment: dict[str, str]) -> Run:
    """Runs a command that writes `out`.

    :raises Failed: it ends with another status than 0, or without an output.
    """
    out.unlink(missing_ok=True)
    log = out.with_suffix(".log")
    to_log = (os.POSIX_SPAWN_OPEN, 2, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    start = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, environment, file_actions=[to_log])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status or not out.exists():
        said = log.read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed(f"{shlex.join(argv)}: status {os.waitstatus_to_exitcode(status)}: {' '.join(said)}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, digest_file(out))


def measure_plain(argv: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of a command whose output does not matter."""
    silent = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    start = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, dict(os.environ), file_actions=[silent])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise Failed(f"{shlex.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def warm(path: Path) -> None:
    """Reads a file once, so that the first run does not pay for the disk."""
    with open(path, "rb", buffering=0) as handle:
        while handle.read(1 << 20):
            pass


def pybtf_command() -> list[str]:
    """pybtf as installed beside this interpreter, else as a module of it."""
    script = Path(sys.executable).with_name("pybtf")
    return [str(script)] if script.exists() else [sys.executable, "-m", "pybtf"]


class Contest:
    """Both programs on one kernel with one feature list."""

    def __init__(self, kernel: Path, features: str, pybtf: list[str], folder: Path) -> None:
        self.kernel, self.features, self.pybtf, self.folder = kernel, features, pybtf, folder
        self.environment = oracle.clean_environment()
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def reference(self, jobs: int) -> Run:
        out = self.folder / "reference.btf"
        return measure(oracle.command(self.features, str(out), str(self.kernel), jobs), out, self.environment)

    def subject(self, jobs: int) -> Run:
        out = self.folder / "pybtf.btf"
        options = ["--detached", str(out), "-j", str(jobs), "--features", self.features, "-q"]
        return measure([*self.pybtf, "encode", *options, str(self.kernel)], out, self.environment)

    def rounds(self, jobs: int, count: int) -> tuple[Figures, Figures]:
        """Medians of both, in turns.

        :raises Failed: a run fails, or an output of pybtf is not that of the reference.
        """
        theirs, ours = [], []
        for _ in range(count):
            theirs.append(self.reference(jobs))
            ours.append(self.subject(jobs))
            if ours[-1].digest != theirs[-1].digest:
                raise Failed("the output is not the reference's")
        return Figures.of(theirs), Figures.of(ours)


HEAD = f"{'jobs':>4}  {'program':<8} {'wall s':>7} {'(spread)':>13} {'CPU s':>7} {'peak MiB':>9}   to pahole"


def show(jobs: int, theirs: Figures, ours: Figures) -> str:
    """Two lines of the table. Ratios: how many times faster, and which part of the memory."""
    lines = []
    for name, figures in (("pahole", theirs), ("pybtf", ours)):
        spread = f"{figures.fastest:.2f}-{figures.slowest:.2f}"
        lines.append(
            f"{jobs:>4}  {name:<8} {figures.wall:7.2f} {spread:>13} {figures.cpu:7.2f} {figures.peak:9.0f}"
        )
    speed, memory = theirs.wall / ours.wall, ours.peak / theirs.peak
    lines[1] += f"   {speed:.2f} x as fast, {memory:.2f} x the memory"
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """The whole benchmark; prints the table, returns the exit status."""
    kernel = options.file or reference.kernel(options.kernel)
    pybtf = shlex.split(options.pybtf) if options.pybtf else pybtf_command()
    jobs = options.jobs or ([1, 2] if options.quick else [1, 2, 4])
    count = options.rounds or (3 if options.quick else 5)
    label = kernel.name if options.file else options.kernel
    cpus = len(os.sched_getaffinity(0))
    print(f"{label} ({kernel.stat().st_size >> 20} MiB), {cpus} CPUs, medians of {count}")
    print(f"features {options.features}, reference {reference.pahole_versions()['version']}", flush=True)
    record: dict[str, object] = {"kernel": label, "features": options.features, "rounds": count, "jobs": {}}
    failed = 0
    warm(kernel)
    with tempfile.TemporaryDirectory(prefix="pybtf-bench-", dir=options.scratch) as folder:
        contest = Contest(kernel, options.features, pybtf, Path(folder))
        print(HEAD, flush=True)
        for number in jobs:
            try:
                theirs, ours = contest.rounds(number, count)
            except Failed as error:
                print(f"{number:>4}  no figures: {error}", flush=True)
                failed += 1
                continue
            print(show(number, theirs, ours), flush=True)
            record["jobs"] |= {number: {"pahole": asdict(theirs), "pybtf": asdict(ours)}}  # type: ignore[operator]
    starts = [measure_plain([*pybtf, "--version"])[0] for _ in range(9)]
    floor = measure_plain(["true"])[1]
    print(f"pybtf --version: {statistics.median(starts) * 1000:.0f} ms (median of {len(starts)})")
    print(f"peak memory of a process that does nothing: {floor:.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="-j 1 and 2, three rounds")
    parser.add_argument("--kernel", default="6.1-amd64", choices=list(reference.KERNELS))
    parser.add_argument("--file", type=Path, help="another ELF file instead of a kernel")
    parser.add_argument("--features", default=oracle.USUAL)
    parser.add_argument("--jobs", nargs="+", type=int)
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
