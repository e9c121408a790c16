#!/usr/bin/env python3
"""Dump BTF as C with bpftool, and compile that: names, order and members must make sense to a compiler.

    python -m tools.compare.c_roundtrip [--base BASE] FILE...

FILE is raw BTF, or an ELF file with `.BTF`. For each file and each of gcc and clang one line says `compiles`,
`fails` with the first errors, or `skipped: ` and why. Exit status: 1 if anything fails, else 0.

What it takes for a good kernel's BTF to compile was found with pahole's output for Linux 6.1 and 6.12 on
x86-64, arm64, 32-bit arm and s390x (bpftool 7.1, gcc 12, clang 14): no preamble, but two flags.
- `-std=gnu11`, the kernel's own language: kernels define `bool`, `false` and `true`, keywords since C23.
- `-w`: the attribute `preserve_access_index` that bpftool puts on every struct is known only for BPF.
The compiler's target need not be that of the BTF, as no size is asserted.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from enum import Enum
from pathlib import Path
from typing import NamedTuple

COMPILERS = ("gcc", "clang")
FLAGS = ("-std=gnu11", "-w", "-fsyntax-only")
ERRORS_SHOWN = 5


class Verdict(Enum):
    COMPILES = "compiles"
    FAILS = "fails"
    SKIPPED = "skipped"


class Outcome(NamedTuple):
    """What a compiler made of the C. `detail`: why not, the first errors."""

    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.detail}" if self.detail else self.verdict.value


def dump_c(path: str, base: str | None = None) -> str:
    """The BTF of a file as C. Raises CalledProcessError, with bpftool's reason in `stderr`."""
    command = ["bpftool", *(["-B", base] if base else []), "btf", "dump", "file", path, "format", "c"]
    return subprocess.run(command, capture_output=True, text=True, check=True, errors="surrogateescape").stdout


def compile_c(source: str, compiler: str) -> Outcome:
    """Check the syntax of C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "btf.c"
        path.write_text(source, errors="surrogateescape")
        result = subprocess.run([compiler, *FLAGS, path.name], cwd=folder, capture_output=True, text=True)
    if result.returncode == 0:
        return Outcome(Verdict.COMPILES)
    errors = [line for line in result.stderr.splitlines() if "error:" in line] or result.stderr.splitlines()
    return Outcome(Verdict.FAILS, "\n    ".join([f"{len(errors)} errors", *errors[:ERRORS_SHOWN]]))


def c_roundtrip(path: str, base: str | None = None) -> dict[str, Outcome]:
    """Dump and compile; the outcomes by compiler."""
    if shutil.which("bpftool") is None:
        return dict.fromkeys(COMPILERS, Outcome(Verdict.SKIPPED, "bpftool is not installed"))
    try:
        source = dump_c(path, base)
    except subprocess.CalledProcessError as error:
        return dict.fromkeys(COMPILERS, Outcome(Verdict.FAILS, f"bpftool: {error.stderr.strip()}"))
    if not source.strip():
        return dict.fromkeys(COMPILERS, Outcome(Verdict.FAILS, "bpftool wrote nothing"))
    return {
        compiler: compile_c(source, compiler)
        if shutil.which(compiler)
        else Outcome(Verdict.SKIPPED, f"{compiler} is not installed")
        for compiler in COMPILERS
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Dump BTF as C with bpftool, and compile that.")
    parser.add_argument("--base", help="what split BTF builds on")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.files:
        for compiler, outcome in c_roundtrip(path, arguments.base).items():
            print(f"{path}: {compiler}: {outcome}")
            failed |= outcome.verdict is Verdict.FAILS
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
