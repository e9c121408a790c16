"""Building and running the tools that use the reference's libbpf."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
LOADER = Path("usr/lib64/ld-linux-x86-64.so.2")


class ReferenceMissing(Exception):
    """The reference is not where PYBTF_REFERENCE_ROOT says."""


def root() -> Path:
    """The folder the packages of the reference were unpacked into (it has `usr`)."""
    value = os.environ.get("PYBTF_REFERENCE_ROOT", "")
    path = Path(value)
    if not value or not (path / LOADER).exists() or not (path / LIBRARIES / "libbpf.so.1").exists():
        raise ReferenceMissing(f"PYBTF_REFERENCE_ROOT={value!r} has no {LOADER} or no libbpf.so.1")
    return path


def version() -> str:
    """The version of libbpf, such as 1.7.0."""
    return (root() / LIBRARIES / "libbpf.so.1").resolve().name.removeprefix("libbpf.so.")


def build(into: Path) -> Path:
    """Compiles oracle.c; returns the program, which `oracle` runs."""
    program = into / "oracle"
    library = root() / LIBRARIES / "libbpf.so.1"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(HERE / "oracle.c")]
    subprocess.run([*command, "-Wl,--allow-shlib-undefined", str(library)], check=True)
    return program


def oracle(program: Path, pairs: list[tuple[Path, Path]], base: Path | None = None) -> None:
    """De-duplicates each first path into the second. If the reference fails, there is no second file."""
    loader = [str(root() / LOADER), "--library-path", str(root() / LIBRARIES)]
    options = ["-b", str(base)] if base else []
    paths = [str(p) for pair in pairs for p in pair]
    subprocess.run([*loader, str(program), *options, *paths], stderr=subprocess.DEVNULL, timeout=600)
