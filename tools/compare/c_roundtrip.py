#!/usr/bin/env python3
"""Dumps BTF as C and compiles it: names, order and members must make sense to a compiler.

    python -m tools.compare.c_roundtrip [--base BASE] FILE...            the header of bpftool
    python -m tools.compare.c_roundtrip --pybtf [--base BASE] FILE...    the header of `pybtf dump`, and its layouts

FILE is raw BTF, or an ELF file with `.BTF`. For each file and each of gcc and clang one line says `compiles`,
`fails` with the first errors, or `skipped: ` and why. Exit status: 1 if anything fails, else 0.

A good kernel's BTF compiles without a preamble, but needs two flags. This was found with pahole's output for Linux 6.1
and 6.12 on x86-64, arm64, 32-bit arm and s390x (bpftool 7.1, gcc 12, clang 14).
- `-std=gnu11`, the kernel's own language: kernels define `bool`, `false` and `true`, keywords since C23.
- `-w`: the attribute `preserve_access_index` that bpftool puts on every struct is known only for BPF.
The compiler's target need not be that of the BTF, because no size is asserted. With --pybtf, the BTF should be for this
machine: gcc says how many sizes and offsets of uniquely named structs are as in the BTF. Some are not: BTF has no
alignment, and C has no members that overlap or are outside their struct, as in Rust and C++.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from pybtf.btf.opening import open_view
from pybtf.btf.reader import BTF
from pybtf.btf.types import Composite, Enumeration
from pybtf.core.dump.dump_c_names import c_names
from pybtf.core.dump.dump_header import dump_header
from pybtf.errors import InputError

COMPILERS = ("gcc", "clang")
FLAGS = ("-std=gnu11", "-w", "-fsyntax-only")
ERRORS_SHOWN = 5


class Verdict(Enum):
    COMPILES = "compiles"
    FAILS = "fails"
    SKIPPED = "skipped"


class Outcome(NamedTuple):
    """What a compiler says about the C. `detail`: the reason, the first errors."""

    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.detail}" if self.detail else self.verdict.value


def dump_c(path: str, base: str | None = None) -> str:
    """The BTF of a file as C. Raises CalledProcessError, with bpftool's reason in `stderr`."""
    command = ["bpftool", *(["-B", base] if base else []), "btf", "dump", "file", path, "format", "c"]
    return subprocess.run(command, capture_output=True, text=True, check=True, errors="surrogateescape").stdout


def dump_pybtf(path: str, base: str | None = None) -> str:
    """The same by `pybtf dump`. Raises InputError."""
    return dump_header(open_view(path, base)).decode(errors="surrogateescape")


def claims(path: str, base: str | None, source: str) -> list[str]:
    """Assertions in C about sizes and offsets of the structs and unions that a header defines, a line for each."""
    other, _, _ = c_names(open_view(path, base), 1 << 40, True)
    below = BTF.from_file(base) if base else None
    types = BTF.from_bytes(other.data) if other else [*(below or ()), *BTF.from_file(path, base=below)]
    tagged = [type for type in types if isinstance(type, (Composite, Enumeration)) and type.name]
    times = Counter(type.name for type in tagged)
    found = []
    for type in tagged:
        tag = f"{type.kind.name.lower()} {type.name}"
        if isinstance(type, Composite) and times[type.name] == 1 and f"\n{tag} {{" in source:
            found.append(f'_Static_assert(sizeof({tag}) == {type.size}, "");')
            for member in type.members:
                if member.name and not member.bitfield_size:
                    place = f"__builtin_offsetof({tag}, {member.name})"
                    found.append(f'_Static_assert({place} == {member.bit_offset // 8}, "");')
    return found


def layouts(path: str, base: str | None, source: str) -> str:
    """How many of the assertions hold for gcc."""
    asserted = claims(path, base, source)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "btf.c"
        file.write_text("\n".join([source, *asserted]), errors="surrogateescape")
        command = ["gcc", *FLAGS, "-fmax-errors=0", file.name]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return f"{len(asserted)} sizes and offsets, {result.stderr.count(' error: static assertion')} differ"


def compile_c(source: str, compiler: str) -> Outcome:
    """Checks the syntax of C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "btf.c"
        path.write_text(source, errors="surrogateescape")
        result = subprocess.run([compiler, *FLAGS, path.name], cwd=folder, capture_output=True, text=True)
    if result.returncode == 0:
        return Outcome(Verdict.COMPILES)
    errors = [line for line in result.stderr.splitlines() if "error:" in line] or result.stderr.splitlines()
    return Outcome(Verdict.FAILS, "\n    ".join([f"{len(errors)} errors", *errors[:ERRORS_SHOWN]]))


def c_roundtrip(path: str, base: str | None = None, pybtf: bool = False) -> dict[str, Outcome]:
    """Dumps and compiles; returns the outcomes by compiler."""
    if not pybtf and shutil.which("bpftool") is None:
        return dict.fromkeys(COMPILERS, Outcome(Verdict.SKIPPED, "bpftool is not installed"))
    try:
        source = dump_pybtf(path, base) if pybtf else dump_c(path, base)
    except InputError as error:
        return dict.fromkeys(COMPILERS, Outcome(Verdict.FAILS, str(error)))
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
    parser = argparse.ArgumentParser(description="Dump BTF as C, and compile that.")
    parser.add_argument("--pybtf", action="store_true", help="by pybtf, not by bpftool")
    parser.add_argument("--base", help="what split BTF builds on")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.files:
        for compiler, outcome in c_roundtrip(path, arguments.base, arguments.pybtf).items():
            print(f"{path}: {compiler}: {outcome}")
            failed |= outcome.verdict is Verdict.FAILS
            if arguments.pybtf and compiler == "gcc" and outcome.verdict is Verdict.COMPILES:
                print(f"{path}: {layouts(path, arguments.base, dump_pybtf(path, arguments.base))}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
