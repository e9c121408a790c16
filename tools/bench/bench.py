"""Measures pybtf against pahole on real kernels: wall time, CPU time, peak memory.

    python -m tools.bench.bench              all kernels of KERNELS, -j 1, 2; 5 rounds
    python -m tools.bench.bench --quick      three kernels; 2 rounds
    python -m tools.bench.bench --json F     the figures also go to F, which tools/bench/bench_chart.py draws

The whole process is measured, as a kernel build starts it: interpreter, imports, decoding, de-duplication, writing a
detached file. Rust units are left out, as in kernel builds; `+rust` after the name of a kernel includes them. The two
programs take turns (A B A B ...), so changes in the machine's speed affect both, and a ratio is the median of the
ratios of the rounds. Every output is compared with pahole's. If it differs, its figures are not printed and the exit
status is 1; also if a kernel is not available. A line for each kernel says how many units and types are kept. The last
lines are the table of all kernels and its worst figures.

Peak memory is `ru_maxrss` of the process, from wait4. That counter does not start at zero: Linux carries over the peak
of the memory image that exec replaces, which is that of this program. So this program stays small (it never keeps a
file in memory), and prints the minimum: what a process that does nothing reports.
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

from tools.judge import oracle, reference


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


@dataclass(frozen=True)
class Row:
    """Both programs at one number of jobs. Ratios are the medians of the rounds' ratios: how many times faster pybtf
    is, and how much of pahole's memory it takes.
    """

    pahole: Figures
    pybtf: Figures
    wall: float
    least: float
    most: float
    cpu: float
    memory: float

    @classmethod
    def of(cls, theirs: list[Run], ours: list[Run]) -> Row:
        pairs = list(zip(theirs, ours, strict=True))
        walls = [a.wall / b.wall for a, b in pairs]
        cpu = statistics.median(a.cpu / b.cpu for a, b in pairs)
        memory = statistics.median(b.peak / a.peak for a, b in pairs)
        return cls(Figures.of(theirs), Figures.of(ours), statistics.median(walls), min(walls), max(walls), cpu, memory)


class Failed(Exception):
    """A measured program failed; the text says which and how."""


def digest_file(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def measure(argv: list[str], out: Path, environment: dict[str, str]) -> Run:
    """Runs a command that writes `out`.

    :raises Failed: its status is not 0, or there is no output.
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


def measure_plain(argv: list[str], output: str = os.devnull) -> tuple[float, float, float]:
    """Wall and CPU seconds, and peak MiB, of a command that prints to `output`. Its messages are discarded.

    :raises Failed: its status is not 0.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, environment, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status:
        raise Failed(f"{shlex.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cpu_model() -> str:
    """The processor, as /proc/cpuinfo names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return os.uname().machine


def warm(path: Path) -> None:
    """Reads a file once, so that the next run need not wait for the disk. This is done before each run, because a
    virtual machine may lose pages of its cache at any time.
    """
    with open(path, "rb", buffering=0) as handle:
        while handle.read(1 << 20):
            pass


def pybtf_command() -> list[str]:
    """pybtf as installed beside this interpreter, or else as its module."""
    script = Path(sys.executable).with_name("pybtf")
    return [str(script)] if script.exists() else [sys.executable, "-m", "pybtf"]


class Contest:
    """Both programs on one kernel with one feature list."""

    def __init__(self, kernel: Path, features: str, pybtf: list[str], folder: Path, without: str = "") -> None:
        """`without`: a language whose units are left out."""
        self.kernel, self.features, self.pybtf, self.folder = kernel, features, pybtf, folder
        self.without = without
        self.environment = oracle.clean_environment()
        if "PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        # An installed package has its bytecode. Without it, a process that cannot write it would compile each time.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def pahole(self, jobs: int) -> Run:
        out = self.folder / "pahole.btf"
        options = [f"--lang_exclude={self.without}"] if self.without else []
        warm(self.kernel)
        return measure(oracle.command(self.features, str(out), str(self.kernel), jobs, options), out, self.environment)

    def subject(self, jobs: int, report: Path | None = None) -> Run:
        out = self.folder / "pybtf.btf"
        options = ["--detached", str(out), "-j", str(jobs), "--features", self.features, "-q"]
        options += ["--lang-exclude", self.without] if self.without else []
        options += ["--report", str(report)] if report else []
        warm(self.kernel)
        return measure([*self.pybtf, "encode", *options, str(self.kernel)], out, self.environment)

    def rounds(self, jobs: int, count: int) -> Row:
        """The figures of both, which take turns.

        :raises Failed: a run fails, or an output of pybtf differs from pahole's.
        """
        theirs, ours = [], []
        for _ in range(count):
            theirs.append(self.pahole(jobs))
            ours.append(self.subject(jobs))
            if ours[-1].digest != theirs[-1].digest:
                raise Failed("the output is not pahole's")
        return Row.of(theirs, ours)


RUST = "+rust"
KERNELS = (
    "6.1-amd64", "6.1-full-amd64", "6.1-i386-pae", "6.12-amd64", "6.12-full-amd64", "6.12-arm64", "6.12-s390x",
    "6.12-riscv64", "6.12-ppc64el", "sid-amd64", "sid-amd64+rust", "sid-full-amd64", "sid-full-amd64+rust",
    "sid-arm64-16k", "sid-armhf-lpae",
)  # fmt: skip
QUICK_KERNELS = ("6.1-amd64", "6.1-i386-pae", "sid-amd64+rust")
HEAD = f"{'jobs':>4}  {'program':<8} {'wall s':>7} {'(spread)':>13} {'CPU s':>7} {'peak MiB':>9}   to pahole"
SUMMARY = f"{'kernel':<20} {'jobs':>4} {'wall':>7} {'(spread)':>15} {'CPU':>7} {'memory':>7}"


