"""Measures `pybtf merge` against `pybtf encode` on real kernels: wall time, CPU time, peak memory.

    python -m tools.bench.bench_merge [--rounds N] [--language LIST] [KERNEL...]

This does not compile a distribution's kernel, but takes its linked DWARF apart. Each unit's values are exported and put
into an object of their own, among sections of zeros of the usual sizes. A copy of the kernel without DWARF gets the
index of these objects. So a merge has as many objects to find, open and check, and as many values to read, as in the
build of that kernel.

The two programs take turns, with one job and with two, and so do two merges with a cache: `cached` after one of the
objects is compiled again, with other values, and `same` after a link that changes nothing that BTF depends on. A ratio
is the median of the rounds' ratios. Every output is compared with that of `encode`. Exit status: 1 if one differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

from tools.bench.bench import Failed, Figures, Run, measure, pybtf_command, warm
from tools.judge import oracle, reference

KERNELS = ("6.1-amd64",)
#: Bytes of an object that are neither values nor index: code, data, symbols, relocations.
REST = 60_000
#: Sections of an object, mostly of code and its relocations.
SECTIONS = 30
H_SIZE, H_FUNCTIONS, H_VARIABLES, H_SKIPPED, HEAD = 0, 7, 9, 15, 20
"""Words in the head of a unit value (core/values/unit_layout.pxd)."""


def prepare(kernel: Path, folder: Path, language: str) -> None:
    """Writes the objects, and the kernel that names them: one object in `before` is a different one in `after`."""
    from pybtf.core.export import Export
    from pybtf.dwarf.sections import debug_sections
    from pybtf.elf.constants import SHT_SYMTAB
    from pybtf.elf.image import ElfImage
    from pybtf.elf.layout import section_addresses
    from pybtf.elf.symbols import symbol_source
    from pybtf.features import Features
    from pybtf.merging.facts import shaping
    from pybtf.merging.pieces import INDEX, PAYLOAD, RULES, Piece, pack, pack_payload, payload_digest
    from tests.builders.elfwriter import Section, bare

    with ElfImage.open(str(kernel)) as image:
        sections = debug_sections(image, section_addresses(image))
        options = shaping(Features.parse("default"))
        run = Export(sections, little=image.little, machine=image.machine, options=options)
        run.scan(False)
        if run.has_reference_to_other_units():
            raise SystemExit(f"{kernel}: its units refer to each other")
        values, addresses, die = run.units_as_bytes()
        if die is not None or run.fault() is not None:
            raise SystemExit(f"{kernel}: its units have no values")
        little, is64, machine = image.little, image.is64, image.machine
        symtab = next(iter(image.of_type(SHT_SYMTAB)))
        files = [name for name in dict.fromkeys(symbol_source(image, symtab).file_names()) if name]

    order = "<" if little else ">"
    filler = [Section(f".text.{n}", bytes(REST // SECTIONS), flags=6) for n in range(SECTIONS)]

    def piece(number: int, unit: bytes, places: array[int]) -> bytes:
        """Writes an object; returns its piece of the index."""
        path = folder / f"{number}.o"
        payload = Section(PAYLOAD, pack_payload(unit, little=little), align=8)
        path.write_bytes(bare([*filler, payload], is64=is64, little=little, machine=machine))
        names = tuple(files[number::units] if number else ())
        word = 8 if is64 else 4
        stands = Piece(0, 1, options, RULES, payload_digest(unit), bytes(16), len(unit), word, str(path), names, places)
        return pack(stands, little=little)

    split: list[tuple[bytes, array[int]]] = []
    at = place = 0
    while at < len(values):
        head = struct.unpack_from(f"{order}{HEAD}I", values, at)
        end = place + 8 * (head[H_FUNCTIONS] + head[H_VARIABLES])
        split.append((values[at : at + head[H_SIZE]], array("Q", addresses[place:end])))
        at, place = at + head[H_SIZE], end
    units = len(split)
    pieces = [piece(number, *each) for number, each in enumerate(split)]
    plain = folder / "plain"
    subprocess.run([shutil.which("llvm-objcopy") or "objcopy", "-g", kernel, plain], check=True)
    edited = bytearray(split[0][0])
    skipped = struct.unpack_from(f"{order}I", edited, 4 * H_SKIPPED)[0]
    struct.pack_into(f"{order}I", edited, 4 * H_SKIPPED, skipped + 1)  # only a report has these
    for name in ("before", "after"):
        index = folder / "index"
        index.write_bytes(b"".join(pieces))
        add = [f"--add-section={INDEX}={index}", str(plain), str(folder / name)]
        subprocess.run([shutil.which("llvm-objcopy") or "objcopy", *add], check=True)
        if name == "before":
            cache = ["--cache", str(folder / "cache"), "--detached", str(folder / "first"), *without(language)]
            subprocess.run([*pybtf_command(), "merge", "-q", *cache, str(folder / name)], check=True)
            pieces[0] = piece(0, bytes(edited), split[0][1])
    print(f"  {units} objects, {len(values) / 1e6:.0f} MB of values", flush=True)


def without(language: str) -> list[str]:
    """The option that leaves out units."""
    return ["--lang-exclude", language] if language else []


def one_kernel(kernel: Path, folder: Path, rounds: int, language: str) -> bool:
    """Prints the table of one kernel; returns False if outputs differ."""
    environment = oracle.clean_environment()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    out = folder / "out"
    print(f"  {'jobs':>4}  {'program':<8} {'wall s':>7} {'(spread)':>13} {'CPU s':>7} {'peak MiB':>9}   to encode")
    for jobs in (1, 2):
        common = ["-q", "-j", str(jobs), "--detached", str(out), *without(language)]
        commands = {
            "encode": ["encode", *common, str(kernel)],
            "merge": ["merge", *common, str(folder / "after")],
            "cached": ["merge", *common, "--cache", str(folder / "used"), str(folder / "after")],
            "same": ["merge", *common, "--cache", str(folder / "used"), str(folder / "before")],
        }
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                warm(Path(command[-1]))
                shutil.copyfile(folder / "cache", folder / "used")
                runs[name].append(measure([*pybtf_command(), *command], out, environment))
        if len({run.digest for each in runs.values() for run in each}) != 1:
            print("  the outputs differ")
            return False
        for name, each in runs.items():
            figures = Figures.of(each)
            pairs = list(zip(each, runs["encode"], strict=True))
            wall = statistics.median(mine.wall / other.wall for mine, other in pairs)
            cpu = statistics.median(mine.cpu / other.cpu for mine, other in pairs)
            spread = f"{figures.fastest:.2f}-{figures.slowest:.2f}"
            line = f"  {jobs:>4}  {name:<8} {figures.wall:7.2f} {spread:>13} {figures.cpu:7.2f} {figures.peak:9.0f}"
            print(f"{line}   {wall:.2f} of the time, {cpu:.2f} of the CPU time", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--language", default="rust", help="whose units are left out; '' for none")
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    options = parser.parse_args()
    good = True
    for name in options.kernels:
        kernel = Path(name).absolute() if Path(name).exists() else reference.kernel(name)
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            # In a separate process, because a command inherits the peak memory of the process that runs it.
            given = (kernel, folder, options.language)
            preparing = multiprocessing.get_context("fork").Process(target=prepare, args=given)
            preparing.start()
            preparing.join()
            try:
                good &= preparing.exitcode == 0 and one_kernel(kernel, folder, options.rounds, options.language)
            except Failed as error:
                print(f"  {error}")
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
