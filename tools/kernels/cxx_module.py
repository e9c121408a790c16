"""An out-of-tree module with a part in C++, whose BTF comes from `pybtf encode --degrade`.

The kernel's build compiles and links it (`kernel_build/cxx`). The build's BTF step is left out, because it refuses
references; `pybtf encode --degrade` runs afterwards.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tools.kernels.kernel_build_check import HOME, Place, Settings, make

DONE_WITH_LOSSES = 3


def build(place: Place, settings: Settings, pybtf: Path) -> tuple[Path, list[str]]:
    """Builds the module; returns what is wrong. Without --degrade it must be refused, and with it accepted."""
    folder = place.folder / f"{place.name or 'build'}-cxx"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HOME / "cxx", folder)
    llvm = [word.partition("=")[2] for word in settings.variables if word.startswith("LLVM=")]
    compiler = [f"CXX=clang++{llvm[0]}"] if llvm else []
    make(place, settings, f"M={folder}", "CONFIG_DEBUG_INFO_BTF_MODULES=", *compiler, "modules")
    (module,) = folder.glob("*.ko")
    wrong = []
    base = ["--base", str(place.build / "vmlinux")]
    for expected, argv in (
        (1, ["encode", *base]),
        (DONE_WITH_LOSSES, ["encode", "--degrade", *base]),
        (0, ["verify", *base]),
    ):
        done = subprocess.run([pybtf, *argv, module], capture_output=True, text=True, check=False)
        lines = (done.stdout + done.stderr).splitlines()
        words = [word for word in argv if word not in base]
        print(f"  pybtf {' '.join(words)} {module.name}: status {done.returncode}, {lines[-1]}", flush=True)
        if done.returncode != expected:
            wrong.append(f"{module.name}: pybtf {argv[0]} ended with status {done.returncode}: {lines[-1]}")
    return module, wrong
