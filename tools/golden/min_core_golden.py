"""Compiles fixtures/bpf/core/*.c and records what `bpftool gen min_core_btf` makes from them.

    python -m tools.golden.min_core_golden

`kernel.btf` is the BTF that clang writes for kernel.c; each program becomes NAME.o, stripped of its DWARF, and
NAME.min.btf is bpftool's part of kernel.btf for it; together.min.btf is the part for all programs. Needs clang and
llvm-strip.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from pybtf.btf.ext import RelocationKind, read_object
from tools.compare.min_core_compare import change_kinds, theirs
from tools.judge import reference

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "bpf" / "core"


def compiled(source: Path, machine: str) -> Path:
    """The object of a program, without DWARF and without the name of this folder."""
    out = source.with_suffix(".o")
    command = ["clang", f"--target={machine}", "-O2", "-g", "-fdebug-compilation-dir=.", "-w", "-c", source.name]
    subprocess.run([*command, "-o", out.name], cwd=FOLDER, check=True)
    subprocess.run([shutil.which("llvm-strip") or "llvm-strip-14", "-g", out.name], cwd=FOLDER, check=True)
    return out


def main() -> None:
    bpftool = reference.bpftool()
    kernel = compiled(FOLDER / "kernel.c", "bpfel")
    btf = FOLDER / "kernel.btf"
    btf.write_bytes(read_object(kernel)[0].data)
    kernel.unlink()
    objects = []
    for source in sorted(FOLDER.glob("[0-9]*.c")):
        path = compiled(source, "bpfeb" if "big_endian" in source.name else "bpfel")
        if "type_matches" in source.name:
            change_kinds(path, set(range(100)), RelocationKind.TYPE_MATCHES)
        objects.append(path)
    with tempfile.TemporaryDirectory() as name:
        for title, group in [*((path.stem, [path]) for path in objects), ("together", objects)]:
            found = theirs(bpftool, btf, group, Path(name))
            if isinstance(found, str):
                raise SystemExit(f"{title}: {found}")
            (FOLDER / f"{title}.min.btf").write_bytes(found)
            print(f"{title}: {len(found)} bytes")


if __name__ == "__main__":
    main()
