"""The command lines of old and new kernel builds, and what pahole does with them.

    python -m tools.golden.gates build       compile the inputs, ask the reference, write the manifest
    python -m tools.golden.gates verify      ask the reference again about the committed files

`fixtures/gates/lines.toml` has the lines. For each target there is a small kernel and a module, in `bin`; `golden` has
each different BTF once, named after its digest; `manifest.json` says which line gives which. tests/pahole/test_gates.py
replays all lines with pybtf-pahole. The reference runs without -j, because with more than one worker its output depends
on chance; and with the objcopy of the target, because it cannot write ELF itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from tools.golden import toolchain
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures" / "gates"
SOURCES = reference.CHECKOUT / "fixtures" / "src"
BINARIES, GOLDEN, LINES, MANIFEST = HOME / "bin", HOME / "golden", HOME / "lines.toml", HOME / "manifest.json"

KERNEL = [
    "38_kfuncs.c", "32_percpu.c -DFIRST=first", "32_percpu_b.c", "22_prototypes.c -DNAME=first_unit",
    "22_prototypes.c -DNAME=second_unit -DSECOND", "24_clones.c", "14_enums.c", "../gates/src/kernel.c",
]  # fmt: skip
TARGETS = {"le64": "gcc", "be64": "gcc-s390x", "le32": "gcc-i386"}
STEPS = ("vmlinux", "module", "external")

Result = dict[str, bytes]
"""What a line wrote, by section name; detached BTF counts as `.BTF`."""

Run = Callable[[list[str], Mapping[str, str], Path], None]
"""Runs pahole's command line (without the program), with variables, in a folder. Raises if it fails."""


class Failed(Exception):
    """A line did not do what it should."""


@dataclass(frozen=True)
class Line:
    """A recorded command line: assignments, the program, its arguments."""

    text: str

    def words(self) -> tuple[dict[str, str], list[str]]:
        """Variables and arguments."""
        words = shlex.split(self.text)
        at = words.index("pahole")
        return dict(word.split("=", 1) for word in words[:at]), words[at + 1 :]

    @property
    def detached(self) -> str | None:
        found = re.search(r"--btf_encode_detached=(\S+)", self.text)
        return found[1] if found else None

    @property
    def file(self) -> str:
        return self.text.split()[-1]


def generations() -> list[dict[str, str]]:
    """The entries of `lines.toml`."""
    with open(LINES, "rb") as file:
        entries: list[dict[str, str]] = tomllib.load(file)["generation"]
    return entries


def sections(path: Path) -> Result:
    with open(path, "rb") as handle:
        elf = ELFFile(handle)
        found = {name: elf.get_section_by_name(name) for name in (".BTF", ".BTF.base")}
        return {name: section.data() for name, section in found.items() if section is not None}


def replay(generation: Mapping[str, str], target: str, run: Run, folder: Path) -> dict[str, Result]:
    """Runs a generation's lines one after the other, as a build does. Returns what each wrote."""
    results = {}
    for step in STEPS:
        if step not in generation:
            continue
        line = Line(generation[step])
        source = BINARIES / f"{'vmlinux' if step == 'vmlinux' else 'module'}.{target}.elf"
        shutil.copyfile(source, folder / line.file)
        variables, arguments = line.words()
        before = (folder / line.file).read_bytes()
        run(arguments, variables, folder)
        if line.detached is None:
            results[step] = sections(folder / line.file)
        else:
            results[step] = {".BTF": (folder / line.detached).read_bytes()}
            if (folder / line.file).read_bytes() != before:
                raise Failed(f"{line.text}: the input has been changed")
        if step == "vmlinux" and line.file != "vmlinux":
            _final_link(folder, line)
    return results


def _final_link(folder: Path, line: Line) -> None:
    """Makes a `vmlinux` that is enough for later lines: an ELF file with BTF, or from 7.0 on raw BTF."""
    shutil.copyfile(folder / (line.detached or line.file), folder / "vmlinux")


