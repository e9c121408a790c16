"""Builds the fixtures of split DWARF, and checks larger programs: with and without -gsplit-dwarf, with and without dwp.

    python -m tools.golden.dwo_fixtures build           compile, ask the reference about the unsplit program
    python -m tools.golden.dwo_fixtures check [UNITS]   programs of so many units (50), in a temporary folder

The output of `build` is committed in `fixtures/dwo`: for each compiler and version of DWARF, a folder with the program,
its `.dwo` files or its `.dwp`, and the reference's BTF from the same program built without -gsplit-dwarf. `check`
prints every difference, and its exit status is 1 if there is one. Needs gcc, clang, dwp and llvm-dwp. GNU's dwp 2.40
cannot process DWARF 5 (it crashes, or writes indexes without identities), and llvm-dwp 14 cannot process gcc's (it does
not end).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.judge import oracle

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "fixtures" / "dwo"
SOURCES = HOME / "src"
PROGRAM = "program.elf"
NAMES = ("DW_ATE_signed_", "DW_ATE_unsigned_")
"""Base types that clang makes for expressions of DWARF 5, and only in units that are not split."""
LINK = ["-nostdlib", "-static", "-Wl,-e,0", "-Wl,--build-id=none", "-Wl,--unresolved-symbols=ignore-all"]
DWP = {("gcc", 4): ["dwp"], ("clang", 4): ["llvm-dwp"], ("clang", 5): ["llvm-dwp"]}

HEADER = """\
struct list { struct list *next, *prev; };
union value { int i; long l; float f; char c[16]; };
enum color { RED, GREEN = 5, BLUE };
typedef int (*handler_t)(struct list *, union value, ...);
struct common {
	int id; enum color color:3; unsigned flags:5; struct list list; handler_t handle; union value v;
	const volatile char *name; struct { int a, b; } pair; int matrix[3][4];
};
struct opaque;
"""
UNIT = """\
#include "common.h"
struct private{kind} {{ int x{i}; struct common *c; struct private{other} *other; long long y[{size}]; }};
struct private{other} {{ short z; }};
extern int fn{next}(struct common *c, struct private{kind} *p, long n);
static __thread int tls{i};
int global{i} = {i};
static struct common table{i}[{size}];
static inline int helper(struct common *c, int k) {{ return c->id + k * c->matrix[1][2]; }}
static __attribute__((noinline)) int local(struct list *l, int a, int b) {{ return l->next == l->prev ? a : {i}; }}
int fn{i}(struct common *c, struct private{kind} *p, long n)
{{
	struct inner {{ int deep{i}; }} s = {{ (int)n }};
	if (n <= 0) return s.deep{i} + tls{i} + local(&c->list, {i}, 3);
	table{i}[0].id += helper(c, p->x{i});
	return c->handle ? c->handle(&c->list, c->v, n) : fn{next}(c, (void *)p, n - 1) + table{i}[0].id;
}}
double floating{i}(float f, double d, struct common by_value) {{ return f * d + by_value.id; }}
"""
MAIN = """\
int main(int argc, char **argv) {{ struct common c = {{ 0 }}; struct private0 p = {{ 0 }}; return fn0(&c, &p, argc); }}
"""


def run(command: list[str], folder: Path, seconds: int = 60) -> bool:
    """Whether a program succeeds."""
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def write_sources(folder: Path, units: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "common.h").write_text(HEADER)
    for i in range(units):
        fields = {"i": i, "next": (i + 1) % units, "kind": i % 7, "other": (i + 1) % 7, "size": i % 5 + 1}
        (folder / f"u{i:02}.c").write_text(UNIT.format(**fields) + (MAIN.format() if i == 0 else ""))
    return sorted(folder.glob("u*.c"))


def build(folder: Path, sources: list[Path], compiler: str, options: list[str], split: bool) -> Path:
    """Compiles and links in `folder`, whose name is /src in the DWARF."""
    folder.mkdir(parents=True)
    flags = ["-g", *options, *(["-gsplit-dwarf"] if split else []), f"-ffile-prefix-map={folder}=/src"]
    flags += [f"-ffile-prefix-map={sources[0].parent}=/src", f"-I{sources[0].parent}"]
    for source in sources:
        if not run([compiler, *flags, "-c", str(source), "-o", f"{source.stem}.o"], folder):
            raise SystemExit(f"{compiler} {' '.join(flags)}: does not compile {source.name}")
    objects = [f"{source.stem}.o" for source in sources]
    if not run([compiler, *LINK, *objects, "-o", PROGRAM], folder):
        raise SystemExit(f"{compiler}: does not link")
    return folder / PROGRAM


def package(program: Path, tool: str) -> Path | None:
    made = program.with_name(f"{program.name}.dwp")
    files = sorted(path.name for path in program.parent.glob("*.dwo"))
    return made if run([tool, *files, "-o", made.name], program.parent, 20) and made.stat().st_size else None


def builds() -> list[tuple[str, str, int, list[str]]]:
    """Name, compiler, version of DWARF, options."""
    found = []
    for compiler in ("gcc", "clang"):
        for version in (4, 5):
            for name, options in (("", ["-O2"]), ("-O0", ["-O0"]), ("-types", ["-O2", "-fdebug-types-section"])):
                found.append((f"{compiler}-{version}{name}", compiler, version, [f"-gdwarf-{version}", *options]))
    return found


def make_fixtures() -> int:
    for name, compiler, version, options in builds():
        if name != f"{compiler}-{version}":
            continue
        with tempfile.TemporaryDirectory() as scratch:
            sources = sorted(SOURCES.glob("u*.c"))
            plain = build(Path(scratch) / "plain", sources, compiler, options, False)
            program = build(Path(scratch) / "split", sources, compiler, options, True)
            answer = oracle.run(plain, oracle.USUAL)
            if answer.data is None:
                raise SystemExit(f"{name}: {answer.stderr}")
            into = HOME / name
            shutil.rmtree(into, ignore_errors=True)
            into.mkdir(parents=True)
            for path in [program, *program.parent.glob("*.dwo")]:
                shutil.copy2(path, into / path.name)
            (into / "unsplit.btf").write_bytes(answer.data)
            for tool in DWP.get((compiler, version), []):
                made = package(program, tool)
                if made is not None:
                    shutil.copy2(made, into / f"{tool}.dwp")
            print(name, sum(path.stat().st_size for path in into.iterdir()))
    return 0


def encoded(program: Path, folder: Path) -> bytes | str:
    """What pybtf makes from a program, or its message."""
    out = folder / "out.btf"
    command = [sys.executable, "-m", "pybtf", "encode", "-q", "--detached", str(out), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return out.read_bytes() if done.returncode == 0 else done.stderr


def without_expressions(data: bytes) -> list[tuple[str, str]]:
    """Kinds and names of all types, in order, without the compiler's own base types."""
    from pybtf.btf import BTF

    return [(type.kind.name, type.name) for type in BTF.from_bytes(data) if not type.name.startswith(NAMES)]


