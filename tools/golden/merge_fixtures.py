"""Makes fixtures/objects: objects with values, linked files without DWARF, and the reference's BTF for them.

    python -m tools.golden.merge_fixtures

Each machine and linker of BUILDS has the same two units. `NAME/` has the objects as compiled (`a.o`, `b.o`), with
values (`va.o`, `vb.o`: `pybtf object`) and with values instead of DWARF (`sa.o`, `sb.o`); the file linked from those
with values (`values`) and from those without DWARF (`merged`); and what the reference makes from the file linked from
the objects as compiled (`wanted.btf`). tests/commands/test_merge.py merges them without a compiler or a linker. The
first one also has `inline`, linked from objects with all values inside.
"""

from __future__ import annotations

import io
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from pybtf.features import Features
from pybtf.merging.encoding import encode_object
from pybtf.merging.placing import Placing
from tools.golden import toolchain
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures" / "objects"
FEATURES = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs"
LINK = ("-e", "0", "--unresolved-symbols=ignore-all", "--build-id=none", "-z", "max-page-size=4096")
SCRIPTED = (*LINK, "-T", str(Path(__file__).with_name("link.ld")))
BUILDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "x86": ("gcc O2 5 exe", ("ld.bfd", *SCRIPTED)),
    "x86-4": ("gcc O2 4 exe", ("ld.bfd", *SCRIPTED)),
    "x86-clang": ("clang O2 5 exe", ("ld.lld", *LINK)),
    "x86-relocatable": ("gcc O1 5 exe", ("ld.bfd", "-r")),
    "i386": ("gcc-i386 O2 5 exe", ("ld.bfd", "-m", "elf_i386", *SCRIPTED)),
    "aarch64": ("clang-aarch64 O2 5 exe", ("ld.lld", *LINK)),
    "s390x": ("gcc-s390x O2 5 exe", ("s390x-linux-gnu-ld", *SCRIPTED)),
    "riscv64": ("gcc-riscv64 O2 5 exe", ("riscv64-linux-gnu-ld", *SCRIPTED)),
    "ppc64le": ("gcc-ppc64le O2 5 exe", ("powerpc64le-linux-gnu-ld", *SCRIPTED)),
    "arm": ("clang-arm O2 5 exe", ("ld.lld", *LINK)),
}
"""Build and linker by name."""

FIRST = """
#define PERCPU __attribute__((section(".data..percpu"), used))
struct both { int a; char b[8]; struct only *p; };
struct only;
enum kind { ONE, TWO = -2 };
PERCPU struct both shared = { 1 };
static PERCPU int own = 3;
static int hidden = 7;
static __attribute__((noinline)) int local(struct both *p, int k) { return p->a + k + hidden + own; }
int first(struct both *p, int k) { hidden++; return local(p, k + 1); }
__attribute__((weak)) enum kind weak(void) { return ONE; }
__attribute__((section(".init.text"))) int early(struct both *p) { return local(p, 4) + 1; }
"""
SECOND = """
#define PERCPU __attribute__((section(".data..percpu"), used))
struct both { int a; char b[8]; struct only *p; };
struct only { long l; struct both both; };
enum kind { ONE, TWO = -2 };
extern PERCPU struct both shared;
static PERCPU long own = 4;
static long hidden = 9;
static __attribute__((noinline)) int local(struct both *p, int k) { return p->a * k + hidden + own; }
int second(struct only *p, int k) { hidden++; return local(&p->both, k + 1) + shared.a; }
enum kind weak(void) { return TWO; }
__attribute__((section(".init.text"))) int late(struct only *p) { return local(&p->both, 4) + 1; }
"""


def objects(folder: Path, letter: str, how: Placing | None) -> list[str]:
    """The two objects with values, under names that begin with the letter; returns the arguments for the linker."""
    names = []
    for name in ("a.o", "b.o"):
        names.append(letter + name)
        if letter:
            shutil.copyfile(folder / name, folder / names[-1])
        if how is not None:
            encode_object(names[-1], Features.parse(FEATURES), how)
    return names


def make(name: str, folder: Path) -> None:
    """Makes all files of one build in the folder."""
    words, linker = BUILDS[name]
    build = toolchain.Build.parse(words)
    program = toolchain.Program(folder, ["a.c", "b.c"])
    for unit, text in (("a", FIRST), ("b", SECOND)):
        (folder / f"{unit}.c").write_text(text)
        toolchain.compile_unit(program, f"{unit}.c", build, folder / f"{unit}.o")
        (folder / f"{unit}.c").unlink()
    os.chdir(folder)  # the values have relative names of objects
    for letter, how, out in (
        ("", None, "plain"),
        ("v", Placing(), "values"),
        ("s", Placing(strip=True), "merged"),
        *([("i", Placing(strip=True, inline=True), "inline")] if name == "x86" else []),
    ):
        toolchain.call([*linker, *objects(folder, letter, how), "-o", out], folder)
    answer = oracle.run(folder / "plain", FEATURES)
    if answer.data is None:
        raise SystemExit(f"{name}: the reference wrote nothing: {answer.stderr}")
    (folder / "wanted.btf").write_bytes(answer.data)
    (folder / "plain").unlink()


def main() -> int:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in BUILDS:
            with tempfile.TemporaryDirectory(prefix="pybtf-objects-") as scratch:
                make(name, Path(scratch))
                for path in sorted(Path(scratch).iterdir()):
                    entry = tarfile.TarInfo(f"{name}/{path.name}")
                    entry.size = path.stat().st_size
                    with open(path, "rb") as file:
                        archive.addfile(entry, file)
            print(name, file=sys.stderr)
    os.chdir(reference.CHECKOUT)
    HOME.mkdir(exist_ok=True)
    (HOME / "objects.tar.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
