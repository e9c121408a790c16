"""Compilers and linkers for the fixtures and the random programs: their output is small, free-standing and repeatable.

A *build* is written as a few words, `gcc O2 5 obj`: compiler, optimisation, DWARF version, form. Forms:
`obj` is a relocatable file (one unit: as compiled; several: `ld -r` in the given order), `exe` a linked one without a C
library, `lto` one linked with link-time optimisation, `thin` the same with clang's ThinLTO. A *unit* is a source with
its own options: `39_b.c -DFULL`. A `.rs` source is compiled by rustc, whatever the compiler of the build.
"""

from __future__ import annotations

import functools
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

COMMON = [
    "-ffreestanding",
    "-fno-pic",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-w",
    "-fno-common",
]
GCC_X86 = ["-fno-pie", "-fcf-protection=none"]
MIPS = ["-mno-abicalls", "-G0"]  # as kernels are built
LTO = {"lto": "-flto", "thin": "-flto=thin"}
LD_SCRIPT = ["-T", str(Path(__file__).with_name("link.ld"))]
LD_OPTIONS = [
    *("--build-id=none", "-z", "noseparate-code", "-z", "max-page-size=4096", "-e", "0"),
    "--unresolved-symbols=ignore-all",  # -O0 may call memcpy
]


@dataclass(frozen=True)
class Compiler:
    """How to run one compiler for one target, and its linker."""

    argv: tuple[str, ...]
    ld: tuple[str, ...]
    objcopy: str = "objcopy"

    def available(self) -> bool:
        """Whether compiler and linker are installed."""
        return bool(shutil.which(self.argv[0]) and shutil.which(self.ld[0]))


def _gcc(prefix: str, *flags: str) -> Compiler:
    return Compiler((f"{prefix}-gcc", "-fno-pie", *flags), (f"{prefix}-ld",), f"{prefix}-objcopy")


def _clang(target: str, *flags: str) -> Compiler:
    return Compiler(("clang", f"--target={target}", *flags), ("ld.lld",))


COMPILERS = {
    "gcc": Compiler(("gcc", *GCC_X86), ("ld.bfd",)),
    "gcc-i386": Compiler(("gcc", "-m32", *GCC_X86), ("ld.bfd", "-m", "elf_i386")),
    "gcc-s390x": _gcc("s390x-linux-gnu"),
    "gcc-arm": _gcc("arm-linux-gnueabihf"),
    "gcc-aarch64": _gcc("aarch64-linux-gnu"),
    "gcc-riscv64": _gcc("riscv64-linux-gnu"),
    "gcc-ppc64le": _gcc("powerpc64le-linux-gnu"),
    "gcc-ppc64": _gcc("powerpc64-linux-gnu"),
    "gcc-mips": _gcc("mips-linux-gnu", *MIPS),
    "gcc-mipsel": _gcc("mipsel-linux-gnu", *MIPS),
    "gcc-mips64el": _gcc("mips64el-linux-gnuabi64", *MIPS),
    "gcc-sh4": _gcc("sh4-linux-gnu"),
    "clang": Compiler(("clang",), ("ld.bfd",)),
    "clang-i386": _clang("i386-linux-gnu"),
    "clang-aarch64": _clang("aarch64-linux-gnu"),
    "clang-arm": _clang("armv7-linux-gnueabihf"),
    "clang-riscv64": _clang("riscv64-linux-gnu"),
    "clang-ppc64le": _clang("powerpc64le-linux-gnu"),
    "clang-ppc64": _clang("powerpc64-linux-gnu"),
    "clang-mips": _clang("mips-linux-gnu"),
    "clang-s390x": Compiler(("clang", "--target=s390x-linux-gnu"), ("s390x-linux-gnu-ld",)),
    "clang16": Compiler(("clang-16",), ("ld.bfd",)),
    "clang19": Compiler(("clang-19",), ("ld.bfd",)),
    "clang19-loongarch64": Compiler(("clang-19", "--target=loongarch64-linux-gnu"), ("ld.lld-19",), "llvm-objcopy-19"),
    "clang19-riscv64": Compiler(("clang-19", "--target=riscv64-linux-gnu"), ("ld.lld-19",), "llvm-objcopy-19"),
    "g++": Compiler(("g++", *GCC_X86, "-fno-rtti", "-fno-exceptions"), ("ld.bfd",)),
    "clang++": Compiler(("clang++", "-fno-rtti", "-fno-exceptions"), ("ld.bfd",)),
}


