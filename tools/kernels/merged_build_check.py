#!/usr/bin/env python3
"""Builds Linux twice, with DWARF in the link and with values of `pybtf cc --strip-dwarf`, and compares all BTF.

    python -m tools.kernels.merged_build_check                   6.12 and 7.2, by gcc
    python -m tools.kernels.merged_build_check --llvm=-19 7.2    by clang-19 and ld.lld-19
    python -m tools.kernels.merged_build_check --rounds 3 6.12   and then edit one file and build again, three times
    python -m tools.kernels.merged_build_check --ccache 7.2      through ccache, which compiles once what both need

For each version, in this order:

1. source and configuration are those of kernel_build_check.py. They are built twice: `dwarf` by make alone,
   `values` with `CC="pybtf cc --strip-dwarf ... -- gcc"`, both with `PAHOLE=pybtf-pahole`;
2. pahole 1.32 repeats each encoding of the first: the bytes must be the same;
3. `.BTF` (and `.BTF.base`) of vmlinux and of all modules are the same in both, the linked files of the second have no
   DWARF, and `pybtf verify` accepts all BTF;
4. a module with a part in C++ is built, and gets BTF from `pybtf encode --degrade` (cxx_module.py);
5. the kernel of the second is booted under qemu with all modules: it shows the BTF in the files;
6. with --rounds, mm/vmscan.c is edited and make runs again, for both in turns: first a struct and a function are
   appended, different ones each round, then the body of this function becomes longer. The BTF must be the same in both,
   each time. For each, it prints seconds and peak memory of the links and of the BTF step, which in the second has a
   cache, and seconds of the whole. With --ccache, a third build, with values and from scratch, must give the bytes of
   the last edit.

Needs what kernel_build_check.py needs, /usr/bin/time, and ccache, clang and lld if the options use them. Exit status: 1
if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tools.judge import reference
from tools.kernels import cxx_module
from tools.kernels.kernel_build_check import (
    HOME,
    SUITES,
    Place,
    Settings,
    compare,
    configure,
    default_program,
    fetch,
    forget_btf,
    look,
    make,
    run,
    section,
)

EDITED = "mm/vmscan.c"
EDIT = """
struct kbc_edit_{round} {{ long values[{size}]; struct kbc_edit_{round} *next; }};
long kbc_edited_{round}(struct kbc_edit_{round} *edit, int which);
noinline long kbc_edited_{round}(struct kbc_edit_{round} *edit, int which)
{{
	return edit->values[which] + {round}{more};
}}
"""
MORE = {"type": "", "body": " + (which > 2 ? kbc_edited_{round}(edit, which / 3) * which : which * 5)"}
"""What of the file is edited, and what the function has then."""
FEATURES = {"7.2": ("--features", "+attributes")}
"""What kernels ask of BTF that they have not always asked for (since 6.15)."""
SECTION = ".debug_weaknames"
"""The one name for the index that linker scripts of kernels know and no compiler uses."""


@dataclass
class Step:
    """A program that make ran: wall and CPU seconds, peak memory in KiB."""

    wall: float
    cpu: float
    peak: int
    command: str

    @classmethod
    def of(cls, line: str) -> Step:
        wall, user, system, peak, command = line.split(" ", 4)
        return cls(float(wall), float(user) + float(system), int(peak), command)

    @property
    def what(self) -> str:
        """Which step of a kernel's build it is; "" for steps that do not matter."""
        words = self.command.split()
        if words[0] == "pybtf-pahole" and "-J" in words:
            return "BTF" if "--btf_base" not in self.command else "BTF of modules"
        output = words[words.index("-o") + 1] if "-o" in words[:-1] else ""
        if output == "vmlinux.o":
            return "ld -r"
        if output.startswith((".tmp_vmlinux", "vmlinux")):
            return "links"
        return ""


@dataclass
class Build:
    """One of the builds, and how make is called for it."""

    place: Place
    settings: Settings

    def everything(self) -> None:
        make(self.place, self.settings, "bzImage", "modules")
        make(self.place, self.settings, f"M={self.place.external}", "modules")

    def anew(self) -> None:
        """For a change that make does not see in the out-of-tree module. (If only the command differs, make links the
        module again and leaves out BTF.)
        """
        for module in self.place.external.glob("*.ko"):
            module.unlink()
        self.everything()

    def files(self) -> dict[str, Path]:
        """The files with BTF, by name."""
        return {"vmlinux": self.place.build / "vmlinux"} | {path.name: path for path in self.place.modules()}

    def btf(self) -> dict[str, tuple[bytes | None, bytes | None]]:
        return {
            name: (section(path, ".BTF"), section(path, ".BTF.base")) for name, path in self.files().items()
        }


