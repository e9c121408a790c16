"""Compares merged values with the encoded DWARF on random programs, byte for byte.

    python -m tools.compare.merge_compare [--seeds 0:100] [--jobs 1] [--machines x86,aarch64,...] [--split] [--options]
                                          [--keep DIR]

Each seed is a program of tools/generate/randprog.py, a machine, compilers, a linker and two lists of features. Its
units are compiled once and linked three times: as they are; with values in addition to the DWARF; with values and
without DWARF. `pybtf merge` of the second and third is compared with `pybtf encode` of the first. With `--split` they
are compiled with -gsplit-dwarf, and with `--options` (for x86) with rare options of odd_options.py. The exit status is
1 if anything differs. Machines without installed compilers are skipped and counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pybtf
from pybtf.errors import PybtfError
from pybtf.features import Features
from pybtf.merging.encoding import encode_object
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from tools.generate import odd_options, randprog
from tools.golden import toolchain
from tools.judge import oracle

MACHINES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "x86": (("gcc", "gcc", "clang"), (("ld.bfd",), ("ld.lld",), ("gold",))),
    "i386": (("gcc-i386", "clang-i386"), (("ld.bfd", "-m", "elf_i386"), ("ld.lld", "-m", "elf_i386"))),
    "aarch64": (("gcc-aarch64", "clang-aarch64"), (("aarch64-linux-gnu-ld",), ("ld.lld",))),
    "s390x": (("gcc-s390x", "clang-s390x"), (("s390x-linux-gnu-ld",),)),
    "riscv64": (("gcc-riscv64", "clang-riscv64"), (("riscv64-linux-gnu-ld",), ("ld.lld",))),
    "ppc64le": (("gcc-ppc64le", "clang-ppc64le"), (("powerpc64le-linux-gnu-ld",), ("ld.lld",))),
    "arm": (("gcc-arm", "clang-arm"), (("arm-linux-gnueabihf-ld",), ("ld.lld",))),
    "mips64el": (("gcc-mips64el",), (("mips64el-linux-gnuabi64-ld",),)),
    "sh4": (("gcc-sh4",), (("sh4-linux-gnu-ld",),)),
}
"""Compilers and linkers by machine."""
USUAL_MACHINES = ("x86", "i386", "aarch64", "s390x", "riscv64", "ppc64le", "arm")
"""Those that seeds draw from by default. What a seed means depends on them, so there will be no more."""
FEATURES = (oracle.USUAL, oracle.USUAL, oracle.USUAL + ",global_var", "default", "all", "+true_signature,global_var")


@dataclass(frozen=True)
class Case:
    """One program, and how it is built."""

    seed: int
    machine: str
    program: randprog.Program
    linker: tuple[str, ...]
    flags: tuple[str, ...]
    ldflags: tuple[str, ...]
    features: tuple[str, ...]
    how: Placing

    @property
    def label(self) -> str:
        builds = ",".join(sorted({f"{build.compiler} {build.level} {build.dwarf}" for build in self.program.builds}))
        words = [self.machine, builds, self.linker[0], *self.ldflags, *self.flags, *dict.fromkeys(self.program.options)]
        return " ".join(words) + f" inline={self.how.inline} store={self.how.store is not None}"


def case_of(seed: int, machines: Sequence[str], folder: Path) -> Case:
    rng = Random(f"merge {seed}")
    machine = rng.choice(machines)
    compilers, linkers = MACHINES[machine]
    program = randprog.generate(seed)
    mixed = rng.random() < 0.3
    first = rng.choice(compilers), f"O{rng.randrange(4)}", rng.choice("45")
    builds = []
    for _ in program.units:
        words = first
        if mixed:
            words = rng.choice(compilers), f"O{rng.randrange(4)}", rng.choice("45")
        builds.append(toolchain.Build(*words, "exe"))
    program = randprog.Program(program.seed, program.units, builds, program.options)
    form = rng.randrange(4)
    ldflags: list[str] = []
    flags = ["-ffunction-sections", "-fdata-sections"] if rng.random() < 0.3 else []
    if form == 0:
        ldflags = ["-r"]
    else:
        ldflags = ["-e", "0", "--unresolved-symbols=ignore-all"]
        if form == 1:
            ldflags += toolchain.LD_SCRIPT
        if flags and rng.random() < 0.7:
            ldflags += ["--gc-sections", "-u", "user0", "-u", "f0", "-u", "f1"]
    place = rng.randrange(4)
    store = str(folder / "store") if place == 1 else None
    chosen = tuple(rng.sample(FEATURES, 2))
    return Case(
        seed, machine, program, rng.choice(linkers), tuple(flags), tuple(ldflags), chosen,
        Placing(inline=place == 0, store=store),
    )  # fmt: skip


def compare(case: Case, folder: Path) -> Iterator[str]:
    """What differs, a line each. Raises `BuildError` if the program cannot be built, with or without values."""
    program = toolchain.Program(folder, case.program.write(folder), flags=case.flags)
    objects = [folder / f"u{number}.o" for number in range(len(case.program.units))]
    for unit, build, target in zip(program.units, case.program.builds, objects, strict=True):
        toolchain.compile_unit(program, unit, build, target)
    plain = link(case, objects, folder / "plain")
    expected = ["which is not loaded"]
    if any(b".debug_info" not in path.read_bytes() for path in objects):
        expected.append("nothing is in the BTF of")
    for features in case.features:
        try:
            wanted = bytes(pybtf.encode(plain, features=features, jobs=1).data)
        except PybtfError as error:
            wanted, text = b"", str(error)
        # The reference takes a discarded variable for one in a debug section if its address, as gold leaves it, points
        # there. Without DWARF there is no such section.
        in_dwarf = b".debug_" in wanted
        for strip in (False,) if in_dwarf else (False, True):
            mine = [folder / f"{'s' if strip else 'v'}{path.name}" for path in objects]
            for one, other in zip(objects, mine, strict=True):
                shutil.copyfile(one, other)
            how = Placing(strip, case.how.inline, case.how.store)
            try:
                for path in mine:
                    encode_object(str(path), Features.parse(features), how)
                linked = link(case, mine, folder / "merged")
                sources = Sources((), case.how.store)
                found = merge_file(str(linked), make_options(features, 1), sources)
                warnings = [text for text in found.report.warnings if not any(each in text for each in expected)]
                if warnings and not strip:
                    yield f"{features}: {warnings}"
                data = bytes(found.data)
            except PybtfError as error:
                data = b""
                if wanted:
                    yield f"{features} strip={strip}: {error}"
                continue
            if not wanted:
                yield f"{features} strip={strip}: no error; the DWARF has one: {text}"
            elif data != wanted:
                yield f"{features} strip={strip}: {len(data)} bytes, {len(wanted)} of DWARF"


def link(case: Case, objects: Sequence[Path], out: Path) -> Path:
    argv = [*case.linker, *case.ldflags, "--allow-multiple-definition"]
    if "-r" in argv:
        argv.remove("--allow-multiple-definition")
        argv = [word for word in argv if word != "--gc-sections"]
        if case.linker[0] != "ld.lld":
            argv.append("--allow-multiple-definition")
    toolchain.call([*argv, *[path.name for path in objects], "-o", out.name], out.parent)
    return out


def with_odd_options(case: Case) -> Case:
    """The same case, with its units compiled with rare options of their compilers."""
    rng = Random(f"merge options {case.seed}")
    options = [odd_options.draw(rng, build.compiler) for build in case.program.builds]
    return replace(case, program=replace(case.program, options=options))


def attempt(task: tuple[int, tuple[str, ...], bool, bool, str]) -> tuple[int, str, list[str]]:
    """A seed, its label, and what differs. The label begins with `skipped` if the program cannot be built."""
    seed, machines, split, odd, keep = task
    with tempfile.TemporaryDirectory(prefix="pybtf-merge-") as name:
        folder = Path(name)
        case = case_of(seed, machines, folder)
        if split:
            case = replace(case, flags=(*case.flags, "-gsplit-dwarf"))
        if odd:
            case = with_odd_options(case)
        try:
            found = list(compare(case, folder))
        except toolchain.BuildError as error:
            return seed, f"skipped: {case.label}: {str(error).splitlines()[-1]}", []
        except Exception:
            found = [traceback.format_exc()]
        if found and keep:
            shutil.copytree(folder, Path(keep) / str(seed), dirs_exist_ok=True)
        return seed, case.label, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="0:100", metavar="FROM:TO")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--machines", default=",".join(USUAL_MACHINES))
    parser.add_argument("--split", action="store_true", help="compile with -gsplit-dwarf")
    parser.add_argument("--options", action="store_true", help="compile with rare options; for --machines x86")
    parser.add_argument("--keep", default="", metavar="DIR", help="keep what differs there")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    start, _, stop = options.seeds.partition(":")
    there = []
    for machine in options.machines.split(","):
        compilers, _ = MACHINES[machine]
        if all(toolchain.COMPILERS[name].available() for name in compilers):
            there.append(machine)
        else:
            print(f"skipped: {machine}: no compilers", file=sys.stderr)
    seeds = range(int(start), int(stop or int(start) + 1))
    counts: Counter[str] = Counter()
    tasks = [(seed, tuple(there), options.split, options.options, options.keep) for seed in seeds]
    with multiprocessing.Pool(options.jobs) as pool:
        refused = "whose code the linker has discarded"  # DWARF 4; see docs/merge.md
        for seed, label, found in pool.imap_unordered(attempt, tasks):
            if found and all(refused in line for line in found):
                counts["refused"] += 1
                continue
            counts["skipped" if label.startswith("skipped") else "different" if found else "same"] += 1
            if not label.startswith("skipped"):
                counts[label.split()[0]] += 1
            if found or options.verbose or label.startswith("skipped"):
                print(f"{seed}: {label}", *found, sep="\n    ", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return counts["different"] > 0


if __name__ == "__main__":
    raise SystemExit(main())