class BuildError(Exception):
    """A compiler or linker failed; the text is the command and its message."""


@dataclass(frozen=True)
class Build:
    """One way to build; the start of this file explains its words."""

    compiler: str
    level: str
    dwarf: str
    form: str

    @classmethod
    def parse(cls, words: str) -> Build:
        """Reads `gcc O2 5 obj`; ValueError if it has another form."""
        compiler, level, dwarf, form = words.split()
        if compiler not in COMPILERS or form not in {"obj", "exe", *LTO}:
            raise ValueError(f"not a build: {words}")
        return cls(compiler, level, dwarf, form)

    def __str__(self) -> str:
        return f"{self.compiler}-{self.level}-{self.dwarf}-{self.form}"

    def compile_flags(self) -> list[str]:
        """The options of every unit of this build."""
        lto = [LTO[self.form]] if self.form in LTO else []
        return [f"-{self.level}", "-g", f"-gdwarf-{self.dwarf}", *COMMON, *lto]


@dataclass(frozen=True)
class Program:
    """Sources (in `folder`) that make one ELF file."""

    folder: Path
    units: Sequence[str]
    flags: Sequence[str] = ()
    ldflags: Sequence[str] = ()
    objcopy: Sequence[str] = field(default=())


def call(argv: Sequence[str], cwd: Path) -> None:
    """Runs a tool; BuildError with its message if it fails."""
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(argv)}\n{done.stderr.strip()}")


def _no_paths(program: Program, scratch: Path) -> list[str]:
    """Options that keep the paths of this machine out of the debug data. (Tools run in `scratch`.)"""
    return [f"-ffile-prefix-map={folder}=." for folder in (program.folder, scratch)]


def compile_unit(program: Program, unit: str, build: Build, out: Path) -> None:
    """Compiles one unit of a program into the object `out`."""
    source, *own = shlex.split(unit)
    if source.endswith(".rs"):
        compile_rust(program, source, build, out)
        return
    compiler = COMPILERS[build.compiler]
    argv = [*compiler.argv, *build.compile_flags(), *_no_paths(program, out.parent), *program.flags, *own]
    call([*argv, "-c", str(program.folder / source), "-o", out.name], out.parent)


def compile_rust(program: Program, source: str, build: Build, out: Path) -> None:
    """Compiles a Rust unit that needs no library."""
    argv = ["rustc", "--edition=2021", "--crate-type=lib", "-g", f"--emit=obj={out.name}"]
    settings = ["panic=abort", "codegen-units=1", f"opt-level={build.level[1:]}", f"dwarf-version={build.dwarf}"]
    remap = [f"--remap-path-prefix={folder}=." for folder in (program.folder, out.parent)]
    call([*argv, *(f"-C{setting}" for setting in settings), *remap, str(program.folder / source)], out.parent)


def link(program: Program, build: Build, objects: Sequence[Path], out: Path) -> None:
    """Makes the file of a build from its objects; a single object is taken as it is."""
    compiler = COMPILERS[build.compiler]
    names, scratch = [path.name for path in objects], objects[0].parent
    if build.form in LTO:
        driver = ["-fuse-ld=lld"] if "clang" in build.compiler else []
        options = [f"-Wl,{','.join(LD_OPTIONS)}", "-Wl,-u,user", "-Wl,-u,other", *_no_paths(program, scratch)]
        argv = [*compiler.argv, *build.compile_flags(), "-nostdlib", "-static", *driver, *options]
        call([*argv, *names, "-o", str(out)], scratch)
    elif build.form == "exe":
        call([*compiler.ld, *LD_SCRIPT, *LD_OPTIONS, *program.ldflags, *names, "-o", str(out)], scratch)
    elif len(objects) > 1:
        call([*compiler.ld, "-r", *program.ldflags, *names, "-o", str(out)], scratch)
    else:
        shutil.copyfile(objects[0], out)
    if program.objcopy:
        call([compiler.objcopy, *program.objcopy, str(out)], scratch)


def make(program: Program, build: Build, out: Path, scratch: Path) -> None:
    """Compiles and links a program into `out`, with intermediate objects in `scratch`."""
    objects = [scratch / f"{number}.o" for number in range(len(program.units))]
    for unit, target in zip(program.units, objects, strict=True):
        compile_unit(program, unit, build, target)
    link(program, build, objects, out)


@functools.cache
def version(name: str) -> str:
    """The first line of a compiler's `--version`."""
    argv = [COMPILERS[name].argv[0], "--version"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[0]