def dwarf_bytes(path: Path) -> int:
    """The size of DWARF in a file, without the headers of line tables, because clang's assembler makes one for each
    source.
    """
    with open(path, "rb") as handle:
        elf = ELFFile(handle)
        names = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_loclists", ".debug_rnglists")
        sections = [elf.get_section_by_name(name) for name in names]
        lines = elf.get_section_by_name(".debug_line")
        size = sum(each["sh_size"] for each in sections if each is not None)
        return size + (line_program_bytes(lines.data()) if lines is not None else 0)


def line_program_bytes(lines: bytes) -> int:
    """The size of the programs in .debug_line, of 32 bits and little-endian (DWARF 5, 6.2.4)."""
    found = at = 0
    while at + 4 < len(lines):
        length, version = struct.unpack_from("<IH", lines, at)
        after_version = 2 if version >= 5 else 0
        header = struct.unpack_from("<I", lines, at + 6 + after_version)[0]
        found += length - (2 + after_version + 4 + header)
        at += 4 + length
    return found


def same(one: Build, other: Build) -> list[str]:
    """Compares the files with BTF in two builds."""
    first, second = one.btf(), other.btf()
    wrong = [f"only one build has {name}" for name in first.keys() ^ second.keys()]
    alike = [name for name in first if name in second and first[name] == second[name] and first[name][0]]
    wrong += [f"{name}: the BTF differs" for name in first.keys() & second.keys() if name not in alike]
    size = sum(len(first[name][0] or b"") for name in alike)
    print(f"  {len(alike)} files, {size} bytes of BTF: the same in {one.place.name} and {other.place.name}", flush=True)
    return wrong


def without_dwarf(build: Build) -> list[str]:
    """The files that still have DWARF in the build that should have none."""
    return [f"{name}: {size} bytes of DWARF" for name, path in build.files().items() if (size := dwarf_bytes(path))]


def verified(build: Build, pybtf: Path) -> list[str]:
    """What `pybtf verify` reports about the BTF."""
    wrong = []
    for name, path in build.files().items():
        base = [] if name == "vmlinux" else ["--base", str(build.place.build / "vmlinux")]
        done = subprocess.run([pybtf, "verify", *base, path], capture_output=True, text=True, check=False)
        if done.returncode:
            wrong.append(f"{name}: pybtf verify: {done.stdout}{done.stderr}")
    return wrong


# One file edited


@contextmanager
def edited(source: Path, number: int, more: str) -> Iterator[None]:
    """The source with something appended; afterwards it is restored."""
    original = source.read_bytes()
    try:
        edit = EDIT.format(round=number, size=number + 3, more=more.format(round=number))
        source.write_bytes(original + edit.encode())
        yield
    finally:
        source.write_bytes(original)


def again(build: Build, number: int, what: str) -> None:
    """Calls make after an edit, and prints what its steps took; returns the row of a Markdown table."""
    times = build.place.folder / "times"
    times.unlink(missing_ok=True)
    os.environ["KBC_TIMES"] = str(times)
    started = time.monotonic()
    make(build.place, build.settings, "bzImage", "modules")
    whole = time.monotonic() - started
    del os.environ["KBC_TIMES"]
    steps = [Step.of(line) for line in times.read_text().splitlines() if line[:1].isdigit()]
    cells = [build.place.name, str(number), what]
    for name in ("ld -r", "links", "BTF", "BTF of modules"):
        those = [step for step in steps if step.what == name]
        wall, cpu = sum(step.wall for step in those), sum(step.cpu for step in those)
        peak = max((step.peak for step in those), default=0)
        cells.append(f"{len(those)}: {wall:.2f} s, {cpu:.2f} s CPU, {peak / 1024:.0f} MiB")
    cells.append(f"{whole:.1f} s")
    print("  | " + " | ".join(cells) + " |", flush=True)


