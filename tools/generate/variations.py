"""The programs of the documented comparison: every compiler, level, version of DWARF, form and feature.

A number determines a program, how it is built, and the feature lists to encode it with. 48 numbers in a row
cover gcc and clang x O0..O3 x DWARF 4 and 5 x (one object, several linked by `ld -r`, several linked); every third row
of 48 is by csmith, the others are by tools/generate/randprog.py. In one program out of five, the units are built by
different compilers and with different versions of DWARF.

csmith (Debian's packages csmith and libcsmith-dev) makes one unit at a time; a program of several takes its units from
few seeds. So some units are repeated, and all have their own structs S0, S1, ... and functions func_1, ...
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

from pybtf.features import ALL, DEFAULT, NAMES
from tools.generate import randprog
from tools.golden import toolchain
from tools.judge import oracle

BUILDS = list(product(("gcc", "clang"), ("O0", "O1", "O2", "O3"), ("4", "5"), ("object", "relocatable", "linked")))
"""Compiler, level, DWARF, form: one row."""

LISTS_PER_PROGRAM = 6

CSMITH_HEADERS = Path("/usr/include/csmith")
CSMITH_LIMITS = (
    *("--max-funcs", "5", "--max-block-depth", "3", "--max-block-size", "3", "--max-expr-complexity", "4"),
    *("--max-struct-fields", "7", "--max-union-fields", "4", "--max-pointer-depth", "3"),
    *("--max-array-dim", "3", "--max-array-len-per-dim", "6", "--inline-function", "--no-argc"),
)


class NoCsmith(Exception):
    """csmith or its headers are not on this machine; the text says what to install."""


def feature_lists() -> list[str]:
    """All lists that are compared: sets, each name alone, the default without each of its names, or with another one.

    Without `distilled_base`, which needs a base.
    """
    names = [name for name in NAMES if name != "distilled_base"]
    extra = [name for name in names if name not in DEFAULT]
    without = [",".join(name for name in DEFAULT if name != gone) for gone in DEFAULT]
    return [
        *("default", "all", "+reproducible_build", oracle.USUAL, ",".join(names), "all,force_cu_merging"),
        *names,
        *without,
        *(f"default,{name}" for name in extra),
        "encode_force,global_var,true_signature",
        "true_signature,force_cu_merging,global_var,encode_force,decl_tag",
        ",".join(name for name in ALL if name != "consistent_func"),
    ]


@dataclass(frozen=True)
class Variation:
    """One number: a program, and how it is encoded."""

    number: int
    program: randprog.Program
    features: tuple[str, ...]
    jobs: int
    label: str


def csmith_present() -> bool:
    return bool(shutil.which("csmith")) and CSMITH_HEADERS.is_dir()


def is_csmith(number: int) -> bool:
    """Whether the program of a number is by csmith."""
    return number // len(BUILDS) % 3 == 2


def variation(number: int) -> Variation:
    """The program of a number and its feature lists.

    :raises NoCsmith: it is a program by csmith, which is not installed.
    """
    rng = Random(f"variation {number}")
    compiler, level, dwarf, form = BUILDS[number % len(BUILDS)]
    kind = "csmith" if is_csmith(number) else "own"
    program = csmith_program(number, rng) if kind == "csmith" else randprog.generate(number)
    if form == "object":
        program = program.only(rng.randrange(len(program.units)))
    first = toolchain.Build(compiler, level, dwarf, "exe" if form == "linked" else "obj")
    mixed = rng.random() < 0.2
    builds = [first, *(_other(first, rng) if mixed else first for _ in program.units[1:])]
    chosen = rng.sample(feature_lists(), LISTS_PER_PROGRAM - 1)
    chosen.append(",".join(name for name in NAMES if name != "distilled_base" and rng.random() < 0.6) or "var")
    label = f"{kind} {compiler} {level} DWARF {dwarf} {form}{' mixed' if mixed and len(builds) > 1 else ''}"
    return Variation(number, replace(program, builds=builds), tuple(chosen), rng.choice([1, 1, 2, 3]), label)


def _other(build: toolchain.Build, rng: Random) -> toolchain.Build:
    """A build of the same form by any compiler."""
    compiler, level, dwarf = rng.choice(["gcc", "clang"]), rng.choice(["O0", "O1", "O2", "O3"]), rng.choice("45")
    return replace(build, compiler=compiler, level=level, dwarf=dwarf)


def csmith_program(number: int, rng: Random) -> randprog.Program:
    """A program of 2 to 4 units of csmith, some of them from the same seed."""
    if not csmith_present():
        raise NoCsmith("no csmith: its programs need Debian's packages csmith and libcsmith-dev")
    count = rng.randint(2, 4)
    picks = [number * 4 + rng.choice([0, 1, 1, 2]) for _ in range(count)]
    units = [list(csmith_unit(seed)) for seed in picks]
    options = [f"-isystem {CSMITH_HEADERS} -Dmain=main_{index}" for index in range(count)]
    return randprog.Program(number, units, [], options)


@functools.lru_cache(maxsize=16)
def csmith_unit(seed: int) -> tuple[str, ...]:
    """The lines of a unit. If csmith does not end, a later seed is taken."""
    for attempt in range(5):
        argv = ["csmith", "--seed", str(seed + attempt * 1_000_003 + 1), *CSMITH_LIMITS]
        with tempfile.TemporaryDirectory(prefix="pybtf-csmith-") as scratch:
            try:
                done = subprocess.run(argv, cwd=scratch, capture_output=True, text=True, timeout=10, check=True)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
                continue
        return tuple(done.stdout.splitlines())
    raise toolchain.BuildError(f"csmith makes nothing of seed {seed}")