def check(units: int) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as scratch_:
        scratch = Path(scratch_)
        sources = write_sources(scratch / "src", units)
        for name, compiler, version, options in builds():
            plain = build(scratch / name / "plain", sources, compiler, options, False)
            program = build(scratch / name / "split", sources, compiler, options, True)
            results: dict[str, bytes | str] = {"plain": encoded(plain, scratch), ".dwo": encoded(program, scratch)}
            expected = oracle.run(plain, oracle.USUAL).data
            if name.endswith("-types"):  # the reference gets this wrong
                expected = results["plain"] if isinstance(results["plain"], bytes) else None
            for tool in ("dwp", "llvm-dwp") if version == 4 else ("llvm-dwp",) if compiler == "clang" else ():
                made = package(program, tool)
                if made is None:
                    continue
                away = [path.rename(path.with_suffix(".away")) for path in program.parent.glob("*.dwo")]
                results[tool] = encoded(program, scratch)
                for path in away:
                    path.rename(path.with_suffix(".dwo"))
                made.unlink()
            words = []
            for what, data in results.items():
                same = data == expected
                if not same and isinstance(data, bytes) and expected is not None:
                    alike = without_expressions(data) == without_expressions(expected)
                    words.append(f"{what}: {'the same but for DW_ATE types' if alike else 'DIFFERENT'}")
                    failed += not alike
                else:
                    words.append(f"{what}: {'same' if same else f'FAILED {data!r}'}")
                    failed += not same
            print(f"{name}, {units} units: {', '.join(words)}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "check"])
    parser.add_argument("units", nargs="?", type=int, default=50)
    arguments = parser.parse_args()
    return make_fixtures() if arguments.what == "build" else check(arguments.units)


if __name__ == "__main__":
    sys.exit(main())