def show(jobs: int, row: Row) -> str:
    """Two lines of the table. Ratios: how many times faster, and what part of the memory."""
    lines = []
    for name, figures in (("pahole", row.pahole), ("pybtf", row.pybtf)):
        spread = f"{figures.fastest:.2f}-{figures.slowest:.2f}"
        lines.append(f"{jobs:>4}  {name:<8} {figures.wall:7.2f} {spread:>13} {figures.cpu:7.2f} {figures.peak:9.0f}")
    lines[1] += f"   {row.wall:.2f} x as fast, {row.memory:.2f} x the memory"
    return "\n".join(lines)


def summary(rows: list[tuple[str, int, Row]]) -> str:
    """The table of ratios of all kernels, and the worst of each column."""
    lines = [SUMMARY]
    for label, jobs, row in rows:
        spread = f"({row.least:.2f}-{row.most:.2f})"
        lines.append(f"{label:<20} {jobs:>4} {row.wall:7.2f} {spread:>15} {row.cpu:7.2f} {row.memory:7.2f}")
    for name, worst in (
        ("wall", min(rows, key=lambda each: each[2].wall)),
        ("CPU", min(rows, key=lambda each: each[2].cpu)),
        ("memory", max(rows, key=lambda each: each[2].memory)),
    ):
        label, jobs, row = worst
        lines.append(f"worst {name}: {getattr(row, name.lower()):.2f}, {label} -j{jobs}")
    return "\n".join(lines)


def report_of(contest: Contest) -> dict[str, Any]:
    """What `--report` says about one run with one worker."""
    path = contest.folder / "report.json"
    contest.subject(1, path)
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def passes(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Wall and CPU seconds of each pass."""
    rows = report["timings"]["passes"]
    return {row["name"]: {"wall": row["wall_seconds"], "cpu": row["cpu_seconds"]} for row in rows}


def kept(report: dict[str, Any]) -> str:
    """How much was dropped before de-duplication, in a line."""
    of = report["repeats"]
    return (
        f"{report['units']['encoded']:,} units, {of['types_before']:,} types: {of['types_compared']:,} compared; "
        f"{of['units_again']} units decoded again, {of['units_whole']} kept whole; {of['conflicts']} names conflict"
    )


def one_kernel(
    options: argparse.Namespace, label: str, kernel: Path, pybtf: list[str]
) -> tuple[dict[str, Any], list[tuple[str, int, Row]], int]:
    """Prints the table of one kernel line by line. Returns its record, its rows, and how many have no figures."""
    jobs = options.jobs or ([1, 2] if len(os.sched_getaffinity(0)) < 4 else [1, 2, 4])
    count = options.rounds or (2 if options.quick else 5)
    record: dict[str, Any] = {"rounds": count, "jobs": {}, **version_of(kernel)}
    rows = []
    failed = 0
    what = record.get("version", "")
    print(f"\n{label} {what} ({kernel.stat().st_size >> 20} MiB), medians of {count}", flush=True)
    print(HEAD, flush=True)
    without = "" if label.endswith(RUST) else "rust"
    with tempfile.TemporaryDirectory(prefix="pybtf-bench-", dir=options.scratch) as folder:
        contest = Contest(kernel, options.features, pybtf, Path(folder), without)
        for number in jobs:
            try:
                row = contest.rounds(number, count)
            except Failed as error:
                print(f"{number:>4}  no figures: {error}", flush=True)
                failed += 1
                continue
            print(show(number, row), flush=True)
            rows.append((label, number, row))
            record["jobs"][number] = asdict(row)
        report = report_of(contest)
        record["passes"] = passes(report)
        record["repeats"] = report["repeats"]
        print(kept(report), flush=True)
    return record, rows, failed


def version_of(kernel: Path) -> dict[str, str]:
    """The package a kernel came from and its version, if it came from one."""
    record = kernel.with_name("package.json")
    return dict(json.loads(record.read_text())) if record.exists() else {}


def starts(pybtf: list[str]) -> dict[str, float]:
    """Milliseconds for the answer to a build's most frequent question, and for an interpreter that does nothing."""
    asked = {
        "pybtf --version": [*pybtf, "--version"],
        "pybtf --help": [*pybtf, "--help"],
        "python3 -c pass": [sys.executable, "-c", "pass"],
    }
    return {
        name: statistics.median(measure_plain(command)[0] for _ in range(15)) * 1000 for name, command in asked.items()
    }


def run(options: argparse.Namespace) -> int:
    """The whole benchmark: prints the tables and returns the exit status."""
    pybtf = shlex.split(options.pybtf) if options.pybtf else pybtf_command()
    names = options.kernel or (QUICK_KERNELS if options.quick else KERNELS)
    failed = 0
    files = {str(options.file): options.file} if options.file else {}
    for name in () if options.file else names:
        try:
            files[name] = reference.kernel(name.removesuffix(RUST))
        except reference.Unavailable as reason:
            print(f"{name} is not measured: {reason}", file=sys.stderr)
            failed += 1
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
    table: list[tuple[str, int, Row]] = []
    for label, path in files.items():
        record["kernels"][label], rows, missing = one_kernel(options, label, path, pybtf)
        table += rows
        failed += missing
    record["starts"] = starts(pybtf)
    floor = measure_plain(["true"])[2]
    print("\n" + ", ".join(f"{name}: {ms:.0f} ms" for name, ms in record["starts"].items()) + " (medians of 15)")
    print(f"peak memory of a process that does nothing: {floor:.0f} MiB")
    if table:
        print("\n" + summary(table))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three kernels, two rounds")
    parser.add_argument("--kernel", nargs="+", metavar="NAME", help=f"of {' '.join(KERNELS)}")
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
