"""Makes fixtures/compiler_btf: linked output of `gcc -gbtf`, and the reference's BTF from the same program's DWARF.

    python -m tools.golden.compiler_btf_fixtures [NAME...]

gcc writes DWARF and BTF in one run (`-g -gbtf`). `NAME/` has the files without the DWARF, the objects `a.o` and `b.o`
and the file linked from them (`linked`; `joined` by `ld -r`), and what the reference makes from the linked DWARF
(`wanted.btf`). tests/commands/test_compiler_btf.py merges them. Newer gccs than this machine's are those in the folders
that tools/project/fresh_machine.py makes, which need root. If one is missing, its recorded files stay.
"""

from __future__ import annotations

import io
import lzma
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.golden import toolchain
from tools.golden.merge_fixtures import FEATURES, SCRIPTED
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures" / "compiler_btf"
FLAGS = ("-g", "-gbtf", "-gdwarf-5", "-O2", "-ffreestanding", "-fno-pie", "-fno-asynchronous-unwind-tables")
BUILDS = {
    "gcc12": (("gcc-12",), "", ()),
    "gcc12-i386": (("gcc-12", "-m32"), "", ("-m", "elf_i386")),
    "gcc12-s390x": (("s390x-linux-gnu-gcc-12",), "s390x-linux-gnu-", ()),
    "gcc14": (("trixie", "gcc"), "", ()),
    "gcc16": (("sid", "gcc"), "", ()),
}
"""Compiler, prefix of the linker's and strip's names, arguments of the linker."""

FIRST = """
#define PERCPU __attribute__((section(".data..percpu"), used))
struct only;
struct both { int a : 3; unsigned b : 5; char c; signed char d; struct only *p; union { long l; float f; }; };
enum kind { ONE, TWO = -2 };
enum wide { LOW = 1, HIGH = 1LL << 40 };
typedef int (*callback)(struct both *, ...);
PERCPU struct both shared = { 1 };
static PERCPU int own = 3;
static PERCPU const char *text;
static int hidden = 7;
extern int second(struct only *, int);
extern int other_names(struct both *one, char two);
static inline int inlined(int a) { return a + hidden; }
static __attribute__((noinline)) int local(struct both *p, int k) { return p->a + inlined(k) + hidden + own; }
int first(struct both *p, enum wide w, callback f)
{
	hidden++;
	text++;
	return local(p, w) + second(0, hidden) + f(p) + other_names(p, 3);
}
int variadic(const volatile char *restrict format, ...) { return *format; }
enum kind chosen(void) { return TWO; }
"""
SECOND = """
#define PERCPU __attribute__((section(".data..percpu"), used))
struct only { long l; struct { short rows[3][4]; } in; };
struct both;
enum kind { ONE, TWO = -2 };
extern PERCPU struct both shared;
static PERCPU long own = 4;
static int hidden = 9;
static __attribute__((noinline)) int local(struct both *p, int k) { return k * hidden + own + (p != 0); }
int second(struct only *p, int k) { hidden++; return local((void *)p->in.rows, k + 1); }
int other_names(struct both *p, char k) { return local(p, k) + local((void *)&shared, 1); }
int odd(double x, int size, struct only by_value) { return size + by_value.l; }
"""


def compiler(words: tuple[str, ...]) -> list[str] | None:
    """The command, or None if it is not installed. Its working folder is /tmp of the machine in the folder."""
    if words[0] not in ("trixie", "sid"):
        return list(words) if shutil.which(words[0]) else None
    root = reference.cache_root() / "fresh" / words[0]
    if not (root / "usr/bin" / words[1]).exists():
        return None
    return ["chroot", str(root), *words[1:]]


def make(name: str, folder: Path) -> bool:
    """Makes all files of one build in the folder. Returns False if its compiler is not installed."""
    words, prefix, more = BUILDS[name]
    command = compiler(words)
    if command is None:
        return False
    with tempfile.TemporaryDirectory(dir=Path(command[1]) / "tmp" if command[0] == "chroot" else None) as scratch:
        inside = f"/tmp/{Path(scratch).name}" if command[0] == "chroot" else scratch
        for unit, source in (("a", FIRST), ("b", SECOND)):
            (Path(scratch) / f"{unit}.c").write_text(source)
            where = ["-ffile-prefix-map=" + inside + "=.", "-c", f"{inside}/{unit}.c", "-o", f"{inside}/{unit}.o"]
            toolchain.call([*command, *FLAGS, *where], folder)
            shutil.copyfile(Path(scratch) / f"{unit}.o", folder / f"{unit}.o")
    linker = [f"{prefix}ld.bfd" if not prefix else f"{prefix}ld", *more]
    toolchain.call([*linker, *SCRIPTED, "a.o", "b.o", "-o", "linked"], folder)
    toolchain.call([*linker, "-r", "a.o", "b.o", "-o", "joined"], folder)
    answer = oracle.run(folder / "linked", FEATURES)
    if answer.data is None:
        raise SystemExit(f"{name}: the reference wrote nothing: {answer.stderr}")
    (folder / "wanted.btf").write_bytes(answer.data)
    for each in ("a.o", "b.o", "linked", "joined"):
        toolchain.call([f"{prefix}strip", "-g", each], folder)
    return True


def recorded() -> dict[str, bytes]:
    """The recorded files, by name in the archive."""
    path = HOME / "objects.tar.xz"
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def main(names: list[str]) -> int:
    files = recorded()
    for name in names or BUILDS:
        with tempfile.TemporaryDirectory(prefix="pybtf-compiler-btf-") as scratch:
            if not make(name, Path(scratch)):
                print(f"{name}: skipped: its compiler is not here", file=sys.stderr)
                continue
            files = {path: data for path, data in files.items() if not path.startswith(f"{name}/")}
            files |= {f"{name}/{path.name}": path.read_bytes() for path in Path(scratch).iterdir()}
        print(name, file=sys.stderr)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    HOME.mkdir(exist_ok=True)
    (HOME / "objects.tar.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
