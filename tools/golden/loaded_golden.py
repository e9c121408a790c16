"""Compiles fixtures/bpf/load.c and records how libbpf completes the object's BTF before it gives it to a kernel.

    python -m tools.golden.loaded_golden [LIBRARY]

LIBRARY is libbpf; default: libbpf.so.1. It opens the object, which completes the BTF, but loads nothing, so it needs no
privileges. This needs clang and llvm-strip.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "bpf"


def loaded(path: Path, library: str = "libbpf.so.1") -> bytes | None:
    """The BTF of a BPF object after libbpf has opened it, or None if it refuses."""
    libbpf = ctypes.CDLL(library)
    libbpf.bpf_object__open_file.restype = libbpf.bpf_object__btf.restype = ctypes.c_void_p
    libbpf.btf__raw_data.restype = ctypes.c_void_p
    opened = libbpf.bpf_object__open_file(str(path).encode(), None)
    if not opened:
        return None
    size = ctypes.c_uint32()
    btf = ctypes.c_void_p(libbpf.bpf_object__btf(ctypes.c_void_p(opened)))
    data = libbpf.btf__raw_data(btf, ctypes.byref(size))
    found = ctypes.string_at(data, size.value)
    libbpf.bpf_object__close(ctypes.c_void_p(opened))
    return found


def main(arguments: list[str]) -> None:
    path = FOLDER / "load.o"
    command = ["clang", "--target=bpfel", "-O2", "-g", "-fdebug-compilation-dir=.", "-w", "-c", "load.c"]
    subprocess.run([*command, "-o", path.name], cwd=FOLDER, check=True)
    subprocess.run([shutil.which("llvm-strip") or "llvm-strip-14", "-g", path.name], cwd=FOLDER, check=True)
    data = loaded(path, *arguments)
    if data is None:
        raise SystemExit(f"libbpf refuses {path}")
    (FOLDER / "load.loaded.btf").write_bytes(data)
    print(f"{path.name}: {len(data)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
