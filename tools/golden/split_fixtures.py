"""Builds the fixtures of split BTF and asks the reference for their golden BTF.

    python -m tools.golden.split_fixtures build       compile, ask the reference, write the manifest
    python -m tools.golden.split_fixtures verify      ask the reference again about the committed files

For each target there is a small kernel, from which the reference makes the base, and modules that use it. The output is
committed in `fixtures/split`: `bin`, `golden`, `manifest.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.golden import toolchain
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures" / "split"
SOURCES, BINARIES, GOLDEN = HOME / "src", HOME / "bin", HOME / "golden"
MANIFEST = HOME / "manifest.json"
FEATURES = f"{oracle.USUAL},global_var"

KERNEL = ["kernel.c", "kernel2.c"]
MODULES = {
    "same": ["same.c"],
    "reuse": ["reuse.c"],
    "complete": ["complete.c"],
    "complete_three": ["complete2.c", "complete.c", "complete2.c -DOTHER"],
    "other_first": ["complete2.c -DOTHER", "complete2.c", "complete.c"],
    "names": ["names.c"],
    "noint": ["noint.c"],
    "noint_second": ["noint.c", "reuse.c"],
    "vars": ["vars.c"],
    "distill": ["distill.c"],
}
TAGS = {"tags": ["tags.c"]}
"""Only clang knows tags."""

COMBINED = {
    "two": (["reuse", "same"], False),
    "other_order": (["same", "reuse"], False),
    "sections": (["vars", "distill", "kernel", "reuse"], False),
    "on_a_base": (["reuse", "vars", "same"], True),
}
"""Several files that become one BTF: their names, and whether on the base."""

# The builds of the kernel and its modules; the committed files are named after the first.
TARGETS = {
    "gcc": ("gcc O0 5 exe", "gcc O2 5 obj", MODULES),
    "clang": ("clang O2 4 exe", "clang O0 5 obj", MODULES | TAGS),
    "s390x": ("clang-s390x O0 5 exe", "clang-s390x O2 4 obj", MODULES | TAGS),
    "i386": ("gcc-i386 O2 4 exe", "gcc-i386 O0 5 obj", MODULES),
}


def make(units: list[str], build: str, out: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="pybtf-fixture-") as scratch:
        toolchain.make(toolchain.Program(SOURCES, units), toolchain.Build.parse(build), out, Path(scratch))


def facts(path: Path, data: bytes | None) -> dict[str, Any]:
    """Writes a golden file, and returns its entry for the manifest. Without data there is no file."""
    if data is None:
        return {"file": None}
    (GOLDEN / path).write_bytes(data)
    return {"file": str(path), "sha256": hashlib.sha256(data).hexdigest()}


def ask(module: Path, base: Path) -> dict[str, Any]:
    """The reference's answers for one module, as data by label."""
    distilled = oracle.run_in_place(module, f"{FEATURES},distilled_base", base)
    return {
        "split": oracle.run(module, FEATURES, options={"btf_base": str(base.absolute())}).data,
        "distilled": distilled[0].data if distilled[1].data is not None else None,
        "distilled_base": distilled[1].data,
    }


def ask_combined(target: str, entry: dict[str, Any]) -> dict[str, bytes | None]:
    """The reference's answers for several files at once, by name."""
    answers = {}
    for name, (modules, on_base) in COMBINED.items():
        paths = [BINARIES / (entry["elf"] if each == "kernel" else f"{each}.{target}.o") for each in modules]
        base = {"btf_base": str((GOLDEN / entry["base"]["file"]).absolute())} if on_base else {}
        answers[name] = oracle.run(paths[0], FEATURES, options=base, more=paths[1:]).data
    return answers


def build() -> int:
    for folder in (BINARIES, GOLDEN):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    entries = []
    for target, (kernel, form, modules) in TARGETS.items():
        image, base = BINARIES / f"kernel.{target}.elf", Path(f"kernel.{target}.btf")
        make(KERNEL, kernel, image)
        entry: dict[str, Any] = {"target": target, "kernel": kernel, "modules": form, "elf": image.name}
        entry["base"] = facts(base, oracle.run(image, FEATURES).data)
        entry["golden"] = {}
        for name, units in modules.items():
            module = BINARIES / f"{name}.{target}.o"
            make(units, form, module)
            answers = ask(module, GOLDEN / base)
            entry["golden"][name] = {
                "units": units,
                **{label: facts(Path(f"{name}.{target}.{label}.btf"), data) for label, data in answers.items()},
            }
        entry["combined"] = {
            name: {"modules": COMBINED[name][0], "base": COMBINED[name][1], **facts(Path(f"{name}.{target}.btf"), data)}
            for name, data in ask_combined(target, entry).items()
        }
        entries.append(entry)
    manifest = {"reference": reference.pahole_versions(), "features": FEATURES, "targets": entries}
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n")
    size = sum(path.stat().st_size for folder in (BINARIES, GOLDEN) for path in folder.iterdir())
    print(f"{sum(len(entry['golden']) for entry in entries)} modules, {size >> 10} KiB")
    return 0


def verify() -> int:
    wrong = 0
    for entry in json.loads(MANIFEST.read_text())["targets"]:
        for name, golden in entry["golden"].items():
            answers = ask(BINARIES / f"{name}.{entry['target']}.o", GOLDEN / entry["base"]["file"])
            for label, data in answers.items():
                digest = None if data is None else hashlib.sha256(data).hexdigest()
                if digest != golden[label].get("sha256"):
                    wrong += 1
                    print(f"{name} ({entry['target']}, {label}): the reference now answers otherwise")
        for name, data in ask_combined(entry["target"], entry).items():
            if data is None or hashlib.sha256(data).hexdigest() != entry["combined"][name]["sha256"]:
                wrong += 1
                print(f"{name} ({entry['target']}, combined): the reference now answers otherwise")
    print(f"{wrong} answers differ")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["build", "verify"])
    try:
        return build() if parser.parse_args().what == "build" else verify()
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
    except toolchain.BuildError as error:
        print(error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
