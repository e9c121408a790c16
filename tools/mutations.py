"""Deliberate mistakes, one at a time: which of them do the tests notice?

    python tools/mutations.py [ID...] [-p 2] [--no-suite]      those of tools/mutating/*.toml
    python tools/mutations.py --random SEED --count N          new ones, drawn from the sources
    python tools/mutations.py --check                          only that each applies

All of them are compiled at once, each behind a number (tools/mutating/switch.py), in a copy of the tree below
build/mutants. Each is then tried against the tests that stand for its file (tools/mutating/tests.toml), up to the
first that fails, and one that none of these notice against all tests. What is printed last is the score. The exit
status is 1 if one that is not marked harmless survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from mutating.draw import drawn
from mutating.switch import CORE_SWITCH, VARIABLE, Edit, Mutation, Source, apart, applied, edit

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "tools" / "mutating"
TREES = ROOT / "build" / "mutants"
#: What a tree is made of; the rest of the tests' inputs is linked.
COPIED = (
    "src", "tests", "tools", "docs", "contrib", "setup.py", "setup.cfg", "pyproject.toml", "README.md", "CHANGELOG.md",
    "LICENSE", "MANIFEST.in", "Makefile",
)  # fmt: skip
LINKED = ("fixtures", ".git", ".venv")
TIMEOUT = 900


class Result(NamedTuple):
    mutation: Mutation
    noticed: str  # by which test, or how; empty: survived
    seconds: float


def listed() -> list[Mutation]:
    found = []
    for path in sorted(LISTS.glob("list_*.toml")):
        for row in tomllib.loads(path.read_text())["mutation"]:
            found.append(Mutation(**{"why": "", **row}))
    names = [one.id for one in found]
    for name in {name for name in names if names.count(name) > 1}:
        sys.exit(f"two mutations are called {name}")
    return found


def edits_of(mutations: list[Mutation]) -> dict[str, list[tuple[Edit, int]]]:
    """The switches of all mutations, by file. Their numbers count from 1."""
    found: dict[str, list[tuple[Edit, int]]] = {}
    sources: dict[str, Source] = {}
    wrong = []
    for number, one in enumerate(mutations, 1):
        text = (ROOT / one.file).read_text()
        try:
            start, end = one.span(text)
            if one.file.endswith(".pxd"):
                whole = f"(({one.new}) if MUTANT({number}) else ({one.old}))"
                found.setdefault(one.file, []).append((Edit(start, end, whole, False), number))
                continue
            source = sources.setdefault(one.file, Source(text))
            found.setdefault(one.file, []).append((edit(source, start, end, one.new, number), number))
        except ValueError as error:
            wrong.append(f"{one.id}: {error}")
    if wrong:
        sys.exit("\n".join(wrong))
    return found


def copy(tree: Path) -> None:
    """A copy of the tree, with what was compiled; files that have not changed keep their times."""
    tree.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (tree / name).exists() and (ROOT / name).exists():
            (tree / name).symlink_to(ROOT / name)
    for name in COPIED:
        for path in sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name]:
            if not path.is_file() or "__pycache__" in path.parts or path.suffix in (".so", ".html"):
                continue
            if path.suffix == ".c" and "core" in path.parts and (tree / path.relative_to(ROOT)).exists():
                continue
            to = tree / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists():
                shutil.copy2(path, to)
    for path in (ROOT / "build").glob("temp*"):
        if not (tree / "build" / path.name).exists():
            shutil.copytree(path, tree / "build" / path.name, symlinks=True)


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def prepare(tree: Path, edits: dict[str, list[Edit]]) -> None:
    """Writes the sources of a tree, with these switches, and compiles what has changed."""
    copy(tree)
    for name in COPIED:
        for path in (ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name]:
            relative = str(path.relative_to(ROOT))
            if path.suffix not in (".py", ".pxd", ".pyi", ".toml", ".md", ".cfg", ".txt") or not path.is_file():
                continue
            text = path.read_text()
            write(tree / relative, applied(text, edits[relative], relative) if relative in edits else text)
    write(tree / "src/pybtf/core/mutant.pxd", CORE_SWITCH)
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def tests_for(file: str) -> list[str]:
    """The tests that stand for a file, those first that are likely to notice and quick."""
    rows = tomllib.loads((LISTS / "tests.toml").read_text())["tests"]
    found: list[str] = []
    for pattern, names in rows.items():
        if fnmatch(file, f"src/pybtf/{pattern}") and not (pattern == "*.py" and found):
            found += [name for name in names if name not in found]
    return [f"tests/test_{name}.py" for name in found]


def run_tests(tree: Path, number: int, tests: list[str]) -> str:
    """The test that fails, or what else ended the run; empty: all pass."""
    environment = {
        **os.environ,
        VARIABLE: str(number),
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
    try:
        done = subprocess.run(
            argv, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "time is up"
    if done.returncode == 0:
        return ""
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" - ")[0].partition(" ")[2]
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def tried(mutation: Mutation, number: int, tree: Path, suite: bool) -> Result:
    start = time.monotonic()
    noticed = ""
    tests = tests_for(mutation.file)
    if tests:
        noticed = run_tests(tree, number, tests)
    if not noticed and suite and not mutation.harmless:
        noticed = run_tests(tree, number, ["tests"])
    result = Result(mutation, noticed, time.monotonic() - start)
    print(f"{mutation.id:32} {result.seconds:6.1f} s  {noticed or 'SURVIVED'}", flush=True)
    return result


def report(results: list[Result]) -> int:
    survivors = [one for one in results if not one.noticed]
    counted = [one for one in results if one.noticed or not one.mutation.harmless]
    print()
    for one in survivors:
        mutation = one.mutation
        print(f"{mutation.id}: {mutation.file}: {mutation.old!r} -> {mutation.new!r}")
        print(f"    {'harmless: ' + mutation.harmless if mutation.harmless else mutation.why or 'not explained'}")
    noticed = sum(bool(one.noticed) for one in counted)
    print(f"\n{noticed} of {len(counted)} noticed ({100 * noticed / max(len(counted), 1):.1f} %), "
          f"{len(results) - len(counted)} harmless")  # fmt: skip
    return int(noticed < len(counted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these; a pattern as a shell's")
    parser.add_argument("--random", type=int, metavar="SEED", help="draw new ones")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="how many of these")
    parser.add_argument("--check", action="store_true", help="only see that all apply")
    parser.add_argument("--no-suite", dest="suite", action="store_false", help="only the tests that stand for the file")
    parser.add_argument("-p", "--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    mutations = listed() if options.random is None else drawn(ROOT, options.random, options.count)
    by_file = edits_of(mutations)
    print(f"{len(mutations)} mutations of {len(by_file)} files", flush=True)
    if options.check:
        return 0
    trees: dict[int, Path] = {}
    layers: list[dict[str, list[Edit]]] = []
    for file, edits in by_file.items():
        for layer, group in enumerate(apart(edits)):
            while layer >= len(layers):
                layers.append({})
            layers[layer][file] = [one for one, _ in group]
            for _, number in group:
                trees[number] = TREES / str(layer)
    for layer, chosen in enumerate(layers):
        print(f"building {TREES / str(layer)}", flush=True)
        prepare(TREES / str(layer), chosen)
        if run_tests(TREES / str(layer), 0, ["tests/test_fixtures.py"]):
            sys.exit("the sources with switches do not pass the tests with none of them set")
    wanted = [
        (one, number)
        for number, one in enumerate(mutations, 1)
        if not options.ids or any(fnmatch(one.id, pattern) for pattern in options.ids)
    ]
    with ThreadPoolExecutor(options.processes) as pool:
        results = list(pool.map(lambda each: tried(each[0], each[1], trees[each[1]], options.suite), wanted))
    return report(results)


if __name__ == "__main__":
    sys.exit(main())
