"""Measures pybtf against the reference on real kernels: wall time, CPU time, peak memory.

    python tools/bench.py              three kernels, -j 1, 2, 4; medians of 7 rounds
    python tools/bench.py --quick      one kernel, -j 1, 2; 2 rounds
    python tools/bench.py --json F     the figures also go to F, which tools/bench_chart.py draws

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
from typing import Any

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
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, environment, file_actions=[silent])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise Failed(f"{shlex.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def cpu_model() -> str:
    """The processor, as /proc/cpuinfo names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return os.uname().machine


def warm(path: Path) -> None:
    """Reads a file once, so that the next run does not pay for the disk. Before each: a virtual machine may lose pages
    of its cache at any time.
    """
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
        # What is installed has its bytecode; a process that may not write it must not pay for compiling each time.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def reference(self, jobs: int) -> Run:
        out = self.folder / "reference.btf"
        warm(self.kernel)
        return measure(oracle.command(self.features, str(out), str(self.kernel), jobs), out, self.environment)

    def subject(self, jobs: int) -> Run:
        out = self.folder / "pybtf.btf"
        options = ["--detached", str(out), "-j", str(jobs), "--features", self.features, "-q"]
        warm(self.kernel)
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


KERNELS = ("6.1-amd64", "6.12-amd64", "6.12-arm64")
QUICK_KERNELS = ("6.1-amd64",)
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


def passes(contest: Contest) -> dict[str, dict[str, float]]:
    """Wall and CPU seconds of each pass, one worker: what `--report` says of one run."""
    out, report = contest.folder / "passes.btf", contest.folder / "report.json"
    options = ["--detached", str(out), "--report", str(report), "-j1", "--features", contest.features, "-q"]
    measure([*contest.pybtf, "encode", *options, str(contest.kernel)], out, contest.environment)
    rows = json.loads(report.read_text())["timings"]["passes"]
    return {row["name"]: {"wall": row["wall_seconds"], "cpu": row["cpu_seconds"]} for row in rows}


def one_kernel(options: argparse.Namespace, label: str, kernel: Path, pybtf: list[str]) -> tuple[dict[str, Any], int]:
    """The table of one kernel, printed line by line; its record, and how many lines have no figures."""
    few = options.quick or len(os.sched_getaffinity(0)) < 4
    jobs = options.jobs or ([1, 2] if few else [1, 2, 4])
    count = options.rounds or (2 if options.quick else 7)
    record: dict[str, Any] = {"rounds": count, "jobs": {}}
    failed = 0
    print(f"\n{label} ({kernel.stat().st_size >> 20} MiB), medians of {count}", flush=True)
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="pybtf-bench-", dir=options.scratch) as folder:
        contest = Contest(kernel, options.features, pybtf, Path(folder))
        for number in jobs:
            try:
                theirs, ours = contest.rounds(number, count)
            except Failed as error:
                print(f"{number:>4}  no figures: {error}", flush=True)
                failed += 1
                continue
            print(show(number, theirs, ours), flush=True)
            record["jobs"][number] = {"pahole": asdict(theirs), "pybtf": asdict(ours)}
        record["passes"] = passes(contest)
    return record, failed


def starts(pybtf: list[str]) -> dict[str, float]:
    """Milliseconds to the answer of what a build asks most often, beside an interpreter that does nothing."""
    asked = {
        "pybtf --version": [*pybtf, "--version"],
        "pybtf --help": [*pybtf, "--help"],
        "python3 -c pass": [sys.executable, "-c", "pass"],
    }
    return {
        name: statistics.median(measure_plain(command)[0] for _ in range(15)) * 1000 for name, command in asked.items()
    }


def run(options: argparse.Namespace) -> int:
    """The whole benchmark; prints the tables, returns the exit status."""
    pybtf = shlex.split(options.pybtf) if options.pybtf else pybtf_command()
    names = options.kernel or (QUICK_KERNELS if options.quick else KERNELS)
    files = {str(options.file): options.file} if options.file else {name: reference.kernel(name) for name in names}
    version = reference.pahole_versions()["version"]
    print(f"{len(os.sched_getaffinity(0))} CPUs, {cpu_model()}; pahole {version} and pybtf in turns")
    print(f"features {options.features}")
    record: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "cpus": len(os.sched_getaffinity(0)),
        "cpu": cpu_model(),
        "python": sys.version.split()[0],
        "pahole": version,
        "features": options.features,
        "kernels": {},
    }
    failed = 0
    for label, path in files.items():
        record["kernels"][label], missing = one_kernel(options, label, path, pybtf)
        failed += missing
    record["starts"] = starts(pybtf)
    floor = measure_plain(["true"])[1]
    print("\n" + ", ".join(f"{name}: {ms:.0f} ms" for name, ms in record["starts"].items()) + " (medians of 15)")
    print(f"peak memory of a process that does nothing: {floor:.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one kernel, -j 1 and 2, two rounds")
    parser.add_argument("--kernel", nargs="+", choices=list(reference.KERNELS))
    parser.add_argument("--file", type=Path, help="another ELF file instead of kernels")
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
