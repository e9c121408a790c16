"""Builds the fixtures and asks the reference for their golden BTF.

    python -m tools.golden.fixtures build [NAME...]    compile, link, ask the reference, write the manifest
    python -m tools.golden.fixtures verify             ask the reference again about the committed files

`fixtures/build.toml` says what to build; the comment at its start explains the fields. The output is committed
(`fixtures/bin`, `fixtures/golden`, `fixtures/manifest.json`), so the tests need neither compilers nor the reference.
Other compilers give other binaries: the manifest says which compilers were used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.generate import randprog
from tools.golden import toolchain
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures"
SOURCES, BINARIES, GOLDEN = HOME / "src", HOME / "bin", HOME / "golden"
MANIFEST = HOME / "manifest.json"


@dataclass(frozen=True)
class Row:
    """One ELF file to build, and the questions to ask about it."""

    name: str
    topic: str
    build: toolchain.Build
    units: list[str]
    features: dict[str, str]
    flags: list[str] = field(default_factory=list)
    ldflags: list[str] = field(default_factory=list)
    objcopy: list[str] = field(default_factory=list)
    dwz: bool | str = False
    options: dict[str, str] = field(default_factory=dict)
    expect: str = "golden"
    seed: int | None = None

    @property
    def key(self) -> str:
        return f"{self.name}.{self.build}"

    def make(self, out: Path) -> None:
        """Builds the file."""
        if self.seed is not None:
            with tempfile.TemporaryDirectory(prefix="pybtf-fixture-") as scratch:
                randprog.generate(self.seed).make(Path(scratch), out)
            return
        program = toolchain.Program(SOURCES, self.units, self.flags, self.ldflags, self.objcopy)
        with tempfile.TemporaryDirectory(prefix="pybtf-fixture-") as scratch:
            toolchain.make(program, self.build, out, Path(scratch))
        if self.dwz is True:
            toolchain.call(["dwz", out.name], out.parent)
        elif self.dwz:
            self._share(out)

    def _share(self, out: Path) -> None:
        """Lets dwz move what the file shares with a copy of itself into an alternate file."""
        name = self.alternate(out).name
        with tempfile.TemporaryDirectory(prefix="pybtf-fixture-") as scratch:
            for copy in (out.name, "copy"):
                shutil.copy(out, Path(scratch) / copy)
            toolchain.call(["dwz", "-m", name, "-M", name, out.name, "copy"], Path(scratch))
            for made in (out.name, name):
                shutil.copy(Path(scratch) / made, out.parent)

    def alternate(self, out: Path) -> Path:
        return out.with_suffix(".alt")

    def facts(self) -> dict[str, Any]:
        """How it is built, for the manifest."""
        if self.seed is not None:
            return {"seed": self.seed}
        own = ("ldflags", "objcopy", "dwz", "options")
        return {
            "compiler": self.build.compiler,
            "units": self.units,
            "flags": [*self.build.compile_flags(), *self.flags],
            **{label: value for label in own if (value := getattr(self, label))},
            **({"expect": self.expect} if self.expect != "golden" else {}),
        }


def rows(wanted: list[str]) -> Iterator[Row]:
    """The rows of build.toml, of the fixtures whose name starts with one of `wanted` (all, if empty)."""
    plan = tomllib.loads((HOME / "build.toml").read_text())
    sets: dict[str, str] = plan["features"]
    for entry in plan["fixture"]:
        name = entry.pop("name")
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        builds = entry.pop("builds", None) or plan["builds"][entry.pop("matrix", "plain")]
        names = entry.pop("features", ["usual"])
        for words in builds:
            features = {each: sets[each] for each in names}
            yield Row(name=name, build=toolchain.Build.parse(words), features=features, **entry)
    for seed in plan["random"]["seeds"]:
        name = f"random_{seed:04}"
        if not wanted or any(name.startswith(word) for word in wanted):
            build = randprog.generate(seed).builds[0]
            label = plan["random"]["features"]
            yield Row(name, "random program", build, [], {label: sets[label]}, seed=seed)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ask(row: Row, binary: Path) -> dict[str, Any]:
    """The reference's answers for each feature set, written to `golden/` and described for the manifest.

    Feature sets with the same answer share a file.
    """
    files: dict[str, str] = {}
    described: dict[str, Any] = {}
    # Answers are kept by the contents of one file.
    asked = oracle.run if row.dwz == "alternate" else oracle.ask
    for label, features in row.features.items():
        answer = asked(binary, features, options=row.options)
        facts: dict[str, Any] = {"file": None}
        if answer.data is not None:
            digest = sha256(answer.data)
            if digest not in files:
                files[digest] = f"{row.key}.{label}.btf"
                (GOLDEN / files[digest]).write_bytes(answer.data)
            facts = {"file": files[digest], "sha256": digest}
        if answer.status:
            facts["status"] = answer.status
        if answer.stderr:
            facts["stderr"] = answer.stderr
        described[label] = facts
    return described


def build(row: Row) -> dict[str, Any]:
    """Builds a row and asks the reference: its entry in the manifest."""
    binary = BINARIES / f"{row.key}.elf"
    row.make(binary)
    data = binary.read_bytes()
    entry: dict[str, Any] = {
        "name": row.key,
        "topic": row.topic,
        "elf": binary.name,
        "sha256": sha256(data),
        "size": len(data),
        **row.facts(),
    }
    if row.dwz == "alternate":
        alternate = row.alternate(binary)
        entry["alternate"] = {"file": alternate.name, "sha256": sha256(alternate.read_bytes())}
    return {**entry, "golden": ask(row, binary)}


def attempt(row: Row) -> dict[str, Any] | str:
    """Like build(), but returns a failure as text, so that all failures are seen at once."""
    try:
        return build(row)
    except toolchain.BuildError as error:
        return f"{row.key}: {error}"


def sweep(entries: list[dict[str, Any]]) -> None:
    """Removes files that no row of the manifest names."""
    named = {entry["elf"] for entry in entries} | {e["alternate"]["file"] for e in entries if "alternate" in e}
    named |= {facts["file"] for entry in entries for facts in entry["golden"].values()}
    for folder in (BINARIES, GOLDEN):
        for path in folder.iterdir():
            if path.name not in named:
                path.unlink()


def write_manifest(entries: list[dict[str, Any]]) -> None:
    used = sorted({entry["compiler"] for entry in entries if "compiler" in entry})
    manifest = {
        "reference": reference.pahole_versions(),
        "compilers": {name: toolchain.version(name) for name in used},
        "features": tomllib.loads((HOME / "build.toml").read_text())["features"],
        "fixtures": sorted(entries, key=lambda entry: entry["name"]),
    }
    MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n")


def command_build(wanted: list[str], jobs: int) -> int:
    """Builds all rows, or those wanted (the others keep their entries)."""
    for folder in (BINARIES, GOLDEN):
        folder.mkdir(parents=True, exist_ok=True)
    plan = list(rows(wanted))
    keep = json.loads(MANIFEST.read_text())["fixtures"] if wanted and MANIFEST.exists() else []
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(attempt, plan))
    failures = [result for result in results if isinstance(result, str)]
    entries = [result for result in results if not isinstance(result, str)]
    keep = [entry for entry in keep if not any(entry["name"].startswith(word) for word in wanted)]
    entries = keep + entries
    for text in failures:
        print(text, file=sys.stderr)
    write_manifest(entries)
    sweep(entries)
    size = sum(path.stat().st_size for folder in (BINARIES, GOLDEN) for path in folder.iterdir())
    print(f"{len(entries)} files, {sum(len(e['golden']) for e in entries)} questions, {size >> 10} KiB")
    return 1 if failures else 0


def command_verify() -> int:
    """Asks the reference about each committed file again; nothing is written."""
    manifest = json.loads(MANIFEST.read_text())
    wrong = 0
    for entry in manifest["fixtures"]:
        for label, facts in entry["golden"].items():
            features = manifest["features"][label]
            answer = oracle.run(BINARIES / entry["elf"], features, options=entry.get("options"))
            digest = None if answer.data is None else sha256(answer.data)
            if digest != facts.get("sha256"):
                wrong += 1
                print(f"{entry['name']} ({label}): the reference now answers otherwise")
    print(f"{len(manifest['fixtures'])} files, {wrong} answers differ")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["build", "verify"])
    parser.add_argument("names", nargs="*", help="beginnings of fixtures' names")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    try:
        return command_build(options.names, options.jobs) if options.what == "build" else command_verify()
    except reference.Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