def run_reference(objcopy: str) -> Run:
    def run(arguments: list[str], _variables: Mapping[str, str], folder: Path) -> None:
        environment = {**oracle.clean_environment(), "LLVM_OBJCOPY": objcopy}
        arguments = [argument for argument in arguments if not argument.startswith("-j")]
        done = subprocess.run(
            [*reference.pahole(), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode or done.stderr:
            raise Failed(f"{shlex.join(arguments)}: status {done.returncode}, {done.stderr.strip()}")

    return run


# Inputs


def _rust(build: toolchain.Build, out: Path) -> None:
    """Compiles a unit of C and marks it as Rust in its debug data."""
    compiler = toolchain.COMPILERS[build.compiler]
    argv = [*compiler.argv, *build.compile_flags(), f"-ffile-prefix-map={HOME / 'src'}=.", "-dA"]
    assembly = out.with_suffix(".s")
    toolchain.call([*argv, "-S", str(HOME / "src" / "rust.c"), "-o", assembly.name], out.parent)
    text, changed = re.subn(r"0x\w+(?=\s+# DW_AT_language)", "0x1c", assembly.read_text())
    if changed != 1:
        raise toolchain.BuildError("the assembly does not name its language once")
    assembly.write_text(text)
    toolchain.call([*compiler.argv, "-c", assembly.name, "-o", out.name], out.parent)


def make(units: Sequence[str], folder: Path, build: toolchain.Build, out: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="pybtf-fixture-") as name:
        scratch = Path(name)
        program = toolchain.Program(folder, units)
        objects = [scratch / f"{number}.o" for number in range(len(units) + 1)]
        for unit, target in zip(units, objects[:-1], strict=True):
            toolchain.compile_unit(program, unit, build, target)
        _rust(build, objects[-1])
        toolchain.link(program, build, objects, out)


# The two commands


def _answers() -> list[dict[str, Any]]:
    """What the reference says, entry by entry; its BTF is under the key `data`."""
    entries = []
    for target, compiler in TARGETS.items():
        objcopy = toolchain.COMPILERS[compiler].objcopy
        for number, generation in enumerate(generations()):
            with tempfile.TemporaryDirectory(prefix="pybtf-gates-") as folder:
                results = replay(generation, target, run_reference(objcopy), Path(folder))
            for step, result in results.items():
                entries.append({"target": target, "generation": number, "step": step, "data": result})
    return entries


def named(data: bytes) -> str:
    """The name of the golden file that has these bytes."""
    return f"{hashlib.sha256(data).hexdigest()[:16]}.btf"


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "data": {section: named(data) for section, data in entry["data"].items()}}


def build() -> int:
    for folder in (BINARIES, GOLDEN):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for target, compiler in TARGETS.items():
        make(KERNEL, SOURCES, toolchain.Build(compiler, "O2", "5", "exe"), BINARIES / f"vmlinux.{target}.elf")
        make(["module.c"], HOME / "src", toolchain.Build(compiler, "O2", "5", "obj"), BINARIES / f"module.{target}.elf")
    entries = _answers()
    for entry in entries:
        for data in entry["data"].values():
            (GOLDEN / named(data)).write_bytes(data)
    manifest = {
        "reference": reference.pahole_versions(),
        "compilers": {target: toolchain.version(compiler) for target, compiler in TARGETS.items()},
        "entries": [_facts(entry) for entry in entries],
    }
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{len(entries)} lines, {len(list(GOLDEN.iterdir()))} different BTFs")
    return 0


def verify() -> int:
    wrong = 0
    for entry, recorded in zip(_answers(), json.loads(MANIFEST.read_text())["entries"], strict=True):
        if _facts(entry) != recorded:
            wrong += 1
            print(f"{recorded}: the reference now answers otherwise")
    print(f"{wrong} answers differ")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["build", "verify"])
    try:
        return build() if parser.parse_args().what == "build" else verify()
    except (reference.Unavailable, toolchain.BuildError, Failed) as reason:
        print(reason, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
