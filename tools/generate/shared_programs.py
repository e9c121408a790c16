"""Compiled programs whose DWARF is shared: by `dwz`, and by type units (`-fdebug-types-section`).

A number determines a program of randprog.py or some sources of fixtures/, a compiler, and what is done with it: `dwz`
alone, or `dwz -m` with another file that has some of the same units. The same number gives the same program.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random

from elftools.elf.elffile import ELFFile

from tools.generate import randprog
from tools.generate.odd_options import is_here, of_fixtures
from tools.generate.untyped import without_type_units
from tools.golden import toolchain

COMPILERS = ("gcc", "gcc", "clang", "clang16", "clang19")


@dataclass(frozen=True)
class Program(randprog.Program):
    """A linked program after `dwz`."""

    several: bool = False
    """With `-m`: the file shares with another one, and `alt.debug` lies beside it."""
    limits: Sequence[str] = ()
    types: bool = False
    """With type units; the reference is given the twin of untyped.py, which is `twin.elf` beside it."""

    def make(self, folder: Path, out: Path) -> None:
        super().make(folder, out)
        if self.limits:
            self.share(folder, out)
        if self.types:
            without_type_units(out, out.with_name("twin.elf"))

    def share(self, folder: Path, out: Path) -> None:
        """Runs `dwz`, which leaves a file alone if that would not make it smaller."""
        argv = ["dwz", *self.limits, out.name]
        if self.several:
            half = [index for index in range(len(self.units)) if index % 2 == 0]
            (folder / "half").mkdir(exist_ok=True)
            randprog.Program.make(self.only(*half), folder / "half", out.with_name("other.elf"))
            argv = ["dwz", *self.limits, "-m", "alt.debug", "-M", "alt.debug", out.name, "other.elf"]
        before = out.read_bytes()
        done = subprocess.run(argv, cwd=out.parent, capture_output=True, text=True, timeout=120, check=False)
        other = out.with_name("alt.debug")
        if other.exists() and ELFFile(BytesIO(other.read_bytes())).get_section_by_name(".debug_info") is None:
            out.write_bytes(before)  # the reference does not read an alternate file that has only strings
            other.unlink()
        said = done.stderr.strip()
        if done.returncode and "not beneficial" not in said and "no longer needed" not in said:
            raise toolchain.BuildError(f"{' '.join(argv)}\n{said}")


def program(number: int, types: bool = False) -> Program:
    """The program of a number."""
    rng = Random(f"shared programs {number}")
    # clang makes no type units for C.
    compiler = "gcc" if types else rng.choice([name for name in COMPILERS if is_here(name)])
    version = "4" if "clang" in compiler else rng.choice("45")  # `dwz` does not know clang's forms of DWARF 5
    limits = ["-L", "none", "-l", "none"]
    if types:
        version = rng.choice("45")
        limits = limits if version == "4" and rng.random() < 0.6 else []  # nor type units of DWARF 5
    build = toolchain.Build(compiler, rng.choice(["O0", "O2", "O2"]), version, "exe")
    chosen = randprog.generate(number) if rng.random() < 0.6 else of_fixtures(number, rng)
    options = list(chosen.options or [""] * len(chosen.units))
    if types:
        options = [f"{own} -fdebug-types-section" for own in options]
    return Program(
        number,
        chosen.units,
        [build] * len(chosen.units),
        options,
        several=rng.random() < 0.5,
        limits=limits,
        types=types,
    )
