"""Measures the commands that look at BTF: `pybtf dump`, `show`, `size` and `duplicates` against bpftool and pahole.

    python -m tools.bench.bench_show [--rounds N] [KERNEL...]

Each row is a whole process on the kernel's BTF in a separate file. The two programs take turns. Their outputs are
compared, and a row whose outputs differ has no figures. The figures are the medians of wall time, CPU time and peak
memory. `size` and `duplicates` have no counterpart. Exit status: 1 if an output differs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pybtf.elf.image import ElfImage
from tools.bench.bench import Failed, measure_plain, pybtf_command
from tools.judge import reference

KERNELS = ("6.1-amd64",)


@dataclass(frozen=True)
class Row:
    """One comparison: the arguments of pybtf, and the other program with its arguments (none: there is no other)."""

    name: str
    ours: list[str]
    judge: str = ""
    theirs: tuple[str, ...] = ()


def rows(path: str) -> list[Row]:
    return [
        Row("dump --format c", ["dump", path], "bpftool", ("btf", "dump", "file", path, "format", "c")),
        Row("dump --format raw", ["dump", "--format", "raw", path], "bpftool", ("btf", "dump", "file", path)),
        Row("dump --format json", ["dump", "--format", "json", path], "bpftool", ("-j", "btf", "dump", "file", path)),
        Row("show task_struct", ["show", "task_struct", path], "pahole", ("-F", "btf", "-C", "task_struct", path)),
        Row("show -E task_struct", ["show", "-E", "task_struct", path], "pahole",
            ("-F", "btf", "-E", "-C", "task_struct", path)),
        Row("show -R task_struct", ["show", "-R", "task_struct", path], "pahole",
            ("-F", "btf", "-R", "-C", "task_struct", path)),
        Row("all structs (pybtf-pahole)", ["pahole", path], "pahole", ("-F", "btf", path)),
        Row("show -P, all structs", ["show", "-P", path]),
        Row("size", ["size", path]),
        Row("size --html", ["size", "--html", "-", path]),
        Row("duplicates", ["duplicates", path]),
    ]  # fmt: skip


def command(row: Row) -> list[str]:
    program = pybtf_command()
    if row.ours[0] == "pahole":
        return [f"{program[0]}-pahole", "-F", "btf", *row.ours[1:]]
    return [*program, *row.ours]


def same(row: Row, ours: str, theirs: str) -> bool:
    """Runs in a child process, because the peak memory of a program includes that of the one that starts it."""
    child = os.fork()
    if child == 0:
        left, right = Path(ours).read_bytes(), Path(theirs).read_bytes()
        os._exit(0 if left == right or ("json" in row.name and json.loads(left) == json.loads(right)) else 1)
    return os.waitpid(child, 0)[1] == 0


def compare(row: Row, folder: str, rounds: int) -> bool:
    ours, theirs = f"{folder}/ours", f"{folder}/theirs"
    mine, other = [], []
    judges = {"pahole": reference.pahole, "bpftool": reference.bpftool}
    for turn in range(rounds + 1):
        mine.append(measure_plain(command(row), ours))
        if row.judge:
            other.append(measure_plain([*judges[row.judge](), *row.theirs], theirs))
            if turn == 0 and not same(row, ours, theirs):
                print(f"{row.name:28} the outputs differ")
                return False
    figures = [statistics.median(run[at] for run in mine[1:]) for at in range(3)]
    text = f"{row.name:28} pybtf {figures[0]:6.3f} s, {figures[1]:6.3f} s of CPU, {figures[2]:5.0f} MiB"
    if other:
        others = [statistics.median(run[at] for run in other[1:]) for at in range(3)]
        text += f"; {row.judge} {others[0]:6.3f} s, {others[1]:6.3f} s of CPU, {others[2]:5.0f} MiB"
    print(text, flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    options = parser.parse_args()
    good = True
    for name in options.kernels:
        path = Path(name) if Path(name).exists() else reference.kernel(name)
        with tempfile.TemporaryDirectory() as folder:
            btf = Path(folder, "vmlinux.btf")
            with ElfImage.open(path) as image:
                section = image.section(".BTF")
                if section is None:
                    raise SystemExit(f"{path}: no .BTF")
                data = bytes(image.data(section))
            btf.write_bytes(data)
            print(f"{name}: {len(data):,} bytes of BTF")
            for row in rows(str(btf)):
                good = compare(row, folder, options.rounds) and good
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"failed: {error}")