def rounds(dwarf: Build, values: Build, count: int, ld: str, from_scratch: bool) -> list[str]:
    """Edits and builds in turns; returns what is wrong."""
    programs = dwarf.place.folder / "timed"
    programs.mkdir(exist_ok=True)
    for name in (ld, "pybtf-pahole"):
        link = programs / f"timed-{name}"
        link.unlink(missing_ok=True)
        link.symlink_to(HOME / "timed.sh")
    os.environ["PATH"] = f"{dwarf.settings.program.parent}:{os.environ['PATH']}"

    def timed(build: Build) -> Build:
        """Without the recorder, because its copies would be measured."""
        variables = (*build.settings.variables, f"LD={programs / f'timed-{ld}'}")
        how = replace(build.settings, variables=variables, pahole=programs / "timed-pybtf-pahole")
        return Build(build.place, how)

    wrong: list[str] = []
    pair = [timed(dwarf), timed(values)]
    source = dwarf.place.source / EDITED
    for build in pair:  # another LD is another command: everything is linked again
        build.anew()
    cache = values.place.folder / f"{values.place.name}.cache"
    cache.unlink(missing_ok=True)
    os.environ["PYBTF_MERGE_CACHE"] = str(cache)
    print("  | build | round | edit | `ld -r` | links | BTF | BTF of modules | whole |")
    for number in range(1, count + 1):
        for what, more in MORE.items():
            with edited(source, number, more):
                for build in pair if number % 2 else reversed(pair):
                    again(build, number, what)
                wrong += same(*pair)
                if number == count and what == "body" and from_scratch:
                    values.anew()
                    wrong += same(values, scratch(values))
    del os.environ["PYBTF_MERGE_CACHE"]
    return wrong


def scratch(values: Build) -> Build:
    """A third build, of the source as it is now, sharing only the compiler's cache with the others."""
    place = Place(values.place.version, values.place.folder, f"scratch-{values.place.name}")
    shutil.rmtree(place.build, ignore_errors=True)
    forget_btf(place)
    configure(place, values.settings)
    build = Build(place, values.settings)
    build.everything()
    return build


def check(folder: Path, version: str, options: argparse.Namespace) -> list[str]:
    """Checks everything for one version; returns what is wrong."""
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"{version}: [{time.monotonic() - started:.0f} s] {text}", flush=True)

    if options.bin:
        pahole, pybtf = options.bin.absolute() / "pybtf-pahole", options.bin.absolute() / "pybtf"
    else:
        pahole, pybtf = default_program(folder), default_program(folder, "pybtf", "pybtf")
    variables = (f"LLVM={options.llvm}",) if options.llvm else ()
    compiler = f"clang{options.llvm}" if options.llvm else "gcc"
    compiler = f"ccache {compiler}" if options.ccache else compiler
    if options.ccache:
        os.environ["CCACHE_NOHASHDIR"] = "1"  # the builds are in two folders
    wrapped = " ".join([str(pybtf), "cc --strip-dwarf --section", SECTION, *FEATURES.get(version, ()), "--", compiler])
    fragments = (HOME / "fragment.config", *([HOME / "net.config"] if options.net else []))
    label = "-llvm" if options.llvm else ""
    dwarf = Build(
        Place(version, folder / version, f"dwarf{label}"),
        Settings(options.jobs, pahole, compiler, variables, fragments),
    )
    values = Build(
        Place(version, folder / version, f"values{label}"),
        Settings(options.jobs, pahole, wrapped, variables, fragments),
    )
    dwarf.place.folder.mkdir(parents=True, exist_ok=True)
    fetch(dwarf.place)
    for build in (dwarf, values):
        forget_btf(build.place)
        build.place.log.unlink(missing_ok=True)
        configure(build.place, build.settings)
        say(f"building {build.place.name}")
        build.everything()
    say("built; comparing")
    wrong = compare(dwarf.place) + same(dwarf, values) + without_dwarf(values) + verified(values, pybtf)
    module, more = cxx_module.build(dwarf.place, dwarf.settings, pybtf)
    say("compared; booting")
    wrong += more + look(values.place, module)
    if options.rounds:
        say(f"editing {EDITED}")
        ld = f"ld.lld{options.llvm}" if options.llvm else "ld"
        wrong += rounds(dwarf, values, options.rounds, ld, options.ccache)
    say("failed" if wrong else "all as it should be")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help="of the kernel: " + " ".join(SUITES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of make")
    parser.add_argument("--work", type=Path, help="folder for sources and builds (default: in the tools' cache)")
    parser.add_argument("--llvm", default="", help="what make is given as LLVM: -19 is clang-19 and ld.lld-19")
    parser.add_argument("--ccache", action="store_true", help="compile through ccache")
    parser.add_argument("--rounds", type=int, default=0, help="how often a file is edited and all built again")
    parser.add_argument("--net", action="store_true", help="a kernel with network, a third larger")
    parser.add_argument("--bin", type=Path, help="the folder of pybtf and pybtf-pahole (default: this checkout's)")
    options = parser.parse_args()
    work = (options.work or reference.cache_root() / "kernel-build").absolute()
    return run(parser, options.versions, lambda version: check(work, version, options))


if __name__ == "__main__":
    sys.exit(main())
